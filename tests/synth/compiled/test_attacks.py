"""Wrong kernels that resemble right ones: none is proved. Each row says what the right text would be, which is proved."""

import numpy as np
import pytest
from tests.synth.compiled.programs import body, proved

from warploom.core import DType, UnsupportedError, f16, f32, i8, i32, i64, u8, u32, u64
from warploom.synth.compiled import Argument, ArrayArgument

N = 64
U, I, F = (u32, u32), (i32, i32), (f32, f32)
TILE = ".shared .align 16 .b8 tile[1024];"


def verdict(lines: str, spec, kinds: tuple[DType, DType] = (u32, u32), blocks: int = 1, threads: int = N, count: int = N) -> str:
    arguments: tuple[Argument, ...] = (ArrayArgument("out", kinds[0], (count,)), ArrayArgument("a", kinds[1], (count,)))
    try:
        return proved(body(lines, declarations=TILE), spec, arguments, blocks, threads).verdict
    except UnsupportedError:
        return "unchecked"


def same(out, a):
    for i in range(N):
        out[i] = a[i]


def turned(out, a):
    for i in range(N):
        out[i] = a[i ^ 1]


def doubled(out, a):
    for i in range(N):
        out[i] = 2 * a[i]


def halved(out, a):
    for i in range(N):
        out[i] = a[i] >> 1


def zeros(out, a):
    for i in range(N):
        out[i] = 0


def pairs(out, a):
    for i in range(0, N, 2):
        out[i], out[i + 1] = a[i + 1], a[i]


def total(out, a):
    for i in range(N):
        out[0] += a[i]


LOAD, STORE = "\tld.global.u32 %r2, [%rd2];\n", "\tst.global.u32 [%rd1], %r2;\n"
FLOAT, BACK = "\tld.global.f32 %f1, [%rd2];\n", "\tst.global.f32 [%rd1], %f1;\n"
SHARED = "\tshl.b32 %r3, %r1, 2;\n\tmov.u32 %r4, tile;\n\tadd.s32 %r5, %r4, %r3;\n\txor.b32 %r6, %r5, 4;\n"
LOOP = (
    SHARED
    + LOAD
    + "\tmov.u32 %r9, 0;\n$again:\n\tst.shared.u32 [%r5], %r2;\n\tbar.sync 0;\n\tld.shared.u32 %r2, [%r6];\n{sync}"
    + "\tadd.s32 %r9, %r9, 1;\n\tsetp.lt.u32 %p1, %r9, 3;\n\t@%p1 bra $again;\n"
    + STORE
)
LANES = LOAD + "\tshfl.sync.bfly.b32 %r2, %r2, 1, {clamp}, {mask};\n" + STORE
PAIR = (
    "\tand.b32 %r9, %r1, 1;\n\tsetp.eq.u32 %p1, %r9, 0;\n\t@!%p1 bra $end;\n\tld.global.v2.u32 {%r2, %r3}, [%rd2];\n"
    "\tst.global.v2.u32 [%rd1], {%r{x}, %r{y}};\n$end:\n"
)
HALF = "cvt.rn.f16.f32 %h1, %f1;\n\tcvt.f32.f16 %f1, %h1"
INTEGER = "cvt.rzi.s32.f32 %r2, %f1;\n\tcvt.rn.f32.s32 %f1, %r2"
REAL = "cvt.rn.f32.s32 %f1, %r2;\n\tcvt.rzi.s32.f32 %r2, %f1"
FIRST = "\tsub.s64 %rd1, %rd1, %rd3;\n"


