"""Programs print as text that reads back to the same program."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ir.dataflow import programs

from warploom.ir.dataflow import (
    Block,
    Gathered,
    Literal,
    Program,
    Shape,
    Statement,
    parse_program,
    program_text,
    run_program,
    value_text,
    verify_program,
)
from warploom.ir.dataflow.program import MISSING, NOUGHT, Value
from warploom.ir.dataflow.values import folded


def assert_same(first: tuple[Statement, ...], second: tuple[Statement, ...]) -> None:
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert (a.name, a.shape, a.fold, a.is_pruned) == (b.name, b.shape, b.fold, b.is_pruned)
        match a.value, b.value:
            case Literal(), Literal():
                assert a.value == b.value
            case Block(inner), Block(other):
                assert_same(inner, other)
            case Gathered(arguments, choices, source), Gathered(arguments2, choices2, source2):
                assert (arguments, source) == (arguments2, source2)
                assert (choices.arguments, choices.out) == (choices2.arguments, choices2.out)
                assert np.array_equal(choices.point, choices2.point) and np.array_equal(choices.source, choices2.source)
                assert choices.members.size_bound == choices2.members.size_bound
            case _:
                raise AssertionError("values of different kinds")


def round_trip(text: str) -> Program:
    program = parse_program(text)
    verify_program(program)
    printed = program_text(program)
    again = parse_program(printed, "printed")
    verify_program(again)
    assert_same(program.statements, again.statements)
    assert (program.goal.shape, program.goal.values) == (again.goal.shape, again.goal.values)
    assert program.definitions == again.definitions
    assert program_text(again) == printed
    return again


TEXTS = {name: text for name, text in vars(programs).items() if name.isupper()}


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_known_programs(name: str) -> None:
    round_trip(TEXTS[name])


GOALS: list[tuple[Shape, str]] = [
    ((2, 3), "[2, 3] id"), ((3, 2), "[3, 2] trove"), ((3,), "[3] trove_sum{n=2}"), ((3, 2), "[3, 2] = conv_dealg"),
    ((4,), "[4] conv{k=2}"), ((4,), "[4] weight_conv{k=3}"), ((2, 3), "[2, 3] stencil_2d{k=2}"), ((4,), "[4] poly_mult{w=2}"),
    ((1, 2), "[1, 2] = [[x0, x1]]"), ((1, 2), "[1, 2] = [[_, zero]]"), ((2,), "[2, 2, 1] = fold fold range(0, 4)"),
    ((1,), "[1] = fold(+) fold(*) [[[0, 1], [1, 2], [4, zero]]]"),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "goal"), GOALS)
def test_goals(shape: Shape, goal: str) -> None:
    literal = nested(list(range(prod(shape))), shape)
    round_trip(f"x: {list(shape)} = {literal}\ngoal: {goal}")


def nested(elements: Sequence[object], shape: Shape) -> str:
    """A nested list's text."""
    if len(shape) == 1:
        return f"[{', '.join(map(str, elements))}]"
    step = len(elements) // shape[0]
    return f"[{', '.join(nested(elements[i : i + step], shape[1:]) for i in range(0, len(elements), step))}]"


def test_a_hidden_definition_keeps_its_meaning() -> None:
    text = """
    x: [2] = [5, 6]
    a: [2] = id(x)
    define id([2]) -> [2] = [1, 0]
    b: [2] = id(a)
    c: [2] = {
      define id([2]) -> [2] = [0, 0]
      define identity([2]) -> [2] = [1, 1]
      d: [2] = identity(b)
      e: [2] = id(d)
    }
    f: [2] = identity(c)
    g: [2] = id(f)
    goal: [2] = [5, 5]
    """
    values = run_program(parse_program(text), {})
    assert (values["a"], values["b"], values["c.d"], values["f"]) == ([5, 6], [6, 5], [5, 5], [5, 5])
    again = round_trip(text)
    assert run_program(again, {}) == values


