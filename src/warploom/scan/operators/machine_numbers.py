"""Meaning of an operator, proved over numbers, in the machine's words and floats.

Two questions: is the combination still associative in words that wrap, and are the results of the whole program (lift,
combinations, projection, start values) still those of the loop. The second is answered by a range within which no intermediate
value leaves the words, proved by induction over the list, or by a list whose result differs, replayed on the loop as it was read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from typing import Literal, TypeAlias, cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators import machine
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import Expr, Monomial, Value
from warploom.scan.operators.laws import associativity
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.printing import compiled
from warploom.scan.operators.prover import Fails, Holds, Number, Open, Translator, UntranslatableError, decide
from warploom.scan.operators.samples import constant_values
from warploom.scan.operators.transition import exact_loop
from warploom.solve import Handle

WORD_RLIMIT = 250_000
"""z3's resource units for one law in words."""
NO_ARITHMETIC = "no arithmetic"
GROWTHS = ("length * max(1, |element|)", "(length + 1) * max(1, |element|)")
ELEMENTS = 3
"""Length of the longest lists on which a difference is looked for."""
MOST_LISTS = 1200


@dataclass(frozen=True, slots=True)
class Differing:
    """A list for which a kernel in words gives another result than the loop."""

    elements: tuple[tuple[Value, ...], ...]
    constants: tuple[Value, ...]
    machine: object
    loop: object


@dataclass(frozen=True, slots=True)
class InWords:
    """`triple` and `results` (left and right bracketing) are set where associativity is refuted."""

    associative: Literal["proved", "refuted", "unknown"]
    safe: str = ""
    """Range in which every result is the loop's."""
    triple: tuple[tuple[Value, ...], ...] | None = None
    results: tuple[tuple[Value, ...], ...] = ()
    exact: Literal["always", "modulo", "within"] = "within"
    """Results: always the loop's; the loop's modulo 2**width; the loop's within what `safe` says."""
    differing: Differing | None = None
    """A difference beyond `safe`."""


def fits(width: int = machine.WIDTH) -> str:
    """The range that is true of every program."""
    return f"no intermediate value beyond {width} bits"


def in_words(
    fields: Sequence[Expr], results: Sequence[Expr], known: Sequence[Expr], safe: str = "", width: int = machine.WIDTH
) -> InWords:
    """Associativity with every operation wrapping; `known` holds of the values meant."""
    ops = {e.op for e in ex.subexpressions(*results)}
    range_ = safe or fits(width)
    if "gcd" in ops or any(e.sort.base == "real" for e in ex.subexpressions(*fields, *results)):
        return InWords("unknown", range_)
    if is_selection(results, width):
        return InWords("proved", safe or NO_ARITHMETIC)
    if ops <= {"poly", "var", "const"}:
        return InWords("proved", safe or "sums and products wrap consistently")
    if ops & {"exp", "log", "sqrt", "mod", "floordiv", "div"} or any(f.sort.is_infinite for f in fields):
        return InWords("unknown", range_)
    verdict = associativity(fields, dict(zip(fields, results, strict=True)), known, width, WORD_RLIMIT)
    match verdict:
        case Holds():
            return InWords("proved", range_)
        case Open():
            return InWords("unknown", range_)
        case Fails(values):
            return _replayed(fields, results, range_, values, width)


def _replayed(fields: Sequence[Expr], results: Sequence[Expr], safe: str, values: Mapping[str, Value], width: int) -> InWords:
    names = (*fields, *(right(f) for f in fields))

    def op(a: tuple[Value, ...], b: tuple[Value, ...]) -> tuple[Value, ...]:
        return machine.run(results, dict(zip(names, (*a, *b), strict=True)), width)

    zero = {"bool": False, "text": ""}
    triple = tuple(
        tuple(values.get(f"{f.value}{mark}", cast(Value, zero.get(f.sort.base, 0))) for f in fields) for mark in ("", "'", "''")
    )
    a, b, c = triple
    try:
        first, second = op(op(a, b), c), op(a, op(b, c))
    except (ArithmeticError, ValueError):
        return InWords("unknown", safe)
    return InWords("unknown", safe) if first == second else InWords("refuted", safe, triple, (first, second))


