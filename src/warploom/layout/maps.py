"""Maps of each class as expressions in r and c, with the index instructions that they take beyond row-major addressing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from warploom.layout import expressions
from warploom.layout.accesses import Ints
from warploom.layout.tiles import Tile


@dataclass(frozen=True, slots=True)
class Map:
    """A place for each element of a tile."""

    kind: str
    """`identity`, `padding`, `swizzle`, `linear`, `rotation`, `body`, `columns`, `table` or `given`."""
    expression: ast.expr | None
    """None of a map that is only given place by place."""
    table: Ints
    """By element, row after row: its place, counted in elements."""
    instructions: int
    """Index instructions beyond those of row-major addressing; LOP3 joins a mask and one or two xors."""
    swizzle: tuple[int, int, int] | None = None
    """B, M, S of CuTe's Swizzle on the row-major address in elements."""

    @property
    def text(self) -> str | None:
        """In Python."""
        return None if self.expression is None else expressions.as_text(self.expression)


def from_text(text: str, tile: Tile, kind: str, instructions: int, swizzle: tuple[int, int, int] | None = None) -> Map:
    expression = expressions.parse(text)
    return Map(kind, expression, expressions.places(expression, tile), instructions, swizzle)


def row_major(tile: Tile, pitch: int) -> Map:
    """Row after row, with `pitch - columns` elements between them that nobody uses."""
    return from_text(f"r * {pitch} + c", tile, "identity" if pitch == tile.columns else "padding", 0)


@dataclass(frozen=True, slots=True)
class Term:
    """`(source << shift) & mask`, to be added bit by bit."""

    source: str
    shift: int
    mask: int
    is_whole: bool
    """Nothing but the mask's bits can be set."""

    @property
    def text(self) -> str:
        moved = self.source if not self.shift else f"({self.source} {'<<' if self.shift > 0 else '>>'} {abs(self.shift)})"
        return moved if self.is_whole else f"({moved} & {self.mask})"

    @property
    def instructions(self) -> float:
        """The xor is shared by two terms without masks."""
        return (1 if self.shift else 0) + (0.5 if self.is_whole else 1)


def shifted_terms(columns: Sequence[tuple[int, int]], source: str, bits: int) -> Iterator[Term]:
    """Terms of an input's bits (bit, image), grouped by how far they move."""
    masks: dict[int, int] = {}
    for bit, image in columns:
        for target in range(image.bit_length()):
            if image >> target & 1:
                masks[target - bit] = masks.get(target - bit, 0) | 1 << target
    for shift, mask in sorted(masks.items()):
        full = ((1 << bits) - 1) << shift if shift >= 0 else ((1 << bits) - 1) >> -shift
        yield Term(source, shift, mask, full & ~mask == 0)


def xor_map(
    tile: Tile,
    pitch: int,
    low: int,
    chunk: int,
    columns: Sequence[int],
    kind: str = "linear",
    swizzle: tuple[int, int, int] | None = None,
    end: int | None = None,
) -> Map:
    """`a ^ (M(a >> low) << chunk)` of the address a = r * pitch + c, written with r and c apart where that is possible.

    Addresses from `end` on, which are too few to fill all banks, stay where they are.
    """
    wide = pitch.bit_length() - 1
    reach = max((value << chunk for value in columns), default=0).bit_length()
    if pitch == 1 << wide and reach <= wide:
        row_bits = (tile.rows - 1).bit_length()
        from_rows = [(low + j - wide, value << chunk) for j, value in enumerate(columns) if low + j >= wide]
        from_columns = [(low + j, value << chunk) for j, value in enumerate(columns) if low + j < wide]
        terms = [*shifted_terms(from_rows, "r", row_bits), *shifted_terms(from_columns, "c", wide)]
        text = f"r * {pitch} + (c ^ {' ^ '.join(t.text for t in terms)})"
    else:
        address = f"(r * {pitch} + c)"
        bits = (tile.rows * pitch - 1).bit_length()
        terms = list(shifted_terms([(low + j, value << chunk) for j, value in enumerate(columns)], address, bits))
        text = f"{address} ^ {' ^ '.join(t.text for t in terms)}"
    if end is not None and end < tile.rows * pitch:
        text, swizzle, kind = f"{text} if r * {pitch} + c < {end} else r * {pitch} + c", None, "body"
    return from_text(text, tile, kind, int(sum(t.instructions for t in terms) + 0.5), swizzle)


def reversed_map(tile: Tile, pitch: int, low: int, group: int, chunk: int, start: int, bits: int) -> Map | None:
    """`c ^ brev(r)` in the places of chunks; None where rows are not whole numbers of banks."""
    wide = pitch.bit_length() - 1
    if pitch != 1 << wide or low + start < wide:
        return None
    shift = low + start - wide
    source = f"(r >> {shift})" if shift else "r"
    move = chunk + group - bits
    text = f"r * {pitch} + (c ^ (brev({source}, {bits}) << {move}))" if move else f"r * {pitch} + (c ^ brev({source}, {bits}))"
    return from_text(text, tile, "linear", 3 if not move and not shift else 4)


def full_linear(tile: Tile, images: Sequence[int]) -> Map:
    """Any linear map of the address bits of a tile whose rows are a power of two; images of all bits of r * columns + c."""
    wide = tile.columns.bit_length() - 1
    row_bits = len(images) - wide
    terms = [
        *shifted_terms([(j - wide, images[j]) for j in range(wide, len(images))], "r", row_bits),
        *shifted_terms([(j, images[j]) for j in range(wide)], "c", wide),
    ]
    return from_text(" ^ ".join(t.text for t in terms), tile, "linear", int(sum(t.instructions for t in terms) + 0.5))


