"""Kernels in tile registers: printed text against NumPy, by instructions emulated as Intel's manual says what they do."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.schedule.choices.test_habits import first as first_below
from tests.schedule.cpu.test_dots import BYTES, extreme, stage_of
from tests.schedule.nest.test_matrices import changed
from tests.schedule.nest.tile_nests import Shape, product

from warploom.core import UserError, bf16x2, element_of, i8x4, u8x4
from warploom.core.compiler import build_library
from warploom.schedule.backbone import Constant, Operator, in_words
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import c_source, compile_nest, compiled, find_compiler, tiles
from warploom.schedule.nest import Compute, Nest, Node, tiles_of, verify
from warploom.schedule.targets import cpu

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
EMULATION = Path(__file__).with_name("amx_emulation.h").read_text(encoding="utf-8")
ON = replace(cpu(64, 32), vector_lanes=(8, 16), words=BYTES, tiles=frozenset(("amx_int8",)))
TYPES = [(i8x4, i8x4), (i8x4, u8x4), (u8x4, i8x4), (u8x4, u8x4)]
QUICK = ("-O0", "-march=haswell")
Bytes = NDArray[Any]


def emulating(text: str) -> str:
    """The text without the compiler's intrinsics, and with those of the emulation."""
    return EMULATION + text.replace("#include <immintrin.h>", "")


