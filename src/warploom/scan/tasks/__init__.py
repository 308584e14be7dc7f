"""Tasks of the literature with their definitions: loops to lift, operators to accept and to refuse, rows of the paper's Table 1.

Takes a name: `lift/NAME`, `accept/NAME`, `refuse/NAME`, `table1/NAME`. Gives the function to read and the definition to check
the answer against. Open `registry.py` first.
"""

from warploom.scan.tasks.definitions import DEFINITIONS
from warploom.scan.tasks.registry import TASK_NAMES, TaskRecord, accepted_module, loops_module, refused_module, run_task
from warploom.scan.tasks.segmented import SegmentedResult, segmented_sum_operator

__all__ = [
    "DEFINITIONS",
    "TASK_NAMES",
    "SegmentedResult",
    "TaskRecord",
    "accepted_module",
    "loops_module",
    "refused_module",
    "run_task",
    "segmented_sum_operator",
]
