"""Machine words under & | ^ ~: algebraic normal form with bit masks as coefficients, or an absorbed or of conjunctions.

A region with only & and | keeps its or, so that a long or does not expand; any ^ or ~ turns the region into the Boolean ring.
"""

from __future__ import annotations

from collections.abc import Generator

from warploom.terms.casts import comparison_types
from warploom.terms.forms import Bits, NormalForm, absorb_or, check_size, multiply_bits, sorted_monomial
from warploom.terms.mixed import control_of
from warploom.terms.term import Term, apply, constant, wrap_form
from warploom.terms.visits import Pending, Visits


class BitVisits(Visits):
    def _is_monotone(self, root: Term) -> bool:
        """Whether the region below `root` has only & and |."""
        seen: set[Term] = {root}
        stack = [root]
        while stack:
            term = stack.pop()
            if term.op in ("^", "~") or control_of(term) is not None or self._is_shifted_bits(term):
                return False
            if term.op in ("&", "|"):
                fresh = [a for a in term.args if a not in seen]
                seen.update(fresh)
                stack.extend(fresh)
        return True

    def _bits(self, root: Term) -> Generator[Term, Term, Bits]:
        """Algebraic normal form, one coefficient mask per conjunction."""
        result: Bits = {}
        pending = Pending(root, self._ones, lambda a, b: a ^ b)
        while item := pending.pop():
            term, mask = item
            if not mask:
                continue
            match term.op:
                case "^":
                    pending.push(term.args[0], mask)
                    pending.push(term.args[1], mask)
                    continue
                case "~":
                    pending.push(term.args[0], mask)
                    part: Bits = {(): self._ones}
                case "&":
                    part = {(): self._ones}
                    for operand in self._operands(term):
                        part = multiply_bits(part, self._thaw_bits((yield operand)))
                case "|":
                    part = {(): self._ones}
                    for operand in self._operands(term):
                        inverse = self._thaw_bits((yield operand))
                        inverse[()] = inverse.get((), 0) ^ self._ones
                        part = multiply_bits(part, inverse)
                    part[()] = part.get((), 0) ^ self._ones
                case "<<" | ">>" if term is root:
                    part = yield from self._shifted(term)
                case _:
                    part = self._thaw_bits((yield term))
            for monomial, own in part.items():
                result[monomial] = result.get(monomial, 0) ^ (own & mask)
        return {m: c for m, c in result.items() if c}

    def _shifted(self, term: Term) -> Generator[Term, Term, Bits]:
        amount = self._shift(term)
        assert amount is not None
        result: Bits = {}
        for monomial, mask in self._thaw_bits((yield term.args[0])).items():
            factors: set[Term] = set()
            own = self._shift_mask(mask, term.op, amount)
            for generator in monomial:
                if self.algebra.dtype.kind == "uint":
                    base, left, held = self._placed(generator)
                    moved = self._moved(base, left + (amount if term.op == "<<" else -amount))
                    own = 0 if moved is None else own & self._shift_mask(held, term.op, amount)
                    factors |= set() if moved is None else {moved}
                else:
                    factors.add((yield apply(term.op, generator, amount)))
            if own:
                key = sorted_monomial(factors)
                result[key] = result.get(key, 0) ^ own
        return {m: c for m, c in result.items() if c}

    def _placed(self, generator: Term) -> tuple[Term, int, int]:
        """(base, places, mask): the unsigned word is `base` moved left by so many places, without the bits outside the mask.

        Before: (x >> 24) << 8. After: x, -16, 0xff00.
        """
        left, mask, shifts = 0, self._ones, list[int]()
        while True:
            amount = -(self._shift(generator) or 0) if generator.op == ">>" else self._power(generator)
            if not amount:
                break
            shifts.append(amount)
            generator = generator.args[0] if amount < 0 else next(iter(generator.data[0].items))[0][0]
        for amount in reversed(shifts):
            left += amount
            mask = (mask << amount) & self._ones if amount > 0 else mask >> -amount
        return generator, left, mask

    def _power(self, generator: Term) -> int:
        """k of a canonical 2**k times another generator, 0 for other terms."""
        if generator.op != "form" or generator.data[0].kind != "polynomial" or len(generator.data[0].items) != 1:
            return 0
        ((monomial, coefficient),) = generator.data[0].items
        return coefficient.bit_length() - 1 if len(monomial) == 1 and coefficient & (coefficient - 1) == 0 else 0

    def _moved(self, base: Term, left: int) -> Term | None:
        """A canonical word moved left by so many places, or right; None if no bit of it is left."""
        if abs(left) >= self.algebra.dtype.bits:
            return None
        if left <= 0:
            return apply(">>", base, -left) if left else base
        return wrap_form(NormalForm("polynomial", frozenset((((base,), 1 << left),))))

    def _shift_mask(self, mask: int, op: str, amount: int) -> int:
        if op == "<<":
            return (mask << amount) & self._ones
        signed = mask - self._ones - 1 if self.algebra.dtype.kind == "int" and mask > self._ones // 2 else mask
        return (signed >> amount) & self._ones

    def _or(self, root: Term) -> Generator[Term, Term, Bits]:
        """Monotone region: or of conjunctions, absorbed."""
        if root.op == "|":
            union: Bits = {}
            for operand in self._operands(root):
                for monomial, mask in self._thaw_or((yield operand)).items():
                    union[monomial] = union.get(monomial, 0) | mask
            return absorb_or(union)
        product: Bits = {(): self._ones}
        for operand in self._operands(root):
            parts = self._thaw_or((yield operand))
            check_size(len(product) * len(parts))
            grown: Bits = {}
            for left, p in product.items():
                for right, q in parts.items():
                    key = sorted_monomial({*left, *right})
                    if p & q:
                        grown[key] = grown.get(key, 0) | (p & q)
            product = absorb_or(grown) if len(grown) > 1 else grown
        return product

    def _held_bits(self, parts: Bits) -> Bits:
        """The masks without the bits in which a comparison among the factors has none."""
        result: Bits = {}
        for monomial, mask in parts.items():
            for generator in monomial:
                truth = self._truth_at(generator)
                mask &= self._ones if truth is None else 1 << truth[1]
            if mask:
                result[monomial] = mask
        return result

    def _thaw_or(self, canonical: Term) -> Bits:
        parts = self._thawed_or(canonical)
        return self._held_bits(parts) if self._has_truths else parts

    def _thawed_or(self, canonical: Term) -> Bits:
        if canonical.op == "form" and canonical.data[0].kind == "or":
            return dict(canonical.data[0].items)
        if canonical.op == "form" and canonical.data[0].kind == "bits" and len(canonical.data[0].items) == 1:
            return dict(canonical.data[0].items)
        if canonical.op == "constant" and isinstance(canonical.data[0], int):
            mask = canonical.data[0] & self._ones
            return {(): mask} if mask else {}
        if self.algebra.dtype.kind == "uint" and self._modulus:
            base, left, mask = self._placed(canonical)
            moved = self._moved(base, left)
            return {(moved,): mask} if moved is not None and mask else {}
        return {(canonical,): self._ones}

    def _thaw_bits(self, canonical: Term) -> Bits:
        if canonical.op == "form" and canonical.data[0].kind == "or":
            result: Bits = {(): self._ones}
            for monomial, mask in canonical.data[0].items:
                result = multiply_bits(result, {(): self._ones, monomial: mask} if monomial else {(): self._ones ^ mask})
            result[()] = result.get((), 0) ^ self._ones
            return {m: c for m, c in result.items() if c}
        if canonical.op == "form" and canonical.data[0].kind == "bits":
            parts = dict(canonical.data[0].items)
            return self._held_bits(parts) if self._has_truths else parts
        return self._thaw_or(canonical)

    def _truth_at(self, generator: Term) -> tuple[Term, int] | None:
        """The comparison that a canonical word holds in one bit, and that bit, if all its other bits are zero."""
        if comparison_types(generator) is not None:
            return generator, 0
        if generator.op != "form" or generator.data[0].kind != "polynomial" or not self._modulus:
            return None
        items = tuple(generator.data[0].items)
        if len(items) != 1:
            return None
        ((monomial, coefficient),) = items
        bit = coefficient & self._ones
        if bit & (bit - 1) or len(monomial) != 1 or comparison_types(monomial[0]) is None:
            return None
        return monomial[0], bit.bit_length() - 1

    def _is_truth(self, canonical: Term) -> bool:
        """Whether a canonical word is known to be 0 or 1."""
        return all(mask == 1 for mask in self._held_bits(self._thaw_bits(canonical)).values())

    def _placed_truths(self, canonical: Term) -> tuple[int, list[Term]] | None:
        """How many bits of a word are ones, and the comparisons that its other bits are. None for other words."""
        if canonical.op == "constant" and isinstance(canonical.data[0], int):
            return (canonical.data[0] & self._ones).bit_count(), []
        parts: Bits = {(canonical,): self._ones}
        if canonical.op == "form" and canonical.data[0].kind in ("bits", "or"):
            parts = dict(canonical.data[0].items)
        found: dict[int, Term] = {}
        fixed = parts.pop((), 0)
        for monomial, mask in parts.items():
            truth = self._truth_at(monomial[0]) if len(monomial) == 1 else None
            if truth is None or truth[1] in found or not mask >> truth[1] & 1 or fixed >> truth[1] & 1:
                return None
            found[truth[1]] = truth[0]
        return fixed.bit_count(), list(found.values())

    def _known_zero(self, generator: Term) -> int:
        """Bits that are zero in every value of a shifted generator."""
        if generator.op == "form" and generator.data[0].kind == "polynomial" and self._modulus:
            common = self._ones + 1
            for _, coefficient in generator.data[0].items:
                common |= coefficient
            return (common & -common) - 1
        if (truth := self._truth_at(generator)) is not None:
            return self._ones ^ (1 << truth[1])
        if generator.op == ">>" and self.algebra.dtype.kind == "uint":
            amount = self._shift(generator)
            return self._ones ^ (self._ones >> amount) if amount else 0
        return 0

    def _freeze_bits(self, raw: Bits, kind: str) -> Term:
        result: Bits = {}
        for monomial, mask in raw.items():
            free = 0
            for generator in monomial:
                free |= self._known_zero(generator)
            if mask & ~free:
                result[monomial] = mask | free
        if not result:
            return constant(0)
        if len(result) == 1:
            ((monomial, mask),) = result.items()
            if not monomial:
                return constant(self._number(mask))
            if mask == self._ones and len(monomial) == 1:
                return monomial[0]
            kind = "bits"
        return wrap_form(NormalForm(kind, frozenset(result.items()), self._ones))
