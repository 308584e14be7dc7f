"""Certificates of exchanges, in JSON: what each lane holds and wants, the lane that needs so many shuffles, and the shuffles."""

from __future__ import annotations

from typing import Any

from warploom.layout.exchange.choose import Exchange


def certificate(found: Exchange) -> dict[str, Any]:
    """What `recheck.faults` confirms: no program has fewer shuffles; and that many are enough, if `reached` says so."""
    document: dict[str, Any] = {
        "v": 1,
        "kind": "exchange",
        "lanes": found.src.lanes,
        "words_hold": max(1, 32 // found.src.bits),
        "held": found.src.parts().tolist(),
        "wanted": found.dst.parts().tolist(),
        "least_shuffles": None,
    }
    if found.least is not None:
        shuffles = len({colour for _, colour in found.moves})
        document |= {"least_shuffles": found.least.shuffles, "lane": found.least.lane, "side": found.least.side}
        document["reached"] = shuffles == found.least.shuffles
        document["moves"] = [[move.sender, move.register, move.receiver, colour] for move, colour in found.moves]
    return document
