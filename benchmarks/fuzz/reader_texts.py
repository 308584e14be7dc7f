"""Texts for `benchmarks.fuzz.readers`: Python of the accepted subsets, by grammar."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["spec", "sketch", "tensor"]
KINDS: tuple[Kind, ...] = ("spec", "sketch", "tensor")


@dataclass(frozen=True, slots=True)
class ReaderText:
    """One function."""

    kind: Kind
    text: str
    python: str = ""
    """Tensor functions: the value of `Y[i, j]` as Python's own expression."""
    dtype: str = "i64"


def random_text(case: int) -> ReaderText:
    """Case `case`."""
    rng = random.Random(case)
    kind = KINDS[case % len(KINDS)]
    return _tensor(rng) if kind == "tensor" else _Writer(rng, kind).text()


def _constants(rng: random.Random) -> list[str]:
    """Module constants `K` and `L`, bound again in ways that only running the file tells."""
    lines = [f"K = {rng.randint(1, 4)}", f"L = {rng.randint(1, 4)}"]
    again = [
        ["if K > 2:", "    K = 1"],
        ["K += 1"],
        ["for K in (1, 2):", "    pass"],
        ["K, L = L, K"],
        ["L = K if L else 2"],
        ["globals()['K'] = 3"],
        ["def change():", "    global L", "    L = 4", "change()"],
    ]
    for change in rng.sample(again, rng.randint(0, 3)):
        lines += change
    return lines


