"""Loops and operators that nobody means: each ends with a place or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from warploom import scan
from warploom.core import UnsupportedError, UserError
from warploom.scan.emit.cuda import cuda_scan
from warploom.scan.operators import expression as ex
from warploom.scan.operators import family


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "given.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_number_of_many_bits_has_no_value() -> None:
    with pytest.raises(ex.UndefinedError, match="more than 8192 bits"):
        ex.constant(1 << 8192)
    with pytest.raises(ex.UndefinedError, match="more than 8192 bits"):
        ex.multiply(ex.constant(1 << 8191), ex.add(ex.variable("x", ex.INT), ex.constant(1 << 2)))
    assert ex.constant((1 << 8192) - 1).op == "const"


def test_a_loop_whose_states_keep_nothing_is_lifted(tmp_path: Path) -> None:
    text = "def f(xs: list[int]):\n    a = 3\n    b = -1\n    for x in xs:\n        a = a\n    return b\n"
    assert scan.lift(scan.read_loop(scan.read_module(_file(tmp_path, text)), "f")).verdict == "proved"


def test_a_function_that_does_not_run_is_the_users(tmp_path: Path) -> None:
    path = _file(tmp_path, "def f(a: int, b: int) -> int:\n    return a + b + helper(a)\n\n\ndef helper(x):\n    return x\n")
    module = scan.read_module(path)
    binary = scan.read_binary(module, "f")

    def broken(a: object, b: object) -> object:
        raise TypeError("tuple indices must be integers")

    with pytest.raises(UserError, match=r"running f on .* raised TypeError: tuple indices must be integers"):
        scan.check(binary, broken)


def test_samples_that_no_float_holds_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(*_: object) -> object:
        def overflowing(*_: object) -> object:
            raise OverflowError("int too large to convert to float")

        return overflowing if len(made) % 2 else lambda *values: values

    made: list[object] = []

    def counted(*given: object) -> object:
        found = compiled(*given)
        made.append(found)
        return found

    module = scan.parse_module("def f(xs: list[float]):\n    t = 0.0\n    for x in xs:\n        t += x\n    return t\n")
    operator = scan.lift(scan.read_loop(module, "f")).operator
    assert operator is not None
    lifted = family.Family(operator.loop, (), {}, {}, {})
    monkeypatch.setattr(family, "compiled", counted)
    assert all(len(o.elements) < 2 for o in family.observations(lifted))


def test_an_operator_without_fields_is_not_printed_as_cuda() -> None:
    module = scan.parse_module(
        "def f(xs: list[int]):\n    best = 1e999\n    for x in xs:\n        best = max(best, x)\n    return best\n"
    )
    operator = scan.lift(scan.read_loop(module, "f")).operator
    assert operator is not None
    with pytest.raises(UnsupportedError, match="carries nothing"):
        cuda_scan(operator)


def test_an_operator_that_numbers_beyond_floats_stop_is_not_known() -> None:
    """Its neutral element is an infinity, which Python cannot add to such a number."""
    text = (
        "def f(xs: list[int]):\n    peak, worst = 1 << 1024, 0\n    for x in xs:\n        peak = max(peak, x)\n"
        "        worst = max(worst, peak - x)\n    return worst\n"
    )
    made: dict[str, object] = {}
    exec(text, made)
    found = scan.lift(scan.read_loop(scan.parse_module(text), "f"), made["f"])
    assert (found.status, found.verdict) == ("unknown", "unchecked")
    assert "the operator raises OverflowError" in found.reason


def test_a_loop_that_does_not_run_is_the_users() -> None:
    module = scan.parse_module("def f(xs: list[int]):\n    t = 0\n    for x in xs:\n        t += x\n    return t\n")

    def broken(xs: object) -> object:
        raise TypeError("'int' object is not iterable")

    found = scan.lift(scan.read_loop(module, "f"), broken)
    assert (found.status, found.verdict) == ("unknown", "unchecked")
    assert found.reason.endswith("the function itself raises TypeError: 'int' object is not iterable")
