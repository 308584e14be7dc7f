"""`warploom bench exchange`: rows beside the peers' figures, and bars that fail when they are missed."""

import importlib.util

from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.tools.bench import exchanges
from warploom.tools.cli import cli


def test_rows_have_names_of_their_own_and_bars() -> None:
    names = [row.name for row in exchanges.rows()]
    assert len(set(names)) == len(names) and all(row.bar for row in exchanges.rows())


def test_a_case_meets_its_bar() -> None:
    result = CliRunner().invoke(cli, ["bench", "exchange", "--case", "operand/e4m3", "--json"])
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0
    assert (line["verdict"], line["as_expected"], line["missed"], line["crossbar"]) == ("proved", True, [], 4)
    assert "certificate" not in line
    if importlib.util.find_spec("triton") is not None:
        assert line["peers"]["triton"] == {"shuffles": 4, "selects": 6, "wavefronts": 0}


def test_a_missed_bar_is_said() -> None:
    counts = {"shuffles": 5, "selects": 8, "permutes": 8, "wavefronts": 0, "pareto": [], "least_shuffles": 5, "via": "shuffle"}
    line = exchanges.judged({"case": "operand/e4m3", "status": "solved", "verdict": "proved", **counts})
    assert (line["as_expected"], line["missed"]) == (False, ["shuffles", "instructions"])
    line = exchanges.judged({"case": "striped-blocked/7", "status": "solved", "verdict": "proved", **counts})
    assert line["missed"] == ["least_shuffles", "shared"]


def test_no_such_case() -> None:
    assert CliRunner().invoke(cli, ["bench", "exchange", "--case", "nothing"]).exit_code == 2


def test_a_late_case_is_no_wrong_one() -> None:
    line = exchanges.judged({"case": "least/random", "status": "solved", "verdict": "proved", "most_seconds": 0.2})
    assert (line["as_expected"], line["missed"], line["in_time"]) == (True, [], False)
    line = exchanges.judged({"case": "tma", "status": "solved", "verdict": "proved", "without": [24]})
    assert (line["as_expected"], line["missed"]) == (False, ["without"]) and "in_time" not in line
