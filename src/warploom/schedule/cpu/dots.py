"""Dot products of bytes as C text: instructions that add the products of four bytes of each lane to its total.

x86 multiplies unsigned by signed bytes (`vpdpbusd`); of two of one type, one is moved into the range of the other
(`surpluses`). The instructions of Arm that most machines have take two of one type, so that there it is moved back. Rows for Arm
are unchecked: nobody has run them. Integers wrap, so that all of it is exact.

Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (VPDPBUSD); Arm C Language Extensions, section
13.2.3 (vdot, vusdot).
"""

from __future__ import annotations

from warploom.core import DType, u8x4
from warploom.core.compiler import machine_text

_X86 = {4: "_mm", 8: "_mm256", 16: "_mm512"}
"""By lanes."""
_FLAGS = frozenset(("avx512_vnni", "avx_vnni", "asimddp"))
"""Names under which systems list these instructions."""


def multiplied_words() -> frozenset[str]:
    """Types of bytes of which this machine multiplies words."""
    return frozenset(("i8", "u8")) if _FLAGS.intersection(machine_text().replace(":", " ").split()) else frozenset()


def dot_text(total: str, first: DType, second: DType, lanes: int) -> str:
    """The body of a function of `sum`, `a` and `b` (see `Helpers.dot`). total: the type of the totals in C."""
    lines: list[str] = []
    for macro, text in _rows(first, second, lanes) if first != second else []:
        lines += [f"{'#elif' if lines else '#if'} {macro}", f"    return ({total}){text};"]
    plain = [f"    sum += ({total})(a << {up} >> 24) * ({total})(b << {up} >> 24);" for up in (24, 16, 8, 0)]
    plain.append("    return sum;")
    return "\n".join([*lines, "#else", *plain, "#endif"] if lines else plain).lstrip()


def _rows(first: DType, second: DType, lanes: int) -> list[tuple[str, str]]:
    """(macro that must be defined, expression) of each instruction set, the best first."""
    unsigned, signed = ("a", "b") if first == u8x4 else ("b", "a")
    rows: list[tuple[str, str]] = []
    if lanes in _X86:
        kind = f"__m{lanes * 32}i"
        arguments = f"(({kind})sum, ({kind}){unsigned}, ({kind}){signed})"
        vector_length = "" if lanes == 16 else " && defined(__AVX512VL__)"
        rows.append((f"defined(__AVX512VNNI__){vector_length}", f"{_X86[lanes]}_dpbusd_epi32{arguments}"))
        if lanes < 16:
            rows.append(("defined(__AVXVNNI__)", f"{_X86[lanes]}_dpbusd_avx_epi32{arguments}"))
    if lanes == 4:
        bytes_, high = f"(int8x16_t){signed}", "vdupq_n_s8(-128)"
        moved = f"veorq_s8((int8x16_t){unsigned}, {high})"
        rows.append(("defined(__ARM_FEATURE_MATMUL_INT8)", f"vusdotq_s32((int32x4_t)sum, (uint8x16_t){unsigned}, {bytes_})"))
        rows.append(
            (
                "defined(__ARM_FEATURE_DOTPROD)",
                f"vsubq_s32(vdotq_s32((int32x4_t)sum, {moved}, {bytes_}), vdotq_s32(vdupq_n_s32(0), {high}, {bytes_}))",
            )
        )
    return rows
