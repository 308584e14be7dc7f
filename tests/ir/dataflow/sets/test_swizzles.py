"""xforms and rots: the sizes that the authors' tool prints, and members rebuilt from the formula."""

from __future__ import annotations

import time
from itertools import product
from math import gcd

import pytest
from tests.ir.dataflow.sets.members import Gather, check, gathers

from warploom.core import UserError
from warploom.ir.dataflow.sets import gather_set

KINDS = ("xforms_no_group", "xforms", "rots_no_group", "rots")
SIZES = {
    # shape: row, col of each kind
    (32, 2): ((10, 992), (10, 1298), (2, 32), (2, 58)),
    (32, 3): ((30, 992), (30, 1347), (3, 32), (3, 58)),
    (32, 4): ((60, 1984), (77, 2716), (4, 32), (5, 58)),
    (32, 5): ((100, 992), (100, 1364), (5, 32), (5, 58)),
    (32, 7): ((210, 992), (210, 1365), (7, 32), (7, 58)),
    (32, 9): (None, (415, 2757), None, (11, 58)),
    (8, 3): ((18, 56), None, (3, 8), None),
    (32, 1): ((1, 1), (1, 1), None, (1, 58)),
}


def size(name: str, shape: tuple[int, ...], **options: int) -> int:
    return gather_set(name, options, (shape,), shape).members.size_bound


@pytest.mark.parametrize("shape", SIZES)
def test_sizes_of_the_authors(shape: tuple[int, int]) -> None:
    for kind, wanted in zip(KINDS, SIZES[shape], strict=True):
        if wanted is not None:
            assert (size(f"row_{kind}", shape), size(f"col_{kind}", shape)) == wanted


@pytest.mark.parametrize(
    ("shape", "axes", "sizes"),
    [
        ((4, 4), (0, 1, 1), (25, 30, 5, 6)),
        ((4, 4, 3, 2), (0, 2, 0), (12, 14, 4, 5)),
        ((4, 4, 5, 2), (0, 2, 0), (12, 14, 4, 5)),
    ],
)
def test_sizes_on_axes_of_choice(shape: tuple[int, ...], axes: tuple[int, int, int], sizes: tuple[int, ...]) -> None:
    options = dict(zip(("main", "second", "out"), axes, strict=True))
    assert tuple(size(kind, shape, **options) for kind in KINDS) == sizes


