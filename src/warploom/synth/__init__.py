"""Completes sketches.

Takes a sketch (kernel IR with holes), a spec, and sizes. Gives completed kernels in order of cost with their verdicts, in a
`Report`. Open `complete.py` first: it calls `network`, `search`, `proof` and `lift` in order.
"""

from warploom.synth.complete import complete, without_collection
from warploom.synth.counted import blank_arrays
from warploom.synth.filling import START, Filled, Filling, read_holes
from warploom.synth.movement import Movement, Step, movement_sketch
from warploom.synth.problem import EngineName, kernel_algebra
from warploom.synth.proof.judge import Judged, judge
from warploom.synth.proof.lanes import Mask
from warploom.synth.proof.listening import Listener, Writing
from warploom.synth.proof.symbolic import watch
from warploom.synth.report import Completion, Report, SpaceSummary
from warploom.synth.search.ablation import WITHOUT, Missing, complete_without

__all__ = [
    "START", "WITHOUT", "Completion", "EngineName", "Filled", "Filling", "Judged", "Listener", "Mask", "Missing", "Movement",
    "Report", "SpaceSummary", "Step", "Writing", "blank_arrays", "complete", "complete_without", "judge", "kernel_algebra",
    "movement_sketch", "read_holes", "watch", "without_collection",
]  # fmt: skip
