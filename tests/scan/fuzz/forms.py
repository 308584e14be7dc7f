"""Random functions in the forms in which people write loops: early ends, slices, `while`, None, records, characters, `yield`."""

from __future__ import annotations

import random
from collections.abc import Callable

_HEADERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("", "for x in xs:", ("x",)),
    ("a = xs[0]", "for x in xs[1:]:", ("x",)),
    ("", "for x in xs[1:]:", ("x",)),
    ("", "for y, x in zip(xs, xs[1:]):", ("x", "y")),
    ("", "for i in range(len(xs) - 1):", ("xs[i]", "xs[i + 1]", "i")),
    ("n = len(xs)", "for i in range(1, n):", ("xs[i]", "xs[i - 1]", "i")),
    ("", "for i, x in enumerate(xs[1:], 2):", ("x", "i")),
    ("", "for i, x in enumerate(xs[1:], 1):", ("x", "i")),
    ("i = 0\n    n = len(xs)", "while i < n:", ("xs[i]", "i")),
    ("i = 1", "while i < len(xs) and xs[i] != 3:", ("xs[i]", "xs[i - 1]", "i")),
)
_GUARDS = ("if not xs:\n        return 7", "if len(xs) < 2:\n        return -1", "if len(xs) == 0:\n        return None")
_LEAVING = ("break", "return a", "return 5", "return -1", "continue")
_PREFIX = """from dataclasses import dataclass

TABLE = {0: 4, 1: -1, 2: 7}

@dataclass
class R:
    p: int = 0
    q: int = 1


"""


class _Writer:
    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.names: list[str] = []

    def value(self, depth: int = 2) -> str:
        choose = self.choose
        if depth == 0 or choose.random() < 0.3:
            return choose.choice([*self.names, "0", "1", "2", "-1"])
        forms: list[Callable[[], str]] = [
            lambda: f"({self.value(depth - 1)} {choose.choice('+-*')} {self.value(depth - 1)})",
            lambda: f"{choose.choice(['max', 'min'])}({self.value(depth - 1)}, {self.value(depth - 1)})",
            lambda: f"({self.value(depth - 1)} if {self.test(depth - 1)} else {self.value(depth - 1)})",
            lambda: f"({self.value(depth - 1)} % 3)",
            lambda: f"TABLE.get({self.value(0)}, {self.value(0)})",
        ]
        return choose.choice(forms)()

    def test(self, depth: int = 1) -> str:
        one = f"{self.value(depth)} {self.choose.choice(['<', '>', '==', '!=', '>='])} {self.value(depth)}"
        return self.choose.choice([one, one, f"{self.value(0)} in TABLE", f"not ({one})"])

    def statement(self, pad: str, depth: int = 2) -> str:
        choose = self.choose
        kinds: list[Callable[[], str]] = [
            lambda: f"{choose.choice(['a', 'b'])} {choose.choice(['', '+', '-'])}= {self.value()}",
            lambda: f"if m is None or {choose.choice(['m < ', 'm > ', ''])}{self.value(0)}:\n{pad}    m = {self.value(1)}",
            lambda: f"d['{choose.choice('pq')}'] {choose.choice(['', '+'])}= {self.value(1)}",
            lambda: f"r.{choose.choice('pq')} {choose.choice(['', '+'])}= {self.value(1)}",
            lambda: f"t = ({self.value(1)}, t[{choose.choice('01')}])",
            lambda: f"for j in range({choose.choice('123')}):\n{pad}    a += j * {self.value(0)}",
            lambda: f"b += m == {self.value(0)}",
            lambda: "m = None",
            lambda: f"a += 1 if m else {self.value(0)}",
        ]
        if depth:
            kinds += [
                lambda: f"if {self.test()}:\n{pad}    {self.statement(pad + '    ', depth - 1)}",
                lambda: (
                    f"if {self.test()}:\n{pad}    {self.statement(pad + '    ', depth - 1)}\n{pad}else:\n"
                    f"{pad}    {self.statement(pad + '    ', depth - 1)}"
                ),
                lambda: (
                    f"if {self.test()}:\n{pad}    {choose.choice(['break', 'return a', 'return 5', 'return -1', 'continue'])}"
                ),
            ]
        return choose.choice(kinds)()

    def function(self) -> str:
        choose = self.choose
        begin, header, elements = choose.choice(_HEADERS)
        states = [f"a = {choose.choice('012')}", "b = 0", "m = None", "d = {'p': 0, 'q': 1}", "r = R()", "t = (0, 1)"]
        guard = choose.choice(["", "", *_GUARDS])
        lines = [*([guard] if guard else []), *states, *([begin] if begin else [])]
        self.names = [*elements, "a", "b", "d['p']", "r.q", "t[0]"]
        body = [self.statement("        ") for _ in range(choose.randrange(1, 4))]
        if header.startswith("while"):
            body.append("i += 1")
        self.names = ["a", "b", "d['p']", "d['q']", "r.p", "r.q", "t[0]", "t[1]", "len(xs)"]
        ends = ["" if choose.random() < 0.8 else f"else:\n        a = {self.value(1)}"]
        results = [self.value(), "m", "m is None", "a, m", "m if m is not None else b", "a, d['p'], t[1]"]
        if choose.random() < 0.15 and header == "for x in xs:" and not guard:
            inside = [b for b in body if "return" not in b and "break" not in b and "continue" not in b]
            lines += [header, *(f"    {b}" for b in inside), f"    yield {choose.choice(['a', 'b', 'a + x', 't[0]'])}"]
            return "def f(xs: list[int]):\n    " + "\n    ".join(lines) + "\n"
        lines += [header, *(f"    {b}" for b in body), *(e for e in ends if e), f"return {choose.choice(results)}"]
        return "def f(xs: list[int]):\n    " + "\n    ".join(lines) + "\n"


_TESTS = (
    "c.isdigit()", "c.isalpha()", "c.isupper()", "c.isspace()", "c in 'aeiou'", "'a' <= c <= 'f'", "c == '('", "c != w",
    "ord(c) > 60", "c.lower() == 'q'", "c in ('a', 'b', '')", "c not in KINDS", "w == ''", "w < c", "c > 'Z'",
    "c.isalnum() and not c.isdigit()",
)  # fmt: skip


def text_function(choose: random.Random) -> str:
    def step() -> str:
        kinds = ["a += 1", "a = 0", "b = max(a, b)", "w = c", "a += ord(c)", "a += KINDS.get(c, 2)", "w = c.upper()", "w = ''"]
        return choose.choice([*kinds, "if c.isdigit():\n            a = a * 10 + int(c)"])

    header = choose.choice(["for c in xs:", "for c in xs:", "for c in xs.lower():", "for i, c in enumerate(xs):"])
    lines = ["a = b = 0", "w = ''", header]
    for _ in range(choose.randrange(1, 4)):
        ends = choose.choice(["", "", "", "break", "return b"])
        test = choose.choice(_TESTS)
        lines.append(f"    if {test}:\n            {ends or step()}")
        lines.append(f"    {step()}")
    lines.append(f"return {choose.choice(['a', 'b', 'a, b', 'a if w else b'])}")
    return "KINDS = {'x': 5, 'y': 6, '(': -1}\n\n\ndef f(xs: str):\n    " + "\n    ".join(lines) + "\n"


def random_form(case: int) -> str:
    """A file with a function `f`."""
    choose = random.Random(f"form {case}")
    return text_function(choose) if case % 4 == 3 else _PREFIX + _Writer(choose).function()
