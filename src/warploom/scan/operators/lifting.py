"""Makes a proved operator of a loop: the closed family, made small, its laws, an identity, names, and a test on the loop."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal, TypeAlias, cast

from warploom.core import UserError
from warploom.scan.operators import companions, modes
from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.backward import forward
from warploom.scan.operators.bit_maps import narrowed
from warploom.scan.operators.choices import one_of_all
from warploom.scan.operators.closure import Closure, Start, anything, closure, right
from warploom.scan.operators.conserved import with_conserved
from warploom.scan.operators.domains import told
from warploom.scan.operators.exact import agree, exact, exactly
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.extremal import beside_extremes
from warploom.scan.operators.factors import with_factors
from warploom.scan.operators.family import Family, family_of, observations, tidy
from warploom.scan.operators.firsts import beside_first
from warploom.scan.operators.forms import TOO_MANY_CASES, FormError
from warploom.scan.operators.groups import side_by_side
from warploom.scan.operators.growing import NOT_EXPECTED, growing
from warploom.scan.operators.invariants import invariants, multiplies, orders
from warploom.scan.operators.laws import Law, Order, associativity, base, composition, identity, third, widths
from warploom.scan.operators.means import summed
from warploom.scan.operators.naming import names
from warploom.scan.operators.neutral import find_identity
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.parts import in_parts, masked
from warploom.scan.operators.printing import compiled, literal
from warploom.scan.operators.prover import RLIMIT, Fails, Holds, Translator, UntranslatableError, decide
from warploom.scan.operators.ranks import greatest_few
from warploom.scan.operators.rescaled import rescaled
from warploom.scan.operators.samples import Element, constant_values, random_lists
from warploom.scan.operators.selections import keeps_several, what_is_kept
from warploom.scan.operators.sentinels import asked_less
from warploom.scan.operators.steps import simpler, throughout
from warploom.scan.operators.transition import Loop, exact_loop
from warploom.scan.operators.windows import automaton_of_pairs, windows

STYLES: tuple[Style, ...] = ("affine", "greatest", "least")
TESTS, LONGEST_TEST = 60, 9
MANY_STATES = 5
"""Where a loop has so many, groups of states are lifted by themselves first."""
PATIENCE = 60_000_000
"""z3's resource units for one law of the smallest family with no law refuted, where none was proved within the usual budget."""

Serial: TypeAlias = Callable[..., object]
"""The user's function."""


@dataclass(frozen=True, slots=True)
class Lifting:
    """The operator found for a loop, with its proof."""

    loop: Loop
    status: Literal["solved", "unknown", "error"]
    verdict: Literal["proved", "tested", "unchecked", "refuted"]
    operator: Operator | None = None
    domain: str = ""
    laws: tuple[Law, ...] = ()
    reason: str = ""
    cases: int = 0
    """Random lists, each cut at random, on which operator and function agreed."""
    adjoined: bool = False
    """True if the identity is a value of its own, told from others by a flag."""


def lift(loop: Loop, serial: Serial | None = None, styles: Sequence[Style] = STYLES) -> Lifting:
    """The operator with the fewest fields of those that closing under composition gives.

    `serial` is tested against, if given. `styles` is a hint: how values combine (sums, maxima or minima).
    """
    reasons: list[str] = []
    begun: list[_Begun] = []
    for families, why in _attempts(loop, styles):
        reasons += why
        for family in families:
            if any(family == one.family for one in begun):  # from several starts closing may end at one family
                continue
            begun.append(_Begun(family, serial))
            if begun[-1].is_composed:
                found = begun[-1].judged
                if found.verdict == "proved" or found.status == "error":
                    return found
    near = (one.family for one in sorted(begun, key=lambda one: len(one.family.slots)) if one.is_near)
    for family in islice(near, 1):
        found = _Begun(family, serial, PATIENCE).judged
        if found.verdict == "proved":
            return found
    best: Lifting | None = None
    for one in begun:
        if best is None or one.judged.verdict == "tested":
            best = one.judged
    if best is None:
        if reasons and reasons[-1].startswith(NOT_EXPECTED):
            return Lifting(loop, "unknown", "unchecked", reason=reasons[-1])
        reason = "; ".join(dict.fromkeys(reasons))
        return Lifting(loop, "unknown", "unchecked", reason=f"no family of functions closed under composition: {reason}")
    return best


