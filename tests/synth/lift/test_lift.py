"""The lift to every size: proofs, refutations with witness sizes, honest refusals."""

from __future__ import annotations

import re

import pytest
from tests.synth.kernels import CONV3, REVERSE, conv3, parse, reverse, sketch_of

from warploom.core.linear import Linear, variable
from warploom.sketch import parse_spec
from warploom.solve import Constraint, Sat, SmtSession, Unsat, conjunction, negation
from warploom.synth.lift.affine import UnliftableError
from warploom.synth.lift.coverage import _add_quotients
from warploom.synth.lift.generic_block import GenericBlock
from warploom.synth.lift.generic_index import GenericIndex
from warploom.synth.lift.lift import lift
from warploom.synth.lift.sizes import telling_sizes


def lifted(text: str, spec, *changes: tuple[str, str], at: int = 64):
    kernel = parse(text, *changes)
    return lift(sketch_of(kernel, spec, dict.fromkeys(kernel.sizes, at)), kernel)


def test_convolution_for_every_n():
    result = lifted(CONV3, conv3)
    assert (result.verdict, result.reason) == ("proved", "")
    assert result.domain == "real sums reordered; every n from 0 to 2147483458"


@pytest.mark.parametrize(
    ("change", "at", "witness", "pattern"),
    [
        (("first + lane < n:", "first + lane <= n:"), 64, None, r"inside y"),
        (("if first + lane < n:", "if first + lane < n + 64:"), 64, None, r"inside y"),
        (("(n + 63) // 64", "n // 64"), 64, None, r"never written"),
        (("(n + 63) // 64", "(n + 64) // 64"), 64, "proved", ""),
        (("(n + 63) // 64", "1"), 64, None, r"never written"),
        (("n + 2) else", "n + 1) else"), 64, None, r"expected w\[0\]"),
        (("n + 2) else", "n + 3) else"), 64, None, r"inside x"),
        (("first + 34", "first + 33"), 64, None, r"expected w"),
        (("first + lane < n:", "first + lane < n and lane != 7:"), 64, None, r"never written"),
        (("first + lane < n:\n        y[first + lane]", "first + lane < n:\n        y[0]"), 64, None, r""),
    ],
)
def test_wrong_tails_are_refuted_with_a_size(change: tuple[str, str], at: int, witness: str | None, pattern: str):
    result = lifted(CONV3, conv3, change, at=at)
    if witness == "proved":
        assert result.verdict == "proved", result
        return
    assert result.verdict == "refuted", result
    sizes = dict(result.witness)
    assert list(sizes) == ["n"] and result.reason.startswith(f"at n = {sizes['n']}: ")
    assert re.search(pattern, result.reason)


def test_faults_that_the_bounded_instance_does_not_show():
    result = lifted(CONV3, conv3, ("(n + 63) // 64", "n // 64"), at=64)
    assert result.verdict == "refuted" and dict(result.witness)["n"] % 64 != 0
    result = lifted(CONV3, conv3, ("(n + 63) // 64", "min((n + 63) // 64, 3)"), at=64)
    assert result.verdict == "unchecked" or dict(result.witness)["n"] > 192


