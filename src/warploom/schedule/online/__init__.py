"""Sums that are rescaled by a running maximum, made tile by tile: a kernel with two passes over an axis gets one pass.

Takes a backbone in which sums over an axis need a maximum over it first (softmax, log-sum-exp, attention). Gives the backbone
that keeps the maximum and the sums of what was seen so far. The operator that joins them is found and proved by `scan`; open
`law.py` first.
"""

from warploom.schedule.online.law import Law, law_of
from warploom.schedule.online.rewrite import online, tiles_of_axis

__all__ = ["Law", "law_of", "online", "tiles_of_axis"]
