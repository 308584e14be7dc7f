"""Every branch in which the lift refuses has a kernel that it alone refuses: nothing is run at concrete sizes here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from warploom.core.linear import Linear, variable
from warploom.gpu import SizeLimits
from warploom.ir import HoleArg, HoleUse, IndexBinary, IndexConst, IndexVar, SizeVar
from warploom.sketch import TermSpec
from warploom.solve import Constraint, Unknown
from warploom.synth.lift import coverage
from warploom.synth.lift.affine import UnliftableError
from warploom.synth.lift.conditions import Conditions
from warploom.synth.lift.generic_block import GenericBlock
from warploom.synth.lift.generic_index import GenericIndex, Path
from warploom.synth.lift.lift import _Lift, lift  # pyright: ignore[reportPrivateUsage]
from warploom.synth.lift.sizes import _least  # pyright: ignore[reportPrivateUsage]
from warploom.synth.lift.uniform import uniform_form, value_of
from warploom.synth.lift.values import FaultError

from .kernels import parse, sketch_of

COPY = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def copy(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    g = block_id * 32 + thread_id
    if g < n:
        y[g] = x[g]
"""
GUARDED = "    if g < n:\n        y[g] = x[g]\n"


def copy(x, y, n):
    for i in range(n):
        y[i] = x[i]


def why(spec: Callable[..., Any], *changes: tuple[str, str]) -> str:
    """The lift's reason, before any run at a size: empty when it proves."""
    kernel = parse(COPY, *changes)
    attempt = _Lift(sketch_of(kernel, spec, dict.fromkeys(kernel.sizes, 40)), kernel, spec)
    try:
        attempt.run()
    except FaultError as error:
        return f"fault: {error.text}"
    except UnliftableError as error:
        return f"unliftable: {error}"
    return attempt.unknown


def test_the_kernel_itself_is_proved() -> None:
    assert why(copy) == ""


def reads_outside(x, y, n):
    for i in range(n):
        y[i] = x[i] + (x[i + 1] - x[i + 1])


def all_but_the_last(x, y, n):
    for i in range(n - 1):
        y[i] = x[i]


REGISTERS = """    r = register(f32, 1)
    if g < n - 5:
        v: f32 = x[g]
        r[0] = x[g]
    if g < n:"""
FAULTS = [
    (copy, ("= x[g]", "= x[g] + (x[g + 1] - x[g + 1])"), "inside the array in thread"),
    (reads_outside, ("", ""), "the spec accesses x"),
    (copy, ("(n + 31) // 32, 1,", "(n + 31) // 32, 2,"), "is stored by several blocks"),
    (copy, ("g < n:", "g < n and g != 5:"), "is not stored"),
    (copy, ("(n + 31) // 32, 1,", "n // 32, 1,"), "is not stored"),
    (copy, (GUARDED, GUARDED + "    if g <= n and thread_id == 1:\n        y[g - 1] = x[g - 1]\n"), "is stored twice"),
    (copy, (GUARDED, GUARDED + "    if g < n:\n        y[g] = x[g]\n"), "is stored twice"),
    (copy, ("= x[g]", "= x[g] if g < 50 else f32(0.0)"), "expected x"),
    (copy, ("= x[g]", "= x[0]"), "expected x"),
    (all_but_the_last, ("", ""), "expected 0, got x"),
    (copy, ("= x[g]", "= x[g] + (r[0] - r[0])"), "r written before thread 0 reads it"),
    (copy, ("= x[g]", "= x[g] + (v - v)"), "v written before thread 0 reads it"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "change", "text"), FAULTS)
def test_faults(spec: Callable[..., Any], change: tuple[str, str], text: str) -> None:
    found = why(spec, ("    if g < n:", REGISTERS), *([change] if change[0] else []))
    assert found.startswith("fault: ") and text in found, found


def stores_twice(x, y, n):
    for i in range(n - 1):
        y[i] = x[0]
        y[i + 1] = x[0]


def again_and_again(x, y, n):
    for _ in range(n):
        y[0] = x[0]


def inside_and_outside(x, y, n):
    y[0] = x[0]
    for _ in range(n):
        y[0] = x[0]


