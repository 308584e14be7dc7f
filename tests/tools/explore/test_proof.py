"""The PTX of printed kernels is proved against the tensor function's mathematics; planted bugs are refuted."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.schedule.cuda import nests
from tests.tools.explore.test_check import implementation

from warploom.core import f32
from warploom.core.linear import Linear
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, Operator, cuda_tiles
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.schedule.frontend import exp, out, sin, tensor
from warploom.schedule.nest import Combine, Compute, Guard, Kind, Load, Loop, Memory, Nest, Ref, Store
from warploom.schedule.targets import target
from warploom.synth.compiled import CompiledProof
from warploom.tools.command.lines import broken_rules
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore import check
from warploom.tools.explore import proof as proof_module
from warploom.tools.explore.budget import CpuBudget, Limit, OutOfTimeError, WallLimit
from warploom.tools.explore.check import Checked
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.proof import Proof, kinds_of_blocks, least_work, parallel_threads, proof_of, prove_kernel
from warploom.tools.explore.result import Explored, judged_line

needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


@tensor
def softmax(x: f32["rows", "columns"], y: out[f32["rows", "columns"]]):
    top[r] = max(x[r, c], over=c)
    e[r, c] = exp(x[r, c] - top[r])
    total[r] = sum(e[r, c], over=c)
    y[r, c] = e[r, c] / total[r]


@tensor
def row_sum(x: f32["rows", "columns"], y: out[f32["rows"]]):
    y[r] = sum(x[r, c], over=c)


def matmul(**options: object) -> tuple[Backbone, CudaKernel]:
    case = nests.matmul(16, 16, 16, (16, 16, 4), **options)  # pyright: ignore
    stage = tensor_kernel("matmul").program({"m": 16, "n": 16, "k": 16}).stages[0]
    return stage, cuda_kernel(case.nest, Options(arch="sm_90"))


def row_sum_with_edges() -> tuple[Backbone, CudaKernel]:
    stage = row_sum.program({"rows": 4, "columns": 10}).stages[0]
    return stage, cuda_kernel(nests.row_sum(4, 10, 4, 2, 2).nest, Options(arch="sm_90"))


def planted(made: tuple[Backbone, CudaKernel], right: str, wrong: str) -> CompiledProof:
    """The proof of a kernel with another text in its last such place."""
    stage, kernel = made
    assert right in kernel.text, kernel.text
    return prove_kernel(stage, replace(kernel, text=wrong.join(kernel.text.rsplit(right, 1))))


@needs_compiler
@pytest.mark.parametrize("options", [{}, {"stages": 2, "is_async": True}], ids=["plain", "copied ahead"])
def test_tiles_in_shared_memory_are_proved(options: dict[str, object]) -> None:
    proof = prove_kernel(*matmul(**options))
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert "real sums reordered" in proof.domain


@needs_compiler
def test_edges_are_proved() -> None:
    assert prove_kernel(*row_sum_with_edges()).verdict == "proved"


@needs_compiler
def test_softmax_is_proved_with_the_laws_of_exp_named() -> None:
    proof = prove_kernel(*softmax_of_threads())
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert "finite" in proof.domain and "exp(x) as ex2" in proof.domain and "ex2.approx" in proof.domain


@tensor
def sines(x: f32["n"], y: out[f32["n"]]):
    y[i] = sin(x[i])


def each_element(operator: Operator) -> tuple[Backbone, CudaKernel]:
    """`y = operator(x)` printed, beside the mathematics of a sine."""
    b = nests.Builder("each_element")
    x, y, value = b.array("x", 32), b.array("y", 32, nests.Role.OUTPUT), nests.Ref(b.value("v"), ())

    def thread(t: int) -> list[nests.Node]:
        place = nests.index((t, 1))
        return [
            nests.Load(value, nests.Memory(x, place)),
            nests.Compute(value, operator, (value,)),
            nests.Store(nests.Memory(y, place), value),
        ]

    stage = sines.program({"n": 32}).stages[0]
    return stage, cuda_kernel(b.nest(b.threads(32, thread)), Options(arch="sm_90"))


@needs_compiler
def test_a_function_is_proved_to_be_the_one_that_was_written() -> None:
    proof = prove_kernel(*each_element(Operator.SIN))
    assert (proof.verdict, proof.reason) == ("proved", "") and "sin.approx" in proof.domain
    assert prove_kernel(*each_element(Operator.SQRT)).verdict != "proved"


def softmax_of_threads() -> tuple[Backbone, CudaKernel]:
    stage = softmax.program({"rows": 2, "columns": 8}).stages[0]
    return stage, cuda_kernel(nests.softmax(2, 8, 4).nest, Options(arch="sm_90"))


BUGS = {
    "no barrier after the tiles are used": ("    __syncthreads();\n    }", "    }", matmul),
    "no barrier before the tiles are used": ("__syncthreads();\n        #pragma", "#pragma", matmul),
    "a neighbour's element": ("kk * 16 + u]", "kk * 16 + (u ^ 1)]", matmul),
    "a round too few": ("k < 4", "k < 3", matmul),
    "a round too many": ("k < 4", "k < 5", matmul),
    "an output one element on": ("u * 16 + u_2]", "u * 16 + u_2 + 1]", matmul),
    "copies that nothing awaits": ("await_copies<0>", "await_copies<1>", lambda: matmul(stages=2, is_async=True)),
    "one copy for all rounds": ("(k + 1) % 2 * 64", "0", lambda: matmul(stages=2, is_async=True)),
    "an edge past the row": ("index_step < 10", "index_step < 11", row_sum_with_edges),
    "an edge before the row's end": ("index_step < 10", "index_step < 8", row_sum_with_edges),
    "threads that are not summed": ("total += __shfl_xor_sync(0x000000ffu, total, 1);", "", row_sum_with_edges),
}  # fmt: skip


@needs_compiler
@pytest.mark.parametrize("name", list(BUGS))
def test_planted_bugs_are_refuted(name: str) -> None:
    right, wrong, made = BUGS[name]
    assert planted(made(), right, wrong).verdict == "refuted"


@needs_compiler
def test_a_difference_under_exp_is_not_proved() -> None:
    exchange = "highest = max_or_nan(highest, __shfl_xor_sync(0x0000000fu, highest, 1));"
    proof = planted(softmax_of_threads(), exchange, "")
    assert proof.verdict == "unchecked" and "no law makes these equal" in proof.reason


def told(checked: Checked) -> dict[str, object]:
    stage = tensor_kernel("axpy").program({"n": 64}, cuda_tiles)
    options = KernelOptions(target=target("sm_90"))
    return judged_line("axpy", checked, None, (), {"sizes": {"n": 64}}, Explored(stage, ()), options, Stopwatch())


@pytest.mark.parametrize(
    ("proof", "status", "verdict", "proved_at"),
    [
        (Proof("proved", {"n": 64}, "real sums"), "solved", "proved", None),
        (Proof("proved", {"n": 32}, "real sums"), "solved", "tested", {"n": 32}),
        (Proof("unchecked", reason="too large"), "solved", "tested", None),
        (Proof("refuted", {"n": 32}, reason="y[0] differs"), "error", "unchecked", None),
    ],
)
def test_lines_say_what_is_proved(proof: Proof, status: str, verdict: str, proved_at: object) -> None:
    line = told(Checked("tested", 64, proof=proof))
    assert not broken_rules(line)
    assert (line["status"], line["verdict"], line.get("proved_at")) == (status, verdict, proved_at)
    assert line["proof"] == proof.line
    assert ("domain" in line) == (verdict == "proved")


def test_what_no_check_compared_is_not_proved() -> None:
    line = told(Checked("unchecked", 0, "too large", proof=Proof("proved", {"n": 64}, "real sums")))
    assert line["verdict"] == "unchecked" and line["proved_at"] == {"n": 64}


def test_what_no_size_is_small_enough_to_test_is_proved_at_the_size_asked_for() -> None:
    def line(**sizes: int) -> dict[str, object]:
        return dict(told(Checked("unchecked", 0, "too large", has_no_size=True, proof=Proof("proved", sizes, "real sums"))))

    assert line(n=64)["verdict"] == "proved" and not broken_rules(line(n=64))
    assert line(n=32)["verdict"] == "unchecked" and line(n=32)["proved_at"] == {"n": 32}


@pytest.mark.parametrize("error", [KeyboardInterrupt, OutOfTimeError, MemoryError])
def test_what_ends_a_proof_leaves_the_result(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(*_: object) -> Proof:
        raise error

    monkeypatch.setattr(check, "proof_of", ends)
    kernel = tensor_kernel("axpy")
    found = check.proved(kernel, {"n": 64}, kernel.program({"n": 64}), (), target("sm_90"), CpuBudget(60.0))
    assert found.verdict == "unchecked" and found.reason and found.is_interrupted == (error is KeyboardInterrupt)


@needs_compiler
@pytest.mark.parametrize("limit", [CpuBudget(600.0), WallLimit(600.0), None])
@pytest.mark.parametrize(("error", "told"), [(OutOfTimeError, "budget"), (MemoryError, "memory")])
def test_a_small_size_is_proved_where_the_one_asked_for_takes_too_much(
    error: type[BaseException], told: str, limit: Limit | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ends(*_: object) -> Proof:
        raise error

    monkeypatch.setattr(proof_module, "prove_kernels", ends)
    kernel, sizes = tensor_kernel("axpy"), {"n": 1 << 20}
    program = kernel.program(sizes, cuda_tiles)
    found = proof_of(kernel, sizes, program, [implementation("axpy", 0)], target("sm_90"), limit=limit)
    assert found.verdict == "proved" and found.sizes != sizes and told in found.reason


@needs_compiler
def test_no_small_size_is_begun_where_the_whole_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def ends(*_: object) -> Proof:
        raise OutOfTimeError

    monkeypatch.setattr(proof_module, "prove_kernels", ends)
    monkeypatch.setattr(proof_module, "prove_nests", lambda *_: Proof("proved"))
    kernel, sizes = tensor_kernel("axpy"), {"n": 1 << 20}
    asked = (kernel, sizes, kernel.program(sizes, cuda_tiles), [implementation("axpy", 0)], target("sm_90"))
    assert proof_of(*asked, limit=WallLimit(600.0)).verdict == "proved"
    with pytest.raises(OutOfTimeError):
        proof_of(*asked, limit=_Spent())


class _Spent(WallLimit):
    """A time that is over, though no signal says so."""

    def __init__(self) -> None:
        super().__init__(0.0)

    @contextmanager
    def watched(self) -> Generator[None]:
        yield

    def part(self, share: float) -> WallLimit:
        return self


@needs_compiler
def test_sizes_asked_for_are_proved_where_they_are_small() -> None:
    kernel, sizes = tensor_kernel("axpy"), {"n": 256}
    program = kernel.program(sizes, cuda_tiles)
    found = implementation("axpy", 0, sizes)
    small = proof_of(kernel, sizes, program, [found], target("sm_90"))
    assert (small.verdict, small.sizes) == ("proved", sizes)


@needs_compiler
def test_what_one_block_does_not_tell_is_proved_at_a_small_size(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, sizes = tensor_kernel("axpy"), {"n": 1 << 20}
    refused = CompiledProof("unchecked", "", "blocks that differ")
    monkeypatch.setattr(proof_module, "prove_blocks", lambda *_: refused)
    found = proof_of(kernel, sizes, kernel.program(sizes, cuda_tiles), [implementation("axpy", 0)], target("sm_90"))
    assert found.verdict == "proved" and 0 < found.sizes["n"] < 1 << 20
    assert "blocks that differ" in found.reason and found.seconds > 0


@needs_compiler
def test_blocks_that_are_too_large_are_proved_at_a_small_size(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, sizes = tensor_kernel("axpy"), {"n": 1 << 20}
    asked = (kernel, sizes, kernel.program(sizes, cuda_tiles), [implementation("axpy", 0)], target("sm_90"))
    refused, prove_blocks = CompiledProof("unchecked", "", "threads that share memory"), proof_module.prove_blocks
    monkeypatch.setattr(proof_module, "prove_blocks", lambda *of: refused if of[-1] is None else prove_blocks(*of))
    monkeypatch.setattr(proof_module, "MOST_OF_BLOCK", 1)
    assert "a block does about" in proof_of(*asked).reason
    assert (longer := proof_of(*asked, 1 << 20)).reason == "" and dict(longer.sizes) == sizes


def test_threads_along_a_sum_that_only_copy_may_compute_alike() -> None:
    """And a proof's work is that of one thread's arithmetic, and of all threads' words."""
    stage = tensor_kernel("matmul").program({"m": 16, "n": 16, "k": 16}).stages[0]
    at = Ref(0, ())
    load, compute = Load(at, Memory(0, Linear(0))), Compute(at, Operator.FMA, (at, at, at))

    def nest(copying: str, computing: str) -> Nest:
        loops = (Loop(1, copying, Kind.THREAD, 8, (load,), 0), Loop(2, computing, Kind.THREAD, 8, (compute,), 0))
        return Nest("matmul", (), (), (), (Loop(0, "k0", Kind.LOOP, 100, loops),))

    alike, partial = nest("k1", "n1"), nest("n1", "k1")
    assert parallel_threads(stage, alike) == (True, True, True)
    assert parallel_threads(stage, partial) == (False, True, True)
    assert least_work(alike, (True, True, True)) == 7 + 7
    assert least_work(partial, (False, True, True)) == 7 * 8 + 7


