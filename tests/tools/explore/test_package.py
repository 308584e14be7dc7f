"""The folder of `explore --code DIR`: its Python module and its PyTorch operator give the function's results."""

# ruff: noqa: F821 (indices and sizes are names of the language)
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import warploom as wl
from warploom import f32, f64, i32
from warploom.core import UserError
from warploom.core.compiler import find_compiler
from warploom.schedule.cpu import plain_nest
from warploom.schedule.frontend import TensorFunction
from warploom.schedule.targets import target
from warploom.tools.cli import cli
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.package import package_of, write_package

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="no C compiler")


@wl.tensor
def gamma(by: f32, X: f32["m", "n"], mean: wl.temp[f32["m"]], Y: wl.out[f32["m", "n"]], top: wl.out[f32["m"]], shift: f64):
    mean[i] = sum(X[i, k], over=k) / n
    Y[i, j] = (X[i, j] - mean[i]) * by
    top[i] = max(X[i, k], over=k) + f32(shift)


@wl.tensor
def counted(threads: i32["n"], double: i32, y0: wl.out[i32["n"]]):
    y0[i] = threads[i] * double


def written(function: TensorFunction, sizes: dict[str, int], folder: Path) -> list[Path]:
    program = function.program(sizes)
    options = KernelOptions(target=target("cpu"), threads=2)
    return write_package(folder, program, [plain_nest(s) for s in program.stages], sizes, options)


def module(path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(path.parent))
    made = importlib.util.spec_from_file_location(path.stem, path)
    assert made is not None and made.loader is not None
    found = importlib.util.module_from_spec(made)
    monkeypatch.setitem(sys.modules, path.stem, found)
    made.loader.exec_module(found)
    return found


@pytest.mark.parametrize("name", ["sum", "isinstance", "build", "np", "_run", "copy", "torch"])
def test_a_function_named_like_what_python_has(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its module still has what it uses, and hides no other module from whoever has the folder on the path."""
    function = TensorFunction(replace(counted.tree, name=name))
    path = next(p for p in written(function, {"n": 3}, tmp_path / "p") if p.suffix == ".py")
    assert path.stem == f"{name}_2"
    given = np.arange(3, dtype=np.int32)
    np.testing.assert_array_equal(getattr(module(path, monkeypatch), path.stem)(given, 2), 2 * given)


X = np.random.default_rng(0).random((3, 20)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("package") / "made"
    assert [p.name for p in written(gamma, {"m": 3, "n": 20}, place)] == [
        "gamma_2.c",
        "gamma_2.h",
        "gamma_2.py",
        "gamma_2_torch.py",
    ]
    return place


def check(Y: Any, top: Any) -> None:
    np.testing.assert_allclose(Y, 2 * (X - X.mean(axis=1, keepdims=True)), atol=1e-6)
    np.testing.assert_array_equal(top, X.max(axis=1) + 1)


def test_the_python_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    call = module(folder / "gamma_2.py", monkeypatch).gamma_2
    check(*call(2.0, X, 1.0))
    check(*call(2, np.asfortranarray(X), 1, threads=1))
    Y, top = np.zeros_like(X), np.zeros(3, np.float32)
    given = call(2.0, X, 1.0, Y=Y, top=top)
    assert given[0] is Y and given[1] is top
    check(Y, top)
    for wrong in ({"Y": X}, {"Y": np.asfortranarray(Y)}, {"top": Y[0, :3], "Y": Y}, {"Y": Y[:2]}, {"top": top.astype("f8")}):
        with pytest.raises((TypeError, ValueError), match="expected"):
            call(2.0, X, 1.0, **wrong)
    with pytest.raises(TypeError, match="expected X"):
        call(2.0, X[:2], 1.0)


def test_names_that_c_or_python_would_take_amiss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(counted, {"n": 4}, tmp_path)
    call = module(tmp_path / "counted.py", monkeypatch).counted
    numbers = np.array([2**30, -5, 7, 0], np.int32)
    np.testing.assert_array_equal(call(numbers, 3, thread_count=1), numbers * np.int32(3))


def test_the_header_serves_c_and_cpp(folder: Path) -> None:
    main = '#include "gamma_2.h"\nint main(void) { return gamma_2(1, 0, 0, 0, 1, 1) != 0 && 0; }\n'
    command = find_compiler()
    assert command is not None
    for language in ("c", "c++"):
        check_only = [*command.command, "-fsyntax-only", "-Wall", "-Werror", "-I", str(folder), "-x", language, "-"]
        subprocess.run(check_only, input=main, text=True, check=True, timeout=60)


class Tensor:
    """As much of PyTorch's as the operator uses."""

    def __init__(self, array: np.ndarray) -> None:
        self.array, self.dtype, self.shape, self.device = array, array.dtype.name, array.shape, "cpu"

    def contiguous(self) -> "Tensor":
        return Tensor(np.ascontiguousarray(self.array))

    def numpy(self) -> np.ndarray:
        return self.array


def fake_torch(asked: list[Any]) -> ModuleType:
    def custom_op(name: str, **more: Any) -> Callable[[Any], Any]:
        asked.append((name, more))

        def made(function: Any) -> Any:
            function.register_fake = asked.append
            return function

        return made

    found = ModuleType("torch")
    found.__dict__.update(Tensor=Tensor, float32="float32", library=SimpleNamespace(custom_op=custom_op))
    found.__dict__["empty"] = lambda shape, dtype, device: Tensor(np.full(shape, np.nan, dtype))
    return found


def test_the_operator_on_a_stand_in_for_pytorch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setitem(sys.modules, "torch", fake_torch(asked))
    module(folder / "gamma_2.py", monkeypatch)
    operator = module(folder / "gamma_2_torch.py", monkeypatch).gamma_2
    check(*(t.array for t in operator(2.0, Tensor(X), 1.0)))
    assert asked[0] == ("warploom::gamma_2", {"mutates_args": (), "device_types": "cpu"})
    assert [t.shape for t in asked[1](2.0, Tensor(X), 1.0)] == [(3, 20), (3,)]
    with pytest.raises(TypeError, match="expected X"):
        operator(2.0, Tensor(X[:2]), 1.0)


def test_folders_that_are_refused(tmp_path: Path) -> None:
    program = gamma.program({"m": 2, "n": 2})
    with pytest.raises(UserError, match="expected a CPU"):
        package_of(program, [], {}, KernelOptions(target=target("sm_90")))
    (tmp_path / "file").write_text("")
    for arguments, told in (
        (("axpy", "--target", "sm_90", "--code", f"{tmp_path}/"), "expected a file for the CUDA"),
        (("conv1d-3", "--code", f"{tmp_path}"), "got a sketch"),
        (("axpy", "--size", "n=?", "--code", f"{tmp_path}/made/"), "expected known sizes for files that are called, got n"),
        (("axpy", "--code", f"{tmp_path}/none/more/"), "NOT_WRITTEN"),
        (("axpy", "--code", f"{tmp_path}/file/"), "NOT_WRITTEN"),
        (("axpy", "--code", f"{tmp_path}/none/a.c"), "NOT_WRITTEN"),
    ):
        result = CliRunner().invoke(cli, ["explore", *arguments, "--json"])
        assert result.exit_code == 2 and told in result.output
