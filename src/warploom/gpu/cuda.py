"""CUDA C++ from a completed kernel: text a person would accept in review, registers indexed by constants only."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import assert_never

from warploom.core import NOWHERE, Diagnostic, DType, Span, UserError, placed
from warploom.core.intervals import Interval
from warploom.core.launch import INT_MAX
from warploom.ctext import (
    BARRIER,
    COMMIT_COPIES,
    COPY,
    COPY_HEADER,
    CUDA_FUNCTIONS,
    WAIT_FOR_COPIES,
    Names,
    Text,
    array_declaration,
    binary,
    call,
    comment,
    conditional,
    cuda_type,
    element,
    includes,
    is_narrow,
    is_signed_word,
    kernel_head,
    make,
    reinterpret_cast,
    rest_of_warps,
)
from warploom.gpu.facts import gather_facts, holes_of
from warploom.gpu.growth import Growths
from warploom.gpu.helpers import Helpers
from warploom.gpu.host import launch_helper
from warploom.gpu.index_code import IndexCode
from warploom.gpu.lower import Lowered, lower
from warploom.gpu.once import vector_number
from warploom.gpu.scopes import Scopes, find_scopes
from warploom.gpu.sizes import SizeLimits, size_limits
from warploom.gpu.value_code import ValueCode
from warploom.ir import (
    Accumulate,
    Accumulator,
    Builtin,
    CommitCopies,
    Declare,
    For,
    Hole,
    HoleArg,
    HoleUse,
    If,
    IndexBinary,
    IndexConst,
    IndexExpr,
    IndexSelect,
    IndexVar,
    Kernel,
    Param,
    SetIndex,
    SetValue,
    Shuffle,
    SizeVar,
    Stmt,
    Store,
    Sync,
    WaitCopies,
    aligned_shared,
    copy_source,
    first_element,
    global_access,
    index_range,
    index_text,
    leaves,
    map_index,
    parts,
    simplify,
    statements,
    vector_type,
)

_INDENT = "  "
_MARK = re.compile("\0(\\d+)\0")
_WORDS = ("min", "max", "fmin", "fmax", "fminf", "fmaxf", "warp_mask")
"""Names that bodies use beside those of the kernel and of its helpers."""
_MOST_STATEMENTS = 384
"""Statements that a loop may become when the compiler unrolls it and the unrolled loops around it.

Past that it holds too many values at once: a 5 x 5 convolution takes 127 registers with its loop over columns unrolled, 64 with
two copies of it.
"""
_MOST_COPIES = 4
"""Most copies of the body of a loop that is not unrolled fully."""
_BUILTINS = {"thread_id": ("thread", "threadIdx"), "block_id": ("block", "blockIdx"),
             "block_dim": ("block_dim", "blockDim"), "grid_dim": ("grid_dim", "gridDim")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class CudaSource:
    """One printed kernel with its launch helper."""

    text: str
    name: str
    """The kernel's C name (`extern "C"`, so also its symbol)."""
    launch_name: str
    """The host helper `launch_NAME(arrays..., sizes..., stream)`; not seen by NVRTC."""
    block: tuple[int, int, int]
    params: tuple[str, ...]
    """Names of arrays, then sizes, in the order of the C parameters."""
    limits: SizeLimits
    """The sizes at which the text means what the kernel means."""
    origins: tuple[Span, ...] = ()
    """For each line of the text the statement of the sketch that it comes from; NOWHERE for lines that come from none."""


def cuda_source(kernel: Kernel, completions: Mapping[str, IndexExpr] | None = None) -> CudaSource:
    """CUDA C++ of `kernel` with its holes completed; comments say what each completed hole does.

    Parameters: arrays in order (inputs `const T *__restrict__`; so are arrays of constant space: their loads go through the
    read-only cache), then run-time sizes as int; `limits` says up to which sizes everything computed from them is one, too.
    UserError: HOLE_UNFILLED, SHUFFLE_DIVERGENT, SHUFFLE_WIDTH, SHUFFLE_OPERAND, INDEX_OVERFLOW.
    """
    return _Printer(kernel, completions or {}).source()


def index_overflow(kernel: Kernel) -> Diagnostic | None:
    """The reason why a filled kernel cannot be printed: an index that no size bounds leaves 32 bits."""
    ranges = gather_facts(kernel).ranges
    found = (index_range(p, ranges) for p in parts(kernel.body) if isinstance(p, IndexExpr))
    if all(not known.is_finite or -INT_MAX - 1 <= known.low <= known.high <= INT_MAX for known in found):
        return None
    try:
        cuda_source(kernel)
    except UserError as error:
        return next((d for d in error.diagnostics if d.code == "INDEX_OVERFLOW"), None)
    return None


