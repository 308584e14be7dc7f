"""Specs: a plain Python function on arrays as a sequential kernel of one thread."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from warploom.core import FACTORS, Diagnostic, DType, UnsupportedError, UserError
from warploom.ir import Hole, IndexConst, Kernel, SizeVar
from warploom.sketch import words
from warploom.sketch.operands import Array, Index, Static
from warploom.sketch.parser.functions import defaults_of
from warploom.sketch.parser.state import Frame, State
from warploom.sketch.parser.statements import assignments, statement
from warploom.sketch.ranges import Facts
from warploom.sketch.source import Written, written

ONE = IndexConst(1)


def parse_spec(spec: Callable[..., object], kernel: Kernel) -> Kernel:
    """`spec` as a kernel with the parameters and sizes of `kernel`, one block of one thread; loop bounds may use sizes.

    The spec's parameters are names of arrays and sizes of `kernel`, in any order. Raises UserError (UnsupportedError if all
    problems are Python that specs do not have).
    """
    text = written(spec)
    node = text.node
    if not isinstance(node, ast.FunctionDef):
        raise UserError(Diagnostic("SIGNATURE", "expected a `def` as spec", text.source.span(node), "Write a `def`."))
    counts = assignments(node)
    frame = Frame(node.name, text.source, text.resolve, text.known, counts, ())
    holes: dict[str, Hole] = {}
    arrays = {p.name: p for p in kernel.params}
    names = set(arrays)
    state = State(
        "spec", 1, Facts((1, 1, 1), (ONE, ONE, ONE), holes), frame, (1, 1, 1), names | set(kernel.sizes), holes, params=names
    )
    defaults = dict(defaults_of(spec))
    for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
        frame.kinds[argument.arg] = ("a parameter", argument)
        if argument.arg in arrays:
            param = arrays[argument.arg]
            frame.scope[param.name] = Array(param.name, param.space, param.dtype, param.shape)
        elif argument.arg in kernel.sizes:
            frame.scope[argument.arg] = Index(SizeVar(argument.arg))
        elif argument.arg in defaults:
            frame.scope[argument.arg] = state.operand_of(defaults[argument.arg])
        else:
            known = ", ".join([*arrays, *kernel.sizes])
            message = f"parameter {argument.arg!r} of the spec is neither an array nor a size of the sketch (those are: {known})"
            state.report("SPEC_MISMATCH", message, argument, "Use the names of the sketch.")
    for name in counts:
        if name not in names:
            state.ir_name(name)
    frame.data_names.update(_data_names(node, frame, text))
    for stmt in node.body:
        if not (isinstance(stmt, ast.Return) and stmt is node.body[-1] and _returns_nothing(stmt)):
            statement(state, stmt)
    for name in sorted(state.written - {p.name for p in kernel.params if p.is_output}):
        message = f"the spec stores to {name!r}, which the sketch {kernel.name!r} never stores to"
        state.report("SPEC_MISMATCH", message, node, f"Store to {name} in the sketch, or not in the spec.")
    if unknown := [s for s in state.sizes if s not in kernel.sizes]:
        state.report(
            "SPEC_MISMATCH",
            f"the spec uses sizes that the sketch does not have: {', '.join(unknown)}",
            node,
            "Use the same sizes.",
        )
    if state.problems:
        problems = tuple(dict.fromkeys(state.problems))
        raise (UnsupportedError if all(p.code == "UNSUPPORTED_PYTHON" for p in problems) else UserError)(*problems)
    return replace(
        kernel,
        name=node.name,
        block=(1, 1, 1),
        grid=(ONE, ONE, ONE),
        warp_size=1,
        body=tuple(state.out),
        holes=(),
        operators=tuple(state.operators.values()),
        file=text.source.file,
        span=text.source.span(node),
    )


def unbounded_loops(spec: Callable[..., object]) -> tuple[Diagnostic, ...]:
    """One error for every `while` of `spec`, which runs as Python before it is read: an endless one would never be reported.

    Nothing for a spec whose source cannot be read.
    """
    try:
        text = written(spec)
    except UserError:
        return ()
    message = "expected loops with a bound, got a `while`"
    loops = [node for node in ast.walk(text.node) if isinstance(node, ast.While)]
    return tuple(Diagnostic("UNBOUNDED_LOOP", message, text.source.span(n.test), "Use for ... in range(...).") for n in loops)


def _returns_nothing(stmt: ast.Return) -> bool:
    return stmt.value is None or (isinstance(stmt.value, ast.Constant) and stmt.value.value is None)


def _data_names(node: ast.FunctionDef, frame: Frame, text: Written) -> dict[str, DType]:
    """Local names that hold data somewhere, with its type: `total = 0` before `total += x[i]` starts data."""
    values: dict[str, list[ast.expr]] = {}
    for child in ast.walk(node):
        match child:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AugAssign(target=ast.Name(id=name), value=value):
                values.setdefault(name, []).append(value)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=items)) if len(targets) == len(items):
                for target, item in zip(targets, items, strict=True):
                    if isinstance(target, ast.Name):
                        values.setdefault(target.id, []).append(item)
            case _:
                pass

    def dtype_of(expr: ast.expr, seen: frozenset[str]) -> DType | None:
        match expr:
            case ast.Subscript(value=owner):
                return dtype_of_array(owner)
            case ast.Name(id=name) if name in values and name not in seen:
                return first(values[name], seen | {name})
            case ast.BinOp(left=left, right=right):
                return first([left, right], seen)
            case ast.UnaryOp(operand=operand):
                return dtype_of(operand, seen)
            case ast.IfExp(body=body, orelse=other):
                return first([body, other], seen)
            case ast.Call(func=func, args=args) if args and _called(func, text) in (words.cast, words.literal, words.pack):
                value = _called(args[0], text)
                return value if isinstance(value, DType) and value not in FACTORS else None
            case ast.Call(args=args):
                return first(args, seen)
            case _:
                return None

    def dtype_of_array(owner: ast.expr) -> DType | None:
        if isinstance(owner, ast.Subscript):
            return dtype_of_array(owner.value)
        operand = frame.scope.get(owner.id) if isinstance(owner, ast.Name) else None
        return operand.dtype if isinstance(operand, Array) else None

    def first(exprs: list[ast.expr], seen: frozenset[str]) -> DType | None:
        return next((d for d in (dtype_of(e, seen) for e in exprs) if d is not None), None)

    found = {name: first(exprs, frozenset({name})) for name, exprs in values.items()}
    return {name: dtype for name, dtype in found.items() if dtype is not None}


def _called(node: ast.expr, text: Written) -> object:
    """The Python object that a dotted name stands for."""
    if isinstance(node, ast.Name):
        return text.resolve(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_called(node.value, text), node.attr, None)
    return Static(None)
