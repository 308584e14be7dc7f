"""Parts that count further than the index does are seen to be the sum only where nothing is added beyond its end."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.schedule.backbone.test_joined import changed, longer, moved, named

from warploom.core import f32, i64
from warploom.core.linear import Linear
from warploom.schedule.backbone import Backbone, Constant, Operator, Position, RunTimeSize, unlike
from warploom.schedule.frontend import PartedFunction, TensorFunction, exp, out, pad, tensor

N = 50


@tensor
def product(X: f32["r", "n"], Y: f32["n"], s: out[f32["r"]]):
    s[i] = sum(X[i, k] * Y[k], over=k)


@tensor
def greatest(X: f32["n"], s: out[f32[1]]):
    s[one] = max(X[k], over=k)


@tensor
def powers(X: f32["r", "n"], Y: f32["n"], s: out[f32["r"]]):
    s[i] = sum(exp(X[i, k] + Y[k]), over=k)


@tensor
def shifted(X: f32["n"], s: out[f32[1]]):
    s[one] = sum(pad(X, 0)[k - 1] * X[k], over=k)


@tensor
def wide(N: i64["n"], s: out[i64[1]]):
    s[one] = max(N[k], over=k)


def told(function: TensorFunction, change: Callable[[Backbone], Backbone] = lambda s: s) -> str | None:
    sizes = {"n": N, **({"r": 3} if "r" in function.sizes else {})}
    first, *others = PartedFunction(function, 3, "n", 0, 8).program(sizes).stages
    return unlike(function.program(sizes).stages, [change(first), *others])


def filled(stage: Backbone, name: str, fill: float | None) -> Backbone:
    access = named(stage, name).access
    assert access is not None
    return changed(stage, name, access=replace(access, fill=fill))


def shaped(stage: Backbone, name: str, *shape: int) -> Backbone:
    return replace(stage, regions=tuple(replace(r, shape=shape) if r.name == name else r for r in stage.regions))


def operand(stage: Backbone, name: str, at: int, to: object) -> Backbone:
    own = named(stage, name).operands
    return changed(stage, name, operands=(*own[:at], to, *own[at + 1 :]))


def place(stage: Backbone, by: int) -> Backbone:
    index = next(o.index for o in named(stage, "less").operands if isinstance(o, Position))
    return operand(stage, "less", 0, Position(index.shifted(by)))


def turned(stage: Backbone) -> Backbone:
    return changed(stage, "less", operands=named(stage, "less").operands[::-1])


def test_the_parts_in_rounds_are_the_sum() -> None:
    for function in (product, greatest, powers, shifted, wide):
        assert told(function) is None, function.name


MISTAKES: dict[str, tuple[TensorFunction, Callable[[Backbone], Backbone]]] = {
    "fewer rounds": (product, lambda s: longer(s, "round", 2)),
    "another fill": (product, lambda s: filled(filled(s, "load_X", 1.0), "load_Y", 1.0)),
    "a fill of one factor": (product, lambda s: filled(s, "load_Y", None)),
    "fills of a sum in a maximum": (greatest, lambda s: filled(s, "load_X", 0.0)),
    "elements behind the end": (product, lambda s: shaped(shaped(s, "X", 3, N + 1), "Y", N + 1)),
    "an end that is too near": (product, lambda s: shaped(s, "Y", N - 1)),
    "rows that are not there": (product, lambda s: shaped(s, "X", 2, N)),
    "another place": (product, lambda s: moved(s, "load_Y", 0, Linear((), 1))),
    "parts that overlap": (product, lambda s: moved(s, "load_Y", 0, Linear(((1, -1),)))),
    "a limit above": (powers, lambda s: operand(s, "less", 1, Constant(N + 1))),
    "a limit below": (powers, lambda s: operand(s, "less", 1, Constant(N - 1))),
    "places from 1 on": (powers, lambda s: place(s, 1)),
    "limit and place turned": (powers, turned),
    "no less": (powers, lambda s: changed(s, "less", operator=Operator.LESS_EQUAL)),
    "something beyond": (powers, lambda s: operand(s, "select", 2, Constant(1.0))),
    "the other choice": (powers, lambda s: changed(s, "select", operands=named(s, "select").operands[::-1])),
    "no condition": (powers, lambda s: operand(s, "sum", 1, named(s, "select").operands[1])),
    "reads that end early": (powers, lambda s: shaped(s, "Y", N - 1)),
    "a neighbour of the least number": (wide, lambda s: operand(s, "select", 2, Constant(-(2**63) + 1))),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_refused(mistake: str) -> None:
    function, change = MISTAKES[mistake]
    found = told(function, change)
    assert found is not None and "is not seen to be what" in found, found


def test_sizes_of_the_launch_are_refused() -> None:
    """Stages are shown to be one at one value."""

    def opened(stage: Backbone) -> Backbone:
        axes = (replace(a, run_time=RunTimeSize("n", per=24)) if a.name == "round" else a for a in stage.axes)
        return replace(stage, axes=tuple(axes))

    assert "has a size that is known at run time" in str(told(product, opened))
