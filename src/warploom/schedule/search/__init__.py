"""Search for the fastest implementation of a kernel.

Takes a kernel space, a target, and options such as the strategy and the budget. Gives an `Exploration`: the best candidate, its
times, the bound, statistics; progress and a journal on the way. Open `explore.py` first, then `kernel_model.py`.
"""

from warploom.schedule.search.arrays import difference, held, program_arrays
from warploom.schedule.search.cpu import CpuEvaluator, CpuPrograms
from warploom.schedule.search.cuda import CudaEvaluator
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
from warploom.schedule.search.kernel_model import Bounds, Choices, Implementation, KernelModel, Step, features
from warploom.schedule.search.modelled import ModelEvaluator
from warploom.schedule.search.parts import PartsExploration, explore_parts, explore_programs
from warploom.schedule.search.program import ProgramExploration, Recipe, explore, recipes
from warploom.schedule.search.together import Programs

__all__ = [
    "Bounds",
    "Choices",
    "CpuEvaluator",
    "CpuPrograms",
    "CudaEvaluator",
    "Evaluator",
    "Exploration",
    "Implementation",
    "KernelModel",
    "Live",
    "Measurement",
    "Memory",
    "ModelEvaluator",
    "Options",
    "PartsExploration",
    "ProgramExploration",
    "Programs",
    "Recipe",
    "Record",
    "Step",
    "StrategyName",
    "Timed",
    "Unfit",
    "device_turn",
    "difference",
    "explore",
    "explore_kernel",
    "explore_parts",
    "explore_programs",
    "features",
    "held",
    "program_arrays",
    "recipes",
    "replay",
    "strategy_named",
]  # fmt: skip
