"""Runs a completed kernel, or its spec, on symbolic data.

Blocks run one after the other; whatever a real machine could do differently is a diagnostic: races, divergent barriers, shuffles
from inactive lanes, undefined or out-of-bounds elements. Source: Swizzle Inventor, section 4.1; the machine model is CUDA's
(C++ Programming Guide).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from warploom.core import Diagnostic, UserError, i32, scalar_of
from warploom.ir import IndexExpr, Kernel
from warploom.sketch import Spec, TermSpec, parse_spec
from warploom.synth.proof.block import Block, Run
from warploom.synth.proof.listening import Listener
from warploom.synth.proof.specs import OutsideSketchError, array_shapes, call_spec, definition
from warploom.terms import (
    Stored,
    SymbolicArray,
    Term,
    TermError,
    as_terms,
    constant,
    iterate_post,
    maximum,
    minimum,
    stored_mask,
    strict_comparisons,
    symbols,
    zero_array,
)


@dataclass(frozen=True, slots=True)
class Execution:
    """Memory and faults that a kernel leaves behind."""

    outputs: dict[str, npt.NDArray[np.object_]]
    """Terms per output element; None where an output that is no input was never written."""
    stored: dict[str, npt.NDArray[np.bool_]]
    """Flags of the elements that some thread stored to."""
    diagnostics: tuple[Diagnostic, ...]
    accumulates: int
    """Accumulate statements whose guard holds for some thread at some time: per iteration of the loops that hold them."""
    executed: int
    """Accumulates executed, the most of any thread."""


def execute(kernel: Kernel, sizes: Mapping[str, int], zeroed: Collection[str] = ()) -> Execution:
    """Run all blocks of a hole-free kernel. `zeroed`: outputs that start at 0 instead of undefined or their old content.

    Raises UserError for an open hole or a missing size; faults of the run itself are the execution's diagnostics.
    """
    run, grid = _begun(kernel, sizes, zeroed)
    for z, y, x in product(range(grid[2]), range(grid[1]), range(grid[0])):
        Block(run, (x, y, z), grid).run()
    outputs: dict[str, npt.NDArray[np.object_]] = {}
    stored: dict[str, npt.NDArray[np.bool_]] = {}
    for param in kernel.params:
        if param.is_output:
            memory = run.memory[param.name]
            array = np.empty(len(memory.cells), dtype=object)
            array[:] = memory.cells
            outputs[param.name] = array.reshape(memory.shape)
            written = np.zeros(len(memory.cells), dtype=bool)
            written[list(memory.written)] = True
            stored[param.name] = written.reshape(memory.shape)
    return Execution(outputs, stored, tuple(run.findings.found.values()), len(run.taken), run.executed)


def watch(
    kernel: Kernel,
    completions: Mapping[str, IndexExpr],
    sizes: Mapping[str, int],
    listener: Listener,
    block: tuple[int, int, int] = (0, 0, 0),
) -> tuple[Diagnostic, ...]:
    """Tells the listener what one block of the completed kernel does, and what each hole gives; returns the run's faults."""
    run, grid = _begun(kernel, sizes)
    Block(run, block, grid, completions=completions, listener=listener).run()
    return tuple(run.findings.found.values())


def _begun(kernel: Kernel, sizes: Mapping[str, int], zeroed: Collection[str] = ()) -> tuple[Run, tuple[int, int, int]]:
    """A run, and the extents of its grid. UserError for a missing size."""
    missing = [s for s in kernel.sizes if s not in sizes]
    if missing:
        raise UserError(Diagnostic("SIZE_MISSING", f"expected a value for size {missing[0]}, got none", kernel.span, "Give it."))
    run = Run(kernel, sizes, zeroed)
    x, y, z = run.extents(kernel.grid)
    return run, (x, y, z)


@dataclass(frozen=True, slots=True)
class SpecResult:
    """Results of a spec."""

    outputs: dict[str, npt.NDArray[np.object_]]
    """Terms per output element; elements that the spec does not touch keep their start, 0 or the old content; None: any value."""
    stored: dict[str, npt.NDArray[np.bool_]]
    """Flags of the elements that the spec stored to."""


def preset(term: Term, spec: Spec, done: dict[Term, Term]) -> Term:
    """`term` with the elements that a pre-condition knows replaced by what they hold; `done` remembers between calls."""
    if not isinstance(spec, TermSpec) or not spec.given:
        return term
    given = spec.given
    for t in iterate_post(term, done):
        if t.op == "atom" and t.data[0] in given:
            done[t] = cast("Term", given[t.data[0]][t.data[1]])
        else:
            done[t] = t.rebuilt([done[a] for a in t.args]) if t.args else t
    return done[term]


