"""Decisions of a large kernel at a small size: the same tiles with fewer iterations of the outermost loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, prod

from warploom.core import WORDS, Diagnostic, UserError
from warploom.schedule.backbone import (
    Backbone,
    Program,
    Rewritten,
    added_products,
    in_words,
    made_again,
    read_once,
    run_time_sizes,
    widened,
)
from warploom.schedule.bound import Bound
from warploom.schedule.choices import kernel_space
from warploom.schedule.frontend import sharing_passes
from warploom.schedule.nest import Nest, interval, loops
from warploom.schedule.online import online
from warploom.schedule.search import Implementation, KernelModel, Step
from warploom.schedule.targets import Target
from warploom.solve.space import Candidate
from warploom.tools.explore.in_parts import InParts
from warploom.tools.explore.options import Function


def shortened(stage: Backbone, implementation: Implementation[Candidate], blocks: int, rounds: int) -> list[int]:
    """Sizes of the extents, with at most so many iterations of those that are block loops everywhere, or sequential ones. Inner
    ones of an axis that the tiles do not divide keep theirs. Of tiles that a mask may leave out there are as many as the rows of
    all blocks have elements."""
    sizes = [int(implementation.candidate.values("size", n)[0]) for n in range(len(stage.extents))]
    found = list(sizes)
    for n, extent in enumerate(stage.extents):
        kinds = kinds_of(stage, implementation, n)
        whole = prod(sizes[m] for m, other in enumerate(stage.extents) if other.axis == extent.axis)
        if kinds <= {"BLOCK", "LOOP"} and (extent.level == 0 or whole == stage.axes[extent.axis].size):
            found[n] = min(sizes[n], rounds if "LOOP" in kinds else blocks)
    if (rewritten := stage.rewritten) is not None and rewritten.mask is not None:
        rows = {a for form in rewritten.mask.forms for a, _ in form.terms} - {rewritten.outer, rewritten.inner}
        for n, extent in enumerate(stage.extents):
            if extent.axis not in rows and kinds_of(stage, implementation, n) == {"BLOCK"}:
                found[n] = min(found[n], 2)
        longest = max((_size(stage, found, a) for a in rows), default=1)
        outer = next(n for n, e in enumerate(stage.extents) if e.axis == rewritten.outer)
        found[outer] = min(sizes[outer], max(found[outer], -(-longest // _size(stage, sizes, rewritten.inner))))
    return found


def _size(stage: Backbone, sizes: Sequence[int], axis: int) -> int:
    """Iterations of an axis whose extents have these sizes."""
    return prod(size for size, e in zip(sizes, stage.extents, strict=True) if e.axis == axis)


def may_show_masks(nests: Sequence[Nest], small: Program) -> bool:
    """Whether the kernels of a small program have masks that may leave out tiles in all the ways that these nests do."""
    found = [stage.rewritten.mask if stage.rewritten is not None else None for stage in small.stages]
    return all(_ways(nest) <= (0 if mask is None else len(mask.forms)) for nest, mask in zip(nests, found, strict=True))


def shows_masks(nests: Sequence[Nest], small: Sequence[Nest]) -> bool:
    """Whether the nests of a small size leave out tiles in all the ways that these nests do."""
    return all(_ways(nest) <= _ways(other) for nest, other in zip(nests, small, strict=True))


def _ways(nest: Nest) -> int:
    """How many guards leave out tiles."""
    sizes = {x.number: x.size for x in loops(nest.body)}
    return sum(interval(guard.index, sizes)[0] < 0 for x in loops(nest.body) for guard in x.only)


NO_MASK = "no size that is small enough leaves out tiles as the kernel does at the size asked for"


def kinds_of(stage: Backbone, implementation: Implementation[Candidate], extent: int) -> set[str]:
    """The kinds of all loops over an extent, by the extent's number."""
    dims = [stage.statement_of(d) for d, dim in enumerate(stage.dims) if dim.extent == extent]
    return {str(kind) for d in dims for kind in implementation.candidate.values("dim_kind", d)}


