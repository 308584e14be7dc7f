"""Clauses over true-or-false flags by z3.

clause  := any of literals; a literal is a flag's number, or its negative
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from warploom.solve.smt.asking import DEFAULT_RLIMIT, Answer, Solver


class ClauseSession:
    """Clauses over true-or-false flags, solved under assumptions; flags that have a name appear in the answer as 0 or 1."""

    def __init__(self, rlimit: int = DEFAULT_RLIMIT) -> None:
        self._rlimit = rlimit
        self._z3: Any = None
        self._solver: Solver | None = None
        self._flags = 0
        self._names: dict[str, int] = {}
        self._fresh: list[Sequence[int]] = []
        self._declared: set[int] = set()
        self.clauses = 0
        """Clauses so far."""
        self.true = self.flag()
        """A literal that always holds."""
        self.add(self.true)

    def flag(self, name: str = "") -> int:
        """A new flag's positive literal; names are distinct."""
        self._flags += 1
        if name:
            if name in self._names:
                raise ValueError(f"two flags named {name}")
            self._names[name] = self._flags
        return self._flags

    def add(self, *literals: int) -> None:
        """Adds a clause: at least one of the literals holds; of none: a contradiction."""
        if self.true in literals:
            if len(literals) > 1:
                return
        elif -self.true in literals:
            literals = tuple(x for x in literals if x != -self.true)
        self._fresh.append(literals)
        self.clauses += 1

    def at_most(self, count: int, literals: Sequence[int]) -> None:
        """No more than `count` of the literals hold (a sequential counter, so that it stays linear in their number)."""
        if count < 0:
            self.add()
            return
        if count >= len(literals):
            return
        if count == 0:
            for literal in literals:
                self.add(-literal)
            return
        if count == 1 and len(literals) <= 6:
            for n, first in enumerate(literals):
                for second in literals[:n]:
                    self.add(-first, -second)
            return
        before: list[int] = []  # before[j]: more than j of the earlier literals hold
        for position, literal in enumerate(literals):
            if len(before) == count:
                self.add(-literal, -before[-1])
            if position == len(literals) - 1:
                break
            after = [self.flag() for _ in range(min(position + 1, count))]
            for j, flag in enumerate(after):
                if j < len(before):
                    self.add(-before[j], flag)
                if j == 0:
                    self.add(-literal, flag)
                else:
                    self.add(-literal, -before[j - 1], flag)
            before = after

    def exactly(self, count: int, literals: Sequence[int]) -> None:
        """`count` of the literals hold."""
        self.at_most(count, literals)
        if count == 1:
            self.add(*literals)
        else:
            self.at_most(len(literals) - count, [-x for x in literals])

    def either(self, literals: Sequence[int]) -> int:
        """A literal that holds exactly if one of the literals does."""
        if len(literals) == 1:
            return literals[0]
        result = self.flag()
        self.add(-result, *literals)
        for literal in literals:
            self.add(result, -literal)
        return result

    def both(self, literals: Sequence[int]) -> int:
        """A literal that holds exactly if all of the literals do; of none: true."""
        return -self.either([-x for x in literals]) if literals else self.true

    def check(self, assumed: Sequence[int] = (), rlimit: int | None = None, timeout_s: float | None = None) -> Answer:
        """Whether the clauses and assumed literals hold for some values; `timeout_s`, unlike `rlimit`, is not deterministic."""
        solver = self._loaded()
        return solver.ask(rlimit or self._rlimit, self._values, [self._literal(x) for x in assumed], timeout_s)

    def _values(self, model: Any) -> dict[str, int]:
        value = {n: model.eval(self._literal(f), model_completion=True) for n, f in self._names.items()}
        return {n: int(self._z3.is_true(v)) for n, v in value.items()}

    def _literal(self, literal: int) -> Any:
        flag = self._z3.Bool(f"b{abs(literal)}")
        return flag if literal > 0 else self._z3.Not(flag)

    def _loaded(self) -> Solver:
        if self._solver is None:
            self._z3 = import_module("z3")
            self._solver = Solver(self._z3.SolverFor("QF_FD"))
        if self._fresh:
            # Clauses go in as text, because building them one by one through the API takes ten times as long.
            used = {abs(x) for clause in self._fresh for x in clause} - self._declared
            self._declared |= used
            lines = [f"(declare-const b{x} Bool)" for x in sorted(used)]
            for clause in self._fresh:
                inside = " ".join(f"b{x}" if x > 0 else f"(not b{-x})" for x in clause)
                lines.append(f"(assert (or {inside}))" if clause else "(assert false)")
            self._solver.solver.from_string("\n".join(lines))
            self._fresh.clear()
        return self._solver
