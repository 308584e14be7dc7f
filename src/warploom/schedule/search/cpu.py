"""Kernels measured on this machine's CPU."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread

from warploom.core import bf16, element_of, words_of
from warploom.core.limits import tick
from warploom.schedule.backbone import Backbone, Program
from warploom.schedule.cpu import CompiledNest, Crashed, Effort, MeasureWorker, Timing, c_source, compile_nest
from warploom.schedule.nest import Kind, Loop, Nest, Node
from warploom.schedule.search.arrays import Arrays, difference, held, program_arrays, random_arrays, scalar_values, with_outputs
from warploom.schedule.search.evaluate import CAREFUL_ROUNDS, Measurement, Timed, Unfit, device_turn
from warploom.solve import Failed, Finished, Task, available_cpus, run_tasks

_QUICK = Effort(min_s=0.03, max_s=1.0)
_S_PER_CHARACTER = 2.5e-5
"""Seconds of GCC for a kernel, by the length of its text."""
_MOST_CHARACTERS = 700
"""Characters that a statement is printed with, at most: guards, and both sides of a halved sum."""
_DISTURBED = 1.4
"""Other work on the machine makes a kernel slower by up to this factor for seconds."""
_ROUNDS, _MORE_ROUNDS = 3, 8
"""Turns in which a kernel and the best one are timed beside each other; more of them where it is not far behind."""
_FAR = 1.1
"""A kernel is far behind if it is slower than the best one by more than this factor."""
_LEAST_MS = 1e-9
_LOOK_S = 0.1
"""Between two looks at what ends a search while it waits for compilers."""
_PER_CPU = 2
"""Kernels compiled at once for each core, before any of them is measured."""


class CpuEvaluator:
    """Nothing else runs while a kernel is measured: compiling comes first, on all cores or the executor's workers, which share
    this machine's files."""

    def __init__(
        self,
        backbone: Backbone,
        *,
        threads: int = 1,
        executor: Executor | None = None,
        reference: Arrays | None = None,
        tolerance: float = 1e-3,
        allowed: Arrays | None = None,
        arrays: Arrays | None = None,
        scalars: Mapping[str, float] | None = None,
    ) -> None:
        """`reference`: the outputs for `arrays` (by default random ones), compared with those of the fastest kernels;
        `tolerance` is relative to the reference's largest element, `allowed` says in its place how far each one may be off."""
        self._threads = threads
        self._executor = executor
        self._reference = reference
        self._tolerance = tolerance
        self._allowed = allowed
        given = with_outputs(backbone, random_arrays(backbone) if arrays is None else arrays)
        self._regions = backbone.regions
        self._arrays = {r.name: words_of(element_of(r.dtype), given[r.name]) for r in backbone.regions}
        self._scalars = dict(scalars) if scalars is not None else scalar_values(backbone)
        self._worker: MeasureWorker | None = None
        self._rival: tuple[CompiledNest, float] | None = None
        """The best kernel that was measured here, and its time."""

    @property
    def name(self) -> str:
        return f"cpu-{self._threads}"

    @contextmanager
    def open(self) -> Generator[None]:
        """Once more while it is open, nothing is started."""
        if self._worker is not None:
            yield
            return
        with MeasureWorker(list(self._arrays.values())) as worker:
            worker.start()
            self._worker = worker
            try:
                yield
            finally:
                self._worker = None

    def effort_s(self, nest: Nest, most_s: float) -> float:
        most_written_s = _S_PER_CHARACTER * _MOST_CHARACTERS * _written(nest.body)
        return most_written_s if most_written_s <= most_s else _S_PER_CHARACTER * len(c_source(nest).text)

    def measure(self, nests: Sequence[Nest], best_ms: float | None) -> Iterator[tuple[int, Measurement]]:
        """As many at a time as the compilers of this machine take at once, so that the first ones are known early."""
        first = 0
        while first < len(nests):
            last = first + available_cpus() * (1 if best_ms is None else _PER_CPU)
            for position, measurement in self._measured(nests[first:last], best_ms):
                if isinstance(measurement, Timed) and (best_ms is None or measurement.judged_ms < best_ms):
                    best_ms = measurement.judged_ms
                yield first + position, measurement
            first = last

    def _measured(self, nests: Sequence[Nest], best_ms: float | None) -> Iterator[tuple[int, Measurement]]:
        compiled: list[tuple[int, CompiledNest]] = []
        for position, built in self._built(nests):
            if isinstance(built, Unfit):
                yield position, built
            else:
                compiled.append((position, built))
        for position, kernel in sorted(compiled, key=lambda c: c[0]):
            measurement = self._timed(kernel, best_ms)
            if isinstance(measurement, Timed) and (best_ms is None or measurement.judged_ms < best_ms):
                if wrong := self._wrong(kernel):
                    measurement = Unfit(wrong)
                else:
                    best_ms = measurement.judged_ms
                    self._rival = kernel, best_ms
            yield position, measurement

    def _timed(self, kernel: CompiledNest, best_ms: float | None) -> Measurement:
        """A kernel that is not surely slow is timed beside the best one of this search, and counts as its time says against that
        one's: other work on the machine slows both alike, often for seconds."""
        rival = self._rival
        near_ms = best_ms if best_ms is None or rival is None else best_ms * _DISTURBED
        worker = self._open_worker()
        with device_turn("cpu"):
            timing = worker.time(kernel, self._scalars, threads=self._threads, effort=_QUICK, best_ms=near_ms)
            if isinstance(timing, Crashed) or timing.is_early or rival is None:
                return _least(timing)
            rivals = [kernel, rival[0]]
            both = worker.retime(rivals, self._scalars, threads=self._threads, rounds=_ROUNDS)
            if not isinstance(both, Crashed) and both[0].busy_ms <= _FAR * both[1].busy_ms:
                both = worker.retime(rivals, self._scalars, threads=self._threads, rounds=_MORE_ROUNDS)
        if isinstance(both, Crashed):
            return Unfit(both.reason)
        own, its = both
        share = rival[1] / max(its.busy_ms, _LEAST_MS)
        return Timed(own.best_ms, busy_ms=share * own.busy_ms)

    def retime(self, nests: Sequence[Nest], rounds: int = CAREFUL_ROUNDS) -> Sequence[Measurement]:
        found: dict[int, Measurement] = {}
        kernels: dict[int, CompiledNest] = {}
        for position, built in self._built(nests):
            if isinstance(built, Unfit):
                found[position] = built
            elif wrong := self._wrong(built):
                found[position] = Unfit(wrong)
            else:
                kernels[position] = built
        found |= zip(kernels, self._retimed(list(kernels.values()), rounds), strict=True)
        return [found[n] for n in range(len(nests))]

    def _retimed(self, kernels: Sequence[CompiledNest], rounds: int) -> list[Measurement]:
        if not kernels:
            return []
        with device_turn("cpu"):
            timings = self._open_worker().retime(kernels, self._scalars, threads=self._threads, rounds=rounds)
        if isinstance(timings, Crashed) and len(kernels) > 1:
            # One that crashes or hangs is no fault of the others.
            return [measurement for kernel in kernels for measurement in self._retimed([kernel], rounds)]
        return _medians(timings, len(kernels))

    def _built(self, nests: Sequence[Nest]) -> Iterator[tuple[int, CompiledNest | Unfit]]:
        if self._executor is None:
            yield from self._built_here(nests)
            return
        tasks = [Task(str(n), nest) for n, nest in enumerate(nests)]
        for result in run_tasks(tasks, compile_nest, executor=self._executor):
            match result:
                case Finished(task=task, value=value):
                    yield int(task.key), value
                case Failed(task=task, reason=reason):
                    yield int(task.key), Unfit(reason)

    def _built_here(self, nests: Sequence[Nest]) -> Iterator[tuple[int, CompiledNest | Unfit]]:
        """By threads that start the compiler: no process of Python has to start first. Nobody waits for them in the end."""
        results: SimpleQueue[tuple[int, CompiledNest | Unfit]] = SimpleQueue()
        free = Semaphore(available_cpus())

        def build(position: int, nest: Nest) -> None:
            with free:
                try:
                    results.put((position, compile_nest(nest)))
                except Exception as error:
                    results.put((position, Unfit(f"{type(error).__name__}: {error}")))

        for position, nest in enumerate(nests):
            Thread(target=build, args=(position, nest), daemon=True).start()
        left = len(nests)
        while left:
            try:
                yield results.get(timeout=_LOOK_S)
                left -= 1
            except Empty:
                tick()

    def _wrong(self, kernel: CompiledNest) -> str:
        """Difference of the results from the reference; empty if there is none."""
        if self._reference is None:
            return ""
        worker = self._open_worker()
        with device_turn("cpu"):
            ran = worker.run(kernel, self._scalars, threads=self._threads)
        if isinstance(ran, Crashed):
            return ran.reason
        results = held(self._regions, dict(zip(self._arrays, worker.shared, strict=True)))
        in_bf16 = {r.name for r in self._regions if r.dtype == bf16 and self._tolerance}
        return difference(results, self._reference, self._tolerance, in_bf16, self._allowed)

    def _open_worker(self) -> MeasureWorker:
        assert self._worker is not None, "measured outside `open`"
        return self._worker


