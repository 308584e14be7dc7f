"""The one count of what accesses of warps cost: wavefronts of shared memory, sectors of global memory.

The search, the cost models, the layouts of scans and the pictures read it. The PTX interpreter counts by itself and checks it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from warploom.machines.shared_memory import NVIDIA, SharedMemory

BANKS = NVIDIA.banks
BANK_BYTES = 4
SECTOR_BYTES = 32
LINE_BYTES = 128
"""A line of the first-level cache, and one word of every bank."""
WIDEST_BYTES = 16
"""Widest access of one lane."""

_Ints = NDArray[np.int64]
_Masks = NDArray[np.bool_]
_NONE = np.iinfo(np.int64).min
"""Stands where a lane is not active."""


def passes(words: _Ints, active: _Masks, banks: int = BANKS) -> _Ints:
    """By row, the most distinct words that lie in one bank: as often must the banks be read. Equal words are read once.

    `words` [rows, lanes] are numbers of words. A row without an active lane takes no pass.
    """
    rows = words.shape[0]
    ordered = np.sort(np.where(active, words, _NONE), axis=1)
    is_new = ordered != _NONE
    is_new[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    row, column = np.nonzero(is_new)
    in_bank = np.bincount(row * banks + ordered[row, column] % banks, minlength=rows * banks)
    return in_bank.reshape(rows, banks).max(axis=1, initial=0)


def wavefronts(
    addresses: _Ints, active: _Masks, size_bytes: int, memory: SharedMemory = NVIDIA, *, is_store: bool = False
) -> int:
    """Wavefronts of shared-memory requests; addresses in bytes [requests, lanes], of elements of `size_bytes`.

    On NVIDIA's GPUs lanes of 8 bytes go by half warps, those of 16 by quarters, and twice as many go together where every two
    neighbours (n and n ^ 1, or else n and n ^ 2) ask for the same place. Wider elements are several accesses of 16 bytes.
    """
    return int(wavefronts_each(addresses, active, size_bytes, memory, is_store=is_store).sum())


def wavefronts_each(
    addresses: _Ints, active: _Masks, size_bytes: int, memory: SharedMemory = NVIDIA, *, is_store: bool = False
) -> _Ints:
    """Wavefronts of each request."""
    found: _Ints = np.zeros(len(addresses), np.int64)
    for which, parts in _by_groups(addresses, active, size_bytes, memory, is_store=is_store):
        found[which] += parts.sum(axis=1)
    return found


def ways_each(
    addresses: _Ints, active: _Masks, size_bytes: int, memory: SharedMemory = NVIDIA, *, is_store: bool = False
) -> _Ints:
    """Most wavefronts that lanes which go together need, by request: 1 is without conflict."""
    found: _Ints = np.zeros(len(addresses), np.int64)
    for which, parts in _by_groups(addresses, active, size_bytes, memory, is_store=is_store):
        found[which] = np.maximum(found[which], parts.max(axis=1, initial=0))
    return found


def least_each(distinct: _Ints, size_bytes: int) -> _Ints:
    """Wavefronts that requests for that many different elements need wherever these lie."""
    return -(-distinct * size_bytes // LINE_BYTES)


def go_in_pairs(places: _Ints, active: _Masks) -> _Masks:
    """Whether every two neighbours ask for one place, by request of 8 or 16 bytes a lane: twice as many lanes go together."""
    return _are_alike(places, active, 1) | _are_alike(places, active, 2)


def _are_alike(addresses: _Ints, active: _Masks, step: int) -> _Masks:
    """By request, whether every active lane asks for the place of lane n ^ step, if that is active, too."""
    other: _Ints = np.arange(addresses.shape[1], dtype=np.int64) ^ step
    return ((addresses == addresses[:, other]) | ~active | ~active[:, other]).all(axis=1)


def _by_groups(
    addresses: _Ints, active: _Masks, size_bytes: int, memory: SharedMemory, *, is_store: bool
) -> Iterator[tuple[_Masks, _Ints]]:
    """For some of the requests at a time: their mask, and the passes [requests, groups] of their groups of lanes, which go one
    after the other."""
    if size_bytes > WIDEST_BYTES:
        for part in range(0, size_bytes, WIDEST_BYTES):
            yield from _by_groups(addresses + part, active, WIDEST_BYTES, memory, is_store=is_store)
        return
    words_each = max(1, size_bytes // BANK_BYTES)
    if not memory.pairs:
        groups = memory.groups(size_bytes, is_store=is_store)
        order = [lane for group in groups for lane in group]
        every = np.ones(len(addresses), np.bool_)
        yield every, _passes_of(addresses[:, order], active[:, order], words_each, len(groups), memory.banks)
        return
    if words_each == 1 or addresses.shape[1] % 4:
        yield np.ones(len(addresses), np.bool_), _passes_of(addresses, active, words_each, 1)
        return
    together = go_in_pairs(addresses, active)
    for which, groups in ((~together, words_each), (together, words_each // 2)):
        yield which, _passes_of(addresses[which], active[which], words_each, groups)


def _passes_of(addresses: _Ints, active: _Masks, words_each: int, groups: int, banks: int = BANKS) -> _Ints:
    """[requests, groups]: passes of requests of which that many groups of neighbouring lanes go one after the other."""
    lanes = addresses.shape[1]
    first = (addresses // BANK_BYTES).reshape(-1, lanes // groups)
    here = active.reshape(-1, lanes // groups)
    words = (first[..., None] + np.arange(words_each)).reshape(len(first), first.shape[1] * words_each)
    return passes(words, np.repeat(here, words_each, axis=1), banks).reshape(-1, groups)


def lines(addresses: _Ints, active: _Masks, size_bytes: int = 1, line_bytes: int = SECTOR_BYTES) -> int:
    """Distinct lines of each row, summed; byte addresses [requests, lanes] of `size_bytes` each.

    Size 1 serves for elements that are aligned to their size and no larger than a line.
    """
    return int(lines_each(addresses, active, size_bytes, line_bytes).sum())


def lines_each(addresses: _Ints, active: _Masks, size_bytes: int = 1, line_bytes: int = SECTOR_BYTES) -> _Ints:
    """Distinct lines of each row."""
    touched = np.where(active, addresses // line_bytes, _NONE)
    if size_bytes > 1:
        last = np.where(active, (addresses + size_bytes - 1) // line_bytes, _NONE)
        further = int(np.where(active, last - touched, 0).max(initial=0))
        touched = np.concatenate([touched, *(np.minimum(touched + n, last) for n in range(1, further + 1))], axis=1)
    if (np.diff(touched, axis=1) < 0).any():
        touched = np.sort(touched, axis=1)
    changes = np.count_nonzero(np.diff(touched, axis=1), axis=1)
    return changes + 1 - (touched == _NONE).any(axis=1)
