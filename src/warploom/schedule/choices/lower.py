"""Makes the loop nest of a fully decided candidate.

    merged dims -> loops, siblings in order (`lower_tree`) -> hardware dimensions (`lower_hardware`) -> registers and reductions
    (`lower_values`) -> statements with places in memory (`lower_memory`) -> copies by all threads (`lower_spread`) -> loops that
    fill temporaries ahead (`lower_pipeline`) -> barriers

Goal: every decided candidate becomes a nest that computes what the backbone says; contradictions raise `LoweringError`. Non-goal:
judging the candidate.

Source: Beaugnon et al., On the Representation of Partially Specified Implementations, section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from warploom.core.linear import Linear
from warploom.schedule.backbone import (
    Carry,
    Constant,
    Operator,
    Parameter,
    Position,
    Previous,
    Result,
    Symmetry,
    run_time_values,
    symmetry_of,
)
from warploom.schedule.choices.decided import Decided, LoweringError
from warploom.schedule.choices.lower_direction import backward
from warploom.schedule.choices.lower_hardware import assign_hardware, only_first_threads
from warploom.schedule.choices.lower_kept import Kept
from warploom.schedule.choices.lower_masked import Needed, longest_first, needed_tiles
from warploom.schedule.choices.lower_memory import Places
from warploom.schedule.choices.lower_mirror import Halves, again, halves_of
from warploom.schedule.choices.lower_operations import Operation, Operations, joining_of, operations_of
from warploom.schedule.choices.lower_parts import Parts
from warploom.schedule.choices.lower_pipeline import pipelined
from warploom.schedule.choices.lower_prefetch import fetching
from warploom.schedule.choices.lower_spread import spread
from warploom.schedule.choices.lower_swizzle import in_atoms, swizzled
from warploom.schedule.choices.lower_tree import Branch, Item, Tree, build_tree
from warploom.schedule.choices.lower_twins import with_one_copy
from warploom.schedule.choices.lower_values import Cell, Reduction, Registers, Start, assign_registers
from warploom.schedule.choices.lower_window import windowed
from warploom.schedule.choices.warps import with_shaped_warps
from warploom.schedule.nest import (
    Argument,
    Buffer,
    Combine,
    Compute,
    Guard,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Store,
    buffer_of,
    bytes_of_shared,
    with_barriers,
)


def lower(decided: Decided) -> Nest:
    """The loop nest of a candidate in which every choice has one value."""
    operations = operations_of(decided)
    tree = build_tree(decided, operations)
    assign_hardware(decided, tree)
    registers = assign_registers(decided, operations, tree)
    first = len(decided.backbone.regions)
    places = Places(decided, operations, tree, {t.region: first + n for n, t in enumerate(decided.temporaries())})
    writer = _Writer(decided, operations, tree, registers, places, _gap(tree))
    symmetry = symmetry_of(decided.backbone) if decided.is_mirrored() else None
    if symmetry is not None:
        writer.mirror(symmetry)
    writer.needed = needed_tiles(operations, tree, places.index)
    writer.place_reductions()
    backbone = decided.backbone
    buffers = [buffer_of(region) for region in backbone.regions]
    run_time = run_time_values(backbone)
    buffers += [places.buffer(t) for t in decided.temporaries()]
    buffers += writer.arrays
    parameters = dict.fromkeys(o for i in backbone.instructions for o in i.operands if isinstance(o, Parameter))
    nest = Nest(backbone.name, tuple(buffers), tuple(parameters), registers.values(), writer.nodes(tree.children), run_time)
    nest = with_shaped_warps(nest, decided.warps())
    for number, region in enumerate(backbone.regions):
        if decided.mem_space(number) == "SHARED":
            nest = windowed(nest, number, region, places.indices, places.ends, decided.shared_bytes)
    if decided.has_async_copy:
        for number in range(len(buffers), len(nest.buffers)):  # boxes
            nest = pipelined(nest, number, 2, decided.shared_bytes, has_async_copy=True)
    nest, arrays = _copied_once(decided, tree, nest, places.temporaries)
    for region, array in arrays.items():
        if decided.is_spread(region):
            is_async = decided.has_async_copy and decided.stages(region) > 1
            nest = spread(nest, array, is_async=is_async)
        if decided.swizzle(region) == "PERMUTED":
            nest = swizzled(nest, array)
        if decided.swizzle(region) == "ATOMS":
            nest = in_atoms(nest, array)
        stages = decided.stages(region)
        if stages > 1 and decided.has_threads:
            nest = pipelined(nest, array, stages, decided.shared_bytes, has_async_copy=decided.has_async_copy)
    nest = longest_first(nest) if writer.needed is not None else nest
    if decided.is_backward():
        nest = backward(nest)
    return with_barriers(fetching(nest, decided.fetching()))


def _copied_once(decided: Decided, tree: Tree, nest: Nest, arrays: Mapping[int, int]) -> tuple[Nest, dict[int, int]]:
    """One copy of tiles that hold the same where two sums share their outermost loop; with the buffers of the regions left."""
    left = dict(arrays)
    for twins in decided.twins():
        first, second = (left.get(t.region) for t in (twins.first, twins.second))
        around = [tree.loop_of[s] for s in twins.loops]
        if first is None or second is None or around[0] is None or around[0] is not around[1]:
            continue
        made = with_one_copy(nest, first, second)
        if len(made.buffers) < len(nest.buffers):
            del left[twins.second.region]
            nest, left = made, {region: n - (n > second) for region, n in left.items()}
    if decided.twins() and bytes_of_shared(nest) > decided.shared_bytes:
        raise LoweringError(f"expected one copy of tiles that sums in one loop share, got {bytes_of_shared(nest)} bytes of them")
    return nest, left


def _gap(tree: Tree) -> int:
    """A number above every loop number in use."""
    return max((b.number for b in tree.branches), default=0) + 1


@dataclass(slots=True)
class _Writer:
    decided: Decided
    operations: Operations
    tree: Tree
    registers: Registers
    places: Places
    next_loop: int
    arrays: list[Buffer] = field(default_factory=list[Buffer])
    """Arrays of parts of sums and of kept totals, behind the temporaries."""
    symmetry: Symmetry | None = None
    halves: Halves | None = None
    """The tiles of a symmetric sum that are made."""
    needed: Needed | None = None
    """The tiles that a mask leaves to each block."""

    @property
    def dropped(self) -> frozenset[int]:
        return frozenset(r.init.statement for r in self.registers.reductions.values() if r.drops_init)

    @property
    def _written_last(self) -> frozenset[int]:
        """Statements that run behind all others of a tile, by where it lies."""
        return frozenset() if self.halves is None or self.halves.crossed is None else self.halves.ending

    def nodes(self, items: list[Item]) -> tuple[Node, ...]:
        """The finished nodes of a list of siblings; loops that hold nothing vanish."""
        found: list[Node] = []
        for item in items:
            match item:
                case int():
                    if item not in self.dropped and item not in self._written_last:
                        found.append(self.statement(self.operations.by_statement[item]))
                case Branch():
                    body = self.nodes(item.children)
                    if self.halves is not None and item is self.halves.tile:
                        body = self._half(self.halves, body)
                    if body:
                        found.extend(self._loop(item, body))
                case _:
                    found.append(item)
        return tuple(found)

    def mirror(self, symmetry: Symmetry) -> None:
        """Makes the sum on one side of the diagonal, where the tiles allow that."""
        self.symmetry = symmetry
        self.halves = halves_of(symmetry, self.operations, self.tree, self.registers, self.places.axis_index)

    def _half(self, halves: Halves, body: tuple[Node, ...]) -> tuple[Node, ...]:
        """The tile with its mirror image."""
        endings: list[tuple[str, Guard, tuple[Callable[[int], Node], ...]]] = []
        if halves.crossed is None:
            endings.append(("mirror", halves.mirrored, (self._exchanged,)))
        else:
            endings.append(("mirror", halves.mirrored, (self._own, self._exchanged)))
            endings.append(("diagonal", halves.crossed, (self._own_below, self._exchanged_above)))
        numbers = count(self.next_loop)
        nodes = list(body)
        for name, only, writers in endings:
            ending = tuple(node for write in writers for node in again(halves.tile.children, halves, write, numbers))
            nodes.append(Loop(next(numbers), name, Kind.LOOP, 1, ending, only=(only,)))
        half = Loop(next(numbers), "half", Kind.LOOP, 1, tuple(nodes), only=(halves.computed,))
        self.next_loop = next(numbers)
        return (half,)

    def _own(self, statement: int) -> Node:
        return self.statement(self.operations.by_statement[statement])

    def _exchanged(self, statement: int) -> Node:
        """The statement for the element on the other side of the diagonal."""
        symmetry = self.symmetry
        assert symmetry is not None
        made = symmetry.exchanged(self.decided.backbone.instructions[statement])
        operation = self.operations.by_statement[statement]
        operands = zip(operation.operands, made.operands, strict=True)
        exchanged = tuple(new if isinstance(old, Position) else old for old, new in operands)
        return self.statement(replace(operation, access=made.access, operands=exchanged))

    def _own_below(self, statement: int) -> Node:
        """The same for elements on the diagonal and below alone."""
        return self._from_diagonal(statement, self._own(statement), 0)

    def _exchanged_above(self, statement: int) -> Node:
        """The same for elements above the diagonal alone, those on the other side of what is below it."""
        return self._from_diagonal(statement, self._exchanged(statement), 1)

    def _from_diagonal(self, statement: int, node: Node, distance: int) -> Node:
        """A store where the total is that of an element at least so far below the diagonal."""
        symmetry, halves = self.symmetry, self.halves
        assert symmetry is not None and halves is not None
        if not isinstance(node, Store):
            return node
        operation = self.operations.by_statement[statement]
        row, column = (self.places.axis_index(operation, axis) for axis in symmetry.axes)
        guard = Guard(row.plus(column, -1).shifted(-distance), halves.computed.bound)
        return replace(node, memory=replace(node.memory, guards=(*node.memory.guards, guard)))

    def _loop(self, branch: Branch, body: tuple[Node, ...]) -> tuple[Node, ...]:
        kind = branch.kind
        if kind is Kind.VECTOR and not (len(body) == 1 and self._is_vector(branch, body[0])):
            kind = Kind.UNROLL
        only = self.needed.only if self.needed is not None and branch is self.needed.loop else ()
        return (Loop(branch.number, branch.name, kind, branch.size, body, branch.hardware, trips=branch.trips, only=only),)

    def _is_vector(self, branch: Branch, node: Node) -> bool:
        """On CUDA an access is of consecutive elements, aligned, and its guards hold for all lanes or none."""
        if not self.decided.has_threads or not isinstance(node, Load | Store):
            return not isinstance(node, Loop)
        memory = node.memory
        stride = memory.lanes_apart(branch.number)
        if stride != 1:
            return stride == 0 and isinstance(node, Load)
        return memory.divisor_beside(branch.number) % branch.size == 0 and all(_is_uniform(g, branch) for g in memory.guards)

    def statement(self, operation: Operation) -> Node:
        statement = operation.statement
        if operation.operator is Operator.STORE:
            path = self.tree.paths[statement]
            own = {b.number for d in operation.dims.values() if (b := self.tree.loop_of[d]) is not None}
            if operation.temporary is not None:
                own |= {b.number for b in self.places.private_threads(operation.temporary)}
            guards = only_first_threads(self.tree, path, frozenset(own), self.dropped)
            return Store(self.places.memory(operation), self.argument(operation, 0), guards)
        cell = self.registers.written[statement]
        target = self.registers.ref(cell, self.registers.loops_of(operation, cell.axes))
        if operation.operator is Operator.LOAD:
            return Load(target, self.places.memory(operation))
        arguments = tuple(self.argument(operation, n) for n in range(len(operation.operands)))
        return Compute(
            target, operation.operator, arguments, self._reduction_guards(operation), buffer=self.operations.gathered(operation)
        )

    def _reduction_guards(self, operation: Operation) -> tuple[Guard, ...]:
        carry = operation.carry
        if carry is None:
            return ()
        padded = [a for a in carry.reduced if self.operations.is_padded(a)]
        return tuple(self.places.edge(operation, a) for a in padded if not self.places.has_neutral_edge(operation, a))

    def argument(self, operation: Operation, position: int) -> Argument:
        match operation.operands[position]:
            case Constant() | Parameter() as same:
                return same
            case Position(index):
                return self.places.index(operation, index)
            case Carry():
                cell = self.registers.written[operation.statement]
                return self.registers.ref(cell, self.registers.loops_of(operation, cell.axes))
            case Result(instruction=producer, mapped=mapped) | Previous(instruction=producer, mapped=mapped):
                cell = self.registers.read[producer]
                extents = set(self.operations.extents_of(mapped))
                return self.registers.ref(cell, self.registers.loops_of(operation, (e for e in cell.axes if e in extents)))

    def place_reductions(self) -> None:
        """Puts copies, neutral values and joins before and after the reductions' loops."""
        for reduction in self.registers.reductions.values():
            match reduction.start:
                case Start.SHARED:
                    if reduction.kept:
                        self._keep(reduction)
                case Start.COPIED:
                    self._insert(reduction, 0, self._copied(reduction))
                case Start.PARTIAL:
                    self._insert(reduction, 0, self._neutral(reduction))
                    if reduction.blocks:
                        self._share(reduction)
                    else:
                        self._insert(reduction, 1, self._joined(reduction))

    def _next_array(self) -> int:
        return len(self.decided.backbone.regions) + len(self.places.temporaries) + len(self.arrays)

    def _keep(self, reduction: Reduction) -> None:
        """Totals go to an array and come back in each step of a loop of the sum that is around loops over results."""
        kept = Kept(reduction, self.operations, self.tree, self.registers, self._next_array(), self.next_loop)
        self.arrays.append(kept.buffer())
        kept.place()
        self.next_loop = kept.next_loop

    def _share(self, reduction: Reduction) -> None:
        """Parts of a sum go to an array of all blocks, and what runs behind those adds them up in their order."""
        parts = Parts(reduction, self.operations, self.tree, self.registers, self._next_array())
        self.arrays.append(parts.buffer())
        self._insert(reduction, 1, self._part(reduction, parts))
        self._insert(reduction, 1, self._total(reduction, parts), behind=reduction.blocks[0])

    def _part(self, reduction: Reduction, parts: Parts) -> tuple[Node, ...]:
        registers, partial = self.registers, self.registers.written[reduction.operation.statement]
        summed = tuple(n for n, e in enumerate(partial.axes) if e in partial.partial)
        nodes: tuple[Node, ...] = ()
        source = partial
        if summed:
            source = parts.cell

            def combine(loops: dict[int, int]) -> tuple[Node, ...]:
                at = tuple(Linear() if n in summed else a for n, a in enumerate(registers.ref(partial, loops).at))
                target = registers.ref(parts.cell, loops)
                return (Combine(target, parts.joining, Ref(partial.number, at), summed, ()),)

            nodes = self._over(reduction, (source, partial), combine, can_be_vector=False)

        def store(loops: dict[int, int]) -> tuple[Node, ...]:
            return (Store(parts.memory(loops), registers.ref(source, loops)),)

        return (*nodes, *self._over(reduction, (source,), store, can_be_vector=True))

    def _total(self, reduction: Reduction, parts: Parts) -> tuple[Node, ...]:
        registers, total = self.registers, self.registers.read[reduction.operation.statement]
        loop = self.next_loop
        self.next_loop += 1

        def start(loops: dict[int, int]) -> tuple[Node, ...]:
            return (Compute(registers.ref(total, loops), Operator.MOVE, (Constant(parts.neutral),)),)

        def load(loops: dict[int, int]) -> tuple[Node, ...]:
            return (Load(registers.ref(parts.cell, loops), parts.memory(loops, loop)),)

        def join(loops: dict[int, int]) -> tuple[Node, ...]:
            sums = registers.ref(total, loops), registers.ref(parts.cell, loops)
            return (Compute(sums[0], parts.joining, sums),)

        inside = [
            node
            for cell, body in ((parts.cell, load), (total, join))
            for node in self._over(reduction, (cell,), body, can_be_vector=True, is_behind=True)
        ]
        started = self._over(reduction, (total,), start, can_be_vector=True, is_behind=True)
        return (*started, Loop(loop, "part", Kind.LOOP, parts.count, tuple(inside)))

    def _insert(self, reduction: Reduction, shift: int, nodes: tuple[Node, ...], behind: Branch | None = None) -> None:
        place: Branch | int = behind or reduction.outermost or reduction.operation.statement
        path = self.tree.paths[reduction.operation.statement]
        if isinstance(place, Branch):
            position = path.index(place)
            items = path[position - 1].children if position else self.tree.children
        else:
            items = path[-1].children if path else self.tree.children
        where = next(n for n, item in enumerate(items) if item is place or item == place) + shift
        items[where:where] = list(nodes)

    def _copied(self, reduction: Reduction) -> tuple[Node, ...]:
        cell, source = self.registers.written[reduction.operation.statement], self.registers.read[reduction.init.statement]

        def body(loops: dict[int, int]) -> tuple[Node, ...]:
            return (Compute(self.registers.ref(cell, loops), Operator.MOVE, (self.registers.ref(source, loops),)),)

        return self._over(reduction, (cell, source), body, can_be_vector=False)

    def _neutral(self, reduction: Reduction) -> tuple[Node, ...]:
        cell = self.registers.written[reduction.operation.statement]
        neutral = self.operations.neutral(reduction.operation)
        assert neutral is not None

        def body(loops: dict[int, int]) -> tuple[Node, ...]:
            return (Compute(self.registers.ref(cell, loops), Operator.MOVE, (Constant(neutral),)),)

        return self._over(reduction, (cell,), body, can_be_vector=True)

    def _joined(self, reduction: Reduction) -> tuple[Node, ...]:
        operation, registers = reduction.operation, self.registers
        partial, total = registers.written[operation.statement], registers.read[operation.statement]
        source = registers.read[reduction.init.statement]
        joining = joining_of(operation)
        summed = tuple(n for n, e in enumerate(partial.axes) if e in partial.partial)

        def body(loops: dict[int, int]) -> tuple[Node, ...]:
            at = registers.ref(partial, loops).at
            at = tuple(Linear() if n in summed else a for n, a in enumerate(at))
            target = registers.ref(total, loops)
            threads = tuple(b.number for b in reduction.threads)
            combine = Combine(target, joining, Ref(partial.number, at), summed, threads)
            if not reduction.reads_init:
                return (combine,)
            return combine, Compute(target, joining, (registers.ref(source, loops), target))

        cells = (total, partial, source) if reduction.reads_init else (total, partial)
        return self._over(reduction, cells, body, can_be_vector=False)

    def _over(
        self,
        reduction: Reduction,
        cells: tuple[Cell, ...],
        body: Callable[[dict[int, int]], tuple[Node, ...]],
        *,
        can_be_vector: bool,
        is_behind: bool = False,
    ) -> tuple[Node, ...]:
        """The body at every register of the cells: the loops around the reduction select where they can, new ones elsewhere.
        With one cell, loops over partial results are made too. `is_behind`: where totals of blocks are made."""
        encloses = reduction.encloses_total if is_behind else reduction.encloses
        around: dict[int, int] = {}
        for extent, dim in reduction.operation.dims.items():
            loop = self.tree.loop_of[dim]
            if loop is not None and encloses(self.tree, loop):
                around[extent] = loop.number
        partial = cells[0].partial if len(cells) == 1 else {}
        wanted = dict.fromkeys(e for c in cells for e in c.axes if e not in around and (e not in c.partial or e in partial))
        loops: list[tuple[int, Kind, int]] = []
        for extent in wanted:
            kind = Kind.VECTOR if can_be_vector and extent == cells[0].vector else Kind.UNROLL
            loops.append((extent, kind, self.next_loop))
            self.next_loop += 1
        nodes = body(around | {extent: number for extent, _, number in loops})
        for extent, kind, number in reversed(loops):
            axis = self.operations.axis(self.operations.extent(extent).axis)
            name = f"{axis.name}{self.operations.extent(extent).level}"
            nodes = (Loop(number, name, kind, self.operations.sizes[extent], nodes),)
        return nodes


def _is_uniform(guard: Guard, branch: Branch) -> bool:
    """The guard holds for all lanes of the vector loop or for none."""
    stride = dict(guard.index.terms).get(branch.number, 0)
    others = [guard.index.constant, *(s for n, s in guard.index.terms if n != branch.number)]
    return stride == 0 or (stride == 1 and guard.divisor % branch.size == 0 and all(s % branch.size == 0 for s in others))
