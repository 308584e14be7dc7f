"""Families of the library's kernels with their parameters open: outputs per lane, warps per block, units of a word or of several.

Takes a name such as `conv2d-3`, `mult64`, `ffm-64` or `aos-store-6`. Gives the `TunableSketch` of that name; a name that says
more,
`mult64-shared` or `aos-store-rcr-6`, leaves less open. Open `__init__.py`
(the families by name), then `windows.py` (stencils and convolutions), `pipelines.py` (tiles in buffers), `records.py` (arrays of
structures) and `products.py` (products of polynomials).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from warploom.core import Diagnostic, UserError
from warploom.kernels.tunables import pipelines, windows
from warploom.kernels.tunables.products import MEMORIES, PAIR_SIZES, ffm, mult, of_a_field, of_a_product
from warploom.kernels.tunables.records import TILE_SIZES, good_units, of_records, one_unit, store, total
from warploom.schedule.sketches import TunableSketch, Tuning
from warploom.sketch import Sketch


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


_WORDS = range(32, 65, 32)

_FAMILIES = (
    _Family("stencil1d-K", r"stencil1d-(\d+)", range(2, 65), windows.stencil1d, windows.of_a_line, windows.LINE_SIZES),
    _Family("conv1d-K", r"conv1d-(\d+)", range(2, 65), windows.conv1d, windows.of_a_line, windows.LINE_SIZES),
    _Family("stencil2d-K", r"stencil2d-(\d+)", range(2, 65), windows.stencil2d, windows.of_an_image, windows.IMAGE_SIZES),
    _Family("conv2d-K", r"conv2d-(\d+)", range(2, 65), windows.conv2d, windows.of_an_image, windows.IMAGE_SIZES),
    _Family(
        "lags-K", r"lags-(\d+)", range(32, 129, 32), pipelines.autocorrelation, pipelines.of_lags, pipelines.ROW_SIZES,
    ),
    _Family("multN", r"mult(\d+)", _WORDS, mult, partial(of_a_product, memories=MEMORIES), PAIR_SIZES),
    _Family("multN-reg", r"mult(\d+)-reg", _WORDS, mult, partial(of_a_product, memories=("registers", "broadcast")), PAIR_SIZES),
    _Family("multN-shared", r"mult(\d+)-shared", _WORDS, mult, partial(of_a_product, memories=("shared",)), PAIR_SIZES),
    _Family("ffm-D", r"ffm-(\d+)", range(32, 1025, 32), ffm, of_a_field, PAIR_SIZES),
    _Family(
        "aos-store-S", r"aos-store-(\d+)", range(1, 17), store,
        partial(of_records, orders=("crc", "rcr", "shared"), units=good_units), TILE_SIZES,
    ),
    _Family(
        "aos-sum-S", r"aos-sum-(\d+)", range(1, 17), total,
        partial(of_records, orders=("crc", "shared"), units=good_units), TILE_SIZES,
    ),
    *(
        _Family(
            f"aos-{what}-S{layout or ''}", rf"aos-{what}-(\d+){layout or ''}", numbers, build,
            partial(of_records, orders=(order,), units=partial(one_unit, layout=layout)), TILE_SIZES,
        )
        for what, build, order in (("store-crc", store, "crc"), ("store-rcr", store, "rcr"), ("sum-crc", total, "crc"))
        for layout, numbers in ((None, range(1, 33)), ("-direct", range(1, 33)), ("-units", range(2, 33, 2)))
    ),
)  # fmt: skip


def tunable_sketch(name: str) -> TunableSketch:
    """The family of `conv2d-3`, `mult64`, ...; UserError (UNKNOWN_TUNABLE)."""
    family, number = _found(name)
    if family is None or number not in family.numbers:
        forms = ", ".join(f"{f.form} ({_told(f.numbers)})" for f in _FAMILIES if not f.form.endswith(("-direct", "-units")))
        fix = f"Use a number from {_told(family.numbers)}." if family is not None else "Use one of these."
        raise UserError(Diagnostic("UNKNOWN_TUNABLE", f"expected one of {forms}, got {name!r}", fix=fix))
    parameters = family.parameters(number)
    older: dict[str, Tuning] = {"placed": "apart"} if "placed" in parameters else {}
    return TunableSketch(name, parameters, partial(family.build, number), family.sizes, older=older)


def is_tunable(name: str) -> bool:
    return _found(name)[0] is not None


def _told(numbers: range) -> str:
    return f"{numbers.start} to {numbers[-1]}" + (f", in steps of {numbers.step}" if numbers.step > 1 else "")


def _found(name: str) -> tuple[_Family | None, int]:
    for family in _FAMILIES:
        if match := re.fullmatch(family.pattern, name):
            return family, int(match[1])
    return None, 0
