"""Times of repeated launches as lines have them: their median and quartiles, in milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from statistics import quantiles

from warploom.gpu import Timing

Figures = dict[str, float]


def figures(times: Timing | Sequence[float]) -> Figures:
    """`median_ms`, and `low_ms` and `high_ms`, between which half of the launches are."""
    if isinstance(times, Timing):
        (low, high), middle = times.quartiles_ms, times.median_ms
    else:
        low, middle, high = quantiles(times, n=4, method="inclusive") if len(times) > 1 else [*times] * 3
    return {"median_ms": round(middle, 5), "low_ms": round(low, 5), "high_ms": round(high, 5)}


def total(parts: Iterable[Figures]) -> Figures:
    """Kernels one after the other."""
    found = list(parts)
    return {name: round(sum(part[name] for part in found), 5) for name in ("median_ms", "low_ms", "high_ms")}


def torch_figures(call: Callable[[], object], repeats: int = 20, warm_up: int = 3) -> Figures:
    """Calls of PyTorch, by its events."""
    cuda, found = import_module("torch").cuda, list[float]()
    for _ in range(warm_up + repeats):
        begin, end = (cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        cuda.synchronize()
        found.append(begin.elapsed_time(end))
    return figures(found[warm_up:])
