"""wgmma in proofs: factors where the layouts of shared memory say, sums where those of fragments do, each order alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.synth.compiled.programs import HEAD, proved

from warploom.core import UnsupportedError, f16, f32
from warploom.layout import map_of_text, tile
from warploom.layout.cute import canonical
from warploom.layout.distributed.fragments import fragment
from warploom.synth.compiled import ArrayArgument, CompiledProof

DEEP, THREADS = 16, 128
LINES = {"INTER": 16, "SW32": 32, "SW64": 64, "SW128": 128}
MODES = {"INTER": 0, "SW32": 3, "SW64": 2, "SW128": 1}
Places = NDArray[np.int64]


def places_of(atoms: str, rows: int, deep: int) -> Places:
    """[rows, deep]: where each element of a matrix lies in these atoms, by the layout package."""
    there = tile(f"{rows}x{deep}:b16")
    text = canonical(atoms, there)
    assert text is not None
    return map_of_text(text, there).table.reshape(rows, deep)


def matrix(atoms: str, rows: int) -> tuple[Places, int, int, int]:
    """Places of the first 16 of k, elements of all, and the bytes of a descriptor's leading offset and stride."""
    name, _, major = atoms.partition(":")
    line = LINES[name] // 2
    deep = DEEP if major else max(DEEP, line)
    places = places_of(atoms, rows, deep)
    if name == "INTER":
        far, near = (8, 0), (0, 8)
        steps = [int(places[at]) if places.shape[0] > at[0] else 0 for at in (far, near)]
        leading, stride = (steps[1], steps[0]) if not major else (int(places[0, 8]), steps[0])
    elif major:
        leading = int(places[line, 0]) if rows > line else 0
        stride = int(places[0, 8] ^ places[0, 0])
    else:
        leading, stride = 8, 8 * line
    return places[:, :DEEP], max(rows * deep, 2 * THREADS), 2 * leading, 2 * stride


def word(atoms: str, leading: int, stride: int) -> int:
    return leading >> 4 << 16 | stride >> 4 << 32 | MODES[atoms.partition(":")[0]] << 62


def copied(name: str, pointer: str, elements: int) -> list[str]:
    """Each thread copies every 128th word of an array into shared memory."""
    lines = [f"mov.u32 %r3, {name};", "shl.b32 %r4, %r1, 2;", "add.u32 %r3, %r3, %r4;", "cvt.u64.u32 %rd9, %r4;"]
    lines.append(f"add.u64 %rd9, {pointer}, %rd9;")
    for at in range(0, 2 * elements, 4 * THREADS):
        lines += [f"ld.global.b32 %r5, [%rd9+{at}];", f"st.shared.b32 [%r3+{at}], %r5;"]
    return lines


