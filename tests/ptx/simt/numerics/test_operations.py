"""Binding by name: what is known, what is refused, and that uniform (zero-dimensional) operands behave as full ones."""

from __future__ import annotations

import numpy as np
import pytest

from ptx.simt.numerics import reference
from warploom.core import UnsupportedError
from warploom.ptx.simt.numerics import SCALAR_TYPES, bind, is_arithmetic, scalar_type

INSTRUCTIONS = (
    "add.s32", "add.sat.s32", "add.u64", "add.s16x2", "add.cc.u32", "addc.cc.s64", "addc.u32", "sub.s16", "subc.u32",
    "mul.lo.s32", "mul.hi.s64", "mul.hi.u32", "mul.wide.s16", "mul.wide.u32", "mad.lo.u64", "mad.wide.s32", "mad.hi.sat.s32",
    "mad.lo.cc.u32", "madc.hi.u32", "mul24.lo.s32", "mad24.hi.u32", "sad.s32", "div.s32", "div.u64", "rem.s64", "abs.s32",
    "neg.s64", "min.relu.s32", "max.u16x2", "popc.b64", "clz.b32", "bfind.s64", "bfind.shiftamt.u32", "fns.b32", "brev.b64",
    "bfe.s32", "bfe.u64", "bfi.b32", "szext.clamp.s32", "bmsk.wrap.b32", "dp4a.s32.u32", "dp2a.hi.u32.s32", "and.b32",
    "and.pred", "or.b64", "xor.b16", "not.pred", "not.b32", "cnot.b32", "shl.b64", "shr.s16", "shf.l.clamp.b32", "prmt.b32",
    "prmt.b32.f4e", "selp.f32", "slct.f32.s32", "slct.ftz.u64.f32", "setp.lt.s32", "setp.neu.and.f64", "setp.eq.or.f16x2",
    "set.gt.u32.f32", "set.le.f16x2.f16x2", "testp.normal.f64", "add.f32", "add.rz.ftz.sat.f32", "add.rm.f64", "sub.f16x2",
    "mul.bf16", "mul.rp.f64", "add.f32x2", "add.f32.f16", "fma.rn.f32", "fma.rm.f32", "fma.rn.f64", "fma.rz.f64",
    "fma.rn.relu.bf16x2", "fma.rn.f32.bf16", "mad.rn.f32", "min.f32", "max.NaN.f16", "min.ftz.xorsign.abs.f32", "max.f64",
    "abs.f16x2", "neg.ftz.f32", "copysign.f64", "div.rn.f32", "div.approx.ftz.f32", "div.full.f32", "div.rp.f64",
    "rcp.rn.f64", "rcp.approx.ftz.f64", "sqrt.rn.f32", "sqrt.rz.f64", "rsqrt.approx.f32", "sin.approx.f32",
    "ex2.approx.ftz.f16x2", "lg2.approx.f32", "tanh.approx.bf16", "cvt.u64.s32", "cvt.s8.s64", "cvt.sat.u8.s32",
    "cvt.rn.f32.s64", "cvt.rz.f64.u64", "cvt.rni.s32.f32", "cvt.rzi.u64.f64", "cvt.f64.f32", "cvt.rn.f16.f32",
    "cvt.rpi.f32.f32", "cvt.rn.bf16x2.f32", "cvt.rna.tf32.f32", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.f16x2.e5m2x2",
    "cvt.pack.sat.u8.s32.b32",
)  # fmt: skip


