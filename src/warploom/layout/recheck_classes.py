"""The part of the checker that follows proofs that no map of a class is without conflict; it imports nothing of Warploom, either.

Groups of lanes that are served at once come from `recheck`. A chunk is 2^`chunk` elements that stay together.
"""

import operator
from collections.abc import Iterator
from itertools import combinations
from typing import Any

Group = list[list[int]]  # by lane the elements that it takes


def apart(groups: list[Group], chunk: int, per_word: int, colours: int) -> Iterator[tuple[int, ...]]:
    """Chunks whose same part is wanted at once, where there is a group of banks for each."""
    for lanes in groups:
        parts: dict[int, set[int]] = {}
        for e in {e for lane in lanes for e in lane}:
            parts.setdefault(e % (1 << chunk) // per_word, set()).add(e >> chunk)
        if all(len(chunks) <= colours for chunks in parts.values()):
            yield from (tuple(sorted(chunks)) for chunks in parts.values())


def colours_of(chunk: int, groups: list[Group], size: int, bits: int, banks: int) -> int:
    """Groups of banks as wide as a chunk; 0 where chunks do not fit to the banks, the tile or the lanes."""
    widest = max(1, 32 // bits, *(len(lane) for lanes in groups for lane in lanes))
    fits = not banks & (banks - 1) and chunk < 8 and 1 << chunk >= widest and not size % (1 << chunk)
    return banks * 32 // bits >> chunk if fits else 0


def no_linear(claim: dict[str, Any], groups: list[Group], rows: int, columns: int, bits: int, banks: int) -> list[str]:
    """Tries every complement of the subspace that some access takes at once, which any kernel without conflict must be."""
    chunk, size, space = operator.index(claim["chunk"]), rows * columns, [operator.index(v) for v in claim["space"]]
    colours = colours_of(chunk, groups, size, bits, banks)
    if size & (size - 1) or columns & (columns - 1) or not colours:
        return ["no_linear is said of no tile of powers of two with its chunks"]
    sets = set(apart(groups, chunk, max(1, 32 // bits), colours))
    clashes = {x ^ y for chunks in sets for x in chunks for y in chunks if x != y}
    spans = [0]
    for vector in space[: colours.bit_length()]:
        spans += [vector ^ s for s in spans]
    if len(set(spans)) != colours or 1 << len(space) != colours or not set(spans) - {0} <= clashes:
        return ["no_linear names a subspace that need not be without conflict"]
    others, reached = list[int](), set(spans)
    for unit in (1 << j for j in range((size >> chunk).bit_length() - 1)):
        if unit not in reached:
            others.append(unit)
            reached |= {unit ^ s for s in reached}

    def fits(kernel: list[int], *left: int) -> bool:
        vectors = [left[0] ^ s for s in spans if not any(left[0] ^ s ^ k in clashes for k in kernel)] if left else []
        return not left or any(fits(kernel + [v ^ k for k in kernel], *left[1:]) for v in vectors)

    return ["there is a linear map without conflict"] if fits([0], *others) else []


def no_map(claim: dict[str, Any], groups: list[Group], rows: int, columns: int, bits: int, banks: int) -> list[str]:
    """Follows the lemmas: where a lemma is wrong, each hint says one more literal, until the last one is wrong, too.

    Literal 1 + chunk * colours + colour: the chunk lies in those banks. Clauses, in order: each chunk has a colour; none has two;
    no pair that must lie apart has one; a set of as many as there are colours has all; the chunks of one set have 0, 1, ...
    """
    chunk, size = operator.index(claim["chunk"]), rows * columns
    colours = colours_of(chunk, groups, size, bits, banks)
    sets = sorted({chunks for chunks in apart(groups, chunk, max(1, 32 // bits), colours) if len(chunks) > 1})
    if not colours or (size >> chunk) * colours**2 > 1 << 20 or tuple(claim["apart"]) not in sets:
        return ["no_map is said of too large a tile, or names chunks that need not lie apart"]
    every = range(colours)
    names = [[1 + at * colours + colour for colour in every] for at in range(size >> chunk)]
    clauses = [*names, *([-one, -two] for has in names for one, two in combinations(has, 2))]
    pairs = sorted({pair for chunks in sets for pair in combinations(chunks, 2)})
    clauses += [[-names[one][colour], -names[two][colour]] for one, two in pairs for colour in every]
    clauses += [[names[at][colour] for at in chunks] for chunks in sets if len(chunks) == colours for colour in every]
    clauses += [[names[at][colour]] for colour, at in enumerate(claim["apart"])]
    for lemma, hints in claim["lemmas"]:
        holds, left = {-literal for literal in lemma}, [0]
        for hint in hints:
            left = [literal for literal in clauses[hint if hint >= 0 else len(clauses)] if -literal not in holds]
            if len(left) > 1:
                break
            holds |= {*left}
        if left:
            return [f"no_map: lemma {lemma} does not follow"]
        clauses.append(lemma)
    return ["no_map: the last lemma is not empty"] if clauses[-1] else []
