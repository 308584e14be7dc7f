"""The model's counts against those of the PTX interpreter, which runs what the compiler made of the same candidate."""

import math
import random

import numpy as np
import pytest

from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.ptx import Counts
from warploom.schedule.bound import Bound
from warploom.schedule.bound.problem import BY_MACHINE, ISSUE, MEMORY
from warploom.schedule.choices import KernelSpace, LoweringError, kernel_space
from warploom.schedule.cost import work_of
from warploom.schedule.cuda import Options, cuda_kernel, interpret
from warploom.schedule.nest import Kind, Nest, loops
from warploom.schedule.targets import target
from warploom.solve.space import Candidate

CASES = {
    "matmul": ({"m": 16, "n": 32, "k": 16}, {"m": ((4,), (2,)), "n": ((16,), (2,)), "k": ((4,), (2,))}),
    "dot": ({"n": 512}, {"n": ((64,), (4,))}),
    "matvec": ({"m": 16, "n": 64}, {"m": ((8,),), "n": ((32,), (2,))}),
    "axpy": ({"n": 512}, {"n": ((32, 64), (2, 4))}),
}


def descended(space: KernelSpace, rng: random.Random) -> Candidate | None:
    candidate = space.root()
    while (decision := space.decisions(candidate)) is not None:
        children = [c for a in decision.alternatives if (c := space.apply(candidate, decision, a)) is not None]
        if not children:
            return None
        candidate = rng.choice(children)
    return candidate


def measured(name: str, nest: Nest, sizes: dict[str, int]) -> Counts:
    kernel = tensor_kernel(name)
    printed = cuda_kernel(nest, Options(arch="sm_80"))
    arrays = dict(kernel.arrays(sizes))
    for region in kernel.program(sizes).arguments:
        arrays.setdefault(region.name, np.zeros(region.shape, np.float32))
    counts = interpret(printed, arrays, kernel.parameters, counts=True).counts
    assert counts is not None
    return counts


def candidates(name: str, count: int, seed: int) -> list[tuple[KernelSpace, Candidate, Nest]]:
    sizes, tiles = CASES[name]
    stage = tensor_kernel(name).program(sizes, tiles).stages[0]
    space = kernel_space(stage, target("sm_80"))
    rng = random.Random(seed)
    found: list[tuple[KernelSpace, Candidate, Nest]] = []
    for _ in range(8 * count):
        candidate = descended(space, rng)
        if candidate is None:
            continue
        try:
            found.append((space, candidate, space.lower(candidate)))
        except LoweringError:
            continue
        if len(found) == count:
            break
    return found


@pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")
@pytest.mark.parametrize("name", list(CASES))
def test_counts_of_random_candidates(name: str) -> None:
    for space, candidate, nest in candidates(name, 3, 1):
        bound = Bound(space)
        bound.of(candidate)
        counts = measured(name, nest, CASES[name][0])
        issued = float(bound.scratch.usage[:, BY_MACHINE, ISSUE].sum()) / 32
        accessed = float(bound.scratch.usage[:, BY_MACHINE, MEMORY].sum()) / 32
        moved = max(counts.global_sectors, counts.global_load_requests + counts.global_store_requests)
        assert issued <= counts.instructions
        assert accessed <= moved + counts.shared_wavefronts + counts.shuffles
        blocks = math.prod(x.size for x in loops(nest.body) if x.kind is Kind.BLOCK)
        work = work_of(nest).times(blocks)
        assert work.shuffles == counts.shuffles
        assert work.sectors(is_store=True) == pytest.approx(counts.global_store_sectors, rel=0.05)
        assert work.sectors(is_store=False) <= counts.global_load_sectors * 4 + 64
        assert 0.2 <= work.issued / counts.instructions <= 3.0
