"""Which sums are made in parts, and what the stages in parts say."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import pytest

from warploom.core import UserError, f32, i32
from warploom.kernels.tensors import TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import Role, backbone_text
from warploom.schedule.frontend import PartedFunction, TensorFunction, inout, out, pad, parted_sum, prod, temp, tensor


@tensor
def product(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


@tensor
def two_stages(A: f32["m", "k"], B: f32["k", "n"], T: temp[f32["m", "n"]], C: out[f32["m", "n"]]):
    T[m, n] += A[m, k] * B[k, n]
    C[m, n] = T[m, n] + 1


@tensor
def two_stores(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]], D: out[f32["m", "n"]]):
    C[m, n], D[m, n] = sum(A[m, k] * B[k, n], over=k), A[m, 0] * B[0, n]


@tensor
def defined(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    t[m, n] = sum(A[m, k] * B[k, n], over=k)
    C[m, n] = t[m, n] + t[m, n]


@tensor
def two_sums(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, k] * B[k, n], over=k) + sum(A[m, k] + B[k, n], over=k)


@tensor
def added_to(A: f32["m", "k"], B: f32["k", "n"], C: inout[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


@tensor
def multiplied(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = prod(A[m, k] * B[k, n], over=k)


@tensor
def over_two(A: f32["m", "k", "l"], B: f32["k", "l", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, k, l] * B[k, l, n], over=(k, l))


@tensor
def of_sums(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, k] + B[k, n], over=k)


@tensor
def not_used_again(A: f32["m", "n", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, n, k] * B[k, n], over=k)


@tensor
def of_longer_rows(A: f32["m", "k + 1"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, k] * B[k, n], over=k)


@tensor
def shifted(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(pad(A, 0)[m, k - 1] * B[k, n], over=k)


@tensor
def every_other(A: f32["m", "2*k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, 2 * k] * B[k, n], over=k)


@tensor
def first_row(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum((A[m, k] * A[m, 0]) * B[k, n], over=k)


@tensor
def over_number(A: f32["m", 8], B: f32[8, "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, k] * B[k, n], over=k)


@tensor
def square(A: f32["k", "k"], B: f32["k", "n"], C: out[f32["k", "n"]]):
    C[m, n] = sum(A[m, k] * B[k, n], over=k)


@tensor
def mean(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, l] * B[l, n], over=l) / k


@tensor
def weighted(A: f32["m", "k"], B: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, l] * (B[l, n] * f32(l)), over=l)


@tensor
def gathered(A: f32["m", "k"], B: f32["k", "n"], where: i32["n"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, k] * B[k, n], over=k) + f32(where[where[n]])


@tensor
def twice_read(A: f32["m", "k"], B: f32["k", "n"], x: f32["k"], C: out[f32["m", "n"]]):
    C[m, n] = sum(A[m, k] * B[k, n], over=k) + x[0]


@tensor
def named_alike(part: f32["m", "k"], C_parts: f32["k", "n"], C: out[f32["m", "n"]]):
    C[m, n] += part[m, k] * C_parts[k, n]


WHOLE = (
    two_stages, two_stores, defined, two_sums, added_to, multiplied, over_two, of_sums, not_used_again, of_longer_rows, shifted,
    every_other, first_row, over_number, square, mean, weighted, gathered, twice_read,
)  # fmt: skip


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.name)
def test_sums_that_stay_whole(function: TensorFunction) -> None:
    assert parted_sum(function.tree) is None


def test_products_of_the_library() -> None:
    found = {name for name, kernel in TENSOR_KERNELS.items() if parted_sum(kernel.function.tree) is not None}
    products = {name for name in TENSOR_KERNELS if name.startswith("matmul")} - {
        "matmul_split", "matmul_strided", "matmul_batched_strided",
    }  # fmt: skip
    assert found == products | {"linear_relu_f16", "syrk"}


def test_two_kernels_as_text() -> None:
    program = PartedFunction(product, 4).program({"m": 2, "n": 3, "k": 8})
    first, second = map(backbone_text, program.stages)
    assert "mad[part, m, n, k] = fma f32 load_A[part, m, k], load_B[part, n, k], carry(init; k)" in first
    assert "input A f32 [2, 4, 2] strides [8, 2, 1]" in first
    assert "input B f32 [4, 2, 3] strides [6, 3, 1]" in first
    assert "axis k 2" in first
    assert "sum[m, n, part] = add f32 carry(init_2; part)" in second or "sum[m, n, part] = add" in second
    assert [s.name for s in program.stages] == ["product_C_parts", "product_C"]
    assert [(r.name, r.shape, r.role) for r in program.arguments] == [
        ("A", (2, 8), Role.INPUT),
        ("B", (8, 3), Role.INPUT),
        ("C_parts", (4, 2, 3), Role.TEMPORARY),
        ("C", (2, 3), Role.OUTPUT),
    ]
    assert program.called_with == ("A", "B", "C")


def test_names_that_are_taken() -> None:
    program = PartedFunction(named_alike, 2).program({"m": 2, "n": 3, "k": 8})
    assert [r.name for r in program.arguments] == ["part", "C_parts", "C_parts_", "C"]


def test_parts_that_do_not_divide_the_sum() -> None:
    with pytest.raises(UserError, match="expected k as a multiple of its 4 parts, got 6"):
        PartedFunction(product, 4).program({"m": 2, "n": 3, "k": 6})


def test_sizes_of_parts_and_of_the_whole() -> None:
    parted = PartedFunction(tensor_kernel("syrk").function, 4)
    sizes = {"n": 8, "k": 64}
    assert parted.inner(sizes) == {"n": 8, "k": 16}
    assert parted.outer(parted.inner(sizes)) == sizes
