"""Printing kernels as CUDA: the text, ptxas's numbers, and the read-back, for kernels built by hand."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.gpu.kernels import TID, TRUE, I, N, accumulator, array, b, c, cmp, conv1d, loop, transpose

from warploom.core import BY_NAME, DType, UserError, bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from warploom.core.intervals import Interval
from warploom.ctext import comment
from warploom.gpu import Compiled, compile_cuda, cuda_source, index_c, read_back, toolchain_available
from warploom.gpu.rotation import covers
from warploom.gpu.scopes import find_scopes
from warploom.ir import (
    Accumulate,
    Accumulated,
    Arith,
    Builtin,
    Cast,
    Compare,
    Component,
    Declare,
    For,
    FromIndex,
    If,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    MakeVector,
    Operator,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    SizeVar,
    Stmt,
    Store,
    Sync,
    ValueConst,
    ValueSelect,
    ValueVar,
    fill,
)  # fmt: skip

needs_tools = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")


def small(*body: Stmt, dtype: DType = i32, block: int = 32, name: str = "small", out: DType | None = None, **more) -> Kernel:
    """One block; x has 64 elements per thread number, y one element per thread."""
    params = (array("x", dtype, 2 * block), array("y", out or dtype, block, out=True, inp=False))
    return Kernel(name, params, (), (block, 1, 1), (c(1), c(1), c(1)), 32, body, **more)


def check(kernel: Kernel, completions: dict[str, IndexExpr] | None = None) -> str:
    """Prints, reads back, compiles; no local memory, no spills."""
    source = cuda_source(kernel, completions)
    result = read_back(source.text, fill(kernel, completions or {}))
    assert result.ok, source.text + "\n".join(d.render() for d in result.diagnostics)
    if toolchain_available():
        compiled = compile_cuda(source.text)
        assert (compiled.local_bytes, compiled.spill_bytes) == (0, 0), source.text
    return source.text


def test_convolution_reads_like_a_hand_written_kernel() -> None:
    text = check(*conv1d())
    body = text[text.index("  float out") : text.index("#ifndef")]
    assert (
        body
        == """\
  float out = 0.0f;
  // hole 'row': 0 if lane >= k else 1
  const float sent2 = inp[0];
  // hole 'from': (lane + k) % 32
  const float got2 = sent2;
  // hole 'tap': k
  out += w[0] * got2;
  for (int k = 1; k < 3; ++k) {
    const float sent = lane >= k ? inp[0] : inp[1];
    const float got = __shfl_sync(0xffffffff, sent, lane + k);
    out += w[k] * got;
  }
  if (gid < n) {
    y[gid] = out;
  }
}

