"""Random kernels, random launches: rewritten and original must leave identical memory.

    python -m tests.ptx.fuzz.shuffle COUNT [SEED] [--keep FOLDER]

A kernel is a random program over one accumulator: loads of every width, form and stride around a thread's own element,
stores that may alias, branches and loops that lanes decide differently, early exits, barriers. Everything loaded ends up in
the accumulator, and that in memory. A kernel whose original is racy (the interpreter says so) may legitimately differ and is
counted apart.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.ptx.shuffle.kernels import PAD, PITCH, kernel
from tests.ptx.shuffle.same import differences

from warploom.ptx.shuffle import ShuffleOptions, apply_all, shuffle
from warploom.ptx.simt import launch
from warploom.ptx.syntax import parse

BLOCKS: tuple[tuple[int, int, int], ...] = (
    (32, 1, 1), (64, 1, 1), (48, 1, 1), (33, 1, 1), (16, 2, 1), (8, 4, 1), (8, 8, 1), (48, 2, 1), (7, 5, 3), (1, 32, 1),
    (4, 4, 4), (31, 2, 1), (17, 1, 1), (2, 16, 1), (64, 2, 1),
)  # fmt: skip
LIMIT = 4_000_000
"""Instructions times threads of one launch."""

_LOADS: tuple[tuple[str, str, int], ...] = (
    ("f32", "%f", 4), ("u32", "%r", 4), ("b32", "%r", 4), ("s32", "%r", 4), ("f32", "%f", 4), ("f32", "%f", 4),
    ("u8", "%h", 1), ("s8", "%h", 1), ("u16", "%h", 2), ("s16", "%r", 2), ("u8", "%r", 1), ("b64", "%rd", 8), ("f64", "%fd", 8),
)  # fmt: skip
"""Type, kind of register, bytes."""


@dataclass
class Launch:
    """One kernel and how to run it."""

    text: str
    options: ShuffleOptions
    block: tuple[int, int, int]
    grid: tuple[int, int, int]
    n: int
    trip: int
    aliased: bool
    seed: int

    def arguments(self) -> list[Any]:
        rng = np.random.default_rng(self.seed)
        count = (PITCH * self.block[1] * self.block[2] + 8 * PAD) * 2
        given = rng.integers(0, 1 << 32, count, dtype=np.uint32)
        out = given if self.aliased else rng.integers(0, 1 << 32, count, dtype=np.uint32)
        return [given, out, np.int32(self.n), np.int32(self.trip)]


@dataclass
class Writer:
    """Writes one random body."""

    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    numbers: dict[str, int] = field(default_factory=dict[str, int])
    labels: int = 0
    depth: int = 0
    bases: list[str] = field(default_factory=list[str])
    counters: list[str] = field(default_factory=list[str])
    focus: tuple[str, str, int] = _LOADS[0]
    fresh_only: bool = True

    def say(self, *lines: str) -> None:
        self.lines += lines

    def new(self, kind: str, low: int, high: int) -> str:
        """A register of the frame between two numbers; often one that was not used before."""
        number = self.numbers.get(kind, low)
        if number >= high or (not self.fresh_only and self.rng.random() < 0.2):
            return f"{kind}{self.rng.randrange(low, high)}"
        self.numbers[kind] = number + 1
        return f"{kind}{number}"

    def body(self) -> str:
        self.fresh_only = self.rng.random() < 0.6
        self.focus = self.rng.choice(_LOADS)
        self.say("mov.u32 %r63, 12345;", "mov.u32 %r62, 0;")
        for _ in range(self.rng.choice((1, 1, 2))):
            self.base()
        self.statements(self.rng.randint(3, 9))
        self.say("st.global.u32 [%rd6], %r63;")
        return "\n".join(self.lines)

    # addresses

    def base(self) -> None:
        """A register that points near the thread's own element, or into the first elements."""
        rng, rd, index = self.rng, self.new("%rd", 10, 40), self.new("%r", 24, 56)
        size = rng.choice((4, 4, 4, 8, 1, 2))
        match rng.randrange(9):
            case 0 | 1:
                self.say(f"add.s64 {rd}, %rd5, {rng.choice((0, 0, 16, -8))};")
            case 2:
                self.say(f"mul.wide.s32 {rd}, %r8, {size};", f"add.s64 {rd}, {rd}, %rd1;", f"add.s64 {rd}, {rd}, {4 * PAD};")
            case 3:
                self.say(f"add.s32 {index}, %r8, {rng.randrange(9)};", f"mul.wide.u32 {rd}, {index}, {size};")
                self.say(f"add.s64 {rd}, {rd}, %rd1;", f"add.s64 {rd}, {rd}, {4 * PAD};")
            case 4:
                self.say(f"sub.s32 {index}, {rng.choice((300, 500))}, %r1;", f"mul.wide.s32 {rd}, {index}, 4;")
                self.say(f"add.s64 {rd}, {rd}, %rd1;")
            case 5:
                mask = rng.choice((3, 7, 15, 31))
                self.say(f"and.b32 {index}, %r1, {mask};", f"mul.wide.u32 {rd}, {index}, {size};", f"add.s64 {rd}, {rd}, %rd1;")
                self.say(f"add.s64 {rd}, {rd}, {4 * PAD};")
            case 6:
                self.say(f"{rng.choice(('rem', 'div'))}.u32 {index}, %r1, {rng.choice((3, 4, 5, 8))};")
                self.say(f"mul.wide.u32 {rd}, {index}, {size};", f"add.s64 {rd}, {rd}, %rd1;", f"add.s64 {rd}, {rd}, {4 * PAD};")
            case 7:
                mine = rng.choice(("%tid.y", "%laneid", "%ctaid.x", "%tid.x"))
                self.say(f"mov.u32 {index}, {mine};", f"mad.lo.s32 {index}, {index}, {rng.choice((1, 2, 3))}, %r1;")
                self.say(f"mul.wide.s32 {rd}, {index}, 4;", f"add.s64 {rd}, {rd}, %rd1;", f"add.s64 {rd}, {rd}, {4 * PAD};")
            case _:
                narrow = self.new("%h", 20, 32)
                kind = rng.choice(("s16", "u16"))
                self.say(f"cvt.u16.u32 {narrow}, %r4;", f"add.{kind} {narrow}, {narrow}, {rng.choice((5, 32740, 65500))};")
                self.say(f"cvt.{kind[0]}64.{kind} {rd}, {narrow};", f"and.b64 {rd}, {rd}, 511;" if rng.random() < 0.5 else "")
                self.say(f"and.b64 {rd}, {rd}, 1023;", f"shl.b64 {rd}, {rd}, 2;", f"add.s64 {rd}, {rd}, %rd1;")
                self.say(f"add.s64 {rd}, {rd}, {4 * PAD};")
        self.bases.append(rd)

    def address(self) -> tuple[str, int]:
        """Register and offset in bytes, before scaling by the element."""
        rng = self.rng
        register = rng.choice(self.bases)
        if self.counters and rng.random() < 0.5:
            moved = self.new("%rd", 40, 60)
            self.say(f"mul.wide.s32 {moved}, {rng.choice(self.counters)}, 16;", f"add.s64 {moved}, {moved}, {register};")
            register = moved
        return register, rng.choice((0, 0, 1, 1, 1, -1, -1, 2, -2, 3, 4, 8, 31, -31, 32, PITCH))

    # statements

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    def statement(self) -> None:
        choice = self.rng.random()
        if choice < 0.62:
            for _ in range(self.rng.choice((1, 2, 3))):
                self.load()
        elif choice < 0.68:
            self.store()
        elif choice < 0.72:
            self.mix()
        elif choice < 0.84 and self.depth < 3:
            self.branch()
        elif choice < 0.93 and self.depth < 2:
            self.loop()
        elif choice < 0.95:
            self.leave()
        elif choice < 0.97:
            self.base()
        else:
            self.say(
                self.rng.choice(
                    ("membar.cta;", "atom.global.add.u32 %r61, [%rd6+64], %r4;", "bar.warp.sync -1;" if not self.depth else "")
                )
            )

    def load(self) -> None:
        rng = self.rng
        kind, family, size = self.focus if rng.random() < 0.75 else rng.choice(_LOADS)
        register, offset = self.address()
        where = f"[{register}+{offset * size}]" if offset else f"[{register}]"
        qualifier = rng.choice(("", "", ".nc", ".nc", ".volatile", ".cg")) if rng.random() < 0.25 else ""
        name = f"ld{qualifier}.global.{kind}" if qualifier == ".volatile" else f"ld.global{qualifier}.{kind}"
        guard = ""
        if rng.random() < 0.08:
            guard = f"@{rng.choice(('', '!'))}{self.condition()} "
        low, high = {"%f": (1, 60), "%r": (24, 56), "%h": (1, 20), "%rd": (10, 40), "%fd": (1, 30)}[family]
        aligned = 0
        if kind == "f32" and rng.random() < 0.1:
            wide = self.new("%rd", 40, 60)
            self.say(f"and.b64 {wide}, {register}, -8;")
            first, second = self.new("%f", 1, 60), self.new("%f", 1, 60)
            if first != second:
                self.say(f"{name.removesuffix('f32')}v2.f32 {{{first}, {second}}}, [{wide}+{8 * rng.randrange(-2, 3)}];")
                self.take(first, "%f")
                self.take(second, "%f")
            return
        if size > 1:
            aligned = -size
        if aligned:
            exact = self.new("%rd", 40, 60)
            if register in self.bases and size <= 4 and rng.random() < 0.8 and self.is_word(register):
                exact = register
            else:
                self.say(f"and.b64 {exact}, {register}, {aligned};")
            where = where.replace(register, exact)
        target = self.new(family, low, high)
        if target in self.bases:
            return
        if guard:
            self.say(
                f"mov.{ {'%f': 'f32', '%r': 'b32', '%h': 'b16', '%rd': 'b64', '%fd': 'f64'}[family] } {target}, {_zero(family)};"
            )
        self.say(f"{guard}{name} {target}, {where};")
        self.take(target, family)

    def is_word(self, register: str) -> bool:
        """Whether the base register is a multiple of 4, as far as its own lines tell."""
        made = [line for line in self.lines if f" {register}," in line]
        return any("%rd5" in line for line in made[:1]) or any(line.endswith(", 4;") and "mul.wide" in line for line in made[:1])

    def take(self, register: str, family: str) -> None:
        """Puts a loaded value into the accumulator."""
        match family:
            case "%f":
                self.say(f"mov.b32 %r60, {register};")
            case "%r":
                self.say(f"mov.b32 %r60, {register};")
            case "%h":
                self.say(f"cvt.s32.s16 %r60, {register};")
            case "%rd":
                self.say(f"mov.b64 {{%r60, %r59}}, {register};", "xor.b32 %r60, %r60, %r59;")
            case _:
                self.say(f"mov.b64 {{%r60, %r59}}, {register};", "xor.b32 %r60, %r60, %r59;")
        self.say("mad.lo.s32 %r63, %r63, 31, %r60;")

    def store(self) -> None:
        offset = self.rng.choice((0, 0, 4, -4, 64, 400))
        self.say(f"st.global.u32 [%rd6+{offset}], %r63;")

    def mix(self) -> None:
        self.say(self.rng.choice(("add.s32 %r63, %r63, %r4;", "xor.b32 %r63, %r63, %r8;", "mad.lo.s32 %r63, %r63, 7, %r1;")))

    def condition(self) -> str:
        rng, predicate = self.rng, self.new("%p", 2, 15)
        what = rng.choice(("%r4", "%r1", "%r20", "%r21", "%r63", "%r5", *self.counters))
        if what == "%r63":
            self.say("and.b32 %r61, %r63, 3;", f"setp.ne.u32 {predicate}, %r61, 0;")
        elif what in ("%r4", "%r1") and rng.random() < 0.5:
            self.say(f"and.b32 %r61, {what}, {rng.choice((1, 3, 31))};", f"setp.ne.u32 {predicate}, %r61, 0;")
        else:
            comparison = rng.choice(("lt", "ge", "eq", "gt"))
            self.say(f"setp.{comparison}.s32 {predicate}, {what}, {rng.choice((0, 1, 2, 3, 17, 32, 40))};")
        return predicate

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels}"

    def branch(self) -> None:
        predicate, other, end = self.condition(), self.label(), self.label()
        has_else = self.rng.random() < 0.4
        self.say(f"@{self.rng.choice(('', '!'))}{predicate} bra {other};")
        self.depth += 1
        known = list(self.bases)
        self.statements(self.rng.randint(1, 3))
        self.bases = list(known)
        if has_else:
            self.say(f"bra {end};", f"{other}:")
            self.statements(self.rng.randint(1, 3))
            self.bases = known
            self.say(f"{end}:")
        else:
            self.say(f"{other}:")
        self.depth -= 1

    def loop(self) -> None:
        rng, counter, bound = self.rng, self.new("%r", 24, 56), self.new("%r", 24, 56)
        if counter == bound or counter in self.counters or bound in self.counters:
            return
        start, end, predicate = self.label(), self.label(), f"%p{rng.randrange(12, 15)}"
        first = "0" if rng.random() < 0.8 else "%r62"
        if first == "%r62":
            self.say("and.b32 %r62, %r4, 1;")
        self.say(f"mov.u32 {counter}, {first};")
        self.say(
            rng.choice(
                (f"mov.u32 {bound}, %r21;", f"and.b32 {bound}, %r4, 3;", f"mov.u32 {bound}, 2;", f"and.b32 {bound}, %r1, 1;")
            )
        )
        has_test = rng.random() < 0.5
        kept = self.numbers.copy(), self.fresh_only
        self.fresh_only = True
        self.say(f"{start}:")
        if has_test:
            self.say(f"setp.ge.s32 {predicate}, {counter}, {bound};", f"@{predicate} bra {end};")
        skips = has_test and rng.random() < 0.3
        if skips:
            self.say(f"add.s32 {counter}, {counter}, 1;")
        known = list(self.bases)
        self.counters.append(counter)
        self.depth += 1
        if skips and rng.random() < 0.7:
            self.say(f"@{self.condition()} bra {start};")
        self.statements(rng.randint(1, 4))
        if skips and rng.random() < 0.5:
            self.say(f"@{self.condition()} bra {start};")
        if rng.random() < 0.15:
            self.say(f"@{self.condition()} bra {end};")
        self.depth -= 1
        self.counters.pop()
        self.bases = known
        if not skips:
            self.say(f"add.s32 {counter}, {counter}, 1;")
        if has_test:
            self.say(f"bra {start};")
        else:
            self.say(f"setp.lt.s32 {predicate}, {counter}, {bound};", f"@{predicate} bra {start};")
        self.say(f"{end}:")
        self.fresh_only = kept[1]

    def leave(self) -> None:
        predicate = self.condition()
        if self.rng.random() < 0.5:
            self.say(f"@{predicate} bra DONE;")
        else:
            self.say("st.global.u32 [%rd6], %r63;", f"@{predicate} {self.rng.choice(('exit', 'ret'))};")


