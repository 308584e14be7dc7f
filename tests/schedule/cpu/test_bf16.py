"""Arrays of bf16, which C has no type for: printed kernels against roundings that are compared in double precision."""

from __future__ import annotations

import platform
import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.schedule.choices.test_lower_candidates import descend
from tests.schedule.cpu.test_dots import WIDE, random_nests

from warploom.core import UnsupportedError, bf16
from warploom.schedule.backbone import Backbone, cpu_tiles, in_words
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import (
    KERNEL_FLAGS,
    CompiledNest,
    build_library,
    c_source,
    compile_nest,
    find_compiler,
    plain_nest,
    zig_compiler,
)
from warploom.schedule.frontend import load_tensors
from warploom.schedule.nest import Kind, Nest, loops, verify
from warploom.schedule.search import difference
from warploom.schedule.targets import TARGETS

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
TRIED = 200
FLAGS = ("-O1", *KERNEL_FLAGS[1:])
"""Compiles sooner."""
HEAD = "from warploom import *\n\n@tensor\ndef made("


def stages_of(text: str, folder: Path, sizes: dict[str, int]) -> tuple[Backbone, ...]:
    (folder / "made.py").write_text(HEAD + text)
    (function,) = load_tensors(folder / "made.py")
    return function.program(sizes, cpu_tiles).stages


def stage_of(text: str, folder: Path, sizes: dict[str, int]) -> Backbone:
    return stages_of(text, folder, sizes)[0]


