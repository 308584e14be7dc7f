"""Calls of device functions and lambdas: expanded in place, with locals renamed and holes named after the call."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable
from typing import cast

from warploom.ir import IndexConst, IndexVar, ValueConst, ValueVar
from warploom.sketch.operands import Data, Device, Group, Index, Local, Operand, Static, Unset, describe
from warploom.sketch.parser.conversions import unsupported
from warploom.sketch.parser.effects import has_effects
from warploom.sketch.parser.expressions import CALLS, evaluate
from warploom.sketch.parser.state import Frame, Silent, State
from warploom.sketch.parser.statements import assignments, read_tail
from warploom.sketch.source import Written, written


def device_of(value: object, *, plain: bool) -> Device | None:
    """The device function that `value` is; with `plain`, an undecorated Python function too."""
    if isinstance(value, Device):
        return value
    if plain and isinstance(value, types.FunctionType):
        text = written(value)
        return Device(text, defaults_of(value), False, text.source.span(text.node))
    return None


def defaults_of(function: Callable[..., object]) -> tuple[tuple[str, object], ...]:
    """Default values of parameters."""
    parameters = inspect.signature(function).parameters.values()
    return tuple((p.name, cast(object, p.default)) for p in parameters if p.default is not inspect.Parameter.empty)


def call_function(state: State, call: ast.Call, called: Operand) -> Operand | None:
    if isinstance(called, Local):
        target: Local | Device = called
    elif isinstance(called, Static) and (device := device_of(called.value, plain=state.mode == "spec")) is not None:
        target = device
    else:
        return None
    operands = tuple(evaluate(state, a) for a in call.args)
    keywords = {k.arg: evaluate(state, k.value) for k in call.keywords if k.arg is not None}
    is_direct = state.direct is call
    with state.collecting() as stmts:
        result = _expand(state, target, operands, keywords, call)
    if not is_direct and has_effects(tuple(stmts)):
        raise state.problem(
            "EFFECT_IN_EXPRESSION",
            "this function stores, accumulates or synchronises and is called inside of an expression",
            call,
            "Call it in a statement of its own: `v = f(...)` or `f(...)`.",
        )
    state.out.extend(stmts)
    return result


CALLS.append(call_function)


def apply_function(state: State, function: Local | Static, operands: tuple[Operand, ...], node: ast.expr, what: str) -> Operand:
    """The value of a function given as an argument (`shuffle=`, `finalize=`); it must not need statements."""
    target = function if isinstance(function, Local) else device_of(function.value, plain=True)
    if target is None:
        raise state.problem(
            "ARGUMENTS", f"expected a function for {what}, got {describe(function)}", node, "Write a lambda or a name."
        )
    with state.collecting() as stmts:
        result = _expand(state, target, operands, {}, node, substitute=True)
    if stmts:
        raise state.problem("ARGUMENTS", f"expected {what} to be a single expression", node, "Write it as one expression.")
    return result


def _expand(
    state: State,
    target: Local | Device,
    operands: tuple[Operand, ...],
    keywords: dict[str, Operand],
    call: ast.expr,
    *,
    substitute: bool = False,
) -> Operand:
    """Reads the body of `target` here; `substitute` writes index operands out wherever they are used."""
    frame = state.frame
    place = frame.source.place(call)
    if isinstance(target, Device):
        text, defaults = target.written, dict(target.defaults)
        path = () if target.shared_holes else (place, *frame.path)
        scope: dict[str, Operand] = {}
        name = target.name
    else:
        home = cast(Frame, target.home)
        text = Written(home.source, target.node, home.resolve, home.known)
        defaults = {}
        late = Unset("is assigned after this function is called")
        scope = {**dict.fromkeys(home.assigned, late), **home.scope}
        # a lambda written right in the call has one use: its holes are named like any others
        path = frame.path if target.node is call else (place, *frame.path)
        name = target.node.name if isinstance(target.node, ast.FunctionDef) else "lambda"
    key = f"{text.source.file}:{text.node.lineno}:{text.node.col_offset}"
    if key in state.calls:
        raise state.problem("RECURSION", f"{name} calls itself", call, "Write a loop.")
    counts = assignments(text.node)
    inner = Frame(name, text.source, text.resolve, text.known, counts, path, scope)
    given = _match(state, text.node, operands, keywords, defaults, call, name)
    for local in counts:
        inner.scope.pop(local, None)
    state.calls.append(key)
    outer_direct, outer_assigning = state.direct, state.assigning
    try:
        with state.framed(inner):
            substitute = substitute or isinstance(text.node, ast.Lambda)
            _bind_parameters(state, text.node, given, substitute=substitute)
            if isinstance(text.node, ast.Lambda):
                return evaluate(state, text.node.body)
            problems = len(state.problems)
            result = read_tail(state, text.node.body)
            if len(state.problems) > problems:
                raise Silent
            return result
    finally:
        state.direct, state.assigning = outer_direct, outer_assigning
        state.calls.pop()


def _match(
    state: State,
    node: ast.FunctionDef | ast.Lambda,
    operands: tuple[Operand, ...],
    keywords: dict[str, Operand],
    defaults: dict[str, object],
    call: ast.expr,
    name: str,
) -> dict[str, Operand]:
    """Operands by parameter name."""
    spec = node.args
    if spec.vararg is not None or spec.kwarg is not None:
        raise unsupported(state, call, f"`*` or `**` parameters (of {name})", "List the parameters.")
    positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    names = [*positional, *(a.arg for a in spec.kwonlyargs)]
    given = {**dict(zip(positional, operands, strict=False)), **keywords}
    missing = [n for n in names if n not in given and n not in defaults]
    unknown = [n for n in keywords if n not in names]
    if missing or unknown or len(operands) > len(positional) or set(positional[: len(operands)]) & set(keywords):
        raise state.problem(
            "ARGUMENTS", f"expected {name}({', '.join(names)}), got {_shape(operands, keywords)}", call, "Match the parameters."
        )
    return {n: given[n] if n in given else state.operand_of(defaults[n]) for n in names}


def _shape(operands: tuple[Operand, ...], keywords: dict[str, Operand]) -> str:
    count = f"{len(operands)} positional argument{'s' if len(operands) != 1 else ''}"
    return f"{count} and {', '.join(keywords)}" if keywords else count


def _bind_parameters(state: State, node: ast.FunctionDef | ast.Lambda, given: dict[str, Operand], *, substitute: bool) -> None:
    frame = state.frame
    for name, operand in given.items():
        if name in frame.assigned:
            frame.assigned[name] += 1
            state.bind(name, operand, node)
        elif _is_settled(operand) or (substitute and isinstance(operand, Index)):
            frame.scope[name] = operand
        else:
            frame.scope[name] = state.kept(operand, name, node)


def _is_settled(operand: Operand) -> bool:
    """Whether `operand` may be written several times without computing it again."""
    match operand:
        case Index(expr=IndexConst() | IndexVar()) | Data(expr=ValueConst() | ValueVar()):
            return True
        case Index() | Data() | Group():
            return False
        case _:
            return True
