"""mma.sync on symbols: each result is the sum of its products and of what it adds to (PTX ISA 9.0, section 9.7.14).

    with group = lane / 4, place = lane % 4, and e elements in a register of an operand
    A[i, k]: lane 4 (i % 8) + k % 4e / e, register i / 8 + (rows / 8) (k / 4e), element k % e
    B[k, j]: lane 4 j + k % 4e / e, register k / 4e, element k % e
    C[i, j], D[i, j]: lane 4 (i % 8) + j / 2, register 2 (i / 8) + j % 2

Products of floats are exact; in which order they are added, and how sums are rounded, is the machine's own. So the proof holds
for sums of reals, as it does for chains of additions, and the domain names the instruction. Sums of integers wrap, in any order
alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from warploom.core import DType, bf16, e4m3, e5m2, f16, f32, f64, i8, i32, tf32, u8
from warploom.ptx.syntax import Instruction, Name
from warploom.synth.compiled.arithmetic import Arithmetic, NotFollowedError
from warploom.synth.compiled.data import Undefined, Value
from warploom.synth.compiled.operands import Operands
from warploom.synth.compiled.schedule import Step
from warploom.synth.compiled.threads import WARP, Block, Lanes, Launch
from warploom.terms import Term, apply

SUMS_OF_MATRICES = "mma.sync: its sums taken as sums of reals"
_TYPES: dict[str, DType] = {
    "f16": f16, "bf16": bf16, "tf32": tf32, "e4m3": e4m3, "e5m2": e5m2, "s8": i8, "u8": u8, "f64": f64,
}  # fmt: skip
_SHAPES: dict[str, tuple[str, ...]] = {
    "f16": ("m16n8k8", "m16n8k16"),
    "bf16": ("m16n8k8", "m16n8k16"),
    "tf32": ("m16n8k4", "m16n8k8"),
    "e4m3": ("m16n8k16", "m16n8k32"),
    "e5m2": ("m16n8k16", "m16n8k32"),
    "s8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "u8": ("m8n8k16", "m16n8k16", "m16n8k32"),
    "f64": ("m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"),
}
_TOTALS: dict[str, tuple[str, DType]] = {
    "f16": ("f32", f32), "bf16": ("f32", f32), "tf32": ("f32", f32),
    "e4m3": ("f32", f32), "e5m2": ("f32", f32), "s8": ("s32", i32), "u8": ("s32", i32), "f64": ("f64", f64),
}  # fmt: skip
_ROUNDED = "cvt.rna.tf32.f32"
_DROPPED = (1 << 13) - 1
"""Bits of f32 that tf32 lacks."""
_COLUMNS = 8
_WORD = 32
_MOST_KEPT = 256
_Column = list[Value]


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of one instruction, and where a lane finds what its results are made of."""

    rows: int
    deep: int
    per_register: int
    """Elements of A, or B, in a register."""

    @property
    def registers(self) -> tuple[int, int, int]:
        """The numbers of registers of A, of B, and of C and D."""
        own = WARP * self.per_register
        return self.rows * self.deep // own, _COLUMNS * self.deep // own, self.rows * _COLUMNS // WARP

    def of_rows(self, row: int, k: int) -> tuple[int, int, int]:
        """Lane, register and element of A[row, k]."""
        each = self.per_register
        return 4 * (row % 8) + k % (4 * each) // each, row // 8 + self.rows // 8 * (k // (4 * each)), k % each

    def of_columns(self, k: int, column: int) -> tuple[int, int, int]:
        """Lane, register and element of B[k, column]."""
        each = self.per_register
        return 4 * column + k % (4 * each) // each, k // (4 * each), k % each

    @staticmethod
    def of_results(lane: int, register: int) -> tuple[int, int]:
        """Row and column of C and D."""
        return lane // 4 + 8 * (register // 2), 2 * (lane % 4) + register % 2


@dataclass(slots=True)
class _Factor:
    """An operand A or B in the order of the sums: what each thread needs of it, whichever lane holds it."""

    registers: list[_Column]
    """The registers that it was made of; they are kept so that none is freed while it is known by its identity."""
    needed: list[_Column]
    """For each row (or column) of a thread's results, its elements along the sum."""
    common: list[_Column] | None
    """The same of the representatives, where all other threads need the translations of it."""


