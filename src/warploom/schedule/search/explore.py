"""Searches the implementations of a kernel for the fastest: the model's bound guides, measurements decide."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal, TypeAlias, assert_never

from warploom.core import Diagnostic, UserError
from warploom.core.limits import INTERRUPTION
from warploom.schedule.nest import Nest
from warploom.schedule.search.evaluate import CAREFUL_ROUNDS, Evaluator, Measurement, Memory, Record, Timed, Unfit
from warploom.schedule.search.kernel_model import C, Implementation, KernelModel, Step, features, milliseconds, picoseconds
from warploom.schedule.search.memory import most_bytes, resident_bytes
from warploom.solve import (
    BUDGET_SPENT,
    Budget,
    Cost,
    EventSink,
    Hints,
    Incumbent,
    Order,
    Outcome,
    Progress,
    Refine,
    StopSearchError,
    drafts,
    emit,
    order_named,
    run_order,
)

StrategyName: TypeAlias = Literal["refine", "mcts", "uct", "best-first"]

_FINAL_SHARE = 0.08
"""Share of a stage's wall seconds that is kept for timing its fastest implementations side by side."""
_FINAL_S = 5.0
"""Most seconds for all of them together."""
_ROUNDS, _TURN_MS = 12, 3.0
"""Number of runs of each, and about how long at least."""
_FAR = 1.25
"""Implementations that were slower than the best by this factor are not timed again."""
_NEAR = 0.01
"""Implementations whose times differ by less are taken as equally fast."""
_LAST, _CLOSE, _LAST_S = 6, 0.06, 3.0
"""So many that are slower than the fastest by this share at most are timed once more, for so many seconds at most."""
_LAST_SHARE = 0.5
"""Share of the seconds that are kept for the end which that may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    strategy: Order = field(default_factory=Refine)
    order: tuple[str, ...] | None = None
    """Order of decisions, by choice; None: the target's."""
    fixed: Mapping[str, str] = field(default_factory=dict[str, str])
    """Decisions taken by hand, by name."""
    budget_s: float | None = None
    """Wall seconds."""
    nodes: int | None = None
    evaluations: int | None = None
    below_ms: float | None = None
    """Upper limit: only faster implementations count."""
    margin: float = 0.0
    """Share by which an implementation must be faster than the best to be looked for."""
    most_bytes: int | None = None
    """Most bytes of this process's memory; None: most of what the machine has left when the search begins."""
    more: Callable[[Exploration[Any]], float] | None = None
    """Asked with the best so far where the wall seconds are spent, in the middle of the search: how many more there are; 0 ends
    it. Only where nothing is measured."""
    finalists: int = 24
    """Implementations timed side by side in the end, at most (fewer of slow ones, with a budget of seconds); 0: none."""


@dataclass(frozen=True, slots=True)
class Live:
    """State of a search while it goes on."""

    kernel: str
    best_ms: float | None
    """Measured, or the model's where nothing is measured."""
    bound_ms: float
    """Bound of the whole space: no implementation is faster, if the model is right."""
    nodes: int
    pruned: int
    """Candidates cut by the bound."""
    dead_ends: int
    evaluated: int
    duplicates: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Exploration(Generic[C]):
    """Result of exploring one kernel."""

    kernel: str
    best: Implementation[C] | None
    decisions: Mapping[str, str]
    """Decisions of the best implementation, in the order in which they were taken; `KernelSpace.replay` makes the candidate
    again."""
    time_ms: float | None
    """Measured; None where nothing is."""
    bound_ms: float | None
    """Bound of the best implementation, by the model."""
    root_bound_ms: float
    """Bound of the whole space."""
    proved_ms: float | None
    """No implementation left has a lower bound; None where the strategy does not tell."""
    nodes: int
    refuted: int
    pruned: int
    dead_ends: int
    evaluated: int
    duplicates: int
    unfit: int
    """Implementations that could not be compiled or run, or gave wrong results."""
    resumed: int
    """Measurements found in the journal."""
    complete: bool
    reason: str
    """Reason why the search ended early; empty if complete."""
    wall_s: float
    timed: Timed | None = None
    """Way in which `time_ms` was taken; None where nothing was timed with care."""
    contradictions: tuple[str, ...] = ()
    """Decided candidates that could not be lowered: faults of the space."""


def strategy_named(name: StrategyName, seed: int = 0, batch: int = 8) -> Order:
    """An order for dear measurements: its budget ends it, not its patience."""
    return order_named(name, seed, batch, patience=None)


