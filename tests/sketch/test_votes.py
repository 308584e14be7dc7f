"""Votes of a warp: their values by plain loops, what is proved of them, what is printed, and what is refused."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.sketch.helpers import problem

import warploom as wl
from warploom import i32, u32
from warploom.core import UnsupportedError, UserError
from warploom.gpu import cuda_source, read_back
from warploom.ir import kernel_text, parse_kernel, run, verify
from warploom.synth.lift.lift import lift
from warploom.synth.proof.check import check
from warploom.synth.proof.prove import prove
from warploom.terms import Normaliser, Term, algebra_for, apply, atom, constant, evaluate, holds, mixed

n = wl.size("n")
MACHINE = algebra_for(u32)


def votes_body(x: wl.Global[i32, 64], y: wl.Global[u32, 4, 64]):
    i = wl.thread_id()
    kept = wl.ballot((x[i] > 2 and not (x[i] == 5 or x[i] == 6)) or i < 3)
    y[0, i] = kept
    y[1, i] = wl.any(x[i] >= 9)
    y[2, i] = wl.all(kept & 1)
    y[3, i] = wl.popc(kept) + wl.holds(x[i], "!=", 4)


def test_the_interpreter_and_the_printed_text_do_what_plain_loops_do() -> None:
    kernel = wl.sketch(block=64)(votes_body).kernel
    assert parse_kernel(kernel_text(kernel)) == kernel
    x = np.random.default_rng(0).integers(-3, 10, 64).astype(np.int32)
    found = run(kernel, {"x": x}, {}).arrays["y"]
    for warp in (range(32), range(32, 64)):
        kept = [bool((x[i] > 2 and x[i] not in (5, 6)) or i < 3) for i in warp]
        mask = sum(1 << lane for lane, holds_here in enumerate(kept) if holds_here)
        for i in warp:
            high = int(any(x[k] >= 9 for k in warp))
            assert found[:, i].tolist() == [mask, high, mask & 1, bin(mask).count("1") + (x[i] != 4)]
    source = cuda_source(kernel).text
    assert "__ballot_sync(0xffffffffu" in source and "__any_sync" in source and "__all_sync" in source and "__popc" in source
    assert read_back(source, kernel).ok
    assert not read_back(source.replace("__any_sync", "__all_sync"), kernel).ok
    assert not read_back(source.replace("0xffffffffu", "0xfffffffeu", 1), kernel).ok


def ranks_spec(x, rank):
    for w in range(len(rank) // 8):
        for i in range(8):
            for j in range(i):
                rank[8 * w + i] += wl.holds(x[8 * w + j], ">", 0)


def ranks_body(x: wl.Global[i32, 8 * n], rank: wl.Global[u32, 8 * n]):
    i = wl.global_id()
    kept = wl.ballot(x[i] > 0)
    rank[i] = wl.popc(kept & ((wl.literal(u32, 1) << wl.cast(u32, wl.lane_id())) - 1))


def inclusive(x: wl.Global[i32, 8 * n], rank: wl.Global[u32, 8 * n]):
    i = wl.global_id()
    kept = wl.ballot(x[i] > 0)
    rank[i] = wl.popc(kept & ((wl.literal(u32, 2) << wl.cast(u32, wl.lane_id())) - 1))


def not_strict(x: wl.Global[i32, 8 * n], rank: wl.Global[u32, 8 * n]):
    i = wl.global_id()
    kept = wl.ballot(x[i] >= 0)
    rank[i] = wl.popc(kept & ((wl.literal(u32, 1) << wl.cast(u32, wl.lane_id())) - 1))


def _sketch(body):
    return wl.sketch(spec=ranks_spec, block=8, grid=n, warp_size=8)(body)


@pytest.mark.parametrize(("body", "verdict"), [(ranks_body, "proved"), (inclusive, "refuted"), (not_strict, "refuted")])
def test_ranks_by_votes(body, verdict: str) -> None:
    kernel = _sketch(body).kernel
    proof = prove(kernel, ranks_spec, {"n": 1}, MACHINE)
    assert proof.verdict == verdict, proof.reason
    if body is not not_strict:  # random numbers are seldom 0
        assert check(kernel, ranks_spec, {"n": 1}).verdict == ("tested" if verdict == "proved" else "refuted")


def test_ranks_are_lifted_to_every_size() -> None:
    sketch = _sketch(ranks_body)
    assert lift(sketch, sketch.kernel).verdict == "proved"


def divergent(x: wl.Global[i32, 32], y: wl.Global[u32, 32]):
    i = wl.thread_id()
    if i < 20:
        y[i] = wl.ballot(x[i] > 0)


def divergent_spec(x, y):
    for i in range(20):
        y[i] = 1


def test_a_vote_without_some_lanes_is_a_fault_everywhere() -> None:
    kernel = wl.sketch(spec=divergent_spec, block=32)(divergent).kernel
    assert [d.code for d in run(kernel, {"x": np.zeros(32, np.int32)}, {}).diagnostics] == ["VOTE_INACTIVE"]
    proof = prove(kernel, divergent_spec, {}, MACHINE)
    assert proof.verdict == "refuted" and "VOTE_INACTIVE" in [d.code for d in proof.diagnostics]
    with pytest.raises(UnsupportedError) as error:
        cuda_source(kernel)
    assert error.value.diagnostics[0].code == "VOTE_DIVERGENT"


def half(x: wl.Global[i32, 48], y: wl.Global[u32, 48]):
    y[wl.thread_id()] = wl.ballot(x[wl.thread_id()] > 0)


def of_a_float(x: wl.Global[wl.f32, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.ballot(x[wl.thread_id()])


def of_two_types(x: wl.Global[wl.f32, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.ballot(x[wl.thread_id()] < y[wl.thread_id()])


def of_vectors(x: wl.Global[wl.int2, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.ballot(x[wl.thread_id()] == x[0])


def no_comparison(x: wl.Global[i32, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.holds(x[wl.thread_id()], "=<", 3)


def no_data(x: wl.Global[i32, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.holds(wl.thread_id(), "<", 3)


def of_bytes(x: wl.Global[wl.u8, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.cast(u32, wl.popc(x[wl.thread_id()]))


@pytest.mark.parametrize(
    ("body", "block", "code"),
    [
        (half, 48, "VOTE_LANES"), (of_a_float, 32, "CONDITION_EXPECTED"), (of_two_types, 32, "DTYPE_MISMATCH"),
        (of_vectors, 32, "DTYPE_MISMATCH"), (no_comparison, 32, "ARGUMENTS"), (no_data, 32, "DATA_EXPECTED"),
        (of_bytes, 32, "DTYPE_MISMATCH"),
    ],
)  # fmt: skip
def test_refused(body, block: int, code: str) -> None:
    assert problem(body, block=block).code == code


def test_an_operator_has_a_name_of_its_own() -> None:
    with pytest.raises(UserError) as error:
        wl.operator("popc", lambda a, b: a + b)
    assert error.value.diagnostics[0].code == "OPERATOR_NAME"


# ------------------------------------------------------------ laws of the normal forms

_ATOMS = [atom("x", (k,)) for k in range(2)]


def _word(rng: random.Random, depth: int) -> Term:
    if depth == 0:
        a, b = rng.choice(_ATOMS), rng.choice([*_ATOMS, constant(0), constant(1)])
        return rng.choice([holds(rng.choice(["<", "<=", ">", ">=", "==", "!="]), rng.choice([u32, i32]), a, b), constant(1), a])
    a, b = _word(rng, depth - 1), _word(rng, depth - 1)
    match rng.randrange(10):
        case 8:
            return mixed("byte_perm", rng.choice([0x3210, 0x5140, 0x0765, 0x0444]), a, b)
        case 9:
            return mixed("lop3", rng.randrange(256), a, b, rng.choice([a, constant(5)]))
        case 0:
            return apply("popc", a)
        case 1:
            return apply(rng.choice(["<<", ">>"]), a, rng.choice([0, 1, 8, 31]))
        case 2:
            return holds(rng.choice(["==", "!=", "<"]), u32, a, rng.choice([b, constant(0)]))
        case 3:
            return apply("~", a)
        case _:
            return apply(rng.choice(["&", "|", "^", "+"]), a, b)


def test_words_of_one_normal_form_have_one_value() -> None:
    rng = random.Random(5)
    normaliser = Normaliser(MACHINE, {"x": u32})
    classes: dict[Term, list[Term]] = {}
    words = [_word(rng, depth) for depth in (1, 2, 2, 3) for _ in range(250)]
    for word in dict.fromkeys(words):
        classes.setdefault(normaliser.canonical(word), []).append(word)
    numbers = (0, 1, 2, 5, 0x80000000, 0xFFFFFFFF)
    points = list(itertools.product(numbers, repeat=2))
    assert sum(len(c) > 1 for c in classes.values()) > 20
    for together in classes.values():
        if len(together) > 1:
            for point in points:
                values = evaluate(together, u32, lambda a, p=point: p[a.data[1][0]], casts=True)
                assert values is not None and len(set(values)) == 1, together


# ------------------------------------------------------------ words made of the bits of other words


def mixed_body(x: wl.Global[u32, 3, 32], y: wl.Global[u32, 3, 32]):
    i = wl.thread_id()
    y[0, i] = wl.byte_perm(x[0, i], x[1, i], 0x0527)
    y[1, i] = wl.byte_perm(x[0, i], x[1, i], i * 0x111)
    y[2, i] = wl.lop3(x[0, i], x[1, i], x[2, i], 0x6A)


def test_mixed_words_are_those_of_single_bytes_and_bits() -> None:
    kernel = wl.sketch(block=32)(mixed_body).kernel
    assert parse_kernel(kernel_text(kernel)) == kernel
    x = np.random.default_rng(1).integers(0, 1 << 32, (3, 32), dtype=np.uint32)
    found = run(kernel, {"x": x}, {}).arrays["y"]
    for i in range(32):
        eight = x[:2, i].astype("<u4").tobytes()
        for row, selector in ((0, 0x0527), (1, i * 0x111)):
            assert int(found[row, i]) == int.from_bytes(bytes(eight[selector >> 4 * k & 7] for k in range(4)), "little")
        for bit in range(32):
            a, b, c = (int(word) >> bit & 1 for word in x[:, i])
            assert int(found[2, i]) >> bit & 1 == 0x6A >> (4 * a + 2 * b + c) & 1
    source = cuda_source(kernel).text
    assert read_back(source, kernel).ok
    assert not read_back(source.replace("0x0527", "0x0526"), kernel).ok


def transposed_spec(x, y):
    for t in range(1):
        for j in range(4):
            for i in range(4):
                y[t, j] |= ((x[t, i] >> (8 * j)) & 255) << (8 * i)


S = (0x5140, 0x7362, 0x5410, 0x7632)


@wl.device(shared_holes=True)
def pairs(p, q):
    return wl.byte_perm(p, q, wl.const(*S, name="low bytes")), wl.byte_perm(p, q, wl.const(*S, name="high bytes"))


@wl.device(shared_holes=True)
def halves(p, q):
    return wl.byte_perm(p, q, wl.const(*S, name="low halves")), wl.byte_perm(p, q, wl.const(*S, name="high halves"))


@wl.sketch(spec=transposed_spec, block=1)
def transposed(x: wl.Global[u32, 1, 4], y: wl.Global[u32, 1, 4]):
    t = wl.thread_id()
    a, b = pairs(x[t, 0], x[t, 1])
    c, d = pairs(x[t, 2], x[t, 3])
    y[t, 0], y[t, 1] = halves(a, c)
    y[t, 2], y[t, 3] = halves(b, d)


def test_selectors_of_a_byte_transposition_are_found() -> None:
    found = wl.complete(transposed)
    assert found.verdict == "proved"
    assert list(found.holes.values()) == [str(number) for number in S]


def majority_spec(x, y):
    for i in range(4):
        y[i] = (x[0, i] & x[1, i]) | (x[0, i] & x[2, i]) | (x[1, i] & x[2, i])


@pytest.mark.parametrize(("table", "verdict"), [(0xE8, "proved"), (0xE9, "refuted"), (0x68, "refuted")])
def test_the_table_of_lop3_is_proved(table: int, verdict: str) -> None:
    def body(x: wl.Global[u32, 3, 4], y: wl.Global[u32, 4]):
        i = wl.thread_id()
        y[i] = wl.lop3(x[0, i], x[1, i], x[2, i], table)

    assert prove(wl.sketch(spec=majority_spec, block=4)(body).kernel, majority_spec, {}, MACHINE).verdict == verdict


def wide_selector(x: wl.Global[u32, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.byte_perm(x[0], x[1], 0x8000)


def wide_table(x: wl.Global[u32, 32], y: wl.Global[u32, 32]):
    y[wl.thread_id()] = wl.lop3(x[0], x[1], x[2], 256)


@pytest.mark.parametrize("body", [wide_selector, wide_table])
def test_selectors_and_tables_have_their_bits(body) -> None:
    assert problem(body).code == "ARGUMENTS"


def test_a_table_that_differs_between_lanes_is_not_printed() -> None:
    def body(x: wl.Global[u32, 32], y: wl.Global[u32, 32]):
        y[wl.thread_id()] = wl.lop3(x[0], x[1], x[2], wl.thread_id())

    with pytest.raises(UnsupportedError) as error:
        cuda_source(wl.sketch(block=32)(body).kernel)
    assert error.value.diagnostics[0].code == "LOP3_TABLE"


# ------------------------------------------------------------ rules that a text form or a lift alone may break

TEXT = """
@kernel(block=(32, 1, 1), grid=(1, 1, 1), warp_size=32)
def k(x: Global[u32, 64], z: Global[int2, 64], y: Global[u32, 64] | out):
    y[thread_id] = {}
