"""Kernels in one pass compute what the function says, and other kernels are refused with a reason."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from warploom.core import f32
from warploom.schedule.backbone import (
    Backbone,
    Constant,
    Operator,
    evaluate,
    evaluate_terms,
    no_tiles,
    parse_backbone,
    read_once,
    running,
    verify,
)
from warploom.schedule.frontend import exp, log, out, sqrt, tensor
from warploom.schedule.online import online, tiles_of_axis
from warploom.terms import Normaliser, algebra_for, constant, iterate_post


@tensor
def attention(scale: f32, Q: f32["n", "d"], K: f32["m", "d"], V: f32["m", "d"], Y: out[f32["n", "d"]]):
    s[i, j] = scale * sum(Q[i, k] * K[j, k], over=k)
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    weighted[i, c] = sum(e[i, j] * V[j, c], over=j)
    Y[i, c] = weighted[i, c] / total[i]


@tensor
def log_sum_exp(X: f32["n", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = top[i] + log(sum(exp(X[i, j] - top[i]), over=j))


@tensor
def softmax(X: f32["n", "m"], Y: out[f32["n", "m"]]):
    top[i] = max(X[i, j], over=j)
    total[i] = sum(exp(X[i, j] - top[i]), over=j)
    Y[i, j] = exp(X[i, j] - top[i]) / total[i]


@tensor
def largest(X: f32["n", "m"], y: out[f32["n"]]):
    y[i] = max(X[i, j], over=j)


@tensor
def beside(X: f32["n", "m"], y: out[f32["n"]]):
    y[i] = max(X[i, j], over=j) + sum(X[i, j], over=j)


@tensor
def scaled(t: f32, X: f32["n", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = sum(t * exp(X[i, j] - top[i]), over=j)


@tensor
def rooted(X: f32["n", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = sum(sqrt(top[i] - X[i, j]), over=j)


@tensor
def twice(X: f32["n", "m"], W: f32["m", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    z[i, k] = sum(exp(X[i, j] - top[i]) * W[j, k], over=j)
    most[i] = max(z[i, k], over=k)
    y[i] = sum(exp(z[i, k] - most[i]), over=k)


@tensor
def not_rescaled(X: f32["n", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = sum(exp(X[i, j] - top[i]) + 1, over=j)


@tensor
def negated(X: f32["n", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    below[i] = -top[i]
    y[i] = sum(exp(X[i, j] + below[i]), over=j)


@tensor
def of_columns(X: f32["n", "m"], W: f32["m", "m"], y: out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    t[i, j] = sum(W[j, k] * top[i], over=k)
    y[i] = sum(exp(X[i, j] - top[i]) * t[i, j], over=j)


def stage_of(function, sizes) -> Backbone:
    return read_once(function.program(sizes, no_tiles).stages[0])


ATTENTION = {"n": 3, "m": 12, "d": 4}
PLAIN = stage_of(attention, ATTENTION)


def one_pass(tile: int = 4) -> Backbone:
    found = online(PLAIN, tile)
    assert isinstance(found, Backbone)
    verify(found)
    return found


def arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {
        name: rng.normal(size=shape).astype(np.float32) * 2 for name, shape in (("Q", (3, 4)), ("K", (12, 4)), ("V", (12, 4)))
    }


def by_brute_force(data: dict[str, np.ndarray], scale: float) -> np.ndarray:
    """In double precision, without a maximum."""
    q, k, v = (data[name].astype(np.float64) for name in "QKV")
    result = np.zeros((len(q), v.shape[1]))
    for i in range(len(q)):
        weights = [np.exp(scale * sum(q[i, d] * k[j, d] for d in range(q.shape[1]))) for j in range(len(k))]
        for c in range(v.shape[1]):
            result[i, c] = sum(w * v[j, c] for j, w in enumerate(weights)) / sum(weights)
    return result


@pytest.mark.parametrize("tile", [1, 2, 3, 4, 6, 12])
def test_attention_in_one_pass_is_attention(tile: int) -> None:
    made = evaluate(one_pass(tile), arrays(), {"scale": 0.6})["Y"]
    np.testing.assert_allclose(made, by_brute_force(arrays(), 0.6), rtol=2e-5, atol=1e-6)


def test_it_keeps_a_maximum_and_sums_and_no_scores() -> None:
    stage = one_pass()
    assert {stage.instructions[n].name for n in running(stage.instructions)} == {"top"}
    outer = stage.rewritten.outer
    carried = [i.name for i in stage.instructions if i.carry is not None and outer in i.carry.reduced]
    assert carried == ["top", "total", "weighted"]
    assert {i.access.region for i in stage.instructions if i.operator is Operator.STORE} == {3}, "only Y is written"
    assert stage.plain is PLAIN


def terms_are_equal(stage: Backbone, joins_powers: bool = True) -> bool:
    normaliser = Normaliser(algebra_for(f32), joins_powers=joins_powers)
    ((wanted, made),) = [(p.terms, o.terms) for p, o in [(evaluate_terms(PLAIN)["Y"], evaluate_terms(stage)["Y"])]]
    return all(normaliser.canonical(finite(a)) is normaliser.canonical(finite(b)) for a, b in zip(wanted, made, strict=True))


LEAST = constant(-float(np.finfo(np.float32).max))


def finite(term):
    """With no value below the least float: maxima with it are the other value."""
    done = {}
    for t in iterate_post(term):
        args = [done[a] for a in t.args]
        others = [a for a in args if a.op != "constant" or float(a.data[0]) != LEAST.data[0]]
        done[t] = others[0] if t.op == "max" and len(others) == 1 else t.rebuilt(args) if args else t
    return done[term]


def test_its_terms_are_those_of_the_function_by_the_law_alone() -> None:
    assert terms_are_equal(one_pass())
    assert not terms_are_equal(one_pass(), joins_powers=False)


def changed(name: str, **changes) -> Backbone:
    """The rewritten kernel with another instruction of this name."""
    stage = one_pass()
    return replace(stage, instructions=tuple(replace(i, **changes) if i.name == name else i for i in stage.instructions))


def operands(name: str):
    return next(i.operands for i in one_pass().instructions if i.name == name)


MISTAKES = {
    "sums are not rescaled": changed("weighted", operands=(operands("weighted")[0], Constant(1.0), operands("weighted")[2])),
    "one sum is not rescaled": changed("total", operands=(operands("total")[0], Constant(1.0), operands("total")[2])),
    "tiles are not rescaled": changed("scaled_2", operands=(operands("scaled_2")[0], Constant(1.0))),
    "the maximum begins at 0": changed("top_start", operands=(Constant(0.0),)),
    "the old maximum is the new one": changed("top_before", operands=operands("joined")[1:]),
    "the difference is turned round": changed("joined", operands=operands("joined")[::-1]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_other_terms(mistake: str) -> None:
    assert not terms_are_equal(MISTAKES[mistake])


@pytest.mark.parametrize(
    ("function", "sizes", "why"),
    [
        (softmax, {"n": 3, "m": 8}, "div needs all of j before it goes on along j"),
        (largest, {"n": 3, "m": 8}, "nothing is summed over j"),
        (beside, {"n": 3, "m": 8}, "is no sum over j alone, from 0 on, that needs the maximum"),
        (scaled, {"n": 3, "m": 8}, "expected the scalar t in what the maximum is of"),
        (rooted, {"n": 3, "m": 8}, "expected sums, products and powers of e, got sqrt"),
        (not_rescaled, {"n": 3, "m": 8}, "is not rescaled by exp(old - new)"),
        (negated, {"n": 3, "m": 8}, "the sums need below, which is made of the maximum of all of j"),
        (of_columns, {"n": 3, "m": 8}, "t reduces what needs the maximum"),
        (log_sum_exp, {"n": 3, "m": 10}, "tiles of 4 do not divide the 10 iterations of j"),
    ],
)
def test_what_stays_in_two_passes(function, sizes, why: str) -> None:
    found = online(stage_of(function, sizes), 4)
    assert isinstance(found, str)
    assert why in found


def test_a_maximum_of_what_needs_a_maximum_is_rewritten_alone() -> None:
    found = online(stage_of(twice, {"n": 2, "m": 8}), 4)
    assert isinstance(found, Backbone)
    assert found.plain.axes[found.rewritten.axis].name in ("j", "k")
    rng = np.random.default_rng(0)
    data = {"X": rng.normal(size=(2, 8)).astype(np.float32), "W": rng.normal(size=(8, 8)).astype(np.float32)}
    np.testing.assert_allclose(evaluate(found, data)["y"], evaluate(found.plain, data)["y"], rtol=1e-5)


BY_HAND = """backbone by_hand
axis i 2: 2
axis j 8: 8
input X f32 [2, 8] strides [8, 1]
output y f32 [2] strides [1]
load_X[i, j] = load f32 X[i, j]
least[i] = move f32 -inf
top[i, j] = max f32 carry(least; j), load_X[i, j]
less[i, j] = sub f32 load_X[i, j], top[i]
e[i, j] = exp f32 less[i, j]
zero[i] = move f32 0.0
total[i, j] = add f32 carry(zero; j), e[i, j]
store_y[i] = store f32 total[i] to y[i]
"""


@pytest.mark.parametrize(
    ("line", "other", "why"),
    [
        ("least[i] = move f32 -inf", "least[i] = move f32 0.0", "the maximum does not begin below all floats"),
        ("zero[i] = move f32 0.0", "zero[i] = move f32 1.0", "from 0 on"),
        ("max f32 carry(least; j), load_X[i, j]", "max f32 carry(least; j), 2.0", "is not of a value at each j"),
        ("backbone by_hand", "backbone by_hand ordered", "sums of floats keep their order"),
        ("add f32 carry(zero; j), e[i, j]", "mul f32 carry(zero; j), e[i, j]", "expected a sum, got mul"),
        ("max f32 carry", "min f32 carry", "there is no maximum over one axis"),
    ],
)
def test_refusals_of_kernels_by_hand(line: str, other: str, why: str) -> None:
    assert isinstance(online(parse_backbone(BY_HAND), 4), Backbone)
    assert line in BY_HAND
    found = online(parse_backbone(BY_HAND.replace(line, other)), 4)
    assert isinstance(found, str)
    assert why in found


def test_tiles_without_a_finite_value_add_nothing() -> None:
    found = online(stage_of(log_sum_exp, {"n": 3, "m": 12}), 4)
    assert isinstance(found, Backbone)
    data = np.random.default_rng(1).normal(size=(3, 12)).astype(np.float32)
    data[0, :4] = data[1, 4:8] = data[2, 1:] = -np.inf
    made = evaluate(found, {"X": data})["y"]
    np.testing.assert_allclose(made, np.log(np.exp(data.astype(np.float64)).sum(axis=1)), rtol=1e-6)


def test_tiles_inside_of_a_tile() -> None:
    assert tiles_of_axis(12) == ((1, 2, 4),)
    assert tiles_of_axis(7) == ()
