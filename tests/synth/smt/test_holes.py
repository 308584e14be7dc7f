"""Holes as parameters: in every grammar and space they are the functions that the tables list."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.core import Span, UnsupportedError
from warploom.ir import Hole, HoleArg, IndexConst, tabulate
from warploom.ir.swizzle import function_set
from warploom.solve import ClauseSession, Sat
from warploom.synth.smt.holes import _Linear, encode_hole  # pyright: ignore[reportPrivateUsage]

FULL = [(i, k) for i in range(4) for k in range(3)]
LATIN = [(i, k) for i in range(6) for k in (0, 1, 5)]
SOME = [(0, 1), (1, 3), (2, 0), (3, 5), (5, 2)]
TRIPLES = [(0, 1, 2), (1, 3, 1), (2, 0, 0), (3, 2, 4)]


def xform(n: int, **options: object) -> Hole:
    return Hole("h", "xform", ("i", "k"), n, **options)  # type: ignore[arg-type]


def cond(arity: int, **options: object) -> Hole:
    return Hole("h", "cond", ("a", "b", "c")[:arity], **options)  # type: ignore[arg-type]


HOLES = [
    (xform(4), FULL),
    (xform(6, coefficients=(0, 1, -1)), LATIN),
    (xform(6, constants=(0, 2)), LATIN),
    (xform(8, grammar="ungrouped", coefficients=(1, 3)), [(i, k) for i in range(8) for k in range(2)]),
    (xform(6, grammar="rotation"), LATIN),
    (xform(1), [(0, 0), (0, 3)]),
    (cond(2), SOME),
    (cond(3), TRIPLES),
    (cond(1, grammar="constant-free", constants=(1, 7)), [(n,) for n in range(5)]),
    (cond(2, grammar="constant-free", constants=(-2,)), SOME),
    (cond(2, grammar="constant-free"), SOME),
    (cond(2, grammar="modular", modulus=3), SOME),
    (Hole("h", "part", ("a", "b"), 3), SOME[:4]),
    (Hole("h", "bits", ("a",), 4), [(n,) for n in range(4)]),
    (Hole("h", "const", (), constants=(3, 5, 9)), [()]),
    (Hole("h", "const", ()), [()]),
    (Hole("h", "choose", ("a", "b"), 2), [()]),
]


@pytest.mark.parametrize("space", [1, 2, 3])
@pytest.mark.parametrize("number", range(len(HOLES)))
def test_the_same_functions_as_the_tables(number: int, space: int):
    hole, points = HOLES[number]
    table = np.array(points, np.int64).reshape(len(points), -1)
    functions = function_set(hole, table, space)
    listed = functions.matching(np.ones((functions.points, functions.values), bool))
    assert listed is not None
    session = ClauseSession()
    flags = encode_hole(session, "hole", hole, points, space)
    found: set[tuple[int, ...]] = set()
    while isinstance(answer := session.check(), Sat):
        taken = flags.taken(answer.model)
        values = tuple(row.index(x) for row, x in zip(flags.values, taken, strict=True))
        assert values not in found
        found.add(values)
        if hole.kind not in ("const", "choose"):
            columns = {HoleArg(n): column for n, column in enumerate(table.T)}
            assert np.broadcast_to(tabulate(flags.expr(answer.model), columns), len(points)).tolist() == list(values)
        elif hole.kind == "const":
            assert flags.expr(answer.model) == IndexConst((hole.constants or (0,))[values[0]])
        else:
            assert flags.expr(answer.model) == HoleArg(values[0])
        session.add(*(-x for x in taken))
    assert found == set(map(tuple, listed.tables.tolist()))


@pytest.mark.parametrize(("constants", "fitting"), [((-2,), {-2}), ((3,), {3}), ((0, 2), {0, 2}), ((-1, 0), {-1, 0})])
def test_a_variable_alone_is_compared_with_given_constants_only(constants: tuple[int, ...], fitting: set[int]) -> None:
    hole = cond(1, grammar="constant-free", constants=constants)
    session = ClauseSession()
    linear = _Linear(session, "hole", hole, [(0,), (3,)], is_free=False)
    session.add(linear.shape.flags[0, 0, "alone"])
    found = {c for c in range(-4, 5) if isinstance(session.check([linear._is(session, c)]), Sat)}
    assert found == fitting


def test_a_hole_of_too_many_functions_is_refused_with_its_place() -> None:
    hole = Hole("h", "bits", ("a", "b"), 8, span=Span("sketch.py", 3, 1, 3, 9))
    with pytest.raises(UnsupportedError, match="at most 4096 functions") as raised:
        encode_hole(ClauseSession(), "hole", hole, [(i, k) for i in range(8) for k in range(8)], 3)
    assert [(d.code, d.span) for d in raised.value.diagnostics] == [("TOO_LARGE", hole.span)]
