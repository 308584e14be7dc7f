"""The arithmetic of PTX on raw register bits, vectorised over lanes.

Takes an instruction's name (opcode and modifiers), and the bits of its operands. Gives the bits of its result. Registers are
unsigned arrays of the register's width, predicates Boolean arrays (`scalars`). Open `operations.py` first: `bind(opcode,
modifiers)` turns an instruction's name into one callable with the types of its operands. Enter `quiet()` once around a run.
`collectives` and `fragments` work on [warps, 32] views.
"""

from warploom.ptx.simt.numerics.approximations import (
    Approximation,
    approximation_of,
    float_div,
    float_function,
    float_rcp,
    float_rsqrt,
    float_sqrt,
)
from warploom.ptx.simt.numerics.bit_fields import bfe, bfi, bfind, bmsk, brev, clz, fns, popc, prmt, szext
from warploom.ptx.simt.numerics.collectives import (
    Shuffle,
    activemask,
    ballot,
    elect,
    lane_mask,
    mask_lanes,
    match_all,
    match_any,
    redux,
    shfl,
    vote,
)
from warploom.ptx.simt.numerics.comparisons import COMPARISONS, compare, set_value, setp
from warploom.ptx.simt.numerics.conversions import convert, convert_pack, convert_pair, fit
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
from warploom.ptx.simt.numerics.fragments import Fragment, MatrixAccess, fragment, gather, matrix_access, movmatrix, scatter
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
from warploom.ptx.simt.numerics.mma import mma, product_sum
from warploom.ptx.simt.numerics.wmma import Whole, whole, whole_types
from warploom.ptx.simt.numerics.operations import OPCODES, Operation, bind, is_arithmetic
from warploom.ptx.simt.numerics.scalars import SCALAR_TYPES, Bits, Flags, ScalarType, join, quiet, scalar_type, split

__all__ = [
    "COMPARISONS", "OPCODES", "SCALAR_TYPES", "Approximation", "Bits", "Flags", "Fragment", "MatrixAccess", "Operation",
    "ScalarType", "Shuffle", "activemask", "add_carry", "approximation_of", "ballot", "bfe", "bfi", "bfind", "bind",
    "bmsk", "brev", "clz", "cnot", "combine", "compare", "convert", "convert_pack", "convert_pair", "copysign",
    "dp2a", "dp4a", "elect", "fit", "float_abs", "float_add", "float_div", "float_fma", "float_function", "float_max",
    "float_min", "float_mul", "float_neg", "float_rcp", "float_rsqrt", "float_sqrt", "float_sub", "fns", "fragment",
    "gather", "integer_abs", "integer_add", "integer_div", "integer_mad", "integer_mad24", "integer_max",
    "integer_min", "integer_mul", "integer_mul24", "integer_neg", "integer_rem", "integer_sad", "integer_sub",
    "is_arithmetic", "lane_mask", "logic_and", "logic_not", "logic_or", "logic_xor", "lop3", "lop3_predicate",
    "mad_carry", "mask_lanes", "match_all", "match_any", "matrix_access", "mma", "movmatrix", "popc", "prmt", "quiet",
    "redux", "scalar_type", "scatter", "selp", "set_value", "setp", "shf", "shfl", "shl", "shr", "slct", "sub_borrow",
    "szext", "testp", "vote", "Whole", "join", "product_sum", "split", "whole", "whole_types",
]  # fmt: skip
