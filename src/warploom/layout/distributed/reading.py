"""Layouts of registers as they are given: names, CuTe's text of (thread, value), functions of Python."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from operator import index, mul
from typing import Any, SupportsIndex, cast

import numpy as np
from numpy.typing import NDArray

from warploom.layout import cute
from warploom.layout.called import called
from warploom.layout.distributed.fragments import FORMS, fragment
from warploom.layout.distributed.held import MOST, WORD_BITS, Distributed, Ints, distributed, from_items, numbered, wrong
from warploom.layout.linear import applied
from warploom.layout.tiles import Tile

_NAMES = f"striped, blocked, row, aos:STRIDE, soa:STRIDE, {FORMS}, CuTe's (lanes,items):(..), Triton's bases or FILE.py:function"
_LANES = 32


def needs_no_sizes(text: str) -> bool:
    """Whether the name says by itself how many lanes and registers there are."""
    return fragment(text) is not None


def sizes_of_text(text: str) -> tuple[int, int] | None:
    """(lanes, items) of CuTe's `(lanes,items):(..)` or of Triton's bases; None of what does not say them."""
    try:
        if text.lstrip().startswith("{"):
            given = json.loads(_as_json(text))
            return 1 << len(given["lane"]), 1 << len(given["register"])
        if cute.is_cute(text):
            lanes, items = cast("list[Any]", json.loads(_as_json(text.rsplit(":", 1)[0].rsplit(" o ", 1)[-1])))
            return int(np.prod(np.array(lanes))), int(np.prod(np.array(items)))
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    return None


def _as_json(text: str) -> str:
    return text.replace("'", '"').replace("(", "[").replace(")", "]")


def distributed_of_text(text: str, lanes: int, registers: int, bits: int) -> Distributed:
    """The layout of that name; `registers` hold one element each, or as many as fit into 32 bits; UserError (REGISTERS)."""
    found = fragment(text)
    if found is not None:
        return found
    _checked(lanes, registers, bits)
    items = registers * max(1, WORD_BITS // bits)
    lane, item = np.arange(lanes)[:, None], np.arange(items)[None, :]
    if text.lstrip().startswith("{"):
        return _of_bases(text, lanes, items, bits)
    match = re.fullmatch(r"(striped|blocked|row|aos|soa)(?::(\d{1,5}))?", text.strip())
    if match is None:
        if cute.is_cute(text):
            table = cute.read(text, Tile(lanes, items, f"b{bits}")).table.reshape(1, lanes, items)
            return from_items(text, table, bits)
        raise wrong(f"expected {_NAMES}", repr(text))
    name, given = match[1], int(match[2]) if match[2] else None
    if name in ("striped", "soa"):
        step = lanes if given is None else given
        elements = item * step + lane
        least = lanes
    else:
        step = items if given is None else given
        elements = lane * step + item
        least = items
    if name in ("striped", "blocked", "row") and given is not None:
        raise wrong(
            f"expected {name} without a stride", repr(text), fix=f"Write {'soa' if name == 'striped' else 'aos'}:{given}."
        )
    if step < least:
        raise wrong(f"expected a stride of at least {least}, so that elements differ", repr(text), fix=f"Write {name}:{least}.")
    return from_items(text, elements[None], bits)


def _of_bases(text: str, lanes: int, items: int, bits: int) -> Distributed:
    """The layout that `{"register": [[row, column], ...], "lane": [...]}` describes, Triton's linear layout: where each bit
    moves the element."""
    form = '{"register": [[row, column], ...], "lane": [...]} of one warp'
    try:
        given = json.loads(_as_json(text))
        parts = [
            [tuple(index(n) for n in basis) for basis in given.pop(name, [])] for name in ("register", "lane", "warp", "block")
        ]
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise wrong(f"expected {form}", repr(text[:80])) from error
    bases = [*parts[0], *parts[1]]
    if given or parts[2] or parts[3] or len({len(basis) for basis in bases}) != 1 or not bases[0]:
        raise wrong(f"expected {form}, all of as many coordinates", repr(text[:80]))
    if (1 << len(parts[0]), 1 << len(parts[1])) != (items, lanes):
        raise wrong(f"expected bases of {items} items and {lanes} lanes", f"2^{len(parts[0])} and 2^{len(parts[1])}")
    if not all(0 <= n < MOST for basis in bases for n in basis):
        raise wrong(f"expected coordinates from 0 to {MOST - 1}", repr(text[:80]))
    places = [applied(enumerate(along), numbered(lanes, items)) for along in zip(*bases, strict=True)]
    shape = tuple(int(place.max()) + 1 for place in places)
    if int(np.prod([float(extent) for extent in shape])) > MOST:
        raise wrong(f"expected at most {MOST} elements of the bases", " x ".join(map(str, shape)))
    elements: Ints = np.ravel_multi_index(tuple(places), shape).astype(np.int64)
    axes = tuple(map(str, range(len(shape)))) if len(shape) > 1 else ()
    return from_items(text, elements[None], bits, shape if axes else (), axes)


def distributed_of_function(
    name: str, function: Callable[..., Any], lanes: int, registers: int, bits: int, warps: int = 1
) -> Distributed:
    """The layout that a user's `function(lane, item)` or `function(warp, lane, register, slot)`, which gives an element or
    None; UserError.

    Further parameters with defaults are left to these.
    """
    _checked(lanes, registers, bits)
    slots = max(1, WORD_BITS // bits)
    parameters = inspect.signature(function).parameters.values()
    required = sum(parameter.default is parameter.empty for parameter in parameters)
    count = required if required in (2, 4) else len(parameters)
    if count not in (2, 4):
        raise wrong(f"expected {name} to take (lane, item) or (warp, lane, register, slot)", f"{count} parameters")
    places: list[tuple[int, ...] | None] = []
    for warp, lane, register, slot in np.ndindex(warps, lanes, registers, slots):
        asked = (lane, register * slots + slot) if count == 2 else (warp, lane, register, slot)
        found = called(function, asked, f"an element from {name}")
        places.append(None if found is None else _place(found, asked, name))
    size = {len(place) for place in places if place is not None}
    if len(size) > 1:
        raise wrong(f"expected elements with equally many coordinates from {name}", f"{sorted(size)}")
    given = [place for place in places if place is not None]
    shape = tuple(max(place[axis] for place in given) + 1 for axis in range(len(given[0]))) if given else (1,)
    if int(np.prod([float(extent) for extent in shape])) > MOST:
        raise wrong(f"expected at most {MOST} elements of {name}", " x ".join(map(str, shape)))
    steps = [int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape))]
    numbers = [-1 if place is None else sum(map(mul, place, steps)) for place in places]
    table = np.array(numbers, dtype=np.int64)
    axes = tuple(map(str, range(len(shape)))) if len(shape) > 1 else ()
    return distributed(name, table.reshape(warps, lanes, registers, slots), bits, shape if axes else (), axes)


def _place(found: object, asked: tuple[int, ...], name: str) -> tuple[int, ...]:
    """An element by its number, or by its coordinates."""
    got = repr(found)
    parts: tuple[object, ...] = cast("tuple[object, ...]", found) if isinstance(found, tuple) else (found,)
    numbers: tuple[int, ...] = tuple(_number(part) for part in parts)
    if not numbers or not all(0 <= number < MOST for number in numbers):
        raise wrong(f"expected an element from 0 to {MOST - 1}, its coordinates or None for {asked} from {name}", got)
    return numbers


def _number(given: object) -> int:
    return index(cast(SupportsIndex, given)) if hasattr(given, "__index__") else -1


def distributed_of_array(elements: NDArray[np.integer[Any]], bits: int) -> Distributed:
    """Elements [lanes, items] or [warps, lanes, registers, slots]; -1 for none; UserError."""
    if not np.issubdtype(elements.dtype, np.integer) or elements.ndim not in (2, 4):
        raise wrong(
            "expected integers [lanes, items] or [warps, lanes, registers, slots]", f"{elements.dtype} {list(elements.shape)}"
        )
    table: Ints = elements.astype(np.int64)
    if not 1 <= table.shape[0 if table.ndim == 2 else 1] <= _LANES:
        raise wrong("expected 1 to 32 lanes", str(list(table.shape)))
    return from_items("array", table[None], bits) if table.ndim == 2 else distributed("array", table, bits)


def _checked(lanes: int, registers: int, bits: int) -> None:
    if not 1 <= lanes <= _LANES:
        raise wrong("expected 1 to 32 lanes", str(lanes))
    if not 1 <= registers <= 256:
        raise wrong("expected 1 to 256 registers", str(registers))
    if bits not in (4, 8, 16, 32, 64, 128):
        raise wrong("expected elements of 4, 8, 16, 32, 64 or 128 bits", str(bits))
