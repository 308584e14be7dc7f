"""CuTe's text of layouts, `Swizzle<B,M,S> o Shape:Stride`, and Triton's bases of linear layouts: read and written."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias, cast

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.layout import expressions
from warploom.layout.accesses import Ints
from warploom.layout.maps import Map, recognized
from warploom.layout.tiles import Tile

Nested: TypeAlias = "int | tuple[Nested, ...]"
_SWIZZLE = re.compile(r"\s*Sw(?:izzle)?<([0-9]),([0-9]{1,3}),(-?[0-9]{1,3})>\s*o\s*((?:smem_ptr\[[^\]]*\]\([^)]*\)|_?0)\s*o\s*)?")
_FIX = "Write (32,32):(32,1), or Swizzle<3,3,3> o (64,64):(64,1); the first mode is the row."


ATOMS = {"SW128": (3, 1024), "SW64": (2, 512), "SW32": (1, 256), "INTER": (0, 128)}
"""Canonical modes of wgmma and tcgen05, which CuTe's atoms have: B of Swizzle<B,4,3> over bytes, and bits of a line. An atom has
8 lines, which are rows (K-major), or columns where `:mn` follows (MN-major). Source: CUTLASS 3,
cute/atom/mma_traits_sm90_gmma.hpp, GMMA::Layout_K_SW128_Atom, Layout_MN_SW128_Atom and their like."""
TMA = {"tma:SWIZZLE_128B": "SW128", "tma:SWIZZLE_64B": "SW64", "tma:SWIZZLE_32B": "SW32", "tma:SWIZZLE_NONE": "INTER"}
"""Modes of a tensor map, with the atom of the same Swizzle. Source: CUDA driver API, CUtensorMapSwizzle."""
_MN = ":mn"


def canonical(name: str, tile: Tile) -> str | None:
    """The text of a tile of that atom, a row of atoms below the other first, or of the box that TMA writes in that mode.

    With `:mn` behind the name elements of a column lie side by side. None for another name; UserError (CUTE) for a tile that it
    does not fit.
    """
    plain = name.removesuffix(_MN)
    bits, line_bits = ATOMS.get(TMA.get(plain, plain), (0, 0))
    if not line_bits:
        return None
    swizzle = f"Swizzle<{bits},4,3> o smem_ptr[{tile.bits}b](0) o " if bits else ""
    wide = line_bits // tile.bits
    along, across, ways = tile.columns, tile.rows, ("columns", "rows")
    if plain != name:
        along, across, ways = across, along, ways[::-1]
    if plain in TMA:
        if bits and along > wide:
            raise UserError(Diagnostic("CUTE", f"expected {ways[1]} of at most {wide} elements for {name}, got {tile}"))
        outer, inner = (f"{across}", f"{along}"), (f"{along}", "1")
    elif across % 8 or along % wide:
        message = f"expected {ways[1]} in groups of 8 and {ways[0]} in groups of {wide} for {name}, got {tile}"
        raise UserError(Diagnostic("CUTE", message))
    elif plain == name:
        outer, inner = (f"{across}", f"({wide},{along // wide})"), (f"{wide}", f"(1,{across * wide})")
    else:
        outer, inner = (f"(8,{across // 8})", f"({wide},{along // wide})"), (f"({wide},{along * 8})", f"(1,{wide * 8})")
    order = slice(None, None, 1 if plain == name else -1)
    return f"{swizzle}({','.join(outer[order])}):({','.join(inner[order])})"


def is_cute(text: str) -> bool:
    return bool(re.match(r"\s*(Sw(izzle)?<|\([^=]*\):)", text))


def read(text: str, tile: Tile) -> Map:
    """The map of a CuTe layout of (rows, columns); UserError (CUTE)."""
    compact = re.sub(r"\s+", " ", text.strip())
    match = _SWIZZLE.match(compact)
    swizzle = None
    if match:
        bits, base, shift = (int(n) for n in match.groups()[:3])
        if match[4] and match[4].startswith("smem_ptr"):  # there the address is one of bytes
            base -= (tile.bits // 8).bit_length() - 1
        swizzle = bits, base, shift
        compact = compact[match.end() :]
    shape_text, colon, stride_text = compact.partition(":")
    if not colon or (swizzle and (swizzle[1] < 0 or abs(swizzle[2]) < swizzle[0] or sum(map(abs, swizzle)) > 31)):
        raise _wrong("expected a layout Shape:Stride, with Swizzle<B,M,S> of S at least B", text)
    shape, stride = _nested(shape_text, text), _nested(stride_text, text)
    modes = _modes(shape, stride, text)
    sizes = [prod(extent for extent, _ in mode) for mode in modes]
    if sizes != [tile.rows, tile.columns]:
        raise _wrong(f"expected two modes of {tile.rows} rows and {tile.columns} columns, got {sizes}", text)
    row, column = (_offsets(mode) for mode in modes)
    table = (row[:, None] + column[None, :]).ravel()
    if swizzle:
        table = swizzled(table, *swizzle)
    found = recognized(tile, table, swizzle)
    return found if found.expression is not None else _as_expression(found, modes, tile)


def _as_expression(found: Map, modes: Sequence[Sequence[tuple[int, int]]], tile: Tile) -> Map:
    """The map with the sum of its modes under its swizzle, where that is a text of some length."""
    address = " + ".join(_strides(modes[0], "r") + _strides(modes[1], "c")) or "0"
    if found.swizzle is not None:
        bits, base, shift = found.swizzle
        mask = ((1 << bits) - 1) << base
        moved = f"(({address}) >> {shift} & {mask})" if shift >= 0 else f"(({address}) & {mask}) << {-shift}"
        address = f"({address}) ^ {moved}"
    try:
        expression = expressions.parse(address)
        is_same = bool((expressions.places(expression, tile) == found.table).all())
    except UserError:
        return found
    return replace(found, expression=expression) if is_same else found


def _strides(mode: Sequence[tuple[int, int]], name: str) -> list[str]:
    """The terms of one mode, whose first extent is the fastest."""
    terms: list[str] = []
    below, whole = 1, prod(extent for extent, _ in mode)
    for extent, stride in mode:
        if extent > 1 and stride:
            part = name if below == 1 else f"{name} // {below}"
            part = part if below * extent == whole else f"{part} % {extent}"
            terms.append(part if stride == 1 else f"{part} * {stride}")
        below *= extent
    return terms


def swizzled(places: Ints, bits: int, base: int, shift: int) -> Ints:
    """CuTe's Swizzle<bits, base, shift>: the bits above move by `shift` onto those from `base` on, and are added (xor)."""
    mask = ((1 << bits) - 1) << base
    return places ^ ((places >> shift) & mask) if shift >= 0 else places ^ ((places & mask) << -shift)


