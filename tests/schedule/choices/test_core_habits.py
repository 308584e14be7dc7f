"""Habits of fast CPU kernels: vectors and rows of results in registers, from the mathematics of a sum alone."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from tests.schedule.choices.test_habits import first
from tests.schedule.choices.test_kernel_space import check

from warploom.kernels.suites import NETWORKS, POLYBENCH
from warploom.kernels.tensors import TensorKernel, tensor_kernel
from warploom.schedule.backbone import Backbone, Operator, added_products, cpu_tiles
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features, KernelSpace, kernel_space
from warploom.schedule.choices.core_habits import core_habits
from warploom.schedule.choices.inputs import leaves_caches
from warploom.schedule.choices.kernel import CPU_ORDER
from warploom.schedule.cpu import c_source
from warploom.schedule.frontend import sharing_passes
from warploom.schedule.nest import Compute, Kind, Load, Nest, Space, loops, share_of, statements, verify
from warploom.schedule.search.kernel_model import KernelModel
from warploom.schedule.targets import Target, cpu, target

CPU = target("cpu")
CHEAP = ("gemm", "atax", "conv2d", "max_pool")
KERNELS = {name: suite.kernel for name, suite in (POLYBENCH | NETWORKS).items()}


def stage_of(kernel: TensorKernel, sizes: dict[str, int], number: int = 0) -> Backbone:
    return kernel.program(sizes, cpu_tiles).stages[number]


def around_products(nest: Nest) -> list[tuple[str, int]]:
    """The unrolled and vector loops around the sum's step, outermost first."""
    found = [around for s, around in statements(nest.body) if isinstance(s, Compute) and s.operator is Operator.FMA]
    loops = max(found, key=len)
    return [(x.kind.value, x.size) for x in loops if x.kind in (Kind.UNROLL, Kind.VECTOR) and x.size > 1]


@pytest.mark.parametrize(("way", "rows", "vectors"), [(0, 6, 2), (1, 6, 2), (2, 12, 1)])
def test_rows_and_vectors_of_a_product_stay_in_registers(way: int, rows: int, vectors: int) -> None:
    backbone = stage_of(tensor_kernel("matmul"), {"m": 48, "n": 64, "k": 12})
    space = kernel_space(backbone, CPU)
    nest = first(space, space.usually(space.root(), lambda _: False, way))
    found = around_products(nest)
    assert found[-1][0] == "vector"
    assert {("unroll", n) for n in (rows, vectors) if n > 1} <= set(found)
    check(backbone, nest)


def steps_of(nest: Nest) -> list[str]:
    """The loops around a product that are no registers, outermost first."""
    found = [around for s, around in statements(nest.body) if isinstance(s, Compute) and s.operator is Operator.FMA]
    return [x.name for x in max(found, key=len) if x.kind not in (Kind.UNROLL, Kind.VECTOR)]


def test_the_factor_that_all_rows_use_is_copied_in_slices() -> None:
    """Each slice serves all rows, which read the other factor where it lies and take all vectors of the slice; what is added
    comes behind the sum."""
    space = alone(stage_of(KERNELS["gemm"], {"m": 24, "n": 256, "k": 512}))
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert [b.name for b in nest.buffers if b.space is Space.SHARED] == ["tmp_load_B"]
    found = list(statements(nest.body))
    copies = [around for x, around in found if isinstance(x, Load) and nest.buffers[x.memory.buffer].name == "B"]
    assert [x.name[0] + x.kind.value[0] for x in copies[0]] == ["nl", "kl", "nl", "nu", "nv"]
    assert steps_of(nest) == ["n0", "m0", "n1", "k0"]
    added = [around for x, around in found if isinstance(x, Load) and nest.buffers[x.memory.buffer].name == "C"]
    assert not any(x.name[0] == "k" for x in added[0])
    verify(nest)


