"""Options for printing and compiling a nest, beyond what the nest decides."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.machines import nearest_architecture


@dataclass(frozen=True, slots=True)
class Options:
    arch: str = "sm_80"
    """Oldest machine the text must run on: below `sm_80` asynchronous copies go through registers."""
    approximate: bool = False
    """`exp` and `log` by ex2.approx and lg2.approx, f32 only."""
    contract: bool = False
    """The compiler may fuse a product and a sum that the nest keeps apart."""
    keep_loops: bool = True
    """Sequential loops stay loops; else the compiler may unroll them."""
    register_limit: int | None = None
    """Registers per thread; None: what the compiler likes, within what `blocks_together` leaves."""
    blocks_together: int | None = None
    """Blocks that one multiprocessor must have room for, as far as registers go; not with `register_limit`. None: one, said where
    a thread has many registers, since compilers store some of them to have room for more blocks otherwise."""

    @property
    def matrices(self) -> frozenset[str]:
        """Types of factors that whole warps multiply."""
        return nearest_architecture(self.arch).matrices

    @property
    def group_matrices(self) -> frozenset[str]:
        """Types of factors that groups of four warps multiply together."""
        return nearest_architecture(self.arch).group_matrices

    @property
    def has_async_copies(self) -> bool:
        return self._is_from(80)

    @property
    def has_extremes_with_nan(self) -> bool:
        """Whether an instruction gives the least or greatest of two f32, or NaN where one of them is. Source: PTX ISA 9.0,
        sections 9.7.3.11 and 9.7.3.12."""
        return self._is_from(80)

    def _is_from(self, number: int) -> bool:
        return int("".join(c for c in self.arch if c.isdigit())) >= number
