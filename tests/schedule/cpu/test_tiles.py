"""Kernels in tile registers: printed text against NumPy, by instructions that are emulated as Intel's manual says what they do."""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.schedule.choices.test_lower_candidates import descend
from tests.schedule.cpu.test_dots import BYTES, extreme, stage_of

from warploom.core.compiler import KERNEL_FLAGS, WRAPPING, build_library, the_compiler
from warploom.schedule.backbone import in_words
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import c_source, compile_nest, compiled, find_compiler
from warploom.schedule.nest import Nest, tiles_of, verify
from warploom.schedule.targets import TARGETS

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
EMULATION = Path(__file__).with_name("amx_emulation.h").read_text(encoding="utf-8")
ON = replace(TARGETS["cpu"], vector_lanes=(8, 16), registers=128)
ROWS = {"size(m2)": "16", "size(n3)": "16", "dim_kind(sum.m2)": "UNROLL", "dim_kind(sum.n3)": "VECTOR", "dim_kind(sum.n2)": "UNROLL"}


def tiled_nests(first: str, second: str, form: str, sizes: dict[str, int], folder: Path, decided: dict[str, str]) -> Iterator[Nest]:
    """Implementations at random that have parts in tile registers."""
    stage = in_words(stage_of(first, second, *form.split(","), folder, sizes), BYTES)
    space, source = kernel_space(stage, ON), random.Random(4)
    start = space.root()
    for name, value in decided.items():
        start = space.set_by_name(start, name, value)
    while True:
        candidate = descend(space, source, start)
        if candidate is not None and tiles_of(nest := space.lower(candidate)):
            yield nest


@dataclass
class Emulated:
    """What the emulation counted."""

    library: ctypes.CDLL

    def __getattr__(self, name: str) -> int:
        return ctypes.c_int.in_dll(self.library, f"emulated_{name}").value


def run(nest: Nest, a, b, wanted, folder: Path, monkeypatch: pytest.MonkeyPatch, *, refuses: bool = False, threads: int = 1) -> Emulated:
    """Runs the nest on the emulation and compares."""
    assert verify(nest) == ()
    monkeypatch.setattr(compiled, "build_library", lambda text, **o: build_library(EMULATION + text, **o))
    kernel = compile_nest(nest, folder=folder)
    made = np.full(wanted.shape, 77, np.int32)
    library = ctypes.CDLL(str(kernel.library))
    ctypes.c_int.in_dll(library, "emulated_refuses").value = refuses
    kernel.run([a, b, made], threads=threads)
    np.testing.assert_array_equal(made, wanted)
    return Emulated(library)


@pytest.mark.parametrize(("first", "second"), [("i8", "i8"), ("u8", "u8"), ("u8", "i8"), ("i8", "u8")])
@pytest.mark.parametrize("form", ["mk,nk", "mk,kn", "km,kn"])
def test_x(first: str, second: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"m": 64, "n": 64, "k": 256}
    numbers = np.random.default_rng(1)
    one, two = form.split(",")
    a, b = (extreme(numbers, t, tuple(sizes[n] for n in names)) for t, names in ((first, one), (second, two)))
    wanted = np.einsum(f"{form}->mn", a.astype(np.int64), b.astype(np.int64))
    nest = next(tiled_nests(first, second, form, sizes, tmp_path, ROWS))
    e = run(nest, a, b, wanted, tmp_path, monkeypatch)
    print(e.products, e.loads, e.faults, e.asked, e.configured)
