"""Lanes by banks and by sectors, against what is known of small kernels by hand."""

import numpy as np
import pytest

from warploom.ir import parse_kernel, run
from warploom.tools.html.asked import asked_picture
from warploom.tools.pages.accesses import Asked, asked_in
from warploom.tools.pages.trace import trace

KERNEL = """
@kernel(block=(32, 1, 1), grid=(1, 1, 1), warp_size=32, file="")
def columns(x: Global[f32, n, 4], y: Global[{dtype}, 32] | out, n: size):
    tile = shared({dtype}, {rows}, {width})
    for r in range(0, {rows}, 1):
        tile[r, thread_id % {width}] = {dtype}({value})
    sync()
    y[thread_id] = {read}
"""


def asked(read: str, rows: int = 32, width: int = 32, dtype: str = "f32", value: str = "1") -> list[Asked]:
    kernel = parse_kernel(KERNEL.format(read=read, rows=rows, width=width, dtype=dtype, value=value))
    return asked_in(trace(kernel, {}, {"n": 40}), kernel)


@pytest.mark.parametrize(
    ("read", "width", "units", "columns"),
    [
        ("tile[thread_id, 3]", 32, 32, {3}),  # a column: all in one bank
        ("tile[thread_id, 3]", 33, 1, set(range(32))),  # padded
        ("tile[thread_id // 2, 0]", 32, 16, {0}),  # pairs of lanes ask the same word
        ("tile[5, 5]", 32, 1, {5}),  # all the same word
    ],
)
def test_banks(read: str, width: int, units: int, columns: set[int]) -> None:
    store, load, _ = asked(read, width=width)
    assert (store.requests, load.units, {column for _, column, _ in load.cells}) == (32, units, columns)
    assert load.is_shared and len(load.cells) == 32 and load.columns == 32
    assert asked_picture(load.cells, 32, "bank", 3).count('class="asked"') == 32


def test_every_read_of_a_statement_is_a_request() -> None:
    _, first, second, _ = asked("tile[0, thread_id] + tile[thread_id, 0]")
    assert (first.units, second.units) == (1, 32)


def test_words_of_wide_elements() -> None:
    """Lanes of 8 bytes go by half warps, each of which asks every bank once."""
    _, load, store = asked("tile[0, thread_id]", rows=2, dtype="f64")
    assert (load.units, len(load.cells), store.units) == (2, 64, 8)


def test_sectors_and_the_interpreter() -> None:
    """Rows of 16 bytes: two lanes share a sector. The interpreter counts the same over the launch."""
    found = asked("x[thread_id, 1] + x[thread_id + 8, 2]")
    loads = [one for one in found if one.text.startswith("load of x")]
    assert [(one.units, one.columns, one.is_shared) for one in loads] == [(16, 16, False)] * 2
    kernel = parse_kernel(KERNEL.format(read="x[thread_id, 1] + x[thread_id + 8, 2]", rows=32, width=32, dtype="f32", value="1"))
    counts = run(kernel, {"x": np.zeros((40, 4), np.float32), "y": np.zeros(32, np.float32)}, {"n": 40}).counts
    assert counts.global_load_sectors == sum(one.total for one in loads)
    assert counts.shared_wavefronts == sum(one.total for one in found if one.is_shared)


def test_lanes_of_a_branch_and_what_is_shuffled_are_requests_of_their_own() -> None:
    read = "shfl(tile[0, thread_id], 0, 32) + (tile[thread_id, 0] if thread_id < 8 else f32(0))"
    _, first, second, _ = asked(read)
    assert first.units == 1 and (len(second.cells), second.units) == (8, 8)
