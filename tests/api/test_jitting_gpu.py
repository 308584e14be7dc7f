"""`wl.jit` called with tensors of a GPU, on a double of the driver, whose launches run the compiler's PTX."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from tests.gpu.calls.conftest import driver, make_driver
from tests.gpu.calls.fake_driver import FakeDriver
from tests.gpu.calls.packages import Capsule, Cupy, Jax, Plain, Streams, Torch, cupy_double, jax_double, torch_double

import warploom as wl
from warploom import UserError, exp, f32, i32, where
from warploom.api import jitting
from warploom.schedule.calls import pack_cuda, spread_nest
from warploom.schedule.cpu import plain_nest
from warploom.schedule.cuda import Options, cuda_kernel
from warploom.schedule.nest import verify
from warploom.tools.kernels import background, on_gpu, searching, store
from warploom.tools.kernels.background import Answer, Request, Searches
from warploom.tools.kernels.class_records import class_program

__all__ = ["driver", "make_driver"]
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store for this test alone."""
    tmp_path.chmod(0o700)
    monkeypatch.setattr(store, "store_folder", lambda make=False: tmp_path)
    monkeypatch.delenv(jitting.BACKGROUND, raising=False)
    return tmp_path


def made(**more: Any) -> wl.JitFunction:
    @wl.jit(threads=1, **more)
    def scaled(X: f32["m", "n"], by: f32, Y: wl.out[f32["m", "n"]]):
        Y[i, j] = X[i, j] * by

    return scaled


def right(function: wl.JitFunction, device: FakeDriver, by: float = 2) -> None:
    x, y = Plain(device, X, stream=4), Plain(device, X * 0, stream=4)
    assert function(x, by, y) is y
    device.drain_all()
    np.testing.assert_array_equal(y.host(), X * by)
    assert not device.findings and not device.contexts


def test_plain_loops_are_launched_at_once_and_compiled_once(driver: FakeDriver) -> None:
    function = made()
    for _ in range(2):
        right(function, driver)
    assert {stream for *_, stream in driver.launched} == {4} and len(driver.launched) == 2
    assert [arch for _, arch, _ in driver.compiled] == ["sm_90"]
    assert function.kind(Plain(driver, X), 2) == "plain"
    np.testing.assert_array_equal(function(X, 2), X * 2)  # NumPy's arrays stay on the CPU
    assert len(driver.launched) == 2


