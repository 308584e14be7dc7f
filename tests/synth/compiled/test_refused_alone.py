"""Refusals that another check would hide in a whole proof: each is asked by itself here."""

from __future__ import annotations

from math import inf, nan
from types import FunctionType, SimpleNamespace

import pytest
from tests.synth.compiled.programs import body, proved

import warploom as wl
from warploom.core import DType, UnsupportedError, UserError, f32, i8, i32, i64, u8, u16, u32, u64
from warploom.core.intervals import Interval
from warploom.core.linear import Linear
from warploom.ptx import lower, parse
from warploom.ptx.syntax import Name
from warploom.synth.compiled import ArrayArgument, prove_equivalent, run_plain_spec, run_symbolically
from warploom.synth.compiled.arithmetic import Arithmetic, NotFollowedError
from warploom.synth.compiled.comparison import Comparison, Element
from warploom.synth.compiled.data import Data, Indexed, Joined, NoBitsError, Value
from warploom.synth.compiled.gathers import Gathers
from warploom.synth.compiled.infinities import at_infinity
from warploom.synth.compiled.memory import Owner, Region, _is_in_scope
from warploom.synth.compiled.moving import SIZE, Moving
from warploom.synth.compiled.numbers import value_of
from warploom.synth.compiled.placed import placed
from warploom.synth.compiled.transfers import Transfers
from warploom.synth.compiled.typed_specs import TypedSpec
from warploom.terms import FormTooLargeError, Term, algebra_for, apply, atom, constant

WORDS = (ArrayArgument("out", u32, (4,)), ArrayArgument("a", u32, (4,)))


def element(data: Data, name: str, kind: DType) -> Term:
    return data.made(atom(name, ()), kind)


# ------------------------------------------------------------ words side by side


def number_in(value: Value, data: Data, numbers: dict[str, int]) -> int:
    term = data.as_int(value, u32)
    found = value_of(term, data.kinds, lambda t: numbers[t.data[0]])
    assert found is not None
    return int(found) & 0xFFFFFFFF


@pytest.mark.parametrize("op", ["add", "or", "xor", "and"])
def test_words_are_joined_part_by_part_only_where_that_is_right(op: str) -> None:
    data = Data()
    byte, other = element(data, "x", u8), element(data, "y", u8)
    half, word = element(data, "h", u16), element(data, "w", u32)
    numbers = {"x": 0xC3, "y": 0x96, "h": 0xF00D, "w": 0xDEADBEEF}
    values: list[Value] = [
        Joined(((0x80, 8), (byte, 8), (0x7FFF, 16))),
        Joined(((byte, 8), (0, 24))),
        Joined(((other, 8), (byte, 8), (half, 16))),
        Joined(((0, 12), (byte, 8), (0, 12))),
        0x00800080,
        word,
    ]
    run = Arithmetic(data).signless(op, u32)
    meaning = {"add": int.__add__, "or": int.__or__, "xor": int.__xor__, "and": int.__and__}[op]
    for a in values:
        for b in values:
            want = meaning(number_in(a, data, numbers), number_in(b, data, numbers)) & 0xFFFFFFFF
            assert number_in(run(a, b), data, numbers) == want, (op, a, b)


def test_a_sum_under_a_mask_that_is_no_machine_word() -> None:
    data = Data()
    total = data.made(apply("+", element(data, "x", u32), element(data, "y", u32)), u32)
    for mask in (7, 0xFF, 0xFFFF, 0xFFFFF):
        found = Arithmetic(data).signless("and", u32)(total, mask)
        assert number_in(found, data, {"x": 0xDEADBEEF, "y": 0x12345678}) == (0xDEADBEEF + 0x12345678) & mask


def test_what_a_float_is_at_most_is_not_told() -> None:
    """2^32 - 1 as a float is 2^32."""
    data = Data()
    number = data.made(apply("cast.u32.f32", element(data, "x", u32)), f32)
    assert data._greatest(data.made(apply("cast.f32.u64", number), u64)) == (1 << 64) - 1
    assert data._greatest(number) is None


