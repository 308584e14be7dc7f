"""Arguments of a user's launch, as NumPy arrays over the same memory."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError
from warploom.tools.lint.sources import Compilation

ARCH = "WARPLOOM_ARCH"
"""Variable of the environment: the architecture that kernels are compiled for."""
DEFAULT_ARCH = "sm_90"


def compilation() -> Compilation:
    """UserError (ARCHITECTURE) where the environment names none that there is."""
    return Compilation(os.environ.get(ARCH, DEFAULT_ARCH))


def as_array(value: Any, name: str) -> Any:
    """An array of NumPy over the memory of a tensor on the CPU; anything else as it is.

    UserError (LAUNCH_ARGUMENTS): a tensor whose memory NumPy cannot see.
    """
    if isinstance(value, np.ndarray):
        return value.view(np.ndarray)
    if not hasattr(value, "data_ptr") and not hasattr(value, "__dlpack__"):
        return value
    try:
        found: Any = value.detach().numpy() if hasattr(value, "detach") else np.from_dlpack(value)
    except Exception as error:  # each package has its own
        message = f"expected a tensor on the CPU of a type that NumPy has for {name}, got {type(value).__name__}: {error}"
        fix = "Create it on the CPU (without a device), in float32, float16 or an integer type."
        raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, fix=fix)) from None
    return found


def without_gaps(array: NDArray[Any]) -> NDArray[Any]:
    """The memory from the first element of an array to its last, of which the array is a view with strides.

    UserError (LAUNCH_ARGUMENTS) where an axis runs backwards.
    """
    if array.flags.c_contiguous:
        return array
    size = array.dtype.itemsize
    if any(stride < 0 or stride % size for stride in array.strides):
        message = "expected an array whose axes run forwards, got one with a negative or odd stride"
        raise UserError(Diagnostic("LAUNCH_ARGUMENTS", message, fix="Pass a copy."))
    count = (
        0 if array.size == 0 else 1 + sum((n - 1) * stride // size for n, stride in zip(array.shape, array.strides, strict=True))
    )
    return np.lib.stride_tricks.as_strided(array, (count,), (size,))
