"""Verdict of all judges together: whose fault, at which sizes, of which elements."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.synth.kernels import REVERSE, parse, reverse, sketch_of

from warploom.core import UserError, i32
from warploom.ir import run
from warploom.synth import complete, judge
from warploom.synth import judge as judge_module_function
from warploom.synth.proof.check import CheckResult
from warploom.terms import algebra_for
from warploom.tools.command.lines import plain_line, turned_into_error
from warploom.tools.command.usage import Stopwatch
from warploom.tools.synth.report import report_line

COPY = """
@kernel(block=(32, 1, 1), grid=((n + 31) // 32, 1, 1), warp_size=32)
def copy(x: Global[i32, n], y: Global[i32, n] | out, z: Global[i32, n] | out, n: size):
    i = block_id * 32 + thread_id
    if i < n:
        y[i] = x[i]
"""


def copy(x, y, n):
    for i in range(n):
        y[i] = x[i]


def judged(*changes: tuple[str, str], n: int = 40, spec=copy):
    kernel = parse(COPY, *changes)
    return judge(sketch_of(kernel, spec, {"n": n}), kernel, spec, {"n": n}, algebra_for(i32), 0)


def test_a_proof_that_the_checker_contradicts_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__(judge_module_function.__module__, fromlist=["judge"])
    wrong = CheckResult("refuted", "distinct elements", 1, "y[0]: expected 1, got 2")
    monkeypatch.setattr(module, "check", lambda *_: wrong)
    found = judged()
    assert (found.status, found.verdict) == ("error", "unchecked")
    assert "bug of Warploom" in found.reason and "y[0]: expected 1, got 2" in found.reason
    kernel = parse(REVERSE)
    report = complete(sketch_of(kernel, reverse, {}))
    assert (report.status, report.verdict, report.kernel, report.domain) == ("error", "unchecked", None, "")
    assert "bug of Warploom" in report.reason


def test_what_the_checker_refutes_and_nobody_proved_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__(judge_module_function.__module__, fromlist=["judge"])
    proof = judged().proof
    monkeypatch.setattr(module, "prove", lambda *_: replace(proof, verdict="unchecked"))
    monkeypatch.setattr(module, "check", lambda *_: CheckResult("refuted", "distinct elements", 1, "differs"))
    assert (judged().status, judged().verdict, judged().reason) == ("refused", "refuted", "differs")
    monkeypatch.setattr(module, "check", lambda *_: CheckResult("unchecked", "random field elements", 0, "nothing compared"))
    assert (judged().status, judged().verdict, judged().cases) == ("solved", "unchecked", None)


def test_an_error_never_carries_a_proof() -> None:
    report = complete(sketch_of(parse(REVERSE), reverse, {}))
    assert (report.status, report.verdict) == ("solved", "proved")
    for status in ("error", "refused"):
        with pytest.raises(ValueError, match="expected no proof"):
            replace(report, status=status)
    with pytest.raises(ValueError, match="expected no proof"):
        plain_line("case", "error", Stopwatch().read(), verdict="proved")
    line = report_line("case", parse(REVERSE), report, Stopwatch().read())
    turned_into_error(line, "solved, but not written")
    assert (line["status"], line["verdict"], "domain" in line) == ("error", "unchecked", False)


def test_elements_that_nobody_stores_are_told() -> None:
    assert judged().proof.untouched == (("z", 40),)
    kernel = parse(COPY)
    report = complete(sketch_of(kernel, copy, {"n": 40}))
    line = report_line("copy", kernel, report, Stopwatch().read())
    assert (line["verdict"], line["untouched"]) == ("proved", {"z": 40})
    assert line["domain"] == "elements moved unchanged; every n from 0 to 2147483616"
    both = judged(("        y[i] = x[i]", "        y[i] = x[i]\n        z[i] = x[i]"), spec=copy_both)
    assert (both.verdict, both.proof.untouched) == ("proved", ())


def copy_both(x, y, z, n):
    for i in range(n):
        y[i] = x[i]
        z[i] = x[i]


def test_a_proof_at_one_size_only_says_so() -> None:
    found = judged(("i < n:", "i % 3 < n and i < n:"))
    assert (found.status, found.verdict, found.proved_at, found.domain) == ("solved", "tested", (("n", 40),), "")
    kernel = parse(COPY, ("i < n:", "i % 3 < n and i < n:"))
    line = report_line("copy", kernel, complete(sketch_of(kernel, copy, {"n": 40})), Stopwatch().read())
    assert (line["verdict"], line["proved_at"]) == ("tested", {"n": 40}) and "domain" not in line


@pytest.mark.parametrize(
    ("guard", "status", "reason"),
    [
        ("i < n and i < 900", "refused", "y[900]"),  # small enough to run
        ("i < n and i < 900000", "unknown", "by the lift it fails at n = "),
        ("i % 3 < n and i < n and i < 900000", "unknown", "no size beyond the constant 900000 was small enough to run"),
    ],
)
def test_a_kernel_that_is_wrong_above_some_size_is_never_solved(guard: str, status: str, reason: str) -> None:
    found = judged(("i < n:", f"{guard}:"))
    assert (found.status, reason in found.reason) == (status, True), found
    assert found.verdict in ("refuted", "unchecked")
    report = complete(sketch_of(parse(COPY, ("i < n:", f"{guard}:")), copy, {"n": 40}))
    assert report.status == status


def test_blocks_that_a_constant_cuts_off_are_missed_at_large_sizes() -> None:
    assert judged(("grid=((n + 31) // 32", "grid=(min((n + 31) // 32, 30)")).verdict == "refuted"
    found = judged(("grid=((n + 31) // 32", "grid=(min((n + 31) // 32, 30000)"))
    assert (found.status, "beyond the constant 960000" in found.reason) == ("unknown", True)


def test_a_grid_that_no_launch_allows_at_the_completed_sizes() -> None:
    kernel = parse(COPY, ("grid=((n + 31) // 32, 1, 1)", "grid=((n + 31) // 32, n, 1)"))
    with pytest.raises(UserError, match="expected at most 65535 blocks along y, got 70000 at n = 70000"):
        complete(sketch_of(kernel, copy, {"n": 70000}))


def test_indices_of_more_than_32_bits() -> None:
    found = judged(("i < n:", "i < n and thread_id * 100000000 != 700000001:"))
    assert (found.status, found.diagnostics[0].code) == ("refused", "INDEX_OVERFLOW")
    assert found.diagnostics[0].span.line == 4  # the statement, not the kernel
    wide = parse(COPY, ("i < n:", "i < n and (thread_id + 1) * 1073741824 * 1073741824 * 16 != 7:"))
    with pytest.raises(UserError) as error:
        run(wide, {"x": np.zeros(40, np.int32)}, {"n": 40})
    assert (error.value.diagnostics[0].code, error.value.diagnostics[0].span.line) == ("INDEX_OVERFLOW", 4)
    found = judged(("i < n:", "i * 40000000 < n * 40000000:"))
    assert (found.status, found.verdict) == ("unknown", "unchecked")
    assert "at n = 40: they are known to hold for every n from 0 to" in found.doubt
    found = judged(("i < n:", "i * 1000 < n * 1000:"))
    assert (found.verdict, found.domain) == ("proved", "elements moved unchanged; every n from 0 to 2147453")
