"""One test for all that must not wrap: exact in every width, shared only by loads of one value, computed early or in place."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest
from tests.ptx.shuffle.kernels import kernel
from tests.ptx.shuffle.same import differences, rewritten

from warploom.ptx.shuffle import MAX_DELTA, ShuffleOptions, apply_all
from warploom.ptx.shuffle.plan import NoWrap
from warploom.ptx.shuffle.ranges import IndexRange, index_ranges
from warploom.ptx.shuffle.registers import FreshRegisters
from warploom.ptx.simt import launch

MIDDLE = 1 << 15


def _numbers(width: int, is_signed: bool) -> range:
    return range(-(1 << (width - 1)), 1 << (width - 1)) if is_signed else range(1 << width)


def _read(value: int, width: int, is_signed: bool) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if is_signed and value >> (width - 1) else value


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("width", [6, 7, 8])
def test_the_comparison_is_exact(width: int, is_signed: bool) -> None:
    x = np.array(_numbers(width, is_signed))
    size, bottom, top = 1 << width, int(x[0]), int(x[-1])
    for low in range(-(size >> 1), 1):
        for high in range((size >> 1) if low > -(size >> 1) else size >> 2):
            addend, comparison, bound = IndexRange("x", low, high, is_signed, width).violation
            first = (x + addend - bottom) % size + bottom
            violated = first > bound if comparison == "gt" else first < bound
            wraps = (x + low < bottom) | (x + high > top)
            assert np.array_equal(violated, wraps), (low, high)
            assert bottom <= bound <= top


@pytest.mark.parametrize("is_signed", [True, False])
def test_offsets_of_one_register_are_joined(is_signed: bool) -> None:
    width = 8
    rng = random.Random(3)
    for _ in range(300):
        checks = [
            NoWrap("x", rng.randint(-128, 127), rng.choice((-1, 1)) * rng.randint(1, 9), is_signed, width)
            for _ in range(rng.randint(1, 4))
        ]
        found = index_ranges(checks)
        for x in _numbers(width, is_signed):
            tests = [(x + a, op, bound) for a, op, bound in (r.violation for r in found)]
            violated = any(
                y > bound if op == "gt" else y < bound
                for y, op, bound in ((_read(y, width, is_signed), o, b) for y, o, b in tests)
            )
            for c in checks:
                start = _read(x + c.offset, width, is_signed)
                wraps = _read(start + c.amount, width, is_signed) != start + c.amount
                assert violated or not wraps, (checks, x)


def test_near_offsets_need_one_test_and_far_ones_do_not_share() -> None:
    near = [NoWrap("%r1", 0, 2, True, 32), NoWrap("%r1", 0, -1, True, 32), NoWrap("%r1", 5, 1, True, 32)]
    assert index_ranges(near) == (IndexRange("%r1", -1, 6, True, 32),)
    assert len(index_ranges([*near, NoWrap("%r1", 1 << 30, 1, True, 32)])) == 2
    assert len(index_ranges([*near, NoWrap("%r1", 0, 1, False, 32), NoWrap("%r2", 0, 1, True, 32)])) == 3


EDGES = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 values, .param .u64 out)
{{
	.reg .b64 %a<3>;
	.reg .b32 %i, %y;
	.reg .b{width} %x;
	.reg .pred %no;
{declared}
	ld.param.u64 %a0, [values];
	ld.param.u64 %a1, [out];
	mov.u32 %i, %tid.x;
	mad.wide.u32 %a0, %i, {size}, %a0;
	mad.wide.u32 %a1, %i, 4, %a1;
	ld.global.b{width} %x, [%a0];
	setp.ne.s32 %no, %i, %i;
{code}
	selp.u32 %y, 1, 0, {tested};
	st.global.u32 [%a1], %y;
	ret;
}}
"""


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize("width", [16, 32, 64])
def test_the_code_at_the_edges(width: int, is_signed: bool) -> None:
    numbers = _numbers(width, is_signed)
    ends = [*range(numbers[0], numbers[0] + 48), *range(-24, 24), *range(numbers[-1] - 47, numbers[-1] + 1)]
    values = [_read(v, width, is_signed) for v in ends]
    given = np.array([v % (1 << width) for v in values], dtype=f"u{width // 8}")
    for low, high in ((-3, 5), (0, MAX_DELTA), (-MAX_DELTA, 0), (4, 9), (-9, -2)):
        fresh = FreshRegisters("%new")
        code, tested = IndexRange("%x", low, high, is_signed, width).test("%x", "%no", fresh)
        text = EDGES.format(
            width=width, size=width // 8, declared="\n".join(fresh.declarations()), code="\n".join(code), tested=tested
        )
        run = launch(text, grid=(1, 1, 1), block=(len(values), 1, 1), args=[given.copy(), np.zeros(len(values), np.uint32)])
        assert run.status == "finished"
        start = [_read(v + low, width, is_signed) for v in values]
        wanted = [int(_read(s + high - low, width, is_signed) != s + high - low) for s in start]
        if low <= 0 <= high:
            assert wanted == [int(v + low not in numbers or v + high not in numbers) for v in values]
        assert run.arrays[1].tolist() == wanted, (low, high)


# whole kernels with 16-bit indices, which do wrap

PRELUDE = (
    "cvt.u16.u32 %h1, %r4;\ncvt.u16.u32 %h2, %r21;\nadd.s16 %h1, %h1, %h2;\nsetp.gt.u32 %p5, %r4, 40;\nmov.f32 %f9, 0f00000000;\n"
)
LOAD = """cvt.{t}64.{t}16 %rd7, {index};
shl.b64 %rd7, %rd7, 2;
add.s64 %rd8, %rd1, %rd7;
ld.global.f32 {value}, [%rd8+{place}];
"""


