"""Loops over real data, in parallel: chunks are folded by workers, their values combined in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import ExitStack
from itertools import chain, islice
from typing import Any

from warploom.core import Diagnostic, UserError
from warploom.scan.operators.expression import Value
from warploom.scan.operators.lifting import Lifting
from warploom.scan.operators.operator import Operator
from warploom.scan.parallel.chunks import Chunk, Columns, Data, Elements, LineRange, pieces_of
from warploom.scan.parallel.folding import (
    Partial,
    Work,
    checked_constant,
    folded,
    in_order,
    joined,
    recipe_of,
    result_of,
    scanned,
)
from warploom.solve import Failed, Task, available_cpus, process_executor, run_tasks

CHUNKS = 32
"""Pieces of data whose size is known, if the caller does not say."""
SMALL = 20_000
"""Elements that are not worth starting processes for."""


def map_reduce(
    found: Lifting | Operator,
    data: Data,
    *,
    executor: Executor | None = None,
    chunks: int = CHUNKS,
    constants: Mapping[str, Value] | None = None,
) -> object:
    """The result that the loop returns for the whole data (a scan: its last result).

    data: an iterable of elements (of tuples where an element has several values), an array (one row per element), or
    `text_lines`. Whole numbers are exact: arrays are folded with NumPy in int64 where the operator's growth shows that none can
    leave it, all else in Python. Elements that the proof does not speak of are refused (UserError, ELEMENT): of another type than
    the annotation's, NaN, infinities that would be computed with, and what breaks an assertion of the loop. executor: any of
    `concurrent.futures`, `process_executor()`, `cluster_executor(address)`; none: processes, one per CPU; with one CPU, or little
    data, the loop itself in this process. chunks: pieces; more pieces than workers even out their loads. constants: the
    function's other parameters, by name.
    Floats round: their results may differ in the last bits from the loop's, by where the data is cut.
    Raises UserError for an operator that was not found, missing constants, and chunks that fail (a parser's exception).
    """
    operator = _operator(found)
    given = _constants(operator, constants)
    pieces = _pieces(operator, data, chunks)
    head = list(islice(pieces, chunks))
    with ExitStack() as stack:
        workers = _executor(executor, head, stack)
        result: object
        if workers is None and not any(isinstance(p, Columns) for p in head):
            value, result = in_order(operator, chain(head, pieces), given)
        else:
            recipe = recipe_of(operator)
            value = None
            for part in _run(workers, (Work(recipe, p, given) for p in chain(head, pieces)), folded):
                value = joined(operator, value, part, given)
            result = None if value is None and operator.loop.needs_element else result_of(operator, value, given)
    if value is None and operator.loop.needs_element:
        message = f"expected data with at least one element, which {operator.loop.name} reads before its loop, got none"
        raise UserError(Diagnostic("ELEMENT", message, fix="Give at least one element."))
    return result


def map_scan(
    found: Lifting | Operator,
    data: Data,
    *,
    executor: Executor | None = None,
    chunks: int = CHUNKS,
    constants: Mapping[str, Value] | None = None,
) -> Iterator[object]:
    """The loop's results for every prefix, in order, for data that can be read twice (sequences, arrays, files).

    The first pass folds the chunks, the second one runs every chunk from the value of all before it.
    Otherwise it is like `map_reduce`.
    """
    operator = _operator(found)
    given = _constants(operator, constants)
    if isinstance(data, Iterator):
        fix = "Give a list, an array or text_lines."
        raise UserError(Diagnostic("DATA_ONCE", "expected data that can be read twice, got an iterator", fix=fix))
    starts: list[Partial | None] = [None]
    recipe = recipe_of(operator)
    with ExitStack() as stack:
        pieces = list(_pieces(operator, data, chunks))
        workers = _executor(executor, pieces, stack)
        for part in _run(workers, [Work(recipe, p, given) for p in pieces[:-1]], folded):
            starts.append(joined(operator, starts[-1], part, given))
        work = [Work(recipe, p, given, s) for p, s in zip(pieces, starts, strict=False)]
        for results in _run(workers, work, scanned):
            yield from results


def _operator(found: Lifting | Operator) -> Operator:
    operator = found if isinstance(found, Operator) else found.operator
    if operator is None or (isinstance(found, Lifting) and found.verdict not in ("proved", "tested")):
        reason = found.reason if isinstance(found, Lifting) else ""
        raise UserError(Diagnostic("NO_OPERATOR", f"expected an operator that was proved, got none: {reason}"))
    return operator


def _constants(operator: Operator, constants: Mapping[str, Value] | None) -> tuple[Value, ...]:
    named = dict(constants or {})
    wanted = [str(c.value) for c in operator.loop.constants]
    if set(named) != set(wanted):
        message = f"expected values for {', '.join(wanted) or 'no constants'}, got {', '.join(named) or 'none'}"
        raise UserError(Diagnostic("CONSTANTS", message, fix="Give `constants` by the names of the function's parameters."))
    return tuple(checked_constant(named[str(c.value)], c.sort.base) for c in operator.loop.constants)


def _pieces(operator: Operator, data: Data, count: int) -> Iterator[Chunk]:
    if count < 1:
        raise UserError(Diagnostic("CHUNKS", f"expected at least 1 chunk, got {count}"))
    return pieces_of(data, len(operator.loop.fields), count)


def _executor(executor: Executor | None, pieces: list[Chunk], stack: ExitStack) -> Executor | None:
    """None: in this process."""
    if executor is not None:
        return executor
    if available_cpus() == 1 or sum(map(_size, pieces)) < SMALL:
        return None
    return stack.enter_context(process_executor())


def _size(chunk: Chunk) -> int:
    match chunk:
        case Elements(elements):
            return len(elements)
        case Columns(columns):
            return len(columns[0]) // 100  # vectorised
        case LineRange(start=start, stop=stop):
            return (stop - start) // 10


def _run(executor: Executor | None, work: Any, function: Any) -> Iterator[Any]:
    """Runs the work and yields results in its order."""
    if executor is None:
        yield from map(function, work)
        return
    tasks = (Task(f"chunk {number}", one) for number, one in enumerate(work))
    for result in run_tasks(tasks, function, executor=executor, ordered=True):
        if isinstance(result, Failed):
            reason = result.reason
            raise UserError(Diagnostic("CHUNK_FAILED", f"expected {result.task.key} to be folded, got {reason}"))
        yield result.value