def test_bits_that_are_no_machine_word() -> None:
    data = Data()
    with pytest.raises(NoBitsError, match="12 bits of data are no machine word"):
        data.widened(element(data, "x", u16), 12, u32)
    with pytest.raises(NoBitsError, match="copies of a sign bit"):
        data.extract(element(data, "y", i8), 0, 16, 32)


def test_an_address_beside_other_bits_is_no_word() -> None:
    data = Data()
    with pytest.raises(NoBitsError, match="parts of an address"):
        data.join([(placed(64, (("tile", 1),)), 32), (element(data, "x", u32), 32)])


# ------------------------------------------------------------ infinities, and values for given numbers


@pytest.mark.parametrize("op", ["+", "-", "max", "min", "fma", "/", "ex2"])
def test_no_rule_has_a_nan_among_its_operands(op: str) -> None:
    x, undefined = atom("x", ()), constant(nan)
    others = {"fma": [x, x], "ex2": []}.get(op, [x])
    assert at_infinity(op, [undefined, *others]) is None
    assert at_infinity(op, [*others, undefined]) is None


def test_an_index_outside_of_its_array_has_no_value() -> None:
    read = apply("read.x.0.1", atom("i", ()))
    inside = {0: atom("x", (0,))}
    for index, found in ((0, 5), (1, None)):
        numbers = {atom("i", ()): index, atom("x", (0,)): 5}
        assert value_of(read, {}, numbers.__getitem__, lambda _, words: inside.get(words[0])) == found


def test_terms_without_a_value() -> None:
    x, y = atom("x", ()), atom("y", ())
    numbers = {x: 3, y: 5000}
    real, shifted, cut = apply("&", x, y), apply("<<", x, y), apply("sqrt", x)
    kinds = {x: f32, y: f32, real: f32}
    assert value_of(constant(inf), {}, numbers.__getitem__) is None
    assert value_of(constant(nan), {}, numbers.__getitem__) is None
    assert value_of(real, kinds, numbers.__getitem__) is None
    assert value_of(shifted, {x: i32, y: i32, shifted: i32}, numbers.__getitem__) is None
    assert value_of(cut, {x: i32, cut: i32}, numbers.__getitem__) is None
    assert value_of(apply("+", x, y), {x: i32, y: i32}, numbers.__getitem__) is None
    ratio = apply("div.i32", x, y)
    for a, b, found in ((7, -2, -3), (7, 0, None), (-(1 << 31), -1, None)):
        assert value_of(ratio, {x: i32, y: i32, ratio: i32}, {x: a, y: b}.__getitem__) == found


# ------------------------------------------------------------ what is told apart


def compared(kind: DType, of: DType, got: Term, want: Term, kinds: dict[Term, DType]) -> str:
    comparison = Comparison(algebra_for(kind), {"a": of, "out": kind}, ())
    return comparison.compare([Element("out", (0,), kind, want, got, 1)], kinds).verdict


def test_a_spec_on_words_of_another_sign_is_not_told_apart() -> None:
    x, y = atom("a", (0,)), atom("a", (1,))
    for want in (apply("min", x, y), apply("select <", x, y, x, y)):
        assert compared(i32, i32, x, want, {x: i32, y: i32}) == "different"
        assert compared(i32, u32, x, want, {x: u32, y: u32}) == "open"


@pytest.mark.parametrize(
    ("want", "of", "told"),
    [
        (apply("min", atom("a", (0,)), constant(-1)), u32, "compare with numbers of type u32, got -1"),
        (apply("<<", atom("a", (0,)), constant(1024)), u32, "shift by 0 to 1023, got 1024"),
        (apply("max", atom("a", (0,)), atom("a", (1,))), i64, "order values that u32 holds, got i64"),
    ],
)
def test_what_python_and_words_order_differently_is_left_open(want: Term, of: DType, told: str) -> None:
    """Also where a kernel has the very same term."""
    comparison = Comparison(algebra_for(u32), {"a": of, "out": u32}, ())
    found = comparison.compare([Element("out", (0,), u32, want, want, 1)], dict.fromkeys((want, *want.args), u32))
    assert found.verdict == "open" and told in found.reason


