"""The README's example does what the README says."""

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from warploom.gpu import cuda_source
from warploom.ir.dataflow import Gathered, named_statements, parse_program, program_text
from warploom.sketch import load
from warploom.synth import Report, complete
from warploom.synth.dataflow import machine_counts, solve_program
from warploom.tools.cli import cli
from warploom.tools.pages.picture import picture
from warploom.tools.pages.trace import trace
from warploom.tools.synth.report import hole_texts

ROOT = Path(__file__).parents[1]
README = Path("README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.M | re.S)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, dict[str, str], str]:
    """The example's report, its completions as text, and its CUDA."""
    path = tmp_path_factory.mktemp("readme") / "example.py"
    code = blocks("python")[0]
    path.write_text(code)
    (sketch,) = load(path)
    found = complete(sketch)
    holes = found.completions[0].holes
    return found, hole_texts(sketch.kernel, holes), cuda_source(sketch.kernel, holes).text


def test_the_example_is_solved_as_printed(report: tuple[Report, dict[str, str], str]) -> None:
    found, holes, _ = report
    assert f"{found.case}: {found.status}, {found.verdict} over {found.domain}" in README
    printed = dict(re.findall(r"^   (swizzle\d)\s+(.*)$", README, re.M))
    assert printed == holes


def test_the_cuda_is_as_printed(report: tuple[Report, dict[str, str], str]) -> None:
    (cuda,) = blocks("cuda")
    assert cuda in report[2]


def test_the_example_is_the_file_that_the_commands_name() -> None:
    code = blocks("python")[0]
    text = Path("examples/conv1d.py").read_text(encoding="utf-8")
    body = code[code.index("@wl.sketch") :]
    assert body in text


def test_the_picture_is_what_the_command_draws(golden: Callable[[Path, str], None]) -> None:
    (sketch,) = load("examples/conv1d_8_lanes.py")
    holes = complete(sketch).completions[0].holes
    golden(Path("docs/conv1d.svg"), picture(sketch.kernel, holes, trace(sketch.kernel, holes, sketch.complete_at)))


def test_the_dataflow_program_is_solved_as_printed() -> None:
    (text,) = blocks("swflow")
    program = parse_program(text)
    example = Path("examples/dataflow/transpose_8x3.swflow").read_text(encoding="utf-8")
    assert program_text(program) == program_text(parse_program(example))
    (solution,) = solve_program(program, goal="best").solutions.first(1)
    choices = {name: s.value.choices for name, s in named_statements(program) if isinstance(s.value, Gathered)}
    printed = dict(re.findall(r"^   (s\d)\s+(.*)$", README, re.M))
    assert printed == {name: choices[name].text(member.expr) for name, member in solution.members.items()}
    gathers = {name: choices[name].gather(member.table.astype(int)) for name, member in solution.members.items()}
    counts = "".join(f"{count} {name}, " for name, count in machine_counts(program, gathers).items())
    assert f"{counts}cost {solution.cost}, none is cheaper" in README


def test_the_program_in_python_runs(tmp_path: Path) -> None:
    (code,) = (block for block in blocks("python") if "wl.lift(" in block)
    path = tmp_path / "program.py"
    path.write_text(code)
    (tmp_path / "conv1d.py").write_text(blocks("python")[0])
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("solved proved (lane + k) % 32\nsolved proved integers\n", "")
    assert "__shfl_sync" in (tmp_path / "conv1d.cu").read_text() and "def operator" in (tmp_path / "largest_fall.py").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("word", "printed"), [("wl.scanned(", "6\n"), ("@wl.jit", "(3, 5)\n")])
def test_calls_from_numpy_print_what_stands_beside_them(word: str, printed: str, tmp_path: Path) -> None:
    (code,) = (block for block in blocks("python") if word in block)
    assert f"# {printed}" in code
    (tmp_path / "program.py").write_text(code)
    (tmp_path / "maximum_segment.py").write_text(blocks("python")[1])
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (printed, "")


def test_the_table_names_every_command() -> None:
    table = README.partition("## Commands")[2].partition("Exit codes")[0]
    rows = [set(re.findall(r"[a-z][a-z-]+", row.split(" | ")[0])) for row in table.splitlines() if row.startswith("| `warploom")]
    for name in cli.list_commands(click.Context(cli)):
        found = cli.get_command(click.Context(cli), name)
        assert found is not None
        if found.hidden:
            continue
        inner = found.list_commands(click.Context(found)) if isinstance(found, click.Group) else [name]
        named = set[str]().union(*(row for row in rows if name in row))
        assert set(inner) <= named, (name, set(inner) - named)


def test_links() -> None:
    """They lead to what is here, and on a package index to the project's home."""
    project = tomllib.loads(Path("pyproject.toml").read_text())
    home = project["project"]["urls"]["Source"]
    whole = README
    for change in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        whole = re.sub(change["pattern"], change["replacement"], whole)
    links = [re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", text) for text in (README, whole)]
    headings = {re.sub(r"[^a-z0-9 ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", README, re.M)}
    for (bang, target), (_, url) in zip(*links, strict=True):
        if target.startswith("#"):
            assert target[1:] in headings and url == f"{home}{target}", target
            continue
        begin = f"{home.replace('github.com', 'raw.githubusercontent.com')}/main/" if bang else f"{home}/blob/main/"
        assert Path(target).exists() and url == f"{begin}{target}", target


def test_the_loop_is_lifted_as_printed() -> None:
    loop = blocks("python")[1]
    assert loop in Path("examples/scan/maximum_segment.py").read_text(encoding="utf-8")
    done = CliRunner().invoke(cli, ["scan", "lift", "examples/scan/maximum_segment.py:mss"])
    _, _, printed = done.stdout.partition("\n")
    assert printed in README


def test_the_blur_is_proved_as_printed() -> None:
    (command,) = re.findall(r"^\$ \.venv/bin/warploom (ptx prove (?:.*\\\n)*.*)$", README, re.M)
    done = CliRunner().invoke(cli, shlex.split(command.replace("\\\n", " ")))
    assert done.exit_code == 0
    assert done.stdout.partition("  (")[0] in README


@pytest.mark.slow
def test_every_command_prints_what_stands_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines below a command are lines of what it prints, in order; searches get less time here."""
    (kernel,) = (block for block in blocks("python") if "@wl.tensor" in block)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "my_kernel.py").write_text(kernel)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    ran = 0
    for block in blocks("console"):
        for told, expected in re.findall(r"^\$ \.venv/bin/warploom ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", block, re.M):
            words = shlex.split(told.replace("\\\n", " "), comments=True)
            if words[:2] in (["explore", "my_kernel.py"], ["explore", "matmul"]):  # else they search for a minute
                words = [*(word for word in words if word not in ("--budget", "60s")), "--budget", "4s"]
            done = CliRunner().invoke(cli, words)
            assert done.exit_code == (words[0] == "lint"), (told, done.output)
            printed = iter(done.output.splitlines())
            for line in filter(None, expected.splitlines()):
                assert any(found.partition("  (")[0] == line or found.startswith(line) for found in printed), (told, line)
            ran += 1
    assert ran >= 8
