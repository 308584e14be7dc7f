"""Exchanges of pieces of words straight to their receivers: what a lane wants of another is packed into words before it is sent.

A pair of lanes shares as many words as the pieces that one wants of the other fill. These words are the edges of a bipartite
multigraph, whose colouring takes as many shuffles as the busiest lane has words: often the least that any program can have.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange.demand import Move, coloured
from warploom.layout.exchange.pieces import Value, gathered
from warploom.layout.exchange.program import Program
from warploom.layout.exchange.shuffles import Writer, inputs

_MOST_WORDS = 8
"""Most words of a lane: more of them need more PRMT than they save shuffles."""


def programs(held: Ints, wanted: Ints, lanes: int) -> Iterator[Program]:
    """The program for pieces that each have one place and one receiver, if it takes no more shuffles than words are wanted."""
    threads, words, pieces = held.shape
    if max(words, wanted.shape[1]) > _MOST_WORDS:
        return
    home = _home(held)
    if home is None or len(np.unique(wanted[wanted >= 0])) < int((wanted >= 0).sum()):
        return
    parcels = _parcels(home, wanted, pieces)
    moves = [Move(sender, number, receiver) for number, (sender, receiver, _) in enumerate(parcels)]
    ends = [move.sender for move in moves] + [threads + move.receiver for move in moves]
    if not moves or int(np.bincount(ends).max()) > wanted.shape[1]:
        return
    colours = coloured(moves, threads)
    writer = Writer(threads, lanes)
    own = [Value(name, held[:, word]) for word, name in enumerate(inputs(words))]
    values = list(own)
    for colour in range(max(colours) + 1):
        packed = np.full((threads, pieces), -1, dtype=np.int64)
        source = np.full(threads, -1, dtype=np.int64)
        for (sender, receiver, parcel), at in zip(parcels, colours, strict=True):
            if at == colour:
                packed[sender, : len(parcel)] = parcel
                source[receiver] = sender
        sent = gathered(writer, own, packed)
        here = source >= 0
        came = np.where(here[:, None], sent.content[source], -1)
        values.append(Value(writer.shuffle(sent.name, source % lanes, here), came))
    outputs = [gathered(writer, values, wanted[:, word]).name for word in range(wanted.shape[1])]
    yield writer.program("packed", words, outputs)


def _home(held: Ints) -> Ints | None:
    """By piece the thread that holds it; None where two places hold one."""
    threads, _, _ = held.shape
    if len(np.unique(held[held >= 0])) < int((held >= 0).sum()):
        return None
    home = np.full(int(held.max()) + 1, -1, dtype=np.int64)
    owners = np.broadcast_to(numbered(threads, 1, 1), held.shape)
    home[held[held >= 0]] = owners[held >= 0]
    return home


def _parcels(home: Ints, wanted: Ints, pieces: int) -> list[tuple[int, int, list[int]]]:
    """Sender, receiver and the pieces of each word that is sent."""
    found: list[tuple[int, int, list[int]]] = []
    for receiver, rows in enumerate(wanted):
        needs = rows[rows >= 0]
        owners = home[needs]
        for sender in np.unique(owners[owners != receiver]).tolist():
            these = needs[owners == sender].tolist()
            found += [(sender, receiver, these[at : at + pieces]) for at in range(0, len(these), pieces)]
    return found
