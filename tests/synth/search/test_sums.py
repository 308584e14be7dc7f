"""Sums of sums: nothing that completes a sketch is pruned, and what had to be tried one by one is decided by propagation."""

from __future__ import annotations

import random

import pytest
from tests.synth.brute_force import made_case, tables_of
from tests.synth.kernels import parse

import warploom as wl
from warploom import f32
from warploom.ir import Kernel
from warploom.synth.complete import complete
from warploom.synth.search.sums import SumConstraint

HEAD = """
@hole('m0', kind='const', args=(), constants=(0, 1, 2, 3))
@hole('m1', kind='const', args=(), constants=(0, 1, 2, 3))
@hole('c', kind='cond', args=('t',), grammar='constant-free')
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def made(x: Global[{dtype}, 4], y: Global[{dtype}, 4] | out):
"""
JOINED = {
    "+": ("{v} + {g}", "{v} - {g}", "{g} - {v}", "{v} + {g} + {g}", "{v} + {v} - {g}"),
    "max": ("max({v}, {g})",),
    "^": ("{v} ^ {g}",),
    "|": ("{v} | {g}",),
}


def chain(seed: int) -> Kernel:
    """Two rounds of a shuffle and a sum of some form; the second may be under an open condition or in an accumulator."""
    rng = random.Random(seed)
    op = rng.choice(["+", "+", "+", "max", "^", "|"])
    dtype = rng.choice(["f32", "i32"] if op in ("+", "max") else ["i32", "u8"])
    lines = [f"v0: {dtype} = x[thread_id]"]
    for n in range(2):
        source = rng.choice([f"(thread_id + hole('m{n}')) % 4", f"thread_id ^ hole('m{n}')", f"hole('m{n}')"])
        lines.append(f"g{n}: {dtype} = shfl(v{n}, {source}, 4)")
        joined = rng.choice(JOINED[op]).format(v=f"v{n}", g=f"g{n}")
        if n == 0 or rng.random() < 0.4:
            lines.append(f"v{n + 1}: {dtype} = {joined}")
        elif rng.random() < 0.5 and op in "+^|":
            lines += [
                f"out = accumulator({dtype}, op='{op}', init=0, finalize=__state)",
                f"out.add(v{n})",
                f"out.add(g{n}, when=hole('c', thread_id))",
                f"v{n + 1}: {dtype} = out.value()",
            ]
        else:
            lines.append(f"v{n + 1}: {dtype} = {joined} if hole('c', thread_id) else v{n}")
    lines.append("y[thread_id] = v2")
    head = HEAD if "hole('c'" in "".join(lines) else HEAD.replace(HEAD.splitlines()[3] + "\n", "")
    return parse(head.format(dtype=dtype) + "".join(f"    {line}\n" for line in lines))


@pytest.mark.parametrize("start", [0, 8])
def test_no_completion_is_pruned(start: int) -> None:
    met = 0
    for seed in range(start, start + 8):
        case = made_case(chain(seed), seed, 200)
        if case is None:
            continue
        engine = case.engine()
        met += any(isinstance(c, SumConstraint) for c in engine.constraints)
        found = engine.search_space(case.space, all_answers=True)
        assert {tables_of(engine.network.holes, chosen.holes) for _, chosen in found.answers} == case.good
    assert met >= 2


def total(x, y):
    for i in range(32):
        for j in range(32):
            y[i] += x[j]


@wl.device
def exchanged(v):
    return v + wl.shfl_xor(v, wl.const(*range(32), name="mask"))


@wl.sketch(spec=total, block=32)
def five_masks(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
    v = exchanged(exchanged(exchanged(exchanged(exchanged(x[wl.lane_id()])))))
    y[wl.lane_id()] = v


@wl.sketch(spec=total, block=32)
def four_masks(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
    v = exchanged(exchanged(exchanged(exchanged(x[wl.lane_id()]))))
    y[wl.lane_id()] = v


def prefixes(x, y):
    for i in range(32):
        for j in range(i + 1):
            y[i] += x[j]


@wl.sketch(spec=prefixes, block=32)
def scan(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
    lane = wl.lane_id()
    v = x[lane]
    for s in range(5):
        got = wl.shfl(v, wl.xform(lane, 32, 1 << s, name="source"))
        a = wl.accumulator(f32, op="+")
        a.add(v)
        a.add(got, when=wl.cond(lane, 1 << s, name="has"))
        v = a.value()
    y[lane] = v


def haar_spec(x, w, s, d):
    for i in range(16):
        s[i] += x[2 * i] + x[2 * i + 1]
        for k in range(2):
            d[i] += w[k] * x[2 * i + k]


@wl.sketch(spec=haar_spec, block=32)
def haar(x: wl.Global[f32, 32], w: wl.Constant[f32, 2], s: wl.Global[f32, 16], d: wl.Global[f32, 16]):
    lane = wl.lane_id()
    a = wl.accumulator(f32, op="+")
    b = wl.accumulator(f32, op="+", inner="*")
    for k in range(2):
        got = wl.shfl(x[lane], wl.xform(lane, 32, k, name="source"))
        a.add(got, when=wl.cond(lane, k, name="summed"))
        b.add(w[wl.xform(k, 2, lane, name="weight")], got, when=wl.cond(lane, k, name="weighted"))
    if lane < 16:
        s[lane] = a.value()
        d[lane] = b.value()


@pytest.mark.parametrize(("sketch", "most"), [(five_masks, 40), (scan, 400), (haar, 400)], ids=["masks", "scan", "haar"])
def test_what_was_tried_one_by_one_is_decided(sketch: wl.Sketch, most: int) -> None:
    report = complete(sketch)
    assert report.status == "solved" and report.verdict == "proved"
    assert sum(s.nodes for s in report.spaces) <= most


def test_too_few_elements_are_counted() -> None:
    report = complete(four_masks)
    assert report.status == "unsat" and sum(s.nodes for s in report.spaces) <= 3


WRAPPING = """
@hole('m', kind='const', args=(), constants=(0, 1, 2, 3))
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def made(x: Global[u8, 4], y: Global[u8, 4] | out):
    v: u8 = u8(64) * x[thread_id]
    g: u8 = shfl(v, hole('m'), 4)
    y[thread_id] = v + g + g + g + g
"""


def test_shares_that_may_wrap_around_say_nothing() -> None:
    """64 + 4 * 64 is 64 in words of eight bits, whatever the source."""
    case = made_case(parse(WRAPPING), 0, 50)
    assert case is not None and len(case.good) == 4
    found = case.engine().search_space(case.space, all_answers=True)
    assert len(found.answers) == 4
