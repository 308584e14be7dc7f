"""Statements of a sketch: assignments, stores, loops, ifs, and the ends of functions."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn, TypeAlias

from warploom.core import scalar_of
from warploom.ir import (
    Component,
    For,
    If,
    IndexConst,
    IndexExpr,
    IndexVar,
    MakeVector,
    SetIndex,
    SetValue,
    Stmt,
    Store,
    ValueVar,
)
from warploom.operations import PYTHON_SIGNS
from warploom.sketch import fold, words
from warploom.sketch.operands import Accumulators, Array, Data, Group, Index, Local, Operand, Poison, Static, Unset, describe
from warploom.sketch.parser.arguments import Arguments, bind
from warploom.sketch.parser.calls import handles
from warploom.sketch.parser.conversions import as_index, as_static_int, unsupported
from warploom.sketch.parser.effects import has_effects
from warploom.sketch.parser.expressions import COMPONENTS, condition, evaluate, partial, read
from warploom.sketch.parser.numbers import adapt, binary, choice
from warploom.sketch.parser.state import Problem, Silent, State, kind_of

Scope: TypeAlias = dict[str, Operand]


def assignments(node: ast.FunctionDef | ast.Lambda) -> dict[str, int]:
    """Number of assignments that bind each name in the text of `node`, nested functions excluded."""
    counts: dict[str, int] = {}

    def visit(current: ast.AST) -> None:
        if isinstance(current, ast.Name) and isinstance(current.ctx, ast.Store):
            counts[current.id] = counts.get(current.id, 0) + 1
        elif isinstance(current, ast.FunctionDef):
            counts[current.name] = counts.get(current.name, 0) + 1
            return
        elif isinstance(current, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            return
        for child in ast.iter_child_nodes(current):
            visit(child)

    for stmt in node.body if isinstance(node, ast.FunctionDef) else []:
        visit(stmt)
    return counts


def read_tail(state: State, stmts: Sequence[ast.stmt]) -> Operand:
    """Reads the body of a function; its result, None if it returns nothing."""
    for position, stmt in enumerate(stmts):
        if isinstance(stmt, ast.Return):
            if position + 1 < len(stmts):
                state.report("UNREACHABLE", "this statement never runs: it follows a return", stmts[position + 1], "Remove it.")
            if stmt.value is None:
                return Static(None)
            state.direct = stmt.value
            return evaluate(state, stmt.value)
        if isinstance(stmt, ast.If) and _has_return(stmt):
            return _returning_if(state, stmt, stmts[position + 1 :])
        statement(state, stmt)
    return Static(None)


def _has_return(node: ast.AST) -> bool:
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return False
    return isinstance(node, ast.Return) or any(_has_return(c) for c in ast.iter_child_nodes(node))


def _always_returns(stmts: Sequence[ast.stmt]) -> bool:
    if not stmts:
        return False
    match stmts[-1]:
        case ast.Return():
            return True
        case ast.If(body=body, orelse=other):
            return _always_returns(body) and _always_returns(other)
        case _:
            return False


def _returning_if(state: State, node: ast.If, rest: Sequence[ast.stmt]) -> Operand:
    """`if c: ... return a` with what follows as its else."""
    if not isinstance(node.body[-1], ast.Return | ast.If) or not _has_return(node.body[-1]):
        raise state.problem(
            "RETURN", "expected this branch to end in a return", node, "Return at the end of every branch, or only at the end."
        )

    def through(stmts: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
        return stmts if _always_returns(stmts) else [*stmts, *rest]

    results: list[Operand] = []

    def tail(stmts: Sequence[ast.stmt]) -> Callable[[], None]:
        return lambda: results.append(read_tail(state, stmts))

    cond = condition(state, node.test)
    then, other = _branches(state, cond, node, tail(through(node.body)), tail(through(node.orelse)))
    if isinstance(cond, IndexConst):
        state.out.extend(then if cond.value else other)
        return results[0] if cond.value else results[1]
    span = state.span(node)
    if not then and not other:
        return choice(state, cond, results[0], results[1], node)
    if all(isinstance(r, Static) and r.value is None for r in results):
        state.emit(If(cond, tuple(then), tuple(other), span))
        return results[0]
    result, first, second = _joined(state, results[0], results[1], node)
    state.emit(If(cond, (*then, *first), (*other, *second), span))
    return result


def _joined(state: State, a: Operand, b: Operand, node: ast.AST) -> tuple[Operand, list[Stmt], list[Stmt]]:
    """Variables for a result that is `a` on one way and `b` on the other, and the assignments of both ways."""
    span = state.span(node)
    match a, b:
        case Index(expr=x, is_bool=first), Index(expr=y, is_bool=second) if first == second:
            name = state.fresh("result")
            return Index(IndexVar(name), first), [SetIndex(name, x, span)], [SetIndex(name, y, span)]
        case (Data(dtype=dtype), _) | (_, Data(dtype=dtype)) if not (
            isinstance(a, Data) and isinstance(b, Data) and a.dtype != b.dtype
        ):
            name = state.fresh("result")
            values = [SetValue(name, dtype, adapt(state, o, dtype, node), span) for o in (a, b)]
            return Data(ValueVar(name), dtype), [values[0]], [values[1]]
        case Group(items=left, kind=kind), Group(items=right) if len(left) == len(right):
            parts = [_joined(state, x, y, node) for x, y in zip(left, right, strict=True)]
            firsts = [s for p in parts for s in p[1]]
            return Group(tuple(p[0] for p in parts), kind), firsts, [s for p in parts for s in p[2]]
        case _:
            raise state.problem(
                "RETURN", f"expected results of one sort, got {describe(a)} and {describe(b)}", node, "Return the same sort."
            )


# ---------------------------------------------------------------- one statement


def statement(state: State, node: ast.stmt) -> None:
    """Reads one statement; problems are noted and the names it assigns are poisoned."""
    outer = state.direct, state.assigning, state.dead, list(state.conditions)
    state.storing = None
    try:
        _statement(state, node)
    except (Problem, Silent) as error:
        if isinstance(error, Problem):
            state.problems.append(error.diagnostic)
        for child in ast.walk(node):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                state.frame.scope[child.id] = Poison()
    finally:
        state.direct, state.assigning, state.dead, state.conditions = outer


def _statement(state: State, node: ast.stmt) -> None:
    match node:
        case ast.Assign(targets=[target], value=value):
            state.direct = value
            state.storing = value if _is_integer_element(state, target) else None
            state.assigning = dict(_named(target, value))
            operand = evaluate(state, value)
            _assign(state, target, operand, value)
        case ast.Assign():
            raise unsupported(state, node, "a chain of assignments", "Write one assignment per line.")
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            state.direct = value
            _assign(state, target, evaluate(state, value), value)
        case ast.AugAssign():
            _augmented(state, node)
        case ast.Expr(value=ast.Constant()) | ast.Pass():
            pass
        case ast.Expr(value=ast.Call() as call):
            state.direct = call
            evaluate(state, call)
        case ast.For():
            _for(state, node)
        case ast.If():
            _if(state, node)
        case ast.FunctionDef():
            if node.decorator_list:
                raise unsupported(state, node, "a decorated inner function", "Define it above the sketch.")
            state.bind(node.name, Local(node, state.frame), node)
        case ast.Return():
            fix = "Store the result to an array." if not state.calls else "Return at the end of the function."
            raise state.problem("RETURN", "a return cannot stand here", node, fix)
        case ast.Expr():
            raise state.problem("NO_EFFECT", "this expression does nothing", node, "Assign or store its value, or remove it.")
        case _:
            raise unsupported(state, node)


def _named(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """Each expression on the right with the name that it is assigned to."""
    match target, value:
        case ast.Name(id=name), _:
            yield value, name
        case (ast.Tuple(elts=targets) | ast.List(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values)):
            for one, part in zip(targets, values, strict=False):
                yield from _named(one, part)
        case _:
            pass


def _assign(state: State, target: ast.expr, operand: Operand, value: ast.expr) -> None:
    match target:
        case ast.Name(id=name):
            if isinstance(operand, Static) and operand.value is None:
                raise state.problem(
                    "NO_VALUE", "expected a value to assign, got None", value, "Return a value, or call it as a statement."
                )
            _refuse_loop_variable(state, name, target)
            state.bind(name, operand, target)
        case ast.Subscript():
            _store(state, stored_element(state, target), operand, target)
        case ast.Attribute():
            element, position = _component(state, target)
            _store(state, element, _with_component(state, element, position, operand, target), target)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            if not isinstance(operand, Group) or len(operand.items) != len(targets):
                got = f"{len(operand.items)} values" if isinstance(operand, Group) else describe(operand)
                raise state.problem(
                    "SHAPE_MISMATCH", f"expected {len(targets)} values to assign, got {got}", value, "Match both sides."
                )
            items = operand.items
            if not all(isinstance(t, ast.Name) and t.id not in state.frame.scope for t in targets):
                # all right-hand sides are evaluated before the first assignment
                items = tuple(state.kept(item, "value", value) for item in items)
            for one, item in zip(targets, items, strict=True):
                _assign(state, one, item, value)
        case _:
            raise unsupported(state, target, "this target of an assignment", "Assign to a name or to an element of an array.")


def _refuse_loop_variable(state: State, name: str, node: ast.AST) -> None:
    if state.frame.kinds.get(name, ("", node))[0] == "a loop variable":
        fix = "Use another name."
        raise state.problem("REASSIGN_KIND", f"{name!r} is a loop variable and cannot be assigned", node, fix)


def stored_element(state: State, target: ast.Subscript) -> Array:
    """The element that a store names."""
    owner = evaluate_owner(state, target.value)
    if isinstance(owner, Accumulators):
        raise state.problem(
            "STORE_TARGET", f"expected an array to store to, got {describe(owner)}", target, f"Write {owner.name}[i].add(...)."
        )
    if not isinstance(owner, Array):
        raise state.problem(
            "STORE_TARGET", f"expected an array to store to, got {describe(owner)}", target, "Store to an array's element."
        )
    element = partial(state, owner, target)
    if not isinstance(element, Array) or len(element.prefix) != len(element.shape):
        rank, got = len(owner.shape), len(element.prefix)
        raise state.problem(
            "RANK", f"{owner.name!r} has {rank} dimensions, got {got} indices", target, "Give one index per dimension."
        )
    if element.space == "constant":
        fix = "Declare it as wl.Global."
        raise state.problem("WRITE_CONSTANT", f"{owner.name!r} is in constant memory and cannot be stored to", target, fix)
    return element


def evaluate_owner(state: State, node: ast.expr) -> Operand:
    """The array that a target `owner[...]` indexes (`a[i][j] = ...` included)."""
    if isinstance(node, ast.Subscript):
        owner = evaluate_owner(state, node.value)
        return partial(state, owner, node) if isinstance(owner, Array | Accumulators) else evaluate(state, node)
    return evaluate(state, node)


def _is_integer_element(state: State, target: ast.expr) -> bool:
    while isinstance(target, ast.Subscript):
        target = target.value
    owner = state.frame.scope.get(target.id) if isinstance(target, ast.Name) else None
    return isinstance(owner, Array) and not owner.dtype.is_float


def _component(state: State, target: ast.Attribute) -> tuple[Array, int]:
    """The element of vectors whose component `a[i].x` names, and its position."""
    if not isinstance(target.value, ast.Subscript):
        fix = "Assign a new vector, wl.pack(dtype, ...), or store to an element: a[i].x = ..."
        raise unsupported(state, target, "a component of something else than an element as target", fix)
    element = stored_element(state, target.value)
    lanes = element.dtype.lanes
    if lanes == 1 or target.attr not in COMPONENTS[:lanes]:
        fix = f"Use one of {', '.join(COMPONENTS[:lanes])}." if lanes > 1 else "Store to the element itself."
        raise state.problem("RANK", f"{element.dtype} has no component {target.attr!r}", target, fix)
    return element, COMPONENTS.index(target.attr)


def _with_component(state: State, element: Array, position: int, operand: Operand, node: ast.AST) -> Data:
    """The element with another component, as a whole."""
    scalar = scalar_of(element.dtype)
    new = adapt(state, operand, scalar, node, f"a component of {element.name!r}")
    old = read(state, element, node).expr
    items = tuple(new if k == position else Component(old, k) for k in range(element.dtype.lanes))
    return Data(MakeVector(element.dtype, items), element.dtype)


def _store(state: State, element: Array, operand: Operand, target: ast.AST) -> None:
    value = adapt(state, operand, element.dtype, target, f"a value for {element.name!r}")
    state.mark_written(element)
    state.emit(Store(element.name, element.prefix, value, state.span(target)))


def _augmented(state: State, node: ast.AugAssign) -> None:
    op = PYTHON_SIGNS.get(type(node.op))
    if op is None:
        raise unsupported(state, node, "this operator", "Use + - * / min max & | ^ << >>.")
    state.direct = node.value
    if isinstance(node.target, ast.Subscript):
        state.storing = node if _is_integer_element(state, node.target) else None
        element = stored_element(state, node.target)
        old, right = _with_old(state, read(state, element, node.target), node)
        _store(state, element, binary(state, op, old, right, node), node.target)
        return
    if isinstance(node.target, ast.Attribute):
        element, position = _component(state, node.target)
        old = Data(Component(read(state, element, node.target).expr, position), scalar_of(element.dtype))
        old, right = _with_old(state, old, node)
        new = binary(state, op, old, right, node)
        _store(state, element, _with_component(state, element, position, new, node.target), node.target)
        return
    before = state.look_up(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
    if isinstance(before, Accumulators):
        fix = f"Write {before.name}.add(...)."
        raise state.problem("STORE_TARGET", f"{before.name!r} is an accumulator", node, fix)
    before, right = _with_old(state, before, node)
    _assign(state, node.target, binary(state, op, before, right, node), node.value)


def _with_old(state: State, old: Operand, node: ast.AugAssign) -> tuple[Operand, Operand]:
    """The value of the target, taken before the right side is evaluated, and the right side."""
    with state.collecting() as stmts:
        right = evaluate(state, node.value)
    if has_effects(tuple(stmts)):
        old = state.kept(old, "old", node)
    state.out.extend(stmts)
    return old, right


# ---------------------------------------------------------------- if


def _if(state: State, node: ast.If) -> None:
    cond = condition(state, node.test)
    then, other = _branches(state, cond, node, lambda: _block(state, node.body), lambda: _block(state, node.orelse))
    if isinstance(cond, IndexConst):
        state.out.extend(then if cond.value else other)
    elif then or other:
        state.emit(If(cond, tuple(then), tuple(other), state.span(node)))


def _block(state: State, stmts: Sequence[ast.stmt]) -> None:
    for stmt in stmts:
        statement(state, stmt)


def _branches(
    state: State, cond: IndexExpr, node: ast.AST, read_then: Callable[[], None], read_other: Callable[[], None]
) -> tuple[list[Stmt], list[Stmt]]:
    """The statements of both branches; afterwards only names that both bind are bound."""
    holds = state.facts.decide(cond)
    before = dict(state.frame.scope)
    state.conditions.append(cond)
    with state.collecting() as then, state.unreachable(holds is False):
        read_then()
    after_then, state.frame.scope = state.frame.scope, dict(before)
    with state.collecting() as other, state.unreachable(holds is True):
        read_other()
    after_other = state.frame.scope
    state.conditions.pop()
    if holds is not None:
        state.frame.scope = after_then if holds else after_other
    else:
        state.frame.scope = _merged(state, after_then, after_other, node)
    return then, other


def _merged(state: State, a: Scope, b: Scope, node: ast.AST) -> Scope:
    merged: Scope = {}
    for name in {**a, **b}:
        left, right = a.get(name), b.get(name)
        if left is None or right is None:
            merged[name] = Unset("is assigned on one side of an `if` only")
        elif left == right or isinstance(left, Poison | Unset):
            merged[name] = left
        elif isinstance(right, Poison | Unset) or kind_of(left) == kind_of(right):
            merged[name] = right
        else:
            merged[name] = Unset("holds different sorts of things after this `if`")
    return merged


# ---------------------------------------------------------------- for


def _for(state: State, node: ast.For) -> None:
    if not isinstance(node.target, ast.Name) or node.orelse:
        raise unsupported(state, node, "this form of `for`", "Write `for i in range(...)`.")
    vector = _vector_call(state, node.iter)
    start, stop, step = _range(state, node) if vector is None else _vector(state, vector)
    name = node.target.id
    first = state.frame.kinds.setdefault(name, ("a loop variable", node.target))
    if first[0] != "a loop variable":
        notes = ("first assigned here", first[1])
        raise state.problem(
            "REASSIGN_KIND", f"{name!r} was {first[0]} and is now a loop variable", node.target, "Use another name.", notes
        )
    variable, bounds = _loop_variable(state, name, start, stop, step)
    before = dict(state.frame.scope)
    state.frame.scope[name] = Index(IndexVar(variable))
    known = dict(state.facts.definitions)
    dead = state.facts.decide(fold.compare("<" if step > 0 else ">", start, stop)) is False
    with state.collecting() as body, state.unreachable(dead):
        state.facts.loops.pop(variable, None)
        if bounds is not None:
            state.facts.loops[variable] = bounds
        _block(state, node.body)
    # a definition from the body speaks about the loop variable of its own trip
    for defined in set(state.facts.definitions) - set(known):
        del state.facts.definitions[defined]
    runs = state.facts.decide(fold.compare("<" if step > 0 else ">", start, stop)) is True
    _leave_loop(state, name, before, runs)
    state.emit(For(variable, start, stop, step, tuple(body), "", state.span(node), vector is not None))


def _leave_loop(state: State, name: str, before: Scope, runs: bool) -> None:
    scope = state.frame.scope
    for inner in list(scope):
        if inner not in before and not runs and not isinstance(scope[inner], Poison):
            scope[inner] = Unset("is assigned only in a loop that may have no trips")
    scope[name] = Unset("is a loop variable and has no value after its loop")


def _loop_variable(state: State, name: str, start: IndexExpr, stop: IndexExpr, step: int) -> tuple[str, tuple[int, int] | None]:
    """The kernel's name of a loop variable and bounds on its values; an inner loop of the same name gets a new one."""
    first, last = state.facts.hull(start), state.facts.hull(stop)
    bounds = None
    if first is not None and last is not None:
        bounds = (first[0], last[1] - 1) if step > 0 else (last[0] + 1, first[1])
    variable = state.ir_name(name)
    if isinstance(state.frame.scope.get(name), Index):
        variable = state.fresh(name)
    return variable, bounds


