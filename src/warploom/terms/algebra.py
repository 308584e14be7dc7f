"""Algebras: which laws may be used when two terms are compared, and what the report says about it.

An algebra gives each operator a region; every maximal region of a term is brought to that region's canonical form, everything
else (foreign operators, casts) is an opaque generator over canonical forms. Past the nested multisets of the paper only the laws
of the declared algebra are used. Source: Swizzle Inventor, sections 4.1, 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from warploom.core import Diagnostic, DType, UserError, scalar_of

Region = Literal["polynomial", "bits", "lattice", "tropical", "multiset"]
"""polynomial: commutative ring; bits: Boolean ring and lattice of machine words; lattice: min and max of a total order;
tropical: one of min/max with + distributing over it; multiset: one commutative associative operator."""

AlgebraName = Literal["machine", "reals", "integers", "xor/and", "min-plus", "max-plus", "commutative", "syntactic"]
_NAMES: tuple[AlgebraName, ...] = (
    "machine", "reals", "integers", "xor/and", "min-plus", "max-plus", "commutative", "syntactic",
)  # fmt: skip

_ARITHMETIC = ("+", "-", "*", "neg")
_BITS = ("^", "&", "|", "~")
_IDENTITIES: dict[str, int | float] = {"+": 0, "*": 1, "^": 0, "|": 0, "&": -1}


@dataclass(frozen=True, slots=True)
class Algebra:
    """Laws for terms of one element type."""

    name: AlgebraName
    dtype: DType
    """Scalar type of the elements."""
    regions: tuple[tuple[str, Region], ...]
    operators: tuple[tuple[str, int | float | None], ...] = ()
    """Operators known only to be commutative and associative, with their identity if one is known."""

    @property
    def modulus_bits(self) -> int:
        """Integers are taken modulo 2 to this; 0 for exact numbers."""
        return 0 if self.dtype.is_float or self.name in ("integers", "min-plus", "max-plus") else self.dtype.bits

    @property
    def domain(self) -> str:
        """The domain of a proof that may use all these laws."""
        return _WHOLE_DOMAIN.get(self.name) or ("real sums reordered" if self.dtype.is_float else self._machine_domain)

    def domain_of(self, ops: Collection[str]) -> str:
        """The domain of a proof that met only these operators: no broader than `domain`."""
        used = {region for op, region in self.regions if op in ops}
        if not used:
            return "elements moved unchanged" if not ops else "same operations in the same order"
        if self.name in _WHOLE_DOMAIN:
            return self.domain
        parts = {
            "polynomial": "real sums reordered" if self.dtype.is_float else self._machine_domain,
            "bits": "xor/and ring",
            "lattice": "min and max of ordered values",
            "multiset": "commutative associative operators",
        }
        return ", ".join(text for region, text in parts.items() if region in used)

    def is_ring(self, op: str) -> bool:
        """Whether the laws of `op` are those of numbers, which infinities do not obey."""
        return (op, "polynomial") in self.regions

    @property
    def _machine_domain(self) -> str:
        return f"{self.dtype.kind}{self.dtype.bits} wrap"


_WHOLE_DOMAIN: dict[str, str] = {
    "integers": "integers",
    "xor/and": "xor/and ring",
    "min-plus": "min and + of exact numbers",
    "max-plus": "max and + of exact numbers",
    "commutative": "commutative associative operators",
    "syntactic": "same operations in the same order",
}


def algebra_for(dtype: DType, declared: str | None = None, operators: Mapping[str, int | float | None] | None = None) -> Algebra:
    """The algebra of `dtype`'s elements: by default what the machine's integers obey exactly, for floats the reals.

    declared: `machine`, `reals`, `integers`, `xor/and`, `min-plus`, `max-plus`, `commutative` (the paper's nested multisets, no
    distribution), `syntactic` (no law at all). operators: user-declared commutative associative ones with their identities.
    Raises UserError for an unknown name or one that does not fit the type.
    """
    scalar = scalar_of(dtype)
    name = declared or ("reals" if scalar.is_float else "machine")
    known: AlgebraName | None = next((n for n in _NAMES if n == name), None)
    if (
        known is None
        or (scalar.is_float and known in ("machine", "xor/and", "integers"))
        or (not scalar.is_float and known == "reals")
    ):
        raise UserError(
            Diagnostic(
                "ALGEBRA_UNKNOWN" if known is None else "ALGEBRA_MISMATCH",
                f"expected an algebra for {scalar} elements, got {name!r}",
                fix="Write one of " + ", ".join(_fitting(scalar)) + ", or leave `algebra` out.",
            )
        )
    regions: dict[str, Region] = {}
    identities = dict(operators or {})

    def give(region: Region, *ops: str) -> None:
        regions.update((op, region) for op in ops)

    give("multiset", *identities)
    match known:
        case "machine":
            give("polynomial", *_ARITHMETIC, "<<")
            give("bits", *_BITS)
            give("lattice", "min", "max")
        case "integers" | "reals":
            give("polynomial", *_ARITHMETIC, *(("/",) if known == "reals" else ()))
            give("lattice", "min", "max")
        case "xor/and":
            give("bits", *_BITS)
        case "min-plus" | "max-plus":
            outer, other = ("min", "max") if known == "min-plus" else ("max", "min")
            give("tropical", outer, "+")
            give("lattice", other)
            give("multiset", "*")
            identities["*"] = 1
        case "commutative":
            give("multiset", *_IDENTITIES, "min", "max")
            identities = _IDENTITIES | identities
        case "syntactic":
            regions.clear()
    return Algebra(name=known, dtype=scalar, regions=tuple(regions.items()), operators=tuple(identities.items()))


def _fitting(scalar: DType) -> list[str]:
    skip = ("machine", "integers", "xor/and") if scalar.is_float else ("reals",)
    return [n for n in _NAMES if n not in skip]
