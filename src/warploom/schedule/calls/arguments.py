"""The arguments of a call of a tensor function: checked, and brought into the form that kernels want.

A kernel wants arrays of its types, contiguous and aligned, and outputs that share no memory with anything else. Views, strides
and overlaps are served by copies: of inputs before the kernel runs, of outputs after it. bf16, which NumPy lacks, comes as its
words (uint16, `bfloat16` of ml_dtypes, PyTorch's tensors), or as float32, which is rounded in a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from warploom.core import (
    NOWHERE,
    Diagnostic,
    Span,
    UserError,
    bf16,
    bf16_values,
    in_memory,
    integer_range,
    words_of,
)
from warploom.schedule.backbone import Parameter, Role
from warploom.schedule.calls.solving import solved_sizes
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.frontend.arithmetic import fits
from warploom.schedule.frontend.sizes import Sizes
from warploom.schedule.frontend.tree import ArrayParameter, Places

Array: TypeAlias = NDArray[Any]
_KEPT = 64
"""Shapes of calls whose sizes are remembered."""
_EXACT = 1 << 53
"""Whole numbers up to here are exact as the doubles in which kernels get them."""
_CPU = 1
"""DLPack's number for the memory of the host."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The arguments of one call."""

    sizes: Mapping[str, int]
    arrays: tuple[Array, ...]
    """Inputs and outputs in the order of the parameters, contiguous, aligned, apart from each other."""
    scalars: tuple[float, ...]
    copies: tuple[tuple[Array, Array], ...]
    """(what the kernel writes, the caller's array that gets it): outputs that the kernel cannot write in place."""
    results: tuple[Any, ...]
    """The arrays that the call returns, the caller's own arrays or new ones of NumPy, before `returned`."""
    packages: tuple[Callable[[Array], Any] | None, ...]
    """For each result the function that makes a new array one of the caller's package; None: it stays."""
    is_empty: bool
    """Every output is without elements: there is nothing to do."""

    def returned(self) -> Any:
        """The result, or a tuple of several; to be asked for once the kernel has run, since packages may copy what they take."""
        made = tuple(r if make is None else make(r) for r, make in zip(self.results, self.packages, strict=True))
        return made[0] if len(made) == 1 else made


