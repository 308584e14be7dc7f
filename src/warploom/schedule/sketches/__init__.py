"""Sketches with open parameters: tile shapes, outputs per thread and warps per block are decisions next to the sketch's holes.

Takes a function that makes a sketch from parameters, and the values that each may take. Gives a model for `solve.search`
whose choices are the parameters and the holes, and the cheapest completed sketch. Open `tunable.py` first.
"""

from warploom.schedule.sketches.cost import Modelled, modelled
from warploom.schedule.sketches.family_model import ALIKE, USUAL_THREADS, FamilyModel, Other, Tuned, text_of
from warploom.schedule.sketches.tunable import Setting, TunableSketch, Tuning, tunable

__all__ = [
    "ALIKE", "USUAL_THREADS", "FamilyModel", "Modelled", "Other", "Setting", "TunableSketch", "Tuned", "Tuning",
    "modelled", "text_of", "tunable",
]  # fmt: skip
