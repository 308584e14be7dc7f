"""Compares the values that a kernel and its spec store to one output, at every residue of its elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from warploom.core import DType
from warploom.core.linear import Linear
from warploom.ir import Param
from warploom.solve import Formula, conjunction, disjunction, negation, substitute
from warploom.synth.lift.conditions import Conditions, resolved, split_cases
from warploom.synth.lift.coverage import Residues
from warploom.synth.lift.trace import Event
from warploom.synth.proof.summands import Frame, Summands
from warploom.terms import Algebra, Normaliser, Term, Usage, atom, component, constant, element_text, iterate_post


class FaultError(Exception):
    """Something that the kernel does wrong, when `formula` can hold."""

    def __init__(self, text: str, formula: Formula) -> None:
        super().__init__(text)
        self.text = text
        self.formula = formula


class Values:
    """Compares the values that kernel and spec store to one output."""

    def __init__(self, param: Param, algebra: Algebra, conditions: Conditions, types: Mapping[str, DType]) -> None:
        self.param = param
        self.conditions = conditions
        self.normaliser = Normaliser(algebra, types)
        self.summands = Summands(self.normaliser, conditions)
        self.used = Usage(param.dtype)
        self._renamed: dict[tuple[tuple[str, Linear[str]], ...], dict[Term, Term]] = {}

    def check(self, residues: dict[tuple[int, ...], Residues]) -> Usage:
        """Raises FaultError for a difference."""
        uncovered = self._uncovered(residues)
        for residue, found in residues.items():
            for k, event in enumerate(found.events):
                for cell in found.cells:
                    guard = conjunction([event.present, cell.present])
                    got, want = event.source.value, cell.source.value
                    self.used.add(got)
                    self.used.add(want)
                    if not self.summands.agree(got, Frame(event.values, guard), want, cell.values):
                        renamed = self._rename(got, event.values), self._rename(want, cell.values)
                        self._compare(*renamed, guard, {}, event.source)
                rest = uncovered.get((residue, k))
                if rest is not None and not self.conditions.is_impossible(rest):
                    got = self._rename(event.source.value, event.values)
                    self._compare(got, self._initial(event.source, event.values), rest, {}, event.source)
        return self.used

    def _uncovered(self, residues: dict[tuple[int, ...], Residues]) -> dict[tuple[tuple[int, ...], int], Formula]:
        """By residue and number of the store: when it stores what the spec does not, unless that is seen to be never."""
        rests: dict[tuple[tuple[int, ...], int], Formula] = {}
        for residue, found in residues.items():
            covered = [cell.present for cell in found.cells]
            for k, event in enumerate(found.events):
                if not any(self.conditions.is_seen(event.present, c) for c in covered):
                    rests[residue, k] = conjunction([event.present, negation(disjunction(covered))])
        return {} if self.conditions.are_impossible_together(rests.values()) else rests

    def _initial(self, event: Event, values: Mapping[str, Linear[str]]) -> Term:
        if not self.param.is_input:
            return constant(0)
        return atom(self.param.name, tuple(f.substituted(values) for f in event.place), self.param.dtype.lanes)

    def _compare(self, got: Term, want: Term, guard: Formula, split: dict[Formula, bool], event: Event) -> None:
        a, first = resolved(got, guard, self.conditions, split)
        b, second = resolved(want, guard, self.conditions, split)
        if self._are_equal(a, b):
            return
        still_open = first or second
        if still_open is not None:
            cases = split_cases(guard, still_open, self.conditions, split)
            if cases:
                for narrowed, decided in cases:
                    self._compare(got, want, narrowed, decided, event)
                return
        if not self.conditions.is_impossible(guard):
            shown = element_text(self.param.name, event.place)
            raise FaultError(f"{shown}: expected {self.normaliser.canonical(b)}, got {self.normaliser.canonical(a)}", guard)

    def _are_equal(self, a: Term, b: Term) -> bool:
        lanes = self.param.dtype.lanes
        pairs = [(component(a, k), component(b, k)) for k in range(lanes)] if lanes > 1 and a is not b else [(a, b)]
        return all(p is q or self.normaliser.canonical(p) is self.normaliser.canonical(q) for p, q in pairs)

    def _rename(self, term: Term, values: Mapping[str, Linear[str]]) -> Term:
        """`term` with the symbols of its elements and conditions replaced."""
        done = self._renamed.setdefault(tuple(values.items()), {})
        for t in iterate_post(term, done):
            if t.op == "atom":
                array, index, lanes = t.data
                done[t] = atom(array, tuple(_replaced(i, values) for i in index), lanes)
            elif t.args:
                done[t] = t.rebuilt([done[a] for a in t.args])
            else:
                done[t] = t
        return done[term]


def _replaced(part: Any, values: Mapping[str, Linear[str]]) -> Any:
    if isinstance(part, Linear):
        return cast("Linear[str]", part).substituted(values)
    if isinstance(part, int | str):
        return part
    formula: Formula = part
    return substitute(formula, values)
