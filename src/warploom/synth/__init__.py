"""Completes sketches.

Takes a sketch (kernel IR with holes), a spec, and sizes. Gives completed kernels in order of cost with their verdicts, in a
`Report`. Open `complete.py` first: it calls `network`, `search`, `proof` and `lift` in order.
"""

from warploom.synth.complete import EngineName, complete, kernel_algebra
from warploom.synth.proof.judge import Judged, judge
from warploom.synth.report import Completion, Report, SpaceSummary
from warploom.synth.search.ablation import WITHOUT, Missing, complete_without

__all__ = [
    "WITHOUT", "Completion", "EngineName", "Judged", "Missing", "Report", "SpaceSummary", "complete", "complete_without", "judge",
    "kernel_algebra",
]  # fmt: skip
