"""Changes to a text of any front end: characters, tokens, lines, numbers that are huge or odd, nesting."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LONGEST = 60_000
"""Characters of a changed text."""
NUMBERS = (
    "0", "1", "-1", "2", "3", "7", "31", "32", "33", "63", "64", "65", "100", "127", "255", "256", "1000", "1023", "1024", "4096",
    "65535", "65536", "1000000", "2147483647", "2147483648", "4294967295", "4294967296", "-2147483648", "9999999999",
    "1000000000000", "9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775808", "1" + "0" * 30,
    "9" * 400, "7" * 5000, "0x" + "f" * 300, "0.1", "1e308", "1e999", "1e-999", "-0.0", "00", "1_000", "1j", "0b101", "10**12",
    "1 << 9999999999", "10**10**10", "1/0", "-(1)", "0.5.5", "2**63", "2**64",
)  # fmt: skip
CHARACTERS = (
    "\0",
    "\t",
    "\r",
    "\n\n",
    "\f",
    "\ufeff",
    "é",
    "²",
    "٣",
    "\u2028",
    "\U0001f600",
    "\\",
    '"',
    "'",
    "#",
    ";",
    "`",
    "$",
    "%",
    "\x1b[31m",
)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|\*\*|//|<<|>>|->|[<>=!]=|[^\s\w]|\n[ \t]*")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.])")
_OPEN = {"(": ")", "[": "]", "{": "}"}
_DEPTHS = (5, 40, 99, 101, 199, 250, 400, 1200, 7000)


@dataclass(frozen=True)
class Vocabulary:
    """Words that may be put into the texts of a front end."""

    words: tuple[str, ...]
    lines: tuple[str, ...]
    python: bool = False


def vocabulary(texts: Sequence[str], extra: Sequence[str] = (), *, python: bool = False) -> Vocabulary:
    """The tokens and lines of `texts`."""
    words = sorted({t for text in texts for t in _TOKEN.findall(text) if not t.startswith("\n")} | set(extra))
    return Vocabulary(tuple(words), tuple(sorted({line for text in texts for line in text.splitlines() if line.strip()})), python)


def changed(text: str, rng: random.Random, words: Vocabulary) -> str:
    """The text with one to four changes; most have one, so that most of it still holds."""
    for _ in range(rng.choice((1, 1, 1, 1, 1, 2, 2, 3, 4))):
        text = rng.choice(CHANGES)(text, rng, words)[:LONGEST]
    return text


def _spot(text: str, rng: random.Random, pattern: re.Pattern[str] = _TOKEN) -> re.Match[str] | None:
    found = list(pattern.finditer(text))
    return rng.choice(found) if found else None


def _number(text: str, rng: random.Random, words: Vocabulary) -> str:
    spot = _spot(text, rng, _NUMBER)
    if spot is None:
        return _insert(text, rng, words)
    new = rng.choice(NUMBERS)
    if rng.random() < 0.3 and spot[0].isdigit() and len(spot[0]) < 40:
        new = str(int(spot[0]) + rng.choice((-1, 1, 2, -2, 10)))
    return text[: spot.start()] + new + text[spot.end() :]


def _swap(text: str, rng: random.Random, words: Vocabulary) -> str:
    """One token for another of the vocabulary."""
    spot = _spot(text, rng)
    return text if spot is None else text[: spot.start()] + rng.choice(words.words) + text[spot.end() :]


def _swap_own(text: str, rng: random.Random, words: Vocabulary) -> str:
    """One token for another of the same text."""
    spot, other = _spot(text, rng), _spot(text, rng)
    return text if spot is None or other is None else text[: spot.start()] + other[0] + text[spot.end() :]


def _drop(text: str, rng: random.Random, words: Vocabulary) -> str:
    spot = _spot(text, rng)
    return text if spot is None else text[: spot.start()] + text[spot.end() :]


def _insert(text: str, rng: random.Random, words: Vocabulary) -> str:
    spot = _spot(text, rng)
    place = 0 if spot is None else spot.start()
    return f"{text[:place]} {rng.choice(words.words)} {text[place:]}"


def _repeat(text: str, rng: random.Random, words: Vocabulary) -> str:
    spot = _spot(text, rng)
    if spot is None:
        return text
    return text[: spot.end()] + spot[0] * rng.choice((1, 2, 10, 150, 2000)) + text[spot.end() :]


def _nest(text: str, rng: random.Random, words: Vocabulary) -> str:
    """Parentheses, signs or sums around one token."""
    spot = _spot(text, rng)
    if spot is None:
        return text
    depth, token = rng.choice(_DEPTHS), spot[0]
    opening = rng.choice("([{")
    new = rng.choice((
        opening * depth + token + _OPEN[opening] * depth,
        "-" * depth + token,
        "not " * depth + token,
        "~" * depth + token,
        f"{token} + " * depth + token,
        f"f({token}, " * depth + token + ")" * depth,
        "(" * depth + token + " + 1)" * depth,
        "(1 if x else " * depth + token + ")" * depth,
        opening * depth,
    ))  # fmt: skip
    return text[: spot.start()] + new + text[spot.end() :]


def _nest_lines(text: str, rng: random.Random, words: Vocabulary) -> str:
    """A line inside many statements."""
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    line = lines[place].strip()
    indent = len(lines[place]) - len(lines[place].lstrip())
    depth = rng.choice((3, 18, 21, 60, 101))
    head = rng.choice(("if True:", "for i in range(2):", "if x > 0:", "while x:", "else:"))
    inner = [" " * (indent + n) + head for n in range(depth)]
    return "\n".join([*lines[:place], *inner, " " * (indent + depth) + (line or "pass"), *lines[place + 1 :]])


def _swap_lines(text: str, rng: random.Random, words: Vocabulary) -> str:
    lines = text.split("\n")
    a, b = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[a], lines[b] = lines[b], lines[a]
    return "\n".join(lines)


def _drop_line(text: str, rng: random.Random, words: Vocabulary) -> str:
    lines = text.split("\n")
    del lines[rng.randrange(len(lines))]
    return "\n".join(lines)


def _put_line(text: str, rng: random.Random, words: Vocabulary) -> str:
    lines = text.split("\n")
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(words.lines))
    return "\n".join(lines)


def _copy_line(text: str, rng: random.Random, words: Vocabulary) -> str:
    lines = text.split("\n")
    lines[rng.randrange(len(lines)) : 0] = [rng.choice(lines)] * rng.choice((1, 1, 2, 30))
    return "\n".join(lines)


def _indent(text: str, rng: random.Random, words: Vocabulary) -> str:
    lines = text.split("\n")
    place = rng.randrange(len(lines))
    lines[place] = rng.choice(("    ", " ", "\t")) + lines[place] if rng.random() < 0.5 else lines[place][1:]
    return "\n".join(lines)


def _character(text: str, rng: random.Random, words: Vocabulary) -> str:
    place = rng.randrange(len(text) + 1)
    new = rng.choice(CHARACTERS) if rng.random() < 0.5 else chr(rng.randrange(32, 127))
    return text[:place] + new + text[place + rng.randrange(2) :]


def _cut(text: str, rng: random.Random, words: Vocabulary) -> str:
    start = rng.randrange(len(text) + 1)
    return text[:start] if rng.random() < 0.3 else text[:start] + text[min(len(text), start + rng.randrange(1, 40)) :]


Change = Callable[[str, random.Random, Vocabulary], str]
CHANGES: tuple[Change, ...] = (
    _number, _number, _number, _number, _swap, _swap, _swap, _swap_own, _swap_own, _drop, _drop, _insert, _repeat, _nest,
    _nest_lines, _swap_lines, _drop_line, _put_line, _copy_line, _indent, _character, _character, _cut,
)  # fmt: skip
