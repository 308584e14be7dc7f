"""Checks that a kernel is well formed; holes are allowed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NoReturn, assert_never

from warploom.core import NOWHERE, Diagnostic, DType, Span, UserError, scalar_of, u32
from warploom.core.launch import MAX_BLOCK, MAX_BLOCK_THREADS, MAX_GRID, STATIC_SHARED_BYTES
from warploom.ir.kernel.evaluate import Indices, Where
from warploom.ir.kernel.nodes import (
    UNARY,
    Accumulate,
    Accumulated,
    Accumulator,
    Arith,
    Builtin,
    Cast,
    CommitCopies,
    Compare,
    Component,
    Declare,
    For,
    FromIndex,
    Holds,
    HoleArg,
    HoleUse,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Logical,
    MakeVector,
    Mixed,
    Param,
    Read,
    SetIndex,
    SetValue,
    Shuffle,
    SizeVar,
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
from warploom.ir.kernel.parts import parts
from warploom.ir.kernel.vectors import NO_MULTIPLES, aligned_shared, copy_source, shared_end, size_multiples, vector_problem
from warploom.ir.swizzle.kinds import kind_of
from warploom.operations import FOLDS, OF_INTEGERS, PAIRS, WORD_OPERATIONS

_STATIC = frozenset[str]()
MOST_VALUES = 1 << 20
"""Most values of one hole."""
COPY_BYTES = (4, 8, 16)
"""Bytes that one asynchronous copy may move. Source: PTX ISA, cp.async."""
MOST_GROUPS = (1 << 31) - 1
"""Most groups of copies that a wait may leave: `cp.async.wait_group` takes a constant of 32 bits."""
_MOST_ROUNDS = 256
"""Trips of nested loops whose bounds are looked at one by one."""


def verify(kernel: Kernel) -> None:
    """Raises UserError with every problem found.

    Unknown names, those of a branch or loop outside of it, names with two meanings, ranks and element types that do not agree,
    numbers that an integer type does not have, misused holes, shuffle widths, loop bounds that are not static (a spec, which has
    one thread, may use sizes), stores to inputs, barriers that part of a block may miss, asynchronous copies that no machine
    makes, blocks, grids and shared memory that no launch may ask for.
    """
    verifier = _Verifier(kernel)
    verifier.run()
    if verifier.found:
        raise UserError(*verifier.found.values())


def is_hole_name(name: str) -> bool:
    """Whether a hole's name can stand in one line of any printed form."""
    return bool(name) and name.isprintable() and "\\" not in name


def stored_arrays(kernel: Kernel) -> frozenset[str]:
    """Names of the arrays that some statement stores to."""
    return frozenset(stmt.array for stmt in statements(kernel.body) if isinstance(stmt, Store))


def shared_arrays(kernel: Kernel) -> frozenset[str]:
    """Names of the arrays in shared memory."""
    return frozenset(s.name for s in statements(kernel.body) if isinstance(s, Declare) and s.space == "shared")


def variable_types(kernel: Kernel) -> dict[str, DType]:
    """Variables of data -> their types."""
    return {s.name: s.dtype for s in statements(kernel.body) if isinstance(s, SetValue)}


