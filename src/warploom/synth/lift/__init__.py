"""Completed kernels at every size.

Takes a kernel without holes and its spec. Gives a `LiftResult`: the claim proved with the sizes for which it holds, or the
reason why not. One generic block is run on symbols, and its stores are matched with the cells of the spec. Open `lift.py`
first.
"""
