"""Checks certificates of exchanges from their JSON alone. Imports nothing of Warploom, so that it shares nothing with the search.

One lane shows that fewer shuffles are impossible: it takes in so many elements that it does not hold, or it alone holds so many
that others want; a shuffle brings each lane one word and takes one from it. The moves show that so many are enough: in each
shuffle a lane offers one word and reads one, and in the end every lane has the words with all that it wants.
"""

from __future__ import annotations

from typing import Any, cast

Table = list[list[list[int]]]


def faults(document: dict[str, Any]) -> list[str]:
    """The faults of the certificate; empty if nothing is."""
    try:
        return _faults(document)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError) as error:
        return [f"not a certificate: {type(error).__name__} {error}"]


def _faults(document: dict[str, Any]) -> list[str]:
    held, wanted = _table(document["held"]), _table(document["wanted"])
    lanes, size = document["lanes"], document["words_hold"]
    if (document["v"], document["kind"]) != (1, "exchange") or not _is_number(lanes) or not _is_number(size):
        return ["a certificate of an exchange of version 1 is expected, with whole numbers"]
    if lanes < 1 or len(held) != len(wanted) or len(held) % lanes or size < 1:
        return ["as many lanes before and after are expected"]
    if any(len(word) > size for lane in held + wanted for word in lane):
        return [f"words that hold {size} elements are expected"]
    before = [{e for word in lane for e in word if e >= 0} for lane in held]
    after = [{e for word in lane for e in word if e >= 0} for lane in wanted]
    everything = {e for lane in before for e in lane}
    if not {e for lane in after for e in lane} <= everything:
        return ["an element is wanted that no lane holds"]
    if document["least_shuffles"] is None:
        return []
    numbers = (document["least_shuffles"], document["lane"], *(n for move in document["moves"] for n in move))
    if document["side"] not in ("takes", "gives") or not all(map(_is_number, numbers)):
        return ["a lane is expected that takes or gives, and moves in whole numbers"]
    found: list[str] = []
    need = _need(document, before, after, size)
    if need != document["least_shuffles"]:
        found.append(f"lane {document['lane']} needs {need} shuffles, not {document['least_shuffles']}")
    return found + _moves(document, held, before, after, lanes)


def _table(given: object) -> Table:
    table = cast(Table, given)
    if not table or not all(_is_number(e) for lane in table for word in lane for e in word):
        raise ValueError("expected numbers of elements by lane, word and slot")
    return table


def _is_number(given: object) -> bool:
    return type(given) is int


def _need(document: dict[str, Any], before: list[set[int]], after: list[set[int]], size: int) -> int:
    """Shuffles that the named lane makes necessary."""
    lane: int = document["lane"]
    if not 0 <= lane < len(before):
        raise ValueError(f"no lane {lane}")
    if document["side"] == "takes":
        words = after[lane] - before[lane]
    else:
        others = [number for number in range(len(before)) if number != lane]
        words = {e for e in before[lane] if not any(e in before[n] for n in others) and any(e in after[n] for n in others)}
    return -(-len(words) // size)


def _moves(document: dict[str, Any], held: Table, before: list[set[int]], after: list[set[int]], lanes: int) -> list[str]:
    """The shuffles, followed one after the other."""
    has = [set(elements) for elements in before]
    offers: dict[tuple[int, int], int] = {}
    reads: set[tuple[int, int]] = set()
    found: list[str] = []
    moves = cast("list[tuple[int, int, int, int]]", document["moves"])
    for sender, word, receiver, shuffle in moves:
        if min(sender, word, receiver) < 0 or sender // lanes != receiver // lanes:
            found.append(f"lane {receiver} cannot read lane {sender}")
        if offers.setdefault((sender, shuffle), word) != word:
            found.append(f"lane {sender} offers two words in shuffle {shuffle}")
        if (receiver, shuffle) in reads:
            found.append(f"lane {receiver} reads twice in shuffle {shuffle}")
        reads.add((receiver, shuffle))
        has[receiver] |= {e for e in held[sender][word] if e >= 0}
    for lane, elements in enumerate(after):
        if not elements <= has[lane]:
            found.append(f"lane {lane} never gets element {min(elements - has[lane])}")
    count = len({shuffle for _, shuffle in reads})
    if document["reached"] is not (count == document["least_shuffles"]):
        found.append(f"the moves take {count} shuffles")
    return found
