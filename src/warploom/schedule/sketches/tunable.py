"""A family of sketches: a function from parameters with finite domains to a sketch with holes.

Source: Swizzle Inventor, section 7.1, which tuned threads per block, outputs per thread and the shape of the register cache by
hand.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from warploom.core import NOWHERE, Diagnostic, Span, UserError
from warploom.sketch import Sketch

Tuning: TypeAlias = int | bool | str | tuple[int, ...]
"""A value of a parameter."""
Setting: TypeAlias = Mapping[str, Tuning]
"""Values of some parameters, or of all."""


@dataclass(frozen=True, slots=True)
class TunableSketch:
    name: str
    parameters: Mapping[str, tuple[Tuning, ...]] = field(hash=False)
    """Name -> the values that it may take; no parameters: one sketch."""
    build: Callable[..., Sketch]
    """Takes every parameter by name; UserError where these values do not go together."""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)
    """Run-time sizes to tune at, when nobody names others."""
    span: Span = NOWHERE
    older: Setting = field(default_factory=dict[str, Tuning], hash=False)
    """Values of parameters that decisions recorded before there were such parameters do not name."""

    @staticmethod
    def of(sketch: Sketch) -> TunableSketch:
        """A sketch without parameters."""
        return TunableSketch(sketch.name, {}, lambda: sketch, dict(sketch.complete_at), sketch.kernel.span)


def tunable(
    *, sizes: Mapping[str, int] | None = None, **parameters: list[Tuning] | tuple[Tuning, ...]
) -> Callable[[Callable[..., Sketch]], TunableSketch]:
    """Make a function that returns a sketch a family that `warploom explore` tunes.

    `parameters` names each of the function's arguments with the values to try; `sizes` are the run-time sizes to tune at.
    Raises UserError (TUNABLE) for an argument without values and for values without an argument.
    """

    def read(function: Callable[..., Sketch]) -> TunableSketch:
        span = _place(function)
        taken = {name for name, p in inspect.signature(function).parameters.items() if p.default is inspect.Parameter.empty}
        allowed = set(inspect.signature(function).parameters)
        if missing := sorted(taken - set(parameters)):
            message = f"expected the values of every argument of {function.__name__}, got none for {', '.join(missing)}"
            raise UserError(Diagnostic("TUNABLE", message, span, f"write @wl.tunable({missing[0]}=[...], ...)"))
        if unknown := sorted(set(parameters) - allowed):
            message = f"expected arguments of {function.__name__} ({', '.join(sorted(allowed))}), got {', '.join(unknown)}"
            raise UserError(Diagnostic("TUNABLE", message, span, "name the values after the function's arguments"))
        domains = {name: tuple(values) for name, values in parameters.items()}
        if empty := sorted(name for name, values in domains.items() if not values):
            message = f"expected at least one value for {empty[0]}, got an empty list"
            raise UserError(Diagnostic("TUNABLE", message, span, "list the values to try"))
        return TunableSketch(function.__name__, domains, function, dict(sizes or {}), span)

    return read


def _place(function: Callable[..., Sketch]) -> Span:
    code = function.__code__
    return Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1)
