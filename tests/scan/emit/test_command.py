"""`scan emit` and `scan tune` on the command line, and the benchmark's cases."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from warploom.core import Diagnostic, UserError
from warploom.gpu import toolchain_available
from warploom.scan import tasks
from warploom.scan.variants import ScanForm
from warploom.tools.bench import scan as scan_bench
from warploom.tools.cli import scan
from warploom.tools.scan.emit import types_of

LOOPS = str(Path(tasks.__file__).parent / "loops.py")


def lines(*arguments: str) -> tuple[int, dict[str, object]]:
    done = CliRunner().invoke(scan, [*arguments, "--json"])
    (line,) = [json.loads(text) for text in done.stdout.splitlines()]
    return done.exit_code, line


def test_emit(tmp_path: Path) -> None:
    out = tmp_path / "mss.py"
    code, line = lines("emit", f"{LOOPS}:max_segment_sum", "--target", "numpy", "--out", str(out))
    assert code == 0
    assert line["status"] == "solved" and line["verdict"] == "tested" and line["cases"]
    assert line["operator"] == {"verdict": "proved", "domain": "integers"}
    assert "def max_segment_sum(x):" in out.read_text()
    code, line = lines("emit", f"{LOOPS}:max_segment_sum", "--target", "cub", "--no-check")
    assert (code, line["verdict"]) == (0, "unchecked")
    assert "struct Combine" in str(line["source"])


def test_the_text_alone_on_standard_output() -> None:
    done = CliRunner().invoke(scan, ["emit", f"{LOOPS}:total", "--target", "triton", "--no-check"])
    assert done.exit_code == 0
    assert done.stdout.startswith('"""total:') and "tl.associative_scan" in done.stdout
    assert "operator proved over integers" in done.stderr


def test_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert lines("emit", "nothing.py:f", "--target", "numpy")[0] == 2
    assert lines("emit", f"{LOOPS}:total", "--target", "cuda", "--threads", "50")[0] == 2
    assert lines("emit", f"{LOOPS}:total", "--target", "numpy", "--out", str(tmp_path / "file" / "a"))[1]["status"] == "error"
    with pytest.raises(UserError, match="int32 and int64"):
        types_of(("int32", "int64"))
    assert lines("tune", f"{LOOPS}:total", "--n", "33")[0] == 2


def test_a_file_alone_is_answered_with_a_function_of_it(tmp_path: Path) -> None:
    path = tmp_path / "loop.py"
    path.write_text("import math\n\ndef total(xs):\n    return 0\n\ndef other(xs):\n    return 1\n")
    done = CliRunner().invoke(scan, ["lift", str(path)])
    assert done.exit_code == 2 and f"Name the function after a colon, such as {path}:total." in done.stderr
    path.write_text("no Python (")
    done = CliRunner().invoke(scan, ["lift", str(path)])
    assert done.exit_code == 2 and "Name the function after a colon.\n" in done.stderr


@pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")
def test_tune() -> None:
    code, line = lines("tune", f"{LOOPS}:total", "--n", "64", "--top", "2")
    assert code == 0
    ranked = line["ranked"]
    assert isinstance(ranked, list) and ranked[0]["by"] == "counts"
    assert {"shuffles", "shared memory"} <= {row["variant"] for row in ranked}
    assert {"none", "padding", "xor", "table", "registers"} == {row["layout"] for row in ranked}
    assert ranked[0]["cycles"] <= ranked[1]["cycles"]


def test_bench_cases() -> None:
    assert len(set(scan_bench.NAMES)) == len(scan_bench.NAMES)
    assert {name.partition("/")[0] for name in scan_bench.NAMES} == {
        "table1",
        "lift",
        "refuse",
        "accept",
        "network",
        "families",
        "unbounded",
        "executed",
    }
    assert set(scan_bench.select("lift/max_*")) < set(scan_bench.NAMES)
    for name in ("table1/bk3-8", "lift/total", "refuse/decay", "accept/affine_maps", "network/knowles-1248", "network/bk3"):
        line = scan_bench.measure(name)
        assert line["as_expected"], line
        assert line["case"] == name and scan_bench.columns(line)


def test_tune_asks_for_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def told(*_: object, form: ScanForm, is_exclusive: bool, **__: object) -> object:
        asked.append((str(form), is_exclusive))
        raise UserError(Diagnostic("ASKED", "enough"))

    monkeypatch.setattr("warploom.tools.scan.tune.tune", told)
    for options in ((), ("--backward", "--exclusive"), ("--segmented",)):
        lines("tune", f"{LOOPS}:total", *options)
    assert asked == [("forward", False), ("backward", True), ("segmented (heads)", False)]


def test_a_result_that_may_be_none_says_what_to_return_instead(tmp_path: Path) -> None:
    text = (
        "def decay(xs: list[float]):\n    avg = None\n    for x in xs:\n        avg = x if avg is None else 0.9 * avg + 0.1 * x\n"
    )
    path = tmp_path / "decay.py"
    path.write_text(f"{text}    return avg\n")
    done = CliRunner().invoke(scan, ["emit", str(path), "--target", "numpy"])
    assert done.exit_code == 2 and "got a result that may be None\n  fix: Return a number where the list is empty" in done.output
    path.write_text(f"{text}    return 0.0 if avg is None else avg\n")
    assert CliRunner().invoke(scan, ["emit", str(path), "--target", "numpy", "--no-check"]).exit_code == 0
