"""Whether running code assigns to a component of an element."""

import sys
from typing import Any

from warploom.core import assigns_to_element


class Seen:
    """Notes for each assignment to `x` whether it was told as one to an element."""

    def __init__(self) -> None:
        object.__setattr__(self, "told", [])

    def __setattr__(self, name: str, value: object) -> None:
        told: list[bool] = self.__dict__["told"]
        told.append(assigns_to_element(sys._getframe(1)))


def test_an_element_is_told_from_a_variable_however_it_is_written() -> None:
    seen: Any = Seen()
    elements = {"ä": seen}
    elements["ä"].x = 1
    (elements
        ["ä"]
    ).x = 2  # fmt: skip
    seen.x = 3
    (seen
    ).x = 4  # fmt: skip
    first = elements["ä"]
    first.x, elements["ä"].x = 5, 6
    assert seen.told == [True, True, False, False, False, True]


def test_nobody_knows_of_code_without_text() -> None:
    seen = Seen()
    exec("elements[0].x = 1", {"elements": [seen]})
    assert seen.__dict__["told"] == [False]