def test_a_factor_that_fits_is_read_where_it_lies() -> None:
    """Rows take all of its vectors, and the first way copies nothing."""
    space = alone(stage_of(KERNELS["gemm"], {"m": 48, "n": 128, "k": 12}))
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert not any(b.space is Space.SHARED for b in nest.buffers)
    assert steps_of(nest) == ["m0", "n0", "k0"]
    check(space.backbone, nest)


def copied(name: str, sizes: dict[str, int]) -> list[bool]:
    """By way: whether slices of a factor are around all rows, whom a copy of one serves."""
    space = alone(stage_of(KERNELS[name] if name in KERNELS else tensor_kernel(name), sizes))
    ways = [{(space.names.text(c, a), v) for c, a, v in way} for way in core_habits(space.objects, space.target)]
    total = "sum" if name == "matmul_i8" else "mad"
    return [(f"order({total}.n0, {total}.m0)", "OUTER") in way for way in ways]


def test_half_of_the_ways_of_a_factor_that_fits_copy_it() -> None:
    assert copied("gemm", {"m": 48, "n": 128, "k": 128}) == [False, True] * 3


def test_a_factor_larger_than_half_of_the_second_cache_is_copied() -> None:
    assert CPU.shared_bytes < 4 * 512 * 512
    assert all(copied("gemm", {"m": 48, "n": 512, "k": 512}))


def test_a_factor_that_lies_across_is_copied() -> None:
    assert all(copied("linear_relu", {"m": 128, "n": 32, "k": 32}))


@pytest.mark.parametrize("name", ["matmul_i8", "matmul_bf16"])
def test_factors_of_another_type_than_their_products_are_copied(name: str) -> None:
    assert all(copied(name, {"m": 48, "n": 64, "k": 16}))


def test_slices_are_as_wide_as_their_room_and_leave_nothing_in_padding() -> None:
    """768 columns in tiles of two vectors: 48 panels of 48 KiB, of which 256 KiB hold four; the sum has no padding either."""
    space = alone(stage_of(KERNELS["gemm"], {"m": 768, "n": 768, "k": 768}))
    sizes = {space.names.text(c, a): int(v) for c, a, v in core_habits(space.objects, space.target)[0] if c == "size"}
    assert sizes == {"size(m1)": 1, "size(m2)": 6, "size(n1)": 4, "size(n2)": 2, "size(n3)": 8, "size(k1)": 1}


def test_rows_of_a_product_of_tensors_lie_next_to_each_other() -> None:
    """B[r, q, i] sums A[r, q, s] * C[s, i]: a tile has rows of one r, and the next rows follow them in memory."""
    space = alone(stage_of(KERNELS["doitgen"], {"r": 6, "q": 12, "p": 32}))
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert ("unroll", 6) in around_products(nest)
    assert steps_of(nest) == ["r0", "q0", "i0", "s0"]
    check(space.backbone, nest)


def test_several_threads_may_share_out_rows() -> None:
    """One thread has one loop over the rows of all tiles."""
    backbone = stage_of(KERNELS["gemm"], {"m": 48, "n": 512, "k": 512})
    found = []
    for cores in (1, 4):
        space = kernel_space(backbone, replace(CPU, rates=replace(CPU.rates, cores=cores)))
        found.append("size(m1)" in {space.names.text(c, a) for c, a, _ in core_habits(space.objects, space.target)[0]})
    assert found == [True, False]


@pytest.mark.parametrize(("registers", "m", "tile"), [(16, 768, ("6", "2")), (32, 768, ("14", "2")), (32, 128, ("8", "2"))])
def test_rows_and_vectors_fill_the_registers_and_leave_little_in_padding(registers: int, m: int, tile: tuple[str, str]) -> None:
    wide = replace(CPU, registers=registers, rates=replace(CPU.rates, cores=1))
    space = kernel_space(stage_of(KERNELS["gemm"], {"m": m, "n": 512, "k": 512}), wide)
    way = {space.names.text(c, a): v for c, a, v in core_habits(space.objects, wide)[0]}
    assert (way["size(m2)"], way["size(n2)"]) == tile