def _range(state: State, node: ast.For) -> tuple[IndexExpr, IndexExpr, int]:
    call = node.iter
    is_range = isinstance(call, ast.Call) and isinstance(f := evaluate(state, call.func), Static) and f.value is builtins.range
    if not isinstance(call, ast.Call) or not is_range or call.keywords or not 1 <= len(call.args) <= 3:
        raise unsupported(state, node.iter, "a `for` over something else than range(...)", "Write `for i in range(...)`.")
    operands = [evaluate(state, a) for a in call.args]
    step = as_static_int(state, operands[2], call.args[2], "a step") if len(operands) == 3 else 1
    if step == 0:
        raise state.problem("UNBOUNDED_LOOP", "expected a step that is not zero", call, "Use a positive or negative step.")
    bounds = [_bound(state, o, a) for o, a in zip(operands[:2], call.args, strict=False)]
    return (fold.ZERO, bounds[0], step) if len(bounds) == 1 else (bounds[0], bounds[1], step)


@handles(words.vector)
def _misplaced_vector(state: State, args: Arguments) -> NoReturn:
    message = "expected wl.vector(...) as what a `for` runs over, got it elsewhere"
    raise state.problem("VECTOR_PLACE", message, args.call, "Write `for j in wl.vector(4):`.")


def _vector_call(state: State, node: ast.expr) -> ast.Call | None:
    is_vector = isinstance(node, ast.Call) and isinstance(f := evaluate(state, node.func), Static) and f.value is words.vector
    return node if is_vector and isinstance(node, ast.Call) else None


