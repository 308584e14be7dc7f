"""Bank conflicts and index remappings."""

import itertools
from collections import defaultdict

import pytest

from warploom.scan.layouts import (
    Access,
    Barrier,
    Compute,
    Conflicts,
    Lookup,
    Padding,
    Plain,
    Trace,
    Weights,
    addresses,
    best_layout,
    best_table,
    operations,
    paddings,
    swizzles,
    trace,
)
from warploom.scan.networks import NAMED, Network, network

PUBLISHED = [
    ("brent-kung", 8, 4, 9, 0), ("brent-kung", 512, 16, 729, 71), ("bk3", 512, 16, 60, 298), ("sklansky", 512, 16, 192, 96),
    ("kogge-stone", 512, 16, 0, 248), ("han-carlson", 512, 16, 432, 120), ("ladner-fischer", 512, 16, 400, 78),
    ("brent-kung", 1024, 32, 915, 52), ("bk3", 1024, 32, 62, 122),
]  # fmt: skip
"""Network, columns, banks, conflicts as they are and with e + e // banks."""


@pytest.mark.parametrize(("name", "columns", "banks", "plain", "padded"), PUBLISHED)
def test_conflicts(name: str, columns: int, banks: int, plain: int, padded: int) -> None:
    run = trace(NAMED[name](columns), banks)
    assert run.conflicts(banks) == plain
    assert run.remapped(addresses(Padding((banks,)), columns), 0).conflicts(banks) == padded


def simulated(net: Network, banks: int, table: list[int]) -> int:
    """Conflicts one access at a time, from the dots alone."""
    total = 0
    for step in net.steps:
        dots = list(step)
        for start in range(0, len(dots), banks):
            warp = dots[start : start + banks]
            for cells in ([d.source for d in warp], [d.destination for d in warp], [d.destination for d in warp]):
                found: defaultdict[int, set[int]] = defaultdict(set)
                for cell in cells:
                    found[table[cell] % banks].add(table[cell])
                total += max(map(len, found.values())) - 1
    return total


@pytest.mark.parametrize("name", NAMED)
def test_conflicts_against_a_simulation(name: str) -> None:
    for columns, banks in ((13, 3), (40, 8)):
        net = NAMED[name](columns)
        run = trace(net, banks)
        for remap in (Plain(), *itertools.islice(paddings(columns, banks), 0, None, 7), *swizzles(columns, banks)):
            table = addresses(remap, columns)
            assert len(set(table.tolist())) == columns
            assert run.remapped(table, 0).conflicts(banks) == simulated(net, banks, table.tolist())


@pytest.mark.parametrize("name", NAMED)
def test_one_lane_per_element_has_no_conflicts_but_idle_lanes(name: str) -> None:
    net = NAMED[name](64)
    in_place, packed = trace(net, 16, "in place"), trace(net, 16)
    assert in_place.conflicts(16) == 0 or net.fan_out > 1
    assert in_place.idle_lanes >= packed.idle_lanes


def test_events_come_in_order() -> None:
    run = trace(network(4, [[(1, 0), (3, 2)], [(3, 1)], [(2, 1)]]), 2)
    kinds = [type(event).__name__[0] + ("w" if isinstance(event, Access) and event.is_write else "") for event in run.events]
    assert kinds == ["A", "A", "Aw", "B"] * 2 + ["A", "A", "Aw"]
    assert run.barriers == 2 and len(run.accesses) == 9 and run.idle_lanes == 6
    mapped = run.remapped(addresses(Padding((2,)), 4), 3)
    assert mapped.operations == 6 * 3 and sum(isinstance(e, Compute) for e in mapped.events) == 6


def test_equal_addresses_are_one() -> None:
    spread = network(8, [[(k, 0) for k in range(1, 5)]])
    assert trace(spread, 4).conflicts_each(4).tolist() == [0, 0, 0]
    assert Trace((Barrier(),)).conflicts(4) == 0


def test_fewest_conflicts_at_eight_columns() -> None:
    found = best_layout(NAMED["brent-kung"](8), 4, cost=Conflicts(4))
    assert found.is_minimum and found.best.cost == 0
    assert {family: p.conflicts for family, p in found.by_family.items()} == {"none": 9, "padding": 0, "swizzle": 0, "table": 0}
    assert str(found.by_family["padding"].remap) == "e + e // 4"
    assert found.by_family["table"].slots == 8, "no extra slot"
    assert "xor(4)(k=j)(i)" in str(found.by_family["swizzle"].remap)


