"""Kinds of the compiled subset are read alike whatever NumPy's release says that `NDArray[...]` is."""

from __future__ import annotations

from types import GenericAlias
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from warploom.solve.jit import kinds


class _Alias:
    """`NDArray` as it is from NumPy 2.5 on: a type of its own, with a parameter."""

    def __getitem__(self, element: Any) -> GenericAlias:
        return GenericAlias(self, (element,))  # type: ignore[arg-type]


@pytest.mark.parametrize("element", [np.int64, np.float64, np.uint8])
def test_arrays_of_every_release(element: type, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = kinds.Array(np.dtype(element))
    assert kinds.kind_of(NDArray[element]) == kinds.kind_of(np.ndarray[Any, np.dtype[element]]) == expected
    alias = _Alias()
    monkeypatch.setattr(kinds, "NDArray", alias)
    assert kinds.kind_of(alias[element]) == expected
