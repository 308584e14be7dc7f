"""Scalar type names of PTX and the NumPy views of their bits.

A register holds raw bits: `Bits` is an unsigned array of the register's width (8, 16, 32 or 64), `Flags` a predicate.
Shapes are free; zero-dimensional arrays and NumPy scalars broadcast. Values wider than the named type are the caller's
to cut (PTX allows them for ld, st and cvt only).

Source: PTX ISA 9.0, section 5.2 (types), 9.7.1 (integers), 9.7.3 to 9.7.5 (floating point).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UnsupportedError

Bits: TypeAlias = NDArray[np.unsignedinteger[Any]]
Flags: TypeAlias = NDArray[np.bool_]
Reals: TypeAlias = NDArray[np.float64]
Rounding: TypeAlias = Literal["rn", "rz", "rm", "rp", "rna", "rs", "ro"]

UNSIGNED: dict[int, np.dtype[np.unsignedinteger[Any]]] = {
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
}
SIGNED: dict[int, np.dtype[np.signedinteger[Any]]] = {
    8: np.dtype(np.int8),
    16: np.dtype(np.int16),
    32: np.dtype(np.int32),
    64: np.dtype(np.int64),
}


@dataclass(frozen=True, slots=True)
class ScalarType:
    """One type name, as an instruction's modifier spells it.

    kind: s, u, b or f, as the name starts; `bf16` and the eight-bit formats are f.
    register_bits: width of the register that holds a value (tf32: 32, e4m3: 8, f16x2: 32).
    lanes: packed values in one register, lowest first.
    """

    name: str
    kind: Literal["s", "u", "b", "f"]
    register_bits: int
    lanes: int = 1

    @property
    def bits(self) -> int:
        """Width of one packed value."""
        return self.register_bits // self.lanes

    @property
    def is_signed(self) -> bool:
        return self.kind == "s"

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def element(self) -> ScalarType:
        """The type of one packed value."""
        return self if self.lanes == 1 else SCALAR_TYPES[self.name[: -len(f"x{self.lanes}")]]


def _table() -> dict[str, ScalarType]:
    rows = [ScalarType(f"{kind}{bits}", kind, bits) for kind in ("s", "u", "b") for bits in (8, 16, 32, 64)]
    rows += [ScalarType(f"f{bits}", "f", bits) for bits in (16, 32, 64)]
    rows += [ScalarType("bf16", "f", 16), ScalarType("tf32", "f", 32), ScalarType("e4m3", "f", 8), ScalarType("e5m2", "f", 8)]
    rows += [ScalarType(name, name[0], 32, 2) for name in ("s16x2", "u16x2")]  # type: ignore[arg-type]
    rows += [ScalarType("f16x2", "f", 32, 2), ScalarType("bf16x2", "f", 32, 2), ScalarType("f32x2", "f", 64, 2)]
    rows += [ScalarType("e4m3x2", "f", 16, 2), ScalarType("e5m2x2", "f", 16, 2)]
    rows += [ScalarType(name, "f", 8) for name in ("e2m1", "e2m3", "e3m2", "ue8m0")]
    rows += [ScalarType("e2m1x2", "f", 8, 2)]
    rows += [ScalarType(f"{name}x2", "f", 16, 2) for name in ("e2m3", "e3m2", "ue8m0")]
    return {row.name: row for row in rows}


SCALAR_TYPES: dict[str, ScalarType] = _table()


def scalar_type(name: str) -> ScalarType:
    """The row of a type name without its dot; an `UnsupportedError` names a type that has no arithmetic here."""
    found = SCALAR_TYPES.get(name)
    if found is None:
        raise unsupported(f"type .{name}")
    return found


def unsupported(what: str) -> UnsupportedError:
    """The error for a meaningful combination that has no arithmetic here; the caller adds the instruction's line."""
    return UnsupportedError(Diagnostic("PTX_ARITHMETIC", f"expected an operation with known arithmetic, got {what}"))


def quiet() -> np.errstate:
    """A context to enter once around a run: IEEE traps and integer wrap-around are results here, not warnings."""
    return np.errstate(all="ignore")


def signed(bits: Bits) -> NDArray[np.signedinteger[Any]]:
    """The same bits as two's complement integers, without a copy."""
    return bits.view(SIGNED[8 * bits.dtype.itemsize])


def split(bits: Bits, lanes: int) -> Bits:
    """Packed registers [...] as their values [..., lanes], lowest first."""
    part = UNSIGNED[8 * bits.dtype.itemsize // lanes]
    return np.ascontiguousarray(bits).reshape(np.shape(bits))[..., None].view(part)


def join(parts: Bits) -> Bits:
    """Values [..., lanes], lowest first, as packed registers [...]."""
    whole = UNSIGNED[8 * parts.dtype.itemsize * parts.shape[-1]]
    return np.ascontiguousarray(parts).view(whole)[..., 0]


def truth(condition: Flags, bits: int) -> Bits:
    """All ones where the condition holds, else zero."""
    return np.negative(condition.astype(UNSIGNED[bits]))