class Signature:
    """The parameters of a tensor function, and what a call may give for them."""

    def __init__(
        self,
        name: str,
        arrays: Sequence[ArrayParameter],
        scalars: Sequence[Parameter],
        parameters: Sequence[str],
        sizes: Sequence[str],
        places: Sequence[Places] = (),
    ) -> None:
        """`parameters`: all names, in the order of a call; `arrays` may hold those between stages, too. `places`: arrays whose
        elements must be places of others."""
        self.name = name
        self.sizes = tuple(sizes)
        self.places = tuple(places)
        self.arrays = {a.name: a for a in arrays if a.role is not Role.TEMPORARY}
        self.scalars = {p.name: p for p in scalars}
        self.olds = {a.old: a.name for a in arrays if a.old is not None}
        """Arrays that get a copy of what another one has before the kernel runs, and that other one."""
        is_known = self.arrays.keys() - self.olds.keys() | self.scalars.keys()
        self.all = tuple(name for name in parameters if name in is_known)
        self.outputs = tuple(name for name in self.all if name in self.arrays and self.arrays[name].role is Role.OUTPUT)
        self.inputs = tuple(name for name in self.all if name not in self.outputs or self.arrays[name].old is not None)
        """Arrays that a call must give, including those that are read and written."""
        self.dtypes = {name: in_memory(a.dtype) for name, a in self.arrays.items()}
        self._span = arrays[0].span
        self._solved: dict[tuple[tuple[str, tuple[int, ...]], ...], tuple[dict[str, int], dict[str, tuple[int, ...]]]] = {}
        """Sizes and shapes of calls, by the shapes that they gave."""

    @staticmethod
    def of(function: TensorFunction) -> Signature:
        tree = function.tree
        return Signature(function.name, tree.arrays, tree.scalars, tree.parameters, function.sizes, tree.places)

    @property
    def text(self) -> str:
        """`product(A, B, [C])`: outputs may be left out."""
        return f"{self.name}({', '.join(n if n in self.inputs else f'[{n}]' for n in self.all)})"

    def bind(self, given: Sequence[object], named: Mapping[str, object]) -> Binding:
        """UserError: CALL_ARGUMENTS, CALL_ARRAY, CALL_DTYPE, CALL_SHAPE, CALL_MEMORY, CALL_INDEX."""
        values = self.by_name(given, named)
        arrays = {
            name: self._array(self.arrays[name], values[name]) for name in self.all if name in self.arrays and name in values
        }
        scalars = tuple(self.number(p, values[name]) for name, p in self.scalars.items())
        sizes, shapes = self.sizes_and_shapes({n: a.shape for n, a in arrays.items()})
        is_empty = all(0 in shapes[name] for name in self.outputs)
        if not is_empty:
            for place in self.places:
                self.check_places(place, arrays[place.indices], place.size.whole_at(sizes))
        wanted = list[Array]()
        copies, results = list[tuple[Array, Array]](), dict[str, Any]()
        package = self._package(values)
        packages = dict[str, Callable[[Array], Any] | None]()
        for name in self.arrays:
            if name in self.olds:
                wanted.append(np.array(self._words(name, arrays[self.olds[name]]), order="C", copy=True, subok=False))
            elif name in self.outputs:
                own = arrays.get(name)
                if own is None:
                    own = np.empty(shapes[name], self.dtypes[name])
                    wanted.append(own)
                    results[name] = own
                    packages[name] = package if self.arrays[name].dtype != bf16 else self._package_of_bf16(values, package)
                    continue
                others = [a for n, a in arrays.items() if n != name]
                self._check_output(self.arrays[name], own, {n: arrays[n] for n in self.outputs if n in arrays and n != name})
                results[name] = values[name]
                is_plain = own.flags.carray and own.dtype == self.dtypes[name]
                if is_plain and not any(np.may_share_memory(own, other) for other in others):
                    wanted.append(own)
                else:
                    fresh = np.empty(own.shape, self.dtypes[name])
                    copies.append((fresh, own))
                    wanted.append(fresh)
            else:
                array = self._words(name, arrays[name])
                is_plain = array.flags.c_contiguous and array.flags.aligned
                wanted.append(array if is_plain else np.array(array, order="C", copy=True, subok=False))
        returned = tuple(results[name] for name in self.outputs)
        made = tuple(packages.get(name) for name in self.outputs)
        return Binding(sizes, tuple(wanted), scalars, tuple(copies), returned, made, is_empty)

    def _words(self, name: str, array: Array) -> Array:
        """The array in the type that the kernel takes."""
        return array if array.dtype == self.dtypes[name] else words_of(self.arrays[name].dtype, array).reshape(array.shape)

    def sizes_and_shapes(
        self, given: Mapping[str, tuple[int, ...]]
    ) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:  # fmt: skip
        """The sizes that the shapes of the given arrays say, and the shapes of all arrays. UserError (CALL_SHAPE)."""
        key = tuple(given.items())
        if (known := self._solved.get(key)) is None:
            known = self._solve(given)
            if len(self._solved) >= _KEPT:
                self._solved.clear()
            self._solved[key] = known
        sizes, shapes = known
        return Sizes(sizes), dict(shapes)

    def _solve(self, given: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, int], dict[str, tuple[int, ...]]]:
        sizes = solved_sizes(self.name, self.arrays.values(), given, self.sizes)
        shapes = {n: tuple(s.whole_at(sizes) for s in a.shape) for n, a in self.arrays.items()}
        for name, shape in shapes.items():
            if any(extent < 0 for extent in shape):
                message = f"expected sizes that leave room for {name!r}, got {name!r} of shape {shape}"
                self._refuse("CALL_SHAPE", message, self.arrays[name].span, "Pass arrays whose shapes fit together.")
        return sizes, shapes

    def by_name(self, given: Sequence[object], named: Mapping[str, object]) -> dict[str, object]:
        """Without outputs, arguments by position are the inputs in their order; else all parameters in theirs."""
        if "out" in named and "out" not in self.all and self.outputs:  # as NumPy and PyTorch call it
            rest = {name: value for name, value in named.items() if name != "out"}
            given_out: Any = named["out"]
            its = cast("tuple[Any, ...]", given_out) if isinstance(given_out, tuple) else (given_out,)
            if len(its) != len(self.outputs) or rest.keys() & set(self.outputs):
                self._refuse("CALL_ARGUMENTS", f"expected out= to be {', '.join(self.outputs)} of {self.text}, got {len(its)}")
            named = rest | dict(zip(self.outputs, its, strict=True))
        for name in named:
            if name not in self.all:
                self._refuse("CALL_ARGUMENTS", f"expected a parameter of {self.text}, got {name!r}")
        inputs = len(given) + sum(name in self.inputs for name in named)
        order = self.inputs if inputs == len(self.inputs) and not (set(self.inputs[: len(given)]) & named.keys()) else self.all
        if len(given) > len(order):
            self._refuse("CALL_ARGUMENTS", f"expected {self.text}, got {len(given) + len(named)} arguments")
        values = dict(zip(order, given, strict=False))
        for name, value in named.items():
            if name in values:
                self._refuse("CALL_ARGUMENTS", f"expected one value of {name!r} in {self.text}, got two")
            values[name] = value
        missing = [name for name in self.inputs if name not in values]
        if missing:
            count = len(given) + len(named)
            self._refuse("CALL_ARGUMENTS", f"expected {self.text}, got {count} arguments: no value of {', '.join(missing)}")
        return {name: value for name, value in values.items() if value is not None or name in self.inputs}

    def _array(self, parameter: ArrayParameter, value: object) -> Array:
        is_bf16 = parameter.dtype == bf16
        array = as_array(value, is_written=parameter.role is Role.OUTPUT, is_bf16=is_bf16)
        if isinstance(array, Refused):
            message = f"expected an array for {parameter.name!r}, got {array.got}"
            self._refuse("CALL_ARRAY", message, parameter.span, array.fix.format(parameter.name, self.dtypes[parameter.name]))
        if parameter.dtype.is_held and not is_bf16:
            self._refuse(
                "CALL_DTYPE",
                f"expected a type that NumPy has, {parameter.name!r} is of {parameter.dtype}",
                parameter.span,
                _F32_FIX,
            )
        wanted = self.dtypes[parameter.name]
        if is_bf16 and array.dtype not in (wanted, np.float32):
            message = f"expected bf16 for {parameter.name!r}, or float32 to round, got {array.dtype}"
            self._refuse("CALL_DTYPE", message, parameter.span, "Pass array.astype(np.float32), or declare another type.")
        if array.dtype != wanted and not is_bf16:
            if array.dtype.newbyteorder("=") == wanted:
                message = f"expected {wanted} in this machine's byte order for {parameter.name!r}, got {array.dtype.str}"
                self._refuse("CALL_DTYPE", message, parameter.span, f"Pass array.astype(np.{wanted}).")
            message = f"expected an array of {wanted} for {parameter.name!r}, got {array.dtype}"
            own = f"{parameter.name}.to(torch.{wanted})" if _is_torch(value) else f"array.astype(np.{wanted})"
            self._refuse("CALL_DTYPE", message, parameter.span, f"Pass {own}, or declare another type.")
        if array.ndim != len(parameter.shape):
            shape = ", ".join(map(str, parameter.shape))
            message = f"expected {len(parameter.shape)} axes ({shape}) of {parameter.name!r}, got {array.ndim}: {array.shape}"
            self._refuse("CALL_SHAPE", message, parameter.span, "Reshape it, or declare another shape.")
        return array

    def number(self, parameter: Parameter, value: object) -> float:
        """The value of a scalar. UserError: CALL_ARRAY, CALL_DTYPE."""
        if type(value) is float and parameter.dtype.is_float:
            return value
        name, dtype = parameter.name, parameter.dtype
        given: Any = value
        if isinstance(given, np.ndarray):
            array = cast(Array, given)
            given = array.item() if array.ndim == 0 else array
        elif hasattr(given, "__dlpack__") and getattr(given, "shape", None) == () and hasattr(given, "item"):
            given = given.item()  # a tensor of one number
        if isinstance(given, bool | np.bool_ | complex | np.complexfloating) or not isinstance(given, Real | np.number):
            self._refuse("CALL_ARRAY", f"expected a number for {name!r}, got {_kind_of(value)}")
        if dtype.is_float:
            try:
                return float(cast(float, given))
            except OverflowError:
                self._refuse("CALL_DTYPE", f"expected a number that {dtype} holds for {name!r}, got a larger one")
        low, high = integer_range(dtype)
        if not fits(cast(float, given), dtype):
            self._refuse("CALL_DTYPE", f"expected a number that {dtype} holds for {name!r}, from {low} to {high}, got {given}")
        if abs(int(cast(float, given))) > _EXACT:
            self._refuse("CALL_DTYPE", f"expected a whole number of at most 2**53 for {name!r}, got {given}")
        return float(cast(float, given))

    def check_sizes(self, sizes: Mapping[str, int]) -> None:
        """UserError (CALL_SHAPE) where an array has no elements, or a size is zero."""
        for name, array in self.arrays.items():
            shape = tuple(s.whole_at(sizes) for s in array.shape)
            if 0 in shape:
                told = self.olds.get(name, name)
                message = (
                    f"expected arrays with elements where {self.name!r} has something to write, got {told!r} of shape {shape}"
                )
                self._refuse("CALL_SHAPE", message, self.arrays[name].span, "Pass arrays of one element or more on each axis.")
        for name, size in sizes.items():
            if size < 1:
                self._refuse("CALL_SHAPE", f"expected sizes of 1 or more, got {name} = {size}")

    def check_places(self, place: Places, array: Array, most: int) -> None:
        """Every element is a place, those that nothing reads, too."""
        wrong = (array < 0) | (array >= most)
        if wrong.any():
            at = np.unravel_index(int(np.argmax(wrong)), array.shape)
            where = f"{place.indices}[{', '.join(str(int(n)) for n in at)}]"
            message = (
                f"expected indices from 0 to {most - 1} on axis {place.axis} of {place.array!r}, got {where} = {int(array[at])}"
            )
            fix = f"Correct it, or write pad({place.array}, 0)[...] to read 0 outside."
            self._refuse("CALL_INDEX", message, self.arrays[place.indices].span, fix)

    def _check_output(self, parameter: ArrayParameter, array: Array, outputs: Mapping[str, Array]) -> None:
        name = parameter.name
        if not array.flags.writeable:
            message = f"expected an array that can be written for the output {name!r}, got a read-only one"
            self._refuse("CALL_MEMORY", message, parameter.span, self._copy_fix(parameter))
        if _repeats(array):
            message = f"expected a place of its own for each element of the output {name!r}, got strides {array.strides}"
            self._refuse("CALL_MEMORY", message, parameter.span, self._copy_fix(parameter))
        for other, its in outputs.items():
            if np.may_share_memory(array, its) and _shares(array, its):
                message = f"expected outputs that share no memory, got {name!r} and {other!r} in the same"
                self._refuse("CALL_MEMORY", message, parameter.span, "Pass arrays of their own.")

    def _copy_fix(self, parameter: ArrayParameter) -> str:
        return "Pass a copy." if parameter.name in self.inputs else "Pass a copy, or leave the output out."

    def _package(self, values: Mapping[str, object]) -> Callable[[Array], Any] | None:
        """The function that makes an output a tensor of the first input's package; None where that is NumPy's."""
        first = next((values[n] for n in self.inputs if n in self.arrays), None)
        if first is None or isinstance(first, np.ndarray):
            return None
        for base in type(first).__mro__:  # a class of the user's own, too
            make = getattr(sys.modules.get(base.__module__.partition(".")[0]), "from_dlpack", None)
            if make is not None:
                return make
        space = getattr(first, "__array_namespace__", None)  # the class of JAX's arrays is of another package
        return getattr(space(), "from_dlpack", None) if space is not None else None

    def _package_of_bf16(
        self, values: Mapping[str, object], package: Callable[[Array], Any] | None
    ) -> Callable[[Array], Any] | None:
        """The same for words of bf16: what its first input of bf16 has, else float32, which all have."""
        first = next((values[n] for n in self.inputs if n in self.arrays and self.arrays[n].dtype == bf16), None)
        if _is_torch(first):
            torch = sys.modules["torch"]
            return lambda words: torch.from_dlpack(words.view(np.int16)).view(torch.bfloat16)
        if isinstance(first, np.ndarray) and package is None and (own := cast(Array, first).dtype) != np.float32:
            return None if own == np.uint16 else lambda words: words.view(own)
        return lambda words: package(bf16_values(words)) if package is not None else bf16_values(words)

    def _refuse(self, code: str, message: str, span: Span = NOWHERE, fix: str = "") -> NoReturn:
        raise UserError(Diagnostic(code, message, span if span != NOWHERE else self._span, fix or f"Call {self.text}."))


