"""Replays what refutes a kernel: the kernel in the PTX interpreter and the spec in CPython, on the numbers that were found.

Neither shares code with the symbolic run that found them. Only what shows here is reported as refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from warploom.core import DType, UnsupportedError, UserError, scalar_of, to_numpy
from warploom.core.intervals import Interval
from warploom.ptx import Launch, Program, launch
from warploom.synth.compiled import Argument, ArrayArgument, CompiledProof, Symbol
from warploom.terms import Term, element_text
from warploom.tools.command.lines import Line
from warploom.tools.command.messages import one_line

Triple = tuple[int, int, int]
Arrays = Mapping[str, npt.NDArray[Any]]
Scalars = Mapping[str, int | float]
Expected = Callable[[Arrays, Scalars], Arrays | None]
"""The arrays afterwards, of what they and the symbolic numbers are before; None: no value."""
_LIMIT = 200_000_000
"""Most instructions times threads of a replay."""
_DIGITS = {"f16": 7, "bf16": 4, "f32": 18, "f64": 46}
"""Binary digits in which floats agree that differ by rounding only."""
_CANCELLED = 2.0**-8
"""A result that is smaller than the data by more may be what rounding left of a difference."""
_SHOWN = 16


@dataclass(frozen=True, slots=True)
class Replay:
    """Result of a replay."""

    is_shown: bool
    reason: str = ""
    """Why it shows nothing."""
    is_bug: bool = False
    """True if the judges contradict each other on exact numbers."""
    expected: object = None
    """By the spec. A vector is a list."""
    found: object = None
    """By the kernel."""
    witness: tuple[tuple[str, object], ...] = ()
    """Numbers of the elements that the two terms name, those that decide first."""
    deciding: int = 0
    """How many of them decide; the other elements that the terms name have one number."""

    @property
    def fields(self) -> Line:
        """Both values, unless one is not finite, the numbers at which they differ and the elements that decide: for a report."""
        deciding = [element for element, _ in self.witness[: self.deciding]]
        return {**both_values(self.expected, self.found), "witness": dict(self.witness), "deciding": deciding}

    @property
    def told(self) -> str:
        """The numbers and both values, as a line for people."""
        shown = [f"{element} = {number}" for element, number in self.witness[: self.deciding]]
        if self.deciding < len(self.witness):
            shown.append(f"{self.witness[self.deciding][1]} in all other elements")
        return f"  {'with ' + ', '.join(shown) + ': ' if shown else ''}"


def both_values(expected: object, found: object) -> Line:
    """The field `values` of a report; none where a number is not finite, which JSON does not have."""
    if not bool(np.isfinite(np.array([expected, found], np.float64)).all()):
        return {}
    return {"values": {"expected": expected, "found": found}}


def replay(
    program: Program,
    kernel: str,
    wanted: Expected,
    arguments: tuple[Argument, ...],
    symbols: Mapping[str, Symbol],
    launched: tuple[Triple, Triple],
    shared_bytes: int,
    proof: CompiledProof,
    ranges: Mapping[Term, Interval],
    by: str = "the spec",
) -> Replay:
    """Runs the kernel and what it must equal on the numbers of a refutation. ranges: numbers that elements may be, where they are
    indices."""
    variables = tuple(s for s in symbols.values() if isinstance(s, ArrayArgument))
    numbers = dict(proof.difference.numbers or ()) if proof.difference is not None else {}
    inside = {t: int(r.low) for t, r in ranges.items() if t.op in ("atom", "component")}
    arrays, scalars = data((*arguments, *variables), inside | numbers)
    try:
        ran = run_on(program, kernel, arguments, variables, arrays, scalars, launched, shared_bytes)
    except (UserError, UnsupportedError) as error:
        return Replay(False, f"the PTX interpreter does not run it: {one_line(error.diagnostics[0])}")
    if proof.fault is not None:
        is_shown = ran.status in ("fault", "deadlock") or bool(ran.findings)
        return Replay(is_shown, "" if is_shown else "the PTX interpreter, which runs threads in one order, meets no fault")
    if ran.status != "finished":
        return Replay(False, f"the PTX interpreter ends with {ran.status}")
    return _compared(wanted, arguments, arrays, scalars, ran, proof, numbers, by)


def _compared(
    expected_by: Expected, arguments: tuple[Argument, ...], arrays: Mapping[str, npt.NDArray[Any]],
    scalars: Mapping[str, int | float], ran: Launch, proof: CompiledProof, numbers: Mapping[Term, int], by: str,
) -> Replay:  # fmt: skip
    difference = proof.difference
    assert difference is not None
    place = next((k for k, a in enumerate(arguments) if a.name == difference.array), None)
    if place is None:
        return Replay(False, f"the PTX interpreter does not say what the variable {difference.array} holds afterwards")
    wanted = expected_by(arrays, scalars)
    if wanted is None:
        return Replay(False, f"{by} has no value for the numbers that were found")
    argument = arguments[place]
    assert isinstance(argument, ArrayArgument)
    scalar = scalar_of(argument.dtype)
    expected = np.atleast_1d(wanted[argument.name][difference.index])
    found = np.atleast_1d(contents(ran, arguments)[argument.name][difference.index])
    size = max((abs(float(n)) for n in numbers.values()), default=0.0) * _CANCELLED
    is_shown = any(differ(e, f, size, scalar) for e, f in zip(expected.tolist(), found.tolist(), strict=True))
    witness = tuple((element_text(*_element(t)), int(n)) for t, n in list(numbers.items())[:_SHOWN])
    one, other = (v.tolist() if len(v) > 1 else v.tolist()[0] for v in (expected, found))
    reason = "" if is_shown else f"on the numbers found, {by} gives {one} and the kernel {other}"
    is_bug = not is_shown and not scalar.is_float and difference.numbers is not None
    return Replay(is_shown, reason, is_bug, one, other, witness, min(difference.deciding, len(witness)))


def _element(term: Term) -> tuple[str, tuple[int, ...]]:
    atom = term.args[0] if term.op == "component" else term
    return atom.data[0], tuple(atom.data[1])


def differ(expected: float, found: float, size: float, scalar: DType) -> bool:
    """Whether two results differ by more than rounding; `size`: of the data."""
    if not scalar.is_float or not isfinite(expected) or not isfinite(found):
        return expected != found and not (expected != expected and found != found)
    return abs(expected - found) > max(abs(expected), abs(found), size) * 2.0 ** -_DIGITS[scalar.name]


def _full(argument: ArrayArgument) -> tuple[int, ...]:
    return argument.shape if argument.dtype.lanes == 1 else (*argument.shape, argument.dtype.lanes)


def data(
    arguments: tuple[Argument, ...], numbers: Mapping[Term, int]
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, int | float]]:
    """Small numbers for all elements, and those that were found for the ones that they name."""
    rng = np.random.default_rng(0)
    arrays: dict[str, npt.NDArray[Any]] = {}
    scalars: dict[str, int | float] = {}
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            held = rng.integers(1, 100, _full(argument)) * (argument.content != "zeros")
            arrays[argument.name] = held.astype(to_numpy(scalar_of(argument.dtype)))
        elif argument.value is None:
            scalars[argument.name] = int(rng.integers(1, 100))
    for term, number in numbers.items():
        name, index = _element(term)
        if name in scalars:
            scalars[name] = number
        else:
            arrays[name][(*index, term.data[0]) if term.op == "component" else index] = number
    return arrays, scalars


def run_on(
    program: Program, kernel: str, arguments: tuple[Argument, ...], variables: tuple[ArrayArgument, ...],
    arrays: Mapping[str, npt.NDArray[Any]], scalars: Mapping[str, int | float], launched: tuple[Triple, Triple],
    shared_bytes: int,
) -> Launch:  # fmt: skip
    """The kernel in the interpreter, on these data."""
    given: list[Any] = []
    for argument in arguments:
        if isinstance(argument, ArrayArgument):
            given.append(_written(arrays[argument.name], scalar_of(argument.dtype)))
        else:
            given.append(_bytes(scalars[argument.name] if argument.value is None else argument.value, argument.dtype))
    held = {v.name: _written(arrays[v.name], scalar_of(v.dtype)) for v in variables}
    grid, block = launched
    return launch(
        program, kernel, grid=grid, block=block, args=given, symbols=held, dynamic_shared_bytes=shared_bytes, limit=_LIMIT
    )  # fmt: skip


def contents(ran: Launch, arguments: tuple[Argument, ...]) -> dict[str, npt.NDArray[Any]]:
    """Contents of the arrays after a launch, by name; components of vectors lie on the last axis."""
    return {
        a.name: _read(ran.arrays[k], scalar_of(a.dtype)).reshape(_full(a))
        for k, a in enumerate(arguments)
        if isinstance(a, ArrayArgument)
    }


def _bytes(number: float, dtype: DType) -> bytes:
    if dtype.is_float:
        return _written(np.array([number], to_numpy(dtype)), dtype).tobytes()
    return (int(number) & ((1 << dtype.bits) - 1)).to_bytes(dtype.bits // 8, "little")


def _written(array: npt.NDArray[Any], scalar: DType) -> npt.NDArray[Any]:
    """The array as the machine holds it: bf16 as the upper half of f32."""
    return (array.view(np.uint32) >> 16).astype(np.uint16) if scalar.name == "bf16" else array.copy()


def _read(array: npt.NDArray[Any], scalar: DType) -> npt.NDArray[Any]:
    return (array.astype(np.uint32) << 16).view(np.float32) if scalar.name == "bf16" else array
