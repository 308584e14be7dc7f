"""Expressions in other languages, by the text."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import pytest

from warploom import scan
from warploom.core import UnsupportedError
from warploom.ir.swizzle import Composition, Rot
from warploom.scan.emit import cuda_scan, peers, running, shared
from warploom.scan.emit.cub import cub_source
from warploom.scan.emit.dialect import NUMBA, NUMPY, TRITON, C, Dialect, Types
from warploom.scan.emit.numba_module import numba_source
from warploom.scan.emit.numpy_module import numpy_source
from warploom.scan.emit.printer import Printer, repeated
from warploom.scan.emit.triton_module import triton_source
from warploom.scan.layouts import Padding, Plain, Swizzle
from warploom.scan.networks.network import Dot
from warploom.scan.operators import expression as ex

X, Y, P = ex.variable("x", ex.INT), ex.variable("y", ex.INT), ex.variable("p", ex.BOOL)
R, T = ex.variable("r", ex.REAL), ex.variable("t", ex.TEXT)
NAMES = {X: "x", Y: "y", P: "p", R: "r", T: "t"}


def printed(expr: ex.Expr, dialect: Dialect, infinite: dict[ex.Expr, tuple[bool, bool]] | None = None) -> str:
    return Printer(dialect, Types(), NAMES, infinite or {}).text(expr)


def test_sums_products_and_branches() -> None:
    expr = ex.select(P, ex.maximum(X, ex.add(Y, ex.constant(1))), ex.subtract(ex.multiply(X, Y), ex.constant(3)))
    assert printed(expr, C) == "p ? largest<int>(x, y + 1) : x * y - 3"
    assert printed(expr, NUMBA) == "max(x, y + 1) if p else x * y - 3"
    assert printed(expr, TRITON) == "tl.where(p, tl.maximum(x, y + 1), x * y - 3)"
    assert printed(expr, NUMPY) == "_either(p, np.maximum(x, y + 1), x * y - 3, kind)"


def test_constants_have_the_type_of_what_is_computed_in_triton() -> None:
    """By itself Triton takes 3000000000 for an unsigned word, 2 for 32 bits, and 0.1 for single precision."""
    wide = Printer(TRITON, Types("int64", "float64"), NAMES, {})
    choice = ex.select(P, ex.constant(3000000000), ex.constant(-1))
    assert wide.text(choice) == "tl.where(p, tl.full((), 3000000000, tl.int64), tl.full((), -1, tl.int64))"
    assert wide.text(ex.constant(Fraction(1, 10))) == "tl.full((), 0.1, tl.float64)"
    assert printed(ex.more_than(X, ex.constant(3000000000)), TRITON) == "(x >= tl.full((), 3000000001, tl.int64))"


def test_logic_is_parenthesised_as_each_language_needs() -> None:
    expr = ex.both(ex.negation(P), ex.at_least(X, ex.constant(2)))
    assert sorted(printed(expr, C).split(" && ")) == ["!p", "x >= 2"]
    assert sorted(printed(expr, NUMPY).split(" & ")) == ["(x >= 2)", "~p"]
    bits = ex.at_least(ex.bitwise("bitand", X, Y), ex.constant(1))
    assert printed(bits, C) == "(x & y) >= 1"


def test_whole_number_infinities_are_guarded_in_sums() -> None:
    expr = ex.add(X, Y)
    assert printed(expr, C) == "x + y"
    assert printed(expr, C, {X: (True, False)}) == "x == INT_BELOW ? INT_BELOW : x + y"
    assert printed(ex.subtract(Y, X), C, {X: (True, False)}) == "x == INT_BELOW ? INT_ABOVE : y - x"
    assert printed(expr, NUMPY, {X: (True, False)}) == "_either((x == INT_BELOW), INT_BELOW, x + y, kind)"
    assert printed(ex.add(R, ex.constant(1)), C, {R: (True, False)}) == "r + 1.0f"
    with pytest.raises(UnsupportedError, match="a product with what may be infinite"):
        printed(ex.multiply(X, Y), C, {X: (True, False)})


def test_rounding_down_and_wide_remainders() -> None:
    expr = ex.remainder(ex.multiply(X, Y), 1000000007)
    assert printed(expr, C) == "floor_remainder<long long>((long long)x * (long long)y, 1000000007LL)"
    assert printed(ex.floor_quotient(X, 3), NUMPY) == "x // 3"


def test_kinds_meet() -> None:
    assert printed(ex.quotient(X, Y), C) == "(float)x / (float)y"
    assert printed(ex.add(R, X), C) == "r + (float)x"
    assert printed(ex.select(P, ex.constant(-math.inf), R), C) == "p ? (-INFINITY_F) : r"


def test_what_a_language_lacks_is_named() -> None:
    with pytest.raises(UnsupportedError, match="triton can express, got gcd"):
        printed(ex.greatest_common_divisor(X, Y), TRITON)
    with pytest.raises(UnsupportedError, match="the text 'ab'"):
        printed(ex.equal(T, ex.constant("ab")), C)


def test_repeated_expressions() -> None:
    wide = ex.maximum(ex.add(X, Y), ex.constant(0))
    assert repeated([ex.add(wide, X), ex.add(wide, Y)]) == [wide]


def test_a_guarded_quotient_divides_by_no_zero_in_any_language() -> None:
    expr = ex.quotient(R, X, is_guarded=True)
    assert printed(expr, C) == "x != 0 ? r / (float)x : 0.0f"
    assert printed(expr, NUMBA) == "r / float32(x) if x != 0 else 0.0"
    assert printed(expr, TRITON).startswith("tl.where((x != 0), r / ")
    assert printed(expr, NUMPY).startswith("np.where((x != 0), r / ")
    assert printed(ex.quotient(R, X), C) == "r / (float)x"


LOOP = "def f(xs: list[int], k: int):\n    s = 0\n    for x in xs: s = s + k * x\n    return s\n"


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (cub_source, "a CUB functor"), (cuda_scan, "CUDA"), (numba_source, "a Numba kernel"), (numpy_source, "a NumPy module"),
        (triton_source, "a Triton combine_fn"),
    ],
)  # fmt: skip
def test_combinations_are_of_two_values_only(source: Callable[[scan.Operator], object], target: str) -> None:
    """Functors have no other parameters, which the lift may use."""
    found = scan.lift(scan.read_loop(scan.parse_module(LOOP), "f")).operator
    assert found is not None and source(found)
    (constant,) = found.loop.constants
    dependent = replace(found, combine=(ex.add(*found.combine, constant),))
    with pytest.raises(UnsupportedError, match=f"that {target} can express, got an operator that depends on the func"):
        source(dependent)


def test_names_that_are_bound_nowhere() -> None:
    with pytest.raises(UnsupportedError, match="can express, got the name z"):
        printed(ex.add(X, ex.variable("z", ex.INT)), C)


def test_layouts_without_a_formula() -> None:
    assert shared.place(Plain()) == "e" and shared.place(Padding((8,))) == "e + e / 8"
    with pytest.raises(UnsupportedError, match="can express, got the swizzle"):
        shared.place(Swizzle(8, Composition("i", (Rot(8, 1),))))
    with pytest.raises(UnsupportedError, match="can express, got a network whose steps follow no pattern"):
        shared.packed((Dot(1, 0), Dot(2, 0), Dot(7, 0), Dot(9, 0), Dot(20, 0)))


def test_kernels_that_do_not_end_well_give_no_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "launch", lambda *_, **__: SimpleNamespace(status="stuck", findings=["a race"], arrays=[None]))
    with pytest.raises(RuntimeError, match=r"stuck: .*a race"):
        peers._ran("", "scan_block", 1, [], 0, 1)
    with pytest.raises(peers.NotInstalledError, match="a package"):
        peers._module("warploom.nothing_of_this_name", "a package")


@pytest.mark.parametrize("ended", [("stuck", ()), ("finished", ("a race",))])
def test_findings_of_a_kernel_are_no_results(ended: tuple[str, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    found = scan.lift(scan.read_loop(scan.parse_module(LOOP), "f")).operator
    assert found is not None
    made, (status, findings) = cuda_scan(found), ended
    fault = [SimpleNamespace(kind=f) for f in findings]
    monkeypatch.setattr(running, "launch", lambda *_, **__: SimpleNamespace(status=status, findings=fault, arrays=[[0]] * 9))
    with pytest.raises(RuntimeError, match=f"scan_warp: {status}"):
        running.run_kernel(made, None, "scan_warp", [[1]], [1], 32, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("dialect", [C, NUMBA, TRITON, NUMPY])
def test_bits_are_joined_by_their_own_signs(dialect: Dialect) -> None:
    assert printed(ex.bitwise("bitand", X, Y), dialect) == "x & y"
    assert printed(ex.bitwise("bitor", X, Y), dialect) == "x | y"
    assert printed(ex.bitwise("bitxor", X, Y), dialect) == "x ^ y"


def test_numbers_of_c_have_their_type_and_are_rounded_once() -> None:
    assert printed(ex.constant(-(2**31)), C) == "(-2147483647 - 1)"
    assert printed(ex.constant(3_000_000_000), C) == "3000000000"
    assert printed(ex.add(R, ex.constant(Fraction(1, 3))), C) == "r + 0.33333334f"
    assert printed(ex.add(R, ex.constant(1 + Fraction(1, 2**24))), C) == "r + 1.0f"
    assert printed(ex.bitwise("bitand", ex.add(X, Y), ex.bitwise("bitor", X, Y)), C) == "(x + y) & (x | y)"


def test_a_quotient_of_numbers_is_left_to_the_library() -> None:
    """Python would raise for a zero below, although the quotient is a branch that nobody takes."""
    expr = ex.select(P, R, ex.quotient(ex.constant(0), ex.constant(0)))
    assert printed(expr, NUMPY) == "np.where(p, r, np.divide(0.0, 0.0))"
    assert printed(expr, TRITON) == "tl.where(p, r, tl.full((), 0.0, tl.float32) / 0.0)"
    assert printed(expr, C) == "p ? r : 0.0f / 0.0f"
