"""Asynchronous copies in the symbolic run: exactly the programs that are in error have findings."""

from __future__ import annotations

import pytest
from tests.async_programs import (
    DOUBLE,
    FILL_MISTAKES,
    FILLED,
    MISTAKES,
    VALID,
    conditional_programs,
    double,
    neighbours,
    programs,
)
from tests.synth.kernels import parse

from warploom.core import f32
from warploom.synth.proof.prove import prove
from warploom.synth.proof.symbolic import execute
from warploom.terms import algebra_for


def test_random_programs() -> None:
    for kernel, is_wrong in [*programs(50), *programs(30, VALID), *conditional_programs(30)]:
        found = {d.code for d in execute(kernel, {"n": 3}).diagnostics}
        assert found <= {"RACE", "COPY_PENDING"}
        assert bool(found) == is_wrong


def test_a_double_buffer_is_proved() -> None:
    proof = prove(parse(DOUBLE), double, {"n": 2}, algebra_for(f32))
    assert (proof.verdict, proof.diagnostics) == ("proved", ())


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_of_double_buffers(mistake: str) -> None:
    old, new, code = MISTAKES[mistake]
    proof = prove(parse(DOUBLE, (old, new)), double, {"n": 2}, algebra_for(f32))
    assert proof.verdict == "refuted"
    assert code in {d.code for d in proof.diagnostics}


@pytest.mark.parametrize("n", [1, 4, 5, 11])
def test_zeros_are_proved(n: int) -> None:
    assert prove(parse(FILLED), neighbours, {"n": n}, algebra_for(f32)).verdict == "proved"


@pytest.mark.parametrize("mistake", FILL_MISTAKES)
def test_mistakes_about_zeros(mistake: str) -> None:
    kernel = parse(FILLED, FILL_MISTAKES[mistake])
    verdicts = {prove(kernel, neighbours, {"n": n}, algebra_for(f32)).verdict for n in (4, 5, 8)}
    assert "refuted" in verdicts
