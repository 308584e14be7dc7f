"""Random expressions, printed and read back by pycparser: the tree that comes back is the tree that was printed."""

from __future__ import annotations

import importlib
import random
from dataclasses import dataclass
from typing import Any

import pytest

from warploom.ctext import (
    CONDITIONAL,
    LEVELS,
    Text,
    binary,
    call,
    cast_to,
    chain,
    conditional,
    decimal,
    element,
    every,
    member,
    total,
    unary,
)

c_parser: Any = importlib.import_module("pycparser.c_parser")
c_ast: Any = importlib.import_module("pycparser.c_ast")
NAMES = "abcxyz"
BINARY, UNARY = tuple(LEVELS), ("-", "!", "~", "*")


@dataclass(frozen=True)
class Tree:
    kind: str
    parts: tuple[Tree | str, ...]


def grown(random_: random.Random, depth: int) -> tuple[Tree, Text]:
    """An expression as a tree and as a text."""
    if depth == 0 or random_.random() < 0.1:
        if random_.random() < 0.3:
            value = random_.choice([0, 7, -1, -(2**31)])
            leaf = Tree("number", (str(abs(value)),))
            return (leaf if value >= 0 else Tree("unary", ("-", leaf))), decimal(value)
        name = random_.choice(NAMES)
        return Tree("name", (name,)), Text(name)
    one, one_text = grown(random_, depth - 1)
    match random_.choice(["binary"] * 5 + ["unary", "unary", "cast", "choice", "call", "element", "member", "chain", "total"]):
        case "binary":
            op = random_.choice(BINARY)
            other, other_text = grown(random_, depth - 1)
            inner = random_.choice([0, 0, 15])
            return Tree("binary", (op, one, other)), binary(op, one_text, other_text, inner=inner)
        case "unary":
            op = random_.choice(UNARY)
            return Tree("unary", (op, one)), unary(op, one_text)
        case "cast":
            return Tree("cast", ("float", one)), cast_to("float", one_text)
        case "choice":
            (then, then_text), (other, other_text) = (grown(random_, depth - 1) for _ in range(2))
            return Tree("choice", (one, then, other)), conditional(one_text, then_text, other_text)
        case "call":
            other, other_text = grown(random_, depth - 1)
            return Tree("call", (Tree("name", ("f",)), one, other)), call("f", one_text, other_text)
        case "element":
            other, other_text = grown(random_, depth - 1)
            return Tree("element", (one, other)), element(one_text, other_text)
        case "member" if one.kind != "number":
            return Tree("member", (one, "x")), member(one_text, "x")
        case "chain":
            other, other_text = grown(random_, depth - 1)
            third, third_text = grown(random_, depth - 1)
            op = random_.choice(["&&", "||", "|", "^", "&", "*"])
            tree = Tree("binary", (op, Tree("binary", (op, one, other)), third))
            return tree, chain(op, [one_text, other_text, third_text])
        case _:
            other, other_text = grown(random_, depth - 1)
            factor, constant = random_.choice([1, 4]), random_.choice([-3, 5])
            product = other if factor == 1 else Tree("binary", ("*", other, Tree("number", (str(factor),))))
            sum_ = Tree("binary", ("-", one, product))
            tree = Tree("binary", ("-" if constant < 0 else "+", sum_, Tree("number", (str(abs(constant)),))))
            return tree, total([(1, one_text), (-factor, other_text)], constant, tight=random_.random() < 0.5)


def read(node: Any) -> Tree:
    match node:
        case c_ast.BinaryOp():
            return Tree("binary", (node.op, read(node.left), read(node.right)))
        case c_ast.UnaryOp():
            return Tree("unary", (node.op, read(node.expr)))
        case c_ast.Cast():
            return Tree("cast", (node.to_type.type.type.names[0], read(node.expr)))
        case c_ast.TernaryOp():
            return Tree("choice", (read(node.cond), read(node.iftrue), read(node.iffalse)))
        case c_ast.FuncCall():
            return Tree("call", (read(node.name), *map(read, node.args.exprs)))
        case c_ast.ArrayRef():
            return Tree("element", (read(node.name), read(node.subscript)))
        case c_ast.StructRef():
            return Tree("member", (read(node.name), node.field.name))
        case c_ast.Constant():
            return Tree("number", (node.value,))
        case _:
            return Tree("name", (node.name,))


def test_what_is_printed_reads_back_as_the_same_tree() -> None:
    random_ = random.Random(7)
    made = [grown(random_, random_.randrange(1, 5)) for _ in range(1200)]
    source = "void f(void) {\n" + "".join(f"{text.text};\n" for _, text in made) + "}\n"
    found = c_parser.CParser().parse(source).ext[0].body.block_items
    for (tree, text), node in zip(made, found, strict=True):
        assert read(node) == tree, text.text


@pytest.mark.parametrize("text, expected", [
    (unary("-", unary("-", Text("x"))), "-(-x)"),
    (unary("-", decimal(-1)), "-(-1)"),
    (binary("-", Text("a"), decimal(-1)), "a - -1"),
    (binary("-", Text("a"), binary("-", Text("b"), Text("c"))), "a - (b - c)"),
    (binary("-", binary("-", Text("a"), Text("b")), Text("c")), "a - b - c"),
    (binary("==", binary("&", Text("a"), Text("b")), decimal(0)), "(a & b) == 0"),
    (binary("&", binary("+", Text("a"), Text("b")), Text("c")), "(a + b) & c"),
    (binary("||", binary("&&", Text("a"), Text("b")), Text("c")), "(a && b) || c"),
    (cast_to("float", unary("-", Text("x"))), "(float)-x"),
    (member(unary("*", Text("p")), "x"), "(*p).x"),
    (conditional(Text("a"), Text("b", CONDITIONAL), Text("c", CONDITIONAL)), "a ? (b) : c"),
    (chain("|", [Text("a"), binary("<<", Text("b"), decimal(8)), Text("c")]), "a | (b << 8) | c"),
    (every([Text("a")]), "a"),
    (binary("+", binary("*", Text("a"), Text("b")), Text("c"), inner=15), "(a * b) + c"),
])  # fmt: skip
def test_parentheses(text: Text, expected: str) -> None:
    assert text.text == expected


@pytest.mark.parametrize("text, expected", [
    (total([(1, Text("p")), (64, Text("k")), (-1, Text("j"))], -3), "p + k * 64 - j - 3"),
    (total([(-4, Text("k"))], 1), "-k * 4 + 1"),
    (total([(-2, Text("a + b", LEVELS["+"])), (3, Text("c"))], tight=True), "-(a + b)*2 + c*3"),
    (total([], -(2**63)), "-9223372036854775807 - 1"),
    (total([]), "0"),
])  # fmt: skip
def test_sums(text: Text, expected: str) -> None:
    assert text.text == expected


def test_and_inside_or_is_parenthesised() -> None:
    """C would do without; people would not."""
    both, one = binary("&&", Text("a"), Text("b")), Text("c")
    assert binary("||", both, one).text == chain("||", [both, one]).text == "(a && b) || c"
    assert binary("&&", one, one).text == chain("&&", [one, one]).text == "c && c"
    assert chain("||", [binary("+", one, one), one]).text == "c + c || c"
