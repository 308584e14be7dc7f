"""A share of the random functions; `python -m benchmarks.fuzz --scan-functions N` runs more. And that wrong readers are found."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import pytest
from tests.scan.fuzz import meaning

from warploom.scan.operators import expression as ex
from warploom.scan.reading.interpret import Interpreter
from warploom.scan.reading.source import Function
from warploom.scan.reading.values import Value

pytestmark = pytest.mark.filterwarnings("ignore::SyntaxWarning")


@pytest.mark.parametrize("first", [0, 12])
def test_functions_mean_what_python_takes_them_to_mean(first: int) -> None:
    tally = meaning.Tally()
    for case in range(first, first + 12):
        assert not meaning.check(case, tally, models=3), case
    assert tally.endings["agrees"] > 40


def _truth(self: Interpreter, node: ast.expr, is_and: bool, values: Sequence[ast.expr], bindings: dict[str, Value]) -> Value:
    return self._conditions(is_and, values, bindings)  # pyright: ignore[reportPrivateUsage]


def _everywhere(self: Interpreter, condition: ex.Expr) -> None:
    self.assumed += condition.args if condition.op == "and" else [condition]


def _of_the_text(self: Function, name: str) -> object:
    for node in self.module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return eval(ast.unparse(value), dict(self.module.scope))
            case _:
                pass
    return _lookup(self, name)


_lookup, _quotient = Function.lookup, ex.quotient
_floor = ex.floor_quotient


def _up(a: ex.Expr, b: int) -> ex.Expr:
    return ex.negate(_floor(ex.negate(a), b))


PLANTED: dict[str, tuple[object, str, object]] = {
    "and, or give truth values": (Interpreter, "_operand", _truth),
    "asserts hold everywhere": (Interpreter, "_assume", _everywhere),
    "constants are those of the text": (Function, "lookup", _of_the_text),
    "quotients round to zero": (ex, "floor_quotient", lambda a, b: ex.select(ex.at_least(a, ex.ZERO), _floor(a, b), _up(a, b))),
    "guards of quotients are lost": (ex, "quotient", lambda a, b, is_guarded=False: _quotient(a, b)),
    "comparisons are strict": (ex, "at_least", ex.more_than),
}


FIRST = {"asserts hold everywhere": 100, "guards of quotients are lost": 20}
"""Where to begin, to spare time."""


@pytest.mark.parametrize("wrong", PLANTED)
def test_a_wrong_reader_is_found(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, planted = PLANTED[wrong]
    monkeypatch.setattr(owner, name, planted)
    first = FIRST.get(wrong, 0)
    assert any(meaning.check(case, models=0) for case in range(first, first + 60))
