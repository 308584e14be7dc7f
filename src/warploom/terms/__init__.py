"""Symbolic elements, the algebras they may be compared under, canonical forms and their comparison.

Takes terms over the elements of arrays, an `Algebra` that says which laws hold, and types. Gives canonical forms, whether two
terms are equal, and the domain for which that was shown. Open `term.py` first, then `normal.py`.
"""

from warploom.terms.algebra import Algebra, AlgebraName, Region, algebra_for
from warploom.terms.arrays import DataIndexError, SymbolicArray, as_terms, stored_mask, symbols, zero_array
from warploom.terms.casts import convert, held_number, holds, is_exact
from warploom.terms.evaluate import evaluate
from warploom.terms.forms import LARGEST_FORM, FormTooLargeError, Monomial, NormalForm, form_text
from warploom.terms.mixed import mixed, mixed_op
from warploom.terms.normal import Canonical, Normaliser, equal, normal
from warploom.terms.partial import PARTIAL, beyond_numbers, condition_of_value, is_partial, without_value
from warploom.terms.places import READ, element_behind, is_element_behind
from warploom.terms.products import NotSumOfProductsError, ProductReader
from warploom.terms.promotion import Stored
from warploom.terms.term import (
    GREATEST,
    Number,
    Term,
    TermError,
    apply,
    atom,
    component,
    constant,
    iterate_post,
    maximum,
    minimum,
    pack,
    serial,
    strict_comparisons,
    to_operand,
)
from warploom.terms.text import element_text, term_text
from warploom.terms.usage import DIVISORS, IN_RANGE, Usage, operations
from warploom.terms.written_out import WrittenOut, parts_of, summands, values_of_maximum

__all__ = [
    "DIVISORS",
    "GREATEST",
    "IN_RANGE",
    "LARGEST_FORM",
    "PARTIAL",
    "READ",
    "Algebra",
    "AlgebraName",
    "Canonical",
    "DataIndexError",
    "FormTooLargeError",
    "Monomial",
    "NormalForm",
    "Normaliser",
    "NotSumOfProductsError",
    "Number",
    "ProductReader",
    "Region",
    "Stored",
    "SymbolicArray",
    "Term",
    "TermError",
    "Usage",
    "WrittenOut",
    "algebra_for",
    "apply",
    "as_terms",
    "atom",
    "beyond_numbers",
    "component",
    "condition_of_value",
    "constant",
    "convert",
    "element_behind",
    "element_text",
    "equal",
    "evaluate",
    "form_text",
    "held_number",
    "holds",
    "is_element_behind",
    "is_exact",
    "is_partial",
    "iterate_post",
    "maximum",
    "minimum",
    "mixed",
    "mixed_op",
    "normal",
    "operations",
    "pack",
    "parts_of",
    "serial",
    "stored_mask",
    "strict_comparisons",
    "summands",
    "symbols",
    "term_text",
    "to_operand",
    "values_of_maximum",
    "without_value",
    "zero_array",
]
