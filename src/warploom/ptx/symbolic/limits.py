"""Bounds of the special registers that hold for every launch of a kernel."""

from __future__ import annotations

from dataclasses import dataclass

LANES = 32


@dataclass(frozen=True, slots=True)
class LaunchLimits:
    """Inclusive bounds on a launch; by default those of every device (CUDA Programming Guide, technical specifications).

    A kernel's own `.reqntid` and `.maxntid` are applied by `emulate`.
    """

    block_min: tuple[int, int, int] = (1, 1, 1)
    """Fewest threads in x, y, z."""
    block_max: tuple[int, int, int] = (1024, 1024, 64)
    """Most threads in x, y, z."""
    threads_max: int = 1024
    """Most threads in a block."""
    grid_max: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    """Most blocks in x, y, z."""

    @property
    def whole_rows(self) -> bool:
        """Every warp lies within one row of its block, and the lane is `tid.x` modulo 32.

        True where the block's width is known to be a multiple of 32, or the block to be one row.
        """
        exact = self.block_min[0] == self.block_max[0] and self.block_max[0] % LANES == 0
        return exact or self.block_max[1:] == (1, 1)

    def bounds(self, name: str) -> tuple[int, int] | None:
        """Bounds of a special register; None if nothing is known. `away` is the distance to another lane."""
        root, _, axis = name.partition(".")
        if axis in ("x", "y", "z"):
            n = "xyz".index(axis)
            block = min(self.block_max[n], self.threads_max)
            known = {
                "tid": (0, block - 1),
                "ntid": (self.block_min[n], block),
                "ctaid": (0, self.grid_max[n] - 1),
                "nctaid": (1, self.grid_max[n]),
                "cluster_ctaid": (0, 31),
                "cluster_nctaid": (1, 32),
            }
            return known.get(root)
        return {
            "laneid": (0, LANES - 1),
            "warpid": (0, 63),
            "nwarpid": (1, 64),
            "WARP_SZ": (LANES, LANES),
            "away": (-(LANES - 1), LANES - 1),
        }.get(name)
