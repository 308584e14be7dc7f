"""Numbers of threads and of vectors in printed kernels: computed once, and only where they are what the sketch says."""

import pytest

from warploom.gpu import cuda_source, read_back
from warploom.gpu.once import vector_number
from warploom.ir import IndexBinary, IndexConst, IndexExpr, IndexVar, parse_kernel

SIDES = """
@kernel(block=(64, 1, 1), grid=(2 * n, 1, 1), warp_size=32)
def sides(x: Global[f32, 256 * n + 64], y: Global[f32, 128 * n] | out, n: size):
    block = block_id
    if block < n:
        i = block * 64 + thread_id + 1
        y[block_id * 64 + thread_id] = x[i]
    else:
        y[OTHER] = x[2 * (64 * block_id + thread_id)]
"""


@pytest.mark.parametrize(
    ("other", "is_named"),
    [
        ("64 * block_id + thread_id", True),
        ("thread_id + 32 * block_id + 32 * block", True),
        ("2 * (32 * block_id + thread_id // 2) + thread_id % 2", True),  # of the other element
    ],
)
def test_the_number_of_a_thread_is_computed_before_the_condition(other: str, is_named: bool) -> None:
    kernel = parse_kernel(SIDES.replace("OTHER", other))
    text = cuda_source(kernel).text
    assert text.count("const int global_id = block * 64 + thread;\n  if (block < n) {") == is_named
    assert "const int i = global_id + 1;" in text and "x[global_id * 2]" in text
    assert read_back(text, kernel, sizes=[{"n": 1}, {"n": 3}]).ok


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x[2 * (64 * block_id + thread_id)]", "x[thread_id]"),  # on one side only
        ("x[2 * (64 * block_id + thread_id)]", "x[32 * block_id + thread_id]"),  # of blocks of other threads
        ("x[2 * (64 * block_id + thread_id)]", "x[64 * block_id + 2 * thread_id]"),  # other steps
    ],
)
def test_other_sums_stay_as_they_are(old: str, new: str) -> None:
    kernel = parse_kernel(SIDES.replace("OTHER", "64 * block_id + 63 - thread_id").replace(old, new))
    text = cuda_source(kernel).text
    assert "global_id" not in text
    assert read_back(text, kernel, sizes=[{"n": 1}, {"n": 3}]).ok


VECTORS = """
@kernel(block=(32, 1, 1), grid=(n, 1, 1), warp_size=32)
def vectors(x: Global[f32, 512 * n], y: Global[f32, 512 * n] | out, n: size):
    part = register(f32, 4)
    shift = 4 * (thread_id + 32 * block_id) * 4
    for k in range(4):
        first = FIRST
        for j in vector(4):
            part[j] = x[first + INDEX + j]
        for j in vector(4):
            y[shift + 4 * k + j] = part[j]
"""


@pytest.mark.parametrize(
    ("first", "index", "printed"),
    [
        ("shift - 4 * thread_id", "4 * thread_id + 4 * k", "(x)[k + thread * 4 + block * 128]"),
        ("shift + 4 * k", "0", "(&x[first])"),  # another value in each round
        ("shift", "(4 * k) * n % 8", "(&x[first + ((k * 4 * n) & 7)])"),  # a multiple, of which the terms do not show it
    ],
)
def test_the_number_of_a_vector_is_printed_where_its_terms_show_it(first: str, index: str, printed: str) -> None:
    kernel = parse_kernel(VECTORS.replace("FIRST", first).replace("INDEX", index))
    text = cuda_source(kernel).text
    assert f"reinterpret_cast<const float4 *>{printed}" in text, text
    assert "reinterpret_cast<float4 *>(y)[" in text
    assert read_back(text, kernel, sizes=[{"n": 1}, {"n": 3}]).ok


def test_numbers_of_vectors() -> None:
    a = IndexVar("a")
    four = IndexBinary("*", a, IndexConst(4))

    def plus(expr: IndexExpr, number: int) -> IndexExpr:
        return IndexBinary("+", expr, IndexConst(number))

    assert vector_number(plus(four, 8), 4) == plus(a, 2)
    assert vector_number(plus(four, 2), 4) is None  # the constant alone
    assert vector_number(plus(a, 8), 4) is None  # the term alone
    assert vector_number(IndexConst(0), 4) == IndexConst(0)