def rebuilt(kind: str, shape: tuple[int, ...], out: tuple[int, ...], axes: tuple[int, int, int]) -> set[Gather]:
    """Every member, element by element from the formula, with the authors' ranges as written (-1 too)."""
    main, second, axis = axes
    n, count = shape[main], out[second]
    grouped = "no_group" not in kind
    places = list(product(*(range(length) for length in out)))

    def read(value) -> Gather:
        sources = []
        for place in places:
            at = (*place[:axis], value(place[main], place[second]), *place[axis + 1 :])
            number, inside = 0, True
            for position, length in zip(at, shape, strict=True):
                number, inside = number * length + position, inside and position < length
            sources.append(number if inside else -2)
        return tuple(sources)

    found = {tuple(range(len(places)))} if shape == out else set()
    for g in [g for g in range(2, n + 1) if n % g == 0] if grouped else [n]:
        if "rots" in kind:
            found |= {read(lambda i, k, g=g, s=s: (s + i) % g + i // g * g) for s in range(g)}
            continue
        divisors = [d for d in range(2, count + 1) if count % d == 0]
        for cf, cr, dr, wrap in product([*range(g), -1], [*range(g), -1], divisors, (False, True) if grouped else (False,)):
            common = gcd(g, abs(cf))
            df = g // common

            def value(i: int, k: int, g=g, cf=cf, cr=cr, dr=dr, wrap=wrap, common=common, df=df) -> int:
                rot = cr * k + k // dr
                return (cf * (i % g) + (i % g) // df + (rot % common if wrap else rot)) % g + i // g * g

            found.add(read(value))
    return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("shape", "out", "axes"),
    [
        ((6, 4), (6, 4), (0, 1, 0)),
        ((4, 6), (4, 6), (1, 0, 1)),
        ((4, 4), (4, 4), (0, 1, 1)),
        ((4, 8), (4, 4), (1, 0, 1)),
        ((4, 2, 6), (4, 2, 6), (0, 2, 0)),
        ((2, 4, 3), (2, 4, 3), (0, 1, 2)),
        ((4, 2), (4, 5), (0, 1, 1)),
        ((8, 1), (8, 1), (0, 1, 0)),
    ],
)
def test_members_follow_the_formula(kind: str, shape: tuple[int, ...], out: tuple[int, ...], axes: tuple[int, int, int]) -> None:
    choices = gather_set(kind, dict(zip(("main", "second", "out"), axes, strict=True)), (shape,), out)
    assert set(check(choices)) == rebuilt(kind, shape, out, axes)


def test_prefixes_name_axes() -> None:
    for prefix, axes in (("row", {"main": 1, "second": 0, "out": 1}), ("col", {"main": 0, "second": 1, "out": 0})):
        for kind in KINDS:
            short = gather_set(f"{prefix}_{kind}", {}, ((4, 6),), (4, 6))
            assert gathers(short).keys() == gathers(gather_set(kind, axes, ((4, 6),), (4, 6))).keys()


def test_points_are_coarse() -> None:
    axes = {"main": 0, "second": 2, "out": 0}
    assert gather_set("xforms", axes, ((4, 4, 3, 2),), (4, 4, 3, 2)).members.points == 12
    assert gather_set("rots", axes, ((4, 4, 3, 2),), (4, 4, 3, 2)).members.points == 4


def test_texts_name_parameters() -> None:
    texts = set(gathers(gather_set("col_xforms", {}, ((32, 9),), (32, 9))).values())
    assert "col_xforms(g=32, cf=3, cr=1, dr=9)" in texts and "col_xforms(identity)" in texts
    assert any(text.endswith(", wrap)") for text in texts)
    assert "row_rots(g=4, shift=3)" in gathers(gather_set("row_rots", {}, ((3, 4),), (3, 4))).values()


def test_large_sets_are_built_quickly() -> None:
    for shape, seconds in (((32, 9), 0.05), ((32, 31), 0.15)):
        spent = []
        for _ in range(3):
            start = time.process_time()
            size("col_xforms", shape)
            spent.append(time.process_time() - start)
        assert min(spent) < seconds


@pytest.mark.parametrize(
    ("name", "options", "shape", "out", "message"),
    [
        ("row_xfroms", {}, (4, 4), (4, 4), r"UNKNOWN_SET\]: expected the name .* got 'row_xfroms'\n  fix: Write row_xforms\."),
        ("row_xforms", {"main": 1}, (4, 4), (4, 4), r"BAD_OPTION\]: row_xforms: expected no option, got 'main'"),
        ("xforms", {"main": 1, "second": 0}, (4, 4), (4, 4), r"BAD_OPTION\]: xforms: expected the option out, got none"),
        ("xforms", {"main": 1, "second": 1, "out": 1}, (4, 4), (4, 4), r"BAD_OPTION\]: .* different axes"),
        (
            "xforms",
            {"main": 2, "second": 1, "out": 1},
            (4, 4),
            (4, 4),
            r"BAD_OPTION\]: .* main among the axes 0\.\.1 of \[4, 4\], got 2",
        ),
        ("xforms", {"main": True, "second": 1, "out": 1}, (4, 4), (4, 4), r"BAD_OPTION\]: .* a number for main, got a flag"),
        (
            "row_rots",
            {},
            (4, 4),
            (5, 4),
            r"SHAPE_MISMATCH\]: row_rots: expected no axis but 1 longer out than in, got \(\[4, 4\]\) -> ",
        ),
        ("row_rots", {}, (4,), (4,), r"SHAPE_MISMATCH\]: .* at least two axes"),
        ("col_xforms", {}, (4, 1), (3, 1), r"SHAPE_MISMATCH\]: .* a length of axis 1 above 1"),
    ],
)
def test_errors(name: str, options: dict, shape: tuple[int, ...], out: tuple[int, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        gather_set(name, options, (shape,), out)
