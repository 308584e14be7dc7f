"""One thread, concretely: an oracle for the symbolic emulator, written from the ISA's text alone.

Integer instructions compute as PTX ISA 9.7.1 to 9.7.9 say; floating-point results are arbitrary but fixed functions of the
operands. Memory holds arbitrary words. Barriers, fences and calls change every word that is not read-only, atomics the one they
name: what other threads might do. Unknown instructions leave arbitrary values in their destinations and memory changed.
"""

import random
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b

from warploom.ptx.flow import FlowGraph, flow_graph
from warploom.ptx.routine import SPECIAL_REGISTERS, TYPE_BITS, Routine
from warploom.ptx.syntax import Address, Float, Instruction, Integer, Name, Negation, Operand, Pair, Sum, Vector

SIGNED = {"s8", "s16", "s32", "s64"}
WORDS = SIGNED | {"u8", "u16", "u32", "u64", "b8", "b16", "b32", "b64", "pred"}
WINDOWS = {"shared": 1 << 40, "local": 2 << 40, "const": 3 << 40, "param": 4 << 40}


def arbitrary(*parts: object) -> int:
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=16).digest(), "little")


def mask(width: int) -> int:
    return (1 << width) - 1


def negative(value: int, width: int) -> int:
    value &= mask(width)
    return value - (1 << width) if value >> (width - 1) else value


def rounded(bits: int, width: int) -> int:
    """A double as a float or half."""
    value = struct.unpack("<d", bits.to_bytes(8, "little"))[0]
    return int.from_bytes(struct.pack("<f" if width == 32 else "<e", value), "little")


def types_in(name: str) -> list[str]:
    return [m for m in name.split(".")[1:] if m in TYPE_BITS]


def carried(name: str, args: list[int], carry: int) -> tuple[int, int]:
    """Result and carry or borrow."""
    opcode, *modifiers = name.split(".")
    width = TYPE_BITS[types_in(name)[0]]
    if opcode.startswith("mad"):
        product = args[0] * args[1]
        if types_in(name)[0] in SIGNED:
            product = negative(args[0], width) * negative(args[1], width)
        args = [product >> width & mask(width) if "hi" in modifiers else product & mask(width), args[2]]
    taken = carry if opcode in ("addc", "subc", "madc") else 0
    total = args[0] - args[1] - taken if opcode.startswith("sub") else args[0] + args[1] + taken
    return total & mask(width), int(total < 0 or total >> width > 0)


def computed(name: str, args: list[int], width: int) -> int:
    """The value of a pure instruction; `width` of the result where its types do not tell."""
    opcode, *modifiers = name.split(".")
    types = types_in(name)
    if (any(t not in WORDS for t in types) and opcode not in ("selp", "mov")) or {"sat", "relu"} & set(modifiers):
        return arbitrary(name, args) & mask(width)
    of = types[-1] if types else "b32"
    bits = TYPE_BITS[types[0]] if types else 32
    is_signed = types[:1] and types[0] in SIGNED
    s = [negative(a, bits) for a in args] if is_signed else args
    match opcode:
        case "add":
            return args[0] + args[1]
        case "sub":
            return args[0] - args[1]
        case "mul" | "mad":
            product = s[0] * s[1]
            if "hi" in modifiers:
                product = (product >> bits) & mask(bits)
            return product + (args[2] if opcode == "mad" else 0)
        case "sad":
            return args[2] + abs(s[0] - s[1])
        case "div" | "rem" if s[1]:
            quotient = abs(s[0]) // abs(s[1]) * (1 if (s[0] < 0) == (s[1] < 0) else -1)
            return quotient if opcode == "div" else s[0] - s[1] * quotient
        case "abs":
            return abs(s[0])
        case "neg":
            return -args[0]
        case "min":
            return min(s[0], s[1])
        case "max":
            return max(s[0], s[1])
        case "and":
            return args[0] & args[1]
        case "or":
            return args[0] | args[1]
        case "xor":
            return args[0] ^ args[1]
        case "not":
            return ~args[0]
        case "cnot":
            return int(args[0] == 0)
        case "shl":
            return args[0] << args[1] if args[1] < bits else 0
        case "shr":
            return s[0] >> min(args[1], bits)
        case "shf":
            both = args[1] << 32 | args[0]
            n = min(args[2], 32) if "clamp" in modifiers else args[2] & 31
            return (both << n) >> 32 if "l" in modifiers else both >> n
        case "bfe":
            start, length = args[1] & 255, args[2] & 255
            if length == 0:
                return 0
            top = negative(args[0], bits) if is_signed else args[0]
            field = (top >> start) & mask(length)
            if not is_signed:
                return field
            sign = (args[0] >> min(start + length - 1, bits - 1)) & 1
            present = mask(length) & mask(max(0, bits - start))
            return (args[0] >> start & present) | (~present if sign else 0)
        case "bfi":
            start, length = args[2] & 255, args[3] & 255
            chosen = mask(length) << start & mask(bits)
            return (args[1] & ~chosen) | (args[0] << start & chosen)
        case "prmt" if modifiers == ["b32"]:
            data = args[1] << 32 | args[0]
            result = 0
            for n in range(4):
                pick = args[2] >> 4 * n & 15
                byte = data >> 8 * (pick & 7) & 255
                if pick & 8:
                    byte = 255 if byte & 128 else 0
                result |= byte << 8 * n
            return result
        case "lop3" if "BoolOp" not in name:
            result = 0
            for n in range(32):
                index = (args[0] >> n & 1) << 2 | (args[1] >> n & 1) << 1 | (args[2] >> n & 1)
                result |= (args[3] >> index & 1) << n
            return result
        case "selp":
            return args[0] if args[2] else args[1]
        case "slct":
            return args[0] if negative(args[2], 32) >= 0 else args[1]
        case "cvt":
            value = negative(args[0], TYPE_BITS[of]) if of in SIGNED else args[0] & mask(TYPE_BITS[of])
            to = types_in(name)[0]
            return negative(value, TYPE_BITS[to]) if to in SIGNED else value & mask(TYPE_BITS[to])
        case _:
            return arbitrary(name, args) & mask(width)


