"""Permutations of groups of neighbours, and AMD's lane swizzles as the authors' tool has them.

    grouped_perms{axis, group, restrict=[axis, position, ..]}       all group! orders of `group` consecutive positions,
                                                                    the same order in every group
    amd_swizzles_perm{axis, group, restrict=[..]}                   and the lane number in its 32 lanes XOR 0..31, mod length

Elements outside the restriction stay.

Source: the authors' tool of Swizzleflow; no benchmark uses these sets.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from warploom.ir.dataflow.gather_set import GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.elements import coordinates
from warploom.ir.dataflow.sets.lanes import affected_elements, lane_axis, listed_lanes, move_costs
from warploom.ir.dataflow.sets.listed import ListedSet, numbered, numbered_text
from warploom.ir.dataflow.sets.swizzles import positions_on
from warploom.ir.swizzle import IntArray

LARGEST_GROUP = 8
"""8! = 40 320 members."""
SWIZZLE_LANES = 32


def _orders(call: Call, length: int) -> IntArray:
    """[group!, group] orders, the identity first."""
    group = call.integer("group")
    if not 1 <= group <= LARGEST_GROUP or length % group:
        raise call.bad_option(f"expected a group of at most {LARGEST_GROUP} that divides the length {length}, got {group}")
    return np.array(list(permutations(range(group))), np.int64)


def grouped_perms(call: Call) -> GatherSet:
    call.only("axis", "group", "restrict")
    axis, length = lane_axis(call)
    orders = _orders(call, length)
    group = orders.shape[1]
    position = coordinates(call.out)[axis]
    inside = positions_on(call, axis, length)
    start = (position - position % group)[:, None]
    source = inside[np.arange(len(inside))[:, None], start + np.arange(group)]
    members = ListedSet(numbered(orders.astype(np.int16), move_costs(orders)), group)

    def text(row: int) -> str:
        return f"{call.name}({', '.join(map(str, orders[row]))})"

    return GatherSet(call.arguments, call.out, position % group, _restricted(call, source), members, numbered_text(text))


def amd_swizzles_perm(call: Call) -> GatherSet:
    call.only("axis", "group", "restrict")
    axis, length = lane_axis(call)
    orders = _orders(call, length)
    group = orders.shape[1]
    lane: IntArray = np.arange(length)
    permuted = lane - lane % group + orders[:, lane % group]
    local = lane % SWIZZLE_LANES
    swizzled = (lane - local + (local ^ np.arange(SWIZZLE_LANES)[:, None])) % length
    lanes = np.concatenate([permuted, swizzled])

    def text(row: int) -> str:
        if row < len(orders):
            return f"grouped_perms({', '.join(map(str, orders[row]))})"
        return f"swizzle_b32(xor {row - len(orders)})"

    choices = listed_lanes(call, axis, lanes, move_costs(lanes), text)
    return GatherSet(
        choices.arguments, choices.out, choices.point, _restricted(call, choices.source), choices.members, choices.text
    )


def _restricted(call: Call, source: IntArray) -> IntArray:
    """`source` with the elements outside the restriction reading themselves."""
    return np.where(affected_elements(call)[:, None], source, np.arange(len(source))[:, None])
