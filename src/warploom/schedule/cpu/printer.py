"""A nest as C: named registers, vectors, guards tested as far out as the loops allow.

Unrolled loops are written out. A loop whose guards hold for a range of its index is split there: the range runs without tests.
Loads of arrays that nothing writes are put before their first use, which keeps registers free.

A loop with `stages` prefetches for its iteration `stages - 1` further on; barriers mean nothing on one thread.

Goals: the innermost loops of the interior are as the nest says. Non-goals: reordering statements, pipelining.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from warploom.core import WORDS, Diagnostic, UnsupportedError, bf16
from warploom.ctext import Text, binary, block_comment, call, cast_to, decimal, every, plus, unary
from warploom.schedule.cpu.accesses import Accesses, is_common, is_external, pointer_text
from warploom.schedule.cpu.affine import Indices, affine_text
from warploom.schedule.cpu.guards import first_holding, guards_of, has_running, is_statement, runs_inside
from warploom.schedule.cpu.helpers import Helpers, c_type
from warploom.schedule.cpu.registers import Registers, free_names, fresh
from warploom.schedule.cpu.scope import Scope
from warploom.schedule.cpu.statements import Statements
from warploom.schedule.cpu.surpluses import surpluses
from warploom.schedule.cpu.tiles import ALLOWED, END, START, SUPPORT, Tiles, condition_of
from warploom.schedule.nest import (
    Buffer,
    Guard,
    Kind,
    Load,
    Loop,
    Memory,
    Nest,
    Node,
    Store,
    TileProducts,
    Trips,
    blocks_of,
    loops,
    statements,
    tiles_of,
)

_ALIGNMENT = 64
_LINE_BYTES = 64
ENTRY = "warploom_kernel"
SECOND_ENTRY = "warploom_second"


@dataclass(frozen=True, slots=True)
class Shares:
    """Iterations, or bytes, that threads share: a number, times the iterations of loops whose sizes are known at run time."""

    known: int = 0
    trips: tuple[Trips, ...] = ()

    def at(self, sizes: Mapping[str, int]) -> int:
        return self.known * prod(trips.of(sizes) for trips in self.trips)

    @property
    def text(self) -> str:
        """As a formula of C."""
        return _product(self.known, [_tiles(trips) for trips in self.trips]).text


NO_SHARES = Shares()


@dataclass(frozen=True, slots=True)
class Source:
    text: str
    units: int
    """Iterations of the shared loops together."""
    scratch_bytes: int
    """Scratch memory of each thread."""
    entry: str = ENTRY
    """The function's name."""
    buffers: tuple[Buffer, ...] = ()
    """The arrays of a call, in order."""
    second_entry: str = ""
    """Entry of the part that runs when all units are done, with the same arrays; empty: there is none."""
    second_units: int = 0
    common_bytes: tuple[int, ...] = ()
    """Bytes of further arrays of a call, behind `buffers`: the data that the second part gets from the first."""
    units_text: str = ""
    """`units`, and `second_units`, as formulas where sizes are known at run time."""
    second_units_text: str = ""
    shares: Shares = NO_SHARES
    """`units`, and `second_units`, for every value of the sizes known at run time."""
    second_shares: Shares = NO_SHARES
    common_shares: tuple[Shares, ...] = ()
    """`common_bytes`, for every value of those sizes."""


def c_source(nest: Nest) -> Source:
    """UnsupportedError for thread loops and for element types that C lacks."""
    text, (source,) = c_program([nest])
    return replace(source, text=text)


def c_program(nests: Sequence[Nest]) -> tuple[str, tuple[Source, ...]]:
    """One C text of several kernels, and each with the text of its functions; these are numbered from 1 if there are several
    kernels. Raises as `c_source`."""
    helpers = Helpers()
    suffixes = [f"_{n}" for n in range(1, len(nests) + 1)] if len(nests) > 1 else [""]
    sources = tuple(_source(nest, helpers, suffix) for nest, suffix in zip(nests, suffixes, strict=True))
    heads = [
        f"{block_comment(f'{n.name}: units {s.units_text}, scratch {s.scratch_bytes} bytes per thread')}\n"
        for n, s in zip(nests, sources, strict=True)
    ]
    return "".join(heads) + helpers.text() + "".join(f"\n{source.text}" for source in sources), sources


