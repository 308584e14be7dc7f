"""Tensors that another package hands over as a DLPack capsule: address, shape and type, read where they lie.

Source: dlpack.h of DLPack 1.0 (the unversioned `DLManagedTensor`), and Python's data interchange for arrays.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

CUDA, CUDA_MANAGED = 2, 13
"""DLPack's numbers for memory of NVIDIA's GPUs."""
_NAME = b"dltensor"
_TYPES = {
    **{(0, bits): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{(1, bits): f"u{bits}" for bits in (8, 16, 32, 64)},
    **{(2, bits): f"f{bits}" for bits in (16, 32, 64)},
    (4, 16): "bf16",
    (10, 8): "e4m3",
    (12, 8): "e5m2",
}


class _Device(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


@dataclass(frozen=True, slots=True)
class Handed:
    """Contents of a capsule; the memory is there as long as the capsule is."""

    pointer: int
    shape: tuple[int, ...]
    strides_bytes: tuple[int, ...] | None
    """None: in C's order."""
    dtype: str
    item_bytes: int


def device_type(value: object) -> int | None:
    """DLPack's number for the memory of the tensor; None where it is no tensor, or does not tell."""
    where: Any = getattr(value, "__dlpack_device__", None)
    return None if where is None or isinstance(value, type) else int(where()[0])


def handed(capsule: object) -> Handed:
    """Contents of the capsule, which stays unused: it frees its tensor when it is dropped. ValueError for another object."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _Tensor.from_address(pointer(capsule, _NAME))
    kind, count = tensor.dtype, tensor.ndim
    item = kind.bits * kind.lanes // 8
    name = _TYPES.get((kind.code, kind.bits)) if kind.lanes == 1 else None
    strides = tuple(item * n for n in tensor.strides[:count]) if tensor.strides else None
    return Handed(
        (tensor.data or 0) + tensor.byte_offset,
        tuple(tensor.shape[:count]),
        strides,
        name or f"DLPack's type {kind.code} of {kind.bits} bits",
        item,
    )
