"""Calls of functions that a module only declares."""

import pytest

from warploom.core import UnsupportedError, i32, i64
from warploom.ptx import lower, parse
from warploom.synth.compiled import ArrayArgument, Opaque, SymbolicRun, Undefined, number_of, run_symbolically

PAIR = ((0, i32), (4, i32))
FUNCTIONS = {"joined": Opaque((PAIR, PAIR), PAIR), "one": Opaque((), PAIR)}
STORED = """
    st.param.b32 [a+0], %r1;
    st.param.b32 [a+4], %r2;
    st.param.v2.b32 [b+0], {%r2, %r1};
"""
CALL = "call.uni (r), joined, (a, b);"


def run(body: str, functions: dict[str, Opaque] | None = None) -> tuple[SymbolicRun, ArrayArgument]:
    text = f"""
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .align 4 .b8 r[8]) joined (.param .align 4 .b8 a[8], .param .align 4 .b8 b[8]);
.extern .func (.param .align 4 .b8 r[8]) one ();
.extern .func (.param .align 4 .b8 r[8]) other ();
.visible .entry k(.param .u64 p, .param .u64 q)
{{
    .reg .b32 %r<9>;
    .reg .b16 %h<3>;
    .reg .b64 %d<5>;
    .reg .pred %p<3>;
    .param .align 4 .b8 a[8];
    .param .align 4 .b8 b[8];
    .param .align 4 .b8 r[12];
    ld.param.u64 %d1, [p];
    ld.param.u64 %d2, [q];
    ld.global.u32 %r1, [%d1];
    ld.global.u32 %r2, [%d1+4];
    {body}
    st.global.u32 [%d2], %r3;
    ret;
}}
"""
    out = ArrayArgument("y", i32, (1,), "undefined")
    arguments = (ArrayArgument("x", i32, (2,)), out)
    known = FUNCTIONS if functions is None else functions
    return run_symbolically(lower(parse(text, "k.ptx")), "k", arguments, (1, 1, 1), (1, 1, 1), functions=known), out


def test_a_result_is_a_function_of_all_that_is_passed() -> None:
    found, out = run(f"{STORED}{CALL} ld.param.b32 %r3, [r+4];")
    term = found.content(out, 0)
    assert not isinstance(term, Undefined)
    assert term.op == number_of("joined", 4)
    (call,) = term.args
    assert [str(a) for a in call.args] == ["x[0]", "x[1]", "x[1]", "x[0]"]
    constant = run("call.uni (r), one, (); ld.param.b32 %r3, [r];")[0].content(out, 0)
    assert not isinstance(constant, Undefined) and constant.args[0].args == ()


@pytest.mark.parametrize(
    "body", [f"{STORED.replace('%r1', '%r5')}{CALL} ld.param.b32 %r3, [r];", f"{STORED}{CALL} ld.param.b32 %r3, [r+8];"]
)
def test_what_is_undefined_stays_so(body: str) -> None:
    found, out = run(body)
    assert isinstance(found.content(out, 0), Undefined)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("call.uni (r), other, (); ld.param.b32 %r3, [r];", "a call of other"),
        (f"{CALL} ld.param.b32 %r3, [r];", "byte 0 of a"),
        (f"{STORED.replace('[a+4]', '[a+2]')}{CALL} ld.param.b32 %r3, [r];", "byte 4 of a"),
        (f"{STORED}{CALL} {CALL} ld.param.b32 %r3, [r];", "byte 0 of a"),
        (f"{STORED}{CALL} ld.param.b16 %h1, [r+2]; cvt.u32.u16 %r3, %h1;", "a number of 2 bytes at byte 2 of r"),
        ("ld.param.b32 %r3, [r];", "got none"),
        (f"{STORED} call.uni (r), joined, (a); ld.param.b32 %r3, [r];", "to take 2 structures"),
        (f"cvt.u32.u64 %r1, %d1; {STORED}{CALL} ld.param.b32 %r3, [r];", "an address"),
    ],
)
def test_what_is_not_followed(body: str, said: str) -> None:
    with pytest.raises(UnsupportedError, match=said):
        run(body)


def test_without_functions_calls_are_not_followed() -> None:
    with pytest.raises(UnsupportedError, match="a call of joined"):
        run(f"{STORED}{CALL} ld.param.b32 %r3, [r];", {})


def test_what_is_passed_are_whole_numbers_and_no_addresses() -> None:
    long = {"joined": Opaque((((0, i64),),), ((0, i32),))}
    with pytest.raises(UnsupportedError, match="expected data passed in a, got an address"):
        run("st.param.b64 [a], %d1; call.uni (r), joined, (a); ld.param.b32 %r3, [r];", long)
