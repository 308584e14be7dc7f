"""Cases `cpu/NAME` of `warploom bench schedule`: the kernels that a search finds, timed in turns with NumPy and plain loops.

NumPy's threads are those of the environment that the process was started with; `bench schedule` sets them.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import UnsupportedError, bf16, to_numpy, words_of
from warploom.kernels.suites import NETWORKS, POLYBENCH
from warploom.kernels.tensors import TensorKernel, tensor_kernel
from warploom.schedule.backbone import Program, Role, count_flops
from warploom.schedule.bound import Bound
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import (
    CompiledNest,
    aligned_copy,
    compile_nest,
    host,
    plain_loop,
    plain_nest,
    sound_build,
    spread_of,
)
from warploom.schedule.search import KernelModel, replay
from warploom.tools.bench.schedule_names import SEARCH_S, SEEDS_NAME
from warploom.tools.bench.schedule_peers import NUMPY, Peer
from warploom.tools.command.lines import Line
from warploom.tools.command.outcome import Progress
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.kernel import explore_tensor
from warploom.tools.explore.options import KernelOptions, program_of

_SPIN_S = 0.05
"""Idle threads of NumPy and of kernels keep their cores that long."""
_ROUND_S = 0.03
"""Seconds of one competitor in one round."""
_RACE_S = 20.0
_LEAST_ROUNDS, _MOST_ROUNDS = 9, 31
_HOPELESS = 3.0
"""Peers this many times slower than the fastest run in one round only."""
NOISY = 1.25
"""A median that exceeds the least time by more is other processes' doing; the line says `disturbed` then."""
SEEDS_RATIO = 1.05
SUITE_RATIO = 1.1
"""Our time over the best peer's at most, for a kernel of PolyBench or of neural networks."""
_SEEDS_CASE = "cpu/matmul-1024"

Array = NDArray[Any]
Runner = Callable[[], float]
"""Runs a program once; seconds."""


@dataclass(frozen=True, slots=True)
class CpuCase:
    kernel: str
    bar: float | None = 1.0
    """Our time over the best peer's at most; None: no bar."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])


CASES: dict[str, CpuCase] = {
    "matmul-1024": CpuCase("matmul", 1 / 0.6),
    "matvec": CpuCase("matvec"),
    "gesummv": CpuCase("gesummv"),
    "atax": CpuCase("atax"),
    "matmul-strided": CpuCase("matmul_strided"),
    "matmul-batched": CpuCase("matmul_batched"),
    "stencil3d": CpuCase("stencil3d"),
    "softmax": CpuCase("softmax", None),
    "layer_norm": CpuCase("layer_norm", None),
    "dot": CpuCase("dot", None),
    "axpy": CpuCase("axpy", None, {"n": 1 << 24}),
    "conv2d": CpuCase("conv2d", None),
    "matmul_i8": CpuCase("matmul_i8", None),
    "matmul_bf16": CpuCase("matmul_bf16", None),
}


@dataclass(frozen=True, slots=True)
class Times:
    """Times of one competitor, milliseconds by round."""

    rounds: tuple[float, ...]
    cpu_ms: float
    """Least CPU time of all threads together, waiting for each other included."""

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def noise(self) -> float:
        return self.median / self.best


def measure(name: str, budget_s: float | None, threads: int, seed: int, stopwatch: Stopwatch, progress: Progress) -> Line:
    kernel, case = _case(name)
    options = _options(case, threads, budget_s, seed)
    line = explore_tensor(name, kernel, options, stopwatch, progress).line
    bar: Line = {} if case.bar is None else {"bar": {"time_over_peer": round(case.bar, 4)}}
    if line["status"] != "solved":
        return line | bar | {"as_expected": False}
    progress("timing beside NumPy and plain loops")
    program = program_of(kernel, options)
    arrays = _arrays(program, kernel, options)
    runners: dict[str, Runner] = {
        "ours": _found(line, program, options, arrays, kernel.parameters),
        **{f"numpy: {n}": partial(_timed, partial(peer, arrays, kernel.parameters)) for n, peer in _peers(kernel).items()},
    }
    runners |= _frameworks(name, arrays, kernel, threads)
    try:
        nests = [plain_loop(stage) for stage in program.plain.stages]
        runners["plain loop"] = _runner(nests, arrays, kernel.parameters, threads)
    except UnsupportedError as error:
        bar["no_plain_loop"] = error.diagnostics[0].message
    times = race(runners)
    our = times.pop("ours")
    peer_name, peer = min(times.items(), key=lambda item: item[1].best)
    over, best_over = our.median / peer.median, our.best / peer.best
    is_noisy = max(our.noise, peer.noise) > NOISY
    line |= {
        "searched_ms": line["time_ms"],
        "time_ms": round(our.median, 6),
        "gflops": round(count_flops(program) / (our.median * 1e6), 3),
        "peer": peer_name,
        "peer_ms": round(peer.median, 6),
        "peer_gflops": round(count_flops(program) / (peer.median * 1e6), 3),
        "median": round(our.median, 6),
        "runs": len(our.rounds),
        "spread": round(spread_of(our.rounds), 4),
        "disturbed": is_noisy,
        "peer_spread": round(spread_of(peer.rounds), 4),
        "time_over_peer": round(over, 4),
        "median_over_peer": round(ratio(our, peer), 4),
        "best_over_peer": round(best_over, 4),
        "best_ms": round(our.best, 6),
        "peer_best_ms": round(peer.best, 6),
        "judged_by": "median",
        "cpu_ms": round(our.cpu_ms, 6),
        "peer_cpu_ms": round(peer.cpu_ms, 6),
        "times_ms": {n: round(t.median, 6) for n, t in times.items()},
        "rounds": len(our.rounds),
        "numpy": np.__version__,
        "numpy_threads": os.environ.get("OPENBLAS_NUM_THREADS", "default"),
    }
    line.pop("gb_s", None)
    return line | bar | {"as_expected": over <= case.bar if case.bar is not None else True}


def _frameworks(name: str, arrays: Mapping[str, Array], kernel: TensorKernel, threads: int) -> dict[str, Runner]:
    """A kernel in PyTorch and as loops for Numba, where they are installed and somebody wrote it, on as many threads."""
    group, _, rest = name.partition("/")
    known = name if group == "cpu" else rest.rpartition("-")[0]
    scalars = {p.name: to_numpy(p.dtype).type(kernel.parameters[p.name]) for p in kernel.function.parameters}
    found: dict[str, Runner] = {}
    if find_spec("numba") is not None:
        from warploom.tools.bench.schedule_numba import NUMBA, in_numba

        if known in NUMBA:
            title, run = in_numba(known, arrays, scalars, threads)
            found[title] = partial(_timed, run)
    if find_spec("torch") is not None:
        from warploom.tools.bench.schedule_torch import TORCH, in_torch

        if known in TORCH:
            in_bf16 = [a.name for a in kernel.function.arrays if a.dtype == bf16]
            title, run = in_torch(known, arrays, kernel.parameters, threads, in_bf16)
            found[title] = partial(_timed, run)
    return found


def _case(name: str) -> tuple[TensorKernel, CpuCase]:
    group, _, rest = name.partition("/")
    if group == "cpu":
        return tensor_kernel(CASES[rest].kernel), CASES[rest]
    kernel, _, size = rest.rpartition("-")
    suite = {"polybench": POLYBENCH, "nn": NETWORKS}[group][kernel]
    return suite.kernel, CpuCase(kernel, SUITE_RATIO, suite.sizes[size])


def _peers(kernel: TensorKernel) -> Mapping[str, Peer]:
    """NumPy's ways to compute it. Where none is written with outputs in place, the reference, whose results are copied."""
    found = NUMPY.get(kernel.name)
    if found is not None:
        return found
    names = [a.name for a in kernel.function.arrays if a.role is Role.INPUT]

    def reference(arrays: Mapping[str, Array], scalars: Mapping[str, float]) -> None:
        for name, made in kernel.reference({n: arrays[n] for n in names}, scalars).items():
            arrays[name][...] = made.reshape(arrays[name].shape)

    return {"reference": reference}


