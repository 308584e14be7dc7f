"""How many runs a time takes, on kernels that only pretend."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import repeat

from warploom.schedule.cpu import Effort, retime, time_call


class Pretended:
    """Takes the seconds given, one after the other."""

    def __init__(self, walls: Iterator[float], busy: Callable[[float], float] = lambda wall: wall) -> None:
        self.walls, self.busy, self.runs = walls, busy, 0

    def run_timed(self, threads: int = 1, repeats: int = 1, samples: int = 1) -> tuple[tuple[float, float], ...]:
        self.runs += samples
        walls = [next(self.walls) for _ in range(samples)]
        return tuple((wall * repeats, self.busy(wall) * repeats) for wall in walls)


def test_a_calm_machine_needs_few_runs() -> None:
    timing = time_call(Pretended(repeat(0.002)), effort=Effort(min_s=10.0, max_s=20.0))
    assert (timing.samples, timing.median_ms, timing.is_early) == (10, 2.0, False)


def test_a_noisy_machine_gets_the_whole_effort() -> None:
    noise = (0.001 * (1 + n % 7) for n in range(10_000))
    timing = time_call(Pretended(noise), effort=Effort(min_s=1.0, max_s=2.0))
    assert 1.0 <= timing.samples * 0.004 < 1.1 and timing.best_ms == 1.0


def test_stops_when_surely_slower() -> None:
    kernel = Pretended(repeat(0.002))
    assert time_call(kernel, best_ms=1.5).is_early and kernel.runs == 4
    kernel = Pretended(repeat(0.02))
    assert time_call(kernel, best_ms=1.5).is_early and kernel.runs == 1


def test_a_cold_start_of_a_short_kernel_does_not_count() -> None:
    walls = iter([3e-5, *repeat(2e-6, 200_000)])
    timing = time_call(Pretended(walls), best_ms=0.002)
    assert not timing.is_early and abs(timing.best_ms - 0.002) < 1e-9
    slow = Pretended(repeat(3e-5))
    assert time_call(slow, best_ms=0.002).is_early and slow.runs == 4
    long = Pretended(repeat(0.01))
    assert time_call(long, best_ms=0.002).is_early and long.runs == 1


def test_a_disturbed_kernel_is_not_taken_for_a_slow_one() -> None:
    kernel = Pretended(repeat(0.02), busy=lambda wall: 0.001)
    timing = time_call(kernel, best_ms=1.0)
    assert not timing.is_early and timing.busy_ms == 1.0


def test_short_kernels_are_repeated() -> None:
    timing = time_call(Pretended(repeat(1e-6)), effort=Effort(sample_s=1e-4))
    assert timing.repeats == 100 and abs(timing.median_ms - 1e-3) < 1e-9


def test_turns() -> None:
    order: list[str] = []

    class Noted(Pretended):
        def __init__(self, name: str) -> None:
            super().__init__(repeat(0.01))
            self.name = name

        def run_timed(self, threads: int = 1, repeats: int = 1, samples: int = 1) -> tuple[tuple[float, float], ...]:
            order.append(self.name)
            return super().run_timed(threads, repeats, samples)

    timings = retime([Noted("a"), Noted("b"), Noted("c")], rounds=3)
    assert "".join(order) == "abc" + "abc" + "cba" + "abc"
    assert all(t.samples == 3 for t in timings)


def test_samples_of_many_runs_take_as_long_as_all_of_them() -> None:
    """Each of 10 us is run 100 times: a millisecond a sample."""
    noise = (1e-5 * (1 + n % 7) for n in range(1_000_000))
    pretended = Pretended(noise)
    timing = time_call(pretended, effort=Effort(min_s=0.01, max_s=0.05, sample_s=1e-3))
    assert timing.samples < 60 and pretended.runs < 100


def test_other_work_slows_whole_rounds() -> None:
    """Each kernel's times count against those of the others in their round: it is faster by a tenth, whatever the rounds took."""
    paces = [1.0, 1.0, 1.5, 1.0, 1.6, 1.7, 1.0]
    walls = iter([0.01, *(0.01 * pace for pace in paces)])
    others = iter([0.011, *(0.011 * pace for pace in paces)])
    one, other = retime([Pretended(walls), Pretended(others)], rounds=len(paces))
    assert abs(other.busy_ms / one.busy_ms - 1.1) < 1e-9
    walls = iter([0.01, *(0.01 * pace for pace in paces)])
    others = iter([0.011, *([0.011] * len(paces))])
    one, other = retime([Pretended(walls), Pretended(others)], rounds=len(paces))
    assert one.median_ms == 10.0 and abs(other.busy_ms / one.busy_ms - 1.1) < 1e-9
