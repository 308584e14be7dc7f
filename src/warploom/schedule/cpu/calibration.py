"""Rates of this machine: the figures from which a bound or an estimate of CPU nests is made."""

from __future__ import annotations

import ctypes
import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from warploom.core.compiler import build_library, machine_text, the_compiler
from warploom.core.private import default_cache_path
from warploom.schedule.cpu.team import Job, entry_of, packaged, run_job
from warploom.solve import Json, ResultCache

_SYSFS = Path("/sys/devices/system/cpu")
_CACHES = {1: 32 << 10, 2: 512 << 10, 3: 8 << 20}
"""Bytes where the system does not tell."""
_LARGEST = 192 << 20
_KINDS = ("fma", "mul", "add", "max", "load", "store")
_WORDS = ("load_word", "store_word")
_WORD_BYTES = 8
_WIDTHS = (4, 16, 32, 64)
_WINDOWS = 5
"""Number of windows in which the bandwidth of the memory, which other machines share, is measured."""
_PAUSE_S = 0.03
_FLAGS = ("-O2", "-ffp-contract=fast")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Rates are those of one thread while all `threads` run the same; GB are 1e9 bytes."""

    threads: int
    cores: int
    vector_bytes: int
    has_fma: bool
    clock_ghz: float
    """Dependent integer additions per ns."""
    fma_gflops: float
    """Rate in f32, of the widest vectors, in registers."""
    bf16_dots: float
    """Instructions per ns that add the products of the widest vectors of bf16 to totals in f32; 0 where there are none."""
    fma_latency_ns: float
    loop_ns: float
    """An iteration of an empty loop."""
    inner_loop_ns: float
    """A whole inner loop of 16 empty iterations, entry and mispredicted exit included."""
    launch_us: float
    """Handing a kernel to the team of threads and waiting for it."""
    l1_bytes: int
    """Data cache of one core; so L2."""
    l2_bytes: int
    l3_bytes: int
    """Shared by the cores; 0 where there is none."""
    line_bytes: int
    l1_read_gbs: float
    l2_read_gbs: float
    l3_read_gbs: float
    dram_read_gbs: float
    l1_write_gbs: float
    l2_write_gbs: float
    l3_write_gbs: float
    dram_write_gbs: float
    """Bytes stored; the line is read before it is written."""
    dram_copy_gbs: float
    """Bytes read plus bytes written."""
    l2_column_gbs: float
    """Like `l2_read_gbs`, one vector per row of 4160 bytes."""
    l1_latency_ns: float
    l2_latency_ns: float
    l3_latency_ns: float
    dram_latency_ns: float
    ports: tuple[tuple[str, int, float], ...]
    """(kind, bytes of an instruction, instructions per ns); kinds: `fma`, `mul`, `add`, `max`, `load`, `store`; `load_word` and
    `store_word`: of integers, one at a time."""


@dataclass(frozen=True, slots=True)
class Caches:
    l1_bytes: int
    l2_bytes: int
    l3_bytes: int
    line_bytes: int


def calibrate(threads: int = 1, *, use_cache: bool = True) -> Calibration:
    """Measures for about two seconds; later calls on the same machine and with the same compiler read the stored figures."""
    key = hashlib.sha256(f"{machine_text()}\0{packaged('calibration.c')}".encode()).hexdigest()
    key = f"cpu calibration {key} {the_compiler().version} {os.cpu_count()} {threads}"
    path = default_cache_path() if use_cache else None
    if path is None:
        return _measure(threads)
    with ResultCache(path) as stored:
        if (found := _read(stored.find(key))) is not None:
            return found
        calibration = _measure(threads)
        stored.add(key, asdict(calibration))
        return calibration


def caches() -> Caches:
    """Caches of core 0, as the system tells."""
    sizes = dict(_CACHES)
    line = 64
    for index in sorted((_SYSFS / "cpu0" / "cache").glob("index*")):
        try:
            level, kind = int(_text(index / "level")), _text(index / "type")
            size = _text(index / "size")
            line = int(_text(index / "coherency_line_size"))
        except (OSError, ValueError):
            continue
        if kind != "Instruction" and size[:-1].isdigit():
            sizes[level] = int(size[:-1]) << {"K": 10, "M": 20, "G": 30}.get(size[-1], 0)
    return Caches(sizes[1], sizes[2], sizes[3], line)


def core_count() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()


def _read(value: Json) -> Calibration | None:
    """None for what is not a calibration: it is measured anew."""
    if not isinstance(value, dict) or set(value) != {f.name for f in fields(Calibration)}:
        return None
    ports, rest = value["ports"], {name: figure for name, figure in value.items() if name != "ports"}
    figures = [figure for figure in rest.values() if isinstance(figure, int | float) and 0 <= figure < float("inf")]
    if len(figures) < len(rest) or not isinstance(ports, list):
        return None
    read: list[tuple[str, int, float]] = []
    for row in ports:
        match row:
            case [str(what), int(size), float(rate)] if what in (*_KINDS, *_WORDS) and size > 0 and 0 < rate < float("inf"):
                read.append((what, size, rate))
            case _:
                return None
    if {(what, size) for what, size, _ in read} != set(measured_ports(int(rest["vector_bytes"]))):  # pyright: ignore[reportArgumentType]
        return None
    return Calibration(**rest, ports=tuple(read))  # pyright: ignore[reportArgumentType]


@dataclass(frozen=True, slots=True)
class _Probe:
    library: Path
    threads: int

    def seconds(self, name: str, passes: float, size: int = 0, samples: int = 5) -> float:
        """Least CPU time of the busiest thread: other processes on the machine disturb it little."""
        return min(busy for _, busy in run_job(self.job(name, passes, size), self.threads, samples=samples))

    def job(self, name: str, passes: float = 0, size: int = 0) -> Job:
        none = (ctypes.c_void_p * 1)()
        parameters = (ctypes.c_double * 2)(passes, size)
        return Job(entry_of(self.library, name), none, parameters, self.threads, size)

    def rate(self, name: str, size: int, aim_s: float = 4e-3) -> float:
        """Bytes per ns."""
        self.seconds("write_rate", 1, size, 1)
        once = self.seconds(name, 1, size)
        passes = max(1, round(aim_s / max(once, 1e-7)))
        return size * passes / self.seconds(name, passes, size) / 1e9

    def clock_ghz(self) -> float:
        passes = 50_000
        return 8 * passes / self.seconds("add_chain", passes, samples=60) / 1e9

    def ports(self, vector_bytes: int) -> Iterator[tuple[str, int, float]]:
        for what, size in measured_ports(vector_bytes):
            yield what, size, self.port(what if what in _WORDS else f"{what}_{8 * size}")

    def port(self, entry: str) -> float:
        """Instructions per ns. Many short samples: a disturbance of one of them leaves the others alone."""
        passes, samples = 20_000, 60
        return 12 * passes / self.seconds(entry, passes, 4096, samples) / 1e9

    def memory_rate(self, name: str, size: int) -> float:
        found: list[float] = []
        for _ in range(_WINDOWS):
            found.append(self.rate(name, size))
            time.sleep(_PAUSE_S)
        return max(found)

    def latency(self, size: int, loads: int) -> float:
        setup = self.seconds("chase", 0, size)
        return max(0.0, self.seconds("chase", loads, size) - setup) * 1e9 / loads


def _measure(threads: int) -> Calibration:
    library = build_library(packaged("calibration.c"), flags=_FLAGS)
    loaded = ctypes.CDLL(str(library))
    vector_bytes = ctypes.c_int.in_dll(loaded, "vector_bytes").value
    has_fma = bool(ctypes.c_int.in_dll(loaded, "has_fma").value)
    probe = _Probe(library, threads)
    sizes = caches()
    passes = 1_000_000
    l1, l2 = sizes.l1_bytes // 2, sizes.l2_bytes // 2
    share = sizes.l3_bytes // max(1, threads)
    l3 = max(2 * sizes.l2_bytes, share // 2)
    dram = min(_LARGEST // threads, max(4 * share, 64 << 20))
    probe.seconds("fma_32", passes)
    launch_s = _launch(probe)
    clock_ghz = probe.clock_ghz()
    ports = tuple(probe.ports(vector_bytes))
    widest_fma = next(rate for what, size, rate in ports if (what, size) == ("fma", vector_bytes))
    return Calibration(
        threads=threads,
        cores=core_count(),
        vector_bytes=vector_bytes,
        has_fma=has_fma,
        clock_ghz=max(clock_ghz, probe.clock_ghz()),
        fma_gflops=2 * (vector_bytes // 4) * widest_fma,
        bf16_dots=probe.port("bf16_dots") if ctypes.c_int.in_dll(loaded, "has_bf16_dots").value else 0.0,
        fma_latency_ns=probe.seconds("fma_chain", passes // 4) * 1e9 / (8 * (passes // 4)),
        loop_ns=probe.seconds("empty_loop", 4 * passes) * 1e9 / (4 * passes),
        inner_loop_ns=probe.seconds("inner_loops", passes // 10) * 1e9 / (passes // 10),
        launch_us=launch_s * 1e6,
        l1_bytes=sizes.l1_bytes,
        l2_bytes=sizes.l2_bytes,
        l3_bytes=sizes.l3_bytes,
        line_bytes=sizes.line_bytes,
        l1_read_gbs=probe.rate("read_rate", l1),
        l2_read_gbs=probe.rate("read_rate", l2),
        l3_read_gbs=probe.rate("read_rate", l3),
        dram_read_gbs=probe.memory_rate("read_rate", dram),
        l1_write_gbs=probe.rate("write_rate", l1),
        l2_write_gbs=probe.rate("write_rate", l2),
        l3_write_gbs=probe.rate("write_rate", l3),
        dram_write_gbs=probe.memory_rate("write_rate", dram),
        dram_copy_gbs=probe.memory_rate("copy_rate", dram),
        l2_column_gbs=probe.rate("strided_rate", l2 // 4160 * 4160),
        l1_latency_ns=probe.latency(l1, 100_000),
        l2_latency_ns=probe.latency(l2, 100_000),
        l3_latency_ns=probe.latency(l3, 100_000),
        dram_latency_ns=probe.latency(dram, 20_000),
        ports=ports,
    )


def measured_ports(vector_bytes: int) -> list[tuple[str, int]]:
    """(kind, bytes) of the entries that the C text has on this machine."""
    found = [(kind, size) for kind in _KINDS for size in _WIDTHS if size <= vector_bytes]
    return found + [(kind, _WORD_BYTES) for kind in _WORDS]


def _launch(probe: _Probe) -> float:
    """Seconds of a round of the team in which nobody works."""
    rounds = 25
    return min(wall for wall, _ in run_job(probe.job("nothing"), probe.threads, rounds, samples=40)) / rounds
