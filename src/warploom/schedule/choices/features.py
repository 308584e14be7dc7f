"""Decisions that are open beyond the tilings that the backbone lists."""

from __future__ import annotations

from dataclasses import dataclass

from warploom.schedule.targets import Target


@dataclass(frozen=True, slots=True)
class Features:
    outer_is_static: bool = True
    """The outermost part of an axis may be a thread, unrolled or vector loop and may lie in a temporary. The paper's has a size
    known at run time only: a loop or a block, merged wherever values travel along it."""
    exact: bool = False
    """Tiles divide their axis; else edges are predicated."""
    merges_axes: bool = False
    """Loops over different axes, or different levels, may be merged when their sizes agree."""
    shares_unrolled: bool = False
    """An unrolled loop may hold several instructions. The code is the same as that of several unrolled loops, one each."""
    orders_equal_loops: bool = False
    """Loops of one kind over levels of one axis may be nested in any order."""
    orders_siblings: bool = False
    """True if the order of two loops that do not depend on each other is a decision."""
    stages_results: bool = True
    """Results of arithmetic may travel through a temporary to other arithmetic, not only what was loaded."""
    stages_unshared: bool = True
    """Loads may travel through a temporary where each value has one use only."""
    partials: bool = True
    """Reductions may keep several partial results: unrolled, vector and thread loops."""
    shares_sums: bool = False
    """A reduced loop may be a block, if `partials`; for targets without threads."""
    keeps_totals: bool = False
    """Loops over results may lie inside those of their sum, if `partials`; for targets without threads."""
    pipelines: bool = True
    """Temporaries may be filled ahead of their use."""
    prefetches: bool = True
    """Loops of a CPU may fetch what later iterations read."""
    directions: bool = True
    """Kernels of a CPU may run backwards."""
    mirrors: bool = True
    """Kernels of a CPU may make a symmetric sum on one side of the diagonal alone."""
    swizzles: bool = True
    """Temporaries may be stored permuted against bank conflicts."""
    spreads: bool = True
    """All threads of a block may share out a copy to shared memory, whatever loops they have elsewhere."""
    windows: bool = True
    """Inputs of stencils and convolutions may be copied to shared memory as boxes with their edges."""
    warps: bool = True
    """Warps may lie along both axes of a product of matrices, and their threads along two levels."""
    budgets_registers: bool = True
    """The values that one thread holds must fit its registers."""

    @classmethod
    def paper(cls) -> Features:
        """The space of Beaugnon et al., section 4, as far as their published constraints go."""
        return cls(
            outer_is_static=False,
            exact=True,
            merges_axes=True,
            shares_unrolled=True,
            orders_equal_loops=True,
            orders_siblings=True,
            stages_results=False,
            partials=False,
            pipelines=False,
            prefetches=False,
            directions=False,
            mirrors=False,
            swizzles=False,
            spreads=False,
            windows=False,
            warps=False,
            budgets_registers=False,
        )

    @classmethod
    def full(cls) -> Features:
        """Everything, less what makes no difference to the code."""
        return cls()

    @classmethod
    def cpu(cls) -> Features:
        """Like `full`, less what the caches of a CPU do by themselves: neighbours need no common array to share what they
        load."""
        return cls(stages_unshared=False, shares_sums=True, keeps_totals=True)

    @classmethod
    def of(cls, target: Target) -> Features:
        return cls.full() if target.has_threads else cls.cpu()
