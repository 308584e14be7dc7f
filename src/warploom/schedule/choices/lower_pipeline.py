"""Loops that fill temporaries ahead: software pipelining with several copies of a temporary."""

from __future__ import annotations

from dataclasses import replace

from warploom.schedule.nest import (
    Buffer,
    Kind,
    Load,
    Loop,
    Nest,
    Node,
    Ref,
    Space,
    Store,
    bytes_of_shared,
    references,
    replaced,
    statements,
)


def pipelined(nest: Nest, buffer: int, stages: int, shared_bytes: int, *, has_async_copy: bool) -> Nest:
    """The nest with `stages` copies of the buffer, filled ahead by the loop around its accesses; the nest itself where that loop
    is not sequential, where it is in another one that fills ahead, where the fills depend on the rest of the body, and where a
    block has no room for so many copies of all that the loop fills."""
    loop = loop_around(nest, buffer)
    if loop is None:
        return nest
    copies = max(stages, loop.stages)
    filled = frozenset(n for n, b in enumerate(nest.buffers) if b.copies > 1 and _is_used_in(loop, n)) | {buffer}
    fills = fills_of(loop.body, filled)
    if fills is None:
        return nest
    rest = tuple(node for node in loop.body if node not in fills)
    changed = replace(loop, body=(*(_asynchronous(nest, fills, buffer) if has_async_copy else fills), *rest), stages=copies)
    buffers = tuple(replace(b, copies=copies) if n in filled else b for n, b in enumerate(nest.buffers))
    made = replace(nest, buffers=buffers, body=replaced(nest.body, changed.number, changed))
    return made if bytes_of_shared(made) <= shared_bytes else nest


def loop_around(nest: Nest, *buffers: int) -> Loop | None:
    """The innermost loop around all accesses of the buffers, where it is sequential and in no loop that fills ahead."""
    paths = [around for s, around in statements(nest.body) if isinstance(s, Load | Store) and s.memory.buffer in buffers]
    if not paths:
        return None
    common = [loop for loop in paths[0] if all(any(o.number == loop.number for o in path) for path in paths)]
    if not common or common[-1].kind is not Kind.LOOP or any(outer.stages > 1 for outer in common[:-1]):
        return None
    return common[-1]


def _is_used_in(loop: Loop, buffer: int) -> bool:
    return any(isinstance(s, Load | Store) and s.memory.buffer == buffer for s, _ in statements(loop.body))


def fills_of(body: tuple[Node, ...], filled: frozenset[int]) -> tuple[Node, ...] | None:
    """Children that fill the buffers, with those that make what they need; None where they depend on the others or serve them."""
    chosen = {n for n, node in enumerate(body) if _stores(node) & filled}
    while True:
        needed = set[int]().union(*(_read(body[n]) for n in chosen))
        more = {n for n, node in enumerate(body) if n not in chosen and _written(node) & needed}
        if not more:
            break
        chosen |= more
    rest = [n for n in range(len(body)) if n not in chosen]
    made = set[int]().union(*(_written(body[n]) for n in chosen))
    stored = set[int]().union(*(_stores(body[n]) for n in chosen))
    if any(_loads(body[n]) & filled for n in chosen) or stored - filled or not rest:
        return None
    if any(_read(body[n]) & made or _written(body[n]) & made for n in rest):
        return None
    loaded = set[int]().union(*(_loads(body[n]) for n in chosen))
    if any(_stores(body[n]) & loaded for n in rest):
        return None
    return tuple(body[n] for n in sorted(chosen))


def _read(node: Node) -> set[int]:
    return {ref.value for s, _ in statements((node,)) for ref in references(s)[0]}


def _written(node: Node) -> set[int]:
    return {ref.value for s, _ in statements((node,)) for ref in references(s)[1]}


def _stores(node: Node) -> set[int]:
    return {s.memory.buffer for s, _ in statements((node,)) if isinstance(s, Store)}


def _loads(node: Node) -> set[int]:
    return {s.memory.buffer for s, _ in statements((node,)) if isinstance(s, Load)}


def _asynchronous(nest: Nest, fills: tuple[Node, ...], buffer: int) -> tuple[Node, ...]:
    """Marks loads from global memory that only feed a store into the shared buffer."""
    if nest.buffers[buffer].space is not Space.SHARED:
        return fills
    stores = [(s, around) for s, around in statements(fills) if isinstance(s, Store) and s.memory.buffer == buffer]
    loads = [(s, around) for s, around in statements(fills) if isinstance(s, Load)]
    marked = {id(s) for s, a in loads if any(_feeds(nest, s, a, store, path) for store, path in stores)}
    return _marked(fills, marked)


def _marked(nodes: tuple[Node, ...], loads: set[int]) -> tuple[Node, ...]:
    return tuple(
        replace(n, body=_marked(n.body, loads))
        if isinstance(n, Loop)
        else replace(n, is_async=True)
        if isinstance(n, Load) and id(n) in loads
        else n
        for n in nodes
    )


def _feeds(nest: Nest, load: Load, loaded: tuple[Loop, ...], store: Store, stored: tuple[Loop, ...]) -> bool:
    """The store puts what the load got: each thread its own, register by register, in the same iterations of all other loops."""
    argument = store.argument
    if not isinstance(argument, Ref) or argument.value != load.target.value:
        return False
    source: Buffer = nest.buffers[load.memory.buffer]
    every = [references(s) for s, _ in statements(nest.body)]
    readers = sum(r.value == argument.value for read, _ in every for r in read)
    writers = sum(r.value == argument.value for _, written in every for r in written)
    if readers != 1 or writers != 1 or source.space is not Space.GLOBAL or load.memory.fill != 0.0:
        return False
    size = source.dtype.size_bytes
    if size < 4 and not all(
        any(x.kind is Kind.VECTOR and size * x.size in (4, 8, 16) for x in path) for path in (loaded, stored)
    ):
        return False
    made, used = {x.number: x for x in loaded}, {x.number: x for x in stored}
    selected: set[int] = set()
    for one, other in zip(load.target.at, argument.at, strict=True):
        if one != other:
            if not (one.terms and other.terms) or made[one.terms[0][0]].size != used[other.terms[0][0]].size:
                return False
            selected.add(one.terms[0][0])
    threads = {(x.hardware, x.size) for x in stored if x.kind is Kind.THREAD}
    return all(
        x.number in used or x.number in selected or (x.kind is Kind.THREAD and (x.hardware, x.size) in threads) for x in loaded
    )
