"""Users of the table take what it has, without a list of their own."""

import math

import numpy as np
import pytest

import warploom as wl
from warploom.core import UserError
from warploom.operations import BY_NAME, C_FUNCTIONS
from warploom.scan.emit.dialect import NUMBA, NUMPY
from warploom.scan.reading import subset
from warploom.schedule import frontend
from warploom.schedule.backbone import FUNCTIONS
from warploom.schedule.cpu.registers import free_names, fresh
from warploom.schedule.cuda.helpers import WORDS
from warploom.schedule.targets import target


@pytest.mark.parametrize("operator", FUNCTIONS)
def test_each_function_is_offered_costs_something_and_hides_behind_no_variable(operator):
    row = BY_NAME[operator.value]
    assert getattr(wl, row.name) is getattr(frontend, row.name)
    for name in ("cpu", "sm_90"):
        assert {op: issued for op, _, issued in target(name).rates.operations}[row.name] > 0
    for word in (row.c, f"{row.c}f"):
        assert word in C_FUNCTIONS and word in WORDS and fresh(free_names(), word) != word


def test_no_other_name_is_offered():
    with pytest.raises(AttributeError, match="no attribute 'sinh'"):
        frontend.sinh  # noqa: B018


def test_an_assignment_by_another_sign_is_named():
    def halves(x: wl.f32["n"], y: wl.out[wl.f32["n"]]):  # noqa: F821
        y[i] //= x[i]  # noqa: F821

    with pytest.raises(UserError, match=r"expected \+= for a sum, got //="):
        wl.tensor(halves).program({"n": 4})


@pytest.mark.parametrize("name", ["max", "min", "exp"])
def test_scans_read_and_print_functions_by_their_rows(name):
    row, operands = BY_NAME[name], (0.5, 2.0)[: BY_NAME[name].arity]
    known = subset.function(row.exact)
    assert known is not None and known.name == name
    for dialect in (NUMBA, NUMPY):
        printed = dialect.spellings[name].text.format(*operands)
        assert eval(printed, {"math": math, "np": np}) == pytest.approx(row.exact(*operands))


def test_scans_read_signs_of_integers_by_their_rows():
    assert {o.sign for o in subset.OPERATIONS.values() if o.is_whole} == {"//", "%", "&", "|", "^", "<<", ">>"}
