"""Which statements can work at all: the bound is given up, never guessed, where something it relies on is not there."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.kernels.line import stencil1d
from warploom.sketch import Sketch
from warploom.synth.problem import kernel_algebra
from warploom.synth.proof.symbolic import run_spec
from warploom.synth.search import enabled
from warploom.synth.search import engine as engine_module
from warploom.synth.search.enabled import EnabledSets, enabled_sets
from warploom.synth.search.engine import Engine


def arguments(sketch: Sketch, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """The parts of a sketch that the engine asks about: its network, its folds, its root."""
    found: list[tuple[Any, Any, Any]] = []
    monkeypatch.setattr(engine_module, "enabled_sets", lambda *asked: found.append(asked))
    sizes = dict(sketch.complete_at)
    expected = run_spec(sketch.spec, sketch.kernel, sizes)
    Engine(sketch.kernel, sizes, expected.outputs, expected.stored, kernel_algebra(sketch), lambda _: True)
    return found[0]


@pytest.mark.parametrize(("limit", "value"), [("MAX_UNIONS", 0), ("MAX_PATTERNS", 0), ("MAX_STEPS", 1)])
def test_too_many_to_enumerate(limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = arguments(stencil1d(3), monkeypatch)
    found = enabled_sets(*asked)
    assert found is not None and (found.sets, found.bound, found.is_exhaustive) == ((1,), 1, True)
    monkeypatch.setattr(enabled, limit, value)
    assert enabled_sets(*asked) is None


def test_products_that_need_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    network, folds, root = arguments(stencil1d(3), monkeypatch)
    silent, spare = copy(folds), copy(folds)
    silent.is_silent = True
    used = folds.products.used_once.copy()
    used[0] = False
    spare.products = replace(folds.products, used_once=used)
    assert enabled_sets(network, silent, root) is None
    assert enabled_sets(network, spare, root) is None


def test_statements_that_all_run_anyway(monkeypatch: pytest.MonkeyPatch) -> None:
    network, folds, root = arguments(stencil1d(3), monkeypatch)
    certain = replace(network, statements=tuple(replace(s, is_certain=True) for s in network.statements))
    assert enabled_sets(certain, folds, root) is None


@pytest.mark.parametrize(
    ("union", "kinds", "feeds", "expected"),
    [
        (0b011, {0b001, 0b010}, {(0,), (1,)}, True),
        (0b001, {0b001, 0b011}, {(0,), (1,)}, False),  # the pattern with statement 1 needs it on
        (0b101, {0b001, 0b100}, {(0, 1), (2,)}, True),
        (0b100, {0b001, 0b100}, {(0,), (2,)}, False),
        (0b000, {0b001}, {(0,)}, False),
        (0b000, set(), set(), True),
    ],
)
def test_only_patterns_inside_a_set_feed_folds(union: int, kinds: set[int], feeds: set[tuple[int, ...]], expected: bool) -> None:
    asked = frozenset(map(frozenset, feeds))
    assert enabled._feeds_all(union, frozenset(kinds), asked) is expected  # pyright: ignore[reportPrivateUsage]


def test_statements_that_run_anyway_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One closed statement and one with a guard to be found, in one pattern: both are needed, one of them is open."""

    class Patterns:
        def __init__(self, *_: Any) -> None:
            self.kinds = frozenset({0b11}), frozenset({frozenset({0}), frozenset({1})})

        def of_component(self, _: int) -> Any:
            return self.kinds

    monkeypatch.setattr(enabled, "_Patterns", Patterns)
    folds: Any = SimpleNamespace(products=SimpleNamespace(component=np.array([0])))
    root: Any = None
    for certain, sets, bound in ((0b00, (0b11,), 2), (0b01, (0b10,), 1), (0b10, (0b01,), 1), (0b11, (0,), 0)):
        found = enabled._of_patterns(folds, root, np.ones(1, np.bool_), certain)  # pyright: ignore[reportPrivateUsage]
        assert found is not None and (found.sets, found.bound, found.is_exhaustive) == (sets, bound, True)


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        (None, 3),
        (EnabledSets((), 0, is_exhaustive=True), None),
        (EnabledSets((), 4, is_exhaustive=False), 6),
        (EnabledSets((0b11,), 2, is_exhaustive=True), 4),
    ],
)
def test_the_bound_counts_closed_statements_and_open_ones(sets: EnabledSets | None, expected: int | None) -> None:
    """Two statements run anyway; where no sets are known, what the model is certain of."""
    root = object()
    model = SimpleNamespace(bound=lambda at: (3, 0) if at is root else None)
    engine: Any = SimpleNamespace(
        free=root, enabled=sets, closed=2, network=SimpleNamespace(holes=()), _model=lambda *_: model,
        required=SimpleNamespace(multiplicity=np.array([1])),
    )  # fmt: skip
    asked: Any = vars(Engine)["accumulates_bound"]
    assert asked.func(engine) == expected
    engine.free = None
    assert asked.func(engine) is None


def test_without_sets_one_statement_is_needed_if_anything_is() -> None:
    model = SimpleNamespace(bound=lambda _: (0, 0))
    for multiplicity, least in (((0, 0), 0), ((0, 2), 1)):
        engine: Any = SimpleNamespace(
            free=object(), enabled=None, closed=0, network=SimpleNamespace(holes=()), _model=lambda *_: model,
            required=SimpleNamespace(multiplicity=np.array(multiplicity)),
        )  # fmt: skip
        assert vars(Engine)["accumulates_bound"].func(engine) == least
