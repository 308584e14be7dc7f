"""Calls and returns (PTX ISA 7.1, 9.7.12): parameters lie in the callers' and callees' stack frames, or in registers."""

from __future__ import annotations

import numpy as np

from warploom.core import Diagnostic, UnsupportedError
from warploom.ptx.routine import Variable
from warploom.ptx.simt.code import Code, Context, End, Group, RunningBlocks, Segment
from warploom.ptx.simt.operands import Site, dtype_of, value_of
from warploom.ptx.simt.printing import formatted
from warploom.ptx.simt.threads import Registers, Value
from warploom.ptx.syntax import Group as Operands
from warploom.ptx.syntax import Name, Operand, operand_text

DEPTH_LIMIT = 1024
"""Nested calls."""
STACK_BYTES = 1 << 30
"""Most stack bytes of all threads that run together."""
PRINTED = 10_000
"""Texts of printf that are kept."""
BUFFER_BYTES = 256
"""Most bytes of the arguments of one printf."""


def parts_of(operands: tuple[Operand, ...]) -> tuple[tuple[Operand, ...], Operand, tuple[Operand, ...], Operand | None]:
    """Results, target, arguments and the name of targets or prototype of a call's operands."""
    match operands:
        case (Operands(results), target, Operands(arguments), *rest):
            return results, target, arguments, rest[0] if rest else None
        case (Operands(results), target, *rest):
            return results, target, (), rest[0] if rest else None
        case (target, Operands(arguments), *rest):
            return (), target, arguments, rest[0] if rest else None
        case (target, *rest):
            return (), target, (), rest[0] if rest else None
        case _:
            return (), Name("nothing"), (), None


