"""Which statements can work at all: the bound is given up, never guessed, where something it relies on is not there."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import pytest

from warploom.kernels.line import stencil1d
from warploom.sketch import Sketch
from warploom.synth.complete import kernel_algebra
from warploom.synth.proof.symbolic import run_spec
from warploom.synth.search import enabled
from warploom.synth.search import engine as engine_module
from warploom.synth.search.enabled import enabled_sets
from warploom.synth.search.engine import Engine


def arguments(sketch: Sketch, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any, Any]:
    """What the engine asks about a sketch: its network, its folds, its root."""
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
