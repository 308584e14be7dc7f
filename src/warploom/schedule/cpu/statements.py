"""Loads, stores, computations and totals as C statements over named registers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from warploom.core import Diagnostic, DType, UnsupportedError, bf16, f32, i32, other_word
from warploom.core.linear import Linear
from warploom.ctext import Text, binary, c_literal, call, cast_to, conditional, is_divisor, unary
from warploom.schedule.backbone import COMPARING, ROWS, Constant, Operator, Parameter
from warploom.schedule.cpu.accesses import Accesses, Picked, condition, vector_of
from warploom.schedule.cpu.affine import Indices, affine_text
from warploom.schedule.cpu.columns import Columns, columns_of, copied_columns
from warploom.schedule.cpu.helpers import Helpers, c_type
from warploom.schedule.cpu.registers import Registers, Variable
from warploom.schedule.cpu.scope import Scope
from warploom.schedule.cpu.surpluses import Surplus
from warploom.schedule.nest import (
    Affine,
    Argument,
    Barrier,
    Combine,
    Compute,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Store,
    references,
    statements,
    words_of_sum,
)

_UNTYPED = frozenset((Operator.MOVE, Operator.CAST))
"""Operators of bf16, which C has words of, but no arithmetic."""
_INFIX = {o: ROWS[o].c for o in (Operator.ADD, Operator.SUB, Operator.MUL, Operator.DIV)}


@dataclass(frozen=True, slots=True)
class Waiting:
    """A statement that only loads."""

    value: Text | Picked
    buffers: frozenset[int]
    is_joined: bool = False
    """Its only reader takes it together with another one, not the register."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A register that a maximum or minimum takes next, and the statement where nothing else follows."""

    operator: Operator
    register: str
    text: str


