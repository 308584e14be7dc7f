"""Properties of a kernel in every launch: data races and bounds, on terms for all threads at once.

Takes a program, the name of a kernel and assumptions about launches. Gives `RaceFree` with its domain, a `Meeting` of two
instructions with a small launch to replay, or why it is not decided; `Bounds` of arrays with known lengths; `Costs` of what
warps ask for. Open `races.py`, then `intervals.py`.
"""

from warploom.ptx.launches.assumptions import Assumed, assumptions
from warploom.ptx.launches.bounds import Bounds, Outside, bounds
from warploom.ptx.launches.offers import offered
from warploom.ptx.launches.overflow import Overflow, Overflows, overflows
from warploom.ptx.launches.questions import Launch, NotDecided
from warploom.ptx.launches.races import INDICES, INSIDE, Meeting, RaceFree, Verdict, races
from warploom.ptx.launches.warps import Cost, Costs, costs

__all__ = [
    "INDICES",
    "INSIDE",
    "Assumed",
    "Bounds",
    "Cost",
    "Costs",
    "Launch",
    "Meeting",
    "NotDecided",
    "Outside",
    "Overflow",
    "Overflows",
    "RaceFree",
    "Verdict",
    "assumptions",
    "bounds",
    "costs",
    "offered",
    "overflows",
    "races",
]