def product(columns: int, majors: str = "0, 0") -> str:
    registers = ", ".join(f"%f{n}" for n in range(columns // 2))
    return f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.f16.f16 {{{registers}}}, %rd5, %rd6, %p1, 1, 1, {majors};"


FENCES = ["fence.proxy.async.shared::cta;", "bar.sync 0;"]
ENDING = ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 0;"]


def kernel(a: str = "SW128", b: str = "INTER", columns: int = 8, change: tuple[str, str] = ("", "")) -> str:
    """One product of two factors that lie in these atoms. change: a text, and another one in its first place."""
    (_, size_a, *steps_a), (_, size_b, *steps_b) = matrix(a, 64), matrix(b, columns)
    registers = [f"%f{n}" for n in range(columns // 2)]
    majors = f"{int(a.endswith('mn'))}, {int(b.endswith('mn'))}"
    lines = [
        "ld.param.u64 %rd1, [out];", "ld.param.u64 %rd2, [a];", "ld.param.u64 %rd3, [b];", "mov.u32 %r1, %tid.x;",
        *copied("tile_a", "%rd2", size_a), *copied("tile_b", "%rd3", size_b), *FENCES,
        "setp.eq.u32 %p1, 0, 0;",
        *(f"mov.f32 {r}, 0f00000000;" for r in registers),
        "mov.u32 %r6, tile_a;", "shr.u32 %r6, %r6, 4;", "cvt.u64.u32 %rd5, %r6;", f"add.u64 %rd5, %rd5, {word(a, *steps_a)};",
        "mov.u32 %r7, tile_b;", "shr.u32 %r7, %r7, 4;", "cvt.u64.u32 %rd6, %r7;", f"add.u64 %rd6, %rd6, {word(b, *steps_b)};",
        "wgmma.fence.sync.aligned;", product(columns, majors), *ENDING,
        f"mul.lo.u32 %r8, %r1, {2 * columns};", "cvt.u64.u32 %rd7, %r8;", "add.u64 %rd1, %rd1, %rd7;",
        *(f"st.global.f32 [%rd1+{4 * n}], {r};" for n, r in enumerate(registers)),
        "ret;",
    ]  # fmt: skip
    text = "\n\t".join(lines)
    assert change[0] in text, change
    text = text.replace(*change, 1)
    declared = f".reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>; .reg .f32 %f<{columns}>;"
    shared = "\n".join(f"\t.shared .align 1024 .b8 {n}[{2 * s}];" for n, s in (("tile_a", size_a), ("tile_b", size_b)))
    parameters = ", ".join(f".param .u64 {name}" for name in ("out", "a", "b"))
    return f"{HEAD.replace('sm_90', 'sm_90a')}.visible .entry k({parameters})\n{{\n{shared}\n\t{declared}\n\t{text}\n}}\n"


def judged(text: str, a: str = "SW128", b: str = "INTER", columns: int = 8) -> CompiledProof:
    (at_a, size_a, *_), (at_b, size_b, *_) = matrix(a, 64), matrix(b, columns)
    layout = fragment(f"wgmma:m64n{columns}:D:f32")
    assert layout is not None
    order = layout.elements.reshape(-1)

    def spec(out: Any, a: Any, b: Any) -> None:
        for place, element in enumerate(order.tolist()):
            i, j = divmod(element, columns)
            total = a[int(at_a[i, 0])] * b[int(at_b[j, 0])]
            for k in range(1, DEEP):
                total = total + a[int(at_a[i, k])] * b[int(at_b[j, k])]
            out[place] = total

    sizes = (("out", f32, order.size), ("a", f16, size_a), ("b", f16, size_b))
    return proved(text, spec, tuple(ArrayArgument(name, dtype, (n,)) for name, dtype, n in sizes), 1, THREADS)


SLOW = [
    ("SW64", "SW32", 8), ("SW32", "SW64", 8), ("SW128", "SW128", 16), ("SW128:mn", "SW128", 8), ("INTER:mn", "INTER", 8),
    ("SW64:mn", "SW32:mn", 16), ("SW32:mn", "SW64:mn", 32), ("SW128", "SW128:mn", 128),
]  # fmt: skip


@pytest.mark.parametrize(
    ("a", "b", "columns"),
    [("SW128", "INTER", 8), ("INTER", "SW128", 8), *(pytest.param(*s, marks=pytest.mark.slow) for s in SLOW)],
)
def test_products_are_where_the_layouts_say(a: str, b: str, columns: int) -> None:
    proof = judged(kernel(a, b, columns), a, b, columns)
    assert proof.verdict == "proved", proof.reason
    assert "wgmma: its sums taken as sums of reals" in proof.domain


@pytest.mark.parametrize("other", ["SW64", "SW32", "INTER"])
def test_factors_in_other_atoms_are_refuted(other: str) -> None:
    """The bytes are those of one layout, the descriptor that of another."""
    right, wrong = (word(name, *matrix(name, 64)[2:]) for name in ("SW128", other))
    text = kernel(change=(f"add.u64 %rd5, %rd5, {right};", f"add.u64 %rd5, %rd5, {wrong};"))
    assert judged(text).verdict == "refuted"


ROWS, COLUMNS = (f"add.u64 {register}, {register}, " for register in ("%rd5", "%rd6"))
PRODUCT = product(16)
MISPLACED = {
    "rows further apart": (ROWS, f"{ROWS}{64 << 32}; {ROWS}"),
    "rows nearer to each other": (ROWS, f"sub.u64 %rd5, %rd5, {32 << 32}; {ROWS}"),
    "columns further apart": (COLUMNS, f"{COLUMNS}{8 << 32}; {COLUMNS}"),
    "columns in one place": (COLUMNS, f"sub.u64 %rd6, %rd6, {8 << 32}; {COLUMNS}"),
    "halves of k further apart": (COLUMNS, f"{COLUMNS}{8 << 16}; {COLUMNS}"),
    "halves of k in one place": (COLUMNS, f"sub.u64 %rd6, %rd6, {16 << 16}; {COLUMNS}"),
    "lines of 64 bytes": (ROWS, f"{ROWS}{1 << 62}; {ROWS}"),
    "the next slice": (ROWS, f"{ROWS}2; {ROWS}"),
    "half a slice further": (ROWS, f"{ROWS}1; {ROWS}"),
    "the next rows": (ROWS, f"{ROWS}64; {ROWS}"),
    "the next columns": (COLUMNS, f"{COLUMNS}16; {COLUMNS}"),
    "rows along the other axis": ("1, 1, 0, 0", "1, 1, 1, 0"),
    "columns along the other axis": ("1, 1, 0, 0", "1, 1, 0, 1"),
    "factors changed about": ("%rd5, %rd6, %p1", "%rd6, %rd5, %p1"),
    "half of the columns": (PRODUCT, product(8)),
    "more columns": (PRODUCT, product(32)),
    "results changed about": ("{%f0, %f1,", "{%f1, %f0,"),
    "a sum that does not begin at zero": ("mov.f32 %f0, 0f00000000;", "mov.f32 %f0, 0f3F800000;"),
    "a product added twice": (PRODUCT, f"{PRODUCT} {PRODUCT}"),
    "no product": (PRODUCT, ""),
}


@pytest.mark.parametrize("bug", MISPLACED)
def test_misplaced_factors_are_refuted(bug: str) -> None:
    proof = judged(kernel(columns=16, change=MISPLACED[bug]), columns=16)
    assert proof.verdict == "refuted", proof.reason


def test_sums_that_nothing_is_added_to_may_begin_anywhere() -> None:
    text = kernel(change=("setp.eq.u32 %p1, 0, 0;", "setp.ne.u32 %p1, 0, 0;"))
    text = text.replace("mov.f32 %f0, 0f00000000", "mov.f32 %f0, 0f3F800000")
    assert judged(text).verdict == "proved"


FENCE, SHOW, MEET = "wgmma.fence.sync.aligned;", *FENCES
COMMIT, WAIT = ENDING
REFUTED = {
    "no fence of registers": ((FENCE, ""), "wgmma.fence"),
    "a write behind the fence": ((FENCE, f"{FENCE} mov.f32 %f0, 0f00000000;"), "wgmma.fence"),
    "no fence of proxies": ((SHOW, ""), "fence.proxy.async"),
    "a fence of proxies for global memory": ((SHOW, "fence.proxy.async.global;"), "fence.proxy.async"),
    "a fence of proxies that only some execute": ((SHOW, f"setp.lt.u32 %p2, %r1, 64; @%p2 {SHOW}"), "fence.proxy.async"),
    "no barrier": ((MEET, ""), "race"),
    "no wait": ((WAIT, ""), ""),
    "no commit": ((COMMIT, ""), ""),
    "a wait that leaves a group": ((WAIT, "wgmma.wait_group.sync.aligned 1;"), ""),
    "a result written before the wait": ((WAIT, f"mov.f32 %f0, 0f00000000; {WAIT}"), "%f0"),
    "a factor written before the wait": ((WAIT, f"st.shared.b32 [tile_a], 0; {WAIT}"), "race"),
    "a factor written by one thread before the wait": (
        (WAIT, f"setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.b32 [tile_a], 0; {WAIT}"),
        "race",
    ),
    "a factor written between barriers before the wait": (
        (WAIT, f"{MEET} setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.b32 [tile_a], 0; {MEET} {WAIT}"),
        "not to change",
    ),
    "a row written by its own warp behind the wait": (
        (WAIT, f"{WAIT} setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.b32 [tile_a], 0;"),
        "race",
    ),
    "a row that its own warp wrote behind the barrier": (
        (MEET, f"{MEET} setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.b32 [tile_a], 0; {SHOW}"),
        "race",
    ),
    "a product of half a group": (("wgmma.mma_async", "setp.lt.u32 %p2, %r1, 64; @%p2 wgmma.mma_async"), "shuffle"),
    "a place beyond shared memory": (("add.u64 %rd5, %rd5, ", "add.u64 %rd5, %rd5, 512; add.u64 %rd5, %rd5, "), "out of bounds"),
}


@pytest.mark.parametrize("bug", REFUTED)
def test_what_is_not_ordered_is_refuted(bug: str) -> None:
    change, told = REFUTED[bug]
    proof = judged(kernel(change=change))
    assert proof.verdict == "refuted"
    assert told in f"{proof.reason} {proof.fault.kind if proof.fault is not None else ''}"


ORDERED = {
    "both fences behind the barrier": ((f"{SHOW}\n\t{MEET}", f"{MEET} {SHOW}")),
    "two groups": ((COMMIT, f"{COMMIT} {COMMIT}")),
    "a wait that leaves an empty group": ((f"{COMMIT}\n\t{WAIT}", f"{COMMIT} {COMMIT} wgmma.wait_group.sync.aligned 1;")),
    "a factor written behind the wait": ((WAIT, f"{WAIT} {MEET} setp.eq.u32 %p2, %r1, 0; @%p2 st.shared.b32 [tile_a], 0;")),
}


@pytest.mark.parametrize("order", ORDERED)
def test_other_orders_are_proved(order: str) -> None:
    proof = judged(kernel(change=ORDERED[order]))
    assert proof.verdict == "proved", proof.reason


REFUSED = {
    "a deeper product": (("m64n8k16", "m64n8k32"), "follows"),
    "fewer results than columns": (("m64n8k16", "m64n16k16"), "follows"),
    "rows in registers": (("%rd5, %rd6, %p1", "{%r1, %r2, %r3, %r4}, %rd6, %p1"), "follows"),
    "a descriptor of memory of a thread": (
        ("mov.u32 %r6, tile_a;", ".local .align 1024 .b8 own[8192]; mov.u32 %r6, own;"),
        "a descriptor of shared memory",
    ),
    "another product": ((".f32.f16.f16", ".f16.f16.f16"), "follows"),
    "changed signs": (("%p1, 1, 1, 0, 0", "%p1, -1, 1, 0, 0"), "follows"),
    "a wait for a number in a register": (("wait_group.sync.aligned 0", "wait_group.sync.aligned %r1"), "follows"),
    "a product that some threads do not add to": (("setp.eq.u32 %p1, 0, 0", "setp.lt.u32 %p1, %r1, 64"), "all of which add"),
    "a jump between": ((FENCE, f"{FENCE} bra $there; $there:"), "straight behind"),
    "a result read behind the fence": ((FENCE, f"{FENCE} mov.f32 %f7, %f0;"), "straight behind"),
    "a descriptor of a number": (("mov.u32 %r6, tile_a;", "mov.u32 %r6, 0;"), "a descriptor of a place"),
    "a descriptor of the address": (("shr.u32 %r6, %r6, 4;", ""), "a descriptor of a place"),
    "descriptors that differ": (("shr.u32 %r6, %r6, 4;", "shr.u32 %r6, %r6, 4; add.u32 %r6, %r6, %r1;"), "one descriptor"),
    "a base offset": (("wgmma.fence", "add.u64 %rd5, %rd5, 562949953421312; wgmma.fence"), "base offset"),
    "a place in a later line": (("add.u64 %rd5, %rd5, ", "add.u64 %rd5, %rd5, 8; add.u64 %rd5, %rd5, "), "first line of an atom"),
    "a fence of proxies of some behind the barrier": (
        (f"{SHOW}\n\t{MEET}", f"{MEET} setp.lt.u32 %p2, %r1, 32; @%p2 {SHOW}"),
        "of all threads behind a barrier",
    ),
    "a product behind a wait": ((WAIT, f"{WAIT} {product(8)}"), "between the wait"),
}  # fmt: skip


@pytest.mark.parametrize("reason", REFUSED)
def test_what_is_not_followed_is_said(reason: str) -> None:
    change, told = REFUSED[reason]
    with pytest.raises(UnsupportedError, match=told):
        judged(kernel(change=change))


def test_arrays_that_may_begin_between_atoms_are_not_followed() -> None:
    with pytest.raises(UnsupportedError, match="tile_a begins at a multiple of 1024"):
        judged(kernel().replace(".align 1024 .b8 tile_a", ".align 512 .b8 tile_a"))


def test_descriptors_of_arrays_that_may_begin_between_units_are_not_followed() -> None:
    with pytest.raises(UnsupportedError, match="the result of shr"):
        judged(kernel().replace(".align 1024 .b8 tile_b", ".align 8 .b8 tile_b"))


def test_blocks_of_parts_of_groups_are_not_followed() -> None:
    text = kernel()
    with pytest.raises(UnsupportedError, match="whole groups of 128"):
        proved(text, lambda out, a, b: None, (ArrayArgument("out", f32, (1024,)), ArrayArgument("a", f16, (4096,)),
                                             ArrayArgument("b", f16, (256,))), 1, 64)  # fmt: skip


def test_products_into_other_shapes_are_not_followed() -> None:
    with pytest.raises(UnsupportedError, match="of one shape"):
        judged(kernel(change=(COMMIT, f"{product(16)} {COMMIT}")))
