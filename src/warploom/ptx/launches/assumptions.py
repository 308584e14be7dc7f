"""Assumptions of a user about launches: `blockDim.x == 256 && n % 4 == 0`.

assumption := comparison (&& comparison)*
comparison := sum (== | != | < | <= | > | >=) sum (...)*
sum        := whole numbers, names, lengths, + - * and `% NUMBER`, as in C; parameters are signed numbers of their width
length     := len(ARRAY), its elements, or bytes(ARRAY); the array is a pointer parameter, or shared memory without a size
name       := blockDim.x, gridDim.y, ... | arg0, arg1, ... (parameters by position) | the name of a parameter in the PTX
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warploom.core import Diagnostic, UserError
from warploom.ptx.launches.integers import Number, Pair, constant, times
from warploom.ptx.routine import Program, Routine, Variable
from warploom.ptx.symbolic import TermTable
from warploom.ptx.syntax import operand_text
from warploom.solve import Handle

_EXTENTS = {"blockDim": "ntid", "gridDim": "nctaid"}
_WORD = re.compile(r"[\w$.%]+")
_FIX = 'Write comparisons of whole numbers, such as: --assume "blockDim.x == 256 && arg3 % 4 == 0".'


def _wrong(message: str) -> UserError:
    return UserError(Diagnostic("ASSUMPTION", message, fix=_FIX))


@dataclass(frozen=True, slots=True)
class Assumed:
    """One comparison, as the user wrote it."""

    text: str
    comparison: ast.Compare

    @property
    def names_parameter(self) -> bool:
        arrays = {id(part) for call in self._calls() for part in (call.func, *call.args)}
        names = (n for n in ast.walk(self.comparison) if isinstance(n, ast.Name) and id(n) not in arrays)
        return any(n.id not in _EXTENTS for n in names)

    def _calls(self) -> list[ast.Call]:
        return [n for n in ast.walk(self.comparison) if isinstance(n, ast.Call)]

    def sized(self, program: Program, routine: Routine) -> tuple[str, ...]:
        """Arrays of which it says a length."""
        return tuple(_array(call, program, routine) for call in self._calls())

    def exact(self, register: str) -> int | None:
        """The number that the comparison sets a register to, if it does just that."""
        match self.comparison:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int(value))]):
                return value if _register(left) == register else None
            case _:
                return None

    def condition(
        self, pair: Pair, program: Program, routine: Routine, table: TermTable, widths: Mapping[str, int]
    ) -> Handle:  # fmt: skip
        """`widths`: bytes of an element of each array, 0 where accesses differ. UserError (ASSUMPTION) for a name that the
        kernel does not have."""
        reading = _Reading(pair, program, routine, table, widths)
        sides = [reading.number(n) for n in (self.comparison.left, *self.comparison.comparators)]
        parts: list[Handle] = []
        for x, operator, y in zip(sides, self.comparison.ops, sides[1:], strict=False):
            parts.append(_COMPARED[type(operator)](pair, x, y))
        return pair.builder.both(parts)


_COMPARED: dict[type[ast.cmpop], Callable[[Pair, Number, Number], Handle]] = {
    ast.Eq: lambda p, x, y: p.is_zero(x.plus(y, -1)),
    ast.NotEq: lambda p, x, y: p.builder.negation(p.is_zero(x.plus(y, -1))),
    ast.Lt: lambda p, x, y: p.at_least(y, x.shifted(1)),
    ast.LtE: lambda p, x, y: p.at_least(y, x),
    ast.Gt: lambda p, x, y: p.at_least(x, y.shifted(1)),
    ast.GtE: lambda p, x, y: p.at_least(x, y),
}


def length_of(pair: Pair, array: str) -> Number:
    """Its bytes, an open number."""
    return pair.atom(f"bytes of {array}", 0, 0)


def _unsized(program: Program, routine: Routine) -> list[str]:
    """Shared arrays without a size that the routine names; CUDA declares them outside of it."""
    found = [
        v.name for v in (*routine.variables.values(), *program.variables.values()) if v.space == "shared" and not v.size_bytes
    ]
    named = {word for i in routine.instructions for o in i.operands for word in _WORD.findall(operand_text(o))} if found else ()
    return [name for name in found if name in named]


def _array(call: ast.Call, program: Program, routine: Routine) -> str:
    """UserError (ASSUMPTION) for what is no length of an array."""
    match call:
        case ast.Call(func=ast.Name(id="len" | "bytes"), args=[ast.Name(id=name)], keywords=[]):
            for n, variable in enumerate(routine.parameters):
                if name in (variable.name, f"arg{n}") and variable.size_bytes == 8 and not variable.dimensions:
                    return variable.name
            unsized = _unsized(program, routine)
            if name in unsized:
                return name
            listed = [f"arg{n}" for n, v in enumerate(routine.parameters) if v.size_bytes == 8 and not v.dimensions] + unsized
            among = ", ".join(listed) or "it has none"
            raise _wrong(f"expected an array of {routine.name} ({among}) in {ast.unparse(call)}, got {name!r}")
        case _:
            raise _wrong(f"expected len(ARRAY) or bytes(ARRAY), got {ast.unparse(call)!r}")


def _is_whole_number(variable: Variable) -> bool:
    return variable.size_bytes in (1, 2, 4, 8) and not variable.dimensions and not variable.type.startswith("f")


def assumptions(text: str) -> tuple[Assumed, ...]:
    """The comparisons of a text; UserError (ASSUMPTION) for anything else."""
    found: list[Assumed] = []
    for part in text.split("&&"):
        try:
            tree = ast.parse(part.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise _wrong(f"expected a comparison, got {part.strip()!r}") from None
        if not isinstance(tree, ast.Compare) or any(type(o) not in _COMPARED for o in tree.ops):
            raise _wrong(f"expected a comparison, got {part.strip()!r}")
        found.append(Assumed(part.strip(), tree))
    return tuple(found)


def _register(node: ast.expr) -> str | None:
    match node:
        case ast.Attribute(value=ast.Name(id=root), attr=("x" | "y" | "z") as axis) if root in _EXTENTS:
            return f"{_EXTENTS[root]}.{axis}"
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Reading:
    pair: Pair
    program: Program
    routine: Routine
    table: TermTable
    widths: Mapping[str, int]

    def number(self, node: ast.expr) -> Number:
        if (register := _register(node)) is not None:
            return self.pair.register(register, 0)
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return constant(value)
            case ast.Name(id=name):
                return self._parameter(name)
            case ast.Call(func=ast.Name(id=measure)):
                name = _array(node, self.program, self.routine)
                found = length_of(self.pair, name)
                if measure == "bytes":
                    return found
                if not (width := self.widths.get(name, 0)):
                    why = "elements of several widths" if name in self.widths else "no element of it"
                    raise _wrong(f"expected bytes({name}), since the kernel accesses {why}, got len({name})")
                elements = self.pair.atom(f"elements of {name}", 0, 0)
                self.pair.require(self.pair.is_zero(elements.scaled(width).plus(found, -1)))
                return elements
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.number(operand).scaled(-1)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.number(left).plus(self.number(right))
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self.number(left).plus(self.number(right), -1)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                product = times(self.number(left), self.number(right))
                if product is not None:
                    return product
            case ast.BinOp(left=left, op=ast.Mod(), right=ast.Constant(value=int(by))) if by > 0:
                value = self.number(left)
                quotient = self.pair.atom(f"assumed {ast.unparse(node)}", 0)
                rest = value.plus(quotient, -by)
                pair = self.pair
                for sign, at_least in ((1, 0), (-1, 1)):  # as in C: the rest has the sign of the value
                    has_sign = pair.at_least(value.scaled(sign), constant(at_least))
                    pair.require(pair.implies(has_sign, pair.at_least(rest.scaled(sign), constant(0))))
                    pair.require(pair.implies(has_sign, pair.at_least(constant(by - 1), rest.scaled(sign))))
                return rest
            case _:
                pass
        raise _wrong(
            f"expected whole numbers, blockDim, gridDim, parameters, len(ARRAY), + - * and % NUMBER, got {ast.unparse(node)!r}"
        )

    def _parameter(self, name: str) -> Number:
        listed = self.routine.parameters
        for n, variable in enumerate(listed):
            if name in (variable.name, f"arg{n}"):
                bits = variable.size_bytes * 8
                if not _is_whole_number(variable):
                    raise _wrong(f"expected a parameter that is a whole number, got {name}, a .{variable.type}")
                term = self.table.parameter(variable.name, 0, bits)
                return self.pair.signed(term, 0)
        known = (
            ", ".join(f"arg{n}" for n, variable in enumerate(listed) if _is_whole_number(variable)) or "it has no whole number"
        )
        raise _wrong(f"expected a parameter of {self.routine.name} by its place ({known}), got {name!r}")
