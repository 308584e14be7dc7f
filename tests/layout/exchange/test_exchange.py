"""Exchanges: least shuffles with their colouring, programs on the PTX interpreter against NumPy, counts of the best."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from warploom.core import UserError
from warploom.core.limits import LimitReachedError
from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.layout import faults
from warploom.layout.distributed import Distributed, distributed_of_array, distributed_of_text, fragment
from warploom.layout.exchange import Exchange, Transpose, choose, emit, exchange, kernel
from warploom.layout.exchange import certificate as certificate_or_none
from warploom.layout.exchange.demand import coloured, least, word_moves
from warploom.layout.exchange.renaming import Renaming
from warploom.machines import architecture
from warploom.ptx import launch

BELOW_TROVE = {17: 16, 25: 24, 29: 28, 31: 30, 32: 31}
"""Registers of 32 lanes for which fewer shuffles do than there are registers."""


def certificate(found: Exchange) -> dict[str, Any]:
    document = certificate_or_none(found)
    assert document is not None
    return document


def pair(regs: int, bits: int = 32, lanes: int = 32) -> tuple[Distributed, Distributed]:
    one, two = (distributed_of_text(text, lanes, regs, bits) for text in ("striped", "blocked"))
    return one, two


def named(text: str) -> Distributed:
    found = fragment(text)
    assert found is not None
    return found


ACROSS = named("wgmma:m64n8:D:f32"), distributed_of_array((np.arange(512) ^ 128).reshape(4, 32, 4, 1), 32)
"""Elements of one warp go to another."""


def permuted(*shape: int) -> tuple[Distributed, Distributed]:
    random = np.random.default_rng(4)
    one, two = (distributed_of_array(random.permutation(int(np.prod(shape))).reshape(shape), 8) for _ in range(2))
    return one, two


BYTES_APART, BYTES_BETWEEN_WARPS = permuted(1, 16, 2, 4), permuted(3, 32, 1, 4)
PLAIN, PACKED = (
    distributed_of_array(np.arange(256).reshape(32, 8)[:, order], 4) for order in (list(range(8)), [0, 2, 4, 6, 1, 3, 5, 7])
)
"""Eight elements of 4 bits, and their order for lop3."""
HALVES_APART = tuple(distributed_of_array(np.random.default_rng(seed).permutation(128).reshape(1, 8, 2, 8), 4) for seed in (1, 2))


def shuffles_of(one: Distributed, two: Distributed) -> int:
    """The number of shuffles of the colouring, which is followed: each lane offers one word and reads one."""
    moves = word_moves(one.parts(), two.parts())
    colours = coloured(moves, len(one.parts()))
    for ends in ([m.sender for m in moves], [m.receiver for m in moves]):
        assert len(set(zip(ends, colours, strict=True))) == len(moves)
    return len(set(colours))


@pytest.mark.parametrize("lanes", [2, 3, 8, 32])
def test_least_shuffles_are_reached(lanes: int) -> None:
    for regs in [*range(1, 33), 47, 64] if lanes == 32 else range(1, 65, 7):
        one, two = pair(regs, lanes=lanes)
        for src, dst in ((one, two), (two, one)) if lanes < 32 or regs == 17 else ((one, two),):
            bound = least(src, dst).shuffles
            assert shuffles_of(src, dst) == bound
            if lanes == 32 and 1 < regs <= 32:
                assert bound == BELOW_TROVE.get(regs, regs)


def test_least_shuffles_of_random_layouts() -> None:
    random = np.random.default_rng(1)
    for _ in range(60):
        lanes, regs = int(random.integers(2, 33)), int(random.integers(1, 9))
        one, two = (distributed_of_array(random.permutation(lanes * regs).reshape(lanes, regs), 32) for _ in range(2))
        assert shuffles_of(one, two) == least(one, two).shuffles


def moved(found: Exchange) -> tuple[np.ndarray, np.ndarray]:
    """Bytes [threads, words * 4] after the kernel ran on the PTX interpreter, and those that are wanted (0 where none is)."""
    src, dst = found.src, found.dst
    each = src.bits / 8
    random = np.random.default_rng(2)
    values = random.integers(1, 256, int(max(src.elements.max() + 1, 1) * max(each, 1)), dtype=np.uint8)

    def bytes_of(held: Distributed) -> np.ndarray:
        if held.bits == 4:
            halves = values[held.elements.reshape(held.warps * held.lanes, -1)] % 15 + 1
            return halves[:, ::2] | halves[:, 1::2] << 4
        places = held.elements.reshape(held.warps * held.lanes, -1, 1) * int(each) + np.arange(int(each))
        return np.where(places < 0, 0, values[places]).reshape(len(places), -1)

    before, wanted = bytes_of(src), bytes_of(dst)
    words = np.ascontiguousarray(before).view(np.uint32).T.copy()
    out = np.zeros((wanted.shape[1] // 4, len(wanted)), dtype=np.uint32)
    ran = launch(compile_to_ptx(kernel(found.chosen)), grid=1, block=len(wanted), args=[words.ravel(), out.ravel()])
    assert not ran.findings
    got = np.ascontiguousarray(np.asarray(ran.arrays[1]).reshape(out.shape).T).view(np.uint8)
    return np.where(bytes_of(dst) > 0, got, 0), wanted


@pytest.mark.skipif(not toolchain_available(), reason="no CUDA compiler")
@pytest.mark.parametrize(
    ("src", "dst", "via"),
    [
        (*pair(3), "shuffle"),
        (*reversed(pair(12)), "shuffle"),
        (*pair(4, lanes=8), "shuffle"),
        (*pair(3, lanes=6), "shuffle"),
        (*pair(5, bits=64), "shared"),
        (*pair(3, bits=128), "shuffle"),
        (*pair(8), "shared"),
        (*pair(8, bits=8), "shared"),
        (*pair(1, bits=8), "shuffle"),
        (*pair(3, bits=16), "shuffle"),
        (named("mma:m16n8k32:C:e4m3"), named("mma:m16n8k32:A:e4m3"), "shuffle"),
        (named("mma:m16n8k64:C:e2m1"), named("mma:m16n8k64:A:e2m1"), "shuffle"),
        (*ACROSS, "shared"),
        (*BYTES_APART, "shuffle"),
        (*BYTES_APART, "shared"),
        (*BYTES_BETWEEN_WARPS, "auto"),
        (PLAIN, PACKED, "shuffle"),
        (*pair(1, bits=4), "shuffle"),
        (*pair(2, bits=4), "shared"),
        (*HALVES_APART, "auto"),
        (named("mma:m16n8k16:D:f16"), named("mma:m16n8k16:B:f16"), "matrix"),
    ],
)
def test_kernels_move_bytes_as_numpy_does(src: Distributed, dst: Distributed, via: Any) -> None:
    got, wanted = moved(exchange(src, dst, via=via))
    assert (got == wanted).all()


@pytest.mark.parametrize("regs", [1, 2, 7, 8, 12, 16, 23, 24, 32])
def test_shared_memory_takes_two_wavefronts_a_register(regs: int) -> None:
    one, two = pair(regs)
    for src, dst in ((one, two), (two, one)):
        found = exchange(src, dst, via="shared")
        assert found.chosen.wavefronts == found.least_wavefronts == 2 * regs
        assert found.chosen.program.shared_words == 32 * regs


def test_auto_takes_shuffles_for_few_registers() -> None:
    ways = {regs: exchange(*pair(regs)).chosen.via for regs in (2, 3, 5, 7, 16, 17, 20)}
    assert ways == {2: "shuffle", 3: "shuffle", 5: "shuffle", 7: "shuffle", 16: "shared", 17: "shared", 20: "shared"}


def test_pareto_of_the_square() -> None:
    found = exchange(*pair(32))
    assert [(c.shuffles, c.selects) for c in found.pareto if c.via == "shuffle"] == [
        (31, 320), (46, 304), (60, 288), (72, 272), (80, 240),
    ]  # fmt: skip
    assert (found.chosen.via, found.chosen.wavefronts) == ("shared", 64)


@pytest.mark.parametrize(("regs", "most"), [(8, 24), (4, 12), (2, 6), (1, 3)])
def test_bytes_through_the_crossbar(regs: int, most: int) -> None:
    for src, dst in (pair(regs, 8), pair(regs, 8)[::-1]):
        chosen = exchange(src, dst).chosen
        assert chosen.shuffles + chosen.wavefronts <= most


@pytest.mark.parametrize(
    ("kind", "deep", "fixed", "free"),
    [
        ("tf32", 8, (4, 8, 0), (0, 0, 0)),
        ("f16", 16, (0, 0, 0), (0, 0, 0)),
        ("e4m3", 32, (4, 4, 4), (0, 0, 4)),
        ("e2m1", 64, (4, 6, 10), (0, 0, 4)),
    ],
)
def test_accumulator_to_operand(kind: str, deep: int, fixed: tuple[int, ...], free: tuple[int, ...]) -> None:
    src, dst = (named(f"mma:m16n8k{deep}:{operand}:{kind}") for operand in "CA")
    for axes, counts in (((), fixed), (("k",), free)):
        found = exchange(src, dst, free=axes)
        chosen = found.chosen
        assert (chosen.shuffles, chosen.selects, chosen.permutes) == counts
    assert found.least is not None and found.least.shuffles == 0
    assert sorted(found.renamings[0].to) == list(range(deep))
    text = found.renamings[0].index
    assert text is not None and [eval(text, {"i": i}) for i in range(deep)] == list(found.renamings[0].to)


def test_operand_of_4_bits_in_the_least_shuffles() -> None:
    """Each lane has one word for each of three others."""
    answer = exchange(named("mma:m16n8k64:C:e2m1"), named("mma:m16n8k64:A:e2m1"))
    packed = min(answer.pareto, key=lambda c: c.shuffles if c.via == "shuffle" else 99)
    assert answer.least is not None and packed.shuffles == answer.least.shuffles == 3
    assert packed.parts == {"exchange": 3, "alu": packed.arithmetic / 2, "issue": (3 + packed.arithmetic) / 4}
    assert packed.cycles == max(packed.parts.values())


def test_certificates_are_confirmed_and_forged_ones_are_not() -> None:
    found = exchange(*pair(5))
    assert faults(certificate(found)) == []
    for name, value, said in (
        ("least_shuffles", 6, "needs 5 shuffles, not 6"),
        ("reached", False, "as many shuffles"),
        ("moves", certificate(found)["moves"][1:], "never gets"),
        ("moves", [*certificate(found)["moves"], certificate(found)["moves"][0]], "reads twice"),
        ("held", [[[0.5]]], "whole numbers"),
        ("v", 1, "of version 2"),
        ("kind", "layout", "cannot be read"),
        ("kind", "fold", "cannot be read"),
        ("lanes", 32.0, "whole numbers"),
        ("lanes", -1, "as many lanes"),
        ("words_hold", True, "whole numbers"),
        ("side", "both", "takes or gives"),
        ("lane", True, "whole numbers"),
        ("lane", 99, "a lane is expected"),
    ):
        forged = certificate(found) | {name: value}
        assert any(said in fault for fault in faults(forged)), name
    moves = certificate(found)["moves"]
    other = next(m for m in moves if m[0] == moves[0][0] and m[3] != moves[0][3])
    assert any("offers two" in f for f in faults(certificate(found) | {"moves": [*moves, [*other[:2], other[2], moves[0][3]]]}))


def test_words_hold_as_many_elements_as_the_certificate_says() -> None:
    """Two lanes change two words of two elements: one shuffle is enough."""
    claim = {
        "v": 2,
        "kind": "exchange",
        "lanes": 2,
        "held": [[[0, 1]], [[2, 3]]],
        "wanted": [[[2, 3]], [[0, 1]]],
        "lane": 0,
        "side": "takes",
    }
    moves = [[0, 0, 1, 0], [1, 0, 0, 0]]
    assert faults(claim | {"words_hold": 2, "least_shuffles": 1, "reached": True, "moves": moves}) == []
    alone = claim | {"words_hold": 2, "least_shuffles": 1, "reached": True, "moves": moves}
    assert any("never gets" in fault for fault in faults(alone | {"wanted": [[[2, 9]], [[0, 1]]]}))  # which nobody holds
    forged = claim | {"words_hold": 1, "least_shuffles": 2, "reached": False, "moves": moves}
    assert any("at most 1 elements" in fault for fault in faults(forged))


def test_words_that_several_lanes_want_and_places_that_hold_nothing() -> None:
    src = distributed_of_array(np.arange(64).reshape(32, 2), 32)
    table = np.arange(64).reshape(32, 2)
    table[:, 1] = table[0, 1]  # everybody wants element 1
    table[5, 0] = -1
    for via in ("shuffle", "shared"):
        found = exchange(src, distributed_of_array(table, 32), via=via)
        assert faults(certificate(found)) == []
    assert found.least is not None and found.least.shuffles == 1
    twice = distributed_of_array(np.arange(32)[:, None] % 16, 32)
    assert exchange(twice, distributed_of_array((np.arange(32)[:, None] + 1) % 16, 32)).chosen.shuffles == 1


@pytest.mark.parametrize(
    ("src", "dst", "given", "said"),
    [
        (pair(2)[0], pair(2, bits=64)[1], {}, "bits of an element"),
        (pair(2)[0], pair(2, lanes=16)[1], {}, "lanes"),
        (pair(1)[0], pair(2)[1], {}, "none such as element 32"),
        (pair(2)[0], pair(2)[1], {"free": ("k",)}, "an axis of blocked: e"),
        (pair(32)[0], pair(32)[1], {"free": ("e",)}, "at most 512"),
        (pair(2, lanes=6)[0], pair(2, lanes=6)[1], {"via": "shared"}, "power of two"),
        (pair(1, bits=4)[1], pair(1, bits=4)[0], {"via": "tma"}, "side by side"),
        (named("mma:m16n8k16:A:f16"), named("mma:m16n8k16:D:f16"), {}, "16 x 16 matrix"),
        (*ACROSS, {"via": "shuffle"}, "between warps"),
        (*pair(2, lanes=16), {"via": "matrix"}, "rows of 8 x 8 matrices"),
        (named("ldmatrix"), named("ldmatrix.trans"), {"via": "matrix", "arch": "sm_70"}, "sm_75 or later"),
        (pair(2)[0], distributed_of_array(np.full((32, 2), -1), 32), {}, "holds elements"),
    ],
)  # fmt: skip
def test_refusals(src: Distributed, dst: Distributed, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        exchange(src, dst, **given)


FROM_MEMORY = """
extern "C" __global__ void exchanged(const unsigned* given, unsigned* after) {{
    __shared__ __align__(1024) unsigned shared[1024];
    for (int i = threadIdx.x; i < 1024; i += 32) shared[i] = given[i];
    __syncwarp();
    unsigned out[{count}];
    exchange(out, {array});
    for (int i = 0; i < {count}; i++) after[i * 32 + threadIdx.x] = out[i];
}}
"""


@pytest.mark.skipif(not toolchain_available(), reason="no CUDA compiler")
@pytest.mark.parametrize(("regs", "via"), [(7, "load"), (8, "load"), (8, "tma"), (24, "tma")])
def test_values_out_of_memory(regs: int, via: Any) -> None:
    chosen = exchange(*pair(regs), via=via).chosen
    memory = np.arange(1024, dtype=np.uint32)
    if via == "tma":  # as the copy engine places chunks of 16 bytes
        bits = {"SWIZZLE_NONE": 0, "SWIZZLE_32B": 1, "SWIZZLE_64B": 3, "SWIZZLE_128B": 7}[chosen.program.name]
        chunk = memory // 4
        memory[(chunk ^ (chunk >> 3 & bits)) * 4 + memory % 4] = np.arange(1024)
    text = chosen.text + FROM_MEMORY.format(count=regs, array="given" if via == "load" else "shared")
    out = np.zeros(32 * regs, dtype=np.uint32)
    ran = launch(compile_to_ptx(text), grid=1, block=32, args=[memory, out])
    assert (np.asarray(ran.arrays[1]).reshape(regs, 32).T.ravel() == np.arange(32 * regs)).all()


def test_modes_of_tma_without_conflicts() -> None:
    modes = {regs: exchange(*pair(regs), via="tma").chosen for regs in (3, 8, 16, 24, 32)}
    assert {regs: chosen.wavefronts for regs, chosen in modes.items()} == {regs: regs for regs in modes}
    assert [chosen.program.name.removeprefix("SWIZZLE_") for chosen in modes.values()] == ["NONE", "32B", "64B", "32B", "128B"]
    assert exchange(*pair(8), via="load").chosen.sectors == 2 * 32


def test_what_cannot_come_out_of_memory() -> None:
    one, two = pair(2, bits=8)
    with pytest.raises(UserError, match="side by side"):
        exchange(two, one, via="load")
    with pytest.raises(UserError, match="expected cuda"):
        emit(exchange(one, two, via="load"), "python")


@pytest.mark.parametrize(
    ("src", "dst", "via"),
    [
        (*pair(5), "shuffle"),
        (*pair(8), "shared"),
        (*pair(2, bits=8), "auto"),
        (*BYTES_APART, "shuffle"),
        (*BYTES_BETWEEN_WARPS, "auto"),
        (named("mma:m16n8k16:D:f16"), named("mma:m16n8k16:B:f16"), "matrix"),
    ],
)
def test_python_does_the_same(src: Distributed, dst: Distributed, via: Any) -> None:
    found = exchange(src, dst, via=via)
    names: dict[str, Any] = {}
    exec(emit(found, "python"), names)
    each = src.bits // 8
    values = np.random.default_rng(6).integers(0, 256, (src.elements.size, each), dtype=np.uint8)

    def words(held: Distributed) -> np.ndarray:
        threads = held.warps * held.lanes
        return np.ascontiguousarray(values[held.elements].reshape(threads, -1)).view(np.uint32).T

    assert (names["exchange"](words(src)) == words(dst)).all()
    if via != "matrix":
        compile(emit(found, "numba"), "exchange", "exec")


@pytest.mark.parametrize(("src", "dst"), [(PLAIN, PACKED), HALVES_APART, pair(2, bits=4)], ids=["order", "apart", "striped"])
def test_python_moves_halves_of_bytes(src: Distributed, dst: Distributed) -> None:
    values = np.random.default_rng(6).integers(0, 16, src.elements.size, dtype=np.uint32)

    def words(held: Distributed) -> np.ndarray:
        return (values[held.elements] << np.arange(0, 32, 4, dtype=np.uint32)).sum(axis=3, dtype=np.uint32)[0].T

    for via in ("shuffle", "shared"):
        names: dict[str, Any] = {}
        exec(emit(exchange(src, dst, via=via) if src is not PLAIN else exchange(src, dst), "python"), names)
        assert (names["exchange"](words(src)) == words(dst)).all()


def test_an_order_of_halves_takes_no_shuffle() -> None:
    chosen = exchange(PLAIN, PACKED).chosen
    assert (chosen.shuffles, chosen.selects, chosen.wavefronts) == (0, 0, 0)
    assert (chosen.permutes, chosen.program.logic, chosen.program.registers) == (4, 5, 4)


def test_matrices_are_transposed_without_shuffles() -> None:
    """An accumulator as the other operand; with bytes gathered behind it."""
    src, dst = named("mma:m16n8k16:D:f16"), named("mma:m16n8k16:B:f16")
    found = exchange(src, dst, via="matrix")
    program = found.chosen.program
    assert (program.name, program.count(Transpose), found.chosen.shuffles, found.chosen.permutes) == ("movmatrix", 2, 0, 0)
    assert found.least is not None and found.least.shuffles == 2 and faults(certificate(found)) == []
    halves = dst.elements.copy()
    halves[..., 0, :], halves[..., 1, ::-1] = dst.elements[..., 0, ::-1], dst.elements[..., 1, :]
    turned = exchange(src, distributed_of_array(halves, 16), via="matrix").chosen
    assert (turned.program.count(Transpose), turned.permutes) == (2, 2)
    with pytest.raises(UserError, match="without movmatrix, stmatrix and ldmatrix for Numba"):
        emit(found, "numba")


def by_rows(src: Distributed, dst: Distributed, arch: str = "sm_90") -> Exchange:
    """The exchange with its program of stmatrix or ldmatrix."""
    found = exchange(src, dst, via="matrix", arch=arch)
    (chosen,) = [c for c in (found.chosen, *found.pareto) if c.program.shared_words and c.via == "matrix"][:1]
    return replace(found, chosen=chosen)


ROWS = [
    (*pair(4), "sm_90", "stmatrix", 8),
    (*reversed(pair(4)), "sm_90", "ldmatrix", 8),
    (*pair(3), "sm_90", "stmatrix", 6),
    (named("ldmatrix.trans:x4"), named("ldmatrix:x4"), "sm_90", "stmatrix.trans, ldmatrix", 8),
    (named("ldmatrix.trans:x4"), named("ldmatrix:x4"), "sm_80", "ldmatrix.trans", 8),
    (named("mma:m16n8k16:D:f16"), pair(2, bits=16)[1], "sm_90", "stmatrix", 4),
]


@pytest.mark.parametrize(("src", "dst", "arch", "name", "wavefronts"), ROWS)
def test_rows_of_matrices_through_shared_memory(
    src: Distributed, dst: Distributed, arch: str, name: str, wavefronts: int
) -> None:
    found = by_rows(src, dst, arch)
    chosen = found.chosen
    assert (chosen.program.name, chosen.wavefronts, chosen.arithmetic, chosen.shuffles) == (name, wavefronts, 0, 0)
    assert faults(certificate(found)) == []
    names: dict[str, Any] = {}
    exec(emit(found, "python"), names)
    values = np.random.default_rng(6).integers(0, 256, (src.elements.size, src.bits // 8), dtype=np.uint8)
    before, after = (np.ascontiguousarray(values[held.elements].reshape(held.lanes, -1)).view(np.uint32).T for held in (src, dst))
    assert (names["exchange"](before) == after).all()
    with pytest.raises(UserError, match="Numba"):
        emit(found, "numba")


@pytest.mark.skipif(not toolchain_available(), reason="no CUDA compiler")
@pytest.mark.parametrize(("src", "dst", "arch"), [ROWS[0][:3], ROWS[3][:3], ROWS[4][:3]])
def test_kernels_move_rows(src: Distributed, dst: Distributed, arch: str) -> None:
    got, wanted = moved(by_rows(src, dst, arch))
    assert (got == wanted).all()


def test_registers_at_once() -> None:
    counts = {regs: exchange(*pair(regs), via="shared").chosen.program.registers for regs in (4, 8)}
    assert counts == {4: 5, 8: 9}  # the words and an address


@pytest.mark.parametrize(
    ("bits", "wanted"),
    [
        (8, [[0, 4, 4, 1], [5, 5, 5, 5]]),
        (8, [[6, 5, 4, 2], [2, 0, 0, 0]]),
        (4, [[1, 0, 3, 2, 5, 4, 7, 6], [0, 8, 1, 9, 2, 10, 3, 11]]),
    ],
)
def test_pieces_that_a_word_or_several_lanes_want_twice(bits: int, wanted: list[list[int]]) -> None:
    held = np.arange(64 // bits).reshape(2, -1)
    found = exchange(distributed_of_array(held, bits), distributed_of_array(np.array(wanted), bits))
    assert found.chosen.shuffles > 0


def test_a_spent_budget_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    every = list(choose._programs(*choose.as_pieces(*pair(32)), *pair(32), architecture("sm_90"), crosses=False))

    def few(count: int) -> Any:
        yield from every[:count]
        raise LimitReachedError("budget: CPU seconds")

    monkeypatch.setattr(choose, "_programs", lambda *_, **__: few(2))
    found = exchange(*pair(32))
    assert len(found.pareto) == 2 and found.chosen.via == "shared" and "budget: CPU seconds spent" in found.why
    monkeypatch.setattr(choose, "_programs", lambda *_, **__: few(1))
    with pytest.raises(LimitReachedError):
        exchange(*pair(32), via="shuffle")


@pytest.mark.parametrize(
    ("to", "text"),
    [
        ((0, 2, 1, 3), "(i >> 1) ^ ((i << 1) & 2)"),
        ((1, 0), "i ^ 1"),
        ((0,), "0"),
        ((1, 2, 3, 4, 5, 6, 7, 0), None),
        ((0, 1, 2), None),
    ],
)
def test_an_order_is_an_expression_where_it_is_linear(to: tuple[int, ...], text: str | None) -> None:
    assert Renaming("k", to, 1).index == text
