"""Kernels of one warp out of tables: proved for any tables, and refused where one warp does not hold them."""

from __future__ import annotations

import numpy as np
import pytest

from warploom.core import UserError
from warploom.gpu import compile_cuda, count_executed, cuda_source, toolchain_available
from warploom.ir import run
from warploom.ir.dataflow import parse_program
from warploom.solve import Budget
from warploom.synth import Movement, Step, complete, movement_sketch
from warploom.synth.dataflow import program_movement, solve_program
from warploom.synth.movement import NOTHING, ZERO
from warploom.synth.transposes import solve_transpose, transpose_movement
from warploom.terms import atom, constant


def _movement(lanes: int, count: int, tables: list[np.ndarray], inputs: int = 1) -> Movement:
    """Registers loaded lane by lane, then moved by tables of elements; negative entries are `NOTHING` and `ZERO`."""
    steps, held = [], []
    for number in range(inputs):
        element = np.arange(lanes * count).reshape(lanes, count)
        steps.append(Step(f"in{number}", (f"x{number}",), np.zeros_like(element), element))
        held += [atom(f"x{number}", (e,)) for e in range(lanes * count)]
    names = tuple(s.name for s in steps)
    for number, table in enumerate(tables):
        argument = np.where(table < 0, table, table // (lanes * count))
        element = np.where(table < 0, 0, table % (lanes * count))
        steps.append(Step(f"moved{number}", names, argument, element))
        held = [None if e == NOTHING else constant(0) if e == ZERO else held[e] for e in table.ravel()]
        names = (steps[-1].name,)
    out = np.empty(len(held), object)
    out[:] = held
    return Movement(
        "moved", lanes, {f"x{n}": lanes * count for n in range(inputs)}, tuple(steps), {"out": out.reshape(lanes, -1)}
    )


@pytest.mark.parametrize(("lanes", "count", "seed"), [(32, 3, 0), (8, 4, 1), (5, 3, 2), (1, 2, 3), (32, 1, 4)])
def test_any_tables_become_a_proved_kernel(lanes, count, seed):
    rng = np.random.default_rng(seed)
    anywhere = rng.permutation(lanes * count).reshape(lanes, count)
    shifted = (np.arange(lanes * count).reshape(lanes, count) + count) % (lanes * count)
    report = complete(movement_sketch(_movement(lanes, count, [anywhere, shifted])))
    assert (report.status, report.verdict) == ("solved", "proved")


def test_zeros_and_values_of_several_arrays_come_together_and_what_does_not_matter_stays_open():
    rng = np.random.default_rng(5)
    table = rng.integers(0, 2 * 8 * 2, (8, 2))
    table[rng.random((8, 2)) < 0.2] = ZERO
    table[0, 0], table[7, 1] = NOTHING, ZERO
    sketch = movement_sketch(_movement(8, 2, [table], inputs=2))
    assert complete(sketch).verdict == "proved"
    arrays = {f"x{n}": np.arange(16, dtype=np.float32) + 1 + 16 * n for n in range(2)}
    got = run(sketch.kernel, arrays).arrays["out"]
    wanted = np.where(table == ZERO, 0, table + 1)
    assert (got == wanted)[table != NOTHING].all()


def test_a_movement_of_more_lanes_than_a_warp_has_is_refused():
    with pytest.raises(UserError, match="at most 32 lanes"):
        movement_sketch(_movement(33, 1, []))


@pytest.mark.parametrize("kind", ["crc", "rcr"])
def test_one_lane_keeps_its_registers(kind):
    movement = transpose_movement(kind, 3, 1, solve_transpose(kind, 3, 1).composition)
    assert complete(movement_sketch(movement)).verdict == "proved"


@pytest.mark.parametrize(("kind", "m", "n"), [("crc", 3, 8), ("rcr", 4, 8), ("crc", 6, 32)])
def test_transposes_are_proved_and_run(kind, m, n):
    found = solve_transpose(kind, m, n)
    movement = transpose_movement(kind, m, n, found.composition)
    sketch = movement_sketch(movement)
    report = complete(sketch)
    assert (report.verdict, report.domain) == ("proved", "elements moved unchanged")
    x = np.arange(m * n, dtype=np.float32)
    assert (run(sketch.kernel, {"x": x}).arrays["out"] == x.reshape(n, m)).all()
    shuffles = run(sketch.kernel, {"x": x}).counts.shuffles
    # One of each register for every step between lanes, but where all lanes keep theirs.
    moved = [(step.element // m != np.arange(n)[:, None]).any(axis=0).sum() for step in movement.steps[1:]]
    assert shuffles == sum(moved) and sum(moved) >= (m - 1) * (1 if kind == "crc" else 2)


def test_sums_are_not_printed():
    with pytest.raises(UserError, match="crc or rcr, got sum"):
        transpose_movement("sum", 3, 8, ())


@pytest.mark.skipif(not toolchain_available(), reason="needs nvcc")
def test_the_compiled_kernel_runs_right_on_the_ptx_interpreter():
    sketch = movement_sketch(transpose_movement("crc", 3, 8, solve_transpose("crc", 3, 8).composition))
    source = cuda_source(sketch.kernel)
    x = np.arange(24, dtype=np.float32)
    done = count_executed(sketch.kernel, source, compile_cuda(source.text), {"x": x, "out": np.zeros((8, 3), np.float32)})
    assert (done.arrays["out"] == x.reshape(8, 3)).all()


def _solved(text: str) -> Movement:
    program = parse_program(text, "test.swflow")
    from warploom.tools.solve.program import _gathers, _holes

    result = solve_program(program, budget=Budget(1000, 10.0))
    holes = _holes(program, result)
    return program_movement("test", program, _gathers(holes, next(iter(result.solutions))))


FOLDED = f"""x: [16] = range(0, 16)
y: [16] = ?amd_ds_swizzle(x)
both: [16, 2] = stack(x, y)
out: [16, 2] = fold(+) reshape(both)
goal: [16] = fold(+) {[[t, t ^ 8] for t in range(16)]}
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("fold(+)", "fold", "folds by .*, got a fold that names none"),
        ("both: [16, 2] = stack(x, y)", "both: [16, 2] = stack(x, y)\nz: [2, 16] = reshape(both)", "expected 16 lanes"),
    ],
)
def test_programs_that_one_warp_does_not_hold_are_refused(old, new, message):
    assert complete(movement_sketch(_solved(FOLDED))).verdict == "proved"
    with pytest.raises(UserError, match=message):
        _solved(FOLDED.replace(old, new))
