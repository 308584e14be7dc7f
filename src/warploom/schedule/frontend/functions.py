"""The decorator `@tensor`, and what it makes of a function."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NoReturn, TypedDict, Unpack, cast

from warploom.core import Diagnostic, UserError
from warploom.core.polynomials import Polynomial
from warploom.schedule.backbone import Parameter, Program, Role, Scope, Tiles, TileTable, no_tiles
from warploom.schedule.frontend.lowering import lower_stage, region_of
from warploom.schedule.frontend.reader import read_tensor
from warploom.schedule.frontend.run_time import with_run_time_sizes
from warploom.schedule.frontend.sizes import Sizes
from warploom.schedule.frontend.splits import index_of_part
from warploom.schedule.frontend.tree import ArrayParameter, TensorTree
from warploom.schedule.frontend.zero_sizes import without_elements


class ProgramOptions(TypedDict, total=False):
    """How the kernels of a function are made of it."""

    can_reorder: bool
    """Sums of floats may be taken in another order; they may, if nobody says."""
    divisors_only: bool
    """No tile combination that leaves a rest; there may be some, if nobody says."""
    pointwise: Scope
    """How values travel that need no temporary array (`scopes`); within a thread, if nobody says."""


@dataclass(frozen=True, slots=True)
class TensorFunction:
    """A tensor function that was read without an error."""

    tree: TensorTree

    @property
    def name(self) -> str:
        return self.tree.name

    @property
    def sizes(self) -> tuple[str, ...]:
        """Names of the sizes, in order of appearance."""
        return self.tree.sizes

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return self.tree.scalars

    @property
    def arrays(self) -> tuple[ArrayParameter, ...]:
        return self.tree.arrays

    def program(
        self, sizes: Mapping[str, int], tiles: Tiles = no_tiles, **options: Unpack[ProgramOptions]
    ) -> Program:  # fmt: skip
        """The kernels at these sizes, with the tile sizes to choose from.

        Raises UserError if sizes are missing, unknown or below 1, an index leaves its array, or tiles are wrong.
        """
        tree = self.tree
        self.check_sizes(sizes)
        sizes = Sizes((name, int(value)) for name, value in sizes.items())
        self._check_arrays(sizes)
        if not callable(tiles):
            self._check_tiles(tiles)
        backbones = tuple(
            lower_stage(stage, name, tree.arrays, sizes, tiles, **options)
            for stage, name in zip(tree.stages, self.stage_names, strict=True)
        )
        return Program(
            tree.name, backbones, tuple(region_of(a, sizes, a.role) for a in tree.arrays), tree.scalars, tree.parameters
        )

    def lacks_elements(self, sizes: Mapping[str, int]) -> bool:
        """Whether some array has no elements at these sizes, or some index no values."""
        held = Sizes(sizes)
        return 0 in sizes.values() or any(count.whole_at(held) < 1 for count in self.counts)

    def without_elements(self, sizes: Mapping[str, int]) -> TensorFunction:
        """The rest of the function where it lacks elements: one without sizes, of the arrays that have elements. UserError
        (CALL_SHAPE) for a maximum over nothing."""
        return TensorFunction(without_elements(self.tree, Sizes(sizes)))

    def at_run_time(self, program: Program, multiples: Mapping[str, int], *, has_strides: bool = False) -> Program:
        """The program with these sizes as arguments of its kernels; by name, what their values are multiples of. has_strides: for
        CUDA, whose kernels may have strides that are known at run time.

        UserError (RUN_TIME_SIZE) where a size is in the way: then its value would be in the addresses or in the numbers.
        """
        return with_run_time_sizes(self.tree, program, multiples, has_strides=has_strides)

    @property
    def stage_names(self) -> tuple[str, ...]:
        """The function's name; with several stages, that and the array stored first."""
        if len(self.tree.stages) == 1:
            return (self.tree.name,)
        return tuple(f"{self.tree.name}_{stage.stores[0].array.name}" for stage in self.tree.stages)

    def check_sizes(self, sizes: Mapping[str, object]) -> None:
        """UserError (SIZES) unless every size of the function is given, no other is, and each is an integer of 1 or more."""
        wanted, given = ", ".join(self.sizes) or "none", ", ".join(sizes) or "none"
        if set(sizes) != set(self.sizes):
            message = f"expected the sizes {wanted} of {self.name!r}, got {given}"
            example = ""
            if self.sizes:
                in_python = ", ".join(f'"{name}": 256' for name in self.sizes)
                example = f": --size {','.join(f'{name}=256' for name in self.sizes)}, or sizes={{{in_python}}} in Python"
            raise UserError(Diagnostic("SIZES", message, fix=f"Give every size once, and no other{example}."))
        for name, value in sizes.items():
            if not isinstance(value, Integral) or value < 1:
                message = f"expected an integer of 1 or more for {name}, got {value!r}"
                raise UserError(Diagnostic("SIZES", message, fix="Give a positive integer."))

    def _check_arrays(self, sizes: Mapping[str, int]) -> None:
        for array in self.arrays:
            for size in array.shape:
                if size.whole_at(sizes) < 1:
                    message = f"expected axes of 1 or more elements of {array.name!r}, got {size} = {size.whole_at(sizes)}"
                    raise UserError(Diagnostic("SIZES", message, array.span, "Give larger sizes."))
        for stage in self.tree.stages:
            for name, size, span in stage.ranges:
                if size.whole_at(sizes) < 1:
                    message = f"expected 1 or more values of the index {name!r}, got {size} = {size.whole_at(sizes)}"
                    raise UserError(Diagnostic("SIZES", message, span, "Give larger sizes."))

    def _check_tiles(self, tiles: TileTable) -> None:
        known: dict[str, None] = {}
        for stage, name in zip(self.tree.stages, self.stage_names, strict=True):
            for index, _, _ in stage.ranges:
                known |= {index: None, f"{name}.{index}": None}
        for name in tiles:
            if name not in known and index_of_part(name) not in known:
                message = f"expected an axis of {self.name!r} ({', '.join(n for n in known if '.' not in n)}), got {name!r}"
                raise UserError(Diagnostic("TILES", message, fix="Name the axes as the function names its indices."))

    @property
    def counts(self) -> Iterator[Polynomial]:
        """Elements of arrays along their axes, and values of indices."""
        for array in self.tree.arrays:
            yield from array.shape
        for stage in self.tree.stages:
            yield from (count for _, count, _ in stage.ranges)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.arrays if a.role is Role.OUTPUT)

    def __call__(self, *arrays: object, **more: object) -> NoReturn:
        message = f"{self.name!r} was called; a tensor function describes kernels"
        fix = f"Write @wl.jit instead of @wl.tensor to call it with arrays, or {self.name}.program(sizes) to explore it."
        raise UserError(Diagnostic("NOT_RUN", message, fix=fix))


