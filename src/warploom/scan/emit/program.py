"""One call for every target: the text, and what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from warploom.core import Diagnostic, UnsupportedError
from warploom.core.limits import why
from warploom.gpu import toolchain_available
from warploom.scan.emit.cub import cub_source
from warploom.scan.emit.cuda import Choices, CudaScan, cuda_scan
from warploom.scan.emit.dialect import Types
from warploom.scan.emit.frameworks import AGGREGATES, aggregate_source, jax_source, try_aggregate, try_jax
from warploom.scan.emit.movement import Movement, movement
from warploom.scan.emit.numba_module import numba_source
from warploom.scan.emit.numpy_module import numpy_source, whole_bound
from warploom.scan.emit.peers import NotInstalledError, try_cub, try_numba, try_numpy, try_triton
from warploom.scan.emit.printer import unserved
from warploom.scan.emit.running import Comparison, compare
from warploom.scan.emit.shared import Cells, shared_scan
from warploom.scan.emit.triton_module import triton_source
from warploom.scan.operators.expression import subexpressions
from warploom.scan.operators.lifting import Lifting
from warploom.scan.operators.machine_numbers import computes_no_reals, differing_list, in_floats, range_of
from warploom.scan.operators.operator import Operator
from warploom.scan.variants import FORWARD, ScanForm

Target = Literal["cuda", "cub", "triton", "numba", "numpy", "jax", "dask", "polars", "duckdb", "spark"]
_NAMES: dict[Target, str] = {
    "cuda": "CUDA", "cub": "CUB", "triton": "Triton", "numba": "Numba", "numpy": "NumPy", "jax": "JAX", "dask": "Dask",
    "polars": "Polars", "duckdb": "DuckDB", "spark": "Spark",
}  # fmt: skip
TARGETS: tuple[Target, ...] = tuple(_NAMES)
_ON_NUMPY = ("numpy", *AGGREGATES)
"""Targets whose whole numbers are exact."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """`verdict` is of the text as a whole; `movement` is of the CUDA kernels' PTX apart from the operator."""

    source: str
    verdict: Literal["tested", "unchecked", "refuted"]
    cases: int = 0
    """Number of results compared with the loop's."""
    reason: str = ""
    kernels: tuple[str, ...] = ()
    movement: Movement | None = None
    notes: tuple[str, ...] = field(default=())
    cut: str = ""
    """Why the checks ended before their time: the budget, or an interruption. The text is whole all the same."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The scan that is wanted of `cuda`."""

    form: ScanForm = FORWARD
    cells: Cells | None = None
    """Also kernels that scan a block by a network in shared memory; None: not."""

    def made(self, operator: Operator, types: Types | None, choices: Choices | None) -> CudaScan:
        """UnsupportedError for what CUDA C++ cannot express."""
        if self.cells is None:
            return cuda_scan(operator, types, choices, form=self.form)
        return shared_scan(operator, self.cells, types, choices, form=self.form)


PLAIN = Asked()


def source_of(
    operator: Operator, target: Target, types: Types | None = None, choices: Choices | None = None, asked: Asked = PLAIN
) -> str:
    """UnsupportedError for what the target cannot express."""
    if target != "cuda" and asked != PLAIN:
        raise UnsupportedError(_for_cuda_only(target, asked))
    if not operator.fields:
        raise unserved("an operator that carries nothing", _NAMES[target])
    kind = "int64" if target in _ON_NUMPY else (types or Types()).whole
    if (beyond := _beyond(operator, 64 if kind == "int64" else 32)) is not None:
        raise unserved(f"the constant {beyond}, which {kind} does not hold", _NAMES[target])
    match target:
        case "cuda":
            return asked.made(operator, types, choices).source
        case "cub":
            return cub_source(operator, types)
        case "triton":
            return triton_source(operator, types)
        case "numba":
            return numba_source(operator, types)
        case "numpy":
            return numpy_source(operator, types)
        case "jax":
            return jax_source(operator, types)
        case _:
            return aggregate_source(operator, target)


def _for_cuda_only(target: Target, asked: Asked) -> Diagnostic:
    form = asked.form
    what = "a scan by key" if form.is_by_key else f"a {form} scan" if not form.is_plain else "a scan on cells of shared memory"
    fix = "Use --target cuda."
    if form.is_by_key:
        fix = "Use --target cuda, or from Python wl.scanned(loop).by_key(keys, xs) and .reduce_by_key(keys, xs)."
    elif form.is_segmented and not form.is_backward:
        fix = "Use --target cuda, or from Python wl.scanned(loop).by_key(keys, xs) with one key for each segment."
    return Diagnostic("EMIT_UNSUPPORTED", f"expected a plain forward scan for {_NAMES[target]}, got {what}", fix=fix)


