"""Mutated PTX: the parser, printers, verifier and liveness either answer or raise UserError, and do so soon.

`python -m tests.ptx.fuzz.syntax COUNT [SEED]` runs COUNT inputs and prints the seed, how they ended, and the slowest; a failure
prints the input that shows it. Input n of a seed is the same however many are run.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.ptx.syntax.compiled import COMPILED
from tests.ptx.syntax.spellings import ITEMS, REGISTERS, STATEMENTS, kernel

from warploom.core import UserError
from warploom.ptx.flow import flow_graph
from warploom.ptx.liveness import liveness, pressure
from warploom.ptx.routine import lower
from warploom.ptx.syntax import exact, normal, parse
from warploom.ptx.verify import WARNINGS, verify

SEEDS: tuple[str, ...] = (COMPILED, COMPILED, *ITEMS.values(), *(kernel(REGISTERS, s) for s in STATEMENTS))
WORDS: tuple[str, ...] = (
    *"{}()[]<>;:,.@!|&^~?%_$\"'\\/#+-*=\n\r\t\0",
    "//", "/*", "*/", "::", "@@", "<<", "&&", "0x", "0b", "08", "1e", "0f", "0f3F800000", "0dFFF", "99999999999999999999", "-1",
    ".reg", ".entry", ".func", ".weak", ".param", ".b32", ".align", ".v4", ".section", ".loc", ".file", ".pragma", ".attribute",
    ".version", ".branchtargets", ".callprototype", ".target", "%r<", "WARP_SZ", "bra", "call", "ret;", "\u0663", "\u00e9",
    "\udcff", "\u2028", "a: b:", "{ .reg .b32 q; }", "1 ? 2 : 3", "(.s64)", "generic(x)+4", "= {", "%p|%q",
)  # fmt: skip
LIMIT_S = 5.0
"""CPU seconds of one input at most."""


def mutate(text: str, source: random.Random) -> str:
    """The text with one to eight changes: pieces taken out, doubled, moved, swapped for others', words and characters put in."""
    for _ in range(source.choice((1, 1, 1, 1, 1, 2, 3, 8))):
        text = source.choice(_CHANGES)(text, source)
        if len(text) > 20_000:
            text = text[:20_000]
    return text


def _span(text: str, source: random.Random, most: int = 40) -> tuple[int, int]:
    start = source.randrange(len(text) + 1)
    return start, min(len(text), start + source.randrange(1, most))


def _remove(text: str, source: random.Random) -> str:
    start, end = _span(text, source)
    return text[:start] + text[end:]


def _double(text: str, source: random.Random) -> str:
    start, end = _span(text, source)
    return text[:end] + text[start:end] + text[end:]


def _repeat(text: str, source: random.Random) -> str:
    start, end = _span(text, source, 6)
    return text[:end] + text[start:end] * source.choice((3, 30, 300)) + text[end:]


def _move(text: str, source: random.Random) -> str:
    start, end = _span(text, source)
    rest = text[:start] + text[end:]
    place = source.randrange(len(rest) + 1)
    return rest[:place] + text[start:end] + rest[place:]


def _insert(text: str, source: random.Random) -> str:
    place = source.randrange(len(text) + 1)
    return text[:place] + source.choice(WORDS) + text[place:]


def _insert_many(text: str, source: random.Random) -> str:
    place = source.randrange(len(text) + 1)
    return text[:place] + source.choice(WORDS) * source.choice((10, 100, 500)) + text[place:]


def _character(text: str, source: random.Random) -> str:
    if not text:
        return text
    place = source.randrange(len(text))
    return text[:place] + chr(source.choice((source.randrange(128), source.randrange(0x250)))) + text[place + 1 :]


def _splice(text: str, source: random.Random) -> str:
    other = source.choice(SEEDS)
    start, end = _span(other, source, 200)
    place = source.randrange(len(text) + 1)
    return text[:place] + other[start:end] + text[place:]


def _cut(text: str, source: random.Random) -> str:
    return text[: source.randrange(len(text) + 1)]


_CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    _remove, _remove, _double, _repeat, _move, _insert, _insert, _insert, _insert_many, _character, _character, _splice, _cut,
)  # fmt: skip


def given(seed: int, number: int) -> str:
    """Input `number` of the seed."""
    source = random.Random(f"{seed}/{number}")
    return mutate(source.choice(SEEDS), source)


def check(text: str) -> str:
    """How it ends: `refused` by the parser, `wrong` for the verifier, or `good`. Any other exception is a finding."""
    try:
        module = parse(text)
    except UserError as error:
        assert str(error)
        return "refused"
    assert exact(module) == text, "exact print differs"
    assert parse(normal(module)) == module, "normal form reads back as something else"
    found = verify(module)
    for diagnostic in found:
        diagnostic.render()
    try:
        program = lower(module)
        for routine in program.routines.values():
            graph = flow_graph(routine)
            pressure(routine, graph, liveness(routine, graph))
    except UserError:
        assert any(d.code not in WARNINGS for d in found), "lowering fails, but the verifier says nothing"
        return "wrong"
    return "wrong" if any(d.code not in WARNINGS for d in found) else "good"


@dataclass(frozen=True, slots=True)
class Summary:
    endings: Counter[str]
    slowest_s: float
    slowest: int
    """Number of the input."""


def run(count: int, seed: int = 0, first: int = 0) -> Summary:
    """AssertionError naming seed and number of the first input that fails."""
    endings: Counter[str] = Counter()
    slowest_s, slowest = 0.0, first
    for number in range(first, first + count):
        text = given(seed, number)
        started = time.process_time()
        try:
            endings[check(text)] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, input {number}: {type(error).__name__}: {error}\n{text!r}") from error
        spent = time.process_time() - started
        if spent > slowest_s:
            slowest_s, slowest = spent, number
    return Summary(endings, slowest_s, slowest)


def main(count: int, seed: int) -> int:
    started = time.process_time()
    summary = run(count, seed)
    seconds = time.process_time() - started
    endings = ", ".join(f"{n} {word}" for word, n in sorted(summary.endings.items()))
    slow = f"slowest {summary.slowest_s:.3f} s (input {summary.slowest})"
    print(f"seed {seed}: {count} inputs: {endings}; {seconds:.1f} CPU s; {slow}")
    return 0 if summary.slowest_s < LIMIT_S else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(sys.argv[2]) if len(sys.argv) > 2 else 0))
