"""Guesses the meaning of an unknown name: a name spelled alike, or CUDA's word for a word of the language."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from types import ModuleType

CUDA_WORDS = {
    "syncthreads": "wl.sync()",
    "threadIdx": 'wl.thread_id("x")',
    "blockIdx": 'wl.block_id("x")',
    "blockDim": 'wl.block_dim("x")',
    "gridDim": 'wl.grid_dim("x")',
    "warpSize": "wl.warp_size()",
    "shfl_sync": "wl.shfl",
    "shfl_up_sync": "wl.shfl_up",
    "shfl_down_sync": "wl.shfl_down",
    "shfl_xor_sync": "wl.shfl_xor",
}


def nearest(name: str, known: Sequence[str]) -> str | None:
    """A name to write instead; CUDA's words come first."""
    word = CUDA_WORDS.get(name.removeprefix("__"))
    if word is not None:
        return word
    close = difflib.get_close_matches(name, known, n=1)
    return close[0] if close else None


def attributes(value: object) -> list[str]:
    """Names after the dot, of modules; of Warploom's own these are the words of the language."""
    if not isinstance(value, ModuleType):
        return []
    return dir(value) if value.__name__ == "warploom" else list(vars(value))
