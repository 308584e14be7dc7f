"""Programs as readable Python that runs: the SIMD loop with its lanes in sequence."""

from __future__ import annotations

from warploom.ir import IndexBinary, IndexConst, IndexExpr, IndexVar, index_text, map_index, simplify
from warploom.scan.networks.network import Network
from warploom.scan.networks.program import LANE, OFFSET, Bound, Move, Phase, Program

_INDENT = "    "


def combine(program: Program | Network) -> list[str]:
    """Text of the combination that an active lane executes; `{source}` is the other cell."""
    return ["a[i] = op(old[i], old[{source}])" if program.is_backward else "a[i] = op(old[{source}], old[i])"]


def index_maps(program: Program, move: Move) -> Move:
    """Guard and source as functions of the array index i: of a backward program, mirrored at n and simplified."""
    if not program.is_backward:
        return move
    last = IndexBinary("-", IndexVar("n"), IndexConst(1))
    mirrored = IndexBinary("-", last, LANE)

    def turned(expr: IndexExpr) -> IndexExpr:
        return map_index(expr, lambda e: mirrored if e == LANE else None)

    source = IndexBinary("-", last, turned(move.source))
    guard, source = (simplify(expr, proved=False, bitwise=False) for expr in (turned(move.guard), source))
    return Move(guard, source)


def body(program: Program | Network, act: list[str], copies: tuple[str, ...] = ("old = a[:]",)) -> list[str]:
    """Statements of the loops; `act` as in `combine`, `copies` keep what a step reads. For a network they serve its n alone."""
    lines = ["n = len(a)"]
    if isinstance(program, Network):
        return [f"{lines[0]}  # {program.columns}", *_tabulated(program, act, copies)]
    if len(program.radices) == 1:
        lines += [f"m = 1  # the least power of {program.radices[0]} that is at least n", "while m < n:"]
        lines.append(f"{_INDENT}m *= {program.radices[0]}")
        for phase in program.phases:
            lines += _uniform(program, phase, _step(program, phase, act, copies))
        return lines
    fixed = max(b.count for p in program.phases for b in (p.low, p.high) if not b.from_top)
    more = f" or len(radices) < {fixed}" if fixed else ""
    lines += ["offsets, radices = [1], []", f"while offsets[-1] < n{more}:"]
    lines += [f"{_INDENT}radices.append({program.radices}[len(radices) % {len(program.radices)}])"]
    lines += [f"{_INDENT}offsets.append(offsets[-1] * radices[-1])"]
    lines += ["levels = sum(d < n for d in offsets)"]
    for phase in program.phases:
        low, high = _level(phase.low), _level(phase.high)
        span = f"range({high})" if low == "0" else f"range({low}, {high})"
        lines.append(f"for k in {span if phase.is_rising else f'reversed({span})'}:")
        lines.append(f"{_INDENT}d, r = offsets[k], radices[k]")
        lines += [_INDENT + line for line in _step(program, phase, act, copies)]
    return lines


def _tabulated(net: Network, act: list[str], copies: tuple[str, ...]) -> list[str]:
    """The dots themselves, (cell, source), one line a step."""
    lines = ["steps = ["]
    lines += (f"{_INDENT}[{', '.join(f'({dot.destination}, {dot.source})' for dot in step)}]," for step in net.steps)
    lines += ["]", "for step in steps:", *(_INDENT + line for line in copies), f"{_INDENT}for i, source in step:"]
    return [*lines, *(_INDENT * 2 + line.format(source="source") for line in act)]


def _uniform(program: Program, phase: Phase, step: list[str]) -> list[str]:
    radix = program.radices[0]
    low, high = _offset(phase.low, radix), _offset(phase.high, radix)
    if phase.low.from_top:
        low = f"max(1, {low})"
    lines: list[str] = []
    if phase.is_rising:
        lines += [f"d = {low}", f"while d < {high}:"]
    else:
        lines.append(f"d = {radix ** (phase.high.count - 1)}" if not phase.high.from_top else f"d = {_below(phase.high, radix)}")
        lines.append(f"while d >= {low}:")
    lines += [_INDENT + line for line in step]
    lines.append(f"{_INDENT}d {'*' if phase.is_rising else '//'}= {radix}")
    return lines


def _step(program: Program, phase: Phase, act: list[str], copies: tuple[str, ...]) -> list[str]:
    turn = None if phase.is_repeated else 1
    maps = index_maps(program, phase.move)
    guard, source = (written(expr, program, turn) for expr in (maps.guard, maps.source))
    lines = [*copies, "for i in range(n):", f"{_INDENT}if {guard}:"]
    lines += [_INDENT * 2 + line.format(source=source) for line in act]
    if not phase.is_repeated:
        return lines
    last = program.radices[0] if len(program.radices) == 1 else "r"
    return [f"for t in range(1, {last}):", *(_INDENT + line for line in lines)]


def written(expr: IndexExpr, program: Program, turn: int | None) -> str:
    """Python source with e and h in terms of d, and t as a number when known."""
    radix: IndexExpr = IndexConst(program.radices[0]) if len(program.radices) == 1 else IndexVar("r")
    below = IndexBinary("max", IndexConst(1), IndexBinary("//", OFFSET, radix))
    if len(program.radices) > 1:
        below = IndexVar("offsets[max(0, k - 1)]")
    known: dict[str, IndexExpr] = {"e": IndexBinary("*", radix, OFFSET), "h": below}
    if turn is not None:
        known["t"] = IndexConst(turn)
    return index_text(map_index(expr, lambda e: known.get(e.name) if isinstance(e, IndexVar) else None))


def _offset(bound: Bound, radix: int) -> str:
    if not bound.from_top:
        return str(radix**bound.count)
    return "m" if bound.count == 0 else f"m // {radix**bound.count}"


def _below(bound: Bound, radix: int) -> str:
    return f"m // {radix ** (bound.count + 1)}"


def _level(bound: Bound) -> str:
    if not bound.from_top:
        return str(bound.count)
    return "levels" if bound.count == 0 else f"max(0, levels - {bound.count})"
