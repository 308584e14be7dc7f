"""Names of statements, parts of axes, arrays and pairs: what people write and read for the objects of a kernel's space."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from warploom.core import Diagnostic, UserError
from warploom.schedule.choices.objects import Objects

_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*\Z", re.DOTALL)

SORTS: Mapping[str, tuple[str, ...]] = {
    "order": ("statement", "statement"),
    "dim_kind": ("statement",),
    "size": ("extent",),
    "thread_mapping": ("statement", "statement"),
    "dim_mapping": ("pair",),
    "mem_space": ("region",),
    "layout": ("pair", "pair"),
    "cache": ("statement",),
    "partials": ("statement",),
    "stages": ("region",),
    "spread": ("region",),
    "swizzle": ("region",),
    "prefetch": ("kernel",),
    "direction": ("kernel",),
    "mirror": ("kernel",),
    "warps": ("kernel",),
}
"""Subjects of the choices that people may set."""


@dataclass(frozen=True, slots=True)
class Names:
    """By sort, the name of each object: `mad`, `mad.n1` (loop of an instruction over a part of an axis), `n1`, an array's name,
    `load_A.m1->mad.m1`."""

    of: Mapping[str, tuple[str, ...]]

    def text(self, choice: str, arguments: Iterable[object]) -> str:
        """The decision as people write it, `order(mad.n1, store.n1)`."""
        listed = [self.of[sort][int(str(a))] for sort, a in zip(SORTS[choice], arguments, strict=True)]
        return f"{choice}({', '.join(listed)})"

    def parse(self, text: str) -> tuple[str, tuple[int, ...]]:
        """(choice, objects) of `choice(name, ...)`; UserError (CHOICE) for what is not known."""
        matched = _CALL.match(text)
        if matched is None:
            _wrong("expected choice(name, ...)", text, "for example dim_kind(mad.n1)")
        choice, inside = matched.groups()
        if choice not in SORTS:
            _wrong(f"expected one of {', '.join(SORTS)}", choice, _close(choice, SORTS))
        given = [word.strip() for word in inside.split(",")] if inside.strip() else []
        sorts = SORTS[choice]
        if len(given) != len(sorts):
            _wrong(
                f"expected {len(sorts)} name(s) in {choice}(...)", f"{len(given)} in {text.strip()}", "separate them by commas"
            )
        return choice, tuple(self._find(sort, name) for sort, name in zip(sorts, given, strict=True))

    def _find(self, sort: str, name: str) -> int:
        known = self.of[sort]
        if name not in known:
            _wrong(f"expected the name of a {_SORT_TEXT[sort]}", name, _close(name, known))
        return known.index(name)


_SORT_TEXT = {
    "statement": "statement (an instruction, or instruction.axis and level)",
    "extent": "part of an axis (axis and level)",
    "region": "array",
    "pair": "pair (loop->loop)",
    "kernel": "kernel",
}


def names_of(objects: Objects) -> Names:
    backbone = objects.backbone
    extents = tuple(f"{backbone.axes[e.axis].name}{e.level}" for e in backbone.extents)
    statements = [""] * objects.statements
    for operation in objects.operations:
        statements[operation.statement] = operation.name
    for loop in objects.loops:
        statements[loop.statement] = f"{statements[loop.owner]}.{extents[loop.extent]}"
    regions = (*(r.name for r in backbone.regions), *(f"tmp_{t.name}" for t in objects.temporaries))
    pairs = tuple(f"{statements[p.source]}->{statements[p.target]}" for p in objects.pairs)
    return Names(
        {"statement": tuple(statements), "extent": extents, "region": regions, "pair": pairs, "kernel": (backbone.name,)}
    )


def _close(word: str, known: Iterable[str]) -> str:
    listed = list(known)
    near = difflib.get_close_matches(word, listed, 3, 0.5) or listed[:6]
    return f"did you mean {', '.join(near)}?"


def _wrong(expected: str, got: str, fix: str) -> NoReturn:
    raise UserError(Diagnostic("CHOICE", f"{expected}, got {got}", fix=fix))
