"""Specs given as pre- and post-conditions, arrays of terms. Source: Swizzle Inventor, section 2, Figure 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from warploom.core import Diagnostic, UserError
from warploom.terms import Term, to_operand

TermArrays: TypeAlias = Mapping[str, npt.NDArray[np.object_]]


@dataclass(frozen=True, eq=False, slots=True)
class TermSpec:
    """Contents of arrays before and after the kernel."""

    outputs: TermArrays
    """Post-condition: output -> terms; None where any value will do."""
    given: TermArrays = field(default_factory=dict[str, npt.NDArray[np.object_]])
    """Pre-condition: input -> what its elements hold; an input that is left out holds its own elements."""


Spec: TypeAlias = Callable[..., Any] | TermSpec


def term_spec(outputs: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> TermSpec:
    """Reads arrays (or nested lists) of terms and numbers. Raises UserError for other elements."""
    wrong: list[Diagnostic] = []
    made = TermSpec(
        {name: _terms(name, array, wrong, may_be_open=True) for name, array in outputs.items()},
        {name: _terms(name, array, wrong, may_be_open=False) for name, array in (given or {}).items()},
    )
    if wrong:
        raise UserError(*wrong)
    return made


def _terms(name: str, array: Any, wrong: list[Diagnostic], *, may_be_open: bool) -> npt.NDArray[np.object_]:
    items: npt.NDArray[np.object_] = np.array(array, dtype=object)
    flat: npt.NDArray[np.object_] = np.empty(items.size, dtype=object)
    for k, item in enumerate(items.ravel().tolist()):
        term: Term | None = None if item is None else to_operand(item)
        if term is None and not (item is None and may_be_open):
            expected = "terms, numbers or None" if may_be_open else "terms or numbers"
            wrong.append(
                Diagnostic(
                    "SPEC_TERMS",
                    f"expected an array of {expected} for {name}, got an element of type {type(item).__name__}",
                    fix=f'Build it from wl.symbols("{name}", shape).',
                )
            )
            break
        flat[k] = term
    return flat.reshape(items.shape)
