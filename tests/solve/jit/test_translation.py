"""Python outside of the subset is refused with its place; an index outside of its array can be told."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from tests.solve.jit.functions import mixture

from warploom.schedule.cpu import build_library
from warploom.solve.jit.entries import FLAGS
from warploom.solve.jit.translation import c_text

HEAD = """
from typing import NamedTuple
import numpy as np
from numpy.typing import NDArray
from warploom.solve.jit import compiled
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
class Pair(NamedTuple):
    a: Ints
    n: int
@compiled
def several(a: int) -> tuple[int, int]:
    return a, a
@compiled
def of_float(x: float) -> float:
    return x
@compiled
def of_row(row: Ints) -> int:
    return row[0]
@compiled
def nothing(a: Ints) -> None:
    a[0] = 1
"""
REFUSED = {
    "statement": ("a: int) -> int", "with a:\n    pass\n  return a", "a statement of the compiled subset"),
    "expression": ("a: int) -> int", "return [a][0]", "an element of an array"),
    "lambda": ("a: int) -> int", "return (lambda: a)", "an expression of the compiled subset"),
    "global text": ("a: int) -> int", "return a + __name__", "an expression of the compiled subset"),
    "function": ("a: int) -> int", "return sum(a)", "a function of the compiled subset"),
    "one type": ("a: Words) -> int", "b = 1\n  b = a[0]\n  return b", r"one type of the variable \(INT, now WORD\)"),
    "values": ("a: Words, b: int) -> int", "return b + a[0]", r"two values of one type \(INT and WORD\)"),
    "branches": ("a: Words, b: int) -> int", "c = b if b else a[0]\n  return c", "two values of one type"),
    "truth": ("a: bool) -> int", "return a + a", "operands other than TRUTH"),
    "float bits": ("a: float) -> float", "return a & a", "operands other than FLOAT"),
    "words divided": ("a: Words) -> int", "b = a[0] // a[0]\n  return 1", "operands other than WORD"),
    "power": ("a: int) -> int", "return a ** a", "a float to a constant power"),
    "negative word": ("a: Words) -> bool", "return a[0] == -1", "two values of one type"),
    "wider constant": ("a: int) -> int", "return a + 18446744073709551616", "a constant of 64 bits, got 18446744073709551616"),
    "float index": ("a: Ints, x: float) -> int", "return a[x]", "indices of type INT"),
    "stored": ("a: Ints, x: float) -> int", "a[0] = x\n  return 1", "a value of type INT"),
    "result": ("x: float) -> int", "return x", "a result of type Number.INT"),
    "several": ("a: int) -> int", "return several(a)", "a call with one result"),
    "one of several": ("a: int) -> int", "b, c = of_float(1.0)\n  return b", "a call with several results"),
    "argument": ("a: Words) -> float", "return of_float(a[0])", "an argument of type Number.FLOAT"),
    "array argument": ("a: int) -> int", "return of_row(a)", "an array"),
    "items": ("a: Ints) -> int", "for n in a:\n    return n\n  return 1", "a range, or a tuple"),
    "axes": ("a: Ints) -> int", "return a[0] + a[0, 1]", "1 axes of a, got 2"),
    "untyped": ("a: int) -> int", "b = c\n  c = b\n  return b", "types of all variables"),
    "attribute": ("p: Pair) -> int", "p.n = 1\n  return 1", "a variable or an element of an array"),
    "annotation": ("a: str) -> int", "return 1", "a number, an array of numbers or a named tuple"),
    "minimum": ("a: Words) -> int", "b = min(a[0], a[1])\n  return 1", "a function of the compiled subset"),
    "negated": ("a: Words) -> int", "b = -a[0]\n  return 1", "an expression of the compiled subset"),
    "inverted": ("a: float) -> float", "return ~a", "an expression of the compiled subset"),
}


def function_of(folder: Path, head: str, body: str) -> object:
    file = folder / "given.py"
    file.write_text(f"{HEAD}@compiled\ndef given({head}:\n  {body}\n")
    spec = importlib.util.spec_from_file_location("given", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.given


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_subset_does_not_know_is_refused(name: str, tmp_path: Path) -> None:
    head, body, expected = REFUSED[name]
    from warploom.solve.jit import unit

    unit._functions_of.cache_clear()
    with pytest.raises(TypeError, match=f"expected {expected}"):
        c_text([function_of(tmp_path, head, body)])


def test_an_index_outside_of_its_array_ends_the_checked_program(tmp_path: Path) -> None:
    """In a process of its own."""
    from warploom.solve.jit import unit

    unit._functions_of.cache_clear()
    text = c_text([function_of(tmp_path, "a: Ints, n: int) -> int", "return a[n]")], is_checked=True)
    library = build_library(text, flags=FLAGS, folder=tmp_path)
    assert ctypes.CDLL(str(library)).given_given is not None
    program = (
        "import ctypes, sys; f = ctypes.CDLL(sys.argv[1]).given_given; a = (ctypes.c_int64 * 2)(5, 6); "
        "f.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64]; print(f(ctypes.addressof(a), 2, int(sys.argv[2])))"
    )
    for index, expected in ((1, "6"), (2, "given_given:"), (-1, "given_given:")):
        done = subprocess.run([sys.executable, "-c", program, library, str(index)], capture_output=True, text=True)
        assert expected in done.stdout + done.stderr and (done.returncode == 0) == (index == 1)


def test_the_same_text_every_time() -> None:
    assert c_text([mixture.function]) == c_text([mixture.function])
