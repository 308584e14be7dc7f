"""The words of the language: functions that mean something inside a sketch only, where they are recognised by identity.

Called anywhere else they raise a UserError that says so. Signatures and docstrings here are the reference of the language;
docs/language.md is its guide.
"""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from warploom.core import Diagnostic, DType, UserError

P = ParamSpec("P")
R = TypeVar("R")

ALL: list[Callable[..., Any]] = []
"""Every word, in the order of this file."""


def _word(function: Callable[P, R]) -> Callable[P, R]:
    name = function.__name__

    @functools.wraps(function)
    def outside(*args: P.args, **kwargs: P.kwargs) -> R:
        raise UserError(
            Diagnostic(
                "OUTSIDE_SKETCH",
                f"wl.{name} was called outside of a sketch",
                fix=f"Use wl.{name} in the body of a function decorated with @wl.sketch(...) or @wl.device.",
            )
        )

    ALL.append(outside)
    return typing.cast("Callable[P, R]", outside)


# ---------------------------------------------------------------- ids


@_word
def thread_id(axis: str = "x") -> Any:
    """CUDA's `threadIdx` on axis "x", "y" or "z"."""


@_word
def block_id(axis: str = "x") -> Any:
    """CUDA's `blockIdx`."""


@_word
def block_dim(axis: str = "x") -> Any:
    """CUDA's `blockDim`."""


@_word
def grid_dim(axis: str = "x") -> Any:
    """CUDA's `gridDim`."""


@_word
def global_id(axis: str = "x") -> Any:
    """`block_id * block_dim + thread_id`."""


@_word
def lane_id() -> Any:
    """Number of the thread in its warp; threads of a block are counted with x running fastest."""


@_word
def warp_id() -> Any:
    """Number of the warp in its block."""


@_word
def warp_size() -> Any:
    """Threads per warp."""


@_word
def lane_grid(rows: int, cols: int) -> Any:
    """`row, col` of the lane in a warp shaped rows x cols, lanes row by row; rows * cols is the warp size."""


# ---------------------------------------------------------------- arrays and scalars


@_word
def register(dtype: DType, *shape: int, fill: float | None = None) -> Any:
    """A per-thread array; undefined until written unless `fill` is given."""


@_word
def shared(dtype: DType, *shape: int, fill: float | None = None) -> Any:
    """A per-block array; `fill` is stored by all threads together (a `wl.sync()` must follow before others read)."""


@_word
def cast(dtype: DType, value: Any) -> Any:
    """`value` (data or an index) converted to `dtype`."""


@_word
def literal(dtype: DType, value: Any) -> Any:
    """A number of type `dtype`."""


@_word
def pack(dtype: DType, *items: Any) -> Any:
    """A vector of type `dtype` made of its components."""


# ---------------------------------------------------------------- lanes


@_word
def sync() -> None:
    """`__syncthreads()`."""


@_word
def shfl(value: Any, lane: Any, width: int | None = None) -> Any:
    """`value` as lane `lane` of the segment of `width` lanes holds it; default width: the warp."""


@_word
def shfl_up(value: Any, delta: Any, width: int | None = None) -> Any:
    """`value` of the lane `delta` below; the own value below the segment."""


@_word
def shfl_down(value: Any, delta: Any, width: int | None = None) -> Any:
    """`value` of the lane `delta` above; the own value past the segment."""


@_word
def shfl_xor(value: Any, mask: Any, width: int | None = None) -> Any:
    """`value` of the lane whose number differs in the bits of `mask`."""


@_word
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


# ---------------------------------------------------------------- loads and stores


@_word
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


@_word
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


@_word
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


@_word
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


@_word
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


@_word
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


# ---------------------------------------------------------------- holes


@_word
def cond(*values: Any, grammar: str = "full", constants: tuple[int, ...] = (), modulus: int = 0, name: str | None = None) -> Any:
    """Hole: true, false, or a comparison between two of `values` (paper section 3.2)."""


@_word
def part(n: int, *values: Any, name: str | None = None) -> Any:
    """Hole: a partition of the values into n parts, `0 if cond else 1 if cond else ...`."""


@_word
def xform(
    i: Any,
    n: int,
    k: Any,
    grammar: str = "full",
    coefficients: tuple[int, ...] | None = None,
    constants: tuple[int, ...] | None = None,
    name: str | None = None,
) -> Any:
    """Hole: the template of the paper's equations 5 to 7 on index i of n with parameter k."""


@_word
def const(*values: int, name: str | None = None) -> Any:
    """Hole: one of the integers."""


@_word
def choose(*alternatives: Any, name: str | None = None) -> Any:
    """Hole: one of the written alternatives, all indices or all data."""