@pytest.mark.parametrize(
    ("start", "reach", "bound", "kinds"),
    [
        (0, 0, 56, 1),
        (-1, 2, 56, 3),
        (0, 2, 56, 2),
        (-1, 1, 56, 2),
        (0, 0, 51, 2),
        (-8, 0, 56, 1),
        (-1, 2, 40, 4),
    ],
    ids=[
        "all inside", "before the first and behind the last", "behind the last", "before the first", "a ragged tile",
        "a block that is outside alone", "two on one side",
    ],
)  # fmt: skip
def test_blocks_at_edges_are_kinds_of_their_own(start: int, reach: int, bound: int, kinds: int) -> None:
    """Seven blocks of eight threads, each of which reads from its place on as far as `reach`."""
    guard = Guard(Linear(((0, 8), (1, 1), (2, 1)), start), bound)
    load, store = Load(AT, Memory(0, Linear(), (guard,))), Store(Memory(1, Linear()), AT)

    def nest(blocks: int) -> Nest:
        inner = Loop(1, "w1", Kind.THREAD, 8, (Loop(2, "s0", Kind.UNROLL, 1 + reach, (load,)), store), 0)
        return Nest("n", (), (), (), (Loop(0, "w0", Kind.BLOCK, blocks, (inner,), 2),))

    assert kinds_of_blocks(nest(7)) == kinds and kinds_of_blocks(nest(1)) == 1


