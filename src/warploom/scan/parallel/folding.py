"""Work of a worker on a chunk: it folds the chunk by the operator, in one printed loop, or vectorised where it is arrays."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from operator import index as operator_index
from types import FunctionType
from typing import Any, TypeAlias, cast

import numpy as np

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.scan.emit import source_of, whole_bound
from warploom.scan.operators.expression import TRUE, Base, Expr, UndefinedError, Value, subexpressions, substituted, variables
from warploom.scan.operators.machine_numbers import computes_no_reals
from warploom.scan.operators.operator import Operator, combined
from warploom.scan.operators.printing import evaluated, python
from warploom.scan.parallel.chunks import Chunk, Columns, elements_of

Partial: TypeAlias = tuple[Value, ...]
"""A value of the operator: its fields."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """All that a worker needs, as text."""

    fold: str
    """Functions `fold(elements, value, *constants)` and `scan(elements, value, *constants)`."""
    vectorised: str
    """A NumPy module with `lift` and `_total`; empty: not expressible."""
    kinds: tuple[Base, ...]
    """Kinds of the values of an element."""
    takes_infinities: bool
    """Real elements may be infinite: nothing is computed with them."""
    has_infinities: bool
    """The least and the greatest int64 of the module stand for infinities."""


@dataclass(frozen=True, slots=True)
class Work:
    recipe: Recipe
    chunk: Chunk
    constants: tuple[Value, ...]
    start: Partial | None = None
    """The value of all elements before, when results for every prefix are wanted."""


@lru_cache(maxsize=64)
def recipe_of(operator: Operator) -> Recipe:
    try:
        vectorised = source_of(operator, "numpy")
    except UnsupportedError:
        vectorised = ""
    if whole_bound(operator) is None and any(f.sort.base == "int" for f in operator.fields):
        vectorised = ""  # arrays of objects are no faster than Python
    kinds: tuple[Base, ...] = tuple(f.sort.base for f in operator.loop.fields)
    return Recipe(_fold_source(operator), vectorised, kinds, computes_no_reals(operator), "_ends(" in vectorised)


def folded(work: Work) -> Partial | None:
    """The chunk's value; None: it has no elements."""
    match work.chunk:
        case Columns(columns) if work.recipe.vectorised and len(columns[0]) and _is_vectorised(work.recipe, columns):
            return _vectorised(work.recipe, columns, work.constants)
        case _:
            fold = cast("Callable[..., Partial | None]", _function(work.recipe.fold, "fold"))
            return fold(elements_of(work.chunk), None, *work.constants)


def scanned(work: Work) -> list[object]:
    """The results of every prefix that ends in the chunk."""
    scan = cast("Callable[..., list[object]]", _function(work.recipe.fold, "scan"))
    return scan(elements_of(work.chunk), work.start, *work.constants)


@cache
def _function(source: str, name: str) -> object:
    function = evaluated(source, name)
    scope = cast("FunctionType", function).__globals__
    scope |= {f"as_{kind}": convert for kind, (_, convert) in _CHECKED.items()} | {"wrong_element": wrong_element}
    return function


@cache
def printed_module(source: str) -> dict[str, Any]:
    """The names that a printed NumPy module defines, found by executing it."""
    scope: dict[str, Any] = {}
    exec(compile(source, "<vectorised>", "exec"), scope)
    return scope


_HELD = 2**53
"""Whole numbers up to it are floats."""


def _is_vectorised(recipe: Recipe, columns: Sequence[Any]) -> bool:
    """Whether these are numbers that lose nothing as the module takes them."""
    for column, kind in zip(columns, recipe.kinds, strict=True):
        if column.dtype.kind not in "biuf":
            return False
        if kind == "real" and column.dtype.kind in "iu" and max(abs(int(column.min())), abs(int(column.max()))) > _HELD:
            return False
    return True


def _vectorised(recipe: Recipe, columns: Sequence[Any], constants: Sequence[Value]) -> Partial:
    module = printed_module(recipe.vectorised)
    for column, kind in zip(columns, recipe.kinds, strict=True):
        if kind == "real" and column.dtype.kind == "f":
            found = column[np.isnan(column) if recipe.takes_infinities else ~np.isfinite(column)]
            if len(found):
                raise wrong_element(found[0].item(), _FINITE if not recipe.takes_infinities else _NUMBER)
    try:
        values = module["lifted"](*columns, *(c if isinstance(c, int | str) else float(c) for c in constants))
    except (TypeError, ValueError) as error:
        raise UserError(Diagnostic("ELEMENT", str(error), fix=_FIX)) from error
    with np.errstate(all="ignore"):
        total = module["_total"](values)
    return tuple(_python_value(array, recipe.has_infinities) for array in total)


def _python_value(array: Any, has_infinities: bool) -> Value:
    value: Value = array[0] if array.dtype == object else array[0].item()
    if has_infinities and array.dtype == np.int64 and value in (-(2**63), 2**63 - 1):
        return -math.inf if value == -(2**63) else math.inf
    return value


