"""C variables of the values of a nest: one per register, vectors whole."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from warploom.core import DType
from warploom.ctext import Names, Text, element, legal
from warploom.operations import C_FUNCTIONS
from warploom.schedule.cpu.affine import Indices
from warploom.schedule.cpu.helpers import Helpers, c_type
from warploom.schedule.nest import Combine, Compute, Kind, Load, Loop, Nest, Node, Ref, Store, Value

_WORDS = "begin end unit scratch arrays parameters lanes Index abs llabs kernel second j0 j1 jn y0 y1 yn gamma mixed start_tiles"


def free_names() -> Names:
    """C identifiers; a letter tells apart those of one wish, as numbers tell apart registers of one value."""
    return Names(C_FUNCTIONS.union(_WORDS.split()), numbered=lambda base, n: f"{base}{chr(96 + n) if n < 27 else 'z' * (n - 25)}")


def fresh(names: Names, wanted: str) -> str:
    """No two of them differ only in numbers put behind them."""
    return names.fresh(re.sub(r"(_\d+)+$", lambda m: m.group().replace("_", ""), legal(wanted)))


@dataclass(frozen=True, slots=True)
class Variable:
    """A register as a statement sees it."""

    name: str
    """The C variable, subscripts of arrays included."""
    lane: Text | None = None
    """A subscript of a vector variable."""
    is_whole: bool = False
    """All lanes of a vector."""
    parts: tuple[Variable, ...] = ()
    """Scalars in place of a vector, one per lane."""

    @property
    def text(self) -> Text:
        return Text(self.name) if self.lane is None else element(Text(self.name), self.lane)


@dataclass(frozen=True, slots=True)
class Storage:
    name: str
    dtype: DType
    axes: tuple[int, ...]
    """Axes without the vector axis."""
    lanes: int
    """1: no vector."""
    is_array: bool
    """In memory: indexed while it runs, or read and written by tiles."""


class Registers:
    def __init__(
        self, nest: Nest, loops: Mapping[int, Loop], names: Names, more: Sequence[Value] = (), in_memory: Collection[int] = ()
    ) -> None:
        """more: values of the printer, behind those of the nest; their registers are known as the text is printed. in_memory:
        values whose registers follow each other in memory."""
        indexed = set(in_memory) | {
            ref.value
            for ref in refs_of(nest.body)
            for register, at in zip(nest.values[ref.value].axes, ref.at, strict=True)
            for loop, _ in at.terms
            if loops[loop].kind in (Kind.LOOP, Kind.BLOCK) and not register.is_vector
        }
        self.storages = tuple(
            Storage(
                fresh(names, value.name),
                value.dtype,
                tuple(a.size for a in value.axes if not _is_vector(a.is_vector, a.size)),
                next((a.size for a in value.axes if _is_vector(a.is_vector, a.size)), 1),
                number in indexed,
            )
            for number, value in enumerate((*nest.values, *more))
        )
        self._values = (*nest.values, *more)

    def variable(self, ref: Ref, indices: Indices, lane_loop: int | None, lanes: int) -> Variable:
        """`lane_loop`: the vector loop whose lanes the statement does at once, if any."""
        storage, value = self.storages[ref.value], self._values[ref.value]
        selectors: list[str] = []
        lane: Text | None = None
        for register, affine in zip(value.axes, ref.at, strict=True):
            place = indices.place(affine)
            if place.stride(lane_loop):
                if (
                    _is_vector(register.is_vector, register.size)
                    and register.size == lanes
                    and not place.terms
                    and not place.constant
                ):
                    continue
                each = ((indices.at | {loop: n for loop, _ in place.inner}) for n in range(lanes))
                return Variable("", parts=tuple(self.variable(ref, Indices(indices.sizes, at), None, 1) for at in each))
            if _is_vector(register.is_vector, register.size):
                lane = place.text
            else:
                selectors.append(place.text.text)
        name = storage.name
        if storage.is_array:
            name += "".join(f"[{s}]" for s in selectors)
        elif selectors:
            name += "_" + "_".join(selectors)
        return Variable(name, lane, is_whole=storage.lanes > 1 and lane is None)

    def declaration(self, number: int, used: frozenset[str], helpers: Helpers) -> str:
        """Declaration of those registers that are `used`."""
        storage = self.storages[number]
        kind = helpers.vector(storage.dtype, storage.lanes) if storage.lanes > 1 else c_type(storage.dtype)
        if storage.is_array:
            return f"{kind} {storage.name}{''.join(f'[{n}]' for n in storage.axes)};"
        return f"{kind} {', '.join(sorted(used, key=_by_number))};"


def refs_of(nodes: tuple[Node, ...]) -> Iterator[Ref]:
    for node in nodes:
        match node:
            case Loop(body=body):
                yield from refs_of(body)
            case Load(target=target):
                yield target
            case Store(argument=Ref() as argument):
                yield argument
            case Compute(target=target, arguments=arguments):
                yield target
                yield from (a for a in arguments if isinstance(a, Ref))
            case Combine(target=target, source=source):
                yield target
                yield source
            case _:
                pass


def _is_vector(is_marked: bool, size: int) -> bool:
    return is_marked and size > 1 and size & (size - 1) == 0


def _by_number(name: str) -> tuple[str | int, ...]:
    head, *numbers = name.split("_")
    return (head, *(int(n) if n.isdigit() else -1 for n in numbers))
