"""Maps of every class: right, as good as said, and proved to be so."""

import ast
import random
import sys
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.layout import brute

from warploom.core import UserError
from warploom.core.limits import LimitReachedError
from warploom.layout import (
    Access,
    Answer,
    Room,
    access,
    access_of_function,
    certificate,
    faults,
    layout,
    misnamed,
    tile,
    wavefronts,
)
from warploom.layout.linear import Shape, search
from warploom.machines import shared_memory

SIX = ("rows", "columns", "blocks:4x8", "blocks:8x4", "blocks:16x2", "blocks:2x16")
ANY = ("rows@any", "columns@any", "blocks:4x8")


def solved(text: str, names: Sequence[str], room: int | str = 0) -> Answer:
    given = tile(text)
    found = layout(given, [access(name, given) for name in names], "any" if room == "any" else int(room))
    confirmed(found)
    return found


def confirmed(found: Answer) -> None:
    """The map's text is the map, the slow count is the count, the checker says yes."""
    given = found.tile
    text = found.map.text
    assert text is not None
    place = function(text)
    table = [place(r, c) for r in range(given.rows) for c in range(given.columns)]
    assert table == found.map.table.tolist() and len(set(table)) == given.elements and min(table) >= 0
    for taken, price in zip(found.accesses, found.prices, strict=True):
        requests = [
            [[divmod(e, given.columns) for e in lane if e >= 0] for lane in request] for request in taken.elements.tolist()
        ]
        assert price.wavefronts == sum(brute.wavefronts(request, place, given.bits) for request in requests)
        assert price.wavefronts >= price.least
    assert faults(certificate(given, found.accesses, found.map, found.prices, found.no_linear)) == []


def function(text: str) -> Callable[[int, int], int]:
    return eval(f"lambda r, c: {text}", {})  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("text", "names", "kind", "total"),
    [
        ("32x32:f32", ("rows",), "identity", 32),
        ("32x32:f32", ("rows", "columns"), "swizzle", 64),
        ("32x32:f32", SIX, "linear", 192),
        ("16x16:f64", ("rows", "columns"), "swizzle", 32),
        ("64x64:f16", ("ldmatrix", "ldmatrix.trans", "rows:128bit"), "swizzle", 192),
        ("64x64:f16", ("ldmatrix", "ldmatrix.trans", "rows:128bit", "blocks:4x2:128bit", "blocks:2x4:128bit"), "linear", 320),
        ("8x128:f16", ("ldmatrix.trans",), "swizzle", 16),
        ("32x32:f32", ("rows:128bit", "columns"), "swizzle", 160),
        ("30x30:f32", ("rows", "columns"), "body", 60),
        ("20x12:f32", ("rows", "columns"), "rotation", 32),
        ("100x7:f32", ("rows", "columns", "blocks:4x8"), "identity", 153),
        ("48x33:f32", ANY, "body", 717),
        ("40x28:f32", ANY, "body", 332),
        ("33x20:f32", ANY, "body", 100),
        ("64x20:f32", ANY, "body", 772),
        ("64x64:e4m3", ("rows:128bit", "columns:32bit"), "swizzle", 160),
    ],
)  # fmt: skip
def test_every_access_has_the_least_wavefronts_without_room(text: str, names: Sequence[str], kind: str, total: int) -> None:
    found = solved(text, names)
    assert (found.optimal, found.extra_words, found.map.kind) == (True, 0, kind)
    assert sum(p.wavefronts for p in found.prices) == total


@pytest.mark.parametrize(
    ("text", "room", "kind", "most", "before", "after"),
    [
        ("32x32:f32", "any", "padding", 31, None, None),
        ("48x33:f32", "any", "body", 0, 861, 717),
        ("40x28:f32", "any", "body", 0, 1118, 332),
        ("44x28:f32", "any", "linear", 176, 1577, 452),
    ],
)  # fmt: skip
def test_room_is_used_where_it_helps(
    text: str, room: int | str, kind: str, most: int, before: int | None, after: int | None
) -> None:
    found = solved(text, ANY if before else ("rows", "columns"), room)
    assert found.optimal
    assert found.map.kind == kind and found.extra_words <= most
    if before:
        assert (sum(p.wavefronts for p in found.before), sum(p.wavefronts for p in found.prices)) == (before, after)


