"""Register instructions against small interpreters written from the manuals; sizes of the authors' tool."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.ir.dataflow.sets.members import Gather, check, gathers

from warploom.core import UserError
from warploom.ir.dataflow.sets import gather_set
from warploom.ir.dataflow.sets.parts import UnionSet

UNDEFINED, ZERO = -2, -1


@pytest.mark.parametrize(
    ("name", "shape", "out", "options", "size"),
    [
        ("hvx_2x1", (4, 8), (5, 8), {"in_lim": 4, "fresh": True}, 149),
        ("hvx_2x1", (9, 8), (10, 8), {"in_lim": 4, "fresh": True}, 149),
        ("hvx", (4, 8), (5, 8), {"in_lim": 4, "fresh": True}, 149),
        ("hvx_2x2", (4, 8), (4, 8), {"inplace": True}, 29),
        ("hvx_inplace", (4, 8), (4, 8), {"swaps": True}, 4871),
    ],
)
def test_sizes_of_the_authors(name: str, shape: tuple[int, int], out: tuple[int, int], options: dict, size: int) -> None:
    assert gather_set(name, options, (shape,), out).members.size == size


def registers_of(rows: int, n: int, out: int) -> list[list[int]]:
    return [[r * n + i if r < rows else UNDEFINED for i in range(n)] for r in range(out)]


def written(registers: list[list[int]], **changes: list[int]) -> Gather:
    return tuple(x for r, row in enumerate(registers) for x in changes.get(f"r{r}", row))


def hvx_one(u: list[int], v: list[int], masks: bool) -> list[list[int]]:
    n = len(u)
    found = [[v[i + 1] if i % 2 == 0 else u[i] for i in range(n)], [v[i] if i % 2 == 0 else u[i - 1] for i in range(n)]]
    found += [[v[i + m] if i < n - m else u[i - (n - m)] for i in range(n)] for m in range(n)]
    found += [[v[n - m + i] if i < m else u[i - m] for i in range(n)] for m in range(n)]
    if masks:
        found += [[a if bit else b for a, b, bit in zip(u, v, bits, strict=True)] for bits in product((0, 1), repeat=n)]
    return found


def hvx_two(u: list[int], v: list[int], masks: bool) -> list[tuple[list[int], list[int]]]:
    n = len(u)
    found = [
        tuple([v[i + r] if i % 2 == 0 else u[i - 1 + r] for i in range(n)] for r in (0, 1)),
        tuple([u[2 * i + r] if i < n // 2 else v[2 * (i - n // 2) + r] for i in range(n)] for r in (0, 1)),
    ]
    if masks:
        for bits in product((0, 1), repeat=n):
            one = [a if bit else b for a, b, bit in zip(u, v, bits, strict=True)]
            found.append((one, [b if bit else a for a, b, bit in zip(u, v, bits, strict=True)]))
    return found


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize(
    ("shape", "out", "options"),
    [
        ((2, 4), (3, 4), {"fresh": True}),
        ((3, 4), (4, 4), {"in_lim": 2}),
        ((3, 4), (3, 4), {"inplace": True}),
        ((3, 4), (3, 4), {"in": (2, 0, 1, 1), "out": (1, 2)}),
        ((2, 2), (4, 2), {"fresh": True}),
    ],
)
def test_hvx_one_result(shape: tuple[int, int], out: tuple[int, int], options: dict, masks: bool) -> None:
    rows, n = shape
    registers = registers_of(rows, n, out[0])
    named = options.get("in", ())
    limit = options.get("in_lim", rows)
    pairs = list(zip(named[::2], named[1::2], strict=True)) or list(product(range(limit), repeat=2))
    wanted = {written(registers)}
    for (u, v), d in product(pairs, range(out[0])):
        if ("fresh" in options and d < rows) or ("inplace" in options and d not in (u, v)) or d not in options.get("out", (d,)):
            continue
        wanted |= {written(registers, **{f"r{d}": row}) for row in hvx_one(registers[u], registers[v], masks)}
    assert set(check(gather_set("hvx_2x1", options | ({"swaps": True} if masks else {}), (shape,), out))) == wanted
    assert set(check(gather_set("hvx", options | ({"vmux": True} if masks else {}), (shape,), out))) == wanted


@pytest.mark.parametrize("masks", [False, True])
@pytest.mark.parametrize(("rows", "in_place"), [(3, False), (4, True), (2, True)])
def test_hvx_two_results(rows: int, in_place: bool, masks: bool) -> None:
    registers = registers_of(rows, 4, rows)
    both, two = {written(registers)}, {written(registers)}
    for u, v in product(range(rows), repeat=2):
        for d in range(0, rows - 1, 2):
            if not in_place or d in (u, v):
                for one, other in hvx_two(registers[u], registers[v], masks):
                    two.add(written(registers, **{f"r{d}": one, f"r{d + 1}": other}))
        for d in {u, v}:
            both |= {written(registers, **{f"r{d}": row}) for row in hvx_one(registers[u], registers[v], masks)}
    flags = {"swaps": True} if masks else {}
    shape = (rows, 4)
    assert set(check(gather_set("hvx_2x2", flags | ({"inplace": True} if in_place else {}), (shape,), shape))) == two
    if in_place:
        assert set(check(gather_set("hvx_inplace", flags, (shape,), shape))) == both | two


def test_hvx_at_its_real_width() -> None:
    plain = gather_set("hvx_2x1", {"in_lim": 4, "fresh": True}, ((4, 128),), (5, 128))
    assert plain.members.size == 2069 and plain.members.points == 129
    masks = gather_set("hvx_inplace", {"swaps": True}, ((4, 128),), (4, 128)).members
    assert isinstance(masks, UnionSet) and masks.size is None and masks.size_bound > 1 << 128
    everything = np.ones((masks.points, masks.values), np.bool_)
    assert masks.matching(everything) is None and masks.supported(everything).any(axis=1).all()


def test_one_mask_among_many_is_found_and_named() -> None:
    choices = gather_set("hvx", {"fresh": True, "vmux": True}, ((2, 128),), (3, 128))
    members = choices.members
    lanes = np.arange(128)
    wanted = np.concatenate([np.arange(256), np.where(lanes % 3 == 0, lanes, 128 + lanes)])
    allowed = np.zeros((members.points, members.values), np.bool_)
    for element in range(384):
        allowed[choices.point[element]] |= choices.source[element] == wanted[element]
    found = members.matching(allowed)
    assert found is not None and len(found) == 1
    assert choices.gather(found.tables[0].astype(np.int64)).tolist() == wanted.tolist()
    assert choices.text(found.expr(0)) == f"vmux(r0, r1 -> r2, mask={sum(1 << i for i in range(0, 128, 3)):#x})"
    assert (members.supported(allowed) == found.supported(members.values)).all()


def test_texts_name_instructions() -> None:
    texts = set(gathers(gather_set("hvx", {"fresh": True, "vmux": True}, ((2, 4),), (3, 4))).values())
    assert {
        "identity",
        "mov(r1 -> r2)",
        "vshuffo(r0, r1 -> r2)",
        "valign(r1, r0 -> r2, 3)",
        "vmux(r0, r1 -> r2, mask=0x5)",
    } <= texts
    assert "vdeal(r3, r0 -> r0, r1)" in gathers(gather_set("hvx_2x2", {"inplace": True}, ((4, 8),), (4, 8))).values()


# ---------------------------------------------------------------- AVX2, on bytes


def halves(row: list) -> tuple[list, list]:
    return row[:16], row[16:]


def avx2_listed(a: list, b: list) -> dict[str, list[list]]:
    """Results on 32 bytes from the manual's pseudo-code; a is the first source operand."""
    quarters = [*halves(a), *halves(b), [ZERO] * 16]
    found: dict[str, list[list]] = {"vperm2i128": [quarters[low] + quarters[high] for low, high in product(range(5), repeat=2)]}
    for letters, size in (("bw", 1), ("wd", 2), ("dq", 4), ("qdq", 8)):
        for side, start in (("l", 0), ("h", 8)):
            row = []
            for x, y in zip(halves(a), halves(b), strict=True):
                for at in range(start, start + 8, size):
                    row += x[at : at + size] + y[at : at + size]
            found[f"vpunpck{side}{letters}"] = [row]
    joined = [(y + x + [ZERO] * 32) for x, y in zip(halves(a), halves(b), strict=True)]
    found["vpalignr"] = [joined[0][s : s + 16] + joined[1][s : s + 16] for s in range(32)]
    found["vpslldq"] = [[x for half in halves(a) for x in ([ZERO] * s + half)[:16]] for s in range(1, 17)]
    found["vpsrldq"] = [[x for half in halves(a) for x in (half + [ZERO] * s)[s : s + 16]] for s in range(1, 17)]
    return found


