"""Pictures: round trips and located errors."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from warploom.core import UserError
from warploom.scan.networks import NAMED, Network, network, network_text, parse_network

BRENT_KUNG = """\
# Brent-Kung, 8 columns
o-* o-* o-* o-*

| o-+-* | o-+-*   # a comment
# a line of comment does not end a step
| | | | | | | |

| | | o-+-+-+-*

| | | o-+-* | |

| o-* o-* o-* |
"""


def test_the_documented_picture() -> None:
    assert parse_network(BRENT_KUNG) == NAMED["brent-kung"](8)


@pytest.mark.parametrize("name", NAMED)
def test_round_trip_of_the_taxonomy(name: str) -> None:
    for n in (2, 5, 16):
        for net in (NAMED[name](n), NAMED[name](n).mirrored()):
            assert parse_network(network_text(net)) == net


@st.composite
def drawings(draw: st.DrawFn) -> Network:
    columns = draw(st.integers(2, 12))
    steps: list[list[tuple[int, int]]] = []
    for _ in range(draw(st.integers(1, 4))):
        chosen = draw(st.sets(st.integers(1, columns - 1), min_size=1))
        steps.append([(column, draw(st.integers(0, column - 1))) for column in sorted(chosen)])
    net = network(columns, steps)
    return net.mirrored() if draw(st.booleans()) else net


@settings(max_examples=100, derandomize=True, deadline=None)
@given(drawings())
def test_round_trip_of_any_network(net: Network) -> None:
    assert parse_network(network_text(net)) == net


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "p:1:1", "PICTURE_EMPTY"),
        ("o-* x", "p:1:5", "expected one of . o . ., got 'x'"),
        ("o-* |\no-*\n", "p:2:1", "expected 3 columns, that is 5 characters as in the first row, got 3"),
        ("o-- |", "p:1:3", "expected one of"),
        ("o-+ |", "p:1:1", "from one source `o` to a dot `.`, got 1 sources and 0 dots"),
        ("| * |", "p:1:3", "got 0 sources and 1 dots"),
        ("o-o-*", "p:1:1", "got 2 sources and 1 dots"),
        ("o-|-*", "p:1:1", r"expected \+ where a wire crosses a column"),
        ("*-o-*", "p:1:1", "expected all dots of a wire on one side"),
        ("o-*-+", "p:1:1", "expected a wire to end in a source or a dot"),
        ("o-+-*\n| o-*", "p:2:5", "expected one dot per column and step"),
        ("o-* *-o", "p:1:5", "expected all sources on one side of their dots"),
        ("o-*  |", "p:1:1", "characters"),
    ],
)
def test_errors_are_located(text: str, place: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as caught:
        parse_network(text, "p")
    assert str(caught.value.diagnostics[0].span) == place


def test_all_errors_are_told_at_once() -> None:
    with pytest.raises(UserError) as caught:
        parse_network("o-x\n\n| *\n")
    assert [d.code for d in caught.value.diagnostics] == ["PICTURE_SIGN", "PICTURE_WIRE"]
