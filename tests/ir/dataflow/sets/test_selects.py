"""Selects and filters: the sizes of the authors' tool, members rebuilt from the definition, long lists never enumerated."""

from __future__ import annotations

import operator
import time
from itertools import permutations, product

import numpy as np
import pytest
from tests.ir.dataflow.sets.members import Gather, check, everything, gathers

from warploom.core import UserError
from warploom.ir.dataflow.sets import gather_set

OPS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize(
    ("name", "shape", "out", "options", "size"),
    [
        ("reg_select_no_consts", (32, 2), (32, 3), {}, 14),
        ("reg_select", (32, 2), (32, 3), {}, 38),
        ("cond_keep_no_consts", (32, 3), (32, 3), {}, 14),
        ("cond_keep", (32, 3), (32, 3), {}, 38),
        ("cond_keep_no_consts", (4, 2, 4), (4, 2, 4), {"restrict": (1, 0)}, 14),
        ("cond_keep", (4, 2, 4), (4, 2, 4), {"restrict": (1, 1)}, 44),
        ("cond_keep_no_consts", (4, 4, 4, 4), (4, 4, 4, 4), {"restrict": (3, 0, 1, 2)}, 14),
        ("cond_keep", (4, 4, 4, 4), (4, 4, 4, 4), {"restrict": (3, 0, 1, 2)}, 44),
        ("general_select_no_consts", (4, 4, 2, 2), (4, 4, 3, 2), {"axis": 2, "dims": (0, 2)}, 14),
        ("general_select", (4, 4, 2, 2), (4, 4, 3, 2), {"axis": 2, "dims": (0, 2)}, 38),
        ("general_select", (4, 4, 2, 2), (4, 4, 5, 2), {"axis": 2, "dims": (0, 2)}, 36),
        ("general_select", (4, 4, 3, 3), (4, 4, 7, 3), {"axis": 2, "dims": (0, 2), "consts": (0, 1, -1, 4, -4)}, 1469),
        ("general_select", (4, 4, 3, 3), (4, 4, 9, 3), {"axis": 2, "dims": (0, 2), "consts": (0, 1, -1, 4, -4)}, 1497),
        ("general_select_no_consts", (4, 4, 3, 3), (4, 4, 9, 3), {"axis": 2, "dims": (0, 2)}, 93),
    ],
)
def test_sizes_of_the_authors(name: str, shape: tuple[int, ...], out: tuple[int, ...], options: dict, size: int) -> None:
    assert gather_set(name, options, (shape,), out).members.size == size


def entries(places: list[tuple[int, ...]], axes: list[int], constants: list[int]) -> list[tuple[bool, ...]]:
    """Truth of every entry of the grammar at every place, repetitions kept."""
    return [
        tuple(compare(p[a], c + sign * p[b]) for p in places)
        for compare, a, b, c, sign in product(OPS, axes, axes, constants, (1, -1))
    ]


@pytest.mark.parametrize(
    ("shape", "out", "axis", "dims", "consts"),
    [
        ((3, 2), (3, 4), 1, [0, 1], None),
        ((3, 2), (3, 4), 1, [1], (2, 0)),
        ((3, 3), (3, 4), 1, [0, 1], (0, 1)),
        ((3, 2, 2), (3, 5, 2), 1, [0, 1], (0,)),
        ((2, 4), (2, 3), 1, [1], (0, 1)),
    ],
)
def test_selects_follow_the_definition(
    shape: tuple[int, ...], out: tuple[int, ...], axis: int, dims: list[int], consts: tuple[int, ...] | None
) -> None:
    options = {"axis": axis, "dims": tuple(dims)} | ({} if consts is None else {"consts": consts})
    places = list(product(*(range(length) for length in out)))
    constants = list(consts or (0, 1, -1, out[axis], -out[axis]))
    wanted: set[Gather] = set()
    # Different entries of the list; equal entries would add nothing.
    listed = entries(places, dims, constants)
    for chosen in (
        permutations(range(len(listed)), shape[axis] - 1) if shape[axis] < 4 else distinct_lists(listed, shape[axis] - 1)
    ):
        sources = []
        for n, place in enumerate(places):
            copy = next((level for level, entry in enumerate(chosen) if listed[entry][n]), shape[axis] - 1)
            at = (*place[:axis], copy, *place[axis + 1 :])
            number = 0
            for position, length in zip(at, shape, strict=True):
                number = number * length + position
            sources.append(number)
        wanted.add(tuple(sources))
    assert set(check(gather_set("general_select", options, (shape,), out))) == wanted


def distinct_lists(listed: list[tuple[bool, ...]], length: int):
    """Lists of different entries, of those with equal truth the first `length`."""
    seen: dict[tuple[bool, ...], int] = {}
    kept = []
    for number, truth in enumerate(listed):
        seen[truth] = seen.get(truth, 0) + 1
        if seen[truth] <= (length if not any(truth) else 1):
            kept.append(number)
    return permutations(kept, length)


def test_reg_select_is_a_select_on_the_last_axis() -> None:
    same = gather_set("general_select", {"axis": 1, "dims": (0, 1), "consts": (0, 1, -1, 6, -6)}, ((6, 2),), (6, 3))
    assert gathers(gather_set("reg_select", {}, ((6, 2),), (6, 3))) == gathers(same)


