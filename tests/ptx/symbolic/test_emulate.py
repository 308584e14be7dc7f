"""The emulator on small PTX texts: traces, versions of memory, merges, loops, path conditions, uniformity."""

from warploom.ptx.routine import lower
from warploom.ptx.symbolic import Access, Emulation, EmulationOptions, LaunchLimits, emulate
from warploom.ptx.syntax import Name, parse

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGISTERS = ".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<40>; .reg .f32 %f<9>;"


def emulated(
    body: str, parameters: str = ".param .u64 a, .param .u64 b, .param .u32 n", directives: str = "", **options: bool
) -> Emulation:
    text = f"{HEAD}.visible .entry k({parameters}) {directives}\n{{\n{REGISTERS}\n{body}\nret;\n}}\n"
    return emulate(lower(parse(text)).kernels[0], LaunchLimits(), EmulationOptions(**options))


def loads(emulation: Emulation) -> list[Access]:
    return [a for a in emulation.trace if a.kind == "load" and a.space != "param"]


def same_value(emulation: Emulation) -> bool:
    first, *_, second = loads(emulation)
    return first.values == second.values


POINTERS = (
    "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3;"
)
TWICE = POINTERS + "ld.global.f32 %f1, [%rd4]; {} ld.global.f32 %f2, [%rd4];"


def between(text: str) -> Emulation:
    return emulated(TWICE.format(text))


def test_a_load_again_has_the_same_value() -> None:
    assert same_value(between(""))


def test_what_invalidates_a_load() -> None:
    for text in (
        "st.global.f32 [%rd2], %f1;",
        "st.global.f32 [%rd4], %f1;",
        "st.global.u8 [%rd4+3], %h1;",
        "st.f32 [%rd2], %f1;",
        "atom.global.add.u32 %r9, [%rd2], 1;",
        "red.global.add.f32 [%rd2], %f1;",
        "bar.sync 0;",
        "bar.warp.sync -1;",
        "membar.gl;",
        "fence.acq_rel.gpu;",
        "ld.acquire.gpu.global.u32 %r9, [%rd2];",
        "cp.async.ca.shared.global [%rd2], [%rd1], 4; cp.async.wait_all;",
        "frobnicate.u32 %r9, [%rd2];",
        "@%p1 st.global.f32 [%rd2], %f1;",
        "{.param .b32 q; call (q), f, (q);}",
    ):
        assert not same_value(between(text)), text


def test_what_leaves_a_load_alone() -> None:
    for text in (
        "st.global.f32 [%rd4+4], %f1;",
        "st.global.f32 [%rd4+-4], %f1;",
        "st.shared.f32 [%rd2], %f1;",
        "st.local.f32 [%rd2], %f1;",
        "ld.global.f32 %f5, [%rd2];",
        "shfl.sync.down.b32 %r9, %r8, 1, 31, -1;",
        "prefetch.global.L2 [%rd2];",
    ):
        assert same_value(between(text)), text


def test_read_only_loads_stay() -> None:
    body = POINTERS + "ld.global.nc.f32 %f1, [%rd4]; st.global.f32 [%rd2], %f1; bar.sync 0; ld.global.nc.f32 %f2, [%rd4];"
    assert same_value(emulated(body))


def test_volatile_loads_differ() -> None:
    body = POINTERS + "ld.volatile.global.f32 %f1, [%rd4]; ld.volatile.global.f32 %f2, [%rd4];"
    assert not same_value(emulated(body))
    assert not loads(emulated(body))[0].is_weak


def test_a_store_of_another_index_may_alias_but_bounded_ones_may_not() -> None:
    body = """mov.u32 %r1, %tid.x; ld.param.u64 %rd1, [a]; mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd1, %rd3;
        and.b32 %r2, %r1, 7; mul.wide.u32 %rd5, %r2, 4; add.s64 %rd6, %rd1, %rd5;
        ld.global.f32 %f1, [%rd4]; st.global.f32 [%rd6+{}], %f1; ld.global.f32 %f2, [%rd4];"""
    assert not same_value(emulated(body.format(0)))
    assert same_value(emulated(body.format(4096)))


def test_vector_elements_are_scalars_at_their_addresses() -> None:
    body = POINTERS + "ld.global.nc.v2.f32 {%f1, %f2}, [%rd4]; ld.global.nc.f32 %f3, [%rd4+4];"
    first, second = loads(emulated(body))
    assert first.values[1] is second.values[0]
    assert (first.elements, first.size_bytes) == (2, 8)


