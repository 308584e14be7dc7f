"""Both layouts of an exchange, and the places in shared memory between them, as CuTe, Triton and TileLang write layouts.

Elements are numbered row after row. A text is given only where it says exactly the table that it stands for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.layout import cute
from warploom.layout.distributed import Distributed
from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange.choose import Candidate, Exchange
from warploom.layout.linear import applied
from warploom.layout.maps import shifted_terms

_SWIZZLES = [(bits, base, shift) for bits in range(1, 6) for base in range(8) for shift in range(bits, 9)]


def cute_text(found: Exchange) -> str:
    """Layouts of (thread, value) to element, and of element to place in shared memory."""
    lines = [f"from: {_threads_and_values(found.src)}", f"to: {_threads_and_values(found.dst)}"]
    places = places_in_shared(found.chosen, found.src)
    if places is not None:
        text = _swizzled(places[None, :])
        lines.append(f"shared: {text}" if text is not None else "// the places in shared memory are no Swizzle of strides")
    return "\n".join(lines) + "\n"


def _threads_and_values(given: Distributed) -> str:
    table = _whole(given, "cute")
    text = _swizzled(table)
    if text is None:
        raise _refused("cute", f"{given.name}, where {_apart(table)}; no Swizzle of strides says it")
    return text


def _swizzled(table: Ints) -> str | None:
    """The text of a table with one mode or two."""
    for swizzle in (None, *_SWIZZLES):
        plain = table if swizzle is None else cute.swizzled(table, *swizzle)
        if int(plain[0, 0]) or (plain != plain[:, :1] + plain[:1]).any():
            continue
        modes = [cute.strided(along) for along in ((plain[:, 0], plain[0]) if len(plain) > 1 else (plain[0],))]
        if all(mode is not None for mode in modes):
            head = "" if swizzle is None else f"Swizzle<{','.join(map(str, swizzle))}> o "
            return head + cute.said([mode for mode in modes if mode is not None])
    return None


def _apart(table: Ints) -> str:
    """A place that is not the sum of what its thread and its value add."""
    if int(table[0, 0]):
        return f"thread 0 begins with element {int(table[0, 0])}"
    places = np.argwhere(table != table[:, :1] + table[:1])
    if len(places):
        thread, value = (int(n) for n in places[0])
        total = int(table[thread, 0] + table[0, value])
        return f"value {value} of thread {thread} is element {int(table[thread, value])}, strides would give {total}"
    return "threads or values have no strides"


def triton_text(found: Exchange) -> str:
    """Bases of both linear layouts: the element, by its coordinates, that each bit of register, lane and warp adds."""
    parts = {"from": _bases(found.src), "to": _bases(found.dst)}
    return json.dumps(parts) + "\n"


def _bases(given: Distributed) -> dict[str, list[list[int]]]:
    table = _whole(given, "triton")
    sizes = {"register": table.shape[1], "lane": given.lanes, "warp": given.warps}
    for name, size in sizes.items():
        if size & (size - 1):
            raise _refused("triton", f"{size} of {name} in {given.name}, no power of two")
    flat = table.ravel()
    images = np.stack(np.unravel_index(flat, given.shape), axis=1)
    powers = [1 << bit for bit in range(len(flat).bit_length() - 1)]
    linear = np.stack([applied(enumerate(images[powers, axis]), numbered(len(flat))) for axis in range(len(given.shape))], axis=1)
    differ = np.flatnonzero((linear != images).any(axis=1))
    if len(differ):
        thread, value = divmod(int(differ[0]), table.shape[1])
        element = images[differ[0]].tolist()
        raise _refused("triton", f"{given.name}, where value {value} of thread {thread} is {element}, no xor of bases")
    rest = iter(images[powers].tolist())
    return {name: [next(rest) for _ in range(size.bit_length() - 1)] for name, size in sizes.items()}


def tilelang_text(found: Exchange) -> str:
    """Fragments, which say the thread and the register of each element, and the places in shared memory."""
    lines = [_fragment("src", found.src), _fragment("dst", found.dst)]
    places = places_in_shared(found.chosen, found.src)
    if places is not None:
        text = expression(places)
        lines.append(
            "# the places in shared memory are no expression"
            if text is None
            else f"shared = T.Layout(({len(places)},), lambda e: {text})"
        )
    return "\n".join(lines) + "\n"


def _fragment(name: str, given: Distributed) -> str:
    table = _whole(given, "tilelang")
    elements = int(np.prod(given.shape))
    if table.size != elements or len(np.unique(table)) != elements:
        raise _refused("tilelang", f"{given.name}, where not each of {elements} elements is in one place")
    where = np.empty(elements, dtype=np.int64)
    where[table.ravel()] = numbered(elements)
    texts = [expression(where // table.shape[1]), expression(where % table.shape[1])]
    if None in texts:
        raise _refused(
            "tilelang", f"{given.name}, whose threads or registers are neither sums of strides nor XORs of the element's bits"
        )
    names = "ijkl"[: len(given.shape)] if len(given.shape) > 1 else "e"
    element = "(" + " + ".join(_scaled(names, given.shape)) + ")" if len(given.shape) > 1 else "e"
    functions = [f"lambda {', '.join(names)}: {str(text).replace('e', element)}" for text in texts]
    return f"{name} = T.Fragment({given.shape}, forward_thread_fn={functions[0]}, forward_index_fn={functions[1]})"


def _scaled(names: str, shape: tuple[int, ...]) -> Iterator[str]:
    for axis, name in enumerate(names):
        step = int(np.prod(shape[axis + 1 :]))
        yield name if step == 1 else f"{name} * {step}"


def expression(table: Ints) -> str | None:
    """The table in `e`: a sum of digits, or the XOR of shifted bits; None where it is neither."""
    modes = cute.strided(table)
    if modes is not None:
        return " + ".join(_digits(modes)) or "0"
    if len(table) & (len(table) - 1) or int(table[0]):
        return None
    bits = len(table).bit_length() - 1
    images = [(bit, int(table[1 << bit])) for bit in range(bits)]
    if (applied(images, numbered(len(table))) != table).any():
        return None
    return " ^ ".join(term.text for term in shifted_terms(images, "e", bits))


def _digits(modes: list[tuple[int, int]]) -> Iterator[str]:
    below = 1
    for number, (extent, stride) in enumerate(modes):
        digit = f"e // {below}" if below > 1 else "e"
        digit = digit if number == len(modes) - 1 else f"{digit} % {extent}"
        below *= extent
        if stride:
            yield digit if stride == 1 else f"{digit} * {stride}" if digit == "e" else f"({digit}) * {stride}"


def places_in_shared(found: Candidate, src: Distributed) -> Ints | None:
    """By element its place, counted in elements; None where elements do not go through shared memory, each in one piece."""
    if found.memory is None:
        return None
    unit = 32 // found.memory.shape[1]  # bits of a piece
    each = max(1, src.bits // unit)
    symbols = found.memory.ravel()
    count = -(-(int(src.elements.max()) + 1) * src.bits // (unit * each))
    where = np.full(count * each, -1, dtype=np.int64)
    held = np.flatnonzero((symbols >= 0) & (symbols < len(where)))[::-1]
    where[symbols[held]] = held
    first = where.reshape(count, each)[:, 0]
    if (first < 0).any() or (first % each).any() or (where.reshape(count, each) != first[:, None] + np.arange(each)).any():
        return None
    places: Ints = first // each
    return places if src.bits >= unit else np.stack([places * 2, places * 2 + 1], axis=1).ravel()


def _whole(given: Distributed, target: str) -> Ints:
    """[threads, values]; UserError (EMIT) where a place holds nothing."""
    table = given.elements.reshape(given.warps * given.lanes, -1)
    empty = np.argwhere(table < 0)
    if len(empty):
        raise _refused(target, f"{given.name}, where value {int(empty[0][1])} of thread {int(empty[0][0])} is none")
    return table


def _refused(target: str, got: str) -> UserError:
    names = {"cute": "CuTe", "triton": "Triton", "tilelang": "TileLang"}
    return UserError(Diagnostic("EMIT", f"expected layouts that {names[target]} can say, got {got}", fix="Use --emit cuda."))
