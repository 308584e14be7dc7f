"""Nothing that completes a sketch is ever pruned: on random small sketches the engine finds exactly what brute force finds."""

from __future__ import annotations

import pytest
from tests.synth.brute_force import Case, made_case, tables_of
from tests.synth.kernels import parse
from tests.synth.random_sketches import random_kernel

from warploom.core import UserError
from warploom.ir import Kernel
from warploom.synth.search import propagation


def _check(case: Case) -> None:
    engine = case.engine()
    found = engine.search_space(case.space, all_answers=True)
    assert found.complete
    listed = [tables_of(engine.network.holes, chosen.holes) for _, chosen in found.answers]
    assert len(set(listed)) == len(listed), "an answer is listed twice"
    assert case.good <= set(listed), "an answer was pruned"
    faulty = {tables for tables, run in case.runs.items() if run.diagnostics}
    assert set(listed) - case.good <= faulty, "a wrong completion was accepted"
    best = engine.search_space(case.space)
    if not case.good:
        return
    assert engine.accumulates_bound is not None and engine.accumulates_bound <= case.least
    assert best.complete and best.answers
    assert best.answers[0][1].accumulates <= case.least
    if set(listed) == case.good:
        assert best.answers[0][1].accumulates == case.least


def _check_seed(seed: int, most: int) -> None:
    try:
        case = made_case(random_kernel(seed), seed, most)
    except UserError as error:
        assert error.diagnostics[0].code in ("HOLE_RANGE", "NESTED_HOLE")  # the made-up sketch is wrong in itself
        return
    if case is not None:
        _check(case)


@pytest.mark.parametrize("start", range(0, 120, 30))
def test_random_sketches(start: int) -> None:
    for seed in range(start, start + 30):
        _check_seed(seed, 80)


def test_large_constraints_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    longest: list[int] = []
    whole = propagation.ElementConstraint._narrow

    def seen(self: propagation.ElementConstraint, candidate: propagation.Candidate, changes: propagation.Changes) -> None:
        longest.append(len(self.out))
        whole(self, candidate, changes)

    monkeypatch.setattr(propagation, "BLOCK_WORDS", 1)
    monkeypatch.setattr(propagation.ElementConstraint, "_narrow", seen)
    for seed in range(12):
        _check_seed(seed, 80)
    assert set(longest) == {1}


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 9000, 500))
def test_many_random_sketches(start: int) -> None:
    for seed in range(start, start + 500):
        _check_seed(seed, 220)


def _kernel(body: str, holes: str = "", outputs: int = 4, dtype: str = "i32", inputs: str = "x: Global[i32, 4], ") -> Kernel:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    head = f"@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)\ndef made({inputs}y: Global[{dtype}, {outputs}] | out):\n"
    return parse(f"{holes.strip()}\n{head}{lines}\n")


FOLD = """
out = accumulator({dtype}, op='{op}', init={init}, finalize=__state)
for k in range(2):
    out.add({first}, when=hole('a', k))
    out.add({second}, when=hole('b', k))
y[thread_id] = out.value()
"""
TWO_CONDITIONS = "@hole('a', kind='cond', args=('k',))\n@hole('b', kind='cond', args=('k',))"
FREE_CONDITIONS = TWO_CONDITIONS.replace("'k',)", "'k',), grammar='constant-free'")

