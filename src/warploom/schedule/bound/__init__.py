"""Lower bound on the time of every implementation of a candidate, why it holds, and a guess for ordering."""

from warploom.schedule.bound.bound import Bound
from warploom.schedule.bound.explain import Explanation

__all__ = ["Bound", "Explanation"]
