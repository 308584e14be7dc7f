"""Kernels with a path for whole tiles and one for the rest: vectors, places shifted by quotients of sizes, and planted bugs."""

from dataclasses import replace

import numpy as np
import pytest
from tests.synth.kernels import sketch_of

from warploom.core import UserError, f32
from warploom.gpu import cuda_source, read_back
from warploom.ir import If, Kernel, Stmt, alignment_text, kernel_text, parse_kernel, run, verify
from warploom.sketch import Global, ceil_div, size, sketch, thread_id, vector
from warploom.synth.lift.lift import lift

TWICE = """
@kernel(block=(32, 1, 1), grid=(n // 128 + (n % 128 + 31) // 32, 1, 1), warp_size=32)
def twice(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    whole = n // 128
    first = 128 * block_id + 4 * thread_id
    if block_id < whole:
        part = register(f32, 4)
        for j in vector(4):
            part[j] = x[first + j]
        for j in vector(4):
            y[first + j] = part[j] + part[j]
    else:
        at = 96 * whole + 32 * block_id + thread_id
        if at < n:
            y[at] = x[at] + x[at]
"""


def twice(x, y, n):
    for i in range(n):
        y[i] = x[i] + x[i]


def kernel(*changes: tuple[str, str]) -> Kernel:
    text = TWICE
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_kernel(text)


def verdict(*changes: tuple[str, str]) -> str:
    made = kernel(*changes)
    return lift(sketch_of(made, twice, {"n": 128}), made).verdict


def test_whole_tiles_and_the_rest_are_proved_together() -> None:
    made = kernel()
    verify(made)
    assert parse_kernel(kernel_text(made)) == made
    assert alignment_text(made) == "x and y begin at multiples of 16 bytes"
    assert verdict() == "proved"


@pytest.mark.parametrize(
    "change",
    [
        ("96 * whole", "97 * whole"),  # no common step with the blocks: one element of each tile is left out
        ("96 * whole", "64 * whole"),  # stored twice
        ("block_id < whole", "block_id <= whole"),
        ("at < n", "at < n - 1"),
        ("(n % 128 + 31) // 32", "n % 128 // 32"),
        ("y[first + j]", "y[first + 4 - 4 * (thread_id % 2) * 2 + j]"),
    ],
)
def test_planted_bugs_are_not_proved(change: tuple[str, str]) -> None:
    assert verdict(change) != "proved"


@pytest.mark.parametrize(
    "change, code",
    [
        (("4 * thread_id", "2 * thread_id"), "VECTOR_ALIGNMENT"),
        (("x[first + j]", "x[first + j + 1]"), "VECTOR_ALIGNMENT"),
        (("x[first + j]", "x[first + 2 * j]"), "VECTOR_INDEX"),
        (("x[first + j]", "x[first - j]"), "VECTOR_INDEX"),
        (("x[first + j]", "x[4 * (first + j)]"), "VECTOR_INDEX"),
        (("vector(4)", "vector(8)"), "VECTOR_TYPE"),
        (("f32", "f16"), "VECTOR_TYPE"),
        (("part[j] = x[first + j]", "part[j] = x[first + j] + x[first + j]"), "VECTOR_BODY"),
        (("y[first + j] = part[j] + part[j]", "y[first + j] = part[j] + x[first + j]"), "VECTOR_BODY"),
        (("y[first + j] = part[j] + part[j]", "y[first + j] = shfl(part[j], 1, 32)"), "VECTOR_BODY"),
        (("part = register", "part = shared"), "VECTOR_BODY"),
        (("Global[f32, n] | out", "Constant[f32, n]"), "VECTOR_BODY"),
    ],
)
def test_what_is_no_single_access_is_refused(change: tuple[str, str], code: str) -> None:
    with pytest.raises(UserError) as caught:
        verify(kernel(change))
    assert code in {d.code for d in caught.value.diagnostics}


def test_a_vector_is_one_request() -> None:
    counts = run(kernel(), {"x": np.zeros(256, np.float32)}, {"n": 256}).counts
    assert (counts.global_load_sectors, counts.global_store_sectors) == (2 * 16, 2 * 16)


