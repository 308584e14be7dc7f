"""Terms: what a kernel or a spec computes from symbolic array elements.

    term := atom array[index, ...] | constant | op(term, ...)

Terms are interned: equal construction gives the same object, so `is` and hashing by identity are structural equality, and a
shared subterm is stored once. Construction never simplifies; canonical forms are `normal`'s work. Operators are CUDA's words
(`+ - * / min max & | ^ << >> neg ~`), Python's `//` and `%` of integers, user-declared names, `cast.<dtype>`, `pack` and
`component`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Generator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from itertools import count
from operator import attrgetter, is_
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np

from warploom.core import assigns_to_element
from warploom.core.interned import WeaklyInterned
from warploom.terms.text import term_text

Number: TypeAlias = int | float | Fraction
GREATEST = "greatest"
"""The operation whose value is the greatest of its operand over all steps of a loop, where a symbol stands for that."""

_SERIALS = count()
serial: Callable[[Term], int] = attrgetter("serial")
"""The number of a term, in order of creation: arguments before what is made of them."""
_strict_depth = 0
_only_floats = False
_refused: list[TermError] = []


class TermError(TypeError):
    """Symbolic data used where a known number or truth value is needed; the message says what to write instead."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        if _strict_depth:
            _refused.append(self)


class Term:
    """One interned node. Build with `atom`, `constant`, `apply`, `pack`, `component` or Python operators, never directly."""

    __slots__ = ("__weakref__", "args", "data", "op", "serial")

    op: str
    """`atom`, `constant`, `component`, or the operator."""
    args: tuple[Term, ...]
    data: tuple[Any, ...]
    """atom: (array, index, lanes); constant: (value,); component: (position,); else ()."""
    serial: int
    """Creation number: greater than every argument's, so it orders a term graph from the leaves up."""

    # ------------------------------------------------------------ arithmetic

    def __add__(self, other: object) -> Term:
        return _binary("+", self, other)

    def __radd__(self, other: object) -> Term:
        return _binary("+", other, self)

    def __sub__(self, other: object) -> Term:
        return _binary("-", self, other)

    def __rsub__(self, other: object) -> Term:
        return _binary("-", other, self)

    def __mul__(self, other: object) -> Term:
        return _binary("*", self, other)

    def __rmul__(self, other: object) -> Term:
        return _binary("*", other, self)

    def __truediv__(self, other: object) -> Term:
        return _binary("/", self, other)

    def __rtruediv__(self, other: object) -> Term:
        return _binary("/", other, self)

    def __floordiv__(self, other: object) -> Term:
        return _floored("//", self, other)

    def __rfloordiv__(self, other: object) -> Term:
        return _floored("//", other, self)

    def __mod__(self, other: object) -> Term:
        return _floored("%", self, other)

    def __rmod__(self, other: object) -> Term:
        return _floored("%", other, self)

    def __and__(self, other: object) -> Term:
        return _binary("&", self, other)

    def __rand__(self, other: object) -> Term:
        return _binary("&", other, self)

    def __or__(self, other: object) -> Term:
        return _binary("|", self, other)

    def __ror__(self, other: object) -> Term:
        return _binary("|", other, self)

    def __xor__(self, other: object) -> Term:
        return _binary("^", self, other)

    def __rxor__(self, other: object) -> Term:
        return _binary("^", other, self)

    def __lshift__(self, other: object) -> Term:
        return _binary("<<", self, other)

    def __rlshift__(self, other: object) -> Term:
        return _binary("<<", other, self)

    def __rshift__(self, other: object) -> Term:
        return _binary(">>", self, other)

    def __rrshift__(self, other: object) -> Term:
        return _binary(">>", other, self)

    def __neg__(self) -> Term:
        return apply("neg", self)

    def __pos__(self) -> Term:
        return self

    def __invert__(self) -> Term:
        return apply("~", self)

    @property
    def x(self) -> Term:
        return component(self, 0)

    @property
    def y(self) -> Term:
        return component(self, 1)

    @property
    def z(self) -> Term:
        return component(self, 2)

    @property
    def w(self) -> Term:
        return component(self, 3)

    def rebuilt(self, args: Sequence[Term]) -> Term:
        """The same operation on other arguments."""
        if self.op == "component":
            return component(args[0], self.data[0])
        return pack(*args) if self.op == "pack" else apply(self.op, *args)

    def with_args(self, args: Sequence[Term]) -> Term:
        """The same operation on as many arguments: this very term, where these are its own."""
        return self if all(map(is_, args, self.args)) else self.rebuilt(args)

    # ------------------------------------------------------------ what symbolic data cannot do

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Term) and not _strict_depth:
            return self is other
        if isinstance(other, Term | int | float | Fraction | np.generic):
            self._refuse_comparison()
        return NotImplemented

    __hash__ = object.__hash__

    def __lt__(self, other: object) -> NoReturn:
        self._refuse_comparison()

    __le__ = __gt__ = __ge__ = __lt__

    def _refuse_comparison(self) -> NoReturn:
        raise TermError(
            f"expected a comparison of indices, got one of data ({self}): control must not depend on data; "
            "write minimum(a, b) or maximum(a, b) for the smaller or larger value"
        )

    def __bool__(self) -> NoReturn:
        raise TermError(f"expected a condition on indices, got data ({self}): control must not depend on data")

    def __iter__(self) -> NoReturn:
        raise TermError(f"expected an array, got one element ({self}): loop over range(len(array)) and index the array")

    def __index__(self) -> NoReturn:
        raise TermError(f"expected an index, got data ({self}): indices must not depend on data")

    def __int__(self) -> NoReturn:
        raise TermError(
            f"expected a known number, as `int`, `float` and functions of `math` take, got data ({self}): "
            "write wl.cast(dtype, value) to convert data, and powers as products, `x * x`"
        )

    __float__ = __int__

    def __pow__(self, other: object) -> NoReturn:
        raise TermError("`**` of data is not supported: write the product out, `x * x`")

    def __repr__(self) -> str:
        return term_text(self)


