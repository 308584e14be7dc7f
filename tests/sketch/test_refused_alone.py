"""Texts that are no sketches, wrong in one place each; then readers that say no where another rule would refuse as well."""

from __future__ import annotations

import ast
import linecache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.sketch.helpers import body, problem, text

import warploom as wl
from warploom.core import UserError, i32
from warploom.ir import Builtin, Compare, HoleArg, IndexConst
from warploom.sketch.loader import load_variables
from warploom.sketch.parser import calls, parse_spec, transfers
from warploom.sketch.parser.functions import apply_function
from warploom.sketch.parser.statements import _has_return  # pyright: ignore[reportPrivateUsage]
from warploom.sketch.ranges import Facts, _UnknownError  # pyright: ignore[reportPrivateUsage]
from warploom.sketch.source import written
from warploom.sketch.term_specs import term_spec

HEAD = """\
def kernel(
    x: wl.Global[i32, 32], y: wl.Global[i32, 32], c: wl.Constant[i32, 32],
    w: wl.Global[f32, 32], v: wl.Global[int2, 32], m: wl.Global[i32, 4, 4],
):
"""


def kernel_of(lines: str, head: str = HEAD):
    """A function with that text, as if it stood in a file."""
    whole = head + "".join(f"    {line}\n" for line in lines.split("\n"))
    name = f"<{hash(whole)}>"
    linecache.cache[name] = len(whole), None, whole.splitlines(keepends=True), name
    names: dict[str, object] = {"wl": wl, "f32": wl.f32, "i32": wl.i32, "int2": wl.int2}
    exec(compile(whole, name, "exec"), names)
    return names["kernel"]


