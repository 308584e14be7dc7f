"""Modules whose answers are proofs, or judge them: every refusing branch in them must be the only reason of some test."""

from __future__ import annotations

from fnmatch import fnmatch

PROVERS = (
    "src/warploom/synth/proof/prove.py",
    "src/warploom/synth/proof/block.py",
    "src/warploom/synth/proof/lanes.py",
    "src/warploom/synth/proof/accesses.py",
    "src/warploom/synth/lift/lift.py",
    "src/warploom/synth/lift/generic_*.py",
    "src/warploom/synth/search/grids.py",
    "src/warploom/synth/lift/sizes.py",
    "src/warploom/synth/lift/uniform.py",
    "src/warploom/synth/lift/coverage.py",
    "src/warploom/synth/proof/judge.py",
    "src/warploom/synth/proof/check.py",
    "src/warploom/synth/lift/conditions.py",
    "src/warploom/synth/lift/affine.py",
    "src/warploom/synth/lift/choices.py",
    "src/warploom/synth/proof/symbolic.py",
    "src/warploom/synth/compiled/*.py",
    "src/warploom/ptx/verify.py",
    "src/warploom/ptx/launches/*.py",
    "src/warploom/ptx/shuffle/*.py",
    "src/warploom/scan/operators/laws.py",
    "src/warploom/scan/operators/prover.py",
    "src/warploom/scan/operators/checking.py",
    "src/warploom/scan/operators/neutral.py",
    "src/warploom/scan/operators/cases.py",
    "src/warploom/scan/operators/products.py",
    "src/warploom/scan/operators/invariants.py",
    "src/warploom/scan/networks/induction.py",
    "src/warploom/scan/networks/generalise.py",
    "src/warploom/ir/kernel/verify.py",
    "src/warploom/ir/dataflow/replay.py",
    "src/warploom/schedule/nest/verify.py",
    "src/warploom/schedule/backbone/joined.py",
    "src/warploom/schedule/backbone/window.py",
    "src/warploom/schedule/backbone/repetitions.py",
    "src/warploom/schedule/backbone/region_places.py",
    "src/warploom/schedule/backbone/gathered.py",
    "src/warploom/tools/explore/every_block.py",
    "src/warploom/tools/explore/every_size.py",
    "src/warploom/tools/explore/every_length.py",
    "src/warploom/tools/explore/summed.py",
    "src/warploom/tools/explore/representatives.py",
)
"""Patterns of paths."""


def is_prover(path: str) -> bool:
    """Whether the module is one of those."""
    return any(fnmatch(path, pattern) for pattern in PROVERS)
