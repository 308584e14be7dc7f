"""Targets of a command that completes: sketches of a file, or an example of the library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from warploom.core import Diagnostic, UserError
from warploom.kernels import Example, find, is_example, is_program
from warploom.kernels.tensors import TENSOR_KERNELS
from warploom.sketch import Sketch, load


@dataclass(frozen=True, slots=True)
class Target:
    case: str
    """Case as reports name it."""
    sketch: Sketch
    example: Example | None = None
    """None for a sketch of a file."""


def resolve(text: str) -> tuple[Target, ...]:
    """Targets of `FILE`, `FILE:SKETCH` or the name of an example; UserError says what was expected."""
    if is_example(text):
        example = find(text)
        return (Target(text, example.sketch, example),)
    file, colon, name = text.rpartition(":")
    if Path(text).exists() and (not colon or not Path(file).exists()):
        return _loaded(text, None)
    if colon and (Path(file).exists() or is_path(file)):
        return _loaded(file, name)
    _refuse_other_case(text)
    if not colon and is_path(text):
        return _loaded(text, None)
    example = find(text)
    return (Target(text, example.sketch, example),)


def _refuse_other_case(text: str) -> None:
    """UserError for the name of a case that another command takes."""
    for command, is_known in (("solve", is_program(text)), ("explore", text in TENSOR_KERNELS)):
        if is_known:
            what = "a dataflow program" if command == "solve" else "a kernel"
            message = f"expected a sketch to complete, got {what}, {text!r}"
            raise UserError(Diagnostic("UNKNOWN_EXAMPLE", message, fix=f"Run `warploom {command} {text}`."))


def _loaded(file: str, name: str | None) -> tuple[Target, ...]:
    return tuple(Target(sketch.name, sketch) for sketch in load(file, name))


def is_path(text: str) -> bool:
    return text.endswith((".py", ".matrix")) or "/" in text
