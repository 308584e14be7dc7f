"""Global loads replaced by warp shuffles: detection, guards, code, profit."""

from warploom.ptx.shuffle.options import MAX_DELTA, ShuffleOptions
from warploom.ptx.shuffle.plan import Kind, Mode, Variant
from warploom.ptx.shuffle.policy import Candidate, Decision, KernelFacts, Policy, apply_all, apply_none
from warploom.ptx.shuffle.report import Judged, KernelReport, Refusal
from warploom.ptx.shuffle.rewrite import Rewritten, shuffle

__all__ = [
    "MAX_DELTA", "Candidate", "Decision", "Judged", "KernelFacts", "KernelReport", "Kind", "Mode", "Policy", "Refusal",
    "Rewritten", "ShuffleOptions", "Variant", "apply_all", "apply_none", "shuffle",
]  # fmt: skip
