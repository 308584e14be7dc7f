"""Sketches with open parameters: tile shapes, outputs per thread, warps per block are decisions next to the sketch's holes."""

from warploom.schedule.sketches.cost import Modelled, modelled
from warploom.schedule.sketches.model import SketchModel, Tuned
from warploom.schedule.sketches.tunable import Setting, TunableSketch, Tuning, tunable

__all__ = [
    "Modelled", "Setting", "SketchModel", "TunableSketch", "Tuned", "Tuning", "modelled", "tunable",
]  # fmt: skip
