"""The printed CUDA, compiled and run by the PTX interpreter, gives the places of the map."""

import numpy as np
import pytest

from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.layout import access, emit, layout, tile
from warploom.layout.cute import read
from warploom.ptx import launch


@pytest.mark.skipif(not toolchain_available(), reason="no CUDA compiler")
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("32x32:f32", ("rows", "columns", "blocks:4x8")),  # __brev
        ("48x33:f32", ("rows@any", "columns@any", "blocks:4x8")),  # a condition, masks with a sign
        ("20x12:f32", ("rows", "columns")),  # a remainder
        ("30x30:f32", ("rows", "columns")),
    ],
)
def test_printed_places(text: str, names: tuple[str, ...]) -> None:
    given = tile(text)
    found = layout(given, [access(name, given) for name in names])
    size, columns = given.elements, given.columns
    source = emit(found.map, given, "cuda") + (
        'extern "C" __global__ void f(int* out) {\n    int e = blockIdx.x * 32 + threadIdx.x;\n'
        f"    if (e < {size}) out[e] = place(e / {columns}, e % {columns});\n}}\n"
    )
    out = np.full(given.elements, -1, dtype=np.int32)
    ran = launch(compile_to_ptx(source), grid=-(-given.elements // 32), block=32, args=[out], checks=False)
    assert ran.arrays[0].tolist() == found.map.table.tolist()


def test_a_swizzle_over_rows_that_are_further_apart_is_text_of_cute() -> None:
    given = tile("6x32:u8")
    found = layout(given, [access("diagonals:128bit", given)], 169).map
    text = emit(found, given, "cute")
    assert found.swizzle is not None and text.endswith("o (6,32):(128,1)")
    assert (read(text, given).table == found.table).all()
