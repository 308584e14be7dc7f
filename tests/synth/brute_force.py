"""Runs every completion of a sketch to see what it really does: the oracle for the engine."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from warploom.ir import HoleArg, IndexConst, IndexExpr, Kernel, fill, tabulate
from warploom.ir.swizzle import function_set
from warploom.sketch import Sketch
from warploom.synth.network.lower import lower
from warploom.synth.network.network import HoleUses
from warploom.synth.problem import kernel_algebra
from warploom.synth.proof.prove import compare
from warploom.synth.proof.symbolic import Execution, SpecResult, execute
from warploom.synth.search.engine import Engine
from warploom.terms import constant

Tables = tuple[tuple[int, ...], ...]
"""Per hole: its value at each point; the number of the alternative for `const` and `choose`."""


def completions(uses: tuple[HoleUses, ...], space: int, most: int) -> dict[Tables, dict[str, IndexExpr]] | None:
    """Every completion in a space; None if there are more than `most`."""
    listed: list[list[tuple[tuple[int, ...], IndexExpr]]] = []
    total = 1
    for use in uses:
        functions_of = function_set(use.hole, use.points, space)
        functions = functions_of.matching(np.ones((functions_of.points, functions_of.values), np.bool_))
        total *= most + 1 if functions is None else len(functions)
        if functions is None or total > most:
            return None
        listed.append([(tuple(functions.tables[j].tolist()), functions.expr(j)) for j in range(len(functions))])
    return {
        tuple(t for t, _ in pick): {u.hole.name: e for u, (_, e) in zip(uses, pick, strict=True)} for pick in product(*listed)
    }


def tables_of(uses: tuple[HoleUses, ...], holes: Mapping[str, IndexExpr]) -> Tables:
    """The functions that expressions are on the points of their holes."""
    return tuple(_table(use, holes[use.hole.name]) for use in uses)


def _table(use: HoleUses, expr: IndexExpr) -> tuple[int, ...]:
    if len(use.points) == 0:
        return ()
    if use.hole.kind == "choose":
        assert isinstance(expr, HoleArg)
        return (expr.position,)
    if use.hole.kind == "const":
        assert isinstance(expr, IndexConst)
        return ((use.hole.constants or (0,)).index(int(expr.value)),)
    arguments: dict[IndexExpr, np.ndarray] = {HoleArg(n): use.points[:, n] for n in range(use.points.shape[1])}
    return tuple(np.broadcast_to(tabulate(expr, arguments), len(use.points)).tolist())


@dataclass(frozen=True)
class Case:
    """A sketch with everything about its completions in one space."""

    kernel: Kernel
    space: int
    spec: SpecResult
    runs: dict[Tables, Execution]
    good: set[Tables]
    """The completions that meet the spec without fault."""

    @property
    def least(self) -> int:
        return min(self.runs[t].accumulates for t in self.good)

    def engine(self) -> Engine:
        return Engine(self.kernel, {}, self.spec.outputs, self.spec.stored, kernel_algebra(Sketch(self.kernel)), self._meets)

    def _meets(self, holes: dict[str, IndexExpr]) -> bool:
        execution = execute(fill(self.kernel, holes), {})
        return compare(self.kernel, execution, self.spec, kernel_algebra(Sketch(self.kernel))).verdict == "proved"


def made_case(kernel: Kernel, seed: int, most: int) -> Case | None:
    """The kernel with what one of its completions computes as its spec, sometimes changed a little; None if it is too large or
    every completion has a fault."""
    rng = random.Random(seed)
    uses = lower(kernel, {}).holes
    wanted = rng.choice([1, 2, 3, 3])
    found = next(((s, c) for s in (wanted, 2, 1) if (c := completions(uses, s, most)) is not None), None)
    if found is None:
        return None
    space, listed = found
    runs = {tables: execute(fill(kernel, holes), {}) for tables, holes in listed.items()}
    clean = [run for run in runs.values() if not run.diagnostics]
    if not clean:
        return None
    spec = _spec_of(rng.choice(clean), rng, change=rng.random() < 0.25)
    algebra = kernel_algebra(Sketch(kernel))
    good = {tables for tables, run in runs.items() if compare(kernel, run, spec, algebra).verdict == "proved"}
    return Case(kernel, space, spec, runs, good)


def _spec_of(execution: Execution, rng: random.Random, change: bool) -> SpecResult:
    outputs: dict[str, np.ndarray] = {}
    stored: dict[str, np.ndarray] = {}
    for name, array in execution.outputs.items():
        terms = array.reshape(-1).tolist()
        if change:
            terms[rng.randrange(len(terms))] = rng.choice([None, *terms])
        stored[name] = np.array([t is not None for t in terms]).reshape(array.shape)
        full = np.empty(len(terms), object)
        full[:] = [constant(0) if t is None else t for t in terms]
        outputs[name] = full.reshape(array.shape)
    return SpecResult(outputs, stored)
