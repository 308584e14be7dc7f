"""A Python function, read as a tensor function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from warploom.core import Diagnostic, Span, UserError, polynomials
from warploom.core.polynomials import Polynomial
from warploom.operations import PYTHON_SIGNS
from warploom.schedule.backbone import Operator, Role
from warploom.schedule.frontend.arithmetic import apply, check_number, in_type
from warploom.schedule.frontend.bound_indices import with_fewer_indices
from warploom.schedule.frontend.expressions import is_padded, read_expression, read_pad, reduction
from warploom.schedule.frontend.signature import read_signature, read_size
from warploom.schedule.frontend.sizes import is_quotient
from warploom.schedule.frontend.stand_ins import RUNNING
from warploom.schedule.frontend.state import Problem, Silent, State
from warploom.schedule.frontend.tree import (
    Apply,
    ArrayParameter,
    Definition,
    Expression,
    Gather,
    IndexValue,
    Local,
    Read,
    Reduction,
    Stage,
    Store,
    TensorTree,
    dtype_of,
    index_sums,
    indices_of,
    parts_of,
    reduced_over,
)
from warploom.sketch import written


def read_tensor(function: Callable[..., object], around: Mapping[str, object]) -> TensorTree:
    """Raises UserError with every problem of the source."""
    text = written(function)
    state = State(text, around)
    node = text.node
    if isinstance(node, ast.Lambda):
        problem = state.problem("NOT_A_FUNCTION", "expected a `def`, got a lambda", node, "Write a function.")
        raise UserError(problem.diagnostic)
    state.indices = frozenset(
        n.id for s in ast.walk(node) if isinstance(s, ast.Subscript) for n in ast.walk(s.slice) if isinstance(n, ast.Name)
    )
    state.bound_indices = frozenset(_bound_indices(node))
    state.own_indices = state.bound_indices | {
        n.id for s in ast.walk(node) if isinstance(s, ast.Subscript) for n in _elements(s) if isinstance(n, ast.Name)
    }
    read_signature(state, node)
    for statement in node.body:
        try:
            _read_statement(state, statement)
        except Problem as found:
            state.problems.append(found.diagnostic)
            _poison(state, statement)
        except Silent:
            _poison(state, statement)
    _finish(state, node)
    if state.problems:
        raise UserError(*state.problems)
    arrays = tuple(part for a in state.arrays.values() for part in (state.olds.get(a.name), a) if part is not None)
    scalars, olds = tuple(state.scalars.values()), {name: old.name for name, old in state.olds.items()}
    names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    parameters = tuple(part for name in names for part in (olds.get(name), name) if part is not None)
    stages = tuple(map(with_fewer_indices, state.stages))
    return TensorTree(node.name, arrays, scalars, tuple(state.sizes), stages, parameters, tuple(state.places))


def _elements(node: ast.Subscript) -> list[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


def _bound_indices(function: ast.FunctionDef) -> Iterator[str]:
    for node in (n for statement in function.body for n in ast.walk(statement)):
        match node:
            case ast.Subscript(ctx=ast.Store()):
                yield from (n.id for n in _elements(node) if isinstance(n, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.keyword(arg="over", value=value):
                yield from (n.id for n in ast.walk(value) if isinstance(n, ast.Name))
            case _:
                pass


def _poison(state: State, statement: ast.stmt) -> None:
    """Marks names that a wrong statement would have defined or stored, so that they cause no further problems."""
    for node in ast.walk(statement):
        target = node.value if isinstance(node, ast.Subscript) else node
        if not isinstance(target, ast.Name) or not isinstance(getattr(node, "ctx", None), ast.Store):
            continue
        if target.id in state.arrays:
            state.stored.setdefault(target.id, state.span(statement))
        else:
            state.poisoned.add(target.id)


def _finish(state: State, node: ast.FunctionDef) -> None:
    if not any(a.role is Role.OUTPUT for a in state.arrays.values()) and not state.poisoned:
        message = "expected an output among the parameters, got none"
        fix = 'Mark what the function writes: out[f32["n"]].'
        state.problems.append(Diagnostic("NOT_STORED", message, state.span(node), fix))
    if state.problems:
        return
    for definition in state.definitions.values():
        _check_used(state, definition)
    for name, (base, _) in state.padded.items():
        if name not in state.used:
            message = f"the padded array {name!r} is read nowhere"
            state.problems.append(Diagnostic("UNUSED", message, state.span(base), f"Read {name}[...], or delete it."))
    for array in state.arrays.values():
        if array.old is not None and array.name in state.stored and array.name not in state.old_reads:
            message = f"expected {array.name!r}, which is read and written, to be read before it is stored, got no such read"
            fix = f"Declare it as out[...], or write += to add to {array.name}."
            state.problems.append(Diagnostic("UNUSED", message, array.span, fix))
        if array.role is not Role.INPUT and array.name not in state.stored:
            message = f"expected a store to {array.name!r}, got none"
            state.problems.append(
                Diagnostic("NOT_STORED", message, array.span, f"Assign {array.name}[...], or make it an input.")
            )


def _check_used(state: State, definition: Definition) -> None:
    if definition.name not in state.used:
        message = f"the value {definition.name!r} reaches no output"
        state.problems.append(Diagnostic("UNUSED", message, definition.span, "Store something that uses it, or delete it."))


class _Named(ast.NodeTransformer):
    """The only place on an axis of one element of an array that is stored, `total[0]`, by the name of an index."""

    def __init__(self, state: State, stored: Collection[str]) -> None:
        self.state, self.stored = state, stored
        self.names: dict[int, str] = {}

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        array = self.state.arrays.get(node.value.id) if isinstance(node.value, ast.Name) else None
        elements = _elements(node)
        if array is None or array.name not in self.stored or len(elements) != len(array.shape):
            return node
        for axis, (element, size) in enumerate(zip(elements, array.shape, strict=True)):
            if isinstance(element, ast.Constant) and element.value == 0 and size == polynomials.number(1):
                elements[axis] = ast.copy_location(ast.Name(self._name(axis), ast.Load()), element)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = elements
        else:
            (node.slice,) = elements
        return node

    def _name(self, axis: int) -> str:
        if axis not in self.names:
            state, name = self.state, f"only{axis or ''}"
            while name in {*state.sizes, *state.arrays, *state.scalars, *state.definitions, *state.own_indices}:
                name += "_"
            self.names[axis] = name
            state.own_indices |= {name}
            state.bound_indices |= {name}
        return self.names[axis]


def _read_statement(state: State, node: ast.stmt) -> None:
    if isinstance(node, ast.Assign | ast.AugAssign):
        node = _Named(state, {name for name, _ in _targets(node)}).visit(node)
    state.storing = dict(_targets(node))
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
            return
        case ast.AnnAssign(target=ast.Name(id=name) as target, annotation=annotation, value=None):
            _read_range(state, name, target, annotation)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            stores = [_read_assignment(state, t, v, node) for t, v in zip(targets, values, strict=True)]
            for target, made in zip(targets, stores, strict=True):
                if isinstance(made, Definition):
                    message = f"expected arrays on the left of several results, got {made.name!r}"
                    raise state.problem("SEVERAL_RESULTS", message, target, "Define values one by one.")
            _end_stage(state, tuple(s for s in stores if isinstance(s, Store)), node)
        case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.Call() as call) if is_padded(call, state):
            _name_padded(state, name, target, call)
        case ast.Assign(targets=[target], value=value):
            _add(state, _read_assignment(state, target, value, node), node)
        case ast.AugAssign(target=target, op=op, value=value) if isinstance(op, ast.Add) or _is_changed(state, target, op):
            _add(state, _read_assignment(state, target, value, node, _CHANGES[type(op)]), node)
        case ast.AugAssign(op=op):
            message = f"expected += for a sum, got {PYTHON_SIGNS.get(type(op), 'another operator')}="
            fix = "Write = with sum(..., over=k) inside of the expression; arrays declared as inout[...] take -=, *= and /=, too."
            raise state.problem("UNSUPPORTED_PYTHON", message, node, fix)
        case _:
            message = f"expected an assignment, got {ast.unparse(node).splitlines()[0]}"
            fix = "Write C[m, n] += A[m, k] * B[k, n], t[i] = ..., or k: range(8)."
            if isinstance(node, ast.For | ast.While):
                fix = f"Leave the loop out: indices run by themselves. A running result is no tensor function: {RUNNING}"
            raise state.problem("UNSUPPORTED_PYTHON", message, node, fix)


def _name_padded(state: State, name: str, target: ast.expr, call: ast.Call) -> None:
    """`P = pad(X, 0)`: another name of an array, one whose contents do not change any more."""
    base, fill = read_pad(state, call)
    array = state.arrays.get(base.id) if isinstance(base, ast.Name) else None
    if array is None or (array.name not in state.stored and (array.role is not Role.INPUT or array.name in state.olds)):
        message = f"expected an input in pad, or an array that is stored already, got {ast.unparse(base)}"
        raise state.problem("NOT_AN_ARRAY", message, base, f"Write {ast.unparse(call)}[...] where it is read.")
    if name in {*state.arrays, *state.scalars, *state.sizes, *state.definitions, *state.padded, *state.own_indices}:
        raise state.problem("NAME_TAKEN", f"expected a new name, got {name!r}", target, "Choose another name.")
    state.padded[name] = (base, fill)


_CHANGES: dict[type[ast.operator], Operator] = {
    ast.Add: Operator.ADD, ast.Sub: Operator.SUB, ast.Mult: Operator.MUL, ast.Div: Operator.DIV,
}  # fmt: skip
"""The operator that `+=` and its siblings apply to the contents of an array that is read and written."""


def _is_changed(state: State, target: ast.expr, operator: ast.operator) -> bool:
    name = target.value.id if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) else ""
    return name in state.olds and type(operator) in _CHANGES


def _targets(node: ast.stmt) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names of the arrays that a statement stores to, and the indices there."""
    whole = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
    for target in (part for t in whole for part in (t.elts if isinstance(t, ast.Tuple) else [t])):
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            yield target.value.id, tuple(e.id if isinstance(e, ast.Name) else "" for e in _elements(target))


