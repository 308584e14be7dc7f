"""Every reason for which the induction refuses a program, alone: the prover's own runs are switched off."""

from __future__ import annotations

from dataclasses import replace

import pytest

from warploom.ir import Compare, IndexBinary, IndexConst, IndexVar, Logical
from warploom.scan.networks import NAMED, Bound, Generalised, Induction, Move, Phase, Program, generalise, prove_every_size
from warploom.scan.networks import induction as module
from warploom.scan.networks import program as runs
from warploom.scan.networks.induction import _Prover, _Terms
from warploom.scan.networks.numbers import Symbolic
from warploom.scan.networks.states import State

LANE, OFFSET = IndexVar("i"), IndexVar("d")
LEFT = IndexBinary("-", LANE, OFFSET)
FAR_LEFT = IndexBinary("-", LEFT, IndexConst(1))
NARROW, WIDE = Compare(">=", LANE, IndexBinary("*", IndexConst(2), OFFSET)), Compare(">=", LANE, OFFSET)
ALL = Phase(Bound(0), Bound(0, True), Move(WIDE, LEFT))
KOGGE_STONE = Program((2,), (ALL,))


@pytest.fixture(autouse=True)
def _no_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_scan", lambda *_: True)


def program(name: str) -> Program:
    found = generalise(NAMED[name](16))
    assert isinstance(found, Generalised)
    return found.program


@pytest.mark.parametrize(
    ("guard", "source", "adjacency", "keeps"),
    [
        (WIDE, LEFT, "strict", True),
        (NARROW, LEFT, "strict", False),  # idle lanes from d to 2 d - 1 stay behind the formula
        (WIDE, FAR_LEFT, "strict", False),  # the source is not next to the lane's interval
        (WIDE, FAR_LEFT, "overlapping", False),
        (Compare(">=", LANE, IndexConst(0)), LEFT, "strict", False),  # a source left of the array
    ],
)
def test_one_level(guard: Compare, source: IndexBinary, adjacency: str, keeps: bool) -> None:
    prover = _Prover(KOGGE_STONE, adjacency)  # type: ignore[arg-type]
    phase = replace(ALL, move=Move(guard, source))
    assert prover._level_keeps(phase, State("reaching"), 2, None, None) is keeps


def test_a_level_that_grows_otherwise_than_its_formula() -> None:
    prover = _Prover(KOGGE_STONE, "strict")
    assert prover._level_keeps(ALL, State("reaching"), 2, None, None)
    assert not prover._level_keeps(ALL, State("blocks"), 2, None, None)
    assert not prover._level_keeps(ALL, State("gathered"), 2, None, None)
    assert not prover._level_keeps(replace(ALL, is_repeated=True), State("reaching"), 3, None, None)  # no form between steps


def test_adjacency_is_asked() -> None:
    numbers = Symbolic(2, [1, 2], None, 0)
    lane, source, own, other = (numbers.variable(n) for n in ("i", "source", "own", "other"))
    front = numbers.equal(source, numbers.subtract(lane, own))
    beyond = numbers.at_least(source, numbers.subtract(lane, own))
    strict, loose = _Prover(KOGGE_STONE, "strict"), _Prover(KOGGE_STONE, "overlapping")
    assert numbers.proves([front], strict._adjacent(numbers, lane, source, own, other))
    assert not numbers.proves([beyond], strict._adjacent(numbers, lane, source, own, other))
    # overlapping: left of the lane, no gap, and its own first input is not behind the lane's
    left = numbers.at_least(numbers.subtract(lane, numbers.constant(1)), source)
    ordered = numbers.at_least(numbers.subtract(lane, own), numbers.subtract(source, other))
    wanted = loose._adjacent(numbers, lane, source, own, other)
    assert numbers.proves([left, beyond, ordered], wanted)
    for given in ([beyond, ordered], [left, ordered], [left, beyond]):
        assert not numbers.proves(given, wanted)


def test_overlapping_networks_are_not_proved_for_every_operator() -> None:
    assert isinstance(prove_every_size(program("knowles-1248"), "overlapping"), Induction)
    for name in ("knowles-1112", "knowles-1248"):
        assert str(prove_every_size(program(name), "strict")).startswith("no invariant of the menu for loop ")


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (Program((2,), (replace(ALL, high=Bound(2, True)),)), "a bound more than one level below the top"),
        (Program((2, 3), (replace(ALL, high=Bound(1, True)),)), "a bound more than one level below the top"),
        (Program((2,), (replace(ALL, low=Bound(2), high=Bound(1)),)), "a loop that may have its bounds in the wrong order"),
        (Program((2,), (replace(ALL, low=Bound(0, True), high=Bound(1)),)), "a loop that may have its bounds in the wrong order"),
        (
            Program((3,), (replace(ALL, move=Move(WIDE, IndexBinary("-", LANE, IndexVar("h")))),)),
            "an index that uses the offset one level below",
        ),
        (Program((2,), (replace(ALL, move=Move(NARROW, LEFT)),)), "no invariant of the menu for loop 1"),
        (Program((2,), (replace(ALL, high=Bound(0)),)), "the last invariant does not say that the scan is complete"),
    ],
)
def test_reasons(wrong: Program, reason: str) -> None:
    assert prove_every_size(wrong) == reason


