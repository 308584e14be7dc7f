"""Search over a fake kernel's space: strategies, journal, resume, replay, events, budgets."""

from __future__ import annotations

import importlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from tests.schedule.search.fakes import KINDS, SIZES, FakeBound, FakeEvaluator, FakeSpace, true_time

from warploom.core import UserError
from warploom.schedule.search import (
    KernelModel,
    Live,
    Memory,
    Options,
    Record,
    Timed,
    Unfit,
    device_turn,
    evaluate,
    explore_kernel,
    replay,
    strategy_named,
)
from warploom.solve import Event, Journal, chen, enumerate_levels, tree_size

NAMES = ("refine", "mcts", "uct", "best-first")


def model(**options) -> KernelModel:
    return KernelModel(FakeSpace(), FakeBound(), **options)


def implementations() -> list[float]:
    times = []
    for sizes, kinds in product(product(SIZES, repeat=3), product(KINDS, repeat=3)):
        is_legal = kinds.count("vector") <= 1 and not any(k == "vector" and s == 16 for s, k in zip(sizes, kinds, strict=True))
        if is_legal and kinds.count("unroll") < 3:
            decisions = {f"size({n})": str(s) for n, s in enumerate(sizes)}
            decisions |= {f"dim_kind({n})": k for n, k in enumerate(kinds)}
            times.append(true_time(replay(model(), {**decisions, "cache(0)": "all"}).nest))
    return times


BEST = min(implementations())


@pytest.mark.parametrize("name", NAMES)
def test_finds_the_fastest(name) -> None:
    evaluator = FakeEvaluator()
    options = Options(strategy=strategy_named(name, seed=1), evaluations=400)
    found = explore_kernel(model(), "fake", evaluator, options)
    assert found.best is not None and found.time_ms == true_time(found.best.nest)
    assert found.time_ms <= (BEST if name == "best-first" else 1.1 * BEST)
    assert found.bound_ms == found.best.bound_ms and found.bound_ms <= found.time_ms
    assert replay(model(), found.decisions).key == found.best.key
    keys = [str(n) for n in evaluator.measured]
    assert len(keys) == len(set(keys)) == found.evaluated
    assert evaluator.retimed > 0 and not evaluator.is_open


def test_complete_searches_prove_the_model_optimum() -> None:
    for name in ("best-first", "mcts"):
        found = explore_kernel(model(), "fake", None, Options(strategy=strategy_named(name)))
        assert found.complete and found.reason == "" and found.time_ms is None
        assert found.bound_ms == pytest.approx(1.5**2 * 2.0 * 0.5 * 0.8 * 0.8)
        assert found.pruned > 0 and found.nodes > 0


def test_decision_order_is_an_option() -> None:
    direct = explore_kernel(model(), "fake", None, Options(strategy=strategy_named("best-first")))
    reverse = explore_kernel(
        model(order=("cache", "dim_kind", "size")), "fake", None, Options(strategy=strategy_named("best-first"))
    )
    assert direct.bound_ms == reverse.bound_ms
    assert next(iter(direct.decisions)).startswith("size") and next(iter(reverse.decisions)).startswith("cache")


def test_decisions_fixed_by_hand() -> None:
    fixed = {"dim_kind(0)": "vector", "size(1)": "2"}
    found = explore_kernel(model(fixed=fixed), "fake", FakeEvaluator(), Options(strategy=strategy_named("best-first")))
    assert {k: found.decisions[k] for k in fixed} == fixed
    with pytest.raises(UserError, match="REFUTED"):
        explore_kernel(model(fixed={"dim_kind(0)": "vector", "size(0)": "16"}), "fake", None)


def test_replay_says_what_is_missing() -> None:
    with pytest.raises(UserError, match=r"UNDECIDED.*size\(1\)"):
        replay(model(), {"size(0)": "2"})
    decisions = {f"size({n})": "2" for n in range(3)} | {f"dim_kind({n})": "unroll" for n in range(3)} | {"cache(0)": "all"}
    with pytest.raises(UserError, match="three unrolled loops"):
        replay(model(), decisions)


def test_journal_resumes_without_measuring_again(tmp_path: Path) -> None:
    options = Options(strategy=strategy_named("refine", seed=3), evaluations=60)
    first_evaluator = FakeEvaluator(interrupt_at=30)
    first = explore_kernel(model(), "fake", first_evaluator, options, memory=Memory("p/", Journal(tmp_path / "j"), None))
    assert first.reason == "interrupted" and first.best is not None
    second_evaluator = FakeEvaluator()
    second = explore_kernel(model(), "fake", second_evaluator, options, memory=Memory("p/", Journal(tmp_path / "j"), None))
    assert second.resumed == 29
    done = {str(n) for n in first_evaluator.measured[:29]}
    assert not done & {str(n) for n in second_evaluator.measured}
    assert second.time_ms is not None and first.time_ms is not None and second.time_ms <= first.time_ms + 1e-9
    other = explore_kernel(model(), "fake", FakeEvaluator(), options, memory=Memory("q/", Journal(tmp_path / "j"), None))
    assert other.resumed == 0


def test_best_of_the_journal_is_kept_even_if_nothing_is_searched(tmp_path: Path) -> None:
    options = Options(strategy=strategy_named("best-first"))
    first = explore_kernel(model(), "fake", FakeEvaluator(), options, memory=Memory("p/", Journal(tmp_path / "j"), None))
    again = Memory("p/", Journal(tmp_path / "j"), None)
    second = explore_kernel(model(), "fake", FakeEvaluator(), Options(nodes=1), memory=again)
    assert second.best is not None and first.best is not None
    assert second.time_ms == first.time_ms and second.evaluated == 0


