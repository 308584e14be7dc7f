"""Value expressions (data) as CUDA C++ expressions, each in its own type: integers wrap, floats round as CUDA does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import assert_never

from warploom.core import INT, Diagnostic, DType, UnsupportedError, scalar_of, u32, vector_of
from warploom.ctext import (
    SHUFFLES,
    VOTES,
    Names,
    Text,
    binary,
    call,
    cast_to,
    conditional,
    cuda_type,
    decimal,
    is_divisor,
    is_narrow,
    is_signed_word,
    literal,
    make,
    member,
    unary,
)
from warploom.gpu.facts import Facts
from warploom.gpu.helpers import Helpers
from warploom.gpu.index_code import IndexCode
from warploom.ir import (
    Accumulated,
    Arith,
    Cast,
    Component,
    FromIndex,
    Holds,
    IndexBinary,
    IndexConst,
    IndexExpr,
    Kernel,
    MakeVector,
    Mixed,
    Operator,
    Read,
    Shuffle,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
    simplify,
)
from warploom.operations import WORD_OPERATIONS

_FLOAT_EXTREMA = {"f32": "f{}f", "f64": "f{}", "f16": "__h{}", "bf16": "__h{}"}


@dataclass(frozen=True, slots=True)
class ValueCode:
    """Prints the data expressions of one kernel."""

    kernel: Kernel
    facts: Facts
    names: Names
    index: IndexCode
    helpers: Helpers
    mask: str
    """The shuffle mask's C text."""
    operators: Mapping[str, Operator] = field(default_factory=dict[str, Operator])

    def text(self, expr: ValueExpr, state: Mapping[str, Text] | None = None, state_type: DType | None = None) -> Text:
        """`state` gives the texts of `$state`, `$a`, `$b` inside finalize and operator bodies, `state_type` their type."""

        def inner(e: ValueExpr) -> Text:
            return self.text(e, state, state_type)

        match expr:
            case ValueConst(value, dtype):
                return self.constant(dtype, value)
            case Read(array, index):
                return Text(self.element(array, index))
            case ValueVar(name):
                return state[name] if state is not None and name in state else Text(self.names(name))
            case Arith("/", (dividend, ValueConst(number, dtype))) if is_divisor(dtype, number):
                return call(self.helpers.divided(int(number)), inner(dividend))
            case Arith(op, operands):
                dtype = self.facts.dtype(operands[0], state_type)
                texts = [inner(e) for e in operands]
                if len(texts) == 1:
                    return self._unary(op, dtype, texts[0])
                result = texts[0]
                for operand in texts[1:]:
                    result = self.apply(op, dtype, result, operand)
                return result
            case ValueSelect(cond, then, other):
                return conditional(self.index.text(cond), inner(then), inner(other))
            case Shuffle():
                return self._shuffle(expr, inner(expr.value), self.facts.dtype(expr, state_type))
            case Holds(op, lhs, rhs):
                return cast_to(cuda_type(u32), binary(op, inner(lhs), inner(rhs)))
            case Vote(kind, value) if expr.is_match:
                name = VOTES[kind]
                if kind == "match_all":
                    name = self.helpers.match_all(name, self.facts.dtype(value, state_type))
                return call(name, Text("0xffffffffu"), inner(value))
            case Vote(kind, value):
                if isinstance(value, Holds):
                    cast = binary(value.op, inner(value.lhs), inner(value.rhs))
                else:
                    cast = binary("!=", inner(value), literal(u32, 0))
                outcome = call(VOTES[kind], Text("0xffffffffu"), cast)
                return outcome if kind == "ballot" else cast_to(cuda_type(u32), binary("!=", outcome, decimal(0)))
            case Mixed(op, operands, control):
                return self._mixed(op, [inner(e) for e in operands], control)
            case Cast(dtype, value):
                return self._cast(dtype, self.facts.dtype(value, state_type), inner(value))
            case FromIndex(index, dtype):
                return self._cast(dtype, None, self.index.text(index))
            case MakeVector(dtype, items):
                return call(make(dtype), *(inner(e) for e in items))
            case Component(value, position):
                return member(inner(value), "xyzw"[position])
            case Accumulated(name, index):
                accumulator = self.facts.accumulators[name]
                at = Text(self.register(name, index))
                return self.text(accumulator.finalize, {"$state": at}, accumulator.dtype)
            case _:
                assert_never(expr)

    def _mixed(self, op: str, words: list[Text], control: IndexExpr) -> Text:
        """prmt by its intrinsic; lop3, which has none, as the sum of products that the compiler turns into one."""
        row = WORD_OPERATIONS[op]
        if row.cuda:
            masked = simplify(IndexBinary("&", control, IndexConst(row.control_bits)), self.facts.ranges)
            selector = Text(f"0x{masked.value:04x}") if isinstance(masked, IndexConst) else self.index.text(masked)
            return call(row.cuda[u32.bits], *words, selector)
        if not isinstance(control, IndexConst):
            message = f"expected a number as the table of lop3, got {self.index.text(control).text}"
            raise UnsupportedError(Diagnostic("LOP3_TABLE", message, fix="Give a constant, or a hole of constants."))
        table = int(control.value) & row.control_bits
        names = [Text(name) for name in "abc"]
        result = literal(u32, 0)
        for case in range(8):
            if table >> case & 1:
                factors = [w if case >> (2 - k) & 1 else unary("~", w) for k, w in enumerate(names)]
                product = binary("&", binary("&", factors[0], factors[1]), factors[2])
                result = product if result.value == 0 else binary("|", result, product)
        word = cuda_type(u32)
        name = self.helpers.user_function(f"lop3_{table:02x}", word, ", ".join(f"{word} {w.text}" for w in names), result.text)
        return call(name, *words)

    def constant(self, dtype: DType, value: int | float) -> Text:
        """`value` in every component."""
        if dtype.lanes > 1:
            return call(make(dtype), *([literal(scalar_of(dtype), value)] * dtype.lanes))
        return literal(dtype, value)

    def element(self, array: str, index: tuple[IndexExpr, ...]) -> str:
        """An element as an lvalue: parameters are flat, row-major."""
        if array not in self.facts.params:
            return self.register(array, index)
        shape = self.facts.params[array].shape
        flat: IndexExpr = IndexConst(0)
        for position, extent in zip(index, shape, strict=True):
            flat = IndexBinary("+", IndexBinary("*", flat, extent), position)
        return f"{self.names(array)}[{self.index.text(simplify(flat, self.facts.ranges)).text}]"

    def register(self, name: str, index: tuple[IndexExpr, ...]) -> str:
        return self.names(name) + "".join(f"[{self.index.text(e).text}]" for e in index)

    def apply(self, op: str, dtype: DType, a: Text, b: Text) -> Text:
        """`a op b` in the arithmetic of `dtype`."""
        if op in self.operators:
            body = self.text(self.operators[op].body, {"$a": Text("a"), "$b": Text("b")}, dtype)
            return call(self.helpers.user_operator(self.names(op), dtype, body.text), a, b)
        if dtype.lanes > 1:
            scalar = scalar_of(dtype)

            def component(x: str, y: str) -> str:
                return self.apply(op, scalar, Text(x), Text(y)).text

            return call(self.helpers.componentwise(op, dtype, 2, dtype, component), a, b)
        if op in ("min", "max"):
            name = _FLOAT_EXTREMA[dtype.name].format(op) if dtype.is_float else op
            return cast_to(cuda_type(dtype), call(name, a, b)) if is_narrow(dtype) else call(name, a, b)
        if is_signed_word(dtype) and op in ("+", "-", "*", "<<"):
            return call(self.helpers.wrapping(op, dtype), a, b)
        if op in ("//", "%"):
            return self._floored(op, dtype, a, b)
        if is_narrow(dtype):
            if op == "*":
                a, b = cast_to("unsigned", a), cast_to("unsigned", b)
            return cast_to(cuda_type(dtype), binary(op, a, b))
        return binary(op, a, b)

    def _floored(self, op: str, dtype: DType, a: Text, b: Text) -> Text:
        """Python's `//` and `%` of integers; unsigned ones are C's."""
        divisor = max(b.value or 0, 0)
        if dtype.kind == "uint":
            result = binary("/" if op == "//" else "%", a, b)
        elif divisor and not divisor & (divisor - 1):  # shifts and masks round down, too
            shift, mask = decimal(divisor.bit_length() - 1), literal(dtype, divisor - 1)
            result = binary(">>", a, shift) if op == "//" else binary("&", a, mask)
        else:
            result = call(self.helpers.floor_data(op, INT if is_narrow(dtype) else dtype), a, b)
        return cast_to(cuda_type(dtype), result) if is_narrow(dtype) else result

    def _unary(self, op: str, dtype: DType, a: Text) -> Text:
        if dtype.lanes > 1:
            scalar, word = scalar_of(dtype), {"neg": "neg", "~": "not"}.get(op, op)

            def component(x: str) -> str:
                return self._unary(op, scalar, Text(x)).text

            return call(self.helpers.componentwise(word, dtype, 1, dtype, component), a)
        match op:
            case "neg" if dtype.is_float:
                return unary("-", a)
            case "neg":
                return self.apply("-", dtype, self.constant(dtype, 0), a)
            case "popc":
                return cast_to(cuda_type(dtype), call(WORD_OPERATIONS["popc"].cuda[dtype.bits], a))
            case "~":
                return cast_to(cuda_type(dtype), unary("~", a)) if is_narrow(dtype) else unary("~", a)
            case _:  # a fold of one operand is that operand
                return a

    def _cast(self, to: DType, source: DType | None, value: Text) -> Text:
        if source is not None and source == to:
            return value
        if to.lanes == 1:
            return cast_to(cuda_type(to), value)
        scalar = scalar_of(to)
        if source is None or source.lanes == 1:
            name = f"splat_{to.name}"
            items = ", ".join([f"({cuda_type(scalar)})a"] * to.lanes)
            source_type = "int" if source is None else cuda_type(source)
            return call(self.helpers.user_function(name, cuda_type(to), f"{source_type} a", f"{make(to)}({items})"), value)

        def component(x: str) -> str:
            return cast_to(cuda_type(scalar), Text(x)).text

        from_type = vector_of(scalar_of(source), to.lanes)
        return call(self.helpers.componentwise(f"{to.name}_from", from_type, 1, to, component), value)

    def _shuffle(self, shuffle: Shuffle, value: Text, dtype: DType) -> Text:
        intrinsic, lane = SHUFFLES[shuffle.kind], self.index.text(shuffle.operand)
        width = min(shuffle.width, self.kernel.warp_size)
        if dtype.lanes > 1:
            return call(self.helpers.vector_shuffle(intrinsic, dtype), self.mask, value, lane, str(width))
        rest = [lane] if width == 32 else [lane, Text(str(width))]
        if is_narrow(dtype):
            return cast_to(cuda_type(dtype), call(intrinsic, self.mask, cast_to("int", value), *rest))
        return call(intrinsic, self.mask, value, *rest)
