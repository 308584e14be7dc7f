"""Text under construction: lines and braces, which know the registers they name, so that these are declared where they live."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

_INDENT = "    "


@dataclass(slots=True)
class Line:
    text: str
    mentions: frozenset[int] = frozenset()
    """Values whose registers the line names."""
    sets: int | None = None
    """The value with a single register that the line gives a value, and that is all it does: `name = ...;`."""


@dataclass(slots=True)
class Braces:
    head: tuple[str, ...]
    items: list[Item] = field(default_factory=list["Item"])


Item: TypeAlias = Line | Braces


def mentions(item: Item) -> frozenset[int]:
    match item:
        case Line():
            return item.mentions
        case Braces():
            return frozenset[int]().union(*map(mentions, item.items))


def with_declarations(items: Sequence[Item], declaration: Callable[[int], str], words: Callable[[int], str]) -> list[Item]:
    """`items` with every value declared in the innermost braces around all its mentions. `declaration` of a value is
    `float name[4];`, `words` what turns the first line that sets it into its declaration (`float`)."""
    inside = [mentions(item) for item in items]
    counts: dict[int, int] = {}
    for values in inside:
        for value in values:
            counts[value] = counts.get(value, 0) + 1
    first: dict[int, int] = {}
    for position, values in enumerate(inside):
        for value in values:
            first.setdefault(value, position)

    def is_own(value: int, position: int) -> bool:
        """Whether the item is braces that hold all mentions, and so the declaration."""
        return counts[value] == 1 and isinstance(items[position], Braces)

    result: list[Item] = []
    for position, item in enumerate(items):
        here = sorted(v for v in inside[position] if first[v] == position and not is_own(v, position))
        match item:
            case Line(text, named, sets) if sets is not None and sets in here:
                result += [Line(declaration(v), frozenset({v})) for v in here if v != sets]
                result.append(Line(f"{words(sets)} {text}", named))
            case Line():
                result += [Line(declaration(v), frozenset({v})) for v in here]
                result.append(item)
            case Braces(head, children):
                result += [Line(declaration(v), frozenset({v})) for v in here]
                own = {v for v in inside[position] if is_own(v, position)}
                result.append(Braces(head, _declared_inside(children, own, declaration, words)))
    return result


def _declared_inside(
    items: Sequence[Item], own: set[int], declaration: Callable[[int], str], words: Callable[[int], str]
) -> list[Item]:
    """Declares in here only the values in `own`."""
    hidden = [_hide(item, own) for item in items]
    return with_declarations(hidden, declaration, words)


def _hide(item: Item, own: set[int]) -> Item:
    match item:
        case Line(text, named, sets):
            return Line(text, named & own, sets if sets in own else None)
        case Braces(head, children):
            return Braces(head, [_hide(child, own) for child in children])


def text_of(items: Sequence[Item], depth: int = 0) -> Iterator[str]:
    for item in items:
        match item:
            case Line(text):
                yield f"{_INDENT * depth}{text}" if text else ""
            case Braces(head, children):
                yield from (f"{_INDENT * depth}{line}" for line in head[:-1])
                yield f"{_INDENT * depth}{head[-1]} {{" if head[-1] else f"{_INDENT * depth}{{"
                yield from text_of(children, depth + 1)
                yield f"{_INDENT * depth}}}"
