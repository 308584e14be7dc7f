"""Regular expressions as automata and as loops: what `re` says, or a located refusal."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from warploom import scan
from warploom.core import UserError
from warploom.scan.operators.lifting import Lifting
from warploom.scan.reading import patterns
from warploom.scan.reading.patterns import Automaton, PatternError, automaton

WAYS = ("fullmatch", "match", "search")
PARTS = (
    "a", "b", "1", "-", "[ab]", "[^a]", ".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[a-z1]", r"[^\d_]", r"[\w-]", "",
    r"[^a-b\s]", "\n", "A", "é",
)  # fmt: skip
REPEATED = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}")


def pattern(choose: random.Random, depth: int) -> str:
    def part() -> str:
        return pattern(choose, depth - 1)

    kind = choose.random()
    if depth == 0 or kind < 0.3:
        return choose.choice(PARTS)
    if kind < 0.5:
        return part() + part()
    if kind < 0.65:
        return f"(?:{part()}|{part()})"
    if kind < 0.72:
        return choose.choice([f"^{part()}", f"{part()}$", rf"\A{part()}", rf"{part()}\Z", f"{part()}${part()}"])
    if kind < 0.77:
        return f"({choose.choice(['?i:', '?u:', '?ai:', '?s:', '?a:', ''])}{part()})"
    return f"(?:{part()}){choose.choice(REPEATED)}"


def says(found: Automaton, text: str | bytes) -> bool:
    return found.after(text if isinstance(text, bytes) else map(ord, text)) in found.accepted


@pytest.mark.parametrize("seed", range(2))
def test_automata_say_what_re_says(seed: int) -> None:
    choose = random.Random(seed)
    matched = asked = 0
    for _ in range(250):
        flags = choose.choice([0, re.A, re.I, re.S, re.A | re.I])
        try:
            compiled: Any = re.compile(pattern(choose, 4), flags)
        except re.error:
            continue
        if (
            choose.random() < 0.2
            and compiled.pattern.isascii()
            and "?u:" not in compiled.pattern
            and "a" not in flags_of(compiled)
        ):
            compiled = re.compile(compiled.pattern.encode(), flags & ~re.A)
        way = choose.choice(WAYS)
        try:
            found = automaton(compiled, way)
        except PatternError:
            continue
        is_bytes = isinstance(compiled.pattern, bytes)
        letters = "ab1_ \n-AB\x1dzZ" + ("" if is_bytes or found.is_ascii else "\u0660éÉKſ\U0010ffff")
        for _ in range(12):
            text: Any = "".join(choose.choice(letters) for _ in range(choose.randrange(7)))
            text = text.encode() if is_bytes else text
            expected = getattr(compiled, way)(text) is not None
            assert says(found, text) == expected, (compiled, way, text)
            asked, matched = asked + 1, matched + expected
    assert asked > 2000 and 0.2 < matched / asked < 0.8


def flags_of(compiled: re.Pattern[str]) -> str:
    """Letters of the flags that parts of the pattern set."""
    return "".join(re.findall(r"\(\?([a-z]+):", compiled.pattern))


@pytest.mark.parametrize(
    ("text", "states"),
    [("a*", 2), ("(a+)+b", 4), (r"[^\W\d_]+", 3), (r'"(?:[^"\\]|\\.)*"', 5), ("[ab]*a[ab]{2}", 9), ("a{14}", 16), ("", 2)],
)
def test_automata_are_the_least(text: str, states: int) -> None:
    assert len(automaton(re.compile(text)).moves) == states


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a(?=b).", "a look-ahead or look-behind"),
        ("(?<=a)b", "a look-ahead or look-behind"),
        ("(?!a)b", "a negative look-ahead or look-behind"),
        (r"(a)\1", "a reference to a group"),
        ("(a)?(?(1)b|c)", "a part that depends on a group"),
        ("(?>a+)b", "an atomic group"),
        ("a++b", "a possessive repetition"),
        (r"\bfoo", r"a word boundary \(\\b\)"),
        (r"fo\Bo", r"what is no word boundary \(\\B\)"),
        ("(?m)^a", "an anchor of lines"),
        ("a(?m:$)", "an anchor of lines"),
        ("(?i)ſ", "characters beyond ASCII in a pattern that ignores the case"),
        ("(?i)[à-ü]", "characters beyond ASCII in a pattern that ignores the case"),
        ("(?:){4000000000}", "a repetition of nothing"),
        ("(?:){0,4000000000}", "a repetition of nothing"),
        ("a{15}", "at most 16 states, got 17"),
        ("(?:a|b)*a(?:a|b){9}", "at most 16 states, got many more"),
        ("((a{99}){99}){99}", "at most 1500 parts when its repetitions are written out"),
    ],
)
def test_patterns_that_are_refused(text: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        automaton(re.compile(text))


def test_patterns_of_a_locale_are_refused() -> None:
    with pytest.raises(PatternError, match="depends on the locale"):
        automaton(re.compile(b"a", re.LOCALE))


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [("NEW", None, "a part that `re` calls NEW"), ("IN", [("CATEGORY", "CATEGORY_NEW")], "a class that `re` calls CATEGORY_NEW")],
)
def test_parts_that_a_later_python_has_are_refused(name: str, value: object, why: str) -> None:
    built = patterns._Nodes(False)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(PatternError, match=why):
        built.part(name, value, built.node(), 0)


def test_an_automaton_of_which_re_says_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = re.compile("[a-f]+[0-9]?")
    found = automaton(compiled)
    whole = patterns._least  # pyright: ignore[reportPrivateUsage]
    wrong: list[Automaton] = [Automaton(found.moves, found.accepted ^ {n}, found.most) for n in range(len(found.moves))]
    for state, moves in enumerate(found.moves):
        for place, (first, last, after) in enumerate(moves):
            for other in {*range(len(found.moves))} - {after}:
                changed = (*moves[:place], (first, last, other), *moves[place + 1 :])
                wrong.append(Automaton((*found.moves[:state], changed, *found.moves[state + 1 :]), found.accepted, found.most))
    refused = 0
    for one in wrong:
        if len({*patterns._routes(one)}) < len(one.moves):  # pyright: ignore[reportPrivateUsage]
            continue  # it is not the least of any pattern
        monkeypatch.setattr(patterns, "_least", lambda *_, one=one: one)
        with pytest.raises(PatternError, match="one of which `re` says something else"):
            automaton(compiled)
        refused += 1
    assert refused > 20
    monkeypatch.setattr(patterns, "_least", whole)
    assert automaton(compiled) == found


TEXT = r"""
import re
from re import fullmatch

