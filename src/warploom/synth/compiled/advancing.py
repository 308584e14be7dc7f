"""Elements that move with the steps of a loop, so many steps further on."""

from __future__ import annotations

from warploom.core import NOWHERE
from warploom.synth.compiled.data import Joined
from warploom.synth.compiled.faults import unsupported
from warploom.synth.compiled.renaming import rebuilt
from warploom.synth.compiled.threads import Launch
from warploom.terms import Term, atom


def advanced(term: Term, steps: int, launch: Launch, done: dict[Term, Term], *, is_general: bool, is_open: bool = False) -> Term:
    """Elements that move as they are so many steps further on; is_general: still as elements that move; is_open: one step more
    with each `%length`. done: terms for which that is known, and gets others."""

    def leaf(old: Term) -> Term:
        name, index, _ = old.data
        if len(index) != 2:
            return old
        place = index[0] + index[1] * steps
        if is_open:
            at_end = launch.use_at_end(name, index[1] * (launch.data.kinds[old].bits // 8))
            if at_end is None:
                raise unsupported(f"expected elements of {name} that move in few ways", NOWHERE)
            name = at_end
        return launch.data.made(atom(name, (place, index[1]) if is_general else (place,)), launch.data.kinds[old])

    return rebuilt(term, leaf, launch.data, done)


def widths(value: Joined) -> list[int]:
    """Bits of the parts: what is one step further on has the same."""
    return [bits for _, bits in value.parts]
