"""Machine code kept between runs is never older than its sources, in whichever file they changed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numba.core import config

from warploom.schedule import jit
from warploom.schedule.bound import reader
from warploom.schedule.jit import announced, digest_of, entry
from warploom.schedule.space.engine import propagation
from warploom.schedule.space.engine.domains import is_single

INNER = """
from warploom.schedule.jit import compiled

@compiled
def scaled(number):
    return FACTOR * number
"""
OUTER = """
from kept_package.inner import scaled
from warploom.schedule.jit import digest_of, entry

def _entries(sources):
    @entry
    def total(numbers):
        _ = sources
        result = 0
        for n in range(numbers.shape[0]):
            result += scaled(numbers[n])
        return result

    return total

total = _entries(digest_of(__file__))
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "kept_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "outer.py").write_text(OUTER)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    yield folder
    forget()


def forget() -> None:
    """As a new process."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "kept_package"]:
        del sys.modules[name]
    importlib.invalidate_caches()


def run(folder: Path, factor: int) -> tuple[int, int]:
    """What the package computes, and how often compilation was announced."""
    (folder / "inner.py").write_text(INNER.replace("FACTOR", str(factor)))
    forget()
    outer: ModuleType = importlib.import_module("kept_package.outer")
    calls: list[None] = []
    with announced(lambda: calls.append(None)):
        result = int(outer.total(np.arange(4)))
    return result, len(calls)


def test_an_edited_callee_is_compiled_again(package: Path) -> None:
    assert run(package, 1) == (6, 1)
    assert run(package, 1) == (6, 0)
    assert run(package, 2) == (12, 1)
    assert run(package, 2) == (12, 0)
    assert run(package, 1) == (6, 0)
    assert {p.suffix for p in (package / "__pycache__").iterdir()} == {".nbi", ".nbc"}


def test_without_a_folder_nothing_is_kept(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_LOCATOR_CLASSES", "IPythonCacheLocator")
    assert run(package, 3) == (18, 1)
    assert run(package, 3) == (18, 1)
    assert not (package / "__pycache__").exists()


def test_entries_are_bound_to_their_sources() -> None:
    def plain(number: int) -> int:
        return number

    with pytest.raises(ValueError, match=r"^expected a closure over the digest of its sources, got .*plain$"):
        entry(plain)


def test_inner_functions_cannot_be_called_from_python() -> None:
    with pytest.raises(TypeError, match=r"^expected a call of is_single from compiled code, got one from Python"):
        is_single(np.uint64(1))


@pytest.mark.parametrize("module", [propagation, reader], ids=["space", "bound"])
def test_only_entries_are_kept(module: ModuleType) -> None:
    assert module.__file__ is not None
    digest = digest_of(module.__file__)
    package = module.__name__.rpartition(".")[0]
    kept = set()
    for name, one in list(sys.modules.items()):
        if name.startswith(package):
            for function in vars(one).values():
                if hasattr(function, "py_func") and function.targetoptions.get("no_cpython_wrapper") is None:
                    assert [c.cell_contents for c in function.py_func.__closure__] == [digest]
                    kept.add(function.py_func.__name__)
                elif hasattr(function, "py_func"):
                    assert "NullCache" in type(function._cache).__name__
    assert kept
    assert digest_of(jit.__file__) != digest
