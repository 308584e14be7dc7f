"""Data that one process folds: the loop itself runs over it, block by block of a file's lines."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from warploom import scan
from warploom.core import UserError
from warploom.scan.operators import expression as ex
from warploom.scan.operators.printing import python
from warploom.scan.parallel import chunks, map_reduce, text_lines

LOOPS = {
    "argmax": """def f(xs: list[int]):
    best, at = xs[0], 0
    for i in range(1, len(xs)):
        if xs[i] > best:
            best, at = xs[i], i
    return at
""",
    "mean": """def f(xs: list[float]):
    n = t = 0
    for x in xs:
        n += 1
        t += x
    return t / n if n else 0
""",
    "total": """def f(xs: list[int]):
    t = 0
    for x in xs:
        t += x
    return t
""",
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_lines_of_files(name: str, end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_BLOCK", 16)
    module = scan.parse_module(LOOPS[name])
    serial = scan.user_function(module, "f")
    found = scan.lift(scan.read_loop(module, "f"), serial)
    choose = random.Random(name)
    for count in (1, 7, 40):
        numbers = [choose.randrange(-99, 1000) for _ in range(count)]
        lines = [str(n) for n in numbers]
        lines.insert(choose.randrange(count + 1), "#")
        file = tmp_path / "lines.txt"
        file.write_bytes((end or "\n").join(lines).encode() + end.encode())
        given = text_lines(file, lambda line: None if line == "#" else int(line))
        assert map_reduce(found, given, chunks=5) == serial(numbers)  # type: ignore[operator]


def test_elements_are_checked() -> None:
    module = scan.parse_module("def f(xs: bytes):\n    c = 0\n    for x in xs:\n        c ^= x\n    return c\n")
    found = scan.lift(scan.read_loop(module, "f"), scan.user_function(module, "f"))
    assert map_reduce(found, [1, 255]) == 254
    with pytest.raises(UserError, match="what the loop asserts"):
        map_reduce(found, [1, 256])


def test_extrema_of_names_need_no_call() -> None:
    a, b = (ex.variable(n, ex.INT) for n in "ab")
    assert python(ex.maximum(a, b), without_calls=True) == "a if a >= b else b"
    assert python(ex.minimum(a, ex.add(b, ex.ONE)), without_calls=True) == "min(a, b + 1)"
    assert python(ex.multiply(ex.minimum(a, b), ex.constant(2)), without_calls=True) == "2 * (a if a <= b else b)"
