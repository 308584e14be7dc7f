"""Cost of a decided kernel.

Takes a loop nest, its target and sizes. Gives on a GPU its work counted warp by warp, its traffic, its waiting, and a time made
of them (`modelled`); on a CPU the time that it waits for its caches, and that of products where it has tile registers. Open
`time.py` first, then `work.py`.
"""

from warploom.schedule.cost.caches import waiting_ns
from warploom.schedule.cost.loads import loads_per_output
from warploom.schedule.cost.preferred import judged_ms
from warploom.schedule.cost.tiles import products_ns
from warploom.schedule.cost.time import Modelled, modelled, registers_of
from warploom.schedule.cost.work import work_of

__all__ = ["Modelled", "judged_ms", "loads_per_output", "modelled", "products_ns", "registers_of", "waiting_ns", "work_of"]
