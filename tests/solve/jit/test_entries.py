"""The C computes what the Python functions do; where there is no compiler the functions themselves run."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from tests.solve.jit.functions import Table, mixture

from warploom.core import compiler
from warploom.solve.jit import announced, compiled_seconds, entries
from warploom.solve.jit.entries import Entry


def arguments(seed: int) -> tuple[Table, np.ndarray, np.ndarray, int, float]:
    chance = random.Random(seed)
    rows = np.array([[chance.choice((-2.5, 0.3, 7.0, 0.0)) for _ in range(3)] for _ in range(2)])
    kinds = np.array([chance.randrange(256) for _ in range(4)], np.uint8)
    table = Table(rows, kinds, chance.uniform(-3, 3), chance.randrange(200), chance.random() < 0.5)
    numbers = np.array([chance.randrange(-9, 10) for _ in range(7)], np.int64)
    words = np.array([chance.getrandbits(64) for _ in range(3)], np.uint64)
    return table, numbers, words, chance.randrange(2), chance.uniform(-1, 1)


def plain() -> Entry[..., float]:
    made = Entry(mixture.function)
    made._call = entries._Plain(mixture.function)
    return made


@pytest.mark.parametrize("seed", range(40))
def test_c_does_what_python_says(seed: int) -> None:
    one, other = arguments(seed), arguments(seed)
    assert mixture(*one) == plain()(*other)
    for first, second in zip((*one[0][:2], *one[1:3]), (*other[0][:2], *other[1:3]), strict=True):
        assert np.array_equal(first, second)


@pytest.fixture
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As a new process, with an empty folder of libraries. The function that all tests share is compiled before."""
    mixture(*arguments(0))
    monkeypatch.setattr(entries, "_libraries", {})
    monkeypatch.setattr(compiler, "library_folder", lambda: tmp_path)
    return tmp_path


def new_entry() -> Entry[..., float]:
    return Entry(mixture.function)


def test_compiled_once_and_announced(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    before = compiled_seconds()
    with announced(told.append):
        new_entry()(*arguments(0))
    assert told == [entries._COMPILES] and compiled_seconds() > before
    assert len(list(fresh.glob("*.so"))) == 1
    monkeypatch.setattr(entries, "_libraries", {})
    with announced(told.append):
        new_entry()(*arguments(0))
    assert len(told) == 1 and len(list(fresh.glob("*.so"))) == 1


@pytest.mark.parametrize("case", ["none", "broken", "unwritable", "asked for"])
def test_without_a_compiler_that_works(case: str, fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    match case:
        case "none":
            monkeypatch.setattr("warploom.core.compiler.find_compiler", lambda: None)
        case "broken":
            monkeypatch.setattr(compiler, "the_compiler", lambda: compiler.Compiler(("false",), "none"))
        case "unwritable":
            (fresh / "file").touch()
            monkeypatch.setattr(compiler, "library_folder", lambda: fresh / "file")
        case _:
            monkeypatch.setenv(entries.PLAIN, "1")
    told: list[str] = []
    made = new_entry()
    with announced(told.append):
        assert made(*arguments(1)) == mixture(*arguments(1))
    assert isinstance(made._call, entries._Plain)
    assert told[-1:] == ([] if case == "asked for" else [entries._IS_PLAIN])


@pytest.mark.parametrize(
    ("position", "value"),
    [(1, np.zeros(7, np.int32)), (1, np.zeros((7, 1), np.int64)), (1, np.zeros(14, np.int64)[::2])],
    ids=["type", "axes", "strides"],
)
def test_arrays_that_do_not_fit_are_refused(position: int, value: np.ndarray) -> None:
    given = list(arguments(2))
    given[position] = value
    with pytest.raises(TypeError, match=r"^expected numbers as 1 contiguous axes of int64, got "):
        mixture(*given)


def test_a_number_of_another_type_is_refused() -> None:
    given = list(arguments(2))
    given[3] = 1.5
    with pytest.raises(Exception, match="TypeError"):
        mixture(*given)


def test_read_only_and_empty_arrays_have_an_address() -> None:
    parts = entries._ArrayParts("a", entries.Array(np.dtype(np.int64)), 1)
    kept = np.arange(3)
    kept.flags.writeable = False
    assert parts(kept) == (kept.ctypes.data, 3)
    assert parts(np.zeros(0, np.int64))[1] == 0
