"""The fewest operations of a network with a given depth, by clauses: lows of all cells after every step, one flag per value.

Source: M. Snir, "Depth-size trade-offs for parallel prefix computation", 1986, for the bound that needs no search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from warploom.scan.networks.network import Dot, Network
from warploom.solve import ClauseSession, Sat, Unsat

RLIMIT = 200_000_000


@dataclass(frozen=True, slots=True)
class Fewest:
    """The smallest network found."""

    network: Network
    lower_bound: int
    status: Literal["proved", "best found"]
    """proved: no network of this depth, or less, has fewer operations."""


def fewest(columns: int, depth: int, rlimit: int = RLIMIT) -> Fewest | None:
    """Smallest in-place network with at most `depth` steps; None: there is none (depth below log2 columns), or none was found."""
    if columns > 2**depth:
        return None
    lower = max(columns - 1, 2 * columns - 2 - depth)
    most = columns * depth
    best: Network | None = None
    while best is None or best.size > lower:
        session = _Session(columns, depth, most, rlimit)
        found = session.network()
        match found:
            case Network():
                best, most = found, found.size - 1
                # From above, then at the bound: most of the work is between.
                if most > lower and columns > 4 and best.size - lower > 8:
                    most = (best.size + lower) // 2
            case Unsat() if best is not None and most < best.size - 1:
                lower, most = most + 1, best.size - 1
            case Unsat():
                return best and Fewest(best, best.size, "proved")
            case _:
                return best and Fewest(best, lower, "best found")
    return Fewest(best, lower, "proved")


class _Session:
    """Networks with at most `most` dots."""

    def __init__(self, columns: int, depth: int, most: int, rlimit: int) -> None:
        self._columns, self._depth, self._rlimit = columns, depth, rlimit
        self._clauses = ClauseSession(rlimit)
        # low[column][step][first]: the cell holds first..column after that many steps.
        self._low = [[[self._clauses.flag() for _ in range(column + 1)] for _ in range(depth + 1)] for column in range(columns)]
        self._active = [[self._clauses.flag(f"{column} {step}") for step in range(depth)] for column in range(columns)]
        for column in range(columns):
            self._column(column)
        self._clauses.at_most(most, [flag for flags in self._active[1:] for flag in flags])

    def network(self) -> Network | Unsat | None:
        """None: not decided within the budget."""
        answer = self._clauses.check(rlimit=self._rlimit)
        if not isinstance(answer, Sat):
            return answer if isinstance(answer, Unsat) else None
        low = list(range(self._columns))
        steps: list[tuple[Dot, ...]] = []
        for step in range(self._depth):
            active = [column for column in range(self._columns) if low[column] and answer.model[f"{column} {step}"]]
            steps.append(tuple(Dot(column, low[column] - 1) for column in active))
            low = [low[low[c] - 1] if c in active else low[c] for c in range(self._columns)]
        return Network(self._columns, tuple(step for step in steps if step))

    def _column(self, column: int) -> None:
        add, low, active = self._clauses.add, self._low[column], self._active[column]
        add(low[0][column])
        add(low[self._depth][0])
        for step, firsts in enumerate(low):
            self._clauses.exactly(1, firsts)
            for first, flag in enumerate(firsts):
                if column - first + 1 > 2**step:
                    add(-flag)
        for step, moves in enumerate(active):
            add(-low[step][0], -moves)
            for first in range(column + 1):
                here = low[step][first]
                add(-here, moves, low[step + 1][first])
                for new in range(first):
                    add(-here, -moves, -self._low[first - 1][step][new], low[step + 1][new])
