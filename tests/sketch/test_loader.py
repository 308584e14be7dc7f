"""Sketches of a file, and the decorator's own arguments."""

import os
import re
import sys
from pathlib import Path

import pytest

import warploom as wl
from warploom import f32
from warploom.core import UserError
from warploom.sketch import load, load_variables

FILE = """
from __future__ import annotations
import warploom as wl
from neighbour import K


def spec(x, y):
    for i in range(32):
        y[i] = x[i]


def make(count):
    size = wl.size("m")

    @wl.sketch(block=32, name=f"made{count}")
    def inner(y: wl.Global[wl.f32, size * count]):
        y[count - 1] = wl.literal(wl.f32, K)

    return inner


@wl.sketch(spec=spec, block=32, algebra="max-plus")
def zz(x: wl.Global[wl.f32, K], y: wl.Global[wl.f32, 32]):
    y[wl.lane_id()] = x[wl.lane_id()]


made = make(3)
again = made
"""


@pytest.fixture
def path(tmp_path):
    (tmp_path / "neighbour.py").write_text("K = 32\n")
    file = tmp_path / "sketches.py"
    file.write_text(FILE)
    return file


def test_all_sketches_in_order(path):
    first, second = load(path)
    assert (first.name, first.algebra, first.spec.__name__, first.complete_at) == ("zz", "max-plus", "spec", {})
    assert (second.name, second.spec, second.kernel.sizes) == ("made3", None, ("m",))
    assert first.kernel.span.source.startswith("def zz")
    assert first.kernel.file == str(path)


def test_one_sketch_by_its_name_or_variable(path):
    assert [s.name for s in load(path, "zz")] == ["zz"]
    assert load(path, "made")[0].name == load(path, "made3")[0].name == "made3"


def fails(path, name=None):
    with pytest.raises(UserError) as caught:
        load(path, name)
    (found,) = caught.value.diagnostics
    return found


def test_unknown_name_lists_the_names(path):
    found = fails(path, "yy")
    assert found.code == "UNKNOWN_SKETCH"
    assert re.fullmatch(r".*sketches\.py has no sketch 'yy'; it has: zz, made3", found.message)


def test_files_that_cannot_be_run(tmp_path):
    file = tmp_path / "wrong.py"
    assert fails(file).code == "FILE_NOT_FOUND"
    file.write_text("x = 1\n")
    assert fails(file).code == "NO_SKETCH"
    file.write_text("x = 1\ny = (\n")
    assert (fails(file).code, fails(file).span.line) == ("SYNTAX", 2)
    file.write_text("x = 1\ny = x / 0\n")
    found = fails(file)
    assert (found.code, found.span.line, found.span.column) == ("IMPORT_FAILED", 2, 5)
    assert found.message == "running the file raised ZeroDivisionError: division by zero"
    file.write_text("import warploom as wl\n@wl.sketch(block=1)\ndef f(y: wl.Global[wl.f32, 1]):\n    y[q] = 1\n")
    found = fails(file)
    assert (found.code, found.span.line, found.span.column) == ("UNKNOWN_NAME", 4, 7)


@pytest.mark.parametrize("terms", [20, 3000])
def test_a_sum_of_too_many_terms_is_told_apart_from_functions_that_recurse(tmp_path, terms):
    file = tmp_path / "sums.py"
    text = " + ".join(f"x[{k}]" for k in range(terms))
    head = "import warploom as wl\n@wl.sketch(block=1)\ndef f(x: wl.Global[wl.f32, 3000], y: wl.Global[wl.f32, 1]):\n"
    file.write_text(f"{head}    y[0] = {text}\n")
    if terms == 20:
        assert len(load(file)) == 1
        return
    assert fails(file).code == "NESTED_TOO_DEEPLY"
    file.write_text("def f(n):\n    return f(n + 1)\nf(0)\n")
    assert fails(file).code == "IMPORT_FAILED"


@pytest.mark.parametrize("statement", ["raise SystemExit(0)", "import sys; sys.exit()", "raise GeneratorExit"])
def test_a_file_cannot_end_the_program(tmp_path, statement):
    file = tmp_path / "ends.py"
    file.write_text(f"x = 1\n{statement}\n")
    found = fails(file)
    assert (found.code, found.span.line) == ("IMPORT_FAILED", 2)
    assert "running the file raised " in found.message


def test_an_interrupt_stays_one(tmp_path):
    file = tmp_path / "stops.py"
    file.write_text("raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load(file)


BROKEN = """
import warploom as wl

@wl.sketch(block=1, name="first")
def wrong(y: wl.Global[wl.f32, 1]):
    y[q] = 1

@wl.sketch(block=1)
def good(y: wl.Global[wl.f32, 1]):
    y[0] = wl.literal(wl.f32, 1)

@wl.sketch(block=0)
def other(y: wl.Global[wl.f32, 1]):
    y[0] = wl.literal(wl.f32, 1)
"""


def test_a_wrong_sketch_does_not_stand_in_the_way_of_others(tmp_path):
    file = tmp_path / "mixed.py"
    file.write_text(BROKEN)
    assert [s.name for s in load(file, "good")] == ["good"]
    assert fails(file, "wrong").code == fails(file, "first").code == "UNKNOWN_NAME"
    assert fails(file, "other").code == "LAUNCH"
    assert fails(file, "none").message.endswith("it has: first, good, other")
    with pytest.raises(UserError) as caught:
        load(file)
    assert [d.code for d in caught.value.diagnostics] == ["UNKNOWN_NAME", "LAUNCH"]
    file.write_text(f"{BROKEN}\nk = other.kernel\n")
    with pytest.raises(UserError) as caught:
        load(file, "good")
    assert [d.code for d in caught.value.diagnostics] == ["UNKNOWN_NAME", "LAUNCH", "IMPORT_FAILED"]


def test_the_decorator():
    @wl.sketch(block=(8, 4), grid=2, complete_at={}, name="other")
    def kernel(y: wl.Global[f32, 64]):
        y[wl.global_id()] = wl.literal(f32, 0)

    assert isinstance(kernel, wl.Sketch)
    assert kernel.name == "other"
    assert (kernel.kernel.block, kernel.kernel.threads) == ((8, 4, 1), 32)
    assert hash(kernel) is not None


def test_a_text_that_changed_within_a_second_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    path = tmp_path / "number.py"
    for number in (1, 2):
        path.write_text(f"NUMBER = {number}\n")
        os.utime(path, (1_700_000_000, 1_700_000_000))
        assert load_variables(path)["NUMBER"] == number
