"""Stencils and convolutions whose blocks copy what they read, with its edges, to shared memory: right, and few loads."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
from tests.schedule.choices.test_habits import first
from tests.schedule.choices.test_lower_candidates import descend, stages
from tests.schedule.nest.interpreter import interpret

from warploom.core import UserError, f32, i32
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule import cuda
from warploom.schedule.backbone import Backbone, Parameter, Role, cuda_tiles, evaluate
from warploom.schedule.choices import Features, KernelSpace, kernel_space, lower_window
from warploom.schedule.choices.habits_channels import ChannelWay
from warploom.schedule.choices.windows import windowed_regions
from warploom.schedule.cost import loads_per_output, modelled
from warploom.schedule.frontend import TensorFunction, out, pad, tensor
from warploom.schedule.nest import Kind, Load, Nest, Ref, Space, Store, statements, verify
from warploom.schedule.targets import target

SM_90 = target("sm_90")
with_toolchain = pytest.mark.skipif(not toolchain_available(), reason="the CUDA compiler (extra cuda) is not installed")


@tensor
def depthwise(X: f32["c", "h", "w"], W: f32["c", 3, 3], Y: out[f32["c", "h", "w"]]):
    Y[c, h, w] += pad(X, 0)[c, h + r - 1, w + s - 1] * W[c, r, s]


@tensor
def extremes(X: f32["n"], Y: out[f32["n"]]):
    """Beyond its ends the array is read as two numbers."""
    Y[i] = pad(X, 7)[i - 1] + pad(X, 3)[i + 1]


@tensor
def turned(X: f32["n", "n"], Y: out[f32["n", "n"]]):
    Y[i, j] = X[i, j] + X[j, i]


@tensor
def gathered(X: f32["n"], N: i32["n"], Y: out[f32["n"]]):
    Y[i] = X[i] + pad(X, 0)[i - 1] + X[N[i]]


def parameters_of(backbone: Backbone) -> dict[str, float]:
    return {o.name: 0.5 for i in backbone.instructions for o in i.operands if isinstance(o, Parameter)}


def arrays_of(backbone: Backbone) -> dict[str, np.ndarray]:
    numbers = np.random.default_rng(3)
    return {r.name: numbers.integers(-4, 5, r.shape).astype(np.float32) for r in backbone.regions if r.role is Role.INPUT}


def check(nest: Nest, backbone: Backbone, seed: int) -> None:
    assert verify(nest) == ()
    arrays, parameters = arrays_of(backbone), parameters_of(backbone)
    results = interpret(nest, arrays, parameters, seed)
    for array, value in evaluate(backbone, arrays, parameters).items():
        np.testing.assert_allclose(results[array].reshape(value.shape), value, rtol=1e-4, atol=1e-4)


def boxes(nest: Nest) -> list[str]:
    return [b.name for b in nest.buffers if b.name.startswith("box_") and b.space is Space.SHARED]


def random_boxes(space: KernelSpace, name: str, count: int) -> list[Nest]:
    """Nests of random candidates whose first input goes through a box, where it has a place."""
    start = space.replay({"mem_space(X)": "SHARED"})
    source = random.Random(name)
    tries = (descend(space, source, start) for _ in range(20 * count))
    return [space.lower(c) for c in islice((c for c in tries if c is not None), count)]


@pytest.mark.parametrize(
    "name",
    ["jacobi2d", *(pytest.param(n, marks=pytest.mark.slow) for n in ("stencil3d", "conv2d", "conv2d_same", "filter2d"))],
)
def test_random_candidates_with_boxes_are_right(name: str) -> None:
    (backbone,) = stages(name)
    found = random_boxes(kernel_space(backbone, SM_90), name, 4)
    for seed, nest in enumerate(found):
        check(nest, backbone, seed)
    assert any(boxes(nest) for nest in found)


def test_boxes_hold_what_lies_beyond_the_array() -> None:
    """One fill is in the box; with two, loads ask for themselves."""
    for function, sizes in ((depthwise, {"c": 2, "h": 5, "w": 6}), (extremes, {"n": 11})):
        (backbone,) = function.program(sizes, lambda use: ((2, 4),) if use.size >= 4 else ()).stages
        for seed, nest in enumerate(random_boxes(kernel_space(backbone, SM_90), function.name, 3)):
            check(nest, backbone, seed)
            assert boxes(nest)


def habitual(backbone: Backbone, turn: int = 0) -> Nest:
    space = kernel_space(backbone, SM_90)
    return first(space, space.usually(space.root(), lambda _: False, turn))


_SLIDING = 2
"""The way to begin whose boxes slide."""


@pytest.mark.parametrize(
    ("name", "most"), [("jacobi2d", 1.04), ("filter2d_7x7", 1.11), pytest.param("stencil3d", 1.22, marks=pytest.mark.slow)]
)
def test_boxes_that_slide_load_only_what_is_new(name: str, most: float) -> None:
    """At the full size; elements that blocks next to each other both read are loaded twice."""
    (backbone,) = tensor_kernel(name).program({}, cuda_tiles).stages
    nest = habitual(backbone, _SLIDING)
    assert verify(nest) == ()
    found = loads_per_output(nest)
    assert found is not None and 1.0 < found <= most
    read = [b for b in nest.buffers if b.role is Role.INPUT]
    assert modelled(nest, SM_90).traffic.different <= sum(b.elements * b.dtype.size_bytes + 32 for b in read)


@tensor
def line(X: f32["n + 2"], Y: out[f32["n"]]):
    Y[i] = X[i] + X[i + 1] + X[i + 2]


@tensor
def diagonal(X: f32["n + 2", "2 * n + 2"], Y: out[f32["n", "n"]]):
    """A step along i moves what is read along both indices."""
    Y[i, j] = X[i, i + j] + X[i + 1, i + j + 1]


@tensor
def every_second(X: f32["2 * n + 1", "m"], Y: out[f32["n", "m"]]):
    """Results next to each other along i read one element in common."""
    Y[i, j] = X[2 * i, j] + X[2 * i + 2, j]


def deepest(
    monkeypatch: pytest.MonkeyPatch, function: TensorFunction, sizes: dict[str, int], kinds: dict[str, str]
) -> list[Nest]:
    """Random nests whose boxes lie inside of all loops that may be around them; kinds: of loops, by the name's end."""
    monkeypatch.setattr(lower_window, "_ROOM", 0)
    (backbone,) = function.program(sizes, lambda use: ((2,), (2,)) if use.size >= 4 else ()).stages
    space = kernel_space(backbone, SM_90)
    start = space.replay({"mem_space(X)": "SHARED"})
    for operation in (o for o in space.objects.operations if o.temporary is None):
        names = {space.statement_names[loop].partition(".")[2]: space.statement_names[loop] for loop in operation.loops}
        taken = {kinds[short]: name for short, name in names.items()}
        for short, name in names.items():
            start = space.set_by_name(start, f"dim_kind({name})", kinds[short])
        start = space.set_by_name(start, f"order({taken['LOOP']}, {taken['THREAD']})", "OUTER")
    source = random.Random(function.name)
    tries = (descend(space, source, start) for _ in range(60))
    found = [space.lower(c) for c in islice((c for c in tries if c is not None), 6)]
    for seed, nest in enumerate(found):
        check(nest, backbone, seed)
    return found


