"""The checker of certificates: this file alone, which imports nothing of Warploom (`python recheck.py < CERTIFICATE`).

A certificate of a layout has a place for each element, what the lanes of each access take, and which of them shared memory serves
at once; that of an exchange has what lanes hold and want. All else that it says is worked out here from these numbers. Whether
they are those of a map, an access or an architecture by name is asked elsewhere (`warploom verify-certificate`).
"""

import json
import sys
from collections import Counter
from itertools import chain, combinations
from typing import Any

Lanes = list[list[int]]  # by lane the elements that it takes at once


def faults(certificate: dict[str, Any]) -> list[str]:
    """The first claim that does not hold, in words; empty if all hold."""
    try:
        expect(certificate["v"] == 2 and is_plain(certificate), "a certificate of version 2 is expected, with whole numbers")
        {"layout": check_layout, "exchange": check_exchange}[certificate["kind"]](certificate)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        return [str(error) if isinstance(error, ValueError) else f"it cannot be read: {type(error).__name__} {error}"]
    return []


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def is_plain(given: Any, key: Any = "") -> bool:
    """Whether the parts of JSON have the types that are expected, whole numbers in most places."""
    kind: Any = type(given)  # pyright: ignore[reportUnknownVariableType] - of JSON
    texts, choices = ("kind", "name", "map", "side"), ("optimal", "least_room", "pairs", "reached")
    if key in texts + choices or kind not in (dict, list):
        return kind is (str if key in texts else bool if key in choices else int)
    while kind is list and {*map(type, given)} == {list}:
        given = [*chain(*given)]
    return all(is_plain(part, name) for name, part in (given.items() if kind is dict else enumerate(given)))


