"""Exchanges of elements that share words: pieces (bytes, or halves of them) are gathered from words, never stored one by one.

*Directly*: every thread takes in all words that hold bytes it wants, and gathers. *By swaps*: a bit of a byte's place in its
word changes places with a bit of the lane (a shuffle for two words, since halves of both fit into one) or of the register
(no shuffle), until the words that are wanted exist as words; these move as words do, by shuffles or through shared memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, product
from typing import Literal, TypeAlias

import numpy as np

from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange.demand import Move, coloured, word_moves
from warploom.layout.exchange.pieces import BYTES, Value, gathered
from warploom.layout.exchange.program import Program
from warploom.layout.exchange.shared import through_shared
from warploom.layout.exchange.shuffles import Writer, by_shuffle, inputs, turns

_MOST_TURNED = 8
"""Words of a lane up to which ways that take in all words are tried beside others."""
Words: TypeAlias = Callable[[Ints, Ints, int], Iterator[Program]]
"""Programs for whole words, given held and wanted words [threads, words] and lanes."""


@dataclass(frozen=True, slots=True)
class Swap:
    """Bit `slot` of a byte's place in its word changes places with a bit of the lane or of the register."""

    slot: int
    side: Literal["lane", "register"]
    bit: int


def programs(held: Ints, wanted: Ints, lanes: int, words: Words, *, crosses: bool) -> Iterator[Program]:
    """Programs for pieces [threads, words, 4 or 8]; `crosses`: some go to other warps, which shuffles do not reach."""
    before, after = (list(_alignments(one, two, lanes)) for one, two in ((held, wanted), (wanted, held)))
    for swaps in before:
        if not crosses or all(swap.side == "register" for swap in swaps):
            yield from _by_swaps(held, wanted, lanes, swaps, words)
    for swaps in after:
        if swaps:
            yield from _swaps_afterwards(held, wanted, lanes, swaps, words)
    if not before and not after:
        yield from _word_by_word(held, wanted, lanes)
    if not crosses:
        yield from _directly(held, wanted, lanes, is_needed=not before and not after)


def _start(held: Ints) -> list[Value]:
    return [Value(name, held[:, i]) for i, name in enumerate(inputs(held.shape[1]))]


def _directly(held: Ints, wanted: Ints, lanes: int, *, is_needed: bool) -> Iterator[Program]:
    """All words that hold wanted bytes, then bytes out of what is there; if that is no more than two for each word, or needed."""
    moves = word_moves(held, wanted)
    threads, words, _ = held.shape
    receivers = np.full((threads, words), -1, dtype=np.int64)
    numbers = _word_numbers(held, wanted)
    taken = 0
    for thread in range(threads):
        for number in np.unique(numbers[thread][numbers[thread] >= 0]).tolist():
            receivers[divmod(number, words)] = thread
            taken += 1
    is_for_one = taken == threads * words
    may_turn = is_for_one and (receivers >= 0).all() and threads == lanes and words <= _MOST_TURNED
    for turn in turns(receivers) if may_turn else []:
        writer = Writer(threads, lanes)
        names = writer.crossed(inputs(words), turn, range(words.bit_length() - 1))
        register = numbered(1, words) ^ turn[:, None]
        content = held[numbered(threads, 1), register]
        sent = receivers[numbered(threads, 1), register]
        values: list[Value] = []
        for t in range(words):
            source = np.argsort(sent[:, t])
            values.append(Value(writer.shuffle(names[t], source), content[source, t]))
        outputs = [gathered(writer, values, wanted[:, word]).name for word in range(wanted.shape[1])]
        yield writer.program("turns", words, outputs)
    ends = [move.sender for move in moves] + [threads + move.receiver for move in moves]
    if not is_needed and moves and (words > _MOST_TURNED or int(np.bincount(ends).max()) > 2 * wanted.shape[1]):
        return
    colours = coloured(moves, threads)
    writer = Writer(threads, lanes)
    values = _start(held)
    values += shuffled(writer, values, moves, colours)
    outputs = [gathered(writer, values, wanted[:, word]).name for word in range(wanted.shape[1])]
    yield writer.program("words", words, outputs)


def _word_by_word(held: Ints, wanted: Ints, lanes: int) -> Iterator[Program]:
    """Through shared memory: every thread loads all words that hold bytes it wants, then gathers."""
    threads, words, _ = held.shape
    home = _word_numbers(held, wanted)
    needed = [np.unique(row[row >= 0]) for row in home]
    table = np.full((threads, max(len(row) for row in needed)), -1, dtype=np.int64)
    for thread, row in enumerate(needed):
        table[thread, : len(row)] = row
    inner = through_shared(numbered(threads, words), table, lanes)
    if inner is not None:
        writer = Writer(threads, lanes)
        content = np.where(table[:, :, None] < 0, -1, held.reshape(-1, held.shape[2])[table])
        values = [value for value in _after(writer, _start(held), inner, content) if value.name]
        outputs = [gathered(writer, values, wanted[:, word]).name for word in range(wanted.shape[1])]
        yield writer.program("shared, words", words, outputs, inner.shared_words)