def measure_seeds(
    name: str, budget_s: float | None, threads: int, seed: int, seeds: int, stopwatch: Stopwatch, progress: Progress
) -> Line:
    """The line of one case that `seeds` searches were made for, `seed` the seed of the first: their winners, timed in turns.

    `worst_over_best` is the greatest ratio of two winners' times: the median over the rounds, in each of which all of them run.
    """
    kernel, case = _case(_SEEDS_CASE if name == SEEDS_NAME else name)
    runners: dict[str, Runner] = {}
    arrays: dict[str, Array] = {}
    line: Line = {}
    for n in range(seed, seed + seeds):
        options = _options(case, threads, budget_s, n)
        line = explore_tensor(name, kernel, options, stopwatch, lambda text, n=n: progress(f"seed {n}: {text}")).line
        if line["status"] != "solved":
            return line | {"as_expected": False}
        program = program_of(kernel, options)
        arrays = arrays or _arrays(program, kernel, options)  # the same memory for all: where it lies makes a difference
        runners[str(n)] = _found(line, program, options, arrays, kernel.parameters)
    times = race(runners)
    worst = max(ratio(a, b) for a in times.values() for b in times.values())
    names = ("v", "case", "status", "verdict", "cases", "target", "threads", "dtype", "sizes")
    kept = {name: line[name] for name in names if name in line}  # a plain loop has no test cases
    usage = stopwatch.read()
    return kept | {
        "seconds": usage.seconds,
        "wall_s": usage.wall_s,
        "peak_mb": usage.peak_mb,
        "times_ms": {n: round(t.median, 6) for n, t in times.items()},
        "least_ms": {n: round(t.best, 6) for n, t in times.items()},
        "judged_by": "median",
        "runs": min(len(t.rounds) for t in times.values()),
        "spread": round(max(spread_of(t.rounds) for t in times.values()), 4),
        "disturbed": max(t.noise for t in times.values()) > NOISY,
        "worst_over_best": round(worst, 4),
        "bar": {"worst_over_best": SEEDS_RATIO},
        "as_expected": worst <= SEEDS_RATIO,
    }


