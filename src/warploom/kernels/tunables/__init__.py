"""The stencils and convolutions with their parameters open: outputs per lane, warps per block, shape of a warp.

Takes a name such as `conv2d-3`. Gives the `TunableSketch` of that name. Open `__init__.py`, the only file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from warploom.core import Diagnostic, UserError
from warploom.kernels import image, line
from warploom.schedule.sketches import TunableSketch, Tuning
from warploom.sketch import Sketch

LINE: dict[str, tuple[Tuning, ...]] = {"outputs": (1, 2, 4, 8), "warps": (1, 2, 4, 8)}
IMAGE: dict[str, tuple[Tuning, ...]] = {
    "outputs": ((1, 1), (2, 1), (4, 1), (4, 2), (4, 4), (8, 1)),
    "warp_shape": ((1, 32), (2, 16), (4, 8), (8, 4)),
    "warps": (1, 2, 4, 8),
}
LINE_SIZES = {"n": 1 << 24}
IMAGE_SIZES = {"h": 4096, "w": 4096}

_FAMILIES: dict[str, tuple[Callable[..., Sketch], dict[str, tuple[Tuning, ...]], dict[str, int]]] = {
    "stencil1d": (line.stencil1d, LINE, LINE_SIZES),
    "conv1d": (line.conv1d, LINE, LINE_SIZES),
    "stencil2d": (image.stencil2d, IMAGE, IMAGE_SIZES),
    "conv2d": (image.conv2d, IMAGE, IMAGE_SIZES),
}
_PATTERN = re.compile(r"(stencil1d|conv1d|stencil2d|conv2d)-(\d+)")


def tunable_sketch(name: str) -> TunableSketch:
    """The family of `conv2d-3`, `stencil1d-9`, ...; UserError (UNKNOWN_TUNABLE)."""
    match = _PATTERN.fullmatch(name)
    if match is None or not 2 <= int(match[2]) <= 64:
        message = f"expected one of {', '.join(_FAMILIES)} with a filter size, such as conv2d-3, got {name!r}"
        raise UserError(Diagnostic("UNKNOWN_TUNABLE", message))
    build, parameters, sizes = _FAMILIES[match[1]]
    return TunableSketch(name, parameters, partial(build, int(match[2])), sizes)


def is_tunable(name: str) -> bool:
    return _PATTERN.fullmatch(name) is not None
