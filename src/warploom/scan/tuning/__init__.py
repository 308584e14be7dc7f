"""Ranks several ways to scan: operator, network, layout and variant.

Takes operators by name, the elements per block, and an architecture. Gives candidates in order of their cost (`tune`). Open
`ranking.py` first.
"""

from warploom.scan.tuning.candidates import Candidate, candidates, flagged, operations, operators
from warploom.scan.tuning.estimate import Counted, Measured, estimated, measured
from warploom.scan.tuning.ranking import MOST, Ranked, Tuned, tune

__all__ = [
    "MOST", "Candidate", "Counted", "Measured", "Ranked", "Tuned", "candidates", "estimated", "flagged", "measured", "operations",
    "operators", "tune",
]  # fmt: skip
