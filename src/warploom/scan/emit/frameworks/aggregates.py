"""Aggregates: a state, and what to do with it. Pieces of a list may be anywhere if states are merged in the list's order.

The functions are those of the NumPy module on states that are tuples of Python's own numbers, so whole numbers are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, cast

from warploom.scan.emit.body import Body, body
from warploom.scan.emit.dialect import NUMPY, Types
from warploom.scan.emit.numpy_module import function_name, numpy_source
from warploom.scan.emit.peers import imported
from warploom.scan.emit.printer import unserved
from warploom.scan.emit.running import Comparison
from warploom.scan.emit.serial import column, elements, is_close, serial
from warploom.scan.operators.operator import Operator

Aggregate: TypeAlias = Literal["dask", "polars", "duckdb", "spark"]
AGGREGATES: tuple[Aggregate, ...] = ("dask", "polars", "duckdb", "spark")
_SIZES, _CUTS = (0, 1, 2, 7, 64), 4
_STATES = '''
def zero():
    """The state of an empty piece."""
    return _plain(identity(*_DTYPES))


def update(state, *columns):
    """The state after the next elements of its piece, given as one array or list for every value of an element."""
    for column in map(np.asarray, columns):
        if np.any(column != column) or (column.dtype == object and np.any(np.equal(column, None))):
            raise ValueError("expected an element in every row, got a missing value or NaN")
    return merge(state, _plain(_total(lifted(*columns))))


def merge(a, b):
    """The state of two pieces, that of `a` before that of `b`."""
    arrays = (tuple(np.array([v], t) for v, t in zip(state, _DTYPES)) for state in (a, b))
    return _plain(_combined(*arrays))


def finish(state):
    """The loop's result for all elements of a state."""
    with np.errstate(all="ignore"):
        results = project(tuple(np.array([v], t) for v, t in zip(state, _DTYPES)))
    found = _plain(tuple(np.broadcast_to(r, (1,)) for r in results))
    return found@first@


def _plain(values):
    """Python's numbers, where the NumPy functions have arrays of one element."""
    return tuple(_number(np.asarray(v)) for v in values)


def _number(v):
    if v.dtype == np.int64 and v[0] in (-(2**63), 2**63 - 1):
        return -np.inf if v[0] < 0 else np.inf
    return v[0].item() if isinstance(v[0], np.generic) else v[0]
'''
_GLUE: dict[Aggregate, str] = {
    "dask": '''
def of_bag(bag):
    """Delayed result of a Dask bag of elements (tuples, where an element has several values), in its order."""
    from functools import reduce

    import dask

    def piece(part):
        rows = list(part)
        columns = zip(*rows) if rows and isinstance(rows[0], tuple) else [rows]
        return update(zero(), *map(list, columns)) if rows else zero()

    states = [dask.delayed(piece)(part) for part in bag.to_delayed()]
    while len(states) > 8:
        states = [dask.delayed(lambda some: reduce(merge, some))(states[i : i + 8]) for i in range(0, len(states), 8)]
    return dask.delayed(lambda some: finish(reduce(merge, some, zero())))(states)


def aggregation(name="@name@"):
    """For `frame.groupby(...).agg(aggregation())`: an element has one value, and rows of a group lie in the frame's order."""
    from functools import reduce

    import dask.dataframe as dd

    return dd.Aggregation(
        name,
        chunk=lambda groups: groups.apply(lambda rows: update(zero(), rows.to_numpy())),
        agg=lambda groups: groups.apply(lambda states: reduce(merge, states)),
        finalize=lambda states: states.map(finish),
    )
''',
    "polars": '''
def expression(*columns):
    """For `frame.group_by(..., maintain_order=True).agg(expression("a"))`; rows of a group are taken in the frame's order."""
    import polars as pl

    return pl.map_groups(
        list(columns), lambda series: finish(update(zero(), *(s.to_numpy() for s in series))), returns_scalar=True
    )


def of_batches(batches, *columns):
    """The result over an iterable of data frames, one after the other: a list that does not fit into memory."""
    state = zero()
    for frame in batches:
        state = update(state, *(frame[c].to_numpy() for c in columns))
    return finish(state)
''',
    "duckdb": '''
