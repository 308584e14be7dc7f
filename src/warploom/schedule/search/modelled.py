"""Kernels judged by the model of `schedule.cost`, where there is no GPU to measure on."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from warploom.core import UserError, WarploomError
from warploom.machines import ARCHITECTURES
from warploom.schedule.cost import judged_ms, modelled
from warploom.schedule.cuda import Options, compile_kernel, cuda_kernel
from warploom.schedule.nest import Nest
from warploom.schedule.search.evaluate import CAREFUL_ROUNDS, Measurement, Timed, Unfit
from warploom.schedule.targets import Target

_MANY = 0.6
"""Share of the registers that a thread may have from which on a compiler may run out of them."""
_COMPILED = 8
"""Kernels compiled at the end of a search, at most."""
_ALIKE = 2
"""So many kernels that spill say that all do which have as many registers or more."""
_SPILLED_BYTES = 64
"""Spilled bytes of a thread that make a kernel twice as slow: a register for each four of them, of which sixteen do so in
`schedule.cost.time`."""


class ModelEvaluator:
    """Evaluates by the model; its times are those of the nest alone: `Implementation.judged` joins them with the bound. Of nearly
    equal ones the one that does less counts as faster (`schedule.cost.judged_ms`).

    The model takes registers from the nest. At the end of a search the fastest kernel is compiled, where it has many of them and
    there is a compiler; one that spills counts as slower, and the next one is compiled."""

    def __init__(self, target: Target) -> None:
        self.target = target

    @property
    def name(self) -> str:
        return f"model of {self.target.name}"

    @contextmanager
    def open(self) -> Generator[None]:
        yield

    def effort_s(self, nest: Nest, most_s: float) -> float:
        del nest, most_s
        return 0.0

    def measure(self, nests: Sequence[Nest], best_ms: float | None) -> Iterator[tuple[int, Measurement]]:
        del best_ms
        for position, nest in enumerate(nests):
            yield position, self._judged(nest)

    def retime(self, nests: Sequence[Nest], rounds: int = CAREFUL_ROUNDS) -> Sequence[Measurement]:
        """`nests`: the fastest first."""
        found: list[Measurement] = [self._judged(nest) for nest in nests]
        order = sorted((m.judged_ms, n) for n, m in enumerate(found) if isinstance(m, Timed))
        spilling: list[tuple[float, float]] = []
        """Shares of the registers that compiled kernels have by the model, and how much slower spills make them."""
        for _, n in order:
            share, timed = self._share(nests[n]), found[n]
            alike = [slower for least, slower in spilling if least <= share]
            if len(alike) >= _ALIKE:
                slower = min(alike)
            elif len(spilling) == _COMPILED or share <= _MANY or not (spilled := self._spilled_bytes(nests[n])):
                break
            else:
                slower = 1.0 + spilled / _SPILLED_BYTES
                spilling.append((share, slower))
            assert isinstance(timed, Timed)
            found[n] = replace(timed, time_ms=slower * timed.time_ms, busy_ms=slower * timed.judged_ms)
        return found

    def _share(self, nest: Nest) -> float:
        """Registers by the model over those that a thread may have; 0 for machines that no compiler knows."""
        on = ARCHITECTURES.get(self.target.name)
        if on is None:
            return 0.0
        kernel = modelled(nest, self.target)
        return kernel.registers / min(self.target.registers, on.limits.registers // kernel.threads)

    def _spilled_bytes(self, nest: Nest) -> int:
        """Bytes of a thread that the compiler puts into memory for want of registers; 0 where there is none."""
        try:
            return compile_kernel(cuda_kernel(nest, Options(arch=self.target.name))).spill_bytes
        except UserError:  # no compiler, or an old one
            return 0

    def _judged(self, nest: Nest) -> Measurement:
        try:
            found = modelled(nest, self.target)
            return Timed(found.time_ms, busy_ms=judged_ms(found), is_modelled=True)
        except WarploomError as error:
            return Unfit(str(error))