"""


@pytest.mark.parametrize(
    ("value", "block", "message"),
    [
        ("holds(z[0], '<', z[1])", 32, "expected scalars to compare"),
        ("ballot(x[0])", 48, "expected a block of whole warps"),
        ("popc(cast(u8, x[0]))", 32, "expected a word of 32 or 64 bits for popc"),
    ],
)
def test_texts_of_words_that_do_not_fit(value: str, block: int, message: str) -> None:
    value = f"cast(u32, {value})"
    verify(parse_kernel(TEXT.format("popc(x[0]) + ballot(holds(x[0], '<', x[1]))")))
    with pytest.raises(UserError, match=message):
        verify(parse_kernel(TEXT.format(value).replace("(32, 1, 1)", f"({block}, 1, 1)")))


def test_a_permute_has_two_operands() -> None:
    kernel = parse_kernel(TEXT.format("byte_perm(x[0], x[1], 0)"))
    verify(kernel)
    store: Any = kernel.body[0]
    with pytest.raises(UserError, match="expected 2 operands of byte_perm, got 1"):
        verify(replace(kernel, body=(replace(store, value=replace(store.value, operands=store.value.operands[:1])),)))


def by_block_spec(x, y, n):
    for i in range(32 * n):
        y[i] = x[i]


def by_block(x: wl.Global[u32, 32 * n], y: wl.Global[u32, 32 * n]):
    y[wl.global_id()] = wl.byte_perm(x[wl.global_id()], x[wl.global_id()], 0x3210 + 0 * wl.block_id() + wl.block_id() // 65536)


def some_lanes(x: wl.Global[u32, 32 * n], y: wl.Global[u32, 32 * n]):
    if wl.lane_id() < 32 * n - 31:
        y[wl.global_id()] = x[wl.global_id()] + 0 * wl.any(x[wl.global_id()] > 0)


@pytest.mark.parametrize(("body", "reason"), [(by_block, "a selector that depends on"), (some_lanes, "a vote under a condition")])
def test_what_the_lift_does_not_follow(body, reason: str) -> None:
    sketch = wl.sketch(spec=by_block_spec, block=32, grid=n, complete_at={"n": 1})(body)
    found = lift(sketch, sketch.kernel)
    assert found.verdict != "proved" and reason in found.reason
