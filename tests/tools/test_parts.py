"""Small parts of commands, each by itself: times, figures of a report line, the picture of a search."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, cast

import click
import pytest

from warploom.core import Span
from warploom.ir import AccessCounts
from warploom.solve import Event
from warploom.tools.bench.programs import MOST_MB, MOST_TESTS, judged
from warploom.tools.command.duration import duration
from warploom.tools.explore.chart import chart
from warploom.tools.explore.command import _how
from warploom.tools.explore.result import taken
from warploom.tools.synth.report import _counts  # pyright: ignore[reportPrivateUsage]


def asked(text: str | None) -> float | None:
    return duration(cast(click.Context, None), cast(click.Parameter, None), text)


def test_times() -> None:
    assert [asked(t) for t in ("60s", "1.5m", "500ms", "7", "2 min", "3h", " 4s ", None)] == [60, 90, 0.5, 7, 120, 10800, 4, None]
    for text in ("", "s", "-3s", "3 days", "1e3", "1.s", "3s4"):
        with pytest.raises(click.BadParameter, match="expected a time such as"):
            asked(text)


def timed(runs: int, spread: float, is_disturbed: bool = False) -> Any:
    return SimpleNamespace(runs=runs, spread=spread, is_disturbed=is_disturbed)


def test_how_a_time_was_taken() -> None:
    assert taken(6.0, [], 2.0, is_measured=False) == {"time_is": "modelled", "counted": "model", "time_over_bound": 3.0}
    assert "time_over_bound" not in taken(6.0, [], 0.0, is_measured=False)
    found = taken(6.0, [timed(9, 0.1), timed(7, 0.2, True)], 4.0, is_measured=True)
    assert found == {"time_is": "measured", "counted": "model", "time_over_bound": 1.5, "median": 6.0, "runs": 7, "spread": 0.2,
                     "disturbed": True}  # fmt: skip
    assert taken(6.0, [timed(9, 0.1), timed(8, 0.3)], 4.0, is_measured=True)["disturbed"] is False
    for none in ([], [timed(0, 0.0)], [timed(3, 0.1), timed(0, 0.0)]):
        assert taken(6.0, none, 4.0, is_measured=True)["runs"] is None
    assert _how({"runs": 7, "spread": 0.25, "disturbed": False}) == "measured, median of 7 runs, spread 25.0%"
    assert _how({"runs": 7, "spread": 0.25, "disturbed": True}).endswith("; disturbed: other work kept the machine busy")
    assert _how({"runs": None, "time_is": "modelled"}) == _how({"time_is": "modelled"}) == "modelled"


def solved(**more: object) -> dict[str, object]:
    return {
        "case": "mm-2",
        "status": "solved",
        "verdict": "proved",
        "seconds": 0.5,
        "peak_mb": 10.0,
        "ineffectiveness": 1.0,
    } | more


def test_a_case_without_a_bar_is_as_expected_when_it_is_proved() -> None:
    unknown = "no such case"
    assert judged(solved(case=unknown))["as_expected"] is True
    for less in ({"verdict": "tested"}, {"status": "unknown", "verdict": None}):
        assert judged(solved(case=unknown) | less)["as_expected"] is False
    assert judged(solved(case=unknown, count=3))["solutions"] == 3 and "bar" not in judged(solved(case=unknown))


def test_what_of_a_bar_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    bar = SimpleNamespace(solutions=2, seconds=1.0, published_s=4.0)
    monkeypatch.setitem(judged.__globals__, "bar_of", lambda case: bar)
    good = judged(solved(goal="all", count=2))
    assert (good["as_expected"], good["in_time"], good["missed"], good["times_faster"]) == (True, True, [], 8.0)
    for change, missed in [
        ({"count": 3}, ["solutions"]), ({"seconds": 1.001}, ["seconds"]), ({"seconds": 1.0}, []),
        ({"peak_mb": MOST_MB + 0.5}, ["peak_mb"]),
        ({"ineffectiveness": MOST_TESTS + 0.1}, ["ineffectiveness"]), ({"template": "unknown"}, ["solutions"]),
        ({"verdict": "tested"}, ["solutions"]), ({"goal": "one", "count": 1}, []), ({"ineffectiveness": None}, []),
    ]:  # fmt: skip
        assert judged(solved(goal="all", count=2) | change)["missed"] == missed, change
    bar.solutions = 0
    assert judged(solved(status="unsat", verdict="proved", goal="one"))["as_expected"] is True
    assert judged(solved(goal="one"))["as_expected"] is False


def seen(kind: str, at: float, **fields: object) -> Event:
    return Event(at, kind, cast(Any, fields))


def test_the_picture_of_a_search_goes_down_with_the_best() -> None:
    events = [seen("explore", 10.0, bound_ms=1.0), seen("measured", 11.0, time_ms=8.0), seen("measured", 12.0, time_ms=9.0),
              seen("better", 13.0, time_ms=4.0), seen("measured", 14.0, time_ms=0.0)]  # fmt: skip
    text = chart(events)
    assert text.count('class="tried"') == 2 and "best 4 ms" in text and "bound of the space, 1 ms" in text
    (path,) = re.findall(r'class="best" d="([^"]+)"', text)
    assert path.count("V") == 1 and path.startswith("M")
    assert chart(events[:1]) == chart([]) == ""
    assert chart([*events[:1], seen("measured", 11.0, time_ms=-1.0)]) == ""


def test_accesses_of_one_place_are_summed() -> None:
    """A device function that is called twice has its accesses twice."""
    place = Span("a.py", 7, 4, 7, 9)
    accesses = [AccessCounts("tile", "store", place, "wavefronts", n, 1) for n in (3, 5)]
    line = _counts(cast(Any, SimpleNamespace(accesses=accesses)))
    assert (line["wavefronts"], line["least"]) == ({"store of tile, line 7:4": 8}, {"store of tile, line 7:4": 2})
