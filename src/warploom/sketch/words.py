"""The words of the language: functions that mean something inside a sketch only, where they are recognised by identity.

Called anywhere else they raise a UserError that says so. Signatures and docstrings here are the reference of the language;
docs/language.md is its guide. The words for holes are in `ir.swizzle.kinds`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from warploom.core import DType
from warploom.core.inside import inside_sketches

# ---------------------------------------------------------------- ids


@inside_sketches
def thread_id(axis: str = "x") -> Any:
    """CUDA's `threadIdx` on axis "x", "y" or "z"."""


@inside_sketches
def block_id(axis: str = "x") -> Any:
    """CUDA's `blockIdx`."""


@inside_sketches
def block_dim(axis: str = "x") -> Any:
    """CUDA's `blockDim`."""


@inside_sketches
def grid_dim(axis: str = "x") -> Any:
    """CUDA's `gridDim`."""


@inside_sketches
def global_id(axis: str = "x") -> Any:
    """`block_id * block_dim + thread_id`."""


@inside_sketches
def lane_id() -> Any:
    """Number of the thread in its warp; threads of a block are counted with x running fastest."""


@inside_sketches
def warp_id() -> Any:
    """Number of the warp in its block."""


@inside_sketches
def warp_size() -> Any:
    """Threads per warp."""


@inside_sketches
def lane_grid(rows: int, cols: int) -> Any:
    """`row, col` of the lane in a warp shaped rows x cols, lanes row by row; rows * cols is the warp size."""


# ---------------------------------------------------------------- arrays and scalars


@inside_sketches
def register(dtype: DType, *shape: int, fill: float | None = None) -> Any:
    """A per-thread array; undefined until written unless `fill` is given."""


@inside_sketches
def shared(dtype: DType, *shape: int, fill: float | None = None) -> Any:
    """A per-block array; `fill` is stored by all threads together (a `wl.sync()` must follow before others read)."""


@inside_sketches
def cast(dtype: DType, value: Any) -> Any:
    """`value` (data or an index) converted to `dtype`."""


@inside_sketches
def literal(dtype: DType, value: Any) -> Any:
    """A number of type `dtype`."""


@inside_sketches
def pack(dtype: DType, *items: Any) -> Any:
    """A vector of type `dtype` made of its components."""


@inside_sketches
def vector(elements: int) -> Any:
    """`for j in wl.vector(4): r[j] = x[first + j]`: a `range(4)` whose loads (or stores) are one access of 16 bytes, at a
    multiple of 16 bytes."""


# ---------------------------------------------------------------- lanes


@inside_sketches
def sync() -> None:
    """`__syncthreads()`."""


@inside_sketches
def memcpy_async(target: Any, source: Any, valid: Any = None) -> None:
    """`__pipeline_memcpy_async`: begins a copy of `source`, an element of a global array that the kernel never stores to, to
    `target`, an element of a shared array; 4, 8 or 16 bytes, with `wl.vector` several elements. Until its thread has committed
    it and waited for it, nobody may touch the target. `valid`: a condition without which nothing is read, and zeros are
    written."""


@inside_sketches
def pipeline_commit() -> None:
    """`__pipeline_commit()`: the copies that each thread has begun since its last commit become a group."""


@inside_sketches
def pipeline_wait_prior(left: int) -> None:
    """`__pipeline_wait_prior(left)`: each thread waits until at most the newest `left` of its groups go on. Other threads see
    what it copied after a `wl.sync()`."""


@inside_sketches
def shfl(value: Any, lane: Any, width: int | None = None) -> Any:
    """`value` as lane `lane` of the segment of `width` lanes holds it; default width: the warp."""


@inside_sketches
def shfl_up(value: Any, delta: Any, width: int | None = None) -> Any:
    """`value` of the lane `delta` below; the own value below the segment."""


@inside_sketches
def shfl_down(value: Any, delta: Any, width: int | None = None) -> Any:
    """`value` of the lane `delta` above; the own value past the segment."""


@inside_sketches
def shfl_xor(value: Any, mask: Any, width: int | None = None) -> Any:
    """`value` of the lane whose number differs in the bits of `mask`."""


@inside_sketches
def holds(a: Any, comparison: str, b: Any) -> Any:
    """1 if a comparison of data (`wl.holds(x[i], "<", 3)`) holds, else 0, as u32. Also in specs."""


@inside_sketches
def ballot(condition: Any) -> Any:
    """u32 with bit l set if the condition, which may compare data, holds in lane l of the warp. All lanes take part."""


