"""Budgets and memory of a command, on a clock that the test turns."""

from __future__ import annotations

import gc
import os
import resource
import sys
import time
import weakref
from types import FrameType
from typing import Any

import pytest

from warploom.core import limits
from warploom.core.interned import WeaklyInterned
from warploom.core.limits import GRACE, LAST_GRACE, LimitReachedError, Limits, is_lost


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_spent_budget_ends_the_work_as_an_interruption_does_and_again_after_the_grace() -> None:
    clock = Clock()
    with Limits(10.0, clock=clock) as given, given.watched():
        clock.now += 9.9
        limits.tick()
        assert limits.left_s() == pytest.approx(0.1)
        clock.now += 0.1
        with pytest.raises(KeyboardInterrupt, match="budget: CPU seconds"):
            limits.tick()
        clock.now += 10 * GRACE - 0.01
        limits.tick()
        clock.now += 0.011
        with pytest.raises(LimitReachedError):
            limits.tick()
        clock.now += 10 * LAST_GRACE + 0.001
        with pytest.raises(LimitReachedError):
            limits.tick()


def test_what_is_reported_is_not_ended() -> None:
    clock = Clock()
    with Limits(1.0, clock=clock) as given:
        clock.now += 5
        limits.tick()
        with given.watched(), pytest.raises(LimitReachedError):
            limits.tick()
        limits.tick()


def test_without_limits_nothing_ends() -> None:
    limits.tick()
    assert limits.left_s() is None
    with Limits() as given, given.watched():
        limits.tick()
        assert limits.left_s() is None


def test_a_limit_holds_inside_its_block_only() -> None:
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with Limits(5.0, 1 << 33, clock=Clock()) as given:
        assert limits.current() is given
        assert resource.getrlimit(resource.RLIMIT_DATA) != before
    assert limits.current() is not given
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_too_large_an_allocation_is_a_memory_error() -> None:
    with Limits(memory_bytes=1 << 28), pytest.raises(MemoryError):
        bytearray(1 << 30)


def test_the_clock_counts_processes_that_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = limits.cpu_seconds()
    monkeypatch.setattr(limits, "children", {os.getpid(), 1 << 30})  # itself once more, and one that is gone
    assert limits.cpu_seconds() > alone + time.process_time() / 2


def test_why() -> None:
    assert limits.why(KeyboardInterrupt()) == "interrupted"
    assert limits.why(LimitReachedError("budget: CPU seconds")) == "budget: CPU seconds"


class _Argument:
    """An argument that ctypes converts while the clock is looked at."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits

    def from_param(self, value: object) -> int:
        self.limits._signalled(0, sys._getframe())
        return 0

    def _promote_fields(self, value: object) -> int:
        """The method that NumPy calls to compare arrays of structures."""
        self.limits._signalled(0, sys._getframe())
        return 0


@pytest.mark.parametrize("name", ["from_param", "_promote_fields"])
def test_an_argument_on_its_way_into_a_library_is_not_interrupted(name: str) -> None:
    times = iter((0.0, 9.0, 9.0))
    with Limits(1.0, clock=lambda: next(times)) as limits, limits.watched():
        assert getattr(_Argument(limits), name)(None) == 0
        with pytest.raises(LimitReachedError):
            limits._signalled(0, sys._getframe())


def test_a_table_that_forgets_a_node_is_not_interrupted() -> None:
    times = iter((0.0, 9.0, 9.0))

    class Node:
        pass

    class Table(WeaklyInterned[int, Node]):
        def get(self, key: int, default: Any = None) -> Any:  # where the signal arrives
            given._signalled(0, sys._getframe(1))
            return super().get(key, default)

    table = Table()
    with Limits(1.0, clock=lambda: next(times)) as given, given.watched():
        node = Node()
        table.keep(1, node)
        del node
        assert not table
        with pytest.raises(LimitReachedError):
            given._signalled(0, sys._getframe())


def test_a_callback_of_the_garbage_collector_is_not_interrupted() -> None:
    times = iter((0.0, 9.0, 9.0))
    called: list[str] = []

    def watching(phase: str, info: dict[str, int]) -> None:
        if not called:
            called.append(phase)
            given._signalled(0, sys._getframe())
            called.append("on")

    with Limits(1.0, clock=lambda: next(times)) as given, given.watched():
        gc.callbacks.append(watching)
        try:
            gc.collect()
        finally:
            gc.callbacks.remove(watching)
        assert called == ["start", "on"]
        with pytest.raises(LimitReachedError):
            given._signalled(0, sys._getframe())


class _Ending:
    def __init__(self, seen: list[bool]) -> None:
        self.seen = seen

    def __del__(self) -> None:
        self._deeper()

    def _deeper(self) -> None:
        self.seen.append(is_lost(sys._getframe()))


def test_the_end_of_an_object_is_not_interrupted_however_deep_it_is() -> None:
    seen: list[bool] = []
    ending = _Ending(seen)
    ending._deeper()
    del ending
    assert seen == [False, True]


@pytest.mark.parametrize("held_by", [weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary])
def test_the_end_of_a_weak_reference_is_not_interrupted(held_by: type) -> None:
    seen: list[bool] = []

    def watching(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            seen.append(is_lost(frame))

    kept = type("Kept", (), {})()
    holder = held_by()
    if held_by is weakref.WeakSet:
        holder.add(kept)
    else:
        holder.update([(kept, 1) if held_by is weakref.WeakKeyDictionary else (1, kept)])
    sys.setprofile(watching)
    del kept
    sys.setprofile(None)
    assert seen == [True] and not holder
