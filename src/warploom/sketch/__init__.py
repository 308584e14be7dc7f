"""The embedded language of docs/language.md.

Takes a Python function marked as sketch or spec. Gives kernel IR with holes, or an error at its place in the source. Open
`sketches.py` first, then `parser/kernels.py`; `subset.py` says what Python is accepted.
"""

from warploom.sketch.loader import load, load_variables
from warploom.sketch.operators import UserOperator, operator
from warploom.sketch.parser import parse_spec
from warploom.sketch.sketches import Sketch, device, sketch
from warploom.sketch.source import MISSING, Source, Written, written
from warploom.sketch.term_specs import Spec, TermArrays, TermSpec, term_spec
from warploom.sketch.types import ArrayType, Constant, Global, Size, ceil_div, size
from warploom.sketch.words import (
    accumulator,
    all,
    any,
    ballot,
    block_dim,
    block_id,
    byte_perm,
    cast,
    conflict_free,
    global_id,
    global_to_register,
    global_to_shared,
    grid_dim,
    holds,
    lane_grid,
    lane_id,
    literal,
    lop3,
    match_all,
    match_any,
    memcpy_async,
    pack,
    pipeline_commit,
    pipeline_wait_prior,
    popc,
    register,
    register_to_global,
    register_to_shared,
    require,
    shared,
    shared_to_global,
    shared_to_register,
    shfl,
    shfl_down,
    shfl_up,
    shfl_xor,
    sync,
    thread_id,
    vector,
    warp_id,
    warp_size,
)

__all__ = [
    "MISSING", "ArrayType", "Constant", "Global", "Size", "Sketch", "Source", "Spec", "TermArrays", "TermSpec", "UserOperator",
    "Written", "accumulator", "all", "any", "ballot", "block_dim", "block_id", "byte_perm", "cast", "ceil_div", "conflict_free",
    "device", "global_id", "global_to_register", "global_to_shared", "grid_dim", "holds", "lane_grid", "lane_id", "literal",
    "load", "load_variables", "lop3", "match_all", "match_any", "memcpy_async",
    "operator", "pack", "parse_spec", "pipeline_commit", "pipeline_wait_prior", "popc", "register", "register_to_global",
    "register_to_shared", "require", "shared", "shared_to_global", "shared_to_register", "shfl", "shfl_down", "shfl_up",
    "shfl_xor", "size", "sketch", "sync", "term_spec", "thread_id", "vector", "warp_id", "warp_size", "written",
]  # fmt: skip
