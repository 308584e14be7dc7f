"""The checker of certificates: reads the map, makes the accesses, counts and exhausts by itself, and imports nothing of Warploom.

All that it says is worked out from the tile, the accesses' names, and `banks` and `groups` of lanes where these are not NVIDIA's.
"""

import ast
import re
from collections.abc import Callable
from typing import Any

from warploom.layout.recheck_classes import no_linear, no_map

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__, "Sub": int.__sub__, "Mult": int.__mul__, "FloorDiv": int.__floordiv__, "Mod": int.__mod__,
    "BitAnd": int.__and__, "BitOr": int.__or__, "BitXor": int.__xor__, "LShift": lambda x, y: x << (y if y < 32 else -1),
    "RShift": int.__rshift__, "Lt": int.__lt__, "LtE": int.__le__, "Gt": int.__gt__, "GtE": int.__ge__, "Eq": int.__eq__,
    "NotEq": int.__ne__}  # fmt: skip
Request = list[list[int]]  # by lane the elements that it takes


def faults(certificate: dict[str, Any]) -> list[str]:
    try:
        return _faults(certificate)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, SyntaxError, TypeError, ValueError) as error:
        return [f"the certificate cannot be read: {type(error).__name__}: {error}"]


def _faults(certificate: dict[str, Any]) -> list[str]:
    rows, columns, bits = (certificate["tile"][name] for name in ("rows", "columns", "bits"))
    banks = certificate.get("banks", 32)
    table = place_of_each(certificate["map"], rows, columns)
    if len(set(table)) != len(table) or min(rows, columns, *table) < 0 or bits not in (4, 8, 16, 32, 64, 128):
        return ["two elements have one place, or the tile is none"]
    found: list[str] = []
    words = -((max(table) + 1) * bits // -32) - -(rows * columns * bits // -32)
    found += [f"{words} extra words, not {certificate['extra_words']}"] if certificate["extra_words"] != words else []
    accesses = [(entry, requests(entry, rows, columns, bits)) for entry in certificate["accesses"]]
    parts = [(entry, asked, [group for request in asked for group in groups(request, bits, entry)]) for entry, asked in accesses]
    chunk = forced_chunk([asked for _, asked in accesses], rows * columns)
    for entry, asked, phases in parts:
        if not all(together(lane, table) for request in asked for lane in request if len(lane) > 1):
            found.append(f"{entry['name']}: the elements of a lane are not together")
        count = sum(wavefronts(group, table, bits, banks) for group in phases)
        found += [f"{entry['name']}: {count} wavefronts, not {entry['wavefronts']}"] * (count != entry["wavefronts"])
        least = sum(bound(group, bits, chunk, banks) for group in phases)
        found += [f"{entry['name']}: at least {least} wavefronts by counting, not {entry['least']}"] * (least != entry["least"])
    if certificate["optimal"] is not (is_least := all(entry["wavefronts"] <= entry["least"] for entry, _ in accesses)):
        found.append("the map is optimal" if is_least else "optimal is said of a map that does not reach the least")
    every = [group for *_, phases in parts for group in phases]
    for name, follow in (("no_linear", no_linear), ("no_map", no_map)):
        found += follow(certificate[name], every, rows, columns, bits, banks) if certificate.get(name) else []
    return found


def place_of_each(given: Any, rows: int, columns: int) -> list[int]:
    if isinstance(given, list):
        places: list[Any] = given  # pyright: ignore[reportUnknownVariableType] - of JSON
        if len(places) != rows * columns or any(type(place) is not int for place in places):
            raise ValueError("expected a place for each element")
        return places
    tree = ast.parse(given if rows * columns <= 1 << 16 else "", mode="eval").body
    return [value(tree, r, c) for r in range(rows) for c in range(columns)]


def value(node: ast.expr, r: int, c: int) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id="r" | "c" as name):
            return r if name == "r" else c
        case ast.UnaryOp(op=ast.USub() | ast.Invert() as op, operand=operand):
            return -value(operand, r, c) - isinstance(op, ast.Invert)
        case ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=body, orelse=other):
            return value(body if OPERATORS[type(op).__name__](value(left, r, c), value(right, r, c)) else other, r, c)
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op).__name__](value(left, r, c), value(right, r, c))
        case _:
            raise ValueError(f"unexpected {type(node).__name__} in the map")


