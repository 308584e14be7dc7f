"""The words that all kernels share."""

from warploom.core import bf16, f16, f32, f64
from warploom.ctext.cuda import array_declaration, includes, kernel_head, rest_of_warps


def test_heads_and_declarations() -> None:
    assert kernel_head(128) == 'extern "C" __global__ void __launch_bounds__(128)'
    assert kernel_head(128, blocks_together=3).endswith(" __launch_bounds__(128, 3)")
    assert kernel_head(128, blocks_together=3, most_registers=64).endswith(" __maxnreg__(64)")
    assert array_declaration(f32, "tile", [8, 32], is_shared=True, alignment=16) == "__shared__ __align__(16) float tile[8][32];"
    assert array_declaration(f64, "r", [4], alignment=8) == "double r[4];"
    assert includes([f32, bf16, f16, f16]) == ["#include <cuda_fp16.h>", "#include <cuda_bf16.h>"]


def test_masks_of_the_last_warp() -> None:
    assert [rest_of_warps(n) for n in (1, 32, 40, 96)] == [(0, 1), (32, 0), (32, 0xFF), (96, 0)]
