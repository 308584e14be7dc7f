"""A candidate of the kernel space as decisions to lower, and its loop nest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from warploom.schedule.backbone import Backbone
from warploom.schedule.choices.decided import DimPair, LoweringError, Temporary, Twins
from warploom.schedule.choices.description import ORDERS, SEQUENTIAL
from warploom.schedule.choices.lower import lower
from warploom.schedule.choices.objects import Objects
from warploom.schedule.choices.twins import twins_of
from warploom.schedule.nest import Nest, fused
from warploom.schedule.targets import Target
from warploom.solve.space import Candidate

_ORDERS = {1 << n: name for n, name in enumerate(ORDERS)} | {SEQUENTIAL: "ANY"}


def lower_candidate(objects: Objects, target: Target, candidate: Candidate) -> Nest:
    """The loop nest of a candidate in which every choice that changes the code has one value.

    Raises LoweringError where one has several left, or where the decisions contradict each other.
    """
    nest = lower(CandidateDecisions(objects, target, candidate))
    return fused(nest) if target.has_threads else nest


@dataclass(slots=True)
class CandidateDecisions:
    """`Decided` of a candidate. What the space has no choice for takes its plain value."""

    objects: Objects
    target: Target
    candidate: Candidate
    active: tuple[Temporary, ...] = field(init=False)
    has_choice: frozenset[str] = field(init=False)
    pair_numbers: dict[DimPair, int] = field(init=False)
    numbers: list[int] = field(init=False)
    """By statement, its row and column in `orders`."""
    orders: list[list[int]] = field(init=False)
    """Masks of `order`, read at once: lowering asks for most of them."""

    def __post_init__(self) -> None:
        self.active = tuple(t for t in self.objects.temporaries if self.candidate.is_member("Statements", t.store))
        self.has_choice = frozenset(self.candidate.instance.space.choices)
        self.pair_numbers = {
            pair: number
            for n, temporary in enumerate(self.objects.temporaries)
            for pair, number in zip(temporary.pairs, self.objects.pairs_of(n), strict=True)
        }
        instance = self.candidate.instance
        self.numbers = [instance.number("Statements", s) for s in range(self.objects.statements)]
        self.orders = self.candidate.domains[instance.variables("order")].tolist()

    @property
    def backbone(self) -> Backbone:
        return self.objects.backbone

    @property
    def has_threads(self) -> bool:
        return self.target.has_threads

    @property
    def has_async_copy(self) -> bool:
        return self.target.has_async_copy

    @property
    def shared_bytes(self) -> int:
        return self.target.shared_bytes

    def temporaries(self) -> Sequence[Temporary]:
        return self.active

    def twins(self) -> Sequence[Twins]:
        return twins_of(self.objects) if self.target.has_threads and "same_tile" in self.has_choice else ()

    def order(self, first: int, second: int) -> str:
        found = _ORDERS.get(self.orders[self.numbers[first]][self.numbers[second]])
        if found is None:
            raise self._open("order", self.candidate.values("order", first, second), first, second)
        return found

    def dim_kind(self, statement: int) -> str:
        return self._single("dim_kind", statement)

    def size(self, extent: int) -> int:
        return int(self._single("size", extent))

    def thread_mapping(self, first: int, second: int) -> str:
        return self._single("thread_mapping", first, second, plain="NOT_THREADS")

    def mem_space(self, region: int) -> str:
        return self._single("mem_space", region)

    def cache(self, statement: int) -> str:
        return self._single("cache", statement)

    def layout(self, first: DimPair, second: DimPair) -> str:
        return self._single("layout", self.pair_numbers[first], self.pair_numbers[second])

    def partials(self, statement: int) -> str:
        return self._single("partials", statement, plain="CHAIN")

    def stages(self, region: int) -> int:
        return int(self._single("stages", region, plain="1"))

    def swizzle(self, region: int) -> str:
        return self._single("swizzle", region, plain="NONE")

    def is_spread(self, region: int) -> bool:
        return self._single("spread", region, plain="NO") == "YES"

    def warps(self) -> str:
        return self._single("warps", 0, plain="PLAIN")

    def fetching(self) -> str:
        return self._single("prefetch", 0, plain="0")

    def is_backward(self) -> bool:
        return self._single("direction", 0, plain="FORWARD") == "BACKWARD"

    def is_mirrored(self) -> bool:
        return self._single("mirror", 0, plain="NO") == "YES"

    def _single(self, choice: str, *things: int, plain: str = "") -> str:
        if plain and choice not in self.has_choice:
            return plain
        values = self.candidate.values(choice, *things)
        if len(values) != 1:
            raise self._open(choice, values, *things)
        return str(values[0])

    def _open(self, choice: str, values: Sequence[object], *things: int) -> LoweringError:
        return LoweringError(f"{choice}{things} is not decided: {', '.join(map(str, values))}")
