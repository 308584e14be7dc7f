"""The pytest plugin `warploom`: the fixture `warploom_launch`, the mark `warploom`, and all launches under `WARPLOOM_RUN=1`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from warploom.tools.lint.checked import Checked

_MARK = "warploom: launches of Triton's and Numba's kernels in this test run in Warploom's interpreter, without a GPU."


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    if os.environ.get("WARPLOOM_RUN") == "1":
        from warploom.tools.lint.drop_in import activate

        activate()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, None, None]:
    """A marked test runs with the launches replaced."""
    if item.get_closest_marker("warploom") is None:
        yield
        return
    from warploom.tools.lint.drop_in import activated

    with activated():
        yield


@pytest.fixture(scope="session")
def warploom_launch() -> Callable[..., Checked]:
    """`warploom_launch(source, grid, block, *arguments)` runs a kernel (CUDA, PTX, Triton, Numba, CuPy) on NumPy arrays, without
    a GPU.

    The test fails with each race, fault, or read of what nobody wrote, on the line of the kernel's source; the arrays are changed
    in place. Options: see `warploom.tools.lint.checked.launch_checked`.
    """
    from warploom.tools.lint.checked import launch_checked

    return launch_checked
