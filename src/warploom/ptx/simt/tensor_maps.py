"""Tensor maps: what the host says of an array so that `cp.async.bulk.tensor` copies boxes of it (PTX ISA 5.5.3, 9.7.9.28).

The 128 bytes of a map are opaque to programs. Here, little-endian: 0 the address (u64); 8 rank - 1; 9 the type of elements; 10
the interleave; 11 the swizzle; 12 the fill, bytes each; from 16 on five u32 each of the box, of the steps between elements, of
the extents; from 80 on four u64, the strides in bytes of all dimensions but the first. The innermost dimension is the first. The
numbers are those of `tensormap.replace`, so that a kernel may build a map from zeros.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError

Swizzle: TypeAlias = Literal["none", "32B", "64B", "128B"]
MAP_BYTES = 128
SWIZZLES: tuple[Swizzle, ...] = ("none", "32B", "64B", "128B")
"""By the number that `tensormap.replace` gives them."""
ELEMENTS: dict[str, int] = {
    "u8": 1, "u16": 2, "u32": 4, "s32": 4, "u64": 8, "s64": 8, "f16": 2, "f32": 4, "f32.ftz": 4, "f64": 8, "bf16": 2, "tf32": 4,
    "tf32.ftz": 4, "b4x16": 8, "b4x16_p64": 8,
}  # fmt: skip
"""Types of elements, in the order of their numbers, with their bytes; of those of four bits the bytes of sixteen."""
_FOUR_BITS = {"b4x16": 8, "b4x16_p64": 16}
"""Bytes that sixteen elements of four bits take in shared memory, where zeros may follow them."""
_TOGETHER = 16
FIELDS: dict[str, tuple[int, str]] = {
    "global_address": (0, "Q"), "rank": (8, "B"), "elemtype": (9, "B"), "interleave_layout": (10, "B"), "swizzle_mode": (11, "B"),
    "fill_mode": (12, "B"), "box_dim": (16, "I"), "element_stride": (36, "I"), "global_dim": (56, "I"),
    "global_stride": (80, "Q"),
}  # fmt: skip
"""Offset and format of each field, of the first dimension's where there are several."""
MAX_RANK = 5
MAX_BOX = 256
_MAX_STEP = 8
_NANS = {"f16": 0x7FFF, "f32": 0x7FFFFFFF, "f32.ftz": 0x7FFFFFFF, "f64": 0x7FFFFFFFFFFFFFFF, "bf16": 0x7FFF,
         "tf32": 0x7FFFFFFF, "tf32.ftz": 0x7FFFFFFF}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TensorMap:
    """An argument that is a tensor map of an array, as `cuTensorMapEncodeTiled` makes it. Outermost axes first, as in NumPy.

    array: C-contiguous; the kernel may change it. box: elements that one copy moves along each axis, at most 256. shape: extents
    of the tensor, those of the array by default. strides: bytes from one element to the next along each axis, the innermost one
    element; by default those of the shape. swizzle: how 16-byte pieces are mixed in shared memory. fill: what comes where the box
    leaves the tensor, zeros or (for floats) NaN. steps: distance of the elements that are copied, along each axis. element: the
    type where NumPy has none of its own: `bf16` and `tf32`, of 16 and 32 bits; `b4x16` and `b4x16_p64` of bytes that hold two
    elements of four bits, which box and shape count.

    UserError: TENSOR_MAP.
    """

    array: NDArray[Any]
    box: Sequence[int]
    shape: Sequence[int] | None = None
    strides: Sequence[int] | None = None
    swizzle: Swizzle = "none"
    fill: Literal["zero", "nan"] = "zero"
    steps: Sequence[int] | None = None
    element: str = ""

    def __post_init__(self) -> None:
        self.encoded(0)

    def encoded(self, address: int) -> bytes:
        """The 128 bytes, of an array at that address."""
        array, name = self.array, self.element or _element(self.array)
        width = 1 if name in _FOUR_BITS else ELEMENTS.get(name)
        if width != array.dtype.itemsize or not array.flags.c_contiguous or array.size == 0:
            raise _wrong(f"a C-contiguous array of elements among {', '.join(ELEMENTS)}", f"{array.dtype} as {name}")
        halves = 2 if name in _FOUR_BITS else 1
        shape = tuple(self.shape if self.shape is not None else (*array.shape[:-1], halves * array.shape[-1]))
        rank, size = len(shape), 1 if name in _FOUR_BITS else ELEMENTS[name]
        box, steps = tuple(self.box), tuple(self.steps or (1,) * rank)
        apart = (*shape[:-1], shape[-1] // halves)
        strides = tuple(self.strides or (size * prod(apart[axis + 1 :]) for axis in range(rank)))
        if not 1 <= rank <= MAX_RANK or not len(box) == len(steps) == len(strides) == rank:
            raise _wrong(f"1 to {MAX_RANK} axes, as many in the box, the steps and the strides", f"{shape}, {box}")
        if min(shape) < 1:
            raise _wrong("extents of at least 1", f"{shape}")
        if strides[-1] != size or any(n % 16 or not 0 < n < 1 << 40 for n in strides[:-1]):
            raise _wrong("strides that are multiples of 16 bytes, the last of one element", f"{strides}")
        if sum((n - 1) * s for n, s in zip(apart, strides, strict=True)) + size > array.nbytes:
            raise _wrong(f"a tensor inside of the array's {array.nbytes} bytes", f"shape {shape}, strides {strides}")
        if self.swizzle not in SWIZZLES or self.fill not in ("zero", "nan") or (self.fill == "nan" and name not in _NANS):
            raise _wrong("a swizzle none, 32B, 64B or 128B, the fill zero, or nan of floats", f"{self.swizzle}, {self.fill}")
        found = bytearray(MAP_BYTES)
        numbers = {"global_address": address, "rank": rank - 1, "elemtype": list(ELEMENTS).index(name),
                   "swizzle_mode": SWIZZLES.index(self.swizzle), "fill_mode": int(self.fill == "nan")}  # fmt: skip
        for field, value in numbers.items():
            put(found, field, 0, value)
        for field, values in (
            ("box_dim", box),
            ("element_stride", steps),
            ("global_dim", shape),
            ("global_stride", strides[:-1]),
        ):
            for place, value in enumerate(reversed(values)):
                put(found, field, place, value)
        read(bytes(found))
        return bytes(found)


def put(into: bytearray, field: str, place: int, value: int) -> None:
    """Writes a field of a map; `place`: the dimension."""
    offset, form = FIELDS[field]
    size = struct.calcsize(form)
    into[offset + place * size : offset + (place + 1) * size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def _element(array: NDArray[Any]) -> str:
    kind, bits = array.dtype.kind, 8 * array.dtype.itemsize
    name = f"{ {'i': 's', 'u': 'u', 'f': 'f'}.get(kind, '?') }{bits}"
    return {"s8": "u8", "s16": "u16"}.get(name, name)


def _wrong(expected: str, got: str) -> UserError:
    return UserError(Diagnostic("TENSOR_MAP", f"expected {expected} in a tensor map, got {got}"))


@dataclass(frozen=True, slots=True)
class Map:
    """A map, read. The innermost dimension first."""

    address: int
    element: str
    size: int
    """Bytes of an element."""
    swizzle: int
    """Bits of a 16-byte piece's number that are mixed."""
    fill: int
    """The bits of an element outside."""
    box: tuple[int, ...]
    steps: tuple[int, ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    """Bytes."""

    @property
    def together(self) -> int:
        """Elements that a coordinate of the innermost dimension counts for one of the map's."""
        return _TOGETHER if self.element in _FOUR_BITS else 1

    @property
    def apart(self) -> int:
        """Bytes from one element to the next in shared memory."""
        return _FOUR_BITS.get(self.element, self.size)

    @property
    def box_bytes(self) -> int:
        return self.apart * prod(-(-n // s) for n, s in zip(self.box, self.steps, strict=True))

    def places(self, at: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """By element of the box, as it lies in shared memory before the swizzle: bytes after `address`, and whether it is inside
        of the tensor. at: the box's first coordinates."""
        place, inside = np.zeros((), np.int64), np.ones((), np.bool_)
        for first, box, step, extent, stride in zip(at, self.box, self.steps, self.extents, self.strides, strict=True):
            numbers = first + np.arange(0, box, step, dtype=np.int64)
            place = (numbers * stride)[:, None] + place.reshape(-1)
            inside = ((numbers >= 0) & (numbers < extent))[:, None] & inside.reshape(-1)
        return place.reshape(-1), inside.reshape(-1)


def swizzled(address: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Addresses in shared memory, in bytes, mixed: the number of a 16-byte piece by so many bits of that of the 128-byte line."""
    return address ^ ((address >> 3) & (((1 << bits) - 1) << 4))


def read(content: bytes) -> Map:
    """UserError (TENSOR_MAP) for bytes that are no map that the interpreter knows."""

    def number(field: str, place: int = 0) -> int:
        offset, form = FIELDS[field]
        return int(struct.unpack_from(f"<{form}", content, offset + place * struct.calcsize(form))[0])

    rank, element, swizzle = number("rank") + 1, number("elemtype"), number("swizzle_mode")
    if rank > MAX_RANK or element >= len(ELEMENTS) or swizzle >= len(SWIZZLES) or number("interleave_layout"):
        got = f"rank {rank}, element type {element}, swizzle {swizzle}, interleave {number('interleave_layout')}"
        raise _wrong("at most 5 dimensions, elements of whole bytes, a swizzle up to 128B and no interleave", got)
    name = list(ELEMENTS)[element]
    size = ELEMENTS[name]
    box, steps, extents = (
        tuple(number(field, place) for place in range(rank)) for field in ("box_dim", "element_stride", "global_dim")
    )
    strides = (size, *(number("global_stride", place) for place in range(rank - 1)))
    if name in _FOUR_BITS:
        if box[0] % _TOGETHER or extents[0] % _TOGETHER or steps[0] != 1:
            raise _wrong("rows of whole groups of 16 elements of four bits", f"a box of {box[0]} of {extents[0]}")
        box, extents = (box[0] // _TOGETHER, *box[1:]), (extents[0] // _TOGETHER, *extents[1:])
    found = Map(
        number("global_address"), name, size, swizzle, _NANS.get(name, 0) if number("fill_mode") else 0, box, steps, extents,
        strides,
    )  # fmt: skip
    if any(not 1 <= n <= MAX_BOX for n in box) or any(not 1 <= n <= _MAX_STEP for n in steps) or found.address % 16:
        raise _wrong(f"a box of 1 to {MAX_BOX}, steps of 1 to {_MAX_STEP} and an address in multiples of 16",
                     f"{box}, {steps}, {found.address:#x}")  # fmt: skip
    inner = -(-box[0] // steps[0]) * found.apart
    if inner % 16 or (swizzle and inner > 16 << swizzle):
        limit = f", at most {16 << swizzle} with the swizzle {SWIZZLES[swizzle]}" if swizzle else ""
        raise _wrong(f"rows of a box in multiples of 16 bytes{limit}", f"{inner} bytes")
    return found
