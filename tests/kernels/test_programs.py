"""Names of dataflow programs."""

from __future__ import annotations

import re

import numpy as np
import pytest

from warploom.core import UserError
from warploom.ir.dataflow import Gathered, meets_goal, named_statements, parse_program, run_program
from warploom.kernels import PROGRAM_NAMES, PUBLISHED, find_program, is_program
from warploom.kernels.programs import FAMILIES, transposition, wide_stencil2d
from warploom.synth.dataflow import solve_program


def test_names() -> None:
    assert all(is_program(name) for name in PROGRAM_NAMES)
    assert set(PUBLISHED) < set(PROGRAM_NAMES)
    assert len(set(PROGRAM_NAMES)) == len(PROGRAM_NAMES)


def test_families_contain_the_authors_cases() -> None:
    """Where a family has the size of a listed case, it is the same program."""
    for name in PUBLISHED:
        for family in FAMILIES:
            match = re.fullmatch(family.pattern, name)
            if match is not None:
                assert family.build(match.groups()[:-1], int(match.groups()[-1])) == find_program(name)


@pytest.mark.parametrize("name", ["sf/l3/trove-crc-65", "sf/l4/1d-conv", "wall/crc-0", "wall/mult64-shared-w9"])
def test_unknown_names(name: str) -> None:
    assert not is_program(name)
    with pytest.raises(UserError, match="UNKNOWN_PROGRAM"):
        find_program(name)


def test_transpositions_start_and_end_where_the_contract_says() -> None:
    m, n = 3, 4
    program = parse_program(transposition("crc", m, n))
    loaded = run_program(program, {name: np.arange(m * n) for name in ("s1", "s2", "s3")})["loaded"]
    assert [loaded[t * m + r] for r in range(m) for t in range(n)] == list(range(m * n))
    assert program.goal.values == tuple(range(m * n))


@pytest.mark.parametrize(("order", "sets"), [("crc", "row col row"), ("rcr", "col row col"), ("sum", "row col")])
def test_order_of_transpositions(order: str, sets: str) -> None:
    """Columns of the papers' order are registers: the last axis, along which the language's rows run."""
    text = transposition(order, 3, 4)
    assert re.findall(r"\?(\w+)", text) == sets.split()
    solution = next(iter(solve_program(parse_program(text), goal="first").solutions))
    program = parse_program(text)
    choices = {name: s.value.choices for name, s in named_statements(program) if isinstance(s.value, Gathered)}
    members = {name: choices[name].gather(m.table.astype(np.int64)) for name, m in solution.members.items()}
    assert meets_goal(program, members)


def test_wide_stencils_may_compare_with_every_multiple_of_the_side() -> None:
    assert "consts=[0, 1, -1, 4, -4]" in wide_stencil2d(9)
    assert "consts=[0, 1, -1, 4, -4, 8, -8]" in wide_stencil2d(13)
    assert find_program("wall/stencil2d-9") == find_program("sf/l3/2d-stencil-9")
