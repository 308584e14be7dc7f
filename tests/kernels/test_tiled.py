"""Kernels filled with what their tile's search found."""

from dataclasses import replace

import pytest
from tests.kernels.solved import completions, index

from warploom.core import UserError
from warploom.ir import IndexExpr
from warploom.kernels import complete_example, fill_from_tile, find
from warploom.synth import Completion, Report, complete


def tile_report(holes: dict[str, IndexExpr]) -> Report:
    """As if the tile's search had found `holes`."""
    report = complete(find("mult32-reg").sketch)
    return replace(report, case="mult64_reg", completions=(Completion(holes, 6, 0, 0),))


def test_filled_kernel_is_proved_for_every_size() -> None:
    tile = tile_report(completions("mult64-reg"))
    report = fill_from_tile(find("ffm-32").sketch, tile)
    assert (report.case, report.status, report.verdict, report.optimal_in) == ("ffm_32", "solved", "proved", None)
    assert report.lift.startswith("proved for xor/and ring; every pairs from 0 to 67108862")
    assert report.kernel is not None
    assert not report.kernel.holes
    assert report.completions[0].executed == 32 * 4  # of the six guarded statements, four hold in each iteration
    assert report.seconds > tile.seconds


def test_wrong_completion_is_refused() -> None:
    wrong = completions("mult64-reg") | {"c1_a0_b1": index("a1 < a0")}
    report = fill_from_tile(find("ffm-32").sketch, tile_report(wrong))
    assert (report.status, report.verdict) == ("refused", "refuted")
    assert report.reason


def test_search_that_gives_up_is_passed_on() -> None:
    report = complete_example(find("ffm-32"), budget_nodes=1)
    assert (report.case, report.status, report.kernel) == ("ffm-32", "unknown", None)


def test_tile_with_other_holes() -> None:
    with pytest.raises(UserError) as caught:
        complete_example(replace(find("ffm-32"), tile=find("mult32-reg").sketch))
    [diagnostic] = caught.value.diagnostics
    assert diagnostic.code == "TILE_HOLES"
    assert "'ffm_32' and its tile 'mult32_reg' to have the same holes, got others: a0_lane" in diagnostic.message
