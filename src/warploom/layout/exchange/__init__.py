"""Exchanges: device functions that bring what lanes hold from one layout of registers to another.

Takes two layouts (`layout.distributed`), free axes and an architecture. Gives the cheapest program with what others cost, bounds
and a certificate, which `layout.recheck` follows by itself. Open `choose.py` first, then `shuffles.py`, `shared.py`, `slots.py`.
"""

from warploom.layout.exchange.certificates import certificate, certificate_of_bound, least_wavefronts_of, replayed
from warploom.layout.exchange.choose import VIAS, Candidate, Exchange, Via, exchange
from warploom.layout.exchange.emit import TARGETS, Target, emit, kernel
from warploom.layout.exchange.program import LoadMatrix, StoreMatrix, Transpose
from warploom.layout.exchange.replay import FaultError, Replay
from warploom.layout.exchange.texts import places_in_shared

__all__ = [
    "TARGETS", "VIAS", "Candidate", "Exchange", "FaultError", "LoadMatrix", "Replay", "StoreMatrix", "Target", "Transpose",
    "Via", "certificate", "certificate_of_bound", "emit", "exchange", "kernel", "least_wavefronts_of", "places_in_shared",
    "replayed",
]  # fmt: skip
