"""A tensor function that is called: its arguments, its runners by sizes, and a short way for calls like those before."""

from __future__ import annotations

import ctypes
import sys
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from warploom.core import bf16, bf16_values
from warploom.schedule.backbone import Role
from warploom.schedule.calls.arguments import Binding, Signature
from warploom.schedule.calls.runners import CompiledRunner, Runner
from warploom.schedule.calls.shim import Short, short_way

Array: TypeAlias = NDArray[Any]
MakeRunner: TypeAlias = Callable[[Mapping[str, int]], Runner]
MakeRest: TypeAlias = Callable[[Mapping[str, int]], Runner | None]
_KEPT = 512
"""Sizes, and forms of calls, that are remembered; the oldest are forgotten."""
_TRIED = 4
"""Forms that are tried in C, the last first."""
_address = ctypes.addressof
_first_byte: Callable[[Any], ctypes.c_char] = ctypes.c_char.from_buffer


@dataclass(frozen=True, slots=True)
class _Form:
    """Form of a call that can go the short way: NumPy's arrays by position, contiguous, outputs apart."""

    runner: CompiledRunner
    arrays: tuple[tuple[int, bool, int], ...]
    """(position, whether it is written, bytes) of arrays that were given."""
    made: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...]
    """Outputs to make; empty where they were given."""
    order: tuple[int, ...]
    """For each array of the kernels its number among the given arrays and, after them, those that are made."""
    outputs: tuple[int, ...]
    """The same of the results."""


