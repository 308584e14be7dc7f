"""The decision whether a CPU kernel takes words: what the machine's speed makes of it, what is asked by hand, and replays."""

# ruff: noqa: F821 (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportCallIssue=false, reportOperatorIssue=false

import json
from dataclasses import replace
from pathlib import Path

import pytest

import warploom as wl
from warploom import bf16, f32
from warploom.core import UserError
from warploom.schedule.cpu import DIFFERENT_SUMS, find_compiler
from warploom.schedule.search import Options, explore, strategy_named
from warploom.schedule.targets import TARGETS, Target
from warploom.tools.command.usage import Stopwatch
from warploom.tools.explore.options import KernelOptions, program_of
from warploom.tools.explore.replay import replay_file
from warploom.tools.explore.result import all_decisions
from warploom.tools.explore.worded import of_stage, open_before_search, worded

WITHOUT = TARGETS["cpu"]
FAST = replace(WITHOUT, words=frozenset(("bf16", "i8")))
SLOW = replace(FAST, slow_words=frozenset(("bf16",)))
SMALL, LARGE = {"m": 8, "n": 32, "k": 8}, {"m": 16, "n": 32, "k": 8}


@wl.tensor
def products(A: bf16["m", "k"], B: bf16["n", "k"], C: wl.out[f32["m", "n"]]):
    C[m, n] = sum(f32(A[m, k]) * f32(B[n, k]), over=k)


@wl.tensor
def twice(A: bf16["m", "k"], B: bf16["n", "k"], C: wl.out[f32["m", "n"]], y: wl.out[f32["m"]]):
    C[m, n] = sum(f32(A[m, k]) * f32(B[n, k]), over=k)
    y[m] = sum(C[m, n], over=n)


def decided(on: Target, sizes: dict[str, int], function: object = products, **fixed: str) -> dict[str, str]:
    """The decision, by stage."""
    fixed = {name.replace("_of_", "/"): value for name, value in fixed.items()}
    program = program_of(function, KernelOptions(target=on, sizes=sizes, fixed=fixed))  # type: ignore[arg-type]
    return {stage.name: value for stage in program.stages for value in of_stage(stage).values()}


@pytest.mark.parametrize(
    ("on", "sizes", "wanted"),
    [(WITHOUT, LARGE, "NO"), (FAST, LARGE, "YES"), (FAST, SMALL, "YES"), (SLOW, LARGE, "NO"), (SLOW, SMALL, "YES")],
)
def test_slow_words_serve_factors_that_few_products_use(on: Target, sizes: dict[str, int], wanted: str) -> None:
    assert decided(on, sizes) == {"products": wanted}


def test_what_is_asked_goes_first() -> None:
    assert decided(SLOW, LARGE, words="YES") == {"products": "YES"}
    assert decided(FAST, LARGE, words="NO") == {"products": "NO"}
    stages = program_of(twice, KernelOptions(target=FAST, sizes=LARGE)).stages
    assert len(stages) == 2
    first = stages[0].name
    assert decided(FAST, LARGE, twice) == decided(FAST, LARGE, twice, words="YES") == {first: "YES"}
    assert decided(FAST, LARGE, twice, **{f"{first}_of_words": "NO"}) == {first: "NO"}
    assert decided(FAST, LARGE, twice, **{f"{first}_of_words": "YES"}, words="NO") == {first: "YES"}


@pytest.mark.parametrize(
    ("on", "name", "value", "said"),
    [
        (FAST, "words", "PERHAPS", "expected YES or NO as words of products, got PERHAPS"),
        (WITHOUT, "words", "YES", "whose factors this machine takes in words, got none"),
        (WITHOUT, "products/words", "YES", "whose factors this machine takes in words, got none"),
        (FAST, "other/words", "NO", r"expected a stage of products \(products\) before the slash, got other/words"),
    ],
)
def test_other_answers_are_refused(on: Target, name: str, value: str, said: str) -> None:
    program = program_of(products, KernelOptions(target=WITHOUT, sizes=LARGE))
    with pytest.raises(UserError, match=said):
        worded(program, on, {name: value})


def test_the_decision_is_listed_where_it_is_open() -> None:
    (stage,) = program_of(products, KernelOptions(target=SLOW, sizes=LARGE)).stages
    (in_words,) = program_of(products, KernelOptions(target=FAST, sizes=LARGE)).stages
    assert open_before_search(stage, SLOW, {}) == open_before_search(in_words, FAST, {}) == {"words": ["NO", "YES"]}
    assert open_before_search(stage, WITHOUT, {}) == open_before_search(stage, SLOW, {"words": "NO"}) == {}


def test_gpus_have_no_such_decision() -> None:
    on = TARGETS["sm_90"]
    program = program_of(products, KernelOptions(target=on, sizes=LARGE))
    assert all_decisions(program, [{}], on) == [{}] and all_decisions(program, [{}], WITHOUT) == [{"words": "NO"}]
    assert KernelOptions(target=on, fixed={"words": "NO"}).searched_fixed == {"words": "NO"}


def test_plain_loops_have_no_words() -> None:
    """So they may be the answer where none are asked for."""
    options = KernelOptions(target=FAST, sizes=LARGE)
    assert not options.is_by_hand and not replace(options, fixed={"words": "NO"}).is_by_hand
    assert replace(options, fixed={"words": "YES"}).is_by_hand
    assert replace(options, fixed={"words": "NO", "size(m0)": "2"}).is_by_hand


@pytest.mark.skipif(find_compiler() is None, reason="no C compiler")
@pytest.mark.parametrize("asked", ["YES", "NO"])
def test_replays_take_words_as_was_decided(asked: str, tmp_path: Path) -> None:
    options = KernelOptions(target=SLOW, sizes=LARGE, fixed={"words": asked})
    (found,) = explore(program_of(products, options), SLOW, options=Options(strategy=strategy_named("refine"), nodes=20)).stages
    kept = tmp_path / "decisions.json"
    kept.write_text(json.dumps({"words": asked, **found.decisions}))
    options = KernelOptions(target=SLOW, sizes=LARGE)
    line = replay_file("products", products, options, kept, Stopwatch(), lambda _: None).line
    assert line["verdict"] == "tested"
    assert line["decisions"]["words"] == asked  # type: ignore[index]
    assert line.get("domain") == (DIFFERENT_SUMS if asked == "YES" else None)
