"""Element types of arrays and registers, their 2- and 4-vectors included (the moving units of the paper's footnote 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["int", "uint", "float"]


@dataclass(frozen=True, slots=True)
class DType:
    """A scalar type (`lanes` = 1) or a vector of 2 or 4 equal scalars moved as one unit."""

    name: str
    """The type as the user writes it: `f32`, `u8`, `int4`."""
    kind: Kind
    bits: int
    """Bits of one component."""
    lanes: int = 1
    """Components: 1, 2 or 4."""

    @property
    def size_bytes(self) -> int:
        return self.bits * self.lanes // 8

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_held(self) -> bool:
        """NumPy has no such type: its values are held in float32 there (`words_of`, `values_of`, `in_memory`)."""
        return self.name in ("bf16", "e4m3", "e5m2")

    @property
    def is_narrow_float(self) -> bool:
        """A float that kernels store and convert, but do not compute in."""
        return self.is_float and self.lanes == 1 and self.name not in ("f32", "f64")

    def __getitem__(self, sizes: object) -> DType:
        """`f32["m", "k"]`: the annotation of an array in a tensor function, which is read from the source."""
        return self

    def __repr__(self) -> str:
        return self.name


i8, i16, i32, i64 = (DType(f"i{b}", "int", b) for b in (8, 16, 32, 64))
u8, u16, u32, u64 = (DType(f"u{b}", "uint", b) for b in (8, 16, 32, 64))
f16 = DType("f16", "float", 16)
bf16 = DType("bf16", "float", 16)
f32 = DType("f32", "float", 32)
f64 = DType("f64", "float", 64)

tf32 = DType("tf32", "float", 32)
"""Words of f32 of which only 10 bits of the fraction count: to read one is to round it, to nearest, of two away from 0."""
e4m3 = DType("e4m3", "float", 8)
e5m2 = DType("e5m2", "float", 8)

i8x4, u8x4 = DType("i8x4", "int", 32), DType("u8x4", "uint", 32)
"""Four bytes in a word, the first one lowest: factors of the dot products of CPUs (`schedule.cpu.dots`)."""
bf16x2 = DType("bf16x2", "uint", 32)
"""Two bf16 in a word, the first one lower: the same."""
WORDS: dict[str, DType] = {"i8": i8x4, "u8": u8x4, "bf16": bf16x2}
"""By the type of their elements. No array is declared as one of them."""

FACTORS: tuple[DType, ...] = (tf32, e4m3, e5m2)
"""Types that only the factors of products of matrices have: arrays of them are read, and converted to f32."""
SCALARS: tuple[DType, ...] = (i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64)

_CUDA_VECTOR_BASE = {
    "char": i8, "short": i16, "int": i32, "longlong": i64,
    "uchar": u8, "ushort": u16, "uint": u32, "ulonglong": u64,
    "float": f32, "double": f64,
}  # fmt: skip

VECTORS: tuple[DType, ...] = tuple(
    DType(f"{base}{lanes}", scalar.kind, scalar.bits, lanes) for base, scalar in _CUDA_VECTOR_BASE.items() for lanes in (2, 4)
)

BY_NAME: dict[str, DType] = {t.name: t for t in SCALARS + VECTORS + FACTORS}


def element_of(dtype: DType) -> DType:
    """The type of the elements of a word; other types themselves."""
    return next((BY_NAME[name] for name, word in WORDS.items() if word == dtype), dtype)


def other_word(dtype: DType) -> DType:
    """Words of signed bytes for unsigned ones, and the reverse."""
    return next(word for word in WORDS.values() if word != dtype)


def vector_of(scalar: DType, lanes: int) -> DType:
    """The vector type of `lanes` (2 or 4) components of `scalar`; KeyError if CUDA has none."""
    for dtype in VECTORS:
        if dtype.kind == scalar.kind and dtype.bits == scalar.bits and dtype.lanes == lanes:
            return dtype
    raise KeyError(f"no {lanes}-vector of {scalar.name}")


def scalar_of(dtype: DType) -> DType:
    """The component type of `dtype` (itself when it is a scalar)."""
    if dtype.lanes == 1:
        return dtype
    return next(t for t in SCALARS if t.kind == dtype.kind and t.bits == dtype.bits and t is not bf16)


@cache
def to_numpy(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of one component. bf16, e4m3 and e5m2 have none in NumPy: their values are held in float32, rounded after
    each operation."""
    import numpy as np  # here, because the command line answers `--help` before it needs arrays

    if dtype.is_held:
        return np.dtype(np.float32)
    letter = {"int": "i", "uint": "u", "float": "f"}[dtype.kind]
    return np.dtype(f"{letter}{dtype.bits // 8}")


