"""Refusals of printing and reading back that no whole kernel comes to, each asked by itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.synth.kernels import REVERSE
from tests.synth.kernels import parse as parse_kernel

from warploom.core import UserError
from warploom.gpu import cuda, registers
from warploom.gpu.cmachine import CMachine
from warploom.gpu.index_code import IndexCode
from warploom.gpu.registers import RegisterPass
from warploom.ir import HoleArg, IndexConst, IndexSelect, IndexVar

ANY: Any = None


def test_a_function_that_returns_nothing() -> None:
    types = SimpleNamespace(
        type=SimpleNamespace(args=SimpleNamespace(params=[]), type=SimpleNamespace(type=SimpleNamespace(names=["int"])))
    )
    definition: Any = SimpleNamespace(decl=types, body=None)
    at: Any = SimpleNamespace(_scopes=[], _returned=None, _statement=lambda *_: None, _unsupported=lambda _: KeyError("no value"))
    with pytest.raises(KeyError, match="no value"):
        CMachine._function(at, definition, [], ANY)


def test_a_hole_has_no_text() -> None:
    with pytest.raises(UserError, match=r"HOLE_UNFILLED.*expected a filled kernel"):
        IndexCode.text(SimpleNamespace(ranges={}, growing={}), HoleArg(0))  # pyright: ignore[reportArgumentType]


def test_a_kernel_whose_indices_fit_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda, "cuda_source", lambda _: pytest.fail("nothing to look for"))
    assert cuda.index_overflow(parse_kernel(REVERSE)) is None


def test_a_choice_whose_branches_stay_open_is_not_lifted() -> None:
    at: Any = SimpleNamespace(unrolled=set(), facts=SimpleNamespace(ranges={}), _static=lambda _: False)
    at._lifted = lambda index: RegisterPass._lifted(at, index)
    choice = IndexSelect(IndexVar("c"), IndexVar("i"), IndexVar("j"))
    assert RegisterPass._lifted(at, choice) is None
    at._static = lambda _: True
    assert RegisterPass._lifted(at, choice) == choice


def test_permutations_that_need_no_registers_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = SimpleNamespace(steps=1)
    monkeypatch.setattr(registers, "find_permutation", lambda *_: found)
    index, loop = IndexVar("i"), SimpleNamespace(var="i")

    def permutation(count: int, expanded: Any, only_loops: bool = False) -> Any:
        at: Any = SimpleNamespace(
            _expanded_inside=lambda *_: expanded, _only_loops=lambda *_: only_loops, _lifted_inside=lambda *_: None,
            _pays=lambda *_: True, facts=SimpleNamespace(ranges={}),
        )  # fmt: skip
        return RegisterPass._permutation(at, index, loop, count, set())  # pyright: ignore[reportArgumentType]

    assert permutation(3, index) is found
    assert permutation(2, index) is None
    assert permutation(3, IndexConst(0)) is None
    assert permutation(3, index, only_loops=True) is None