def _zero(family: str) -> str:
    return {"%f": "0f00000000", "%fd": "0d0000000000000000"}.get(family, "0")


def random_launch(seed: int) -> Launch:
    rng = random.Random(seed)
    writer = Writer(rng)
    block = rng.choice(BLOCKS)
    blocks = rng.choice((1, 2, 3))
    declared = ""
    text = kernel(writer.body(), declared=declared)
    if rng.random() < 0.25:
        x, y, z = block
        text = text.replace("\n)\n{", f"\n)\n.reqntid {x}, {y}, {z}\n{{", 1)
    row = blocks * block[0]
    options = ShuffleOptions(
        policy=apply_all,
        max_rows=rng.choice((None, None, 2)),
        max_delta=rng.choice((31, 31, 31, 4)),
        mode=rng.choice(("shuffle", "shuffle", "cache")),
        vectors=seed % 3 == 0,
    )
    return Launch(
        text,
        options,
        block,
        (blocks, 1, 1),
        rng.choice((row, row, max(1, row - 5), 20)),
        rng.choice((0, 1, 2, 3)),
        rng.random() < 0.3,
        seed,
    )


@dataclass
class Tally:
    """Counts of a run of the fuzzer."""

    launches: int = 0
    shuffles: int = 0
    reuses: int = 0
    rewritten: int = 0
    racy: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    unusable: int = 0
    """Originals that fault or do not end."""


