"""Random kernels that are hard on shuffle synthesis: every way of forming an address, of parting lanes, of changing memory.

A kernel gathers what it loads into one accumulator per thread and stores it in the thread's own slot. Loads come in families: one
index expression, read at several distances through different instructions, with anything at all between the reads. What a family
reads lies in a read-only or in a writable array, in shared memory (plain or through a generic address), or in the thread's own
slots.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

ELEMENTS = 32_768
"""32-bit words of an array; accesses start in the middle."""
WIDE_ELEMENTS = 98_304
"""Elements of an array in which 16-bit indices wrap around."""
SLOTS = 8
"""Words of a thread in the output."""
THREADS_MAX = 1024

_FRAME = """\
.version 8.5
.target sm_80
.address_size 64
{before}
.visible .entry k(
	.param .u64 p_in,
	.param .u64 p_out,
	.param .u64 p_side,
	.param .u32 p_n,
	.param .u32 p_trip,
	.param .u32 p_off,
	.param .u32 p_one
)
{directives}{{
	.reg .pred %p<120>;
	.reg .b16 %h<120>;
	.reg .b32 %r<400>;
	.reg .b64 %rd<400>;
	.reg .f32 %f<160>;
	.reg .f64 %fd<80>;
	.shared .align 16 .b8 pool[8192];
	ld.param.u64 %rd1, [p_in];
	ld.param.u64 %rd2, [p_out];
	ld.param.u64 %rd9, [p_side];
	ld.param.u32 %r20, [p_n];
	ld.param.u32 %r21, [p_trip];
	ld.param.u32 %r22, [p_off];
	ld.param.u32 %r23, [p_one];
	cvta.to.global.u64 %rd1, %rd1;
	cvta.to.global.u64 %rd2, %rd2;
	cvta.to.global.u64 %rd9, %rd9;
	mov.u32 %r1, %tid.x;
	mov.u32 %r2, %tid.y;
	mov.u32 %r3, %tid.z;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %ntid.y;
	mov.u32 %r6, %ctaid.x;
	mad.lo.s32 %r7, %r3, %r5, %r2;
	mad.lo.s32 %r8, %r7, %r4, %r1;
	mov.u32 %r9, %ntid.z;
	mul.lo.s32 %r10, %r4, %r5;
	mul.lo.s32 %r10, %r10, %r9;
	mad.lo.s32 %r11, %r6, %r10, %r8;
	mad.lo.s32 %r12, %r6, %r4, %r1;
	mov.u32 %r13, %laneid;
	mul.wide.u32 %rd3, %r11, {slot};
	add.s64 %rd4, %rd2, %rd3;
	add.s64 %rd5, %rd1, {middle};
	mov.b32 %r15, 12345;
	mov.b32 %r16, 0;
{body}
	st.global.u32 [%rd4], %r15;
DONE:
	ret;
}}
"""
_CALLEE = """
.func (.param .b32 back) mixed(.param .b32 given)
{
	.reg .b32 %r<3>;
	ld.param.b32 %r1, [given];
	mad.lo.s32 %r2, %r1, 3, 1;
	st.param.b32 [back], %r2;
	ret;
}
"""


@dataclass(frozen=True, slots=True)
class Case:
    """One kernel, one launch, and how it may be rewritten."""

    seed: int
    text: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    words: int
    n: int
    trip: int
    offset: int
    aliasing: str
    """`apart`, `same` (all three pointers to one array), or `side` (the side array is the output)."""

    def arguments(self) -> list[Any]:
        """Fresh arrays; the same ones for the same case."""
        rng = np.random.default_rng(self.seed)
        given = rng.integers(0, 1 << 32, self.words, dtype=np.uint32)
        threads = int(np.prod(self.grid)) * int(np.prod(self.block))
        out = (
            given
            if self.aliasing == "same"
            else rng.integers(0, 1 << 32, self.words if self.aliasing == "side" else threads * SLOTS + 64, dtype=np.uint32)
        )
        side = given if self.aliasing == "same" else out
        if self.aliasing == "apart":
            side = rng.integers(0, 1 << 32, self.words, dtype=np.uint32)
        return [given, out, side, np.int32(self.n), np.int32(self.trip), np.uint32(self.offset), np.int32(1)]


@dataclass(slots=True)
class _Family:
    """One index expression and what it reads."""

    index: str
    """Register of 16, 32 or 64 bits."""
    bits: int
    sign: str
    """s or u: how it is extended."""
    base: str
    """64-bit register (32-bit for shared memory)."""
    space: str
    """State space that the loads name: global, shared, or none."""
    type: str
    size: int
    qualifier: str
    writable: bool
    pointers: list[str] = field(default_factory=list[str])
    """Registers that hold base + extended index times size."""
    offsets: tuple[int, ...] = (0,)
    recipe: tuple[str, ...] = ()
    """The lines that make its index and base."""


_TYPES: tuple[tuple[str, int, str], ...] = (
    ("f32", 4, "%f"), ("f32", 4, "%f"), ("u32", 4, "%r"), ("b32", 4, "%r"), ("s32", 4, "%r"), ("s32", 4, "%rd"),
    ("u32", 4, "%rd"),
    ("u8", 1, "%h"), ("s8", 1, "%r"), ("s8", 1, "%rd"), ("u16", 2, "%h"), ("s16", 2, "%r"), ("b16", 2, "%h"), ("b8", 1, "%h"),
    ("b64", 8, "%rd"), ("f64", 8, "%fd"), ("u64", 8, "%rd"), ("s16", 2, "%h"),
)  # fmt: skip
_CHANGES: tuple[tuple[str, Callable[[random.Random, str], str]], ...] = (
    # neg has signed types only
    (r"(?<!\bneg)\.[su](8|16|32)\b", lambda rng, t: ("." + ("u" if t[1] == "s" else "s") + t[2:])),
    (r"\b(wide|64)\.[su]", lambda rng, t: t[:-1] + ("u" if t[-1] == "s" else "s")),
    (r", -?\d+(?=[;,])", lambda rng, t: f", {int(t[2:]) + rng.choice((1, -1, 32, 2))}"),
    (r", -?\d+;", lambda rng, t: f", {int(t[2:-1]) ^ rng.choice((1, 32, 31))};"),
    (r"%r(1|4|5|6|12|13|2|8|20|21)\b", lambda rng, t: rng.choice(("%r1", "%r12", "%r13", "%r8", "%r2", "%r4"))),
    (r"\b(and|or|xor)\.b", lambda rng, t: rng.choice(("and.b", "or.b", "xor.b"))),
    (r"\b(add|sub)\.s", lambda rng, t: rng.choice(("add.s", "sub.s"))),
    (r"\b(min|max)\.", lambda rng, t: rng.choice(("min.", "max."))),
    (r"\b(rem|div)\.", lambda rng, t: rng.choice(("rem.", "div."))),
    (r"\b(wrap|clamp)\b", lambda rng, t: rng.choice(("wrap", "clamp"))),
    (r"\bsetp\.\w\w", lambda rng, t: f"setp.{rng.choice(('lt', 'ge', 'eq', 'ne'))}"),
    (r"@%", lambda rng, t: "@!%"),
    (r"shr\.[su]", lambda rng, t: rng.choice(("shr.s", "shr.u"))),
)  # fmt: skip
"""Differences of a twin: a pattern, and the text to write instead."""
_LIMITS = {"%p": 120, "%h": 120, "%r": 400, "%rd": 400, "%f": 160, "%fd": 80}
_FIRST = {"%p": 1, "%h": 1, "%r": 40, "%rd": 20, "%f": 1, "%fd": 1}


class KernelWriter:
    """Writes the body of one kernel."""

    def __init__(self, rng: random.Random, block: tuple[int, int, int]) -> None:
        self.rng = rng
        self.block = block
        self.lines: list[str] = []
        self.free = dict(_FIRST)
        self.families: list[_Family] = []
        self.counters: list[str] = []
        self.depth = 0
        self.labels = 0
        self.parted = False
        """Whether some lanes may be gone or elsewhere: no barriers then."""
        self.calls = False
        self.wide = False
        self.loaded: dict[str, list[str]] = {}
        self.predicates: list[str] = []
        self.pitch = min(97, 6000 // max(1, block[1] * block[2]))

    def say(self, *lines: str) -> None:
        self.lines += lines

    def new(self, kind: str) -> str:
        number = self.free[kind]
        if number >= _LIMITS[kind]:
            return f"{kind}{self.rng.randrange(_FIRST[kind] + (_LIMITS[kind] - _FIRST[kind]) // 2, _LIMITS[kind])}"
        self.free[kind] = number + 1
        return f"{kind}{number}"

    def label(self) -> str:
        self.labels += 1
        return f"$L_{self.labels}"

    def body(self) -> str:
        rng = self.rng
        if rng.random() < 0.25:
            self.say(f"setp.ge.s32 %p119, {rng.choice(('%r12', '%r11', '%r1'))}, %r20;")
            if rng.random() < 0.5:
                self.say("@%p119 bra DONE;")
            else:
                self.say("@%p119 st.global.u32 [%rd4], %r1;", f"@%p119 {rng.choice(('ret', 'exit'))};")
            self.parted = True
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            self.family()
        self.statements(rng.randint(4, 12))
        return "\n".join(f"\t{x}" if not x.endswith(":") else x for x in self.lines if x)

    # index expressions

    def index(self, depth: int = 0) -> str:
        """A 32-bit register with a value between about -8000 and 8000."""
        rng, r = self.rng, self.new("%r")
        x, y = "%r1", "%r2"
        if rng.random() < 0.15:
            x = self.new("%r")
            self.say(
                f"mul.lo.s32 {x}, {rng.choice(('%r1', '%r8', '%r12'))}, {rng.choice((9, 37, -5, 16))};",
                f"and.b32 {x}, {x}, 2047;",
            )
        forms = [
            lambda: self.say(f"mov.u32 {r}, {x};"),
            lambda: self.say(f"mov.u32 {r}, {x};"),
            lambda: self.say(f"mad.lo.s32 {r}, %r6, %r4, {x};"),
            lambda: self.say(f"mad.lo.s32 {r}, %r7, {self.pitch}, {x};"),
            lambda: self.say(f"mad.lo.s32 {r}, %r7, {self.pitch}, %r12;"),
            lambda: self.say(f"mad.lo.s32 {r}, {y}, %r4, {x};"),
            lambda: self.say(f"mov.u32 {r}, %r8;"),
            lambda: self.say(f"mov.u32 {r}, %r13;"),
            lambda: self.say(f"shl.b32 {r}, {x}, 1;"),
            lambda: self.say(f"mul.lo.s32 {r}, {x}, {rng.choice((2, 3, -1, -2, 5))};"),
            lambda: self.say(f"sub.s32 {r}, {rng.choice((0, 7, 64))}, {x};"),
            lambda: self.say(f"neg.s32 {r}, {x};"),
            lambda: self.say(f"not.b32 {r}, {x};"),
            lambda: self.say(f"shr.{rng.choice('us')}32 {r}, {x}, {rng.choice((1, 2, 5))};"),
            lambda: self.say(f"and.b32 {r}, {x}, {rng.choice((31, 15, 7, -2, -4, 1, 1023))};"),
            lambda: self.say(f"or.b32 {r}, {x}, {rng.choice((1, 32, 4096))};"),
            lambda: self.say(f"xor.b32 {r}, {x}, {rng.choice((1, 32, 31, -1))};"),
            lambda: self.say(f"rem.{rng.choice('us')}32 {r}, {x}, {rng.choice((3, 7, 8, 32, 33))};"),
            lambda: self.say(f"div.{rng.choice('us')}32 {r}, {x}, {rng.choice((2, 3, 8, 32))};"),
            lambda: self.say(f"min.{rng.choice('us')}32 {r}, {x}, {rng.choice((5, 20, 31, '%r20'))};"),
            lambda: self.say(f"max.s32 {r}, {x}, {rng.choice((3, 20))};"),
            lambda: self.say(f"mul.lo.s32 {r}, {x}, {x};", f"and.b32 {r}, {r}, 4095;"),
            lambda: self.say(f"mad.lo.s32 {r}, {y}, 2, {x};"),
            lambda: self.say(f"mul.lo.s32 {r}, {x}, %r23;"),
            lambda: self.say(f"add.s32 {r}, {x}, %r21;"),
            lambda: self.say(f"bfe.u32 {r}, {x}, {rng.choice((0, 1))}, {rng.choice((4, 5, 9))};"),
            lambda: self.say(f"bfi.b32 {r}, {x}, {rng.choice((0, 5))}, {rng.choice((0, 5))}, 5;"),
            lambda: self.say(f"popc.b32 {r}, {x};"),
            lambda: self.say(f"mad24.lo.s32 {r}, {x}, 3, {y};"),
            lambda: self.say(f"mul.wide.u16 {r}, {self.half(x)}, 2;"),
            lambda: self.say(f"cvt.u32.u16 {r}, {self.half(x)};"),
            lambda: self.say(f"cvt.s32.s8 {r}, {x};"),
            lambda: self.say(f"cvt.{rng.choice('su')}8.{rng.choice('su')}32 {r}, {x};"),
            lambda: self.say(f"cvt.{rng.choice('su')}16.{rng.choice('su')}32 {r}, {x};", f"and.b32 {r}, {r}, 4095;"),
            lambda: self.say(f"cvt.sat.{rng.choice('su')}8.s32 {r}, {x};"),
            lambda: self.say(f"bfe.s32 {r}, {x}, {rng.choice((0, 1))}, {rng.choice((4, 5, 9))};"),
            lambda: self.say(f"brev.b32 {r}, {x};", f"shr.u32 {r}, {r}, {rng.choice((22, 27))};"),
            lambda: self.say(f"sad.{rng.choice('su')}32 {r}, {x}, {rng.choice((16, '%r13'))}, {y};"),
            lambda: self.say(f"clz.b32 {r}, {x};"),
            lambda: self.say(f"selp.u32 {r}, {rng.choice((1, 8))}, 0, {self.condition()};", f"add.s32 {r}, {r}, {x};"),
            lambda: self.say(f"selp.u32 {r}, 0, {rng.choice((1, 8))}, {self.condition()};", f"add.s32 {r}, {r}, {x};"),
            lambda: self.say(f"abs.s32 {r}, {x};"),
            lambda: self.say(f"slct.s32.s32 {r}, {x}, {rng.choice((0, '%r13'))}, {y};"),
            lambda: self.say(f"set.lt.u32.u32 {r}, {x}, {rng.choice((4, 16, '%r20'))};", f"and.b32 {r}, {r}, {x};"),
            lambda: self.say(f"mul.hi.u32 {r}, {x}, {rng.choice(('0x55555556', '0x20000000', '0xCCCCCCCD'))};"),
            lambda: self.say(f"shf.r.{rng.choice(('wrap', 'clamp'))}.b32 {r}, {x}, {y}, {rng.choice((1, 33, 3))};",
                             f"and.b32 {r}, {r}, 4095;"),
            lambda: self.say(f"shl.b32 {r}, {x}, {rng.choice(('%r13', 31, 32, 27))};",
                             f"shr.{rng.choice('su')}32 {r}, {r}, {rng.choice((27, 22))};"),
            lambda: self.say(f"add.cc.u32 {r}, {x}, {rng.choice((-1, '%r22'))};", f"addc.u32 {r}, {x}, 0;"),
            lambda: self.say(f"mul.wide.{rng.choice('su')}16 {r}, {self.half(x)}, {rng.choice((3, -1))};",
                             f"and.b32 {r}, {r}, 4095;"),
            lambda: self.say(f"ld.global.nc.{rng.choice('su')}8 {r}, [%rd5+{rng.randrange(8)}];", f"add.s32 {r}, {r}, {x};"),
            lambda: self.say(f"mad.lo.u32 {r}, {x}, {rng.choice((0, 1, '%r23'))}, {y};"),
            lambda: self.say(f"rem.{rng.choice('su')}32 {r}, {x}, %r4;"),
            lambda: self.say(f"div.u32 {r}, %r8, %r4;"),
            lambda: self.say(f"add.s32 {r}, {x}, %r6;"),
            lambda: self.say(f"sub.s32 {r}, {x}, {rng.choice(('%r13', '%r2', '%r6'))};"),
            lambda: self.say(f"prmt.b32 {r}, {x}, 0, {rng.choice(('0x4410', '0x4401'))};", f"and.b32 {r}, {r}, 4095;"),
            lambda: self.say(f"lop3.b32 {r}, {x}, {y}, 7, {rng.choice(('0x96', '0xE8', '0xFE'))};"),
            lambda: self.say(f"ld.global.nc.u32 {r}, [%rd5+{4 * rng.randrange(8)}];",
                             f"and.b32 {r}, {r}, 511;", f"add.s32 {r}, {r}, {x};"),
            lambda: self.say(f"shf.l.wrap.b32 {r}, {x}, {x}, 1;", f"and.b32 {r}, {r}, 4095;"),
        ]  # fmt: skip
        rng.choice(forms[:8] if rng.random() < 0.55 else forms)()
        if rng.random() < 0.15 and depth < 2:
            other = self.index(depth + 1)
            result = self.new("%r")
            what = rng.choice(("select", "select", "add", "predicated"))
            if what == "select":
                self.say(f"selp.b32 {result}, {r}, {other}, {self.condition()};")
            elif what == "add":
                self.say(f"add.s32 {result}, {r}, {other};", f"and.b32 {result}, {result}, 4095;" if rng.random() < 0.3 else "")
            else:
                p = self.condition()
                self.say(f"mov.b32 {result}, {r};", f"@{p} mov.b32 {result}, {other};")
            return result
        if rng.random() < 0.2:
            result = self.new("%r")
            self.say(f"add.s32 {result}, {r}, {rng.choice((1, 5, -3, 100, '%r21'))};")
            return result
        return r

    def half(self, source: str) -> str:
        h = self.new("%h")
        self.say(f"cvt.u16.u32 {h}, {source};")
        return h

    def family(self) -> None:
        """A new family; often with a twin."""
        begin, count = len(self.lines), len(self.families)
        self.new_family()
        if len(self.families) > count:
            self.families[-1].recipe = tuple(self.lines[begin:])
            while self.rng.random() < 0.35:
                self.twin(self.families[count])

    def twin(self, family: _Family) -> None:
        """The same lines again on fresh registers, usually with a small change: what looks alike is not the same."""
        rng = self.rng
        if any(line.endswith(":") or "bar." in line for line in family.recipe):
            return
        renamed: dict[str, str] = {}
        for line in family.recipe:
            found = re.match(r"(?:@!?\S+ )?[a-z]\S* (%[a-z]+)(\d+)", line)
            if found and int(found[2]) >= _FIRST[found[1]]:
                renamed.setdefault(found[1] + found[2], self.new(found[1]))
        lines = [re.sub(r"%[a-z]+\d+", lambda m: renamed.get(m[0], m[0]), line) for line in family.recipe]
        if rng.random() < 0.7:
            for _ in range(8):
                number = rng.randrange(len(lines))
                pattern, change = rng.choice(_CHANGES)
                places = list(re.finditer(pattern, lines[number]))
                if places:
                    at = rng.choice(places)
                    lines[number] = lines[number][: at.start()] + change(rng, at[0]) + lines[number][at.end() :]
                    break
        self.say(*lines)
        again = renamed.get
        self.families.append(
            replace(
                family,
                index=again(family.index, family.index),
                base=again(family.base, family.base),
                pointers=[],
                recipe=tuple(lines),
            )
        )

    def new_family(self) -> None:
        rng = self.rng
        kind, size, _ = rng.choice(_TYPES)
        space = rng.choice(("global",) * 9 + ("shared", "generic", "generic shared"))
        where = rng.choice(("in",) * 6 + ("side", "side", "own"))
        qualifier = rng.choice(("", "", "", ".nc", ".nc")) if where == "in" and space == "global" else ""
        index = self.index()
        bits, sign = 32, rng.choice("su")
        middle = 4 * ELEMENTS // 2
        wrap = rng.random()
        pointer = "%rd1" if where == "in" else "%rd9" if where == "side" else "%rd4"
        if where == "own":
            index = self.new("%r")
            self.say(f"mov.b32 {index}, {rng.choice((0, 1, '%r16'))};")
            middle, size, kind = 0, 4, rng.choice(("u32", "f32"))
        if "shared" in space:
            self.shared_family(index, kind, size, space)
            return
        base = self.new("%rd")
        if where != "own" and wrap < 0.2:
            self.wide = True
            middle = 147_456
            if size > 4:
                kind, size = "u32", 4
            narrow, sum16 = self.new("%h"), self.new("%h")
            self.say(
                f"cvt.u16.u32 {narrow}, {index};", f"cvt.u16.u32 {sum16}, %r22;", f"add.{sign}16 {sum16}, {narrow}, {sum16};"
            )
            index, bits = sum16, 16
            middle = middle if sign == "s" else 8192
        elif where != "own" and wrap < 0.35:
            moved, extended = self.new("%r"), self.new("%rd")
            self.say(f"add.s32 {moved}, {index}, %r22;", f"cvt.{sign}64.{sign}32 {extended}, %r22;")
            self.say(f"mul.lo.s64 {extended}, {extended}, {size};", f"sub.s64 {base}, {pointer}, {extended};")
            index, pointer = moved, base
            if sign == "u":
                self.say(f"max.s32 {index}, {index}, %r22;" if rng.random() < 0.5 else "")
        elif sign == "u" or rng.random() < 0.1:
            clipped = self.new("%r")
            self.say(f"and.b32 {clipped}, {index}, 4095;" if rng.random() < 0.3 else f"add.s32 {clipped}, {index}, 2048;")
            index = clipped
        if bits == 32 and rng.random() < 0.25:
            long = self.new("%rd")
            self.say(f"cvt.{sign}64.{sign}32 {long}, {index};")
            index, bits, sign = long, 64, "s"
        self.say(f"add.s64 {base}, {pointer}, {middle};")
        offsets = tuple(
            rng.choice((0, 0, 1, 1, -1, 2, -2, 3, 4, 8, 31, -31, 32, 97, self.block[0])) for _ in range(rng.randint(2, 4))
        )
        family = _Family(
            index, bits, sign, base, "global" if space == "global" else "", kind, size, qualifier, where != "in", [], offsets
        )
        self.families.append(family)

    def shared_family(self, index: str, kind: str, size: int, space: str) -> None:
        """Words of shared memory, filled by every thread for itself and by the first for the rest, then a barrier."""
        if self.parted or self.depth or int(np.prod(self.block)) > 512:
            return
        spot, base, value, clipped = self.new("%r"), self.new("%r"), self.new("%r"), self.new("%r")
        loop, p = self.label(), self.new("%p")
        self.say(f"mov.u32 {base}, pool;", f"mov.u32 {spot}, %r8;", f"{loop}:", f"mad.lo.s32 {value}, {spot}, 40503, 77;")
        address = self.new("%r")
        self.say(
            f"shl.b32 {address}, {spot}, 2;", f"add.s32 {address}, {address}, {base};", f"st.shared.u32 [{address}], {value};"
        )
        self.say(f"add.s32 {spot}, {spot}, %r10;", f"setp.lt.u32 {p}, {spot}, 2048;", f"@{p} bra {loop};", "bar.sync 0;")
        self.say(f"and.b32 {clipped}, {index}, 511;", f"add.s32 {clipped}, {clipped}, 128;")
        offsets = tuple(self.rng.choice((0, 0, 1, 1, -1, 2, -2, 3)) for _ in range(3))
        if space == "shared":
            self.families.append(_Family(clipped, 32, "u", base, "shared", kind, size, "", True, [], offsets))
            return
        wide = self.new("%rd")
        self.say(f"cvt.u64.u32 {wide}, {base};", f"cvta.shared.u64 {wide}, {wide};")
        self.families.append(_Family(clipped, 32, "u", wide, "", kind, size, "", True, [], offsets))

    def pointer(self, family: _Family, moved: str | None = None) -> str:
        """A register with base + extended index times size."""
        rng, index = self.rng, moved or family.index
        if family.space == "shared":
            a = self.new("%r")
            if rng.random() < 0.5:
                self.say(f"mad.lo.s32 {a}, {index}, {family.size}, {family.base};")
            else:
                shift = family.size.bit_length() - 1
                self.say(f"shl.b32 {a}, {index}, {shift};", f"add.s32 {a}, {family.base}, {a};")
            return a
        a, size, sign = self.new("%rd"), family.size, family.sign
        if family.bits == 64:
            how = rng.randrange(3)
            if how == 0:
                self.say(f"shl.b64 {a}, {index}, {size.bit_length() - 1};", f"add.s64 {a}, {a}, {family.base};")
            elif how == 1:
                self.say(f"mad.lo.s64 {a}, {index}, {size}, {family.base};")
            else:
                self.say(f"mul.lo.s64 {a}, {index}, {size};", f"add.u64 {a}, {family.base}, {a};")
        elif family.bits == 16:
            self.say(f"cvt.{sign}64.{sign}16 {a}, {index};", f"mad.lo.s64 {a}, {a}, {size}, {family.base};")
        else:
            how = rng.randrange(4)
            if how == 0:
                self.say(f"mul.wide.{sign}32 {a}, {index}, {size};", f"add.s64 {a}, {family.base}, {a};")
            elif how == 1:
                self.say(f"mad.wide.{sign}32 {a}, {index}, {size}, {family.base};")
            elif how == 2:
                self.say(
                    f"cvt.{sign}64.{sign}32 {a}, {index};",
                    f"shl.b64 {a}, {a}, {size.bit_length() - 1};",
                    f"add.s64 {a}, {family.base}, {a};",
                )
            else:
                self.say(f"cvt.{sign}64.{sign}32 {a}, {index};", f"mad.lo.s64 {a}, {a}, {size}, {family.base};")
        return a

    def address(self, family: _Family) -> tuple[str, int]:
        """A register and a number of bytes: one of the family's distances, by one of the routes."""
        rng, distance, size = self.rng, self.rng.choice(family.offsets), family.size
        route = rng.randrange(8)
        if self.counters and rng.random() < 0.45:
            route = 8
        narrow = {16: "%h", 32: "%r", 64: "%rd"}[family.bits]
        word = "%r" if family.space == "shared" else "%rd"
        bits = 32 if family.space == "shared" else 64
        if route <= 2:
            if not family.pointers or rng.random() < 0.15:
                known = self.pointer(family)
                if self.depth == 0:
                    family.pointers.append(known)
                return known, distance * size
            return rng.choice(family.pointers), distance * size
        if route <= 5 or route == 8:
            moved, first = self.new(narrow), rng.choice((0, distance, distance, rng.randint(-3, 3)))
            if route == 8:
                counter = rng.choice(self.counters)
                if family.bits == 64:
                    self.say(f"cvt.s64.s32 {moved}, {counter};", f"add.s64 {moved}, {moved}, {family.index};")
                elif family.bits == 16:
                    self.say(f"cvt.u16.u32 {moved}, {counter};", f"add.s16 {moved}, {moved}, {family.index};")
                else:
                    self.say(f"add.s32 {moved}, {family.index}, {counter};" if rng.random() < 0.6
                             else f"mad.lo.s32 {moved}, {counter}, {rng.choice((2, 4, 32))}, {family.index};")  # fmt: skip
                return self.pointer(family, moved), distance * size
            self.say(f"add.{rng.choice('su')}{family.bits} {moved}, {family.index}, {first};" if rng.random() < 0.8
                     else f"sub.s{family.bits} {moved}, {family.index}, {-first};")  # fmt: skip
            return self.pointer(family, moved), (distance - first) * size
        known = rng.choice(family.pointers) if family.pointers else self.pointer(family)
        result = self.new(word)
        if route == 6:
            self.say(f"add.s{bits} {result}, {known}, {distance * size};")
            return result, 0
        other = self.new(word)
        self.say(f"add.s{bits} {other}, {known}, {size};", f"selp.b{bits} {result}, {other}, {known}, {self.condition()};")
        return result, (distance - 1) * size

    # statements

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    def statement(self) -> None:
        choice = self.rng.random()
        if choice < 0.6:
            self.load()
        elif choice < 0.65:
            self.store()
        elif choice < 0.76 and self.depth < 3:
            self.branch()
        elif choice < 0.86 and self.depth < 2:
            self.loop()
        elif choice < 0.88:
            self.leave()
        elif choice < 0.9 and self.depth < 2:
            self.scope()
        elif choice < 0.92:
            self.family()
        else:
            self.disturb()

    def load(self) -> None:
        rng = self.rng
        if not self.families:
            return
        for _ in range(rng.choice((1, 2, 2, 3))):
            family = rng.choice(self.families[-3:])
            self.one_load(family)

    def one_load(self, family: _Family) -> None:
        rng = self.rng
        register, offset = self.address(family)
        kind, size = family.type, family.size
        if rng.random() < 0.08:
            other = rng.choice(_TYPES)
            if other[1] == size:
                kind = other[0]
        where = f"[{register}+{offset}]" if offset else f"[{register}]"
        cache = (
            rng.choice(("", "", "", ".cg", ".ca"))
            if family.space == "global" and rng.random() < 0.2 and not family.qualifier
            else ""
        )
        name = f"ld{'.' if family.space else ''}{family.space}{cache}{family.qualifier}"
        if family.space != "shared" and not family.qualifier and rng.random() < 0.04:
            name = rng.choice(
                (
                    f"ld.volatile{'.' if family.space else ''}{family.space}",
                    f"ld.relaxed.gpu{'.' if family.space else ''}{family.space}",
                )
            )
        targets = {s: k for t, s, k in _TYPES if t == kind and rng.random() < 0.6}
        target_kind = targets.get(size) or next(k for t, _, k in _TYPES if t == kind)
        guard = ""
        if rng.random() < 0.15:
            guard = f"@{rng.choice(('', '!'))}{self.condition()} "
        if rng.random() < 0.08 and size in (4, 8) and register.startswith("%rd"):
            self.vector_load(name, kind, size, register, offset, target_kind)
            return
        pool = self.loaded.setdefault(target_kind, [])
        target = self.new(target_kind) if not pool or rng.random() < 0.75 else rng.choice(pool)
        if rng.random() < 0.05 and target_kind == "%rd" and register.startswith("%rd") and register not in family.pointers:
            target = register
        if guard:
            zero = {"%f": "mov.f32 {}, 0f00000000;", "%fd": "mov.f64 {}, 0d0000000000000000;"}.get(target_kind)
            bits = {"%h": 16, "%r": 32, "%rd": 64}.get(target_kind)
            if target != register:
                self.say(zero.format(target) if zero else f"mov.b{bits} {target}, 5;")
        self.say(f"{guard}{name}.{kind} {target}, {where};")
        if target != register and self.depth == 0:
            pool.append(target)
        self.take(target, target_kind)

    def vector_load(self, name: str, kind: str, size: int, register: str, offset: int, target_kind: str) -> None:
        count = self.rng.choice((2, 2, 4)) if size == 4 else 2
        exact = self.new("%rd")
        self.say(f"and.b64 {exact}, {register}, {-size * count};")
        targets = [self.new(target_kind) for _ in range(count)]
        shown = ["_" if self.rng.random() < 0.15 else t for t in targets]
        if len(set(targets)) < count or set(shown) == {"_"}:
            return
        aligned = offset // (size * count) * size * count
        self.say(f"{name}.v{count}.{kind} {{{', '.join(shown)}}}, [{exact}+{aligned}];")
        for target in shown:
            if target != "_":
                self.take(target, target_kind)

    def take(self, register: str, kind: str) -> None:
        """Puts a loaded value into the accumulator, sometimes later."""
        match kind:
            case "%f" | "%r":
                self.say(f"mov.b32 %r17, {register};")
            case "%h":
                self.say(f"cvt.s32.s16 %r17, {register};")
            case _:
                self.say(f"mov.b64 {{%r17, %r18}}, {register};", "mad.lo.s32 %r17, %r18, 7, %r17;")
        self.say("mad.lo.s32 %r15, %r15, 31, %r17;")
        if self.rng.random() < 0.1:
            zero = {"%f": "mov.f32 {}, 0f3F800000;", "%fd": "mov.f64 {}, 0d3FF0000000000000;"}.get(kind)
            bits = {"%h": 16, "%r": 32, "%rd": 64}.get(kind)
            guard = f"@{self.condition()} " if self.rng.random() < 0.5 else ""
            self.say(guard + (zero.format(register) if zero else f"mov.b{bits} {register}, 9;"))

    def store(self) -> None:
        rng = self.rng
        slot = 4 * rng.randrange(SLOTS)
        what = rng.random()
        if what < 0.6:
            self.say(f"st.global.u32 [%rd4+{slot}], %r15;")
        elif what < 0.8:
            p = self.condition()
            self.say(f"@{p} st.global.v2.u32 [%rd4+{slot & 24}], {{%r15, %r1}};")
        elif what < 0.85:
            near = self.new("%rd")
            self.say(f"add.s64 {near}, %rd9, %rd3;", f"st.global.u32 [{near}], %r15;")
        elif what < 0.95 or self.parted or self.depth:
            self.say(f"st.u32 [%rd4+{slot}], %r15;")
        else:
            self.say("bar.sync 0;", f"st.global.u32 [%rd4+{slot}], %r15;", "bar.sync 0;")

    def disturb(self) -> None:
        rng = self.rng
        r = self.new("%r")
        options = [
            f"atom.global.add.u32 {r}, [%rd4+4], 1;",
            "red.global.add.u32 [%rd4+8], 3;",
            "membar.gl;", "fence.acq_rel.gpu;",
            "mad.lo.s32 %r15, %r15, 5, %r13;",
            "add.s32 %r16, %r16, 0;",
            "prefetch.global.L2 [%rd5];",
            f"{self.label()}:",
        ]  # fmt: skip
        if not self.parted and not self.depth:
            options += ["bar.sync 0;", "bar.warp.sync -1;", "barrier.sync 1;"]
        if rng.random() < 0.15 and self.families:
            self.overwrite()
            return
        if rng.random() < 0.12:
            self.calls = True
            self.say("{", "\t.param .b32 given;", "\t.param .b32 back;", "\tst.param.b32 [given], %r15;",
                     "\tcall.uni (back), mixed, (given);", "\tld.param.b32 %r15, [back];", "}")  # fmt: skip
            return
        self.say(rng.choice(options))

    def overwrite(self) -> None:
        """Moves a family's index or pointer for good, in all lanes or some."""
        rng, family = self.rng, self.rng.choice(self.families)
        if (
            not family.index.startswith(("%r", "%h"))
            or int(family.index.strip("%rdh")) < _FIRST[family.index.rstrip("0123456789")]
        ):
            return
        guard = f"@{self.condition()} " if rng.random() < 0.5 else ""
        if family.pointers and rng.random() < 0.5:
            known = rng.choice(family.pointers)
            bits = 32 if family.space == "shared" else 64
            self.say(f"{guard}add.s{bits} {known}, {known}, {family.size};")
        else:
            self.say(f"{guard}add.s{family.bits} {family.index}, {family.index}, 1;")

    def condition(self) -> str:
        """A predicate: an old one, some function of old ones, or a new one."""
        rng, known = self.rng, self.predicates
        if len(known) > 1 and rng.random() < 0.3:
            if rng.random() < 0.5:
                return rng.choice(known)
            p, first, second = self.new("%p"), rng.choice(known), rng.choice(known)
            as_number, other = self.new("%r"), rng.choice(("eq", "ne", "lt", "gt"))
            forms = (
                (f"{rng.choice(('and', 'or', 'xor'))}.pred {p}, {first}, {second};",),
                (f"not.pred {p}, {first};",),
                (f"selp.u32 {as_number}, 1, 0, {first};", f"setp.{other}.u32 {p}, {as_number}, {rng.choice((0, 1))};"),
                (f"selp.b32 {as_number}, -1, 0, {first};", f"setp.{other}.and.s32 {p}, {as_number}, 0, {second};"),
            )
            self.say(*rng.choice(forms))
            known.append(p)
            return p
        p = self.new_condition()
        known.append(p)
        return p

    def new_condition(self) -> str:
        rng, p = self.rng, self.new("%p")
        what = rng.choice(("%r1", "%r1", "%r13", "%r8", "%r2", "%r20", "%r21", "%r15", "%r6", *self.counters))
        how = rng.random()
        if what == "%r15" or how < 0.3:
            r = self.new("%r")
            self.say(f"and.b32 {r}, {what}, {rng.choice((1, 3, 16, 31))};", f"setp.{rng.choice(('ne', 'eq'))}.u32 {p}, {r}, 0;")
        elif how < 0.4:
            q = self.new("%p")
            self.say(f"setp.lt.u32 {p}, {what}, {rng.choice((3, 17, 40))};", f"setp.gt.s32 {q}, %r1, 2;")
            self.say(f"{rng.choice(('and', 'or', 'xor'))}.pred {p}, {p}, {q};")
        else:
            comparison, kind = rng.choice(("lt", "ge", "eq", "gt", "ne", "le")), rng.choice("su")
            self.say(f"setp.{comparison}.{kind}32 {p}, {what}, {rng.choice((0, 1, 2, 3, 17, 31, 32, 40, '%r20'))};")
        return p

    def branch(self) -> None:
        rng = self.rng
        p, other, end = self.condition(), self.label(), self.label()
        kept = [list(f.pointers) for f in self.families], (len(self.families), len(self.predicates)), self.parted
        self.parted = True
        if rng.random() < 0.15:
            self.switch()
            return
        self.say(f"@{rng.choice(('', '!'))}{p} bra {other};")
        self.depth += 1
        self.statements(rng.randint(1, 3))
        self.restore(kept[0], kept[1])
        if rng.random() < 0.4:
            self.say(f"bra {end};", f"{other}:")
            self.statements(rng.randint(1, 3))
            self.restore(kept[0], kept[1])
            self.say(f"{end}:")
        else:
            self.say(f"{other}:")
        self.depth -= 1
        self.parted = kept[2] if "exit" not in "".join(self.lines[-40:]) else True
        self.parted = True if any(x.endswith(("bra DONE;", "ret;", "exit;")) for x in self.lines) else kept[2]

    def switch(self) -> None:
        """Three ways by table."""
        rng, r, table, end = self.rng, self.new("%r"), self.label(), self.label()
        ways = [self.label() for _ in range(3)]
        self.say(
            f"rem.u32 {r}, {rng.choice(('%r1', '%r8', '%r20'))}, 3;",
            f"{table}: .branchtargets {', '.join(ways)};",
            f"brx.idx {r}, {table};",
        )
        kept = [list(f.pointers) for f in self.families], (len(self.families), len(self.predicates))
        self.depth += 1
        for n, way in enumerate(ways):
            self.say(f"{way}:")
            self.statements(1)
            self.restore(*kept)
            if n < 2 and rng.random() < 0.8:
                self.say(f"bra {end};")
        self.say(f"{end}:")
        self.depth -= 1

    def restore(self, pointers: list[list[str]], counts: tuple[int, int]) -> None:
        del self.families[counts[0] :]
        del self.predicates[counts[1] :]
        for family, known in zip(self.families, pointers, strict=True):
            family.pointers = list(known)

    def scope(self) -> None:
        """Braces with registers of their own, under names that others have."""
        kept = [list(f.pointers) for f in self.families], (len(self.families), len(self.predicates))
        name = self.rng.choice(("%t", "%r39", "%f159"))
        kind = "f32" if name.startswith("%f") else "b32"
        self.say("{", f".reg .{kind} {name};", f"mov.{kind} {name}, {'0f40000000' if kind == 'f32' else 3};")
        if self.families and self.families[-1].size == 4:
            register, offset = self.address(self.families[-1])
            space = self.families[-1].space
            where = f"ld{'.' if space else ''}{space}{self.families[-1].qualifier}.{kind}"
            self.say(f"{where} {name}, [{register}+{offset}];")
            if self.rng.random() < 0.7:
                self.one_load(self.families[-1])
            self.take(name, "%r")
        self.statements(1)
        self.say("}")
        self.restore(*kept)

    def loop(self) -> None:
        rng = self.rng
        counter, bound, p = self.new("%r"), self.new("%r"), self.new("%p")
        start, end, check = self.label(), self.label(), self.label()
        kept = [list(f.pointers) for f in self.families], (len(self.families), len(self.predicates)), self.parted
        uniform = rng.choice((f"mov.u32 {bound}, %r21;", f"mov.u32 {bound}, 2;", f"mov.u32 {bound}, 3;"))
        parting = rng.choice(
            (f"and.b32 {bound}, %r1, 3;", f"shr.u32 {bound}, %r13, 3;", f"and.b32 {bound}, %r15, 3;", f"and.b32 {bound}, %r2, 3;")
        )
        step = rng.choice((1, 1, 1, 2))
        down = rng.random() < 0.2
        self.say(rng.choice((uniform, parting)))
        first = rng.choice(("0", "0", "0", "lane"))
        if first == "lane":
            self.say(f"and.b32 {counter}, %r1, 1;")
        else:
            self.say(f"mov.u32 {counter}, {first if not down else bound};")
        rotating = rng.random() < 0.4 and bool(self.families)
        carried: list[tuple[str, str]] = []
        if rotating:
            family = self.families[-1]
            moving = self.pointer(family)
            word = "s32" if family.space == "shared" else "s64"
            carried.append((moving, word))
            if family.pointers or rng.random() < 0.7:
                family.pointers = [moving]
        self.parted = True
        if rng.random() < 0.06:
            self.say(f"@{self.condition()} bra {check};")
        self.say(f"{start}:")
        tested = rng.random() < 0.5
        if tested:
            test = f"setp.le.s32 {p}, {counter}, 0;" if down else f"setp.ge.s32 {p}, {counter}, {bound};"
            self.say(test, f"@{p} bra {end};")
        early = rng.random() < 0.5
        update = f"{'sub' if down else 'add'}.s32 {counter}, {counter}, {step};"
        if early:
            self.say(update)
        self.counters.append(counter)
        self.depth += 1
        self.statements(rng.randint(1, 2))
        if early and tested and rng.random() < 0.4:
            self.say(f"@{self.condition()} bra {start};")
        if rng.random() < 0.25:
            self.say(f"@{self.condition()} bra {end};")
        self.say(f"{check}:")
        self.statements(rng.randint(1, 3))
        self.depth -= 1
        self.counters.pop()
        for moving, word in carried:
            guard = f"@{self.condition()} " if rng.random() < 0.15 else ""
            self.say(
                f"{guard}add.{word} {moving}, {moving}, {self.families[kept[1][0] - 1].size * rng.choice((1, 1, 2, 32, -1))};"
            )
        if not early:
            self.say(update)
        if tested:
            self.say(f"bra {start};")
        else:
            self.say(f"setp.gt.s32 {p}, {counter}, 0;" if down else f"setp.lt.s32 {p}, {counter}, {bound};", f"@{p} bra {start};")
        self.say(f"{end}:")
        self.restore(kept[0], kept[1])
        self.parted = True if any(x.endswith(("bra DONE;", "ret;", "exit;")) for x in self.lines) else kept[2]

    def leave(self) -> None:
        p = self.condition()
        if self.rng.random() < 0.4:
            self.say(f"@{p} st.global.u32 [%rd4], %r15;", f"@{p} bra DONE;")
        else:
            self.say("st.global.u32 [%rd4], %r15;", f"@{p} {self.rng.choice(('exit', 'ret'))};")
        self.parted = True