def test_a_real_number_is_compared_with_any_other() -> None:
    x = atom("a", (0,))
    made = apply("max", x, constant(-1))
    assert compared(f32, f32, made, apply("max", constant(-1), x), {x: f32, made: f32}) == "equal"


def test_forms_that_are_too_large_leave_it_open(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = Comparison(algebra_for(u32), {"a": u32, "out": u32}, ())

    def too_large(_: object) -> Term:
        raise FormTooLargeError("a form of too many summands")

    monkeypatch.setattr(comparison.normaliser, "canonical", too_large)
    x, y = atom("a", (0,)), atom("a", (1,))
    found = comparison.compare([Element("out", (0,), u32, x, y, 1)], {x: u32, y: u32})
    assert (found.verdict, found.reason) == ("open", "a form of too many summands")


# ------------------------------------------------------------ the run


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NoBitsError("3 bits of data are no machine word"), "operations on whole elements, got 3 bits of data"),
        (RecursionError("too deep"), "expected data of moderate depth"),
    ],
)
def test_what_stops_a_run_is_said_with_its_line(monkeypatch: pytest.MonkeyPatch, error: Exception, told: str) -> None:
    def stop(*_: object) -> Value:
        raise error

    program = lower(parse(body("\tld.global.u32 %r2, [%rd2];\n\tst.global.u32 [%rd1], %r2;"), "k.ptx"))
    monkeypatch.setattr(Region, "store", stop)
    with pytest.raises(UnsupportedError, match=told):
        run_symbolically(program, None, WORDS, (1, 1, 1), (4, 1, 1))


def test_a_launch_of_too_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    program = lower(parse(body("\tld.global.u32 %r2, [%rd2];\n\tst.global.u32 [%rd1], %r2;"), "k.ptx"))
    steps = run_symbolically(program, None, WORDS, (1, 1, 1), (4, 1, 1)).thread_steps
    for limit in (steps, steps - 1):
        monkeypatch.setitem(run_symbolically.__globals__, "STEP_LIMIT", limit)
        if limit == steps:
            run_symbolically(program, None, WORDS, (1, 1, 1), (4, 1, 1))
        else:
            with pytest.raises(UnsupportedError, match="expected a launch that ends within the step limit"):
                run_symbolically(program, None, WORDS, (1, 1, 1), (4, 1, 1))


def test_elements_that_were_stored_in_pieces_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    program = lower(parse(body("\tld.global.u32 %r2, [%rd2];\n\tst.global.u32 [%rd1], %r2;"), "k.ptx"))
    run = run_symbolically(program, None, WORDS, (1, 1, 1), (4, 1, 1))

    def cut(*_: object) -> Value:
        raise NoBitsError("24 bits of data are no machine word")

    monkeypatch.setattr(Region, "load", cut)
    with pytest.raises(UnsupportedError, match="expected whole elements stored to out, got 24 bits"):
        run.content(WORDS[0], 0)


@pytest.mark.parametrize(
    ("barrier", "told"),
    [
        ("bar.sync 1, 48;", "expected whole warps at a barrier, got a count of 48 threads"),
        ("bar.sync 16;", "expected a barrier number of 0 to 15, got 16"),
        (
            "setp.lt.u32 %p1, %r1, 32;\n\tselp.b32 %r9, 64, 96, %p1;\n\tbar.sync 1, %r9;",
            "expected one count of threads at barrier 1, got 96 and 64",
        ),
    ],
)
def test_counts_and_numbers_of_barriers(barrier: str, told: str) -> None:
    arguments = (ArrayArgument("out", u32, (96,)), ArrayArgument("a", u32, (96,)))
    fault = proved(body(f"\t{barrier}\n"), lambda out, a: None, arguments, 1, 96).fault
    assert fault is not None and fault.kind == "barrier" and told in fault.message


