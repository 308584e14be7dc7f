"""A register is kept for one thread only where all others have the same of elements that lie further on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.synth.compiled.programs import body

from warploom.core import BY_NAME, DType, UnsupportedError, f32, i32
from warploom.ptx import lower, parse
from warploom.ptx.syntax import Integer, Name, Operand
from warploom.synth.compiled import ArrayArgument, Box, run_symbolically
from warploom.synth.compiled.alike import ApartError, Translations
from warploom.synth.compiled.data import Comparison, Data, Undefined, Value
from warploom.synth.compiled.exchanges import Exchanges
from warploom.synth.compiled.memory import Region
from warploom.synth.compiled.renaming import LIMITED, SUM
from warploom.terms import Term, apply, atom, element_behind

BLOCK = (4, 2, 1)
THREADS = [(x, y, 0) for y in range(2) for x in range(4)]
HALF = BY_NAME["f16"]


def translations(axes: tuple[bool, bool, bool] = (True, True, True)) -> Translations:
    found = Translations.of_block(Data(), THREADS, BLOCK, axes)
    assert found is not None
    return found


def elements(known: Translations, name: str = "a", rows: int = 10, start: int = 0) -> list[Value]:
    return [known.data.made(atom(name, (start + x + rows * y,)), f32) for x, y, _ in THREADS]


def test_one_thread_stands_for_those_along_the_axes() -> None:
    assert translations().representatives == [6]
    assert translations((True, False, False)).representatives == [2, 6]
    assert Translations.of_block(Data(), THREADS, BLOCK, (False, False, True)) is None


def test_columns_that_move_evenly_are_common() -> None:
    known = translations()
    column = elements(known)
    assert known.common(column) == [column[6]] and known.moves == {"a": (1, 10, 0)}
    assert known.values_of([column[6]], range(8)) == column
    assert known.common([0] * 8) == [0]
    alpha: list[Value] = [known.data.made(atom("alpha", ()), f32)] * 8
    assert known.common(alpha) == alpha[:1]
    further = elements(known, start=100)
    total = known.data.made(apply("+", column[6], further[6]), f32)  # pyright: ignore[reportArgumentType] - terms
    assert known.value(total, 0) is apply("+", column[0], further[0])  # pyright: ignore[reportArgumentType] - terms


def test_columns_that_move_otherwise_are_not() -> None:
    known = translations()
    right = elements(known)
    assert known.common(right) is not None

    def but(value: Value, thread: int = 3) -> list[Value]:
        return [value if t == thread else v for t, v in enumerate(right)]

    def made(term: Term, kind: object = f32) -> Term:
        return known.data.made(term, kind)  # pyright: ignore[reportArgumentType] - a type

    assert known.common(but(made(atom("a", (4,))))) is None
    assert known.common(but(made(atom("b", (3,))))) is None
    assert known.common(but(made(atom("a", (3, 5))))) is None
    assert known.common(but(made(atom("a", ())))) is None
    assert known.common(but(made(apply("neg", made(atom("a", (3,))))))) is None
    assert known.common(elements(known, rows=9)) is None
    assert known.common([0, 0, 0, 1, 0, 0, 0, 0]) is None
    assert known.common([made(atom(SUM, (n,))) for n in range(8)]) is None
    assert known.common([made(atom("a", (x + 10 * y,), 2)) for x, y, _ in THREADS]) is None
    half = made(atom("a", (3,)), HALF)
    assert known.common(but(half)) is None


def behind(known: Translations, index: str = "t", array: str = "W") -> list[Value]:
    """By thread: the element of an array that lies four times the element of an index array behind that thread's."""

    def word(name: str, place: int, kind: DType) -> Term:
        return known.data.made(atom(name, (place,)), kind)

    places = [x + 10 * y for x, y, _ in THREADS]
    return [known.data.made(element_behind(word(array, n, f32), [(word(index, 2 * n, i32), 4)]), f32) for n in places]


