"""Functions of users by `FILE.py:function`, for maps, accesses and layouts of registers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from warploom.core import Diagnostic, UserError


def is_function(text: str) -> bool:
    return re.fullmatch(r".+\.py:\w+", text.strip()) is not None


def function_of(text: str) -> Callable[..., Any]:
    """The function of that name in that file; UserError. The loader of sketches is loaded only here."""
    from warploom.sketch import load_variables

    path, _, name = text.strip().rpartition(":")
    variables = load_variables(path)
    found = variables.get(name)
    if not callable(found):
        known = ", ".join(n for n, v in variables.items() if callable(v) and not n.startswith("_")) or "none"
        raise UserError(Diagnostic("UNKNOWN_FUNCTION", f"expected a function {name} in {path}, which has: {known}"))
    return found
