"""Each term of the bound by itself: on a machine where nothing else takes time, it is what can be worked out on paper, no less
and no more. A unit of a resource takes one nanosecond here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from tests.schedule.bound.hand_views import Case

from warploom.kernels.tensors import tensor_kernel
from warploom.machines.cpu import Port
from warploom.schedule.backbone import parse_backbone
from warploom.schedule.bound.problem import (
    ALU,
    BLOCK,
    BY_CORE,
    BY_MACHINE,
    BY_THREAD,
    CACHE_L2,
    FUSIBLE,
    GLOBAL_LATENCY,
    ISSUE,
    L1_LINES,
    L2_READ,
    L2_STORED,
    LOOP,
    LOOP_LATENCY,
    MEMORY,
    NO_LIMIT,
    OUTER,
    STORES,
    THREAD,
    UNROLL,
    VECTOR,
)
from warploom.schedule.bound.tables import figures_of, tables
from warploom.schedule.bound.views import open_view, scratch
from warploom.schedule.targets import K4000, cpu

Kinds = Mapping[tuple[str, int], int]
N = 4096


def alone(
    case: Case, level: int | None = None, resource: int = 0, *, latency: int | None = None, bandwidth: float = 1e30
) -> float:
    """Nanoseconds where only one thing takes time: a unit of the resource, or one of the latencies, 1 ns."""
    rates = np.full_like(case.figures.rates, NO_LIMIT)
    latencies = np.zeros_like(case.figures.latencies)
    if level is not None:
        rates[level, resource] = 1.0
    if latency is not None:
        latencies[latency] = 1.0
    case.figures = case.figures._replace(rates=rates, latencies=latencies, bandwidth=bandwidth, launch=0.0)
    return 1e6 * case.bound()


def axpy(on: str, threads: int = 64, inner: int = 1, kinds: Kinds | None = None) -> Case:
    """Blocks of threads; `inner` points of each at the innermost level."""
    tiles = ((threads,),) if inner == 1 else ((threads,), (inner,))
    case = Case("axpy", {"n": N}, {"n": tiles}, on)
    for instruction in range(4):
        case.kinds(instruction, {("n", 0): BLOCK, ("n", 1): THREAD, **(kinds or {})})
    case.size("n", 0, N // threads // inner)
    case.problem.latency[:] = 0.0
    return case


@pytest.mark.parametrize(
    ("level", "resource", "amount"),
    [
        pytest.param(BY_MACHINE, ISSUE, 4 * N, id="two loads, a product, a store"),
        pytest.param(BY_CORE, ISSUE, 4 * N / 4, id="on one of four cores"),
        pytest.param(BY_THREAD, ISSUE, 4, id="of one thread, in one wave"),
        pytest.param(BY_MACHINE, ALU, N, id="one product each"),
        pytest.param(BY_CORE, ALU, N / 4, id="products on one core"),
        pytest.param(BY_THREAD, ALU, 1, id="products of one thread"),
        pytest.param(BY_MACHINE, MEMORY, 3 * N, id="three accesses each"),
        pytest.param(BY_CORE, MEMORY, 3 * N / 4, id="accesses on one core"),
        pytest.param(BY_MACHINE, L1_LINES, 2 * N * 4 / 128, id="lines of what is loaded"),
        pytest.param(BY_MACHINE, L2_READ, 2 * N * 4 / 32, id="sectors of what is loaded"),
        pytest.param(BY_MACHINE, L2_STORED, N * 4 / 32, id="sectors of what is stored"),
    ],
)
def test_resources_of_axpy(level: int, resource: int, amount: float) -> None:
    assert alone(axpy("k4000"), level, resource) == pytest.approx(amount)


def test_vectors_of_a_cpu_take_a_port_once() -> None:
    case = axpy("cpu", threads=8, kinds={("n", 1): VECTOR})
    assert [alone(case, BY_MACHINE, r) for r in (ALU, MEMORY, STORES)] == [N / 8, 2 * N / 8, N / 8]
    assert alone(axpy("cpu", threads=8), BY_MACHINE, ALU) == N


@pytest.mark.parametrize(
    ("on", "memory", "issue"),
    [
        pytest.param("k4000", 4 * 3 * N, 4 * 3 * N + N, id="each line is issued again"),
        pytest.param("sm_75", 2 * 3 * N, 3 * N / 4 + N, id="16 lanes: a line a cycle"),
        pytest.param("sm_90", 4 * 3 * N, 3 * N / 4 + N, id="32 lanes: a line a cycle"),
    ],
)
def test_lines_that_eight_lanes_share(on: str, memory: float, issue: float) -> None:
    """Threads 16 bytes apart: a line of 128 bytes serves eight."""
    case = axpy(on, inner=4, kinds={("n", 2): UNROLL})
    assert alone(case, BY_MACHINE, MEMORY) == pytest.approx(memory)
    assert alone(case, BY_MACHINE, ISSUE) == pytest.approx(issue)


def test_iterations_of_a_sequential_loop() -> None:
    assert alone(axpy("k4000", kinds={("n", 1): LOOP}), latency=LOOP_LATENCY) == pytest.approx(64)


def test_what_one_thread_waits_for() -> None:
    case = axpy("k4000")
    case.view.cache[:] = CACHE_L2
    assert alone(case, latency=GLOBAL_LATENCY) == pytest.approx(1)
    case.problem.latency[2] = 1.0
    assert alone(case, latency=GLOBAL_LATENCY) == pytest.approx(2)


@pytest.mark.parametrize(("on", "waited"), [("k4000", N), ("cpu", N / (1 + 512 / N))])
def test_a_sum_carried_by_a_loop(on: str, waited: float) -> None:
    case = Case("dot", {"n": N}, {"n": ((N,),)}, on)
    case.size("n", 0, 1)
    for instruction in range(len(case.backbone.instructions)):
        case.kinds(instruction, {("n", 0): LOOP, ("n", 1): LOOP})
    case.problem.latency[:] = [float(i.carry is not None) for i in case.backbone.instructions]
    assert alone(case) == pytest.approx(waited)


@pytest.mark.parametrize(("on", "kept"), [("k4000", 384 << 10), ("sm_90", 60 << 20)])
def test_memory_traffic_and_launch(on: str, kept: int) -> None:
    case = Case("axpy", {"n": 2**26}, {"n": ((1024,),)}, on)
    case.problem.latency[:] = 0.0
    launch = case.figures.launch
    assert alone(case, bandwidth=1.0) == pytest.approx(3 * 4 * 2**26 - kept)
    assert alone(case) == pytest.approx(0.0, abs=1e-6)
    case.figures = case.figures._replace(launch=launch)
    assert launch == (1500.0 if on == "sm_90" else 0.0)
    assert 1e6 * case.bound() == pytest.approx(launch, abs=1e-6)


def test_threads_exchange_what_they_sum() -> None:
    case = Case("dot", {"n": N}, {"n": ((32,),)}, "sm_90")
    for instruction in range(len(case.backbone.instructions)):
        case.kinds(instruction, {("n", 0): LOOP, ("n", 1): THREAD})
    case.size("n", 0, N // 32)
    case.problem.latency[:] = 0.0
    exchanges = 5 * 32
    assert alone(case, BY_MACHINE, MEMORY) == pytest.approx(2 * N + exchanges + 32)


def test_operands_that_no_register_keeps() -> None:
    case = Case("matmul", {"m": 64, "n": 64, "k": 64}, {}, "k4000")
    case.problem.latency[:] = 0.0
    for instruction in range(len(case.backbone.instructions)):
        case.kinds(instruction, {("m", 0): BLOCK, ("n", 0): THREAD, ("k", 0): LOOP})
    assert alone(case, BY_MACHINE, MEMORY) == pytest.approx(2 * 64**3 + 64**2)
    assert alone(case, BY_MACHINE, ALU) == pytest.approx(3 * 64**3)  # a product and the loop's two


def refetching(capacities: tuple[int, int, int]) -> Case:
    """Four rows of 256 KB times one vector of that size: rows one after the other."""
    case = Case("matvec", {"m": 4, "n": 1 << 16}, {}, "cpu")
    case.figures = case.figures._replace(capacities=np.array(capacities), lines=np.array([64, 64]))
    case.problem.latency[:] = 0.0
    for instruction in range(len(case.backbone.instructions)):
        case.kinds(instruction, {("m", 0): LOOP, ("n", 0): LOOP})

    def statement(name: str, axis: str) -> int:
        extents = {d: case.backbone.extents[case.backbone.dims[d].extent] for d in case.dims(case.instruction(name))}
        return int(case.problem.dim_statement[next(d for d, e in extents.items() if case.backbone.axes[e.axis].name == axis)])

    rows = statement("load_A", "m")
    inner = (statement("load_A", "n"), statement("load_x", "n"), case.instruction("load_x"))
    for one in inner:
        case.order(rows, one, OUTER)
    return case


def test_what_a_cache_cannot_keep_comes_again() -> None:
    row = 1 << 18
    assert alone(refetching((1 << 15, 1 << 20, 1 << 25)), BY_MACHINE, L1_LINES) == pytest.approx(2 * 4 * (row - (1 << 15)) / 64)
    assert alone(refetching((1 << 15, 1 << 16, 1 << 25)), BY_MACHINE, L2_READ) == pytest.approx(2 * 4 * (row - (1 << 16)) / 64)
    assert alone(refetching((1 << 15, 1 << 16, 1 << 17)), bandwidth=1.0) == pytest.approx(5 * row + 16 - (1 << 17))


PORTS = (*(Port(k, size, per) for k in ("fma", "mul", "add", "max", "load") for size, per in ((4, 2.0), (32, 2.0), (64, 1.0))),
         Port("store", 4, 1.0), Port("store", 32, 1.0), Port("store", 64, 0.5),
         Port("load_word", 8, 3.0), Port("store_word", 8, 2.0))  # fmt: skip
"""Ports of a core that splits its widest vectors."""


def test_narrow_vectors_are_as_fast_as_wide_ones_where_those_are_split() -> None:
    wide = cpu(64)
    on = replace(wide, rates=replace(wide.rates, ports=PORTS))
    stage = tensor_kernel("axpy").program({"n": N}, {}).stages[0]
    found = tables(stage, on).per_element
    names = [i.name for i in stage.instructions]
    product = found[names.index("mad") if "mad" in names else 2]
    assert product[0] == 1 / 2 and product[3] == product[4] == 1 / 16
    assert found[0][0] == 1 / 2 and found[0][4] == 1 / 16
    bare = replace(wide, rates=replace(wide.rates, ports=()))
    assert not tables(stage, bare).per_element.any()


FUSIBLE_TEXT = """\
backbone pipes
axis i 4: 4
input X f32 [4] strides [1]
output Y f32 [4] strides [1]
load[i] = load f32 X[i]
product[i] = mul f32 load[i], load[i]
fused[i] = add f32 product[i], 1.0
sum[i] = add f32 fused[i], load[i]
largest[i] = max f32 sum[i], 0.0
store_Y[i] = store f32 largest[i] to Y[i]
"""


def test_a_sum_of_a_product_may_run_where_products_do() -> None:
    stage = parse_backbone(FUSIBLE_TEXT)
    pipes = dict(zip((i.name for i in stage.instructions), tables(stage, cpu()).pipe.tolist(), strict=True))
    assert (pipes["product"], pipes["fused"], pipes["sum"], pipes["largest"]) == (0, FUSIBLE, 1, 2)


def test_pipes_work_side_by_side() -> None:
    """1 sum and 1 that may run with products: the two pipes share them, comparisons are apart."""
    case = Case.__new__(Case)
    case.backbone, case.target = parse_backbone(FUSIBLE_TEXT), cpu()
    case.problem, case.figures = tables(case.backbone, case.target), figures_of(case.target)
    case.view = open_view(case.problem, case.backbone, len(case.backbone.instructions) + len(case.backbone.dims))
    case.scratch = scratch(case.problem)
    case.problem.latency[:] = 0.0
    case.view.kind[:] = LOOP
    assert alone(case, BY_MACHINE, ALU) == 4.0
    case.problem.pipe[:] = np.where(case.problem.pipe == 2, FUSIBLE, case.problem.pipe)
    assert alone(case, BY_MACHINE, ALU) == 6.0


def test_a_chain_of_fused_products_may_become_one_of_sums() -> None:
    """GCC splits them for some CPUs: 3.0 cycles were seen where a fused product takes 4."""
    stage = tensor_kernel("dot").program({"n": N}, {}).stages[0]
    for on, cycles in ((cpu(), 2.0), (K4000, 10.0)):
        total = next(n for n, i in enumerate(stage.instructions) if i.carry is not None)
        assert tables(stage, on).latency[total] * on.rates.clock_ghz == pytest.approx(cycles)
