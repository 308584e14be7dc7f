"""Completes sketches: sketch + solver + cost -> completed kernel, proved."""

from warploom.synth.complete import EngineName, complete, kernel_algebra
from warploom.synth.proof.judge import Judged, judge
from warploom.synth.report import Completion, Report, SpaceSummary

__all__ = ["Completion", "EngineName", "Judged", "Report", "SpaceSummary", "complete", "judge", "kernel_algebra"]
