"""The parts that Warploom stands on: what each is for, and the probe that looks at it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from warploom.tools.doctor import probes
from warploom.tools.doctor.found import Found


@dataclass(frozen=True, slots=True)
class Part:
    enables: str
    """Features that work only with this part."""
    probe: Callable[[], Found]
    is_needed: bool = False
    """Without it nothing works."""
    is_apart: bool = False
    """The probe runs foreign code, or reads folders that may not answer: in a process of its own, under a time limit."""


PARTS: Mapping[str, Part] = {
    "python": Part("everything", probes.python, is_needed=True),
    "packages": Part("everything", probes.packages, is_needed=True),
    "cuda": Part(
        "`--prove-ptx`, `lint` of CUDA files, counts of registers and of machine code, `make demo`", probes.cuda, is_apart=True
    ),
    "gpu": Part("running and timing kernels; proofs, counts and compiling need no GPU", probes.gpu, is_apart=True),
    "c-compiler": Part("`explore --target cpu`, `wl.jit`, fast searches for all targets", probes.c_compiler, is_apart=True),
    "cache": Part("answers of earlier runs, compiled inner loops of searches", probes.cache, is_apart=True),
    "kernels": Part("functions with `wl.jit` call the kernels that `tune` found", probes.kernels, is_apart=True),
    "cluster": Part("`--cluster`", probes.cluster),
    "sat": Part("`layout --table`", probes.sat),
}
