"""The run-time sizes at which a printed kernel means what its IR means: every index fits a C int, every launch is possible.

Computed from the expressions as they are printed, intermediate results included, and from the grid. Values of data are not
looked at here: they wrap, or round, as the proof's domain says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from warploom.core.launch import INT_MAX, MAX_GRID
from warploom.core.polynomials import Monomial, Polynomial, polynomial
from warploom.gpu.growth import Growths
from warploom.ir import IndexExpr, index_text


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Sizes >= 0 that meet all of these are safe."""

    most: tuple[tuple[str, int], ...]
    """The largest value of each size by itself."""
    together: tuple[Polynomial, ...] = ()
    """Each at most INT_MAX; whole coefficients, none negative."""
    unbounded: str = ""
    """An index without a known bound, or out of range at every size: then no size is known to be safe."""

    def holds(self, sizes: Mapping[str, int]) -> bool:
        """Whether these sizes are known to be safe."""
        alone = all(0 <= sizes[name] <= most for name, most in self.most)
        return not self.unbounded and alone and all(p.at(sizes) <= INT_MAX for p in self.together)

    @property
    def text(self) -> str:
        """`every n from 0 to 2147483585`, or with several sizes `every h from 0 to 262140 and w ... with h*w + 31*h < 2^31`."""
        sizes = " and ".join(f"{name} from 0 to {most}" for name, most in self.most)
        rest = " and ".join(f"{p} < 2^31" for p in self.together)
        return f"every {sizes}" + (f" with {rest}" if rest else "")


def size_limits(sizes: Iterable[str], growths: Growths, printed: Iterable[IndexExpr], grid: Iterable[IndexExpr]) -> SizeLimits:
    """Size limits of a kernel with these sizes whose text holds the expressions `printed`, launched on `grid`."""
    names = tuple(sizes)
    bounds: list[tuple[Polynomial, int]] = []
    for expr in dict.fromkeys(printed):
        growth = growths.of(expr)
        if growth.low is None or growth.high is None:
            return _unknown(names, expr)
        bounds += [(growth.high, INT_MAX), (growth.low.scaled(-1), INT_MAX + 1)]
    for axis, extent in enumerate(grid):
        high = growths.of(extent).high
        if high is None:
            return _unknown(names, extent)
        bounds.append((high, MAX_GRID[axis]))
    most = dict.fromkeys(names, INT_MAX)
    several: list[Polynomial] = []
    distinct = dict.fromkeys((_growing(b), n) for b, n in bounds)
    for bound, limit in distinct:
        used = bound.names
        if len(used) > 1:
            several.append(_whole(bound, limit))
        else:
            for name in used or names:
                most[name] = min(most[name], _largest(bound, limit, name))
    if min(most.values(), default=0) < 0:
        return SizeLimits(tuple((n, 0) for n in names), (), "an index or a grid that is too large at every size")
    return SizeLimits(tuple(most.items()), tuple(_needed(several, most)))


def _unknown(names: Iterable[str], expr: IndexExpr) -> SizeLimits:
    return SizeLimits(tuple((n, 0) for n in names), (), f"no bound is known for {index_text(expr)}")


def _growing(bound: Polynomial) -> Polynomial:
    """An upper bound that grows with every size: negative terms other than the constant left out."""
    return polynomial((m, c) for m, c in bound.terms if c > 0 or not m)


def _largest(bound: Polynomial, limit: int, name: str) -> int:
    """The largest size up to which whole numbers below a growing `bound` stay within `limit`; -1 if they never do."""
    low, high = -1, INT_MAX
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if bound.at({name: middle}) < limit + 1 else (low, middle - 1)
    return low


def _whole(bound: Polynomial, limit: int) -> Polynomial:
    """A bound with whole coefficients that is at most INT_MAX only where `bound` is at most `limit`."""
    scale = Fraction(INT_MAX, limit)
    return polynomial((m, Fraction(ceil(c * scale))) for m, c in bound.terms)


def _needed(bounds: list[Polynomial], most: Mapping[str, int]) -> list[Polynomial]:
    """Bounds that the sizes by themselves do not give: those of the same products as one, without those that others give."""
    groups: dict[frozenset[Monomial], Polynomial] = {}
    for bound in bounds:
        if bound.at(most) > INT_MAX:
            products = frozenset(m for m, _ in bound.terms if len(m) > 1)
            groups[products] = groups[products].above(bound) if products in groups else bound
    kept: list[Polynomial] = []
    for bound in sorted(groups.values(), key=lambda b: -len(b.terms)):
        if not any(other.plus(bound, -1).is_natural for other in kept):
            kept.append(bound)
    return kept
