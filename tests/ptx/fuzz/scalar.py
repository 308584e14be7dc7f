"""One thread at a time, Python integers and bytes: an oracle for the SIMT interpreter, written from the ISA's text alone.

Serves straight code, branches and loops over integers of every width, f32 sums and products (through exact rationals),
predicates, loads and stores of global memory, atomic additions. No NumPy, nothing of the interpreter: only the parsed and lowered
program. Threads run one after another: what they do to each other in between is not modelled.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import or_

from warploom.ptx.routine import TYPE_BITS, Routine
from warploom.ptx.syntax import Address, Float, Instruction, Integer, Name, Negation, Operand, Pair, Vector

SIGNED = frozenset({"s8", "s16", "s32", "s64"})
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs"})
SPACES = frozenset({"global", "shared", "param", "local", "const"})


class NotServedError(Exception):
    """An instruction that this oracle does not have."""


class OutsideError(Exception):
    """An access outside of all memory, or misaligned."""


def cut(value: int, bits: int) -> int:
    """The unsigned number of the lowest bits."""
    return value & ((1 << bits) - 1)


def signed(value: int, bits: int) -> int:
    """The two's complement number of the lowest bits."""
    value = cut(value, bits)
    return value - (1 << bits) if value >> (bits - 1) else value


def quotient(x: int, y: int) -> int:
    """Rounded towards zero."""
    result = abs(x) // abs(y)
    return result if (x < 0) == (y < 0) else -result


def f32_of(value: Fraction) -> int:
    """Bits of the nearest f32, ties to even; zero is positive."""
    if value == 0:
        return 0
    sign = 0x80000000 if value < 0 else 0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, -126)
    scaled = size / Fraction(2) ** (exponent - 23)
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    if 2 * rest > scaled.denominator or (2 * rest == scaled.denominator and whole & 1):
        whole += 1
    if whole >= 1 << 24:
        whole >>= 1
        exponent += 1
    if exponent > 127:
        return sign | 0x7F800000
    if whole < 1 << 23:
        return sign | whole
    return sign | (exponent + 127) << 23 | (whole - (1 << 23))


@dataclass(slots=True)
class Memory:
    """Pieces of memory, each at its own place."""

    pieces: list[tuple[int, bytearray]]

    def find(self, address: int, size: int) -> tuple[bytearray, int]:
        if address % size:
            raise OutsideError(f"misaligned {address:#x}")
        for base, data in self.pieces:
            if base <= address and address + size <= base + len(data):
                return data, address - base
        raise OutsideError(f"outside {address:#x}")

    def load(self, address: int, size: int) -> int:
        data, at = self.find(address, size)
        return int.from_bytes(data[at : at + size], "little")

    def store(self, address: int, size: int, value: int) -> None:
        data, at = self.find(address, size)
        data[at : at + size] = cut(value, 8 * size).to_bytes(size, "little")


@dataclass(slots=True)
class Step:
    """Effects of one instruction."""

    position: int
    written: dict[str, int]
    """New values of registers."""
    address: int | None = None
    values: list[int] = field(default_factory=list[int])
    """Loaded or stored, one per element."""


