"""`bench schedule`: names, lines, tables on the upper levels of small trees, peers that compute what the kernels do."""

from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.tools.contract import check, lines_of

from warploom.core import UserError
from warploom.gpu import device_available
from warploom.kernels import suites
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import cpu_tiles
from warploom.schedule.cpu import find_compiler
from warploom.schedule.targets import target
from warploom.tools.bench import schedule as schedule_bench
from warploom.tools.bench import schedule_cpu, schedule_gpu, schedule_tables
from warploom.tools.bench.schedule_names import (
    CPU_BARRED,
    CPU_NAMES,
    GPU_NAMES,
    NETWORKS,
    POLYBENCH,
    SEARCH_NAMES,
    SPACES,
    SUITE_NAMES,
    SUITE_SIZES,
    TABLE_NAMES,
)
from warploom.tools.bench.schedule_peers import NUMPY
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.options import KernelOptions

SMALL: dict[str, dict[str, int]] = {
    "matmul_bf16": {"m": 5, "n": 6, "k": 7},
    "matmul": {"m": 5, "n": 7, "k": 3},
    "matmul_strided": {"m": 5, "n": 7, "k": 3},
    "matmul_batched": {"b": 3, "m": 5, "n": 7, "k": 3},
    "matvec": {"m": 5, "n": 7},
    "gesummv": {"n": 6},
    "atax": {"m": 5, "n": 7},
    "dot": {"n": 9},
    "axpy": {"n": 9},
    "stencil3d": {"d": 3, "h": 4, "w": 5},
    "softmax": {"rows": 3, "columns": 5},
    "layer_norm": {"rows": 3, "columns": 5},
    "conv2d": {"c": 2, "o": 3, "h": 4, "w": 5, "r": 3, "s": 3},
}


def silent(text: str) -> None:
    del text


def measured(name: str, budget_s: float | None = None) -> dict[str, Any]:
    line = schedule_bench.measure(name, budget_s, 1, 0, Stopwatch(), silent)
    check(line)
    assert schedule_bench.columns(line)["seconds"]
    return line


def test_names() -> None:
    assert schedule_bench.select("table2/*") == (*(f"table2/{name}" for name in SPACES), "table2/root-axpy")
    assert schedule_bench.select("nothing") == ()
    groups = TABLE_NAMES, SEARCH_NAMES, CPU_NAMES, SUITE_NAMES, GPU_NAMES
    assert len(set(schedule_bench.NAMES)) == sum(len(names) for names in groups)
    assert (len(schedule_bench.select("polybench/*")), len(schedule_bench.select("nn/*"))) == (45, 30)
    assert (set(suites.POLYBENCH), set(suites.NETWORKS)) == (set(POLYBENCH), set(NETWORKS))
    assert all(tuple(k.sizes) == SUITE_SIZES for k in (*suites.POLYBENCH.values(), *suites.NETWORKS.values()))
    assert set(SPACES) == set(schedule_tables.PUBLISHED)
    assert {f"cpu/{name}" for name in schedule_cpu.CASES} | {"cpu/seeds"} == set(CPU_NAMES)
    assert {f"gpu/{name}" for name in schedule_gpu.CASES} == set(GPU_NAMES)
    assert {name for name, case in schedule_cpu.CASES.items() if case.bar is not None} == set(CPU_BARRED)
    with pytest.raises(UserError, match="expected a case such as table2/axpy, got 'table9/x'"):
        measured("table9/x")


def test_cases_run_in_time() -> None:
    case = schedule_bench.schedule_case("cpu/seeds", 10.0, 2, 3)
    assert case.arguments == ("bench-schedule", "cpu/seeds", "--threads", "2", "--seed", "3", "--budget", "10.0s")
    assert case.limit_s == 360.0
    assert schedule_bench.schedule_case("cpu/matvec", None, 1, 0).limit_s == 420.0
    several = schedule_bench.schedule_case("nn/gelu-small", 10.0, 1, 0, 4)
    assert (several.arguments[-2:], several.limit_s) == (("--seeds", "4"), 380.0)


def test_root_of_axpy() -> None:
    line = measured("table2/root-axpy")
    assert line["as_expected"] is True
    assert 5.97 <= line["root_bound_ms"] <= 7.05


def test_upper_levels_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_tables, "DEPTH", 4)
    monkeypatch.setattr(schedule_tables, "_SAMPLE", 4)
    line = measured("table3/axpy", 2.0)
    assert (line["verdict"], line["is_counted"], line["depth"]) == ("tested", True, 4)
    assert line["kept"] < line["nodes"] < line["cases"] < 1000
    assert line["space_size_cut"] > 1e6


def test_upper_levels_are_estimated_where_the_budget_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_tables, "DEPTH", 4)
    monkeypatch.setattr(schedule_tables, "_LEAST", 25)
    line = measured("table3/axpy", 1e-3)
    assert (line["verdict"], line["is_counted"]) == ("unchecked", False)
    assert "the budget ended the enumeration" in line["note"]
    assert line["nodes"] > 0


def test_staged_matmul_descends_ten_levels() -> None:
    model = schedule_tables.model_of(schedule_tables.PUBLISHED["matmul-1024"].space)
    staged = schedule_tables.staged_root(model)
    statements = staged.candidate.instance.member_positions("Statements").size
    assert sum(staged.candidate.is_member("Statements", n) for n in range(statements)) == 59


