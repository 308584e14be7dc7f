"""Terms of a spec with the numbers and functions that compiled floats have: numbers as the type holds them, powers of two."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from warploom.core import DType, to_numpy
from warploom.terms import Term, apply, constant, iterate_post

LOG2_E = constant(Fraction(float(np.float32(1.4426950408889634))))
_LN_2 = constant(Fraction(float(np.float32(0.6931471805599453))))
_IN_BASE_2: dict[str, str] = {
    "exp": "exp(x) as ex2(x * 0f3FB8AA3B)", "log": "log(x) as lg2(x) * 0f3F317218",
}  # fmt: skip
"""The domain's words for the functions that GPUs have in base 2 only."""


class AsCompiled:
    """The spec's Python floats as the arrays' type holds them, as the compiler reads them; exp and log in base 2.

    notes: get what the domain must say of it.
    """

    def __init__(self, dtype: DType, notes: set[str]) -> None:
        self._dtype, self._notes = dtype, notes
        self._done: dict[Term, Term] = {}

    def __call__(self, root: Term) -> Term:
        dtype = self._dtype
        if not dtype.is_float or dtype.name == "bf16":
            return root
        done = self._done
        for t in iterate_post(root, done):
            if t.op == "constant" and isinstance(t.data[0], float) and np.isfinite(t.data[0]):
                with np.errstate(over="ignore"):
                    number = float(to_numpy(dtype).type(t.data[0]))
                done[t] = constant(Fraction(number) if np.isfinite(number) else number)
            elif t.op in _IN_BASE_2 and dtype.name in ("f32", "f16"):
                self._notes.add(_IN_BASE_2[t.op])
                x = done[t.args[0]]
                done[t] = apply("ex2", apply("*", x, LOG2_E)) if t.op == "exp" else apply("*", apply("lg2", x), _LN_2)
            else:
                done[t] = t.with_args([done[a] for a in t.args])
        return done[root]
