"""Goals that a paper shortens: `[[x0, x4, x8, x12], ...]` and `[[x0, x1, x2], [x1, x2, x3], ...]`.

Source: Swizzleflow, listings 6 and 8.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import prod

from warploom.core import Span
from warploom.ir.dataflow.array_reader import MAX_ELEMENTS
from warploom.ir.dataflow.program import Value
from warploom.ir.dataflow.syntax import ArraySyntax, LiteralSyntax
from warploom.ir.dataflow.tokens import syntax_error


def with_all_rows(literal: LiteralSyntax, rows: int) -> LiteralSyntax:
    """The literal with the lists that its last `...` stands for; UserError where the lists given do not say how they go on.

    Two lists or more: each is the one before plus a number, the same for all of their elements. One list: only where its symbols
    are as many apart as there are rows, as in a transpose; the next list then starts one later, and every symbol occurs once.
    """
    body = literal.body
    if not isinstance(body, ArraySyntax) or body.dots is None:
        return literal
    given, *inner = body.shape
    size = prod(inner)
    if rows * size > MAX_ELEMENTS:
        raise syntax_error(body.dots, f"at most {MAX_ELEMENTS} elements", f"{rows * size}", "fold fewer elements")
    values = [v for v in body.values if isinstance(v, int)]
    if len(values) != len(body.values):
        raise syntax_error(body.dots, "lists of symbols before `...`", "another value", "write all lists")
    step = _step(values, size, rows, body.dots) if given < rows else 0
    further: list[Value] = [v + step * i for i in range(1, rows - given + 1) for v in values[-size:]]
    if any(isinstance(v, int) and v < 0 for v in further):
        raise syntax_error(body.dots, "symbols from x0 on", f"steps of {step} below it", "write all lists")
    return replace(literal, body=ArraySyntax((max(rows, given), *inner), (*values, *further)))


def _step(values: list[int], size: int, rows: int, dots: Span) -> int:
    if len(values) == size:
        if size > 1 and all(b - a == rows for a, b in pairwise(values)):
            return 1
        raise syntax_error(dots, "two lists before `...`", "one", "write the second list: its distance to the first is the step")
    steps = {b - a for a, b in zip(values, values[size:], strict=False)}
    if len(steps) != 1:
        got = ", ".join(map(str, sorted(steps)))
        raise syntax_error(dots, "lists that grow by one number before `...`", f"steps of {got}", "write all lists")
    return steps.pop()
