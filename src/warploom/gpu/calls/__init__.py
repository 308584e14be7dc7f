"""Kernels called with tensors that lie in a GPU's memory: CuPy's, PyTorch's, JAX's, Numba's, whatever hands over its address.

Takes the text of kernels and the tensors of a call. Gives launches on the caller's stream, in the context of the tensors. Open
`launching.py` first, then `tensors.py`.
"""

from warploom.gpu.calls.checks import Wanted, fitting, require_all_on_device, require_apart, taken
from warploom.gpu.calls.copies import copied_to, device_of
from warploom.gpu.calls.launching import (
    Launch,
    Place,
    at_tensors,
    call_stream,
    copy_on_device,
    finish,
    new_tensor,
    run_launches,
    to_host,
)
from warploom.gpu.calls.sketches import SketchCalls
from warploom.gpu.calls.tensors import DeviceTensor, NotTaken, device_tensor, is_on_device

__all__ = [
    "DeviceTensor", "Launch", "NotTaken", "Place", "SketchCalls", "Wanted", "at_tensors", "call_stream", "copied_to",
    "copy_on_device", "device_of", "device_tensor", "finish", "fitting", "is_on_device", "new_tensor",
    "require_all_on_device", "require_apart", "run_launches", "taken", "to_host",
]  # fmt: skip
