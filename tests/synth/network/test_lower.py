"""A lowered sketch under any completion computes what the completed kernel does."""

from __future__ import annotations

import random

import pytest
from tests.synth.brute_force import completions
from tests.synth.kernels import parse
from tests.synth.network_run import run_network
from tests.synth.random_sketches import random_kernel

from warploom.core import UserError
from warploom.ir import Kernel, fill
from warploom.sketch import Sketch
from warploom.synth.network.lower import lower
from warploom.synth.problem import kernel_algebra
from warploom.synth.proof.symbolic import execute
from warploom.terms import equal


def _check(kernel: Kernel, seed: int, tries: int, most: int = 4000) -> int:
    """How many completions without a fault agreed."""
    network = lower(kernel, {})
    listed = next((c for space in (3, 2, 1) if (c := completions(network.holes, space, most)) is not None), None)
    if listed is None:
        return 0
    algebra = kernel_algebra(Sketch(kernel))
    agreed = 0
    for tables, holes in random.Random(seed).sample(sorted(listed.items()), min(tries, len(listed))):
        execution = execute(fill(kernel, holes), {})
        if execution.diagnostics:
            continue
        outputs, fired = run_network(network, tables)
        for name, array in execution.outputs.items():
            for got, want in zip(outputs[name], array.reshape(-1).tolist(), strict=True):
                assert (got is None) == (want is None)
                assert got is None or got is want or equal(got, want, algebra)
        assert fired == execution.accumulates
        agreed += 1
    return agreed


@pytest.mark.parametrize("start", range(10_000, 10_200, 50))
def test_random_sketches(start: int) -> None:
    agreed = 0
    for seed in range(start, start + 50):
        try:
            agreed += _check(random_kernel(seed), seed, 4)
        except UserError as error:
            assert error.diagnostics[0].code in ("HOLE_RANGE", "NESTED_HOLE")
    assert agreed > 50


HEAD = """@kernel(block=({threads}, 1, 1), grid=({grid}, 1, 1), warp_size=4)
def made(x: Global[{dtype}, 16], y: Global[{dtype}, 16] | out):
"""


def _kernel(body: str, holes: str, threads: int = 4, grid: int = 1, dtype: str = "i32") -> Kernel:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    return parse(f"{holes.strip()}\n{HEAD.format(threads=threads, grid=grid, dtype=dtype)}{lines}\n")


PART = "@hole('p', kind='part', args=('t',), n=2, grammar='constant-free')\n"
COND = "@hole('c', kind='cond', args=('t', 'k'), grammar='constant-free')\n"
SHIFT = "@hole('s', kind='const', args=(), constants=(0, 1, 2, 3))\n"

KERNELS = {
    "two blocks": _kernel("y[block_id * 4 + thread_id] = x[block_id * 4 + hole('p', thread_id)]", PART, grid=2),
    "shuffle up": _kernel("v: i32 = x[thread_id]\ny[thread_id] = shfl_up(v, hole('s'), 4)", SHIFT, threads=8),
    "shuffle down": _kernel("v: i32 = x[thread_id]\ny[thread_id] = shfl_down(v, hole('s'), 2)", SHIFT, threads=8),
    "shuffle xor": _kernel("v: i32 = x[thread_id]\ny[thread_id] = shfl_xor(v, hole('s'), 4)", SHIFT, threads=8),
    "shuffle idx": _kernel("v: i32 = x[thread_id]\ny[thread_id] = shfl(v, thread_id + hole('s'), 4)", SHIFT, threads=8),
    "shared store": _kernel(
        "tile = shared(i32, 8)\ntile[(thread_id + hole('s')) % 8] = x[thread_id]\nsync()\ny[thread_id] = tile[7 - thread_id]",
        SHIFT,
        threads=8,
    ),
    "stores to registers": _kernel(
        """
r = register(i32, 2)
r[0] = x[thread_id]
r[1] = x[8 + thread_id]
r[hole('p', thread_id)] = x[4 + thread_id]
if hole('c', thread_id, 2):
    r[hole('p', thread_id)] = r[0]
y[thread_id] = r[0]
y[4 + thread_id] = r[1]
""",
        PART + COND,
    ),
    "open condition with both branches": _kernel(
        """
v: i32 = x[0]
if hole('c', thread_id, 1):
    v: i32 = x[thread_id]
    i = 3
else:
    i = 5
    if thread_id < 2:
        v: i32 = x[7]
y[thread_id] = v
""",
        COND,
    ),
    "nested open conditions": _kernel(
        """
out = accumulator(i32, op='+', init=0, finalize=__state)
for k in range(3):
    if hole('c', thread_id, k):
        if hole('c', k, thread_id):
            out.add(x[k])
        else:
            out.add(x[k + 4], when=thread_id > 0)
y[thread_id] = out.value()
""",
        COND,
    ),
    "open accumulator index": _kernel(
        """
out = accumulator(i32, 2, op='+', init=1, finalize=__state * i32(2))
for k in range(3):
    out[hole('p', k)].add(x[k + thread_id], when=hole('c', thread_id, k))
y[thread_id] = out[0].value()
y[4 + thread_id] = out[1].value()
y[8 + thread_id] = out[hole('p', thread_id)].value()
""",
        PART + COND,
    ),
    "chosen data and indices": _kernel(
        "a: i32 = x[thread_id]\nb: i32 = x[8 + thread_id]\ny[thread_id] = a if hole('p', thread_id) == 0 else b * a\n"
        "y[4 + hole('q', thread_id, 3 - thread_id)] = b",
        PART + "@hole('q', kind='choose', args=('t', 'u'), n=2)\n",
    ),
    "components of vectors": _kernel(
        "r = register(int2, 2)\nr[0] = x[thread_id]\nr[1] = x[8 + thread_id]\n"
        "v: int2 = shfl(r[hole('p', thread_id)], hole('s'), 4)\ny[thread_id] = pack(int2, v.y, r[hole('p', thread_id)].x)",
        PART + SHIFT,
        dtype="int2",
    ),
    "an accumulator read while it runs": _kernel(
        """
out = accumulator(i32, op='max', init=0, finalize=__state)
for k in range(2):
    out.add(x[thread_id + k], when=hole('c', thread_id, k))
    y[thread_id + 4 * k] = out.value()
""",
        COND,
    ),
    "indices kept in variables": _kernel(
        """
i = hole('p', thread_id)
j = i + 2 * hole('s')
if thread_id % 2 == 0:
    i = hole('p', thread_id) + 4
    if hole('c', thread_id, 2):
        j = i
y[thread_id] = x[i] + x[j]
""",
        PART + SHIFT + COND,
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_lowered_kernel(name: str) -> None:
    assert _check(KERNELS[name], 0, 40) > 0


def test_primary_index_outside_its_range_is_located() -> None:
    kernel = _kernel("y[thread_id] = x[hole('x', thread_id + 1, 0)]", "@hole('x', kind='xform', args=('t', 'k'), n=4)\n")
    with pytest.raises(UserError, match=r"within 0\.\.3, got t = 4"):
        lower(kernel, {})


def test_hole_inside_a_hole_is_refused() -> None:
    kernel = _kernel("y[thread_id] = x[hole('p', hole('s'))]", PART + SHIFT)
    with pytest.raises(UserError, match="without holes"):
        lower(kernel, {})
