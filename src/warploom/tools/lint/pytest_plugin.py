"""The pytest plugin `warploom`: the fixture `warploom_launch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from warploom.tools.lint.checked import Checked


@pytest.fixture(scope="session")
def warploom_launch() -> Callable[..., Checked]:
    """`warploom_launch(source, grid, block, *arguments)` runs a kernel (CUDA, PTX, Triton) on NumPy arrays, without a GPU.

    The test fails with each race, fault, or read of what nobody wrote, on the line of the kernel's source; the arrays are changed
    in place. Options: see `warploom.tools.lint.checked.launch_checked`.
    """
    from warploom.tools.lint.checked import launch_checked

    return launch_checked
