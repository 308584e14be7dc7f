"""Which sums are made in parts, and what the stages in parts say."""

# ruff: noqa: F821, UP037  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import pytest

from warploom.core import UserError, f32, i32
from warploom.kernels.tensors import TENSOR_KERNELS, tensor_kernel
from warploom.schedule.backbone import Role, backbone_text
from warploom.schedule.frontend import PartedFunction, TensorFunction, inout, out, pad, parted_sums, prod, temp, tensor


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
    k: range(k)
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


@tensor
def divided(x: f32["k"], y: out[f32[1]]):
    y[one] = sum(x[i] * x[i // 2], over=i)


@tensor
def divided_size(x: f32["k"], z: f32["k // 2"], y: out[f32[1]]):
    y[one] = sum(x[i], over=i) + z[0]


@tensor
def columns(x: f32["k", "m"], y: out[f32["m"]]):
    y[c] = sum(x[i, c], over=i)


@tensor
def statistics(x: f32["m", "k"], y: out[f32["m", "k"]]):
    mean[r] = sum(x[r, c], over=c) / k
    d[r, c] = x[r, c] - mean[r]
    variance[r] = sum(d[r, c] * d[r, c], over=c) / k
    scale[r] = 1 / variance[r]
    y[r, c] = d[r, c] * scale[r]


@tensor
def in_line(x: f32["k"], y: out[f32["k"]]):
    y[i] = (x[i] - sum(x[j], over=j)) * (x[i] + sum(x[j], over=j) + max(x[j], over=j))


@tensor
def two_of_one_pass(x: f32["k"], y: out[f32[1]], z: out[f32[1]]):
    s = sum(x[i], over=i)
    y[one], z[one] = s, max(x[i] * s, over=i) + sum(x[i] * x[i], over=i)


PRODUCTS = (
    product, two_stores, defined, weighted, every_other, first_row, mean, square, shifted, of_longer_rows, twice_read,
    named_alike,
)  # fmt: skip
OTHERS = (two_stages, two_sums, multiplied, over_two, of_sums, not_used_again)


@pytest.mark.parametrize("function", (added_to, gathered, over_number, divided, divided_size), ids=lambda f: f.name)
def test_sums_that_stay_whole(function: TensorFunction) -> None:
    assert parted_sums(function.tree) == ()


@pytest.mark.parametrize("function", (*PRODUCTS, *OTHERS), ids=lambda f: f.name)
def test_products_and_others(function: TensorFunction) -> None:
    found = next(f for f in parted_sums(function.tree) if f.size == "k")
    assert found.is_product == (function in PRODUCTS)


def test_how_many_results_and_elements() -> None:
    (found,) = parted_sums(columns.tree)
    assert (found.index, found.size, found.is_across) == ("i", "k", True)
    assert (found.results_at({"k": 9, "m": 5}), found.others_at({"k": 9, "m": 5})) == (5, 1)
    over_k, over_l = parted_sums(over_two.tree)
    sizes = {"m": 2, "n": 3, "k": 5, "l": 7}
    assert (over_k.index, over_k.others_at(sizes), over_k.results_at(sizes)) == ("k", 7, 6)
    assert (over_l.index, over_l.others_at(sizes), over_l.is_across) == ("l", 5, True)
    assert not parted_sums(statistics.tree)[0].is_across


def stages(function: TensorFunction, rest: int = 0) -> list[str]:
    program = PartedFunction(function, 4, "k", rest).program(dict.fromkeys(function.sizes, 2) | {"k": 8 + rest})
    return [stage.name.removeprefix(function.name) for stage in program.stages]


def test_a_stage_for_each_pass() -> None:
    assert stages(statistics) == ["_mean_parts", "_mean", "_variance_parts", "_scale", "_y"]
    assert stages(in_line) == ["_y_parts", "_y_whole", "_y_whole_", "_y"]
    assert stages(two_of_one_pass) == ["_s_parts", "_s", "_z_parts", "_y"]
    assert stages(two_stages) == ["_T_parts", "_T", "_C"]


def test_elements_behind_the_last_part() -> None:
    program = PartedFunction(columns, 4, "k", 3).program({"m": 2, "k": 11})
    first, second = map(backbone_text, program.stages)
    assert "load_x[part, c, i] = load f32 x[2*part + i, c]" in first
    assert "axis behind 3" in second
    assert "load_x[c, behind] = load f32 x[behind + 8, c]" in second
    assert [(r.name, r.shape) for r in program.arguments] == [("x", (11, 2)), ("y_parts", (4, 2)), ("y", (2,))]


def test_products_of_the_library() -> None:
    found = {name for name, kernel in TENSOR_KERNELS.items() if any(f.is_product for f in parted_sums(kernel.function.tree))}
    assert found == {name for name in TENSOR_KERNELS if name.startswith("matmul")} - {"matmul_split"} | {
        "linear_relu_f16",
        "syrk",
    }


def test_two_kernels_as_text() -> None:
    program = PartedFunction(product, 4, "k").program({"m": 2, "n": 3, "k": 8})
    first, second = map(backbone_text, program.stages)
    assert "mad[part, m, n, k] = fma f32 load_A[part, m, k], load_B[part, n, k], carry(init; k)" in first
    assert "load_A[part, m, k] = load f32 A[m, 2*part + k]" in first
    assert "load_B[part, n, k] = load f32 B[2*part + k, n]" in first
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
    program = PartedFunction(named_alike, 2, "k").program({"m": 2, "n": 3, "k": 8})
    assert [r.name for r in program.arguments] == ["part", "C_parts", "C_parts_", "C"]


def test_parts_that_do_not_divide_the_sum() -> None:
    with pytest.raises(UserError, match="expected k as a multiple of its 4 parts, got 6"):
        PartedFunction(product, 4, "k").program({"m": 2, "n": 3, "k": 6})
    with pytest.raises(UserError, match="expected k as a multiple of its 4 parts and 3 elements behind them, got 3"):
        PartedFunction(product, 4, "k", 3).program({"m": 2, "n": 3, "k": 3})


def test_sizes_of_parts_and_of_the_whole() -> None:
    parted = PartedFunction(tensor_kernel("syrk").function, 4, "k")
    sizes = {"n": 8, "k": 64}
    assert parted.inner(sizes) == {"n": 8, "k": 16}
    assert parted.outer(parted.inner(sizes)) == sizes
