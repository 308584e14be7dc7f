"""Places where registers hold values that code elsewhere in the kernel can read."""

from __future__ import annotations

from warploom.ptx.shuffle.between import Paths
from warploom.ptx.symbolic import Emulation, Term, linear
from warploom.ptx.syntax import Block, Declaration, Function, Statement


class OuterNames:
    """Registers that a function declares in its outermost scope and nowhere else."""

    def __init__(self, function: Function) -> None:
        self._outer: set[tuple[str, int | None]] = set()
        self._inner: set[tuple[str, int | None]] = set()
        for item in function.body.items if function.body is not None else ():
            self._add(item, self._outer)

    def _add(self, item: Statement, names: set[tuple[str, int | None]]) -> None:
        if isinstance(item, Declaration):
            names.update((d.name, d.count) for d in item.declarators)
        elif isinstance(item, Block):
            for each in item.items:
                self._add(each, self._inner)

    def __contains__(self, name: str) -> bool:
        return _declares(self._outer, name) and not _declares(self._inner, name)


def _declares(declared: set[tuple[str, int | None]], name: str) -> bool:
    if (name, None) in declared:
        return True
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    for cut in range(len(digits)):
        prefix, number = stem + digits[:cut], digits[cut:]
        if str(int(number)) == number and any(p == prefix and c is not None and int(number) < c for p, c in declared):
            return True
    return False


class Values:
    """Registers by name and by the terms that they hold."""

    def __init__(self, emulation: Emulation, paths: Paths, outer: OuterNames) -> None:
        self._emulation = emulation
        self._paths = paths
        self._outer = outer
        self._visible: dict[str, bool] = {}

    def is_visible(self, register: str) -> bool:
        """Whether the register is declared in the outermost scope under a name that no inner scope takes."""
        found = self._visible.get(register)
        if found is None:
            found = self._visible[register] = register in self._outer
        return found

    def register_of(self, term: Term, instruction: int, block: int) -> tuple[str, int] | None:
        """A register that holds `term - offset` when the instruction begins, and that offset."""
        constant, parts = linear(term)
        size = 1 << term.width
        best: tuple[str, int] | None = None
        for name, value in self._candidates(instruction, block):
            if value.width != term.width or not self.is_visible(name):
                continue
            offset, own = linear(value)
            if own == parts:
                gap = (constant - offset) % size
                if gap == 0:
                    return name, 0
                best = best or (name, gap if gap < size >> 1 else gap - size)
        return best

    def _candidates(self, instruction: int, block: int) -> list[tuple[str, Term]]:
        """Registers with their values at the instruction; latest first."""
        emulation = self._emulation
        found = dict(emulation.registers_before(instruction))
        graph = emulation.graph
        nest = graph.loop_nest(block)
        at = graph.dominator[block]
        while at is not None:
            if at in emulation.blocks and nest[: len(graph.loop_nest(at))] == graph.loop_nest(at):
                for position, results in emulation.blocks[at].results.items():
                    for name, value in results.items():
                        if name not in found and len(self._paths.writers(name)) == 1 and position < instruction:
                            found[name] = value
            at = graph.dominator[at]
        return list(reversed(found.items()))
