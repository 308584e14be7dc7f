"""Certificates of exchanges, in JSON: what each lane holds and wants, the lane that needs so many shuffles, and the shuffles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from warploom.layout.certificates import VERSION
from warploom.layout.distributed import WORD_BITS, Distributed, distributed
from warploom.layout.exchange.choose import Exchange, as_pieces, least_wavefronts
from warploom.layout.exchange.demand import Ints, Least, Move, coloured, least, word_moves
from warploom.layout.exchange.replay import Replay


def certificate(found: Exchange) -> dict[str, Any] | None:
    """The certificate that `recheck.faults` confirms: no program has fewer shuffles; and that many are enough, if `reached`
    says so. None where elements move between warps, which no shuffle does."""
    return None if found.least is None else _document(found.src, found.dst, found.least, found.moves)


def certificate_of_bound(src: Distributed, dst: Distributed) -> dict[str, Any]:
    """The same of layouts within a warp, of elements of 32 bits or more, without any program."""
    moves = word_moves(src.parts(), dst.parts())
    return _document(src, dst, least(src, dst), list(zip(moves, coloured(moves, src.lanes * src.warps), strict=True)))


def replayed(document: Mapping[str, Any], text: str, shared_words: int) -> Replay:
    """The run of a device function on what the lanes of a confirmed certificate hold; FaultError where it does not bring what
    they want. UserError for more elements than a layout may have."""
    before, after = _pieces(document)
    run = Replay(len(before), before, shared_words)
    run.run(text)
    run.brings(after)
    return run


def least_wavefronts_of(document: Mapping[str, Any]) -> int:
    """The least wavefronts of a confirmed certificate's exchange, if all that is wanted goes through shared memory; UserError."""
    return least_wavefronts(*_pieces(document))


def _pieces(document: Mapping[str, Any]) -> tuple[Ints, Ints]:
    bits = WORD_BITS // document["words_hold"]
    held, wanted = (distributed(name, np.array(document[name], dtype=np.int64)[None], bits) for name in ("held", "wanted"))
    return as_pieces(held, wanted)


def _document(src: Distributed, dst: Distributed, bound: Least, moves: Sequence[tuple[Move, int]]) -> dict[str, Any]:
    return {
        "v": VERSION,
        "kind": "exchange",
        "lanes": src.lanes,
        "words_hold": max(1, WORD_BITS // src.bits),
        "held": src.parts().tolist(),
        "wanted": dst.parts().tolist(),
        "least_shuffles": bound.shuffles,
        "lane": bound.lane,
        "side": bound.side,
        "reached": len({colour for _, colour in moves}) == bound.shuffles,
        "moves": [[move.sender, move.register, move.receiver, int(colour)] for move, colour in moves],
    }