def test_room_that_is_not_given_is_not_used() -> None:
    found = solved("44x28:f32", ANY, 175)
    assert not found.optimal
    assert found.extra_words <= 175


def test_six_patterns_take_three_index_instructions() -> None:
    found = solved("32x32:f32", SIX)
    assert found.map.instructions <= 3
    assert found.map.expression is not None and "brev" in ast.unparse(found.map.expression)


def test_a_diagonal_rules_out_linear_maps() -> None:
    found = solved("32x32:f32", (*SIX, "diagonals"))
    assert found.no_linear is not None and not found.optimal


def patterns(count: int, seed: int, bits: int, dimension: int) -> list[list[list[int]]]:
    """All translates of random subspaces."""
    chance, found = random.Random(seed), []
    while len(found) < count:
        sums = [0]
        for vector in chance.sample(range(1, 1 << bits), dimension):
            sums += [vector ^ s for s in sums]
        if len(set(sums)) == 1 << dimension:
            found.append([list(t) for t in {tuple(sorted(x ^ s for s in sums)) for x in range(1 << bits)}])
    return found


@pytest.mark.parametrize(("count", "seed", "is_found"), [(8, 0, True), (12, 1, True), (16, 0, True), (16, 1, False)])
def test_random_patterns_are_served_or_ruled_out(count: int, seed: int, is_found: bool) -> None:
    given = tile("32x32:f32")
    accesses = [
        Access(f"p{i}", np.array(requests)[..., None], is_listed=True) for i, requests in enumerate(patterns(count, seed, 10, 5))
    ]
    found = layout(given, accesses)
    assert (found.optimal, found.no_linear is not None) == (is_found, not is_found)
    assert faults(certificate(given, accesses, found.map, found.prices, found.no_linear)) == []


def test_the_tree_of_xor_maps_agrees_with_all_subspaces() -> None:
    """Four address bits, two of them banks: M exists where a kernel does that the row's complement contains."""
    chance = random.Random(3)
    form = Shape(0, 2, 2)
    outcomes = set()
    for _ in range(60):
        groups = [[0, 1, 2, 3], *([0, *chance.sample(range(1, 16), 2)] for _ in range(chance.randint(1, 4)))]
        differences = np.array(sorted({x ^ y for g in groups for x in g for y in g if x != y}), dtype=np.int64)
        found = search(differences, form)
        assert found.exhausted != brute.has_linear_map(groups, 4, 2)
        assert (found.columns is None) == found.exhausted
        outcomes.add(found.exhausted)
    assert outcomes == {True, False}


