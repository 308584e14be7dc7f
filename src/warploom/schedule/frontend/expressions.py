"""Right sides of a tensor function: expressions over elements."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from warploom.core import DType, f32, i32, i64, integer_range, polynomials
from warploom.core.linear import variable
from warploom.operations import COMPARISONS, SIGN_OF, SIGN_OF_COMPARISON
from warploom.schedule.backbone import COMPARING, ROWS, Operator, Role
from warploom.schedule.frontend.arithmetic import apply, as_type, check_number, fits, in_type, is_number, is_of_numbers
from warploom.schedule.frontend.indices import read_index
from warploom.schedule.frontend.signature import read_size
from warploom.schedule.frontend.sizes import names_of
from warploom.schedule.frontend.stand_ins import FUNCTIONS, NOT_HERE, RUNNING, SCAN_LIFT, STAND_INS
from warploom.schedule.frontend.state import Silent, State
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Expression,
    Gather,
    IndexSum,
    IndexValue,
    Local,
    Number,
    Places,
    Read,
    Reduction,
    Scalar,
    SizeValue,
    dtype_of,
    indices_of,
)
from warploom.sketch import MISSING

_SIGNS = {row.sign: operator for operator, row in ROWS.items()}
BINARY = {kind: _SIGNS[sign] for kind, sign in SIGN_OF.items() if sign in _SIGNS}
_UNARY = {row.name: operator for operator, row in ROWS.items() if row.called}
_COMPARING = {sign: operator for operator, sign in COMPARING.items()}
_REDUCING = {"sum": Operator.ADD, "prod": Operator.MUL, "max": Operator.MAX, "min": Operator.MIN}
_OF_TWO = {"maximum": "max", "minimum": "min"}
_PLACES = {"argmax": Operator.MAX, "argmin": Operator.MIN}
_HIGHEST_POWER = 8
_ROOT = 0.5


def read_expression(state: State, node: ast.expr) -> Expression:
    """Raises Problem, or Silent where the cause is already noted."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return Number(value)
        case ast.Name(id=name):
            return _read_name(state, name, node)
        case ast.Attribute():
            value = state.resolve(node)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return Number(value)
            message = f"expected a number, got {ast.unparse(node)}"
            raise state.problem("NOT_A_NUMBER", message, node, "Use numbers, parameters and values of this function.")
        case ast.Subscript(value=base, slice=indices):
            return _read_element(state, base, indices, node)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return read_expression(state, operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return apply(state, Operator.NEG, [read_expression(state, operand)], node)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _read_power(state, left, right, node)
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod()) if _is_of_indices(state, node):
            for part in ast.walk(node):
                if isinstance(part, ast.Name) and part.id in state.sizes and part.id in state.own_indices:
                    raise state.ambiguous(part.id, part)
            return IndexValue(read_index(state, node))
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod()) if _is_of_sizes(state, node):
            size = read_size(state, node)
            state.size_values += [(name, node) for name in names_of(size)]
            return Number(int(size.constant)) if size.is_constant else SizeValue(size)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            operands = [read_expression(state, left), read_expression(state, right)]
            return apply(state, BINARY[type(op)], operands, node)
        case ast.Call():
            return _read_call(state, node)
        case ast.IfExp(test=test, body=body, orelse=other):
            return choice(state, test, body, other, node)
        case _:
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv | ast.Mod):
                for operand in (node.left, node.right):  # a name that nobody knows is told first
                    read_expression(state, operand)
            message = f"expected arithmetic on elements, got {ast.unparse(node)}"
            raise state.problem("UNSUPPORTED_PYTHON", message, node, _instead_of(node))