@pytest.mark.parametrize(
    ("text", "right", "wrong", "spec", "kinds"),
    [
        (LOOP, ("{sync}", "\tbar.sync 0;\n"), ("{sync}", ""), turned, U),
        (LOOP, ("{sync}", "\tbar.sync 0;\n"), ("{sync}", "\tbar.warp.sync 0x0000ffff;\n"), turned, U),
        (LANES, ("{clamp}, {mask}", "31, -1"), ("{clamp}, {mask}", "31, 0x55555555"), turned, U),
        (LANES, ("{clamp}, {mask}", "31, -1"), ("{clamp}, {mask}", "0x1f1f, -1"), turned, U),
        (PAIR, ("%r{x}, %r{y}", "%r3, %r2"), ("%r{x}, %r{y}", "%r3, %r3"), pairs, U),
        (PAIR, ("%r{x}, %r{y}", "%r3, %r2"), ("%r{x}, %r{y}", "%r2, %r3"), pairs, U),
        (LOAD + "\t{op} %r2, %r2, 1;\n" + STORE, ("{op}", "shr.s32"), ("{op}", "shr.u32"), halved, I),
        (LOAD + "\t{op};\n" + STORE, ("{op}", "shr.s32 %r2, %r2, 1"), ("{op}", "div.s32 %r2, %r2, 2"), halved, I),
        (LOAD + "\t{op} %r2, %r2, 2;\n" + STORE, ("{op}", "mul.lo.u32"), ("{op}", "mul.hi.u32"), doubled, U),
        (LOAD + "\t{op} %r2, %r2, 1;\n" + STORE, ("{op}", "shl.b32"), ("{op}", "shf.l.wrap.b32 %r2, %r2,"), doubled, U),
        (FLOAT + "\t{op};\n" + BACK, ("{op}", "mov.f32 %f1, %f1"), ("{op}", HALF), same,
         F),
        (FLOAT + "\t{op};\n" + BACK, ("{op}", "mov.f32 %f1, %f1"), ("{op}", INTEGER), same,
         F),
        (LOAD + "\t{op};\n" + STORE, ("{op}", "mov.b32 %r2, %r2"), ("{op}", REAL), same,
         I),
        (LOAD + "\t{op};\n" + STORE, ("{op}", "mov.b32 %r2, %r2"), ("{op}", "and.b32 %r2, %r2, 0x7fffffff"), same, I),
        (FLOAT + "\t{op};\n" + BACK, ("{op}", "mov.f32 %f1, %f1"), ("{op}", "mul.sat.f32 %f1, %f1, 0f3F800000"), same, F),
        (FLOAT + "\t{op};\n" + BACK, ("{op}", "mov.f32 %f1, %f1"), ("{op}", "cvt.rni.f32.f32 %f1, %f1"), same, F),
        (FLOAT + "\t{op};\n" + BACK, ("{op}", "add.f32 %f1, %f1, %f1"), ("{op}", "fma.rn.f32 %f1, %f1, %f1, %f1"), doubled, F),
        ("\tmov.u32 %r2, {x};\n" + STORE, ("{x}", "0"), ("{x}", "tile"), zeros, U),
        (FIRST + LOAD + "\t{op};\n", ("{op}", "red.global.add.u32 [%rd1], %r2"), ("{op}", "red.shared.add.u32 [tile], 1"), total,
         U),
        (
            FIRST + LOAD + "\tred.global.add.u32 [%rd1], %r2;\n{more}",
            ("{more}", ""), ("{more}", "\tld.global.u32 %r5, [%rd1];\n"), total, U,
        ),
        (FIRST + LOAD + "\tred.global.{op}.u32 [%rd1], %r2;\n", ("{op}", "add"), ("{op}", "max"), total, U),
        (LOAD + "{more}" + STORE, ("{more}", ""), ("{more}", "\tsetp.eq.u32 %p1, %r1, 63;\n\t@%p1 trap;\n"), same, U),
        (LOAD + "\tsetp.{op}.u32 %p1, %r1, 63;\n\t@%p1 st.global.u32 [%rd1], %r2;\n", ("{op}", "le"), ("{op}", "lt"), same, U),
        (LOAD + "\tadd.s64 %rd4, %rd1, {k};\n\tst.global.u32 [%rd4], %r2;\n", ("{k}", "0"), ("{k}", "4"), same, U),
    ],
)  # fmt: skip
def test_wrong_kernels_that_resemble_right_ones(
    text: str, right: tuple[str, str], wrong: tuple[str, str], spec, kinds: tuple[DType, DType]
) -> None:
    def made(parts: tuple[str, str]) -> str:
        result = text
        for old, new in zip(parts[0].split(", "), parts[1].split(", ", parts[0].count(", ")), strict=True):
            result = result.replace(old, new)
        return result

    assert verdict(made(right), spec, kinds) == "proved"
    assert verdict(made(wrong), spec, kinds) != "proved"


