"""Built-in goals: the arrays of terms that the published benchmarks ask for.

Source: Swizzleflow, section 5.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod

from warploom.core import Diagnostic, UserError
from warploom.ir.dataflow.gather_set import Shape
from warploom.ir.dataflow.program import Value
from warploom.ir.dataflow.syntax import OptionValue
from warploom.ir.dataflow.values import folded

GOALS: Mapping[str, tuple[int, str | None, str]] = {
    "id": (0, None, "any shape: symbols in row-major order"),
    "trove": (2, None, "[m, n]: symbol j + n*i"),
    "trove_sum": (1, "n", "[m]: the sum over j < n of symbol j + n*i"),
    "conv_dealg": (2, None, "[w, k]: symbol i + j"),
    "conv": (1, "k", "[w]: the sum over i < k of symbol w + i"),
    "weight_conv": (1, "k", "[w]: the sum over i < k of the product of symbols w + i and (number of inputs) + i"),
    "stencil_2d": (2, "k", "[h, w]: the sum over a k x k window of an (h+k-1) x (w+k-1) image"),
    "poly_mult": (1, "w", "[2w]: coefficients of the product of two polynomials of w coefficients each; the last is zero"),
}
"""Name: axes of the shape (0: any number), the one option, which is required, and what it asks for."""


def builtin_goal(name: str, options: Mapping[str, OptionValue], shape: Shape, names_operators: bool) -> tuple[Value, ...]:
    """The goal's values, row-major; with operators + and * where the program names operators.

    UserError without a place (UNKNOWN_GOAL, BAD_OPTION, SHAPE_MISMATCH).
    """
    if name not in GOALS:
        message = f"expected one of {', '.join(GOALS)}, got `{name}`"
        raise UserError(Diagnostic("UNKNOWN_GOAL", message, fix="write other goals as a literal: goal: [4] = fold [[0, 1], ...]"))
    axes, key, text = GOALS[name]
    wrong = sorted(set(options) - {key})
    size = options.get(key, 0) if key else 1
    if wrong or isinstance(size, tuple) or size is True or size < 1:
        expected = f"{name}{{{key}=...}} with a positive number" if key else f"{name} without options"
        got = ", ".join(f"{k}={v}" for k, v in options.items()) or "no option"
        raise UserError(Diagnostic("BAD_OPTION", f"expected {expected}, got {got}", fix=f"{name} is {text}"))
    if (axes and len(shape) != axes) or (name == "poly_mult" and shape != (2 * size,)):
        raise UserError(Diagnostic("SHAPE_MISMATCH", f"expected {name} with a shape {text}, got {list(shape)}"))
    plus, times = ("+", "*") if names_operators else ("", "")
    return tuple(_values(name, shape, size, lambda v: folded(plus, v), lambda v: folded(times, v)))


def _values(
    name: str, shape: Shape, n: int, total: Callable[[Iterable[Value]], Value], times: Callable[[Iterable[Value]], Value]
) -> Iterable[Value]:
    match name:
        case "trove_sum":
            return (total(range(n * i, n * i + n)) for i in range(shape[0]))
        case "conv_dealg":
            return (i + j for i in range(shape[0]) for j in range(shape[1]))
        case "conv":
            return (total(range(w, w + n)) for w in range(shape[0]))
        case "weight_conv":
            weights = shape[0] + n - 1
            return (total(times((w + i, weights + i)) for i in range(n)) for w in range(shape[0]))
        case "stencil_2d":
            height, width = shape
            row = width + n - 1
            window = [i * row + j for i in range(n) for j in range(n)]
            return (total(i * row + j + offset for offset in window) for i in range(height) for j in range(width))
        case "poly_mult":
            pairs = [[(i, n + c - i) for i in range(n) if 0 <= c - i < n] for c in range(2 * n)]
            return (total(times(pair) for pair in terms) for terms in pairs)
        case _:
            return range(prod(shape))
