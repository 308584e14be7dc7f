"""Random Python files with a loop function `f`, in the grammar that `warploom.scan` reads (and a little beyond it).

module   := constants (set again under `if` or by `+=`) helpers (defined twice, decorated, closures) rebound builtins `f`
f        := states, a loop of statements, a result
statement:= assignment | if | continue | assert
value    := and/or/not, comparisons (chained), conditionals, + - * / // % ** << >> & | ^ ~, min, max, abs, sum, helpers, tuples
"""

from __future__ import annotations

import random
from collections.abc import Callable

_TYPES = ("int", "int", "bool", "float", "Literal[-1, 0, 2]", "")
_LOOPS = ("for x, y in xs:", "for x, y in zip(xs, ys):", "for i, x in enumerate(xs):", "for i in range(len(xs)):", "for x in xs:")


class _Writer:
    def __init__(self, choose: random.Random, deepest: int = 3) -> None:
        self.choose = choose
        self.deepest = deepest
        """The greatest depth of expressions."""
        self.has_text = False
        """Whether there is a state `w` of a few texts."""
        self.names: list[str] = []
        """Readable where the text stands."""
        self.states: list[str] = []
        self.helpers: list[tuple[str, int]] = []
        self.floats = choose.random() < 0.3

    def module(self) -> str:
        parts = [
            "from fractions import Fraction\nfrom math import inf\nfrom typing import Literal\nimport math as m",
            *(
                part
                for part in (self._constants, self._rebound, self._helpers)
                if self.choose.random() < 0.6
                for part in [part()]
            ),
        ]
        return "\n".join([*parts, self._function()]) + "\n"

    def _number(self) -> str:
        if self.floats and self.choose.random() < 0.4:
            return self.choose.choice(["0.5", "2.0", "-1.5", "0.0", "0.25"])
        return self.choose.choice(["0", "1", "2", "3", "-1", "-2", "5", "True", "False"])

    def _constants(self) -> str:
        self.names += ["LIMIT", "STEP"]
        first, second = self._number(), self._number()
        lines = [f"LIMIT = {first}", f"STEP = {second}"]
        lines += self.choose.choice(
            [
                [],
                ["LIMIT += 2"],
                [f"if STEP > 0:\n    LIMIT = {self._number()}"],
                ["LIMIT, STEP = STEP, 3"],
                ["for STEP in (4, 1): pass"],
            ]
        )
        return "\n".join(lines)

    def _rebound(self) -> str:
        return self.choose.choice(
            [
                "inf = 7",
                "def max(u, v):\n    return u + v",
                "min = max",
                "def abs(u):\n    return u * u",
                "low = min",
                "def enumerate(u, v=5):\n    return [(9, w) for w in u]",
                "zip = None",
            ]
        )

    def _helpers(self) -> str:
        outside = self.names
        self.names = ["u", "v", *outside]
        body = f"def helper(u, v=2):\n    {self._block_of_helper()}"
        again = f"\ndef helper(u, v={self._number()}):\n    return {self.value(2)}"
        self.names = outside
        made = self.choose.choice(
            [
                body,
                body + again,
                "def same(g):\n    return g\n@same\n" + body,
                "def other(g):\n    def changed(u, v=1):\n        return u - v\n    return changed\n@other\n" + body,
                f"def make(w):\n    def helper(u, v=w):\n        return u * w + v\n"
                f"    return helper\nhelper = make({self._number()})",
            ]
        )
        self.helpers.append(("helper", 2))
        return made

    def _block_of_helper(self) -> str:
        if self.choose.random() < 0.4:
            return f"if {self.value(1)}:\n        return {self.value(2)}\n    return {self.value(2)}"
        return f"return {self.value(2)}"

    def _function(self) -> str:
        choose = self.choose
        header = choose.choice(_LOOPS)
        types = [choose.choice([t for t in _TYPES if self.floats or t != "float"]) for _ in range(2)]
        item = types[0]
        if "x, y in xs" in header:
            item = f"tuple[{types[0] or 'int'}, {types[1] or 'int'}]" if choose.random() < 0.8 else ""
        annotation = f": list[{item}]" if item else ""
        constant = choose.choice(["", ", k", ", k: int = 3"])
        if "zip" in header:
            annotation += f", ys: list[{types[1]}]" if types[1] else ", ys"
        self.has_text = choose.random() < 0.15
        self.states = ["a", "b", "c"][: choose.randrange(1, 4)]
        lines: list[str] = []
        starts = ["0", "0", "1", "False", "inf", "-inf", "m.inf", *(["0.0"] if self.floats else []), *(["k"] if constant else [])]
        lines += [f"    {s} = {choose.choice(starts)}" for s in self.states]
        if choose.random() < 0.1:
            lines.append("    x = 4")
        element = "xs[i]" if "range" in header else "x"
        self.names += [element, *(["y"] if ", y" in header else []), *(["i"] if "i" in header.split(" in ")[0] else [])]
        self.names += [*self.states, *(["k"] if constant else [])]
        appends = choose.random() < 0.25
        lines += ["    out = []"] if appends else []
        lines += ['    w = "p"'] if self.has_text else []
        lines.append(f"    {header}")
        lines += self._block(2, 3, 2)
        if appends:
            lines.append(f"        out.append({self.value(2)})")
            return f"def f(xs{annotation}{constant}):\n" + "\n".join([*lines, "    return out"])
        self.names = [n for n in self.names if n in (*self.states, "k", "LIMIT", "STEP")]
        result = self.choose.choice([", ".join(self.states), self.value(2)])
        return f"def f(xs{annotation}{constant}):\n" + "\n".join([*lines, f"    return {result}"])

    def _block(self, indent: int, most: int, depth: int) -> list[str]:
        pad = "    " * indent
        lines: list[str] = []
        choose = self.choose
        for _ in range(choose.randrange(1, most + 1)):
            kind = self.choose.random()
            if kind < 0.35 and depth:
                lines.append(f"{pad}if {self.value(2)}:")
                lines += self._block(indent + 1, 2, depth - 1)
                if self.choose.random() < 0.5:
                    lines.append(f"{pad}else:")
                    lines += self._block(indent + 1, 2, depth - 1)
            elif kind < 0.4 and self.has_text:
                lines.append(f"{pad}w = " + choose.choice(["'q'", f"'' if {self.value(1)} else 'p'", "w or 'r'", "w and 'q'"]))
            elif kind < 0.45:
                lines.append(f"{pad}assert {self.value(2)}")
            elif kind < 0.52 and indent > 2:
                lines.append(f"{pad}continue")
            elif kind < 0.65:
                lines.append(
                    f"{pad}{self.choose.choice(self.states)} {self.choose.choice(['+', '-', '+', '*'])}= {self.value(2)}"
                )
            elif kind < 0.72 and len(self.states) > 1:
                one, two = self.choose.sample(self.states, 2)
                lines.append(f"{pad}{one}, {two} = {self.value(2)}, {self.value(1)}")
            elif kind < 0.85:
                sign = self.choose.choice(["//", "%", ">>", "*", "and", "or", "/", "<", "==", "%"])
                by = self.choose.choice(["2", "3", "-2", "-3", "4"]) if sign in ("//", "%") else self._number()
                by = "1" if sign == ">>" else by
                lines.append(f"{pad}{self.choose.choice(self.states)} += {self.choose.choice(self.names)} {sign} {by}")
            else:
                lines.append(f"{pad}{self.choose.choice(self.states)} = {self.value(self.choose.randrange(1, 4))}")
        return lines

    def value(self, depth: int) -> str:
        choose = self.choose
        depth = min(depth, self.deepest)
        if depth == 0 or choose.random() < 0.15:
            return choose.choice(self.names) if self.names and choose.random() < 0.7 else self._number()

        def part() -> str:
            return self.value(depth - 1)

        forms: list[Callable[[], str]] = [
            lambda: f"({part()} {choose.choice(['+', '-', '+', '-', '*', '/', '&', '|', '^'])} {part()})",
            lambda: f"({part()} {choose.choice(['//', '%', '*', '/'])} {choose.choice(['2', '3', '-2', '4', '-3'])})",
            lambda: f"({part()} {choose.choice(['** 2', '<< 1', '>> 1', '** 0'])})",
            lambda: f"({part()} {choose.choice(['and', 'or'])} {part()})",
            lambda: f"({part()} {choose.choice(['and', 'or'])} {part()} {choose.choice(['and', 'or'])} {part()})",
            lambda: f"(not {part()})",
            lambda: f"({choose.choice('-+~')}{part()})",
            lambda: f"({part()} {self._sign()} {part()})",
            lambda: f"({part()} {self._sign()} {part()} {self._sign()} {part()})",
            lambda: f"({part()} if {part()} else {part()})",
            lambda: f"{choose.choice(['max', 'min'])}({part()}, {part()})",
            lambda: f"{choose.choice(['abs', 'bool', 'abs'])}({part()})",
            lambda: f"({part()} in ({self._number()}, {self._number()}))",
            lambda: f"({part()}, {part()})[{choose.choice(['0', '-1', part()])}]",
            lambda: f"sum(({part()}, {part()}))",
            lambda: self._guarded(depth),
        ]
        if self.has_text:
            forms += [lambda: f"(w {choose.choice(['==', '!='])} {choose.choice(['p', 'q', ''])!r})", lambda: "bool(w)"] * 2
        if self.helpers:
            forms += [lambda: f"helper({part()}, {part()})", lambda: f"helper({part()})"]
        return choose.choice(forms)()

    def _guarded(self, depth: int) -> str:
        """A division behind what keeps 0 away."""
        by = self.choose.choice(self.names) if self.names else "2"
        over = self.value(depth - 1)
        return self.choose.choice(
            [f"({by} != 0 and {over} / {by} > 1)", f"({by} == 0 or {over} / {by} < 2)", f"({over} / {by} if {by} else {over})"]
        )

    def _sign(self) -> str:
        return self.choose.choice(["<", "<=", ">", ">=", "==", "!="])


def random_module(case: int) -> str:
    """The same text for the same case."""
    return _Writer(random.Random(case)).module()


def simple_module(case: int) -> str:
    """With shallow expressions, so that operators are found."""
    return _Writer(random.Random(case), deepest=1).module()