def slides(nest: Nest) -> bool:
    """Something is copied from a box to a box."""
    every = [s for s, _ in statements(nest.body) if isinstance(s, Load | Store) and nest.buffers[s.memory.buffer].name == "box_X"]
    made = {s.target.value for s in every if isinstance(s, Load)}
    return any(isinstance(s, Store) and isinstance(s.argument, Ref) and s.argument.value in made for s in every)


def test_random_candidates_whose_boxes_slide_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = {"i0": "BLOCK", "i1": "LOOP", "i2": "UNROLL", "j0": "BLOCK", "j1": "THREAD", "j2": "UNROLL"}
    assert any(map(slides, deepest(monkeypatch, every_second, {"n": 13, "m": 6}, kinds)))
    kinds = {"h0": "BLOCK", "h1": "LOOP", "h2": "UNROLL", "w0": "BLOCK", "w1": "THREAD", "w2": "UNROLL"}
    assert any(map(slides, deepest(monkeypatch, tensor_kernel("jacobi2d").function, {"h": 13, "w": 6}, kinds)))


def test_boxes_do_not_slide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Along an index that threads share out, along two at once, and where nothing is kept."""
    one = {"i0": "LOOP", "i1": "THREAD", "i2": "UNROLL"}
    two = one | {"i1": "UNROLL", "j0": "BLOCK", "j1": "THREAD", "j2": "UNROLL"}
    for function, sizes, kinds in ((line, {"n": 9}, one), (diagonal, {"n": 6}, two)):
        found = deepest(monkeypatch, function, sizes, kinds)
        assert found and any(map(boxes, found)) and not any(map(slides, found)), function.name


def test_habits_load_each_element_hardly_more_than_once() -> None:
    (jacobi,) = tensor_kernel("jacobi2d").program({"h": 1024, "w": 1024}, cuda_tiles).stages
    (channels,) = depthwise.program({"c": 8, "h": 112, "w": 112}, cuda_tiles).stages
    (filtered,) = tensor_kernel("filter2d").program({"h": 1024, "w": 1024}, cuda_tiles).stages
    for backbone in (jacobi, channels, filtered):
        nest = habitual(backbone)
        assert verify(nest) == ()
        found = loads_per_output(nest)
        assert found is not None and 1.0 < found <= 1.3, (backbone.name, found)


@with_toolchain
def test_loads_are_those_that_the_compiled_kernel_makes() -> None:
    """Counted by the PTX interpreter, thread by thread, with ragged tiles."""
    for sizes in ({"h": 18, "w": 136},):
        (backbone,) = tensor_kernel("jacobi2d").program(sizes, cuda_tiles).stages
        nest = habitual(backbone)
        kernel = cuda.cuda_kernel(nest, cuda.Options(arch="sm_90"))
        arrays = {"X": np.ones((sizes["h"] + 2, sizes["w"] + 2), np.float32), "Y": np.zeros((sizes["h"], sizes["w"]), np.float32)}
        outcome = cuda.interpret(kernel, arrays, counts=True)
        assert not outcome.findings and outcome.counts is not None
        lines = cuda.ptx_of(kernel).splitlines()
        loads = sum(n.threads for line, n in outcome.counts.by_line.items() if "ld.global" in lines[line - 1])
        assert loads > 0 and loads_per_output(nest) == pytest.approx(loads / (sizes["h"] * sizes["w"]))


def test_inputs_without_neighbours_have_no_boxes() -> None:
    for name in ("matmul", "axpy", "softmax", "matvec"):
        for stage in tensor_kernel(name).program().stages:
            assert windowed_regions(stage) == frozenset()
    for function in (turned, gathered):
        (backbone,) = function.program({"n": 64}, cuda_tiles).stages
        assert windowed_regions(backbone) == frozenset()


def test_weights_beside_a_window_may_have_one() -> None:
    (backbone,) = depthwise.program({"c": 4, "h": 16, "w": 16}, cuda_tiles).stages
    assert {backbone.regions[n].name for n in windowed_regions(backbone)} == {"X", "W"}


@pytest.mark.slow
def test_the_papers_space_and_other_kernels_have_no_such_choice() -> None:
    (backbone,) = tensor_kernel("jacobi2d").program({"h": 16, "w": 16}, cuda_tiles).stages
    for features in (Features(windows=False), Features.paper()):
        space = kernel_space(backbone, SM_90, features)
        with pytest.raises(UserError, match="REFUTED"):
            space.replay({"mem_space(X)": "SHARED"})


def test_a_box_without_room_is_left_out() -> None:
    """The least box of five neighbours has nine elements, 36 bytes; the results are right without it."""
    (backbone,) = stages("jacobi2d")
    for room, expected in ((32, []), (36, ["box_X"])):
        space = kernel_space(backbone, replace(SM_90, shared_bytes=room))
        start = space.replay({"mem_space(X)": "SHARED", "dim_kind(add.h0)": "LOOP", "dim_kind(add.w0)": "LOOP"})
        start = space.replay({**space.describe(start), "dim_kind(add.h1)": "LOOP", "dim_kind(add.w1)": "LOOP"})
        nest = first(space, start)
        check(nest, backbone, 0)
        assert boxes(nest) == expected


@tensor
def sums_of_parts(X: f32["64 * p"], Y: out[f32["p"]]):
    k: range(64)
    Y[i] = sum(X[64 * i + k] * X[64 * i + k], over=k)


@tensor
def sums_of_windows(X: f32["64 * p + 2"], Y: out[f32["p"]]):
    k: range(64)
    r: range(3)
    Y[i] = sum(X[64 * i + k + r], over=(k, r))


@tensor
def pairs(X: f32["2 * p"], Y: out[f32["p"]]):
    k: range(2)
    Y[i] = sum(X[2 * i + k], over=k)


@tensor
def every_other(X: f32["2 * n", "2 * m"], Y: out[f32["n", "m"]]):
    Y[i, j] = X[2 * i, 2 * j] + X[2 * i, 2 * j + 1] + X[2 * i + 1, 2 * j]


def test_places_between_each_others_are_no_window() -> None:
    """No result reads at odd places what another one reads at even places; steps of two meet again."""
    (apart,) = every_other.program({"n": 16, "m": 16}, cuda_tiles).stages
    (meeting,) = every_second.program({"n": 16, "m": 16}, cuda_tiles).stages
    assert windowed_regions(apart) == frozenset() and windowed_regions(meeting)


@tensor
def channels(X: f32["c", "w"], W: f32["o", "c", 3], Y: out[f32["o", "w"]]):
    Y[o, w] += pad(X, 0)[c, w + r - 1] * W[o, c, r]


def test_weights_lie_along_the_channels_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """The box of weights is turned, with rows an odd number of vectors apart, so that threads load vectors from it and those that
    copy across the rows are spread over the banks; both boxes are copied ahead."""
    monkeypatch.setattr(lower_window, "_ROOM", 0)
    monkeypatch.setattr("warploom.schedule.choices.habits.CHANNEL_WAYS", (ChannelWay(4, 1, 2, 2, 4),))
    (backbone,) = channels.program({"c": 12, "o": 12, "w": 20}, cuda_tiles).stages
    nest = habitual(backbone)
    check(nest, backbone, 0)
    assert boxes(nest) == ["box_X", "box_W"] and {b.copies for b in nest.buffers if b.name in boxes(nest)} == {2}
    ((weights, box),) = ((n, b) for n, b in enumerate(nest.buffers) if b.name == "box_W")
    assert box.elements == 4 * 3 * (8 + 4)
    loads = [(s, around) for s, around in statements(nest.body) if isinstance(s, Load) and s.memory.buffer == weights]
    assert loads and all(around[-1].kind is Kind.VECTOR and s.memory.lanes_apart(around[-1].number) == 1 for s, around in loads)


def test_parts_behind_each_other_are_no_window() -> None:
    def windows(function: TensorFunction) -> bool:
        (stage,) = function.program({"p": 8}, cuda_tiles).stages
        return bool(windowed_regions(stage))

    assert not windows(sums_of_parts) and windows(sums_of_windows) and windows(pairs)
