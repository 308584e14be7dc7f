"""The statements of a kernel, loop by loop."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import assert_never

from warploom.ctext import BARRIER, Text, binary, comment, decimal, every, plus
from warploom.schedule.backbone import Operator
from warploom.schedule.cuda.accesses import Accesses, single_access
from warploom.schedule.cuda.combine import Combinations
from warploom.schedule.cuda.context import Context
from warploom.schedule.cuda.facts import Leaf, leaves
from warploom.schedule.cuda.indices import Phase, Scope
from warploom.schedule.cuda.lines import Braces, Item, Line
from warploom.schedule.cuda.matrices import Matrices
from warploom.schedule.cuda.pipeline import Pipeline
from warploom.schedule.cuda.rounds import Rounds, rounds_of
from warploom.schedule.cuda.scalars import operation
from warploom.schedule.nest import Barrier, Combine, Compute, Kind, Load, Loop, Node, Ref, Space, Store

_IN_PLACE = {Operator.ADD: "+=", Operator.MUL: "*="}
_MEET = Line(BARRIER)
_SHOW = "show_stores"


class Body:
    def __init__(
        self,
        context: Context,
        pipelines: Mapping[int, Pipeline],
        accesses: Accesses,
        combinations: Combinations,
        matrices: Matrices,
    ) -> None:
        self.context, self.pipelines = context, pipelines
        self.accesses, self.combinations, self.matrices = accesses, combinations, matrices
        self.pending: tuple[Text, ...] = ()
        """Tests of thread loops around that statements are yet to be put under."""
        self.has_loose_copies = self._loose_copies()
        self.has_groups = any(part.group is not None for part in context.products.values())

    def block(self, nodes: tuple[Node, ...]) -> list[Item]:
        """Everything that must be reached by all threads is left outside of the tests of thread loops."""
        if not self.pending:
            return [item for node in nodes for item in self._node(node)]
        items: list[Item] = []
        run: list[Item] = []
        tests, head = self.pending, (f"if ({every(self.pending).text})",)
        for node in nodes:
            if self._meets(node):
                items += [Braces(head, run), *self._node(node)] if run else self._node(node)
                run = []
            else:
                self.pending = ()
                run += self._node(node)
                self.pending = tests
        return [*items, Braces(head, run)] if run else items

    def _meets(self, node: Node) -> bool:
        """Whether all threads of the block must come to something in it together."""
        match node:
            case Barrier():
                return True
            case Combine():
                return bool(node.threads)
            case Loop():
                has_meeting = node.number in self.pipelines or node.number in self.context.products
                return has_meeting or any(map(self._meets, node.body))
            case _:
                return False

    def _node(self, node: Node) -> list[Item]:
        match node:
            case Loop():
                return self._loop(node)
            case Load():
                return self.accesses.load(node)
            case Store():
                return self.accesses.store(node)
            case Compute():
                return self._compute(node)
            case Combine():
                return self.combinations.combine(node)
            case Barrier():
                return self._barrier()
            case _:
                assert_never(node)

    def _barrier(self) -> list[Item]:
        if not self.has_loose_copies:
            return self._meeting()
        self.context.helpers.add("await_all_copies")
        return [Line("await_all_copies();"), *self._meeting()]

    def _meeting(self) -> list[Item]:
        """A barrier; where groups of warps read shared memory, which they do by another path, behind a fence for that."""
        if not self.has_groups:
            return [_MEET]
        self.context.helpers.add(_SHOW)
        return [Line(f"{_SHOW}();"), _MEET]

    def _compute(self, node: Compute) -> list[Item]:
        context = self.context
        value = node.target.value
        dtype = context.facts.nest.values[value].dtype
        target = context.register(node.target)
        own = [context.argument(a, dtype) for a in node.arguments]
        named = context.mentions([node.target, *node.arguments])
        if node.operator in _IN_PLACE and own[0] == target and dtype.bits >= 32:
            return self._guarded(node, Line(f"{target.text} {_IN_PLACE[node.operator]} {own[1].text};", named))
        context.calls(node.operator, dtype)
        if node.buffer is None:
            text = operation(node.operator, dtype, own, approximate=context.options.approximate)
        else:
            text = Text(f"{context.buffers[node.buffer]}[{own[0].text}]")
        reads_itself = any(isinstance(a, Ref) and a.value == value for a in node.arguments)
        is_single = not context.facts.axes(value) and not reads_itself and not node.guards
        return self._guarded(node, Line(f"{target.text} = {text.text};", named, value if is_single else None))

    def _guarded(self, node: Compute, line: Line) -> list[Item]:
        tests = self.context.conditions(node.guards)
        return [Braces((f"if ({every(tests).text})",), [line])] if tests else [line]

    def _loop(self, loop: Loop) -> list[Item]:
        part = self.context.products.get(loop.number)
        if part is not None:
            return self.matrices.part(part) if loop.number == part.loops[0] else []
        match loop.kind:
            case Kind.BLOCK:
                return self.block(loop.body)
            case Kind.THREAD:
                return self._threads(loop)
            case Kind.LOOP if loop.number in self.pipelines:
                return self._pipelined(self.pipelines[loop.number])
            case Kind.LOOP if loop.number not in self.context.facts.unrolled:
                return self._sequential(loop) if loop.size > 1 or loop.trips is not None else self.block(loop.body)
            case Kind.VECTOR if (access := single_access(loop)) is not None:
                whole = self.accesses.vector(access, loop)
                return self._unrolled(loop) if whole is None else whole
            case Kind.LOOP | Kind.UNROLL | Kind.VECTOR:
                return self._unrolled(loop)
            case _:
                assert_never(loop.kind)

    def _threads(self, loop: Loop) -> list[Item]:
        context = self.context
        atom = context.indices.atom(loop)
        high, bound, pending = context.indices.highs[atom], context.bound, self.pending
        context.bound = bound | ({loop.hardware} if loop.hardware is not None else set(range(len(context.facts.shape))))
        if loop.size <= high:
            self.pending = (*pending, binary("<", Text(context.indices.texts[atom]), decimal(loop.size)))
            context.indices.highs[atom] = loop.size - 1
        items = self.block(loop.body)
        context.bound, self.pending, context.indices.highs[atom] = bound, pending, high
        return items

    def _unrolled(self, loop: Loop) -> list[Item]:
        if loop.size == 1:
            return self.block(loop.body)
        name = self._open(loop)
        head = ("#pragma unroll", f"for (int {name} = 0; {name} < {loop.size}; ++{name})")
        with self._inside(name, loop.size):
            items = self.block(loop.body)
        return [Braces(head, items)] if items else []

    def _sequential(self, loop: Loop) -> list[Item]:
        context = self.context
        name, phases = self._open(loop), context.phases
        if loop.stages > 1:
            context.phases = phases | {b: Phase(loop.number, 0) for b in self._in_turn(loop)}
        rounds = rounds_of(loop, context.indices, name)
        with self._inside(name), self._scope(loop) as scope:
            items = self.block(loop.body)
        context.phases = phases
        return [*rounds.lines, self._for(rounds, name, [*scope.lines, *items])] if items else []

    def _in_turn(self, loop: Loop) -> set[int]:
        """Buffers whose copies the iterations use in turn, though nothing of the loop can run ahead."""
        buffers = self.context.facts.nest.buffers
        stored = {leaf.node.memory.buffer for leaf in leaves(loop.body) if isinstance(leaf.node, Store)}
        return {b for b in stored if buffers[b].copies > 1}

    def _for(self, rounds: Rounds, name: str, items: list[Item]) -> Item:
        pragma = ("#pragma unroll 1",) if self.context.options.keep_loops else ()
        return Braces((*pragma, f"for (int {name} = {rounds.first.text}; {name} < {rounds.end.text}; ++{name})"), items)

    def _open(self, loop: Loop) -> str:
        indices = self.context.indices
        atom = indices.atom(loop)
        indices.highs[atom] = loop.most - 1
        name = indices.texts[atom] = indices.loop_names(loop.name)
        return name

    @contextmanager
    def _inside(self, name: str, turns: int = 0) -> Generator[None]:
        """The body of the loop whose index has this name; with `turns`, an unrolled one of so many."""
        context = self.context
        context.indices.open_names.append(name)
        if turns:
            context.turns.append((name, turns))
        else:
            context.depth += 1
        try:
            yield
        finally:
            context.indices.open_names.remove(name)
            if turns:
                context.turns.pop()
            else:
                context.depth -= 1

    @contextmanager
    def _scope(self, loop: Loop) -> Generator[Scope]:
        indices = self.context.indices
        outer = indices.scope
        atom = indices.atom(loop)
        indices.scope = Scope(outer, frozenset({atom}), indices.texts[atom])
        try:
            yield indices.scope
        finally:
            indices.scope = outer

    def _pipelined(self, pipeline: Pipeline) -> list[Item]:
        context, loop, ahead = self.context, pipeline.loop, pipeline.ahead
        indices = context.indices
        name = self._open(loop)
        rounds = rounds_of(loop, indices, name)
        has_copies = any(isinstance(n.node, Store) and self._is_copy(n) for n in leaves(pipeline.fill))
        context.helpers |= {"close_copies", "await_copies"} if has_copies else set()
        close: list[Item] = [Line("close_copies();")] if has_copies else []
        items: list[Item] = [Line(comment(f"{loop.name}: {ahead} ahead")), *rounds.lines]
        for index in range(ahead):
            if index < loop.size or loop.trips is not None:
                fill = self._filled(pipeline, rounds, index)
                place = decimal(index) if rounds.is_known else plus(rounds.first, index)
                tests = (f"if ({binary('<', place, rounds.end).text})",)
                items += fill if index < rounds.surely else [Braces(tests, fill)]
            items += close
        with self._inside(name), self._scope(loop) as scope:
            inner: list[Item] = [Line(f"await_copies<{ahead - 1}>();")] if has_copies else []
            inner += self._meeting()
            left = loop.most - ahead
            last = plus(rounds.end, -ahead) if rounds.end.value is None else decimal(rounds.end.value - ahead)
            tests = (f"if ({binary('<', Text(name), last).text})",)
            indices.shifts[loop.number] = ahead
            indices.highs[indices.atom(loop)] = max(0, left - 1)
            context.phases |= {b: Phase(loop.number, ahead) for b in pipeline.buffers}
            started = [*self.block(pipeline.copies), *self.block(pipeline.loads)] if left > 0 else []
            stored = self.block(pipeline.stores) if left > 0 else []
            del indices.shifts[loop.number]
            indices.highs[indices.atom(loop)] = loop.most - 1
            context.phases |= {b: Phase(loop.number, 0) for b in pipeline.buffers}
            inner += [Braces(tests, started)] if started else []
            inner += [*close, *self.block(pipeline.body)]
            if stored:
                inner.append(Braces(tests, stored))
        for buffer in pipeline.buffers:
            context.phases.pop(buffer)
        items.append(self._for(rounds, name, [*scope.lines, *inner]))
        return [*items, *self._meeting()] if self._shares_later(loop) else items

    def _filled(self, pipeline: Pipeline, rounds: Rounds, index: int) -> list[Item]:
        """Code that fills the buffers for the round `index` behind the first one, before the loop."""
        context, loop = self.context, pipeline.loop
        if rounds.is_known:
            context.phases |= {b: Phase(None, index) for b in pipeline.buffers}
            with context.index(loop.number, index):
                return self.block(pipeline.fill)
        indices, atom = context.indices, context.indices.atom(loop)
        name, indices.texts[atom] = indices.texts[atom], rounds.first.text
        indices.shifts[loop.number] = index
        context.phases |= {b: Phase(loop.number, index) for b in pipeline.buffers}
        with self._scope(loop) as scope:
            fill = self.block(pipeline.fill)
        del indices.shifts[loop.number]
        indices.texts[atom] = name
        return [*scope.lines, *fill]

    def _is_copy(self, leaf: Leaf) -> bool:
        argument = leaf.node.argument if isinstance(leaf.node, Store) else None
        return isinstance(argument, Ref) and argument.value in self.context.copied

    def _loose_copies(self) -> bool:
        """Whether asynchronous copies outside of pipelines must be waited for at barriers."""
        piped = {number for p in self.pipelines.values() for number in (p.loop.number,)}
        found = leaves(self.context.facts.nest.body)
        return any(self._is_copy(leaf) and not (piped & {p.number for p in leaf.path} and self._is_piped(leaf)) for leaf in found)

    def _is_piped(self, leaf: Leaf) -> bool:
        return isinstance(leaf.node, Store) and any(leaf.node.memory.buffer in p.buffers for p in self.pipelines.values())

    def _shares_later(self, loop: Loop) -> bool:
        """Whether threads may touch shared memory after the loop, while others are still in it."""
        nest = self.context.facts.nest
        is_past = False
        for leaf in leaves(nest.body):
            numbers = [p.number for p in leaf.path]
            if loop.number in numbers:
                is_past = True
                if any(p.kind not in (Kind.BLOCK, Kind.THREAD) for p in leaf.path[: numbers.index(loop.number)]):
                    return True
            elif is_past:
                match leaf.node:
                    case Load() | Store() if nest.buffers[leaf.node.memory.buffer].space is Space.SHARED:
                        return True
                    case Combine() if leaf.node.threads:
                        return True
                    case _:
                        pass
        return False