def program_at(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    sizes_of: Sequence[Sequence[int]],
    *,
    has_all_parts: bool = False,
) -> tuple[dict[str, int], Program]:
    """The sizes of the arrays at which the extents have these sizes, and the program there, with these tiles and no others; what
    is made in parts is made in fewer of them. has_all_parts: in as many, where these have rounds.

    UserError where the function has no such program.
    """
    function, small = at_small_sizes(function, sizes, program, sizes_of, has_all_parts=has_all_parts)
    multiples = {size.name: size.multiple for stage in program.stages for size in run_time_sizes(stage)}
    found = function.at_run_time(function.program(small, tiles_of(program, sizes_of)), multiples, has_strides=True)
    if len(found.stages) > len(program.stages):
        found = sharing_passes(found, tiles_of(program, sizes_of))
    if len(found.stages) != len(program.stages):
        raise _unlike(program.name)
    stages = tuple(_like(*three) for three in zip(found.stages, program.stages, sizes_of, strict=True))
    return small, replace(found, stages=stages)


def at_small_sizes(
    function: Function,
    sizes: Mapping[str, int],
    program: Program,
    sizes_of: Sequence[Sequence[int]],
    *,
    has_all_parts: bool = False,
) -> tuple[Function, dict[str, int]]:
    """The function, or the same in fewer parts, and sizes; as of `program_at`."""
    if not isinstance(function, InParts):
        return function, small_sizes(sizes, program, sizes_of)
    if function.tile:
        return _in_fewer_rounds(function, sizes, program, sizes_of, has_all_parts=has_all_parts)
    parts = f"parts of {function.size}"  # no name of a size
    found = small_sizes({**function.parted.inner(sizes), parts: function.parts}, program, sizes_of)
    fewer = replace(function, parts=max(2, found.pop(parts)))
    return fewer, fewer.parted.outer(found)