def _attempts(loop: Loop, styles: Sequence[Style]) -> Iterator[tuple[list[Family], list[str]]]:
    """Families that contain one step of the loop, the likeliest first."""
    yield _families(loop, "step", styles, windows)[0][:1], []
    yield _families(loop, "step", styles[:1], automaton_of_pairs)[0], []
    yield _families(loop, "step", styles[:1], beside_first)[0], []
    yield _families(loop, "step", styles[:1], greatest_few)[0], []
    yield _families(loop, "step", styles[:1], one_of_all)[0], []
    if keeps_several(loop):
        yield _families(loop, "step", styles[:1], what_is_kept)[0], []
    if modes.is_likely(loop):
        yield _families(loop, "step", styles[:1], modes.closed)[0], []
    placed = companions.counted_from_end(loop)
    if companions.is_likely(placed):
        for style in ("greatest", "least"):
            yield _families(placed, "step", (style,), companions.closed)[0], []
    grown = growing(loop)
    if grown is not None:
        yield [], [str(grown)]
        return
    conserved = with_conserved(loop)
    if conserved is not None:
        yield _families(simpler(conserved) or conserved, "step", styles)
        yield _families(conserved, "step", styles[:1], modes.closed)[0], []
    if len(loop.states) >= MANY_STATES:
        yield _in_groups(loop), []
    if _is_scaled(loop):
        yield _families(loop, "related samples", ("scaled",))[0], []
    totals = summed(loop)
    if totals is not None:
        yield _families(totals, "step", styles[:1], in_parts)
        yield _families(totals, "step", styles)
    own = _families(loop, "step", styles)
    yield own
    yield _families(loop, "step", styles[:1], modes.closed)[0], []
    factors = with_factors(loop)
    if factors is not None:
        yield _families(factors, "step", styles)
    if len(loop.states) < MANY_STATES:
        yield _in_groups(loop), []
    other = simpler(narrowed(loop))
    if other is not None:
        yield _families(other, "step", styles[:1], modes.closed)[0], []
    told = asked_less(loop)
    asked = [one for one in (told, None if told is None else simpler(told)) if one is not None]
    has_flags = told is not None and len(told.states) > len(loop.states)
    for one in asked if has_flags else ():
        yield _families(one, "step", styles)
    yield _families(loop, "step", styles[:1], rescaled)[0], []
    yield _families(loop, "step", styles[:1], beside_extremes)[0], []
    if not keeps_several(loop):
        yield _families(loop, "step", styles[:1], what_is_kept)[0], []
    yield _families(narrowed(masked(loop)), "step", styles[:1], in_parts)[0], []
    closed: list[tuple[Loop, Start]] = [] if other is None else [(other, "step"), (other, "endless")]
    closed.append((loop, "endless"))
    if not has_flags:  # simpler steps often do for counts
        closed.extend((one, "step") for one in asked)
    sampled: list[tuple[Loop, Start]] = [(loop, "related samples"), (loop, "samples")]
    # where one step has too many cases, the forms that other closures begin with have no fewer; samples have few
    has_many = any(reason.startswith(TOO_MANY_CASES) for reason in own[1])
    failing: set[Style] = set()
    for one, start in (*sampled, *closed) if has_many else (*closed, *sampled):
        yield _families(one, start, styles, failing=failing if one is loop else None)


def _in_groups(loop: Loop) -> list[Family]:
    """Families that are proved of groups of states that do not depend on each other, side by side."""

    def lifted(part: Loop) -> Family | None:
        for families, _ in _attempts(part, STYLES):
            for family in families:
                begun = _Begun(family, None)
                if begun.is_composed and begun.judged.verdict == "proved":
                    return begun.family
        return None

    found = side_by_side(loop, lifted)
    return [] if found is None else [tidy(found)]


def _is_scaled(loop: Loop) -> bool:
    """Whether extremes are of multiples of states, `max(x, 0.9 * level)`."""
    states = {s.variable for s in loop.states}
    extremes = (e for e in ex.subexpressions(*(s.step for s in loop.states)) if e.op in ("max", "min"))
    terms = (t for e in extremes for a in e.args if a.op == "poly" for t in a.terms)
    return any(abs(factor) != 1 and {*monomial} & states for factor, monomial in terms)


def _families(
    loop: Loop,
    start: Start,
    styles: Sequence[Style],
    closed: Callable[[Loop, Style, Start], Closure] = closure,
    failing: set[Style] | None = None,
) -> tuple[list[Family], list[str]]:
    """`failing`: styles in which short lists of the loop have no common form: they are left out, and others are added."""
    found: list[Family] = []
    reasons: list[str] = []
    for style in styles:
        if failing is not None and style in failing and start in ("samples", "related samples"):
            continue
        try:
            family = tidy(family_of(loop, closed(loop, style, start)))
            family.projection()
            found.append(family)
        except (FormError, ex.UndefinedError) as error:
            reasons.append(str(error))
            is_of_all = isinstance(error, FormError) and error.is_in_every_style
            if failing is not None and isinstance(error, FormError) and error.is_of_samples:
                failing.update(styles if is_of_all else (style,))
            if is_of_all:
                break
    found.sort(key=lambda f: (sum(s.sort.is_infinite for s in f.slots), len(f.slots)))
    return found, reasons


