"""Backward, segmented and exclusive scans against serial loops, from the printed code alone."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from warploom.scan.networks import NAMED, Generalised, fewest, generalise, network
from warploom.scan.variants import (
    Flags,
    SegmentedOperator,
    Variant,
    exclusive,
    inclusive,
    is_associative,
    is_serial_step,
    mirrored,
    segmented,
    segmented_operator,
    solutions,
    validity,
    variant_source,
    whole,
)

STRICT = [name for name in NAMED if not name.startswith("knowles")]


def forward(name: str) -> Variant:
    result = generalise(NAMED[name](16))
    assert isinstance(result, Generalised)
    return Variant(result.program)


def compiled(source: str) -> Callable[..., None]:
    names: dict[str, Any] = {}
    exec(source, names)
    return names["scan"]


def expected(words: list[str], flags: list[bool] | None, kind: Flags | None, backward: bool, leaves_out: bool) -> list[str]:
    """Every output by a loop of its own over the elements of its segment."""
    n = len(words)
    starts = [i == 0 or (kind == "heads" and flags is not None and flags[i]) for i in range(n)]
    if kind == "tails" and flags is not None:
        starts = [i == 0 or flags[i - 1] for i in range(n)]
    found: list[str] = []
    for i in range(n):
        low = max(k for k in range(i + 1) if starts[k]) if kind else 0
        high = next((k for k in range(i + 1, n) if starts[k]), n) if kind else n
        if backward:
            found.append("".join(words[i + leaves_out : high]))
        else:
            found.append("".join(words[low : i + 1 - leaves_out]))
    return found


@pytest.mark.parametrize("name", STRICT)
@pytest.mark.parametrize("backward", [False, True])
def test_every_variant(name: str, backward: bool) -> None:
    draw = random.Random(f"{name} {backward}")
    base = mirrored(forward(name)) if backward else forward(name)
    for kind, leaves_out in itertools.product((None, "heads", "tails"), (False, True)):
        variant = segmented(base, kind) if kind else base
        variant = exclusive(variant) if leaves_out else variant
        scan = compiled(variant_source(variant))
        for n in (1, 2, 3, 6, 8, 13, 16, 31, 45):
            words = [chr(ord("0") + k) for k in range(n)]
            for share in (0.1, 0.5):
                flags = [draw.random() < share for _ in range(n)]
                if kind == "heads":
                    flags[0] = True
                elif kind == "tails":
                    flags[-1] = True
                cells = list(words)
                scan(cells, *([list(flags)] if kind else []), str.__add__, *([""] if leaves_out else []))
                assert cells == expected(words, flags, kind, backward, leaves_out)


def test_variants_of_a_network_without_a_program() -> None:
    found = fewest(8, 4)
    assert found is not None
    words = list("abcdefgh")
    flags = [True, False, False, True, False, True, True, False]
    for backward, leaves_out in itertools.product((False, True), repeat=2):
        base = mirrored(Variant(found.network)) if backward else Variant(found.network)
        variant = segmented(base, "heads")
        variant = exclusive(variant) if leaves_out else variant
        assert validity(variant).verdict == "proved" and validity(variant).largest == 8
        cells = list(words)
        compiled(variant_source(variant))(cells, list(flags), str.__add__, *([""] if leaves_out else []))
        assert cells == expected(words, flags, "heads", backward, leaves_out)
    broken = Variant(network(3, [[(1, 0)]]))
    assert validity(broken).verdict == "refuted" and "column 2" in validity(broken).reason


@pytest.mark.parametrize("name", NAMED)
def test_validity_of_variants(name: str) -> None:
    result = generalise(NAMED[name](16))
    assert isinstance(result, Generalised)
    variant = segmented(mirrored(Variant(result.program)))
    judged = validity(variant, adjacency=result.adjacency)
    assert judged.verdict == "proved" and judged.invariants
    assert judged.operators == ("" if name in STRICT else "idempotent ") + "associative operators"
    assert not judged.reason
    if name not in STRICT:
        refuted = validity(variant)
        assert refuted.verdict == "refuted" and "no scan for n = " in refuted.reason


def test_changes_undo_each_other() -> None:
    variant = forward("bk3")
    assert mirrored(mirrored(variant)) == variant
    assert whole(segmented(variant)) == variant and inclusive(exclusive(variant)) == variant
    assert mirrored(segmented(variant)).flags == "tails"
    assert str(exclusive(segmented(mirrored(variant)))) == "backward exclusive segmented (tails) scan"


@pytest.mark.parametrize("kind", ["heads", "tails"])
def test_the_segmented_operator_is_the_only_one(kind: Flags) -> None:
    assert solutions(kind) == [segmented_operator(kind)]
    operator = segmented_operator(kind)
    assert str(operator) == ("(y if g else x op y, f or g)" if kind == "heads" else "(x if f else x op y, f or g)")
    assert is_associative(operator) and is_serial_step(operator, kind)
    lifted = operator.lifted(lambda x, y: x * 10 + y)
    assert lifted((1, False), (2, False)) == (12, False)
    assert lifted((1, True), (2, True)) == ((2 if kind == "heads" else 1), True)


def test_wrong_segmented_operators_are_recognised() -> None:
    right = segmented_operator("heads")
    assert not is_serial_step(right, "tails")
    never = SegmentedOperator(("x op y",) * 4, (False, True, True, True))
    assert is_associative(never) and not is_serial_step(never, "heads")
    forgetful = SegmentedOperator(right.values, (False, True, False, True))
    assert not is_associative(forgetful) or not is_serial_step(forgetful, "heads")
    with pytest.raises(ValueError, match="needs an identity"):
        SegmentedOperator(("0",) * 4, (False,) * 4).lifted(str.__add__)(("a", False), ("b", False))
    assert (
        SegmentedOperator(("0", "x", "y", "x op y"), (True, False, False, True))
        .value_text("x", "y", "z", "f", "g")
        .startswith("(")
    )
