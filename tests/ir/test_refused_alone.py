"""Each rule of the readers, the interpreter and the simplifier has a text or a node that it alone refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import warploom.ir as ir
from warploom.core import UserError, WarploomError, i32
from warploom.ir import HoleArg, HoleUse, IndexBinary, IndexConst, IndexVar
from warploom.ir.kernel.evaluate import Indices
from warploom.ir.kernel.simplify import _compare_everywhere  # pyright: ignore[reportPrivateUsage]
from warploom.ir.kernel.tabulate import grid
from warploom.ir.swizzle import Fan, PartitionSet, Rot, Xor, condition_set, function_set, partitions, xforms
from warploom.ir.swizzle.compositions import shared_cost

TEXT = """\
@hole('h', kind='xform', args=('a', 'k'), n=4, constants=(0, 1))
@operator('plus7', identity=0, body=(__a + __b) & i32(7))
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(x: Global[i32, 4], y: Global[i32, 4] | out):
    s = shared(i32, 4)
    t = thread_id("x")
    acc = accumulator(i32, op='+', init=0, finalize=__state)
    for j in range(2):
        acc.add(shfl(x[t], j, 4))
    s[t] = min(x[t], i32(3))
    y[t] = s[t] + acc.value()
"""


def test_the_text_itself_is_read() -> None:
    ir.verify(ir.parse_kernel(TEXT))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("shared(i32, 4)", "shared(i32, 2 + k)", "expected an integer, got `2 + k`"),
        ("shared(i32, 4)", "shared(i32, 4.0)", "expected an integer, got `4.0`"),
        ("shared(i32, 4)", "shared(i32, True)", "expected an integer, got `True`"),
        ("constants=(0, 1)", "constants=3", "expected a tuple of integers or None, got `3`"),
        ("i32(3)", "i32('three')", 'expected a number, "inf", "-inf" or "nan", got `\'three\'`'),
        ("y[t] = s", "y.t[t] = s", "expected a name, got `y.t`"),
        ("kind='xform'", "sort='xform', kind='xform'", "expected one of the keywords kind, args, n, "),
        ("shfl(x[t], j, 4)", "shfl(x[t], j)", "expected 3 arguments, got `shfl(x[t], j)`"),
        ('thread_id("x")', 'thread_id("w")', 'expected an axis "x", "y" or "z", got `thread_id(\'w\')`'),
        ("range(2)", "range()", "expected 1 to 3 bounds, got `range()`"),
        ("range(2)", "range(0, 2, 1, 1)", "expected 1 to 3 bounds, got `range(0, 2, 1, 1)`"),
        ("y[t] = s", "y.t = s", "expected a name or an array element, got `y.t`"),
        ("op='+', init=0, ", "op='+', ", "expected the keywords op, init and finalize, got `accumulator("),
        ("identity=0, ", "", "expected the keywords identity and body, got `operator("),
        ("@operator('plus7'", "@operation('plus7'", "expected @hole, @operator or @kernel, got `operation("),
        (
            "x: Global[i32, 4]",
            "x: Local[i32, 4]",
            "expected Global[dtype, ...], Constant[dtype, ...] or size, got `Local[i32, 4]`",
        ),
        ("x: Global[i32, 4]", "x", "expected Global[dtype, ...], Constant[dtype, ...] or size, got `arg`"),
    ],
)
def test_texts_that_are_no_kernels(old: str, new: str, expected: str) -> None:
    assert TEXT.count(old) == 1
    with pytest.raises(UserError) as caught:
        ir.parse_kernel(TEXT.replace(old, new))
    assert [d.code for d in caught.value.diagnostics] == ["KERNEL_SYNTAX"]
    assert caught.value.diagnostics[0].message.startswith(expected)


def test_a_text_that_python_cannot_hold() -> None:
    with pytest.raises(UserError, match="nested too deeply or with null characters"):
        ir.parse_kernel("def f():\n    x = " + "(" * 150 + "-" * 100_000 + "1" + ")" * 150)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a +", "expected an index expression, got 'a \\+'"),
        ("b", "expected one of a, k, got 'b'"),
        ("hole('h', a)", "expected one of a, k, got"),
        ("lane_id + a", "expected one of a, k, got"),
    ],
)
def test_texts_that_complete_no_hole(text: str, expected: str) -> None:
    assert ir.parse_index("f(x)[1] % 8 + k", ("f(x)[1]", "k // 2", "k")) == ir.parse_index("arg(0) % 8 + arg(2)")
    assert ir.parse_index("k // 2", ("k", "k // 2")) == HoleArg(1)
    assert ir.parse_index("a + 2 * k", ("a", "k")) == IndexBinary("+", HoleArg(0), IndexBinary("*", IndexConst(2), HoleArg(1)))
    with pytest.raises(UserError, match=expected):
        ir.parse_index(text, ("a", "k"))


# ------------------------------------------------------------ values of indices


def indices(found: list[str] | None = None) -> Indices:
    made = Indices({}, {}, lambda code, message, where: (found if found is not None else []).append(code))
    made.variables["t"] = np.arange(4).reshape(1, 4), None
    made.variables["large"] = np.full((1, 4), 2**61), None
    return made


def test_values_that_differ_between_threads_are_no_bound() -> None:
    assert indices().number(IndexBinary("*", IndexVar("t"), IndexConst(0))) == 0
    with pytest.raises(UserError, match="expected a loop bound that is the same for all threads") as caught:
        indices().number(IndexVar("t"))
    assert caught.value.diagnostics[0].code == "BOUND_VARIES"


@pytest.mark.parametrize("expr", [HoleUse("h", ()), HoleArg(1)])
def test_a_hole_has_no_value(expr: ir.IndexExpr) -> None:
    with pytest.raises(UserError) as caught:
        indices().value(expr, None)
    assert caught.value.diagnostics[0].code == "HOLE_UNFILLED"


@pytest.mark.parametrize("op", ["+", "*", "<<"])
def test_values_past_62_bits(op: ir.IndexOp) -> None:
    with pytest.raises(UserError, match="expected index values below 2\\*\\*62") as caught:
        indices().value(IndexBinary(op, IndexVar("large"), IndexVar("large" if op != "<<" else "t")), None)
    assert caught.value.diagnostics[0].code == "INDEX_OVERFLOW"


@pytest.mark.parametrize(("op", "distance"), [("<<", -1), ("<<", 63), (">>", -1)])
def test_distances_of_shifts(op: ir.IndexOp, distance: int) -> None:
    found: list[str] = []
    indices(found).value(IndexBinary(op, IndexConst(4), IndexConst(distance)), None)
    assert found == ["INDEX_SHIFT"]


def test_a_kernel_with_a_hole_is_not_run() -> None:
    kernel = ir.parse_kernel(TEXT.replace("x[t], j", "x[hole('h', t, j)], j"))
    with pytest.raises(UserError, match="expected a kernel without holes, got hole h") as caught:
        ir.run(kernel, {"x": np.zeros(4, np.int32)})
    assert [(d.code, d.fix) for d in caught.value.diagnostics] == [("HOLE_UNFILLED", "complete the sketch, or fill the hole")]


def test_an_array_of_less_than_no_elements() -> None:
    kernel = ir.parse_kernel(TEXT.replace("x: Global[i32, 4]", "x: Global[i32, n - 9], n: size"))
    with pytest.raises(UserError, match=r"expected x to have extents >= 0, got \(-5,\)"):
        ir.run(kernel, {"x": np.zeros(4, np.int32)}, {"n": 4})


def test_a_space_that_no_array_lies_in() -> None:
    kernel = ir.parse_kernel(TEXT)
    elsewhere = ir.Declare("q", "local", i32, (4,))  # pyright: ignore[reportArgumentType] - what the type forbids
    with pytest.raises(UserError, match="expected space shared or register, got local"):
        ir.run(replace(kernel, body=(elsewhere, *kernel.body)), {"x": np.zeros(4, np.int32)})


# ------------------------------------------------------------ simpler expressions


@pytest.mark.parametrize(("op", "right"), [("//", 0), ("%", 0), ("<<", -1), ("<<", 63), (">>", -1)])
def test_what_has_no_value_is_not_folded(op: ir.IndexOp, right: int) -> None:
    expr = IndexBinary(op, IndexConst(4), IndexConst(right))
    assert ir.simplify(expr, {}) == expr


def test_a_simplification_that_changes_a_value_is_found() -> None:
    t = IndexVar("t")
    _compare_everywhere(IndexBinary("+", t, IndexConst(0)), t, {t: range(4)})
    with pytest.raises(WarploomError, match="simplification changed an index expression"):
        _compare_everywhere(IndexBinary("+", t, IndexConst(1)), t, {t: range(4)})


# ------------------------------------------------------------ sets of functions

POINTS = np.stack(np.divmod(np.arange(16), 4), axis=1)


def test_sets_with_too_many_members_to_list(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = np.ones((16, 4), bool)
    xform = function_set(ir.Hole("h", "xform", ("i", "k"), n=4), POINTS, 1)
    assert xform.matching(everything) is not None
    monkeypatch.setattr(xforms, "MAX_TABLE_CELLS", 15)
    assert xform.matching(everything) is None
    monkeypatch.setattr(partitions, "MOST_FUNCTIONS", 1)
    assert PartitionSet(condition_set(POINTS, "constant-free", ()), 2).matching(everything[:, :2]) is None


def test_ranges_with_too_many_points_to_tabulate() -> None:
    i, j = IndexVar("i"), IndexVar("j")
    ranges: dict[ir.IndexExpr, range] = {i: range(4), j: range(5)}
    assert grid((i, j), ranges, 20) is not None
    assert grid((i, j), ranges, 19) is None


def test_an_exclusive_or_shares_no_remainder_with_what_comes_before() -> None:
    assert shared_cost(Rot(6, 1), 12, Fan(6, 5), 12) > 0
    assert shared_cost(Xor(4, 1), 4, Fan(4, 3), 4) == 0


@pytest.mark.parametrize("name", ["for", "a b", ""])
def test_names_that_have_no_text(name: str) -> None:
    kernel = ir.parse_kernel(TEXT)
    first, *others = kernel.params
    with pytest.raises(ValueError, match="is not an identifier"):
        ir.kernel_text(replace(kernel, params=(replace(first, name=name), *others)))
