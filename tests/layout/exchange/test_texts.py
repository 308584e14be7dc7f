"""Exchanges as texts of other languages: each is executed, or read back, and says the tables that it stands for."""

import ast
import re
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from warploom.core import UserError
from warploom.layout import Tile, cute
from warploom.layout.distributed import Distributed, distributed_of_array, distributed_of_text, fragment
from warploom.layout.exchange import Exchange, Target, emit, exchange
from warploom.layout.exchange.texts import expression


def pair(regs: int, bits: int = 32, lanes: int = 32) -> tuple[Distributed, Distributed]:
    one, two = (distributed_of_text(text, lanes, regs, bits) for text in ("striped", "blocked"))
    return one, two


def named(*texts: str) -> tuple[Distributed, ...]:
    found = [fragment(text) for text in texts]
    assert all(found)
    return tuple(given for given in found if given is not None)


SHARED, BYTES, ODD = exchange(*pair(8)), exchange(*pair(8, 8)), exchange(*pair(7))
OPERAND = exchange(*named("mma:m16n8k32:C:e4m3", "mma:m16n8k32:A:e4m3"))
RENAMED = exchange(*named("mma:m16n8k32:C:e4m3", "mma:m16n8k32:A:e4m3"), free=("k",))
HALVES = exchange(*pair(1, 4))
WARPS = exchange(*named("wgmma:m64n8:D:f32"), distributed_of_array((np.arange(512) ^ 128).reshape(4, 32, 4, 1), 32))


def tables(found: Exchange) -> list[np.ndarray]:
    """[threads, values] of both sides."""
    return [given.elements.reshape(given.warps * given.lanes, -1) for given in (found.src, found.dst)]