def test_vectors_lie_along_results_where_the_operand_lies_across() -> None:
    """Y[m, n] sums X[m, k] * W[n, k]: neighbours of W along n are not neighbours in memory, so it is copied."""
    backbone = stage_of(KERNELS["linear_relu"], {"m": 8, "n": 32, "k": 12})
    levels = [e.sizes for e in backbone.extents if backbone.axes[e.axis].name == "n"]
    assert levels[-1] == (4, 8, 16)
    space = kernel_space(backbone, CPU)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert around_products(nest)[-1] == ("vector", 8)
    check(backbone, nest)


@pytest.mark.parametrize("name", [*CHEAP, *(pytest.param(n, marks=pytest.mark.slow) for n in KERNELS if n not in CHEAP)])
def test_every_way_is_open_at_the_root(name: str) -> None:
    for stage in KERNELS[name].program(None, cpu_tiles).stages[:1]:
        space = kernel_space(stage, CPU)
        root = space.root()
        ways = core_habits(space.objects, CPU)
        assert ways
        for turn in range(len(ways)):
            assert space.usually(root, lambda _: False, turn) != root


@pytest.mark.parametrize("name", ["atax", "bicg"])
def test_rows_of_a_matrix_whose_columns_are_summed(name: str) -> None:
    """Totals lie in an array, and the loop over blocks of rows is around all else that reads the matrix."""
    kernel = KERNELS[name]
    (backbone,) = sharing_passes(kernel.program({"m": 32, "n": 64}, cpu_tiles), cpu_tiles).stages
    space = kernel_space(backbone, CPU)
    nest = first(space, space.usually(space.root(), lambda _: False, 1))
    assert any(b.name.startswith("totals_") for b in nest.buffers)
    reads = [around for s, around in statements(nest.body) if isinstance(s, Load) and nest.buffers[s.memory.buffer].name == "A"]
    assert {(around[0].name, around[0].size) for around in reads} == {("m0", 4)}
    assert len({around[0].number for around in reads}) == 1
    check(backbone, nest)


def test_the_papers_space_has_none() -> None:
    backbone = stage_of(tensor_kernel("matmul"), {"m": 16, "n": 64, "k": 12})
    space = KernelSpace(backbone, CPU, Features.paper())
    root = space.root()
    assert space.usually(root, lambda _: False) == root


@pytest.mark.parametrize("name", ["rms_norm", "layer_norm", "softmax"])
def test_rows_of_any_length_have_an_implementation(name: str) -> None:
    """The last statement reads a row again after its sum; rows of 1024 do not fit the registers."""
    kernel_space(stage_of(KERNELS[name], {"rows": 64, "columns": 1024}), CPU).root()


def test_descents_begin_with_the_sizes_of_habits() -> None:
    """Both operands that are copied leave few sizes to the outer tiles, from which the size of vectors seems to follow."""
    kernel = KERNELS["syr2k"]
    stage = added_products(kernel.program({"n": 384, "k": 384}, cpu_tiles).stages[0])
    space = kernel_space(stage, CPU)
    model = KernelModel(space, Bound(space), order=CPU_ORDER)
    wanted = space.usually(space.root(), lambda _: False)
    begun = model.decide(model.root(), model.begin(model.root(), random.Random(0)))
    assert begun is not None
    sizes = [wanted.values("size", n) for n in range(len(stage.extents))]
    known = [n for n, values in enumerate(sizes) if len(values) == 1]
    assert len(known) >= 3
    assert [begun.candidate.values("size", n) for n in known] == [sizes[n] for n in known]