def _wrong(expected: str, got: str) -> UserError:
    return UserError(Diagnostic("CUTE", f"{expected}; read {got!r}", fix=_FIX))


def _nested(text: str, whole: str) -> Nested:
    cleaned = re.sub(r"[_\s]", "", text)
    if not re.fullmatch(r"[0-9(),]+", cleaned):
        raise _wrong("expected numbers in parentheses", whole)
    try:
        return _tuples(json.loads(cleaned.replace("(", "[").replace(")", "]")))
    except (ValueError, RecursionError) as error:
        raise _wrong("expected balanced parentheses", whole) from error


def _tuples(value: object) -> Nested:
    return value if isinstance(value, int) else tuple(_tuples(v) for v in cast("list[object]", value))


def _modes(shape: Nested, stride: Nested, whole: str) -> list[list[tuple[int, int]]]:
    """The (extent, stride) pairs of each outer mode, the fastest first."""
    if isinstance(shape, int) or isinstance(stride, int) or len(shape) != len(stride):
        raise _wrong("expected as many strides as extents", whole)
    return [_flat(s, d, whole) for s, d in zip(shape, stride, strict=True)]


def _flat(shape: Nested, stride: Nested, whole: str) -> list[tuple[int, int]]:
    if isinstance(shape, int) and isinstance(stride, int):
        if not 0 < shape < 1 << 17 or stride > 1 << 20:
            raise _wrong("expected positive extents of a tile", whole)
        return [(shape, stride)]
    if isinstance(shape, int) or isinstance(stride, int) or len(shape) != len(stride):
        raise _wrong("expected strides nested as the extents are", whole)
    return [pair for s, d in zip(shape, stride, strict=True) for pair in _flat(s, d, whole)]


def _offsets(mode: Sequence[tuple[int, int]]) -> Ints:
    found = np.zeros(1, dtype=np.int64)
    for extent, stride in mode:
        found = (np.arange(extent)[:, None] * stride + found[None, :]).ravel()
    return found


