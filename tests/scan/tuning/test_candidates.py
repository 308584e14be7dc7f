"""Ways to scan a block: formulas of packed lanes, layouts, kernels in shared memory."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest

from warploom import scan
from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.gpu import toolchain_available
from warploom.machines import architecture
from warploom.scan.emit import Types
from warploom.scan.emit.shared import packed, place
from warploom.scan.layouts import addresses
from warploom.scan.networks import NAMED, network
from warploom.scan.operators import expression as ex
from warploom.scan.tasks import loops_module
from warploom.scan.tuning import candidates, estimate, measured, operators, tune
from warploom.scan.tuning.candidates import BLOCK_NETWORKS, _has_pattern, flagged, layouts
from warploom.scan.variants import ScanForm


def named(name: str) -> list[tuple[str, scan.Operator]]:
    return operators(scan.read_loop(loops_module(), name))


@pytest.mark.parametrize("name", BLOCK_NETWORKS)
@pytest.mark.parametrize("columns", [32, 64, 256])
def test_formulas_give_the_dots(name: str, columns: int) -> None:
    for step in NAMED[name](columns).steps:
        formula = packed(step)
        to, come = (text.replace("/", "//") for text in (formula.destination, formula.source))
        assert [(eval(to), eval(come)) for k in range(formula.count)] == [(d.destination, d.source) for d in step]


def test_steps_without_a_pattern() -> None:
    with pytest.raises(UnsupportedError, match="no pattern"):
        packed(network(16, [[(1, 0), (4, 3), (5, 4), (11, 10)]]).steps[0])


def test_places_are_the_layouts() -> None:
    for _, remap in layouts(NAMED["brent-kung"](256)):
        text = place(remap).replace("/", "//")
        assert [eval(text, {"e": e}) for e in range(256)] == addresses(remap, 256).tolist()
    table = dict(layouts(NAMED["brent-kung"](64)))["table"]
    assert place(table) == "PLACES[e]"


def test_operators_have_different_forms() -> None:
    found = dict(named("max_segment_sum"))
    assert [name for name in found if name.endswith("flagged")]
    assert len({o.combine for o in found.values()}) == len(found)


@pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")
def test_every_way_computes_the_loop() -> None:
    ways = [w for w in candidates(named("atoi"), 64) if w.variant == "shared memory"]
    for way in ways[:: max(1, len(ways) // 3)]:
        found = measured(way, Types("int64"), "sm_80")
        assert found.cases and found.counted.barriers and not found.counted.shuffles


@pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")
def test_a_form_is_counted_and_compared() -> None:
    """Backward, segmented and exclusive at once: of most elements something of their own segment comes after them."""
    plain = next(w for w in candidates(named("total"), 64) if w.variant == "shared memory")
    form = ScanForm(is_backward=True, is_segmented=True)
    way = next(w for w in candidates(named("total"), 64, form, is_exclusive=True) if w.variant == "shared memory")
    assert (way.kernel, plain.kernel) == ("scan_block_shared_exclusive", "scan_block_shared")
    assert measured(way, Types(), "sm_80").cases > 30
    # A combination looks at the flags, too.
    assert estimate.estimated(way, Types()).instructions > estimate.estimated(plain, Types()).instructions


@pytest.mark.parametrize("exclusive", [False, True])
def test_every_way_makes_the_kernels_of_the_form(exclusive: bool) -> None:
    for form in (ScanForm(True, False), ScanForm(False, True)):
        for way in list(candidates(named("total"), 32, form, is_exclusive=exclusive))[::9]:
            made = way.made()
            assert way.kernel in made.source and made.form == form


def test_sizes_of_blocks() -> None:
    with pytest.raises(UserError, match="a multiple of 32"):
        tune(named("total"), 40)


def test_networks_without_a_pattern_are_left_out() -> None:
    assert not _has_pattern(network(16, [[(1, 0), (4, 3), (5, 4), (11, 10)]])) and _has_pattern(NAMED["sklansky"](16))


def test_identities_that_need_no_flag() -> None:
    total = named("total")[0][1]
    least = replace(total, identity=(ex.INFINITY,))
    assert flagged(total) is None and flagged(least) is not None
    assert flagged(replace(least, lift=(ex.MINUS_INFINITY,))) is None


@pytest.mark.parametrize(("mismatch", "status"), [("s of 3 elements is 1, expected 2", "finished"), ("", "stuck")])
def test_kernels_that_differ_from_the_loop_are_not_counted(mismatch: str, status: str, monkeypatch: pytest.MonkeyPatch) -> None:
    way = next(w for w in candidates(named("total"), 64) if w.variant == "shared memory")
    for name in ("compile_to_ptx", "parse", "lower"):
        monkeypatch.setattr(estimate, name, lambda *_: "")
    ended = SimpleNamespace(status=status, counts=0, arrays=[None] * 9)
    monkeypatch.setattr(estimate, "launch", lambda *_, **__: ended)
    monkeypatch.setattr(estimate, "compare_part", lambda *_: (1, mismatch))
    with pytest.raises(RuntimeError, match=re.escape(f"{way.name}: {mismatch or status}")):
        measured(way, Types(), "sm_80")


def test_registers_that_nobody_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> object:
        raise UserError(Diagnostic("PTXAS", "no such target"))

    monkeypatch.setattr(estimate, "assemble", refuses)
    assert estimate._registers("", "sm_80", "scan") is None


def test_shuffles_and_wavefronts_pass_through_one_path() -> None:
    """One after another; all warps of the block, which is alone, wait at its barriers."""
    assert estimate.Counted(8, 5, 7, 3).cycles(architecture("sm_80")) == 5 + 7 + 30
    assert estimate.Counted(80, 5, 7, 0).cycles(architecture("sm_80")) == 80 / 4
