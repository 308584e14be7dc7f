"""Domain of a proof: laws under the type that they were used in, and conditions on the inputs."""

import pytest

from warploom.core import BY_NAME
from warploom.terms import Usage, algebra_for, apply, atom, equal, maximum

i, s, f = (atom(n, (0,)) for n in "isf")


@pytest.mark.parametrize(
    ("term", "dtype", "expected"),
    [
        (i + s, "i32", "int32 wrap"),
        (i, "i32", "elements moved unchanged"),
        (i >> 3, "i32", "same operations in the same order"),
        (i >> s, "i32", "same operations in the same order; shift counts from 0 and below the width"),
        (i / s, "i32", "same operations in the same order; no integer divided by 0, nor the least one by -1"),
        (i / 7, "i32", "same operations in the same order"),
        (i / -1, "i32", "same operations in the same order; no integer divided by 0, nor the least one by -1"),
        (f / s, "f32", "real sums reordered; no number divided by 0"),
        (f / 2, "f32", "real sums reordered"),
        (maximum(f, s), "f32", "min and max of ordered values; no NaN in min and max"),
        (maximum(i, s), "i32", "min and max of ordered values"),
        (apply("cast.f32.i32", f), "i32", "same operations in the same order; floats converted to integers lie in their range"),
        (apply("cast.i32.f32", i + s), "f32", "int32 wrap"),
        (apply("cast.i32.f32", i / s) + f, "f32", "real sums reordered; no integer divided by 0, nor the least one by -1"),
    ],
)
def test_domain(term, dtype: str, expected: str):
    usage = Usage(BY_NAME[dtype])
    usage.add(term)
    assert usage.domain(algebra_for(BY_NAME[dtype])) == expected


@pytest.mark.parametrize(
    ("a", "b", "dtype", "same"),
    [
        # what is cut off later is still there before
        (apply("cast.i32.i8", (i * 256) >> 8), apply("cast.i32.i8", (i * 512) >> 8), "i8", False),
        # integers inside of a conversion to floats do not divide as reals do
        (apply("cast.i32.f32", (i * 4) / 2), apply("cast.i32.f32", i * 2), "f32", False),
        (apply("cast.i32.f32", i + 2**31 + 2**31), apply("cast.i32.f32", i), "f32", True),
        (apply("cast.i32.i8", i + s), apply("cast.i32.i8", s) + apply("cast.i32.i8", i), "i8", True),
        (apply("cast.i32.i64", i + s), apply("cast.i32.i64", s) + apply("cast.i32.i64", i), "i64", False),
    ],
)
def test_what_is_converted_keeps_the_laws_of_its_type(a, b, dtype: str, same: bool):
    assert equal(a, b, algebra_for(BY_NAME[dtype])) is same
