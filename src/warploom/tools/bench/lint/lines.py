"""The lines of a kernel that a planted mistake concerns, where a finding about it may stand."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from warploom.tools.bench.lint.planting import Bug

ORDERING = frozenset({"missing-barrier", "barrier-count"})
"""Rules whose mistakes are no access: a finding stands on the accesses that are no longer in order."""
COPYING = frozenset({"missing-wait", "wrong-stage"})
"""Rules about the order of a copy and the use of its data: a finding names both."""
ASYNCHRONOUS = frozenset(
    ("missing-commit", "missing-fence", "missing-arrival", "wrong-bytes", "wrong-parity", "early-store", "wrong-count")
)  # fmt: skip
"""Rules whose finding names the copy or product that goes on, a wait for it that does not end, or the load of what it brings."""
_GOES_ON = re.compile(r"cp\.async\.bulk\.(?!commit|wait)|wgmma\.mma|tcgen05\.(?:mma|cp)|mbarrier\.(?:try|test)_wait")
_COPY = re.compile(r"cp\.async\.(?:ca|cg)")
_ORDER = re.compile(r"__sync|bar\.|wait_group|\bdebug_barrier\b")
_ASSIGNED = re.compile(r"(\w+)(?:\.\w+)?\s*(?:[-+*/]|<<|>>)?=(?!=)")
_FILLED = re.compile(r"(\w+)(?:\[[^\]]*\])+\s*[-+*/]?=(?!=)")
_SET = re.compile(r"^\s*(?:@!?%p\d+ )?(?!st|bar|bra|red)[\w.:]+ \{?(%\w+)")
_REGISTER = re.compile(r"%\w+")
_WORD = re.compile(r"[A-Za-z_]\w*")


def stands_right(bug: Bug, places: Collection[int]) -> bool:
    """Whether a finding on these lines of the file, those of the other accesses too, is about the mistake."""
    texts = bug.text.split("\n")
    at = bug.line - bug.kernel.line
    if bug.rule in ASYNCHRONOUS or (bug.rule in COPYING and _GOES_ON.search(bug.kernel.text)):
        named = [texts[place - bug.kernel.line] for place in places if 0 <= place - bug.kernel.line < len(texts)]
        return any(_GOES_ON.search(text) or "ld.shared" in text for text in named)
    if bug.kernel.text.startswith("."):
        return _touches(texts, at, {place - bug.kernel.line for place in places})
    inside = {place - bug.kernel.line for place in places}
    if bug.rule in COPYING:
        return len(inside) > 1 and any(0 <= n < len(texts) and _COPY.search(texts[n]) for n in inside)
    if bug.rule in ORDERING:
        around = _without_order(texts, at)
        return bool(inside & around) or any(0 <= n < len(texts) and _ORDER.search(texts[n]) for n in inside)
    return bool(inside & _concerned(texts, at))


def _touches(texts: list[str], at: int, places: set[int]) -> bool:
    """In PTX, where an instruction is a line: the line, one that its value comes to, one that this decides about; all for a
    branch or barrier."""
    if not (set_ := _SET.findall(texts[at])):
        return True
    names, found = set(set_), {at}
    while True:
        found |= {n for n, text in enumerate(texts) if names & {*_REGISTER.findall(text)}}
        for n in [n for n in found if " bra" in texts[n]]:
            label = texts.index(texts[n].split()[-1].rstrip(";") + ":")
            found |= set(range(min(n, label), max(n, label)))
        more = {name for n in found for name in _SET.findall(texts[n])} - names
        if not more:
            return bool(found & places)
        names |= more


def _without_order(texts: list[str], at: int) -> set[int]:
    """Lines that a thread may come from or go to from line `at` without another barrier."""
    found = {at} | _up_to_order(texts, range(at + 1, len(texts))) | _up_to_order(texts, range(at - 1, -1, -1))
    for first, last in _loops(texts):
        if first <= at <= last:  # a thread goes from the end of a loop to its beginning
            found |= _up_to_order(texts, range(first, at)) | _up_to_order(texts, range(last, at, -1))
    return found


def _up_to_order(texts: list[str], lines: Iterable[int]) -> set[int]:
    found: set[int] = set()
    for n in lines:
        if _ORDER.search(texts[n]):
            break
        found.add(n)
    return found


def _loops(texts: list[str]) -> list[tuple[int, int]]:
    return [(n, _end(texts, n)) for n, text in enumerate(texts) if re.match(r"\s*(for|while)\b", text)]


def _end(texts: list[str], at: int) -> int:
    """The last line of the statement that begins on a line."""
    depth, margin = 0, _margin(texts[at])
    for n in range(at, len(texts)):
        depth += texts[n].count("{") - texts[n].count("}")
        if depth <= 0 and (n > at or texts[n].rstrip().endswith(";")):
            return n
        if n > at and not depth and _margin(texts[n]) <= margin:
            return n - 1
    return len(texts) - 1


def _margin(text: str) -> int:
    return len(text) - len(text.lstrip())


def _concerned(texts: list[str], at: int) -> set[int]:
    """The line, what it decides about, and what is computed or read from there."""
    found = {at}
    if re.match(r"\s*(?:\} else )?(if|for|while|else)\b|\s*;?\s*$", texts[at]):
        leaves = "return" in texts[at] or not texts[at].strip(" ;")
        found |= set(range(at, len(texts) if leaves else _end(texts, at) + 1))
    if texts[at].rstrip().endswith(("+", ",", "(")):
        found.add(at + 1)
    names: set[str] = set()
    while True:
        names |= {name for n in found for name in _ASSIGNED.findall(texts[n])}
        more = {n for n, text in enumerate(texts) if n > 0 and names & {*_WORD.findall(text)}} - found
        if not more:
            break
        found |= more
    arrays = {name for n in found for name in _FILLED.findall(texts[n])}
    return found | {n for n, text in enumerate(texts) if n > 0 and arrays & {*_WORD.findall(text)}}