@dataclass(slots=True)
class _Writer:
    """One spec or sketch."""

    rng: random.Random
    kind: Kind
    lines: list[str] = field(default_factory=list[str])
    indices: list[str] = field(default_factory=list[str])
    """Names that hold indices here."""
    values: list[str] = field(default_factory=list[str])
    """Names that hold data here."""
    loops: set[str] = field(default_factory=set[str])
    names: int = 0
    has_helper: bool = False
    has_effects: bool = False

    def text(self) -> ReaderText:
        rng, is_spec = self.rng, self.kind == "spec"
        self.lines = _constants(rng)
        if rng.random() < 0.6:
            self._helpers()
        if is_spec and rng.random() < 0.3:
            self._effects()
        if is_spec:
            self.lines.append("def spec(x, s, y, n):")
            self.indices = ["n"]
        else:
            array = "wl.Global[wl.i64, 8]"
            self.lines += [f"def k(x: {array}, s: {array}, y: {array}):", "    t = tid()"]
            self.indices = ["t"]
        if rng.random() < 0.2:
            self.lines.append(f"    K = {rng.randint(1, 3)}")
        self._block(4, 3)
        if not is_spec:
            self.lines.append(f"    y[t] = {self.data(2)}")
        elif rng.random() < 0.5:
            self.lines += ["    for q in range(n):", f"        y[q] {rng.choice(['=', '+='])} {self.data(2, 'q')}"]
        if rng.random() < 0.3:
            self.lines += [f"K = {rng.randint(5, 7)}"] if is_spec else []
        return ReaderText(self.kind, "\n".join(self.lines) + "\n")

    # ------------------------------------------------------------ helpers

    def _helpers(self) -> None:
        """`h(v, k)`, now and then defined twice; what is defined last counts."""
        rng = self.rng
        self.has_helper = True
        for _ in range(rng.choice((1, 1, 2))):
            if self.kind == "sketch":
                self.lines.append("@device")
            default = rng.choice(("K", "2", "K + L"))
            self.lines.append(f"def h(v, k={default}):")
            shape = rng.randint(0, 3)
            inner = _Writer(rng, self.kind, [], ["k"], ["v"])
            if shape == 0:
                self.lines.append(f"    return {inner.data(2, reads=False)}")
            elif shape == 1:
                self.lines += [
                    f"    if {inner.condition(1)}:", f"        return {inner.data(1, reads=False)}",
                    f"    return {inner.data(1, reads=False)}",
                ]  # fmt: skip
            elif shape == 2:
                self.lines += [
                    f"    if {inner.condition(1)}:", f"        if {inner.condition(1)}:",
                    f"            return {inner.data(1, reads=False)}", f"    v = {inner.data(1, reads=False)}", "    return v",
                ]  # fmt: skip
            else:
                self.lines += [
                    f"    g = lambda w: w + {rng.choice(['v', 'v', '1'])}", f"    r = {inner.data(1, reads=False)}",
                    "    return g(r) - k" if self.kind == "spec" else "    return g(r)",
                ]  # fmt: skip

    def _effects(self) -> None:
        """`put(a, k, v)`, which stores or leaves early."""
        rng = self.rng
        self.has_effects = True
        inner = _Writer(rng, self.kind, [], ["k"], ["v"])
        self.lines += [
            "def put(a, k, v):", f"    if {inner.condition(1)}:", f"        a[k] = v {rng.choice('+-')} 1",
            f"        if {inner.condition(1)}:", "            return",
        ]  # fmt: skip
        if rng.random() < 0.5:
            self.lines += ["    elif k > 1:", "        return"]
        self.lines.append(f"    a[k] = a[k] {rng.choice('+-')} v")
        self.lines += ["def taken(a, k, v):", "    a[k] = v", f"    return v {rng.choice('+-')} 1"]

    # ------------------------------------------------------------ statements

    def _block(self, indent: int, depth: int) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self._statement(" " * indent, indent, depth)

    def _statement(self, pad: str, indent: int, depth: int) -> None:
        rng = self.rng
        kind = rng.choice(["index", "value", "store", "store", "if", "for", "again", "swap", "turn", "inner"])
        if kind == "index":
            self.lines.append(f"{pad}{self._new('k')} = {self.index(2)}")
            self.indices.append(f"k{self.names}")
        elif kind == "value":
            self.lines.append(f"{pad}{self._new('v')} = {self.element(1)} + {self.data(1)}")
            self.values.append(f"v{self.names}")
        elif kind == "store" and self.has_effects and rng.random() < 0.5:
            if rng.random() < 0.5:
                self.lines.append(f"{pad}put(y, {self.place()}, {self.data(1)})")
            else:
                place = self.place()
                self.lines.append(f"{pad}y[{place}] {rng.choice('+-')}= taken(y, {place}, {self.data(1)})")
        elif kind == "store" and self.kind == "spec":
            op = rng.choice(["=", "=", "+=", "-=", "^=", "&="])
            self.lines.append(f"{pad}y[{self.place()}] {op} {self.data(2)}")
        elif kind == "if" and depth:
            self._if(pad, indent, depth)
        elif kind == "for" and depth:
            self._for(pad, indent, depth)
        elif kind == "again" and self.values:
            name = rng.choice(self.values)
            if rng.random() < 0.5:
                self.lines.append(f"{pad}{name} {rng.choice(['+=', '-=', '|='])} {self.data(1)}")
            else:
                self.lines.append(f"{pad}{name} = {self.data(2)} - {name}")
        elif kind == "turn" and (own := [k for k in self.indices if k[0] == "k"]):
            name = rng.choice(own)
            self.lines.append(f"{pad}{name} {rng.choice(['+= 1', '-= K', f'= {self.index(1)}', '*= 2', '//= 2'])}")
        elif kind == "inner" and self.values:
            name = self._new("f")
            self.lines += [
                f"{pad}{name} = lambda w, u=2: {rng.choice(self.values)} - w * {rng.choice([*self.indices, 'K'])}"
                if self.kind == "spec" and rng.random() < 0.3 else
                f"{pad}{name} = lambda w: {rng.choice(self.values)} - w * {rng.choice(['K', 'L', '3'])}",
                f"{pad}{rng.choice(self.values)} = {name}({self.data(1)})",
            ]  # fmt: skip
        elif kind == "swap" and len(self.values) > 1:
            a, b = rng.sample(self.values, 2)
            self.lines.append(f"{pad}{a}, {b} = {b} + {self.data(0)}, {a}")
        else:
            self.lines.append(f"{pad}pass")

    def _if(self, pad: str, indent: int, depth: int) -> None:
        before = list(self.indices), list(self.values)
        self.lines.append(f"{pad}if {self.condition(2)}:")
        self._block(indent + 4, depth - 1)
        self.indices, self.values = list(before[0]), list(before[1])
        if self.rng.random() < 0.4:
            self.lines.append(f"{pad}elif {self.condition(1)}:")
            self._block(indent + 4, depth - 1)
            self.indices, self.values = list(before[0]), list(before[1])
        if self.rng.random() < 0.5:
            self.lines.append(f"{pad}else:")
            self._block(indent + 4, depth - 1)
        self.indices, self.values = list(before[0]), list(before[1])

    def _for(self, pad: str, indent: int, depth: int) -> None:
        rng = self.rng
        variable = rng.choice(["i", "j", self._new("i")])
        if variable in self.loops:
            variable = self._new("i")
        before = list(self.indices), list(self.values)
        bound = rng.choice(["n", "3", "K", "L + 1"]) if self.kind == "spec" else rng.choice(["3", "K", "L + 1"])
        head = rng.choice([bound, f"1, {bound}", f"{bound}, 0, -1", f"{bound}, -2, -2", f"0, {bound}, 2", "2, 2"])
        self.lines.append(f"{pad}for {variable} in range({head}):")
        self.indices.append(variable)
        self.loops.add(variable)
        self._block(indent + 4, depth - 1)
        self.loops.discard(variable)
        self.indices, self.values = before

    def _new(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    # ------------------------------------------------------------ expressions

    def place(self) -> str:
        size = "n" if self.kind == "spec" else "8"
        return f"({self.index(2)}) % {size}"

    def element(self, depth: int) -> str:
        arrays = "xsy" if self.kind == "spec" and self.rng.random() < 0.3 else "xs"
        return f"{self.rng.choice(arrays)}[{self.place()}]"

    def index(self, depth: int) -> str:
        rng = self.rng
        if depth == 0 or rng.random() < 0.3:
            return rng.choice([*self.indices, "K", "L", str(rng.randint(-3, 5))])
        a, b = self.index(depth - 1), self.index(depth - 1)
        forms = [
            f"({a} + {b})", f"({a} - {b})", f"{a} * {rng.randint(-2, 3)}", f"({a}) // {rng.choice([2, 3, -2])}",
            f"({a}) % {rng.choice([2, 3, -3])}", f"min({a}, {b})", f"max({a}, {b})", f"-({a})", f"({a}) & 3",
            f"(({a}) << {rng.randint(0, 3)})", f"(({a}) >> {rng.randint(0, 2)})", f"(({a}) ^ ({b}))", f"(({a}) | 1)",
            f"({a} if {self.condition(0)} else {b})", f"~({a})", f"({a} or {b})", f"({a} and {b})",
        ]  # fmt: skip
        return rng.choice(forms)

    def condition(self, depth: int) -> str:
        rng = self.rng
        a, b, c = (self.index(1 if depth else 0) for _ in range(3))
        compare = rng.choice(["<", "<=", ">", ">=", "==", "!="])
        simple = [f"{a} {compare} {b}", f"{a} {compare} {b} {rng.choice(['<', '<=', '!='])} {c}", f"({a}) % 2 == 0"]
        if depth == 0:
            return rng.choice(simple)
        left, right = self.condition(depth - 1), self.condition(depth - 1)
        divisor = rng.choice(self.indices)
        forms = [
            *simple, f"({left} and {right})", f"({left} or {right})", f"not ({left})",
            f"({divisor} != 0 and ({a}) // {divisor} > 1)", f"({divisor} == 0 or ({a}) % {divisor} == 1)",
        ]  # fmt: skip
        return rng.choice(forms)

    def data(self, depth: int, extra: str = "", *, reads: bool = True) -> str:
        rng = self.rng
        if extra:
            self.indices.append(extra)
            found = self.data(depth, reads=reads)
            self.indices.remove(extra)
            return found
        if depth == 0 or rng.random() < 0.2:
            return rng.choice([*self.values, self.element(1)]) if reads else rng.choice(self.values)
        a, b = self.data(depth - 1, reads=reads), self.data(depth - 1, reads=reads)
        number = str(rng.randint(-5, 9))
        choices = [
            f"({a} + {b})", f"({a} - {b})", f"{a} * {rng.choice([number, 'K'])}", f"min({a}, {b})", f"max({a}, {b}, {number})",
            f"-({a})", f"~({a})", f"(({a}) & ({b}))", f"(({a}) ^ 5)", f"(({a}) >> {rng.randint(0, 3)})",
            f"({a}) // {rng.choice([2, 3, -3, 8])}", f"({a}) % {rng.choice([4, 7, -5])}",
            f"(({a}) << {rng.randint(0, 2)})", f"({a} if {self.condition(1)} else {b})", f"({number} - {a})",
        ]  # fmt: skip
        if self.kind == "spec":
            choices += [f"({a} + {self.index(1)})", f"max({a}, {self.index(1)})"]
        if self.has_helper:
            choices += [f"h({a})", f"h({a}, {self.index(1)})", f"h(k={self.index(1)}, v={a})"]
        return rng.choice(choices)


def _tensor(rng: random.Random) -> ReaderText:
    """`Y[i, j]` from `X` of m x (n + 2) and `Z` of n elements."""
    dtype = rng.choice(["f64", "i64"])
    lines = ["from __future__ import annotations", *_constants(rng)]
    reductions = 0

    def index(name: str, reach: int) -> str:
        return rng.choice([name, f"{name} + {rng.randint(0, reach)}", f"{rng.randint(0, reach)} + {name}"])

    def leaf(k: str) -> str:
        shifted = f"pad(X, {rng.randint(-2, 2)})[i - {rng.randint(0, 1)}, j + {rng.choice(['K', '1', '2'])} - 2]"
        choices = [f"X[i, {index('j', 2)}]", "Z[j]", shifted, f"X[i, {rng.choice(['1 * j', 'j * 1', '2 + j - 1'])}]"]
        if k:
            choices += [f"X[i, j + {k}]"] * 3
        return rng.choice(choices)

    def value(depth: int, k: str) -> tuple[str, str]:
        """The text of the tensor function, and Python's."""
        nonlocal reductions
        if depth == 0 or rng.random() < 0.15:
            if rng.random() < 0.25:
                same = rng.choice(["K", "L", "n", str(rng.randint(-4, 5)), "(K - 3)", "2 * L"])
                return same, same
            same = leaf(k)
            return same, same
        a, b = value(depth - 1, k), value(depth - 1, k)
        shape = rng.randint(0, 9)
        if shape == 9 and not k and reductions < 2:
            reductions += 1
            inner, name = value(depth - 1, "k"), rng.choice(["sum", "max", "min"])
            carried = f"X[i, j + k] + {inner[0]}", f"X[i, j + k] + {inner[1]}"
            return f"{name}({carried[0]}, over=k)", f"{name}({carried[1]} for k in range(3))"
        if shape == 8 and dtype == "f64":
            return f"({a[0]} / (1 + abs({b[0]})))", f"({a[1]} / (1 + abs({b[1]})))"
        forms = [
            "({a} + {b})", "({a} - {b})", "({a} * {b})", "max({a}, {b})", "min({a}, {b})", "-({a})", "({a} + {b}) ** 2",
            "max({a}, {b}, 1)", "abs({a})" if dtype == "f64" else "({a} - 7)",
        ]  # fmt: skip
        form = rng.choice(forms)
        return form.format(a=a[0], b=b[0]), form.format(a=a[1], b=b[1])

    body, python = value(3, "")
    body, python = f"X[i, j] + Z[j] * 0 + {body}", f"X[i, j] + Z[j] * 0 + {python}"
    lines += [
        f'def f(X: {dtype}["m", "n + 2"], Z: {dtype}["n"], Y: out[{dtype}["m", "n"]]):',
        "    k: range(3)",
    ]  # fmt: skip
    if rng.random() < 0.3:
        lines += [f"    t[i, j] = {body}", "    Y[i, j] = t[i, j]"]
    else:
        lines.append(f"    Y[i, j] = {body}")
    return ReaderText("tensor", "\n".join(lines) + "\n", python, dtype)
