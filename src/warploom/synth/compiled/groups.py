"""wgmma on symbols: products of four warps whose factors lie in shared memory (PTX ISA 9.0, section 9.7.15).

    group of a thread := t / 128;  its warp there w := t / 32 % 4;  its lane l
    D[i, j]: w = i / 16, l = 4 (i % 8) + j / 2 % 4, register 4 (j / 8) + 2 (i / 8 % 2) + j % 2

A product reads its factors when it is issued, and may go on reading until its thread waits for it. Until then its results are
undefined, and nobody may change what it reads. All four warps read both factors, by the asynchronous proxy: what threads stored
into shared memory is seen across a `fence.proxy.async` of all threads, or of the storing one before the next barrier. Registers
that other instructions wrote are seen across a `wgmma.fence`.

Followed are products that all threads of the block issue together, straight behind their `wgmma.fence`. Sums are those of reals,
as for mma.sync.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from typing import cast

from warploom.core import DType, bf16, f16, f32, i8, i32, u8
from warploom.ptx.syntax import Instruction, Integer, Name, Operand, Vector
from warploom.synth.compiled.data import Undefined, Value
from warploom.synth.compiled.matrices import Matrices, all_known
from warploom.synth.compiled.memory import Owner, Region
from warploom.synth.compiled.operands import Operands
from warploom.synth.compiled.placed import Placed, placed
from warploom.synth.compiled.schedule import Step
from warploom.synth.compiled.threads import WARP, Block, Lanes, Launch
from warploom.synth.compiled.transfers import Transfers

SUMS_OF_GROUPS = "wgmma: its sums taken as sums of reals"
_THREADS, _ROWS, _DEPTH_BYTES, _PIECE, _WORD = 128, 64, 32, 16, 4
_TYPES: dict[str, tuple[str, DType, DType]] = {
    "f16": ("f32", f32, f16), "bf16": ("f32", f32, bf16), "s8": ("s32", i32, i8), "u8": ("s32", i32, u8),
}  # fmt: skip
"""By the type of the factors: that of the sums, as PTX and as data, and that of the factors."""
_PIECES_OF_LINE = {0: 1, 1: 8, 2: 4, 3: 2}
"""By the mode of a descriptor: pieces of 16 bytes in a line, which are permuted where there are several."""
_UNIT = 16
"""Bytes that descriptors count in."""
_LINES = 8
"""Lines of an atom."""
_Column = list[Value]
Order = tuple[dict[tuple[int, int], Owner], dict[str, int], int] | None
"""Stores that no fence of proxies followed, when registers were written, and the last fence of products."""


@dataclass(slots=True)
class _Sum:
    """Content of an accumulator after products on their way."""

    common: _Column | None
    """The representatives' values, where all others are their translations."""
    column: _Column | None
    marker: _Column
    """Content of the register until the wait."""
    shape: str
    number: int = 0
    """Products issued before the last one into it, that one included."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A piece of 16 bytes that a product reads."""

    region: Region
    offset: int
    threads: tuple[int, ...]
    values: tuple[Value, ...]
    """Its words."""


@dataclass(slots=True)
class UnderWay:
    """Products of a block on their way."""

    open: list[list[_Read]] = field(default_factory=list[list[_Read]])
    groups: list[list[list[_Read]]] = field(default_factory=list[list[list[_Read]]])
    sums: dict[str, _Sum] = field(default_factory=dict[str, _Sum])
    """By register."""
    issued: int = 0
    done: int = 0
    waited: dict[str, int] = field(default_factory=dict[str, int])
    """By register: the step of the wait that wrote it."""


@dataclass(frozen=True, slots=True)
class _Shape:
    columns: int
    deep: int
    size: int
    """Bytes of an element of a factor."""

    @property
    def registers(self) -> int:
        return self.columns // 2


