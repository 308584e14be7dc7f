"""Finite-domain search shared by every open decision; the SMT layer. Knows no IR."""

from warploom.solve.driver import (
    Alternative,
    Budget,
    Cost,
    Goal,
    Model,
    Outcome,
    Statistics,
    Strategy,
    declared_order,
    search,
    smallest_domain,
)
from warploom.solve.finite import FiniteModel

__all__ = [
    "Alternative",
    "Budget",
    "Cost",
    "FiniteModel",
    "Goal",
    "Model",
    "Outcome",
    "Statistics",
    "Strategy",
    "declared_order",
    "search",
    "smallest_domain",
]
