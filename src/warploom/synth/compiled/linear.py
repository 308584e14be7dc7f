"""Terms in which sums of many steps stand as symbols: each becomes what one step adds, where the term is linear in the sums.

A term is then a sum of products, and those with an element that moves (`x[k, s]`: element k + s * n in step n) stand for their
sum over all steps. Two such terms that are equal as polynomials are equal as sums: what moves and what does not, each by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from warploom.terms import Term, iterate_post


class NotLinearError(Exception):
    """A sum of many steps is used otherwise than in a sum, or times what does not move."""


def expanded(root: Term, sums: Mapping[Term, Term]) -> Term:
    """The term with each symbol of `sums` replaced. NotLinearError."""
    has_sum: dict[Term, bool] = {}
    done: dict[Term, Term] = {}
    for t in iterate_post(root):
        if t in sums:
            if not _is_sum_of_moving_products(sums[t]):
                raise NotLinearError("expected steps that add products with an element that moves with the steps")
            has_sum[t], done[t] = True, sums[t]
            continue
        if t.op == "atom" and len(t.data[1]) == 2:
            raise NotLinearError("expected elements that move with the steps of a loop only in its sums")
        used = [has_sum[a] for a in t.args]
        has_sum[t] = any(used)
        if has_sum[t] and t.op not in ("+", "-", "neg") and not (t.op == "*" and sum(used) == 1):
            raise NotLinearError(f"expected the sum of a loop's rounds in sums only, got it in {t.op}")
        done[t] = t.rebuilt([done[a] for a in t.args]) if has_sum[t] else t
    return done[root]


def _is_sum_of_moving_products(root: Term) -> bool:
    stack = [root]
    while stack:
        term = stack.pop()
        if term.op in ("+", "-", "neg"):
            stack.extend(term.args)
        elif not is_moving_product(term) and not (term.op == "constant" and term.data[0] == 0):
            return False
    return True


def is_moving_product(term: Term) -> bool:
    """Whether a factor of the product is an element that moves."""
    stack = [term]
    while stack:
        t = stack.pop()
        if t.op in ("*", "neg") or (t.op.startswith("cast.") and t.args[0].op == "atom"):
            stack.extend(t.args)
        elif t.op == "atom" and len(t.data[1]) == 2:
            return True
    return False
