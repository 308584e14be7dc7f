"""Makes a step of every instruction that this runner follows; any other one stops the proof with its name and line."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from warploom.core import DType, UnsupportedError
from warploom.ptx import TYPE_BITS, branch_targets
from warploom.ptx.syntax import Float, Instruction, Integer, Name, Pair
from warploom.synth.compiled.arithmetic import FLUSHED, SIGN_OF_TEST, Arithmetic, NotFollowedError, register_kind
from warploom.synth.compiled.calls import Calls, Opaque
from warploom.synth.compiled.copies import Copies
from warploom.synth.compiled.data import ADDRESSES, Undefined, Value
from warploom.synth.compiled.exchanges import Exchanges
from warploom.synth.compiled.functions import Functions
from warploom.synth.compiled.gathers import NotGatheredError
from warploom.synth.compiled.groups import Groups
from warploom.synth.compiled.handover import Handing, Handover
from warploom.synth.compiled.indexed import IndexedWords
from warploom.synth.compiled.matrices import Matrices
from warploom.synth.compiled.operands import Operands, Reader, width_of
from warploom.synth.compiled.passing import passed_to_shared
from warploom.synth.compiled.placed import Placed, PlacementError
from warploom.synth.compiled.schedule import Step, truth
from warploom.synth.compiled.threads import Block, Lanes, Launch
from warploom.synth.compiled.transfers import Transfers, convert_address

_NOBODY = -1
"""A thread that never comes."""
_FENCES = frozenset({"membar", "fence", "nanosleep", "prefetch", "prefetchu", "applypriority", "griddepcontrol"})


def make_steps(launch: Launch, functions: Mapping[str, Opaque], handover: Handover | None = None) -> list[Step]:
    """A step per instruction; what is not followed raises UnsupportedError when it is executed, not before.

    functions: those that may be called.
    """
    maker = _Maker(launch, functions, handover)
    return [maker.step(instruction, k) for k, instruction in enumerate(launch.routine.instructions)]


class _Maker:
    def __init__(self, launch: Launch, functions: Mapping[str, Opaque], handover: Handover | None) -> None:
        self.launch = launch
        self.operands = Operands(launch)
        self.arithmetic = Arithmetic(launch.data)
        self.functions = Functions(launch, self.arithmetic)
        self.indexed = IndexedWords(launch, self.arithmetic)
        self.transfers = Transfers(launch, self.operands, self.arithmetic)
        self.copies = Copies(launch, self.operands, self.transfers)
        self.exchanges = Exchanges(launch, self.operands, self.arithmetic)
        self.matrices = Matrices(launch, self.operands, self.arithmetic)
        self.groups = Groups(launch, self.operands, self.transfers, self.matrices)
        self.calls = Calls(launch, self.operands, functions, self.transfers.extension)
        self.passing = frozenset[str]() if launch.translations is None else passed_to_shared(launch.routine)
        self.handing: Handing | None = None
        if handover is not None:
            self.handing = Handing(launch, handover, self.operands, self.transfers, self.exchanges)
            launch.at_end = self.handing.check_ended

    def step(self, instruction: Instruction, index: int) -> Step:
        try:
            made = self._unguarded(instruction, index)
        except NotFollowedError as error:
            made = _refusing(self.launch.unsupported(f"expected an instruction that this runner follows, got {error}", index))
        except UnsupportedError as error:
            made = _refusing(error)
        made = made if instruction.guard is None else self._guarded(instruction, index, made)
        return made if self.handing is None else self.handing.watched(made, instruction, index)

    def _unguarded(self, instruction: Instruction, index: int) -> Step:
        if self.handing is not None and (handing := self.handing.step(instruction, index)) is not None:
            return handing
        match instruction.opcode:
            case "bra" | "brx" | "ret" | "exit":
                return self._jump(instruction, index)
            case "ld" if self.calls.is_passed(instruction):
                return Step(action=self.calls.load(instruction, index))
            case "st" if self.calls.is_passed(instruction):
                return Step(action=self.calls.store(instruction, index))
            case "call":
                return Step(action=self.calls.call(instruction, index))
            case "ld" | "ldu":
                return Step(action=self.transfers.load(instruction, index))
            case "st":
                return Step(action=self.transfers.store(instruction, index))
            case "red" | "atom":
                return Step(action=self.transfers.reduce(instruction, index))
            case "cp":
                return Step(action=self.copies.copy(instruction, index))
            case "ldmatrix":
                return self.copies.matrix(instruction, index)
            case "mma":
                return self.matrices.multiply(instruction, index)
            case "shfl":
                return self.exchanges.shuffle(instruction, index)
            case "vote":
                return self.exchanges.vote(instruction, index)
            case "redux":
                return self.exchanges.reduction(instruction, index)
            case "activemask":
                return self.exchanges.active_mask(instruction, index)
            case "bar" | "barrier":
                if "warp" in instruction.modifiers:
                    return self.exchanges.warp_barrier(instruction, index)
                return self.exchanges.barrier(instruction, index)
            case "trap":

                def trap(block: Block, lanes: Lanes) -> None:
                    raise block.fault("trap", "expected a launch without a trap", index, thread=lanes[0], what="trap")

                return Step(action=trap)
            case "wgmma":
                return self.groups.step(instruction, index)
            case "fence" if "proxy" in instruction.modifiers:
                return self.groups.fence_of_proxies(instruction, index)
            case name if name in _FENCES:
                return Step(action=lambda block, lanes: None)
            case "mov" | "cvta":
                return self._move(instruction, index)
            case "setp":
                return self._test(instruction, index)
            case _:
                return self._computed(instruction, index)

    # ------------------------------------------------------------ control

    def _jump(self, instruction: Instruction, index: int) -> Step:
        if instruction.opcode in ("ret", "exit"):
            return Step(jump=lambda block, lanes: {})
        if instruction.opcode == "bra":
            (target,) = branch_targets(self.launch.routine, index)
            return Step(jump=lambda block, lanes: {target: lanes})
        reader = self.operands.reader(instruction.operands[0], "b32", index)
        routine = self.launch.routine
        last = instruction.operands[-1]
        names = routine.targets.get(last.text, ()) if isinstance(last, Name) else ()
        places = [routine.labels[n] for n in names]

        def jump(block: Block, lanes: Lanes) -> dict[int, Lanes]:
            found: dict[int, Lanes] = {}
            for t, number in zip(lanes, reader(block, lanes), strict=True):
                if not isinstance(number, int) or number.__class__ is Placed or not 0 <= number < len(places):
                    raise self.launch.unsupported(f"expected a branch index of 0 to {len(places) - 1}, got {number}", index)
                found.setdefault(places[number], []).append(t)
            return found

        return Step(jump=jump)

    def _guarded(self, instruction: Instruction, index: int, inner: Step) -> Step:
        guard = instruction.guard
        assert guard is not None
        wanted = not guard.negated

        def split(block: Block, lanes: Lanes) -> tuple[Lanes, Lanes]:
            taken: Lanes = []
            rest: Lanes = []
            for t, value in zip(lanes, block.read(guard.name, lanes), strict=True):
                decided = value if value.__class__ is bool else truth(block, value, index, t)
                (taken if decided == wanted else rest).append(t)
            return taken, rest

        if inner.jump is not None:
            follow = inner.jump

            def jump(block: Block, lanes: Lanes) -> dict[int, Lanes]:
                taken, rest = split(block, lanes)
                targets = follow(block, taken) if taken else {}
                if rest:
                    targets = dict(targets)
                    targets[index + 1] = sorted(targets.get(index + 1, []) + rest)
                return targets

            return Step(jump=jump)
        if inner.barrier is not None or inner.meeting is not None:
            return self._guarded_meeting(inner, split, index)
        run = inner.action
        assert run is not None

        def action(block: Block, lanes: Lanes) -> None:
            taken, _ = split(block, lanes)
            if taken:
                run(block, taken)

        return Step(action=action)

    def _guarded_meeting(self, inner: Step, split: Callable[[Block, Lanes], tuple[Lanes, Lanes]], index: int) -> Step:
        """Threads whose guard is false go on and count as absent: those that a mask names are waited for."""
        if inner.barrier is not None or inner.meeting is None or inner.action is None:
            raise self.launch.unsupported("expected a barrier without a guard", index)
        members, run = inner.meeting, inner.action

        def meeting(block: Block, lanes: Lanes) -> list[tuple[Lanes, Lanes]]:
            taken, rest = split(block, lanes)
            missing = set(rest)
            return [
                (group, [*named, _NOBODY] if missing.intersection(named) else named)
                for group, named in (members(block, taken) if taken else [])
            ]

        def action(block: Block, lanes: Lanes) -> None:
            taken, _ = split(block, lanes)
            if taken:
                run(block, taken)

        return Step(action=action, meeting=meeting, kind=inner.kind)

    # ------------------------------------------------------------ moves and tests

    def _move(self, instruction: Instruction, index: int) -> Step:
        target, source = instruction.operands
        type_name = width_of(instruction, "b64")
        bits = TYPE_BITS[type_name]
        data = self.launch.data
        targets, sources = self.operands.pieces(target), self.operands.pieces(source)
        if instruction.opcode == "cvta":
            reader = convert_address(instruction, self.operands.reader(source, type_name, index))
            return self._step(self.operands.writer(target, index), reader)
        if len(targets) == len(sources) == 1:
            if isinstance(target, Name) and isinstance(source, Name) and self._has_same_bits(target, source):
                return self._copied(target.text, source.text, self.operands.reader(source, type_name, index))
            return self._step(self.operands.writer(target, index), self.operands.reader(source, type_name, index))
        if len(targets) == 1:
            piece = bits // len(sources)
            readers = [self.operands.reader(s, f"b{piece}", index) for s in sources]
            write = self.operands.writer(target, index)

            def packed(block: Block, lanes: Lanes) -> None:
                columns = [reader(block, lanes) for reader in readers]
                write(block, lanes, [data.join([(v, piece) for v in row]) for row in zip(*columns, strict=True)])

            return Step(action=packed)
        piece = bits // len(targets)
        reader = self.operands.reader(source, type_name, index)
        writers = [self.operands.writer(t, index) for t in targets]

        def unpacked(block: Block, lanes: Lanes) -> None:
            values = reader(block, lanes)
            for k, write in enumerate(writers):
                write(block, lanes, [data.extract(v, k * piece, piece, bits) for v in values])

        return Step(action=unpacked)

    def _has_same_bits(self, a: Name, b: Name) -> bool:
        registers = self.launch.routine.registers
        return a.text in registers and b.text in registers and TYPE_BITS[registers[a.text]] == TYPE_BITS[registers[b.text]]

    def _copied(self, target: str, source: str, reader: Reader) -> Step:
        """A copy from register to register."""
        launch = self.launch

        def run(block: Block, lanes: Lanes) -> None:
            if source in block.alike and len(lanes) == block.count:
                launch.steps_left += len(lanes) - len(block.alike[source])
                block.write_common(target, block.alike[source])
            else:
                block.write(target, lanes, reader(block, lanes))

        return Step(action=run)

    @staticmethod
    def _step(write: Callable[[Block, Lanes, list[Value]], None], reader: Reader) -> Step:
        return Step(action=lambda block, lanes: write(block, lanes, reader(block, lanes)))

    def _test(self, instruction: Instruction, index: int) -> Step:
        type_name = width_of(instruction, "b32")
        test = instruction.modifiers[0]
        combine = next((m for m in instruction.modifiers[1:] if m in ("and", "or", "xor")), None)
        compare = self._compared(test, register_kind(type_name), index)
        if "ftz" in instruction.modifiers:
            self.launch.data.notes.add(FLUSHED)
        first, second = (
            (instruction.operands[0].first, instruction.operands[0].second)
            if isinstance(instruction.operands[0], Pair)
            else (instruction.operands[0], None)
        )
        write = self.operands.writer(first, index)
        write_second = self.operands.writer(second, index) if second is not None else None
        a = self.operands.reader(instruction.operands[1], type_name, index)
        b = self.operands.reader(instruction.operands[2], type_name, index)
        c = self.operands.reader(instruction.operands[3], "pred", index) if combine is not None else None
        registers = self.launch.routine.registers
        compared = instruction.operands[1:3]
        names = [o.text if isinstance(o, Name) and o.text in registers else "" for o in compared]
        is_of_floats = (
            type_name[:1] == "f"
            and combine is None
            and second is None
            and all(isinstance(o, Float) or (n and registers[n] == type_name) for n, o in zip(names, compared, strict=True))
        )

        def run(block: Block, lanes: Lanes) -> None:
            if is_of_floats and isinstance(first, Name) and (alike := self._commons(block, lanes, names, [a, b])):
                self.launch.steps_left += len(lanes) - len(alike[0])
                block.write_common(first.text, list(map(compare, *alike)))
                return
            found = [compare(x, y) for x, y in zip(a(block, lanes), b(block, lanes), strict=True)]
            others: list[Value] = []
            if write_second is not None:
                others = [not truth(block, v, index, t) for t, v in zip(lanes, found, strict=True)]
            if c is not None:
                extra = c(block, lanes)
                found = [_logic(combine, x, y, block, index, t) for t, x, y in zip(lanes, found, extra, strict=True)]
                others = [_logic(combine, x, y, block, index, t) for t, x, y in zip(lanes, others, extra, strict=False)]
            write(block, lanes, found)
            if write_second is not None:
                write_second(block, lanes, others)

        return Step(action=run)

    def _compared(self, test: str, kind: DType, index: int) -> Callable[[Value, Value], Value]:
        """setp's test of data, numbers or addresses."""
        plain = self.arithmetic.compare(test, kind)

        def run(a: Value, b: Value) -> Value:
            if a.__class__ not in ADDRESSES and b.__class__ not in ADDRESSES:
                return plain(a, b)
            for value in (a, b):
                if isinstance(value, Undefined):
                    return value
            try:
                if not isinstance(a, int) or not isinstance(b, int) or kind.is_float:
                    raise PlacementError("an address beside data")
                return self.launch.places.compare(SIGN_OF_TEST[test], a, b, kind)
            except PlacementError as error:
                raise self._depends(error, index) from error

        return run

    # ------------------------------------------------------------ arithmetic

    def _computed(self, instruction: Instruction, index: int) -> Step:
        type_name = width_of(instruction, "")
        opcode = instruction.opcode
        if type_name == "pred" and opcode in ("and", "or", "xor", "not"):
            return self._predicates(instruction, index)
        function, types = self.functions.of(instruction, type_name)
        if self.handing is not None:
            function = self.handing.counted(instruction, function)
        result = instruction.operands[0]
        if isinstance(result, Pair):
            raise NotFollowedError(f"{instruction.name} with two results")
        write = self.operands.writer(result, index)
        readers = [self.operands.reader(o, t, index) for o, t in zip(instruction.operands[1:], types, strict=False)]
        addressed = self._with_addresses(instruction, type_name, function, index)
        if opcode == "cvt" and (extension := self.transfers.extension(_target_type(instruction), result)) is not None:
            function = _after(function, extension)

        operands = instruction.operands[1 : 1 + len(readers)]
        registers = self.launch.routine.registers
        names = [o.text if isinstance(o, Name) and o.text in registers else "" for o in operands]
        is_plain = all(n or isinstance(o, Integer | Float) for n, o in zip(names, operands, strict=True))
        is_of_floats = is_plain and type_name[:1] == "f" and isinstance(result, Name) and result.text in registers
        has_widths = all(not n or TYPE_BITS[registers[n]] == TYPE_BITS[t] for n, t in zip(names, types, strict=False))
        may_be_common = is_of_floats and has_widths and isinstance(result, Name) and result.text not in self.passing

        def run(block: Block, lanes: Lanes) -> None:
            if may_be_common and isinstance(result, Name) and (found := self._commons(block, lanes, names, readers)):
                self.launch.steps_left += len(lanes) - len(found[0])
                block.write_common(result.text, list(map(function, *found)))
                return
            columns = [reader(block, lanes) for reader in readers]
            if any(not ADDRESSES.isdisjoint(map(type, column)) for column in columns):
                write(block, lanes, list(map(addressed, *columns)))
            elif is_of_floats and opcode != "selp":
                write(block, lanes, self._once_each(function, columns))
            else:
                write(block, lanes, list(map(function, *columns)))

        return Step(action=run)

    def _commons(self, block: Block, lanes: Lanes, names: list[str], readers: list[Reader]) -> list[list[Value]]:
        """The representatives' operands, where all threads have the translations of them; else nothing. Names of registers, or
        none for a number."""
        if self.launch.translations is None or len(lanes) != block.count:
            return []
        representatives = self.launch.translations.representatives
        commons = [block.common(n) if n else reader(block, representatives) for n, reader in zip(names, readers, strict=True)]
        found = [c for c in commons if c is not None]
        return found if len(found) == len(commons) else []

    def _once_each(self, function: Callable[..., Value], columns: list[list[Value]]) -> list[Value]:
        """The function of each row; of rows that are one, once."""
        done: dict[tuple[int, ...], Value] = {}
        found: list[Value] = []
        for row in zip(*columns, strict=True):
            key = tuple(map(id, row))
            if key not in done:
                done[key] = function(*row)
            found.append(done[key])
        return found

    def _with_addresses(
        self, instruction: Instruction, type_name: str, plain: Callable[..., Value], index: int
    ) -> Callable[..., Value]:
        """The operation where some operands may be addresses."""
        places, opcode = self.launch.places, instruction.opcode
        if opcode == "selp":
            return plain
        if opcode == "cvt":
            target, source = (register_kind(m) for m in instruction.modifiers if m in TYPE_BITS)
            kind, result = source, instruction.operands[0]
            own = TYPE_BITS.get(self.launch.routine.registers.get(result.text, ""), 0) if isinstance(result, Name) else 0
            is_followed = not target.is_float and not source.is_float and own <= target.bits

            def run(value: int) -> int:
                return places.widened(value, source, target.bits)
        else:
            kind = register_kind(type_name)
            is_followed = True
            run = places.function(opcode, instruction.modifiers, kind, plain)

        def located(*values: Value) -> Value:
            if ADDRESSES.isdisjoint(map(type, values)):
                return plain(*values)
            for value in values:
                if isinstance(value, Undefined):
                    return value
            numbers = [v for v in values if isinstance(v, int)]
            try:
                if not is_followed:
                    raise PlacementError(f"the result of {instruction.name}")
                return run(*numbers) if len(numbers) == len(values) else self.indexed.computed(instruction, kind, plain, values)
            except (PlacementError, NotGatheredError) as error:
                raise self._depends(error, index) from error

        return located

    def _depends(self, error: Exception, index: int) -> Exception:
        return self.launch.unsupported(
            f"expected results that do not depend on where variables lie in memory, got one that depends on {error}", index
        )

    def _predicates(self, instruction: Instruction, index: int) -> Step:
        write = self.operands.writer(instruction.operands[0], index)
        readers = [self.operands.reader(o, "pred", index) for o in instruction.operands[1:]]
        opcode = instruction.opcode
        target, names = instruction.operands[0], [o.text for o in instruction.operands[1:] if isinstance(o, Name)]

        def run(block: Block, lanes: Lanes) -> None:
            commons = [block.alike[name] for name in names if name in block.alike]
            if opcode != "not" and len(lanes) == block.count and len(commons) == 2 and isinstance(target, Name):
                first = lanes[0]
                block.write_common(
                    target.text, [_logic(opcode, x, y, block, index, first) for x, y in zip(*commons, strict=True)]
                )
                return
            columns = [reader(block, lanes) for reader in readers]
            if opcode == "not":
                found: list[Value] = [
                    v if isinstance(v, Undefined) else not truth(block, v, index, t)
                    for t, v in zip(lanes, columns[0], strict=True)
                ]
            else:
                found = [_logic(opcode, x, y, block, index, t) for t, x, y in zip(lanes, *columns, strict=True)]
            write(block, lanes, found)

        return Step(action=run)


def _after(function: Callable[..., Value], extension: Callable[[Value], Value]) -> Callable[..., Value]:
    def run(value: Value) -> Value:
        return extension(function(value))

    return run


def _target_type(instruction: Instruction) -> str:
    return next(m for m in instruction.modifiers if m in TYPE_BITS)


def _refusing(error: Exception) -> Step:
    def action(block: Block, lanes: Lanes) -> None:
        raise error

    return Step(action=action)


def _logic(op: str | None, x: Value, y: Value, block: Block, index: int, thread: int) -> Value:
    """Predicates under and, or, xor: a known one may decide alone."""
    for a, b in ((x, y), (y, x)):
        if isinstance(a, int) and not isinstance(b, int):
            if op == "and":
                return b if a else False
            if op == "or":
                return True if a else b
    if isinstance(x, Undefined) or isinstance(y, Undefined):
        return x if isinstance(x, Undefined) else y
    p, q = truth(block, x, index, thread), truth(block, y, index, thread)
    return p and q if op == "and" else p or q if op == "or" else p != q
