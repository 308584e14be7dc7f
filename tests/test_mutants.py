"""The tool that plants bugs: what its rules make of small texts, and that it tells a bug that is noticed from one that is not."""

import json
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from benchmarks.mutants import switch
from benchmarks.mutants.__main__ import main
from benchmarks.mutants.equivalent import EQUIVALENT
from benchmarks.mutants.page import ending, page, recorded
from benchmarks.mutants.provers import PROVERS, is_prover
from benchmarks.mutants.refusals import refusals
from benchmarks.mutants.rules import mutants
from benchmarks.mutants.scratch import BrokenTestsError, Scratch, reach
from benchmarks.mutants.sites import Site, Text, applied, read, source_files

PATH = "src/warploom/terms/small.py"


def planted(body: str) -> set[tuple[str, str]]:
    text = Text(PATH, f"def f(a, b, c):\n    {body}\n".encode())
    return {(s.rule, applied(text.data, [s.edit]).decode().splitlines()[1].strip()) for s in mutants(text)}


@pytest.mark.parametrize(
    ("body", "rule", "changed"),
    [
        ("return a < b", "comparison", "return (a) <= (b)"),
        ("return a in b", "comparison", "return (a) not in (b)"),
        ("return a and b", "connective", "return ((a))"),
        ("return a and b", "connective", "return ((b))"),
        ("return not a", "negation", "return (a)"),
        ("return a.inf", "negation", "return (-a.inf)"),
        ("return a & b", "arithmetic", "return (a)"),
        ("a -= b", "arithmetic", "a += (b)"),
        ("return a[3]", "constant", "return a[4]"),
        ("return min(a, b)", "extremum", "return max(a, b)"),
        ("return range(a)", "range", "return range((a) - 1)"),
        ("return {'x': a, 'y': b}", "row", "return {'x': b, 'y': a}"),
        ("if a: return b", "check", "if False: return b"),
        ("a.add(b)", "statement", "pass"),
    ],
)
def test_each_rule_plants_its_bug(body: str, rule: str, changed: str) -> None:
    assert (rule, changed) in planted(body)


@pytest.mark.parametrize(
    "body", ["raise ValueError(a < b)", "assert a < b", "return f'{a + b}'", "return UserError(a + b)", "a: int | b"]
)
def test_messages_and_types_are_left_alone(body: str) -> None:
    assert not planted(body)


REFUSING = """
def f(a, b) -> bool:
    if a:
        return False
    elif b:
        findings.append(a)
    else:
        raise ValueError
    match a:
        case 1:
            raise UserError(
                a
            )
        case _:
            assert_never(a)
    try:
        pass
    except KeyError:
        raise TypeError from None
    if a:
        return True
    return a

def g(a) -> int | None:
    if a: return None
    for x in a:
        if x:
            raise StopSearchError
        yield 1

def h(a) -> Proof | str:
    if a:
        return Proof("unchecked", a)
    if a:
        return Proof("proved", a)
    return "why not" if a else "no"

def l(a) -> Checked:
    if a:
        return Checked(a, "unknown", "unchecked")
    return Checked(a, "solved", "proved")

def i(a) -> bool:
    match a:
        case 1:
            return True
        case _:
            return False

def j(a) -> int | None:
    try:
        return a.b
    except KeyError:
        return None
    except TypeError:
        match a:
            case 1:
                return None

def k(a) -> bool:
    for x in a:
        try:
            x.y
        except KeyError:
            return False
    return True
"""


def test_refusing_branches() -> None:
    assert [(s.scope, s.before.split("\n")[0], s.edit.text) for s in refusals(Text(PATH, REFUSING.encode()))] == [
        ("f", "a", "False"), ("f", "b", "False"), ("f", "raise ValueError", "pass"), ("f", "raise UserError(", "pass"),
        ("f", "raise TypeError from None", "pass"), ("g", "a", "False"), ("h", "a", "False"),
        ("l", "a", "False"), ("i", "return False", "return True"), ("j", "return None", "raise"), ("k", "return False", "pass"),
    ]  # fmt: skip


def test_a_switch_that_is_on_does_what_the_edit_does(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "def f(a, b):\n    a += 1\n    if a > b or not b:\n        return min(a,\n            b)\n"
        "    known = [a]\n    if known.pop() > b:\n        return 3\n    return a - b - len(known)\n"
    )
    text = Text(PATH, source.encode())
    sites = mutants(text)
    assert {s.form for s in sites} == {"condition", "expression", "statement"}
    monkeypatch.setitem(__import__("sys").modules, "warploom_switch", switch)
    arguments = [(0, 0), (1, 2), (3, 1), (2, 3)]
    plain = answers(source, arguments)
    for number, site in enumerate(sites):
        switched = applied(text.data, [site.switched(text.data, number)]).decode()
        monkeypatch.setattr(switch, "active", -1)
        assert answers(switched, arguments) == plain, site.key
        monkeypatch.setattr(switch, "active", number)
        assert answers(switched, arguments) == answers(applied(text.data, [site.edit]).decode(), arguments), site.key


