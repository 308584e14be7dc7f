"""Dot products of words by SVE, for vectors of a known length: compiled by Clang for such machines, and compared with NumPy
through an emulation of the intrinsics. None is run on a processor."""

from __future__ import annotations

import ctypes
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.schedule.cpu.test_bf16 import PRODUCTS, nearest
from tests.schedule.cpu.test_bf16 import stage_of as bf16_stage_of
from tests.schedule.cpu.test_dots import BYTES, WIDE, extreme, random_nests, stage_of

from warploom.core import compiler as compilers
from warploom.core.compiler import build_library
from warploom.schedule.backbone import Backbone, in_words
from warploom.schedule.cpu import c_source, compile_nest, compiled, find_compiler, machine_flags, zig_compiler
from warploom.schedule.cpu.team import packaged
from warploom.schedule.nest import Nest

EMULATION = Path(__file__).with_name("sve_emulation.h").read_text(encoding="utf-8")
SIZES = {"m": 3, "n": 32, "k": 16}
PAIRS = [("i8", "i8"), ("u8", "u8"), ("u8", "i8"), ("bf16", "bf16")]
SLOW = pytest.mark.slow
CLANG = zig_compiler()


def nest_of(first: str, second: str, lanes: int, folder: Path) -> Nest:
    """An implementation whose sum is one of vectors of so many totals."""
    if first == "bf16":
        stage: Backbone = in_words(bf16_stage_of(PRODUCTS.format("mk", "nk"), folder, SIZES), {"bf16"})
    else:
        stage = in_words(stage_of(first, second, "mk", "nk", folder, SIZES), BYTES)
    total = "mad" if first == "bf16" else "sum"
    nests = list(random_nests(stage, f"n3={lanes}", 3, 3, replace(WIDE, vector_lanes=(lanes // 2, lanes)), total))
    return min(nests, key=lambda nest: len(c_source(nest).text))


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize(
    ("first", "second", "has_both", "lanes"),
    [
        ("u8", "i8", True, 8),
        ("u8", "u8", False, 8),
        ("bf16", "bf16", True, 8),
        *(pytest.param(*pair, both, lanes, marks=SLOW) for pair in PAIRS for both in (True, False) for lanes in (8, 16)),
    ],
)
def test_sums_are_exact(
    first: str, second: str, has_both: bool, lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the instruction for bytes of two types, and with the one for signed bytes alone."""
    chance = np.random.default_rng(4)
    a, b = (made(chance, t, (SIZES[n], SIZES["k"])) for t, n in ((first, "m"), (second, "n")))
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    inputs = [nearest(x) if first == "bf16" else x for x in (a, b)]
    known = f"#define LENGTH {32 * lanes}\n" + ("#define WITH_BYTES_OF_TWO_TYPES\n" if has_both else "") + EMULATION
    monkeypatch.setattr(
        compiled, "build_library", lambda text, **more: build_library(known + re.sub("#include <(imm|arm).*>", "", text), **more)
    )
    kernel = compile_nest(nest_of(first, second, lanes, tmp_path), folder=tmp_path, flags=("-O0", "-march=haswell"))
    result = np.full(wanted.shape, 77, np.float32 if first == "bf16" else np.int32)
    kernel.run([*inputs, result])
    np.testing.assert_array_equal(result, wanted)
    assert ctypes.c_int.in_dll(ctypes.CDLL(str(kernel.library)), "emulated_dots").value > 0


def made(chance: np.random.Generator, element: str, shape: tuple[int, int]) -> NDArray[Any]:
    """Bytes, ends of their range among them, or small whole numbers."""
    if element == "bf16":
        return chance.integers(-99, 100, shape).astype(np.float32)
    return extreme(chance, element, shape)


def assembly(text: str, flags: tuple[str, ...], folder: Path) -> str:
    """The text as Clang compiles it for Arm."""
    assert CLANG is not None
    (folder / "text.c").write_text(text)
    command = [*CLANG.command, "-target", "aarch64-linux-gnu", *flags, "-std=gnu11", "-O2", "-S", "-o", "text.s", "text.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return (folder / "text.s").read_text()


@pytest.mark.skipif(CLANG is None, reason="the extra `cpu` is not installed")
@pytest.mark.parametrize(
    ("first", "lanes", "flags", "said"),
    [
        ("u8", 8, ("-mcpu=neoverse_v1", "-msve-vector-bits=256"), r"usdot\s+z"),
        pytest.param("u8", 8, ("-mcpu=neoverse_v1+noi8mm", "-msve-vector-bits=256"), r"sdot\s+z", marks=SLOW),
        pytest.param("u8", 16, ("-mcpu=a64fx", "-msve-vector-bits=512"), r"sdot\s+z", marks=SLOW),
        pytest.param("bf16", 8, ("-mcpu=neoverse_v1", "-msve-vector-bits=256"), r"bfdot\s+z", marks=SLOW),
    ],
)
def test_the_instructions_are_compiled(first: str, lanes: int, flags: tuple[str, ...], said: str, tmp_path: Path) -> None:
    second = "i8" if first == "u8" else first
    assert re.search(said, assembly(c_source(nest_of(first, second, lanes, tmp_path)).text, flags, tmp_path))


@pytest.mark.skipif(CLANG is None, reason="the extra `cpu` is not installed")
@pytest.mark.parametrize(
    ("flags", "bytes_"),
    [
        (("-msve-vector-bits=256",), 32),
        pytest.param(("-msve-vector-bits=512",), 16, marks=SLOW),
        pytest.param((), 16, marks=SLOW),
    ],
)
def test_rates_are_measured_of_vectors_of_a_known_length(flags: tuple[str, ...], bytes_: int, tmp_path: Path) -> None:
    text = assembly(packaged("calibration.c"), ("-mcpu=neoverse_v1", "-ffp-contract=fast", *flags), tmp_path)
    assert re.search(rf"^vector_bytes:\n\s*\.word\s+{bytes_}\b", text, re.MULTILINE)
    assert bool(re.search(r"fmla|fmad\s+z", text)) and bool(re.search(r"fm(la|ad)\s+z", text)) == (bytes_ == 32)


@pytest.mark.parametrize(
    ("features", "length", "wanted"),
    [
        ("Features : asimd sve i8mm", "32\n", ("-msve-vector-bits=256",)),
        ("Features : asimd sve i8mm", "16\n", ()),
        ("Features : asimd sve", "64\n", ()),
        ("Features : asimd sve", "?", ()),
        ("Features : asimd sve", None, ()),
        ("Features : asimd", "32\n", ()),
    ],
)
def test_compilers_are_told_the_length(
    features: str, length: str | None, wanted: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "length"
    if length is not None:
        place.write_text(length)
    monkeypatch.setattr(compilers, "_features", lambda: features)
    monkeypatch.setattr(compilers, "_SVE_LENGTH", place)
    assert machine_flags() == ("-march=native", *wanted)
