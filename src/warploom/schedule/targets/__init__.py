"""Targets that kernels are written for: the rows of `machines` as limits of choices and as rates of the lower bound.

Takes the name of a target (`cpu`, `sm_90`). Gives a `Target` with its limits and rates. Open `target.py` first.
"""

from warploom.schedule.targets.figures import INSTRUCTIONS, LOOP_INSTRUCTIONS, Instructions, cpu_rates, least_cycles
from warploom.schedule.targets.rates import NO_RATES, Rate, Rates
from warploom.schedule.targets.target import K4000, TARGETS, Target, cpu, cuda, target

__all__ = [
    "INSTRUCTIONS", "K4000", "LOOP_INSTRUCTIONS", "NO_RATES", "TARGETS", "Instructions", "Rate", "Rates", "Target", "cpu",
    "cpu_rates", "cuda", "least_cycles", "target",
]  # fmt: skip