class Matrices:
    """Steps for products of matrices by whole warps."""

    def __init__(self, launch: Launch, operands: Operands, arithmetic: Arithmetic) -> None:
        self.launch = launch
        self.operands = operands
        self.arithmetic = arithmetic
        self._known: dict[tuple[object, ...], _Factor] = {}
        """By the identity of the registers' columns: fragments take part in many products."""

    def multiply(self, instruction: Instruction, index: int) -> Step:
        launch = self.launch
        modifiers = [m for m in instruction.modifiers if m not in ("sync", "aligned")]
        if len(modifiers) != 7 or modifiers[1:3] != ["row", "col"] or len(instruction.operands) != 4:
            raise launch.unsupported(f"expected an instruction that this runner follows, got {instruction.name}", index)
        shape, _, _, d_type, a_type, b_type, c_type = modifiers
        total_name, total = _TOTALS.get(a_type, ("", f32))
        is_pair = a_type == b_type or {a_type, b_type} in ({"s8", "u8"}, {"e4m3", "e5m2"})
        if shape not in _SHAPES.get(a_type, ()) or not is_pair or d_type != total_name or c_type != total_name:
            raise launch.unsupported(f"expected an instruction that this runner follows, got {instruction.name}", index)
        rows, deep = (int(n) for n in re.findall(r"m(\d+)n8k(\d+)", shape)[0])
        kinds = _TYPES[a_type], _TYPES[b_type]
        word = max(32, total.bits)
        form = Shape(rows, deep, word // kinds[0].bits)
        d, a, b, c = (self.operands.pieces(o) for o in instruction.operands)
        if (len(a), len(b), len(c), len(d)) != (*form.registers, form.registers[2]):
            raise launch.unsupported(f"expected {form.registers} registers of A, B and C at {instruction.name}", index)
        read_a, read_b, read_c = ([self.operands.reader(o, f"b{word}", index) for o in part] for part in (a, b, c))
        writers = [self.operands.writer(o, index) for o in d]
        names, names_c = ([o.text if isinstance(o, Name) else "" for o in part] for part in (d, c))
        sums = self.sums(total, kinds)

        def run(block: Block, lanes: Lanes) -> None:
            self._check_whole(block, lanes, instruction, index)
            if total.is_float:
                launch.data.notes.add(SUMS_OF_MATRICES)
            left = self._factor(block, lanes, [read(block, lanes) for read in read_a], form, is_rows=True)
            right = self._factor(block, lanes, [read(block, lanes) for read in read_b], form, is_rows=False)
            common = self._totals(block, names_c) if left.common and right.common else None
            if common is not None and left.common and right.common:
                added, needed_left, needed_right = common, left.common, right.common
            else:
                added, needed_left, needed_right = [read(block, lanes) for read in read_c], left.needed, right.needed
            launch.steps_left -= len(added[0]) * len(names) * deep
            for number, (name, write) in enumerate(zip(names, writers, strict=True)):
                half, second = number // 2, number % 2
                part_left = needed_left[half * deep : (half + 1) * deep]
                part_right = needed_right[second * deep : (second + 1) * deep]
                found = sums(added[number], part_left, part_right)
                if common is None:
                    write(block, lanes, found)
                elif name != "_":
                    block.write_common(name, found)
                    block.name_common(name)

        return Step(action=run, meeting=whole_warps)

    def _check_whole(self, block: Block, lanes: Lanes, instruction: Instruction, index: int) -> None:
        """All 32 lanes of each warp execute it together; anything else is undefined (PTX ISA 9.7.14.5.14)."""
        here = set(lanes)
        for first in {t - t % WARP for t in lanes}:
            if missing := [t for t in range(first, first + WARP) if t not in here]:
                message = f"expected all lanes of the warp at {instruction.name}, lane {missing[0] % WARP} is missing"
                raise block.fault("shuffle", message, index, thread=lanes[0], what="exchange")

    # ------------------------------------------------------------ operands

    def _factor(self, block: Block, lanes: Lanes, columns: list[_Column], form: Shape, *, is_rows: bool) -> _Factor:
        key = (len(lanes), is_rows, form, *map(id, columns))
        if key in self._known:
            return self._known[key]
        data, each = self.launch.data, form.per_register
        width = _WORD if each > 1 else 0
        split = columns
        if width:
            bits = width // each
            split = [[data.extract(v, bits * e, bits, width) for v in column] for column in columns for e in range(each)]
        at = {t: n for n, t in enumerate(lanes)}
        needed: list[_Column] = []
        for which in range(form.rows // 8 if is_rows else 2):
            for k in range(form.deep):
                made: _Column = []
                for t in lanes:
                    row, column = form.of_results(t % WARP, 2 * which if is_rows else which)
                    lane, register, element = form.of_rows(row, k) if is_rows else form.of_columns(k, column)
                    made.append(split[register * each + element][at[t - t % WARP + lane]])
                needed.append(made)
        if len(self._known) >= _MOST_KEPT:
            self._known.clear()
        found = self._known[key] = _Factor(columns, needed, self.common(block, lanes, needed))
        return found

    def common(self, block: Block, lanes: Lanes, columns: Sequence[_Column]) -> list[_Column] | None:
        """The representatives' values of all columns."""
        translations = self.launch.translations
        if translations is None or len(lanes) != block.count:
            return None
        return all_known([translations.common(column) for column in columns])

    def _totals(self, block: Block, names: Sequence[str]) -> list[_Column] | None:
        """The representatives' values of the registers of C."""
        return all_known([block.common(n) for n in names])

    # ------------------------------------------------------------ sums

    def sums(self, total: DType, kinds: tuple[DType, DType]) -> Callable[[_Column, list[_Column], list[_Column]], _Column]:
        """By thread: what it adds to and its elements of both operands, one after the other along the sum."""
        left, right = (self._conversion(total, kind) for kind in kinds)
        if total.is_float:
            add = self.arithmetic.real("fma", total)
        else:
            times, plus = self.arithmetic.signless("mul", total), self.arithmetic.signless("add", total)

            def add(a: Value, b: Value, c: Value) -> Value:
                return plus(c, times(a, b))

        def run(added: _Column, of_left: list[_Column], of_right: list[_Column]) -> _Column:
            found: _Column = []
            for value, rows, columns in zip(added, zip(*of_left, strict=True), zip(*of_right, strict=True), strict=True):
                sum_ = value
                for a, b in zip(rows, columns, strict=True):
                    sum_ = add(left(a), right(b), sum_)
                found.append(sum_)
            return found

        return run

    def _conversion(self, total: DType, kind: DType) -> Callable[[Value], Value]:
        """The conversion to the type of the sums, which is exact."""
        if kind is total:
            return lambda value: value
        if kind is tf32:
            return self._of_rounded
        convert = self.arithmetic.convert(total, kind, None)
        known: dict[int, tuple[Value, Value]] = {}

        def run(value: Value) -> Value:
            if id(value) not in known:
                known[id(value)] = value, convert(value)
            return known[id(value)][1]

        return run

    def _of_rounded(self, value: Value) -> Value:
        """A factor of tf32 in f32. NotFollowedError unless `cvt.rna.tf32.f32` has made it: which bits count otherwise is open
        (PTX ISA 9.7.14). An element of an array of tf32 is the rounded number."""
        if isinstance(value, Undefined):
            return value
        if isinstance(value, int):
            if value & _DROPPED:
                raise NotFollowedError("a number of tf32 that has bits of f32")
            return self.launch.data.as_float(value, f32)
        if not isinstance(value, Term) or value.op != _ROUNDED:
            raise NotFollowedError("a factor of tf32 without cvt.rna.tf32.f32")
        (inner,) = value.args
        if inner.op == "bits.tf32.f32":
            return self.launch.data.converted(inner.args[0], f32)
        return self.launch.data.made(apply("number.tf32", value), f32)


def all_known(columns: Sequence[_Column | None]) -> list[_Column] | None:
    """The columns where all are known."""
    known = [column for column in columns if column is not None]
    return known if len(known) == len(columns) else None


def whole_warps(block: Block, lanes: Lanes) -> list[tuple[Lanes, Lanes]]:
    """The lanes of a warp that are here, and all that it has."""
    groups: dict[int, Lanes] = {}
    for t in lanes:
        groups.setdefault(t // WARP, []).append(t)
    return [(group, list(range(w * WARP, min(w * WARP + WARP, block.count)))) for w, group in groups.items()]