@dataclass(slots=True)
class Thread:
    """One thread of a kernel."""

    routine: Routine
    special: dict[str, int]
    """By name with the percent sign."""
    parameters: bytes
    offsets: dict[str, int]
    """The offset of each parameter among the bytes."""
    memory: Memory
    variables: dict[str, int] = field(default_factory=dict[str, int])
    """Addresses of shared variables."""
    registers: dict[str, int] = field(default_factory=dict[str, int])
    position: int = 0
    is_done: bool = False

    def steps(self, limit: int) -> Iterator[Step]:
        """Runs to the end, or `limit` instructions."""
        for _ in range(limit):
            if self.is_done or self.position >= len(self.routine.instructions):
                self.is_done = True
                return
            yield self.step()

    def step(self) -> Step:
        """Executes one instruction."""
        position = self.position
        instruction = self.routine.instructions[position]
        self.position += 1
        done = Step(position, {})
        guard = instruction.guard
        if guard is not None and bool(self.registers.get(guard.name, 0)) == guard.negated:
            return done
        self._execute(instruction, done)
        self.registers.update(done.written)
        return done

    # operands

    def bits_of(self, operand: Operand) -> int:
        if isinstance(operand, Name) and operand.text in self.routine.registers:
            return TYPE_BITS[self.routine.registers[operand.text]]
        return 32

    def value(self, operand: Operand, bits: int) -> int:
        match operand:
            case Name(text) if text in self.routine.registers:
                return cut(self.registers.get(text, 0), bits)
            case Name(text) if text in self.special:
                return cut(self.special[text], bits)
            case Name(text) if text in self.variables:
                return self.variables[text]
            case Integer(value):
                return cut(value, bits)
            case Float(value, 32):
                return value
            case Float(value, 64) if bits == 64:
                return value
            case Negation(inner):
                return 1 - self.value(inner, 1)
            case Vector(elements):
                part = bits // len(elements)
                return sum(self.value(e, part) << n * part for n, e in enumerate(elements))
            case Address(base, offset):
                width = self.bits_of(base) if isinstance(base, Name) and base.text in self.routine.registers else 64
                return cut(self.value(base, 64) + offset, width)
            case _:
                raise NotServedError(str(operand))

    def put(self, done: Step, operand: Operand, value: int) -> None:
        if isinstance(operand, Vector):
            raise NotServedError("vector result")
        if isinstance(operand, Name) and operand.text != "_":
            done.written[operand.text] = cut(value, self.bits_of(operand))

    # instructions

    def _execute(self, instruction: Instruction, done: Step) -> None:
        opcode, operands = instruction.opcode, instruction.operands
        types = [m for m in instruction.modifiers if m in TYPE_BITS]
        match opcode:
            case "bra":
                target = operands[0]
                assert isinstance(target, Name)
                self.position = self.routine.labels[target.text]
            case "brx":
                table = operands[1]
                assert isinstance(table, Name)
                self.position = self.routine.labels[self.routine.targets[table.text][self.value(operands[0], 32)]]
            case "ret" | "exit":
                self.is_done = True
            case "ld":
                self._load(instruction, types[-1], done)
            case "st":
                self._store(instruction, types[-1], done)
            case "atom" | "red" if "add" in instruction.modifiers:
                self._add(instruction, types[-1], done)
            case "bar" | "barrier" | "membar" | "fence" | "prefetch":
                pass
            case "mov":
                bits = TYPE_BITS[types[0]]
                value = self.value(operands[1], bits)
                target = operands[0]
                if isinstance(target, Vector):
                    part = bits // len(target.elements)
                    for n, element in enumerate(target.elements):
                        self.put(done, element, value >> n * part)
                else:
                    self.put(done, target, value)
            case "cvta":
                self.put(done, operands[0], self.value(operands[1], 64))
            case "setp" | "set":
                self._compare(instruction, types, done)
            case "selp":
                bits = TYPE_BITS[types[0]]
                self.put(done, operands[0], self.value(operands[1 if self.value(operands[3], 1) else 2], bits))
            case "slct":
                bits = TYPE_BITS[types[0]]
                chosen = signed(self.value(operands[3], 32), 32) >= 0
                self.put(done, operands[0], self.value(operands[1 if chosen else 2], bits))
            case _:
                self._compute(instruction, types, done)

    def _space(self, instruction: Instruction) -> str:
        return next((m for m in instruction.modifiers if m in SPACES), "")

    def _load(self, instruction: Instruction, kind: str, done: Step) -> None:
        to, source = instruction.operands[:2]
        bits = TYPE_BITS[kind]
        targets = to.elements if isinstance(to, Vector) else (to,)
        if self._space(instruction) == "param":
            assert isinstance(source, Address) and isinstance(source.base, Name)
            at = self.offsets[source.base.text] + source.offset
            values = [int.from_bytes(self.parameters[at + n * bits // 8 :][: bits // 8], "little") for n in range(len(targets))]
        else:
            done.address = self.value(source, 64)
            self.memory.find(done.address, bits // 8 * len(targets))
            values = [self.memory.load(done.address + n * bits // 8, bits // 8) for n in range(len(targets))]
        done.values = values
        for target, value in zip(targets, values, strict=True):
            self.put(done, target, signed(value, bits) if kind in SIGNED else value)

    def _store(self, instruction: Instruction, kind: str, done: Step) -> None:
        address, source = instruction.operands[:2]
        bits = TYPE_BITS[kind]
        elements = source.elements if isinstance(source, Vector) else (source,)
        done.address = self.value(address, 64)
        self.memory.find(done.address, bits // 8 * len(elements))
        done.values = [self.value(e, bits) for e in elements]
        for n, value in enumerate(done.values):
            self.memory.store(done.address + n * bits // 8, bits // 8, value)

    def _add(self, instruction: Instruction, kind: str, done: Step) -> None:
        returns = instruction.opcode == "atom"
        address, operand = instruction.operands[int(returns) :][:2]
        bits = TYPE_BITS[kind]
        done.address = self.value(address, 64)
        old = self.memory.load(done.address, bits // 8)
        self.memory.store(done.address, bits // 8, old + self.value(operand, bits))
        if returns:
            self.put(done, instruction.operands[0], old)

    def _compare(self, instruction: Instruction, types: list[str], done: Step) -> None:
        kind = types[-1]
        to, x, y, *third = instruction.operands
        comparison = next(m for m in instruction.modifiers if m in COMPARISONS)
        bits = TYPE_BITS[kind]
        a, b = self.value(x, bits), self.value(y, bits)
        if kind in SIGNED:
            a, b = signed(a, bits), signed(b, bits)
        table: dict[str, bool] = {
            "eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b, "lo": a < b, "ls": a <= b,
            "hi": a > b, "hs": a >= b,
        }  # fmt: skip
        holds = [table[comparison], not table[comparison]]
        if third:
            other = bool(self.value(third[0], 1))
            joint = next(m for m in instruction.modifiers if m in ("and", "or", "xor"))
            holds = [h and other if joint == "and" else h or other if joint == "or" else h != other for h in holds]
        if instruction.opcode == "set":
            yes = 0x3F800000 if types[0] == "f32" else -1
            self.put(done, to, yes if holds[0] else 0)
            return
        first, second = (to.first, to.second) if isinstance(to, Pair) else (to, None)
        self.put(done, first, int(holds[0]))
        if second is not None:
            self.put(done, second, int(holds[1]))

    def _compute(self, instruction: Instruction, types: list[str], done: Step) -> None:
        to, *sources = instruction.operands
        widths = source_widths(instruction.opcode, instruction.modifiers, types)
        args = [self.value(s, w) for s, w in zip(sources, widths, strict=False)]
        if "cc" in instruction.modifiers or instruction.opcode in ("addc", "subc", "madc"):
            bits, is_signed = widths[0], types[0] in SIGNED
            self._carrying(instruction, bits, args, [signed(a, bits) if is_signed else a for a in args], done)
            return
        self.put(done, to, computed(instruction.opcode, instruction.modifiers, args))

    def _carrying(self, instruction: Instruction, bits: int, args: list[int], numbers: list[int], done: Step) -> None:
        """Sums with carry-in or carry-out (PTX ISA 9.7.2); the carry is the register `%cc`."""
        opcode, modifiers = instruction.opcode, instruction.modifiers
        carry = self.registers.get("%cc", 0) if opcode in ("addc", "subc", "madc") else 0
        if opcode.startswith("mad"):
            product = numbers[0] * numbers[1]
            args = [cut(product >> bits if "hi" in modifiers else product, bits), args[2]]
        total = args[0] - args[1] - carry if opcode.startswith("sub") else args[0] + args[1] + carry
        self.put(done, instruction.operands[0], total)
        if "cc" in modifiers:
            done.written["%cc"] = int(total < 0 or total >> bits > 0)


def source_widths(opcode: str, modifiers: Sequence[str], types: list[str]) -> tuple[int, ...]:
    """Bits of the operands of an instruction without effects."""
    if opcode == "cvt":
        return (TYPE_BITS[types[-1]],)
    bits = TYPE_BITS[types[0]]
    if opcode == "mad" and "wide" in modifiers:
        return bits, bits, 2 * bits
    return {"shl": (bits, 32), "shr": (bits, 32), "bfe": (bits, 32, 32), "bfi": (bits, bits, 32, 32)}.get(opcode, (bits,) * 4)


def computed(opcode: str, modifiers: Sequence[str], args: list[int]) -> int:
    """The result of an instruction without effects, of unsigned operands; modulo the width of its destination."""
    types = [m for m in modifiers if m in TYPE_BITS]
    if types[0] == "f32" and opcode in ("add", "sub", "mul", "fma"):
        return _f32(opcode, args)
    if opcode == "cvt":
        return _converted(types, args[0], saturates="sat" in modifiers)
    is_signed = types[0] in SIGNED
    widths = source_widths(opcode, modifiers, types)
    numbers = [signed(a, w) if is_signed else a for a, w in zip(args, widths, strict=False)]
    return _integer(opcode, frozenset(modifiers), TYPE_BITS[types[0]], args, numbers, is_signed=is_signed)


def _converted(types: list[str], value: int, *, saturates: bool) -> int:
    to, kind = types[0], types[-1]
    if "f32" in (to, kind):
        raise NotServedError("float conversion")
    number = signed(value, TYPE_BITS[kind]) if kind in SIGNED else value
    bits = TYPE_BITS[to]
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if to in SIGNED else (0, (1 << bits) - 1)
    if saturates:
        number = max(low, min(high, number))
    number = cut(number, bits)
    return signed(number, bits) if to in SIGNED else number


def _f32(opcode: str, args: list[int]) -> int:
    numbers: list[Fraction] = []
    for bits in args:
        if (bits >> 23 & 255) == 255 or bits == 0x80000000:
            raise NotServedError("infinity, NaN or negative zero")
        numbers.append(Fraction(struct.unpack("<f", bits.to_bytes(4, "little"))[0]))
    x, y = numbers[:2]
    result = {"add": lambda: x + y, "sub": lambda: x - y, "mul": lambda: x * y, "fma": lambda: x * y + numbers[2]}[opcode]()
    if opcode in ("mul", "fma") and result == 0:
        raise NotServedError("sign of zero")
    return f32_of(result)


def _integer(opcode: str, modifiers: frozenset[str], bits: int, args: list[int], numbers: list[int], *, is_signed: bool) -> int:
    x = numbers[0]
    y = numbers[1] if len(numbers) > 1 else 0
    top = (1 << bits - 1) - 1
    match opcode:
        case "add" | "sub":
            total = x + y if opcode == "add" else x - y
            return max(-top - 1, min(top, total)) if "sat" in modifiers else total
        case "mul" | "mad":
            product = x * y
            if "hi" in modifiers:
                product >>= bits
            elif "lo" in modifiers:
                product = cut(product, bits)
            return product if opcode == "mul" else product + args[2]
        case "mul24" | "mad24":
            a, b = (signed(v, 24) if is_signed else cut(v, 24) for v in args[:2])
            product = a * b >> 16 if "hi" in modifiers else a * b
            return product + (args[2] if opcode == "mad24" else 0)
        case "div" | "rem":
            if y == 0:
                raise NotServedError("division by zero")
            return quotient(x, y) if opcode == "div" else x - y * quotient(x, y)
        case "abs" | "neg":
            return abs(x) if opcode == "abs" else -x
        case "min" | "max":
            return min(x, y) if opcode == "min" else max(x, y)
        case "sad":
            return args[2] + abs(x - y)
        case "and" | "or" | "xor":
            a, b = args[:2]
            return a & b if opcode == "and" else a | b if opcode == "or" else a ^ b
        case "not" | "cnot":
            return ~args[0] if opcode == "not" else int(args[0] == 0)
        case "shl":
            return args[0] << args[1] if args[1] < bits else 0
        case "shr":
            return x >> min(args[1], bits)
        case "popc":
            return args[0].bit_count()
        case "clz":
            return bits - args[0].bit_length()
        case "brev":
            return int(f"{args[0]:0{bits}b}"[::-1], 2)
        case "bfind":
            found = ~args[0] if is_signed and x < 0 else args[0]
            at = cut(found, bits).bit_length() - 1
            return -1 if at < 0 else bits - 1 - at if "shiftamt" in modifiers else at
        case "bfe":
            return _extracted(args, bits, is_signed=is_signed)
        case "bfi":
            start, length = args[2] & 255, args[3] & 255
            field_mask = cut(((1 << length) - 1) << start, bits) if start < bits else 0
            return (args[1] & ~field_mask) | ((args[0] << start) & field_mask)
        case "lop3":
            rows = [p for p in range(8) if args[3] >> p & 1]
            a, b, c = args[:3]
            chosen = ((a if p & 4 else ~a) & (b if p & 2 else ~b) & (c if p & 1 else ~c) for p in rows)
            return reduce(or_, chosen, 0)
        case "shf":
            return _funnel(modifiers, args)
        case "prmt":
            return _permuted(args)
        case _:
            raise NotServedError(opcode)


def _extracted(args: list[int], bits: int, *, is_signed: bool) -> int:
    start, length = args[1] & 255, args[2] & 255
    last = bits - 1
    sign = 0 if not is_signed or length == 0 else args[0] >> min(start + length - 1, last) & 1
    result = 0
    for n in range(bits):
        bit = args[0] >> (start + n) & 1 if n < length and start + n <= last else sign
        result |= bit << n
    return result


def _funnel(modifiers: frozenset[str], args: list[int]) -> int:
    amount = min(args[2], 32) if "clamp" in modifiers else args[2] & 31
    both = args[1] << 32 | args[0]
    return both << amount >> 32 if "l" in modifiers else both >> amount


def _permuted(args: list[int]) -> int:
    both = args[1] << 32 | args[0]
    result = 0
    for n in range(4):
        pick = args[2] >> 4 * n & 15
        byte = both >> 8 * (pick & 7) & 255
        if pick & 8:
            byte = 255 if byte & 128 else 0
        result |= byte << 8 * n
    return result