def requests(entry: dict[str, Any], rows: int, columns: int, bits: int) -> list[Request]:
    form = r"(rows|columns|diagonals|blocks|stride|(?:ld|st)matrix(?:\.trans)?)(?::(\d+)(?:x(\d+))?(?!bit))?(?::(\d+)bit)?"
    if (order := sorted(n for group in entry.get("groups", [range(32)]) for n in group)) != list(range(lanes := len(order))):
        raise ValueError("expected groups that have each lane once")
    match = re.fullmatch(form + "(?::store)?(@any)?", entry["name"])
    if match is None and "elements" in entry:
        asked: list[Request] = entry["elements"]
        wide = any(len(lane) not in (0, 1, 2, 4, 8, 16, 32) or len(lane) * bits > 128 for r in asked for lane in r)
        if (
            wide
            or max(map(len, asked)) > lanes
            or any(type(e) is not int or not 0 <= e < rows * columns for r in asked for lane in r for e in lane)
        ):
            raise ValueError("expected lanes that take 8, 16, 32, 64 or 128 bits of the tile")
        return asked
    if match is None or "elements" in entry:
        raise ValueError(f"unknown access {entry['name']}")
    kind, width, free, is_matrix = match[1], int(match[4] or 0), bool(match[5]), "matrix" in match[1]
    sizes = [int(n) for n in match.group(2, 3) if n is not None]
    first, second, each = *[*sizes, 1, 1][:2], (width or (128 if is_matrix else bits)) // bits
    if (
        (len(sizes) != {"blocks": 2, "stride": 1}.get(kind, 0) or not first or width not in (0, 8, 16, 32, 64, 128))
        or (not each or columns % each or (kind == "blocks" and not 1 < first * second <= lanes))
        or (is_matrix and (each * bits != 128 or rows % 8))
    ):
        raise ValueError(f"no such access of the tile: {entry['name']}")
    boxes = {"rows": (1, (units := columns // each)), "columns": (rows, 1), "blocks": (first, second)}
    if is_matrix or kind in boxes:
        lines = windows((16 if rows >= 16 else 8, min(2, units)) if is_matrix else boxes[kind], kind, rows, units, free, lanes)
    elif kind == "diagonals":
        high = min(lanes, rows)
        tops = range(rows - high + 1) if free else range(0, rows, high)
        lines = [[(t + i, (x + i) % units) for i in range(high) if t + i < rows] for t in tops for x in range(units)]
    else:
        end, turn = rows * units, lanes * first
        starts = range(end - turn + first) if free else [b + k for b in range(0, end, turn) for k in range(min(first, end - b))]
        lines = [[divmod(s + i * first, units) for i in range(lanes) if s + i * first < end] for s in starts]
    return [[[r * columns + u * each + k for k in range(each)] for r, u in line] for line in lines]


def windows(sizes: tuple[int, int], kind: str, rows: int, units: int, free: bool, lanes: int) -> list[list[tuple[int, int]]]:
    """Boxes of lanes, at any origin or side by side; whole short lines are joined to fill a warp."""
    high, wide = (min(size, lanes, whole if free else lanes) for size, whole in zip(sizes, (rows, units), strict=True))
    high = min(lanes // units, rows) if kind == "rows" and not free and lanes % units == 0 else high
    wide = min(lanes // rows, units) if kind == "columns" and not free and lanes % rows == 0 else wide
    tops = range(rows - high + 1) if free else range(0, rows, high)
    lefts = range(units - wide + 1) if free else range(0, units, wide)
    box = [(i, j) for i in range(high) for j in range(wide)]
    found = [[(t + i, x + j) for i, j in box if t + i < rows and x + j < units] for t in tops for x in lefts]
    if kind.endswith(".trans"):  # of four matrices, two side by side come first
        return [sorted(line, key=lambda place: ((place[0] - line[0][0]) // 8, place[::-1])) for line in found]
    return found if kind in ("rows", "blocks") else [sorted(line, key=lambda place: place[::-1]) for line in found]


def together(lane: list[int], table: list[int]) -> bool:
    first = table[lane[0]]
    return first % len(lane) == 0 and [table[e] for e in lane] == list(range(first, first + len(lane)))


def groups(request: Request, bits: int, entry: dict[str, Any]) -> list[Request]:
    """Lanes of 64 bits go by half warps, those of 128 by quarters; by twice as many where neighbours take the same."""
    lanes, words = request + [[]] * (64 - len(request)), max(1, bits * max(map(len, request)) // 32)
    alike = any(all(not (lanes[i] and lanes[i ^ s]) or lanes[i] == lanes[i ^ s] for i in range(32)) for s in (1, 2))
    size = 32 // (words // 2 if alike and words > 1 else words)
    shares = entry.get("groups") or [range(i, i + size) for i in range(0, max(32, len(request)), size)]
    return [group for share in shares if (group := [lanes[i] for i in share if lanes[i]])]


def wavefronts(group: Request, table: list[int], bits: int, count: int) -> int:
    """Most different words in one of `count` banks."""
    each = max(1, bits // 32)
    banks = [word % count for word in {table[e] * bits // 32 + k for lane in group for e in lane for k in range(each)}]
    return max(banks.count(bank) for bank in set(banks))


def forced_chunk(accesses: list[list[Request]], elements: int) -> int:
    """Elements that every map must keep together: those of the lanes of the widest access, where they cover the tile."""
    size, widest = max(((max(len(lane) for r in asked for lane in r), asked) for asked in accesses), key=lambda pair: pair[0])
    firsts = {lane[0] for request in widest for lane in request if lane}
    in_line = all(lane == list(range(lane[0], lane[0] + size)) and lane[0] % size == 0 for r in widest for lane in r if lane)
    return size if in_line and len(firsts) * size == elements and size & (size - 1) == 0 else 1


def bound(group: Request, bits: int, chunk: int, banks: int) -> int:
    """All banks give a word each; word k of a chunk lies in every (words of a chunk)-th bank."""
    elements = {e for lane in group for e in lane}
    least = max(1, -(len(elements) * bits // (-32 * banks)))
    if (words := bits * chunk // 32) > 1:
        inside = [part for _, part in {(e // chunk, e % chunk // max(1, 32 // bits)) for e in elements}]
        least = max(least, max(-(inside.count(p) * words // -banks) for p in set(inside)))
    return least
