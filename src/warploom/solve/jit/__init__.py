"""Inner loops as machine code: Python functions over numbers and flat arrays, translated to C and compiled when first called.

`entry` marks what Python calls, `compiled` what only they call. The library is kept by the text of its C, so it is never older
than its sources. Where there is no C compiler the functions run as they stand, some hundred times slower.
"""

from warploom.solve.jit.entries import announced, compiled, compiled_seconds, entry

__all__ = ["announced", "compiled", "compiled_seconds", "entry"]
