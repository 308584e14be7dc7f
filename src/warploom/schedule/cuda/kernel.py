"""A nest as a CUDA C++ kernel, with the facts of its launch.

Block and thread loops become hardware indices; thread nests one after another share them, and those with fewer iterations are
guarded. Registers are arrays whose indices are constants once the unrolled loops around are unrolled: none is in local memory.

Source: Beaugnon et al., On the Representation of Partially Specified Implementations, section 4.5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.core import Diagnostic, DType, UnsupportedError
from warploom.core.launch import MAX_GRID, STATIC_SHARED_BYTES
from warploom.ctext import (
    CUDA_FUNCTIONS,
    Text,
    array_declaration,
    binary,
    cuda_type,
    decimal,
    includes,
    kernel_head,
    rest_of_warps,
    total,
)
from warploom.schedule.backbone import Parameter, Role, RunTimeSize
from warploom.schedule.cost import registers_of
from warploom.schedule.cuda.accesses import Accesses
from warploom.schedule.cuda.body import Body
from warploom.schedule.cuda.combine import Combinations
from warploom.schedule.cuda.context import AXES, Context
from warploom.schedule.cuda.facts import NestFacts, gather, loops_of
from warploom.schedule.cuda.helpers import helper_texts, joined
from warploom.schedule.cuda.indices import Indices
from warploom.schedule.cuda.lines import Item, Line, text_of, with_declarations
from warploom.schedule.cuda.matrices import Matrices
from warploom.schedule.cuda.options import Options
from warploom.schedule.cuda.pipeline import Pipeline, direct_copies, plan
from warploom.schedule.nest import Buffer, Kind, Loop, Nest, Products, Space, Trips, Value, at_value, launch_digits, products_of

_DEFAULTS = Options()
_WORD_BYTES = 16
_MANY_REGISTERS = 64
"""Registers of a thread, by estimate, from which on compilers may store some to have room for one more block."""


@dataclass(frozen=True, slots=True)
class CudaKernel:
    name: str
    text: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    arrays: tuple[Buffer, ...]
    """Arguments: inputs and outputs, each aligned to 16 bytes."""
    block_arrays: tuple[Buffer, ...]
    """Further arguments: temporaries of the blocks, `elements * copies` for each block."""
    parameters: tuple[Parameter, ...]
    """Last arguments."""
    static_shared_bytes: int
    dynamic_shared_bytes: int
    options: Options
    run_time: tuple[tuple[RunTimeSize, int], ...] = ()
    """Arguments behind the parameters, of type int, each with the value for which grid and arrays are described."""
    open_grid: tuple[Trips | None, ...] = (None, None, None)
    """How many blocks there are along each dimension, where that is known at run time."""
    has_groups: bool = False
    """Whether groups of four warps multiply together: by instructions of one architecture and no later one."""
    open_loops: tuple[Trips, ...] = ()
    """Rounds of the sequential loops of which that is known at run time."""

    def at(self, sizes: Mapping[str, int]) -> CudaKernel:
        """The same text, described for these values of its sizes known at run time. KeyError where one is missing."""
        was = {size.name: value for size, value in self.run_time}
        x, y, z = (n if t is None else t.of(sizes) for n, t in zip(self.grid, self.open_grid, strict=True))
        return replace(
            self,
            grid=(x, y, z),
            arrays=tuple(at_value(b, was, sizes) for b in self.arrays),
            run_time=tuple((size, sizes[size.name]) for size, _ in self.run_time),
        )

    @property
    def arch(self) -> str:
        """Architecture to compile for: `sm_90`, or `sm_90a` for instructions that no later one has."""
        return self.options.arch + ("a" if self.has_groups and not self.options.arch.endswith("a") else "")

    @property
    def is_launchable(self) -> bool:
        """Whether a grid can have as many blocks."""
        return all(n <= most for n, most in zip(self.grid, MAX_GRID, strict=True))

    @property
    def grid_texts(self) -> tuple[str, ...]:
        """The grid, with formulas where it is known at run time."""
        return tuple(
            str(n) if t is None else t.size.text if t.per == 1 else f"ceil({t.size.factor} / {t.per})"
            for n, t in zip(self.grid, self.open_grid, strict=True)
        )

    @property
    def threads(self) -> int:
        return math.prod(self.block)

    @property
    def blocks(self) -> int:
        return math.prod(self.grid)

    @property
    def shared_bytes(self) -> int:
        return self.static_shared_bytes + self.dynamic_shared_bytes


def cuda_kernel(nest: Nest, options: Options = _DEFAULTS) -> CudaKernel:
    """UserError (NEST_LOOPS) for a nest no launch can run, UnsupportedError for what CUDA C++ here cannot express."""
    copied = direct_copies(nest) if options.has_async_copies else {}
    pipelines: dict[int, Pipeline] = {}
    values: list[Value] = list(nest.values)
    for loop in loops_of(nest.body):
        found = plan(loop, nest, frozenset(copied))
        if found is not None:
            pipelines[loop.number] = found[0]
            for number, value in enumerate(found[1]):
                if len(value.axes) > len(values[number].axes):
                    values[number] = value
    facts = gather(replace(nest, values=tuple(values)))
    if facts.open_blocks and facts.block_arrays():
        counting = ", ".join(dict.fromkeys(trips.size.name for trips in facts.open_blocks.values()))
        message = f"expected no temporaries of blocks in global memory where {counting} counts the blocks"
        raise UnsupportedError(Diagnostic("CUDA_SPACE", message))
    indices = Indices(facts.loops, facts.unrolled, facts.grid, facts.shape, facts.open_blocks, facts.digits)
    parts = [_together(part, options) for part in products_of(nest) if part.instruction.factor in options.matrices]
    context = Context(facts, options, indices, copied, {number: part for part in parts for number in part.loops})
    name = indices.names.fresh(nest.name, CUDA_FUNCTIONS)
    context.buffers += [indices.names.fresh(b.name) for b in nest.buffers]
    context.parameters |= {p.name: indices.names.fresh(p.name) for p in nest.parameters}
    indices.sizes |= {size.name: indices.names.fresh(size.name) for size, _ in nest.run_time}
    context.values += [indices.names.fresh(v.name) for v in nest.values]
    body = Body(context, pipelines, Accesses(context), Combinations(context), Matrices(context))
    items = with_declarations(body.block(nest.body), context.declaration, context.word)
    return _assembled(context, name, items)


def _together(part: Products, options: Options) -> Products:
    """The part by single warps where the machine has no groups of them."""
    return part if part.instruction.factor in options.group_matrices else replace(part, group=None)


def cuda_program(kernels: Sequence[CudaKernel]) -> str:
    """One text of several kernels of different names."""
    return joined([kernel.text for kernel in kernels])


def _assembled(context: Context, name: str, items: list[Item]) -> CudaKernel:
    facts, options = context.facts, context.options
    nest = facts.nest
    arrays = _shared_arrays(context)
    total = sum(a.size_bytes for a in arrays)
    is_dynamic = total > STATIC_SHARED_BYTES
    alignment = max([_WORD_BYTES, *(a.alignment for a in arrays)])
    top: list[Item] = [*_hardware(context), *_block_pointers(context)]
    if is_dynamic:
        top.append(Line(f"extern __shared__ __align__({alignment}) unsigned char shared_bytes[];"))
    offset = 0
    for array in arrays:
        word = cuda_type(array.dtype)
        if is_dynamic:
            top.append(Line(f"{word}* {array.name} = reinterpret_cast<{word}*>(shared_bytes + {offset});"))
        else:
            declared = array_declaration(array.dtype, array.name, [array.elements], is_shared=True, alignment=array.alignment)
            top.append(Line(declared))
        offset += array.size_bytes
    top += context.indices.scope.lines
    body = "\n".join(text_of([*top, Line(""), *items] if top else items, 1))
    blocks = [_counted(context, facts.open_blocks.get(axis), size) for axis, size in enumerate(facts.grid)]
    launch = f"// grid {' x '.join(blocks)}, block {' x '.join(map(str, facts.block))}"
    launch += f", {total} bytes of shared memory{' asked for at the launch' if is_dynamic else ''}" if total else ""
    helpers = helper_texts(context.helpers)
    text = "\n".join([*_includes(nest), *helpers, launch, *_signature(context, name), "{", body, "}", ""])
    return CudaKernel(
        name=name,
        text=text,
        grid=facts.grid,
        block=facts.block,
        arrays=tuple(nest.buffers[n] for n in _arguments(nest)),
        block_arrays=tuple(nest.buffers[n] for n in facts.block_arrays()),
        parameters=nest.parameters,
        run_time=nest.run_time,
        open_grid=tuple(facts.open_blocks.get(axis) for axis in range(3)),
        open_loops=tuple(dict.fromkeys(x.trips for x in loops_of(nest.body) if x.trips is not None and x.kind is not Kind.BLOCK)),
        has_groups=any(part.group is not None for part in context.products.values()),
        static_shared_bytes=0 if is_dynamic else total,
        dynamic_shared_bytes=total if is_dynamic else 0,
        options=options,
    )


@dataclass(frozen=True, slots=True)
class _Shared:
    name: str
    dtype: DType
    elements: int
    alignment: int
    """Bytes; no more than the accesses need, or compilers read beyond the end."""

    @property
    def size_bytes(self) -> int:
        return -(-self.elements * self.dtype.size_bytes // _WORD_BYTES) * _WORD_BYTES


def _shared_arrays(context: Context) -> list[_Shared]:
    nest = context.facts.nest
    found: list[_Shared] = []
    for number in context.facts.shared_arrays():
        buffer = nest.buffers[number]
        elements, alignment = buffer.elements * buffer.copies, math.gcd(_WORD_BYTES, buffer.elements * buffer.dtype.size_bytes)
        if number in context.vectors:
            alignment = _WORD_BYTES
            each = _WORD_BYTES // buffer.dtype.size_bytes
            elements = -(-elements // each) * each
        found.append(_Shared(context.buffers[number], buffer.dtype, elements, max(alignment, buffer.alignment)))
    found += [_Shared(*entry) for entry in context.scratch]
    return sorted(
        found, key=lambda a: a.alignment <= _WORD_BYTES
    )  # what is aligned further fills whole units: nothing lies between


def _arguments(nest: Nest) -> list[int]:
    numbers = [n for n, b in enumerate(nest.buffers) if b.role is not Role.TEMPORARY]
    if any(nest.buffers[n].space is not Space.GLOBAL for n in numbers):
        raise UnsupportedError(Diagnostic("CUDA_SPACE", "expected inputs and outputs in global memory, got one in shared memory"))
    return numbers


def _signature(context: Context, name: str) -> list[str]:
    facts, options = context.facts, context.options
    nest = facts.nest
    words: list[str] = []
    for number in (*_arguments(nest), *facts.block_arrays()):
        buffer = nest.buffers[number]
        const = "" if number in facts.written else "const "
        label = context.buffers[number]
        words.append(
            f"{const}{cuda_type(buffer.dtype)}* __restrict__ {f'{label}_all' if number in facts.block_arrays() else label}"
        )
    words += [f"{cuda_type(p.dtype)} {context.parameters[p.name]}" for p in nest.parameters]
    words += [f"int {context.indices.sizes[size.name]}" for size, _ in nest.run_time]
    together = options.blocks_together or (1 if registers_of(nest) >= _MANY_REGISTERS else None)
    start = kernel_head(facts.threads, blocks_together=together, most_registers=options.register_limit)
    if sum(len(w) + 2 for w in words) <= 120:
        return [start, f"{name}({', '.join(words)})"]
    return [start, f"{name}(", *(f"    {w}{',' if n + 1 < len(words) else ')'}" for n, w in enumerate(words))]


def _hardware(context: Context) -> list[Item]:
    facts = context.facts
    lines: list[Item] = []
    for kind, sizes in ((Kind.BLOCK, facts.grid), (Kind.THREAD, facts.shape)):
        for axis, size in enumerate(sizes):
            trips = facts.open_blocks.get(axis) if kind is Kind.BLOCK else None
            if size > 1 or trips is not None:
                named = [loop.name for loop in facts.loops.values() if _is_on(loop, kind, axis)]
                comment = ", ".join(dict.fromkeys(named))
                text = context.indices.texts[kind.value, axis]
                index = f"blockIdx.{AXES[axis]}" if kind is Kind.BLOCK else _thread_index(facts, axis).text
                lines.append(Line(f"const int {text} = {index};  // {comment}: {_counted(context, trips, size)}"))
    whole = _thread(context, lines)
    for number, (digit, size) in enumerate(facts.digits):
        if context.indices.highs["digit", number]:
            index = _part(whole, digit.step, None if digit.is_last else size)
            named = dict.fromkeys(loop.name for loop in facts.loops.values() if (loop.digit, loop.size) == (digit, size))
            text = context.indices.texts["digit", number]
            lines.append(Line(f"const int {text} = {index.text};  // {', '.join(named)}: {size}"))
    if context.warp_mask is not None:
        full, rest = rest_of_warps(facts.threads)
        mask = f"{whole.text} < {full} ? 0xffffffffu : 0x{rest:08x}u"
        lines.append(Line(f"const unsigned {context.warp_mask} = {mask};"))
    return lines


def _thread(context: Context, lines: list[Item]) -> Text:
    """A thread's number in its block, by which warps are counted; named where the launch's indices have several parts."""
    facts = context.facts
    texts = [f"threadIdx.{letter}" for letter in AXES]
    is_plain = facts.nest.lanes is None and all(len(digits) < 2 for digits in launch_digits(facts.nest))
    if is_plain:
        texts = [context.indices.texts["thread", axis] for axis in range(3)]
    number = total([(math.prod(facts.block[:a]), Text(texts[a])) for a, size in enumerate(facts.block) if size > 1])
    if is_plain or (not facts.digits and context.warp_mask is None):
        return number
    name = context.indices.names.fresh("thread")
    lines.append(Line(f"const int {name} = {number.text};"))
    return Text(name)


def _thread_index(facts: NestFacts, axis: int) -> Text:
    """The index along a hardware dimension, by the digits of the launch's indices."""
    weight = 1
    terms: list[tuple[int, Text]] = []
    for letter, digits in zip(AXES, launch_digits(facts.nest), strict=True):
        step, count = 1, math.prod(size for _, size in digits)
        for dimension, size in digits:
            if dimension == axis and size > 1:
                terms.append((weight, _part(Text(f"threadIdx.{letter}"), step, None if step * size == count else size)))
                weight *= size
            step *= size
    return total(terms)