"""
    )
    assert "launch_conv1d(" in text
    assert "const dim3 grid_size((n + 127) / 128, 1, 1);" in text


@pytest.mark.parametrize("struct", [1, 3, 5, 7])
def test_rotations_of_register_arrays_take_log_steps(struct: int) -> None:
    text = check(*transpose(struct))
    assert text.count("where bit") == (struct - 1).bit_length()


R8 = Declare("r", "register", i32, (8,))
LOADS = loop("i", 8, Store("r", (I,), Read("x", (b("+", TID, I),))))


def stored_at(place: IndexExpr, steps: int) -> str:
    """Values written to `place` of r and summed with different weights from constant places."""
    fills = loop("i", 8, Store("r", (place,), Read("x", (b("+", TID, I),))))
    weighted = Arith("*", (Read("r", (I,)), FromIndex(b("+", I, 1), i32)))
    sums = (accumulator("o", i32), loop("i", 8, Accumulate("o", (), weighted, TRUE)), Store("y", (TID,), Accumulated("o", ())))
    text = check(small(R8, fills, *sums))
    assert text.count("where bit") == steps, text
    return text


def read_at(place: IndexExpr, steps: int) -> str:
    weighted = Arith("*", (Read("r", (place,)), FromIndex(b("+", I, 1), i32)))
    sums = (accumulator("o", i32), loop("i", 8, Accumulate("o", (), weighted, TRUE)), Store("y", (TID,), Accumulated("o", ())))
    text = check(small(R8, LOADS, *sums))
    assert text.count("where bit") == steps, text
    return text


@pytest.mark.parametrize("at", [read_at, stored_at])
@pytest.mark.parametrize(
    ("place", "steps"),
    [
        (b("^", I, b("%", TID, 8)), 3),
        (b("^", I, b("%", TID, 4)), 2),
        (b("^", b("^", I, 5), b("*", b("%", TID, 2), 6)), 2),
        (b("^", b("-", 7, I), b("&", TID, 5)), 2),
        (b("%", b("+", b("*", I, 3), TID), 8), 3),
        (b("%", b("-", I, b("*", TID, 2)), 8), 2),
        (b("+", b("*", b("//", I, 4), 4), b("%", b("+", I, TID), 4)), 2),
    ],
)
def test_permutations_take_a_step_per_bit(at: Callable[[IndexExpr, int], str], place: IndexExpr, steps: int) -> None:
    assert "==" not in at(place, steps).split("#ifndef")[0]


def test_a_store_that_does_not_fill_the_array_is_no_permutation() -> None:
    fills = loop("i", 4, Store("r", (b("^", I, b("%", TID, 8)),), Read("x", (b("+", TID, I),))))
    text = check(small(R8, LOADS, fills, Store("y", (TID,), Read("r", (c(3),)))))
    assert "where bit" not in text


def test_the_last_step_of_a_permutation_fills_the_array_that_it_is_copied_to() -> None:
    copies = loop("i", 8, Store("t", (I,), Read("r", (b("^", I, b("%", TID, 2)),))))
    text = check(small(R8, Declare("t", "register", i32, (8,)), LOADS, copies, Store("y", (TID,), Read("t", (c(3),)))))
    assert "t[r2] = r_turn != 0 ? r[r2 ^ 1] : r[r2];" in text
    assert "r_turned" not in text


@pytest.mark.parametrize("dtype", [i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64])
def test_every_scalar_type(dtype: DType) -> None:
    got = Shuffle("idx", Read("x", (TID,)), b("+", TID, 3), 32)
    sums = Arith("+", (got, Arith("*", (Read("x", (TID,)), ValueConst(2, dtype))), Arith("max", (got, ValueConst(1, dtype)))))
    check(small(SetValue("v", dtype, sums), Store("y", (TID,), Arith("neg", (ValueVar("v"),))), dtype=dtype))


@pytest.mark.parametrize("name", ["int2", "uint4", "float4", "double2", "char4", "short4", "uchar2", "longlong2", "ushort2"])
@pytest.mark.parametrize("kind", ["idx", "up", "down", "xor"])
def test_vectors_are_shuffled_in_words(name: str, kind: str) -> None:
    dtype = BY_NAME[name]
    got = Shuffle(kind, Read("x", (TID,)), c(5) if kind != "idx" else b("+", TID, 5), 16)
    check(small(Store("y", (TID,), Arith("+", (got, Read("x", (TID,))))), dtype=dtype))


def test_vector_parts() -> None:
    int2 = BY_NAME["int2"]
    swapped = MakeVector(int2, (Component(ValueVar("v"), 1), Component(ValueVar("v"), 0)))
    check(small(SetValue("v", int2, Read("x", (TID,))), Store("y", (TID,), swapped), dtype=int2))
    half = small(Store("y", (TID,), Cast(BY_NAME["float2"], Read("x", (TID,)))), dtype=int2, out=BY_NAME["float2"])
    check(half)


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "&", "|", "^", "min", "max"])
@pytest.mark.parametrize("dtype", [i8, u16, i32, u32, i64])
def test_integer_arithmetic_wraps(op: str, dtype: DType) -> None:
    right = Arith("|", (Read("x", (b("+", TID, 32),)), ValueConst(1, dtype)))
    check(small(Store("y", (TID,), Arith(op, (Read("x", (TID,)), right))), dtype=dtype))


def test_floor_semantics_for_negative_operands() -> None:
    k = IndexVar("k")
    for op, right in (("%", 3), ("//", 3), ("%", 4), ("//", 4), ("%", -5), ("//", -5)):
        value = FromIndex(b(op, b("-", b("*", k, 7), b("*", TID, 2)), right), i32)
        body = (
            accumulator("out", i32),
            loop("k", 5, Accumulate("out", (), value, TRUE)),
            Store("y", (TID,), Accumulated("out", ())),
        )
        check(small(*body))


def test_python_sizes_keep_floor_semantics() -> None:
    index = b("%", b("-", TID, N), 5)
    body = (Store("y", (TID,), FromIndex(b("+", index, b("//", b("-", 3, N), 7)), i32)),)
    kernel = replace(small(*body), sizes=("n",))
    assert "(thread - n) % 5 + 5) % 5" in check(kernel)


def test_a_remainder_by_a_number_that_is_not_known_does_not_overflow() -> None:
    """`(x % n + n) % n` does from n = 2^30 on."""
    index = b("%", b("-", TID, 40), b("+", N, 1))
    text = cuda_source(replace(small(Store("y", (TID,), FromIndex(index, i32))), sizes=("n",))).text
    assert "floor_mod(thread - 40, n + 1)" in text


def test_dynamic_register_indices_become_conditions() -> None:
    fill_a = loop("r", 4, Store("a", (IndexVar("r"),), Read("x", (b("+", TID, IndexVar("r")),))))
    row = b("%", b("*", TID, TID), 4)
    text = check(small(Declare("a", "register", i32, (4,)), fill_a, Store("y", (TID,), Read("a", (row,)))))
    assert "? a[0] :" in text
    partly = b("+", b("*", I, 2), IndexSelect(cmp("<", TID, 5), c(0), c(1)))
    body = (
        Declare("a", "register", i32, (4,)), fill_a, accumulator("s", i32),
        loop("i", 2, Accumulate("s", (), Read("a", (partly,)), TRUE)), Store("y", (TID,), Accumulated("s", ())),
    )  # fmt: skip
    assert "thread < 5 ? a[i * 2] : a[i * 2 + 1]" in check(small(*body))


def test_dynamic_register_stores() -> None:
    body = (
        Declare("a", "register", i32, (3, 2)),
        loop("r", 3, loop("s", 2, Store("a", (IndexVar("r"), IndexVar("s")), ValueConst(0, i32)))),
        Store("a", (b("%", TID, 3), IndexSelect(cmp("<", TID, 9), c(1), c(0))), Read("x", (TID,))),
        accumulator("t", i32, shape=(2,)),
        loop("r", 3, Accumulate("t", (b("%", b("+", TID, IndexVar("r")), 2),), Read("a", (IndexVar("r"), c(1))), TRUE)),
        Store("y", (TID,), Arith("-", (Accumulated("t", (c(0),)), Accumulated("t", (c(1),))))),
    )
    check(small(*body))


def test_shared_memory_and_barriers() -> None:
    body = (
        Declare("s", "shared", f32, (2, 33)),
        Store("s", (b("//", TID, 32), b("%", TID, 32)), Read("x", (TID,))),
        Sync(),
        Store("y", (TID,), Read("s", (b("-", 1, b("//", TID, 32)), b("-", 31, b("%", TID, 32))))),
    )
    text = check(small(*body, dtype=f32, block=64))
    assert "__shared__ float s[2][33];" in text
    assert "__syncthreads();" in text


def test_partial_warps_have_their_own_mask() -> None:
    stores = Store("y", (TID,), Shuffle("xor", Read("x", (TID,)), c(1), 32))
    assert "__shfl_xor_sync(0xff, x[thread], 1)" in check(small(stores, block=8))
    assert "warp_mask, x[thread], 1" in check(small(stores, block=48))


def test_a_shuffle_in_a_guarded_accumulate_runs_in_every_lane() -> None:
    got = Shuffle("idx", Read("x", (TID,)), c(31), 32)
    kernel = small(accumulator("o", i32), Accumulate("o", (), got, cmp("<", TID, 7)), Store("y", (TID,), Accumulated("o", ())))
    text = cuda_source(kernel).text
    assert text.index("__shfl_sync") < text.index("if (thread < 7)")


def test_a_variable_that_is_the_thread_number_is_printed_once() -> None:
    body = (SetIndex("lane", TID), SetIndex("again", TID), Store("y", (IndexVar("lane"),), Read("x", (IndexVar("again"),))))
    text = check(small(*body))
    assert "const int lane = threadIdx.x;\n  const int again = lane;\n  y[lane] = x[again];" in text
    assert text.count("threadIdx") == 1


def test_a_reassigned_thread_number_stays_apart() -> None:
    i = IndexVar("i")
    text = check(small(SetIndex("i", TID), SetIndex("i", b("^", i, 1)), Store("y", (i,), Read("x", (TID,)))))
    assert "int i = thread;" in text


def test_a_constant_grid_has_no_guard_against_an_empty_one() -> None:
    assert "nothing to do" not in cuda_source(small(Store("y", (TID,), Read("x", (TID,))))).text
    assert "if (grid_size.x == 0) {" in cuda_source(*conv1d()).text


@pytest.mark.parametrize(
    "shuffle",
    [
        Shuffle("idx", Read("x", (TID,)), TID, 32),
        Shuffle("idx", Read("x", (TID,)), b("%", b("+", TID, 64), 8), 8),
        Shuffle("xor", Read("x", (TID,)), b("//", TID, 64), 32),
        Shuffle("up", Read("x", (TID,)), c(0), 32),
    ],
)
def test_a_shuffle_from_oneself_is_the_value(shuffle: Shuffle) -> None:
    stores = If(cmp("<", TID, 7), (Store("y", (TID,), shuffle),), (Store("y", (TID,), ValueConst(0, i32)),))
    assert "y[thread] = x[thread];" in check(small(stores, block=64))


def test_an_expression_that_varies_with_a_reassigned_variable_is_not_uniform() -> None:
    got = Shuffle("idx", Read("x", (TID,)), c(0), 32)
    body = (SetIndex("k", c(0)), If(cmp("<", TID, 3), (SetIndex("k", c(1)),)))
    stores = If(cmp("<", b("//", TID, 32), IndexVar("k")), (Store("y", (TID,), got),), (Store("y", (TID,), ValueConst(0, i32)),))
    with pytest.raises(UserError, match="SHUFFLE_DIVERGENT"):
        cuda_source(small(*body, stores))


def test_warps_agree_on_what_their_operands_agree_on() -> None:
    def printed(threads: int) -> str:
        at = b("+", b("*", Builtin("block_id", 0), 2), b("//", TID, threads))
        cond = Logical("and", (Compare("<", at, SizeVar("n")), cmp(">=", b("//", TID, threads), 0)))
        got = Shuffle("idx", Read("x", (TID,)), c(0), 32)
        kernel = small(If(cond, (Store("y", (TID,), got),), (Store("y", (TID,), ValueConst(0, i32)),)), block=64)
        return cuda_source(replace(kernel, sizes=("n",))).text

    assert "__shfl_sync" in printed(32)
    with pytest.raises(UserError, match="SHUFFLE_DIVERGENT"):
        printed(16)


def test_divergent_shuffles_are_refused() -> None:
    value = ValueSelect(cmp("<", TID, 7), Shuffle("idx", Read("x", (TID,)), c(0), 32), ValueConst(0, i32))
    with pytest.raises(UserError, match="SHUFFLE_DIVERGENT"):
        cuda_source(small(Store("y", (TID,), value)))
    uniform = If(cmp("<", b("//", TID, 32), 1), (Store("y", (TID,), Shuffle("idx", Read("x", (TID,)), c(0), 32)),))
    check(small(uniform, block=64))


def test_open_holes_are_refused() -> None:
    with pytest.raises(UserError, match="HOLE_UNFILLED"):
        cuda_source(conv1d()[0])


def test_user_operators_and_reserved_names() -> None:
    plus7 = Operator("plus7", 0, Arith("&", (Arith("+", (ValueVar("$a"), ValueVar("$b"))), ValueConst(7, u32))))
    body = (
        SetIndex("for", b("%", TID, 8)),
        SetValue("float", u32, Read("x", (IndexVar("for"),))),
        accumulator("out", u32, op="plus7"),
        loop("i", 3, Accumulate("out", (), ValueVar("float"), TRUE)),
        Store("y", (TID,), Accumulated("out", ())),
    )
    check(small(*body, dtype=u32, operators=(plus7,)))


@needs_tools
def test_kernels_are_not_named_like_functions_of_cuda() -> None:
    kernel = replace(small(SetValue("v", i32, Read("x", (TID,))), Store("y", (TID,), ValueVar("v"))), name="norm")
    source = cuda_source(kernel)
    assert "norm2(" in source.text
    compile_cuda(source.text)


def test_variables_carried_around_a_loop_are_declared_outside() -> None:
    last = SetValue("last", i32, Arith("+", (ValueVar("last"), Read("x", (b("+", TID, I),)))))
    first = If(cmp("==", I, 0), (SetValue("last", i32, ValueConst(0, i32)),))
    check(small(loop("i", 4, first, last), Store("y", (TID,), ValueVar("last"))))


@needs_tools
def test_compile_errors_name_the_cuda_line() -> None:
    text = cuda_source(*conv1d()).text.replace("out += w[k] * got", "out += w[k] * lost")
    with pytest.raises(UserError, match=r'kernel.cu:\d+:1: error\[CUDA_ERROR\]: identifier "lost" is undefined\n  *out \+= w'):
        compile_cuda(text)


@needs_tools
def test_ptxas_numbers() -> None:
    local = 'extern "C" __global__ void f(int *y, int n) { int a[64]; for (int i = 0; i < 64; i++) a[i] = y[i] * n;'
    compiled = compile_cuda(local + " for (int i = 0; i < n; i++) a[y[i] & 63] += a[i & 63]; y[0] = a[n & 63]; }")
    assert isinstance(compiled, Compiled)
    assert compiled.local_bytes == 256
    shared = (
        'extern "C" __global__ void f(int *y) { __shared__ int s[96]; s[threadIdx.x] = y[0]; __syncthreads(); y[1] = s[y[2]]; }'
    )
    assert compile_cuda(shared, "sm_80").shared_bytes == 384


def counting(start: int, stop: int, step: int) -> str:
    """The line before a loop in which y[t] is set once for each number."""
    var = IndexVar("k")
    body = (Store("y", (TID,), FromIndex(var, i32)),)
    lines = cuda_source(small(For("k", c(start), c(stop), step, body))).text.splitlines()
    (at,) = (n for n, line in enumerate(lines) if "for (int k" in line)
    return lines[at - 1].strip()


@pytest.mark.parametrize("trips", [4, 384, 385, 2000])
def test_long_loops_are_not_unrolled_whole_whichever_way_they_count(trips: int) -> None:
    up, down, by_two = counting(0, trips, 1), counting(trips, 0, -1), counting(0, 2 * trips, 2)
    assert (up == down == by_two == "#pragma unroll 4") is (trips > 384)
    assert ("#pragma" in up, "#pragma" in down, "#pragma" in by_two) == (trips > 384,) * 3


def test_a_loop_covers_registers_that_it_meets_once_each() -> None:
    over = For("k", c(0), c(4), 1, ())
    k = IndexVar("k")
    assert covers(k, over, 4) and covers(b("%", b("*", k, 3), 4), over, 4) and covers(b("-", 3, k), over, 4)
    assert covers(k, For("k", c(3), c(-1), -1, ()), 4)
    for place, registers in ((k, 3), (k, 5), (b("%", k, 2), 4), (b("//", k, 2), 2), (b("+", k, 1), 4)):
        assert not covers(place, over, registers)
    assert not covers(k, For("k", c(0), N, 1, ()), 4) and not covers(k, For("k", N, c(4), 1, ()), 4)


def test_a_variable_is_declared_where_all_its_uses_see_it() -> None:
    uses = Store("y", (TID,), FromIndex(IndexVar("v"), i32))
    assert find_scopes((SetIndex("v", TID), uses)).constant == {"v"}
    assert find_scopes((SetIndex("v", TID), If(cmp("<", TID, 3), (uses,)))).here == {"v"}
    assert find_scopes((If(cmp("<", TID, 3), (SetIndex("v", TID), uses)),)).here == {"v"}
    assert find_scopes((If(cmp("<", TID, 3), (SetIndex("v", TID), uses)), uses)).hoisted == ["v"]
    twice = find_scopes((SetIndex("v", TID), SetIndex("v", c(1)), uses))
    assert twice.here == {"v"} and not twice.constant


def test_comments_are_one_line() -> None:
    assert comment("a\n#include <x>\r b \\") == "// a #include <x> b ?"
    kernel, holes = conv1d()
    kernel = replace(kernel, file="/tmp/odd\nint evil;\\.py")
    assert cuda_source(kernel, holes).text.splitlines()[0].endswith("odd int evil;?.py, completed by Warploom.")


@pytest.mark.parametrize("file", ["a\nint x;.py", "a\u2028b.py", "n\udcff.py", "a.py\\", "a.py\\ ", "a\x0bb.py"])
def test_no_name_leaves_its_comment(file: str) -> None:
    kernel, completions = conv1d()
    plain = cuda_source(kernel, completions).text.splitlines()
    text = check(replace(kernel, file=file), completions)
    assert text.isascii() and len(text.splitlines()) == len(plain)
    assert [a for a, b in zip(text.splitlines(), plain, strict=True) if a != b] == [text.splitlines()[0]]
    assert not text.splitlines()[0].rstrip().endswith("\\")


def test_no_name_of_the_users_hides_a_helper() -> None:
    total = Arith("+", (Read("add_i32", (TID,)), Read("add_i32", (TID,))))
    params = (array("add_i32", i32, 32), array("y", i32, 32, out=True, inp=False))
    text = check(Kernel("friend", params, (), (32, 1, 1), (c(1), c(1), c(1)), 32, (Store("y", (TID,), total),)))
    assert "void __launch_bounds__(32)\nfriend2(const int *__restrict__ add_i32," in text
    assert "y[thread] = add_i322(add_i32[thread], add_i32[thread]);" in text


def test_helpers_that_only_the_grid_calls_are_printed() -> None:
    params = (array("y", i32, N, out=True, inp=False),)
    odd = b("max", b("//", b("-", N, 5), SizeVar("m")), 0)
    text = cuda_source(Kernel("far", params, ("n", "m"), (1, 1, 1), (odd, c(1), c(1)), 32, ())).text
    assert "int floor_div(int a, int b) {" in text
    assert "grid_size(floor_div(n - 5, m) > 0 ? floor_div(n - 5, m) : 0, 1, 1);" in text


def test_an_index_by_itself_divides_as_c_does() -> None:
    ranges: dict[IndexExpr, Interval] = {I: Interval(0, 31)}
    assert index_c(b("//", b("&", I, 12), 4), ranges) == "(i & 12) / 4"
    assert index_c(cmp("==", b("&", I, 3), 0), ranges) == "(i & 3) == 0"
    with pytest.raises(ValueError, match="divides as C does"):
        index_c(b("//", b("-", I, 5), 2), ranges)
