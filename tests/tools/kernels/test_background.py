"""Searches in the background: what they find is used by later calls, and nothing else changes."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import os
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import warploom as wl
from warploom import f32
from warploom.api import jitting
from warploom.api.jitting import SearchWarning
from warploom.schedule.calls import EvaluatedRunner
from warploom.tools.kernels import background, searching, tuning
from warploom.tools.kernels.background import MOST_WAITING, Answer, Request, Searches, read_answer

X = np.arange(64, dtype=np.float32)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store for this test alone."""
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tuning.store, "store_folder", lambda make=False: tmp_path)
    monkeypatch.delenv(jitting.BACKGROUND, raising=False)
    return tmp_path


def made(**more: Any) -> wl.JitFunction:
    @wl.jit(threads=1, **more)
    def scaled(X: f32["n"], by: f32, Y: wl.out[f32["n"]]):
        Y[i] = X[i] * by

    return scaled


class Stand:
    """In the place of the processes: each search waits for its leave, and gives the next answer."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[Answer | Exception] = []
        self.leave = threading.Semaphore(0)

    def run(self, request: Request) -> Answer:
        self.requests.append(request)
        assert self.leave.acquire(timeout=60)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def stand(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    found = Stand()
    searches = Searches(found.run)
    monkeypatch.setattr(background, "searches", searches)
    yield found
    searches.drop()
    found.leave.release(100)


class Winner(EvaluatedRunner):
    kind = "found"


@pytest.fixture
def winner(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """The store has a record once a search has kept one; the sizes that were looked up from another thread."""
    looked: list[dict[str, int]] = []

    def known(function: Any, sizes: Any, *_: Any) -> Any:
        if threading.current_thread() is threading.main_thread():
            return None
        looked.append(dict(sizes))
        return Winner(function.program(sizes))

    monkeypatch.setattr(jitting, "known_runner", known)
    return looked


def test_calls_go_on_and_later_ones_use_what_was_found(stand: Stand, winner: list[dict[str, int]]) -> None:
    function = made(search="background")
    for _ in range(3):
        np.testing.assert_array_equal(function(X, 2), X * 2)
        assert function.kind(X, 2) == "plain"
    stand.answers = [Answer(kept=True)]
    assert not function.wait(0)
    stand.leave.release()
    assert function.wait(60)
    assert len(stand.requests) == 1 and dict(stand.requests[0].sizes) == {"n": 64} and stand.requests[0].budget_s == 60
    assert winner == [{"n": 64}]
    y = np.zeros_like(X)
    assert function(X, 3, y) is y and function.kind(X, 2) == "found"
    np.testing.assert_array_equal(y, X * 3)
    function(X, 2)
    assert len(stand.requests) == 1


def test_a_call_that_runs_when_the_answer_comes_ends_with_what_it_began(
    stand: Stand, winner: list[dict[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    function = made(search="background")
    calls = function._calls
    bind = calls.run

    def while_the_answer_comes(binding: Any) -> Any:
        runner = calls.runner(binding.sizes)
        stand.answers = [Answer(kept=True)]
        stand.leave.release()
        assert function.wait(60)
        ran = bind(binding)
        assert ran is runner and ran.kind == "plain"
        function._take()  # as another thread's call does
        return ran

    monkeypatch.setattr(calls, "run", while_the_answer_comes)
    np.testing.assert_array_equal(function(X, 2), X * 2)
    monkeypatch.undo()
    assert not calls._forms and not calls._shorts  # no short way to the old runner
    assert function.kind(X, 2) == "found"


def test_a_search_that_finds_nothing_better_changes_nothing(stand: Stand, winner: list[dict[str, int]]) -> None:
    function = made(search="background")
    stand.answers = [Answer(kept=False)]
    stand.leave.release()
    function(X, 2)
    assert function.wait(60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(X, 2)
    assert function.kind(X, 2) == "plain" and not winner and len(stand.requests) == 1


@pytest.mark.parametrize("answer", [Answer(kept=False, error="no room"), ValueError("no room")])
def test_a_failure_is_told_once_and_ends_the_searches(stand: Stand, answer: Any) -> None:
    function = made(search="background")
    stand.answers = [answer, answer]
    function(X, 2)
    function(X[:32], 2)
    stand.leave.release(2)
    assert function.wait(60)
    with pytest.warns(SearchWarning, match=r"faster scaled in the background failed.*no room") as told:
        np.testing.assert_array_equal(function(X, 2), X * 2)
        np.testing.assert_array_equal(function(X, 2), X * 2)
    assert len(told) == 1 and told[0].filename == __file__
    function(X[:16], 2)
    assert len(stand.requests) == 2


def test_a_record_that_cannot_be_read_is_a_failure(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    def known(*_: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            raise OSError("disk")

    monkeypatch.setattr(jitting, "known_runner", known)
    function = made(search="background")
    stand.answers = [Answer(kept=True)]
    stand.leave.release()
    function(X, 2)
    assert function.wait(60)
    with pytest.warns(SearchWarning, match="OSError: disk"):
        function(X, 2)


def test_what_tune_found_meanwhile_stays(stand: Stand, winner: list[dict[str, int]]) -> None:
    function = made(search="background")
    function(X, 2)
    tuned = EvaluatedRunner(function.tensor.program({"n": 64}))
    function._calls.use({"n": 64}, tuned)
    stand.answers = [Answer(kept=True)]
    stand.leave.release()
    assert function.wait(60) and winner
    assert function.kind(X, 2) == "evaluated"


def test_who_asks(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    made()(X, 2)
    made(search="off")(X, 2)
    monkeypatch.setenv(jitting.BACKGROUND, "0")
    made()(X, 2)
    monkeypatch.setenv(jitting.BACKGROUND, "1")
    made(search="off")(X, 2)
    assert not stand.requests
    for text, budget_s in (("1", 60.0), ("1.5m", 90.0), ("0", 60.0)):
        monkeypatch.setenv(jitting.BACKGROUND, text)
        function = made(search="background" if text == "0" else None)
        stand.answers = [Answer(kept=False)]
        stand.leave.release()
        function(X, 2)
        assert function.wait(60) and stand.requests[-1].budget_s == budget_s
    monkeypatch.setenv(jitting.BACKGROUND, "soon")
    with pytest.raises(wl.UserError, match="expected 0, 1 or a time such as 30s in WARPLOOM_BACKGROUND"):
        made()(X, 2)
    with pytest.raises(wl.UserError, match="expected background or off as search, got 'on'"):
        made(search="on")
    monkeypatch.setenv(jitting.BACKGROUND, "1")
    monkeypatch.setattr(jitting.multiprocessing, "parent_process", object)
    count = len(stand.requests)
    made()(X, 2)
    assert len(stand.requests) == count


def test_searches_wait_for_each_other_and_only_so_many_do() -> None:
    stand = Stand()
    searches = Searches(stand.run)
    function, told = made().tensor, list[tuple[int, Answer]]()
    done = threading.Semaphore(0)

    def tell(n: int) -> Callable[[Answer], None]:
        def take(answer: Answer) -> None:
            told.append((n, answer))
            done.release()

        return take

    stand.answers = [Answer(kept=False) for _ in range(MOST_WAITING + 2)]
    assert searches.ask(Request(function, {"n": 1}, 1, 1.0), tell(0))
    while not stand.requests:
        pass
    taken = [searches.ask(Request(function, {"n": n}, 1, 1.0), tell(n)) for n in range(1, MOST_WAITING + 2)]
    assert taken == [True] * MOST_WAITING + [False] and len(stand.requests) == 1
    stand.leave.release(MOST_WAITING + 1)
    for _ in range(MOST_WAITING + 1):
        assert done.acquire(timeout=60)
    assert [n for n, _ in told] == list(range(MOST_WAITING + 1))


def test_lines_that_are_no_answer() -> None:
    assert read_answer(b'{"kept": true, "error": ""}\n', lambda: 0) == Answer(kept=True)
    for line in (b"", b"{", b'{"kept": 1, "error": ""}', b"[]", b"\xff"):
        assert read_answer(line, lambda: -9) == Answer(kept=False, error="its process ended without an answer (exit code -9)")


class Found:
    def __init__(self, ending: tuning.Ending, **line: object) -> None:
        self.outcome = self
        self.ending = ending
        self.line = line


def test_what_a_process_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request(made().tensor, {"n": 64}, 1, 5.0, nodes=3)
    known: list[Any] = [None]
    asked: list[Any] = []
    monkeypatch.setattr(searching, "known_runner", lambda *_: known[0])
    told = {"status": "solved", "verdict": "tested", "not_kept": "why"}
    for ending, line, expected in (
        (tuning.Ending.KEPT, {}, Answer(kept=True)),
        (tuning.Ending.FOUND_BEFORE, told, Answer(kept=True)),
        (tuning.Ending.NO_ANSWER, told | {"status": "error"}, Answer(kept=False, error="why")),
        (tuning.Ending.NO_ANSWER, told | {"status": "unknown"}, Answer(kept=False)),
        (tuning.Ending.NOT_WRITTEN, told, Answer(kept=False, error="why")),
        (tuning.Ending.NOT_COMPARED, told, Answer(kept=False)),
        (tuning.Ending.TOO_EARLY, told, Answer(kept=False)),
    ):
        found = Found(ending, **line)
        monkeypatch.setattr(searching, "search", lambda f, options, *_, found=found: asked.append(options) or found)
        assert searching.searched(request) == expected
    assert {(o.budget_s, o.nodes, o.threads, o.sizes["n"]) for o in asked} == {(5.0, 3, 1, 64)}
    known[0] = object()
    count = len(asked)
    assert searching.searched(request) == Answer(kept=True) and len(asked) == count  # another process was first


def test_a_process_of_its_own_answers(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A store that has a record already, so that the process has nothing to search."""
    monkeypatch.undo()
    cache = tmp_path / "cache" / "results.db"
    monkeypatch.setenv("WARPLOOM_CACHE", str(cache.parent))
    monkeypatch.setenv(jitting.BACKGROUND, "1")
    function = made(search="off").tensor
    kept = tuning.store.store_folder(make=True)
    assert kept is not None
    tuning.store.add(kept, {
        "function": function.name, "key": tuning.store.key_of(tuning.plain_program(function, {"n": 64}), 1), "sizes": {"n": 64},
        "threads": 1, "kind": "plain", "stages": [],
    })  # fmt: skip
    assert background.run_apart(Request(function, {"n": 64}, 1, 5.0)) == Answer(kept=True)
    assert not background._children.running


