"""The breakdown of stalls by the model: shares, the paper's variants, and the directions that its section 8 gives."""

from __future__ import annotations

import pytest
from click.testing import CliRunner
from tests.tools.contract import check, lines_of

from warploom.gpu import toolchain_available
from warploom.kernels.kernelgen import GPUS, KERNELGEN, STALL_CHANGES
from warploom.machines import nearest_architecture
from warploom.ptx.shuffle import forecast
from warploom.tools.bench import ptx_stalls
from warploom.tools.bench.ptx_stalls import facts_of
from warploom.tools.cli import cli

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")


def test_shares_are_of_everything_that_a_warp_waits_for() -> None:
    facts = facts_of(KERNELGEN["jacobi"], 31)
    assert facts is not None
    found = forecast(facts, facts.candidates, nearest_architecture("sm_52"))
    assert sum(found.before.shares.values()) == pytest.approx(100)
    assert max(found.before.shares, key=lambda u: found.before.shares[u]) == found.before.bottleneck


def test_what_the_variants_leave_out() -> None:
    facts = facts_of(KERNELGEN["jacobi"], 31)
    assert facts is not None
    on = nearest_architecture("sm_52")
    whole, no_load, no_corner = (forecast(facts, facts.candidates, on, v).after.by_resource for v in ("", "no-load", "no-corner"))
    assert no_load["texture path"] == no_corner["texture path"] < whole["texture path"]
    assert no_load["load path"] < no_corner["load path"] == whole["load path"]
    assert no_load["issue"] < no_corner["issue"] < whole["issue"]
    assert facts_of(KERNELGEN["vecadd"], 31) is None


def test_every_change_of_a_kernel_has_the_papers_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: KERNELGEN[name] for name in ("gaussblur", "tricubic", "tricubic2", "vecadd")}
    monkeypatch.setattr(ptx_stalls, "KERNELGEN", few)
    (line,) = lines_of(CliRunner().invoke(cli, ["bench-ptx-stalls"]).stdout)
    check(line)
    assert line["stalls"].keys() == GPUS.keys()
    for change in [c for c in STALL_CHANGES if c.kernel]:
        codes = line["stalls"][change.generation][change.kernel or ""]
        assert (codes[change.after][change.reason] > codes[change.before][change.reason]) == (change.points > 0), change
    assert line["stalls"]["Maxwell"].keys() == few.keys() - {"vecadd"} | {"mean"}
    speeds = {name: codes["PTXASW"] for name, codes in line["faster"]["Volta"].items()}
    assert line["summaries"]["Volta"] == {
        "best": max(speeds.values()), "mean": round(sum(speeds.values()) / len(few), 1), "improved": 0,
    }  # fmt: skip
    assert line["summaries"]["Maxwell"]["improved"] == 3
    assert {"hypterm", "rhs4th3fort", "derivative"} <= line["faster"]["Pascal"].keys() - line["faster"]["Volta"].keys()


def test_a_change_of_speed_is_that_of_the_time() -> None:
    facts = facts_of(KERNELGEN["jacobi"], 31)
    assert facts is not None
    found = forecast(facts, facts.candidates, nearest_architecture("sm_52"))
    speed = ptx_stalls.faster_percent(facts, "sm_52")["PTXASW"]
    assert speed == pytest.approx(100 * (found.before.cycles / found.after.cycles - 1), abs=0.06)
