"""Where the emulator says that it does not know, each for one reason alone."""

from __future__ import annotations

import pytest
from tests.ptx.symbolic.test_compare import GUARD, INDEX
from tests.ptx.symbolic.test_emulate import between, emulated, loads
from tests.ptx.symbolic.test_neighbour import neighbours

from warploom.ptx.symbolic import Algebra, Facts, LaunchLimits, TermTable, counterexample
from warploom.ptx.symbolic.division import magic_quotient
from warploom.ptx.symbolic.memory import disjoint, may_share
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


def test_what_nobody_writes_does_not_change() -> None:
    for nc, changes in ((".nc", False), ("", True)):
        emulation = emulated(f"ld.param.u64 %rd1, [a]; {2 * f'ld.global{nc}.f32 %f1, [%rd1]; bar.sync 0;'}")
        first, second = loads(emulation)
        assert emulation.may_change(first, second) == changes


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
    monkeypatch.setattr("warploom.ptx.symbolic.decide._Translation", None)
    assert isinstance(counterexample(algebra, algebra.const(1, 1)), Unsat)
