"""Counts of instructions in a disassembly."""

from warploom.gpu.machine_code import MachineCounts, counts_in

SASS = """
	.section	.text.first,"ax",@progbits
.text.first:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ;
        /*0020*/             @!UP0 LDS.64 R8, [R6] ;
        /*0028*/              @!PT LDS RZ, [RZ] ;
        /*0030*/                   SHFL.IDX PT, R8, R8, R9, 0x1f ;
        /*0040*/               @P1 FSEL R8, R8, R9, !P2 ;
        /*0050*/                   IMAD.WIDE.U32 R8, R8, 0x4, R2 ;
        /*0060*/                   FFMA R8, R8, R9, R10 ;
        /*0070*/                   FFMA R8, R8, R9, R10 ;
        /*0080*/                   EXIT ;
        /*0090*/                   BRA 0x90;
        /*00a0*/                   NOP;
.L_x_1:
	.size	first,(.L_x_1 - first)
        /*0000*/                   FFMA R8, R8, R9, R10 ;
.text.second:
        /*0000*/                   EXIT ;
"""


def test_each_kernel_is_counted_by_kind_of_instruction() -> None:
    counts = counts_in(SASS)
    opcodes = {
        "FFMA": 2, "LDC": 1, "LDG.128": 1, "LDS.64": 1, "SHFL": 1, "FSEL": 1, "IMAD": 1, "EXIT": 1, "BRA": 1,
    }  # fmt: skip
    assert counts["first"] == MachineCounts(10, loads=1, shuffles=1, selects=1, opcodes=opcodes)
    assert next(iter(counts["first"].opcodes)) == "FFMA"
    assert counts["second"].opcodes == {"EXIT": 1}
