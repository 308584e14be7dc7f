"""A kernel with open holes made cheap: it does no more than any completion, and all that no hole has a say in."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ir import Counts, IndexConst, Kernel, fill, parse_index, parse_kernel, run
from warploom.schedule.sketches.relaxed import relaxed

LOADED = "v: f32 = x[t + 32]\ny[t] = v"


def kernel(body: str) -> Kernel:
    lines = "\n".join("    " + line for line in body.split("\n"))
    return parse_kernel(
        "@hole('to', kind='xform', args=('t',), n=32)\n@hole('use', kind='cond', args=('t',))\n"
        "@kernel(block=(64, 1, 1), grid=(1, 1, 1), warp_size=32)\n"
        "def k(x: Global[f32, 128], y: Global[f32, 128] | out):\n    t = thread_id\n" + lines + "\n"
    )


def counts(of: Kernel) -> Counts:
    return run(of, {"x": np.zeros(128, np.float32), "y": np.zeros(128, np.float32)}, {}, check_races=False).counts


CASES = {
    "index of a load": ("v: f32 = x[hole('to', t)]\ny[t] = v", {"to"}, 10),
    "index by a variable": ("i = hole('to', t)\nv: f32 = x[i + 1]\ny[t] = v", {"to"}, 10),
    "index of a store": ("y[hole('to', t)] = x[t]", {"to"}, 10),
    "guard of a store": ("if hole('use', t):\n    y[t] = x[t]\n" + LOADED, {"use"}, 16),
    "variable set under a guard": (
        "i = 0\nif hole('use', t):\n    i = t\nelse:\n    i = 2 * t\nv: f32 = x[i]\ny[t] = v", {"use"}, 10,
    ),
    "value set under a guard": ("if hole('use', t):\n    v: f32 = x[t]\nelse:\n    v: f32 = f32(0.0)\ny[t] = v", {"use"}, 8),
    "masked load": ("v: f32 = x[t] if hole('use', t) else f32(0.0)\ny[t] = v", {"use"}, 8),
    "bound of a loop": ("for i in range(hole('to', 0)):\n    y[t] = x[t]\n" + LOADED, {"to"}, 16),
    "bank of shared memory": ("s = shared(f32, 64)\ns[32 + hole('to', t)] = x[t]\nsync()\ny[t] = s[t]", {"to"}, 16),
    "register": ("r = register(f32, 32)\nr[hole('to', t)] = x[t]\ny[t] = r[0]", set[str](), 16),
    "operand of a shuffle": ("v: f32 = shfl(x[t], hole('to', t), 32)\ny[t] = v", set[str](), 16),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_no_completion_does_less(case: str) -> None:
    body, matters, sectors = CASES[case]
    sketch = kernel(body)
    found = relaxed(sketch)
    assert found is not None
    assert found.matters == matters
    least = counts(found.kernel)
    assert least.global_sectors == sectors
    for to in ("t % 32", "3 * t % 32", "0", "31 - t % 32"):
        for use in (True, False):
            filled = fill(sketch, {"to": parse_index(to, ("t",)), "use": IndexConst(use)})
            try:
                made = counts(filled)
            except UserError:  # a bound that differs between threads
                continue
            for name, least_count in asdict(least).items():
                assert least_count <= getattr(made, name), (name, to, use)


def test_accumulates_count_unless_a_hole_may_switch_them_off() -> None:
    body = "a = accumulator(f32, 1, op='+', init=0.0, finalize=__state)\na[0].add(x[t]{when})\ny[t] = a[0].value()"
    for when, expected in (("", 64), (", when=t < 32", 32), (", when=hole('use', t)", 0)):
        found = relaxed(kernel(body.format(when=when)))
        assert found is not None
        assert counts(found.kernel).arithmetic == expected


def test_a_choice_between_two_computed_values_is_not_made_cheap() -> None:
    assert relaxed(kernel("v: f32 = x[t] if hole('use', t) else x[t + 1]\ny[t] = v")) is None
