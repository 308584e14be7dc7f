"""Kernels with asynchronous copies to shared memory, and which of them are in error, from the definition alone.

A program is a list of statements that all threads of one block come to. Each access is an interval of statements: a plain one is
its own statement, a copy reaches from its statement to the wait that covers it. Two accesses to one element, one of them a store,
are in order if one interval ends before the other begins, and, unless one thread makes both, a barrier stands between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from warploom.ir import Kernel, parse_kernel

THREADS = 3
ELEMENTS = 3


@dataclass(frozen=True)
class Step:
    """`element` is that of thread 0, and the next ones are those of the next threads; `who`: the only thread, or None for all;
    `blocks`: the condition of an access, one of `BLOCKS`."""

    what: Literal["copy", "read", "store", "commit", "wait", "sync"]
    who: int | None = None
    element: int = 0
    left: int = 0
    blocks: str = ""


BLOCKS = {"": (0, 1, 2), "block_id < 1": (0,), "block_id >= 1": (1, 2), "block_id < 2": (0, 1), "block_id >= 2": (2,)}


@dataclass(frozen=True)
class _Access:
    thread: int
    element: int
    is_store: bool
    first: int
    last: float


def is_in_error(steps: list[Step], block: int = 0) -> bool:
    """Whether two accesses of a block have no order."""
    barriers = [p for p, s in enumerate(steps) if s.what == "sync"]
    accesses = [_Access(t, t, True, -2, -2) for t in range(THREADS)]
    barriers.append(-1)
    for position, step in enumerate(steps):
        if step.what in ("copy", "read", "store") and block in BLOCKS[step.blocks]:
            last = _covered(steps, position) if step.what == "copy" else position
            for thread in range(THREADS) if step.who is None else [step.who]:
                element = (thread + step.element) % ELEMENTS
                accesses.append(_Access(thread, element, step.what != "read", position, last))

    def before(a: _Access, b: _Access) -> bool:
        return a.last < b.first and (a.thread == b.thread or any(a.last < s < b.first for s in barriers))

    return any(
        a.element == b.element and (a.is_store or b.is_store) and not before(a, b) and not before(b, a)
        for k, a in enumerate(accesses)
        for b in accesses[:k]
    )


def _covered(steps: list[Step], copy: int) -> float:
    """The statement of the wait for a copy."""
    group = next((p for p in range(copy, len(steps)) if steps[p].what == "commit"), None)
    for position, step in enumerate(steps):
        if group is not None and position > group and step.what == "wait":
            later = sum(s.what == "commit" for s in steps[group + 1 : position])
            if later >= step.left:
                return position
    return math.inf


def random_steps(random: Random) -> list[Step]:
    """A program, more often in error than not."""
    kinds = ["copy"] * 3 + ["read"] * 3 + ["store", "commit", "commit", "wait", "wait", "wait", "sync", "sync", "sync"]
    found: list[Step] = []
    for _ in range(random.randint(4, 12)):
        what = random.choice(kinds)
        who = random.choice([None, None, *range(THREADS)])
        found.append(Step(what, who, random.randrange(ELEMENTS), random.choice([0, 0, 1, 2])))  # pyright: ignore[reportArgumentType]
    return found


def program(steps: list[Step], valid: str = "") -> Kernel:
    """One block per row of x and y; all elements of the tile are stored to first, and a barrier follows. `valid`: copies write
    zeros where that condition does not hold; they are in order, or not, as all copies are."""
    source = "x[block_id, thread_id]" + f" if {valid} else f32(0.0)" * (valid != "")
    lines = [f"tile = shared(f32, {ELEMENTS})", "tile[thread_id] = x[block_id, thread_id]", "sync()"]
    for position, step in enumerate(steps):
        element = f"(thread_id + {step.element}) % {ELEMENTS}"
        line = {
            "copy": f"memcpy_async(tile[{element}], {source})",
            "read": f"y[block_id, thread_id, {position}] = tile[{element}]",
            "store": f"tile[{element}] = x[block_id, thread_id]",
            "commit": "pipeline_commit()",
            "wait": f"pipeline_wait_prior({step.left})",
            "sync": "sync()",
        }[step.what]
        if step.what in ("copy", "read", "store"):
            conditions = [f"thread_id == {step.who}"] * (step.who is not None) + [step.blocks] * (step.blocks != "")
            for condition in conditions:
                line = f"if {condition}:\n" + "".join(f"    {part}\n" for part in line.rstrip().split("\n"))
        lines += line.rstrip().split("\n")
    head = f"@kernel(block=({THREADS}, 1, 1), grid=(n, 1, 1), warp_size=4)\n"
    head += f"def k(x: Global[f32, n, {THREADS}], y: Global[f32, n, {THREADS}, {len(steps)}] | out, n: size):\n"
    return parse_kernel(head + "".join(f"    {line}\n" for line in lines))


def programs(count: int, valid: str = "") -> list[tuple[Kernel, bool]]:
    """Random kernels, and whether each is in error; half of them are. `valid`: as in `program`."""
    random, found = Random(7), dict[bool, list[Kernel]]({False: [], True: []})
    while len(found[False]) < count // 2:
        steps = random_steps(random)
        found[is_in_error(steps)].append(program(steps, valid))
    return [(kernel, is_wrong) for is_wrong, kernels in found.items() for kernel in kernels[: count // 2]]


def conditional_programs(count: int) -> list[tuple[Kernel, bool]]:
    """The same with accesses that only some of the blocks 0, 1 and 2 make, in error if one of the blocks is."""
    random, found = Random(11), dict[bool, list[Kernel]]({False: [], True: []})
    while len(found[False]) < count // 2:
        steps = [replace(s, blocks=random.choice(list(BLOCKS))) for s in random_steps(random)]
        found[any(is_in_error(steps, block) for block in range(3))].append(program(steps))
    return [(kernel, is_wrong) for is_wrong, kernels in found.items() for kernel in kernels[: count // 2]]


DOUBLE = """
@kernel(block=(8, 1, 1), grid=(n, 1, 1), warp_size=32)
def summed(x: Global[f32, n, 32], y: Global[f32, n, 8] | out, n: size):
    tile = shared(f32, 2, 8)
    memcpy_async(tile[0, thread_id], x[block_id, thread_id])
    pipeline_commit()
    total = accumulator(f32, op='+', init=0.0, finalize=__state)
    for k in range(4):
        if k < 3:
            memcpy_async(tile[(k + 1) % 2, thread_id], x[block_id, k * 8 + 8 + thread_id])
        pipeline_commit()
        pipeline_wait_prior(1)
        sync()
        total.add(tile[k % 2, 7 - thread_id])
        sync()
    y[block_id, thread_id] = total.value()
