"""Kernels whose arrays and axes are longer or shorter than a size known at run time, padded reads along it, sizes as numbers."""

# ruff: noqa: F821  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportGeneralTypeIssues=false, reportCallIssue=false, reportAttributeAccessIssue=false

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.tools.explore.test_check import implementation_of
from tests.tools.explore.test_run_time import HAS_CUDA, code_of

from warploom import JitFunction, UserError, f32, i8, i32, out, sqrt, temp, tensor
from warploom.schedule.backbone import Constant, Program, RunTimeSize, at_sizes, cpu_tiles
from warploom.schedule.calls import all_open, pack, pack_cuda, plain_class, spread_nest, unpack, unpack_cuda
from warploom.schedule.cpu import c_source, plain_nest
from warploom.schedule.cuda import Options, cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.nest import Compute, Guard, Load, Loop, Memory, Nest, Node, Store, at_run_time, loops, text
from warploom.schedule.targets import cpu, target
from warploom.tools.explore.check import Checked, _interpreted, check_cpu  # pyright: ignore[reportPrivateUsage]
from warploom.tools.explore.data import data_for
from warploom.tools.explore.run_time import tried
from warploom.tools.kernels.class_records import class_program
from warploom.tools.kernels.store import gpu_key_of, key_of

SIZES = {"m": 40, "n": 40, "taps": 3}


@tensor
def smoothed(X: f32["n + 2"], Y: out[f32["n"]]):
    Y[i] = X[i] + 2 * X[i + 1] + X[i + 2]


@tensor
def inside(X: f32["n", "3"], Y: out[f32["n - 2", "3"]]):
    Y[i, j] = X[i + 2, j] - X[i, j]


@tensor
def filtered(X: f32["n + taps - 1"], w: f32["taps"], Y: out[f32["n"]]):
    Y[i] = sum(X[i + t] * w[t], over=t)


@tensor
def centred(X: f32["n"], w: f32["3"], Y: out[f32["n"]]):
    Y[i] = sum(pad(X, 1)[i + t - 1] * w[t], over=t)


@tensor
def convolved(X: f32["n"], w: f32["3"], Y: out[f32["n + 2"]]):
    Y[i] = sum(pad(X, 0)[i - t] * w[t], over=t)


@tensor
def twice(X: f32["n + 4"], Y: out[f32["n"]], T: temp[f32["n + 2"]]):
    T[i] = X[i] + X[i + 2]
    Y[i] = T[i] * T[i + 2]


@tensor
def averaged(X: f32["n", "3"], Y: out[f32["3"]]):
    Y[j] = sum(X[i, j], over=i) / n + (n + 1)


@tensor
def relaxed(X: f32["m + 2", "n + 2"], Y: out[f32["m", "n"]]):
    Y[i, j] = X[i, j + 1] + X[i + 1, j] + X[i + 1, j + 2] + X[i + 2, j + 1] - 4 * X[i + 1, j + 1]