class Elsewhere(Protocol):
    """Calls that other memory than the host's is for."""

    def takes(self, given: Sequence[Any], named: Mapping[str, Any]) -> bool: ...

    def __call__(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any: ...


class Calls:
    """`make` gives the runner at sizes that were not seen before. UserErrors of it, such as sizes at which the function reads
    outside of an array, are the call's. `elsewhere` serves the calls that it takes."""

    def __init__(
        self, signature: Signature, make: MakeRunner, elsewhere: Elsewhere | None = None, *, rest: MakeRest | None = None
    ) -> None:
        """`rest`: gives the runner where some arrays have no elements, and None elsewhere; without it, such calls are refused but
        where there is nothing to write."""
        self.signature = signature
        self._make = make
        self._rest = rest
        self._elsewhere = elsewhere
        self._runners: OrderedDict[tuple[int, ...], Runner] = OrderedDict()
        self._chosen: set[tuple[int, ...]] = set()
        """Sizes whose runner is not `make`'s."""
        self._forms: dict[tuple[object, ...], _Form] = {}
        self._shorts: list[tuple[Short, tuple[int, ...]]] = []
        """The last forms of calls that C takes whole, with the places of the outputs."""
        self._generation = 0
        """Counts changes of runners: a call that began before one leaves no form behind."""
        self._scalars = tuple(signature.scalars.values())

    @property
    def text(self) -> str:
        """How it is called."""
        return self.signature.text

    def __call__(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        if named and (ordered := self._ordered(given, named)) is not None:
            given, named = ordered, {}
        generation = self._generation
        plain = None if named else _plain(given)
        taken = None if plain is None else self._taken(plain)
        if plain is not None and taken is not None:
            results = self._shortly(*taken)
            if results is not None:
                if plain is not given:
                    results = _as_given(results, plain, given)
                return results[0] if len(results) == 1 else results
        elif self._elsewhere is not None and self._elsewhere.takes(given, named):
            return self._elsewhere(given, named)
        binding = self.signature.bind(given, named)
        runner = self.run(binding)
        if runner is not None and taken is not None and generation == self._generation:
            self._note(taken[0], binding, runner)
        return binding.returned()

    def _ordered(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """All arguments by position, where the names are just those of the last parameters."""
        for order in (self.signature.all, self.signature.inputs):
            if len(given) + len(named) == len(order):
                rest = [named[name] for name in order[len(given) :] if name in named]
                if len(rest) == len(named):
                    return (*given, *rest)
        return None

    def _taken(self, given: tuple[Any, ...]) -> tuple[tuple[Array, ...], tuple[float, ...]] | None:
        """Arrays and scalars of a call; None where some array is not NumPy's own."""
        scalars: tuple[float, ...] = ()
        arrays = given
        if self._scalars:
            order = {len(self.signature.inputs): self.signature.inputs, len(self.signature.all): self.signature.all}.get(
                len(given)
            )
            if order is None:
                return None
            by_name = dict(zip(order, given, strict=True))
            scalars = tuple([self.signature.number(p, by_name.pop(p.name)) for p in self._scalars])
            arrays = tuple(by_name.values())
        for array in arrays:
            if type(array) is not np.ndarray:
                return None
        return arrays, scalars

    def _shortly(self, given: tuple[Array, ...], scalars: tuple[float, ...]) -> tuple[Array, ...] | None:
        """The results of a call in a form that is known; None, and nothing done, where it is not."""
        for short, outputs in self._shorts:
            if short(given):
                return tuple([given[n] for n in outputs])
        key: list[object] = []
        for array in given:
            key.append(array.shape)
            key.append(array.dtype)
        form = self._forms.get(tuple(key))
        return None if form is None else _short(form, given, scalars)

    def run(self, binding: Binding) -> Runner | None:
        """The runner that ran; None where there was nothing to do."""
        if binding.is_empty:
            return None
        runner = self.runner(binding.sizes)
        runner.run(binding.arrays, binding.scalars)
        for made, own in binding.copies:
            own[...] = made if made.dtype == own.dtype else bf16_values(made)
        return runner

    def runner(self, sizes: Mapping[str, int]) -> Runner:
        """Made for these sizes if there is none."""
        key = tuple(sizes[name] for name in self.signature.sizes)
        runner = self._runners.get(key)
        if runner is None:
            runner = None if self._rest is None else self._rest(sizes)
            if runner is None:
                self.signature.check_sizes(sizes)
                runner = self._make(sizes)
            self._remember(key, runner)
        return runner

    def known(self, sizes: Mapping[str, int]) -> Runner | None:
        """The runner of these sizes, if there is one."""
        return self._runners.get(tuple(sizes[name] for name in self.signature.sizes))

    def use(self, sizes: Mapping[str, int], runner: Runner) -> None:
        """Uses the runner for these sizes from now on."""
        key = tuple(sizes[name] for name in self.signature.sizes)
        self._chosen.add(key)
        self._remember(key, runner)
        self._forget_forms()

    def ask_again(self) -> None:
        """`make` is asked again for all sizes but those of `use`."""
        for key in self._runners.keys() - self._chosen:
            del self._runners[key]
        self._forget_forms()

    def is_chosen(self, sizes: Mapping[str, int]) -> bool:
        """Whether `use` said their runner."""
        return tuple(sizes[name] for name in self.signature.sizes) in self._chosen

    def _forget_forms(self) -> None:
        self._generation += 1
        self._forms.clear()
        self._shorts.clear()

    def _remember(self, key: tuple[int, ...], runner: Runner) -> None:
        self._runners[key] = runner
        self._runners.move_to_end(key)
        while len(self._runners) > _KEPT:
            self._chosen.discard(self._runners.popitem(last=False)[0])

    def _note(self, given: Sequence[Any], binding: Binding, runner: Runner) -> None:
        """Remembers the form of a call whose arrays went to the kernels as they were."""
        if self.signature.places:  # the places of each call are looked at
            return
        if not isinstance(runner, CompiledRunner) or binding.copies or any(type(a) is not np.ndarray for a in given):
            return
        outputs = (self.signature.arrays[name] for name in self.signature.outputs)
        if any(a.dtype == bf16 and make is not None for a, make in zip(outputs, binding.packages, strict=True)):
            return
        arrays = list(self.signature.arrays.values())
        known = [next((n for n, g in enumerate(given) if _is_same(g, array)), -1) for array in binding.arrays]
        made = [n for n, place in enumerate(known) if place < 0]
        is_output = [a.role is Role.OUTPUT for a in arrays]
        if any(not is_output[n] for n in made) or len({*known} - {-1}) != len(given):
            return
        for place, n in enumerate(made, len(given)):
            known[n] = place
        written = {known[n] for n in range(len(arrays)) if is_output[n]}
        if len(self._forms) >= _KEPT:
            self._forms.clear()
        key = tuple(part for a in given for part in (a.shape, a.dtype))
        names = [a.name for a in arrays]
        outputs = tuple(known[names.index(name)] for name in self.signature.outputs)
        short = None if made else short_way(runner, given, written, known)
        if short is not None:
            self._shorts = [(short, outputs), *self._shorts[: _TRIED - 1]]
        self._forms[key] = _Form(
            runner,
            tuple((n, n in written, a.nbytes) for n, a in enumerate(given)),
            tuple((binding.arrays[n].shape, binding.arrays[n].dtype) for n in made),
            tuple(known),
            outputs,
        )


def _plain(given: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments with NumPy's arrays in the place of PyTorch's tensors; None where one is not taken as it lies in memory."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    if kind is None or kind not in map(type, given):
        return given
    try:
        return tuple([value.numpy() if type(value) is kind else value for value in given])
    except (RuntimeError, TypeError):  # of a GPU, records gradients, is a negated view, or of a type that NumPy lacks
        return None


def _as_given(results: tuple[Array, ...], plain: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors of these results: those that were given, or new ones of the first array's package."""
    found: list[Any] = []
    for result in results:
        own = next((n for n, array in enumerate(plain) if array is result), None)
        if own is not None:
            found.append(given[own])
            continue
        first = next(n for n, array in enumerate(plain) if isinstance(array, np.ndarray) and array.ndim)
        found.append(result if given[first] is plain[first] else sys.modules["torch"].from_numpy(result))
    return tuple(found)


def _is_same(one: Array, other: Array) -> bool:
    return one is other or (
        one.dtype == other.dtype
        and one.ctypes.data == other.ctypes.data
        and one.shape == other.shape
        and one.strides == other.strides
        and one.size > 0
    )


def _short(form: _Form, given: Sequence[Array], scalars: tuple[float, ...]) -> tuple[Array, ...] | None:
    """The results of a call in a form that is known; None, and nothing done, where this call is not one after all."""
    addresses: list[int] = []
    for n, is_written, _ in form.arrays:
        array = given[n]
        flags = array.flags
        if flags.carray:
            addresses.append(_address(_first_byte(array)))
        elif not is_written and flags.c_contiguous and flags.aligned:
            addresses.append(array.ctypes.data)
        else:
            return None
    for n, is_written, size in form.arrays:
        if is_written:
            low, high = addresses[n], addresses[n] + size
            for m, _, other in form.arrays:
                if m != n and addresses[m] < high and low < addresses[m] + other:
                    return None
    arrays = given
    if form.made:
        made = [np.empty(shape, dtype) for shape, dtype in form.made]
        arrays = (*given, *made)
        addresses += [_address(_first_byte(a)) for a in made]
    form.runner.run_at([addresses[n] for n in form.order], scalars)
    return tuple(arrays[n] for n in form.outputs)
