"""Readers of sketches and specs.

Takes the syntax tree of a Python function. Gives kernel IR with holes, or a spec's statements. Open `kernels.py` first, then
`statements.py` and `expressions.py`.
"""

from warploom.sketch.parser import accumulators, calls, copies, functions, holes, transfers, votes  # register their words
from warploom.sketch.parser.kernels import SketchOptions, read_kernel
from warploom.sketch.parser.specs import parse_spec, unbounded_loops

__all__ = [
    "SketchOptions", "accumulators", "calls", "copies", "functions", "holes", "parse_spec", "read_kernel", "transfers",
    "unbounded_loops", "votes",
]  # fmt: skip