def _source(nest: Nest, helpers: Helpers, suffix: str) -> Source:
    blocks = blocks_of(nest)
    shared = (*blocks.around, *blocks.inner)
    for dtype in dict.fromkeys(b.dtype for b in nest.buffers if b.dtype in WORDS.values()):
        helpers.word(dtype)
    first, name = _Printer(nest, helpers), f"kernel{suffix}"
    text, condition = first.function(name, shared, blocks.body), ""
    if tiles := tiles_of(nest):
        condition = condition_of(tiles)
        helpers.only_where(condition, SUPPORT)
        text += f"\n#if {condition}\n{_Printer(nest, helpers, tiles).function(f'{name}_tiles', shared, blocks.body)}#endif\n"
    text += "\n" + first.entry(f"{ENTRY}{suffix}", name, condition)
    if blocks.rest:
        rest, name = _Printer(nest, helpers), f"second{suffix}"
        text += f"\n{rest.function(name, blocks.around, blocks.rest)}\n{rest.entry(f'{SECOND_ENTRY}{suffix}', name)}"
    return Source(
        text,
        prod(loop.size for loop in shared),
        first.scratch()[1],
        f"{ENTRY}{suffix}",
        tuple(b for b in nest.buffers if is_external(b)),
        f"{SECOND_ENTRY}{suffix}" if blocks.rest else "",
        prod(loop.size for loop in blocks.around) if blocks.rest else 0,
        tuple(b.elements * b.dtype.size_bytes for b in nest.buffers if is_common(b)),
        iterations_text(shared),
        iterations_text(blocks.around),
        _shares(shared),
        _shares(blocks.around) if blocks.rest else Shares(),
        tuple(_bytes(b, nest) for b in nest.buffers if is_common(b)),
    )