def test_tensors_of_packages_and_words_of_a_call(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    doubles = {
        "torch": torch_double(driver, Streams()), "cupy": cupy_double(driver, Streams()), "jax": jax_double(driver),
    }  # fmt: skip
    for name, module in doubles.items():
        monkeypatch.setitem(sys.modules, name, module)
    function = made()
    for kind in (Torch, Cupy, Jax):
        y = function(kind(driver, X), 2)
        driver.drain_all()
        assert type(y) is kind
        np.testing.assert_array_equal(y.host(), X * 2)
    y = Plain(driver, X * 0)
    function(Capsule(driver, X), 3, out=y, stream=9)
    assert driver.launched[-1][3] == 9
    driver.drain(9)
    np.testing.assert_array_equal(y.host(), X * 3)
    np.testing.assert_array_equal(function(X, 4, device="cuda:0"), X * 4)  # there and back
    for given, named, text in (
        ((Plain(driver, X), 2, X), {}, "CALL_DEVICE.*for 'Y'.*got a ndarray"),
        ((X, 2), {"stream": 1}, "CALL_STREAM.*NumPy's arrays alone"),
        ((Plain(driver, X.astype(np.int32)), 2), {}, "CALL_DTYPE.*float32 for 'X', got i32"),
        ((X, 2), {"device": "cuda:7"}, "NO_DEVICE"),
    ):
        with pytest.raises(UserError, match=text):
            function(*given, **named)


def test_a_search_is_kept_for_its_target_and_used_by_later_programs(driver: FakeDriver, folder: Path) -> None:
    function = made()
    right(function, driver)
    found = function.tune(Plain(driver, X), 2, nodes=4, budget_s=600)
    assert found.status == "solved" and found.line["kept"] is True and found.line["target"] == "sm_90"
    for again in (function, made()):
        assert again.kind(Plain(driver, X), 2) == "found"
        right(again, driver, 3)
    assert made().kind(Plain(driver, X[:1]), 2) == "plain" and made().kind(X, 2) == "plain"
    assert on_gpu.known_kernels(made().tensor, {"m": 2, "n": 3}, "sm_80") is None
    (path,) = folder.iterdir()
    assert store.read(path).record is not None and store.is_current(store.read(path).record or {})
    path.write_text(path.read_text().replace("Y", "Z", 1))
    assert made().kind(Plain(driver, X), 2) == "plain"
    right(made(), driver)


def test_kernels_of_gpus_that_are_not_here(folder: Path) -> None:
    function = made()
    found = function.tune(sizes={"m": 2, "n": 3}, target="sm_80", nodes=4, budget_s=600)
    assert found.line["kept"] is True and function.kind(X, 2) == "plain"
    known = on_gpu.known_kernels(function.tensor, {"m": 2, "n": 3}, "sm_80")
    assert known is not None and all(kernel.options.arch == "sm_80" for kernel in known.kernels)
    with pytest.raises(
        UserError, match=r"RUN_TIME_SIZE.* sum of it and a number, as sizes of arrays only: axis 0 of 'Y' has 2\*n"
    ):
        wl.JitFunction(apart).tune(sizes={"n": "?"}, target="sm_80")
    with pytest.raises(UserError, match="UNKNOWN_TARGET"):
        function.tune(sizes={"m": 2, "n": 3}, target="sm_1")


def test_a_sum_in_parts_is_two_launches(driver: FakeDriver) -> None:
    @wl.jit
    def dot(x: f32["n"], y: f32["n"], s: wl.out[f32[1]]):
        s[one] = sum(x[i] * y[i], over=i)

    found = dot.tune(sizes={"n": 4101}, target="sm_90", nodes=4, budget_s=600)
    assert found.line["verdict"] == "proved" and found.line["kept"] is True
    assert found.line["decisions"]["parts(i)"] == "4"  # pyright: ignore
    x, y = np.arange(4101, dtype=np.float32) % 5, np.arange(4101, dtype=np.float32) % 3
    s = Plain(driver, np.zeros(1, np.float32))
    assert dot(Plain(driver, x), Plain(driver, y), s) is s
    driver.drain_all()
    assert [name for name, *_ in driver.launched] == ["dot_s_parts", "dot_s"] and not driver.findings
    assert s.host() == (x * y).sum()


@pytest.mark.slow
def test_a_sum_in_parts_of_every_length_is_two_launches(driver: FakeDriver, folder: Path) -> None:
    """With as many parts for all of them, and also for the program that reads the kept kernels."""

    def made() -> wl.JitFunction:
        @wl.jit
        def dot(x: f32["n"], y: f32["n"], s: wl.out[f32[1]]):
            s[one] = sum(x[i] * y[i], over=i)

        return dot

    dot = made()
    found = dot.tune(sizes={"n": "?@6144"}, target="sm_90", nodes=4, budget_s=600)
    assert found.line["verdict"] == "tested" and found.line["kept"] is True and found.line["decisions"]["parts(i)"] == "3"  # pyright: ignore
    for function in (dot, made()):
        for n in (1, 2, 1025, 6144, 9000):
            x, y = np.arange(n, dtype=np.float32) % 5, np.arange(n, dtype=np.float32) % 3
            s = Plain(driver, np.zeros(1, np.float32))
            driver.launched.clear()
            function(Plain(driver, x), Plain(driver, y), s)
            driver.drain_all()
            assert [name for name, *_ in driver.launched] == ["dot_s_parts", "dot_s"]
            assert s.host() == (x * y).sum() and not driver.findings


def test_a_kernel_of_a_class_of_shapes_serves_its_sizes(driver: FakeDriver, folder: Path) -> None:
    function = made()
    found = function.tune(sizes={"m": "?@64", "n": 3}, target="sm_90", nodes=4, budget_s=600)
    assert found.line["kept"] is True and found.line["verdict"] == "proved" and "every m from 1" in str(found.line["domain"])
    (path,) = folder.iterdir()
    record = store.read(path).record
    assert path.name.startswith("scaled-any-") and record is not None and record["domain"] == found.line["domain"]
    assert record["tested"] == {"m": cast("dict[str, Any]", found.line["run_time"])["m"]["tested"]}
    for again in (function, made()):  # here, and in a later program
        for rows in (1, 2, 63, 64, 65, 200):
            x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
            y = Plain(driver, x * 0, stream=4)
            again(Plain(driver, x, stream=4), 3, y)
            driver.drain_all()
            np.testing.assert_array_equal(y.host(), x * 3)
            assert again.kind(Plain(driver, x), 3) == "found"
        assert again.kind(Plain(driver, np.ones((2, 4), np.float32)), 3) == "plain"
    assert not driver.findings and len({text for text, *_ in driver.compiled}) == 1
    assert on_gpu.known_gpu_class(made().tensor, {"m": 5, "n": 3}, "sm_80") is None
    function.tune(sizes={"m": "?:2@64", "n": 3}, target="sm_90", nodes=4, budget_s=600)
    known = [on_gpu.known_gpu_class(made().tensor, {"m": m, "n": 3}, "sm_90") for m in (4, 5)]
    assert [c.multiples["m"] for c in known if c is not None] == [2, 1]  # the narrowest


def test_plain_loops_of_other_sizes_are_the_same_text(driver: FakeDriver) -> None:
    function = made()
    for rows in (2, 1, 40):
        x = Plain(driver, np.ones((rows, 3), np.float32))
        assert function.kind(x, 2) == "plain" and (function(x, 2), driver.drain_all())
    assert len(driver.compiled) == 1
    known = on_gpu.spread_class(function.tensor, {"m": 2, "n": 3}, "sm_90")  # rows are blocks along y
    assert known.holds({"m": 65_535, "n": 1 << 20}) and not known.holds({"m": 65_536, "n": 3})
    assert on_gpu.spread_class(function.tensor, {"m": 65_536, "n": 64}, "sm_90").holds({"m": 65_536, "n": 64})
    one = on_gpu.spread_class(apart, {"n": 9}, "sm_90")
    assert one.holds({"n": 9}) and not one.holds({"n": 8})  # a size that is no whole axis has one value
    less = on_gpu.spread_class(later, {"n": 9}, "sm_90")
    assert less.holds({"n": 2}) and not less.holds({"n": 1})


def test_a_kernel_of_all_sizes(driver: FakeDriver, folder: Path) -> None:
    function = made()
    found = function.tune(sizes={"m": "?@64", "n": "?@32"}, target="sm_90", nodes=4, budget_s=600)
    assert found.line["kept"] is True and found.line["verdict"] == "tested"
    (path,) = folder.iterdir()
    together = cast("list[dict[str, int]]", found.line["tested_together"])
    assert len(together) == 12 and (store.read(path).record or {})["tested"] == together
    assert {t["m"] for t in together} == {*cast("dict[str, Any]", found.line["run_time"])["m"]["tested"]}
    assert found.line["proved_at"] == {"m": 64, "n": 32} and "strides that are known at run time" in str(found.line["proof"])
    again = made()
    for shape in ((1, 1), (1, 33), (65, 3), (5, 1), (128, 64)):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        y = Plain(driver, x * 0, stream=4)
        again(Plain(driver, x, stream=4), 3, y)
        driver.drain_all()
        np.testing.assert_array_equal(y.host(), x * 3)
        assert again.kind(Plain(driver, x), 3) == "found"
    assert not driver.findings and len(driver.compiled) == 1


def test_a_stencil_of_every_length(driver: FakeDriver) -> None:
    function = wl.JitFunction(later, threads=1)
    found = function.tune(sizes={"n": "?@64"}, target="sm_90", nodes=4, budget_s=600)
    assert found.line["kept"] is True and found.line["verdict"] == "tested"
    assert "expected as many iterations of i as its size, got n - 1" in str(found.line["proof"])
    again = wl.JitFunction(later, threads=1)
    for n in (2, 3, 33, 64, 65, 200):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(again(x, device=0), x[1:])
        assert again.kind(Plain(driver, x)) == "found"
    with pytest.raises(UserError, match=r"SIZES|CALL_SHAPE"):
        again(np.ones(1, np.float32), np.ones(3, np.float32), device=0)
    assert not driver.findings


def class_record() -> dict[str, Any]:
    program = class_program(made().tensor, {"m": 8, "n": 3}, {"m": 2})
    (stage,) = program.stages
    kernel = cuda_kernel(spread_nest(plain_nest(stage)), Options(arch="sm_90")).at({"m": 8})
    return {
        "function": "scaled", "key": store.gpu_key_of(program, "sm_90", {"m": 2}), "kind": "found", "sizes": {"m": 8, "n": 3},
        "run_time": {"m": 2}, "target": "sm_90", "cuda": pack_cuda([kernel]),
    }  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"target": "sm_80"}, {"key": "0" * 64}, {"run_time": {"m": 1}}, {"run_time": {"n": 2}}, {"cuda": []},
        *({"kernel": more} for more in (
            {"run_time": {"n": 8}}, {"run_time": {"m": 0}}, {"run_time": 3}, {"run_time": {}}, {"run_time": {"m": 6}},
            {"run_time": {}, "open_grid": [None, None, None]}, {"run_time": {"m": 8.0}},
            {"open_grid": None}, {"open_grid": [["m", 128], None]}, {"open_grid": [["n", 128], None, None]},
            {"open_grid": [["m", 0], None, None]}, {"open_grid": [["m", 1], None, None]},
        )),
    ],
    ids=str,
)  # fmt: skip
def test_classes_that_do_not_fit_are_passed_over(folder: Path, change: dict[str, Any]) -> None:
    def known(m: int) -> bool:
        return on_gpu.known_gpu_class(made().tensor, {"m": m, "n": 3}, "sm_90") is not None

    whole = class_record()
    path = store.add(folder, whole)
    assert known(4) and not known(3)
    (kernel,) = whole["cuda"]
    changed = {"cuda": [kernel | change["kernel"]]} if "kernel" in change else change
    path.write_text(store.file_text({"made_by": store.made_by("sm_90"), **whole, **changed}))
    assert not known(4)


