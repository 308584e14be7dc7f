"""Is a function of two values associative? Proved for all values, or refused with three values, replayed on the function."""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from typing import Any, Literal, TypeAlias, cast

from warploom.core import Diagnostic, UserError
from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.operators.domains import numbers_of, told
from warploom.scan.operators.exact import exact, exactly
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.laws import associativity, identity
from warploom.scan.operators.machine_numbers import in_words
from warploom.scan.operators.printing import compiled, literal
from warploom.scan.operators.prover import Fails, Holds, Open, Translator, UntranslatableError, Verdict, decide
from warploom.scan.reading.binary import Binary

TRIES = 3000
WORD_RLIMIT_TRIES = 400
Function: TypeAlias = Callable[..., object]
"""A function of two operands, or of their parts."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Three values for which the two bracketings differ."""

    values: tuple[object, object, object]
    left: object
    """(a op b) op c"""
    right: object
    """a op (b op c)"""


@dataclass(frozen=True, slots=True)
class MachineLaw:
    """The law in the machine's arithmetic: 32-bit words for integers, floats for reals."""

    associative: Literal["proved", "refuted", "unknown"]
    witness: Witness | None = None
    safe: str = ""
    """The range in which the machine's arithmetic is exact."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Result of a check; `witness` has been replayed on the function."""

    binary: Binary
    status: Literal["solved", "refused", "unknown", "error"]
    verdict: Literal["proved", "refuted", "unchecked"]
    domain: str
    witness: Witness | None = None
    identity: object = None
    has_identity: bool = False
    machine: MachineLaw | None = None
    reason: str = ""
    notes: tuple[str, ...] = field(default=())


def check(binary: Binary, function: Function) -> Checked:
    """`function` is the user's, called only to replay and to search for counterexamples."""
    function = binary.applied(function)
    words = _is_bitwise(binary)
    numbers = numbers_of({f.sort.base for f in binary.fields})
    domain = told(numbers, binary.rounds, binary.may_divide_by_zero)
    domain = domain.replace("texts", "listed texts") if binary.listed else domain
    stays = _stays_meant(binary, function)
    if isinstance(stays, str):
        return Checked(binary, "refused", "refuted", domain, reason=stays)
    if isinstance(stays, Open):
        reason = f"neither proved nor refuted that results are such values as are meant: {stays.reason}"
        return Checked(binary, "unknown", "unchecked", domain, reason=reason)
    witness = _searched(binary, function)
    if witness is not None:
        return _refused(binary, domain, witness)
    operator = dict(zip(binary.fields, binary.result, strict=True))
    if words == "bits":
        verdict: Verdict = _by_bits(binary)
        domain = "integers, bit by bit"
    elif words == "words":
        verdict = associativity(binary.fields, operator, binary.assumed, 64)
        domain = "64-bit words"
    else:
        verdict = associativity(binary.fields, operator, binary.assumed)
    match verdict:
        case Holds():
            neutral = _identity(binary)
            notes = ("assertions of the function are assumed of every value",) if len(binary.assumed) > binary.listed else ()
            return Checked(
                binary,
                "solved",
                "proved",
                domain,
                identity=neutral[1],
                has_identity=neutral[0],
                machine=_machine(binary, function),
                notes=notes,
            )
        case Fails(values):
            triple = _triple(binary, values)
            replayed = _differs(binary, function, triple)
            if replayed is not None:
                return _refused(binary, domain, replayed)
            if _reading_differs(binary, triple) and _runs(binary, function, triple):
                shown = ", ".join(f"{n} = {text(binary.packed(v))}" for n, v in zip("abc", triple, strict=True))
                reason = f"a bug of Warploom: the operator as it was read is not associative with {shown}, the function itself is"
                return Checked(binary, "error", "unchecked", domain, reason=reason)
            reason = "the solver's counterexample does not show on the function itself"
            return Checked(binary, "unknown", "unchecked", domain, reason=f"neither proved nor refuted: {reason}")
        case Open(reason):
            return Checked(binary, "unknown", "unchecked", domain, reason=f"neither proved nor refuted: {reason}")


def _refused(binary: Binary, domain: str, witness: Witness) -> Checked:
    a, b, c = (text(v) for v in witness.values)
    results = f"(a op b) op c = {text(witness.left)}, a op (b op c) = {text(witness.right)}"
    reason = f"not associative: with a = {a}, b = {b}, c = {c}: {results}"
    return Checked(binary, "refused", "refuted", domain, witness, reason=reason)


def text(value: object) -> str:
    """Text of a value as Python writes it."""
    if isinstance(value, tuple):
        parts = [text(v) for v in cast("tuple[object, ...]", value)]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return repr(value) if isinstance(value, float) and math.isfinite(value) else literal(cast(Value, value))


