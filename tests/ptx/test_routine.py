"""Lowering: scopes, names, labels, variables."""

import pytest

from warploom.core import UserError
from warploom.ptx.routine import Program, Routine, lower
from warploom.ptx.syntax import instruction_text, parse

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"


def program(text: str) -> Program:
    return lower(parse(HEADER + text, "a.ptx"))


def routine(body: str, parameters: str = ".param .u64 k_param_0") -> Routine:
    return program(f".entry k({parameters}) {{ {body} }}").kernel()


def texts(found: Routine) -> list[str]:
    return [instruction_text(i) for i in found.instructions]


def faults(text: str) -> list[str]:
    with pytest.raises(UserError) as caught:
        program(text)
    return [f"{d.span.line}: {d.code}: {d.message}" for d in caught.value.diagnostics]


def test_inner_register_hides_the_outer_one() -> None:
    found = routine("""
        .reg .b32 %r<9>; .reg .pred p;
        { .reg .b32 %r<3>; .reg .f32 p; add.s32 %r1, %r2, %r5; mov.f32 p, p; }
        add.s32 %r1, %r2, %r5; @p ret;""")
    assert texts(found) == ["add.s32 %r1'2, %r2'3, %r5;", "mov.f32 p'1, p'1;", "add.s32 %r1, %r2, %r5;", "@p ret;"]
    assert found.registers["p'1"] == "f32"
    assert found.registers["p"] == "pred"


def test_outer_register_keeps_its_name_when_the_inner_one_is_used_first() -> None:
    found = routine("{ .reg .b32 %r<3>; mov.b32 %r1, 0; } mov.b32 %r1, 1; .reg .b32 %r<3>;")
    assert texts(found) == ["mov.b32 %r1'1, 0;", "mov.b32 %r1, 1;"]


def test_inline_assembly_used_several_times() -> None:
    block = "{ .reg .pred p; setp.ne.u32 p, %r1, 0; @p bra LAB; add.u32 %r1, %r1, 1; LAB: }"
    found = routine(f".reg .b32 %r<2>; {block * 3} ret;")
    names = [i.guard.name for i in found.instructions if i.guard is not None]
    assert len(set(names)) == 3
    assert sorted(found.labels.values()) == [3, 6, 9]
    targets = [i.operands[0] for i in found.instructions if i.opcode == "bra"]
    assert len(set(targets)) == 3


def test_call_sequences_declare_their_parameters_anew() -> None:
    call = "{ .param .b64 param0; st.param.b64 [param0], %d1; call f, (param0); }"
    found = program(
        f".func f(.param .b64 a) {{ ret; }} .entry k() {{ .reg .b64 %d<2>; {call * 2} ret; }}"
    ).kernel("k")  # fmt: skip
    assert texts(found)[0] == "st.param.b64 [param0], %d1;"
    assert texts(found)[2] == "st.param.b64 [param0'1], %d1;"
    assert texts(found)[3] == "call f, (param0'1);"
    assert {v.space for v in found.variables.values()} == {"param"}


def test_registers_of_a_range_are_made_when_used() -> None:
    found = routine(".reg .b32 %r<100000>; .reg .v2 .f32 v<4>; mov.b32 %r99999, 0; mov.f32 v3.x, v2.y;")
    assert found.registers == {"%r99999": "b32", "v3": "f32", "v2": "f32"}
    assert found.register_vectors == {"v3": 2, "v2": 2}


@pytest.mark.parametrize("name", ["%r3", "%r03", "%r", "%r-1", "%rx"])
def test_names_outside_a_range(name: str) -> None:
    with pytest.raises(UserError):
        routine(f".reg .b32 %r<3>; mov.b32 {name}, 0;")


def test_labels_in_scopes() -> None:
    found = routine("L: bra L; { L: bra L; { bra L; } } bra L;")
    assert texts(found) == ["bra L;", "bra L'1;", "bra L'1;", "bra L;"]
    assert found.labels == {"L": 0, "L'1": 1}