class _Call:
    """One call instruction, decoded: how arguments get into a callee's frame and results out of it."""

    def __init__(self, site: Site, segment: Segment, following: int) -> None:
        self.site = site
        self.code: Code = site.code
        self.index = site.index
        self.segment = segment.index
        self.following = following
        self.rank = segment.rank
        self.results, self.target, arguments, _ = parts_of(site.instruction.operands)
        self.arguments = [(a, self._source(site, a)) for a in arguments]

    @staticmethod
    def _source(site: Site, operand: Operand) -> int:
        """The slot of an argument in a register or constant; -1 for a parameter variable of the caller."""
        if isinstance(operand, Name) and operand.text in site.code.frame_offsets:
            return -1
        return site.source(operand, "b64" if not isinstance(operand, Name) else "b32")

    def enter(self, group: Group, running: RunningBlocks, name: str) -> int:
        callee = running.launch.code(name)
        context = group.context.inner.get((self.segment, callee.number))
        if context is None:
            context = self._context(group.context, callee)
        if context.depth > DEPTH_LIMIT:
            message = f"more than {DEPTH_LIMIT} nested calls"
            raise running.fault("stack_overflow", message, self.code, self.index, int(group.threads[0]))
        if (context.frame_base + callee.frame_bytes) * running.total > STACK_BYTES:
            message = f"a stack of more than {STACK_BYTES // running.total} bytes per thread, {context.depth} calls deep"
            raise running.fault("stack_overflow", message, self.code, self.index, int(group.threads[0]))
        running.reserve_local(context.frame_base + callee.frame_bytes)
        parameters = callee.routine.parameters
        if len(parameters) != len(self.arguments):
            raise self.site.wrong(f"{len(parameters)} arguments for {name}", str(len(self.arguments)))
        registers: Registers = list(callee.template)
        for variable, (operand, slot) in zip(parameters, self.arguments, strict=True):
            self._pass(variable, operand, slot, group, running, context, registers)
        saved = list(self.code.template)
        for slot in self.code.segments[self.following].live_in:
            saved[slot] = group.registers[slot]
        group.frames = (*group.frames, saved)
        group.registers = registers
        group.context = context
        return 0

    def _context(self, caller: Context, callee: Code) -> Context:
        context = Context(
            callee, (*caller.path, self.rank, callee.number), caller.frame_base + caller.code.frame_bytes, caller, self.following,
            self._give_back,
        )  # fmt: skip
        caller.inner[(self.segment, callee.number)] = context
        return context

    def _pass(
        self,
        variable: Variable,
        operand: Operand,
        slot: int,
        group: Group,
        running: RunningBlocks,
        context: Context,
        registers: Registers,
    ) -> None:
        callee = context.code
        if variable.space == "reg":
            dtype = dtype_of(variable.type)
            if slot < 0:
                assert isinstance(operand, Name)
                value = self._read(running, group, group.context.frame_base + self.code.frame_offsets[operand.text], variable)
            else:
                value = value_of(group.registers, slot)
            registers[callee.slots[variable.name]] = value if value.dtype == dtype else value.astype(dtype)
            return
        target = context.frame_base + callee.frame_offsets[variable.name]
        if slot >= 0:
            self._write(running, group, target, variable, value_of(group.registers, slot))
            return
        assert isinstance(operand, Name)
        source = group.context.frame_base + self.code.frame_offsets[operand.text]
        size = min(variable.size_bytes, self.code.routine.variables[operand.text].size_bytes)
        _copy(running, group, source, target, size)

    def _give_back(self, group: Group, running: RunningBlocks) -> None:
        """Results: from the callee's frame or registers to the caller's; the group still has the callee's."""
        context = group.context
        callee = context.code
        assert context.caller is not None
        caller_registers = group.frames[-1]
        for variable, operand in zip(callee.routine.returns, self.results, strict=False):
            if not isinstance(operand, Name) or operand.text == "_":
                continue
            in_frame = operand.text in self.code.frame_offsets
            base = context.caller.frame_base
            if variable.space == "reg":
                value = value_of(group.registers, callee.slots[variable.name])
            elif in_frame:
                source = context.frame_base + callee.frame_offsets[variable.name]
                size = min(variable.size_bytes, self.code.routine.variables[operand.text].size_bytes)
                _copy(running, group, source, base + self.code.frame_offsets[operand.text], size)
                continue
            else:
                value = self._read(running, group, context.frame_base + callee.frame_offsets[variable.name], variable)
            if in_frame:
                self._write(running, group, base + self.code.frame_offsets[operand.text], variable, value)
            else:
                slot = self.code.slots[operand.text]
                dtype = self.code.dtypes[slot]
                caller_registers[slot] = value if value.dtype == dtype else value.astype(dtype)

    @staticmethod
    def _words(running: RunningBlocks, group: Group, offset: int, variable: Variable) -> tuple[Value, Value]:
        width = variable.size_bytes
        return running.local.views.by_width[width], (group.threads * running.local_stride + offset) // width

    def _read(self, running: RunningBlocks, group: Group, offset: int, variable: Variable) -> Value:
        words, index = self._words(running, group, offset, variable)
        return words[index]

    def _write(self, running: RunningBlocks, group: Group, offset: int, variable: Variable, value: Value) -> None:
        words, index = self._words(running, group, offset, variable)
        words[index] = value.astype(words.dtype)


