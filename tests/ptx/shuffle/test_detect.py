"""Where detection says no: each refusal alone keeps its load, and is asked directly where another check stands before it."""

from __future__ import annotations

import pytest
from tests.ptx.shuffle.test_refusals import END, FIRST, HEAD, SECOND, START, reasons

from warploom.ptx.flow import flow_graph
from warploom.ptx.routine import Routine, lower
from warploom.ptx.shuffle.between import Paths
from warploom.ptx.shuffle.detect import Search, _Detector  # pyright: ignore[reportPrivateUsage]
from warploom.ptx.shuffle.early import EarlyValues
from warploom.ptx.shuffle.edits import Edits
from warploom.ptx.shuffle.iterations import aligned_loops, is_alike
from warploom.ptx.shuffle.loads import Load, classify
from warploom.ptx.shuffle.plan import NoWrap, Plan
from warploom.ptx.shuffle.registers import FreshRegisters
from warploom.ptx.shuffle.visible import OuterNames
from warploom.ptx.symbolic import Match, emulate
from warploom.ptx.syntax import parse

INDEX = "\tld.param.u32 {r}, [n];\n\tadd.s32 {r}, {r}, %r1;\n"
"""An index that may wrap when something is added to it."""


def detector(lines: str) -> _Detector:
    module = parse(HEAD + START + lines + END)
    routine = lower(module).kernel("k")
    search = Search(max_delta=31, max_rows=0, shared=False, assume_nsw=False, halo=True)
    return _Detector(emulate(routine, graph=flow_graph(routine)), module.functions[0], search)


def plan(lines: str) -> Plan:
    (found,) = detector(lines).run().plans
    return found


# which loads are looked at


def test_a_loop_with_two_entries() -> None:
    """Elsewhere in the kernel is enough: dominators and loops say nothing then."""
    loop = "\tsetp.lt.u32 %p1, %r1, %r2;\n\t@%p1 bra $B;\n$A:\n\tadd.s32 %r3, %r3, 1;\n$B:\n\t@%p1 bra $A;\n"
    assert "no earlier load" in reasons(FIRST + SECOND)[0]
    assert set(reasons(FIRST + SECOND + loop)) == {"the kernel has a loop with several entries"}


def test_a_load_that_never_runs() -> None:
    assert set(reasons(f"\tbra $E;\n{FIRST}{SECOND}$E:\n")) == {"its address is not known, or it never runs"}


def test_nobody_takes_the_value() -> None:
    assert reasons(FIRST + SECOND.replace("%f2", "_"))[1] == "nobody takes what it loads"


