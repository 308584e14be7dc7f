"""CUDA: the scan of a block as a network on shared memory, with packed lanes and remapped addresses (the paper's form)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.ctext import Text, added, binary, decimal
from warploom.ir.swizzle import Xor
from warploom.scan.emit.cuda import SIZES, WARP, Bodies, Choices, CudaScan, cuda_scan, form_parts, operator_parts
from warploom.scan.emit.dialect import Types
from warploom.scan.emit.printer import unserved
from warploom.scan.layouts import Lookup, Padding, Plain, Remap, Swizzle, addresses
from warploom.scan.networks import Network, Step
from warploom.scan.operators.operator import Operator
from warploom.scan.variants import ScanForm

STATIC_BYTES = 49_152
"""Most static shared memory of a block."""
PLACES = "PLACES"
"""The array of constant memory that has the places of cells, where a table says them."""
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Packed:
    """Destination and source of a step's k-th operation, as C over `k`."""

    count: int
    destination: str
    source: str
    overlaps: bool
    """True if some cell is read by one lane and written by another."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A network for all elements of a block, and the places of its cells in shared memory."""

    name: str
    net: Network
    remap: Remap


def shared_scan(
    operator: Operator, cells: Cells, types: Types | None = None, choices: Choices | None = None, bodies: Bodies = "inlined",
    form: ScanForm | None = None,
) -> CudaScan:  # fmt: skip
    """The kernels `scan_block_shared` and `..._exclusive` beside those of `cuda_scan`; UnsupportedError for steps without a
    pattern, UserError for more than a block holds."""
    made = cuda_scan(operator, types, choices, bodies, form)
    net, remap = cells.net, cells.remap
    slots = int(addresses(remap, net.columns).max()) + 1
    room = slots * sum(SIZES[s.scalar] for s in made.body.fields)
    if net.columns % WARP or not WARP <= net.columns <= 1024 or room > STATIC_BYTES:
        message = f"expected 32, 64, ..., 1024 cells in at most {STATIC_BYTES} bytes, got {net.columns} in {room}"
        raise UserError(Diagnostic("TOO_LARGE", message, fix="Give fewer or more --threads."))
    parts = operator_parts(made.body, bodies) | form_parts(made.form, made.body, bodies) | {
        "COLUMNS": str(net.columns),
        "SLOTS": str(slots),
        "TABLE": _table(remap),
        "PLACE": place(remap),
        "MEMBERS": "\n".join(f"    {made.body.dialect.types[s.scalar]} {s.name}[SLOTS];" for s in made.body.fields),
        "GET": "\n".join(f"    r.{s.name} = cells.{s.name}[p];" for s in made.body.fields),
        "PUT": "\n".join(f"    cells.{s.name}[p] = v.{s.name};" for s in made.body.fields),
        "BLOCK_NETWORK": cells.name,
        "BLOCK_STEPS": "\n".join(_step_text(packed(step)) for step in net.steps),
    }  # fmt: skip
    text = (_HERE / "shared.cu").read_text()
    for key, value in parts.items():
        text = text.replace(f"@{key}@", value)
    return replace(made, source=made.source + text, columns=net.columns)


def place(remap: Remap) -> str:
    """The address of element `e`, as C; UnsupportedError for swizzles other than by one exclusive or with bits of the row."""
    match remap:
        case Plain():
            return "e"
        case Padding(periods):
            return "e" + "".join(f" + e / {period}" for period in periods)
        case Swizzle(banks, composition):
            match composition.primitives:
                case (Xor(period=period),) if period:
                    row = f"e / {banks * period} % {banks}"
                    cells = np.arange(banks * banks * max(1, period))
                    if (addresses(remap, cells.size) == cells ^ (cells // (banks * period) % banks)).all():
                        return f"e ^ ({row})"
                case _:
                    pass
            raise unserved(f"the swizzle {remap}", "the shared-memory kernel")
        case Lookup():
            return f"{PLACES}[e]"


def printable(remap: Remap, columns: int) -> Remap:
    """The remapping, or the table of its addresses where no expression is known for it."""
    try:
        place(remap)
    except UnsupportedError:
        return Lookup(tuple(int(a) for a in addresses(remap, columns)))
    return remap


def _table(remap: Remap) -> str:
    if not isinstance(remap, Lookup):
        return ""
    return f"__constant__ short {PLACES}[{len(remap.addresses)}] = {{{', '.join(map(str, remap.addresses))}}};"


def packed(step: Step) -> Packed:
    """A formula for the k-th operation; operations in order of destinations."""
    destinations, sources = [d.destination for d in step], [d.source for d in step]
    to, come = _formula(destinations), _formula(sources)
    if to is None or come is None:
        raise unserved("a network whose steps follow no pattern", "the shared-memory kernel")
    return Packed(len(step), to, come, bool(set(destinations) & set(sources)))


def _formula(values: list[int]) -> str | None:
    """`a * k + c`, or `a * (k / w) + b * (k % w) + c`; None: neither."""
    first = values[0]
    stride = values[1] - first if len(values) > 1 else 0
    if all(v == first + stride * k for k, v in enumerate(values)):
        return _affine([(stride, Text("k"))], first)
    width = next(k for k, v in enumerate(values) if v != first + stride * k)
    jump = values[width] - first
    if all(v == first + jump * (k // width) + stride * (k % width) for k, v in enumerate(values)):
        row, column = (binary(sign, Text("k"), decimal(width)) for sign in "/%")
        return _affine([(jump, row), (stride, column)], first)
    return None


def _affine(terms: list[tuple[int, Text]], offset: int) -> str:
    parts = [term if factor == 1 else binary("*", decimal(factor), term) for factor, term in terms if factor]
    return added(*parts, *([decimal(offset)] if offset or not parts else [])).text


def _step_text(step: Packed) -> str:
    guard = f"if (k < {step.count}) "
    if step.overlaps:
        return (
            f"    {guard}v = combine(get(cells, {step.source}), get(cells, {step.destination}));\n    __syncthreads();\n"
            f"    {guard}put(cells, {step.destination}, v);\n    __syncthreads();"
        )
    return (
        f"    {guard}put(cells, {step.destination}, combine(get(cells, {step.source}), get(cells, {step.destination})));\n"
        "    __syncthreads();"
    )
