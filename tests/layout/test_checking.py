"""Given maps: right or not, as good as any or not, one map or two, in every form."""

import operator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.layout.names import place_of_each

from warploom.core import UserError
from warploom.layout import Map, access, check, emit, equal, layout, map_of_array, map_of_function, map_of_text, tile
from warploom.layout.expressions import as_text, parse, places
from warploom.layout.sources import access_of_function

SQUARE = tile("32x32:f32")
_EXTENTS = (32, 3, 3, 5, 17, 23, 41, 103, 167, 521, 1061, 1667, 7069)
"""Their product is 32 modulo 2^64."""
WRAPPED = f"(({','.join(map(str, _EXTENTS))}),32):(({','.join('1' * len(_EXTENTS))}),1)"


def test_swizzle_of_the_thread_is_optimal() -> None:
    """NVIDIA/cutlass#3172: Swizzle<3,3,4> of 128 x 8 halves, M-major, is as good as any; <3,3,3> and <2,3,4> are not."""
    given = tile("8x128:f16")
    taken = [access("ldmatrix.trans", given)]
    outcomes = {}
    for name in ("3,3,4", "3,3,3", "2,3,4"):
        found = check(given, map_of_text(f"Swizzle<{name}> o (8,128):(128,1)", given), taken)
        outcomes[name] = found.optimal, found.prices[0].wavefronts, found.better is not None
    assert outcomes == {"3,3,4": (True, 16, False), "3,3,3": (False, 32, True), "2,3,4": (False, 32, True)}


def test_a_map_with_a_collision_is_none() -> None:
    found = check(SQUARE, map_of_text("r * 32 + (c & r)", SQUARE), [access("rows", SQUARE)])
    assert "elements (0, 0) and (0, 1) both get the place 0" in found.fault and not found.optimal


def test_a_map_before_the_first_place_is_none() -> None:
    found = check(SQUARE, map_of_text("r * 32 + c - 1", SQUARE), [access("rows", SQUARE)])
    assert "before the first" in found.fault


def test_width_is_part_of_the_answer() -> None:
    given = tile("64x64:f16")
    found = check(given, map_of_text("c ^ (r & 7)", given), [access("ldmatrix", given)])
    assert "takes 8 elements from (1, 0)" in found.fault
    assert found.better is not None and found.better.map.swizzle == (3, 3, 3) and found.better.optimal


def test_first_lanes_that_meet_are_told() -> None:
    found = check(SQUARE, map_of_text("r * 32 + c", SQUARE), [access("rows", SQUARE), access("columns", SQUARE)])
    rows, columns = found.prices
    assert (rows.ways, rows.worst) == (1, ())
    assert (columns.ways, columns.worst) == (32, ((0, 0), (1, 0)))


def test_a_column_is_a_map_in_its_row() -> None:
    assert equal(SQUARE, map_of_text("c ^ r", SQUARE), map_of_text("r*32 + (c ^ r)", SQUARE)) is None
    assert equal(SQUARE, map_of_text("c ^ r", SQUARE), map_of_text("r*32 + c", SQUARE)) == (1, 0, 33, 32)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("(32,32):(32,1)", "r*32 + c"),
        ("(32,32):(1,32)", "c*32 + r"),
        ("(_32,_32):(_33,_1)", "r*33 + c"),
        ("((8,4),(2,16)):((2,256),(1,16))", "r % 8 * 2 + r // 8 * 256 + c % 2 + c // 2 * 16"),
        ("Sw<5,0,5> o (32,32):(32,1)", "r*32 + (c ^ r)"),
        ("Swizzle<2,0,-3> o (32,32):(32,1)", "(r*32 + c) ^ ((c & 3) << 3)"),
        ("Sw<3,4,3> o smem_ptr[32b](unset) o (32,32):(32,1)", "r*32 + (c ^ ((r & 7) << 2))"),
        ('{"offset": [[0,1],[0,2],[0,4],[0,8],[0,16],[1,1],[2,2],[4,4],[8,8],[16,16]]}', "r*32 + (c ^ r)"),
    ],
)
def test_other_texts_say_the_same_map(text: str, same: str) -> None:
    assert equal(SQUARE, map_of_text(text, SQUARE), map_of_text(same, SQUARE)) is None


