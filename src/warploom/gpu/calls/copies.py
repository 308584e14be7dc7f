"""NumPy's arrays on a GPU for the time of a call."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Set
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, DType, UserError, values_of, words_of
from warploom.gpu.calls.launching import context_of
from warploom.gpu.calls.tensors import DeviceTensor
from warploom.gpu.device import checked, driver

_PREFIX = "cuda"


def device_of(given: object) -> int:
    """Number of a GPU: `0`, `"cuda"`, `"cuda:1"`. UserError: OPTION, NO_DEVICE."""
    number: object = given
    if isinstance(given, str) and given.partition(":")[0] == _PREFIX:
        rest = given.removeprefix(_PREFIX)
        number = 0 if not rest else int(rest[1:]) if rest[1:].isascii() and rest[1:].isdigit() else given
    if type(number) is not int or number < 0:
        message = f"expected a GPU's number, or a text such as cuda:0, as device, got {given!r}"
        raise UserError(Diagnostic("OPTION", message, fix="Leave device out to run on the interpreter."))
    count = int(checked(driver().cuDeviceGetCount()))
    if number >= count:
        raise UserError(Diagnostic("NO_DEVICE", f"expected a GPU below {count} as device, got {given!r}"))
    return number


@contextmanager
def copied_to(
    device: int, arrays: Mapping[str, NDArray[Any]], dtypes: Mapping[str, DType], outputs: Set[str]
) -> Generator[dict[str, DeviceTensor]]:
    """Copies on the device; those of `outputs` come back at the end. Types that NumPy lacks are held in float32 there."""
    api = driver()
    with context_of(device):
        made: dict[str, Any] = {}
        try:
            tensors: dict[str, DeviceTensor] = {}
            for name, array in arrays.items():
                words = np.ascontiguousarray(words_of(dtypes[name], array))
                made[name] = checked(api.cuMemAlloc(max(words.nbytes, 1)))
                if words.nbytes:
                    checked(api.cuMemcpyHtoD(made[name], words.ctypes.data, words.nbytes))
                tensors[name] = DeviceTensor(
                    array, int(made[name]) if words.nbytes else 0, array.shape, None, dtypes[name].name, words.itemsize,
                    is_writable=True, stream=None, package="",
                )  # fmt: skip
            yield tensors
            checked(api.cuCtxSynchronize())
            for name in outputs & arrays.keys():
                array = arrays[name]
                words = np.empty(array.shape, words_of(dtypes[name], np.empty(0, array.dtype)).dtype)
                if words.nbytes:
                    checked(api.cuMemcpyDtoH(words.ctypes.data, made[name], words.nbytes))
                array[...] = values_of(dtypes[name], words) if dtypes[name].is_held else words
        finally:
            for memory in made.values():
                api.cuMemFree(memory)