def test_the_up_sweep_alone_is_not_complete() -> None:
    up, down = program("brent-kung").phases
    said = "the last invariant does not say that the scan is complete"
    assert prove_every_size(Program((2,), (up,))) == said
    assert prove_every_size(Program((2,), (up, replace(down, low=Bound(1))))) == said
    assert isinstance(prove_every_size(Program((2,), (up, down))), Induction)


def test_phases_must_join() -> None:
    prover = _Prover(KOGGE_STONE, "strict")
    first, second = State("reaching"), State("complete")
    assert prover._equal_at(None, None, first, Bound(0))  # one input per cell
    assert not prover._equal_at(None, None, first, Bound(1))
    assert prover._equal_at(first, Bound(1), first, Bound(1)) and not prover._equal_at(first, Bound(0), first, Bound(1))
    assert prover._ends(first) and not _Prover(Program((2,), (replace(ALL, high=Bound(1)),)), "strict")._ends(first)
    assert not prover._equal_at(first, Bound(0), second, Bound(0))


def test_small_sizes_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(prove_every_size(KOGGE_STONE), Induction)
    for failing in (1, 32):
        monkeypatch.setattr(module, "is_scan", lambda _, n, __, failing=failing: n != failing)
        assert prove_every_size(KOGGE_STONE) == "not a scan for every small n"


FIRST, REST = replace(ALL, high=Bound(1)), replace(ALL, low=Bound(1))
REACHING = State("reaching")


@pytest.mark.parametrize(
    ("before", "high", "low", "end", "carries"),
    [
        (REACHING, Bound(1), Bound(1), Bound(2), True),
        (None, Bound(1), Bound(1), Bound(2), False),  # nothing says that it holds in the beginning
        (REACHING, Bound(1), Bound(0), Bound(2), False),  # a level is run twice
        (REACHING, Bound(0, True), Bound(0, True), Bound(0, True), False),  # no level from which on it would hold
    ],
)
def test_a_state_that_holds_from_the_first_level_on(
    before: State | None, high: Bound, low: Bound, end: Bound, carries: bool
) -> None:  # fmt: skip
    phases = (replace(ALL, high=high), replace(ALL, low=low, high=end), replace(ALL, low=Bound(2)))
    prover = _Prover(Program((2,), phases), "strict")
    assert prover._carries(1, before, REACHING, False) is carries


def test_every_fixed_level_keeps_the_state() -> None:
    prover = _Prover(Program((2,), (FIRST, REST)), "strict")
    assert prover._keeps(FIRST, REACHING, None) and prover._keeps(REST, REACHING, None)
    assert not prover._keeps(replace(FIRST, move=Move(WIDE, FAR_LEFT)), REACHING, None)


def test_an_open_first_level_starts_from_one_state_only() -> None:
    """A step that takes another state to this one need not take this one on."""
    assert not _Prover(KOGGE_STONE, "strict")._keeps(ALL, REACHING, REACHING)


def test_formulas_without_a_form_between_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the solver agreed to everything."""
    monkeypatch.setattr(Symbolic, "proves", lambda *_: True)
    prover, repeated = _Prover(KOGGE_STONE, "strict"), replace(ALL, is_repeated=True)
    assert prover._level_keeps(repeated, State("blocks"), 3, None, None)
    assert not prover._level_keeps(repeated, REACHING, 3, None, None)


def test_moves_outside_of_the_grammar() -> None:
    numbers = Symbolic(2, [1], None, 0)
    terms = _Terms(numbers, numbers.variable("i"), 1)
    for value in (IndexBinary("*", LANE, LANE), IndexVar("n"), IndexBinary("//", LANE, OFFSET), IndexBinary("%", LANE, LANE)):
        with pytest.raises(ValueError, match=r"^not (linear in the offset|a unit): "):
            terms.value(value)
    for guard in (LANE, Compare("<", LANE, OFFSET), Logical("or", (WIDE, WIDE))):
        with pytest.raises(ValueError, match=r"^not a guard of the grammar: "):
            terms.condition(guard)


FROM_NOWHERE = Phase(Bound(0), Bound(1), Move(Compare(">=", LANE, IndexConst(0)), LEFT))
FROM_THE_RIGHT = Phase(Bound(0), Bound(1), Move(WIDE, IndexBinary("+", LANE, OFFSET)))


@pytest.mark.parametrize("wrong", [FROM_NOWHERE, FROM_THE_RIGHT, replace(ALL, move=Move(WIDE, LANE))])
def test_sources_are_left_of_their_lanes(wrong: Phase) -> None:
    """Also in a step after which nothing is missing."""
    with pytest.raises(ValueError, match="a source outside 0"):
        list(Program((2,), (wrong,)).steps(8))
    assert runs.is_scan(KOGGE_STONE, 8, "strict") and not runs.is_scan(Program((2,), (ALL, wrong)), 8, "strict")
    assert not runs.is_scan(Program((2,), (replace(ALL, move=Move(WIDE, FAR_LEFT)),)), 8, "strict")