def _operand(name: str, count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if name in ("pred", "carry"):
        return random.random(count) < 0.5
    row = scalar_type(name)
    if row.is_float:
        parts = [reference.samples(row.element.name, count, seed + place) for place in range(row.lanes)]
        return np.stack(parts, axis=-1).view(f"u{row.register_bits // 8}")[:, 0]
    return random.integers(0, 2 ** (row.register_bits - 1), count).astype(f"u{row.register_bits // 8}") >> random.integers(
        0, row.register_bits, count
    ).astype(f"u{row.register_bits // 8}")


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_uniform_operands_are_full_ones_repeated(text: str) -> None:
    opcode, *modifiers = text.split(".")
    operation = bind(opcode, modifiers)
    columns = [_operand(name, 40, 3 * place) for place, name in enumerate(operation.sources)]

    def evaluate(operands: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        result = operation.evaluate(*operands)
        return result if isinstance(result, tuple) else (result,)

    full = evaluate(columns)
    assert len(full) == len(operation.results)
    for name, column in zip(operation.results, full, strict=True):
        wanted = np.bool_ if name in ("pred", "carry") else np.dtype(f"u{scalar_type(name).register_bits // 8}")
        assert column.dtype == wanted and column.shape == (40,), name
    for lane in range(40):
        uniform = evaluate([np.asarray(column[lane]) for column in columns])
        scalars = evaluate([column[lane] for column in columns])
        mixed = evaluate([column[lane : lane + 1] if place else np.asarray(column[lane]) for place, column in enumerate(columns)])
        for whole, a, b, c in zip(full, uniform, scalars, mixed, strict=True):
            assert a.dtype == b.dtype == c.dtype == whole.dtype
            assert a.shape == b.shape == ()
            assert whole[lane] == a == b == c, lane
    square = evaluate([column.reshape(5, 8) for column in columns])
    assert all(np.array_equal(whole, again.ravel()) for whole, again in zip(full, square, strict=True))
    strided = evaluate([np.repeat(column, 2)[::2] for column in columns])
    assert all(np.array_equal(whole, again) for whole, again in zip(full, strided, strict=True))
    stretched = evaluate([np.broadcast_to(column[:1], 3) for column in columns])
    assert all(again.tolist() == [whole[0]] * 3 for whole, again in zip(full, stretched, strict=True))


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_operands_are_left_alone(text: str) -> None:
    opcode, *modifiers = text.split(".")
    operation = bind(opcode, modifiers)
    columns = [_operand(name, 40, 5 * place) for place, name in enumerate(operation.sources)]
    copies = [column.copy() for column in columns]
    for column in columns:
        column.setflags(write=False)
    operation.evaluate(*columns)
    assert all(np.array_equal(column, copy) for column, copy in zip(columns, copies, strict=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("add.foo.s32", r"modifier \.foo in add\.foo\.s32"),
        ("ld.global.f32", "instruction ld"),
        ("mul.s32", r"mul\.s32"),
        ("add", "got add"),
        ("cvt.rs.f16x2.f32", r"modifier \.rs"),
        ("setp.s32", r"setp\.s32"),
        ("div.f32", r"div\.f32"),
        ("max.xorsign.f32", r"max\.xorsign\.f32"),
        ("fma.f32", r"fma\.f32"),
    ],
)
def test_what_is_not_understood_is_refused(text: str, message: str) -> None:
    opcode, *modifiers = text.split(".")
    with pytest.raises(UnsupportedError, match=message):
        bind(opcode, modifiers)


def test_opcodes_and_types() -> None:
    assert is_arithmetic("fma") and not is_arithmetic("bra")
    assert SCALAR_TYPES["f16x2"].element.name == "f16" and SCALAR_TYPES["f16x2"].bits == 16
    with pytest.raises(UnsupportedError, match=r"type \.q7"):
        scalar_type("q7")


def of_floats(text: str, *numbers: float) -> float:
    opcode, *modifiers = text.split(".")
    (found,) = bind(opcode, modifiers).evaluate(*(np.array([n], np.float32).view(np.uint32) for n in numbers)).view(np.float32)
    return float(found)


@pytest.mark.parametrize("opcode", ["add", "sub", "mul", "fma", "mad"])
def test_each_modifier_does_what_it_says_and_nothing_else(opcode: str) -> None:
    tiny = float(np.float32(2.0**-140))
    rest = {"add": (0.0,), "sub": (0.0,), "mul": (1.0,), "fma": (1.0, 0.0), "mad": (1.0, 0.0)}[opcode]
    rn = ".rn" if opcode in ("fma", "mad") else ""
    for modifiers, six, below, small in [
        ("", 6.0, -6.0, tiny),
        (".ftz", 6.0, -6.0, 0.0),
        (".sat", 1.0, 0.0, tiny),
        (".ftz.sat", 1.0, 0.0, 0.0),
    ]:
        text = f"{opcode}{rn}{modifiers}.f32"
        assert [of_floats(text, n, *rest) for n in (6.0, -6.0, tiny)] == [six, below, small], text
    third = {"add": (1.0, 2.0**-30), "sub": (1.0, -(2.0**-30)), "mul": (1 + 2.0**-23, 1 + 2.0**-23)}
    first, second = third.get(opcode, (1.0, 1.0))
    more = () if opcode in third else (2.0**-30,)
    found = {r: of_floats(f"{opcode}.{r}.f32", first, second, *more) for r in ("rn", "rz", "rm", "rp")}
    assert found["rn"] == found["rz"] == found["rm"] < found["rp"]


def test_selections_by_a_predicate_and_by_a_sign() -> None:
    words = np.array([7], np.uint32), np.array([9], np.uint32)
    for chosen, expected in ((True, 7), (False, 9)):
        assert bind("selp", ["b32"]).evaluate(*words, np.array([chosen])).tolist() == [expected]
    for number, expected in ((0, 7), (5, 7), (0xFFFFFFFF, 9)):
        assert bind("slct", ["b32", "s32"]).evaluate(*words, np.array([number], np.uint32)).tolist() == [expected]


def test_extremes_of_three() -> None:
    a, b, c = (
        np.array(column, np.uint32) for column in ([0x3F800000, 0x7FC00000], [0xC0000000, 0x40000000], [0x40400000, 0x7FC00000])
    )
    assert bind("max", ["f32"], 3).evaluate(a, b, c).tolist() == [0x40400000, 0x40000000]
    assert bind("min", ["NaN", "f32"], 3).evaluate(a, b, c).tolist() == [0xC0000000, 0x7FFFFFFF]
    assert bind("min", ["abs", "f32"], 3).evaluate(a, b, c).tolist() == [0x3F800000, 0x40000000]
    assert len(bind("min", ["f32"], 2).sources) == 2
