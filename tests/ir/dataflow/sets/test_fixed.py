"""Fixed maps and user definitions against NumPy's own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ir.dataflow.sets.members import check

from warploom.core import UserError
from warploom.ir.dataflow.sets import NAMES, gather_set, tabulated


def only(name: str, options: dict, arguments: tuple[tuple[int, ...], ...], out: tuple[int, ...]) -> np.ndarray:
    choices = gather_set(name, options, arguments, out)
    assert choices.is_single
    ((sources, _),) = check(choices).items()
    return np.array(sources).reshape(out)


def test_copies_and_axes() -> None:
    a = np.arange(24).reshape(2, 3, 4)
    for name in ("id", "identity", "reshape"):
        assert (only(name, {}, ((2, 3, 4),), (4, 6)) == a.reshape(4, 6)).all()
    assert (only("transpose", {}, ((2, 3, 4),), (4, 3, 2)) == a.T).all()
    assert (only("rot_idx", {"r": 1}, ((2, 3, 4),), (4, 2, 3)) == a.transpose(2, 0, 1)).all()
    assert (only("rot_idx", {"l": 1}, ((2, 3, 4),), (3, 4, 2)) == a.transpose(1, 2, 0)).all()
    assert (only("stack", {}, ((2, 3), (2, 3), (2, 3)), (2, 3, 3)) == np.arange(18).reshape(3, 2, 3).transpose(1, 2, 0)).all()
    b = np.arange(12).reshape(3, 4)
    assert (only("broadcast", {}, ((3, 4),), (2, 3, 4)) == np.broadcast_to(b, (2, 3, 4))).all()
    assert (only("broadcast", {"group": 1}, ((3, 4),), (3, 5, 2, 4)) == np.broadcast_to(b[:, None, None], (3, 5, 2, 4))).all()
    assert (only("broadcast", {"group": 2}, ((3, 4),), (3, 4, 5)) == np.broadcast_to(b[:, :, None], (3, 4, 5))).all()


def test_loads() -> None:
    assert (only("load_rep", {}, ((24,),), (8, 3)) == np.arange(24).reshape(3, 8).T).all()
    assert (only("load_rep", {}, ((3,),), (2, 4)) == (np.arange(8) % 3).reshape(4, 2).T).all()
    assert (only("load_rep", {}, ((30,),), (2, 3, 4)) == np.arange(24).reshape(4, 3, 2).T).all()
    linear = np.arange(64).reshape(2, 32).T
    assert (only("load_trunc", {}, ((34,),), (32, 2)) == np.where(linear < 34, linear, -2)).all()
    grid = only("load_grid_2d", {}, ((6, 7),), (4, 4, 2, 2))
    for i, j, p, q in np.ndindex(4, 4, 2, 2):
        row, column = i + 4 * p, j + 4 * q
        assert grid[i, j, p, q] == (row * 7 + column if row < 6 and column < 7 else -2)


def test_user_definitions_are_distinct_by_effect() -> None:
    gathers = [
        ("swap", np.array([1, 0, 2, 2])),
        ("same", np.array([1, 0, 2, 2])),
        ("zeros", np.array([1, -1, 2, -2])),
        ("other", np.array([3, 0, 2, 5])),
    ]
    choices = tabulated(((2,), (2, 2)), (2, 2), gathers)
    assert check(choices) == {(1, 0, 2, 2): "swap", (1, -1, 2, -2): "zeros", (3, 0, 2, 5): "other"}
    assert choices.members.points == 4 and choices.members.values == 3, "the third element never changes"
    single = tabulated(((2,),), (3,), [("only", np.array([[1, 1, 0]]))])
    assert single.is_single and single.members.points == 1 and check(single) == {(1, 1, 0): "only"}


def test_a_large_definition_is_cheap() -> None:
    order = np.random.default_rng(0).permutation(4096)
    choices = tabulated(((4096,),), (64, 64), [("shuffled", order), ("reversed", order[::-1])])
    assert set(check(choices)) == {tuple(order.tolist()), tuple(order[::-1].tolist())}


def test_every_set_has_a_line() -> None:
    assert all(line and line[0] != " " for line in NAMES.values())
    assert {"xform", "row", "col", "hvx", "avx2", "amd_dpp", "general_select_no_consts", "col_rots_no_group"} <= NAMES.keys()


@pytest.mark.parametrize(
    ("name", "options", "arguments", "out"),
    [
        ("reshape", {}, ((2, 3),), (7,)),
        ("reshape", {}, ((2, 3), (2, 3)), (6,)),
        ("transpose", {}, ((2, 3),), (2, 3)),
        ("rot_idx", {"r": 1}, ((2, 3, 4),), (3, 4, 2)),
        ("stack", {}, ((2, 3), (3, 2)), (2, 3, 2)),
        ("stack", {}, ((2, 3), (2, 3)), (2, 2, 3)),
        ("broadcast", {"group": 1}, ((3, 4),), (2, 3, 4)),
        ("broadcast", {"group": 3}, ((3, 4),), (3, 4, 2)),
        ("broadcast", {}, ((3, 4),), (3, 4)),
        ("load_grid_2d", {}, ((6, 6, 6),), (4, 4, 2, 2)),
    ],
)
def test_shapes_are_checked(name: str, options: dict, arguments: tuple[tuple[int, ...], ...], out: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match=r"SHAPE_MISMATCH\]: .*expected .*, got \("):
        gather_set(name, options, arguments, out)


def test_sets_refuse_arrays_that_they_cannot_tabulate() -> None:
    assert gather_set("transpose", {}, ((2, 40000),), (40000, 2)).is_single
    with pytest.raises(UserError, match=r"TOO_LARGE\]: col_rots: expected arrays with at most"):
        gather_set("col_rots", {}, ((40000, 2),), (40000, 2))
