"""Search for the fastest implementation of a kernel: the space as a model of `solve`, measurements, journal, live progress."""

from warploom.schedule.search.cpu import CpuEvaluator
from warploom.schedule.search.evaluate import Evaluator, Measurement, Memory, Record, Timed, Unfit, device_turn
from warploom.schedule.search.explore import (
    Exploration,
    Live,
    Options,
    StrategyName,
    explore_kernel,
    replay,
    strategy_named,
)
from warploom.schedule.search.model import Bounds, Choices, Implementation, KernelModel, Step, features

__all__ = [
    "Bounds", "Choices", "CpuEvaluator", "Evaluator", "Exploration", "Implementation", "KernelModel", "Live", "Measurement",
    "Memory", "Options", "Record", "Step", "StrategyName", "Timed", "Unfit", "device_turn", "explore_kernel", "features",
    "replay", "strategy_named",
]  # fmt: skip
