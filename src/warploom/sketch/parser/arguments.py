"""Arguments of a word's call, bound to its signature."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from warploom.sketch.parser.state import State


@dataclass(frozen=True, slots=True)
class Arguments:
    """Syntax of the arguments of one call, by parameter name."""

    call: ast.Call
    given: dict[str, Any]

    def has(self, name: str) -> bool:
        return name in self.given

    def node(self, name: str) -> ast.expr:
        """A required argument, or one that `has` said is there."""
        return cast(ast.expr, self.given[name])

    def optional(self, name: str) -> ast.expr | None:
        """None if it was not given or is the literal None."""
        node = cast("ast.expr | None", self.given.get(name))
        return None if isinstance(node, ast.Constant) and node.value is None else node

    def rest(self, name: str) -> tuple[ast.expr, ...]:
        """The arguments of a `*name` parameter."""
        return cast("tuple[ast.expr, ...]", self.given.get(name, ()))


def bind(state: State, word: Callable[..., Any], call: ast.Call) -> Arguments:
    """Match the arguments of `call` with the signature of `word`."""
    signature = inspect.signature(word)
    try:
        bound = signature.bind(*call.args, **{k.arg: k.value for k in call.keywords if k.arg is not None})
    except TypeError as error:
        names = [str(p) if p.kind is p.VAR_POSITIONAL else p.name for p in signature.parameters.values()]
        fix = f"Call {word.__name__}({', '.join(n.split(':')[0] for n in names)})."
        raise state.problem("ARGUMENTS", f"{word.__name__}: {error}", call, fix) from None
    return Arguments(call, dict(bound.arguments))
