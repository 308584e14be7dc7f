"""Parts of a nest that groups of four warps compute together: each reason against one, alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.schedule.choices.matrices import GROUPS, nest_of
from tests.schedule.nest.test_matrices import changed

from warploom.core.linear import Linear
from warploom.ir.swizzle import Xor
from warploom.machines import MATRIX_INSTRUCTIONS
from warploom.schedule.choices.lower_swizzle import in_atoms
from warploom.schedule.nest import (
    ATOM_BYTES,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Space,
    Store,
    Swizzle,
    products_of,
    text,
    verify,
)


@pytest.mark.parametrize("name", GROUPS)
def test_a_product_is_found_as_it_is_decided(name: str) -> None:
    nest = nest_of(name)
    assert verify(nest) == ()
    (part,) = products_of(nest)
    group = part.group
    assert group is not None and group.rows.is_along_sum and group.columns.is_along_sum
    assert group.width == 8 * len(part.columns.parts) == (16 if name == "group of few columns" else 64)
    atom = 1024 // part.instruction.factor_bytes
    assert group.parts == tuple(atom * n for n in range(len(part.rows.parts)))
    assert group.rows.stride == atom * len(group.parts) and group.columns.stride == atom
    assert "aligned to 1024" in text(nest)
    rows = [group.row(n, half) for n in range(len(group.parts)) for half in range(2)]
    assert sorted(rows) == list(range(len(part.row_points)))


def of_tile(number: int, new: Callable[[Load | Store], Load | Store]) -> Callable[[Nest], Nest]:
    """All accesses to one of the two arrays in shared memory changed."""

    def change(nest: Nest) -> Nest:
        buffer = [n for n, b in enumerate(nest.buffers) if b.space is Space.SHARED][number]

        def node(old: Node) -> Node:
            return new(old) if isinstance(old, Load | Store) and old.memory.buffer == buffer else old

        return changed(nest, node)

    return change


def swizzled(by: Swizzle | None) -> Callable[[Load | Store], Load | Store]:
    return lambda old: replace(old, memory=replace(old.memory, swizzle=by))


def moved(by: int) -> Callable[[Load | Store], Load | Store]:
    def new(old: Load | Store) -> Load | Store:
        offset = old.memory.offset
        return replace(old, memory=replace(old.memory, offset=Linear(offset.terms, offset.constant + by)))

    return new


def aligned(number: int, alignment: int) -> Callable[[Nest], Nest]:
    def change(nest: Nest) -> Nest:
        buffer = [n for n, b in enumerate(nest.buffers) if b.space is Space.SHARED][number]
        buffers = tuple(replace(b, alignment=alignment) if n == buffer else b for n, b in enumerate(nest.buffers))
        return replace(nest, buffers=buffers)

    return change


CHANGES: dict[str, Callable[[Nest], Nest]] = {
    "columns that may begin anywhere": aligned(0, 0),
    "rows that may begin anywhere": aligned(1, 0),
    "columns that are not permuted": of_tile(0, swizzled(None)),
    "rows that are not permuted": of_tile(1, swizzled(None)),
    "another permutation": of_tile(1, swizzled(Swizzle(Xor(4, 1), 8))),
    "columns that begin inside an atom": of_tile(0, moved(64)),
    "rows that begin inside an atom": of_tile(1, moved(64)),
}


@pytest.mark.parametrize("reason", CHANGES)
def test_other_parts_are_of_single_warps(reason: str) -> None:
    (part,) = products_of(CHANGES[reason](nest_of("group")))
    assert part.group is None


def test_blocks_of_parts_of_a_group_are_of_single_warps() -> None:
    def halved(node: Node) -> Node:
        is_warps = isinstance(node, Loop) and node.kind is Kind.THREAD and node.hardware == 2
        return replace(node, size=2) if is_warps else node

    (part,) = products_of(changed(nest_of("group"), halved))
    assert part.group is None


def test_kinds_of_factors_and_numbers_of_columns() -> None:
    """Source: PTX ISA 9.0, section 9.7.15.5.2: shapes of wgmma."""
    has = {name for name, on in MATRIX_INSTRUCTIONS.items() if on.has_groups}
    assert has == {"f16", "bf16", "i8", "u8"}
    half, byte = MATRIX_INSTRUCTIONS["f16"], MATRIX_INSTRUCTIONS["i8"]
    assert [n for n in range(-8, 270) if half.has_group_columns(n)] == list(range(8, 257, 8))
    assert [n for n in range(-8, 270) if byte.has_group_columns(n)] == [8, 16, 24, 32, *range(48, 257, 16)]


def test_only_whole_atoms_of_shared_memory_are_laid_out() -> None:
    nest = nest_of("group")
    tile = next(n for n, b in enumerate(nest.buffers) if b.space is Space.SHARED)
    plain = aligned(0, 0)(of_tile(0, swizzled(None))(nest))
    assert in_atoms(plain, tile) == nest
    assert in_atoms(plain, 0) == plain  # in global memory
    odd = replace(
        plain, buffers=tuple(replace(b, elements=b.elements + 8) if n == tile else b for n, b in enumerate(plain.buffers))
    )
    assert in_atoms(odd, tile) == odd
    assert nest.buffers[tile].alignment == ATOM_BYTES
