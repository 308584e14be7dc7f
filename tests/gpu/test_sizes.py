"""The sizes at which printed index arithmetic and launches stay in range."""

from __future__ import annotations

import random

import pytest
from tests.gpu.kernels import TID, I, N, array, b, c, cmp, loop

from warploom.core import f32
from warploom.gpu import cuda_source, safe_sizes
from warploom.gpu.growth import Growths
from warploom.ir import Builtin, If, IndexExpr, IndexSelect, Kernel, Read, SetIndex, SizeVar, Stmt, Store, tabulate

BLOCK_X, BLOCK_Y, M = Builtin("block_id", 0), Builtin("block_id", 1), SizeVar("m")
G = b("+", b("*", BLOCK_X, 256), TID)
INT_MAX = 2**31 - 1


def _kernel(*body: Stmt, sizes: tuple[str, ...] = ("n",), grid: tuple[IndexExpr, ...] | None = None) -> Kernel:
    extents = grid or (b("//", b("+", N, 255), 256), c(1), c(1))
    params = (array("x", f32, N), array("y", f32, N, out=True, inp=False))
    return Kernel("k", params, sizes, (256, 1, 1), (extents[0], extents[1], extents[2]), 32, body)


def _copy(guard: IndexExpr, place: IndexExpr = I) -> tuple[Stmt, ...]:
    return (SetIndex("i", G), If(guard, (Store("y", (place,), Read("x", (place,))),), ()))


def _most(kernel: Kernel) -> int:
    limits = safe_sizes(kernel)
    assert not limits.unbounded and not limits.together
    ((_, most),) = limits.most
    return most


def test_a_plain_copy_holds_up_to_the_last_thread_number() -> None:
    assert _most(_kernel(*_copy(cmp("<", I, N)))) == INT_MAX - 255


def test_the_text_says_up_to_which_sizes_it_holds() -> None:
    kernel = _kernel(*_copy(cmp("<", b("*", I, 1000), b("*", N, 1000))))
    line = cuda_source(kernel).text.split("\n")[1]
    assert line == f"// 32-bit indices and the grid suffice for every n from 0 to {_most(kernel)}."


def test_a_guard_with_products_overflows_early() -> None:
    most = _most(_kernel(*_copy(cmp("<", b("*", I, 1000), b("*", N, 1000)))))
    assert 1000 * (most + 254) <= INT_MAX < 1000 * (most + 256)


@pytest.mark.parametrize(
    ("body", "grid", "most"),
    [
        ((), (c(1), b("//", b("+", N, 3), 4), c(1)), 4 * 65535),
        ((), (c(1), c(1), N), 65535),
        ((), (b("*", N, 3), c(1), c(1)), INT_MAX // 3),
        ((loop("k", 0, SetIndex("j", b("*", N, 2))),), None, INT_MAX - 255),  # runs no time and is not printed
        ((Store("y", (b("-", c(5), b("*", N, 2)),), Read("x", (c(0),))),), (c(1), c(1), c(1)), INT_MAX // 2),  # 2 * n itself
    ],
)  # fmt: skip
def test_launches(body: tuple[Stmt, ...], grid: tuple[IndexExpr, ...] | None, most: int) -> None:
    assert _most(_kernel(*body, grid=grid)) == most


def test_a_matrix_is_limited_by_its_elements() -> None:
    row, col = b("+", b("*", BLOCK_Y, 1), 0), G
    body = (SetIndex("i", col), SetIndex("j", row), If(cmp("<", I, M), (Store("z", (row, I), Read("z", (row, I))),), ()))
    grid = (b("//", b("+", M, 255), 256), N, c(1))
    kernel = Kernel("k", (array("z", f32, N, M, out=True),), ("n", "m"), (256, 1, 1), grid, 32, body)
    limits = safe_sizes(kernel)
    assert dict(limits.most) == {"n": 65535, "m": INT_MAX - 255}
    assert limits.text.endswith(" with m*n + 254 < 2^31")
    assert limits.holds({"n": 40000, "m": 40000}) and limits.holds({"n": 1, "m": 2**30})
    assert not limits.holds({"n": 50000, "m": 50000}) and not limits.holds({"n": 65536, "m": 1})


def test_a_variable_that_grows_in_a_loop_is_followed() -> None:
    found = Growths(_kernel(SetIndex("i", c(1)), loop("k", 4, SetIndex("i", b("*", I, 10))))).of(b("*", I, N))
    assert found.high is not None and found.high.at({"n": 3}) == 3 * 10**4


def test_an_index_without_a_bound_is_told() -> None:
    body = (SetIndex("i", G), SetIndex("j", b("<<", c(1), N)), Store("y", (I,), Read("x", (b("<<", c(1), N),))))
    assert "no bound is known for" in safe_sizes(_kernel(*body)).unbounded


def test_the_grid_is_never_negative() -> None:
    text = cuda_source(_kernel(*_copy(cmp("<", I, N)), grid=(b("//", b("-", N, 30), 8), c(1), c(1)))).text
    assert "(n - 30) / 8" not in text and "? " in text.split("grid_size(")[1].split(";")[0]


def test_bounds_hold_on_random_expressions() -> None:
    """The bounds against the expressions' values, computed by another evaluator."""
    rng = random.Random(3)

    def made(depth: int) -> IndexExpr:
        if depth == 0 or rng.random() < 0.15:
            return rng.choice([TID, BLOCK_X, N, M, c(rng.randint(-5, 9)), c(rng.randint(1, 70))])
        if rng.random() < 0.1:
            return IndexSelect(cmp("<", made(depth - 1), made(depth - 1)), made(depth - 1), made(depth - 1))
        op = rng.choice(["+", "-", "*", "//", "%", "min", "max", "&", "|", "^", ">>"])
        right = c(rng.randint(1, 9)) if op in ("//", "%", ">>") else made(depth - 1)
        return b(op, made(depth - 1), right)

    growths = Growths(_kernel(sizes=("n", "m"), grid=(b("+", N, 1), c(1), c(1))))
    bounded = 0
    for _ in range(150):
        expr = made(3)
        found = growths.of(expr)
        if found.low is None or found.high is None:
            continue
        bounded += 1
        for _ in range(4):
            n, m = rng.choice([0, 1, 7, 100, 10**6]), rng.choice([0, 1, 5, 1000])
            values = {TID: rng.choice([0, 3, 255]), BLOCK_X: rng.choice([0, n // 2, n]), N: n, M: m}
            value = int(tabulate(expr, values))
            assert found.low.at({"n": n, "m": m}) <= value <= found.high.at({"n": n, "m": m}), (expr, values)
    assert bounded > 100


def test_bounds_of_quotients_are_within_one() -> None:
    growths = Growths(_kernel(sizes=("n",)))
    for by in (1, 2, 3, 7):
        for expr, value in (
            (b("//", N, by), 100 // by),
            (b("//", b("-", 3, N), by), -97 // by),
            (b("//", b("-", N, 3), by), 97 // by),
        ):
            found = growths.of(expr)
            assert found.low is not None and found.high is not None
            low, high = found.low.at({"n": 100}), found.high.at({"n": 100})
            assert low <= value <= high < value + 1 and (low == 0 <= value or value - 1 <= low)