def in_two_ranges(x, y, n):
    for i in range(n):
        y[i] = x[i]
    for i in range(n - 1):
        y[i] = x[i]


def reads_after_its_loop(x, y, n):
    for i in range(n):
        y[i] = x[i]
    for i in range(n - 1):
        y[i] = y[i]


def reads_its_neighbour(x, y, n):
    for i in range(n):
        y[i] = x[i] + (y[n - 1] - y[n - 1])


def by_steps(x, y, n):
    for i in range(0, n, 2):
        y[i] = x[i]


def from_a_list(x, y, n):
    for i, value in enumerate([x[k] for k in range(n)]):
        y[i] = value


def before(lines: str) -> tuple[str, str]:
    """Lines in front of the guard."""
    return "    if g < n:", lines + "    if g < n:"


UNLIFTABLE = [
    (stores_twice, [("= x[g]", "= x[0]")], "is stored by two iterations of the spec"),
    (again_and_again, [], "stores to y again and again"),
    (inside_and_outside, [], "inside and outside of a loop"),
    (in_two_ranges, [], "in two loops over sizes"),
    (reads_after_its_loop, [], "reads y after the loop"),
    (reads_its_neighbour, [], "which another iteration may store"),
    (by_steps, [], "with a step"),
    (copy, [("y[g] =", "y[n - 1 - g] =")], "an index -32*block.x"),
    (copy, [before("    if thread_id < 5:\n        sync()\n")], "a barrier under a condition"),
    (copy, [before("    for k in range(thread_id):\n        a = k\n")], "a loop bound that differs"),
    (copy, [before("    for k in range(n):\n        a = k\n")], "a loop over a size in the kernel"),
    (copy, [before("    r = register(f32, 4)\n    r[n] = f32(1.0)\n")], "depends on a block number or a size"),
    (copy, [before("    r = register(f32, 4)\n    r[4] = f32(1.0)\n")], "an index outside of r"),
    (copy, [before("    r = register(f32, 4)\n    r[0 - 1] = f32(1.0)\n")], "an index outside of r"),
    (copy, [("= x[g]", "= x[g] + (y[g] - y[g])")], "reads its output y"),
    (copy, [("| out", "| inout"), ("= x[g]", "= x[g]\n        v: f32 = y[g]")], "y after a store to it"),
    (copy, [("| out", "| inout"), ("= x[g]", "= x[g] + (y[0] - y[0])")], "which another thread may store"),
    (copy, [before("    v: f32 = shfl(f32(1.0), n % 32, 32)\n")], "a shuffle lane that depends on"),
    (copy, [before("    if thread_id < 4:\n        v: f32 = shfl(f32(1.0), 5, 32)\n")], "from an inactive lane"),
    (copy, [("= x[g]", "= x[g] + from_index(f32, block_id - block_id + n - n + n) * f32(0.0)")], "size used as data"),
    (copy, [("    if g < n:", "    if g < 5:\n        a = g\n    if a < n:")], "outside of the condition it was set under"),
    (copy, [("= x[g]", "= x[min(g, 2 * n)]")], "an index that is a minimum, maximum or choice"),
    (copy, [("g < n:", "g * n < n * n:")], "a product of block numbers and sizes"),
    (copy, [("g < n:", "g < n and g // n == 0:")], "by a block number or a size"),
    (copy, [("g < n:", "g < n and n // (thread_id + 1) >= 0:")], "by a number that differs between threads"),
    (copy, [("g < n:", "g < n and g // 7 >= 0:")], "which is not a multiple of it"),
    (copy, [("g < n:", "g < n and (n ^ 5) >= 0:")], "`^` of a block number or a size"),
    (copy, [("g < n:", "g < n and g // (thread_id - thread_id) >= 0:")], "by zero"),
    (copy, [before("    s = shared(f32, 1)\n    s[0] = f32(1.0)\n")], "a possible race"),
    (copy, [before("    a = g\n    if thread_id < 5:\n        a = g < n\n")], "number in some threads and a condition in others"),
    (copy, [("g < n:", "g < n and 1 << (thread_id - 5) >= 0:")], "a shift by -5"),
    (copy, [("g < n:", "g < n and (1 >> thread_id * 3) >= 0:")], "a shift by 63"),
    (from_a_list, [], "is not part of the language of specs"),
]  # fmt: skip


