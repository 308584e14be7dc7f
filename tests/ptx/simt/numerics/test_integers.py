"""Integer arithmetic, bit fields, logic and shifts against Python integers, bit by bit where PTX defines them so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from warploom.ptx.simt.numerics import bind, fit, lop3, prmt

COUNT = 400
_DISTRIBUTIONS = 4


def _samples(bits: int, seed: int) -> list[int]:
    """Small values of both signs, edges, values with few ones, anything."""
    random = np.random.default_rng(seed)
    edges = [0, 1, 2, (1 << bits) - 1, (1 << bits) - 2, 1 << (bits - 1), (1 << (bits - 1)) - 1, (1 << (bits - 1)) + 1]
    edges += [(1 << (bits // 2)) - 1, 1 << (bits // 2), bits, bits - 1, bits + 1, 256, 300]
    result: list[int] = []
    for _ in range(COUNT):
        match int(random.integers(_DISTRIBUTIONS)):
            case 0:
                number = edges[int(random.integers(len(edges)))]
            case 1:
                number = int(random.integers(-40, 40))
            case 2:
                number = 1 << int(random.integers(bits))
            case _:
                number = int.from_bytes(random.bytes(bits // 8), "little")
        result.append(number & ((1 << bits) - 1))
    return result


def _typed(name: str, bits: int) -> int:
    width = int(name[1:])
    return bits - (1 << width) if name[0] == "s" and bits >> (width - 1) else bits


def _agree(text: str, wanted: Callable[..., int], seed: int = 1, widths: Sequence[int] | None = None) -> None:
    """The bound operation on samples against a function of Python ints, cut to the result's width."""
    opcode, *modifiers = text.split(".")
    operation = bind(opcode, modifiers)
    sizes = widths or [int(name[1:]) for name in operation.sources]
    columns = [_samples(size, seed + place) for place, size in enumerate(sizes)]
    result = operation.evaluate(*(np.array(column, f"u{size // 8}") for column, size in zip(columns, sizes, strict=True)))
    width = int(operation.results[0][1:].split("x")[0])
    expected = [wanted(*row) & ((1 << width) - 1) for row in zip(*columns, strict=True)]
    assert result.dtype == np.dtype(f"u{width // 8}"), text
    wrong = [lane for lane in range(COUNT) if int(result[lane]) != expected[lane]]
    assert not wrong, (text, [[hex(column[lane]) for column in columns] for lane in wrong[:3]], hex(int(result[wrong[0]])))


ALL = ("s16", "u16", "s32", "u32", "s64", "u64")


@pytest.mark.parametrize("name", ALL)
def test_ring_operations(name: str) -> None:
    width = int(name[1:])
    _agree(f"add.{name}", lambda a, b: a + b)
    _agree(f"sub.{name}", lambda a, b: a - b)
    _agree(f"mul.lo.{name}", lambda a, b: a * b)
    _agree(f"mul.hi.{name}", lambda a, b: (_typed(name, a) * _typed(name, b)) >> width)
    _agree(f"mad.lo.{name}", lambda a, b, c: a * b + c)
    _agree(f"mad.hi.{name}", lambda a, b, c: ((_typed(name, a) * _typed(name, b)) >> width) + c)
    _agree(f"sad.{name}", lambda a, b, c: c + abs(_typed(name, a) - _typed(name, b)))
    _agree(f"min.{name}", lambda a, b: min(_typed(name, a), _typed(name, b)))
    _agree(f"max.{name}", lambda a, b: max(_typed(name, a), _typed(name, b)))
    if width < 64:
        _agree(f"mul.wide.{name}", lambda a, b: _typed(name, a) * _typed(name, b))
        _agree(f"mad.wide.{name}", lambda a, b, c: _typed(name, a) * _typed(name, b) + c)


