"""Each spelling of the ISA is parsed to its instruction."""

import random

import pytest

from warploom.ptx.syntax import (
    Address,
    AddressOf,
    Block,
    Declaration,
    Directive,
    Float,
    Function,
    Group,
    Guard,
    Initialiser,
    Instruction,
    Integer,
    Label,
    Name,
    Negation,
    Operand,
    Pair,
    Section,
    Setting,
    Statement,
    Subscript,
    Sum,
    Vector,
    exact,
    normal,
    parse,
)
from warploom.ptx.syntax.tokens import TOKEN, TRIVIA

from .compiled import COMPILED
from .spellings import HEADER, ITEMS, STATEMENTS, kernel


@pytest.mark.parametrize("text", ITEMS.values(), ids=ITEMS)
def test_files_print_back(text: str) -> None:
    module = parse(text)
    assert exact(module) == text
    once = normal(module)
    assert parse(once) == module
    assert normal(parse(once)) == once


@pytest.mark.parametrize("text", STATEMENTS)
def test_statements_print_back(text: str) -> None:
    given = kernel(text)
    module = parse(given)
    assert exact(module) == given
    assert parse(normal(module)) == module


def test_all_statements_together() -> None:
    given = kernel(*STATEMENTS)
    module = parse(given)
    assert exact(module) == given
    assert parse(normal(module)) == module


def statements(text: str) -> tuple[Statement, ...]:
    body = parse(kernel(text)).functions[0].body
    assert body is not None
    return body.items


def instruction(text: str) -> Instruction:
    (found,) = statements(text)
    assert isinstance(found, Instruction)
    return found


def operands(text: str) -> tuple[Operand, ...]:
    return instruction(text).operands


def declarations(text: str) -> list[Declaration]:
    return [i for i in parse(text).items if isinstance(i, Declaration)]


def test_guard_opcode_modifiers() -> None:
    found = instruction("@!%p1 ld.global.L1::no_allocate.v2.f32 {%f1, %f2}, [%rd1+-4];")
    assert found.guard == Guard("%p1", negated=True)
    assert (found.opcode, found.modifiers) == ("ld", ("global", "L1::no_allocate", "v2", "f32"))
    assert found.name == "ld.global.L1::no_allocate.v2.f32"
    assert found.operands == (Vector((Name("%f1"), Name("%f2"))), Address(Name("%rd1"), -4))


def test_modifiers_that_start_with_a_digit() -> None:
    found = instruction("tex.2d.v4.f32.f32 {%f1, _, _, _}, [t, s, {%f2, %f3}];")
    assert found.modifiers == ("2d", "v4", "f32", "f32")
    assert found.operands[1] == Address(Name("t"), 0, (Name("s"), Vector((Name("%f2"), Name("%f3")))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%tid.x", Name("%tid.x")), ("%r1.b0", Name("%r1.b0")), ("_", Name("_")), ("WARP_SZ", Name("WARP_SZ")),
        ("a|_", Pair(Name("a"), Name("_"))), ("!%p1", Negation(Name("%p1"))), ("a+4", Sum(Name("a"), 4)),
        ("a-4", Sum(Name("a"), -4)),
        ("a[3]", Subscript(Name("a"), Integer(3))), ("[a]", Address(Name("a"))), ("[a+0]", Address(Name("a"))),
        ("[64]", Address(Integer(64))), ("[a+4*8]", Address(Name("a"), 32)), ("{}", Vector(())), ("()", Group(())),
        ("(a, 3)", Group((Name("a"), Integer(3)))), ("{a, {b}}", Vector((Name("a"), Vector((Name("b"),))))),
        ("(3)", Group((Integer(3),))), ("(3)+1", Integer(4)), ("WARP_SZ*2", Integer(64)),
        ("0f3F800000", Float(0x3F800000, 32)), ("0D3ff0000000000000", Float(0x3FF0000000000000, 64)),
        ("1.0", Float(0x3FF0000000000000, 64)), ("-1.0", Float(0xBFF0000000000000, 64)), ("-0f3F800000", Float(0xBF800000, 32)),
        (".5", Float(0x3FE0000000000000, 64)), ("1e0", Float(0x3FF0000000000000, 64)),
    ],
)  # fmt: skip
def test_operand(text: str, expected: Operand) -> None:
    assert operands(f"x {text};") == (expected,)
    assert operands(f"x /**/ {text} /**/, //\n a;") == (expected, Name("a"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0), ("-1", -1), ("017", 15), ("0x1F", 31), ("0X1fU", 31), ("0b101", 5), ("12U", 12), ("- 3", -3), ("+3", 3),
        ("~0", -1),
        ("~0U", 2**64 - 1), ("!5", 0), ("!0", 1), ("0xFFFFFFFFFFFFFFFF", 2**64 - 1), ("-9223372036854775808", -(2**63)),
        ("9223372036854775807+1", -(2**63)), ("1+2*3", 7), ("(1+2)*3", 9), ("8-3-2", 3), ("-7/2", -3), ("-7 % 4", -3),
        ("7%-4", 3),
        ("1<<4|1", 17), ("1|2^3&4", 3), ("-1>>1", -1), ("-1U>>63", 1), ("1<<64", 1), ("3>2", 1), ("-1<0U", 0), ("-1<0", 1),
        ("2==2&&1!=1", 0), ("0||3", 1), ("1?2:3", 2), ("0?2:1?4:5", 4), ("(.u64)-1>0", 1), ("(.s64)0xFFFFFFFFFFFFFFFF", -1),
        ("1<=1", 1), ("2>=3", 0), ("WARP_SZ-1", 31),
    ],
)  # fmt: skip
def test_constant_expression(text: str, value: int) -> None:
    (found,) = declarations(f".global .s64 x = {text};")
    initialiser = found.declarators[0].initialiser
    assert initialiser == Initialiser((Integer(value),), braced=False)


