"""Random programs three ways: SIMT interpreter, scalar oracle, symbolic emulator.

    python -m tests.ptx.fuzz.differential COUNT [SEED]

Every thread of a launch runs on the scalar oracle, whose memory must be the interpreter's at the end. At every block and
instruction of some threads the emulator's terms must have the values of the run, the ranges that it gives them hold, its path
conditions be true, its addresses right, and loads that it takes for one must have read one value.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from tests.ptx.fuzz.programs import SLOT_BYTES, Program, random_program
from tests.ptx.fuzz.scalar import Memory, NotServedError, Step, Thread, computed, signed

from warploom.ptx import exact, launch, lower, normal, parse
from warploom.ptx.routine import Routine
from warploom.ptx.symbolic import Emulation, Term, emulate, evaluate
from warploom.ptx.verify import verify

STEPS = 20_000
"""Instructions of one thread."""
_THREADS = 6
"""Threads of a launch that the emulator is compared with."""
_INPUT, _OUTPUT = 0x10_0000, 0x20_0000


class ScalarComparison:
    """The emulator against one thread of the scalar oracle, block by block and instruction by instruction."""

    def __init__(self, emulation: Emulation, thread: Thread) -> None:
        self.emulation = emulation
        self.graph = emulation.graph
        self.thread = thread
        self.block = -1
        self.starts = {b.start: b.index for b in self.graph.blocks}
        self.accesses = {a.instruction: a for a in emulation.trace}
        self.counters: dict[int, int] = {}
        self.entries: dict[tuple[int, str], int] = {}
        """Registers where a block last began."""
        self.made: dict[str, int] = {}
        """Values of opaque terms, by the name that the emulator gives them."""
        self.read: dict[tuple[object, ...], int] = {}
        """Values of load terms."""
        self.checked = 0

    def follow(self, limit: int) -> None:
        """Runs the thread to its end; AssertionError where emulator and run differ."""
        thread = self.thread
        instructions = thread.routine.instructions
        while not thread.is_done and thread.position < len(instructions):
            limit -= 1
            assert limit >= 0, "endless"
            position = thread.position
            if position in self.starts:
                self.enter(self.starts[position])
            guard = instructions[position].guard
            runs = guard is None or bool(thread.registers.get(guard.name, 0)) != guard.negated
            if guard is not None:
                self.made |= {f"{register}.before@{position}": value for register, value in thread.registers.items()}
            step = thread.step()
            if runs:
                self.ran(step)

    def enter(self, block: int) -> None:
        assert block in self.emulation.blocks, f"block {block} runs, but the emulator never reaches it"
        previous, self.block = self.block, block
        for register, value in self.thread.registers.items():
            self.entries[block, register] = value
        loop = self.graph.loops.get(block)
        if loop is not None:
            self.counters[block] = self.counters[block] + 1 if previous in loop.latches else 0
        state = self.emulation.blocks[block]
        for condition in state.path:
            assert self.value(condition) == 1, f"block {block} runs, but its path condition is false: {condition}"
        for register, term in state.entry.items():
            if register in self.thread.registers:
                self.agree(term, self.thread.registers[register], f"{register} where block {block} begins")

    def ran(self, step: Step) -> None:
        position = step.position
        name = self.thread.routine.instructions[position].name
        for register, value in step.written.items():
            self.made[f"{register}@{position}"] = value
        access = self.accesses.get(position)
        if step.address is not None:
            assert access is not None, f"{position}: {name} runs, but is not in the trace"
            if access.address is not None:
                self.agree(access.address, step.address, f"address of {position}: {name}")
            assert self.value(access.guard) == 1, f"{position}: {name} runs, but its guard is false: {access.guard}"
            if access.kind == "store":
                for term, value in zip(access.values, step.values, strict=True):
                    self.agree(term, value, f"stored by {position}: {name}")
        for n, value in enumerate(step.values):
            self.made[f"load.{n}@{position}"] = value
            if access is not None and access.kind == "load" and access.values[n].op == "load":
                key = self.key(access.values[n])
                assert self.read.setdefault(key, value) == value, f"{access.values[n]} reads two values ({position}: {name})"
        for register, value in step.written.items():
            term = self.emulation.result(position, register)
            if term is not None:
                self.agree(term, value, f"{register} after {position}: {name}")

    def key(self, load: Term) -> tuple[object, ...]:
        return (load.width, *load.data, *(self.value(a) for a in load.args))

    def agree(self, term: Term, value: int, what: str) -> None:
        self.checked += 1
        found = self.value(term)
        assert found == value, f"{what}: {found:#x} from {term}, but {value:#x}"
        facts = self.emulation.algebra(self.block).facts
        low, high = facts.unsigned(term)
        assert low <= value <= high, f"{what}: {value:#x} is not in [{low:#x}, {high:#x}], the range of {term}"
        low, high = facts.signed(term)
        assert low <= signed(value, term.width) <= high, (
            f"{what}: {value:#x} is not in [{low}, {high}], the signed range of {term}"
        )
        assert value % (1 << facts.trailing_zeros(term)) == 0, f"{what}: {value:#x} has fewer trailing zeros than said of {term}"

    def value(self, term: Term) -> int:
        return evaluate(term, self.leaf)

    def leaf(self, term: Term, args: tuple[int, ...]) -> int:
        """A result that cannot matter, because its instruction never ran, is 0."""
        thread, name = self.thread, str(term.data[0]) if term.data else ""
        match term.op:
            case "special":
                return thread.special[f"%{name}"]
            case "parameter":
                at = thread.offsets[name] + int(term.data[1])
                return int.from_bytes(thread.parameters[at : at + term.width // 8], "little")
            case "address":
                return thread.variables[name]
            case "counter":
                return self.counters.get(int(name), 0)
            case "loop":
                return self.entries.get((int(name), str(term.data[1])), 0)
            case "other":
                return args[0]
            case "load":
                return self.read.get((term.width, *term.data, *args), 0)
            case "opaque" if "@merge" in name:
                register, _, block = name.partition("@merge")
                return self.entries.get((int(block), register), 0)
            case "opaque":
                return self.made.get(name, 0)
            case "function" if "." in name:
                opcode, *modifiers = name.split(".")
                try:
                    return computed(opcode, modifiers, list(args))
                except NotServedError:
                    return 0
            case _:
                return 0


def threads_of(program: Program, routine: Routine, memory: Memory) -> list[Thread]:
    """All threads of a launch, at their start."""
    scalars = program.arguments()[2:]
    parameters, offsets = bytearray(), dict[str, int]()
    values = [_INPUT, _OUTPUT, *(int(s) for s in scalars)]
    for parameter, value in zip(routine.parameters, values, strict=True):
        while len(parameters) % parameter.size_bytes:
            parameters.append(0)
        offsets[parameter.name] = len(parameters)
        parameters += (value & ((1 << 8 * parameter.size_bytes) - 1)).to_bytes(parameter.size_bytes, "little")
    x, y = program.block
    found: list[Thread] = []
    for block in range(program.grid):
        for n in range(x * y):
            special = {
                "%tid.x": n % x, "%tid.y": n // x, "%tid.z": 0, "%ntid.x": x, "%ntid.y": y, "%ntid.z": 1, "%ctaid.x": block,
                "%ctaid.y": 0, "%ctaid.z": 0, "%nctaid.x": program.grid, "%nctaid.y": 1, "%nctaid.z": 1, "%laneid": n % 32,
                "%warpid": n // 32, "WARP_SZ": 32,
            }  # fmt: skip
            found.append(Thread(routine, special, bytes(parameters), offsets, memory))
    return found


def check(program: Program) -> str:
    """'' or what differs."""
    module = parse(program.text)
    if exact(module) != program.text:
        return "exact(parse(text)) differs from the text"
    if parse(normal(module)) != module:
        return "parse(normal(module)) differs from the module"
    alarms = verify(module)
    if alarms:
        return f"verify: {alarms[0].render()}"
    routine = lower(module).kernels[0]
    given, out, *_ = program.arguments()
    memory = Memory([(_INPUT, bytearray(given.tobytes())), (_OUTPUT, bytearray(out.tobytes()))])
    emulation = emulate(routine)
    problem = ""
    threads = threads_of(program, routine, memory)
    followed = {(n * len(threads)) // _THREADS for n in range(_THREADS)}
    for number, thread in enumerate(threads):
        if number in followed and not problem:
            try:
                ScalarComparison(emulation, thread).follow(STEPS)
            except AssertionError as error:
                problem = f"emulator, thread {number}: {error}"
        for _ in thread.steps(STEPS):
            pass
        if not thread.is_done:
            return "endless"
    ran = launch(module, grid=program.grid, block=program.block, args=program.arguments())
    if ran.status != "finished" or ran.findings:
        return f"interpreter: {ran.status}, {ran.findings[:1]}"
    mine = np.frombuffer(bytes(memory.pieces[1][1]), np.uint8)
    theirs = np.frombuffer(ran.arrays[1].tobytes(), np.uint8)
    places = np.flatnonzero(mine != theirs)
    if places.size:
        first = int(places[0])
        where = f"thread {first // SLOT_BYTES}, byte {first % SLOT_BYTES}"
        return f"interpreter against scalar oracle: {places.size} bytes of the output differ, first {where}"
    return problem


@dataclass(slots=True)
class Tally:
    """The counts of a run."""

    programs: int = 0
    not_served: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])


def run(count: int, seed: int = 0, report: Callable[[int, str], None] | None = None) -> Tally:
    """`count` programs from `seed` on."""
    tally = Tally()
    for number in range(seed, seed + count):
        tally.programs += 1
        try:
            message = check(random_program(number))
        except NotServedError:
            tally.not_served += 1
            continue
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
        if message:
            tally.failures.append((number, message))
            if report is not None:
                report(number, message)
    return tally


def main() -> int:
    count, seed = (int(a) for a in (*sys.argv[1:], "100", "0")[:2]) if len(sys.argv) > 2 else (int((*sys.argv[1:], "100")[0]), 0)
    started = time.process_time()
    tally = run(count, seed, lambda number, message: print(f"seed {number}: {message[:400]}", flush=True))
    seconds = time.process_time() - started
    print(
        f"{tally.programs} programs from seed {seed}, {len(tally.failures)} differ, {tally.not_served} not served, "
        f"{seconds:.1f} CPU s"
    )
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
