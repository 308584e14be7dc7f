"""`wl.jit`: a call is right at once, and faster after a search."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import copy
import json
import multiprocessing
import pickle
from pathlib import Path

import numpy as np
import pytest

import warploom as wl
from warploom import f32, gpu
from warploom.api import jitting
from warploom.schedule.cpu import Timing
from warploom.sketch import load
from warploom.tools.explore import floor
from warploom.tools.explore import kernel as explore_kernel
from warploom.tools.explore.budget import SearchEndedError
from warploom.tools.kernels import tuning


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder for this test alone; compiled code is kept where it always is."""
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tuning.store, "store_folder", lambda make=False: tmp_path)


def made() -> wl.JitFunction:
    @wl.jit(threads=1)
    def scaled(X: f32["n"], by: f32, Y: wl.out[f32["n"]]):
        Y[i] = X[i] * by

    return scaled


X = np.arange(64, dtype=np.float32)


def test_a_search_is_kept_for_later_programs() -> None:
    function = made()
    np.testing.assert_array_equal(function(X, 2), X * 2)
    assert function.kind(X, 2) == "plain" and repr(function) == "<jit scaled(X, by, [Y])>"
    found = function.tune(sizes={"n": 64}, nodes=4, budget_s=600)
    assert found.status == "solved" and found.verdict == "tested" and found.line["kept"] is True
    kind = found.line["kind"]
    assert kind in ("plain", "found") and float(str(found.line["time_over_plain"])) <= 1
    assert function.kind(X, 2) == made().kind(X, 2) == kind
    np.testing.assert_array_equal(made()(X, 3), X * 3)


def test_functions_go_to_other_processes_and_are_copied() -> None:
    function = made()
    function(X, 2)
    for again in (pickle.loads(pickle.dumps(function)), copy.deepcopy(function)):
        assert again is not function and repr(again) == repr(function) and again.threads == 1
        np.testing.assert_array_equal(again(X, 3), X * 3)


def test_waiting_ends_in_time_for_all_searches_together(monkeypatch: pytest.MonkeyPatch) -> None:
    function, clock, asked = made(), [100.0], list[float | None]()

    class Slow:
        def wait(self, timeout_s: float | None) -> bool:
            asked.append(timeout_s)
            clock[0] += 2
            return True

    monkeypatch.setattr(jitting.time, "monotonic", lambda: clock[0])
    function._asked = {("cpu", n): Slow() for n in range(3)}  # type: ignore[dict-item,misc] # pyright: ignore
    assert function.wait(3) and asked == [3, 1, 0] and function.wait() and asked[3:] == [None] * 3


def line(**more: object) -> dict[str, object]:
    return {
        "v": 1,
        "case": "scaled",
        "status": "solved",
        "verdict": "unchecked",
        "seconds": 0.0,
        "wall_s": 0.0,
        "peak_mb": 1.0,
        **more,
    }


def test_what_was_not_compared_is_never_run(monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = [line(note="no time"), line(status="unknown", reason="budget")]

    def explored(*_: object) -> object:
        return tuning.ExploredOutcome(outcomes.pop(0), 0, explored=object())  # type: ignore[arg-type]

    monkeypatch.setattr(tuning, "explore_tensor", explored)
    function = made()
    for told in ("no time", "budget"):
        found = function.tune(X, 2.0)
        assert found.line["kept"] is False and told in str(found.line["not_kept"])
        assert function.kind(X, 2) == "plain"


def test_the_environment_asks_for_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float | None] = []
    monkeypatch.setattr(wl.JitFunction, "_tuned", lambda self, sizes, run_time, budget_s, *_: asked.append(budget_s))
    monkeypatch.setenv(jitting.TUNE, "1.5m")
    function = made()
    for _ in range(2):
        function(X, 2)
    assert asked == [90.0]
    monkeypatch.setenv(jitting.TUNE, "soon")
    with pytest.raises(wl.UserError, match="expected a time such as 30s in WARPLOOM_TUNE"):
        made()(X, 2)


def test_a_script_that_a_search_imports_does_not_search_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing.current_process(), "_inheriting", True, raising=False)
    with pytest.raises(wl.UserError, match="searches where it runs, not where it is imported"):
        made().tune(sizes={"n": 64}, nodes=4)


