"""A refused decision says what was possible, what it contradicts and which rule fails."""

from __future__ import annotations

import pytest
from tests.schedule.choices import hand

from warploom.core import UserError
from warploom.schedule.choices import kernel_space
from warploom.schedule.space import last_step, reasons, steps
from warploom.schedule.targets import target

BACKBONE = hand.matmul(8, 8, 8, (((1, 2), (2,)), ((1, 2), (2,)), ((2,),)))


@pytest.mark.parametrize(
    ("decisions", "said"),
    [
        (
            [("dim_kind(mad.n0)", "VECTOR")],
            ("possible before: LOOP, UNROLL, BLOCK, THREAD", "'dims that may be VECTOR'", "take LOOP or"),
        ),
        (
            [("dim_kind(mad.n0)", "LOOP"), ("dim_kind(init.n0)", "THREAD")],
            ("contradicts dim_kind(mad.n0) = LOOP", "loops of one kind", "leave dim_kind(mad.n0) open"),
        ),
        (
            [("dim_kind(mad.m0)", "BLOCK"), ("dim_kind(mad.n0)", "LOOP"), ("order(mad.m0, mad.n0)", "INNER")],
            ("order(mad.m0, mad.n0)", "'only blocks around blocks'", "possible before: OUTER"),
        ),
    ],
)
def test_refusals(decisions: list[tuple[str, str]], said: tuple[str, ...]) -> None:
    space = kernel_space(BACKBONE, target("sm_80"))
    with pytest.raises(UserError) as caught:
        space.replay(decisions)
    for text in said:
        assert text in str(caught.value)


def test_the_steps_of_a_propagation_are_those_that_it_takes() -> None:
    space = kernel_space(BACKBONE, target("sm_80"))
    root = space.root()
    choice, arguments = space.names.parse("dim_kind(mad.n1)")
    taken = steps(root, choice, arguments, 0b10)
    assert taken[0].rules == ()
    assert all(step.rules for step in taken[1:])
    after = root.restrict(choice, arguments, 0b10)
    assert after is not None
    found = {(s.choice, s.things): s.after for s in taken if s.choice == "dim_kind"}
    assert all(after.domain(name, *things) == mask for (name, things), mask in found.items())
    assert last_step(root, choice, arguments, 0b10) == taken[-1]
    assert reasons(taken)[-1] == taken[-1]
