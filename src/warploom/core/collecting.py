"""Python's collector of cycles, asked less often while many small objects are made that are in none."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

OBJECTS = 100_000
"""New ones before the collector looks at them; Python's own 700 make it half of the time of a proof that keeps its terms."""


@contextmanager
def rarely_collected() -> Generator[None]:
    """Collects garbage rarely during the work inside; what was set before holds again afterwards. A collector that is off stays
    off."""
    young, *older = gc.get_threshold()
    if young:
        gc.set_threshold(max(young, OBJECTS), *older)
    try:
        yield
    finally:
        gc.set_threshold(young, *older)
