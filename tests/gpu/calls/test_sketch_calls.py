"""Completed sketches called with tensors: on a double of the driver, whose launches run the compiler's PTX."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.gpu.calls.fake_driver import FakeDriver
from tests.gpu.calls.packages import (
    JAX_STREAM,
    Array,
    Capsule,
    Cupy,
    Jax,
    Plain,
    Streams,
    Torch,
    cupy_double,
    jax_double,
    torch_double,
)

import warploom as wl
from warploom import UserError, bf16, f32, f64, i32
from warploom.gpu import SketchCalls, cuda_source
from warploom.gpu.calls import launching
from warploom.gpu.calls.packages import empty, stream_handle
from warploom.gpu.calls.tensors import is_on_device

n = wl.size("n")


def tripled(x, y, n):
    for i in range(n):
        y[i] = x[i] * 3


@wl.sketch(spec=tripled, block=32, grid=wl.ceil_div(n, 32), complete_at={"n": 64})
def kernel(x: wl.Global[f32, n], y: wl.Global[f32, n]):
    at = wl.global_id()
    if at < n:
        y[at] = x[at] * 3


CALLS = SketchCalls(kernel.kernel, lambda: cuda_source(kernel.kernel))
X = np.arange(40, dtype=np.float32)


def fresh(sketch: Any = kernel) -> SketchCalls:
    return SketchCalls(sketch.kernel, lambda: cuda_source(sketch.kernel))


def test_a_launch_has_the_grid_the_stream_and_the_arguments_of_the_call(driver: FakeDriver) -> None:
    x, y = Plain(driver, X, stream=5), Plain(driver, np.zeros(40, np.float32), stream=5)
    assert CALLS((x, y), {}) is y
    assert driver.launched == [("kernel", (2, 1, 1), (32, 1, 1), 5)] and driver.pending
    assert not driver.contexts  # as before the call
    driver.drain(5)
    np.testing.assert_array_equal(y.host(), X * 3)
    assert not driver.findings and [arch for _, arch, _ in driver.compiled] == ["sm_90"]


def test_each_architecture_is_compiled_once_and_each_context_loads_once(make_driver: Callable[..., FakeDriver]) -> None:
    driver = make_driver((9, 0), (8, 0), (9, 0))
    for device in (0, 1, 2, 0, 1):
        x, y = (Plain(driver, X, device=device) for _ in range(2))
        CALLS((x, y), {})
        driver.drain_all()
        np.testing.assert_array_equal(y.host(), X * 3)
    assert [arch for _, arch, _ in driver.compiled] == ["sm_90", "sm_80"]
    assert len(driver.modules) == 3 and len(driver.launched) == 5


def test_a_context_that_is_current_is_used(make_driver: Callable[..., FakeDriver]) -> None:
    driver = make_driver((9, 0), (9, 0))
    driver.contexts = [5001]  # of device 1, and not its primary one
    x, y = Plain(driver, X, device=1), Plain(driver, X, device=1)
    CALLS((x, y), {})
    assert [context for _, _, context in driver.functions.values()] == [5001] and driver.contexts == [5001]
    x, y = Plain(driver, X), Plain(driver, X)
    CALLS((x, y), {})
    assert [context for _, _, context in driver.functions.values()] == [5001, 1000] and driver.contexts == [5001]


def test_the_launch_comes_after_what_the_streams_of_the_tensors_hold(driver: FakeDriver) -> None:
    x, y = Plain(driver, X, stream=7), Plain(driver, X, stream=8)
    x.late(X + 1, 7)
    y.late(X * 0, 8)
    CALLS((x, y), {"stream": 9})
    assert driver.launched[0][3] == 9 and not driver.events
    driver.drain(9)
    np.testing.assert_array_equal(y.host(), (X + 1) * 3)


def test_the_double_shows_a_missing_wait(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "_wait", lambda *_: None)
    x, y = Plain(driver, X, stream=7), Plain(driver, X, stream=9)
    x.late(X + 1, 7)
    CALLS((x, y), {"stream": 9})
    driver.drain(9)
    np.testing.assert_array_equal(y.host(), X * 3)  # of what was there before


@pytest.mark.parametrize("stream", [1, 0])
def test_names_of_the_legacy_stream_are_one(driver: FakeDriver, stream: int) -> None:
    x, y = Plain(driver, X, stream=1), Plain(driver, X, stream=1)
    CALLS((x, y), {"stream": stream})
    assert not any(name for name in driver.events) and len(driver.streams[0]) == 1


def test_outputs_left_out_are_of_the_package(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = Streams()
    monkeypatch.setitem(sys.modules, "cupy", cupy_double(driver, streams))
    streams.current = 4
    y = CALLS((Cupy(driver, X),), {})
    assert type(y) is Cupy and streams.made == [(4, 0)] and driver.launched[0][3] == 4
    driver.drain(4)
    np.testing.assert_array_equal(y.host(), X * 3)
    y = CALLS((Cupy(driver, X),), {"stream": 6})
    assert streams.made[1:] == [(6, 0)] and driver.launched[1][3] == 6 and streams.current == 4
    driver.drain(6)
    np.testing.assert_array_equal(y.host(), X * 3)


def test_tensors_of_pytorch(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = Streams()
    monkeypatch.setitem(sys.modules, "torch", torch_double(driver, streams))
    streams.current = 12
    y = CALLS((Torch(driver, X),), {})
    assert type(y) is Torch and streams.made == [(12, 0)] and driver.launched[0][3] == 12
    driver.drain(12)
    np.testing.assert_array_equal(y.host(), X * 3)
    CALLS((Torch(driver, X),), {"stream": sys.modules["torch"].cuda.ExternalStream(13)})
    assert streams.made[1:] == [(13, 0)] and driver.launched[1][3] == 13
    recording = Torch(driver, X)
    recording.requires_grad = True
    with pytest.raises(UserError, match="got a tensor that records gradients"):
        CALLS((recording,), {})
    monkeypatch.setitem(sys.modules, "torch", torch_double(driver, streams, grad=False))
    CALLS((recording,), {})
    negated = Torch(driver, X)
    negated.negated = True
    with pytest.raises(UserError, match="got a negated view"):
        CALLS((negated,), {})


def test_arrays_of_jax_are_waited_for_and_done_when_the_call_returns(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jax", jax_double(driver))
    x = Jax(driver, X)
    x.late(X + 2, JAX_STREAM)
    y = CALLS((x,), {})
    assert type(y) is Jax and not driver.pending
    np.testing.assert_array_equal(y.host(), (X + 2) * 3)
    with pytest.raises(UserError, match="can be written for the output 'y', got a read-only one"):
        CALLS((x, Jax(driver, X)), {})


def test_other_packages_get_a_tensor_that_all_take(driver: FakeDriver) -> None:
    y = CALLS((Plain(driver, X, stream=3),), {})
    driver.drain(3)
    shown = y.__cuda_array_interface__
    assert shown["typestr"] == "<f4" and shown["shape"] == (40,) and shown["version"] == 3
    np.testing.assert_array_equal(driver.at(shown["data"][0])[:160].view(np.float32), X * 3)
    before = len(driver.memory)
    del y
    assert len(driver.memory) == before - 1 and not driver.contexts


def test_capsules_are_taken_for_the_stream_of_the_call(driver: FakeDriver) -> None:
    for stream, asked in ((0, 1), (2, 2), (77, 77)):
        Capsule.asked.clear()
        x, y = Capsule(driver, X), Capsule(driver, X)
        CALLS((x, y), {"stream": stream})
        assert Capsule.asked == [asked, asked]
        driver.drain(stream)
        np.testing.assert_array_equal(y.host(), X * 3)


def test_arrays_of_numpy_run_in_the_interpreter(driver: FakeDriver) -> None:
    np.testing.assert_array_equal(CALLS((X,), {}), X * 3)
    y = np.zeros(40, np.float32)
    assert CALLS((X,), {"y": y, "n": 40}) is y and not driver.launched
    np.testing.assert_array_equal(y, X * 3)


def test_arrays_of_numpy_are_copied_where_a_device_is_named(make_driver: Callable[..., FakeDriver]) -> None:
    driver = make_driver((9, 0), (8, 0))
    whole = np.zeros(80, np.float32)
    y = whole[::2]
    assert CALLS((X, y), {"device": "cuda:1"}) is y
    np.testing.assert_array_equal(y, X * 3)
    assert not whole[1::2].any() and not driver.memory and driver.compiled[0][1] == "sm_80"
    np.testing.assert_array_equal(CALLS((X,), {"device": 0, "stream": 3}), X * 3)
    for wrong in (2, -1, "cuda:", "cuda:x", "gpu", True):
        with pytest.raises(UserError, match="as device, got"):
            CALLS((X,), {"device": wrong})


def test_what_a_kernel_does_not_store_is_zero(driver: FakeDriver) -> None:
    def half(x, y):
        for i in range(32):
            y[2 * i] = x[i]

    @wl.sketch(spec=half, block=32)
    def spread(x: wl.Global[i32, 32], y: wl.Global[i32, 64]):
        y[2 * wl.thread_id()] = x[wl.thread_id()]

    x = np.arange(32, dtype=np.int32)
    expected = np.zeros(64, np.int32)
    expected[::2] = x
    y = fresh(spread)((Plain(driver, x),), {})
    driver.drain(0)
    np.testing.assert_array_equal(driver.at(y.__cuda_array_interface__["data"][0])[:256].view(np.int32), expected)
    np.testing.assert_array_equal(fresh(spread)((x,), {}), expected)
    np.testing.assert_array_equal(fresh(spread)((x,), {"device": 0}), expected)


def test_no_elements_are_no_launch(driver: FakeDriver) -> None:
    empty = np.zeros(0, np.float32)
    for x in (empty, Plain(driver, empty, stream=3)):
        CALLS((x,), {})
    assert not driver.launched


def plain(driver: FakeDriver, values: np.ndarray = X, **more: Any) -> Plain:
    return Plain(driver, values, **more)


def test_what_is_refused(driver: FakeDriver) -> None:
    good = plain(driver)
    shared = plain(driver, np.zeros(80, np.float32))
    part = plain(driver)
    part.pointer = shared.pointer + 80
    swapped = plain(driver, X.astype(">f4"))
    masked = plain(driver)
    masked.__class__ = type(
        "Masked", (Plain,), {"__cuda_array_interface__": property(lambda self: self.interface | {"mask": self})}
    )

    class Broken(Array):
        @property
        def __cuda_array_interface__(self) -> Any:
            raise RuntimeError("gone")

    lanes = Capsule(driver, X)
    lanes.lanes = 2
    cases: list[tuple[tuple[Any, ...], dict[str, Any], str]] = [
        ((good, np.zeros(40, np.float32)), {}, "CALL_DEVICE.*expected a tensor of a GPU for 'y'.*got a ndarray"),
        ((X, good), {}, "CALL_DEVICE.*for 'x'.*got a ndarray"),
        ((good,), {"device": 0}, "OPTION.*device beside NumPy's arrays only"),
        ((X,), {"stream": 3}, "CALL_STREAM.*got NumPy's arrays alone"),
        ((good,), {"stream": "x"}, "CALL_STREAM.*expected a stream or its handle"),
        ((good,), {"stream": -1}, "CALL_STREAM.*expected a stream or its handle"),
        ((plain(driver, X.astype(np.float64)),), {}, "CALL_DTYPE.*expected a tensor of float32 for 'x', got f64"),
        ((plain(driver, X.astype(np.complex64)),), {}, "CALL_DTYPE.*got <c8"),
        ((swapped,), {}, "CALL_DTYPE.*got >f4"),
        ((lanes,), {}, "CALL_DTYPE.*got DLPack's type 2 of 32 bits"),
        ((X.astype(np.float64),), {}, "CALL_DTYPE.*expected an array of float32 for 'x', got float64"),
        ((good, plain(driver, X[:39])), {}, r"CALL_SHAPE.*expected 'y' of shape \(40,\), got \(39,\)"),
        ((plain(driver, X.reshape(5, 8)),), {}, r"CALL_SHAPE.*expected 'x' of shape \(5,\), got \(5, 8\)"),
        ((plain(driver, X, strides=(8,)),), {}, r"CALL_MEMORY.*C's order, got strides of \(8,\) bytes"),
        ((good, plain(driver, read_only=True)), {}, "CALL_MEMORY.*can be written for the output 'y'"),
        ((plain(driver, offset=2),), {}, "CALL_MEMORY.*begin at a multiple of 4 bytes, got 0x"),
        ((part, shared_view(shared)), {}, "CALL_MEMORY.*output 'y' that shares no memory with 'x'"),
        ((good, good), {}, "CALL_MEMORY.*output 'y' that shares no memory with 'x'"),
        ((masked,), {}, "CALL_ARRAY.*got a masked array"),
        ((Broken(driver, X),), {}, "CALL_ARRAY.*does not hand over: gone"),
        (([1.0],), {}, "CALL_ARRAY.*got a list"),
        ((np.ma.masked_array(X),), {}, "CALL_ARRAY.*got a MaskedArray"),
        ((good,), {"n": 39}, r"CALL_SHAPE.*expected 'x' of shape \(39,\), got \(40,\)"),
        ((good,), {"n": 1.5}, "CALL_SHAPE.*expected a whole number as n"),
        ((good,), {"n": -1}, "CALL_SHAPE.*expected n of 0 or more"),
        ((good,), {"z": good}, r"CALL_ARGUMENTS.*expected a parameter of kernel\(x, \[y\], n=\), got 'z'"),
        ((good,) * 3, {}, "CALL_ARGUMENTS.*got 3 arguments"),
        ((good,), {"x": good, "y": good}, "CALL_ARGUMENTS.*expected one value of 'x'"),
        ((), {"y": good}, "CALL_ARGUMENTS.*got no value of x"),
        ((None,), {"y": good}, "CALL_DEVICE.*for 'x'.*got nothing"),
    ]
    for given, named, text in cases:
        with pytest.raises(UserError, match=text) as raised:
            CALLS(given, named)
        assert raised.value.diagnostics[0].fix
    assert not driver.launched and not driver.contexts


def shared_view(whole: Plain) -> Plain:
    whole.shape = (40,)
    return whole


def test_axes_of_one_element_have_any_stride_and_empty_ones_any_order(driver: FakeDriver) -> None:
    def one(x, y):
        for i in range(32):
            y[0, i] = x[0, i]

    @wl.sketch(spec=one, block=32)
    def row(x: wl.Global[f32, 1, 32], y: wl.Global[f32, 1, 32]):
        y[0, wl.thread_id()] = x[0, wl.thread_id()]

    values = np.arange(32, dtype=np.float32).reshape(1, 32)
    x, y = plain(driver, values, strides=(4, 4)), plain(driver, values * 0, strides=(8, 4))
    fresh(row)((x, y), {})
    driver.drain(0)
    np.testing.assert_array_equal(y.host(), values)


def test_several_gpus_are_refused(make_driver: Callable[..., FakeDriver]) -> None:
    driver = make_driver((9, 0), (9, 0))
    with pytest.raises(UserError, match=r"CALL_DEVICE.*got 'x' on GPU 0 and 'y' on GPU 1"):
        CALLS((plain(driver), plain(driver, device=1)), {})
    assert not driver.launched


def test_sizes_at_which_an_index_is_no_int_are_refused(driver: FakeDriver) -> None:
    huge = plain(driver, np.zeros(1, np.float32))
    huge.shape = (2**31,)
    with pytest.raises(UserError, match=r"CALL_SHAPE.*at which every index of kernel is an int: every n from 0 to"):
        CALLS((huge,), {})


def test_vectors_ask_for_their_alignment(driver: FakeDriver) -> None:
    def copied(x, y):
        for i in range(128):
            y[i] = x[i]

    @wl.sketch(spec=copied, block=32)
    def by_four(x: wl.Global[f32, 128], y: wl.Global[f32, 128]):
        part = wl.register(f32, 4)
        for j in wl.vector(4):
            part[j] = x[4 * wl.thread_id() + j]
        for j in wl.vector(4):
            y[4 * wl.thread_id() + j] = part[j]

    values = np.arange(128, dtype=np.float32)
    with pytest.raises(UserError, match="'x' to begin at a multiple of 16 bytes"):
        fresh(by_four)((plain(driver, values, offset=8),), {})
    x, y = plain(driver, values), plain(driver, values * 0)
    fresh(by_four)((x, y), {})
    driver.drain(0)
    np.testing.assert_array_equal(y.host(), values)


def test_the_drivers_errors_are_told_and_leave_the_context_as_it_was(driver: FakeDriver) -> None:
    for name in ("cuModuleLoadData", "cuLaunchKernel", "cuPointerGetAttribute"):
        driver.fails = {name: 7}
        with pytest.raises(UserError, match=r"CUDA_DRIVER.*code 7"):
            fresh()((plain(driver), plain(driver)), {})
        assert not driver.contexts
    driver.fails = {}
    unknown = plain(driver)
    unknown.pointer = 64
    with pytest.raises(UserError, match=r"CUDA_DRIVER"):
        CALLS((plain(driver), unknown), {})


def test_objects_of_streams() -> None:
    handle = SimpleNamespace(value=None)
    for given, expected in (
        (5, 5),
        (SimpleNamespace(cuda_stream=6), 6),
        (SimpleNamespace(ptr=7), 7),
        (SimpleNamespace(handle=SimpleNamespace(value=8)), 8),
        (SimpleNamespace(handle=handle), 0),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 9)), 9),
    ):
        assert stream_handle(given) == expected


def sized(x: Any, y: Any) -> Any:
    """A sketch of arrays of these shapes that reads and stores nothing but the first elements."""

    @wl.sketch(block=32)
    def kernel(x: wl.Global[f32, x], y: wl.Global[f32, y]):
        if wl.thread_id() < 1:
            y[0] = x[0]

    return fresh(kernel)


def test_sizes_that_shapes_do_not_say(driver: FakeDriver) -> None:
    for x in (X, plain(driver)):
        with pytest.raises(UserError, match=r"expected 'x' of a shape that some n has, got 40 on axis 0"):
            sized(n * 7, 4)((x,), {})
        with pytest.raises(UserError, match=r"expected arrays, or arguments, that say n of kernel\(x, \[y\], n=\), got none"):
            sized(40, n)((x,), {})
        with pytest.raises(UserError, match=r"expected arrays, or arguments, that say n of"):
            sized(wl.ceil_div(n, 2), 4)((x,), {})
        with pytest.raises(UserError, match=r"expected arrays, or arguments, that say n of"):
            sized(n + wl.size("m") // 2, 4)((x,), {"m": 8})  # no sum of sizes
        with pytest.raises(UserError, match=r"expected sizes that leave room for 'y', got {'n': 40}"):
            sized(n, n - 41)((x,), {})
        sized(40, n)((x,), {"n": 4})
        sized(wl.ceil_div(n, 2), 4)((x,), {"n": 79})
        sized(2 * n + 4, n)((x,), {})
    driver.drain_all()
    assert not driver.findings and len(driver.launched) == 3


def test_what_numpy_gives(driver: FakeDriver) -> None:
    fixed = np.zeros(40, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(UserError, match=r"CALL_MEMORY.*can be written for the output 'y'"):
        CALLS((X, fixed), {})
    np.testing.assert_array_equal(CALLS((fixed,), {}), X * 0)


def test_faults_that_the_interpreter_finds_are_raised() -> None:
    @wl.sketch(block=32)
    def racing(x: wl.Global[f32, 40], y: wl.Global[f32, 1]):
        y[0] = x[wl.thread_id()]

    with pytest.raises(UserError, match="RACE"):
        fresh(racing)((X,), {})


class Hostile:
    def __dlpack_device__(self) -> Any:
        raise ValueError("no device")


def test_what_is_no_tensor_of_a_gpu(driver: FakeDriver) -> None:
    fake = type("FakeTensor", (Plain,), {})(driver, X)
    host = Capsule(driver, X)
    host.kind = 1
    managed = Capsule(driver, X)
    managed.kind = 13
    for value in (Plain, Hostile(), fake, host, X, 3, None):
        assert not is_on_device(value)
    for value in (plain(driver), managed, Capsule(driver, X)):
        assert is_on_device(value)


def test_outputs_that_a_package_cannot_make(driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", cupy_double(driver, Streams()))
    with pytest.raises(UserError, match=r"CALL_DTYPE.*a type that CuPy has for an output left out, got bfloat16"):
        empty("cupy", (3,), bf16, 0, 0)
    monkeypatch.setitem(sys.modules, "jax", jax_double(driver))
    with pytest.raises(UserError, match=r"CALL_DTYPE.*a type that JAX has for an output left out, got float64"):
        empty("jax", (3,), f64, 0, 0)
    numba = SimpleNamespace(cuda=SimpleNamespace(gpus=[streams_of_nothing()], device_array=lambda shape, dtype: (shape, dtype)))
    monkeypatch.setitem(sys.modules, "numba", numba)  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"CALL_DTYPE.*a type that Numba has for an output left out, got bfloat16"):
        empty("numba", (3,), bf16, 0, 0)
    assert empty("numba", (3,), f64, 0, 0) == ((3,), np.float64)
    monkeypatch.setattr(sys.modules["cupy"], "empty", lambda shape, dtype: [0.0], raising=False)
    with pytest.raises(UserError, match=r"CALL_ARRAY.*a tensor that cupy hands over"):
        CALLS((Cupy(driver, X),), {})


def streams_of_nothing() -> Any:
    return Streams().use(0)
