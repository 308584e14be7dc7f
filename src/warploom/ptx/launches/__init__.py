"""What holds of a kernel for every launch: data races, on terms for all threads at once.

Takes a program, the name of a kernel and assumptions about launches. Gives `RaceFree` with its domain, a `Meeting` of two
instructions with a small launch to replay, or why it is not decided. Open `races.py` first, then `intervals.py`.
"""

from warploom.ptx.launches.assumptions import Assumed, assumptions
from warploom.ptx.launches.offers import offered
from warploom.ptx.launches.races import Launch, Meeting, NotDecided, RaceFree, Verdict, races

__all__ = ["Assumed", "Launch", "Meeting", "NotDecided", "RaceFree", "Verdict", "assumptions", "offered", "races"]
