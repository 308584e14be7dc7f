"""Fixed maps: sets of one gather.

    id, identity, reshape   out = the same elements in row-major order
    transpose               out[.., b, a] = in[a, b, ..]
    stack                   out[.., k] = argument k [..]
    rot_idx{r=n} {l=n}      axes rotated right or left by n: {r=1} takes [2, 3, 8] to [8, 2, 3]
    broadcast{group=g}      new axes at position g, ignored
    load_rep                column-major over the leading axes: out[i0, i1, ..] = in[(i0 + s0*i1 + s0*s1*i2 ..) mod length]
    load_trunc              the same, undefined past the end
    load_grid_2d            out[i, j, p, q] = in[i + ni*p, j + nj*q], undefined outside

Source: Swizzleflow, section 2, and the authors' tool where the paper is silent.
"""

from __future__ import annotations

from math import prod

import numpy as np

from warploom.ir.dataflow.gather_set import UNDEFINED, GatherSet
from warploom.ir.dataflow.sets.call import Call
from warploom.ir.dataflow.sets.elements import coordinates, element_numbers
from warploom.ir.dataflow.sets.listed import ListedSet, numbered, numbered_text
from warploom.ir.swizzle import IntArray


def single(call: Call, gather: IntArray, text: str) -> GatherSet:
    """The set whose only member is `gather` ([output elements] sources)."""
    members = ListedSet(numbered(np.zeros((1, 1), np.int16), np.zeros(1, np.int64)), 1)
    points = np.zeros(len(gather), np.int64)
    return GatherSet(call.arguments, call.out, points, gather[:, None], members, numbered_text(lambda _: text))


def reshape(call: Call) -> GatherSet:
    call.only()
    if prod(call.argument()) != prod(call.out):
        raise call.mismatch("as many elements out as in")
    return single(call, np.arange(prod(call.out)), call.name)


def transpose(call: Call) -> GatherSet:
    call.only()
    shape = call.argument()
    if call.out != shape[::-1]:
        raise call.mismatch("the axes in reverse order")
    return single(call, element_numbers(coordinates(call.out)[::-1], shape), call.name)


def stack(call: Call) -> GatherSet:
    call.only()
    if not call.arguments or len(set(call.arguments)) > 1 or call.out != (*call.arguments[0], len(call.arguments)):
        raise call.mismatch("arguments of one shape, and out with a last axis that counts them")
    index = coordinates(call.out)
    return single(call, index[-1] * prod(call.arguments[0]) + element_numbers(index[:-1], call.arguments[0]), call.name)


def rot_idx(call: Call) -> GatherSet:
    call.only("r", "l")
    shape = call.argument()
    right = call.integer("r", 0) - call.integer("l", 0)
    axes = [(axis - right) % len(shape) for axis in range(len(shape))]
    if call.out != tuple(shape[a] for a in axes):
        raise call.mismatch(f"the axes rotated right by {right % len(shape)}")
    index = coordinates(call.out)
    return single(call, element_numbers(index[np.argsort(axes)], shape), f"{call.name}(r={right % len(shape)})")


def broadcast(call: Call) -> GatherSet:
    call.only("group")
    shape = call.argument()
    added = len(call.out) - len(shape)
    group = call.integer("group", 0)
    if added < 1 or not 0 <= group <= len(shape):
        raise call.mismatch(f"more axes out than in, and a group among 0..{len(shape)}")
    if (*call.out[:group], *call.out[group + added :]) != shape:
        raise call.mismatch(f"the argument's axes around {added} new ones at position {group}")
    index = coordinates(call.out)
    kept = [axis for axis in range(len(call.out)) if not group <= axis < group + added]
    return single(call, element_numbers(index[kept], shape), call.name)


def load(call: Call) -> GatherSet:
    """`load_rep` and `load_trunc`."""
    call.only()
    length = prod(call.argument())
    number = np.zeros(prod(call.out), np.int64)
    stride = 1
    for position, extent in zip(coordinates(call.out), call.out, strict=True):
        number += stride * position
        stride *= extent
    gather = number % length if call.name == "load_rep" else np.where(number < length, number, UNDEFINED)
    return single(call, gather, call.name)


def load_grid_2d(call: Call) -> GatherSet:
    call.only()
    shape = call.argument()
    if len(shape) != 2 or len(call.out) != 4:
        raise call.mismatch("a matrix in and four axes out")
    i, j, p, q = coordinates(call.out)
    return single(call, element_numbers(np.stack([i + call.out[0] * p, j + call.out[1] * q]), shape), call.name)
