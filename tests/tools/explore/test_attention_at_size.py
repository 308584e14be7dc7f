"""Kernels of attention as habits print them are proved at the size asked for by a few of their rounds, and mistakes never are."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from tests.schedule.choices.test_habits import first
from tests.schedule.online.attention_forms import attention_f16
from tests.schedule.online.test_rewrite import attention
from tests.tools.explore.test_one_pass import needs_compiler

from warploom.schedule.backbone import Backbone, matrix_tiles, read_once, widened
from warploom.schedule.choices import kernel_space
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.online import online
from warploom.schedule.targets import target
from warploom.synth.compiled import Axes, CompiledProof
from warploom.tools.explore.every_block import prove_blocks
from warploom.tools.explore.options import KEPT_BYTES
from warploom.tools.explore.proof import arguments_of, compiled_for_proof, parallel_threads

pytestmark = [needs_compiler, pytest.mark.slow]
SM_90 = target("sm_90")
SIZES = {
    "f32": {"n": 64, "m": 256, "d": 16},
    "f16": {"h": 2, "n": 128, "m": 512, "d": 32},
    "f16 in 8 tiles": {"h": 2, "n": 128, "m": 256, "d": 32},
}
FUNCTIONS: dict[str, tuple[TensorFunction, int, int]] = {
    "f32": (attention, 16, 0),
    "f16": (attention_f16, 32, 1),
    "f16 in 8 tiles": (attention_f16, 32, 1),
}
"""By name: the function, the keys of a tile, and which of the habits' ways."""
MOST_STEPS = {"f32": 3_000_000, "f16": 600_000, "f16 in 8 tiles": 600_000}
"""A mistake in what a step hands on ends in a run of all tiles, which this ends."""


@cache
def made(name: str) -> tuple[Backbone, CudaKernel, Axes]:
    function, tile, way = FUNCTIONS[name]
    stage = function.program(SIZES[name], matrix_tiles(SM_90.matrices)).stages[0]
    rewritten = online(widened(read_once(stage, KEPT_BYTES), SM_90.matrices), tile)
    assert isinstance(rewritten, Backbone)
    space = kernel_space(rewritten, SM_90)
    nest = first(space, space.usually(space.root(), lambda _: False, way))
    return rewritten.plain, cuda_kernel(nest, Options(arch="sm_90")), parallel_threads(rewritten, nest)


def judged(name: str, right: str = "", wrong: str = "") -> CompiledProof:
    stage, kernel, axes = made(name)
    text = kernel.text
    if right:
        assert right in text, text
        text = text.replace(right, wrong)
    kernel = replace(kernel, text=text)
    return prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), MOST_STEPS[name], axes)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_proved_by_a_few_of_its_rounds(name: str) -> None:
    found = judged(name)
    assert (found.verdict, found.reason) == ("proved", "")
    assert "exp(a + b) = exp(a) * exp(b)" in found.domain and "real sums reordered" in found.domain
    assert ("weights of 0 to 1 rounded to f16 taken as exact" in found.domain) == name.startswith("f16")


KEYS = """#pragma unroll 1
        for (int j_inner1 = 0; j_inner1 < 16; ++j_inner1) {
            float* """
