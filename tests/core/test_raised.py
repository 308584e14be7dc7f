"""Where a file of the user's raised."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from warploom.core import raised_at


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("def f():\n    return 1 / 0\n\n\nf()\n", (2, 12)),
        ("import json\n\njson.loads('[')\n", (3, 1)),
        ("x = 1\ndef f(:\n", (2, 7)),
    ],
)
def test_the_innermost_place_in_the_file(tmp_path: Path, text: str, place: tuple[int, int]) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises((ArithmeticError, ValueError, SyntaxError)) as error:
        runpy.run_path(str(file))
    where = raised_at(error.value, file)
    assert where is not None and (where.file, where.line, where.column) == (str(file), *place)
    assert where.source == text.splitlines()[place[0] - 1]
    assert raised_at(error.value, "other.py") is None