def check_layout(said: dict[str, Any]) -> None:
    (rows, columns, bits), banks, places = (said["tile"][n] for n in ("rows", "columns", "bits")), said["banks"], said["places"]
    expect(min(rows, columns, banks) > 0 and rows * columns == len(places) and bits in (4, 8, 16, 32, 64, 128), "no such tile")
    expect(len(set(places)) == len(places) and min(places) >= 0, "two elements have one place, or one has none")
    filled, used = -(len(places) * bits // -32), -((max(places) + 1) * bits // -32)
    expect(used - filled == said["extra_words"], f"{used - filled} extra words, not {said['extra_words']}")
    asked = [[[[e + at for e in lane] for lane in lanes] for lanes, starts in entry["requests"] for at in starts]
             for entry in said["accesses"]]  # fmt: skip
    every = [lane for requests in asked for lanes in requests for lane in lanes if lane]
    expect(set[int]().union(*every) <= {*range(len(places))} and {*map(len, every)} <= {1, 2, 4, 8, 16, 32}, "no such elements")
    chunk, total, phases = forced_chunk(asked, len(places)), 0, list[Lanes]()
    for entry, requests in zip(said["accesses"], asked, strict=True):
        expect(
            all(together(lane, places) for lanes in requests for lane in lanes if len(lane) > 1), entry["name"] + ": torn apart"
        )
        in_groups = sorted(lane for group in entry["groups"] for lane in group)
        expect(in_groups == [*range(max(len(in_groups), *map(len, requests)))], "each lane is expected in one group")
        served = [group for lanes in requests for group in groups(lanes, entry["groups"], said["pairs"])]
        count, least = sum(wavefronts(g, places, bits, banks) for g in served), sum(bound(g, bits, chunk, banks) for g in served)
        expect(entry["wavefronts"] == count, f"{entry['name']}: {count} wavefronts, not {entry['wavefronts']}")
        expect(entry["least"] == least, f"{entry['name']}: at least {least} wavefronts by counting, not {entry['least']}")
        phases, total = phases + served, total + entry["wavefronts"]
    is_least = all(entry["wavefronts"] <= entry["least"] for entry in said["accesses"])
    expect(said["optimal"] is is_least, "the map is optimal" if is_least else "optimal is said of a map above the least")
    for name, check in (("no_linear", check_no_linear), ("no_map", check_no_map)):
        if name in said:
            check(said[name], len(places), *apart(phases, said[name]["chunk"], len(places), bits, banks))
    if said.get("least_room"):
        pitch, elements = places[columns % len(places)], [divmod(e, columns) for e in range(len(places))]
        expect(places == [r * pitch + c for r, c in elements], "least_room: the map is no padding")
        for less in range(columns, pitch):
            table = [r * less + c for r, c in elements]
            fits = (
                all(together(lane, table) for lane in every) and sum(wavefronts(g, table, bits, banks) for g in phases) <= total
            )
            expect(not fits, f"least_room: rows that are {less} apart need no more wavefronts")


def together(lane: list[int], places: list[int]) -> bool:
    """Whether a lane finds its elements side by side, aligned."""
    first = places[lane[0]]
    return first % len(lane) == 0 and [places[e] for e in lane] == list(range(first, first + len(lane)))


def groups(lanes: Lanes, shares: list[list[int]], pairs: bool) -> list[Lanes]:
    """The lanes that are served together; with `pairs` two groups at once where all neighbours take the same."""
    lanes = lanes + [[]] * (sum(map(len, shares)) - len(lanes))
    near = ([(lanes[i], lanes[i ^ step]) for i in range(len(lanes))] for step in (1, 2) if pairs and len(shares) > 1)
    step = 2 if any(all(one == two for one, two in both if one and two) for both in near) else 1
    found = [[lanes[i] for share in shares[at : at + step] for i in share if lanes[i]] for at in range(0, len(shares), step)]
    return [group for group in found if group]


def wavefronts(group: Lanes, places: list[int], bits: int, banks: int) -> int:
    """Most different words in one bank."""
    words = {places[e] * bits // 32 + k for lane in group for e in lane for k in range(max(1, bits // 32))}
    return max(Counter(word % banks for word in words).values())


def forced_chunk(asked: list[list[Lanes]], elements: int) -> int:
    """Elements that every map must keep together: those of the lanes of the widest access, where they cover the tile."""
    lanes = max(([lane for r in requests for lane in r if lane] for requests in asked), key=lambda found: max(map(len, found)))
    size = max(map(len, lanes))
    in_line = size > 1 and all(lane == list(range(lane[0], lane[0] + size)) and lane[0] % size == 0 for lane in lanes)
    return size if in_line and len({lane[0] for lane in lanes}) * size == elements else 1


def bound(group: Lanes, bits: int, chunk: int, banks: int) -> int:
    """All banks give a word each; word k of a chunk lies in every (words of a chunk)-th bank."""
    elements = {e for lane in group for e in lane}
    words = max(1, bits * chunk // 32)
    parts = [part for _, part in {(e // chunk, e % chunk // max(1, 32 // bits)) for e in elements}] if words > 1 else [0]
    return max(-(max(map(parts.count, set(parts))) * words // -banks), -(len(elements) * bits // (-32 * banks)))


def apart(phases: list[Lanes], chunk: int, size: int, bits: int, banks: int) -> tuple[int, set[tuple[int, ...]], int]:
    """log2 of a chunk, chunks of which the same part is wanted at once, and how many of them find banks of their own."""
    expect(0 <= chunk < 8 and size % (1 << chunk) == 0 == banks & (banks - 1), "chunks that fit to the tile are expected")
    widest, colours, found = max(len(lane) for lanes in phases for lane in lanes), banks * 32 // bits >> chunk, set[Any]()
    expect(1 << chunk >= max(widest, 32 // bits) and colours > 0, "chunks that fit to lanes and banks are expected")
    for elements in ({e for lane in lanes for e in lane} for lanes in phases):
        parts: dict[int, set[int]] = {}
        for e in elements:
            parts.setdefault(e % (1 << chunk) // max(1, 32 // bits), set()).add(e >> chunk)
        if all(len(chunks) <= colours for chunks in parts.values()):
            found |= {tuple(sorted(chunks)) for chunks in parts.values()}
    return chunk, found, colours


def check_no_linear(said: dict[str, Any], size: int, chunk: int, sets: set[tuple[int, ...]], colours: int) -> None:
    """Tries every complement of the subspace that some access takes at once, which any kernel without conflict must be."""
    clashes = {x ^ y for chunks in sets for x in chunks for y in chunks if x != y}
    spans, others = [0], list[int]()
    for vector in said["space"][: colours.bit_length()]:
        spans += [vector ^ s for s in spans]
    reached = set(spans)
    expect(size & (size - 1) == 0 and len(reached) == colours == 1 << len(said["space"]), "no_linear: no basis for the tile")
    expect(reached - {0} <= clashes, "no_linear: the subspace need not be without conflict")
    for unit in (1 << j for j in range((size >> chunk).bit_length() - 1)):
        if unit not in reached:
            others.append(unit)
            reached |= {unit ^ s for s in reached}

    def fits(kernel: list[int], *left: int) -> bool:
        vectors = [left[0] ^ s for s in spans if not any(left[0] ^ s ^ k in clashes for k in kernel)] if left else []
        return not left or any(fits(kernel + [v ^ k for k in kernel], *left[1:]) for v in vectors)

    expect(not fits([0], *others), "no_linear: there is a linear map without conflict")


def check_no_map(said: dict[str, Any], size: int, chunk: int, sets: set[tuple[int, ...]], colours: int) -> None:
    """Follows the lemmas: where a lemma is wrong, each hint says one more literal, until the last one is wrong, too. Literal
    1 + chunk * colours + colour: the chunk lies in those banks. Clauses, in order: each chunk has a colour; none has two; no
    pair that must lie apart has one; a set of as many as there are colours has all; the chunks of one set have 0, 1, ..."""
    several, every = sorted(chunks for chunks in sets if len(chunks) > 1), range(colours)
    expect(tuple(said["apart"]) in several and (size >> chunk) * colours**2 <= 1 << 20, "no_map: too large, or apart is no set")
    names = [[1 + at * colours + colour for colour in every] for at in range(size >> chunk)]
    clauses = [*names, *([-one, -two] for has in names for one, two in combinations(has, 2))]
    pairs = sorted({pair for chunks in several for pair in combinations(chunks, 2)})
    clauses += [[-names[one][colour], -names[two][colour]] for one, two in pairs for colour in every]
    clauses += [[names[at][colour] for at in chunks] for chunks in several if len(chunks) == colours for colour in every]
    clauses += [[names[at][colour]] for colour, at in enumerate(said["apart"])]
    for lemma, hints in said["lemmas"]:
        holds, left = {-literal for literal in lemma}, [0]
        for hint in hints:
            left = [literal for literal in clauses[hint if hint >= 0 else len(clauses)] if -literal not in holds]
            expect(len(left) < 2, f"no_map: a hint of lemma {lemma} says nothing")
            holds |= {*left}
        expect(not left, f"no_map: lemma {lemma} does not follow")
        clauses.append(lemma)
    expect(not clauses[-1], "no_map: the last lemma is not empty")


def check_exchange(said: dict[str, Any]) -> None:
    """A shuffle brings each lane one word and takes one from it: one lane shows how many are needed, the moves that they do."""
    held, wanted, lanes, size = said["held"], said["wanted"], said["lanes"], said["words_hold"]
    expect(lanes > 0 < size and len(held) == len(wanted) and len(held) % lanes == 0, "not as many lanes after as before")
    expect(all(len(word) <= size for lane in held + wanted for word in lane), f"words of at most {size} elements are expected")
    before, after = ([set[int](e for word in lane for e in word if e >= 0) for lane in side] for side in (held, wanted))
    at, moves = int(said["lane"]), list[list[int]](said["moves"])
    expect(0 <= at < len(held) and said["side"] in ("takes", "gives"), "a lane is expected that takes or gives")
    others = [n for n in range(len(held)) if n != at]
    alone = before[at].difference(*(before[n] for n in others)).intersection(set[int]().union(*(after[n] for n in others)))
    needs = -(-len(alone if said["side"] == "gives" else after[at] - before[at]) // size)
    expect(needs == said["least_shuffles"], f"lane {at} needs {needs} shuffles, not {said['least_shuffles']}")
    offers = {(sender, shuffle, word) for sender, word, _, shuffle in moves}
    expect(len({offer[:2] for offer in offers}) == len(offers), "a lane offers two words in one shuffle")
    expect(len({(receiver, shuffle) for *_, receiver, shuffle in moves}) == len(moves), "a lane reads twice in one shuffle")
    for sender, word, receiver, _ in moves:
        expect(min(sender, word, receiver) >= 0 and sender // lanes == receiver // lanes, f"{receiver} cannot read {sender}")
        before[receiver].update(e for e in held[sender][word] if e >= 0)
    expect(all(after[n] <= before[n] for n in range(len(held))), "a lane never gets what it wants")
    reached = len({shuffle for *_, shuffle in moves}) == needs
    expect(said["reached"] is reached, "the moves take as many shuffles" if reached else "the moves take more shuffles")


if __name__ == "__main__":
    sys.exit("; ".join(faults(json.load(sys.stdin))) or None)
