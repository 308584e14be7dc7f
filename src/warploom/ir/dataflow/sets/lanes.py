"""Sets that move elements along one axis, the same way for all positions on the other axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from warploom.ir.dataflow.gather_set import UNDEFINED, ZERO, GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.elements import coordinates, point_numbers
from warploom.ir.dataflow.sets.listed import ListedSet, numbered, numbered_text
from warploom.ir.dataflow.sets.parts import FactoredPart
from warploom.ir.dataflow.sets.swizzles import positions_on
from warploom.ir.swizzle import BoolArray, IntArray


def lane_axis(call: Call) -> tuple[int, int]:
    """The axis of the lanes (option `axis`, default 0) and its length; checks that the shapes agree."""
    if call.argument() != call.out:
        raise call.mismatch("equal shapes")
    axis = call.axis("axis", 0)
    return axis, call.out[axis]


def listed_lanes(call: Call, axis: int, lanes: IntArray, costs: IntArray, text: Callable[[int], str]) -> GatherSet:
    """Members that read `lanes` ([members, length]): a position on the axis, `ZERO` or `UNDEFINED`."""
    length = call.out[axis]
    point, _ = point_numbers(call.out, (axis,))
    source = positions_on(call, axis, length)
    absent = [outcome for outcome in (ZERO, UNDEFINED) if (lanes == outcome).any()]
    for number, outcome in enumerate(absent):
        lanes = np.where(lanes == outcome, length + number, lanes)
        source = np.concatenate([source, np.full((len(source), 1), outcome, np.int64)], axis=1)
    members = ListedSet(numbered(lanes.astype(np.int16), costs), length + len(absent))
    return GatherSet(call.arguments, call.out, point, source, members, numbered_text(text))


def free_lanes(call: Call, axis: int, text: Callable[[tuple[int, ...]], str]) -> GatherSet:
    """Every lane reads any lane."""
    length = call.out[axis]
    point, _ = point_numbers(call.out, (axis,))
    lanes = np.arange(length, dtype=np.int16)
    options = np.broadcast_to(lanes[None, :, None], (length, length, 1))
    members = FactoredPart(np.zeros(length, np.int16), length, np.arange(length)[:, None], options, 1, text)
    return GatherSet(call.arguments, call.out, point, positions_on(call, axis, length), members, numbered_text(members.text))


def move_costs(lanes: IntArray) -> IntArray:
    """[members]: 0 for the identity, else one instruction."""
    still: IntArray = np.arange(int(lanes.shape[1]))
    is_still: BoolArray = np.logical_and.reduce(np.equal(lanes, still), axis=1)
    return np.where(is_still, 0, 1)


def affected_elements(call: Call) -> BoolArray:
    """[output elements]: whether all of `restrict=[axis, position, ..]` hold."""
    index = coordinates(call.out)
    held = np.ones(index.shape[1], np.bool_)
    for axis, position in call.restrictions():
        held &= index[axis] == position
    return held
