"""C's types for what a spec stores, and what is refused because Python and C tell it apart."""

import pytest

from warploom.core import BY_NAME
from warploom.terms import (
    Stored,
    TermError,
    apply,
    as_terms,
    atom,
    constant,
    maximum,
    stored_mask,
    term_text,
    zero_array,
)


def cell(name: str):
    return atom(name, (0,))


TYPES = {"a": "i8", "b": "i8", "u": "u8", "i": "i32", "k": "u32", "w": "i64", "f": "f32"}
a, b, u, i, k, w, f = (cell(n) for n in TYPES)


def stored(term, target: str) -> str:
    kept = Stored({n: BY_NAME[t] for n, t in TYPES.items()}).store(term, BY_NAME[target])
    return term_text(kept).removeprefix(f"held.{target}(").removesuffix(")") if kept.op.startswith("held") else term_text(kept)


@pytest.mark.parametrize(
    ("term", "target", "expected"),
    [
        (a + b, "i32", "a[0] + b[0]"),
        (a + b, "i8", "a[0] + b[0]"),
        (a + b, "i64", "cast.i32.i64(a[0] + b[0])"),
        ((a + b) >> 1, "i8", "cast.i32.i8(a[0] + b[0] >> 1)"),
        (a >> 1, "i8", "a[0] >> 1"),
        (a >> 9, "i8", "cast.i32.i8(a[0] >> 9)"),
        (a >> b, "i8", "cast.i32.i8(a[0] >> b[0])"),
        (a >> b, "i32", "a[0] >> b[0]"),
        (maximum(a, b), "i8", "max(a[0], b[0])"),
        (maximum(a, 300), "i8", "cast.i32.i8(max(a[0], 300))"),
        (maximum(a, u), "i8", "cast.i32.i8(max(a[0], u[0]))"),
        (i + w, "i32", "i[0] + cast.i64.i32(w[0])"),
        (maximum(i, k), "i32", "cast.u32.i32(max(cast.i32.u32(i[0]), k[0]))"),
        (i + k, "f32", "cast.u32.f32(cast.i32.u32(i[0]) + k[0])"),
        (f * u, "f32", "f[0] * u[0]"),
        (f * i, "f32", "f[0] * cast.i32.f32(i[0])"),
        (f + 1, "i32", "cast.f32.i32(f[0] + 1)"),
        (i + 2**40, "i64", "i[0] + 1099511627776"),
        (~u, "i32", "~u[0]"),
        (apply("<<", a, constant(9)), "i8", "cast.i32.i8(a[0] << 9)"),
        (i / k, "i32", "cast.u32.i32(cast.i32.u32(i[0]) / k[0])"),
        (a / b, "i8", "a[0] / b[0]"),
        (constant(2.5), "i32", "2"),
    ],
)
def test_types(term, target: str, expected: str):
    assert stored(term, target) == expected


def test_a_cell_converts_what_it_holds():
    """A value that is read again has the type of the array, whatever was stored."""
    kept = Stored({n: BY_NAME[t] for n, t in TYPES.items()})
    cell = kept.store(a + b, BY_NAME["i8"])
    again = kept.store(cell >> 1, BY_NAME["i32"])
    assert term_text(again.args[0]) == "cast.i8.i32(a[0] + b[0] >> 1)"


@pytest.mark.parametrize("types", [{"i": "i32"}, TYPES])
@pytest.mark.parametrize(
    ("term", "message"),
    [
        (i / 2 * 2, "quotient of integers to be stored at once"),
        (i >> 32, "shift by 0 to 31 bits"),
        (i << -1, "shift by 0 to 31 bits"),
        (1 + (i << 40), "shift by 0 to 31 bits"),
    ],
)
def test_refused(types: dict[str, str], term, message: str):
    with pytest.raises(TermError, match=message):
        Stored({n: BY_NAME[t] for n, t in types.items()}).store(term, BY_NAME["i32"])


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (f // i, "expected integers for `//`, got floats"),
        (maximum(k, -1), "expected a number that u32 holds, got -1"),
        (i // k, "expected operands of one sign for `//`, got i32"),
    ],
)
def test_an_order_that_the_type_changes_is_refused(term, message: str):
    with pytest.raises(TermError, match=message):
        Stored({n: BY_NAME[t] for n, t in TYPES.items()}).store(term, BY_NAME["f32"])


def test_a_quotient_in_a_float_cell_is_refused():
    """Python stores a fraction, C an integer."""
    with pytest.raises(TermError, match="stored at once"):
        Stored({"i": BY_NAME["i32"], "f": BY_NAME["f32"]}).store(i / 2, BY_NAME["f32"])


def test_a_stored_quotient_is_an_integer_from_then_on():
    kept = Stored({"i": BY_NAME["i32"]})
    cell = kept.store(i / 2, BY_NAME["i32"])
    assert "i[0] / 2" in term_text(kept.store(cell * 2, BY_NAME["i32"]))


def test_wider_words_shift_further():
    assert stored(w >> 40, "i64") == "w[0] >> 40"


def test_an_untouched_cell_is_a_zero_of_its_type():
    """0 - u32 would be a u32; an i64 cell minus it is not."""
    kept = Stored({n: BY_NAME[t] for n, t in TYPES.items()})
    blank = kept.blank(BY_NAME["i64"])
    assert term_text(kept.store(blank - k, BY_NAME["i64"]).args[0]) == "0 - k[0]"
    array = zero_array("y", (2,), lambda t: kept.store(t, BY_NAME["i64"]), blank)
    array[0] = 0
    assert stored_mask(array).tolist() == [True, False]
    assert [term_text(t) for t in as_terms(array)] == ["0", "0"]


def test_a_stored_number_has_the_type_of_its_cell():
    kept = Stored({n: BY_NAME[t] for n, t in TYPES.items()})
    cell = kept.store(constant(1), BY_NAME["i64"])
    assert term_text(kept.store(cell << 40, BY_NAME["i64"]).args[0]) == "1 << 40"


def test_a_fraction_among_integers_is_computed_as_a_double():
    kept = Stored({"i": BY_NAME["i32"]}).store(i * 0.5, BY_NAME["i32"])
    assert term_text(kept.args[0]) == "cast.f64.i32(i[0] * 0.5)"
