"""CUDA: the scan of a block as a network on shared memory, with packed lanes and remapped addresses (the paper's form)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from warploom.ctext import Text, added, binary, decimal
from warploom.ir.swizzle import Xor
from warploom.scan.emit.cuda import Choices, CudaScan, cuda_scan, operator_parts
from warploom.scan.emit.dialect import Types
from warploom.scan.emit.printer import unserved
from warploom.scan.layouts import Lookup, Padding, Plain, Remap, Swizzle, addresses
from warploom.scan.networks import Network, Step
from warploom.scan.operators.operator import Operator

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Packed:
    """Destination and source of a step's k-th operation, as C over `k`."""

    count: int
    destination: str
    source: str
    overlaps: bool
    """True if some cell is read by one lane and written by another."""


def shared_scan(operator: Operator, net: Network, name: str, remap: Remap, types: Types | None = None) -> CudaScan:
    """The kernel `scan_block_shared` beside those of `cuda_scan`; UnsupportedError for steps without a pattern."""
    made = cuda_scan(operator, types, Choices())
    parts = operator_parts(made.body) | {
        "COLUMNS": str(net.columns),
        "SLOTS": str(int(addresses(remap, net.columns).max()) + 1),
        "TABLE": _table(remap),
        "PLACE": place(remap),
        "MEMBERS": "\n".join(f"    {made.body.dialect.types[s.scalar]} {s.name}[SLOTS];" for s in made.body.fields),
        "GET": "\n".join(f"    r.{s.name} = cells.{s.name}[p];" for s in made.body.fields),
        "PUT": "\n".join(f"    cells.{s.name}[p] = v.{s.name};" for s in made.body.fields),
        "BLOCK_NETWORK": name,
        "BLOCK_STEPS": "\n".join(_step_text(packed(step)) for step in net.steps),
    }
    text = (_HERE / "shared.cu").read_text()
    for key, value in parts.items():
        text = text.replace(f"@{key}@", value)
    return replace(made, source=made.source + text)


def place(remap: Remap) -> str:
    """The address of element `e`, as C; UnsupportedError for swizzles other than by one exclusive or with the row."""
    match remap:
        case Plain():
            return "e"
        case Padding(periods):
            return "e" + "".join(f" + e / {period}" for period in periods)
        case Swizzle(banks, composition):
            match composition.primitives:
                case (Xor() as mask,) if addresses(remap, banks * banks)[-1] == (banks * banks - 1) ^ (banks - 1):
                    return f"e ^ (e / {banks} % {banks})" if str(mask) else "e"
                case _:
                    raise unserved(f"the swizzle {remap}", "the shared-memory kernel")
        case Lookup():
            return "PLACES[e]"


def _table(remap: Remap) -> str:
    if not isinstance(remap, Lookup):
        return ""
    return f"__constant__ short PLACES[{len(remap.addresses)}] = {{{', '.join(map(str, remap.addresses))}}};"


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