class TensorHolder:
    """An object that stands for a tensor function where one is asked for by name."""

    tensor: TensorFunction


@dataclass(frozen=True, slots=True)
class BrokenTensor:
    """A tensor function with errors, while a file is loaded."""

    name: str
    error: UserError


_broken: ContextVar[list[BrokenTensor] | None] = ContextVar("broken tensor functions", default=None)


@contextmanager
def collecting_broken() -> Generator[list[BrokenTensor]]:
    """Inside, `@tensor` adds the functions it must refuse to the list, instead of raising."""
    found: list[BrokenTensor] = []
    token = _broken.set(found)
    try:
        yield found
    finally:
        _broken.reset(token)


def tensor(function: Callable[..., Any] | None = None) -> TensorFunction:
    """Reads the decorated function's source as a tensor function; the name becomes a `TensorFunction`.

    Raises UserError with every problem of the source; while `load_tensors` runs a file, it is kept and raised once that
    function is asked for.
    """
    if not callable(function):
        message = f"expected a function, got {function!r}"
        raise UserError(Diagnostic("NOT_A_FUNCTION", message, fix="Write @tensor, without parentheses, above a `def`."))
    around = dict(sys._getframe(1).f_locals)  # pyright: ignore[reportPrivateUsage]
    return tensor_within(function, around)


def tensor_within(function: Callable[..., Any], around: Mapping[str, object]) -> TensorFunction:
    """Like `tensor`, for a function that was defined where these local variables were."""
    try:
        return TensorFunction(read_tensor(function, around))
    except UserError as error:
        kept = _broken.get()
        if kept is None:
            raise
        kept.append(BrokenTensor(function.__name__, error))
        return cast("TensorFunction", kept[-1])