def _load(index: str, value: str, offset: int, *, is_signed: bool = True) -> str:
    place = 4 * ((MIDDLE if is_signed else 0) + 64 + offset)
    return LOAD.format(t="s" if is_signed else "u", index=index, value=value, place=place)


def _used(count: int) -> str:
    sums = "".join(f"fma.rn.f32 %f9, %f9, 0f3FA00000, %f{n};\n" for n in range(20, 20 + count))
    return sums + "st.global.f32 [%rd6], %f9;\n"


def _arguments(first: int) -> list[Any]:
    whole = np.random.default_rng(5).uniform(-1, 1, (1 << 16) + 256).astype(np.float32)
    return [whole, np.zeros(1000, np.float32), np.int32(128), np.int32(first)]


def _checked(body: str, firsts: tuple[int, ...], options: ShuffleOptions) -> str:
    text = kernel(PRELUDE + body)
    new = rewritten(text, options).text
    for first in firsts:
        assert not differences(text, new, (2, 1, 1), (64, 1, 1), _arguments(first)), (first, new)
    return new


ENDS = (MIDDLE - 20, MIDDLE - 96, 2 * MIDDLE - 20, 2 * MIDDLE - 96, 5)


def _tests(text: str) -> int:
    return len(re.findall(r"setp\.[a-z]+\.or\.[su]16 ", text))


@pytest.mark.parametrize("is_signed", [True, False])
def test_a_register_is_tested_once(is_signed: bool) -> None:
    loads = "".join(_load("%h1", f"%f{20 + n}", d, is_signed=is_signed) for n, d in enumerate((0, 1, -1, 3, -2)))
    new = _checked(loads + _used(5), ENDS, ShuffleOptions(policy=apply_all))
    assert new.count("shfl.sync") == 4
    assert _tests(new) == 1


def test_indices_computed_later_are_tested_once_at_the_start() -> None:
    body = _load("%h1", "%f20", 0) + _load("%h1", "%f21", 1) + "mad.lo.s16 %h3, %h2, 3, %h1;\nadd.s16 %h4, %h3, %h2;\n"
    body += _load("%h4", "%f22", 0) + _load("%h4", "%f23", 1) + _load("%h4", "%f24", -1) + _load("%h1", "%f25", -1)
    new = _checked(body + _used(6), (*ENDS, 3 * MIDDLE // 5 - 20, MIDDLE // 5 - 20), ShuffleOptions(policy=apply_all))
    assert new.count("shfl.sync") == 4
    assert _tests(new) == 2
    assert len(re.findall(r"setp\.l[te]\.or\.u32", new)) == 2


def test_values_under_one_name_are_told_apart() -> None:
    body = _load("%h1", "%f20", 0) + _load("%h1", "%f21", 1) + "add.s16 %h1, %h1, 50;\n"
    body += _load("%h1", "%f22", 0) + _load("%h1", "%f23", 1)
    new = _checked(body + _used(4), (*ENDS, MIDDLE - 70, MIDDLE - 120), ShuffleOptions(policy=apply_all))
    assert new.count("shfl.sync") == 2
    assert _tests(new) == 2


def test_what_cannot_be_had_early_is_tested_in_place() -> None:
    divided = "div.u16 %h5, %h2, 7;\n"  # not worth computing twice
    body = _load("%h1", "%f20", 0) + _load("%h1", "%f21", 1) + divided + "add.s16 %h3, %h1, %h5;\n"
    body += _load("%h3", "%f22", 0) + _load("%h3", "%f23", 1) + _load("%h3", "%f24", -1)
    new = _checked(body + _used(5), ENDS, ShuffleOptions(policy=apply_all))
    assert new.count("shfl.sync") == 3
    assert _tests(new) == 3


@pytest.mark.parametrize("seed", range(12))
def test_random_indices(seed: int) -> None:
    rng = random.Random(seed)
    lines: list[str] = []
    known, count = ["%h1"], 0
    while count < 8:
        index = rng.choice(known)
        match rng.randrange(6):
            case 0:
                target = rng.choice(("%h3", "%h4", "%h5", "%h1"))
                lines.append(f"add.s16 {target}, {index}, {rng.choice((1, -1, 3, 40, -300, 20000))};\n")
                known.append(target)
            case 1:
                target = rng.choice(("%h3", "%h4", "%h5"))
                lines.append(rng.choice(("add.s16", "sub.s16")) + f" {target}, {index}, %h2;\n")
                known.append(target)
            case 2 if rng.random() < 0.3:
                lines.append(f"{rng.choice(('@%p5', '@!%p5'))} add.s16 {index}, {index}, {rng.choice((0, 1, 7))};\n")
            case _:
                is_signed = rng.random() < 0.7
                lines.append(_load(index, f"%f{20 + count}", rng.choice((0, 0, 1, -1, 2, -3, 31)), is_signed=is_signed))
                count += 1
    options = ShuffleOptions(policy=apply_all, mode="cache" if seed % 3 == 2 else "shuffle")
    firsts = tuple(rng.choice((0, MIDDLE, 2 * MIDDLE, MIDDLE // 2)) + rng.randint(-130, 10) for _ in range(3))
    _checked("".join(lines) + _used(count), (*firsts, MIDDLE - 20, -20), options)
