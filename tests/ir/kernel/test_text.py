"""Text form: minimal parentheses that Python agrees with, round trip, located errors."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ir.random_kernels import index_exprs, kernels

import warploom.ir as ir
from warploom.core import UserError, f32


def python_value(expr: ir.IndexExpr, env: dict[str, int]):
    """Own evaluator: the node's meaning in Python's integers."""
    match expr:
        case ir.IndexConst(value):
            return value
        case ir.IndexVar(name) | ir.SizeVar(name):
            return env[name]
        case ir.Builtin(name, axis):
            return env[f"{name}{axis}"]
        case ir.HoleArg(position):
            return env[f"arg{position}"]
        case ir.IndexBinary(op, lhs, rhs):
            a, b = python_value(lhs, env), python_value(rhs, env)
            table = {
                "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "//": lambda: a // b, "%": lambda: a % b,
                "&": lambda: a & b, "|": lambda: a | b, "^": lambda: a ^ b, "<<": lambda: a << b, ">>": lambda: a >> b,
                "min": lambda: min(a, b), "max": lambda: max(a, b),
            }  # fmt: skip
            return table[op]()
        case ir.Compare(op, lhs, rhs):
            a, b = python_value(lhs, env), python_value(rhs, env)
            return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op]
        case ir.Logical("not", (operand,)):
            return not python_value(operand, env)
        case ir.Logical(op, operands):
            result = python_value(operands[0], env)
            for operand in operands[1:]:
                if bool(result) == (op == "or"):
                    return result
                result = python_value(operand, env)
            return result
        case ir.IndexSelect(cond, then, other):
            return python_value(then if python_value(cond, env) else other, env)
        case _:
            raise AssertionError(expr)


class Axis(int):
    """`thread_id` and `thread_id("y")` in one name."""

    def __new__(cls, values):
        self = super().__new__(cls, values[0])
        self.values = values
        return self

    def __call__(self, axis):
        return self.values["xyz".index(axis)]


def outcome(compute):
    try:
        value = compute()
    except (ZeroDivisionError, ValueError, OverflowError, MemoryError) as error:
        return type(error)
    return value, isinstance(value, bool)


@settings(max_examples=150, deadline=None)
@given(index_exprs(), st.lists(st.integers(-9, 9), min_size=8, max_size=8))
def test_the_text_of_an_index_means_what_the_nodes_mean(expr, numbers):
    env = dict(zip(["i", "j", "n", "arg0", "arg1", "x", "y", "z"], numbers, strict=True))
    names = ir.kernel.nodes.BuiltinName.__args__
    env |= {f"{name}{axis}": env["xyz"[axis]] for name in names for axis in range(3)}
    scope = env | {name: Axis([env["x"], env["y"], env["z"]]) for name in names} | {"min": min, "max": max}
    text = ir.index_text(expr, ("arg0", "arg1"))
    assert outcome(lambda: eval(text, scope)) == outcome(lambda: python_value(expr, env))


@settings(max_examples=200, deadline=None)
@given(index_exprs())
def test_no_parenthesis_can_be_left_out_but_around_operands_of_bit_operators(expr):
    text = ir.index_text(expr, ("a", "b"))
    bits = (ast.BitAnd, ast.BitXor, ast.BitOr, ast.LShift, ast.RShift)
    bit_operators = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.BinOp) and isinstance(n.op, bits)]
    clear = {(o.col_offset, o.end_col_offset) for n in bit_operators for o in (n.left, n.right)}
    tree = ast.dump(ast.parse(text, mode="eval"))
    opens = [i for i, c in enumerate(text) if c == "(" and (i == 0 or not (text[i - 1].isalnum() or text[i - 1] == "_"))]
    for start in opens:
        depth, end = 1, start
        while depth:
            end += 1
            depth += {"(": 1, ")": -1}.get(text[end], 0)
        if (start + 1, end) in clear:
            continue
        shorter = text[:start] + " " + text[start + 1 : end] + text[end + 1 :]
        try:
            assert ast.dump(ast.parse(shorter.strip(), mode="eval")) != tree
        except SyntaxError:
            continue


def test_every_pair_of_operators_nested_either_way():
    a, b, c = (ir.IndexVar(name) for name in "abc")
    makers = [lambda x, y, op=op: ir.IndexBinary(op, x, y) for op in ir.IndexOp.__args__]
    makers += [lambda x, y, op=op: ir.Compare(op, x, y) for op in ("==", "<")]
    makers += [lambda x, y, op=op: ir.Logical(op, (x, y)) for op in ("and", "or")]
    makers += [lambda x, y: ir.IndexSelect(x, y, ir.Logical("not", (y,)))]
    kernel = ir.parse_kernel(EXAMPLE)
    for outer in makers:
        for inner in makers:
            for expr in (outer(inner(a, b), c), outer(a, inner(b, c))):
                again = ir.parse_kernel(ir.kernel_text(replace(kernel, body=(ir.SetIndex("i", expr),))))
                assert again.body == (ir.SetIndex("i", expr),)


def test_arguments_are_wrapped_only_where_needed():
    expr = ir.IndexBinary("*", ir.HoleArg(0), ir.HoleArg(1))
    assert ir.index_text(expr, ("k + 1", "f(x)")) == "(k + 1) * f(x)"
    assert ir.index_text(ir.IndexBinary("+", ir.HoleArg(0), ir.HoleArg(1)), ("k + 1", "2 * x")) == "k + 1 + 2 * x"
    assert ir.index_text(expr) == "arg(0) * arg(1)"
    assert ir.index_text(ir.Builtin("thread_id", 0)) == "thread_id"
    assert ir.index_text(ir.Builtin("block_id", 1)) == 'block_id("y")'


def test_bit_operators_and_arithmetic_are_kept_apart():
    a, b, c = (ir.IndexVar(name) for name in "abc")
    total = ir.IndexBinary("+", b, ir.IndexBinary("*", ir.IndexConst(8), c))
    assert ir.index_text(ir.IndexBinary("^", a, total)) == "a ^ (b + 8 * c)"
    assert ir.index_text(ir.IndexBinary("^", ir.IndexBinary("^", a, b), c)) == "a ^ b ^ c"
    assert ir.index_text(ir.IndexBinary("|", ir.IndexBinary("&", a, b), c)) == "(a & b) | c"
    assert ir.index_text(ir.IndexBinary("^", ir.HoleArg(0), ir.HoleArg(1)), ("k + 1", "f(x)")) == "(k + 1) ^ f(x)"


@settings(max_examples=30, deadline=None)
@given(kernels())
def test_round_trip(kernel):
    text = ir.kernel_text(kernel)
    again = ir.parse_kernel(text)
    assert again == kernel
    assert ir.kernel_text(again) == text


EXAMPLE = """\
@hole('lane', kind='xform', args=('lane', 'k'), n=32)
@operator('plus7', identity=0, body=(__a + __b) & i32(7))
@kernel(block=(128, 1, 1), grid=((n + 127) // 128, 1, 1), warp_size=32, file='conv.py')
def conv1d(x: Global[f32, n + 2], w: Constant[f32, 3], y: Global[f32, n] | out, n: size):
    inp = register(f32, 2)
    first = block_id * 128
    for r in range(2, note='global_to_register'):
        inp[r] = x[first + 32 * r] if first + 32 * r < n + 2 else f32(0)
    out = accumulator(f32, op='+', init=0, finalize=__state * f32(0.5))
    for k in range(3):
        got: f32 = shfl(inp[0 if thread_id < k else 1], hole('lane', thread_id, k), 32)
        out.add(w[k] * got, when=thread_id != k)
    if thread_id < n:
        y[first + thread_id] = out.value()
    sync()
"""


def test_the_form_reads_and_prints_as_written():
    assert ir.kernel_text(ir.parse_kernel(EXAMPLE)) == EXAMPLE


def test_spans_point_into_the_text():
    kernel = ir.parse_kernel(EXAMPLE, "conv.wl")
    last = kernel.body[-1]
    assert str(last.span) == "conv.wl:15:5"
    assert last.span.source == "    sync()"


@pytest.mark.parametrize(
    ("bad", "good", "place", "message"),
    [
        ("    sync()\n", "    wait()\n", "15:5", "expected a statement of the text form, got `wait()`"),
        ("thread_id < n:", "0 < thread_id < n:", "13:8", "expected an index expression, got `0 < thread_id < n`"),
        ("inp = register(f32, 2)", "inp = register(f33, 2)", "5:20", "expected an element type, got `f33`"),
        ("f32(0)\n", "0\n", "8:67", "expected a value expression, got `0`"),
        ("block=(128, 1, 1)", "block=(128, 1)", "3:15", "expected three extents of the block and of the grid"),
        ("range(3)", "range(3", "10:21", "expected Python syntax, got "),
        (" | out", " | 3", "4:59", "expected Global[dtype, ...], Constant[dtype, ...] or size"),
        ("'xform'", "'swizzle'", "1:2", "expected kind cond, part, xform, bits, compose, power, const or choose"),
        ("first = block_id * 128", "first = block_id / 128", "6:13", "expected an index expression, got `block_id / 128`"),
    ],
)
def test_errors_say_where_and_what(bad, good, place, message):
    assert bad in EXAMPLE
    with pytest.raises(UserError) as caught:
        ir.parse_kernel(EXAMPLE.replace(bad, good), "k")
    (found,) = caught.value.diagnostics
    assert found.code == "KERNEL_SYNTAX"
    assert found.message.startswith(message)
    assert str(found.span) == f"k:{place}"


def test_all_wrong_statements_are_reported_at_once():
    with pytest.raises(UserError) as caught:
        ir.parse_kernel(EXAMPLE.replace("sync()", "wait()").replace("first = block_id * 128", "first = block_id / 128"))
    assert [d.span.line for d in caught.value.diagnostics] == [6, 15]


@pytest.mark.parametrize(
    "text", ["", "x = 1", "def f():\n    pass", "\0", "((" * 5000, "def f(a):\n    pass\ndef g(): pass", "é" * 3 + "("]
)
def test_any_text_gives_a_user_error(text):
    with pytest.raises(UserError):
        ir.parse_kernel(text)


def test_odd_names_survive():
    kernel = ir.parse_kernel(EXAMPLE)
    odd = replace(kernel, name="conv1d-3", body=(ir.SetIndex("i@3:4", ir.IndexVar("n")), ir.Declare("f32", "shared", f32, ())))
    text = ir.kernel_text(odd)
    assert "var['i@3:4'] = var['n']" in text
    assert ir.parse_kernel(text) == odd
