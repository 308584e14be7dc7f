"""The checker of certificates refuses each claim that is changed, and makes the accesses as the search does."""

import copy
from typing import Any

import pytest

from warploom.core import UserError
from warploom.layout import Room, access, certificate, faults, layout, recheck, tile
from warploom.layout.recheck_question import requests

SIX = ("rows", "columns", "blocks:4x8", "blocks:8x4", "blocks:16x2", "blocks:2x16")


def made(text: str, *names: str, room: Room = 0) -> dict[str, Any]:
    given = tile(text)
    found = layout(given, [access(name, given) for name in names], room)
    return certificate(given, found.accesses, found.map, found.prices, found.no_linear)


GOOD = made("32x32:f32", "rows", "columns")
NONE = made("32x32:f32", *SIX, "diagonals")


def test_good_certificates_hold() -> None:
    assert faults(GOOD) == [] == faults(NONE)
    assert GOOD["optimal"] is True and "no_linear" in NONE


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("map",), "r * 32 + c", "columns: 1024 wavefronts"),
        (("map",), "r * 32 + (c & r)", "one place"),
        (("map",), "r * 32 + (c ^ r) - 1", "one place"),
        (("map",), "r * 33 + (c ^ r)", "extra words"),
        (("map",), "__import__('os')", "cannot be read"),
        (("map",), "r.real", "cannot be read"),
        (("map",), "1 << (1 << 30)", "cannot be read"),
        (("map",), [0, 1], "cannot be read"),
        (("extra_words",), 1, "extra words"),
        (("accesses", 1, "wavefronts"), 31, "32 wavefronts, not 31"),
        (("accesses", 1, "least"), 33, "at least 32"),
        (("accesses", 1, "name"), "rows", "cannot be read|^$"),
        (("accesses", 1, "name"), "sideways", "cannot be read"),
        (("accesses",), [], "cannot be read"),
        (("optimal",), False, "the map is optimal"),
        (("tile", "bits"), 7, "the tile is none"),
        (("tile", "rows"), 1 << 20, "cannot be read"),
        (("no_linear",), {"chunk": 0, "space": [1, 2, 4, 8, 16]}, "there is a linear map"),
        (("optimal",), "no", "the map is optimal"),
        (("accesses", 1, "elements"), [[[0]]], "cannot be read"),
        (("map",), [str(place) for place in range(1024)], "a place for each element"),
        (("map",), [float(place) for place in range(1024)], "whole numbers"),
        (("tile", "rows"), 32.5, "whole numbers"),
        (("accesses", 1, "wavefronts"), 32.0, "whole numbers"),
        (("v",), 2, "of version 1"),
        (("v",), None, "of version 1"),
    ],
)  # fmt: skip
def test_a_changed_claim_is_refused(path: tuple[Any, ...], value: object, expected: str) -> None:
    changed = copy.deepcopy(GOOD)
    at: Any = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    found = "; ".join(faults(changed))
    if expected.endswith("^$"):
        assert found == ""  # rows twice is another question, with a true answer
    else:
        assert expected in found


@pytest.mark.parametrize(
    "name",
    ["ldmatrixtranstrans", "ldmatrix.mem", "rows:3", "blocks:4", "blocks:0x4", "blocks:8x8", "stride", "stride:3x2", "rows:96bit",
     "rows:16bit", "ldmatrix:64bit", "rows:128bit@anyany"],
)  # fmt: skip
def test_an_access_that_there_is_not(name: str) -> None:
    given = tile("32x32:f32")
    with pytest.raises(UserError):
        access(name, given)
    with pytest.raises(ValueError, match="access"):
        requests({"name": name}, 32, 32, 32)


@pytest.mark.parametrize(("name", "rows", "columns"), [("rows:128bit", 8, 6), ("ldmatrix", 12, 8)])
def test_an_access_that_does_not_fit(name: str, rows: int, columns: int) -> None:
    with pytest.raises(UserError):
        access(name, tile(f"{rows}x{columns}:f32"))
    with pytest.raises(ValueError, match="no such access"):
        requests({"name": name}, rows, columns, 32)


def test_numbers_without_end() -> None:
    """Strides and subspaces far beyond the tile take no longer than the tile does."""
    assert len(access("stride:999999999", tile("8x8:f32")).elements) == 64
    assert len(requests({"name": "stride:999999999999"}, 8, 8, 32)) == 64
    assert any("subspace" in f for f in faults(NONE | {"no_linear": {"chunk": 0, "space": [1 << k for k in range(99)]}}))
    assert any("powers of two" in f for f in faults(NONE | {"no_linear": {"chunk": 1 << 60, "space": [1]}}))


LISTED: dict[str, Any] = {"v": 1, "tile": {"rows": 4, "columns": 4, "bits": 32}, "map": "r * 4 + c", "extra_words": 0}