def test_wrong_requests() -> None:
    function = made()
    for call in (
        lambda: function.tune(),
        lambda: function.tune(X, 2, sizes={"n": 64}),
        lambda: function.tune(sizes={"m": 64}),
        lambda: function.tune(sizes=3),  # type: ignore[arg-type]
        lambda: function.tune(sizes={"n": 64}, budget_s=0),
        lambda: function.tune(sizes={"n": 64}, budget_s="5s"),  # type: ignore[arg-type]
        lambda: function.tune(sizes={"n": 64}, budget="5s"),
        lambda: wl.jit(threads=0),
        lambda: wl.jit(3),  # type: ignore[call-overload]
    ):
        with pytest.raises(wl.UserError):
            call()


def test_a_file_of_such_functions_is_explored_by_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import warploom as wl\nfrom warploom import f32\n\n\n@wl.jit\ndef twice(X: f32['n'], Y: wl.out[f32['n']]):\n"
        "    Y[i] = X[i] + X[i]\n\n\n@wl.jit\ndef wrong(X: f32['n']):\n    pass\n"
    )
    found = wl.explore(f"{file}:twice", sizes={"n": 32}, target="sm_90", nodes=5)
    assert found.line["kernel"] == "twice"
    with pytest.raises(wl.UserError, match="NOT_STORED"):
        wl.explore(f"{file}:wrong", sizes={"n": 32}, target="sm_90", nodes=5)


@pytest.fixture(scope="module")
def explored() -> wl.Explored:
    return wl.explore(made().tensor, sizes={"n": 64}, nodes=10, budget_s=600, threads=1)


def test_an_explored_kernel_is_called_saved_and_loaded(explored: wl.Explored, tmp_path: Path) -> None:
    again = wl.load_kernel(explored.save(tmp_path / "scaled.kernel"))
    assert again.text == "scaled(X, by, [Y])" and again.line == explored.line
    for kernel in (explored, again):
        np.testing.assert_array_equal(kernel(X, 2), X * 2)
        with pytest.raises(wl.UserError, match="CALL_SHAPE"):
            kernel(X[:32], 2)


def test_results_and_loaded_kernels_go_to_other_processes_and_are_copied(explored: wl.Explored, tmp_path: Path) -> None:
    modelled = wl.explore(made(), sizes={"n": 64}, target="sm_90", nodes=5)
    for found in (explored, modelled, wl.load_kernel(explored.save(tmp_path / "scaled.kernel"))):
        found(X, 2)
        for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert again is not found and again.line == found.line
            np.testing.assert_array_equal(again(X, 3), X * 3)


def test_a_kernel_of_a_gpu_is_interpreted_here_saved_and_loaded(tmp_path: Path) -> None:
    modelled = wl.explore(made(), sizes={"n": 64}, target="sm_90", nodes=5)
    assert modelled.suffixes == (".json", ".html", ".cu", ".kernel")
    again = wl.load_kernel(modelled.save(tmp_path / "scaled.kernel"))
    assert again.text == "scaled(X, by, [Y])" and again.line == modelled.line
    for kernel in (modelled, again):
        np.testing.assert_array_equal(kernel(X, 2), X * 2)
        with pytest.raises(wl.UserError, match="CALL_SHAPE"):
            kernel(X[:32], 2)
    with pytest.raises(wl.UserError, match="NOT_HERE"):
        modelled.save_package(tmp_path)
    record = json.loads((tmp_path / "scaled.kernel").read_text())
    record.pop("digest")
    for place, value in ODD_LAUNCHES:
        changed = json.loads(json.dumps(record))
        changed["cuda"][0][place] = value
        (tmp_path / "odd.kernel").write_text(tuning.store.file_text(changed))
        with pytest.raises(wl.UserError, match=r"KERNEL_FILE.*it lacks kernels"):
            wl.load_kernel(tmp_path / "odd.kernel")
    for value in ([], 3):
        (tmp_path / "odd.kernel").write_text(tuning.store.file_text(record | {"cuda": value}))
        with pytest.raises(wl.UserError, match=r"KERNEL_FILE.*it lacks kernels"):
            wl.load_kernel(tmp_path / "odd.kernel")
    failed = wl.Explored(line=line(status="unknown"), options=None, implementations=None, report=None, function=None)
    with pytest.raises(wl.UserError, match="NO_ANSWER"):
        failed(X, 2)


