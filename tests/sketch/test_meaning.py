"""A name, a branch and a decorator mean in a sketch what they mean when Python runs it."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
import pytest
from tests.sketch.helpers import body, problem, read

import warploom as wl
from warploom import int2
from warploom.core import UserError
from warploom.ir import run
from warploom.sketch import load, parse_spec
from warploom.synth.proof.concrete import typed_array, typed_values
from warploom.synth.proof.symbolic import run_spec
from warploom.terms import atom, component, pack


@wl.sketch(block=4)
def copy(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    i = wl.thread_id()
    y[i] = x[i]


def twice(function):
    @functools.wraps(function)
    def run(x, y):
        function(x, y)
        function(x, y)

    return run


@twice
def added(x, y):
    for i in range(4):
        y[i] += x[i]


def test_the_text_under_a_decorator_is_not_what_runs() -> None:
    with pytest.raises(UserError) as error:
        parse_spec(added, copy.kernel)
    assert error.value.diagnostics[0].code == "DECORATED"
    assert str(run_spec(added, copy.kernel, {}).outputs["y"][0]) == "0 + x[0] + x[0]"


def test_a_decorated_sketch_is_refused() -> None:
    with pytest.raises(UserError) as error:
        read(twice(copy_body), block=4)
    assert error.value.diagnostics[0].code == "DECORATED"


def copy_body(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    y[wl.thread_id()] = x[wl.thread_id()]


def put(a, k, v):
    if k > 0:  # noqa: SIM102
        if k > 1:
            return
    a[k] = v


def early(x, y):
    for i in range(4):
        put(y, i, x[i])


def test_a_branch_that_returns_now_and_then_goes_on() -> None:
    """At k = 1 the store after both branches is reached."""
    assert body(parse_spec(early, copy.kernel)).count("y[") == 2
    assert [str(t) for t in run_spec(early, copy.kernel, {}).outputs["y"]] == ["x[0]", "x[1]", "0", "0"]


def shifted(f, v):
    c = 100
    return f(v) * c


def home(x, y):
    c = 1
    for i in range(4):
        y[i] = shifted(lambda v: v + c, x[i])


def test_a_lambda_reads_the_variables_of_its_home() -> None:
    assert "(v + i32(1)) * i32(100)" in body(parse_spec(home, copy.kernel))


@wl.device
def called_too_early(v):
    f = lambda w: w + later  # noqa: E731
    r = f(v)
    later = 2
    return r + later


later = 7


def early_lambda(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    y[wl.thread_id()] = called_too_early(x[wl.thread_id()])


def test_a_lambda_does_not_read_the_module_for_a_variable_of_its_home() -> None:
    found = problem(early_lambda, block=4)
    assert (found.code, found.message) == ("MAYBE_UNASSIGNED", "'later' is assigned after this function is called")


def scaled(x, y, factor=3):
    for i in range(4):
        y[i] = x[i] * factor


def test_a_default_is_its_value() -> None:
    assert "x[i] * i32(3)" in body(parse_spec(scaled, copy.kernel))


def power(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    y[2**99999999] = x[0]


def test_no_number_without_end() -> None:
    assert problem(power, block=4).code == "UNSUPPORTED_PYTHON"


def test_a_bare_sketch_says_what_to_write() -> None:
    with pytest.raises(UserError) as error:
        wl.sketch(copy_body)
    found = error.value.diagnostics[0]
    assert (found.code, found.fix) == ("LAUNCH", "Write @wl.sketch(block=128, spec=...) above the function.")
    assert found.span.line > 0
    with pytest.raises(UserError, match="expected block"):
        wl.sketch(spec=added)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="got the folder"):
        load(tmp_path)


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "closed.py"
    file.write_text("")

    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match="NOT_READ"):
        load(file)


def distinct(x, y):
    y[0] = len({x[0], x[1]})


def swallowed(x, y):
    try:
        larger = x[0] > 0
    except TypeError:
        larger = True
    y[0] = x[0] if larger else 0


def by_key(x, y):
    y[0] = min(x[0], x[1], key=lambda v: -v)


@pytest.mark.parametrize("spec", [distinct, swallowed, by_key])
def test_control_that_depends_on_data_in_secret(spec) -> None:
    with pytest.raises(UserError) as error:
        run_spec(spec, copy.kernel, {})
    assert error.value.diagnostics[0].code == "SPEC_FAILED"
    assert error.value.diagnostics[0].span.line > 0


@wl.device
def bumped(a, i):
    a[i] = 5
    return 1


def changed_on_the_way(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    i = wl.thread_id()
    y[i] = x[i]
    y[i] += bumped(y, i)


def changed_by_a_spec(x, y):
    for i in range(4):
        y[i] = x[i]
        y[i] += put_five(y, i)


def put_five(a, i):
    a[i] = 5
    return 1


def test_an_augmented_assignment_takes_its_old_value_first() -> None:
    assert run_spec(changed_by_a_spec, copy.kernel, {}).outputs["y"][0] is atom("x", (0,)) + 1
    for kernel in (parse_spec(changed_by_a_spec, copy.kernel), read(changed_on_the_way, block=4).kernel):
        lines = body(kernel).split("\n")
        kept = next(k for k, line in enumerate(lines) if "old" in line and "y[i]" in line)
        assert kept < next(k for k, line in enumerate(lines) if "= i32(5)" in line or "= 5" in line), body(kernel)


def put_component(v):
    v.x = 1


def named_vector(x, y):
    for i in range(4):
        v = x[i]
        v.x = 1
        y[i] = v


def passed_vector(x, y):
    for i in range(4):
        put_component(x[i])
        y[i] = x[i]


def snapshot(x, y):
    for i in range(4):
        y[i].x, y[i].y = x[i].y, 7
        v = y[i]
        y[i].x = 3
        y[i].y = v.x


def read_component(x, y):
    for i in range(4):
        y[i] = x[i]
        y[i].x += x[i].y


@wl.sketch(block=4)
def pairs(x: wl.Global[int2, 4], y: wl.Global[int2, 4]):
    i = wl.thread_id()
    y[i] = x[i]
    y[i].x += x[i].y


def test_components_of_elements_are_targets() -> None:
    x = atom("x", (0,), 2)
    assert run_spec(snapshot, pairs.kernel, {}).outputs["y"][0] is pack(3, component(x, 1))
    assert run_spec(read_component, pairs.kernel, {}).outputs["y"][0] is pack(x.x + x.y, x.y)
    given = typed_array(np.array([[1, 2]] * 4, np.int32), int2)
    out = typed_array(np.zeros((4, 2), np.int32), int2)
    snapshot(given, out)
    assert typed_values(out).tolist() == [[3, 2]] * 4
    assert "y[i] = pack(int2, y[i].x + x[i].y, y[i].y)" in body(pairs.kernel)
    assert "y[i] = pack(int2, y[i].x + x[i].y, y[i].y)" in body(parse_spec(read_component, pairs.kernel))


@pytest.mark.parametrize("spec", [named_vector, passed_vector])
def test_a_component_of_a_variable_is_no_target(spec) -> None:
    with pytest.raises(UserError, match="component of a vector in a variable") as error:
        run_spec(spec, pairs.kernel, {})
    assert error.value.diagnostics[0].span.line > 0
    given = typed_array(np.array([[1, 2]] * 4, np.int32), int2)
    with pytest.raises(TypeError, match="component of a vector in a variable"):
        spec(given, given)


def named_component(x: wl.Global[int2, 4], y: wl.Global[int2, 4]):
    v = x[wl.thread_id()]
    v.x = 1
    y[wl.thread_id()] = v


def third_component(x: wl.Global[int2, 4], y: wl.Global[int2, 4]):
    y[wl.thread_id()].z = x[wl.thread_id()].x


def component_of_a_number(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    y[wl.thread_id()].x = x[wl.thread_id()]


@pytest.mark.parametrize(
    ("function", "code"),
    [(named_component, "UNSUPPORTED_PYTHON"), (third_component, "RANK"), (component_of_a_number, "RANK")],
)
def test_targets_that_are_no_components(function, code: str) -> None:
    assert problem(function, block=4).code == code


def or_of_numbers(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    i = wl.thread_id()
    y[i] = x[i or 2] + x[i and 3] + x[i // 2 or 3 - i or 1]


def number_or_condition(x: wl.Global[wl.i32, 4], y: wl.Global[wl.i32, 4]):
    i = wl.thread_id()
    y[i] = x[i or i > 2]


def test_and_or_of_numbers_give_one_of_them() -> None:
    kernel = read(or_of_numbers, block=4).kernel
    found = run(kernel, {"x": np.array([1, 20, 300, 4000], np.int32)}, {}).arrays["y"].tolist()
    numbers = [1, 20, 300, 4000]
    assert found == [numbers[i or 2] + numbers[i and 3] + numbers[i // 2 or 3 - i or 1] for i in range(4)]
    assert problem(number_or_condition, block=4).code == "MIXED_ALTERNATIVES"


def test_a_target_whose_text_nobody_can_read_is_refused() -> None:
    variables: dict[str, object] = {}
    exec("def spec(x, y):\n    for i in range(4):\n        y[i].x = x[i].y", variables)
    with pytest.raises(UserError, match="component of a vector in a variable"):
        run_spec(variables["spec"], pairs.kernel, {})


def text_as_component(x, y):
    for i in range(4):
        y[i].x = "one"


def test_a_component_is_a_number() -> None:
    with pytest.raises(UserError, match="expected a number or a term, got str"):
        run_spec(text_as_component, pairs.kernel, {})