@pytest.mark.parametrize("name", ["brent-kung", "kogge-stone", "sklansky", "bk3"])
def test_best_tables_by_brute_force(name: str) -> None:
    net, banks = NAMED[name](7), 3
    found = best_table(trace(net, banks), 7, banks)
    assert found is not None and found.is_proved
    least = min(simulated(net, banks, list(table)) for table in itertools.permutations(range(7)))
    assert found.conflicts == least == simulated(net, banks, list(found.remap.addresses))


def test_table_at_sixty_four_columns() -> None:
    for name in ("brent-kung", "sklansky", "han-carlson"):
        net = NAMED[name](64)
        found = best_table(trace(net, 16), 64, 16)
        assert found is not None and found.is_proved and found.conflicts == 0
        assert sorted(found.remap.addresses) == list(range(64))
        assert simulated(net, 16, list(found.remap.addresses)) == 0
    spent = best_table(trace(NAMED["bk3"](64), 16), 64, 16, nodes=500)
    assert spent is not None and not spent.is_proved, "a budget that ran out is no proof"


def test_index_cost_decides() -> None:
    """Padding saves conflicts and costs index operations: which matters more depends on the cost function."""
    net = NAMED["brent-kung"](128)
    families = ("none", "padding", "swizzle")
    assert best_layout(net, 16, families=families).best.family != "none"
    dear = best_layout(net, 16, families=families, cost=Weights(16, operation=20))
    assert dear.best.family == "none" and dear.is_minimum
    assert best_layout(NAMED["bk3"](128), 16, families=families).best.family == "none", "base 3 needs no remapping"
    assert operations(Padding((16,)), 512) == 2 and operations(Plain(), 512) == 0 and operations(Padding((3,)), 512) == 9


def test_the_cost_is_the_users() -> None:
    seen: list[Trace] = []

    def writes_to_high_addresses(run: Trace) -> float:
        seen.append(run)
        return -sum(float(access.addresses.sum()) for access in run.accesses if access.is_write)

    found = best_layout(NAMED["sklansky"](8), 4, cost=writes_to_high_addresses, families=("none", "padding"))
    assert str(found.best.remap) == "e + e // 1" and len(seen) == found.tried and found.is_minimum
    assert not best_layout(NAMED["sklansky"](8), 4, cost=writes_to_high_addresses).is_minimum, "tables are not searched for it"


def test_memory_may_be_limited() -> None:
    found = best_layout(NAMED["brent-kung"](8), 4, cost=Conflicts(4), families=("none", "padding"), slots=8)
    assert found.best.family == "none" and found.best.slots == 8
    with pytest.raises(ValueError, match="fits 7 slots"):
        best_layout(NAMED["brent-kung"](8), 4, families=("none",), slots=7)


def test_addresses_are_distinct() -> None:
    with pytest.raises(ValueError, match="share an address"):
        addresses(Lookup((0, 1, 1)), 3)


def test_what_has_no_room_is_refused() -> None:
    plain = trace(NAMED["kogge-stone"](8), 4)
    with pytest.raises(ValueError, match="expected at least 8 slots, got 7"):
        best_table(plain, 8, 4, 7)
    with pytest.raises(ValueError, match="no remapping of the families fits 8 slots"):
        best_layout(NAMED["kogge-stone"](8), 4, families=("padding",), slots=8)
    with pytest.raises(ValueError, match="two of 4 elements share an address"):
        addresses(Lookup((0, 1, 1, 2)), 4)


def test_a_minimum_is_claimed_only_after_the_whole_search() -> None:
    net = NAMED["sklansky"](12)
    whole = best_table(trace(net, 3), 12, 3)
    assert whole is not None and whole.is_proved and whole.conflicts == 2
    cut = best_table(trace(net, 3), 12, 3, nodes=whole.nodes - 1)
    assert cut is None or not cut.is_proved
    assert best_layout(net, 3).is_minimum
    assert not best_layout(net, 3, cost=lambda found: float(len(found.events))).is_minimum  # tables minimise conflicts only
    assert not best_layout(NAMED["kogge-stone"](65), 4, families=("none", "table")).is_minimum  # too wide for tables


def test_a_search_without_a_budget_finds_nothing() -> None:
    assert best_table(trace(NAMED["sklansky"](12), 3), 12, 3, nodes=0) is None
