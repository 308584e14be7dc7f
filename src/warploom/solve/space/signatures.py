"""Signatures of domains as a form sees them: while two domains look the same to it, it need not run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warploom.solve.space.forms import Form, FormKind, FormLiteral, LiteralKind, Relation
from warploom.solve.space.nodes import Choice, EnumChoice

MAX_BITS = 6
"""Values of a choice whose domains are tabulated."""


def signature_of(form: Form, slot: int, choice: Choice | None) -> tuple[int, ...] | None:
    """By domain of the slot: equal numbers for domains between which the form has nothing new to find; the empty domain differs
    from all. None where that is not tabulated.

    A domain that shrinks within one number takes support from no value of the other slots. (A variable behind a function
    is looked at again when its objects become active, too.)
    """
    if not isinstance(choice, EnumChoice) or len(choice.values) > MAX_BITS:
        return None
    domains = range(1, 1 << len(choice.values))
    if form.kind is FormKind.RELATION:
        assert form.relation is not None
        seen = _projections(form.relation, slot)
        return _numbered([seen[domain] for domain in domains])
    if form.kind is FormKind.COVER or form.slots[slot] == form.value:
        return None
    about = [literal for literal in form.literals if slot in (literal.slot, literal.other_slot)]
    if any(literal.kind is not LiteralKind.IN_MASK or literal.constant is not None for literal in about):
        return None
    is_flag = form.kind is FormKind.QUOTIENT and slot == 0
    return _numbered([tuple(_status(form, literal, d) for literal in about) + ((d,) if is_flag else ()) for d in domains])


def _status(form: Form, literal: FormLiteral, domain: int) -> int:
    if domain & literal.mask == 0:
        return 0
    return 1 if form.kind is FormKind.CLAUSE or domain & ~literal.mask else 2


def _projections(relation: Relation, axis: int) -> list[bytes]:
    """By domain of one slot: what it leaves of the others."""
    rows = np.moveaxis(relation, axis, 0).reshape(relation.shape[axis], -1)
    found = [np.zeros(rows.shape[1], dtype=np.bool_)]
    for domain in range(1, 1 << rows.shape[0]):
        lowest = (domain & -domain).bit_length() - 1
        found.append(found[domain & (domain - 1)] | rows[lowest])
    return [projection.tobytes() for projection in found]


def _numbered(seen: Sequence[object]) -> tuple[int, ...]:
    numbers: dict[object, int] = {}
    return (-1, *(numbers.setdefault(one, len(numbers)) for one in seen))
