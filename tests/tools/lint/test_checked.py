"""The fixture `warploom_launch` of the pytest plugin, and the example project that uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from warploom.core import UserError
from warploom.gpu import toolchain_available
from warploom.tools.lint import pytest_plugin as plugin_module
from warploom.tools.lint.checked import Checked, KernelError, launch_checked

PTX = Path(__file__).parent / "kernels.ptx"
EXAMPLE = Path(__file__).parents[3] / "examples" / "ci"


def arrays(count: int = 64) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(count, np.float32), np.arange(count, dtype=np.float32)


def test_arrays_are_changed_in_place() -> None:
    out, data = arrays()
    found = launch_checked(PTX, 1, 64, out, data, kernel="missing_barrier_clean")
    assert isinstance(found, Checked) and found.warnings == ()
    assert out.tolist() == data[::-1].tolist() and found.counts.barriers == 2


def test_a_mistake_fails_the_test_with_its_lines() -> None:
    with pytest.raises(KernelError, match=r"kernels.cu:\d+:\d+: error\[WL001 data-race\]") as caught:
        launch_checked(PTX, 1, 64, *arrays(), kernel="missing_barrier")
    assert isinstance(caught.value, AssertionError) and [f.rule.id for f in caught.value.findings] == ["WL001"]
    with pytest.raises(KernelError, match="WL002"):
        launch_checked(PTX, 2, 64, *arrays(100), 100, kernel="missing_guard")


def test_warnings_are_told_and_fail_where_asked_to() -> None:
    found = launch_checked(PTX, 1, (32, 32), *arrays(1024), kernel="unpadded")
    assert [f.rule.name for f in found.warnings] == ["bank-conflict"]
    with pytest.raises(KernelError, match="bank-conflict"):
        launch_checked(PTX, 1, (32, 32), *arrays(1024), kernel="unpadded", strict=True)


def test_triton(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    from tests.tools.lint.triton_kernels import add, unmasked

    (out, x), y = arrays(1000), np.ones(1000, np.float32)
    launch_checked(add, 8, 64, out, x, y, np.int32(1000), constants={"BLOCK": 128})
    assert out.tolist() == (x + 1).tolist()
    with pytest.raises(KernelError, match="WL002"):
        launch_checked(unmasked, 8, 64, out, x, y, np.int32(1000), constants={"BLOCK": 128})
    with pytest.raises(UserError, match="expected blocks of 32 times num_warps"):
        launch_checked(add, 8, 48, out, x, y, np.int32(1000), constants={"BLOCK": 128})
    with pytest.raises(UserError, match="expected 4 arguments for add"):
        launch_checked(add, 8, 64, out, x, constants={"BLOCK": 128})


def test_bad_sources() -> None:
    with pytest.raises(UserError, match="got int"):
        launch_checked(3, 1, 1)
    with pytest.raises(UserError, match="expected constants for a Triton kernel alone"):
        launch_checked(PTX, 1, 1, constants={"A": 1})


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra cuda")
def test_the_example_project() -> None:
    # Without the plugins of the machine; among these is this one, where the package is installed.
    plugin = ("-p", "warploom.tools.lint.pytest_plugin", "-p", "no:cacheprovider", "-o", "addopts=")
    command = [sys.executable, "-P", "-m", "pytest", *plugin, str(EXAMPLE)]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    assert done.returncode == 0 and "......" in done.stdout, done.stdout + done.stderr


def test_the_package_has_the_plugin() -> None:
    with (EXAMPLE.parents[1] / "pyproject.toml").open("rb") as file:
        plugins = tomllib.load(file)["project"]["entry-points"]["pytest11"]
    assert plugins == {"warploom": plugin_module.__name__}