@pytest.mark.parametrize(("spec", "changes", "text"), UNLIFTABLE)
def test_what_the_lift_cannot_follow(spec: Callable[..., Any], changes: list[tuple[str, str]], text: str) -> None:
    found = why(spec, *changes)
    assert found.startswith("unliftable: ") and text in found, found


def test_a_lane_that_may_be_inactive_is_a_demand() -> None:
    body = "    if g < n:\n        y[g] = x[g] + (shfl(x[g], 0, 32) - shfl(x[g], 0, 32))\n"
    assert why(copy, (GUARDED, body)) == ""  # lane 0 runs wherever another lane does
    assert "the lane that thread 0 reads from is active" in why(copy, (GUARDED, body.replace("], 0,", "], 1,")))


TILE = "    s = shared(f32, 32)\n    s[thread_id] = x[g] if g < n else f32(0.0)\n"
TURNED = "    v: f32 = s[31 - thread_id]\n    if g < n:"


def test_a_barrier_under_a_condition_of_the_whole_block() -> None:
    """Where it does not hold nobody waits: the lift took the barrier for granted, and proved a race at n <= 5."""
    everywhere = [("    if g < n:", TILE + "    sync()\n" + TURNED)]
    assert why(copy, *everywhere) == ""
    some = [("    if g < n:", TILE + "    if n > 5:\n        sync()\n" + TURNED)]
    assert "shared memory after a barrier under a condition" in why(copy, *some)
    other = [("    if g < n:", TILE + "    if n > 5:\n        sync()\n    else:\n        w: f32 = s[0]\n    if g < n:")]
    assert "shared memory after a barrier under a condition" in why(copy, *other)
    store = [("    if g < n:", TILE + "    if n > 5:\n        sync()\n    s[31 - thread_id] = f32(0.0)\n    if g < n:")]
    assert "shared memory after a barrier under a condition" in why(copy, *store)
    again = [("    if g < n:", TILE + "    if n > 5:\n        sync()\n    sync()\n" + TURNED)]
    assert why(copy, *again) == ""
    within = [("    if g < n:", TILE + "    if n > 5:\n        sync()\n        w: f32 = s[31 - thread_id]\n    if g < n:")]
    assert why(copy, *within) == ""


KEPT = """
@kernel(block=(1, 1, 1), grid=(1, 1, 1), warp_size=1)
def kept(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    r = register(f32, 1)
    for i in range(n):
        r[0] = x[i]
        y[i] = r[0]
"""


def test_registers_of_a_spec_that_outlive_an_iteration() -> None:
    nowhere = (Linear((), 0),) * 3
    kernel = parse(KEPT)
    with pytest.raises(UnliftableError, match="r keeps values from one iteration"):
        GenericBlock(kernel, GenericIndex(kernel, nowhere), is_spec=True).run()


SQUARE = """
@kernel(block=(1, 1, 1), grid=(n, 1, 1), warp_size=1)
def diagonal(x: Global[f32, n], y: Global[f32, n, n] | out, n: size):
    y[block_id, block_id] = x[block_id]
"""


def diagonal(x, y, n):
    for i in range(n):
        y[i, i] = x[i]


def test_one_number_in_two_dimensions() -> None:
    kernel = parse(SQUARE)
    with pytest.raises(UnliftableError, match="in two dimensions of y"):
        _Lift(sketch_of(kernel, diagonal, {"n": 4}), kernel, diagonal).run()


def test_too_many_elements_of_a_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coverage, "_MOST_RESIDUES", 31)
    assert "more than 31 different elements" in why(copy)


def test_a_solver_that_gives_up_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Conditions, "check", lambda *_: Unknown("enough", False))
    monkeypatch.setattr(Conditions, "are_impossible_together", lambda *_: False)
    monkeypatch.setattr(Conditions, "is_seen", lambda *_: False)
    kernel = parse(COPY)
    result = lift(sketch_of(kernel, copy, {"n": 40}), kernel)
    assert result.verdict == "unchecked"
    assert re.search("z3 gave up|not always", result.reason)


