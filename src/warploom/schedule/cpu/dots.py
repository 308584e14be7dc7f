"""Dot products of words as C text: instructions that add the products of the elements of each lane to its total.

Bytes: x86 multiplies unsigned by signed ones (`vpdpbusd`); of two of one type, one is moved into the range of the other
(`surpluses`). The instructions of Arm that most machines have take two of one type, so that there it is moved back. Integers
wrap, so that all of it is exact.

bf16: `vdpbf16ps`, `bfdot`. Their sums are not those of f32: see `DIFFERENT_SUMS`. What x86 does is checked on a processor, bit by
bit. The rows for Arm are unchecked: they are compiled, and nobody has run them; those of SVE, for vectors of a length that the
compiler is told, were run by an emulation of the instructions.

Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 (VPDPBUSD, VDPBF16PS); Arm C Language Extensions,
section 13.2.3 (vdot, vusdot, vbfdot) and the chapter on SVE (svdot, svusdot, svbfdot, __ARM_FEATURE_SVE_BITS); Arm Architecture
Reference Manual for A-profile, BFDOT and FEAT_EBF16.
"""

from __future__ import annotations

from warploom.core import DType, bf16x2, u8x4
from warploom.core.compiler import listed_instructions

_X86 = {4: "_mm", 8: "_mm256", 16: "_mm512"}
"""By lanes."""
SVE_LANES = (8, 16)
"""Lanes of vectors of SVE that are no vectors of NEON."""
_OF_BYTES = ("avx512_vnni", "avx_vnni", "asimddp")
_FLAGS = {"i8": _OF_BYTES, "u8": _OF_BYTES, "bf16": ("avx512_bf16", "bf16")}
"""Names under which systems list these instructions, by the type of the elements."""
DIFFERENT_SUMS = "products of bf16 by instructions that take subnormal numbers as 0 and round each sum of two in their own way"
"""Domain of a verdict on a kernel with words of bf16. x86 adds the upper, then the lower product to the total, each rounded once
to nearest even, with subnormal factors, totals and results (after rounding) as 0, whatever the control register says. Its tile
registers sum the lower products of a row apart from the upper ones, so rounded, then add both sums, and that to the total. Arm
adds both products first, and rounds to odd, with subnormal numbers as 0, unless it has FEAT_EBF16 and is told otherwise."""


def multiplied_words() -> frozenset[str]:
    """Types of elements of which this machine multiplies words."""
    known = listed_instructions()
    return frozenset(element for element, flags in _FLAGS.items() if known.intersection(flags))


def dot_text(total: str, first: DType, second: DType, lanes: int) -> str:
    """The body of a function of `sum`, `a` and `b` (see `Helpers.dot`), which for scalars of bf16 calls `from_bf16`.

    total: the type of the totals in C.
    """
    lines: list[str] = []
    for macro, text in _rows(first, second, lanes):
        # Vectors of SVE become those of C where they are returned, and nowhere else.
        made = text if text.startswith("sv") else f"({total}){text}"
        lines += [f"{'#elif' if lines else '#if'} {macro}", f"    return {made};"]
    pairs = zip(_each("a", first, total, lanes), _each("b", second, total, lanes), strict=True)
    plain = [f"    sum += {a} * {b};" for a, b in pairs]
    plain.append("    return sum;")
    return "\n".join([*lines, "#else", *plain, "#endif"] if lines else plain).lstrip()


def _each(word: str, dtype: DType, total: str, lanes: int) -> list[str]:
    """The elements of a word, in the type of the totals."""
    if dtype == bf16x2 and lanes == 1:
        return [f"from_bf16((uint16_t){word})", f"from_bf16((uint16_t)({word} >> 16))"]
    if dtype == bf16x2:
        return [f"({total})({word} << 16)", f"({total})({word} & 0xffff0000u)"]
    return [f"({total})({word} << {up} >> 24)" for up in (24, 16, 8, 0)]


def _rows(first: DType, second: DType, lanes: int) -> list[tuple[str, str]]:
    """(macro that must be defined, expression) of each instruction set, the best first."""
    if first == second:
        return _rows_of_bf16(lanes) if first == bf16x2 else []
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
    if lanes in SVE_LANES:
        length, bytes_ = _of_sve(lanes), f"svreinterpret_s8_s32({signed})"
        moved = f"svreinterpret_s8_u32({unsigned} ^ 0x80808080u)"
        surplus = f"svdot_n_s32(svdup_n_s32(0), {bytes_}, -128)"
        product = f"svusdot_s32(sum, svreinterpret_u8_u32({unsigned}), {bytes_})"
        rows.append((f"{length} && defined(__ARM_FEATURE_SVE_MATMUL_INT8)", product))
        rows.append((length, f"svsub_s32_x(svptrue_b32(), svdot_s32(sum, {moved}, {bytes_}), {surplus})"))
    return rows


def _rows_of_bf16(lanes: int) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if lanes in _X86:
        kind = f"__m{lanes * 32}"
        vector_length = "" if lanes == 16 else " && defined(__AVX512VL__)"
        arguments = f"(({kind})sum, ({kind}bh)a, ({kind}bh)b)"
        rows.append((f"defined(__AVX512BF16__){vector_length}", f"{_X86[lanes]}_dpbf16_ps{arguments}"))
    if lanes == 4:
        arguments = "((float32x4_t)sum, (bfloat16x8_t)a, (bfloat16x8_t)b)"
        rows.append(("defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)", f"vbfdotq_f32{arguments}"))
    if lanes in SVE_LANES:
        text = "svbfdot_f32(sum, svreinterpret_bf16_u32(a), svreinterpret_bf16_u32(b))"
        rows.append((f"{_of_sve(lanes)} && defined(__ARM_FEATURE_SVE_BF16)", text))
    return rows


def _of_sve(lanes: int) -> str:
    """Vectors of SVE have so many lanes, as the compiler was told."""
    return f"__ARM_FEATURE_SVE_BITS == {lanes * 32}"
