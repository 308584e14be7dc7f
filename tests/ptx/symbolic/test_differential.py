"""Every register after every instruction, every address, every path condition: terms against a concrete run of one thread."""

import random
from dataclasses import dataclass, replace

import pytest
from tests.ptx import corpus
from tests.ptx.symbolic.reference import COMPARISONS, Event, Thread, computed, mask, negative, related

from warploom.ptx.routine import TYPE_BITS, Routine, lower
from warploom.ptx.symbolic import Access, Emulation, Neighbour, NoWrap, Term, emulate, evaluate, skeleton, stride
from warploom.ptx.syntax import Guard, Integer, Name, parse


def named(part: object) -> set[str]:
    """Names in operands."""
    if isinstance(part, Name):
        return {part.text}
    inner = part if isinstance(part, tuple) else [getattr(part, f) for f in getattr(part, "__slots__", ())]
    return set().union(*(named(p) for p in inner if not isinstance(p, str | int)))


class Comparison:
    """Follows one run and checks the emulation against it."""

    def __init__(self, emulation: Emulation, seed: int) -> None:
        self.emulation = emulation
        self.graph = emulation.graph
        self.thread = Thread(emulation.routine, seed)
        self.counters: dict[int, int] = {}
        self.at_header: dict[tuple[int, str], int] = {}
        self.at_block: dict[tuple[int, str], int] = {}
        self.made: dict[str, int] = {}
        self.memory: dict[tuple[object, ...], int] = {}
        self.block = -1
        self.accesses = {a.instruction: a for a in emulation.trace}
        self.mentioned = [
            [r for r in named(i.operands) | ({i.guard.name} if i.guard else set()) if r in emulation.routine.registers]
            for i in emulation.routine.instructions
        ]
        self.checked = 0

    def run(self, steps: int) -> None:
        self.thread.run(steps, self.enter, self.start, self.event)

    def enter(self, block: int) -> None:
        state = self.emulation.blocks[block]
        previous, self.block = self.block, block
        if not self.graph.is_reducible:
            self.memory.clear()  # terms speak of one visit to a block
        for register in state.entry:
            self.at_block[block, register] = (
                self.thread.registers[register] if "%cc" in register else self.thread.register(register)
            )
        if block in self.graph.loops or not self.graph.is_reducible:
            loop = self.graph.loops.get(block)
            inside = loop is not None and previous in loop.blocks and previous in loop.latches
            self.counters[block] = self.counters[block] + 1 if inside else 0
            for register in state.entry:
                self.at_header[block, register] = self.at_block[block, register]
        for condition in state.path:
            assert self.value(condition) == 1, f"block {block}: {condition}"
        for register, term in state.entry.items():
            if register in self.thread.registers:
                self.agree(term, self.thread.registers[register], f"{register} where block {block} begins")

    def start(self, position: int) -> None:
        for register in self.mentioned[position]:
            value = self.thread.register(register)
            self.made[f"{register}.undefined@{position}"] = self.made[f"{register}.before@{position}"] = value

    def event(self, event: Event) -> None:
        position = event.position
        for register, value in event.written.items():
            self.made[f"{register}@{position}"] = value
        for name, value in self.thread.specials_read.items():
            self.made[f"{name}@{position}"] = value
        access = self.accesses.get(position)
        if access is not None and event.address is not None and access.address is not None and access.space != "param":
            where = event.address & mask(32) if access.space in ("shared", "local", "const") else event.address
            self.agree(access.address, where, f"address of {self.emulation.routine.instructions[position].name}")
        for n, value in enumerate(event.values):
            self.made[f"load.{n}@{position}"] = value
            self.made[f"param.{n * access.bits // 8 if access else 0}@{position}"] = value
            if access is not None and access.kind == "load":
                self.remember(access.values[n], value)
        for register, value in event.written.items():
            term = self.emulation.result(position, register)
            if term is not None:
                name = self.emulation.routine.instructions[position].name
                self.agree(term, value, f"{register} after {position}: {name}")

    def remember(self, term: Term, value: int) -> None:
        if term.op != "load":
            return
        key = (term.width, *term.data, *(self.value(a) for a in term.args))
        assert self.memory.setdefault(key, value) == value, f"{term} reads two values"

    def agree(self, term: Term, value: int, what: str) -> None:
        self.checked += 1
        found = self.value(term)
        assert found == value, f"{what}: {found:#x} from {term}, but {value:#x}"

    def value(self, term: Term) -> int:
        return evaluate(term, self.leaf)

    def leaf(self, term: Term, args: tuple[int, ...]) -> int:
        thread = self.thread
        match term.op:
            case "special":
                return thread.special_value(str(term.data[0]))
            case "parameter":
                return thread.parameter(str(term.data[0]), int(term.data[1]), term.width)
            case "address":
                return thread.address_of(str(term.data[0]))
            case "counter":
                return self.counters.get(int(term.data[0]), 0)
            case "loop":
                return self.at_header.get((int(term.data[0]), str(term.data[1])), 0)
            case "other":
                return args[0]
            case "load":
                return self.memory.get((term.width, *term.data, *args), 0)  # 0: not executed, so it must not matter
            case "opaque":
                name = str(term.data[0])
                if "@merge" in name:
                    register, _, block = name.partition("@merge")
                    return self.at_block.get((int(block), register), 0)
                return self.made.get(name, 0)
            case "function":
                name = str(term.data[0])
                if name.count(".") == 1 and name.partition(".")[0] in COMPARISONS:
                    return related(name, *args)
                return computed(name, list(args), term.width) if "." in name else 0
            case _:
                return 0


