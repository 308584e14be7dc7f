"""An oracle: the places that a map's text says, and the elements that the name of an access says, read without Warploom."""

import ast
import re
from collections.abc import Callable
from typing import Any

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "Add": int.__add__, "Sub": int.__sub__, "Mult": int.__mul__, "FloorDiv": int.__floordiv__, "Mod": int.__mod__,
    "BitAnd": int.__and__, "BitOr": int.__or__, "BitXor": int.__xor__, "LShift": lambda x, y: x << (y if y < 32 else -1),
    "RShift": int.__rshift__, "Lt": int.__lt__, "LtE": int.__le__, "Gt": int.__gt__, "GtE": int.__ge__, "Eq": int.__eq__,
    "NotEq": int.__ne__}  # fmt: skip
Request = list[list[int]]  # by lane the elements that it takes


def place_of_each(given: Any, rows: int, columns: int) -> list[int]:
    if isinstance(given, list):
        places: list[Any] = given  # pyright: ignore[reportUnknownVariableType] - of JSON
        if len(places) != rows * columns or any(type(place) is not int for place in places):
            raise ValueError("expected a place for each element")
        return places
    tree = ast.parse(given if rows * columns <= 1 << 16 else "", mode="eval").body
    return values(tree, [(r, c) for r in range(rows) for c in range(columns)])


def values(node: ast.expr, at: list[tuple[int, int]]) -> list[int]:
    """The values of an expression, one for each (r, c)."""
    match node:
        case ast.Constant(value=int(number)):
            return [number] * len(at)
        case ast.Name(id="r" | "c" as name):
            return [r if name == "r" else c for r, c in at]
        case ast.UnaryOp(op=ast.USub() | ast.Invert() as op, operand=operand):
            return [-number - isinstance(op, ast.Invert) for number in values(operand, at)]
        case ast.IfExp(test=ast.Compare(left=left, ops=[op], comparators=[right]), body=body, orelse=other):
            holds = [*map(OPERATORS[type(op).__name__], values(left, at), values(right, at))]
            ways = [iter(values(way, [rc for rc, held in zip(at, holds, strict=True) if held is taken]))
                    for way, taken in ((other, False), (body, True))]  # fmt: skip
            return [next(ways[held]) for held in holds]
        case ast.BinOp(left=left, op=op, right=right):
            return [*map(OPERATORS[type(op).__name__], values(left, at), values(right, at))]
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