def test_unfit_implementations_are_counted_and_avoided() -> None:
    found = explore_kernel(model(), "fake", FakeEvaluator(unfit="vector"), Options(strategy=strategy_named("best-first")))
    assert found.unfit > 0 and found.best is not None
    assert found.decisions["dim_kind(2)"] != "vector"  # the outermost loop


def test_events_and_progress() -> None:
    events: list[Event] = []
    live: list[Live] = []
    found = explore_kernel(
        model(), "fake", FakeEvaluator(), Options(strategy=strategy_named("mcts"), evaluations=30),
        events=events.append, progress=live.append,
    )  # fmt: skip
    kinds = {e.kind for e in events}
    assert {"explore", "measured", "better", "progress", "final"} <= kinds
    assert len([e for e in events if e.kind == "measured"]) == found.evaluated == 30
    better = [e.fields["time_ms"] for e in events if e.kind == "better"]
    assert better == sorted(better, reverse=True)
    assert live[-1].evaluated == 30 and live[-1].nodes == found.nodes


@pytest.mark.parametrize(("options", "reason"), [(Options(nodes=50), "nodes"), (Options(budget_s=1e-9), "wall seconds")])
def test_budgets(options: Options, reason: str) -> None:
    assert explore_kernel(model(), "fake", FakeEvaluator(), options).reason == f"budget: {reason}"


def test_contradictions_are_reported() -> None:
    found = explore_kernel(model(), "fake", None, Options(strategy=strategy_named("refine")))
    assert set(found.contradictions) <= {"three unrolled loops"}


def test_same_seed_same_search() -> None:
    def run():
        evaluator = FakeEvaluator()
        found = explore_kernel(model(), "fake", evaluator, Options(strategy=strategy_named("mcts", seed=4), evaluations=50))
        return found.decisions, found.nodes, evaluator.measured

    assert run() == run()


def test_size_of_the_space() -> None:
    kernels = model()
    levels = enumerate_levels(kernels, 7).levels
    size = tree_size(chen(kernels, range(20), remaining=kernels.remaining))
    leaves = sum(levels.leaves) + levels.nodes[7]
    assert abs(size.leaves.mean - leaves) <= 0.1 * leaves
    assert size.dead_ends.mean == sum(levels.dead_ends) == 0


def test_levels_counted_at_once_are_those_made_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = model()
    below = (int(1.5 * kernels.bound(kernels.root())[0]),)
    counted = enumerate_levels(kernels, 6, below=below).levels
    asked: list[int] = []
    widths = type(kernels).widths
    monkeypatch.setattr(type(kernels), "widths", lambda self, step, levels: asked.append(levels) or widths(self, step, levels))
    assert enumerate_levels(kernels, 6, below=below).levels == counted
    assert set(asked) <= {1, 2}
    assert asked
    monkeypatch.setattr(type(kernels), "widths", lambda self, step, levels: None)
    assert enumerate_levels(kernels, 6, below=below).levels == counted


def test_records_survive_json() -> None:
    for measurement in (Timed(1.5), Timed(2.0, is_rough=True), Unfit("no")):
        record = Record(measurement, {"size(0)": "2"}, 1.0)
        assert Record.from_json(record.to_json()) in (record, Record(Timed(2.0, True), {"size(0)": "2"}, 1.0))
    assert Record.from_json({"time_ms": "fast"}) is None
    assert Memory("p/", None, None).best(3) == []


def test_one_measurement_at_a_time() -> None:
    import threading

    inside, most = 0, 0

    def measure() -> None:
        nonlocal inside, most
        with device_turn("test-device"):
            inside += 1
            most = max(most, inside)
            threading.Event().wait(0.01)
            inside -= 1

    threads = [threading.Thread(target=measure) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1


def test_a_turn_that_never_ends_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate, "LONGEST_WAIT_S", 0.02)
    with device_turn("test-device"), device_turn("test-device"):
        pass


def test_an_interruption_after_the_search_keeps_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ending(FakeEvaluator):
        @contextmanager
        def open(self):
            with super().open():
                yield
            raise KeyboardInterrupt

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    ended = explore_kernel(model(), "fake", Ending(), Options(evaluations=20))
    assert ended.best is not None and ended.reason == "interrupted" and not ended.complete
    monkeypatch.setattr(importlib.import_module("warploom.schedule.search.explore")._Search, "_finalists", interrupted)
    found = explore_kernel(model(), "fake", FakeEvaluator(), Options(evaluations=20))
    assert found.best is not None and found.time_ms is not None


def test_an_interrupted_search_ends_its_workers_and_times_nothing_more() -> None:
    ends: list[type[BaseException]] = []

    class Held(FakeEvaluator):
        @contextmanager
        def open(self):
            try:
                with super().open():
                    yield
            except BaseException as error:
                ends.append(type(error))
                raise

    evaluator = Held(interrupt_at=30)
    found = explore_kernel(model(), "fake", evaluator, Options(evaluations=60))
    assert ends == [KeyboardInterrupt] and evaluator.retimed == 0
    assert found.reason == "interrupted" and not found.complete and found.timed is None
    assert found.best is not None and found.time_ms == pytest.approx(true_time(found.best.nest))
    nothing = explore_kernel(model(), "fake", Held(interrupt_at=1), Options(evaluations=60))
    assert nothing.reason == "interrupted" and nothing.best is None and nothing.time_ms is None


def test_first_candidates_by_workers() -> None:
    with ThreadPoolExecutor(2) as executor:
        found = explore_kernel(
            model(), "fake", FakeEvaluator(), Options(evaluations=100), make=model, executor=executor
        )  # fmt: skip
    assert found.time_ms is not None and found.time_ms <= 1.1 * BEST
