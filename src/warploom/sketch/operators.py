"""User-declared operators: `plus7 = wl.operator("plus7", lambda a, b: (a + b) & 7, identity=0)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, get_args

from warploom.core import Diagnostic, UserError
from warploom.ir import ValueOp


@dataclass(frozen=True, slots=True)
class UserOperator:
    """A binary operator declared commutative and associative; `body` is read from its source, never run."""

    name: str
    body: Callable[[Any, Any], Any]
    identity: int | float | None = None

    def __call__(self, *operands: Any) -> NoReturn:
        raise UserError(
            Diagnostic(
                "OUTSIDE_SKETCH", f"operator {self.name!r} was called outside of a sketch", fix="Use it in the body of a sketch."
            )
        )


def operator(name: str, body: Callable[[Any, Any], Any], identity: int | float | None = None) -> UserOperator:
    """Declare a commutative associative operator for accumulators, with its neutral element if it has one.

    Raises UserError if `name` is no identifier, or the name of an operation that is built in.
    """
    if not name.isidentifier():
        raise UserError(
            Diagnostic(
                "OPERATOR_NAME", f"expected an identifier as an operator's name, got {name!r}", fix="Rename it, say `plus7`."
            )
        )
    if name in get_args(ValueOp):
        message = f"expected a new name for the operator, got {name!r}, which is built in"
        raise UserError(Diagnostic("OPERATOR_NAME", message, fix="Rename it, or use it as a string."))
    return UserOperator(name, body, identity)
