"""Identifiers of the printed kernel."""

from __future__ import annotations

import re

from warploom.operations import C_FUNCTIONS

_WORDS = """
alignas auto bool break case char class const continue default delete do double else enum extern false float for if int long
namespace new operator private public register return shared short signed sizeof static struct switch template this true typedef
union unsigned void volatile while max min abs threadIdx blockIdx blockDim gridDim warpSize and or not xor
asm inline restrict half lanes shared_bytes swizzled rotated copy_async_ca copy_async_cg copy_or_zero_ca copy_or_zero_cg
close_copies await_copies await_all_copies max_or_nan min_or_nan
"""
_TAKEN = C_FUNCTIONS.union(_WORDS.split())


class Names:
    """Gives every identifier once."""

    def __init__(self) -> None:
        self._used: set[str] = set(_TAKEN)

    def __call__(self, wish: str) -> str:
        """`wish`, made an identifier, with a number if it is taken."""
        base = re.sub(r"\W+", "_", wish).strip("_") or "x"
        if base[0].isdigit():
            base = f"x{base}"
        name, number = base, 1
        while name in self._used:
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        return name
