"""The table of modelled instructions against the results of these instructions."""

import pytest
from tests.ptx.symbolic.test_emulate import emulated

from warploom.ptx.instructions import ROWS
from warploom.ptx.symbolic import MODELLED, Term, subterms

EXACT = {
    "abs": "abs.s32 %r7, %r1;",
    "add": "add.s32 %r7, %r1, %r2;",
    "addc": "add.cc.u32 %r8, %r1, %r2; addc.u32 %r7, %r1, %r2;",
    "and": "and.b32 %r7, %r1, %r2;",
    "bfe": "bfe.u32 %r7, %r1, 3, 5;",
    "bfi": "bfi.b32 %r7, %r1, %r2, 3, 5;",
    "cnot": "cnot.b32 %r7, %r1;",
    "cvt": "cvt.s32.s8 %r7, %r1;",
    "cvta": "cvta.to.global.u64 %rd7, %rd1;",
    "div": "div.u32 %r7, %r1, 7;",
    "lop3": "lop3.b32 %r7, %r1, %r2, %r1, 0x96;",
    "mad": "mad.wide.u32 %rd7, %r1, %r2, %rd1;",
    "madc": "mad.lo.cc.u32 %r8, %r1, %r2, %r1; madc.hi.u32 %r7, %r1, %r2, %r2;",
    "max": "max.s32 %r7, %r1, %r2;",
    "min": "min.u32 %r7, %r1, %r2;",
    "mov": "mov.b32 %r7, %r1;",
    "mul": "mul.hi.u32 %r7, %r1, %r2;",
    "neg": "neg.s32 %r7, %r1;",
    "not": "not.b32 %r7, %r1;",
    "or": "or.b32 %r7, %r1, %r2;",
    "prmt": "prmt.b32 %r7, %r1, %r2, 0x5410;",
    "rem": "rem.u32 %r7, %r1, 7;",
    "sad": "sad.u32 %r7, %r1, %r2, %r1;",
    "selp": "selp.b32 %r7, %r1, %r2, %p1;",
    "set": "set.lt.u32.u32 %r7, %r1, %r2;",
    "setp": "setp.lt.u32 %p7, %r1, %r2;",
    "shf": "shf.l.wrap.b32 %r7, %r1, %r2, 7;",
    "shl": "shl.b32 %r7, %r1, %r2;",
    "shr": "shr.s32 %r7, %r1, %r2;",
    "slct": "slct.u32.s32 %r7, %r1, %r2, %r1;",
    "sub": "sub.s32 %r7, %r1, %r2;",
    "subc": "sub.cc.u32 %r8, %r1, %r2; subc.u32 %r7, %r1, %r2;",
    "xor": "xor.b32 %r7, %r1, %r2;",
}
"""The last instruction shows it; %r1, %r2, %rd1 and %p1 are known."""
UNKNOWN = (
    "shfl.sync.idx.b32 %r7, %r1, 0, 31, -1;",
    "vote.sync.ballot.b32 %r7, %p1, -1;",
    "activemask.b32 %r7;",
    "atom.global.add.u32 %r7, [%rd1], 1;",
    "frobnicate.u32 %r7, %r1;",
)


def result(text: str) -> Term:
    emulation = emulated(f"mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; ld.param.u64 %rd1, [a]; setp.lt.u32 %p1, %r1, 5; {text}")
    ((last, wrote),) = [max(emulation.blocks[0].results.items())]
    assert last == len(emulation.routine.instructions) - 2
    return next(value for register, value in wrote.items() if "7" in register)


def test_every_exact_instruction_is_shown() -> None:
    assert list(EXACT) == [opcode for opcode, model in MODELLED.items() if model == "exact"]


@pytest.mark.parametrize("opcode", EXACT)
def test_exact_results(opcode: str) -> None:
    text = EXACT[opcode]
    assert text.split(";")[-2].split(".")[0].strip() == opcode
    assert not {t.op for t in subterms(result(text))} & {"function", "opaque"}


def test_uninterpreted_results() -> None:
    for opcode in (o for o, model in MODELLED.items() if model == "uninterpreted" and o not in ("ld", "ldu")):
        first, second = result(f"{opcode}.f32 %f7, %r1, %r2, %r2;"), result(f"{opcode}.f32 %f7, %r1, %r2, %r1;")
        assert (first.op, str(first.args[:2])) == ("function", str(second.args[:2]))
        assert str(first) != str(second)
    assert result("ld.global.u32 %r7, [%rd1];").op == result("ldu.global.u32 %r7, [%rd1];").op == "load"


@pytest.mark.parametrize("text", UNKNOWN)
def test_opaque_results(text: str) -> None:
    assert text.split(".")[0] not in MODELLED
    assert result(text).op == "opaque"


def test_opcodes_are_those_of_the_instruction_table() -> None:
    assert set(MODELLED) <= {row.opcode for row in ROWS}


def test_comparisons_of_floats_that_flush_are_other_comparisons() -> None:
    flushing, other = (result(f"setp.lt{how}.f32 %p7, %r1, %r2;") for how in (".ftz", ""))
    assert str(flushing) != str(other)


@pytest.mark.parametrize("combined", ["", ".and", ".or", ".xor"])
def test_the_second_result_for_packed_pairs_is_that_of_the_upper_halves(combined: str) -> None:
    """The lower halves may compare as the upper ones do, so that neither predicate tells the other."""
    last = ", %p1" if combined else ""
    text = f"setp.lt{combined}.f16x2 %p5|%p6, %r1, %r2{last};"
    both = result(f"{text} and.pred %p7, %p5, %p6;"), result(f"{text} xor.pred %p7, %p5, %p6;")
    assert all(t.value is None for t in both)
