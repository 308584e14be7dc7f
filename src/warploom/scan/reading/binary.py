"""A function of two values, read from source, as expressions: what is asked whether it is associative.

def op(a, b):        scalars, or tuples by annotation, by unpacking or by a[n]; asserts say which values are meant
    ...                 or dictionaries and dataclasses by annotation, dictionaries also by a["key"]; or the parts one by one:
    return value of the same shape      def op(a0, a1, b0, b1)
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from warploom.scan.operators import expression as ex
from warploom.scan.operators.closure import right
from warploom.scan.operators.expression import INT, REAL, TEXT, Expr, Sort
from warploom.scan.operators.expression import Value as Number
from warploom.scan.reading.divisions import are_met, divides_by_zero
from warploom.scan.reading.interpret import Interpreter
from warploom.scan.reading.operands import Parts, Shape, access, keys_read, on_operands, packed, scalars, shape_of
from warploom.scan.reading.source import MISSING, Function, Module
from warploom.scan.reading.types import SERVED, texts_of, written
from warploom.scan.reading.values import Record, Value, bare, flat, is_float

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
    is_flat: bool = False
    """True if the function takes the parts of its operands one by one, as Triton's do."""
    is_annotated: bool = True
    """False if nothing says of which type its operands are: they are taken for integers."""

    def packed(self, values: Sequence[object]) -> object:
        """One operand from its fields."""
        return packed(self.shape, iter(values))

    def flat(self, value: object) -> list[Number]:
        """The fields of one operand; ValueError if it has another shape."""

        return cast("list[Number]", list(scalars(self.shape, value)))

    @property
    def parts(self) -> tuple[str, ...]:
        """How the fields are taken out of an operand, where it is no tuple of them or number: `['key']`, `.name`, `[1][0]`."""
        is_plain = isinstance(self.shape, Sort) or (isinstance(self.shape, tuple) and len(self.shape) == len(self.fields))
        return () if is_plain else tuple(access(self.shape))

    def applied(self, function: Callable[..., object]) -> Callable[[object, object], object]:
        """The user's function as one of two operands."""
        return on_operands(function, self.shape, self.is_flat)


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
    is_flat = len(parameters) > 2 and len(parameters) % 2 == 0
    if len(parameters) != 2 and not is_flat:
        module.wrong(node, "ARGUMENTS", f"expected a function of two values, got {len(parameters)} parameters", "Take two: a, b.")
    shape, is_annotated = _flat_shape(function) if is_flat else _shape(function)
    for _ in range(_ROUNDS):
        names = _Names()
        left = names.value(shape, "x")
        fields = names.fields
        behind = _mirrored(left)
        reader = Interpreter(function, is_loop=isinstance(shape, Parts))
        operands = (*_taken(left), *_taken(behind)) if is_flat else (left, behind)
        ended = reader.block(node.body, dict(zip(parameters, operands, strict=True)))
        if ended.result is None:
            module.wrong(node, "NO_RESULT", f"expected {name} to return a value", "Add a return.")
        found = _result_shape(function, ended.result, shape, is_annotated)
        if found == shape:
            mirrored = {right(f): f for f in fields}
            result = tuple(
                ex.as_number(r) if f.sort.is_numeric else r for f, r in zip(fields, in_order(shape, ended.result), strict=True)
            )
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
                is_flat,
                is_annotated,
            )
        shape = found
    return module.unsupported(node, "expected a result of the operands' types", "Annotate the parameters.")


def in_order(shape: Shape, value: Value) -> list[Expr]:
    """Its expressions, in the order of the shape's fields."""
    if isinstance(shape, Parts) and isinstance(value, Record):
        return [e for name, s in shape.shapes for e in in_order(s, value.parts[name])]
    if isinstance(shape, tuple) and isinstance(value, tuple):
        return [e for s, v in zip(shape, value, strict=True) for e in in_order(s, v)]
    return flat(value)


def _listed(function: Function, fields: list[Expr]) -> list[Expr]:
    """Conditions that fields of text are among those that an annotation lists."""
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
        if isinstance(shape, Parts):
            return Record(shape.kind, {key: self.value(s, f"{name}_{key}") for key, s in shape.shapes})
        self.fields.append(ex.variable(name, shape))
        return self.fields[-1]


def _mirrored(value: Value) -> Value:
    if isinstance(value, Record):
        return Record(value.kind, {key: _mirrored(v) for key, v in value.parts.items()})
    return tuple(_mirrored(v) for v in value) if isinstance(value, tuple) else right(bare(value))


def _taken(value: Value) -> tuple[Value, ...]:
    assert isinstance(value, tuple)
    return value


def _flat_shape(function: Function) -> tuple[Shape, bool]:
    """Shape of operands whose parts are parameters of their own: first those of the left one, then those of the right one."""
    hints = [function.annotation(name) for name in function.parameters]
    half = len(hints) // 2
    shapes = [INT if h is MISSING else shape_of(h) for h in hints]
    for (name, argument), shape in zip(function.parameters.items(), shapes, strict=True):
        if not isinstance(shape, Sort):
            node = argument.annotation or argument
            function.module.unsupported(node, f"expected {name} to be a number, got another type", "Annotate a number.")
    found = tuple(s for s in shapes if s is not None)
    if found[:half] != found[half:]:
        message = f"expected the {half} parts of the left operand, then those of the right one, got different types"
        function.module.wrong(function.node, "SORT", message, "Annotate both alike: the results are operands, too.")
    return found[:half], any(h is not MISSING for h in hints)


def _result_shape(function: Function, value: Value, shape: Shape, is_annotated: bool) -> Shape:
    """The operands' shape, widened so that the result fits."""
    if isinstance(value, Record) or isinstance(shape, Parts):
        if (
            not isinstance(value, Record)
            or not isinstance(shape, Parts)
            or value.kind is not shape.kind
            or ({*value.parts} != {name for name, _ in shape.shapes})
        ):
            message = "expected a result of the operands' shape, got another"
            function.module.wrong(function.node, "SHAPE", message, "Return the same keys or fields as each operand has.")
        parts = ((name, _result_shape(function, value.parts[name], s, is_annotated)) for name, s in shape.shapes)
        return Parts(shape.kind, tuple(parts))
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
    keys = keys_read(function.node, function.parameters)
    if keys and not parts:
        return Parts(dict, tuple((key, INT) for key in keys)), False
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