def _options(case: CpuCase, threads: int, budget_s: float | None, seed: int) -> KernelOptions:
    return KernelOptions(
        target=host(threads), sizes=case.sizes, threads=threads, budget_s=SEARCH_S if budget_s is None else budget_s, seed=seed
    )


def _arrays(program: Program, kernel: TensorKernel, options: KernelOptions) -> dict[str, Array]:
    """Arrays of the whole program in their shapes, as NumPy holds them, inputs random; all begin with a cache line, as PyTorch's
    do."""
    given = kernel.arrays(options.sizes, options.seed)
    found: dict[str, Array] = {}
    for region in program.arguments:
        filled = np.zeros(region.shape, to_numpy(region.dtype))
        found[region.name] = aligned_copy(given[region.name] if region.role is Role.INPUT else filled)
    return found


def _found(
    line: Line, program: Program, options: KernelOptions, arrays: Mapping[str, Array], scalars: Mapping[str, float]
) -> Runner:
    """Runs what the line of a search says was found."""
    if line.get("kind") == "plain":  # nothing faster was found; as it was checked, while the peer may lose NaN and infinities
        stages = program.plain.stages
        flags = sound_build(*stages).flags
        return _runner([compile_nest(plain_nest(stage), flags=flags) for stage in stages], arrays, scalars, options.threads)
    return _ours(program, options, cast("dict[str, str]", line["decisions"]), arrays, scalars)


def _ours(
    program: Program,
    options: KernelOptions,
    decisions: Mapping[str, str],
    arrays: Mapping[str, Array],
    scalars: Mapping[str, float],
) -> Runner:
    """The implementations that `decisions` of all stages name."""
    nests: list[CompiledNest] = []
    before = options.taken_before(decisions)
    for stage in program.stages:
        prefix = f"{stage.name}/" if len(program.stages) > 1 else ""
        own = {
            name.removeprefix(prefix): value
            for name, value in decisions.items()
            if name.startswith(prefix) and name not in before
        }
        space = kernel_space(stage, options.target)
        nests.append(compile_nest(replay(KernelModel(space, Bound(space)), own).nest))
    return _runner(nests, arrays, scalars, options.threads)


def _runner(nests: Sequence[CompiledNest], arrays: Mapping[str, Array], scalars: Mapping[str, float], threads: int) -> Runner:
    held = {b.name: b.held[0] for nest in nests for b in nest.buffers if b.held[0].is_held}
    own = {name: a.reshape(-1) if name not in held else aligned_copy(words_of(held[name], a)) for name, a in arrays.items()}
    calls = [nest.call([own[b.name].reshape(-1) for b in nest.buffers], scalars) for nest in nests]
    return lambda: sum(call.run(threads) for call in calls)


def _timed(run: Callable[[], object]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def race(runners: Mapping[str, Runner]) -> dict[str, Times]:
    """All in turns, every other round in reverse order; each round's time is the median of its runs, the first left out."""
    first: dict[str, float] = {}
    cpu: dict[str, float] = {}
    for name, run in runners.items():
        run()
        time.sleep(_SPIN_S)
        taken, cpu[name] = _in_a_round(run)
        first[name] = min(taken)  # one run alone may find a core that sleeps, and a short kernel look hopeless
        time.sleep(_SPIN_S)
    least = min(first.values())
    found: dict[str, list[float]] = {name: [] for name in runners}
    running = [name for name in runners if name == "ours" or first[name] <= _HOPELESS * least]
    if len(running) == 1 and len(runners) > 1:  # all are hopeless, or the first runs were disturbed
        running.append(min((name for name in runners if name != "ours"), key=lambda name: first[name]))
    each_s = sum(max(_ROUND_S, first[n]) + first[n] + _SPIN_S for n in running)
    rounds = max(_LEAST_ROUNDS, min(_MOST_ROUNDS, int(_RACE_S / each_s)))
    for n in range(rounds):
        for name in running if n % 2 == 0 else reversed(running):
            time.sleep(_SPIN_S)
            runners[name]()
            taken, cpu_ms = _in_a_round(runners[name])
            cpu[name] = min(cpu[name], cpu_ms)
            found[name].append(1e3 * statistics.median(taken))
    return {name: Times(tuple(found[name]) or (1e3 * first[name],), cpu[name]) for name in runners}


def _in_a_round(run: Runner) -> tuple[list[float], float]:
    """Times of runs, one after the other for a round, at least one; the least CPU time of one, in milliseconds."""
    until, began = time.perf_counter() + _ROUND_S, time.process_time()
    taken: list[float] = []
    least = float("inf")
    while not taken or time.perf_counter() < until:
        taken.append(run())
        least, began = min(least, 1e3 * (time.process_time() - began)), time.process_time()
    return taken, least


def ratio(ours: Times, peer: Times) -> float:
    """The median over rounds of our time over the peer's; a hopeless peer ran once."""
    if len(ours.rounds) != len(peer.rounds):
        return ours.median / peer.median
    return statistics.median(a / b for a, b in zip(ours.rounds, peer.rounds, strict=True))
