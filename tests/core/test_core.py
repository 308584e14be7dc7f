"""Element types and diagnostics."""

import os
from pathlib import Path

import numpy as np
import pytest

from warploom.core import BY_NAME, SCALARS, Diagnostic, Span, UserError, bf16, integer_range, scalar_of, to_numpy
from warploom.core.inputs import require_file
from warploom.core.starting import ROOT, without_current_folder


def test_scalars_of_vectors() -> None:
    found = {t.name: scalar_of(t) for t in BY_NAME.values() if t.lanes > 1}
    assert found and all(s.lanes == 1 and s.bits == BY_NAME[n].bits and s.kind == BY_NAME[n].kind for n, s in found.items())
    assert bf16 not in found.values()
    assert all(scalar_of(t) is t for t in SCALARS)


def test_scalars_are_numpy_types_of_the_same_name() -> None:
    letters = {"i": "int", "u": "uint", "f": "float"}
    for dtype in SCALARS:
        if dtype is bf16:
            assert to_numpy(dtype) == np.float32 and dtype.size_bytes == 2
            continue
        expected = np.dtype(f"{letters[dtype.name[0]]}{dtype.name[1:]}")
        assert to_numpy(dtype) == expected
        assert (dtype.bits, dtype.size_bytes, dtype.is_float) == (8 * expected.itemsize, expected.itemsize, expected.kind == "f")
        if not dtype.is_float:
            assert integer_range(dtype) == (np.iinfo(expected).min, np.iinfo(expected).max)


def test_vectors_have_cudas_sizes() -> None:
    sizes = {"char2": 2, "uchar4": 4, "short4": 8, "int2": 8, "uint4": 16, "longlong2": 16, "float4": 16, "double4": 32}
    assert {name: BY_NAME[name].size_bytes for name in sizes} == sizes


@pytest.mark.parametrize(
    ("end", "carets"),
    [((3, 8), "    ^^^"), ((3, 5), "    ^"), ((4, 2), "    ^^^^^^")],
    ids=["on the line", "empty", "over the end of the line"],
)
def test_carets_stand_under_the_span(end: tuple[int, int], carets: str) -> None:
    span = Span("file.py", 3, 5, *end, "abcdefghij\nklm")
    assert Diagnostic("CODE", "message", span).render().splitlines()[1:] == ["  abcdefghij", f"  {carets}"]


def test_a_span_without_text_has_no_excerpt() -> None:
    assert Diagnostic("CODE", "message", Span("file.py", 3, 5, 3, 8, ""), fix="Do it.").render().splitlines()[1:] == [
        "  fix: Do it."
    ]


def test_notes_have_places_and_excerpts_of_their_own() -> None:
    there = Span("file.py", 7, 2, 7, 4, "uvwxyz")
    assert Diagnostic("CODE", "message", notes=(("the first one", there),)).render().splitlines()[1:] == [
        f"{there}: note: the first one", "  uvwxyz", "   ^^",
    ]  # fmt: skip


def test_files_that_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file.py"
    file.write_text("")
    require_file(file)
    refused = {
        tmp_path / "none.py": "FILE_NOT_FOUND", file / "below.py": "FILE_NOT_FOUND", tmp_path: "got the folder",
        tmp_path / ("x" * 300): "got: File name too long", "a\0b": "got: embedded null",
    }  # fmt: skip
    for path, message in refused.items():
        with pytest.raises(UserError, match=message):
            require_file(path)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.R_OK)  # root may read all files
    with pytest.raises(UserError, match="may not be read"):
        require_file(file)


def test_the_current_folder_leaves_the_search_path_once() -> None:
    for first in ("", "/here"):
        assert without_current_folder([first, "/lib", first], "/here") == ["/lib", first]
    assert without_current_folder(["/lib", ""], "/here") == ["/lib", ""]
    assert without_current_folder(["", "/lib"], ROOT) == ["", "/lib"]
    assert without_current_folder(["", "/lib"], "") == ["/lib"]
    assert without_current_folder([], "/here") == []
