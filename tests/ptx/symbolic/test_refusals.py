"""Where the emulator says that it does not know, each for one reason alone."""

from __future__ import annotations

import pytest
from tests.ptx.symbolic.test_compare import GUARD, INDEX
from tests.ptx.symbolic.test_emulate import between, emulated, loads
from tests.ptx.symbolic.test_neighbour import neighbours

from warploom.ptx.symbolic import Algebra, Facts, LaunchLimits, Match, Neighbour, TermTable, counterexample
from warploom.ptx.symbolic.bitwise import bit_field, bit_insert
from warploom.ptx.symbolic.division import magic_quotient
from warploom.ptx.symbolic.extension import halved, opened_product
from warploom.ptx.symbolic.memory import disjoint, may_share
from warploom.ptx.syntax import Name
from warploom.solve import Unsat


def plain() -> tuple[TermTable, Algebra]:
    table = TermTable()
    return table, Algebra(table, Facts(table, LaunchLimits()))


def magic(divisor: int, cut: int = 32) -> int:
    return -(-(1 << cut) // divisor)


def test_division_by_a_magic_number() -> None:
    """A constant beside the product, a second product, and a divisor that the dividend's width cannot hold."""
    table, algebra = plain()
    byte, other = table.opaque("x", 8), table.opaque("y", 8)
    wide = [algebra.zext(each, 64) for each in (byte, other)]
    product = algebra.scaled(wide[0], magic(7))
    assert str(magic_quotient(algebra, product, 32)) == "zext32(x /u 0x7)"
    assert magic_quotient(algebra, algebra.shifted(product, 5), 32) is None
    assert magic_quotient(algebra, algebra.add(product, wide[1], magic(7)), 32) is None
    assert magic_quotient(algebra, algebra.scaled(wide[0], magic(255)), 32) is not None
    assert magic_quotient(algebra, algebra.scaled(wide[0], magic(300)), 32) is None


def test_addresses_of_two_widths_may_be_one_place() -> None:
    _, algebra = plain()
    assert disjoint(algebra, algebra.const(0, 32), 4, algebra.const(100, 32), 4)
    assert not disjoint(algebra, algebra.const(0, 32), 4, algebra.const(100, 64), 4)


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [("const", "*", False), ("*", "const", False), ("const", "const", False), ("global", "*", True), ("shared", "global", False)],
)
def test_spaces(first: str, second: str, shared: bool) -> None:
    assert may_share(first, second) == shared


def test_a_closed_group_of_copies_changes_nothing() -> None:
    assert between("cp.async.commit_group;").clobbers == ()
    assert len(between("cp.async.wait_all;").clobbers) == 1


@pytest.mark.parametrize("address", ["%rd1", "[%rd1, {%r1}]"])
def test_an_operand_that_is_no_plain_address(address: str) -> None:
    (access,) = loads(emulated(f"mov.u64 %rd1, 64; mov.u32 %r1, 0; ld.global.f32 %f1, {address};"))
    assert access.address is None


def test_one_thread_walks_over_nobody() -> None:
    """Seen from a thread itself nothing proves that an index does not wrap."""
    body = "mad.lo.s32 %r5, %r2, %r2, %r1; add.s32 %r6, %r5, 1;"
    match = neighbours(GUARD.format(body + INDEX.format("%r5").replace("[%rd3]", "[%rd3+4]") + INDEX.format("%r6")), 0)
    assert match is not None
    assert [c.offset for c in match.conditions] == [-1]


def test_what_is_true_as_it_stands_needs_no_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    _, algebra = plain()
    monkeypatch.setattr("warploom.ptx.symbolic.decide.Translation", None)
    assert isinstance(counterexample(algebra, algebra.const(1, 1)), Unsat)


def test_fields_at_unknown_places() -> None:
    table, algebra = plain()
    x, at, known = table.opaque("x", 32), table.opaque("at", 32), algebra.const(4, 32)
    assert bit_field(algebra, x, known, known, is_signed=False) is not None
    assert bit_field(algebra, x, at, known, is_signed=False) is None
    assert bit_field(algebra, x, known, at, is_signed=False) is None
    assert bit_insert(algebra, x, x, known, known) is not None
    assert bit_insert(algebra, x, x, at, known) is None
    assert bit_insert(algebra, x, x, known, at) is None


def test_only_words_of_masks_are_halved() -> None:
    table, algebra = plain()
    for width, halves in ((10, True), (8, False), (32, False), (64, False)):
        assert (halved(algebra, algebra.scaled(table.opaque("x", width), 4)) is not None) == halves


def test_products_that_may_wrap() -> None:
    """Only signed ones are assumed not to, and only on request."""
    for nsw in (False, True):
        table = TermTable()
        algebra = Algebra(table, Facts(table, LaunchLimits()), assume_nsw=nsw)
        product = algebra.mul(table.opaque("x", 32), table.opaque("y", 32))
        assert opened_product(algebra, product, 64, is_signed=False) is None
        assert (opened_product(algebra, product, 64, is_signed=True) is not None) == nsw
        assert bool(algebra.assumptions) == nsw


def test_places_with_nothing_in_common_are_not_compared_by_their_ranges() -> None:
    table, algebra = plain()
    x, y = (algebra.zext(table.special(f"tid.{c}"), 64) for c in "xy")
    assert disjoint(algebra, algebra.shifted(x, 5000), 4, algebra.const(0, 64), 4)
    assert not disjoint(algebra, algebra.shifted(x, 5000), 4, y, 4)


def test_an_indexed_branch_says_nothing_of_where_it_leads() -> None:
    """A register that two ways set differently holds one of the two values, and nobody knows which."""
    emulation = emulated(
        "mov.u32 %r1, %tid.x; mov.u32 %r2, 5;\nt: .branchtargets L, M;\nbrx.idx %r1, t;\nL: mov.u32 %r2, 1;\nM: mov.u32 %r3, %r2;"
    )
    assert emulation.value(4, Name("%r2")).op == "opaque"


@pytest.mark.parametrize(("nc", "known"), [(".nc", True), ("", False)])
def test_an_index_that_nobody_writes_is_read_by_the_other_thread_where_it_stands(nc: str, known: bool) -> None:
    index = "ld.param.u64 %rd1, [a]; mul.wide.u32 %rd5, %r1, 4; add.s64 %rd6, %rd1, %rd5;"
    first = f"ld.global{nc}.u32 %r7, [%rd6]; mul.wide.u32 %rd8, %r7, 4; add.s64 %rd8, %rd1, %rd8; ld.global.f32 %f1, [%rd8];"
    text = "mov.u32 %r1, %tid.x;" + index + first + first.replace("[%rd6]", "[%rd6+4]").replace("%f1", "%f2")
    emulation = emulated(text)
    _, source, _, target = loads(emulation)
    assert source.address is not None
    assert target.address is not None
    other = Neighbour(emulation, {emulation.table.special("tid.x"): 1})
    assert (other.match(target.address, target.block, source.address, source.block) == Match(())) == known
