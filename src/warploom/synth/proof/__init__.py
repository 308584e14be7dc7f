"""Completed kernels at given sizes: the proof on symbols and the independent check.

Takes a kernel without holes, its spec and sizes. Gives a `Proof`, a `CheckResult`, and the verdict that follows from both. Open
`prove.py` first, then `check.py`, which runs kernel and spec on numbers.
"""
