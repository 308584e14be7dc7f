"""The subset of Python that sketches and specs accept: operators and refusals, which the reader looks up here, and a table of
examples.

`ROWS` stands in docs/language.md; a test reads every example in a sketch and in a spec.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Literal

REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.AnnAssign: ("a declaration without a value", "Assign a value, or remove it."),
    ast.While: ("`while`", "Write `for i in range(...)` with bounds known at compile time."),
    ast.Try: ("`try`", "Remove it: a kernel raises nothing."),
    ast.With: ("`with`", "Remove it."),
    ast.Raise: ("`raise`", "Remove it: a kernel raises nothing."),
    ast.Assert: ("`assert`", "Remove it."),
    ast.ListComp: ("a list comprehension", "Write a `for` loop over a register array."),
    ast.SetComp: ("a set comprehension", "Write a `for` loop."),
    ast.DictComp: ("a dict comprehension", "Write a `for` loop."),
    ast.GeneratorExp: ("a generator expression", "Write a `for` loop with an accumulator or a scalar."),
    ast.Dict: ("a dict", "Use scalars and arrays."),
    ast.Set: ("a set", "Use scalars and arrays."),
    ast.JoinedStr: ("an f-string", "Write the text out."),
    ast.NamedExpr: ("`:=`", "Assign in a statement of its own."),
    ast.Starred: ("`*`", "Write the items out."),
    ast.Slice: ("a slice", "Write a `for` loop over the elements."),
    ast.Break: ("`break`", "Guard the rest of the loop body with an `if`."),
    ast.Continue: ("`continue`", "Guard the rest of the loop body with an `if`."),
    ast.Global: ("`global`", "Pass the value in or return it."),
    ast.Nonlocal: ("`nonlocal`", "Pass the value in or return it."),
    ast.Import: ("`import`", "Import at the top of the file."),
    ast.ImportFrom: ("`import`", "Import at the top of the file."),
    ast.ClassDef: ("`class`", "Use scalars and arrays."),
    ast.Delete: ("`del`", "Remove it."),
    ast.Yield: ("`yield`", "Store to an array."),
    ast.Await: ("`await`", "Remove it."),
    ast.AsyncFunctionDef: ("`async def`", "Write a plain `def`."),
    ast.Match: ("`match`", "Write `if`, `elif`, `else`."),
}
"""Python that is no part of the language, by node: its name and what to write instead."""

InSketch = Literal["yes", "no"]
InSpec = Literal["yes", "one size", "no"]
"""one size: it runs as Python at the size of the completion and is not proved for every size."""


@dataclass(frozen=True, slots=True)
class Row:
    """One construct: `example` stands in a body with arrays x and y of i32 and an index i."""

    construct: str
    example: str
    sketch: InSketch
    spec: InSpec
    note: str = ""


ROWS: tuple[Row, ...] = (
    Row("scalars, tuples", "a, b = x[i], 1\ny[i] = a + b", "yes", "yes", "all right sides first; a name keeps its type"),
    Row("augmented assignment", "y[i] += x[i]", "yes", "yes"),
    Row("chain of assignments", "a = b = i\ny[i] = x[a]", "no", "one size"),
    Row("`+ - *`, `min max` of data", "y[i] = max(x[i] * 2 - 1, -x[i])", "yes", "yes", "no NaN in `min` and `max`"),
    Row("`/` of integers", "y[i] = x[i] / 3", "yes", "yes", "towards zero; in a spec only what is stored at once"),
    Row("`/` of integers inside", "y[i] = x[i] / 3 * 3", "yes", "no"),
    Row("`//`, `%` of integers", "y[i] = x[i] // 3 * 3 + x[i] % 3", "yes", "yes", "round down, as in Python; no floats"),
    Row("`& | ^ ~ << >>` of integers", "y[i] = (x[i] & 3) << 2", "yes", "yes"),
    Row("shift by a number past the width", "y[i] = x[i] << 32", "no", "no", "counts from data: named in the domain"),
    Row("index arithmetic", "y[(i * 3 + 1) % 8] = x[(i >> 1) // 2]", "yes", "yes", "`//` and `%` round down, as in Python"),
    Row("`/` of indices", "y[i / 2] = x[i]", "no", "no", "write `//`"),
    Row("negative index", "y[i] = x[-1]", "no", "no", "arrays have no index from their end"),
    Row("slices", "y[0:2] = x[0:2]", "no", "one size", "write a loop"),
    Row("`if`, `elif`, `else` on indices", "if i > 3:\n    y[i] = x[i]\nelse:\n    y[i] = 0", "yes", "yes"),
    Row("`a if c else b` on indices", "y[i] = x[i] if i < 4 else 0", "yes", "yes"),
    Row("chained comparison of indices", "if 0 < i <= 3:\n    y[i] = x[i]", "yes", "yes"),
    Row("`and or not` of conditions", "if i != 0 and 8 // i > 2 or not i < 7:\n    y[i] = x[i]", "yes", "yes", "left to right"),
    Row("`and`, `or` of numbers", "y[i] = x[i or 1]", "yes", "yes", "of indices: one of the two"),
    Row("`and`, `or` of a number and a condition", "y[i] = x[i] if i and i > 2 else 0", "no", "one size", "compare the number"),
    Row("a truth value as a number", "y[i] = x[i > 2]", "no", "no", "lists and NumPy differ"),
    Row("a number as a condition", "if i:\n    y[i] = x[i]", "no", "one size", "write `i != 0`"),
    Row("condition on data", "if x[i] > 0:\n    y[i] = x[i]", "no", "no", "`min` and `max` choose"),
    Row("`for` over `range`", "for k in range(6, 0, -2):\n    y[i] += x[k]", "yes", "yes"),
    Row("loop variable after its loop", "for k in range(3):\n    y[i] += x[k]\ny[i] += x[k]", "no", "one size"),
    Row("assigned loop variable", "for k in range(3):\n    k = k + 1\n    y[i] += x[k]", "no", "one size"),
    Row("`for ... else`", "for k in range(3):\n    y[i] += x[k]\nelse:\n    pass", "no", "one size"),
    Row("`while`", "while i < 0:\n    y[i] = 0", "no", "no", "loops have bounds"),
    Row("`break`, `continue`", "for k in range(3):\n    if k == 1:\n        continue\n    y[i] += x[k]", "no", "one size"),
    Row("lambda, inner `def`", "f = lambda v: v + 1\ny[i] = f(x[i])", "yes", "yes", "reads its home's variables when called"),
    Row("comprehension, `sum`", "y[i] = sum([x[k] for k in range(3)])", "no", "one size"),
    Row("`assert`", "assert i >= 0\ny[i] = x[i]", "no", "one size", "a spec's is checked where it is reached"),
    Row("`try`", "try:\n    y[i] = x[i]\nfinally:\n    pass", "no", "one size"),
    Row("`:=`", "y[i] = x[(k := i)]", "no", "one size"),
    Row("`abs`, other calls", "y[i] = abs(x[i])", "no", "no", "sketches call words and `@wl.device`, specs functions too"),
)


def table() -> str:
    """`ROWS` for docs/language.md."""
    lines = ["| Python | example | sketch | spec | |", "| --- | --- | --- | --- | --- |"]
    for row in ROWS:
        example = row.example.replace("\n", "; ").replace("|", "\\|").replace(":;     ", ": ").replace(";     ", "; ")
        construct = row.construct.replace("|", "\\|")
        lines.append(f"| {construct} | `{example}` | {row.sketch} | {row.spec} | {row.note} |")
    return "\n".join(lines)
