"""Conditions: read, evaluated and compiled as CPython means them, NaN included; wrong ones are refused at their place."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warploom as wl
from warploom import f32, f64, i32
from warploom.core import UserError, to_numpy, u8
from warploom.core.linear import Linear
from warploom.ctext import Text
from warploom.schedule.backbone import Operator, Role, evaluate_program
from warploom.schedule.calls import Calls, EvaluatedRunner, Signature, plain_runner
from warploom.schedule.cpu import compile_nest, find_compiler
from warploom.schedule.cuda.scalars import operation
from warploom.schedule.frontend import TensorFunction, load_tensors
from warploom.schedule.nest import Buffer, Compute, Kind, Load, Loop, Memory, Nest, Ref, Register, Store, Value

NUMBERS = [math.nan, -math.inf, math.inf, -2.0, -0.0, 0.0, 0.5, 1.0, 3.0]
TEXTS = (
    "x if x > 0 else 0.5 * x",
    "x if x != y else 7",
    "1 if 0 <= x < y else 0",
    "x if not (x < y or y == 3) else y",
    "x if x >= y and not y > 0 else (y if x == x else 2)",
    "1 / x if x != 0 and x > -10 else x",
    "x if -1 <= x <= 1 != y else -y",
)


def read(path: Path, *bodies: str) -> list[TensorFunction]:
    head = "from warploom import f64, i32, u8\nfrom warploom.schedule.frontend import out, tensor, where\nimport numpy as np\n"
    form = '@tensor\ndef f{n}(X: f64["n"], Z: f64["n"], N: i32["n"], Y: out[f64["n"]], M: out[i32["n"]]):\n    {body}\n'
    file = path / "functions.py"
    file.write_text(head + "".join(form.format(n=n, body=body) for n, body in enumerate(bodies)))
    return load_tensors(file)


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> list[TensorFunction]:
    stored = [text.replace("x", "X[i]").replace("y", "Z[i]") for text in TEXTS]
    return read(tmp_path_factory.mktemp("conditions"), *(f"Y[i] = {text}\n    M[i] = N[i]" for text in stored))


X, Z = (np.array(column) for column in zip(*((a, b) for a in NUMBERS for b in NUMBERS), strict=True))


@pytest.mark.parametrize("number", range(len(TEXTS)))
@pytest.mark.parametrize("way", ["evaluated", "plain"])
def test_as_cpython(number: int, way: str, functions: list[TensorFunction]) -> None:
    function = functions[number]
    if way == "plain" and find_compiler() is None:
        pytest.skip("no C compiler")

    def runner(sizes: Any) -> Any:
        return EvaluatedRunner(function.program(sizes)) if way == "evaluated" else plain_runner(function, sizes, 1)

    with np.errstate(all="ignore"):
        got, _ = Calls(Signature.of(function), runner)((X, Z, np.zeros(X.size, np.int32)), {})
    wanted = [eval(TEXTS[number], {"x": x, "y": y}) for x, y in zip(X.tolist(), Z.tolist(), strict=True)]
    np.testing.assert_array_equal(got, wanted)


@wl.tensor
def kinds(N: i32["n"], B: u8["n"], A: f32["n"], F: wl.out[f32["n"]], M: wl.out[i32["n"]], C: wl.out[u8["n"]]):
    F[i] = A[i] if N[i] > 2 and B[i] < 200 else f32(N[i])
    M[i] = 1 if B[i] == 255 else N[i]
    C[i] = wl.where(A[i] <= 0.5, B[i], 9)


def test_types_of_conditions_and_values_differ() -> None:
    rng = np.random.default_rng(0)
    N, B = rng.integers(-5, 6, 40).astype("i4"), np.array([255, 0, 199, 200] * 10, np.uint8)
    A = rng.random(40).astype("f4")
    made = evaluate_program(kinds.program({"n": 40}), {"N": N, "B": B, "A": A})
    np.testing.assert_array_equal(made["F"], np.where((N > 2) & (B < 200), A, N.astype("f4")))
    np.testing.assert_array_equal(made["M"], np.where(B == 255, 1, N))
    np.testing.assert_array_equal(made["C"], np.where(A <= 0.5, B, 9))


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("Y[i] = X[i] if X[i] else 0", "CONDITION.*expected a condition, got X"),
        ("Y[i] = X[i] if X[i] is Z[i] else 0", "CONDITION.*expected a comparison"),
        ("Y[i] = X[i] if 1 < 2 else 0", "CONDITION.*got one of numbers"),
        ("Y[i] = X[i] if n < 2 else 0", "CONDITION.*got one of numbers"),
        ("Y[n] = X[n] if n < 2 else 0", "AMBIGUOUS.*'n' is a size and an index here"),
        ("Y[i] = X[i] if X[i] < N[i] else 0", "DTYPE.*operands of one type"),
        ("Y[i] = X[i] if X[i] < 1 else N[i]", "DTYPE.*operands of one type"),
        ("Y[i] = (1 if N[i] < 1 else 0) + N[i]", r"DTYPE.*Convert it: f64"),
        ("Y[i] = X[i] if N[i] < 0.5 else 0", "DTYPE.*i32 holds"),
        ("Y[i] = where(X[i] < 0, 1)", r"CALL.*where\(condition, value, other\)"),
        ("Y[i] = X[i] < 0", "UNSUPPORTED_PYTHON"),
    ],
)
def test_refused(body: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"(?s){told}"):
        read(tmp_path, f"{body}\n    M[i] = N[i]")


COMPARED = ((Operator.LESS, np.less), (Operator.LESS_EQUAL, np.less_equal), (Operator.EQUAL, np.equal))


def chosen(dtype: Any, lanes: int) -> Nest:
    """For each comparison: A where that of A and B holds, else B; a vector at a time."""
    at = (Linear(((1, 1),)),) if lanes > 1 else ()
    place = Linear(((0, lanes), (1, 1))) if lanes > 1 else Linear(((0, 1),))
    body: list[Any] = [Load(Ref(n, at), Memory(n, place)) for n in range(2)]
    values = [Value(name, dtype, (Register(lanes, True),) if lanes > 1 else ()) for name in ("a", "b", *("md" * 3))]
    for n, (operator, _) in enumerate(COMPARED):
        mask, d = Ref(2 + 2 * n, at), Ref(3 + 2 * n, at)
        body += [
            Compute(mask, operator, (Ref(0, at), Ref(1, at))),
            Compute(d, Operator.SELECT, (mask, Ref(0, at), Ref(1, at))),
            Store(Memory(2 + n, place), d),
        ]
    roles = (Role.INPUT, Role.INPUT, Role.OUTPUT, Role.OUTPUT, Role.OUTPUT)
    buffers = tuple(Buffer(n, dtype, 16, r) for n, r in zip("ABDEF", roles, strict=True))
    inner = (Loop(1, "v", Kind.VECTOR, lanes, tuple(body)),) if lanes > 1 else tuple(body)
    return Nest("chosen", buffers, (), tuple(values), (Loop(0, "i", Kind.BLOCK, 16 // lanes, inner),))


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize(("dtype", "lanes"), [(f32, 8), (f64, 4), (u8, 16), (i32, 1)])
def test_c_of_scalars_and_vectors(dtype: Any, lanes: int) -> None:
    kind = to_numpy(dtype)
    A = np.array((NUMBERS * 2)[:16] if dtype.is_float else [0, 1, 255, 7] * 4).astype(kind)
    B = np.roll(A, 3)
    made = [np.zeros(16, kind) for _ in COMPARED]
    compile_nest(chosen(dtype, lanes)).run([A, B, *made])
    for found, (_, holds) in zip(made, COMPARED, strict=True):
        np.testing.assert_array_equal(found, np.where(holds(A, B), A, B))


def test_cuda_text() -> None:
    for operator, sign in ((Operator.LESS, "<"), (Operator.LESS_EQUAL, "<="), (Operator.EQUAL, "==")):
        assert operation(operator, f32, [Text("a"), Text("b")]).text == f"a {sign} b ? 1.0f : 0.0f"
    assert operation(Operator.SELECT, i32, [Text("m"), Text("a"), Text("b")]).text == "m != 0 ? a : b"