def answers(source: str, arguments: list[tuple[int, int]]) -> list[int]:
    names: dict[str, Any] = {}
    exec(source, names)
    function: Callable[[int, int], int] = names["f"]
    return [function(*given) for given in arguments]


def test_a_bug_that_no_test_notices_is_told_from_one_that_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small repository: its test looks at one of two comparisons, in a child process as well."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = tmp_path / "repository"
    for folder in ("src/warploom/terms", "tests"):
        (root / folder).mkdir(parents=True)
    (root / "src/warploom/__init__.py").write_text("")
    (root / "src/warploom/terms/__init__.py").write_text("")
    (root / PATH).write_text("def f(a, b):\n    return a < b\n\n\ndef g(a, b):\n    return a < b\n")
    (root / "tests/test_small.py").write_text(
        "import subprocess, sys\n"
        "CODE = 'import sys; from warploom.terms.small import f; sys.exit(f(1, 1))'\n"
        "def test_f():\n    assert subprocess.call([sys.executable, '-c', CODE]) == 0\n"
        "def test_g():\n    from warploom.terms.small import g\n    assert g(1, 2)\n"
    )
    from benchmarks.mutants.__main__ import behind_switches, for_good

    text = Text(PATH, (root / PATH).read_bytes())
    sites: dict[int, Site] = {n: s for n, s in enumerate(mutants(text)) if s.rule == "comparison"}
    known = reach(root, sites.values(), jobs=1)
    assert known.failed == ()
    copy = Scratch(root, tmp_path)
    one = {s.scope: for_good(copy, s, [*known.seconds])["noticed_by"] for s in sites.values()}
    copy.plant_switches(sites)
    rows = [json.loads(json.dumps(row)) for row in behind_switches(copy, sites, known)]
    assert {r["scope"]: r["noticed_by"] for r in rows} == one == {"f": "tests/test_small.py::test_f", "g": ""}


def test_tests_that_cannot_be_collected_stop_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "src").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_broken.py").write_text("import a_module_that_is_missing\n")
    with pytest.raises(BrokenTestsError, match=r"(?s)expected tests that can be collected .*a_module_that_is_missing"):
        reach(tmp_path, (), jobs=1)


def test_branches_that_are_gone_leave_the_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (site,) = refusals(Text(PATH, b"def f(x: int) -> bool:\n    if x:\n        return False\n    return True\n"))
    row = {"record": "site", "key": site.key, "package": "terms", "noticed_by": "tests/test_x.py::test_f"}
    out = tmp_path / "rows.jsonl"
    out.write_text("".join(json.dumps({**row, "key": key}) + "\n" for key in ("a branch that is gone", site.key)))
    monkeypatch.setattr("benchmarks.mutants.__main__.all_refusals", lambda root: [site])
    monkeypatch.setattr("sys.argv", ["mutants", "--refusals", "--out", str(out)])
    assert main() == 0
    assert [r["key"] for r in map(json.loads, out.read_text().splitlines()) if r["record"] == "site"] == [site.key]


ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"


def test_each_pattern_of_provers_names_a_module() -> None:
    paths = source_files(ROOT)
    assert [p for p in PROVERS if not any(fnmatch(path, p) for path in paths)] == []


def test_each_refusing_branch_of_the_provers_was_noticed() -> None:
    """A new branch needs a test in which it alone refuses, and a row in the record (`make refusals`)."""
    rows = {str(row["key"]): row for row in recorded(RESULTS / "refusals.jsonl")}
    places = [site for path in source_files(ROOT) if is_prover(path) for site in refusals(read(ROOT, path))]
    assert places
    told = [s for s in places if s.key not in EQUIVALENT and (s.key not in rows or ending(rows[s.key]) != "noticed")]
    assert [f"{s.path}:{s.line}: no recorded test notices that {s.scope} goes on where `{s.before}`" for s in told] == []


def test_the_page_is_what_was_recorded(golden: Callable[[Path, str], None]) -> None:
    golden(ROOT / "docs" / "checks.md", page(RESULTS))


def test_functions_with_switches_in_them_run_as_python(tmp_path: Path) -> None:
    """They are no C any more: translated, every test would fail, whatever the bug."""
    (tmp_path / "root/src").mkdir(parents=True)
    (tmp_path / "root/tests").mkdir()
    looked = tmp_path / "root/tests/test_looked.py"
    looked.write_text("import os\ndef test_it():\n    assert os.environ.get('WARPLOOM_NO_MACHINE_CODE') == '1'\n")
    copy = Scratch(tmp_path / "root", tmp_path)
    options = ["-p", "no:xdist", "-p", "no:hypothesispytest"]
    assert copy.run(["tests"], limit_s=60, variables={}, options=options).failed
    copy.write("src/one.py", b"from warploom.solve.jit import compiled\n")
    assert copy.run(["tests"], limit_s=60, variables={}, options=options).failed == ()
