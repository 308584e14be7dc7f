"""Every test here runs as a kernel does: inside `quiet()`."""

from collections.abc import Iterator

import pytest

from warploom.ptx.simt.numerics import quiet


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    with quiet():
        yield