SHAPES: list[Shape] = [(4,), (2, 2), (4, 1), (1, 4), (2, 1, 2)]


def values_of(depth: int) -> st.SearchStrategy[Value]:
    plain = st.one_of(st.integers(-3, 40), st.sampled_from([NOUGHT, MISSING]))
    if depth == 0:
        return plain
    return st.one_of(plain, st.builds(folded, st.just("+"), st.lists(values_of(depth - 1), min_size=1, max_size=3)))


def texts_of(names: dict[str, Shape], depth: int) -> st.SearchStrategy[str]:
    return st.builds(lambda random, v: body(random, v, names, depth), st.randoms(use_true_random=False), literals())


def literals() -> st.SearchStrategy[list[list[Value]]]:
    return st.lists(st.lists(values_of(2), min_size=4, max_size=4), min_size=1, max_size=3)


LAMBDAS = [
    "(i + 3) % 4", "_ if i == 0 else (1, i * 2 % 4)", "not i > 0 ? zero : - -i % 4",
    "(1, 3i % 4) if i != 1 or i == 2 else i ^ 1 & 3",
]  # fmt: skip


def body(random: Random, literal: list[list[Value]], names: dict[str, Shape], depth: int) -> str:
    """Statements over arrays of 4 elements; the last one is a copy to [4]."""
    names = dict(names)
    lines: list[str] = []

    def shape_text(shape: Shape) -> str:
        return str(list(shape))

    def add(name: str, shape: Shape, written: Shape, value: str) -> None:
        note = random.choice(["", "", "@prune\n", "@noprune\n"])
        lines.append(f"{note}{name}: {shape_text(written)} = {value}")
        names[name] = shape

    for values in literal:
        shape = random.choice(SHAPES)
        add(random.choice("abc"), shape, shape, nested([value_text(v) for v in values], shape))
    for _ in range(random.randrange(6)):
        name, x = random.choice("abcde"), random.choice(list(names))
        shape, out = names[x], random.choice(SHAPES)
        variables = ["i", "j", "k"][: len(out)]
        match random.randrange(6):
            case 0:
                add(name, out, out, x)
            case 1:
                y = random.choice(list(names))
                add(name, out, out, f"gather(\\{', '.join(variables)}. {random.choice(LAMBDAS)})({x}, {y})")
            case 2:
                define = f"define f{random.randrange(2)}({shape_text(shape)}) -> {shape_text(out)} = "
                tables = [[random.randrange(-1, 4) for _ in range(4)] for _ in range(2)]
                lines.append(define + f'{{p = {nested(list(tables[0]), out)}, "q r" = {nested(list(tables[1]), out)}}}')
                called = define.split()[1].split("(")[0]
                add(name, out, out, f"?{called}({x})")
            case 3:
                y = random.choice([n for n in names if names[n] == shape])
                add(name, shape, shape, f"fold(+) stack{{fold_len=2}}({x}, {y})")
            case 4:
                add(name, (2,), (2, 2), f"{random.choice(['+', 'fold(*)', 'fold(+)'])} ({x})")
                add(name, (4,), (4,), f"load_rep({name})")
            case _ if depth:
                inner = body(random, literal, names, depth - 1)
                add(name, (4,), (4,), "{\n" + inner + "\n}")
            case _:
                add(name, tuple(reversed(shape)), tuple(reversed(shape)), f"transpose({x})")
    add("last", (4,), (4,), random.choice(list(names)))
    return "\n".join(lines)


@settings(max_examples=150, deadline=None)
@given(texts_of({}, 2))
def test_generated_programs(text: str) -> None:
    text += "\ngoal: [4] = [0, _, zero, fold(+){1, 1}]"
    program = parse_program(text)
    again = round_trip(text)
    if "?" not in program_text(again):
        # Same-named statements carry their lines in their names.
        assert list(run_program(program, {}).values()) == list(run_program(again, {}).values())