"""
"""A double buffer: while a tile is summed, the next one is copied."""


def double(x, y, n):
    for b in range(n):
        for t in range(8):
            for k in range(4):
                y[b, t] += x[b, 8 * k + 7 - t]


MISTAKES = {
    "no wait": ("        pipeline_wait_prior(1)\n", "", "COPY_PENDING"),
    "a wait that leaves one group too many": ("wait_prior(1)", "wait_prior(2)", "COPY_PENDING"),
    "no commit for the last trip": ("        pipeline_commit()\n", "            pipeline_commit()\n", "COPY_PENDING"),
    "a wait after the barrier": (
        "        pipeline_wait_prior(1)\n        sync()\n",
        "        sync()\n        pipeline_wait_prior(1)\n",
        "RACE",
    ),
    "no barrier after the wait": ("        sync()\n        total", "        total", "RACE"),
    "a buffer that is overwritten while others read it": ("        sync()\n    y", "    y", "RACE"),
    "one buffer": ("(k + 1) % 2", "k % 2", "COPY_PENDING"),
}
"""Changes of `DOUBLE`, each a mistake, and a code that tells it. A wait after the barrier lets others read too early."""

VALID = "thread_id < 2"
"""A condition on threads, without which copies write zeros."""

FILLED = """
@kernel(block=(4, 1, 1), grid=((n + 3) // 4, 1, 1), warp_size=4)
def filled(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    i = block_id * 4 + thread_id
    tile = shared(f32, 5)
    memcpy_async(tile[thread_id], x[i] if i < n else f32(0.0))
    if thread_id < 1:
        memcpy_async(tile[4], x[i + 4] if i + 4 < n else f32(0.0))
    pipeline_commit()
    pipeline_wait_prior(0)
    sync()
    if i < n:
        y[i] = tile[thread_id] + tile[thread_id + 1]
"""
"""Sums of two neighbours; behind the last element are zeros."""


def neighbours(x, y, n):
    for i in range(n):
        y[i] = x[i] + (x[i + 1] if i + 1 < n else 0)


FILL_MISTAKES = {
    "zeros for the last element": ("x[i] if i < n else", "x[i] if i + 1 < n else"),
    "zeros for the first of the next block": ("x[i + 4] if i + 4 < n", "x[i + 4] if i + 5 < n"),
    "no wait": ("    pipeline_wait_prior(0)\n", ""),
    "no barrier": ("    sync()\n", ""),
    "an element behind the end": ("x[i + 4] if i + 4 < n", "x[i + 4] if i + 4 <= n"),
    "no zeros where nobody copies": (
        "memcpy_async(tile[4], x[i + 4] if i + 4 < n else f32(0.0))",
        "if i + 4 < n:\n            memcpy_async(tile[4], x[i + 4])",
    ),
}
"""Changes of `FILLED`, each a mistake."""
