"""A context of z3 whose making is ended half-way leaves no traceback."""

from types import SimpleNamespace
from typing import Any

import pytest

from warploom.solve.smt.contexts import new_context

z3: Any = pytest.importorskip("z3")


def test_an_end_while_the_context_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ended(z3.Context):
        def __init__(self) -> None:
            raise TimeoutError

    complaints: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", complaints.append)
    with pytest.raises(TimeoutError):
        new_context(SimpleNamespace(Context=Ended))
    assert complaints == []


def test_a_whole_context_is_its_own() -> None:
    context = new_context(z3)
    assert context.owner and z3.BoolVal(True, context).ctx is context