@pytest.mark.parametrize(
    ("shape", "restrict"), [((4, 3), ()), ((3, 2, 4), (1, 1)), ((2, 2), (0, 1, 1, 0)), ((2, 3, 2), (0, 1, 2, 0))]
)
def test_keeps_follow_the_definition(shape: tuple[int, ...], restrict: tuple[int, ...]) -> None:
    fixed = dict(zip(restrict[::2], restrict[1::2], strict=True))
    places = list(product(*(range(length) for length in shape)))
    axes = [a for a in range(len(shape)) if a not in fixed]
    truths = [*entries(places, axes, [0, 1, -1, shape[0], -shape[0]]), (True,) * len(places), (False,) * len(places)]
    wanted = {
        tuple(
            n if truth[n] or any(place[a] != position for a, position in fixed.items()) else -1 for n, place in enumerate(places)
        )
        for truth in truths
    }
    options = {"restrict": restrict} if restrict else {}
    assert set(check(gather_set("cond_keep", options, (shape,), shape))) == wanted


def test_points_and_texts() -> None:
    keep = gather_set("cond_keep", {"restrict": (1, 0)}, ((4, 2, 4),), (4, 2, 4))
    assert keep.members.points == 16
    assert "keep if i2 < 1 - i0, at i1 == 0" not in gathers(keep).values()
    assert {"keep if true, at i1 == 0", "keep if i0 < i2, at i1 == 0"} <= set(gathers(keep).values())
    select = gather_set("general_select", {"axis": 2, "dims": (0, 2)}, ((4, 4, 2, 2),), (4, 4, 3, 2))
    assert select.members.points == 12
    assert {"0", "1", "0 if i0 < i2 else 1"} <= set(gathers(select).values())


def test_three_copies_are_listed_quickly() -> None:
    options = {"axis": 2, "dims": (0, 2), "consts": (0, 1, -1, 4, -4)}
    spent = []
    for _ in range(3):
        start = time.process_time()
        choices = gather_set("general_select", options, ((4, 4, 3, 3),), (4, 4, 9, 3))
        assert len(choices.members.matching(everything(choices))) == 1497
        spent.append(time.process_time() - start)
    assert min(spent) < 0.15


def test_one_copy_leaves_no_choice() -> None:
    single = gather_set("reg_select", {}, ((4, 1),), (4, 3))
    assert single.is_single and check(single) == {tuple(i for i in range(4) for _ in range(3)): "0"}
    assert len(single.members.matching(np.zeros((single.members.points, 1), np.bool_))) == 0


@pytest.mark.parametrize(("copies", "width"), [(4, 11), (5, 15)])
def test_long_lists_are_filtered_not_enumerated(copies: int, width: int) -> None:
    options = {"axis": 2, "dims": (0, 2), "consts": (0, 1, -1, 4, -4)}
    choices = gather_set("general_select", options, ((4, 4, copies, 1),), (4, 4, width, 1))
    members = choices.members
    assert copies == 4 or (members.matching(everything(choices)) is None and members.size is None)
    assert members.size_bound > 10**5
    # The stencil's select: thread i at step k sends the copy that holds column i + k of a thread that has it.
    wanted = np.array([[(i + k) // 4 for k in range(width)] for i in range(4)]).ravel()
    copy = np.minimum(wanted, copies - 1)
    allowed = np.zeros((members.points, copies), np.bool_)
    allowed[np.arange(members.points), copy] = True
    found = members.matching(allowed)
    assert found is not None and [tuple(row) for row in found.tables] in ([], [tuple(copy)])
    loose = allowed.copy()
    loose[::3] = True
    kept = members.matching(loose)
    assert kept is not None and (members.supported(loose) | ~kept.supported(copies)).all()


@pytest.mark.parametrize(
    ("name", "options", "shape", "out", "message"),
    [
        ("general_select", {"axis": 1}, (4, 2), (4, 3), r"BAD_OPTION\]: .* the option dims, got none"),
        ("general_select", {"axis": 1, "dims": ()}, (4, 2), (4, 3), r"BAD_OPTION\]: .* at least one axis in dims"),
        ("general_select", {"axis": 1, "dims": (3,)}, (4, 2), (4, 3), r"BAD_OPTION\]: .* dims among the axes 0\.\.1"),
        ("general_select", {"axis": 1, "dims": (0,), "consts": ()}, (4, 2), (4, 3), r"BAD_OPTION\]: .* at least one constant"),
        ("general_select", {"axis": 1, "dims": (0,)}, (4, 2), (5, 3), r"SHAPE_MISMATCH\]: .* differ on axis 1 alone"),
        ("reg_select_no_consts", {"consts": (1,)}, (4, 2), (4, 3), r"BAD_OPTION\]: .* expected no option, got 'consts'"),
        ("cond_keep", {"restrict": (1,)}, (4, 2), (4, 2), r"BAD_OPTION\]: .*restrict=\[axis, position, \.\.\.\], got 1 numbers"),
        ("cond_keep", {"restrict": (1, 2)}, (4, 2), (4, 2), r"BAD_OPTION\]: .* a position below 2 on axis 1 in restrict, got 2"),
        ("cond_keep", {}, (4, 2), (4, 3), r"SHAPE_MISMATCH\]: .* equal shapes"),
    ],
)
def test_errors(name: str, options: dict, shape: tuple[int, ...], out: tuple[int, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        gather_set(name, options, (shape,), out)
