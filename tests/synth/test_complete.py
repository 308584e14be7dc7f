"""Reports of completing a sketch: solved, exhausted, out of budget, refused; optimality; repeatability."""

from __future__ import annotations

import pytest
from tests.synth.kernels import parse, sketch_of

from warploom.ir import index_text, parse_kernel
from warploom.sketch import Sketch
from warploom.synth import Report, complete
from warploom.synth.network.lower import lower


def _sketch(body: str, spec, holes: str = "", outputs: int = 8, start: str = "out") -> Sketch:
    lines = "\n".join("    " + line for line in body.strip("\n").splitlines())
    head = "@kernel(block=(8, 1, 1), grid=(1, 1, 1), warp_size=4)\n"
    parameters = f"def made(x: Global[i32, 8], y: Global[i32, {outputs}] | {start}):\n"
    return sketch_of(parse(f"{holes.strip()}\n{head}{parameters}{lines}\n"), spec)


XFORM = "@hole('from', kind='xform', args=('t', 'k'), n=8)\n"
GATHER = "y[thread_id] = x[hole('from', thread_id, 0)]"
TILE = """
tile = shared(i32, 8)
tile[thread_id] = x[thread_id]
{sync}
y[thread_id] = tile[hole('from', thread_id, 0)]
"""


def reverse(x, y):
    for i in range(8):
        y[i] = x[7 - i]


def shuffled(x, y):
    for i, j in enumerate((3, 1, 4, 0, 5, 7, 2, 6)):
        y[i] = x[j]


