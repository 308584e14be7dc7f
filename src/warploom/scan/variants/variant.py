"""Variants of a scan program: forward or backward, segmented or not, inclusive or exclusive, all in place, for every n.

    forward -> backward       the mirrored index maps i -> n - 1 - i, operands swapped: columns 0..i of the mirror are i..n - 1
    scan -> segmented scan    the operator of `segments` on (value, flag); heads forward, tails backward; flags are used up
    inclusive -> exclusive    one step before: each cell takes its neighbour's value, the first of a scan or segment the identity

A network is a scan for every associative operator or for none, and the segmented operator is associative, so the steps stay as
they are. After the shift cell i holds input i - 1, so what the network leaves there, cells 0..i, are inputs 0..i - 1.
Source: HotPar 2011, section 3.4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from warploom.scan.networks import Adjacency, Network, Program, body, combine, first_failure, flaw, prove_every_size
from warploom.scan.variants.segments import Flags, segmented_operator

_INDENT = "    "


@dataclass(frozen=True, slots=True)
class Variant:
    """A program, or a network for one n, with what it is a scan of."""

    program: Program | Network
    flags: Flags | None = None
    """Meaning of the input's flags, for a segmented scan."""
    is_exclusive: bool = False

    @property
    def is_backward(self) -> bool:
        return self.program.is_backward

    @property
    def is_segmented(self) -> bool:
        return self.flags is not None

    def __str__(self) -> str:
        words = ["backward" if self.is_backward else "forward", "exclusive" if self.is_exclusive else "inclusive"]
        return " ".join([*words, *([f"segmented ({self.flags})"] if self.flags else []), "scan"])


def mirrored(variant: Variant) -> Variant:
    """Forward to backward and back; heads become tails."""
    flags: Flags | None = variant.flags and ("tails" if variant.flags == "heads" else "heads")
    return replace(variant, program=variant.program.mirrored(), flags=flags)


def segmented(variant: Variant, flags: Flags | None = None) -> Variant:
    """The variant over segments; by default heads for a forward scan and tails for a backward one, which need no preparation."""
    return replace(variant, flags=flags or ("tails" if variant.is_backward else "heads"))


def whole(variant: Variant) -> Variant:
    """The variant over one segment, without flags."""
    return replace(variant, flags=None)


def exclusive(variant: Variant) -> Variant:
    return replace(variant, is_exclusive=True)


def inclusive(variant: Variant) -> Variant:
    return replace(variant, is_exclusive=False)


@dataclass(frozen=True, slots=True)
class Validity:
    """Reason why a variant is right, and how far that is known."""

    verdict: str
    """`proved`, for every n (of a network: its own), or `tested`, for every n up to `largest`; `refuted` where it is wrong."""
    operators: str
    largest: int
    invariants: tuple[str, ...]
    reason: str = ""
    """Reason why there is no proof."""


def validity(variant: Variant, largest: int = 1024, adjacency: Adjacency = "strict") -> Validity:
    """Validity of the network, by intervals and induction, and of the flags, by the eight cases of the segmented operator.

    An idempotent operator has an idempotent segmented one: (x, f) op (x, f) = (x, f), so overlapping networks keep their domain.
    """
    if variant.flags:
        segmented_operator("tails" if variant.is_backward else "heads")
    operators = "associative operators" if adjacency == "strict" else "idempotent associative operators"
    if isinstance(variant.program, Network):
        found = flaw(variant.program, adjacency)
        verdict = "proved" if found is None else "refuted"
        return Validity(verdict, operators, variant.program.columns, (), "" if found is None else f"no scan: {found}")
    wrong = first_failure(variant.program, largest, adjacency)
    if wrong is not None:
        return Validity("refuted", operators, largest, (), f"no scan for n = {wrong}")
    proof = prove_every_size(variant.program, adjacency)
    if isinstance(proof, str):
        return Validity("tested", operators, largest, (), proof)
    return Validity("proved", operators, largest, proof.invariants)


def variant_source(variant: Variant, name: str = "scan") -> str:
    """A Python function that scans lists in place: `name(a[, flags], op[, identity])`; every `for i` loop is one SIMD step."""
    native: Flags = "tails" if variant.is_backward else "heads"
    parameters = ["a", *(["flags"] if variant.flags else []), "op", *(["identity"] if variant.is_exclusive else [])]
    lines = [f"def {name}({', '.join(parameters)}):", f'{_INDENT}"""{str(variant).capitalize()}, in place."""']
    main = body(variant.program, _act(variant), ("old, old_flags = a[:], flags[:]",) if variant.flags else ("old = a[:]",))
    head, rest = main[0], main[1:]
    prepared = _moved_flags(native) if variant.flags not in (None, native) else []
    shift = _shift(variant) if variant.is_exclusive else []
    lines += [_INDENT + line for line in [head, *prepared, *shift, *rest]]
    return "\n".join(lines) + "\n"


def _act(variant: Variant) -> list[str]:
    """Code of an active lane."""
    if not variant.flags:
        return combine(variant.program)
    own, other = ("old[i]", "old_flags[i]"), ("old[{source}]", "old_flags[{source}]")
    (x, f), (y, g) = (own, other) if variant.is_backward else (other, own)
    operator = segmented_operator("tails" if variant.is_backward else "heads")
    value = operator.value_text(x, y, f"op({x}, {y})", f, g)
    return [f"a[i] = {value}", f"flags[i] = {operator.flag_text(f, g)}"]


def _moved_flags(native: Flags) -> list[str]:
    """Tails to heads, or heads to tails: one step."""
    edge, neighbour = ("0", "i - 1") if native == "heads" else ("n - 1", "i + 1")
    return [
        "old_flags = flags[:]",
        "for i in range(n):",
        f"{_INDENT}flags[i] = True if i == {edge} else old_flags[{neighbour}]",
    ]


def _shift(variant: Variant) -> list[str]:
    """The step in front of an exclusive scan."""
    edge, neighbour = ("n - 1", "i + 1") if variant.is_backward else ("0", "i - 1")
    first = f"i == {edge} or flags[i]" if variant.flags else f"i == {edge}"
    return ["old = a[:]", "for i in range(n):", f"{_INDENT}a[i] = identity if {first} else old[{neighbour}]"]
