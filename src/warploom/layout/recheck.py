"""The checker of certificates: counts and exhausts by itself, and imports nothing of Warploom but its own other parts.

All that it says is worked out from the tile, the map and the elements of the accesses (`recheck_question` reads these two), and
from `banks` and `groups` of lanes where these are not NVIDIA's. `recheck_classes` follows the proofs of classes that have none.
"""

from itertools import accumulate
from typing import Any

from warploom.layout.recheck_classes import no_linear, no_map
from warploom.layout.recheck_question import Request, place_of_each, requests


def faults(certificate: dict[str, Any]) -> list[str]:
    try:
        return _faults(certificate)
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, SyntaxError, TypeError, ValueError) as error:
        return [f"the certificate cannot be read: {type(error).__name__}: {error}"]


def _faults(certificate: dict[str, Any]) -> list[str]:
    if certificate["v"] != 1 or not is_whole(certificate):
        return ["a certificate of version 1 is expected, with whole numbers"]
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
    if certificate.get("least_room"):
        pitch = table[int(columns)] if rows > 1 else int(columns)
        if table != in_rows(rows, columns, pitch):
            found.append("least_room is said of a map that is not r * pitch + c")
        lanes = [lane for _, asked in accesses for request in asked for lane in request if len(lane) > 1]
        fewest_first = sorted((phases for *_, phases in parts), key=len)
        bounds = [(group, bound(group, bits, chunk, banks)) for phases in fewest_first for group in phases]
        spare = sum(entry["wavefronts"] - entry["least"] for entry, _ in accesses)
        for less in range(int(columns), pitch):
            table = in_rows(rows, columns, less)
            if all(together(lane, table) for lane in lanes) and not exceeds(bounds, spare, table, bits, banks):
                found.append(f"least_room: rows that are {less} apart need no more wavefronts")
    return found


def is_whole(given: Any) -> bool:
    if isinstance(given, dict | list):
        parts: Any = given  # pyright: ignore[reportUnknownVariableType] - of JSON
        return all(is_whole(part) for part in (parts.values() if isinstance(given, dict) else parts))
    return not isinstance(given, float)


def in_rows(rows: int, columns: int, pitch: int) -> list[int]:
    return [r * pitch + c for r in range(rows) for c in range(columns)]


def exceeds(bounds: list[tuple[Request, int]], spare: int, table: list[int], bits: int, banks: int) -> bool:
    """Whether the groups take more wavefronts beyond their bounds than `spare`."""
    beyond = accumulate(wavefronts(group, table, bits, banks) - least for group, least in bounds)
    return any(total > spare for total in beyond)


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
