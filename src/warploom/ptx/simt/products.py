"""Products of wgmma that are going on in a batch, and what is known of their registers: by warp (see `product_registers`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt.threads import Threads

Warps = NDArray[np.int64]


class Register:
    """One register by warp of the batch; groups and fences count from 1, 0 is none."""

    __slots__ = ("changed", "changer", "group", "is_copied", "is_sum", "product")

    def __init__(self, warps: int) -> None:
        self.group = np.zeros(warps, np.int64)
        """The group of the last product that has the register."""
        self.product = np.zeros(warps, np.int64)
        """The instruction of that product."""
        self.is_sum = np.zeros(warps, np.bool_)
        """Whether it is an accumulator there, not a fragment of A."""
        self.is_copied = np.zeros(warps, np.bool_)
        """Whether another register has taken its place."""
        self.changed = np.zeros(warps, np.int64)
        """Fences of the warp before the thread last changed the register, plus 1."""
        self.changer = np.zeros(warps, np.int64)
        """The instruction that did."""


class Products:
    """The products of one batch."""

    def __init__(self, threads: int) -> None:
        self._warps = (threads + 31) // 32
        self._registers: dict[tuple[int, int], Register] = {}
        self._committed = np.zeros(self._warps, np.int64)
        self._ended = np.zeros(self._warps, np.int64)
        """Groups that a wait has covered."""
        self._fences = np.zeros(self._warps, np.int64)
        self._waited = np.zeros(self._warps, np.int64)
        """Time of the clock at which the warp last waited."""

    def fence(self, threads: Threads) -> None:
        self._fences[warps_of(threads)] += 1

    def commit(self, threads: Threads) -> None:
        self._committed[warps_of(threads)] += 1

    def wait(self, threads: Threads, left: int, now: int) -> None:
        warps = warps_of(threads)
        self._waited[warps] = now
        self._ended[warps] = np.maximum(self._ended[warps], self._committed[warps] - left)

    def waited_beside(self, threads: Threads, padded: int) -> tuple[Threads, Threads]:
        """Warps in these threads' warpgroups whose first lane, which reads for the warp, is not among them, and when each last
        waited; only those that have. padded: threads of a block."""
        if not self._waited.any():
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        warps = warps_of(threads)
        per_block = padded // 32
        first = warps - warps % per_block % 4
        beside = np.unique((first[:, None] + np.arange(4)).reshape(-1))
        beside = beside[beside < self._warps]
        beside = beside[np.isin(beside // per_block, warps // per_block) & (self._waited[beside] > 0)]
        beside = np.setdiff1d(beside * 32, threads) // 32
        return beside, self._waited[beside]

    def of(self, code: int, slot: int) -> Register:
        """The register of a routine of that number."""
        found = self._registers.get((code, slot))
        if found is None:
            found = self._registers[code, slot] = Register(self._warps)
        return found

    def goes_on(self, register: Register, warps: Warps) -> NDArray[np.bool_]:
        """Whether a product that has the register is not at an end."""
        return register.group[warps] > self._ended[warps]

    def is_changed(self, register: Register, warps: Warps) -> NDArray[np.bool_]:
        """Whether the thread has changed the register and no fence has followed."""
        return register.changed[warps] > self._fences[warps]

    def change(self, register: Register, warps: Warps, index: int) -> None:
        register.group[warps] = 0
        register.is_copied[warps] = False
        register.changed[warps] = self._fences[warps] + 1
        register.changer[warps] = index

    def move(self, source: Register | None, target: Register, warps: Warps) -> None:
        """`target` takes what `source` holds; None: a constant."""
        if source is None:
            target.group[warps] = target.changed[warps] = 0
        elif source is not target:
            for name in ("group", "product", "is_sum", "changed", "changer"):
                getattr(target, name)[warps] = getattr(source, name)[warps]
            source.is_copied[warps] = True
        target.is_copied[warps] = False

    def start(self, register: Register, warps: Warps, index: int, *, is_sum: bool) -> None:
        register.group[warps] = self._committed[warps] + 1
        register.product[warps] = index
        register.is_sum[warps] = is_sum
        register.is_copied[warps] = False
        register.changed[warps] = 0

    def unfenced(self, warps: Warps) -> Warps:
        """Positions of warps that have met no fence."""
        return np.flatnonzero(self._fences[warps] == 0)


def warps_of(threads: Threads) -> Warps:
    return np.unique(threads >> 5)
