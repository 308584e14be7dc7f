"""From pictures to programs for every size, and their proofs."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from warploom.core import UserError
from warploom.ir import Compare, IndexBinary, IndexConst
from warploom.scan.networks import (
    NAMED,
    Bound,
    Generalised,
    Induction,
    Move,
    NotGeneralised,
    Phase,
    Program,
    adjacency_of,
    body,
    combine,
    first_failure,
    generalise,
    named_network,
    network,
    network_text,
    networks,
    parse_network,
    prove_every_size,
)
from warploom.scan.networks.numbers import Symbolic
from warploom.scan.networks.program import LANE, NEXT, OFFSET

from . import serial


def found(name: str, columns: int = 16) -> Generalised:
    result = generalise(parse_network(network_text(named_network(name)(columns))))
    assert isinstance(result, Generalised)
    return result


def compiled(source: str) -> Callable[..., None]:
    names: dict[str, Any] = {}
    exec(source, names)
    return names["scan"]


@pytest.mark.parametrize("name", NAMED)
def test_one_picture_gives_the_network_of_every_size(name: str) -> None:
    result = found(name)
    for n in (*range(1, 40), 64, 100, 243, 1000, 1024):
        assert result.program.network(n) == NAMED[name](n)
    assert result.program == found(name, 64).program


def simd_source(program: Program) -> str:
    """A function `scan(a, op)` that scans a list in place; every `for i` loop is one step of parallel lanes."""
    return "\n    ".join(["def scan(a, op):", *body(program, combine(program))]) + "\n"


@pytest.mark.parametrize("name", NAMED)
def test_printed_loops_scan(name: str) -> None:
    result = found(name)
    forward, backward = (compiled(simd_source(p)) for p in (result.program, result.program.mirrored()))
    for n in (1, 2, 3, 5, 8, 9, 16, 27, 30, 64, 81, 100):
        if result.adjacency == "strict":
            data: list[Any] = serial.matrices(n, n)
            op: Any = serial.times
        else:
            data, op = [chr(ord("0") + k) for k in range(n)], serial.left_zero_band
        for scan, expected in ((forward, serial.prefixes(data, op)), (backward, serial.suffixes(data, op))):
            cells = list(data)
            scan(cells, op)
            assert cells == expected


@pytest.mark.parametrize("name", [*NAMED, "bk5", "bk3x2", "bk2x4", "han-carlson-3", "ladner-fischer-3", "harris-2-1"])
def test_programs_are_proved_for_every_size(name: str) -> None:
    result = found(name, 64)
    assert result.adjacency == ("overlapping" if name.startswith("knowles") else "strict")
    proof = prove_every_size(result.program, result.adjacency)
    assert isinstance(proof, Induction), proof
    assert len(proof.invariants) == len(result.program.phases)
    assert proof.queries >= 4


def test_sizes_one_by_one() -> None:
    """`first_failure` runs full sizes only; here the others are run, too."""
    from warploom.scan.networks import is_scan

    for name in ("bk3", "harris-1-1"):
        program = found(name).program
        assert all(is_scan(program, n, "strict") for n in (*range(1, 300), *range(300, 1025, 29)))


def test_a_backward_picture_gives_a_backward_program() -> None:
    drawn = NAMED["ladner-fischer"](16).mirrored()
    result = generalise(parse_network(network_text(drawn)))
    assert isinstance(result, Generalised) and result.program.is_backward
    assert result.program.network(37) == NAMED["ladner-fischer"](37).mirrored()


def test_wrong_programs_are_not_proved() -> None:
    """Each keeps the drawn shape in part; neither run nor proof accepts it."""
    good = found("brent-kung").program
    up, down = good.phases
    lane_at_least = Compare(">=", LANE, OFFSET)
    minus, ONE = IndexBinary("-", LANE, OFFSET), IndexConst(1)
    wrong = [
        Program((2,), (up,)),
        Program((2,), (down,)),
        Program((2,), (up, Phase(Bound(1), down.high, down.move, is_rising=False))),
        Program((2,), (up, Phase(down.low, down.high, down.move))),
        Program((3,), good.phases),
        Program((2,), (Phase(Bound(0), Bound(3), Move(lane_at_least, minus)),)),
        Program((2,), (Phase(Bound(0), Bound(0, True), Move(lane_at_least, IndexBinary("-", minus, IndexConst(1)))),)),
        Program((2,), (Phase(Bound(0), Bound(0, True), Move(Compare(">=", LANE, NEXT), minus)),)),
    ]
    for program in wrong:
        assert first_failure(program, 100, "strict") is not None
        assert isinstance(prove_every_size(program), str)
    for name in ("knowles-1112", "knowles-1122", "knowles-1124", "knowles-1248"):
        assert isinstance(prove_every_size(found(name).program), str), "no scan for operators that are not idempotent"
    falling = Phase(Bound(2), Bound(1), down.move, is_rising=False)
    assert isinstance(prove_every_size(Program((2,), (up, falling))), str)
    empty = Phase(Bound(0, True), Bound(0, True), down.move)
    assert isinstance(prove_every_size(Program((2,), (up, empty))), str)
    # Knowles' first steps with fan-out 2, the others without.
    early = Move(lane_at_least, IndexBinary("-", IndexBinary("*", IndexBinary("//", LANE, IndexConst(2)), IndexConst(2)), ONE))
    falling_out = Program((2,), (Phase(Bound(0), Bound(2), early), Phase(Bound(2), Bound(0, True), Move(lane_at_least, minus))))
    assert first_failure(falling_out, 100, "overlapping") is not None
    assert isinstance(prove_every_size(falling_out, "overlapping"), str)
    late = Program((2,), (Phase(Bound(0), Bound(7), Move(lane_at_least, minus)),))
    assert first_failure(late, 128, "strict") is None
    assert first_failure(late, 200, "strict") == 129
    assert isinstance(prove_every_size(late), str)


@pytest.mark.parametrize(("radix", "below"), [(2, 0), (3, 0), (5, 0), (2, 2)])
def test_the_facts_about_open_offsets_are_consistent(radix: int, below: int) -> None:
    """Nothing false follows from them, and remainders are what they should be."""
    numbers = Symbolic(radix, [1, radix], None, below)
    lane = numbers.variable("i")
    after = numbers.add(lane, numbers.constant(1))
    terms = [numbers.remainder(value, unit) for value in (lane, after) for unit in ("d", "e")] + [numbers.low(after)]
    zero = numbers.constant(0)
    assumed = [numbers.at_least(term, zero) for term in (lane, *terms)]
    never = numbers.equal(zero, numbers.constant(1))
    assert not numbers.proves(assumed, never)
    assert not numbers.proves([*assumed, numbers.equal(terms[0], zero)], never)
    assert not numbers.proves([*assumed, numbers.equal(terms[3], zero)], never)
    whole = numbers.equal(terms[3], zero)
    assert numbers.proves([whole], numbers.equal(terms[1], numbers.subtract(numbers.unit("e"), numbers.constant(1))))
    assert numbers.proves([], numbers.at_least(numbers.subtract(numbers.unit("e"), numbers.constant(1)), terms[1]))
    assert not numbers.proves([], numbers.at_least(numbers.subtract(numbers.unit("d"), numbers.constant(1)), terms[1]))


def test_networks_without_a_regular_loop_are_said_to_have_none() -> None:
    for net in itertools.islice(networks(8, 3), 0, 52, 26):
        assert adjacency_of(net) == "strict"
        result = generalise(net)
        if isinstance(result, NotGeneralised):
            assert result.tried == 0 and "exhausted" in result.reason


def test_a_drawing_that_is_no_scan_is_refused() -> None:
    with pytest.raises(UserError, match="expected a scan network, got another: column 3 at the end"):
        generalise(network(4, [[(1, 0), (3, 2)], [(2, 1)]]))
