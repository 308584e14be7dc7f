"""The command line as a script sees it: streams, lines, exit codes, files."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from tests.tools.contract import lines_of

from warploom.gpu import toolchain_available
from warploom.kernels import NAMES, PROGRAM_NAMES, find, find_program
from warploom.kernels.tensors import TENSOR_KERNELS
from warploom.sketch import Sketch
from warploom.synth import Report, complete
from warploom.tools import cli as cli_module
from warploom.tools.cli import cli
from warploom.tools.command.entry import Commands
from warploom.tools.listing.command import CASES
from warploom.tools.synth import synthesise as synth_command

SKETCH = """
import warploom as wl
from warploom import i32


def spec(x, y):
    for i in range(32):
        y[i] = x[31 - i]


@wl.sketch(spec=spec, block=32)
def reverse(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
    lane = wl.lane_id()
    y[lane] = wl.shfl(x[lane], wl.xform(lane, 32, 0, name="from"))


def impossible_spec(x, y):
    for i in range(32):
        y[i] = x[i] + 1


@wl.sketch(spec=impossible_spec, block=32)
def impossible(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
    lane = wl.lane_id()
    y[lane] = wl.shfl(x[lane], wl.xform(lane, 32, 0))
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


@pytest.fixture
def sketches(tmp_path: Path) -> Path:
    path = tmp_path / "sketches.py"
    path.write_text(SKETCH)
    return path


def test_synth_json(sketches: Path) -> None:
    result = call("synth", f"{sketches}:reverse", "--json")
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0
    assert (line["case"], line["status"], line["verdict"]) == ("reverse", "solved", "proved")
    assert (line["space"], line["optimal_in"], line["accumulates"], line["executed"]) == (1, 3, 0, 0)
    scope = {"lane": 5}
    assert eval(line["holes"]["from"], scope) % 32 == 26
    assert result.stderr == ""


def test_one_line_per_sketch_and_the_worst_exit_code(sketches: Path) -> None:
    result = call("synth", sketches, "--json")
    assert [(line["case"], line["status"]) for line in lines_of(result.stdout)] == [
        ("reverse", "solved"),
        ("impossible", "unsat"),
    ]
    assert result.exit_code == 1


def test_a_file_that_exits_is_one_line_of_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "ends.py"
    path.write_text("raise SystemExit(0)\n")
    result = call("synth", path, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (2, "error")
    assert line["reason"].endswith("ends.py:1:1: IMPORT_FAILED: running the file raised SystemExit: 0")


def test_synth_for_people() -> None:
    result = call("synth", "conv1d-9")
    assert result.exit_code == 0
    assert "conv1d-9: solved, proved over real sums reordered" in result.stdout
    assert "0 if lane >= k else 1" in result.stdout
    assert "optimal up to space 3" in result.stdout


def test_a_proof_at_one_size_only_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    (proved,) = lines_of(call("synth", "conv1d-9", "--json").stdout)
    unlifted = SimpleNamespace(verdict="unchecked", reason="too hard", domain="", diagnostics=(), doubt="")
    monkeypatch.setattr(sys.modules["warploom.synth.proof.judge"], "lift", lambda *_: unlifted)
    (line,) = lines_of(call("synth", "conv1d-9", "--json").stdout)
    assert (line["verdict"], line["proved_at"], line["lift"]) == ("tested", {"n": 128}, "unchecked: too hard")
    assert "domain" not in line and "proved_at" not in proved


def test_one_space_only() -> None:
    result = call("synth", "aos-store-crc-2", "--space", 1, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["unsat_in"]) == (1, "unsat", [1])


def test_smaller_spaces_are_reported() -> None:
    (line,) = lines_of(call("synth", "aos-store-crc-2", "--json").stdout)
    assert (line["status"], line["space"], line["unsat_in"]) == ("solved", 3, [1, 2])


def test_all_solutions(sketches: Path) -> None:
    (line,) = lines_of(call("synth", f"{sketches}:reverse", "--all", "--json").stdout)
    assert line["holes"] in line["solutions"]


def test_budget(sketches: Path) -> None:
    result = call("synth", f"{sketches}:reverse", "--nodes", 0, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (3, "unknown")
    assert "nodes" in line["reason"]


def test_files(tmp_path: Path, sketches: Path) -> None:
    cuda, html, svg, kept = tmp_path / "k.cu", tmp_path / "k.html", tmp_path / "k.svg", tmp_path / "kept"
    files = ("--cuda", cuda, "--html", html, "--svg", svg, "--keep", "ir,cuda,ptx", "--keep-in", kept)
    result = call("synth", f"{sketches}:reverse", *files, "--json")
    (line,) = lines_of(result.stdout)
    assert result.exit_code == 0
    assert "__shfl_sync" in cuda.read_text()
    assert html.read_text().startswith("<!doctype html>")
    assert svg.read_text().startswith("<svg")
    assert line["read_back"] > 0
    assert (kept / "reverse.cu").read_text() == cuda.read_text()
    assert "def reverse(" in (kept / "reverse.ir").read_text()
    if toolchain_available():
        assert (line["local_bytes"], line["spill_bytes"]) == (0, 0)
        assert ".version" in (kept / "reverse.ptx").read_text()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("syntax.py", "x = (\n", r"syntax.py:1:5: error[SYNTAX]"),
        ("empty.py", "x = 1\n", "error[NO_SKETCH]"),
        ("raises.py", "x = 1 // 0\n", "raises.py:1:5: error[IMPORT_FAILED]"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    result = call("synth", tmp_path / name, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (2, "error")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("conv1d-1000", "UNKNOWN_EXAMPLE"),
        ("nowhere.py", "FILE_NOT_FOUND"),
        ("nowhere.py:name", "FILE_NOT_FOUND"),
        ("examples/conv1d.py:other", "UNKNOWN_SKETCH"),
        ("sf/trove-8x3", "UNKNOWN_EXAMPLE"),
        ("examples", "FILE_NOT_FOUND"),
        ("examples/", "FILE_NOT_FOUND"),
        ("examples:reverse", "FILE_NOT_FOUND"),
        ("nowhere.py/a.py", "FILE_NOT_FOUND"),
        ("/proc/self/mem", "FILE_NOT_FOUND"),
    ],
)
def test_bad_targets(target: str, message: str) -> None:
    result = call("synth", target, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (2, "error")
    assert line["reason"].split(": ")[-2].endswith(message) or message in line["reason"]
    assert "<generated>" not in result.stderr


@pytest.mark.parametrize(
    ("target", "fix"),
    [
        ("conv2-d-3", "Did you mean conv2d-"),
        ("conv2d", "Run `warploom explore conv2d`."), ("sf/trove-8x3", "Run `warploom solve sf/trove-8x3`."),
        ("matmul", "Run `warploom explore matmul`."), ("examples", "Name a file in it."), ("%", "All names: `warploom list`"),
    ],
)  # fmt: skip
def test_a_wrong_target_gets_a_way_out(target: str, fix: str) -> None:
    assert f"fix: {fix}" in call("synth", target).stderr


@pytest.mark.parametrize("command", [("solve",), ("synth",), ("explore",)])
def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str]) -> None:
    path = tmp_path / "a.py"
    path.write_text("")
    monkeypatch.setattr("os.access", lambda asked, _: Path(asked) != path)
    result = call(*command, path, "--json")
    assert (result.exit_code, lines_of(result.stdout)[0]["status"]) == (2, "error")
    assert f"{path}:1:1: error[NOT_READ]" in result.stderr


def test_a_sketch_and_a_program_through_pipes(tmp_path: Path) -> None:
    for name, text, command in (("p.py", SKETCH, "synth"), ("p", find_program("sf/l1/trove-crc-3"), "solve")):
        pipe = tmp_path / name
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(text,))
        writer.start()
        target = f"{pipe}:reverse" if command == "synth" else str(pipe)
        (line,) = lines_of(call(command, target, "--json").stdout)
        writer.join()
        pipe.unlink()  # who reads the files of all modules would wait for its end
        assert (line["status"], line["verdict"]) == ("solved", "proved")


@pytest.mark.parametrize("name", ["a b\nc.py", "-dash.py", "c:d.py", os.fsdecode(b"n\xff.py"), "é×.py"])
def test_odd_names_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(SKETCH)
    result = call("synth", "--json", "--cuda", name.replace(".py", ".cu"), "--", f"{name}:reverse")
    (line,) = lines_of(result.stdout)
    assert (line["status"], line["verdict"]) == ("solved", "proved")
    assert "__shfl_sync" in Path(name.replace(".py", ".cu")).read_text()


def test_several_sketches_for_one_file(sketches: Path, tmp_path: Path) -> None:
    result = call("synth", sketches, "--cuda", tmp_path / "k.cu")
    assert result.exit_code == 2
    assert f"fix: Name one: {sketches}:reverse" in result.stderr


@pytest.mark.parametrize("option", ["--cuda", "--html", "--svg"])
@pytest.mark.parametrize("path", ["sketches.py/k", "new/k", "folder"])
def test_a_path_that_cannot_be_written_is_found_before_the_search(
    monkeypatch: pytest.MonkeyPatch, sketches: Path, option: str, path: str
) -> None:
    monkeypatch.setattr(synth_command, "complete", None)
    folder = sketches.parent
    (folder / "folder").mkdir()
    result = call("synth", f"{sketches}:reverse", option, folder / path, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (2, "error")
    assert f"{folder / path}:1:1: error[NOT_WRITTEN]: expected a place to write" in result.stderr
    assert {p.name for p in folder.iterdir()} == {"folder", "sketches.py"}


def test_a_current_folder_that_cannot_be_written(monkeypatch: pytest.MonkeyPatch, sketches: Path) -> None:
    monkeypatch.setattr("os.access", lambda asked, mode: mode == os.R_OK)
    assert call("synth", f"{sketches}:reverse").exit_code == 0
    monkeypatch.setattr(synth_command, "complete", None)
    result = call("synth", f"{sketches}:reverse", "--keep", "ir")
    assert result.exit_code == 2 and ".:1:1: error[NOT_WRITTEN]" in result.stderr


def test_an_answer_that_cannot_be_written_claims_nothing(monkeypatch: pytest.MonkeyPatch, sketches: Path) -> None:
    result = call("synth", f"{sketches}:reverse", "--cuda", "/dev/full", "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"]) == (2, "error", "unchecked")
    assert line["reason"].startswith("solved, but not written: /dev/full:1:1: NOT_WRITTEN: expected a place")


@pytest.mark.parametrize("arguments", [("--budget", "3x"), ("--keep", "sass"), ("--space", "4")])
def test_bad_options(arguments: tuple[str, str]) -> None:
    assert call("synth", "conv1d-3", *arguments).exit_code == 2


def test_a_missing_barrier_is_refused() -> None:
    result = call("synth", "examples/missing_sync.py", "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"], line["verdict"]) == (1, "refused", "refuted")
    assert "missing_sync.py:17:12: error[RACE]" in result.stderr


def test_internal_error(monkeypatch: pytest.MonkeyPatch, sketches: Path) -> None:
    def fault(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(synth_command, "complete", fault)
    result = call("synth", f"{sketches}:reverse", "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (3, "error")
    assert "RuntimeError: broken" in line["reason"]
    assert "Traceback" not in result.stderr
    assert "Traceback" in call("synth", f"{sketches}:reverse", "--debug").stderr


def test_main_never_shows_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fault(**_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(cli_module, "cli", fault)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        with pytest.raises(SystemExit) as stopped:
            cli_module.main()
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
    assert stopped.value.code == 3
    assert "internal error, a bug of Warploom: RuntimeError: broken" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("when", "status"), [("searching", "unknown"), pytest.param(" 1 answers", "solved", marks=pytest.mark.slow)]
)
def test_interrupt_prints_the_best_so_far(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, when: str, status: str) -> None:
    def interrupted(sketch: Sketch, *, progress: synth_command.Progress, **options: Any) -> Report:
        sent: list[str] = []

        def tell(text: str) -> None:
            if when in text and not sent:
                sent.append(text)
                signal.raise_signal(signal.SIGINT)
            progress(text)

        return complete(sketch, progress=tell, **options)

    path = tmp_path / "mult64.py"
    path.write_text("from warploom.kernels import mult64_reg\n\nsketch = mult64_reg()\n")
    monkeypatch.setattr(synth_command, "complete", interrupted)
    result = call("synth", path, "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["status"]) == (130, status)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_before_the_work_begins_has_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(click.Command, "invoke", interrupted)
    result = call("explore", "matmul", "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["case"], line["status"], line["reason"]) == (130, "explore matmul", "unknown", "interrupted")


def library() -> Iterator[dict[str, object]]:
    for name in NAMES:
        example = find(name)
        yield {"case": name, "kind": "sketch", "holes": len(example.sketch.kernel.holes), "notes": example.notes}
    for name in PROGRAM_NAMES:
        yield {"case": name, "kind": "dataflow"}
    for kernel in TENSOR_KERNELS.values():
        yield {"case": kernel.name, "kind": "kernel", "sizes": dict(kernel.sizes)}


def test_the_list_is_the_library(golden: Callable[[Path, str], None]) -> None:
    golden(CASES, "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in library()))


def group_of(name: str) -> Commands:
    group = cli.get_command(click.Context(cli), name) if name else cli
    assert isinstance(group, Commands)
    return group


@pytest.mark.parametrize("name", ["", "bench", "kernels", "ptx", "scan"])
def test_the_list_of_commands_says_what_they_say(name: str) -> None:
    group = group_of(name)
    context = click.Context(group)
    assert not group.commands
    for command, later in group.later.items():
        loaded = group.get_command(context, command)
        assert loaded is not None
        assert later.help == ("" if loaded.hidden else loaded.get_short_help_str(1000))
    assert group.get_command(context, "nonsense") is None


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["-c", "import warploom"], ("numpy", "z3", "click")),
        (["-m", "warploom", "--help"], ("numpy", "z3")),
        (["-m", "warploom", "bench", "--help"], ("numpy", "z3")),
        (["-m", "warploom", "--version"], ("numpy", "z3")),
        (["-m", "warploom", "list"], ("numpy", "z3")),
        (["-m", "warploom.tools.ptxas", "--version"], ("numpy", "z3")),
        (["-m", "warploom", "lint", "--help"], ("z3", "warploom.synth", "warploom.ptx.symbolic")),
        (["-c", "import warploom; warploom.sketch"], ("z3", "numba")),
    ],
)
def test_nothing_heavy_is_imported(arguments: list[str], unwanted: tuple[str, ...]) -> None:
    """Seconds are no test; modules are: what is not imported takes no time."""
    done = subprocess.run([sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "warploom" in imported
    assert not imported & set(unwanted)


def test_list() -> None:
    names = [line["case"] for line in lines_of(call("list", "--json").stdout)]
    assert {"conv1d-3", "mult64-reg", "aos-store-rcr-8", "sf/l3/trove-crc-7", "wall/conv1d-33"} <= set(names)
    text = call("list").stdout
    assert "conv1d-3" in text
    assert "trove-crc-{1,2,3,4,5,7,9}" in text


def test_demo(tmp_path: Path) -> None:
    result = call("demo", "--out", tmp_path)
    assert result.exit_code == 0
    assert "swizzle1: which register a lane offers     = 0 if lane >= k else 1" in result.stdout
    assert "100000 samples: right" in result.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"conv1d.cu", "conv1d.html"}


def test_demo_as_a_line(tmp_path: Path) -> None:
    result = call("demo", "--out", tmp_path / "new", "--json")
    (line,) = lines_of(result.stdout)
    assert (result.exit_code, line["case"], line["verdict"]) == (0, "conv1d", "proved")
    assert "100000 samples: right" in result.stderr


def test_sigterm_is_no_end_of_a_function_of_the_user(tmp_path: Path) -> None:
    """It meets the user's file while that is run."""
    path = tmp_path / "ends.py"
    path.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    for command in (("synth", str(path)), ("scan", "lift", f"{path}:f"), ("explore", f"{path}:f")):
        done = subprocess.run(
            [sys.executable, "-P", "-m", "warploom", *command], capture_output=True, text=True, check=False, env=os.environ
        )
        assert done.returncode == 143 and "RUN_FAILED" not in done.stderr + done.stdout
