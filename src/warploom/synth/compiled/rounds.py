"""Induction over a sequential loop: rounds that run alike are run once, as the round of a number that moves.

After some rounds the state at the loop's header is compared with the one `period` rounds before. Numbers that grow evenly become
numbers that move with `%round`, elements of inputs whose place grows evenly become symbols with that growth as second index, and
another float becomes a symbol `%sum` of its own. From this general state `period` rounds are run. If they lead to the same state
one step further on, and what they do to these floats is known for all steps at once (`carried.py`), then every such step does.
All these steps are left out, and the symbol stands for what they add together, or for the greatest that they offer.

Nothing rests on the guess: registers that are taken for dead are undefined afterwards, and a general state that is not confirmed
is thrown away. Accesses to shared memory are the same in every step, and those that no barrier has ordered are the same before a
step and after it, so a step races with no other one.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import takewhile

from warploom.ptx import TYPE_BITS, branch_targets, flow_graph, liveness
from warploom.synth.compiled.advancing import advanced, widths
from warploom.synth.compiled.base_two import LOG2_E
from warploom.synth.compiled.carried import Added, AddedRescaled, Carried, Change, Offered
from warploom.synth.compiled.copies import Copy, Queue
from warploom.synth.compiled.data import Joined, Undefined, Value
from warploom.synth.compiled.faults import FaultError, unsupported
from warploom.synth.compiled.groups import is_kept, is_under_way
from warploom.synth.compiled.loop_states import (
    OpenAccesses,
    State,
    column_of,
    groups_of,
    is_computed,
    is_same_place,
    open_accesses,
    restore,
    state_of,
)
from warploom.synth.compiled.memory import Stored
from warploom.synth.compiled.moving import LENGTH, ROUND, CoupledError, SplitError
from warploom.synth.compiled.placed import Placed, placed
from warploom.synth.compiled.renaming import SUM
from warploom.synth.compiled.threads import Block, Launch
from warploom.terms import GREATEST, Term, apply, atom

_LAST = (1 << 31) - 1
_PERIODS = (1, 2, 3, 4)
_MOST_WATCHED = 7
"""Rounds after which nothing is guessed any more."""
_MOST_FAILURES = 3
_MOST_RESTARTS = 40
_SHORT = 64
"""Rounds of an inner loop that are run, so that short ones are part of a round of the outer loop."""
_LEAST_STEPS = 3
"""Fewer are not worth it."""
_LEAST_OF_MAXIMA = 2
"""The same of steps in which a maximum goes on: rounds of attention are compared for longer than they are run."""
_DEEP = 40
_DEAD = Undefined("a register that the loop leaves behind", 0)


@dataclass(frozen=True, slots=True)
class Repeat:
    """Steps that were left out."""

    steps: int
    sums: dict[Term, Term]
    """Symbol of a sum and what step n adds: element `x[k, s]` is the one of `x` at k + s * n."""
    is_open: bool = False
    """True if there is one step more with each `%length`."""


@dataclass(slots=True)
class _Watch:
    """A loop header and the states that came to it."""

    is_inner: bool
    """True if another loop goes around this one."""
    states: list[State] = field(default_factory=list[State])
    failures: int = 0
    keeps_cells: bool = False
    """True if a general step was dropped in which shared memory held nothing that was computed: a later one has it."""
    refused: int = 0
    """Period of the last general step that was dropped: longer ones come first then."""
    rounds: int = 0
    """Rounds since it was entered."""
    is_done: bool = False
    """True if rounds were left out since the loop was entered."""

    def enter(self) -> None:
        self.states.clear()
        self.rounds, self.is_done = 0, False


@dataclass(slots=True)
class _General:
    """A general step that is being run."""

    header: int
    period: int
    before: State
    """The state from which the general one was made."""
    start: State
    left: int
    live: frozenset[str]
    leaves_cells: bool
    """True if places of shared memory are taken for dead."""
    begun: dict[Term, Term]
    """Values handed on from step to step: symbol and value before the first one."""
    open_before: OpenAccesses
    restarts: int = 0

    @property
    def least_steps(self) -> int:
        has_maximum = any(value.op == "max" for value in self.begun.values())
        return _LEAST_OF_MAXIMA if has_maximum else _LEAST_STEPS


class Rounds:
    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.repeats: list[Repeat] = []
        self._watches: dict[int, _Watch] = {}
        self._general: _General | None = None
        graph = flow_graph(launch.routine)
        lives = liveness(launch.routine, graph).live_in
        self._live = {block.start: lives[n] for n, block in enumerate(graph.blocks)}
        routine = launch.routine
        jumps = [(n, to) for n, i in enumerate(routine.instructions) if i.opcode == "bra" for to in branch_targets(routine, n)]
        self._jumps_back = [(place, to) for place, to in jumps if to <= place]
        self._last: dict[str, int] = dict(launch.places.moving.last)
        launch.places.moving.last = self._last

    @property
    def is_general(self) -> bool:
        return self._general is not None

    # ------------------------------------------------------------ at a loop's header

    def arrive(self, block: Block, header: int) -> None:
        """All threads have jumped back to `header`, and nobody waits anywhere."""
        general = self._general
        if general is not None:
            if header == general.header:
                general.left -= 1
                if not general.left:
                    self._close(block, general)
            return
        for other, watch in self._watches.items():
            if other > header:
                watch.enter()
        if header not in self._watches:
            self._watches[header] = _Watch(self._has_outer(header))
        watch = self._watches[header]
        watch.rounds += 1
        if watch.is_done or (watch.is_inner and watch.rounds <= _SHORT):
            return
        if watch.failures >= _MOST_FAILURES or len(watch.states) >= _MOST_WATCHED or self._is_refused(block):
            return
        watch.states.append(state_of(block))
        refused = watch.refused if self._last.get(LENGTH) else 0
        for period in sorted(_PERIODS, key=lambda p: (p <= refused, p)):
            if self._guess(block, header, watch, period):
                return

    def _has_outer(self, header: int) -> bool:
        """Whether a loop goes around that of this header."""
        last = max((place for place, to in self._jumps_back if to == header), default=header)
        return any(to < header and place > last for place, to in self._jumps_back)

    def _is_refused(self, block: Block) -> bool:
        return bool(block.local or is_under_way(block) or block.has_partial_order or self.launch.routine.register_vectors)

    def failed(self, block: Block, error: Exception) -> int | None:
        """Judges how a run ended: the header to go on from if it was a general step, which is run again with fewer steps or
        dropped."""
        general = self._general
        if general is None and self.repeats and isinstance(error, FaultError) and error.fault.kind == "undefined value":
            # a register that was taken for dead may be the cause, which holds a value where each round is run
            message = f"expected values that do not come from rounds left out; {error.fault.message}"
            raise unsupported(message, error.fault.span)
        if general is None or (isinstance(error, SplitError) and error.name != ROUND):
            return None
        general.restarts += 1
        moving = self.launch.places.moving
        at = error.at if isinstance(error, SplitError) and moving.until is None else 0
        if isinstance(error, CoupledError):
            moving.until = error.until if moving.until is None else max(moving.until, error.until)
            at = self._last[LENGTH] - moving.until + 1
            if _LEAST_STEPS - 1 + moving.until > 0 and at >= _LEAST_STEPS:
                raise SplitError(LENGTH, _LEAST_STEPS - 1 + moving.until)
        if at >= general.least_steps and general.restarts <= _MOST_RESTARTS:
            self._last[ROUND] = at - 1
            general.left = general.period
            restore(block, general.start)
        else:
            self._drop(block, general)
        return general.header

    def _drop(self, block: Block, general: _General) -> None:
        watch = self._watches[general.header]
        if general.leaves_cells:
            watch.keeps_cells = True
        else:
            watch.failures += 1
            watch.refused = general.period
        watch.states.clear()
        self._forget()
        restore(block, general.before)

    def _forget(self) -> None:
        self._general = None
        self._last.pop(ROUND, None)
        self.launch.places.moving.until = None

    # ------------------------------------------------------------ the guess

    def _guess(self, block: Block, header: int, watch: _Watch, period: int) -> bool:
        states = watch.states
        if len(states) < (3 if period == 1 else period + 1) or header not in self._live:
            return False
        now, before = states[-1], states[-1 - period]
        guess = _Guess(self.launch, keeps_cells=watch.keeps_cells)
        start = guess.state(now, before, self._live[header])
        if start is None:
            return False
        if period == 1:
            other = _Guess(self.launch, keeps_cells=watch.keeps_cells).state(before, states[-3], self._live[header])
            if other is None or not _grow_alike(start, other):
                return False
        self._last[ROUND] = _LAST
        left = guess.leaves_cells
        self._general = _General(header, period, now, start, period, self._live[header], left, guess.begun, open_accesses(block))
        restore(block, start)
        return True

    # ------------------------------------------------------------ the end of a general step

    def _close(self, block: Block, general: _General) -> None:
        check = _Check(self.launch, general.begun)
        until = self.launch.places.moving.until
        steps = self._last[ROUND] + 1 if until is None else 1 - until
        end = state_of(block)
        is_confirmed = (
            steps >= general.least_steps
            and steps < _LAST
            and not self._is_refused(block)
            and open_accesses(block) == general.open_before
            and is_kept(general.start.shown, end.shown)
            and check.confirm(general.start, end, general.live)
        )
        changes = Carried(self.launch, check.ends).changes() if is_confirmed else None
        if changes is None:
            self._drop(block, general)
            return
        self._forget()
        after = _After(self.launch, steps, changes, general.begun, is_open=until is not None)
        restore(block, after.state(general.start, general.live, end))
        self.repeats.append(Repeat(steps, after.sums, is_open=until is not None))
        self._watches[general.header].states.clear()
        self._watches[general.header].is_done = True


class _Guess:
    """The general state that two states of a loop suggest."""

    def __init__(self, launch: Launch, *, keeps_cells: bool) -> None:
        """keeps_cells: also computed data in shared memory, which most loops make anew in each round."""
        self.launch = launch
        self._keeps_cells = keeps_cells
        self.leaves_cells = False
        self._general: dict[tuple[Term, Term], Term | None] = {}
        self._sums: dict[tuple[Term, Term], Term] = {}
        self._is_lost = False
        """True if data in a live register change in a way that has no general form, as sums of integers do."""

    @property
    def begun(self) -> dict[Term, Term]:
        """Symbols of the general state, and the values that they have now."""
        return {symbol: now for (now, _), symbol in self._sums.items()}

    def state(self, now: State, before: State, live: frozenset[str]) -> State | None:
        """None: data that are neither a float sum nor dead do not grow evenly."""
        routine = self.launch.routine
        registers: dict[str, list[Value]] = {}
        alike: dict[str, list[Value]] = {}
        for name, values in now.alike.items():
            if name in live and name in before.alike:
                bits = TYPE_BITS[routine.registers[name]]
                alike[name] = [self._register(v, w, bits) for v, w in zip(values, before.alike[name], strict=True)]
        for name in (*now.registers, *now.alike):
            if name in alike:
                continue
            if name not in routine.registers:
                registers[name] = column_of(now, name, self.launch) or []  # a special register
                continue
            # a translation for each thread is made only where it is looked at
            column, old = (column_of(state, name, self.launch) if name in live else None for state in (now, before))
            if column is not None and old is not None:
                bits = TYPE_BITS.get(routine.registers[name], 64)
                registers[name] = [self._register(v, w, bits) for v, w in zip(column, old, strict=True)]
            else:
                registers[name] = [_DEAD] * len(now.times)
        if self._is_lost:
            return None
        cells: list[dict[int, Stored]] = []
        for here, there in zip(now.cells, before.cells, strict=True):
            if here.keys() != there.keys():
                return None
            found: dict[int, Stored] = {}
            for offset, cell in here.items():
                old_cell = there[offset]
                if not self._keeps_cells and cell.value is not old_cell.value and is_computed(cell.value):
                    self.leaves_cells = True
                    found[offset] = Stored(_DEAD, cell.size_bytes, cell.instruction)
                    continue
                value = self.value(cell.value, old_cell.value, 8 * cell.size_bytes)
                if value is None or cell.size_bytes != old_cell.size_bytes:
                    return None
                found[offset] = cell if value is cell.value else Stored(value, cell.size_bytes, cell.instruction)
            cells.append(found)
        copies = self._copies(now.copies, before.copies)
        if copies is None:
            return None
        return State(registers, alike, cells, now.history, copies, now.epoch, now.times, now.shown)

    def _copies(self, now: dict[int, Queue], before: dict[int, Queue]) -> dict[int, Queue] | None:
        found: dict[int, Queue] = {}
        for thread in now:
            groups, old = groups_of(now, thread), groups_of(before, thread)
            if [len(g) for g in groups] != [len(g) for g in old]:
                return None
            made: list[list[Copy]] = []
            for group, others in zip(groups, old, strict=True):
                copies = [self._copy(c, o) for c, o in zip(group, others, strict=True)]
                known = [c for c in copies if c is not None]
                if len(known) < len(copies):
                    return None
                made.append(known)
            found[thread] = Queue(made[0], made[1:])
        return found

    def _copy(self, now: Copy, before: Copy) -> Copy | None:
        if not is_same_place(now, before):
            return None
        values = [self.value(v, w, 32) for v, w in zip(now.values, before.values, strict=True)]
        known = tuple(v for v in values if v is not None)
        return replace(now, source=None, values=known) if len(known) == len(values) else None

    def _register(self, now: Value, before: Value, bits: int) -> Value:
        value = self.value(now, before, bits)
        if value is None and isinstance(now, Term) and isinstance(before, Term) and self.launch.data.kinds[now].is_float:
            key = (now, before)
            if key not in self._sums:
                made = atom(SUM, (self.launch.next_symbol(),))
                self._sums[key] = self.launch.data.made(made, self.launch.data.kinds[now])
            return self._sums[key]
        if value is None and isinstance(now, Term) and isinstance(before, Term):
            self._is_lost = True
        return _DEAD if value is None else value

    def value(self, now: Value, before: Value, bits: int) -> Value | None:
        """None: it does not grow evenly."""
        if isinstance(now, bool) or isinstance(before, bool):
            return now if now is before else None
        if isinstance(now, int) and isinstance(before, int):
            of = now.of if isinstance(now, Placed) else ()
            if of != (before.of if isinstance(before, Placed) else ()) or (isinstance(now, Placed) and now.parts):
                return None
            slope = (int(now) - int(before)) & ((1 << bits) - 1)
            return placed(int(now), tuple(sorted((*of, (ROUND, slope))))) if slope else now
        if isinstance(now, Undefined) and isinstance(before, Undefined):
            return now if now.reason == before.reason else None
        if isinstance(now, Term) and isinstance(before, Term):
            return self._term(now, before, 0)
        if isinstance(now, Joined) and isinstance(before, Joined) and widths(now) == widths(before):
            parts = [(self.value(v, w, n), n) for (v, n), (w, _) in zip(now.parts, before.parts, strict=True)]
            known = tuple((v, n) for v, n in parts if v is not None)
            return Joined(known) if len(known) == len(parts) else None
        return None

    def _term(self, now: Term, before: Term, depth: int) -> Term | None:
        if now is before:
            return now
        now, before = self.launch.data.expanded(now), self.launch.data.expanded(before)
        if (now.op, len(now.args)) != (before.op, len(before.args)) or depth > _DEEP:
            return None
        if now.op == "atom":
            (name, here, lanes), (other, there, _) = now.data, before.data
            if name == SUM or name != other or len(here) != 1 or len(there) != 1 or lanes != 1:
                return None
            return self.launch.data.made(atom(name, (here[0], here[0] - there[0])), self.launch.data.kinds[now])
        if not now.args or now.data != before.data:
            return None
        key = (now, before)
        if key not in self._general:
            args = (self._term(a, b, depth + 1) for a, b in zip(now.args, before.args, strict=True))
            known = [a for a in takewhile(lambda a: a is not None, args) if a is not None]
            made = now.rebuilt(known) if len(known) == len(now.args) else None
            self._general[key] = made if made is None else self.launch.data.made(made, self.launch.data.kinds[now])
        return self._general[key]


def _grow_alike(a: State, b: State) -> bool:
    """Whether all numbers of two general states grow by the same."""
    for name, column in a.registers.items():
        for v, w in zip(column, b.registers.get(name, column), strict=True):
            if isinstance(v, Placed) and (not isinstance(w, Placed) or v.of != w.of):
                return False
    return True


class _Check:
    """Whether a general step leads to the general state one step further on."""

    def __init__(self, launch: Launch, begun: Container[Term]) -> None:
        self.launch = launch
        self._begun = begun
        self.ends: dict[Term, Term] = {}
        """By symbol of what is handed on: the value after the step."""
        self._advanced: dict[Term, Term] = {}

    def confirm(self, start: State, end: State, live: frozenset[str]) -> bool:
        routine = self.launch.routine
        for name in live:
            bits = TYPE_BITS[routine.registers[name]]
            column, other_column = start.registers.get(name), end.registers.get(name)
            if name in start.alike:
                column, other_column = start.alike[name], end.alike.get(name)
            elif name in end.alike:
                other_column = column_of(end, name, self.launch)
            if column is None or other_column is None:
                return False
            if not all(self._is_next(v, w, bits, is_register=True) for v, w in zip(column, other_column, strict=True)):
                return False
        for cells, others in zip(start.cells, end.cells, strict=True):
            if cells.keys() != others.keys():
                return False
            for offset, cell in cells.items():
                other = others[offset]
                is_next = cell.value is _DEAD or self._is_next(cell.value, other.value, 8 * cell.size_bytes)
                if cell.size_bytes != other.size_bytes or not is_next:
                    return False
        return all(self._are_next(groups_of(start.copies, thread), groups_of(end.copies, thread)) for thread in end.copies)

    def _are_next(self, groups: list[list[Copy]], others: list[list[Copy]]) -> bool:
        if [len(g) for g in groups] != [len(g) for g in others]:
            return False
        pairs = [(c, d) for g, h in zip(groups, others, strict=True) for c, d in zip(g, h, strict=True)]
        return all(
            is_same_place(c, d) and all(self._is_next(v, w, 32) for v, w in zip(c.values, d.values, strict=True))
            for c, d in pairs
        )

    def _is_next(self, start: Value, end: Value, bits: int, *, is_register: bool = False) -> bool:
        if start is _DEAD:
            return is_register
        if isinstance(start, bool) or isinstance(end, bool):
            return start is end
        if isinstance(start, Undefined):
            return isinstance(end, Undefined) and (start.reason, start.line) == (end.reason, end.line)
        if isinstance(start, int) and isinstance(end, int):
            of = start.of if isinstance(start, Placed) else ()
            slope = next((s for name, s in of if name == ROUND), 0)
            mask = (1 << bits) - 1
            return of == (end.of if isinstance(end, Placed) else ()) and (int(start) + slope - int(end)) & mask == 0
        if isinstance(start, Joined) and isinstance(end, Joined) and widths(start) == widths(end):
            return all(self._is_next(v, w, n) for (v, n), (w, _) in zip(start.parts, end.parts, strict=True))
        if not isinstance(start, Term) or not isinstance(end, Term):
            return False
        end = self.launch.data.expanded(end)
        if is_register and start in self._begun:
            return self.ends.setdefault(start, end) is end
        return end is advanced(self.launch.data.expanded(start), 1, self.launch, self._advanced, is_general=True)


class _After:
    """The state after all steps."""

    def __init__(
        self, launch: Launch, steps: int, changes: dict[Term, Change], begun: dict[Term, Term], *, is_open: bool
    ) -> None:
        """begun: the values before the steps. is_open: one step more with each `%length`."""
        self.launch = launch
        self.steps = steps
        self.is_open = is_open
        self.changes = changes
        self.begun = begun
        self.sums: dict[Term, Term] = {}
        self._at_end: dict[Term, Term] = {}
        self._handed_on: dict[Term, Term] = {}

    def state(self, start: State, live: frozenset[str], end: State) -> State:
        routine = self.launch.routine
        registers: dict[str, list[Value]] = {}
        for name, column in start.registers.items():
            bits = TYPE_BITS.get(routine.registers.get(name, ""), 64)
            registers[name] = [self._register(v, bits) for v in column] if name in live else column
        alike = {
            name: [self._register(v, TYPE_BITS[routine.registers[name]]) for v in values] for name, values in start.alike.items()
        }
        cells = [
            {offset: Stored(self._value(c.value, 8 * c.size_bytes), c.size_bytes, c.instruction) for offset, c in region.items()}
            for region in start.cells
        ]
        copies = {
            t: Queue([self._copy(c) for c in q.open], [[self._copy(c) for c in g] for g in q.groups])
            for t, q in start.copies.items()
        }
        return State(registers, alike, cells, end.history, copies, end.epoch, end.times, end.shown)

    def _copy(self, copy: Copy) -> Copy:
        return replace(copy, values=tuple(self._value(v, 32) for v in copy.values))

    def _register(self, general: Value, bits: int) -> Value:
        if isinstance(general, Term) and general in self.changes:
            if general not in self._handed_on:
                self._handed_on[general] = self._after_steps(general)
            return self._handed_on[general]
        return self._value(general, bits)

    def _after_steps(self, symbol: Term) -> Term:
        """The value that the steps made of one that they hand on; the symbol stands for all that they add or offer."""
        before = self.begun[symbol]
        match self.changes[symbol]:
            case Added(()):
                return before
            case Added(parts):
                self.sums[symbol] = reduce(lambda total, part: self._made("+", total, part), parts)
                return self._made("+", before, symbol)
            case Offered(value):
                self.sums[symbol] = apply(GREATEST, value)
                return self._made("max", before, symbol)
            case AddedRescaled(top, added):
                self.sums[symbol] = added
                at_end = self._made("max", self.begun[top], top)
                own = self._made("*", before, self._power(self._made("-", self.begun[top], at_end)))
                return self._made("+", own, self._made("*", symbol, self._power(self._made("neg", at_end))))

    def _power(self, exponent: Term) -> Term:
        """With base e."""
        return self._made("ex2", self._made("*", exponent, LOG2_E))

    def _made(self, op: str, *terms: Term) -> Term:
        kind = self.launch.data.kinds[terms[0]]
        return self.launch.data.made(apply(op, *terms), kind)

    def _value(self, general: Value, bits: int) -> Value:
        if isinstance(general, Placed):
            slope = next((s for name, s in general.of if name == ROUND), 0)
            of = {name: s for name, s in general.of if name != ROUND}
            mask = (1 << bits) - 1
            if self.is_open and slope:
                of[LENGTH] = (of.get(LENGTH, 0) + slope) & mask
            number = (int(general) + slope * self.steps) & mask
            left = tuple(sorted((name, s) for name, s in of.items() if s))
            return placed(number, left) if left else number
        if isinstance(general, Term):
            return advanced(general, self.steps, self.launch, self._at_end, is_general=False, is_open=self.is_open)
        if isinstance(general, Joined):
            return Joined(tuple((self._value(v, n), n) for v, n in general.parts))
        return general