def _read_range(state: State, name: str, target: ast.expr, annotation: ast.expr) -> None:
    match annotation:
        case ast.Call(func=ast.Name(id="range"), args=[argument], keywords=[]):
            _check_undecided(state, name, target)
            state.declared[name] = (read_size(state, argument), state.span(target))
        case _:
            message = f"expected the range of the index {name!r}, got {ast.unparse(annotation)}"
            raise state.problem("INDEX_RANGE", message, annotation, f"Write {name}: range(8).")


def _check_undecided(state: State, name: str, target: ast.expr) -> None:
    """Refuses a range of an index that has one, or that a value above is made of."""
    above = [state.declared[name][1]] if name in state.declared else []
    above += [d.span for d in state.definitions.values() if any(name in indices_of(part) for part in parts_of(d.value))]
    if above:
        message = f"expected the range of the index {name!r} once, before what uses it"
        fix = "Move it above, or use another index."
        raise state.problem("INDEX_RANGE", message, target, fix, ("used here", above[0]))


def _add(state: State, made: Definition | Store, node: ast.stmt) -> None:
    match made:
        case Definition():
            _define(state, made)
        case Store():
            _end_stage(state, (made,), node)


def _define(state: State, made: Definition) -> None:
    """Values that are made of an earlier value of this name can be read no more."""
    earlier = state.definitions.get(made.name)
    if earlier is not None:
        _check_used(state, earlier)
        if earlier in _needed(state, (made,)):
            message = f"{made.name!r} is made of the earlier {made.name!r}"
            notes = ("defined here", earlier.span)
            raise Problem(Diagnostic("WRITTEN_TWICE", message, made.span, "Choose another name.", (notes,)))
        made_of_it = [v.name for v in state.definitions.values() if earlier in _needed(state, (v,))]
        state.outdated |= dict.fromkeys(made_of_it, made.name)
        for name in (made.name, *made_of_it):
            del state.definitions[name]
    state.outdated.pop(made.name, None)
    state.used.discard(made.name)
    state.summed.pop(made.name, None)
    state.definitions[made.name] = made
    state.open.add(made.name)