def _in_fewer_rounds(
    function: InParts,
    sizes: Mapping[str, int],
    program: Program,
    sizes_of: Sequence[Sequence[int]],
    *,
    has_all_parts: bool,
) -> tuple[Function, dict[str, int]]:
    """Fewer parts, tiles and rounds; the last round ends as it does, but for what the class of sizes asks."""
    found = small_sizes({name: value for name, value in sizes.items() if name != function.size}, program, sizes_of)
    part, round_ = function.parted.part_and_round
    parts, tile, rounds = 2, 1, 1
    for stage, own in zip(program.stages, sizes_of, strict=True):
        has_rounds = any(axis.name == round_ for axis in stage.axes)
        for number, axis in enumerate(stage.axes):
            size = _small_size(stage, own, number)
            if axis.name == part:
                parts = max(parts, size)
            elif axis.name == round_:
                rounds = max(rounds, size)
            elif has_rounds and axis.size == function.tile:
                tile = max(tile, size)
    fewer = function if has_all_parts else replace(function, parts=parts, tile=tile)
    parts, tile = fewer.parts, fewer.tile
    multiple = next(s.multiple for stage in program.stages for s in run_time_sizes(stage) if s.name == function.size)
    length = max(1, parts * tile * rounds - -sizes[function.size] % (parts * tile))
    return fewer, {**found, function.size: -(-length // multiple) * multiple}


def _like(stage: Backbone, whole: Backbone, sizes: Sequence[int]) -> Backbone:
    """The stage in the form that `whole` has, which the search may have rewritten. sizes: of the extents of `whole`.

    UserError (REFUTED) where no form has the same instructions.
    """
    wanted = [i.name for i in whole.instructions]
    once = read_once(stage)
    forms = (stage, once, widened(stage), widened(once), widened(made_again(once)))
    if whole.rewritten is not None:
        parts = sorted((e.level, n) for e, n in zip(whole.extents, sizes, strict=True) if e.axis == whole.rewritten.inner)
        tile, tiles = prod(n for _, n in parts), tuple((n,) for level, n in parts if level)
        forms = tuple(found for form in forms if isinstance(found := online(form, tile, tiles), Backbone))
    products = added_products(made_again(stage))
    for form in (*forms, products, in_words(products, frozenset(WORDS))):
        if [i.name for i in form.instructions] == wanted:
            return form
    raise _unlike(whole.name)


def _unlike(name: str) -> UserError:
    return UserError(Diagnostic("REFUTED", f"{name} takes another form at a small size"))


def nests_at(kernels: Program, implementations: Sequence[Implementation[Candidate]], target: Target) -> list[Nest]:
    """The nests of the same decisions for each kernel of a small program. UserError (REFUTED) where one is impossible there."""
    return [carried_over(stage, i, target) for stage, i in zip(kernels.stages, implementations, strict=True)]


def tiles_of(program: Program, sizes_of: Sequence[Sequence[int]]) -> dict[str, tuple[tuple[int, ...], ...]]:
    """The sizes of all levels but the outermost, as the only ones to choose from; by `kernel.axis`."""
    found: dict[str, tuple[tuple[int, ...], ...]] = {}
    for stage, sizes in zip(program.stages, sizes_of, strict=True):
        if stage.rewritten is not None:
            sizes, stage = _of_whole_axis(stage, stage.rewritten, sizes), stage.plain
        for number, axis in enumerate(stage.axes):
            levels = sorted((e.level, sizes[n]) for n, e in enumerate(stage.extents) if e.axis == number)
            found[f"{stage.name}.{axis.name}"] = tuple((size,) for level, size in levels if level)
    return found


def small_sizes(sizes: Mapping[str, int], program: Program, sizes_of: Sequence[Sequence[int]]) -> dict[str, int]:
    """Sizes at which the extents have these; edges stay edges. Axes that are not known to be of one size belong to all sizes as
    long as they are."""
    wanted: dict[str, int] = {}
    for stage, found in zip(program.stages, sizes_of, strict=True):
        if stage.rewritten is not None:
            found, stage = _of_whole_axis(stage, stage.rewritten, found), stage.plain
        for number, axis in enumerate(stage.axes):
            small = _small_size(stage, found, number)
            match axis.of_size:
                case (name, factor) if sizes.get(name) == axis.size * factor:
                    own = {name: ceil(small * factor)}
                case _:
                    own = {name: small for name, value in sizes.items() if value == axis.size}
            for name, value in own.items():
                wanted[name] = max(wanted.get(name, 1), value)
    return {name: min(value, wanted.get(name, value)) for name, value in sizes.items()}


def _small_size(stage: Backbone, sizes: Sequence[int], axis: int) -> int:
    """Iterations of an axis whose extents have these sizes, where it ends as it does now."""
    tiles = prod(sizes[n] for n, e in enumerate(stage.extents) if e.axis == axis and e.level)
    outermost = next(sizes[n] for n, e in enumerate(stage.extents) if e.axis == axis and e.level == 0)
    return max(1, outermost * tiles - -stage.axes[axis].size % tiles)


def _of_whole_axis(stage: Backbone, rewritten: Rewritten, sizes: Sequence[int]) -> list[int]:
    """Sizes of the extents of the plain kernel, of the axis that became two as if all of it were the outermost loop."""
    own = [(e, size) for e, size in zip(stage.extents, sizes, strict=True) if e.axis in (rewritten.outer, rewritten.inner)]
    others = {(e.axis, e.level): size for e, size in zip(stage.extents, sizes, strict=True)}
    whole = prod(size for _, size in own)
    return [(whole if e.level == 0 else 1) if e.axis == rewritten.axis else others[e.axis, e.level] for e in stage.plain.extents]


def carried_over(stage: Backbone, implementation: Implementation[Candidate], target: Target) -> Nest:
    """The nest of the same decisions at another size: its space has the same objects, in the same order. What is fetched ahead
    changes no result, and is decided anew.

    UserError (REFUTED) where a decision is impossible there.
    """
    space = kernel_space(stage, target, implementation.features)
    names = space.names
    current = space.replay([(n, v) for n, v in implementation.decisions.items() if names.parse(n)[0] not in ("size", "prefetch")])
    while (decision := space.decisions(current)) is not None:
        choice, arguments = decision.choice, decision.arguments
        mask = implementation.candidate.domain(choice, *arguments)
        if choice in ("size", "prefetch"):
            mask = decision.alternatives[-1].mask
        following = current.restrict(choice, arguments, mask)
        if following is None or following.domain(choice, *arguments) == current.domain(choice, *arguments):
            raise UserError(
                Diagnostic("REFUTED", f"{names.text(choice, arguments)} cannot have its value of the full size at the small size")
            )
        current = following
    model = KernelModel(space, Bound(space))
    found = model.answer(Step(current))
    if found is None:
        raise UserError(Diagnostic("REFUTED", "; ".join(model.contradictions)))
    return found[1].nest