def operator_in_words(operator: Operator, width: int = machine.WIDTH) -> InWords:
    """Judges a lifted operator in words: associativity of the combination, and where the whole program gives the loop's
    results."""
    exact, safe = range_of(operator, width)
    found = in_words(operator.fields, operator.combine, operator.known, safe, width)
    differing = None if exact == "always" else differing_list(operator, width)
    return InWords(found.associative, safe, found.triple, found.results, exact, differing)


def range_of(operator: Operator, width: int = machine.WIDTH) -> tuple[Literal["always", "modulo", "within"], str]:
    """Range in which the results of lift, combinations and projection in words are the loop's."""
    program = [*operator.lift, *operator.combine, *operator.projection, *operator.identity]
    ops = {e.op for e in ex.subexpressions(*program)}
    largest = 2 ** (width - 1) - 1
    infinite = has_infinities(operator)
    if is_selection(program, width):
        if infinite:
            return "within", f"{NO_ARITHMETIC}; every |element| < {largest}"
        return "always", NO_ARITHMETIC
    if ops <= {"poly", "var", "const"} and not infinite and not any(e.sort.base == "real" for e in program):
        return "modulo", f"sums and products wrap: results are the loop's modulo 2**{width}, and equal where those fit"
    size = growth(operator)
    if size is not None:
        return "within", f"{size} {'<' if infinite else '<='} {largest}"
    return "within", fits(width)


def has_infinities(operator: Operator) -> bool:
    """Whether infinities occur: the least and the greatest word stand for them."""
    program = [*operator.lift, *operator.combine, *operator.projection, *operator.identity]
    whole = [e for e in ex.subexpressions(*program) if e.sort.base == "int"]
    return any(ex.is_infinite(e) for e in whole) or any(f.sort.is_infinite for f in operator.fields)


Sum: TypeAlias = dict[Monomial, "int | Fraction"]
"""Coefficients by monomial."""


def _compared_sides(expr: Expr) -> list[Sum]:
    """The two sums that a comparison of words compares."""
    terms = dict(ex.polynomial(expr.args[0]))
    if terms.get((), 0) == -1 and any(c < 0 for m, c in terms.items() if m):
        terms.pop(())
    return [{m: c * sign for m, c in terms.items() if c * sign > 0} for sign in (1, -1)]


def computed_sums(results: Sequence[Expr]) -> list[Sum]:
    """Every sum of whole numbers that a program over words computes; the difference in a comparison is not computed."""
    sums: list[Sum] = []
    values = {a for e in ex.subexpressions(*results) if e.op not in ("ge", "gt") for a in e.args} | {*results}
    for expr in ex.subexpressions(*results):
        if expr.op in ("ge", "gt"):
            sums += _compared_sides(expr)
        if expr.op == "poly" and expr in values:
            sums.append(dict(ex.polynomial(expr)))
    return sums


def is_selection(results: Sequence[Expr], width: int) -> bool:
    """Whether it only chooses among values: nothing is added, multiplied or negated, and every number fits."""
    every = ex.subexpressions(*results)
    if any(e.op in ("gcd", "exp", "log", "sqrt", "div") or e.sort.base == "real" for e in every):
        return False
    plain = all(len(s) <= 1 and all(not m or (c == 1 and len(m) == 1) for m, c in s.items()) for s in computed_sums(results))
    whole = [v for e in every for v in (e.value, *(c for c, m in e.terms if not m)) if isinstance(v, int)]
    return plain and all(abs(v) < 2 ** (width - 1) for v in whole)