def test_loads_of_different_width_differ() -> None:
    body = POINTERS + "ld.global.nc.u32 %r2, [%rd4]; ld.global.nc.u16 %r3, [%rd4]; ld.global.nc.s16 %r4, [%rd4];"
    emulation = emulated(body)
    wide, narrow, signed = (
        emulation.result(a.instruction, r) for a, r in zip(loads(emulation), ("%r2", "%r3", "%r4"), strict=True)
    )
    assert wide is not narrow
    assert narrow is not None and signed is not None
    assert (narrow.op, signed.op) == ("zext", "sext")


def test_merge_of_a_diamond_is_a_choice() -> None:
    body = """ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L1;
        add.s32 %r3, %r2, 5; bra L2;
        L1: add.s32 %r3, %r2, 7;
        L2: add.s32 %r4, %r3, 0;"""
    emulation = emulated(body)
    last = len(emulation.routine.instructions) - 1
    assert str(emulation.value(last, Name("%r4"))) == "0x5 + %tid.x + (zext32(%tid.x <u load(n)) << 0x1)"
    assert emulation.path_condition(emulation.graph.block_of(last)) == ()


def test_predicated_instructions_give_conditional_values() -> None:
    body = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; mov.u32 %r2, 3; @!%p1 mov.u32 %r2, 9; add.s32 %r4, %r2, 0;"
    emulation = emulated(body)
    last = len(emulation.routine.instructions) - 1
    assert emulation.value(last, Name("%r4")) is emulation.algebra(0).select(
        emulation.value(last, Name("%p1")), emulation.table.const(3, 32), emulation.table.const(9, 32)
    )


GUARDED = """mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; ld.param.u64 %rd1, [a];
    setp.ge.s32 %p1, %r1, %r2; setp.eq.s32 %p2, %r1, 0; or.pred %p3, %p1, %p2; @%p3 bra END;
    cvt.s64.s32 %rd2, %r1; add.s64 %rd3, %rd2, %rd1; ld.global.u8 %h1, [%rd3]; END:"""


def test_path_conditions_of_a_guard() -> None:
    emulation = emulated(GUARDED)
    (load,) = loads(emulation)
    assert {str(c) for c in emulation.path_condition(load.block)} == {"%tid.x <s load(n)", "%tid.x != 0x0"}
    facts = emulation.algebra(load.block).facts
    assert facts.unsigned(emulation.table.special("tid.x")) == (1, 1023)


def test_launch_bounds_of_the_kernel() -> None:
    body = "mov.u32 %r1, %tid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.y;"
    fixed = emulated(body, directives=".reqntid 64, 2")
    assert str(fixed.value(3, Name("%r2"))) == "0x40"
    assert fixed.algebra(0).facts.unsigned(fixed.table.special("tid.x")) == (0, 63)
    assert fixed.is_uniform(fixed.table.special("tid.y"))
    loose = emulated(body, directives=".maxntid 64, 2")
    assert loose.algebra(0).facts.unsigned(loose.table.special("tid.x")) == (0, 127)
    assert not loose.is_uniform(loose.table.special("tid.y"))


def test_uniform_terms() -> None:
    emulation = emulated("mov.u32 %r1, %tid.x;", directives=".reqntid 96")
    table, algebra = emulation.table, emulation.algebra(0)
    tid = table.special("tid.x")
    assert emulation.is_uniform(algebra.high(tid, 5))
    assert not emulation.is_uniform(algebra.high(tid, 4))
    assert not emulation.is_uniform(table.special("laneid"))
    assert emulation.is_uniform(algebra.mul(table.special("ctaid.x"), table.parameter("n", 0, 32)))


LOOP = """ld.param.u64 %rd1, [a]; ld.param.u32 %r9, [n]; mov.u32 %r1, {init}; mov.u32 %r7, 0;
    setp.ge.s32 %p1, %r1, %r9; @%p1 bra END;
    TOP: {body}
    add.s32 %r1, %r1, {step}; setp.lt.s32 %p2, %r1, %r9; @%p2 bra TOP;
    END: add.s32 %r8, %r1, 0;"""
ACCESS = "mul.wide.s32 %rd2, %r1, 4; add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f1, [%rd3];"


def looped(body: str = ACCESS, init: str = "%tid.x", step: str = "%ntid.x") -> Emulation:
    return emulated(LOOP.format(body=body, init=init, step=step))


def header(emulation: Emulation) -> int:
    (found,) = emulation.graph.loops
    return found


def test_induction_with_a_symbolic_step() -> None:
    emulation = looped()
    (load,) = loads(emulation)
    top = header(emulation)
    assert {r: str(s) for r, s in emulation.steps[top].items()} == {"%r1": "%ntid.x"}
    assert "%tid.x + %ntid.x * iteration(1)[0:32]" in str(load.address)
    conditions = {str(c) for c in emulation.path_condition(load.block)}
    assert "(%tid.x + %ntid.x * iteration(1)[0:32]) <s load(n)" in conditions


