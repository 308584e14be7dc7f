"""Hypothesis strategies: index expressions and whole kernels, well formed as text though not necessarily meaningful."""

from __future__ import annotations

from hypothesis import strategies as st

import warploom.ir as ir
from warploom.core import SCALARS, f32, i32, vector_of
from warploom.ir.swizzle.kinds import KINDS

NAMES = st.sampled_from(["i", "j"])
INDEX_OPS = ("+", "-", "*", "//", "%", "&", "|", "^", "min", "max")
VALUE_OPS = ("+", "-", "*", "/", "min", "max", "&", "|", "^", "<<", ">>", "plus7", "f32")


def _index_leaves(holes: bool):
    leaves = [
        st.integers(-40, 40).map(ir.IndexConst),
        st.booleans().map(ir.IndexConst),
        NAMES.map(ir.IndexVar),
        st.just(ir.SizeVar("n")),
        st.builds(ir.Builtin, st.sampled_from(ir.BuiltinName.__args__), st.integers(0, 2)),
    ]
    return st.one_of(*leaves, st.builds(ir.HoleArg, st.integers(0, 1))) if holes else st.one_of(*leaves)


def _index_nodes(children):
    distance = st.integers(0, 9).map(ir.IndexConst)  # a variable one could ask for terabytes
    return st.one_of(
        st.builds(ir.IndexBinary, st.sampled_from(INDEX_OPS), children, children),
        st.builds(ir.IndexBinary, st.sampled_from(["<<", ">>"]), children, distance),
        st.builds(ir.Compare, st.sampled_from(ir.CompareOp.__args__), children, children),
        st.builds(ir.Logical, st.sampled_from(["and", "or"]), st.lists(children, min_size=2, max_size=3).map(tuple)),
        st.builds(ir.Logical, st.just("not"), st.tuples(children)),
        st.builds(ir.IndexSelect, children, children, children),
    )


def index_exprs(args: bool = True):
    """Expressions over i, j, size n, the builtins and (with `args`) two hole arguments."""
    return st.recursive(_index_leaves(args), _index_nodes, max_leaves=10)


def _values():
    index = index_exprs(args=False)
    at = st.lists(index, max_size=2).map(tuple)
    scalars = st.sampled_from(SCALARS)
    leaves = st.one_of(
        st.builds(ir.ValueConst, st.integers(-5, 5) | st.floats(), scalars).filter(lambda v: v.value == v.value),
        st.builds(ir.Read, st.sampled_from(["x", "s@1", "min"]), at),
        st.sampled_from(["v", "$state", "__dunder", "lambda"]).map(ir.ValueVar),
        st.builds(ir.FromIndex, index, scalars),
        st.builds(ir.Accumulated, st.sampled_from(["acc", "value"]), at),
    )

    def nodes(children):
        return st.one_of(
            st.builds(ir.Arith, st.sampled_from(VALUE_OPS), st.lists(children, min_size=1, max_size=3).map(tuple)),
            st.builds(ir.Arith, st.sampled_from(["neg", "~"]), st.tuples(children)),
            st.builds(ir.ValueSelect, index, children, children),
            st.builds(ir.Shuffle, st.sampled_from(["idx", "up", "down", "xor"]), children, index, st.sampled_from([8, 32])),
            st.builds(ir.Cast, scalars, children),
            st.builds(ir.MakeVector, st.just(vector_of(f32, 2)), st.tuples(children, children)),
            st.builds(ir.Component, children, st.integers(0, 3)),
        )

    return st.recursive(leaves, nodes, max_leaves=6)


def _statements():
    index = index_exprs(args=False)
    at = st.lists(index, max_size=2).map(tuple)
    shapes = st.lists(st.integers(1, 9), max_size=2).map(tuple)
    value = _values()
    uses = st.lists(index, max_size=2).map(lambda a: ir.HoleUse("3:7@4:1", tuple(a)))
    leaves = st.one_of(
        st.builds(ir.Declare, st.sampled_from(["r", "r@2"]), st.sampled_from(["shared", "register"]), st.just(f32), shapes),
        st.builds(ir.SetIndex, st.sampled_from(["i", "thread_id", "k@1:2"]), index | uses),
        st.builds(ir.SetValue, st.sampled_from(["v", "shfl"]), st.sampled_from(SCALARS), value),
        st.builds(ir.Store, st.sampled_from(["y", "var"]), at, value),
        st.builds(ir.Accumulator, st.just("acc"), st.just(i32), shapes, st.just("+"), st.integers(-3, 3), value),
        st.builds(ir.Accumulate, st.just("acc"), at, value, index),
        st.just(ir.Sync()),
    )

    def nodes(children):
        body = st.lists(children, max_size=3).map(tuple)
        return st.one_of(
            st.builds(ir.For, st.sampled_from(["k", "in"]), index, index, st.sampled_from([1, 2, -1]), body, st.text(max_size=4)),
            st.builds(ir.If, index, body, body),
        )

    return st.recursive(leaves, nodes, max_leaves=5)


def kernels():
    """Kernels over size n and arrays x, y with every statement, every expression and one hole."""
    params = (
        ir.Param("x", "constant", f32, (ir.SizeVar("n"), ir.IndexConst(3)), is_output=False),
        ir.Param("y", "global", f32, (), is_output=True, is_input=False),
        ir.Param("min", "global", f32, (), is_output=True, is_input=True),
    )
    hole = st.builds(
        ir.Hole, st.just("3:7@4:1"), st.sampled_from(sorted(KINDS)), st.just(("a + 1", "b")), st.integers(0, 4),
        st.sampled_from(["full", "rotation"]), st.none() | st.just((1, -1)), st.none() | st.just(()), st.sampled_from([0, 5]),
    )  # fmt: skip
    plus7 = ir.Operator("plus7", 0, ir.Arith("+", (ir.ValueVar("$a"), ir.ValueVar("$b"))))
    nameless = ir.Operator("f32", None, ir.ValueVar("$a"))
    return st.builds(
        ir.Kernel, name=st.sampled_from(["k", "conv-3", "class"]), params=st.just(params), sizes=st.just(("n",)),
        block=st.just((32, 2, 1)), grid=st.tuples(*[index_exprs(args=False)] * 3), warp_size=st.sampled_from([4, 32]),
        body=st.lists(_statements(), max_size=4).map(tuple), holes=st.tuples(hole), operators=st.just((plus7, nameless)),
        file=st.sampled_from(["", "a b.py"]),
    )  # fmt: skip
