"""A whole sketch: parameters, launch shape, body, and what must hold of its holes."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from warploom.core import Diagnostic, Span, UserError
from warploom.core.launch import MAX_BLOCK_THREADS
from warploom.ir import Hole, IndexConst, IndexExpr, Kernel, Param
from warploom.sketch.operands import Array, ConflictFree
from warploom.sketch.parser.slices import with_vectors
from warploom.sketch.parser.state import Frame, State
from warploom.sketch.parser.statements import assignments, statement
from warploom.sketch.ranges import Facts
from warploom.sketch.source import Written, written
from warploom.sketch.types import ArrayType, expression_of


@dataclass(frozen=True, slots=True)
class SketchOptions:
    """Arguments of `@wl.sketch`, as given."""

    block: object
    grid: object = 1
    warp_size: int = 32
    complete_at: Mapping[str, int] | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Described:
    """The content of a sketch's function."""

    kernel: Kernel
    requires: tuple[ConflictFree, ...]


def read_kernel(function: Callable[..., object], options: SketchOptions, local_names: Mapping[str, object]) -> Described:
    """Reads the kernel that `function` describes. `local_names` resolve annotations that are kept as text.

    Raises UserError with every problem found.
    """
    text = written(function)
    source, node = text.source, text.node
    if not isinstance(node, ast.FunctionDef):
        where = source.span(node)
        raise UserError(Diagnostic("SIGNATURE", "expected a `def` as sketch, got a lambda", where, "Write a `def`."))
    problems: list[Diagnostic] = []
    block = _block(options, source.span(node), problems)
    grid = _grid(options, source.span(node), problems)
    params = _params(function, node, text, local_names, problems)
    if problems:
        raise UserError(*problems)
    names = {p.name for p in params}
    holes: dict[str, Hole] = {}
    counts = assignments(node)
    frame = Frame(node.name, source, text.resolve, text.known, counts, ())
    state = State("sketch", options.warp_size, Facts(block, grid, holes), frame, block, set(names), holes, params=names)
    for param in params:
        frame.scope[param.name] = Array(param.name, param.space, param.dtype, param.shape)
        for extent in param.shape:
            state.note_sizes(extent)
    for extent in grid:
        state.note_sizes(extent)
    state.taken |= set(state.sizes)
    for argument in (*node.args.posonlyargs, *node.args.args):
        frame.kinds[argument.arg] = ("a parameter", argument)
    for name in counts:
        if name not in names:
            state.ir_name(name)
    for stmt in node.body:
        statement(state, stmt)
    _check_sizes(state, options, source.span(node))
    _check_reached(state)
    if state.problems:
        raise UserError(*dict.fromkeys(state.problems))
    kernel = Kernel(
        name=options.name or node.name,
        params=tuple(_with_use(p, state) for p in params),
        sizes=tuple(state.sizes),
        block=block,
        grid=grid,
        warp_size=options.warp_size,
        body=tuple(state.out),
        holes=tuple(holes.values()),
        operators=tuple(state.operators.values()),
        file=source.file,
        span=source.span(node),
    )
    kernel = with_vectors(kernel, state.slices)
    return Described(kernel, tuple({r.array: r for r in state.requires}.values()))


def _with_use(param: Param, state: State) -> Param:
    return Param(
        param.name,
        param.space,
        param.dtype,
        param.shape,
        is_output=param.name in state.written,
        is_input=param.name in state.read,
        span=param.span,
    )


def _check_reached(state: State) -> None:
    for name, hole in state.holes.items():
        if name not in state.reached:
            state.problems.append(
                Diagnostic(
                    "HOLE_UNREACHED",
                    f"hole {name!r} is never executed: its loop has no trips or its condition is always false",
                    hole.span,
                    "Change the loop's bounds or the condition, or remove the hole.",
                )
            )


def _check_sizes(state: State, options: SketchOptions, span: Span) -> None:
    given = options.complete_at or {}
    for name, value in given.items():
        if name not in state.sizes:
            known = ", ".join(state.sizes) or "none"
            message = f"complete_at names the size {name!r}, but the kernel's run-time sizes are: {known}"
            state.problems.append(Diagnostic("COMPLETE_AT", message, span, "Use the names given to wl.size."))
        elif value < 1:
            message = f"expected a positive size {name!r} in complete_at, got {value}"
            state.problems.append(Diagnostic("COMPLETE_AT", message, span, "Give a size for which every block has work."))
    missing = [s for s in state.sizes if s not in given]
    if state.holes and missing:
        message = f"expected complete_at to give every run-time size of a sketch with holes, got none for {', '.join(missing)}"
        fix = f"Write complete_at={{{', '.join(f'{s!r}: 128' for s in missing)}}}."
        state.problems.append(Diagnostic("COMPLETE_AT", message, span, fix))