def _candidates(expr_sort: ex.Sort, constants: Sequence[int], texts: Sequence[str]) -> list[Value]:
    if expr_sort.base == "bool":
        return [False, True]
    if expr_sort.values is not None:
        return [*expr_sort.values]
    if expr_sort.base == "text":
        return [*dict.fromkeys((*texts, "a", "b", "c", ""))]
    near = {c + d for c in constants for d in (-1, 0, 1)}
    values = sorted({-2, -1, 0, 1, 2, 3, 5, *near}, key=abs)
    return [*values, Fraction(1, 2), Fraction(-3, 4)] if expr_sort.base == "real" else [*values]


def _choices(binary: Binary, constants: Sequence[int]) -> list[list[Value]]:
    """For each field small values to try; texts that an annotation lists, and no others."""
    constant = (e.value for e in ex.subexpressions(*binary.result, *binary.assumed) if e.op == "const")
    texts = {value for value in constant if isinstance(value, str)}
    found: list[list[Value]] = []
    for one in binary.fields:
        few = [k for k in binary.assumed[: binary.listed] if ex.variables(k) == [one]]
        allowed = compiled([one], few)
        found.append([v for v in _candidates(one.sort, constants, sorted(texts)) if all(allowed(v))])
    return found


def _searched(binary: Binary, function: Function) -> Witness | None:
    """Three small values that differ, by trying."""
    tries = TRIES // 5 if len(binary.fields) > 6 else TRIES
    return next((w for t in meant_triples(binary, tries) if (w := _differs(binary, function, t)) is not None), None)


def meant_triples(binary: Binary, tries: int) -> Iterator[list[tuple[Value, ...]]]:
    """Triples of small values for which the assertions hold; the same ones every time."""
    choose = random.Random(11)
    constants = [
        int(e.value)
        for e in ex.subexpressions(*binary.result, *binary.assumed)
        if e.op in ("const", "mod", "floordiv")
        and isinstance(e.value, int)
        and not isinstance(e.value, bool)
        and abs(e.value) <= 1000
    ]
    choices = _choices(binary, constants)
    if not all(choices):
        return
    allowed = compiled(binary.fields, binary.assumed)
    for _ in range(tries):
        triple: list[tuple[Value, ...]] = []
        for _ in range(3):
            drawn = tuple(choose.choice(c) for c in choices)
            if not all(allowed(*drawn)):
                break
            triple.append(drawn)
        if len(triple) == 3:
            yield triple


def _triple(binary: Binary, values: Mapping[str, Value]) -> list[tuple[Value, ...]]:
    """Three operands of a solver's model."""
    return [tuple(values.get(f"{f.value}{mark}", _zero(f)) for f in binary.fields) for mark in ("", "'", "''")]


def _reading_differs(binary: Binary, triple: Sequence[Sequence[Value]]) -> bool:
    """Whether the operator as it was read has two results for values that are meant."""
    run = compiled([*binary.fields, *(right(f) for f in binary.fields)], binary.result)
    meant = compiled(binary.fields, binary.assumed)
    a, b, c = triple
    try:
        left, behind = run(*a, *b), run(*b, *c)
        if not all(_is_listed(binary, v) and all(meant(*v)) for v in (a, b, c, left, behind)):
            return False
        return not same(run(*left, *c), run(*a, *behind))
    except (ArithmeticError, ValueError, TypeError):
        return False


def _zero(variable: Expr) -> Value:
    if variable.sort.values is not None:
        return variable.sort.values[0]
    return {"bool": False, "text": ""}.get(variable.sort.base, 0)


def _differs(binary: Binary, function: Function, triple: Sequence[Sequence[Value]]) -> Witness | None:
    """The three values and what the function makes of them, if its results differ by more than rounding.

    For reals they must differ on exact numbers, too, so that no difference is due to rounding.
    """
    if any(f.sort.base == "real" for f in binary.fields):
        numbers = [binary.packed([exact(v) for v in part]) for part in triple]
        own = getattr(function, "__wrapped__", None)
        exact_one = exactly(function) if own is None else binary.applied(exactly(own))
        if _bracketed(exact_one, numbers) is None:
            return None
    return _bracketed(function, [binary.packed([_plain(v) for v in part]) for part in triple], binary.name)


def _bracketed(function: Callable[..., object], operands: Sequence[object], name: str = "") -> Witness | None:
    """The witness if both bracketings differ. An error that the operands cause, such as an assertion, is no witness; other
    errors are the fault of the function, which is called `name`."""
    a, b, c = operands
    try:
        first, second = function(function(a, b), c), function(a, function(b, c))
    except (ArithmeticError, ValueError, AssertionError, IndexError):
        return None
    except MemoryError:
        raise
    except Exception as error:
        if not name:
            return None
        message = f"running {name} on {a!r}, {b!r} and {c!r} raised {type(error).__name__}: {error}"
        fix = "Let the function run on values of the types that it is annotated with."
        raise UserError(Diagnostic("RUN_FAILED", message, fix=fix)) from error
    return None if same(first, second) else Witness((a, b, c), first, second)


