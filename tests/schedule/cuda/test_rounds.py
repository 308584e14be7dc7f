"""Loops that leave out rounds by block (`Loop.only`): bounds, printed, run in the oracle and on the PTX interpreter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pytest
from tests.schedule.cuda import nests
from tests.schedule.nest.interpreter import interpret as interpret_nest

from warploom.core import UnsupportedError
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Constant, Operator, Role, RunTimeSize
from warploom.schedule.cuda import cuda_kernel, interpret
from warploom.schedule.nest import Compute, Guard, Kind, Load, Loop, Memory, Nest, Node, Ref, Store, Trips, verify, with_barriers

BLOCKS, ROUNDS, THREADS, MOST = 7, 9, 4, 1_000_000
Forms: TypeAlias = tuple[tuple[int, ...], ...]


BOUNDS = {
    "up to the block": ((-1, 1, 0),),
    "every second block one more": ((-2, 1, 1),),
    "divided": ((-2, 4, 3),),
    "from the block on": ((1, -1, 1),),
    "from every second block on": ((2, -1, 1),),
    "a window": ((-1, 1, 2), (2, -1, 0)),
    "downwards": ((-1, -1, 7),),
    "two ends": ((-1, 1, 3), (-2, -1, 14)),
    "all": ((-1, 1, 100),),
    "some for all blocks": ((-1, 0, 5), (1, 0, -2)),
    "none in block 0": ((-1, 1, -1),),
    "a band": ((1, -1, 1, 3),),
}
"""By name: forms `a * round + b * block + c`, none of which may be negative, nor as great as a fourth number."""


def band(forms: Forms, stages: int = 1, blocks: int = BLOCKS, rounds: int = ROUNDS) -> Nest:
    """Each thread of a block sums what another one has in the block's rounds, by shared memory of so many stages."""
    b = nests.Builder("band")
    x, y = b.array("x", blocks * rounds * THREADS), b.array("y", blocks * THREADS, Role.OUTPUT)
    near = b.shared("near", THREADS, stages)
    total, read, again = (Ref(b.value(name), ()) for name in ("total", "read", "again"))

    def block(n: int) -> list[Node]:
        def step(j: int) -> list[Node]:
            def fill(t: int) -> list[Node]:
                place = nests.index((n, rounds * THREADS), (j, THREADS), (t, 1))
                return [Load(read, Memory(x, place)), Store(Memory(near, nests.index((t, 1))), read)]

            def add(t: int) -> list[Node]:
                other = nests.index((t, -1), constant=THREADS - 1)
                return [Load(again, Memory(near, other)), Compute(total, Operator.ADD, (total, again))]

            return [b.threads(THREADS, fill), b.threads(THREADS, add)]

        loop = b.loop(Kind.LOOP, rounds, step, "j", stages=stages)
        only = tuple(
            Guard(nests.index((loop.number, a), *([(n, by)] if by else []), constant=c), (bound or [MOST])[0])
            for a, by, c, *bound in forms
        )
        start = b.threads(THREADS, lambda _: [Compute(total, Operator.MOVE, (Constant(0.0),))])
        end = b.threads(THREADS, lambda t: [Store(Memory(y, nests.index((n, THREADS), (t, 1))), total)])
        return [start, replace(loop, only=only), end]

    return with_barriers(b.nest(b.block(blocks, block)))


def by_numpy(forms: Forms, x: np.ndarray) -> np.ndarray:
    block, turn = np.indices((BLOCKS, ROUNDS))
    kept = np.ones(block.shape, bool)
    for a, by, c, *bound in forms:
        index = a * turn + by * block + c
        kept &= (index >= 0) & (index < (bound or [MOST])[0])
    return (x.reshape(BLOCKS, ROUNDS, THREADS)[:, :, ::-1] * kept[:, :, None]).sum(axis=1).reshape(-1)


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("name", BOUNDS)
def test_the_oracle_leaves_out_what_the_guards_say(name: str, stages: int) -> None:
    nest, x = band(BOUNDS[name], stages), nests.random(BLOCKS * ROUNDS * THREADS)
    assert verify(nest) == ()
    np.testing.assert_allclose(interpret_nest(nest, {"x": x})["y"], by_numpy(BOUNDS[name], x), rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")
@pytest.mark.parametrize("stages", [1, 3])
@pytest.mark.parametrize("name", BOUNDS)
def test_printed_bounds_are_those_of_the_guards(name: str, stages: int) -> None:
    kernel, x = cuda_kernel(band(BOUNDS[name], stages)), nests.random(BLOCKS * ROUNDS * THREADS)
    outcome = interpret(kernel, {"x": x, "y": np.zeros(BLOCKS * THREADS, np.float32)})
    assert not outcome.findings
    np.testing.assert_allclose(outcome.arrays["y"], by_numpy(BOUNDS[name], x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("up to the block", ["const int j_end = bx + 1;", "for (int j = 0; j < j_end; ++j)"]),
        ("divided", ["const int j_end = min(9, bx * 2 + 2);"]),
        ("every second block one more", ["const int j_end = (bx + 3) / 2;"]),
        ("from the block on", ["const int j_begin = max(0, bx - 1);", "for (int j = j_begin; j < 9; ++j)"]),
        ("from every second block on", ["const int j_begin = bx / 2;"]),
        ("all", ["for (int j = 0; j < 9; ++j)"]),
        ("some for all blocks", ["for (int j = 2; j < 6; ++j)"]),
    ],
)
def test_the_text_of_bounds(name: str, lines: list[str]) -> None:
    text = cuda_kernel(band(BOUNDS[name])).text
    for line in lines:
        assert line in text, text


def changed(change: Callable[[Loop], Loop]) -> Nest:
    nest = band(BOUNDS["up to the block"])
    (block,) = nest.body
    assert isinstance(block, Loop)
    body = tuple(change(node) if isinstance(node, Loop) and node.name == "j" else node for node in block.body)
    return replace(nest, body=(replace(block, body=body),))


REFUSED = {
    "not on the loop": lambda loop: replace(loop, only=(Guard(nests.index(constant=1), MOST),)),
    "rounds known at run time": lambda loop: replace(loop, trips=Trips(RunTimeSize("m"), 1)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_guards_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedError, match="expected guards on the index of loop j, which runs a known number of rounds"):
        cuda_kernel(changed(REFUSED[name]))
