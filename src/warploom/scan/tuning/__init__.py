"""Several ways to scan, ranked: operator x network x layout x variant."""

from warploom.scan.tuning.candidates import Candidate, candidates, flagged, operations, operators
from warploom.scan.tuning.estimate import Counted, Measured, estimated, measured
from warploom.scan.tuning.ranking import MOST, Ranked, Tuned, tune

__all__ = [
    "MOST", "Candidate", "Counted", "Measured", "Ranked", "Tuned", "candidates", "estimated", "flagged", "measured", "operations",
    "operators", "tune",
]  # fmt: skip