def check(seed: int, tally: Tally) -> str:
    """Runs one seed; '' or what differs."""
    case = random_launch(seed)
    tally.launches += 1
    found = shuffle(parse(case.text), case.options)
    (report,) = found.reports
    tally.shuffles += len(report.shuffles)
    tally.reuses += len(report.reuses)
    if found.text == case.text:
        return ""
    tally.rewritten += 1
    args = case.arguments()
    different = differences(case.text, found.text, case.grid, case.block, args, limit=LIMIT)
    if not different:
        return ""
    original = launch(case.text, grid=case.grid, block=case.block, args=case.arguments(), limit=LIMIT)
    if original.status != "finished":
        tally.unusable += 1
        return ""
    if any(f.kind == "global_race" for f in original.findings):
        tally.racy += 1
        return ""
    return "; ".join(different)


def run(count: int, seed: int, *, keep: Path | None = None) -> Tally:
    """`count` launches from `seed` on; kernels that differ are written to `keep`."""
    tally = Tally()
    for number in range(seed, seed + count):
        message = check(number, tally)
        if message:
            tally.failures.append((number, message))
            if keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                case = random_launch(number)
                (keep / f"{number}.ptx").write_text(case.text)
                (keep / f"{number}.rewritten.ptx").write_text(shuffle(parse(case.text), case.options).text)
    return tally


def main() -> int:
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    keep = Path(sys.argv[sys.argv.index("--keep") + 1]) if "--keep" in sys.argv else None
    count = int(arguments[0]) if arguments else 200
    seed = int(arguments[1]) if len(arguments) > 1 and arguments[1].isdigit() else 0
    started = time.process_time()
    tally = run(count, seed, keep=keep)
    print(
        f"{tally.launches} launches from seed {seed}, {tally.rewritten} rewritten "
        f"({tally.shuffles} shuffles, {tally.reuses} reuses), "
        f"{len(tally.failures)} differ, {tally.racy} racy, {tally.unusable} unusable, "
        f"{time.process_time() - started:.1f} CPU s"
    )
    for number, message in tally.failures[:20]:
        print(f"seed {number}: {message}")
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
