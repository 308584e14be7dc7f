"""The Python that loops and operators may use: one table of operations and functions, and the rows of docs/scan.md with examples.

The reader takes its meanings from here, messages name what stands here, and tests read every example.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Literal, Protocol

import numpy as np

from warploom.operations import BY_NAME, OF_INTEGERS, PYTHON_SIGNS
from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr
from warploom.scan.reading.source import Module
from warploom.scan.reading.values import Floating, Scalar, Value, bare, constant_of, floating, is_float

MAX_EXPONENT = 64
MAX_SHIFT = 1024


@dataclass(frozen=True, slots=True)
class Operation:
    """The meaning of an operation on two operands; its sign and types are those of its row in `operations`."""

    node: type[ast.operator]
    meaning: Callable[[Expr, Expr], Expr]
    is_bitwise: bool = False
    counts: Callable[[int], bool] | None = None
    """Says which constants the right side may be, where it has to be a constant."""
    wanted: str = ""
    """The same in words."""

    @property
    def sign(self) -> str:
        return PYTHON_SIGNS[self.node]

    @property
    def is_whole(self) -> bool:
        """Whether it is for whole numbers only."""
        return self.sign in OF_INTEGERS


def _bits(op: Literal["bitand", "bitor", "bitxor"]) -> Callable[[Expr, Expr], Expr]:
    return lambda a, b: ex.bitwise(op, a, b)


def _integer(value: Expr) -> int:
    assert isinstance(value.value, int)
    return value.value


def _floor_quotient(a: Expr, b: Expr) -> Expr:
    divisor = _integer(b)
    return ex.floor_quotient(a if divisor > 0 else ex.negate(a), abs(divisor))


def _remainder(a: Expr, b: Expr) -> Expr:
    """Remainder with the sign of the divisor."""
    divisor = _integer(b)
    return ex.remainder(a, divisor) if divisor > 0 else ex.negate(ex.remainder(ex.negate(a), -divisor))


_NOT_ZERO = "a constant that is not 0"
_OPERATIONS = (
    Operation(ast.Add, ex.add),
    Operation(ast.Sub, ex.subtract),
    Operation(ast.Mult, ex.multiply),
    Operation(ast.Div, ex.quotient),
    Operation(ast.FloorDiv, _floor_quotient, counts=bool, wanted=_NOT_ZERO),
    Operation(ast.Mod, _remainder, counts=bool, wanted=_NOT_ZERO),
    Operation(
        ast.Pow, lambda a, b: reduce(ex.multiply, [a] * _integer(b), ex.ONE), counts=lambda n: 0 <= n <= MAX_EXPONENT,
        wanted=f"a constant from 0 to {MAX_EXPONENT}",
    ),
    Operation(
        ast.LShift, lambda a, b: ex.multiply(a, ex.constant(2 ** _integer(b))), counts=lambda n: 0 <= n <= MAX_SHIFT,
        wanted=f"a constant from 0 to {MAX_SHIFT}",
    ),
    Operation(
        ast.RShift, lambda a, b: ex.floor_quotient(a, 2 ** _integer(b)), counts=lambda n: 0 <= n <= MAX_SHIFT,
        wanted=f"a constant from 0 to {MAX_SHIFT}",
    ),
    Operation(ast.BitAnd, _bits("bitand"), is_bitwise=True),
    Operation(ast.BitOr, _bits("bitor"), is_bitwise=True),
    Operation(ast.BitXor, _bits("bitxor"), is_bitwise=True),
)  # fmt: skip
OPERATIONS = {operation.node: operation for operation in _OPERATIONS}
SIGNS = ", ".join(o.sign for o in OPERATIONS.values())


class Reader(Protocol):
    """The part of the interpreter that the meaning of a function needs to read its call."""

    rounds: bool
    """True if integers became floats."""

    @property
    def module(self) -> Module: ...
    def mixed(self, *values: Scalar) -> None:
        """Notes where integers take part in arithmetic of floats."""

    def quotient(self, node: ast.AST, left: Scalar, right: Scalar, *, exact: bool = False) -> Value: ...


@dataclass(frozen=True, slots=True)
class Known:
    """A function of Python, by the object that the name is bound to."""

    name: str
    meaning: Callable[[Reader, ast.Call, Sequence[Value]], Value]


def _numbers(reader: Reader, node: ast.Call, name: str, arguments: Sequence[Value], count: int | None) -> list[Scalar]:
    numbers = [a for a in arguments if isinstance(a, Expr | Floating) and bare(a).sort.base != "text"]
    if len(numbers) != len(arguments) or (count is not None and len(numbers) != count):
        wanted = "numbers" if count is None else "one number" if count == 1 else f"{count} numbers"
        reader.module.unsupported(node, f"expected {wanted} as arguments of {name}", USE)
    return numbers


def _expressions(numbers: Sequence[Scalar]) -> list[Expr]:
    return [ex.as_number(bare(n)) for n in numbers]


def _several(name: str, meaning: Callable[..., Expr]) -> Known:
    """`name(a, b, ...)` or `name((a, b, ...))`."""

    def apply(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
        if len(arguments) == 1:
            if not isinstance(arguments[0], tuple):
                fix = f"Write {name}(best, x): the values so far stand in a variable."
                reader.module.unsupported(node, f"expected {name} of two or more numbers, got one", fix)
            arguments = arguments[0]
        numbers = _numbers(reader, node, name, arguments, None)
        if not numbers:
            reader.module.unsupported(node, f"expected numbers as arguments of {name}", USE)
        found = meaning(*_expressions(numbers))
        return floating(found) if any(map(is_float, numbers)) else found

    return Known(name, apply)


def _sum(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    if len(arguments) != 1 or not isinstance(arguments[0], tuple):
        reader.module.unsupported(node, "expected sum of one tuple, got something else", "Write sum((a, b)), or a + b.")
    numbers = _numbers(reader, node, "sum", arguments[0], None)
    floats = any(map(is_float, numbers))
    if floats:
        reader.mixed(*numbers)
    found = ex.add(*_expressions(numbers))
    return floating(found) if floats else found


def _abs(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    (one,) = _numbers(reader, node, "abs", arguments, 1)
    number = ex.as_number(bare(one))
    found = ex.maximum(number, ex.negate(number))
    return floating(found) if is_float(one) else found


def _gcd(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    numbers = _numbers(reader, node, "gcd", arguments, None)
    if any(map(is_float, numbers)):
        reader.module.unsupported(node, "expected whole numbers as arguments of gcd, got a float", USE)
    return reduce(ex.greatest_common_divisor, _expressions(numbers), ex.ZERO)


def _of_floats(name: str, meaning: Callable[[Expr, Expr], Expr]) -> Known:
    """A function of NumPy, of floats only: whole numbers would become words of 64 bits, which wrap."""

    def apply(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
        first, second = _numbers(reader, node, name, arguments, 2)
        if not any(is_float(n) for n in (first, second)):
            message = f"expected floats in NumPy's {name}, got whole numbers, which it keeps in 64 bits"
            reader.module.unsupported(node, message, f"Write {name[:3]}(a, b), or annotate the elements: list[float].")
        return floating(meaning(*_expressions([first, second])))

    return Known(name, apply)


def _float_abs(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    """The absolute value of a float; of whole numbers NumPy's has 64 bits, and that of `math` is rounded."""
    (one,) = _numbers(reader, node, "abs", arguments, 1)
    if not is_float(one):
        reader.module.unsupported(node, "expected a float in this abs, got a whole number", "Write abs(x).")
    return _abs(reader, node, arguments)


