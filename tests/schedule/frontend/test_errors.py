"""Wrong tensor functions: code, message, place and fix."""

# ruff: noqa: F722, F821, F842, UP037 (the functions are wrong on purpose)

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from warploom.core import UserError, f16, f32, i32
from warploom.schedule.frontend import exp, load_tensors, out, temp, tensor


def problems(function, **sizes):
    """Problems of reading it, else of giving it sizes (3 each, unless told)."""
    with pytest.raises(UserError) as caught:
        read = tensor(function)
        read.program(dict.fromkeys(read.sizes, 3) | sizes)
    return caught.value.diagnostics


def unknown_name(A: f32["m"], y: out[f32["m"]]):
    y[i] = AA[i] + A[i]


def unknown_function(A: f32["m"], y: out[f32["m"]]):
    y[i] = gamma(A[i])


def other_function(A: f32["m"], y: out[f32["m"]]):
    y[i] = len(A[i])


def rank(A: f32["m", "n"], y: out[f32["m"]]):
    y[i] += A[i]


def rank_of_target(A: f32["m"], y: out[f32["m"]]):
    y[i, j] = A[i]


def no_indices(A: f32["m"], y: out[f32["m"]]):
    y[i] = A


def scalar_with_indices(a: f32, y: out[f32["m"]]):
    y[i] = a[i]


def size_mismatch(A: f32["m", "k"], B: f32["n", "k"], C: out[f32["m", "n"]]):
    C[m, n] += A[m, k] * B[k, n]


def product_of_indices(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i * i]


