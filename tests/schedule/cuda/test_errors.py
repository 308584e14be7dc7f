"""Kernels that cannot be printed, compiled or run are refused with a reason."""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.schedule.cuda import nests

from warploom.core import BY_NAME, UnsupportedError, UserError, bf16_values, bf16_words
from warploom.gpu import Compiled, Timing, toolchain_available
from warploom.ptx import launch as launch_ptx
from warploom.schedule.backbone import Operator, Parameter, Role
from warploom.schedule.cuda import cuda_kernel, interpret, ptx_of, run
from warploom.schedule.nest import Combine, Compute, Kind, Load, Loop, Memory, Nest, Ref, Space, Store

runs = importlib.import_module("warploom.schedule.cuda.run")
"""The module; the package has a function of that name."""
needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")


def one_value(operator: Operator = Operator.NEG, dtype: str = "f32", kind: Kind = Kind.THREAD, size: int = 8) -> Nest:
    """y = operator(x), one element per iteration; registers are selected by the loop unless it is of threads."""
    b = nests.Builder("one")
    kept = BY_NAME[dtype]
    x, y = b.array("x", size, dtype=kept), b.array("y", size, Role.OUTPUT, kept)
    value = b.value("v", *(() if kind is Kind.THREAD else (size,)), dtype=kept)

    def body(i: int) -> list[nests.Node]:
        at = () if kind is Kind.THREAD else nests.at(i)
        place = nests.index((i, 1))
        arguments = (Ref(value, at),) * (2 if operator is Operator.ADD else 1)
        return [
            Load(Ref(value, at), Memory(x, place)),
            Compute(Ref(value, at), operator, arguments),
            Store(Memory(y, place), Ref(value, at)),
        ]

    return b.nest(b.loop(kind, size, body, "i", 0 if kind is Kind.THREAD else None))


def test_blocks_have_at_most_1024_threads() -> None:
    with pytest.raises(UserError, match=r"^.*NEST_LOOPS.*at most 1024 threads in a block, got 1025"):
        cuda_kernel(one_value(size=1025))


def test_grids_have_three_dimensions() -> None:
    nest = one_value()
    loop = nest.body[0]
    with pytest.raises(UserError, match="hardware dimension 0, 1 or 2 of i, got 3"):
        cuda_kernel(replace(nest, body=(replace(loop, kind=Kind.BLOCK, hardware=3),)))


def test_loops_are_numbered_once() -> None:
    nest = one_value()
    with pytest.raises(UserError, match="every loop number once, got 0 twice"):
        cuda_kernel(replace(nest, body=nest.body * 2))


def test_registers_are_not_selected_by_long_loops() -> None:
    with pytest.raises(UnsupportedError, match="unrolled loop to select registers of v, got i of 600"):
        cuda_kernel(one_value(kind=Kind.LOOP, size=600))
    assert "#pragma unroll\n" in cuda_kernel(one_value(kind=Kind.LOOP, size=60)).text


def test_indices_are_of_loops_around() -> None:
    nest = one_value()
    loop = nest.body[0]
    elsewhere = replace(loop, number=1, kind=Kind.LOOP, name="k", hardware=None)
    with pytest.raises(UserError, match="indices of loops around, got k in load"):
        cuda_kernel(replace(nest, body=(replace(elsewhere, body=()), _reading(loop, 1))))
    with pytest.raises(UserError, match="indices of loops around, got number 7 in load"):
        cuda_kernel(replace(nest, body=(_reading(loop, 7),)))


def _reading(loop: Loop, number: int) -> Loop:
    """With the first load indexed by another loop."""
    load = loop.body[0]
    assert isinstance(load, Load)
    return replace(loop, body=(replace(load, memory=Memory(0, nests.index((number, 1)))), *loop.body[1:]))


def test_misaligned_device_arrays() -> None:
    class Array:
        __cuda_array_interface__ = {"data": (0x1004, False), "shape": (8,), "typestr": "<f4"}  # noqa: RUF012

    kernel = cuda_kernel(one_value())
    with pytest.raises(UserError, match="aligned to 16 bytes, got x at 0x1004"):
        run(kernel, Compiled("sm_80", "", b"", 0, 0, 0, 0, ""), {"x": Array(), "y": Array()})


def test_half_precision_is_only_moved_and_cast() -> None:
    with pytest.raises(UnsupportedError, match="f32, f64 or an integer type of add, got f16"):
        cuda_kernel(one_value(Operator.ADD, "f16"))


def test_integers_have_no_exponential() -> None:
    with pytest.raises(UnsupportedError, match="float type of exp, got i32"):
        cuda_kernel(one_value(Operator.EXP, "i32"))