def _exp(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    (one,) = _numbers(reader, node, "exp", arguments, 1)
    reader.rounds |= not is_float(one) and bare(one).op != "const"
    return ex.exponential(ex.as_number(bare(one)))


def _of_real(op: Literal["log", "sqrt"]) -> Known:
    """A logarithm or a root."""

    def apply(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
        (one,) = _numbers(reader, node, op, arguments, 1)
        reader.rounds |= not is_float(one) and bare(one).op != "const"
        return floating(ex.of_real(op, ex.as_number(bare(one))))

    return Known(op, apply)


def _to_base(base: int) -> Known:
    """A logarithm to a base other than e."""

    def apply(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
        (one,) = _numbers(reader, node, f"log{base}", arguments, 1)
        reader.rounds |= not is_float(one) and bare(one).op != "const"
        natural = ex.of_real("log", ex.as_number(bare(one)))
        return floating(ex.multiply(natural, ex.quotient(ex.ONE, ex.of_real("log", ex.constant(base)))))

    return Known(f"log{base}", apply)


def _bool(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    if len(arguments) != 1 or isinstance(arguments[0], tuple):
        reader.module.unsupported(node, "expected one value as argument of bool", USE)
    return ex.as_condition(bare(arguments[0]))


def _int(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    (one,) = _numbers(reader, node, "int", arguments, 1)
    if bare(one).sort.base == "real" or bare(one).sort.is_infinite:
        reader.module.unsupported(node, "expected a whole number as argument of int, got a float", USE)
    return ex.as_number(bare(one))


def _float(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    if len(arguments) == 1 and not isinstance(arguments[0], tuple):
        one = bare(arguments[0])
        if one.op == "const" and isinstance(one.value, str):
            try:
                found = constant_of(float(one.value))
            except ValueError:
                found = None
            return found or reader.module.unsupported(node, f"expected a number in float({one.value!r})", USE)
    (number,) = _numbers(reader, node, "float", arguments, 1)
    reader.rounds |= not is_float(number) and bare(number).op != "const"
    return floating(ex.as_number(bare(number)))


def _fraction(reader: Reader, node: ast.Call, arguments: Sequence[Value]) -> Value:
    left, right = _numbers(reader, node, "Fraction", arguments, 2)
    return reader.quotient(node, left, right, exact=True)


_MAX, _MIN, _ABS, _EXP = (BY_NAME[name] for name in ("max", "min", "abs", "exp"))
_FUNCTIONS: dict[object, Known] = {
    _MAX.exact: _several(_MAX.name, ex.maximum),
    _MIN.exact: _several(_MIN.name, ex.minimum),
    _ABS.exact: Known(_ABS.name, _abs),
    sum: Known("sum", _sum),
    bool: Known("bool", _bool),
    int: Known("int", _int),
    float: Known("float", _float),
    np.float64: Known("float", _float),
    np.absolute: Known("abs", _float_abs),
    np.fabs: Known("abs", _float_abs),
    math.fabs: Known("abs", _float_abs),
    np.exp: Known(_EXP.name, _exp),
    np.log: _of_real("log"),
    np.sqrt: _of_real("sqrt"),
    math.gcd: Known("gcd", _gcd),
    _EXP.exact: Known(_EXP.name, _exp),
    math.log: _of_real("log"),
    math.log2: _to_base(2),
    math.log10: _to_base(10),
    np.log2: _to_base(2),
    np.log10: _to_base(10),
    math.sqrt: _of_real("sqrt"),
    Fraction: Known("Fraction", _fraction),
    np.maximum: _of_floats(_MAX.name, ex.maximum),
    np.minimum: _of_floats(_MIN.name, ex.minimum),
}
NAMES = ", ".join(dict.fromkeys(k.name for k in _FUNCTIONS.values()))
USE = f"Use numbers, truth values, {SIGNS}, comparisons, and/or/not, {NAMES}, and your own functions."


def spelled(value: object, node: ast.Call) -> ast.expr | None:
    """A call of `divmod` or `pow` as operations; None: another function, or other arguments."""
    match node.args:
        case [a, b] if value is divmod:
            parts: list[ast.expr] = [ast.BinOp(a, ast.FloorDiv(), b), ast.BinOp(a, ast.Mod(), b)]
            made: ast.expr = ast.Tuple(parts, ast.Load())
        case [a, b] if value is pow:
            made = ast.BinOp(a, ast.Pow(), b)
        case [a, b, divisor] if value is pow:
            made = ast.BinOp(ast.BinOp(a, ast.Pow(), b), ast.Mod(), divisor)
        case _:
            return None
    return None if node.keywords else ast.fix_missing_locations(ast.copy_location(made, node))


def function(value: object) -> Known | None:
    """Meaning of a call of this object; None: not served."""
    try:
        return _FUNCTIONS.get(value)
    except TypeError:  # unhashable
        return None


def instead_of(called: str) -> str:
    """The replacement to write for a function that is not served."""
    name = called.rpartition(".")[2]
    if name in ("argmax", "argmin", "nanargmax", "nanargmin", "index"):
        sign = "<" if "min" in name else ">"
        return f"Keep the best element and its index in two variables: if x {sign} best: best, at = x, i."
    for row in (_MAX, _MIN):
        if name in (row.numpy, f"f{row.name}"):
            return f"Write {row.name}(a, b)."
    if name in ("sorted", "sort", "set", "dict", "list"):
        return "Keep what is needed of earlier elements in a fixed number of variables."
    if name == "len":
        return "Count the elements in a variable: n += 1."
    return USE


def refused_statement(kind: type[ast.stmt]) -> tuple[str, str]:
    """Message and fix for a statement that is not served."""
    if issubclass(kind, ast.Break):
        return "expected a loop that reads every element, got break", "Keep a flag in a variable and test it."
    if issubclass(kind, ast.For | ast.While):
        return "expected one loop, got a loop within it", "Write the inner loop as min, max or sums."
    if issubclass(kind, ast.Expr):
        return "expected assignments and conditionals, got an expression whose value is not used", "Leave it out."
    return f"expected assignments and conditionals, got {kind.__name__}", "Rewrite this line."


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table in docs/scan.md."""

    name: str
    text: str
    examples: tuple[str, ...] = ()
    """Bodies of loops `for x in xs:` with states a, b and c (integers); or whole functions `f`."""


def _signs(*kinds: type[ast.operator]) -> str:
    return ", ".join(f"`{OPERATIONS[k].sign}`" for k in kinds)


ROWS = (
    Row(
        "header",
        "`for x in xs`, `for a, b in xs`, `for x, y in zip(xs, ys)` (lists of one length), `for i, x in enumerate(xs)`,"
        " `for i in range(len(xs))` with `xs[i]` and `xs[i - 1]`, `for i in range(1, n)` where `n = len(xs)`, `for x in xs[1:]`,"
        " `for a, b in zip(xs, xs[1:])`, `for i in range(len(xs) - 1)` with `xs[i + 1]`, `for i in range(1, n - 1)` with"
        " `xs[i - 1]`, `xs[i]`, `xs[i + 1]` and other windows of up to five numbers, `while i < n` that ends with `i += 1`;"
        " `else` after the loop, `if not xs: return ...` before it; `for x in reversed(xs)`, `xs[::-1]`, `range(n - 1, -1, -1)`;"
        " without a loop: `sum(x * x for x in xs)`, `any`, `all`, `max`, `min`, `math.prod`, `len([...])`, `xs.count(0)`,"
        " `reduce(f, xs, 0)`, `re.fullmatch(P, text) is not None`, several over one list",
        (
            "def f(xs):\n    a = 0\n    for x, y in xs:\n        a += x * y\n    return a",
            "def f(xs, ys):\n    a = 0\n    for x, y in zip(xs, ys):\n        a += x * y\n    return a",
            "def f(xs):\n    a = 0\n    for i, x in enumerate(xs, 1):\n        a += i * x\n    return a",
            "def f(xs):\n    a = 0\n    for i in range(len(xs)):\n        a += i * xs[i]\n    return a",
            "def f(xs):\n    n = len(xs)\n    a = 0\n    for i in range(1, n):\n        a += xs[i] != xs[i - 1]\n    return a",
            "def f(xs):\n    if not xs:\n        return 0\n    a = xs[0]\n    for x in xs[1:]:\n        a += x\n    return a",
            "def f(xs):\n    a = 0\n    for p, x in zip(xs, xs[1:]):\n        a += p < x\n    return a",
            "def f(xs):\n    a = 0\n    for i in range(1, len(xs) - 1):\n        a += xs[i - 1] * xs[i + 1]\n    return a",
            "def f(xs):\n    a = 0\n    for i in range(len(xs) - 1):\n        a += xs[i] < xs[i + 1]\n    return a",
            "def f(xs):\n    a = 0\n    for x in reversed(xs):\n        a = 2 * a + x\n    return a",
            "def f(xs):\n    return sum(x * x for x in xs) - max(x for x in xs)",
            "import re\n\ndef f(xs: str):\n    return re.fullmatch(r'[a-z]+[0-9]*', xs) is not None",
            "def f(xs):\n    a = 0\n    for x in xs:\n        if x: break\n    else:\n        a = 1\n    return a",
            "def f(xs):\n    i = 0\n    a = 0\n    while i < len(xs) and xs[i]:\n        a += 2\n        i += 1\n    return a",
        ),
    ),
    Row(
        "states",
        'variables that have a value before the loop and are assigned in it; `float("inf")` is a value, `xs[0]` another one,'
        " `None` too; tuples, dictionaries with constant keys, objects of plain dataclasses, each in one variable",
        (
            'def f(xs):\n    a = float("inf")\n    for x in xs:\n        a = min(a, x)\n    return a',
            "def f(xs):\n    a = None\n    for x in xs:\n        if a is None or x < a:\n            a = x\n    return a",
            "def f(xs):\n    d = {'odd': 0}\n    for x in xs:\n        d['odd'] += x % 2\n    return d['odd']",
        ),
    ),
    Row(
        "body",
        "assignments, `if`, `continue`, `break`, `return`, loops over `range` of numbers, conditional"
        + " expressions, `match` of constants, `:=` where it is always read, `and`, `or`, `not`, comparisons, `in` a tuple, "
        + f"{_signs(ast.Add, ast.Sub, ast.Mult, ast.Div)}; {_signs(ast.FloorDiv, ast.Mod)} by a constant, "
        + f"{_signs(ast.Pow, ast.LShift, ast.RShift)} by a constant, {_signs(ast.BitAnd, ast.BitOr, ast.BitXor)};"
        + f" {', '.join(dict.fromkeys(f'`{k.name}`' for k in _FUNCTIONS.values()))}, `divmod`, `pow`;"
        + " your own functions, in this file or another, and lambdas",
        (
            "if x:\n    a += 1\nelif x < -3:\n    continue",
            "a = x and b or 2",
            "a = x if 0 < x < 5 else -x",
            "a += x in (1, 2, -3)",
            "a += x // -3 + x % 5 + x ** 2 + (x << 2) + (x >> 1)",
            "a, b = b, a",
            "if x > 3:\n    break",
            "if x > 3:\n    return a, x, 1",
            "for k in range(3):\n    a += x * k",
            "a = max(a, abs(x)); b = min((b, x, 0)); c = sum((a, b))",
            "q, r = divmod(x, 60); a += q; b += r",
            "if (a := a + x) > b:\n    b = a",
            "match x:\n    case 1 | 2:\n        a += 1\n    case _:\n        b += x",
        ),
    ),
    Row(
        "result",
        "after the loop, any expression of the states, or several (a reduction); or `out.append(...)` once per element and"
        " `return out` (a scan: a result for every prefix); or `out = [0] * n`, `out[0] = ...`, and `out[i] = ...` in the loop,"
        " which may read `out[i - 1]`; or `yield` once per element; `len(xs)` is a value there",
        (
            "def f(xs):\n    a = n = 0\n    for x in xs:\n        a += x\n        n += 1\n    return a / n if n else 0, n",
            "def f(xs):\n    a = 0\n    out = []\n    for x in xs:\n        a += x\n        out.append(a * 2)\n    return out",
            "def f(xs):\n    a = 0\n    for x in xs:\n        a += x\n        yield a",
            "def f(xs):\n    a = 0\n    for x in xs:\n        a += x\n    return a / len(xs)",
            "def f(xs):\n    out = [0] * len(xs)\n    out[0] = xs[0]\n    for i in range(1, len(xs)):\n"
            "        out[i] = max(out[i - 1], xs[i])\n    return out",
        ),
    ),
    Row(
        "types",
        'states are numbers, truth values, or a few literal texts (`state = "quoted"`); elements by annotation: `list[int]`,'
        " `list[bool]`, `list[float]` (real numbers), `str` or `list[str]` (compared by `==` only), `bytes`,"
        " `list[tuple[int, bool]]`;"
        " the characters of a `str` also by `<`, `in`, `ord`, `int`, `c.isdigit()` and the like (of ASCII);"
        " `list[Literal[-1, 0, 1]]` says that there are no other values; without one: integers,"
        " in tuples where the loop takes `xs[i]` apart, and where that matters the printed `lift` refuses other numbers",
        (
            "def f(xs: list[float]):\n    a = 0\n    for x in xs:\n        a += x\n    return a",
            "def f(xs: str):\n    a = 0\n    for c in xs:\n        a += c in 'aeiou' or 'A' <= c <= 'Z'\n    return a",
        ),
    ),
    Row(
        "names",
        "parameters that are not looped over are constants of the call; all other names mean what they are bound to in the"
        " loaded file: numbers, truth values, texts, tuples of them, functions (decorated ones as the decorator"
        " left them), values of modules (`math.inf`), dictionaries and sets of up to 64 constants (`TABLE[c]`, `c in TABLE`)",
        ("def f(xs, k=3):\n    a = 0\n    for x in xs:\n        a += x * k\n    return a",),
    ),
    Row(
        "assumptions",
        "`assert` in the loop, where it is reached, says which elements are meant; before the loop, which constants",
        ("assert x > 0\na += x",),
    ),
)
REFUSED = (
    "nested loops over lists, `while` of other forms, elements other than the current one and the one before (keep them in a"
    " variable)"
)


def table() -> str:
    """The table of docs/scan.md."""
    return "\n".join(["| | |", "| --- | --- |", *(f"| {r.name} | {r.text} |" for r in ROWS)])