def in_elements(row: list, n: int) -> list[int] | None:
    """Bytes (register, element, byte) as elements; None where an element is split."""
    size, elements = 32 // n, []
    for at in range(0, 32, size):
        group = row[at : at + size]
        if all(byte == ZERO for byte in group):
            elements.append(ZERO)
        elif ZERO not in group and len({byte[:2] for byte in group}) == 1 and [byte[2] for byte in group] == list(range(size)):
            elements.append(group[0][0] * n + group[0][1])
        else:
            return None
    return elements


@pytest.mark.parametrize("n", [8, 16, 32])
@pytest.mark.parametrize("name", [*avx2_listed([0] * 32, [0] * 32)])
def test_avx2_instructions_with_immediates(name: str, n: int) -> None:
    size = 32 // n
    registers = registers_of(2, n, 3)
    as_bytes = [[(r, lane // size, lane % size) for lane in range(32)] for r in range(2)]
    wanted = {written(registers), written(registers, r2=registers[0]), written(registers, r2=registers[1])}
    for u, v in product(range(2), repeat=2):
        for row in avx2_listed(as_bytes[u], as_bytes[v])[name]:
            elements = in_elements(row, n)
            if elements is not None:
                wanted.add(written(registers, r2=elements))
    assert set(check(gather_set("avx2", {"fresh": True, name: True}, ((2, n),), (3, n)))) == wanted


@pytest.mark.parametrize("n", [8, 16, 32])
def test_avx2_blends(n: int) -> None:
    registers = registers_of(2, n, 3)
    wanted = {written(registers)}
    for bits in product((0, 1), repeat=8):
        wanted.add(written(registers, r2=[registers[bits[lane * 8 // n]][lane] for lane in range(n)]))
    found = check(gather_set("avx2", {"fresh": True, "vpblendd": True}, ((2, n),), (3, n)))
    assert set(found) == wanted
    chosen = written(registers, r2=[registers[int(lane * 8 // n == 2)][lane] for lane in range(n)])
    assert found[chosen] == "vpblendd(r0, r1 -> r2, 0x04)"


@pytest.mark.parametrize("n", [8, 16, 32])
def test_avx2_factored_shuffles(n: int) -> None:
    lanes = list(range(n))
    across = gather_set("avx2", {"out": (0,), "vpermd": True}, ((1, n),), (1, n))
    inside = gather_set("avx2", {"out": (0,), "vpshufb": True}, ((1, n),), (1, n))
    assert across.members.size_bound == 8**8 + 2 and inside.members.size_bound == (n // 2 + 1) ** n + 2

    def find(choices, wanted: list[int]) -> list[str]:
        members = choices.members
        allowed = np.zeros((members.points, members.values), np.bool_)
        for element in lanes:
            allowed[choices.point[element]] |= choices.source[element] == wanted[element]
        functions = members.matching(allowed)
        return [choices.text(functions.expr(row)) for row in range(len(functions))]

    words = [7, 7, 0, 1, 2, 3, 4, 6]
    word = n // 8
    assert find(across, [words[lane // word] * word + lane % word for lane in lanes]) == [
        "vpermd(r0 -> r0, [7, 7, 0, 1, 2, 3, 4, 6])"
    ]
    assert find(across, [ZERO, *lanes[1:]]) == []
    mirrored = [lane // (n // 2) * (n // 2) + (n // 2 - 1 - lane % (n // 2)) for lane in lanes]
    order = [str(lane) for lane in reversed(range(n // 2))] * 2
    assert find(inside, mirrored) == [f"vpshufb(r0 -> r0, [{', '.join(order)}])"]
    assert find(inside, [ZERO, *mirrored[1:]]) == [f"vpshufb(r0 -> r0, [{', '.join(['z', *order[1:]])}])"]
    assert find(inside, lanes[::-1]) == []
    if n == 16:
        assert find(across, [1, 0, *lanes[2:]]) == []


def test_all_of_avx2_is_never_enumerated() -> None:
    members = gather_set("avx2", {"in_lim": 4, "fresh": True}, ((4, 32),), (5, 32)).members
    assert isinstance(members, UnionSet) and members.size is None and members.size_bound > 17**32


@pytest.mark.parametrize(
    ("name", "options", "shape", "out", "message"),
    [
        ("hvx_2x1", {}, (4, 8), (4, 4), r"SHAPE_MISMATCH\]: .* as many lanes"),
        ("hvx_2x1", {}, (4, 7), (4, 7), r"SHAPE_MISMATCH\]: .* an even number of lanes"),
        ("hvx_2x1", {"in_lim": 5}, (4, 8), (5, 8), r"BAD_OPTION\]: .* in_lim among 1\.\.4, got 5"),
        ("hvx_2x1", {"in": (1,)}, (4, 8), (5, 8), r"BAD_OPTION\]: .* in=\[register, register, \.\.\.\], got 1 numbers"),
        ("hvx_2x1", {"in": (1, 4)}, (4, 8), (5, 8), r"BAD_OPTION\]: .* registers below 4 in in, got 4"),
        ("hvx_2x1", {"out": (5,)}, (4, 8), (5, 8), r"BAD_OPTION\]: .* registers below 5 in out, got 5"),
        ("hvx_2x1", {"fresh": True}, (4, 8), (4, 8), r"SHAPE_MISMATCH\]: .* more registers out than in"),
        ("hvx_2x1", {"fresh": 1}, (4, 8), (5, 8), r"BAD_OPTION\]: .* fresh without a value, got fresh=1"),
        ("avx2", {}, (4, 4), (5, 4), r"SHAPE_MISMATCH\]: .* 8, 16 or 32 lanes"),
        ("avx2", {"vpermq": True}, (4, 8), (5, 8), r"BAD_OPTION\]: .* got 'vpermq'"),
    ],
)
def test_errors(name: str, options: dict, shape: tuple[int, ...], out: tuple[int, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        gather_set(name, options, (shape,), out)