@lru_cache(maxsize=256)
def growth(operator: Operator) -> str | None:
    """The bound of every intermediate value of the program, by induction over the list: one of GROWTHS, or None if none was
    shown.

    A list's size is the sum of max(1, |element|) over its elements: values of a list are within its size, so are the sums that
    make them. The empty list's size is 0, or 1 where its value is not zero.
    """
    program = [*operator.lift, *operator.combine, *operator.projection]
    every = [*ex.subexpressions(*program), *operator.loop.fields, *operator.loop.constants]
    if any(e.sort.base == "real" or e.op in ("gcd", "exp", "log", "sqrt", "div", "bitand", "bitor", "bitxor") for e in every):
        return None
    finite = [abs(int(e.value)) for e in operator.identity if isinstance(e.value, int) and not isinstance(e.value, bool)]
    for least, text in enumerate(GROWTHS):
        if max(finite, default=0) <= least and _grows_within(operator, least):
            return text
    return None


def _grows_within(operator: Operator, least: int) -> bool:
    t = Translator()
    a = t.builder
    size, first, second = (a.variable(n, t.whole) for n in ("size of an element", "size of a", "size of b"))

    def within(value: Number, bound: Handle) -> Handle:
        found = a.both([a.at_least(bound, value.term), a.at_least(a.add(bound, value.term), a.constant(0, t.whole))])
        endless = a.either([x for x in (found, value.below, value.above) if x is not None])
        return endless if value.undefined is None else a.both([endless, a.negation(value.undefined)])

    def claims(exprs: Sequence[Expr], bound: Handle) -> list[Handle]:
        sums = [ex.from_polynomial(part) for s in computed_sums(exprs) for part in _prefixes(s)]
        numbers = [e for e in (*exprs, *sums) if e.sort.is_numeric]
        return [within(t.number(e), bound) for e in numbers]

    try:
        fields = [f for f in operator.fields if f.sort.is_numeric]
        given = [within(t.number(f), size) for f in operator.loop.fields if f.sort.is_numeric and f.sort.values is None]
        given += [within(t.number(f), first) for f in fields] + [within(t.number(right(f)), second) for f in fields]
        given += [a.at_least(v, a.constant(n, t.whole)) for v, n in ((size, 1), (first, least), (second, least))]
        empty = dict(zip(operator.fields, operator.identity, strict=True))  # infinities that no list with elements has
        wanted = [
            *claims(operator.lift, size), *claims(operator.combine, a.add(first, second)), *claims(operator.projection, first),
            *claims([ex.substituted(p, empty) for p in operator.projection], size),
        ]  # fmt: skip
        return isinstance(decide(t, given, wanted, [], WORD_RLIMIT * 8), Holds)
    except (UntranslatableError, ex.UndefinedError):
        return False


def _prefixes(terms: Sum) -> Iterator[Sum]:
    """Values of a sum after each of its terms, as they are printed: those that are added, those that are taken off, the
    number."""
    ordered = sorted(terms.items(), key=lambda t: (not t[0], t[1] < 0))
    for count in range(1, len(ordered) + 1):
        yield dict(ordered[:count])
    yield from ({m: abs(c)} for m, c in ordered)


def differing_list(operator: Operator, width: int = machine.WIDTH) -> Differing | None:
    """A short list of large numbers for which the program in words, from left to right, does not give the loop's result."""
    loop = operator.loop
    program = [*operator.lift, *operator.combine, *operator.projection]
    if any(
        e.op in ("div", "exp", "log", "sqrt") or e.sort.base in ("real", "text")
        for e in (*ex.subexpressions(*program), *loop.fields)
    ):
        return None
    compared = [s for e in ex.subexpressions(*program) if e.op in ("ge", "gt") for s in _compared_sides(e)]
    if any(abs(s.get((), 0)) >= 2 ** (width - 1) for s in compared):
        return None  # languages differ in what they compare a word with
    constants = constant_values(loop, 0)
    meant = compiled([*loop.fields, *loop.constants], loop.assumed)
    choices = [_extreme(f, width, has_infinities(operator)) for f in loop.fields]
    elements = [e for e in itertools.islice(itertools.product(*choices), 400) if all(meant(*e, *constants))]
    read = exact_loop(loop)
    lists = (part for count in range(ELEMENTS + 1) for part in itertools.product(elements, repeat=count))
    for part in itertools.islice(lists, MOST_LISTS):
        try:
            wanted, got = read(part, constants), _in_machine(operator, part, constants, width)
        except (ArithmeticError, ValueError):
            continue
        if wanted != (got if loop.is_tuple else got[0]):
            return Differing(part, constants, got if loop.is_tuple else got[0], wanted)
    return None