def checked(routine: Routine, seeds: range, steps: int = 1500) -> int:
    """How many values of how many runs agreed."""
    emulation = emulate(routine)
    total = 0
    for seed in seeds:
        comparison = Comparison(emulation, seed)
        comparison.run(steps)
        total += comparison.checked
    return total


@pytest.mark.parametrize(
    "name",
    [
        *(f"kernelgen/{k}/{s}" for k in ("jacobi", "uxx1", "tricubic", "matmul", "sincos") for s in ("guarded", "grid-stride")),
        *(f"nvrtc/{n}/80" for n in ("arithmetic", "control", "shared", "vectors", "calls", "atomics", "assembly")),
        "numba/stencil/90/debug", "numba/block_sum/75", "triton/stencil_2d/90", "triton/softmax/90", "llvm/switch/90",
        "warploom/conv2d-3",
    ],
)  # fmt: skip
def test_terms_have_the_values_of_a_run(name: str) -> None:
    program = lower(parse(corpus.text(name)))
    assert sum(checked(routine, range(2), 700) for routine in program.routines.values()) > 0


INTEGERS = ("s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64")


def test_results_narrower_than_their_registers() -> None:
    """PTX ISA 9.4.1, by the type's sign: conversions and loads of every type, to every register that fits."""
    lines = ["ld.param.u64 %rd1, [a];", "ld.global.u64 %rd2, [%rd1];"]
    targets = [(f"%{name}{n}", bits) for name, bits in (("h", 16), ("r", 32), ("d", 64)) for n in range(3)]
    for to in INTEGERS:
        for register, bits in targets:
            if bits < TYPE_BITS[to]:
                continue
            lines += [f"cvt.{to}.{of} {register}, %rd2;" for of in INTEGERS]
            lines += [f"ld.global.{to} {register}, [%rd1+8];"]
            if bits > TYPE_BITS[to]:
                lines.append(f"cvt.{to}.u64 {register}, 0x1234567892a4b6c8;")
    registers = ".reg .b16 %h<3>; .reg .b32 %r<3>; .reg .b64 %d<3>; .reg .b64 %rd<3>;"
    text = f".version 8.0\n.target sm_80\n.entry k(.param .u64 a)\n{{ {registers}\n" + "\n".join(lines) + "\nret; }\n"
    assert checked(lower(parse(text)).kernels[0], range(6)) > 6 * 100


# mutated programs: flow that no compiler makes


def mutated(routine: Routine, r: random.Random) -> Routine:
    """A few operands, constants, guards and branch targets changed: irreducible loops, undefined registers, odd merges."""
    instructions = list(routine.instructions)
    mentioned = {n for i in instructions for n in named(i.operands) if n in routine.registers}
    by_type: dict[str, list[str]] = {}
    for name in sorted(mentioned):
        by_type.setdefault(routine.registers[name], []).append(name)
    labels = sorted(routine.labels)
    for _ in range(r.randrange(1, 10)):
        at = r.randrange(len(instructions))
        old = instructions[at]
        pure = Thread.is_pure(old) and old.opcode not in ("lop3", "set")
        operands = list(old.operands)
        change = r.randrange(5)
        if change == 0 and pure:
            n = r.randrange(1, len(operands))
            operand = operands[n]
            if isinstance(operand, Name) and operand.text in routine.registers:
                operands[n] = Name(r.choice(by_type[routine.registers[operand.text]]))
        elif change == 1 and pure:
            operands = [Integer(r.choice([0, 1, 3, 31, 32, -1, 7, 1 << 30])) if isinstance(o, Integer) else o for o in operands]
        elif change == 2 and old.opcode == "bra":
            operands = [Name(r.choice(labels))]
        guard = old.guard
        if change == 3 and guard is not None:
            guard = Guard(guard.name, not guard.negated)
        elif change == 4 and by_type.get("pred") and (pure or old.opcode in ("mov", "ld", "st", "bra")):
            guard = Guard(r.choice(by_type["pred"]), bool(r.randrange(2)))
        instructions[at] = replace(old, operands=tuple(operands), guard=guard)
    return replace(routine, instructions=tuple(instructions))


@pytest.mark.parametrize(
    "name",
    ["kernelgen/matvec/tiled", "kernelgen/wave13pt/grid-stride", "nvrtc/control/80", "nvrtc/reduce/80", "cub/radix_sort/90"],
)
def test_mutated_programs(name: str) -> None:
    routine = lower(parse(corpus.text(name))).kernels[0]
    r = random.Random(1)
    assert sum(checked(mutated(routine, r), range(n, n + 1), 300) for n in range(6)) > 0


