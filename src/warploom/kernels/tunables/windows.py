"""Stencils and convolutions: outputs of a lane apart or side by side, how many, warps per block, shape of a warp."""

from __future__ import annotations

from warploom.core import Diagnostic, UserError
from warploom.kernels import image, line
from warploom.schedule.sketches import Tuning
from warploom.sketch import Sketch

WARPS = (1, 2, 4, 8)
LINE_SIZES = {"n": 1 << 24}
IMAGE_SIZES = {"h": 4096, "w": 4096}
LARGEST_RUNS = 5
"""Inputs of an output, along one axis, up to which the outputs of a lane may lie side by side."""
_ROW = (1, 32)


def of_a_line(k_size: int) -> dict[str, tuple[Tuning, ...]]:
    return {"outputs": (1, 2, 4, 8), "warps": WARPS} | _placements(k_size)


def of_an_image(k_size: int) -> dict[str, tuple[Tuning, ...]]:
    return {
        "outputs": ((1, 1), (2, 1), (4, 1), (4, 2), (4, 4), (8, 1)),
        "warp_shape": (_ROW, (2, 16), (4, 8), (8, 4)),
        "warps": WARPS,
    } | _placements(k_size)


def _placements(k_size: int) -> dict[str, tuple[Tuning, ...]]:
    return {"placed": ("runs", "apart")} if k_size <= LARGEST_RUNS else {}


def stencil1d(k_size: int, outputs: int, warps: int, placed: str = "apart") -> Sketch:
    return (line.stencil1d_runs if _is_run(k_size, placed, outputs, vector=True) else line.stencil1d)(k_size, outputs, warps)


def conv1d(k_size: int, outputs: int, warps: int, placed: str = "apart") -> Sketch:
    return (line.conv1d_runs if _is_run(k_size, placed, outputs, vector=True) else line.conv1d)(k_size, outputs, warps)


def stencil2d(k_size: int, outputs: tuple[int, int], warp_shape: tuple[int, int], warps: int, placed: str = "apart") -> Sketch:
    if _is_run(k_size, placed, outputs[1]):
        return image.stencil2d_runs(k_size, outputs, _in_a_row(warp_shape, warps))
    return image.stencil2d(k_size, outputs, warp_shape, warps)


def conv2d(k_size: int, outputs: tuple[int, int], warp_shape: tuple[int, int], warps: int, placed: str = "apart") -> Sketch:
    if _is_run(k_size, placed, outputs[1]):
        return image.conv2d_runs(k_size, outputs, _in_a_row(warp_shape, warps))
    return image.conv2d(k_size, outputs, warp_shape, warps)


def _is_run(k_size: int, placed: str, along: int, *, vector: bool = False) -> bool:
    """Whether the outputs lie side by side; UserError (TUNABLE) where so many of them cannot."""
    if placed != "runs":
        return False
    if along < k_size - 1 or (vector and along not in (2, 4)):
        message = f"expected {'2 or 4 outputs' if vector else 'outputs'} side by side, at least {k_size - 1}, got {along}"
        raise UserError(Diagnostic("TUNABLE", message, fix="Fewer would need inputs of more than the next lane: placed=apart."))
    return True


def _in_a_row(warp_shape: tuple[int, int], warps: int) -> int:
    if warp_shape != _ROW:
        message = f"expected the warp shape {_ROW} with placed=runs, got {warp_shape}"
        raise UserError(Diagnostic("TUNABLE", message, fix="Lanes with neighbouring outputs stand in a row."))
    return warps
