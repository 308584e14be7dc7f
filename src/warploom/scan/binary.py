"""A function of two values, read from source, as expressions: what is asked whether it is associative.

def op(a, b):        scalars, or tuples by annotation, by unpacking or by a[n]; asserts say which values are meant
    ...
    return value of the same shape
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from warploom.scan import expression as ex
from warploom.scan.closure import right
from warploom.scan.expression import BOOL, INT, REAL, TEXT, Expr, Sort
from warploom.scan.expression import Value as Number
from warploom.scan.interpret import Interpreter, Value
from warploom.scan.source import Module

Shape: TypeAlias = "Sort | tuple[Shape, ...]"
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Binary:
    """`fields` of the left operand, `right(field)` of the right one, the result's fields in the same order."""

    name: str
    shape: Shape
    fields: tuple[Expr, ...]
    result: tuple[Expr, ...]
    assumed: tuple[Expr, ...]
    """Asserted of one operand, over `fields`."""

    def packed(self, values: Sequence[object]) -> object:
        """One operand from its fields."""
        waiting = iter(values)

        def build(shape: Shape) -> object:
            return tuple(build(s) for s in shape) if isinstance(shape, tuple) else next(waiting)

        return build(self.shape)

    def flat(self, value: object) -> list[Number]:
        """The fields of one operand; ValueError if it has another shape."""

        def parts(shape: Shape, part: object) -> list[object]:
            if not isinstance(shape, tuple):
                return [part]
            items = list(cast("Iterable[object]", part)) if isinstance(part, tuple | list) else []
            return [f for s, p in zip(shape, items, strict=True) for f in parts(s, p)]

        return cast("list[Number]", parts(self.shape, value))


def read_binary(module: Module, name: str) -> Binary:
    """Raises UserError with the place of what cannot be read."""
    node = module.function(name)
    parameters = [a.arg for a in node.args.args]
    if len(parameters) != 2:
        module.wrong(node, "ARGUMENTS", f"expected a function of two values, got {len(parameters)} parameters", "Take two: a, b.")
    shape = _shape(node)
    for _ in range(_ROUNDS):
        names = _Names()
        left = names.value(shape, "x")
        fields = names.fields
        behind = _mirrored(left)
        reader = Interpreter(module)
        ended = reader.block(node.body, dict(zip(parameters, (left, behind), strict=True)))
        if ended.result is None:
            module.wrong(node, "NO_RESULT", f"expected {name} to return a value", "Add a return.")
        found = _result_shape(module, node, ended.result, shape)
        if found == shape:
            mirrored = {right(f): f for f in fields}
            result = tuple(ex.as_number(r) if f.sort.is_numeric else r for f, r in zip(fields, _flat(ended.result), strict=True))
            assumed = [ex.substituted(a, mirrored) for a in reader.assumed if not {*ex.variables(a)} & {*fields}]
            assumed += [a for a in reader.assumed if not {*ex.variables(a)} & {*mirrored}]
            return Binary(name, shape, tuple(fields), result, tuple(dict.fromkeys(assumed)))
        shape = found
    return module.unsupported(node, "expected a result of the operands' types", "Annotate the parameters.")


class _Names:
    """Variables for a shape."""

    def __init__(self) -> None:
        self.fields: list[Expr] = []

    def value(self, shape: Shape, name: str) -> Value:
        if isinstance(shape, tuple):
            return tuple(self.value(s, f"{name}{n}") for n, s in enumerate(shape))
        self.fields.append(ex.variable(name, shape))
        return self.fields[-1]


def _mirrored(value: Value) -> Value:
    return tuple(_mirrored(v) for v in value) if isinstance(value, tuple) else right(value)


def _flat(value: Value) -> list[Expr]:
    return [f for part in value for f in _flat(part)] if isinstance(value, tuple) else [value]


def _result_shape(module: Module, node: ast.FunctionDef, value: Value, shape: Shape) -> Shape:
    """The operands' shape, widened so that the result fits."""
    if isinstance(value, tuple) or isinstance(shape, tuple):
        if not isinstance(value, tuple) or not isinstance(shape, tuple) or len(value) != len(shape):
            module.wrong(
                node,
                "SHAPE",
                "expected a result of the operands' shape, got another",
                "Return a tuple of as many parts as each operand.",
            )
        return tuple(_result_shape(module, node, v, s) for v, s in zip(value, shape, strict=True))
    if value.sort.base == "bool" and shape == INT:
        return BOOL
    if value.sort.base == "real" and shape.base == "int":
        return REAL
    if "text" in (value.sort.base, shape.base) and value.sort.base != shape.base:
        return TEXT
    return shape


def _shape(node: ast.FunctionDef) -> Shape:
    first, second = node.args.args
    for argument in (first, second):
        if argument.annotation is not None:
            return _annotated(argument.annotation)
    counts = [_parts(node, a.arg) for a in (first, second)]
    parts = max(counts)
    return tuple(INT for _ in range(parts)) if parts else INT


def _annotated(annotation: ast.expr) -> Shape:
    match annotation:
        case ast.Subscript(value=ast.Name(id="tuple" | "Tuple"), slice=ast.Tuple(elts=parts)):
            return tuple(_annotated(p) for p in parts)
        case ast.Name(id="bool"):
            return BOOL
        case ast.Name(id="float" | "Fraction"):
            return REAL
        case ast.Name(id="str"):
            return TEXT
        case _:
            return INT


def _parts(node: ast.FunctionDef, name: str) -> int:
    """How many parts the parameter is taken apart into; 0 for a scalar."""
    found = 0
    for part in ast.walk(node):
        match part:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Name(id=used)) if used == name:
                found = max(found, len(targets))
            case ast.Subscript(value=ast.Name(id=used), slice=ast.Constant(value=int() as index)) if used == name:
                found = max(found, index + 1)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                for target, value in zip(targets, values, strict=False):
                    if isinstance(value, ast.Name) and value.id == name and isinstance(target, ast.Tuple):
                        found = max(found, len(target.elts))
            case _:
                pass
    return found


def template_inputs(node: ast.FunctionDef) -> list[Value]:
    """Variables for a function's parameters."""
    names = _Names()
    result: list[Value] = []
    for argument in node.args.args:
        parts = _parts(node, argument.arg)
        shape: Shape = tuple(INT for _ in range(parts)) if parts else INT
        if argument.annotation is not None:
            shape = _annotated(argument.annotation)
        result.append(names.value(shape, argument.arg))
    return result
