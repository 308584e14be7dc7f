"""Differences between the packages whose tensors lie in a GPU's memory: their streams, and how they make new tensors.

No package is imported here: whoever passes a tensor of one has loaded it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from warploom.core import Diagnostic, DType, UserError

_HEADS = {"torch": "torch", "cupy": "cupy", "jax": "jax", "jaxlib": "jax", "numba": "numba", "numba_cuda": "numba"}
_FLOATS = {"bf16": "bfloat16", "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2"}
_KINDS = {"int": "int", "uint": "uint", "float": "float"}
LEGACY = 0
_LEGACY_HANDLES = (0, 1)
"""Two names of the legacy default stream."""


def package_of(value: object) -> str:
    """`torch`, `cupy`, `jax` or `numba` for a tensor of a class of these, or of one derived from it; empty for others."""
    for base in type(value).__mro__:
        head = _HEADS.get(base.__module__.partition(".")[0])
        if head is not None:
            return head
    return ""


def array_dtype(dtype: DType) -> str:
    """`float32` and the like: what packages call the type of one component."""
    return _FLOATS.get(dtype.name) or f"{_KINDS[dtype.kind]}{dtype.bits}"


def stream_handle(given: object) -> int:
    """Handle of a stream: a number, or PyTorch's, CuPy's, Numba's and cuda.core's objects. UserError (CALL_STREAM)."""
    if type(given) is int and given >= 0:
        return given
    protocol: Any = getattr(given, "__cuda_stream__", None)
    if protocol is not None and not isinstance(given, type):
        found: Any = protocol() if callable(protocol) else protocol
        return int(found[1])
    for name in ("cuda_stream", "ptr", "handle"):
        value: Any = getattr(given, name, None)
        if type(value) is int:
            return value
        if name == "handle" and value is not None:  # Numba's is an object of ctypes, without a value for the default stream
            return int(getattr(value, "value", value) or LEGACY)
    message = f"expected a stream or its handle as stream, got {given!r}"
    raise UserError(Diagnostic("CALL_STREAM", message, fix="Pass torch.cuda.current_stream(), cupy.cuda.Stream() or an int."))


def same_stream(one: int, other: int) -> bool:
    return one == other or (one in _LEGACY_HANDLES and other in _LEGACY_HANDLES)


def current_stream(package: str, device: Any) -> int | None:
    """Handle of the stream on which the package works now; None where it does not tell, and its tensors may."""
    module = sys.modules.get(package)
    if package == "torch" and module is not None:
        return int(module.cuda.current_stream(device).cuda_stream)
    if package == "cupy" and module is not None:
        return int(module.cuda.get_current_stream().ptr)
    return None


def settle(package: str, tensor: Any) -> None:
    """Waits until the tensor has its values, for a package that runs on streams that it does not tell."""
    if package == "jax":
        tensor.block_until_ready()


def is_settled_after(package: str) -> bool:
    """Whether work of a call must be done before the package may use what it gave or gets."""
    return package == "jax"


def empty(package: str, shape: tuple[int, ...], dtype: DType, device: int, stream: int) -> Any | None:
    """A new tensor of the package on the device, made for use on the stream; None for a package without a way to make one.

    UserError (CALL_DTYPE) where the package has no such type.
    """
    make = _MAKERS.get(package)
    module: Any = sys.modules.get(package)
    if make is None or module is None:
        return None
    return make(module, shape, array_dtype(dtype), device, stream)


def _empty_torch(torch: Any, shape: tuple[int, ...], name: str, device: int, stream: int) -> Any:
    dtype = _type_of(torch, "torch", name)
    with _others(lambda: torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device)), "torch", device, stream):
        return torch.empty(shape, dtype=dtype, device=f"cuda:{device}")


def _empty_cupy(cupy: Any, shape: tuple[int, ...], name: str, device: int, stream: int) -> Any:
    dtype = _type_of(cupy, "CuPy", name)
    with ExitStack() as stack:
        stack.enter_context(cupy.cuda.Device(device))
        stack.enter_context(_others(lambda: cupy.cuda.ExternalStream(stream, device), "cupy", device, stream))
        return cupy.empty(shape, dtype=dtype)


def _empty_jax(jax: Any, shape: tuple[int, ...], name: str, device: int, stream: int) -> Any:
    dtype = _type_of(jax.numpy, "JAX", name)
    at = next((d for d in jax.devices() if getattr(d, "local_hardware_id", d.id) == device), None)
    # A buffer of its own, which nobody has seen when the kernel writes it.
    made = jax.device_put(jax.numpy.zeros(shape, dtype=dtype), at)
    if made.dtype != dtype:
        raise _no_type("JAX", name, "Set jax_enable_x64.")
    made.block_until_ready()
    return made


def _empty_numba(numba: Any, shape: tuple[int, ...], name: str, device: int, stream: int) -> Any:
    import numpy as np

    if not hasattr(np, name):
        raise _no_type("Numba", name)
    with numba.cuda.gpus[device]:
        return numba.cuda.device_array(shape, dtype=getattr(np, name))


_MAKERS: dict[str, Callable[[Any, tuple[int, ...], str, int, int], Any]] = {
    "torch": _empty_torch, "cupy": _empty_cupy, "jax": _empty_jax, "numba": _empty_numba,
}  # fmt: skip


def _others(make: Callable[[], Any], package: str, device: int, stream: int) -> AbstractContextManager[Any]:
    """Another stream than the package's current one, in whose order its memory is reused."""
    current = current_stream(package, device)
    return nullcontext() if current is not None and same_stream(current, stream) else make()


def _type_of(module: Any, package: str, name: str) -> Any:
    dtype = getattr(module, name, None)
    if dtype is None:
        raise _no_type(package, name)
    return dtype


def _no_type(package: str, name: str, fix: str = "Pass the output, as a tensor of a package that has it.") -> UserError:
    return UserError(Diagnostic("CALL_DTYPE", f"expected a type that {package} has for an output left out, got {name}", fix=fix))
