"""`warploom scan network` and the benchmark's rows."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from warploom.core import UserError
from warploom.scan.networks import NAMED, fewest, network_text
from warploom.tools.scan.network import network_cases, network_command, run_network_case, run_table1_case, table1_cases
from warploom.tools.scan.network_picture import network_picture


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(network_command, list(arguments))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def test_a_picture_for_scripts(tmp_path: Path) -> None:
    path = tmp_path / "net.txt"
    path.write_text(network_text(NAMED["brent-kung"](16)))
    code, out, err = run(str(path), "--json", "--n", "512", "--banks", "16")
    line = json.loads(out)
    assert code == 0 and err == ""
    assert (line["status"], line["verdict"], line["domain"]) == ("solved", "proved", "associative operators, every n")
    assert (line["n"], line["conflicts"], line["drawn"]) == (512, 729, 16)
    assert line["program"].startswith("def scan(a, op):")


def test_a_name_for_people(tmp_path: Path) -> None:
    svg = tmp_path / "net.svg"
    code, out, _ = run("--name", "bk3", "--svg", str(svg), "--backward", "--segmented", "--exclusive", "--banks", "4")
    assert code == 0 and "proved over associative operators, every n" in out
    assert "def scan(a, flags, op, identity):" in out and "Backward exclusive segmented" in out
    assert f"wrote {svg}" in out
    root = ElementTree.fromstring(svg.read_text())
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(circles) == NAMED["bk3"](16).size


def test_overlapping_networks_are_proved_for_idempotent_operators() -> None:
    code, out, _ = run("--name", "knowles-1124", "--json")
    line = json.loads(out)
    assert code == 0 and line["verdict"] == "proved"
    assert line["domain"] == "idempotent associative operators, every n"


def test_tested_is_not_called_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.scan.variants.variant.prove_every_size", lambda *_: "no formula")
    code, out, _ = run("--name", "bk3", "--json")
    line = json.loads(out)
    assert code == 0 and line["verdict"] == "tested" and line["cases"] == 1024 and "domain" not in line
    assert line["unproved"] == "no formula"
    assert "every n up to 1024; no proof: no formula" in run("--name", "bk3")[1]


def test_what_is_no_scan_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "net.txt"
    path.write_text("o-* o-*\n")
    code, out, _ = run(str(path), "--json")
    line = json.loads(out)
    assert code == 1 and (line["status"], line["verdict"]) == ("refused", "refuted")
    assert line["reason"] == "no scan: column 2 at the end: it holds 2..2, expected 0..2"


def test_a_network_without_a_regular_loop(tmp_path: Path) -> None:
    path = tmp_path / "net.txt"
    found = fewest(8, 4)
    assert found is not None
    path.write_text(network_text(found.network))
    code, out, _ = run(str(path))
    assert code == 1 and "the space was exhausted" in out and "size 10, depth 4" in out
    assert "n = 8 alone" in out and "(7, " in out


def test_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "net.txt"
    path.write_text("o-x\n")
    code, _, err = run(str(path))
    assert code == 2 and f"{path}:1:3: error[PICTURE_SIGN]" in err and "fix:" in err
    assert run(str(tmp_path / "none"))[0] == 2
    assert run("--name", "nobody")[0] == 2
    assert run()[0] == 2
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert "not UTF-8" in run(str(tmp_path / "bytes"))[2]
    code, _, err = run("--name", "bk3", "--n", "5000", "--svg", str(tmp_path / "net.svg"))
    assert code == 2 and "expected at most 512 columns for a picture, got 5000" in err
    code, _, err = run("--name", "bk3", "--svg", str(tmp_path / "no" / "net.svg"))
    assert code == 2 and "NOT_WRITTEN" in err


def test_show_prints_a_picture() -> None:
    code, out, _ = run("--name", "sklansky", "--show", "--n", "4")
    assert code == 0 and out == "o-* o-*\n\n| o-*-*\n"


def test_pictures_mark_conflicts() -> None:
    text = network_picture(NAMED["brent-kung"](8), "a <b>", 4)
    assert "a &lt;b&gt;" in text and "9 conflicts in 4 banks" in text
    assert text.count('class="clash"') > 0 and text.count('class="read"') > 0
    clean = network_picture(NAMED["kogge-stone"](8), "", 4)
    assert 'class="clash"' not in clean and "0 conflicts" in clean


@pytest.mark.parametrize("name", table1_cases())
def test_rows_of_table_one(name: str) -> None:
    line = run_table1_case(name)
    assert (line["status"], line["verdict"], line["case"]) == ("solved", "proved", f"table1/{name}"), line
    assert "domain" in line and "reason" not in line


@pytest.mark.parametrize("name", ["han-carlson", "knowles-1122", "bk2x3"])
def test_rows_of_networks(name: str) -> None:
    assert name in network_cases()
    line = run_network_case(name)
    assert line["status"] == "solved" and line["n"] == 1024 and line["case"] == f"network/{name}"


def test_unknown_rows() -> None:
    with pytest.raises(UserError, match="UNKNOWN_CASE"):
        run_table1_case("nothing-8")