@pytest.mark.parametrize("name", ALL)
def test_division_cuts_towards_zero_and_gives_all_ones_for_zero(name: str) -> None:
    def quotient(a: int, b: int) -> int:
        if b == 0:
            return -1
        x, y = _typed(name, a), _typed(name, b)
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    def remainder(a: int, b: int) -> int:
        return -1 if b == 0 else _typed(name, a) - quotient(a, b) * _typed(name, b)

    _agree(f"div.{name}", quotient)
    _agree(f"rem.{name}", remainder)


@pytest.mark.parametrize("name", ["s16", "s32", "s64"])
def test_signs(name: str) -> None:
    _agree(f"abs.{name}", lambda a: abs(_typed(name, a)))
    _agree(f"neg.{name}", lambda a: -_typed(name, a))


def _clamp(value: int) -> int:
    return max(-(2**31), min(2**31 - 1, value))


def test_saturation_and_relu() -> None:
    def s(a: int) -> int:
        return _typed("s32", a)

    _agree("add.sat.s32", lambda a, b: _clamp(s(a) + s(b)))
    _agree("sub.sat.s32", lambda a, b: _clamp(s(a) - s(b)))
    _agree("mad.hi.sat.s32", lambda a, b, c: _clamp(((s(a) * s(b)) >> 32) + s(c)))
    _agree("min.relu.s32", lambda a, b: max(0, min(s(a), s(b))))
    _agree("max.relu.s32", lambda a, b: max(0, max(s(a), s(b))))


def test_24_bit_products() -> None:
    def s24(a: int) -> int:
        a &= 0xFFFFFF
        return a - (1 << 24) if a >> 23 else a

    _agree("mul24.lo.s32", lambda a, b: s24(a) * s24(b))
    _agree("mul24.hi.s32", lambda a, b: (s24(a) * s24(b)) >> 16)
    _agree("mul24.lo.u32", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF))
    _agree("mul24.hi.u32", lambda a, b: ((a & 0xFFFFFF) * (b & 0xFFFFFF)) >> 16)
    _agree("mad24.lo.u32", lambda a, b, c: (a & 0xFFFFFF) * (b & 0xFFFFFF) + c)
    _agree("mad24.hi.sat.s32", lambda a, b, c: _clamp(_typed("s32", ((s24(a) * s24(b)) >> 16) & 0xFFFFFFFF) + _typed("s32", c)))


