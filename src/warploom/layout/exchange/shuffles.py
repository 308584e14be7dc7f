"""Exchanges within warps by shuffles: selects before them, selects after them.

For words that swap a bit of the lane for a bit of the register (a transpose of 32 x 32), butterflies take over some bits: each
halves what one shuffle brings, and spares selects. Striped and blocked registers of any number turn inside lanes.
All else is done by a colouring of the moves, with selects where lanes offer or keep different registers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product

import numpy as np

from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange.demand import Move, coloured, word_moves
from warploom.layout.exchange.lanes import Lanes, Mask
from warploom.layout.exchange.program import (
    Flag,
    Index,
    Load,
    LoadMatrix,
    Meet,
    Merge,
    Operation,
    Permute,
    Program,
    Select,
    Shuffle,
    Store,
    StoreMatrix,
    Transpose,
    renamed,
)
from warploom.layout.linear import applied

_MOST_TURNED = 32
_TURNS = 8
"""Ways to turn registers that are tried."""


@dataclass(slots=True)
class Writer:
    """Appends operations and gives names to their results."""

    threads: int
    lanes: int
    operations: list[Operation] = field(default_factory=list[Operation])
    table: Lanes = field(init=False)
    _count: int = 0

    def __post_init__(self) -> None:
        self.table = Lanes(self.threads, self.operations)

    def fresh(self) -> str:
        self._count += 1
        return f"v{self._count}"

    @property
    def modulo(self) -> int:
        """The number of lanes modulo which shuffles take their source."""
        return self.lanes if not self.lanes & (self.lanes - 1) else 32

    def select(self, holds: Mask, yes: str, no: str) -> str:
        """`yes` for the threads where `holds`, else `no`."""
        if yes == no or holds.all():
            return yes
        if not holds.any():
            return no
        flag = self.table.flag(holds)
        if flag.startswith("!"):
            flag, yes, no = flag[1:], no, yes
        name = self.fresh()
        self.operations.append(Select(name, flag, yes, no))
        return name

    def shuffle(self, value: str, source: Ints, cares: Mask | None = None) -> str:
        """`value` of the lane `source` of the same group; nothing is done where each lane would read itself."""
        own = np.arange(self.threads) % self.lanes
        if (source == own)[slice(None) if cares is None else cares].all():
            return value
        expression = self.table.index(source, self.modulo, cares)
        name = self.fresh()
        self.operations.append(Shuffle(name, value, expression))
        return name

    def chosen(self, numbers: Ints, values: Sequence[str]) -> str:
        """values[numbers] by thread; threads with -1 take any."""
        wanted = [int(n) for n in np.unique(numbers[numbers >= 0])]
        if not wanted:
            return values[0]
        wanted.sort(key=lambda n: -int((numbers == n).sum()))
        result = values[wanted[0]]
        for number in wanted[1:]:
            result = self.select(numbers == number, values[number], result)
        return result

    def program(self, name: str, inputs: int, outputs: Sequence[str], shared_words: int = 0) -> Program:
        return Program(name, self.threads, self.lanes, inputs, tuple(self.operations), tuple(outputs), shared_words)

    def adopt(self, other: Writer) -> None:
        """Goes on from what `other` has written."""
        self.operations.extend(other.operations)
        self.table.bases, self.table.flags = list(other.table.bases), dict(other.table.flags)
        self.table.masks = dict(other.table.masks)
        self._count = other._count

    def inlined(self, inner: Program, names: Mapping[str, str]) -> list[str]:
        """Appends the operations of another program, whose inputs are these values; what its outputs are called here."""
        known = dict(names)
        renames: dict[str, str] = {}
        for operation in inner.operations:
            match operation:
                case Index(name, _):
                    renames[name] = f"w{len(renames)}"
                case Flag(name, _):
                    known[name] = f"q{sum(v.startswith('q') for v in known.values())}"
                case Load(loaded, _) | LoadMatrix(loaded, _):
                    known |= {name: self.fresh() for name in loaded}
                case Select(name) | Shuffle(name) | Permute(name) | Merge(name) | Transpose(name):
                    known[name] = self.fresh()
                case Store() | StoreMatrix() | Meet():
                    pass
            self.operations.append(renamed(operation, known, renames))
        return [known.get(name, name) for name in inner.outputs]

    def rotated(self, values: Sequence[str], amount: Ints, *, backwards: bool = False) -> list[str]:
        """values[(i + amount) % n] by thread."""
        found, bit = list(values), 0
        while (amount >> bit).any():
            step = (1 << bit) * (-1 if backwards else 1)
            holds = (amount >> bit & 1).astype(np.bool_)
            found = [self.select(holds, found[(i + step) % len(found)], found[i]) for i in range(len(found))]
            bit += 1
        return found

    def crossed(self, values: Sequence[str], amount: Ints, bits: Sequence[int]) -> list[str]:
        """values[i ^ m], where bit k of `amount` adds 1 << bits[k] to m."""
        found = list(values)
        for k, bit in enumerate(bits):
            holds = (amount >> k & 1).astype(np.bool_)
            found = [self.select(holds, found[i ^ 1 << bit], found[i]) for i in range(len(found))]
        return found


def inputs(count: int) -> list[str]:
    return [f"in[{i}]" for i in range(count)]


def programs(held: Ints, wanted: Ints, lanes: int) -> Iterator[Program]:
    """Programs for words [threads, words] of one warp's program; the elements of `wanted` are in `held`."""
    known = list(_structured(held, wanted, lanes))
    yield from known
    moves = word_moves(held[:, :, None], wanted[:, :, None])
    colours = coloured(moves, len(held))
    if len(set(colours)) < min((program.count(Shuffle) for program in known), default=len(moves) + 1):
        yield by_colours(held, wanted, lanes, moves, colours, "coloured")


