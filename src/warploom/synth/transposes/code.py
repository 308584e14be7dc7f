"""Steps of a transpose as the movement of one warp."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.ir.swizzle import parse_composition
from warploom.ir.swizzle.grown import expression
from warploom.synth.movement import Movement, Step
from warploom.synth.transposes.problem import Kind
from warploom.terms import atom


def transpose_movement(kind: Kind, m: int, n: int, printed: Sequence[str]) -> Movement:
    """Loads element r * n + t to register r of lane t, moves, stores register i of lane j, element j * m + i, to out[j, i].

    UserError (NOT_PRINTED) for sums, whose third step is an addition.
    """
    if kind == "sum":
        raise UserError(Diagnostic("NOT_PRINTED", "expected a transpose of the kinds crc or rcr, got sum"))
    lane, register = np.indices((n, m))
    none = np.zeros((n, m), np.int64)
    steps = [Step("loaded", ("x",), none, register * n + lane)]
    for number, text in enumerate(printed):
        composition = parse_composition(text)
        values = np.broadcast_to(composition.apply(register, lane), (n, m))
        between_lanes = (number % 2 == 0) == (kind == "rcr")
        element = values * m + register if between_lanes else lane * m + values
        formula = None if between_lanes and n == 1 else expression(composition, m, n)  # one lane's sources are registers
        steps.append(Step(f"step_{number + 1}", (steps[-1].name,), none, element, formula=formula))
    terms: np.ndarray[tuple[int], np.dtype[np.object_]] = np.empty(m * n, object)
    for place in range(m * n):
        terms[place] = atom("x", (place,))
    return Movement(f"transpose_{kind}_{m}x{n}", n, {"x": m * n}, tuple(steps), {"out": terms.reshape(n, m)})
