"""The decision in how many parts reductions are made, as `explore` takes, lists, fixes and records it: `parts(k)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warploom.core import Diagnostic, UserError
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import Program
from warploom.schedule.frontend import Parted, TensorFunction, parted_sums
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.one_pass import NO, ONLINE, decided, reads_alike
from warploom.tools.explore.options import Function, KernelOptions, program_of, sizes_of

LEAST = 64
"""Fewest elements of a part."""
MOST = 64
"""Most parts of a product of matrices."""
_BLOCKS = 8
"""Blocks of 256 threads that a multiprocessor holds: so many parts for each of them are tried first, where a block makes one."""
_LONG = 1024
"""Elements that a block loads at once, in vectors: parts of other reductions have at least as many, and multiples of them
where what is left behind the last part stays short."""
_MOST_BEHIND = 4096
"""Elements behind the last part that the block which puts the parts together takes on, too."""
_ACROSS = 64
"""Results next to each other that a block makes together."""
_ROUNDS = 2
"""Rounds of a part whose length is known at run time, at the size that is searched for, at least."""
_FEWEST_WAYS = 4
"""Fewer parts than these would fill a GPU: there are enough results."""


@dataclass(frozen=True, slots=True)
class Variant:
    """The function with its sum in so many parts."""

    function: Function
    program: Program
    fixed: Mapping[str, str]
    """Decisions by hand, those of this program's kernels."""


@dataclass(frozen=True, slots=True)
class Parting:
    name: str
    """Name of the decision; empty where there is none."""
    variants: Mapping[int, Variant]
    """By parts, in the order in which they are tried; at least one. Of kernels in passes: by the iterations of a tile, 0 in two
    passes."""
    field: str = "parts"
    """The field of a report in which the variants are told."""

    def told(self, parts: int) -> int | str:
        """The variant, for that field."""
        return parts if self.field != ONLINE else str(parts) if parts else NO

    def decided(self, parts: int) -> dict[str, str]:
        """The decision, for a line."""
        return {self.name: str(parts)} if self.name else {}

    @property
    def first(self) -> Variant:
        """The one with the fewest parts."""
        return self.variants[min(self.variants)] if self.name else next(iter(self.variants.values()))


def parting_of(function: Function, options: KernelOptions) -> Parting:
    """Which numbers of parts the decisions by hand leave. UserError (CHOICE) where these contradict each other."""
    offer = _offer(function, options)
    if offer is None:
        return _in_passes(function, options)
    assert not isinstance(function, InParts)
    fixed = dict(options.searched_fixed)
    wanted = _wanted(offer, fixed.pop(offer.name)) if offer.name in fixed else offer.values
    if fixed:  # decisions of several kernels have a name before a slash
        names = {stage for choice in fixed for stage, slash, _ in [choice.partition("/")] if slash}
        is_in_parts = not names <= set(_tensor(function).stage_names)
        wanted = tuple(parts for parts in wanted if (parts > 1) == is_in_parts) or wanted
    variants: dict[int, Variant] = {}
    for parts in wanted:
        own = offer.of(function, parts)
        try:
            variants[parts] = Variant(own, program_of(own, options), fixed)
        except UserError as error:
            if parts == 1 or offer.name in options.fixed or error.diagnostics[0].code != "RUN_TIME_SIZE":
                raise
    return Parting(offer.name, variants)


def _in_passes(function: Function, options: KernelOptions) -> Parting:
    """A kernel whose sums need a maximum in one pass and in two, where no decision is taken by hand, or in those that
    `online=32|NO` says; other functions as they are."""
    asked = options.fixed.get(ONLINE, "")
    if "|" in asked:
        values = [value.strip() for value in asked.split("|")]
    else:
        program = program_of(function, options)
        found = decided(program.stages[0]).get(ONLINE) if len(program.stages) == 1 else None
        if found is None or options.fixed or options.run_time:
            return Parting("", {1: Variant(function, program, options.searched_fixed)})
        values = [found, NO] if reads_alike(program.stages[0]) else [NO, found]
    variants: dict[int, Variant] = {}
    for value in values:
        program = program_of(function, replace(options, fixed={**options.fixed, ONLINE: value}))
        tile = next((int(of[ONLINE]) for stage in program.stages if (of := decided(stage))), 0)
        variants[tile] = Variant(function, program, options.searched_fixed)
    return Parting("", variants, ONLINE)


def whole_of(function: Function, program: Program, options: KernelOptions) -> Program:
    """The program as the function says it, whose operations and bytes count, whatever parts it is made in."""
    if isinstance(function, InParts):
        return function.whole_at(sizes_of(function, options.sizes, options.run_time))
    return program


def with_parts(
    function: Function, options: KernelOptions, decisions: Mapping[str, str]
) -> tuple[Function, dict[str, str], dict[str, str]]:
    """The function that recorded decisions are of, the decision how many parts it has, and those of its kernels. UserError
    (REPLAY) where the function has no such parts; decisions that name none are of one kernel."""
    offer = _offer(function, options)
    rest = dict(decisions)
    if offer is None:
        return function, {}, rest
    if offer.name not in rest:
        return function, {offer.name: "1"}, rest
    text = rest.pop(offer.name)
    parts = offer.read(text)
    if parts is None:
        message = f"expected {offer.expected} as {offer.name}, got {text}"
        raise UserError(Diagnostic("REPLAY", message, fix="Replay these decisions at the sizes where they were found."))
    assert not isinstance(function, InParts)
    return offer.of(function, parts), {offer.name: text}, rest