def test_induction_through_copies() -> None:
    emulation = looped("mov.u32 %r2, %r1; sub.s32 %r3, %r2, 4; add.s32 %r7, %r3, 8; " + ACCESS, step="4")
    assert {str(s) for s in emulation.steps[header(emulation)].values()} == {"0x4"}


def test_a_lagging_copy_keeps_its_thread_index() -> None:
    body = """mov.u32 %r9, %tid.x; add.s32 %r2, %r9, -3; mov.u32 %r1, %r9;
        TOP: mov.u32 %r3, %r2; add.s32 %r4, %r1, 0; add.s32 %r1, %r1, 3; mov.u32 %r2, %r4; setp.lt.u32 %p1, %r1, 400;
        @%p1 bra TOP; add.s32 %r8, %r2, 0;"""
    emulation = emulated(body)
    assert {r: str(s) for r, s in emulation.steps[header(emulation)].items()} == {"%r1": "0x3", "%r2": "0x3"}


def test_what_has_no_recurrence_is_unknown() -> None:
    emulation = looped("mul.lo.s32 %r7, %r1, %r7; add.s32 %r7, %r7, 1; " + ACCESS.replace("%r1", "%r7"))
    assert set(emulation.steps[header(emulation)]) == {"%r1"}
    assert "loop(1, %r7)" in str(loads(emulation)[0].address)


def test_a_conditional_step_is_no_recurrence() -> None:
    emulation = looped("setp.gt.u32 %p3, %r1, 9; @%p3 add.s32 %r7, %r7, 1; " + ACCESS.replace("%r1", "%r7"))
    assert "%r7" not in emulation.steps[header(emulation)]


def test_values_after_a_loop_are_those_of_its_last_iteration() -> None:
    emulation = looped()
    last = len(emulation.routine.instructions) - 1
    value = emulation.value(last, Name("%r8"))
    assert "iteration(1)'after.1" in str(value)
    assert emulation.table.counter(header(emulation)) not in emulation.table.leaves(value)


def test_a_store_in_a_loop_separates_its_iterations() -> None:
    fixed = "ld.global.f32 %f1, [%rd1]; {} "
    quiet, busy = looped(fixed.format("")), looped(fixed.format("st.global.f32 [%rd1+4], %f1;"))
    assert len(loads(quiet)[0].values[0].args) == 1
    assert len(loads(busy)[0].values[0].args) == 2


def test_loops_in_step() -> None:
    uniform, divergent = looped(init="%ctaid.x"), looped()
    assert uniform.lanes.in_step(header(uniform))
    assert not divergent.lanes.in_step(header(divergent))


def test_nested_loops() -> None:
    body = """ld.param.u64 %rd1, [a]; ld.param.u32 %r9, [n]; mov.u32 %r1, 0; mov.u64 %rd5, %rd1;
        OUT: mov.u32 %r2, 0; mov.u64 %rd6, %rd5;
        IN: ld.global.f32 %f1, [%rd6]; add.s64 %rd6, %rd6, 4; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r9; @%p1 bra IN;
        add.s64 %rd5, %rd5, 256; add.s32 %r1, %r1, 1; setp.lt.s32 %p2, %r1, %r9; @%p2 bra OUT;"""
    emulation = emulated(body)
    (load,) = loads(emulation)
    assert str(load.address) == "load(a) + (iteration(1) << 0x8) + (iteration(2) << 0x2)"
    assert load.loops == (1, 2)


def test_irreducible_flow_is_survived() -> None:
    body = """mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 4; ld.param.u64 %rd1, [a]; @%p1 bra B;
        A: add.s32 %r1, %r1, 1; ld.global.f32 %f1, [%rd1];
        B: add.s32 %r1, %r1, 2; ld.global.f32 %f2, [%rd1]; setp.lt.u32 %p2, %r1, 99; @%p2 bra A;"""
    emulation = emulated(body)
    assert not emulation.graph.is_reducible
    assert not same_value(emulation)


def test_unknown_instructions_make_unknown_values() -> None:
    emulation = emulated("mov.u32 %r1, %tid.x; frobnicate.u32 %r1, %r2; add.s32 %r3, %r1, 0;")
    assert emulation.value(3, Name("%r3")).op == "opaque"
    assert emulation.value(3, Name("%r2")).op == "opaque"
    assert emulation.trace[-1].kind == "unknown"


def test_assumed_sums_are_recorded() -> None:
    body = (
        "ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; add.s32 %r3, %r1, %r2; mul.wide.s32 %rd1, %r3, 4; ld.global.f32 %f1, [%rd1];"
    )
    careful, bold = emulated(body), emulated(body, assume_nsw=True)
    assert careful.assumptions == ()
    assert [str(a.term) for a in bold.assumptions] == ["load(n) + %tid.x"]
    assert str(loads(bold)[0].address) == "((sext64(load(n)) + zext64(%tid.x)) * 0x4)"
    assert "sext64(load(n) + %tid.x)" in str(loads(careful)[0].address)


