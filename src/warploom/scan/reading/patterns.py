"""Regular expressions as finite automata: `re.fullmatch`, `re.match` and `re.search`, as far as they say whether a text matches.

The parse tree of Python's `re` becomes an automaton with empty moves (Thompson's construction), this a deterministic one over
ranges of characters, and this the least one. Whether there is a match does not depend on greed, so `*?` is `*`. What is not
regular, or has no meaning here, is an error that names it.

An anchor at the end leaves a text to come: none (`\\Z`), or none or one newline (`$`). A set of the automaton's states is kept
with what may still come.
"""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, cast

from warploom.scan.reading.texts import ASCII, GREATEST

MOST_STATES = 16
"""States of the least automaton, the one that no text leaves included."""
_FEW = f"a pattern whose least automaton has at most {MOST_STATES} states"
_MOST_NODES = 1500
_MOST_SETS = 256
_BYTE = 255
_NEWLINE = ord("\n")

Ranges = tuple[tuple[int, int], ...]
"""First and last code of each range, in ascending order."""
ANY, NOTHING, NEWLINE = range(3)
"""The rest of a text that may still come: anything, nothing, or one newline."""
_DIGITS: Ranges = ((ord("0"), ord("9")),)
_WORDS: Ranges = ((ord("0"), ord("9")), (ord("A"), ord("Z")), (ord("_"), ord("_")), (ord("a"), ord("z")))
_SPACES: Ranges = ((ord("\t"), ord("\r")), (ord(" "), ord(" ")))
_SEPARATORS: Ranges = ((0x1C, 0x1F),)
"""Spaces of ASCII that only patterns for all of Unicode take for such."""


class PatternError(Exception):
    """A pattern that is not served; the text says what is expected of it, and what was found."""

    def __init__(self, found: str, wanted: str = "a regular pattern") -> None:
        super().__init__(f"expected {wanted}, got {found}")


@dataclass(frozen=True, slots=True)
class Automaton:
    """A deterministic automaton, which begins in state 0."""

    moves: tuple[tuple[tuple[int, int, int], ...], ...]
    """For every state: first code, last code and the next state; the ranges ascend and cover all codes up to `most`."""
    accepted: frozenset[int]
    """States in which the text matches."""
    most: int
    """The greatest code of a character: of ASCII, of Unicode, or of a byte."""

    def after(self, codes: Iterable[int], state: int = 0) -> int:
        """The state after these codes."""
        for code in codes:
            state = next(after for first, last, after in self.moves[state] if first <= code <= last)
        return state

    @property
    def is_ascii(self) -> bool:
        """Whether characters beyond ASCII are left out, as the pattern asks what Unicode says of them."""
        return self.most == ASCII


def automaton(pattern: re.Pattern[str] | re.Pattern[bytes], way: str = "fullmatch") -> Automaton:
    """The least automaton that says whether the pattern matches: all of a text (`fullmatch`), its begin (`match`), or a part
    of it (`search`). Raises PatternError for what is not regular, or needs more than MOST_STATES states."""
    parse = cast("Callable[[object, int], Any]", getattr(import_module("re._parser"), "parse"))  # noqa: B009 - private
    with warnings.catch_warnings(action="ignore"):  # compiling has given them
        tree = parse(pattern.pattern, pattern.flags)
    built = _Nodes(isinstance(pattern.pattern, bytes))
    begin = built.node()
    entry = begin
    if way == "search":
        entry = built.repeated(begin, built.any())
    end = built.sequence(tree, entry, pattern.flags)
    if way != "fullmatch":
        end = built.repeated(end, built.any())
    found = _least(*_determined(built, begin, end), built.most)
    text = differing(found, pattern, way)
    if text is not None:
        raise PatternError(f"one of which `re` says something else on {text!r}")
    return found