def shuffled(writer: Writer, values: Sequence[Value], moves: Sequence[Move], colours: Sequence[int]) -> list[Value]:
    """The values that the shuffles bring."""
    offers, reads = by_shuffle(moves, colours, writer.threads)
    held = np.stack([value.content for value in values])
    found: list[Value] = []
    for colour, source in enumerate(reads):
        here = source >= 0
        offered = writer.chosen(offers[colour], [value.name for value in values])
        name = writer.shuffle(offered, source % writer.lanes, here)
        content = np.full((writer.threads, held.shape[2]), -1, dtype=np.int64)
        content[here] = held[offers[colour, source[here]], source[here]]
        found.append(Value(name, content))
    return found


def _alignments(held: Ints, wanted: Ints, lanes: int) -> Iterator[tuple[Swap, ...]]:
    """Swaps after which every word of `wanted` holds the bytes of one word; the fewest shuffles first."""
    registers = [bit for bit in range(8) if held.shape[1] % (2 << bit) == 0]
    lane_bits = range((lanes & -lanes).bit_length() - 1)
    each = [
        [None, *(Swap(slot, "lane", b) for b in lane_bits), *(Swap(slot, "register", b) for b in registers)]
        for slot in range(held.shape[2].bit_length() - 1)
    ]
    found: list[tuple[Swap, ...]] = []
    for pair in product(*each):
        swaps = tuple(swap for swap in pair if swap is not None)
        if len({(swap.side, swap.bit) for swap in swaps}) < len(swaps):
            continue
        if _are_words(reduce(swapped, swaps, held), wanted):
            found.append(swaps)
    found.sort(key=lambda swaps: (sum(swap.side == "lane" for swap in swaps), len(swaps)))
    yield from found[:1]


def swapped(held: Ints, swap: Swap) -> Ints:
    """The bytes after the swap."""
    thread, word, slot = np.indices(held.shape)
    inside = slot >> swap.slot & 1
    if swap.side == "lane":
        change = inside ^ (thread >> swap.bit & 1)
        return held[thread ^ change << swap.bit, word, slot ^ change << swap.slot]
    change = inside ^ (word >> swap.bit & 1)
    return held[thread, word ^ change << swap.bit, slot ^ change << swap.slot]


def _are_words(held: Ints, wanted: Ints) -> bool:
    """Whether the bytes of each wanted word are those of one held word."""
    numbers = _word_numbers(held, wanted)
    first = numbers.max(axis=2, keepdims=True)
    return bool(((numbers == first) | (numbers < 0)).all())


def _word_numbers(held: Ints, wanted: Ints) -> Ints:
    """By byte of `wanted` the number of the held word that has it."""
    threads, words, _ = held.shape
    home = np.full(int(max(held.max(), wanted.max())) + 1, -1, dtype=np.int64)
    numbers = np.broadcast_to(numbered(threads, words, 1), held.shape)
    home[held[held >= 0]] = numbers[held >= 0]
    return np.where(wanted < 0, -1, home[np.where(wanted < 0, 0, wanted)])


def _swap(writer: Writer, values: Sequence[Value], swap: Swap, goal: Ints) -> list[Value]:
    """Words after the swap, whose bytes are in the order of `goal`."""
    found = list(values)
    if swap.side == "register":
        for low in range(len(values)):
            if not low >> swap.bit & 1:
                pair = (values[low], values[low | 1 << swap.bit])
                for word in (low, low | 1 << swap.bit):
                    found[word] = gathered(writer, pair, goal[:, word])
        return found
    threads = np.arange(writer.threads)
    partner = threads ^ 1 << swap.bit
    for low in range(0, len(values), 2):
        group = range(low, min(low + 2, len(values)))
        needs = [_lacking(goal[:, word], values[word].content)[partner] for word in group]
        if len(group) == 1:
            sent = values[low]
        else:
            if goal.shape[2] == BYTES:
                packed = np.stack([_packed(row) for row in np.concatenate(needs, axis=1)])
            else:
                own = np.concatenate([values[word].content for word in group], axis=1)
                rows = zip(np.concatenate(needs, axis=1).tolist(), own.tolist(), strict=True)
                packed = np.array([_packed_halves(set(need) - {-1}, there) for need, there in rows])
            sent = gathered(writer, [values[word] for word in group], packed)
        name = writer.shuffle(sent.name, partner % writer.lanes)
        came = Value(name, sent.content[partner])
        for word in group:
            found[word] = gathered(writer, (values[word], came), goal[:, word])
    return found


