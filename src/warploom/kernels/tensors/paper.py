"""The four spaces of Beaugnon et al., Table 2: kernels, sizes and tilings of section 5.2."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.kernels.tensors.dense import DENSE
from warploom.schedule.backbone import Program, Scope, paper_tiles

_MATMUL_TILES = {"m": (32, 4), "n": (32, 4), "k": (32,)}


@dataclass(frozen=True, slots=True)
class PaperSpace:
    name: str
    """Name as in Table 2, without the signs."""
    kernel: str
    sizes: dict[str, int]
    maxima: dict[str, tuple[int, ...]]
    """Largest tile per level of an axis, outer to inner; the sizes are the divisors from 2 on."""

    def program(self) -> Program:
        """Tiles divide; the stored value goes to its store by registers, loaded values by any way."""
        kernel = next(k for k in DENSE if k.name == self.kernel)
        return kernel.program(self.sizes, paper_tiles(self.maxima), divisors_only=True, pointwise=Scope.LOCAL)


PAPER_SPACES = (
    PaperSpace("axpy", "axpy", {"n": 1 << 26}, {"n": (1024, 4)}),
    PaperSpace("matmul-256x256x32", "matmul", {"m": 256, "n": 256, "k": 32}, _MATMUL_TILES),
    PaperSpace("matmul-1024x1024x1024", "matmul", {"m": 1024, "n": 1024, "k": 1024}, _MATMUL_TILES),
    PaperSpace("strided-matmul", "matmul_strided", {"m": 1024, "n": 1024, "k": 1024}, _MATMUL_TILES),
)
