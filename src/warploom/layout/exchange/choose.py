"""The cheapest exchange: programs of all ways are written, run on symbols and counted; what no other betters is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.core.limits import LimitReachedError, why
from warploom.layout.distributed import WORD_BITS, Distributed
from warploom.layout.distributed.held import Ints, numbered
from warploom.layout.exchange import matrices, packed, rows, shared, shuffles, slots
from warploom.layout.exchange.demand import Least, Move, coloured, crosses_warps, least, same_elements, whole_words, word_moves
from warploom.layout.exchange.memory import by_tma, from_memory
from warploom.layout.exchange.program import LoadMatrix, Permute, Program, Select, Shuffle, StoreMatrix, Transpose, cuda, widened
from warploom.layout.exchange.renaming import Renaming, renamed
from warploom.layout.exchange.replay import FaultError, Replay
from warploom.machines import BANKS, WARP_LANES, Architecture, Requests, Unit, Work, architecture, usual

Via: TypeAlias = Literal["auto", "shuffle", "shared", "matrix", "load", "tma"]
VIAS: tuple[Via, ...] = get_args(Via)
_MATRIX_SHUFFLES = 2
"""The number of shuffles that a movmatrix counts as in `cycles`: each word has halves of two lanes. No rate of it is
published."""
_BYTES = 4
_PARTS: Mapping[str, Unit] = {"exchange": "load path", "alu": "integer units", "issue": "issue"}


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A program that was run on symbols, and what it takes by warp of 32 lanes."""

    program: Program
    text: str
    via: Via
    shuffles: int
    selects: int
    permutes: int
    wavefronts: int
    sectors: int
    """Sectors of the loads from global memory, if that is where values come from."""
    loads: int
    parts: Mapping[str, float]
    """Cycles of a multiprocessor: `exchange` (shuffles, wavefronts, loads), `alu` (selects, permutes, logic) and `issue`."""
    memory: Ints | None = None
    """The content of shared memory at the end [words, 4], by number of byte."""

    @property
    def cycles(self) -> float:
        """The longest part."""
        return max(self.parts.values())

    @property
    def cost(self) -> tuple[float, int, int]:
        return self.cycles, self.wavefronts, self.shuffles + self.arithmetic + self.loads

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The numbers in which one program may be better than another."""
        return self.wavefronts, self.program.count(Transpose), self.shuffles, self.arithmetic

    @property
    def arithmetic(self) -> int:
        """SEL, PRMT, LOP3 and shifts of values."""
        return self.selects + self.permutes + self.program.logic

    def betters(self, other: Candidate) -> bool:
        mine, others = self.counts, other.counts
        return mine != others and all(a <= b for a, b in zip(mine, others, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """The answer, with its bounds."""

    src: Distributed
    dst: Distributed
    """The destination, with its free axes renamed."""
    chosen: Candidate
    pareto: tuple[Candidate, ...]
    least: Least | None
    """None if elements move between warps, which no shuffle does."""
    moves: tuple[tuple[Move, int], ...]
    """Words that change lanes, with the number of their shuffle; as many as the least if that is reached."""
    least_wavefronts: int
    renamings: tuple[Renaming, ...]
    why: str


def exchange(src: Distributed, dst: Distributed, free: Sequence[str] = (), via: Via = "auto", arch: str = "sm_90") -> Exchange:
    """The cheapest proved program; UserError where the layouts do not fit or no such program exists."""
    machine = architecture(arch)
    renamings: list[Renaming] = []
    for axis in free:
        dst, found = renamed(src, dst, axis)
        renamings.append(found)
    same_elements(src, dst)
    if via in ("load", "tma"):
        return _out_of_memory(src, dst, via, machine, tuple(renamings))
    crosses = crosses_warps(src, dst)
    bound = None if crosses else least(src, dst)
    held, wanted = as_pieces(src, dst)
    candidates: list[Candidate] = []
    stopped = ""
    try:
        for program in _programs(held, wanted, src, dst, machine, via, crosses=crosses):
            candidates.append(_proved(program, held, wanted, machine))  # noqa: PERF401 (what is there stays when time is up)
    except LimitReachedError as error:
        if not any(via in ("auto", c.via) for c in candidates):
            raise
        stopped = f"; {why(error)} spent before all programs were tried"
    of_way = [c for c in candidates if via in ("auto", c.via)]
    if not of_way:
        reason = _refusal(via, src, crosses=crosses)
        raise UserError(Diagnostic("EXCHANGE", reason))
    chosen = min(of_way, key=lambda c: c.cost)
    moves = [] if crosses else word_moves(*((src.parts(), dst.parts()) if src.bits >= WORD_BITS else (held, wanted)))
    pareto = _undominated(candidates)
    return Exchange(
        src, dst, chosen, pareto, bound, tuple(zip(moves, coloured(moves, len(held)), strict=True)),
        least_wavefronts(held, wanted), tuple(renamings),
        _why(chosen, candidates, via) + stopped,
    )  # fmt: skip


def _out_of_memory(
    src: Distributed, dst: Distributed, via: Via, machine: Architecture, renamings: tuple[Renaming, ...]
) -> Exchange:
    """Elements that lie in memory in their order are loaded as the destination wants them; the source has no part in it."""
    wanted = as_bytes(dst)
    words = None if wanted is None else _in_memory(wanted)
    if wanted is None or words is None:
        reason = f"expected registers of {dst.name} whose elements lie side by side in memory, aligned, got others"
        raise UserError(Diagnostic("EXCHANGE", reason))
    content = numbered(-(-(int(words.max()) + 1) // 256) * 256, _BYTES)
    if via == "load":
        candidates = [_proved(from_memory(words, src.lanes), wanted, wanted, machine, {"memory": content})]
    else:
        candidates: list[Candidate] = []
        for program, places in by_tma(words, src.lanes):
            shared_words = np.empty_like(content)
            shared_words[places] = content
            candidates.append(_proved(program, wanted, wanted, machine, {"shared": shared_words}))
    chosen = min(candidates, key=lambda c: c.cost)
    floor = 0 if via == "load" else shared.least_loads(words, BANKS)
    reason = f"{via} was asked for: values lie in memory in the order of their elements"
    return Exchange(src, dst, chosen, tuple(candidates), None, (), floor, renamings, reason)


def _in_memory(wanted: Ints) -> Ints | None:
    """Numbers of words in memory; None where the bytes of a word are not its four, in order."""
    first = wanted[..., 0]
    follows = (wanted == first[..., None] + np.arange(_BYTES)) & (first % _BYTES == 0)[..., None]
    if not (follows.all(axis=2) | (wanted < 0).all(axis=2)).all():
        return None
    return np.where(first < 0, -1, first // _BYTES)


def least_wavefronts(held: Ints, wanted: Ints) -> int:
    """The least wavefronts of pieces [threads, words, pieces] that all go through shared memory: whole words, where they stay
    whole."""
    words = whole_words(held, wanted)
    in_a_pass = BANKS * (1 if words is not None else held.shape[2])
    return shared.least_wavefronts(*(words or (held, wanted)), in_a_pass)


def as_pieces(src: Distributed, dst: Distributed) -> tuple[Ints, Ints]:
    """[threads, words, pieces] of both: numbers of bytes; of halves of bytes where elements of 4 bits do not stay in pairs."""
    one, two = as_bytes(src), as_bytes(dst)
    return (src.parts(), dst.parts()) if one is None or two is None else (one, two)


def as_bytes(given: Distributed) -> Ints | None:
    """[threads, words, 4]: numbers of bytes; None where elements of 4 bits do not stay in pairs."""
    parts = given.parts()
    if given.bits >= WORD_BITS:
        parts = np.where(parts < 0, -1, parts * _BYTES)
        return np.where(parts < 0, -1, parts + np.arange(_BYTES))
    if given.bits == 4:
        low, high = parts[..., 0::2], parts[..., 1::2]
        if ((low < 0) != (high < 0)).any() or (low % 2)[low >= 0].any() or (high != low + 1)[low >= 0].any():
            return None
        return np.where(low < 0, -1, low // 2)
    each = given.bits // 8
    found = np.where(parts[..., None] < 0, -1, parts[..., None] * each + np.arange(each))
    return found.reshape(*parts.shape[:2], _BYTES)


def _programs(
    held: Ints, wanted: Ints, src: Distributed, dst: Distributed, machine: Architecture, via: Via = "auto", *, crosses: bool
) -> Iterator[Program]:
    lanes = src.lanes

    def of_words(one: Ints, two: Ints, group: int) -> Iterator[Program]:
        through = shared.through_shared(one, two, group)
        if through is not None:
            yield through
        if not crosses:
            yield from shuffles.programs(one, two, group)

    words = whole_words(held, wanted)
    parts = src.bits // WORD_BITS
    if words is not None and parts > 1:
        one, two = (given.elements.reshape(len(held), -1) for given in (src, dst))
        through = shared.through_shared(*words, lanes)
        if through is not None:
            yield through
        if not crosses:
            yield from (widened(program, parts) for program in shuffles.programs(one, two, lanes))
    elif words is not None:
        yield from of_words(*words, lanes)
        if via == "matrix":
            yield from rows.programs(held, wanted, lanes, machine.number)
    else:
        yield from slots.programs(held, wanted, lanes, of_words, crosses=crosses)
        if not crosses:
            yield from packed.programs(held, wanted, lanes)
        if machine.number >= matrices.FIRST:
            yield from matrices.programs(held, wanted, lanes)
        yield from rows.programs(held, wanted, lanes, machine.number)


def _proved(
    program: Program, held: Ints, wanted: Ints, machine: Architecture, contents: dict[str, Ints] | None = None
) -> Candidate:
    """Runs the printed text on the bytes; whatever differs is a bug of Warploom."""
    text = cuda(program)
    run = Replay(program.threads, held, program.shared_words, contents or {})
    try:
        run.run(text)
        run.brings(wanted)
    except (FaultError, KeyError) as error:
        raise AssertionError(f"the program {program.name} does not do the exchange: {error}\n{text}") from error
    warps = -(-program.threads // WARP_LANES)
    wavefronts = run.store_wavefronts + run.load_wavefronts
    counts = [program.count(kind) for kind in (Shuffle, Select, Permute)]
    transposes = program.count(Transpose)
    by_rows = program.count(StoreMatrix) + program.count(LoadMatrix)
    via: Via = "matrix" if transposes or by_rows else "shared" if program.shared_words else "shuffle"
    if not program.inputs:
        via = "load" if run.sectors else "tma"
    arithmetic = counts[1] + counts[2] + program.logic
    work = Work(
        issued=warps * (counts[0] + transposes + arithmetic + run.loads + run.stores),
        integers=warps * arithmetic,
        wavefronts=wavefronts,
        shuffles=warps * (counts[0] + _MATRIX_SHUFFLES * transposes),
        requests=(Requests(warps * run.loads, run.sectors / (warps * run.loads)),) if run.sectors else (),
    )
    cycles = usual(machine).cycles(work)
    parts = {name: round(cycles[unit], 2) for name, unit in _PARTS.items()}
    return Candidate(
        program, text, via, counts[0], counts[1], counts[2], wavefronts, run.sectors, run.loads, parts,
        run.memory if program.shared_words else None,
    )  # fmt: skip


def _undominated(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    kept: list[Candidate] = []
    seen: set[tuple[int, ...]] = set()
    for candidate in sorted(candidates, key=lambda c: c.counts):
        key = candidate.counts
        if key not in seen and not any(other.betters(candidate) for other in candidates):
            seen.add(key)
            kept.append(candidate)
    return tuple(kept)


def _why(chosen: Candidate, candidates: Sequence[Candidate], via: Via) -> str:
    if via != "auto":
        return f"{via} was asked for"
    ways: dict[str, Candidate] = {}
    for candidate in candidates:
        if candidate.via not in ways or candidate.cost < ways[candidate.via].cost:
            ways[candidate.via] = candidate
    told = [f"{way} {c.cycles:g} cycles" for way, c in sorted(ways.items(), key=lambda item: item[1].cost)]
    return "; ".join(told) + (" (crossbar, arithmetic or issue, whatever is longest)" if len(told) > 1 else "")


def _refusal(via: Via, src: Distributed, *, crosses: bool) -> str:
    if via == "shuffle" and crosses:
        return "expected an exchange within warps for shuffles, got one between warps"
    if via == "matrix":
        return (
            f"expected words that rows of 8 x 8 matrices bring, as they are or transposed, with 32 lanes and sm_{matrices.FIRST} "
            f"or later (sm_{rows.FIRST_STORE} for stmatrix), got {src.name}"
        )
    threads = src.warps * src.lanes
    if threads & (threads - 1) and threads % WARP_LANES:
        return f"expected lanes that are a power of two for shared memory, got {src.lanes} of {src.warps} warps"
    return f"expected an exchange that can go by {via}, got {src.name}"
