"""The checker of certificates refuses each claim that is changed; names mean what they say."""

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.layout.names import place_of_each, requests

from warploom.core import UserError
from warploom.layout import Room, access, certificate, faults, layout, misnamed, recheck, tile
from warploom.machines import NVIDIA, OTHERS

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


def places(text: str) -> list[int]:
    return place_of_each(text, 32, 32)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        (("places",), places("r * 32 + c"), "columns: 1024 wavefronts"),
        (("places",), places("r * 32 + (c & r)"), "one place"),
        (("places",), places("r * 32 + (c ^ r) - 1"), "one place"),
        (("places",), places("r * 33 + (c ^ r)"), "extra words"),
        (("places",), [0, 1], "no such tile"),
        (("places",), [str(place) for place in range(1024)], "whole numbers"),
        (("places",), [float(place) for place in range(1024)], "whole numbers"),
        (("places",), "r * 32 + c", "whole numbers"),
        (("extra_words",), 1, "extra words"),
        (("accesses", 1, "wavefronts"), 31, "32 wavefronts, not 31"),
        (("accesses", 1, "wavefronts"), 32.0, "whole numbers"),
        (("accesses", 1, "wavefronts"), True, "whole numbers"),
        (("accesses", 1, "least"), 33, "at least 32"),
        (("accesses", 1, "requests"), [[[[0]], [1024]]], "no such elements"),
        (("accesses", 1, "requests"), [[[[-1]], [0]]], "no such elements"),
        (("accesses", 1, "requests"), [[[[0, 1, 2]], [0]]], "no such elements"),
        (("accesses", 1, "requests"), [[[[1, 2]], [0]]], "torn apart"),
        (("accesses", 1, "requests"), [], "cannot be read|wavefronts|iterable|empty"),
        (("accesses", 1, "groups"), [[0] * 32], "each lane"),
        (("accesses", 1, "groups"), [[*range(16)]], "each lane"),
        (("accesses",), [], "empty"),
        (("optimal",), False, "the map is optimal"),
        (("optimal",), "no", "whole numbers"),
        (("tile", "bits"), 7, "no such tile"),
        (("tile", "rows"), 1 << 20, "no such tile"),
        (("tile", "rows"), -32, "no such tile"),
        (("tile", "rows"), 32.5, "whole numbers"),
        (("map",), ["r * 32 + (c ^ r)"], "whole numbers"),
        (("banks",), 0, "no such tile"),
        (("banks",), 16, "64 wavefronts, not 32"),
        (("pairs",), 1, "whole numbers"),
        (("no_linear",), {"chunk": 0, "space": [1, 2, 4, 8, 16]}, "there is a linear map"),
        (("least_room",), True, "no padding"),
        (("v",), 1, "of version 2"),
        (("v",), None, "of version 2"),
        (("kind",), "exchange", "cannot be read"),
    ],
)  # fmt: skip
def test_a_changed_claim_is_refused(path: tuple[Any, ...], value: object, expected: str) -> None:
    changed = copy.deepcopy(GOOD)
    at: Any = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    (found,) = faults(changed)
    assert any(text in found for text in expected.split("|")), found


def test_what_a_certificate_lacks_is_refused() -> None:
    for name in GOOD:
        if name != "map":
            assert faults({key: value for key, value in GOOD.items() if key != name}), name


def test_the_checker_is_one_file_of_200_lines_that_runs_by_itself(tmp_path: Path) -> None:
    """Nothing but Python's own library, without the package on its path."""
    file = Path(recheck.__file__)
    text = file.read_text()
    assert len(text.splitlines()) <= 200
    assert {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))} <= sys.stdlib_module_names
    for document, code in ((GOOD, 0), (NONE, 0), (GOOD | {"extra_words": 1}, 1)):
        command = [sys.executable, "-I", "-S", str(file)]
        done = subprocess.run(command, input=json.dumps(document), capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == code and bool(done.stderr) is bool(code)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"map": "r * 32 + c"}, "its places are not those of r * 32 + c"),
        ({"map": "r * 32 + (c ^"}, "names what there is not"),
        ({"map": "__import__('os')"}, "names what there is not"),
        ({"banks": 64}, "its banks are not"),
        ({"pairs": False}, "its banks are not"),
        ({"accesses": [GOOD["accesses"][0] | {"name": "columns"}]}, "its elements are not those of columns"),
        ({"accesses": [GOOD["accesses"][0] | {"name": "sideways", "groups": [[*range(16)], [*range(16, 32)]]}]}, "go together"),
        ({"accesses": [GOOD["accesses"][0] | {"name": "rows:7bit"}]}, "names what there is not"),
        ({"accesses": [GOOD["accesses"][0] | {"name": "rows "}]}, "its elements are not"),
        ({"accesses": GOOD["accesses"][:1] * 2}, "one name"),
        ({"accesses": [GOOD["accesses"][0] | {"name": "blocks:4x8"}]}, "its elements are not"),
    ],
)
def test_numbers_that_are_not_what_the_certificate_names(changed: dict[str, Any], expected: str) -> None:
    assert misnamed(GOOD, NVIDIA) == []
    assert any(expected in fault for fault in misnamed(GOOD | changed, NVIDIA))