def _needed(state: State, owners: Iterable[Definition | Store]) -> tuple[Definition, ...]:
    """The values of which these are made, in the order of the text."""
    names = {part.name for owner in owners for part in parts_of(owner.value) if isinstance(part, Local)}
    found = set[str]()
    while names:
        name = names.pop()
        found.add(name)
        definition = state.definitions.get(name)
        made_of = parts_of(definition.value) if definition is not None else ()
        names |= {part.name for part in made_of if isinstance(part, Local)} - found
    return tuple(definition for name, definition in state.definitions.items() if name in found)


def _read_assignment(
    state: State, target: ast.expr, value: ast.expr, node: ast.stmt, change: Operator | None = None
) -> Definition | Store:
    """`change`: of `+=` and its siblings."""
    name, places = _read_target(state, target)
    state.target = name
    state.size_values.clear()
    indices = tuple(p.id for p in places)
    array = state.arrays.get(name)
    if array is not None:
        _check_target(state, array, indices, target)
    elif name in state.scalars or name in state.sizes or name in state.padded:
        raise state.problem("NAME_TAKEN", f"expected an output or a new name, got {name!r}", target, "Choose another name.")
    elif name in state.open:
        first = state.definitions[name].span
        message = f"{name!r} is defined twice in one stage"
        raise state.problem("WRITTEN_TWICE", message, target, "Choose another name.", ("first here", first))
    expression = read_expression(state, value)
    state.check_sizes({*indices, *indices_of(expression)})
    if array is None and change is None and isinstance(target, ast.Name):
        indices = _free_indices(expression)
    if change is not None:
        expression = _changed(state, change, expression, array, indices, target, node)
    extra = [i for i in indices_of(expression) if i not in indices]
    if extra:
        message = f"expected only the indices of the left side, got {', '.join(extra)} on the right"
        fix = f"Reduce: += for a sum, or max(..., over={extra[0]})."
        raise state.problem("REDUCTION_AXIS", message, value, fix)
    if array is None:
        missing = [i for i in indices if i not in indices_of(expression)]
        if missing:
            message = f"expected every index of {name!r} on the right, got none of {', '.join(missing)}"
            raise state.problem(
                "INDEX_UNUSED", message, target, f"Leave {missing[0]} out: the value is the same for all of them."
            )
        return Definition(name, indices, expression, state.span(node))
    expression = in_type(expression, array.dtype)
    dtype = dtype_of(expression)
    check_number(state, expression, array.dtype, value)
    if dtype not in (None, array.dtype):
        message = f"expected a value of type {array.dtype} for {name!r}, got {dtype}"
        raise state.problem("DTYPE", message, value, f"Convert it: {array.dtype}(...).")
    return Store(array, indices, expression, state.span(node))


