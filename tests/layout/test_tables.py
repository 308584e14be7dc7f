"""Maps by table, and proofs that there is none: found, followed by the checker, and refused when anything is changed."""

import copy
import itertools
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from warploom.core import UserError
from warploom.core.limits import LimitReachedError
from warploom.layout import Access, Map, access, certificate, emit, faults, layout, prices, search, tables, tile
from warploom.layout.accesses import together
from warploom.layout.linear import shape
from warploom.layout.maps import row_major
from warploom.machines import SharedMemory

CHUNKS = ("rows:128bit", "blocks:8x1:128bit")
SETS = (*CHUNKS, "blocks:2x4:128bit@any", "blocks:4x2:128bit@any")


def made(text: str, names: Sequence[str]) -> dict[str, Any]:
    given = tile(text)
    found = layout(given, [access(name, given) for name in names], table=True)
    document = certificate(given, found.accesses, found.map, found.prices, found.no_linear, found.no_map)
    assert faults(document) == []
    return document


def test_a_proof_by_propagation_alone_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, and blocks at any origin, fix the colours one after the other."""
    monkeypatch.setattr(tables, "_solver", None)
    document = made("8x64:f16", SETS)
    assert len(document["no_map"]["lemmas"]) == 1 and not document["optimal"]


def test_a_budget_lets_the_solver_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pysat")
    monkeypatch.setattr(tables, "CONFLICTS", 1)
    given = tile("8x64:f16")
    asked = [access(name, given) for name in (*CHUNKS, "diagonals:128bit")]
    lefts = {"no budget": [None], "spent": [10.0, 4.0], "left": [10.0]}
    for name, left in lefts.items():
        each = itertools.chain(left, itertools.repeat(left[-1]))
        monkeypatch.setattr(tables.limits, "left_s", lambda each=each: next(each))
        assert (layout(given, asked, table=True).no_map is not None) == (name == "left"), name


def test_a_budget_that_ends_in_the_solver_keeps_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: Any) -> None:
        raise LimitReachedError("budget: CPU seconds")

    monkeypatch.setattr(search, "any_map", spent)
    given = tile("8x64:f16")
    found = layout(given, [access(name, given) for name in (*CHUNKS, "diagonals:128bit")], table=True)
    assert found.stopped == "budget: CPU seconds" and found.no_map is None and found.map.table.size == 512


def test_no_map_serves_rows_columns_and_diagonals_of_8_by_8_chunks() -> None:
    pytest.importorskip("pysat")
    document = made("8x64:f16", (*CHUNKS, "diagonals:128bit"))
    claim = document["no_map"]
    assert claim["chunk"] == 3 and len(claim["lemmas"]) > 1
    changes: list[tuple[str, Any]] = [
        ("lemmas", claim["lemmas"][:-1]),
        ("lemmas", []),
        ("lemmas", [[[], []]]),
        ("lemmas", [[[], [-1]]]),
        ("lemmas", [[claim["lemmas"][0][0], []], *claim["lemmas"][1:]]),
        ("lemmas", [*claim["lemmas"][:-1], [[], claim["lemmas"][-1][1][1:]]]),
        ("lemmas", [[[1], claim["lemmas"][0][1]], *claim["lemmas"][1:]]),
        ("apart", [0, 1, 2]),
        ("apart", claim["apart"][::-1]),
        ("chunk", 2),
        ("chunk", 100),
    ]
    for name, value in changes:
        assert faults({**document, "no_map": {**claim, name: value}}), (name, value)
    fewer = copy.deepcopy(document)
    del fewer["accesses"][2]
    assert faults({**fewer, "optimal": True})


def test_a_table_where_no_linear_map_serves() -> None:
    pytest.importorskip("pysat")
    given = tile("8x64:f16")
    accesses = [access(name, given) for name in ("rows:128bit", "diagonals:128bit", "stride:2:128bit")]
    assert not layout(given, accesses).optimal
    found = layout(given, accesses, table=True)
    assert (found.map.kind, found.optimal, found.extra_words, found.no_map) == ("table", True, 0, None)
    assert faults(certificate(given, found.accesses, found.map, found.prices)) == []
    names: dict[str, Any] = {}
    exec(emit(found.map, given, "python"), names)
    assert names["place"](*np.divmod(np.arange(512), 64)).tolist() == found.map.table.tolist()
    assert emit(found.map, given, "cuda").startswith("__constant__ unsigned short places[512] = {0, 1, 2, ")
    assert "places[r * 64 + c]" in emit(found.map, given, "cuda") and "array_like" in emit(found.map, given, "numba")
    assert emit(found.map, given, "numba").startswith("import numpy as np\nfrom numba import cuda\n\nplaces = np.array([0, 1,")
    with pytest.raises(UserError, match="EMIT"):
        emit(found.map, given, "tilelang")


@pytest.mark.parametrize(("banks", "seed"), [(banks, seed) for banks in (2, 4) for seed in range(8)])
def test_small_questions_are_answered_as_by_trying_all(banks: int, seed: int) -> None:
    """Memories of few banks, and random sets of elements that are taken at once."""
    pytest.importorskip("pysat")
    chance = random.Random(seed)
    memory = SharedMemory(
        banks=banks, lanes=4, reads={4: (tuple(range(4)),)}, stores={4: (tuple(range(4)),)}, pairs=False, source="a test"
    )
    given = tile("1x7:f32", memory)
    sets = [chance.sample(range(7), chance.randint(2, banks)) for _ in range(3 + seed + banks)]
    asked = Access("given", together(sets, 1, 4), is_listed=True)
    form = shape(given, 0, 7)
    assert form is not None
    possible = any(
        all(len({colours[e] for e in each}) == len(each) for each in sets)
        for colours in itertools.product(range(banks), repeat=7)
    )
    found = tables.any_map(given, [asked], form)
    assert isinstance(found, Map if possible else tables.NoMap)
    document = certificate(
        given, [asked], row_major(given, 7), prices(given, [asked], row_major(given, 7).table),
        no_map=None if isinstance(found, Map) else found,
    )  # fmt: skip
    assert faults(document) == []
    if isinstance(found, Map):
        assert all(len({int(found.table[e]) % banks for e in each}) == len(each) for each in sets)


def test_without_the_solver_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(tables, "import_module", missing)
    given = tile("8x64:f16")
    with pytest.raises(UserError, match="SAT"):
        layout(given, [access(name, given) for name in (*CHUNKS, "diagonals:128bit")], table=True)
    assert tables.any_map(tile("128x128:f32"), [access("rows", tile("128x128:f32"))], tables.Shape(0, 5, 9)) is None


def test_large_tables_are_no_constants() -> None:
    given = tile("256x256:f16")
    found = replace(row_major(given, 256), kind="table")
    assert emit(found, given, "cuda").startswith("__device__ const unsigned short places[65536]")
    found = replace(row_major(given, 257), kind="table")
    assert emit(found, given, "cuda").startswith("__device__ const unsigned int places[65536]")


def test_steps_that_do_not_follow_are_no_proof() -> None:
    proof = tables._Proof([(1, 2), (-1, 2), (1, -2), (-1, -2)])
    proof.begin()
    assert proof.followed([(3,)]) is None
    proof = tables._Proof([(1, 2), (-1, 2), (1, -2), (-1, -2)])
    proof.begin()
    assert proof.followed([(2,)]) is not None
