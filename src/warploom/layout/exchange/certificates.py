"""Certificates of exchanges, in JSON: what each lane holds and wants, the lane that needs so many shuffles, and the shuffles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from warploom.layout.distributed import WORD_BITS, Distributed
from warploom.layout.exchange.choose import Exchange
from warploom.layout.exchange.demand import Least, Move, coloured, least, word_moves


def certificate(found: Exchange) -> dict[str, Any]:
    """The certificate that `recheck.faults` confirms: no program has fewer shuffles; and that many are enough, if `reached`
    says so."""
    return _document(found.src, found.dst, found.least, found.moves)


def certificate_of_bound(src: Distributed, dst: Distributed) -> dict[str, Any]:
    """The same of layouts within a warp, of elements of 32 bits or more, without any program."""
    moves = word_moves(src.parts(), dst.parts())
    return _document(src, dst, least(src, dst), list(zip(moves, coloured(moves, src.lanes * src.warps), strict=True)))


def _document(src: Distributed, dst: Distributed, bound: Least | None, moves: Sequence[tuple[Move, int]]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "v": 1,
        "kind": "exchange",
        "lanes": src.lanes,
        "words_hold": max(1, WORD_BITS // src.bits),
        "held": src.parts().tolist(),
        "wanted": dst.parts().tolist(),
        "least_shuffles": None,
    }
    if bound is not None:
        document |= {"least_shuffles": bound.shuffles, "lane": bound.lane, "side": bound.side}
        document["reached"] = len({colour for _, colour in moves}) == bound.shuffles
        document["moves"] = [[move.sender, move.register, move.receiver, colour] for move, colour in moves]
    return document