@pytest.mark.parametrize("kind", ["s", "u"])
def test_packed_halves(kind: str) -> None:
    def halves(a: int) -> list[int]:
        return [_typed(f"{kind}16", a & 0xFFFF), _typed(f"{kind}16", a >> 16)]

    def pack(low: int, high: int) -> int:
        return (low & 0xFFFF) | ((high & 0xFFFF) << 16)

    def each(operation: Callable[[int, int], int]) -> Callable[[int, int], int]:
        return lambda a, b: pack(*(operation(x, y) for x, y in zip(halves(a), halves(b), strict=True)))

    for text, operation in (("add", int.__add__), ("min", min), ("max", max)):
        operation_ = bind(text, [f"{kind}16x2"])
        a, b = (np.array(_samples(32, seed), np.uint32) for seed in (5, 6))
        expected = [each(operation)(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        assert operation_.evaluate(a, b).tolist() == expected
    if kind == "s":
        a, b = (np.array(_samples(32, seed), np.uint32) for seed in (7, 8))
        expected = [each(lambda x, y: max(0, x, y))(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        assert bind("max", ["relu", "s16x2"]).evaluate(a, b).tolist() == expected


@pytest.mark.parametrize("width", [32, 64])
def test_carry_chains_add_and_subtract_wide_numbers(width: int) -> None:
    name = f"u{width}"
    a, b, c, d = ([*_samples(width, seed)] for seed in (11, 12, 13, 14))
    columns = [np.array(column, f"u{width // 8}") for column in (a, b, c, d)]
    low, carry = bind("add", ["cc", name]).evaluate(columns[0], columns[1])
    high = bind("addc", [name]).evaluate(columns[2], columns[3], carry)
    high_cc, carry_out = bind("addc", ["cc", name]).evaluate(columns[2], columns[3], carry)
    for lane in range(COUNT):
        total = (a[lane] + (c[lane] << width)) + (b[lane] + (d[lane] << width))
        assert int(low[lane]) | (int(high[lane]) << width) | (int(carry_out[lane]) << 2 * width) == total
    assert np.array_equal(high, high_cc)
    low, borrow = bind("sub", ["cc", name]).evaluate(columns[0], columns[1])
    high, borrow_out = bind("subc", ["cc", name]).evaluate(columns[2], columns[3], borrow)
    for lane in range(COUNT):
        total = (a[lane] + (c[lane] << width)) - (b[lane] + (d[lane] << width))
        assert int(low[lane]) + (int(high[lane]) << width) - (int(borrow_out[lane]) << 2 * width) == total


def test_multiply_add_with_carry() -> None:
    a, b, c = ([*_samples(32, seed)] for seed in (15, 16, 17))
    columns = [np.array(column, np.uint32) for column in (a, b, c)]
    low, carry = bind("mad", ["lo", "cc", "u32"]).evaluate(*columns)
    high, carry_out = bind("madc", ["hi", "cc", "u32"]).evaluate(*columns, carry)
    for lane in range(COUNT):
        assert int(low[lane]) | (int(high[lane]) << 32) | (int(carry_out[lane]) << 64) == a[lane] * b[lane] + c[lane] + (
            c[lane] << 32
        )


@pytest.mark.parametrize("width", [32, 64])
def test_counting(width: int) -> None:
    _agree(f"popc.b{width}", lambda a: a.bit_count())
    _agree(f"clz.b{width}", lambda a: width - a.bit_length())
    _agree(f"brev.b{width}", lambda a: int(f"{a:0{width}b}"[::-1], 2))
    _agree(f"bfind.u{width}", lambda a: a.bit_length() - 1)
    _agree(f"bfind.shiftamt.u{width}", lambda a: width - a.bit_length() if a else -1)

    def signed_find(a: int) -> int:
        return (~_typed(f"s{width}", a) if a >> (width - 1) else a).bit_length() - 1

    _agree(f"bfind.s{width}", signed_find)
    _agree(f"bfind.shiftamt.s{width}", lambda a: width - 1 - signed_find(a) if signed_find(a) >= 0 else -1)


def test_find_nth_set() -> None:
    def wanted(mask: int, base: int, offset: int) -> int:
        step = _typed("s32", offset)
        if base > 31:
            return -1
        if step == 0:
            return base if mask >> base & 1 else -1
        position, count = base, abs(step) - 1
        while 0 <= position < 32:
            if mask >> position & 1:
                if count == 0:
                    return position
                count -= 1
            position += 1 if step > 0 else -1
        return -1

    _agree("fns.b32", wanted)


@pytest.mark.parametrize("name", ["s32", "u32", "s64", "u64"])
def test_bit_field_extract(name: str) -> None:
    top = int(name[1:]) - 1

    def wanted(a: int, position: int, length: int) -> int:
        position, length = position & 0xFF, length & 0xFF
        sign = 0 if name[0] == "u" or length == 0 else a >> min(position + length - 1, top) & 1
        bits = [(a >> (position + i) & 1) if i < length and position + i <= top else sign for i in range(top + 1)]
        return sum(bit << i for i, bit in enumerate(bits))

    _agree(f"bfe.{name}", wanted)


@pytest.mark.parametrize("width", [32, 64])
def test_bit_field_insert(width: int) -> None:
    def wanted(a: int, b: int, position: int, length: int) -> int:
        position, length = position & 0xFF, length & 0xFF
        for i in range(length):
            if position + i < width:
                b = b & ~(1 << (position + i)) | ((a >> i & 1) << (position + i))
        return b

    _agree(f"bfi.b{width}", wanted)


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_szext_and_bmsk(mode: str) -> None:
    def extend(name: str) -> Callable[[int, int], int]:
        def wanted(a: int, b: int) -> int:
            width, too_large = b & 31, b >= 32 and mode == "clamp"
            mask = 0 if too_large else (0xFFFFFFFF << width) & 0xFFFFFFFF
            sign = 0 if width == 0 or too_large or name == "u32" else a >> (width - 1) & 1
            return (a & ~mask) | (mask if sign else 0)

        return wanted

    _agree(f"szext.{mode}.s32", extend("s32"))
    _agree(f"szext.{mode}.u32", extend("u32"))

    def mask_bits(a: int, b: int) -> int:
        position, width = a & 31, b & 31
        mask0 = 0xFFFFFFFF << position & 0xFFFFFFFF
        mask1 = 0xFFFFFFFF << (position + width) & 0xFFFFFFFF
        if mode == "clamp" and a >= 32:
            mask0 = 0
        if position + width >= 32 or (mode == "clamp" and (a >= 32 or b >= 32)):
            mask1 = 0
        return mask0 & ~mask1

    _agree(f"bmsk.{mode}.b32", mask_bits)


@pytest.mark.parametrize(("first", "second"), [("s32", "s32"), ("s32", "u32"), ("u32", "s32"), ("u32", "u32")])
def test_dot_products(first: str, second: str) -> None:
    def parts(name: str, a: int, width: int) -> list[int]:
        return [_typed(f"{name[0]}{width}", a >> shift & ((1 << width) - 1)) for shift in range(0, 32, width)]

    def products(a: list[int], b: list[int]) -> int:
        return sum(x * y for x, y in zip(a, b, strict=True))

    _agree(f"dp4a.{first}.{second}", lambda a, b, c: c + products(parts(first, a, 8), parts(second, b, 8)))
    _agree(f"dp2a.lo.{first}.{second}", lambda a, b, c: c + products(parts(first, a, 16), parts(second, b, 8)[:2]))
    _agree(f"dp2a.hi.{first}.{second}", lambda a, b, c: c + products(parts(first, a, 16), parts(second, b, 8)[2:]))


def test_logic() -> None:
    for width in (16, 32, 64):
        _agree(f"and.b{width}", lambda a, b: a & b)
        _agree(f"or.b{width}", lambda a, b: a | b)
        _agree(f"xor.b{width}", lambda a, b: a ^ b)
        _agree(f"not.b{width}", lambda a: ~a)
        _agree(f"cnot.b{width}", lambda a: int(a == 0))


def test_every_lop3_table() -> None:
    random = np.random.default_rng(3)
    a, b, c = (random.integers(0, 2**32, 16, dtype=np.uint32) for _ in range(3))
    places = [(int(x), int(y), int(z)) for x, y, z in zip(a, b, c, strict=True)]
    for table in range(256):
        expected = [
            sum((table >> (4 * (x >> i & 1) + 2 * (y >> i & 1) + (z >> i & 1)) & 1) << i for i in range(32)) for x, y, z in places
        ]
        assert np.broadcast_to(lop3(a, b, c, table), 16).tolist() == expected, table
    value, p = bind("lop3", ["and", "b32"]).evaluate(a, b, c, 0, np.ones(16, np.bool_))
    assert not value.any() and not p.any()


@pytest.mark.parametrize("width", [16, 32, 64])
def test_shifts_clamp_at_the_width(width: int) -> None:
    _agree(f"shl.b{width}", lambda a, b: a << min(b, width))
    _agree(f"shr.u{width}", lambda a, b: a >> min(b, width))
    _agree(f"shr.b{width}", lambda a, b: a >> min(b, width))
    _agree(f"shr.s{width}", lambda a, b: _typed(f"s{width}", a) >> min(b, width))


def test_funnel_shifts() -> None:
    for mode, count in (("clamp", lambda c: min(c, 32)), ("wrap", lambda c: c & 31)):
        _agree(f"shf.l.{mode}.b32", lambda a, b, c, count=count: ((b << 32 | a) << count(c)) >> 32)
        _agree(f"shf.r.{mode}.b32", lambda a, b, c, count=count: (b << 32 | a) >> count(c))


def test_byte_permutation() -> None:
    def generic(a: int, b: int, c: int) -> int:
        source, result = b << 32 | a, 0
        for place in range(4):
            control = c >> 4 * place & 15
            byte = source >> 8 * (control & 7) & 255
            result |= ((255 if byte >> 7 else 0) if control & 8 else byte) << 8 * place
        return result

    _agree("prmt.b32", generic)
    x, y = (_samples(32, seed) for seed in (21, 22))
    for selector in (0x3210, 0x7654, 0x5410, 0xBA98, 0xFEDC, 0x0F71, 0x12345678):
        result = prmt("", np.array(x, np.uint32), np.array(y, np.uint32), np.array(selector, np.uint32))
        assert result.tolist() == [generic(p, q, selector) for p, q in zip(x, y, strict=True)]
    a, b = np.full(4, 0x03020100, np.uint32), np.full(4, 0x07060504, np.uint32)
    # The manual's tables, byte 3 first, for selectors 0 to 3.
    tables = {
        "f4e": ("3210", "4321", "5432", "6543"),
        "b4e": ("5670", "6701", "7012", "0123"),
        "rc8": ("0000", "1111", "2222", "3333"),
        "ecl": ("3210", "3211", "3222", "3333"),
        "ecr": ("0000", "1110", "2210", "3210"),
        "rc16": ("1010", "3232", "1010", "3232"),
    }
    for mode, rows in tables.items():
        wanted = [int("".join(f"0{digit}" for digit in row), 16) for row in rows]
        assert prmt(mode, a, b, np.arange(4, dtype=np.uint32)).tolist() == wanted, mode


def test_selection() -> None:
    a, b = (np.array(_samples(64, seed), np.uint64) for seed in (1, 2))
    p = np.random.default_rng(3).integers(0, 2, COUNT).astype(np.bool_)
    assert np.array_equal(
        bind("selp", ["b64"]).evaluate(a, b, p), np.array([x if q else y for x, y, q in zip(a, b, p, strict=True)])
    )
    ones, twos = np.full(7, 1, np.uint32), np.full(7, 2, np.uint32)
    c = np.array([0, 0x80000000, 0x80000001, 0x807FFFFF, 0x80800000, 0x7FC00000, 0x3F800000], np.uint32)
    assert bind("slct", ["u32", "f32"]).evaluate(ones, twos, c).tolist() == [1, 1, 2, 2, 2, 2, 1]
    assert bind("slct", ["ftz", "u32", "f32"]).evaluate(ones, twos, c).tolist() == [1, 1, 1, 1, 2, 2, 1]
    assert bind("slct", ["u32", "s32"]).evaluate(ones, twos, c).tolist() == [1, 2, 2, 2, 2, 1, 1]


def test_fit_cuts_and_extends() -> None:
    a = np.array([0x80, 0x7F], np.uint8)
    assert fit("s8", a, 32).tolist() == [0xFFFFFF80, 0x7F]
    assert fit("u8", a, 32).tolist() == [0x80, 0x7F]
    assert fit("s8", np.array([0x1234FF80], np.uint32), 8).tolist() == [0x80]


def test_scalars_and_mixed_shapes_broadcast() -> None:
    lanes, one = np.arange(4, dtype=np.uint32), np.array(1, np.uint32)
    assert bind("add", ["s32"]).evaluate(lanes, one).tolist() == [1, 2, 3, 4]
    assert bind("dp4a", ["u32", "u32"]).evaluate(one, lanes, one).tolist() == [1, 2, 3, 4]
    assert bind("shl", ["b32"]).evaluate(one, lanes).tolist() == [1, 2, 4, 8]
    assert int(bind("bfe", ["u32"]).evaluate(np.array(0xF0, np.uint32), np.array(4, np.uint32), np.array(4, np.uint32))) == 15
    assert int(bind("mul", ["hi", "s64"]).evaluate(np.array(2**64 - 1, np.uint64), np.array(3, np.uint64))) == 2**64 - 1
    assert bind("add", ["s16x2"]).evaluate(one, np.array([[0xFFFF]], np.uint32)).tolist() == [[0]]