def _part(whole: Text, step: int, size: int | None) -> Text:
    """A digit of a number: how many times `step` it is, less what `size` of these make up."""
    found = whole if step == 1 else binary("/", whole, decimal(step))
    return found if size is None else binary("%", found, decimal(size))


def _counted(context: Context, trips: Trips | None, size: int) -> str:
    return str(size) if trips is None else context.indices.trips(trips).text


def _is_on(loop: Loop, kind: Kind, axis: int) -> bool:
    return loop.kind is kind and loop.hardware == axis


def _block_pointers(context: Context) -> list[Item]:
    grid = context.facts.grid
    block = " + ".join(
        f"blockIdx.{AXES[a]}" + (f" * {math.prod(grid[:a])}" if math.prod(grid[:a]) > 1 else "") for a in range(3) if grid[a] > 1
    )
    lines: list[Item] = []
    for number in context.facts.block_arrays():
        buffer, label = context.facts.nest.buffers[number], context.buffers[number]
        word = f"{'' if number in context.facts.written else 'const '}{cuda_type(buffer.dtype)}*"
        size = buffer.elements * buffer.copies
        own = f" + static_cast<long long>({block}) * {size}" if block else ""
        lines.append(Line(f"{word} {label} = {label}_all{own};"))
    return lines


def _includes(nest: Nest) -> list[str]:
    dtypes: set[DType] = {b.dtype for b in nest.buffers} | {v.dtype for v in nest.values} | {p.dtype for p in nest.parameters}
    lines = includes(dtypes)
    return [*lines, ""] if lines else []
