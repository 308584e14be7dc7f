"""Machines that kernels are written for, as data.

Takes the name of a target (`cpu`, `sm_90`). Gives a `Target` with its limits and rates. Open `target.py` first.
"""

from warploom.schedule.targets.boards import BOARDS, Board, board
from warploom.schedule.targets.figures import cpu_rates
from warploom.schedule.targets.rates import NO_RATES, CacheLevel, Port, Rate, Rates
from warploom.schedule.targets.target import K4000, TARGETS, Target, cpu, cuda, target

__all__ = [
    "BOARDS", "K4000", "NO_RATES", "TARGETS", "Board", "CacheLevel", "Port", "Rate", "Rates", "Target", "board", "cpu",
    "cpu_rates", "cuda", "target",
]  # fmt: skip
