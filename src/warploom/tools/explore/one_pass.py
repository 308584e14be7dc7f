"""The decision `online(STAGE)`: in tiles of how many iterations a kernel makes the sums that need a maximum, in one pass.

It is taken before the search, as it says what the instructions are; to `--set` and `--replay` it is one of the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from warploom.core import Diagnostic, UserError
from warploom.schedule.backbone import Backbone, Operator, Program
from warploom.schedule.online import online

ONLINE = "online"
NO = "NO"
_TILES = (32, 16, 8, 64, 128)
"""Iterations of a tile, those that are taken first of several that divide the axis."""
_TILES_OF_ROWS = tuple(sorted(_TILES, reverse=True))
"""Tiles of rows that read nothing alike, which need no shared memory, the first first."""


def before(fixed: Mapping[str, str], name: str) -> dict[str, str]:
    """Decisions of that name, which is taken before a search, of all stages."""
    return {choice: value for choice, value in fixed.items() if choice.rpartition("/")[2] == name}


def in_one_pass(program: Program, fixed: Mapping[str, str]) -> Program:
    """The program with stages in one pass: those for which `fixed` says so, and those that can be, unless it says NO.

    UserError (CHOICE) for a tile that a stage cannot have.
    """
    return replace(program, stages=tuple(_stage(stage, _asked(program, stage, fixed)) for stage in program.stages))


def _asked(program: Program, stage: Backbone, fixed: Mapping[str, str]) -> str | None:
    own = fixed.get(f"{stage.name}/{ONLINE}")
    return fixed.get(ONLINE) if own is None and len(program.stages) == 1 else own


def _stage(stage: Backbone, asked: str | None) -> Backbone:
    if asked == NO:
        return stage
    if asked is None:
        found = _first(stage, _TILES)
        return found if found is stage or reads_alike(found) else _first(stage, _TILES_OF_ROWS)
    found = (
        _of(stage, int(asked)) if asked.isdecimal() and len(asked) < 10 and int(asked) > 0 else "that is no number of iterations"
    )
    if isinstance(found, str):
        message = f"expected {NO} or a tile in which {stage.name} makes its sums in one pass, got {asked}: {found}"
        raise UserError(Diagnostic("CHOICE", message, fix=f"Leave {ONLINE} out, or give one of {', '.join(tiles_of(stage))}."))
    return found


def _first(stage: Backbone, tiles: Sequence[int]) -> Backbone:
    """The stage in one pass by the first of these tiles that it can have; as it is where it can have none."""
    return next((found for tile in tiles if isinstance(found := _of(stage, tile), Backbone)), stage)


def reads_alike(stage: Backbone) -> bool:
    """Whether several rows of a stage in one pass read the same of what a tile needs: its keys, or a column's weight."""
    assert stage.rewritten is not None
    inner = stage.rewritten.inner
    over = {a for i in stage.instructions if i.operator is Operator.MAX for a in i.axes} - {stage.rewritten.outer, inner}
    return any(i.operator is Operator.LOAD and inner in i.axes and not over <= set(i.axes) for i in stage.instructions)


def tiles_of(stage: Backbone) -> list[str]:
    """Values of the decision."""
    return [NO, *(str(tile) for tile in sorted(_TILES) if isinstance(_of(stage.plain, tile), Backbone))]


def before_search(stage: Backbone, fixed: Mapping[str, str]) -> dict[str, list[str]]:
    """The decision with its values, where it is open."""
    is_open = stage.rewritten is not None and not before(fixed, ONLINE)
    return {ONLINE: tiles_of(stage)} if is_open else {}


def decided(stage: Backbone) -> dict[str, str]:
    """The decision of a stage, where it is one."""
    if stage.rewritten is None:
        return {}
    return {ONLINE: str(stage.axes[stage.rewritten.inner].size)}


def _of(stage: Backbone, tile: int) -> Backbone | str:
    """The stage in one pass over two tiles or more, or why there is none."""
    found = online(stage, tile)
    if isinstance(found, Backbone) and found.rewritten is not None and found.axes[found.rewritten.outer].size < 2:
        return f"a tile of {tile} is the whole axis"
    return found


__all__ = ["NO", "ONLINE", "before", "before_search", "decided", "in_one_pass", "reads_alike", "tiles_of"]