# two threads


@dataclass(frozen=True)
class Pairing:
    """A load that may take another lane's value."""

    here: Access
    there: Access
    delta: int
    conditions: tuple[NoWrap, ...]


def pairings(emulation: Emulation) -> list[Pairing]:
    """For every load, the earlier ones of its block that some lane within 31 has made at the same address."""
    tid, lane = emulation.table.special("tid.x"), emulation.table.special("laneid")
    groups: dict[tuple[object, ...], list[Access]] = {}
    neighbours: dict[int, Neighbour] = {}
    found: list[Pairing] = []
    for load in emulation.trace:
        if load.kind != "load" or load.space != "global" or load.address is None:
            continue
        algebra = emulation.algebra(load.block)
        own = skeleton(algebra, load.address)
        step = stride(emulation, load.block, load.address, tid)
        group = groups.setdefault((load.block, own.key), [])
        for source in group:
            assert source.address is not None
            distance = own.constant - skeleton(algebra, source.address).constant
            if step and distance % step == 0 and abs(distance // step) < 32:
                delta = distance // step
                if delta not in neighbours:
                    loops = frozenset(emulation.graph.loops)
                    neighbours[delta] = Neighbour(emulation, {tid: delta, lane: delta}, loops, whole_warp=False)
                match = neighbours[delta].match(load.address, load.block, source.address, source.block)
                if match is not None:
                    found.append(Pairing(load, source, delta, match.conditions))
        group.append(load)
    return found


class Recorder(Comparison):
    """Addresses by instruction and iteration; values of conditions at the time of each load."""

    def __init__(self, emulation: Emulation, seed: int, wanted: dict[int, list[NoWrap]]) -> None:
        super().__init__(emulation, seed)
        self.wanted = wanted
        self.addresses: dict[tuple[int, tuple[int, ...]], int] = {}
        self.holding: dict[tuple[int, tuple[int, ...], NoWrap], bool] = {}

    def event(self, event: Event) -> None:
        super().event(event)
        if event.address is None:
            return
        iteration = tuple(self.counters[h] for h in self.graph.loop_nest(self.block))
        self.addresses[event.position, iteration] = event.address
        for condition in self.wanted.get(event.position, ()):
            value = self.value(condition.term)
            self.holding[event.position, iteration, condition] = fits(value, condition)


def fits(value: int, condition: NoWrap) -> bool:
    half = 1 << (condition.width - 1)
    if condition.is_signed:
        return -half <= negative(value, condition.width) + condition.offset < half
    return 0 <= value + condition.offset < 2 * half


def agreeing_lanes(routine: Routine, seeds: range, steps: int = 1500) -> tuple[int, int]:
    """Loads found, and pairs of concrete addresses that were equal as promised."""
    emulation = emulate(routine)
    found = pairings(emulation)
    wanted: dict[int, list[NoWrap]] = {}
    for pairing in found:
        wanted.setdefault(pairing.here.instruction, []).extend(pairing.conditions)
    compared = 0
    for seed in seeds:
        here = Recorder(emulation, seed, wanted)
        here.run(steps)
        others: dict[int, Recorder | None] = {}
        for pairing in found:
            if pairing.delta not in others:
                others[pairing.delta] = neighbour(emulation, seed, pairing.delta, steps)
            other = others[pairing.delta]
            if other is None:
                continue
            for (position, iteration), address in here.addresses.items():
                source = other.addresses.get((pairing.there.instruction, iteration))
                if position != pairing.here.instruction or source is None:
                    continue
                if all(here.holding[position, iteration, c] for c in pairing.conditions):
                    assert source == address, f"{pairing} in iteration {iteration} of seed {seed}"
                    compared += 1
    return len({p.here.instruction for p in found}), compared


def neighbour(emulation: Emulation, seed: int, delta: int, steps: int) -> Recorder | None:
    """A run of the lane `delta` away, if the warp has it in the same row of the block."""
    other = Recorder(emulation, seed, {})
    special = other.thread.special
    special["tid.x"] += delta
    special["laneid"] += delta
    if not (0 <= special["laneid"] < 32 and 0 <= special["tid.x"] < special["ntid.x"]):
        return None
    other.run(steps)
    return other


@pytest.mark.parametrize(
    ("name", "loads", "seeds"),
    [
        ("kernelgen/jacobi/guarded", 6, 12),
        ("kernelgen/jacobi/grid-stride", 6, 4),
        ("kernelgen/gaussblur/guarded", 20, 12),
        ("kernelgen/tricubic/guarded", 48, 3),
        ("kernelgen/wave13pt/grid-stride", 4, 3),
        ("kernelgen/matmul/guarded", 0, 4),
    ],
)  # fmt: skip
def test_lanes_read_the_same_address(name: str, loads: int, seeds: int) -> None:
    routine = lower(parse(corpus.text(name))).kernels[0]
    covered, compared = agreeing_lanes(routine, range(seeds), 700)
    assert covered == loads
    assert compared > 0 or not loads
