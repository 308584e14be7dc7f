"""The concrete SIMT interpreter of PTX."""

from warploom.ptx.simt.counts import Counts, LineCounts
from warploom.ptx.simt.findings import Finding
from warploom.ptx.simt.launch import Launch, launch

__all__ = ["Counts", "Finding", "Launch", "LineCounts", "launch"]