def by_shuffle(moves: Sequence[Move], colours: Sequence[int], threads: int) -> tuple[Ints, Ints]:
    """[shuffles, threads]: the register that a thread offers, and the thread that it reads; -1 for none."""
    offers = np.full((max(colours, default=-1) + 1, threads), -1, dtype=np.int64)
    reads = offers.copy()
    for move, colour in zip(moves, colours, strict=True):
        offers[colour, move.sender] = move.register
        reads[colour, move.receiver] = move.sender
    return offers, reads


def by_colours(held: Ints, wanted: Ints, lanes: int, moves: Sequence[Move], colours: Sequence[int], name: str) -> Program:
    """Any colouring: a shuffle for each colour, selects for the register that lanes offer and for the word that they keep."""
    threads, words = held.shape
    writer = Writer(threads, lanes)
    offers, reads = by_shuffle(moves, colours, threads)
    values = inputs(words)
    arrived: list[str] = []
    brought = np.full(reads.shape, -1, dtype=np.int64)
    for colour, source in enumerate(reads):
        here = source >= 0
        arrived.append(writer.shuffle(writer.chosen(offers[colour], values), source % lanes, here))
        brought[colour, here] = held[source[here], offers[colour, source[here]]]
    available = np.concatenate([held.T, brought])
    outputs: list[str] = []
    for word in range(wanted.shape[1]):
        need = wanted[:, word]
        if (need < 0).all():
            outputs.append("")
            continue
        numbers = np.where(need < 0, -1, np.argmax(available == need, axis=0))
        outputs.append(writer.chosen(numbers, [*values, *arrived]))
    return writer.program(name, words, outputs)