def _free_indices(expression: Expression) -> tuple[str, ...]:
    """Indices of a value that is named without any, those of its widest element first."""
    free = indices_of(expression)
    reads = (part for part in parts_of(expression) if isinstance(part, Read | Gather | Local))
    widest = sorted(map(indices_of, reads), key=len, reverse=True)
    return tuple(dict.fromkeys(name for names in (*widest, free) for name in names if name in free))


def _changed(
    state: State, change: Operator, expression: Expression, array: ArrayParameter | None, indices: tuple[str, ...],
    target: ast.expr, node: ast.stmt,
) -> Expression:  # fmt: skip
    """The expression that `+=` stores: the sum over the indices that the left side lacks; for an array that is read and written,
    its earlier contents plus that sum. `-=` subtracts the sum; `*=` and `/=` take no sum."""
    over = tuple(i for i in indices_of(expression) if i not in indices)
    is_changed = array is not None and array.old is not None
    if not over and not is_changed:
        message = "expected an index on the right of += that is not on the left, got none"
        fix = "Write = for values that are not summed over an index"
        more = f", or declare {array.name} as inout[...] to add to its contents." if array is not None else "."
        raise state.problem("REDUCTION_AXIS", message, node, fix + more)
    if over and change in (Operator.ADD, Operator.SUB):
        if array is not None and any(isinstance(r, Read | Gather) and r.array.name == array.old for r in _reads(expression)):
            message = f"expected a sum that does not read {array.name!r}, to which it is added: each step could mean a new value"
            text = ast.unparse(target)
            fix = f"Write {text} = {text} + sum(..., over={over[0]}): all of it reads the old contents."
            raise state.problem("READ_BEFORE_STORE", message, node, fix)
        expression = reduction(state, Operator.ADD, expression, [(i, node) for i in over], node)
    if not is_changed:
        return expression
    before = read_expression(state, target)
    if dtype_of(expression) is None and dtype_of(before) is not None:
        expression = replace(expression, dtype=dtype_of(before)) if isinstance(expression, IndexValue) else expression
    return apply(state, change, [before, expression], node)