def test_a_sum_in_other_bits_than_c_takes() -> None:
    def spec(out, a):
        for i in range(N):
            out[i] = a[i] + a[i ^ 1]

    def asked(out, a):
        for i in range(N):
            out[i] = np.int64(a[i]) + a[i ^ 1]

    lines = "\tadd.s64 %rd1, %rd1, %rd3;\n\tld.global.s32 %r2, [%rd2];\n\tsub.s64 %rd4, %rd2, %rd3;\n\txor.b32 %r5, %r1, 1;\n"
    lines += "\tmul.wide.u32 %rd5, %r5, 4;\n\tadd.s64 %rd4, %rd4, %rd5;\n\tld.global.s32 %r3, [%rd4];\n"
    narrow = "\tadd.s32 %r4, %r2, %r3;\n\tcvt.s64.s32 %rd6, %r4;\n"
    wide = "\tcvt.s64.s32 %rd6, %r2;\n\tcvt.s64.s32 %rd7, %r3;\n\tadd.s64 %rd6, %rd6, %rd7;\n"
    store = "\tst.global.u64 [%rd1], %rd6;\n"
    for text, found in ((narrow, ("proved", "refuted")), (wide, ("refuted", "proved"))):
        assert (verdict(lines + text + store, spec, (i64, i32)), verdict(lines + text + store, asked, (i64, i32))) == found


@pytest.mark.parametrize("load", ["u8", "s8"])
def test_a_byte_with_the_wrong_sign(load: str) -> None:
    lines = (
        f"\tcvt.u64.u32 %rd4, %r1;\n\tsub.s64 %rd5, %rd2, %rd3;\n\tadd.s64 %rd5, %rd5, %rd4;\n\tld.global.{load} %r2, [%rd5];\n"
    )
    right = "s8" if load == "u8" else "u8"
    kind = {"s8": i8, "u8": u8}
    assert verdict(lines + STORE, same, (i32, kind[load])) in ("proved", "unchecked")
    assert verdict(lines + STORE, same, (i32, kind[right])) != "proved"


def test_the_order_of_two_arrays_in_memory_decides_nothing() -> None:
    text = LOAD + "\tsetp.{op}.u64 %p1, %rd1, %rd2;\n\t@%p1 add.s32 %r2, %r2, 1;\n" + STORE
    for op in ("lt", "gt"):
        assert verdict(text.replace("{op}", op), same) != "proved", op


def test_half_precision_is_not_single() -> None:
    lines = "\tcvt.u64.u32 %rd4, %r1;\n\tshl.b64 %rd4, %rd4, 1;\n\tsub.s64 %rd5, %rd2, %rd3;\n\tadd.s64 %rd5, %rd5, %rd4;\n"
    lines += "\tld.global.b16 %h1, [%rd5];\n\tcvt.{to}.f16 %{r}1, %h1;\n\tst.global.b32 [%rd1], %{r}1;\n"
    assert verdict(lines.replace("{to}", "f32").replace("{r}", "f"), same, (f32, f16)) in ("proved", "unchecked")
    assert (
        verdict(lines.replace("cvt.{to}.f16 %{r}1, %h1", "cvt.u32.u16 %r9, %h1").replace("{r}1", "r9"), same, (f32, f16))
        != "proved"
    )


INFINITE, NAN, ZERO = "0f7F800000", "0f7FC00000", "0f00000000"


def zero_floats(out, a):
    for i in range(N):
        out[i] = 0.0


