"""Elements at places that an array of integers says: `X[N[i]]`."""

# ruff: noqa: F821 (indices and sizes are names of the language)
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import warploom as wl
from warploom import f32, f64, i8, i32, i64, pad, u8, u64
from warploom.core import UserError
from warploom.schedule.backbone import backbone_text, evaluate, parse_backbone, places_of
from warploom.schedule.calls import Calls, EvaluatedRunner, Signature, pack_signature, plain_runner, unpack_signature
from warploom.schedule.cpu import find_compiler
from warploom.schedule.frontend import TensorFunction


@wl.tensor
def embed(E: f32["v", "d"], N: i64["b", "t"], y: wl.out[f32["b", "t", "d"]]):
    y[i, j, k] = E[N[i, j], k]


@wl.tensor
def picked(X: f32["n", "c"], L: u8["n"], y: wl.out[f32["n"]]):
    y[i] = -X[i, L[i]]


@wl.tensor
def padded(X: f64["v", "d"], P: i8["n"], y: wl.out[f64["n", "d"]]):
    y[i, k] = pad(X, 2)[P[i], d - 1 - k]


@wl.tensor
def both(X: i32["v", "d"], M: i32["n"], Q: u64["m"], y: wl.out[i32["n", "m"]], s: wl.out[i32["n"]]):
    y[i, j] = X[M[i], Q[j]]
    s[i] += X[M[i], Q[j]]


@wl.tensor
def mean(E: f32["v", "d"], T: i32["b", "t"], y: wl.out[f32["b", "d"]]):
    y[i, k] = sum(E[T[i, j], k], over=j) / t


@wl.tensor
def staged(X: f32["v"], M: i32["n"], u: wl.temp[f32["v"]], y: wl.out[f32["n"]]):
    u[i] = X[i] * 2
    y[i] = u[M[i]]


def case(function: TensorFunction, v: int, d: int, seed: int) -> tuple[tuple[np.ndarray, ...], tuple[np.ndarray, ...]]:
    """Inputs, and what NumPy makes of them."""
    chance = np.random.default_rng(seed)
    X = chance.standard_normal((v, d)).astype(np.float32)
    M = chance.integers(0, v, 9).astype(np.int32)
    match function.name:
        case "embed":
            N = chance.integers(0, v, (3, 5))
            return (X, N), (X[N],)
        case "picked":
            L = chance.integers(0, d, v).astype(np.uint8)
            return (X, L), (-X[np.arange(v), L],)
        case "padded":
            P = chance.integers(-3, v + 3, 11).astype(np.int8)
            inside = ((P >= 0) & (v > P))[:, None]
            return (X.astype(np.float64), P), (np.where(inside, X[np.clip(P, 0, v - 1)], 2)[:, ::-1].astype(np.float64),)
        case "both":
            whole, Q = (X * 9).astype(np.int32), chance.integers(0, d, 4).astype(np.uint64)
            return (whole, M, Q), (whole[M][:, Q], whole[M][:, Q].sum(1, dtype=np.int32))
        case "mean":
            T = chance.integers(0, v, (2, 6)).astype(np.int32)
            return (X, T), (X[T].mean(1),)
        case _:
            return (X[:, 0].copy(), M), (X[M, 0] * 2,)


FUNCTIONS = (embed, picked, padded, both, mean, staged)