class _Begun:
    """A family whose composition was asked about; the other laws wait until somebody wants them.

    A family that is not composed is not proved, whatever its other laws say, and the next may be.
    """

    def __init__(self, family: Family, serial: Serial | None, rlimit: int = RLIMIT) -> None:
        self.family = family
        self._serial, self._rlimit = serial, rlimit
        composed = composition(family, [], rlimit)
        # of products they take long, and bounds of matrices say little: they are asked for where a law needs them
        self._known = [] if isinstance(composed, Holds) and multiplies(family) else invariants(family)
        if not isinstance(composed, Holds) and self._known:
            composed = composition(family, self._known, rlimit)
        self._orders = [] if isinstance(composed, Holds) else orders(family)
        if self._orders:
            composed = composition(family, self._known, rlimit, self._orders, throughout(family.loop))
        self._composed = Law("composition", composed)
        self.is_composed = isinstance(composed, Holds)

    @cached_property
    def judged(self) -> Lifting:
        return _judged(self.family, self._serial, self._rlimit, self._composed, self._known, self._orders)

    @property
    def is_near(self) -> bool:
        """Whether no law is refuted."""
        return self.judged.operator is not None and not any(isinstance(law.verdict, Fails) for law in self.judged.laws)


def _judged(
    family: Family, serial: Serial | None, rlimit: int, composed: Law, known: list[Expr], sorted_slots: list[Order]
) -> Lifting:
    loop = family.loop
    begun = base(family)
    if not isinstance(begun, Holds):
        begun = base(family, throughout(loop))
    laws = [Law("base", begun), composed]
    projection = [_simpler(family, known, p) for p in family.projection()]
    family = family.restricted(family.needed([*projection, *family.finals(loop.kept)]))
    known = [k for k in known if {*ex.variables(k)} <= {*family.slots}]
    associative = associativity(family.slots, family.operator, [], rlimit=rlimit)
    if not isinstance(associative, Holds) and not known and multiplies(family):
        known = invariants(family)
    if not isinstance(associative, Holds) and known:
        associative = associativity(family.slots, family.operator, known, rlimit=rlimit)
    sorted_slots = [o for o in sorted_slots if {*o} <= {*family.slots}]
    if not isinstance(associative, Holds) and sorted_slots:
        associative = associativity(family.slots, family.operator, known, rlimit=rlimit, orders=sorted_slots)
    laws.append(Law("associativity", associative))
    if any(v.sort.bits is not None for v in (*family.slots, *family.transformers)):
        laws.append(Law("widths", widths(family)))
    neutral = find_identity(family, known, projection)
    operator = _operator(family, projection, known, neutral)
    found = forward(operator) if loop.is_backward else operator
    if neutral is None:
        value = dict(zip(operator.fields, operator.identity, strict=True))
        back = dict(zip((right(f) for f in operator.fields), operator.right, strict=True))
        assert all(a is b for a, b in back.items())
        laws.append(
            Law("identity", identity(operator.fields, dict(zip(operator.fields, operator.combine, strict=True)), [], value))
        )
        if not isinstance(laws[-1].verdict, Holds):
            laws[-1] = Law("identity", Holds())  # by its definition: the flag selects the other operand
    else:
        laws.append(Law("identity", Holds()))
    operator, loop = found, found.loop
    trial = tested(operator, serial) if serial is not None else Trial(0)
    cases = trial.cases
    domain = domain_of(family)
    failed = [law for law in laws if not isinstance(law.verdict, Holds)]
    if trial.mismatch:
        if failed:  # a guess that the laws did not confirm is wrong: nobody's fault
            reason = f"not proved: {', '.join(law.name for law in failed)}; {trial.mismatch}"
            return Lifting(loop, "unknown", "unchecked", None, domain, tuple(laws), reason, 0, neutral is None)
        reason = f"a bug of Warploom: the laws were proved, but {trial.mismatch}"
        return Lifting(loop, "error", "unchecked", operator, domain, tuple(laws), reason, cases, neutral is None)
    if trial.fault:
        return Lifting(loop, "unknown", "unchecked", operator, domain, tuple(laws), trial.fault, cases, neutral is None)
    if not failed:
        return Lifting(loop, "solved", "proved", operator, domain, tuple(laws), "", cases, neutral is None)
    reason = f"not proved: {', '.join(law.name for law in failed)}"
    return Lifting(
        loop, "unknown", "tested" if cases else "unchecked", operator, domain, tuple(laws), reason, cases, neutral is None
    )


