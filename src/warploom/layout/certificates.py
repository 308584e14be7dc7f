"""Certificates: what an answer claims, in JSON, from the tile and the names of accesses alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warploom.layout.accesses import Access
from warploom.layout.banks import Price
from warploom.layout.maps import Map
from warploom.layout.search import NoLinear, extra_words, is_least
from warploom.layout.tables import NoMap
from warploom.layout.tiles import Tile
from warploom.machines import NVIDIA

Certificate = dict[str, Any]


def certificate(
    tile: Tile,
    accesses: Sequence[Access],
    found: Map,
    prices: Sequence[Price],
    no_linear: NoLinear | None = None,
    no_map: NoMap | None = None,
) -> Certificate:
    """The certificate of a map, which `recheck.faults` confirms."""
    entries: list[dict[str, Any]] = []
    for access, price in zip(accesses, prices, strict=True):
        entry: dict[str, Any] = {"name": access.name, "wavefronts": price.wavefronts, "least": price.least}
        if tile.memory is not NVIDIA:
            entry["groups"] = tile.memory.groups(max(1, tile.bits * access.per_lane // 8), is_store=access.is_store)
        if access.is_listed:
            entry["elements"] = [[lane if lane[0] >= 0 else [] for lane in request] for request in access.elements.tolist()]
        entries.append(entry)
    text = found.text
    document: Certificate = {
        "v": 1,
        "tile": {"rows": tile.rows, "columns": tile.columns, "bits": tile.bits},
        "map": found.table.tolist() if text is None else text,
        "extra_words": extra_words(tile, found.table),
        "accesses": entries,
        **({} if tile.memory is NVIDIA else {"banks": tile.memory.banks}),
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