def _beyond(operator: Operator, bits: int) -> int | None:
    """A whole number of the operator that a signed word does not hold; divisors are words of 64 bits."""
    exprs = (*operator.lift, *operator.combine, *operator.identity, *operator.projection, *operator.inner)
    for expr in subexpressions(*exprs):
        if expr.op in ("mod", "floordiv") and isinstance(expr.value, int) and expr.value >= 1 << 63:
            return expr.value
        numbers = [c for c, _ in expr.terms] if expr.op == "poly" else [expr.value] if expr.op == "const" else []
        for number in numbers:
            if expr.sort.base == "int" and isinstance(number, int) and not -(1 << bits - 1) <= number < 1 << bits - 1:
                return number
    return None


def emit(
    found: Lifting, target: Target, types: Types | None = None, choices: Choices | None = None, asked: Asked = PLAIN, *,
    prove: bool = True, progress: Callable[[str], None] = lambda _: None,
) -> Emitted:  # fmt: skip
    """The text for a lifted loop, run against the loop where the target's compiler is installed.

    A spent budget or an interruption ends the checks, and the text is kept.
    """
    operator = found.operator
    assert operator is not None
    kinds = types or Types()
    source = source_of(operator, target, kinds, choices, asked)
    notes = _notes(operator, target, kinds)
    kernels = () if target in (*_ON_NUMPY, "jax") else ("scan_block",)
    if target == "cuda":
        kernels = asked.made(operator, kinds, choices).kernels
    moved: Movement | None = None
    cut = ""
    try:
        progress("running it against the loop")
        outcome = _tried(operator, target, kinds, choices, asked)
        if target == "cuda" and prove:
            progress("following its data movement")
            try:
                moved = movement(operator, kinds, choices, form=asked.form, cells=asked.cells)
            except KeyboardInterrupt as error:
                cut = why(error)
                moved = Movement(False, reason=cut)
    except KeyboardInterrupt as error:
        cut = why(error)
        return Emitted(source, "unchecked", reason=cut, kernels=kernels, notes=tuple(notes), cut=cut)
    except NotInstalledError as error:
        reason = f"{error} is not installed (pip install '{error}')"
        return Emitted(source, "unchecked", reason=reason, kernels=kernels, notes=tuple(notes))
    except RuntimeError as error:
        return Emitted(source, "refuted", reason=str(error), kernels=kernels, notes=tuple(notes))
    if outcome.mismatch and in_floats(operator) and not computes_no_reals(operator):
        reason = f"{outcome.mismatch}; floats round, which may explain it"
        return Emitted(source, "unchecked", outcome.cases, reason, kernels, moved, tuple(notes), cut)
    if outcome.mismatch:
        return Emitted(source, "refuted", outcome.cases, outcome.mismatch, kernels, moved, tuple(notes), cut)
    if not outcome.cases:
        reason = "no list was found on which it and the loop can be compared"
        return Emitted(source, "unchecked", 0, reason, kernels, moved, tuple(notes), cut)
    return Emitted(source, "tested", outcome.cases, "", kernels, moved, tuple(notes), cut)


def _tried(operator: Operator, target: Target, types: Types, choices: Choices | None, asked: Asked) -> Comparison:
    if target in ("cuda", "cub") and not toolchain_available():
        raise NotInstalledError("warploom[cuda]")
    match target:
        case "cuda":
            return compare(asked.made(operator, types, choices))
        case "cub":
            return try_cub(operator, types)
        case "triton":
            return try_triton(operator, types)
        case "numba":
            return try_numba(operator, types)
        case "numpy":
            return try_numpy(operator, types)
        case "jax":
            return try_jax(operator, types)
        case _:
            return try_aggregate(operator, target)


def _notes(operator: Operator, target: Target, types: Types) -> list[str]:
    """Notes on where machine numbers and the proof's may part, for the whole program, lift and projection included."""
    notes: list[str] = []
    if target in AGGREGATES:
        notes.append(f"the lines for {_NAMES[target]} itself are unchecked; zero, update, merge and finish were run")
    real = in_floats(operator, 64 if types.real == "float64" or target in _ON_NUMPY else 32)
    if real:
        notes.append(f"{'float64' if target in _ON_NUMPY else types.real}: {real}")
    program = (*operator.lift, *operator.combine, *operator.projection)
    if any(e.sort.base == "int" for e in subexpressions(*program)):
        if target in _ON_NUMPY:
            bound = whole_bound(operator)
            kept = f"in int64 while {bound[0]} fits, else " if bound is not None else ""
            return [*notes, f"whole numbers are exact: {kept}as Python's own"]
        width = 32 if types.whole == "int32" else 64
        exact, safe = range_of(operator, width)
        said = f"exact in {types.whole}{': ' if exact == 'always' else ' while: '}{safe}"
        notes.append(f"{types.whole}: {safe}" if exact == "modulo" else said)
        differing = differing_list(operator, width) if exact == "within" else None
        if differing is not None:
            elements = ", ".join(str(e[0] if len(e) == 1 else e) for e in differing.elements)
            notes.append(f"beyond that, of [{elements}] the result is {differing.machine}, the loop's is {differing.loop}")
    return notes