def _extreme(field: Expr, width: int, infinite: bool) -> list[Value]:
    if field.sort.base == "bool":
        return [False, True]
    if field.sort.values is not None:
        return [*field.sort.values]
    most = 2 ** (width - 1) - (2 if infinite else 1)
    root = round(1.6 * 2 ** (width / 2 - 1))
    return [1, root, most, -most, -root, 0, -1]


def _in_machine(
    operator: Operator, elements: Sequence[Sequence[Value]], constants: Sequence[Value], width: int
) -> tuple[Value, ...]:
    fixed = dict(zip(operator.loop.constants, constants, strict=True))
    lifted = [machine.run(operator.lift, dict(zip(operator.loop.fields, e, strict=True)) | fixed, width) for e in elements]

    def combined(left: tuple[Value, ...], behind: tuple[Value, ...]) -> tuple[Value, ...]:
        names = (*operator.fields, *operator.right)
        return machine.run(operator.combine, dict(zip(names, (*left, *behind), strict=True)) | fixed, width)

    value = reduce(combined, lifted) if lifted else tuple(e.value for e in operator.identity)
    return machine.run(operator.projection, dict(zip(operator.fields, value, strict=True)) | fixed, width)


def in_floats(operator: Operator, width: int = 64) -> str:
    """Effect of floats of a width on the operator; empty where it has whole numbers and truth values only."""
    program = [*operator.lift, *operator.combine, *operator.projection, *operator.identity]
    every = [*ex.subexpressions(*program), *operator.loop.fields, *(s.variable for s in operator.loop.states)]
    if not operator.loop.rounds and not any(e.sort.base == "real" for e in every):
        return ""
    numbers = [Fraction(v) for e in every for v in (e.value, *(c for c, _ in e.terms)) if isinstance(v, int | Fraction)]
    held = width == 64 or all(_is_float32(n) for n in numbers)
    # floats of the loop that fell out of what is printed
    mixed = not any(e.sort.base == "real" for e in ex.subexpressions(*program)) and (
        operator.loop.rounds or not is_selection(program, 1024)
    )
    mixed |= any(len({a.sort.base for a in e.args if a.sort.is_numeric and a.op != "const"}) > 1 for e in every)
    if computes_no_reals(operator) and not mixed and held:
        return "the operator rounds nothing (what the loop's own text adds or multiplies, it rounds); NaN is excluded"
    return (
        "floats round: results depend on the bracketing, by more than the last bits where terms cancel or a comparison is close; "
        "NaN, infinities and overflow are excluded"
    )


def computes_no_reals(operator: Operator) -> bool:
    """Whether real numbers are only chosen among and compared."""
    program = [*operator.lift, *operator.combine, *operator.projection]
    if any(e.op in ("div", "exp", "log", "sqrt", "mod", "floordiv") for e in ex.subexpressions(*program)):
        return False
    real = [s for s in computed_sums(program) if any(isinstance(c, Fraction) or _has_real(m) for m, c in s.items())]
    return all(len(s) <= 1 and all(not m or (c == 1 and len(m) == 1) for m, c in s.items()) for s in real)


def _has_real(monomial: Monomial) -> bool:
    return any(a.sort.base == "real" for a in monomial)


def _is_float32(number: Fraction) -> bool:
    return abs(number.numerator) <= 2**24 and number.denominator <= 2**24 and number.denominator & (number.denominator - 1) == 0