def test_several_products_copy_every_factor_that_lies_across() -> None:
    kernel = KERNELS["syr2k"]
    stage = added_products(kernel.program({"n": 32, "k": 12}, cpu_tiles).stages[0])
    space = kernel_space(stage, CPU)
    nest = first(space, space.usually(space.root(), lambda _: False))
    assert {b.name for b in nest.buffers} >= {"tmp_load_B", "tmp_load_A_2"}
    assert around_products(nest)[-1][0] == "vector"
    check(stage, nest)


def test_halved_sums_of_several_products_load_what_lanes_share_where_it_is_used() -> None:
    """Tiles have the fewest clocks with what lies beyond the diagonal: high ones."""
    kernel = KERNELS["syr2k"]
    stage = added_products(kernel.program({"n": 96, "k": 12}, cpu_tiles).stages[0])
    space = kernel_space(stage, cpu(64, 32))
    wanted = space.usually(space.root(), lambda _: False, 0)
    objects = space.objects
    of_rows = [
        o.statement for o in objects.operations if o.temporary is None and stage.instructions[o.instruction].axes == (0, 2)
    ]
    rows = [x.statement for x in objects.loops if x.owner in of_rows and x.axis == 0 and x.is_innermost]
    assert [wanted.values("dim_kind", statement) for statement in rows] == [("UNROLL",)] * 2
    assert wanted.values("mirror", 0) == ("YES",) and wanted.values("size", 2) == (16,)


def test_symmetric_sums_begin_with_half_of_their_tiles_and_once_with_all() -> None:
    """Block by block of rows, of each all columns; both factors are copied before the tiles that use them."""
    backbone = stage_of(KERNELS["syrk"], {"n": 80, "k": 12})
    space = kernel_space(backbone, CPU)
    ways = core_habits(space.objects, CPU)
    assert [way[0][2] for way in ways] == ["YES", "NO", "YES", "YES", "YES", "YES"]
    assert {way[0][:2] for way in ways} == {("mirror", (0,))}
    nest = first(space, space.usually(space.root(), lambda _: False, 0))
    assert share_of(nest) < 0.7
    assert around_products(nest)[-1] == ("vector", 8) and ("unroll", 8) in around_products(nest)
    assert [b.name for b in nest.buffers if b.space is Space.SHARED] == ["tmp_load_A", "tmp_load_A_2"]
    assert next(loop.name for loop in loops(nest.body) if loop.kind is not Kind.UNROLL) == "i0"
    check(backbone, nest)


def alone(backbone: Backbone, on: Target = CPU) -> KernelSpace:
    return kernel_space(backbone, replace(on, rates=replace(on.rates, cores=1)))


STRIDED = {"c": 2, "o": 16, "h": 2, "w": 6}


def test_lanes_of_a_convolution_lie_along_its_channels() -> None:
    """Its columns leave a remainder and are apart in the image, so that they take the place of rows: weights are copied once, the
    image is read where it lies, one number for all lanes."""
    backbone = stage_of(KERNELS["conv2d_strided"], STRIDED)
    space = alone(backbone)
    nest = first(space, space.usually(space.root(), lambda _: False))
    vectors = {x.name for x in loops(nest.body) if x.kind is Kind.VECTOR and x.size > 1}
    assert vectors == {"o2"}
    assert ("unroll", 6) in around_products(nest) or ("unroll", 2) in around_products(nest)
    assert [b.name for b in nest.buffers if b.space is Space.SHARED] == ["tmp_load_W"]
    check(backbone, nest)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("matmul", {"m": 16, "n": 32, "k": 8}),  # whole vectors along the columns
        ("matmul", {"m": 12, "n": 20, "k": 8}),  # a remainder along the rows, too
        ("gemm", {"m": 16, "n": 20, "k": 8}),  # what is added moves with rows and columns
        ("depthwise", {"c": 16, "h": 4, "w": 6}),  # and so does the image with channels and columns
        ("atax", {"m": 20, "n": 20}),  # no rows
    ],
)  # fmt: skip
def test_lanes_along_columns_elsewhere(name: str, sizes: dict[str, int]) -> None:
    space = alone(stage_of(KERNELS[name] if name in KERNELS else tensor_kernel(name), sizes))
    names = space.names
    sized = [{names.text(c, a): v for c, a, v in way if c == "prefetch"} for way in core_habits(space.objects, space.target)]
    assert sized and not any(sized)


