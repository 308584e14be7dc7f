"""Random straight-line kernels of integer words against changed ones: what `prove_equivalent` says, against running both.

A kernel reads four words and stores what it computed in words of 16 to 64 bits; the other one differs in one instruction.
`proved` is wrong if some numbers give different results, `refuted` if many edge numbers and random ones give none.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from warploom.core import UnsupportedError, u32
from warploom.ptx import Program, launch, lower, parse
from warploom.ptx.verify import verify
from warploom.synth.compiled import ArrayArgument, prove_equivalent

_HEAD = (
    ".version 8.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 in)\n{\n"
    "\t.reg .pred %p<200>;\n\t.reg .b16 %h<200>;\n\t.reg .b32 %r<200>;\n\t.reg .b64 %rd<200>;\n"
    "\tld.param.u64 %rd1, [out];\n\tld.param.u64 %rd2, [in];\n"
    + "".join(f"\tld.global.u32 %r{10 + k}, [%rd2+{4 * k}];\n" for k in range(4))
)
_ARGUMENTS = (ArrayArgument("out", u32, (24,)), ArrayArgument("in", u32, (4,)))
_REGISTER = {16: "%h", 32: "%r", 64: "%rd"}
_NUMBERS = (0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 0x7FFFFFFF,
            -1, -2, -4, -128, -32768, 0x55555555, 0xFF00, 0xFFFF0000, 0x80000000, 0xAAAAAAAB)  # fmt: skip
_WIDE_NUMBERS = (1 << 32, (1 << 40) + 1, 1 << 63, -(1 << 33))
_EDGES = (0, 1, 2, 3, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0x8000, 0xFFFF, 0x10000, 0x7FFF, 0xFF, 0x80, 0x7F)
_AMOUNTS = (0, 1, 3, 8, 15, 16, 24, 31, 32, 33, 40, 63, 64)
_SWAPPED = (("add.", "sub."), ("min.", "max."), ("and.", "or."), ("shl.", "shr."), ("div.", "rem."), ("lt.", "le."),
            ("gt.", "ge."), ("mul.hi", "mul.lo"), (".wrap", ".clamp"), (".u", ".s"), (".s", ".u"))  # fmt: skip


class _Writer:
    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.known: dict[int, list[str]] = {16: [], 32: ["%r10", "%r11", "%r12", "%r13"], 64: []}
        self.number = 20

    def fresh(self, bits: int) -> str:
        self.number += 1
        return f"{_REGISTER[bits]}{self.number}"

    def register(self, bits: int) -> str:
        rng = self.rng
        if not self.known[bits]:
            made = self.fresh(bits)
            wide = f"mul.wide.{rng.choice('us')}32 {made}, {rng.choice(self.known[32])}, {rng.choice(self.known[32])};"
            plain = f"cvt.{rng.choice('us')}{bits}.{rng.choice('us')}32 {made}, {rng.choice(self.known[32])};"
            self.lines.append(wide if bits == 64 and rng.random() < 0.5 else plain)
            self.known[bits].append(made)
        return rng.choice(self.known[bits][-5:])

    def source(self, bits: int) -> str:
        if self.rng.random() >= 0.3:
            return self.register(bits)
        value = self.rng.choice(_NUMBERS + _WIDE_NUMBERS if bits == 64 else _NUMBERS)
        return str(max(-32768, min(65535, value)) if bits == 16 else value)

    def predicate(self) -> str:
        rng, bits = self.rng, self.rng.choice((16, 32, 32, 64))
        a, b = self.register(bits), self.source(bits)
        self.number += 1
        self.lines.append(
            f"setp.{rng.choice(('lt', 'le', 'gt', 'ge', 'eq', 'ne'))}.{rng.choice('us')}{bits} %p{self.number}, {a}, {b};"
        )
        return f"%p{self.number}"

    def operation(self) -> None:
        rng = self.rng
        bits, sign, amount = rng.choice((16, 32, 32, 32, 64, 64)), rng.choice("us"), rng.choice(_AMOUNTS)
        length, long = rng.choice((0, 1, 8, 16, 17, 31, 32, 40)), max(bits, 32)
        a, b, x, y = self.register(bits), self.source(bits), self.register(long), self.source(long)
        selector = rng.choice((0x3210, 0x5410, 0x7632, 0x0123, 0x7770, 0x4444, rng.randrange(65536) & 0x7777))
        target = rng.choice((16, 32, 64))
        divisor = rng.choice((1, 2, 3, 4, 7, 8, 16, 10, 100, -1, -2, -3, 255))
        forms = [
            (bits, f"{rng.choice(('add', 'sub', 'mul.lo', 'mul.hi', 'min', 'max'))}.{sign}{bits}", f"{a}, {b}"),
            (bits, f"{rng.choice(('and', 'or', 'xor'))}.b{bits}", f"{a}, {b}"),
            (bits, f"{rng.choice(('neg', 'abs'))}.s{bits}", a),
            (bits, f"not.b{bits}", a),
            (bits, f"shl.b{bits}", f"{a}, {amount}"),
            (bits, f"shr.{sign}{bits}", f"{a}, {amount}"),
            (bits, f"mad.lo.{sign}{bits}", f"{a}, {b}, {self.source(bits)}"),
            (bits, f"{rng.choice(('div', 'rem'))}.{sign}{bits}", f"{a}, {divisor}"),
            (bits, f"selp.b{bits}", f"{a}, {b}, {self.predicate()}"),
            (target, f"cvt.{rng.choice('us')}{target}.{sign}{bits}", a),
            (target, f"cvt.{rng.choice('us')}{target}.{sign}{bits}", a),
            (long, f"bfe.{sign}{long}", f"{x}, {amount}, {length}"),
            (long, f"bfi.b{long}", f"{x}, {y}, {amount}, {length}"),
            (32, "prmt.b32", f"{self.register(32)}, {self.source(32)}, {selector:#x}"),
            (
                32,
                f"shf.{rng.choice('lr')}.{rng.choice(('wrap', 'clamp'))}.b32",
                f"{self.register(32)}, {self.source(32)}, {amount}",
            ),
            (32, "lop3.b32", f"{self.register(32)}, {self.source(32)}, {self.source(32)}, {rng.randrange(256)}"),
        ]
        if bits < 64:
            forms.append((2 * bits, f"mul.wide.{sign}{bits}", f"{a}, {b}"))
        result, name, operands = rng.choice(forms)
        made = self.fresh(result)
        self.lines.append(f"{name} {made}, {operands};")
        self.known[result].append(made)

    def stores(self) -> list[str]:
        found: list[str] = []
        at = 0
        for bits in (64, 32, 16):
            for register in self.known[bits][-3:]:
                found.append(f"st.global.b{bits} [%rd1+{at}], {register};")
                at += bits // 8
            at = (at + 7) // 8 * 8
        return found


def _changed(lines: list[str], rng: random.Random) -> list[str]:
    found = list(lines)
    k = rng.randrange(len(found))
    name, rest = found[k].rstrip(";").split(" ", 1)
    operands = rest.split(", ")
    match rng.randrange(4):
        case 0 if operands[-1].lstrip("-").isdigit():
            operands[-1] = str(int(operands[-1]) + rng.choice((1, -1, 32, -32, 64, 8, 1 << 16, 1 << 32)))
        case 1 if len(operands) > 2:
            operands[1], operands[2] = operands[2], operands[1]
        case 2:
            found.insert(k, found[k])
        case _:
            old, new = rng.choice([pair for pair in _SWAPPED if pair[0] in name] or [("", "")])
            name = name.replace(old, new, 1) if old else name
    found[k] = f"{name} {', '.join(operands)};"
    return found


def given(case: int) -> tuple[str, str]:
    """Both texts."""
    rng = random.Random(f"equivalences {case}")
    writer = _Writer(rng)
    for _ in range(rng.randint(1, 7)):
        writer.operation()
    stores = writer.stores()
    one, other = (
        _HEAD + "".join(f"\t{line}\n" for line in [*lines, *stores]) + "\tret;\n}\n"
        for lines in (writer.lines, _changed(writer.lines, rng))
    )
    return one, other


def check(case: int) -> tuple[str, str]:
    """How it ended, and what is wrong."""
    modules = [parse(text) for text in given(case)]
    if any(verify(m) for m in modules):
        return "not PTX", ""
    one, other = (lower(m) for m in modules)
    try:
        verdict = prove_equivalent(one, other, "k", _ARGUMENTS, (1, 1, 1), (1, 1, 1)).verdict
    except UnsupportedError:
        return "not followed", ""
    rng = random.Random(case)
    if verdict == "proved" and (numbers := _telling(one, other, rng, 12)) is not None:
        return verdict, f"proved equal, and different for {numbers}"
    if verdict == "refuted" and _telling(one, other, rng, 300) is None:
        return verdict, "refuted, and equal for 300 choices of numbers"
    return verdict, ""


def _telling(one: Program, other: Program, rng: random.Random, count: int) -> list[int] | None:
    """Numbers for which the kernels differ."""
    for numbers in _choices(rng, count):
        results = [
            launch(p, "k", grid=1, block=1, args=[np.zeros(24, np.uint32), np.array(numbers, np.uint32)]) for p in (one, other)
        ]
        if not np.array_equal(*(r.arrays[0] for r in results)):
            return numbers
    return None


def _choices(rng: random.Random, count: int) -> Iterator[list[int]]:
    for _ in range(count):
        yield [rng.choice(_EDGES) if rng.random() < 0.6 else rng.getrandbits(32) for _ in range(4)]