def test_branch_targets() -> None:
    found = routine(".reg .b32 i; { t: .branchtargets A, B; brx.idx i, t; A: ret; B: ret; }")
    assert found.targets == {"t": ("A", "B")}


def test_components_and_special_registers() -> None:
    body = ".reg .v4 .b32 v; mov.b32 v.x, %tid.x; mov.b32 v.w, %laneid; mov.u64 v.y, %clock64; mov.u32 v.x, WARP_SZ; "
    body += "mov.v4.u32 v, %clusterid;"
    assert len(texts(routine(body))) == 5


def test_variables() -> None:
    text = """.global .align 16 .v2 .f32 g[2][3] = {{1.0, 2.0}};
.const .b32 c[] = {1, 2, 3}; .extern .shared .align 8 .b8 dynamic[];
.entry k(.param .u64 .ptr .global .align 32 p) { .shared .u16 s[5]; .local .b8 l; .param .b32 q<2>; ret; }"""
    found = program(text)
    assert {n: (v.space, v.size_bytes, v.align) for n, v in found.variables.items()} == {
        "g": ("global", 48, 16), "c": ("const", 12, 4), "dynamic": ("shared", 0, 8),
    }  # fmt: skip
    kernel = found.kernel()
    assert kernel.parameters[0].pointer_align == 32
    assert {n: v.size_bytes for n, v in kernel.variables.items()} == {"p": 8, "s": 10, "l": 1, "q0": 4, "q1": 4}


def test_directives() -> None:
    found = program(".entry k() .maxntid 256, 0x2U, 1 .minnctapersm 2 .explicitcluster { ret; }").kernel()
    assert found.directive("maxntid") == (256, 2, 1)
    assert found.directive("explicitcluster") == ()
    assert found.directive("reqntid") is None


def test_declared_functions() -> None:
    found = program(".extern .func e; .func f; .func f() { ret; } .alias g, f; .entry k() { call f; call e; call g; ret; }")
    assert set(found.routines) == {"f", "k"}
    assert set(found.declared) == {"e"}


def test_choice_of_kernel() -> None:
    two = program(".entry a() { ret; } .entry b() { ret; }")
    assert two.kernel("b").name == "b"
    with pytest.raises(UserError, match="expected one kernel, found 2: a, b"):
        two.kernel()
    with pytest.raises(UserError, match="expected one of a, b, got 'c'"):
        two.kernel("c")
    with pytest.raises(UserError, match=r"expected a kernel \(.entry\), found none"):
        program("").kernel()


def test_faults_are_collected() -> None:
    text = """.entry k() {
 .reg .b32 a; .reg .f32 a;
 .reg .b32 %r<4>; .reg .b32 %r3; .reg .b32 %r<2>;
 add.s32 a, b, [c];
 @q bra NOWHERE;
 L: L: ret;
}"""
    assert faults(text) == [
        "5: PTX_NAME: expected a new name, a is declared twice",
        "6: PTX_NAME: expected new names, %r0 is declared twice",
        "9: PTX_LABEL: expected a new label, L is defined twice",
        "7: PTX_NAME: expected a declared name in add.s32, b is not declared",
        "7: PTX_NAME: expected a declared name in add.s32, c is not declared",
        "8: PTX_LABEL: expected a label of k after bra, found 'NOWHERE'",
        "8: PTX_NAME: expected a declared name in bra, q is not declared",
    ]


def test_a_name_of_a_range_declared_again() -> None:
    assert faults(".entry k() { .reg .b32 %r<4>; .reg .b32 %r3; }") == [
        "4: PTX_NAME: expected a new name, %r3 is declared twice"
    ]  # fmt: skip


def test_only_an_alias_makes_a_name_known() -> None:
    given = ".global .b32 g; .func f() { ret; } .alias h, f;\n"
    use = ".entry k() {{ .reg .b64 x; mov.u64 x, {name}; ret; }}"
    for name in ("g", "f", "h"):
        program(given + use.format(name=name))
    for name in ("sm_90", "other"):
        assert len(faults(given + use.format(name=name))) == 1
