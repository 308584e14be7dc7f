"""The printer and the read-back's C machine refuse each for one reason alone."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.gpu.kernels import TID, b, c, cmp, conv1d, loop
from tests.gpu.test_cuda_source import small
from tests.gpu.test_read_back import planted

from warploom.core import UnsupportedError, UserError, f32, i32
from warploom.core.intervals import Interval
from warploom.core.polynomials import number
from warploom.gpu import cuda_source, device, hooks, toolchain
from warploom.gpu.cmemory import Memory, blank
from warploom.gpu.copies import without_copy
from warploom.gpu.cuda import index_overflow
from warploom.gpu.cvalues import Value, binary
from warploom.gpu.execute import count_executed
from warploom.gpu.facts import gather_facts
from warploom.gpu.growth import Growth, _constants  # pyright: ignore[reportPrivateUsage]
from warploom.gpu.rotation import covers, find_permutation
from warploom.ir import Declare, For, FromIndex, If, IndexVar, Read, SetIndex, Shuffle, SizeVar, Store, ValueConst

I = IndexVar("i")


class Said(list[str]):
    def __call__(self, code: str, message: str, where: object) -> None:
        self.append(code)


def numbers(*values: int) -> Value:
    return Value("i32", np.array(values, np.int32))


# the C machine


@pytest.mark.parametrize(
    ("op", "left", "right", "code"),
    [
        ("/", 7, 0, "DIVISION_BY_ZERO"), ("%", 7, 0, "DIVISION_BY_ZERO"), ("/", 7, 2, ""), ("<<", 1, 32, "SHIFT_COUNT"),
        (">>", 1, -1, "SHIFT_COUNT"), ("<<", 1, 31, ""), ("*", 1 << 30, 2, "SIGNED_OVERFLOW"),
        ("-", -(2**31), 1, "SIGNED_OVERFLOW"),
    ],
)  # fmt: skip
def test_what_c_leaves_undefined(op: str, left: int, right: int, code: str) -> None:
    """A thread that does not run it says nothing."""
    for active in (True, False):
        said = Said()
        binary(op, numbers(left), numbers(right), np.array([active]), said)
        assert said == ([code] if code and active else [])


def memory(space: Any) -> Memory:
    return Memory("s", space, "i32", (4,), blank("i32", 1, 4), np.zeros(2, np.int64), np.zeros((1, 4), np.bool_))


@pytest.mark.parametrize(
    ("steps", "code"),
    [
        ([("w", (0, 1), 0), ("w", (2, 3), 0)], ""),
        ([("w", (0, 0), 0)], "RACE"),
        ([("w", (0, 1), 0), ("w", (1, 0), 0)], "RACE"),
        ([("w", (0, 1), 0), ("w", (1, 0), 1)], ""),
        ([("w", (0, 1), 0), ("r", (1, 0), 0)], "RACE"),
        ([("w", (0, 1), 0), ("r", (1, 0), 1), ("w", (0, 1), 1)], "RACE"),
        ([("w", (0, 1), 0), ("r", (2, 1), 0)], "UNDEFINED_READ"),
        ([("w", (0, 4), 0)], "OUT_OF_BOUNDS"),
        ([("w", (-1, 0), 0)], "OUT_OF_BOUNDS"),
    ],
)
def test_shared_memory(steps: list[tuple[str, tuple[int, int], int]], code: str) -> None:
    """Steps of two threads: places that they write or read, and the barriers before."""
    place, said, all_threads = memory("shared"), Said(), np.ones(2, np.bool_)
    for kind, at, epoch in steps:
        if kind == "w":
            place.write(np.array(at), numbers(1, 2), all_threads, epoch, said)
        else:
            place.read(np.array(at), all_threads, epoch, said)
    assert set(said) == ({code} if code else set())


def grid_2d() -> tuple:
    """A register array of two dimensions, whose second index may leave it and still stay in the array."""
    body = (
        Declare("a", "register", i32, (2, 2)),
        loop("r", 2, loop("q", 2, Store("a", (IndexVar("r"), IndexVar("q")), Read("x", (TID,))))),
        Store("y", (TID,), Read("a", (c(1), c(1)))),
    )
    return small(*body), {}


@pytest.mark.parametrize(
    ("old", "new", "code", "which"),
    [
        ("float out = 0.0f;", "float out;", "UNDEFINED_READ", conv1d),
        ("sent, lane + k)", "sent, lane + k, 64)", "SHUFFLE_INACTIVE", conv1d),
        ("a[r][q] =", "a[0][r * 2 + q] =", "OUT_OF_BOUNDS", grid_2d),
    ],
)
def test_planted_errors(old: str, new: str, code: str, which: Callable[[], tuple]) -> None:
    assert code in planted(old, new, which)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("y[gid] = out;", "y[gid][0] = out;", "ID"),
        ("y[gid] = out;", "*y = out;", ""),
        ("y[gid] = out;", "out[gid] = out;", "expected an array, got out"),
        ("y[gid] = out;", "y.x = out;", ""),
        ("y[gid] = out;", "y[gid] = sizeof(int);", ""),
        ("grid_size((n + 127) / 128, 1, 1)", "grid_size((n + 127) / 128, 1)", "expected three extents, got ((n + 127) / 128, 1)"),
        ("const dim3 grid_size", "const dim4 grid_size", "expected dim3 constants for grid and block, got none"),
        ("conv1d<<<grid_size", "other<<<grid_size", "expected a launch of conv1d in the launch helper, got none"),
    ],
)
def test_texts_of_another_form(old: str, new: str, told: str) -> None:
    kernel, completions = conv1d()
    from warploom.gpu import read_back
    from warploom.ir import fill

    text = cuda_source(kernel, completions).text
    assert old in text
    with pytest.raises((UserError, UnsupportedError)) as caught:
        read_back(text.replace(old, new, 1), fill(kernel, completions))
    assert told in caught.value.diagnostics[0].message


# the printer


@pytest.mark.parametrize(("value", "refused"), [(2**31 - 1, False), (2**31, True), (-(2**31), False), (-(2**31) - 1, True)])
def test_indices_beyond_32_bits(value: int, refused: bool) -> None:
    kernel = small(SetIndex("big", b("+", b("*", TID, 0), value)), Store("y", (TID,), FromIndex(IndexVar("big"), i32)))
    assert (index_overflow(kernel) is not None) == refused
    if refused:
        with pytest.raises(UserError, match="INDEX_OVERFLOW"):
            cuda_source(kernel)


@pytest.mark.parametrize(
    ("kind", "operand", "width", "code"),
    [("idx", 1, 3, "SHUFFLE_WIDTH"), ("idx", 1, 64, ""), ("up", 32, 32, "SHUFFLE_OPERAND"), ("up", -1, 32, "SHUFFLE_OPERAND"),
     ("xor", 31, 32, ""), ("idx", 33, 32, "")],
)  # fmt: skip
def test_shuffles(kind: Any, operand: int, width: int, code: str) -> None:
    kernel = small(Store("y", (TID,), Shuffle(kind, Read("x", (TID,)), c(operand), width)))
    if not code:
        cuda_source(kernel)
        return
    with pytest.raises(UnsupportedError, match=code):
        cuda_source(kernel)


def test_only_whole_arrays_are_permuted() -> None:
    """An index that leaves the registers, or depends on nothing but the loop, is no permutation of them."""
    ranges: dict[Any, Interval] = {I: Interval(0, 3), TID: Interval(0, 31)}
    turned = b("%", b("+", I, TID), 4)
    assert find_permutation(turned, I, 4, ranges) is not None
    assert find_permutation(turned, I, 3, ranges) is None
    assert find_permutation(b("-", turned, 1), I, 4, ranges) is None
    assert find_permutation(b("%", b("+", I, 1), 4), I, 4, ranges) is None
    pair = b("%", b("+", I, TID), 2)
    ranges[I] = Interval(0, 1)
    assert find_permutation(pair, I, 2, ranges) is not None
    assert find_permutation(b("+", pair, 2), I, 2, ranges) is None
    assert find_permutation(b("-", pair, 2), I, 2, ranges) is None


@pytest.mark.parametrize(
    ("start", "stop", "covered"),
    [(c(0), c(4), True), (c(0), c(3), False), (c(1), c(4), False), (TID, c(4), False), (c(0), TID, False)],
)
def test_only_loops_over_all_registers_fill_an_array(start: Any, stop: Any, covered: bool) -> None:
    assert covers(I, For("i", start, stop, 1, ()), 4) == covered


@pytest.mark.parametrize(
    ("target", "dropped"),
    [(("register", f32, (4,)), True), (("register", f32, (8,)), False), (("register", i32, (4,)), False),
     (("shared", f32, (4,)), False), (None, False)],
)  # fmt: skip
def test_only_copies_between_arrays_of_one_form_are_dropped(target: Any, dropped: bool) -> None:
    declared = [Declare("made", "register", f32, (4,))]
    if target:
        declared.append(Declare("to", *target))
    facts = gather_facts(small(*declared, Store("y", (TID,), ValueConst(0, i32))))
    step = For("s", c(0), c(4), 1, (Store("made", (IndexVar("s"),), Read("x", (IndexVar("s"),))),))
    copy = For("i", c(0), c(4), 1, (Store("to", (I,), Read("made", (I,))),))
    assert (without_copy((SetIndex("amount", TID), step), copy, facts) is not None) == dropped


def test_arrays_of_a_count() -> None:
    """Nothing is compiled before the arrays fit."""
    kernel, _ = conv1d()
    unused: Any = None
    for arrays, code in (({}, "ARRAY_MISSING"), ({"x": np.zeros(3, np.float32)}, "SHAPE_MISMATCH")):
        with pytest.raises(UserError, match=code):
            count_executed(kernel, unused, unused, arrays, {"n": 300})


def test_a_run_that_does_not_end_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = small(Store("y", (TID,), Read("x", (TID,))))
    ended = SimpleNamespace(counts=None, status="fault", findings=(), arrays={})
    monkeypatch.setattr("warploom.gpu.execute.merged_accesses", lambda ptx, arch: None)
    monkeypatch.setattr("warploom.gpu.execute.launch_ptx", lambda *given, **more: ended)
    source, compiled = SimpleNamespace(name="small"), SimpleNamespace(ptx="", arch="sm_90")
    with pytest.raises(RuntimeError, match="expected small to run to its end, got fault"):
        count_executed(kernel, source, compiled, {"x": np.zeros(64), "y": np.zeros(32)})  # type: ignore[arg-type]


def test_lanes_at_sizes_that_nothing_bounds() -> None:
    """Whether a lane reads itself, or a warp stands together, is not tabulated then."""
    n = SizeVar("n")
    given = Shuffle("idx", Read("x", (TID,)), n, 32)
    kernel = replace(small(Store("y", (TID,), given)), sizes=("n",))
    assert "__shfl_sync" in cuda_source(kernel).text
    inside = Store("y", (TID,), Shuffle("idx", Read("x", (TID,)), c(1), 32))
    guarded = replace(small(If(cmp("<", TID, n), (inside,))), sizes=("n",))
    with pytest.raises(UnsupportedError, match="SHUFFLE_DIVERGENT"):
        cuda_source(guarded)


def test_growth_without_a_bound() -> None:
    fixed, free = Growth(number(2), number(2)), Growth(number(2), None)
    assert fixed.size == number(2)
    assert free.size is None
    assert Growth(None, number(2)).size is None
    wide = Growth(number(1), number(2))
    assert _constants(fixed, Growth(number(4), number(4)), 1) == range(2, 4)
    assert _constants(fixed, wide, 1) is None
    assert _constants(Growth(None, None), fixed, 1) is None


# tools and devices that fail


def test_devices_that_answer_with_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for init, count, available in ((0, (0, 1), True), (3, (0, 1), False), (0, (3, 1), False), (0, (0, 0), False)):
        driver = SimpleNamespace(
            cuInit=lambda flags, code=init: (code,), cuDeviceGetCount=lambda found=count: found,
            cuGetErrorString=lambda code: (0, b"broken"),
        )  # fmt: skip
        monkeypatch.setattr(importlib, "import_module", lambda name, found=driver: found)
        assert device.device_available() == available
    monkeypatch.setattr(device, "driver", lambda: driver)
    with pytest.raises(UserError, match="expected the CUDA driver to succeed, got: broken"):
        device.checked((3, 7))
    with pytest.raises(UserError, match="ARRAY_KIND"), device._prepared(None, "k", (1, 1, 1), (1, 1, 1), [[1]], [], 0, 0):  # type: ignore[arg-type]
        pass


def test_tools_that_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    codes = SimpleNamespace(nvrtcResult=SimpleNamespace(NVRTC_SUCCESS=0), nvrtcGetErrorString=lambda code: (0, b"out of memory"))
    with pytest.raises(RuntimeError, match="out of memory"):
        toolchain._checked(codes, (5, None))  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(importlib, "import_module", missing)
    assert not toolchain.toolchain_available()
    with pytest.raises(UserError, match="TOOL_MISSING"):
        toolchain._nvrtc()  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(UserError, match=r"TOOL_MISSING.*cupy-cuda13x"):
        hooks._required("cupy", "cupy-cuda13x")  # pyright: ignore[reportPrivateUsage]


def test_assemblers_that_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho no such register >&2\nexit 1\n")
    tool.chmod(0o755)
    monkeypatch.setattr(toolchain, "find_tool", lambda name: tool)
    with pytest.raises(UserError, match=r"PTXAS_ERROR.*no such register"):
        toolchain.assemble("")
    tool.write_text("#!/bin/sh\nsleep 5\n")
    with pytest.raises(UserError, match="PTXAS_LIMIT"):
        toolchain.assemble("", limit_s=0.01)
