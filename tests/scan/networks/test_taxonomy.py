"""Networks of the textbooks: the table of sizes, and each of them against serial scans."""

import pytest

from warploom.core import UserError
from warploom.scan.networks import NAMED, Dot, Network, adjacency_of, canonical, flaw, named_network, network

from . import serial

TABLE = {
    "kogge-stone": ((17, 3, 1), (49, 4, 1), (129, 5, 1), (321, 6, 1)),
    "sklansky": ((12, 3, 4), (32, 4, 8), (80, 5, 16), (192, 6, 32)),
    "brent-kung": ((11, 5, 1), (26, 7, 1), (57, 9, 1), (120, 11, 1)),
    "han-carlson": ((12, 4, 1), (32, 5, 1), (80, 6, 1), (192, 7, 1)),
    "ladner-fischer": ((11, 4, 2), (27, 5, 4), (63, 6, 8), (143, 7, 16)),
    "bk3": ((10, 4, 2), (24, 6, 2), (54, 8, 2), (117, 10, 2)),
}
"""Size, depth and most reads per source at 8, 16, 32 and 64 columns."""
STRICT = [name for name in NAMED if not name.startswith("knowles")]
PLACES = {
    "brent-kung": (3, 0, 0), "sklansky": (0, 3, 0), "kogge-stone": (0, 0, 3), "han-carlson": (1, 0, 2),
    "ladner-fischer": (1, 2, 0), "harris-0-1": (0, 1, 2), "harris-1-1": (1, 1, 1), "knowles-1112": (0, 1, 2),
}  # fmt: skip
"""Harris' (l, f, t) at 16 columns."""


def pairs(net: Network) -> list[list[tuple[int, int]]]:
    return [[(dot.destination, dot.source) for dot in step] for step in net.steps]


@pytest.mark.parametrize("name", TABLE)
def test_sizes(name: str) -> None:
    nets = [NAMED[name](n) for n in (8, 16, 32, 64)]
    assert [(net.size, net.depth, net.fan_out) for net in nets] == list(TABLE[name])


def test_base_three_meets_snirs_bound() -> None:
    assert [NAMED["bk3"](n).deficiency for n in (8, 16, 32, 64)] == [0, 0, 0, 1]
    assert all(NAMED[name](n).deficiency >= 0 for name in STRICT for n in range(1, 70))


@pytest.mark.parametrize("name", PLACES)
def test_harris_coordinates(name: str) -> None:
    net = NAMED[name](16)
    sparse, spread, wires = PLACES[name]
    assert (net.depth, net.fan_out, net.tracks) == (4 + sparse, 2**spread, 2**wires)


@pytest.mark.parametrize("name", STRICT)
def test_strict_networks_scan_matrices(name: str) -> None:
    for n in (1, 2, 3, 7, 8, 13, 16, 31, 33, 100):
        net, data = NAMED[name](n), serial.matrices(n, n)
        assert adjacency_of(net) == "strict"
        assert serial.run_dots(data, pairs(net), serial.times) == serial.prefixes(data, serial.times)
        mirrored = net.mirrored()
        assert adjacency_of(mirrored) == "strict"
        assert serial.run_dots(data, pairs(mirrored), serial.times) == serial.suffixes(data, serial.times)
        assert net.mirrored().mirrored() == net


@pytest.mark.parametrize("name", [name for name in NAMED if name not in STRICT])
def test_overlapping_networks_need_an_idempotent_operator(name: str) -> None:
    for n in (16, 23, 40):
        net, letters = NAMED[name](n), [chr(ord("0") + k) for k in range(n)]
        assert adjacency_of(net) == "overlapping"
        assert serial.run_dots(letters, pairs(net), serial.left_zero_band) == serial.prefixes(letters, serial.left_zero_band)
        data = serial.matrices(n, n)
        assert serial.run_dots(data, pairs(net), serial.times) != serial.prefixes(data, serial.times)


def test_knowles_with_falling_fan_out_is_invalid() -> None:
    from warploom.scan.networks import knowles

    assert adjacency_of(knowles(16, (1, 2, 1, 1))) is None
    assert str(flaw(knowles(16, (1, 2, 1, 1)), "overlapping"))


def test_flaws_are_found_where_they_are() -> None:
    assert str(flaw(network(3, [[(1, 0)]]))) == "column 2 at the end: it holds 2..2, expected 0..2"
    gap = flaw(network(4, [[(1, 0)], [(3, 1)]]))
    assert gap is not None and (gap.column, gap.step) == (3, 2) and "0..1 leaves a gap before 3..3" in str(gap)
    overlap = flaw(network(3, [[(1, 0), (2, 1)], [(2, 1)]]))
    assert overlap is not None and "0..1 overlaps 1..2" in str(overlap)


def test_intervals_agree_with_words_on_damaged_networks() -> None:
    """One dot left out or moved: the verdict is that of concatenation."""
    whole = NAMED["ladner-fischer"](9)
    letters = [chr(ord("a") + k) for k in range(9)]
    for number, step in enumerate(whole.steps):
        for place, dot in enumerate(step):
            for source in (None, *range(dot.destination)):
                kept = [list(s) for s in whole.steps]
                kept[number][place : place + 1] = [] if source is None else [Dot(dot.destination, source)]
                net = network(9, kept)
                scans = serial.run_dots(letters, pairs(net), str.__add__) == serial.prefixes(letters, str.__add__)
                assert (flaw(net) is None) == scans


@pytest.mark.parametrize("name", NAMED)
def test_canonical_form_computes_the_same(name: str) -> None:
    net = NAMED[name](21)
    form = canonical(net)
    assert form.size == net.size and form.depth <= net.depth and canonical(form) == form
    letters = [chr(ord("a") + k) for k in range(21)]
    assert serial.run_dots(letters, pairs(form), str.__add__) == serial.run_dots(letters, pairs(net), str.__add__)
    late = Network(21, tuple(reversed([(dot,) for step in reversed(net.steps) for dot in step])))
    assert canonical(late).size == net.size


def test_names_with_parameters() -> None:
    assert named_network("han-carlson-3")(32) == named_network("harris-3-0")(32)
    assert named_network("bk2")(40) == NAMED["brent-kung"](40)
    with pytest.raises(UserError, match="expected the name of a network"):
        named_network("bk1")
    with pytest.raises(UserError, match="UNKNOWN_NETWORK") as raised:
        named_network("han-carlson-99")
    assert raised.value.diagnostics[0].fix == "Use one of these names."
    with pytest.raises(UserError, match="or a file with a picture"):
        named_network("other", "Use one of these names, or a file with a picture.")


def test_networks_reject_what_is_out_of_place() -> None:
    for steps, message in (
        ([[(0, 1)]], "expected a source to the left"),
        ([[(1, 1)]], "expected a source to the left"),
        ([[(4, 0)]], r"expected columns 0\.\.3"),
        ([[(3, 0), (3, 1)]], "expected one dot per column and step"),
    ):
        with pytest.raises(UserError, match=message):
            network(4, steps)
