"""`warploom layout`, `check-layout` and `verify-certificate`: questions on layouts of tiles in shared memory.

Takes a tile, accesses and maps as texts. Gives report lines. Open `answers.py` first.
"""
