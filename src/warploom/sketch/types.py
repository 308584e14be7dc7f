"""Run-time sizes and the annotations of a sketch's parameters: `wl.size`, `wl.ceil_div`, `wl.Global[...]`, `wl.Constant[...]`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast, overload

from warploom.core import FACTORS, Diagnostic, DType, UserError
from warploom.ir import IndexConst, IndexExpr, IndexOp, SizeVar
from warploom.sketch.fold import binary


@dataclass(frozen=True, slots=True)
class Size:
    """An integer expression over run-time sizes; `+ - * // %` with integers and other sizes give such expressions."""

    expr: IndexExpr

    def __add__(self, other: Size | int) -> Size:
        return _combine("+", self, other)

    def __radd__(self, other: int) -> Size:
        return _combine("+", other, self)

    def __sub__(self, other: Size | int) -> Size:
        return _combine("-", self, other)

    def __rsub__(self, other: int) -> Size:
        return _combine("-", other, self)

    def __mul__(self, other: Size | int) -> Size:
        return _combine("*", self, other)

    def __rmul__(self, other: int) -> Size:
        return _combine("*", other, self)

    def __floordiv__(self, other: Size | int) -> Size:
        return _combine("//", self, other)

    def __rfloordiv__(self, other: int) -> Size:
        return _combine("//", other, self)

    def __mod__(self, other: Size | int) -> Size:
        return _combine("%", self, other)

    def __rmod__(self, other: int) -> Size:
        return _combine("%", other, self)

    def __bool__(self) -> NoReturn:
        raise _size_error("a run-time size has no truth value", "Decide on it inside the sketch, with an `if`.")

    def __index__(self) -> NoReturn:
        raise _size_error("a run-time size has no value yet", "Use it in shapes, in `grid=` and inside sketches only.")


def _size_error(message: str, fix: str) -> UserError:
    return UserError(Diagnostic("SIZE_VALUE", message, fix=fix))


def expression_of(value: object) -> IndexExpr | None:
    """The index expression of an integer or a `Size`; None for anything else."""
    if isinstance(value, Size):
        return value.expr
    if isinstance(value, int) and not isinstance(value, bool):
        return IndexConst(value)
    return None


def _combine(op: IndexOp, lhs: object, rhs: object) -> Size:
    left, right = expression_of(lhs), expression_of(rhs)
    if left is None or right is None:
        return NotImplemented
    return Size(binary(op, left, right))


def size(name: str) -> Size:
    """A run-time size of the whole kernel: a non-negative integer given at launch.

    Raises UserError if `name` is no identifier.
    """
    if not name.isidentifier():
        raise UserError(
            Diagnostic(
                "SIZE_NAME", f"expected an identifier as the name of a size, got {name!r}", fix='Write for example wl.size("n").'
            )
        )
    return Size(SizeVar(name))


@overload
def ceil_div(a: int, b: int) -> int: ...
@overload
def ceil_div(a: Size, b: int | Size) -> Size: ...
def ceil_div(a: int | Size, b: int | Size) -> int | Size:
    """`a / b` rounded up, for integers and run-time sizes; inside a sketch for any index expressions."""
    if isinstance(a, int) and isinstance(b, int):
        return -(-a // b)
    return (a + (b - 1)) // b


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Meaning of `wl.Global[dtype, d0, ...]`: space, element type and extents (outermost first)."""

    space: Literal["global", "constant"]
    dtype: DType
    shape: tuple[IndexExpr, ...]


def _array_type(space: Literal["global", "constant"], items: object) -> ArrayType:
    parts: tuple[object, ...] = cast("tuple[object, ...]", items) if isinstance(items, tuple) else (items,)
    word = space.capitalize()
    dtype, extents = parts[0], parts[1:]
    if not isinstance(dtype, DType) or dtype in FACTORS:
        raise UserError(
            Diagnostic(
                "ANNOTATION", f"expected an element type first in wl.{word}[...], got {dtype!r}", fix=f"Write wl.{word}[f32, n]."
            )
        )
    shape = tuple(e for e in map(expression_of, extents) if e is not None)
    if not extents or len(shape) != len(extents):
        raise UserError(
            Diagnostic(
                "ANNOTATION",
                f"expected extents (integers or sizes) after the element type in wl.{word}[...], got {extents!r}",
                fix=f"Write wl.{word}[{dtype}, n] with n an integer or a wl.size.",
            )
        )
    return ArrayType(space, dtype, shape)


class _Elements:
    """The type of arrays in a sketch as type checkers see it; its text is read and never run: an index works as on NumPy
    arrays."""

    if TYPE_CHECKING:

        def __getitem__(self, index: Any) -> Any: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...


class Global(_Elements):
    """Annotation of an array in global memory: `wl.Global[f32, n + 2]`, `wl.Global[u8, h, w]`."""

    def __class_getitem__(cls, items: Any) -> ArrayType:
        return _array_type("global", items)


class Constant(_Elements):
    """Annotation of a read-only array in constant memory: `wl.Constant[f32, 3]`."""

    def __class_getitem__(cls, items: Any) -> ArrayType:
        return _array_type("constant", items)
