"""Loops on real data in pieces, against the loops themselves."""

import random
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from warploom import scan
from warploom.core import UserError
from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.parallel import folding, map_reduce, map_scan, text_lines
from warploom.scan.parallel import map_reduce as module
from warploom.scan.tasks import loops_module
from warploom.solve import Failed, Task, cluster_executor, process_executor

NAMES = ("total", "max_segment_sum", "balanced_parentheses", "count_blocks_of_ones", "average", "is_sorted")
LOOPBACK = {"host": "127.0.0.1", "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
RUNNING = scan.parse_module(
    """
def smoothed(xs: list[float]):
    level = 0.0
    out = []
    for x in xs:
        level = 0.5 * level + x
        out.append(level)
    return out
""",
    "running.py",
)


def lifted(name: str) -> scan.Lifting:
    return scan.lift(scan.read_loop(loops_module(), name))


def numbers(count: int, name: str) -> list[Any]:
    choose = random.Random(count)
    return [choose.random() < 0.5 if name == "balanced_parentheses" else choose.randint(-3, 3) for _ in range(count)]


def number_of(line: str) -> int | None:
    return int(line) if line.strip() else None


@pytest.mark.parametrize("name", NAMES)
def test_every_way_to_give_data(name: str) -> None:
    serial, found = scan.user_function(loops_module(), name), lifted(name)
    with ThreadPoolExecutor(2) as threads:
        for count in (0, 1, 2, 100):
            data = numbers(count, name)
            expected = serial(data)
            assert map_reduce(found, data) == expected
            assert map_reduce(found, iter(data), executor=threads) == expected
            assert map_reduce(found, np.array(data), chunks=7, executor=threads) == expected


@pytest.fixture(scope="module")
def executors() -> Iterator[list[Executor]]:
    distributed: Any = pytest.importorskip("distributed")
    with (
        process_executor(2) as processes,
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **LOOPBACK) as started,
        cluster_executor(started.scheduler_address) as cluster,
    ):
        yield [processes, cluster]


def test_processes_and_two_dask_workers(executors: list[Executor]) -> None:
    serial, found = scan.user_function(loops_module(), "max_segment_sum"), lifted("max_segment_sum")
    data = numbers(5000, "max_segment_sum")
    for executor in executors:
        assert map_reduce(found, data, executor=executor, chunks=6) == serial(data)


def test_prefixes_in_order(executors: list[Executor]) -> None:
    found = scan.lift(scan.read_loop(RUNNING, "smoothed"))
    data = [0.25 * n for n in numbers(1000, "")]
    expected = scan.user_function(RUNNING, "smoothed")(data)
    for executor in (None, *executors):
        results = list(map_scan(found, data, executor=executor, chunks=5))
        assert np.allclose(results, expected)  # type: ignore[arg-type]
    with pytest.raises(UserError, match="read twice"):
        list(map_scan(found, iter(data)))


def test_lines_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.scan.parallel.chunks._BLOCK", 16)
    data = numbers(3000, "max_segment_sum")
    paths = [tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "empty.txt"]
    paths[0].write_text("".join(f"{x}\n" for x in data[:1000]))
    paths[1].write_text("\n".join(map(str, data[1000:])))  # without an end of the last line
    paths[2].write_text("")
    expected = scan.user_function(loops_module(), "max_segment_sum")(data)
    for pieces in (1, 2, 7, 100):
        lines = text_lines(paths, number_of)
        assert map_reduce(lifted("max_segment_sum"), lines, chunks=pieces) == expected
    with pytest.raises(UserError, match="found none"):
        text_lines(tmp_path / "missing.txt", number_of)


def test_constants_and_faults() -> None:
    found = lifted("poly")
    assert map_reduce(found, [1, 2, 3], constants={"at": 10}) == 321
    with pytest.raises(UserError, match="values for at"):
        map_reduce(found, [1, 2, 3])
    with pytest.raises(UserError, match="an array with one axis"):
        map_reduce(found, np.zeros((3, 2)), constants={"at": 10})
    assert module.__name__ == "map_reduce"
    hamming = lifted("hamming")
    assert map_reduce(hamming, np.array([[1, 1], [2, 3], [4, 5]])) == 2
    assert map_reduce(hamming, zip([1, 2], [1, 3], strict=True)) == 1


def test_what_is_not_proved_is_not_run() -> None:
    found = lifted("total")
    assert found.operator is not None
    for wrong in (replace(found, verdict="unchecked"), replace(found, operator=None)):
        with pytest.raises(UserError, match=r"error\[NO_OPERATOR\]: expected an operator that was proved, got none"):
            map_reduce(wrong, [1])
    with pytest.raises(UserError, match=r"error\[CHUNKS\]: expected at least 1 chunk, got 0"):
        map_reduce(found, [1], chunks=0)
    with pytest.raises(UserError, match=r"error\[ELEMENT\]: expected a number as a value of an element, got nan"):
        folding.checked_constant(float("nan"), "real")


def test_chunks_that_fail_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = [Failed(Task("chunk 0", None), "its process ended")]
    monkeypatch.setitem(map_reduce.__globals__, "run_tasks", lambda *_, **__: ended)
    with ThreadPoolExecutor(1) as threads, pytest.raises(UserError, match="expected chunk 0 to be folded, got its process ended"):
        map_reduce(lifted("total"), [1], executor=threads)


def test_texts_are_not_taken_for_columns_of_numbers() -> None:
    recipe = folding.recipe_of(lifted("total").operator)  # type: ignore[arg-type]
    assert folding._is_vectorised(recipe, [np.array([1, 2])])
    assert not folding._is_vectorised(recipe, [np.array(["1"])]) and not folding._is_vectorised(recipe, [np.array([1], object)])


def test_a_field_that_is_called_like_an_element() -> None:
    total = lifted("total").operator
    assert total is not None
    (x,) = total.loop.fields
    same = replace(total, fields=(x,), right=(right(x),), lift=(x,), combine=(ex.add(x, right(x)),), projection=(x,))
    assert map_reduce(same, [1, 2, 4], chunks=1) == 7


def test_a_loop_that_begins_with_the_first_element_needs_one() -> None:
    text = (
        "def greatest(xs):\n    best = xs[0]\n    for i in range(1, len(xs)):\n        best = max(best, xs[i])\n    return best\n"
    )
    found = scan.lift(scan.read_loop(scan.parse_module(text, "greatest.py"), "greatest"))
    assert map_reduce(found, [3, 9, 2], chunks=1) == 9
    with pytest.raises(UserError, match="at least one element, which greatest reads"):
        map_reduce(found, [], chunks=1)
