"""Scans by key: neighbours with equal keys are of one segment; the kernels read keys, and are proved as other scans are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby

import numpy as np
import pytest

from warploom import scan
from warploom.core import UserError
from warploom.gpu import toolchain_available
from warploom.scan.emit import Choices, CudaScan, Types, cuda_scan, opaque_scan
from warploom.scan.emit.running import compare, compiled_program, run_kernel
from warploom.scan.tasks import loops_module
from warploom.scan.variants import ScanForm
from warploom.tools.scan.emit import asked_for
from warploom.tools.scan.functions import prove_functions
from warploom.tools.scan.proof import prove_movement
from warploom.tools.scan.whole_arrays import prove_launches

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")
BY_KEY = ScanForm(is_segmented=True, is_by_key=True)
SMALL = Choices(threads=32, items=2)


@cache
def total() -> scan.Operator:
    found = scan.lift(scan.read_loop(loops_module(), "total")).operator
    assert found is not None
    return found


def made(choices: Choices = SMALL) -> CudaScan:
    return cuda_scan(total(), Types(), choices, form=BY_KEY)


def sums(keys: Sequence[int], xs: Sequence[int]) -> list[int]:
    found: list[int] = []
    for _, group in groupby(zip(keys, xs, strict=True), lambda pair: pair[0]):
        sum_ = 0
        for _, x in group:
            sum_ += x
            found.append(sum_)
    return found


def test_whole_arrays_are_scanned_by_their_keys() -> None:
    kernel = made()
    program = compiled_program(kernel)
    choose = np.random.default_rng(4)
    for count in (1, 65, 200):
        keys, xs = choose.integers(-2, 2, count).astype(np.int32), choose.integers(-9, 9, count).astype(np.int32)
        keys = np.sort(keys) if count == 200 else keys
        grid = -(-count // kernel.tile)
        (found,) = run_kernel(kernel, program, "scan_device", [xs, keys], [], 32, grid)
        assert found.tolist() == sums(keys.tolist(), xs.tolist())


def test_every_kernel_agrees_with_the_loop() -> None:
    found = compare(made(), sizes=(1, 40), tiles=2)
    assert found.cases > 500 and not found.mismatch


def test_they_are_proved() -> None:
    assert not prove_functions(made()).missing
    moved = prove_movement(opaque_scan(total(), Types(), SMALL, BY_KEY, None), threads=(32,))
    assert moved.verdict == "proved", moved.reason
    whole = prove_launches(cuda_scan(total(), Types(), SMALL, "opaque", BY_KEY, has_whole_arrays=True), (1, 2))
    assert whole.verdict == "proved", whole.reason


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("start > 0 ? start - 1 : 0", "start > 0 ? start : 0"),  # the first element of a tile asks for its own key
        ("threadIdx.x > 0 ? key_.at(threadIdx.x * ITEMS - 1)", "threadIdx.x > 0 ? key_.at(threadIdx.x * ITEMS)"),
        pytest.param("items[k].key_before = items[k - 1].key_", "items[k].key_before = items[k].key_", marks=pytest.mark.slow),
        pytest.param("j > 0 ? key_.at(j - 1)", "j > 0 ? key_.at(j)", marks=pytest.mark.slow),
    ],
)
def test_planted_bugs_are_not_proved(right: str, wrong: str) -> None:
    kernel = cuda_scan(total(), Types(), SMALL, "opaque", BY_KEY, has_whole_arrays=True)
    assert right in kernel.source
    found = prove_launches(replace(kernel, source=kernel.source.replace(right, wrong)), (2,))
    assert found.verdict != "proved"


def test_forms_that_are_not_served_say_so() -> None:
    for backward, segmented in ((True, False), (False, True)):
        with pytest.raises(UserError, match="BAD_FORM"):
            asked_for(64, backward, segmented, None, None, True)