def recognized(tile: Tile, table: Ints, swizzle: tuple[int, int, int] | None = None) -> Map:
    """The given map of these places, as an expression where they are strides of r and c, or XORs of the bits of both."""
    found = _strided(tile, table) or _xored(tile, table)
    expression = None if found is None else expressions.parse(found)
    if expression is not None and (expressions.places(expression, tile) != table).any():
        expression = None
    return Map("given", expression, table, 0, swizzle)


def _strided(tile: Tile, table: Ints) -> str | None:
    rows, columns = table[:: tile.columns], table[: tile.columns]
    first = int(table[0])
    down, right = (int(line[1]) - first if len(line) > 1 else 0 for line in (rows, columns))
    if (
        table.reshape(tile.rows, tile.columns) != first + np.arange(tile.rows)[:, None] * down + np.arange(tile.columns) * right
    ).any():
        return None
    terms = [name if step == 1 else f"{name} * {step}" for name, step in (("r", down), ("c", right)) if step]
    return " + ".join(terms + ([str(first)] if first or not terms else []))


def _xored(tile: Tile, table: Ints) -> str | None:
    """Only for rows and columns that are powers of two."""
    if tile.elements & (tile.elements - 1) or int(table[0]):
        return None
    wide, high = tile.columns.bit_length() - 1, tile.rows.bit_length() - 1
    of_rows = [int(table[tile.columns << j]) for j in range(high)]
    of_columns = [int(table[1 << j]) for j in range(wide)]
    pitch = tile.columns
    if all(value // pitch == 1 << j for j, value in enumerate(of_rows)) and all(value < pitch for value in of_columns):
        moved = [value ^ 1 << j for j, value in enumerate(of_columns)]
        terms = [*_terms([value % pitch for value in of_rows], "r", high), *_terms(moved, "c", wide)]
        return f"r * {pitch} + (c ^ {' ^ '.join(terms)})" if terms else f"r * {pitch} + c"
    return " ^ ".join([*_terms(of_rows, "r", high), *_terms(of_columns, "c", wide)]) or None


def _terms(images: Sequence[int], source: str, bits: int) -> list[str]:
    return [term.text for term in shifted_terms(list(enumerate(images)), source, bits)]


def exchanged(tile: Tile, found: Map) -> Map:
    """The map of the tile, from one of the tile with rows and columns exchanged."""
    table = found.table.reshape(tile.columns, tile.rows).T.ravel()
    expression = None if found.expression is None else expressions.exchanged(found.expression)
    return Map("columns", expression, table, found.instructions)


def rotation(tile: Tile, pitch: int, step: int, chunk: int, jump: int = 0, every: int = 1) -> Map:
    """`r * pitch + (c + step * r + jump * (r // every)) % pitch`, in chunks."""
    size = 1 << chunk
    turned = f"{step * size} * r" if step * size != 1 else "r"
    if jump:
        turned += f" + {jump * size} * (r // {every})"
    return from_text(f"r * {pitch} + (c + {turned}) % {pitch}", tile, "rotation", 3 if pitch & (pitch - 1) else 2)


def body_and_rest(tile: Tile, body: int, low: int, of_columns: Sequence[int], of_rows: Sequence[int]) -> Map:
    """Whole groups of banks as rows of `S(c) ^ M(r)`, the columns that are left over below them, each as a row of banks.

    `of_columns` and `of_rows` are the bits to which S and M send bit j of c and of r; both are permutations of `low` bits.
    """
    size, left = 1 << low, tile.columns - body
    s_terms = " ^ ".join(t.text for t in shifted_terms([(j, 1 << to) for j, to in enumerate(of_columns)], "c", 31))
    m_terms = " ^ ".join(t.text for t in shifted_terms([(j, 1 << to) for j, to in enumerate(of_rows)], "r", 31))
    moved = (
        "c"
        if list(of_columns) == list(range(low)) and body == size
        else f"(c & {~(size - 1)}) + ({s_terms})"
        if body > size
        else f"({s_terms})"
    )
    turned = f"(r & {size - 1})" if list(of_rows) == list(range(low)) else f"({m_terms})"
    groups = f"(r & {-size})" if left == 1 else f"(r & {-size}) * {left}"
    at = "" if left == 1 else f" + (c - {body}) * {size}"
    swapped = turned if left == 1 else f"(({s_terms.replace('c', f'(c - {body})')}) ^ {turned})"
    inside = f"r * {body} + ({moved} ^ {turned})"
    return from_text(f"{inside} if c < {body} else {tile.rows * body} + {groups}{at} + {swapped}", tile, "body", 8)


def columns_and_rest(tile: Tile, low: int, of_rows: Sequence[int]) -> Map:
    """Columns as rows of banks, `c ^ S(r)`; below them the rows that are left over, side by side in the banks that S gives them.

    `of_rows` are the bits to which S sends bit j of r; the bits of 2^k rows that are left over must go to the k highest.
    """
    size = 1 << low
    left = tile.rows % size
    body = tile.rows - left
    turned = " ^ ".join(t.text for t in shifted_terms([(j, 1 << to) for j, to in enumerate(of_rows)], "r", 31))
    bank = f"({'c' if tile.columns <= size else f'(c & {size - 1})'} ^ {turned})"
    groups = f"(r & {-size}) + " if body > size else ""
    text = f"c * {body} + {groups}{bank}"
    if left:
        side_by_side = low - (left.bit_length() - 1)
        line = f" + (c >> {side_by_side}) * {size}" if tile.columns > 1 << side_by_side else ""
        text += f" if r < {body} else {tile.columns * body}{line} + {bank}"
    return from_text(text, tile, "body", 8)