PADDED = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def padded(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    i = block_id * 32 + thread_id
    out = accumulator(f32, op='+', init=0.0, finalize=__state)
    for k in range(3):
        out.add(x[i + k - 1] if i + k - 1 >= 0 and i + k - 1 < n else f32(0.0))
    if i < n:
        y[i] = out.value()
"""


def padded(x, y, n):
    for i in range(n):
        for k in range(3):
            if i + k >= 1 and i + k - 1 < n:
                y[i] += x[i + k - 1]


def test_boundaries_by_cases():
    assert lifted(PADDED, padded, at=32).verdict == "proved"
    wrong = lifted(PADDED, padded, ("i + k - 1 >= 0", "i + k - 1 >= 1"), at=32)
    assert wrong.verdict == "refuted" and wrong.reason.startswith("at n = 1: y[0]: expected x[0], got 0")


IMAGE = """
@kernel(block=(8, 4, 1), grid=((w + 7) // 8, (h + 3) // 4, 1), warp_size=32)
def turn(x: Global[f32, w, h], y: Global[f32, h, w] | out, h: size, w: size):
    row = block_id("y") * 4 + thread_id("y")
    col = block_id * 8 + thread_id
    if row < h and col < w:
        y[row, col] = x[col, row]
"""


def turn(x, y, h, w):
    for i in range(h):
        for j in range(w):
            y[i, j] = x[j, i]


def test_two_dimensions_and_two_sizes():
    result = lifted(IMAGE, turn, at=8)
    assert (result.verdict, result.domain) == (
        "proved", "elements moved unchanged; every h from 0 to 262140 and w from 0 to 2147483640 with h*w + 7*h + 3*w + 6 < 2^31",
    )  # fmt: skip
    assert lifted(IMAGE, turn, ("row < h and", "row < w and"), at=8).verdict == "refuted"
    assert lifted(IMAGE, turn, ("x[col, row]", "x[row, col]"), at=8).verdict == "refuted"


STRUCTS = """
@kernel(block=(4, 1, 1), grid=(tiles, 1, 1), warp_size=4)
def sums(x: Global[i32, 8 * tiles], y: Global[i32, 4 * tiles] | out, tiles: size):
    a: i32 = x[8 * block_id + thread_id]
    b: i32 = x[8 * block_id + 4 + thread_id]
    low: i32 = shfl(a, 2 * thread_id, 4) if False else shfl(a, (2 * thread_id) % 4, 4)
    other: i32 = shfl(b, (2 * thread_id) % 4, 4)
    one: i32 = shfl(a, (2 * thread_id + 1) % 4, 4)
    two: i32 = shfl(b, (2 * thread_id + 1) % 4, 4)
    y[4 * block_id + thread_id] = (low + one) if thread_id < 2 else (other + two)
"""


def sums(x, y, tiles):
    for t in range(4 * tiles):
        y[t] = x[2 * t] + x[2 * t + 1]


def test_structures_in_tiles():
    text = STRUCTS.replace("shfl(a, 2 * thread_id, 4) if False else ", "")
    assert lifted(text, sums, at=1).verdict == "proved"
    assert lifted(text, sums, ("thread_id < 2 else", "thread_id < 3 else"), at=1).verdict == "refuted"


def test_refusals_say_why():
    def total(x, w, y, n):
        for i in range(n):
            y[0] += x[i]

    result = lifted(CONV3, total)
    assert result.verdict in ("refuted", "unchecked")

    def prefix(x, w, y, n):
        for i in range(1, n):
            y[i] = y[i - 1] + x[i]

    result = lifted(CONV3, prefix, at=64)
    assert result.verdict in ("refuted", "unchecked")
    text = CONV3.replace("first + lane < n:", "(first + lane) % 3 < n:")
    result = lifted(text, conv3)
    assert result.verdict == "unchecked" or result.witness


def test_without_sizes_the_bounded_proof_is_the_answer():
    result = lifted(REVERSE, reverse)
    assert result.verdict == "proved" and "no run-time size" in result.reason


def test_smt_answers():
    x, y = variable("x"), variable("y")
    session = SmtSession([Constraint(x.scaled(-1)), Constraint(y.plus(x, -2), "==")])
    answer = session.check(Constraint(y.scaled(-1).shifted(5)))
    assert isinstance(answer, Sat) and answer.model["y"] == 2 * answer.model["x"] >= 5
    assert isinstance(session.check(Constraint(y.shifted(-7), "==")), Unsat)
    both = conjunction([Constraint(x.shifted(-3)), Constraint(x.scaled(-1).shifted(3))])
    assert isinstance(session.check(conjunction([both, negation(both)])), Unsat)


HALVES = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def halves(x: Global[f32, 2 * n], y: Global[f32, n] | out, n: size):
    i = block_id * 32 + thread_id
    if thread_id < 16:
        odd = 0
    else:
        odd = 1
    if i < n:
        y[i] = x[2 * i + odd]
"""


def test_index_variables_that_branches_of_threads_set_apart():
    def halves(x, y, n):
        for b in range(n):
            y[b] = x[2 * b]

    assert lifted(HALVES, halves, at=32).verdict == "refuted"

    def odd(x, y, n):
        for b in range(n):
            y[b] = x[2 * b + 1]

    assert lifted(HALVES, odd, at=32).verdict == "refuted"
    assert lifted(HALVES, odd, ("odd = 0", "odd = 1"), at=32).verdict == "proved"


WINDOW = """
@kernel(block=(8, 1, 1), grid=((n + 7) // 8, 1, 1), warp_size=8)
def window(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    i = block_id * 8 + thread_id
    v = register(f32, 1)
    if i < {limit}:
        v[0] = x[min(i, n - 1)]
    if i < n:
        y[i] = v[0]
"""


@pytest.mark.parametrize("limit", [16, 30, 700])
def test_constants_that_large_sizes_pass(limit: int):
    def copy(x, y, n):
        for i in range(n):
            y[i] = x[i]

    result = lifted(WINDOW.format(limit=limit), copy, at=8)
    assert result.verdict == "refuted" and dict(result.witness)["n"] > limit
    right = lifted(WINDOW.format(limit="n"), copy, at=8)
    assert right.verdict in ("proved", "unchecked")
    assert right.verdict == "proved" or right.reason.endswith("right at n = 0, 1, 7, 9, 17, 24, 57, 64")


def test_sizes_span_blocks_of_every_axis():
    text = "@kernel(block=(4, 1, 1), grid=((n + 3) // 4, m, 1), warp_size=4)\n"
    text += "def k(x: Global[f32, n, m], y: Global[f32, n, m] | out, n: size, m: size):\n"
    text += "    if block_id('y') < 10:\n        y[0, 0] = x[0, 0]\n"
    found = list(telling_sizes(parse(text), {"n": 4, "m": 2}, 500))
    assert {"n": 9, "m": 2} in found and {"n": 32, "m": 2} in found and {"n": 4, "m": 8} in found and {"n": 4, "m": 11} in found
    assert {"n": 4, "m": 2} not in found and len(found) == len({tuple(s.items()) for s in found})


PLAIN = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def plain(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    g = block_id * 32 + thread_id
    if g < n:
        y[g] = x[g]
"""


def carried_sum(x, y, n):
    s = 0.0
    for i in range(n):
        s += x[i]
        y[i] = s


def carried_element(x, y, n):
    s = 0.0
    for i in range(n):
        y[i] = s + x[i]
        s = x[i]


def carried_index(x, y, n):
    k = 0
    for i in range(n):
        y[i] = x[i] if k == 0 else 0.0
        k = 1


def carried_on_one_way(x, y, n):
    s = 0.0
    for i in range(n):
        if i > 0:
            s = x[i]
        y[i] = x[i] + s - s if i > 0 else s + x[0]


def left_by_a_loop(x, y, n):
    k = 0
    for _ in range(n):
        k = 0
    for i in range(n):
        y[i] = x[i] if k == 0 else 0.0


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (carried_sum, "s holds what an earlier iteration of a loop over a size left there"),
        (carried_element, "s holds what an earlier iteration"),
        (carried_index, "k holds what an earlier iteration"),
        (left_by_a_loop, "k holds what an earlier iteration"),
    ],
)
def test_what_iterations_of_a_spec_hand_on_is_not_lost(spec, reason: str) -> None:
    """A kernel that is right at n = 1 only was proved for every n."""
    result = lifted(PLAIN, spec, at=1)
    assert result.verdict != "proved"
    with pytest.raises(UnliftableError, match=re.escape(reason)):
        source = parse_spec(spec, parse(PLAIN))
        GenericBlock(source, GenericIndex(source, (Linear((), 0),) * 3), is_spec=True).run()


def test_what_a_spec_sets_on_one_way_only_is_unknown_on_the_other() -> None:
    assert lifted(PLAIN, carried_on_one_way, at=1).verdict != "proved"


TAPS = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def taps(x: Global[f32, n + 2], w: Constant[f32, 3], y: Global[f32, n] | out, n: size):
    g = block_id * 32 + thread_id
    s = accumulator(f32, op='+', init=0.0, finalize=__state)
    if g < n:
        for k in range(3):
            s.add(w[k] * x[g + k])
        y[g] = s.value()
"""


def loop_around_a_loop(x, w, y, n):
    for k in range(3):
        for i in range(n):
            y[i] += w[k] * x[i + k]


def sum_in_a_variable(x, w, y, n):
    for i in range(n):
        s = 0.0
        for k in range(3):
            s += w[k] * x[i + k]
        y[i] = s


def reads_its_neighbour(x, w, y, n):
    for k in range(3):
        for i in range(n - 1):
            y[i] = y[i + 1] + w[k] * x[i + k]


def in_two_ranges(x, w, y, n):
    for i in range(n):
        y[i] += w[0] * x[i]
    for i in range(n + 0 * 2 - 1):
        y[i] += w[1] * x[i + 1]


def test_loops_over_one_range_are_one_loop() -> None:
    assert lifted(TAPS, loop_around_a_loop, at=40).verdict == "proved"
    assert lifted(TAPS, sum_in_a_variable, at=40).verdict == "proved"
    assert lifted(TAPS, loop_around_a_loop, ("range(3)", "range(2)"), at=40).verdict == "refuted"
    assert lifted(TAPS, reads_its_neighbour, at=40).verdict != "proved"
    assert lifted(TAPS, in_two_ranges, at=1).verdict != "proved"


ADDED = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def added(x: Global[f32, n], y: Global[f32, n] | inout, n: size):
    g = block_id * 32 + thread_id
    if g < n:
        y[g] = y[g] + x[g]
"""


def added(x, y, n):
    for i in range(n):
        y[i] += x[i]


def reads_its_old_neighbour(x, y, n):
    for i in range(n):
        y[i] += y[i - 1] if i > 0 else x[i]


def capped(x, y, n):
    for i in range(min(n, 100)):
        y[i] += x[i]


def test_in_place() -> None:
    assert lifted(ADDED, added, at=40).verdict == "proved"
    assert lifted(ADDED, added, ("= y[g] + x[g]", "= y[g] + y[g]"), at=40).verdict == "refuted"
    nobody = lifted(ADDED, added, ("= y[g] + x[g]", "= y[g] + x[g] + (y[g - 1] if g > 0 and n < 0 else f32(0.0))"), at=40)
    assert nobody.verdict == "proved"  # no thread reads the other element
    assert (
        lifted(ADDED, reads_its_old_neighbour, ("= y[g] + x[g]", "= y[g] + (y[g - 1] if g > 0 else x[g])"), at=1).verdict
        != "proved"
    )
    twice = lifted(ADDED, added, ("= y[g] + x[g]", "= x[g]\n        y[g] = y[g] + x[g]"), at=40)
    assert twice.verdict != "proved"


def test_a_loop_to_a_minimum() -> None:
    assert lifted(ADDED, capped, ("if g < n:", "if g < min(n, 100):"), at=40).verdict == "proved"
    result = lifted(ADDED, capped, at=40)
    assert result.verdict == "refuted" and dict(result.witness)["n"] > 100


FLOORED = """
@kernel(block=(8, 1, 1), grid=((n + 7) // 8, 1, 1), warp_size=8)
def floored(x: Global[i8, n], y: Global[i8, n] | out, n: size):
    g = block_id * 8 + thread_id
    if g < n:
        y[g] = x[g] // i8(3) - x[g] % i8(4)
"""


def floored(x, y, n):
    for i in range(n):
        y[i] = x[i] // 3 - x[i] % 4


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (("x[g] % i8(4)", "x[g] % i8(4)"), "proved"),
        (("x[g] % i8(4)", "(x[g] & i8(3))"), "proved"),  # rounding down, the rest is in the low bits
        (("x[g] // i8(3)", "x[g] / i8(3)"), "refuted"),
        (("x[g] % i8(4)", "x[g] % i8(8)"), "refuted"),
    ],
)
def test_quotients_that_round_down(change: tuple[str, str], verdict: str):
    assert lifted(FLOORED, floored, change, at=12).verdict == verdict


def thinned(x, y, n):
    for i in range(n):
        y[i] = x[i]
    if n > 3_000_000:
        y[0] = 0.0


def unread(x, y, n):
    for i in range(n):
        if (k := i) < 3_000_000:
            y[k] = x[k]


@pytest.mark.parametrize("spec", [thinned, unread])
def test_a_number_of_the_spec_beyond_every_size_that_was_run(spec):
    """Such a kernel was `solved, tested`; in the second spec only its text tells."""
    result = lifted(PLAIN, spec, at=40)
    assert result.verdict == "unchecked" and "beyond the constant 3000000" in result.doubt


def rare(x, y, n):
    for i in range(n):
        y[i] = x[i]
    if n % 611 == 610:
        y[0] = 0.0


def test_sizes_next_to_the_numbers_of_the_spec_are_run():
    assert lifted(PLAIN, rare, at=40).verdict == "refuted"


def test_quotients_follow_from_the_element_where_they_divide():
    i, q = variable("i"), variable("y.0")
    values = {"i": q.scaled(32).shifted(5)}
    made = {(i, 32): variable("a"), (variable("a").shifted(1), 1): variable("b"), (i, 64): variable("c"), (variable("n"), 2): q}
    _add_quotients(values, made)
    assert values == {"i": q.scaled(32).shifted(5), "a": q, "b": q.shifted(1)}


NEIGHBOURS = """
@kernel(block=(8, 1, 1), grid=((n + 7) // 8, 1, 1), warp_size=8)
def neighbours(x: Global[f32, n], y: Global[f32, n] | out, n: size):
    g = block_id * 8 + thread_id
    if g < n:
        y[g] = x[g + 1] if thread_id < 7 and g + 1 < n else x[g]
"""


def within_eight(x, y, n):
    for i in range(n):
        y[i] = x[i + 1] if i % 8 < 7 and i + 1 < n else x[i]


def within_two_blocks(x, y, n):
    for i in range(n):
        y[i] = x[i + 1] if i % 16 != 7 and i % 16 != 15 and i + 1 < n else x[i]


def within_many(x, y, n):
    for i in range(n):
        y[i] = x[i + 1] if i % 8 < 7 and i % 4096 < 4095 and i + 1 < n else x[i]


@pytest.mark.parametrize(
    ("spec", "verdict"), [(within_eight, "proved"), (within_two_blocks, "proved"), (within_many, "unchecked")]
)
def test_which_lane_an_element_falls_to(spec, verdict: str):
    assert lifted(NEIGHBOURS, spec, at=20).verdict == verdict
    assert lifted(NEIGHBOURS, spec, ("thread_id < 7", "thread_id < 6"), at=20).verdict == "refuted"
