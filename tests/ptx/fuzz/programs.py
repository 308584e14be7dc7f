"""Random integer programs: every width, predicates, branches, loops, loads at computed addresses, stores in own slots."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

WORDS = 256
"""64-bit words of the input."""
SLOT_BYTES = 1024
"""Bytes of one thread in the output: dynamic accesses in the first 64 bytes, results after them."""

_FRAME = """\
.version 8.5
.target sm_80
.address_size 64
.visible .entry k(
	.param .u64 p_in,
	.param .u64 p_out,
	.param .u32 p_n,
	.param .s32 p_k,
	.param .u64 p_wide,
	.param .u16 p_short
)
{{
	.reg .pred %p<200>;
	.reg .b16 %h<200>;
	.reg .b32 %r<400>;
	.reg .b64 %rd<400>;
	.reg .f32 %f<64>;
	ld.param.u64 %rd1, [p_in];
	ld.param.u64 %rd2, [p_out];
	ld.param.u32 %r1, [p_n];
	ld.param.s32 %r2, [p_k];
	ld.param.u64 %rd3, [p_wide];
	ld.param.u16 %h1, [p_short];
	mov.u32 %r3, %tid.x;
	mov.u32 %r4, %tid.y;
	mov.u32 %r5, %ntid.x;
	mov.u32 %r6, %ctaid.x;
	mov.u32 %r7, %laneid;
	mov.u32 %r8, %ntid.y;
	mul.lo.u32 %r9, %r5, %r8;
	mad.lo.u32 %r10, %r4, %r5, %r3;
	mad.lo.u32 %r11, %r6, %r9, %r10;
	mul.wide.u32 %rd4, %r11, {slot};
	add.s64 %rd5, %rd2, %rd4;
	cvt.u16.u32 %h2, %r3;
	cvt.u64.u32 %rd6, %r3;
	setp.lt.u32 %p1, %r3, %r1;
	setp.eq.s32 %p2, %r4, 0;
	add.cc.u32 %r399, 0, 0;
	mov.b32 %f1, 0f3F800000;
	mov.b32 %f2, 0fC0490FDB;
{body}
DONE:
	ret;
}}
"""
_CONSTANTS = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0x7FFFFFFF,
              -1, -2, -3, -4, -8, -31, -128, -32768, -0x80000000, 0x55555555, 12345)  # fmt: skip
_KINDS = {16: "%h", 32: "%r", 64: "%rd"}
_LIMITS = {"%h": 200, "%r": 400, "%rd": 400, "%p": 200}


@dataclass(frozen=True, slots=True)
class Program:
    """A kernel and its launch."""

    seed: int
    text: str
    grid: int
    block: tuple[int, int]

    def arguments(self) -> list[Any]:
        rng = np.random.default_rng(self.seed)
        choice = random.Random(self.seed)
        given = rng.integers(0, 1 << 64, WORDS, dtype=np.uint64)
        given[:64] &= np.uint64(0xFF)
        out = np.zeros(self.grid * self.block[0] * self.block[1] * SLOT_BYTES // 8, np.uint64)
        n = choice.choice((0, 1, 5, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF))
        k = choice.choice((0, 1, -1, 3, 100, 0x7FFFFFF0, -0x80000000, -5))
        wide = choice.choice((0, 1, (1 << 32) - 3, 1 << 32, (1 << 63) - 2, 1 << 63, (1 << 64) - 1, 0x123456789ABCDEF))
        return [
            given,
            out,
            np.uint32(n),
            np.int32(k),
            np.uint64(wide),
            np.uint16(choice.choice((0, 1, 32767, 32768, 65535, 300))),
        ]


class ProgramWriter:
    """Writes the body of one program."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.known: dict[str, list[str]] = {
            "%h": ["%h1", "%h2"], "%r": [f"%r{n}" for n in range(1, 12)], "%rd": ["%rd3", "%rd6", "%rd4"], "%p": ["%p1", "%p2"],
        }  # fmt: skip
        self.fixed = {"%rd1", "%rd2", "%rd5", *(f"%r{n}" for n in (1, 2, 5, 6, 8, 9))}
        self.free = {"%h": 10, "%r": 20, "%rd": 20, "%p": 10}
        self.depth = 0
        self.labels = 0

    def say(self, *lines: str) -> None:
        self.lines += lines

    def body(self) -> str:
        self.statements(self.rng.randint(6, 24))
        self.results()
        return "\n".join(f"\t{x}" if not x.endswith(":") else x for x in self.lines)

    def results(self) -> None:
        """Stores registers of every kind."""
        at = 64
        for kind, size in (("%rd", 8), ("%r", 4), ("%h", 2)):
            for register in self.known[kind][-20:]:
                self.say(f"st.global.b{8 * size} [%rd5+{at}], {register};")
                at += size
        at = (at + 3) // 4 * 4
        for register in self.known["%p"][-20:]:
            self.say(f"selp.b32 %r399, 1, 0, {register};", f"st.global.b32 [%rd5+{at}], %r399;")
            at += 4
        for register in ("%f1", "%f2"):
            self.say(f"st.global.f32 [%rd5+{at}], {register};")
            at += 4
        assert at <= SLOT_BYTES

    def fresh(self, kind: str) -> str:
        number = self.free[kind]
        if number >= _LIMITS[kind] - 1:
            return self.rng.choice(self.known[kind][2:] or self.known[kind])
        self.free[kind] = number + 1
        return f"{kind}{number}"

    def target(self, kind: str, *, initialise: bool) -> str:
        """A register to write: known before, or new (then `remember` it)."""
        rng = self.rng
        if rng.random() < 0.35:
            candidates = [r for r in self.known[kind] if r not in self.fixed]
            if candidates:
                return rng.choice(candidates)
        register = self.fresh(kind)
        if initialise:
            self.say(
                f"setp.eq.s32 {register}, 0, 0;"
                if kind == "%p"
                else f"mov.b{ {'%h': 16, '%r': 32, '%rd': 64}[kind] } {register}, 7;"
            )
        return register

    def remember(self, kind: str, register: str) -> None:
        if register not in self.known[kind]:
            self.known[kind].append(register)

    def source(self, bits: int, *, constant: bool = True) -> str:
        rng = self.rng
        if constant and rng.random() < 0.3:
            value = rng.choice(_CONSTANTS)
            return str(value if bits > 16 else max(-32768, min(65535, value)))
        known = self.known[_KINDS[bits]]
        return rng.choice(known[-8:] if rng.random() < 0.6 else known)

    def predicate(self) -> str:
        return self.rng.choice(self.known["%p"][-6:])

    def label(self) -> str:
        self.labels += 1
        return f"$B{self.labels}"

    # statements

    def statements(self, count: int) -> None:
        for _ in range(count):
            choice = self.rng.random()
            if choice < 0.62:
                self.compute()
            elif choice < 0.72:
                self.memory()
            elif choice < 0.8:
                self.compare()
            elif choice < 0.9 and self.depth < 3:
                self.branch()
            elif choice < 0.97 and self.depth < 2:
                self.loop()
            elif choice < 0.98:
                self.say(f"@{self.predicate()} {self.rng.choice(('bra DONE', 'ret', 'exit'))};")
            else:
                self.float()

    def float(self) -> None:
        to, x, y = (self.rng.choice(("%f1", "%f2")) for _ in range(3))
        self.say(self.rng.choice((f"add.f32 {to}, {x}, {y};", f"sub.rn.f32 {to}, {x}, {y};", f"mul.f32 {to}, {x}, 0f40490FDB;",
                                  f"fma.rn.f32 {to}, {x}, 0f3F000001, {y};")))  # fmt: skip

    def compute(self) -> None:
        rng = self.rng
        bits = rng.choice((16, 32, 32, 32, 64, 64))
        guard = f"@{rng.choice(('', '!'))}{self.predicate()} " if rng.random() < 0.12 else ""
        text, kind = self.operation(bits)
        to = self.target(kind, initialise=bool(guard))
        for line in text.format(to=to, guard=guard).splitlines():
            self.say(line)
        self.remember(kind, to)

    def operation(self, bits: int) -> tuple[str, str]:
        """Text with `{guard}` and `{to}`, and the kind of register that it writes."""
        rng, own = self.rng, _KINDS[bits]
        s = rng.choice("su")
        y, z = self.source(bits), self.source(bits)
        a = self.source(bits, constant=False)
        small = self.source(32) if rng.random() < 0.4 else str(rng.choice((0, 1, 2, 5, 15, 16, 31, 32, 33, 63, 64, 255)))
        forms: list[tuple[str, str]] = [
            (f"{rng.choice(('add', 'sub'))}.{s}{bits} {{to}}, {a}, {y};", own),
            (f"{rng.choice(('add', 'sub'))}.{s}{bits} {{to}}, {a}, {rng.choice((1, 4, -1, 16))};", own),
            (f"mul.lo.{s}{bits} {{to}}, {a}, {y};", own),
            (f"mul.hi.{s}{bits} {{to}}, {a}, {y};", own),
            (f"mad.lo.{s}{bits} {{to}}, {a}, {y}, {z};", own),
            (f"{rng.choice(('min', 'max'))}.{s}{bits} {{to}}, {a}, {y};", own),
            (f"{rng.choice(('div', 'rem'))}.{s}{bits} {{to}}, {a}, {rng.choice((1, 2, 3, 7, 8, 10, 32, 100, -1, -3))};", own),
            (f"{rng.choice(('and', 'or', 'xor'))}.b{bits} {{to}}, {a}, {y};", own),
            (f"and.b{bits} {{to}}, {a}, {rng.choice((1, 7, 31, 255, -8, 0xFF0, 6))};", own),
            (f"not.b{bits} {{to}}, {a};", own),
            (f"cnot.b{bits} {{to}}, {a};", own),
            (f"{rng.choice(('neg', 'abs'))}.s{bits} {{to}}, {a};", own),
            (f"shl.b{bits} {{to}}, {a}, {small};", own),
            (f"shr.{s}{bits} {{to}}, {a}, {small};", own),
            (f"shl.b{bits} {{to}}, {a}, {rng.choice((1, 2, 3, 5))};", own),
            (f"selp.b{bits} {{to}}, {a}, {y}, {self.predicate()};", own),
            (f"slct.b{bits}.s32 {{to}}, {a}, {y}, {self.source(32, constant=False)};", own),
            (f"sad.{s}{bits} {{to}}, {a}, {y}, {z};", own),
            (f"mov.b{bits} {{to}}, {a};", own),
        ]  # fmt: skip
        other = rng.choice((8, 16, 32, 64))
        t = rng.choice("su")
        kind = {8: rng.choice(("%h", "%r")), 16: "%h", 32: "%r", 64: "%rd"}[other]
        if other == 8:
            forms += [(f"cvt.{t}8.{s}{bits} {{to}}, {a};", kind)]
        forms += [
            (f"cvt.{t}{max(other, 16)}.{s}{bits} {{to}}, {a};", kind if other > 8 else "%h"),
            (f"cvt.{t}{max(other, 16)}.{s}8 {{to}}, {a};", kind if other > 8 else "%h"),
            (f"cvt.sat.{t}{max(other, 16)}.{s}{bits} {{to}}, {a};", kind if other > 8 else "%h"),
        ]
        if bits < 64:
            double = _KINDS[2 * bits]
            forms += [
                (f"mul.wide.{s}{bits} {{to}}, {a}, {y};", double),
                (f"mad.wide.{s}{bits} {{to}}, {a}, {y}, {self.source(2 * bits)};", double),
            ] * 2
        if bits > 16:
            forms += [
                (f"bfe.{s}{bits} {{to}}, {a}, {small}, {rng.choice((0, 1, 5, 8, 31, 40, 64, self.source(32)))};", own),
                (f"bfi.b{bits} {{to}}, {a}, {y}, {small}, {rng.choice((0, 1, 5, 8, 31, 40))};", own),
                (f"popc.b{bits} {{to}}, {a};", "%r"), (f"clz.b{bits} {{to}}, {a};", "%r"), (f"brev.b{bits} {{to}}, {a};", own),
                (f"bfind{rng.choice(('', '.shiftamt'))}.{s}{bits} {{to}}, {a};", "%r"),
                (f"{{guard}}add.cc.{s}{bits} {{to}}, {a}, {y};\n{{guard}}addc.{s}{bits} {{to}}, {{to}}, {z};", own),
                (f"{{guard}}sub.cc.{s}{bits} {{to}}, {a}, {y};\n{{guard}}subc.cc.{s}{bits} {{to}}, {{to}}, {z};"
                 f"\n{{guard}}addc.{s}{bits} {{to}}, {{to}}, 0;", own),
                (f"{{guard}}mad.lo.cc.{s}{bits} {{to}}, {a}, {y}, {z};\n{{guard}}madc.hi.{s}{bits} {{to}}, {a}, {y}, {z};", own),
            ]  # fmt: skip
        if bits == 32:
            forms += [
                (f"add.sat.s32 {{to}}, {a}, {y};", own), (f"sub.sat.s32 {{to}}, {a}, {y};", own),
                (f"lop3.b32 {{to}}, {a}, {y}, {z}, {rng.randrange(256)};", own),
                (f"shf.{rng.choice('lr')}.{rng.choice(('wrap', 'clamp'))}.b32 {{to}}, {a}, {y}, {small};", own),
                (f"prmt.b32 {{to}}, {a}, {y}, {z};", own),
                (f"prmt.b32 {{to}}, {a}, {y}, {rng.choice((0x3210, 0x5410, 0x7632, 0x0123, 0x9810))};", own),
                (f"mul24.{rng.choice(('lo', 'hi'))}.{s}32 {{to}}, {a}, {y};", own),
                (f"mad24.lo.{s}32 {{to}}, {a}, {y}, {z};", own),
                (f"set.{rng.choice(('lt', 'eq', 'ge'))}.u32.{s}32 {{to}}, {a}, {y};", own),
                (f"mov.b32 {{to}}, {{{{{self.source(16, constant=False)}, {self.source(16, constant=False)}}}}};", own),
                (f"mad.hi.{s}32 {{to}}, {a}, {y}, {z};", own),
            ]  # fmt: skip
        if bits == 64:
            forms += [(f"mov.b64 {{to}}, {{{{{self.source(32, constant=False)}, {self.source(32, constant=False)}}}}};", own)]
            r1, r2 = self.source(32, constant=False), self.fresh("%r")
            if r1 not in self.fixed:
                self.remember("%r", r2)
                self.say(f"mov.b64 {{{r1}, {r2}}}, {a};")
        text, kind = rng.choice(forms)
        return (text if "{guard}" in text else "{guard}" + text), kind

    def compare(self) -> None:
        rng = self.rng
        bits, s = rng.choice((16, 32, 32, 64)), rng.choice("sub")
        names = ("eq", "ne") if s == "b" else ("eq", "ne", "lt", "le", "gt", "ge")
        if s == "u" and rng.random() < 0.3:
            names = ("lo", "ls", "hi", "hs")
        guard = f"@{self.predicate()} " if rng.random() < 0.1 else ""
        to = self.target("%p", initialise=bool(guard))
        first = self.source(bits, constant=False)
        choice = rng.random()
        if choice < 0.6:
            self.say(f"{guard}setp.{rng.choice(names)}.{s}{bits} {to}, {first}, {self.source(bits)};")
        elif choice < 0.8:
            third = f"{rng.choice(('', '!'))}{self.predicate()}"
            joint = rng.choice(("and", "or", "xor"))
            self.say(f"{guard}setp.{rng.choice(names)}.{joint}.{s}{bits} {to}, {first}, {self.source(bits)}, {third};")
        elif choice < 0.9:
            other = self.fresh("%p")
            if other != to:
                self.say(f"setp.{rng.choice(names)}.{s}{bits} {to}|{other}, {first}, {self.source(bits)};")
                self.remember("%p", other)
        else:
            x, y = self.predicate(), self.predicate()
            self.say(rng.choice((f"{guard}and.pred {to}, {x}, {y};", f"{guard}or.pred {to}, {x}, {y};",
                                 f"{guard}xor.pred {to}, {x}, {y};",
                                 f"{guard}not.pred {to}, {x};", f"{guard}mov.pred {to}, {x};")))  # fmt: skip
        self.remember("%p", to)

    def memory(self) -> None:
        """A load of the input, a store or a load in the thread's own first 64 bytes."""
        rng = self.rng
        size = rng.choice((1, 2, 4, 4, 8))
        index, address = self.fresh("%r"), self.fresh("%rd")
        own = rng.random() < 0.5
        if own and rng.random() < 0.5:
            where = f"[%rd5+{rng.randrange(0, 64, size)}]"
        else:
            span = 64 // size if own else WORDS * 8 // size
            mask = (1 << (span.bit_length() - 1)) - 1
            how = rng.random()
            self.say(f"and.b32 {index}, {self.source(32, constant=False)}, {mask if how < 0.6 else mask >> 1};")
            self.remember("%r", index)
            base = "%rd5" if own else "%rd1"
            self.say(rng.choice((f"mad.wide.u32 {address}, {index}, {size}, {base};",
                                 f"mul.wide.s32 {address}, {index}, {size};\n\tadd.s64 {address}, {address}, {base};",
                                 f"cvt.u64.u32 {address}, {index};\n\tshl.b64 {address}, {address}, {size.bit_length() - 1};\n\t"
                                 f"add.u64 {address}, {base}, {address};")))  # fmt: skip
            where = f"[{address}]" if how < 0.6 or own else f"[{address}+{size * rng.randrange(1, 8)}]"
        types = {1: ("u8", "s8", "b8"), 2: ("u16", "s16", "b16"), 4: ("u32", "s32", "b32"), 8: ("u64", "s64", "b64")}[size]
        kinds = {1: ("%h", "%r", "%rd"), 2: ("%h", "%r", "%rd"), 4: ("%r", "%rd"), 8: ("%rd",)}[size]
        kind = rng.choice(kinds)
        guard = f"@{rng.choice(('', '!'))}{self.predicate()} " if rng.random() < 0.12 else ""
        if own and rng.random() < 0.6:
            self.say(f"{guard}st.global.{rng.choice(types)} {where}, {rng.choice(self.known[kind])};")
            return
        if own and size == 4 and rng.random() < 0.2:
            self.say(f"{guard}red.global.add.u32 {where}, {self.source(32)};")
            return
        to = self.target(kind, initialise=bool(guard))
        qualifier = ".nc" if not own and rng.random() < 0.4 else ""
        self.say(f"{guard}ld.global{qualifier}.{rng.choice(types)} {to}, {where};")
        self.remember(kind, to)

    def kept(self) -> dict[str, list[str]]:
        return {kind: list(registers) for kind, registers in self.known.items()}

    def branch(self) -> None:
        rng, other, end = self.rng, self.label(), self.label()
        before = self.kept()
        if rng.random() < 0.1:
            self.switch()
            return
        self.say(f"@{rng.choice(('', '!'))}{self.predicate()} bra {other};")
        self.depth += 1
        self.statements(rng.randint(1, 4))
        self.known = self.kept_of(before)
        if rng.random() < 0.5:
            self.say(f"bra {end};", f"{other}:")
            self.statements(rng.randint(1, 4))
            self.known = self.kept_of(before)
            self.say(f"{end}:")
        else:
            self.say(f"{other}:")
        self.depth -= 1

    def switch(self) -> None:
        """Four ways by table, some through the next."""
        rng, index, table, end = self.rng, self.fresh("%r"), self.label(), self.label()
        ways = [self.label() for _ in range(rng.choice((2, 4)))]
        source = self.source(32, constant=False)
        self.say(
            f"and.b32 {index}, {source}, {len(ways) - 1};",
            f"{table}: .branchtargets {', '.join(ways)};",
            f"brx.idx {index}, {table};",
        )
        before = self.kept()
        self.depth += 1
        for way in ways:
            self.say(f"{way}:")
            self.statements(rng.randint(0, 2))
            self.known = self.kept_of(before)
            if rng.random() < 0.7:
                self.say(f"bra {end};")
        self.depth -= 1
        self.say(f"{end}:")

    @staticmethod
    def kept_of(known: dict[str, list[str]]) -> dict[str, list[str]]:
        return {kind: list(registers) for kind, registers in known.items()}

    def loop(self) -> None:
        """Counted by a register that nothing else writes, so that it ends; other registers move along."""
        rng, start, end, p = self.rng, self.label(), self.label(), self.fresh("%p")
        counter, wide = self.fresh("%r"), self.fresh("%rd")
        before = self.kept()
        step = rng.choice((1, 1, 2, 3))
        self.say(f"mov.u32 {counter}, {rng.choice((0, 0, 1, '%r7'))};", f"mov.b64 {wide}, {rng.choice(('0', '%rd3', '%rd6'))};")
        trips = rng.choice(("3", "2", "5"))
        bound = self.fresh("%r")
        self.say(
            rng.choice(
                (f"add.s32 {bound}, {counter}, {trips};", f"and.b32 {bound}, %r3, 3;\n\tadd.s32 {bound}, {bound}, {counter};")
            )
        )
        self.fixed |= {counter, bound, wide}
        self.known["%r"] += [counter, bound]
        self.known["%rd"].append(wide)
        moving = [(k, r) for k in ("%r", "%rd", "%h") for r in self.known[k] if r not in self.fixed]
        inner = self.label()
        if rng.random() < 0.1:
            self.say(f"@{self.predicate()} bra {inner};")
        self.say(f"{start}:")
        tested = rng.random() < 0.5
        if tested:
            self.say(f"setp.ge.s32 {p}, {counter}, {bound};", f"@{p} bra {end};")
        early = rng.random() < 0.4
        if early:
            self.say(f"add.s32 {counter}, {counter}, {step};")
        inside = self.kept()
        self.depth += 1
        self.statements(rng.randint(1, 3))
        if early and tested and rng.random() < 0.4:
            self.say(f"@{self.predicate()} bra {start};")
        if rng.random() < 0.3:
            self.say(f"@{self.predicate()} bra {end};")
        self.say(f"{inner}:")
        self.known = self.kept_of(inside)
        if rng.random() < 0.4:
            self.statements(rng.randint(1, 2))
        for kind, register in rng.sample(moving, min(len(moving), rng.choice((0, 1, 1, 2)))):
            bits = {"%h": 16, "%r": 32, "%rd": 64}[kind]
            others = [r for k, r in moving if k == kind]
            what = rng.random()
            if what < 0.6:
                self.say(f"add.s{bits} {register}, {register}, {rng.choice((1, 4, -1, 8, 0x7FFF))};")
            elif what < 0.75:
                self.say(f"mov.b{bits} {register}, {rng.choice(others)};")
            elif what < 0.9:
                self.say(f"add.s{bits} {register}, {register}, {rng.choice(others)};")
            else:
                self.say(f"shl.b{bits} {register}, {register}, 1;")
        self.say(f"add.s64 {wide}, {wide}, {rng.choice((4, 8, -4))};")
        self.depth -= 1
        self.known = self.kept_of(inside)
        if not early:
            self.say(f"add.s32 {counter}, {counter}, {step};")
        if tested:
            self.say(f"bra {start};")
        else:
            self.say(f"setp.lt.s32 {p}, {counter}, {bound};", f"@{p} bra {start};")
        self.say(f"{end}:")
        self.known = self.kept_of(before)
        self.known["%r"].append(counter)
        self.known["%rd"].append(wide)
        self.fixed -= {counter, bound, wide}


def random_program(seed: int) -> Program:
    """The program of a seed; the same in every run of one version of this file."""
    rng = random.Random(f"program {seed}")
    body = ProgramWriter(rng).body()
    block = rng.choice(((4, 1), (3, 2), (8, 1), (33, 1), (1, 3), (5, 7), (2, 16)))
    return Program(seed, _FRAME.format(body=body, slot=SLOT_BYTES), rng.choice((1, 1, 2)), block)