@pytest.mark.parametrize("name", NUMPY)
def test_peers_compute_what_the_kernel_does(name: str) -> None:
    kernel = tensor_kernel(name)
    inputs = kernel.arrays(SMALL[name])
    expected = kernel.reference(inputs)
    arrays = dict(inputs)
    for region in kernel.program(SMALL[name]).arguments:
        arrays.setdefault(region.name, np.zeros(region.shape, np.float32))
    for peer in NUMPY[name].values():
        for output in expected:
            arrays[output][...] = 9.0
        peer(arrays, kernel.parameters)
        for output, wanted in expected.items():
            np.testing.assert_allclose(arrays[output], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("framework", ["numba", "torch"])
@pytest.mark.parametrize(
    "name", ["gesummv", *(pytest.param(n, marks=pytest.mark.slow) for n in (*POLYBENCH, *NETWORKS) if n != "gesummv")]
)
def test_frameworks_compute_what_the_kernel_does(name: str, framework: str) -> None:
    pytest.importorskip(framework)
    kernel = (suites.POLYBENCH | suites.NETWORKS)[name].kernel
    sizes = {size: 5 + n for n, size in enumerate(kernel.sizes)}
    inputs = kernel.arrays(sizes)
    arrays = dict(inputs)
    for region in kernel.program(sizes).arguments:
        arrays.setdefault(region.name, np.zeros(region.shape, np.float32))
    expected = kernel.reference(inputs)
    if framework == "numba":
        from warploom.tools.bench.schedule_numba import in_numba

        in_numba(name, arrays, {p.name: np.float32(kernel.parameters[p.name]) for p in kernel.function.parameters}, 1)[1]()
        found = [arrays[output] for output in expected]
    else:
        from warploom.tools.bench.schedule_torch import in_torch

        found = [made.numpy() for made in in_torch(name, arrays, kernel.parameters, 1)[1]()]
    for array, wanted in zip(found, expected.values(), strict=True):
        np.testing.assert_allclose(array.reshape(wanted.shape), wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
def test_plain_loops_that_a_search_ends_with_are_timed_as_they_were_checked() -> None:
    kernel = suites.NETWORKS["max_pool"].kernel
    options = KernelOptions(target=target("cpu"), sizes={"c": 1, "h": 2, "w": 8}, threads=1)
    arrays = {"X": np.full((1, 4, 16), 1.0, np.float32), "Y": np.zeros((1, 2, 8), np.float32)}
    arrays["X"][0, ::2, ::2] = np.nan
    schedule_cpu._found({"kind": "plain"}, kernel.program(options.sizes, cpu_tiles), options, arrays, {})()
    assert np.isnan(arrays["Y"]).all()


def test_a_race_has_a_peer_where_all_are_hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_cpu, "_SPIN_S", 0.0)
    times = schedule_cpu.race({"ours": lambda: 0.01, "slow": lambda: 0.5, "slower": lambda: 0.9})
    assert len(times["slow"].rounds) == len(times["ours"].rounds) > len(times["slower"].rounds)


def test_races_leave_out_the_hopeless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_cpu, "_SPIN_S", 0.0)
    taken = {"ours": 0.2, "peer": 0.1, "slow": 0.9}
    times = schedule_cpu.race({name: lambda s=s: s for name, s in taken.items()})
    assert len(times["slow"].rounds) == 1 and np.isfinite(times["slow"].cpu_ms)
    assert len(times["ours"].rounds) == len(times["peer"].rounds) >= 9
    assert schedule_cpu.ratio(times["ours"], times["peer"]) == pytest.approx(2.0)


def test_a_peer_whose_first_runs_are_slow_races(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_cpu, "_SPIN_S", 0.0)
    cold = iter((0.9, 0.9, 0.9))
    times = schedule_cpu.race({"ours": lambda: 0.2, "warm": lambda: 0.3, "cold": lambda: next(cold, 0.1)})
    assert len(times["cold"].rounds) == len(times["ours"].rounds) >= 9


@pytest.mark.slow
def test_winners_of_several_seeds_are_timed_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_cpu, "_RACE_S", 0.1)
    line: dict[str, Any] = schedule_bench.measure("polybench/mvt-small", 0.5, 1, 4, Stopwatch(), silent, seeds=2)
    check(line)
    assert (line["case"], list(line["times_ms"])) == ("polybench/mvt-small", ["4", "5"])
    assert line["as_expected"] is (line["worst_over_best"] <= schedule_cpu.SEEDS_RATIO)
    assert line["worst_over_best"] >= 1.0


def test_seeds_of_other_cases_are_refused() -> None:
    with pytest.raises(UserError, match=r"expected a kernel for the CPU .* with --seeds, got 'table2/axpy'"):
        schedule_bench.measure("table2/axpy", None, 1, 0, Stopwatch(), silent, seeds=2)


@pytest.mark.skipif(device_available(), reason="there is a GPU")
def test_without_a_gpu() -> None:
    result = CliRunner().invoke(schedule_bench.schedule_case_command, ["gpu/matmul-1024"])
    (line,) = lines_of(result.stdout)
    assert (line["status"], line["as_expected"], result.exit_code) == ("unknown", None, 3)
    assert line["reason"] == "no CUDA device on this machine"