def test_elements_behind_others_are_common_where_both_move_evenly() -> None:
    known = translations()
    column = behind(known)
    assert known.common(column) == [column[6]] and known.moves == {"W": (1, 10, 0), "t": (2, 20, 0)}
    assert known.values_of([column[6]], range(8)) == column
    assert known.common([*column[:3], column[2], *column[4:]]) is None, "an element of another place"
    assert translations().common(elements(known, "W")[:6] + column[6:]) is None, "neighbours that have none"
    numbers = translations()
    assert numbers.common(behind(numbers, LIMITED)) is None, "numbers of words are no places, however even"


def test_threads_with_numbers_in_place_of_elements_are_a_class_of_their_own() -> None:
    """At the right edge, as where an access has a guard."""
    known = translations()
    all_elements = elements(known)
    column: list[Value] = list(all_elements)
    column[2:4] = column[6:8] = [0, 0]
    with pytest.raises(ApartError) as apart:
        known.common(column)
    assert apart.value.classes == (0, 0, 1, 1, 0, 0, 1, 1)
    known = Translations.of_block(Data(), THREADS, BLOCK, (True, True, True), apart.value.classes)
    assert known is not None and known.representatives == [5, 7]
    column = [0 if x > 1 else v for (x, _, _), v in zip(THREADS, elements(known), strict=True)]
    assert known.common(column) == [column[5], 0] and known.moves == {"a": (1, 10, 0)}
    assert known.values_of([column[5], 0], range(8)) == column
    column[7] = 1
    assert known.common(column) is None
    undefined: list[Value] = [Undefined("a register", 0)] * 8
    assert known.common(undefined) == undefined[:2]
    assert known.common([*undefined[:7], Undefined("another one", 0)]) is None


def test_there_are_few_classes() -> None:
    threads = [(x, 0, 0) for x in range(10)]
    known = Translations.of_block(Data(), threads, (10, 1, 1), (True, True, True), (*range(8), 7, 7))
    assert known is not None
    column: list[Value] = [*(0 for _ in range(9)), known.data.made(atom("a", (3,)), f32)]
    assert known.common(column) is None


def test_an_array_is_learnt_from_all_neighbours_only() -> None:
    known = translations()
    column = elements(known)
    column[2] = known.data.made(atom("b", (2,)), f32)  # the neighbour of the representative along y
    assert known.common(column) is None and not known.moves
    assert not known.learn("z", {6: 12, 7: 13}) and not known.learn("z", {5: 11, 7: 13, 2: 2})
    assert known.learn("z", {6: 12, 7: 13, 2: 2}) and known.moves["z"] == (1, 10, 0)


def test_an_array_is_learnt_along_each_axis_from_those_who_have_neighbours() -> None:
    """The threads of a row have none along y, those of a column none along x."""
    threads = [*((x, 0, 0) for x in range(5)), (0, 1, 0), (0, 2, 0)]
    known = Translations.of_block(Data(), threads, (5, 3, 1), (True, True, True), (0, 0, 0, 0, 0, 1, 1))
    assert known is not None and known.representatives == [2, 6]
    assert known.learn("z", {1: 1, 2: 2, 5: 10, 6: 20}) and known.moves["z"] == (1, 10, 0)
    assert not known.learn("y", {1: 1, 2: 2, 6: 20}) and not known.learn("y", {5: 10, 6: 20})


def test_an_array_is_learnt_where_a_representative_has_elements_of_it() -> None:
    for first in (0, "alpha", "b"):
        known = translations((True, False, False))
        row = elements(known)[4:]
        own = first if isinstance(first, int) else known.data.made(atom(first, (7,) if first == "b" else ()), f32)
        assert known.common([own] * 4 + row) == [own, row[2]] and known.moves["a"] == (1, 0, 0)
        assert known.common(elements(known)) is not None


def test_sums_of_threads_are_no_array() -> None:
    """However evenly they are numbered."""
    known = translations()
    assert known.common(elements(known, SUM)) is None and not known.moves