_FIX = "Give elements as the loop's annotations say; whole numbers are ints, real ones ints, floats or fractions."
_NUMBER, _FINITE = "a number", "a finite number"


def wrong_element(value: object, expected: str) -> UserError:
    return UserError(Diagnostic("ELEMENT", f"expected {expected} as a value of an element, got {value!r}", fix=_FIX))


def _as_whole(value: Any) -> int:
    try:
        return operator_index(value)
    except TypeError:
        raise wrong_element(value, "a whole number") from None


def _as_truth(value: Any) -> bool:
    plain: Any = value.item() if hasattr(value, "item") else value
    if isinstance(plain, int) and plain in (0, 1):
        return bool(plain)
    raise wrong_element(value, "a truth value")


def _as_real(value: Any) -> Value:
    plain: Any = value.item() if hasattr(value, "item") else value
    if isinstance(plain, int | float | Fraction):
        return plain
    raise wrong_element(value, _NUMBER)


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return str(value)
    raise wrong_element(value, "a text")


_CHECKED: dict[Base, tuple[str, Callable[[Any], Value]]] = {
    "int": ("{0}.__class__ is not int", _as_whole), "bool": ("{0} is not True and {0} is not False", _as_truth),
    "real": ("{0}.__class__ is not float", _as_real), "text": ("{0}.__class__ is not str", _as_text),
}  # fmt: skip


def checked_constant(value: object, kind: Base) -> Value:
    """UserError (ELEMENT) for a value of another kind, and for NaN."""
    found = _CHECKED[kind][1](value)
    if found != found:
        raise wrong_element(found, _NUMBER)
    return found


def _checks(operator: Operator, names: Mapping[Expr, str]) -> list[str]:
    """Statements that refuse an element that the proof does not speak of."""
    lines: list[str] = []
    for field in operator.loop.fields:
        name, kind = names[field], field.sort.base
        lines += [f"if {_CHECKED[kind][0].format(name)}:", f"    {name} = as_{kind}({name})"]
        if kind == "real":
            is_free = computes_no_reals(operator)
            lines.append(f"if {f'{name} != {name}' if is_free else f'{name} - {name} != 0'}:")
            lines.append(f"    raise wrong_element({name}, {(_NUMBER if is_free else _FINITE)!r})")
        if field.sort.values is not None and kind == "int":
            lines += [f"if {name} not in {field.sort.values}:", f"    raise wrong_element({name}, 'one of {field.sort.values}')"]
    for assumed in operator.loop.assumed:
        shown = ", ".join(names[v] for v in operator.loop.fields)
        lines += [
            f"if not ({python(assumed, names)}):",
            f"    raise wrong_element(({shown}), 'what the loop asserts, {python(assumed)},')",
        ]
    return lines


def _fold_source(operator: Operator) -> str:
    """Lift and operator as one step: the value with one more element."""
    fields = [f"v_{n}" for n in range(len(operator.fields))]
    elements = [f"x_{n}" for n in range(len(operator.loop.fields))]
    constants = [f"c_{n}" for n in range(len(operator.loop.constants))]
    names: dict[Expr, str] = dict(zip(operator.fields, fields, strict=True))
    fresh = dict(zip(operator.loop.fields, elements, strict=True)) | dict(zip(operator.loop.constants, constants, strict=True))
    clashing = set(operator.fields) & {v for e in operator.lift for v in variables(e)}
    first = ", ".join(python(e, fresh) for e in operator.lift)
    step: str
    later = {operator.fields[0]: TRUE, operator.right[0]: TRUE} if operator.inner else {}
    try:
        if clashing:
            raise UndefinedError
        by_side = dict(zip(operator.right, operator.lift, strict=True)) | later
        step = ", ".join(python(substituted(e, by_side), names | fresh, without_calls=True) for e in operator.combine)
        lines = [f"        {', '.join(fields)} = {step}"]
    except UndefinedError:
        sides = [f"w_{n}" for n in range(len(fields))]
        both = names | dict(zip(operator.right, sides, strict=True)) | dict(zip(operator.loop.constants, constants, strict=True))
        step = ", ".join(python(substituted(e, later), both) for e in operator.combine)
        lines = [f"        {', '.join(sides)} = {first}", f"        {', '.join(fields)} = {step}"]
    known = names | dict(zip(operator.loop.constants, constants, strict=True))
    result = ", ".join(python(e, known) for e in operator.projection)
    result = f"({result},)" if operator.loop.is_tuple else result
    parameters = "".join(f", {c}" for c in constants)
    taken = elements[0] if len(elements) == 1 else ", ".join(elements)
    pack = f"({', '.join(fields)},)"
    checks = [f"        {line}" for line in _checks(operator, fresh)]
    kept = f"        results.append({result})"
    each_first = [f"        {', '.join(fields)} = {first}"]
    return "\n".join(
        [
            f"def fold(elements, value{parameters}):",
            *_over("None", taken, pack, checks, each_first, lines),
            f"    return {pack}",
            "",
            f"def scan(elements, value{parameters}):",
            "    results = []",
            *_over("results", taken, pack, checks, [*each_first, kept], [*lines, kept]),
            "    return results",
        ]
    )