class CpuPrograms:
    """Whole programs timed: their kernels one after the other, on arrays that they share."""

    def __init__(self, program: Program, *, threads: int = 1, arrays: Arrays, scalars: Mapping[str, float]) -> None:
        """`arrays`: those that the program reads, by name."""
        self._threads = threads
        self._scalars = dict(scalars)
        self._arrays = program_arrays(program, arrays)
        self._names = list(self._arrays)

    def retime(self, variants: Sequence[Sequence[Nest]]) -> Sequence[Measurement]:
        """Times each variant, a nest for each stage, interleaved. A kernel that crashes makes all of them unfit."""
        programs = [[self._step(nest) for nest in nests] for nests in variants]
        with MeasureWorker(list(self._arrays.values())) as worker, device_turn("cpu"):
            timings = worker.retime_programs(programs, self._scalars, threads=self._threads)
        return _medians(timings, len(variants))

    def _step(self, nest: Nest) -> tuple[CompiledNest, tuple[int, ...]]:
        kernel = compile_nest(nest)
        return kernel, tuple(self._names.index(buffer.name) for buffer in kernel.buffers)


def _medians(timings: Sequence[Timing] | Crashed, count: int) -> list[Measurement]:
    if isinstance(timings, Crashed):
        return [Unfit(timings.reason)] * count
    return [
        Timed(t.median_ms, busy_ms=t.busy_ms, runs=t.samples * t.repeats, spread=t.spread, least_ms=t.best_ms) for t in timings
    ]


def _written(nodes: Sequence[Node]) -> int:
    """Statements, with their copies where loops are written out."""
    return sum((n.size if n.kind is Kind.UNROLL else 1) * _written(n.body) if isinstance(n, Loop) else 1 for n in nodes)


def _least(timing: Timing | Crashed) -> Measurement:
    """The least of the times: what other processes disturb the least."""
    return Unfit(timing.reason) if isinstance(timing, Crashed) else Timed(timing.best_ms, timing.is_early, timing.busy_ms)
