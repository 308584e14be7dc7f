"""A spec's terms in the machine's own operations: what C computes with the types of the elements that the spec names.

`terms.Stored` decides the type of each operation, as for specs of sketches. Here every operation on integers becomes the one that
an instruction of that type computes, so that a spec and a kernel meet in one form, and every term gets its type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from warploom.core import BY_NAME, DType, f64, scalar_of
from warploom.synth.compiled.arithmetic import SIGN_OF_TEST, Arithmetic, NotFollowedError
from warploom.synth.compiled.data import Data, NoBitsError, Value
from warploom.synth.compiled.gathers import Gathers
from warploom.synth.compiled.quotients import quotient
from warploom.terms import IN_RANGE, Term, apply, component, constant, iterate_post, pack

_WORDS = {"+": "add", "-": "sub", "*": "mul", "&": "and", "|": "or", "^": "xor"}
_TESTS = {sign: test for test, sign in reversed(SIGN_OF_TEST.items())}
_Node = tuple[Term, DType]


class TypedSpec:
    """Translates what one spec stores. types: of arrays and symbolic numbers, by name."""

    def __init__(self, types: Mapping[str, DType], gathers: Gathers) -> None:
        self.data = Data()
        self._gathers = gathers
        gathers.kinds = self.data.kinds
        self._types = {name: scalar_of(t) for name, t in types.items()}
        self._arithmetic = Arithmetic(self.data)
        self._values: dict[_Node, Value] = {}
        self._has_f64 = f64 in self._types.values()

    def has_words(self, root: Term) -> bool:
        """Whether integers take part."""
        return any(
            t.op.startswith(("cast.", "gathered.")) or (t.op == "atom" and not self._types[t.data[0]].is_float)
            for t in iterate_post(root)
        )

    def term(self, root: Term, dtype: DType) -> Term:
        """The content of an array of type `dtype` after the spec stored `root` to it."""
        kind = scalar_of(dtype)
        if dtype.lanes > 1:
            return pack(*(self._stored(component(root, k), kind) for k in range(dtype.lanes)))
        return self._stored(root, kind)

    def _stored(self, root: Term, kind: DType) -> Term:
        value = self._value(root, kind)
        return self.data.as_float(value, kind) if kind.is_float else self.data.signless(self.data.as_int(value, kind))

    def _value(self, root: Term, kind: DType) -> Value:
        values = self._values
        stack: list[_Node] = [(root, kind)]
        while stack:
            node = stack[-1]
            missing = [part for part in self._parts(*node) if part not in values]
            if node not in values and missing:
                stack.extend(missing)
                continue
            stack.pop()
            if node not in values:
                values[node] = self._made(*node, [values[part] for part in self._parts(*node)])
        return values[root, kind]

    def _parts(self, term: Term, kind: DType) -> list[_Node]:
        """The operands, each with the type in which it is computed."""
        if term.op in ("atom", "constant", "component"):
            return []
        match term.op.split("."):
            case ["cast", source, _]:
                return [(term.args[0], BY_NAME[source])]
            case ["gathered", _, *kinds]:
                return [(a, BY_NAME[k]) for a, k in zip(term.args, kinds, strict=True)]
            case ["select", test]:
                compared = BY_NAME[test.split()[0]]
                return [(a, k) for a, k in zip(term.args, (compared, compared, kind, kind), strict=True)]
            case _:
                return [(a, kind) for a in term.args]

    def _made(self, term: Term, kind: DType, operands: list[Value]) -> Value:
        try:
            return self._computed(term, kind, operands)
        except (NotFollowedError, NoBitsError):  # a term of its own, which no kernel's is
            plain = [v if isinstance(v, Term) else constant(v) for v in operands if isinstance(v, Term | int)]
            return self.data.made(apply(f"spec {term.op}", *plain), kind)

    def _computed(self, term: Term, kind: DType, operands: list[Value]) -> Value:
        data = self.data
        if term.op == "constant":
            if kind.is_float:
                return data.made(term, kind)
            return int(term.data[0]) & ((1 << kind.bits) - 1)
        if term.op in ("atom", "component"):
            name = (term if term.op == "atom" else term.args[0]).data[0]
            own = self._types[name]
            return self._converted(data.made(term, own), own, kind)
        words = term.op.split(".")
        if words[0] == "cast":
            source, target = BY_NAME[words[1]], BY_NAME[words[2]]
            return self._converted(self._converted(operands[0], source, target), target, kind)
        if words[0] == "gathered":
            indices = [data.exactly(v, BY_NAME[k]) for v, k in zip(operands, words[2:], strict=True)]
            own = self._gathers.dtype(words[1])
            return self._converted(data.made(self._gathers.wanted(words[1], indices), own), own, kind)
        if words[0].startswith("select"):
            own = BY_NAME[words[1].split()[0]] if len(words) > 1 else kind
            compare = self._arithmetic.compare(_TESTS[term.op.rpartition(" ")[2]], own)
            return self._arithmetic.select(kind)(operands[2], operands[3], compare(*operands[:2]))
        if kind.is_float:
            return data.made(apply(term.op, *(data.as_float(v, kind) for v in operands)), kind)
        return self._word(term.op, kind)(*operands)

    def _word(self, op: str, kind: DType) -> Callable[..., Value]:
        """`op` of integers of type `kind`."""
        arithmetic = self._arithmetic
        match op:
            case _ if op in _WORDS:
                return arithmetic.signless(_WORDS[op], kind)
            case "neg":
                return arithmetic.negate(kind)
            case "~":
                return arithmetic.invert(kind)
            case "<<" | ">>":
                return arithmetic.shift("shl" if op == "<<" else "shr", kind)
            case "min" | "max":
                return arithmetic.extreme(op, kind)
            case "abs" if kind.kind == "int":
                return arithmetic.magnitude(kind)
            case "abs":
                return _itself
            case "/":
                return quotient(arithmetic, kind, is_remainder=False)
            case "//" | "%" if kind.kind == "uint":
                return quotient(arithmetic, kind, is_remainder=op == "%")
            case "//" | "%":
                return partial(self._floored, op, kind)
            case _:
                raise NotFollowedError(op)

    def _floored(self, op: str, kind: DType, a: Value, b: Value) -> Value:
        """Python's `//` and `%` of signed words."""
        arithmetic = self._arithmetic
        if isinstance(b, int) and not b & (b - 1) and 0 < b < 1 << (kind.bits - 1):
            if op == "//":
                return arithmetic.shift("shr", kind)(a, b.bit_length() - 1)
            return arithmetic.signless("and", kind)(a, b - 1)
        whole = quotient(arithmetic, kind, is_remainder=False, is_floored=True)(a, b)
        if op == "//":
            return whole
        return arithmetic.signless("sub", kind)(a, arithmetic.signless("mul", kind)(whole, b))

    def _converted(self, value: Value, source: DType, target: DType) -> Value:
        """Floats are real numbers, whatever their width: a spec rounds nowhere."""
        if source is target or (source.is_float and target.is_float):
            return value
        if target is f64 and not self._has_f64:
            target = next((t for t in self._types.values() if t.is_float), f64)  # Python's numbers among narrower floats
        if source.is_float and isinstance(value, Term) and value.op == "constant":
            return int(value.data[0]) & ((1 << target.bits) - 1)
        if source.is_float:
            self.data.notes.add(IN_RANGE)
        if target.is_float:
            return self.data.made(self.data.converted(self.data.exactly(value, source), target), target)
        return self._arithmetic.convert(target, source, "rzi" if source.is_float else None)(value)


def _itself(value: Value) -> Value:
    return value
