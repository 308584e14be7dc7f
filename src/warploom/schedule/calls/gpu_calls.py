"""Tensor functions whose kernels are CUDA: called on tensors of a GPU, on copies there, or on the interpreter of PTX."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from numpy.typing import NDArray

from warploom.core import Diagnostic, UserError, to_numpy
from warploom.gpu import (
    DeviceTensor,
    Launch,
    Place,
    Wanted,
    at_tensors,
    call_stream,
    copied_to,
    copy_on_device,
    device_arch,
    device_of,
    device_tensor,
    finish,
    fitting,
    is_on_device,
    new_tensor,
    require_all_on_device,
    require_apart,
    run_launches,
    taken,
    to_host,
)
from warploom.schedule.backbone import Program, Role
from warploom.schedule.calls.arguments import Signature
from warploom.schedule.calls.functions import Calls
from warploom.schedule.calls.rest import RestRunner
from warploom.schedule.calls.runners import Runner
from warploom.schedule.cuda import CudaKernel, interpret_all, launch_numbers, text_options

Array: TypeAlias = NDArray[Any]
KernelsAt: TypeAlias = Callable[[Mapping[str, int], str], "tuple[Program, Sequence[CudaKernel]]"]
RestAt: TypeAlias = Callable[[Mapping[str, int], str], "tuple[Program, Sequence[CudaKernel]] | None"]
_ALIGNMENT = 16
"""Bytes: of arrays that explored kernels take."""
_KEPT = 64
_WORDS = ("stream", "device")


@dataclass(frozen=True, slots=True)
class InterpretedRunner:
    """The printed kernels, compiled to PTX and interpreted with all checks: right and slow."""

    program: Program
    kernels: tuple[CudaKernel, ...]
    kind: str = "interpreted"

    def run(self, arrays: Sequence[Array], scalars: Sequence[float]) -> None:
        """UserError: TOOL_MISSING, LAUNCH_FAILED (a fault, or a race)."""
        named = _named(self.program, arrays)
        done = interpret_all(self.kernels, named, _scalars(self.program, scalars))
        if done.findings:
            message = f"expected {self.program.name} to run without faults, got: {done.findings[0]}"
            raise UserError(Diagnostic("LAUNCH_FAILED", message, fix="Report it: it is a bug of Warploom."))
        for region in self.program.arguments:
            if region.role is Role.OUTPUT:
                named[region.name][...] = done.arrays[region.name].reshape(named[region.name].shape)


@dataclass(frozen=True, slots=True)
class CopyingRunner:
    """The kernels on a GPU, for NumPy's arrays: they are copied there and back."""

    program: Program
    kernels: tuple[CudaKernel, ...]
    device: int
    stream: int
    kind: str = "launched"

    def run(self, arrays: Sequence[Array], scalars: Sequence[float]) -> None:
        named = _named(self.program, arrays)
        dtypes = {r.name: r.dtype for r in self.program.arguments}
        outputs = frozenset(r.name for r in self.program.arguments if r.role is Role.OUTPUT)
        with copied_to(self.device, named, dtypes, outputs) as tensors, at_tensors(tensors, self.stream) as place:
            pointers = {name: tensor.pointer for name, tensor in tensors.items()}
            _require_machine(self.kernels, place)
            launches, temporaries = _launches(self.kernels, pointers, _scalars(self.program, scalars))
            with place.temporaries(temporaries) as more:
                run_launches(place, launches, {**pointers, **more})


@dataclass(frozen=True, slots=True)
class _Given:
    """Arguments of a call, as their packages hand them over."""

    values: Mapping[str, Any]
    """Arrays as they were given."""
    tensors: Mapping[str, DeviceTensor]
    scalars: Mapping[str, float]
    sizes: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]
    stream: int