ODD_LAUNCHES: list[tuple[str, object]] = [
    ("grid", [1, 1]), ("grid", [0, 1, 1]), ("grid", [1, 1, 1 << 16]), ("block", [32, 64, 1]), ("block", [True, 1, 1]),
    ("arch", "gfx90"), ("contract", 1), ("static_shared_bytes", -1), ("dynamic_shared_bytes", "1"), ("parameters", ["X"]),
    ("arrays", [["X", "f32", 64, "input"]]), ("arrays", [["X", "f31", 64, "input", 1]]), ("arrays", [["X", "f32", 64, "in", 1]]),
    ("arrays", [["X", "f32", 0, "input", 1]]), ("arrays", [["X", "f32", 65, "input", 1]]),
    ("arrays", [["X", "f64", 64, "input", 1]]), ("block_arrays", [3]), ("cuda", None), ("name", 1),
]  # fmt: skip


@pytest.mark.parametrize("text", ["", "{}", "no"])
def test_files_that_are_no_kernels(explored: wl.Explored, tmp_path: Path, text: str) -> None:
    path = explored.save(tmp_path / "a.kernel")
    whole = path.read_text()
    for spoiled in (text, whole.replace('"units"', '"unit"'), whole[:-5]):
        path.write_text(spoiled)
        with pytest.raises(wl.UserError, match="KERNEL_FILE"):
            wl.load_kernel(path)
    with pytest.raises(wl.UserError, match="KERNEL_FILE"):
        wl.load_kernel(tmp_path)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("threads",), 0),
        (("line",), 1),
        (("stages",), []),
        (("signature",), []),
        (("signature", "parameters"), ["X", "Y"]),
        (("signature", "arrays"), [{"name": "Y", "dtype": "f32", "shape": [0], "role": "output"}]),
        (("signature", "arrays"), []),
        (("signature", "scalars"), [{"name": "by", "dtype": "float"}]),
    ],
)
def test_kernels_with_a_digest_that_fits_and_odd_parts(
    explored: wl.Explored, tmp_path: Path, place: tuple[str, ...], value: object
) -> None:
    record = json.loads(explored._kernel())  # pyright: ignore[reportPrivateUsage]
    record.pop("digest")
    inner = record
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    path = tmp_path / "a.kernel"
    path.write_text(tuning.store.file_text(record))
    with pytest.raises(wl.UserError, match="KERNEL_FILE"):
        wl.load_kernel(path)


def test_completed_sketches_say_that_there_is_no_gpu() -> None:
    (sketch,) = load("examples/conv1d_8_lanes.py")
    found = wl.complete(sketch)
    if gpu.device_available():
        pytest.skip("there is a GPU")
    with pytest.raises(wl.UserError, match=r"NO_DEVICE.*\n.*run\(arrays\)"):
        found.launch({})


