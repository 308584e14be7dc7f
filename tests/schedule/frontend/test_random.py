"""Random tensor functions compute what Python computes from the same formula, element by element."""

import math
import random

import numpy as np
import pytest

from warploom.schedule.backbone import backbone_text, cpu_tiles, evaluate_program, parse_backbone, verify
from warploom.schedule.frontend import load_tensors

COUNT = 60
SIZES = {"p": 3, "q": 5}
ROWS, COLUMNS = ("i", "r"), ("j", "c")


class Formula:
    """A formula in both languages at once: a tensor function's, and Python's over nested lists."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)

    def leaf(self, rows, columns):
        row, column = self.rng.choice(rows), self.rng.choice(columns)
        up, left = self.rng.randint(-2, 2), self.rng.randint(-2, 2)
        choices = [
            ("0.75", "0.75"),
            ("alpha", "alpha"),
            ("p / 2", "1.5"),
            (f"X[{row}, {column}]", f"X[{row}][{column}]"),
            (f"T[{column}, {row}]", f"T[{column}][{row}]"),
            (f"W[2 * {column} + 1]", f"W[2 * {column} + 1]"),
            (f"W[9 - {column}]", f"W[9 - {column}]"),
            (f"pad(X, 0.25)[{row} + {up}, {column} - {left}]", f"at(X, {row} + {up}, {column} - {left})"),
        ]
        return self.rng.choice(choices)

    def formula(self, depth, rows, columns):
        if depth == 0:
            return self.leaf(rows, columns)
        kind = self.rng.choice(["binary", "binary", "call", "unary", "power", "reduction"])
        dsl, python = self.formula(depth - 1, rows, columns)
        if kind == "reduction" and "c" not in columns:
            name = self.rng.choice(["sum", "prod", "max", "min"])
            dsl, python = self.formula(depth - 1, rows, (*columns, "c"))
            dsl, python = f"(X[{rows[0]}, c] + ({dsl}))", f"(X[{rows[0]}][c] + ({python}))"
            return f"{name}({dsl}, over=c)", f"{name}({python} for c in range(5))"
        if kind in ("binary", "reduction"):
            other = self.formula(depth - 1, rows, columns)
            sign = self.rng.choice(["+", "-", "*"])
            return f"({dsl} {sign} {other[0]})", f"({python} {sign} {other[1]})"
        if kind == "call":
            other = self.formula(depth - 1, rows, columns)
            name = self.rng.choice(["max", "min"])
            return f"{name}({dsl}, {other[0]})", f"{name}({python}, {other[1]})"
        if kind == "power":
            return f"({dsl}) ** 2", f"({python}) ** 2"
        name = self.rng.choice(["-", "abs", "tanh"])
        return f"{name}({dsl})", f"{name}({python})"


def texts(seed):
    """The body of a tensor function, and a Python expression of Y[i, j]."""
    made = Formula(seed)
    first, second = made.formula(2, ("i",), ("j",)), made.formula(3, ("i",), ("j",))
    body = f"    a[i, j] = X[i, j] - {first[0]}\n    Y[i, j] = {second[0]} * a[i, j] + max(a[i, j], over=i)\n"
    a = f"(lambda i, j: X[i][j] - {first[1]})"
    return body, f"{second[1]} * {a}(i, j) + max({a}(n, j) for n in range(3))"


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    header = "from __future__ import annotations\nfrom warploom.core import f64\n"
    header += "from warploom.schedule.frontend import out, pad, tanh, tensor\n"
    arrays = 'alpha: f64, X: f64["p", "q"], T: f64["q", "p"], W: f64["2*q"], Y: out[f64["p", "q"]]'
    parts = [f"@tensor\ndef random_{seed}({arrays}):\n{texts(seed)[0]}" for seed in range(COUNT)]
    path = tmp_path_factory.mktemp("random") / "functions.py"
    path.write_text("\n\n".join((header, *parts)))
    return load_tensors(path)


def at(array, row, column):
    return array[row][column] if 0 <= row < 3 and 0 <= column < 5 else 0.25


@pytest.mark.parametrize("seed", range(COUNT))
def test_computes_the_formula(seed, functions):
    rng = np.random.default_rng(seed)
    arrays = {n: rng.uniform(-1, 1, s) for n, s in (("X", (3, 5)), ("T", (5, 3)), ("W", (10,)))}
    program = functions[seed].program(SIZES, cpu_tiles)
    (stage,) = program.stages
    verify(stage)
    got = evaluate_program(program, arrays, {"alpha": 1.25})["Y"]
    names = {n: a.tolist() for n, a in arrays.items()} | {"alpha": 1.25, "at": at, "prod": math.prod, "tanh": math.tanh}
    formula = texts(seed)[1]
    wanted = [[eval(formula, names | {"i": i, "j": j}) for j in range(5)] for i in range(3)]
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)
    again = evaluate_program(type(program)("again", (parse_backbone(backbone_text(stage)),), ()), arrays, {"alpha": 1.25})
    np.testing.assert_array_equal(again["Y"], got)