class VectorElement(Term):
    """An element of an array of vectors as a spec holds it: the vector `whole`, or, as `a[i].x = ...`, a place to store to."""

    __slots__ = ("replace", "whole")

    whole: Term
    replace: Callable[[int, object], None]
    """Stores a component to the element."""


def vector_element(whole: Term, replace: Callable[[int, object], None]) -> VectorElement:
    made = VectorElement()
    made.op, made.args, made.data, made.serial = whole.op, whole.args, whole.data, whole.serial
    made.whole, made.replace = whole, replace
    return made


def _component_property(position: int) -> property:
    def read(self: VectorElement) -> Term:
        return component(self.whole, position)

    def store(self: VectorElement, value: object) -> None:
        if not assigns_to_element(sys._getframe(1)):  # pyright: ignore[reportPrivateUsage]
            raise TermError(
                "expected `a[i].x = ...` as target, got a component of a vector in a variable, which is a value on the machine: "
                "store to the element, or make a new vector with wl.pack"
            )
        self.replace(position, value)

    return property(read, store)


for _position, _name in enumerate("xyzw"):
    setattr(VectorElement, _name, _component_property(_position))


_TABLE: WeaklyInterned[tuple[object, ...], Term] = WeaklyInterned()


def _make(op: str, args: tuple[Term, ...], data: tuple[Any, ...], key: tuple[object, ...]) -> Term:
    entry = _TABLE.get(key)
    if entry is not None:
        known = entry()
        if known is not None:
            return known
    made = Term()
    made.op, made.args, made.data, made.serial = op, args, data, next(_SERIALS)
    _TABLE.keep(key, made)
    return made


def atom(array: str, index: tuple[Any, ...], lanes: int = 1) -> Term:
    """The initial content of `array[index]`; `lanes` components (1, 2 or 4), moved as one unit.

    Index parts are any hashables: ints for a bounded kernel, affine forms for the lift.
    """
    key = ("atom", array, index, lanes)
    return _make("atom", (), (array, index, lanes), key)


def constant(value: Any) -> Term:
    """A number; 1, True, 1.0, 0.0 and -0.0 are five different constants. NumPy scalars become Python's."""
    if isinstance(value, np.generic):
        value = cast(Any, value).item()
    if not isinstance(value, int | float | Fraction):
        raise TermError(f"expected a number, got {type(value).__name__}")
    shown = value.hex() if isinstance(value, float) else value
    return _make("constant", (), (value,), ("constant", type(value), shown))