def in_memory(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of an array as it lies in memory: of types that NumPy lacks the words (`words_of`)."""
    import numpy as np

    return np.dtype(f"u{dtype.size_bytes}") if dtype.is_held else to_numpy(dtype)


def integer_range(dtype: DType) -> tuple[int, int]:
    """Smallest and largest value of an integer type."""
    if dtype.kind == "uint":
        return 0, (1 << dtype.bits) - 1
    return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1


def bf16_words(values: NDArray[Any]) -> NDArray[np.uint16]:
    """The bits of bf16 that are next to values held in float32, of two as near the even ones; NaN stays NaN."""
    import numpy as np

    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)
    return np.where(np.isnan(values), np.uint32(0x7FC0), rounded).astype(np.uint16)


def bf16_values(words: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The values of these bits of bf16, in float32."""
    import numpy as np

    return (words.astype(np.uint32) << np.uint32(16)).view(np.float32)


def words_of(dtype: DType, values: NDArray[Any]) -> NDArray[Any]:
    """The array as it lies in memory, of values that NumPy may hold in float32; those of 8 bits are rounded to nearest, of two to
    the even one, and kept within the finite ones."""
    if dtype.name == "bf16":
        return bf16_words(values)
    if not dtype.is_held:
        return values
    import numpy as np

    table = _small_floats(dtype)
    finite = table[:128][np.isfinite(table[:128])].astype(np.float64)
    sizes = np.abs(np.asarray(values, np.float64))
    above = np.clip(np.searchsorted(finite, np.nan_to_num(sizes)), 1, len(finite) - 1)
    up, down = finite[above] - sizes, sizes - finite[above - 1]
    words = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, above - 1)
    words = np.where(np.isnan(values), 0x7F, words) | np.where(np.signbit(values), 0x80, 0)
    return words.astype(np.uint8)


def values_of(dtype: DType, words: NDArray[Any]) -> NDArray[Any]:
    """The numbers that reading an array as it lies in memory gives, in the type that NumPy holds them in."""
    if dtype.name == "bf16":
        return bf16_values(words)
    if dtype.name == "tf32":
        return _tf32_values(words)
    return _small_floats(dtype)[words] if dtype.is_held else words


def _tf32_values(words: NDArray[Any]) -> NDArray[np.float32]:
    import numpy as np

    bits = np.ascontiguousarray(words, np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(words), rounded.view(np.float32), words)


@cache
def _small_floats(dtype: DType) -> NDArray[np.float32]:
    """The values of the 256 words of e4m3 or e5m2. e4m3 has no infinities, and only 0x7f and 0xff are no numbers."""
    import numpy as np

    digits = 3 if dtype.name == "e4m3" else 2
    bias, words = (1 << (6 - digits)) - 1, np.arange(256)
    exponent, fraction = words >> digits & ((1 << (7 - digits)) - 1), words & ((1 << digits) - 1)
    size = np.where(exponent > 0, fraction + (1 << digits), fraction) * 2.0 ** (np.maximum(exponent, 1) - bias - digits)
    if dtype.name == "e4m3":
        size = np.where(words & 0x7F == 0x7F, np.nan, size)
    else:
        size = np.where(exponent == 31, np.where(fraction == 0, np.inf, np.nan), size)
    return np.where(words & 0x80, -size, size).astype(np.float32)
