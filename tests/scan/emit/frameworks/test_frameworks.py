"""Modules for frameworks of Python: their functions against the loop, their lines where the framework is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom import scan
from warploom.core import UserError
from warploom.scan.emit import TARGETS, Types, emit, imported, source_of
from warploom.scan.emit import program as program_module
from warploom.scan.emit.frameworks import AGGREGATES, jax_module, try_aggregate, try_jax
from warploom.scan.emit.frameworks import aggregates as aggregates_module
from warploom.scan.emit.peers import NotInstalledError
from warploom.scan.tasks import loops_module

OWN = scan.parse_module(
    """
def merge(xs: list[int]):
    state = 0
    for x in xs:
        state = state + x
    return state


def scaled(xs: list[float], by: float):
    level = 0.0
    for x in xs:
        level = level * by + x
    return level


def both(xs: list[int], ys: list[int]):
    low = 0
    high = 0
    for x, y in zip(xs, ys):
        low = min(low, x)
        high = max(high, y + x)
    return low, high


def digits(xs: list[int]):
    value = 0
    for x in xs:
        assert x * x <= 81
        value = (value * 10 + x) % 1000000007
    return value


def positives(xs: list[int]):
    value = 0
    for x in xs:
        assert x >= 0
        value = max(value, x)
    return value


def least(xs: list[float]):
    value = 0.5
    for x in xs:
        value = min(value, x)
    return value


def running(xs: list[int]):
    out = []
    total = 0
    for x in xs:
        total = total + x
        out.append(total)
    return out
""",
    "own.py",
)


OWN_NAMES = {"merge", "scaled", "both", "running", "digits", "positives", "least"}


def lifting(name: str) -> scan.Lifting:
    module = OWN if name in OWN_NAMES else loops_module()
    return scan.lift(scan.read_loop(module, name))


def operator(name: str) -> scan.Operator:
    found = lifting(name).operator
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["max_segment_sum", "is_sorted", "average", "maximum", "merge", "both"])
def test_states_of_pieces_are_merged(name: str) -> None:
    found = try_aggregate(operator(name), "dask")
    assert found.cases and not found.mismatch


def test_a_wrong_merge_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = aggregates_module._STATES.replace("for state in (a, b))", "for state in (b, a))")
    monkeypatch.setattr(aggregates_module, "_STATES", wrong)
    assert "expected" in try_aggregate(operator("is_sorted"), "dask").mismatch
    assert emit(lifting("is_sorted"), "dask").verdict == "refuted"


def test_whole_numbers_are_exact() -> None:
    with imported(source_of(operator("merge"), "spark")) as module:
        state = module.update(module.zero(), [2**62, 2**62])
        state = module.merge(state, module.update(module.zero(), [2**62]))
        assert module.finish(state) == 3 * 2**62 and module.finish(module.zero()) == 0
        assert module.merge_([1, 2]) == 3
    with imported(source_of(operator("maximum"), "spark")) as module:
        assert module.zero() == (-np.inf,) and module.finish(module.update(module.zero(), [3, 5])) == 5


@pytest.mark.parametrize("framework", AGGREGATES)
def test_what_is_no_aggregate_is_refused(framework: Any) -> None:
    for name, why in (("running", "a result for every element"), ("scaled", "parameters besides its list")):
        with pytest.raises(UserError, match=why):
            source_of(operator(name), framework)
    assert compile(source_of(operator("both"), framework), framework, "exec")


def test_what_was_not_run_is_said() -> None:
    made = emit(lifting("merge"), "polars")
    assert made.verdict == "tested" and any("Polars itself are unchecked" in note for note in made.notes)


def associative_scan(combine: Callable[..., Any], values: tuple[Any, ...]) -> tuple[Any, ...]:
    """As JAX documents it, one element after the other."""
    found = [tuple(v[0] for v in values)]
    for i in range(1, len(values[0])):
        found.append(combine(found[-1], tuple(v[i] for v in values)))
    return tuple(np.array(column, v.dtype) for column, v in zip(zip(*found, strict=True), values, strict=True))


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX's names, computed by NumPy."""
    if importlib.util.find_spec("jax") is not None:
        return
    module = ModuleType("jax")
    module.lax = SimpleNamespace(associative_scan=associative_scan)  # type: ignore[attr-defined]
    module.numpy = np  # type: ignore[attr-defined]
    module.core = SimpleNamespace(Tracer=())  # type: ignore[attr-defined]
    module.Array = ()  # type: ignore[attr-defined]
    module.config = SimpleNamespace(jax_enable_x64=False)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jax", module)
    monkeypatch.setitem(sys.modules, "jax.numpy", np)
    monkeypatch.setattr(jax_module.importlib.util, "find_spec", lambda _: True)


@pytest.mark.parametrize("name", ["max_segment_sum", "is_sorted", "average", "line_of_sight", "both", "running", "scaled"])
def test_jax(name: str, jax: None) -> None:
    found = try_jax(operator(name), Types("int32", "float32"))
    assert found.cases and not found.mismatch


@pytest.mark.parametrize(
    ("name", "given", "error", "why"),
    [
        ("positives", [2**40], OverflowError, "numbers that int32 holds"),  # JAX itself wraps them
        ("positives", [1.5], TypeError, "an array of int32, got float64"),
        ("positives", [-1], ValueError, "breaks an assertion of the loop"),
        ("positives", [], ValueError, "at least one element"),
        ("digits", [3], TypeError, "64-bit numbers in JAX, which are off"),  # products modulo 1000000007 would wrap
        ("is_sorted", ["a"], TypeError, "an array of int32"),
    ],
)
def test_what_jax_would_take_for_something_else_is_refused(
    name: str, given: list[Any], error: type[Exception], why: str, jax: None
) -> None:
    with imported(source_of(operator(name), "jax")) as module, pytest.raises(error, match=why):
        getattr(module, name)(given)


def test_jax_asks_assertions_of_exact_numbers(jax: None) -> None:
    with imported(source_of(operator("digits"), "jax")) as module:
        sys.modules["jax"].config.jax_enable_x64 = True
        assert module.digits([1, 2, 3]) == 123
        with pytest.raises(ValueError, match="breaks an assertion"):
            module.digits([2**16])  # whose square is 0 in 32 bits


def test_rows_without_an_element_are_refused() -> None:
    with imported(source_of(operator("least"), "polars")) as module:
        assert module.finish(module.update(module.zero(), [1.0, 0.25])) == 0.25
        for missing in ([1.0, None], np.array([1.0, np.nan])):
            with pytest.raises(ValueError, match="an element in every row"):
                module.update(module.zero(), missing)


def test_a_wrong_operator_in_jax_is_found(jax: None, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = jax_module.jax_source(operator("max_segment_sum")).replace("np.maximum", "np.minimum")
    monkeypatch.setattr(jax_module, "jax_source", lambda *_: wrong)
    assert "expected" in try_jax(operator("max_segment_sum")).mismatch


def test_without_jax_it_is_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(NotInstalledError, match="jax"):
        try_jax(operator("merge"))
    made = emit(lifting("merge"), "jax")
    assert (made.verdict, made.reason) == ("unchecked", "jax is not installed (pip install 'jax')")


def test_an_operator_with_parameters_is_refused_by_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax_module, "variables", lambda *_: operator("scaled").loop.constants)
    with pytest.raises(UserError, match="depends on the function's other parameters"):
        source_of(operator("scaled"), "jax")


def test_each_target_has_a_name() -> None:
    assert set(TARGETS) == set(program_module._NAMES)
