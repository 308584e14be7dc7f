"""The decision `words`: whether a CPU kernel takes the factors of a sum of products in words, for dot-product instructions.

It is taken before the search, as it says what the instructions are; to `--set` and `--replay` it is one of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from warploom.core import WORDS, Diagnostic, UserError
from warploom.schedule.backbone import Backbone, Program, in_words
from warploom.schedule.targets import Target
from warploom.tools.explore.one_pass import NO, before

WORDED = "words"
YES = "YES"


def worded(program: Program, on: Target, fixed: Mapping[str, str]) -> Program:
    """The program with words where `fixed` says so, and, where it says nothing, where the machine is faster with them.

    UserError (CHOICE) for a stage that is not there or has no such sum, and for another value.
    """
    if unknown := sorted(set(before(fixed, WORDED)) - {WORDED, *(f"{stage.name}/{WORDED}" for stage in program.stages)}):
        known = ", ".join(stage.name for stage in program.stages)
        raise UserError(Diagnostic("CHOICE", f"expected a stage of {program.name} ({known}) before the slash, got {unknown[0]}"))
    own = {stage.name: fixed.get(f"{stage.name}/{WORDED}") for stage in program.stages}
    made = tuple(_stage(stage, on, own[stage.name] or fixed.get(WORDED)) for stage in program.stages)
    lacking = [stage.name for stage in made if own[stage.name] == YES and not _has_words(stage)]
    if fixed.get(WORDED) == YES and not any(map(_has_words, made)):
        lacking.append(program.name)
    if lacking:
        message = f"expected a sum of products in {lacking[0]} whose factors this machine takes in words, got none"
        raise UserError(Diagnostic("CHOICE", message, fix=f"Leave {WORDED} out."))
    return replace(program, stages=made)


def _stage(stage: Backbone, on: Target, asked: str | None) -> Backbone:
    if asked not in (None, YES, NO):
        raise UserError(Diagnostic("CHOICE", f"expected {YES} or {NO} as {WORDED} of {stage.name}, got {asked}"))
    if asked == NO:
        return stage
    return in_words(stage, on.words, () if asked == YES else on.slow_words, on.tiles)


def open_before_search(stage: Backbone, on: Target, fixed: Mapping[str, str]) -> dict[str, list[str]]:
    """The decision with its values, where it is open."""
    is_open = _has_words(stage) or in_words(stage, on.words) is not stage
    return {WORDED: [NO, YES]} if is_open and not before(fixed, WORDED) else {}


def of_stage(stage: Backbone) -> dict[str, str]:
    """The decision of a stage, where some machine has one."""
    if _has_words(stage):
        return {WORDED: YES}
    return {WORDED: NO} if in_words(stage, WORDS) is not stage else {}


def _has_words(stage: Backbone) -> bool:
    return any(i.dtype in WORDS.values() for i in stage.instructions)