def _copy(running: RunningBlocks, group: Group, source: int, target: int, size: int) -> None:
    width = next(w for w in (8, 4, 2, 1) if not (source | target | size) & (w - 1))
    words = running.local.views.by_width[width]
    base = group.threads * (running.local_stride // width)
    for word in range(size // width):
        words[base + (target // width + word)] = words[base + (source // width + word)]


def decode_call(site: Site, segment: Segment, following: int) -> End:
    """A direct call, or one through a function's address."""
    call = _Call(site, segment, following)
    target = call.target
    if not isinstance(target, Name):
        raise site.wrong("a function", operand_text(target))
    if target.text in site.code.slots:
        return _indirect(call, site.code.slots[target.text])
    name = site.launch.aliases.get(target.text, target.text)
    if name == "__assertfail" and name not in site.launch.program.routines:
        return _assertion(call)
    if name == "vprintf" and name not in site.launch.program.routines:
        return _print(call)
    if name not in site.launch.program.routines:
        message = f"expected a function with a body, got {name}, which this file only declares"
        fix = "Compile without malloc and other functions of the device library."
        raise UnsupportedError(Diagnostic("PTX_UNSUPPORTED", message, site.code.routine.span(site.index), fix=fix))

    def direct(group: Group, running: RunningBlocks) -> int:
        return call.enter(group, running, name)

    return direct


def _argument(call: _Call, number: int, size: int, group: Group, running: RunningBlocks) -> Value:
    """An argument of a function that only the interpreter has, per thread or one for all; zero where it is missing."""
    if number >= len(call.arguments):
        return np.zeros((), np.uint64)
    operand, slot = call.arguments[number]
    if slot >= 0:
        return value_of(group.registers, slot)
    assert isinstance(operand, Name)
    offset = group.context.frame_base + call.code.frame_offsets[operand.text]
    return running.local.views.by_width[size][(group.threads * running.local_stride + offset) // size]


def _print(call: _Call) -> End:
    """printf: formats at once, thread by thread."""

    def write(group: Group, running: RunningBlocks) -> int:
        templates = np.broadcast_to(_argument(call, 0, 8, group, running), group.size)
        buffers = np.broadcast_to(_argument(call, 1, 8, group, running), group.size)
        rows = zip(group.threads.tolist(), templates.tolist(), buffers.tolist(), strict=True)
        for thread, template, buffer in rows:
            if len(running.launch.printed) >= PRINTED:
                break
            data = running.bytes_at(thread, buffer, BUFFER_BYTES)
            running.launch.printed.append(formatted(running.launch.text_at(template), data, running.launch.text_at))
        for operand in call.results:
            if isinstance(operand, Name) and operand.text in call.code.frame_offsets:
                offset = group.context.frame_base + call.code.frame_offsets[operand.text]
                running.local.views.by_width[4][(group.threads * running.local_stride + offset) // 4] = 0
            elif isinstance(operand, Name) and operand.text in call.code.slots:
                group.registers[call.code.slots[operand.text]] = np.zeros((), np.uint32)
        return call.following

    return write


def _assertion(call: _Call) -> End:
    """A device `assert` that failed: message, file, line and function come as parameters."""

    def fail(group: Group, running: RunningBlocks) -> int:
        texts: list[str] = []
        for number in range(min(4, len(call.arguments))):
            value = _argument(call, number, 4 if number == 2 else 8, group, running)
            first = int(value if value.ndim == 0 else value[0])
            texts.append(str(first) if number == 2 else running.launch.text_at(first))
        message = f"assertion failed: {texts[0]}"
        if len(texts) == 4:
            message += f" ({texts[1]}:{texts[2]}, {texts[3]})"
        raise running.fault("trap", message, call.code, call.index, int(group.threads[0]))

    return fail


def _indirect(call: _Call, slot: int) -> End:
    def enter(group: Group, running: RunningBlocks) -> int:
        addresses = value_of(group.registers, slot)
        distinct = np.unique(addresses) if addresses.ndim else addresses.reshape(1)
        for address in distinct:
            name = running.launch.routine_at(int(address))
            part = group
            if len(distinct) > 1:
                part = group.part(np.flatnonzero(addresses == address))
            if name is None:
                message = f"a call of address {int(address):#x}, where no function is"
                raise running.fault("bad_call", message, call.code, call.index, int(part.threads[0]), int(address))
            index = call.enter(part, running, name)
            if len(distinct) == 1:
                return index
            running.push(part, index)
        return -1

    return enter


def give_back(group: Group, running: RunningBlocks) -> int:
    """`ret`: to the caller, or out of the kernel."""
    context = group.context
    if context.caller is None:
        running.leave(group)
        return -1
    assert context.on_return is not None
    context.on_return(group, running)
    group.registers = group.frames[-1]
    group.frames = group.frames[:-1]
    group.context = context.caller
    return context.returns_to