def test_certificates_name_one_shared_memory() -> None:
    for arch, memory in OTHERS.items():
        given = tile("64x64:f32", memory)
        found = layout(given, [access("columns", given)])
        document = certificate(given, found.accesses, found.map, found.prices)
        assert faults(document) == misnamed(document, memory) == []
        assert misnamed(document, NVIDIA), arch


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
    assert any("no basis" in f for f in faults(NONE | {"no_linear": {"chunk": 0, "space": [1 << k for k in range(99)]}}))
    assert any("chunks that fit" in f for f in faults(NONE | {"no_linear": {"chunk": 1 << 60, "space": [1]}}))


LISTED = GOOD | {"tile": {"rows": 4, "columns": 4, "bits": 32}, "map": "r * 4 + c", "places": [*range(16)]}


@pytest.mark.parametrize(("lane", "counted"), [([0, 1], True), ([0, 1, 2], False), (list(range(8)), False)])
def test_lanes_of_listed_accesses_take_what_an_instruction_does(lane: list[int], counted: bool) -> None:
    groups = [[*range(at, at + 16)] for at in (0, 16)]
    listed = {"name": "mine.py:taken", "requests": [[[lane], [0]]], "groups": groups, "wavefronts": 1, "least": 1}
    claim = LISTED | {"accesses": [listed]}
    assert (not faults(claim) and not misnamed(claim, NVIDIA)) is counted


def test_a_lack_of_memory_is_no_fault_of_the_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(recheck, "forced_chunk", out_of_memory)
    with pytest.raises(MemoryError):
        faults(GOOD)


def padded(pitch: int, given: dict[str, Any]) -> dict[str, Any]:
    """The certificate with rows further apart."""
    size = given["tile"]
    extra = (size["rows"] - 1) * (pitch - size["columns"])
    return given | {"places": place_of_each(f"r * {pitch} + c", size["rows"], size["columns"]), "extra_words": extra}


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


def count(document: dict[str, Any], name: str) -> int:
    """Wavefronts of `rows` or `columns` of a 32x24 tile of words."""
    table = np.array(document["places"]).reshape(32, 24)
    lines = list(table if name == "rows" else table.T)
    return sum(int(np.bincount(np.array(line) % 32).max()) for line in lines)


@pytest.mark.parametrize("text", ["r * 24 + (c ^ (r & 7))", "c * 32 + r", "r * 25 + (24 - c)"])
def test_least_room_of_a_map_that_is_no_padding(text: str) -> None:
    table = place_of_each(text, 32, 24)
    changed = ROOM | {"places": table, "extra_words": max(table) + 1 - 32 * 24}
    plain = {key: value for key, value in changed.items() if key != "least_room"}
    counts = {entry["name"]: count(plain, entry["name"]) for entry in plain["accesses"]}
    entries = [entry | {"wavefronts": counts[entry["name"]]} for entry in plain["accesses"]]
    is_least = all(entry["wavefronts"] <= entry["least"] for entry in entries)
    assert faults(plain | {"accesses": entries, "optimal": is_least}) == []
    assert any("no padding" in fault for fault in faults(changed | {"accesses": entries, "optimal": is_least}))


def test_optimal_is_not_said_of_what_misses_the_least() -> None:
    assert any("above the least" in fault for fault in faults(NONE | {"optimal": True}))


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"chunk": 0, "space": [1, 2, 4, 8]}, "no basis"),
        ({"chunk": 0, "space": [1, 2, 4, 8, 15]}, "no basis"),
        ({"chunk": "0", "space": [1, 2, 4, 8, 16]}, "whole numbers"),
        ({"chunk": 1, "space": [1, 2, 4, 8]}, "need not be without conflict|there is a linear map"),
    ],
)
def test_a_subspace_that_proves_nothing(claim: dict[str, Any], expected: str) -> None:
    found = "; ".join(faults(NONE | {"no_linear": claim}))
    assert any(text in found for text in expected.split("|"))


def test_no_linear_of_a_tile_that_has_no_bits() -> None:
    given = made("24x24:f32", "rows", "columns")
    assert any("no basis" in f for f in faults(given | {"no_linear": {"chunk": 0, "space": [1, 2, 4, 8, 16]}}))


def test_lanes_that_are_torn_apart_are_seen() -> None:
    changed = made("32x32:f32", "rows:128bit", "columns") | {"places": places("r * 32 + (c ^ r)")}
    assert any("torn apart" in fault for fault in faults(changed))


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