@pytest.mark.parametrize(
    ("name", "sizes"), [("matmul", {"m": 16, "n": 20, "k": 8}), ("conv2d", {"c": 2, "o": 16, "h": 4, "w": 16})]
)
def test_lanes_across_remainders_and_edges(name: str, sizes: dict[str, int]) -> None:
    space = alone(stage_of(KERNELS[name] if name in KERNELS else tensor_kernel(name), sizes))
    ways = core_habits(space.objects, space.target)
    across = [any(choice == "prefetch" for choice, *_ in way) for way in ways]
    assert 0 < sum(across) <= len(ways) / 2 + 1
    assert across == sorted(across, reverse=True)


def test_several_threads_may_copy_operands_of_their_own() -> None:
    """One thread copies before all loops; of several, each copies for the rows that it has."""
    backbone = stage_of(KERNELS["conv2d_strided"], STRIDED)
    many = kernel_space(backbone, replace(CPU, rates=replace(CPU.rates, cores=4)))
    before = []
    for space in (alone(backbone), many):
        names = space.names
        before.append({names.text(c, a) for c, a, v in core_habits(space.objects, space.target)[0] if v == "BEFORE"})
    assert {name for name in before[0] - before[1] if "mad.h0" in name} == {"order(load_W, mad.h0)"}


def test_sums_fetch_rows_further_on() -> None:
    backbone = stage_of(KERNELS["conv2d_strided"], {"c": 2, "o": 16, "h": 200, "w": 168})
    space = alone(backbone)
    candidate = space.usually(space.root(), lambda _: False)
    nest = first(space, candidate)
    verify(nest)
    (ahead,) = [x for x in loops(nest.body) if x.stages > 1]
    assert ahead.name == "w0"
    assert "__builtin_prefetch(X + " in c_source(nest).text


@pytest.mark.parametrize(
    ("rows", "near", "is_far"), [(256, 0, False), (8192, 0, True), (1024, 2 << 20, True), (1024, 4 << 20, False)]
)
def test_rows_from_memory_that_several_passes_read_follow_each_other(rows: int, near: int, is_far: bool) -> None:
    """Caches that are no faster than memory count as memory."""
    caches = tuple(replace(c, size_bytes=min(c.size_bytes, 64 << 20)) for c in CPU.rates.caches)
    machine = replace(CPU, rates=replace(CPU.rates, caches=caches, near_bytes=near))
    space = kernel_space(stage_of(KERNELS["layer_norm"], {"rows": rows, "columns": 1024}), machine)
    habits = [(space.names.text(c, a), v) for c, a, v in core_habits(space.objects, machine)[0]]
    for habit in (("size(r1)", "1"), ("prefetch(layer_norm)", "NEXT"), ("cache(store_Y)", "NONE")):
        assert (habit in habits) is is_far


@pytest.mark.parametrize(("near", "expected"), [(1 << 20, [False, False, True]), (1 << 30, [False, False, False])])
def test_what_the_next_stage_reads_stays_in_the_caches(near: int, expected: list[bool]) -> None:
    """Scores and probabilities go to the next product; only its results leave the program."""
    caches = tuple(replace(c, size_bytes=min(c.size_bytes, 1 << 30)) for c in CPU.rates.caches)
    machine = replace(CPU, rates=replace(CPU.rates, caches=caches, near_bytes=near))
    program = KERNELS["attention"].program({"n": 1024, "m": 1024, "d": 512}, cpu_tiles)
    assert [leaves_caches(stage, machine) for stage in program.stages] == expected


