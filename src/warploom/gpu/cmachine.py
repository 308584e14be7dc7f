"""Runs printed CUDA C for all threads of a few blocks in lockstep, with C's semantics.

Part of the read-back: an evaluation of the text, independent of the kernel IR and its interpreter. It reports what C or CUDA
leave undefined: signed overflow, bad shift counts, elements out of bounds or never written, races between barriers, barriers and
shuffles that not every thread reaches, uses of what an asynchronous copy still writes. It runs the subset of C that the printer
emits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from warploom.core import Diagnostic, UserError
from warploom.gpu import cvalues
from warploom.gpu.cmemory import Mask, Memory, blank
from warploom.gpu.cparse import Parsed, c_ast, is_shared
from warploom.gpu.cvalues import NUMPY, Data, Value, component_type, convert, type_named

MOST_TRIPS = 100_000
SECTOR_BYTES = 32


@dataclass(slots=True)
class Variable:
    """A scalar or vector of each thread; undefined until assigned."""

    value: Value
    defined: Mask


@dataclass(slots=True)
class Events:
    """Events of the kernel, counted as the interpreter counts (32-byte sectors per warp request)."""

    load_sectors: dict[str, int] = field(default_factory=dict[str, int])
    store_sectors: dict[str, int] = field(default_factory=dict[str, int])
    syncs: int = 0
    """Barriers, counted once per block."""


@dataclass(slots=True)
class CMachine:
    """One launch: `arrays` are flat parameters [elements] (components last for vectors), changed in place."""

    parsed: Parsed
    grid: tuple[int, int, int]
    arrays: Mapping[str, Data]
    sizes: Mapping[str, int]
    uninitialised: frozenset[str] = frozenset()
    """Arrays whose elements must be written before they are read."""
    problems: dict[str, Diagnostic] = field(default_factory=dict[str, Diagnostic])
    events: Events = field(default_factory=Events)
    _scopes: list[dict[str, Variable | Memory]] = field(default_factory=list[dict[str, Variable | Memory]])
    _shared: dict[int, Memory] = field(default_factory=dict[int, Memory])
    """Shared arrays by the node that declares them: they stay, however often a thread comes by."""
    _epoch: int = 0
    _groups: Data = field(init=False)
    """Groups of asynchronous copies that each thread has committed."""
    _returned: Value | None = None
    _line: int = 0

    @property
    def per_block(self) -> int:
        x, y, z = self.parsed.block
        return x * y * z

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.blocks * self.per_block

    def run(self) -> None:
        """Runs the kernel; problems are collected, the thread goes on with some value."""
        names: dict[str, Variable | Memory] = {}
        everyone = np.ones(self.threads, np.bool_)
        params: list[Any] = self.parsed.kernel.decl.type.args.params
        for param in params:
            if isinstance(param.type, c_ast.PtrDecl):
                kind = type_named(param.type.type.type.names)
                data = self.arrays[param.name]
                defined = np.full((1, len(data)), param.name not in self.uninitialised)
                rows = np.zeros(self.threads, np.int64)
                names[param.name] = Memory(param.name, "global", kind, (len(data),), data[None], rows, defined)
            else:
                size = Value("i32", np.full(self.threads, self.sizes[param.name], np.int32))
                names[param.name] = Variable(size, everyone)
        self._scopes = [names]
        self._groups = np.zeros(self.threads, np.int64)
        with np.errstate(all="ignore"):
            self._statement(self.parsed.kernel.body, everyone)

    def number(self, expression: Any) -> int:
        """A host expression over the sizes."""
        sizes: dict[str, Variable | Memory] = {
            n: Variable(Value("i32", np.full(1, v, np.int32)), np.ones(1, np.bool_)) for n, v in self.sizes.items()
        }
        scopes, self._scopes = self._scopes, [sizes]
        result = int(self._expression(expression, np.ones(1, np.bool_)).data[0])
        self._scopes = scopes
        return result

    # ------------------------------------------------------------ problems and names

    def _trouble(self, code: str, message: str, where: Mask) -> None:
        thread = int(np.argmax(where))
        text = f"{message} (thread {thread % self.per_block} of block {thread // self.per_block}, printed line {self._line})"
        self.problems.setdefault(f"{code} {self._line}", Diagnostic(code, text))

    def _unsupported(self, node: Any) -> UserError:
        return UserError(Diagnostic("READ_BACK_SYNTAX", f"expected printed CUDA, got a {type(node).__name__} at {node.coord}"))

    def _find(self, name: str) -> Variable | Memory:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        raise UserError(Diagnostic("READ_BACK_SYNTAX", f"expected a declared name, got {name}"))

    # ------------------------------------------------------------ statements

    def _statement(self, node: Any, active: Mask) -> None:
        self._line = node.coord.line if node is not None and node.coord is not None else self._line
        match node:
            case None | c_ast.EmptyStatement():
                pass
            case c_ast.Compound():
                self._scopes.append({})
                items: list[Any] = node.block_items or []
                for item in items:
                    self._statement(item, active)
                self._scopes.pop()
            case c_ast.DeclList():
                for declaration in node.decls:
                    self._declare(declaration, active)
            case c_ast.Decl():
                self._declare(node, active)
            case c_ast.If():
                cond = self._truth(node.cond, active)
                if (active & cond).any():
                    self._statement(node.iftrue, active & cond)
                if (active & ~cond).any():
                    self._statement(node.iffalse, active & ~cond)
            case c_ast.For():
                self._for(node, active)
            case c_ast.Return():
                self._returned = self._expression(node.expr, active)
            case _:
                self._expression(node, active)

    def _for(self, node: Any, active: Mask) -> None:
        self._scopes.append({})
        self._statement(node.init, active)
        going = active & self._truth(node.cond, active)
        for _ in range(MOST_TRIPS):
            if not going.any():
                break
            self._statement(node.stmt, going)
            self._expression(node.next, going)
            going = going & self._truth(node.cond, going)
        else:
            self._trouble("ENDLESS_LOOP", f"more than {MOST_TRIPS} trips", going)
        self._scopes.pop()

    def _declare(self, node: Any, active: Mask) -> None:
        extents: list[int] = []
        inner = node.type
        while isinstance(inner, c_ast.ArrayDecl):
            extents.append(int(inner.dim.value))
            inner = inner.type
        kind = type_named(inner.type.names)
        if extents or is_shared(node):
            self._scopes[-1][node.name] = memory = self._shared.get(id(node)) or self._array(node, kind, tuple(extents))
            if is_shared(node):
                self._shared[id(node)] = memory
            if node.init is not None:
                for position, item in enumerate(_flat(node.init)):
                    index = np.full(self.threads, position, np.int64)
                    self._memory(node.name).write(index, self._expression(item, active), active, self._epoch, self._trouble)
            return
        variable = Variable(Value(kind, blank(kind, self.threads, 1)[:, 0]), np.zeros(self.threads, np.bool_))
        if node.init is not None:
            self._set(variable, self._expression(node.init, active), active)
        self._scopes[-1][node.name] = variable

    def _array(self, node: Any, kind: str, extents: tuple[int, ...]) -> Memory:
        elements = int(np.prod(extents)) if extents else 1
        space: Literal["shared", "local"] = "shared" if is_shared(node) else "local"
        rows = self.blocks if space == "shared" else self.threads
        row = np.arange(self.threads) // (self.per_block if space == "shared" else 1)
        alignment = int(node.align[0].alignment.value) if node.align else 0
        undefined = np.zeros((rows, elements), np.bool_)
        return Memory(node.name, space, kind, extents, blank(kind, rows, elements), row, undefined, alignment)

    def _memory(self, name: str) -> Memory:
        found = self._find(name)
        if not isinstance(found, Memory):
            raise UserError(Diagnostic("READ_BACK_SYNTAX", f"expected an array, got {name}"))
        return found

    @staticmethod
    def _set(variable: Variable, value: Value, active: Mask) -> None:
        new = convert(value, variable.value.type).data
        mask = active if new.ndim == 1 else active[:, None]
        variable.value = Value(variable.value.type, np.where(mask, new, variable.value.data))
        variable.defined = variable.defined | active

    # ------------------------------------------------------------ expressions

    def _truth(self, node: Any, active: Mask) -> Mask:
        return self._expression(node, active).data != 0

    def _expression(self, node: Any, active: Mask) -> Value:
        match node:
            case c_ast.Constant():
                return cvalues.constant(node.type, node.value, len(active))
            case c_ast.ID():
                return self._name(node.name, active)
            case c_ast.UnaryOp(op="*") | c_ast.ArrayRef(name=c_ast.Cast()):
                return self._read_vector(node, active)
            case c_ast.ArrayRef():
                memory, index = self._reference(node, active)
                self._count(memory, index, active, self.events.load_sectors)
                return memory.read(index, active, self._epoch, self._trouble)
            case c_ast.StructRef():
                return self._member(node, active)
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--"):
                one = Value("i32", np.ones(len(active), np.int32))
                old = self._expression(node.expr, active)
                self._assign(node.expr, cvalues.binary(node.op[-1], old, one, active, self._trouble), active)
                return old
            case c_ast.UnaryOp():
                return cvalues.unary(node.op, self._expression(node.expr, active), active, self._trouble)
            case c_ast.BinaryOp(op="&&" | "||"):
                left = self._truth(node.left, active)
                rest = active & (left if node.op == "&&" else ~left)
                right = self._truth(node.right, rest) if rest.any() else np.zeros_like(left)
                return Value("bool", left & right if node.op == "&&" else left | right)
            case c_ast.BinaryOp():
                left, right = self._expression(node.left, active), self._expression(node.right, active)
                return cvalues.binary(node.op, left, right, active, self._trouble)
            case c_ast.TernaryOp():
                return self._conditional(node, active)
            case c_ast.Cast():
                to = type_named(node.to_type.type.type.names)
                return convert(self._expression(node.expr, active), to)
            case c_ast.Assignment():
                value = self._expression(node.rvalue, active)
                if node.op != "=":
                    value = cvalues.binary(node.op[:-1], self._expression(node.lvalue, active), value, active, self._trouble)
                self._assign(node.lvalue, value, active)
                return value
            case c_ast.FuncCall():
                arguments: list[Any] = node.args.exprs if node.args is not None else []
                return self._call(node.name.name, arguments, active)
            case _:
                raise self._unsupported(node)

    def _name(self, name: str, active: Mask) -> Value:
        if name in ("true", "false"):
            return Value("bool", np.full(len(active), name == "true"))
        found = self._find(name)
        if isinstance(found, Memory):
            zero = np.zeros(len(active), np.int64)
            return found.read(zero, active, self._epoch, self._trouble)
        undefined = active & ~found.defined
        if undefined.any():
            self._trouble("UNDEFINED_READ", f"{name} has no value yet", undefined)
        return found.value

    def _member(self, node: Any, active: Mask) -> Value:
        place = "xyzw".index(node.field.name)
        if isinstance(node.name, c_ast.ID) and node.name.name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            return Value("u32", self._builtin(node.name.name, place).astype(np.uint32))
        whole = self._expression(node.name, active)
        return Value(component_type(whole.type), whole.data[:, place])

    def _builtin(self, name: str, axis: int) -> Data:
        flat = np.arange(self.threads)
        inside, extents = (
            (flat % self.per_block, self.parsed.block) if name == "threadIdx" else (flat // self.per_block, self.grid)
        )
        if name in ("blockDim", "gridDim"):
            return np.full(self.threads, (self.parsed.block if name == "blockDim" else self.grid)[axis])
        for extent in extents[:axis]:
            inside = inside // extent
        return inside % extents[axis]

    def _conditional(self, node: Any, active: Mask) -> Value:
        cond = self._truth(node.cond, active)
        branches = ((active & cond, node.iftrue), (active & ~cond, node.iffalse))
        (yes, no) = (self._expression(branch, mask) for mask, branch in branches)
        kind = yes.type if yes.type == no.type else cvalues.common(yes.type, no.type)
        a, b = convert(yes, kind).data, convert(no, kind).data
        return Value(kind, np.where(cond if a.ndim == 1 else cond[:, None], a, b))

    # ------------------------------------------------------------ places

    def _reference(self, node: Any, active: Mask) -> tuple[Memory, Data]:
        indices: list[Data] = []
        while isinstance(node, c_ast.ArrayRef):
            indices.insert(0, self._expression(node.subscript, active).data.astype(np.int64))
            node = node.name
        memory = self._memory(node.name)
        if len(indices) != len(memory.extents):
            raise self._unsupported(node)
        flat = np.zeros(len(active), np.int64)
        for index, extent in zip(indices, memory.extents, strict=True):
            outside = active & ((index < 0) | (index >= extent))
            if outside.any() and len(indices) > 1:
                self._trouble("OUT_OF_BOUNDS", f"{memory.name}: index {index[np.argmax(outside)]} of {extent}", outside)
            flat = flat * extent + index
        return memory, flat

    def _assign(self, target: Any, value: Value, active: Mask) -> None:
        match target:
            case c_ast.UnaryOp(op="*") | c_ast.ArrayRef(name=c_ast.Cast()):
                self._write_vector(target, value, active)
            case c_ast.ArrayRef():
                memory, index = self._reference(target, active)
                self._count(memory, index, active, self.events.store_sectors)
                memory.write(index, value, active, self._epoch, self._trouble)
            case c_ast.StructRef() if isinstance(target.name, c_ast.ID):
                variable = self._find(target.name.name)
                if not isinstance(variable, Variable):
                    raise self._unsupported(target)
                data, place = variable.value.data.copy(), "xyzw".index(target.field.name)
                data[active, place] = convert(value, component_type(variable.value.type)).data[active]
                variable.value = Value(variable.value.type, data)
            case c_ast.ID():
                found = self._find(target.name)
                if isinstance(found, Memory):
                    found.write(np.zeros(len(active), np.int64), value, active, self._epoch, self._trouble)
                else:
                    self._set(found, value, active)
            case _:
                raise self._unsupported(target)

    def _vector(self, node: Any, active: Mask) -> tuple[Memory, Data, str, int]:
        """Array, first element, vector type and its components of `*(float4 *)(&x[first])` and of `((float4 *)(x))[number]`;
        misaligned ones are told."""
        cast: Any = node.name if isinstance(node, c_ast.ArrayRef) else node.expr
        address: Any = cast.expr if isinstance(cast, c_ast.Cast) else None
        kind = type_named(cast.to_type.type.type.type.names) if address is not None else ""
        match node, address:
            case c_ast.UnaryOp(), c_ast.UnaryOp(op="&", expr=c_ast.ArrayRef()):
                memory, first = self._reference(address.expr, active)
            case c_ast.ArrayRef(), c_ast.ID() if kind not in NUMPY:
                memory = self._memory(address.name)
                first = self._expression(node.subscript, active).data.astype(np.int64) * int(kind[-1])
            case _:
                raise self._unsupported(node)
        if memory.space != "global" or kind in NUMPY or component_type(kind) != memory.type:
            raise self._unsupported(node)
        lanes = int(kind[-1])
        bad = active & (first % lanes != 0)
        if bad.any():
            message = (
                f"{memory.name}[{int(first[np.argmax(bad)])}] begins a {kind}, whose first element has a multiple of {lanes}"
            )
            self._trouble("MISALIGNED", message, bad)
        return memory, first, kind, lanes

    def _read_vector(self, node: Any, active: Mask) -> Value:
        memory, first, kind, lanes = self._vector(node, active)
        self._count(memory, first, active, self.events.load_sectors)
        parts = [memory.read(first + k, active, self._epoch, self._trouble).data for k in range(lanes)]
        return Value(kind, np.stack(parts, axis=1))

    def _write_vector(self, node: Any, value: Value, active: Mask) -> None:
        memory, first, kind, lanes = self._vector(node, active)
        self._count(memory, first, active, self.events.store_sectors)
        for k in range(lanes):
            part = Value(component_type(kind), convert(value, kind).data[:, k])
            memory.write(first + k, part, active, self._epoch, self._trouble)

    def _count(self, memory: Memory, index: Data, active: Mask, into: dict[str, int]) -> None:
        if memory.space != "global":
            return
        size = _element_bytes(memory)
        flat = np.arange(self.threads)
        warp = flat // self.per_block * (self.per_block // 32 + 1) + flat % self.per_block // 32
        pairs = np.stack([warp, index * size // SECTOR_BYTES])[:, active]
        into[memory.name] = into.get(memory.name, 0) + np.unique(pairs, axis=1).shape[1]

    # ------------------------------------------------------------ calls

    def _call(self, name: str, arguments: list[Any], active: Mask) -> Value:
        if name == "__syncthreads":
            self._sync(active)
            return Value("i32", np.zeros(len(active), np.int32))
        if name in ("__match_any_sync", "__match_all_sync"):
            return self._match(name, arguments, active)
        if name == "__pipeline_memcpy_async":
            self._copy(arguments, active)
            return Value("i32", np.zeros(len(active), np.int32))
        values = [self._expression(a, active) for a in arguments]
        if name in self.parsed.functions:
            return self._function(self.parsed.functions[name], values, active)
        if name.startswith("__shfl"):
            return self._shuffle(name, values, active)
        if name == "__pipeline_commit":
            self._groups = self._groups + active
            return Value("i32", np.zeros(len(active), np.int32))
        if name == "__pipeline_wait_prior":
            below = np.where(active, self._groups - values[0].data.astype(np.int64), 0)
            for memory in self._shared.values():
                memory.end_copies(below, self._epoch)
            return Value("i32", np.zeros(len(active), np.int32))
        if name in ("__ballot_sync", "__any_sync", "__all_sync"):
            return self._vote(name, values, active)
        if name == "__byte_perm":
            low, high, selector = (convert(v, "u32").data.astype(np.uint64) for v in values)
            both, result = low | high << np.uint64(32), np.zeros(self.threads, np.uint64)
            for k in range(4):
                place = (selector >> np.uint64(4 * k)) & np.uint64(7)
                result |= ((both >> (place * np.uint64(8))) & np.uint64(255)) << np.uint64(8 * k)
            return Value("u32", result.astype(np.uint32))
        if name in ("__popc", "__popcll"):
            word = convert(values[0], "u32" if name == "__popc" else "u64").data.astype(np.uint64)
            ones = [(word >> np.uint64(bit)) & np.uint64(1) for bit in range(64)]
            return Value("i32", np.add.reduce(ones).astype(np.int32))
        if name.startswith("make_"):
            kind = name.removeprefix("make_")
            component = component_type(kind)
            return Value(kind, np.stack([convert(v, component).data for v in values], axis=1))
        if name in ("min", "max", "fminf", "fmaxf", "fmin", "fmax", "__hmin", "__hmax"):
            return cvalues.extremum(name, values[0], values[1])
        if name == "__fmul_rn":
            return cvalues.binary("*", values[0], values[1], active, self._trouble)
        if name == "__fmaf_rn":
            return cvalues.fused(values[0], values[1], values[2])
        simple: dict[str, Callable[[Value], Value]] = {
            "__float2half": lambda v: convert(v, "f16"),
            "__float2bfloat16": lambda v: convert(v, "bf16"),
            "__int_as_float": lambda v: Value("f32", convert(v, "i32").data.view(np.float32)),
            "__longlong_as_double": lambda v: Value("f64", convert(v, "i64").data.view(np.float64)),
        }
        if name in simple:
            return simple[name](values[0])
        raise UserError(Diagnostic("READ_BACK_SYNTAX", f"expected a known function, got {name}"))

    def _function(self, definition: Any, values: list[Value], active: Mask) -> Value:
        scope: dict[str, Variable | Memory] = {}
        for param, value in zip(definition.decl.type.args.params, values, strict=True):
            kind = type_named(param.type.type.names)
            scope[param.name] = Variable(convert(value, kind), active)
        scopes, self._scopes = self._scopes, [scope]
        self._statement(definition.body, active)
        self._scopes = scopes
        result, self._returned = self._returned, None
        if result is None:
            raise self._unsupported(definition)
        return convert(result, type_named(definition.decl.type.type.type.names))

    def _copy(self, arguments: list[Any], active: Mask) -> None:
        """`__pipeline_memcpy_async(&tile[i], &x[j], 16)`: elements side by side, both firsts at a multiple of the bytes. A fourth
        argument: so many of the bytes, the last ones, are zeros, and are not read."""
        to, origin, amount, *rest = arguments
        places = [
            a.expr for a in (to, origin) if isinstance(a, c_ast.UnaryOp) and a.op == "&" and isinstance(a.expr, c_ast.ArrayRef)
        ]
        size = int(amount.value) if isinstance(amount, c_ast.Constant) else 0
        if len(places) < 2 or size not in (4, 8, 16):
            raise self._unsupported(to)
        (target, at), (source, first) = (self._reference(place, active) for place in places)
        width = _element_bytes(target)
        if target.space != "shared" or source.space != "global" or source.type != target.type or size % width:
            raise self._unsupported(to)
        for memory, index in ((target, at), (source, first)):
            bad = active & (index * width % size != 0)
            if memory is target and size > max(memory.alignment, width):
                bad = active
            if bad.any():
                where = f"{memory.name}[{int(index[np.argmax(bad)])}]"
                self._trouble(
                    "MISALIGNED", f"a copy of {size} bytes begins at {where}, which need not be at a multiple of them", bad
                )
        given = self._expression(rest[0], active).data.astype(np.int64) if rest else np.zeros(len(active), np.int64)
        read = size - np.broadcast_to(given, active.shape)
        bad = active & ((read < 0) | (read > size) | (read % width != 0))
        if bad.any():
            self._trouble("COPY_SIZE", f"a copy of {size} bytes ends with {size - int(read[np.argmax(bad)])} bytes of zeros", bad)
        self._count(source, first, active & (read > 0), self.events.load_sectors)
        for k in range(size // width):
            here = active & (width * k < read)
            part = source.read(first + k, here, self._epoch, self._trouble)
            is_read = here.reshape(here.shape + (1,) * (part.data.ndim - 1))
            moved = Value(part.type, np.where(is_read, part.data, np.zeros_like(part.data)))
            target.begin_copy(at + k, moved, active, self._groups, self._epoch, self._trouble)

    def _sync(self, active: Mask) -> None:
        reached = active.reshape(self.blocks, self.per_block)
        some: Mask = np.asarray(reached.any(axis=1))
        divergent: Mask = np.logical_and(some, ~np.asarray(reached.all(axis=1)))
        if divergent.any():
            bad = np.logical_and(~reached, divergent[:, None]).ravel()
            self._trouble("DIVERGENT_SYNC", "__syncthreads() is not reached by every thread", bad)
        self._epoch += 1
        self.events.syncs += int(np.count_nonzero(some))

    def _shuffle(self, name: str, values: list[Value], active: Mask) -> Value:
        mask, value, operand = values[0].data.astype(np.int64), values[1], values[2].data.astype(np.int64)
        width = values[3].data.astype(np.int64) if len(values) > 3 else np.full(len(active), 32)
        if value.type in ("i8", "u8", "i16", "u16", "bool"):
            value = convert(value, "i32")
        flat = np.arange(self.threads)
        inside = flat % self.per_block
        lane, base = inside % 32, flat - inside % 32
        segment = lane // width * width
        match name:
            case "__shfl_sync":
                source = segment + operand % width
            case "__shfl_up_sync":
                source = np.where(lane - operand < segment, lane, lane - operand)
            case "__shfl_down_sync":
                source = np.where(lane + operand >= segment + width, lane, lane + operand)
            case _:
                source = np.where((lane ^ operand) >= segment + width, lane, lane ^ operand)
        self._check_shuffle(mask, active, lane, base, source)
        exists = base + source < (flat // self.per_block + 1) * self.per_block
        return Value(value.type, value.data[np.where(exists, base + source, flat)])

    def _vote(self, name: str, values: list[Value], active: Mask) -> Value:
        """One lane after the other; the mask must name exactly the lanes of the warp that are here."""
        mask, flags = values[0].data.astype(np.int64) & 0xFFFFFFFF, convert(values[1], "bool").data
        outcome = np.zeros(self.threads, np.uint32)
        for block in range(self.blocks):
            for first in range(block * self.per_block, (block + 1) * self.per_block, 32):
                lanes = range(first, min(first + 32, (block + 1) * self.per_block))
                here = sum(1 << (thread - first) for thread in lanes if active[thread])
                if not here:
                    continue
                own = np.zeros(self.threads, np.bool_)
                own[lanes.start : lanes.stop] = active[lanes.start : lanes.stop]
                if any(int(mask[thread]) != here for thread in lanes if active[thread]):
                    self._trouble("VOTE_MASK", "a vote is taken by other lanes than its mask names", own)
                ballot = sum(1 << (thread - first) for thread in lanes if active[thread] and flags[thread])
                result = {"__ballot_sync": ballot, "__any_sync": int(ballot != 0), "__all_sync": int(ballot == here)}[name]
                outcome[own] = result
        word = Value("u32", outcome)
        return word if name == "__ballot_sync" else convert(word, "i32")

    def _match(self, name: str, arguments: list[Any], active: Mask) -> Value:
        """One lane after the other; of all lanes also stores whether they match. The mask is looked at as in a vote."""
        mask, value = (self._expression(a, active) for a in arguments[:2])
        everyone = Value("bool", np.ones(self.threads, np.bool_))
        here = self._vote("__ballot_sync", [mask, everyone], active).data.astype(np.int64)
        outcome = np.zeros(self.threads, np.uint32)
        for thread in np.flatnonzero(active):
            first = thread - thread % self.per_block % 32
            lanes = [lane for lane in range(32) if int(here[thread]) >> lane & 1]
            outcome[thread] = sum(1 << lane for lane in lanes if value.data[first + lane] == value.data[thread])
        if name == "__match_all_sync":
            same = outcome == here
            (target,) = arguments[2:]
            if not isinstance(target, c_ast.UnaryOp) or target.op != "&":
                raise self._unsupported(target)
            self._assign(target.expr, Value("i32", same.astype(np.int32)), active)
            outcome = np.where(same, outcome, 0).astype(np.uint32)
        return Value("u32", outcome)

    def _check_shuffle(self, mask: Data, active: Mask, lane: Data, base: Data, source: Data) -> None:
        flat = np.arange(self.threads)
        outside = active & ((mask >> lane) & 1 == 0)
        if outside.any():
            self._trouble("SHUFFLE_MASK", "a lane executes a shuffle whose mask does not name it", outside)
        executing = np.zeros(self.threads, np.int64)
        np.bitwise_or.at(executing, base, np.where(active, np.int64(1) << lane, 0))
        last = (flat // self.per_block + 1) * self.per_block
        present = (np.int64(1) << np.minimum(32, last - base)) - 1
        missing = active & ((mask & present & ~executing[base]) != 0)
        if missing.any():
            self._trouble("SHUFFLE_DIVERGENT", "a lane that the mask names does not execute the shuffle", missing)
        inactive = active & ((executing[base] >> source) & 1 == 0)
        if inactive.any():
            self._trouble("SHUFFLE_INACTIVE", f"lane {int(source[np.argmax(inactive)])} is read but not active", inactive)


def _element_bytes(memory: Memory) -> int:
    size = memory.data.itemsize * (1 if memory.type in NUMPY else int(memory.type[-1]))
    return 2 if memory.type == "bf16" else size


def _flat(init: Any) -> list[Any]:
    return [leaf for item in init.exprs for leaf in _flat(item)] if isinstance(init, c_ast.InitList) else [init]
