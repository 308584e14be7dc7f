"""Reads compositions in the notation of `compositions`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from warploom.core import Diagnostic, UserError
from warploom.ir.swizzle.compositions import Composition
from warploom.ir.swizzle.primitives import Cm2Linear, Fan, Group, Primitive, Rot, Unit, Xor, faults

_TOKEN = re.compile(r"\s*(?:(-?\d+)|([A-Za-z]\w*)|([(),=]))")


def parse_composition(text: str) -> Composition:
    """The composition that prints as `text`; UserError where it is not in the notation."""
    reader = _Reader(text)
    composition = reader.composition()
    reader.end()
    return composition


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, int]] = []
        self._next = 0
        # Every parameter must be the index that the composition does not start from: known at the end only.
        self._parameters: list[tuple[str, int]] = []
        place = 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._error("expected a number, a name or one of ( ) , =", place)
            self._tokens.append((match[0].strip(), match.start() + len(match[0]) - len(match[0].lstrip())))
            place = match.end()

    def composition(self) -> Composition:
        if self._peek() in ("i", "j") and len(self._tokens) == 1:
            return Composition(self._name(("i", "j")))
        grouped = self._peek() == "("
        if grouped:
            self._take("(")
        primitives = [self._primitive()]
        while grouped and self._peek() == "o":
            self._take("o")
            primitives.append(self._primitive())
        if grouped:
            self._take(")")
        self._take("(")
        start = self._name(("i", "j"))
        self._take(")")
        for parameter, place in self._parameters:
            if parameter == start:
                raise self._error(f"expected the other index than {start} as k, got {parameter}", place)
        return Composition(start, tuple(primitives))

    def end(self) -> None:
        if self._next < len(self._tokens):
            raise self._error("expected the end", self._place())

    def _primitive(self) -> Primitive:
        place = self._place()
        kind = self._name(("rot", "fan", "xor", "cm2linear", "group", "unit"))
        self._take("(")
        numbers = [self._number()]
        for _ in range({"cm2linear": 1, "unit": 1}.get(kind, 0)):
            self._take(",")
            numbers.append(self._number())
        inner: Primitive | None = None
        if kind in ("group", "unit"):
            self._take(",")
            inner = self._primitive()
        self._take(")")
        primitive = self._build(kind, numbers, inner)
        fault = faults(primitive)
        if fault:
            raise self._error(fault, place)
        return primitive

    def _build(self, kind: str, numbers: Sequence[int], inner: Primitive | None) -> Primitive:
        if inner is not None:
            return Group(numbers[0], inner) if kind == "group" else Unit(numbers[0], numbers[1], inner)
        names = {"rot": ("k", "cr", "dr", "c"), "fan": ("cf",), "xor": ("k", "dr", "c"), "cm2linear": ("k",)}[kind]
        place = self._place()
        settings, uses = self._settings(names)
        if kind == "fan":
            return Fan(numbers[0], settings["cf"])
        if kind == "cm2linear":
            return Cm2Linear(numbers[0], numbers[1])
        if not uses and ("cr" in settings or "dr" in settings):
            raise self._error("expected k=... beside cr and dr", place)
        if kind == "xor":
            return Xor(numbers[0], settings.get("dr", 1) if uses else 0, settings.get("c", 0))
        if uses and not ("cr" in settings or "dr" in settings):
            raise self._error("expected cr=... or dr=... beside k", place)
        return Rot(numbers[0], settings.get("cr", 0), settings.get("dr", 0), settings.get("c", 0))

    def _settings(self, names: tuple[str, ...]) -> tuple[dict[str, int], bool]:
        """Values by name, one at least, and whether k is among them."""
        values: dict[str, int] = {}
        uses = False
        self._take("(")
        while True:
            name = self._name(names)
            self._take("=")
            if name == "k":
                uses = True
                place = self._place()
                self._parameters.append((self._name(("i", "j")), place))
            else:
                values[name] = self._number(signed=name == "dr")
            if self._peek() != ",":
                break
            self._take(",")
        self._take(")")
        return values, uses

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _place(self) -> int:
        return self._tokens[self._next][1] if self._next < len(self._tokens) else len(self._text)

    def _take(self, token: str) -> None:
        if self._peek() != token:
            raise self._error(f"expected `{token}`, got `{self._peek()}`", self._place())
        self._next += 1

    def _name(self, names: tuple[str, ...]) -> str:
        found = self._peek()
        if found not in names:
            raise self._error(f"expected {' or '.join(names)}, got `{found}`", self._place())
        self._next += 1
        return found

    def _number(self, *, signed: bool = False) -> int:
        found = self._peek()
        if not (found.removeprefix("-") if signed else found).isdigit():
            raise self._error(f"expected a number, got `{found}`", self._place())
        self._next += 1
        return int(found)

    def _error(self, message: str, place: int) -> UserError:
        note = f"{message} at column {place + 1} of `{self._text}`"
        fix = "Write it as in (rot(12)(k=j, cr=1, dr=4) o fan(12)(cf=5))(i)."
        return UserError(Diagnostic("BAD_COMPOSITION", note, fix=fix))
