"""Ways to scan a block: operator x network x layout x variant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from warploom.core import UnsupportedError
from warploom.ir.swizzle import Composition, Xor
from warploom.machines import BANKS
from warploom.scan.emit.cuda import Choices, CudaScan, Kernel, cuda_scan, warp_program
from warploom.scan.emit.dialect import Types
from warploom.scan.emit.shared import Cells, packed, shared_scan
from warploom.scan.layouts import Lookup, Padding, Plain, Remap, Swizzle, best_layout
from warploom.scan.networks import NAMED, Network, adjacency_of
from warploom.scan.operators import expression as ex
from warploom.scan.operators.alignment import Style
from warploom.scan.operators.expression import subexpressions
from warploom.scan.operators.lifting import STYLES, Serial, lift
from warploom.scan.operators.operator import Operator
from warploom.scan.reading.loop import Loop
from warploom.scan.variants import FORWARD, ScanForm

Variant = Literal["shuffles", "shared memory"]
"""Warps scan by shuffles, then one warp scans their totals; or one network on all elements in shared memory."""
_TABLE_COLUMNS = 64
"""Up to which a layout by table is searched."""
WARP_NETWORKS = ("kogge-stone", "sklansky", "brent-kung", "han-carlson", "ladner-fischer", "harris-0-1", "harris-1-1")
BLOCK_NETWORKS = ("kogge-stone", "sklansky", "brent-kung", "han-carlson", "ladner-fischer", "bk3", "bk4")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way."""

    operator: Operator
    operator_name: str
    network: str
    layout: str
    remap: Remap | None
    """None: nothing is remapped."""
    variant: Variant
    elements: int
    """Elements of a block."""
    form: ScanForm = FORWARD
    is_exclusive: bool = False

    @property
    def name(self) -> str:
        return f"{self.operator_name} / {self.network} / {self.layout} / {self.variant}"

    @property
    def kernel(self) -> Kernel:
        if self.variant == "shuffles":
            return "scan_block_exclusive" if self.is_exclusive else "scan_block"
        return "scan_block_shared_exclusive" if self.is_exclusive else "scan_block_shared"

    def made(self, types: Types | None = None) -> CudaScan:
        """UnsupportedError for what has no CUDA form."""
        if self.variant == "shuffles":
            return cuda_scan(self.operator, types, Choices(self.network), form=self.form)
        assert self.remap is not None
        cells = Cells(self.network, block_network(self.network, self.elements), self.remap)
        return shared_scan(self.operator, cells, types, form=self.form)


def operators(loop: Loop, serial: Serial | None = None) -> list[tuple[str, Operator]]:
    """Proved operators with different fields or laws of combination, by how they were found; the fewest operations first."""
    found: dict[tuple[object, ...], tuple[str, Operator]] = {}
    styles: list[tuple[str, Sequence[Style]]] = [("as found", STYLES), *((s, (s,)) for s in STYLES)]
    for name, part in styles:
        lifting = lift(loop, serial, part)
        if lifting.verdict == "proved" and lifting.operator is not None:
            operator = lifting.operator
            found.setdefault((operator.names, operator.combine, operator.lift), (name, operator))
            other = flagged(operator)
            if other is not None:
                found.setdefault((other.names, other.combine, other.lift), (f"{name}, flagged", other))
    return sorted(found.values(), key=lambda f: operations(f[1]))


def flagged(operator: Operator) -> Operator | None:
    """The same with an identity adjoined in place of one that has infinities: whole numbers then need no guards.

    Associative because the operator is: a value without the flag is neutral by definition. None: its identity is finite, or its
    values may be infinite anyway.
    """
    infinite = [e for e in operator.identity if ex.is_infinite(e)]
    if not infinite or any(f.sort.is_infinite for f in operator.fields) or any(ex.is_infinite(e) for e in operator.lift):
        return None
    name = "some"
    while name in operator.names:
        name += "_"
    left, right = ex.variable(name, ex.BOOL), ex.variable(f"{name}'", ex.BOOL)
    neutral = {"bool": ex.FALSE, "text": ex.constant("")}
    combine = tuple(
        ex.select(left, ex.select(right, both, one), other)
        for one, other, both in zip(operator.fields, operator.right, operator.combine, strict=True)
    )
    of_none = dict(zip(operator.fields, operator.identity, strict=True))
    return replace(
        operator,
        fields=(left, *operator.fields),
        right=(right, *operator.right),
        lift=(ex.TRUE, *operator.lift),
        combine=(ex.either(left, right), *combine),
        identity=(ex.FALSE, *(neutral.get(f.sort.base, ex.ZERO) for f in operator.fields)),
        projection=tuple(ex.select(left, p, ex.substituted(p, of_none)) for p in operator.projection),
        known=(),
    )


def operations(operator: Operator) -> int:
    """Operations of one combination, each distinct expression once."""
    return sum(1 for e in subexpressions(*operator.combine) if e.op not in ("const", "var"))


def block_network(name: str, columns: int) -> Network:
    return NAMED[name](columns)


def candidates(
    named: Sequence[tuple[str, Operator]], elements: int, form: ScanForm = FORWARD, *, is_exclusive: bool = False
) -> Iterator[Candidate]:
    """All ways for blocks of `elements` (a multiple of 32); networks that are scans for every operator only."""
    for operator_name, operator in named:
        for network in WARP_NETWORKS:
            try:
                warp_program(network)
            except UnsupportedError:
                continue
            yield Candidate(operator, operator_name, network, "registers", None, "shuffles", elements, form, is_exclusive)
        for network in BLOCK_NETWORKS:
            net = block_network(network, elements)
            if adjacency_of(net) != "strict" or not _has_pattern(net):
                continue
            for layout, remap in layouts(net):
                yield Candidate(operator, operator_name, network, layout, remap, "shared memory", elements, form, is_exclusive)


def _has_pattern(net: Network) -> bool:
    try:
        for step in net.steps:
            packed(step)
    except UnsupportedError:
        return False
    return True


def layouts(net: Network) -> Iterator[tuple[str, Remap]]:
    """None, padding, exclusive or; for few columns the table with the fewest conflicts."""
    yield "none", Plain()
    if net.columns > BANKS:
        yield "padding", Padding((BANKS,))
        yield "xor", Swizzle(BANKS, Composition("i", (Xor(BANKS, 1),)))
    if net.columns <= _TABLE_COLUMNS:
        table = best_layout(net, BANKS, families=("table",)).best.remap
        if isinstance(table, Lookup):
            yield "table", table
