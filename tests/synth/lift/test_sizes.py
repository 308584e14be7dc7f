"""At which sizes a kernel without a proof for every size is run: exactly these, in this order."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from tests.synth.kernels import parse

from warploom.synth.lift.sizes import telling_sizes, untested_constant

ONE = """
@kernel(block=(4, 1, 1), grid=((n + 3) // 4, 1, 1), warp_size=4)
def k(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    g = block_id * 4 + thread_id
    if g < min(n, 5):
        y[g] = x[g]
"""
TWO = """
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(x: Global[f32, n], y: Global[f32, m] | out, n: size, m: size):
    y[0] = x[0]
"""


@pytest.mark.parametrize(
    ("at", "of_spec", "expected"),
    [
        (2, (), [0, 1, 3, 9, 12, 29, 32, 6, 21]),
        (2, (7,), [0, 1, 3, 9, 12, 29, 32, 6, 8, 7, 21]),
        (2, (1,), [0, 1, 3, 9, 12, 29, 32, 6, 21]),
        (9, (), [0, 1, 8, 10, 12, 29, 32, 6, 21]),
        (0, (), [1, 9, 12, 29, 32, 6, 21]),
    ],
)
def test_one_size(at: int, of_spec: tuple[int, ...], expected: list[int]) -> None:
    assert [s["n"] for s in telling_sizes(parse(ONE), {"n": at}, 1000, of_spec)] == expected


def test_two_sizes() -> None:
    found = [(s["n"], s["m"]) for s in telling_sizes(parse(TWO), {"n": 0, "m": 2}, 1000, (7,))]
    assert found == [(0, 0), (1, 1), (0, 1), (1, 3), (1, 2), (0, 3), (8, 2), (8, 1), (7, 2), (0, 8), (1, 8), (0, 7)]


def test_sizes_with_too_many_elements_are_left_out() -> None:
    assert [s["n"] for s in telling_sizes(parse(ONE), {"n": 2}, 24)] == [0, 1, 3, 9, 12, 6]
    assert [s["n"] for s in telling_sizes(parse(ONE), {"n": 2}, 23)] == [0, 1, 3, 9, 6]


def test_constants_beyond_every_tested_size() -> None:
    for tested, of_spec, beyond in ((4, (), 5), (5, (), 0), (6, (9, 7), 9), (9, (9, 7), 0)):
        assert untested_constant(parse(ONE), [{"n": 1}, {"n": tested}], of_spec) == beyond
    assert untested_constant(parse(ONE), []) == 5


def test_all_that_is_run_is_little_together(monkeypatch: pytest.MonkeyPatch) -> None:
    lift = import_module("warploom.synth.lift.lift")
    at: Any = SimpleNamespace(kernel=parse(ONE), _refuted_at=lambda _: None)
    tested: list[dict[str, int]] = []
    monkeypatch.setattr(lift, "_MOST_TESTED", 3 * lift.elements(at.kernel, {"n": 8}))
    assert lift._Lift._first_refuted(at, [{"n": 8}] * 5, tested) is None
    assert len(tested) == 3