class Emulated:
    """Runs nests on the emulation; what it counted."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setattr(compiled, "build_library", lambda text, **options: build_library(emulating(text), **options))

    def run(self, nest: Nest, a: Bytes, b: Bytes, wanted: Bytes, *, refuses: bool = False, threads: int = 1) -> None:
        assert verify(nest) == ()
        kernel = compile_nest(nest, folder=self.folder, flags=QUICK)
        made = np.full(wanted.shape, 77, wanted.dtype)
        self.library = ctypes.CDLL(str(kernel.library))
        ctypes.c_int.in_dll(self.library, "emulated_refuses").value = refuses
        kernel.run([a, b, made], threads=threads)
        kernel.run([a, b, made], threads=threads)
        np.testing.assert_array_equal(made, wanted)
        assert (self.counted("faults"), self.counted("configured")) == (0, 0), "a fault, or tiles that are not released"
        assert self.counted("asked") == 1

    def counted(self, name: str) -> int:
        return ctypes.c_int.in_dll(self.library, f"emulated_{name}").value


@pytest.fixture
def emulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Emulated:
    return Emulated(tmp_path, monkeypatch)


def arrays_of(shape: Shape) -> tuple[Bytes, Bytes, Bytes]:
    """A, B in words, and the product."""
    numbers = np.random.default_rng(7)
    first, second = (element_of(t).name for t in (shape.first, shape.second))
    a = extreme(numbers, first, (shape.m, 4 * shape.words))
    b = extreme(numbers, second, (shape.words, shape.n, 4))
    flat = b.transpose(0, 2, 1).reshape(4 * shape.words, shape.n)
    return a, b, (a.astype(np.int64) @ flat.astype(np.int64)).astype(np.int32)


@pytest.mark.parametrize(("first", "second"), [*TYPES[1:3], *(pytest.param(*t, marks=pytest.mark.slow) for t in TYPES[::3])])
def test_sums_of_each_pair_of_types_are_exact(first: Any, second: Any, emulated: Emulated) -> None:
    shape = Shape(deep=3, first=first, second=second)
    emulated.run(product(shape), *arrays_of(shape))
    assert (emulated.counted("products"), emulated.counted("loads")) == (2 * 3, 2 * 3 * 2), "no totals"


@pytest.mark.parametrize(
    ("rows", "columns"), [(2, 2), *(pytest.param(*tiles, marks=pytest.mark.slow) for tiles in ((1, 4), (3, 1)))]
)
def test_each_loaded_tile_serves_several_products(rows: int, columns: int, emulated: Emulated) -> None:
    shape = Shape(rows, columns, deep=2, blocks=3)
    emulated.run(product(shape), *arrays_of(shape))
    assert emulated.counted("products") == 2 * 3 * 2 * rows * columns
    assert emulated.counted("loads") == 2 * 3 * 2 * (rows + columns)


def test_sums_of_bf16(emulated: Emulated) -> None:
    shape = Shape(2, 2, deep=2, first=bf16x2, second=bf16x2)
    numbers = np.random.default_rng(5)
    a, b = (numbers.integers(-16, 17, n).astype(np.float32) for n in ((shape.m, 2 * shape.words), (shape.words, shape.n, 2)))
    wanted = a @ b.transpose(0, 2, 1).reshape(2 * shape.words, shape.n)
    emulated.run(product(shape), *((x.view(np.uint32) >> 16).astype(np.uint16) for x in (a, b)), wanted)
    assert emulated.counted("products") == 2 * 2 * 4


def test_totals_that_begin_elsewhere_stay_in_registers(emulated: Emulated) -> None:
    """They pass through memory on the way into the tiles and back."""
    shape = Shape(2, 1, deep=2)

    def change(node: Node) -> Node:
        is_start = isinstance(node, Compute) and node.operator is Operator.MOVE
        return replace(node, arguments=(Constant(3.0),)) if is_start else node

    a, b, wanted = arrays_of(shape)
    emulated.run(changed(product(shape), change), a, b, wanted + 3)
    assert emulated.counted("loads") == 2 * (2 + 2 * (2 + 1))


def test_totals_are_taken_up_again(emulated: Emulated) -> None:
    """The sum goes on behind other statements: here an unrolled loop that the printer writes out around the part."""
    shape = Shape(1, 2, deep=1, slices=2)
    emulated.run(product(shape), *arrays_of(shape))
    assert emulated.counted("products") == 2 * 2 * 2


def test_rows_that_fill_no_tile_are_left_to_vectors(emulated: Emulated) -> None:
    shape = Shape(blocks=3, lacking=5)
    emulated.run(product(shape), *arrays_of(shape))
    assert emulated.counted("products") == 2 * 2 * 2, "two blocks of three are whole"


def test_every_thread_has_its_tiles(emulated: Emulated) -> None:
    shape = Shape(blocks=8)
    emulated.run(product(shape), *arrays_of(shape), threads=3)
    assert emulated.counted("products") == 2 * 8 * 2


def test_vectors_where_the_system_lends_no_tiles(emulated: Emulated) -> None:
    shape = Shape(blocks=2)
    emulated.run(product(shape), *arrays_of(shape), refuses=True)
    assert emulated.counted("products") == emulated.counted("loads") == 0


@pytest.mark.slow
@pytest.mark.parametrize("form", ["mk,nk", "mk,kn"])
def test_what_the_search_begins_with(form: str, emulated: Emulated, tmp_path: Path) -> None:
    sizes = {"m": 32, "n": 32, "k": 256}
    one, two = form.split(",")
    stage = in_words(stage_of("i8", "i8", one, two, tmp_path, sizes), BYTES)
    space = kernel_space(stage, ON)
    numbers = np.random.default_rng(1)
    a, b = (extreme(numbers, "i8", tuple(sizes[n] for n in names)) for names in (one, two))
    wanted = np.einsum(f"{form}->mn", a.astype(np.int64), b.astype(np.int64))
    nest = first_below(space, space.usually(space.root(), lambda _: False, 1))
    (part,) = tiles_of(nest)
    assert part.totals == 2
    emulated.run(nest, a, b, wanted)
    assert emulated.counted("products") >= 2 * 2 * 2 * 4


def test_a_processor_without_tiles_runs_vectors(tmp_path: Path) -> None:
    """Compiled for tiles as they are, and run here: the system refuses, or has them."""
    shape = Shape()
    a, b, wanted = arrays_of(shape)
    try:
        kernel = compile_nest(product(shape), folder=tmp_path, flags=(*QUICK, "-mamx-tile", "-mamx-int8"))
    except UserError:
        pytest.skip("a compiler without tiles")
    made = np.zeros_like(wanted)
    kernel.run([a, b, made])
    np.testing.assert_array_equal(made, wanted)


USES_A_TILE = f"""#include <stdint.h>
#include <immintrin.h>
{tiles.SUPPORT}
int used(void) {{
    if (tiles_allowed()) {{
        start_tiles();
        _tile_zero(0);
        _tile_release();
    }}
    return 0;
}}
"""


def test_the_whole_configuration_is_there_however_well_it_is_compiled(tmp_path: Path) -> None:
    """GCC's intrinsic says that 8 of its 64 bytes are read. Without the others a processor with tiles ends the program."""
    try:
        library = build_library(USES_A_TILE, flags=("-O2", "-mamx-tile"), folder=tmp_path)
    except UserError:
        pytest.skip("a compiler without tiles")
    calls = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).used())"
    assert subprocess.run([sys.executable, "-c", calls, library]).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), TYPES)
def test_compilers_have_the_instructions(first: Any, second: Any, tmp_path: Path) -> None:
    nest = product(Shape(first=first, second=second))
    try:
        library = build_library(c_source(nest).text, flags=(*QUICK, "-S", "-mamx-tile", "-mamx-int8"), folder=tmp_path)
    except UserError:
        pytest.skip("a compiler without tiles")
    (part,) = tiles_of(nest)
    made = library.read_text(encoding="utf-8")
    assert all(name in made for name in ("ldtilecfg", "tileloadd", part.instruction.intrinsic[6:], "tilestored", "tilerelease"))


def test_texts_without_tiles_say_nothing_of_them() -> None:
    assert "tile" not in c_source(product(Shape(lanes=8))).text


@pytest.mark.parametrize(
    ("listed", "lends", "found"), [("amx_tile amx_int8", True, {"amx_int8"}), ("amx_int8", False, set()), ("avx2", True, set())]
)
def test_the_machine_is_asked(listed: str, lends: bool, found: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "listed_instructions", lambda: frozenset(listed.split()))
    monkeypatch.setattr(tiles, "_is_lent", lambda: lends)
    assert tiles.multiplied_in_tiles() == found


def test_the_question_to_the_system_has_an_answer() -> None:
    assert tiles._is_lent() in (True, False)