def stored(known: Translations) -> Region:
    """The representative has stored to element 12, and thread 0 is left out."""
    region = Region("z", 1 << 40, 400, lambda offset: (offset, 4, 0))
    region.element_bytes = 4
    assert known.common(elements(known)) is not None and known.learn("z", {6: 12, 7: 13, 2: 2})
    own = elements(known)[6]
    region.store(48, 4, own, 9, known.data)
    assert isinstance(own, Term) and known.imply(region, 0, 4, -48, own, 0, 9)
    return region


def test_stores_that_are_left_out_are_known_by_the_representative_s() -> None:
    known = translations()
    found = known.implied({"z": stored(known)})
    (group,) = found.groups
    assert group.elements == {"z": {0: 12}} and (group.first, group.last) == ((-2, -1, 0), (0, 0, 0))


def test_each_representative_tells_of_its_own_threads() -> None:
    known = Translations.of_block(Data(), THREADS, BLOCK, (True, True, True), (0, 0, 0, 1, 0, 0, 0, 1))
    assert known is not None and known.learn("z", {5: 11, 6: 12, 1: 1, 7: 13, 3: 3})
    region = Region("z", 1 << 40, 400, lambda offset: (offset, 4, 0))
    region.element_bytes = 4
    terms = [known.data.made(atom("z", (n,)), f32) for n in (5, 7)]
    for place, term in zip((11, 13), terms, strict=True):
        region.store(4 * place, 4, term, 9, known.data)
    assert known.imply(region, 0, 4, -44, terms[0], 0, 9) and known.imply(region, 12, 4, -40, terms[1], 3, 9)
    first, second = known.implied({"z": region}).groups
    assert (first.elements, first.first, first.last) == ({"z": {0: 11}}, (-1, -1, 0), (0, 0, 0))
    assert (second.elements, second.first, second.last) == ({"z": {3: 13}}, (0, -1, 0), (0, 0, 0))


@pytest.mark.parametrize(("offset", "size", "by"), [(0, 4, -44), (0, 8, -48), (2, 4, -46), (48, 4, 0)])
def test_stores_elsewhere_are_not_left_out(offset: int, size: int, by: int) -> None:
    known = translations()
    region, own = stored(known), elements(known)[6]
    known.settle(region, 0)
    del region.cells[0]
    assert isinstance(own, Term) and not known.imply(region, offset, size, by, own, 0, 9)


def test_what_was_left_out_is_put_in_where_a_cell_changes() -> None:
    """Afterwards the representative's cell holds something else, or the thread's own is read or overwritten."""
    known = translations()
    region = stored(known)
    region.store(48, 4, 7, 10, known.data)
    assert not known.implied({"z": region}).groups
    assert region.cells[0].value is elements(known)[0]
    known = translations()
    region = stored(known)
    known.settle_near(region, 4, 16)
    assert known.implied({"z": region}).elements_of("z") == {0: 12}, "bytes 0 to 3 are not among those"
    known.settle_near(region, 2, 1)
    assert region.cells[0].value is elements(known)[0] and not known.implied({"z": region}).groups


OUT, IN = ArrayArgument("out", f32, (8,), "undefined"), ArrayArgument("a", f32, (8,))
LONE = Box((0, 0, 0, 0, 0, 0), (1, 1, 1, 4, 1, 1))


@pytest.mark.parametrize(
    ("lines", "declarations", "told"),
    [
        ("\tbar.sync 0;\n", "", "threads that wait for nobody"),
        ("\tshfl.sync.idx.b32 %r5, %r4, 0, 31, -1;\n", "", "threads that wait for nobody"),
        ("\tmov.u32 %r5, tile;\n", ".shared .align 16 .b8 tile[256];", "no shared memory"),
        ("\tmov.u32 %r5, %laneid;\n", "", "a special register that this runner knows"),
    ],
)
def test_a_thread_that_needs_others_stands_for_none(lines: str, declarations: str, told: str) -> None:
    program = lower(parse(body("\tmov.u32 %r4, 0;\n" + lines, declarations=declarations), "k.ptx"))
    with pytest.raises(UnsupportedError, match=told):
        run_symbolically(program, None, (OUT, IN), (1, 1, 1), (4, 1, 1), box=LONE)


