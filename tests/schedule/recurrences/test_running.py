"""Functions with a running result: what Python's own loops compute on NumPy's arrays, or refused at their place."""

# ruff: noqa: F821 (sizes are names of the language, and globals of the oracle)
import pickle
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from tests.gpu.calls.fake_driver import FakeDriver
from tests.gpu.calls.packages import Plain
from tests.schedule.calls.conftest import driver, make_driver  # noqa: F401 (fixtures)

import warploom as wl
from warploom import UserError, f32, f64, i32, i64
from warploom.scan.parallel import ArrayScan, compiled
from warploom.schedule import recurrences
from warploom.schedule.calls import Calls, Signature
from warploom.schedule.recurrences import EvaluatedRecurrence, read_recurrence, scan_runner, serial_loop
from warploom.schedule.recurrences.evaluation import Evaluation


def total(X: f64["n"], Y: wl.out[f64["n"]]):
    Y[0] = X[0]
    for i in range(1, n):
        Y[i] = Y[i - 1] + X[i]


def highest(X: i32["n"], Y: wl.out[i32["n"]]):
    Y[0] = X[0]
    for i in range(1, n):
        Y[i] = max(Y[i - 1], X[i])


def filtered(a: f32, X: f32["n"], Y: wl.out[f32["n"]]):
    Y[0] = X[0]
    for i in range(1, n):
        Y[i] = a * Y[i - 1] + X[i]


def scalar(X: i64["n"], Y: wl.out[i64["n"]]):
    """With a name that goes on."""
    s = 0
    for i in range(n):
        s += X[i]
        Y[i] = s


def exclusive(X: i64["n"], Y: wl.out[i64["n"]]):
    s = 0
    for i in range(n):
        Y[i] = s
        s += X[i]


def shifted(X: i64["n - 1"], Y: wl.out[i64["n"]]):
    Y[0] = 0
    for i in range(1, n):
        Y[i] = Y[i - 1] + X[i - 1]


def best(X: i32["n"], Y: wl.out[i32["n"]], Z: wl.out[i32["n"]]):
    """The greatest sum of neighbours that ends here, and that up to here."""
    a, b = 0, 0
    for i in range(n):
        a = max(a + X[i], 0)
        b = max(a, b)
        Y[i], Z[i] = a, b


def rows(A: f64["m", "n"], B: f64["m"], X: f64["m", "n"], Y: wl.out[f64["m", "n"]], Z: wl.out[f64["m", "n"]]):
    for r in range(m):
        s = B[r] * 2
        Y[r, 0] = X[r, 0]
        Z[r, 0] = 1
        for i in range(1, n):
            t = Y[r, i - 1] if X[r, i] > 0.5 else -X[r, i]
            s = s * A[r, i] + t * i
            Y[r, i] = t + s
            Z[r, i] = min(Z[r, i - 1], Y[r, i])


def columns(X: i32["n", "k", "m"], Y: wl.out[i32["n", "k", "m"]]):
    for c in range(k):
        for d in range(m):
            Y[0, c, d] = X[0, c, d]
            for i in range(1, n):
                Y[i, c, d] = Y[i - 1, c, d] - X[i, c, d]


def wide(X: f32["n"], Y: wl.out[f32["n"]]):
    """With a value of another type between."""
    s = 0.0
    for i in range(n):
        t = np.float64(s) * 3 + np.float64(X[i])
        s = np.float32(t)
        Y[i] = s if s < 5 or X[i] > 0.5 else -s


def swapped(X: i64["n"], Y: wl.out[i64["n"]]):
    a = 1
    b = 2
    for i in range(n):
        a, b = b, a + X[i]
        Y[i] = a


SHAPES = {"X": "n", "A": "mn", "B": "m"}
CASES: tuple[tuple[Callable[..., Any], dict[str, str]], ...] = (
    (total, {}),
    (highest, {}),
    (filtered, {}),
    (scalar, {}),
    (exclusive, {}),
    (best, {}),
    (swapped, {}),
    (wide, {}),
    (rows, {"X": "mn"}),
    (columns, {"X": "nkm"}),
)


def by_python(
    function: Callable[..., Any], sizes: dict[str, int], given: dict[str, Any], shape: tuple[int, ...]
) -> list[np.ndarray]:
    """The outputs that the function writes, run as it stands."""
    plain = FunctionType(function.__code__, {**function.__globals__, **sizes})
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    outputs = {name: np.full(shape, 77, given["X"].dtype) for name in names if name not in given}
    plain(**given, **outputs)
    return list(outputs.values())


