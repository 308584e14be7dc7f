"""Readers that say no where another rule would refuse as well, or nobody writes such a text: each is asked by itself."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.sketch.helpers import problem

import warploom as wl
from warploom.core import UserError, i32
from warploom.ir import Builtin, Compare, HoleArg, IndexConst
from warploom.sketch.loader import load_variables
from warploom.sketch.parser import calls, parse_spec, transfers
from warploom.sketch.parser.functions import apply_function
from warploom.sketch.parser.statements import _has_return  # pyright: ignore[reportPrivateUsage]
from warploom.sketch.ranges import Facts, _UnknownError  # pyright: ignore[reportPrivateUsage]
from warploom.sketch.source import written
from warploom.sketch.term_specs import term_spec

ANY: Any = None
BROKEN = """\
import warploom as wl

@wl.sketch(block=32)
def odd(x: wl.Global[wl.i32, 32], y: wl.Global[wl.i32, 32]):
    y[0] = x[0][0]
"""


def test_files_that_hold_no_variables(tmp_path: Path) -> None:
    for name, text, told in (
        ("odd.py", BROKEN, "data of type i32 has no elements"),
        ("odd.txt", "a = 1", "expected a Python file"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(UserError, match=told):
            load_variables(tmp_path / name)
    (tmp_path / "plain.py").write_text("a = 1")
    assert load_variables(tmp_path / "plain.py")["a"] == 1


def test_what_is_no_function() -> None:
    with pytest.raises(UserError, match="expected a Python function, got <built-in function len>"):
        written(len)
    at: Any = SimpleNamespace(problem=lambda code, told, *_: KeyError(code, told))
    with pytest.raises(KeyError, match="expected a function for finalize"):
        apply_function(at, calls.Static(3), (), ANY, "finalize")


def test_elements_that_are_no_terms() -> None:
    with pytest.raises(UserError):
        term_spec({"y": ["text"]})
    assert term_spec({"y": [3]})


def test_returns_of_inner_functions_are_their_own() -> None:
    inner, outer = ast.parse("def f():\n    return 1\nif a:\n    return 2\n").body
    assert (_has_return(inner), _has_return(outer)) == (False, True)


def test_a_spec_is_a_def() -> None:
    with pytest.raises(UserError, match="expected a `def` as spec"):
        parse_spec(lambda x, y: None, ANY)


def test_accumulators_are_added_to() -> None:
    def stores(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
        a = wl.accumulator(i32, op="+", shape=(2,))
        a[0] = x[0]
        y[0] = a[0].value()

    assert problem(stores).fix == "Write a[i].add(...)."


@pytest.mark.parametrize("operands", ["one", "indices"])
def test_operators_of_fewer_than_two_data(operands: str) -> None:
    plus = wl.operator("plus", lambda a, b: a + b, 0)

    def one(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
        y[0] = plus(x[0])

    def indices(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
        y[0] = plus(1, 2)

    assert problem({"one": one, "indices": indices}[operands]).message == "expected two data operands of 'plus'"


def test_shapes_of_those_that_move_together(monkeypatch: pytest.MonkeyPatch) -> None:
    at: Any = SimpleNamespace(block=(32, 1, 1), warp_size=32, problem=lambda code, *_: KeyError(code))
    args: Any = SimpleNamespace(optional=lambda _: True, node=lambda _: None)
    monkeypatch.setattr(transfers, "lane_expr", lambda _: Builtin("thread_id", 0))
    for shape in ((4, 8), (4, 4), (-4, -8)):
        monkeypatch.setattr(transfers, "_integers", lambda *_, given=shape: given)
        if shape == (4, 8):
            assert transfers._movers(at, args, "warp", 2)[1] == shape
            continue
        with pytest.raises(KeyError, match="SHAPE_MISMATCH"):
            transfers._movers(at, args, "warp", 2)


def test_conditions_that_are_not_known_for_each_thread() -> None:
    def diverges(values: Any, *axes: Any) -> bool:
        def evaluate(_: Any, found: list[object]) -> Any:
            found += axes
            if values is None:
                raise _UnknownError
            return np.array(values)

        at: Any = SimpleNamespace(_evaluate=evaluate)
        return Facts.diverges(at, Compare("<", IndexConst(0), IndexConst(1)))

    thread = Builtin("thread_id", 0)
    assert diverges([True, False], thread) is True
    assert diverges(None, thread) is False
    assert diverges([[True], [False]], thread) is False
    assert diverges([True, False], "hole or size") is False
    with pytest.raises(_UnknownError):
        Facts._compute(ANY, HoleArg(0), {})


def test_words_are_values_that_can_be_looked_up() -> None:
    assert (calls._is_word([]), calls._is_word(3), calls._is_word(wl.lane_id)) == (False, False, True)
