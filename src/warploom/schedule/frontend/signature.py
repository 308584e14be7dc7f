"""Parameters of a tensor function, from their annotations: `f32["m", "k"]`, `out[f32["m"]]`, `temp[...]`, `f32`."""

from __future__ import annotations

import ast

from warploom.core import DType, polynomials
from warploom.core.polynomials import Polynomial
from warploom.schedule.backbone import Parameter, Role
from warploom.schedule.frontend.sizes import quotient
from warploom.schedule.frontend.stand_ins import Marker
from warploom.schedule.frontend.state import Problem, State
from warploom.schedule.frontend.tree import ArrayParameter

_ROLES = {"out": Role.OUTPUT, "inout": Role.OUTPUT, "temp": Role.TEMPORARY}
_SIZE_FIX = "Use names, integers, + - *, // and % by a number, and parentheses; one text for each axis."
_FIX = 'Write for example f32["m", "k"], out[f32["m", "k"]], inout[f32["m"]], temp[f32["m"]], or f32 for a scalar.'


def read_signature(state: State, node: ast.FunctionDef) -> None:
    """Fills arrays, scalars and sizes; problems are noted, and their parameters poisoned."""
    arguments = node.args
    for extra in (arguments.vararg, arguments.kwarg):
        if extra:
            problem = state.problem("ANNOTATION", "expected a fixed number of parameters", extra, "Name every parameter.")
            state.problems.append(problem.diagnostic)
    for default in (*arguments.defaults, *(d for d in arguments.kw_defaults if d)):
        problem = state.problem("ANNOTATION", "expected parameters without values of their own", default, "Delete the value.")
        state.problems.append(problem.diagnostic)
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        try:
            _read_parameter(state, argument)
        except Problem as found:
            state.problems.append(found.diagnostic)
            state.poisoned.add(argument.arg)
    for name in state.scalars.keys() & state.sizes.keys():
        found = next(a for a in ast.walk(arguments) if isinstance(a, ast.arg) and a.arg == name)
        message = f"{name!r} is both a size and a parameter"
        problem = state.problem("NAME_TAKEN", message, found, "Rename one of them.", ("the size", state.sizes[name]))
        state.problems.append(problem.diagnostic)


def _read_parameter(state: State, argument: ast.arg) -> None:
    annotation = argument.annotation
    if annotation is None:
        raise state.problem("ANNOTATION", f"expected an annotation of {argument.arg!r}, got none", argument, _FIX)
    role, word = Role.INPUT, None
    inner = annotation
    if isinstance(annotation, ast.Subscript):
        word = _marker(state, annotation.value)
        if word:
            role, inner = _ROLES[word], annotation.slice
    dtype = state.dtype(inner.value if isinstance(inner, ast.Subscript) else inner)
    if dtype is None:
        message = f"expected an array or scalar type for {argument.arg!r}, got {ast.unparse(inner)}"
        raise state.problem("ANNOTATION", message, inner, _FIX)
    if not isinstance(inner, ast.Subscript):
        _add_scalar(state, argument, dtype, role)
        return
    match inner.slice:
        case ast.Constant(value=str(text)) if "," in text:
            wanted = ", ".join(f'"{part.strip()}"' for part in text.split(","))
            message = f"expected one text for each axis, got {text!r}"
            raise state.problem("SIZE", message, inner.slice, f"Write {ast.unparse(inner.value)}[{wanted}].")
        case _:
            pass
    elements = inner.slice.elts if isinstance(inner.slice, ast.Tuple) else [inner.slice]
    shape = tuple(read_size(state, element, may_declare=True) for element in elements)
    name, span = argument.arg, state.span(argument)
    old = _free_name(state, f"{name}_old") if word == "inout" else None
    state.arrays[name] = ArrayParameter(name, dtype, shape, role, span, old)
    if old is not None:
        state.olds[name] = ArrayParameter(old, dtype, shape, Role.INPUT, span)


def _free_name(state: State, wish: str) -> str:
    taken = {n.arg if isinstance(n, ast.arg) else n.id for n in ast.walk(state.written.node) if isinstance(n, ast.arg | ast.Name)}
    while wish in taken | {array.name for array in state.olds.values()}:
        wish += "_"
    return wish


def _add_scalar(state: State, argument: ast.arg, dtype: DType, role: Role) -> None:
    if role is not Role.INPUT:
        message = f"expected an array, got the scalar {argument.arg!r}"
        raise state.problem("ANNOTATION", message, argument, f'Write an array of one element, {dtype}["1"].')
    state.scalars[argument.arg] = Parameter(argument.arg, dtype)


def _marker(state: State, node: ast.AST) -> str | None:
    found = state.resolve(node)
    if isinstance(found, Marker):
        return found.word
    return node.id if isinstance(node, ast.Name) and node.id in _ROLES else None


def read_size(state: State, node: ast.expr, *, may_declare: bool = False, where: ast.expr | None = None) -> Polynomial:
    """A size: an integer, or a text such as "n + 2"; inside of the text, and in `range(...)`, names of sizes."""
    place = where or node
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int(value)):
            return polynomials.number(value)
        case ast.Constant(value=str(text)) if where is None:
            try:
                inner = ast.parse(text.strip(), mode="eval").body
            except SyntaxError:
                message = f"expected a size such as 'n + 2', got {text!r}"
                raise state.problem("SIZE", message, node, _SIZE_FIX) from None
            return read_size(state, inner, may_declare=may_declare, where=node)
        case ast.Name(id=name):
            value = state.resolve(node) if where is None else None
            if isinstance(value, int) and not isinstance(value, bool) and name not in state.sizes:
                return polynomials.number(value)
            if may_declare:
                state.sizes.setdefault(name, state.span(place))
            elif name not in state.sizes:
                raise state.unknown(name, place, state.sizes, "size")
            return polynomials.size(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return read_size(state, operand, may_declare=may_declare, where=where).scaled(-1)
        case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Mod() as op, right=right):
            a = read_size(state, left, may_declare=may_declare, where=where)
            b = read_size(state, right, may_declare=may_declare, where=where)
            if not b.is_constant or b.constant < 1:
                message = f"expected a size over a whole number above 0, got {ast.unparse(node)}"
                raise state.problem("SIZE", message, place, "Write for example 'k // 32', or '(k + 31) // 32' to round up.")
            found = quotient(a, int(b.constant))
            return found if isinstance(op, ast.FloorDiv) else a.plus(found, -b.constant)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
            a = read_size(state, left, may_declare=may_declare, where=where)
            b = read_size(state, right, may_declare=may_declare, where=where)
            match op:
                case ast.Add():
                    return a.plus(b)
                case ast.Sub():
                    return a.plus(b, -1)
                case ast.Mult():
                    return a.times(b)
        case _:
            pass
    message = f"expected a size, got {ast.unparse(node)}"
    raise state.problem("SIZE", message, place, _SIZE_FIX)
