"""Symbolic execution: values, every diagnostic, counts, specs run natively."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.synth.kernels import CARRYLESS, CONV3, REVERSE, carryless, conv3, parse, reverse

import warploom as wl
from warploom.core import UserError
from warploom.ir import HoleArg, HoleUse, IndexExpr, SetIndex
from warploom.synth.proof.symbolic import execute, run_spec
from warploom.terms import apply, atom, constant

HEAD = "@kernel(block=(8, 1, 1), grid=({grid}, 1, 1), warp_size=4)\ndef k(x: Global[i32, 8], y: Global[i32, {size}] | out):\n"


def run(body: str, grid: int = 1, size: int = 8):
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return execute(parse(HEAD.format(grid=grid, size=size) + lines), {})


def codes(body: str, grid: int = 1, size: int = 8) -> list[str]:
    return [d.code for d in run(body, grid, size).diagnostics]


def test_values_of_a_shared_reversal():
    execution = execute(parse(REVERSE), {})
    assert not execution.diagnostics
    assert execution.outputs["y"].tolist() == [atom("x", (7 - i,)) for i in range(8)]


def test_counts():
    execution = execute(parse(CONV3), {"n": 100})
    assert (execution.accumulates, execution.executed) == (1, 3)
    execution = execute(parse(CARRYLESS, ("j <= thread_id", "thread_id < 0")), {})
    assert (execution.accumulates, execution.executed) == (0, 0)


def test_missing_sync_names_both_accesses():
    (race,) = execute(parse(REVERSE, ("    sync()\n", "")), {}).diagnostics
    assert race.code == "RACE"
    assert race.message == ("expected a barrier between the write of tile[7] by thread 7 and its read by thread 0, got none")
    assert race.notes[0][0] == "the write of tile[7]"


def test_race_inside_one_warp_and_write_after_read():
    body = "s = shared(i32, 8)\ns[thread_id] = x[thread_id]\nsync()\nv: i32 = s[(thread_id + 1) % 8]"
    body += "\ns[thread_id] = v\ny[thread_id] = v"
    assert codes(body) == ["RACE"]
    assert codes(body.replace("v\ny", "v\nsync()\ny").replace("8]\ns[", "8]\nsync()\ns[")) == []


def test_out_of_bounds_and_undefined_reads():
    assert codes("y[thread_id] = x[thread_id + 1]") == ["OUT_OF_BOUNDS"]
    assert codes("y[thread_id - 1] = x[thread_id]") == ["OUT_OF_BOUNDS"]
    assert codes("y[thread_id] = x[thread_id + 1] if thread_id < 7 else i32(0)") == []
    assert codes("r = register(i32, 2)\nr[0] = x[thread_id]\ny[thread_id] = r[1]") == ["UNDEFINED_READ"]
    assert codes("if thread_id < 4:\n    v: i32 = x[0]\ny[thread_id] = v") == ["UNDEFINED_READ"]
    assert codes("if thread_id < 0:\n    v: i32 = x[0]\ny[thread_id] = v + v") == ["UNDEFINED_READ"]
    assert codes("s = shared(i32, 8)\nif thread_id < 4:\n    s[thread_id] = x[0]\nsync()\ny[thread_id] = s[7 - thread_id]") == [
        "UNDEFINED_READ"
    ]


def test_divergent_sync_and_inactive_lane():
    assert codes("if thread_id < 4:\n    sync()\ny[thread_id] = x[thread_id]") == ["DIVERGENT_SYNC"]
    body = "if thread_id != 1:\n    v: i32 = shfl(x[thread_id], 1, 4)\n    y[thread_id] = v"
    assert codes(body) == ["SHUFFLE_INACTIVE"]
    assert codes(body.replace("thread_id != 1", "thread_id >= 4")) == []


def test_an_element_written_by_two_threads_or_blocks():
    assert codes("y[thread_id // 2] = x[thread_id]") == ["WRITTEN_TWICE"]
    assert codes("y[thread_id] = x[thread_id]", grid=2) == ["WRITTEN_TWICE"]
    assert codes("y[8 * block_id + thread_id] = x[thread_id]", grid=2, size=16) == []


def codes_in_place(body: str, grid: int = 1) -> list[str]:
    head = HEAD.format(grid=grid, size=8).replace("| out", "| inout")
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return [d.code for d in execute(parse(head + lines), {}).diagnostics]


def test_blocks_never_wait_for_each_other():
    write, read = (
        "if block_id == {} and thread_id == 0:\n    y[0] = x[0]",
        "if block_id == {} and thread_id == 0:\n    v: i32 = y[0]",
    )
    assert codes_in_place(f"{write.format(0)}\n{read.format(1)}", grid=2) == ["RACE"]
    assert codes_in_place(f"{read.format(0)}\n{write.format(1)}", grid=2) == ["RACE"]
    assert codes_in_place(f"{write.format(0)}\nsync()\n{read.format(0)}", grid=2) == []


def test_threads_of_a_block_wait_at_barriers_only():
    one, other = "if thread_id == 0:\n    {}", "if thread_id == 1:\n    {}"
    write, read = "y[0] = x[0]", "v: i32 = y[0]"
    for first, second in ((write, read), (read, write)):
        body = f"{one.format(first)}\nSYNC{other.format(second)}"
        assert codes_in_place(body.replace("SYNC", "")) == ["RACE"]
        assert codes_in_place(body.replace("SYNC", "sync()\n")) == []
    readers = f"if thread_id < 2:\n    {read}\nif thread_id == 0:\n    {write}"
    assert codes_in_place(readers) == ["RACE"]
    assert codes_in_place(f"{read}\nsync()\n{read}\n" + other.format("y[1] = x[0]")) == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("a = 8 // (thread_id - 3)\ny[thread_id] = x[thread_id]", "INDEX_INVALID"),
        ("a = 8 % (thread_id - 3)\ny[thread_id] = x[thread_id]", "INDEX_INVALID"),
        ("a = 1 << (thread_id - 1)\ny[thread_id] = x[thread_id]", "INDEX_INVALID"),
        ("a = 1 >> (thread_id + 56)\ny[thread_id] = x[thread_id]", "INDEX_INVALID"),
        ("for k in range(thread_id):\n    a = k\ny[thread_id] = x[thread_id]", "DIVERGENT_LOOP"),
        ("if thread_id < 3:\n    a = 1\ny[thread_id] = x[a * 0]", "UNDEFINED_INDEX"),
    ],
)
def test_indices_without_a_meaning(body: str, code: str):
    assert codes(body) == [code]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("shfl(x[thread_id], thread_id + 1, 4)", [1, 2, 3, 0, 5, 6, 7, 4]),
        ("shfl_up(x[thread_id], 1, 4)", [0, 0, 1, 2, 4, 4, 5, 6]),
        ("shfl_down(x[thread_id], 2, 4)", [2, 3, 2, 3, 6, 7, 6, 7]),
        ("shfl_xor(x[thread_id], 3, 4)", [3, 2, 1, 0, 7, 6, 5, 4]),
        ("shfl_down(x[thread_id], 1, 2)", [1, 1, 3, 3, 5, 5, 7, 7]),
    ],
)
def test_shuffles(call: str, expected: list[int]):
    assert run(f"y[thread_id] = {call}").outputs["y"].tolist() == [atom("x", (i,)) for i in expected]


def test_conversions_of_elements_are_exact_and_of_sums_opaque():
    text = "@kernel(block=(1, 1, 1), grid=(1, 1, 1), warp_size=1)\ndef k(x: Global[u8, 2], y: Global[i32, 2] | out):\n"
    text += "    y[0] = cast(i32, x[0])\n    y[1] = cast(i32, x[0] + x[1])\n"
    y = execute(parse(text), {}).outputs["y"]
    assert y[0] is atom("x", (0,))
    assert y[1] is apply("cast.u8.i32", atom("x", (0,)) + atom("x", (1,)))


def test_spec_runs_natively():
    y = run_spec(conv3, parse(CONV3), {"n": 2}).outputs["y"]
    assert str(y[1]) == "0 + w[0] * x[1] + w[1] * x[2] + w[2] * x[3]"
    assert run_spec(reverse, parse(REVERSE), {}).outputs["y"][0] is atom("x", (7,))
    assert run_spec(carryless, parse(CARRYLESS), {}).outputs["c"][0] is (constant(0) ^ atom("a", (0,)) & atom("b", (0,)))


def test_untouched_outputs_are_known():
    def spec(x, y):
        y[0] = 0
        y[1:3] = x[1:3]

    result = run_spec(spec, parse(REVERSE), {})
    assert result.stored["y"].tolist() == [True] * 3 + [False] * 5
    assert result.outputs["y"][5] is constant(0)


def test_builtin_min_works_on_terms():
    def spec(x, y):
        for i in range(8):
            y[i] = min(x[i], max(x[0], 3), min(2, i))

    y = run_spec(spec, parse(REVERSE), {}).outputs["y"]
    assert str(y[1]) == "min(x[1], max(x[0], 3), 1)"


def bad_condition(x, y):
    if x[0] > 3:
        y[0] = x[0]


def bad_equality(x, y):
    if x[0] == x[1]:
        y[0] = x[0]


def bad_index(x, y):
    y[8] = x[0]


def bad_negative(x, y):
    for i in range(8):
        y[i] = x[i - 1]


def bad_division(x, y):
    y[0] = 1 / 0


@pytest.mark.parametrize(
    ("spec", "pattern", "text"),
    [
        (bad_condition, r"expected a comparison of indices", "if x[0] > 3:"),
        (bad_equality, r"expected a comparison of indices", "if x[0] == x[1]:"),
        (bad_index, r"expected index 0 of y in 0\.\.7, got 8", "y[8] = x[0]"),
        (bad_negative, r"expected index 0 of x in 0\.\.7, got -1", "y[i] = x[i - 1]"),
        (bad_division, r"ZeroDivisionError: division by zero", "y[0] = 1 / 0"),
    ],
)
def test_errors_of_a_spec_are_located(spec, pattern: str, text: str):
    with pytest.raises(UserError, match=pattern) as error:
        run_spec(spec, parse(REVERSE), {})
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "SPEC_FAILED"
    assert diagnostic.span.file == __file__ and diagnostic.span.source.strip() == text


def test_a_spec_with_other_parameters_is_refused():
    with pytest.raises(UserError, match=r"expected a parameter of the sketch \(x, y\), got 'z'"):
        run_spec(lambda x, z: None, parse(REVERSE), {})


def test_in_and_out_arrays_keep_their_old_content():
    text = "@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)\ndef k(y: Global[i32, 4] | inout):\n"
    text += "    if thread_id < 2:\n        y[thread_id] = y[thread_id] + i32(1)\n"
    y = execute(parse(text), {}).outputs["y"]
    assert [str(t) for t in np.asarray(y)] == ["y[0] + 1", "y[1] + 1", "y[2]", "y[3]"]


FORGETFUL = """\
@kernel(block=(4, 1, 1), grid=(1, 1, 1), warp_size=4)
def k(x: Global[i32, 4], y: Global[i32, 4] | out, z: Global[i32, 4]):
    y[thread_id] = x[thread_id]
