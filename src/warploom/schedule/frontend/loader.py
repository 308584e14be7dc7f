"""Tensor functions of a Python file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from warploom.core import Diagnostic, Span, UserError
from warploom.schedule.frontend.functions import BrokenTensor, TensorFunction, TensorHolder, collecting_broken
from warploom.sketch import load_variables


@dataclass(frozen=True, slots=True)
class TensorFile:
    """A file that was run, once."""

    path: str
    variables: Mapping[str, object]
    """By name; none where the file cannot be run."""
    broken: Sequence[BrokenTensor]
    """Functions that are wrong in themselves."""
    error: UserError | None = None
    """Why the file cannot be run."""

    @property
    def has_tensors(self) -> bool:
        return bool(self.broken) or any(isinstance(value, TensorFunction | TensorHolder) for value in self.variables.values())

    def tensors(self, name: str | None = None) -> list[TensorFunction]:
        """Its tensor functions in source order, or only the one called `name` (its own or its variable's); of an object that is
        called with arrays its `tensor`. UserError as of `load_tensors`."""
        broken = list(self.broken)
        if self.error is not None:
            raise _together(broken, *self.error.diagnostics) from self.error
        held = [(v, f.tensor if isinstance(f, TensorHolder) else f) for v, f in self.variables.items()]
        found = [(v, f) for v, f in held if isinstance(f, TensorFunction | BrokenTensor)]
        where = Span(self.path, 1, 1, 1, 1)
        if not found and not broken:
            message = f"{self.path} defines no tensor function"
            raise UserError(Diagnostic("NO_TENSOR", message, where, "Decorate a function with @tensor."))
        if name is None:
            if broken:
                raise _together(broken)
            return list(dict.fromkeys(f for _, f in found if isinstance(f, TensorFunction)))
        named = [f for v, f in found if name in (f.name, v)] or [b for b in broken if b.name == name]
        if not named:
            known = ", ".join(dict.fromkeys(f.name for f in (*(f for _, f in found), *broken)))
            message = f"{self.path} has no tensor function {name!r}; it has: {known}"
            raise UserError(Diagnostic("UNKNOWN_TENSOR", message, where, "Use one of them."))
        match named[0]:
            case BrokenTensor(error=error):
                raise error
            case TensorFunction() as asked:
                return [asked]


def run_file(path: str | Path) -> TensorFile:
    """Runs the file, whatever is wrong with it."""
    with collecting_broken() as broken:
        try:
            return TensorFile(str(path), load_variables(path), broken)
        except UserError as error:
            return TensorFile(str(path), {}, broken, error)


def load_tensors(path: str | Path, name: str | None = None) -> list[TensorFunction]:
    """Run the file `path` and return its tensor functions in source order, or only the one called `name` (its own or its
    variable's); of an object that is called with arrays its `tensor`.

    Raises UserError if the file cannot be run, holds no tensor function, or none called `name`, and the errors of the functions
    asked for: a wrong function does not stand in the way of the others.
    """
    return run_file(path).tensors(name)


def _together(broken: list[BrokenTensor], *more: Diagnostic) -> UserError:
    return UserError(*dict.fromkeys((*(d for b in broken for d in b.error.diagnostics), *more)))
