"""The canonical text of an implementation: equal implementations have equal keys."""

from __future__ import annotations

from warploom.core.linear import Linear
from warploom.schedule.backbone import Role
from warploom.schedule.nest.nodes import Affine, Load, Nest, Store
from warploom.schedule.nest.text import Printer, lanes_text
from warploom.schedule.nest.walk import loops, references, statements


def identity(nest: Nest) -> str:
    """The nest's text without its names: loops, values and temporaries are numbered by first appearance, terms are in that order.
    The kernel's arguments keep theirs. Loops, values and buffers that nothing uses do not count.
    """
    loop_numbers = {loop.number: n for n, loop in enumerate(loops(nest.body))}
    values: dict[int, str] = {}
    buffers = {n: b.name for n, b in enumerate(nest.buffers) if b.role is not Role.TEMPORARY}
    temporaries: list[int] = []
    for statement, _ in statements(nest.body):
        read, written = references(statement)
        for ref in (*read, *written):
            values.setdefault(ref.value, f"v{len(values)}")
        if isinstance(statement, Load | Store) and statement.memory.buffer not in buffers:
            buffers[statement.memory.buffer] = f"t{len(temporaries)}"
            temporaries.append(statement.memory.buffer)
    printer = _KeyPrinter(nest, loop_numbers, values, buffers)
    arguments = [f"{b.name}: {b.dtype}[{b.elements}] {b.role}" for b in nest.buffers if b.role is not Role.TEMPORARY]
    lines = [
        f"kernel {nest.name}({', '.join(arguments)})({', '.join(f'{p.name}: {p.dtype}' for p in nest.parameters)})"
        f"{lanes_text(nest)}",
        *(printer.buffer(n) for n in temporaries),
        *(f"{name}: {_axes(nest, n)}" for n, name in values.items()),
        *(line for node in nest.body for line in printer.lines(node)),
    ]
    return "\n".join(lines) + "\n"


class _KeyPrinter(Printer):
    def __init__(self, nest: Nest, numbers: dict[int, int], values: dict[int, str], buffers: dict[int, str]) -> None:
        super().__init__(nest, lambda n: f"i{numbers[n]}", values, buffers)
        self.numbers = numbers

    def affine(self, affine: Affine) -> str:
        return super().affine(Linear(tuple(sorted(affine.terms, key=lambda t: self.numbers[t[0]])), affine.constant))


def _axes(nest: Nest, value: int) -> str:
    return f"{nest.values[value].dtype}{[(axis.size, axis.is_vector) for axis in nest.values[value].axes]}"