class GpuCalls:
    """`kernels_at` gives the program and its kernels at the sizes of a call on a GPU of an architecture (`sm_90`; empty: on the
    interpreter), and refuses sizes that they do not serve."""

    def __init__(self, signature: Signature, kernels_at: KernelsAt, *, rest: RestAt | None = None) -> None:
        """`rest`: gives the same of what is left where some arrays have no elements, and None elsewhere; without it, such calls
        are refused but where there is nothing to write."""
        self.signature = signature
        self._make = kernels_at
        self._rest = rest
        self._made: OrderedDict[tuple[object, ...], tuple[Program, tuple[CudaKernel, ...]]] = OrderedDict()
        self._interpreted = Calls(
            signature,
            lambda sizes: InterpretedRunner(*self._at(sizes, "")),
            rest=None if rest is None else lambda sizes: self._rest_runner(sizes, "", InterpretedRunner),
        )
        self._lock = threading.Lock()
        self._words = tuple(w for w in _WORDS if w not in signature.all)

    @property
    def text(self) -> str:
        """How it is called."""
        return self.signature.text

    def __call__(self, given: tuple[Any, ...], named: Mapping[str, Any]) -> Any:
        """The output, or a tuple of several. `stream` and `device` are words of the call where no parameter is called so.

        UserError: those of `Signature.bind`, CALL_DEVICE, CALL_STREAM, NO_DEVICE, CUDA_DRIVER, LAUNCH_FAILED.
        """
        named = dict(named)
        stream, device = (named.pop(w, None) if w in self._words else None for w in _WORDS)
        everything = [*given, *named.values(), *_outputs_given(named)]
        if any(is_on_device(value) for value in everything):
            if device is not None:
                message = f"expected device beside NumPy's arrays only, got {device!r} beside tensors of a GPU"
                raise UserError(Diagnostic("OPTION", message, fix="Leave device out: the kernel runs where the tensors are."))
            return self._on_device(given, named, stream)
        if device is not None:
            number, handle = device_of(device), call_stream((), stream)

            def copying(program: Program, kernels: tuple[CudaKernel, ...]) -> Runner:
                return CopyingRunner(program, kernels, number, handle)

            calls = Calls(
                self.signature,
                lambda sizes: copying(*self._at(sizes, device_arch(number))),
                rest=None if self._rest is None else lambda sizes: self._rest_runner(sizes, device_arch(number), copying),
            )
            return calls(given, named)
        if stream is not None:
            message = "expected tensors of a GPU, or device=, beside stream, got NumPy's arrays alone"
            raise UserError(Diagnostic("CALL_STREAM", message, fix="Leave stream out: the interpreter has none."))
        return self._interpreted(given, named)

    def takes(self, given: Sequence[Any], named: Mapping[str, Any]) -> bool:
        """Whether a tensor of a GPU is among the arguments, or a word of the call says that it is one for a GPU."""
        return any(named.get(word) is not None for word in self._words) or any(
            is_on_device(value) for value in (*given, *named.values(), *_outputs_given(named))
        )

    def place_of(self, given: Sequence[Any], named: Mapping[str, Any]) -> tuple[dict[str, int], str]:
        """The sizes of a call with these tensors of a GPU, and the GPU's architecture. UserErrors as a call."""
        found = self._given(given, {n: v for n, v in named.items() if n not in self._words}, None)
        with at_tensors(found.tensors, found.stream) as place:
            return dict(found.sizes), place.arch

    def ask_again(self) -> None:
        """`kernels_at` is asked again for all sizes."""
        with self._lock:
            self._made = OrderedDict()

    def _rest_runner(
        self, sizes: Mapping[str, int], arch: str, made: Callable[[Program, tuple[CudaKernel, ...]], Runner]
    ) -> Runner | None:
        found = None if self._rest is None else self._rest(sizes, arch)
        return None if found is None else RestRunner(made(found[0], tuple(found[1])))

    def _at(self, sizes: Mapping[str, int], arch: str) -> tuple[Program, tuple[CudaKernel, ...]]:
        key = (arch, *(sizes[name] for name in self.signature.sizes))
        found = self._made.get(key)
        if found is None:
            made = self._made  # an answer from before `ask_again` is not remembered after it
            rest = None if self._rest is None else self._rest(sizes, arch)
            if rest is None:
                self.signature.check_sizes(sizes)
            program, kernels = rest or self._make(sizes, arch)
            found = (program, tuple(kernels))
            with self._lock:
                if made is self._made:
                    self._made[key] = found
                while len(self._made) > _KEPT:
                    self._made.popitem(last=False)
        return found

    def _given(self, given: Sequence[Any], named: Mapping[str, Any], stream: Any) -> _Given:
        signature = self.signature
        values = signature.by_name(given, named)
        arrays = {name: value for name, value in values.items() if name in signature.arrays}
        spans = {name: a.span for name, a in signature.arrays.items()}
        require_all_on_device(arrays, spans)
        handle = call_stream(arrays.values(), stream)
        scalars = {name: signature.number(p, values[name]) for name, p in signature.scalars.items()}
        tensors = {name: taken(name, spans[name], device_tensor(value, handle)) for name, value in arrays.items()}
        sizes, shapes = signature.sizes_and_shapes({name: t.shape for name, t in tensors.items()})
        return _Given(arrays, tensors, scalars, sizes, shapes, handle)

    def _on_device(self, given: Sequence[Any], named: Mapping[str, Any], stream: Any) -> Any:
        signature, call = self.signature, self._given(given, named, stream)
        arrays, tensors, sizes, shapes = call.values, call.tensors, call.sizes, call.shapes
        wanted = [
            Wanted(n, a.dtype, shapes[n], a.role is Role.OUTPUT, _ALIGNMENT, a.span)
            for n, a in signature.arrays.items()
            if n not in signature.olds
        ]
        for one in wanted:
            if one.name in tensors:
                fitting(one, tensors[one.name])
        require_apart(wanted, tensors)
        is_empty = all(0 in shapes[name] for name in signature.outputs)
        package = next(iter(tensors.values())).package
        with at_tensors(tensors, call.stream) as place:
            made = {one.name: new_tensor(place, package, one.extents, one.component) for one in wanted if one.name not in tensors}
            if not is_empty:
                for p in signature.places:
                    words = to_host(place, tensors[p.indices]).view(to_numpy(signature.arrays[p.indices].dtype))
                    signature.check_places(p, words.reshape(shapes[p.indices]), p.size.whole_at(sizes))
                _, kernels = self._at(sizes, place.arch)
                _require_machine(kernels, place)
                pointers = {name: t.pointer for name, t in {**tensors, **made}.items()}
                launches, temporaries = _launches(kernels, pointers, call.scalars)
                olds = {old: own for old, own in signature.olds.items() if tensors[own].size_bytes}
                for old, own in olds.items():
                    temporaries[old] = tensors[own].size_bytes
                with place.temporaries(temporaries) as more:
                    for old, own in olds.items():
                        copy_on_device(place, more[old], pointers[own], tensors[own].size_bytes)
                    run_launches(place, launches, {**pointers, **more})
            finish(place, [t.package for t in tensors.values()])
        owners = {**arrays, **{name: tensor.owner for name, tensor in made.items()}}
        found = tuple(owners[name] for name in signature.outputs)
        return found[0] if len(found) == 1 else found


