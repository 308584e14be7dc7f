"""The operator that is proved of a random function, against CPython: on random lists, cut at random, in exact fractions.

python -m tests.scan.fuzz.operators COUNT [FIRST]
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tests.scan.fuzz import exact
from tests.scan.fuzz.functions import simple_module
from tests.scan.fuzz.meaning import Tally, arguments, random_inputs

from warploom.core import UserError
from warploom.scan import Lifting, Operator, lift, parse_module, read_loop


def check(case: int, tally: Tally | None = None) -> str:
    """The error that was found; empty: none."""
    return check_text(simple_module(case), case, tally or Tally())


def check_text(text: str, seed: int, tally: Tally) -> str:
    try:
        loop = read_loop(parse_module(text), "f")
    except UserError as error:
        tally.endings["refused: " + error.diagnostics[0].code] += 1
        return ""
    found: Lifting = lift(loop, styles=["affine"])
    tally.endings[found.verdict] += 1
    if found.verdict != "proved" or found.operator is None:
        return ""
    return _compared(text, found.operator, random.Random(seed))


def _compared(text: str, operator: Operator, choose: random.Random) -> str:
    loop = operator.loop
    own = exact.run(text, "f")
    scope: dict[str, object] = {"inf": float("inf"), "Fraction": Fraction}
    parts = {
        name: exact.run(source, name, scope)
        for name, source in (
            ("lift", operator.lift_source()), ("operator", operator.operator_source()),
            ("projection", operator.projection_source()), ("identity", f"identity = {operator.identity_source()}"),
        )
    }  # fmt: skip
    for elements, constants in random_inputs(loop, choose):
        prefixes = range(1, len(elements) + 1) if loop.is_scan else [len(elements)]
        try:
            wanted = own(*arguments(loop, elements, constants))
        except (AssertionError, ArithmeticError, IndexError):
            continue
        named = {str(c.value): v for c, v in zip(loop.constants, constants, strict=True)}
        got = [_folded(parts, operator, elements[:n], named, choose) for n in prefixes]
        if (not loop.is_scan and got[0] != wanted) or (loop.is_scan and got != wanted):
            return f"on {elements}, constants {named}: the function returns {wanted!r}, the operator {got!r}"
    return ""


def _folded(
    parts: dict[str, Any], operator: Operator, elements: Sequence[Any], named: dict[str, Any], choose: random.Random
) -> Any:
    def given(name: str) -> list[Any]:
        code = parts[name].__code__
        return [named[n] for n in code.co_varnames[: code.co_argcount] if n in named]

    def over(some: Sequence[Any]) -> Any:
        if len(some) == 1:
            return parts["lift"](some[0][0] if len(some[0]) == 1 else tuple(some[0]), *given("lift"))
        cut = choose.randrange(1, len(some))
        return parts["operator"](over(some[:cut]), over(some[cut:]), *given("operator"))

    return parts["projection"](over(elements) if elements else parts["identity"], *given("projection"))


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
            print(f"--- {case}: {message}\n{simple_module(case)}", flush=True)
    print(dict(tally.endings), f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
