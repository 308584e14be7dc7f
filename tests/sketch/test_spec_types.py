"""Integers of a spec that is read: C's types, shifts, quotients."""

import numpy as np
import pytest
from tests.sketch.helpers import body, problem

import warploom as wl
from warploom.core import UserError
from warploom.ir import kernel_text, parse_kernel
from warploom.sketch import parse_spec
from warploom.synth.proof.concrete import typed_array
from warploom.synth.proof.prove import prove
from warploom.synth.proof.symbolic import run_spec
from warploom.terms import algebra_for


@wl.sketch(block=4)
def narrow(x: wl.Global[wl.i8, 4], s: wl.Global[wl.i8, 4], f: wl.Global[wl.f32, 4], y: wl.Global[wl.i32, 4]):
    i = wl.thread_id()
    y[i] = wl.cast(wl.i32, x[i]) + wl.cast(wl.i32, s[i])
    f[i] = wl.literal(wl.f32, 0)


def read(spec) -> str:
    return body(parse_spec(spec, narrow.kernel))


def code_of(spec) -> str:
    with pytest.raises(UserError) as error:
        parse_spec(spec, narrow.kernel)
    return error.value.diagnostics[0].code


def test_sums_are_int():
    def spec(x, s, y):
        for i in range(4):
            y[i] = x[i] + s[i]

    assert "cast(i32, x[i]) + cast(i32, s[i])" in read(spec)


def test_the_greater_of_two_bytes_is_a_byte():
    def spec(x, s, y):
        for i in range(4):
            y[i] = max(x[i], s[i]) >> 2

    assert "max(x[i], s[i]) >> " in read(spec)


def test_shift_past_the_width():
    def spec(x, y):
        for i in range(4):
            y[i] = x[i] >> 32

    assert code_of(spec) == "SHIFT_COUNT"


def test_a_byte_is_shifted_as_an_int():
    def spec(x, y):
        for i in range(4):
            y[i] = x[i] << 20

    assert "cast(i32, x[i]) <<" in read(spec)


@pytest.mark.parametrize("kind", ["nested", "named", "float", "summed"])
def test_quotients_are_stored_at_once(kind: str):
    def nested(x, s, y):
        for i in range(4):
            y[i] = x[i] / s[i] * s[i]

    def named(x, s, y):
        for i in range(4):
            q = x[i] / s[i]
            y[i] = q

    def fraction(x, s, f):
        for i in range(4):
            f[i] = x[i] / s[i]

    def summed(x, s, y):
        for i in range(4):
            y[i] += x[i] / s[i]

    assert code_of({"nested": nested, "named": named, "float": fraction, "summed": summed}[kind]) == "INTEGER_DIVISION"


def test_a_stored_quotient():
    def spec(x, s, y):
        for i in range(4):
            y[i] = x[i] / s[i]
            y[i] /= s[i]

    assert "cast(i32, x[i]) / cast(i32, s[i])" in read(spec)


def test_division_by_the_number_zero():
    def spec(x, y):
        for i in range(4):
            y[i] = x[i] / 0

    assert code_of(spec) == "DIVISION_BY_ZERO"


def shifted_out(x: wl.Global[wl.i8, 4], y: wl.Global[wl.i8, 4]):
    i = wl.thread_id()
    y[i] = x[i] >> 8


def shifted_back(x: wl.Global[wl.i8, 4], y: wl.Global[wl.i8, 4]):
    i = wl.thread_id()
    y[i] = x[i] << -1


def shifted_index(x: wl.Global[wl.i8, 4], y: wl.Global[wl.i8, 4]):
    i = wl.thread_id()
    y[i] = x[(i << 32) >> 32]


@pytest.mark.parametrize("function", [shifted_out, shifted_back, shifted_index])
def test_shifts_of_a_sketch(function):
    assert problem(function, block=4).code == "SHIFT_COUNT"


def test_signs_are_int():
    def spec(x, s, y):
        for i in range(4):
            y[i] = -x[i] + ~s[i]

    assert "-cast(i32, x[i]) + cast(i32, ~s[i])" in read(spec)


def test_alternatives_have_one_type():
    """Python keeps the type of each; C converts both."""

    def spec(x, s, y):
        for i in range(4):
            y[i] = x[i] if i > 2 else y[i]

    assert code_of(spec) == "MIXED_ALTERNATIVES"

    def way(k, a, b):
        if k > 2:
            return a
        b = b + 1
        return b  # noqa: RET504

    def returned(x, y):
        for i in range(4):
            y[i] = way(i, x[i], y[i])

    assert code_of(returned) == "RETURN"


def test_floors_keep_signs():
    """`//` and `%` may stand inside; i8 is computed as int."""

    def spec(x, s, y):
        for i in range(4):
            y[i] = x[i] // 3 * s[i] + x[i] % 7

    assert "cast(i32, x[i]) // i32(3) * cast(i32, s[i]) + cast(i32, x[i]) % i32(7)" in read(spec)


