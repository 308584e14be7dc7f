"""Is a function of two values associative? Proved for all values, or refused with three values, replayed on the function."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, TypeAlias, cast

from warploom.core import Diagnostic, UserError
from warploom.scan import expression as ex
from warploom.scan.binary import Binary
from warploom.scan.closure import right
from warploom.scan.domains import numbers_of, told
from warploom.scan.expression import Expr, Value
from warploom.scan.laws import associativity, identity
from warploom.scan.printing import compiled, literal
from warploom.scan.prover import Fails, Holds, Open, Translator, UntranslatableError, Verdict, decide
from warploom.scan.words import in_words

TRIES = 3000
WORD_RLIMIT_TRIES = 400
Function: TypeAlias = Callable[[object, object], object]


@dataclass(frozen=True, slots=True)
class Witness:
    """Three values for which the two bracketings differ."""

    values: tuple[object, object, object]
    left: object
    """(a op b) op c"""
    right: object
    """a op (b op c)"""


@dataclass(frozen=True, slots=True)
class Machine:
    """What becomes of the law in the machine's arithmetic: 32-bit words for integers, floats for reals."""

    associative: Literal["proved", "refuted", "unknown"]
    witness: Witness | None = None
    safe: str = ""
    """Where the machine's arithmetic is exact."""


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
    machine: Machine | None = None
    reason: str = ""
    notes: tuple[str, ...] = field(default=())


def check(binary: Binary, function: Function) -> Checked:
    """`function` is the user's, called only to replay and to search for counterexamples."""
    words = _is_bitwise(binary)
    numbers = numbers_of({f.sort.base for f in binary.fields})
    domain = told(numbers, binary.rounds, binary.may_divide_by_zero)
    leaves = _leaves_domain(binary)
    if leaves is not None:
        return Checked(binary, "refused", "refuted", domain, reason=leaves)
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
            notes = ("assertions of the function are assumed of every value",) if binary.assumed else ()
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
            replayed = _replayed(binary, function, values)
            if replayed is None:
                return Checked(
                    binary,
                    "unknown",
                    "unchecked",
                    domain,
                    reason="the solver's counterexample does not show on the function itself",
                )
            return _refused(binary, domain, replayed)
        case Open(reason):
            return Checked(binary, "unknown", "unchecked", domain, reason=f"neither proved nor refuted: {reason}")


def _refused(binary: Binary, domain: str, witness: Witness) -> Checked:
    a, b, c = (text(v) for v in witness.values)
    results = f"(a op b) op c = {text(witness.left)}, a op (b op c) = {text(witness.right)}"
    reason = f"not associative: with a = {a}, b = {b}, c = {c}: {results}"
    return Checked(binary, "refused", "refuted", domain, witness, reason=reason)


def text(value: object) -> str:
    """As Python writes it."""
    if isinstance(value, tuple):
        parts = [text(v) for v in cast("tuple[object, ...]", value)]
        return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
    return repr(value) if isinstance(value, float) and math.isfinite(value) else literal(cast(Value, value))


def _candidates(expr_sort: ex.Sort, constants: Sequence[int]) -> list[Value]:
    if expr_sort.base == "bool":
        return [False, True]
    if expr_sort.base == "text":
        return ["a", "b", "c", ""]
    near = {c + d for c in constants for d in (-1, 0, 1)}
    values = sorted({-2, -1, 0, 1, 2, 3, 5, *near}, key=abs)
    return [*values, Fraction(1, 2), Fraction(-3, 4)] if expr_sort.base == "real" else [*values]


