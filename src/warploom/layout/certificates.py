"""Certificates: what an answer claims, in JSON and in numbers, so that `recheck` reads nothing but numbers.

`certificate` writes one. `misnamed` says whether the numbers of one are those of the map, the accesses and the shared memory that
it names, which the checker does not ask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np

from warploom.core import UserError
from warploom.layout.accesses import Access, Ints, access, has_name
from warploom.layout.banks import Price
from warploom.layout.maps import Map
from warploom.layout.search import NoLinear, extra_words, is_least
from warploom.layout.sources import map_of_text
from warploom.layout.tables import NoMap
from warploom.layout.tiles import Tile
from warploom.machines import SharedMemory

Certificate: TypeAlias = dict[str, Any]
VERSION = 2


def certificate(
    tile: Tile,
    accesses: Sequence[Access],
    found: Map,
    prices: Sequence[Price],
    no_linear: NoLinear | None = None,
    no_map: NoMap | None = None,
) -> Certificate:
    """The certificate of a map, which `recheck.faults` confirms."""
    text = found.text
    document: Certificate = {
        "v": VERSION,
        "kind": "layout",
        "tile": {"rows": tile.rows, "columns": tile.columns, "bits": tile.bits},
        **({} if text is None else {"map": text}),
        "places": found.table.tolist(),
        "extra_words": extra_words(tile, found.table),
        "banks": tile.memory.banks,
        "pairs": tile.memory.pairs,
        "accesses": [
            {**_asked(tile, each), "wavefronts": price.wavefronts, "least": price.least}
            for each, price in zip(accesses, prices, strict=True)
        ],
        "optimal": is_least(prices),
    }
    if found.kind == "padding":
        document["least_room"] = True
    if no_linear is not None:
        document["no_linear"] = {"chunk": no_linear.chunk, "space": list(no_linear.space)}
    if no_map is not None:
        lemmas = [[list(lemma.clause), list(lemma.hints)] for lemma in no_map.lemmas]
        document["no_map"] = {"chunk": no_map.chunk, "apart": list(no_map.apart), "lemmas": lemmas}
    return document


def _asked(tile: Tile, each: Access) -> dict[str, Any]:
    """The access in numbers: requests, and the groups of lanes that are served together."""
    groups = tile.memory.groups(max(1, tile.bits * each.per_lane // 8), is_store=each.is_store)
    return {"name": each.name, "requests": _in_forms(each.elements), "groups": [list(group) for group in groups]}


def _in_forms(elements: Ints) -> list[list[Any]]:
    """Requests as pairs: what the lanes take, as distances from an element, and the elements from which requests of this form
    start. A lane that takes no part is empty."""
    active = elements[..., 0] >= 0
    first = elements[np.arange(len(elements)), active.argmax(axis=1), 0]
    distances = np.where(active[..., None], elements - first[:, None, None], np.iinfo(np.int64).min)
    forms: dict[bytes, tuple[int, list[int]]] = {}
    for number, start in enumerate(first.tolist()):
        forms.setdefault(distances[number].tobytes(), (number, []))[1].append(start)
    found: list[list[Any]] = []
    for number, starts in forms.values():
        here = active[number]
        taken = distances[number][: len(here) - int(here[::-1].argmax())].tolist()
        found.append([[lane if is_here else [] for lane, is_here in zip(taken, here.tolist(), strict=False)], starts])
    return found


def tile_of(document: Mapping[str, Any], memory: SharedMemory) -> Tile:
    """The tile of a certificate that `recheck` has confirmed, in a shared memory."""
    size = document["tile"]
    return Tile(size["rows"], size["columns"], f"b{size['bits']}", memory)


def map_of(document: Mapping[str, Any], tile: Tile) -> Map:
    """The map of a confirmed certificate: that of its text, if it has one; UserError."""
    if "map" in document:
        return map_of_text(document["map"], tile)
    return Map("given", None, np.array(document["places"], dtype=np.int64), 0)


def accesses_of(document: Mapping[str, Any], tile: Tile) -> tuple[Access, ...]:
    """The accesses of a confirmed certificate: by their names, and those of functions as they are listed; UserError."""
    return tuple(
        access(entry["name"], tile) if has_name(entry["name"]) else _listed(entry, tile) for entry in document["accesses"]
    )


def _listed(entry: Mapping[str, Any], tile: Tile) -> Access:
    forms = cast("list[tuple[list[list[int]], list[int]]]", entry["requests"])
    width = max(len(lane) for lanes, _ in forms for lane in lanes)
    requests = [
        [[e + start for e in lane] if lane else [-1] * width for lane in lanes]
        + [[-1] * width] * (tile.memory.lanes - len(lanes))
        for lanes, starts in forms
        for start in starts
    ]
    return Access(entry["name"], np.array(requests, dtype=np.int64), is_listed=True)


def misnamed(document: Mapping[str, Any], memory: SharedMemory) -> list[str]:
    """Where the numbers of a confirmed certificate are not those of what it names on that shared memory, in words."""
    tile = tile_of(document, memory)
    if (document["banks"], document["pairs"]) != (memory.banks, memory.pairs):
        return [f"its banks are not the {memory.banks} of the architecture"]
    if len({entry["name"] for entry in document["accesses"]}) != len(document["accesses"]):
        return ["two of its accesses have one name"]
    try:
        if map_of(document, tile).table.tolist() != document["places"]:
            return [f"its places are not those of {document['map']}"]
        for entry, asked in zip(document["accesses"], accesses_of(document, tile), strict=True):
            mine = _asked(tile, asked)
            if mine["groups"] != entry["groups"]:
                return [f"lanes of {entry['name']} do not go together as on the architecture"]
            if (mine["name"], mine["requests"]) != (entry["name"], entry["requests"]) and not asked.is_listed:
                return [f"its elements are not those of {entry['name']}"]
    except (UserError, ValueError, OverflowError) as error:
        return [f"it names what there is not: {error}"]
    return []
