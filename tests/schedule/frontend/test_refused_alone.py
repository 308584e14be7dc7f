"""Tensor functions that are wrong in one place only, and questions that no function asks, each by itself."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from warploom.core import UserError
from warploom.schedule.backbone import Operator
from warploom.schedule.frontend import arithmetic, indices, load_tensors

HEAD = "X: f32['n'], a: f32, S: wl.out[f32['n']]"


@pytest.mark.parametrize(
    ("body", "head", "told"),
    [
        ("S[i] = (X[i] + X[i])[i]", HEAD, "expected an array in front of the indices, got X[i] + X[i]"),
        ("t[i] = X[i]\n    S[i] = pad(t, 0)[i]", HEAD, "expected an array inside of pad, got the value 't'"),
        ("S[i] = pad(X, 0)", HEAD, "expected indices behind pad(X, 0), got none"),
        ("S[i] = pad(X, 0, 1)[i]", HEAD, "expected pad(X, value), got pad(X, 0, 1)"),
        ("S[i] = pad(X, a)[i]", HEAD, "expected a number to pad with"),
        ("S[i] = sum(X[k], X[i], over=k)", HEAD, "expected sum(value, over=index)"),
        ("S[i] = exp(X[i], key=3)", HEAD, "expected plain arguments of exp"),
        ("S[i] = sum(X[i], over=())", HEAD, "expected an index to reduce over, got none"),
        ("S[i] = f32(X[i], 3)", HEAD, "expected f32(value)"),
        ("t[i], S[i] = X[i], X[i]", HEAD, "expected arrays on the left of several results, got 't'"),
        ("a = X[0]\n    S[i] = X[i]", HEAD, "expected an output or a new name, got 'a'"),
        ("S.x = X[i]", HEAD, "expected an output or a name on the left, got S.x"),
        ("S[i] = X[i] + wl", HEAD, "expected a number, got 'wl', which is"),
        ("k: range(q)\n    S[i] = X[i]", HEAD, "unknown size 'q'"),
        ("S[i] = X[i]", f"{HEAD}, *rest", "expected a fixed number of parameters"),
        ("S[i] = X[i]", f"{HEAD}, b: wl.out[f32]", "expected an array, got the scalar 'b'"),
    ],
)
def test_a_function_with_one_fault(body: str, head: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "function.py"
    start = "import warploom as wl\nfrom warploom import f32\nfrom warploom.schedule.frontend import exp, pad\n\n@wl.tensor\n"
    file.write_text(f"{start}def run({head}):\n    {body}\n")
    with pytest.raises(UserError) as caught:
        load_tensors(str(file))[0].program({"n": 8})
    assert any(told in d.message for d in caught.value.diagnostics), caught.value


def test_what_no_numbers_are_computed_of() -> None:
    with pytest.raises(TypeError, match="not a number"):
        arithmetic.number(SimpleNamespace(), {})  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="of numbers"):
        arithmetic.evaluate_number(Operator.ADD, [1])


def test_factors_of_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    name = ast.parse("k", mode="eval").body
    bound: Any = SimpleNamespace(bound_indices={"k"}, resolve=lambda _: 3)
    free: Any = SimpleNamespace(bound_indices=set(), resolve=lambda _: 3)
    assert (indices._factor(free, name), indices._factor(bound, name)) == (3, None)

    def no_index(*_: Any) -> Any:
        raise indices.Problem.__new__(indices.Problem)

    monkeypatch.setattr(indices, "_affine", no_index)
    assert indices._factor(free, ast.parse("k * k", mode="eval").body) is None
