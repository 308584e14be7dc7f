"""Random small sketches with few completions, for comparing the engine with brute force."""

from __future__ import annotations

import random

from warploom.core import i32
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
    HoleUse,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexVar,
    Kernel,
    Logical,
    Param,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    Stmt,
    Store,
    Sync,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
)

LANE = Builtin("thread_id", 0)
IDENTITY = {"+": 0, "^": 0, "|": 0, "&": -1, "min": 2**31 - 1, "max": -(2**31)}


def num(value: int) -> IndexConst:
    return IndexConst(value)


def add(a: IndexExpr, b: IndexExpr) -> IndexExpr:
    return IndexBinary("+", a, b)


class SketchMaker:
    """One random sketch; the same seed gives the same kernel."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lanes = self.rng.choice([2, 3, 4, 4, 4])
        self.holes: list[Hole] = []
        self.cells = self.lanes * self.rng.choice([1, 2, 2])
        self.outputs = self.lanes * self.rng.choice([1, 1, 2]) + self.rng.choice([0, 0, 1])
        self.body: list[Stmt] = []
        self.values: list[str] = []
        self.count = 0

    def kernel(self) -> Kernel:
        rng = self.rng
        self.load()
        kind = rng.choice(["gather", "fold", "fold", "fold2", "scatter", "running", "mixed"])
        match kind:
            case "gather":
                for _ in range(rng.randint(1, 2)):
                    self.step()
            case "scatter":
                self.scatter()
            case "mixed":
                self.scatter()
                self.step()
            case "fold" | "fold2" | "running":
                if rng.random() < 0.3:
                    self.step()
        if kind in ("fold", "fold2", "running"):
            self.fold(kind)
        else:
            self.finish(ValueVar(rng.choice(self.values[-2:])))
        params = (
            Param("x", "global", i32, (num(self.cells),), is_output=False),
            Param("w", "constant", i32, (num(4),), is_output=False),
            Param("y", "global", i32, (num(self.outputs),), is_output=True, is_input=rng.random() < 0.1),
        )
        grid = (num(1), num(1), num(1))
        return Kernel("made", params, (), (self.lanes, 1, 1), grid, self.lanes, tuple(self.body), tuple(self.holes))

    # ------------------------------------------------------------ holes

    def hole(self, kind: str, args: tuple[IndexExpr, ...], **fields: object) -> IndexExpr:
        if self.holes and self.rng.random() < 0.15:
            same = [h for h in self.holes if h.kind == kind and h.n == fields.get("n", 0) and len(h.arg_names) == len(args)]
            if same and kind not in ("choose",):
                return HoleUse(self.rng.choice(same).name, args)
        name = f"h{len(self.holes)}"
        names = tuple(f"a{n}" for n in range(len(args)))
        self.holes.append(Hole(name, kind, names, **fields))
        return HoleUse(name, args)

    def condition(self, *args: IndexExpr) -> IndexExpr:
        return self.hole("cond", args, grammar=self.rng.choice(["full", "full", "constant-free"]))

    def below(self, n: int, *args: IndexExpr) -> IndexExpr:
        """An open index in 0..n-1."""
        rng = self.rng
        args = args or (LANE,)
        kinds = ["const", "choose", "part", "mod"]
        if n == self.lanes and self.lanes > 2:
            kinds += ["xform", "xform"]
        if n == 1:
            return num(0)
        match rng.choice(kinds):
            case "const":
                return self.hole("const", (), constants=tuple(sorted(rng.sample(range(n), min(n, rng.randint(2, 3))))))
            case "choose":
                turned: IndexExpr = IndexBinary("%", add(LANE, num(rng.randint(0, 3))), num(n))
                return self.hole("choose", (turned, self.closed(n, *args), self.closed(n, *args)), n=3)
            case "part":
                return self.hole("part", args[:2], n=min(n, 2), grammar=rng.choice(["full", "constant-free"]))
            case "mod":
                opened = self.hole("const", (), constants=(0, 1, -1))
                return IndexBinary("%", add(args[0], opened), num(n))
            case _:
                k = args[1] if len(args) > 1 else num(0)
                grammar = rng.choice(["full", "rotation", "rotation"])
                return self.hole("xform", (LANE, k), n=n, grammar=grammar, coefficients=rng.choice([None, (1, -1), (0, 1)]))

    def closed(self, n: int, *args: IndexExpr) -> IndexExpr:
        result: IndexExpr = num(self.rng.randint(0, 2))
        for arg in args:
            result = add(result, IndexBinary("*", arg, num(self.rng.randint(-1, 2))))
        return IndexBinary("%", result, num(n))

    # ------------------------------------------------------------ moving values

    def fresh(self, value: ValueExpr) -> str:
        name = f"v{self.count}"
        self.count += 1
        self.body.append(SetValue(name, i32, value))
        self.values.append(name)
        return name

    def load(self) -> None:
        rounds = self.cells // self.lanes
        self.body.append(Declare("inp", "register", i32, (2,)))
        for r in range(2):
            at = IndexBinary("%", add(LANE, num(r * self.lanes)), num(self.cells)) if rounds > 1 else LANE
            value: ValueExpr = Read("x", (at,))
            if self.rng.random() < 0.2:
                other = ValueConst(self.rng.choice([0, 0, 0, 1, -1, 5]), i32)
                value = ValueSelect(Compare("<", LANE, num(self.rng.randint(0, self.lanes))), value, other)
            self.body.append(Store("inp", (num(r),), value))

    def source(self, *args: IndexExpr) -> ValueExpr:
        """A value through at most one open index."""
        rng = self.rng
        choices = ["register", "global", "value", "shuffle", "select", "expression"]
        match rng.choice(choices):
            case "register":
                return Read("inp", (self.below(2, *(args or (LANE,))),))
            case "global":
                return Read("x", (self.below(self.cells, *(args or (LANE,))),))
            case "value" if self.values:
                return ValueVar(rng.choice(self.values))
            case "shuffle":
                sent: ValueExpr = ValueVar(rng.choice(self.values)) if self.values else Read("inp", (num(0),))
                kind = rng.choice(["idx", "idx", "up", "down", "xor"])
                width = 2 if self.lanes == 2 else 4
                return Shuffle(kind, sent, self.below(self.lanes if kind == "idx" else 2, *(args or (LANE,))), width)
            case "select":
                a, b = Read("inp", (num(0),)), Read("inp", (num(1),))
                return ValueSelect(self.condition(*(args or (LANE,))), a, b)
            case "expression" if rng.random() < 0.5:
                value = Read("inp", (self.below(2),))
                op = rng.choice(["+", "-", "^", "+"])
                return Arith(op, (value, rng.choice([ValueConst(3, i32), Read("inp", (num(0),))])))
            case _:
                return Read("inp", (num(rng.randint(0, 1)),))

    def step(self) -> None:
        rng = self.rng
        value = self.source()
        if self.values and rng.random() < 0.25:
            name = rng.choice(self.values)
            cond = self.condition(LANE) if rng.random() < 0.6 else Compare("<", LANE, num(2))
            inner: list[Stmt] = [SetValue(name, i32, value)]
            other: list[Stmt] = [SetValue(name, i32, Read("inp", (num(1),)))] if rng.random() < 0.3 else []
            self.body.append(If(cond, tuple(inner), tuple(other)))
            return
        if rng.random() < 0.2:
            self.body.append(SetIndex("i", self.below(2)))
            if rng.random() < 0.7:
                self.body.append(If(Compare("<", LANE, num(2)), (SetIndex("i", self.below(2)),)))
            value = Read("inp", (IndexVar("i"),))
        self.fresh(value)

    def scatter(self) -> None:
        rng = self.rng
        space = rng.choice(["shared", "shared", "register"])
        size = self.lanes if space == "shared" else 2
        size += rng.choice([0, 0, 1])
        self.body.append(Declare("tile", space, i32, (size,)))
        for n in range(rng.randint(1, 2)):
            if space == "register" or rng.random() < 0.7 or n:
                index = self.below(self.lanes if space == "shared" else 2, LANE)
            else:
                index = LANE
            store: Stmt = Store("tile", (index,), Read("inp", (num(n),)))
            if rng.random() < 0.25:
                store = If(self.condition(LANE), (store,))
            self.body.append(store)
            if space == "shared":
                self.body.append(Sync())
        back = self.below(self.lanes if space == "shared" else 2, LANE) if rng.random() < 0.4 else self.closed(size, LANE)
        self.fresh(Read("tile", (back,)))

    # ------------------------------------------------------------ folds

    def fold(self, kind: str) -> None:
        rng = self.rng
        op = rng.choice(["+", "+", "+", "^", "min", "max", "|", "&"])
        inner = {"+": "*", "^": "&", "|": "&", "&": "|", "min": "max", "max": "min"}[op]
        init = IDENTITY[op] if rng.random() < 0.85 else rng.choice([0, 1, 7])
        two = rng.random() < 0.4
        names = ["out", "too"] if two else ["out"]
        shape = (2,) if rng.random() < 0.15 else ()
        for name in names:
            self.body.append(Accumulator(name, i32, shape, op, init, ValueVar("$state")))
        k = IndexVar("k")
        inside: list[Stmt] = []
        for n in range(rng.randint(1, 2 if not two else 3)):
            body_before, self.body = self.body, []
            value = self.source(LANE, k)
            if rng.random() < 0.5:
                weight: ValueExpr = Read("w", (k if rng.random() < 0.5 else self.below(rng.choice([2, 3]), k, LANE),))
                value = Arith(inner, (weight, value) if rng.random() < 0.7 else (value, weight))
            inside += self.body
            self.body = body_before
            guard: IndexExpr = IndexConst(True)
            if rng.random() < 0.6:
                guard = self.condition(LANE, k) if rng.random() < 0.5 else self.condition(rng.choice([LANE, k]))
                if rng.random() < 0.2:
                    guard = Logical(rng.choice(["or", "and"]), (guard, Compare("==", k, num(0))))
                if rng.random() < 0.15:
                    guard = Logical("not", (guard,))
            at: tuple[IndexExpr, ...] = ()
            if shape:
                at = (self.below(2, LANE, k) if rng.random() < 0.5 else IndexBinary("%", k, num(2)),)
            inside.append(Accumulate(names[n % len(names)], at, value, guard))
        self.body.append(For("k", num(0), num(rng.randint(1, 3)), 1, tuple(inside)))
        if kind == "running":
            where = (num(0),) if shape else ()
            self.body.append(Store("y", (LANE,), Accumulated("out", where)))
            if self.outputs < 2 * self.lanes:
                return
            self.body.append(For("k", num(0), num(1), 1, tuple(inside)))
            self.body.append(Store("y", (add(LANE, num(self.lanes)),), Accumulated("out", where)))
            return
        total: ValueExpr = Accumulated("out", (num(0),) if shape else ())
        if rng.random() < 0.15:
            total = Arith("+", (total, ValueConst(2, i32)))
        store: Stmt = Store("y", (LANE,), total)
        if rng.random() < 0.2:
            store = If(Compare("<", LANE, num(self.lanes - 1)), (store,))
        self.body.append(store)
        if (two or shape) and self.outputs >= 2 * self.lanes:
            other = Accumulated("too" if two else "out", (num(1),) if shape else ())
            self.body.append(Store("y", (add(LANE, num(self.lanes)),), other))

    def finish(self, value: ValueExpr) -> None:
        rng = self.rng
        index: IndexExpr = LANE
        if rng.random() < 0.3:
            index = self.below(min(self.outputs, self.lanes + rng.choice([0, 1])), LANE)
        if rng.random() < 0.15:
            value = Arith("+", (value, ValueConst(1, i32)))
        store: Stmt = Store("y", (index,), value)
        if rng.random() < 0.15:
            store = If(self.condition(LANE), (store,))
        self.body.append(store)


def random_kernel(seed: int) -> Kernel:
    return SketchMaker(seed).kernel()