def _read_target(state: State, target: ast.expr) -> tuple[str, list[ast.Name]]:
    match target:
        case ast.Name(id=name):
            return name, []
        case ast.Subscript(value=ast.Name(id=name), slice=slices):
            places: list[ast.Name] = []
            for element in slices.elts if isinstance(slices, ast.Tuple) else [slices]:
                if not isinstance(element, ast.Name):
                    message = f"expected plain indices on the left, got {ast.unparse(element)}"
                    raise state.problem("TARGET_INDEX", message, element, _plain_instead(element))
                if element.id in (p.id for p in places):
                    message = f"expected different indices on the left, got {element.id!r} twice"
                    raise state.problem("TARGET_INDEX", message, element, "Use a name of its own for each axis.")
                places.append(element)
            return name, places
        case _:
            message = f"expected an output or a name on the left, got {ast.unparse(target)}"
            raise state.problem("UNSUPPORTED_PYTHON", message, target, "Write C[m, n] = ....")


def _plain_instead(element: ast.expr) -> str:
    """How to write what is no plain index on the left."""
    match element:
        case ast.Slice():
            return "Write an index for each axis: Y[i] = X[i] + 1."
        case ast.Constant():
            return "Stores cover their array: use an index, with a condition on it (where(i == 0, a, b)); for one result f32[1]."
        case ast.Subscript():
            text = ast.unparse(element)
            return f"Use an index, and sum what belongs there: Y[k] = sum(where({text} == k, X[i], 0), over=i)."
        case _:
            return "Shift the indices on the right side instead."


def _check_target(state: State, array: ArrayParameter, indices: tuple[str, ...], target: ast.expr) -> None:
    name = array.name
    if array.role is Role.INPUT:
        message = f"expected an output on the left, got the input {name!r}"
        fix = "Declare it as out[...], as inout[...] where its old contents count, or as temp[...]; or choose another name."
        raise state.problem("STORE_TO_INPUT", message, target, fix, ("declared here", array.span))
    if len(indices) != len(array.shape):
        shape = ", ".join(map(str, array.shape))
        message = f"expected {len(array.shape)} indices of {name}[{shape}], got {len(indices)}"
        raise state.problem("RANK", message, target, "Give one index per axis.", ("declared here", array.span))
    if name in state.stored:
        message = f"{name!r} is written twice"
        raise state.problem("WRITTEN_TWICE", message, target, "Write to another array.", ("first here", state.stored[name]))


def _end_stage(state: State, stores: tuple[Store, ...], node: ast.stmt) -> None:
    span = state.span(node)
    definitions = _needed(state, stores)
    state.open.clear()
    for store in stores:
        if store.array.name in state.stored:
            raise state.problem("WRITTEN_TWICE", f"{store.array.name!r} is written twice", node, "Write to another array.")
        state.stored[store.array.name] = span
    ranges = _ranges(definitions, stores, state.declared, state.sizes)
    _check_meaning(state, definitions, ranges, node)
    state.stages.append(Stage(definitions, stores, ranges))
    while len(state.stages) > 1 and (joined := _joined(state, *state.stages[-2:])) is not None:
        state.stages[-2:] = [joined]


def _check_meaning(
    state: State, definitions: Iterable[Definition], ranges: Iterable[tuple[str, Polynomial, Span]], node: ast.stmt
) -> None:
    """A value that an earlier stage made is summed over the same ranges here."""
    sizes = {name: size for name, size, _ in ranges}
    for definition in definitions:
        totals = (part for part in parts_of(definition.value) if isinstance(part, Reduction))
        for index in (name for total in totals for name in total.over):
            first = state.summed.setdefault(definition.name, {}).setdefault(index, sizes[index])
            if first != sizes[index]:
                message = f"expected {index!r} to run over {first}, as where {definition.name!r} was used before"
                message += f", got {sizes[index]}"
                notes = ("defined here", definition.span)
                raise state.problem("SIZE_MISMATCH", message, node, f"Use another index than {index} in this statement.", notes)


