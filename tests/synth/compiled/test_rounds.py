"""Loops whose rounds are left out end as they do where each round is run, whatever changes from round to round."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest
from tests.synth.compiled.programs import body

from warploom.core import UnsupportedError, f32
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, FaultError, SymbolicRun, run_symbolically
from warploom.synth.compiled.data import Data, Undefined, Value
from warploom.synth.compiled.placed import _joined, placed
from warploom.synth.compiled.rounds import _Check, _Guess
from warploom.terms import Term, apply, atom, constant, iterate_post

OUT, IN = ArrayArgument("out", f32, (64,), "undefined"), ArrayArgument("a", f32, (4096,))
ROUNDS = 24
TILE = ".shared .align 16 .b8 tile[256];"
STEP = "\tld.global.f32 %f2, [%rd2];\n\tadd.f32 %f1, %f1, %f2;\n\tadd.s64 %rd2, %rd2, 4;\n"
"""%f1 becomes the sum of a."""
BACK = "\tst.global.f32 [%rd1], %f1;\n"


def loop(step: str, before: str = "", after: str = BACK, rounds: int = ROUNDS) -> str:
    return (
        f"\tmov.f32 %f1, 0f00000000;\n\tmov.u32 %r2, 0;\n\tmov.u32 %r9, tile;\n{before}$top:\n{step}"
        f"\tadd.u32 %r2, %r2, 1;\n\tsetp.lt.u32 %p1, %r2, {rounds};\n\t@%p1 bra $top;\n{after}"
    )


def run(lines: str, threads: int, *, is_cut: bool) -> SymbolicRun:
    program = lower(parse(body(lines, declarations=TILE), "k.ptx"))
    return run_symbolically(program, None, (OUT, IN), (1, 1, 1), (threads, 1, 1), has_rounds_left_out=is_cut)


def element(place: int) -> Fraction:
    return Fraction(place * place * 7919 % 1009, 13)


def value(root: Term, made: SymbolicRun) -> Fraction:
    """The term for some numbers, each sum taken step by step."""
    sums = {symbol: (total, r.steps) for r in made.repeats for symbol, total in r.sums.items()}

    def at(term: Term, step: int) -> Fraction:
        found: dict[Term, Fraction] = {}
        for t in iterate_post(term):
            if t in sums:
                total, steps = sums[t]
                found[t] = sum((at(total, n) for n in range(steps)), Fraction(0))
            elif t.op == "atom":
                place, *by = t.data[1]
                found[t] = element(place + sum(by) * step)
            elif t.op == "constant":
                found[t] = Fraction(t.data[0])
            else:
                x, *rest = (found[a] for a in t.args)
                (y,) = rest or (Fraction(0),)
                found[t] = {"+": x + y, "-": x - y, "*": x * y, "neg": -x}[t.op]
        return found[term]

    return at(root, 0)


def stored(made: SymbolicRun) -> dict[int, Fraction | str]:
    contents = {k: made.content(OUT, k) for k in made.written(OUT)}
    return {k: "undefined" if isinstance(c, Undefined) else value(c, made) for k, c in contents.items()}


def steps(lines: str, threads: int = 1) -> int:
    """Steps that were left out, after the comparison with all rounds run."""
    cut, full = run(lines, threads, is_cut=True), run(lines, threads, is_cut=False)
    assert not full.repeats
    assert stored(cut) == stored(full)
    return sum(r.steps for r in cut.repeats)


def test_the_rounds_of_a_sum_are_left_out() -> None:
    assert steps(loop(STEP)) == ROUNDS - 4


SOME = "\tsetp.ge.u32 %p2, %r2, 3;\n\tsetp.lt.u32 %p3, %r2, 21;\n\tand.pred %p2, %p2, %p3;\n"
"""%p2: the round is one of the third, from which the general step is made, to the twentieth."""
COPY = "\tcp.async.ca.shared.global [%r4], [%rd2], 4;\n\tcp.async.commit_group;\n"
DIFFERENT = "\n".join(f"\tld.global.f32 %f3, [%rd2+{8 * k}];\n\tst.shared.f32 [%r9+{4 * k}], %f3;" for k in range(ROUNDS)) + "\n"
LOOPS = {
    "a cell that is multiplied": (loop(STEP + "\tmul.f32 %f3, %f3, %f2;\n\tst.shared.f32 [%r9], %f3;\n",
                                       "\tmov.f32 %f3, 0f3F800000;\n"), 0),
    "a new cell in each round": (loop(
        STEP + "\tshl.b32 %r4, %r2, 2;\n\tadd.u32 %r4, %r4, %r9;\n\tst.shared.f32 [%r4], %f2;\n"), 0),
    "a group of copies more in each round": (loop(STEP + "\tcp.async.commit_group;\n"), 0),
    "copies to two places in turn": (loop(
        STEP + "\tcp.async.wait_group 1;\n\tand.b32 %r4, %r2, 1;\n\tshl.b32 %r4, %r4, 2;\n\tadd.u32 %r4, %r4, %r9;\n"
        + COPY), 9),
    "a number that changes in turn": (loop(STEP + "\txor.b32 %r4, %r4, 1;\n", "\tmov.u32 %r4, 0;\n"), 10),
    "copies that begin in the general step": (loop(STEP + SOME + "\t@%p2 cp.async.commit_group;\n"), 0),
    "a register that is never written": (loop(STEP, after=BACK + "\tst.global.f32 [%rd1+4], %f7;\n"), 0),
    "a cell that is first written in the general step": (loop(
        STEP + SOME + "\t@%p2 st.shared.f32 [%r9+4], 0f40E00000;\n\tbar.sync 0;\n", after=BACK
        + "\tld.shared.f32 %f3, [%r9+4];\n\tst.global.f32 [%rd1+4], %f3;\n"), 15),
    "a cell that changes in the general step": (loop(
        STEP + SOME + "\t@%p2 st.shared.f32 [%r9], 0f40E00000;\n\tbar.sync 0;\n", "\tst.shared.f32 [%r9], 0f3F800000;\n", BACK
        + "\tld.shared.f32 %f3, [%r9];\n\tst.global.f32 [%rd1+4], %f3;\n"), 15),
    "a sum that is doubled": (loop(STEP + "\tadd.f32 %f1, %f1, %f1;\n"), 0),
    "a sum that begins anew in each round": (loop(STEP + SOME + "\t@%p2 mov.f32 %f1, %f2;\n"), 15),
    "a sum of sums": (loop(STEP + "\tadd.f32 %f4, %f4, %f1;\n", "\tmov.f32 %f4, 0f00000000;\n",
                           "\tst.global.f32 [%rd1], %f4;\n"), 0),
    "a store in each round": (loop(STEP + "\tst.global.f32 [%rd1], %f2;\n\tadd.s64 %rd1, %rd1, 4;\n", after=""), 0),
    "a place in shared memory that moves": (loop(
        STEP + "\tshl.b32 %r4, %r2, 2;\n\tadd.u32 %r4, %r4, %r9;\n\tld.shared.f32 %f3, [%r4];\n\tmul.f32 %f3, %f3, %f2;\n"
        "\tadd.f32 %f1, %f1, %f3;\n\tbar.sync 0;\n", DIFFERENT), 0),
    "halves of elements": (loop(STEP + "\tld.global.u16 %h1, [%rd2];\n"), 0),
    "a cell that is a product at first": (loop(
        STEP + "\tsetp.lt.u32 %p2, %r2, 2;\n\t@%p2 mul.f32 %f3, %f2, %f2;\n\t@!%p2 mov.f32 %f3, %f2;\n"
        "\tst.shared.f32 [%r9], %f3;\n"), 18),
}  # fmt: skip


@pytest.mark.parametrize("name", list(LOOPS))
def test_a_loop_ends_as_if_each_round_were_run(name: str) -> None:
    lines, left_out = LOOPS[name]
    assert steps(lines) == left_out


def test_the_first_step_in_which_any_thread_leaves_an_array_ends_them_all() -> None:
    """64 threads, each of which would leave it one step before the last one."""
    assert steps(loop(STEP), 64) == ROUNDS - 4


def test_a_copy_of_fewer_bytes_leaves_its_array_in_a_late_round() -> None:
    copy = "\tsetp.lt.u32 %p2, %r2, 20;\n\t@%p2 cp.async.ca.shared.global [%r9], [%rd2+16352], 8, 4;\n"
    copy += "\tcp.async.wait_all;\n\tadd.s64 %rd2, %rd2, 8;\n"
    for is_cut in (True, False):
        with pytest.raises(FaultError) as caught:
            run(loop(copy), 1, is_cut=is_cut)
        assert caught.value.fault.kind == "out of bounds"


def test_a_register_that_was_taken_for_dead_refutes_nothing() -> None:
    """A predicate that changes in each round in turn, and is asked after the loop only."""
    after = "\t@%p5 st.global.f32 [%rd1], %f1;\n"
    lines = loop(STEP + "\tnot.pred %p5, %p5;\n", "\tsetp.eq.u32 %p5, %r2, 0;\n", after)
    with pytest.raises(UnsupportedError, match="rounds left out"):
        run(lines, 1, is_cut=True)
    assert run(lines, 1, is_cut=False).written(OUT)


# ------------------------------------------------------------ one guess, one comparison


class Guessing:
    """The part of a launch that a guess asks for."""

    def __init__(self) -> None:
        self.data = Data()
        self.routine = SimpleNamespace(registers={})


X, OTHER, PAIR, WHOLE = atom("x", (3,)), atom("y", (2,)), atom("x", (3, 1)), atom("x", (2,), 2)


@pytest.mark.parametrize(
    ("now", "before"),
    [
        (placed(8, (("x", 1),)), placed(4, (("y", 1),))),
        (_joined(placed(8, (("x", 2),)), 1), _joined(placed(8, (("x", 2),)), 1)),
        (placed(8, (("x", 1),)), 4),
        (X, OTHER),
        (PAIR, atom("x", (2, 1))),
        (atom("x", (3,), 2), WHOLE),
        (X, apply("neg", X)),
        (constant(1), constant(2)),
    ],
)
def test_values_that_do_not_grow_evenly(now: Value, before: Value) -> None:
    launch = Guessing()
    for term in (X, OTHER, PAIR, WHOLE):
        launch.data.made(term, f32)
    assert _Guess(launch, keeps_cells=True).value(now, before, 32) is None  # pyright: ignore[reportArgumentType]


def test_a_number_is_not_what_follows_an_element() -> None:
    check = _Check(Guessing(), {})  # pyright: ignore[reportArgumentType]
    assert not check._is_next(3, X, 32)
    assert not check._is_next(X, 3, 32)
    assert not check._is_next(Undefined("a copy", 1), Undefined("a register", 1), 32)
    assert check._is_next(Undefined("a copy", 1), Undefined("a copy", 1), 32)