NUMBER = r"[+-]?[0-9]+(\.[0-9]*)?"
COMMENT = re.compile(r"/\*([^*]|\*+[^*/])*\*+/")

def number(text: str):
    return re.fullmatch(NUMBER, text) is not None

def comment(text: str):
    return bool(COMMENT.fullmatch(text))

def inside(text: str):
    return bool(COMMENT.search(text))

def word(text: str) -> int:
    pattern = re.compile(r"\s*" + r"[^\W\d]+$", flags=re.I)
    m = pattern.match(text)
    if m is None:
        return 0
    return len(text)

def hexadecimal(data: bytes):
    return 1 if fullmatch(rb"(0x)?[0-9a-f]+", data, re.I | re.S) else 0

def two(text: str):
    return bool(re.match("[^b]", text) and not re.search("a$", text))

def always(text: str):
    return re.search("a*", text) is not None

def kinds(text: str):
    if re.fullmatch("[a-z]+", text):
        return 1
    if (m := re.fullmatch("[0-9]+", text)) is not None:
        return 2
    return 0
"""
LETTERS = {
    "number": ("+-09.x٠", ["+1.5", "0", "-12.", "0.0"]),
    "comment": ("/*a\n\U0010ffff", ["/**/", "/*a*/", "/***/", "/*a*a**/"]),
    "inside": ("/*a", ["/**/", "a/*a*/a"]),
    "word": (" \n\tab_1A", [" ab", "Ab_\n", "\n\na"]),
    "hexadecimal": ("0xXaF9g", ["0x1f", "ff", "0XA"]),
    "two": ("ab\n", ["a", "ca", "b"]),
    "always": ("ab", ["a"]),
    "kinds": ("ab12", ["ab", "12"]),
}


def lifted(name: str) -> tuple[Lifting, Callable[..., object]]:
    module = scan.parse_module(TEXT, "patterns.py")
    function = module.scope[name]
    assert callable(function)
    return scan.lift(scan.read_loop(module, name), function), function


@pytest.mark.parametrize("name", LETTERS)
def test_operators_of_patterns_say_what_re_says(name: str) -> None:
    """Random texts, and accepted ones with characters put in, left out or changed, each cut at random."""
    found, function = lifted(name)
    assert found.verdict == "proved", found.reason
    assert found.operator is not None and ("ASCII characters" in found.domain) == (name == "word")
    choose = random.Random(name)
    letters, near = LETTERS[name]
    is_bytes = name == "hexadecimal"
    answers: set[object] = set()
    for number in range(150):
        if number % 3:
            text = list(choose.choice(near))
            for _ in range(choose.randrange(3)):
                place = choose.randrange(len(text) + 1)
                text[place : place + choose.randrange(2)] = choose.sample(letters, choose.randrange(2))
        else:
            text = [choose.choice(letters) for _ in range(choose.randrange(9))]
        given = "".join(text).encode() if is_bytes else "".join(text)
        codes = [(c,) for c in given] if isinstance(given, bytes) else [(ord(c),) for c in given]
        expected = function(given)
        assert found.operator.run(codes, lambda n: choose.randrange(1, n)) == expected, given
        answers.add(bool(expected))
    assert len(answers) == 1 + (name != "always")


@pytest.mark.parametrize(
    ("header", "body", "why"),
    [
        ("text: str", "return re.fullmatch('a', text)", "asked whether there is a match, got the match itself"),
        (
            "text: str",
            "m = re.fullmatch('a', text)\n    return m.group(0)",
            "asked whether there is a match, got the match itself",
        ),
        ("text: str", "return re.fullmatch('a', text) and 1", "asked whether there is a match, got the match itself"),
        ("text", "return re.fullmatch('a', text) is not None", "text to be annotated as str"),
        ("text: list[str]", "return re.fullmatch('a', text) is not None", "text to be annotated as str"),
        ("text: str", "return re.fullmatch(rb'a', text) is not None", "text to be annotated as bytes"),
        ("text: str", "return re.fullmatch('a(', text) is not None", "a regular expression, got 'a(': missing )"),
        ("text: str", "return re.fullmatch(r'(a)\\1', text) is not None", "a regular pattern, got a reference to a group"),
        ("text: str", "return re.fullmatch('a', text.strip()) is not None", "expected a loop"),
        ("text: str", "text = text[1:]\n    return re.fullmatch('a', text) is not None", "expected a loop"),
        ("text: str, p: str", "return re.fullmatch(p, text) is not None", "expected a loop"),
        ("text: str", "return re.findall('a', text) is not None", "expected a loop"),
        ("text: str", "return COMPILED.match(text, 1) is not None", "expected a loop"),
        ("text: str, k: int", "p = COMPILED\n    p = OTHER\n    return p.match(text) is not None", "expected a loop"),
    ],
)
def test_functions_that_are_refused(header: str, body: str, why: str) -> None:
    begin = "import re\nCOMPILED, OTHER = re.compile('a'), re.compile('b')\n\n"
    module = scan.parse_module(f"{begin}def f({header}):\n    {body}\n", "patterns.py")
    with pytest.raises(UserError, match=re.escape(why)):
        scan.read_loop(module, "f")


def test_functions_of_bytes_get_bytes() -> None:
    module = scan.parse_module(TEXT, "patterns.py")
    loop = scan.read_loop(module, "hexadecimal")
    function = module.scope["hexadecimal"]
    assert callable(function)
    assert [scan.call(function, loop, [(c,) for c in text]) for text in (b"0x1f", b"0x", b"")] == [1, 0, 0]