def _lacking(goal: Ints, content: Ints) -> Ints:
    return np.where((goal[:, :, None] == content[:, None, :]).any(axis=2), -1, goal)


def _packed(row: Ints) -> Ints:
    kept = np.sort(row[row >= 0])
    return np.concatenate([kept, np.full(len(row) // 2 - len(kept), -1, dtype=np.int64)])


def _packed_halves(needs: set[int], there: Sequence[int]) -> list[int]:
    """A word of what is needed, out of two words: each half where it is, or else in the other half of its byte, or anywhere."""
    half = len(there) // 2
    packed = [-1] * half
    late: list[int] = []
    for place, piece in enumerate(there):
        if piece in needs:
            needs.discard(piece)
            free = next((at for at in (place % half, place % half ^ 1) if packed[at] < 0), None)
            if free is None:
                late.append(piece)
            else:
                packed[free] = piece
    for piece in late:
        packed[packed.index(-1)] = piece
    return packed


def _goal(held: Ints, wanted: Ints) -> Ints:
    """`held` with the bytes of each word in the order in which the first wanted word has them."""
    goal = held.copy()
    threads, words, _ = held.shape
    numbers = _word_numbers(held, wanted).max(axis=2)
    is_ordered = np.zeros((threads, words), dtype=np.bool_)
    for thread, word in zip(*np.nonzero(numbers >= 0), strict=True):
        home = divmod(int(numbers[thread, word]), words)
        order = wanted[thread, word]
        is_twice = len(np.unique(order[order >= 0])) < int((order >= 0).sum())  # a piece that would take another one's place
        if not is_ordered[home] and not is_twice:
            is_ordered[home] = True
            rest = [byte for byte in held[home].tolist() if byte not in order.tolist()]
            goal[home] = [byte if byte >= 0 else rest.pop() if rest else -1 for byte in order.tolist()]
    return goal


def _by_swaps(held: Ints, wanted: Ints, lanes: int, swaps: Sequence[Swap], words: Words) -> Iterator[Program]:
    """First the swaps, then whole words."""
    tables = list(accumulate(swaps, swapped, initial=held))
    goal = _goal(tables[-1], wanted) if swaps else held
    writer = Writer(len(held), lanes)
    values = _start(held)
    for number, swap in enumerate(swaps):
        values = _swap(writer, values, swap, goal if number == len(swaps) - 1 else tables[number + 1])
    numbers = numbered(*held.shape[:2])
    for inner in words(numbers, _word_numbers(goal, wanted).max(axis=2), lanes):
        yield _joined(writer, values, inner, wanted, goal)


def _swaps_afterwards(held: Ints, wanted: Ints, lanes: int, swaps: Sequence[Swap], words: Words) -> Iterator[Program]:
    """Whole words first, then the swaps; for words that exist in the source once the destination's are swapped."""
    if (wanted < 0).any() or (held < 0).any():
        return
    tables = list(accumulate(swaps, swapped, initial=wanted))
    between = tables[-1]
    if not _are_words(held, between):
        return
    numbers = numbered(*held.shape[:2])
    goal = _word_numbers(held, between).max(axis=2)
    for inner in words(numbers, goal, lanes):
        writer = Writer(len(held), lanes)
        values = _after(writer, _start(held), inner, held.reshape(-1, held.shape[2])[goal])
        for number in reversed(range(len(swaps))):
            values = _swap(writer, values, swaps[number], tables[number])
        yield writer.program(f"{inner.name}, swaps", held.shape[1], [value.name for value in values], inner.shared_words)


def _joined(writer: Writer, values: Sequence[Value], inner: Program, wanted: Ints, goal: Ints) -> Program:
    """The program so far, the words' program behind it, and permutations of words whose bytes stand in another order."""
    copy = Writer(writer.threads, writer.lanes)
    copy.adopt(writer)
    numbers = _word_numbers(goal, wanted).max(axis=2)
    content = np.where(numbers[:, :, None] < 0, -1, goal.reshape(-1, goal.shape[2])[numbers])
    found = _after(copy, values, inner, content)
    outputs = [gathered(copy, [value], wanted[:, i]).name for i, value in enumerate(found)]
    name = f"swaps, {inner.name}" if len(writer.operations) else inner.name
    return copy.program(name, goal.shape[1], outputs, inner.shared_words)


def _after(writer: Writer, values: Sequence[Value], inner: Program, content: Ints) -> list[Value]:
    """The operations of `inner` on these values; its outputs hold `content` [threads, words, pieces]."""
    names = {f"in[{i}]": value.name for i, value in enumerate(values)}
    outputs = writer.inlined(inner, names)
    return [Value(name, content[:, i]) for i, name in enumerate(outputs)]