def _searched(binary: Binary, function: Function) -> Witness | None:
    """Three small values that differ, by trying."""
    choose = random.Random(11)
    constants = [
        int(e.value)
        for e in ex.subexpressions(*binary.result, *binary.assumed)
        if e.op in ("const", "mod", "floordiv")
        and isinstance(e.value, int)
        and not isinstance(e.value, bool)
        and abs(e.value) <= 1000
    ]
    choices = [_candidates(f.sort, constants) for f in binary.fields]
    if not all(choices):
        return None
    allowed = compiled(binary.fields, binary.assumed)
    for _ in range(TRIES // 5 if len(binary.fields) > 6 else TRIES):
        triple: list[tuple[Value, ...]] = []
        for _ in range(3):
            drawn = tuple(choose.choice(c) for c in choices)
            if not all(allowed(*drawn)):
                break
            triple.append(drawn)
        if len(triple) == 3:
            found = _differs(binary, function, triple)
            if found is not None:
                return found
    return None


def _replayed(binary: Binary, function: Function, values: object) -> Witness | None:
    found = cast("dict[str, Value]", values)
    triple = [tuple(found.get(f"{f.value}{mark}", _zero(f)) for f in binary.fields) for mark in ("", "'", "''")]
    return _differs(binary, function, triple)


def _zero(variable: Expr) -> Value:
    return {"bool": False, "text": ""}.get(variable.sort.base, 0)


def _differs(binary: Binary, function: Function, triple: Sequence[Sequence[Value]]) -> Witness | None:
    a, b, c = (binary.packed([_plain(v) for v in part]) for part in triple)
    try:
        first, second = function(function(a, b), c), function(a, function(b, c))
    except (ArithmeticError, ValueError, AssertionError, IndexError):
        return None
    except MemoryError:
        raise
    except Exception as error:
        message = f"running {binary.name} on {a!r}, {b!r} and {c!r} raised {type(error).__name__}: {error}"
        fix = "Let the function run on values of the types that it is annotated with."
        raise UserError(Diagnostic("RUN_FAILED", message, fix=fix)) from error
    return None if _same(first, second) else Witness((a, b, c), first, second)


def _plain(value: Value) -> object:
    """Reals as the machine's numbers where these are exact."""
    if isinstance(value, Fraction) and value.denominator & (value.denominator - 1) == 0:
        return float(value)
    return value


def _same(left: object, right_: object) -> bool:
    if isinstance(left, tuple) and isinstance(right_, tuple):
        ours, theirs = cast("tuple[object, ...]", left), cast("tuple[object, ...]", right_)
        return len(ours) == len(theirs) and all(_same(x, y) for x, y in zip(ours, theirs, strict=True))
    if isinstance(left, float) or isinstance(right_, float):
        x, y = float(cast(float, left)), float(cast(float, right_))
        return x == y or math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)
    return left == right_


def _leaves_domain(binary: Binary) -> str | None:
    """Two values for which the result breaks what is asserted of values."""
    if not binary.assumed:
        return None
    t = Translator()
    others = {f: right(f) for f in binary.fields}
    try:
        given = [t.condition(k) for k in (*binary.assumed, *(ex.substituted(k, others) for k in binary.assumed))]
        joined = t.bound(dict(zip(binary.fields, binary.result, strict=True)))
        claims = [t.number(k, joined).term for k in binary.assumed]
        verdict = decide(t, given, claims, [*binary.fields, *others.values()])
    except UntranslatableError:
        return None
    if not isinstance(verdict, Fails):
        return None
    values = [binary.packed([verdict.values.get(str(v.value), 0) for v in side]) for side in (binary.fields, others.values())]
    return f"the result breaks an assertion: with a = {text(values[0])}, b = {text(values[1])}"


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
            memory[part] = ex.bitwise(part.op, memory[part.args[0]], memory[part.args[1]])
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
    samples = [tuple(choose.choice(_candidates(f.sort, [])) for f in binary.fields) for _ in range(60)]
    samples = [s for s in samples if all(allowed(*s))][:25]
    for options in itertools.product(*likely):
        values = tuple(o.value for o in options)
        try:
            if not all(allowed(*values)) or not all(_same(run(*values, *s), s) and _same(run(*s, *values), s) for s in samples):
                continue
        except (ArithmeticError, ValueError, TypeError):
            continue
        neutral = dict(zip(binary.fields, options, strict=True))
        if isinstance(identity(binary.fields, operator, binary.assumed, neutral), Holds):
            return True, binary.packed(values)
    return False, None


def _machine(binary: Binary, function: Function) -> Machine | None:
    """Floats round and words wrap; nothing is said where neither can happen."""
    if any(f.sort.base == "real" for f in binary.fields):
        witness = _rounding(binary, function)
        return (
            None
            if witness is None
            else Machine("refuted", witness, "floats round: results depend on the bracketing in the last bits")
        )
    if not any(f.sort.base == "int" for f in binary.fields) or _is_bitwise(binary) != "no":
        return None
    found = in_words(binary.fields, binary.result, binary.assumed)
    if found.triple is None:
        return Machine(found.associative, None, found.safe)
    a, b, c, first, second = (binary.packed(part) for part in (*found.triple, *found.results))
    return Machine(found.associative, Witness((a, b, c), first, second), found.safe)


def _rounding(binary: Binary, function: Function) -> Witness | None:
    choose = random.Random(13)
    for _ in range(WORD_RLIMIT_TRIES):
        triple = [
            tuple(choose.random() if f.sort.base == "real" else choose.choice(_candidates(f.sort, [])) for f in binary.fields)
            for _ in range(3)
        ]
        a, b, c = (binary.packed(part) for part in triple)
        try:
            first, second = function(function(a, b), c), function(a, function(b, c))
        except (ArithmeticError, ValueError, AssertionError):
            continue
        if first != second and _same(first, second):
            return Witness((a, b, c), first, second)
    return None