@dataclass(frozen=True, slots=True)
class _Offer:
    """Numbers of parts on offer, and what is made in them. No values, no decision."""

    found: Parted
    length: int
    """Values of the index."""
    unit: int
    """Whole parts are multiples of this where that leaves little behind them."""
    most: int
    """Most parts that may be asked for."""
    values: tuple[int, ...]
    """Numbers of parts in the order in which they are tried."""
    tile: int = 0
    """Elements of a part in each round, where the size is known at run time; 0: it is not."""

    @property
    def name(self) -> str:
        return f"parts({self.found.index})"

    def of(self, function: TensorKernel | TensorFunction, parts: int) -> Function:
        return function if parts == 1 else InParts(function, parts, self.found.size, self.rest(parts), self.tile)

    def rest(self, parts: int) -> int:
        """Elements behind the last part."""
        return 0 if self.found.is_product or self.tile else _rest(self.length, parts, self.unit)

    def read(self, text: str) -> int | None:
        """The number of parts that the text says; None where there are none such."""
        if not text.isdecimal():
            return None
        parts = int(text)
        return parts if parts in self.values or (not self.found.is_product and 2 <= parts <= self.most) else None

    @property
    def expected(self) -> str:
        told = f"one of {', '.join(map(str, sorted(self.values)))}"
        return told if self.found.is_product else f"{told} or another number up to {self.most}"


def _rest(length: int, parts: int, unit: int) -> int:
    """Elements behind parts of one length: a multiple of `unit`, or of a smaller power of two where that leaves too many."""
    while unit > 1 and (length // parts < unit or length - length // parts // unit * unit * parts > _MOST_BEHIND):
        unit //= 2
    return length - length // parts // unit * unit * parts


def _offer(function: Function, options: KernelOptions) -> _Offer | None:
    """None for functions without the decision."""
    if options.target.kind != "cuda" or options.features is not None or isinstance(function, InParts):
        return None
    sizes = sizes_of(function, options.sizes, options.run_time)
    if options.run_time:
        try:
            function.at_run_time(function.program(sizes), options.run_time, has_strides=True)
        except UserError:  # the function as it stands says why
            return None
    every = [found for found in parted_sums(_tensor(function).tree) if not options.run_time or found.size in options.run_time]
    offers = [_offer_of(found, sizes, options) for found in every]
    return max((offer for offer in offers if len(offer.values) > 1), key=lambda offer: offer.length, default=None)


def _tensor(function: TensorKernel | TensorFunction) -> TensorFunction:
    return function.function if isinstance(function, TensorKernel) else function


def _offer_of(found: Parted, sizes: Mapping[str, int], options: KernelOptions) -> _Offer:
    length = sizes[found.size]
    if found.is_product and options.run_time:
        return _Offer(found, length, 1, 1, (1,))
    if found.is_product:
        values = tuple(n for n in _powers() if length % n == 0 and (n == 1 or length // n >= LEAST))
        return _Offer(found, length, 1, MOST, values)
    others = found.others_at(sizes)
    results = found.results_at(sizes)
    most = min(length // 2, length * others // LEAST)
    unit = max(1, _LONG // others)
    wanted = _BLOCKS * int(options.target.rates.cores) // -(-results // (_ACROSS if found.is_across else 1))
    if wanted < _FEWEST_WAYS:
        return _Offer(found, length, unit, most, (1,))
    if options.run_time:
        tile = max(1, unit // (_ACROSS if found.is_across else 1))
        most = length // (_ROUNDS * tile)
        ways = [n for n in (min(wanted, most), wanted // 4, wanted * 4) if 2 <= n <= most]
        return _Offer(found, length, unit, most, tuple(dict.fromkeys((*ways[:1], 1, *ways[1:]))), tile)
    wanted = min(wanted, length * others // _LONG, length // 2)
    ways = [n for n in (wanted, wanted // 4, wanted * 4) if 2 <= n <= length * others // _LONG]
    tried = [_near(length, n, unit) for n in ways]
    return _Offer(found, length, unit, most, tuple(dict.fromkeys((*tried[:1], 1, *tried[1:]))))


def _near(length: int, wanted: int, unit: int) -> int:
    """The number of parts from three quarters of what is wanted to one and a half times it that leaves least behind whole units,
    the one nearest to it."""

    def left(n: int) -> int:
        return length - length // n // unit * unit * n

    return min(
        range(max(2, wanted * 3 // 4), max(2, wanted * 3 // 2) + 1),
        key=lambda n: (left(n) > _MOST_BEHIND, left(n) > 0, abs(n - wanted)),
    )


def _powers() -> tuple[int, ...]:
    return tuple(1 << n for n in range(MOST.bit_length()) if 1 << n <= MOST)


def _wanted(offer: _Offer, text: str) -> tuple[int, ...]:
    asked = [part.strip() for part in text.split("|")]
    found = [offer.read(part) for part in asked]
    if None in found:
        message = f"expected {offer.expected} as {offer.name}, got {asked[found.index(None)]}"
        raise UserError(Diagnostic("CHOICE", message, fix="Join the values that are allowed by |."))
    given = tuple(n for n in found if n is not None)
    return (*(n for n in offer.values if n in given), *(n for n in sorted(set(given)) if n not in offer.values))
