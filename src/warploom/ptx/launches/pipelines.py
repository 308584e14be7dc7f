"""The order that mbarriers give: threads that wait for a phase come after all that arrived for it (PTX ISA 9.7.13.15).

Why the order holds, for a kernel that passes the checks here. Steps of a thread on one mbarrier are numbered from 0.

- A thread's waits on it have the parities of phases 0, 1, 2, ... (`shift` 0), or of the phases before them (`shift` 1), in turn.
  The phase number never falls. So, one wait after the other, wait n ends when phase n - shift is complete, and not before.
- Of each phase so many arrivals are counted as threads arrive at all, once each for a phase: the n-th arrival of a thread comes
  after phase n - 1 is complete, since the thread has waited for that itself, or for a phase for which another thread arrived that
  had, and so on. So phase n is complete only when every one of these threads has made its n-th arrival. (The first arrival to
  break this would come before one that its thread has waited for.)
- Bytes that bulk copies bring are those that the arrival of their round expects, and the copies of phase n begin after phase
  n - 1: so phase n is complete only when its copies are.

Hence what a thread does before its n-th arrival, and the copies of phase n, come before all that is done after a wait for
phase n, and so on from thread to thread. Kernels whose steps, run in turn for some rounds, end with all threads waiting are
refused. A `cp.async` of the thread itself is no part of what it does before an arrival, unless it has waited for it until then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from warploom.ptx.launches.integers import Number, Pair, constant
from warploom.ptx.launches.mbarriers import Mbarriers, NotFollowedError, Object, Step, ThreadClass, Use
from warploom.ptx.symbolic import Access, Emulation

_NEVER = 1 << 60
_Key: TypeAlias = tuple[int | None, int, Object]


@dataclass(frozen=True, slots=True, eq=False)
class Numbered:
    """A step with its number among those of its kind on its mbarrier by its thread; of a wait the phase that is complete then."""

    step: Step
    number: int


class Pipelines:
    def __init__(self, mbarriers: Mbarriers, emulation: Emulation) -> None:
        """NotFollowedError where the order does not follow."""
        self._mbarriers = mbarriers
        self._emulation = emulation
        self._graph = emulation.graph
        self._lists = {c: tuple(self._numbered(c)) for c in mbarriers.classes}
        self.copies = {use.instruction: use for use in mbarriers.uses if use.kind == "copy"}
        self._arrival_of: dict[Use, Use] = {}
        self._check_rates()
        self._check_arrivals()
        self._check_copies()
        self._check_progress()

    # numbers

    def _numbered(self, one: ThreadClass) -> Iterator[Numbered]:
        counted: dict[tuple[str, Object], int] = {}
        shifts: dict[Object, int] = {}
        for step in one.steps:
            kind = step.use.kind
            if kind == "copy":
                yield Numbered(step, 0)
                continue
            number = counted.get((kind, step.object), 0)
            counted[kind, step.object] = number + 1
            if kind == "wait":
                shift = shifts.setdefault(step.object, (step.number - number) % 2)
                if (number + shift) % 2 != step.number:
                    raise NotFollowedError("a thread does not wait for one phase after the other", step.use.instruction)
                number -= shift
            yield Numbered(step, number)

    @cached_property
    def _waits(self) -> Mapping[ThreadClass, Mapping[Object, Sequence[tuple[int, int]]]]:
        """By class and mbarrier the places of the waits in the class's list and the phases complete then, both rising."""
        found: dict[ThreadClass, dict[Object, list[tuple[int, int]]]] = {}
        for one, steps in self._lists.items():
            of_one = found.setdefault(one, {})
            for at, numbered in enumerate(steps):
                if numbered.step.use.kind == "wait":
                    of_one.setdefault(numbered.step.object, []).append((at, numbered.number))
        return found

    @cached_property
    def _arrivals(self) -> Mapping[ThreadClass, Mapping[tuple[Object, int], int]]:
        """By class the places of the arrivals in the class's list, by mbarrier and phase."""
        return {
            one: {(n.step.object, n.number): at for at, n in enumerate(steps) if n.step.use.kind == "arrive"}
            for one, steps in self._lists.items()
        }

    def _first_wait(self, one: ThreadClass, place: Object, phase: int) -> int:
        """Where in its list a thread has waited for a phase."""
        return next((at for at, number in self._waits[one].get(place, ()) if number >= phase), _NEVER)

    def _is_early(self, numbered: Numbered) -> bool:
        """Whether the rounds after it that are written down tell what comes of it."""
        return numbered.step.round < self._mbarriers.lead + 2 * self._mbarriers.period

    # checks

    def _check_rates(self) -> None:
        """Checks that from some round on all threads use an mbarrier equally often."""
        first = self._mbarriers.lead
        rounds = range(first, first + self._mbarriers.period)
        often: dict[Object, int] = {}
        for one in self._lists:
            counted: dict[tuple[Object, str], list[Use]] = {}
            for step in one.steps:
                if step.use.loop is not None and step.round in rounds:
                    counted.setdefault((step.object, step.use.kind), []).append(step.use)
            for (place, kind), uses in counted.items():
                if kind != "copy" and often.setdefault(place, len(uses)) != len(uses):
                    raise NotFollowedError("threads do not use an mbarrier equally often", uses[0].instruction)

    def _check_arrivals(self) -> None:
        """Checks that as many threads arrive as are counted, each after the phase before."""
        threads: dict[Object, set[int]] = {}
        for one, steps in self._lists.items():
            for numbered in steps:
                if numbered.step.use.kind == "arrive":
                    threads.setdefault(numbered.step.object, set()).update(one.threads)
        for place, count in self._mbarriers.counts.items():
            uses = [use for use in self._mbarriers.uses if use.kind != "init" and place in use.objects]
            if uses and len(threads.get(place, ())) != count:
                reason = f"{len(threads.get(place, ()))} threads arrive at an mbarrier that waits for {count}"
                raise NotFollowedError(reason, uses[0].instruction)
        for one, steps in self._lists.items():
            for at, numbered in enumerate(steps):
                if numbered.step.use.kind == "arrive" and self._is_early(numbered):
                    self._check_in_turn(one, at, numbered.step, numbered.number - 1)

    def _check_in_turn(self, one: ThreadClass, at: int, step: Step, phase: int) -> None:
        """A phase is complete before a step: its thread has waited, or for one that did before it arrived, and so on."""
        waits = [n for n in self._lists[one][:at] if n.step.use.kind == "wait"]
        made = dict.fromkeys(self._lists, 0)
        while phase >= 0:
            if not waits:
                raise NotFollowedError("a thread may arrive twice in one phase of an mbarrier", step.use.instruction)
            wait = waits.pop()
            if wait.step.object == step.object and wait.number >= phase:
                return
            for other, arrivals in self._arrivals.items():
                arrival = arrivals.get((wait.step.object, wait.number), 0)
                if arrival > made[other]:
                    waits += [n for n in self._lists[other][made[other] : arrival] if n.step.use.kind == "wait"]
                    made[other] = arrival

    def _check_copies(self) -> None:
        """The arrival of each phase expects the bytes that are copied, by the same thread in the same round."""
        for one, steps in self._lists.items():
            expected: dict[_Key, int] = {}
            arrivals: dict[_Key, Numbered] = {}
            for numbered in steps:
                step = numbered.step
                if step.use.kind == "arrive":
                    if step.key in arrivals:
                        raise NotFollowedError("two arrivals of one round at one mbarrier are not followed", step.use.instruction)
                    expected[step.key], arrivals[step.key] = step.number, numbered
            for at, numbered in enumerate(steps):
                step = numbered.step
                if step.use.kind == "copy":
                    of = [
                        u
                        for u in {n.step.use for n in arrivals.values()}
                        if (u.loop, u.objects) == (step.use.loop, step.use.objects)
                    ]
                    if not of or len(one.threads) != 1:
                        raise NotFollowedError("bytes of a bulk copy that nobody expects are not followed", step.use.instruction)
                    self._arrival_of[step.use] = of[0]
                    expected[step.key] -= step.number
                    if self._is_early(numbered):
                        self._check_in_turn(one, at, step, arrivals[step.key].number - 1)
            for key, left in expected.items():
                if left:
                    reason = f"an mbarrier expects {abs(left)} bytes {'more' if left > 0 else 'fewer'} than are copied"
                    raise NotFollowedError(reason, arrivals[key].step.use.instruction)

    def _check_progress(self) -> None:
        """Threads that run in turn do not end up waiting for each other."""
        pending = dict(self._mbarriers.counts)
        phases = dict.fromkeys(pending, 0)
        at = dict.fromkeys(self._lists, 0)
        last = {one: sum(map(self._is_early, steps)) for one, steps in self._lists.items()}
        while waiting := [one for one in self._lists if at[one] < last[one]]:
            waiting.sort(key=lambda one: self._lists[one][at[one]].step.round)  # in step, as barriers keep them
            for one in waiting:
                step = self._lists[one][at[one]].step
                if step.use.kind != "wait" or phases[step.object] % 2 != step.number:
                    break
            else:
                stuck = self._lists[waiting[0]][at[waiting[0]]].step.use.instruction
                raise NotFollowedError("threads may wait for a phase of an mbarrier that never ends", stuck)
            at[one] += 1
            if step.use.kind == "arrive":
                pending[step.object] -= len(one.threads)
                if not pending[step.object]:
                    pending[step.object] = self._mbarriers.counts[step.object]
                    phases[step.object] += 1

    # order

    def _reached(self, one: ThreadClass, arrival: Numbered) -> Mapping[ThreadClass, int]:
        """By class the place in its list from which on a thread comes after an arrival."""
        found = {c: self._first_wait(c, arrival.step.object, arrival.number) for c in self._lists}
        waiting = [c for c, at in found.items() if at < _NEVER]
        while waiting:
            through = waiting.pop()
            for numbered in self._lists[through][found[through] :]:
                if numbered.step.use.kind == "arrive":
                    for other in self._lists:
                        at = self._first_wait(other, numbered.step.object, numbered.number)
                        if at < found[other]:
                            found[other] = at
                            waiting.append(other)
        return found

    @cached_property
    def _orders(self) -> Mapping[tuple[Use, Use], int]:
        """The delay in rounds between an arrival and a wait, the largest of all classes."""
        found: dict[tuple[Use, Use], int] = {}
        period, lead = self._mbarriers.period, self._mbarriers.lead
        for one, steps in self._lists.items():
            delays: dict[tuple[Use, Use, ThreadClass], dict[int, int]] = {}
            for numbered in steps:
                if numbered.step.use.kind != "arrive" or not self._is_early(numbered):
                    continue
                for other, place in self._reached(one, numbered).items():
                    for wait, round_ in self._waits_from(other, place):
                        key = numbered.step.use, wait, other
                        delays.setdefault(key, {})[numbered.step.round] = round_ - numbered.step.round
            for (use, wait, _), by_round in delays.items():
                rounds = range(1) if use.loop is None else range(lead + 2 * period)
                known = [by_round.get(k, _NEVER) for k in rounds]
                repeats = use.loop is None or known[lead : lead + period] == known[lead + period :]
                delay = max(known) if repeats else _NEVER
                found[use, wait] = max(found.get((use, wait), -_NEVER), delay)
            for use in {n.step.use for n in steps if n.step.use.kind == "arrive"}:
                for other, others in self._lists.items():
                    for wait in {n.step.use for n in others if n.step.use.kind == "wait"}:
                        if (use, wait, other) not in delays:
                            found[use, wait] = _NEVER
        return {key: delay for key, delay in found.items() if delay < _NEVER // 2}

    def _waits_from(self, one: ThreadClass, place: int) -> Iterator[tuple[Use, int]]:
        """Each wait of a class with its first round from a place of the list on."""
        seen: set[Use] = set()
        for numbered in self._lists[one][place:] if place < _NEVER else ():
            use = numbered.step.use
            if use.kind == "wait" and use not in seen:
                seen.add(use)
                yield use, numbered.step.round

    def require_unordered(
        self, pair: Pair, first: Access, second: Access, threads: Sequence[frozenset[int]], pending: Mapping[int, Collection[int]]
    ) -> None:
        """Adds to a question about two threads of a block that mbarriers order neither access before the other. `threads`: those
        that may make the first, and the second. `pending`: what a thread may run while its `cp.async` goes on."""
        b = pair.builder
        for early, late, who, of in ((first, second, 1, threads), (second, first, 2, threads[::-1])):
            for (arrival, wait), delay in self._orders.items():
                if arrival.instruction in pending.get(early.instruction, ()):
                    continue  # that the thread arrives says nothing of its copy
                from_, to = self._round_before(early, arrival, of[0]), self._round_after(late, wait, of[1])
                if from_ is None or to is None:
                    continue
                sides: list[Number] = []
                for (loop, more), thread in ((from_, who), (to, 3 - who)):
                    counter = constant(0) if loop is None else pair.value(self._emulation.table.counter(loop), thread)
                    sides.append(counter.shifted(more))
                pair.require(b.negation(pair.at_least(sides[1], sides[0].shifted(delay))))

    def _round_before(self, access: Access, arrival: Use, threads: frozenset[int]) -> tuple[int | None, int] | None:
        """The round of an arrival that an access of its thread comes before: rounds after the access's own in a loop."""
        if access.instruction in self.copies and access.kind == "store":
            use = self.copies[access.instruction]
            return (arrival.loop, 0) if self._arrival_of.get(use) is arrival else None
        if not threads <= arrival.threads:
            return None
        inside = self._graph.loops[arrival.loop].blocks if arrival.loop is not None else frozenset[int]()
        if arrival.loop is not None and access.block in inside:
            return arrival.loop, int(self._mbarriers.is_after(arrival.instruction, access.instruction, arrival.loop))
        at, there = access.block, arrival.block
        if self._mbarriers.is_after(arrival.instruction, access.instruction, None):
            return None
        return (None, 0) if at == there or self._mbarriers.reaches(at, there, set()) else None

    def _round_after(self, access: Access, wait: Use, threads: frozenset[int]) -> tuple[int | None, int] | None:
        """The round of a wait that an access of its thread comes after."""
        if not threads <= wait.threads:
            return None
        has_waited = self._graph.dominates(wait.block, access.block)
        if wait.loop is not None and access.block in self._graph.loops[wait.loop].blocks:
            return wait.loop, 0 if has_waited else -1
        return (None, 0) if has_waited else None
