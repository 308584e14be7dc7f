"""Goes into the copy of the source: every planted bug asks here whether it is the one that is on, and is noted as reached.

Standard library only, since it is imported by every process of the copy, also by those that tests start.
"""

from __future__ import annotations

import os
from typing import TextIO

active = int(os.environ.get("WARPLOOM_BUG", "-1"))
_folder = os.environ.get("WARPLOOM_REACHED", "")
_seen: set[tuple[str, int]] = set()
_files: dict[int, TextIO] = {}


def on(bug: int) -> bool:
    """Whether this bug is planted now; called where it would show."""
    if _folder:
        pair = (os.environ.get("PYTEST_CURRENT_TEST", ""), bug)
        if pair not in _seen:
            _seen.add(pair)
            own = os.getpid()
            if own not in _files:
                _files[own] = open(os.path.join(_folder, f"{own}.txt"), "a", buffering=1)  # noqa: SIM115
            _files[own].write(f"{bug}\t{pair[0]}\n")
    return bug == active