def test_same_integer_whichever_way_it_is_read() -> None:
    for text in ("-9223372036854775808", "0xFFFFFFFFFFFFFFFF", "-1", "-0x8000000000000000", "18446744073709551615"):
        quick, slow = operands(f"x {text};"), operands(f"x {text} /**/;")
        assert quick == slow


def test_declaration() -> None:
    (found,) = declarations(
        ".visible .global .attribute(.managed) .align 16 .v2 .f32 a[4][], b = {1, {2, x, generic(x)+4, 0xff(x)}};"
    )
    assert (found.space, found.type, found.align, found.vector, found.linkage) == ("global", "f32", 16, 2, ("visible",))
    assert found.attributes == ("attribute(.managed)",)
    first, second = found.declarators
    assert (first.name, first.dimensions) == ("a", (4, None))
    inner = Initialiser((Integer(2), Name("x"), AddressOf("generic", "x", 4), AddressOf("0xff", "x")))
    assert second.initialiser == Initialiser((Integer(1), inner))


def test_sampler_settings() -> None:
    (found,) = declarations(".global .samplerref s = { filter_mode = linear, addr_mode_0 = 3 };")
    settings = (Setting("filter_mode", Name("linear")), Setting("addr_mode_0", Integer(3)))
    assert found.declarators[0].initialiser == Initialiser(settings)


def test_pointer_parameter() -> None:
    found = parse(".entry k(.param .u64 .ptr .global .align 8 a) { ret; }").functions[0].parameters[0]
    assert (found.attributes, found.pointer_align, found.align) == (("ptr", "global"), 8, None)


def test_function_header() -> None:
    text = '.weak .func .attribute(.unified(1, 2)) (.reg .b32 r) f(.reg .b32 a) .noreturn .maxntid 8, 4, 2 .pragma "x"; ;'
    (found,) = parse(text).functions
    assert (found.name, found.is_entry, found.linkage, found.body) == ("f", False, ("weak",), None)
    assert [(d.name, d.arguments) for d in found.directives] == [
        ("attribute", "(.unified(1, 2))"), ("noreturn", ""), ("maxntid", "8, 4, 2"), ("pragma", '"x"'),
    ]  # fmt: skip


def test_cluster_directives_take_no_arguments_of_others() -> None:
    (found,) = parse(".entry k() .explicitcluster .reqnctapercluster 2, 1, 1 .blocksareclusters { ret; }").functions
    assert [(d.name, d.arguments) for d in found.directives] == [
        ("explicitcluster", ""), ("reqnctapercluster", "2, 1, 1"), ("blocksareclusters", ""),
    ]  # fmt: skip