def differing(found: Automaton, pattern: re.Pattern[str] | re.Pattern[bytes], way: str) -> str | bytes | None:
    """A text of which `re` itself says something else; None: there is none among the texts that take every move from every state
    and then go on so that any two states differ. They find every automaton of as many states that is not the pattern's (Chow's
    method)."""
    routes, suffixes = _routes(found), _suffixes(found)
    asked = cast("Callable[[str | bytes], object]", getattr(pattern, way))
    for state, moves in enumerate(found.moves):
        for taken in ((), *{(code,) for first, last, _ in moves for code in (first, last)}):
            for suffix in suffixes:
                codes = (*routes[state], *taken, *suffix)
                text = bytes(codes) if isinstance(pattern.pattern, bytes) else "".join(map(chr, codes))
                if (asked(text) is not None) != (found.after(codes) in found.accepted):
                    return text
    return None


def _routes(found: Automaton) -> dict[int, tuple[int, ...]]:
    """A shortest text to every state."""
    routes: dict[int, tuple[int, ...]] = {0: ()}
    for state in (waiting := [0]):
        for first, _, after in found.moves[state]:
            if after not in routes:
                routes[after] = (*routes[state], first)
                waiting.append(after)
    return routes


def _suffixes(found: Automaton) -> set[tuple[int, ...]]:
    """Short texts that tell all states apart, and the empty one."""
    told: dict[tuple[int, int], tuple[int, ...]] = {}
    numbers = range(len(found.moves))
    pairs = [(a, b) for a in numbers for b in numbers if a < b]
    told |= {p: () for p in pairs if (p[0] in found.accepted) != (p[1] in found.accepted)}
    for _ in numbers:
        for a, b in (p for p in pairs if p not in told):
            for code in (begin for state in (a, b) for begin, _, _ in found.moves[state]):
                first, second = sorted((found.after((code,), a), found.after((code,), b)))
                if (first, second) in told:
                    told[a, b] = (code, *told[first, second])
                    break
    return {(), *told.values()}


