"""A space of three loops around one statement, an evaluator that knows the times: what a search sees of a kernel."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from warploom.core import Diagnostic, UserError, f32
from warploom.schedule.backbone import Operator, Role
from warploom.schedule.choices import LoweringError
from warploom.schedule.nest import Affine, Buffer, Compute, Kind, Loop, Nest, Ref, Value
from warploom.schedule.search import Measurement, Timed, Unfit

SIZES = (2, 4, 8, 16)
KINDS = ("loop", "unroll", "vector")
VARIABLES = [("size", (n,)) for n in range(3)] + [("dim_kind", (n,)) for n in range(3)] + [("cache", (0,))]


@dataclass(frozen=True)
class OpenValue:
    value: str
    mask: int


@dataclass(frozen=True)
class OpenDecision:
    choice: str
    arguments: tuple[int, ...]
    alternatives: tuple[OpenValue, ...]


def values(choice: str) -> tuple[str, ...]:
    return {"size": tuple(map(str, SIZES)), "dim_kind": KINDS, "cache": ("all", "none")}[choice]


@dataclass(frozen=True)
class FakeCandidate:
    masks: tuple[int, ...] = tuple((1 << len(values(choice))) - 1 for choice, _ in VARIABLES)

    def domain(self, choice: str, *arguments: int) -> int:
        return self.masks[VARIABLES.index((choice, arguments))]

    def open(self, choice: str) -> list[tuple[int, ...]]:
        return [a for (c, a), mask in zip(VARIABLES, self.masks, strict=True) if c == choice and mask.bit_count() > 1]

    def restrict_many(self, decisions: Sequence[tuple[str, tuple[int, ...], int]]) -> FakeCandidate | None:
        found: FakeCandidate | None = self
        for choice, arguments, mask in decisions:
            found = None if found is None else found.restrict(choice, arguments, mask)
        return found

    def restrict(self, choice: str, arguments: tuple[int, ...], mask: int) -> FakeCandidate | None:
        masks = list(self.masks)
        masks[VARIABLES.index((choice, arguments))] &= mask
        vectors = [n for n in range(3, 6) if masks[n] == 4]
        if vectors:  # at most one vector loop, and not of size 16
            for n in range(3, 6):
                if n != vectors[0]:
                    masks[n] &= ~4
            masks[vectors[0] - 3] &= ~8
        return FakeCandidate(tuple(masks)) if all(masks) else None

    def value(self, n: int) -> str:
        return values(VARIABLES[n][0])[self.masks[n].bit_length() - 1]


class FakeNames:
    def text(self, choice: str, arguments: tuple[int, ...]) -> str:
        return f"{choice}({arguments[0]})"


class FakeSpace:
    """The cache directive changes nothing in the code: duplicates. A nest of three unrolled loops contradicts itself."""

    names = FakeNames()

    def root(self) -> FakeCandidate:
        return FakeCandidate()

    def choices(self, order: Sequence[str]) -> list[str]:
        return [c for c in order if c in {"size", "dim_kind", "cache"}]

    def decisions(self, candidate: FakeCandidate, order: Sequence[str]) -> OpenDecision | None:
        for choice in self.choices(order):
            for arguments in candidate.open(choice):
                mask = candidate.domain(choice, *arguments)
                open_ones = tuple(OpenValue(v, 1 << n) for n, v in enumerate(values(choice)) if mask >> n & 1)
                return OpenDecision(choice, arguments, open_ones)
        return None

    def set_by_name(
        self, candidate: FakeCandidate, name: str, value: str, taken: Sequence[tuple[str, str]] = ()
    ) -> FakeCandidate:
        del taken
        choice, argument = name.rstrip(")").split("(")
        found = candidate.restrict(choice, (int(argument),), 1 << values(choice).index(value))
        if found is None:
            raise UserError(Diagnostic("REFUTED", f"expected another value of {name}, got {value}"))
        return found

    def lower(self, candidate: FakeCandidate) -> Nest:
        kinds = [candidate.value(n) for n in range(3, 6)]
        if kinds == ["unroll"] * 3:
            raise LoweringError("three unrolled loops")
        body = (Compute(Ref(0, ()), Operator.ADD, (Ref(0, ()), Ref(0, ()))),)
        for n in range(3):
            body = (Loop(n, f"loop{n}", Kind(kinds[n]), int(candidate.value(n)), body),)
        buffers = (Buffer("A", f32, 16, Role.INPUT),)
        return Nest("fake", buffers, (), (Value("v", f32, ()),), body)


@dataclass
class FakeBound:
    """Larger loops cost less, vectors least of all; what is open counts as its best."""

    def of(self, candidate: FakeCandidate) -> float:
        cost = 1.0
        for n in range(3):
            best = SIZES[candidate.masks[n].bit_length() - 1]
            kind = min({1: 1.0, 2: 0.8, 4: 0.5}[1 << k] for k in range(3) if candidate.masks[n + 3] >> k & 1)
            cost *= (1 + 8 / best) * kind
        return cost

    def estimate(self, candidate: FakeCandidate) -> float:
        return self.of(candidate) * 1.1

    def appraise(self, candidate: FakeCandidate, nest: Nest) -> float:
        del nest
        return self.estimate(candidate)


def true_time(nest: Nest) -> float:
    """The model's cost times what it does not know: nested vectors and sizes that do not suit each other."""
    loops: list[Loop] = []
    node = nest.body[0]
    while isinstance(node, Loop):
        loops.append(node)
        node = node.body[0]
    cost = 1.0
    for loop in loops:
        cost *= (1 + 8 / loop.size) * {"loop": 1.0, "unroll": 0.8, "vector": 0.5}[loop.kind]
    product = loops[0].size * loops[1].size * loops[2].size
    return cost * (2.0 if product > 512 else 1.0) * (1.3 if loops[0].kind == "vector" else 1.0)


@dataclass
class FakeEvaluator:
    name: str = "fake"
    unfit: str = ""
    """Nests with a loop of that kind outermost cannot be compiled."""
    interrupt_at: int = 0
    measured: list[Nest] = field(default_factory=list[Nest])
    retimed: int = 0
    rounds: list[int] = field(default_factory=list[int])
    is_open: bool = False

    @contextmanager
    def open(self) -> Generator[None]:
        self.is_open = True
        yield
        self.is_open = False

    def effort_s(self, nest: Nest, most_s: float) -> float:
        return 0.0

    def measure(self, nests: Sequence[Nest], best_ms: float | None) -> Iterator[tuple[int, Measurement]]:
        assert self.is_open
        for n, nest in enumerate(nests):
            self.measured.append(nest)
            if len(self.measured) == self.interrupt_at:
                raise KeyboardInterrupt
            yield n, self._one(nest)

    def retime(self, nests: Sequence[Nest], rounds: int = 11) -> list[Measurement]:
        self.retimed += len(nests)
        self.rounds.append(rounds)
        return [self._one(nest) for nest in nests]

    def _one(self, nest: Nest) -> Measurement:
        outer = nest.body[0]
        assert isinstance(outer, Loop)
        return Unfit("does not compile") if outer.kind == self.unfit else Timed(true_time(nest))


__all__ = ["Affine", "FakeBound", "FakeCandidate", "FakeEvaluator", "FakeSpace", "true_time"]
