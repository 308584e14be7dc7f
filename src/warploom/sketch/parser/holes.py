"""Holes, of the kinds of `ir.swizzle.kinds`, each with an identity that maps back to its place in the user's text."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace
from functools import partial
from typing import assert_never, cast

from warploom.ir import Compare, Hole, HoleUse, IndexConst, IndexExpr, ValueSelect, is_hole_name
from warploom.ir.swizzle.kinds import KINDS, HoleKind
from warploom.sketch.operands import Data, Index, Operand, Static, describe
from warploom.sketch.parser.arguments import Arguments
from warploom.sketch.parser.calls import handles
from warploom.sketch.parser.expressions import evaluate, index, static_int, static_value, without_statements
from warploom.sketch.parser.numbers import adapt
from warploom.sketch.parser.state import State


def _texts(nodes: tuple[ast.expr, ...]) -> tuple[str, ...]:
    return tuple(ast.unparse(n) for n in nodes)


def _declare(state: State, args: Arguments, hole: Hole) -> str:
    """Enter the hole of this call under its full name; the same place on the same call path is the same hole."""
    frame = state.frame
    call = args.call
    base = _given_name(state, args) or frame.source.place(call)
    name = "@".join((base, *frame.path))
    site = (frame.source.file, call.lineno, call.col_offset, frame.path)
    known = state.hole_sites.get(site)
    if known is None and name in state.holes:
        raise state.problem(
            "DUPLICATE_HOLE",
            f"expected a new name for this hole, got {base!r} again",
            call,
            "Name it differently or leave out name=.",
        )
    state.hole_sites[site] = name
    state.holes.setdefault(name, replace(hole, name=name, span=state.span(call)))
    if not state.dead:
        state.reached.add(name)
    return name


def _given_name(state: State, args: Arguments) -> str | None:
    node = args.optional("name")
    if node is None:
        return None
    value = static_value(state, node)
    if not isinstance(value, str) or "@" in value or not is_hole_name(value):
        message = f"expected a hole's name as a string of one line without '@' and '\\', got {value!r}"
        raise state.problem("ARGUMENTS", message, node, 'Write for example name="row".')
    return value


def _listed(state: State, node: ast.expr) -> tuple[object, ...] | None:
    """Items of a tuple, list or range known at compile time; None for anything else."""
    match node:
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            parts = [_starred(state, e) if isinstance(e, ast.Starred) else (static_value(state, e),) for e in elts]
            return tuple(item for part in parts for item in part)
        case ast.Call(func=func, args=args, keywords=[]) if 1 <= len(args) <= 3 and static_value(state, func) is range:
            bounds = [static_int(state, a, "a bound") for a in args]
            if len(bounds) == 3 and bounds[2] == 0:
                raise state.problem("ARGUMENTS", "expected a step that is not zero", args[2], "Use a positive or negative step.")
            return tuple(range(*bounds))
        case _:
            value = static_value(state, node)
            return tuple(cast("range", value)) if isinstance(value, tuple | list | range) else None


def _starred(state: State, node: ast.Starred) -> tuple[object, ...]:
    items = _listed(state, node.value)
    if items is None:
        message = f"expected integers known at compile time, got {ast.unparse(node.value)}"
        raise state.problem("ARGUMENTS", message, node.value, "Write for example *range(8).")
    return items


def _integers(state: State, args: Arguments, name: str) -> tuple[int, ...] | None:
    """The integers that keyword `name` lists; None if it was not given or is None."""
    node = args.optional(name)
    if node is None:
        return None
    items = _listed(state, node)
    if items is None:
        operand = evaluate(state, node)
        if isinstance(operand, Static) and operand.value is None:
            return None
        items = (static_value(state, node),)
    return _all_integers(state, items, node, f"integer constants for {name}", f"Write {name}=(0, 1).")


def _all_integers(state: State, items: tuple[object, ...], node: ast.expr, what: str, fix: str) -> tuple[int, ...]:
    integers = tuple(item for item in items if isinstance(item, int) and not isinstance(item, bool))
    if len(integers) != len(items):
        raise state.problem("ARGUMENTS", f"expected {what}, got {ast.unparse(node)}", node, fix)
    return integers


def _grammar(state: State, args: Arguments, allowed: tuple[str, ...]) -> str:
    node = args.optional("grammar")
    value = static_value(state, node) if node is not None else "full"
    if value not in allowed:
        fix = f'Write grammar="{allowed[0]}".'
        raise state.problem("ARGUMENTS", f"expected a grammar among {', '.join(allowed)}, got {value!r}", args.call, fix)
    return str(value)


def _count(state: State, args: Arguments, what: str) -> int:
    n = static_int(state, args.node("n"), what)
    if n < 1:
        raise state.problem("ARGUMENTS", f"expected {what} to be positive, got {n}", args.node("n"), "Use 1 or more.")
    return n


def _read(kind: HoleKind, state: State, args: Arguments) -> Operand:
    """A hole: the arguments by the signature of its kind's word."""
    match kind.takes:
        case "integers":
            return _among_integers(kind, state, args)
        case "alternatives":
            return _among_alternatives(kind, state, args)
        case "indices":
            return _of_indices(kind, state, args)
        case _:
            assert_never(kind.takes)