@pytest.mark.parametrize("copy", ["[%r4], [%rd2], 12", "[%r4], [%rd2], 2", "[%r4], [%rd2], 4, 4, %rd2", "[%r4], [%rd2], %r3"])
def test_the_size_of_an_asynchronous_copy(copy: str) -> None:
    text = body(f"\tmov.u32 %r4, tile;\n\tcp.async.ca.shared.global {copy};\n", declarations=".shared .align 16 .b8 tile[64];")
    with pytest.raises(UnsupportedError, match=r"expected cp\.async of 4, 8 or 16 bytes"):
        run_symbolically(lower(parse(text, "k.ptx")), None, WORDS, (1, 1, 1), (1, 1, 1))


def test_an_original_with_a_fault_of_its_own() -> None:
    good = lower(parse(body("\tld.global.u32 %r2, [%rd2];\n\tst.global.u32 [%rd1], %r2;")))
    beyond = lower(parse(body("\tld.global.u32 %r2, [%rd2+4];\n\tst.global.u32 [%rd1], %r2;")))
    found = prove_equivalent(beyond, good, None, WORDS, (1, 1, 1), (4, 1, 1))
    assert found.verdict == "unchecked" and found.reason.startswith("the original has a fault: expected a load inside an array")
    assert found.fault is not None


# ------------------------------------------------------------ specs


def test_a_word_of_the_sketch_language_in_a_spec() -> None:
    def spec(out, a):
        out[0] = wl.cast(wl.u32, a[0])

    with pytest.raises(UserError, match="got a word of the sketch language"):
        run_plain_spec(spec, WORDS)


def chosen(spec: FunctionType) -> list[str]:
    return [str(t) for t in run_plain_spec(spec, WORDS)["out"].terms.tolist()]


def test_branches_that_are_no_assignments_stay_as_they_are() -> None:
    def two_steps(out, a):
        for i in range(4):
            if i % 2 == 0:
                out[i] = a[i]
            else:
                b = a[0]
                out[i] = b

    def a_step_of_two(out, a):
        for i in range(4):
            if i % 2 == 1:
                b = a[0]
                out[i] = b
            else:
                out[i] = a[i]

    def into_two_places(out, a):
        for i in range(4):
            if i % 2 == 0:
                out[i] = a[i]
            else:
                out[i - 1] = a[0]

    first, other = str(atom("a", (0,))), str(atom("a", (2,)))
    assert chosen(two_steps) == chosen(a_step_of_two) == [first, first, other, first]
    assert chosen(into_two_places) == [first, str(atom("out", (1,))), first, str(atom("out", (3,)))]


def test_a_name_that_may_have_no_value_is_no_choice() -> None:
    def under_a_name(out, a):
        if a[0] > 0:
            kept = a[1]
        out[0] = kept

    with pytest.raises(UserError) as caught:
        chosen(under_a_name)
    assert "data" in str(caught.value) and "UnboundLocalError" not in str(caught.value)


# ------------------------------------------------------------ loads


def test_a_register_as_wide_as_what_is_loaded_is_not_extended() -> None:
    launch = SimpleNamespace(routine=SimpleNamespace(registers={"%q": "b128", "%r": "b32", "%h": "b16"}))
    transfers = Transfers(launch, None, None)  # pyright: ignore[reportArgumentType] - only the registers are asked for
    assert transfers.extension("b128", Name("%q")) is None
    assert transfers.extension("u32", Name("%r")) is None
    assert transfers.extension("s16", Name("%r")) is not None
    assert transfers.extension("u8", Name("%h")) is not None