def stride(x, y):
    for i in range(8):
        y[i] = x[i * 2 % 8 + i // 4]


def total(x, y):
    for i in range(8):
        y[i] = x[i] + x[7 - i]


def squares(x, y):
    for i in range(8):
        y[i] = x[i] * x[i]


def half(x, y):
    for i in range(4):
        y[i] = x[i]


def _holes(report: Report) -> dict[str, str]:
    return {name: index_text(expr, ("t", "k")) for name, expr in report.completions[0].holes.items()}


def test_solved_and_proved() -> None:
    report = complete(_sketch(GATHER, reverse, XFORM))
    assert (report.status, report.verdict, report.space, report.optimal_in) == ("solved", "proved", 1, 3)
    assert (report.reason, report.unsat_in, report.diagnostics) == ("", (), ())
    assert _holes(report) == {"from": "7 - t"}
    assert report.kernel is not None and not report.kernel.holes


def test_larger_space_is_needed() -> None:
    report = complete(_sketch(GATHER, stride, XFORM))
    assert (report.status, report.verdict, report.space, report.unsat_in) == ("solved", "proved", 3, (1, 2))


def test_exhausted_spaces_are_a_proof() -> None:
    report = complete(_sketch(GATHER, shuffled, XFORM))
    assert (report.status, report.verdict, report.unsat_in) == ("unsat", None, (1, 2, 3))
    assert report.completions == () and report.kernel is None and "exhausted" in report.reason
    assert complete(_sketch(GATHER, shuffled, XFORM), space=2).unsat_in == (2,)


def test_spec_that_the_machine_cannot_meet() -> None:
    assert complete(_sketch(GATHER, squares, XFORM)).status == "unsat"


FOLD = """
out = accumulator(i32, op='+', init=0, finalize=__state)
for k in range(2):
    out.add(x[hole('from', thread_id, k)], when=hole('a', k, thread_id))
    out.add(x[hole('other', thread_id, k)], when=hole('b', k, thread_id))
y[thread_id] = out.value()
"""
FOLD_HOLES = (
    XFORM
    + "@hole('other', kind='xform', args=('t', 'k'), n=8)\n"
    + "@hole('a', kind='cond', args=('k', 't'))\n@hole('b', kind='cond', args=('k', 't'))"
)


def test_fewest_accumulate_statements() -> None:
    report = complete(_sketch(FOLD, total, FOLD_HOLES))
    assert (report.status, report.verdict) == ("solved", "proved")
    assert (report.completions[0].accumulates, report.completions[0].executed, report.optimal_in) == (2, 2, 3)
    single = complete(_sketch(FOLD, reverse, FOLD_HOLES))
    assert (single.status, single.completions[0].accumulates, single.completions[0].executed) == ("solved", 1, 1)
    assert single.optimal_in == 3


def test_node_budget_is_unknown_not_unsat() -> None:
    report = complete(_sketch(FOLD, total, FOLD_HOLES), budget_nodes=0)
    assert (report.status, report.reason, report.unsat_in) == ("unknown", "budget: nodes", ())
    assert report.completions == ()


def test_node_budget_keeps_the_best_so_far() -> None:
    whole = complete(_sketch(FOLD, total, FOLD_HOLES))
    nodes = sum(s.nodes + s.refuted for s in whole.spaces)
    statuses = [complete(_sketch(FOLD, total, FOLD_HOLES), budget_nodes=n) for n in (1, nodes // 2, nodes - 1)]
    assert {r.status for r in statuses} == {"unknown", "solved"}
    for report in statuses:
        assert report.status == "unknown" or report.verdict == "proved"


def test_missing_barrier_is_refused_with_its_place() -> None:
    report = complete(_sketch(TILE.format(sync=""), reverse, XFORM))
    assert (report.status, report.verdict) == ("refused", "refuted")
    [race] = report.diagnostics
    assert race.code == "RACE" and race.span.line > 0 and race.notes
    assert complete(_sketch(TILE.format(sync="sync()"), reverse, XFORM)).verdict == "proved"


def test_answer_with_a_fault_gives_way_to_one_without() -> None:
    """The cheapest completion reads outside of the array in threads whose value nobody uses."""
    body = "v: i32 = x[thread_id + hole('by')]\nif thread_id < 4:\n    y[thread_id] = x[thread_id]\n"
    report = complete(_sketch(body, half, "@hole('by', kind='const', args=(), constants=(1, 0))", outputs=8))
    assert (report.status, report.verdict) == ("solved", "proved")
    assert _holes(report) == {"by": "0"}


def test_kernel_without_holes_is_proved() -> None:
    report = complete(_sketch("y[thread_id] = x[7 - thread_id]", reverse))
    assert (report.status, report.verdict, report.space, report.optimal_in) == ("solved", "proved", 1, 3)
    assert report.completions[0].holes == {}


def test_wrong_kernel_without_holes_is_refused_with_the_difference() -> None:
    report = complete(_sketch("y[thread_id] = x[thread_id]", reverse))
    assert (report.status, report.verdict) == ("refused", "refuted")
    assert report.reason == "y[0]: expected x[7], got x[0]"


def bits_apart(x, y):
    for i in range(8):
        y[i] = (x[i] & 7) + (x[i] & ~7)


def vanishing_product(x, y):
    for i in range(8):
        y[i] = x[i] + (x[i] * (x[i] + 1) << 31)


@pytest.mark.parametrize("spec", [bits_apart, vanishing_product])
@pytest.mark.parametrize("moved", ["x[thread_id]", "x[hole('from', thread_id, 0)]"])
def test_what_no_law_decides_is_unknown_not_unsat(spec, moved: str) -> None:
    """Both specs are x, which the kernels move; the forms of the terms differ."""
    report = complete(_sketch(f"y[thread_id] = {moved}", spec, XFORM if "hole" in moved else ""), space=1)
    assert report.status == "unknown"
    assert report.reason.startswith("not decided: no law of the algebra (int32 wrap")


def halves(x, y):
    for i in range(8):
        y[i] = x[i] // 2


def test_what_numbers_tell_apart_is_no_completion() -> None:
    assert complete(_sketch("y[thread_id] = x[thread_id]", halves)).status == "refused"


def test_unsat_shows_the_first_fault_of_the_simplest_completion() -> None:
    report = complete(
        _sketch("y[thread_id] = x[thread_id + hole('by')]", reverse, "@hole('by', kind='const', args=(), constants=(8, 9))")
    )
    assert report.status == "unsat"
    assert "exhausted; y[0] = x[7] cannot be, whatever the holes become; for example, the simplest one fails: " in report.reason
    assert "expected an index inside x" in report.reason


def test_outputs_that_the_spec_leaves_alone_may_stay_unwritten() -> None:
    body = "if thread_id < 4:\n    y[hole('at', thread_id, 7 - thread_id)] = x[thread_id]"
    report = complete(_sketch(body, half, "@hole('at', kind='choose', args=('t', 'k'), n=2)"))
    assert (report.status, report.verdict, _holes(report)) == ("solved", "proved", {"at": "t"})


def test_arithmetic_after_a_gather_is_undone() -> None:
    def one_more(x, y):
        for i in range(8):
            y[i] = x[7 - i] + 1

    report = complete(_sketch("y[thread_id] = x[hole('from', thread_id, 0)] + i32(1)", one_more, XFORM))
    assert (report.status, report.verdict, _holes(report)) == ("solved", "proved", {"from": "7 - t"})


def test_unused_hole_is_closed() -> None:
    body = "if thread_id > 99:\n    y[0] = x[hole('from', thread_id, 0)]\ny[thread_id] = x[7 - thread_id]"
    report = complete(_sketch(body, reverse, XFORM))
    assert (report.status, report.verdict, list(report.completions[0].holes)) == ("solved", "proved", ["from"])


def test_two_accumulators_without_a_common_term() -> None:
    def both(x, y):
        for i in range(8):
            y[i] = x[i]
            y[8 + i] = x[i] * x[7 - i]

    body = """
one = accumulator(i32, op='+', init=0, finalize=__state)
two = accumulator(i32, op='+', init=0, finalize=__state)
one.add(x[thread_id], when=hole('a', thread_id, 0))
two.add(x[7 - thread_id] * x[thread_id], when=hole('b', thread_id, 0))
y[thread_id] = one.value()
y[8 + thread_id] = two.value()
"""
    conditions = "@hole('a', kind='cond', args=('t', 'k'))\n@hole('b', kind='cond', args=('t', 'k'))"
    report = complete(_sketch(body, both, conditions, outputs=16))
    assert (report.status, report.verdict, report.optimal_in) == ("solved", "proved", 3)
    assert report.completions[0].accumulates == 2


def test_every_answer_of_a_space() -> None:
    body = "y[thread_id] = x[hole('p', 7 - thread_id, thread_id, (15 - thread_id) % 8)]"
    report = complete(_sketch(body, reverse, "@hole('p', kind='choose', args=('t', 'u', 'v'), n=3)"), all_solutions=True)
    assert [index_text(c.holes["p"], ("t", "u", "v")) for c in report.completions] == ["t", "v"]
    assert {c.verdict for c in report.completions} == {"proved"}


@pytest.mark.parametrize("spec", [reverse, total])
def test_two_runs_are_equal(spec) -> None:
    first, second = (complete(_sketch(FOLD, spec, FOLD_HOLES)) for _ in range(2))
    assert _holes(first) == _holes(second)
    assert [(s.space, s.nodes, s.refuted) for s in first.spaces] == [(s.space, s.nodes, s.refuted) for s in second.spaces]


GUARDED = """
@hole('guard', kind='cond', args=('g', 'n'))
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def guarded(x: Global[i32, n], y: Global[i32, n] | out, n: size):
    g = block_id * 32 + thread_id
    if hole('guard', g, n):
        y[g] = x[g]
"""


def moved(x, y, n):
    for i in range(n):
        y[i] = x[i]


@pytest.mark.parametrize("n", [40, 64])
def test_a_guard_over_a_run_time_size_is_completed_for_every_size(n: int) -> None:
    """At one size alone `g < n` is `g < 40`, or true: sizes at which an answer fails are completed, too."""
    kernel = parse_kernel(GUARDED)
    report = complete(Sketch(kernel, moved, {"n": n}))
    assert (report.status, report.verdict) == ("solved", "proved"), report.reason
    assert index_text(report.completions[0].holes["guard"], ("g", "n")) == "g < n"


PAIRS = """
out = accumulator(i32, op='+', init=0, finalize=__state)
for k in range(2):
    out.add(x[{read}])
{store}
"""


def pairs(x, y):
    for i in range(8):
        for k in range(2):
            y[i] += x[(i + 3 * k) % 8]


def pairs_backwards(x, y):
    for i in range(8):
        for k in range(2):
            y[7 - i] += x[(i + 3 * k) % 8]


def pairs_in_front(x, y):
    for i in range(8):
        if i < 4:
            y[i] = 0
            for k in range(2):
                y[i] += x[(i + 3 * k) % 8]
        else:
            y[i] = y[i]


@pytest.mark.parametrize(
    ("store", "spec", "start", "hole"),
    [
        ("if hole('h', thread_id, 0):\n    y[thread_id] = out.value()", pairs, "out", "kind='cond', args=('t', 'z')"),
        ("y[hole('h', thread_id, 0)] = out.value()", pairs_backwards, "out", "kind='xform', args=('t', 'k'), n=8"),
        ("if hole('h', thread_id, 4):\n    y[thread_id] = out.value()", pairs_in_front, "inout", "kind='cond', args=('t', 'z')"),
    ],
)
def test_a_sum_that_an_open_store_places(store: str, spec, start: str, hole: str) -> None:
    """Sums are counted where only one row can supply an element; where two can, or what was there may do, nothing is lost."""
    read, holes = ("hole('from', thread_id, k)", XFORM) if spec is not pairs_backwards else ("(thread_id + 3 * k) % 8", "")
    sketch = _sketch(PAIRS.format(read=read, store=store), spec, holes + f"@hole('h', {hole})\n", start=start)
    report = complete(sketch, budget_nodes=20 if spec is pairs else None)
    assert (report.status, report.verdict) == ("solved", "proved"), report.reason


def test_no_guard_is_right_at_every_size() -> None:
    """The sizes that are added leave nothing, and what is said is the first answer's fault."""
    kernel = parse_kernel(GUARDED.replace("y[g] = x[g]", "y[g] = x[g] if g < 40 else x[0]"))
    report = complete(Sketch(kernel, moved, {"n": 40}))
    assert (report.status, report.verdict, report.kernel) == ("refused", "refuted", None)


def test_a_store_outside_of_an_array_is_no_completion() -> None:
    network = lower(parse_kernel(GUARDED), {"n": 40})
    (found,) = network.forbidden
    assert found.outside.sum() == 24 and found.outside[:, 0].sum() == 0