def _instead_of(node: ast.expr) -> str:
    """How to write what is no arithmetic here."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not() | ast.Invert()):
            return f"Write where({ast.unparse(node)}, 1, 0)."
        case ast.BoolOp() | ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return "Join comparisons in a condition, where(X[i] > 0 and X[i] < 1, 1, 0), or write where(X[i] != 0, X[i], 1)."
        case ast.BinOp(op=ast.MatMult()):
            return "Write a sum of products, sum(A[i, k] * B[k, j], over=k)."
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod() as sign, left=left, right=right):
            texts = ast.unparse(left), ast.unparse(right)
            cut = f"i32(f32({texts[0]}) / {texts[1]})"
            rest = "" if isinstance(sign, ast.FloorDiv) else f", and {texts[0]} less that many times {texts[1]} for the rest"
            return f"// and % are of indices and sizes; of whole numbers of up to 24 bits write {cut}, cut off towards 0{rest}."
        case _:
            return f"Use + - * / **, abs, max, min, {', '.join(STAND_INS)}, and sum, prod, max or min with over=."


def _is_of_indices(state: State, node: ast.expr) -> bool:
    """Its names are indices and integers of the module, at least one an index."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    is_plain = not any(isinstance(n, ast.Subscript | ast.Call) for n in ast.walk(node))
    is_of_index = bool(names & state.own_indices - state.sizes.keys())
    return is_plain and is_of_index and not names & (state.scalars.keys() | state.definitions.keys())


def _is_of_sizes(state: State, node: ast.expr) -> bool:
    """Its names are sizes and integers of the module."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - state.sizes.keys()
    is_plain = not any(isinstance(n, ast.Subscript | ast.Call) for n in ast.walk(node))
    return is_plain and not any(n in state.own_indices or not isinstance(state.resolve(ast.Name(n)), int) for n in names)


def choice(state: State, test: ast.expr, body: ast.expr, other: ast.expr, node: ast.expr) -> Expression:
    """`body` where the condition holds, else `other`; of two numbers in the type of what is compared."""
    mask = read_condition(state, test)
    values = [read_expression(state, body), read_expression(state, other)]
    types = [dtype_of(v) for v in sorted(values, key=is_of_numbers)]
    dtype = next((t for t in types if t is not None), dtype_of(mask))
    assert dtype is not None
    if any(isinstance(v, Number) and not fits(v.value, dtype) for v in values) and all(map(is_number, values)):
        dtype = f32  # a fraction beside whole numbers, until it meets another type
        values = [in_type(v, dtype) for v in values]
    return apply(state, Operator.SELECT, [as_type(mask, dtype), *values], node)


def read_condition(state: State, node: ast.expr) -> Expression:
    """1 where the condition holds, else 0, in the type of what it compares first. `&`, `|` and `~` join as NumPy's do."""
    match node:
        case ast.BinOp(left=left, op=ast.BitAnd(), right=right):
            return read_condition(state, ast.copy_location(ast.BoolOp(ast.And(), [left, right]), node))
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return read_condition(state, ast.copy_location(ast.BoolOp(ast.Or(), [left, right]), node))
        case ast.UnaryOp(op=ast.Invert(), operand=operand):
            return _negated(read_condition(state, operand), state, node)
        case ast.Compare(left=left, ops=signs, comparators=others):
            sides = [left, *others]
            return _all([_compared(state, s, a, b, node) for s, a, b in zip(signs, sides, others, strict=False)], state, node)
        case ast.BoolOp(op=ast.And(), values=parts):
            return _all([read_condition(state, part) for part in parts], state, node)
        case ast.BoolOp(values=parts):
            found = [read_condition(state, part) for part in parts]
            return _negated(_all([_negated(part, state, node) for part in found], state, node), state, node)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _negated(read_condition(state, operand), state, node)
        case _:
            message = f"expected a condition, got {ast.unparse(node)}"
            raise state.problem("CONDITION", message, node, "Compare: X[i] > 0, with and, or, not between comparisons.")


def _compared(state: State, sign: ast.cmpop, left: ast.expr, right: ast.expr, node: ast.expr) -> Expression:
    row = COMPARISONS.get(SIGN_OF_COMPARISON.get(type(sign), ""))
    if row is None:
        raise state.problem("CONDITION", f"expected a comparison, got {ast.unparse(node)}", node, "Use < <= > >= == or !=.")
    first, second = read_expression(state, left), read_expression(state, right)
    if dtype_of(first) is None and dtype_of(second) is None:
        first, second = (replace(v, dtype=i32) if isinstance(v, IndexValue) else v for v in (first, second))
    if dtype_of(first) is None and dtype_of(second) is None:
        for name in (n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in state.sizes):
            if name.id in state.own_indices:
                raise state.ambiguous(name.id, name)
        message = f"expected a comparison of elements, got one of numbers: {ast.unparse(node)}"
        raise state.problem("CONDITION", message, node, "Compare an element, or leave the condition out.")
    if row.sign in (">", ">="):
        first, second, row = second, first, COMPARISONS[row.mirrored]
    is_other = row.sign == "!="  # of a NaN, too
    operator = _COMPARING[row.negated if is_other else row.sign]
    made = apply(state, operator, [first, second], node)
    return _negated(made, state, node) if is_other else made


