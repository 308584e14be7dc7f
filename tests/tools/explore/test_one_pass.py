"""`explore` on sums that need a maximum: kernels in one pass are printed, run, proved against the two passes, and replayed."""


# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from tests.schedule.online.test_rewrite import attention, by_brute_force, log_sum_exp, softmax

import warploom as wl
from warploom.core import UnsupportedError, UserError
from warploom.gpu import toolchain_available
from warploom.schedule.backbone import Backbone, Program, no_tiles, read_once
from warploom.schedule.choices import default_order, kernel_space
from warploom.schedule.cuda import CudaKernel, Options, cuda_kernel, interpret_all
from warploom.schedule.online import online
from warploom.schedule.targets import target
from warploom.tools.cli import cli
from warploom.tools.explore.one_pass import before, before_search, decided, in_one_pass, tiles_of
from warploom.tools.explore.proof import prove_kernel

needs_compiler = pytest.mark.skipif(not toolchain_available(), reason="the extra `cuda` is not installed")
SM_90 = target("sm_90")
SIZES = {"n": 2, "m": 6, "d": 2}


def printed(stage: Backbone) -> CudaKernel:
    """The first implementation in the order of a search."""
    space = kernel_space(stage, SM_90)
    candidate = space.root()
    while (decision := space.decisions(candidate, default_order(SM_90))) is not None:
        children = (candidate.restrict(decision.choice, decision.arguments, a.mask) for a in decision.alternatives)
        candidate = next(c for c in children if c is not None)
    return cuda_kernel(space.lower(candidate), Options(arch="sm_90"))


@pytest.fixture(scope="module")
def made() -> tuple[Backbone, CudaKernel]:
    stage = online(read_once(attention.program(SIZES, no_tiles).stages[0]), 3)
    assert isinstance(stage, Backbone)
    return stage, printed(stage)


def random_arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {name: rng.normal(size=(SIZES[rows], 2)).astype(np.float32) for name, rows in (("Q", "n"), ("K", "m"), ("V", "m"))}


@needs_compiler
def test_the_kernel_computes_attention(made) -> None:
    outcome = interpret_all([made[1]], random_arrays(), {"scale": 0.8})
    assert not outcome.findings
    np.testing.assert_allclose(outcome.arrays["Y"].reshape(2, 2), by_brute_force(random_arrays(), 0.8), rtol=1e-5)


@needs_compiler
def test_the_kernel_is_proved_against_the_two_passes(made) -> None:
    text = replace(made[1], text="#define expf __expf\n" + made[1].text)
    proof = prove_kernel(made[0].plain, text)
    assert (proof.verdict, proof.reason) == ("proved", "")
    assert "exp(a + b) = exp(a) * exp(b)" in proof.domain
    assert "no value below the least float" in proof.domain


@needs_compiler
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("fmaf(weighted", "fmaf(0.5f * weighted"),
        ("fmaf(total, rescaling", "fmaf(total, 1.0f"),
        ("float top = -3.4028235e+38f;", "float top = 0.0f;"),
        ("float joined = top_before - top;", "float joined = top - top_before;"),
        ("top_before = top;", "top_before = top_tile;"),
        ("float top_tile = -3.4028235e+38f;", "float top_tile = -1.0f;"),
    ],
    ids=["a wrong factor", "no rescaling", "a maximum from 0", "turned round", "the tile's maximum", "a tile's maximum from -1"],
)
def test_planted_mistakes_are_not_proved(made, right: str, wrong: str) -> None:
    stage, kernel = made
    assert right in kernel.text, kernel.text
    try:
        proof = prove_kernel(stage.plain, replace(kernel, text="#define expf __expf\n" + kernel.text.replace(right, wrong, 1)))
    except UnsupportedError as error:  # exp(m - -inf) is no number
        assert "arithmetic on an infinity" in error.diagnostics[0].message
    else:
        assert proof.verdict != "proved", wrong


def program_of(function, sizes) -> Program:
    return function.program(sizes, no_tiles)


