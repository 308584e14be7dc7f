"""Messages about wrong text: where it is, what was expected, what was found, what to do."""

import pytest

from warploom.core import UserError
from warploom.ptx.syntax import integer_literal, parse
from warploom.ptx.syntax.operands import OperandTable

from .spellings import kernel


def rendered(text: str) -> str:
    with pytest.raises(UserError) as caught:
        parse(text, "a.ptx")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "PTX_SYNTAX"
    return diagnostic.render()


BODY_LINE = 6
"""The line of the first statement of `kernel`."""


def test_message_shows_the_place() -> None:
    assert rendered(kernel("add.s32 %r1, %r2", "ret;")) == (
        "a.ptx:7:2: error[PTX_SYNTAX]: expected ';' after the operands of add, found 'ret'\n"
        "  \tret;\n"
        "   ^^^\n"
        "  fix: End the instruction with a semicolon, or separate operands by commas."
    )


@pytest.mark.parametrize(
    ("statement", "column", "message"),
    [
        ("add.s32 %r1, ;", 15, "expected an operand, found ';'"),
        ("add.s32 %r1, -%r2;", 15, "expected a register or a constant, found a minus before a name"),
        ("add.s32 %r1 %r2;", 14, "expected ';' after the operands of add, found '%r2'"),
        ("ld.u32 %r1, [%rd1;", 19, "expected ']' after the address, found ';'"),
        ("ld.u32 %r1, [%rd1+%r2];", 20, "expected an offset, found '%r2'"),
        ("mov.b64 {%r1, %r2, %rd1;", 25, "expected '}' after the list, found ';'"),
        ("call (r), f, (a;", 17, "expected ')' after the list, found ';'"),
        ("mov.u32 %r1, 08;", 15, "expected a constant of at most 64 bits, found '08'"),
        ("mov.u32 %r1, 0x1FFFFFFFFFFFFFFFF;", 15, "expected a constant of at most 64 bits, found '0x1FFFFFFFFFFFFFFFF'"),
        ("mov.u32 %r1, a[%r2;", 20, "expected ']' after the index, found ';'"),
        ("@ add.s32;", 7, "expected an instruction, found '.s32'"),
        ("@3 ret;", 3, "expected a predicate register, found '3'"),
        ("123;", 2, "expected an instruction, found '123'"),
        ("mov.u32 %r1, `;", 15, "expected a PTX token, found '`'"),
        ("mov.u32 %r1, \u00e9;", 15, "expected a PTX token, found '\u00e9'"),
        ("mov.u32 %r1, \udc80;", 15, "expected a PTX token, found '\\udc80'"),
        (".reg %r1;", 7, "expected a type such as .b32 in the declaration, found '%r1'"),
        (".reg .b32 .b64 a;", 12, "expected a name after the type .b32, found '.b64'"),
        (".reg .b32 a", 1, "expected ';' after the declaration, found '}'"),
        (".reg .b32 a b;", 14, "expected ';' after the declaration, found 'b'"),
        (".reg .b32 %r<;", 15, "expected how many registers, found ';'"),
        (".reg .b32 %r<9999999>;", 15, "expected 0 to 1048576 registers, found 9999999"),
        (".shared .b8 s[-1];", 16, "expected an array extent of at least 0, found -1"),
        (".shared .align 3 .b8 s[4];", 10, "expected an alignment that is a power of two, found 3"),
        (".shared .b8 s[4 / 0];", 18, "expected a divisor other than 0, found 0"),
        (".visible ret;", 11, "expected a state space such as .shared after .visible, found 'ret'"),
        (".entry l() { ret; }", 2, "expected a statement or '}', found .entry"),
        (".loc 1 2;", 7, "expected file, line and column numbers after .loc, found '1 2;'"),
        (".pragma \"a\" }", 14, "expected ';' after .pragma, found '}'"),
        ("t: .branchtargets a, b }", 25, "expected ';' after .branchtargets, found '}'"),
        ("mov.f32 %f1, .x;", 15, "expected an operand, found '.x'"),
        ("/* open", 2, "expected the end of the comment, found the end of the file"),
        ("{ ret;", 2, "expected '}' at the end of the body, found the end of the file"),
    ],
)  # fmt: skip
def test_statement(statement: str, column: int, message: str) -> None:
    if column == 1:
        place = f"a.ptx:{BODY_LINE + 1}:1"
    elif statement == "{ ret;":
        place = "a.ptx:5:1"
    else:
        place = f"a.ptx:{BODY_LINE}:{column}"
    assert rendered(kernel(statement)).splitlines()[0] == f"{place}: error[PTX_SYNTAX]: {message}"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("add.s32 a, b;", "1:1", "expected a directive such as .entry or .global, found 'add'"),
        (".version nine", "1:10", "expected a version such as 9.0 after .version, found 'nine'"),
        (".target 90", "1:9", "expected a target such as sm_90 after .target, found '90'"),
        (".address_size large", "1:15", "expected 32 or 64 after .address_size, found 'large'"),
        (".file one", "1:7", 'expected a number and a name in quotes, such as 1 "a.cu" after .file, found \'one\''),
        ('.file 1 "a\n', "1:7", 'expected a number and a name in quotes, such as 1 "a.cu" after .file, found \'1 "a\''),
        ('.pragma "a\n;', "1:9", "expected '\"' at the end of the string, found the end of the line"),
        (".visible 3", "1:10", "expected .entry, .func or a state space such as .global after .visible, found '3'"),
        (".entry () {}", "1:11", "expected the name of the function, found '{'"),
        (".entry k(a) {}", "1:10", "expected a parameter such as '.param .u64 name', found 'a'"),
        (".entry k(.u64 a) {}", "1:10", "expected a state space such as .param, found '.u64'"),
        (".entry k(.param .u64 a .param .u64 b) {}", "1:24", "expected ')' after the parameters, found '.param'"),
        (".entry k()", "1:11", "expected '{' or ';' after the header of k, found the end of the file"),
        (".entry k() ret;", "1:12", "expected '{' or ';' after the header of k, found 'ret'"),
        (".section .debug_info { .b8 1", "1:22", "expected '}' at the end of the section, found the end of the file"),
        (".section 3 {}", "1:10", "expected the name of a section such as .debug_str, found '3'"),
        (".global .attribute(.managed .b32 a;", "1:19", "expected ')' after .attribute, found the end of the file"),
        (".global .b32 a[] = {1 2};", "1:23", "expected '}' after the initial values, found '2'"),
        (".global .u64 a = generic(3);", "1:26", "expected a variable, found '3'"),
        (".future (a", "1:1", "expected the end of .future, found the end of the file"),
        (".global .b32 x = 1 ? 2 ;", "1:24", "expected ':' in the conditional constant, found ';'"),
    ],
)  # fmt: skip
def test_file(text: str, place: str, message: str) -> None:
    assert rendered(text).splitlines()[0] == f"a.ptx:{place}: error[PTX_SYNTAX]: {message}"


def test_depth_is_bounded() -> None:
    found = rendered(kernel("{" * 500))
    assert "expected at most 100 levels of braces, brackets and parentheses, found more" in found


def test_long_lines_are_not_shown() -> None:
    found = rendered(kernel("add.s32 " + "%r1, " * 1000 + ";"))
    assert found == "a.ptx:6:5010: error[PTX_SYNTAX]: expected an operand, found ';'"


def test_long_tokens_are_cut() -> None:
    assert rendered("a" * 10_000).splitlines()[0].endswith(f"found '{'a' * 60}...'")


def test_excerpt_is_printable() -> None:
    found = rendered(kernel("add /* \udcff\x07 */ ] ;"))
    assert "  \tadd /* ?? */ ] ;" in found
    found.encode("utf-8")


def test_what_the_short_ways_leave_to_the_parser() -> None:
    """Lists with an expression inside, and literals longer than any of 64 bits is written."""
    assert OperandTable().operands("{%r1, 12}") is not None
    assert OperandTable().operands("{%r1, 1+2}") is None
    assert integer_literal("0x" + "0" * 77 + "1") == (1, False)
    assert integer_literal("0x" + "0" * 78 + "1") is None