@pytest.mark.parametrize(("name", "is_open"), [("matmul", True), ("jacobi2d", False)])
def test_only_sums_are_stored_across_rows(name: str, is_open: bool) -> None:
    results = ("m", "n") if name == "matmul" else ("h", "w")
    tiles = dict.fromkeys(results, ((8,),))
    sizes = {**dict.fromkeys(results, 32), **({"k": 4} if name == "matmul" else {})}
    kernel = tensor_kernel(name)
    space = kernel_space(kernel.program(sizes, tiles).stages[0], CPU)
    store = next(o for o in space.objects.operations if o.operator is Operator.STORE)
    rows = max(store.loops[: len(store.loops) // 2])
    assert ("VECTOR" in space.root().values("dim_kind", rows)) is is_open


def test_sums_in_two_directions_read_a_matrix_in_line() -> None:
    """A vector that is added to one of them, and stored, does not turn its lanes: both go along the rows of the matrix."""
    (backbone,) = sharing_passes(KERNELS["mvt"].program({"n": 64}, cpu_tiles), cpu_tiles).stages
    space = alone(backbone)
    for way in range(space.ways):
        nest = first(space, space.usually(space.root(), lambda _: False, way))
        products = [around for s, around in statements(nest.body) if isinstance(s, Compute) and s.operator is Operator.FMA]
        assert [[x.name[0] for x in around if x.kind is Kind.VECTOR] for around in products] == [["j"], ["j"]]


def test_sums_take_rows_one_by_one_and_the_last_pass_takes_them_together() -> None:
    space = kernel_space(stage_of(KERNELS["softmax"], {"rows": 64, "columns": 256}), CPU)
    nest = first(space, space.usually(space.root(), lambda _: False))
    verify(nest)
    found = {s.operator: around for s, around in statements(nest.body) if isinstance(s, Compute)}
    rows = {o: [x.kind for x in found[o] if x.name == "r1"] for o in (Operator.MAX, Operator.EXP, Operator.ADD, Operator.DIV)}
    assert list(rows.values()) == [[Kind.LOOP], [Kind.LOOP], [Kind.LOOP], [Kind.UNROLL]]


@pytest.mark.parametrize(("size", "rows", "vectors"), [(128, 16, 1), (1024, 8, 2)])
def test_tiles_of_small_symmetric_sums_are_square(size: int, rows: int, vectors: int) -> None:
    """Where few tiles make up the half, more of it lies beyond the diagonal."""
    wide = replace(CPU, vector_lanes=(16,), registers=32)
    space = kernel_space(stage_of(KERNELS["syrk"], {"n": size, "k": 16}), wide)
    sizes = {space.names.text(c, a): v for c, a, v in core_habits(space.objects, wide)[0] if c == "size"}
    assert (sizes["size(i2)"], sizes["size(j2)"]) == (str(rows), str(vectors))


@pytest.mark.parametrize(("registers", "lanes"), [(16, 8), (32, 16)])
def test_factors_of_halved_sums_that_lie_in_line_are_turned_as_they_are_copied(registers: int, lanes: int) -> None:
    space = alone(stage_of(KERNELS["syrk"], {"n": 192, "k": 64}), cpu(4 * lanes, registers))
    nest = first(space, space.usually(space.root(), lambda _: False))
    text = c_source(nest).text
    assert all(f"store_columns_f32x{lanes}_4({copy} + " in text for copy in ("tmp_load_A", "tmp_load_A2"))
    verify(nest)


@pytest.mark.parametrize(("registers", "steps"), [(16, {"1"}), (32, set[str]())])
def test_no_two_steps_of_a_halved_sum_begin_together_where_registers_are_few(registers: int, steps: set[str]) -> None:
    """The sum is one loop there; elsewhere its levels are open."""
    space = alone(stage_of(KERNELS["covariance"], {"n": 96, "m": 96}, 2), cpu(2 * registers, registers))
    sizes = {v for c, a, v in core_habits(space.objects, space.target)[0] if space.names.text(c, a).startswith("size(k")}
    assert sizes == steps