def _over(end: str, taken: str, pack: str, checks: Sequence[str], first: Sequence[str], later: Sequence[str]) -> list[str]:
    """A loop over `elements`, whose first one is taken by itself where there is no value before it; `end`: if there is none."""
    return [
        "    rest = iter(elements)",
        "    if value is None:",
        f"        for {taken} in rest:",
        *(f"    {line}" for line in [*checks, *first]),
        "            break",
        "        else:",
        f"            return {end}",
        "    else:",
        f"        {pack} = value",
        f"    for {taken} in rest:",
        *checks,
        *later,
    ]


def _serial_source(operator: Operator) -> str:
    """The loop itself: `run(elements, value, *constants)` gives its states after all elements, `result(value, *constants)` its
    result."""
    loop = operator.loop
    names = {v: f"{kind}_{n}" for kind, group in (("x", loop.fields), ("c", loop.constants)) for n, v in enumerate(group)}
    states = {s.variable: f"v_{n}" for n, s in enumerate(loop.states)}
    every = names | states
    pack, taken = f"({', '.join(states.values())},)", ", ".join(names[f] for f in loop.fields)
    constants = "".join(f", {names[c]}" for c in loop.constants)
    checks = [f"        {line}" for line in _checks(operator, names)]
    lines: list[str] = []
    for part in _repeated([s.step for s in loop.states]):
        lines.append(f"        t_{len(lines)} = {python(part, every, without_calls=True)}")
        every = every | {part: f"t_{len(lines) - 1}"}
    changed = [s for s in loop.states if s.step is not s.variable]
    if changed:
        steps = ", ".join(python(s.step, every, without_calls=True) for s in changed)
        lines.append(f"        {', '.join(states[s.variable] for s in changed)} = {steps}")
    start = [f"        {states[s.variable]} = {python(s.initial, names)}" for s in loop.states]
    outputs = ", ".join(python(o, names | states) for o in loop.outputs)
    empty = ", ".join(python(s.initial, names) for s in loop.states)
    return "\n".join(
        [
            f"def run(elements, value{constants}):",
            *_over("None", taken, pack, checks, [*start, *lines], lines or ["        pass"]),
            f"    return {pack}",
            "",
            f"def result(value{constants}):",
            f"    {pack} = ({empty},) if value is None else value",
            f"    return ({outputs},)" if loop.is_tuple else f"    return {outputs}",
        ]
    )


def _repeated(steps: Sequence[Expr]) -> list[Expr]:
    """Expressions that are computed more than once and never fail, inner ones first. Operands of `ge` and `gt` are not counted,
    since comparisons are not written as the sums they hold."""
    uses = Counter(steps)
    every = subexpressions(*steps)
    for part in every:
        if part.op not in ("ge", "gt"):
            uses.update(part.args)
    fails = {"div", "mod", "floordiv", "exp", "log", "sqrt"}
    return [e for e in every if uses[e] > 1 and e.args and not any(p.op in fails for p in subexpressions(e))]


@cache
def _in_order(operator: Operator) -> tuple[Callable[..., Partial | None], Callable[..., object]]:
    source = _serial_source(operator)
    return cast("Callable[..., Partial | None]", _function(source, "run")), cast(
        "Callable[..., object]", _function(source, "result")
    )


def in_order(operator: Operator, chunks: Iterable[Chunk], constants: Sequence[Value]) -> tuple[Partial | None, object]:
    """The loop's states after all chunks, one after the other in this process (None: there were no elements), and its result."""
    run, result = _in_order(operator)
    value: Partial | None = None
    for chunk in chunks:
        value = run(elements_of(chunk), value, *constants)
    return value, result(value, *constants) if value is not None or not operator.loop.needs_element else None


def joined(operator: Operator, left: Partial | None, right: Partial | None, constants: Sequence[Value]) -> Partial | None:
    """Both in order."""
    if left is None or right is None:
        return left if right is None else right
    return _combined(operator)(*left, *right, *constants)


@cache
def _combined(operator: Operator) -> Callable[..., Partial]:
    return combined(operator)


def result_of(operator: Operator, value: Partial | None, constants: Sequence[Value]) -> object:
    """The result that the loop returns."""
    held = value if value is not None else tuple(e.value for e in operator.identity)
    projection = cast("Callable[..., object]", _function(operator.projection_source(), "projection"))
    used = variables(*operator.projection)
    given = [v for c, v in zip(operator.loop.constants, constants, strict=True) if c in used]
    return projection(held[0] if len(held) == 1 else held, *given)
