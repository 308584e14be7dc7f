"""Device functions that printed kernels call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from warploom.core import BY_NAME
from warploom.ctext import cuda_type
from warploom.machines import MATRIX_INSTRUCTIONS, MatrixInstruction
from warploom.operations import C_FUNCTIONS

_COPY = """template <int Bytes>
__device__ __forceinline__ void copy_async_KIND(void* to, const void* from)
{
    const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.KIND.shared.global [%0], [%1], %2;" ::"r"(target), "l"(from), "n"(Bytes) : "memory");
}
"""
_COPY_OR_ZERO = """template <int Bytes>
__device__ __forceinline__ void copy_or_zero_KIND(void* to, const void* from, bool is_inside)
{
    const unsigned target = static_cast<unsigned>(__cvta_generic_to_shared(to));
    const int bytes = is_inside ? Bytes : 0;
    asm volatile("cp.async.KIND.shared.global [%0], [%1], %2, %3;" ::"r"(target), "l"(from), "n"(Bytes), "r"(bytes) : "memory");
}
"""
_EXTREME = """template <typename T>
__device__ __forceinline__ T NAME(T a, T b)
{
    return a SIGN b || a != a ? a : b;
}
"""
_EXTREME_F32 = """__device__ __forceinline__ float NAME(float a, float b)
{
    float chosen;
    asm("OPCODE.NaN.f32 %0, %1, %2;" : "=f"(chosen) : "f"(a), "f"(b));
    return chosen;
}
"""
"""CUDA has no function for the instruction, which machines have from sm_80 on."""


def _load_matrices(count: int, suffix: str, trans: str) -> str:
    to = "abcd"[:count]
    parameters = ", ".join(f"unsigned& {name}" for name in to)
    places = ", ".join(f"%{n}" for n in range(count))
    outputs = ", ".join(f'"=r"({name})' for name in to)
    return f"""__device__ __forceinline__ void load_{count}_matrices{suffix}({parameters}, const void* piece)
{{
    asm volatile("ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{places}}}, [%{count}];"
                 : {outputs}
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(piece)))
                 : "memory");
}}
"""


def register_type(on: MatrixInstruction) -> str:
    """The C type of one register of a factor."""
    return "double" if on.factor_bytes == 8 else "unsigned"


def _multiply(on: MatrixInstruction) -> str:
    """`mma.sync`, which adds to its sums."""
    factor, total = on.ptx.split()
    counts = 2 * on.halves, on.halves * on.groups, on.groups
    names = "abcd"[: counts[0]]
    word, rows, columns = register_type(on), counts[1], counts[2]
    firsts = [0, counts[0], counts[0] + counts[1]]
    d, a, b = (", ".join(f"%{first + n}" for n in range(count)) for first, count in zip(firsts, counts, strict=True))
    letter = "d" if on.total == "f64" else "f" if on.total == "f32" else "r"
    sums = ", ".join(f'"+{letter}"({name})' for name in names)
    inputs = ", ".join(
        f'"{"d" if word == "double" else "r"}"({name}[{n}])'
        for name, count in (("rows", rows), ("columns", columns))
        for n in range(count)
    )
    total_type = cuda_type(BY_NAME[on.total])
    return f"""__device__ __forceinline__ void multiply_{on.factor}(
    {", ".join(f"{total_type}& {name}" for name in names)}, const {word} (&rows)[{rows}], const {word} (&columns)[{columns}])
{{
    asm volatile("mma.sync.aligned.{on.shape}.row.col.{total}.{factor}.{factor}.{total} "
                 "{{{d}}}, {{{a}}}, {{{b}}}, {{{d}}};"
                 : {sums}
                 : {inputs});
}}
"""


_LOAD = """__device__ __forceinline__ TYPE load_NAME_SUFFIX(const TYPE* from)
{
    return __ushort_as_SUFFIX(FUNCTION(reinterpret_cast<const unsigned short*>(from)));
}
"""
"""The loads of cuda_fp16.h and cuda_bf16.h are `asm` without `volatile`: the compiler takes them out from under their guards."""
_TYPES_OF_HALVES = {"half": "__half", "bfloat16": "__nv_bfloat16"}
_TEXTS = {
    "max_or_nan": _EXTREME.replace("NAME", "max_or_nan").replace("SIGN", ">"),
    "min_or_nan": _EXTREME.replace("NAME", "min_or_nan").replace("SIGN", "<"),
    "max_or_nan_f32": _EXTREME_F32.replace("NAME", "max_or_nan").replace("OPCODE", "max"),
    "min_or_nan_f32": _EXTREME_F32.replace("NAME", "min_or_nan").replace("OPCODE", "min"),
    "copy_async_ca": _COPY.replace("KIND", "ca"),
    "copy_async_cg": _COPY.replace("KIND", "cg"),
    "copy_or_zero_ca": _COPY_OR_ZERO.replace("KIND", "ca"),
    "copy_or_zero_cg": _COPY_OR_ZERO.replace("KIND", "cg"),
    "close_copies": """__device__ __forceinline__ void close_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}
""",
    "await_copies": """template <int Open>
__device__ __forceinline__ void await_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Open) : "memory");
}
""",
    "show_stores": """__device__ __forceinline__ void show_stores()
{
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
""",
    "await_all_copies": """__device__ __forceinline__ void await_all_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}
""",
    **{
        f"load_{count}_matrices{suffix}": _load_matrices(count, suffix, trans)
        for count in (1, 2, 4)
        for suffix, trans in (("", ""), ("_transposed", ".trans"))
    },
    **{f"multiply_{name}": _multiply(on) for name, on in MATRIX_INSTRUCTIONS.items()},
    **{
        f"load_{name}_{suffix}": _LOAD.replace("TYPE", c_type)
        .replace("NAME", name)
        .replace("SUFFIX", suffix)
        .replace("FUNCTION", f"__{name}")
        for name in ("ldg", "ldcg", "ldcs")
        for suffix, c_type in _TYPES_OF_HALVES.items()
    },
    "rounded_tf32": """__device__ __forceinline__ float rounded_tf32(float value)
{
    unsigned rounded;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(value));
    return __uint_as_float(rounded);
}
""",
    "swizzled": """template <int Bits, int Base, int Shift>
__device__ __forceinline__ int swizzled(int index)
{
    return index ^ (index >> (Base + Shift) & (1 << Bits) - 1) << Base;
}
""",
    "rotated": """template <int N, int Unit, int Scale, int Period>
__device__ __forceinline__ int rotated(int index)
{
    const unsigned digit = unsigned(index) / Unit % N, row = unsigned(index) / (N * Unit);
    const unsigned turned = (digit + row * Scale + (Period > 0 ? row / (Period > 0 ? Period : 1) : 0)) % N;
    return index + (int(turned) - int(digit)) * Unit;
}
""",
}


WORDS = C_FUNCTIONS.union(_TEXTS, ("lanes", "shared_bytes", "abs", "max", "min"))
"""Names that texts of kernels use beside those of the nest."""


def helper_texts(names: Iterable[str]) -> list[str]:
    wanted = set(names)
    return [text for name, text in _TEXTS.items() if name in wanted]


def joined(texts: Sequence[str]) -> str:
    """Text of the helpers of several kernels, each where it first stands."""
    found: list[str] = []
    for text in texts:
        for helper in _TEXTS.values():
            if any(helper in before for before in found):
                text = text.replace(f"{helper}\n", "")
        found.append(text)
    return "\n".join(found)
