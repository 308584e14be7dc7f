"""Guards of statements: which stand in a piece of a nest, and their tests as C text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from warploom.ctext import Text, binary, decimal
from warploom.schedule.cpu.affine import Indices, affine_text
from warploom.schedule.nest import Compute, Guard, Kind, Load, Loop, Node, Store


def guards_of(nodes: Sequence[Node]) -> Iterator[Guard]:
    for node in nodes:
        match node:
            case Loop(body=body):
                yield from guards_of(body)
            case Load(memory=memory):
                yield from memory.guards
            case Store(memory=memory, guards=guards):
                yield from memory.guards
                yield from guards
            case Compute(guards=guards):
                yield from guards
            case _:
                pass


def runs_inside(nodes: Sequence[Node]) -> frozenset[int]:
    """Loops that are not written out."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, Loop):
            if node.kind in (Kind.LOOP, Kind.BLOCK):
                found.add(node.number)
            found |= runs_inside(node.body)
    return frozenset(found)


def has_running(node: Node) -> bool:
    return bool(runs_inside((node,)))


def is_statement(nodes: Sequence[Node]) -> bool:
    """One statement, at most of several lanes."""
    while len(nodes) == 1 and isinstance(nodes[0], Loop) and nodes[0].kind is Kind.VECTOR:
        nodes = nodes[0].body
    return len(nodes) == 1 and not isinstance(nodes[0], Loop)


def test(guard: Guard, indices: Indices) -> list[Text]:
    """Conditions for the guard to hold over all loops that do not run yet."""
    low, high = indices.span(guard.index)
    place = indices.place(guard.index)
    least, greatest = indices.inner_span(place)
    conditions: list[Text] = []
    if low < 0:
        conditions.append(binary(">=", affine_text(place.constant + least, place.terms), decimal(0)))
    if guard.run_time is not None:
        length = affine_text(guard.run_time.more, ((guard.run_time.name, 1),))
        conditions.append(binary("<", affine_text(place.constant + greatest, place.terms), length))
    elif high >= guard.bound:
        conditions.append(binary("<", affine_text(place.constant + greatest, place.terms), decimal(guard.bound)))
    return conditions


def first_holding(guards: Sequence[Guard], loop: Loop, indices: Indices) -> tuple[list[Text], list[Text]]:
    """Texts of lower limits and of ends of the loop's index: between them all guards hold for whatever runs inside."""
    lows: list[Text] = []
    highs: list[Text] = []
    for guard in guards:
        low, high = indices.span(guard.index)
        place = indices.place(guard.index)
        stride = place.stride(loop.number)
        reach = stride * (loop.most - 1)
        least, greatest = indices.inner_span(place)
        least, greatest = least - min(0, reach), greatest - max(0, reach)
        least, greatest = place.constant + least, place.constant + greatest
        size = () if guard.run_time is None else ((guard.run_time.name, 1),)
        bound = guard.bound if guard.run_time is None else guard.run_time.more
        may_pass = guard.run_time is not None or high >= bound
        negated = tuple((v, -s) for v, s in place.terms)
        step = abs(stride)
        if stride > 0:
            if low < 0:
                lows.append(_quotient(-least + step - 1, negated, step))
            if may_pass:
                highs.append(_quotient(bound - greatest + step - 1, (*size, *negated), step))
        else:
            if low < 0:
                highs.append(_quotient(least + step, place.terms, step))
            if may_pass:
                below = tuple((name, -1) for name, _ in size)
                lows.append(_quotient(greatest - bound + step, (*place.terms, *below), step))
    return list(dict.fromkeys(lows)), list(dict.fromkeys(highs))


def _quotient(constant: int, terms: tuple[tuple[str, int], ...], divisor: int) -> Text:
    """Rounded towards zero: a limit of 0 or less means 0, so any such quotient will do."""
    text = affine_text(constant, terms)
    return text if divisor == 1 else binary("/", text, decimal(divisor))
