"""Kernels built by hand for the tests of printing."""

from collections.abc import Iterator

from warploom.core import DType, bf16, f32, i32
from warploom.ir import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Builtin,
    Compare,
    Declare,
    For,
    Hole,
    HoleArg,
    HoleUse,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Param,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    SizeVar,
    Stmt,
    Store,
    ValueConst,
    ValueSelect,
    ValueVar,
)  # fmt: skip

N = SizeVar("n")
DEVICE_TYPES = (f32, i32, bf16)
LANE, K, I = IndexVar("lane"), IndexVar("k"), IndexVar("i")
TRUE = IndexConst(True)


def c(value: int) -> IndexConst:
    return IndexConst(value)


def b(op: str, lhs: IndexExpr | int, rhs: IndexExpr | int) -> IndexBinary:
    lhs, rhs = (c(e) if isinstance(e, int) else e for e in (lhs, rhs))
    return IndexBinary(op, lhs, rhs)


def cmp(op: str, lhs: IndexExpr | int, rhs: IndexExpr | int) -> Compare:
    lhs, rhs = (c(e) if isinstance(e, int) else e for e in (lhs, rhs))
    return Compare(op, lhs, rhs)


def loop(var: str, stop: int, *body: Stmt, start: int = 0, note: str = "") -> For:
    return For(var, c(start), c(stop), 1, body, note=note)


def array(name: str, dtype: DType, *shape: IndexExpr | int, out: bool = False, inp: bool = True, space: str = "global") -> Param:
    return Param(name, space, dtype, tuple(c(e) if isinstance(e, int) else e for e in shape), out, inp)


def accumulator(name: str, dtype: DType, op: str = "+", init: float = 0, shape: tuple[int, ...] = ()) -> Accumulator:
    return Accumulator(name, dtype, shape, op, init, ValueVar("$state"))


TID, BID = Builtin("thread_id", 0), Builtin("block_id", 0)
GLOBAL_ID = b("+", b("*", BID, Builtin("block_dim", 0)), TID)


def conv1d(dtype: DType = f32, taps: int = 3) -> tuple[Kernel, dict[str, IndexExpr]]:
    """The 1-D convolution of docs/language.md with its completions."""
    gid = IndexVar("gid")
    body = (
        SetIndex("lane", b("%", TID, 32)),
        SetIndex("gid", GLOBAL_ID),
        SetIndex("first", b("-", gid, LANE)),
        Declare("inp", "register", dtype, (2,)),
        loop(
            "r", 2,
            SetIndex("at", b("+", b("+", IndexVar("first"), b("*", IndexVar("r"), 32)), LANE)),
            Store("inp", (IndexVar("r"),), ValueSelect(
                cmp("<", IndexVar("at"), b("+", N, taps - 1)), Read("x", (IndexVar("at"),)), ValueConst(0, dtype))),
            note="load x into inp: 2 rounds of 32 consecutive elements, zeros past the end",
        ),
        accumulator("out", dtype),
        loop(
            "k", taps,
            SetValue("sent", dtype, Read("inp", (HoleUse("row", (LANE, K)),))),
            SetValue("got", dtype, Shuffle("idx", ValueVar("sent"), HoleUse("from", (LANE, K)), 32)),
            Accumulate("out", (), Arith("*", (Read("w", (HoleUse("tap", (K, LANE)),)), ValueVar("got"))), TRUE),
        ),
        If(cmp("<", gid, N), (Store("y", (gid,), Accumulated("out", ())),)),
    )  # fmt: skip
    holes = (
        Hole("row", "part", ("lane", "k"), n=2),
        Hole("from", "xform", ("lane", "k"), n=32),
        Hole("tap", "xform", ("k", "lane"), n=taps),
    )
    kernel = Kernel(
        "conv1d", (array("x", dtype, b("+", N, taps - 1)), array("w", dtype, taps, space="constant"),
                   array("y", dtype, N, out=True, inp=False)),
        ("n",), (128, 1, 1), (b("//", b("+", N, 127), 128), c(1), c(1)), 32, body, holes,
    )  # fmt: skip
    done = {
        "row": IndexSelect(Compare(">=", HoleArg(0), HoleArg(1)), c(0), c(1)),
        "from": b("%", b("+", b("*", HoleArg(0), 1), b("+", HoleArg(1), 0)), 32),
        "tap": b("%", b("+", b("*", HoleArg(0), 1), b("*", HoleArg(1), 0)), taps),
    }
    return kernel, done


def on_devices(*dtypes: DType) -> Iterator[tuple[Kernel, dict[str, IndexExpr]]]:
    """The kernels with completions that tests run on a GPU, of these types or of all; `make gpu-inputs` compiles them, too."""
    for dtype in dtypes or DEVICE_TYPES:
        yield from (conv1d(dtype, taps=9), transpose(5, dtype), transpose(7, dtype))


def transpose(struct: int, dtype: DType = f32) -> tuple[Kernel, dict[str, IndexExpr]]:
    """32 structs of `struct` (odd) words, thread t ends with its own struct, stored as a struct of arrays: two rotations."""
    warp = b("*", IndexVar("warp"), 32 * struct)
    body = (
        SetIndex("lane", b("%", TID, 32)),
        SetIndex("warp", b("+", b("*", BID, 2), b("//", TID, 32))),
        Declare("a", "register", dtype, (struct,)),
        Declare("t", "register", dtype, (struct,)),
        Declare("o", "register", dtype, (struct,)),
        loop("r", struct, Store("a", (IndexVar("r"),), Read("x", (b("+", b("+", warp, b("*", IndexVar("r"), 32)), LANE),)))),
        loop("i", struct, Store("t", (I,), Read("a", (HoleUse("col", (I, LANE)),)))),
        loop("i", struct, Store("o", (I,), Shuffle("idx", Read("t", (I,)), HoleUse("rows", (LANE, I)), 32))),
        loop("i", struct, Store("y", (b("+", b("+", warp, b("*", I, 32)), LANE),), Read("o", (HoleUse("back", (I, LANE)),)))),
    )
    # element struct*j + f of the tile sits in register (struct*j + f) // 32 of lane (struct*j + f) % 32
    inverse = pow(32, -1, struct) if struct > 1 else 0
    holes = (
        Hole("col", "xform", ("i", "lane"), n=struct),
        Hole("rows", "xform", ("lane", "i"), n=32),
        Hole("back", "xform", ("i", "lane"), n=struct),
    )
    # round i: lane s sends register r = (i - s) / 32 mod struct; lane t asks the lane that holds field i of struct t
    done = {
        "col": b("%", b("+", b("*", b("-", HoleArg(0), HoleArg(1)), inverse), 0), struct),
        "rows": b("%", b("+", b("*", HoleArg(0), struct), b("%", HoleArg(1), struct)), 32),
        "back": b("%", b("+", HoleArg(0), 0), struct),
    }
    kernel = Kernel(
        "transpose", (array("x", dtype, 128 * struct), array("y", dtype, 128 * struct, out=True, inp=False)),
        (), (64, 1, 1), (c(2), c(1), c(1)), 32, body, holes,
    )  # fmt: skip
    return kernel, done