_SHAPES: tuple[tuple[int, int, int], ...] = (
    (32, 1, 1), (64, 1, 1), (32, 2, 1), (64, 2, 1), (48, 1, 1), (33, 1, 1), (16, 2, 1), (16, 4, 1), (8, 4, 1), (8, 8, 1),
    (4, 8, 1),
    (48, 2, 1), (7, 5, 3), (1, 32, 1), (1, 64, 1), (4, 4, 4), (31, 2, 1), (17, 1, 1), (2, 16, 1), (96, 1, 1), (128, 1, 1),
    (40, 2, 1), (32, 1, 2), (16, 1, 2), (1, 1, 32), (1, 1, 40), (24, 4, 1), (20, 8, 1), (256, 1, 1), (12, 8, 2),
)  # fmt: skip


def random_shape(rng: random.Random) -> tuple[int, int, int]:
    """Half of them from a list, a few of up to 1024 threads, the rest any at all."""
    choice = rng.random()
    if choice < 0.55:
        return rng.choice(_SHAPES)
    if choice < 0.6:
        return rng.choice(((1024, 1, 1), (32, 32, 1), (16, 64, 1), (8, 8, 16), (512, 2, 1), (1000, 1, 1)))
    x = rng.randint(1, 70)
    y = rng.randint(1, max(1, min(8, 256 // x)))
    z = rng.randint(1, max(1, min(3, 256 // (x * y))))
    return x, y, z


_OFFSETS = (
    0,
    0,
    5,
    0x7FFFFFF0,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFF0,
    0xFFFFFFFF,
    0x7FF0,
    0x7FFF,
    0x8000,
    0xFFF0,
    0xFFE0,
    0x7FFFFF00,
)


def random_case(seed: int) -> Case:
    """The case of a seed; the same in every run of one version of this file."""
    rng = random.Random(f"launch {seed}")
    block = random_shape(rng)
    writer = KernelWriter(rng, block)
    body = writer.body()
    x, y, z = block
    directives = ""
    choice = rng.random()
    if choice < 0.2:
        directives = f".reqntid {x}, {y}, {z}\n"
    elif choice < 0.3:
        directives = (
            f".maxntid {max(x, rng.choice((x, 64, 256)))}, {y}, {z}\n" if x * y * z <= 256 else f".maxntid {x}, {y}, {z}\n"
        )
    text = _FRAME.format(
        before=_CALLEE if writer.calls else "", directives=directives, body=body, slot=4 * SLOTS, middle=4 * ELEMENTS // 2
    )
    grid = rng.choice(((1, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 1), (2, 2, 1)))
    if x * y * z > 300:
        grid = (1, 1, 1)
    threads = x * y * z * grid[0] * grid[1] * grid[2]
    words = max(WIDE_ELEMENTS if writer.wide else ELEMENTS, threads * SLOTS + 64)
    aliasing = rng.choice(("apart", "apart", "apart", "side", "same"))
    n = rng.choice((x, x * grid[0], max(1, x - 3), 20, 0, 1000))
    return Case(seed, text, grid, block, words, n, rng.choice((0, 1, 2, 3)), rng.choice(_OFFSETS), aliasing)