def _all(masks: Sequence[Expression], state: State, node: ast.expr) -> Expression:
    made = masks[-1]
    dtype = dtype_of(masks[0])
    assert dtype is not None
    made = as_type(made, dtype)
    for mask in masks[-2::-1]:
        made = apply(state, Operator.SELECT, [as_type(mask, dtype), made, Number(0)], node)
    return made


def _negated(mask: Expression, state: State, node: ast.expr) -> Expression:
    return apply(state, Operator.SELECT, [mask, Number(0), Number(1)], node)


_SCANS = f"A running sum, or another scan, is made of its serial loop by {SCAN_LIFT}."


def _read_name(state: State, name: str, node: ast.AST) -> Expression:
    if name in state.poisoned:
        raise Silent
    if name in state.scalars:
        return Scalar(state.scalars[name])
    if name in state.definitions or name in state.outdated:
        return _read_local(state, name, None, node)
    if name in state.arrays:
        rank = len(state.arrays[name].shape)
        raise state.problem("RANK", f"expected {rank} indices of {name!r}, got none", node, f"Write {name}[...].")
    if name in state.sizes:
        state.size_values.append((name, node))
        return SizeValue(polynomials.size(name))
    if name in state.own_indices:
        return IndexValue(IndexSum(variable(name), state.span(node)))
    value = state.resolve(node)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Number(value)
    if value is not MISSING and name not in FUNCTIONS:
        message = f"expected a number, got {name!r}, which is {type(value).__name__}"
        raise state.problem("NOT_A_NUMBER", message, node, "Use numbers, parameters and values of this function.")
    if name in state.indices:
        return IndexValue(IndexSum(variable(name), state.span(node)))
    raise state.unknown(name, node, (*state.arrays, *state.scalars, *state.definitions, *state.sizes))


def _read_local(state: State, name: str, indices: tuple[str, ...] | None, node: ast.AST) -> Expression:
    """`indices`: None where the name stands alone, for those of its definition."""
    if name in state.outdated:
        other = state.outdated[name]
        message = f"{name!r} is made of an earlier {other!r}, which is another value now"
        notes = ("defined anew here", state.definitions[other].span)
        raise state.problem("WRITTEN_TWICE", message, node, f"Give one of the two values of {other!r} another name.", notes)
    definition = state.definitions[name]
    if indices is None:
        indices = definition.indices
    elif definition.indices != indices:
        wanted = f"{name}[{', '.join(definition.indices)}]" if definition.indices else name
        message = f"expected {wanted}, as it was defined, got {ast.unparse(node)}"
        fix = "Values inside of a stage go from index to the same index; for anything else store it in a `temp` array."
        if len(indices) == len(definition.indices) and all(indices) and set(indices) != set(definition.indices):
            fix = f"Write {wanted}, reduced over the same names if it is a sum, or store it in a `temp` array."
        raise state.problem("POINT_TO_POINT", message, node, fix, ("defined here", definition.span))
    state.used.add(name)
    dtype = dtype_of(definition.value)
    if dtype is None:
        return definition.value
    return Local(name, indices, dtype, state.span(node))


