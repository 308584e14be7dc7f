"""The networks of textbooks, from their definitions, one column at a time.

Harris places networks for 2^L columns by (l, f, t), l + f + t = L - 1: L + l steps, fan-out 2^f, 2^t wire tracks.
Source: D. Harris, "A taxonomy of parallel prefix networks", Asilomar 2003; HotPar 2011 has the base-3 form of Brent-Kung.
Knowles' networks combine overlapping intervals, as published: scans for idempotent operators only. `harris` gives, at the same
(l, f, t), networks without overlap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from warploom.core import Diagnostic, UserError
from warploom.scan.networks.network import Network, network

LARGEST_PARAMETER = 8
"""Levels of sparse networks and of blocks, and radices, in names."""
Pairs = list[tuple[int, int]]
"""(destination, source) of one step."""


def kogge_stone(columns: int) -> Network:
    return network(columns, _kogge_stone(columns))


def sklansky(columns: int) -> Network:
    return network(columns, _sklansky(columns))


def _kogge_stone(columns: int) -> Iterator[Pairs]:
    reach = 1
    while reach < columns:
        yield [(i, i - reach) for i in range(reach, columns)]
        reach *= 2


def _sklansky(columns: int) -> Iterator[Pairs]:
    """Halves are scanned on their own, then the last column of the left half goes to all of the right one."""
    half = 1
    while half < columns:
        starts = range(half, columns, 2 * half)
        yield [(i, start - 1) for start in starts for i in range(start, min(start + half, columns))]
        half *= 2


def _sparse(columns: int, levels: int, core: Callable[[int], Iterator[Pairs]]) -> Network:
    """`core` on every 2^levels-th column, between steps that gather into these columns and steps that spread from them."""
    stride = 2**levels
    up: list[Pairs] = []
    down: list[Pairs] = []
    for level in range(levels):
        step = 2**level
        up.append([(i, i - step) for i in range(2 * step - 1, columns, 2 * step)])
        down.append([(i, i - step) for i in range(3 * step - 1, columns, 2 * step)])
    chosen = range(stride - 1, columns, stride)
    middle = [[(chosen[a], chosen[b]) for a, b in step] for step in core(len(chosen))]
    return network(columns, [*up, *middle, *reversed(down)])


def brent_kung(columns: int) -> Network:
    return _sparse(columns, max(0, columns - 1).bit_length(), _kogge_stone)


def han_carlson(columns: int, levels: int = 1) -> Network:
    return _sparse(columns, levels, _kogge_stone)


def ladner_fischer(columns: int, levels: int = 1) -> Network:
    return _sparse(columns, levels, _sklansky)


def knowles(columns: int, fan_outs: Sequence[int]) -> Network:
    """Fan-out per step, the first step first: Harris' label [2,1,1,1] is (1, 1, 1, 2) here."""
    return network(columns, _knowles(columns, fan_outs))