def test_classes_of_sizes_that_cannot_be_open_are_passed_over(folder: Path) -> None:
    more = {"function": "apart", "sizes": {"n": 9}, "run_time": {"n": 1}}
    store.add(folder, {**class_record(), **more})
    assert on_gpu.known_gpu_class(apart, {"n": 9}, "sm_90") is None and len(list(folder.iterdir())) == 1


def test_searches_of_other_targets_in_the_background(
    make_driver: Callable[..., FakeDriver], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, asked = make_driver((8, 0)), list[Request]()

    def run(request: Request) -> Answer:
        asked.append(request)
        return searching.searched(Request(request.function, request.sizes, 1, 600, nodes=4, target=request.target))

    monkeypatch.setattr(background, "searches", Searches(run))
    function = made(search="background")
    right(function, driver)
    assert function.wait(120) and [request.target for request in asked] == ["sm_80"]
    assert function.kind(Plain(driver, X), 2) == "found"
    right(function, driver, 5)
    assert run(asked[0]) == Answer(kept=True) and len(asked) == 2


def test_a_gpu_that_is_older_than_all_targets(make_driver: Callable[..., FakeDriver]) -> None:
    driver = make_driver((7, 0))
    with pytest.raises(UserError, match=r"CALL_DEVICE.*expected a GPU for which kernels are compiled, got sm_70"):
        made()(Plain(driver, X), 2)


@wl.tensor
def softmax(X: f32["n", "d"], Y: wl.out[f32["n", "d"]]):
    m[i] = max(X[i, j], over=j)
    s[i] = sum(exp(X[i, j] - m[i]), over=j)
    Y[i, j] = exp(X[i, j] - m[i]) / s[i]


@wl.tensor
def later(X: f32["n"], Y: wl.out[f32["n - 1"]]):
    Y[i] = X[i + 1]


@wl.tensor
def apart(X: f32["n"], Y: wl.out[f32["2 * n"]]):
    Y[i] = X[i // 2]


@wl.tensor
def turned(A: f32["a", "b", "c", "d"], C: wl.out[f32["d", "c", "b", "a"]]):
    C[l, k, j, i] = A[i, j, k, l] + (i + 2 * j)


@wl.tensor
def picked(A: f32["n", "d"], I: i32["m"], C: wl.out[f32["m", "d"]]):
    C[i, j] = where(j < 5, A[I[i], j], wl.pad(A, 0)[I[i], j] * 2)


@wl.tensor
def everything(A: f32["n"], C: wl.out[f32["o"]]):
    C[i] = sum(A[j], over=j)


@pytest.mark.parametrize(
    ("function", "sizes", "grid", "block"),
    [
        (softmax, {"n": 300, "d": 5}, (3, 1, 1), (128, 1, 1)),
        (turned, {"a": 2, "b": 130, "c": 4, "d": 6}, (2, 6, 4), (128, 1, 1)),
        (turned, {"a": 32, "b": 3, "c": 70_000, "d": 2}, (1, 3, 2), (32, 1, 1)),
        (picked, {"n": 4, "m": 3, "d": 40}, (1, 3, 1), (64, 1, 1)),
        (everything, {"n": 9, "o": 1}, (1, 1, 1), (1, 1, 1)),
    ],
)
def test_spread_loops_are_nests_that_keep_the_rules(
    function: Any, sizes: dict[str, int], grid: tuple[int, ...], block: tuple[int, ...]
) -> None:
    (stage,) = function.program(sizes).stages
    nest = spread_nest(plain_nest(stage))
    assert verify(nest) == ()
    kernel = cuda_kernel(nest, Options(arch="sm_90"))
    assert (kernel.grid, kernel.block) == (grid, block)


def test_spread_loops_of_a_class_at_whole_and_ragged_tiles(driver: FakeDriver) -> None:
    called = wl.JitFunction(softmax, threads=1)
    for rows in (31, 1, 32, 127, 128, 129, 257):
        A = np.random.default_rng(rows).random((rows, 3)).astype(np.float32)
        np.testing.assert_allclose(called(A, device=0), called(A), rtol=1e-6)
    assert len(driver.compiled) == 1 and not driver.findings


@pytest.mark.parametrize("function", [softmax, turned, picked, everything], ids=lambda f: f.name)
def test_what_spread_loops_compute(driver: FakeDriver, function: Any) -> None:
    values = np.random.default_rng(0)
    A = {
        "softmax": values.random((37, 3)), "turned": values.random((2, 3, 4, 5)), "picked": values.random((4, 40)),
        "everything": values.random(9),
    }[function.name].astype(np.float32)  # fmt: skip
    arrays = [A, np.array([3, 0, 3], np.int32)][: 2 if function is picked else 1]
    outputs = [np.zeros(1, np.float32)] if function is everything else []
    expected = wl.JitFunction(function, threads=1)(*arrays, *outputs)
    got = wl.JitFunction(function, threads=1)(*arrays, *outputs, device=0)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert driver.launched and not driver.findings
