"""The decision how many parts the sum of a product has, as `explore` takes, lists, fixes and records it: `parts(k)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from warploom.core import Diagnostic, UserError
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import Program
from warploom.schedule.frontend import parted_sum
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.one_pass import NO, ONLINE, decided
from warploom.tools.explore.options import Function, KernelOptions, program_of, sizes_of

LEAST = 64
"""Fewest elements of a part."""
MOST = 64
"""Most parts."""


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
    """By parts, ascending; at least one. Of kernels in passes: by the iterations of a tile, 0 in two passes."""
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
        return next(iter(self.variants.values()))


def parting_of(function: Function, options: KernelOptions) -> Parting:
    """Which numbers of parts the decisions by hand leave. UserError (CHOICE) where these contradict each other."""
    name, values = _offered(function, options)
    if not name:
        return _in_passes(function, options)
    fixed = dict(options.searched_fixed)
    wanted = _wanted(name, fixed.pop(name), values) if name in fixed else values
    if fixed:  # decisions of two kernels have a name before a slash
        is_in_parts = any("/" in choice for choice in fixed)
        wanted = tuple(parts for parts in wanted if (parts > 1) == is_in_parts) or wanted
    functions = {parts: function if parts == 1 or isinstance(function, InParts) else InParts(function, parts) for parts in wanted}
    return Parting(name, {parts: Variant(own, program_of(own, options), fixed) for parts, own in functions.items()})


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
        values = [found, NO]
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
    name, values = _offered(function, options)
    rest = dict(decisions)
    if not name:
        return function, {}, rest
    if name not in rest:
        return function, {name: "1"}, rest
    text = rest.pop(name)
    if text not in map(str, values):
        message = f"expected one of {', '.join(map(str, values))} as {name}, got {text}"
        raise UserError(Diagnostic("REPLAY", message, fix="Replay these decisions at the sizes where they were found."))
    assert not isinstance(function, InParts)
    return (function if text == "1" else InParts(function, int(text))), {name: text}, rest


def _offered(function: Function, options: KernelOptions) -> tuple[str, tuple[int, ...]]:
    """The name of the decision and its values; no name for functions without it."""
    if options.target.kind != "cuda" or options.features is not None or options.run_time or isinstance(function, InParts):
        return "", (1,)
    found = parted_sum((function.function if isinstance(function, TensorKernel) else function).tree)
    if found is None:
        return "", (1,)
    size = sizes_of(function, options.sizes, options.run_time)[found.size]
    values = tuple(n for n in _powers() if size % n == 0 and (n == 1 or size // n >= LEAST))
    return (f"parts({found.index})", values) if len(values) > 1 else ("", (1,))


def _powers() -> tuple[int, ...]:
    return tuple(1 << n for n in range(MOST.bit_length()) if 1 << n <= MOST)


def _wanted(name: str, text: str, values: tuple[int, ...]) -> tuple[int, ...]:
    asked = [part.strip() for part in text.split("|")]
    if unknown := [part for part in asked if part not in map(str, values)]:
        message = f"expected one of {', '.join(map(str, values))} as {name}, got {unknown[0]}"
        raise UserError(Diagnostic("CHOICE", message, fix="Join the values that are allowed by |."))
    return tuple(n for n in values if str(n) in asked)