@dataclass(slots=True)
class _Nodes:
    """An automaton with empty moves."""

    is_bytes: bool
    is_ascii: bool = False
    count: int = 0
    empty: list[list[tuple[int, str]]] = field(default_factory=list[list[tuple[int, str]]])
    """Empty moves of every node, with the anchor that they pass, or none."""
    taken: list[list[tuple[int, Ranges]]] = field(default_factory=list[list[tuple[int, Ranges]]])

    @property
    def most(self) -> int:
        return _BYTE if self.is_bytes else ASCII if self.is_ascii else GREATEST

    def node(self) -> int:
        if len(self.empty) >= _MOST_NODES:
            raise PatternError("more", f"a pattern of at most {_MOST_NODES} parts when its repetitions are written out")
        self.empty.append([])
        self.taken.append([])
        return len(self.empty) - 1

    def move(self, start: int, end: int, anchor: str = "") -> None:
        self.empty[start].append((end, anchor))

    def any(self) -> Callable[[int], int]:
        return lambda start: self.one(start, ((0, GREATEST),))

    def one(self, start: int, ranges: Ranges) -> int:
        """A node that one character of these leads to."""
        end = self.node()
        self.taken[start].append((end, ranges))
        return end

    def repeated(self, start: int, part: Callable[[int], int]) -> int:
        """Any number of times."""
        around = self.node()
        self.move(start, around)
        self.move(part(around), around)
        end = self.node()
        self.move(around, end)
        return end

    def once_more(self, parts: Iterable[tuple[object, Any]], start: int, flags: int) -> int:
        """One more of a number of times."""
        end = self.sequence(parts, start, flags)
        if end == start:
            raise PatternError("a repetition of nothing")
        return end

    def sequence(self, parts: Iterable[tuple[object, Any]], start: int, flags: int) -> int:
        for name, value in parts:
            start = self.part(str(name), value, start, flags)
        return start

    def part(self, name: str, value: Any, start: int, flags: int) -> int:
        """The node after one part of the parse tree."""
        match name:
            case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY":
                return self.one(start, self.ranges(name, value, flags))
            case "BRANCH":
                end = self.node()
                for option in value[1]:
                    self.move(self.sequence(option, start, flags), end)
                return end
            case "SUBPATTERN":
                _, added, removed, inner = value
                kept = flags & ~_KINDS if added & _KINDS else flags
                return self.sequence(inner, start, (kept | added) & ~removed)
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inner = value
                for _ in range(least):
                    start = self.once_more(inner, start, flags)
                if str(most) == "MAXREPEAT":
                    return self.repeated(start, lambda at: self.sequence(inner, at, flags))
                end = self.node()
                for _ in range(most - least):
                    self.move(start, end)
                    start = self.once_more(inner, start, flags)
                self.move(start, end)
                return end
            case "AT":
                anchor = str(value)
                if anchor not in _ANCHORS or (flags & re.MULTILINE and anchor not in _OF_ALL):
                    raise PatternError(_REFUSED.get(anchor, "an anchor of lines (re.MULTILINE)"))
                end = self.node()
                self.move(start, end, anchor)
                return end
            case _:
                raise PatternError(_REFUSED.get(name, f"a part that `re` calls {name}"))

    def ranges(self, name: str, value: Any, flags: int) -> Ranges:
        """The characters that one part of a pattern takes."""
        if flags & re.LOCALE:
            raise PatternError("a pattern that depends on the locale (re.LOCALE)")
        match name:
            case "ANY":
                return ((0, GREATEST),) if flags & re.DOTALL else _without(((_NEWLINE, _NEWLINE),))
            case "LITERAL":
                return self.folded(((value, value),), flags)
            case "NOT_LITERAL":
                return _without(self.folded(((value, value),), flags))
            case _:
                items = [(str(n), v) for n, v in value]
                found = [r for n, v in items for r in self.item(n, v, flags)]
                return _without(found) if any(n == "NEGATE" for n, _ in items) else _joined(found)

    def item(self, name: str, value: Any, flags: int) -> Ranges:
        """The characters of one item of a class `[...]`."""
        match name:
            case "NEGATE":
                return ()
            case "LITERAL":
                return self.folded(((value, value),), flags)
            case "RANGE":
                return self.folded((value,), flags)
            case _:
                return self.category(str(value), flags)

    def category(self, name: str, flags: int) -> Ranges:
        is_unicode = not self.is_bytes and not flags & re.ASCII
        self.is_ascii |= is_unicode
        spaces = _joined([*_SPACES, *(_SEPARATORS if is_unicode else ())])
        known = {"CATEGORY_DIGIT": _DIGITS, "CATEGORY_WORD": _WORDS, "CATEGORY_SPACE": spaces}
        plain = name.replace("_NOT_", "_")
        if plain not in known:
            raise PatternError(f"a class that `re` calls {name}")
        return known[plain] if plain == name else _without(known[plain])

    def folded(self, ranges: Ranges, flags: int) -> Ranges:
        """With the other case of every letter, where the pattern ignores it."""
        if not flags & re.IGNORECASE:
            return ranges
        self.is_ascii |= not self.is_bytes and not flags & re.ASCII
        if any(last > ASCII for _, last in ranges):
            raise PatternError("characters beyond ASCII in a pattern that ignores the case of letters")
        found = list(ranges)
        for first, last in ranges:
            for begin, end, shift in ((ord("A"), ord("Z"), 32), (ord("a"), ord("z"), -32)):
                if max(first, begin) <= min(last, end):
                    found.append((max(first, begin) + shift, min(last, end) + shift))
        return _joined(found)


_KINDS = re.ASCII | re.UNICODE | re.LOCALE
"""Flags of which a part of a pattern has one."""
_OF_ALL = ("AT_BEGINNING_STRING", "AT_END_STRING")
"""Anchors of the whole text, which no flag changes."""
_ANCHORS = (*_OF_ALL, "AT_BEGINNING", "AT_END")
_REFUSED = {
    "ASSERT": "a look-ahead or look-behind",
    "ASSERT_NOT": "a negative look-ahead or look-behind",
    "GROUPREF": "a reference to a group",
    "GROUPREF_EXISTS": "a part that depends on a group",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repetition",
    "AT_BOUNDARY": "a word boundary (\\b)",
    "AT_NON_BOUNDARY": "what is no word boundary (\\B)",
}


def _joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ascending and apart."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(last, found[-1][1]))
        else:
            found.append((first, last))
    return tuple(found)


