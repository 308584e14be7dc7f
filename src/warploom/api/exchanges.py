"""`wl.exchange`: what lanes hold, brought from one layout of registers to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.api.result import Result, worked
from warploom.tools.layout.exchanges import exchanged, told
from warploom.tools.pages.layouts import banks_as_text, layout_page, layout_part

Held: TypeAlias = str | Callable[..., Any] | NDArray[np.integer[Any]]
"""Layout of the elements that lanes hold: a name, a function of (lane, item) or (warp, lane, register, slot), or elements [lanes,
items]."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Exchanged(Result):
    """A device function and what it costs; counts are those of one thread."""

    @property
    def via(self) -> str:
        """`shuffle`, `shared`, `matrix`, `load` or `tma`; empty without an answer."""
        return str(self.line.get("via", ""))

    @property
    def shuffles(self) -> int:
        """SHFL instructions."""
        return cast(int, self.line.get("shuffles", 0))

    @property
    def selects(self) -> int:
        """SEL instructions."""
        return cast(int, self.line.get("selects", 0))

    @property
    def permutes(self) -> int:
        """PRMT instructions: bytes out of two words."""
        return cast(int, self.line.get("permutes", 0))

    @property
    def logic(self) -> int:
        """LOP3 instructions and shifts of values: halves of bytes out of two words."""
        return cast(int, self.line.get("logic", 0))

    @property
    def registers(self) -> int:
        """Words and indices that a thread holds at once in the order of the text."""
        return cast(int, self.line.get("registers", 0))

    @property
    def wavefronts(self) -> int:
        """Wavefronts of all threads' stores to shared memory and loads from it."""
        return cast(int, self.line.get("wavefronts", 0))

    @property
    def least_shuffles(self) -> int | None:
        """The fewest shuffles of any program that changes lanes by shuffles alone; None if elements go to other warps."""
        return cast("int | None", self.line.get("least_shuffles"))

    @property
    def least_wavefronts(self) -> int:
        """The fewest wavefronts of any program that takes all that is wanted through shared memory."""
        return cast(int, self.line.get("least_wavefronts", 0))

    @property
    def pareto(self) -> list[dict[str, Any]]:
        """The programs that no other one betters in shuffles, arithmetic and wavefronts."""
        return cast("list[dict[str, Any]]", self.line.get("pareto", []))

    @property
    def renaming(self) -> dict[str, list[int]]:
        """By free axis: where the destination had element i of the axis, it has element renaming[axis][i]."""
        return cast("dict[str, list[int]]", self.line.get("renaming") or {})

    @property
    def equal(self) -> bool:
        """Whether both layouts are one, which is proved; else `line["differs"]` is a place that holds different elements."""
        return self.line.get("equal") is True

    @property
    def code(self) -> str:
        """The device function in the language that was asked for; empty without an answer."""
        return str(self.line.get("code", ""))

    def explain(self) -> str:
        """The counts, those of other programs, why this one was taken, and the banks of what lanes hold before and after."""
        return (
            self.reason if self.status != "solved" else "\n".join([self.case, *told(self.line), *banks_as_text(self.line)]) + "\n"
        )

    def _page(self) -> str:
        return layout_page(self.line)

    def _repr_html_(self) -> str:
        """The counts, and pictures of lanes by registers, coloured by bank."""
        return layout_part(self.line)


def exchange(
    src: Held,
    dst: Held,
    *,
    lanes: int | None = None,
    regs: int | None = None,
    bits: int | None = None,
    free: Sequence[str] = (),
    via: Literal["auto", "shuffle", "shared", "matrix", "load", "tma"] = "auto",
    emit: Literal["cuda", "kernel", "numba", "python", "cute", "triton", "tilelang"] = "cuda",
    arch: str = "sm_90",
) -> Exchanged:
    """Writes the device function that brings registers from one layout to another. `warploom exchange`.

    src, dst: `striped`, `blocked`, `mma:m16n8k16:A:f16` and so on, functions, or arrays. lanes, regs, bits: as the options of the
    command; fragments and arrays say them. free: axes that may be renamed. emit: the language of `code`. Raises UserError for
    layouts that do not fit each other.
    """

    def work(watch: Any) -> Any:
        return exchanged(
            src, dst, lanes=lanes, regs=regs, bits=bits, free=free, via=via, target=emit, arch=arch, out=None, stopwatch=watch
        )

    case = f"{src} to {dst}" if isinstance(src, str) and isinstance(dst, str) else "exchange"
    return Exchanged(line=worked(case, work, None).line)