@pytest.mark.parametrize(
    ("arch", "text", "names", "total"),
    [
        ("gfx942", "64x64:f32", ("rows", "columns"), 256),
        ("gfx942", "64x64:f16", ("rows:128bit", "rows:128bit:store", "blocks:16x4:128bit"), 192),
        ("gfx950", "64x64:f16", ("rows:128bit", "columns", "blocks:16x4:128bit"), 320),
        ("gfx1100", "32x32:f32", ("rows:128bit", "blocks:8x4:128bit", "columns:128bit"), 96),
        ("gfx1201", "32x32:f32", ("rows:128bit", "blocks:8x4:128bit", "columns:128bit"), 96),
        ("gen9", "32x32:f32", ("rows", "columns", "blocks:4x4"), 192),
    ],
)
def test_banks_of_other_vendors(arch: str, text: str, names: Sequence[str], total: int) -> None:
    """Counted once more lane by lane, by groups as the vendors write them."""
    memory = shared_memory(arch)
    given = tile(text, memory)
    found = layout(given, [access(name, given) for name in names])
    assert found.optimal and sum(p.wavefronts for p in found.prices) == total
    count = 0
    for asked in found.accesses:
        size = given.bits // 8 * asked.per_lane
        for request in asked.elements.tolist():
            for group in memory.groups(size, is_store=asked.is_store):
                words = {int(found.map.table[e]) * given.bits // 32 for lane in group for e in request[lane]}
                banks = [word % memory.banks for word in words]
                count += max(map(banks.count, banks))
    assert count == total
    document = certificate(given, found.accesses, found.map, found.prices)
    assert faults(document) == []
    for groups in ([[0] * memory.lanes], [[1, *range(memory.lanes)]]):
        assert faults({**document, "accesses": [{**document["accesses"][0], "groups": groups}]})
    assert faults({**document, "banks": 8}) and faults({**document, "banks": 0})


def test_what_other_vendors_lack() -> None:
    for arch, name, said in (
        ("gfx942", "ldmatrix", "NVIDIA's"),
        ("gfx1201", "ldmatrix", "NVIDIA's"),
        ("gfx950", "rows:store", "a store"),
        ("gen9", "rows:128bit", "published"),
        ("gen9", "blocks:4x8", "16"),
    ):
        with pytest.raises(UserError, match=said):
            access(name, tile("32x32:f32", shared_memory(arch)))


def test_a_spent_budget_keeps_the_best_map(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: object) -> Shape:
        raise LimitReachedError("budget: CPU seconds")

    monkeypatch.setattr(sys.modules[layout.__module__], "shape", spent)
    given = tile("32x32:f32")
    found = layout(given, [access("rows", given), access("columns", given)], table=True)
    assert (found.map.kind, found.optimal, found.stopped) == ("identity", False, "budget: CPU seconds")
    document = certificate(given, found.accesses, found.map, found.prices)
    assert faults(document) == [] and not document["optimal"]


def test_a_search_that_stops_early_claims_nothing() -> None:
    differences = np.arange(1, 16, dtype=np.int64)
    assert search(differences, Shape(0, 2, 2)).exhausted
    assert not search(differences, Shape(0, 2, 2), nodes=0).exhausted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("blocks:4", "sizes"), ("blocks:8x8", "2 to 32 lanes"), ("rows:24bit", "bits a lane"), ("ldmatrix:64bit", "128 bits"),
        ("across", "expected rows"), ("stride:0", "at least 1"), ("rows:3", "sizes"), ("rows@some", "expected rows"),
    ],
)  # fmt: skip
def test_accesses_that_are_none(text: str, expected: str) -> None:
    with pytest.raises(UserError, match=expected):
        access(text, tile("32x32:f16"))


@pytest.mark.parametrize("text", ["32:f32", "32x32", "0x4:f32", "32x32:f33", "512x512:f32", "-4x4:f32"])
def test_tiles_that_are_none(text: str) -> None:
    with pytest.raises(UserError, match="expected"):
        tile(text)


def test_wide_lanes_across_rows_are_refused() -> None:
    given = tile("32x32:f32")
    across = np.array([[[r * 32, (r + 1) * 32 + 1] for r in range(0, 32, 2)] + [[-1, -1]] * 16])
    with pytest.raises(UserError, match="aligned neighbours"):
        layout(given, [Access("across", across, is_listed=True)])


def test_neighbours_that_take_the_same_are_served_together() -> None:
    given = tile("32x32:f32")
    pairs = np.array([[[r * 32 + (lane // 2) * 4 % 32 + k for k in range(4)] for lane in range(32)] for r in range(0, 32, 2)])
    found = layout(given, [Access("pairs", pairs, is_listed=True)])
    assert (found.prices[0].wavefronts, found.prices[0].least, found.optimal) == (32, 32, True)
    confirmed(found)


@pytest.mark.parametrize("room", [0, "any"])
def test_lanes_that_take_neighbours_of_a_column(room: Room) -> None:
    """Four floats down a column at once: the map is one of the tile with rows and columns exchanged."""

    def taken(warp: int, lane: int, step: int) -> list[tuple[int, int]] | None:
        return [(4 * (lane % 6) + k, lane // 6 + 5 * step) for k in range(4)] if step < 4 and not warp and lane < 30 else None

    given = tile("24x20:f32")
    asked = [access_of_function("down", taken, given), access("columns", given)]
    found = layout(given, asked, room)
    table = found.map.table.reshape(24, 20)
    assert found.map.kind == "columns" and found.map.text is not None
    assert all((table[4 * b + k] == table[4 * b] + k).all() for b in range(6) for k in range(4)) and not (table[::4] % 4).any()
    assert [p.wavefronts for p in found.prices] == [wavefronts(given, each, found.map.table) for each in asked]
    assert found.before[0].wavefronts == wavefronts(given, asked[0], np.arange(480).reshape(20, 24).T.ravel())
    document = certificate(given, found.accesses, found.map, found.prices, found.no_linear)
    assert faults(document) == misnamed(document, given.memory) == []
    mixed = [*asked, access("rows:128bit", given)]
    with pytest.raises(UserError, match="or all of a column"):
        layout(given, mixed)
