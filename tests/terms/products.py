"""One term read by a reader of its own."""

from fractions import Fraction

from warploom.terms import Algebra, ProductReader, Term


def sum_of_products(term: Term, algebra: Algebra, outer: str, inner: str | None = None) -> dict[tuple[Term, ...], int | Fraction]:
    return dict(ProductReader(algebra).read(term, outer, inner))