@pytest.mark.parametrize(
    ("lines", "code", "message"),
    [
        ("a = wl.accumulator(i32, op='+', init=1.5)\ny[0] = a.value()", "DTYPE_MISMATCH", "expected init of type i32, got 1.5"),
        (
            "a = wl.accumulator(i32, op='+', finalize=3)\ny[0] = a.value()",
            "ARGUMENTS",
            "expected a function for finalize, got an index",
        ),
        (
            "a = wl.accumulator(i32, (2,), op='+')\ny[0] = a.value()",
            "ARGUMENTS",
            "accumulator: multiple values for argument 'op'",
        ),
        ("a = wl.accumulator(i32, op='+')\ny[0] = a.value(1)", "ARGUMENTS", "value() takes no arguments"),
        ("a = wl.accumulator(i32, op='+')\na.add()\ny[0] = a.value()", "ARGUMENTS", "expected add(a, b, ..., when=condition)"),
        (
            "a = wl.accumulator(i32, op='+')\na.add(x[0], then=True)\ny[0] = a.value()",
            "ARGUMENTS",
            "expected add(a, b, ..., when=condition)",
        ),
        (
            "a = wl.accumulator(i32, op='+')\na.add([])\ny[0] = a.value()",
            "ARGUMENTS",
            "expected one or more operands, got an empty list",
        ),
        (
            "a = wl.accumulator(i32, op='+')\na.add([[x[0], x[1]], x[2]])\ny[0] = a.value()",
            "SHAPE_MISMATCH",
            "expected operands nested at most 1 deep, got a list at depth 3",
        ),
        ("y[0] = x[wl.thread_id('w')]", "ARGUMENTS", 'expected the axis "x", "y" or "z", got \'w\''),
        ("s = wl.shared(i32, 0)\ny[0] = x[0]", "SHAPE_MISMATCH", "expected positive extents, got (0,)"),
        ("s = wl.shared(i32)\ny[0] = x[0]", "SHAPE_MISMATCH", "expected positive extents, got ()"),
        ("v[0] = wl.pack(int2, x[0])", "SHAPE_MISMATCH", "expected a vector type and as many components, got int2 and 1"),
        ("y[0] = wl.pack(i32, x[0])", "SHAPE_MISMATCH", "expected a vector type and as many components, got i32 and 1"),
        ("y[0] = wl.shfl(3, 1)", "DATA_EXPECTED", "expected data to shuffle, got an index"),
        ("y[0] = wl.shfl(x[0], 1, 12)", "SHAPE_MISMATCH", "expected a width that divides the warp size 32, got 12"),
        ("y[0] = wl.shfl(x[0], 1, 0)", "SHAPE_MISMATCH", "expected a width that divides the warp size 32, got 0"),
        ("y['a'] = x[0]", "INDEX_EXPECTED", "expected an index of 'y', got 'a'"),
        ("y[wl] = x[0]", "INDEX_EXPECTED", "expected an index of 'y', got `warploom`"),
        ("y[1.5] = x[0]", "INDEX_EXPECTED", "expected an index of 'y', got 1.5"),
        ("r = wl.register(i32, wl.thread_id())\ny[0] = x[0]", "NOT_CONSTANT", "expected an extent known at compile time"),
        ("if x[0]:\n    y[0] = x[0]", "INDEX_FROM_DATA", "expected a condition known before the run, got data of type i32"),
        ("if wl:\n    y[0] = x[0]", "CONDITION_EXPECTED", "expected a condition, got `warploom`"),
        ("y[0] = wl.cast(3, x[0])", "DTYPE_EXPECTED", "expected an element type first"),
        ("y[0] = wl.literal('i32', 0)", "DTYPE_EXPECTED", "expected an element type first"),
        ("y[0] = x[0 if 0 in (0, 1) else 1]", "UNSUPPORTED_PYTHON", "this comparison is not part of the sketch language"),
        ("y[0] = x[0] if wl is wl else x[1]", "UNSUPPORTED_PYTHON", "this comparison is not part of the sketch language"),
        ("y[0] = x[0] if (0, 1) < (1, 0) else x[1]", "INDEX_EXPECTED", "expected an index, got a tuple"),
        ("y[0] = x.z", "UNKNOWN_NAME", "the array 'x' has no attribute 'z'"),
        ("y[0] = x[0].x", "UNKNOWN_NAME", "data of type i32 has no attribute 'x'"),
        ("y[0] = v[0].q", "UNKNOWN_NAME", "data of type int2 has no attribute 'q'"),
        ("y[0] = x[0][0]", "RANK", "data of type i32 has no elements"),
        ("y[0] = (x[0], x[1])[2]", "OUT_OF_BOUNDS", "expected an index below 2, got 2"),
        ("y[0] = m[0][0:1]", "UNSUPPORTED_PYTHON", "a slice is not part of the sketch language"),
        ("y[0] = wl.shfl(x[0], **{})", "UNSUPPORTED_PYTHON", "`**` in a call is not part of the sketch language"),
        ("y[0] = wl.shfl(*(x[0], 1))", "UNSUPPORTED_PYTHON", "`*` is not part of the sketch language"),
        ("y[0] = min(x[0])", "ARGUMENTS", "expected min(a, b, ...) with two or more operands"),
        ("y[0] = min(x[0], x[1], key=3)", "ARGUMENTS", "expected min(a, b, ...) with two or more operands"),
        ("y[0] = x[len(3)]", "ARGUMENTS", "an index has no length"),
        ("y[0] = x[len(wl.thread_id())]", "ARGUMENTS", "an index has no length"),
        ("y[0] = x[wl.const(range(0, 4, 0), name='a')]", "UNSUPPORTED_PYTHON", "`range` cannot be called in a sketch"),
        ("y[0] = x[wl.const(*range(0, 4, 0), name='a')]", "ARGUMENTS", "expected a step that is not zero"),
        (
            "y[0] = x[wl.cond(wl.thread_id(), 1, grammar='odd')]",
            "ARGUMENTS",
            "expected a grammar among full, constant-free, modular, got 'odd'",
        ),
        ("y[0] = x[wl.part(0, wl.thread_id())]", "ARGUMENTS", "expected the number of parts to be positive, got 0"),
        ("y[0] = x[wl.const(name='a')]", "ARGUMENTS", "expected one or more integers"),
        ("y[0] = wl.choose(name='a')", "ARGUMENTS", "expected one or more alternatives"),
        ("y[0] = wl.choose(x[0], w[0], name='a')", "DTYPE_MISMATCH", "expected an alternative of type i32, got f32"),
        ("y[0] = x[wl.thread_id() // 0]", "DIVISION_BY_ZERO", "division by zero"),
        ("y[0] = x[3 // 0]", "DIVISION_BY_ZERO", "division by zero"),
        ("y[0] = x[3 % 0]", "DIVISION_BY_ZERO", "division by zero"),
        ("y[0] = x[0] if wl.thread_id() else (1, 2)", "CONDITION_EXPECTED", "expected a condition, got an index"),
        (
            "z = x if wl.thread_id() < 3 else y\ny[0] = z[0]",
            "MIXED_ALTERNATIVES",
            "expected two indices or two values of one type, got the array 'x' and the array 'y'",
        ),
        ("a = b = x[0]\ny[0] = a", "UNSUPPORTED_PYTHON", "a chain of assignments is not part of the sketch language"),
        (
            "@wl\ndef f(a):\n    return a\ny[0] = f(x[0])",
            "UNSUPPORTED_PYTHON",
            "a decorated inner function is not part of the sketch language",
        ),
        ("a = None\ny[0] = x[0]", "NO_VALUE", "expected a value to assign, got None"),
        ("a, b = x[0]\ny[0] = a", "SHAPE_MISMATCH", "expected 2 values to assign, got data of type i32"),
        ("a, b = x[0], x[1], x[2]\ny[0] = a", "SHAPE_MISMATCH", "expected 2 values to assign, got 3 values"),
        (
            "a.b = x[0]",
            "UNSUPPORTED_PYTHON",
            "a component of something else than an element as target is not part of the sketch language",
        ),
        ("*a, b = x[0], x[1]\ny[0] = b", "UNSUPPORTED_PYTHON", "this target of an assignment is not part of the sketch language"),
        (
            "a = wl.accumulator(i32, op='+')\na[0] = x[0]",
            "STORE_TARGET",
            "expected an array to store to, got the accumulator 'a'",
        ),
        ("a = 3\na[0] = x[0]", "STORE_TARGET", "expected an array to store to, got an index"),
        ("m[0] = x[0]", "RANK", "'m' has 2 dimensions, got 1 indices"),
        ("m[0, 0, 0] = x[0]", "RANK", "'m' has 2 dimensions, got 3 indices"),
        ("y[0] **= 2", "UNSUPPORTED_PYTHON", "operator `**` on data is not part of the language"),
        ("a = 2\na **= 2\ny[a] = x[0]", "UNSUPPORTED_PYTHON", "operator `**` on indices is not part of the language"),
        (
            "y.a += 1",
            "UNSUPPORTED_PYTHON",
            "a component of something else than an element as target is not part of the sketch language",
        ),
        ("for x in range(3):\n    y[0] = x[0]", "REASSIGN_KIND", "'x' was a parameter and is now a loop variable"),
        (
            "for k in x:\n    y[0] = k",
            "UNSUPPORTED_PYTHON",
            "a `for` over something else than range(...) is not part of the sketch language",
        ),
        (
            "for k in range():\n    y[0] = x[0]",
            "UNSUPPORTED_PYTHON",
            "a `for` over something else than range(...) is not part of the sketch language",
        ),
        (
            "for k in range(1, 2, 3, 4):\n    y[0] = x[0]",
            "UNSUPPORTED_PYTHON",
            "a `for` over something else than range(...) is not part of the sketch language",
        ),
        (
            "for k in range(stop=3):\n    y[0] = x[0]",
            "UNSUPPORTED_PYTHON",
            "a `for` over something else than range(...) is not part of the sketch language",
        ),
        ("r = wl.register(i32, 1)\nr[0] = x[0]\nwl.register_to_global(r, c)", "WRITE_CONSTANT", "'c' is in constant memory"),
        (
            "r = wl.register(i32, 1)\nwl.global_to_register(x[0], r)",
            "ARGUMENTS",
            "expected an array as source of wl.global_to_register, got data of type i32",
        ),
        (
            "r = wl.register(i32, 1)\nwl.global_to_register(3, r)",
            "ARGUMENTS",
            "expected an array as source of wl.global_to_register, got an index",
        ),
        (
            "r = wl.register(i32, 1)\nwl.global_to_register(x, r, slice=0)\ny[0] = r[0]",
            "ARGUMENTS",
            "expected slice to be positive, got 0",
        ),
        (
            "s = wl.shared(i32, 32)\nwl.global_to_shared(x, s, scope='grid')\ny[0] = s[0]",
            "ARGUMENTS",
            'expected scope "block" or "warp", got \'grid\'',
        ),
        ("return x[0]", "RETURN", "a return cannot stand here"),
        ("if wl.thread_id() < 3:\n    return\ny[0] = x[0]", "RETURN", "a return cannot stand here"),
        ("y[0] = f(x[0])", "UNKNOWN_NAME", "unknown name 'f'; it is neither assigned here nor known to the module"),
        (
            "a = wl.accumulator(i32, shape=(2,), op='+')\ny[0] = a.value()",
            "RANK",
            "expected 1 indices of the accumulator array 'a', got 0",
        ),
        (
            "a = wl.accumulator(i32, shape=(2,), op='+')\na.add(x[0])\ny[0] = a[0].value()",
            "RANK",
            "expected 1 indices of the accumulator array 'a', got 0",
        ),
        (
            "a = wl.accumulator(i32, op='?')\ny[0] = a.value()",
            "OPERATOR",
            "expected one of + * min max & | ^ or a wl.operator, got '?'",
        ),
        ("y[0] = x[0] if [] == {} else x[1]", "UNSUPPORTED_PYTHON", "a dict is not part of the sketch language"),
        (
            "r = wl.register(i32, 4)\nwl.global_to_register(x, r, round=0)\ny[0] = r[0]",
            "ARGUMENTS",
            "global_to_register: got an unexpected keyword argument 'round'",
        ),
        (
            "r = wl.register(i32, 4)\nwl.global_to_register(x, r, transform=3)\ny[0] = r[0]",
            "ARGUMENTS",
            "global_to_register: got an unexpected keyword argument 'transform'",
        ),
        ("y[x] = x[0]", "INDEX_EXPECTED", "expected an index of 'y', got the array 'x'"),
        ("if (1, 2):\n    y[0] = x[0]", "CONDITION_EXPECTED", "expected a condition, got a tuple"),
        (
            "y[0] = wl.shfl(x[0], w[0])",
            "INDEX_FROM_DATA",
            "expected the lane of a shuffle known before the run, got data of type f32",
        ),
        ("y[0] = x[wl.const('a', name='b')]", "INDEX_EXPECTED", "expected an integer, got 'a'"),
        ("y[0] = x[0] + (1, 2)", "DATA_EXPECTED", "expected operand of type i32, got a tuple"),
        (
            "def f(*a):\n    return a\ny[1] = f(x[0])",
            "UNSUPPORTED_PYTHON",
            "`*` or `**` parameters (of f) is not part of the sketch language",
        ),
        (
            "y[0] = (lambda *a: a)(x[0])",
            "UNSUPPORTED_PYTHON",
            "`*` or `**` parameters (of lambda) is not part of the sketch language",
        ),
        ("y[0] = (lambda a: a)(b=x[0])", "ARGUMENTS", "expected lambda(a), got 0 positional arguments and b"),
        (
            "def f(a):\n    if a:\n        return 1\n    b = 2\ny[1] = f(x[0])",
            "INDEX_FROM_DATA",
            "expected a condition known before the run, got data of type i32",
        ),
        ("def f(a):\n    return a\n    b = 2\ny[1] = f(x[0])", "UNREACHABLE", "this statement never runs: it follows a return"),
        (
            "a = wl.accumulator(i32, op='+', shape=(0,))\ny[0] = a[0].value()",
            "SHAPE_MISMATCH",
            "expected positive extents, got (0,)",
        ),
        ("a = wl.accumulator(i32, op='+', init=x[0])\ny[0] = a.value()", "ARGUMENTS", "expected init to be a number known now"),
        (
            "a = wl.accumulator(i32, op='+', finalize=wl.shfl)\ny[0] = a.value()",
            "DECORATED",
            "expected a function as it is written, got 'shfl' under a decorator that runs something else",
        ),
        (
            "def f(s):\n    t = s\n    y[0] = t\n    return t\na = wl.accumulator(i32, op='+', finalize=f)\ny[0] = a.value()",
            "ARGUMENTS",
            "expected finalize to be a single expression",
        ),
        ("y[0] = x[0] + 3.5 // 0", "DIVISION_BY_ZERO", "`3.5 // 0` has no value"),
        ("y[0] = x[int(3.0 / 0)]", "UNSUPPORTED_PYTHON", "`int` cannot be called in a sketch"),
        ("y[0] = x[1 if 1.5 // 0 else 2]", "DIVISION_BY_ZERO", "`1.5 // 0` has no value"),
        ("w[0] = w[0] * (1.0 / 0)", "DIVISION_BY_ZERO", "`1.0 / 0` has no value"),
        ("y[0] = x[0] if x is None else x[1]", "UNSUPPORTED_PYTHON", "this comparison is not part of the sketch language"),
        ("y[0] = x[0] if f32 < i32 else x[1]", "INDEX_EXPECTED", "expected integers to compare"),
        ("y[0] = x[0] if 'a' < 'b' else x[1]", "INDEX_EXPECTED", "expected integers to compare"),
        ("a = x[0:1]\ny[0] = a", "UNSUPPORTED_PYTHON", "a slice is not part of the sketch language"),
        ("y[0] = x[0:1]", "UNSUPPORTED_PYTHON", "a slice is not part of the sketch language"),
        ("y[wl.thread_id() + x] = x[0]", "INDEX_EXPECTED", "expected an integer operand, got the array 'x'"),
        ("y[(0, 1)[0:1]] = x[0]", "UNSUPPORTED_PYTHON", "a slice is not part of the sketch language"),
        (
            "y[wl.choose(0, x[0], name='h')] = x[0]",
            "INDEX_FROM_DATA",
            "expected an index of 'y' known before the run, got data of type i32",
        ),
        (
            "y[0] = wl.choose(0, x, name='h')",
            "MIXED_ALTERNATIVES",
            "expected alternatives of one sort, got an index and the array 'x'",
        ),
        ("y[0] = wl.choose(x[0], (1, 2), name='h')", "DATA_EXPECTED", "expected an alternative of type i32, got a tuple"),
        ("def f(a):\n    for k in range(3):\n        return a\ny[0] = f(x[0])", "RETURN", "a return cannot stand here"),
        (
            "def f(a):\n    if wl.thread_id() < 3:\n        for k in range(3):\n            return a\n    return a\ny[0] = f(x[0])",  # noqa: E501
            "RETURN",
            "expected this branch to end in a return",
        ),
        (
            "def f(a):\n    if wl.thread_id() < 3:\n        if wl.thread_id() < 2:\n            b = a\n        else:\n            return a\n        b = a\n    return a\ny[0] = f(x[0])",  # noqa: E501
            "RETURN",
            "expected this branch to end in a return",
        ),
        (
            "r = wl.register(i32, 4)\nwl.global_to_register(x, r, shuffle=3)\ny[0] = r[0]",
            "ARGUMENTS",
            "expected a function for shuffle, got an index",
        ),
        (
            "s = wl.shared(i32, 32)\nwl.global_to_shared(x, s, shuffle=3)\ny[0] = s[0]",
            "ARGUMENTS",
            "expected a function for shuffle, got an index",
        ),
        (
            "r = wl.register(i32, 4)\nwl.global_to_register(x, r, rounds=0)\ny[0] = r[0]",
            "ARGUMENTS",
            "expected rounds to be positive, got 0",
        ),
        (
            "r = wl.register(i32, 2, 2)\nwl.global_to_register(m, r, lanes=(3, 3))\ny[0] = r[0, 0]",
            "ARGUMENTS",
            "global_to_register: got an unexpected keyword argument 'lanes'",
        ),
        (
            "k = 3\nfor k in range(2):\n    y[k] = x[k]\nk = x\ny[0] = x[0]",
            "REASSIGN_KIND",
            "'k' was an index and is now a loop variable",
        ),
        ("a = x[0]\na = x\ny[0] = x[0]", "REASSIGN_KIND", "'a' is the array 'x' and is assigned more than once"),
        ("a = (x[0], x[1])\na = (x[0], x[1])\ny[0] = a[0]", "REASSIGN_KIND", "'a' is a tuple and is assigned more than once"),
        ("y[0] @= x[0]", "UNSUPPORTED_PYTHON", "this operator is not part of the sketch language"),
        ("a = x[0]\na @= x[0]\ny[0] = a", "UNSUPPORTED_PYTHON", "this operator is not part of the sketch language"),
        ("y[0] = {1: x}[1]", "UNSUPPORTED_PYTHON", "a dict is not part of the sketch language"),
        (
            "y[0] = x[wl.cond(x[0], 1)]",
            "INDEX_FROM_DATA",
            "expected an index as operand of a hole known before the run, got data of type i32",
        ),
        (
            "def f(a):\n    y[1] = a\n    return 1\ny[0] = x[f(x[0])]",
            "EFFECT_IN_EXPRESSION",
            "this function stores, accumulates or synchronises and is called inside of an expression",
        ),
        ("if (lambda: 1)():\n    y[0] = x[0]", "CONDITION_EXPECTED", "expected a condition, got an index"),
    ],
)
def test_a_wrong_line(lines: str, code: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        wl.sketch(block=32)(kernel_of(lines))
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].message) == (code, message)


