"""What a decided kernel takes on a GPU: its work counted warp by warp, its traffic, its waiting, and a time made of them."""

from warploom.schedule.cost.time import Modelled, modelled
from warploom.schedule.cost.work import Work, work_of

__all__ = ["Modelled", "Work", "modelled", "work_of"]