def quotient_of_indices(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i // j]


def index_by_data(A: f32["m"], a: f32, y: out[f32["m"]]):
    y[i] = A[a]


def index_as_value(A: f32["m"], y: out[f32["m"]]):
    y[i] = i / 2


def size_or_index(A: f32["m"], y: out[f32["m"]]):
    y[m] = A[m] * m


def nothing_to_reduce(A: f32["m"], y: out[f32["m"]]):
    y[i] += A[i]


def not_reduced(A: f32["m", "n"], y: out[f32["m"]]):
    y[i] = A[i, j]


def reduced_over_another(A: f32["m", "n"], y: out[f32["m"]]):
    y[i] = sum(A[i, j], over=k)


def generator(A: f32["m", "n"], y: out[f32["m"]]):
    y[i] = sum(A[i, j] for j in range(n))


def missing_over(A: f32["m"], y: out[f32["m"]]):
    y[i] = max(A[i])


def two_arguments(A: f32["m"], y: out[f32["m"]]):
    y[i] = exp(A[i], A[i])


def written_twice(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i]
    y[i] = 2 * A[i]


def written_twice_at_once(A: f32["m"], y: out[f32["m"]]):
    y[i], y[i] = A[i], A[i]


def defined_twice(A: f32["m"], y: out[f32["m"]]):
    a[i] = A[i]
    a[i] = 2 * A[i]
    y[i] = a[i]


def never_stored(A: f32["m"], y: out[f32["m"]], z: out[f32["m"]]):
    y[i] = A[i]


def no_output(A: f32["m"], t: temp[f32["m"]]):
    t[i] = A[i]


def stored_to_input(A: f32["m"], y: out[f32["m"]]):
    A[i] = 1


def read_before_store(A: f32["m"], y: out[f32["m"]]):
    y[i] = y[i] + A[i]


def running_sum(A: f32["m"], y: out[f32["m"]]):
    y[i] = y[i - 1] + A[i]


def places_of_all(A: f32["m", "n"], y: out[f32["m"]]):
    y[i] = argsort(A[i, k], over=k)


def reversed_index(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[m - i]


def fraction_of_an_integer(A: i32["m"], y: out[i32["m"]]):
    y[i] = A[i] + 0.5


def number_past_the_type(A: i32["m"], y: out[i32["m"]]):
    y[i] = max(A[i], 1099511627776)


def stored_fraction(A: i32["m"], y: out[i32["m"]]):
    y[i] = 1.5


def padded_with_a_fraction(A: i32["m"], y: out[i32["m"]]):
    y[i] = pad(A, 0.5)[i - 1]


def fraction_at_this_size(A: i32["m"], y: out[i32["m"]]):
    y[i] = A[i] + m / 2


def unused_value(A: f32["m"], y: out[f32["m"]]):
    a[i] = A[i]
    y[i] = A[i]


def last_value(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i]
    a[i] = A[i]


def unused_value_of_a_name_used_again(A: f32["m"], y: out[f32["m"]], z: out[f32["m"]]):
    a[i] = 2 * A[i]
    y[i] = A[i]
    a[i] = 3 * A[i]
    z[i] = a[i]


def value_of_an_earlier_value(A: f32["m"], y: out[f32["m"]], z: out[f32["m"]]):
    a[i] = 2 * A[i]
    b[i] = a[i] + 1
    y[i] = b[i]
    a[i] = 3 * A[i]
    z[i] = a[i] + b[i]


def value_of_its_own_name(A: f32["m"], y: out[f32["m"]], z: out[f32["m"]]):
    a[i] = 2 * A[i]
    b[i] = a[i] + 1
    y[i] = b[i]
    a[i] = 3 * b[i]
    z[i] = a[i]


def sum_of_another_range(A: f32["m", "n"], B: f32["m", "n - 1"], C: f32["m", "n - 2"], y: out[f32["m"]], z: out[f32["m"]]):
    a[i] = sum(A[i, j + 1], over=j)
    y[i] = a[i] + sum(B[i, j], over=j)
    z[i] = a[i] + sum(C[i, j], over=j)


def sum_over_a_part(A: f32["m", "n"], B: f32["n - 1"], y: out[f32["m"]]):
    y[i] = sum(A[i, j] * B[j], over=j)


def sum_over_a_shorter_result(A: f32["m", "n"], y: out[f32["m", "n - 1"]]):
    a[i] = sum(A[i, j], over=j)
    y[i, j] = A[i, j] / a[i]


def range_below_a_value(A: f32["m", "n"], y: out[f32["m"]]):
    a[i] = sum(A[i, j], over=j)
    j: range(2)
    y[i] = a[i]


def two_ranges(A: f32["m", "n"], y: out[f32["m"]], z: out[f32["m"]]):
    j: range(2)
    y[i] = sum(A[i, j], over=j)
    j: range(3)
    z[i] = sum(A[i, j], over=j)


def transposed_value(A: f32["m", "m"], y: out[f32["m", "m"]]):
    a[i, j] = 2 * A[i, j]
    y[i, j] = a[j, i]


def unused_index(A: f32["m"], y: out[f32["m", "m"]]):
    a[i, j] = 2 * A[i]
    y[i, j] = a[i, j]


def mixed_types(A: f32["m"], B: f16["m"], y: out[f32["m"]]):
    y[i] = A[i] * B[i]


def stored_type(B: f16["m"], y: out[f32["m"]]):
    y[i] = B[i]


def divided_integers(A: i32["m"], y: out[i32["m"]]):
    y[i] = A[i] / 2


def a_loop(A: f32["m"], y: out[f32["m"]]):
    for i in range(3):
        y[i] = A[i]


def a_return(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i]
    return y


def subtracted(A: f32["m", "n"], y: out[f32["m"]]):
    y[i] -= A[i, j]


def a_condition(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i] if A[i] else 0


def a_large_power(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i] ** 1.5


def shifted_target(A: f32["m"], y: out[f32["m"]]):
    y[i + 1] = A[i]


def diagonal_target(A: f32["m"], y: out[f32["m", "m"]]):
    y[i, i] = A[i]


def no_annotation(A, y: out[f32["m"]]):
    y[i] = A[i]


def wrong_annotation(A: list, y: out[f32["m"]]):
    y[i] = A[i]


def wrong_size(A: f32["m +"], y: out[f32["m"]]):
    y[i] = A[i]


def default_value(A: f32["m"], a: f32 = 2, *, y: out[f32["m"]]):
    y[i] = a * A[i]


def size_and_scalar(A: f32["m"], m: f32, y: out[f32["m"]]):
    y[i] = A[i] * m


def no_range(A: f32["2*m"], y: out[f32[1]]):
    y[o] += A[2 * i + o]


def wrong_range(A: f32["m"], y: out[f32["m"]]):
    i: int
    y[i] = A[i]


def partial_store(A: f32["m"], y: out[f32["m"]]):
    i: range(2)
    y[i] = A[i]


def out_of_range(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i + 1]


def negative_index(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i - 1]


def no_number(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i] * (1 / 0)


def no_number_at_this_size(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i] * (1 / (m - 3))


def mean_of_a_row(A: f32["m", "n"], y: out[f32["m"]]):
    y[i] = np.mean(A[i])


def product_of_rows(A: f32["m", "n"], y: out[f32["m"]]):
    y[i] = np.dot(A[i], A[i])


def root_of_sums(A: f32["m"], y: out[f32["m"]]):
    y[i] = A[i] * rsqrt(A[i] + 1)


def half_of_an_unknown_size(A: f32["m"], y: out[f32["m"]]):
    y[i] = where(i < size_m // 2, A[i], 0)


def empty_array(A: f32["m"], y: out[f32["m - 4"]]):
    y[i] = A[i]


EXPECTED = [
    (unknown_name, "UNKNOWN_NAME", "unknown name 'AA'; did you mean 'A'\\?", "Write A.", "AA"),
    (unknown_function, "UNKNOWN_NAME", "unknown function 'gamma'", "Use one of exp, log, sqrt, .*", "gamma"),
    (
        mean_of_a_row,
        "CALL",
        "expected one of .*, got np.mean, which is a quotient of a sum",
        r"Write sum\(X\[i, k\], over=k\) / n, .*",
        "np.mean",
    ),
    (
        product_of_rows,
        "CALL",
        "expected one of .*, got np.dot, which is a sum of products",
        r"Write sum\(A\[i, k\] \* B\[k, j\], over=k\).",
        "np.dot",
    ),
    (root_of_sums, "CALL", "expected one of .*, got rsqrt, which is one over a square root", r"Write 1 / sqrt\(x\).", "rsqrt"),
    (half_of_an_unknown_size, "UNKNOWN_NAME", "unknown name 'size_m'", "Declare it .*", "size_m"),
    (other_function, "CALL", "expected one of exp, .*, got len", "Write the arithmetic out.", "len"),
    (rank, "RANK", r"expected 2 indices of A\[m, n\], got 1", "Give one index per axis.", "A[i]"),
    (rank_of_target, "RANK", r"expected 1 indices of y\[m\], got 2", "Give one index per axis.", "y[i, j]"),
    (no_indices, "RANK", "expected 1 indices of 'A', got none", r"Write A\[...\].", "A"),
    (scalar_with_indices, "RANK", "expected no indices, 'a' is a scalar", "Write a.", "a[i]"),
    (size_mismatch, "SIZE_MISMATCH", "expected 'k' to run over k, got an axis of n", "Use another index, .*", "k"),
    (product_of_indices, "INDEX_NOT_AFFINE", r"expected an affine index, got i \* i", "Use indices, integers, .*", "i * i"),
    (
        quotient_of_indices,
        "INDEX_NOT_AFFINE",
        "expected an index, with a factor and .*, got i // j",
        r"Write \(i \+ 1\) // 2, .*",
        "i // j",
    ),
    (index_by_data, "INDEX_NOT_AFFINE", "expected an index, got 'a', which is data", "Indices are names of their own.*", "a"),
    (
        index_as_value,
        "INDEX_AS_VALUE",
        "expected a type for the index in i / 2, got none",
        r"Convert the index: f32\(i\).",
        "i / 2",
    ),
    (size_or_index, "AMBIGUOUS", "'m' is a size and an index here; .*", "Name the index differently from the size.", "m"),
    (
        nothing_to_reduce,
        "REDUCTION_AXIS",
        r"expected an index on the right of \+= .*, got none",
        "Write = for .*",
        "y[i] += A[i]",
    ),
    (not_reduced, "REDUCTION_AXIS", "expected only the indices of the left side, got j .*", "Reduce: .*", "A[i, j]"),
    (reduced_over_another, "REDUCTION_AXIS", r"expected an index of the reduced value \(i, j\), got 'k'", "Reduce over .*", "k"),
    (
        generator,
        "CALL",
        "expected the reduced index as over=, got .*",
        r"Write sum\(A\[i, j\], over=j\).",
        "(A[i, j] for j in range(n))",
    ),
    (missing_over, "CALL", r"expected max\(a, b\) or max\(value, over=k\), got max\(A\[i\]\)", "Write .*", "max(A[i])"),
    (two_arguments, "CALL", r"expected exp\(value\), got exp\(A\[i\], A\[i\]\)", "Write .*", "exp(A[i], A[i])"),
    (written_twice, "WRITTEN_TWICE", "'y' is written twice", "Write to another array.", "y[i]"),
    (written_twice_at_once, "WRITTEN_TWICE", "'y' is written twice", "Write to another array.", "y[i], y[i] = A[i], A[i]"),
    (defined_twice, "WRITTEN_TWICE", "'a' is defined twice in one stage", "Choose another name.", "a[i]"),
    (never_stored, "NOT_STORED", "expected a store to 'z', got none", r"Assign z\[...\], .*", 'z: out[f32["m"]]'),
    (no_output, "NOT_STORED", "expected an output among the parameters, got none", "Mark what the function writes: .*", None),
    (
        stored_to_input,
        "STORE_TO_INPUT",
        "expected an output on the left, got the input 'A'",
        r"Declare it as out\[...\], as inout\[...\] where its old contents count, .*",
        "A[i]",
    ),
    (
        read_before_store,
        "READ_BEFORE_STORE",
        "expected an array that already has its values, got 'y', .*",
        "Declare it as inout.*",
        "y[i]",
    ),
    (
        running_sum,
        "READ_BEFORE_STORE",
        "expected an array that already .*",
        "A running result .* under `@wl.jit`, which hands it to `scan`, or call `warploom scan lift .*",
        "y[i - 1]",
    ),
    (
        places_of_all,
        "CALL",
        ".*got argsort, which gives places of several elements, .*",
        "Compute it outside of the tensor function.",
        "argsort",
    ),
    (reversed_index, "INDEX_OUT_OF_RANGE", "expected indices from 0 to 2 on axis 0 of 'A', got 1 to 3", ".*pad.*", "m - i"),
    (fraction_of_an_integer, "DTYPE", "expected a number that i32 holds, got 0.5", "Use a whole .*", "A[i] + 0.5"),
    (
        number_past_the_type,
        "DTYPE",
        "expected a number that i32 holds, got 1099511627776",
        "Use a whole .*",
        "max(A[i], 1099511627776)",
    ),
    (stored_fraction, "DTYPE", "expected a number that i32 holds, got 1.5", "Use a whole .*", "1.5"),
    (padded_with_a_fraction, "DTYPE", "expected a number that i32 holds, got 0.5", "Use a whole .*", "pad(A, 0.5)[i - 1]"),
    (fraction_at_this_size, "DTYPE", "expected a number that i32 holds, got 1.5", "Give other sizes, .*", "m / 2"),
    (unused_value, "UNUSED", "the value 'a' reaches no output", "Store something that uses it, or delete it.", "a[i] = A[i]"),
    (last_value, "UNUSED", "the value 'a' reaches no output", "Store something that uses it, or delete it.", "a[i] = A[i]"),
    (unused_value_of_a_name_used_again, "UNUSED", "the value 'a' reaches no output", "Store .*", "a[i] = 2 * A[i]"),
    (
        value_of_an_earlier_value,
        "WRITTEN_TWICE",
        "'b' is made of an earlier 'a', which is another value now",
        "Give one of the two values of 'a' another name.",
        "b[i]",
    ),
    (value_of_its_own_name, "WRITTEN_TWICE", "'a' is made of the earlier 'a'", "Choose another name.", "a[i] = 3 * b[i]"),
    (
        sum_of_another_range,
        "SIZE_MISMATCH",
        "expected 'j' to run over n - 1, as where 'a' was used before, got n - 2",
        "Use another index than j in this statement.",
        "z[i] = a[i] + sum(C[i, j], over=j)",
    ),
    (sum_over_a_part, "SIZE_MISMATCH", "expected 'j' to run over n, got an axis of n - 1", r".* above: j: range\(n - 1\).", "j"),
    (
        sum_over_a_shorter_result,
        "SIZE_MISMATCH",
        "expected 'j' to run over n - 1, got an axis of n",
        "Use another index, .*",
        "j",
    ),
    (range_below_a_value, "INDEX_RANGE", "expected the range of the index 'j' once, before what uses it", "Move it.*", "j"),
    (two_ranges, "INDEX_RANGE", "expected the range of the index 'j' once, before what uses it", "Move it.*", "j"),
    (transposed_value, "POINT_TO_POINT", r"expected a\[i, j\], as it was defined, got a\[j, i\]", "Values inside .*", "a[j, i]"),
    (unused_index, "INDEX_UNUSED", "expected every index of 'a' on the right, got none of j", "Leave j out: .*", "a[i, j]"),
    (mixed_types, "DTYPE", "expected operands of one type, got f32 and f16", r"Convert one of them: f32\(...\).", "A[i] * B[i]"),
    (stored_type, "DTYPE", "expected a value of type f32 for 'y', got f16", r"Convert it: f32\(...\).", "B[i]"),
    (divided_integers, "DTYPE", "expected floats for div, got i32", r"Convert the operands: f32\(...\).", "A[i] / 2"),
    (a_loop, "UNSUPPORTED_PYTHON", r"expected an assignment, got for i in range\(3\):", r"Leave the loop out.*", None),
    (a_return, "UNSUPPORTED_PYTHON", "expected an assignment, got return y", r"Write C\[m, n\] \+= .*", "return y"),
    (subtracted, "UNSUPPORTED_PYTHON", r"expected \+= for a sum, got -=", "Write = with sum.*", "y[i] -= A[i, j]"),
    (a_condition, "CONDITION", r"expected a condition, got A\[i\]", "Compare: .*", "A[i]"),
    (a_large_power, "UNSUPPORTED_PYTHON", "expected a power from 1 to 8, .* got 1.5", "Multiply, or use sqrt, .*", "1.5"),
    (
        shifted_target,
        "TARGET_INDEX",
        r"expected plain indices on the left, got i \+ 1",
        "Shift the indices on the right .*",
        "i + 1",
    ),
    (diagonal_target, "TARGET_INDEX", "expected different indices on the left, got 'i' twice", "Use a name .*", "i"),
    (no_annotation, "ANNOTATION", "expected an annotation of 'A', got none", "Write for example .*", "A"),
    (wrong_annotation, "ANNOTATION", "expected an array or scalar type for 'A', got list", "Write for example .*", "list"),
    (wrong_size, "SIZE", r"expected a size such as 'n \+ 2', got 'm \+'", "Use names, integers, .*", '"m +"'),
    (default_value, "ANNOTATION", "expected parameters without values of their own", "Delete the value.", "2"),
    (size_and_scalar, "NAME_TAKEN", "'m' is both a size and a parameter", "Rename one of them.", "m: f32"),
    (no_range, "INDEX_RANGE", "expected a range of the index 'i': .*", r"Write it above: i: range\(8\).", "2 * i + o"),
    (wrong_range, "INDEX_RANGE", "expected the range of the index 'i', got int", r"Write i: range\(8\).", "int"),
    (
        partial_store,
        "SIZE_MISMATCH",
        "expected 'i' to run over the whole axis of 'y', m, got 2",
        "Stores cover .*",
        "y[i] = A[i]",
    ),
    (out_of_range, "INDEX_OUT_OF_RANGE", "expected indices from 0 to 2 on axis 0 of 'A', got 1 to 3", "Change .*", "i + 1"),
    (negative_index, "INDEX_OUT_OF_RANGE", "expected indices from 0 to 2 on axis 0 of 'A', got -1 to 1", "Change .*", "i - 1"),
    (no_number, "NOT_A_NUMBER", "1 / 0 has no value: division by zero", "Correct it.", "1 / 0"),
    (
        no_number_at_this_size,
        "NOT_A_NUMBER",
        "expected a number, got none: division by zero",
        "Give other sizes.",
        "1 / (m - 3)",
    ),
    (
        empty_array,
        "SIZES",
        "expected axes of 1 or more elements of 'y', got m - 4 = -1",
        "Give larger sizes.",
        'y: out[f32["m - 4"]]',
    ),
]


@pytest.mark.parametrize(("function", "code", "message", "fix", "text"), EXPECTED, ids=[e[0].__name__ for e in EXPECTED])
def test_one_problem(function, code, message, fix, text):
    (found,) = problems(function)
    assert found.code == code
    assert re.fullmatch(message, found.message), found.message
    assert re.fullmatch(fix, found.fix), found.fix
    assert found.span.file == __file__
    if text is not None:
        assert found.span.source[found.span.column - 1 : found.span.end_column - 1] == text


def test_every_function_here_is_tested():
    here = {n for n, f in globals().items() if getattr(f, "__annotations__", {}).keys() & {"y", "C", "t"} and n != "good"}
    assert here == {e[0].__name__ for e in EXPECTED}


def test_rendering():
    (found,) = problems(rank)
    line = rank.__code__.co_firstlineno
    assert f"test_errors.py:{line + 1}:13: error[RANK]: expected 2 indices of A[m, n], got 1" in found.render()
    assert "\n      y[i] += A[i]\n              ^^^^\n" in found.render()
    assert f"test_errors.py:{line}:10: note: declared here" in found.render()


def test_all_problems_at_once_without_their_consequences():
    def f(A: f32["m"], B: list, y: out[f32["m"]], z: out[f32["m"]]):
        a[i] = A[i, i]
        b[i] = a[i] + B[i]
        y[i] = b[i]
        z[i] = nothing + A[i]

    assert [p.code for p in problems(f)] == ["ANNOTATION", "RANK", "UNKNOWN_NAME"]


def good(x: f32["n"], y: out[f32["n"]]):
    y[i] = x[i]


def test_sizes():
    read = tensor(good)
    for sizes, message in (
        ({}, "expected the sizes n of 'good', got none"),
        ({"n": 3, "m": 4}, "expected the sizes n of 'good', got n, m"),
        ({"n": 0}, "expected an integer of 1 or more for n, got 0"),
        ({"n": 2.5}, r"expected an integer of 1 or more for n, got 2\.5"),
    ):
        with pytest.raises(UserError, match=message):
            read.program(sizes)
    assert read.program({"n": np.int64(3)}) == read.program({"n": 3})


def test_tiles():
    read = tensor(good)
    for tiles, message in (
        ({"n": [[2]]}, r"expected an axis of 'good' \(i\), got 'n'"),
        ({"i": [2, 4]}, r"expected one list of sizes per tile level of 'i', got \[2, 4\]"),
        ({"i": 4}, "expected one list of sizes per tile level of 'i', got 4"),
        ({"i": [[4, 2]]}, r"expected ascending tile sizes from 1 on for the axis 'i', got \(4 2\)"),
        ({"i": [[0, 2]]}, "expected ascending tile sizes from 1 on"),
        ({"i": [range(1, 80)]}, "expected at most 64 sizes of a part of the axis 'i', got 79"),
        ({"i": [[]]}, "expected tile sizes"),
    ):
        with pytest.raises(UserError, match=message):
            read.program({"n": 100}, tiles)
    with pytest.raises(UserError, match="expected tile sizes that divide the axis 'i' of 7 iterations"):
        read.program({"n": 7}, {"i": [[2, 4]]}, divisors_only=True)


def test_functions_are_not_called():
    with pytest.raises(UserError, match="'good' was called; a tensor function describes kernels"):
        tensor(good)(1, 2)
    with pytest.raises(UserError, match="expected a `def`, got a lambda"):
        tensor(lambda x: x)
    with pytest.raises(UserError, match="without parentheses"):
        tensor()


FILE = """\
from __future__ import annotations
from warploom.core import f32
from warploom.schedule.frontend import out, tensor

@tensor
def first(x: f32["n"], y: out[f32["n"]]):
    y[i] = 2 * x[i]

@tensor
def wrong(x: f32["n"], y: out[f32["n"]]):
    y[i] = x[i, i]

second = first
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(FILE)
    return path


def test_functions_of_a_file(file):
    assert [f.name for f in load_tensors(file, "first")] == ["first"]
    assert load_tensors(file, "second") == load_tensors(file, "first")
    for name in ("wrong", None):
        with pytest.raises(UserError, match=r"kernels\.py:11:12: error\[RANK\]"):
            load_tensors(file, name)
    with pytest.raises(UserError, match="has no tensor function 'third'; it has: first, wrong"):
        load_tensors(file, "third")


def test_files_without_tensor_functions(tmp_path):
    path = tmp_path / "none.py"
    path.write_text("x = 1\n")
    with pytest.raises(UserError, match=r"none\.py defines no tensor function"):
        load_tensors(path)
    path.write_text("x = 1 / 0\n")
    with pytest.raises(UserError, match="running the file raised ZeroDivisionError"):
        load_tensors(path)
    with pytest.raises(UserError, match="expected a Python file, found none"):
        load_tensors(tmp_path / "missing.py")


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("    S[i] = S[i - 1] + X[i]\n", id="the element before"),
        pytest.param("    S[i] = sum(X[j], over=j <= i)\n", id="over those before"),
        pytest.param("    for i in range(8):\n        S[i] = S[i - 1] + X[i]\n", id="a loop"),
    ],
)
def test_a_running_sum_is_sent_to_the_scans(body: str, tmp_path: Path) -> None:
    file = tmp_path / "running.py"
    head = "import warploom as wl\nfrom warploom import f32\n\n@wl.tensor\ndef run(X: f32['n'], S: wl.out[f32['n']]):\n"
    file.write_text(head + body)
    with pytest.raises(UserError) as caught:
        load_tensors(str(file))[0].program({"n": 8})
    assert "warploom scan lift" in str(caught.value.diagnostics[0].fix)
