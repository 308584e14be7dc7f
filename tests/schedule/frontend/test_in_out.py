"""Arrays that are read and written, and sizes over numbers: what Python's own loops compute, or refused at their place."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import itertools
import random
from typing import Any

import numpy as np
import pytest
from tests.schedule.frontend.test_places import runners

import warploom as wl
from warploom import f32, f64, i32
from warploom.core import UserError
from warploom.schedule.backbone import backbone_text, evaluate_program, parse_backbone
from warploom.schedule.calls import Calls, EvaluatedRunner, Signature
from warploom.schedule.frontend import TensorFunction, load_tensors

COUNT = 25
EXTENT = {"i": 3, "j": 4, "k": 5}
SHAPES = {"X": "ik", "V": "j", "C": "ij", "y": "i", "z": "i"}
CHANGES: dict[str, Any] = {
    "=": lambda old, new: new,
    "+=": lambda old, new: old + new,
    "-=": lambda old, new: old - new,
    "*=": lambda old, new: old * new,
    "/=": lambda old, new: old / new,
}


def statements(seed: int) -> list[tuple[str, str, str, str, str]]:
    """Array, its indices, sign, right side, all indices; each array is stored once."""
    rng = random.Random(seed)
    found = [
        ("C", "ij", rng.choice(["+=", "-="]), f"X[i, k] * {rng.choice(['V[j]', '0.5', 'y[i]'])}", "ijk"),
        ("C", "ij", rng.choice(["*=", "/=", "+="]), rng.choice(["2.5", "V[j] + 3", "C[i, j] / 4 - y[i]"]), "ij"),
        ("C", "ij", "=", rng.choice(["C[i, j] * C[i, j] - z[i]", "V[j] + C[i, j]"]), "ij"),
        ("y", "i", "+=", rng.choice(["C[i, j] * V[j]", "V[j] - z[i]"]), "ij"),
        ("y", "i", rng.choice(["*=", "-="]), rng.choice(["1.5", "z[i]", "(2 - y[i])"]), "i"),
        ("z", "i", rng.choice(["+=", "/="]), rng.choice(["y[i] + 7", "4", "X[i, 2] + 3"]), "i"),
    ]
    rng.shuffle(found)
    return list({s[0]: s for s in found}.values())


@pytest.fixture(scope="module")
def functions(tmp_path_factory: Any) -> Any:
    header = "from __future__ import annotations\nfrom warploom import f64, inout, tensor\n"
    head = 'X: f64["m", "l"], V: f64["n"]'
    parts: list[str] = []
    for seed in range(COUNT):
        body = statements(seed)
        own = {"C": '["m", "n"]', "y": '["m"]', "z": '["m"]'}
        changed = ", ".join(f"{a}: inout[f64{shape}]" for a, shape in own.items())
        lines = "".join(f"    {a}[{', '.join(places)}] {sign} {right}\n" for a, places, sign, right, _ in body)
        parts.append(f"@tensor\ndef changed_{seed}({head}, {changed}):\n{lines}")
    path = tmp_path_factory.mktemp("changed") / "functions.py"
    path.write_text("\n\n".join((header, *parts)))
    return load_tensors(path)


@pytest.mark.parametrize("seed", range(COUNT))
def test_changes_as_loops_do(seed: int, functions: list[TensorFunction]) -> None:
    rng = np.random.default_rng(seed)
    given = {name: rng.uniform(0.5, 2, [EXTENT[i] for i in over]) for name, over in SHAPES.items()}
    memory = {name: array.copy() for name, array in given.items()}
    for array, places, sign, right, indices in statements(seed):
        before = {name: values.copy() for name, values in memory.items()}
        for point in itertools.product(*(range(EXTENT[i]) for i in indices)):
            at = dict(zip(indices, point, strict=True))
            where = tuple(at[i] for i in places)
            memory[array][where] = CHANGES[sign](memory[array][where], eval(right, before | at))
    function = functions[seed]
    results = Calls(Signature.of(function), lambda sizes: EvaluatedRunner(function.program(sizes)))(tuple(given.values()), {})
    for result, name in zip(results, ("C", "y", "z"), strict=True):
        assert result is given[name]  # written in place
        np.testing.assert_allclose(result, memory[name], rtol=1e-9)


@wl.tensor
def both(a: f32, X: f32["n"], y: wl.inout[f32["n"]], y_old: f32["n"], c: wl.out[i32["n // 2"]]):
    y[i] += a * X[i] - y_old[i]
    c[i] = i + n % 4


def test_one_array_is_given_and_returned() -> None:
    assert (
        both.tree.parameters == ("a", "X", "y_old_", "y", "y_old", "c") and Signature.of(both).text == "both(a, X, y, y_old, [c])"
    )
    for call in runners(both):
        X, wide = np.arange(6, dtype=np.float32), np.ones(12, np.float32)
        y, c = call((2.0, X, wide[::2]), {"y_old": np.zeros(6, np.float32)})  # a view: copied back
        np.testing.assert_array_equal(wide[::2], 1 + 2 * X)
        np.testing.assert_array_equal(wide[1::2], 1)
        np.testing.assert_array_equal(c, [2, 3, 4])
        assert y.base is wide
        call((1.0, X, X, X), {})  # read, written and read again: as it was before
        np.testing.assert_array_equal(X, np.arange(6))
        for wrong, code in (
            ((1.0, X), "CALL_ARGUMENTS"),
            ((1.0, X, None, X), "CALL_ARRAY"),
            ((1.0, X, np.broadcast_to(X[:1], 6), X), "CALL_MEMORY"),
        ):
            with pytest.raises(UserError) as raised:
                call(wrong, {})
            assert raised.value.diagnostics[0].code == code


def running(X: f32["n"], y: wl.inout[f32["n"]]):
    y[i] = y[i - 1] + X[i]


def running_in_pair(X: f32["n"], y: wl.inout[f32["n"]], z: wl.out[f32["n"]]):
    z[i], y[i] = pad(y, 0)[i - 1], X[i] + y[i]


def compounded(X: f32["n", "k"], y: wl.inout[f32["n"]]):
    y[i] += X[i, j] * y[i]


def never_read(X: f32["n"], y: wl.inout[f32["n"]]):
    y[i] = X[i]


def product(X: f32["n", "k"], y: wl.inout[f32["n"]]):
    y[i] *= X[i, j]


def one_text(X: f32["n, k"], y: wl.out[f32["n"]]):
    y[i] += X[i, j]


def over_a_size(X: f32["n // k"], y: wl.out[f32["n"]]):
    y[i] = X[0]


def to_float(X: i32["n"], y: wl.out[f32["n"]]):
    y[i] = float(X[i])


@pytest.mark.parametrize(
    ("function", "code", "fix"),
    [
        (running, "READ_BEFORE_STORE", "scan lift"),
        (running_in_pair, "READ_BEFORE_STORE", "`temp` array first"),
        (compounded, "READ_BEFORE_STORE", r"y[i] = y[i] + sum(..., over=j)"),
        (never_read, "UNUSED", "out[...]"),
        (product, "REDUCTION_AXIS", "over=j"),
        (one_text, "SIZE", '["n", "k"]'),
        (over_a_size, "SIZE", "'k // 32'"),
        (to_float, "CALL", "f32(...)"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_refused(function: Any, code: str, fix: str) -> None:
    with pytest.raises(UserError) as raised:
        wl.tensor(function)
    (found,) = raised.value.diagnostics
    assert found.code == code and fix in found.fix and found.span.line > 0


def test_sizes_over_numbers_are_pythons(tmp_path: Any) -> None:
    rng = random.Random(7)
    texts = [
        "n // 2",
        "(n + 3) // 4",
        "-(-n // 4)",
        "2 * n - n // 3 * 2",
        "(n * k) // 6 + k",
        "n // 2 // 3 + 1",
        "(4 * n + 2) // 2",
        "7 // 2",
    ]
    texts += [
        f"({rng.randint(1, 4)} * n + {rng.randint(0, 9)} - k // {rng.randint(1, 5)}) // {rng.randint(1, 7)} + 3"
        for _ in range(12)
    ]
    header = "from __future__ import annotations\nfrom warploom import f32, out, tensor\n"
    path = tmp_path / "sized.py"
    body = '@tensor\ndef f{}(A: f32["n"], B: f32["k"], X: f32["{}"], y: out[f32["1"]]):\n'
    body += "    y[o] = sum(X[i], over=i) + ({}) + A[n // 2] * (n % 3)\n"
    path.write_text(header + "\n".join(body.format(number, text, text) for number, text in enumerate(texts)))
    for function, text in zip(load_tensors(path), texts, strict=True):
        call = Calls(Signature.of(function), lambda sizes, f=function: EvaluatedRunner(f.program(sizes)))
        for n, k in ((12, 5), (7, 9)):
            size = eval(text, {"n": n, "k": k})
            A, B, X = np.arange(n, dtype=np.float32), np.zeros(k, np.float32), np.ones(size, np.float32)
            np.testing.assert_array_equal(call((A, B, X), {}), [2 * size + A[n // 2] * (n % 3)])
            with pytest.raises(UserError, match="CALL_SHAPE"):
                call((A, B, np.ones(size + 1, np.float32)), {})
            program = function.program({"n": n, "k": k})
            (stage,) = program.stages
            again = type(program)("again", (parse_backbone(backbone_text(stage)),), ())
            assert evaluate_program(again, {"A": A, "X": X})["y"] == 2 * size + A[n // 2] * (n % 3)


def test_a_size_over_a_number_is_not_known_at_run_time() -> None:
    @wl.tensor
    def halves(X: f64["n"], y: wl.out[f64["n // 2"]]):
        y[i] = X[i]

    with pytest.raises(UserError) as raised:
        halves.at_run_time(halves.program({"n": 8}), {"n": 1})
    assert raised.value.diagnostics[0].code == "RUN_TIME_SIZE"
