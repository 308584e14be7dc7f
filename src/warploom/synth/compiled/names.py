"""Names for data that threads hand to each other: a symbol in place of a large term, which stands for it.

    %name[n]               the n-th term that got a name
    %name[n, x, y, z]      the same as it is for the threads so many steps further on (`alike.py`)

So what one thread reads of another one is small, however it was computed. A term that leaves the run, or that is compared, has no
names in it (`expanded`).
"""

from __future__ import annotations

from collections.abc import Callable

from warploom.synth.compiled.data import Data, Value
from warploom.terms import Term, atom

NAME = "%name"
_LEAST = 8
"""Operations of the smallest term that gets a name."""


class Names:
    def __init__(self, data: Data, moved: Callable[[Term, int], Term]) -> None:
        """moved: a representative's term as it is for a thread."""
        self._data, self._moved = data, moved
        self._of: dict[Term, Term] = {}
        self._terms: dict[Term, Term] = {}
        """By name: what it stands for, which may have names in it."""
        self._origins: dict[Term, tuple[Term, int]] = {}
        """By name of what a thread has that is not run: the representative's, and the thread."""
        self._expanded: dict[Term, Term] = {}

    def named(self, value: Value) -> Value:
        """The name of a large term of floats; any other value as it is."""
        kind = self._data.kinds.get(value) if isinstance(value, Term) else None
        if not isinstance(value, Term) or kind is None or not kind.is_float or not _is_large(value):
            return value
        if value not in self._of:
            name = self._of[value] = self._data.made(atom(NAME, (len(self._of),)), kind)
            self._terms[name] = value
        return self._of[value]

    def for_thread(self, name: Term, thread: int, steps: tuple[int, int, int]) -> Term:
        """The name of what a thread has where its representative has what this name stands for."""
        if name not in self._terms:  # of one that moved already
            return self._moved(self.expanded(name), thread)
        made = self._data.made(atom(NAME, (*name.data[1], *steps)), self._data.kinds[name])
        self._origins.setdefault(made, (name, thread))
        return made

    def term_of(self, name: Term) -> Term:
        """The term that a name stands for, which may have names in it."""
        if name not in self._terms and name in self._origins:
            own, thread = self._origins[name]
            return self._moved(self._terms[own], thread)
        return self._terms[name]

    def expanded(self, root: Term) -> Term:
        """The term without names."""
        done = self._expanded
        stack = [root]
        while stack:
            term = stack[-1]
            if term in done:
                stack.pop()
                continue
            parts = (self.term_of(term),) if is_name(term) else term.args
            if missing := [p for p in parts if p not in done]:
                stack += missing
                continue
            stack.pop()
            if is_name(term):
                done[term] = done[parts[0]]
            elif any(done[p] is not p for p in parts):
                made = term.rebuilt([done[p] for p in parts])
                done[term] = self._data.made(made, self._data.kinds[term]) if term in self._data.kinds else made
            else:
                done[term] = term
        return done[root]


def is_name(term: Term) -> bool:
    return term.op == "atom" and term.data[0] == NAME


def _is_large(root: Term) -> bool:
    stack, found = [root], 0
    while stack and found < _LEAST:
        term = stack.pop()
        found += bool(term.args)
        stack.extend(term.args)
    return found >= _LEAST
