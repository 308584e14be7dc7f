"""Faults that one set of random data does not show are refuted by further data sets."""

# ruff: noqa: F821
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from warploom.core import bf16, bf16_values, bf16_words, f32, i8, i32, u8
from warploom.schedule.backbone import Content, Program, exact_whole
from warploom.schedule.cpu import find_compiler, plain_nest
from warploom.schedule.frontend import TensorFunction, exp, out, tensor
from warploom.schedule.nest import Loop, Nest, Node, Store
from warploom.tools.explore import check
from warploom.tools.explore.budget import OutOfTimeError
from warploom.tools.explore.check import Checked, check_cpu, compare
from warploom.tools.explore.data import Effort, data_for, further_data, seconds_of

Arrays = Mapping[str, Any]


@tensor
def row_max(X: f32["m", "n"], y: out[f32["m"]]):
    y[i] = max(X[i, j], over=j)


@tensor
def softmax(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    top[i] = max(X[i, j], over=j)
    e[i, j] = exp(X[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    Y[i, j] = e[i, j] / total[i]


@tensor
def whole_sum(X: f32["n"], y: out[f32[1]]):
    y[0] = sum(X[i], over=i)


@tensor
def clamped(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    Y[i, j] = min(max(X[i, j], 0), 6)


@tensor
def looked_up(W: f32["v", "d"], ids: i32["n"], Y: out[f32["n", "d"]]):
    Y[i, j] = W[ids[i], j]


@tensor
def of_bytes(A: u8["m", "k"], B: i8["k", "n"], C: out[i32["m", "n"]]):
    C[i, j] += i32(A[i, k]) * i32(B[k, j])


@tensor
def narrowed(A: bf16["m", "k"], B: bf16["k", "n"], C: out[bf16["m", "n"]]):
    C[i, j] = bf16(sum(f32(A[i, k]) * f32(B[k, j]), over=k))


@tensor
def weighed(alpha: f32, beta: f32, X: f32["n"], Z: f32["n"], y: out[f32["n"]]):
    y[i] = alpha * X[i] + beta * Z[i]


def _softmax(X: Any, skipped: int | None) -> Any:
    seen = X if skipped is None else np.delete(X, skipped, axis=1)
    with np.errstate(all="ignore"):
        e = np.exp(X - seen.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)


def _by_bytes(A: Any, B: Any, most: int | None) -> Any:
    """Sums of two products in words of 16 bits at a time."""
    products = A.astype(np.int64)[:, :, None] * B.astype(np.int64)[None]
    pairs = products[:, ::2] + products[:, 1::2]
    return (pairs if most is None else np.clip(pairs, -most - 1, most)).sum(axis=1).astype(np.int32)


def _cut(values: Any) -> Any:
    return bf16_values((values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16))


def _nearest(values: Any) -> Any:
    return bf16_values(bf16_words(values.astype(np.float32)))


def _kept(ids: Any, most: int) -> Any:
    return np.clip(ids, 0, most)


Kernel = Callable[[Arrays, Mapping[str, float]], Arrays]
CASES: dict[str, tuple[TensorFunction, dict[str, int], Kernel, dict[str, Kernel]]] = {
    "row maximum": (
        row_max,
        {"m": 12, "n": 40},
        lambda a, _: {"y": a["X"].max(axis=1)},
        {
            "first left out": lambda a, _: {"y": a["X"][:, 1:].max(axis=1)},
            "last left out": lambda a, _: {"y": a["X"][:, :-1].max(axis=1)},
            "one left out": lambda a, _: {"y": np.delete(a["X"], 23, axis=1).max(axis=1)},
            "NaN forgotten": lambda a, _: {"y": np.fmax.reduce(a["X"], axis=1)},
            "zero among them": lambda a, _: {"y": np.maximum(a["X"].max(axis=1), 0)},
        },
    ),
    "softmax": (
        softmax,
        {"m": 12, "n": 24},
        lambda a, _: {"Y": _softmax(a["X"], None)},
        {f"{n} left out of the maximum": lambda a, _, n=n: {"Y": _softmax(a["X"], n)} for n in (0, 1, 13, 23)},
    ),
    "long sum": (
        whole_sum,
        {"n": 1500},
        lambda a, _: {"y": np.array([np.sum(a["X"], dtype=np.float64)], np.float32)},
        {
            "one left out": lambda a, _: {"y": np.array([np.sum(np.delete(a["X"], 1321), dtype=np.float64)], np.float32)},
            "one twice": lambda a, _: {"y": np.array([np.sum(a["X"], dtype=np.float64) + a["X"][77]], np.float32)},
        },
    ),
    "limits": (
        clamped,
        {"m": 5, "n": 7},
        lambda a, _: {"Y": np.clip(a["X"], 0, 6)},
        {"above": lambda a, _: {"Y": np.maximum(a["X"], 0)}, "seven": lambda a, _: {"Y": np.clip(a["X"], 0, 7)}},
    ),
    "places": (
        looked_up,
        {"v": 9, "d": 4, "n": 15},
        lambda a, _: {"Y": a["W"][_kept(a["ids"], 8)]},
        {
            "last place": lambda a, _: {"Y": a["W"][_kept(a["ids"], 7)]},
            "places beyond": lambda a, _: {"Y": a["W"][a["ids"] % 9]},
        },
    ),
    "bytes": (
        of_bytes,
        {"m": 4, "n": 5, "k": 12},
        lambda a, _: {"C": _by_bytes(a["A"], a["B"], None)},
        {"saturated": lambda a, _: {"C": _by_bytes(a["A"], a["B"], 32767)}},
    ),
    "bf16": (
        narrowed,
        {"m": 4, "n": 5, "k": 12},
        lambda a, _: {"C": _nearest(a["A"].astype(np.float64) @ a["B"])},
        {"cut off": lambda a, _: {"C": _cut(a["A"].astype(np.float64) @ a["B"])}},
    ),
    "scalars": (
        weighed,
        {"n": 9},
        lambda a, s: {"y": s["alpha"] * a["X"] + s["beta"] * a["Z"]},
        {"swapped": lambda a, s: {"y": s["beta"] * a["X"] + s["alpha"] * a["Z"]}},
    ),
}


def verdicts(name: str, kernel: Kernel) -> Counter[str]:
    function, sizes, _, _ = CASES[name]
    program = function.program(sizes)
    first = data_for(program, None, 0)
    sets = [first, *further_data(program, 0, {}, first.content)]
    return Counter(compare(kernel(d.inputs, d.scalars), d).verdict for d in sets)


@pytest.mark.parametrize("name", list(CASES))
def test_right_results_are_tested(name: str) -> None:
    assert set(verdicts(name, CASES[name][2])) == {"tested"}


@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name, case in CASES.items() for fault in case[3]])
def test_faults_are_refuted(name: str, fault: str) -> None:
    assert verdicts(name, CASES[name][3][fault])["refuted"]


def test_scalars_differ_and_whole_sets_have_whole_ones() -> None:
    program = weighed.program({"n": 9})
    made = list(further_data(program, 0, {"beta": 0.1}))
    assert {tuple(d.scalars.values()) for d in made} == {(1.5, 0.1), (2.0, 3.0)}
    assert all((d.tolerance == 0) == (d.content is Content.WHOLE) for d in made)


def test_the_number_of_sets_follows_from_what_they_take() -> None:
    program = softmax.program({"m": 12, "n": 24})
    every = [d.content for d in further_data(program, 0, {})]
    assert set(every) == {Content.RANDOM, Content.WHOLE, Content.FAR, Content.WIDE} and len(every) <= 24
    assert len(list(further_data(program, 0, {}, effort=Effort(3 * seconds_of(program))))) == 3
    assert len(list(further_data(program, 0, {}, effort=Effort(run_s=0.2)))) == 2
    assert not list(further_data(softmax.program({"m": 12, "n": 1 << 22}), 0, {}))
    turned = [d.content for d in further_data(program, 0, {}, effort=Effort(most=1, start=2))]
    assert turned == every[2:3]


needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
SIZES = {"m": 12, "n": 20}


def checked(nests: Sequence[Nest], program: Program, **more: Any) -> Checked:
    return check_cpu(program, nests, data_for(program, None, 0), 1, row_max, 0, sizes=SIZES, **more)


@needs_compiler
def test_an_element_that_is_not_stored_is_refuted_even_where_zero_is_right() -> None:
    program = clamped.program({"m": 5, "n": 7})
    nest = plain_nest(program.stages[0])
    zeros = replace(data_for(program, None, 0), inputs={"X": np.full((5, 7), -1, np.float32)}, outputs={"Y": np.zeros((5, 7))})
    idle = replace(nest, body=_without_stores(nest.body))
    assert check_cpu(program, [idle], zeros, 1).verdict == "tested"
    assert check_cpu(program, [nest], zeros, 1, clamped, sizes={"m": 5, "n": 7}).verdict == "tested"
    assert check_cpu(program, [idle], zeros, 1, clamped, sizes={"m": 5, "n": 7}).verdict == "refuted"


def _without_stores(body: Sequence[Node]) -> tuple[Node, ...]:
    kept: list[Node] = []
    for node in body:
        if isinstance(node, Loop):
            kept.append(replace(node, body=_without_stores(node.body)))
        elif not isinstance(node, Store):
            kept.append(node)
    return tuple(kept)


@needs_compiler
def test_what_was_compared_is_told_and_lateness_leaves_it(monkeypatch: pytest.MonkeyPatch) -> None:
    program = row_max.program(SIZES)
    nests = [plain_nest(stage) for stage in program.stages]
    found = checked(nests, program)
    assert found.verdict == "tested" and found.cases == 12 * sum(found.data.values())
    assert found.data[Content.SPECIAL] == 2 and found.data[Content.WHOLE] >= 4

    def late(*_: object) -> Any:
        raise OutOfTimeError

    monkeypatch.setattr(check, "further_data", late)
    found = checked(nests, program)
    assert (found.verdict, found.cases, dict(found.data)) == ("tested", 12, {Content.WHOLE: 1})


@needs_compiler
def test_large_kernels_take_further_sets_at_a_small_size() -> None:
    program = softmax.program({"m": 800, "n": 400})
    nests = [plain_nest(stage) for stage in program.stages]
    data = data_for(program, None, 0)
    assert data.content is Content.RANDOM and exact_whole(program, {}) is None
    found = check_cpu(program, nests, data, 1, softmax, 0, sizes={"m": 800, "n": 400})
    assert found.verdict == "tested" and sum(found.data.values()) > 8
    wrong = softmax.program({"m": 20, "n": 30})

    def small() -> Any:
        yield {"m": 20, "n": 30}, wrong, [replace(n, body=_without_stores(n.body)) for n in map(plain_nest, wrong.stages)]

    assert check_cpu(program, nests, data, 1, softmax, 0, sizes={"m": 800, "n": 400}, small=small).verdict == "refuted"
    assert check_cpu(program, nests, data, 1, softmax, 0, sizes={"m": 800, "n": 400}, small=lambda: iter(())).data == {
        "random": 1
    }
