"""Every tensor kernel: its backbones evaluate to what NumPy computes, at small sizes that divide by nothing."""

import numpy as np
import pytest

from warploom.core import UserError
from warploom.kernels.tensors import PAPER_SPACES, TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import (
    Result,
    Scope,
    backbone_text,
    cpu_tiles,
    cuda_tiles,
    evaluate_program,
    parse_backbone,
    verify,
)

KERNELS = sorted(TENSOR_KERNELS)


def small(name, offset=0):
    """Different odd sizes; the size of a filter stays."""
    kernel = tensor_kernel(name)
    return {n: v if n in ("r", "s") else 3 + 2 * ((i + offset) % 4) for i, (n, v) in enumerate(kernel.sizes.items())}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("offset", [0, 1])
def test_evaluates_to_the_reference(name, offset):
    kernel = tensor_kernel(name)
    sizes = small(name, offset)
    arrays = kernel.arrays(sizes, seed=offset)
    got = evaluate_program(kernel.program(sizes), arrays, kernel.parameters)
    wanted = kernel.reference(arrays)
    assert list(wanted) == list(kernel.function.outputs)
    for output, values in wanted.items():
        assert values.dtype == got[output].dtype
        np.testing.assert_allclose(got[output], values, rtol=2e-5, atol=1e-3 if values.dtype == np.float16 else 2e-5)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("tiles", [cpu_tiles, cuda_tiles])
def test_default_sizes_verify_and_come_back_from_text(name, tiles):
    for stage in tensor_kernel(name).program(None, tiles).stages:
        verify(stage)
        text = backbone_text(stage)
        again = parse_backbone(text)
        assert backbone_text(again) == text
        assert (again.extents, again.dims) == (stage.extents, stage.dims)


def test_work():
    assert tensor_kernel("matmul").flops({"m": 8, "n": 16, "k": 32}) == 2 * 8 * 16 * 32
    assert tensor_kernel("matmul").bytes({"m": 8, "n": 16, "k": 32}) == 4 * (8 * 32 + 32 * 16 + 8 * 16)
    assert tensor_kernel("matmul_strided").bytes({"m": 8, "n": 16, "k": 32}) == 4 * (8 * 32 + 32 * 16 + 8 * 16)
    assert tensor_kernel("axpy").bytes() == 3 * 4 << 26
    assert tensor_kernel("2mm").flops({"m": 4, "n": 4, "k": 4, "p": 4}) == 4 * 64 + 16 + 2 * 16


def test_spaces_of_the_paper():
    """Statements before any lowering; matmul's 35 are those of the paper's tilings."""
    found = {}
    for space in PAPER_SPACES:
        (stage,) = space.program().stages
        verify(stage)
        found[space.name] = (len(stage.instructions), len(stage.dims))
        assert all(size > 1 for e in stage.extents if e.level for size in e.sizes)
        scopes = {(i.name, o.scope) for i in stage.instructions for o in i.operands if isinstance(o, Result)}
        assert scopes == {("mad", Scope.BLOCK), ("store_z" if space.kernel == "axpy" else "store_C", Scope.LOCAL)}
    assert found == {
        "axpy": (4, 12),
        "matmul-256x256x32": (5, 30),
        "matmul-1024x1024x1024": (5, 30),
        "strided-matmul": (5, 30),
    }


def test_tiles_of_the_paper():
    (axpy,) = PAPER_SPACES[0].program().stages
    assert [e.sizes for e in axpy.extents[1:]] == [tuple(2**n for n in range(1, 11)), (2, 4)]
    assert axpy.extents[0].sizes == tuple(2**n for n in range(14, 25))


def test_stages():
    assert [s.name for s in tensor_kernel("2mm").program().stages] == ["two_matmul_AB", "two_matmul_E"]
    assert [s.name for s in tensor_kernel("matmul").program().stages] == ["matmul"]


def test_unknown_name():
    with pytest.raises(UserError, match=r"expected the name of a kernel, got 'matmull'\n  fix: Write matmul\."):
        tensor_kernel("matmull")
