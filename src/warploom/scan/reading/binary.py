"""A function of two values, read from source, as expressions: what is asked whether it is associative.

def op(a, b):        scalars, or tuples by annotation, by unpacking or by a[n]; asserts say which values are meant
    ...
    return value of the same shape
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import INT, REAL, TEXT, Expr
from warploom.scan.operators.expression import Value as Number
from warploom.scan.reading.divisions import are_met, divides_by_zero
from warploom.scan.reading.interpret import Interpreter
from warploom.scan.reading.source import MISSING, Function, Module
from warploom.scan.reading.types import SERVED, Shape, shape_of, texts_of, written
from warploom.scan.reading.values import Value, bare, flat, is_float

_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Binary:
    """`fields` of the left operand, `right(field)` of the right one, the result's fields in the same order."""

    name: str
    shape: Shape
    fields: tuple[Expr, ...]
    result: tuple[Expr, ...]
    assumed: tuple[Expr, ...]
    """True of one operand, over `fields`: first that texts are listed ones, then what is asserted."""
    rounds: bool = False
    """True if integers become floats, which are exact up to 2**53 only."""
    may_divide_by_zero: bool = False
    listed: int = 0
    """Number of fields of text whose annotation lists the texts."""

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
    function = module.function(name)
    try:
        return _read(function)
    except ex.UndefinedError as error:
        module.wrong(function.node, "UNDEFINED", f"expected a value, got {error}", "Keep infinities below min and max.")
    except RecursionError:
        module.unsupported(function.node, "expected expressions of moderate depth, got deeper ones", "Split them into variables.")


def _read(function: Function) -> Binary:
    module, node, name = function.module, function.node, function.name
    parameters = list(function.parameters)
    if len(parameters) != 2:
        module.wrong(node, "ARGUMENTS", f"expected a function of two values, got {len(parameters)} parameters", "Take two: a, b.")
    shape, is_annotated = _shape(function)
    for _ in range(_ROUNDS):
        names = _Names()
        left = names.value(shape, "x")
        fields = names.fields
        behind = _mirrored(left)
        reader = Interpreter(function)
        ended = reader.block(node.body, dict(zip(parameters, (left, behind), strict=True)))
        if ended.result is None:
            module.wrong(node, "NO_RESULT", f"expected {name} to return a value", "Add a return.")
        found = _result_shape(function, ended.result, shape, is_annotated)
        if found == shape:
            mirrored = {right(f): f for f in fields}
            result = tuple(ex.as_number(r) if f.sort.is_numeric else r for f, r in zip(fields, flat(ended.result), strict=True))
            assumed = [ex.substituted(a, mirrored) for a in reader.assumed if not {*ex.variables(a)} & {*fields}]
            assumed += [a for a in reader.assumed if not {*ex.variables(a)} & {*mirrored}]
            listed = _listed(function, fields)
            if not are_met(assumed):
                module.wrong(node, "ASSERTIONS", "expected assertions that some value meets, got none", "Correct them.")
            return Binary(
                name,
                shape,
                tuple(fields),
                result,
                (*listed, *dict.fromkeys(assumed)),
                reader.rounds,
                divides_by_zero(reader.divisions),
                len(listed),
            )
        shape = found
    return module.unsupported(node, "expected a result of the operands' types", "Annotate the parameters.")


def _listed(function: Function, fields: list[Expr]) -> list[Expr]:
    """That fields of text are among those that an annotation lists."""
    hints = [h for name in function.parameters if (h := function.annotation(name)) is not MISSING]
    texts = texts_of(hints[0]) if hints else []
    if len(texts) != len(fields):
        return []
    return [ex.either(*(ex.equal(field, ex.constant(t)) for t in few)) for field, few in zip(fields, texts, strict=True) if few]


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
    return tuple(_mirrored(v) for v in value) if isinstance(value, tuple) else right(bare(value))


def _result_shape(function: Function, value: Value, shape: Shape, is_annotated: bool) -> Shape:
    """The operands' shape, widened so that the result fits."""
    if isinstance(value, tuple) or isinstance(shape, tuple):
        if not isinstance(value, tuple) or not isinstance(shape, tuple) or len(value) != len(shape):
            function.module.wrong(
                function.node,
                "SHAPE",
                "expected a result of the operands' shape, got another",
                "Return a tuple of as many parts as each operand.",
            )
        return tuple(_result_shape(function, v, s, is_annotated) for v, s in zip(value, shape, strict=True))
    sort = bare(value).sort
    if is_float(value) and shape.base in ("int", "bool"):
        return REAL
    if shape.base == "bool" and sort.base == "int":
        return INT
    if "text" in (sort.base, shape.base) and sort.base != shape.base:
        if is_annotated:
            function.module.wrong(function.node, "SORT", "expected a result of the operands' type, got another", "Use one type.")
        return TEXT
    return shape


def _shape(function: Function) -> tuple[Shape, bool]:
    """Shape of the values, and whether they are annotated; what is not is an integer, or a tuple of them if it is taken apart."""
    found: list[tuple[str, Shape]] = []
    for name, argument in function.parameters.items():
        hint = function.annotation(name)
        if hint is MISSING or hint is tuple:
            continue
        shape = shape_of(hint)
        if shape is None:
            node = argument.annotation or argument
            function.module.unsupported(node, f"expected {SERVED}, got {written(hint)}", "Annotate what the operator gets.")
        found.append((name, shape))
    if found:
        if any(s != found[0][1] for _, s in found):
            function.module.wrong(
                function.node,
                "SORT",
                "expected operands of one type, got two",
                "Annotate both alike: the results are operands, too.",
            )
        return found[0][1], True
    parts = max(_parts(function.node, name) for name in function.parameters)
    return (tuple(INT for _ in range(parts)) if parts else INT), False


def _parts(node: ast.FunctionDef, name: str) -> int:
    """Number of parts that the parameter is taken apart into; 0 for a scalar."""
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


def template_inputs(function: Function) -> list[Value]:
    """Variables for a function's parameters."""
    names = _Names()
    result: list[Value] = []
    for name, argument in function.parameters.items():
        parts = _parts(function.node, name)
        shape: Shape | None = tuple(INT for _ in range(parts)) if parts else INT
        hint = function.annotation(name)
        if hint is not MISSING:
            shape = shape_of(hint)
            if shape is None:
                node = argument.annotation or argument
                function.module.unsupported(node, f"expected {SERVED}, got {written(hint)}", "Annotate what the function gets.")
        result.append(names.value(shape, name))
    return result
