"""Inner loops as machine code: Python functions over numbers and flat arrays, translated to C and compiled when first called.

Takes functions marked `entry` (called from Python) or `compiled` (called by those only). Gives the same functions, running as
C. The library is kept by the text of its C, so it is never older than its sources. Where there is no C compiler the functions
run as they stand, some hundred times slower. Open `entries.py` first, then `translation.py`.
"""

from warploom.solve.jit.entries import announced, compiled, compiled_seconds, entry

__all__ = ["announced", "compiled", "compiled_seconds", "entry"]