def _read_element(state: State, base: ast.expr, slices: ast.expr, node: ast.Subscript) -> Expression:
    fill: int | float | None = None
    if is_padded(base, state):
        base, fill = read_pad(state, base)
    elif isinstance(base, ast.Name) and base.id in state.padded:
        state.used.add(base.id)
        base, fill = state.padded[base.id]
    if not isinstance(base, ast.Name):
        message = f"expected an array in front of the indices, got {ast.unparse(base)}"
        raise state.problem("NOT_AN_ARRAY", message, base, "Write X[i] with a parameter, or a value defined before.")
    name = base.id
    if name in state.poisoned:
        raise Silent
    elements = slices.elts if isinstance(slices, ast.Tuple) else [slices]
    indices = tuple(_read_place_of(state, e) if isinstance(e, ast.Subscript) else read_index(state, e) for e in elements)
    plain = tuple(i.plain if isinstance(i, IndexSum) else None for i in indices)
    if name in state.definitions or name in state.outdated:
        if fill is not None:
            message = f"expected an array inside of pad, got the value {name!r}"
            raise state.problem("NOT_AN_ARRAY", message, node, "Store it in a `temp` array.")
        return _read_local(state, name, tuple(i or "" for i in plain), node)
    array = state.arrays.get(name)
    if array is None:
        if name in state.scalars:
            raise state.problem("RANK", f"expected no indices, {name!r} is a scalar", node, f"Write {name}.")
        raise state.unknown(name, base, (*state.arrays, *state.definitions))
    if len(indices) != len(array.shape):
        shape = ", ".join(map(str, array.shape))
        message = f"expected {len(array.shape)} indices of {name}[{shape}], got {len(indices)}"
        raise state.problem("RANK", message, node, "Give one index per axis.", ("declared here", array.span))
    if name in state.olds and name not in state.stored:
        array = _old(state, name, plain, node)
    if array.role is not Role.INPUT and name not in state.stored:
        message = f"expected an array that already has its values, got {name!r}, which nothing has stored yet"
        fix = "Take its old contents as an input with a name of its own, or store it in an earlier statement."
        if state.target == name and None not in plain:
            fix = f"Declare it as inout[...] where its contents count; over an index write {name}[...] = max(..., over=k)."
        if state.target == name and None in plain:
            fix = f"A running result goes from element to element: {RUNNING}"
        raise state.problem("READ_BEFORE_STORE", message, node, fix, ("declared here", array.span))
    if fill is not None:
        check_number(state, Number(fill), array.dtype, node)
    affine = tuple(i for i in indices if isinstance(i, IndexSum))
    if len(affine) < len(indices):
        return gather(state, array, indices, fill, node)
    return Read(array, affine, fill, state.span(node))


def _read_place_of(state: State, node: ast.expr) -> Read:
    """An element of an input that is an index: `N[i]` of `X[N[i]]`."""
    found = read_expression(state, node)
    match found:
        case Read(array=array, fill=None) if array.role is Role.INPUT and not array.dtype.is_float:
            if array not in state.olds.values():
                return found
        case _:
            pass
    message = f"expected an element of an input of whole numbers as an index, got {ast.unparse(node)}"
    raise state.problem("INDEX_ARRAY", message, node, 'Take the places as an input, N: i32["n"], and write X[N[i]].')


def gather(
    state: State, array: ArrayParameter, indices: Sequence[IndexSum | Read], fill: float | None, node: ast.Subscript
) -> Expression:
    """Elements at places that arrays say; with a fill, that where a place is outside."""
    made: Expression = Gather(array, tuple(indices), state.span(node))
    for axis, (index, size) in enumerate(zip(indices, array.shape, strict=True)):
        if isinstance(index, IndexSum):
            continue
        if fill is None:
            state.places[Places(index.array.name, array.name, axis, size)] = None
            continue
        place = Apply(Operator.CAST, (index,), i64) if index.array.dtype != i64 else index
        for low, high in ((Number(-1), place), (place, SizeValue(size))):
            inside = apply(state, Operator.LESS, [low, high], node)
            made = apply(state, Operator.SELECT, [as_type(inside, array.dtype), made, Number(fill)], node)
    return made


def _old(state: State, name: str, indices: Sequence[str | None], node: ast.Subscript) -> ArrayParameter:
    """The contents from before; a statement that stores reads them where it stores."""
    own = state.storing.get(name)
    if own is not None and tuple(indices) != own:
        message = f"expected {name}[{', '.join(own)}] in the statement that stores it, got {ast.unparse(node)}"
        fix = "Copy its old contents to a `temp` array first, in a statement before."
        if state.target == name:
            fix += f" A running result goes from element to element: {RUNNING}"
        raise state.problem("READ_BEFORE_STORE", message, node, fix, ("declared here", state.arrays[name].span))
    state.old_reads.add(name)
    return state.olds[name]


def is_padded(node: ast.expr, state: State) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and function_called(state, node.func) == "pad"


def read_pad(state: State, call: ast.Call) -> tuple[ast.expr, int | float]:
    """The array, and what stands outside of it."""
    if len(call.args) != 2 or call.keywords:
        raise state.problem("CALL", f"expected pad(X, value), got {ast.unparse(call)}", call, "Write pad(X, 0)[i - 1].")
    fill = read_expression(state, call.args[1])
    if not isinstance(fill, Number):
        raise state.problem("CALL", "expected a number to pad with", call.args[1], "Write pad(X, 0)[i - 1].")
    return call.args[0], fill.value


