"""One call for every target: the text, and what is known of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from warploom.gpu import toolchain_available
from warploom.scan.emit.cub import cub_source
from warploom.scan.emit.cuda import Choices, cuda_scan
from warploom.scan.emit.dialect import Types
from warploom.scan.emit.movement import Movement, movement
from warploom.scan.emit.numba_module import numba_source
from warploom.scan.emit.numpy_module import numpy_source
from warploom.scan.emit.peers import NotInstalledError, try_cub, try_numba, try_numpy, try_triton
from warploom.scan.emit.running import KERNELS, Comparison, compare
from warploom.scan.emit.triton_module import triton_source
from warploom.scan.lifting import Lifting
from warploom.scan.operator import Operator
from warploom.scan.words import operator_in_words

Target = Literal["cuda", "cub", "triton", "numba", "numpy"]
TARGETS: tuple[Target, ...] = ("cuda", "cub", "triton", "numba", "numpy")


@dataclass(frozen=True, slots=True)
class Emitted:
    """`verdict` is of the text as a whole; `movement` is of the CUDA kernels' PTX apart from the operator."""

    source: str
    verdict: Literal["tested", "unchecked", "refuted"]
    cases: int = 0
    """Results compared with the loop's."""
    reason: str = ""
    kernels: tuple[str, ...] = ()
    movement: Movement | None = None
    notes: tuple[str, ...] = field(default=())


def source_of(operator: Operator, target: Target, types: Types | None = None, choices: Choices | None = None) -> str:
    """UnsupportedError for what the target cannot express."""
    match target:
        case "cuda":
            return cuda_scan(operator, types, choices).source
        case "cub":
            return cub_source(operator, types)
        case "triton":
            return triton_source(operator, types)
        case "numba":
            return numba_source(operator, types)
        case "numpy":
            return numpy_source(operator, types)


def emit(
    found: Lifting, target: Target, types: Types | None = None, choices: Choices | None = None, *, prove: bool = True
) -> Emitted:
    """The text for a lifted loop, run against the loop where the target's compiler is installed."""
    operator = found.operator
    assert operator is not None
    kinds = types or Types()
    source = source_of(operator, target, kinds, choices)
    notes = [*_notes(found, operator, target, kinds)]
    kernels = KERNELS if target == "cuda" else () if target == "numpy" else ("scan_block",)
    moved: Movement | None = None
    try:
        outcome = _tried(operator, target, kinds, choices)
        if target == "cuda" and prove:
            moved = movement(operator, kinds, choices)
    except NotInstalledError as error:
        return Emitted(source, "unchecked", reason=f"{error} is not installed", kernels=kernels, notes=tuple(notes))
    except RuntimeError as error:
        return Emitted(source, "refuted", reason=str(error), kernels=kernels, notes=tuple(notes))
    if outcome.mismatch:
        return Emitted(source, "refuted", outcome.cases, outcome.mismatch, kernels, moved, tuple(notes))
    return Emitted(source, "tested", outcome.cases, "", kernels, moved, tuple(notes))


def _tried(operator: Operator, target: Target, types: Types, choices: Choices | None) -> Comparison:
    if target in ("cuda", "cub") and not toolchain_available():
        raise NotInstalledError("warploom[cuda]")
    match target:
        case "cuda":
            return compare(cuda_scan(operator, types, choices))
        case "cub":
            return try_cub(operator, types)
        case "triton":
            return try_triton(operator, types)
        case "numba":
            return try_numba(operator, types)
        case "numpy":
            return try_numpy(operator, types)


def _notes(found: Lifting, operator: Operator, target: Target, types: Types) -> list[str]:
    """Where machine numbers and the proof's may part."""
    notes: list[str] = []
    sorts = {f.sort.base for f in operator.fields}
    if "real" in sorts:
        notes.append(f"proved over {found.domain}; {types.real} rounds, so results depend on the bracketing in the last bits")
    if "int" in sorts and target == "numpy":
        notes.append("whole numbers are int64; those that may be infinite are float64, exact up to 2**53")
    elif "int" in sorts:
        words = operator_in_words(operator)
        safe = (
            words.safe if types.whole == "int32" else words.safe.replace("2147483647", "2**63 - 1").replace("32 bits", "64 bits")
        )
        if safe == "no arithmetic":
            notes.append(f"no arithmetic: exact in {types.whole}")
        elif words.associative == "proved" and safe.startswith("sums"):
            notes.append(f"{types.whole} wraps as the loop would: {safe}")
        else:
            notes.append(f"exact in {types.whole} while: {safe}")
    return notes
