"""Kernels with a mistake each, and their twins without it: what is found, and on which line of the CUDA text.

kernels.ptx is what nvcc makes of kernels.cu for sm_90, so that the tests need no compiler; `--update-golden` writes it anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, get_args

import pytest

from warploom.core import UserError, find_tool
from warploom.gpu import toolchain_available
from warploom.ptx.simt.findings import Kind
from warploom.tools.command.usage import Stopwatch
from warploom.tools.lint.findings import Found
from warploom.tools.lint.launched import LintOptions, lint
from warploom.tools.lint.rules import OF_KIND, RULES
from warploom.tools.lint.sources import Compilation, Source

HERE = Path(__file__).parent
CUDA, PTX = HERE / "kernels.cu", HERE / "kernels.ptx"
LINES = CUDA.read_text(encoding="utf-8").splitlines()


class Case(NamedTuple):
    kernel: str
    launch: tuple[str, str]
    arguments: tuple[str, ...]
    expected: list[tuple[str, int]]

    def options(self) -> LintOptions:
        return LintOptions(kernel=self.kernel, launch=self.launch, arguments=self.arguments)


def cases() -> list[Case]:
    """The kernels with their launches and the lines of their mistakes, as the comments of the text say."""
    found: list[Case] = []
    launch: list[str] = []
    for number, line in enumerate(LINES, 1):
        if re.match(r"// \d", line):
            launch = line.split()[1:]
        if match := re.match(r"__global__ void (\w+)", line):
            found.append(Case(match[1], (launch[0], launch[1]), tuple(launch[2:]), []))
        if found and line.startswith((" ", "__global__")):
            found[-1].expected.extend((rule, number) for rule in re.findall(r"WL\d+", line.partition("//")[2]))
    return found


CASES = cases()
OF_PTX = {
    "WL004",
    "WL006",
    "WL008",
    "WL013",
    "WL014",
    "WL015",
    "WL016",
    "WL103",
    "WL104",
    "WL105",
    "WL106",
    "WL201",
    "WL202",
    "WL203",
}
"""Rules that test_lint.py and test_advice.py show in PTX."""
NAMES = "\t.section\t.debug_str\n"
"""Where the names of functions begin, those of the CUDA headers with a hash of the compiler's."""


@pytest.fixture(scope="module")
def whole() -> Source:
    return Source(str(PTX), Compilation())


def met(found: tuple[Found, ...]) -> list[tuple[str, int]]:
    """Errors and warnings; notes are those of test_advice.py."""
    return sorted({(one.rule.id, one.places[-1].line) for one in found if one.level != "note"})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kernel)
def test_every_mistake_is_found_on_its_line_and_no_other(case: Case, whole: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.tools.lint.launched.Source", lambda path, compilation, kernel: whole)
    monkeypatch.setattr("warploom.tools.lint.launched.resources", lambda *_: [])
    linted = lint(str(PTX), case.options(), Stopwatch())
    assert met(linted.found) == sorted(set(case.expected))
    assert case.kernel.endswith("_clean") == (not case.expected)
    is_wrong = any(one.level == "error" for one in linted.found)
    assert linted.outcome.line["status"] == ("refused" if is_wrong else "solved")
    assert linted.outcome.line["verdict"] == ("refuted" if is_wrong else "tested")


def test_the_pairs_cover_the_rules_of_cuda_texts() -> None:
    shown = {rule for case in CASES for rule, _ in case.expected}
    assert len(CASES) == 40 and {rule.id for rule in RULES} - shown == OF_PTX


def test_every_kind_of_the_interpreter_has_a_rule() -> None:
    assert set(OF_KIND) == set(get_args(Kind))


RULES_CU = Path("examples/lint/rules.cu")
"""The kernels that docs/lint.md shows lines of."""


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra cuda")
def test_the_kernels_of_the_docs_show_their_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled once. What else is found there is a warning or a note."""
    whole = Source(str(RULES_CU), Compilation())
    monkeypatch.setattr("warploom.tools.lint.launched.Source", lambda path, compilation, kernel: whole)
    shown = re.findall(r"^// (\d.*)\n__global__ void (\w+)", RULES_CU.read_text(encoding="utf-8"), re.M)
    page = Path("docs/lint.md").read_text(encoding="utf-8")
    assert [name for _, name in shown] == [
        rule.replace("-", "_")
        for rule, text in re.findall(r"^### (\S+)\n((?:(?!###).*\n)*)", page, re.M)
        if "```cuda" in text and rule != "index-overflow"  # of every launch: long_rows
    ]
    for told, name in shown:
        grid, block, *arguments = told.split()
        options = LintOptions(
            kernel=name,
            launch=(grid, block),
            arguments=tuple(a for a in arguments if not a.startswith("--")),
            finds_repeated_loads="--repeated-loads" in arguments,
        )
        found = lint(str(RULES_CU), options, Stopwatch()).found
        rule = name.replace("_", "-")
        assert [one.rule.name for one in found if one.level == "error" or one.rule.name == rule] == [rule]


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra cuda")
def test_a_cuda_file_is_compiled_with_its_host_code(tmp_path: Path, golden: Callable[[Path, str], None]) -> None:
    case = next(case for case in CASES if case.kernel == "inlined")
    linted = lint(str(CUDA), case.options(), Stopwatch())
    assert met(linted.found) == sorted(set(case.expected))
    first = linted.found[0]
    assert [(p.function, p.line) for p in first.places] == [
        ("next(float const*, int)", LINES.index("  return in[i + 1];") + 1),
        ("slope(float const*, int)", LINES.index("  return next(in, i) - in[i];") + 1),
        ("", case.expected[0][1]),
    ]
    try:
        find_tool("nvcc")
    except UserError:
        return
    code = portable(Source(str(CUDA), Compilation()).ptx).partition(NAMES)[0]
    golden(PTX, code + NAMES + PTX.read_text(encoding="utf-8").partition(NAMES)[2])


def portable(ptx: str) -> str:
    """PTX without comments and folders, under the name of the text."""
    named = re.sub(r'(\.file\s+\d+ )"[^"]*/([^"/]+)"', r'\1"\2"', ptx)
    return "".join(f"{line}\n" for line in named.splitlines() if not line.lstrip().startswith("//"))
