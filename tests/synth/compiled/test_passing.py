"""Registers on the way from an array to shared memory, and those that serve something else, too."""

from tests.synth.compiled.programs import body

from warploom.ptx import lower, parse
from warploom.synth.compiled.passing import passed_to_shared

LINES = """
	ld.global.u16 %h1, [%rd2];
	cvt.rn.f32.s16 %f1, %h1;
	mul.f32 %f2, %f1, 0f40000000;
	ld.global.f32 %f3, [%rd2];
	add.f32 %f4, %f2, %f3;
	st.shared.f32 [%r2], %f4;
	ld.global.f32 %f5, [%rd2];
	st.shared.f32 [%r2], %f5;
	st.global.f32 [%rd1], %f5;
	ld.shared.f32 %f6, [%r2];
	fma.rn.f32 %f7, %f6, %f3, %f6;
	st.shared.f32 [%r2], %f7;
	ld.global.f32 %f8, [%rd2];
	neg.f32 %f9, %f8;
	abs.f32 %f10, %f9;
	setp.lt.f32 %p1, %f10, 0f3F800000;
	@%p1 bra DONE;
	st.shared.f32 [%r2], %f9;
DONE:
"""


def test_registers_of_copies() -> None:
    """Not %f5, which is stored elsewhere, too, %f7, which is computed of shared memory, %f8 to %f10, which decide a branch."""
    (routine,) = lower(parse(body(LINES, declarations=".shared .b32 s[8];\n\tmov.u32 %r2, s;"))).routines.values()
    found = passed_to_shared(routine)
    assert {name for name in found if name[1] in "fhp"} == {"%h1", "%f1", "%f2", "%f3", "%f4"}
