"""Pipelines of wgmma and bulk copies in CUDA: clean as they stand, and each planted mistake on its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.tools.contract import lines_of

from warploom.gpu import toolchain_available
from warploom.tools.lint.command import lint_command

FILE = Path(__file__).with_name("products.cu")
ARRAYS = ("--arg", "random:f16:24576", "--arg", "random:f16:3072", "--arg", "zeros:f32:1024", "--arg", "i32:6")
SLOW = pytest.mark.slow
pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the extra cuda")


def errors(kernel: str, *macros: str) -> list[tuple[str, str, str]]:
    """Rule, lines (with those of the calls that lead there) and fix of each finding that refutes."""
    defined = [part for macro in macros for part in ("-D", macro)]
    block = "160" if kernel == "specialised" else "128"
    command = [str(FILE), "--json", "--arch", "sm_90a", "--kernel", kernel, "--launch", "1", block, *ARRAYS, *defined]
    *found, last = lines_of(CliRunner().invoke(lint_command, command).stdout)
    wrong = [one for one in found if one["level"] == "error"]
    assert last["status"] == ("refused" if wrong else "solved")
    text = FILE.read_text().splitlines()
    return [(one["rule"], "\n".join(text[place["line"] - 1] for place in (one, *one["inlined_at"])), one["fix"]) for one in wrong]


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["filled", "scaled", "specialised"])
def test_clean_pipelines(kernel: str) -> None:
    assert errors(kernel) == []


WAIT_FOR_PRODUCTS = "Execute wgmma.commit_group and wgmma.wait_group"
WAIT_FOR_READS = "Let who issued the read wait for its end"
FENCE_PROXIES = "Let every thread that stores execute fence.proxy.async"
FENCE_PRODUCTS = "Execute wgmma.fence.sync.aligned"


@pytest.mark.parametrize(
    ("kernel", "macro", "rule", "line", "fix"),
    [
        ("filled", "ONE_STAGE", "data-race", "// filled", WAIT_FOR_READS),
        *(
            pytest.param(*case, marks=SLOW)
            for case in (
                ("filled", "NO_WAIT", "early-copy-read", "// written", WAIT_FOR_PRODUCTS),
                ("scaled", "NO_WAIT", "early-copy-read", "// used", WAIT_FOR_PRODUCTS),
                ("specialised", "EARLY_RELEASE", "data-race", "// loaded", WAIT_FOR_READS),
                ("specialised", "NO_WAIT", "data-race", "// staged", WAIT_FOR_READS),
                ("filled", "NO_PROXY_FENCE", "data-race", "multiply(d, matrix(sa[stage]", FENCE_PROXIES),
                ("specialised", "NO_PROXY_FENCE", "data-race", "cp.async.bulk.global", FENCE_PROXIES),
                ("filled", "NO_FENCE", "data-race", "multiply(d, matrix(sa[stage]", FENCE_PRODUCTS),
                ("scaled", "NO_FENCE", "data-race", "multiply(d, p, matrix(sb", FENCE_PRODUCTS),
            )
        ),
    ],
)
def test_planted_mistakes(kernel: str, macro: str, rule: str, line: str, fix: str) -> None:
    assert [one for one in errors(kernel, macro) if one[0] == rule and line in one[1] and one[2].startswith(fix)]
