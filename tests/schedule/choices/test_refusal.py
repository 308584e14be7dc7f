"""A refused decision says what was possible, what it contradicts and which rule fails."""

from __future__ import annotations

import random
import re

import pytest
from tests.schedule.choices import hand

from warploom.core import UserError
from warploom.schedule.choices import kernel_space
from warploom.schedule.targets import target
from warploom.solve.space import last_step, removal

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
    decision = choice, arguments, 0b10
    after = root.restrict(*decision)
    assert after is not None
    for things in root.open("dim_kind"):
        before, left = root.domain("dim_kind", *things), after.domain("dim_kind", *things)
        for n in [n for n in range(before.bit_length()) if before >> n & 1]:
            step = removal(root, decision, "dim_kind", things, 1 << n)
            assert (step is None) == bool(left >> n & 1)
            if step is not None:
                assert (step.choice, step.things) == ("dim_kind", things)
                assert step.before >> n & 1
                assert not step.after >> n & 1
                assert (step.rules == ()) == (things == arguments)
    last = last_step(root, *decision)
    assert last is not None
    assert last.rules
    assert last.is_counter or after.domain(last.choice, *last.things) == last.after


def test_refusals_name_what_was_decided_and_what_can_be() -> None:
    """Nothing that only followed from the decisions, and no value that is refused as well."""
    space = kernel_space(BACKBONE, target("sm_80"))
    left_open = 0
    for seed in range(3):
        draw, candidate = random.Random(seed), space.root()
        taken: list[tuple[str, str]] = []
        for _ in range(25):
            choice, arguments = draw.choice([(c, a) for c in space.choices() for a in candidate.open(c)])
            name = space.names.text(choice, arguments)
            universe = [str(v) for v in space.instance.universe(choice, *arguments)]
            value = "|".join(draw.sample(universe, draw.randint(1, 2)))
            try:
                candidate = space.set_by_name(candidate, name, value, taken)
            except UserError as error:
                (diagnostic,) = error.diagnostics
                opposed = re.search(r"it contradicts (.+?\)) = ([^;]+)", diagnostic.message)
                assert opposed is None or opposed.groups() in taken
                fix = re.search(r"leave (.+?\)) open", diagnostic.fix or "")
                if fix is not None:
                    left_open += 1
                    assert opposed is not None
                    assert fix[1] == opposed[1]
                    space.replay([*(d for d in taken if d[0] != fix[1]), (name, value)])
                values = re.search(r"take (.+)", diagnostic.fix or "")
                for other in values[1].split(" or ") if values is not None else ():
                    space.set_by_name(candidate, name, other, taken)
            else:
                taken.append((name, value))
    assert left_open > 2


def test_values_that_are_refused_as_well_are_not_recommended() -> None:
    space = kernel_space(BACKBONE, target("sm_80"))
    with pytest.raises(UserError) as caught:
        space.replay([("dim_kind(mad.n0)", "LOOP"), ("dim_kind(init.n0)", "THREAD|UNROLL")])
    (diagnostic,) = caught.value.diagnostics
    assert "take LOOP" in (diagnostic.fix or "")
    assert not {"THREAD", "UNROLL"} & set(re.findall(r"\w+", diagnostic.fix or ""))