def strided(table: Ints) -> list[tuple[int, int]] | None:
    """Extents and strides, the fastest first, whose offsets are the table; None where there are none."""
    if int(table[0]) or (len(table) > 1 and int(table[1]) < 0):
        return None
    if len(table) == 1:
        return []
    step = int(table[1])
    for extent in range(len(table), 1, -1):
        if len(table) % extent:
            continue
        rest = table[::extent]
        if (table.reshape(-1, extent) == rest[:, None] + np.arange(extent) * step).all():
            found = strided(rest)
            return None if found is None else [(extent, step), *found]
    return None


def said(modes: Sequence[Sequence[tuple[int, int]]]) -> str:
    """`Shape:Stride` of these modes, one after the other."""
    parts: list[str] = []
    for place in (0, 1):
        each = [[str(pair[place]) for pair in mode] or [("1", "0")[place]] for mode in modes]
        nested = [texts[0] if len(texts) == 1 else f"({','.join(texts)})" for texts in each]
        parts.append(nested[0] if len(nested) == 1 else f"({','.join(nested)})")
    return ":".join(parts)


def write(found: Map, tile: Tile) -> str:
    """The map in CuTe's text; UserError (EMIT) where CuTe has none."""
    if found.kind in ("identity", "padding"):
        pitch = int(found.table[tile.columns]) if tile.rows > 1 else tile.columns
        return f"({tile.rows},{tile.columns}):({pitch},1)"
    if found.swizzle is not None:
        bits, base, shift = found.swizzle
        second = int(found.table[tile.columns]) if tile.rows > 1 else tile.columns
        pitch = second ^ ((second >> shift) & (((1 << bits) - 1) << base))
        text = f"Swizzle<{bits},{base},{shift}> o ({tile.rows},{tile.columns}):({pitch},1)"
        if (read(text, tile).table == found.table).all():
            return text
    raise UserError(
        Diagnostic(
            "EMIT",
            f"expected a map that CuTe can say, got the {found.kind} map {found.text or 'of places'}",
            fix="Use --emit cuda.",
        )
    )


def bases(found: Map, tile: Tile) -> list[list[int]]:
    """Triton's bases: the (row, column) that lies at each power of two; UserError (EMIT) of a map that is not linear."""
    bits = tile.elements.bit_length() - 1
    place = {int(p): e for e, p in enumerate(found.table.tolist())}
    linear = tile.elements == 1 << bits and tile.columns & (tile.columns - 1) == 0 and set(place) == set(range(tile.elements))
    if linear:
        whole = [0]
        for bit in range(bits):
            whole += [place[1 << bit] ^ e for e in whole]
        linear = all(place[p] == e for p, e in enumerate(whole))
    if not linear:
        raise UserError(
            Diagnostic("EMIT", f"expected a linear map of powers of two for Triton, got {found.text}", fix="Use --emit cuda.")
        )
    return [list(divmod(place[1 << bit], tile.columns)) for bit in range(bits)]


def from_bases(text: str, tile: Tile) -> Map:
    """The map of `{"offset": [[row, column], ...]}`, as Triton prints shared linear layouts; UserError (TRITON)."""
    try:
        given = json.loads(text.strip().replace("'", '"').replace("(", "[").replace(")", "]"))
        pairs = [(operator.index(r), operator.index(c)) for r, c in given["offset"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(Diagnostic("TRITON", f'expected {{"offset": [[row, column], ...]}}, got {text[:80]!r}')) from error
    elements = [0]
    for row, column in pairs[:17]:
        if not (0 <= row < tile.rows and 0 <= column < tile.columns):
            raise UserError(Diagnostic("TRITON", f"expected bases inside {tile}, got [{row}, {column}]"))
        elements += [((row ^ (e >> 20)) << 20) | (column ^ (e & 0xFFFFF)) for e in elements]
    order = [(e >> 20) * tile.columns + (e & 0xFFFFF) for e in elements]
    if sorted(order) != list(range(tile.elements)):
        raise UserError(Diagnostic("TRITON", f"expected bases that reach each element of {tile} once, got {text[:80]!r}"))
    table = np.empty(tile.elements, dtype=np.int64)
    table[order] = np.arange(tile.elements)
    return recognized(tile, table)
