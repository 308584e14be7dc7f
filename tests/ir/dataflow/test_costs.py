"""Cost of a transformation's index arithmetic: `ir.kernel.cost` by hand."""

from __future__ import annotations

import numpy as np

from warploom.ir.dataflow.sets.registers import LaneOp
from warploom.ir.dataflow.sets.xform_template import MULTIPLY_COST, _joined_cost, _scale_cost, divisors, modulo_cost


def test_multiples_of_a_variable() -> None:
    """Nothing for none and one, one operation for a power of two or a change of sign, else a multiplication."""
    assert [_scale_cost(s, 8) for s in range(8)] == [0, 0, 1, MULTIPLY_COST, 1, MULTIPLY_COST, 1, 1]
    assert [_joined_cost(s, 8) for s in range(8)] == [0, 1, 2, 1 + MULTIPLY_COST, 2, 1 + MULTIPLY_COST, 2, 1]
    assert [_scale_cost(s, 7) for s in range(7)] == [0, 0, 1, MULTIPLY_COST, MULTIPLY_COST, 1, 1]


def test_divisors_and_remainders() -> None:
    assert divisors(12) == [1, 2, 3, 4, 6, 12] and divisors(1) == [1]
    assert modulo_cost(8) == 1 < modulo_cost(6)


def test_an_instruction_costs_one_unless_said_otherwise() -> None:
    lanes = np.arange(4)[None]
    assert LaneOp("vpunpcklbw", 2, lanes, ("",)).cost == 1 and LaneOp("vmovdqa", 1, lanes, ("",), cost=0).cost == 0