@pytest.mark.parametrize(
    ("lines", "spec"),
    [
        (f"mul.f32 %f1, {ZERO}, {INFINITE}", zero_floats),
        (f"mul.f32 %f1, {ZERO}, {NAN}", zero_floats),
        (f"sub.f32 %f1, {INFINITE}, {INFINITE}", zero_floats),
        (f"sub.f32 %f1, {NAN}, {NAN}", zero_floats),
        (f"fma.rn.f32 %f1, {ZERO}, {INFINITE}, %f1", same),
        (f"fma.rn.f32 %f1, {ZERO}, {NAN}, %f1", same),
        (f"mul.f32 %f1, %f1, {INFINITE};\n\tmul.f32 %f1, %f1, {ZERO}", zero_floats),
        (f"div.rn.f32 %f1, %f1, {ZERO};\n\tmul.f32 %f1, %f1, {ZERO}", zero_floats),
        (f"mov.f32 %f2, {NAN};\n\tsetp.ltu.f32 %p1, %f2, %f2;\n\t@%p1 mov.f32 %f1, {ZERO}", same),
        (f"max.NaN.f32 %f1, %f1, {NAN}", same),
        (f"min.NaN.f32 %f1, {NAN}, %f1", same),
        (f"mov.f32 %f2, {NAN};\n\tsetp.ne.f32 %p1, %f2, %f2;\n\t@%p1 mov.f32 %f1, {ZERO}", zero_floats),
    ],
)
def test_infinities_and_nan_are_no_numbers(lines: str, spec) -> None:
    assert verdict(f"{FLOAT}\t{lines};\n{BACK}", spec, F) != "proved"


def test_limits_that_finite_data_have_are_followed() -> None:
    for lines in (f"max.f32 %f1, %f1, {NAN}", f"setp.geu.f32 %p1, %f1, {NAN};\n\t@!%p1 mov.f32 %f1, {ZERO}"):
        assert verdict(f"{FLOAT}\t{lines};\n{BACK}", same, F) == "proved", lines
    lines = f"div.rn.f32 %f1, %f1, {INFINITE}"
    assert verdict(f"{FLOAT}\t{lines};\n{BACK}", zero_floats, F) == "proved"


def test_a_barrier_where_nobody_waits() -> None:
    assert verdict(LOAD + "\tbar.arrive 1, 64;\n" + STORE, same) == "unchecked"


def equal_to(function):
    def spec(out, a):
        for i in range(N):
            out[i] = function(a[i])

    return spec


ZEROED = f"\tmov.f32 %f1, {ZERO};\n{BACK}"


@pytest.mark.parametrize(
    "function",
    [lambda x: x / (x - x) * 0, lambda x: x / (x - x) - x / (x - x), lambda x: x * 0 / (2 - 2), lambda x: x * 1e39 * 0],
)
def test_a_spec_that_divides_by_zero_or_overflows_is_not_simplified_away(function) -> None:
    assert verdict(ZEROED, equal_to(function), F) == "unchecked"


def test_a_quotient_of_data_stands_in_the_domain() -> None:
    arguments: tuple[Argument, ...] = (ArrayArgument("out", f32, (N,)), ArrayArgument("a", f32, (N,)))
    proof = proved(body(ZEROED), equal_to(lambda x: x / x * 0), arguments, 1, N)
    assert (proof.verdict, proof.domain) == ("proved", "real sums reordered, no number divided by 0")


LARGE, ONE = "0f7F000000", "0f3F800000"


@pytest.mark.parametrize(
    "lines",
    [
        "sub.f32 %f2, %f1, %f1;\n\tdiv.rn.f32 %f2, %f1, %f2;\n\tmul.f32 %f1, %f2, 0f00000000",
        "sub.f32 %f2, %f1, %f1;\n\trsqrt.approx.f32 %f2, %f2;\n\tsub.f32 %f1, %f2, %f2",
        "sub.f32 %f2, %f1, %f1;\n\tlg2.approx.f32 %f2, %f2;\n\tsub.f32 %f1, %f2, %f2",
        f"sub.f32 %f2, %f1, %f1;\n\tsub.f32 %f2, %f2, {ONE};\n\tsqrt.rn.f32 %f2, %f2;\n\tsub.f32 %f1, %f2, %f2",
        f"mul.f32 %f2, {LARGE}, {LARGE};\n\tmul.f32 %f1, %f2, 0f00000000",
        f"mov.f32 %f3, {LARGE};\n\tadd.f32 %f2, %f3, %f3;\n\tsub.f32 %f2, %f2, %f3;\n\tsub.f32 %f1, %f2, %f3",
    ],
)
def test_a_kernel_without_a_value_is_not_simplified_away(lines: str) -> None:
    assert verdict(f"{FLOAT}\t{lines};\n{BACK}", zero_floats, F) == "unchecked"


