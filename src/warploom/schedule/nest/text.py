"""The text form of a nest.

    kernel NAME(ARRAY: dtype[elements], ..., PARAMETER: dtype)
      buffer NAME: dtype[elements] in SPACE (x COPIES)
      value NAME: dtype[registers, ...]                   (a vector axis is written `<lanes>`)
      KIND NAME in SIZE (on x|y|z | of threads / STEP (% SIZE)) (stages N) (if GUARD and ...):
        VALUE[registers] = load BUFFER[offset] (if GUARD and ... else FILL) (cache KIND) (swizzled SWIZZLE) (async)
        VALUE[registers] = OPERATOR(arguments) (if GUARD and ...)
        VALUE[registers] = combine OPERATOR VALUE[registers] over registers AXES threads LOOPS
        BUFFER[offset] = argument (if GUARD and ...)
        barrier

A guard is written `0 <= INDEX < BOUND`, without the `0 <=` where no loop makes the index negative. `= NAME / TILE` or `= NAME`
follows iterations or a bound that are known at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warploom.core.linear import Linear
from warploom.schedule.backbone import Constant, Parameter, Role
from warploom.schedule.nest.nodes import (
    Affine,
    Argument,
    Barrier,
    Cache,
    Combine,
    Compute,
    Guard,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Store,
    Value,
)
from warploom.schedule.nest.walk import loops

_DIMENSIONS = "xyz"


def text(nest: Nest) -> str:
    """The nest as text, one statement a line; ends with a newline."""
    names = _loop_names(nest)
    return Printer(nest, names.__getitem__).text()


def _loop_names(nest: Nest) -> dict[int, str]:
    """Names of the loops by number; loops that share a name get their number added."""
    given: dict[str, list[int]] = {}
    for loop in loops(nest.body):
        given.setdefault(loop.name, []).append(loop.number)
    return {
        number: name if len(numbers) == 1 and name else f"{name}_{number}"
        for name, numbers in given.items()
        for number in numbers
    }


def lanes_text(nest: Nest) -> str:
    """` warps of 4 x 8` where the nest says how the threads of a warp lie."""
    return "" if nest.lanes is None else f" warps of {nest.lanes[0]} x {nest.lanes[1]}"


class Printer:
    """Prints a nest with names of its loops (and, for keys, of values and buffers) that the caller chooses."""

    def __init__(
        self,
        nest: Nest,
        loop_name: Callable[[int], str],
        value_names: Mapping[int, str] | None = None,
        buffer_names: Mapping[int, str] | None = None,
    ) -> None:
        self.nest = nest
        self.loop_name = loop_name
        self.value_names = value_names or {n: v.name for n, v in enumerate(nest.values)}
        self.buffer_names = buffer_names or {n: b.name for n, b in enumerate(nest.buffers)}
        self.sizes = {loop.number: loop.size for loop in loops(nest.body)}

    def text(self) -> str:
        return "\n".join([*self.header(), *(f"  {line}" for node in self.nest.body for line in self.lines(node))]) + "\n"

    def header(self) -> list[str]:
        nest = self.nest
        arguments = [f"{b.name}: {b.dtype}[{b.elements}]" for b in nest.buffers if b.role is not Role.TEMPORARY]
        arguments += [f"{p.name}: {p.dtype}" for p in nest.parameters]
        return [
            f"kernel {nest.name}({', '.join(arguments)}){lanes_text(nest)}",
            *(f"  {self.buffer(n)}" for n, b in enumerate(nest.buffers) if b.role is Role.TEMPORARY),
            *(f"  value {self.value_names[n]}: {declared(value)}" for n, value in enumerate(nest.values)),
        ]

    def buffer(self, number: int) -> str:
        buffer = self.nest.buffers[number]
        copies = f" x {buffer.copies}" if buffer.copies > 1 else ""
        aligned = f" aligned to {buffer.alignment}" if buffer.alignment else ""
        return f"buffer {self.buffer_names[number]}: {buffer.dtype}[{buffer.elements}] in {buffer.space}{copies}{aligned}"

    def lines(self, node: Node) -> list[str]:
        match node:
            case Loop(number=number, kind=kind, size=size, body=body, hardware=hardware, stages=stages):
                place = f" on {_DIMENSIONS[hardware] if hardware < 3 else hardware}" if hardware is not None else ""
                if node.digit is not None:
                    place = f" of threads / {node.digit.step}{'' if node.digit.is_last else f' % {size}'}"
                ahead = f" stages {stages}" if stages > 1 else ""
                inner = [f"  {line}" for child in body for line in self.lines(child)]
                trips = f" = {node.trips.size.factor} / {node.trips.per}" if node.trips is not None else ""
                return [f"{kind} {self.loop_name(number)} in {size}{trips}{place}{ahead}{self.guards(node.only)}:", *inner]
            case Load(target=target, memory=memory, is_async=is_async):
                choice = f"{self.guards(memory.guards)} else {memory.fill!r}" if memory.guards else ""
                return [f"{self.ref(target)} = load {self.memory(memory)}{choice}{' async' if is_async else ''}"]
            case Store(memory=memory, argument=argument, guards=guards):
                return [f"{self.memory(memory)} = {self.argument(argument)}{self.guards((*memory.guards, *guards))}"]
            case Compute(target=target, operator=operator, arguments=arguments, guards=guards):
                operands = ", ".join(self.argument(a) for a in arguments)
                array = "" if node.buffer is None else f"{self.buffer_names[node.buffer]}, "
                return [f"{self.ref(target)} = {operator}({array}{operands}){self.guards(guards)}"]
            case Combine(target=target, operator=operator, source=source, registers=registers, threads=threads):
                over = f" registers {', '.join(map(str, registers))}" if registers else ""
                over += f" threads {', '.join(self.loop_name(t) for t in threads)}" if threads else ""
                return [f"{self.ref(target)} = combine {operator} {self.ref(source)} over{over}"]
            case Barrier():
                return ["barrier"]

    def memory(self, memory: Memory) -> str:
        cache = f" cache {memory.cache}" if memory.cache is not Cache.ALL else ""
        swizzle = f" swizzled {memory.swizzle}" if memory.swizzle else ""
        known = memory.known
        parts = [self.affine(known)] if known.divisor or not memory.rows else []
        for rows in memory.rows:
            sizes = "*".join([*([str(rows.factor)] if rows.factor != 1 else []), *(length.factor for length in rows.sizes)])
            parts.append(f"{sizes}*({self.affine(rows.index)})")
        return f"{self.buffer_names[memory.buffer]}[{' + '.join(parts)}]{cache}{swizzle}"

    def guards(self, guards: tuple[Guard, ...]) -> str:
        return " if " + " and ".join(map(self.guard, guards)) if guards else ""

    def guard(self, guard: Guard) -> str:
        least = guard.index.constant + sum(min(0, stride * (self.sizes[n] - 1)) for n, stride in guard.index.terms)
        size = f" = {guard.run_time.text}" if guard.run_time is not None else ""
        return f"{'0 <= ' if least < 0 else ''}{self.affine(guard.index)} < {guard.bound}{size}"

    def argument(self, argument: Argument) -> str:
        match argument:
            case Constant(value=value, run_time=run_time):
                return repr(value) if run_time is None else f"{value!r} = {run_time.text}"
            case Parameter(name=name):
                return name
            case Ref():
                return self.ref(argument)
            case Linear():
                return f"at({self.affine(argument)})"

    def ref(self, ref: Ref) -> str:
        at = ", ".join(self.affine(a) for a in ref.at)
        return f"{self.value_names[ref.value]}[{at}]" if at else self.value_names[ref.value]

    def affine(self, affine: Affine) -> str:
        parts = [f"{stride}*{self.loop_name(n)}" if stride != 1 else self.loop_name(n) for n, stride in affine.terms]
        if affine.constant or not parts:
            parts.append(str(affine.constant))
        return " + ".join(parts).replace("+ -", "- ")


def declared(value: Value) -> str:
    """dtype[registers]."""
    axes = ", ".join(f"<{axis.size}>" if axis.is_vector else str(axis.size) for axis in value.axes)
    return f"{value.dtype}[{axes}]" if axes else str(value.dtype)
