"""The domain of a proof about terms: laws that may have been used, and the inputs on which its operations have a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite

from warploom.core import DType, scalar_of
from warploom.terms.algebra import Algebra, algebra_for
from warploom.terms.casts import cast_types, operand_type
from warploom.terms.mixed import control_of
from warploom.terms.partial import condition_of_value, is_partial
from warploom.terms.term import Term

_LEAVES = frozenset({"atom", "constant", "component", "pack", "form", "select"})
_TOTAL = frozenset({"+", "-", "*", "neg", "&", "|", "^", "~"})
"""Operations that have a value on all inputs."""
_COUNTS = "shift counts from 0 and below the width"
DIVISORS = "no integer divided by 0, nor the least one by -1"
IN_RANGE = "floats converted to integers lie in their range"
_NO_NAN = "no NaN in min and max"


def condition_of(term: Term, dtype: DType) -> str:
    """The inputs on which the operation, computed in `dtype`, means the same to Python, the prover and the machine; "" for
    all."""
    if term.op in ("<<", ">>"):
        return "" if term.args[1].op == "constant" else _COUNTS
    if term.op in ("/", "//", "%") and not dtype.is_float:
        divisor = term.args[1]
        return "" if divisor.op == "constant" and divisor.data[0] not in (0, -1) else DIVISORS
    if term.op == "/":
        return condition_of_value(term.op) if is_partial(term) else ""
    if term.op in ("min", "max") and dtype.is_float:
        return _NO_NAN
    types = cast_types(term)
    return IN_RANGE if types and types[0].is_float and not types[1].is_float else ""


@dataclass(slots=True)
class Usage:
    """Operators met under each type, and the conditions that come with them."""

    dtype: DType
    """Type of the roots."""
    operators: dict[DType, set[str]] = field(default_factory=dict[DType, set[str]])
    conditions: dict[str, None] = field(default_factory=dict[str, None])
    partial: dict[DType, list[Term]] = field(default_factory=dict["DType", "list[Term]"])
    """Operations without a value on some inputs, by the type that they are computed in."""
    has_limits: bool = False
    """True if an infinity or NaN was met."""
    _seen: dict[DType, set[Term]] = field(default_factory=dict["DType", "set[Term]"])

    def add(self, root: Term) -> None:
        """Meet everything below `root`; what is converted is computed in its own type."""
        others = [(scalar_of(self.dtype), root)]
        while others:
            dtype, first = others.pop()
            seen = self._seen.setdefault(dtype, set())
            operators = self.operators.setdefault(dtype, set())
            stack = [first]
            while stack:
                term = stack.pop()
                if term in seen:
                    continue
                seen.add(term)
                op = term.op
                if op not in _LEAVES:
                    operators.add("&" if control_of(term) is not None else op)
                    if op not in _TOTAL:
                        if condition := condition_of(term, dtype):
                            self.conditions[condition] = None
                        if is_partial(term):
                            self.partial.setdefault(dtype, []).append(term)
                elif op == "constant" and isinstance(term.data[0], float) and not isfinite(term.data[0]):
                    self.has_limits = True
                inside = operand_type(term) if "." in op else None
                if inside is None or inside == dtype or (inside.is_float and dtype.is_float):
                    stack.extend(term.args)
                else:
                    others += ((inside, a) for a in term.args)

    def domain(self, algebra: Algebra) -> str:
        """The domain of a proof under `algebra`."""
        main = scalar_of(self.dtype)
        every = {op for ops in self.operators.values() for op in ops}
        parts = {algebra.domain_of(self.operators.get(main, set())): None}
        for dtype, ops in self.operators.items():
            if ops and dtype != main and algebra.name not in ("syntactic", "commutative"):
                parts[algebra_for(dtype).domain_of(ops)] = None
        if len(parts) > 1 or every:
            nothing = algebra.domain_of(())
            parts.pop(nothing, None)
        generic = algebra.domain_of(("",))
        if len(parts) > 1:
            parts.pop(generic, None)
        return "; ".join([", ".join(parts) or generic, *self.conditions])


def operations(root: Term) -> frozenset[str]:
    """The operations in `root`, with `constant` where there is one; elements and vectors of them are none."""
    met = {root}
    stack = [root]
    while stack:
        new = [a for a in stack.pop().args if a not in met]
        met.update(new)
        stack += new
    return frozenset(t.op for t in met) - {"atom", "component", "pack"} if root.op != "constant" else frozenset[str]()
