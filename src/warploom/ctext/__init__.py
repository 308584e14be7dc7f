"""Text of C for every printer of C, CUDA and C++: expressions, sums of scaled terms, numbers, types, names, comments, and what
all CUDA kernels say alike.

Takes values and element types. Gives texts that know how tightly they bind: parentheses follow from that alone, nothing looks
into a text. Open `expressions.py` first.
"""

from warploom.ctext.comments import block_comment, comment
from warploom.ctext.cuda import (
    BARRIER,
    COMMIT_COPIES,
    COPY,
    COPY_HEADER,
    SHUFFLES,
    VOTES,
    WAIT_FOR_COPIES,
    array_declaration,
    includes,
    kernel_head,
    rest_of_warps,
)
from warploom.ctext.division import FloatType, division_steps, is_divisor
from warploom.ctext.expressions import (
    ADDITIVE,
    AND,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    CONDITIONAL,
    EQUALITY,
    LEVELS,
    MULTIPLICATIVE,
    OR,
    PRIMARY,
    RELATIONAL,
    SHIFT,
    UNARY,
    Text,
    binary,
    call,
    cast_to,
    chain,
    conditional,
    element,
    every,
    member,
    reinterpret_cast,
    static_cast,
    unary,
)
from warploom.ctext.names import CUDA_FUNCTIONS, RESERVED, Names, legal
from warploom.ctext.numbers import c_literal, decimal, exact_double, integer, literal
from warploom.ctext.sums import added, plus, product, scaled, total
from warploom.ctext.types import MOST_VECTOR_BYTES, c_type, cuda_type, is_narrow, is_signed_word, make, vector_type

__all__ = [
    "ADDITIVE", "AND", "BARRIER", "BIT_AND", "BIT_OR", "BIT_XOR", "COMMIT_COPIES", "CONDITIONAL", "COPY", "COPY_HEADER",
    "CUDA_FUNCTIONS", "EQUALITY", "LEVELS", "MOST_VECTOR_BYTES", "MULTIPLICATIVE", "OR", "PRIMARY", "RELATIONAL",
    "RESERVED", "SHIFT", "SHUFFLES", "UNARY", "VOTES", "WAIT_FOR_COPIES", "FloatType", "Names", "Text", "added",
    "array_declaration", "binary", "block_comment", "c_literal", "c_type", "call", "cast_to", "chain", "comment",
    "conditional", "cuda_type", "decimal", "division_steps", "element", "every", "exact_double", "includes", "integer",
    "is_divisor", "is_narrow", "is_signed_word", "kernel_head", "legal", "literal", "make", "member", "plus", "product",
    "reinterpret_cast", "rest_of_warps", "scaled", "static_cast", "total", "unary", "vector_type",
]  # fmt: skip