"""


def stores_by_index(x, y, z):
    for i in range(4):
        y[i] = x[i]
        z[i] = x[i]


def adds_in_place(x, y, z):
    z += x
    y[:] = x


def stores_to_an_input(x, y):
    y[:] = x
    x[3] = 0


@pytest.mark.parametrize(
    ("spec", "name"), [(stores_by_index, "z"), (adds_in_place, "z"), (stores_to_an_input, "x")], ids=lambda v: str(v)[:30]
)
def test_an_array_that_only_the_spec_changes_is_told(spec, name: str) -> None:
    with pytest.raises(UserError, match=f"the spec stores to '{name}', which the sketch 'k' never stores to"):
        run_spec(spec, parse(FORGETFUL), {})


def test_arrays_that_nobody_changes_are_no_fault() -> None:
    def copied(x, y, z):
        y[:] = x

    assert run_spec(copied, parse(FORGETFUL), {}).outputs.keys() == {"y"}


def test_a_size_without_a_value():
    with pytest.raises(UserError, match="expected a value for size n, got none") as caught:
        execute(parse(CONV3), {})
    assert caught.value.diagnostics[0].code == "SIZE_MISSING"


@pytest.mark.parametrize(
    ("expr", "message"),
    [(HoleUse("h", ()), "expected a completed kernel, got an open hole 'h'"), (HoleArg(1), "got hole argument 1")],
)
def test_an_open_hole_is_not_run(expr: IndexExpr, message: str):
    kernel = parse(REVERSE)
    with pytest.raises(UserError, match=message) as caught:
        execute(replace(kernel, body=(SetIndex("a", expr), *kernel.body)), {})
    assert [d.code for d in caught.value.diagnostics] == ["HOLE_OPEN"]


def catches(x, y):
    try:
        y[0] = x[0] if x[0] > 3 else x[1]
    except Exception:
        y[0] = x[2]


def by_a_key(x, y):
    y[0] = min([x[0], x[1]], key=lambda v: -v)


def outside_in_words(x, y):
    y[8] = wl.cast(wl.i32, x[0])


@pytest.mark.parametrize(
    ("spec", "pattern", "code"),
    [
        (catches, "Let no `except` take part in what the spec computes", "SPEC_FAILED"),
        (by_a_key, "expected min and max of data without key=", "SPEC_FAILED"),
        (outside_in_words, "expected an index of 'y' from 0 and below 8, got 8", "OUT_OF_BOUNDS"),
    ],
)
def test_specs_that_mean_nothing(spec, pattern: str, code: str):
    with pytest.raises(UserError, match=pattern) as caught:
        run_spec(spec, parse(REVERSE), {})
    assert [d.code for d in caught.value.diagnostics] == [code]


def test_a_spec_in_words_of_the_language_that_leaves_its_arrays():
    def shifted(x, w, y, n):
        for i in range(n):
            y[i + 1] = wl.cast(wl.f32, x[i])

    with pytest.raises(UserError, match=r"expected an index inside y \(5 elements\), got y\[5\]") as caught:
        run_spec(shifted, parse(CONV3), {"n": 5})
    assert [d.code for d in caught.value.diagnostics] == ["OUT_OF_BOUNDS"]
