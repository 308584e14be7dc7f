"""Small random programs with everything that the language has: user-made and built-in sets, folds, blocks, shadowed names."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from math import prod

import numpy as np

from warploom.ir.dataflow import (
    MISSING,
    NOUGHT,
    UNDEFINED,
    ZERO,
    Folded,
    Gathered,
    GatherSet,
    Program,
    Value,
    folded,
    named_statements,
    parse_program,
    run_program,
)
from warploom.ir.swizzle import Functions, IntArray

Shape = tuple[int, ...]
SHAPES: tuple[Shape, ...] = (
    (1,), (2,), (3,), (4,), (6,), (1, 2), (2, 1), (2, 2), (2, 3), (3, 2), (4, 2), (2, 4), (3, 3), (2, 2, 2), (2, 1, 3), (4, 4),
)  # fmt: skip
OPERATORS = ("+", "*", "max")
BUILTIN = (
    "row_xforms", "col_xforms", "row_xforms_no_group", "col_xforms_no_group", "row_rots", "col_rots", "row_rots_no_group",
    "col_rots_no_group",
)  # fmt: skip
CONDITIONS = ("cond_keep", "cond_keep_no_consts")
REGISTERS = ("hvx_2x1", "hvx_2x1{swaps}", "hvx_inplace", "hvx_2x2{swaps}")


def random_program(rng: random.Random, most: int) -> Program:
    """At most `most` choices of members; the goal is met by one of them, or nearly."""
    while True:
        program = parse_program(_Writer(rng).text())
        holes = holes_of(program)
        if not holes or not _has_at_most(most, holes):
            continue
        last, _ = named_statements(program)[-1]
        values = run_program(program, random_members(rng, program))[last]
        return replace(program, goal=replace(program.goal, values=_changed(rng, values, program)))


def holes_of(program: Program) -> list[tuple[str, GatherSet]]:
    found = [(name, s.value.choices) for name, s in named_statements(program) if isinstance(s.value, Gathered)]
    return [(name, choices) for name, choices in found if not choices.is_single]


def every_member(choices: GatherSet) -> Functions:
    functions = choices.members.matching(np.ones((choices.members.points, choices.members.values), np.bool_))
    assert functions is not None
    return functions


def _has_at_most(most: int, holes: list[tuple[str, GatherSet]]) -> bool:
    """Choices; sets too large to list have more."""
    if any(choices.members.size_bound > 20_000 for _, choices in holes):
        return False
    return prod(len(every_member(choices)) for _, choices in holes) <= most


def random_members(rng: random.Random, program: Program) -> dict[str, IntArray]:
    """One of each set."""
    chosen: dict[str, IntArray] = {}
    for name, choices in holes_of(program):
        tables = every_member(choices).tables
        chosen[name] = choices.gather(tables[rng.randrange(len(tables))].astype(np.int64))
    return chosen


def wrong_members(rng: random.Random, program: Program) -> dict[str, IntArray]:
    """Gathers that fit their statements, members or not."""
    chosen = random_members(rng, program)
    for name, choices in holes_of(program):
        gather = chosen[name].copy()
        for element in range(len(gather)):
            if rng.random() < 0.2:
                gather[element] = rng.randrange(-2, choices.argument_elements)
        chosen[name] = gather
    return chosen


def _changed(rng: random.Random, reached: list[Value], program: Program) -> tuple[Value, ...]:
    """A goal: what was reached, somewhat relaxed, or slightly wrong."""
    values = list(reached)
    kind = rng.choice(("same", "same", "relaxed", "relaxed", "swapped", "copied", "other", "nested"))
    at, other = rng.randrange(len(values)), rng.randrange(len(values))
    match kind:
        case "relaxed":
            values = [MISSING if rng.random() < 0.5 else value for value in values]
        case "swapped":
            values[at], values[other] = values[other], values[at]
        case "copied":
            values[at] = values[other]
        case "other":
            values[at] = rng.choice((NOUGHT, 0, 1, rng.randrange(12)))
        case "nested":
            folds = [value for value in values if isinstance(value, Folded)]
            if folds:
                fold = rng.choice(folds)
                values[at] = rng.choice((folded(fold.op, fold.values[1:]), folded(fold.op, (*fold.values, fold.values[0]))))
        case _:
            pass
    return tuple(values)


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.scope: list[tuple[str, Shape]] = []
        self.defines: list[tuple[str, tuple[Shape, ...], Shape]] = []
        self.has_operators = rng.random() < 0.5
        self.symbols = rng.choice((3, 6, 12))
        self.names = 0

    def text(self) -> str:
        for _ in range(self.rng.choice((1, 1, 2, 3))):
            self.literal()
        for _ in range(self.rng.randint(1, 7)):
            self.statement(0)
        _, shape = self.scope[-1]
        return "\n".join([*self.lines, f"goal: {list(shape)} = {_nested(['_'] * prod(shape), shape)}"]) + "\n"

    # ------------------------------------------------------------ statements

    def literal(self) -> None:
        shape = self.rng.choice(SHAPES[:-1])
        size = prod(shape)
        start = self.rng.randrange(3)
        if self.rng.random() < 0.6:
            self.add(shape, f"range({start}, {start + size})")
        else:
            self.add(shape, _nested([self.cell() for _ in range(size)], shape))

    def cell(self) -> str:
        kind = self.rng.random()
        if kind < 0.08:
            return "_"
        if kind < 0.16:
            return "zero"
        if kind < 0.22:
            return f"{self.fold()}{{{self.rng.randrange(3)}, {self.rng.randrange(3)}}}"
        return str(self.rng.randrange(self.symbols))

    def statement(self, depth: int) -> None:
        makers: list[tuple[int, Callable[[], None]]] = [
            (5, lambda: self.defined(folds=False)),
            (4, lambda: self.defined(folds=True)),
            (4, self.built_in),
            (3, self.chain),
            (3, self.fixed),
            (2, self.select),
            (1, self.again),
        ]
        if depth < 2:
            makers.append((2, lambda: self.block(depth)))
        (maker,) = self.rng.choices([m for _, m in makers], [weight for weight, _ in makers])
        maker()

    def add(self, shape: Shape, value: str, after: Shape | None = None) -> None:
        """`after`: the shape after a fold."""
        name = self.rng.choice(self.scope)[0] if self.scope and self.rng.random() < 0.07 else f"v{self.names}"
        self.names += 1
        self.lines.append(f"{name}: {list(shape)} = {value}")
        self.scope = [s for s in self.scope if s[0] != name] + [(name, shape if after is None else after)]

    def pick(self) -> tuple[str, Shape]:
        """Mostly the newest array."""
        return self.scope[-1] if self.rng.random() < 0.6 else self.rng.choice(self.scope)

    def fold(self) -> str:
        return f"fold({self.rng.choice(OPERATORS)})" if self.has_operators else "fold"

    def defined(self, *, folds: bool) -> None:
        count = self.rng.choice((1, 1, 1, 2, 2, 3))
        arguments = [self.pick() for _ in range(count)]
        same = self.rng.random() < 0.5 and not folds
        out = arguments[0][1] if same else self.rng.choice([s for s in SHAPES if not folds or len(s) > 1])
        shapes = tuple(shape for _, shape in arguments)
        known = [d for d in self.defines if d[1] == shapes and (not folds or len(d[2]) > 1)]
        if known and self.rng.random() < 0.3:
            name, _, out = self.rng.choice(known)
        else:
            name = f"f{self.names}"
            self.defines.append((name, shapes, out))
            self.lines.append(self.define(name, shapes, out))
        call = f"?{name}({', '.join(a for a, _ in arguments)})"
        if folds:
            self.add(out, f"{self.fold()} {call}", out[:-1])
        else:
            self.add(out, call)

    def define(self, name: str, shapes: tuple[Shape, ...], out: Shape) -> str:
        count = self.rng.choice((1, 2, 2, 3, 4, 5, 8))
        gathers = self.gathers(shapes, out, count)
        members = ", ".join(f"m{n} = [{', '.join(_source_text(s, shapes) for s in g)}]" for n, g in enumerate(gathers))
        types = ", ".join(str(list(s)) for s in shapes)
        return f"define {name}({types}) -> {list(out)} = {{{members}}}"

    def gathers(self, shapes: tuple[Shape, ...], out: Shape, count: int) -> list[list[int]]:
        rng, size, elements = self.rng, prod(out), sum(prod(s) for s in shapes)
        nothing = rng.choice((0.0, 0.0, 0.1, 0.4))
        style = rng.choice(("any", "few", "permuted", "guarded", "axis"))

        def any_source() -> int:
            if rng.random() < nothing:
                return rng.choice((ZERO, ZERO, UNDEFINED))
            return rng.randrange(elements)

        base = [n % elements for n in range(size)]
        if rng.random() < 0.5:
            base = [any_source() for _ in range(size)]
        gathers: list[list[int]] = []
        for _ in range(count):
            gather = list(base)
            match style:
                case "any":
                    gather = [any_source() for _ in range(size)]
                case "few":
                    for _ in range(rng.randint(1, 3)):
                        gather[rng.randrange(size)] = any_source()
                case "permuted":
                    rng.shuffle(gather)
                case "guarded":
                    gather = [s if rng.random() < 0.6 else ZERO for s in gather]
                case _:
                    gather = self.along_axis(shapes[0], out) or gather
            gathers.append(gather)
        return gathers

    def along_axis(self, shape: Shape, out: Shape) -> list[int] | None:
        """Moves along the first axis or the last one by a function of another position."""
        if shape != out or len(shape) < 2:
            return None
        rng, numbers = self.rng, np.arange(prod(shape)).reshape(shape)
        axis = rng.choice((0, len(shape) - 1))
        index = np.array([[rng.randrange(shape[axis]) for _ in range(shape[axis])] for _ in range(shape[-1 - axis])])
        places = np.indices(shape)
        places[axis] = index[places[-1 - axis] % len(index), places[axis]]
        return numbers[tuple(places)].ravel().tolist()

    def built_in(self) -> None:
        name, shape = self.pick()
        kind = self.rng.random()
        if kind < 0.45 and len(shape) == 2:
            self.folded_or_not(shape, f"?{self.rng.choice(BUILTIN)}({name})")
        elif kind < 0.8 and len(shape) >= 2:
            restrict = f"{{restrict=[0, {self.rng.randrange(shape[0])}]}}" if self.rng.random() < 0.3 else ""
            self.folded_or_not(shape, f"?{self.rng.choice(CONDITIONS)}{restrict}({name})")
        elif kind < 0.9 and len(shape) == 2 and shape[0] > 1 and shape[1] == 2:
            self.folded_or_not(shape, f"?{self.rng.choice(REGISTERS)}({name})")
        else:
            size = shape[0]
            group = self.rng.choice([g for g in (1, 2, 3, 4) if size % g == 0])
            self.folded_or_not(shape, f"?grouped_perms{{group={group}}}({name})")

    def folded_or_not(self, shape: Shape, call: str) -> None:
        if len(shape) > 1 and self.rng.random() < 0.25:
            self.add(shape, f"{self.fold()} {call}", shape[:-1])
        else:
            self.add(shape, call)

    def chain(self) -> None:
        """Two or three swizzles along one axis, the last one perhaps folded."""
        name, shape = self.pick()
        if len(shape) != 2:
            name, shape = next(((n, s) for n, s in reversed(self.scope) if len(s) == 2), ("", ()))
        if not shape:
            return self.fixed()
        axis = self.rng.choice(("row", "col"))
        for _ in range(self.rng.choice((1, 2, 2))):
            self.add(shape, f"?{axis}_{self.rng.choice(('xforms', 'rots', 'xforms_no_group', 'rots_no_group'))}({name})")
            name = self.scope[-1][0]
        return self.folded_or_not(shape, f"?{axis}_{self.rng.choice(('rots', 'rots_no_group', 'xforms_no_group'))}({name})")

    def select(self) -> None:
        name, shape = self.pick()
        if len(shape) < 2 or shape[-1] < 2:
            return self.fixed()
        consts = self.rng.choice(("", "_no_consts"))
        if shape[-1] == 2 and self.rng.random() < 0.5:
            return self.folded_or_not((*shape[:-1], self.rng.choice((1, 2, 3))), f"?reg_select{consts}({name})")
        axis = len(shape) - 1
        out = (*shape[:-1], self.rng.choice((1, 2, 3)))
        return self.folded_or_not(out, f"?general_select{consts}{{axis={axis}, dims=[0, {axis}]}}({name})")

    def fixed(self) -> None:
        name, shape = self.pick()
        size = prod(shape)
        match self.rng.choice(("reshape", "transpose", "stack", "twice", "broadcast", "load", "fold", "lambda")):
            case "reshape":
                out = self.rng.choice([s for s in SHAPES if prod(s) == size] or [shape])
                self.add(out, name if out == shape and self.rng.random() < 0.5 else f"reshape({name})")
            case "transpose":
                self.add(shape[::-1], f"transpose({name})")
            case "stack":
                others = [n for n, s in self.scope if s == shape]
                self.stacked([name, self.rng.choice(others)], shape)
            case "twice":
                self.stacked([name, name], shape)
            case "broadcast" if size <= 6:
                extra = self.rng.choice((2, 3))
                group = self.rng.choice((0, len(shape)))
                self.add((extra, *shape) if group == 0 else (*shape, extra), f"broadcast{{group={group}}}({name})")
            case "load" if len(shape) == 1:
                self.add(self.rng.choice(SHAPES), f"load_{self.rng.choice(('rep', 'trunc'))}({name})")
            case "fold" if len(shape) > 1 and shape[-1] > 1:
                self.add(shape[:-1], f"{self.fold()} {name}", shape[:-1])
            case "fold":
                self.add((1, size), f"{self.fold()} reshape({name})", (1,))
            case _:
                self.add((size,), f"gather(\\i. i * {self.rng.choice((1, 3, 5))} % {size})({name})")

    def stacked(self, names: list[str], shape: Shape) -> None:
        out = (*shape, len(names))
        call = f"stack({', '.join(names)})"
        if self.rng.random() < 0.6:
            self.add(out, f"{self.fold()} {call}", shape)
        else:
            self.add(out, call)

    def again(self) -> None:
        """The last set once more, on an earlier array of its type."""
        known = [d for d in self.defines if d[1] == (d[2],)]
        for name, (shape,), _ in reversed(known):
            arrays = [n for n, s in self.scope if s == shape]
            if arrays:
                return self.add(shape, f"?{name}({self.rng.choice(arrays)})")
        return self.fixed()

    def block(self, depth: int) -> None:
        outer, defines, before = list(self.scope), list(self.defines), len(self.lines)
        self.lines.append("")
        for _ in range(self.rng.randint(1, 3)):
            self.statement(depth + 1)
        _, shape = self.scope[-1]
        if self.scope == outer:
            del self.lines[before:]
            self.defines = defines
            return
        self.scope, self.defines = outer, defines
        name = f"v{self.names}"
        self.names += 1
        self.lines[before] = f"{name}: {list(shape)} = {{"
        self.lines.append("}")
        self.scope = [*outer, (name, shape)]


def _nested(cells: list[str], shape: Shape) -> str:
    """A literal with one bracket per axis."""
    for length in reversed(shape):
        cells = [f"[{', '.join(cells[n : n + length])}]" for n in range(0, len(cells), length)]
    return cells[0]


def _source_text(source: int, shapes: tuple[Shape, ...]) -> str:
    if source == UNDEFINED:
        return "-1"
    if source == ZERO:
        return f"({len(shapes)}, 0)"
    argument = 0
    while source >= prod(shapes[argument]):
        source -= prod(shapes[argument])
        argument += 1
    return str(source) if argument == 0 else f"({argument}, {source})"