def test_long_hashes_stay_small() -> None:
    rounds = "".join(
        f"shf.l.wrap.b32 %r2, %r1, %r1, {3 + n % 7}; xor.b32 %r3, %r1, %r2; mad.lo.s32 %r1, %r3, %r1, %r2; shr.u32 %r4, %r1, 5;"
        "xor.b32 %r1, %r1, %r4;"
        for n in range(60)
    )
    emulation = emulated(f"mov.u32 %r1, %tid.x; {rounds} cvt.u64.u32 %rd1, %r1; ld.global.u32 %r9, [%rd1];")
    assert len(emulation.table) < 20_000
    assert loads(emulation)[0].address is not None


def test_remainders_by_what_may_be_zero_are_unknown_functions() -> None:
    emulation = emulated(
        "mov.u32 %r1, %tid.x; ld.param.u32 %r2, [n]; rem.u32 %r3, %r1, %r2; rem.u32 %r4, %r1, 10; mov.u32 %r5, 0;"
    )
    last = len(emulation.routine.instructions) - 1
    assert emulation.value(last, Name("%r3")).op == "function"
    assert str(emulation.value(last, Name("%r4"))) == "%tid.x + (- (0xa * (%tid.x /u 0xa)))"


def test_magic_numbers_are_divisions() -> None:
    body = "mov.u32 %r1, %tid.x; mul.hi.s32 %r2, %r1, 1717986919; shr.s32 %r3, %r2, 2; add.s32 %r4, %r3, 0;"
    emulation = emulated(body)
    assert str(emulation.value(3, Name("%r3"))) == "%tid.x /u 0xa"


def test_masks_and_shifts_have_one_form() -> None:
    body = """mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 31; shl.b32 %r3, %r2, 2; shl.b32 %r4, %r1, 2; and.b32 %r5, %r4, 124;
        bfe.u32 %r6, %r1, 0, 5; shl.b32 %r7, %r6, 2; shr.u32 %r8, %r1, 5; shl.b32 %r9, %r8, 5; sub.s32 %r10, %r1, %r9;
        rem.u32 %r11, %r1, 32; and.b32 %r12, %r1, -32; mov.u32 %r13, 0;"""
    emulation = emulated(body)
    last = len(emulation.routine.instructions) - 1

    def value(n: int) -> str:
        return str(emulation.value(last, Name(f"%r{n}")))

    assert value(3) == value(5) == value(7)
    assert value(2) == value(6) == value(10) == value(11)
    assert value(9) == value(12)


def test_signed_bytes_keep_their_sign() -> None:
    emulation = emulated("mov.u32 %r1, %tid.x; cvt.s8.s32 %r2, %r1; cvt.u8.u32 %r3, %r1; mov.u32 %r4, 0;")
    assert str(emulation.value(3, Name("%r2"))) == "sext32(%tid.x[0:8])"
    assert str(emulation.value(3, Name("%r3"))) == "zext32(%tid.x[0:8])"


def test_paths_on_unequal_predicates() -> None:
    """Below the branch both comparisons agree."""
    body = """mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5; setp.lt.u32 %p2, %r1, 9; xor.pred %p3, %p1, %p2; {} bra OUT;
        selp.u32 %r3, 1, 0, %p3; OUT: mov.u32 %r4, 0;"""
    for guard, value in (("@%p3", 0), ("@!%p3", 1)):
        emulation = emulated(body.format(guard))
        found = emulation.result(5, "%r3")
        assert found is not None
        assert emulation.algebra(emulation.graph.block_of(5)).facts.unsigned(found) == (value, value)


def test_malformed_instructions_have_unknown_results() -> None:
    for text in (
        "cvt.s64.s64.u32 %rd6, %rd5;",
        "setp.lt.ftz %p1, %r3, %r1;",
        "mad.cc.f64 %r1, %r2;",
        "mul.wide.u32.cc %rd1, %r2, %r3;",
        "add.cc.f32 %f1, %f2, %f3;",
        "mov.b32 {%h1, %h2, %h3}, %r1;",
        "slct.s32.s32.f32.u8 %r1, %r2, %r3, %r4;",
        "@n mov.u32 %r1, %r2;",
        "@%r5 mov.u32 %r1, %r2;",
        "L: @n bra L;",
        "add.u32;",
        "ld.global.u32 %r1;",
        "ld.global [%rd1], %r1;",
    ):
        emulation = emulated(text)
        (result,) = {v.op for v in emulation.blocks[0].results.get(0, {}).values()} or {"opaque"}
        assert result in ("opaque", "select"), text
