"""Index expressions that are sums modulo a number, written with the signs that code would use."""

from __future__ import annotations

from warploom.ir.kernel.nodes import IndexBinary, IndexConst, IndexExpr


def quotient(value: IndexExpr, divisor: int) -> IndexExpr:
    return IndexBinary("//", value, IndexConst(divisor))


def remainder(value: IndexExpr, divisor: int) -> IndexExpr:
    return IndexBinary("%", value, IndexConst(divisor))


class ModularSum:
    """Builds `a*x + b*y + c` with signed coefficients mod `modulus`, without the terms that vanish."""

    def __init__(self, modulus: int) -> None:
        self._modulus = modulus
        self._plus: list[IndexExpr] = []
        self._minus: list[IndexExpr] = []

    def add(self, term: IndexExpr, coefficient: int) -> None:
        signed = self._signed(coefficient)
        if signed == 0:
            return
        scaled = term if abs(signed) == 1 else IndexBinary("*", term, IndexConst(abs(signed)))
        (self._plus if signed > 0 else self._minus).append(scaled)

    def constant(self, value: int) -> None:
        signed = self._signed(value)
        if signed:
            (self._plus if signed > 0 else self._minus).append(IndexConst(abs(signed)))

    def _signed(self, value: int) -> int:
        value %= self._modulus
        return value if value <= self._modulus // 2 else value - self._modulus

    def expr(self) -> IndexExpr:
        terms = self._plus or [IndexConst(0)]
        result = terms[0]
        for term in terms[1:]:
            result = IndexBinary("+", result, term)
        for term in self._minus:
            result = IndexBinary("-", result, term)
        return result