def test_kinds_along_two_axes_are_multiplied() -> None:
    """A guard along both at once, or along none, is not looked at."""
    terms = (((0, 4), (2, 1)), ((1, 4), (2, 1)), ((0, 1), (1, 1)), ((2, 1),))
    store = Store(Memory(0, Linear(), tuple(Guard(Linear(of, -1), 8) for of in terms)), AT)
    inner = Loop(1, "h0", Kind.BLOCK, 5, (Loop(2, "w1", Kind.THREAD, 4, (store,), 0),), 1)
    assert kinds_of_blocks(Nest("n", (), (), (), (Loop(0, "w0", Kind.BLOCK, 5, (inner,), 0),))) == 9


@needs_compiler
def test_the_kinds_of_blocks_count_in_what_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, sizes = tensor_kernel("axpy"), {"n": 1 << 20}
    asked = (kernel, sizes, kernel.program(sizes, cuda_tiles), [implementation("axpy", 0)], target("sm_90"))
    refused, prove_blocks = CompiledProof("unchecked", "", "threads that share memory"), proof_module.prove_blocks
    monkeypatch.setattr(proof_module, "prove_blocks", lambda *of: refused if of[-1] is None else prove_blocks(*of))
    monkeypatch.setattr(proof_module, "least_work", lambda *_: 60_000)
    assert proof_of(*asked).reason == ""
    monkeypatch.setattr(proof_module, "kinds_of_blocks", lambda _: 4)
    assert "4 kinds of blocks each do about 60000 operations" in proof_of(*asked).reason
    assert proof_of(*asked, 2.0).reason == ""


AT, OTHER = Ref(0, ()), Ref(1, ())


@pytest.mark.parametrize(
    ("statement", "rounds"),
    [
        (Compute(AT, Operator.MAX, (AT, OTHER)), 4),
        (Compute(AT, Operator.MIN, (OTHER, AT)), 100),
        (Combine(AT, Operator.MAX, OTHER, (), ()), 4),
        (Combine(AT, Operator.MIN, OTHER, (), ()), 100),
        (Compute(AT, Operator.MAX, (OTHER, OTHER)), 7),
        (Compute(AT, Operator.EXP, (AT,)), 7),
    ],
    ids=["maximum", "minimum", "of several registers", "a minimum of several registers", "of two values", "no maximum"],
)
def test_rounds_that_make_an_extreme_go_on_count_apart(statement: Compute | Combine, rounds: int) -> None:
    """No proof leaves out those of a minimum, so a block of many of them is proved at a small size at once."""
    nest = Nest("rows", (), (), (), (Loop(0, "k0", Kind.LOOP, 100, (statement,)),))
    assert least_work(nest, (True, True, True)) == 8 * rounds
