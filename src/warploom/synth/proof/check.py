"""The independent checker: a completed kernel on the reference interpreter against its spec run by Python, on concrete values.

It shares no code with the symbolic execution, the canonical forms or the proof. Float kernels of + - * / are compared at random
points of GF(2^61 - 1), where two different polynomials of degree d agree with probability at most d / 2^61; integer kernels on
machine integers, exhaustively where the inputs are few bits; other float kernels on small whole numbers. Inputs that the domain
of a proof leaves out, such as zero divisors, are drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import isfinite, prod
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from warploom.core import Diagnostic, UserError, promoted, scalar_of, to_numpy
from warploom.ir import (
    Accumulator,
    Arith,
    Cast,
    FieldArithmetic,
    FromIndex,
    Holds,
    Kernel,
    Mixed,
    Param,
    RedrawError,
    ValueConst,
    Vote,
    run,
)
from warploom.sketch import Spec, TermSpec, parse_spec
from warploom.synth.proof.concrete import (
    PRIME,
    TYPED_BUILTINS,
    OutsideDomainError,
    OutsideFieldError,
    StrictArray,
    field_array,
    field_values,
    strict,
    typed_array,
    typed_values,
)
from warploom.synth.proof.specs import OutsideSketchError, array_shapes, call_spec
from warploom.terms import Term, constant, evaluate

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
Method = Literal["random field elements", "random machine numbers", "all words of one bit", "distinct elements"]

_FIELD_OPS = frozenset({"+", "-", "*", "/", "neg"})
_QUOTIENTS = frozenset({"/", "//", "%"})
_WORD_OPS = frozenset({"&", "|", "^", "~"})
_RUNS = 3
_MOST_EXHAUSTIVE_RUNS = 64
_REDRAWS = 20


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Outcome of running kernel and spec side by side."""

    verdict: Literal["tested", "refuted", "unchecked"]
    """unchecked: no input was found on which the kernel has a value."""
    method: Method
    cases: int
    """Input assignments compared."""
    counterexample: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Faults of the kernel's run."""


def check(kernel: Kernel, spec: Spec, sizes: Mapping[str, int], seed: int = 0) -> CheckResult:
    """Compare all outputs on inputs chosen by what kernel and spec compute with. Raises UserError when the spec fails."""
    rng = np.random.default_rng(seed)
    if isinstance(spec, TermSpec):
        return _check_terms(kernel, spec, sizes, rng)
    ops = _operators(kernel) | _spec_operators(spec, kernel)
    floats = any(p.dtype.is_float for p in kernel.params)
    if floats and ops <= _FIELD_OPS and all(p.dtype.is_float for p in kernel.params if p.is_output):
        try:
            return _check_field(kernel, spec, sizes, rng)
        except OutsideFieldError:
            pass
    shapes = array_shapes(kernel, sizes)
    draws: list[Arrays]
    method: Method
    assignments = 1
    is_typed = _needs_types(kernel, ops)
    if not ops:
        draws, method = [_distinct(kernel, shapes)], "distinct elements"
    elif not floats and ops <= _WORD_OPS and (words := _all_bits(kernel, shapes)) is not None:
        draws, method = words
        assignments = min(p.dtype.bits for p in kernel.params)
    else:
        draws, method = [_random(kernel, shapes, rng, ops) for _ in range(_RUNS)], "random machine numbers"
    left, cases = _REDRAWS, 0
    while draws:
        arrays = draws.pop(0)
        result = run(kernel, arrays, sizes)
        try:
            expected = _expected(kernel, spec, sizes, arrays, is_typed=is_typed)
        except OutsideDomainError:
            if left:
                left -= 1
                draws.append(_random(kernel, shapes, rng, ops))
            continue
        cases += 1
        if result.diagnostics:
            return CheckResult("refuted", method, cases, result.diagnostics[0].message, result.diagnostics)
        if difference := _difference(kernel, result.arrays, expected):
            return CheckResult("refuted", method, cases, difference)
    return CheckResult("tested", method, cases * assignments)


def _needs_types(kernel: Kernel, ops: set[str]) -> bool:
    """Whether C computes the spec's integers otherwise than NumPy does: narrow or mixed types, or quotients."""
    scalars = {scalar_of(p.dtype) for p in kernel.params}
    return len(scalars) > 1 or any(promoted(t) != t for t in scalars) or not ops.isdisjoint(_QUOTIENTS)


def _check_terms(kernel: Kernel, spec: TermSpec, sizes: Mapping[str, int], rng: np.random.Generator) -> CheckResult:
    """Random numbers for the elements; what arrays hold before and after by evaluating the terms."""
    method: Method = "random machine numbers"
    shapes = array_shapes(kernel, sizes)
    for number in range(_RUNS):
        arrays = _random(kernel, shapes, rng)
        elements = dict(arrays)
        drawn: dict[Term, int] = {}
        for param in kernel.params:
            if param.is_input and param.name in spec.given:
                arrays[param.name] = _evaluated(spec.given[param.name], elements, param, drawn, rng)
        expected: Arrays = {}
        result = run(kernel, arrays, sizes)
        if result.diagnostics:
            return CheckResult("refuted", method, number + 1, result.diagnostics[0].message, result.diagnostics)
        for param in kernel.params:
            if param.is_output:
                wanted = spec.outputs[param.name]
                values = _evaluated(wanted, elements, param, drawn, rng)
                is_open = np.array([t is None for t in wanted.ravel().tolist()], bool).reshape(wanted.shape)
                expected[param.name] = np.where(is_open, result.arrays[param.name], values)
        if difference := _difference(kernel, result.arrays, expected):
            return CheckResult("refuted", method, number + 1, difference)
    return CheckResult("tested", method, _RUNS)