def same(got: Any, wanted: tuple[np.ndarray, ...]) -> None:
    for one, other in zip(got if isinstance(got, tuple) else (got,), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_plain_loops_and_the_evaluation_are_as_numpy(function: TensorFunction) -> None:
    ways: list[Callable[[Any], Any]] = [lambda sizes: EvaluatedRunner(function.program(sizes))]
    if find_compiler() is not None:
        ways.append(lambda sizes: plain_runner(function, sizes, 2))
    for way in ways:
        made = Calls(Signature.of(function), way)
        for v, d in ((1, 1), (7, 5)):
            for seed in range(2):
                given, wanted = case(function, v, d, seed)
                same(made(given, {}), wanted)


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize(
    "function", [picked, *(pytest.param(f, marks=pytest.mark.slow) for f in (embed, padded, both, mean))], ids=lambda f: f.name
)
@pytest.mark.parametrize("target", [pytest.param("cpu", marks=pytest.mark.slow), "sm_90"])
def test_explored_kernels_are_judged(function: TensorFunction, target: str) -> None:
    given, wanted = case(function, 37, 19, 1)
    sizes = dict(Signature.of(function).bind(given, {}).sizes)
    found = wl.explore(function, sizes=sizes, target=target, nodes=3, budget_s=600, threads=2 if target == "cpu" else None)
    assert found.status == "solved"
    if target == "cpu":
        same(found(*given), wanted)
    elif function is padded:
        assert found.verdict == "tested" and "PROOF_" in str(found.line["proof_reason"])
    else:
        assert (found.verdict, found.line.get("proof_reason")) == ("proved", None)


def test_texts_are_read_back_and_indices_are_drawn_from_all_places() -> None:
    program = both.program({"v": 300, "d": 4, "n": 3, "m": 2})
    for stage in program.stages:
        text = backbone_text(stage)
        assert " in X\n" in text and backbone_text(parse_backbone(text)) == text
    assert places_of(program.stages) == {"M": 300, "Q": 4}
    assert places_of(padded.program({"v": 300, "d": 4, "n": 3}).stages) == {"P": 128}  # all that i8 has
    text = backbone_text(program.stages[0])
    for wrong, told in (
        ((" in X\n", " in Y\n"), "expected the name of a region"), ((" in X\n", "\n"), "expected `operand in region`"),
        ((" in X\n", " in y\n"), "expected an input to gather from"), ((" in X\n", " in Q\n"), "expected type u64 of 'Q'"),
        (("strides [4, 1]", "strides [5, 1]"), "expected rows of 'X' that lie one behind the other"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=told):
            parse_backbone(text.replace(*wrong))


def test_places_outside_are_refused_by_a_call_and_kept_inside_by_kernels() -> None:
    made = Calls(Signature.of(embed), lambda sizes: plain_runner(embed, sizes, 1))
    E = np.arange(8, dtype=np.float32).reshape(4, 2)
    good = np.array([[0, 3]])
    y = np.empty((1, 2, 2), np.float32)
    for _ in range(2):  # a call that is known looks at its places, too
        made((E, good, y), {})
        for wrong in (4, -1, 1 << 40):
            with pytest.raises(UserError, match=rf"CALL_INDEX.*from 0 to 3 on axis 0 of 'E', got N\[0, 1\] = {wrong}"):
                made((E, np.array([[0, wrong]]), y), {})
    far = np.array([[-(1 << 62), 1 << 62]])
    for runner in (plain_runner(embed, {"v": 4, "d": 2, "b": 1, "t": 2}, 1),
                   EvaluatedRunner(embed.program({"v": 4, "d": 2, "b": 1, "t": 2}))):  # fmt: skip
        runner.run([E, far, y], [])
        np.testing.assert_array_equal(y, E[[[0, 3]]])


def test_a_saved_signature_looks_at_places() -> None:
    program = embed.program({"v": 4, "d": 2, "b": 1, "t": 2})
    packed = pack_signature(program, embed.tree.parameters, embed.tree.places)
    read = unpack_signature(packed)
    assert read is not None and isinstance(packed, dict)
    with pytest.raises(UserError, match="CALL_INDEX"):
        read[1].bind((np.zeros((4, 2), np.float32), np.array([[0, 4]])), {})
    for wrong in (3, [3], [["E", "E", 0, 4]], [["N", "E", -1, 4]], [["N", "E", 0, 0]], [["N", "E", 0]]):
        assert unpack_signature({**packed, "places": wrong}) is None  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("y[i] = X[F[i]]", "INDEX_ARRAY.*got F"),
        ("y[i] = X[z[i]]", "INDEX_ARRAY.*got z"),
        ("y[i] = X[pad(N, 0)[i - 1]]", "INDEX_ARRAY"),
        ("y[i] = X[N[i] + 1]", "INDEX_NOT_AFFINE.*\n(.*\n)*.*stands alone"),
        ("y[N[i]] = X[i]", "TARGET_INDEX"),
        ("y[i] = X[N[i + 1]]", "INDEX_OUT_OF_RANGE"),
    ],
)
def test_refused_with_its_place(body: str, told: str, tmp_path: Any) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import warploom as wl\nfrom warploom import f32, i32, pad\n\n\n@wl.tensor\n"
        'def f(X: f32["n"], N: i32["n"], F: f32["n"], z: wl.inout[i32["n"]], y: wl.out[f32["n"]]):\n'
        f"    {body}\n    z[i] += 1\n"
    )
    with pytest.raises(UserError, match=told):
        wl.explore(f"{file}:f", sizes={"n": 4}, nodes=1)


def test_an_index_beside_a_gathered_one_that_leaves_the_array_is_told_the_way_that_works() -> None:
    @wl.tensor
    def refused(X: f32["v", "d"], P: i32["n"], y: wl.out[f32["n", "d"]]):
        y[i, k] = pad(X, 0)[P[i], k + 1]

    @wl.tensor
    def works(X: f32["v", "d"], P: i32["n"], t: wl.temp[f32["v", "d"]], y: wl.out[f32["n", "d"]]):
        t[r, k] = pad(X, 0)[r, k + 1]
        y[i, k] = pad(t, 0)[P[i], k]

    with pytest.raises(UserError) as caught:
        refused.program({"v": 3, "d": 2, "n": 4})
    (told,) = caught.value.diagnostics
    assert told.code == "INDEX_OUT_OF_RANGE" and told.span.source[told.span.column - 1 : told.span.end_column - 1] == "k + 1"
    assert told.fix.endswith("and gather from that: around a gather, pad is for those places only.")
    X, P = np.arange(6, dtype=np.float32).reshape(3, 2) + 1, np.array([2, 0, 3, -1], np.int32)
    got = Calls(Signature.of(works), lambda sizes: EvaluatedRunner(works.program(sizes)))((X, P), {})
    assert np.array_equal(got, [[6, 0], [2, 0], [0, 0], [0, 0]])


def test_sizes_known_at_run_time_are_rows_of_indices_not_places() -> None:
    sizes = {"v": 4, "d": 2, "b": 8, "t": 2}
    program = embed.program(sizes)
    assert embed.at_run_time(program, {"b": 1}).stages[0].axes[0].run_time is not None
    with pytest.raises(UserError, match="known at run time, in the places of no gather"):
        embed.at_run_time(program, {"v": 1})


def test_the_evaluation_stops_at_a_place_outside() -> None:
    backbone = parse_backbone(
        "backbone b\naxis i 2: 2\ninput X f32 [3] strides [1]\ninput N i32 [2] strides [1]\noutput y f32 [2] strides [1]\n"
        "n[i] = load i32 N[i]\nx[i] = gather f32 n[i] in X\nput[i] = store f32 x[i] to y[i]\n"
    )
    X = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(evaluate(backbone, {"X": X, "N": np.array([2, 0])})["y"], [2, 0])
    for wrong in (3, -1):
        with pytest.raises(IndexError, match="a gather from 'X' leaves it"):
            evaluate(backbone, {"X": X, "N": np.array([0, wrong])})