def explore_kernel(
    model: KernelModel[C],
    kernel: str,
    evaluator: Evaluator | None = None,
    options: Options | None = None,
    *,
    memory: Memory | None = None,
    events: EventSink | None = None,
    progress: Callable[[Live], None] | None = None,
    make: Callable[[], KernelModel[C]] | None = None,
    executor: Executor | None = None,
) -> Exploration[C]:
    """The fastest implementation found within the budget; interrupting it keeps the best so far.

    Without an evaluator the model's cost counts, and a complete search is a proof in its terms. What `memory` knows, of this
    kernel on this device, is not measured again; None: nothing. With `make`, which makes an equal model, the first candidates of
    `Refine` are made by the executor's workers (processes, a cluster).
    """
    run = _Search(model, kernel, evaluator, options or Options(), memory or Memory("", None, events), events, progress)
    if make is not None and executor is not None:
        run.drafts = partial(_drafts, make, executor)
    return run.result()


def _drafts(make: Callable[[], KernelModel[C]], executor: Executor, count: int, seed: int) -> Iterator[tuple[Hashable, ...]]:
    return drafts(_MakeWithGuess(make), count, seed=seed, executor=executor)


@dataclass(frozen=True, slots=True)
class _MakeWithGuess(Generic[C]):
    make: Callable[[], KernelModel[C]]

    def __call__(self) -> tuple[KernelModel[C], Callable[[Step[C]], float]]:
        model = self.make()
        return model, model.estimate


def replay(model: KernelModel[C], decisions: Mapping[str, str]) -> Implementation[C]:
    """The implementation that decisions lead to. UserError: CHOICE, REFUTED, UNDECIDED."""
    step = model.replay(decisions)
    if names := model.open_names(step):
        raise UserError(Diagnostic("UNDECIDED", f"expected a value for every choice, got none for {', '.join(names)}"))
    found = model.answer(step)
    if found is None:
        raise UserError(Diagnostic("REFUTED", f"expected decisions that make a kernel, got: {'; '.join(model.contradictions)}"))
    return found[1]


