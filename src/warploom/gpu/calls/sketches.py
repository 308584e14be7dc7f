"""Completed sketches that are called: on tensors of a GPU, on copies of NumPy's arrays there, or in the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import Diagnostic, Span, UserError, to_numpy
from warploom.gpu.calls.checks import Wanted, fitting, require_all_on_device, require_apart, taken
from warploom.gpu.calls.copies import copied_to, device_of
from warploom.gpu.calls.launching import Launch, at_tensors, call_stream, clear_on_device, finish, new_tensor, run_launches
from warploom.gpu.calls.tensors import DeviceTensor, device_tensor, is_on_device
from warploom.gpu.cuda import CudaSource
from warploom.gpu.execute import grid_of
from warploom.ir import IndexExpr, Kernel, SizeVar, aligned_params, linear, run, tabulate

_WORDS = ("stream", "device")


class SketchCalls:
    """A kernel without holes, as a function of arrays: `kernel(x, [y], n=...)`. Outputs may be left out; they begin at zero."""

    def __init__(self, kernel: Kernel, print_source: Callable[[], CudaSource]) -> None:
        """print_source: its CUDA, for the first call on a GPU."""
        self.kernel = kernel
        self._print = print_source
        self._params = {p.name: p for p in kernel.params}
        self._outputs = tuple(p.name for p in kernel.params if p.is_output)
        self._inputs = tuple(p.name for p in kernel.params if p.is_input or not p.is_output)
        self._spans = {p.name: p.span for p in kernel.params}
        self._alignments = aligned_params(kernel)
        self._words = tuple(w for w in _WORDS if w not in self._params and w not in kernel.sizes)

    @property
    def text(self) -> str:
        """`kernel(x, [y], n=)`: arrays in brackets may be left out, sizes where shapes tell them."""
        arrays = [name if name in self._inputs else f"[{name}]" for name in self._params]
        return f"{self.kernel.name}({', '.join([*arrays, *(f'{n}=' for n in self.kernel.sizes)])})"

    @cached_property
    def source(self) -> CudaSource:
        """UserError where the kernel cannot be printed."""
        return self._print()

    def __call__(self, given: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The output, or a tuple of several. `stream` and `device` are words of the call where no parameter is called so.

        UserError: CALL_ARGUMENTS, CALL_ARRAY, CALL_DTYPE, CALL_SHAPE, CALL_MEMORY, CALL_DEVICE, CALL_STREAM, NO_DEVICE,
        CUDA_DRIVER, and those of the interpreter.
        """
        named = dict(named)
        stream, device = (named.pop(w, None) if w in self._words else None for w in _WORDS)
        sizes = {n: named.pop(n) for n in self.kernel.sizes if n in named}
        values = self._by_name(given, named)
        return self.run(values, sizes, stream, device)

    def run(self, values: Mapping[str, Any], sizes: Mapping[str, Any], stream: Any, device: Any) -> Any:
        """As a call, with the arrays by name."""
        if any(is_on_device(v) for v in values.values()):
            return self._on_device(values, sizes, stream, device)
        arrays = {name: self._host_array(name, value) for name, value in values.items()}
        if device is None:
            if stream is not None:
                message = "expected tensors of a GPU, or device=, beside stream, got NumPy's arrays alone"
                self._refuse("CALL_STREAM", message, fix="Leave stream out: the interpreter has none.")
            return self._interpreted(arrays, sizes)
        return self._copied(arrays, sizes, stream, device_of(device))

    # ------------------------------------------------------------ arguments

    def _by_name(self, given: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Without outputs, arguments by position are the inputs in their order; else all arrays in theirs."""
        for name in named:
            if name not in self._params:
                self._refuse("CALL_ARGUMENTS", f"expected a parameter of {self.text}, got {name!r}")
        count = len(given) + sum(name in self._inputs for name in named)
        order = self._inputs if count == len(self._inputs) and not set(self._inputs[: len(given)]) & named.keys() else ()
        order = order or tuple(self._params)
        if len(given) > len(order):
            self._refuse("CALL_ARGUMENTS", f"expected {self.text}, got {len(given) + len(named)} arguments")
        values = dict(zip(order, given, strict=False))
        if twice := values.keys() & named.keys():
            self._refuse("CALL_ARGUMENTS", f"expected one value of {min(twice)!r} in {self.text}, got two")
        values |= named
        values = {name: value for name, value in values.items() if value is not None or name in self._inputs}
        if missing := [name for name in self._inputs if name not in values]:
            self._refuse("CALL_ARGUMENTS", f"expected {self.text}, got no value of {', '.join(missing)}")
        return values

    def _host_array(self, name: str, value: Any) -> NDArray[Any]:
        param = self._params[name]
        if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
            message = f"expected a NumPy array or a tensor of a GPU for {name!r}, got a {type(cast(object, value)).__name__}"
            self._refuse("CALL_ARRAY", message, param.span, "Pass a NumPy array, such as tensor.numpy().")
        array = cast("NDArray[Any]", value)
        if array.dtype != to_numpy(param.dtype):
            message = f"expected an array of {to_numpy(param.dtype)} for {name!r}, got {array.dtype}"
            self._refuse("CALL_DTYPE", message, param.span, f"Pass array.astype(np.{to_numpy(param.dtype)}).")
        if param.is_output and not array.flags.writeable:
            message = f"expected an array that can be written for the output {name!r}, got a read-only one"
            self._refuse("CALL_MEMORY", message, param.span, "Pass a copy, or leave the output out.")
        return array

    def sizes_of(self, shapes: Mapping[str, tuple[int, ...]], given: Mapping[str, Any]) -> dict[str, int]:
        """The value of each run-time size: as given, or from the axes of arrays that say it. UserError (CALL_SHAPE)."""
        known: dict[str, int] = {}
        for name, value in given.items():
            if isinstance(value, bool) or not isinstance(value, Integral):
                self._refuse("CALL_SHAPE", f"expected a whole number as {name}, got {value!r}")
            known[name] = int(value)
        axes = [(self._params[n], axis, extent) for n, shape in shapes.items() for axis, extent in enumerate(shape)]
        is_new = True
        while is_new:
            is_new = False
            for param, axis, extent in axes:
                if axis < len(param.shape) and (found := _told(param.shape[axis], extent, known)) is not None:
                    name, value = found
                    if value is None:
                        message = f"expected {param.name!r} of a shape that some {name} has, got {extent} on axis {axis}"
                        self._refuse("CALL_SHAPE", message, param.span)
                    known[name], is_new = value, True
        if missing := [n for n in self.kernel.sizes if n not in known]:
            message = f"expected arrays, or arguments, that say {', '.join(missing)} of {self.text}, got none"
            self._refuse("CALL_SHAPE", message, fix=f"Write {missing[0]}=... in the call.")
        for name, value in known.items():
            if value < 0:
                self._refuse("CALL_SHAPE", f"expected {name} of 0 or more, got {value}")
        return known

    def _wanted(self, sizes: Mapping[str, int]) -> list[Wanted]:
        found: list[Wanted] = []
        for p in self.kernel.params:
            shape = tuple(_number(e, sizes) for e in p.shape)
            if any(extent < 0 for extent in shape):
                message = f"expected sizes that leave room for {p.name!r}, got {dict(sizes)}"
                self._refuse("CALL_SHAPE", message, p.span)
            found.append(Wanted(p.name, p.dtype, shape, p.is_output, self._alignments.get(p.name, 1), p.span))
        return found

    # ------------------------------------------------------------ runs

    def _interpreted(self, arrays: Mapping[str, NDArray[Any]], given: Mapping[str, Any]) -> Any:
        sizes = self.sizes_of({n: a.shape for n, a in arrays.items()}, given)
        self._wanted(sizes)
        done = run(self.kernel, arrays, sizes)
        if done.diagnostics:
            raise UserError(*done.diagnostics)
        made: dict[str, Any] = {}
        for name in self._outputs:
            if name in arrays:
                arrays[name][...] = done.arrays[name]
            made[name] = arrays.get(name, done.arrays[name])
        return self._returned(made)

    def _copied(self, arrays: dict[str, NDArray[Any]], given: Mapping[str, Any], stream: Any, device: int) -> Any:
        sizes = self.sizes_of({n: a.shape for n, a in arrays.items()}, given)
        wanted = self._wanted(sizes)
        for one in wanted:
            if one.name in self._outputs and one.name not in arrays:
                arrays[one.name] = np.zeros(one.extents, to_numpy(one.dtype))
        dtypes = {w.name: w.component for w in wanted}
        with copied_to(device, arrays, dtypes, frozenset(self._outputs)) as tensors:
            self._launch(tensors, sizes, call_stream((), stream))
        return self._returned(arrays)

    def _on_device(self, values: Mapping[str, Any], given: Mapping[str, Any], stream: Any, device: Any) -> Any:
        require_all_on_device(values, self._spans)
        if device is not None:
            message = f"expected device beside NumPy's arrays only, got {device!r} beside tensors of a GPU"
            self._refuse("OPTION", message, fix="Leave device out: the kernel runs where the tensors are.")
        handle = call_stream(values.values(), stream)
        tensors = {name: taken(name, self._spans[name], device_tensor(v, handle)) for name, v in values.items()}
        sizes = self.sizes_of({n: t.shape for n, t in tensors.items()}, given)
        made = self._launch(tensors, sizes, handle)
        return self._returned({**values, **{name: tensor.owner for name, tensor in made.items()}})

    def _launch(
        self, tensors: Mapping[str, DeviceTensor], sizes: Mapping[str, int], stream: int
    ) -> dict[str, DeviceTensor]:  # fmt: skip
        """The outputs that were not given."""
        source, wanted = self.source, self._wanted(sizes)
        for one in wanted:
            if one.name in tensors:
                fitting(one, tensors[one.name])
        require_apart(wanted, tensors)
        if not source.limits.holds(sizes):
            message = f"expected sizes at which every index of {self.kernel.name} is an int: {source.limits.text}, got {sizes}"
            self._refuse("CALL_SHAPE", message, fix="Call it with parts of the arrays.")
        package = next((t.package for t in tensors.values()), "")
        with at_tensors(tensors, stream) as place:
            made: dict[str, DeviceTensor] = {}
            for one in wanted:
                if one.name not in tensors:
                    made[one.name] = tensor = new_tensor(place, package, one.extents, one.component)
                    clear_on_device(place, tensor.pointer, tensor.size_bytes)
            pointers = {name: t.pointer for name, t in {**tensors, **made}.items()}
            numbers = tuple(sizes[n] for n in self.kernel.sizes)
            grid = grid_of(self.kernel, sizes)
            launch = Launch(source.text, source.name, grid, self.kernel.block, tuple(self._params), numbers)
            run_launches(place, [launch], pointers)
            finish(place, [t.package for t in tensors.values()])
        return made

    def _returned(self, made: Mapping[str, Any]) -> Any:
        found = tuple(made[name] for name in self._outputs)
        return found[0] if len(found) == 1 else found

    def _refuse(self, code: str, message: str, span: Span | None = None, fix: str = "") -> NoReturn:
        raise UserError(Diagnostic(code, message, span or self.kernel.span, fix or f"Call {self.text}."))


def _number(expr: IndexExpr, sizes: Mapping[str, int]) -> int:
    return int(tabulate(expr, {SizeVar(n): v for n, v in sizes.items()}))


def _told(expr: IndexExpr, extent: int, known: Mapping[str, int]) -> tuple[str, int | None] | None:
    """The one size that is open in a sum of sizes, and its value (None: no whole number)."""
    form = linear(expr)
    rest, left = extent - form.constant, list[tuple[str, int]]()
    for atom, coefficient in form.terms:
        match atom:
            case SizeVar(name) if name in known:
                rest -= coefficient * known[name]
            case SizeVar(name):
                left.append((name, coefficient))
            case _:
                return None
    if len(left) != 1:
        return None
    name, coefficient = left[0]
    return name, rest // coefficient if rest % coefficient == 0 else None
