"""`warploom ptx`: commands on PTX files.

Takes PTX files. Gives their checks, proofs, runs, traces, and rewritten files. Open `check.py` first: it reads files for all of
them.
"""