def test_a_process_that_cannot_read_its_request_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_PROGRAM", "raise SystemExit(7)")
    answer = background.run_apart(Request(made().tensor, {"n": 64}, 1, 5.0))
    assert not answer.kept and answer.error.startswith("its process ended without an answer")


WAITING = """
import os, threading
from warploom.tools.kernels.ending import end_with
threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
os.write(1, b"up")
threading.Event().wait()
"""


def test_a_search_ends_with_its_input() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", WAITING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, env=environment
    )
    assert child.stdin is not None and child.stdout is not None
    assert child.stdout.read(2) == b"up" and child.poll() is None
    child.stdin.close()  # as when the parent is killed
    assert child.wait(60) == -9
    child.stdout.close()


def test_the_end_of_the_program_ends_its_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_PROGRAM", "import threading; threading.Event().wait()")
    monkeypatch.setattr(background, "_children", background._Children())
    answers: list[Answer] = []
    request = Request(made().tensor, {"n": 64}, 1, 5.0)
    thread = threading.Thread(target=lambda: answers.append(background.run_apart(request)))
    thread.start()
    while not background._children.running:
        pass
    background._end_all()
    thread.join(60)
    assert answers == [Answer(kept=False, error=answers[0].error)] and answers[0].error
    assert background.run_apart(request) == Answer(kept=False)  # none begins behind the end


def test_a_fork_leaves_the_searches_to_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    before = background.searches, background._children, background._mutex
    try:
        background._forked()
        assert background.searches is not before[0] and not background._children.running
    finally:
        background.searches, background._children, background._mutex = before
    monkeypatch.setattr(background, "_children", background._Children(of=1))
    background._end_all()  # of another process: nothing ends
    assert not background._children.is_ended


def test_requests_are_pickled_whole() -> None:
    request = Request(made().tensor, {"n": 64}, 1, 5.0)
    assert pickle.loads(pickle.dumps(request)) == request


@pytest.mark.slow
def test_a_winner_of_a_real_search_is_used_by_later_calls_and_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its cheap twins: test_calls_go_on_and_later_ones_use_what_was_found, test_a_process_of_its_own_answers."""
    monkeypatch.undo()
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jitting, "_BACKGROUND_S", 20.0)
    function = made(search="background")
    expected = function(X, 2)
    assert function.wait(300)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(function(X, 2), expected)
    assert tuning.known_runner(function.tensor, {"n": 64}, 1) is not None
    assert function._calls.is_chosen({"n": 64})
