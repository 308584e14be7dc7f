"""Reads a user's loop or operator from Python source as expressions.

Takes a Python function of a file that has been run. Gives a `Loop` or a `Binary` of expressions, or an error at its place. Open
`subset.py` first, which says what Python is accepted, then `loop.py`.
"""