def same_unless_nan(out, a):
    for i in range(N):
        out[i] = a[i] if a[i] == a[i] else 0.0


def at_most_one(out, a):
    for i in range(N):
        out[i] = a[i] if a[i] < 1 else 1.0


def test_comparisons_of_floats_say_that_data_are_finite() -> None:
    arguments: tuple[Argument, ...] = (ArrayArgument("out", f32, (N,)), ArrayArgument("a", f32, (N,)))
    proof = proved(body(FLOAT + BACK), same_unless_nan, arguments, 1, N)
    assert (proof.verdict, proof.domain) == ("proved", "data are finite numbers")
    lines = f"{FLOAT}\tsetp.geu.f32 %p1, %f1, {ONE};\n\tselp.f32 %f1, {ONE}, %f1, %p1;\n{BACK}"
    proof = proved(body(lines), at_most_one, arguments, 1, N)
    assert (proof.verdict, "data are finite numbers" in proof.domain) == ("proved", True)


APART = (
    "\tand.b32 %r9, %r1, 1;\n\tsetp.eq.u32 %p1, %r9, 0;\n\t@%p1 bra $even;\n\t{one}\n\tbra $both;\n$even:\n\t{other}\n$both:\n"
)


def test_lanes_of_a_warp_meet_at_barriers_in_different_branches() -> None:
    full = APART.replace("{one}", "bar.warp.sync -1;").replace("{other}", "bar.warp.sync -1;")
    swap = SHARED + LOAD + "\tst.shared.u32 [%r5], %r2;\n" + full + "\tld.shared.u32 %r2, [%r6];\n" + STORE
    assert verdict(swap, turned) == "proved"
    assert verdict(swap.replace("bar.warp.sync -1;\n\tbra", "bar.warp.sync 0xaaaaaaaa;\n\tbra"), turned) == "refuted"
    assert verdict(swap.replace("bar.warp.sync -1;\n\tbra", "nanosleep.u32 1;\n\tbra"), turned) == "refuted"
    arguments: tuple[Argument, ...] = (ArrayArgument("out", u32, (N,)), ArrayArgument("a", u32, (N,)))
    older = body(swap, declarations=TILE).replace("sm_90", "sm_61")
    assert proved(older, turned, arguments, 1, N).verdict == "refuted"


def test_lanes_of_a_warp_at_different_shuffles_are_not_refuted() -> None:
    one = "shfl.sync.bfly.b32 %r2, %r2, 2, 31, -1;"
    assert verdict(LOAD + APART.replace("{one}", one).replace("{other}", one) + STORE, same) == "unchecked"
    assert verdict(LOAD + APART.replace("{one}", one).replace("{other}", "") + STORE, same) == "refuted"


def test_numbers_of_warps_decide_nothing() -> None:
    text = LOAD + "\tmov.u32 %r9, {name};\n\t{op}.b32 %r9, %r9, 5;\n\tadd.s32 %r2, %r2, %r9;\n" + STORE
    assert verdict(text.replace("{name}", "%warpid").replace("{op}", "shl"), same) == "unchecked"
    assert verdict(text.replace("{name}", "%nwarpid").replace("{op}", "shr"), same) == "unchecked"
    fault = LOAD + "\tmov.u32 %r9, %warpid;\n\tsetp.eq.u32 %p1, %r9, 1;\n\t@%p1 trap;\n" + STORE
    assert verdict(fault, same) == "unchecked"


def test_what_rounding_explains_is_not_refuted() -> None:
    half = "\tcvt.rn.f32.s32 %f1, %r2;\n\tmul.f32 %f1, %f1, 0f3F000000;\n\tcvt.rzi.s32.f32 %r2, %f1;\n"
    assert verdict(LOAD + half + STORE, equal_to(lambda x: x * 0.5), I) == "unchecked"
    assert verdict(f"{FLOAT}\tmul.f32 %f1, %f1, 0f3C23D70B;\n{BACK}", equal_to(lambda x: x * 0.1 * 0.1), F) == "unchecked"
    assert verdict(f"{FLOAT}\tmul.f32 %f1, %f1, 0f3C23D80B;\n{BACK}", equal_to(lambda x: x * 0.1 * 0.1), F) == "refuted"