def test_the_printed_vectors_are_read_back_and_misplaced_ones_are_seen() -> None:
    made = kernel()
    text = cuda_source(made).text
    sizes = [{"n": n} for n in (128, 300, 5)]
    assert "reinterpret_cast<float4 *>(y)[block * 32 + thread] = make_float4(" in text
    assert "reinterpret_cast<size_t>(x) % 16 != 0" in text
    assert read_back(text, made, sizes=sizes, rounds=1).ok
    at = "*>(x)[block * 32 + thread]"
    place = "*reinterpret_cast<const float4 *>(&x[(block * 32 + thread) * 4])"
    first = text.replace(f"reinterpret_cast<const float4 {at}", place)
    assert read_back(first, made, sizes=sizes, rounds=1).ok
    shifted = read_back(first.replace(" * 4])", " * 4 + 1])"), made, sizes=sizes, rounds=1)
    assert shifted.verdict == "refuted" and "MISALIGNED" in {d.code for d in shifted.diagnostics}
    for old, new in ((at, at.replace("]", " + 1]")), ("part_4.y", "part_4.x"), ("make_float4(", "make_float4(0.0f * ")):
        assert old in text
        assert read_back(text.replace(old, new), made, sizes=sizes, rounds=1).verdict == "refuted"


n = size("n")


def test_errors_of_sketches_have_places() -> None:
    def three(x: Global[f32, n], y: Global[f32, n]):
        for j in vector(3):
            y[j] = x[j]

    def elsewhere(x: Global[f32, n], y: Global[f32, n]):
        y[thread_id()] = x[vector(4)]

    for function, code in ((three, "VECTOR_TYPE"), (elsewhere, "VECTOR_PLACE")):
        with pytest.raises(UserError) as caught:
            sketch(spec=twice, block=32, grid=ceil_div(n, 32), complete_at={"n": 32})(function)
        found = caught.value.diagnostics[0]
        assert found.code == code and found.span.line > 0


ROWS = """
@kernel(block=(32, 1, 1), grid=((w + 127) // 128, h, 1), warp_size=32)
def rows(x: Global[f32, h, w + 2], y: Global[f32, h, w] | out, h: size, w: size):
    first = 128 * block_id + 4 * thread_id
    if w % 4 == 0 and 128 * block_id + 128 <= w:
        part = register(f32, 4)
        for j in vector(2):
            part[j] = x[block_id("y"), first + j]
        for j in vector(2):
            part[2 + j] = x[block_id("y"), first + 2 + j]
        for j in vector(4):
            y[block_id("y"), first + j] = part[j] + part[j]
    else:
        for j in range(4):
            if first + j < w:
                y[block_id("y"), first + j] = x[block_id("y"), first + j] + x[block_id("y"), first + j]
"""


def doubled_rows(x, y, h, w):
    for i in range(h):
        for j in range(w):
            y[i, j] = x[i, j] + x[i, j]


def rows(*changes: tuple[str, str]) -> Kernel:
    text = ROWS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_kernel(text)


def test_rows_of_whole_vectors_are_vectors_where_a_condition_says_so() -> None:
    made = rows()
    found = lift(sketch_of(made, doubled_rows, {"h": 1, "w": 128}), made)
    assert found.verdict == "proved"
    assert alignment_text(made) == "x begins at a multiple of 8 bytes; y begins at a multiple of 16 bytes"
    text = cuda_source(made, {}).text
    assert "float4" in text and "float2" in text
    for width in (128, 130, 260):
        arrays = {"x": np.arange(2 * (width + 2), dtype=np.float32).reshape(2, width + 2)}
        done = run(made, arrays, {"h": 2, "w": width})
        assert not done.diagnostics and np.array_equal(done.arrays["y"], 2 * arrays["x"][:, :width])
        assert read_back(text, made, sizes=[{"h": 2, "w": width}], rounds=1).ok


@pytest.mark.parametrize(
    "change",
    [
        ("w % 4 == 0 and ", ""),
        ("w % 4 == 0", "w % 4 <= 0"),
        ("w % 4 == 0", "w % 2 == 0"),
        ("w % 4 == 0", "h % 4 == 0"),
        ("w % 4 == 0", "w % 4 == 2"),
        ("w % 4 == 0 and", "w % 4 == 0 or"),
        ("w % 4 == 0", "not w % 4 == 0"),
        ("vector(2):\n            part[j]", "vector(4):\n            part[j]"),
        (
            "for j in range(4):\n            if first + j < w:\n                y",
            "for j in vector(4):\n            if first + j < w:\n                y",
        ),
    ],
)
def test_rows_that_may_be_no_whole_vectors_are_refused(change: tuple[str, str]) -> None:
    with pytest.raises(UserError) as caught:
        verify(rows(change))
    assert caught.value.diagnostics[0].code in ("VECTOR_ALIGNMENT", "VECTOR_BODY")


def test_a_condition_says_nothing_of_its_other_side() -> None:
    made = rows(("if w % 4 == 0 and 128 * block_id + 128 <= w:", "if w % 4 == 0:"))
    verify(made)
    turned = replace(made, body=(made.body[0], swapped(made.body[1])))
    with pytest.raises(UserError, match="put it under `if w % 4 == 0:`"):
        verify(turned)


def swapped(branch: Stmt) -> Stmt:
    assert isinstance(branch, If)
    return replace(branch, then=branch.other, other=branch.then)