def test_what_threads_exchange_in_the_same_way_is_common() -> None:
    """Representatives are threads 2 and 6 of two rows of four, or 4 to 7 of the second row."""
    rows, columns = translations((True, False, False)), translations((False, True, False))
    below = [t % 4 for t in range(8)]
    neighbour = [t ^ 1 for t in range(8)]
    assert rows.exchanged([1, 2], [t ^ 4 for t in range(8)]) == [2, 1]
    assert rows.exchanged([1, 2], neighbour) is None
    assert rows.exchanged([1, 2], [0, 5, 2, 3, 4, 5, 6, 7]) is None
    assert columns.exchanged([1, 2, 3, 4], neighbour) == [2, 1, 4, 3]
    assert columns.exchanged([1, 2, 3, 4], below) is None
    assert columns.exchanged([1, 2, 3, 4], [1, 1, 2, 3, 4, 5, 6, 7]) is None


def made(known: Translations, values: list[Value], *, steps: int = 1) -> list[Value]:
    """The values times themselves, so often."""

    def power(value: Value) -> Value:
        found = value
        for _ in range(steps):
            found = known.data.made(apply("*", found, value), f32)  # pyright: ignore[reportArgumentType] - terms
        return found

    return list(map(power, values))


def test_what_was_translated_is_common_when_it_comes_back() -> None:
    known = translations()
    right = elements(known)
    assert known.common(right) is not None
    by_hand = made(known, right, steps=9)
    assert known.common(by_hand) is None
    back = known.values_of([by_hand[6]], range(8))
    assert back == by_hand and known.common(back) == [by_hand[6]]
    assert known.common([*back[1:], back[0]]) is None
    assert known.common([*back[:3], right[3], *back[4:]]) is None


def test_what_is_made_of_a_few_elements_is_common_where_these_move_evenly() -> None:
    known = translations()
    right = elements(known)
    squares = made(known, right)
    assert known.common(squares) == [squares[6]] and known.moves == {"a": (1, 10, 0)}
    assert known.common([*squares[:3], right[3], *squares[4:]]) is None
    assert known.common([*squares[1:], squares[0]]) is None
    assert translations().common(right[:6] + squares[6:]) is None, "neighbours that have none"
    numbered = translations()
    assert numbered.common(made(numbered, elements(numbered, SUM))) is None, "sums are no array"
    first = right[0]
    assert isinstance(first, Term)
    below: list[Value] = [Comparison("<", first, first, f32)] * 8
    assert known.common(below) is None, "those of one element are not those of the threads' own"
    scale = known.data.made(atom("alpha", ()), f32)
    scaled: list[Value] = [known.data.made(apply("*", scale, v), f32) for v in right]  # pyright: ignore[reportArgumentType] - terms
    assert known.common(scaled) == [scaled[6]]


@pytest.mark.parametrize(
    ("lanes", "others", "target", "is_common"),
    [
        ([0, 1], [1, 0], Name("%f2"), True),
        ([0], [1, 0], Name("%f2"), False),
        ([0, 1], [1, -1], Name("%f2"), False),
        ([0, 1], [1, 0], Integer(2), False),
    ],
    ids=["all", "some threads", "from a thread that takes no part", "to no register"],
)
def test_exchanges_that_may_be_common(lanes: list[int], others: list[int], target: Operand, is_common: bool) -> None:
    written: list[str] = []
    nothing: Any = None
    launch: Any = SimpleNamespace(translations=SimpleNamespace(exchanged=lambda values, sources: values))
    block: Any = SimpleNamespace(count=2, name_common={"%f1": [1]}.get, write_common=lambda name, values: written.append(name))
    found = Exchanges(launch, nothing, nothing)._exchange_common(block, lanes, others, Name("%f1"), target)
    assert (found, written) == (is_common, ["%f2"] if is_common else [])