def test_uneven_addresses_beyond_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound on the search is told."""
    monkeypatch.setattr("warploom.ptx.shuffle.detect._IRREGULAR", 1)
    uneven = "\txor.b32 %r9, %r1, {c};\n\tmul.wide.u32 %rd9, %r9, 4;\n\tadd.s64 %rd9, %rd9, %rd2;\n"
    lines = "".join(uneven.replace("{c}", str(c)) + f"\tld.global.nc.f32 %f{c}, [%rd9];\n" for c in (1, 2, 3))
    assert "of addresses that move unevenly only 1 are tried" in reasons(lines)[2]


def test_the_same_address_only_if_an_index_does_not_wrap() -> None:
    """In one lane nothing is tested at run time, so the load stays."""
    lines = (
        INDEX.replace("{r}", "%r9") + "\tmul.wide.s32 %rd7, %r9, 4;\n\tadd.s64 %rd7, %rd7, %rd2;\n"
        "\tadd.s32 %r10, %r9, 1;\n\tmul.wide.s32 %rd8, %r10, 4;\n\tadd.s64 %rd8, %rd8, %rd2;\n"
        "\tld.global.nc.f32 %f1, [%rd7+4];\n\tld.global.nc.f32 %f2, [%rd8];\n"
    )
    assert "the same address only if no index wraps" in reasons(lines)[1]


# what a halo load needs

NEXT = SECOND.replace("[%rd4]", "[%rd4+4]")
PAIR = "\tmul.wide.u32 %rd7, %r1, 8;\n\tadd.s64 %rd7, %rd7, %rd2;\n\tld.global.nc.v2.f32 {%f1, %f3}, [%rd7];\n"


@pytest.mark.parametrize(
    ("lines", "has_halo"),
    [
        (FIRST + NEXT, True),
        ("\tsetp.lt.u32 %p1, %r1, %r2;\n\t@%p1 " + FIRST.strip() + "\n" + NEXT, False),
        ("\tsetp.lt.u32 %p1, %r1, %r2;\n" + FIRST + "\t@%p1 " + NEXT.strip() + "\n", False),
        (PAIR + "\tld.global.nc.v2.f32 {%f2, %f4}, [%rd7+8];\n", True),
        (PAIR + "\tld.global.nc.v2.f32 {_, %f2}, [%rd7+8];\n", True),
        (PAIR + "\tld.global.nc.v2.f32 {%f2, _}, [%rd7+12];\n", False),  # another element
        (PAIR + "\tld.global.nc.f32 %f2, [%rd7+8];\n", False),  # half of what the source loads
    ],
)
def test_a_halo_loads_only_what_some_lane_loads(lines: str, has_halo: bool) -> None:
    assert (plan(lines).halo is not None) == has_halo


def test_a_reuse_has_no_halo() -> None:
    """A lane keeps its own value: no lane of another warp has it, and tests at run time would be for nothing."""
    (reuse, shuffled) = detector(FIRST + FIRST.replace("%f1", "%f3") + NEXT).run().plans
    assert reuse.neighbour.is_self and reuse.halo is None and shuffled.halo is not None


@pytest.mark.parametrize(("kept", "halo"), [(True, {1, -1, 31, -31}), (False, None)])
def test_a_halo_needs_its_index_in_a_register(kept: bool, halo: set[int] | None) -> None:
    """The tests of a halo stand before the source; another register that holds the index later is of no use."""
    change = "" if kept else "\tmov.u32 %r9, 0;\n"
    lines = (
        INDEX.replace("{r}", "%r9") + "\tmul.wide.s32 %rd7, %r9, 4;\n\tadd.s64 %rd7, %rd7, %rd2;\n" + change
        + "\tld.global.nc.f32 %f1, [%rd7];\n" + INDEX.replace("{r}", "%r10") + "\tld.global.nc.f32 %f2, [%rd7+4];\n"
    )  # fmt: skip
    found = plan(lines)
    assert [(c.register, c.amount) for c in found.checks] == [("%r10", 1)]
    assert (None if found.halo is None else {c.amount for c in found.halo}) == halo


def test_a_halo_must_match_at_the_other_end() -> None:
    """The address 32 lanes on is compared by itself, whatever was shown of the neighbour's."""
    here = detector(FIRST + NEXT)
    source, target = here._places([7, 8])[0]  # pyright: ignore[reportPrivateUsage]
    at = plan(FIRST + NEXT).neighbour

    def halo(gap: int) -> tuple[NoWrap, ...] | None:
        wanted = here.emulation.algebra(target.block).shifted(target.address, gap)
        return here._halo(target, source, at, wanted, source.address, Match(()), is_whole=True)  # pyright: ignore[reportPrivateUsage]

    assert halo(0) is not None
    assert halo(4) is None


# the forms of loads


def load(text: str, declared: str = "") -> Load | str:
    routine = _routine(f"{declared}\n{text}\n")
    return classify(routine, len(routine.instructions) - 2)


def _routine(lines: str) -> Routine:
    return lower(parse(f"{HEAD}{START}{lines}\tret;\n}}\n")).kernel("k")


@pytest.mark.parametrize(
    ("text", "declared", "told"),
    [
        ("ld.global.b128 _, [%rd4];", "", "loads of type .b128 are not covered"),
        ("ld.global.cv.f32 %f1, [%rd4];", "", "the qualifier .cv is not covered"),
        ("ld.global.L2::cache_hint.f32 %f1, [%rd4];", "", "the qualifier .L2::cache_hint is not covered"),
        ("ld.global.f32 %f1, [%rd4], %rd9;", "", "a load with a cache policy is not covered"),
        ("ld.global.v2.f32 {%f1, 1}, [%rd4];", "", "its operands have a form that is not covered"),
        ("ld.global.f32 %f1, %rd4;", "", "its operands have a form that is not covered"),
        ("ld.global.u8 %b, [%rd4];", ".reg .b8 %b;", "a destination of type .b8 is not covered"),
        ("ld.global.u32 %q, [%rd4];", ".reg .b128 %q;", "a destination of type .b128 is not covered"),
        ("ld.global.f32 %v.x, [%rd4];", ".reg .v4 .f32 %v;", "a destination of type .unknown is not covered"),
        ("ld.global.v4.f32 %v, [%rd4];", ".reg .v4 .f32 %v;", "a vector register as the destination is not covered"),
    ],
)
def test_what_is_left_alone(text: str, declared: str, told: str) -> None:
    assert load(text, declared) == told


