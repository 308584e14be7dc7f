"""SECURITY.md: what is run, and that nothing else is.

The rest of its sentences, in tests/tools: current folder, children (test_entry.py, test_bench.py), `--install`
(test_ptxas_install.py), answers checked again (test_kept_lines.py, test_solve.py, test_transposes_bench.py), files beside and
renamed (test_files.py); the cache's folder (tests/solve/runs/test_cache.py).
"""

from __future__ import annotations

import ast
import json
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from warploom.core import UserError
from warploom.solve import Journal, ResultCache, read_events
from warploom.tools.cli import cli
from warploom.tools.explore.recorded import read_decisions

SOURCE = Path("src/warploom")
TEXT = Path("SECURITY.md").read_text(encoding="utf-8")
RUNS = {"exec", "eval", "exec_module", "CDLL", "Popen", "run_path", "run_module", "system", "execv", "execvp", "spawnv"}
_NAMES = "|".join((*RUNS, "__import__"))
MAY_RUN = re.compile(rf"\b(?:{_NAMES})\s*\(|\.\s*(?:{_NAMES})\b|\b(?:subprocess|pickle)\s*\.|\b(?:shell|allow_pickle)\s*=")
"""A text without it is not worth reading as a program."""


def can_run(path: Path) -> bool:
    """Whether the file calls something that runs code, or hands it on."""
    text = path.read_text(encoding="utf-8")
    if not MAY_RUN.search(text):
        return False
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in {*RUNS, "__import__"}:
                return True
            case ast.Attribute(value=ast.Name(id="subprocess"), attr="run"):
                return True
            case ast.Attribute(value=ast.Name(id="pickle"), attr="load" | "loads" | "Unpickler"):
                return True
            case ast.Attribute(value=value, attr=name) if name in RUNS and not (name == "eval" and is_model(value)):
                return True
            case ast.keyword(arg="shell" | "allow_pickle", value=ast.Constant(value=True)):
                return True
            case _:
                pass
    return False


def is_model(node: ast.expr) -> bool:
    """`model.eval` asks z3."""
    return isinstance(node, ast.Name) and node.id == "model"


def test_the_table_of_files_that_run_something_is_whole() -> None:
    told = set(re.findall(r"`([\w/]+\.py)`", "".join(line for line in TEXT.splitlines() if line.startswith("| `"))))
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if can_run(path)}
    assert found == told, "SECURITY.md lists the files that can run something"


def test_its_text_is_linked() -> None:
    assert "SECURITY.md" in Path("README.md").read_text(encoding="utf-8")
    assert "SECURITY.md" in Path("docs/limitations.md").read_text(encoding="utf-8")


MARK = "ran_by_warploom"
_seen: list[str] = []
_watching = False


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    if event == "exec" and MARK in repr(getattr(arguments[0], "co_names", "")) + repr(getattr(arguments[0], "co_consts", "")):
        _seen.append(event)
    elif event in ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "pickle.find_class", "ctypes.dlopen"):
        _seen.append(f"{event} {arguments[:1]}")


sys.addaudithook(_hook)


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, (MARK,)


PYTHON = f"__import__('os').system('touch {MARK}')"
ENTRY = f".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {{ ret; }} // {PYTHON}\n"


@pytest.mark.parametrize(
    ("command", "name", "content"),
    [
        (("solve",), "a.swflow", f"x: [4] = {PYTHON}\n"),
        (("solve",), "a.swflow", f"x: [2] = range(0, 2)\ny: [2] = gather(lambda i: {PYTHON}) x\ngoal: [2] = [0, 1]\n"),
        (("solve",), "a.swflow", pickle.dumps(Bomb())),
        (("scan", "network"), "a.txt", PYTHON),
        (("scan", "network"), "a.txt", "o-*\n| |\n" + PYTHON),
        (("ptx", "check"), "a.ptx", ENTRY),
        (("ptx", "run", "--grid", "1", "--block", "1"), "a.ptx", ENTRY),
        (("ptx", "trace"), "a.ptx", ENTRY),
        (("ptx", "check"), "a.ptx", PYTHON),
        (("explore", "axpy", "--size", "n=64", "--target", "sm_80", "--replay"), "a.json", pickle.dumps(Bomb())),
        (("ptx", "run", "a.ptx", "--grid", "1", "--block", "1", "--arg", "0=a.npy", "--kernel"), "a.npy", pickle.dumps(Bomb())),
        (("synth",), PYTHON.replace("/", "_"), ""),
        (("bench", "synth", "--case", "conv1d-1000", "--journal"), "a.journal", PYTHON),
    ],
)
def test_data_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], name: str, content: str | bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.ptx").write_text(ENTRY)
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    watched(lambda: CliRunner().invoke(cli, [*command, name, "--json"]))
    assert not Path(MARK).exists()


def test_caches_journals_and_arrays_are_not_unpickled(tmp_path: Path) -> None:
    for path in (tmp_path / "results", tmp_path / "journal", tmp_path / "a.npy"):
        path.write_bytes(pickle.dumps(Bomb()))

    def read() -> None:
        with ResultCache(tmp_path / "results") as cache:
            assert cache.find("a") is None
        with pytest.raises(Exception, match="JOURNAL_UNUSABLE"):
            Journal(tmp_path / "journal")
        assert read_events(tmp_path / "journal") == ()
        with pytest.raises(ValueError, match="pickle"):
            np.load(tmp_path / "a.npy", allow_pickle=False)
        with pytest.raises(UserError, match="NOT_READ"):
            read_decisions(tmp_path / "results")
        (tmp_path / "decisions").write_text(json.dumps({"decisions": {PYTHON: PYTHON}}))
        assert read_decisions(tmp_path / "decisions").decisions == {PYTHON: PYTHON}

    watched(read)


def watched(act: Any) -> None:
    global _watching
    _seen.clear()
    _watching = True
    try:
        act()
    finally:
        _watching = False
    assert _seen == []


def test_the_watch_sees_what_is_run(tmp_path: Path) -> None:
    for act in (lambda: exec(f"{MARK} = 1"), lambda: pickle.loads(pickle.dumps(Bomb()))):
        with pytest.raises(AssertionError):
            watched(act)