# ---------------------------------------------------------------- launch shape


def _triple(value: object) -> tuple[object, ...]:
    items: tuple[object, ...] = tuple(cast("list[object]", value)) if isinstance(value, tuple | list) else (value,)
    return (*items, *(1,) * (3 - len(items)))


def _block(options: SketchOptions, span: Span, problems: list[Diagnostic]) -> tuple[int, int, int]:
    items = _triple(options.block)
    numbers = [i for i in items if isinstance(i, int) and not isinstance(i, bool) and i > 0]
    if len(items) != 3 or len(numbers) != 3:
        message = f"expected block as one to three positive integers, got {options.block!r}"
        problems.append(Diagnostic("LAUNCH", message, span, "Write for example block=128."))
        return 1, 1, 1
    if options.warp_size < 1 or options.warp_size & (options.warp_size - 1) or options.warp_size > 32:
        message = f"expected warp_size as a power of two up to 32, got {options.warp_size}"
        problems.append(Diagnostic("LAUNCH", message, span, "Leave it out: 32 is the hardware's."))
    threads = numbers[0] * numbers[1] * numbers[2]
    if threads > MAX_BLOCK_THREADS:
        message = f"expected at most {MAX_BLOCK_THREADS} threads per block, got {threads}"
        problems.append(Diagnostic("LAUNCH", message, span, "Use more blocks."))
    return numbers[0], numbers[1], numbers[2]


def _grid(options: SketchOptions, span: Span, problems: list[Diagnostic]) -> tuple[IndexExpr, IndexExpr, IndexExpr]:
    items = _triple(options.grid)
    extents = [e for e in map(expression_of, items) if e is not None]
    positive = all(not isinstance(e, IndexConst) or e.value > 0 for e in extents)
    if len(items) != 3 or len(extents) != 3 or not positive:
        message = f"expected grid as one to three positive integers or size expressions, got {options.grid!r}"
        problems.append(Diagnostic("LAUNCH", message, span, "Write for example grid=wl.ceil_div(n, 128)."))
        return IndexConst(1), IndexConst(1), IndexConst(1)
    return extents[0], extents[1], extents[2]


# ---------------------------------------------------------------- parameters


def _params(
    function: Callable[..., object],
    node: ast.FunctionDef,
    text: Written,
    local_names: Mapping[str, object],
    problems: list[Diagnostic],
) -> list[Param]:
    spec = node.args
    if spec.vararg or spec.kwarg or spec.kwonlyargs or spec.defaults:
        message = "expected plain parameters, got defaults, `*` or `**`"
        problems.append(Diagnostic("SIGNATURE", message, text.source.span(node), "List the arrays one by one."))
    annotations = inspect.get_annotations(function)
    params: list[Param] = []
    for argument in (*spec.posonlyargs, *spec.args):
        span = text.source.span(argument)
        value = annotations.get(argument.arg)
        if isinstance(value, str):
            value = _evaluated(value, function, text, local_names)
        if isinstance(value, ArrayType):
            params.append(Param(argument.arg, value.space, value.dtype, value.shape, is_output=False, is_input=False, span=span))
            continue
        got = "no annotation" if value is None else repr(value)
        message = f"expected an array type for parameter {argument.arg!r}, got {got}"
        fix = f"Write {argument.arg}: wl.Global[f32, n]; run-time sizes (wl.size) are no parameters."
        problems.append(Diagnostic("ANNOTATION", message, span, fix))
    return params


def _evaluated(annotation: str, function: Callable[..., object], text: Written, local_names: Mapping[str, object]) -> object:
    """The object behind an annotation kept as text (`from __future__ import annotations`)."""
    closure = {name: value for name in text.known if (value := text.resolve(name)) is not None}
    try:
        return eval(annotation, {**inspect.unwrap(function).__globals__, **closure}, dict(local_names))
    except UserError:
        raise
    except Exception as error:
        return f"{annotation} ({error})"