@pytest.mark.parametrize(
    ("head", "options", "code", "message"),
    [
        ("def kernel(*x):\n", {}, "SIGNATURE", "`*` or `**`"),
        ("def kernel(y: wl.Global[i32, 4] = 3):\n", {}, "SIGNATURE", "`*` or `**`"),
        ("def kernel(y: wl.Global[i32, 4]):\n", {"block": 2048}, "LAUNCH", "got 2048"),
        ("def kernel(y: wl.Global[i32, 4]):\n", {"warp_size": 24}, "LAUNCH", "got 24"),
        ("kernel = lambda y: 0\ndef other():\n", {}, "SIGNATURE", "got a lambda"),
        ("def kernel(y: wl.Global[i32, 4]):\n", {"given": {"y": [1]}, "spec": lambda y: None}, "SPEC_TERMS", "got a function"),
    ],
)
def test_a_wrong_head(head: str, options: dict, code: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        wl.sketch(**{"block": 32, **options})(kernel_of("pass", head))
    found = caught.value.diagnostics[0]
    assert (found.code, message in found.message) == (code, True), found.message


RETURNS = """
def f(a):
    if wl.thread_id() < 3:
        return a
    else:
        b = a + a
    return b
y[0] = f(x[0])
"""
INNER = """
if wl.thread_id() < 3:
    def f(a):
        return a
    y[0] = f(x[0])
y[1] = x[1]
"""


def test_functions_whose_branches_return_are_read_to_their_end() -> None:
    assert body(wl.sketch(block=32)(kernel_of(RETURNS)).kernel) == text("""
        a: i32 = x[0]
        if thread_id < 3:
            result: i32 = a
        else:
            b: i32 = a + a
            result: i32 = b
        y[0] = result
    """)
    assert body(wl.sketch(block=32)(kernel_of(INNER)).kernel) == text("""
        if thread_id < 3:
            a: i32 = x[0]
            y[0] = a
        y[1] = x[1]
    """)


def test_sizes_and_operators_have_names() -> None:
    with pytest.raises((UserError, ValueError), match="two words"):
        wl.size("two words")
    with pytest.raises(UserError, match="expected an identifier as an operator's name, got 'two words'"):
        wl.operator("two words", lambda a, b: a + b)


ANY: Any = None
BROKEN = """\
import warploom as wl

@wl.sketch(block=32)
def odd(x: wl.Global[wl.i32, 32], y: wl.Global[wl.i32, 32]):
    y[0] = x[0][0]
"""


def test_files_that_hold_no_variables(tmp_path: Path) -> None:
    for name, written_text, told in (
        ("odd.py", BROKEN, "data of type i32 has no elements"),
        ("odd.txt", "a = 1", "expected a Python file"),
    ):
        (tmp_path / name).write_text(written_text)
        with pytest.raises(UserError, match=told):
            load_variables(tmp_path / name)
    (tmp_path / "plain.py").write_text("a = 1")
    assert load_variables(tmp_path / "plain.py")["a"] == 1


def test_what_is_no_function() -> None:
    with pytest.raises(UserError, match="expected a Python function, got <built-in function len>"):
        written(len)
    at: Any = SimpleNamespace(problem=lambda code, told, *_: KeyError(code, told))
    with pytest.raises(KeyError, match="expected a function for finalize"):
        apply_function(at, calls.Static(3), (), ANY, "finalize")


def test_elements_that_are_no_terms() -> None:
    with pytest.raises(UserError):
        term_spec({"y": ["text"]})
    assert term_spec({"y": [3]})


def test_returns_of_inner_functions_are_their_own() -> None:
    inner, outer = ast.parse("def f():\n    return 1\nif a:\n    return 2\n").body
    assert (_has_return(inner), _has_return(outer)) == (False, True)


def test_a_spec_is_a_def() -> None:
    with pytest.raises(UserError, match="expected a `def` as spec"):
        parse_spec(lambda x, y: None, ANY)


def test_accumulators_are_added_to() -> None:
    def stores(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
        a = wl.accumulator(i32, op="+", shape=(2,))
        a[0] = x[0]
        y[0] = a[0].value()

    assert problem(stores).fix == "Write a[i].add(...)."


@pytest.mark.parametrize("operands", ["one", "indices"])
def test_operators_of_fewer_than_two_data(operands: str) -> None:
    plus = wl.operator("plus", lambda a, b: a + b, 0)

    def one(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
        y[0] = plus(x[0])

    def indices(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
        y[0] = plus(1, 2)

    assert problem({"one": one, "indices": indices}[operands]).message == "expected two data operands of 'plus'"


def test_shapes_of_those_that_move_together(monkeypatch: pytest.MonkeyPatch) -> None:
    at: Any = SimpleNamespace(block=(32, 1, 1), warp_size=32, problem=lambda code, *_: KeyError(code))
    args: Any = SimpleNamespace(optional=lambda _: True, node=lambda _: None)
    monkeypatch.setattr(transfers, "lane_expr", lambda _: Builtin("thread_id", 0))
    for shape in ((4, 8), (4, 4), (-4, -8)):
        monkeypatch.setattr(transfers, "_integers", lambda *_, given=shape: given)
        if shape == (4, 8):
            assert transfers._movers(at, args, "warp", 2)[1] == shape
            continue
        with pytest.raises(KeyError, match="SHAPE_MISMATCH"):
            transfers._movers(at, args, "warp", 2)


def test_conditions_that_are_not_known_for_each_thread() -> None:
    def diverges(values: Any, *axes: Any) -> bool:
        def evaluate(_: Any, found: list[object]) -> Any:
            found += axes
            if values is None:
                raise _UnknownError
            return np.array(values)

        at: Any = SimpleNamespace(_evaluate=evaluate)
        return Facts.diverges(at, Compare("<", IndexConst(0), IndexConst(1)))

    thread = Builtin("thread_id", 0)
    assert diverges([True, False], thread) is True
    assert diverges(None, thread) is False
    assert diverges([[True], [False]], thread) is False
    assert diverges([True, False], "hole or size") is False
    with pytest.raises(_UnknownError):
        Facts._compute(ANY, HoleArg(0), {})


def test_words_are_values_that_can_be_looked_up() -> None:
    assert (calls._is_word([]), calls._is_word(3), calls._is_word(wl.lane_id)) == (False, False, True)
