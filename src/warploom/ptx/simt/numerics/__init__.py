"""The arithmetic of PTX on raw register bits, vectorised over lanes.

Registers are unsigned arrays of the register's width, predicates Boolean arrays; see `scalars`. Enter `quiet()` once
around a run. `bind` (module `operations`) turns an opcode and its modifiers into one callable.
"""

from warploom.ptx.simt.numerics.bit_fields import bfe, bfi, bfind, bmsk, brev, clz, fns, popc, prmt, szext
from warploom.ptx.simt.numerics.float_arithmetic import (
    copysign,
    float_abs,
    float_add,
    float_fma,
    float_max,
    float_min,
    float_mul,
    float_neg,
    float_sub,
    testp,
)
from warploom.ptx.simt.numerics.integers import (
    add_carry,
    dp2a,
    dp4a,
    integer_abs,
    integer_add,
    integer_div,
    integer_mad,
    integer_mad24,
    integer_max,
    integer_min,
    integer_mul,
    integer_mul24,
    integer_neg,
    integer_rem,
    integer_sad,
    integer_sub,
    mad_carry,
    sub_borrow,
)
from warploom.ptx.simt.numerics.logic import (
    cnot,
    combine,
    logic_and,
    logic_not,
    logic_or,
    logic_xor,
    lop3,
    lop3_predicate,
    selp,
    shf,
    shl,
    shr,
    slct,
)
from warploom.ptx.simt.numerics.scalars import Bits, Flags, ScalarType, quiet, scalar_type, to_bits

__all__ = [
    "Bits", "Flags", "ScalarType", "add_carry", "bfe", "bfi", "bfind", "bmsk", "brev", "clz", "cnot", "combine",
    "copysign", "dp2a", "dp4a", "float_abs", "float_add", "float_fma", "float_max", "float_min", "float_mul",
    "float_neg", "float_sub", "fns", "integer_abs", "integer_add", "integer_div", "integer_mad", "integer_mad24",
    "integer_max", "integer_min", "integer_mul", "integer_mul24", "integer_neg", "integer_rem", "integer_sad",
    "integer_sub", "logic_and", "logic_not", "logic_or", "logic_xor", "lop3", "lop3_predicate", "mad_carry", "popc",
    "prmt", "quiet", "scalar_type", "selp", "shf", "shl", "shr", "slct", "sub_borrow", "szext", "testp", "to_bits",
]  # fmt: skip