def _runs(binary: Binary, function: Function, triple: Sequence[Sequence[Value]]) -> bool:
    """Whether the function takes the three values without raising anything."""
    a, b, c = (binary.packed([_plain(v) for v in part]) for part in triple)
    try:
        return bool((function(function(a, b), c), function(a, function(b, c))))
    except Exception:  # the user's function may raise anything; values that it does not take show nothing
        return False


def _plain(value: Value) -> object:
    """Reals as the machine's numbers where these are exact."""
    if isinstance(value, Fraction):
        with suppress(OverflowError):  # no float holds it
            number = float(value)
            return number if number == value else value
    return value


def _parts(value: Any) -> Mapping[object, object] | None:
    """Parts of a dictionary or of an object of a dataclass, by name; None for other values."""
    if type(value) is dict:
        return cast("Mapping[object, object]", value)
    return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)} if dataclasses.is_dataclass(value) else None


def same(left: object, right_: object) -> bool:
    """Equal but for rounding."""
    if type(left) is type(right_) and (parts := _parts(left)) is not None:
        others = _parts(right_) or {}
        return parts.keys() == others.keys() and all(same(v, others[k]) for k, v in parts.items())
    if isinstance(left, tuple) and isinstance(right_, tuple):
        ours, theirs = cast("tuple[object, ...]", left), cast("tuple[object, ...]", right_)
        return len(ours) == len(theirs) and all(same(x, y) for x, y in zip(ours, theirs, strict=True))
    if isinstance(left, float) or isinstance(right_, float):
        try:
            x, y = float(cast(float, left)), float(cast(float, right_))
        except OverflowError:  # a whole number that no float holds
            return left == right_
        return x == y or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)
    return left == right_


def _stays_meant(binary: Binary, function: Function) -> str | Open | None:
    """None: results are listed values and meet the assertions. Else two values for which not, replayed, or why that is open."""
    if not binary.assumed and all(f.sort.values is None for f in binary.fields):
        return None
    t = Translator(64 if _is_bitwise(binary) == "words" else None)
    others = {f: right(f) for f in binary.fields}
    try:
        given = [t.condition(k) for k in (*binary.assumed, *(ex.substituted(k, others) for k in binary.assumed))]
        joined = t.bound(dict(zip(binary.fields, binary.result, strict=True)))
        claims = [t.condition(k, joined) for k in binary.assumed]
        claims += [
            t.builder.either([t.equal(joined[f], t.number(ex.constant(v))) for v in f.sort.values])
            for f in binary.fields
            if f.sort.values is not None
        ]
        verdict = decide(t, given, claims, [*binary.fields, *others.values()])
    except UntranslatableError as error:
        verdict = Open(str(error))
    match verdict:
        case Holds():
            return None
        case Fails(values):
            a, b, _ = _triple(binary, values)
            found = _left_by(binary, function, a, b) or _left_by_sample(binary, function)
            return found or Open("the solver's counterexample does not show on the function itself")
        case Open():
            return _left_by_sample(binary, function) or verdict


def is_open_whether_meant(binary: Binary, function: Function) -> bool:
    """Whether it is not proved that results are listed values and meet the assertions."""
    return _stays_meant(binary, binary.applied(function)) is not None


def _left_by(binary: Binary, function: Function, a: Sequence[Value], b: Sequence[Value]) -> str | None:
    """A note on two values of the kind that is meant, of which the function makes one that is not."""
    assumed = compiled(binary.fields, binary.assumed)
    left, behind = (binary.packed([_plain(v) for v in part]) for part in (a, b))
    try:
        if not all(_is_listed(binary, v) and all(assumed(*v)) for v in (a, b)):
            return None
        result = binary.flat(function(left, behind))
        if not _is_listed(binary, result):
            return f"the result is none of the values of the annotation: with a = {text(left)}, b = {text(behind)}"
        met = assumed(*result)
        if all(met):
            return None
        if not all(met[: binary.listed]):
            return f"the result is none of the values of the annotation: with a = {text(left)}, b = {text(behind)}"
    except Exception:  # the user's function may raise anything; then it makes no value that could be wrong
        return None
    return f"the result breaks an assertion: with a = {text(left)}, b = {text(behind)}"


def _is_listed(binary: Binary, values: Sequence[object]) -> bool:
    """Whether each value is one of those that its annotation lists, if it lists any."""
    return all(f.sort.values is None or v in f.sort.values for f, v in zip(binary.fields, values, strict=True))


