"""Banks as data: every lane goes once, and what goes together fills the banks once."""

import pytest

from warploom.core import UserError
from warploom.machines import NVIDIA, OTHERS, SharedMemory, shared_memory


@pytest.mark.parametrize("memory", [NVIDIA, *OTHERS.values()])
def test_groups_have_each_lane_once_and_fill_the_banks(memory: SharedMemory) -> None:
    for widths in (memory.reads, memory.stores):
        for size, groups in widths.items():
            assert sorted(lane for group in groups for lane in group) == list(range(memory.lanes))
            assert {len(group) * size for group in groups} == {4 * memory.banks}


def test_narrow_lanes_go_as_words_and_unknown_widths_are_refused() -> None:
    assert NVIDIA.groups(1) == NVIDIA.groups(4) == (tuple(range(32)),)
    assert OTHERS["gfx942"].groups(16)[0] != OTHERS["gfx942"].groups(16, is_store=True)[0]
    with pytest.raises(UserError, match="32 bits, whose groups are published, got 128"):
        OTHERS["gen9"].groups(16)
    with pytest.raises(UserError, match="expected loads, whose groups of lanes are published, got a store"):
        OTHERS["gfx1100"].groups(4, is_store=True)


def test_names() -> None:
    assert shared_memory("sm_90a") is NVIDIA
    for name in ("gfx1030", "sm_1", ""):
        with pytest.raises(UserError, match="UNKNOWN_ARCH"):
            shared_memory(name)