def safe_sizes(kernel: Kernel) -> SizeLimits:
    """The sizes at which a filled kernel's index arithmetic, guards, loops and launch stay in range, as CUDA C or else as IR."""
    try:
        return cuda_source(kernel).limits
    except UserError:
        printed = [p for p in parts(kernel.body) if isinstance(p, IndexExpr)]
        return size_limits(kernel.sizes, Growths(kernel), printed, kernel.grid)


@dataclass(slots=True)
class _Printer:
    kernel: Kernel
    completions: Mapping[str, IndexExpr]
    lowered: Lowered = field(init=False)
    names: Names = field(init=False)
    helpers: Helpers = field(init=False)
    index: IndexCode = field(init=False)
    values: ValueCode = field(init=False)
    scopes: Scopes = field(init=False)
    _builtins: dict[Builtin, str] = field(init=False, default_factory=dict[Builtin, str])
    _holes: dict[str, Hole] = field(init=False)
    _said: set[str] = field(init=False, default_factory=set[str])
    _copies: float = field(init=False, default=1)
    """Copies of the statement being printed, once the loops around that must be unrolled are."""
    _is_edge: bool = field(init=False, default=False)
    _declared: set[str] = field(init=False, default_factory=set[str])
    _aliases: set[str] = field(init=False, default_factory=set[str])
    """Variables that are a thread, block or grid number under the user's name: printed once, before the body."""
    _alignments: dict[str, int] = field(init=False)
    """Bytes at a multiple of which shared arrays must begin, where that is more than their elements ask for."""
    _spans: list[Span] = field(init=False, default_factory=list[Span])
    """Places in the sketch, by the numbers that lines are marked with while they are printed."""

    def __post_init__(self) -> None:
        kernel = self.kernel
        self.names = Names(_WORDS, numbered="{}{}".format)
        self.helpers = Helpers(self.names)
        self.lowered = lower(kernel, self.completions)
        self.names(kernel.name, CUDA_FUNCTIONS)
        for name in (*(p.name for p in kernel.params), *kernel.sizes):
            self.names(name)
        self.index = IndexCode(self.names, self.lowered.facts.ranges, self.helpers, self._builtin)
        operators = {o.name: o for o in kernel.operators}
        self.values = ValueCode(kernel, self.lowered.facts, self.names, self.index, self.helpers, self._mask()[0], operators)
        self.scopes = find_scopes(self.lowered.kernel.body)
        self._holes = {h.name: h for h in kernel.holes}
        self._alignments = aligned_shared(kernel)
        for stmt in self.lowered.kernel.body:
            match stmt:
                case SetIndex(name, Builtin() as builtin) if name in self.scopes.constant and builtin not in self._builtins:
                    self._builtins[builtin] = self.names(name)
                    self._aliases.add(name)
                case _:
                    pass

    def source(self) -> CudaSource:
        kernel, name = self.kernel, self.names(self.kernel.name)
        body = self._block(self.lowered.kernel.body)
        sizes = [f"int {self.names(n)}" for n in kernel.sizes]
        declared = [self._param(p) for p in kernel.params]
        head = [
            kernel_head(kernel.threads),
            f"{name}({', '.join([*declared, *sizes])}) {{",
        ]
        launch_name = self.names.fresh(f"launch_{name}")
        try:
            launch = launch_helper(kernel, launch_name, name, declared, self.names, self.helpers, self.index.growing)
        except UserError as error:
            raise placed(error, kernel.span) from None
        lines = [*head, *(_INDENT + line for line in [*self._head(), *body]), "}"]
        limits = self._limits()
        pieces = [self._title(limits), self._includes(), self.helpers.text, "\n".join(lines), launch]
        params = tuple(p.name for p in kernel.params) + kernel.sizes
        marked = ("\n\n".join(p for p in pieces if p) + "\n").split("\n")
        text = "\n".join(_MARK.sub("", line) for line in marked)
        origins = tuple(self._spans[int(found[1])] if (found := _MARK.search(line)) else NOWHERE for line in marked[:-1])
        return CudaSource(text, name, launch_name, kernel.block, params, limits, origins)

    def _limits(self) -> SizeLimits:
        kernel = self.lowered.kernel
        if not kernel.sizes:
            return SizeLimits(())
        return size_limits(kernel.sizes, Growths(kernel), self.index.growing, kernel.grid)

    # ------------------------------------------------------------ around the body

    def _title(self, limits: SizeLimits) -> str:
        origin = f" of {PurePath(self.kernel.file).name}" if self.kernel.file else ""
        title = comment(f"{self.kernel.name}{origin}, completed by Warploom.")
        if not limits.most:
            return title
        beyond = (
            f"No size is known to be safe: {limits.unbounded}."
            if limits.unbounded
            else f"32-bit indices and the grid suffice for {limits.text}."
        )
        return f"{title}\n{comment(beyond)}"

    def _includes(self) -> str:
        found = (getattr(p, "dtype", None) for p in parts((self.kernel.body, self.kernel.params)))
        lines = includes(t for t in found if isinstance(t, DType))
        body = self.lowered.kernel.body
        if any(isinstance(s, CommitCopies | WaitCopies) or (isinstance(s, Store) and s.is_async) for s in statements(body)):
            lines.append(f"#include <{COPY_HEADER}>")
        return "\n".join(lines)

    def _param(self, param: Param) -> str:
        const = "" if param.is_output else "const "
        return f"{const}{cuda_type(param.dtype)} *__restrict__ {self.names(param.name)}"

    def _builtin(self, builtin: Builtin) -> str:
        if builtin not in self._builtins:
            wish, _ = _BUILTINS[builtin.name]
            only_x = builtin.axis == 0 and self.kernel.block[1:] == (1, 1) and self.kernel.grid[1:] == (IndexConst(1),) * 2
            self._builtins[builtin] = self.names.fresh(wish if only_x else f"{wish}_{'xyz'[builtin.axis]}")
        return self._builtins[builtin]

    def _mask(self) -> tuple[str, str]:
        """The shuffle mask's text, and the statement that computes it where warps differ."""
        threads = self.kernel.threads
        full, rest = rest_of_warps(threads)
        if not rest or not full:
            return f"0x{rest or 0xFFFFFFFF:x}", ""
        x, y, _ = self.kernel.block
        flat = f"threadIdx.x + {x} * (threadIdx.y + {y} * threadIdx.z)" if (x, y) != (threads, 1) else "threadIdx.x"
        return "warp_mask", f"const unsigned warp_mask = {flat} < {full} ? 0xffffffffu : 0x{rest:x}u;"

    def _head(self) -> list[str]:
        lines = [
            f"const int {text} = {_BUILTINS[b.name][1]}.{'xyz'[b.axis]};"
            for b, text in sorted(self._builtins.items(), key=lambda item: (-len(item[0].name), item[0].name, item[0].axis))
        ]
        statement = self._mask()[1]
        if statement and any(isinstance(p, Shuffle) for p in parts(self.lowered.kernel.body)):
            lines.append(statement)
        return [*lines, *(f"{self._variable_type(name)} {self.names(name)};" for name in self.scopes.hoisted)]

    def _variable_type(self, name: str) -> str:
        facts = self.lowered.facts
        if name in facts.values:
            return cuda_type(facts.values[name])
        return "bool" if facts.truths.get(name) else "int"

    # ------------------------------------------------------------ statements

    def _block(self, body: tuple[Stmt, ...]) -> list[str]:
        """Lines of the statements, each with a mark that says which statement of the sketch it comes from."""
        lines: list[str] = []
        for stmt in body:
            mark = f"\0{len(self._spans)}\0"
            original = self._original(stmt)
            self._spans.append(original.span if original is not None else NOWHERE)
            lines += [line if _MARK.search(line) else mark + line for line in (*self._comments(stmt), *self._placed(stmt))]
        return lines

    def _inner(self, body: tuple[Stmt, ...]) -> list[str]:
        return [_INDENT + line for line in self._block(body)]

    def _comments(self, stmt: Stmt) -> list[str]:
        lines: list[str] = []
        original = self.lowered.originals.get(stmt.span.line) if not stmt.span.file else None
        for name in holes_of(original) if original is not None else ():
            if name in self._said:
                continue
            self._said.add(name)
            lines.append(comment(f"hole '{name}': {self._meaning(original, name)}"))
        if isinstance(stmt, For) and stmt.note:
            lines.append(comment(stmt.note))
        return lines

    def _meaning(self, stmt: Stmt | None, name: str) -> str:
        """The hole's simplified completion in the sketch's words, else in the arguments of its use."""
        hole = self._holes[name]
        use = next(p for p in parts(stmt) if isinstance(p, HoleUse) and p.hole == name)
        ranges: dict[IndexExpr, Interval] = {
            HoleArg(i): index_range(e, self.lowered.facts.ranges) for i, e in enumerate(use.args)
        }
        words = hole.arg_names if len(hole.arg_names) == len(use.args) else tuple(index_text(e) for e in use.args)
        return " ".join(index_text(simplify(self.completions[name], ranges, bitwise=False), words).split())

    def _original(self, stmt: Stmt) -> Stmt | None:
        """The sketch's statement that a lowered one comes from."""
        return self.lowered.originals.get(stmt.span.line) if not stmt.span.file else stmt

    def _placed(self, stmt: Stmt) -> list[str]:
        """`_stmt`, whose errors are the statement's where they have no place of their own."""
        try:
            return self._stmt(stmt)
        except UserError as error:
            original = self._original(stmt)
            raise placed(error, original.span if original is not None else self.kernel.span) from None

    def _stmt(self, stmt: Stmt) -> list[str]:
        match stmt:
            case Declare(name, space, dtype, shape):
                alignment = self._alignments.get(name, 0)
                return [array_declaration(dtype, self.names(name), shape, is_shared=space == "shared", alignment=alignment)]
            case SetIndex(name) if name in self._aliases:
                return []
            case SetIndex(name, expr):
                return [f"{self._target(name)} = {self.index.text(expr).text};"]
            case SetValue(name, _, value):
                return [f"{self._target(name)} = {self.values.text(value).text};"]
            case Store(is_async=True):
                return [self._copy(stmt)]
            case Store(array, index, value):
                return [f"{self.values.element(array, index)} = {self.values.text(value).text};"]
            case Accumulator():
                return self._accumulator(stmt)
            case Accumulate():
                return self._accumulate(stmt)
            case For():
                return self._for(stmt)
            case If(cond, then, other):
                lines = [f"if ({self.index.text(cond).text}) {{", *self._inner(then)]
                if other:
                    kept = self._is_edge
                    self._is_edge = kept or any(isinstance(e, SizeVar) for e in leaves(cond))
                    lines += ["} else {", *self._inner(other)]
                    self._is_edge = kept
                return [*lines, "}"]
            case Sync():
                return [BARRIER]
            case CommitCopies():
                return [f"{COMMIT_COPIES}();"]
            case WaitCopies(left):
                return [f"{WAIT_FOR_COPIES}({left});"]
            case _:
                assert_never(stmt)

    def _copy(self, store: Store, elements: int = 1) -> str:
        """The asynchronous copy of so many elements, of which `store` is the first. Where it writes zeros it names the first
        element of its source."""
        found = copy_source(store)
        assert found is not None
        read, valid = found
        size, rest = self.lowered.facts.arrays[store.array].dtype.size_bytes * elements, ""
        if valid != IndexConst(True):
            zeros = Text(str(size))
            rest = f", {(zeros if isinstance(valid, IndexConst) else conditional(self.index.text(valid), Text('0'), zeros)).text}"
            read = replace(read, index=tuple(IndexSelect(valid, i, IndexConst(0)) for i in read.index))
        target, source = (self.values.element(e.array, e.index) for e in (store, read))
        return f"{COPY}(&{target}, &{source}, {size}{rest});"

    def _target(self, name: str) -> str:
        if name in self.scopes.here and name not in self._declared:
            self._declared.add(name)
            const = "const " if name in self.scopes.constant else ""
            return f"{const}{self._variable_type(name)} {self.names(name)}"
        return self.names(name)

    def _accumulator(self, stmt: Accumulator) -> list[str]:
        init = self.values.constant(stmt.dtype, stmt.init).text
        extents = "".join(f"[{n}]" for n in stmt.shape)
        for extent in reversed(stmt.shape):
            init = "{" + ", ".join([init] * extent) + "}"
        return [f"{cuda_type(stmt.dtype)} {self.names(stmt.name)}{extents} = {init};"]

    def _accumulate(self, stmt: Accumulate) -> list[str]:
        accumulator = self.lowered.facts.accumulators[stmt.accumulator]
        target, dtype, op = self.values.register(stmt.accumulator, stmt.index), accumulator.dtype, accumulator.op
        value = self.values.text(stmt.value)
        wraps = is_signed_word(dtype) or is_narrow(dtype)
        if dtype.lanes == 1 and (op in ("&", "|", "^") or (op in ("+", "*") and not wraps)):
            line = f"{target} {op}= {value.text};"
        else:
            line = f"{target} = {self.values.apply(op, dtype, Text(target), value).text};"
        if isinstance(stmt.guard, IndexConst):
            return [line]
        return [f"if ({self.index.text(stmt.guard).text}) {{", _INDENT + line, "}"]

    def _vector(self, stmt: For) -> list[str]:
        """The one access that a vector loop is, or nothing where lowering made more of its body."""
        facts = self.lowered.facts
        found, lanes = global_access(stmt, facts.params), self._trips(stmt)
        store = stmt.body[0]
        vector = vector_type(found[0].dtype, int(lanes)) if found is not None else None
        if found is None or vector is None or not isinstance(store, Store):
            return []
        param, index = found
        kind, var = cuda_type(vector), IndexVar(stmt.var)
        trips = [map_index(store, lambda e, k=k: IndexConst(k) if e == var else None) for k in range(int(lanes))]
        if store.is_async:
            at = tuple(simplify(e, facts.ranges) for e in trips[0].index)
            return [self._copy(replace(trips[0], index=at), int(lanes))]
        first = simplify(first_element(param, index, stmt.var), facts.ranges)
        place = self._vector_place(param, first, vector)
        if store.array == param.name:
            items = [self.values.text(t.value) for t in trips]
            return [f"{place} = {call(make(vector), *items).text};"]
        whole = self.names.fresh(f"{store.array}_{lanes:.0f}")
        targets = [self.values.register(t.array, tuple(simplify(e, facts.ranges) for e in t.index)) for t in trips]
        moved = [f"{target} = {whole}.{letter};" for target, letter in zip(targets, "xyzw", strict=False)]
        return [f"const {kind} {whole} = {place};", *moved]

    def _vector_place(self, param: Param, first: IndexExpr, vector: DType) -> str:
        """The vector whose first element has the index `first`, as an lvalue."""
        pointer, array = f"{'' if param.is_output else 'const '}{cuda_type(vector)} *", self.names(param.name)
        number = vector_number(first, vector.lanes)
        if number is None:
            return f"*{reinterpret_cast(pointer, Text(f'&{array}[{self.index.text(first).text}]')).text}"
        return element(reinterpret_cast(pointer, Text(array)), self.index.text(number)).text

    def _for(self, stmt: For) -> list[str]:
        if stmt.is_vector and (lines := self._vector(stmt)):
            return lines
        var = Text(self.names(stmt.var))
        start, stop = self.index.text(stmt.start), self.index.text(stmt.stop)
        step = {1: f"++{var.text}", -1: f"--{var.text}"}.get(
            stmt.step, f"{var.text} {'+' if stmt.step > 0 else '-'}= {abs(stmt.step)}"
        )
        test = binary("<" if stmt.step > 0 else ">", var, stop).text
        pragma, outside = self._pragma(stmt), self._copies
        if stmt.var in self.lowered.unrolled:
            self._copies *= max(1, self._trips(stmt))
        inner = self._inner(stmt.body)
        self._copies = outside
        last = IndexBinary("+", stmt.stop, IndexConst(stmt.step - (1 if stmt.step > 0 else -1)))
        if not index_range(last, self.lowered.facts.ranges).is_finite:
            self.index.growing[last] = None
        return [*pragma, f"for (int {var.text} = {start.text}; {test}; {step}) {{", *inner, "}"]

    def _trips(self, stmt: For) -> float:
        difference = index_range(IndexBinary("-", stmt.stop, stmt.start), self.lowered.facts.ranges)
        return (difference.high if stmt.step > 0 else -difference.low) / abs(stmt.step)

    def _pragma(self, stmt: For) -> list[str]:
        """Unrolled fully where register indices need it; kept short where the compiler would unroll into too much code, and
        at the edges, behind the `else` of a condition on sizes, which few blocks reach."""
        if stmt.var in self.lowered.unrolled:
            return ["#pragma unroll"]
        if self._is_edge:
            return ["#pragma unroll 1"]
        once = self._unrolled_size(stmt.body) * self._copies
        if self._trips(stmt) * once <= _MOST_STATEMENTS:
            return []
        return [f"#pragma unroll {next((n for n in (_MOST_COPIES, 2) if n * once <= _MOST_STATEMENTS), 1)}"]

    def _unrolled_size(self, body: tuple[Stmt, ...]) -> float:
        """Statements of `body` once the loops in it that must be unrolled are."""
        size = 0.0
        for stmt in body:
            match stmt:
                case For():
                    size += self._unrolled_size(stmt.body) * (self._trips(stmt) if stmt.var in self.lowered.unrolled else 1)
                case If():
                    size += self._unrolled_size(stmt.then) + self._unrolled_size(stmt.other)
                case _:
                    size += 1
        return size