def apply(op: str, *args: Term | Number) -> Term:
    """`op` of its arguments, not simplified; numbers become constants."""
    for a in args:
        if type(a) is not Term:
            args = tuple([plain(a) if isinstance(a, Term) else constant(a) for a in args])
            break
    terms = cast("tuple[Term, ...]", args)
    return _make(op, terms, (), (op, *[t.serial for t in terms]))


def pack(*items: Term | Number) -> Term:
    """The vector of the given components; packing all components of one element in order gives that element back."""
    terms = tuple(plain(i) if isinstance(i, Term) else constant(i) for i in items)
    first = terms[0]
    if first.op == "component":
        whole = first.args[0]
        if whole.op == "atom" and whole.data[2] == len(terms):
            parts = tuple(component(whole, k) for k in range(len(terms)))
            if all(a is b for a, b in zip(parts, terms, strict=True)):
                return whole
    return _make("pack", terms, (), ("pack", *[t.serial for t in terms]))


def component(vector: Term, position: int) -> Term:
    """Component 0..3 (x, y, z, w) of a vector; of a pack, the packed item."""
    vector = plain(vector)
    if vector.op == "pack":
        return vector.args[position]
    return _make("component", (vector,), (position,), ("component", vector.serial, position))


def wrap_form(form: object) -> Term:
    """The term that stands for a canonical form inside a larger one (one per form)."""
    return _make("form", (), (form,), ("form", form))


def minimum(a: Term | Number, b: Term | Number) -> Term | Number:
    """The smaller of two data values, symbolic or numbers."""
    if isinstance(a, Term) or isinstance(b, Term):
        return apply("min", a, b)
    return a if a <= b else b


def maximum(a: Term | Number, b: Term | Number) -> Term | Number:
    """The larger of two data values, symbolic or numbers."""
    if isinstance(a, Term) or isinstance(b, Term):
        return apply("max", a, b)
    return a if a >= b else b


def to_operand(value: Any) -> Term | None:
    """`value` as a term: a term itself or a number; None for anything else."""
    if isinstance(value, Term):
        return plain(value)
    if isinstance(value, int | float | Fraction | np.generic):
        return constant(value)
    return None


def plain(term: Term) -> Term:
    """The term that an element of an array of vectors holds; any other term itself."""
    return term.whole if isinstance(term, VectorElement) else term


def _binary(op: str, lhs: object, rhs: object) -> Term:
    a, b = to_operand(lhs), to_operand(rhs)
    if a is None or b is None:
        return cast(Term, NotImplemented)
    return apply(op, a, b)


def _floored(op: str, lhs: object, rhs: object) -> Term:
    if _only_floats:
        raise TermError(
            f"expected integers for `{op}`, got floats: no law of the reals says how a quotient rounds down; "
            "write `/`, or cast to an integer type first"
        )
    return _binary(op, lhs, rhs)


@contextmanager
def strict_comparisons(*, only_floats: bool = False) -> Generator[None]:
    """For running users' code: while active, `==` and hashing of terms raise TermError, for both would be a branch on data.

    only_floats: all symbols are floats, so that `//` and `%` are errors, too. A TermError that the code itself caught is raised
    in the end: it went on as no data would have told it to.
    """
    global _strict_depth, _only_floats
    if not _strict_depth:
        _refused.clear()
        Term.__hash__ = _refuse_hash
    _strict_depth += 1
    outer, _only_floats = _only_floats, only_floats
    try:
        yield
    finally:
        _only_floats = outer
        _strict_depth -= 1
        if not _strict_depth:
            Term.__hash__ = object.__hash__
    if _refused:
        raise _refused[0]


def _refuse_hash(self: Term) -> int:
    raise TermError(f"expected no set or dict of data ({self}): which values are equal is not known before the run")


def iterate_post(root: Term, known: Container[Term] = ()) -> Generator[Term]:
    """Every distinct subterm once, arguments before the terms that use them; not recursive.

    Terms in `known`, and what only they use, are left out.
    """
    seen: set[Term] = set()
    stack = [root]
    while stack:
        term = stack.pop()
        if term not in seen and term not in known:
            seen.add(term)
            stack.extend(term.args)
    yield from sorted(seen, key=serial)
