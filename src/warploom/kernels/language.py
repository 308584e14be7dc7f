"""The words of sketches under one name, as users have them from the package root: `from warploom.kernels import language as wl`.

`import warploom.sketch as wl` would not do: the root's attribute `sketch` is the decorator.
"""

from warploom.ir.swizzle.kinds import choose, cond, part, xform
from warploom.sketch import (
    Constant,
    Global,
    Sketch,
    accumulator,
    block_id,
    ceil_div,
    device,
    global_id,
    global_to_register,
    global_to_shared,
    lane_grid,
    lane_id,
    literal,
    memcpy_async,
    pipeline_commit,
    pipeline_wait_prior,
    register,
    register_to_global,
    register_to_shared,
    shared,
    shfl,
    size,
    sketch,
    sync,
    thread_id,
    vector,
    warp_id,
)

__all__ = [
    "Constant", "Global", "Sketch", "accumulator", "block_id", "ceil_div", "choose", "cond", "device", "global_id",
    "global_to_register", "global_to_shared", "lane_grid", "lane_id", "literal", "memcpy_async", "part", "pipeline_commit",
    "pipeline_wait_prior", "register", "register_to_global", "register_to_shared", "shared", "shfl", "size", "sketch", "sync",
    "thread_id", "vector", "warp_id", "xform",
]  # fmt: skip
