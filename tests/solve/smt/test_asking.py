"""An interruption that z3's own handler of SIGINT saw is Python's again."""

from typing import Any

import pytest

from warploom.solve.smt.asking import Solver, Unknown

pytest.importorskip("z3")


class _Statistics:
    def keys(self) -> list[str]:
        return []


class _Asked:
    """A solver that ends a question for the given reason."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def set(self, *_: object) -> None: ...

    def check(self, *_: object) -> str:
        return "unknown"

    def reason_unknown(self) -> str:
        return self._reason

    def statistics(self) -> Any:
        return _Statistics()


def test_an_interrupted_question_is_an_interruption() -> None:
    with pytest.raises(KeyboardInterrupt):
        Solver(_Asked("interrupted from keyboard")).ask(1, lambda _: {})
    assert Solver(_Asked("max. resource limit exceeded")).ask(1, lambda _: {}) == Unknown("max. resource limit exceeded", 0)