def _joined(state: State, first: Stage, second: Stage) -> Stage | None:
    """One stage that stores the results of two which share a value; None if they share none, one reads results of the first, an
    index has another range in one of them, or one sums along results of the other (rows and columns) of which that sums none."""
    shared = {d.name for d in first.definitions} & {d.name for d in second.definitions}
    stored = {s.array.name for s in first.stores}
    parts = [*first.parts, *second.parts]
    is_divided = any(index.digits for owner in (*first.owners, *second.owners) for index in index_sums(owner.value))
    if not shared or is_divided or any(isinstance(p, Read | Gather) and p.array.name in stored for p in parts):
        return None
    if any(one.summed & (other.stored - other.summed) for one, other in ((first, second), (second, first))):
        return None
    definitions = {d.name: d for d in (*first.definitions, *second.definitions)}
    if not all(definitions[d.name] == d for d in first.definitions):
        return None
    stores = (*first.stores, *second.stores)
    try:
        ranges = _ranges(tuple(definitions.values()), stores, state.declared, state.sizes)
    except Problem:
        return None
    sizes = {name: size for name, size, _ in ranges}
    if any(sizes[name] != size for name, size, _ in (*first.ranges, *second.ranges)):
        return None
    return Stage(tuple(definitions.values()), stores, ranges)


def _ranges(
    definitions: tuple[Definition, ...],
    stores: tuple[Store, ...],
    declared: dict[str, tuple[Polynomial, Span]],
    sizes: Iterable[str],
) -> tuple[tuple[str, Polynomial, Span], ...]:
    found: dict[str, tuple[Polynomial, Span]] = {}
    places: dict[str, Span] = {}

    def note(name: str, size: Polynomial, span: Span) -> None:
        first = found.setdefault(name, (size, span))
        rest = size.plus(first[0], -1)
        is_longer = rest.is_never_negative or is_quotient(rest)  # the sizes tell
        fits = first[0] == size or (is_longer and name in stored - reduced)
        if not fits:
            message = f"expected {name!r} to run over {first[0]}, got an axis of {size}"
            fix = "Use another index, give both axes the same size, or write pad(X, 0)[...], which is 0 outside."
            if name in reduced - stored:
                shorter = first[0] if rest.is_never_negative else size
                fix += f" Where a part of an axis is meant, say so above: {name}: range({shorter})."
            raise Problem(Diagnostic("SIZE_MISMATCH", message, span, fix, (("runs over it here", first[1]),)))

    reduced = reduced_over(part for owner in (*definitions, *stores) for part in parts_of(owner.value))
    stored: set[str] = set()
    for store in stores:
        for name, size in zip(store.indices, store.array.shape, strict=True):
            places.setdefault(name, store.span)
            first = found.setdefault(name, (declared.get(name, (size,))[0], store.span))
            if first[0] != size:
                message = f"expected {name!r} to run over the whole axis of {store.array.name!r}, {size}, got {first[0]}"
                raise Problem(Diagnostic("SIZE_MISMATCH", message, store.span, "Stores cover their array: change its size."))
            stored.add(name)
    for owner in (*definitions, *stores):
        for read in _reads(owner.value):
            if isinstance(read, IndexValue):
                for name in read.index.names:
                    places.setdefault(name, read.index.span)
                continue
            for index, size in zip(read.indices, read.array.shape, strict=True):
                if isinstance(index, Read):
                    continue
                for name in index.names:
                    places.setdefault(name, index.span)
                is_inside = isinstance(read, Gather) or read.fill is None
                if index.plain and is_inside and index.plain not in declared:
                    note(index.plain, size, index.span)
    ranges: list[tuple[str, Polynomial, Span]] = []
    for name, span in places.items():
        if name in declared:
            ranges.append((name, *declared[name]))
        elif name in found:
            ranges.append((name, *found[name]))
        elif name in sizes:
            ranges.append((name, polynomials.size(name), span))
        else:
            message = f"expected a range of the index {name!r}: it is nowhere an index by itself"
            raise Problem(Diagnostic("INDEX_RANGE", message, span, f"Write it above: {name}: range(8)."))
    return tuple(ranges)


def _reads(expression: Expression) -> Iterator[Read | IndexValue | Gather]:
    match expression:
        case Read() | IndexValue():
            yield expression
        case Gather() as gather:
            yield gather
            yield from gather.reads
        case Apply(operands=operands):
            for operand in operands:
                yield from _reads(operand)
        case Reduction(operand=operand):
            yield from _reads(operand)
        case _:
            return
