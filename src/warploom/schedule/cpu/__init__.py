"""The CPU target: nests as C, compiled, run on threads, measured.

Takes a loop nest. Gives C source, a compiled function (`compile_nest`) and its measured times. Open `compiled.py` first, then
`printer.py`.
"""

from warploom.core.compiler import (
    COMMON,
    KERNEL_FLAGS,
    Compiler,
    build_library,
    find_compiler,
    machine_flags,
    order_flags,
    zig_compiler,
)
from warploom.schedule.cpu.calibration import Caches, Calibration, caches, calibrate, core_count
from warploom.schedule.cpu.compiled import Call, CompiledNest, aligned_copy, compile_nest, has_integers
from warploom.schedule.cpu.dots import DIFFERENT_SUMS
from warploom.schedule.cpu.helpers import c_type
from warploom.schedule.cpu.host import host
from warploom.schedule.cpu.plain import PLAIN_FLAGS, Build, plain_loop, plain_nest, sound_build
from warploom.schedule.cpu.printer import ENTRY, SECOND_ENTRY, Shares, Source, c_program, c_source, iterations_text
from warploom.schedule.cpu.team import Job, entry_of, function_of, interruptibly, run_job
from warploom.schedule.cpu.timing import Effort, Timing, retime, spread_of, time_call
from warploom.schedule.cpu.worker import Crashed, MeasureWorker, Together

__all__ = [
    "COMMON", "DIFFERENT_SUMS", "ENTRY", "KERNEL_FLAGS", "PLAIN_FLAGS", "SECOND_ENTRY", "Build", "Caches", "Calibration",
    "Call", "CompiledNest", "Compiler", "Crashed", "Effort", "Job", "MeasureWorker", "Shares", "Source", "Timing", "Together",
    "aligned_copy", "build_library", "c_program", "c_source", "c_type", "caches", "calibrate", "compile_nest", "core_count",
    "entry_of", "find_compiler", "function_of", "has_integers", "host", "interruptibly", "iterations_text", "machine_flags",
    "order_flags", "plain_loop", "plain_nest", "retime", "run_job", "sound_build", "spread_of", "time_call", "zig_compiler",
]  # fmt: skip
