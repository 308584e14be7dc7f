"""The compiler of inner loops, with types that the checker understands."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba  # pyright: ignore[reportMissingTypeStubs]

Parameters = ParamSpec("Parameters")
Answer = TypeVar("Answer")


def compiled(function: Callable[Parameters, Answer]) -> Callable[Parameters, Answer]:
    """Machine code of a function over numbers and flat arrays, kept between runs."""
    return numba.njit(cache=True, error_model="numpy")(function)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
