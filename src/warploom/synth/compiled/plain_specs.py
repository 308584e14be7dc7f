"""A spec that is only a Python function on arrays and numbers, in the order of a kernel's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from warploom.core import Diagnostic, DType, Span, UnsupportedError, UserError, f32, scalar_of
from warploom.ir import IndexConst, Kernel, Param
from warploom.synth.compiled.execution import Argument, ArrayArgument
from warploom.synth.compiled.gathers import Gathers, NoIndexError, NotGatheredError
from warploom.synth.compiled.proof import Wanted
from warploom.synth.compiled.spec_words import absolute, readable
from warploom.synth.compiled.typed_specs import TypedSpec
from warploom.synth.proof.specs import OutsideSketchError, call_spec, definition
from warploom.terms import (
    Algebra,
    DataIndexError,
    Stored,
    SymbolicArray,
    Term,
    TermError,
    algebra_for,
    as_terms,
    atom,
    constant,
    maximum,
    minimum,
    strict_comparisons,
    symbols,
    zero_array,
)

_NO_SCATTER = (
    "data may be an index of an element that is read, `x[idx[i]]`, of a whole array that holds data, no vectors, "
    "and that the spec does not store to"
)


def run_plain_spec(spec: Callable[..., Any], arguments: tuple[Argument, ...], algebra: str | None = None) -> dict[str, Wanted]:
    """Calls `spec` on symbols; what each array holds afterwards. The arguments bear the spec's parameter names.

    algebra: as `terms.algebra_for`, for arrays of a type that it fits. UserError, located in the spec, for what it does wrong.
    """
    arrays: dict[str, SymbolicArray] = {}
    numbers: dict[str, Any] = {}
    types = {a.name: a.dtype for a in arguments if isinstance(a, ArrayArgument) or a.value is None}
    gathers = Gathers(
        {
            a.name: (a.dtype, a.shape)
            for a in arguments
            if isinstance(a, ArrayArgument) and a.dtype.lanes == 1 and a.content == "symbols"
        }
    )
    stores, typed = Stored(types), TypedSpec(types, gathers)
    for argument in arguments:
        if not isinstance(argument, ArrayArgument):
            numbers[argument.name] = atom(argument.name, ()) if argument.value is None else argument.value
        elif argument.content == "zeros":
            arrays[argument.name] = zero_array(argument.name, argument.shape, _kept(stores, argument))
        else:
            arrays[argument.name] = symbols(argument.name, argument.shape, argument.dtype.lanes, _kept(stores, argument))
    for name in gathers.arrays:
        arrays[name].gathered = stores.gather
    before = {name: np.asarray(array).copy() for name, array in arrays.items()}
    try:
        with strict_comparisons():
            call_spec(
                readable(spec, stores.conversion),
                interface_of(arguments),
                arrays,
                numbers,
                {"min": _least, "max": _greatest, "abs": absolute},
            )
    except OutsideSketchError as error:
        message = "expected plain Python on arrays and numbers, got a word of the sketch language"
        raise UserError(Diagnostic("SPEC_FAILED", message, fix="Write loops, indices and arithmetic only.")) from error
    except TermError as error:  # one that the spec caught itself
        fix = "Let no `except` take part in what the spec computes."
        raise UserError(Diagnostic("SPEC_FAILED", str(error), definition(spec), fix)) from error
    except UserError as error:
        if isinstance(error.__cause__, DataIndexError):
            raise UnsupportedError(replace(error.diagnostics[0], code="PTX_PROVE_UNSUPPORTED", fix=_NO_SCATTER)) from error
        raise
    wanted: dict[str, Wanted] = {}
    used = algebra is None
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            old: list[Any] = before[argument.name].ravel().tolist()
            new: list[Any] = np.asarray(arrays[argument.name]).ravel().tolist()
            stored = np.array([a is not b for a, b in zip(old, new, strict=True)], bool).reshape(argument.shape)
            scalar = scalar_of(argument.dtype)
            laws = _laws(scalar, algebra)
            used = used or laws.name == algebra
            terms = as_terms(arrays[argument.name])
            try:
                has_words = _in_words(terms, stored, argument.dtype, typed)
            except NoIndexError as error:
                fix = "Correct the spec, or give the array another shape."
                raise UserError(Diagnostic("SPEC_FAILED", str(error), definition(spec), fix)) from error
            except NotGatheredError as error:
                raise UnsupportedError(Diagnostic("PTX_PROVE_UNSUPPORTED", str(error), definition(spec))) from error
            kinds = typed.data.kinds if has_words else None
            wanted[argument.name] = Wanted(terms, stored, laws, kinds, frozenset(typed.data.ordered_kinds))
    for name in sorted({name for name, _ in gathers.reads}):
        if wanted[name].stored.any():
            message = f"expected the spec to store nothing to {name}, which it reads at indices from data"
            raise UnsupportedError(Diagnostic("PTX_PROVE_UNSUPPORTED", message, definition(spec)))
    for want in wanted.values():
        want.notes.update(typed.data.notes, gathers.notes())
        want.gathers = gathers
    if not used:
        algebra_for(next((scalar_of(a.dtype) for a in arguments if isinstance(a, ArrayArgument)), f32), algebra)
    return wanted


def _kept(stores: Stored, argument: ArrayArgument) -> Callable[[Term], Term]:
    return partial(stores.store, target=argument.dtype)


def _in_words(terms: npt.NDArray[np.object_], stored: npt.NDArray[np.bool_], dtype: DType, typed: TypedSpec) -> bool:
    """Whether integers take part in what was stored to an array: then its terms become those of the machine."""
    places = [tuple(map(int, place)) for place in np.argwhere(stored)]
    if scalar_of(dtype).is_float and not any(typed.has_words(terms[place]) for place in places):
        return False
    for place in places:
        terms[place] = typed.term(terms[place], dtype)
    return True


def _laws(scalar: DType, algebra: str | None) -> Algebra:
    """The asked for laws where they fit the type, else what the type always obeys."""
    try:
        return algebra_for(scalar, algebra)
    except UserError:
        return algebra_for(scalar)


def interface_of(arguments: tuple[Argument, ...]) -> Kernel:
    """The parameters as those of a kernel, for messages."""
    params = tuple(
        Param(a.name, "global", a.dtype, tuple(IndexConst(n) for n in a.shape), is_output=True)
        for a in arguments
        if isinstance(a, ArrayArgument)
    )
    one = IndexConst(1)
    return Kernel("kernel", params, (), (1, 1, 1), (one, one, one), 32, ())


def check_parameters(spec: Callable[..., Any], count: int, kernel: str, variables: Sequence[str] = ()) -> list[inspect.Parameter]:
    """The spec's parameters that stand for the kernel's, without variables of the module; UserError when they are not as many."""
    named = inspect.signature(spec).parameters
    found = [p for k, p in enumerate(named.values()) if k < count or p.name not in variables]
    taken = [p.name for p in found[:count] if p.name in variables]
    if len(found) != count or taken:
        code = getattr(spec, "__code__", None)
        span = Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 1) if code is not None else None
        message = f"expected {count} parameters, one per parameter of {kernel}, got {len(found)}"
        if taken:
            message = f"expected variables of the module after the {count} parameters of {kernel}, got {taken[0]} among them"
        fix = "Give the spec the kernel's parameters in their order; the names are yours."
        raise UserError(Diagnostic("SPEC_PARAMETERS", message, *([span] if span else []), fix=fix))
    return found


def _least(*values: Any, **options: Any) -> Any:
    return _extreme(min, minimum, values, options)


def _greatest(*values: Any, **options: Any) -> Any:
    return _extreme(max, maximum, values, options)


def _extreme(builtin: Callable[..., Any], pairwise: Callable[[Any, Any], Any], values: tuple[Any, ...], options: Any) -> Any:
    items: list[Any] = list(values[0]) if len(values) == 1 else list(values)
    if not any(isinstance(i, Term) for i in items):
        return builtin(items, **options)
    if options.get("key") is not None:
        raise TypeError("expected min or max of data without a key: write out the choice, `x if a < b else y`")
    result = items[0]
    for item in items[1:]:
        result = pairwise(result, item)
    return result if isinstance(result, Term) else constant(result)