def statements(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """All of them, each before those inside it."""
    for stmt in body:
        yield stmt
        if isinstance(stmt, For):
            yield from statements(stmt.body)
        elif isinstance(stmt, If):
            yield from statements((*stmt.then, *stmt.other))


def _refuse(code: str, message: str, bad: Where, fix: str = "") -> NoReturn:
    raise UserError(Diagnostic(code, message, fix=fix))


@dataclass(slots=True)
class _Array:
    rank: int
    dtype: DType
    is_storable: bool


@dataclass(slots=True)
class _Verifier:
    kernel: Kernel
    found: dict[tuple[str, str, Span], Diagnostic] = field(default_factory=dict[tuple[str, str, Span], Diagnostic])
    arrays: dict[str, _Array] = field(default_factory=dict[str, _Array])
    accumulators: dict[str, Accumulator] = field(default_factory=dict[str, Accumulator])
    values: dict[str, DType] = field(default_factory=dict[str, DType])
    indices: dict[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])
    """The things that each index variable depends on: some of `thread`, `block`, `size`."""
    sorts: dict[str, str] = field(default_factory=dict[str, str])
    ready: set[str] = field(default_factory=set[str])
    """Names of arrays and accumulators in whose scope this place is, and of variables that were set, in some threads at least."""
    rounds: Sequence[Mapping[str, int]] | None = ({},)
    """Values of the variables of the loops around, trip by trip; None: too many, or not known."""
    shared_bytes: int = 0
    """Bytes of the arrays met, one after the other, each aligned to its elements, or to its copies."""
    together: int = 1
    """Elements that the innermost loop around moves at once."""
    multiples: Mapping[str, int] = field(default_factory=lambda: NO_MULTIPLES)
    """Numbers that divide run-time sizes, by the conditions around."""
    span: Span = NOWHERE

    def wrong(self, code: str, message: str, fix: str = "", span: Span = NOWHERE) -> None:
        place = span if span != NOWHERE else self.span
        self.found.setdefault((code, message, place), Diagnostic(code, message, place, fix))

    def name(self, name: str, sort: str) -> None:
        """Each name has one meaning."""
        known = self.sorts.setdefault(name, sort)
        if known != sort:
            message = f"expected a new name for the {sort}, got {name}, already in use ({known})"
            self.wrong("NAME_REUSED", message, "rename one of the two")

    def known(self, names: Container[str], name: str, what: str) -> bool:
        """Whether it is one of these, and ready."""
        if name not in names:
            self.wrong("NAME_UNKNOWN", f"expected {what} before, got {name}")
        elif name not in self.ready:
            message = f"expected {what} before, got {name}, of a branch or loop that ends before"
            self.wrong("NAME_NOT_READY", message, "put it before that branch or loop, or what uses it inside")
        return name in names

    # ------------------------------------------------------------ kernel

    def run(self) -> None:
        kernel = self.kernel
        self.span = kernel.span
        if any(e < 1 for e in kernel.block):
            self.wrong("BLOCK_SHAPE", f"expected a block with extents of 1 or more, got {kernel.block}")
        if kernel.threads > MAX_BLOCK_THREADS or any(e > most for e, most in zip(kernel.block, MAX_BLOCK, strict=True)):
            most = " x ".join(map(str, MAX_BLOCK))
            message = f"expected at most {MAX_BLOCK_THREADS} threads in a block, and at most {most}, got {kernel.block}"
            self.wrong("LAUNCH", message, "use smaller blocks, and more of them")
        for axis, extent, most in zip("xyz", kernel.grid, MAX_GRID, strict=True):
            if isinstance(extent, IndexConst) and extent.value > most:
                message = f"expected at most {most} blocks along {axis}, got {extent.value}"
                self.wrong("LAUNCH", message, "use another axis, or larger blocks")
        if kernel.warp_size < 1 or kernel.warp_size & (kernel.warp_size - 1):
            self.wrong("WARP_SIZE", f"expected a power of two as the warp size, got {kernel.warp_size}")
        for sort, names in (("hole", [h.name for h in kernel.holes]), ("operator", [o.name for o in kernel.operators])):
            for name in sorted({n for n in names if names.count(n) > 1}):
                self.wrong("NAME_REUSED", f"expected one {sort} named {name}, got {names.count(name)}")
        for hole in kernel.holes:
            if not is_hole_name(hole.name):
                message = f"expected a name of one line without '\\' for the hole, got {hole.name!r}"
                self.wrong("HOLE_NAME", message, "rename it", hole.span)
        for size in kernel.sizes:
            self.name(size, "size")
        for hole in kernel.holes:
            self.span = hole.span
            self.number(hole.n, MOST_VALUES)
            self.number(hole.modulus, MOST_VALUES)
            for constant in (*(hole.constants or ()), *(hole.coefficients or ())):
                self.number(constant)
        for param in kernel.params:
            self.param(param)
        self.span = kernel.span
        for extent in kernel.grid:
            self.over_sizes(extent, "the grid")
        self.body(kernel.body, _STATIC)

    def param(self, param: Param) -> None:
        self.span = param.span
        if param.name in self.sorts:
            self.wrong("NAME_REUSED", f"expected a new name for the array, got {param.name}, already in use")
        self.sorts[param.name] = "array"
        for extent in param.shape:
            self.over_sizes(extent, f"the shape of {param.name}")
        if param.space == "constant" and param.is_output:
            self.wrong("STORE_TO_INPUT", f"expected constant array {param.name} to be only read, got an output")
        self.arrays[param.name] = _Array(len(param.shape), param.dtype, param.is_output)
        self.ready.add(param.name)

    def over_sizes(self, expr: IndexExpr, what: str) -> None:
        if self.index(expr) - {"size"} or isinstance(expr, HoleUse):
            self.wrong("SHAPE_NOT_STATIC", f"expected {what} over constants and sizes, got ids of threads or blocks")

    def number(self, value: int, most: int = (1 << 32) - 1) -> None:
        """Indices have 32 bits on the machine, 64 where they are followed."""
        if not -(1 << 31) <= value <= most:
            shown = str(value) if abs(value) < 10**20 else f"one of {value.bit_length()} bits"
            message = f"expected a number of an index from -2**31 to {most}, got {shown}"
            self.wrong("NUMBER_TOO_LARGE", message, "use a smaller one")

    # ------------------------------------------------------------ index expressions

    def index(self, expr: IndexExpr) -> frozenset[str]:
        """The set of things (`thread`, `block`, `size`) that the expression depends on."""
        match expr:
            case IndexConst(value):
                self.number(value)
                return _STATIC
            case IndexVar(name):
                self.known(self.indices, name, "an index variable set")
                return self.indices.get(name, _STATIC)
            case SizeVar(name):
                if name not in self.kernel.sizes:
                    self.wrong("NAME_UNKNOWN", f"expected one of the kernel's sizes, got {name}")
                return frozenset({"size"})
            case Builtin(name, axis):
                if axis not in (0, 1, 2):
                    self.wrong("AXIS", f"expected axis 0, 1 or 2 of {name}, got {axis}")
                return {
                    "thread_id": frozenset({"thread"}),
                    "block_id": frozenset({"block"}),
                    "grid_dim": frozenset({"size"}),
                }.get(name, _STATIC)
            case IndexBinary(_, lhs, rhs) | Compare(_, lhs, rhs):
                return self.index(lhs) | self.index(rhs)
            case Logical(op, operands):
                if len(operands) != 1 if op == "not" else len(operands) < 2:
                    self.wrong("OPERANDS", f"expected {'one operand' if op == 'not' else 'two or more operands'} of {op}")
                return _STATIC.union(*(self.index(o) for o in operands))
            case IndexSelect(cond, then, other):
                return self.index(cond) | self.index(then) | self.index(other)
            case HoleUse(hole, args):
                self.hole_use(hole, len(args))
                return _STATIC.union(*(self.index(a) for a in args))
            case HoleArg(position):
                self.wrong("HOLE_ARGUMENT", f"expected an index expression, got argument {position} of a hole's completion")
                return _STATIC
            case _:
                assert_never(expr)

    def hole_use(self, name: str, count: int) -> None:
        hole = next((h for h in self.kernel.holes if h.name == name), None)
        if hole is None:
            self.wrong("HOLE_UNKNOWN", f"expected one of the kernel's holes, got {name}")
        elif len(hole.arg_names) != count:
            self.wrong("HOLE_ARGUMENTS", f"expected {len(hole.arg_names)} arguments of hole {name}, got {count}")
        elif (arity := kind_of(hole).arity) is not None and arity != count:
            self.wrong("HOLE_ARGUMENTS", f"expected {arity} arguments of hole {name} of kind {hole.kind}, got {count}")
        elif kind_of(hole).takes == "alternatives" and hole.n != count:
            self.wrong("HOLE_ARGUMENTS", f"expected {hole.n} alternatives of hole {name}, got {count}")

    def element(self, name: str, rank: int, index: tuple[IndexExpr, ...]) -> None:
        if len(index) != rank:
            self.wrong("RANK_MISMATCH", f"expected {rank} indices of {name}, got {len(index)}")
        for i in index:
            self.index(i)

    # ------------------------------------------------------------ value expressions

    def same(self, what: str, expected: DType | None, got: DType | None) -> None:
        if expected is not None and got is not None and expected != got:
            fix = f"convert with cast({expected.name}, ...)"
            self.wrong("DTYPE_MISMATCH", f"expected {what} of type {expected.name}, got {got.name}", fix)

    def value(self, expr: ValueExpr) -> DType | None:
        """The expression's type, None where an unknown name hides it."""
        match expr:
            case ValueConst(number, dtype):
                self.held(number, dtype)
                return dtype
            case Read(name, index, span):
                outer, self.span = self.span, span if span != NOWHERE else self.span
                self.known(self.arrays, name, "an array declared")
                array = self.arrays.get(name)
                self.element(name, array.rank if array else len(index), index)
                self.span = outer
                return array.dtype if array else None
            case ValueVar(name):
                self.known(self.values, name, "a variable set")
                return self.values.get(name)
            case Arith(op, operands):
                return self.arith(op, operands)
            case ValueSelect(cond, then, other):
                self.index(cond)
                dtype = self.value(then)
                self.same("both branches", dtype, self.value(other))
                return dtype
            case Shuffle(_, value, operand, width, span):
                if width < 1 or width & (width - 1) or width > self.kernel.warp_size:
                    message = f"expected a shuffle width that is a power of two up to {self.kernel.warp_size}, got {width}"
                    self.wrong("SHUFFLE_WIDTH", message, span=span)
                self.index(operand)
                return self.value(value)
            case Holds(_, lhs, rhs):
                dtype = self.value(lhs)
                self.same("values to compare", dtype, self.value(rhs))
                if dtype is not None and dtype.lanes > 1:
                    self.wrong("DTYPE_MISMATCH", f"expected scalars to compare, got {dtype.name}")
                return u32
            case Vote(_, value, span):
                dtype = self.value(value)
                if not expr.is_match:
                    self.same("what lanes vote on", u32, dtype)
                elif dtype is not None and (dtype.is_float or dtype.bits < 32 or dtype.lanes > 1):
                    self.wrong("DTYPE_MISMATCH", f"expected an integer of 32 or 64 bits to match, got {dtype.name}", span=span)
                if self.kernel.warp_size > u32.bits or self.kernel.threads % self.kernel.warp_size:
                    message = (
                        f"expected a block of whole warps of up to {u32.bits} lanes for a vote, got {self.kernel.threads} threads"
                        f" in warps of {self.kernel.warp_size}"
                    )
                    self.wrong("VOTE_LANES", message, "use a block of a multiple of the warp size", span)
                return u32
            case Mixed(op, operands, control):
                words = WORD_OPERATIONS[op].words
                if len(operands) != words:
                    self.wrong("OPERANDS", f"expected {words} operands of {op}, got {len(operands)}")
                for operand in operands:
                    self.same(f"operands of {op}", u32, self.value(operand))
                self.index(control)
                return u32
            case Cast(dtype, value):
                source = self.value(value)
                if source is not None and source.lanes != dtype.lanes:
                    self.wrong("DTYPE_MISMATCH", f"expected a value with {dtype.lanes} components to cast, got {source.name}")
                return dtype
            case FromIndex(inner, dtype):
                self.index(inner)
                if dtype.lanes > 1:
                    self.wrong("DTYPE_MISMATCH", f"expected a scalar type for an index used as data, got {dtype.name}")
                return dtype
            case MakeVector(dtype, items):
                if dtype.lanes != len(items) or dtype.lanes == 1:
                    self.wrong("DTYPE_MISMATCH", f"expected a vector type with {len(items)} components, got {dtype.name}")
                for item in items:
                    self.same("components", scalar_of(dtype), self.value(item))
                return dtype
            case Component(value, position):
                dtype = self.value(value)
                if dtype is not None and (dtype.lanes == 1 or not 0 <= position < dtype.lanes):
                    self.wrong("DTYPE_MISMATCH", f"expected a vector with component {'xyzw'[position]}, got {dtype.name}")
                return None if dtype is None else scalar_of(dtype)
            case Accumulated(name, index):
                if not self.known(self.accumulators, name, "an accumulator declared"):
                    return None
                accumulator = self.accumulators[name]
                self.element(name, len(accumulator.shape), index)
                return self.bound({"$state": accumulator.dtype}, accumulator.finalize)
            case _:
                assert_never(expr)

    def bound(self, names: dict[str, DType], expr: ValueExpr) -> DType | None:
        """The type of an expression over some extra variables."""
        outer, ready = self.values, self.ready
        self.values, self.ready = outer | names, ready.union(names)
        dtype = self.value(expr)
        self.values, self.ready = outer, ready
        return dtype

    def held(self, number: int | float, dtype: DType) -> None:
        """Integer types hold integers of as many bits, with a sign or without."""
        kind = scalar_of(dtype)
        if not kind.is_float and not (number == number // 1 and -(1 << (kind.bits - 1)) <= number < 1 << kind.bits):
            self.wrong("NUMBER_TYPE", f"expected an integer of {kind.bits} bits for {dtype.name}, got {str(number)[:20]}")

    def arith(self, op: str, operands: tuple[ValueExpr, ...]) -> DType | None:
        types = [self.value(o) for o in operands]
        dtype = types[0] if types else None
        for other in types[1:]:
            self.same(f"operands of {op}", dtype, other)
        least, most = (1, 1) if op in UNARY else (2, 2) if op in PAIRS else (2, len(types) + 2)
        if not least <= len(types) <= most:
            self.wrong("OPERANDS", f"expected {least}{'' if most == least else ' or more'} operands of {op}, got {len(types)}")
        self.operator(op, dtype, PAIRS.union(FOLDS, UNARY))
        return dtype

    def operator(self, op: str, dtype: DType | None, builtin: frozenset[str]) -> None:
        if op in builtin:
            row = WORD_OPERATIONS.get(op)
            if row is not None and dtype is not None and (dtype.is_float or dtype.bits not in row.bits or dtype.lanes > 1):
                self.wrong("DTYPE_MISMATCH", f"expected a word of 32 or 64 bits for {op}, got {dtype.name}")
            elif op in OF_INTEGERS and dtype is not None and dtype.is_float:
                self.wrong("DTYPE_MISMATCH", f"expected integers for {op}, got {dtype.name}")
            return
        declared = next((o for o in self.kernel.operators if o.name == op), None)
        if declared is None:
            self.wrong("NAME_UNKNOWN", f"expected an operator, got {op}")
        elif dtype is not None and "$a" not in self.values:
            self.same(f"the result of {op}", dtype, self.bound({"$a": dtype, "$b": dtype}, declared.body))

    # ------------------------------------------------------------ statements

    def body(self, body: tuple[Stmt, ...], under: frozenset[str]) -> None:
        for stmt in body:
            self.span = stmt.span
            self.stmt(stmt, under)

    def stmt(self, stmt: Stmt, under: frozenset[str]) -> None:
        """`under`: what the conditions around the statement depend on."""
        match stmt:
            case Declare(name, space, dtype, shape):
                if space == "shared" and name not in self.arrays:
                    self.shared(name, dtype.size_bytes, prod(shape))
                self.name(name, "array")
                array = _Array(len(shape), dtype, True)
                if self.arrays.setdefault(name, array) != array or (space == "register" and name in self.ready):
                    self.wrong("NAME_REUSED", f"expected a new name for the array, got {name}, declared before")
                if any(e < 1 for e in shape):
                    self.wrong("SHAPE_MISMATCH", f"expected extents of 1 or more for {name}, got {shape}")
                self.ready.add(name)
            case SetIndex(name, expr):
                self.name(name, "index variable")
                self.indices[name] = self.indices.get(name, _STATIC) | self.index(expr) | under
                self.ready.add(name)
            case SetValue(name, dtype, value):
                self.name(name, "variable")
                self.same(f"variable {name}", dtype, self.value(value))
                self.same(f"variable {name}", self.values.setdefault(name, dtype), dtype)
                self.ready.add(name)
            case Store(name, index, value):
                dtype = self.value(value)
                self.store(name, index, dtype)
                if stmt.is_async:
                    self.copy(stmt, dtype)
            case Accumulator(name, dtype, shape, op, start, finalize):
                self.name(name, "accumulator")
                self.held(start, dtype)
                self.operator(op, dtype, frozenset(FOLDS))
                self.bound({"$state": dtype}, finalize)
                known = self.accumulators.setdefault(name, stmt)
                if (known.dtype, known.shape, known.op) != (dtype, shape, op) or name in self.ready:
                    self.wrong("NAME_REUSED", f"expected a new name for the accumulator, got {name}, declared before")
                self.ready.add(name)
            case Accumulate(name, index, value, guard):
                self.index(guard)
                dtype = self.value(value)
                if not self.known(self.accumulators, name, "an accumulator declared"):
                    return
                accumulator = self.accumulators[name]
                self.element(name, len(accumulator.shape), index)
                self.same(f"values for accumulator {name}", accumulator.dtype, dtype)
            case For():
                self.loop(stmt, under)
            case If(cond, then, other):
                inner, outside, before = under | self.index(cond), self.multiples, self.ready
                self.multiples = size_multiples(cond, outside)
                self.ready = set(before)
                self.body(then, inner)
                self.multiples, first = outside, self.ready
                self.ready = set(before)
                self.body(other, inner)
                self.ready = before | self.variables(first | self.ready)
            case Sync():
                self.meeting("sync()", under)
            case CommitCopies():
                self.meeting("pipeline_commit()", under)
            case WaitCopies(left):
                self.meeting("pipeline_wait_prior()", under)
                if not 0 <= left <= MOST_GROUPS:
                    message = (
                        f"expected a number of groups that may go on, 0 to {MOST_GROUPS}, at pipeline_wait_prior, got {left}"
                    )
                    self.wrong("COPY_GROUPS", message, "write pipeline_wait_prior(0)")
            case _:
                assert_never(stmt)

    def meeting(self, word: str, under: frozenset[str]) -> None:
        if "thread" in under and self.kernel.threads > 1:
            message = f"expected {word} where every thread of the block comes by, got one under a condition on thread ids"
            self.wrong("DIVERGENT_SYNC", message, f"move the {word} out of the condition")

    def copy(self, store: Store, dtype: DType | None) -> None:
        """Checks of an asynchronous copy beside those of a store."""
        inputs = {p.name for p in self.kernel.params if p.space == "global" and not p.is_output}
        source = copy_source(store)
        if source is None or source[0].array not in inputs:
            message = "expected an element of an array in global memory that the kernel never stores to as source of memcpy_async"
            fix = "copy from an input, or zeros where a condition does not hold (`x[j] if valid else 0.0`), or store with ="
            self.wrong("COPY_SOURCE", f"{message}, got another value", fix)
        if store.array not in shared_arrays(self.kernel):
            message = f"expected an array in shared memory as target of memcpy_async, got {store.array}"
            self.wrong("COPY_TARGET", message, "copy to an array made by shared, or store with =")
        if dtype is not None and (size := dtype.size_bytes * self.together) not in COPY_BYTES:
            message = f"expected a copy of {', '.join(map(str, COPY_BYTES[:-1]))} or {COPY_BYTES[-1]} bytes, got {size}"
            self.wrong("COPY_SIZE", message, "copy elements of 4 or 8 bytes, or several at once: `for j in vector(4)`")

    def shared(self, name: str, element_bytes: int, elements: int) -> None:
        """Counts a shared array; the first one that does not fit is reported."""
        before = self.shared_bytes
        self.shared_bytes = shared_end(before, element_bytes, elements, aligned_shared(self.kernel).get(name, 0))
        if before <= STATIC_SHARED_BYTES < self.shared_bytes:
            most, got = STATIC_SHARED_BYTES, self.shared_bytes
            message = f"expected at most {most} bytes of shared memory in a block, got {got} with {name}"
            self.wrong("SHARED_MEMORY", message, "use smaller shared arrays, or a smaller tile")

    def store(self, name: str, index: tuple[IndexExpr, ...], dtype: DType | None) -> None:
        if not self.known(self.arrays, name, "an array declared"):
            return
        array = self.arrays[name]
        self.element(name, array.rank, index)
        self.same(f"values for {name}", array.dtype, dtype)
        if not array.is_storable:
            self.wrong("STORE_TO_INPUT", f"expected a store to an output array, got one to input {name}")

    def loop(self, loop: For, under: frozenset[str]) -> None:
        depends = self.index(loop.start) | self.index(loop.stop)
        if loop.var in self.ready:
            message = f"expected a new name for the loop variable, got {loop.var}, which is set where the loop begins"
            self.wrong("NAME_REUSED", message, "rename one of the two")
        self.name(loop.var, "loop variable")
        if loop.step == 0:
            self.wrong("STEP_ZERO", "expected a loop step other than 0, got 0")
        if depends and self.kernel.threads > 1:
            got = ", ".join(sorted(depends))
            message = f"expected loop bounds over constants and outer loop variables, got ones that depend on {got}"
            self.wrong("BOUND_NOT_STATIC", message, "run the loop to a constant bound and guard its body with a condition")
        if loop.is_vector and (problem := vector_problem(loop, self.kernel, self.multiples)) is not None:
            self.wrong(*problem)
        self.indices[loop.var] = self.indices.get(loop.var, _STATIC) | depends
        outside = self.together
        self.together = loop.stop.value if loop.is_vector and isinstance(loop.stop, IndexConst) else 1
        before, around = self.ready, self.rounds
        trips = self.trips(loop)
        self.rounds = None
        if trips and sum(map(len, trips)) <= _MOST_ROUNDS:
            self.rounds = [{**outer, loop.var: k} for outer, found in zip(around or (), trips, strict=True) for k in found]
        for _ in range(2):  # what the end of the body sets, its start may use
            known = self.known_so_far()
            self.ready = {*before, loop.var}
            self.body(loop.body, under)
            if known == self.known_so_far():  # a second pass would find what this one did
                break
        self.ready = before | self.variables(self.ready) if trips and all(trips) else before
        self.together, self.rounds = outside, around

    def trips(self, loop: For) -> list[range]:
        """The values of its variable in each round of the loops around it; none where bounds or rounds are not that simple."""
        rounds = self.rounds or ()
        if all(isinstance(node, IndexConst | IndexBinary) for node in parts((loop.start, loop.stop))):
            rounds, copies = rounds[:1], len(rounds)
        else:
            copies = 1
        found: list[range] = []
        for outer in rounds:
            indices = Indices({}, {}, _refuse)
            indices.variables = {name: (value, None) for name, value in outer.items()}
            try:
                found.append(range(indices.number(loop.start), indices.number(loop.stop), loop.step or 1))
            except (UserError, KeyError):
                return []
        return found * copies

    def known_so_far(self) -> tuple[object, ...]:
        """All that a pass may change and later statements are judged by, but for `ready`; names are only added."""
        return dict(self.indices), len(self.sorts), len(self.arrays), len(self.accumulators), len(self.values)

    def variables(self, names: set[str]) -> set[str]:
        """Variables that outlive the branch or loop that sets them, as arrays, accumulators and loop variables do not."""
        return {n for n in names if self.sorts.get(n) in ("variable", "index variable")}
