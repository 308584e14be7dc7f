"""Each reason for which a load stays is the only one of some kernel."""

import pytest

from warploom.ptx.shuffle import ShuffleOptions, apply_all, shuffle
from warploom.ptx.syntax import parse

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
START = """.visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n)
{
	.reg .pred %p<9>;
	.reg .b16 %h<9>;
	.reg .b32 %r<20>;
	.reg .f32 %f<9>;
	.reg .b64 %rd<20>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	ld.param.u32 %r2, [n];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd2, %rd3;
	add.s64 %rd5, %rd1, %rd3;
"""
FIRST = "\tld.global.nc.f32 %f1, [%rd4];\n"
SECOND = "\tld.global.nc.f32 %f2, [%rd4];\n"
END = "\tadd.f32 %f3, %f1, %f2;\n\tst.global.f32 [%rd5], %f3;\n\tret;\n}\n"


def reasons(lines: str) -> list[str]:
    module = parse(HEAD + START + lines + END)
    (report,) = shuffle(module, ShuffleOptions(policy=apply_all)).reports
    assert len(report.judged) + len(report.refused) == report.loads
    return [r.reason for r in report.refused]


def test_the_second_load_is_covered_without_more() -> None:
    assert len(reasons(FIRST + SECOND)) == 1


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (FIRST + SECOND.replace("ld.global.nc", "ldu.global"), "ldu has an order of its own"),
        (FIRST + SECOND.replace(".nc", ".volatile"), "a volatile load is never replaced"),
        (FIRST + SECOND.replace("nc.f32 %f2, [%rd4]", "nc.L2::cache_hint.f32 %f2, [%rd4], %rd9"), "cache"),
        (FIRST.replace("f32 %f1", "b128 %q1").replace("\tld", "\t.reg .b128 %q<9>;\n\tld") + SECOND, "type .b128"),
        (FIRST.replace("%f1", "_") + SECOND, "drops the value"),
        (
            "\tmov.u32 %r9, 0;\n$L:\n"
            + FIRST
            + "\tadd.s32 %r9, %r9, 1;\n\tsetp.lt.u32 %p1, %r9, %r2;\n\t@%p1 bra $L;\n"
            + SECOND,
            "in a loop that is over by then",
        ),
        (
            "\tsetp.lt.u32 %p1, %r1, %r2;\n\t@%p1 bra $L;\n" + FIRST + "\tbra $M;\n$L:\n" + SECOND + "$M:\n",
            "does not always run before it, and never in a lane that comes to it",
        ),
        ("\tsetp.lt.u32 %p1, %r1, %r2;\n\t@%p1 " + FIRST.strip() + "\n" + SECOND, "runs under a predicate"),
        (
            "\tsetp.lt.u32 %p1, %r1, %r2;\n\t@%p1 ld.global.nc.f32 %f1, [%rd4];\n\tsetp.gt.u32 %p1, %r1, %r2;\n"
            "\t@%p1 ld.global.nc.f32 %f2, [%rd4];\n",
            "runs under a predicate",
        ),
        (
            "\tld.global.nc.b64 %rd7, [%rd4];\n\tsetp.lt.u32 %p1, %r1, %r2;\n\tmov.b64 %rd8, %rd4;\n"
            "\t@%p1 ld.global.nc.b64 %rd8, [%rd8];\n" + FIRST + SECOND,
            "overwrites its own address",
        ),
        (
            FIRST.replace("f32 %f1", "u16 %h1") + FIRST.replace("f32 %f1", "u16 %r7") + FIRST + SECOND,
            "different widths",
        ),
    ],
)
def test_why_a_load_stays(lines: str, told: str) -> None:
    found = reasons(lines)
    assert any(told in reason for reason in found), found


def test_a_predicate_that_is_set_anew_between_two_loads() -> None:
    """The same predicate kept is the case that is covered."""
    text = "\tsetp.lt.u32 %p1, %r1, %r2;\n\t@%p1 ld.global.nc.f32 %f1, [%rd4];\n{between}\t@%p1 ld.global.nc.f32 %f2, [%rd4];\n"
    assert len(reasons(text.replace("{between}", ""))) == 1
    assert len(reasons(text.replace("{between}", "\tsetp.gt.u32 %p1, %r1, %r2;\n"))) == 2


@pytest.mark.parametrize("address", ["%rd5", "4096", "%r9"])
def test_a_store_between_is_tested_for_at_64_bit_registers_alone(address: str) -> None:
    plain = FIRST.replace(".nc", "")
    lines = f"\tcvt.u32.u64 %r9, %rd5;\n{plain}\tst.global.f32 [{address}], %f1;\n{SECOND.replace('.nc', '')}"
    found = reasons(lines)
    assert any("may change what the load" in reason for reason in found) == (address != "%rd5"), found