@pytest.mark.parametrize("text", ["ld.global.cs.L2::128B.f32 %f1, [%rd4+8];", "ld.global.v2.f32 {_, %f1}, [%rd4];"])
def test_what_is_covered(text: str) -> None:
    assert isinstance(load(text), Load)


# values before their time


@pytest.mark.parametrize(
    ("lines", "is_early"),
    [
        ("add.s32 %r9, %r1, 1;", True),
        ("@%p1 add.s32 %r9, %r1, 1;", False),
        ("div.s32 %r9, %r1, 3;", False),
        ("mov.u32 %r9, {%h1, %h2};", False),
        ("mov.u32 %r9, tile;", False),
        ("add.s32 %v.x, %r1, 1;\n\tmov.u32 %r9, %v.x;", False),
        ("mov.u32 %r9, %clock;", False),
    ],
)
def test_values_that_can_be_had_early(lines: str, is_early: bool) -> None:
    declared = "\t.reg .v4 .b32 %v;\n\t.shared .align 4 .b8 tile[64];\n"
    module = parse(f"{HEAD}{START}{declared}\t{lines}\n\tret;\n}}\n")
    routine, function = lower(module).kernel("k"), module.functions[0]
    early = EarlyValues(routine, Paths(routine, flow_graph(routine)), OuterNames(function), FreshRegisters("w"))
    assert (early.value("%r9", 7, len(routine.instructions) - 1) is not None) == is_early


# lanes in a loop

LOOP = """	mov.u32 %r9, 0;
	mov.u64 %rd6, %rd2;
$L:
	add.s32 %r9, %r9, 1;
	add.s64 %rd6, %rd6, 4;
{decide}
	@%p2 bra $L;
	ld.global.nc.f32 %f1, [%rd4];
	ld.global.nc.f32 %f2, [%rd4+4];
	setp.lt.u32 %p1, %r9, %r2;
	@%p1 bra $L;
"""


def _in_loop(decide: str) -> str:
    lines = LOOP.replace("{decide}", decide)
    return reasons(lines)[-1]


@pytest.mark.parametrize(
    ("decide", "is_together"),
    [
        ("\tsetp.eq.u32 %p2, %r9, 7;", True),
        ("\tld.global.nc.u32 %r10, [%rd6];\n\tsetp.eq.u32 %p2, %r10, 7;", True),
        ("\tld.global.u32 %r10, [%rd6];\n\tsetp.eq.u32 %p2, %r10, 7;", False),  # may be written between two lanes' reads
        ("\tsetp.eq.u32 %p2, %r1, 7;", False),
    ],
)
def test_lanes_in_one_iteration(decide: str, is_together: bool) -> None:
    assert _in_loop(decide).startswith("lanes may be in different iterations") != is_together


def test_alike_is_what_the_lanes_of_one_iteration_share() -> None:
    """Every lane leaves this loop when it likes; of another lane's counter nothing is known."""
    lines = FIRST + SECOND + "$L:\n\tadd.s32 %r3, %r3, 1;\n\tsetp.lt.u32 %p1, %r3, %r1;\n\t@%p1 bra $L;\n"
    emulation = detector(lines).emulation
    (header,) = aligned = aligned_loops(emulation)
    counter = emulation.table.counter(header)
    assert is_alike(emulation, emulation.table.special("ntid.x"), frozenset())
    assert is_alike(emulation, counter, aligned)
    assert not is_alike(emulation, counter, frozenset())
    assert not is_alike(emulation, emulation.table.make("other", 32, (counter,), ("lane",)), aligned)
    assert not is_alike(emulation, emulation.table.special("tid.x"), aligned)


def test_two_changes_of_one_place() -> None:
    edits = Edits("abcdef")
    edits.replace(1, 4, "x")
    edits.insert(4, "y")
    assert edits.apply() == "axyef"
    edits.replace(3, 5, "z")
    with pytest.raises(ValueError, match="two changes of the text at offset 3"):
        edits.apply()
