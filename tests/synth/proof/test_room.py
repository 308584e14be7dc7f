"""Instances that are too large are refused where they become so, before anything is made for them."""

from __future__ import annotations

import pytest

import warploom as wl
from warploom.core import UserError, f32
from warploom.synth import complete
from warploom.synth.proof.room import MOST


def _copy(elements: int, registers: int = 1, shared: int = 1, blocks: int = 1):  # type: ignore[no-untyped-def]
    def spec(x, y):  # type: ignore[no-untyped-def]
        y[0] = x[0]

    @wl.sketch(spec=spec, block=4, grid=blocks, warp_size=4)
    def copy(x: wl.Global[f32, elements], y: wl.Global[f32, 4]):  # type: ignore[no-untyped-def]
        wl.register(f32, registers)
        wl.shared(f32, shared)
        if wl.global_id() < 1:
            y[0] = x[0]

    return copy


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"elements": MOST + 1}, f"at most {MOST:,} elements up to 'x', got {MOST + 1:,}"),
        ({"elements": 4, "registers": MOST // 4}, "elements up to '"),
        ({"elements": 4, "blocks": MOST}, f"at most {MOST:,} threads, got"),
    ],
)
def test_an_instance_that_is_too_large(given: dict[str, int], message: str) -> None:
    with pytest.raises(UserError, match="expected an instance of") as caught:
        complete(_copy(**given))
    assert message in caught.value.diagnostics[0].message
    assert caught.value.diagnostics[0].code == "TOO_LARGE"


@pytest.mark.parametrize("shared", [1 << 40, 1 << 70])
def test_shared_memory_that_no_block_has_is_refused_before(shared: int) -> None:
    with pytest.raises(UserError, match="expected at most 49152 bytes of shared memory in a block"):
        complete(_copy(4, shared=shared))