class _Printer:
    """Prints one part of a kernel."""

    def __init__(self, nest: Nest, helpers: Helpers, tiles: Sequence[TileProducts] = ()) -> None:
        """tiles: parts that run in tile registers."""
        self.nest = nest
        self.helpers = helpers
        names = free_names()
        for size, _ in nest.run_time:
            if fresh(names, size.name) != size.name:
                message = f"expected a size known at run time whose name is free in C, got {size.name}"
                raise UnsupportedError(Diagnostic("CPU_NAME", message, fix="Rename it in the function."))
        if any(b.inner for b in nest.buffers):
            raise UnsupportedError(
                Diagnostic("CPU_STRIDE", "expected strides with one value on the CPU, got some known at run time")
            )
        self.loops = {loop.number: loop for loop in loops(nest.body)}
        if any(loop.kind is Kind.THREAD for loop in self.loops.values()):
            raise UnsupportedError(Diagnostic("CPU_THREAD_LOOP", "expected block loops only on the CPU, got a thread loop"))
        self.buffers = tuple(fresh(names, b.name) for b in nest.buffers)
        self.parameters = {p.name: fresh(names, p.name) for p in nest.parameters}
        self.variables = {n: fresh(names, loop.name) for n, loop in self.loops.items()}
        self.scope = Scope(Indices({n: loop.most for n, loop in self.loops.items()}, {}))
        self.surpluses = surpluses(nest)
        in_memory = frozenset(part.sum.target.value for part in tiles)
        self.registers = Registers(nest, self.loops, names, [s.value for s in self.surpluses.values()], in_memory)
        accesses = Accesses(nest.buffers, self.buffers, self.helpers, self.scope)
        self.tiles = Tiles(nest, {part.top: part for part in tiles}, accesses, self.registers, self.variables)
        self.statements = Statements(nest, accesses, self.registers, self.parameters, self.surpluses)
        self.written = _written(nest.body)
        self.spurned: frozenset[Guard] = frozenset()
        """Guards tested at each statement here."""
        self.running: list[Loop] = []
        """Sequential loops around this place."""

    # The frame

    def function(self, name: str, chain: Sequence[Loop], body: Sequence[Node]) -> str:
        """The function over units [begin, end) of the chain."""
        if chain:
            self.scope.line("for (Index unit = begin; unit < end; ++unit) {")
            self.scope.depth += 1
            for n, loop in enumerate(chain):
                rest = _iterations(chain[n + 1 :])
                unit = Text("unit") if len(chain) == 1 else cast_to("size_t", Text("unit"))  # without a sign `/` is a shift
                text = unit if rest == decimal(1) else binary("/", unit, rest)
                text = binary("%", text, _iterations([loop])) if n else text
                self.scope.line(f"const Index {self.variables[loop.number]} = {text.text};")
                self.scope.indices.at[loop.number] = self.variables[loop.number]
        self.body(body)
        if chain:
            self.scope.depth -= 1
            self.scope.line("}")
        declarations = [
            "    " + self.registers.declaration(n, frozenset(used), self.helpers)
            for n, used in sorted(self.statements.used.items())
            if used
        ]
        lines = [*self.scratch()[0], *declarations, *self.scope.lines]
        if self.tiles.parts:
            lines = [f"    {START}", *lines, f"    {END}"]
        text = "\n".join(lines)
        heads, _ = self.arguments()
        return (
            f"static void {name}({', '.join([*heads, 'Index begin', 'Index end', 'char *scratch'])}) {{\n{text}\n"
            f"    (void)begin, (void)end, (void)scratch;\n}}\n"
        )

    def entry(self, name: str, function: str, tiles: str = "") -> str:
        """The function that is called from outside, which calls that one. tiles: the condition on which there is one with tile
        registers, too, which is called where the system lends them."""
        _, passed = self.arguments()
        arguments = f"({', '.join([*passed, 'begin', 'end', 'scratch'])});\n"
        text = f"    {function}{arguments}"
        if tiles:
            in_tiles = f"    if ({ALLOWED}()) {{\n        {function}_tiles{arguments}        return;\n    }}"
            text = f"#if {tiles}\n{in_tiles}\n#endif\n{text}"
        return (
            f"void {name}(void *const *arrays, const double *parameters, Index begin, Index end, char *scratch) {{\n"
            f"    (void)arrays, (void)parameters;\n{text}}}\n"
        )

    def arguments(self) -> tuple[list[str], list[str]]:
        heads: list[str] = []
        passed: list[str] = []
        named = list(enumerate(zip(self.buffers, self.nest.buffers, strict=True)))
        for is_given in (is_external, is_common):
            for n, (name, buffer) in named:
                if is_given(buffer):
                    const = "" if n in self.written else "const "
                    heads.append(f"{const}{c_type(buffer.dtype if buffer.spread == 1 else buffer.held[0])} *restrict {name}")
                    passed.append(f"arrays[{len(passed)}]")
        for n, parameter in enumerate(self.nest.parameters):
            if parameter.dtype == bf16:
                message = f"expected a scalar of a type that C has, got {parameter.name} of bf16"
                raise UnsupportedError(Diagnostic("CPU_TYPE", message, fix="Declare it as f32."))
            heads.append(f"const {c_type(parameter.dtype)} {self.parameters[parameter.name]}")
            passed.append(f"({c_type(parameter.dtype)})parameters[{n}]")
        for n, (size, _) in enumerate(self.nest.run_time, len(self.nest.parameters)):
            heads.append(f"const Index {size.name}")
            passed.append(f"(Index)parameters[{n}]")
        return heads, passed

    def scratch(self) -> tuple[list[str], int]:
        lines: list[str] = []
        offset = 0
        for name, buffer in zip(self.buffers, self.nest.buffers, strict=True):
            if not is_external(buffer) and not is_common(buffer):
                scalar = c_type(buffer.dtype)
                lines.append(f"    {scalar} *restrict {name} = ({scalar} *)(scratch + {offset});")
                size = buffer.elements * buffer.copies * buffer.dtype.size_bytes
                offset += -(-size // _ALIGNMENT) * _ALIGNMENT + _ALIGNMENT
        return lines, offset

    # Loops and guards

    def body(self, nodes: Sequence[Node]) -> None:
        """Statements of one place: tested together where all guards are known here."""
        open_guards = self.open_guards(nodes)
        if open_guards and not self.involves_inner(open_guards, nodes) and not is_statement(nodes):
            self.two_versions(open_guards, lambda: self.plain_body(nodes))
        else:
            self.plain_body(nodes)

    def plain_body(self, nodes: Sequence[Node]) -> None:
        group: list[Node] = []
        whole = self.tiles.whole(nodes)
        for n, node in enumerate((*nodes, None)):
            if n + 1 in whole or n - 1 in whole:
                continue
            if node is not None and not has_running(node):
                group.append(node)
                continue
            if group:
                guards = self.open_guards(group)
                if guards and not is_statement(group) and len(group) < len(nodes):
                    statements = tuple(group)
                    self.two_versions(guards, lambda statements=statements: self.statements.straight(statements))
                else:
                    self.statements.straight(group)
                group = []
            if isinstance(node, Loop):
                self.statements.flush()
                if (part := self.tiles.part(node)) is not None:
                    self.tiles.print(part, whole.get(n))
                elif self.statements.is_turned(node):
                    pass
                elif node.kind is Kind.LOOP or node.kind is Kind.BLOCK:
                    self.running_loop(node)
                else:
                    for n in range(node.size):
                        self.scope.indices.at[node.number] = n
                        self.body(node.body)
                    del self.scope.indices.at[node.number]
        self.statements.flush()

    def two_versions(self, guards: Sequence[Guard], body: Callable[[], None]) -> None:
        self.statements.flush()
        self.scope.line(f"if ({every(self.scope.tests(guards)).text}) {{")
        self.nested(body, settled=guards)
        self.scope.line("} else {")
        self.nested(body, spurned=guards)
        self.scope.line("}")

    def nested(self, body: Callable[[], None], settled: Sequence[Guard] = (), spurned: Sequence[Guard] = ()) -> None:
        before = self.scope.settled, self.spurned
        self.scope.settled |= frozenset(settled)
        self.spurned |= frozenset(spurned)
        self.scope.depth += 1
        body()
        self.statements.flush()
        self.scope.depth -= 1
        self.scope.settled, self.spurned = before

    def running_loop(self, loop: Loop) -> None:
        guards = self.open_guards(loop.body)
        own = [g for g in guards if any(n == loop.number for n, _ in g.index.terms)]
        inside = runs_inside(loop.body)
        if not guards or any(n in inside for g in guards for n, _ in g.index.terms):
            self.counted(loop, "0", _iterations([loop]).text)
        elif not own:
            self.two_versions(guards, lambda: self.counted(loop, "0", _iterations([loop]).text))
        else:
            self.split_loop(loop, guards, own)

    def split_loop(self, loop: Loop, guards: Sequence[Guard], own: Sequence[Guard]) -> None:
        """Prints the loop in three parts: before the range where all guards hold, in it, and behind it."""
        variable = self.variables[loop.number]
        others = self.scope.tests([g for g in guards if g not in own])
        lows, highs = first_holding(own, loop, self.scope.indices)
        trips = _iterations([loop]).text
        self.scope.line("{")
        self.scope.depth += 1
        self.scope.line(f"Index {variable}_from = 0, {variable}_to = {trips};")
        for text in lows:
            self.scope.line(f"if ({variable}_from < {text.text}) {variable}_from = {text.text};")
        for text in highs:
            self.scope.line(f"if ({variable}_to > {text.text}) {variable}_to = {text.text};")
        if others:
            self.scope.line(f"if ({unary('!', every(others)).text}) {variable}_to = 0;")
        if lows:
            self.scope.line(f"if ({variable}_from > {trips}) {variable}_from = {trips};")
            self.nested_loop(loop, "0", f"{variable}_from", spurned=guards)
        self.scope.line(f"if ({variable}_to < {variable}_from) {variable}_to = {variable}_from;")
        self.nested_loop(loop, f"{variable}_from", f"{variable}_to", settled=guards)
        self.nested_loop(loop, f"{variable}_to", trips, spurned=guards)
        self.scope.depth -= 1
        self.scope.line("}")

    def nested_loop(
        self, loop: Loop, start: str, stop: str, settled: Sequence[Guard] = (), spurned: Sequence[Guard] = ()
    ) -> None:
        self.scope.depth -= 1
        self.nested(lambda: self.counted(loop, start, stop), settled, spurned)
        self.scope.depth += 1

    def counted(self, loop: Loop, start: str, stop: str) -> None:
        variable = self.variables[loop.number]
        self.statements.flush()
        self.scope.line(f"for (Index {variable} = {start}; {variable} < {stop}; ++{variable}) {{")
        self.scope.indices.at[loop.number] = variable
        if tests := self.scope.tests(loop.only):
            self.scope.line(f"    if ({unary('!', every(tests)).text}) continue;")
        self.running.append(loop)
        for around in self.running:
            if around.stages > 1:
                self.prefetch(around, loop)
        self.nested(lambda: self.body(loop.body))
        self.running.pop()
        del self.scope.indices.at[loop.number]
        self.scope.line("}")

    def prefetch(self, loop: Loop, here: Loop) -> None:
        """Hints for the arguments read `stages - 1` iterations of `loop` later, where each iteration of `here`, that loop or one
        inside it, reads other lines of them and no loop further inside does. What lies behind the loop's end is for those that a
        loop around it moves on as far."""
        seen: set[tuple[int, int]] = set()
        for memory, indices in self.reads(here.body, self.scope.indices):
            buffer = self.nest.buffers[memory.buffer]
            strides = dict(memory.offset.terms)
            line = max(1, _LINE_BYTES // buffer.dtype.size_bytes)
            further = strides.get(loop.number, 0) * (loop.stages - 1)
            is_next = further in (stride for number, stride in strides.items() if number != loop.number)
            if not is_external(buffer) or abs(strides.get(here.number, 0)) < line or abs(further) < line:
                continue
            if loop.stages > loop.size and not is_next:
                continue
            place = indices.place(memory.offset)
            constant = place.constant + further
            if (memory.buffer, constant // line) not in seen:
                seen.add((memory.buffer, constant // line))
                pointer = pointer_text(self.buffers[memory.buffer], affine_text(constant, place.terms))
                self.scope.lines.append("    " * (self.scope.depth + 1) + f"{call('__builtin_prefetch', pointer).text};")

    def reads(self, nodes: Sequence[Node], indices: Indices) -> Iterator[tuple[Memory, Indices]]:
        """Loads of a loop's body, one per iteration of unrolled loops and per vector; of running loops inside, those of the first
        iteration that stay within a line of it."""
        for node in nodes:
            match node:
                case Load(memory=memory):
                    yield memory, indices
                case Loop(kind=Kind.UNROLL, number=number, size=size, body=body):
                    for n in range(size):
                        yield from self.reads(body, Indices(indices.sizes, indices.at | {number: n}))
                case Loop(kind=kind, number=number, body=body):
                    for memory, at in self.reads(body, Indices(indices.sizes, indices.at | {number: 0})):
                        width = self.nest.buffers[memory.buffer].dtype.size_bytes
                        stride = dict(memory.offset.terms).get(number, 0) * width
                        if kind is Kind.VECTOR or abs(stride) < _LINE_BYTES:
                            yield memory, at
                case _:
                    pass

    def open_guards(self, nodes: Sequence[Node]) -> list[Guard]:
        """Guards that are neither certain nor settled nor given up, each once."""
        found = dict.fromkeys(guards_of(nodes))
        return [g for g in found if g not in self.spurned and not self.scope.is_certain(g)]

    def involves_inner(self, guards: Sequence[Guard], nodes: Sequence[Node]) -> bool:
        inside = runs_inside(nodes)
        return any(n in inside for g in guards for n, _ in g.index.terms)


def _shares(around: Sequence[Loop]) -> Shares:
    known = prod(loop.size for loop in around if loop.trips is None)
    return Shares(known, tuple(loop.trips for loop in around if loop.trips is not None))


def _bytes(buffer: Buffer, nest: Nest) -> Shares:
    values = {size.name: value for size, value in nest.run_time}
    parts = prod(max(1, trips.of(values)) for trips in buffer.trips)
    known = buffer.elements * buffer.dtype.size_bytes // parts
    return Shares(known, buffer.trips)


def iterations_text(nested: Sequence[Loop]) -> str:
    """Iterations of loops in one another, as a formula where sizes are known at run time."""
    return _iterations(nested).text


def _iterations(nested: Sequence[Loop]) -> Text:
    """Number of iterations of nested loops: a constant, or a product with the tile counts of sizes known at run time."""
    open_ = [_tiles(loop.trips) for loop in nested if loop.trips is not None]
    return _product(prod(loop.size for loop in nested if loop.trips is None), open_)


def _product(known: int, open_: Sequence[Text]) -> Text:
    texts = open_ if known == 1 and open_ else [*open_, decimal(known)]
    text = texts[0]
    for other in texts[1:]:
        text = binary("*", text, other)
    return text


def _tiles(trips: Trips) -> Text:
    assert trips.size.per == 1, "rounds of parts are for GPUs"
    more = plus(Text(trips.size.name), trips.size.more + trips.per - 1)
    return more if trips.per == 1 else binary("/", more, decimal(trips.per))


def _written(nodes: Sequence[Node]) -> frozenset[int]:
    return frozenset(s.memory.buffer for s, _ in statements(tuple(nodes)) if isinstance(s, Store))
