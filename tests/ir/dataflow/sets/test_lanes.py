"""Lane operations of AMD and permutations, against the manuals' formulas lane by lane."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from tests.ir.dataflow.sets.members import check, gathers

from warploom.core import UserError
from warploom.ir.dataflow.sets import gather_set


def test_sizes_of_the_authors() -> None:
    for name, group, size in (("grouped_perms", 4, 24), ("grouped_perms", 8, 40320), ("amd_swizzles_perm", 4, 52)):
        assert gather_set(name, {"axis": 0, "group": group}, ((32,),), (32,)).members.size == size


@pytest.mark.parametrize(("shape", "axis", "restrict"), [((6,), 0, ()), ((2, 6), 1, (0, 1)), ((6, 3), 0, (1, 2))])
def test_grouped_permutations(shape: tuple[int, ...], axis: int, restrict: tuple[int, ...]) -> None:
    places = list(product(*(range(length) for length in shape)))
    wanted = set()
    for order in permutations(range(3)):
        sources = []
        for place in places:
            p = place[axis]
            moved = all(place[a] == position for a, position in zip(restrict[::2], restrict[1::2], strict=True))
            at = (*place[:axis], p - p % 3 + order[p % 3] if moved else p, *place[axis + 1 :])
            sources.append(places.index(at))
        wanted.add(tuple(sources))
    options = {"axis": axis, "group": 3} | ({"restrict": restrict} if restrict else {})
    choices = gather_set("grouped_perms", options, (shape,), shape)
    assert set(check(choices)) == wanted and choices.members.points == 3


def test_authors_swizzles() -> None:
    wanted = {tuple(i - i % 2 + order[i % 2] for i in range(40)) for order in permutations(range(2))}
    wanted |= {tuple((i // 32 * 32 + (i % 32 ^ x)) % 40 for i in range(40)) for x in range(32)}
    choices = gather_set("amd_swizzles_perm", {"axis": 1, "group": 2, "restrict": (0, 0)}, ((2, 40),), (2, 40))
    found = check(choices)
    assert {sources[:40] for sources in found} == wanted
    assert all(sources[40:] == tuple(range(40, 80)) for sources in found)


def dpp(lanes: int) -> dict[str, list[int | None]]:
    """Source of each lane; None where there is none."""
    found: dict[str, list[int | None]] = {}
    for order in product(range(4), repeat=4):
        found[f"quad_perm:[{','.join(map(str, order))}]"] = [i // 4 * 4 + order[i % 4] for i in range(lanes)]
    for n in range(1, 16):
        found[f"row_shl:{n}"] = [i + n if (i + n) // 16 == i // 16 else None for i in range(lanes)]
        found[f"row_shr:{n}"] = [i - n if (i - n) // 16 == i // 16 else None for i in range(lanes)]
        found[f"row_ror:{n}"] = [i // 16 * 16 + (i - n) % 16 for i in range(lanes)]
    found["wave_shl:1"] = [*range(1, lanes), None]
    found["wave_shr:1"] = [None, *range(lanes - 1)]
    found["wave_rol:1"] = [*range(1, lanes), 0]
    found["wave_ror:1"] = [lanes - 1, *range(lanes - 1)]
    found["row_mirror"] = [i // 16 * 16 + 15 - i % 16 for i in range(lanes)]
    found["row_half_mirror"] = [i // 8 * 8 + 7 - i % 8 for i in range(lanes)]
    found["row_bcast:15"] = [i // 16 * 16 - 1 if i >= 16 else None for i in range(lanes)]
    found["row_bcast:31"] = [31 if i >= 32 else None for i in range(lanes)]
    return found


def test_dpp() -> None:
    found = check(gather_set("amd_dpp", {}, ((64,),), (64,)))
    wanted = {}
    for name, sources in dpp(64).items():
        wanted[f"amd_dpp({name})"] = tuple(-2 if s is None else s for s in sources)
        if None in sources:
            wanted[f"amd_dpp({name} bound_ctrl:1)"] = tuple(-1 if s is None else s for s in sources)
    assert {text: sources for sources, text in found.items()} == wanted
    assert len(wanted) == 256 + 15 * 5 + 2 * 2 + 2 + 2 + 2 * 2


def test_dpp_moves_whole_rows_of_an_array() -> None:
    flat = gathers(gather_set("amd_dpp", {}, ((16,),), (16,)))
    both = gathers(gather_set("amd_dpp", {"axis": 1}, ((3, 16),), (3, 16)))
    assert {sources[:16] for sources in both} == set(flat)
    assert all(
        sources[16 * row + i] == (sources[i] + 16 * row if sources[i] >= 0 else sources[i])
        for sources in both
        for row in range(3)
        for i in range(16)
    )
    assert gather_set("amd_dpp", {}, ((16, 5),), (16, 5)).members.points == 16


@pytest.mark.parametrize("lanes", [16, 32, 64])
def test_ds_swizzle(lanes: int) -> None:
    wanted = {tuple(i // 4 * 4 + order[i % 4] for i in range(lanes)) for order in product(range(4), repeat=4)}
    every = np.arange(32)
    a, o, x = (mask.ravel() for mask in np.meshgrid(every, every, every, indexing="ij"))
    lane = np.arange(lanes)
    read = lane // 32 * 32 + (((lane % 32 & a[:, None]) | o[:, None]) ^ x[:, None])
    wanted |= {tuple(row) for row in np.unique(np.where(read < lanes, read, -1), axis=0).tolist()}
    assert set(check(gather_set("amd_ds_swizzle", {}, ((lanes,),), (lanes,)))) == wanted
    assert lanes == 16 or len(wanted) == 4**5 + 256 - 16


def test_bpermute_is_factored() -> None:
    choices = gather_set("amd_bpermute", {}, ((32, 2),), (32, 2))
    members = choices.members
    assert members.size_bound == 32**32 and members.points == 32
    assert members.matching(np.ones((32, 32), np.bool_)) is None
    order = [(7 * i + 3) % 32 for i in range(32)]
    allowed = np.zeros((32, 32), np.bool_)
    allowed[np.arange(32), order] = True
    allowed[5, [1, 2]] = True
    found = members.matching(allowed)
    assert found is not None and len(found) == 3
    assert (members.supported(allowed) == allowed).all()
    texts = {choices.text(found.expr(row)) for row in range(3)}
    assert f"amd_bpermute({', '.join(map(str, order))})" in texts and len(texts) == 3
    allowed[9] = False
    assert len(members.matching(allowed)) == 0 and not members.supported(allowed).any()


@pytest.mark.parametrize(
    ("name", "options", "shape", "message"),
    [
        ("amd_dpp", {}, (24,), r"SHAPE_MISMATCH\]: .* 16, 32, 48 or 64 lanes on axis 0"),
        ("amd_dpp", {"axis": 1}, (16,), r"BAD_OPTION\]: .* axis among the axes 0\.\.0 of \[16\], got 1"),
        ("grouped_perms", {"group": 5}, (16,), r"BAD_OPTION\]: .* a group of at most 8 that divides the length 16, got 5"),
        ("grouped_perms", {"group": 16}, (16,), r"BAD_OPTION\]: .* a group of at most 8"),
        ("grouped_perms", {}, (16,), r"BAD_OPTION\]: .* the option group, got none"),
    ],
)
def test_errors(name: str, options: dict, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        gather_set(name, options, (shape,), shape)
