"""The CPU target: nests as C, compiled, run on threads, measured."""

from warploom.schedule.cpu.compiled import Call, CompiledNest, compile_nest
from warploom.schedule.cpu.compiler import Compiler, find_compiler, zig_compiler
from warploom.schedule.cpu.printer import Source, c_source

__all__ = ["Call", "CompiledNest", "Compiler", "Source", "c_source", "compile_nest", "find_compiler", "zig_compiler"]
