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
SIZES = {"f32": {"n": 64, "m": 256, "d": 16}, "f16": {"h": 2, "n": 128, "m": 512, "d": 32}}
FUNCTIONS: dict[str, tuple[TensorFunction, int, int]] = {"f32": (attention, 16, 0), "f16": (attention_f16, 32, 1)}
"""By name: the function, the keys of a tile, and which of the habits' ways."""
MOST_STEPS = 3_000_000


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
    return prove_blocks(stage, kernel, compiled_for_proof(stage, kernel), arguments_of(stage, kernel), MOST_STEPS, axes)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_proved_by_a_few_of_its_rounds(name: str) -> None:
    found = judged(name)
    assert (found.verdict, found.reason) == ("proved", "")
    assert "exp(a + b) = exp(a) * exp(b)" in found.domain and "real sums reordered" in found.domain
    assert ("weights of 0 to 1 rounded to f16 taken as exact" in found.domain) == (name == "f16")


KEYS = """#pragma unroll 1
        for (int j_inner1 = 0; j_inner1 < 16; ++j_inner1) {
            float* """
"""How both loops over the keys of a tile begin."""
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
}  # fmt: skip


@pytest.mark.parametrize(("name", "mistake"), [(name, mistake) for name, found in MISTAKES.items() for mistake in found])
def test_planted_mistakes_are_not_proved(name: str, mistake: str) -> None:
    found = judged(name, *MISTAKES[name][mistake])
    assert found.verdict != "proved", mistake