def function_called(state: State, node: ast.expr) -> str | None:
    """Name of the function of `FUNCTIONS` that is called: by a free name, or by one bound to that function (of NumPy, too)."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    if name not in FUNCTIONS:
        return None
    found = state.resolve(node)
    return name if found is MISSING or any(found is f for f in FUNCTIONS[name]) else None


def _read_call(state: State, node: ast.Call) -> Expression:
    dtype = state.dtype(node.func)
    if dtype is not None:
        return _read_cast(state, dtype, node)
    name = function_called(state, node.func)
    if name in _PLACES:
        return _read_place(state, _PLACES[name], name, node)
    if name is None:
        called, known = ast.unparse(node.func), ", ".join(FUNCTIONS)
        last = called.rsplit(".", 1)[-1]
        if last in NOT_HERE:
            what, fix = NOT_HERE[last]
            raise state.problem("CALL", f"expected one of {known}, got {called}, which {what}", node.func, fix)
        if state.resolve(node.func) is MISSING:
            raise state.unknown(called, node.func, FUNCTIONS, "function", f"Use one of {known}.")
        raise state.problem("CALL", f"expected one of {known}, got {called}", node.func, "Write the arithmetic out.")
    for argument in node.args:
        if isinstance(argument, ast.GeneratorExp | ast.ListComp):
            message = f"expected the reduced index as over=, got {ast.unparse(argument)}"
            loops = [ast.unparse(g.target) for g in argument.generators]
            over = loops[0] if len(loops) == 1 else f"({', '.join(loops)})"
            raise state.problem("CALL", message, argument, f"Write {name}({ast.unparse(argument.elt)}, over={over}).")
    over = next((k for k in node.keywords if k.arg == "over"), None)
    if name in _REDUCING and over is not None:
        if len(node.args) != 1 or len(node.keywords) != 1:
            raise state.problem("CALL", f"expected {name}(value, over=index)", node, f"Write {name}(value, over=k).")
        first = len(state.size_values)
        operand = read_expression(state, node.args[0])
        reduced = _read_over(state, over.value)
        state.check_sizes([index for index, _ in reduced], first)
        return reduction(state, _REDUCING[name], operand, reduced, node)
    if node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        wanted = f"{name}(value, over=k), k being an index of the value" if name in _REDUCING else f"{name}(value)"
        raise state.problem("CALL", f"expected plain arguments of {name}, got {ast.unparse(node)}", node, f"Write {wanted}.")
    if name == "where":
        if len(node.args) != 3:
            message = f"expected where(condition, value, other), got {ast.unparse(node)}"
            raise state.problem("CALL", message, node, "Write where(X[i] > 0, X[i], 0).")
        return choice(state, node.args[0], node.args[1], node.args[2], node)
    if name == "pad":
        message = f"expected indices behind {ast.unparse(node)}, got none"
        fix = f"Write {ast.unparse(node)}[...] where it is read, or P = {ast.unparse(node)} in a line of its own."
        raise state.problem("CALL", message, node, fix)
    operands = [read_expression(state, a) for a in node.args]
    if name in _UNARY and len(operands) == 1:
        return apply(state, _UNARY[name], operands, node)
    if (name in ("max", "min") and len(operands) >= 2) or (name in _OF_TWO and len(operands) == 2):
        result = operands[0]
        for operand in operands[1:]:
            result = apply(state, _REDUCING[_OF_TWO.get(name, name)], [result, operand], node)
        return result
    wanted = f"{name}(a, b) or {name}(value, over=k)" if name in ("max", "min") else f"{name}(value, over=k)"
    wanted = f"{name}(value)" if name in _UNARY else f"{name}(a, b)" if name in _OF_TWO else wanted
    raise state.problem("CALL", f"expected {wanted}, got {ast.unparse(node)}", node, f"Write {wanted}.")


def _read_place(state: State, operator: Operator, name: str, node: ast.Call) -> Expression:
    """The first index of the greatest or least element, as NumPy's: of elements with a NaN the first NaN."""
    over = next((k.value for k in node.keywords if k.arg == "over"), None)
    if len(node.args) != 1 or len(node.keywords) != 1 or not isinstance(over, ast.Name):
        wanted = f"{name}(value, over=k)"
        raise state.problem("CALL", f"expected {wanted}, got {ast.unparse(node)}", node, f"Write {wanted}, with one index.")
    target = state.arrays.get(state.target)
    dtype = target.dtype if target is not None and not target.dtype.is_float else i32
    first = len(state.size_values)
    value = read_expression(state, node.args[0])
    state.check_sizes([over.id], first)
    best = reduction(state, operator, value, [(over.id, over)], node)
    is_best = apply(state, Operator.EQUAL, [value, best], node)
    own = dtype_of(value)
    if own is not None and own.is_float:
        is_same = apply(state, Operator.EQUAL, [value, value], node)
        is_best = apply(state, Operator.SELECT, [is_same, is_best, Number(1)], node)
    place = IndexValue(IndexSum(variable(over.id), state.span(over)), dtype)
    last = Number(integer_range(dtype)[1])
    places = apply(state, Operator.SELECT, [as_type(is_best, dtype), place, last], node)
    return reduction(state, Operator.MIN, places, [(over.id, over)], node)