@pytest.mark.parametrize("text", ["Swizzle<3,3,3>", "Sw<3,3,3> o r*32 + c"])
def test_a_swizzle_wants_the_layout_that_it_moves(text: str) -> None:
    with pytest.raises(UserError, match=r"expected a layout Shape:Stride.*\n  fix: Write .*Swizzle<3,3,3> o \(64,64\):\(64,1\)"):
        map_of_text(text, SQUARE)


@pytest.mark.parametrize(
    "text",
    [
        "(32,32):(32", "(32,16):(32,1)", "(32,32):(32,1,1)", "((8,4),32):(32,1)", "Swizzle<3,3,2> o (32,32):(32,1)", "r*32 +",
        "x + c", "r ** 2", "c if r else 1", "c // r", "c << (r - 1)", "c.real", '{"offset": [[0,1]]}', '{"offset": [[0,99]]}',
        "{", "r and c", "True + c", "r * 2147483647 * 512", "(c << 31) << 31", "brev(r, 0)", "brev(r)",
        "(" * 500 + "r" + ")" * 500, '{"offset": [[Infinity, 0]]}', '{"offset": [[1.5, 0]]}', '{"offset": ' + "[" * 9000,
        f"Swizzle<3,{'7' * 5000},3> o (32,32):(32,1)", WRAPPED,
        "r * 32 + " + "-" * 102 + "c",
    ],
)  # fmt: skip
def test_texts_that_are_no_map(text: str) -> None:
    with pytest.raises(UserError, match="expected"):
        map_of_text(text, SQUARE)


def test_long_sums_and_deep_signs_print_as_texts_that_are_read() -> None:
    for text in ("r * 32 + c" + " + 0" * 900, "r * 32 + " + "-" * 96 + "c"):
        found = map_of_text(text, SQUARE)
        assert equal(SQUARE, found, map_of_text(str(found.text), SQUARE)) is None


def test_expressions_print_what_they_are() -> None:
    values = {}
    for text in (
        "r * 32 + (c ^ brev(r, 5))",
        "(c if r < c else r * 2) + 1",
        "-(c - r) % 7 // 2",
        "~c & 31 | r << 5",
        "(r * 3) % 4 * 8",
    ):
        node = parse(text)
        values[text] = places(node, SQUARE).tolist()
        printed = as_text(node)
        assert [eval(printed, {"r": r, "c": c}) for r in range(32) for c in range(32)] == values[text]
    assert values["r * 32 + (c ^ brev(r, 5))"][32] == 32 + 16


def test_answers_in_the_languages_of_kernels() -> None:
    found = layout(SQUARE, [access("rows", SQUARE), access("columns", SQUARE)])
    assert emit(found.map, SQUARE, "cute") == "Swizzle<5,0,5> o (32,32):(32,1)"
    assert equal(SQUARE, map_of_text(emit(found.map, SQUARE, "cute"), SQUARE), found.map) is None
    assert equal(SQUARE, map_of_text(emit(found.map, SQUARE, "triton"), SQUARE), found.map) is None
    assert "return r * 32 + (c ^ r);" in emit(found.map, SQUARE, "cuda")
    scope: dict[str, object] = {}
    exec(emit(found.map, SQUARE, "python"), scope)
    assert equal(SQUARE, map_of_function(scope["place"], SQUARE), found.map) is None  # type: ignore[arg-type]
    assert emit(found.map, SQUARE, "tilelang") == "T.Layout((32, 32), lambda r, c: r * 32 + (c ^ r))\n"
    assert emit(found.map, SQUARE, "numba").startswith("from numba import cuda\n\n\n@cuda.jit(device=True)\ndef place(r, c):")


