"""Launches of Triton's and Numba's kernels that run in the interpreter instead of on a GPU, where `WARPLOOM_RUN=1` is set.

Takes the user's program as it is: `kernel[grid](...)` of Triton, `kernel[grid, block](...)` of Numba. Gives the arrays as a GPU
would leave them, or raises with the mistakes of the launch. `activate` is called by `import warploom` and by the pytest plugin.
It imports neither package: their launches are replaced when the user's program imports them, or at once if it already has.
Open `hooks.py` first.
"""

from warploom.tools.lint.drop_in.hooks import activate, activated

__all__ = ["activate", "activated"]