_ARRAY_FIX = "Pass a NumPy array, or a tensor in the memory of the CPU that DLPack can hand over."
_F32_FIX = "Declare it as f32."


@dataclass(frozen=True, slots=True)
class Refused:
    """Description of a value that was given instead of an array."""

    got: str
    fix: str = _ARRAY_FIX
    """`{0}`: the parameter's name, `{1}`: its type."""


def as_array(value: object, *, is_written: bool = False, is_bf16: bool = False) -> Array | Refused:
    """The array, without a copy but of negated views, which are none in memory; or what was given instead.

    is_bf16: arrays of that type are taken, as their words.
    """
    if isinstance(value, np.ma.MaskedArray):
        return Refused("a masked array, whose mask no kernel knows", "Pass {0}.filled(...).")
    if isinstance(value, np.ndarray):
        plain = np.asarray(cast(Array, value))  # NumPy's own class, whose shape and strides nothing overrides
        return plain.view(np.uint16) if is_bf16 and plain.dtype.name == "bfloat16" else plain
    if not hasattr(value, "__dlpack__") or isinstance(value, np.generic | type):
        return Refused(_kind_of(cast(object, value)))
    if any(base.__name__ == "FakeTensor" for base in type(value).__mro__):
        return Refused("a fake tensor, which has no elements", "Wrap the call in an operator: --code DIR/ writes one.")
    if _is_torch(value):
        torch, tensor = sys.modules["torch"], cast(Any, value)
        has_words = str(tensor.dtype) == "torch.bfloat16"
        if has_words and not is_bf16:
            return Refused("a tensor of bfloat16, which NumPy does not have", "Pass {0}.to(torch.{1}).")
        if tensor.requires_grad:
            if torch.is_grad_enabled():
                return Refused("a tensor that records gradients", "Pass {0}.detach(), or call inside of torch.no_grad().")
            value = tensor = tensor.detach()
        if tensor.is_neg():
            if is_written:
                return Refused("a negated view", "Pass a tensor that holds its elements themselves, such as {0}.resolve_neg().")
            value = tensor = tensor.resolve_neg()
        if has_words:
            words = as_array(tensor.view(torch.int16))
            return words if isinstance(words, Refused) else words.view(np.uint16)
    where = getattr(value, "__dlpack_device__", None)
    try:
        device = where() if where is not None else (_CPU, 0)
        if int(device[0]) != _CPU:
            package = type(value).__module__.partition(".")[0]
            return Refused(f"a tensor of {package} that is not in the memory of the CPU")
        array: Array = np.from_dlpack(cast(Any, value))
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        return Refused(f"a tensor that NumPy does not take: {error}")
    as_numpy = getattr(value, "numpy", None)
    if not array.flags.writeable and as_numpy is not None:  # older exchanges cannot say that memory may be written
        known = as_numpy()
        return cast(Array, known) if isinstance(known, np.ndarray) else array
    return array


def _is_torch(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, getattr(torch, "Tensor", ()))


def _kind_of(value: object) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def _repeats(array: Array) -> bool:
    """Several elements at one address."""
    if array.size < 2:
        return False
    if any(n > 1 and s == 0 for n, s in zip(array.shape, array.strides, strict=True)):
        return True
    reach = array.itemsize
    for stride, size in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < reach:
            return True
        reach = stride * (size - 1) + reach
    return False


def _shares(one: Array, other: Array) -> bool:
    try:
        return np.shares_memory(one, other, max_work=cast(Any, 10_000))
    except np.exceptions.TooHardError:
        return True
