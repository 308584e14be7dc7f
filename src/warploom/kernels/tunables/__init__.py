"""Families of the library's kernels with their parameters open: outputs per lane, warps per block, units of a word or of several.

Takes a name such as `conv2d-3`, `mult64`, `ffm-64` or `aos-store-6`. Gives the `TunableSketch` of that name. Open `__init__.py`
(the families by name), then `records.py` (arrays of structures) and `products.py` (products of polynomials).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from warploom.core import Diagnostic, UserError
from warploom.kernels import image, line
from warploom.kernels.tunables.products import PAIR_SIZES, ffm, mult
from warploom.kernels.tunables.records import TILE_SIZES, store, total, units
from warploom.schedule.sketches import TunableSketch, Tuning
from warploom.sketch import Sketch

WARPS = (1, 2, 4, 8)
LINE: dict[str, tuple[Tuning, ...]] = {"outputs": (1, 2, 4, 8), "warps": WARPS}
IMAGE: dict[str, tuple[Tuning, ...]] = {
    "outputs": ((1, 1), (2, 1), (4, 1), (4, 2), (4, 4), (8, 1)),
    "warp_shape": ((1, 32), (2, 16), (4, 8), (8, 4)),
    "warps": WARPS,
}
LINE_SIZES = {"n": 1 << 24}
IMAGE_SIZES = {"h": 4096, "w": 4096}
MEMORIES = ("registers", "shared")


@dataclass(frozen=True, slots=True)
class _Family:
    form: str
    """The names, for people."""
    pattern: str
    """The names; its first number is that of the kernel."""
    numbers: range
    build: Callable[..., Sketch]
    """Takes the number, then every parameter by name."""
    parameters: Callable[[int], dict[str, tuple[Tuning, ...]]]
    sizes: dict[str, int]


def _records(number: int) -> dict[str, tuple[Tuning, ...]]:
    return {"unit": units(number), "warps": WARPS}


_FAMILIES = (
    _Family("stencil1d-K", r"stencil1d-(\d+)", range(2, 65), line.stencil1d, lambda _: LINE, LINE_SIZES),
    _Family("conv1d-K", r"conv1d-(\d+)", range(2, 65), line.conv1d, lambda _: LINE, LINE_SIZES),
    _Family("stencil2d-K", r"stencil2d-(\d+)", range(2, 65), image.stencil2d, lambda _: IMAGE, IMAGE_SIZES),
    _Family("conv2d-K", r"conv2d-(\d+)", range(2, 65), image.conv2d, lambda _: IMAGE, IMAGE_SIZES),
    _Family("multN", r"mult(32|64)", range(32, 65, 32), mult, lambda _: {"memory": MEMORIES, "warps": WARPS}, PAIR_SIZES),
    _Family("ffm-D", r"ffm-(\d+)", range(32, 1025, 32), ffm, lambda _: {"memory": MEMORIES}, PAIR_SIZES),
    _Family(
        "aos-store-S", r"aos-store-(\d+)", range(1, 17), store,
        lambda words: {"order": ("crc", "rcr", "shared"), **_records(words)}, TILE_SIZES,
    ),
    _Family(
        "aos-sum-S", r"aos-sum-(\d+)", range(1, 17), total,
        lambda words: {"order": ("crc", "shared"), **_records(words)}, TILE_SIZES,
    ),
)  # fmt: skip


def tunable_sketch(name: str) -> TunableSketch:
    """The family of `conv2d-3`, `mult64`, ...; UserError (UNKNOWN_TUNABLE)."""
    family, number = _found(name)
    if family is None or number not in family.numbers:
        forms = ", ".join(f"{f.form} ({_told(f.numbers)})" for f in _FAMILIES)
        fix = f"Use a number from {_told(family.numbers)}." if family is not None else "Use one of these."
        raise UserError(Diagnostic("UNKNOWN_TUNABLE", f"expected one of {forms}, got {name!r}", fix=fix))
    return TunableSketch(name, family.parameters(number), partial(family.build, number), family.sizes)


def is_tunable(name: str) -> bool:
    return _found(name)[0] is not None


def _told(numbers: range) -> str:
    return f"{numbers.start} to {numbers[-1]}" + (f", in steps of {numbers.step}" if numbers.step > 1 else "")


def _found(name: str) -> tuple[_Family | None, int]:
    for family in _FAMILIES:
        if match := re.fullmatch(family.pattern, name):
            return family, int(match[1])
    return None, 0