def register(connection, types, result, name="@name@"):
    """Makes it a function of SQL on lists: `SELECT @name@(list(a ORDER BY day)) FROM t GROUP BY k`.

    types, result: names of SQL types, of the values of an element and of the result, such as ["BIGINT"] and "BIGINT"; several
    results are a list: "BIGINT[]". A name that DuckDB has already, such as "mean", needs another.
    """

    def of_lists(*lists):
        found = finish(update(zero(), *lists))
        return list(found) if isinstance(found, tuple) else found

    connection.create_function(name, of_lists, [f"{t}[]" for t in types], result)
''',
    "spark": '''
def column_function(result):
    """A function of columns for `frame.groupBy(...).agg(...)`; Spark gives the rows of a group in no order of its own, so sort
    them before. result: name of the SQL type, such as "long"."""
    from pyspark.sql.functions import pandas_udf

    @pandas_udf(result)
    def of_columns(*columns):
        return finish(update(zero(), *(c.to_numpy() for c in columns)))

    return of_columns


def of_rdd(rdd):
    """The result over an RDD of elements, in the order of its partitions (`rdd.aggregate` merges in any order)."""
    from functools import reduce

    def piece(rows):
        rows = list(rows)
        columns = zip(*rows) if rows and isinstance(rows[0], tuple) else [rows]
        yield update(zero(), *map(list, columns)) if rows else zero()

    return finish(reduce(merge, rdd.mapPartitions(piece).collect(), zero()))
''',
}
_TAKEN = frozenset(re.findall(r"^def (\w+)", "".join((_STATES, *_GLUE.values())), re.M))


def aggregate_source(operator: Operator, framework: Aggregate) -> str:
    """UnsupportedError for a loop whose results are one for every element, or that has parameters besides."""
    loop = operator.loop
    if loop.is_scan:
        raise unserved("a loop with a result for every element, which is no aggregate", framework)
    if loop.constants:
        raise unserved("a loop with parameters besides its list", framework)
    ready = body(operator, NUMPY, Types())
    dtypes = ", ".join("object" if s.scalar in ("int32", "int64") else NUMPY.types[s.scalar] for s in ready.fields)
    states = _STATES.replace("@first@", "" if loop.is_tuple or len(ready.outputs) > 1 else "[0]")
    name = function_name(operator)
    text = numpy_source(operator)
    if name in _TAKEN:
        text = text.replace(f"\ndef {name}(", f"\ndef {name}_(")
    glue = _GLUE[framework].replace("@name@", loop.name)
    return f"{text}\n\n_DTYPES = ({dtypes},)\n\n{states}\n{glue}"


def try_aggregate(operator: Operator, framework: Aggregate, seed: int = 0) -> Comparison:
    """The four functions on lists that are cut anywhere; the lines for the framework are not run."""
    ready, loop, cases = body(operator, NUMPY, Types()), operator.loop, 0
    with imported(aggregate_source(operator, framework)) as module:
        for number, size in enumerate(_SIZES):
            given = elements(loop, size, seed + number)
            expected = serial(loop, given, []).results[-1]
            if expected is None:
                continue
            for cut in range(_CUTS):
                pieces = (given[: size * cut // _CUTS], given[size * cut // _CUTS :])
                state = _merged(module, ready, pieces)
                cases += len(ready.outputs)
                answer: Any = module.finish(state)
                found = cast("tuple[Any, ...]", answer) if isinstance(answer, tuple) else (answer,)
                for slot, value, wanted in zip(ready.outputs, found, expected, strict=True):
                    if value != wanted and not is_close(
                        value, wanted, "float64" if slot.scalar.startswith("float") else slot.scalar
                    ):
                        return Comparison(cases, f"{slot.name} of {size} elements in two pieces is {value}, expected {wanted}")
    return Comparison(cases)


def _merged(module: Any, ready: Body, pieces: Sequence[Sequence[Any]]) -> Any:
    merge: Callable[[Any, Any], Any] = module.merge
    state = module.zero()
    for piece in pieces:
        columns = [column([e[f] for e in piece], s.scalar) for f, s in enumerate(ready.elements)]
        state = merge(state, module.update(module.zero(), *columns))
    return state
