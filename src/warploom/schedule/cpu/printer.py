"""A nest as C: named registers, vectors, guards tested as far out as the loops allow.

Unrolled loops are written out. A loop whose guards hold for a range of its index is split there: the range runs without tests.
Loads of arrays that nothing writes are put before their first use, which keeps registers free.

A loop with `stages` prefetches for its iteration `stages - 1` further on; barriers mean nothing on one thread.

Goals: the innermost loops of the interior are as the nest says. Non-goals: reordering statements, pipelining.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from warploom.core import Diagnostic, DType, UnsupportedError
from warploom.schedule.backbone import Constant, Operator, Parameter, Role
from warploom.schedule.cpu.affine import Indices, affine_text
from warploom.schedule.cpu.guards import first_holding, guards_of, has_running, is_statement, runs_inside, test
from warploom.schedule.cpu.helpers import Helpers, c_type
from warploom.schedule.cpu.registers import Names, Registers, Variable
from warploom.schedule.nest import (
    Affine,
    Argument,
    Barrier,
    Buffer,
    Cache,
    Combine,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Ref,
    Space,
    Store,
)

_ALIGNMENT = 64
_LINE_BYTES = 64
ENTRY = "warploom_kernel"
_INFIX = {Operator.ADD: "+", Operator.SUB: "-", Operator.MUL: "*", Operator.DIV: "/"}


@dataclass(frozen=True, slots=True)
class Source:
    text: str
    units: int
    """Iterations of the shared loops together."""
    scratch_bytes: int
    """Of each thread."""


def c_source(nest: Nest) -> Source:
    """UnsupportedError for thread loops and for element types that C lacks."""
    return _Printer(nest).source()


def is_external(buffer: Buffer) -> bool:
    """An argument of the kernel."""
    return buffer.role is not Role.TEMPORARY and buffer.space is Space.GLOBAL


class _Printer:
    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.helpers = Helpers()
        names = Names()
        self.loops = {loop.number: loop for loop in _loops(nest.body)}
        if any(loop.kind is Kind.THREAD for loop in self.loops.values()):
            raise UnsupportedError(Diagnostic("CPU_THREAD_LOOP", "expected block loops only on the CPU, got a thread loop"))
        self.buffers = tuple(names.fresh(b.name) for b in nest.buffers)
        self.parameters = {p.name: names.fresh(p.name) for p in nest.parameters}
        self.variables = {n: names.fresh(loop.name) for n, loop in self.loops.items()}
        self.registers = Registers(nest, self.loops, names)
        self.owners: dict[str, int] = {}
        self.used: dict[int, set[str]] = {}
        self.indices = Indices({n: loop.size for n, loop in self.loops.items()}, {})
        self.written = _written(nest.body)
        self.settled: frozenset[Guard] = frozenset()
        """Guards that hold here."""
        self.spurned: frozenset[Guard] = frozenset()
        """Guards tested at each statement here."""
        self.lane_loop: Loop | None = None
        self.waiting: dict[str, tuple[str, int]] = {}
        """Loads not yet written out: variable -> text, buffer."""
        self.lines: list[str] = []
        self.depth = 1

    # The frame

    def source(self) -> Source:
        chain: list[Loop] = []
        body = self.nest.body
        while len(body) == 1 and isinstance(body[0], Loop) and body[0].kind is Kind.BLOCK:
            chain.append(body[0])
            body = body[0].body
        units = 1
        for loop in chain:
            units *= loop.size
        if chain:
            self.line("for (Index unit = begin; unit < end; ++unit) {")
            self.depth += 1
            rest = units
            for n, loop in enumerate(chain):
                rest //= loop.size
                text = "unit" + (f" / {rest}" if rest > 1 else "") + (f" % {loop.size}" if n else "")
                self.line(f"const Index {self.variables[loop.number]} = {text};")
                self.indices.at[loop.number] = self.variables[loop.number]
        self.body(body)
        if chain:
            self.depth -= 1
            self.line("}")
        inner = self.lines
        declarations = [
            "    " + self.registers.declaration(n, frozenset(used), self.helpers) for n, used in sorted(self.used.items()) if used
        ]
        scratch, scratch_bytes = self.scratch()
        body_text = "\n".join([*scratch, *declarations, *inner])
        heads, passed = self.arguments()
        text = (
            f"/* {_comment(self.nest.name)}: units {units}, scratch {scratch_bytes} bytes per thread */\n{self.helpers.text()}\n"
            f"static void kernel({', '.join([*heads, 'Index begin', 'Index end', 'char *scratch'])}) {{\n{body_text}\n"
            f"    (void)begin, (void)end, (void)scratch;\n}}\n\n"
            f"void {ENTRY}(void *const *arrays, const double *parameters, Index begin, Index end, char *scratch) {{\n"
            f"    (void)arrays, (void)parameters;\n    kernel({', '.join([*passed, 'begin', 'end', 'scratch'])});\n}}\n"
        )
        return Source(text, units, scratch_bytes)

    def arguments(self) -> tuple[list[str], list[str]]:
        heads: list[str] = []
        passed: list[str] = []
        for n, (name, buffer) in enumerate(zip(self.buffers, self.nest.buffers, strict=True)):
            if is_external(buffer):
                const = "" if n in self.written else "const "
                heads.append(f"{const}{c_type(buffer.dtype)} *restrict {name}")
                passed.append(f"arrays[{len(passed)}]")
        for n, parameter in enumerate(self.nest.parameters):
            heads.append(f"const {c_type(parameter.dtype)} {self.parameters[parameter.name]}")
            passed.append(f"({c_type(parameter.dtype)})parameters[{n}]")
        return heads, passed

    def scratch(self) -> tuple[list[str], int]:
        lines: list[str] = []
        offset = 0
        for name, buffer in zip(self.buffers, self.nest.buffers, strict=True):
            if not is_external(buffer):
                scalar = c_type(buffer.dtype)
                lines.append(f"    {scalar} *restrict {name} = ({scalar} *)(scratch + {offset});")
                size = buffer.elements * buffer.copies * buffer.dtype.size_bytes
                offset += -(-size // _ALIGNMENT) * _ALIGNMENT + _ALIGNMENT
        return lines, offset

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # Loops and guards

    def body(self, nodes: Sequence[Node]) -> None:
        """Statements of one place: tested together where all guards are known here."""
        open_guards = self.open_guards(nodes)
        if open_guards and not self.involves_inner(open_guards, nodes) and not is_statement(nodes):
            self.two_versions(open_guards, lambda: self.plain_body(nodes))
        else:
            self.plain_body(nodes)

    def plain_body(self, nodes: Sequence[Node]) -> None:
        group: list[Node] = []
        for node in (*nodes, None):
            if node is not None and not has_running(node):
                group.append(node)
                continue
            if group:
                guards = self.open_guards(group)
                if guards and not is_statement(group) and len(group) < len(nodes):
                    statements = tuple(group)
                    self.two_versions(guards, lambda statements=statements: self.straight(statements))
                else:
                    self.straight(group)
                group = []
            if isinstance(node, Loop):
                self.flush()
                if node.kind is Kind.LOOP or node.kind is Kind.BLOCK:
                    self.running_loop(node)
                else:
                    for n in range(node.size):
                        self.indices.at[node.number] = n
                        self.body(node.body)
                    del self.indices.at[node.number]
        self.flush()

    def two_versions(self, guards: Sequence[Guard], body: Callable[[], None]) -> None:
        self.flush()
        self.line(f"if ({' && '.join(self.tests(guards))}) {{")
        self.nested(body, settled=guards)
        self.line("} else {")
        self.nested(body, spurned=guards)
        self.line("}")

    def nested(self, body: Callable[[], None], settled: Sequence[Guard] = (), spurned: Sequence[Guard] = ()) -> None:
        before = self.settled, self.spurned
        self.settled |= frozenset(settled)
        self.spurned |= frozenset(spurned)
        self.depth += 1
        body()
        self.flush()
        self.depth -= 1
        self.settled, self.spurned = before

    def running_loop(self, loop: Loop) -> None:
        guards = self.open_guards(loop.body)
        own = [g for g in guards if any(n == loop.number for n, _ in g.index.terms)]
        inside = runs_inside(loop.body)
        if not guards or any(n in inside for g in guards for n, _ in g.index.terms):
            self.counted(loop, "0", str(loop.size))
        elif not own:
            self.two_versions(guards, lambda: self.counted(loop, "0", str(loop.size)))
        else:
            self.split_loop(loop, guards, own)

    def split_loop(self, loop: Loop, guards: Sequence[Guard], own: Sequence[Guard]) -> None:
        """Before the range where all guards hold, in it, and behind it."""
        variable = self.variables[loop.number]
        others = self.tests([g for g in guards if g not in own])
        lows, highs = first_holding(own, loop, self.indices)
        self.line("{")
        self.depth += 1
        self.line(f"Index {variable}_from = 0, {variable}_to = {loop.size};")
        for text in lows:
            self.line(f"if ({variable}_from < {text}) {variable}_from = {text};")
        for text in highs:
            self.line(f"if ({variable}_to > {text}) {variable}_to = {text};")
        if others:
            self.line(f"if (!({' && '.join(others)})) {variable}_to = 0;")
        if lows:
            self.line(f"if ({variable}_from > {loop.size}) {variable}_from = {loop.size};")
            self.nested_loop(loop, "0", f"{variable}_from", spurned=guards)
        self.line(f"if ({variable}_to < {variable}_from) {variable}_to = {variable}_from;")
        self.nested_loop(loop, f"{variable}_from", f"{variable}_to", settled=guards)
        self.nested_loop(loop, f"{variable}_to", str(loop.size), spurned=guards)
        self.depth -= 1
        self.line("}")

    def nested_loop(
        self, loop: Loop, start: str, stop: str, settled: Sequence[Guard] = (), spurned: Sequence[Guard] = ()
    ) -> None:
        self.depth -= 1
        self.nested(lambda: self.counted(loop, start, stop), settled, spurned)
        self.depth += 1

    def counted(self, loop: Loop, start: str, stop: str) -> None:
        variable = self.variables[loop.number]
        self.flush()
        self.line(f"for (Index {variable} = {start}; {variable} < {stop}; ++{variable}) {{")
        self.indices.at[loop.number] = variable
        if loop.stages > 1:
            self.prefetch(loop)
        self.nested(lambda: self.body(loop.body))
        del self.indices.at[loop.number]
        self.line("}")

    def prefetch(self, loop: Loop) -> None:
        """Hints for the arguments read `stages - 1` iterations later, where each iteration reads other lines of them."""
        seen: set[tuple[int, int]] = set()
        for memory, indices in self.reads(loop.body, self.indices):
            buffer = self.nest.buffers[memory.buffer]
            stride = next((s for n, s in memory.offset.terms if n == loop.number), 0)
            line = max(1, _LINE_BYTES // buffer.dtype.size_bytes)
            if not is_external(buffer) or abs(stride) < line:
                continue
            place = indices.place(memory.offset)
            constant = place.constant + stride * (loop.stages - 1)
            if (memory.buffer, constant // line) not in seen:
                seen.add((memory.buffer, constant // line))
                pointer = _pointer(self.buffers[memory.buffer], affine_text(constant, place.terms))
                self.lines.append("    " * (self.depth + 1) + f"__builtin_prefetch({pointer});")

    def reads(self, nodes: Sequence[Node], indices: Indices) -> Iterator[tuple[Memory, Indices]]:
        """Loads of straight code, one per iteration of unrolled loops and per vector."""
        for node in nodes:
            match node:
                case Load(memory=memory):
                    yield memory, indices
                case Loop(kind=Kind.UNROLL, number=number, size=size, body=body):
                    for n in range(size):
                        yield from self.reads(body, Indices(indices.sizes, indices.at | {number: n}))
                case Loop(kind=Kind.VECTOR, number=number, body=body):
                    yield from self.reads(body, Indices(indices.sizes, indices.at | {number: 0}))
                case _:
                    pass

    def open_guards(self, nodes: Sequence[Node]) -> list[Guard]:
        """Neither certain nor settled nor given up, each once."""
        found = dict.fromkeys(guards_of(nodes))
        return [g for g in found if g not in self.settled and g not in self.spurned and not self.is_certain(g)]

    def is_certain(self, guard: Guard) -> bool:
        low, high = self.indices.span(guard.index)
        return low >= 0 and high < guard.bound

    def tests(self, guards: Sequence[Guard]) -> list[str]:
        return list(dict.fromkeys(t for g in guards for t in test(g, self.indices)))

    def involves_inner(self, guards: Sequence[Guard], nodes: Sequence[Node]) -> bool:
        inside = runs_inside(nodes)
        return any(n in inside for g in guards for n, _ in g.index.terms)

    # Statements

    def straight(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            match node:
                case Loop(kind=Kind.VECTOR) if self.lane_loop is None and node.size > 1 and node.size & (node.size - 1) == 0:
                    self.lane_loop = node
                    self.straight(node.body)
                    self.lane_loop = None
                case Loop():
                    for n in range(node.size):
                        self.indices.at[node.number] = n
                        self.straight(node.body)
                    del self.indices.at[node.number]
                case Load() | Store() | Compute() | Combine():
                    if self.lane_loop is not None and not self.varies(node):
                        self.by_lanes(node)
                    else:
                        self.statement(node)
                case Barrier():
                    pass
                case _:
                    assert_never(node)

    def by_lanes(self, node: Node) -> None:
        assert self.lane_loop is not None
        loop, self.lane_loop = self.lane_loop, None
        self.straight((Loop(loop.number, loop.name, Kind.UNROLL, loop.size, (node,)),))
        self.lane_loop = loop

    def varies(self, node: Load | Store | Compute | Combine) -> bool:
        """Every lane writes a place of its own."""
        assert self.lane_loop is not None
        place: Sequence[Affine] = (node.memory.offset,) if isinstance(node, Store) else node.target.at
        return any(n == self.lane_loop.number for a in place for n, _ in a.terms)

    def statement(self, node: Load | Store | Compute | Combine) -> None:
        match node:
            case Load(target=target, memory=memory):
                variable = self.variable(target)
                text = self.load(memory)
                self.settle(variable)
                if variable.is_whole or (variable.lane is None and not variable.parts):
                    self.note(variable)
                    self.waiting[variable.name] = (f"{variable.name} = {text};", memory.buffer)
                else:
                    self.assign(variable, text, self.nest.buffers[memory.buffer].dtype)
            case Store(memory=memory, argument=argument, guards=guards):
                text = self.argument(argument, self.nest.buffers[memory.buffer].dtype)
                self.flush(memory.buffer)
                self.store(memory, guards, text)
            case Compute():
                self.compute(node)
            case Combine():
                self.combine(node)

    def compute(self, node: Compute) -> None:
        dtype = self.nest.values[node.target.value].dtype
        guards = self.open_tests(node.guards, self.indices)
        tests, first, last = self.tests(guards), "0", str(self.lanes)
        if guards and self.lane_loop is not None:
            parts = self.lane_parts(guards)
            if parts is None or self.variable(node.target).parts:
                self.by_lanes(node)
                return
            tests, first, last = parts
        text = self.expression(node.operator, node.arguments, dtype)
        variable = self.variable(node.target)
        self.settle(variable)
        if (first, last) != ("0", str(self.lanes)):
            text = f"{self.helpers.pick_part(dtype, self.lanes)}({first}, {last}, {text}, {variable.text})"
        self.assign(variable, text, dtype, tests)

    @property
    def lanes(self) -> int:
        return 1 if self.lane_loop is None else self.lane_loop.size

    def variable(self, ref: Ref) -> Variable:
        loop = None if self.lane_loop is None else self.lane_loop.number
        variable = self.registers.variable(ref, self.indices, loop, self.lanes)
        for part in variable.parts or (variable,):
            self.owners[part.name] = ref.value
        return variable

    def note(self, variable: Variable) -> None:
        for part in variable.parts or (variable,):
            self.used.setdefault(self.owners[part.name], set()).add(part.name)

    def settle(self, variable: Variable) -> None:
        """Writes out what the variable waits for."""
        for part in variable.parts or (variable,):
            if (waiting := self.waiting.pop(part.name, None)) is not None:
                self.line(waiting[0])

    def flush(self, buffer: int | None = None) -> None:
        """Writes out the loads of a buffer, or all."""
        for name, (text, source) in list(self.waiting.items()):
            if buffer is None or source == buffer:
                self.line(text)
                del self.waiting[name]

    def assign(self, variable: Variable, text: str, dtype: DType, tests: Sequence[str] = ()) -> None:
        self.note(variable)
        prefix = f"if ({' && '.join(tests)}) " if tests else ""
        if not variable.parts:
            self.line(f"{prefix}{variable.text} = {text};")
            return
        kind = self.helpers.vector(dtype, self.lanes)
        copies = " ".join(f"{part.text} = lanes[{n}];" for n, part in enumerate(variable.parts))
        self.line(f"{prefix}{{ const {kind} lanes = {text}; {copies} }}")

    def argument(self, argument: Argument, dtype: DType, *, may_be_scalar: bool = False) -> str:
        """In a vector statement a vector, unless it `may_be_scalar`."""
        is_vector = False
        match argument:
            case Constant(value=value):
                text = literal(value, dtype)
            case Parameter(name=name):
                text = self.parameters[name]
            case Ref():
                variable = self.variable(argument)
                self.settle(variable)
                self.note(variable)
                is_vector = variable.is_whole or bool(variable.parts)
                if variable.parts:
                    kind = self.helpers.vector(self.nest.values[argument.value].dtype, self.lanes)
                    text = f"({kind}){{{', '.join(p.text for p in variable.parts)}}}"
                else:
                    text = variable.text
        if self.lane_loop is None or is_vector or may_be_scalar:
            return text
        own = self.nest.values[argument.value].dtype if isinstance(argument, Ref) else dtype
        return f"{self.helpers.splat(own, self.lanes)}({text})"

    def is_vector(self, argument: Argument) -> bool:
        if not isinstance(argument, Ref) or self.lane_loop is None:
            return False
        variable = self.variable(argument)
        return variable.is_whole or bool(variable.parts)

    def expression(self, operator: Operator, arguments: Sequence[Argument], dtype: DType) -> str:
        has_vector = any(self.is_vector(a) for a in arguments)
        lanes, helpers = self.lanes, self.helpers
        if operator in _INFIX:
            first, second = (self.argument(a, dtype, may_be_scalar=has_vector) for a in arguments)
            return f"{first} {_INFIX[operator]} {second}"
        if operator is Operator.FMA:
            first, second, third = arguments
            may_be_scalar = lanes == 1 or self.is_vector(first) or self.is_vector(second)
            texts = [self.argument(a, dtype, may_be_scalar=may_be_scalar) for a in (first, second)]
            addend = self.argument(third, dtype, may_be_scalar=may_be_scalar)
            if lanes == 1 and (function := helpers.fma(dtype)):
                return f"{function}({texts[0]}, {texts[1]}, {addend})"
            return f"{texts[0]} * {texts[1]} + {addend}"
        texts = [self.argument(a, dtype) for a in arguments]
        match operator:
            case Operator.MAX | Operator.MIN:
                return f"{helpers.extreme(operator, dtype, lanes)}({texts[0]}, {texts[1]})"
            case Operator.NEG:
                return f"-{texts[0]}"
            case Operator.MOVE:
                return texts[0]
            case Operator.CAST:
                if lanes == 1:
                    return f"({c_type(dtype)}){texts[0]}"
                return f"__builtin_convertvector({texts[0]}, {helpers.vector(dtype, lanes)})"
            case Operator.EXP | Operator.LOG | Operator.SQRT | Operator.TANH | Operator.ABS:
                return f"{helpers.unary(operator, dtype, lanes)}({texts[0]})"
            case _:
                raise UnsupportedError(Diagnostic("CPU_OPERATOR", f"expected an arithmetic operator, got {operator.value}"))

    def combine(self, node: Combine) -> None:
        if node.threads:
            raise UnsupportedError(Diagnostic("CPU_THREAD_LOOP", "expected partial results of one thread, got those of several"))
        value = self.nest.values[node.source.value]
        lanes = self.lanes
        texts: list[str] = []
        is_across = False
        choices: list[tuple[Affine, ...]] = [()]
        for n, (register, at) in enumerate(zip(value.axes, node.source.at, strict=True)):
            is_whole = (
                n in node.registers and register.is_vector and register.size & (register.size - 1) == 0 and self.lane_loop is None
            )
            is_across |= is_whole and register.size > 1
            options = [Affine(i) for i in range(register.size)] if n in node.registers and not is_whole else [at]
            choices = [(*c, o) for c in choices for o in options]
        for choice in choices:
            if is_across:
                axis = next(n for n in node.registers if value.axes[n].is_vector)
                whole = Affine(0, ((-1, 1),))
                ref = Ref(node.source.value, (*choice[:axis], whole, *choice[axis + 1 :]))
                sizes = {**self.indices.sizes, -1: value.axes[axis].size}
                variable = self.registers.variable(ref, Indices(sizes, self.indices.at), -1, value.axes[axis].size)
                self.owners[variable.name] = ref.value
                lanes = value.axes[axis].size
                self.settle(variable)
                self.note(variable)
                texts.append(variable.text)
            else:
                texts.append(self.argument(Ref(node.source.value, choice), value.dtype))
        while len(texts) > 1:
            pairs = [
                self.helpers.join(node.operator, value.dtype, lanes, a, b) for a, b in zip(texts[::2], texts[1::2], strict=False)
            ]
            texts = pairs + texts[len(pairs) * 2 :]
        text = f"{self.helpers.total(node.operator, value.dtype, lanes)}({texts[0]})" if is_across else texts[0]
        target = self.variable(node.target)
        self.settle(target)
        self.assign(target, text, value.dtype)

    # Memory

    def address(self, memory: Memory, indices: Indices) -> str:
        """The offset; a vector's is that of its first lane."""
        place = indices.place(memory.offset)
        if memory.xor is None:
            return place.text
        bits, base, shift = memory.xor
        if not place.terms:
            offset = place.constant
            return str(offset ^ (offset >> (base + shift) & (1 << bits) - 1) << base)
        return f"(({place.text}) ^ (((({place.text}) >> {base + shift}) & {(1 << bits) - 1}) << {base}))"

    def open_tests(self, guards: Sequence[Guard], indices: Indices) -> list[Guard]:
        return [g for g in guards if g not in self.settled and not _is_within(indices.span(g.index), g.bound)]

    def lane_parts(self, guards: Sequence[Guard]) -> tuple[list[str], str, str] | None:
        """Tests of the whole vector, first lane, end of lanes; None where its lanes are not one run."""
        assert self.lane_loop is not None
        tests: list[str] = []
        first, last = "0", str(self.lanes)
        for guard in guards:
            place = self.indices.place(guard.index)
            match place.stride(self.lane_loop.number):
                case 0:
                    tests += test(guard, self.indices)
                case 1 if (first, last) == ("0", str(self.lanes)):
                    first = affine_text(-place.constant, tuple((v, -s) for v, s in place.terms))
                    last = affine_text(guard.bound - place.constant, tuple((v, -s) for v, s in place.terms))
                    low, high = self.indices.span(guard.index)
                    first = "0" if low >= 0 else first
                    last = str(self.lanes) if high < guard.bound else last
                case _:
                    return None
        return tests, first, last

    def load(self, memory: Memory) -> str:
        buffer = self.nest.buffers[memory.buffer]
        name, dtype, lanes = self.buffers[memory.buffer], buffer.dtype, self.lanes
        guards = self.open_tests(memory.guards, self.indices)
        fill = literal(memory.fill, dtype)
        if self.lane_loop is None:
            text = f"{name}[{self.address(memory, self.indices)}]"
            return self.chosen(guards, text, fill)
        stride = self.indices.place(memory.offset).stride(self.lane_loop.number)
        parts = self.lane_parts(guards)
        if memory.xor is not None or parts is None or (stride != 1 and (parts[1], parts[2]) != ("0", str(lanes))):
            each = [self.load_lane(memory, n) for n in range(lanes)]
            return f"({self.helpers.vector(dtype, lanes)}){{{', '.join(each)}}}"
        tests, first, last = parts
        place = self.address(memory, self.indices)
        if stride == 0:
            text = f"{self.helpers.splat(dtype, lanes)}({name}[{place}])"
        elif stride != 1:
            text = f"{self.helpers.gather(dtype, lanes)}({_pointer(name, place)}, {stride})"
        elif (first, last) == ("0", str(lanes)):
            text = f"{self.helpers.load(dtype, lanes)}({_pointer(name, place)})"
        else:
            text = f"{self.helpers.load_part(dtype, lanes)}({_pointer(name, place)}, {first}, {last}, {fill})"
        return text if not tests else f"{' && '.join(tests)} ? {text} : {self.helpers.splat(dtype, lanes)}({fill})"

    def at_lane(self, lane: int) -> Indices:
        assert self.lane_loop is not None
        return Indices(self.indices.sizes, self.indices.at | {self.lane_loop.number: lane})

    def load_lane(self, memory: Memory, lane: int) -> str:
        indices = self.at_lane(lane)
        buffer = self.nest.buffers[memory.buffer]
        tests = [t for g in self.open_tests(memory.guards, indices) for t in test(g, indices)]
        text = f"{self.buffers[memory.buffer]}[{self.address(memory, indices)}]"
        return text if not tests else f"{' && '.join(tests)} ? {text} : {literal(memory.fill, buffer.dtype)}"

    def chosen(self, guards: Sequence[Guard], text: str, fill: str) -> str:
        tests = self.tests(guards)
        return text if not tests else f"{' && '.join(tests)} ? {text} : {fill}"

    def store(self, memory: Memory, more: Sequence[Guard], text: str) -> None:
        buffer = self.nest.buffers[memory.buffer]
        name, dtype, lanes = self.buffers[memory.buffer], buffer.dtype, self.lanes
        guards = self.open_tests((*memory.guards, *more), self.indices)
        if self.lane_loop is None:
            tests = self.tests(guards)
            prefix = f"if ({' && '.join(tests)}) " if tests else ""
            self.line(f"{prefix}{name}[{self.address(memory, self.indices)}] = {text};")
            return
        stride = self.indices.place(memory.offset).stride(self.lane_loop.number)
        parts = self.lane_parts(guards)
        if memory.xor is not None or parts is None or stride != 1:
            self.line(f"{{ const {self.helpers.vector(dtype, lanes)} lanes = {text};")
            for n in range(lanes):
                indices = self.at_lane(n)
                tests = [t for g in self.open_tests((*memory.guards, *more), indices) for t in test(g, indices)]
                prefix = f"if ({' && '.join(tests)}) " if tests else ""
                self.line(f"  {prefix}{name}[{self.address(memory, indices)}] = lanes[{n}];")
            self.line("}")
            return
        tests, first, last = parts
        prefix = f"if ({' && '.join(tests)}) " if tests else ""
        pointer = _pointer(name, self.address(memory, self.indices))
        if (first, last) != ("0", str(lanes)):
            self.line(f"{prefix}{self.helpers.store_part(dtype, lanes)}({pointer}, {first}, {last}, {text});")
        else:
            does_stream = memory.cache is Cache.NONE and is_external(buffer)
            function = self.helpers.stream(dtype, lanes) if does_stream else self.helpers.store(dtype, lanes)
            self.line(f"{prefix}{function}({pointer}, {text});")


def literal(value: float, dtype: DType) -> str:
    if not dtype.is_float:
        return str(int(value))
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value)) + ("f" if dtype.bits < 64 else "")


def _pointer(name: str, place: str) -> str:
    return name if place == "0" else f"{name} + {place}"


def _is_within(span: tuple[int, int], bound: int) -> bool:
    return span[0] >= 0 and span[1] < bound


def _loops(nodes: Sequence[Node]) -> list[Loop]:
    return [loop for node in nodes if isinstance(node, Loop) for loop in (node, *_loops(node.body))]


def _written(nodes: Sequence[Node]) -> frozenset[int]:
    written = {node.memory.buffer for node in nodes if isinstance(node, Store)}
    return frozenset(written).union(*(_written(loop.body) for loop in _loops(nodes)))


def _comment(text: str) -> str:
    return text.replace("*/", "* /")