def test_the_tile_is_a_decision() -> None:
    program = program_of(log_sum_exp, {"n": 2, "m": 64})
    (stage,) = in_one_pass(program, {}).stages
    assert decided(stage) == {"online": "32"}
    assert decided(in_one_pass(program, {"online": "NO"}).stages[0]) == {}
    assert decided(in_one_pass(program, {"online": "8"}).stages[0]) == {"online": "8"}
    assert decided(in_one_pass(program, {"log_sum_exp/online": "16"}).stages[0]) == {"online": "16"}
    assert tiles_of(stage) == ["NO", "8", "16", "32"]
    assert before({"online": "8", "a/online": "8", "size(i0)": "2"}, "online") == {"online": "8", "a/online": "8"}
    assert in_one_pass(program_of(softmax, {"n": 2, "m": 64}), {}).stages[0].rewritten is None


@pytest.mark.parametrize(
    ("tile", "why"),
    [
        ("64", "a tile of 64 is the whole axis"),
        ("7", "tiles of 7 do not divide"),
        ("YES", "no number"),
        ("0", "no number"),
        ("²", "no number"),
        ("8" * 5000, "no number"),
    ],
)
def test_tiles_that_are_refused(tile: str, why: str) -> None:
    with pytest.raises(UserError, match="expected NO or a tile") as refusal:
        in_one_pass(program_of(log_sum_exp, {"n": 2, "m": 64}), {"online": tile})
    assert why in refusal.value.diagnostics[0].message


KERNEL = """
import warploom as wl
from warploom import f32, exp, log


@wl.tensor
def log_sum_exp(X: f32["n", "m"], y: wl.out[f32["n"]]):
    top[i] = max(X[i, j], over=j)
    y[i] = top[i] + log(sum(exp(X[i, j] - top[i]), over=j))
"""


def run(*arguments: str) -> dict[str, object]:
    result = CliRunner().invoke(cli, ["explore", *arguments, "--json"])
    return json.loads(result.output.strip().splitlines()[-1])


@pytest.fixture
def file(tmp_path) -> str:
    place = tmp_path / "kernel.py"
    place.write_text(KERNEL)
    return str(place)


def test_it_is_open_until_it_is_decided() -> None:
    (stage,) = in_one_pass(program_of(log_sum_exp, {"n": 2, "m": 16}), {}).stages
    assert before_search(stage, {"size(i0)": "2"}) == {"online": ["NO", "8"]}
    assert before_search(stage, {"online": "8"}) == {}
    assert before_search(stage.plain, {}) == {}


@pytest.mark.slow
def test_choices_and_refusals_name_it(file) -> None:
    asked = [file, "--size", "n=4,m=16", "--target", "sm_90", "--choices"]
    line = run(*asked)
    assert line["choices"]["online"] == ["NO", "8"]
    assert "online" not in run(*asked, "--set", "online=NO")["choices"]
    assert run(*asked, "--set", "online=5")["status"] == "error"


@pytest.mark.slow
@needs_compiler
def test_a_search_finds_it_and_a_replay_gives_it_again(file, tmp_path) -> None:
    asked = [file, "--size", "n=64,m=64", "--target", "sm_90", "--set", "online=32"]
    line = run(*asked, "--nodes", "200")
    assert (line["status"], line["verdict"]) == ("solved", "proved"), line
    assert line["decisions"]["online"] == "32"
    kept = tmp_path / "line.json"
    kept.write_text(json.dumps(line))
    again = run(*asked[:-2], "--replay", str(kept))
    assert (again["decisions"], again["verdict"], again["time_ms"]) == (line["decisions"], "proved", line["time_ms"])


@pytest.mark.slow
@needs_compiler
def test_attention_is_found_in_one_pass() -> None:
    found = wl.explore(attention, sizes={"n": 128, "m": 128, "d": 32}, target="sm_90", nodes=600, budget_s=120)
    assert found.status == "solved", found.line
    assert found.verdict in ("tested", "proved"), found.line
    tried = {found["online"]: found["time_ms"] for found in found.line["online"]}
    assert list(tried) == ["32", "NO"]
    assert found.line["time_ms"] == min(t for t in tried.values() if t is not None)
