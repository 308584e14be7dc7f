"""Holes and their identity, device functions."""

from tests.sketch.helpers import body, problem, problems, read, text

import warploom as wl
from warploom import f32, i32


def test_every_hole_with_its_options():
    def kernel(x: wl.Global[f32, 64], y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        for k in range(2):
            a = wl.part(2, lane, k, name="a")
            b = wl.xform(lane + k, 32, k, grammar="rotation", coefficients=(0, 1), constants=[0], name="b")
            c = wl.const(0, 5, name="c")
            d = wl.choose(lane, k + 1, name="d")
            if wl.cond(lane, k, grammar="modular", modulus=32, name="e") or wl.cond(lane, 3, constants=(2,), name="f"):
                y[a] = x[b + c] + x[d]

    kernel_ir = read(kernel).kernel
    assert body(kernel_ir) == text("""
        lane = thread_id
        for k in range(2):
            a = hole('a', lane, k)
            b = hole('b', lane + k, k)
            c = hole('c')
            d = hole('d', lane, k + 1)
            if hole('e', lane, k) or hole('f', lane, 3):
                y[a] = x[b + c] + x[d]
    """)
    a, b, c, d, e, f = kernel_ir.holes
    assert (a.kind, a.n, a.arg_names) == ("part", 2, ("lane", "k"))
    assert (b.kind, b.n, b.arg_names, b.grammar, b.coefficients, b.constants) == (
        "xform", 32, ("lane + k", "k"), "rotation", (0, 1), (0,),
    )  # fmt: skip
    assert (c.kind, c.constants) == ("const", (0, 5))
    assert (d.kind, d.n, d.arg_names) == ("choose", 2, ("lane", "k + 1"))
    assert (e.grammar, e.modulus, e.constants) == ("modular", 32, None)
    assert (f.grammar, f.constants) == ("full", (2,))


def test_no_restriction_by_a_name_for_none():
    anything = None

    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        y[lane] = x[wl.xform(lane, 32, 0, coefficients=anything, constants=None, name="a")]

    [hole] = read(kernel).kernel.holes
    assert (hole.coefficients, hole.constants) == (None, None)


def test_a_restriction_known_only_at_run_time():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        y[lane] = x[wl.xform(lane, 32, 0, coefficients=lane)]

    [problem] = problems(kernel)
    assert problem.code == "ARGUMENTS"
    assert "integer constants" in problem.message


def test_holes_are_named_after_their_place():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[wl.lane_id()] = x[wl.xform(wl.lane_id(), 32, 0)]

    (hole,) = read(kernel).kernel.holes
    line = kernel.__code__.co_firstlineno + 1
    assert hole.name == f"{line}:29"
    assert (hole.span.line, hole.span.column, hole.span.file) == (line, 29, __file__)
    assert hole.span.source[28:].startswith("wl.xform(")


def test_columns_count_characters():
    def kernel(y: wl.Global[f32, 32]):
        ä = wl.const(0, 1)
        y[ä] = wl.literal(f32, 1); y[wl.const(2, 3)] = wl.cast(f32, ä)  # fmt: skip  # noqa: E702

    assert [h.span.column for h in read(kernel).kernel.holes] == [13, 38]


def test_choose_between_data():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[0] = wl.choose(x[0], x[1], 3, name="h")

    kernel_ir = read(kernel).kernel
    use = "hole('h', 0, 1, 2)"
    assert body(kernel_ir) == f"y[0] = x[0] if {use} == 0 else x[1] if {use} == 1 else f32(3.0)"
    assert kernel_ir.holes[0].arg_names == ("x[0]", "x[1]", "3")


@wl.device
def rotate(value, lane, by=1):
    at = wl.xform(lane, 32, by, name="at")
    got = wl.shfl(value, at)
    return got, at


@wl.device(shared_holes=True)
def pick(k):
    return wl.const(k, 7, name="pick")


@wl.device
def saved(array, value, k):
    k = k + pick(3)
    array[k] = value
    if k == 0:
        return array[0]
    return array[1] + value


@wl.device
def twice(array, k):
    v = rotate(array[k], k)[0]
    return v + rotate(v, k, by=2)[0]


def test_device_functions_are_expanded():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        got, at = rotate(x[lane], lane)
        got = saved(y, got, lane)
        y[at] = got

    kernel_ir = read(kernel).kernel
    call = kernel.__code__.co_firstlineno + 2
    assert body(kernel_ir) == text(f"""
        lane = thread_id
        value: f32 = x[lane]
        at_2 = hole('at@{call}:19', lane, 1)
        got_2: f32 = shfl(value, at_2, 32)
        got: f32 = got_2
        at = at_2
        k = lane
        k = k + hole('pick')
        y[k] = got
        got: f32 = y[0] if k == 0 else y[1] + got
        y[at] = got
    """)
    assert [h.name for h in kernel_ir.holes] == [f"at@{call}:19", "pick"]


def test_nested_calls_have_their_own_holes():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[0] = twice(x, 0)
        y[1] = twice(x, 1)

    first = twice.written.node.body[0].value.value
    second = twice.written.node.body[1].value.right.value
    here = kernel.__code__.co_firstlineno
    names = [f"at@{c.lineno}:{c.col_offset + 1}@{here + d}:16" for d in (1, 2) for c in (first, second)]
    assert [h.name for h in read(kernel).kernel.holes] == names


def test_early_returns_with_statements():
    @wl.device
    def f(array, k):
        if k < 4:
            t = array[k] * 2
            return t, k
        if k == 4:
            return array[0], 0
        t = array[k - 1] + 1
        return t + t, 1

    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        v, j = f(x, wl.lane_id())
        y[j] = v

    assert body(read(kernel).kernel) == text("""
        k = thread_id
        if k < 4:
            t: f32 = x[k] * f32(2.0)
            result_3: f32 = t
            result_4 = k
        else:
            if k == 4:
                result: f32 = x[0]
                result_2 = 0
            else:
                t: f32 = x[k - 1] + f32(1.0)
                result: f32 = t + t
                result_2 = 1
            result_3: f32 = result
            result_4 = result_2
        v: f32 = result_3
        j = result_4
        y[j] = v
    """)


def test_inner_functions_read_the_sketch():
    def kernel(x: wl.Global[i32, 64], y: wl.Global[i32, 32]):
        lane = wl.lane_id()

        def load(k):
            v = x[lane + k]
            return v * v

        shift = lambda a: a + lane  # noqa: E731
        y[shift(0)] = load(1) + load(shift(2))

    assert body(read(kernel).kernel) == text("""
        lane = thread_id
        v: i32 = x[lane + 1]
        k = 2 + lane
        v_2: i32 = x[lane + k]
        y[lane] = v * v + v_2 * v_2
    """)


def test_integers_are_listed_in_every_way_that_is_known_at_compile_time():
    some = [4, 5]

    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        lane = wl.lane_id()
        a = wl.const(*range(3), 7, *some, *(8, 9), name="a")
        b = wl.xform(lane, 32, 0, coefficients=range(2), constants=(*range(0, 8, 4), *some), name="b")
        y[lane] = x[(a + b) % 32]

    a, b = read(kernel).kernel.holes
    assert a.constants == (0, 1, 2, 7, 4, 5, 8, 9)
    assert (b.coefficients, b.constants) == ((0, 1), (0, 4, 4, 5))


def test_stars_before_something_else():
    def kernel(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[wl.lane_id()] = x[wl.const(*3)]

    found = problem(kernel)
    assert (found.code, found.message) == ("ARGUMENTS", "expected integers known at compile time, got 3")

    def other(x: wl.Global[f32, 32], y: wl.Global[f32, 32]):
        y[wl.lane_id()] = x[wl.const(*(1, "2"))]

    assert problem(other).code == "ARGUMENTS"
