"""Asynchronous copies in a generic block: programs in error are not lifted, all others are followed."""

from __future__ import annotations

import pytest
from tests.async_programs import (
    DOUBLE,
    FILL_MISTAKES,
    FILLED,
    MISTAKES,
    VALID,
    conditional_programs,
    double,
    neighbours,
    programs,
)
from tests.synth.kernels import parse, sketch_of

from warploom.core.linear import variable
from warploom.ir import Kernel
from warploom.synth.lift.affine import UnliftableError
from warploom.synth.lift.generic_block import GenericBlock
from warploom.synth.lift.generic_index import GenericIndex
from warploom.synth.lift.lift import lift


def refusal(kernel: Kernel) -> str:
    """Why the kernel is not followed; empty where it is."""
    block = variable("block.x")
    try:
        GenericBlock(kernel, GenericIndex(kernel, (block, variable("zero"), variable("zero"))), is_spec=False).run()
    except UnliftableError as error:
        return str(error)
    return ""


def test_random_programs() -> None:
    for kernel, is_wrong in programs(60):
        assert refusal(kernel).startswith("a possible race: expected ") == is_wrong


def test_random_programs_with_zero_fill() -> None:
    for kernel, is_wrong in programs(40, VALID):
        assert refusal(kernel).startswith("a possible race: expected ") == is_wrong


def test_random_programs_with_conditions() -> None:
    """Whatever is in error in one block is refused; not everything else is followed."""
    cases = [(refusal(kernel), is_wrong) for kernel, is_wrong in conditional_programs(60)]
    assert all(reason.startswith("a possible race: expected ") for reason, is_wrong in cases if is_wrong)
    assert sum(not reason for reason, _ in cases) > 15


def test_a_double_buffer_is_lifted() -> None:
    kernel = parse(DOUBLE)
    assert lift(sketch_of(kernel, double, {"n": 2}), kernel).verdict == "proved"


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_double_buffers(mistake: str) -> None:
    old, new, _ = MISTAKES[mistake]
    assert refusal(parse(DOUBLE, (old, new))).startswith("a possible race: expected ")


TAIL = """
@kernel(block=(4, 1, 1), grid=((n + 3) // 4, 1, 1), warp_size=4)
def tail(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    i = block_id * 4 + thread_id
    tile = shared(f32, 4)
    if i < n:
        memcpy_async(tile[thread_id], x[i])
    pipeline_commit()
    pipeline_wait_prior(0)
    if i < n:
        y[i] = tile[thread_id]
"""


def copied(x, y, n):
    for i in range(n):
        y[i] = x[i]


def test_a_copy_under_a_condition_on_sizes_is_lifted() -> None:
    kernel = parse(TAIL)
    assert lift(sketch_of(kernel, copied, {"n": 6}), kernel).verdict == "proved"
    after = parse(TAIL, ("    if i < n:\n        mem", "    tile[thread_id] = f32(0.0)\n    if i < n:\n        mem"))
    assert lift(sketch_of(after, copied, {"n": 6}), after).verdict == "proved"
    instead = parse(TAIL, ("    pipeline_commit()", "    else:\n        tile[thread_id] = f32(0.0)\n    pipeline_commit()"))
    assert lift(sketch_of(instead, copied, {"n": 6}), instead).verdict == "proved"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("    pipeline_commit()", "    if block_id < 7:\n        pipeline_commit()", "a commit of copies under a condition"),
        (
            "    pipeline_wait_prior(0)",
            "    if block_id < 7:\n        pipeline_wait_prior(0)",
            "a wait for copies under a condition",
        ),
        ("    pipeline_commit()", "    if thread_id < 3:\n        pipeline_commit()", "a commit of copies under a condition"),
        (
            "    pipeline_commit()",
            "    else:\n        tile[(thread_id + 1) % 4] = f32(0.0)\n    pipeline_commit()",
            "expected thread 1 to wait for its copy to tile[1] before the write by thread 0",
        ),
        (
            "    pipeline_commit()",
            "    if i < n + 1:\n        tile[thread_id] = f32(0.0)\n    pipeline_commit()",
            "expected thread 0 to wait for its copy to tile[0] before the write by thread 0",
        ),
    ],
)
def test_conditions_that_are_not_followed(old: str, new: str, reason: str) -> None:
    kernel = parse(TAIL, (old, new))
    assert reason in refusal(kernel)


def test_zeros_behind_the_last_element_are_lifted() -> None:
    kernel = parse(FILLED)
    result = lift(sketch_of(kernel, neighbours, {"n": 6}), kernel)
    assert (result.verdict, result.domain) == ("proved", "real sums reordered; every n from 0 to 2147483641")


@pytest.mark.parametrize("mistake", FILL_MISTAKES)
def test_mistakes_about_zeros(mistake: str) -> None:
    kernel = parse(FILLED, FILL_MISTAKES[mistake])
    assert lift(sketch_of(kernel, neighbours, {"n": 6}), kernel).verdict == "refuted"