def _knowles(columns: int, fan_outs: Sequence[int]) -> Iterator[Pairs]:
    reach = 1
    for fan_out in fan_outs:
        yield [(i, i // fan_out * fan_out - reach + fan_out - 1) for i in range(reach, columns)]
        reach *= 2


def harris(columns: int, sparse: int, spread: int) -> Network:
    """(l, f) = (sparse, spread), t from the size: scans of blocks of 2^f columns (Sklansky), then Kogge-Stone by blocks."""

    def core(width: int) -> Iterator[Pairs]:
        block = 2**spread
        yield from (step for step in _sklansky_blocks(width, block))
        reach = block
        while reach < width:
            yield [(i, i // block * block + block - 1 - reach) for i in range(reach, width)]
            reach *= 2

    return _sparse(columns, sparse, core)


def _sklansky_blocks(columns: int, block: int) -> Iterator[Pairs]:
    half = 1
    while half < min(block, columns):
        yield [(i, i - i % half - 1) for i in range(columns) if i % (2 * half) >= half]
        half *= 2


def radix_brent_kung(columns: int, radices: Sequence[int] = (3,)) -> Network:
    """Brent-Kung with groups of r: gather serially within groups of 3, then of 9, ...; radices are used in turn (mixed radix)."""
    spans = [1]
    while spans[-1] < columns:
        spans.append(spans[-1] * radices[(len(spans) - 1) % len(radices)])
    up: list[Pairs] = []
    down: list[Pairs] = []
    for small, large in pairwise(spans):
        parts = range(2, large // small + 1)
        up += ([(i, i - small) for i in range(part * small - 1, columns, large)] for part in parts)
        ends = range(large - 1, columns, large)
        down.append([(i, end) for end in ends for i in range(end + small, min(end + large, columns), small)])
    return network(columns, [*up, *reversed(down)])


NAMED: dict[str, Callable[[int], Network]] = {
    "kogge-stone": kogge_stone,
    "sklansky": sklansky,
    "brent-kung": brent_kung,
    "han-carlson": han_carlson,
    "han-carlson-2": lambda n: han_carlson(n, 2),
    "ladner-fischer": ladner_fischer,
    "ladner-fischer-2": lambda n: ladner_fischer(n, 2),
    "harris-0-1": lambda n: harris(n, 0, 1),
    "harris-0-2": lambda n: harris(n, 0, 2),
    "harris-1-1": lambda n: harris(n, 1, 1),
    "knowles-1112": lambda n: knowles(n, _last_doubled(n)),
    "knowles-1122": lambda n: knowles(n, [min(max(1, 2**k // 2), 2) for k in range(_levels(n))]),
    "knowles-1124": lambda n: knowles(n, [max(1, 2**k // 2) for k in range(_levels(n))]),
    "knowles-1248": lambda n: knowles(n, [2**k for k in range(_levels(n))]),
    "bk3": lambda n: radix_brent_kung(n, (3,)),
    "bk4": lambda n: radix_brent_kung(n, (4,)),
    "bk2x3": lambda n: radix_brent_kung(n, (2, 3)),
}
"""By name; `harris-1-1` is the network (1, 1, 1) at 16 columns, new in Harris' paper."""


_FAMILIES: tuple[tuple[str, Callable[[tuple[int, ...]], Callable[[int], Network]]], ...] = (
    (r"han-carlson-(\d+)", lambda k: lambda n: han_carlson(n, k[0])),
    (r"ladner-fischer-(\d+)", lambda k: lambda n: ladner_fischer(n, k[0])),
    (r"harris-(\d+)-(\d+)", lambda k: lambda n: harris(n, k[0], k[1])),
    (r"bk([2-8](?:x[2-8])*)", lambda k: lambda n: radix_brent_kung(n, k)),
)


def named_network(name: str, fix: str = "Use one of these names.") -> Callable[[int], Network]:
    """The definition called `name`, by number of columns: one of `NAMED`, or han-carlson-K, ladner-fischer-K, harris-L-F, bkR,
    bkRxS... (radices in turn). UserError for another name; `fix` says what else would do."""
    if name in NAMED:
        return NAMED[name]
    for pattern, family in _FAMILIES:
        match = re.fullmatch(pattern, name)
        if match is not None:
            numbers = [int(number) for group in match.groups() for number in group.split("x")]
            if max(numbers) <= LARGEST_PARAMETER:
                return family(tuple(numbers))
    known = ", ".join(NAMED)
    message = f"expected the name of a network ({known}; han-carlson-K, ladner-fischer-K, harris-L-F, bkR, bkRxS), got {name!r}"
    raise UserError(Diagnostic("UNKNOWN_NETWORK", message, fix=fix))


def _levels(columns: int) -> int:
    return max(0, columns - 1).bit_length()


def _last_doubled(columns: int) -> list[int]:
    return [1] * max(0, _levels(columns) - 1) + [2] * min(1, _levels(columns))
