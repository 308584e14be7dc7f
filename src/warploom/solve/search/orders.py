"""The orders of the one loop by name: which candidate is expanded next, and which answer is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar, assert_never

from warploom.solve.search.best_first import BestFirst, best_first
from warploom.solve.search.depth_first import depth_first
from warploom.solve.search.incumbent import Incumbent
from warploom.solve.search.mcts import Mcts, mcts
from warploom.solve.search.refine import Refine, refine
from warploom.solve.search.spending import Outcome

S = TypeVar("S")
A = TypeVar("A")
OrderName: TypeAlias = Literal["depth-first", "best-first", "mcts", "uct", "refine"]


@dataclass(frozen=True, slots=True)
class DepthFirst:
    """Nothing to choose: the model's order."""


Order: TypeAlias = DepthFirst | BestFirst | Mcts | Refine


def order_named(name: OrderName, seed: int = 0, batch: int = 1, patience: int | None = 40) -> Order:
    """`batch`: answers evaluated together; `patience`: of `refine`. An order that has no use for one takes no notice."""
    match name:
        case "depth-first":
            return DepthFirst()
        case "best-first":
            return BestFirst(batch=batch)
        case "mcts" | "uct":
            return Mcts(seed=seed, batch=batch, policy="tag" if name == "mcts" else "uct")
        case "refine":
            return Refine(seed=seed, batch=batch, patience=patience)
        case _:
            assert_never(name)


def run_order(incumbent: Incumbent[S, A], order: Order) -> Outcome[A]:
    match order:
        case DepthFirst():
            return depth_first(incumbent)
        case BestFirst():
            return best_first(incumbent, order)
        case Mcts():
            return mcts(incumbent, order)
        case Refine():
            return refine(incumbent, order)
        case _:
            assert_never(order)