class _Search(Generic[C]):
    def __init__(
        self,
        model: KernelModel[C],
        kernel: str,
        evaluator: Evaluator | None,
        options: Options,
        memory: Memory,
        events: EventSink | None,
        progress: Callable[[Live], None] | None,
    ) -> None:
        self._model = model
        self._kernel = kernel
        self._evaluator = evaluator
        self._options = options
        self._memory = memory
        self._events = events
        self._progress = progress
        self._began = time.monotonic()
        self._root_bound_ms = 0.0
        self._found: dict[str, Implementation[C]] = {}
        """Implementations that were measured in this run and are not surely slow."""
        self._unfit = 0
        self._told: Cost | None = None
        self._most_bytes: float = most_bytes() if options.most_bytes is None else options.most_bytes
        self.drafts: Callable[[int, int], Iterator[tuple[Hashable, ...]]] | None = None

    def result(self) -> Exploration[C]:
        options = self._options
        self._root_bound_ms = milliseconds(self._model.bound(self._model.root()))
        emit(self._events, "explore", kernel=self._kernel, bound_ms=self._root_bound_ms, resumed=self._memory.resumed)
        if self._evaluator is None:
            outcome = self._search(None)
            return self._report(outcome, self._best(outcome), None, None)
        budget_s = None if options.budget_s is None else options.budget_s * (1 - _FINAL_SHARE)
        found: Exploration[C] | None = None
        try:
            with self._evaluator.open():
                outcome = self._search(budget_s)
                if outcome.reason == INTERRUPTION:
                    found = self._as_it_is(outcome)
                    raise KeyboardInterrupt  # ends workers at once: whoever interrupts waits for no compiler
                best, time_ms, timed = self._final(outcome, self._evaluator)
                found = self._report(outcome, best, time_ms, timed)
        except KeyboardInterrupt:
            if found is None:
                raise
            return replace(found, complete=False, reason=INTERRUPTION)
        return found

    def _as_it_is(self, outcome: Outcome[Implementation[C]]) -> Exploration[C]:
        """The result without timing the fastest ones side by side."""
        time_ms = milliseconds(outcome.answers[0][0]) if outcome.answers else None
        return self._report(outcome, self._best(outcome), time_ms, None)

    def _search(self, budget_s: float | None) -> Outcome[Implementation[C]]:
        options = self._options
        hints: Hints[Step[C], Implementation[C]] = Hints(
            key=lambda i: i.key,
            measure=None if self._evaluator is None else self._measure,
            estimate=self._model.estimate,
            appraise=self._model.appraise,
            value=self._model.value,
            decide=self._model.decide,
            begin=self._model.begin,
            ways=self._model.ways,
            starts=self._model.starts,
            effort_s=None if self._evaluator is None else self._effort_s,
            is_amount=self._model.is_amount,
            sort=self._model.sort,
            retraced=self._model.retraced if self._model.retraces else None,
            is_open=self._model.is_open,
            features=features,
            drafts=self.drafts,
        )
        incumbent = Incumbent(
            self._model,
            hints=hints,
            below=None if options.below_ms is None else (picoseconds(options.below_ms),),
            margin=options.margin,
            budget=Budget(
                options.nodes,
                wall_s=budget_s or options.budget_s,
                evaluations=options.evaluations,
                more=None if options.more is None or self._evaluator is not None else self._more_s,
            ),
            progress=self._tell,
        )
        self._incumbent = incumbent
        self._adopt()
        return run_order(incumbent, options.strategy)

    def _more_s(self) -> float:
        best = self._incumbent.best
        assert self._options.more is not None
        return self._options.more(self._as_it_is(Outcome(() if best is None else (best,), False, "", self._incumbent.statistics)))

    def _adopt(self) -> None:
        """Begins with the best of the journal, where the space still has it."""
        for key, record in self._memory.best(1):
            implementation = self._again(key, record)
            if implementation is not None and isinstance(record.measurement, Timed):
                self._found[key] = implementation
                self._incumbent.adopt((picoseconds(record.measurement.judged_ms),), implementation)

    def _again(self, key: str, record: Record) -> Implementation[C] | None:
        try:
            implementation = replay(self._model, record.decisions)
        except UserError:
            return None
        return implementation if implementation.key == key else None

    def _measure(self, implementations: Sequence[Implementation[C]]) -> Iterator[tuple[int, Cost | None]]:
        evaluator = self._evaluator
        assert evaluator is not None
        new: list[int] = []
        for position, implementation in enumerate(implementations):
            record = self._memory.find(implementation.key)
            if record is None:
                new.append(position)
            else:
                yield position, self._cost(implementation, record)
        best = self._incumbent.best
        best_ms = None if best is None else milliseconds(best[0])
        nests: list[Nest] = [implementations[position].nest for position in new]
        if not nests:
            return
        for n, measurement in evaluator.measure(nests, best_ms):
            implementation = implementations[new[n]]
            record = Record(implementation.judged(measurement), implementation.decisions, implementation.bound_ms)
            self._memory.add(implementation.key, record)
            yield new[n], self._cost(implementation, record)

    def _effort_s(self, implementation: Implementation[C], most_s: float) -> float:
        evaluator = self._evaluator
        if evaluator is None or self._memory.find(implementation.key):
            return 0.0
        return evaluator.effort_s(implementation.nest, most_s)

    def _cost(self, implementation: Implementation[C], record: Record) -> Cost | None:
        match record.measurement:
            case Timed():
                self._found[implementation.key] = implementation
                if len(self._found) > 4 * max(1, self._options.finalists):
                    keep = {key for key, _ in self._memory.best(max(1, self._options.finalists))}
                    self._found = {k: i for k, i in self._found.items() if k in keep}
                return (picoseconds(record.measurement.judged_ms),)
            case Unfit():
                self._unfit += 1
                return None
            case _:
                assert_never(record.measurement)

    def _final(
        self, outcome: Outcome[Implementation[C]], evaluator: Evaluator
    ) -> tuple[Implementation[C] | None, float | None, Timed | None]:
        """The fastest when timed side by side; of nearly equal ones, the one that was the fastest before."""
        best = self._best(outcome)
        if best is None:
            return None, None, None
        time_ms = milliseconds(outcome.answers[0][0])
        finalists = [best]
        try:
            for key, record in self._finalists(time_ms):
                implementation = self._found.get(key) or self._again(key, record)
                if implementation is not None and key != best.key:
                    finalists.append(implementation)
            retimed = list(evaluator.retime([i.nest for i in finalists]))
            for n, measurement in self._again_with_care(retimed, finalists, evaluator):
                retimed[n] = measurement
            times = [i.judged(m) for m, i in zip(retimed, finalists, strict=True)]
        except KeyboardInterrupt:
            return best, time_ms, None
        timed = [(m, i) for m, i in zip(times, finalists, strict=True) if isinstance(m, Timed)]
        for measurement, implementation in zip(times, finalists, strict=True):
            if isinstance(measurement, Unfit):
                self._unfit += 1
                self._memory.add(implementation.key, Record(measurement, implementation.decisions, implementation.bound_ms))
        if not timed:
            return None, None, None
        least = min(m.judged_ms for m, _ in timed)
        chosen, best = next((m, i) for m, i in timed if m.judged_ms <= least * (1 + _NEAR))
        time_ms, known = chosen.time_ms, self._memory.find(best.key)
        if known is not None and isinstance(known.measurement, Timed) and not known.measurement.is_rough:
            before_ms = known.measurement.time_ms
            chosen = replace(chosen, least_ms=before_ms if chosen.least_ms is None else min(before_ms, chosen.least_ms))
        emit(self._events, "final", times_ms=[m.time_ms for m, _ in timed], time_ms=time_ms, decisions=dict(best.decisions))
        return best, time_ms, chosen

    def _again_with_care(
        self, retimed: Sequence[Measurement], finalists: Sequence[Implementation[C]], evaluator: Evaluator
    ) -> Iterator[tuple[int, Measurement]]:
        """The few fastest once more, in as many rounds as there is time for."""
        timed = sorted((m.judged_ms, n) for n, m in enumerate(retimed) if isinstance(m, Timed) and not m.is_modelled)
        close = [n for ms, n in timed[:_LAST] if ms <= timed[0][0] * (1 + _CLOSE)]
        turn_ms = sum(max(timed[0][0], _TURN_MS) for _ in close)
        budget_s = self._options.budget_s
        most_s = _LAST_S if budget_s is None else min(_LAST_S, _LAST_SHARE * _FINAL_SHARE * budget_s)
        rounds = int(1e3 * most_s / max(turn_ms, _TURN_MS))
        if len(close) > 1 and rounds > CAREFUL_ROUNDS:
            yield from zip(close, evaluator.retime([finalists[n].nest for n in close], rounds), strict=True)

    def _finalists(self, time_ms: float) -> Iterator[tuple[str, Record]]:
        """The implementations nearly as fast as the best, as many as there is time for."""
        budget_s = self._options.budget_s
        left_ms = 1e3 * (_FINAL_S if budget_s is None else min(_FINAL_S, 0.5 * _FINAL_SHARE * budget_s))
        left_ms -= _ROUNDS * max(time_ms, _TURN_MS)
        for key, record in self._memory.best(self._options.finalists):
            measurement = record.measurement
            if not isinstance(measurement, Timed) or measurement.is_rough or measurement.judged_ms > _FAR * time_ms:
                continue
            left_ms -= _ROUNDS * max(measurement.judged_ms, _TURN_MS)
            if left_ms < 0:
                return
            yield key, record

    def _best(self, outcome: Outcome[Implementation[C]]) -> Implementation[C] | None:
        return outcome.answers[0][1] if outcome.answers else None

    def _tell(self, progress: Progress) -> None:
        counts = progress.statistics
        best_ms = None if progress.best is None else milliseconds(progress.best)
        live = Live(
            self._kernel, best_ms, self._root_bound_ms, counts.nodes, counts.bounded, counts.dead_ends, counts.evaluated,
            counts.duplicates, progress.wall_s,
        )  # fmt: skip
        if progress.best != self._told and self._incumbent.best is not None:
            self._told = progress.best
            best = self._incumbent.best[1]
            emit(self._events, "better", time_ms=best_ms, bound_ms=best.bound_ms, decisions=dict(best.decisions))
        else:
            emit(
                self._events, "progress", best_ms=best_ms, bound_ms=self._root_bound_ms, nodes=counts.nodes,
                pruned=counts.bounded, dead_ends=counts.dead_ends, evaluated=counts.evaluated,
            )  # fmt: skip
        if self._progress is not None:
            self._progress(live)
        if (used := resident_bytes()) > self._most_bytes:
            self._most_bytes = float("inf")  # told once
            raise StopSearchError(f"{BUDGET_SPENT}memory ({used / 1e9:.2g} GB)")

    def _report(
        self, outcome: Outcome[Implementation[C]], best: Implementation[C] | None, time_ms: float | None, timed: Timed | None
    ) -> Exploration[C]:
        counts = outcome.statistics
        return Exploration(
            kernel=self._kernel,
            best=best,
            decisions={} if best is None else best.decisions,
            time_ms=time_ms,
            bound_ms=None if best is None else best.bound_ms,
            root_bound_ms=self._root_bound_ms,
            proved_ms=None if outcome.bound is None else milliseconds(outcome.bound),
            nodes=counts.nodes,
            refuted=counts.refuted,
            pruned=counts.bounded,
            dead_ends=counts.dead_ends,
            evaluated=counts.evaluated,
            duplicates=counts.duplicates,
            unfit=self._unfit,
            resumed=self._memory.resumed,
            complete=outcome.complete,
            reason=outcome.reason,
            wall_s=time.monotonic() - self._began,
            timed=timed,
            contradictions=tuple(self._model.contradictions),
        )
