"""The parts of a row in a table of machines: quantities with units and ranges, and figures that say what they rest on.

A dataclass decorated with `checked` refuses a row that lacks a field, or whose value is outside the range of the field.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

Standing: TypeAlias = Literal["literature", "assumed"]

SOURCES: Mapping[str, str] = {
    "paper": "Matsumura, Garcia De Gonzalo, Peña, A Symbolic Emulator for Shuffle Synthesis on NVIDIA PTX (2023), Table 1",
    "volta": "Jia, Maggioni, Staiger, Scarpazza, Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking (2018)",
    "turing": "Jia, Maggioni, Smith, Scarpazza, Dissecting the NVidia Turing T4 GPU via Microbenchmarking (2019)",
    "ampere": "Abdelkhalik, Arafa, Santhi, Badawy, Demystifying the Nvidia Ampere Architecture through Microbenchmarking (2022)",
    "hopper": "Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture (2024): A100, RTX 4090 and H100",
    "guide": "CUDA C++ Programming Guide 13, Throughput of Native Arithmetic Instructions",
    "ptx": "PTX ISA 9.0, what each instruction requires",
    "white": "NVIDIA's white paper on the architecture",
    "ultra": "NVIDIA, Inside NVIDIA Blackwell Ultra (2025): 160 multiprocessors, 10.7 * 10^12 exponentials per second, 8 TB/s",
}
"""The publication that each key of a figure stands for."""


class RowError(ValueError):
    """A row of a table is half filled, or a value in it cannot be right."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """Unit of a field, and the range in which its value must lie."""

    unit: str
    low: float
    high: float

    @property
    def text(self) -> str:
        return f"{self.unit}, {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A quantity and what it rests on."""

    value: float
    standing: Standing
    source: str
    """A key of `SOURCES`; for an assumption, the reason."""

    def __post_init__(self) -> None:
        if self.standing == "literature" and self.source not in SOURCES:
            raise RowError(f"figure {self.value:g}: expected a source among {', '.join(SOURCES)}, got {self.source!r}")
        if not self.source:
            raise RowError(f"figure {self.value:g}: expected the reason of the assumption, got nothing")


def known(value: float, source: str) -> Figure:
    """A figure from the literature."""
    return Figure(value, "literature", source)


def assumed(value: float, reason: str) -> Figure:
    """A figure that nobody has measured."""
    return Figure(value, "assumed", reason)


RowT = TypeVar("RowT")


def checked(row: type[RowT]) -> type[RowT]:
    """Decorator of a dataclass whose fields are given by name: makes it refuse missing fields and values out of their range.

    A field `Annotated[T, Quantity(...)]` is a number or a `Figure` in that range; any other field needs a value of its type.
    """
    make = row.__init__

    @functools.cache
    def hints() -> dict[str, Any]:
        found = get_type_hints(row, include_extras=True)
        return {field.name: found[field.name] for field in fields(row)}  # pyright: ignore[reportArgumentType]

    @functools.wraps(make)
    def init(self: RowT, **given: object) -> None:
        for name, hint in hints().items():
            _check(row.__name__, name, hint, given)
        make(self, **given)

    row.__init__ = init
    return row


def _check(row: str, name: str, hint: Any, given: Mapping[str, object]) -> None:
    kind, quantity = hint, None
    if get_origin(hint) is Annotated:
        kind, quantity = get_args(hint)
    expected = quantity.text if isinstance(quantity, Quantity) else _kind_text(kind)
    if name not in given:
        raise RowError(f"{row}: {name} is missing: expected {expected}")
    value = given[name]
    if not _has_kind(value, kind):
        raise RowError(f"{row}: {name}: expected {expected}, got {value!r}")
    number = value.value if isinstance(value, Figure) else value
    if isinstance(quantity, Quantity) and isinstance(number, int | float) and not quantity.low <= number <= quantity.high:
        raise RowError(f"{row}: {name}: expected {expected}, got {number:g}")


def _has_kind(value: object, kind: Any) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind) and value != ""


def _kind_text(kind: Any) -> str:
    return " or ".join("None" if k is type(None) else k.__name__ for k in get_args(kind) or (kind,))
