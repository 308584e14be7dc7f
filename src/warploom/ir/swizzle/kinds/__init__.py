"""The kinds of holes, one file each.

Takes nothing. Gives the words of sketches that stand for holes, and for each kind what the rest must know of it. A new kind is a
file beside `kind.py` (open it first) and a row in `KINDS`; its word becomes public as the other names do, in
`warploom/__init__.pyi`.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Mapping

from warploom.ir.kernel.nodes import Hole
from warploom.ir.swizzle.kinds.bits import Bits, bits
from warploom.ir.swizzle.kinds.choose import Choose, choose
from warploom.ir.swizzle.kinds.compose import Compose, compose
from warploom.ir.swizzle.kinds.cond import Cond, cond
from warploom.ir.swizzle.kinds.const import Const, const
from warploom.ir.swizzle.kinds.kind import HoleKind
from warploom.ir.swizzle.kinds.part import Part, part
from warploom.ir.swizzle.kinds.power import Power, power
from warploom.ir.swizzle.kinds.xform import Xform, xform

KINDS: Mapping[str, HoleKind] = {
    kind.name: kind for kind in (Cond(), Part(), Xform(), Bits(), Compose(), Power(), Const(), Choose())
}
"""Every kind of hole by its word."""


def kind_of(hole: Hole) -> HoleKind:
    return KINDS[hole.kind]


def documentation() -> str:
    """The list of holes as docs/language.md shows it."""
    rows = [f"- `wl.{kind.name}({_signature(kind)})`: {' '.join(kind.notes.split())}" for kind in KINDS.values()]
    return "\n".join(textwrap.fill(row, 138, subsequent_indent="  ", break_on_hyphens=False) for row in rows)


def _signature(kind: HoleKind) -> str:
    shown: list[str] = []
    for name, parameter in inspect.signature(kind.word).parameters.items():
        if name == "name":
            continue
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            shown.append(f"*{name}")
        elif name == "grammar":
            shown.append("grammar=" + "|".join(f'"{g}"' for g in kind.grammars))
        else:
            shown.append(name if parameter.default is inspect.Parameter.empty else f"{name}={parameter.default!r}")
    return ", ".join(shown)


__all__ = [
    "KINDS",
    "HoleKind",
    "bits",
    "choose",
    "compose",
    "cond",
    "const",
    "documentation",
    "kind_of",
    "part",
    "power",
    "xform",
]