def _read_over(state: State, node: ast.expr) -> tuple[tuple[str, ast.expr], ...]:
    names = node.elts if isinstance(node, ast.Tuple | ast.List) else [node]
    found: list[tuple[str, ast.expr]] = []
    for name in names:
        if not isinstance(name, ast.Name):
            fix = f"Write over=(i, j).{f' {_SCANS}' if isinstance(name, ast.Compare) else ''}"
            raise state.problem("CALL", f"expected names of indices, got {ast.unparse(node)}", node, fix)
        found.append((name.id, name))
    return tuple(found)


def reduction(
    state: State, operator: Operator, operand: Expression, over: Sequence[tuple[str, ast.AST]], node: ast.AST
) -> Expression:
    free = indices_of(operand)
    if not over:
        raise state.problem("REDUCTION_AXIS", "expected an index to reduce over, got none", node, "Write over=k.")
    for name, place in over:
        if name not in free:
            message = f"expected an index of the reduced value ({', '.join(free) or 'none'}), got {name!r}"
            raise state.problem("REDUCTION_AXIS", message, place, "Reduce over an index that the value depends on.")
    dtype = dtype_of(operand)
    if dtype is None:
        message = f"expected a type for the indices in {ast.unparse(node)}, got none"
        raise state.problem("INDEX_AS_VALUE", message, node, "Convert them: sum(f32(k), over=k).")
    return Reduction(operator, operand, tuple(dict.fromkeys(n for n, _ in over)), dtype, state.span(node))


def _read_cast(state: State, dtype: DType, node: ast.Call) -> Expression:
    if len(node.args) != 1 or node.keywords:
        raise state.problem("CALL", f"expected {dtype}(value)", node, f"Write {dtype}(value).")
    operand = read_expression(state, node.args[0])
    if isinstance(operand, IndexValue):
        if dtype.is_float and dtype.bits < 32:
            message = f"expected i8 to i64, u8 to u64, f32 or f64 for an index, got {dtype}"
            raise state.problem("DTYPE", message, node, f"Convert twice: {dtype}(f32({ast.unparse(node.args[0])})).")
        return (
            replace(operand, dtype=dtype) if operand.dtype is None else Apply(Operator.CAST, (operand,), dtype, state.span(node))
        )
    if dtype_of(operand) in (None, dtype):
        return operand
    return Apply(Operator.CAST, (operand,), dtype, state.span(node))


def _read_power(state: State, left: ast.expr, right: ast.expr, node: ast.AST) -> Expression:
    base, power = read_expression(state, left), read_expression(state, right)
    value = power.value if isinstance(power, Number) else 0
    if value == _ROOT:
        return apply(state, _UNARY["sqrt"], [base], node)
    if abs(value) not in range(1, _HIGHEST_POWER + 1):
        message = f"expected a power from 1 to {_HIGHEST_POWER}, one below 0, or 0.5, got {ast.unparse(right)}"
        raise state.problem("UNSUPPORTED_PYTHON", message, right, "Multiply, or use sqrt, exp and log.")
    result = base
    for _ in range(abs(int(value)) - 1):
        result = apply(state, Operator.MUL, [result, base], node)
    return result if value > 0 else apply(state, Operator.DIV, [Number(1), result], node)