def test_an_index_without_a_known_bound_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__(lift.__module__, fromlist=["lift"])
    monkeypatch.setattr(module, "safe_sizes", lambda _: SizeLimits((("n", 0),), (), "no bound is known for i"))
    kernel = parse(COPY)
    result = lift(sketch_of(kernel, copy, {"n": 40}), kernel)
    assert (result.verdict, result.reason.split(";")[0]) == ("unchecked", "no bound is known for i")


VECTORS = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def pairs(x: Global[float2, n], y: Global[float2, n] | out, n: size):
    g = block_id * 32 + thread_id
    v: float2 = x[g] if g < n else pack(float2, f32(0.0), f32(0.0))
    if g < n:
        y[g] = pack(float2, v.x, v.y)
"""


def test_every_component_counts() -> None:
    kernel = parse(VECTORS)
    assert lift(sketch_of(kernel, copy, {"n": 40}), kernel).verdict == "proved"
    for wrong in ("v.x, v.x", "v.y, v.y"):
        kernel = parse(VECTORS, ("v.x, v.y", wrong))
        attempt = _Lift(sketch_of(kernel, copy, {"n": 40}), kernel, copy)
        with pytest.raises(FaultError, match="expected"):
            attempt.run()
        assert attempt.prove_at({"n": 3}).verdict == "refuted"


def test_sketches_that_have_nothing_to_lift() -> None:
    kernel = parse(COPY)
    result = lift(sketch_of(kernel, None, {"n": 40}), kernel)
    assert (result.verdict, result.reason) == ("unchecked", "the sketch has no spec")
    result = lift(sketch_of(kernel, TermSpec({}), {"n": 40}), kernel)
    assert (result.verdict, "what one size must give" in result.reason) == ("unchecked", True)


def attempt_at(*changes: tuple[str, str]) -> _Lift:
    kernel = parse(COPY, *changes)
    return _Lift(sketch_of(kernel, copy, {"n": 40}), kernel, copy)


def test_sizes_at_which_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = attempt_at(("= x[g]", "= x[0]"))
    assert wrong._refuted_at({"n": 7}) is not None
    assert wrong._refuted_at({"n": 7}, most=13) is None
    assert wrong._refuted_at({"n": -7}) is None
    module = __import__(lift.__module__, fromlist=["lift"])
    monkeypatch.setattr(module, "_LARGEST_PROOF", 0)
    assert wrong._refuted_at({"n": 7}) is not None  # by the checker
    assert attempt_at()._refuted_at({"n": 7}) is None


def test_the_checker_is_not_asked_where_a_proof_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__(lift.__module__, fromlist=["lift"])
    monkeypatch.setattr(module, "check", lambda *_: pytest.fail("a run of what is proved"))
    assert attempt_at()._refuted_at({"n": 7}) is None


def test_a_constant_grid_has_no_sizes_that_give_it_more_blocks() -> None:
    assert _least(lambda v: v >= 1000) == 1000
    assert _least(lambda v: False) is None


def test_what_no_constraint_says_is_not_seen() -> None:
    n = variable("n")
    conditions = Conditions([Constraint(n.shifted(-5))], [])
    assert conditions.is_seen(Constraint(n), Constraint(n.shifted(-1))) is True
    assert conditions.is_seen(Constraint(n), Constraint(n, "==")) is False


def test_indices_that_are_no_sums() -> None:
    i, j, two = IndexVar("i"), IndexVar("j"), IndexConst(2)
    doubled = uniform_form(IndexBinary("*", two, i))
    assert doubled == Linear(((i, 2),))
    assert uniform_form(IndexBinary("*", i, j)) is None
    assert uniform_form(IndexBinary("*", two, IndexBinary("//", j, two))) is None
    assert uniform_form(IndexBinary("*", SizeVar("n"), i)) is None
    assert uniform_form(IndexBinary("+", i, IndexBinary("//", j, two))) is None
    assert doubled is not None and value_of(doubled, {}) is None


def test_a_hole_that_is_still_open_is_not_lifted() -> None:
    kernel = parse(COPY)
    indices = GenericIndex(kernel, (Linear((), 0),) * 3)
    for expr in (HoleUse("h", ()), HoleArg(0)):
        with pytest.raises(UnliftableError, match="a hole that is still open"):
            indices.evaluate(expr, Path(np.ones(32, bool)))
