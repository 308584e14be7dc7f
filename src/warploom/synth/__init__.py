"""Completes sketches: sketch + solver + cost -> completed kernel, proved."""

from warploom.synth.complete import complete, judge, kernel_algebra
from warploom.synth.report import Completion, Report, SpaceSummary, Status, Verdict

__all__ = ["Completion", "Report", "SpaceSummary", "Status", "Verdict", "complete", "judge", "kernel_algebra"]