class Statements:
    def __init__(
        self, nest: Nest, accesses: Accesses, registers: Registers, parameters: Mapping[str, str], more: Mapping[int, Surplus]
    ) -> None:
        """more: surpluses of sums, by their values."""
        self.nest = nest
        self.accesses = accesses
        self.registers = registers
        self.parameters = parameters
        """C names."""
        self.surpluses = more
        self.readers = Counter(ref.value for s, _ in statements(nest.body) for ref in references(s)[0])
        """Value -> places where statements read it."""
        self.owners: dict[str, int] = {}
        """Variable -> value."""
        self.used: dict[int, set[str]] = {}
        """Value -> variables."""
        self.waiting: dict[str, Waiting] = {}
        """Loads not yet written out, by their variables."""
        self.offered: dict[str, Offered] = {}
        """Totals whose maximum or minimum with a register is not yet written out, in case another one follows."""

    @property
    def helpers(self) -> Helpers:
        return self.accesses.helpers

    @property
    def scope(self) -> Scope:
        return self.accesses.scope

    def straight(self, nodes: Sequence[Node]) -> None:
        for node in nodes:
            match node:
                case Loop(kind=Kind.VECTOR) if (
                    self.scope.lane_loop is None and node.size > 1 and node.size & (node.size - 1) == 0
                ):
                    self.scope.lane_loop = node
                    self.straight(node.body)
                    self.scope.lane_loop = None
                case Loop(kind=Kind.UNROLL) if self.scope.lane_loop is None and (
                    columns := columns_of(node, self.scope.is_certain)
                ):
                    self.columns(columns)
                case Loop():
                    for n in range(node.size):
                        self.scope.indices.at[node.number] = n
                        self.straight(node.body)
                    del self.scope.indices.at[node.number]
                case Load() | Store() | Compute() | Combine():
                    if self.scope.lane_loop is not None and not self.varies(node):
                        self.by_lanes(node)
                    else:
                        self.statement(node)
                case Barrier():
                    pass
                case _:
                    assert_never(node)

    def is_turned(self, loop: Loop) -> bool:
        """Whether the running loop is a copy of which vectors are turned; if so, writes it out."""
        columns = copied_columns(loop, self.scope.is_certain)
        if columns is None or columns.load is None or self.readers[columns.load.target.value] > 1:
            return False
        if self.nest.buffers[columns.load.memory.buffer].spread > 1:
            return False
        self.columns(columns)
        return True

    def columns(self, columns: Columns) -> None:
        """A store of vectors whose same lanes are neighbours in memory: some of them together."""
        memory, argument, load = columns.store.memory, columns.store.argument, columns.load
        dtype, at = self.nest.buffers[memory.buffer].dtype, self.scope.indices.at
        self.scope.lane_loop = columns.vector
        self.flush(memory.buffer)
        for others in columns.turns():
            at |= others
            for first, count in columns.groups(dtype):
                texts: list[Text] = []
                for n in range(first, first + count):
                    at[columns.together.number] = n
                    texts.append(self.argument(argument, dtype) if load is None else self.accesses.load(load.memory))
                at[columns.together.number] = first
                if count > 1:
                    self.accesses.store_columns(memory, columns.stride, texts)
                else:
                    self.accesses.store(memory, (), texts[0])
        for loop in (columns.together, *columns.others):
            del at[loop.number]
        self.scope.lane_loop = None

    def by_lanes(self, node: Node) -> None:
        assert self.scope.lane_loop is not None
        loop, self.scope.lane_loop = self.scope.lane_loop, None
        self.straight((Loop(loop.number, loop.name, Kind.UNROLL, loop.size, (node,)),))
        self.scope.lane_loop = loop

    def varies(self, node: Load | Store | Compute | Combine) -> bool:
        """Every lane writes a place of its own."""
        assert self.scope.lane_loop is not None
        place: Sequence[Affine] = (node.memory.offset,) if isinstance(node, Store) else node.target.at
        return any(n == self.scope.lane_loop.number for a in place for n, _ in a.terms)

    def statement(self, node: Load | Store | Compute | Combine) -> None:
        match node:
            case Load(target=target, memory=memory):
                variable, picked = self.variable(target), self.accesses.picked(memory)
                value = self.accesses.load(memory) if picked is None or picked.is_tested else picked
                self.free(variable)
                if variable.is_whole or (variable.lane is None and not variable.parts):
                    self.waiting[variable.name] = Waiting(value, frozenset((memory.buffer,)))
                else:
                    self.assign(variable, self.loaded(value), self.nest.buffers[memory.buffer].dtype)
            case Store(memory=memory, argument=argument, guards=guards):
                text = self.argument(argument, self.nest.buffers[memory.buffer].dtype)
                self.flush(memory.buffer)
                self.accesses.store(memory, guards, text)
            case Compute():
                self.compute(node)
            case Combine():
                self.combine(node)

    def compute(self, node: Compute) -> None:
        dtype = self.nest.values[node.target.value].dtype
        if self.waits(node):
            return
        guards = [g for g in node.guards if not self.scope.is_certain(g)]
        tests, parts = self.scope.tests(guards), None
        if guards and self.scope.lane_loop is not None:
            parts = self.scope.lane_parts(guards)
            if parts is None or self.variable(node.target).parts:
                self.by_lanes(node)
                return
            tests = parts.tests
        if node.buffer is not None:
            text = self.gather(node, node.buffer)
        elif (words := words_of_sum(self.nest, node)) is not None:
            text = self.dot(node, words)
        elif node.operator not in _UNTYPED and bf16 in (dtype, *(self.type_of(a, dtype) for a in node.arguments)):
            message = f"expected arithmetic in a type that C has, got {node.operator.value} of bf16"
            raise UnsupportedError(Diagnostic("CPU_OPERATOR", message, fix="Convert with f32(...)."))
        elif node.operator in (Operator.MAX, Operator.MIN) and dtype.is_float:
            extreme = self.extreme(node, dtype, is_alone=bool(guards))
            if extreme is None:
                return
            text = extreme
        else:
            text = self.expression(node.operator, node.arguments, dtype)
        variable = self.variable(node.target)
        self.free(variable)
        if parts is not None and not parts.is_whole:
            text = call(self.helpers.pick_part(dtype, self.scope.lanes), parts.first, parts.end, text, variable.text)
        self.assign(variable, text, dtype, tests)
        surplus = self.surpluses.get(node.target.value) if node.operator is Operator.MOVE else None
        if surplus is not None and surplus.is_first(node.target, self.scope.indices):
            self.assign(self.variable(surplus.ref(node.target)), self.argument(Constant(0), dtype), dtype)

    def waits(self, node: Compute) -> bool:
        """Whether the statement is the maximum or minimum of two loads that wait and whose elements are picked of neighbours,
        all of which are loaded anyway: then it waits, too, with the picking still to do."""
        if node.operator not in (Operator.MAX, Operator.MIN) or node.guards or self.scope.lane_loop is None:
            return False
        names = [self.variable(a).name for a in node.arguments if isinstance(a, Ref) and self.readers[a.value] == 1]
        found = [self.waiting[name] for name in names if name in self.waiting]
        values = [waiting.value for waiting in found if isinstance(waiting.value, Picked)]
        picked = values[0].joined(values[1], node.operator) if len(values) == 2 else None
        buffers = frozenset(buffer for waiting in found for buffer in waiting.buffers)
        target = self.variable(node.target)
        if picked is None or not target.is_whole or target.name in names:
            return False
        if any(len(self.places(b, picked.close.stride)) == 1 for b in buffers):
            return False
        self.free(target)
        for name in names:
            self.waiting[name] = replace(self.waiting[name], is_joined=True)
        self.waiting[target.name] = Waiting(picked, buffers)
        return True

    def places(self, buffer: int, stride: int) -> set[int]:
        """Places in groups of so many elements that loads of the array begin with."""
        memories = (s.memory for s, _ in statements(self.nest.body) if isinstance(s, Load))
        return {memory.offset.constant % stride for memory in memories if memory.buffer == buffer}

    def variable(self, ref: Ref) -> Variable:
        loop = None if self.scope.lane_loop is None else self.scope.lane_loop.number
        variable = self.registers.variable(ref, self.scope.indices, loop, self.scope.lanes)
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
                self.write(part.name, waiting)
            if (offered := self.offered.pop(part.name, None)) is not None:
                self.scope.line(offered.text)

    def write(self, name: str, waiting: Waiting) -> None:
        self.used.setdefault(self.owners[name], set()).add(name)
        self.scope.line(f"{name} = {self.loaded(waiting.value).text};")

    def loaded(self, value: Text | Picked) -> Text:
        return self.accesses.pick(value) if isinstance(value, Picked) else value

    def free(self, variable: Variable) -> None:
        """Writes out what waits to read the variable, and what it waits for, in case only a part of it changes: it is about
        to."""
        names = {part.name for part in variable.parts or (variable,)}
        for name in names & self.waiting.keys():
            if self.waiting[name].is_joined:
                del self.waiting[name]
        self.settle(variable)
        for total, offered in list(self.offered.items()):
            if offered.register in names:
                self.scope.line(offered.text)
                del self.offered[total]

    def flush(self, buffer: int | None = None) -> None:
        """Writes out the loads of a buffer, or all that waits."""
        if buffer is None:
            for offered in self.offered.values():
                self.scope.line(offered.text)
            self.offered.clear()
        for name, waiting in list(self.waiting.items()):
            if buffer is None or buffer in waiting.buffers:
                del self.waiting[name]
                if buffer is not None or not waiting.is_joined:
                    self.write(name, waiting)

    def assign(self, variable: Variable, text: Text, dtype: DType, tests: Sequence[Text] = ()) -> None:
        self.note(variable)
        if not variable.parts:
            self.scope.line(f"{condition(tests)}{variable.text.text} = {text.text};")
            return
        kind = self.helpers.vector(dtype, self.scope.lanes)
        copies = " ".join(f"{part.text.text} = lanes[{n}];" for n, part in enumerate(variable.parts))
        self.scope.line(f"{condition(tests)}{{ const {kind} lanes = {text.text}; {copies} }}")

    def argument(self, argument: Argument, dtype: DType, *, may_be_scalar: bool = False) -> Text:
        """In a vector statement a vector, unless it `may_be_scalar`."""
        is_vector = False
        match argument:
            case Constant(run_time=length) if length is not None:
                text = cast_to(c_type(dtype), affine_text(length.more, ((length.name, 1),)))
            case Constant(value=value):
                text = c_literal(dtype, value)
            case Parameter(name=name, dtype=own):
                text = Text(self.parameters[name])
                if dtype == bf16:
                    text = self.helpers.converted(text, own, dtype, 1)
            case Ref():
                text, is_vector = self.read(argument)
                if (surplus := self.surpluses.get(argument.value)) is not None:
                    text = binary("-", text, self.read(surplus.ref(argument))[0])
            case Linear():
                return self.position(argument, dtype)
        if self.scope.lane_loop is None or is_vector or may_be_scalar:
            return text
        return call(self.helpers.splat(self.type_of(argument, dtype), self.scope.lanes), text)

    def type_of(self, argument: Argument, dtype: DType) -> DType:
        """The type of its text, where a statement is of type `dtype`."""
        return self.nest.values[argument.value].dtype if isinstance(argument, Ref) else dtype

    def read(self, ref: Ref) -> tuple[Text, bool]:
        """The registers, and whether they are a vector of the statement's lanes."""
        variable = self.variable(ref)
        self.settle(variable)
        self.note(variable)
        if not variable.parts:
            return variable.text, variable.is_whole
        kind = self.helpers.vector(self.registers.storages[ref.value].dtype, self.scope.lanes)
        return vector_of(kind, [p.text for p in variable.parts]), True

    def position(self, index: Affine, dtype: DType) -> Text:
        """An index as a number, in a vector statement that of each lane."""
        scope = self.scope
        if dtype == bf16:
            return self.helpers.converted(self.position(index, f32), f32, dtype, scope.lanes)
        if scope.lane_loop is None:
            return cast_to(c_type(dtype), scope.indices.place(index).text)
        each = [cast_to(c_type(dtype), scope.at_lane(n).place(index).text) for n in range(scope.lanes)]
        return vector_of(self.helpers.vector(dtype, scope.lanes), each)

    def is_vector(self, argument: Argument) -> bool:
        if not isinstance(argument, Ref) or self.scope.lane_loop is None:
            return False
        variable = self.variable(argument)
        return variable.is_whole or bool(variable.parts)

    def expression(self, operator: Operator, arguments: Sequence[Argument], dtype: DType) -> Text:
        has_vector = any(self.is_vector(a) for a in arguments)
        lanes, helpers = self.scope.lanes, self.helpers
        if lanes > 1 and operator is Operator.DIV:
            match arguments:
                case (dividend, Constant(divisor, None)) if is_divisor(dtype, divisor):
                    return call(helpers.divided(int(divisor), lanes), self.argument(dividend, dtype))
                case _:
                    pass
        if operator in _INFIX:
            first, second = (self.argument(a, dtype, may_be_scalar=has_vector) for a in arguments)
            return binary(_INFIX[operator], first, second)
        if operator is Operator.FMA:
            return self.multiply_add(arguments, dtype)
        texts = [self.argument(a, dtype) for a in arguments]
        match operator:
            case Operator.MAX | Operator.MIN:
                return call(helpers.extreme(operator, dtype, lanes), *texts)
            case Operator.NEG:
                return unary("-", texts[0])
            case Operator.LESS | Operator.LESS_EQUAL | Operator.EQUAL:
                holds = binary(COMPARING[operator], *texts)
                one, zero = (self.argument(Constant(n), dtype) for n in (1, 0))
                return call(helpers.select(dtype, lanes), holds, one, zero) if lanes > 1 else conditional(holds, one, zero)
            case Operator.SELECT:
                holds = binary("!=", texts[0], self.argument(Constant(0), dtype))
                chosen = (holds, *texts[1:])
                return call(helpers.select(dtype, lanes), *chosen) if lanes > 1 else conditional(*chosen)
            case Operator.MOVE:
                return texts[0]
            case Operator.CAST:
                return helpers.converted(texts[0], self.type_of(arguments[0], dtype), dtype, lanes)
            case _ if operator in ROWS and ROWS[operator].called:
                return call(helpers.unary(operator, dtype, lanes), texts[0])
            case _:
                raise UnsupportedError(Diagnostic("CPU_OPERATOR", f"expected an arithmetic operator, got {operator.value}"))

    def extreme(self, node: Compute, dtype: DType, *, is_alone: bool) -> Text | None:
        """Maximum or minimum of two floats. None: one of them is a total, and what it takes is offered to the statement that
        follows, since two registers are tested for NaN at once. is_alone: written out in any case."""
        operator, lanes, helpers = node.operator, self.scope.lanes, self.helpers
        first, second = sorted(node.arguments, key=lambda a: a == node.target)
        for number, other in ((first, second), (second, first)):
            if isinstance(number, Constant) and not math.isnan(number.value):
                texts = [self.argument(a, dtype) for a in (number, other)]
                return call(helpers.extreme_or_second(operator, dtype, lanes), *texts)
        text, is_total = self.argument(first, dtype), second == node.target and lanes > 1
        total = self.variable(node.target)
        offered = self.offered.get(total.name) if is_total and not is_alone else None
        if offered is not None and offered.operator is operator:
            del self.offered[total.name]
            return call(helpers.extreme_of_three(operator, dtype, lanes), Text(offered.register), text, total.text)
        extreme = call(helpers.extreme(operator, dtype, lanes, is_total=is_total), text, self.argument(second, dtype))
        if is_alone or not is_total or not isinstance(first, Ref):
            return extreme
        register = self.variable(first)
        if not (total.is_whole and register.is_whole) or total.name == register.name:
            return extreme
        self.note(total)
        self.offered[total.name] = Offered(operator, register.name, f"{total.name} = {extreme.text};")
        return None

    def dot(self, node: Compute, words: tuple[DType, DType]) -> Text:
        """Totals and the products of the elements of two words, of bytes of one type with their surplus."""
        lanes, helpers = self.scope.lanes, self.helpers
        arguments = [self.argument(a, t) for a, t in zip(node.arguments, words, strict=False)]
        total, _ = self.read(node.target)
        if (surplus := self.surpluses.get(node.target.value)) is None:
            return call(helpers.dot(*words, lanes), total, *arguments)
        other, factor = other_word(words[0]), arguments[surplus.factor]
        dot = helpers.dot(other, words[0], lanes)
        if surplus.is_first(node.target, self.scope.indices):
            high = call(helpers.splat(other, lanes), Text(f"({other.name})0x80808080u"))
            more = self.variable(surplus.ref(node.target))
            self.assign(more, call(dot, more.text, high, factor), i32)
        return call(dot, total, call(helpers.moved(words[0], lanes), arguments[1 - surplus.factor]), factor)

    def multiply_add(self, arguments: Sequence[Argument], dtype: DType) -> Text:
        """The last argument plus the products of the others, two by two, the last product first."""
        lanes, factors = self.scope.lanes, arguments[:-1]
        total: Text | None = None
        for n in range(len(factors) - 2, -1, -2):
            may_be_scalar = lanes == 1 or any(self.is_vector(a) for a in factors[n : n + 2])
            texts = [self.argument(a, dtype, may_be_scalar=may_be_scalar) for a in factors[n : n + 2]]
            addend = self.argument(arguments[-1], dtype, may_be_scalar=may_be_scalar) if total is None else total
            if lanes == 1 and (function := self.helpers.fma(dtype)):
                total = call(function, *texts, addend)
            else:
                total = binary("+", binary("*", *texts), addend)
        assert total is not None
        return total

    def gather(self, node: Compute, buffer: int) -> Text:
        """The elements at the places that a register holds, one for each lane."""
        name, (place,) = self.accesses.names[buffer], node.arguments
        at = self.argument(place, self.nest.values[node.target.value].dtype, may_be_scalar=True)
        dtype, lanes = self.nest.values[node.target.value].dtype, self.scope.lanes
        if self.scope.lane_loop is None:
            return Text(f"{name}[{at.text}]")
        if not self.is_vector(place):
            return call(self.helpers.splat(dtype, lanes), Text(f"{name}[{at.text}]"))
        return vector_of(self.helpers.vector(dtype, lanes), [Text(f"{name}[({at.text})[{n}]]") for n in range(lanes)])

    def combine(self, node: Combine) -> None:
        if node.threads:
            raise UnsupportedError(Diagnostic("CPU_THREAD_LOOP", "expected partial results of one thread, got those of several"))
        value = self.nest.values[node.source.value]
        lanes = self.scope.lanes
        texts: list[Text] = []
        is_across = False
        choices: list[tuple[Affine, ...]] = [()]
        for n, (register, at) in enumerate(zip(value.axes, node.source.at, strict=True)):
            is_whole = (
                n in node.registers
                and register.is_vector
                and register.size & (register.size - 1) == 0
                and self.scope.lane_loop is None
            )
            is_across |= is_whole and register.size > 1
            options = [Linear((), i) for i in range(register.size)] if n in node.registers and not is_whole else [at]
            choices = [(*c, o) for c in choices for o in options]
        for choice in choices:
            if is_across:
                axis = next(n for n in node.registers if value.axes[n].is_vector)
                lanes = value.axes[axis].size
                ref = Ref(node.source.value, (*choice[:axis], Linear(((-1, 1),)), *choice[axis + 1 :]))
                texts.append(self.whole(ref, lanes))
            else:
                texts.append(self.argument(Ref(node.source.value, choice), value.dtype))
        while len(texts) > 1:
            pairs = [
                self.helpers.join(node.operator, value.dtype, lanes, a, b) for a, b in zip(texts[::2], texts[1::2], strict=False)
            ]
            texts = pairs + texts[len(pairs) * 2 :]
        text = call(self.helpers.total(node.operator, value.dtype, lanes), texts[0]) if is_across else texts[0]
        target = self.variable(node.target)
        self.free(target)
        self.assign(target, text, value.dtype)

    def whole(self, ref: Ref, lanes: int) -> Text:
        """All lanes of a register, which the loop -1 selects, outside of statements on vectors."""
        sizes = {**self.scope.indices.sizes, -1: lanes}
        variable = self.registers.variable(ref, Indices(sizes, self.scope.indices.at), -1, lanes)
        self.owners[variable.name] = ref.value
        self.settle(variable)
        self.note(variable)
        surplus = self.surpluses.get(ref.value)
        return variable.text if surplus is None else binary("-", variable.text, self.whole(surplus.ref(ref), lanes))
