"""Data in pieces that a worker can read by itself: arrays, sequences, iterables, files by lines; order is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError

Parse: TypeAlias = Callable[[str], object]
"""A function from a line, without its end, to an element; None: the line has none. Importable by the workers."""
PIECE = 1 << 16
"""Elements of a chunk of an iterable of unknown length."""
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class TextLines:
    """The lines of files, one file after the other; workers read their own parts, so all of them must see the files."""

    paths: tuple[Path, ...]
    parse: Parse
    encoding: str = "utf-8"
    """One in which the end of a line is the byte 10 and nothing else is."""


def text_lines(paths: Path | str | Iterable[Path | str], parse: Parse, encoding: str = "utf-8") -> TextLines:
    """Raises UserError for a file that is not there."""
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    found = tuple(Path(p) for p in given)
    for path in found:
        if not path.is_file():
            raise UserError(Diagnostic("FILE_NOT_FOUND", f"expected a file, found none at {path}", fix="Check the path."))
    return TextLines(found, parse, encoding)


@dataclass(frozen=True, slots=True)
class Elements:
    """Held in the chunk itself."""

    elements: Sequence[object]


@dataclass(frozen=True, slots=True)
class Columns:
    """One array per value of an element."""

    columns: tuple[NDArray[Any], ...]


@dataclass(frozen=True, slots=True)
class LineRange:
    """The lines that begin at bytes start..stop-1 of a file."""

    path: Path
    start: int
    stop: int
    parse: Parse
    encoding: str


Chunk: TypeAlias = Elements | Columns | LineRange
Data: TypeAlias = "Iterable[object] | NDArray[Any] | TextLines"


def pieces_of(data: Data, width: int, count: int) -> Iterator[Chunk]:
    """About `count` pieces of data whose elements have `width` values; of iterables, pieces of PIECE elements, read as needed.

    An array has one axis, or a second one of `width`. UserError (SHAPE) for another.
    """
    match data:
        case TextLines():
            yield from _line_ranges(data, count)
        case np.ndarray():
            yield from _columns(data, width, count)
        case Sequence():
            yield from _slices(data, count)
        case _:
            source = iter(data)
            while piece := list(islice(source, PIECE)):
                yield Elements(piece)


def _slices(data: Sequence[object], count: int) -> Iterator[Chunk]:
    step = max(1, -(-len(data) // count))
    for start in range(0, len(data), step):
        yield Elements(data[start : start + step])


def _columns(data: NDArray[Any], width: int, count: int) -> Iterator[Chunk]:
    is_flat = data.ndim == 1 and width == 1
    if not is_flat and data.shape[1:] != (width,):
        expected = "one axis" if width == 1 else f"the shape (n, {width})"
        message = f"expected an array with {expected}, got the shape {data.shape}"
        raise UserError(Diagnostic("SHAPE", message, fix="One row per element, one column per value."))
    step = max(1, -(-len(data) // count))
    for start in range(0, len(data), step):
        part = data[start : start + step]
        yield Columns((part,) if part.ndim == 1 else tuple(np.ascontiguousarray(part[:, c]) for c in range(width)))


def _line_ranges(data: TextLines, count: int) -> Iterator[Chunk]:
    sizes = [path.stat().st_size for path in data.paths]
    step = max(_BLOCK, -(-sum(sizes) // count))
    for path, size in zip(data.paths, sizes, strict=True):
        for start in range(0, size, step):
            yield LineRange(path, start, min(start + step, size), data.parse, data.encoding)


def elements_of(chunk: Chunk) -> Iterable[object]:
    """Python values."""
    match chunk:
        case Elements(elements):
            return elements
        case Columns(columns):
            lists = [column.tolist() for column in columns]
            return lists[0] if len(lists) == 1 else zip(*lists, strict=True)
        case LineRange():
            return chain.from_iterable(_lines(chunk))


def _lines(chunk: LineRange) -> Iterator[list[object]]:
    """Elements of some lines at a time."""
    with chunk.path.open("rb") as file:
        if chunk.start:
            file.seek(chunk.start - 1)
            file.readline()  # the rest of a line that began before
        while (left := chunk.stop - file.tell()) > 0:
            block = file.read(min(left, _BLOCK))
            text = (block if block.endswith(b"\n") else block + file.readline()).decode(chunk.encoding)
            lines = text.removesuffix("\n").split("\n")
            if "\r" in text:
                lines = [line.rstrip("\r\n") for line in lines]
            yield [element for element in map(chunk.parse, lines) if element is not None]