@pytest.mark.parametrize("is_slow", [False, True])
def test_a_search_never_ends_with_less_than_the_plain_loop(
    is_slow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = [2.0, 1.0] if is_slow else [1.0, 2.0]
    told = [Timing(ms, ms, ms, 7, 1, is_early=False) for ms in times]
    monkeypatch.setattr(floor, "_FAR", 1e9)
    monkeypatch.setattr(floor, "retime", lambda *_, **__: told)
    function = made()
    found = function.tune(X, 2.0, nodes=4, budget_s=600)
    kind = "plain" if is_slow else "found"
    assert (found.line["kind"], function.kind(X, 2), made().kind(X, 2)) == (kind,) * 3
    assert found.line["kept"] is True and (found.time_ms == 1.0 or not is_slow)
    assert ("-fno-tree-vectorize" in found.code) == ("-fno-tree-vectorize" in (found.save_package(tmp_path / "p")[2].read_text()))
    assert ("-fno-tree-vectorize" in found.code) == (not is_slow)
    found.save(str(tmp_path / "a.kernel"))
    found.save(str(tmp_path / "a.html"))
    assert wl.load_kernel(tmp_path / "a.kernel").line["kind"] == kind
    for call in (found, wl.load_kernel(tmp_path / "a.kernel"), made()):
        np.testing.assert_array_equal(call(X, 3), X * 3)


def test_plain_loops_take_no_place_of_kernels_that_were_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a search that finds only slower ones, nor one that ends before it has any."""
    told = [Timing(ms, ms, ms, 7, 1, is_early=False) for ms in (1.0, 2.0)]
    monkeypatch.setattr(floor, "_FAR", 1e9)
    monkeypatch.setattr(floor, "retime", lambda *_, **__: told)
    function = made()
    assert function.tune(X, 2.0, nodes=4, budget_s=600).line["kept"] is True and function.kind(X, 2) == "found"
    told.reverse()
    slower = function.tune(X, 2.0, nodes=4, budget_s=600).line
    assert (slower["kind"], slower["kept"]) == ("plain", False) and "an earlier search" in str(slower["not_kept"])
    assert function.kind(X, 2) == made().kind(X, 2) == "found"
    monkeypatch.setattr(explore_kernel, "_explored", ended)
    other = made()
    line = other.tune(np.zeros(32, np.float32), 2.0).line
    assert (line["kind"], line["ended"], line["kept"]) == ("plain", "budget: wall seconds", False)
    assert "nothing was found" in str(line["not_kept"]) and other.kind(np.zeros(32, np.float32), 2) == "plain"
    assert other.kind(X, 2) == "found"


def ended(*_: object) -> object:
    raise SearchEndedError


@pytest.fixture
def is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel that a search finds is faster than the plain loop."""
    monkeypatch.setattr(floor, "_FAR", 1e9)
    monkeypatch.setattr(floor, "retime", lambda *_, **__: [Timing(ms, ms, ms, 7, 1, is_early=False) for ms in (1.0, 2.0)])


def summed() -> wl.JitFunction:
    @wl.jit(threads=2)
    def sums(A: f32["m", "k"], y: wl.out[f32["m"]]):
        y[i] += A[i, j]

    return sums


def kinds(function: wl.JitFunction, *sizes: tuple[int, int]) -> list[str]:
    """Kernels that calls at these sizes have found; all results are right."""
    for shape in sizes:
        A = np.arange(shape[0] * shape[1], dtype=np.float32).reshape(shape) % 97
        for _ in range(2):
            np.testing.assert_allclose(function(A), A.sum(1), rtol=1e-5)
    return [function.kind(np.zeros(shape, np.float32)) for shape in sizes]


@pytest.mark.usefixtures("is_found")
def test_a_kernel_of_a_class_of_shapes_serves_its_sizes(tmp_path: Path) -> None:
    function = summed()
    assert kinds(function, (3, 8), (16, 8)) == ["plain", "plain"]
    found = function.tune(np.zeros((64, 8), np.float32), sizes={"m": "?"}, nodes=2, budget_s=600)
    assert found.line["kept"] is True and found.sizes == {"m": 64, "k": 8}
    sizes = ((1, 8), (3, 8), (16, 8), (70_000, 8), (3, 9))
    for again in (function, summed()):  # here, and in a later program
        assert kinds(again, *sizes) == ["found", "found", "found", "found", "plain"]
    assert [path.name[:9] for path in tmp_path.glob("*.json")] == ["sums-any-"]
    assert wl.JitFunction(summed().tensor, threads=3).kind(np.zeros((3, 8), np.float32)) == "plain"


def test_classes_of_sizes_that_are_strides_are_refused_with_their_place() -> None:
    function = summed()
    A = np.zeros((4, 8), np.float32)
    with pytest.raises(wl.UserError, match=r"expected k, which is known at run time, as the first size"):
        function.tune(A, sizes={"k": "?"})
    with pytest.raises(wl.UserError, match=r"expected \?, \?:64 or \?:64@4096 for m"):
        function.tune(A, sizes={"m": "?64"})
    with pytest.raises(wl.UserError, match=r"classes of sizes only"):
        function.tune(A, sizes={"m": 64})