def _evaluated(
    terms: npt.NDArray[np.object_], arrays: Arrays, param: Param, drawn: dict[Term, int], rng: np.random.Generator
) -> npt.NDArray[Any]:
    """Numbers for the terms of one array: elements have one random number each, wherever they occur."""

    def number(element: Term) -> int:
        if element not in drawn:
            name, index, _ = element.data
            own = arrays[name][index] if name in arrays else rng.integers(0, 8)
            drawn[element] = int(own)
        return drawn[element]

    roots = [constant(0) if t is None else t for t in terms.ravel().tolist()]
    found = evaluate(roots, param.dtype, number, casts=True)
    if found is None:
        message = f"expected terms of {param.name} that have a value, got an operation or an element without one"
        raise UserError(Diagnostic("SPEC_TERMS", message, param.span, "Use the operators of the language on scalar elements."))
    numbers = np.array([float(v) if param.dtype.is_float else int(v) for v in found])
    return numbers.astype(to_numpy(param.dtype)).reshape(terms.shape)


def _check_field(kernel: Kernel, spec: Callable[..., Any], sizes: Mapping[str, int], rng: np.random.Generator) -> CheckResult:
    method: Method = "random field elements"
    shapes = array_shapes(kernel, sizes)
    for _ in range(_REDRAWS):
        arithmetic = FieldArithmetic(rng)
        arrays = {
            p.name: arithmetic.random(_full_shape(p, shape)) for p, shape in zip(kernel.params, shapes, strict=True) if p.is_input
        }
        try:
            result = run(kernel, arrays, sizes, arithmetic)
            if result.diagnostics:
                return CheckResult("refuted", method, 1, result.diagnostics[0].message, result.diagnostics)
            try:
                expected = _native_field(kernel, spec, sizes, arrays, shapes)
            except OutsideSketchError:
                expected = run(
                    parse_spec(spec, kernel), _with_outputs(kernel, arrays, shapes), sizes, FieldArithmetic(rng)
                ).arrays
        except RedrawError:
            continue
        difference = _difference(kernel, result.arrays, expected)
        return CheckResult("refuted" if difference else "tested", method, 1, difference)
    return CheckResult("unchecked", method, 0, "every random point of the field divided by zero")


def _native_field(
    kernel: Kernel, spec: Callable[..., Any], sizes: Mapping[str, int], arrays: Arrays, shapes: list[tuple[int, ...]]
) -> Arrays:
    given: dict[str, StrictArray] = {}
    for param, shape in zip(kernel.params, shapes, strict=True):
        values = arrays.get(param.name)
        full = np.zeros(_full_shape(param, shape), dtype=np.uint64) if values is None else values
        given[param.name] = field_array(full, param.dtype.lanes)
    call_spec(spec, kernel, given, sizes, {})
    return {p.name: field_values(given[p.name]) for p in kernel.params if p.is_output}


def _expected(kernel: Kernel, spec: Callable[..., Any], sizes: Mapping[str, int], arrays: Arrays, *, is_typed: bool) -> Arrays:
    """The spec's outputs over machine numbers. Raises OutsideDomainError where it has none."""
    shapes = array_shapes(kernel, sizes)
    full = _with_outputs(kernel, arrays, shapes)
    if is_typed:
        given = {p.name: typed_array(full[p.name], p.dtype) for p in kernel.params}
    else:
        given = {p.name: strict(full[p.name].copy(), p.dtype.lanes) for p in kernel.params}
    try:
        with np.errstate(all="ignore"):
            call_spec(spec, kernel, given, sizes, TYPED_BUILTINS if is_typed else {})
    except UserError as error:
        # NumPy's integers take no number that their type does not hold; C computes with it in a wider one
        if is_typed or not isinstance(error.__cause__, OverflowError):
            raise
        return _expected(kernel, spec, sizes, arrays, is_typed=True)
    except OutsideSketchError:
        result = run(parse_spec(spec, kernel), full, sizes)
        if any(d.code == "DIVISION_BY_ZERO" for d in result.diagnostics):
            raise OutsideDomainError from None
        return result.arrays
    return {name: typed_values(array) for name, array in given.items()}


