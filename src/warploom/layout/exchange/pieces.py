"""Words put together from pieces of other words: bytes by PRMT; halves of bytes by PRMT, shifts by 4 and masks (LOP3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.layout.distributed.held import Ints
from warploom.layout.exchange.program import Merge, Permute
from warploom.layout.exchange.shuffles import Writer

BYTES = 4
_HALF_BITS = 4
Mask: TypeAlias = NDArray[np.bool_]


@dataclass(slots=True)
class Value:
    """A word of each thread: its name and its pieces [threads, 4 or 8], -1 for what does not matter."""

    name: str
    content: Ints


def gathered(writer: Writer, sources: Sequence[Value], target: Ints) -> Value:
    """A word with these pieces, which some sources hold."""
    if (target < 0).all():
        return Value("", target)
    for source in sources:
        if ((source.content == target) | (target < 0)).all():
            return source
    return _of_bytes(writer, sources, target) if target.shape[1] == BYTES else _of_halves(writer, sources, target)


def _of_bytes(writer: Writer, sources: Sequence[Value], target: Ints, half: int | None = None) -> Value:
    """By the fewest PRMT that a greedy choice of sources finds. `half`: `target` says one half of each byte, which the same half
    of a source's byte holds; what the other halves become is part of the answer."""
    missing = target >= 0
    chosen: list[Value] = []
    while missing.any():
        best = max(sources, key=lambda source: int((missing & _found(source, target, half)).sum()))
        covered = missing & _found(best, target, half)
        assert covered.any()
        chosen.append(best)
        missing = missing & ~covered
    first = chosen[0]
    if len(chosen) == 1:
        if ((_seen(first, half) == target) | (target < 0)).all():
            return first
        return _permuted(writer, first, first, target, half)
    result = first
    for source in chosen[1:]:
        result = _permuted(writer, result, source, target, half, is_placed=result is not first)
    return result


def _seen(source: Value, half: int | None) -> Ints:
    return source.content if half is None else source.content[:, half::2]


def _found(source: Value, target: Ints, half: int | None) -> Mask:
    """Where a wanted piece is among those of the source."""
    return (target[:, :, None] == _seen(source, half)[:, None, :]).any(axis=2)


def _permuted(writer: Writer, low: Value, high: Value, target: Ints, half: int | None, *, is_placed: bool = False) -> Value:
    """The bytes of `target` that either holds; those that `low` has in place already stay there if `is_placed`."""
    both = np.concatenate([_seen(low, half), _seen(high, half)], axis=1)
    here = target[:, :, None] == both[:, None, :]
    places = np.where(here.any(axis=2), np.argmax(here, axis=2), np.arange(BYTES)[None, :])
    if is_placed:
        places = np.where(_seen(low, half) == target, np.arange(BYTES)[None, :], places)
    cares = here.any(axis=2)
    selector = _selectors(places, cares)
    whole = np.concatenate([low.content, high.content], axis=1).reshape(len(target), 2 * BYTES, -1)
    content = np.where(cares[:, :, None], np.take_along_axis(whole, places[:, :, None], axis=1), -1).reshape(len(target), -1)
    name = writer.fresh()
    text = writer.table.selector(selector)
    writer.operations.append(Permute(name, low.name, high.name if high is not low else low.name, text))
    return Value(name, content)


def _selectors(places: Ints, cares: Mask) -> Ints:
    """Numbers of bytes as a selector; where a byte does not matter, what the other threads choose."""
    filled = places.copy()
    for slot in range(BYTES):
        if cares[:, slot].any() and not cares[:, slot].all():
            values, counts = np.unique(places[cares[:, slot], slot], return_counts=True)
            filled[~cares[:, slot], slot] = values[np.argmax(counts)]
    return sum((filled[:, slot] << 4 * slot for slot in range(BYTES)), start=np.zeros(len(places), dtype=np.int64))


def _of_halves(writer: Writer, sources: Sequence[Value], target: Ints) -> Value:
    """Halves of bytes that stay halves of that kind come by PRMT, the others by PRMT and a shift; masks join them."""
    result: Value | None = None
    for before, after in ((0, 0), (1, 1), (0, 1), (1, 0)):
        if result is not None and ((result.content == target) | (target < 0)).all():
            break
        done = result.content[:, after::2] if result is not None else np.full((len(target), BYTES), -1, dtype=np.int64)
        wanted = np.where(done == target[:, after::2], -1, target[:, after::2])
        there = np.zeros_like(wanted, dtype=np.bool_)
        for source in sources:
            there |= _found(source, wanted, before)
        wanted = np.where(there, wanted, -1)
        if (wanted < 0).all():
            continue
        word = _of_bytes(writer, sources, wanted, before)
        result = _merged(writer, result, word, target, before, after)
    assert result is not None
    return result


def _merged(writer: Writer, kept: Value | None, word: Value, target: Ints, before: int, after: int) -> Value:
    """The word, shifted where its halves change, over what is kept; its own other halves stay if nothing is."""
    moved = np.full_like(word.content, -1)
    moved[:, after::2] = word.content[:, before::2]
    if before == after:
        moved = word.content
        if kept is None:
            return word
    takes = (moved == target) & (target >= 0)
    if kept is not None:
        takes &= kept.content != target
    base = word if kept is None else kept
    content = np.where(target < 0, -1, np.where(takes, moved, base.content))
    shift: Literal[-4, 0, 4] = 0 if before == after else -_HALF_BITS if after == 0 else _HALF_BITS  # type: ignore[assignment]
    free = (target < 0) | takes  # pieces for which any mask is right
    mask = writer.table.mask(takes, free)
    name = writer.fresh()
    writer.operations.append(Merge(name, base.name, word.name, shift, mask))
    return Value(name, content)
