"""`warploom bench lint`: mistakes planted by rule are found on their lines; kernels without a mistake have no finding."""

from __future__ import annotations

import random
from typing import Any

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.gpu import toolchain_available
from warploom.tools.bench.lint import cases
from warploom.tools.bench.lint.command import judged as judged_line
from warploom.tools.bench.lint.equivalent import EQUIVALENT
from warploom.tools.bench.lint.judging import bugs_of, judged, share
from warploom.tools.bench.lint.languages import LANGUAGES
from warploom.tools.bench.lint.lines import stands_right
from warploom.tools.bench.lint.planting import CUDA, Kernel, Rule, launched, planted
from warploom.tools.cli import cli

ALL = [(kernel, bug) for kernel in LANGUAGES["cuda"].kernels() for bug in bugs_of(LANGUAGES["cuda"], kernel)]


def lines_found(text: str, rule: str) -> set[int]:
    """Lines on which a finding about the first mistake of a rule may stand."""
    kernel = Kernel("k", 1, text, (launched("1 32"),))
    bug = next(bug for bug in planted(kernel, CUDA) if bug.rule == rule)
    return {n for n in range(1, text.count("\n") + 1) if stands_right(bug, {n})}


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra cuda")
def test_a_sample_of_planted_mistakes_is_found_on_its_lines() -> None:
    chosen = random.Random(0).sample(ALL, 6)
    found = [one for kernel, bug in chosen for one in judged(LANGUAGES["cuda"], kernel, [bug])]
    assert [one.bug.key for one in found if one.judgement not in ("found", "other-result", "equivalent")] == []


def test_a_sample_of_mistakes_in_ptx_is_found_on_its_lines() -> None:
    language = LANGUAGES["ptx"]
    kernel = random.Random(1).choice(language.kernels())
    found = list(judged(language, kernel, random.Random(2).sample(bugs_of(language, kernel), 6)))
    assert share(found) == 1.0 and any(one.judgement == "found" for one in found)


def test_asynchronous_mistakes_are_all_found_with_what_goes_on() -> None:
    """A load, a copy, a product or a wait stands among the lines of each; kernels without a mistake have no finding."""
    language = LANGUAGES["async"]
    found = [one for kernel in language.kernels() for one in judged(language, kernel, bugs_of(language, kernel))]
    assert [one.bug.key for one in found if one.judgement != "found"] == []
    assert len(found) >= 45 and {one.bug.rule for one in found} == {rule.name for rule in language.rules}


def test_an_asynchronous_mistake_concerns_what_goes_on() -> None:
    kernel = next(kernel for kernel in LANGUAGES["async"].kernels() if kernel.name == "bulk_out")
    bug = next(bug for bug in bugs_of(LANGUAGES["async"], kernel) if bug.rule == "missing-fence")
    lines = kernel.text.split("\n")
    right = [n for n in range(len(lines)) if stands_right(bug, {kernel.line + n})]
    assert [lines[n].split()[1].split(".")[1] for n in right] == ["async"]


def test_there_are_more_than_three_hundred_and_each_rule_has_some() -> None:
    bugs = [bug for language in LANGUAGES.values() for kernel in language.kernels() for bug in bugs_of(language, kernel)]
    assert len(bugs) - len(EQUIVALENT) >= 300
    assert {bug.rule for bug in bugs} == {rule.name for language in LANGUAGES.values() for rule in language.rules}
    assert set(EQUIVALENT) <= {bug.key for bug in bugs}


def test_each_place_of_a_pattern_is_one_mistake() -> None:
    kernel = Kernel("k", 10, "a < b\nc < d\n", (launched("1 32 u8:1 N=3"),))
    bugs = list(planted(kernel, (Rule("off-by-one", CUDA[3].pattern, " <= "), Rule("again", CUDA[3].pattern, " <= "))))
    assert [(bug.line, bug.before, bug.after) for bug in bugs] == [(10, "a < b", "a <= b"), (11, "c < d", "c <= d")]
    assert bugs[1].key == "k:1 | c < d | c <= d" and bugs[1].text == "a < b\nc <= d\n"
    assert kernel.launches[0].arguments == ("u8:1",) and kernel.launches[0].constants == ("N=3",)


def test_a_barrier_concerns_what_it_orders() -> None:
    text = "K {\n  a[i] = 0;\n  __syncthreads();\n  b[i] = a[j];\n  __syncthreads();\n  c[i] = b[j];\n}\n"
    assert lines_found(text, "missing-barrier") == {1, 2, 3, 4, 5}
    text = (
        "K {\n  a = 0;\n  __syncwarp();\n  for (;;) {\n    x = t[i];\n    __syncthreads();\n    t[i] = x;\n    y = 0;\n  }\n}\n"
    )
    bugs = [bug for bug in planted(Kernel("k", 1, text, ()), CUDA) if bug.line == 6]
    assert [n for n in range(1, 11) if stands_right(bugs[0], {n})] == [3, 4, 5, 6, 7, 8, 9, 10]


def test_an_index_concerns_the_lines_that_use_it() -> None:
    text = "K(float* b) {\n  int i = x * n + y;\n  float s = 0;\n  s += a[i];\n  b[0] = 1;\n}\n"
    assert lines_found(text, "wrong-stride") == {2, 3, 4}
    text = "K(float* b) {\n  if (i < n) {\n    c = 1;\n  }\n  b[0] = 1;\n  d = c;\n}\n"
    assert lines_found(text, "missing-guard") == {2, 3, 4, 6}


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra cuda")
def test_kernels_without_a_mistake_have_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    result = CliRunner().invoke(cli, ["bench-lint", "corpus/cuda"])
    (line,) = lines_of(result.stdout)
    assert (line["verdict"], line["kernels"], line["false"]) == ("tested", 27, [])


@pytest.mark.parametrize(
    ("fields", "is_right"),
    [({"share": 0.97}, True), ({"share": 0.96}, False), ({"false_errors": 1}, False), ({"wrongly_proved": 1}, False)],
)
def test_missed_bars_are_said(fields: dict[str, Any], is_right: bool) -> None:
    assert judged_line({"case": "a", "status": "solved", **fields})["as_expected"] is is_right
    assert judged_line({"case": "a", "status": "unknown", **fields})["as_expected"] is False


def test_a_pattern_without_a_case_is_bad_input() -> None:
    result = CliRunner().invoke(cli, ["bench", "lint", "--case", "sown/*", "--json"])
    assert result.exit_code == 2 and len(cases.NAMES) == 16
