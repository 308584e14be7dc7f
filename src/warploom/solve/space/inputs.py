"""Inputs from which a host makes an instance of a space: its objects, numbers, relations, and what triggers add."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

from warploom.solve.space.nodes import wrong

Thing: TypeAlias = Hashable
"""An object of the host: anything hashable; of a parametric set, a pair (owner, object)."""
Things: TypeAlias = tuple[Thing, ...]
HostFunction: TypeAlias = Mapping[Thing, Thing] | Callable[[Thing], Thing]
HostFact: TypeAlias = bool | Collection[Thing] | Callable[..., bool]
"""The objects (arity 1) or tuples of objects for which it holds, or a predicate."""
HostConstant: TypeAlias = int | Mapping[Thing, int] | Callable[..., int]
"""A constant by object (arity 1) or tuple of objects."""


@dataclass(frozen=True, slots=True)
class Lowering:
    """The additions that a trigger makes for one tuple of objects."""

    members: tuple[tuple[str, Thing], ...] = ()
    """(set, object), for parametric sets (set, (owner, object)): reserved until some lowering adds them."""
    restrictions: tuple[tuple[str, Things, int | tuple[str | int, ...]], ...] = ()
    """(choice, objects, mask or values)."""


class Inputs(TypedDict, total=False):
    sets: Mapping[str, Sequence[Thing]]
    """Objects of each set; sets within others list their members, too, and parametric sets list pairs (owner, object)."""
    universes: Mapping[tuple[str, Things], Sequence[int]]
    """Values of integer choices, by name and objects; reserved objects included."""
    functions: Mapping[str, HostFunction]
    facts: Mapping[str, HostFact]
    constants: Mapping[str, HostConstant]
    lowerings: Mapping[tuple[str, Things], Lowering]
    """Lowerings by trigger and its objects."""


def apply_function(name: str, function: HostFunction, thing: Thing) -> Thing:
    if callable(function):
        return function(thing)
    if thing not in function:
        raise wrong(f"expected function {name} to be given for {thing!r}, got nothing")
    return function[thing]


def constant_of(name: str, constant: HostConstant, things: Things) -> int:
    if callable(constant):
        return int(constant(*things))
    if isinstance(constant, Mapping):
        key = things[0] if len(things) == 1 else things
        if key not in constant:
            raise wrong(f"expected constant {name} to be given for {key!r}, got nothing")
        return int(constant[key])
    return int(constant)
