"""Lower bound on the time of every implementation of a candidate, why it holds, and a guess for ordering.

Takes a candidate, which may be partly decided, and its target. Gives a time in milliseconds that no implementation of it beats
(`Bound`), and an explanation of what it is made of. Open `bound.py` first, then `explain.py`.
"""

from warploom.schedule.bound.bound import Bound
from warploom.schedule.bound.explain import Explanation

__all__ = ["Bound", "Explanation"]
