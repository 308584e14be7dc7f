"""Stencils and convolutions: outputs of a lane apart or side by side, how many, warps per block, shape of a warp."""

from __future__ import annotations

from warploom.core import Diagnostic, UserError
from warploom.kernels import image, line
from warploom.schedule.sketches import Tuning
from warploom.sketch import Sketch

WARPS = (1, 2, 4, 8)
LINE_SIZES = {"n": 1 << 24}
IMAGE_SIZES = {"h": 4096, "w": 4096}
PLACES = ("runs", "apart")
_VECTORS = (2, 4)
WIDEST_RUN = 12
"""Most inputs along a side of a window at which the outputs of a lane are offered side by side. Compilers do not write out the
loops of wider ones, and totals whose index depends on a loop lie in memory.
Source: machine code of NVRTC 13.0 for sm_90, without local memory at 12 and with it at 13."""
_ROW = (1, 32)


def of_a_line(_: int) -> dict[str, tuple[Tuning, ...]]:
    return {"outputs": (1, 2, 4, 8), "warps": WARPS, "placed": PLACES}


def of_an_image(k_size: int) -> dict[str, tuple[Tuning, ...]]:
    return {
        "outputs": ((1, 1), (2, 1), (4, 1), (4, 2), (4, 4), (8, 1)),
        "warp_shape": (_ROW, (2, 16), (4, 8), (8, 4)),
        "warps": WARPS,
        "placed": PLACES if k_size <= WIDEST_RUN else PLACES[1:],
    }


def stencil1d(k_size: int, outputs: int, warps: int, placed: str = "apart") -> Sketch:
    return (line.stencil1d_runs if _is_run(placed, outputs) else line.stencil1d)(k_size, outputs, warps)


def conv1d(k_size: int, outputs: int, warps: int, placed: str = "apart") -> Sketch:
    return (line.conv1d_runs if _is_run(placed, outputs) else line.conv1d)(k_size, outputs, warps)


def stencil2d(k_size: int, outputs: tuple[int, int], warp_shape: tuple[int, int], warps: int, placed: str = "apart") -> Sketch:
    if _is_run(placed, outputs[1]):
        return image.stencil2d_runs(k_size, outputs, _in_a_row(warp_shape, warps))
    return image.stencil2d(k_size, outputs, warp_shape, warps)


def conv2d(k_size: int, outputs: tuple[int, int], warp_shape: tuple[int, int], warps: int, placed: str = "apart") -> Sketch:
    if _is_run(placed, outputs[1]):
        return image.conv2d_runs(k_size, outputs, _in_a_row(warp_shape, warps))
    return image.conv2d(k_size, outputs, warp_shape, warps)


def _is_run(placed: str, along: int) -> bool:
    """Whether the outputs lie side by side; UserError (TUNABLE) for so many that no vector holds them."""
    if placed != "runs":
        return False
    if along not in _VECTORS:
        message = f"expected {' or '.join(map(str, _VECTORS))} outputs side by side along a row, got {along}"
        raise UserError(Diagnostic("TUNABLE", message, fix="Take another number of outputs, or placed=apart."))
    return True


def _in_a_row(warp_shape: tuple[int, int], warps: int) -> int:
    if warp_shape != _ROW:
        message = f"expected the warp shape {_ROW} with placed=runs, got {warp_shape}"
        raise UserError(Diagnostic("TUNABLE", message, fix="Lanes with neighbouring outputs stand in a row."))
    return warps
