"""tcgen05.mma: products into tensor memory, with and without scale factors (PTX ISA 9.7.16.10).

The result is there at once; what the product writes and reads until the wait for its commit is kept by `tensor_memory` and
`readers`. Scale factors lie in tensor memory: row (or column) i at lane i mod 32 of each quarter of the lanes, in column i / 32.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from warploom.ptx.simt import numerics
from warploom.ptx.simt.accesses import access_of
from warploom.ptx.simt.bulk_copies import note_words
from warploom.ptx.simt.code import Access, Group, RunningBlocks, Step
from warploom.ptx.simt.descriptors import fetch
from warploom.ptx.simt.operands import Site, value_of
from warploom.ptx.simt.tensor_memory import LANES, check_columns, tensor_address
from warploom.ptx.simt.threads import Value
from warploom.ptx.simt.wgmma import DEPTH_BYTES, negated
from warploom.ptx.syntax import Address, Integer

_BYTES = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
_KINDS: dict[str, dict[int, str]] = {
    "kind::f16": {0: "f16", 1: "bf16"}, "kind::tf32": {2: "tf32"}, "kind::f8f6f4": _BYTES, "kind::i8": {0: "u8", 1: "s8"},
    "kind::mxf8f6f4": _BYTES, "kind::mxf4": {1: "e2m1"}, "kind::mxf4nvf4": {1: "e2m1"},
}  # fmt: skip
"""Types of A and B by their numbers in the instruction descriptor."""
_SUMS = {0: "f16", 1: "f32", 2: "s32"}
_SUMS_OF = {"kind::f16": (0, 1), "kind::tf32": (1,), "kind::f8f6f4": (0, 1), "kind::i8": (2,)}
_GROUPS = {
    "kind::mxf8f6f4": {"": 1, "scale_vec::1X": 1, "block32": 1},
    "kind::mxf4": {"": 2, "scale_vec::2X": 2, "block32": 2},
    "kind::mxf4nvf4": {"scale_vec::2X": 2, "block32": 2, "scale_vec::4X": 4, "block16": 4},
}
"""Scale factors of each row by the modifier."""
_COLLECTORS = frozenset(f"collector::a::{use}" for use in ("fill", "use", "lastuse", "discard"))
_QUARTER = 32


class _Product:
    """The fields of an instruction descriptor (PTX ISA 9.7.16.4.2)."""

    def __init__(self, word: int, kind: str, groups: int) -> None:
        types = _KINDS[kind]
        self.a_type, self.b_type = types.get(word >> 7 & 7, ""), types.get(word >> 10 & 7, "")
        self.negated = bool(word >> 13 & 1), bool(word >> 14 & 1)
        self.turned = bool(word >> 15 & 1), bool(word >> 16 & 1)
        self.n = 8 * (word >> 17 & 63)
        self.m = 128 * (word >> 27 & 3) if groups else 16 * (word >> 24 & 31)
        self.is_dense = kind in ("kind::mxf4", "kind::mxf4nvf4")
        """Whether two elements lie in a byte."""
        self.scale_type = "ue8m0" if word >> 23 & 1 else "ue4m3"
        self.scale_bytes = word >> 29 & 3, word >> 4 & 3
        """First byte of the scale factors of A and B in their words."""
        self.saturates = not groups and bool(word >> 3 & 1)
        self.sum_type = "f32" if groups else _SUMS.get(word >> 4 & 3, "") if word >> 4 & 3 in _SUMS_OF[kind] else ""
        self.problem = self._problem_of_scales(word, kind, groups) if groups else self._problem(word, kind)

    def _problem(self, word: int, kind: str) -> str:
        if word & 7 or word >> 30:
            return "a sparse matrix or a shift"
        if not (self.a_type and self.b_type and self.sum_type):
            return f"types {word >> 7 & 7} and {word >> 10 & 7}, of the sum {word >> 4 & 3}"
        if self.m not in (64, 128) or not self.n or self.n > 256 or self.n % (8 if self.m == 64 else 16):
            return f"the shape {self.m} by {self.n}"
        if self.saturates and kind != "kind::i8":
            return "saturation of floats"
        return self._problem_of_order(kind == "kind::tf32")

    def _problem_of_scales(self, word: int, kind: str, groups: int) -> str:
        if word & 0x4F or word >> 24 & 7 or word >> 31:
            return "a sparse matrix or another depth"
        if not (self.a_type and self.b_type):
            return f"types {word >> 7 & 7} and {word >> 10 & 7}"
        if self.m != LANES or not 8 <= self.n <= 256:
            return f"the shape {self.m} by {self.n}"
        if self.scale_type == "ue4m3" and (kind != "kind::mxf4nvf4" or groups != 4):
            return "scale factors of the type ue4m3"
        if any(first % groups for first in self.scale_bytes):
            return f"scale factors from the bytes {self.scale_bytes[0]} and {self.scale_bytes[1]} on"
        return self._problem_of_order(self.is_dense)

    def _problem_of_order(self, is_refused: bool) -> str:
        small = tuple(t in numerics.SMALL for t in (self.a_type, self.b_type))
        if any(t and (is_refused or s) for t, s in zip(self.turned, small, strict=True)):
            return f"elements of {'32 bits' if self.a_type == 'tf32' else 'less than a byte'} along the rows"
        return ""

    @property
    def is_small(self) -> bool:
        """Whether elements are looked up as values."""
        return any(t in numerics.SMALL for t in (self.a_type, self.b_type))

    def lanes(self, first: int) -> NDArray[np.int64]:
        """Lane of each row."""
        rows = np.arange(self.m)
        return first + (rows if self.m == LANES else rows // 16 * 32 + rows % 16)


def decode_product(site: Site, modifiers: list[str]) -> Step:
    """The modifiers after `mma`; UnsupportedError for pairs of blocks, sparse products, lanes that are left out and scales."""
    kind, *rest = modifiers
    rest = [m for m in rest if m not in _COLLECTORS]
    groups = 0
    if rest[:1] == ["block_scale"] and len(rest) <= 2:
        groups = _GROUPS.get(kind, {}).get((rest[1:] or [""])[0], 0)
        rest = [] if groups else rest
    if kind not in _KINDS or rest or (kind in _GROUPS) != bool(groups):
        raise site.unsupported(site.instruction.name)
    target, a, b, instruction, *operands = site.instruction.operands
    factors = operands[:2] if groups else []
    operands = operands[len(factors) :]
    if len(operands) != 1 or not isinstance(target, Address):
        raise site.unsupported(f"{site.instruction.name} with lanes that are left out or a scale")
    into = tensor_address(site, target)
    left_cells = tensor_address(site, a) if isinstance(a, Address) else None
    left_slot = site.sized(a, "b64") if left_cells is None else -1
    right_slot, described, adds = site.sized(b, "b64"), site.sized(instruction, "b32"), site.sized(operands[0], "pred")
    scales = [tensor_address(site, factor) for factor in factors if isinstance(factor, Address)]
    if len(scales) != len(factors):
        raise site.wrong("scale factors at addresses in brackets", "others")
    access = access_of(site, Address(Integer(0), 0), "ld", 4, 1, "shared", is_strong=False)
    code, index = site.code, site.index
    span = code.routine.span(index)

    def each(group: Group, slot: int) -> Value:
        return np.broadcast_to(value_of(group.registers, slot), group.size)

    def multiply(group: Group, running: RunningBlocks) -> None:
        for position in range(group.size):
            one = group if group.size == 1 else group.part(np.array([position]))
            thread = int(one.threads[0])
            word = int(each(one, described)[0])
            product = _Product(word, kind, groups)
            if product.problem:
                message = f"an instruction descriptor {word:#010x} with {product.problem}, which the interpreter does not know"
                raise running.fault("bad_call", message, code, index, thread)
            block = int(running.block_of[thread])
            size = 1 if product.is_small else numerics.scalar_type(product.a_type).bits // 8
            deep = DEPTH_BYTES // size
            at = int(np.ravel(into(one))[0])
            lane, column = at >> 16, at & 0xFFFF
            if lane not in ((0,) if product.m == LANES else (0, 16)):
                raise running.fault("bad_call", f"a product from lane {lane} of tensor memory on", code, index, thread)
            check_columns(site, block, column, product.n, thread, running)
            wanted = (product.n, deep, size)
            right, *read = _from_shared(access, each(one, right_slot), wanted, block, one, running, product, 1)
            cells_read: list[tuple[NDArray[np.int64], tuple[int, int]]] = []
            if left_cells is None:
                wanted = (product.m, deep, size)
                left, words = _from_shared(access, each(one, left_slot), wanted, block, one, running, product, 0)
                read.append(words)
            else:
                place = int(np.ravel(left_cells(one))[0])
                left = _from_cells(site, place, product, size, block, thread, running)
                cells_read.append((product.lanes(place >> 16), (place & 0xFFFF, (place & 0xFFFF) + DEPTH_BYTES // 4)))
            factors_read: list[Value] = []
            for number, address in enumerate(scales):
                place, rows = int(np.ravel(address(one))[0]), (product.m, product.n)[number]
                first = product.scale_bytes[number]
                factors_read.append(_factors(site, place, rows, first, groups, block, thread, running))
                start = place & 0xFFFF
                cells_read.append((np.arange(LANES), (start, start - (-rows // _QUARTER))))
            cells = running.tensor_memory.cells(block)
            where = np.ix_(product.lanes(lane), np.arange(column, column + product.n))
            old = cells[where] if bool(each(one, adds)[0]) else np.zeros((product.m, product.n), np.uint32)
            cells[where] = _result(product, left, right, old, factors_read, is_held=left_cells is not None)
            if running.launch.checks:
                memory = running.tensor_memory
                number = memory.started(thread, block, product.lanes(lane), (column, column + product.n), span)
                for lanes, columns in cells_read:
                    memory.reading(number, thread, block, lanes, columns, span)
                for words in read:
                    running.readers.started("tcgen05", thread, words, access, running, number=number)

    return multiply


def _result(product: _Product, left: Value, right: Value, old: Value, scales: list[Value], *, is_held: bool) -> Value:
    """The sums, of bytes or elements [rows, ...] of A and [columns, ...] of B."""
    addend = old.astype(np.uint16) if product.sum_type == "f16" else old
    if not scales and not product.is_small:
        left, right = (negated(m) if n else m for m, n in zip((left, right), product.negated, strict=True))
        types = product.sum_type, product.a_type, product.b_type, product.sum_type
        return numerics.product_sum(types, left, right.T, addend, satfinite=product.saturates)
    values: list[NDArray[np.float64]] = []
    for number, (type_name, raw) in enumerate(((product.a_type, left), (product.b_type, right))):
        packing = "dense" if product.is_dense else "held" if is_held and number == 0 else "padded"
        found = numerics.elements(type_name, np.ascontiguousarray(raw), packing)
        if scales:
            found = numerics.scaled(found, product.scale_type, scales[number])
        values.append(-found if product.negated[number] else found)
    return numerics.product_of_values(values[0], values[1], addend, product.sum_type)


def _from_shared(
    access: Access, word: Value, shape: tuple[int, int, int], block: int, one: Group, running: RunningBlocks, product: _Product,
    which: int,
) -> tuple[Value, NDArray[np.int64]]:  # fmt: skip
    """A (0) or B (1), and the words of shared memory that hold it."""
    is_turned = product.turned[which]
    places, words = fetch(access, int(word[0]), shape, block, one, running, is_mn_major=is_turned, is_blackwell=True)
    bits = numerics.SMALL.get((product.a_type, product.b_type)[which], 8)
    if bits < 8 and not product.is_dense:
        words = np.unique(places[:, np.arange(shape[1]) % 16 < 2 * bits] >> 2)
    if running.is_watching:
        note_words(access, running.shared, words, one, running)
    return running.shared.views.by_width[shape[2]][places // shape[2]], words


def _from_cells(site: Site, address: int, product: _Product, size: int, block: int, thread: int, running: RunningBlocks) -> Value:
    """A, whose rows lie in lanes and whose elements fill columns."""
    lane, column = address >> 16, address & 0xFFFF
    wide = DEPTH_BYTES // 4
    if lane not in ((0,) if product.m == LANES else (0, 16)):
        raise running.fault("bad_call", f"a matrix from lane {lane} of tensor memory on", site.code, site.index, thread)
    check_columns(site, block, column, wide, thread, running)
    found = running.tensor_memory.cells(block)[np.ix_(product.lanes(lane), np.arange(column, column + wide))]
    return np.ascontiguousarray(found).view(f"u{size}")


def _factors(
    site: Site, address: int, rows: int, first: int, groups: int, block: int, thread: int, running: RunningBlocks
) -> Value:
    """[rows, groups]: the bytes of scale factors. Their address may have the first byte's number in its two highest bits."""
    lane, column = address >> 16 & 0x3FFF, address & 0xFFFF
    wide = -(-rows // _QUARTER)
    if lane:
        raise running.fault("bad_call", f"scale factors from lane {lane} of tensor memory on", site.code, site.index, thread)
    check_columns(site, block, column, wide, thread, running)
    held = running.tensor_memory.cells(block)[:, column : column + wide].reshape(-1, _QUARTER, wide)
    raw = np.ascontiguousarray(held).view(np.uint8).reshape(-1, _QUARTER, wide, 4)[..., first : first + groups]
    by_row = raw.swapaxes(1, 2).reshape(len(raw), -1, groups)[:, :rows]
    if (by_row != by_row[0]).any():
        message = "scale factors that are not the same in the four quarters of the lanes of tensor memory"
        raise running.fault("bad_call", message, site.code, site.index, thread)
    return by_row[0]