@inside_sketches
def any(condition: Any) -> Any:
    """1 if the condition, which may compare data, holds in some lane of the warp, else 0, as u32."""


@inside_sketches
def all(condition: Any) -> Any:
    """1 if the condition, which may compare data, holds in every lane of the warp, else 0, as u32."""


@inside_sketches
def match_any(value: Any) -> Any:
    """u32 with bit l set if `value`, an integer of 32 or 64 bits, is the same in lane l of the warp as in this lane. All lanes
    take part."""


@inside_sketches
def match_all(value: Any) -> Any:
    """u32 with the bits of all lanes set if `value`, an integer of 32 or 64 bits, is the same in all of them, else 0."""


@inside_sketches
def popc(value: Any) -> Any:
    """Number of ones in a word of 32 or 64 bits, in its type. Also in specs."""


@inside_sketches
def byte_perm(a: Any, b: Any, selector: Any) -> Any:
    """u32 of four bytes out of the eight of `a` and `b`, both u32: byte k is number `selector >> 4 * k & 7`, those of `a` first.
    `selector` is an index or a hole. CUDA's `__byte_perm`, PTX's `prmt`. Also in specs."""


@inside_sketches
def lop3(a: Any, b: Any, c: Any, table: Any) -> Any:
    """u32 of which each bit is bit `4 a + 2 b + c` of `table`, 0 to 255, for the bits of the u32 words `a`, `b`, `c`. `table`
    is a number or a hole. PTX's `lop3`. Also in specs."""


@inside_sketches
def accumulator(
    dtype: DType,
    op: Any = "+",
    inner: Any = "*",
    init: float | None = None,
    finalize: Callable[[Any], Any] | None = None,
    shape: int | tuple[int, ...] = (),
) -> Any:
    """An accumulator, or an array of them: `acc.add(a, b, when=cond)` does state = state op (a inner b); `acc.value()` is
    finalize(state). `init` defaults to the identity of `op`; `inner` is an operator or a tuple of nested ones."""


# ---------------------------------------------------------------- requirements


@inside_sketches
def require(condition: Any) -> None:
    """Only completions for which `condition` holds count; `wl.conflict_free(array)` is one."""


@inside_sketches
def conflict_free(array: Any) -> Any:
    """For `wl.require`: no access of a warp to this shared array meets a bank twice, at the sizes of `complete_at`."""


# ---------------------------------------------------------------- loads and stores


@inside_sketches
def global_to_register(
    source: Any,
    target: Any,
    offset: Any = 0,
    slice: Any = 1,
    rounds: Any = None,
    size: Any = None,
    shuffle: Any = None,
    warp_shape: Any = None,
) -> None:
    """Each warp loads consecutive elements from `offset`, lane by lane, round by round; past `size` it gets zeros."""


@inside_sketches
def register_to_global(
    source: Any,
    target: Any,
    offset: Any = 0,
    slice: Any = 1,
    rounds: Any = None,
    size: Any = None,
    shuffle: Any = None,
    warp_shape: Any = None,
) -> None:
    """Each warp stores consecutive elements from `offset`, lane by lane, round by round; none past `size`."""


@inside_sketches
def global_to_shared(
    source: Any,
    target: Any,
    offset: Any = 0,
    slice: Any = 1,
    rounds: Any = None,
    size: Any = None,
    shuffle: Any = None,
    warp_shape: Any = None,
    scope: str = "block",
) -> None:
    """The block (or each warp) copies consecutive elements from `offset` to the start of a shared array."""


@inside_sketches
def shared_to_global(
    source: Any,
    target: Any,
    offset: Any = 0,
    slice: Any = 1,
    rounds: Any = None,
    size: Any = None,
    shuffle: Any = None,
    warp_shape: Any = None,
    scope: str = "block",
) -> None:
    """The block (or each warp) copies a shared array from its start to consecutive elements from `offset`."""


@inside_sketches
def shared_to_register(
    source: Any,
    target: Any,
    offset: Any = 0,
    slice: Any = 1,
    rounds: Any = None,
    size: Any = None,
    shuffle: Any = None,
    warp_shape: Any = None,
) -> None:
    """Like `global_to_register`, from a shared array."""


@inside_sketches
def register_to_shared(
    source: Any,
    target: Any,
    offset: Any = 0,
    slice: Any = 1,
    rounds: Any = None,
    size: Any = None,
    shuffle: Any = None,
    warp_shape: Any = None,
) -> None:
    """Like `register_to_global`, to a shared array."""
