"""A tensor in a GPU's memory, as its package shows it: `__cuda_array_interface__`, or a DLPack capsule.

Source: CUDA Array Interface, version 3 (Numba-CUDA's documentation); DLPack 1.0.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from warploom.gpu.calls.dlpack import CUDA, CUDA_MANAGED, device_type, handed
from warploom.gpu.calls.packages import package_of, settle

_PER_THREAD_OR_LEGACY = {0: 1}
"""DLPack has no 0 for the legacy default stream."""
_MISSING = object()


@dataclass(frozen=True, slots=True)
class DeviceTensor:
    owner: Any
    """The user's tensor, and whatever keeps its memory."""
    pointer: int
    """0 where there are no elements."""
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...] | None
    """None: in C's order."""
    dtype: str
    """`f32` and the like; what the package says where that is none of Warploom's types."""
    item_bytes: int
    is_writable: bool
    stream: int | None
    """Stream on which its contents are there; None: nothing is to be waited for."""
    package: str

    @property
    def size_bytes(self) -> int:
        found = self.item_bytes
        for extent in self.shape:
            found *= extent
        return found

    @property
    def is_dense(self) -> bool:
        """Whether elements follow each other in C's order; strides of axes of one element do not count."""
        if self.strides_bytes is None or 0 in self.shape:
            return True
        step = self.item_bytes
        for extent, stride in zip(reversed(self.shape), reversed(self.strides_bytes), strict=True):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True


@dataclass(frozen=True, slots=True)
class NotTaken:
    """Why a tensor is not taken."""

    got: str
    fix: str
    """`{0}`: the parameter's name."""


def is_on_device(value: object) -> bool:
    """Whether it is a tensor in a GPU's memory, whether or not it can be taken. Runs code of its package, and raises nothing."""
    if isinstance(value, type) or _is_fake(value):
        return False
    if _interface(value) is not _MISSING:
        return True
    try:
        return device_type(value) in (CUDA, CUDA_MANAGED)
    except Exception:  # code of any package
        return False


def told_stream(value: object) -> int | None:
    """Handle of the stream that the tensor's interface names; None where it names none."""
    interface = _interface(value)
    stream = None if interface is _MISSING or isinstance(interface, Exception) else interface.get("stream")
    return None if stream is None else int(stream)


def device_tensor(value: Any, stream: int | None = None) -> DeviceTensor | NotTaken:
    """The tensor as it lies, without a copy. `stream`: on which it will be used, for packages that are told so."""
    package = package_of(value)
    if package == "torch":
        torch = sys.modules["torch"]
        if value.requires_grad:
            if torch.is_grad_enabled():
                return NotTaken("a tensor that records gradients", "Pass {0}.detach(), or call inside of torch.no_grad().")
            value = value.detach()
        if value.is_neg():
            return NotTaken("a negated view, whose elements are not what is in memory", "Pass {0}.resolve_neg().")
    try:
        settle(package, value)
        interface = _interface(value)
        if isinstance(interface, Exception):
            raise interface
        if interface is not _MISSING:
            return _by_interface(value, interface, package)
        capsule = value.__dlpack__(stream=_PER_THREAD_OR_LEGACY.get(stream or 0, stream))
        found = handed(capsule)
    except Exception as error:  # code of any package
        return NotTaken(f"a tensor that its package does not hand over: {error}", "Pass a plain tensor of numbers for {0}.")
    return DeviceTensor(
        (value, capsule), found.pointer, found.shape, found.strides_bytes, found.dtype, found.item_bytes,
        is_writable=package != "jax", stream=None, package=package,
    )  # fmt: skip


def _by_interface(value: Any, interface: Mapping[str, Any], package: str) -> DeviceTensor | NotTaken:
    if interface.get("mask") is not None:
        return NotTaken("a masked array, whose mask no kernel knows", "Pass one without a mask for {0}.")
    shape, strides = tuple(map(int, interface["shape"])), interface.get("strides")
    pointer, is_read_only = interface["data"]
    text = str(interface["typestr"])
    return DeviceTensor(
        value,
        int(pointer or 0),
        shape,
        None if strides is None else tuple(map(int, strides)),
        _type_name(text, value),
        int(text[2:]),
        is_writable=not is_read_only and package != "jax",
        stream=told_stream(value),
        package=package,
    )


def _type_name(text: str, value: Any) -> str:
    """`<f4` is `f32`. Types that NumPy lacks are told as words of their size; their names are those of the package."""
    own = str(getattr(value, "dtype", ""))
    for name, words in (("bf16", "bfloat16"), ("e4m3", "float8_e4m3fn"), ("e5m2", "float8_e5m2")):
        if own.endswith(words):
            return name
    order, kind, size = text[0], text[1], int(text[2:])
    is_swapped = order == (">" if sys.byteorder == "little" else "<") and size > 1
    if kind not in "iuf" or is_swapped or (kind == "f" and size == 1):
        return text
    return f"{kind}{8 * size}"


def _interface(value: object) -> Any:
    """The dictionary, `_MISSING` where the object has none, the error where its package refuses to give it."""
    try:
        return value.__cuda_array_interface__  # type: ignore[attr-defined]
    except AttributeError:
        return _MISSING
    except Exception as error:  # PyTorch raises for tensors that record gradients
        return error


def _is_fake(value: object) -> bool:
    return any(base.__name__ == "FakeTensor" for base in type(value).__mro__)
