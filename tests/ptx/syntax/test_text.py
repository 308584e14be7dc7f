"""Printing after a program has changed the tree."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from warploom.ptx.syntax import (
    NEW,
    Block,
    Declaration,
    Declarator,
    Directive,
    Function,
    Instruction,
    Integer,
    Label,
    Module,
    Name,
    Section,
    Statement,
    exact,
    instruction_text,
    normal,
    parse,
)

from .spellings import HEADER, ITEMS, STATEMENTS, kernel

TEXT = (
    HEADER
    + """// about k
.visible .entry k(.param .u64 a) // header
{
\t.reg .b32 %r<4>;  // registers
\t// first
\tadd.s32 %r1, %r2, %r3; // sum
\t/* second */
\tsub.s32 %r1, %r2, %r3; // difference
\tret; /* bye */
\t// tail
}
// end
"""
)
MADE = Instruction("mul", ("lo", "s32"), (Name("%r1"), Name("%r2"), Integer(3)))


def body(module: Module) -> tuple[Statement, ...]:
    found = module.functions[0].body
    assert found is not None
    return found.items


def with_body(module: Module, items: Sequence[Statement]) -> Module:
    function = module.functions[0]
    assert function.body is not None
    changed = replace(function, body=replace(function.body, items=tuple(items)))
    return replace(module, items=tuple(changed if i is function else i for i in module.items))


def edited(items: Sequence[Statement]) -> str:
    module = with_body(parse(TEXT), items)
    text = exact(module)
    assert parse(text) == module
    return text


ITEMS_OF_TEXT = body(parse(TEXT))


def test_insertion_goes_on_a_line_of_its_own_behind_the_comment() -> None:
    found = edited([*ITEMS_OF_TEXT[:2], MADE, *ITEMS_OF_TEXT[2:]])
    assert found == TEXT.replace("// sum\n", "// sum\n\tmul.lo.s32 %r1, %r2, 3;\n")


def test_insertion_at_the_start_and_at_the_end() -> None:
    assert "{\n\tmul.lo.s32 %r1, %r2, 3;\n\t.reg" in edited([MADE, *ITEMS_OF_TEXT])
    assert "\tret; /* bye */\n\tmul.lo.s32 %r1, %r2, 3;\n\t// tail\n}" in edited([*ITEMS_OF_TEXT, MADE])


def test_replacement_keeps_comments() -> None:
    found = edited([*ITEMS_OF_TEXT[:2], MADE, *ITEMS_OF_TEXT[3:]])
    assert "sub.s32" not in found
    for comment in ("// sum", "/* second */", "// difference", "/* bye */", "// tail", "// end", "// header"):
        assert comment in found
    assert found.index("/* second */") < found.index("mul.lo") < found.index("ret;")


def test_removal_keeps_comments() -> None:
    found = edited([ITEMS_OF_TEXT[0], ITEMS_OF_TEXT[3]])
    assert "add.s32" not in found
    assert "sub.s32" not in found
    for comment in ("// registers", "// first", "// sum", "/* second */", "// difference"):
        assert comment in found
    assert edited([]).count("//") == TEXT.count("//")


def test_changed_node_marked_as_new() -> None:
    add = ITEMS_OF_TEXT[1]
    assert isinstance(add, Instruction)
    changed = replace(add, operands=(*add.operands[:2], Integer(7)), extent=NEW)
    assert "\n\tadd.s32 %r1, %r2, 7;" in edited([ITEMS_OF_TEXT[0], changed, *ITEMS_OF_TEXT[2:]])


def test_order_of_nodes_is_the_trees() -> None:
    declaration, add, subtract, end = ITEMS_OF_TEXT
    found = edited([declaration, subtract, add, end])
    assert found.index("sub.s32") < found.index("add.s32")
    assert edited([declaration, add, add, subtract, end]).count("add.s32") == 2


def test_line_ends_follow_the_file() -> None:
    module = parse(TEXT.replace("\n", "\r\n"))
    found = exact(with_body(module, [*body(module)[:2], MADE, Block((Label("L"), MADE)), *body(module)[2:]]))
    assert found.count("\n") == found.count("\r\n")


def test_new_items_of_the_module() -> None:
    module = parse(TEXT)
    variable = Declaration("global", "b32", (Declarator("g"),))
    function = Function("f", is_entry=False, body=Block((MADE,)))
    changed = replace(module, items=(*module.items[:3], variable, *module.items[3:], function))
    found = exact(changed)
    assert parse(found) == changed
    assert found.startswith(HEADER.rstrip("\n") + "\n.global .b32 g;\n// about k")


def test_a_new_body_is_printed_with_its_header() -> None:
    module = parse(TEXT)
    function = module.functions[0]
    changed = replace(module, items=(*module.items[:3], replace(function, body=Block((MADE,)))))
    assert parse(exact(changed)) == changed


@pytest.mark.parametrize("seed", range(200))
def test_random_edits(seed: int) -> None:
    source = random.Random(seed)
    chosen = [s if "/*" in s or seed % 2 else s.replace(", ", ", /* c */ ") for s in source.sample(STATEMENTS, 8)]
    module = parse(kernel(*chosen))
    items = list(body(module))
    for _ in range(source.randrange(1, 6)):
        place = source.randrange(len(items) + 1)
        match source.randrange(4):
            case 0:
                items.insert(place, MADE)
            case 1 if items:
                items.pop(place % len(items))
            case 2 if items:
                items[place % len(items)] = MADE
            case _:
                source.shuffle(items)
    changed = with_body(module, items)
    assert parse(exact(changed)) == changed
    assert parse(normal(changed)) == changed


def test_normal_form() -> None:
    text = HEADER + ".entry  k ( .param .b32 a ) .maxntid 8 , 1\n{ L : @ ! %p add.s32 %r1,%r2,0X1F; { ret ; } } .alias  g , k ;"
    assert normal(parse(text)) == (
        HEADER
        + ".entry k(.param .b32 a)\n.maxntid 8, 1\n{\nL:\n\t@!%p add.s32 %r1, %r2, 0X1F;\n\t{\n\t\tret;\n\t}\n}\n.alias g, k;\n"
    )


def test_numbers_that_a_program_made() -> None:
    made = Instruction("x", (), (Integer(-5), Integer(2**64 - 1)))
    assert instruction_text(made) == "x -5, 18446744073709551615;"
    (again,) = body(parse(kernel(instruction_text(made))))
    assert again == made


def test_every_kind_of_item_reads_back_when_made_new() -> None:
    for text in ITEMS.values():
        module = parse(text)
        made = Module(tuple(replace(i, extent=NEW) for i in module.items))
        assert parse(exact(made)) == module
        assert all(isinstance(i, Declaration | Directive | Function | Section) for i in made.items)
