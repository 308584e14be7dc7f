"""Every rule of the verifier has a kernel that breaks it and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import warploom.ir as ir
from warploom.core import UserError, i32
from warploom.ir.kernel import verify

GOOD = """\
@hole('h', kind='xform', args=('lane', 'k'), n=32)
@hole('c', kind='choose', args=('a', 'b'), n=2)
@operator('plus7', identity=0, body=__a + __b & i32(7))
@kernel(block=(64, 1, 1), grid=(n, 1, 1), warp_size=32)
def k(x: Global[i32, n, 2], w: Constant[f32, 3], y: Global[i32, n] | out, n: size):
    r = register(i32, 4)
    s = shared(int2, 8)
    base = block_id
    v: i32 = x[hole('h', thread_id, 1), hole('c', base, 0)]
    acc = accumulator(i32, 2, op='plus7', init=0, finalize=__state)
    for k in range(3):
        for j in range(k, 3 + k):
            acc[0].add(plus7(shfl(v, j, 16), cast(i32, w[k])), when=thread_id < j)
    if block_id == 0:
        sync()
    s[0] = pack(int2, v, acc[1].value())
    y[base] = s[0].y if thread_id < 3 else from_index(i32, base)
"""

INDEX = "expected a number of an index from -2**31"


def test_the_kernel_itself_is_fine():
    ir.verify(ir.parse_kernel(GOOD))


@pytest.mark.parametrize(
    ("old", "new", "code", "message"),
    [
        ("k, 3 + k", "k, 2147483648 + k + 4294967296", "NUMBER_TOO_LARGE", f"{INDEX} to 4294967295, got 4294967296"),
        ("i32, n, 2]", "i32, n, -2147483649]", "NUMBER_TOO_LARGE", f"{INDEX} to 4294967295, got -2147483649"),
        ("'k'), n=32", "'k'), n=1048577", "NUMBER_TOO_LARGE", f"{INDEX} to 1048576, got 1048577"),
        ("'k'), n=32", "'k'), n=32, coefficients=(1, 4294967296)", "NUMBER_TOO_LARGE", f"{INDEX} to 4294967295, got 4294967296"),
        ("'k'), n=32", f"'k'), n=32, constants=({'9' * 40},)", "NUMBER_TOO_LARGE", f"{INDEX} to 4294967295, got one of 133 bits"),
        ("x[hole", "q[hole", "NAME_UNKNOWN", "expected an array declared before, got q"),
        ("y[base]", "q[base]", "NAME_UNKNOWN", "expected an array declared before, got q"),
        ("base = block_id", "base = other", "NAME_UNKNOWN", "expected an index variable set before, got other"),
        ("shfl(v,", "shfl(u,", "NAME_UNKNOWN", "expected a variable set before, got u"),
        ("acc[1]", "bcc[1]", "NAME_UNKNOWN", "expected an accumulator declared before, got bcc"),
        ("add(plus7(", "add(plus8(", "NAME_UNKNOWN", "expected an operator, got plus8"),
        ("op='plus7'", "op='-'", "NAME_UNKNOWN", "expected an operator, got -"),
        ("base = block_id", "base = size['m']", "NAME_UNKNOWN", "expected one of the kernel's sizes, got m"),
        ("y[base]", "y[base, 0]", "RANK_MISMATCH", "expected 1 indices of y, got 2"),
        ("acc[1]", "acc", "RANK_MISMATCH", "expected 1 indices of acc, got 0"),
        ("cast(i32, w[k])", "w[k]", "DTYPE_MISMATCH", "expected operands of plus7 of type i32, got f32"),
        ("cast(i32, w[k])", "cast(int2, w[k])", "DTYPE_MISMATCH", "expected a value with 2 components to cast, got f32"),
        ("from_index(i32, base)", "from_index(i64, base)", "DTYPE_MISMATCH", "expected both branches of type i32, got i64"),
        ("y[base] = s[0].y", "y[base] = w[0].y", "DTYPE_MISMATCH", "expected a vector with component y, got f32"),
        ("pack(int2, v, ", "pack(int2, f32(0), ", "DTYPE_MISMATCH", "expected components of type i32, got f32"),
        ("pack(int2, v, ", "pack(int4, v, ", "DTYPE_MISMATCH", "expected a vector type with 2 components, got int4"),
        ("& i32(7)", "& i32(7)", "", ""),
        ("v: i32 = x", "v: i64 = x", "DTYPE_MISMATCH", "expected variable v of type i64, got i32"),
        ("cast(i32, w[k])", "cast(i32, w[k] & w[k])", "DTYPE_MISMATCH", "expected integers for &, got f32"),
        ("cast(i32, w[k])", "fold('-', v)", "OPERANDS", "expected 2 operands of -, got 1"),
        ("hole('h', thread_id, 1)", "hole('h', thread_id)", "HOLE_ARGUMENTS", "expected 2 arguments of hole h, got 1"),
        ("hole('h', thread_id, 1)", "hole('g', thread_id)", "HOLE_UNKNOWN", "expected one of the kernel's holes, got g"),
        ("hole('c', base, 0)", "arg(1)", "HOLE_ARGUMENT", "expected an index expression, got argument 1 of a hole's completion"),
        ("args=('a', 'b'), n=2", "args=('a', 'b'), n=3", "HOLE_ARGUMENTS", "expected 3 alternatives of hole c, got 2"),
        ("shfl(v, j, 16)", "shfl(v, j, 12)", "SHUFFLE_WIDTH", "expected a shuffle width that is a power of two up to 32, got 12"),
        ("shfl(v, j, 16)", "shfl(v, j, 64)", "SHUFFLE_WIDTH", "expected a shuffle width that is a power of two up to 32, got 64"),
        ("range(3)", "range(thread_id)", "BOUND_NOT_STATIC", "expected loop bounds over constants"),
        ("range(3)", "range(n)", "BOUND_NOT_STATIC", "expected loop bounds over constants"),
        ("range(k, 3 + k)", "range(k, base)", "BOUND_NOT_STATIC", "expected loop bounds over constants"),
        ("range(k, 3 + k)", "range(k, 3 + k, 0)", "STEP_ZERO", "expected a loop step other than 0, got 0"),
        ("if block_id == 0", "if thread_id == 0", "DIVERGENT_SYNC", "expected sync() where every thread of the block comes by"),
        ("y[base] =", "x[base, 0] =", "STORE_TO_INPUT", "expected a store to an output array, got one to input x"),
        ("Constant[f32, 3]", "Constant[f32, 3] | out", "STORE_TO_INPUT", "expected constant array w to be only read"),
        ("base = block_id", "v = block_id\n    base = v", "NAME_REUSED", "expected a new name for the variable, got v, already"),
        ("r = register(i32, 4)", "w = register(f32, 4)", "NAME_REUSED", "expected a new name for the array, got w"),
        ("r = register(i32, 4)", "r = register(i32, 0)", "SHAPE_MISMATCH", "expected extents of 1 or more for r, got (0,)"),
        ("grid=(n, 1, 1)", "grid=(thread_id, 1, 1)", "SHAPE_NOT_STATIC", "expected the grid over constants and sizes"),
        ("warp_size=32", "warp_size=48", "WARP_SIZE", "expected a power of two as the warp size, got 48"),
        ("block=(64, 1, 1)", "block=(64, 0, 1)", "BLOCK_SHAPE", "expected a block with extents of 1 or more, got (64, 0, 1)"),
        ("block=(64, 1, 1)", "block=(64, 17, 1)", "LAUNCH", "expected at most 1024 threads in a block, and at most 1024 x 1024"),
        ("block=(64, 1, 1)", "block=(2, 1, 65)", "LAUNCH", "expected at most 1024 threads in a block, and at most 1024 x 1024"),
        ("grid=(n, 1, 1)", "grid=(n, 65536, 1)", "LAUNCH", "expected at most 65535 blocks along y, got 65536"),
        ("grid=(n, 1, 1)", "grid=(n, 1, 65536)", "LAUNCH", "expected at most 65535 blocks along z, got 65536"),
        ("grid=(n, 1, 1)", "grid=(2147483648, 1, 1)", "LAUNCH", "expected at most 2147483647 blocks along x, got 2147483648"),
        ("shared(int2, 8)", "shared(int2, 6145)", "SHARED_MEMORY", "expected at most 49152 bytes of shared memory in a block"),
        ("shared(int2, 8)", "shared(int2, 6144)", "", ""),
        ("kind='choose'", "kind='choose'", "", ""),
        ("from_index(i32, base)", "from_index(int2, base)", "DTYPE_MISMATCH", "expected a scalar type for an index used as data"),
    ],
)  # fmt: skip
def test_rules(old, new, code, message):
    assert old in GOOD
    kernel = ir.parse_kernel(GOOD.replace(old, new, 1))
    if not code:
        ir.verify(kernel)
        return
    with pytest.raises(UserError) as caught:
        ir.verify(kernel)
    found = caught.value.diagnostics
    assert {d.code for d in found} == {code}
    assert any(d.message.startswith(message) for d in found)


def test_a_hole_has_the_arguments_of_its_kind():
    kernel = ir.parse_kernel(GOOD.replace("'lane', 'k'", "'lane',").replace("thread_id, 1)", "thread_id)"))
    with pytest.raises(UserError, match="expected 2 arguments of hole h of kind xform, got 1"):
        ir.verify(kernel)


def test_a_condition_hidden_in_a_variable_still_diverges():
    text = GOOD.replace("    if block_id == 0:", "    side = 0\n    if thread_id < 3:\n        side = 1\n    if side == 0:")
    with pytest.raises(UserError, match="DIVERGENT_SYNC"):
        ir.verify(ir.parse_kernel(text))


def test_a_variable_set_later_in_a_loop_counts_from_its_start():
    text = GOOD.replace(
        "    if block_id == 0:\n        sync()",
        "    t = 0\n    for q in range(2):\n        if t == 0:\n            sync()\n        t = thread_id",
    )
    with pytest.raises(UserError, match="DIVERGENT_SYNC"):
        ir.verify(ir.parse_kernel(text))


def test_a_variable_set_later_in_an_outer_loop_counts_in_an_inner_one():
    inner = "        for p in range(2):\n            if t == 0:\n                sync()"
    loops = f"    t = 0\n    for q in range(2):\n{inner}\n        t = thread_id"
    text = GOOD.replace("    if block_id == 0:\n        sync()", loops)
    with pytest.raises(UserError, match="DIVERGENT_SYNC"):
        ir.verify(ir.parse_kernel(text))


def test_loops_in_loops_are_read_again_only_where_something_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    depth, passes, read = 8, list[int](), verify._Verifier.body
    loops = "".join(f"{'    ' * (n + 1)}for q{n} in range(1 + 1):\n" for n in range(depth))
    text = GOOD.replace("    y[base] =", f"{loops}{'    ' * (depth + 1)}u: f32 = w[0]\n    y[base] =")

    def counted(self: verify._Verifier, *arguments: Any) -> None:
        passes.append(1)
        read(self, *arguments)

    kernel = ir.parse_kernel(text)
    monkeypatch.setattr(verify._Verifier, "body", counted)
    ir.verify(kernel)
    assert len(passes) < 8 * depth


def test_a_spec_may_loop_over_sizes():
    head = "@kernel(block=(1, 1, 1), grid=(1, 1, 1), warp_size=1)\ndef s(y: Global[f32, n] | out, n: size):\n"
    text = head + "    for i in range(n):\n        y[i] = f32(1)\n"
    ir.verify(ir.parse_kernel(text))


def test_all_problems_come_at_once():
    text = GOOD.replace("y[base]", "q[base]").replace("shfl(v, j, 16)", "shfl(v, j, 12)")
    with pytest.raises(UserError) as caught:
        ir.verify(ir.parse_kernel(text, "k.wl"))
    assert [(d.code, d.span.line) for d in caught.value.diagnostics] == [("SHUFFLE_WIDTH", 13), ("NAME_UNKNOWN", 17)]


READY = """\
@kernel(block=(32, 1, 1), grid=(1, 1, 1), warp_size=32)
def k(x: Global[i32, 32], y: Global[i32, 32] | out):
    r = register(i32, 4)
    a = accumulator(i32, 2, op='+', init=0, finalize=__state)
    i = 0
{lines}
    y[thread_id] = x[thread_id]
