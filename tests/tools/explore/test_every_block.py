"""Kernels of many blocks are proved at the size asked for by few of them; a bug in any block is refuted or not proved."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.schedule.cuda import nests
from tests.tools.explore.test_check import implementation

from warploom.core import f32, i32
from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.schedule.backbone import Backbone, cuda_tiles
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.schedule.frontend import TensorFunction, out, tensor
from warploom.schedule.nest import Buffer, Swizzle
from warploom.schedule.targets import target
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof, proof_of

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")


@tensor
def doubled(x: f32["n"], z: out[f32["n"]]):
    z[i] = x[i] + x[i]


@tensor
def transposed(A: f32["m", "n"], B: out[f32["n", "m"]]):
    B[n, m] = A[m, n]


@tensor
def row_sum(x: f32["rows", "columns"], y: out[f32["rows"]]):
    y[r] = sum(x[r, c], over=c)


@tensor
def blurred(x: f32["n + 1"], z: out[f32["n"]]):
    z[i] = x[i] + x[i + 1]


@tensor
def first(x: f32["m", 65536], z: out[f32["m"]]):
    z[i] = x[i, 0]


@tensor
def gathered(x: f32["n"], z: out[f32["n", "n"]]):
    z[i, j] = x[i] * x[j]


@tensor
def summed(x: f32["n"], y: f32["n"], w: f32["n"], z: out[f32["n"]]):
    z[i] = x[i] + y[i] + w[i]


@tensor
def counted(x: i32["n", 24], z: out[i32["n"]]):
    z[i] = sum(x[i, k], over=k)


Made = tuple[Backbone, CudaKernel]
BODY = """
extern "C" __global__ void doubled(const float* x, float* z)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < 1000) {
        z[i] = x[i] + x[i];
    }
}
"""


def by_hand(
    function: TensorFunction, sizes: dict[str, int], text: str, grid: tuple[int, int, int], block: tuple[int, int, int]
) -> Made:
    stage = function.program(sizes).stages[0]
    buffers = tuple(Buffer(r.name, r.dtype, r.elements, r.role) for r in stage.regions)
    return stage, CudaKernel(stage.name, text, grid, block, buffers, (), (), 0, 0, Options(arch="sm_90"))


def doubled_by_hand(n: int = 1000, body: str = BODY) -> Made:
    return by_hand(doubled, {"n": n}, body.replace("1000", str(n)), (-(-n // 32), 1, 1), (32, 1, 1))


def summed_by_hand() -> Made:
    body = BODY.replace("doubled", "summed").replace("const float* x", "const float* x, const float* y, const float* w")
    body = body.replace("x[i] + x[i]", "x[i] + y[i] + w[i]")
    return by_hand(summed, {"n": 1000}, body, (32, 1, 1), (32, 1, 1))


def matmul() -> Made:
    stage = tensor_kernel("matmul").program({"m": 32, "n": 32, "k": 16}).stages[0]
    nest = nests.matmul(32, 32, 16, (16, 16, 4), stages=2, is_async=True).nest
    return stage, cuda_kernel(nest, Options(arch="sm_90"))


def long_matmul(k: int = 96, *, is_async: bool = True, swizzle: Swizzle | None = None) -> Made:
    """24 rounds of 4, most of which run alike."""
    stage = tensor_kernel("matmul").program({"m": 16, "n": 16, "k": k}).stages[0]
    options = {"stages": 2, "is_async": True} if is_async else {}
    return stage, cuda_kernel(nests.matmul(16, 16, k, (8, 8, 4), swizzle=swizzle, **options).nest, Options(arch="sm_90"))


def swizzled_matmul() -> Made:
    return long_matmul(swizzle=nests.xor_of_bits(2, 0, 3))


def row_sums() -> Made:
    stage = row_sum.program({"rows": 40, "columns": 10}).stages[0]
    return stage, cuda_kernel(nests.row_sum(40, 10, 4, 2, 2).nest, Options(arch="sm_90"))


def transpose() -> Made:
    stage = transposed.program({"m": 96, "n": 96}).stages[0]
    kernel = cuda_kernel(nests.transpose(96).nest, Options(arch="sm_90"))
    return stage, replace(kernel, name="transpose")


def proof(made: Made, right: str = "", wrong: str = "") -> CompiledProof:
    """The proof of a kernel, or of one with another text in its last such place."""
    stage, kernel = made
    assert right in kernel.text, kernel.text
    kernel = replace(kernel, text=wrong.join(kernel.text.rsplit(right, 1))) if right else kernel
    return prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel))


@pytest.mark.parametrize("made", [doubled_by_hand, summed_by_hand, matmul, swizzled_matmul, row_sums, transpose])
def test_all_blocks_are_proved(made: object) -> None:
    found = proof(made())
    assert (found.verdict, found.reason) == ("proved", "")


def test_the_number_of_blocks_costs_nothing() -> None:
    assert proof(doubled_by_hand(1 << 24)).verdict == "proved"
    assert proof(doubled_by_hand((1 << 24) + 5)).verdict == "proved"


def test_as_many_blocks_as_a_grid_has_are_proved() -> None:
    stage, kernel = doubled_by_hand(body=BODY.replace("i < 1000", "blockIdx.x < 32 && i < 1000"))
    kernel = replace(kernel, grid=((1 << 31) - 1, 1, 1))
    assert proof((stage, kernel)).verdict == "proved"
    kernel = replace(kernel, text=kernel.text.replace("blockIdx.x * 32", "0"))
    found = proof((stage, kernel), "blockIdx.x < 32 && ", "")
    assert found.verdict == "refuted" and "race" in found.reason


def test_copies_that_later_blocks_misalign_are_refuted() -> None:
    """4 bytes are read of 16, at a place that every fourth block has at a multiple of 16."""
    body = """
    extern "C" __global__ void doubled(const float* x, float* z)
    {
        __shared__ __align__(16) float s[4];
        const unsigned to = __cvta_generic_to_shared(s);
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4, 4;" :: "r"(to), "l"(x + blockIdx.x) : "memory");
        asm volatile("cp.async.wait_all;" ::: "memory");
        z[blockIdx.x] = s[0] + s[0];
    }
    """
    made = by_hand(doubled, {"n": 8}, body, (8, 1, 1), (1, 1, 1))
    assert proof(made).verdict == "proved"
    found = proof(made, "4, 4", "16, 4")
    assert found.verdict == "refuted" and "multiple of 16" in found.reason


def test_sums_of_integers_run_whole() -> None:
    body = """
    extern "C" __global__ void counted(const int* x, int* z)
    {
        int sum = 0;
        #pragma unroll 1
        for (int k = 0; k < 24; ++k) {
            sum += x[blockIdx.x * 24 + k];
        }
        z[blockIdx.x] = sum;
    }
    """
    made = by_hand(counted, {"n": 9}, body, (9, 1, 1), (1, 1, 1))
    assert proof(made).verdict == "proved"
    assert proof(made, "sum += x", "sum += (k == 20) + x").verdict == "refuted"


@pytest.mark.parametrize("is_async", [False, True])
def test_rounds_that_run_alike_are_run_once(is_async: bool) -> None:
    for k in (96, 1 << 16):
        found = proof(long_matmul(k, is_async=is_async))
        assert (found.verdict, found.reason) == ("proved", "")


def test_many_threads_that_share_nothing_cost_as_much_as_one() -> None:
    made = doubled_by_hand(1000, BODY)
    assert proof(made).thread_steps < 200
    stage, kernel = made
    kernel = replace(kernel, text=kernel.text.replace("x[i] + x[i]", "x[i] + __shfl_sync(~0u, x[i], threadIdx.x)"))
    assert proof((stage, kernel)).verdict != "refuted"


def test_threads_that_store_one_value_to_one_place_are_proved_by_their_block() -> None:
    """Lanes of one warp may do so; threads of different warps race."""
    body = BODY.replace("blockIdx.x * 32 + threadIdx.x", "blockIdx.x * 16 + threadIdx.x / 2")
    made = by_hand(doubled, {"n": 1000}, body, (63, 1, 1), (32, 1, 1))
    assert proof(made).verdict == "proved"
    stage, kernel = by_hand(doubled, {"n": 1000}, BODY.replace("32 + threadIdx.x", "16 + threadIdx.y"), (63, 1, 1), (32, 16, 1))
    found = proof((stage, kernel))
    assert found.verdict == "proved"
    found = proof((stage, replace(kernel, block=(64, 16, 1))))
    assert found.verdict == "refuted" and "race" in found.reason


NESTED = """
extern "C" __global__ void matmul(const float* A, const float* B, float* C)
{
    float sum = 0.0f;
    #pragma unroll 1
    for (int k = 0; k < OUTER; ++k) {
        #pragma unroll 1
        for (int kk = 0; kk < INNER; ++kk) {
            sum += A[blockIdx.y * OUTER * INNER + k * INNER + kk] * B[(k * INNER + kk) * 64 + blockIdx.x * 32 + threadIdx.x];
        }
    }
    C[blockIdx.y * 64 + blockIdx.x * 32 + threadIdx.x] = sum;
}
"""


def nested(outer: int, inner: int) -> Made:
    text = NESTED.replace("OUTER", str(outer)).replace("INNER", str(inner))
    sizes = {"m": 8, "n": 64, "k": outer * inner}
    return by_hand(tensor_kernel("matmul").function, sizes, text, (2, 8, 1), (32, 1, 1))


@pytest.mark.parametrize(("outer", "inner", "wrong"), [(40, 4, "k == 30"), (3, 50, "kk == 40"), (3, 50, "k == 2")])
def test_nested_loops_are_followed_from_the_outside(outer: int, inner: int, wrong: str) -> None:
    """Short inner loops are part of a round of the outer one; long ones are followed each time that they are entered."""
    made = nested(outer, inner)
    found = proof(made)
    assert found.verdict == "proved" and found.thread_steps < 1500
    assert proof(made, "sum += ", f"sum += ({wrong} ? 0.5f : 1.0f) * ").verdict != "proved"
    assert proof(made, "sum += ", f"sum = ({wrong} && k + kk > 1 ? 0.0f : sum) + ").verdict != "proved"


DISCARDED = 'asm volatile("discard.global.L2 [%0], 128;" :: "l"(z + blockIdx.x * 32) : "memory");'
BUGS = {
    "a bound one too far in the last block": (doubled_by_hand, "i < 1000", "i < 1001", "refuted"),
    "a bound one too near in the last block": (doubled_by_hand, "i < 1000", "i < 999", "refuted"),
    "one block that does nothing": (doubled_by_hand, "i < 1000", "i < 1000 && blockIdx.x != 7", "refuted"),
    "one block with another value": (doubled_by_hand, "+ x[i]", "+ (blockIdx.x == 7 ? 0.0f : x[i])", "refuted"),
    "later blocks with another value": (doubled_by_hand, "+ x[i]", "+ (blockIdx.x > 7 ? 0.0f : x[i])", "refuted"),
    "a value that depends on the block": (doubled_by_hand, "+ x[i]", "+ x[i] + (float)blockIdx.x", "unchecked"),
    "an element of a neighbour, block by block": (doubled_by_hand, "+ x[i]", "+ x[i ^ 32]", "unchecked"),
    "an element of another block": (lambda: doubled_by_hand(1024), "+ x[i]", "+ x[992 - (i & ~31) + threadIdx.x]", "refuted"),
    "an array that all blocks read alike": (doubled_by_hand, "x[i] + x[i]", "x[threadIdx.x] + x[threadIdx.x]", "unchecked"),
    "one thread with another value": (doubled_by_hand, "+ x[i]", "+ (threadIdx.x == 9 ? 0.0f : x[i])", "refuted"),
    "later threads of later blocks with another value": (
        doubled_by_hand, "+ x[i]", "+ (threadIdx.x > 9 && blockIdx.x > 9 ? 0.0f : x[i])", "refuted"
    ),
    "one thread that does nothing": (doubled_by_hand, "i < 1000", "i < 1000 && threadIdx.x != 7", "refuted"),
    "an element of another thread": (doubled_by_hand, "+ x[i]", "+ x[i ^ 1]", "refuted"),
    "threads that store to one element": (doubled_by_hand, "+ threadIdx.x", "+ threadIdx.x / 2", "refuted"),
    "blocks that store to one element": (doubled_by_hand, "blockIdx.x * 32", "blockIdx.x * 16", "refuted"),
    "all blocks store to one place": (doubled_by_hand, "blockIdx.x * 32", "0", "refuted"),
    "elements of atomic updates": (doubled_by_hand, "z[i] = x[i] + x[i]", "atomicAdd(z + i, x[i])", "unchecked"),
    "an output read again": (doubled_by_hand, "= x[i] + x[i]", "= x[i]; z[i] = __ldcg(z + i) + x[i]", "unchecked"),
    "a number as an address": (doubled_by_hand, "+ x[i]", "+ *(const float*)((3ll << 39) + 4 * i)", "unchecked"),
    "another array by its distance": (doubled_by_hand, "+ x[i]", "+ *(z - (1ll << 38) + i)", "refuted"),
    "arrays that lie evenly": (summed_by_hand, "+ w[i]", "+ *((float*)((char*)x + 2 * ((char*)y - (char*)x)) + i)", "unchecked"),
    "an output that is discarded": (doubled_by_hand, "i];\n", f"i]; {DISCARDED}\n", "unchecked"),
    "a bit of the block's number": (doubled_by_hand, "+ x[i]", "+ x[i + (blockIdx.x >> 4 & 1)]", "refuted"),
    "a product of the block's number": (doubled_by_hand, "+ x[i]", "+ x[i + blockIdx.x * blockIdx.x * 1024]", "unchecked"),
    "no barrier after the tiles are used": (matmul, "__syncthreads();", "if (k < 2) __syncthreads();", "refuted"),
    "a wrong copy from the third round on": (matmul, "(k + 1) % 2 * 64", "(k < 2 ? (k + 1) % 2 : 0) * 64", "refuted"),
    "a round too few": (matmul, "k < 4", "k < 3", "refuted"),
    "an accumulator that is not reset": (matmul, "c[u][u_2] = 0.0f", "c[u][u_2] = c[u][u_2]", "refuted"),
    "tiles of the wrong block": (matmul, "(bx * 4 + tx) * 4", "((1 - bx) * 4 + tx) * 4", "unchecked"),
    "rounds that are missing at the end": (long_matmul, "k < 24", "k < 23", "unchecked"),
    "a round too many": (long_matmul, "k < 24", "k < 25", ""),
    "a late round without its barrier": (long_matmul, "__syncthreads();", "if (k != 20) __syncthreads();", "refuted"),
    "late rounds without a barrier": (long_matmul, "__syncthreads();", "if (k < 20) __syncthreads();", "refuted"),
    "no barrier at all": (long_matmul, "__syncthreads();", "", "refuted"),
    "a wrong copy in late rounds": (long_matmul, "(k + 1) % 2 * 32", "(k < 20 ? (k + 1) % 2 : 0) * 32", ""),
    "a wrong copy in one round": (long_matmul, "(k + 1) % 2 * 32", "(k == 20 ? 0 : (k + 1) % 2) * 32", ""),
    "the wrong stage is read in one round": (long_matmul, "+ k % 2 * 32", "+ (k == 21 ? 0 : k % 2) * 32", ""),
    "a swizzle on one side only": (swizzled_matmul, "swizzled<2, 0, 3>(kk * 8 + u)", "(kk * 8 + u)", ""),
    "a swizzle of the copies of one round": (
        swizzled_matmul, "swizzled<2, 0, 3>(A_tile_index)", "(k == 20 ? A_tile_index : swizzled<2, 0, 3>(A_tile_index))", ""
    ),
    "copies that nothing awaits": (long_matmul, "await_copies<0>", "await_copies<1>", "refuted"),
    "an accumulator that starts anew in a late round": (long_matmul, "c[u][u_2]);\n", "k == 20 ? 0.0f : c[u][u_2]);\n", ""),
    "an accumulator that is halved in each round": (lambda: long_matmul(40), "c[u][u_2]);\n", "0.5f * c[u][u_2]);\n", ""),
    "one round counts twice": (long_matmul, "c[u][u_2]);\n", "c[u][u_2]) + (k == 20 ? a[u] * b[u_2] : 0.0f);\n", ""),
    "each round adds a constant": (lambda: long_matmul(40), "c[u][u_2]);\n", "c[u][u_2]) + 1.0f;\n", ""),
    "each round adds its number": (lambda: long_matmul(40), "c[u][u_2]);\n", "c[u][u_2]) + (float)k;\n", ""),
    "the tiles of one round come from elsewhere": (long_matmul, "part * 32 + 64", "part * 32 + (k == 20 ? 0 : 64)", ""),
    "tiles that move too slowly": (long_matmul, "B_thread + k * 64", "B_thread + k * 48", ""),
    "tiles that stand still": (long_matmul, "B_thread + k * 64", "B_thread", ""),
    "tiles whose offset wraps late": (long_matmul, "A_thread + k * 4", "A_thread + (unsigned char)(k * 32) / 8", ""),
    "a part of a tile kept from early rounds": (
        lambda: long_matmul(64, is_async=False), "b_copy[1] = lanes.y;", "if (k < 2) b_copy[1] = lanes.y;", ""
    ),
    "a sum that is squared at the end": (long_matmul, "] = c[u][u_2];", "] = c[u][u_2] * c[u][u_2];", "unchecked"),
    "an edge past the row": (row_sums, "index_step < 10", "index_step < 11", "refuted"),
    "an edge before the row's end": (row_sums, "index_step < 10", "index_step < 8", "refuted"),
    "rows and columns of blocks exchanged": (transpose, "bx * 3072 + ty * 96 + by * 32", "by * 3072 + ty * 96 + bx * 32", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BUGS))
def test_planted_bugs_are_not_proved(name: str) -> None:
    made, right, wrong, verdict = BUGS[name]
    found = proof(made(), right, wrong)
    assert found.verdict == verdict or (not verdict and found.verdict != "proved"), found


def test_offsets_that_leave_32_bits_in_late_blocks_are_refuted() -> None:
    """Row 2^15 of 2^16 columns begins at 2^31."""
    right = "long long row = blockIdx.x * 65536ll"
    body = f"""
    extern "C" __global__ void first(const float* x, float* z)
    {{
        const {right};
        z[blockIdx.x] = x[row];
    }}
    """
    made = by_hand(first, {"m": (1 << 15) + 3}, body, ((1 << 15) + 3, 1, 1), (1, 1, 1))
    assert proof(made).verdict == "proved"
    found = proof(made, right, "int row = int(blockIdx.x) * 65536")
    assert found.verdict == "refuted" and "inside an array" in found.reason


def test_parts_of_shifted_sums_move_with_their_blocks() -> None:
    body = BODY.replace("doubled", "blurred").replace("x[i] + x[i]", "x[i] + x[i + 1]")
    made = by_hand(blurred, {"n": 1000}, body, (32, 1, 1), (32, 1, 1))
    assert proof(made).verdict == "proved"
    assert proof(made, "x[i + 1]", "x[i]").verdict == "refuted"


def test_an_array_may_be_read_at_two_places_that_move_apart() -> None:
    body = """
    extern "C" __global__ void gathered(const float* x, float* z)
    {
        z[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x] * x[threadIdx.x];
    }
    """
    found = proof(by_hand(gathered, {"n": 64}, body, (64, 1, 1), (64, 1, 1)))
    assert found.verdict == "proved"


def test_explored_kernels_are_proved_at_the_size_asked_for() -> None:
    kernel, sizes = tensor_kernel("axpy"), {"n": 1 << 20}
    found = proof_of(kernel, sizes, kernel.program(sizes, cuda_tiles), [implementation("axpy", 0)], target("sm_90"))
    assert (found.verdict, dict(found.sizes), found.reason) == ("proved", sizes, "")
    assert found.seconds > 0