def related(name: str, x: int, y: int) -> int:
    """The comparison of `setp` or `set`, as 0 or 1; `name` is `lt.s32`."""
    comparison, of = name.split(".")
    if of not in WORDS:
        return arbitrary(name, [x, y]) & 1
    if of in SIGNED:
        x, y = negative(x, TYPE_BITS[of]), negative(y, TYPE_BITS[of])
    table: dict[str, Callable[[int, int], bool]] = {
        "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "lo": lambda a, b: a < b,
        "le": lambda a, b: a <= b, "ls": lambda a, b: a <= b, "gt": lambda a, b: a > b, "hi": lambda a, b: a > b,
        "ge": lambda a, b: a >= b, "hs": lambda a, b: a >= b,
    }  # fmt: skip
    return int(table[comparison](x, y))


COMPARISONS = frozenset({
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
})  # fmt: skip


class EndedError(Exception):
    pass


@dataclass
class Event:
    """One executed instruction."""

    position: int
    written: dict[str, int]
    address: int | None = None
    values: list[int] = field(default_factory=list)


class Thread:
    """Runs a routine; `on_block`, `on_start` and `on_event` see every block entered, and every instruction before and
    after it is executed."""

    def __init__(self, routine: Routine, seed: int) -> None:
        self.routine = routine
        self.graph: FlowGraph = flow_graph(routine)
        self.random = random.Random(seed)
        self.registers: dict[str, int] = {}
        self.specials_read: dict[str, int] = {}
        self.salt = 0
        self.stored: dict[int, int] = {}
        self.seed = seed
        r = self.random
        shape = r.choice([(32, 1, 1), (64, 1, 1), (48, 2, 1), (16, 8, 2), (128, 1, 1)])
        bound = routine.directive("reqntid") or routine.directive("maxntid")
        if bound is not None:
            shape = ((*bound, 1, 1)[0], (*bound, 1, 1)[1], (*bound, 1, 1)[2])
        grid = (r.randrange(1, 6), r.randrange(1, 4), r.randrange(1, 3))
        self.special = {f"ntid.{c}": n for c, n in zip("xyz", shape, strict=True)}
        self.special |= {f"nctaid.{c}": n for c, n in zip("xyz", grid, strict=True)}
        self.special |= {f"tid.{c}": r.randrange(n) for c, n in zip("xyz", shape, strict=True)}
        self.special |= {f"ctaid.{c}": r.randrange(n) for c, n in zip("xyz", grid, strict=True)}
        index = self.special["tid.x"] + shape[0] * (self.special["tid.y"] + shape[1] * self.special["tid.z"])
        self.special |= {"laneid": index % 32, "warpid": index // 32}
        self.special |= {f"window.{s}": n for s, n in WINDOWS.items()}
        self.parameters: dict[tuple[str, int], int] = {}
        pointers: list[int] = []
        for p in routine.parameters:
            for offset in range(max(p.size_bytes, 8)):
                self.parameters[p.name, offset] = r.randrange(256)
            if p.size_bytes in (4, 8):
                small = r.choice([r.randrange(40), r.randrange(200), r.getrandbits(31)])
                value = small if p.size_bytes == 4 else r.choice([small, r.getrandbits(47) & ~15])
                if p.size_bytes == 8:
                    if pointers and r.randrange(2):
                        value = (r.choice(pointers) + r.choice([0, 0, 4, 64, -8])) & mask(64)  # an alias
                    pointers.append(value)
                for offset in range(p.size_bytes):
                    self.parameters[p.name, offset] = value >> 8 * offset & 255

    # leaves

    def special_value(self, name: str) -> int:
        if name not in self.special:
            self.special[name] = arbitrary(self.seed, name) & mask(TYPE_BITS[SPECIAL_REGISTERS.get(f"%{name}", "u32")])
        return self.special[name]

    def address_of(self, name: str) -> int:
        return (arbitrary(name) & 0xFFFF) << 8

    def parameter(self, name: str, offset: int, bits: int) -> int:
        return sum(self.parameters.get((name, offset + n), 0) << 8 * n for n in range(bits // 8))

    def generic(self, address: int, space: str) -> int:
        return address & mask(64) if space in ("generic", "global") else (address & mask(32)) + WINDOWS[space]

    def load(self, address: int, count: int, *, read_only: bool) -> int:
        salt = "read-only" if read_only else self.salt
        found = 0
        for n in range(count):
            byte = None if read_only else self.stored.get(address + n)
            found |= (arbitrary(self.seed, salt, address + n) & 255 if byte is None else byte) << 8 * n
        return found

    def disturb(self) -> None:
        self.salt += 1
        self.stored.clear()

    # operands

    def width_of(self, operand: Operand) -> int:
        if isinstance(operand, Name) and operand.text in self.routine.registers:
            return TYPE_BITS[self.routine.registers[operand.text]]
        return 32

    def register(self, name: str) -> int:
        """A cell that was never written holds an arbitrary value."""
        if name not in self.registers:
            self.registers[name] = self.random.getrandbits(TYPE_BITS[self.routine.registers[name]])
        return self.registers[name]

    def read(self, operand: Operand, width: int) -> int:
        match operand:
            case Name(text):
                if text in self.routine.registers:
                    value = self.register(text)
                elif text == "WARP_SZ":
                    value = 32
                elif text.startswith("%"):
                    changes = text.startswith(("%clock", "%globaltimer"))
                    value = self.specials_read[text] = self.random.getrandbits(32) if changes else self.special_value(text[1:])
                else:
                    value = self.address_of(text)
            case Integer(value):
                pass
            case Float(bits, own):
                value = bits if own == width else rounded(bits, width)
            case Negation(inner):
                value = ~self.read(inner, 1)
            case Sum(base, offset) | Address(base, offset):
                value = self.read(base, 64) + offset
            case Vector(elements):
                part = width // len(elements)
                value = sum(self.read(e, part) << n * part for n, e in enumerate(elements))
            case _:
                value = self.random.getrandbits(32)
        return value & mask(width)

    # execution

    def run(
        self, steps: int, on_block: Callable[[int], None], on_start: Callable[[int], None], on_event: Callable[[Event], None]
    ) -> None:
        position = 0
        instructions = self.routine.instructions
        starts = {b.start: b.index for b in self.graph.blocks}
        try:
            for _ in range(steps):
                if position >= len(instructions):
                    return
                if position in starts:
                    on_block(starts[position])
                on_start(position)
                position = self.execute(position, instructions[position], on_event)
        except EndedError:
            pass

    def execute(self, position: int, instruction: Instruction, on_event: Callable[[Event], None]) -> int:
        guard = instruction.guard
        if guard is not None and self.read(Name(guard.name), 1) == int(guard.negated):
            return position + 1
        opcode = instruction.opcode
        if opcode in ("ret", "exit", "trap"):
            raise EndedError
        if opcode == "bra":
            target = instruction.operands[-1]
            assert isinstance(target, Name)
            return self.routine.labels[target.text]
        if opcode == "brx":
            table = instruction.operands[-1]
            assert isinstance(table, Name)
            targets = self.routine.targets[table.text]
            index = self.read(instruction.operands[0], 32)
            if index >= len(targets):
                raise EndedError
            return self.routine.labels[targets[index]]
        event = Event(position, {})
        self.effect(instruction, event)
        self.registers |= event.written
        on_event(event)
        return position + 1

    def put(self, event: Event, operand: Operand, value: int) -> None:
        if isinstance(operand, Name) and operand.text in self.routine.registers:
            event.written[operand.text] = value & mask(self.width_of(operand))

    def effect(self, instruction: Instruction, event: Event) -> None:
        opcode, operands, name = instruction.opcode, instruction.operands, instruction.name
        types = types_in(name)
        match opcode:
            case "ld" | "ldu":
                self.loads(instruction, event)
            case "st" if "async" not in name:
                space = self.space(instruction)
                address = self.generic(self.read(operands[0], 64), space)
                event.address = address
                value = operands[1]
                bits = TYPE_BITS[types[-1]]
                for n, element in enumerate(value.elements if isinstance(value, Vector) else (value,)):
                    word = self.read(element, bits)
                    for k in range(bits // 8):
                        self.stored[address + n * bits // 8 + k] = word >> 8 * k & 255
                if {"release", "volatile", "relaxed"} & set(instruction.modifiers):
                    self.disturb()
            case "atom" | "red" if "async" not in name:
                address = self.generic(self.read(operands[opcode == "atom"], 64), self.space(instruction))
                event.address = address
                for n in range(
                    TYPE_BITS[types[-1]] // 8 * next((int(m[1:]) for m in instruction.modifiers if m in ("v2", "v4", "v8")), 1)
                ):
                    self.stored[address + n] = self.random.randrange(256)
                if {"acquire", "acq_rel"} & set(instruction.modifiers):
                    self.disturb()
                if opcode == "atom":
                    self.scatter(instruction, event, 1)
            case "cvta":
                space = self.space(instruction)
                value = self.read(operands[1], 64)
                window = WINDOWS.get(space, 0)
                self.put(event, operands[0], value - window if "to" in instruction.modifiers else value + window)
            case "mov":
                width = TYPE_BITS[types[0]] if types else 32
                value = self.read(operands[1], width)
                if isinstance(operands[0], Vector):
                    part = width // len(operands[0].elements)
                    for n, element in enumerate(operands[0].elements):
                        self.put(event, element, value >> n * part & mask(part))
                else:
                    self.put(event, operands[0], value)
            case "setp":
                self.compare(instruction, event)
            case "set" if types[-1] in WORDS and types[0] in WORDS | {"f32"}:
                x, y = (self.read(o, TYPE_BITS[types[-1]]) for o in operands[1:3])
                comparison = next(m for m in instruction.modifiers if m in COMPARISONS)
                holds = related(f"{comparison}.{types[-1]}", x, y)
                self.put(event, operands[0], (0x3F800000 if types[0] == "f32" else -1) if holds else 0)
            case (
                "shfl"
                | "vote"
                | "match"
                | "redux"
                | "activemask"
                | "elect"
                | "mma"
                | "ldmatrix"
                | "tex"
                | "tld4"
                | "movmatrix"
                | "alloca"
            ):
                self.scatter(instruction, event, 1)
            case "wmma" if "store" not in instruction.modifiers:
                self.scatter(instruction, event, 1)
            case "prefetch" | "prefetchu" | "nanosleep" | "applypriority" | "pmevent" | "createpolicy" | "mapa" | "setmaxnreg":
                self.scatter(instruction, event, 1)
            case "bar" | "barrier" | "membar" | "fence" | "call" | "cp" | "griddepcontrol":
                if "commit_group" not in name:
                    self.disturb()
                self.scatter(instruction, event, 1 if opcode == "call" or "red" in name else 0)
            case _ if self.is_pure(instruction):
                self.compute(instruction, event)
            case _:
                self.disturb()
                self.scatter(instruction, event, len(operands))

    @staticmethod
    def is_pure(instruction: Instruction) -> bool:
        return bool(
            re.match(
                r"(add|sub|mul|mad|fma|div|rem|abs|neg|min|max|rcp|r?sqrt|sin|cos|lg2|ex2|tanh|copysign|testp|cvt|popc|clz|brev|bfind|"
                r"fns|szext|bmsk|dp[24]a|(mul|mad)24|isspacep|bf[ei]|sad|shl|shr|shf|lop3|prmt|and|or|xor|c?not|selp|slct|set|"
                r"(add|sub|mad)c)\Z",
                instruction.opcode,
            )
        )

    @staticmethod
    def space(instruction: Instruction) -> str:
        roots = [m.partition("::")[0] for m in instruction.modifiers]
        return next((r for r in roots if r in ("global", "shared", "local", "const", "param")), "generic")

    def scatter(self, instruction: Instruction, event: Event, count: int) -> None:
        """Arbitrary values in the first operands."""
        stack = list(instruction.operands[:count])
        while stack:
            operand = stack.pop()
            match operand:
                case Name():
                    self.put(event, operand, self.random.getrandbits(128))
                case Pair(first, second):
                    stack += [first, second]
                case Vector(elements):
                    stack += elements
                case _:
                    stack += getattr(operand, "elements", ())

    def loads(self, instruction: Instruction, event: Event) -> None:
        space = self.space(instruction)
        of = types_in(instruction.name)[-1]
        bits = TYPE_BITS[of]
        to, source = instruction.operands[:2]
        if {"acquire", "volatile", "relaxed", "mmio"} & set(instruction.modifiers):
            self.disturb()
        assert isinstance(source, Address)
        base = source.base
        is_parameter = isinstance(base, Name) and any(p.name == base.text for p in self.routine.parameters)
        address = self.generic(self.read(source, 64), space)
        event.address = address
        for n, element in enumerate(to.elements if isinstance(to, Vector) else (to,)):
            if space == "param" and is_parameter and isinstance(base, Name):
                value = self.parameter(base.text, source.offset + n * bits // 8, bits)
            else:
                read_only = "nc" in instruction.modifiers or space == "const"
                value = self.load(address + n * bits // 8, bits // 8, read_only=read_only)
            event.values.append(value)
            self.put(event, element, negative(value, bits) if of in SIGNED else value)

    def compare(self, instruction: Instruction, event: Event) -> None:
        types = types_in(instruction.name)
        comparison = next(m for m in instruction.modifiers if m in COMPARISONS)
        width = TYPE_BITS[types[-1]]
        to, x, y, *other = instruction.operands
        holds = related(f"{comparison}.{types[-1]}", self.read(x, width), self.read(y, width))
        both = [holds, 1 - holds]
        if other:
            third = self.read(other[0], 1)
            if "and" in instruction.modifiers:
                both = [b & third for b in both]
            elif "or" in instruction.modifiers:
                both = [b | third for b in both]
            else:
                both = [b ^ third for b in both]
        first, second = (to.first, to.second) if isinstance(to, Pair) else (to, None)
        self.put(event, first, both[0])
        if second is not None:
            self.put(event, second, both[1])

    def compute(self, instruction: Instruction, event: Event) -> None:
        types = types_in(instruction.name)
        opcode = instruction.opcode
        to, *sources = instruction.operands
        first, last = (TYPE_BITS[types[0]], TYPE_BITS[types[-1]]) if types else (64, 64)
        widths = [first] * len(sources)
        if opcode in ("shl", "shr"):
            widths = [first, 32]
        elif opcode == "bfe":
            widths = [first, 32, 32]
        elif opcode == "bfi":
            widths = [first, first, 32, 32]
        elif opcode == "mad" and "wide" in instruction.modifiers:
            widths = [first, first, 2 * first]
        elif opcode == "selp":
            widths = [first, first, 1]
        elif opcode == "slct":
            widths = [first, first, last]
        elif opcode in ("cvt", "popc", "clz", "bfind", "set"):
            widths = [last] * len(sources)
        args = [self.read(s, w) for s, w in zip(sources, widths, strict=False)]
        if opcode in ("addc", "subc", "madc") or "cc" in instruction.modifiers:
            value, carry = carried(instruction.name, args, self.registers.get("%cc", 0))
            if "cc" in instruction.modifiers:
                event.written["%cc"] = carry
            self.put(event, to, value)
            return
        target = to.first if isinstance(to, Pair) else to
        self.put(event, target, computed(instruction.name, args, self.width_of(target)))
        if isinstance(to, Pair):
            self.put(event, to.second, self.random.getrandbits(1))