SPECIAL = {
    "accumulators that share no product": _kernel(
        """
one = accumulator(i32, op='+', init=0, finalize=__state)
two = accumulator(i32, op='+', init=0, finalize=__state)
one.add(x[thread_id], when=hole('a', thread_id))
two.add(x[3 - thread_id] * x[thread_id], when=hole('b', thread_id))
y[thread_id] = one.value()
y[4 + thread_id] = two.value()
""",
        FREE_CONDITIONS,
        outputs=8,
    ),
    "outputs that nobody stores": _kernel(
        "y[hole('at', thread_id, 5 - thread_id, 0)] = x[hole('from', thread_id)]",
        "@hole('at', kind='choose', args=('t', 'u', 'v'), n=3)\n@hole('from', kind='part', args=('t',), n=2)",
        outputs=6,
    ),
    "an output shared by an open store and its start": _kernel(
        "y[(thread_id + hole('at')) % 6] = x[thread_id]", "@hole('at', kind='const', args=(), constants=(0, 1, 2))", outputs=6
    ),
    "terms that cancel under xor": _kernel(
        FOLD.format(dtype="i32", op="^", init=0, first="x[thread_id]", second="x[(thread_id + hole('c')) % 4]"),
        TWO_CONDITIONS + "\n@hole('c', kind='const', args=(), constants=(0, 1))",
    ),
    "differences that vanish": _kernel(
        FOLD.format(dtype="i32", op="+", init=0, first="x[thread_id]", second="x[thread_id] - x[(thread_id + hole('c')) % 4]"),
        TWO_CONDITIONS + "\n@hole('c', kind='const', args=(), constants=(0, 1))",
    ),
    "summed factors": _kernel(
        FOLD.format(dtype="i32", op="+", init=0, first="x[0] * (x[1] + x[thread_id])", second="x[0] * x[hole('c')]"),
        TWO_CONDITIONS + "\n@hole('c', kind='const', args=(), constants=(1, 2))",
    ),
    "constants of both signs": _kernel(
        "r = register(i32, 2)\nr[0] = i32(1)\nr[1] = i32(-1)\n"
        + FOLD.format(dtype="i32", op="+", init=0, first="r[hole('c')]", second="r[hole('d')]"),
        TWO_CONDITIONS
        + "\n@hole('c', kind='const', args=(), constants=(0, 1))\n@hole('d', kind='const', args=(), constants=(0, 1))",
    ),
    "all ones under &": _kernel(
        "v: i32 = x[thread_id] if hole('c', thread_id) else i32(-1)\n"
        + FOLD.format(dtype="i32", op="&", init=-1, first="v", second="x[(thread_id + 1) % 4]"),
        TWO_CONDITIONS + "\n@hole('c', kind='cond', args=('t',), grammar='constant-free')",
    ),
    "a start that is not neutral": _kernel(
        FOLD.format(dtype="i32", op="max", init=3, first="x[thread_id]", second="x[(thread_id + hole('c')) % 4]"),
        TWO_CONDITIONS + "\n@hole('c', kind='const', args=(), constants=(0, 1))",
    ),
    "a constant below an inner min": _kernel(
        "v: i32 = x[thread_id] if hole('c', thread_id) else i32(0)\n"
        + FOLD.format(dtype="i32", op="max", init=-(2**31), first="min(x[0], v)", second="min(x[0], x[hole('d')])"),
        TWO_CONDITIONS
        + "\n@hole('c', kind='cond', args=('t',), grammar='constant-free')\n@hole('d', kind='const', args=(), constants=(1, 2))",
    ),
    "the spec's arithmetic undone": _kernel(
        "y[thread_id] = x[hole('at', thread_id)] + i32(1)", "@hole('at', kind='part', args=('t',), n=3, grammar='constant-free')"
    ),
    "a guard closed in one iteration": _kernel(
        """
out = accumulator(i32, op='+', init=0, finalize=__state)
for k in range(2):
    out.add(x[thread_id], when=k == 1 and hole('a', thread_id))
    out.add(x[thread_id], when=hole('b', k))
y[thread_id] = out.value()
""",
        TWO_CONDITIONS,
    ),
    "a hole merged under a condition": _kernel(
        """
i = hole('p', thread_id)
if thread_id < 2:
    i = hole('p', thread_id)
y[thread_id] = x[i]
""",
        "@hole('p', kind='part', args=('t',), n=3)",
    ),
    "a guard that only some lanes evaluate": _kernel(
        """
out = accumulator(i32, op='+', init=0, finalize=__state)
out.add(x[thread_id])
if thread_id < 2:
    out.add(x[3 - thread_id], when=hole('a', thread_id))
y[thread_id] = out.value()
""",
        "@hole('a', kind='cond', args=('t',))",
    ),
    "a guard shared with an accumulator that nobody reads": _kernel(
        """
out = accumulator(i32, op='+', init=0, finalize=__state)
idle = accumulator(i32, op='+', init=0, finalize=__state)
out.add(x[thread_id], when=hole('a', thread_id))
idle.add(x[0], when=hole('a', thread_id))
out.add(x[3 - thread_id], when=hole('b', thread_id))
y[thread_id] = out.value()
""",
        FREE_CONDITIONS,
    ),
    "a hole that is never used": _kernel(
        "if thread_id > 9:\n    y[thread_id] = x[hole('p', thread_id)]\ny[thread_id] = x[hole('q', thread_id)]",
        "@hole('p', kind='part', args=('t',), n=2)\n@hole('q', kind='part', args=('t',), n=2)",
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
@pytest.mark.parametrize("seed", range(3))
def test_special_sketch(name: str, seed: int) -> None:
    case = made_case(SPECIAL[name], seed, 4000)
    assert case is not None
    _check(case)