@wl.sketch(block=4)
def signs(x: wl.Global[wl.i32, 4], u: wl.Global[wl.u32, 4], y: wl.Global[wl.u32, 4]):
    i = wl.thread_id()
    y[i] = u[i] + wl.cast(wl.u32, x[i])


def mixed(x, u, y):
    for i in range(4):
        y[i] = x[i] // u[i]


def mixed_rest(x, u, y):
    for i in range(4):
        y[i] = u[i] % x[i]


def minus(u, y):
    for i in range(4):
        y[i] = u[i] // -2


def counted(u, y):
    for i in range(4):
        y[i] = u[i] // (i + 1)


@pytest.mark.parametrize("spec", [mixed, mixed_rest, minus, counted])
def test_floors_of_two_signs(spec):
    with pytest.raises(UserError) as error:
        parse_spec(spec, signs.kernel)
    assert error.value.diagnostics[0].code == "DTYPE_MISMATCH"


@pytest.mark.parametrize("spec", [mixed, mixed_rest, minus])
def test_floors_of_two_signs_where_the_spec_runs(spec):
    with pytest.raises(UserError, match="u32"):
        run_spec(spec, signs.kernel, {})


def least(u, y):
    for i in range(4):
        y[i] = min(u[i], -1)


def halved(u, y):
    for i in range(4):
        y[i] = min(u[i], 1 << 80) >> 1


@pytest.mark.parametrize("spec", [least, halved])
def test_numbers_that_the_type_does_not_hold(spec):
    with pytest.raises(UserError, match=r"expected a number that .* holds") as error:
        run_spec(spec, signs.kernel, {})
    assert error.value.diagnostics[0].span.line > 0


@wl.sketch(block=4)
def words(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    i = wl.thread_id()
    y[i] = x[i]


def test_a_number_of_more_bits_makes_a_wider_operation():
    """min(x, 2**40) was compared as min(x, 0)."""

    def spec(x, y):
        for i in range(4):
            y[i] = min(x[i], 2**40)

    assert str(run_spec(spec, words.kernel, {}).outputs["y"][0]) == "cast.i64.i32(min(x[0], 1099511627776))"
    wrong = parse_kernel(kernel_text(words.kernel).replace("= x[i]", "= min(i32(0), x[i])"))
    found = prove(wrong, spec, {}, algebra_for(wl.i32))
    assert found.verdict != "proved", kernel_text(wrong)


def floats(f):
    for i in range(4):
        f[i] = f[i] // 2


def float_rest(f):
    for i in range(4):
        f[i] = 7 % f[i]


@wl.sketch(block=4)
def singles(f: wl.Global[wl.f32, 4]):
    f[wl.thread_id()] = f[wl.thread_id()] * 2


@pytest.mark.parametrize("spec", [floats, float_rest])
def test_floats_are_not_floored(spec):
    with pytest.raises(UserError, match="expected integers for"):
        run_spec(spec, singles.kernel, {})
    with pytest.raises(UserError) as error:
        parse_spec(spec, singles.kernel)
    assert error.value.diagnostics[0].code == "DTYPE_MISMATCH"


def float_beside_integers(f, x, y):
    for i in range(4):
        y[i] = f[i] // 2


def test_floats_beside_integers_are_not_floored():
    with pytest.raises(UserError, match="expected integers for `//`, got floats"):
        run_spec(float_beside_integers, narrow.kernel, {})


def cell_of_truth(x, y):
    for i in range(4):
        y[i > 2] = x[i]


def test_a_truth_value_is_no_index():
    with pytest.raises(UserError, match="expected an integer as index of y, got False"):
        run_spec(cell_of_truth, words.kernel, {})
    given = typed_array(np.zeros(4, np.int32), wl.i32)
    with pytest.raises(IndexError, match="expected an integer as index, got False"):
        cell_of_truth(given, given)


@pytest.mark.parametrize(("number", "fits"), [(100, True), (127, True), (-128, True), (128, False), (300, False), (-129, False)])
def test_a_number_is_a_byte_only_where_it_fits_one(number: int, fits: bool):
    """C computes char & 300 in int: cut to 8 bits first it would be another number."""

    def spec(x, y):
        for i in range(4):
            y[i] = x[i] & number

    assert f"x[i] & i8({number})" in read(spec) if fits else f"cast(i32, x[i]) & i32({number})" in read(spec)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_a_byte_shifted_to_the_right_is_a_byte(count: int):
    def spec(x, y):
        for i in range(4):
            y[i] = x[i] >> count

    assert f"x[i] >> i8({count})" in read(spec)


def test_a_later_loop_of_the_same_name_has_its_own_bounds():
    n = wl.size("n")

    @wl.sketch(block=32)
    def copy(x: wl.Global[wl.f32, n], y: wl.Global[wl.f32, n]):
        i = wl.global_id()
        if i < n:
            y[i] = x[i]

    def spec(x, y):
        for k in range(3):
            y[k] = x[k]
        for k in range(n):
            for j in range(k, 3):
                v = x[k + j]
            y[k] = v

    with pytest.raises(UserError, match="assigned only in a loop that may have no trips"):
        parse_spec(spec, copy.kernel)