def _without(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """All other characters."""
    found: list[tuple[int, int]] = []
    begin = 0
    for first, last in _joined(ranges):
        if begin < first:
            found.append((begin, first - 1))
        begin = last + 1
    if begin <= GREATEST:
        found.append((begin, GREATEST))
    return tuple(found)


_Place = tuple[int, int]
"""A node, and what may still come."""


def _closed(built: _Nodes, places: Iterable[_Place], *, at_start: bool) -> frozenset[_Place]:
    """The places that empty moves reach."""
    waiting = list(places)
    found: set[_Place] = set()
    while waiting:
        node, rest = place = waiting.pop()
        if place in found:
            continue
        found.add(place)
        for end, anchor in built.empty[node]:
            match anchor:
                case "":
                    waiting.append((end, rest))
                case "AT_END_STRING" if rest != NEWLINE:
                    waiting.append((end, NOTHING))
                case "AT_END":
                    waiting += [(end, r) for r in ((NOTHING, NEWLINE) if rest == ANY else (rest,))]
                case "AT_BEGINNING" | "AT_BEGINNING_STRING" if at_start:
                    waiting.append((end, rest))
                case _:
                    pass
    return frozenset(found)


def _determined(built: _Nodes, begin: int, end: int) -> tuple[list[list[int]], set[int], list[int]]:
    """For every state the next one by interval of codes, the accepting states, and where the intervals begin."""
    firsts = {0, _NEWLINE, _NEWLINE + 1}
    for _, ranges in (t for taken in built.taken for t in taken):
        firsts |= {code for first, last in ranges for code in (first, last + 1)}
    starts = sorted(f for f in firsts if f <= built.most)
    newline = starts.index(_NEWLINE)
    moves = [
        [
            (after, {n for first, last in ranges for n in range(bisect_left(starts, first), bisect_right(starts, last))})
            for after, ranges in taken
        ]
        for taken in built.taken
    ]
    states = [_closed(built, [(begin, ANY)], at_start=True)]
    numbers = {states[0]: 0}
    rows: list[list[int]] = []
    while len(rows) < len(states):
        reached: list[set[_Place]] = [set() for _ in starts]
        for node, rest in states[len(rows)]:
            for after, places in moves[node] if rest != NOTHING else ():
                for place in places if rest == ANY else places & {newline}:
                    reached[place].add((after, ANY if rest == ANY else NOTHING))
        row: list[int] = []
        for found in reached:
            after_one = _closed(built, found, at_start=False)
            if after_one not in numbers:
                numbers[after_one] = len(states)
                states.append(after_one)
            row.append(numbers[after_one])
        rows.append(row)
        if len(states) > _MOST_SETS:
            raise PatternError("many more", _FEW)
    accepted = {n for n, s in enumerate(states) if any(node == end and rest != NEWLINE for node, rest in s)}
    return rows, accepted, starts


def _least(rows: Sequence[Sequence[int]], accepted: set[int], starts: Sequence[int], most: int) -> Automaton:
    """The automaton with equal states made one (Moore's refinement). Raises PatternError if too many are left."""
    blocks = [int(n in accepted) for n in range(len(rows))]
    while True:
        kinds: dict[tuple[int, ...], int] = {}
        refined = [kinds.setdefault((blocks[n], *(blocks[after] for after in row)), len(kinds)) for n, row in enumerate(rows)]
        if len(kinds) == len({*blocks}):
            break
        blocks = refined
    blocks = refined  # numbered in the order in which they are reached, from 0
    if len({*blocks}) > MOST_STATES:
        raise PatternError(str(len({*blocks})), _FEW)
    of_block = {blocks[n]: row for n, row in reversed([*enumerate(rows)])}
    moves = tuple(tuple(_merged(of_block[n], blocks, starts, most)) for n in range(len(of_block)))
    return Automaton(moves, frozenset(blocks[n] for n in accepted), most)


def _merged(row: Sequence[int], blocks: Sequence[int], starts: Sequence[int], most: int) -> Iterator[tuple[int, int, int]]:
    """Ranges of codes with their next state, neighbours of the same one joined."""
    begin = 0
    for place, after in enumerate(row):
        is_last = place + 1 == len(row)
        if is_last or blocks[row[place + 1]] != blocks[after]:
            yield begin, most if is_last else starts[place + 1] - 1, blocks[after]
            begin = most + 1 if is_last else starts[place + 1]


__all__ = ["MOST_STATES", "Automaton", "PatternError", "automaton"]