@pytest.mark.parametrize(("first", "second"), [(False, False), (False, True), (True, False), (True, True)])
def test_atomics_of_two_blocks_order_each_other_only_if_both_scopes_hold_them(first: bool, second: bool) -> None:
    one, beside, other = (
        Owner((block, 0, 0), 0, 0, 0, 0, is_wide=wide) for block, wide in ((0, first), (0, second), (1, second))
    )
    assert _is_in_scope(one, beside)
    assert _is_in_scope(one, other) == (first and second)


def gathering(last: dict[str, int] | None = None) -> tuple[Transfers, Region, Term]:
    """Reads of `x`, of 64 bytes: a spec's where no block moves, else up to 10 elements behind where the block reads."""
    region = Region("x", 1 << 40, 64, lambda offset: (offset, 4, 0))
    x = atom("x", (0,))
    launch = SimpleNamespace(
        memory=SimpleNamespace(at=lambda base: region if base == region.base else None), data=Data(),
        places=SimpleNamespace(variables={"x", "y"}, need=lambda *_: None, moving=Moving(last or {})),
        unsupported=lambda told, *_: ValueError(told), use_of=lambda name, _: name, loaded=set[str](),
        gathers=SimpleNamespace(
            found=lambda *_: (Linear(), Interval(0, 10) if last else None), dtype=lambda _: u32, elements=lambda *_: [x]
        ),
    )  # fmt: skip
    return Transfers(launch, None, None), region, x  # pyright: ignore[reportArgumentType] - only the launch is asked


def read(transfers: Transfers, base: int, of: tuple[tuple[str, int], ...]) -> list[Term]:
    offset = element(transfers.launch.data, "i", u64)
    return transfers._gathered(Indexed(placed(base, of), offset), "global", 4, 1, 0)[1]


def test_only_an_index_into_one_array_that_stays_in_place_is_followed() -> None:
    transfers, region, x = gathering()
    assert read(transfers, region.base, (("x", 1),)) == [x]
    for base, of in (
        (region.base, (("x", 2),)),
        (region.base, (("y", 1),)),
        (region.base, (("x", 1), ("round", 4))),
        (region.base + 64, (("x", 1),)),
    ):
        with pytest.raises(ValueError, match="an address that depends on data"):
            read(transfers, base, of)
    transfers.launch.gathers = None
    with pytest.raises(ValueError, match="an address that depends on data"):
        read(transfers, region.base, (("x", 1),))


def test_an_index_moves_with_the_blocks_by_whole_elements_inside_of_an_array_of_known_size() -> None:
    of = (("%ctaid.x", 4), ("x", 1))
    transfers, region, x = gathering({"%ctaid.x": 5})
    assert read(transfers, region.base, of) == [x] and transfers.launch.loaded == {"x"}
    with pytest.raises(ValueError, match="that do not move by whole elements"):
        read(transfers, region.base, (("%ctaid.x", 2), ("x", 1)))
    for blocks, start in ((6, 4), (5, -4)):  # element 6 + 10 is one too many
        transfers, region, _ = gathering({"%ctaid.x": blocks})
        with pytest.raises(ValueError, match="which may lie outside of it"):
            read(transfers, region.base, (("%ctaid.x", start), ("x", 1)))
    transfers, region, _ = gathering({"%ctaid.x": 5})
    region.grows = {SIZE: 4}
    with pytest.raises(ValueError, match="that do not move by whole elements"):
        read(transfers, region.base, of)
    transfers, region, _ = gathering({"%ctaid.x": 5})
    transfers.launch.use_of = lambda *_: None  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="that move in too many ways"):
        read(transfers, region.base, of)


def test_an_operation_that_words_do_not_have_is_one_of_the_spec() -> None:
    x = atom("a", (0,))
    found = TypedSpec({"a": u32}, Gathers({})).term(apply("sqrt", x), u32)
    assert found is apply("spec sqrt", x)


def test_comparisons_that_ptx_does_not_have_are_not_followed() -> None:
    with pytest.raises(NotFollowedError, match=r"the comparison \.between"):
        Arithmetic(Data()).compare("between", u32)