def _left_by_sample(binary: Binary, function: Function) -> str | None:
    for a, b, _ in islice(meant_triples(binary, TRIES // 5), TRIES // 5):
        found = _left_by(binary, function, a, b)
        if found is not None:
            return found
    return None


def _is_bitwise(binary: Binary) -> Literal["no", "bits", "words"]:
    ops = {e.op for e in ex.subexpressions(*binary.result)}
    if not ops & {"bitand", "bitor", "bitxor"}:
        return "no"
    constants = [e.value for e in ex.subexpressions(*binary.result) if e.op == "const"]
    pure = ops <= {"bitand", "bitor", "bitxor", "var", "const"} and all(c in (0, -1) for c in constants)
    return "bits" if pure and not binary.assumed else "words"


def _by_bits(binary: Binary) -> Verdict:
    """Bitwise operations treat every bit alike, so one bit decides."""
    memory: dict[Expr, Expr] = {}
    for part in ex.subexpressions(*binary.result):
        if part.op == "var":
            memory[part] = ex.variable(str(part.value), ex.BOOL)
        elif part.op == "const":
            memory[part] = ex.constant(part.value == -1)
        elif part.op in ("bitand", "bitor", "bitxor"):
            memory[part] = ex.rebuilt(part, tuple(memory[a] for a in part.args))
    fields = tuple(ex.variable(str(f.value), ex.BOOL) for f in binary.fields)
    operator = dict(zip(fields, (memory[r] for r in binary.result), strict=True))
    verdict = associativity(fields, operator, [])
    if isinstance(verdict, Fails):
        return Fails({n: -1 if v else 0 for n, v in verdict.values.items()})
    return verdict


def _identity(binary: Binary) -> tuple[bool, object]:
    """A value that changes nothing on either side, if a likely one does."""
    if _is_bitwise(binary) != "no":
        return False, None
    operator = dict(zip(binary.fields, binary.result, strict=True))
    likely: list[list[Expr]] = []
    for f in binary.fields:
        if f.sort.base == "bool":
            likely.append([ex.FALSE, ex.TRUE])
        elif f.sort.base == "text":
            likely.append([ex.constant("")])
        else:
            likely.append([ex.ZERO, ex.ONE, ex.MINUS_INFINITY, ex.INFINITY])
    if math.prod(map(len, likely)) > 5000:
        likely = [options[:2] for options in likely]
    if math.prod(map(len, likely)) > 5000:
        return False, None
    run = compiled([*binary.fields, *(right(f) for f in binary.fields)], binary.result)
    allowed = compiled(binary.fields, binary.assumed)
    choose = random.Random(12)
    choices = _choices(binary, [])
    samples = [tuple(choose.choice(c) for c in choices) for _ in range(60)]
    samples = [s for s in samples if all(allowed(*s))][:25]
    for options in itertools.product(*likely):
        values = tuple(o.value for o in options)
        try:
            if not all(allowed(*values)) or not all(same(run(*values, *s), s) and same(run(*s, *values), s) for s in samples):
                continue
        except (ArithmeticError, ValueError, TypeError):
            continue
        neutral = dict(zip(binary.fields, options, strict=True))
        if isinstance(identity(binary.fields, operator, binary.assumed, neutral), Holds):
            return True, binary.packed(values)
    return False, None


def _machine(binary: Binary, function: Function) -> MachineLaw | None:
    """Floats round and words wrap; nothing is said where neither can happen."""
    if any(f.sort.base == "real" for f in binary.fields):
        witness = _rounding(binary, function)
        return (
            None
            if witness is None
            else MachineLaw("refuted", witness, "floats round: results depend on the bracketing in the last bits")
        )
    if not any(f.sort.base == "int" for f in binary.fields) or _is_bitwise(binary) != "no":
        return None
    found = in_words(binary.fields, binary.result, binary.assumed)
    if found.triple is None:
        return MachineLaw(found.associative, None, found.safe)
    a, b, c, first, second = (binary.packed(part) for part in (*found.triple, *found.results))
    return MachineLaw(found.associative, Witness((a, b, c), first, second), found.safe)


def _rounding(binary: Binary, function: Function) -> Witness | None:
    choose, choices = random.Random(13), _choices(binary, [])
    for _ in range(WORD_RLIMIT_TRIES):
        triple = [
            tuple(
                choose.random() if f.sort.base == "real" else choose.choice(c)
                for f, c in zip(binary.fields, choices, strict=True)
            )
            for _ in range(3)
        ]
        a, b, c = (binary.packed(part) for part in triple)
        try:
            first, second = function(function(a, b), c), function(a, function(b, c))
        except (ArithmeticError, ValueError, AssertionError):
            continue
        if first != second and same(first, second):
            return Witness((a, b, c), first, second)
    return None