def is_place(found: Exchange, places: np.ndarray) -> bool:
    """Whether shared memory holds each element there when the program has run."""
    assert found.chosen.memory is not None
    each = max(1, found.src.bits // 8)
    return bool((found.chosen.memory.ravel()[places * each] == np.arange(len(places)) * each).all())


def offsets(text: str) -> np.ndarray:
    """Offsets of CuTe's Shape:Stride with one mode, with or without a Swizzle."""
    match = re.fullmatch(r"(?:Swizzle<(\d),(\d),(\d)> o )?(.*):(.*)", text)
    assert match is not None
    pairs = zip(*(np.atleast_1d(ast.literal_eval(part)) for part in match.group(4, 5)), strict=True)
    total = np.zeros(1, dtype=np.int64)
    for extent, stride in pairs:
        total = (np.arange(extent)[:, None] * stride + total).ravel()
    if match[1]:
        bits, base, shift = (int(n) for n in match.group(1, 2, 3))
        total = total ^ (((total >> base + shift) % (1 << bits)) << base)
    return total


@pytest.mark.parametrize(
    "found",
    [SHARED, BYTES, ODD, OPERAND, RENAMED, exchange(*pair(2, 4), via="shared")],
    ids=["shared", "bytes", "odd", "operand", "renamed", "halves"],
)
def test_cute_says_both_tables_and_the_places(found: Exchange) -> None:
    lines = dict(line.split(": ") for line in emit(found, "cute").splitlines())
    for name, table in zip(("from", "to"), tables(found), strict=True):
        tile = Tile(len(table), table.shape[1], "b32")
        assert (cute.read(lines[name], tile).table == table.ravel()).all()  # type: ignore[arg-type]
    assert ("shared" in lines) == (found.chosen.via == "shared")
    if "shared" in lines:
        assert is_place(found, offsets(lines["shared"]))


@pytest.mark.parametrize("found", [SHARED, BYTES, OPERAND, RENAMED], ids=["shared", "bytes", "operand", "renamed"])
def test_triton_says_both_tables(found: Exchange) -> None:
    parts = ast.literal_eval(emit(found, "triton"))
    for name, given in zip(("from", "to"), (found.src, found.dst), strict=True):
        registers = given.elements.shape[2]
        again = distributed_of_text(str(parts[name]), given.lanes, registers, given.bits)
        assert (again.elements == given.elements).all()


@pytest.mark.parametrize("found", [SHARED, BYTES, ODD, OPERAND, RENAMED], ids=["shared", "bytes", "odd", "operand", "renamed"])
def test_tilelang_says_thread_and_register_of_each_element(found: Exchange) -> None:
    scope: dict[str, Any] = {"T": SimpleNamespace(Fragment=lambda *a, **k: (a, k), Layout=lambda *a: a)}
    exec(emit(found, "tilelang"), scope)
    for name, table in zip(("src", "dst"), tables(found), strict=True):
        (shape,), functions = scope[name]
        for element, place in enumerate(np.ndindex(shape)):
            where = functions["forward_thread_fn"](*place), functions["forward_index_fn"](*place)
            assert table[where] == element
    if "shared" in scope:
        (count,), function = scope["shared"]
        assert is_place(found, np.array([function(e) for e in range(count)]))
    assert ("shared" in scope) == (found.chosen.via == "shared")


class Lanes:
    """Numba's `cuda` for Python threads: shuffles and barriers wait for all of them."""

    def __init__(self, threads: int) -> None:
        self.local = threading.local()
        self.barrier = threading.Barrier(threads)
        self.values = [0] * threads
        self.libdevice = SimpleNamespace(byte_perm=self.byte_perm)

    @property
    def threadIdx(self) -> Any:
        return SimpleNamespace(x=self.local.thread)

    def jit(self, **_: object) -> Any:
        return lambda function: function

    def shfl_sync(self, mask: int, value: int, source: int) -> int:
        assert mask == 0xFFFFFFFF and 0 <= source < 32
        thread = self.local.thread
        self.values[thread] = value
        self.barrier.wait()
        found = self.values[thread // 32 * 32 + source]
        self.barrier.wait()
        return found

    def syncthreads(self) -> None:
        self.barrier.wait()

    syncwarp = syncthreads

    @staticmethod
    def byte_perm(low: int, high: int, selector: int) -> int:
        eight = (high << 32 | low).to_bytes(8, "little")
        return int.from_bytes(bytes(eight[selector >> 4 * i & 7] for i in range(4)), "little")


@pytest.mark.parametrize(
    ("found", "warps"),
    [(SHARED, 1), (exchange(*pair(8, 8), via="shuffle"), 1), (exchange(*pair(3, lanes=8)), 4), (WARPS, 4), (HALVES, 1)],
    ids=["shared", "bytes", "8 lanes", "warps", "halves"],
)
def test_numba_does_the_exchange(found: Exchange, warps: int) -> None:
    """`warps` of threads, or groups of fewer lanes that fill a warp."""
    text, threads = emit(found, "numba"), max(32, 32 * (found.src.warps))
    cuda = Lanes(threads)
    scope: dict[str, Any] = {}
    exec(text.replace("from numba import cuda", "").replace("import numpy as np", ""), scope | {"cuda": cuda}, scope)
    scope["exchange"].__globals__["np"] = SimpleNamespace(int32=lambda word: word & 0xFFFFFFFF)
    scope["exchange"].__globals__["cuda"] = cuda
    per = found.src.warps * found.src.lanes
    sides = [np.tile(table, (threads // per, 1)) for table in tables(found)]
    bits = found.src.bits
    values = np.random.default_rng(1).integers(0, 1 << bits, sides[0].size, dtype=np.uint64)
    shifts = np.arange(0, 32, bits, dtype=np.uint64)
    before, wanted = ((values[side].reshape(threads, -1, 32 // bits) << shifts).sum(axis=2).tolist() for side in sides)
    shared = [0] * max(1, found.chosen.program.shared_words)
    after = [[0] * len(row) for row in wanted]

    def run(thread: int) -> None:
        cuda.local.thread = thread
        scope["exchange"](before[thread], after[thread], *([shared] if found.chosen.program.shared_words else []))

    running = [threading.Thread(target=run, args=(thread,)) for thread in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(10)
    assert after == wanted


SCRAMBLED = exchange(pair(2)[0], distributed_of_array(np.random.default_rng(3).permutation(64).reshape(32, 2), 32))
HOLES = exchange(pair(2)[0], distributed_of_array(np.where(np.arange(64) == 5, -1, np.arange(64)).reshape(32, 2), 32))
TWICE = exchange(pair(2)[0], distributed_of_array(np.arange(64).reshape(32, 2) % 32, 32))
LATE = exchange(pair(2)[0], distributed_of_array((np.arange(64).reshape(32, 2) + 1) % 64, 32))


@pytest.mark.parametrize(
    ("found", "target", "said"),
    [
        (ODD, "triton", "7 of register in striped, no power of two"),
        (SCRAMBLED, "triton", "no xor of bases"),
        (SCRAMBLED, "cute", "thread 0 begins with element"),
        (LATE, "cute", "thread 0 begins with element 1"),
        (SCRAMBLED, "tilelang", "neither sums of strides nor XORs"),
        (HOLES, "cute", "value 1 of thread 2 is none"),
        (HOLES, "triton", "is none"),
        (TWICE, "tilelang", "not each of 32 elements is in one place"),
        (exchange(*pair(8), via="load"), "numba", "expected cuda"),
    ],
)
def test_what_a_language_cannot_say(found: Exchange, target: Target, said: str) -> None:
    with pytest.raises(UserError, match=said):
        emit(found, target)


def test_why_cute_has_no_strides() -> None:
    table = np.arange(64).reshape(32, 2)
    table[[3, 9]] = table[[9, 3]]
    with pytest.raises(UserError, match="threads or values have no strides"):
        emit(exchange(pair(2)[0], distributed_of_array(table, 32)), "cute")
    table[0] = table[0, ::-1] + [-1, 1]
    table[5] = table[5, ::-1]
    with pytest.raises(UserError, match="value 1 of thread 5 is element 10, strides would give"):
        emit(exchange(pair(2)[0], distributed_of_array(table, 32)), "cute")


def test_expressions_of_tables() -> None:
    element = np.arange(96)
    for table, text in (
        (element % 32, "e % 32"), (element // 32, "(e // 32)"), (element * 0, "0"), (element * 3, "e * 3"),
        (element * 7 % 96, None), (element + 1, None),
    ):  # fmt: skip
        found = expression(table)
        assert (found is None) == (text is None)
        assert found is None or (eval(found, {"e": element}) == table).all()