def test_line_directives_end_where_their_arguments_do() -> None:
    module = parse('.version 9.0 .target sm_90, // c\n debug .address_size 64 .file 1 "a;b" .file 2 "c", 3, 4\n')
    found = [(i.name, i.arguments) for i in module.items if isinstance(i, Directive)]
    assert found == [
        ("version", "9.0"), ("target", "sm_90, debug"), ("address_size", "64"), ("file", '1 "a;b"'), ("file", '2 "c", 3, 4'),
    ]  # fmt: skip
    assert (module.directive("version"), module.directive("missing")) == ("9.0", "")


def test_loc_in_front_of_an_instruction() -> None:
    found = statements(".loc 1 2 3, function_name $L_x + 4, inlined_at 1 5 6 ret;")
    assert isinstance(found[0], Directive)
    assert found[0].arguments == "1 2 3, function_name $L_x + 4, inlined_at 1 5 6"
    assert found[1] == Instruction("ret", (), ())


def test_section_keeps_its_contents() -> None:
    contents = '\n$L: .b8 1 // }\n/* } */ .b8 "}"\n'
    (found,) = parse(f".section .debug_info {{{contents}}}").items
    assert found == Section(".debug_info", contents)


def test_labelled_directives() -> None:
    found = statements("t: .branchtargets A, B;\nu /**/ : // x\n .calltargets f;\nA: B: ret;")
    assert found[0] == Directive("branchtargets", "A, B", "t", terminated=True)
    assert found[1] == Directive("calltargets", "f", "u", terminated=True)
    assert found[2:4] == (Label("A"), Label("B"))


def test_blocks_nest() -> None:
    (found,) = statements("{ .reg .pred p; { ret; } }")
    assert isinstance(found, Block)
    assert [type(i) for i in found.items] == [Declaration, Block]


def test_a_call_over_many_lines() -> None:
    spread, flat = instruction("call.uni (r),\nf,\n(\na, // x\nb\n)\n;"), instruction("call.uni (r), f, (a, b);")
    assert spread == flat
    assert spread.operands == (Group((Name("r"),)), Name("f"), Group((Name("a"), Name("b"))))


def test_spaces_and_comments_take_no_part_in_equality() -> None:
    assert parse(HEADER + ".entry k(){add.s32 a,b,0x10;}") == parse(
        HEADER + "\n.entry k ( ) { /**/ add.s32\ta , b , 16 ; // x\n}"
    )


def test_modifiers_and_components_may_stand_apart() -> None:
    apart = instruction("tex .2d /* x */ .v4.f32\n.f32 {v .x, v.x, %tid /**/ .y, _}, [t, {a, b}];")
    assert apart == instruction("tex.2d.v4.f32.f32 {v.x, v.x, %tid.y, _}, [t, {a, b}];")
    assert instruction("nanosleep .5;").operands == (Float(0x3FE0000000000000, 64),)


def test_what_a_preprocessor_leaves() -> None:
    text = HEADER + '# 12 "a.cu" 2\n.entry k() {\n#line 3\n add.s32 a, \\\n b, c; # 3\n}'.replace("#line 3", "# 3")
    assert exact(parse(text)) == text
    assert parse(text) == parse(HEADER + ".entry k() { add.s32 a, b, c; }")


def test_extents_cover_the_text() -> None:
    text = kernel("// lead\n\tadd.s32 %r1, %r2, 3; // trail", "ret;")
    function = parse(text).functions[0]
    assert isinstance(function, Function)
    assert function.body is not None
    first, second = function.body.items
    assert text[first.extent.start : first.extent.end] == "add.s32 %r1, %r2, 3;"
    assert text[first.extent.lead : first.extent.start] == "\n\t// lead\n\t"
    assert text[second.extent.lead : second.extent.start] == " // trail\n\t"


@pytest.mark.parametrize("seed", range(40))
def test_any_space_between_tokens(seed: int) -> None:
    source = random.Random(seed)
    spaces = (" ", "\n", "\t", "\r\n", " /* , ; } */ ", " // ] : .x\n", "  ")
    pieces: list[str] = []
    position = 0
    while position < len(COMPILED):
        found = TRIVIA.match(COMPILED, position) if COMPILED[position].isspace() else TOKEN.match(COMPILED, position)
        assert found is not None
        if not found.group().isspace():
            pieces.append(found.group())
        position = found.end()
    assert len(pieces) > 150
    text = "".join(piece + source.choice(spaces) for piece in pieces)
    assert parse(text) == parse(COMPILED)
    assert exact(parse(text)) == text
