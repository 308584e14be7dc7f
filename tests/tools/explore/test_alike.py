"""Threads that share tiles are represented by one where they compute alike; a bug in any other thread is not proved."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.tools.explore.test_every_block import Made, by_hand, proof

from warploom.gpu import toolchain_available
from warploom.kernels.tensors import tensor_kernel
from warploom.synth.compiled import CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.proof import arguments_of, compiled_for_proof

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")

TILED = """
extern "C" __global__ void matmul(const float* A, const float* B, float* C)
{
    __shared__ float a_tile[32], b_tile[32];
    const int tx = threadIdx.x, ty = threadIdx.y, t = ty * 4 + tx;
    float c[2][2] = {};
    #pragma unroll 1
    for (int k = 0; k < 12; ++k) {
        for (int part = t; part < 32; part += 16) {
            a_tile[part] = A[(blockIdx.y * 8 + part / 4) * 48 + k * 4 + part % 4];
            b_tile[part] = B[(k * 4 + part / 8) * 16 + blockIdx.x * 8 + part % 8];
        }
        __syncthreads();
        for (int kk = 0; kk < 4; ++kk) {
            for (int u = 0; u < 2; ++u) {
                for (int v = 0; v < 2; ++v) {
                    c[u][v] += a_tile[(ty * 2 + u) * 4 + kk] * b_tile[kk * 8 + tx * 2 + v];
                }
            }
        }
        __syncthreads();  // used
    }
    for (int u = 0; u < 2; ++u) {
        for (int v = 0; v < 2; ++v) {
            C[(blockIdx.y * 8 + ty * 2 + u) * 16 + blockIdx.x * 8 + tx * 2 + v] = c[u][v];
        }
    }
}
"""


def tiled() -> Made:
    return by_hand(tensor_kernel("matmul").function, {"m": 16, "n": 16, "k": 48}, TILED, (2, 2, 1), (4, 4, 1))


def test_one_thread_computes_for_those_that_are_alike() -> None:
    stage, kernel = tiled()
    ptx, arguments = compiled_for_proof(stage, kernel), arguments_of(stage, kernel)

    def found(*axes: bool) -> CompiledProof:
        return prove_blocks(stage, kernel, ptx, arguments, alike=axes)  # pyright: ignore[reportArgumentType] - three of them

    by_one, by_all = found(True, True, True), found(False, False, False)
    assert by_one.verdict == by_all.verdict == "proved" and by_one.domain == by_all.domain
    assert by_one.thread_steps < 0.8 * by_all.thread_steps
    assert found(True, False, False).verdict == "proved"
    assert prove_blocks(stage, kernel, ptx, arguments, alike=None).verdict == "unchecked"


RAGGED = (
    TILED.replace("b_tile[part] = B[", "const int n = blockIdx.x * 8 + part % 8;\n            b_tile[part] = n < 14 ? B[")
    .replace(") * 16 + blockIdx.x * 8 + part % 8];", ") * 14 + n] : 0.0f;")
    .replace("            C[(", "            if (blockIdx.x * 8 + tx * 2 + v < 14)\n                C[(")
    .replace("u) * 16 +", "u) * 14 +")
    .replace(") * 48 +", ") * 8 +")
    .replace("k < 12", "k < 2")
)
"""The last columns of the last blocks are none of the matrix."""


def ragged() -> Made:
    return by_hand(tensor_kernel("matmul").function, {"m": 16, "n": 14, "k": 8}, RAGGED, (2, 2, 1), (4, 4, 1))


def test_threads_at_an_edge_have_a_representative_of_their_own() -> None:
    stage, kernel = ragged()
    ptx, arguments = compiled_for_proof(stage, kernel), arguments_of(stage, kernel)
    by_some = prove_blocks(stage, kernel, ptx, arguments)
    by_all = prove_blocks(stage, kernel, ptx, arguments, alike=(False, False, False))
    assert by_some.verdict == by_all.verdict == "proved" and by_some.domain == by_all.domain
    assert by_some.thread_steps < 0.9 * by_all.thread_steps
    limit = by_some.thread_steps * 3 // 4  # more than for each part of the grid alone
    found = prove_blocks(stage, kernel, ptx, arguments, limit)
    assert found.verdict == "unchecked" and "step limit" in found.reason


EDGES = {
    "a column too few is loaded": ("n < 14 ?", "n < 13 ?"),
    "a column too many is loaded": ("n < 14 ?", "n < 15 ?"),
    "a column too few is stored": ("tx * 2 + v < 14", "tx * 2 + v < 13"),
    "a column too many is stored": ("tx * 2 + v < 14", "tx * 2 + v < 15"),
    "rows of the padded length": (") * 14 + n]", ") * 16 + n]"),
    "a thread at the edge stores the padding": ("] = c[u][v];", "] = blockIdx.x == 1 && tx == 2 && ty == 3 ? 0.0f : c[u][v];"),
    "the padding is another thread's": ("tx * 2 + v] = c", "(tx == 2 ? 3 : tx) * 2 + v] = c"),
    "no barrier before the edge's tiles are used": (
        "__syncthreads();\n        for",
        "if (blockIdx.x == 0) __syncthreads();\n        for",
    ),
}


@pytest.mark.parametrize("name", list(EDGES))
def test_bugs_at_an_edge_are_not_proved(name: str) -> None:
    assert proof(ragged(), *EDGES[name]).verdict != "proved"


STORED = "] = c[u][v];"
A_USED = "a_tile[(ty * 2 + u) * 4 + kk]"
BUGS = {
    "another value in one thread": (STORED, "] = tx == 1 && ty == 3 ? 0.0f : c[u][v];", ""),
    "another value in one column of threads": (STORED, "] = c[u][v] + (tx == 3 ? 1.0f : 0.0f);", ""),
    "a value that depends on the thread": (STORED, "] = c[u][v] + (float)tx;", ""),
    "right only where the representative is": (STORED, "] = t == 10 ? c[u][v] : 0.5f * c[u][v];", ""),
    "one thread that stores nothing": (STORED, "] = c[u][v]; if (t == 6) return;", "refuted"),
    "the elements of another thread": ("+ tx * 2 + v] = c", "+ (tx ^ 1) * 2 + v] = c", ""),
    "rows and columns of threads exchanged": (
        "ty * 2 + u) * 16 + blockIdx.x * 8 + tx", "tx * 2 + u) * 16 + blockIdx.x * 8 + ty", ""
    ),
    "elements that two threads store": ("+ tx * 2 + v] = c", "+ tx + v] = c", "refuted"),
    "one thread that overwrites another's element": (
        "    }\n}\n", "    }\n    if (t == 3) C[blockIdx.y * 128 + blockIdx.x * 8] = 0.0f;\n}\n", "refuted"
    ),
    "one thread that overwrites the representative's": (
        "    }\n}\n", "    }\n    if (t == 10) C[(blockIdx.y * 8 + 4) * 16 + blockIdx.x * 8 + 4] = 0.0f;\n}\n", ""
    ),
    "the row of the representative in all threads": (A_USED, "a_tile[(4 + u) * 4 + kk]", ""),
    "another row in one thread": (A_USED, "a_tile[((t == 5 ? 0 : ty) * 2 + u) * 4 + kk]", ""),
    "another row in one thread in one round": (A_USED, "a_tile[((t == 5 && k == 9 ? 0 : ty) * 2 + u) * 4 + kk]", ""),
    "one thread that copies another element": ("+ part % 4]", "+ (part == 9 ? 0 : part % 4)]", ""),
    "one thread that copies another element in a late round": ("+ part % 4]", "+ (part == 9 && k == 9 ? 0 : part % 4)]", ""),
    "a sum that one thread begins anew": ("c[u][v] +=", "c[u][v] = (t == 7 && k == 9 ? 0.0f : c[u][v]) +", ""),
    "a sum that all threads begin anew": ("c[u][v] +=", "c[u][v] = (k == 9 ? 0.0f : c[u][v]) +", ""),
    "a sum that is halved in one thread": ("c[u][v] +=", "c[u][v] = (t == 7 ? 0.5f : 1.0f) * c[u][v] +", ""),
    "a sum of two threads": (STORED, "] = c[u][v] + __shfl_xor_sync(65535u, c[u][v], 1);", ""),
    "no barrier after the tiles are used": ("__syncthreads();  // used", "", "refuted"),
    "a late round without its barrier": ("__syncthreads();  // used", "if (k != 9) __syncthreads();", "refuted"),
    "a round too few": ("k < 12", "k < 11", "unchecked"),
    "a round too many": ("k < 12", "k < 13", "refuted"),
    "tiles that stand still": ("k * 4 + part % 4", "part % 4", ""),
    "an output read again": (STORED, "] = c[u][v]; __syncthreads(); C[blockIdx.x * 8] = __ldcg(C + 1 + blockIdx.x * 8);", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", list(BUGS))
def test_planted_bugs_in_one_thread_are_not_proved(name: str) -> None:
    right, wrong, verdict = BUGS[name]
    found = proof(tiled(), right, wrong)
    assert found.verdict == verdict or (not verdict and found.verdict != "proved"), found


def test_a_store_that_stays_at_one_of_two_values_is_compared() -> None:
    """The representative stores twice; the others' first store is what is left of it."""
    stage, kernel = tiled()
    twice = "] = 2.0f * c[u][v]; if (t == 10) C[(blockIdx.y * 8 + ty * 2 + u) * 16 + blockIdx.x * 8 + tx * 2 + v] = c[u][v];"
    found = proof((stage, replace(kernel, text=kernel.text.replace(STORED, twice))))
    assert found.verdict == "unchecked"
