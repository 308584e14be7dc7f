"""Exchanges: device functions that bring what lanes hold from one layout of registers to another.

Takes two layouts (`layout.distributed`), free axes and an architecture. Gives the cheapest program with what others cost, bounds
and a certificate, which `recheck` follows by itself. Open `choose.py` first, then `shuffles.py`, `shared.py` and `slots.py`.
"""

from warploom.layout.exchange.certificates import certificate, certificate_of_bound
from warploom.layout.exchange.choose import VIAS, Candidate, Exchange, Via, exchange
from warploom.layout.exchange.emit import TARGETS, Target, emit, kernel
from warploom.layout.exchange.recheck import faults
from warploom.layout.exchange.replay import FaultError, Replay

__all__ = [
    "TARGETS", "VIAS", "Candidate", "Exchange", "FaultError", "Replay", "Target", "Via", "certificate",
    "certificate_of_bound", "emit", "exchange",
    "faults", "kernel",
]  # fmt: skip