def domain_of(family: Family) -> str:
    """The domain for which the laws were proved."""
    return _domain([*family.slots, *family.transformers], family.loop, _has_powers(family.operator.values()))


def operator_domain(operator: Operator) -> str:
    """The same of an operator that was lifted."""
    variables = [*operator.fields, *(s.variable for s in operator.loop.states)]
    return _domain(variables, operator.loop, _has_powers(operator.combine))


def _has_powers(exprs: Iterable[Expr]) -> bool:
    return any(e.op == "exp" for e in ex.subexpressions(*exprs))


def _has_roots(loop: Loop) -> bool:
    return any(e.op in ("log", "sqrt") for e in ex.subexpressions(*loop.outputs, *(s.step for s in loop.states)))


def _domain(variables: Sequence[Expr], loop: Loop, with_powers: bool) -> str:
    sorts = {v.sort.base for v in (*variables, *loop.fields, *loop.constants)}
    vanished = loop.rounds and not can_round(loop)  # `x / 49 * 49 == x` is true of real numbers only
    words = told("reals" if "real" in sorts or vanished else "integers", loop.rounds, loop.may_divide_by_zero)
    if loop.characters and ex.substituted(ex.both(*loop.assumed), {loop.fields[0]: ex.constant(128)}) is ex.FALSE:
        words += ", ASCII characters"
    if loop.may_miss:
        words += ", where nothing is computed with None"
    if _has_roots(loop):
        words += ", where logarithms and roots exist"
    if with_powers:
        words += ", exp(a + b) = exp(a) * exp(b)"
    return f"{words}, lists of at least one element" if loop.needs_element else words


def _simpler(family: Family, known: Sequence[Expr], result: Expr) -> Expr:
    """A slot that the result always equals, if that follows from what is known."""
    if result.op in ("var", "const"):
        return result
    seen = observations(family, seed=4)
    fixed = constant_values(family.loop, 4)
    values = compiled([*family.slots, *family.loop.constants], [result])
    try:
        column = [values(*o.values, *fixed)[0] for o in seen]
    except (ArithmeticError, ValueError):
        return result
    for number, slot in enumerate(family.slots):
        if slot.sort.base == result.sort.base and all(o.values[number] == c for o, c in zip(seen, column, strict=True)):
            translator = Translator()
            try:
                given = [translator.condition(k) for k in known]
                claim = translator.equal(translator.number(slot), translator.number(result))
            except UntranslatableError:
                continue
            if isinstance(decide(translator, given, [claim], []), Holds):
                return slot
    return result