def _launches(
    kernels: Sequence[CudaKernel], pointers: Mapping[str, int], scalars: Mapping[str, float]
) -> tuple[list[Launch], dict[str, int]]:
    """The launches of a program, and the bytes of the arrays that only they see."""
    launches: list[Launch] = []
    temporaries: dict[str, int] = {}
    for number, kernel in enumerate(kernels):
        for buffer in kernel.arrays:
            if buffer.name not in pointers:
                size = buffer.elements * buffer.dtype.size_bytes
                temporaries[buffer.name] = max(size, temporaries.get(buffer.name, 0))
        own: list[str] = []
        for buffer in kernel.block_arrays:
            own.append(f"{number}:{buffer.name}")
            temporaries[own[-1]] = buffer.elements * buffer.copies * kernel.blocks * buffer.dtype.size_bytes
        launches.append(
            Launch(
                kernel.text, kernel.name, kernel.grid, kernel.block, (*(b.name for b in kernel.arrays), *own),
                tuple(launch_numbers(kernel, scalars)), text_options(kernel), kernel.dynamic_shared_bytes,
                kernel.arch if kernel.has_groups else "",
            )
        )  # fmt: skip
    return launches, temporaries


def _require_machine(kernels: Sequence[CudaKernel], place: Place) -> None:
    """UserError (CALL_DEVICE) for a GPU older than the one whose instructions the kernels use, or another where none has them."""
    oldest = max((kernel.options.arch for kernel in kernels), key=_generation)
    if _generation(place.arch) < _generation(oldest):
        message = f"expected a GPU of {oldest} or newer, for which the kernel was explored, got {place.arch}"
        raise UserError(Diagnostic("CALL_DEVICE", message, fix=f"Explore it for {place.arch}."))
    own = next((kernel.arch for kernel in kernels if kernel.has_groups), "")
    if own and _generation(place.arch) != _generation(own):
        message = f"expected a GPU of {own}, whose instructions for groups of warps no other has, got {place.arch}"
        raise UserError(Diagnostic("CALL_DEVICE", message, fix=f"Explore it for {place.arch}."))


def _generation(arch: str) -> int:
    return int("".join(c for c in arch if c.isdigit()))


def _named(program: Program, arrays: Sequence[Array]) -> dict[str, Array]:
    regions = [r for r in program.arguments if r.role is not Role.TEMPORARY]
    return dict(zip((r.name for r in regions), arrays, strict=True))


def _scalars(program: Program, scalars: Sequence[float]) -> dict[str, float]:
    return dict(zip((p.name for p in program.parameters), scalars, strict=True))


def _outputs_given(named: Mapping[str, Any]) -> tuple[Any, ...]:
    """The outputs that `out=` names, as NumPy and PyTorch call it."""
    found: Any = named.get("out", ())
    return cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,)