def given_to(
    function: Callable[..., Any], shapes: dict[str, str], sizes: dict[str, int]
) -> tuple[dict[str, Any], tuple[int, ...]]:
    rng = np.random.default_rng(5)
    found: dict[str, Any] = {}
    dtype = np.dtype(str({"f32": "f4", "f64": "f8", "i32": "i4", "i64": "i8"}[read_recurrence(function, {}).dtype.name]))
    for name in function.__code__.co_varnames[: function.__code__.co_argcount]:
        if name == "a":
            found[name] = np.float32(0.75)
        elif name in SHAPES:
            shape = tuple(sizes[s] for s in shapes.get(name, SHAPES[name]))
            found[name] = rng.random(shape).astype(dtype) if dtype.kind == "f" else rng.integers(-9, 10, shape).astype(dtype)
    return found, tuple(sizes[s] for s in shapes.get("X", "n"))


def ways(function: Callable[..., Any]) -> list[Any]:
    """Compiled, and evaluated by NumPy."""
    made = read_recurrence(function, {})
    signature = Signature(made.name, made.arrays, made.scalars, made.parameters, made.sizes)
    return [wl.jit(function), lambda **given: Calls(signature, lambda sizes: EvaluatedRecurrence(made, sizes))((), given)]


@pytest.mark.parametrize(("function", "shapes"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_what_python_computes(function: Callable[..., Any], shapes: dict[str, str]) -> None:
    for call in ways(function):
        for n in (1, 2, 7):
            sizes = {"n": n, "m": 3, "k": 2}
            given, shape = given_to(function, shapes, sizes)
            wanted, got = by_python(function, sizes, given, shape), call(**given)
            for one, other in zip(got if isinstance(got, tuple) else (got,), wanted, strict=True):
                if other.dtype.kind == "f":
                    np.testing.assert_allclose(one, other, rtol=2e-6)
                else:
                    np.testing.assert_array_equal(one, other, strict=True)


def test_as_numpy_accumulates() -> None:
    X = np.random.default_rng(1).random(100)
    call = wl.jit(total)
    np.testing.assert_array_equal(call(X), np.cumsum(X))
    np.testing.assert_array_equal(wl.jit(highest)(np.arange(9, -9, -1, np.int32)), np.full(18, 9, np.int32))
    room = np.zeros(200)
    assert call(X, out=room[::2]).base is room
    np.testing.assert_array_equal(room[::2], np.cumsum(X))
    assert call(X[:0]).shape == (0,) and call.kind(X) in ("plain", "evaluated")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(call))(X), np.cumsum(X))
    np.testing.assert_array_equal(wl.jit(shifted)(np.arange(4)), [0, 0, 1, 3, 6])
    np.testing.assert_array_equal(wl.jit(shifted)(np.arange(0)), [0])


def padded(X: f64["m", "n"], Y: wl.out[f64["m", "n"]]):
    Y[r, i] = pad(Y, 2)[r, i - 1] * pad(X, 1)[r, i + 1]


