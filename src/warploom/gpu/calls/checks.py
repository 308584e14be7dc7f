"""Requirements of kernels on the tensors of a call: type, shape, order of elements, alignment, memory of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from warploom.core import Diagnostic, DType, Span, UserError, f32, scalar_of, tf32
from warploom.gpu.calls.packages import array_dtype
from warploom.gpu.calls.tensors import DeviceTensor, NotTaken, is_on_device


@dataclass(frozen=True, slots=True)
class Wanted:
    """Everything that a call must give for one parameter."""

    name: str
    dtype: DType
    shape: tuple[int, ...]
    """In elements of the parameter; the components of vectors are an axis behind these."""
    is_output: bool
    alignment: int
    """Bytes at a multiple of which it must begin."""
    span: Span

    @property
    def component(self) -> DType:
        """Type of its components in memory."""
        return f32 if self.dtype == tf32 else scalar_of(self.dtype)

    @property
    def extents(self) -> tuple[int, ...]:
        return self.shape if self.dtype.lanes == 1 else (*self.shape, self.dtype.lanes)


def taken(name: str, span: Span, tensor: DeviceTensor | NotTaken) -> DeviceTensor:
    """UserError (CALL_ARRAY) for a tensor that is not handed over."""
    if isinstance(tensor, NotTaken):
        message = f"expected a tensor of a GPU for {name!r}, got {tensor.got}"
        raise UserError(Diagnostic("CALL_ARRAY", message, span, tensor.fix.format(name)))
    return tensor


def fitting(wanted: Wanted, tensor: DeviceTensor) -> None:
    """UserError: CALL_DTYPE, CALL_SHAPE, CALL_MEMORY, at the parameter."""
    name, dtype = wanted.name, wanted.component
    if tensor.dtype != dtype.name:
        message = f"expected a tensor of {array_dtype(dtype)} for {name!r}, got {tensor.dtype}"
        raise UserError(Diagnostic("CALL_DTYPE", message, wanted.span, f"Convert {name}, or declare another type."))
    if tensor.shape != wanted.extents:
        message = f"expected {name!r} of shape {wanted.extents}, got {tensor.shape}"
        raise UserError(Diagnostic("CALL_SHAPE", message, wanted.span, "Pass tensors whose shapes fit together."))
    if not tensor.is_dense:
        message = f"expected {name!r} with its elements in C's order, got strides of {tensor.strides_bytes} bytes"
        raise UserError(Diagnostic("CALL_MEMORY", message, wanted.span, "Pass a contiguous copy; nothing is copied in secret."))
    if wanted.is_output and not tensor.is_writable:
        message = f"expected a tensor that can be written for the output {name!r}, got a read-only one"
        raise UserError(Diagnostic("CALL_MEMORY", message, wanted.span, "Pass a copy, or leave the output out."))
    if tensor.size_bytes and tensor.pointer % max(wanted.alignment, dtype.size_bytes):
        message = f"expected {name!r} to begin at a multiple of {max(wanted.alignment, dtype.size_bytes)} bytes"
        message += f", got {tensor.pointer:#x}"
        raise UserError(Diagnostic("CALL_MEMORY", message, wanted.span, "Pass a copy: views may begin anywhere."))


def require_apart(wanted: Sequence[Wanted], tensors: Mapping[str, DeviceTensor]) -> None:
    """UserError (CALL_MEMORY) where an output shares memory with another argument."""
    for output in (w for w in wanted if w.is_output and w.name in tensors):
        own = tensors[output.name]
        for name, other in tensors.items():
            is_apart = own.pointer + own.size_bytes <= other.pointer or other.pointer + other.size_bytes <= own.pointer
            if name != output.name and not is_apart and own.size_bytes and other.size_bytes:
                message = f"expected an output {output.name!r} that shares no memory with {name!r}, got the same"
                raise UserError(Diagnostic("CALL_MEMORY", message, output.span, "Pass a copy of one, or leave the output out."))


def require_all_on_device(values: Mapping[str, object], spans: Mapping[str, Span]) -> None:
    """UserError (CALL_DEVICE) for an argument that is not on a GPU beside others that are."""
    for name, value in values.items():
        if not is_on_device(value):
            kind = "nothing" if value is None else f"a {type(value).__name__}"
            message = f"expected a tensor of a GPU for {name!r}, as for the other arguments, got {kind}"
            raise UserError(Diagnostic("CALL_DEVICE", message, spans[name], "Copy it to the GPU, or all others from there."))