class Groups:
    """Steps for products of four warps together."""

    def __init__(self, launch: Launch, operands: Operands, transfers: Transfers, matrices: Matrices) -> None:
        self.launch, self.operands, self.transfers, self.matrices = launch, operands, transfers, matrices

    def step(self, instruction: Instruction, index: int) -> Step:
        match instruction.modifiers:
            case ("fence", "sync", "aligned"):
                return self._together(instruction, index, self._fence)
            case ("commit_group", "sync", "aligned"):
                return self._together(instruction, index, self._commit)
            case ("wait_group", "sync", "aligned"):
                last = instruction.operands[0]
                if isinstance(last, Integer):
                    return self._together(instruction, index, lambda block: self._wait(block, last.value, index))
            case ("mma_async", "sync", "aligned", str(), d_type, a_type, b_type):
                if a_type == b_type and _TYPES.get(a_type, ("",))[0] == d_type:
                    return self._together(instruction, index, self._multiply(instruction, index))
            case _:
                pass
        raise self._not_followed(instruction, index)

    def _not_followed(self, instruction: Instruction, index: int) -> Exception:
        return self.launch.unsupported(f"expected an instruction that this runner follows, got {instruction.name}", index)

    def _together(self, instruction: Instruction, index: int, action: Callable[[Block], None]) -> Step:
        """Whole groups come to it, here all of the block together."""

        def run(block: Block, lanes: Lanes) -> None:
            if len(lanes) != block.count or block.count % _THREADS:
                message = f"expected all threads of a block of whole groups of {_THREADS} at {instruction.name}"
                raise self.launch.unsupported(message, index)
            action(block)

        return Step(action=run, meeting=_whole_groups)

    # ------------------------------------------------------------ order

    def fence_of_proxies(self, instruction: Instruction, index: int) -> Step:
        """fence.proxy.async, of all threads or of those that stored, before a barrier; other fences order nothing here."""
        shows = instruction.modifiers[:2] == ("proxy", "async") and instruction.modifiers[2:] in ((), ("shared::cta",))

        def run(block: Block, lanes: Lanes) -> None:
            if not shows or not block.unshown:
                return
            if len(lanes) == block.count:
                block.unshown.clear()
                return
            here = set(lanes)
            for key, owner in list(block.unshown.items()):
                if block.has_partial_order or owner.epoch < block.epoch:
                    message = "expected a fence.proxy.async of all threads behind a barrier"
                    raise self.launch.unsupported(message, index)
                if owner.thread in here:
                    del block.unshown[key]

        return Step(action=run)

    def _fence(self, block: Block) -> None:
        block.fenced = block.execution

    def _commit(self, block: Block) -> None:
        queue = _queue(block)
        queue.groups.append(queue.open)
        queue.open = []

    def _wait(self, block: Block, left: int, index: int) -> None:
        """All but the newest `left` groups are complete."""
        queue = _queue(block)
        count = max(0, len(queue.groups) - left)
        done = [product for group in queue.groups[:count] for product in group]
        queue.groups = queue.groups[count:]
        queue.done += len(done)
        for product in done:
            for read in product:
                self._check_unchanged(block, read, index)
        for name in [name for name, one in queue.sums.items() if one.number <= queue.done]:
            one = queue.sums.pop(name)
            if not _is_marked(block, name, one):
                message = f"expected nobody to write {name} while a product on its way makes it"
                raise block.fault("undefined value", message, index, thread=0, what="wgmma")
            if one.common is not None:
                block.write_common(name, one.common)
            elif one.column is not None:
                block.write(name, block.everyone, one.column)
            queue.waited[name] = block.execution

    def _check_unchanged(self, block: Block, read: _Read, index: int) -> None:
        self._remember(block, read.region, read.offset, read.threads, index)
        data = self.launch.data
        now = _words(self.launch, read.region, read.offset)
        if not all(data.is_same(a, b) for a, b in zip(now, read.values, strict=True)):
            message = f"expected {read.region.name} not to change while a product on its way reads it"
            raise block.fault("race", message, index, thread=read.threads[0], what="wgmma", element=read.region.name)

    def _check_fenced(self, block: Block, queue: UnderWay, name: str, shape: str, index: int) -> None:
        """An accumulator that is on its way in products of this shape, or was not written since the fence."""
        known = queue.sums.get(name)
        written = (block.written or {}).get(name, 0)
        if known is not None and _is_marked(block, name, known):
            if known.shape != shape:
                raise self.launch.unsupported(f"expected products of one shape on their way into {name}", index)
            return
        if block.fenced > written:
            return
        if queue.waited.get(name) == written:
            message = f"expected a wgmma.fence between the wait for {name} and the next product into it"
            raise self.launch.unsupported(message, index)
        message = f"expected a wgmma.fence behind what wrote {name}, before a product adds to it"
        raise block.fault("race", message, index, thread=0, what="wgmma", element=name)

    def _check_straight(self, index: int, names: frozenset[str]) -> None:
        """Between the fence and a product is nothing that touches its registers, on the one way there."""
        routine = self.launch.routine
        registers = {name.partition(".")[0] for name in names}
        starts = set(routine.labels.values())
        for at in range(index - 1, -1, -1):
            other = routine.instructions[at]
            if at + 1 in starts or other.opcode in ("bra", "brx", "call", "ret", "exit"):
                break
            if other.opcode == "wgmma":
                if other.modifiers[0] == "fence" and other.guard is None:
                    return
                if other.modifiers[0] in ("mma_async", "commit_group"):
                    continue
                break
            if registers.intersection(_registers_in(other.operands)):
                break
        raise self.launch.unsupported("expected a product straight behind its wgmma.fence", index)

    # ------------------------------------------------------------ products

    def _multiply(self, instruction: Instruction, index: int) -> Callable[[Block], None]:
        shape_text, _, a_type, _ = instruction.modifiers[3:]
        _, total, kind = _TYPES[a_type]
        found = re.fullmatch(r"m64n(\d+)k(\d+)", shape_text)
        size = kind.bits // 8
        if found is None or int(found[2]) * size != _DEPTH_BYTES or int(found[1]) not in range(8, 257, 8):
            raise self._not_followed(instruction, index)
        shape = _Shape(int(found[1]), int(found[2]), size)
        d, a, b, *rest = instruction.operands
        majors = self._majors(instruction, rest, index, is_float=total.is_float, has_majors=size == 2)
        names = [o.text for o in self.operands.pieces(d) if isinstance(o, Name)]
        if isinstance(a, Vector) or len(set(names)) != shape.registers:
            raise self._not_followed(instruction, index)
        read_a, read_b = (self.operands.reader(o, "b64", index) for o in (a, b))
        read_scale = self.operands.reader(rest[0], "pred", index)
        sums = self.matrices.sums(total, (kind, kind))
        own = frozenset(names)

        def run(block: Block) -> None:
            queue = _queue(block)
            for name in names:
                self._check_fenced(block, queue, name, shape_text, index)
            self._check_straight(index, own)
            if total.is_float:
                self.launch.data.notes.add(SUMS_OF_GROUPS)
            everyone = block.everyone
            adds = read_scale(block, everyone)
            if any(v is not adds[0] for v in adds) or not isinstance(adds[0], int):
                raise self.launch.unsupported("expected products all of which add to their sums, or none", index)
            reads: list[_Read] = []
            left = self._rows(block, read_a(block, everyone), shape, index, reads, is_mn_major=majors[0])
            right = self._columns(block, read_b(block, everyone), shape, index, reads, is_mn_major=majors[1])
            old = [queue.sums.get(name) for name in names]
            self._add(block, queue, names, old, (left, right), shape, shape_text, sums, adds=bool(adds[0]))
            queue.open.append(reads)

        return run

    def _majors(
        self, instruction: Instruction, rest: list[Operand], index: int, *, is_float: bool, has_majors: bool
    ) -> tuple[bool, bool]:
        """Whether A and B lie along their rows; products with changed signs are not followed."""
        numbers = [o.value if isinstance(o, Integer) else -1 for o in rest[1:]]
        wanted = 2 * is_float + 2 * has_majors
        majors = numbers[2:] if has_majors else [0, 0]
        is_known = len(numbers) == wanted and all(n == 1 for n in numbers[: 2 * is_float]) and all(n in (0, 1) for n in majors)
        if not is_known:
            raise self._not_followed(instruction, index)
        return bool(majors[0]), bool(majors[1])

    def _add(
        self, block: Block, queue: UnderWay, names: list[str], old: list[_Sum | None],
        factors: tuple[list[_Column], list[_Column]], shape: _Shape, shape_text: str,
        sums: Callable[[_Column, list[_Column], list[_Column]], _Column], *, adds: bool,
    ) -> None:  # fmt: skip
        """Puts the sums on their way, with a marker in their registers."""
        launch, deep = self.launch, shape.deep
        left, right = factors
        commons = [self.matrices.common(block, block.everyone, part) for part in (left, right)]
        totals: list[_Column] | None = None
        if all(part is not None for part in commons):
            width = 0 if launch.translations is None else len(launch.translations.representatives)
            held = zip(names, old, strict=True)
            totals = all_known([_common(block, name, one) if adds else _zeros(width) for name, one in held])
        queue.issued += 1
        unknown = Undefined("a product that nobody has waited for", 0)
        is_common = totals is not None
        rows, columns = (c or [] for c in commons) if is_common else (left, right)
        for number, (name, one) in enumerate(zip(names, old, strict=True)):
            if totals is not None:
                added = totals[number]
            else:
                added = _column(block, name, one) if adds else _zeros(block.count)
            half, pair = number // 2 % 2, 2 * (number // 4) + number % 2
            launch.steps_left -= len(added) * deep
            made = sums(added, rows[half * deep : (half + 1) * deep], columns[pair * deep : (pair + 1) * deep])
            common, column = (made, None) if is_common else (None, made)
            marker: _Column = [unknown] * block.count
            queue.sums[name] = _Sum(common, column, marker, shape_text, queue.issued)
            block.write(name, block.everyone, marker)

    # ------------------------------------------------------------ factors

    def _rows(
        self, block: Block, words: _Column, shape: _Shape, index: int, reads: list[_Read], *, is_mn_major: bool
    ) -> list[_Column]:
        """For each of the two rows of a thread and each k: what each thread needs of A."""
        groups = self._groups(block, words, index)
        held: list[list[_Column]] = []
        for first, word in groups:
            held.append(self._matrix(block, word, first, _ROWS, shape, index, reads, is_mn_major=is_mn_major))
        return [
            [held[t // _THREADS][16 * (t // WARP % 4) + 8 * half + t % WARP // 4][k] for t in block.everyone]
            for half in range(2)
            for k in range(shape.deep)
        ]

    def _columns(
        self, block: Block, words: _Column, shape: _Shape, index: int, reads: list[_Read], *, is_mn_major: bool
    ) -> list[_Column]:
        """For each of the columns of a thread and each k: what each thread needs of B."""
        held: list[list[_Column]] = []
        for first, word in self._groups(block, words, index):
            held.append(self._matrix(block, word, first, shape.columns, shape, index, reads, is_mn_major=is_mn_major))
        return [
            [held[t // _THREADS][8 * (pair // 2) + 2 * (t % 4) + pair % 2][k] for t in block.everyone]
            for pair in range(shape.columns // 4)
            for k in range(shape.deep)
        ]

    def _groups(self, block: Block, words: _Column, index: int) -> list[tuple[int, Value]]:
        """The first thread of each group and the descriptor that all its threads have."""
        found: list[tuple[int, Value]] = []
        for first in range(0, block.count, _THREADS):
            word = words[first]
            for other in words[first : first + _THREADS]:
                if other.__class__ is not word.__class__ or other != word or _of(other) != _of(word):
                    raise self.launch.unsupported("expected one descriptor in all threads of a group", index)
            found.append((first, word))
        return found

    def _matrix(
        self, block: Block, word: Value, first: int, rows: int, shape: _Shape, index: int, reads: list[_Read], *,
        is_mn_major: bool,
    ) -> list[_Column]:  # fmt: skip
        """[rows][k]: a matrix in shared memory, which each warp of the group reads that begins with thread `first`."""
        launch = self.launch
        name, base, start, leading, stride, pieces = self._described(word, index)
        region = next((r for r in block.shared.regions if r.name == name), None)
        if region is None:
            raise launch.unsupported("expected a descriptor of shared memory", index)
        if pieces > 1:
            self.transfers.need(region, pieces * _LINES * _PIECE, index)
            if start // _LINES % pieces:
                raise launch.unsupported("expected a descriptor of a place in the first line of an atom", index)
        each = _PIECE // shape.size
        where: list[list[tuple[int, int]]] = []
        for row in range(rows):
            line: list[tuple[int, int]] = []
            for k in range(shape.deep):
                place, inside = _place(row, k, each, pieces, leading, stride, is_mn_major=is_mn_major)
                place += start
                if pieces > 1:
                    place ^= place // _LINES % pieces
                line.append((place, inside))
            where.append(line)
        warps = tuple(range(first, first + _THREADS, WARP))
        held: dict[int, tuple[Value, ...]] = {}
        for place in dict.fromkeys(place for line in where for place, _ in line):
            address = placed(base + place * _UNIT, ((name, 1),))
            found, offset = self.transfers.place(block, first, address, "shared", _PIECE, "load", index)
            self._check_shown(block, found, offset, first, index)
            self._remember(block, found, offset, warps, index)
            reads.append(_Read(found, offset, warps, _words(launch, found, offset)))
            held[place] = tuple(found.load(offset + shape.size * e, shape.size, launch.data) for e in range(each))
        return [[held[place][inside] for place, inside in line] for line in where]

    def _described(self, word: Value, index: int) -> tuple[str, int, int, int, int, int]:
        """Variable, its address, and in units of 16 bytes: start behind it, leading offset, stride; pieces of a line."""
        launch = self.launch
        known = launch.places.units.get(word.of[0][0]) if isinstance(word, Placed) and len(word.of) == 1 else None
        if known is None or not isinstance(word, Placed) or word.of[0][1] != 1 or known[1] != _UNIT:
            raise launch.unsupported("expected a descriptor of a place in shared memory, made of its address / 16", index)
        name = known[0]
        base = launch.places.variables[name].base
        bits = int(word) - base // _UNIT & (1 << 64) - 1
        mode, field_ = bits >> 62, 0x3FFF
        start, leading, stride = bits & field_, bits >> 16 & field_, bits >> 32 & field_
        if bits != start | leading << 16 | stride << 32 | mode << 62:
            raise launch.unsupported("expected a descriptor without a base offset", index)
        return name, base, start, leading, stride, _PIECES_OF_LINE[mode]

    def _check_shown(self, block: Block, region: Region, offset: int, thread: int, index: int) -> None:
        if not block.unshown:
            return
        for at in range(offset, offset + _PIECE, _WORD):
            owner = block.unshown.get((region.base, at))
            if owner is not None:
                line = self.launch.span(owner.instruction).line
                message = f"expected a fence.proxy.async behind the store in line {line}, before a product reads it"
                raise block.fault("race", message, index, thread=thread, what="wgmma", element=region.name)

    def _remember(self, block: Block, region: Region, offset: int, threads: tuple[int, ...], index: int) -> None:
        owners = [((block.position, t), block.owner(t, index)) for t in threads]
        if not region.read(offset, _PIECE, owners):
            for t in threads:
                self.transfers.remember(block, t, region, offset, _PIECE, "load", index)


def _place(row: int, k: int, each: int, pieces: int, leading: int, stride: int, *, is_mn_major: bool) -> tuple[int, int]:
    """The piece of an element, counted from the first one before the permutation, and its place there.

    each: elements of a piece; leading, stride: pieces. Source: PTX ISA 9.0, section 9.7.15.5.1.
    """
    if not is_mn_major:
        piece, inside = divmod(k, each)
        along = piece if pieces > 1 else leading * piece
        return pieces * (row % 8) + stride * (row // 8) + along, inside
    piece, inside = divmod(row, each)
    far, deeper = (leading, stride) if pieces > 1 else (stride, leading)
    return piece % pieces + far * (piece // pieces) + pieces * (k % 8) + deeper * (k // 8), inside


def _whole_groups(block: Block, lanes: Lanes) -> list[tuple[Lanes, Lanes]]:
    """The threads of a group that are here, and all that it has."""
    groups: dict[int, Lanes] = {}
    for t in lanes:
        groups.setdefault(t // _THREADS, []).append(t)
    return [(here, list(range(number * _THREADS, min((number + 1) * _THREADS, block.count)))) for number, here in groups.items()]


def _queue(block: Block) -> UnderWay:
    if not isinstance(block.products, UnderWay):
        block.products = UnderWay()
    return block.products


def is_under_way(block: Block) -> bool:
    """Whether products of the block are on their way."""
    queue = block.products
    return isinstance(queue, UnderWay) and bool(queue.sums or queue.open or queue.groups)


def order_of(block: Block) -> Order:
    """The order that fences have made, where none of its products is on its way."""
    if block.unshown is None or block.written is None:
        return None
    return dict(block.unshown), dict(block.written), block.fenced


def is_kept(before: Order, after: Order) -> bool:
    """Whether no store lacks a fence of proxies afterwards that did not lack it before."""
    if before is None or after is None:
        return before is after
    return all(key in before[0] and before[0][key].thread == owner.thread for key, owner in after[0].items())


def go_back_to(block: Block, order: Order) -> None:
    """Takes an order of a moment before; products on their way are dropped."""
    if isinstance(block.products, UnderWay):
        block.products = UnderWay(waited=block.products.waited)
    if order is not None:
        unshown, written, block.fenced = order
        block.unshown, block.written = dict(unshown), dict(written)


def _is_marked(block: Block, name: str, one: _Sum) -> bool:
    """Whether nobody has written the register since the last product into it was issued."""
    if name in block.alike:
        return all(value is one.marker[0] for value in block.alike[name])
    return block.registers.get(name) is one.marker


def _registers_in(part: object) -> Iterator[str]:
    """Every name in a part of an instruction; of elements of vector registers (`%v.x`) that of the register."""
    if isinstance(part, str):
        yield part.partition(".")[0]
    elif isinstance(part, tuple):
        for one in cast("tuple[object, ...]", part):
            yield from _registers_in(one)
    elif is_dataclass(part):
        for own in fields(part):
            yield from _registers_in(getattr(part, own.name))


def _words(launch: Launch, region: Region, offset: int) -> tuple[Value, ...]:
    return tuple(region.load(offset + k, _WORD, launch.data) for k in range(0, _PIECE, _WORD))


def _zeros(count: int) -> _Column:
    return [0] * count


def _common(block: Block, name: str, one: _Sum | None) -> _Column | None:
    return block.common(name) if one is None else one.common


def _column(block: Block, name: str, one: _Sum | None) -> _Column:
    """The values of all threads."""
    if one is None:
        return block.read(name, block.everyone)
    if one.column is not None:
        return one.column
    translations = block.launch.translations
    assert one.common is not None and translations is not None
    return translations.values_of(one.common, block.everyone)


def _of(value: Value) -> object:
    return value.of if isinstance(value, Placed) else None
