"""Kernels that were found for functions that are called (`wl.jit`): searching, keeping, and `warploom kernels`.

Takes a tensor function and sizes. Gives the fastest kernels found, checked, from a store that only its user can write to. Open
`store.py` first, then `tuning.py`.
"""
