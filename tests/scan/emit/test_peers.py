"""Modules and functors for other tools, compiled by them where they are installed."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from warploom import scan
from warploom.core import UserError
from warploom.gpu import toolchain_available
from warploom.scan.emit import Comparison, Types, emit, imported, peers, program, source_of
from warploom.scan.emit.peers import NotInstalledError, try_cub, try_numba, try_numpy, try_triton
from warploom.scan.tasks import loops_module

NAMES = ("max_segment_sum", "is_sorted", "poly", "longest_even_zeros")


def operator(name: str) -> scan.Operator:
    found = scan.lift(scan.read_loop(loops_module(), name)).operator
    assert found is not None
    return found


@pytest.mark.parametrize("name", [*NAMES, "total", "average", "hamming"])
def test_numpy(name: str) -> None:
    found = try_numpy(operator(name))
    assert found.cases and not found.mismatch


def test_numpy_of_an_empty_list() -> None:
    with imported(source_of(operator("maximum"), "numpy")) as module:
        assert module.maximum([]) == -float("inf")
        assert module.maximum([3, 5, 4]) == 5


@pytest.mark.parametrize("name", NAMES[:2])
@pytest.mark.parametrize("trial", [try_numba, try_triton, try_cub])
def test_compilers(name: str, trial: Callable[[scan.Operator], Comparison]) -> None:
    if trial is try_cub and not toolchain_available():
        pytest.skip("needs the CUDA tools (extra cuda)")
    try:
        found = trial(operator(name))
    except NotInstalledError as error:
        pytest.skip(f"{error} is not installed")
    assert found.cases and not found.mismatch


def last_positive() -> scan.Operator:
    """An operator whose operands must be in order."""
    text = "def f(xs: list[int]):\n    s = 0\n    for x in xs: s = x if x > 0 else s\n    return s\n"
    found = scan.lift(scan.read_loop(scan.parse_module(text), "f")).operator
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("_last = n - 1", "_last = n - 2"),
        pytest.param("_lane == STEP - 1", "_lane == 0", marks=pytest.mark.slow),
        pytest.param("_before = _block - 1", "_before = _block", marks=pytest.mark.slow),
        pytest.param("mask=_lane == BLOCK - 1", "mask=_lane == 0", marks=pytest.mark.slow),
        pytest.param(r"_block \* BLOCK \+ _lane", "_lane", marks=pytest.mark.slow),
        pytest.param(r"combine\((b_.*), (v_.*)\)", r"combine(\2, \1)", marks=pytest.mark.slow),
        pytest.param(r"range\(0, n, STEP\)", "range(0, n, 2 * STEP)", marks=pytest.mark.slow),
    ],
)
def test_a_mistake_in_the_kernels_for_whole_arrays_is_found(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    found = operator("total") if "combine" not in old else last_positive()
    source = peers.triton_source(found)
    wrong = re.sub(old, new, source)
    assert wrong != source
    monkeypatch.setattr(peers, "triton_source", lambda *_: wrong)
    try:
        assert "_array of " in try_triton(found).mismatch
    except RuntimeError as error:
        assert "uninitialised" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("t == cuda.blockDim.x - 1", "t == 0"),
        (r"cuda.blockIdx.x - 1\]", "cuda.blockIdx.x]"),
        (r"combine\(_before, v\)", "combine(v, _before)"),
        (r"combine\(_before, v\)", "v"),
        (r"\[n - 1\]", "[0]"),
    ],
)
def test_a_mistake_in_numbas_kernels_for_whole_arrays_is_found(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba.cuda")
    found = operator("total") if new != "combine(v, _before)" else last_positive()
    source = peers.numba_source(found)
    wrong = re.sub(old, new, source)
    assert wrong != source
    monkeypatch.setattr(peers, "numba_source", lambda *_: wrong)
    try:
        assert "_array of " in try_numba(found).mismatch
    except RuntimeError as error:
        assert "uninitialised" in str(error)


@pytest.mark.parametrize(("target", "package"), [("triton", "triton"), ("numba", "numba.cuda")])
def test_an_empty_list_that_the_loop_refuses_has_no_result(target: program.Target, package: str) -> None:
    pytest.importorskip(package)
    text = "def f(xs: list[int]):\n    s = xs[0]\n    for x in xs[1:]: s = max(s, x)\n    return s\n"
    found = scan.lift(scan.read_loop(scan.parse_module(text), "f")).operator
    assert found is not None and found.loop.needs_element
    with imported(source_of(found, target)) as module, pytest.raises(ValueError, match="expected at least one element"):
        module.reduce_array([])


def _from(tmp_path: Path, body: str) -> scan.Lifting:
    file = tmp_path / "loop.py"
    file.write_text(f"def f(xs: list[int]):\n{body}    return t\n")
    return scan.lift(scan.read_loop(scan.read_module(file), "f"))


def test_constants_beyond_the_type_are_refused(tmp_path: Path) -> None:
    found = _from(tmp_path, "    t = 3000000000\n    for x in xs:\n        t = t + x\n")
    assert found.operator is not None
    for target in ("cuda", "cub", "triton", "numba"):
        with pytest.raises(UserError, match="the constant 3000000000, which int32 does not hold"):
            source_of(found.operator, target)
        assert source_of(found.operator, target, Types("int64"))
    assert emit(found, "numpy").verdict != "refuted"


@pytest.mark.parametrize("sign", ["%", "//"])
def test_divisors_beyond_64_bits_are_refused(tmp_path: Path, sign: str) -> None:
    """C would cut 2**70 to 0, and end the process of a caller of `wl.scanned` by dividing by it."""
    found = _from(tmp_path, f"    t = 0\n    for x in xs:\n        t = max(t, x {sign} {2**70})\n")
    assert found.operator is not None
    for target in ("cuda", "numpy"):
        with pytest.raises(UserError, match=f"the constant {2**70}"):
            source_of(found.operator, target, Types("int64"))


def test_an_operator_that_carries_nothing_is_refused(tmp_path: Path) -> None:
    found = _from(tmp_path, "    t = 7\n    for x in xs:\n        t = 5\n")
    if found.operator is None or found.operator.fields:
        found = _from(tmp_path, "    t = 1.5e400\n    for x in xs:\n        t = t + 1\n")
    assert found.operator is not None and not found.operator.fields
    for target in ("cuda", "numba", "numpy"):
        with pytest.raises(UserError, match="an operator that carries nothing"):
            source_of(found.operator, target)


def test_nothing_compared_is_not_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "try_numpy", lambda *_: Comparison(0))
    found = emit(scan.lift(scan.read_loop(loops_module(), "total")), "numpy")
    assert (found.verdict, found.reason) == (
        "unchecked",
        "no list was found on which it and the loop can be compared",
    )


def test_compilers_that_are_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    total = operator("total")
    monkeypatch.setattr(peers, "find_tool", lambda _: tmp_path / "bin" / "ptxas")
    with pytest.raises(NotInstalledError, match="nvidia-cuda-cccl"):
        try_cub(total)
    monkeypatch.setattr(program, "toolchain_available", lambda: False)
    for target in ("cuda", "cub"):
        found = emit(scan.lift(scan.read_loop(loops_module(), "total")), target)
        assert (found.verdict, found.reason) == ("unchecked", "warploom[cuda] is not installed (pip install 'warploom[cuda]')")


WRONG = Comparison(3, "s of 2 elements is 1, expected 2")


@pytest.mark.parametrize(
    ("step", "outcome", "verdict", "reason"),
    [
        ("s + x", Comparison(3), "tested", ""),
        ("s + x", WRONG, "refuted", WRONG.mismatch),
        ("s + 0.5 * x", WRONG, "unchecked", f"{WRONG.mismatch}; floats round, which may explain it"),
        ("max(s, x)", WRONG, "refuted", WRONG.mismatch),
        ("s + x", NotInstalledError("numba"), "unchecked", "numba is not installed (pip install 'numba')"),
        ("s + x", RuntimeError("scan_block: stuck"), "refuted", "scan_block: stuck"),
    ],
)
def test_what_the_comparison_says_is_the_verdict(
    step: str, outcome: Comparison | Exception, verdict: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    def tried(*_: object) -> Comparison:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(program, "_tried", tried)
    kind = "float" if "." in step or "max" in step else "int"
    text = f"def f(xs: list[{kind}]):\n    s = 0\n    for x in xs: s = {step}\n    return s\n"
    found = emit(scan.lift(scan.read_loop(scan.parse_module(text), "f")), "numba")
    assert (found.verdict, found.reason) == (verdict, reason)
