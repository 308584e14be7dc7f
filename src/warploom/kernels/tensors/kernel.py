"""A tensor function with the sizes to try it at and what it must compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, Unpack

from numpy.typing import NDArray

from warploom.core import to_numpy
from warploom.schedule.backbone import Program, Tiles, count_compulsory_bytes, count_flops, no_tiles, random_inputs
from warploom.schedule.frontend import ProgramOptions, TensorFunction

Array: TypeAlias = NDArray[Any]
Compute: TypeAlias = Callable[..., tuple[Array, ...]]


@dataclass(frozen=True, slots=True)
class TensorKernel:
    name: str
    function: TensorFunction
    sizes: Mapping[str, int]
    """Sizes to measure at."""
    compute: Compute
    """The same in NumPy: takes inputs and scalars by name, gives the outputs in the function's order."""
    parameters: Mapping[str, float] = field(default_factory=dict[str, float])
    """Scalars to try it with."""

    def program(
        self, sizes: Mapping[str, int] | None = None, tiles: Tiles = no_tiles, **options: Unpack[ProgramOptions]
    ) -> Program:  # fmt: skip
        """The kernels at these sizes, or the default ones for those left out; options as of `TensorFunction.program`."""
        return self.function.program(self.sizes_with(sizes), tiles, **options)

    def at_run_time(self, program: Program, multiples: Mapping[str, int], *, has_strides: bool = False) -> Program:
        """The same as `TensorFunction.at_run_time`."""
        return self.function.at_run_time(program, multiples, has_strides=has_strides)

    def sizes_with(self, sizes: Mapping[str, int] | None) -> dict[str, int]:
        return {**self.sizes, **(sizes or {})}

    def arrays(self, sizes: Mapping[str, int] | None = None, seed: int = 0) -> dict[str, Array]:
        """Random inputs, as `random_inputs` makes them."""
        return random_inputs(self.program(sizes).arguments, seed)

    def reference(self, arrays: Mapping[str, Array], parameters: Mapping[str, float] | None = None) -> dict[str, Array]:
        """The outputs by NumPy."""
        scalars = {
            p.name: to_numpy(p.dtype).type({**self.parameters, **(parameters or {})}[p.name]) for p in self.function.parameters
        }
        return dict(zip(self.function.outputs, self.compute(**arrays, **scalars), strict=True))

    def flops(self, sizes: Mapping[str, int] | None = None) -> int:
        """Arithmetic operations, an FMA counted twice."""
        return count_flops(self.program(sizes))

    def bytes(self, sizes: Mapping[str, int] | None = None) -> int:
        """Bytes of the elements that every schedule must move from and to memory."""
        return count_compulsory_bytes(self.program(sizes))
