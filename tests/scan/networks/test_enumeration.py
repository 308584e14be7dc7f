"""Counts of networks, fewest operations, modules and compositions."""

import pytest

from warploom.scan.networks import (
    NAMED,
    Census,
    Limits,
    adjacency_of,
    canonical,
    census,
    completed,
    composed,
    fewest,
    gathered,
    grown,
    mine,
    network,
    networks,
)

from . import serial

COUNTS = {(4, 2): 2, (5, 3): 75, (6, 3): 118, (7, 3): 114, (8, 3): 52, (8, 4): 138_574, (8, 5): 17_083_796}
TWO = network(2, [[(1, 0)]])


@pytest.mark.parametrize(("columns", "depth"), COUNTS)
def test_counts(columns: int, depth: int) -> None:
    assert census(columns, depth).networks == COUNTS[columns, depth]


@pytest.mark.parametrize(
    ("limits", "counts"),
    [(Limits(fan_out=1), (1, 1_908, 227_760)), (Limits(banks=4), (2, 3_376, 436_616))],
)
def test_counts_within_limits(limits: Limits, counts: tuple[int, ...]) -> None:
    assert tuple(census(8, depth, limits).networks for depth in (3, 4, 5)) == counts


def test_fewest_operations_by_counting() -> None:
    assert [census(8, depth).fewest for depth in (3, 4, 5)] == [12, 10, 9]
    assert census(8, 4, Limits(banks=4)).fewest == 10
    assert census(8, 2) == Census(8, 2, 0, None)


def test_listing_agrees_with_counting() -> None:
    for columns, depth in ((4, 2), (4, 3), (5, 3), (5, 4), (6, 3), (8, 3)):
        listed = list(networks(columns, depth))
        counted = census(columns, depth)
        assert len(listed) == len(set(listed)) == counted.networks
        assert min(net.size for net in listed) == counted.fewest
        assert all(adjacency_of(net) == "strict" for net in listed)
    narrow = [net for net in networks(8, 3) if net.fan_out == 1]
    assert narrow == [NAMED["kogge-stone"](8)]


def test_zero_conflict_counts_agree_with_simulated_banks() -> None:
    from warploom.scan.layouts import trace

    free = sum(trace(net, 4).conflicts(4) == 0 for net in networks(8, 3))
    assert free == census(8, 3, Limits(banks=4)).networks == 2
    assert sum(trace(net, 3).conflicts(3) == 0 for net in networks(6, 4)) == census(6, 4, Limits(banks=3)).networks
    assert sum(net.fan_out <= 2 for net in networks(6, 4)) == census(6, 4, Limits(fan_out=2)).networks


@pytest.mark.parametrize(
    ("columns", "sizes"),
    [(8, {3: 12, 4: 10, 5: 9, 6: 8, 7: 7}), (16, {4: 31, 5: 25})],
)
def test_fewest_operations_per_depth(columns: int, sizes: dict[int, int]) -> None:
    for depth, size in sizes.items():
        found = fewest(columns, depth)
        assert found is not None and found.status == "proved" and found.lower_bound == size
        assert found.network.size == size and found.network.depth <= depth
        data = serial.matrices(columns, depth)
        dots = [[(d.destination, d.source) for d in step] for step in found.network.steps]
        assert serial.run_dots(data, dots, serial.times) == serial.prefixes(data, serial.times)
    assert fewest(columns, columns.bit_length() - 2) is None


def test_a_small_budget_is_no_proof() -> None:
    found = fewest(16, 4, rlimit=1)
    assert found is None or found.status == "best found"


def test_modules_of_sklansky_are_its_halves() -> None:
    modules = mine([NAMED["sklansky"](16)])
    halves = [m for m in modules if m.network == NAMED["sklansky"](8)]
    assert [(m.is_scan, m.places) for m in halves] == [(True, 2)]
    quarters = next(m for m in modules if m.network == NAMED["sklansky"](4))
    assert quarters.places >= 4 and quarters.saved == (quarters.places - 1) * NAMED["sklansky"](4).size


def test_modules_of_many_networks() -> None:
    modules = mine(networks(8, 3), least_dots=3)
    scans = [m for m in modules if m.is_scan]
    assert scans and all(adjacency_of(m.network) == "strict" for m in scans)
    assert all(m.networks <= 52 and m.places >= 2 for m in modules)


def test_two_columns_grow_into_the_classics() -> None:
    for n in (5, 16, 100):
        assert grown(TWO, n) == canonical(NAMED["sklansky"](n))
        assert grown(TWO, n, "gathered") == canonical(NAMED["brent-kung"](n))


def test_compositions_scan() -> None:
    parts = [NAMED["kogge-stone"](4), NAMED["bk3"](5), next(networks(4, 2)), TWO]
    for outer in parts:
        for inner in parts:
            for net in (composed(outer, inner), gathered(outer, inner)):
                data = serial.matrices(net.columns, 1)
                dots = [[(d.destination, d.source) for d in step] for step in net.steps]
                assert serial.run_dots(data, dots, serial.times) == serial.prefixes(data, serial.times)
    assert grown(NAMED["bk3"](3), 1000, "gathered").size < grown(NAMED["bk3"](3), 1000).size
    assert adjacency_of(completed(network(9, []))) == "strict"
    with pytest.raises(ValueError, match="expected a forward scan network"):
        grown(network(3, [[(1, 0)]]), 9)


def test_tables_of_many_columns_are_not_counted() -> None:
    for columns in (0, 17):
        with pytest.raises(ValueError, match=r"expected 1 to 1[0-9] columns, got "):
            census(columns, 2)
