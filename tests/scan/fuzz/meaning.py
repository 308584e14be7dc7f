"""The meaning that `read_loop` gives a random function, against CPython, on random inputs and on a model per branch.

python -m tests.scan.fuzz.meaning COUNT [FIRST]
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tests.scan.fuzz import exact
from tests.scan.fuzz.forms import random_form
from tests.scan.fuzz.functions import random_module

from warploom.core import UserError
from warploom.scan import Expr, Loop, parse_module, read_loop, subexpressions, substituted
from warploom.scan.operators import expression as ex
from warploom.scan.operators.printing import function
from warploom.scan.operators.prover import Fails, Translator, UntranslatableError, decide

INPUTS = 12
"""Random ones of one function."""
MODELS = 8
"""Branches for which the solver is asked."""
_RLIMIT = 100_000


@dataclass(slots=True)
class Tally:
    """How cases ended."""

    endings: Counter[str] = field(default_factory=Counter[str])


@dataclass(slots=True)
class _Case:
    text: str
    loop: Loop
    own: Any
    """The function, in exact fractions."""
    steps: Any
    """The printed steps, outputs and assumptions, in exact fractions."""


def check(case: int, tally: Tally | None = None, models: int = MODELS) -> str:
    """The error that was found; empty: none."""
    return check_text(random_module(case), case, tally or Tally(), models)


def check_form(case: int, tally: Tally | None = None) -> str:
    """The same of a function in one of the forms that people write."""
    return check_text(random_form(case), case, tally or Tally(), models=0)


def check_text(text: str, seed: int, tally: Tally, models: int = MODELS) -> str:
    try:
        loop = read_loop(parse_module(text), "f")
    except UserError as error:
        tally.endings["refused: " + error.diagnostics[0].code] += 1
        return ""
    one = _Case(text, loop, exact.run(text, "f"), _printed(loop))
    choose = random.Random(seed)
    given = [*random_inputs(loop, choose), *_models(loop, models)]
    for elements, constants in given:
        message = _compared(one, elements, constants, tally)
        if message:
            return f"on {elements}, constants {constants}: {message}"
    return ""


def _printed(loop: Loop) -> Any:
    names = [s.variable for s in loop.states] + [*loop.fields, *loop.constants]
    called = {v: f"v{n}" for n, v in enumerate(names)}
    whole = [*(s.step for s in loop.states), *loop.assumed]
    parts = {"step": whole, "result": [*loop.outputs], "start": [s.initial for s in loop.states]}
    scope: dict[str, object] = {"inf": float("inf"), "Fraction": Fraction}
    return {
        name: exact.run(function(name, list(called.values()), [], exprs, called, as_tuple=True), name, scope)
        for name, exprs in parts.items()
    }


def _compared(one: _Case, elements: Sequence[Sequence[Any]], constants: Sequence[Any], tally: Tally) -> str:
    loop = one.loop
    try:
        wanted = one.own(*arguments(loop, elements, constants))
        wanted = list(wanted) if isinstance(wanted, Generator) else wanted
    except AssertionError:
        tally.endings["raises AssertionError"] += 1
        return ""
    except ZeroDivisionError:
        tally.endings["raises ZeroDivisionError"] += 1
        return "" if loop.may_divide_by_zero else "the function divides by 0, which the reader rules out"
    except (TypeError, IndexError, ValueError, OverflowError) as error:
        tally.endings[f"raises {type(error).__name__}"] += 1
        return f"the function raises TypeError: {error}" if isinstance(error, TypeError) else ""
    if exact.is_nan(wanted):
        return ""
    try:
        read = _by_definition(loop, elements, constants)
        printed = _by_text(one, elements, constants)
    except exact.NanError:
        tally.endings["infinities that have no sum"] += 1
        return ""
    except (ArithmeticError, ValueError, TypeError) as error:
        return f"the function returns {wanted!r}, what was read raises {type(error).__name__}: {error}"
    tally.endings["agrees" if read == printed == wanted else "differs"] += 1
    if isinstance(read, str):
        return read
    if read != wanted:
        return f"the function returns {wanted!r}, what was read {read!r}"
    return "" if printed == wanted or exact.is_nan(printed) else f"the function returns {wanted!r}, the printed text {printed!r}"


def arguments(loop: Loop, elements: Sequence[Sequence[Any]], constants: Sequence[Any]) -> list[Any]:
    """As the user passes them."""
    width = len(loop.fields) // len(loop.lists)
    named: dict[str, Any] = {str(c.value): v for c, v in zip(loop.constants, constants, strict=True)}
    for number, name in enumerate(loop.lists):
        parts = [tuple(e[number * width : (number + 1) * width]) for e in elements]
        named[name] = [p[0] if len(p) == 1 else p for p in parts]
        if loop.characters:
            named[name] = "".join(chr(p[0]) for p in parts)
    return [named[p] for p in loop.parameters]


def _by_definition(loop: Loop, elements: Sequence[Sequence[Any]], constants: Sequence[Any]) -> Any:
    fixed = dict(zip(loop.constants, constants, strict=True))
    now = {s.variable: exact.evaluate(s.initial, fixed) for s in loop.states}
    results: list[Any] = []
    for element in elements:
        values = {**fixed, **now, **dict(zip(loop.fields, element, strict=True))}
        for condition in loop.assumed:
            if not exact.evaluate(condition, values):
                return f"the function returns, but {condition} is assumed of {element}"
        now = {s.variable: exact.evaluate(s.step, values) for s in loop.states}
        results.append(_packed(loop, [exact.evaluate(o, {**fixed, **now}) for o in loop.outputs]))
    if loop.is_scan:
        return results
    return _packed(loop, [exact.evaluate(o, {**fixed, **now}) for o in loop.outputs])


def _by_text(one: _Case, elements: Sequence[Sequence[Any]], constants: Sequence[Any]) -> Any:
    loop, none = one.loop, [0] * len(one.loop.fields)
    now = one.steps["start"](*([0] * len(loop.states)), *none, *constants)
    results: list[Any] = []
    for element in elements:
        now = one.steps["step"](*now, *element, *constants)[: len(loop.states)]
        if loop.is_scan:
            results.append(_packed(loop, one.steps["result"](*now, *none, *constants)))
    return results if loop.is_scan else _packed(loop, one.steps["result"](*now, *none, *constants))


def _packed(loop: Loop, values: Sequence[Any]) -> Any:
    return tuple(values) if loop.is_tuple else values[0]


def random_inputs(loop: Loop, choose: random.Random) -> Iterator[tuple[list[tuple[Any, ...]], tuple[Any, ...]]]:
    for number in range(INPUTS):
        constants = tuple(_random_value(c, choose) for c in loop.constants)
        yield [tuple(_random_value(f, choose, loop.characters) for f in loop.fields) for _ in range(number % 5)], constants


def _random_value(variable: Expr, choose: random.Random, is_character: bool = False) -> Any:
    sort = variable.sort
    if is_character:
        return ord(choose.choice("aAzZ059 (\tqQxyf~ef"))
    if sort.base == "bool":
        return choose.random() < 0.5
    if sort.values is not None:
        return choose.choice(sort.values)
    if sort.base == "real":
        return choose.choice([Fraction(1, 2), Fraction(-3, 4), Fraction(1, 3), Fraction(0), 1, -1, 2, Fraction(5, 2)])
    return choose.choice([0, 0, 1, -1, 2, 3, -2, -3, 5, True, 100, -101])


def _models(loop: Loop, most: int) -> Iterator[tuple[list[tuple[Any, ...]], tuple[Any, ...]]]:
    """Lists of one and two elements for which a condition of a step (or of a result) is true, and false."""
    initial = {s.variable: s.initial for s in loop.states}
    elements = [[ex.variable(f"{f.value}#{n}", f.sort) for f in loop.fields] for n in range(2)]
    asked = 0
    for length in (1, 2):
        now = initial
        for element in elements[: length - 1]:
            try:
                now = _after(loop, now, element)
            except ex.UndefinedError:
                return
        last = {**now, **dict(zip(loop.fields, elements[length - 1], strict=True))}
        used = [v for e in elements[:length] for v in e]
        for condition in (e for e in subexpressions(*(s.step for s in loop.states)) if e.op in ("ge", "gt", "eq")):
            try:
                reached = substituted(condition, last)
            except ex.UndefinedError:
                continue
            if reached.op == "const":
                continue
            for wanted in (reached, ex.negation(reached)):
                asked += 1
                if asked > most:
                    return
                values = _model(wanted, [*used, *loop.constants])
                if values is not None:
                    width = len(loop.fields)
                    yield (
                        [tuple(values[n * width : (n + 1) * width]) for n in range(length)],
                        tuple(values[length * width :]),
                    )


def _after(loop: Loop, states: Mapping[Expr, Expr], element: Sequence[Expr]) -> dict[Expr, Expr]:
    """The states after one more element."""
    values = {**states, **dict(zip(loop.fields, element, strict=True))}
    return {s.variable: substituted(s.step, values) for s in loop.states}


def _model(condition: Expr, variables: Sequence[Expr]) -> list[Any] | None:
    t = Translator()
    try:
        for v in variables:
            t.number(v)
        answer = decide(t, [t.condition(condition)], [t.condition(ex.FALSE)], variables, _RLIMIT)
    except UntranslatableError:
        return None
    if not isinstance(answer, Fails):
        return None
    return [answer.values.get(str(v.value), False if v.sort.base == "bool" else 0) for v in variables]


def main() -> int:
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tally, failed = Tally(), 0
    for case in range(first, first + count):
        try:
            message = check(case, tally)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        if message:
            failed += 1
            print(f"--- {case}: {message}\n{random_module(case)}", flush=True)
    print(dict(tally.endings), f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
