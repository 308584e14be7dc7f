"""How many parts a reduction has is a decision: offered, fixed, recorded, replayed; wrong kernels in parts are refused."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from tests.schedule.online.test_rewrite import attention, log_sum_exp

import warploom as wl
from warploom.api.exploring import Explored
from warploom.core import UserError
from warploom.gpu import machine_counts, toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.choices import Features
from warploom.schedule.cuda import Options, compile_kernel, cuda_kernel, interpret
from warploom.schedule.cuda.run import with_outputs
from warploom.schedule.targets import target
from warploom.tools.command.lines import broken_rules
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore import proof as proof_module
from warploom.tools.explore.choices import list_choices
from warploom.tools.explore.data import data_of
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.parting import Parting, parting_of, with_parts
from warploom.tools.explore.proof import Proof, proof_of, prove_kernel
from warploom.tools.explore.replay import replay_file
from warploom.tools.explore.shortened import nests_at, program_at, shortened

SIZES = {"m": 4, "n": 8, "k": 128}
needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


def options(fixed: Mapping[str, str] | None = None, **given: object) -> KernelOptions:
    asked = KernelOptions(target=target("sm_90"), sizes=SIZES | {"k": 512}, fixed=fixed or {})
    return replace(asked, **given)  # pyright: ignore


def values(name: str = "matmul", fixed: Mapping[str, str] | None = None, **given: object) -> list[int]:
    return list(parting_of(tensor_kernel(name), options(fixed, **given)).variants)


def test_the_numbers_of_parts() -> None:
    assert values() == [1, 2, 4, 8]
    assert values(sizes=SIZES) == [1, 2]
    assert values(sizes=SIZES | {"k": 64 * 3}) == [1, 2]
    assert values(sizes=SIZES | {"k": 1 << 20}) == [1, 2, 4, 8, 16, 32, 64]
    for name in ("matmul_f16", "matmul_bf16", "matmul_tf32", "matmul_i8", "matmul_e4m3", "matmul_f64"):
        assert values(name, target=target("sm_89")) == [1, 2, 4, 8]


def test_programs_without_the_decision() -> None:
    assert values(sizes=SIZES | {"k": 127}) == [1]
    assert values(run_time={"m": 1}) == [1]
    assert values(features=Features.paper()) == [1]
    assert values(target=target("k4000"), features=None) == [1, 2, 4, 8]
    on, kernel = options(), tensor_kernel("matvec")
    assert list(parting_of(kernel, replace(on, sizes={"m": 4096, "n": 1 << 20})).variants) == [1]
    assert parting_of(kernel, replace(on, sizes={"m": 4096, "n": 512})).decided(1) == {}


def test_the_numbers_of_parts_of_other_reductions() -> None:
    """Numbers that fill the GPU first, whole parts of 1024 elements where that leaves little behind them."""

    def tried(name: str, **sizes: int) -> list[int]:
        return values(name, sizes=sizes)

    assert tried("dot", n=1 << 26) == [1024, 1, 256, 4096]
    assert tried("dot", n=1 << 12) == [4, 1]
    assert tried("dot", n=1 << 9) == [1]
    assert tried("layer_norm", rows=8, columns=1 << 20) == [128, 1, 32, 512]
    assert tried("layer_norm", rows=4096, columns=1 << 20) == [1]
    assert tried("matvec_t", m=1 << 20, n=64)[0] > 512
    kernel = tensor_kernel("dot")
    for n in (100_000_007, 67_108_863, 1_000_000):
        found = parting_of(kernel, options(sizes={"n": n})).variants
        behind = {parts: v.function.rest for parts, v in found.items() if isinstance(v.function, InParts)}
        assert all(0 <= rest <= 4096 and (n - rest) % parts == 0 for parts, rest in behind.items()) and len(behind) >= 2
    assert values("dot", {"parts(n)": "37"}, sizes={"n": 1 << 16}) == [37]
    for wrong in ("0", "1025", "x"):
        with pytest.raises(UserError, match=r"or another number up to 1024 as parts\(n\), got"):
            values("dot", {"parts(n)": wrong}, sizes={"n": 1 << 16})


def test_decisions_by_hand() -> None:
    assert values(fixed={"parts(k)": "4"}) == [4]
    assert values(fixed={"parts(k)": "1|8"}) == [1, 8]
    assert values(fixed={"size(m1)": "8"}) == [1]
    assert values(fixed={"matmul_C_parts/size(m1)": "8"}) == [2, 4, 8]
    assert values(fixed={"matmul_C_parts/size(m1)": "8", "parts(k)": "1|2"}) == [2]
    assert parting_of(tensor_kernel("matmul"), options({"size(m1)": "8", "parts(k)": "1"})).first.fixed == {"size(m1)": "8"}
    with pytest.raises(UserError, match=r"expected one of 1, 2, 4, 8 as parts\(k\), got 3"):
        values(fixed={"parts(k)": "3"})


def test_the_list_of_choices_has_it() -> None:
    found = list_choices("matmul", tensor_kernel("matmul"), options(sizes=SIZES), Stopwatch()).line["choices"]
    assert found["parts(k)"] == ["1", "2"]  # pyright: ignore
    assert "size(k1)" in found  # pyright: ignore


def test_recorded_decisions() -> None:
    kernel = tensor_kernel("matmul")
    assert with_parts(kernel, options(), {"size(m1)": "8"}) == (kernel, {"parts(k)": "1"}, {"size(m1)": "8"})
    assert with_parts(kernel, options(), {"parts(k)": "1", "a": "b"}) == (kernel, {"parts(k)": "1"}, {"a": "b"})
    assert with_parts(kernel, options(), {"parts(k)": "4"}) == (InParts(kernel, 4, "k"), {"parts(k)": "4"}, {})
    assert with_parts(tensor_kernel("axpy"), replace(options(), sizes={"n": 64}), {"a": "b"})[1] == {}
    with pytest.raises(UserError, match=r"expected one of 1, 2, 4, 8 as parts\(k\), got 16"):
        with_parts(kernel, options(), {"parts(k)": "16"})


def test_the_reference_knows_no_parts() -> None:
    function = InParts(tensor_kernel("matmul"), 2, "k")
    data = data_of(function, function.program(SIZES), SIZES, 0)
    assert data.inputs["A"].shape == (4, 128) and set(data.outputs) == {"C"} and data.reference == "NumPy"
    own = InParts(tensor_kernel("matmul").function, 2, "k")
    data = data_of(own, own.program(SIZES), SIZES, 0)
    assert set(data.outputs) == {"C"} and data.reference == "evaluation"


@pytest.fixture(scope="module")
def found() -> Explored:
    return wl.explore("matmul", sizes=SIZES, target="sm_90", nodes=30, budget_s=600, fixed={"parts(k)": "2"})


@needs_compiler
def test_two_kernels_are_proved_together(found: Explored, tmp_path: Path) -> None:
    line = found.line
    assert not broken_rules(line)
    assert (line["verdict"], line["sizes"]) == ("proved", SIZES)
    assert found.decisions["parts(k)"] == "2" and "matmul_C_parts/dim_kind(mad.k0)" in found.decisions
    assert "2 kernels, to be called in this order" in found.code
    assert "float C_parts[2][4][8]  output, for the next kernel" in found.code
    assert "const float A[4][128]  input" in found.code
    assert line["gflops"] == pytest.approx(2 * 4 * 8 * 128 / (line["time_ms"] * 1e6), abs=2e-3)  # pyright: ignore
    file = tmp_path / "line.jsonl"
    file.write_text(json.dumps(line), encoding="utf-8")
    asked = KernelOptions(target=target("sm_90"), sizes=SIZES, proof_budget_s=0.01)
    again = replay_file("matmul", tensor_kernel("matmul"), asked, file, Stopwatch(), lambda _: None).line
    assert (again["decisions"], again["time_ms"], again["gflops"]) == (line["decisions"], line["time_ms"], line["gflops"])


@needs_compiler
@pytest.mark.parametrize(
    ("kernel", "mistake"),
    [
        (0, "A = A + 1;"),
        (0, "B = B + 8 * (blockIdx.x == 0);"),
        (0, "C_parts = C_parts + 1;"),
        (0, "if (threadIdx.x == 0) return;"),
        (1, "C_parts = C_parts + 32;"),
        (1, "C = C + 1;"),
        (1, "if (threadIdx.x == 0) return;"),
    ],
)  # fmt: skip
def test_mistakes_in_either_kernel_are_not_proved(found: Explored, kernel: int, mistake: str) -> None:
    made = found.implementations
    assert made is not None
    stage, nest = made.program.stages[kernel], made.implementations[kernel].nest
    printed = cuda_kernel(nest, Options(arch="sm_90"))
    head, brace, body = printed.text.partition("{")
    assert prove_kernel(stage, replace(printed, text=f"{head}{brace}\n    {mistake}{body}")).verdict == "refuted"


@needs_compiler
def test_kernels_that_are_not_the_sum_together_are_not_proved(found: Explored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the split is wrong: both kernels do what their stages say."""
    made = found.implementations
    assert made is not None
    function = InParts(tensor_kernel("matmul"), 2, "k")
    monkeypatch.setattr(proof_module, "_proof_of", lambda *_: Proof("proved", SIZES, "real sums"))
    asked = (SIZES, made.program, made.implementations, target("sm_90"))
    assert proof_of(function, *asked).verdict == "proved"
    monkeypatch.setattr(proof_module, "_proof_of", lambda *_: Proof("proved", SIZES, "elements moved unchanged"))
    assert proof_of(function, *asked).domain == "real sums reordered"
    assert InParts(tensor_kernel("matmul_i8"), 2, "k").domain == "int32 wrap"
    assert proof_of(InParts(tensor_kernel("matmul_nt"), 2, "k"), *asked).verdict == "unchecked"
    monkeypatch.setattr(proof_module, "_proof_of", lambda *_: Proof("unchecked", reason="late"))
    assert proof_of(function, *asked).reason == "late"
    whole = replace(made.program, stages=made.program.stages[:1])
    monkeypatch.setattr(proof_module, "_proof_of", lambda *_: Proof("proved", SIZES, "real sums"))
    assert (
        "nothing of the same type is stored to C"
        in proof_of(function, SIZES, whole, made.implementations, target("sm_90")).reason
    )


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize(("arch", "peak"), [("sm_120", 126_095), ("sm_90", 66_908)])
def test_a_large_product(arch: str, peak: int) -> None:
    """By the model 0.45 of the peak; machine code without spills, with 16 FFMA for each `LDS.128`; full sectors, and no bank
    conflict: no request of a warp takes more wavefronts than lanes that ask for different banks would."""
    kernel, sizes = tensor_kernel("matmul"), {"m": 1024, "n": 1024, "k": 1024}
    found = wl.explore(kernel.function, sizes=sizes, target=arch, nodes=600, budget_s=600)
    made, parts = found.implementations, int(str(found.decisions["parts(k)"]))
    assert made is not None and parts > 1
    assert found.line["verdict"] == "proved" and found.line["gflops"] > 0.45 * peak  # pyright: ignore
    whole = [cuda_kernel(nest, Options(arch=arch)) for nest in made.nests]
    for printed in whole:
        compiled = compile_kernel(printed)
        assert compiled.spill_bytes == 0
        opcodes = machine_counts(compiled.cubin)[printed.name].opcodes
        loads = opcodes.get("LDS.128", 0)
        assert sum(n for name, n in opcodes.items() if name.startswith("FFMA")) >= 16 * loads
    function, pairs = InParts(kernel, parts, "k"), list(zip(made.program.stages, made.implementations, strict=True))
    small, program = program_at(function, sizes, made.program, [shortened(stage, i, 2, 2) for stage, i in pairs])
    arrays = dict(data_of(function, program, small, 0).inputs)
    for nest in nests_at(program, made.implementations, target(arch)):
        printed = cuda_kernel(nest, Options(arch=arch))
        outcome = interpret(printed, with_outputs([printed], arrays), counts=True)
        arrays |= outcome.arrays
        assert outcome.counts is not None and not outcome.findings
        for line in outcome.counts.by_line.values():
            assert line.sectors == line.least_sectors
            bytes_each = line.shared[0].bytes_each if line.shared else 0  # 32 banks of 4 bytes serve 128 bytes at a time
            assert line.wavefronts <= line.requests * max(1, 32 * bytes_each // 128)


def passes_of(fixed: dict[str, str]) -> Parting:
    return parting_of(log_sum_exp, KernelOptions(target=target("sm_90"), sizes={"n": 2, "m": 64}, fixed=fixed))


def test_one_pass_and_two_are_asked_about() -> None:
    """Two first, and the widest tile, of rows that read nothing alike."""
    found = passes_of({})
    assert [found.told(tile) for tile in found.variants] == ["NO", "32"]
    assert [v.program.stages[0].rewritten is None for v in found.variants.values()] == [True, False]
    of_many = KernelOptions(target=target("sm_90"), sizes={"n": 4096, "m": 4096})
    assert list(parting_of(log_sum_exp, of_many).variants) == [0, 128]
    of_keys = KernelOptions(target=target("sm_90"), sizes={"n": 4096, "m": 64, "d": 8})
    assert list(parting_of(attention, of_keys).variants) == [32, 0]
    assert (found.field, found.decided(32)) == ("online", {})
    assert list(passes_of({"online": "16 | NO|8"}).variants) == [16, 0, 8]
    assert list(passes_of({"online": "16"}).variants) == [1]
    assert list(passes_of({"size(n0)": "2"}).variants) == [1]
    with pytest.raises(UserError, match="expected NO or a tile"):
        passes_of({"online": "16|7"})