def _term_result(spec: TermSpec, kernel: Kernel, sizes: Mapping[str, int]) -> SpecResult:
    shapes = dict(zip((p.name for p in kernel.params), array_shapes(kernel, sizes), strict=True))
    wrong: list[Diagnostic] = []
    inputs, outputs = ([p.name for p in kernel.params if getattr(p, kind)] for kind in ("is_input", "is_output"))
    for arrays, names, what in ((spec.outputs, outputs, "an output"), (spec.given, inputs, "an input")):
        for name, array in arrays.items():
            if name not in names:
                message = f"expected {what} of the sketch ({', '.join(names)}), got {name!r}"
            elif array.shape != shapes[name]:
                message = f"expected terms of shape {shapes[name]} for {name}, got {array.shape}"
            else:
                continue
            wrong.append(Diagnostic("SPEC_TERMS", message, kernel.span, "Give one term per element of the array."))
    missing = [n for n in outputs if n not in spec.outputs]
    wrong += [
        Diagnostic("SPEC_TERMS", f"expected terms for output {n}, got none", kernel.span, "Add it to `spec`; None is any value.")
        for n in missing
    ]
    types = {p.name: p.dtype for p in kernel.params}
    for name, array in (*spec.outputs.items(), *spec.given.items()):
        typed = Stored(types, scalar_of(types[name]) if name in types else i32)
        try:
            for term in array.ravel().tolist():
                if term is not None:
                    typed.check(term)
        except TermError as error:
            wrong.append(Diagnostic("SPEC_TERMS", str(error), kernel.span, "Write another term."))
    if wrong:
        raise UserError(*wrong)
    stored = {n: np.array([t is not None for t in a.ravel().tolist()], bool).reshape(a.shape) for n, a in spec.outputs.items()}
    return SpecResult(dict(spec.outputs), stored)


def run_spec(spec: Spec, kernel: Kernel, sizes: Mapping[str, int]) -> SpecResult:
    """Call the user's function natively on arrays of terms; outputs that the kernel only writes start at 0.

    Builtin min and max of the spec's own text work on terms; integers are computed in C's types (`Stored`). A spec that uses
    words of the language (`wl.cast`, operators) cannot be called; it is read from its source instead. Raises UserError, located
    in the spec, for anything it does wrong.
    """
    if isinstance(spec, TermSpec):
        return _term_result(spec, kernel, sizes)
    arrays: dict[str, SymbolicArray] = {}
    before: dict[str, list[object]] = {}
    typed = Stored({p.name: p.dtype for p in kernel.params})
    for param, shape in zip(kernel.params, array_shapes(kernel, sizes), strict=True):
        kept = partial(typed.store, target=param.dtype)
        if param.is_input:
            arrays[param.name] = symbols(param.name, shape, param.dtype.lanes, kept)
        else:
            arrays[param.name] = zero_array(param.name, shape, kept, typed.blank(param.dtype), param.dtype.lanes)
        if not param.is_output:
            before[param.name] = arrays[param.name].ravel().tolist()
    try:
        with strict_comparisons(only_floats=all(p.dtype.is_float for p in kernel.params)):
            call_spec(spec, kernel, arrays, sizes, {"min": _least, "max": _greatest})
    except OutsideSketchError:
        return _read_spec(spec, kernel, sizes)
    except TermError as error:  # one that the spec caught itself
        fix = "Let no `except` take part in what the spec computes."
        raise UserError(Diagnostic("SPEC_FAILED", str(error), definition(spec), fix)) from error
    _refuse_forgotten(spec, kernel, arrays, before)
    outputs: dict[str, npt.NDArray[np.object_]] = {}
    stored: dict[str, npt.NDArray[np.bool_]] = {}
    for param in kernel.params:
        if param.is_output:
            array = arrays[param.name]
            outputs[param.name] = as_terms(array)
            stored[param.name] = stored_mask(array)
    return SpecResult(outputs, stored)


def _refuse_forgotten(
    spec: Callable[..., Any], kernel: Kernel, arrays: Mapping[str, SymbolicArray], before: Mapping[str, list[object]]
) -> None:
    """Refuses arrays that the spec changes and the kernel never stores to, since nobody would compare them."""
    changed = [n for n, held in before.items() if any(a is not b for a, b in zip(held, arrays[n].ravel().tolist(), strict=True))]
    if changed:
        fix, at = "Store to {} in the sketch, or not in the spec.", definition(spec)
        message = "the spec stores to {!r}, which the sketch {!r} never stores to"
        raise UserError(*(Diagnostic("SPEC_MISMATCH", message.format(n, kernel.name), at, fix.format(n)) for n in changed))


def _read_spec(spec: Callable[..., Any], kernel: Kernel, sizes: Mapping[str, int]) -> SpecResult:
    """The spec as a sequential kernel, executed by one symbolic thread."""
    zeroed = [p.name for p in kernel.params if p.is_output and not p.is_input]
    execution = execute(parse_spec(spec, kernel), sizes, zeroed)
    if execution.diagnostics:
        raise UserError(*execution.diagnostics)
    return SpecResult(execution.outputs, execution.stored)


def _least(*values: Any, **options: Any) -> Any:
    return _extreme(min, minimum, values, options)


def _greatest(*values: Any, **options: Any) -> Any:
    return _extreme(max, maximum, values, options)


def _extreme(builtin: Any, pairwise: Callable[[Any, Any], Any], values: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Builtin min or max, folded with the symbolic operator when a term is among the values."""
    items = list(values[0]) if len(values) == 1 else list(values)
    if not any(isinstance(i, Term) for i in items):
        return builtin(items, **options)
    if options.get("key") is not None:
        raise TermError("expected min and max of data without key=, got one: it is a function of data")
    result = items[0]
    for item in items[1:]:
        result = pairwise(result, item)
    return result if isinstance(result, Term) else constant(result)
