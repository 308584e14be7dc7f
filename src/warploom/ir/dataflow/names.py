"""Names of statements across a whole program: what holes, pictures and reports call them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from warploom.ir.dataflow.program import Block, Program, Statement


def named_statements(program: Program) -> tuple[tuple[str, Statement], ...]:
    """Every statement in order of evaluation (a block after its own statements) with a name of its own.

    `name`, in a block `block.name`; a name that occurs again in the same place is `name@line`, then `name@line:column`.
    """
    return tuple(_named(program.statements, ""))


def _named(statements: tuple[Statement, ...], prefix: str) -> Iterator[tuple[str, Statement]]:
    names = [s.name for s in statements]
    for suffix in ("@{0.line}", ":{0.column}"):
        counts = Counter(names)
        names = [n + suffix.format(s.span) if counts[n] > 1 else n for n, s in zip(names, statements, strict=True)]
    counts = Counter(names)
    for position, (name, statement) in enumerate(zip(names, statements, strict=True)):
        unique = prefix + (f"{name}#{position}" if counts[name] > 1 else name)
        if isinstance(statement.value, Block):
            yield from _named(statement.value.statements, f"{unique}.")
        yield unique, statement
