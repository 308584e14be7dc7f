"""Programs with one part exchanged: none is proved that some size refutes, even when the prover's own runs are switched off."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from warploom.scan.networks import (
    NAMED,
    Adjacency,
    Bound,
    Generalised,
    Induction,
    Move,
    Program,
    generalise,
    guards,
    is_scan,
    prove_every_size,
    sources,
)


def mutants(seed: int, count: int) -> Iterator[tuple[Program, Adjacency]]:
    draw = random.Random(seed)
    found = [result for name in NAMED if isinstance(result := generalise(NAMED[name](16)), Generalised)]
    for _ in range(count):
        start = draw.choice(found)
        phases = list(start.program.phases)
        place = draw.randrange(len(phases))
        phase = phases[place]
        match draw.randrange(5):
            case 0:
                phase = replace(phase, move=Move(draw.choice(guards((2, 4))).expr, phase.move.source))
            case 1:
                phase = replace(phase, move=Move(phase.move.guard, draw.choice(sources((2, 4))).expr))
            case 2:
                phase = replace(phase, low=Bound(draw.randrange(4), draw.random() < 0.3))
            case 3:
                phase = replace(phase, high=Bound(draw.randrange(4), draw.random() < 0.3))
            case _:
                phase = replace(phase, is_rising=not phase.is_rising)
        phases[place] = phase
        radices = draw.choice([*[start.program.radices] * 4, (3,), (2, 3)])
        yield Program(radices, tuple(phases)), draw.choice([start.adjacency, "overlapping"])


def test_no_wrong_program_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warploom.scan.networks.induction.is_scan", lambda *_: True)
    proved = 0
    for program, adjacency in mutants(seed=1, count=28):
        try:
            proof = prove_every_size(program, adjacency)
        except ValueError:
            continue  # a source out of place, which the runs would have told
        if isinstance(proof, Induction):
            proved += 1
            # Sizes below the lowest levels are run by the prover, which is switched off here.
            assert all(is_scan(program, n, adjacency) for n in (97, 128, 129, 200, 243, 500, 1000))
    assert proved >= 2