def guarded_by_its_index(out, a):
    for i in range(N + 9):
        if i < N:
            out[i] = a[i]


def guarded_twice(out, a):
    for i in range(N + 9):
        if i < N:  # noqa: SIM102 - the nesting is what is tested
            if a[i] > 5:
                out[i] = a[i]


def test_a_guard_without_else_reads_nothing_where_it_does_not_hold() -> None:
    assert verdict(LOAD + STORE, guarded_by_its_index) == "proved"
    assert (
        verdict(
            LOAD + "\tld.global.u32 %r3, [%rd1];\n\tsetp.gt.u32 %p1, %r2, 5;\n\tselp.b32 %r2, %r2, %r3, %p1;\n" + STORE,
            guarded_twice,
        )
        == "proved"
    )


def carry(out, a):
    for i in range(N - 1):
        out[i] = 1 if a[i] + a[i + 1] < a[i] else 0


CARRY = (
    "\tadd.s64 %rd1, %rd1, %rd3;\n\tsetp.eq.u32 %p1, %r1, 63;\n\t@%p1 bra $done;\n\tld.global.u32 %r2, [%rd2];\n"
    "\tld.global.u32 %r3, [%rd2+4];\n{sum}\tselp.u64 %rd6, 1, 0, %p2;\n\tst.global.u64 [%rd1], %rd6;\n$done:\n"
)
NARROW_SUM = "\tadd.u32 %r4, %r2, %r3;\n\tsetp.lt.u32 %p2, %r4, %r2;\n"
WIDE_SUM = "\tcvt.u64.u32 %rd6, %r2;\n\tcvt.u64.u32 %rd7, %r3;\n\tadd.u64 %rd8, %rd6, %rd7;\n\tsetp.lt.u64 %p2, %rd8, %rd6;\n"


def test_a_comparison_of_sums_that_wrap_in_fewer_bits() -> None:
    """0xffffffff + 1 < 0xffffffff holds in 32 bits only, in which C takes the sum, whatever array the choice is stored to."""
    assert verdict(CARRY.replace("{sum}", NARROW_SUM), carry, (u64, u32)) == "proved"
    assert verdict(CARRY.replace("{sum}", WIDE_SUM), carry, (u64, u32)) != "proved"


def saturated(out, a):
    for i in range(N):
        out[i] = min(a[i] + a[i], 255)


def halved_sum(out, a):
    for i in range(N):
        out[i] = (a[i] + a[i]) >> 1


def third_of_a_sum(out, a):
    for i in range(N):
        out[i] = (a[i] + a[i]) // 3


def cut(out, a):
    for i in range(N):
        out[i] = min((a[i] + a[i]) & 255, 255)


@pytest.mark.parametrize("spec", [saturated, halved_sum, third_of_a_sum])
def test_a_sum_of_bytes_that_the_spec_orders(spec) -> None:
    """In C the sum of two bytes is an int: `min(a + b, 255)` is no wrapped sum."""
    place = "\tshr.u64 %rd4, %rd3, 2;\n\tsub.s64 %rd2, %rd2, %rd3;\n\tadd.s64 %rd2, %rd2, %rd4;\n"
    place += "\tsub.s64 %rd1, %rd1, %rd3;\n\tadd.s64 %rd1, %rd1, %rd4;\n"
    lines = place + "\tld.global.u8 %h1, [%rd2];\n\tadd.s16 %h2, %h1, %h1;\n\tst.global.u8 [%rd1], %h2;\n"
    assert verdict(lines, cut, (u8, u8)) == "proved"
    assert verdict(lines, spec, (u8, u8)) != "proved"


def test_a_difference_shows_the_mask() -> None:
    def spec(out, a):
        for i in range(N):
            out[i] = a[i] & 3

    arguments = (ArrayArgument("out", u32, (N,)), ArrayArgument("a", u32, (N,)))
    proof = proved(body(LOAD + "\tand.b32 %r2, %r2, 7;\n" + STORE), spec, arguments, 1, N)
    assert proof.reason is not None and "expected 0x3 & a[0], found 0x7 & a[0]" in proof.reason