def _of_indices(kind: HoleKind, state: State, args: Arguments) -> Operand:
    parameters = inspect.signature(kind.word).parameters
    nodes: list[ast.expr] = []
    for name in kind.operands:
        is_many = parameters[name].kind is inspect.Parameter.VAR_POSITIONAL
        nodes += args.rest(name) if is_many else (args.node(name),)
    values = tuple(index(state, n, "an index as operand of a hole") for n in nodes)
    hole = Hole(
        "",
        kind.name,
        _texts(tuple(nodes)),
        n=_count(state, args, kind.n_counts) if "n" in parameters else 0,
        grammar=_grammar(state, args, kind.grammars) if "grammar" in parameters else "full",
        modulus=static_int(state, args.node("modulus"), "the modulus") if args.has("modulus") else 0,
    )
    if (fault := kind.fault(hole)) is not None:
        raise state.problem("ARGUMENTS", fault[0], args.call, fault[1])
    for name in ("coefficients", "constants"):
        if name in parameters:
            given = _integers(state, args, name)
            hole = replace(hole, **{name: None if given == parameters[name].default else given})
    return Index(HoleUse(_declare(state, args, hole), values), is_bool=kind.is_condition)


def _among_integers(kind: HoleKind, state: State, args: Arguments) -> Operand:
    values: tuple[int, ...] = ()
    for node in args.rest(kind.operands[0]):
        if isinstance(node, ast.Starred):
            items = _starred(state, node)
            values += _all_integers(state, items, node.value, "integers known at compile time", "Write for example *range(8).")
        else:
            values += (static_int(state, node, "an integer"),)
    if not values:
        fix = f"Write for example {kind.name}(0, 1)."
        raise state.problem("ARGUMENTS", "expected one or more integers", args.call, fix)
    return Index(HoleUse(_declare(state, args, Hole("", kind.name, (), constants=values)), ()))


def _among_alternatives(kind: HoleKind, state: State, args: Arguments) -> Operand:
    nodes = args.rest(kind.operands[0])
    if not nodes:
        fix = f"Write for example {kind.name}(a, b)."
        raise state.problem("ARGUMENTS", "expected one or more alternatives", args.call, fix)
    operands = [without_statements(state, n, evaluate) for n in nodes]
    hole = Hole("", kind.name, _texts(nodes), n=len(nodes))
    dtype = next((o.dtype for o in operands if isinstance(o, Data)), None)
    if dtype is not None:
        values = [adapt(state, o, dtype, n, "an alternative") for o, n in zip(operands, nodes, strict=True)]
        numbers: tuple[IndexExpr, ...] = tuple(IndexConst(i) for i in range(len(nodes)))
        use = HoleUse(_declare(state, args, hole), numbers)
        chain = values[-1]
        for position in reversed(range(len(values) - 1)):
            chain = ValueSelect(Compare("==", use, IndexConst(position)), values[position], chain)
        return Data(chain, dtype)
    kinds = {o.is_bool for o in operands if isinstance(o, Index)}
    indices = tuple(o.expr for o in operands if isinstance(o, Index))
    if len(indices) != len(operands) or len(kinds) != 1:
        got = " and ".join(dict.fromkeys(describe(o) for o in operands))
        raise state.problem(
            "MIXED_ALTERNATIVES", f"expected alternatives of one sort, got {got}", args.call, "Convert the odd one."
        )
    return Index(HoleUse(_declare(state, args, hole), indices), is_bool=kinds.pop())


for _kind in KINDS.values():
    handles(_kind.word)(partial(_read, _kind))