def _vector(state: State, call: ast.Call) -> tuple[IndexExpr, IndexExpr, int]:
    if state.mode == "spec":
        evaluate(state, call)  # says that specs have no such word
    args = bind(state, words.vector, call)
    node = args.node("elements")
    elements = as_static_int(state, evaluate(state, node), node, "the elements of a vector")
    if elements not in (2, 4):
        raise state.problem(
            "VECTOR_TYPE", f"expected 2 or 4 elements in wl.vector(...), got {elements}", call, "Write wl.vector(4)."
        )
    return fold.ZERO, IndexConst(elements), 1


_BOUND_TROUBLE = {
    "size": ("a run-time size", "Loop to a constant; blocks and threads cover the run-time sizes."),
    "thread": ("the thread", "Loop to a constant and guard the body with an `if`."),
    "block": ("the block", "Loop to a constant and guard the body with an `if`."),
    "hole": ("a hole", "Loop to a constant and guard the body with an `if`."),
    "variable": ("a reassigned variable", "Use constants and outer loop variables."),
}


def _bound(state: State, operand: Operand, node: ast.expr) -> IndexExpr:
    expr = as_index(state, operand, node, "a loop bound")
    if state.mode == "sketch":
        depends = state.facts.depends(expr)
        for kind, (words, fix) in _BOUND_TROUBLE.items():
            if kind in depends:
                raise state.problem(
                    "UNBOUNDED_LOOP", f"expected a loop bound known at compile time, got one that depends on {words}", node, fix
                )
        constant = state.facts.constant(expr)
        return IndexConst(constant) if constant is not None else expr
    return expr