class Term:
    """A number as TileLang's terms are: without a truth value, chosen between by functions."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __bool__(self) -> bool:
        raise ValueError("a term has no truth value")

    def __lt__(self, other: int) -> "Term":
        return Term(self.value < other)

    def apply(self, name: str, other: "Term | int") -> "Term":
        return Term(getattr(operator, name)(self.value, other.value if isinstance(other, Term) else other))


for _name in ("add", "mul", "xor", "and_", "rshift", "lshift"):
    for _sides in ("__{}__", "__r{}__"):
        setattr(Term, _sides.format(_name.strip("_")), lambda one, two, name=_name: one.apply(name, two))


def test_conditions_where_numbers_have_no_truth_value() -> None:
    """NumPy's arrays and TileLang's terms cannot stand in `a if b else c`."""
    given = tile("33x20:f32")
    found = layout(given, [access(name, given) for name in ("rows@any", "columns@any", "blocks:4x8")])
    assert found.map.kind == "body" and " if " in str(found.map.text)
    scope: dict[str, Any] = {}
    exec(emit(found.map, given, "python"), scope)
    r, c = np.divmod(np.arange(given.elements), given.columns)
    assert scope["place"](r, c).tolist() == found.map.table.tolist() and int(scope["place"](32, 3)) == found.map.table[643]
    chosen = SimpleNamespace(
        Layout=lambda shape, function: function, if_then_else=lambda test, yes, no: yes if test.value else no
    )
    function = eval(emit(found.map, given, "tilelang"), {"T": chosen})
    assert [function(Term(row), Term(column)).value for row, column in ((31, 19), (32, 0), (32, 19))] == [
        found.map.table[row * 20 + column] for row, column in ((31, 19), (32, 0), (32, 19))
    ]


@pytest.mark.parametrize("target", ["cute", "triton"])
def test_languages_without_the_map_refuse(target: Any) -> None:
    with pytest.raises(UserError, match="expected"):
        emit(map_of_text("r*32 + (c + r) % 32", SQUARE), SQUARE, target)


def test_places_without_an_expression_are_no_code() -> None:
    with pytest.raises(UserError, match="only given place by place"):
        emit(map_of_function(lambda r, c: 32 * (r * r * r % 32 + r) + c, SQUARE), SQUARE, "cuda")


def test_accesses_of_a_function() -> None:
    numpy = access_of_function("n", lambda warp, lane, step: (np.int64(lane), np.int32(step)) if step < 2 else None, SQUARE)
    plain = access_of_function("p", lambda warp, lane, step: lane * 32 + step if step < 2 else None, SQUARE)
    assert (numpy.elements == plain.elements).all() and len(plain.elements) == 2
    taken = access_of_function("f", lambda warp, lane, step: (lane, step + 16 * warp) if step < 16 and warp < 2 else None, SQUARE)
    assert np.array_equal(np.sort(taken.elements.reshape(32, 32)), np.sort(access("columns", SQUARE).elements.reshape(32, 32)))
    one = access_of_function("g", lambda warp, lane, step: [(lane, 4 * k + j) for k in (0,) for j in range(4)], SQUARE)
    assert one.elements.shape == (1, 32, 4)


@pytest.mark.parametrize("value", [(32, 0), (0, -1), 1024, "x", [(0, 0), (0, 40)], [0] * 8])
def test_functions_that_leave_the_tile(value: object) -> None:
    with pytest.raises(UserError, match="expected"):
        access_of_function("f", lambda warp, lane, step: value, SQUARE)


def test_places_that_are_too_far() -> None:
    with pytest.raises(UserError, match="below 2"):
        map_of_array(np.arange(1024).reshape(32, 32) + (1 << 40), SQUARE)
    with pytest.raises(UserError, match="integer place"):
        map_of_function(lambda r, c: (1 << 40) + c, SQUARE)


def test_functions_that_fail_or_give_no_place() -> None:
    with pytest.raises(UserError, match="ZeroDivisionError"):
        map_of_function(lambda r, c: r // c, SQUARE)
    with pytest.raises(UserError, match="integer place"):
        map_of_function(lambda r, c: 0.5, SQUARE)
    with pytest.raises(UserError, match="equally many"):
        access_of_function("f", lambda warp, lane, step: [(lane, 0)] * (1 + lane % 2), SQUARE)


def test_given_tables_have_no_text() -> None:
    assert Map("given", None, np.arange(4), 0).text is None


@pytest.mark.parametrize(("mode", "bits"), [("SW128", 3), ("SW64", 2), ("SW32", 1), ("INTER", 0)])
def test_canonical_modes_by_name(mode: str, bits: int) -> None:
    """Atom after atom down the rows; within one, chunks of 16 bytes xor the number of the row of 128 bytes."""
    given = tile("16x128:f16")
    wide = 8 << bits
    r, c = np.indices((16, 128))
    byte = 2 * (c // wide * 16 * wide + r * wide + c % wide)
    assert (map_of_text(mode, given).table == ((byte ^ (byte >> 7) % (1 << bits) * 16) // 2).ravel()).all()


@pytest.mark.parametrize(("mode", "bits"), [("SW128", 3), ("SW64", 2), ("SW32", 1), ("INTER", 0)])
def test_modes_of_columns_by_name(mode: str, bits: int) -> None:
    """MN-major: eight columns of an atom are lines of bytes side by side; atoms lie down the column first."""
    given = tile("128x16:f16")
    wide = 8 << bits
    r, c = np.indices((128, 16))
    byte = 2 * (c // 8 * 8 * 128 + r // wide * 8 * wide + c % 8 * wide + r % wide)
    assert (map_of_text(f"{mode}:mn", given).table == ((byte ^ (byte >> 7) % (1 << bits) * 16) // 2).ravel()).all()
    atom = tile(f"{wide}x24:f16")
    written = f"tma:SWIZZLE_{16 << bits}B:mn" if bits else "tma:SWIZZLE_NONE:mn"
    assert equal(atom, map_of_text(written, atom), map_of_text(f"{mode}:mn", atom)) is None


def test_modes_of_tma_by_name() -> None:
    """A box as wide as the atom is the canonical layout; wider ones do not exist, narrower ones are others."""
    for mode, columns in (("128B", 64), ("64B", 32), ("32B", 16)):
        given = tile(f"64x{columns}:f16")
        written, read = (map_of_text(text, given) for text in (f"tma:SWIZZLE_{mode}", f"SW{mode[:-1]}"))
        assert equal(given, written, read) is None
        other = map_of_text("INTER", given)
        assert equal(given, written, other) is not None
    for name, text, said in (
        ("tma:SWIZZLE_64B", "64x64:f16", "at most 32 elements"), ("SW128", "64x32:f16", "groups of 64"),
        ("INTER", "12x64:f16", "groups of 8"), ("SW128:mn", "64x12:f16", "columns in groups of 8"),
        ("SW64:mn", "48x16:f16", "rows in groups of 32"), ("tma:SWIZZLE_64B:mn", "64x8:f16", "columns of at most 32"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=said):
            map_of_text(name, tile(text))


@pytest.mark.parametrize(
    ("text", "size", "expected"),
    [
        ("SW128", "64x64:f16", "r * 64 + (c ^ ((r << 3) & 56))"),
        ("SW128", "64x128:f16", "((r << 3) & 56) ^ (r << 6) ^ (c & 63) ^ ((c << 6) & 4096)"),
        ("SW64", "96x64:f16", "(r * 32 + c % 32 + c // 32 * 3072) ^ (((r * 32 + c % 32 + c // 32 * 3072) >> 3) & 24)"),
        ("tma:SWIZZLE_128B", "24x64:f16", "(r * 64 + c) ^ (((r * 64 + c) >> 3) & 56)"),
        ("(12,(4,6)):(24,(6,1))", "12x24:f32", "r * 24 + c % 4 * 6 + c // 4"),
        ("(32,32):(1,32)", "32x32:f32", "r + c * 32"),
        ('{"offset": [[0, 1], [0, 2], [1, 0], [2, 2]]}', "4x4:f32", "r * 4 + (c ^ (r & 2))"),
    ],
)
def test_maps_by_name_are_expressions(text: str, size: str, expected: str) -> None:
    given = tile(size)
    found = map_of_text(text, given)
    assert found.text == expected and place_of_each(expected, given.rows, given.columns) == found.table.tolist()


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda r, c: 3 + 17 * r + c, "r * 17 + c + 3"),
        (lambda r, c: c ^ 2 * r ^ 16 * r, "r * 16 + (c ^ (r << 1))"),
        (lambda r, c: c * 8 + (r ^ c & 3), "r ^ (c & 3) ^ (c << 3)"),
        (lambda r, c: 16 * (r * r % 8 + r) + c, None),
    ],
)
def test_maps_by_place_are_expressions_where_there_is_one(function: Any, expected: str | None) -> None:
    found = map_of_function(function, tile("8x16:f32"))
    assert found.text == expected and found.table.tolist() == [function(r, c) for r in range(8) for c in range(16)]
