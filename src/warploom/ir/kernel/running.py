"""The reference interpreter at work: executes statements and evaluates data for some blocks of the grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, assert_never

import numpy as np
from numpy.typing import NDArray

from warploom import machines
from warploom.core import NOWHERE, Diagnostic, DType, UserError, placed, scalar_of, u32
from warploom.ir.arithmetic import Arithmetic, Data
from warploom.ir.kernel.counts import by_warps
from warploom.ir.kernel.evaluate import IndexValue, Indices, Mask, Where, both, truth
from warploom.ir.kernel.findings import Findings
from warploom.ir.kernel.memory import Element, GridArray, Planes, SharedArray, select, spread, zeros
from warploom.ir.kernel.nodes import (
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Cast,
    CommitCopies,
    Component,
    Declare,
    For,
    FromIndex,
    Holds,
    If,
    IndexExpr,
    Kernel,
    MakeVector,
    Mixed,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    Stmt,
    Store,
    Sync,
    ValueConst,
    ValueExpr,
    ValueSelect,
    ValueVar,
    Vote,
    WaitCopies,
)
from warploom.ir.kernel.pending import Pending
from warploom.ir.kernel.races import Found, Stamps
from warploom.ir.kernel.shuffles import source_thread
from warploom.ir.kernel.verify import statements, variable_types
from warploom.ir.kernel.words import matched, mixed

Value: TypeAlias = tuple[Data, DType]


class KernelRun:
    """Runs the blocks numbered `first` to `first + blocks - 1`."""

    def __init__(
        self,
        kernel: Kernel,
        memory: Mapping[str, GridArray],
        sizes: Mapping[str, int],
        arithmetic: Arithmetic,
        findings: Findings,
        grid: tuple[int, ...],
        first: int,
        blocks: int,
        check_races: bool,
    ) -> None:
        self.kernel, self.memory, self.arithmetic, self.findings = kernel, memory, arithmetic, findings
        self.grid, self.first, self.blocks, self.threads = grid, first, blocks, kernel.threads
        self.check_races = check_races
        self.counts = findings.counts
        self.shape = (blocks, self.threads)
        self.span = kernel.span
        self.shared: dict[str, SharedArray] = {}
        self.registers: dict[str, Planes] = {}
        self.accumulators: dict[str, tuple[Planes, Accumulator]] = {}
        self.values = {name: self._unset(dtype) for name, dtype in variable_types(kernel).items()}
        self.operators = {o.name: o for o in kernel.operators}
        self.executed: NDArray[np.int64] | int = 0
        self.together = 1
        """Elements that one access to memory moves; 0 in those trips of a vector loop that the first one counted."""
        self.copied = {s.array for s in statements(kernel.body) if isinstance(s, Store) and s.is_async}
        self.groups = np.zeros(blocks, np.int64)
        """Groups of copies that the threads of each block have committed."""
        self.indices = Indices(self._builtins(), sizes, self.report)
        self.thread = np.arange(self.threads, dtype=np.int64)[None, :]
        self.block = np.arange(first, first + blocks, dtype=np.int64)[:, None]

    def _unset(self, dtype: DType) -> Planes:
        return Planes(dtype, (), [zeros((1, 1), dtype, self.arithmetic)], [np.zeros((1, 1), np.bool_)])

    def _builtins(self) -> dict[tuple[str, int], IndexValue]:
        result: dict[tuple[str, int], IndexValue] = {}
        for name, extents, numbers in (
            ("thread", self.kernel.block, np.arange(self.threads, dtype=np.int64)[None, :]),
            ("block", self.grid, np.arange(self.first, self.first + self.blocks, dtype=np.int64)[:, None]),
        ):
            stride = 1
            for axis, extent in enumerate(extents):
                result[f"{name}_id", axis] = numbers // stride % extent if extent > 1 else 0
                result["block_dim" if name == "thread" else "grid_dim", axis] = extent
                stride *= extent
        return result

    def run(self) -> None:
        """Executes the body; counts and problems go to the findings."""
        self._body(self.kernel.body, None)
        self.counts.executed = max(self.counts.executed, int(np.max(self.executed)))

    # ------------------------------------------------------------ threads and problems

    def _active(self, where: Where) -> int:
        """Number of active threads."""
        if where is None:
            return self.blocks * self.threads
        return int(np.count_nonzero(where)) * (self.blocks * self.threads // where.size)

    def _operate(self, where: Where, dtype: DType, times: int = 1) -> None:
        self.counts.arithmetic += self._active(where) * times

    def report(self, code: str, message: str, bad: Where, fix: str = "") -> None:
        """A problem of the threads in `bad` at the current place; the first one is named."""
        key = (code, self.span if self.span != NOWHERE else message.split(",")[0])
        if key in self.findings.diagnostics:
            return
        where = np.broadcast_to(True if bad is None else bad, self.shape)
        block, thread = (int(k) for k in np.unravel_index(int(np.argmax(where)), self.shape))
        text = self.findings.thread_text(self.first + block, thread, self.grid)
        self.findings.add(key, Diagnostic(code, f"{message} ({text})", self.span, fix))

    def _narrow(self, where: Where, test: bool | Mask) -> tuple[bool, Where]:
        """Whether any thread of `where` passes, and which."""
        if isinstance(test, np.ndarray):
            inner = both(where, test)
            return inner is not None and bool(inner.any()), inner
        return test, where

    # ------------------------------------------------------------ elements

    def _locate(self, name: str, extents: tuple[int, ...], index: tuple[IndexExpr, ...], where: Where) -> tuple[Element, Where]:
        """The element's number, safe for every thread, and the threads of `where` for which it exists."""
        flat: IndexValue = 0
        inside: bool | Mask = True
        numbers = [self.indices.value(i, where) for i in index]
        for number, extent in zip(numbers, extents, strict=True):
            if isinstance(number, np.ndarray):
                if number.dtype == np.bool_:
                    number = number.astype(np.int64)
                if int(number.min()) < 0 or int(number.max()) >= extent:
                    inside = (number >= 0) & (number < extent) & inside
            else:
                inside = inside if 0 <= number < extent else False
            flat = flat * extent + number
        if inside is True:
            return (flat if isinstance(flat, np.ndarray) else int(flat)), where
        mask = np.broadcast_to(inside, np.broadcast_shapes(np.shape(inside), (1, 1)))
        bad = ~mask if where is None else where & ~mask
        if bad.any():
            block, thread = np.unravel_index(int(np.argmax(np.broadcast_to(bad, self.shape))), self.shape)
            shown = ", ".join(str(int(np.broadcast_to(n, self.shape)[block, thread])) for n in numbers)
            limits = ", ".join(map(str, extents))
            self.report("OUT_OF_BOUNDS", f"expected an index of {name}[{limits}], got [{shown}]", bad)
        return np.where(mask, flat, 0), both(where, mask)

    def _requests(self, element: Element, where: Where, size_bytes: int) -> tuple[NDArray[np.int64], Mask, int]:
        """Byte addresses and active lanes by warp, and how many blocks each row stands for."""
        rows = max(element.shape[0] if isinstance(element, np.ndarray) else 1, 1 if where is None else where.shape[0])
        address = np.broadcast_to(np.asarray(element, np.int64) * size_bytes, (rows, self.threads))
        active = np.broadcast_to(True if where is None else where, (rows, self.threads))
        warp = self.kernel.warp_size
        return by_warps(address, warp, 0), by_warps(active, warp, False), self.blocks // rows

    def _sectors(self, node: Read | Store, element: Element, where: Where, size_bytes: int) -> int:
        """Sectors of one access to global memory. A vector lies in one sector: at a multiple of its size, which divides 32."""
        if not self.together:
            return 0
        counts = self.findings.access(node, "sectors")
        if where is None and isinstance(element, int) and counts is None:
            return self.blocks * -(-self.threads // self.kernel.warp_size)
        address, active, repeat = self._requests(element, where, size_bytes)
        found = machines.lines(address, active) * repeat
        if counts is not None:
            size = machines.SECTOR_BYTES
            counts.units += found
            counts.least += int((-(-_distinct(address, active) * size_bytes * self.together // size)).sum()) * repeat
        return found

    def _wavefronts(self, node: Read | Store, element: Element, where: Where, size_bytes: int) -> int:
        """Wavefronts of one access to shared memory."""
        if not self.together:
            return 0
        address, active, repeat = self._requests(element, where, size_bytes)
        width = size_bytes * self.together
        found = machines.wavefronts(address, active, width) * repeat
        if (counts := self.findings.access(node, "wavefronts")) is not None:
            counts.units += found
            counts.least += int(machines.least_each(_distinct(address, active), width).sum()) * repeat
        return found

    def _registers(self, node: Read | Store, element: Element, where: Where) -> None:
        """Different registers of one access to a register array."""
        if (counts := self.findings.access(node, "registers")) is not None:
            register, active, repeat = self._requests(element, where, 1)
            counts.units += int(_distinct(register, active).sum()) * repeat
            counts.least += int(active.any(axis=1).sum()) * repeat

    def _spread(self, element: Element, where: Where) -> tuple[NDArray[np.int64], Mask]:
        active = np.broadcast_to(True if where is None else where, self.shape)
        return np.broadcast_to(np.asarray(element, np.int64), self.shape), active

    def _stamp(self, name: str, node: Read | Store, element: Element, where: Where) -> None:
        """Race detection for one access."""
        grid_array = self.memory.get(name)
        stamps = grid_array.stamps if grid_array else self.shared[name].stamps
        if stamps is None:
            return
        is_store = isinstance(node, Store)
        site = self.findings.site(node, "store" if is_store else "read")
        elements, active = self._spread(element, where)
        threads = np.broadcast_to(self.block * self.threads + self.thread, self.shape)
        numbers, owners = elements[active], threads[active]
        inside = self._race(name, site, same_block=True)
        if isinstance(stamps, Stamps):
            rows = np.broadcast_to((self.block - self.first) * (stamps.writer.size // self.blocks), self.shape)[active]
            (stamps.write if is_store else stamps.read)(rows + numbers, owners, site, inside)
        else:
            across = self._race(name, site, same_block=False)
            (stamps.write if is_store else stamps.read)(numbers, owners, site, inside, across)

    def _race(self, name: str, site: int, *, same_block: bool) -> Found:
        """Turns a pair of racing accesses into a diagnostic."""

        def found(element: int, earlier: int, owner: int, later: int) -> None:
            scale = 1 if same_block else self.threads
            one, two = (divmod(who * scale, self.threads) for who in (owner, later))
            extents = self.memory[name].extents if name in self.memory else self.shared[name].extents
            local = element if name in self.memory else element % int(np.prod(extents, dtype=np.int64))
            at = ", ".join(str(int(i)) for i in np.unravel_index(local, extents)) if extents else "()"
            self.findings.race(name, at, self.grid, ((earlier, one), (site, two)))

        return found

    # ------------------------------------------------------------ data

    def value(self, expr: ValueExpr, where: Where) -> Value:
        """The expression in the threads of `where`; elsewhere anything."""
        match expr:
            case ValueConst(number, dtype):
                data = self.arithmetic.constant(number, scalar_of(dtype))
                return np.broadcast_to(data, (1, 1) if dtype.lanes == 1 else (1, 1, dtype.lanes)), dtype
            case Read():
                return self._read(expr, where)
            case ValueVar(name):
                planes = self.values[name]
                data, unknown = planes.read(0, where)
                if unknown is not None and unknown.any():
                    self.report("UNDEFINED_READ", f"variable {name} is read before it is set", unknown)
                return data, planes.dtype
            case Arith(op, operands):
                return self._arith(op, [self.value(o, where) for o in operands], where)
            case ValueSelect(cond, then, other):
                return self._choose(truth(self.indices.value(cond, where)), then, other, where)
            case Shuffle():
                return self._shuffle(expr, where)
            case Holds(op, lhs, rhs):
                (a, _), (b, _) = self.value(lhs, where), self.value(rhs, where)
                self._operate(where, u32)
                return self.arithmetic.compare(op, a, b), u32
            case Vote():
                return self._vote(expr, where)
            case Mixed():
                return self._mixed(expr, where), u32
            case Cast(dtype, inner):
                data, source = self.value(inner, where)
                return self.arithmetic.cast(data, scalar_of(source), scalar_of(dtype)), dtype
            case FromIndex(inner, dtype):
                number = np.asarray(self.indices.value(inner, where))
                return self.arithmetic.from_index(number.reshape(number.shape or (1, 1)), dtype), dtype
            case MakeVector(dtype, items):
                parts = np.broadcast_arrays(*(self.value(i, where)[0] for i in items))
                return np.stack(parts, axis=-1), dtype
            case Component(inner, position):
                data, dtype = self.value(inner, where)
                return data[..., position], scalar_of(dtype)
            case Accumulated(name, index, span):
                planes, accumulator = self.accumulators[name]
                self.span = span if span != NOWHERE else self.span
                element, inside = self._locate(name, planes.extents, index, where)
                state, _ = planes.read(element, inside)
                return self._with({"$state": (state, planes.dtype)}, accumulator.finalize, where)
            case _:
                assert_never(expr)

    def _with(self, bindings: dict[str, Value], expr: ValueExpr, where: Where) -> Value:
        """`expr` with some variables bound."""
        outer = {name: self.values.get(name) for name in bindings}
        for name, (data, dtype) in bindings.items():
            self.values[name] = Planes(dtype, (), [data], [None])
        result = self.value(expr, where)
        for name, planes in outer.items():
            if planes is not None:
                self.values[name] = planes
        return result

    def _choose(self, test: bool | Mask, then: ValueExpr, other: ValueExpr, where: Where) -> Value:
        if not isinstance(test, np.ndarray):
            return self.value(then if test else other, where)
        some, chosen = self._narrow(where, test)
        rest, left = self._narrow(where, ~test)
        if not some or not rest:
            return self.value(other, left) if rest else self.value(then, chosen)
        (a, dtype), (b, _) = self.value(then, chosen), self.value(other, left)
        return select(test, a, b, dtype), dtype

    def _arith(self, op: str, operands: list[Value], where: Where) -> Value:
        result, dtype = operands[0]
        self._operate(where, dtype, max(1, len(operands) - 1))
        if len(operands) == 1:
            return self.arithmetic.apply(op, [result], scalar_of(dtype), where)[0], dtype
        for other, _ in operands[1:]:
            result = self._combine(op, result, other, dtype, where)
        return result, dtype

    def _combine(self, op: str, a: Data, b: Data, dtype: DType, where: Where) -> Data:
        declared = self.operators.get(op)
        if declared is not None:
            before = self.counts.arithmetic
            result, _ = self._with({"$a": (a, dtype), "$b": (b, dtype)}, declared.body, where)
            self.counts.arithmetic = before
            return result
        mask = where[..., None] if where is not None and dtype.lanes > 1 else where
        result, bad = self.arithmetic.apply(op, [a, b], scalar_of(dtype), mask)
        if bad is not None and bad.any():
            lanes = np.logical_or.reduce(bad, axis=-1) if dtype.lanes > 1 else bad
            self.report("DIVISION_BY_ZERO", "an integer is divided by zero", lanes)
        return result

    def _read(self, node: Read, where: Where) -> Value:
        name = node.array
        outer, self.span = self.span, node.span if node.span != NOWHERE else self.span
        array = self.memory.get(name) or self.shared.get(name) or self.registers[name]
        element, inside = self._locate(name, array.extents, node.index, where)
        unknown: Where = None
        if inside is not None and not inside.any():
            data = zeros((1, 1), array.dtype, self.arithmetic)
        elif isinstance(array, Planes):
            data, unknown = array.read(element, inside)
            self._registers(node, element, inside)
        else:
            self._stamp(name, node, element, inside)
            if isinstance(array, GridArray):
                data = array.read(element)
                if not array.is_constant:
                    self.counts.global_load_sectors += self._sectors(node, element, inside, array.dtype.size_bytes)
            else:
                self._untouched(name, array, "read", element, inside)
                data, unknown = array.read(element, inside)
                self.counts.shared_wavefronts += self._wavefronts(node, element, inside, array.dtype.size_bytes)
            if inside is not where and inside is not None:
                data = select(inside, data, np.zeros_like(data), array.dtype)
        if unknown is not None and unknown.any():
            fix = "store to it first" if isinstance(array, Planes) else "store to it first, in every block"
            self.report("UNDEFINED_READ", f"an element of {name} is read before it is stored to", unknown, fix)
        self.span = outer
        return data, array.dtype

    def _shuffle(self, node: Shuffle, where: Where) -> Value:
        data, dtype = self.value(node.value, where)
        warp, width = self.kernel.warp_size, node.width
        operand = np.asarray(self.indices.value(node.operand, where), np.int64)
        operand = operand.reshape(operand.shape or (1, 1))
        thread = source_thread(node.kind, self.thread, operand, width, warp)
        missing = thread >= self.threads
        thread = np.where(missing, self.thread, thread)
        if where is not None:
            rows = max(where.shape[0], thread.shape[0])
            active = np.broadcast_to(where, (rows, self.threads))
            missing = missing | ~np.take_along_axis(active, np.broadcast_to(thread, (rows, self.threads)), axis=1)
            missing = missing & active
        if missing.any():
            outer, self.span = self.span, node.span if node.span != NOWHERE else self.span
            message = "a shuffle reads a lane that does not take part in it"
            self.report("SHUFFLE_INACTIVE", message, missing, "move the shuffle out of the condition")
            self.span = outer
        warps = by_warps(np.broadcast_to(True if where is None else where, self.shape), warp, False)
        instructions = -(-dtype.size_bytes // 4)
        self.counts.shuffles += int(np.count_nonzero(warps.any(axis=1))) * instructions
        rows = max(data.shape[0], thread.shape[0])
        data = spread(data, (data.shape[0], self.threads), dtype)
        if thread.shape[0] == 1:
            return data[:, thread[0]], dtype
        return spread(data, (rows, self.threads), dtype)[np.arange(rows)[:, None], thread], dtype

    def _mixed(self, node: Mixed, where: Where) -> Data:
        words = [self.value(o, where)[0] for o in node.operands]
        number = np.asarray(self.indices.value(node.control, where), np.int64)
        control = number.reshape(number.shape or (1, 1))
        self.counts.arithmetic += self._active(where)
        return mixed(node.op, words, control)

    def _vote(self, node: Vote, where: Where) -> Value:
        data, dtype = self.value(node.value, where)
        warp, lanes = self.kernel.warp_size, np.arange(self.threads) % self.kernel.warp_size
        data = spread(data, (data.shape[0], self.threads), dtype)
        if where is not None:
            active = np.broadcast_to(where, (max(where.shape[0], data.shape[0]), self.threads))
            whole = active.reshape(len(active), -1, warp).all(axis=2).repeat(warp, axis=1)
            if (active & ~whole).any():
                outer, self.span = self.span, node.span if node.span != NOWHERE else self.span
                message = "a vote is taken without some lanes of the warp"
                self.report("VOTE_INACTIVE", message, active & ~whole, "move the vote out of the condition")
                self.span = outer
        if node.is_match:
            return matched(node.kind, data.reshape(len(data), -1, warp)).reshape(len(data), self.threads), u32
        cast = data != 0
        groups = cast.reshape(len(data), -1, warp)
        match node.kind:
            case "match_any" | "match_all":
                raise AssertionError("lanes that compare their values are above")
            case "ballot":
                bits = np.where(cast, np.uint32(1) << lanes.astype(np.uint32), np.uint32(0)).reshape(groups.shape)
                found = np.add.reduce(bits, axis=2, dtype=np.uint32)
            case "any":
                found = np.logical_or.reduce(groups, axis=2).astype(np.uint32)
            case "all":
                found = np.logical_and.reduce(groups, axis=2).astype(np.uint32)
        return found.repeat(warp, axis=1), u32

    # ------------------------------------------------------------ statements

    def _body(self, body: tuple[Stmt, ...], where: Where) -> None:
        for stmt in body:
            try:
                self._stmt(stmt, where)
            except UserError as error:
                raise placed(error, self.span) from None

    def _stmt(self, stmt: Stmt, where: Where) -> None:
        self.span = stmt.span
        match stmt:
            case Declare():
                self._declare(stmt)
            case SetIndex(name, expr):
                self.indices.set(name, self.indices.value(expr, where), where)
            case SetValue(name, _, expr):
                data, _ = self.value(expr, where)
                self.values[name].store(0, data, where)
            case Store():
                self._store(stmt, where)
            case Accumulator(name, dtype, shape, _, init):
                start, _ = self.value(ValueConst(init, dtype), where)
                count = int(np.prod(shape, dtype=np.int64))
                self.accumulators[name] = Planes(dtype, shape, [start] * count, [None] * count), stmt
            case Accumulate():
                self._accumulate(stmt, where)
            case For(var, start, stop, step, body):
                trips = range(self.indices.number(start), self.indices.number(stop), step)
                for number in trips:
                    self.indices.set(var, number, None)
                    self.together = (len(trips) if number == trips[0] else 0) if stmt.is_vector else 1
                    self._body(body, where)
                self.together = 1
            case If(cond, then, other):
                test = truth(self.indices.value(cond, where))
                some, chosen = self._narrow(where, test)
                if some:
                    self._body(then, chosen)
                rest, left = self._narrow(where, ~test if isinstance(test, np.ndarray) else not test)
                if rest:
                    self._body(other, left)
            case Sync():
                self._sync(where)
            case CommitCopies():
                passing = self._passing(where, "pipeline_commit()")
                self.groups += True if passing is None else passing
            case WaitCopies(left):
                passing = self._passing(where, "pipeline_wait_prior()")
                self._wait(self.groups - left if passing is None else np.where(passing, self.groups - left, 0))
            case _:
                assert_never(stmt)

    def _declare(self, node: Declare) -> None:
        count = int(np.prod(node.shape, dtype=np.int64))
        if node.space == "shared":
            if node.name in self.shared:
                return  # shared memory keeps its content
            stamps = Stamps(self.blocks * count) if self.check_races else None
            pending = Pending(self.blocks, count) if node.name in self.copied else None
            data = zeros((self.blocks, count), node.dtype, self.arithmetic)
            defined = np.zeros((self.blocks, count), np.bool_)
            self.shared[node.name] = SharedArray(node.dtype, node.shape, data, defined, stamps, pending)
        elif node.space == "register":
            empty = zeros((1, 1), node.dtype, self.arithmetic)
            self.registers[node.name] = Planes(node.dtype, node.shape, [empty] * count, [np.zeros((1, 1), np.bool_)] * count)
        else:
            raise UserError(Diagnostic("DECLARE_SPACE", f"expected space shared or register, got {node.space}", node.span))

    def _store(self, node: Store, where: Where) -> None:
        data, dtype = self.value(node.value, where)
        name = node.array
        array = self.memory.get(name) or self.shared.get(name) or self.registers[name]
        element, inside = self._locate(name, array.extents, node.index, where)
        if inside is not None and not inside.any():
            return
        if isinstance(array, Planes):
            array.store(element, data, inside)
            self._registers(node, element, inside)
            return
        self._stamp(name, node, element, inside)
        if isinstance(array, GridArray):
            self.counts.global_store_sectors += self._sectors(node, element, inside, dtype.size_bytes)
            if inside is None and isinstance(element, int) and self.shape == (1, 1):
                array.data[element] = data[0, 0]  # a spec: this line runs once per term of a sum
                return
        else:
            self._untouched(name, array, "stored to", element, inside)
            self.counts.shared_wavefronts += self._wavefronts(node, element, inside, dtype.size_bytes)
            if node.is_async:
                self._begin(array, node, element, inside)
        elements, mask = self._spread(element, inside)
        array.store(elements, spread(data, self.shape, dtype), mask)

    def _accumulate(self, node: Accumulate, where: Where) -> None:
        some, chosen = self._narrow(where, truth(self.indices.value(node.guard, where)))
        if not some:
            return
        planes, accumulator = self.accumulators[node.accumulator]
        data, dtype = self.value(node.value, chosen)
        element, inside = self._locate(node.accumulator, planes.extents, node.index, chosen)
        self.counts.accumulates += self._active(inside)
        self._operate(inside, dtype)
        self.executed = self.executed + (1 if inside is None else inside.astype(np.int64))
        state, _ = planes.read(element, inside)
        planes.store(element, self._combine(accumulator.op, state, data, dtype, inside), inside)

    def _passing(self, where: Where, word: str) -> Mask | None:
        """The blocks that come by a statement which every thread of a block must reach; None: all."""
        if where is None:
            return None
        full = np.broadcast_to(where, self.shape)
        some, all_ = np.logical_or.reduce(full, axis=1), np.logical_and.reduce(full, axis=1)
        divergent = (some & ~all_)[:, None] & ~full
        if divergent.any():
            message = f"expected every thread of the block at {word}, got some that do not reach it"
            self.report("DIVERGENT_SYNC", message, divergent, f"move the {word} out of the condition")
        return None if all_.all() else some

    def _sync(self, where: Where) -> None:
        passing = self._passing(where, "sync()")
        self.counts.syncs += self.blocks if passing is None else int(np.count_nonzero(passing))
        for shared in self.shared.values():
            if shared.stamps is None:
                continue
            if passing is None:
                shared.stamps.forget()
            else:
                shared.stamps.forget(np.repeat(passing, shared.data.shape[1]))
        for array in self.memory.values():
            if array.stamps is not None:
                array.stamps.barrier(passing, self.first)

    # ------------------------------------------------------------ asynchronous copies

    def _untouched(self, name: str, array: SharedArray, what: str, element: Element, where: Where) -> None:
        """Reports an access to elements to which copies go on."""
        if array.pending is None:
            return
        elements, active = self._spread(element, where)
        bad = active & array.pending.goes_on(np.broadcast_to(self.block - self.first, self.shape), elements)
        if bad.any():
            fix = "commit the copies and wait for them, with pipeline_wait_prior(n), before"
            self.report("COPY_PENDING", f"an element of {name} is {what} while an asynchronous copy to it goes on", bad, fix)

    def _begin(self, array: SharedArray, node: Store, element: Element, where: Where) -> None:
        assert array.pending is not None
        elements, active = self._spread(element, where)
        block = np.broadcast_to(self.block - self.first, self.shape)[active]
        thread = np.broadcast_to(self.block * self.threads + self.thread, self.shape)[active]
        array.pending.begin(block, elements[active], thread, self.groups[block], self.findings.site(node, "store"))

    def _wait(self, below: NDArray[np.int64]) -> None:
        """Ends the copies of groups numbered below that, by block: they are stores of their threads here."""
        for name, array in self.shared.items():
            for site, block, element, thread in array.pending.complete(below) if array.pending is not None else ():
                if array.stamps is not None:
                    row = block * array.data.shape[1]
                    array.stamps.write(row + element, thread, site, self._race(name, site, same_block=True))


def _distinct(addresses: NDArray[np.int64], active: Mask) -> NDArray[np.int64]:
    """Different addresses of each row's active lanes."""
    return machines.lines_each(addresses, active, line_bytes=1)
