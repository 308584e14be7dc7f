"""Whole kernels as partially specified implementations: choices, constraints, lower bound, search, code.

Takes a tensor function and a target. Gives the fastest implementation found, as C or CUDA C++, with its lower bound and time.
Open `search/explore.py` first; the way of a kernel is `frontend`, `backbone`, `choices`, `search`, `nest`, then `cpu` or
`cuda`.
"""