@tensor
def around(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    Y[i, j] = pad(X, 0)[i - 1, j] + pad(X, 0)[i + 1, j] + pad(X, 2)[i, j - 1] + X[i, j]


@tensor
def normed(X: f32["m", "n"], g: f32["n"], Y: out[f32["m", "n"]]):
    mean[i] = sum(X[i, j], over=j) / n
    d[i, j] = X[i, j] - mean[i]
    variance[i] = sum(d[i, j] * d[i, j], over=j) / n
    Y[i, j] = d[i, j] / sqrt(variance[i] + 0.001) * g[j]


RIGHT: Mapping[str, Callable[..., Any]] = {
    "smoothed": lambda X: X[:-2] + 2 * X[1:-1] + X[2:],
    "inside": lambda X: X[2:] - X[:-2],
    "filtered": lambda X, w: np.correlate(X, w, "valid"),
    "centred": lambda X, w: np.correlate(np.pad(X, 1, constant_values=1), w, "valid"),
    "convolved": np.convolve,
    "twice": lambda X: (X[:-4] + X[2:-2]) * (X[2:-2] + X[4:]),
    "averaged": lambda X: X.mean(0) + (len(X) + 1),
}
"""Functions of one open size `n`, the first of its arrays: by NumPy."""
BOTH = (relaxed, around, normed)
"""Functions whose strides are open, too."""


def opened(function: TensorFunction, *, has_strides: bool = True) -> Program:
    sizes = {name: SIZES[name] for name in function.sizes}
    program = function.program(sizes, cpu_tiles)
    multiples = {name: 1 for name in function.sizes if name != "taps"}
    return function.at_run_time(program, multiples, has_strides=has_strides)


def spread(program: Program) -> list[Nest]:
    return [spread_nest(plain_nest(stage)) for stage in program.stages]


def checked(function: TensorFunction, program: Program, nests: list[Nest]) -> Checked:
    return _interpreted(function, {}, program, nests, target("sm_90"), 0)


def of_name(name: str) -> TensorFunction:
    return globals()[name]


@HAS_CUDA
@pytest.mark.parametrize("function", [*map(of_name, RIGHT), *BOTH], ids=lambda f: f.name)
def test_one_cuda_text_for_all_values(function: TensorFunction) -> None:
    program = opened(function)
    nests = spread(program)
    found = checked(function, program, nests)
    assert found.verdict == "tested", found.reason
    kernels = [cuda_kernel(nest, Options(arch="sm_90")) for nest in nests]
    assert unpack_cuda(program, pack_cuda(kernels)) == [replace(k, open_loops=()) for k in kernels]


@pytest.mark.parametrize("name", [*RIGHT])
def test_one_c_text_for_all_values(name: str) -> None:
    """Plain loops and a decided kernel, which has tiles."""
    function = of_name(name)
    program = opened(function, has_strides=False)
    data = data_for(program, None, 0)
    for nests in (
        [plain_nest(stage) for stage in program.stages],
        [implementation_of(stage, cpu(32), 0).nest for stage in program.stages],
    ):
        found = check_cpu(program, nests, data, 1, function)
        assert found.verdict == "tested", found.reason
        assert unpack(program, pack(nests)) is not None


@pytest.mark.parametrize("name", [*RIGHT])
def test_calls_of_plain_loops_are_right(name: str) -> None:
    """One library for all lengths; the oracle is NumPy."""
    function = of_name(name)
    called = JitFunction(function, threads=1, search="off")
    chance = np.random.default_rng(0)
    for n in (3, 4, 32, 33, 65):
        sizes = {"n": n, "taps": 3}
        given = [chance.random([s.whole_at(sizes) for s in a.shape], np.float32) for a in function.arrays if a.name in ("X", "w")]
        np.testing.assert_allclose(called(*given), RIGHT[name](*given), rtol=1e-5, atol=1e-6)
    found = plain_class(function, {name: SIZES[name] for name in function.sizes}, 1)
    assert found is not None and found.multiples == {"n": 1}


def test_a_class_holds_sizes_that_leave_room() -> None:
    found = plain_class(inside, {"n": 9}, 1)
    assert found is not None and found.holds({"n": 3}) and not found.holds({"n": 2})
    with pytest.raises(UserError, match=r"CALL_SHAPE|SIZES"):
        JitFunction(inside, threads=1, search="off")(np.ones((1, 3), np.float32))


def changed(node: Node, memory: Callable[[Memory], Memory]) -> Node:
    match node:
        case Loop(body=body):
            return replace(node, body=tuple(changed(n, memory) for n in body))
        case Load() | Store():
            return replace(node, memory=memory(node.memory))
        case _:
            return node


def of_the_size(memory: Memory) -> Memory:
    """Guards and strides that take the size for the length."""

    def guard(found: Guard) -> Guard:
        return replace(found, run_time=None if found.run_time is None else found.run_time.alone)

    rows = tuple(replace(r, sizes=tuple(s.alone for s in r.sizes)) for r in memory.rows)
    return replace(memory, guards=tuple(map(guard, memory.guards)), rows=rows)


def without_beginnings(memory: Memory) -> Memory:
    """Padded reads are guarded at the ends of the array only."""
    return replace(memory, guards=tuple(g for g in memory.guards if g.index.constant >= 0))


@HAS_CUDA
@pytest.mark.parametrize(
    ("function", "change"),
    [
        (relaxed, of_the_size),
        (convolved, of_the_size),
        (convolved, lambda m: replace(m, guards=())),
        (around, without_beginnings),
    ],
)
def test_planted_mistakes_are_refuted(function: TensorFunction, change: Callable[[Memory], Memory]) -> None:
    program = opened(function)
    nests = [replace(nest, body=tuple(changed(n, change) for n in nest.body)) for nest in spread(program)]
    assert checked(function, program, nests).verdict == "refuted"


def with_known_numbers(node: Node) -> Node:
    match node:
        case Loop(body=body):
            return replace(node, body=tuple(map(with_known_numbers, body)))
        case Compute(arguments=arguments):
            known = (replace(a, run_time=None) if isinstance(a, Constant) else a for a in arguments)
            return replace(node, arguments=tuple(known))
        case _:
            return node


def test_a_number_of_the_size_that_was_searched_is_refuted() -> None:
    program = opened(averaged, has_strides=False)
    nest = plain_nest(program.stages[0])
    assert "/ (float)n" in c_source(nest).text and "(float)(n + 1)" in c_source(nest).text
    assert "40 = n" in text(nest) and "41 = n + 1" in text(nest)
    wrong = replace(nest, body=tuple(map(with_known_numbers, nest.body)))
    assert check_cpu(program, [wrong], data_for(program, None, 0), 1, averaged).verdict == "refuted"


def test_values_are_tried_around_the_tiles_of_each_length() -> None:
    program = opened(inside, has_strides=False)
    nest = implementation_of(program.stages[0], cpu(32), 0).nest
    per = next(loop.trips.per for loop in loops(nest.body) if loop.trips is not None)
    assert {v["n"] for v in tried([nest])} >= {2, 3, per + 1, per + 2, per + 3}
    assert at_run_time(at_run_time(nest, {"n": 2}), {"n": 40}).body == nest.body
    (stage,) = at_sizes(program, {"n": 2}).stages
    assert stage.axes[0].size == 0 and stage.regions[1].shape == (0, 3)


@tensor
def one(X: f32["m", "n"], Y: out[f32["n", "m"]]):
    Y[j, i] = X[i, j]


@tensor
def other(X: f32["n", "m"], Y: out[f32["m", "n"]]):
    Y[j, i] = X[i, j]


@tensor
def divided(X: f32["n", "4"], Y: out[f32["n", "4"]]):
    Y[i, j] = X[i, j] / n


@tensor
def halved(X: f32["n", "4"], Y: out[f32["n", "4"]]):
    Y[i, j] = X[i, j] / 2


def test_classes_of_other_functions_have_other_keys() -> None:
    """The texts of both are the same at the least values of the sizes."""
    named = replace(other, tree=replace(other.tree, name="one"))
    both = {"m": 1, "n": 1}
    keys = [gpu_key_of(class_program(f, {}, both, has_strides=True), "sm_90", both) for f in (one, named)]
    assert keys[0] != keys[1]
    fixed = [class_program(replace(f, tree=replace(f.tree, name="f")), {}, {"n": 1}) for f in (divided, halved)]
    assert key_of(fixed[0], 1, {"n": 1}) != key_of(fixed[1], 1, {"n": 1})


def test_the_least_values_of_a_class_leave_room() -> None:
    (stage,) = class_program(inside, {}, {"n": 4}).stages
    assert stage.axes[0].size == 2 and stage.axes[0].run_time == RunTimeSize("n", 4, -2)
    assert stage.axes[0].divisor == 2


@tensor
def scaled(X: f32["n"], Y: out[f32["n"]]):
    Y[i] = X[i] * (1 / n)


@tensor
def doubled(X: f32["n"], Y: out[f32["n"]]):
    Y[i] = X[i] + 2 * n


@tensor
def small(X: i8["n"], Y: out[i8["n"]]):
    Y[i] = X[i] + n


@tensor
def numbered(X: i32["n"], Y: out[i32["n"]]):
    Y[i] = X[i] + (n - 1 - i)


@tensor
def long(X: f32["2 * n"], Y: out[f32["n"]]):
    Y[i] = X[i]


@tensor
def strided(X: f32["2 * n + 1"], Y: out[f32["n"]]):
    Y[i] = X[2 * i]


@tensor
def crossed(X: f32["m + n"], Y: out[f32["m", "n"]]):
    Y[i, j] = X[i + j]


@tensor
def backwards(X: f32["n"], Y: out[f32["n"]]):
    Y[i] = X[n - 1 - i]


@tensor
def first(X: f32["n"], Z: f32["n + 1"], Y: out[f32["n"]]):
    Y[i] = X[0] + Z[0] + X[i]


@tensor
def far(X: f32["n + 100000"], Y: out[f32["n"]]):
    Y[i] = X[i]


@tensor
def turned(X: f32["n"], Y: out[f32["n"]]):
    Y[i] = pad(X, 0)[3 - i]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (scaled, "or a sum of it and a number, as a number, got another one"),
        (doubled, "expected n, which is known at run time, or a sum of it and a number, as a number, got 2\\*n"),
        (small, "expected n, which is known at run time, as a number of f32, f64, i32, i64, u32, u64, got i8"),
        (numbered, "expected n, which is known at run time, in no value, got an index over it as a number"),
        (long, "or a sum of it and a number, as sizes of arrays only: axis 0 of 'X' has 2\\*n elements"),
        (strided, "or a sum of it and a number, as sizes of arrays only"),
        (crossed, "or a sum of it and a number, as sizes of arrays only: axis 0 of 'X' has m \\+ n elements"),
        (backwards, "expected n, which is known at run time, in no index, got it in one"),
        (first, "expected 'X' at the indices that run over n, which is known at run time"),
        (far, "or a sum of it and a number, as sizes of arrays only: axis 0 of 'X' has n \\+ 100000 elements"),
        (turned, "expected 'X' at the indices that run over n, which is known at run time"),
    ],
    ids=lambda f: getattr(f, "name", ""),
)
def test_what_stays_in_the_way(function: TensorFunction, message: str) -> None:
    program = function.program({name: SIZES[name] for name in function.sizes})
    multiples = dict.fromkeys(function.sizes, 1)
    assert code_of(lambda: function.at_run_time(program, multiples, has_strides=True)) == "RUN_TIME_SIZE"
    with pytest.raises(UserError, match=message):
        function.at_run_time(program, multiples, has_strides=True)


def test_all_open_sizes() -> None:
    assert all_open(filtered, filtered.program({"n": 9, "taps": 3}), has_strides=True)[0] == {"n": 1}
