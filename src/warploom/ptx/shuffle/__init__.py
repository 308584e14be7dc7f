"""Global loads replaced by warp shuffles: detection, guards, code, profit."""

from warploom.ptx.shuffle.options import MAX_DELTA, ShuffleOptions
from warploom.ptx.shuffle.plan import Kind, Mode, Variant
from warploom.ptx.shuffle.policy import Candidate, Decision, KernelFacts, Policy, apply_all, apply_none
from warploom.ptx.shuffle.profit import LEAST_GAIN, Estimate, Forecast, Profitable, forecast, nearest_machine
from warploom.ptx.shuffle.report import Judged, KernelReport, Refusal
from warploom.ptx.shuffle.rewrite import Rewritten, shuffle

__all__ = [
    "LEAST_GAIN", "MAX_DELTA", "Candidate", "Decision", "Estimate", "Forecast", "Judged", "KernelFacts", "KernelReport", "Kind",
    "Mode", "Policy", "Profitable", "Refusal", "Rewritten", "ShuffleOptions", "Variant", "apply_all", "apply_none", "forecast",
    "nearest_machine", "shuffle",
]  # fmt: skip