"""How both loops over the keys of a tile begin."""
BARRIER = "        __syncthreads();\n"
SECOND = "        {\n            unsigned rows[2][4], columns[2][2];\n            load_4_matrices_transposed"
"""How the products with the values begin."""
MISTAKES = {
    "f32": {
        "sums that are not rescaled": ("fmaf(total[i2], rescaling[i2]", "fmaf(total[i2], 1.0f"),
        "values that are not rescaled": ("fmaf(weighted[i2][c3], rescaling[i2]", "fmaf(weighted[i2][c3], 1.0f"),
        "one column that is not rescaled": (
            "fmaf(weighted[i2][c3], rescaling[i2]", "fmaf(weighted[i2][c3], c3 == 2 ? 1.0f : rescaling[i2]"
        ),
        "another row's factor": ("fmaf(weighted[i2][c3], rescaling[i2]", "fmaf(weighted[i2][c3], rescaling[i2 ^ 1]"),
        "rescaling turned round": ("top_before[i2] - top[i2]", "top[i2] - top_before[i2]"),
        "a tile that is not rescaled": ("weighted_tile[i2][c3] * rescaling_2[i2]", "weighted_tile[i2][c3]"),
        "another power": ("rescaling[i2] = expf(joined)", "rescaling[i2] = exp2f(joined)"),
        "weights by another power": ("e[i2] = expf(sub)", "e[i2] = exp2f(sub)"),
        "the tile's maximum kept": ("top[i2] = max_or_nan(top[i2], top_tile[i2]);", "top[i2] = top_tile[i2];"),
        "weights by the maximum of all tiles": ("get_s[i2] - top_tile[i2]", "get_s[i2] - top[i2]"),
        "a maximum that begins at 0": ("top[i2] = -3.4028235e+38f;", "top[i2] = 0.0f;"),
        "a tile's maximum that begins at 1": ("top_tile[i2] = -3.4028235e+38f;", "top_tile[i2] = 1.0f;"),
        "a sum that begins at 1": ("            total_tile[i2] = 0.0f;", "            total_tile[i2] = 1.0f;"),
        "the last tile left out": ("j0 < 16", "j0 < 15"),
        "the first tile left out": ("int j0 = 0", "int j0 = 1"),
        "a tile taken twice": ("K_thread + j0 * 256", "K_thread + (j0 == 9 ? 8 : j0) * 256"),
        "values of another tile": ("V_thread + j0 * 256", "V_thread + (j0 == 9 ? 8 : j0) * 256"),
        "keys of the next row": ("K_thread = K + ty * 16", "K_thread = K + (ty ^ 1) * 16"),
        "a key less in each tile": ("float get_s[4];", "float get_s[4];\n            if (j_inner1 == 15) { continue; }"),
        "no barrier before the scores": (f"__syncthreads();\n        {KEYS}tmp_load_K", f"{KEYS}tmp_load_K"),
        "no barrier before the weights": (f"__syncthreads();\n        {KEYS}tmp_s_j_inner1_2", f"{KEYS}tmp_s_j_inner1_2"),
        "the scores of another row": ("float* tmp_s_j_inner1_2 = tmp_s_thread", "float* tmp_s_j_inner1_2 = tmp_s + (ty ^ 1)"),
        "the scores of another key": (
            "tmp_s_thread + j_inner1 * 64;\n            float* tmp_load_V",
            "tmp_s_thread + (j_inner1 ^ 1) * 64;\n            float* tmp_load_V",
        ),
        "the sum of some lanes only": ("mad[i2] += __shfl_xor_sync(0xffffffffu, mad[i2], 2);", ""),
        "a lane's part twice": ("if (tx == 0) {", "if (tx == 1) {\n                    s[i2] += mad_partial[i2][0];"),
        "scores that are not scaled": ("s[i2] = scale * mad[i2];", "s[i2] = mad[i2];"),
        "no quotient": ("weighted[i2][c3] / total[i2]", "weighted[i2][c3]"),
        "a quotient by another row's sum": ("weighted[i2][c3] / total[i2]", "weighted[i2][c3] / total[i2 ^ 1]"),
        "a wrong stride of rows": ("Q_thread + i2 * 16", "Q_thread + (i2 ^ 1) * 16"),
        "results at other rows": ("Y_thread + i2 * 16", "Y_thread + (i2 ^ 1) * 16"),
        "another factor from some round on": ("s[i2] = scale", "s[i2] = (j0 > 12 ? 2.0f : 1.0f) * scale"),
    },
    "f16": {
        "values that are not rescaled": (
            "fmaf(weighted[i2][i4][c2], rescaling[i2][i4]", "fmaf(weighted[i2][i4][c2], c2 == 3 ? 1.0f : rescaling[i2][i4]"
        ),
        "another row's factor": (
            "fmaf(weighted[i2][i4][c2], rescaling[i2][i4]", "fmaf(weighted[i2][i4][c2], rescaling[i2][i4 ^ 1]"
        ),
        "no barrier after the weights": (f"{BARRIER}{SECOND}", SECOND),
        "no barrier after the copies": (f"await_copies<0>();\n{BARRIER}", "await_copies<0>();\n"),
        "copies that are not waited for": (f"await_copies<0>();\n{BARRIER}", f"await_copies<1>();\n{BARRIER}"),
        "parts of a fragment of columns exchanged": (
            "columns[0][0], columns[0][1], columns[1][0], columns[1][1], tmp_cast_3 + tmp_cast_3_pieces_swizzled);",
            "columns[0][1], columns[0][0], columns[1][0], columns[1][1], tmp_cast_3 + tmp_cast_3_pieces_swizzled);",
        ),
        "parts of a fragment of rows exchanged": (
            "rows[0][1], rows[0][2], rows[0][3], tmp_load_K_j0_2 + tmp_load_K_pieces_swizzled);",
            "rows[0][2], rows[0][1], rows[0][3], tmp_load_K_j0_2 + tmp_load_K_pieces_swizzled);",
        ),
        "results of a product exchanged": (
            "multiply_f16(mad[0][0][0], mad[0][1][0], mad[0][0][1]", "multiply_f16(mad[0][1][0], mad[0][0][0], mad[0][0][1]"
        ),
        "the last tile left out": ("j0 < 16", "j0 < 15"),
        "a tile copied twice": ("K_j0 + 1024)", "K_j0 + (j0 == 9 ? 0 : 1024))"),
        "values of the next row in one tile": ("V_j0 + 1024)", "V_j0 + 1024 + (j0 == 11 ? 32 : 0))"),
        "values of the other stage": (
            "tmp_load_V_j0_2 = tmp_load_V + j0 % 2 * 1024", "tmp_load_V_j0_2 = tmp_load_V + (j0 + 1) % 2 * 1024"
        ),
        "a maximum of some lanes only": (
            "max_or_nan(top_tile[i2][i4], __shfl_xor_sync(0xffffffffu, top_tile[i2][i4], 4))", "top_tile[i2][i4]"
        ),
        "a sum across rows": ("total_tile[i2][i4], 8)", "total_tile[i2][i4], 1)"),
        "a wrong swizzle of one piece": ("(tmp_load_V_pieces_swizzled ^ 16) + 512", "(tmp_load_V_pieces_swizzled ^ 24) + 512"),
        "another factor in one lane": ("= scale * mad", "= (tx == 2 && ty == 5 && i2 == 1 ? 2.0f : 1.0f) * scale * mad"),
        "sums of rounded weights": (
            "total_tile_partial[i2][i4] += e[i2][i4][j_inner1]",
            "total_tile_partial[i2][i4] += __half2float(static_cast<__half>(e[i2][i4][j_inner1]))",
        ),
        "scores that are rounded": (
            "= scale * mad[i2][i4][j_inner1]", "= __half2float(__float2half(scale * mad[i2][i4][j_inner1]))"
        ),
        "a mask at the edge of one row": (
            "= scale * mad[i2][i4][j_inner1]",
            "= j0 == 15 && ty + j_inner1 == 10 && tx == 1 ? -3.4028235e+38f : scale * mad[i2][i4][j_inner1]",
        ),
        "a maximum that is not rescaled with in one round": (
            "float joined = top_before[i2][i4] - top[i2][i4];",
            "float joined = j0 == 13 && i2 == 1 ? 0.0f : top_before[i2][i4] - top[i2][i4];",
        ),
    },
}  # fmt: skip


@pytest.mark.parametrize(("name", "mistake"), [(name, mistake) for name, found in MISTAKES.items() for mistake in found])
def test_planted_mistakes_are_not_proved(name: str, mistake: str) -> None:
    found = judged(name, *MISTAKES[name][mistake])
    assert found.verdict != "proved", mistake