def nests_of(stage: Backbone, lanes: int = 8) -> Iterator[Nest]:
    """The plain loops, and an implementation at random with vectors of so many bf16."""
    yield plain_nest(stage)
    space, source = kernel_space(stage, replace(TARGETS["cpu"], vector_lanes=(lanes // 2, lanes))), random.Random(2)
    for _ in range(TRIED):
        candidate = descend(space, source, space.root())
        if candidate is not None and re.search(rf"bf16x({lanes}|{2 * lanes})\b", c_source(nest := space.lower(candidate)).text):
            yield nest
            return
    raise AssertionError(f"no implementation has vectors of {lanes}")


def result_of(nest: Nest, arrays: list[NDArray[Any]], shape: tuple[int, ...], folder: Path, **scalars: float) -> NDArray[Any]:
    made = np.full(shape, 77, np.uint16)
    compile_nest(nest, folder=folder, flags=FLAGS).run([*arrays, made], scalars)
    return made


def number(words: NDArray[Any]) -> NDArray[np.float32]:
    return np.stack([np.zeros_like(words), words], -1).astype("<u2").view("<f4")[..., 0]


def nearest(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The nearer one of the two words beside a number, by differences in double precision."""
    low = values.astype("<f4").view("<u2").reshape(*values.shape, 2)[..., 1]
    with np.errstate(invalid="ignore", over="ignore"):
        size = np.abs(values).astype(np.float64)
        below, above = (number(words & 0x7FFF).astype(np.float64) for words in (low, low + 1))
        above = np.where(np.isinf(above), 2.0**128, above)  # what the format would have next
        goes_up = (above - size < size - below) | ((above - size == size - below) & (low % 2 == 1))
    goes_up &= np.isfinite(values) & (size != below)
    return np.where(np.isnan(values), low | 0x40, low + goes_up).astype(np.uint16)


@pytest.mark.parametrize("lanes", [8, 16])
def test_every_word_is_read(lanes: int, tmp_path: Path) -> None:
    stage = stage_of('X: bf16["n"], Y: out[f32["n"]]):\n    Y[n] = f32(X[n])\n', tmp_path, {"n": 1 << 16})
    words = np.arange(1 << 16, dtype=np.uint16)
    for nest in nests_of(stage, lanes):
        made = np.empty(1 << 16, np.float32)
        compile_nest(nest, folder=tmp_path, flags=FLAGS).run([words, made])
        assert made.tobytes() == number(words).tobytes()


@pytest.mark.parametrize("lanes", [8, 16])
def test_numbers_are_rounded_to_the_nearest_word(lanes: int, tmp_path: Path) -> None:
    """Ties, subnormal numbers, the largest ones, infinities and NaN of both signs among them."""
    low = np.array([0, 1, 0x1234, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    values = (np.arange(1 << 16, dtype=np.uint32)[:, None] << 16 | low).view(np.float32).reshape(-1)
    stage = stage_of('X: f32["n"], Y: out[bf16["n"]]):\n    Y[n] = bf16(X[n])\n', tmp_path, {"n": values.size})
    for nest in nests_of(stage, lanes):
        made = result_of(nest, [values], values.shape, tmp_path)
        np.testing.assert_array_equal(made, nearest(values))


@pytest.mark.parametrize("form", ["mk,kn", *(pytest.param(form, marks=pytest.mark.slow) for form in ("mk,nk", "km,kn"))])
def test_products_are_exact_where_their_sums_are(form: str, tmp_path: Path) -> None:
    sizes = {"m": 5, "n": 19, "k": 21}
    one, two = form.split(",")
    arrays = f'A: bf16["{one[0]}", "{one[1]}"], B: bf16["{two[0]}", "{two[1]}"], C: out[bf16["m", "n"]]'
    sums = f"bf16(sum(f32(A[{one[0]}, {one[1]}]) * f32(B[{two[0]}, {two[1]}]), over=k))"
    stage = stage_of(f"{arrays}):\n    C[m, n] = {sums}\n", tmp_path, sizes)
    chance = np.random.default_rng(3)
    a, b = (chance.integers(-99, 100, tuple(sizes[n] for n in names)).astype(np.float32) for names in (one, two))
    wanted = nearest(np.einsum(f"{form}->mn", a.astype(np.int64), b.astype(np.int64)).astype(np.float32))
    for nest in nests_of(stage):
        np.testing.assert_array_equal(result_of(nest, [nearest(a), nearest(b)], wanted.shape, tmp_path), wanted)


def test_scalars_places_and_constants_become_words(tmp_path: Path) -> None:
    text = 'a: f32, X: bf16["n"], Y: out[bf16["n"]], Z: out[f32["n"]], P: out[bf16["n + 2"]]):\n'
    text += "    Y[i] = bf16(a)\n    Z[i] = f32(i)\n    P[i] = pad(X, 0.3)[i - 1]\n"
    sizes = {"n": 300}
    words = np.random.default_rng(4).integers(0, 0x7F80, 300, np.uint16)
    for stage in map(_without_f32, stages_of(text, tmp_path, sizes)):
        for nest in nests_of(stage):
            kernel = compile_nest(nest, folder=tmp_path, flags=FLAGS)
            made = {b.name: words if b.name == "X" else np.full(b.elements, 77, np.uint16) for b in kernel.buffers}
            kernel.run([made[b.name] for b in kernel.buffers], {"a": 0.7})
            wanted = {
                "Y": np.full(300, nearest(np.array([0.7], np.float32))[0]),
                "Z": nearest(np.arange(300, dtype=np.float32)),
                "P": np.pad(words, 1, constant_values=nearest(np.array([0.3], np.float32))[0]),
            }
            for name, array in made.items():
                if name != "X":
                    np.testing.assert_array_equal(array, wanted[name], err_msg=name)


def _without_f32(stage: Backbone) -> Backbone:
    """The kernel in which an index becomes bf16 at once, which functions write in two steps."""
    regions = tuple(replace(r, dtype=bf16) for r in stage.regions)
    return replace(stage, regions=regions, instructions=tuple(replace(i, dtype=bf16) for i in stage.instructions))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('X: bf16["n"], Y: out[bf16["n"]]):\n    Y[n] = X[n] + X[n]\n', "got add of bf16"),
        ('X: bf16["n"], Y: out[bf16["n"]]):\n    Y[n] = max(X[n], X[n])\n', "got max of bf16"),
        ('a: bf16, X: bf16["n"], Y: out[f32["n"]]):\n    Y[n] = f32(X[n]) + f32(a)\n', "got a of bf16"),
    ],
)
def test_arithmetic_and_scalars_of_bf16_are_refused(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=said):
        c_source(plain_nest(stage_of(text, tmp_path, {"n": 8})))


PRODUCTS = (
    'A: bf16["{0[0]}", "{0[1]}"], B: bf16["{1[0]}", "{1[1]}"], C: out[f32["m", "n"]]):\n'
    "    C[m, n] += f32(A[{0[0]}, {0[1]}]) * f32(B[{1[0]}, {1[1]}])\n"
)


SLOW = pytest.mark.slow
FORMS = [
    ("mk,kn", "n3=16"),
    *(pytest.param(*form, marks=SLOW) for form in (("mk,nk", "n3=8"), ("mk,nk", "k2=8"), ("km,kn", "n3=8"))),
]


@pytest.mark.parametrize(("form", "lanes"), FORMS)
def test_sums_of_words_are_exact_where_those_of_numbers_are(form: str, lanes: str, tmp_path: Path) -> None:
    sizes = {"m": 5, "n": 37, "k": 76}
    one, two = form.split(",")
    stage = in_words(stage_of(PRODUCTS.format(one, two), tmp_path, sizes), {"bf16"})
    assert stage.made_of
    chance = np.random.default_rng(5)
    a, b = (chance.integers(-99, 100, tuple(sizes[n] for n in names)).astype(np.float32) for names in (one, two))
    wanted = np.einsum(f"{form}->mn", a.astype(np.int64), b.astype(np.int64))
    nest = min(random_nests(stage, lanes, 3, 4, WIDE, "mad"), key=lambda nest: len(c_source(nest).text))
    assert verify(nest) == ()
    made = np.empty(wanted.shape, np.float32)
    compile_nest(nest, folder=tmp_path, flags=FLAGS).run([nearest(a), nearest(b), made])
    np.testing.assert_array_equal(made, wanted)


@pytest.fixture(scope="module")
def rounded_products(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, CompiledNest, list[NDArray[Any]], NDArray[np.float32]]:
    """A kernel of sums of words that are rounded to bf16, as text and compiled, with its inputs and what it must write."""
    folder = tmp_path_factory.mktemp("products")
    sizes = {"m": 16, "n": 32, "k": 256}
    arrays = PRODUCTS.format("mk", "nk").replace("f32[", "bf16[").partition(":\n")[0]
    text = f"{arrays}:\n    C[m, n] = bf16(sum(f32(A[m, k]) * f32(B[n, k]), over=k))\n"
    stage = in_words(stage_of(text, folder, sizes), {"bf16"})
    chance = np.random.default_rng(6)
    a, b = (nearest(chance.uniform(-1, 1, (sizes[n], 256)).astype(np.float32)) for n in "mn")
    wanted = number(nearest((number(a).astype(np.float64) @ number(b).astype(np.float64).T).astype(np.float32)))
    nests = [n for n in random_nests(stage, "n3=16", 4, 8, WIDE, "mad") if re.search(LOOP, c_source(n).text)]
    nest = min(nests, key=lambda nest: len(c_source(nest).text))
    return c_source(nest).text, compile_nest(nest, folder=folder, flags=FLAGS), [a, b], wanted


LOOP = r"for \(Index (k\d) = 0;"
SWAPPED = {"(b << 16)": "(b & 0xffff0000u)", "(b & 0xffff0000u)": "(b << 16)", "(uint16_t)b)": "(uint16_t)(b >> 16))"}
PLANTED = {
    "nothing": lambda text: text + "\n",
    "a dropped k": lambda text: re.sub(LOOP, r"for (Index \1 = 1;", text),
    "a swapped pair": lambda text: re.sub("|".join(map(re.escape, SWAPPED)), lambda found: SWAPPED[found[0]], text),
    "an upper half for both": lambda text: text.replace("<< 16) * ", "& 0xffff0000u) * "),
    "rounding towards zero": lambda text: text.replace("(bits + 0x7fff + (bits >> 16 & 1)) >> 16", "bits >> 16"),
    "rounding away from zero": lambda text: text.replace("(bits + 0x7fff + (bits >> 16 & 1)) >> 16", "(bits + 0xffff) >> 16"),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_mistakes_are_refuted(planted: str, rounded_products: Any, tmp_path: Path) -> None:
    text, kernel, inputs, wanted = rounded_products
    changed = PLANTED[planted](text)
    assert changed != text
    made = np.zeros(wanted.shape, np.uint16)
    changed = changed.replace("#include <immintrin.h>", "")  # which takes longer than the rest
    library = build_library(changed, flags=(*FLAGS, "-U__AVX512BF16__"), folder=tmp_path)
    replace(kernel, library=library).run([*inputs, made])
    wrong = difference({"C": number(made)}, {"C": wanted}, 1e-3, {"C"})
    assert (wrong == "") == (planted == "nothing"), wrong


@pytest.mark.parametrize(
    ("lanes", "flags", "said"),
    [
        pytest.param("n3=8", ("-mavx512bf16", "-mavx512vl"), r"vdpbf16ps\s.*%ymm", marks=SLOW),
        ("n3=16", ("-mavx512bf16", "-mavx512vl"), r"vdpbf16ps\s.*%zmm"),
        ("n3=4", ("-target", "aarch64-linux-gnu", "-mcpu=neoverse_v1"), r"bfdot\s"),
    ],
)
def test_the_instructions_of_other_machines_are_compiled(lanes: str, flags: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """None of them is run."""
    compiler = zig_compiler() if "-target" in flags else find_compiler()
    if compiler is None or ("-target" not in flags and platform.machine() != "x86_64"):
        pytest.skip("no compiler for such a machine")
    stage = in_words(stage_of(PRODUCTS.format("mk", "nk"), tmp_path, {"m": 4, "n": 32, "k": 16}), {"bf16"})
    (nest,) = random_nests(stage, lanes, 3, 1, replace(WIDE, vector_lanes=(4, 8, 16)), "mad")
    (tmp_path / "words.c").write_text(c_source(nest).text)
    command = [*compiler.command, *flags, "-O2", "-S", "-o", "words.s", "words.c"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    if "unrecognized" in done.stderr:
        pytest.skip("the compiler does not know the instructions")
    assert done.returncode == 0, done.stderr
    assert re.search(said, (tmp_path / "words.s").read_text())


def test_maxima_of_every_second_element_are_refused(tmp_path: Path) -> None:
    """Words of bf16 are not in the order of their numbers."""
    text = 'X: bf16["2 * n"], Y: out[bf16["n"]]):\n    Y[i] = max(X[2 * i], X[2 * i + 1])\n'
    stage = stage_of(text, tmp_path, {"n": 4096})
    space, source = kernel_space(stage, replace(TARGETS["cpu"], vector_lanes=(4, 8))), random.Random(2)
    candidates = (descend(space, source, space.root()) for _ in range(TRIED))
    nests = [plain_nest(stage), *(space.lower(c) for c in candidates if c is not None)]
    assert any(loop.kind is Kind.VECTOR for nest in nests for loop in loops(nest.body))
    for nest in nests:
        with pytest.raises(UnsupportedError, match=r"CPU_OPERATOR.*got max of bf16"):
            c_source(nest)
