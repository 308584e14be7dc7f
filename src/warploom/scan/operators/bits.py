"""Whole numbers bit by bit: each bit is a sum modulo 2 of products of the bits of variables.

    x ^ y, x & y, x | y, x << n, x >> n, x % 2**n, n * (one bit), y if (a few bits) else z

`equal_bits` compares such sums. Where they would be long, it asks first which variables the products may join. If no product has
two bits of one variable, the bits are linear in each variable; then two numbers are equal if they are equal wherever each
variable is 0 or has one bit, and all those places are tried at once, each in a bit of one long integer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Generic, Protocol, TypeAlias, TypeVar

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr

MOST_PLACES = 1 << 19
MOST_TERMS = 3000
"""Products in the sum of one bit."""
MOST_TESTED = 4
"""Bits that a comparison may depend on."""
LONGEST = 128
"""Bits of a number."""

T = TypeVar("T")
Sum: TypeAlias = frozenset[frozenset[tuple[Expr, int]]]
"""Products, each as the bits that it joins."""
Joined: TypeAlias = frozenset[frozenset[Expr]]
"""Products that may stand in a sum, each as the variables whose bits it joins."""


class NoBitsError(Exception):
    """The bits of a number are not known here."""


class Algebra(Protocol[T]):
    """Sums and products of one bit."""

    zero: T
    one: T

    def atom(self, variable: Expr, bit: int) -> T: ...

    def add(self, left: T, right: T) -> T: ...

    def multiply(self, left: T, right: T) -> T: ...


class Sums:
    """Sums as they are."""

    def __init__(self) -> None:
        self.zero: Sum = frozenset()
        self.one: Sum = frozenset({frozenset[tuple[Expr, int]]()})

    def atom(self, variable: Expr, bit: int) -> Sum:
        return frozenset({frozenset({(variable, bit)})})

    def add(self, left: Sum, right: Sum) -> Sum:
        return left ^ right

    def multiply(self, left: Sum, right: Sum) -> Sum:
        if left is self.one or right is self.one:
            return right if left is self.one else left
        if len(left) * len(right) > MOST_TERMS:
            raise NoBitsError("sums of too many products of bits")
        found: set[frozenset[tuple[Expr, int]]] = set()
        for a, b in product(left, right):
            found ^= {a | b}
        return frozenset(found)


class _Degrees:
    """Monomials that may occur in a sum, as if none cancelled."""

    def __init__(self) -> None:
        self.zero: Joined = frozenset()
        self.one: Joined = frozenset({frozenset[Expr]()})

    def atom(self, variable: Expr, bit: int) -> Joined:
        return frozenset({frozenset({variable})})

    def add(self, left: Joined, right: Joined) -> Joined:
        return left | right

    def multiply(self, left: Joined, right: Joined) -> Joined:
        if any(a & b for a in left for b in right):
            raise NoBitsError("products of two bits of one variable")
        return frozenset(a | b for a in left for b in right)


@dataclass(slots=True)
class _Places:
    """Values at many places, one in each bit of an integer."""

    values: Mapping[tuple[Expr, int], int]
    one: int
    zero: int = 0

    def atom(self, variable: Expr, bit: int) -> int:
        return self.values.get((variable, bit), 0)

    def add(self, left: int, right: int) -> int:
        return left ^ right

    def multiply(self, left: int, right: int) -> int:
        return left & right


@dataclass(frozen=True, slots=True)
class Number(Generic[T]):
    """The low bits; what all higher bits are, None if that is not known."""

    low: tuple[T, ...]
    high: T | None

    def bit(self, place: int) -> T:
        if place < len(self.low):
            return self.low[place]
        if self.high is None:
            raise NoBitsError(f"a number of more than {LONGEST} bits")
        return self.high


class Reader(Generic[T]):
    """The bits of expressions."""

    def __init__(self, algebra: Algebra[T], atoms: set[Expr] | None = None) -> None:
        self._algebra: Algebra[T] = algebra
        self._numbers: dict[Expr, Number[T]] = {}
        self._failed: dict[Expr, NoBitsError] = {}
        self._is_open: bool = atoms is None
        self.atoms: set[Expr] = set() if atoms is None else atoms
        """Expressions that are variables of their own; without `atoms`, those are found that are not known by bits."""

    def number(self, expr: Expr) -> Number[T]:
        """The number of an expression; a part whose bits are not known becomes a variable of its own."""
        for part in ex.subexpressions(expr):
            if part in self._numbers or part in self._failed:
                continue
            if part in self.atoms:
                self._numbers[part] = self._atom(part)
                continue
            try:
                self._numbers[part] = self._trimmed(self._read(part))
            except NoBitsError as error:
                if not self._is_open:
                    self._failed[part] = error  # nothing may need it, as a sum that is compared
                    continue
                self.atoms.add(part)
                self._numbers[part] = self._atom(part)
        return self._known(expr)

    def _known(self, expr: Expr) -> Number[T]:
        if expr in self._failed:
            raise self._failed[expr]
        return self._numbers[expr]

    def width(self, expr: Expr) -> int | None:
        """The least n so that the number is in 0 .. 2**n - 1; None if that is not known."""
        found = self.number(expr)
        return len(found.low) if found.high == self._algebra.zero else None

    def _trimmed(self, number: Number[T]) -> Number[T]:
        low = number.low
        while low and number.high is not None and low[-1] == number.high:
            low = low[:-1]
        if len(low) > LONGEST:
            return Number(low[:LONGEST], None)
        return Number(low, number.high)

    def _atom(self, expr: Expr) -> Number[T]:
        zero, values = self._algebra.zero, expr.sort.values
        if expr.sort.base == "bool":
            return Number((self._algebra.atom(expr, 0),), zero)
        if expr.sort.bits is not None or (values and values[0] >= 0):
            width = expr.sort.bits if expr.sort.bits is not None else (values or (0,))[-1].bit_length()
            return Number(tuple(self._algebra.atom(expr, n) for n in range(width)), zero)
        return Number(tuple(self._algebra.atom(expr, n) for n in range(LONGEST)), None)

    def _constant(self, value: int) -> Number[T]:
        a = self._algebra
        high = a.one if value < 0 else a.zero
        return Number(tuple(a.one if value >> n & 1 else a.zero for n in range(value.bit_length())), high)

    def _read(self, expr: Expr) -> Number[T]:
        a = self._algebra
        if expr.sort.base not in ("int", "bool"):
            raise NoBitsError("not a whole number")
        if expr.op in ("ge", "gt"):
            return Number((self._compared(expr),), a.zero)
        if expr.op == "poly":
            return self._sum(expr)
        parts = [self._known(x) for x in expr.args]
        match expr.op:
            case "const" if isinstance(expr.value, int):
                return self._constant(int(expr.value))
            case "var":
                return self._atom(expr)
            case "bitxor":
                return reduce(lambda x, y: self._each(x, y, a.add), parts)
            case "bitand":
                return reduce(lambda x, y: self._each(x, y, a.multiply), parts)
            case "bitor":
                return reduce(lambda x, y: self._each(x, y, self._or), parts)
            case "floordiv" | "mod" if isinstance(expr.value, int) and not expr.value & (expr.value - 1):
                count = expr.value.bit_length() - 1
                if expr.op == "floordiv":
                    return Number(parts[0].low[count:], parts[0].high)
                return Number(tuple(parts[0].bit(n) for n in range(count)), a.zero)
            case "ite":
                test, then, other = parts
                differ = self._each(then, other, a.add)
                return self._each(self._scaled(differ, test.bit(0)), other, a.add)
            case "not":
                return Number((a.add(a.one, parts[0].bit(0)),), a.zero)
            case "and":
                return Number((reduce(a.multiply, (p.bit(0) for p in parts)),), a.zero)
            case "or":
                return Number((reduce(self._or, (p.bit(0) for p in parts)),), a.zero)
            case _:
                raise NoBitsError(f"{expr.op} bit by bit")

    def _or(self, left: T, right: T) -> T:
        a = self._algebra
        if left == a.zero or right == a.zero:
            return right if left == a.zero else left
        return a.add(a.add(left, right), a.multiply(left, right))

    def _each(self, left: Number[T], right: Number[T], operation: Callable[[T, T], T]) -> Number[T]:
        zero = self._algebra.zero
        if operation == self._algebra.multiply:
            for one, other in ((left, right), (right, left)):
                if one.high == zero:
                    short = range(len(one.low))
                    return Number(tuple(zero if one.low[n] == zero else operation(one.low[n], other.bit(n)) for n in short), zero)
        if left.high is None or right.high is None:
            count = min(len(x.low) if x.high is None else LONGEST for x in (left, right))
            return Number(tuple(operation(left.bit(n), right.bit(n)) for n in range(count)), None)
        longer = max(len(left.low), len(right.low))
        return Number(tuple(operation(left.bit(n), right.bit(n)) for n in range(longer)), operation(left.high, right.high))

    def _scaled(self, number: Number[T], bit: T) -> Number[T]:
        a = self._algebra
        low = tuple(x if x == a.zero else a.multiply(x, bit) for x in number.low)
        high = None if number.high is None else number.high if number.high == a.zero else a.multiply(number.high, bit)
        return Number(low, high)

    def _sum(self, expr: Expr) -> Number[T]:
        """A sum of numbers that have no bit in common."""
        a = self._algebra
        total = self._constant(0)
        for coefficient, monomial in expr.terms:
            if not isinstance(coefficient, int):
                raise NoBitsError("a fraction")
            if len(monomial) > 1:
                raise NoBitsError("a product")
            part = self._constant(coefficient)
            if monomial:
                value = self._known(monomial[0])
                if len(value.low) <= 1 and value.high == a.zero:
                    part = self._scaled(part, value.bit(0))
                elif coefficient > 0 and not coefficient & (coefficient - 1):
                    part = Number((a.zero,) * (coefficient.bit_length() - 1) + value.low, value.high)
                else:
                    raise NoBitsError("a multiple")
            if total.high is None or part.high is None:
                if total.high == a.zero and not total.low:
                    total = part
                    continue
                raise NoBitsError("a sum")
            if total.high != a.zero and part.high != a.zero:
                raise NoBitsError("a sum")
            shared = range(max(len(total.low), len(part.low)) + 1)
            if any(total.bit(n) != a.zero and part.bit(n) != a.zero for n in shared):
                raise NoBitsError("a sum of numbers with a bit in common")
            total = self._each(total, part, a.add)
        return total

    def _compared(self, expr: Expr) -> T:
        """A comparison with 0 of a sum that depends on a few bits; or that asks for the highest bit."""
        a = self._algebra
        total = expr.args[0]
        terms = total.terms if total.op == "poly" else ((1, (total,)),)
        rest = sum(c for c, m in terms if not m)
        weights: list[tuple[int, T]] = []
        numbers = [(c, self._known(m[0])) for c, m in terms if len(m) == 1]
        if len(numbers) + (1 if any(not m for _, m in terms) else 0) < len(terms) or not isinstance(rest, int):
            raise NoBitsError("a comparison of products")
        for coefficient, number in numbers:
            if number.high != a.zero or not isinstance(coefficient, int):
                raise NoBitsError("a comparison of numbers of any sign")
            weights += [(coefficient << n, bit) for n, bit in enumerate(number.low) if bit != a.zero]
        strict = expr.op == "gt"
        greatest, least = (rest + sum(w for w, _ in weights if (w > 0) == sign) for sign in (True, False))
        if least > 0 or (least == 0 and not strict):
            return a.one
        if greatest < 0 or (greatest == 0 and strict):
            return a.zero
        weights.sort(key=lambda w: -abs(w[0]))
        if len(weights) > MOST_TESTED:
            # only the highest bit decides, where the others together are less
            first, others = weights[0], weights[1:]
            low, high = (rest + sum(w for w, _ in others if (w > 0) == sign) for sign in (False, True))
            with_it, without = (low + first[0], high + first[0]), (low, high)
            decided = [self._sign(*bounds, strict) for bounds in (without, with_it)]
            if None in decided:
                raise NoBitsError("a comparison of many bits")
            return self._chosen([first[1]], [bool(d) for d in decided])
        outcomes: list[bool] = []
        for bits in product((0, 1), repeat=len(weights)):
            value = rest + sum(w * b for (w, _), b in zip(weights, bits, strict=True))
            outcomes.append(value > 0 or (value == 0 and not strict))
        return self._chosen([bit for _, bit in weights], outcomes)

    def _sign(self, low: int, high: int, strict: bool) -> bool | None:
        if low > 0 or (low == 0 and not strict):
            return True
        return False if high < 0 or (high == 0 and strict) else None

    def _chosen(self, bits: Sequence[T], outcomes: Sequence[bool]) -> T:
        """The sum that has the outcomes, in the order of the bits as a number, the first the highest."""
        a = self._algebra
        if not bits:
            return a.one if outcomes[0] else a.zero
        half = len(outcomes) // 2
        without, with_it = self._chosen(bits[1:], outcomes[:half]), self._chosen(bits[1:], outcomes[half:])
        if outcomes[:half] == outcomes[half:]:
            return without
        differ = a.add(without, with_it)
        return a.add(without, a.multiply(bits[0], differ) if differ != a.zero else a.zero)


_BITWISE: frozenset[ex.Op] = frozenset({"bitand", "bitor", "bitxor", "mod"})


def has_bits(*exprs: Expr) -> bool:
    """Whether there are variables of known width, and operations on their bits, not only comparisons of shifted numbers."""
    parts = ex.subexpressions(*exprs)
    return any(e.op == "var" and e.sort.bits is not None for e in parts) and any(e.op in _BITWISE for e in parts)


def equal_bits(left: Expr, right: Expr) -> bool:
    """True only if they are equal for all values of their variables; false says nothing."""
    return _equal_linear(left, right) or _equal_sums(left, right)


def _equal_sums(left: Expr, right: Expr) -> bool:
    reader = Reader(Sums())
    try:
        number = reader.number(left)
        return number.high is not None and number == reader.number(right)
    except NoBitsError:
        return False


def _equal_linear(left: Expr, right: Expr) -> bool:
    degrees = Reader(_Degrees())
    try:
        sides = [degrees.number(e) for e in (left, right)]
    except NoBitsError:
        return False
    if any(s.high != frozenset() for s in sides):
        return False
    joined = {p for s in sides for bit in s.low for p in bit}
    widest: list[frozenset[Expr]] = []
    for product_ in sorted(joined, key=len, reverse=True):
        if not any(product_ <= other for other in widest):
            widest.append(product_)
    return all(_equal_at_places(left, right, sorted(p, key=lambda v: v.order), degrees.atoms) for p in widest)


def _equal_at_places(left: Expr, right: Expr, variables: Sequence[Expr], atoms: set[Expr]) -> bool:
    """Whether they are equal wherever each of the variables is 0 or has one bit, and all others are 0."""
    widths = [_width(v) for v in variables]
    if any(w is None for w in widths):
        return False
    sizes = [1 + w for w in widths if w is not None]
    count = reduce(lambda x, y: x * y, sizes, 1)
    if count > MOST_PLACES:
        return False
    values: dict[tuple[Expr, int], int] = {}
    inner = count
    for variable, size in zip(variables, sizes, strict=True):
        inner //= size
        run = (1 << inner) - 1
        period = inner * size
        repeated = sum(1 << (period * n) for n in range(count // period))
        for bit in range(size - 1):
            values[variable, bit] = (run << (inner * (bit + 1))) * repeated
    reader = Reader(_Places(values, (1 << count) - 1), atoms)
    try:
        a, b = reader.number(left), reader.number(right)
    except NoBitsError:
        return False
    return a == b and a.high is not None


def _width(variable: Expr) -> int | None:
    if variable.sort.base == "bool":
        return 1
    values = variable.sort.values
    return variable.sort.bits if values is None else values[-1].bit_length() if values[0] >= 0 else None


def fits(expr: Expr, bits: int) -> bool:
    """True only if the number is in 0 .. 2**bits - 1 wherever variables are of their widths."""
    try:
        width = Reader(_Degrees()).width(expr)
    except NoBitsError:
        width = None
    if width is None:
        try:
            width = Reader(Sums()).width(expr)
        except NoBitsError:
            return False
    return width is not None and width <= bits


def columns_of(expr: Expr, variable: Expr) -> list[int] | None:
    """By bit of the variable: the bits of the number that it changes; None where it is not linear in the variable's bits, or
    where another variable says what they change."""
    try:
        reader = Reader(Sums())
        number = reader.number(expr)
    except NoBitsError:
        return None
    if any(variable in ex.variables(v) for total in number.low for term in total for v, _ in term if v is not variable):
        return None
    columns = [0] * (variable.sort.bits or 0)
    for place, total in enumerate(number.low):
        for term in total:
            own = [b for v, b in term if v is variable]
            if not own:
                continue
            if len(term) > 1:
                return None
            columns[own[0]] |= 1 << place
    return columns


__all__ = ["NoBitsError", "Number", "Reader", "Sums", "columns_of", "equal_bits", "fits", "has_bits"]
