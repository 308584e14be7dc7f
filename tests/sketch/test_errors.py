"""Wrong sketches: code, message, place and fix."""

# ruff: noqa: F821, F841, SIM105, RUF059 (the sketches are wrong on purpose)

import re

import pytest
from tests.sketch.helpers import problem, problems, read

import warploom as wl
from warploom import f32, i32, int2
from warploom.core import UserError, e4m3
from warploom.sketch import load

n = wl.size("n")
unmarked = wl.size("n")


def expect(found, code, pattern, line_text):
    assert found.code == code
    assert re.fullmatch(pattern, found.message), found.message
    assert line_text in found.span.source


def test_located_with_line_and_carets():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[wl.lane_idd()] = x[0]

    found = problem(kernel)
    expect(found, "UNKNOWN_NAME", "`warploom` has no attribute 'lane_idd'", "wl.lane_idd()")
    line = kernel.__code__.co_firstlineno + 1
    assert f"test_errors.py:{line}:11: error[UNKNOWN_NAME]" in found.render()
    assert "\n            ^^^^^^^^^^^\n" in found.render()


def test_types_of_factors_are_for_tensor_functions():
    with pytest.raises(UserError, match="expected an element type first"):
        _ = wl.Global[e4m3, 32]

    def cast(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[wl.lane_id()] = wl.cast(f32, wl.cast(e4m3, x[wl.lane_id()]))

    assert problem(cast).code


def test_all_problems_are_reported_at_once_without_their_consequences():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        a = x[0] + nothing
        b = a + 1
        for i in range(2):
            y[i] = b
            y[i] = x[wl.lane_id() / 2]
        y[0, 1] = x[0]

    assert [p.code for p in problems(kernel)] == ["UNKNOWN_NAME", "UNSUPPORTED_PYTHON", "RANK"]


def test_did_you_mean():
    def kernel(y: wl.Global[f32, 32]):
        total = wl.literal(f32, 0)
        y[0] = totl + total

    found = problem(kernel)
    expect(found, "UNKNOWN_NAME", "unknown name 'totl'; did you mean 'total'\\?", "totl")
    assert found.fix == "Write total."


@pytest.mark.parametrize(
    ("line", "fix"),
    [
        ("wl.syncthreads()", "Write wl.sync()."),
        ("__syncthreads()", "Write wl.sync()."),
        ("y[threadIdx.x] = 0", 'Write wl.thread_id("x").'),
        ("y[0] = wl.shfl_xor_sync(wl.literal(f32, 0), 1)", "Write wl.shfl_xor."),
        ("y[wl.laneid()] = 0", "Write lane_id."),
        ("y[wl.qqqq()] = 0", "Check the spelling."),
    ],
)
def test_words_of_cuda_and_words_spelled_alike(line: str, fix: str, tmp_path):
    file = tmp_path / "k.py"
    file.write_text(
        "import warploom as wl\nfrom warploom import f32\ndef spec(y): y[0] = 0\n"
        f"@wl.sketch(spec=spec, block=32)\ndef k(y: wl.Global[f32, 32]):\n    {line}\n"
    )
    with pytest.raises(UserError) as caught:
        load(file)
    assert [(d.code, d.fix) for d in caught.value.diagnostics] == [("UNKNOWN_NAME", fix)]


def case_while(y):
    while True:
        pass


def case_comprehension(y):
    a = [k for k in range(3)]  # noqa: C416
    y[0] = a[0]


def case_try(y):
    try:
        y[0] = wl.literal(f32, 0)
    except ValueError:
        pass


def case_break(y):
    for k in range(3):
        y[k] = wl.literal(f32, 0)
        break


def case_plain_function(y):
    y[0] = test_did_you_mean(1)


@pytest.mark.parametrize(
    ("function", "pattern"),
    [
        (case_while, "`while` is not part of the sketch language"),
        (case_comprehension, "a list comprehension is not part of the sketch language"),
        (case_try, "`try` is not part of the sketch language"),
        (case_break, "`break` is not part of the sketch language"),
        (case_plain_function, "`test_did_you_mean` cannot be called in a sketch"),
    ],
)
def test_python_that_is_not_in_the_language(function, pattern):
    function.__annotations__ = {"y": wl.Global[f32, 32]}
    found = problem(function)
    assert found.code == "UNSUPPORTED_PYTHON"
    assert re.fullmatch(pattern, found.message)


def test_words_that_are_called_outside():
    def kernel(y: wl.Global[f32, 32]):
        for k in range(wl.size("n")):
            y[k] = wl.literal(f32, 0)

    found = problem(kernel)
    assert (found.message, found.fix) == ("`size` cannot be called in a sketch", "Call it outside and use its result by name.")


def test_index_from_data():
    def kernel(x: wl.Global[i32, 32], y: wl.Global[i32, 32]):
        y[x[0]] = x[0]
        if x[0] > 3:
            y[0] = x[0]
        y[0] = wl.shfl(x[0], x[1])

    one, two, three = problems(kernel)
    expect(one, "INDEX_FROM_DATA", "expected an index of 'y' known before the run, got data of type i32", "y[x[0]]")
    expect(two, "INDEX_FROM_DATA", "expected a comparison known before the run, got a comparison of data", "if x[0] > 3")
    expect(three, "INDEX_FROM_DATA", "expected the lane of a shuffle known before the run, got data of type i32", "wl.shfl")


def test_unbounded_loops():
    def kernel(y: wl.Global[f32, n]):
        m = 1
        m = m + 1
        for k in range(n):
            y[k] = wl.literal(f32, 0)
        for k in range(wl.lane_id(), 4):
            y[k] = wl.literal(f32, 0)
        for k in range(m):
            y[k] = wl.literal(f32, 0)
        for k in range(0, 4, 0):
            y[k] = wl.literal(f32, 0)

    found = problems(kernel)
    assert [p.code for p in found] == ["UNBOUNDED_LOOP"] * 4
    expect(found[0], "UNBOUNDED_LOOP", ".* got one that depends on a run-time size", "range(n)")
    expect(found[1], "UNBOUNDED_LOOP", ".* got one that depends on the thread", "range(wl.lane_id(), 4)")


def test_shapes_and_ranks():
    def kernel(x: wl.Global[f32, 4, 8], y: wl.Global[f32, 32]):
        r = wl.register(f32, 2)
        s = wl.register(i32, 2)
        y[0] = x[1, 2, 3]
        y[0] = x[1]
        y[0] = r[2]
        wl.global_to_register(x, r)
        wl.global_to_register(y, r, rounds=3)
        wl.global_to_register(y, s)
        wl.global_to_register(r, y)
        a, b = wl.lane_grid(4, 4)

    found = problems(kernel)
    assert [p.code for p in found] == [
        "RANK", "DATA_EXPECTED", "OUT_OF_BOUNDS", "RANK", "SHAPE_MISMATCH", "DTYPE_MISMATCH", "SPACE", "SHAPE_MISMATCH",
    ]  # fmt: skip
    expect(found[0], "RANK", "'x' has 2 dimensions, got 3 indices", "x[1, 2, 3]")
    expect(found[-1], "SHAPE_MISMATCH", "expected rows \\* cols to be the warp size 32, got 4 x 4", "lane_grid")


def test_types_do_not_mix():
    def kernel(x: wl.Global[f32, 32], z: wl.Global[i32, 32], v: wl.Global[int2, 4], c: wl.Constant[f32, 3]):
        x[0] = x[0] + z[0]
        z[0] = z[0] * 1.5
        z[0] = z[0] + wl.lane_id()
        x[0] = x[0] & 1
        z[0] = v[0].z
        c[0] = x[0]
        z[0] = wl.literal(i32, 1 << 31)

    found = problems(kernel)
    assert [p.code for p in found] == [
        "DTYPE_MISMATCH", "DTYPE_MISMATCH", "DATA_EXPECTED", "DTYPE_MISMATCH", "RANK", "WRITE_CONSTANT", "DTYPE_MISMATCH",
    ]  # fmt: skip
    expect(found[2], "DATA_EXPECTED", "expected operand of type i32, got an index", "wl.lane_id()")
    assert found[2].fix.startswith("Convert the index: wl.cast(i32, ...)")


def test_a_name_keeps_its_kind():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        v = 0
        for k in range(3):
            v = x[k]
        for k in range(3):
            k = 2
        y = x[0]

    two, three, one = problems(kernel)
    expect(one, "REASSIGN_KIND", "'y' is a parameter and cannot be assigned", "y = x[0]")
    expect(two, "REASSIGN_KIND", "'v' was an index and is now assigned data of type f32", "v = x[k]")
    assert two.notes[0][0] == "first assigned here"
    expect(three, "REASSIGN_KIND", "'k' is a loop variable and cannot be assigned", "k = 2")


def test_names_without_a_value():
    def kernel(y: wl.Global[i32, 32]):
        if wl.lane_id() < 3:
            a = wl.lane_id() + 0
        y[a] = wl.literal(i32, 0)
        for k in range(3):
            b = k
        y[b] = wl.literal(i32, 0)
        y[k] = wl.literal(i32, 0)
        y[c] = wl.literal(i32, 0)
        c = 1

    found = problems(kernel)
    assert [p.code for p in found] == ["MAYBE_UNASSIGNED"] * 3
    assert [p.span.source.strip()[:4] for p in found] == ["y[a]", "y[k]", "y[c]"]


def test_holes_that_nothing_executes():
    def kernel(y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        for k in range(3, 3):
            y[wl.const(0, 1)] = wl.cast(f32, k)
        if lane > 31:
            y[wl.const(1, 2)] = wl.literal(f32, 0)
        y[0] = wl.literal(f32, 0) if lane >= 0 else wl.choose(y[1], y[2])
        if lane < 16:
            y[wl.const(3, 4)] = wl.literal(f32, 0)

    found = [p for p in problems(kernel) if p.code == "HOLE_UNREACHED"]
    assert [p.span.source.strip()[:12] for p in found] == ["y[wl.const(0", "y[wl.const(1", "y[0] = wl.li"]


def test_hole_names():
    def kernel(y: wl.Global[f32, 32]):
        y[wl.const(0, 1, name="a")] = y[wl.const(0, 1, name="a")]
        y[wl.const(0, 1, name="a@b")] = y[wl.cond(1, grammar="modular")]
        y[wl.part(0, 1)] = y[wl.xform(0, 3, 1, grammar="fan")]

    assert [p.code for p in problems(kernel)] == ["DUPLICATE_HOLE", "ARGUMENTS", "ARGUMENTS"]


@pytest.mark.parametrize("name", ["a\nb", "a\u2028b", "ends with \\", ""])
def test_a_hole_name_stands_in_one_line(name: str):
    def kernel(y: wl.Global[f32, 32]):
        y[0] = y[wl.const(0, 1, name=name)]

    [problem] = problems(kernel)
    assert (problem.code, "of one line" in problem.message) == ("ARGUMENTS", True)


def test_sync_under_a_divergent_condition():
    def kernel(y: wl.Global[f32, 64]):
        if wl.thread_id() < 48:
            wl.sync()
        if wl.thread_id() < 64:
            wl.sync()
        if wl.block_id() == 0:
            wl.sync()

    found = problem(kernel, block=64, grid=2)
    expect(found, "SYNC_DIVERGENT", "expected every thread of the block to reach .*", "wl.sync()")
    assert found.span.line == kernel.__code__.co_firstlineno + 2


def test_statements_as_values_and_values_as_statements():
    def kernel(y: wl.Global[f32, 64]):
        a = wl.accumulator(f32)
        y[0] = a.add(y[1])
        y[0] = wl.literal(f32, 1) + wl.sync()
        y[0] + 1
        a.add()
        a += 1
        return 3

    assert [p.code for p in problems(kernel)] == [
        "DATA_EXPECTED", "STATEMENT_EXPECTED", "NO_EFFECT", "ARGUMENTS", "STORE_TARGET", "RETURN",
    ]  # fmt: skip


@wl.device
def stores(array):
    array[0] = array[1]
    return array[2]


@wl.device
def endless(k):
    return endless(k)


@wl.device
def wrong(k):
    return k + missing


def test_device_functions():
    def kernel(y: wl.Global[f32, 64]):
        v = stores(y)
        y[3] = v + stores(y)
        y[endless(0)] = v
        y[4] = v if wl.lane_id() > 3 else stores(y)
        y[wrong(1)] = v
        y[wrong(2)] = v
        y[5] = stores(y, 2)

    found = problems(kernel)
    assert [p.code for p in found] == [
        "EFFECT_IN_EXPRESSION", "RECURSION", "EFFECT_IN_EXPRESSION", "UNKNOWN_NAME", "ARGUMENTS",
    ]  # fmt: skip
    assert found[3].span.line == wrong.written.node.lineno + 1


def test_launch_and_signature():
    def kernel(x, y: f32, z: wl.Global[f32, n]):
        z[wl.const(0, 1)] = wl.literal(f32, 0)

    assert [p.code for p in problems(kernel, block=0, warp_size=12, grid=-1)] == ["LAUNCH", "LAUNCH", "ANNOTATION", "ANNOTATION"]


def test_complete_at():
    def kernel(z: wl.Global[f32, n]):
        z[wl.const(0, 1)] = wl.literal(f32, 0)

    found = problem(kernel)
    expect(
        found,
        "COMPLETE_AT",
        "expected complete_at to give every run-time size of a sketch with holes, got none for n",
        "def kernel",
    )
    assert found.fix == "Write complete_at={'n': 128}."
    assert [p.code for p in problems(kernel, complete_at={"n": 0, "m": 3})] == ["COMPLETE_AT", "COMPLETE_AT"]


def test_words_sketches_and_functions_outside():
    def kernel(z: wl.Global[f32, 3]):
        z[0] = wl.literal(f32, 0)

    for call, message in (
        (lambda: wl.shfl(1, 2), "wl.shfl was called outside of a sketch"),
        (lambda: stores(1), "device function 'stores' was called outside of a sketch"),
        (lambda: read(kernel)(1), "sketch 'kernel' was called like a function"),
        (lambda: bool(n + 1), "a run-time size has no truth value"),
    ):
        with pytest.raises(UserError, match=message):
            call()


def test_annotations():
    with pytest.raises(UserError, match=r"expected an element type first in wl\.Global"):
        wl.Global[3, 4]
    with pytest.raises(UserError, match=r"expected extents \(integers or sizes\)"):
        wl.Constant[f32, 1.5]


def test_source_that_cannot_be_read():
    namespace: dict = {"wl": wl, "f32": f32}
    exec("def kernel(y: wl.Global[f32, 3]):\n    pass\n", namespace)
    with pytest.raises(UserError, match=r"error\[SOURCE_UNAVAILABLE\]: the source of 'kernel' cannot be read"):
        read(namespace["kernel"])


def test_a_long_constant_is_not_printed_in_a_message():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[wl.lane_id()] = __builtins__[0]

    found = problem(kernel)
    assert found.code in ("RANK", "UNKNOWN_NAME") and len(found.message) < 100
    expect(problem_of_table(), "RANK", "a constant of type dict has no elements", "LONG_TABLE[0]")


LONG_TABLE = {k: k for k in range(1000)}


def problem_of_table():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[wl.lane_id()] = LONG_TABLE[0]

    return problem(kernel)