def _operator(family: Family, projection: Sequence[Expr], known: Sequence[Expr], neutral: dict[Expr, Expr] | None) -> Operator:
    called = names(family)
    renamed: dict[Expr, Expr] = {}
    for slot in family.slots:
        field = ex.variable(called[slot], slot.sort)
        renamed[slot] = field
        renamed[right(slot)] = right(field)
    fields = [renamed[s] for s in family.slots]
    lifted = [family.lift[s] for s in family.slots]
    combine = [ex.substituted(family.operator[s], renamed) for s in family.slots]
    results = [ex.substituted(p, renamed) for p in projection]
    if neutral is not None:
        identity_value = [neutral[s] for s in family.slots]
        return Operator(
            family.loop, tuple(fields), tuple(right(f) for f in fields), tuple(lifted), tuple(combine), tuple(identity_value),
            tuple(results), tuple(ex.substituted(k, renamed) for k in known),
        )  # fmt: skip
    some = ex.variable("some" if "some" not in called.values() else "some_elements", ex.BOOL)
    other = right(some)
    inner = tuple(combine)
    combine = [ex.select(some, ex.select(other, c, f), right(f)) for c, f in zip(inner, fields, strict=True)]
    initial = {s.variable: s.initial for s in family.loop.states}
    empty = [ex.substituted(o, initial) for o in family.loop.outputs]
    results = [ex.select(some, r, e) for r, e in zip(results, empty, strict=True)]
    zeros = [anything(f.sort) for f in fields]
    return Operator(
        family.loop,
        (some, *fields),
        (other, *(right(f) for f in fields)),
        (ex.TRUE, *lifted),
        (ex.either(some, other), *combine),
        (ex.FALSE, *zeros),
        tuple(results),
        tuple(ex.substituted(k, renamed) for k in known),
        inner,
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """The printed operator on random lists, cut at random, beside the function; a difference is a bug of this program."""

    cases: int
    mismatch: str = ""
    fault: str = ""
    """The error that the function itself raised, if that kept it from being compared."""


ROUNDED_SHARE = 8
"""One in so many lists may differ where floats can round: in what CPython computes before the function runs, for instance."""


def tested(operator: Operator, serial: Serial, seed: int = 5) -> Trial:
    """Compares on exact numbers: floats in the function's text mean the decimal numbers that are written there.

    Where whole numbers only occur, results must be equal. Else the operator must equal the loop as it was read, and the function
    all but a few of the results, which rounding may explain.
    """
    loop = operator.loop
    choose = random.Random(seed)
    rounds = can_round(loop) or loop.rounds
    powers = _has_powers(e for s in loop.states for e in (s.step, s.initial)) or _has_roots(loop)
    read, run = exact_loop(loop), exactly(serial) if rounds else serial
    cases = 0
    differing: list[str] = []
    empty: list[list[Element]] = [] if loop.is_scan or loop.needs_element else [[]]
    for number, elements in enumerate([*empty, *random_lists(loop, TESTS, LONGEST_TEST, seed)]):
        fixed = constant_values(loop, number)
        given = [[exact(v) for v in e] for e in elements] if rounds else elements
        fixed = cast("tuple[Value, ...]", tuple(map(exact, fixed))) if rounds else fixed
        try:
            expected = call(run, loop, cast("list[list[Value]]", given), fixed)
        except ArithmeticError:
            continue
        except (MemoryError, UserError):
            raise
        except Exception as error:
            if (isinstance(error, ValueError) and _has_roots(loop)) or (isinstance(error, TypeError) and loop.may_miss):
                continue
            return Trial(cases, fault=f"on {shown(elements)} the function itself raises {type(error).__name__}: {error}")
        prefixes = range(1, len(elements) + 1) if loop.is_scan else [len(elements)]
        parts = [cast("list[list[Value]]", given[:n]) for n in prefixes]
        try:
            got = [operator.run(p, lambda n: choose.randrange(1, n), fixed, is_exact=rounds) for p in parts]
        except OverflowError as error:  # an infinity beside a whole number beyond floats
            return Trial(cases, fault=f"on {shown(elements)} the operator raises {type(error).__name__}: {error}")
        cases += 1
        wanted = _by_prefix(expected, loop) if loop.is_scan else [expected]
        if agree(wanted, got, is_rounded=powers):
            continue
        text = f"on {shown(elements)} the function returns {expected!r}, the operator {got[-1] if not loop.is_scan else got!r}"
        if not rounds or not agree([read(p, fixed) for p in parts], got, is_rounded=powers):
            return Trial(cases, text)
        differing.append(text)
    return Trial(cases, differing[0] if len(differing) * ROUNDED_SHARE > cases else "")


_BYTE = 8
"""Bits of an item of `bytes`."""


def _by_prefix(results: object, loop: Loop) -> list[object]:
    columns = cast("Sequence[Sequence[object]]", results)
    return list(zip(*columns, strict=True)) if loop.is_tuple else list(cast("Sequence[object]", results))


def can_round(loop: Loop) -> bool:
    """Whether numbers occur that are not whole."""
    exprs = [*(e for s in loop.states for e in (s.initial, s.step)), *loop.outputs]
    return any(e.sort.base == "real" for e in (*ex.subexpressions(*exprs), *loop.fields, *loop.constants))


def shown(elements: Sequence[Sequence[Value]]) -> str:
    """The list as a person writes it."""
    parts = [literal(e[0]) if len(e) == 1 else f"({', '.join(map(literal, e))})" for e in elements]
    return f"[{', '.join(parts)}]"


def call(serial: Serial, loop: Loop, elements: Sequence[Sequence[Value]], constants: Sequence[Value] = ()) -> object:
    """The user's function on a list of elements."""
    width = len(loop.fields) // len(loop.lists)
    arguments: dict[str, object] = {str(c.value): v for c, v in zip(loop.constants, constants, strict=True)}
    for number, name in enumerate(loop.lists):
        parts = [tuple(e[number * width : (number + 1) * width]) for e in elements]
        arguments[name] = [p[0] if len(p) == 1 else p for p in parts]
        if loop.characters:
            arguments[name] = "".join(chr(cast(int, p[0])) for p in parts)
        elif width == 1 and loop.fields[number].sort.bits == _BYTE:
            arguments[name] = bytes(int(cast(int, p[0])) for p in parts)
    return serial(*(arguments[p] for p in loop.parameters))


__all__ = ["Lifting", "call", "domain_of", "lift", "operator_domain", "tested", "third"]
