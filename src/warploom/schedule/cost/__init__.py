"""What a decided kernel takes on a GPU: its work counted warp by warp, its traffic, its waiting, and a time made of them.

For a CPU, what it waits for its caches.
"""

from warploom.schedule.cost.caches import waiting_ns
from warploom.schedule.cost.time import Modelled, modelled
from warploom.schedule.cost.work import Work, work_of

__all__ = ["Modelled", "Work", "modelled", "waiting_ns", "work_of"]
