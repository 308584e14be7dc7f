"""Modules whose answers are proofs, or judge them: every refusing branch in them must be the only reason of some test."""

from __future__ import annotations

from fnmatch import fnmatch

PROVERS = (
    "src/warploom/synth/prove.py", "src/warploom/synth/block.py", "src/warploom/synth/lanes.py", "src/warploom/synth/accesses.py",
    "src/warploom/synth/lift.py", "src/warploom/synth/generic_*.py", "src/warploom/synth/grids.py", "src/warploom/synth/sizes.py",
    "src/warploom/synth/uniform.py",
    "src/warploom/synth/coverage.py", "src/warploom/synth/judge.py", "src/warploom/synth/check.py",
    "src/warploom/synth/conditions.py", "src/warploom/synth/affine.py", "src/warploom/synth/symbolic.py",
    "src/warploom/synth/compiled/*.py",
    "src/warploom/ptx/verify.py", "src/warploom/ptx/shuffle/*.py",
    "src/warploom/scan/laws.py", "src/warploom/scan/prover.py", "src/warploom/scan/checking.py", "src/warploom/scan/neutral.py",
    "src/warploom/scan/cases.py", "src/warploom/scan/products.py", "src/warploom/scan/invariants.py",
    "src/warploom/scan/networks/induction.py", "src/warploom/scan/networks/generalise.py",
    "src/warploom/ir/verify.py", "src/warploom/ir/dataflow/replay.py", "src/warploom/schedule/nest/verify.py",
)  # fmt: skip
"""Patterns of paths."""


def is_prover(path: str) -> bool:
    """Whether the module is one of those."""
    return any(fnmatch(path, pattern) for pattern in PROVERS)
