"""Words made of the bits of other words: `byte_perm S` of two, `lop3 T` of three, S and T known numbers."""

from __future__ import annotations

from functools import reduce

from warploom.terms.term import Term, apply, constant

_WORDS = ("byte_perm ", "lop3 ")


def mixed(op: str, control: int, *words: Term) -> Term:
    """byte_perm: byte k is byte `control >> 4 k & 7` of the two words, the first one's bytes first. lop3: each bit is bit
    `4 a + 2 b + c` of `control & 255`. Source: PTX ISA, prmt and lop3."""
    return apply(mixed_op(op, control), *words)


def mixed_op(op: str, control: int) -> str:
    """The operator of such a term."""
    return f"{op} {control & (0x7777 if op == 'byte_perm' else 255)}"


def control_of(term: Term) -> tuple[str, int] | None:
    """Operation and number of such a word; None for any other term."""
    if not term.op.startswith(_WORDS):
        return None
    op, _, number = term.op.partition(" ")
    return op, int(number)


def in_bit_operations(term: Term) -> Term:
    """The same word by `& | ~` and shifts."""
    found = control_of(term)
    assert found is not None
    op, control = found
    parts: list[Term] = []
    if op == "byte_perm":
        for k in range(4):
            place = control >> 4 * k & 7
            source, byte = term.args[place // 4], place % 4
            part = apply("&", apply(">>", source, 8 * byte) if byte else source, 255)
            parts.append(apply("<<", part, 8 * k) if k else part)
    else:
        grows = all(control >> (row | bit) & 1 for row in range(8) if control >> row & 1 for bit in (1, 2, 4))
        for row in range(8):
            if grows and row and control >> row & 1:  # without complements, as a person would write it
                ones = [w for k, w in enumerate(term.args) if row >> (2 - k) & 1]
                parts.append(reduce(lambda a, b: apply("&", a, b), ones))
            elif control >> row & 1:
                chosen = [w if row >> (2 - k) & 1 else apply("~", w) for k, w in enumerate(term.args)]
                parts.append(reduce(lambda a, b: apply("&", a, b), chosen))
    return reduce(lambda a, b: apply("|", a, b), parts, constant(0))


def value_of(op: str, control: int, words: list[int]) -> int:
    """The word for known words below 2**32, byte by byte and bit by bit."""
    if op == "byte_perm":
        eight = words[0].to_bytes(4, "little") + words[1].to_bytes(4, "little")
        return int.from_bytes(bytes(eight[control >> 4 * k & 7] for k in range(4)), "little")
    bits = zip(*(f"{w:032b}" for w in words), strict=True)
    return int("".join(str(control >> int("".join(column), 2) & 1) for column in bits), 2)
