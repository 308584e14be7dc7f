"""Numbers that are computed while a sketch is read, the types of operations on them, bounds and facts."""

from __future__ import annotations

import ast
import linecache
from textwrap import indent

import pytest
from tests.sketch.helpers import body, problem, read

import warploom as wl
from warploom.ir import Builtin, Compare, HoleUse, IndexBinary, IndexConst, IndexExpr, IndexVar, Logical, SizeVar
from warploom.sketch.ranges import Facts
from warploom.sketch.subset import REFUSED

HEAD = "def kernel(x: wl.Global[wl.f32, 32], y: wl.Global[wl.f32, 32]):\n    i = wl.thread_id()\n"


def written(lines: str, head: str = HEAD):
    """The function whose body is this text."""
    source = head + indent(lines, "    ") + "\n"
    file = f"<numbers {hash(source)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {"wl": wl, "n": wl.size("n")}
    exec(compile(source, file, "exec", dont_inherit=True), names)
    return names["kernel"]


@pytest.mark.parametrize(
    "text",
    [
        "2.5 + 0.5",
        "2.5 - 0.75",
        "2.5 * 3",
        "7 / 2",
        "7.5 // 2",
        "7.5 % 2",
        "2 ** 5",
        "min(2.5, 1)",
        "max(2.5, 1)",
        "-7.5 // 2",
        "-2.5",
    ],
)
def test_numbers_are_pythons(text: str) -> None:
    assert body(read(written(f"y[i] = x[i] * ({text})")).kernel).endswith(f"= x[i] * f32({float(eval(text))})")


@pytest.mark.parametrize("text", ["1 / 0", "1.5 // 0", "1.5 % 0", "0.0 ** -1", "1e308 ** 2"])
def test_numbers_without_a_value(text: str) -> None:
    assert problem(written(f"y[i] = x[i] * ({text})")).code == "DIVISION_BY_ZERO"


def test_each_index_is_held_against_its_own_extent() -> None:
    head = "def kernel(x: wl.Global[wl.f32, 4, 2, 8], y: wl.Global[wl.f32, 32]):\n    i = wl.thread_id()\n"
    for place in ("x[3, 1, 7]", "x[0][1, 7]", "x[3][1][7]", "x[3, 1][7]"):
        read(written(f"y[i] = {place}", head))
    for place in ("x[4, 1, 7]", "x[3, 2, 7]", "x[3, 1, 8]", "x[0][2, 7]", "x[0][1, 8]", "x[0, 1][8]", "x[0, -1, 0]"):
        assert problem(written(f"y[i] = {place}", head)).code == "OUT_OF_BOUNDS"


def facts(loops: dict[str, tuple[int, int]] | None = None) -> Facts:
    return Facts(
        (32, 2, 1), (IndexConst(4), SizeVar("n"), IndexConst(1)), {}, {"d": IndexBinary("*", X, IndexConst(2))}, loops or {}
    )


X, Y, BLOCK = Builtin("thread_id", 0), Builtin("thread_id", 1), Builtin("block_id", 0)


def below(expr: IndexExpr, value: int) -> Compare:
    return Compare("<", expr, IndexConst(value))


@pytest.mark.parametrize(
    ("expr", "low", "high"),
    [
        (X, 0, 31), (Y, 0, 1), (BLOCK, 0, 3), (IndexVar("d"), 0, 62), (IndexVar("k"), 2, 5), (Builtin("block_dim", 0), 32, 32),
        (Builtin("grid_dim", 0), 4, 4), (IndexBinary("-", X, X), 0, 0), (IndexBinary("+", X, Y), 0, 32),
        (IndexBinary("//", X, IndexConst(3)), 0, 10), (IndexBinary("%", X, IndexConst(5)), 0, 4),
    ],
)  # fmt: skip
def test_facts_know_every_value_and_no_other(expr: IndexExpr, low: int, high: int) -> None:
    known = facts({"k": (2, 5)})
    assert known.hull(expr) == (low, high)
    assert known.decide(below(expr, high + 1)) is True and known.decide(below(expr, low)) is False
    if low < high:
        assert known.decide(below(expr, high)) is None


@pytest.mark.parametrize(
    "expr", [Builtin("block_id", 1), SizeVar("n"), IndexVar("other"), HoleUse("h", ()), Builtin("grid_dim", 1)]
)
def test_facts_do_not_guess(expr: IndexExpr) -> None:
    known = facts()
    assert expr == HoleUse("h", ()) or known.hull(expr) is None
    assert known.decide(below(expr, 0)) is None or expr == HoleUse("h", ())


def test_which_conditions_part_the_threads_of_every_block() -> None:
    known = facts()
    assert known.diverges(below(X, 31)) and known.diverges(Logical("and", (below(X, 3), below(Y, 1))))
    assert not known.diverges(below(X, 32)) and not known.diverges(below(BLOCK, 2)) and not known.diverges(below(SizeVar("n"), 3))
    assert not known.diverges(Logical("and", (below(X, 3), below(BLOCK, 2))))  # not in the last blocks


EXAMPLES = {
    ast.AnnAssign: "a: int", ast.While: "while i < 3:\n    pass", ast.Try: "try:\n    pass\nfinally:\n    pass",
    ast.With: "with x:\n    pass", ast.Raise: "raise x", ast.Assert: "assert i > 0", ast.ListComp: "a = [k for k in x]",
    ast.SetComp: "a = {k for k in x}", ast.DictComp: "a = {k: k for k in x}", ast.GeneratorExp: "a = (k for k in x)",
    ast.Dict: "a = {1: 2}", ast.Set: "a = {1, 2}", ast.JoinedStr: "a = f'{i}'", ast.NamedExpr: "y[(k := i)] = x[i]",
    ast.Slice: "y[0:2] = x[i]", ast.Break: "for k in range(3):\n    break",
    ast.Continue: "for k in range(3):\n    continue",
    ast.Global: "global a", ast.Import: "import os", ast.ImportFrom: "from a import b",
    ast.ClassDef: "class A:\n    pass", ast.Delete: "del x", ast.Match: "match i:\n    case 1:\n        pass",
}  # fmt: skip


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_what_is_refused_is_called_by_its_name(kind: type[ast.AST]) -> None:
    said = {
        ast.AnnAssign: "a declaration without a value", ast.ListComp: "a list comprehension", ast.SetComp: "a set comprehension",
        ast.DictComp: "a dict comprehension", ast.GeneratorExp: "a generator expression", ast.Dict: "a dict", ast.Set: "a set",
        ast.JoinedStr: "an f-string", ast.NamedExpr: "`:=`", ast.Slice: "a slice",
        ast.ImportFrom: "`import`", ast.ClassDef: "`class`",
        ast.Delete: "`del`",
    }.get(kind, f"`{kind.__name__.lower()}`")  # fmt: skip
    found = problem(written(EXAMPLES[kind]))
    assert found.message.startswith(f"{said} is not part of the sketch language") and found.fix == REFUSED[kind][1]