def ahead(X: f64["n"], Y: wl.out[f64["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + pad(X, 1)[i + 1]


def test_one_statement_and_what_is_outside() -> None:
    for call in ways(ahead):
        for n in (3, 1, 5):
            np.testing.assert_array_equal(call(X=np.arange(n) * 1.0), np.cumsum([*range(1, n), 1]))
    X = np.random.default_rng(2).random((3, 5)) + 0.5
    wanted = 2 * np.cumprod(np.concatenate([X[:, 1:], np.ones((3, 1))], 1), 1)
    for call in ways(padded):
        np.testing.assert_allclose(call(X=X), wanted, rtol=1e-12)


def test_it_is_handed_to_scan() -> None:
    """Verdict, operator and texts are those of `scan` for the loop."""
    call = wl.jit(total)
    found = wl.explore(call)
    assert found.verdict == "proved" and found.domain == "reals" and found.operator == "def operator(a, b):\n    return a + b"
    assert found.kind == "scan" and "def scan" not in call.loop and "for x_i in xs:" in call.loop
    X = np.arange(5.0)
    np.testing.assert_array_equal(found(X), np.cumsum(X))
    assert "combine" in found.emit("cuda", check=False).source
    assert "Y[i + 1]" in call.code({"n": 5})
    with pytest.raises(UserError, match=r"OPTION.*expected no options of a search for 'total', which has a running result"):
        wl.explore(call, nodes=3)


def squared(X: f64["n"], Y: wl.out[f64["n"]]):
    s = 0.0
    for i in range(n):
        s = s * s + X[i]
        Y[i] = s


def test_no_operator_is_no_verdict() -> None:
    """A loop that scan does not prove is not proved here, and called all the same."""
    call = wl.jit(squared)
    found = call.lift()
    assert found.verdict == "unchecked" and "closed under composition" in found.reason
    np.testing.assert_array_equal(found(np.array([1.0, 2.0, 3.0])), [1, 3, 12])


def tanh_of(X: f64["n"], Y: wl.out[f64["n"]]):
    s = 0.0
    for i in range(n):
        s = tanh(s) + X[i]
        Y[i] = s


def test_pad_by_another_name() -> None:
    def later(X: f64["n"], Y: wl.out[f64["n"]]):
        Y[i] = wl.pad(Y, 2)[i - 1] + X[i]

    assert wl.jit(later)(np.ones(3)).tolist() == [3, 4, 5]


def test_a_loop_that_scan_has_no_words_for() -> None:
    call = wl.jit(tanh_of)
    np.testing.assert_allclose(call(np.ones(2)), [1, 1 + np.tanh(1)])
    told = "expected + - * / max min abs and conditions of running values, got tanh"
    for found in (call.lift(), wl.explore(call), call.tune(np.ones(2))):
        assert (found.status, found.verdict, found.reason, found.lifting) == ("unknown", "unchecked", told, None)


def averaged(X: f64["n"], Y: wl.out[f64["n"]]):
    s = 0.0
    for i in range(n):
        s += X[i]
        Y[i] = s / (i + 1)


def other_than(X: f64["n"], Y: wl.out[f64["n"]]):
    s = 0.0
    for i in range(n):
        s = s + X[i] if X[i] != 0 else 0.0
        Y[i] = s


def within(X: f64["n"], Y: wl.out[f64["n"]]):
    s = 0.0
    for i in range(n):
        s = s + X[i] if not (X[i] > 3 or X[i] < 0) and X[i] != 1 else s
        Y[i] = s


def lagging(X: f64["n"], Y: wl.out[f64["n"]]):
    """With a condition of a running value that is no comparison."""
    s = 0.0
    for i in range(n):
        s = X[i] if not (s > 3 and X[i] < 2) else s
        Y[i] = s


@pytest.mark.parametrize(("function", "is_lifted"), [(averaged, True), (other_than, True), (within, True), (lagging, False)])
def test_conditions_and_divisors_in_the_text_of_the_loop(function: Callable[..., Any], is_lifted: bool) -> None:
    X = np.array([1.0, 2, 0, 4, 5, -1, 0, 2, 3])
    call, sizes = wl.jit(function), {"n": len(X)}
    (wanted,) = by_python(function, sizes, {"X": X}, X.shape)
    loop, evaluation = serial_loop(call.recurrence), Evaluation(call.recurrence, sizes, {"X": X}, ())
    lists: list[list[float]] = [[] for _ in loop.elements]
    for evaluation.places["i"] in range(len(X)):
        for column, element in zip(lists, loop.elements, strict=True):
            column.append(float(evaluation.value(element, f64)))
    scope: dict[str, Any] = {}
    exec(loop.text, scope)
    np.testing.assert_allclose(scope[loop.name](*lists), wanted, rtol=1e-12)
    np.testing.assert_allclose(call(X), wanted, rtol=1e-12)
    assert (call.lift().verdict == "proved") is is_lifted


@pytest.mark.parametrize(("function", "dtype"), [(total, "f8"), (scalar, "i8"), (exclusive, "i8")])
def test_the_scan_by_several_threads(function: Callable[..., Any], dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "PART", 64)
    made = read_recurrence(function, {})
    operator = wl.jit(function).lift().lifting.operator
    X = np.random.default_rng(3).integers(-50, 50, 1000).astype(dtype)
    Y = np.zeros_like(X)
    serial = EvaluatedRecurrence(made, {"n": 1000})
    runner = scan_runner(made, {"n": 1000}, serial_loop(made), operator, serial, 4)
    assert runner is not None and runner.kind == "scan"
    runner.run([X, Y], ())
    wanted = np.cumsum(X)
    np.testing.assert_array_equal(Y, np.concatenate([[0], wanted[:-1]]) if function is exclusive else wanted)


def test_numbers_of_which_no_proof_speaks_go_the_serial_way() -> None:
    made = read_recurrence(total, {})
    loop, operator = serial_loop(made), wl.jit(total).lift().lifting.operator

    class Serial:
        kind = "plain"
        runs = 0

        def run(self, arrays: Any, scalars: Any) -> None:
            self.runs += 1

    for values, runs in (([1.0, np.inf, 2.0], 1), ([1.0, np.nan, 2.0], 1), ([1e308, 1e308, 0.0], 1), ([1.0, 2.0, 3.0], 0)):
        serial = Serial()
        runner = scan_runner(made, {"n": 3}, loop, operator, serial, 2)
        assert runner is not None
        runner.run([np.array(values), np.zeros(3)], ())
        assert serial.runs == runs


def linear(a: f64, X: f64["n"], Y: wl.out[f64["n"]]):
    s = 0.0
    for i in range(n):
        s = a * s + X[i]
        Y[i] = s


def test_what_the_scan_does_not_compute_as_the_loop_does() -> None:
    """Powers of `a` leave the doubles before a result does; floats of 32 bits and rows are not for it."""
    for function in (linear, filtered, rows):
        made = read_recurrence(function, {})
        operator = wl.jit(total).lift().lifting.operator if function is rows else wl.jit(function).lift().lifting.operator
        sizes = dict.fromkeys(made.sizes, 4)
        assert scan_runner(made, sizes, serial_loop(made), operator, EvaluatedRecurrence(made, sizes), 4) is None
    X = np.concatenate([np.zeros(2000), [1.0]])
    assert wl.jit(linear)(2.0, X)[-1] == 1


def test_tune_takes_what_is_faster() -> None:
    call = wl.jit(threads=2)(total)
    X = np.arange(10.0)
    assert call.tune(X).verdict == "proved" and call.kind(X) in ("plain", "scan", "evaluated")
    np.testing.assert_array_equal(call(X), np.cumsum(X))


def test_on_a_gpu(driver: FakeDriver) -> None:  # noqa: F811
    X = np.random.default_rng(4).random((3, 5)).astype(np.float32)
    call = wl.jit(rows32)
    given = Plain(driver, X), Plain(driver, X * 0)
    call(*given)
    driver.drain(0)
    np.testing.assert_allclose(given[1].host(), np.cumsum(X, 1), rtol=1e-6)
    assert not driver.findings


def rows32(X: f32["m", "n"], Y: wl.out[f32["m", "n"]]):
    Y[r, i] = pad(Y, 0)[r, i - 1] + X[r, i]


# ---------------------------------------------------------------- what is refused


def sums(X: f64["m", "n"], Y: wl.out[f64["m", "n"]]):
    Y[r, i] = Y[r, i - 1] + 2 * X[r, i]


def products(X: i64["n"], Y: wl.out[i64["n"]]):
    Y[i] = X[i] * Y[i - 1]


def greatest(X: f32["n"], Y: wl.out[f32["n"]]):
    Y[i] = max(Y[i - 1], X[i])


def least(X: i32["n"], Y: wl.out[i32["n"]]):
    Y[i] = min(X[i], Y[i - 1])


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (sums, lambda X: np.cumsum(2 * X, axis=1)),
        (products, np.cumprod),
        (greatest, np.maximum.accumulate),
        (least, np.minimum.accumulate),
    ],
)
def test_the_first_result_over_one_element_is_that_element(function: Callable[..., Any], wanted: Callable[[Any], Any]) -> None:
    X = np.array([[-3, 5, 2, -7], [2, 2, -1, 4]])
    X = X.astype({"sums": "f8", "products": "i8", "greatest": "f4", "least": "i4"}[function.__name__])
    X = X if function is sums else X[0]
    made = wl.jit(function)
    assert made(X).tolist() == wanted(X).tolist()
    assert made.lift().verdict == "proved"


def no_fold(X: f32["n"], Y: wl.out[f32["n"]]):
    Y[i] = Y[i - 1] - X[i]


def twice_before(X: f32["n"], Y: wl.out[f32["n"]]):
    Y[i] = Y[i - 1] + Y[i - 1] * X[i]


def no_first(X: f32["n"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = Y[i - 1] + X[i]


def further_back(X: f32["n"], Y: wl.out[f32["n"]]):
    Y[0] = 1
    for i in range(1, n):
        Y[i] = Y[i - 1] + Y[i - 2]


def first_too_late(X: f32["n"], Y: wl.out[f32["n"]]):
    for i in range(1, n):
        Y[i] = pad(Y, 0)[i - 1] + X[i]


def first_twice(X: f32["n"], Y: wl.out[f32["n"]]):
    Y[0] = X[0]
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + X[i]


def second_first(X: f32["n"], Y: wl.out[f32["n"]]):
    Y[1] = X[0]
    for i in range(1, n):
        Y[i] = Y[i - 1] + X[i]


def backwards(X: f32["n"], Y: wl.out[f32["n"]]):
    for i in range(n - 1, -1, -1):
        Y[i] = Y[i + 1] + X[i]


def other_call(X: f32["n"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = abs(Y)[i - 1] + X[i]


def two_pads(X: f32["n"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + pad(Y, 1)[i - 1]


def half_padded(X: f32["n"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = Y[i - 1] + pad(Y, 1)[i - 1]


def behind(X: f32["n"], Y: wl.out[f32["n"]]):
    s = 0.0
    for i in range(n):
        s += X[i]
        Y[i] = s
    Y[0] = 1


def across_rows(X: f32["m", "n"], Y: wl.out[f32["m", "n"]]):
    s = 0.0
    for r in range(m):
        for i in range(n):
            s += X[r, i]
            Y[r, i] = s


def of_a_sum(X: f32["n", "k"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + sum(X[i, j], over=j)


def other_index(X: f32["n", "k"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + X[i, j]


def other_type(N: i32["n"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + N[i]


def mixed(X: f32["n"], Y: wl.out[f32["n"]], Z: wl.out[f64["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + X[i]
        Z[i] = 1


def short(X: f32["n"], Y: wl.out[f32["n + 1"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + X[i]


def not_stored(X: f32["n"], Y: wl.out[f32["n"]], Z: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + X[i]


def branching(X: f32["n"], Y: wl.out[f32["n"]]):
    s = 0.0
    for i in range(n):
        if X[i] > 0:
            s += X[i]
        Y[i] = s


def moving_start(X: f32["n"], Y: wl.out[f32["n"]]):
    s = X[i]
    for i in range(n):
        s += X[i]
        Y[i] = s


def turned(X: f32["n", "n"], Y: wl.out[f32["n", "n"]]):
    Y[0, r] = X[0, r]
    for i in range(1, n):
        Y[r, i] = Y[r, i - 1] + X[r, i]


def in_place(X: f32["n"], y: wl.inout[f32["n"]]):
    for i in range(n):
        y[i] = pad(y, 0)[i - 1] + X[i]


def gathered(X: f32["n"], N: i32["n"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + X[N[i]]


def unknown(X: f32["n"], Y: wl.out[f32["n"]]):
    s = 0.0
    for i in range(n):
        s += t
        Y[i] = s
        t = X[i]  # noqa: F841


def half(X: i32["n"], Y: wl.out[i32["n"]]):
    s = 0.5
    for i in range(n):
        s += X[i]
        Y[i] = s


def first_of_other_type(X: f32["n"], N: i32["n"], Y: wl.out[f32["n"]]):
    s = N[0]
    for i in range(n):
        s += X[i]
        Y[i] = s


def step_of_other_type(X: f32["n"], Y: wl.out[f32["n"]]):
    s = 0.0
    for i in range(n):
        s = f64(s) + f64(X[i])
        Y[i] = f32(s)


def no_first_in_rows(X: f32["m", "n"], Y: wl.out[f32["m", "n"]]):
    for r in range(m):
        for i in range(n):
            Y[r, i] = max(X[r, i], Y[r, i - 1])


@pytest.mark.parametrize(
    ("function", "first", "alone"),
    [
        (no_first, "Y[0] = X[0]", "Y[i] = Y[i - 1] + X[i]"),
        (no_first_in_rows, "Y[r, 0] = X[r, 0]", "Y[r, i] = max(X[r, i], Y[r, i - 1])"),
    ],
)
def test_a_loop_from_0_on_is_told_what_to_write(function: Callable[..., object], first: str, alone: str) -> None:
    with pytest.raises(UserError) as caught:
        read_recurrence(function, {})
    wanted = f"Write {first} before the loop over i, which then begins at 1; or only {alone}, without loops."
    assert caught.value.diagnostics[0].fix == wanted


@pytest.mark.parametrize("function", [no_fold, twice_before])
def test_what_is_no_fold_is_told_the_form(function: Callable[..., object]) -> None:
    with pytest.raises(UserError) as caught:
        read_recurrence(function, {})
    assert str(caught.value.diagnostics[0].fix).startswith("Write Y[0] = ... first")


@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        (half, "DTYPE", "0.5"),
        (first_of_other_type, "DTYPE", "expected a first value of type f32 for 's', got i32"),
        (step_of_other_type, "DTYPE", "expected a value of type f32 for 's', which the next iteration reads, got f64"),
        (no_fold, "READ_BEFORE_STORE", r"expected a value before the first element, got Y\[i - 1\].* at i = 0"),
        (twice_before, "READ_BEFORE_STORE", r"expected a value before the first element, got Y\[i - 1\].* at i = 0"),
        (no_first, "READ_BEFORE_STORE", r"expected a value before the first element, got Y\[i - 1\].* at i = 0"),
        (further_back, "READ_BEFORE_STORE", r"expected Y at the element before, .*, got Y\[i - 2\]"),
        (first_too_late, "NOT_STORED", "expected a first element of 'Y', got a loop from 1 on"),
        (first_twice, "WRITTEN_TWICE", "expected a loop from 1 on behind a first element of 'Y'"),
        (second_first, "RUNNING", r"expected the first element of 'Y' before the loop, got Y\[1\]"),
        (backwards, "RUNNING", r"from 0 or 1 on, got for i in range\(n - 1, -1, -1\)"),
        (other_call, "CALL", r"expected pad\(Y, number\), got abs\(Y\)"),
        (two_pads, "RUNNING", "expected one value before the first element of 'Y', got several"),
        (half_padded, "RUNNING", "expected one value before the first element of 'Y', got several"),
        (behind, "RUNNING", "expected nothing behind the loop"),
        (across_rows, "RUNNING", "expected the loop over r, from 0 on, around all that rows do"),
        (of_a_sum, "RUNNING", "expected elements and arithmetic in a running result, got a sum over an index"),
        (other_index, "RUNNING", "expected only the indices of the stores, i, got j"),
        (other_type, "DTYPE", "expected operands of one type, got f32 and i32"),
        (mixed, "DTYPE", "expected running results of one type"),
        (short, "SIZE_MISMATCH", r"expected 'i' to run over the whole axis of 'Y', n \+ 1, got n"),
        (not_stored, "NOT_STORED", "expected a store to 'Z' in the loop"),
        (branching, "UNSUPPORTED_PYTHON", "expected assignments in the loop of a running result, got if"),
        (moving_start, "RUNNING", "expected a first value of 's' that does not depend on i"),
        (turned, "RUNNING", "expected a first element along the axis of 'Y' that the loop runs over"),
        (in_place, "RUNNING", "expected outputs in a function with a running result, got 'y'"),
        (gathered, "RUNNING", "expected elements and arithmetic in a running result, got a gather"),
        (unknown, "UNKNOWN_NAME", "unknown name 't'"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_refused(function: Callable[..., Any], code: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        wl.jit(function)
    assert raised.value.diagnostics[0].code == code and raised.value.diagnostics[0].fix


def outside(X: f32["n"], Y: wl.out[f32["n"]]):
    for i in range(n):
        Y[i] = pad(Y, 0)[i - 1] + X[i + 1]


def test_an_element_outside_is_refused_at_the_call() -> None:
    with pytest.raises(UserError, match=r"INDEX_OUT_OF_RANGE.*expected indices from 0 to 4 on axis 0 of 'X', got 1 to 5"):
        wl.jit(outside)(np.zeros(5, np.float32))


def test_loops_without_a_running_result_stay_tensor_functions() -> None:
    def plain(X: f32["n"], y: wl.out[f32["n"]]):
        for i in range(n):
            y[i] = X[i]

    assert not recurrences.is_recurrence(plain) and ArrayScan
    with pytest.raises(UserError, match="Leave the loop out: indices run by themselves"):
        wl.jit(plain)