"""


def ready(lines: str) -> str:
    """The codes of what is wrong."""
    try:
        ir.verify(ir.parse_kernel(READY.format(lines="\n".join(f"    {line}" for line in lines.split("\n")))))
    except UserError as error:
        return " ".join(sorted({d.code for d in error.diagnostics}))
    return ""


@pytest.mark.parametrize(
    "made", ["j = 1", "v: i32 = x[0]", "b = accumulator(i32, op='+', init=0, finalize=__state)", "q = register(i32, 1)"]
)
@pytest.mark.parametrize(
    "around",
    ["if thread_id < 4:\n    {0}", "if i < 4:\n    i = 3\nelse:\n    {0}", "for k in range(2):\n    {0}",
     "for k in range(0):\n    {0}", "for k in range(3, 1):\n    {0}",
     "for k in range(2):\n    for m in range(k):\n        {0}\n    {1}"],
)  # fmt: skip
def test_names_of_branches_and_loops_end_with_them(made: str, around: str) -> None:
    use = {"j": "y[j] = x[0]", "v": "y[0] = v", "b": "y[0] = b.value()", "q": "q[0] = x[0]"}[made[0]]
    lines = around.format(made, use) + ("" if "{1}" in around else f"\n{use}")
    outlives = made[0] in "jv" and (around[:2] == "if" or around.startswith("for k in range(2):\n    {0}"))
    assert ready(lines) == ("" if outlives else "NAME_NOT_READY")
    assert ready(f"if thread_id < 4:\n    {made}\n    {use}") == ""


def test_names_that_a_loop_sets_in_every_trip() -> None:
    assert ready("for k in range(2):\n    for m in range(k, 2):\n        v: i32 = x[m]\n    y[k] = v\ny[0] = v") == ""
    assert ready("for k in range(300):\n    v: i32 = x[k % 32]\ny[0] = v") == ""
    assert ready("for k in range(300):\n    for m in range(k + 1):\n        v: i32 = x[m]\n    y[0] = v") == "NAME_NOT_READY"
    assert ready("for k in range(i):\n    v: i32 = x[0]\ny[0] = v") == "NAME_NOT_READY"
    assert ready("if thread_id < 4:\n    a[0].add(x[0])\n    r[0] = x[0]\ny[0] = a[0].value()\nr[1] = r[0]") == ""


@pytest.mark.parametrize(
    "lines",
    ["for k in range(2):\n    k = k + 1", "for i in range(2):\n    i = 0",
     "for k in range(2):\n    for k in range(2):\n        y[k] = x[k]", "for k in range(2):\n    y[k] = x[k]\nk = 3",
     "if i < 2:\n    r = register(i32, 4)", "r = register(i32, 4)"],
)  # fmt: skip
def test_names_of_loop_variables_and_arrays_are_new(lines: str) -> None:
    assert ready(lines) == "NAME_REUSED"


def test_a_loop_variable_ends_with_its_loop() -> None:
    assert ready("for k in range(2):\n    y[k] = x[k]\ny[k] = x[0]") == "NAME_NOT_READY"
    assert ready("for k in range(2):\n    y[k] = x[k]\nfor k in range(3):\n    y[k] = x[k]") == ""


@pytest.mark.parametrize(
    ("number", "is_held"),
    [("i32(1.5)", False), ("i32(2.0)", True), ("i32('nan')", False), ("i32('inf')", False), ("i32(4294967295)", True),
     ("i32(4294967296)", False), ("i32(-2147483648)", True), ("i32(-2147483649)", False)],
)  # fmt: skip
def test_integers_are_of_their_type(number: str, is_held: bool) -> None:
    assert ready(f"y[0] = {number}") == ("" if is_held else "NUMBER_TYPE")
    start = number[4:-1]
    assert ready(f"b = accumulator(i32, op='+', init={start}, finalize=__state)") == ("" if is_held else "NUMBER_TYPE")
    assert ready("v: f32 = f32(1.5)") == ""


def test_arrays_stored_to_anywhere():
    zero, k = ir.IndexConst(0), ir.IndexVar("k")
    store = {name: ir.Store(name, (zero,), ir.ValueConst(0, i32)) for name in "yzwv"}
    loop = ir.For("k", zero, ir.IndexConst(2), 1, (store["y"],))
    branch = ir.If(ir.Compare("<", k, zero), (store["z"],), (ir.If(ir.Compare("<", k, zero), (), (store["w"],)),))
    found = ir.stored_arrays(replace(ir.parse_kernel(GOOD), body=(loop, branch, store["v"])))
    assert found == {"y", "z", "w", "v"}


@pytest.mark.parametrize("name", ["", "two\nlines", "joins the next \\"])
def test_a_hole_name_stands_in_one_line(name):
    kernel = ir.parse_kernel(GOOD)
    first, *others = kernel.holes
    with pytest.raises(UserError) as caught:
        ir.verify(replace(kernel, holes=(replace(first, name=name), *others)))
    assert "HOLE_NAME" in {d.code for d in caught.value.diagnostics}


ACC = "    acc = accumulator(i32, 2, op='plus7', init=0, finalize=__state)\n"


@pytest.mark.parametrize(
    "other", [ACC, ACC.replace("i32, 2", "i32, 3"), ACC.replace("plus7", "+"), ACC.replace("i32, 2", "i64, 2")]
)
def test_an_accumulator_has_one_shape_type_and_operator(other):
    assert ACC in GOOD
    with pytest.raises(UserError) as caught:
        ir.verify(ir.parse_kernel(GOOD.replace(ACC, ACC + other)))
    assert "expected a new name for the accumulator, got acc, declared before" in str(caught.value)


@pytest.mark.parametrize("name", ["n", "x"])
def test_a_name_of_an_array_is_new(name):
    kernel = ir.parse_kernel(GOOD)
    again = replace(kernel.params[-1], name=name)
    with pytest.raises(UserError, match=f"expected a new name for the array, got {name}, already in use"):
        ir.verify(replace(kernel, params=(*kernel.params, again)))


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (ir.Builtin("thread_id", 3), "expected axis 0, 1 or 2 of thread_id, got 3"),
        (ir.Builtin("block_id", -1), "expected axis 0, 1 or 2 of block_id, got -1"),
        (ir.Logical("and", (ir.IndexConst(1),)), "expected two or more operands of and"),
        (ir.Logical("not", (ir.IndexConst(1), ir.IndexConst(0))), "expected one operand of not"),
    ],
)
def test_index_expressions_that_no_text_gives(expr, message):
    kernel = ir.parse_kernel(GOOD)
    with pytest.raises(UserError) as caught:
        ir.verify(replace(kernel, body=(ir.SetIndex("side", expr), *kernel.body)))
    assert [d.message for d in caught.value.diagnostics] == [message]
