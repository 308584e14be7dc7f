"""Every text that the compilers emit parses and prints back byte for byte."""

import pytest
from tests.ptx.corpus import names, quick, text

from warploom.ptx import is_supported, lower
from warploom.ptx.syntax import exact, normal, parse

CASES = [pytest.param(name, marks=() if name in quick() else pytest.mark.slow) for name in names()]


@pytest.mark.parametrize("name", CASES)
def test_prints_back(name: str) -> None:
    given = text(name)
    module = parse(given)
    assert exact(module) == given
    once = normal(module)
    assert normal(parse(once)) == once


@pytest.mark.slow
@pytest.mark.parametrize("name", names())
def test_the_interpreter_knows_every_instruction(name: str) -> None:
    program = lower(parse(text(name)))
    unknown = {i.name for routine in program.routines.values() for i in routine.instructions if not is_supported(i)}
    assert not unknown