@pytest.mark.parametrize(("lane", "counted"), [([0, 1], True), ([0, 1, 2], False), (list(range(8)), False)])
def test_lanes_of_listed_accesses_take_what_an_instruction_does(lane: list[int], counted: bool) -> None:
    listed = [{"name": "mine.py:taken", "elements": [[lane]], "wavefronts": 1, "least": 1}]
    assert (faults(LISTED | {"accesses": listed, "optimal": True}) == []) is counted


@pytest.mark.parametrize("rows", [-4, 4])
def test_a_tile_has_rows(rows: int) -> None:
    listed = [{"name": "mine.py:taken", "elements": [[[0]]], "wavefronts": 1, "least": 1}]
    claim = LISTED | {"tile": {"rows": rows, "columns": rows, "bits": 32}, "map": list(range(16)), "accesses": listed}
    assert (faults(claim | {"optimal": True}) == []) is (rows > 0)


def test_a_lack_of_memory_is_no_fault_of_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(recheck, "place_of_each", out_of_memory)
    with pytest.raises(MemoryError):
        faults(GOOD)


def padded(pitch: int, given: dict[str, Any]) -> dict[str, Any]:
    """The certificate with rows further apart."""
    return given | {"map": f"r * {pitch} + c", "extra_words": (given["tile"]["rows"] - 1) * (pitch - given["tile"]["columns"])}


ROOM = made("32x24:f32", "rows", "columns", room="any")
TORN = made("8x32:f32", "rows:128bit", "columns", room="any")
SLOW = made("12x10:f32", "stride:3", "diagonals", "blocks:8x4", room="any")


def test_rows_that_are_closer_together_were_tried() -> None:
    assert ROOM["map"] == "r * 25 + c" and ROOM["least_room"] is True and faults(ROOM) == []
    assert "least_room" not in GOOD and faults(padded(27, ROOM) | {"least_room": False}) == []
    assert faults(padded(27, ROOM)) == ["least_room: rows that are 25 apart need no more wavefronts"]


def test_rows_that_tear_lanes_apart_are_no_smaller_ones() -> None:
    """Rows 33 words apart serve columns, but no lane of 16 bytes."""
    assert TORN["map"] == "r * 36 + c" and faults(TORN) == []


def test_what_misses_the_least_is_compared_by_what_it_takes() -> None:
    assert not SLOW["optimal"] and SLOW["least_room"] and faults(SLOW) == []


@pytest.mark.parametrize("text", ["r * 24 + (c ^ (r & 7))", "c * 32 + r", "r * 25 + (24 - c)"])
def test_least_room_of_a_map_that_is_no_padding(text: str) -> None:
    changed = ROOM | {"map": text}
    assert any("not r * pitch + c" in fault for fault in faults(changed))


def test_optimal_is_not_said_of_what_misses_the_least() -> None:
    assert any("does not reach" in fault for fault in faults(NONE | {"optimal": True}))


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"chunk": 0, "space": [1, 2, 4, 8]}, "need not be without conflict"),
        ({"chunk": 0, "space": [1, 2, 4, 8, 15]}, "need not be without conflict"),
        ({"chunk": "0", "space": [1, 2, 4, 8, 16]}, "cannot be read"),
        ({"chunk": 1, "space": [1, 2, 4, 8]}, "need not be without conflict|there is a linear map"),
    ],
)
def test_a_subspace_that_proves_nothing(claim: dict[str, Any], expected: str) -> None:
    found = "; ".join(faults(NONE | {"no_linear": claim}))
    assert any(text in found for text in expected.split("|"))


def test_no_linear_of_a_tile_that_has_no_bits() -> None:
    given = made("24x24:f32", "rows", "columns")
    assert any("powers of two" in f for f in faults(given | {"no_linear": {"chunk": 0, "space": [1, 2, 4, 8, 16]}}))


def test_lanes_that_are_torn_apart_are_seen() -> None:
    changed = made("32x32:f32", "rows:128bit", "columns") | {"map": "r * 32 + (c ^ r)"}
    assert any("not together" in fault for fault in faults(changed))


@pytest.mark.parametrize("text", ["32x32:f32", "48x33:f32", "64x16:f16", "16x128:e4m3", "8x32:f64", "40x28:f32", "4x256:e2m1"])
@pytest.mark.parametrize(
    "name",
    ["rows", "columns", "blocks:4x8", "blocks:8x2", "diagonals", "stride:3", "rows@any", "columns@any", "blocks:4x8@any",
     "stride:5@any", "diagonals@any", "rows:128bit", "columns:128bit", "blocks:2x4:64bit", "ldmatrix", "ldmatrix.trans",
     "stmatrix", "ldmatrix@any", "ldmatrix.trans@any"],
)  # fmt: skip
def test_both_make_the_same_accesses(text: str, name: str) -> None:
    """The package and the checker, which share no code, agree on what a name means."""
    given = tile(text)
    try:
        mine = access(name, given).elements.tolist()
    except UserError:
        return
    theirs = requests({"name": name}, given.rows, given.columns, given.bits)
    assert [[lane for lane in request if lane[0] >= 0] for request in mine] == theirs