def test_differences_are_not_combined() -> None:
    case = nests.dot()
    body = tuple(replace(n, operator=Operator.SUB) if isinstance(n, Combine) else n for n in case.nest.body)
    with pytest.raises(UnsupportedError, match="add, mul, max or min to combine, got sub"):
        cuda_kernel(replace(case.nest, body=body))


def test_arguments_are_in_global_memory() -> None:
    nest = one_value()
    with pytest.raises(UnsupportedError, match="inputs and outputs in global memory"):
        cuda_kernel(replace(nest, buffers=(replace(nest.buffers[0], space=Space.SHARED), nest.buffers[1])))


@needs_compiler
def test_arrays_must_fit() -> None:
    kernel = cuda_kernel(one_value())
    x = np.zeros(8, np.float32)
    with pytest.raises(UserError, match="expected an array y, got x"):
        interpret(kernel, {"x": x})
    with pytest.raises(UserError, match="8 contiguous elements of f32 in y, got 7 of float32"):
        interpret(kernel, {"x": x, "y": x[:7]})
    with pytest.raises(UserError, match="8 contiguous elements of f32 in y, got 8 of float64"):
        interpret(kernel, {"x": x, "y": np.zeros(8)})
    with pytest.raises(UserError, match="expected scalars alpha, got none"):
        case = nests.axpy()
        interpret(cuda_kernel(case.nest), case.arrays)


@needs_compiler
def test_runs_that_stop_say_why() -> None:
    kernel = cuda_kernel(one_value())
    x = np.zeros(8, np.float32)
    with pytest.raises(UserError, match="expected one to finish, got limit"):
        interpret(kernel, {"x": x, "y": x.copy()}, limit=10)


@needs_compiler
def test_bf16_goes_to_a_device_as_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that runs the PTX on what it is handed: the words of arrays and scalars, brought back into the caller's array."""
    b = nests.Builder("scaled")
    bf16 = BY_NAME["bf16"]
    x, y = b.array("x", 8, dtype=bf16), b.array("y", 8, Role.OUTPUT, bf16)
    a = Parameter("a", BY_NAME["bf16"])
    b.parameters.append(a)
    wide, by, made = b.value("wide"), b.value("by"), b.value("made", dtype=bf16)

    def body(i: int) -> list[nests.Node]:
        place = nests.index((i, 1))
        return [
            Load(Ref(made, ()), Memory(x, place)),
            Compute(Ref(wide, ()), Operator.CAST, (Ref(made, ()),)),
            Compute(Ref(by, ()), Operator.CAST, (a,)),
            Compute(Ref(wide, ()), Operator.MUL, (Ref(wide, ()), Ref(by, ()))),
            Compute(Ref(made, ()), Operator.CAST, (Ref(wide, ()),)),
            Store(Memory(y, place), Ref(made, ())),
        ]

    kernel = cuda_kernel(b.nest(b.loop(Kind.THREAD, 8, body, "i", 0)))
    handed: list[list[np.dtype[Any]]] = []

    def device(_: Compiled, name: str, grid: Any, block: Any, arrays: Any, sizes: Any, **more: Any) -> Timing:
        handed.append([a.dtype for a in (*arrays, *sizes)])
        done = launch_ptx(ptx_of(kernel), name, grid=grid, block=block, args=[*arrays, *sizes])
        for n, array in enumerate(arrays):
            array[...] = done.arrays[n]
        return Timing(1.0, 1.0, 1, (1.0, 1.0))

    monkeypatch.setattr(runs, "launch_on_device", device)
    monkeypatch.setattr(runs, "time_kernel", device)
    compiled = Compiled("sm_80", "", b"", 0, 0, 0, 0, "")
    arrays = {"x": np.array([[1, 2, -3, np.nan], [0.1, np.inf, 3e-39, -0.0]], np.float32), "y": np.ones((2, 4), np.float32)}
    expected = bf16_values(bf16_words(bf16_values(bf16_words(arrays["x"].reshape(-1))) * np.float32(1.5)))
    run(kernel, compiled, arrays, {"a": 1.5})
    np.testing.assert_array_equal(arrays["y"].reshape(-1), expected)
    np.testing.assert_array_equal(interpret(kernel, arrays, {"a": 1.5}).arrays["y"].reshape(-1), expected)
    assert runs.time(kernel, compiled, arrays, {"a": 1.5}).median_ms == 1.0
    assert handed == [[np.dtype(np.uint16)] * 3] * 2
    with pytest.raises(UserError, match="8 contiguous elements of bf16 in x, got 8 of uint16"):
        run(kernel, compiled, {**arrays, "x": np.zeros(8, np.uint16)}, {"a": 1.5})