def _structured(held: Ints, wanted: Ints, lanes: int) -> Iterator[Program]:
    """Programs for words that all come from one place and go to one; without padding."""
    threads, words = held.shape
    if wanted.shape != held.shape or lanes != threads or (np.sort(held, axis=None) != np.sort(wanted, axis=None)).any():
        return
    if len(np.unique(held)) < held.size or held.min() < 0:
        return
    target = np.empty(held.size, dtype=np.int64)
    target[np.argsort(held, axis=None)] = np.argsort(wanted, axis=None)
    to = target.reshape(held.shape)
    cycles = _cycles(to, threads, words)
    if cycles is not None:
        pairs, names = cycles
        for butterflies in range(len(pairs) + 1):
            yield _butterflies(threads, words, pairs, names, butterflies)
        return
    linear = min((_linear(to, threads, words, turn) for turn in turns(to // words)), key=_selects, default=None)
    if linear is not None:
        yield linear
    if words > 1 and not threads & (threads - 1):
        element = np.arange(held.size)
        if (to[element % threads, element // threads] == element).all():
            yield _to_blocked(threads, words)
        if (to.ravel() == element % threads * words + element // threads).all():
            yield _to_striped(threads, words)


def _selects(program: Program) -> int:
    return program.count(Select)


def turns(receivers: Ints) -> list[Ints]:
    """Numbers by thread so that, if thread a offers register t ^ turn[a] in shuffle t, each thread is sent one word by each.

    `receivers` [threads, words] says who gets a word. Each bit of the number is a bit of the lane or 0; the fewest bits first.
    """
    threads, words = receivers.shape
    if words & (words - 1) or threads & (threads - 1) or words > _MOST_TURNED:
        return []
    bits, lane_bits = words.bit_length() - 1, min(threads, 32).bit_length() - 1
    thread, register = numbered(threads, 1), numbered(1, words)
    found: list[Ints] = []
    for used in range(bits + 1):
        for places in combinations(range(bits), used):
            for choice in product(range(lane_bits), repeat=used):
                turn = sum((thread >> b & 1) << i for i, b in zip(places, choice, strict=True)) + np.zeros_like(thread)
                if len(set(receivers[thread[:, 0], turn[:, 0]].tolist())) < threads:
                    continue
                if (np.sort(receivers[thread, register ^ turn], axis=0) == thread).all():
                    found.append(turn[:, 0])
                if len(found) == _TURNS:
                    return found
        if found:
            break
    return found


def _linear(to: Ints, threads: int, words: int, turn: Ints) -> Program:
    """Xors inside lanes, a shuffle for each register, xors or selects inside lanes."""
    writer = Writer(threads, threads)
    thread, register = numbered(threads, 1), numbered(1, words)
    values = writer.crossed(inputs(words), turn, range(words.bit_length() - 1))
    target = to[thread, register ^ turn[:, None]]
    source, slot = np.empty((threads, words), dtype=np.int64), np.empty((threads, words), dtype=np.int64)
    source[target // words, register] = thread
    slot[target // words, target % words] = register
    came = [writer.shuffle(values[t], source[:, t]) for t in range(words)]
    after = slot[:, 0] ^ slot[0, 0]
    if (slot == slot[:1] ^ after[:, None]).all():
        came = writer.crossed(came, after, range(words.bit_length() - 1))
        kept: list[int] = slot[0].tolist()
        outputs = [came[t] for t in kept]
    else:
        outputs = [writer.chosen(slot[:, q], came) for q in range(words)]
    return writer.program("turns", words, outputs)


def _cycles(to: Ints, threads: int, words: int) -> tuple[list[tuple[int, int]], list[int]] | None:
    """Bits of lane and register that change places, and by register its number after that; None if words move otherwise."""
    if threads & (threads - 1) or words & (words - 1):
        return None
    width, high = (words - 1).bit_length(), (threads - 1).bit_length()
    images = [int(to.ravel()[1 << bit]) for bit in range(width + high)]
    if (applied(enumerate(images), np.arange(to.size)) != to.ravel()).any() or sorted(images) != [
        1 << bit for bit in range(width + high)
    ]:
        return None
    goes = [image.bit_length() - 1 for image in images]
    pairs: list[tuple[int, int]] = []
    renamed = list(goes[:width])
    for lane_bit in range(high):
        there = goes[width + lane_bit]
        if there == width + lane_bit:
            continue
        senders = [bit for bit in range(width) if goes[bit] == width + lane_bit]
        if there >= width or not senders:
            return None
        pairs.append((lane_bit, senders[0]))
        renamed[senders[0]] = there
    names = [sum(1 << renamed[bit] for bit in range(width) if register >> bit & 1) for register in range(words)]
    return pairs, names


def _butterflies(threads: int, words: int, pairs: Sequence[tuple[int, int]], names: Sequence[int], count: int) -> Program:
    """The first `count` pairs of bits by butterflies, the others by one shuffle for each change of their register bits."""
    writer = Writer(threads, threads)
    lane = np.arange(threads)
    values = inputs(words)
    for lane_bit, register_bit in pairs[:count]:
        holds = (lane >> lane_bit & 1).astype(np.bool_)
        for low in range(words):
            if low >> register_bit & 1:
                continue
            high = low | 1 << register_bit
            sent = writer.select(holds, values[low], values[high])
            came = writer.shuffle(sent, lane ^ 1 << lane_bit)
            values[low], values[high] = writer.select(holds, came, values[low]), writer.select(holds, values[high], came)
    rest = pairs[count:]
    if rest:
        amount = sum(((lane >> lane_bit & 1) << k for k, (lane_bit, _) in enumerate(rest)), start=np.zeros_like(lane))
        bits = [register_bit for _, register_bit in rest]
        values = writer.crossed(values, amount, bits)
        for register in range(words):
            away = sum(1 << lane_bit for lane_bit, bit in rest if register >> bit & 1)
            values[register] = writer.shuffle(values[register], lane ^ away)
        values = writer.crossed(values, amount, bits)
    outputs = [""] * words
    for register, value in enumerate(values):
        outputs[names[register]] = value
    return writer.program(f"{count} butterflies" if count else "xor", words, outputs)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """L lanes and R words: common = gcd(L, R), which is a power of two; L = common * high, R = common * odd."""

    lanes: int
    words: int

    @property
    def common(self) -> int:
        return int(np.gcd(self.lanes, self.words))

    @property
    def high(self) -> int:
        return self.lanes // self.common

    @property
    def odd(self) -> int:
        return self.words // self.common

    @property
    def bits(self) -> range:
        return range(self.common.bit_length() - 1)


def _to_striped(lanes: int, words: int) -> Program:
    """Blocked to striped: lanes offer register t ^ (lane / high), read by an affine rule, then rotate and xor what came."""
    n = _Sizes(lanes, words)
    writer = Writer(lanes, lanes)
    lane = np.arange(lanes)
    values = writer.crossed(inputs(words), lane // n.high, n.bits)
    inverse = pow(n.odd, -1, n.high) if n.high > 1 else 0
    came: list[str] = []
    for t in range(words):
        low, high = t % n.common, t // n.common
        source = (low ^ lane % n.common) * n.high + (lane // n.common - high) * inverse % n.high
        came.append(writer.shuffle(values[t], source))
    came = _turned(writer, n, came, lane // n.common % n.odd, backwards=False)
    came = writer.crossed(came, lane % n.common, n.bits)
    outputs = [came[q % n.odd * n.high % n.odd * n.common + q // n.odd] for q in range(words)]
    return writer.program("rotations", words, outputs)


def _to_blocked(lanes: int, words: int) -> Program:
    """Striped to blocked: the same backwards."""
    n = _Sizes(lanes, words)
    writer = Writer(lanes, lanes)
    lane = np.arange(lanes)
    values = [""] * words
    for q in range(words):
        values[q % n.odd * n.high % n.odd * n.common + q // n.odd] = f"in[{q}]"
    values = writer.crossed(values, lane % n.common, n.bits)
    values = _turned(writer, n, values, lane // n.common % n.odd, backwards=True)
    came: list[str] = []
    for t in range(words):
        low, high = t % n.common, t // n.common
        source = (lane % n.high * n.odd + high) % n.high * n.common + (low ^ lane // n.high)
        came.append(writer.shuffle(values[t], source))
    outputs = writer.crossed(came, lane // n.high, n.bits)
    return writer.program("rotations", words, outputs)


def _turned(writer: Writer, n: _Sizes, values: Sequence[str], amount: Ints, *, backwards: bool) -> list[str]:
    """Rotates the groups of `common` words by that many groups."""
    if n.odd == 1:
        return list(values)
    columns = [writer.rotated(values[low :: n.common], amount, backwards=backwards) for low in range(n.common)]
    return [columns[i % n.common][i // n.common] for i in range(len(values))]
