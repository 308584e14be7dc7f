"""Kernels with hundreds of stores per block to constants along an axis: each element is compared with its own stores only."""

from __future__ import annotations

import pytest
from tests.synth.kernels import parse, sketch_of

from warploom.solve import SmtSession
from warploom.synth.lift.lift import lift

KERNEL = """
@kernel(block=(64, 1, 1), grid=(n, 1, 1), warp_size=32)
def copied(x: Global[f32, n, 193], y: Global[f32, n, 192] | out, n: size):
    for k in range(3):
        y[block_id, 64 * k + thread_id] = x[block_id, 64 * k + thread_id] + x[block_id, 64 * k + thread_id + 1]
"""


def pairs(x, y, n):
    for b in range(n):
        for i in range(192):
            y[b, i] = x[b, i] + x[b, i + 1]


def test_the_solver_is_not_asked_of_pairs_of_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    check = SmtSession.check
    monkeypatch.setattr(SmtSession, "check", lambda self, *a: asked.append(a) or check(self, *a))
    kernel = parse(KERNEL)
    assert lift(sketch_of(kernel, pairs, {"n": 2}), kernel).verdict == "proved"
    assert len(asked) < 20


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("y[block_id, 64 * k + thread_id]", "y[block_id, 64 * k + thread_id % 63]", "y[0, 0]: expected x[0, 0] + x[0, 1], got "),
        ("range(3)", "range(2)", "y[0, 128]: expected x[0, 128] + x[0, 129], got an element that is never written"),
        ("thread_id + 1]", "thread_id + 1 - thread_id // 63]", "y[0, 63]: expected x[0, 63] + x[0, 64], got 2*x[0, 63]"),
    ],
)
def test_what_is_wrong_in_one_of_them_is_refuted(old: str, new: str, reason: str) -> None:
    kernel = parse(KERNEL, (old, new))
    result = lift(sketch_of(kernel, pairs, {"n": 2}), kernel)
    assert result.verdict == "refuted"
    assert reason in result.reason