def _with_outputs(kernel: Kernel, arrays: Arrays, shapes: list[tuple[int, ...]]) -> Arrays:
    """The arrays, with zeros for outputs that are no inputs."""
    result = dict(arrays)
    storage = next((a.dtype for a in arrays.values()), None) if len({a.dtype for a in arrays.values()}) == 1 else None
    for param, shape in zip(kernel.params, shapes, strict=True):
        if param.name not in result:
            dtype = storage if storage == np.dtype(np.uint64) and param.dtype.is_float else to_numpy(param.dtype)
            result[param.name] = np.zeros(_full_shape(param, shape), dtype=dtype)
    return result


def _full_shape(param: Param, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if param.dtype.lanes == 1 else (*shape, param.dtype.lanes)


def _distinct(kernel: Kernel, shapes: list[tuple[int, ...]]) -> Arrays:
    """Every input element another number, as far as the type has enough."""
    arrays: Arrays = {}
    start = 1
    for param, shape in zip(kernel.params, shapes, strict=True):
        if param.is_input:
            full = _full_shape(param, shape)
            arrays[param.name] = np.arange(start, start + prod(full)).reshape(full).astype(to_numpy(param.dtype))
            start += prod(full)
    return arrays


def _random(kernel: Kernel, shapes: list[tuple[int, ...]], rng: np.random.Generator, ops: Collection[str] = ()) -> Arrays:
    """Machine numbers of the whole range; no zeros where integers are divided, half of them small where they are shifted."""
    arrays: Arrays = {}
    for param, shape in zip(kernel.params, shapes, strict=True):
        if not param.is_input:
            continue
        full, dtype = _full_shape(param, shape), to_numpy(param.dtype)
        if param.dtype.is_float:
            arrays[param.name] = rng.integers(-8, 9, full).astype(dtype)
        else:
            bounds = np.iinfo(dtype)
            numbers = rng.integers(bounds.min, bounds.max, full, dtype=dtype, endpoint=True)
            if "<<" in ops or ">>" in ops:
                numbers = np.where(rng.random(full) < 0.5, numbers & 7, numbers).astype(dtype)
            is_divided = any(op in ops for op in _QUOTIENTS)
            arrays[param.name] = np.where(numbers == 0, 1, numbers).astype(dtype) if is_divided else numbers
    return arrays


def _all_bits(kernel: Kernel, shapes: list[tuple[int, ...]]) -> tuple[list[Arrays], Method] | None:
    """All assignments of one bit per input element, as many per run as the words are wide; None if they are too many.

    Bitwise kernels treat every bit alike, so one bit per element is the whole domain.
    """
    params = [(p, _full_shape(p, s)) for p, s in zip(kernel.params, shapes, strict=True) if p.is_input]
    elements = sum(prod(full) for _, full in params)
    width = min(p.dtype.bits for p in kernel.params)
    runs = -(-(2 ** min(elements, 40)) // width)
    if runs > _MOST_EXHAUSTIVE_RUNS:
        return None
    draws: list[Arrays] = []
    for first in range(0, runs * width, width):
        bits = (np.arange(first, first + width)[:, None] >> np.arange(elements)[None, :]) & 1
        words = (bits.astype(np.uint64) << np.arange(width, dtype=np.uint64)[:, None]).sum(axis=0, dtype=np.uint64)
        arrays: Arrays = {}
        start = 0
        for param, full in params:
            arrays[param.name] = words[start : start + prod(full)].astype(to_numpy(param.dtype)).reshape(full)
            start += prod(full)
        draws.append(arrays)
    return draws, "all words of one bit"


def _difference(kernel: Kernel, got: Mapping[str, npt.NDArray[Any]], expected: Mapping[str, npt.NDArray[Any]]) -> str:
    """The first differing output element, or an empty text."""
    for param in kernel.params:
        if not param.is_output:
            continue
        a, b = got[param.name], expected[param.name]
        same = np.isclose(a, b, rtol=1e-3, atol=1e-3) if a.dtype.kind == "f" else a == b
        if not same.all():
            index = tuple(int(i) for i in np.argwhere(~same)[0])
            place = ", ".join(map(str, index))
            modulus = f" modulo {PRIME}" if a.dtype == np.uint64 and param.dtype.is_float else ""
            return f"{param.name}[{place}]: expected {b[index]}, got {a[index]}{modulus}"
    return ""


def _spec_operators(spec: Callable[..., Any], kernel: Kernel) -> set[str]:
    """Data operators of the spec's text; none for a spec that runs as Python only."""
    try:
        return _operators(parse_spec(spec, kernel))
    except UserError:
        return set()


def _operators(kernel: Kernel) -> set[str]:
    """Data operators of the kernel's text; conversions and index values count as operators that no field has."""
    return set(_found(kernel.body)) | {o.name for o in kernel.operators}


def _found(node: Any) -> Iterator[str]:
    if isinstance(node, tuple):
        for item in cast("tuple[Any, ...]", node):
            yield from _found(item)
        return
    if not is_dataclass(node):
        return
    match node:
        case Arith(op, _) | Accumulator(op=op):
            yield op
        case Cast() | FromIndex():
            yield "cast"
        case Holds() | Vote() | Mixed():
            yield "words"
        case ValueConst(value) if isinstance(value, float) and not isfinite(value):
            yield "infinity"
        case _:
            pass
    for part in fields(node):
        yield from _found(getattr(node, part.name))
