"""The words of tensor functions. They are read from the source and never run."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.schedule.backbone import FUNCTIONS as REAL_FUNCTIONS


def _not_run(word: str) -> NoReturn:
    message = f"{word!r} was run; tensor functions are read from their source"
    raise UserError(Diagnostic("NOT_RUN", message, fix="Use it inside a function decorated with @tensor only."))


class Marker:
    """`out[f32["m", "n"]]`, `temp[f32["m", "n"]]`: what a parameter is for."""

    __slots__ = ("word",)

    def __init__(self, word: str) -> None:
        self.word = word

    def __getitem__(self, array: object) -> Any:
        return self

    def __repr__(self) -> str:
        return self.word


out = Marker("out")
"""An array that the function writes."""
inout = Marker("inout")
"""An array that the function reads and writes: what `+=` adds to."""
temp = Marker("temp")
"""An array between two stages."""


def pad(array: Any, value: float) -> Any:
    """`pad(X, 0)[i - 1]`: an index outside of `X` gives `value`."""
    del array, value
    _not_run("pad")


class StandIn:
    """A function of one real number, such as `exp`, by its row in `warploom.operations`."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, value: Any) -> Any:
        del value
        _not_run(self.name)

    def __repr__(self) -> str:
        return self.name


STAND_INS: dict[str, StandIn] = {operator.value: StandIn(operator.value) for operator in REAL_FUNCTIONS}


def prod(value: Any, over: Any) -> Any:
    """`prod(X[i], over=i)`; sums, maxima and minima are written with Python's `sum`, `max` and `min`."""
    del value, over
    _not_run("prod")


def where(condition: Any, value: Any, other: Any) -> Any:
    """`where(X[i] > 0, X[i], 0)`: the value where the condition holds, else the other; as `X[i] if X[i] > 0 else 0`."""
    del condition, value, other
    _not_run("where")


def argmax(value: Any, over: Any) -> Any:
    """`argmax(X[i, k], over=k)`: the first place of the greatest element; of elements with a NaN, of the first NaN."""
    del value, over
    _not_run("argmax")


def argmin(value: Any, over: Any) -> Any:
    """`argmin(X[i, k], over=k)`: the first place of the least element; of elements with a NaN, of the first NaN."""
    del value, over
    _not_run("argmin")


SCAN_LIFT = "`warploom scan lift FILE.py:FUNCTION`"
RUNNING = f"write it as a loop under `@wl.jit`, which hands it to `scan`, or call {SCAN_LIFT}."
_PLACE = "gives places of several elements, and tensor functions compute one value for each index"
_RUNNING = "carries a result from element to element"
_AS_LOOP = f"Write it as a loop and call {SCAN_LIFT}."
NOT_HERE: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("argsort", "sort", "searchsorted", "nonzero"), (_PLACE, "Compute it outside of the tensor function.")),
    "float": ("names no one type", "Write f32(...) or f64(...)."),
    "int": ("names no one type", "Write i32(...) or i64(...): the fraction is cut off, as by int."),
    **dict.fromkeys(
        ("mean", "average"), ("is a quotient of a sum", "Write sum(X[i, k], over=k) / n, n being the size of the summed axis.")
    ),
    **dict.fromkeys(
        ("dot", "matmul", "einsum", "inner", "tensordot"), ("is a sum of products", "Write sum(A[i, k] * B[k, j], over=k).")
    ),
    **dict.fromkeys(
        ("floor", "ceil", "round", "rint", "trunc"),
        (
            "rounds to a whole number",
            "Write f32(i32(value)), which cuts the fraction off, where i32 holds the value; "
            "to the nearest, halves away from 0, f32(i32(value + where(value < 0, -0.5, 0.5))).",
        ),
    ),
    "rsqrt": ("is one over a square root", "Write 1 / sqrt(x)."),
    "sigmoid": ("is made of exp", "Write 1 / (1 + exp(-x))."),
    **dict.fromkeys(("silu", "swish"), ("is made of exp", "Write x / (1 + exp(-x)).")),
    "relu": ("is a maximum", "Write max(x, 0)."),
    "softmax": (
        "takes two reductions",
        "Write m[i] = max(X[i, k], over=k), then s[i] = sum(exp(X[i, k] - m[i]), over=k), then exp(X[i, k] - m[i]) / s[i].",
    ),
    "sign": ("has the sign of a number", "Write where(x > 0, 1, where(x < 0, -1, 0))."),
    "clip": ("limits a number", "Write min(max(x, low), high)."),
    **dict.fromkeys(("power", "pow"), ("raises to a power", "Write x ** 2, sqrt(x), or exp(y * log(x)).")),
    **dict.fromkeys(("cumsum", "cumprod", "accumulate", "cummax", "cummin"), (_RUNNING, _AS_LOOP)),
}
"""Functions that newcomers look for, what they do, and what to write instead."""

FUNCTIONS: dict[str, tuple[object, ...]] = {
    **{
        name: (word, *(getattr(library, name) for library in (math, np) if hasattr(library, name)))
        for name, word in STAND_INS.items()
    },
    "abs": (abs, math.fabs, np.abs),
    "max": (max, np.max),
    "min": (min, np.min),
    "maximum": (np.maximum,),
    "minimum": (np.minimum,),
    "sum": (sum, np.sum),
    "prod": (prod, math.prod, np.prod),
    "pad": (pad,),
    "where": (where, np.where),
    "argmax": (argmax, np.argmax),
    "argmin": (argmin, np.argmin),
}
"""Functions that may be called, by name, and the Python objects that the name may be bound to; a free name is taken, too."""
