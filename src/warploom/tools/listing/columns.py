"""Many names in little space, for people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import wrap

WIDTH = 110


def listing(names: Iterable[str]) -> list[str]:
    """Lines of names by folder, those that differ in their last number together: `sf/l1/  1d-conv  trove-crc-{1,2,3}`."""
    folders: dict[str, dict[str, list[str]]] = {}
    for name in names:
        folder, _, rest = name.rpartition("/")
        parts = re.fullmatch(r"(.*-)(\d+)", rest)
        stem, number = (parts[1], parts[2]) if parts else (rest, "")
        folders.setdefault(folder, {}).setdefault(stem, []).append(number)
    lines: list[str] = []
    for folder, stems in folders.items():
        texts = [stem + (numbers[0] if len(numbers) == 1 else f"{{{','.join(numbers)}}}") for stem, numbers in stems.items()]
        head = f"{folder}/"
        lines += wrap("  ".join([head, *texts]), WIDTH, subsequent_indent=" " * (len(head) + 2), break_on_hyphens=False)
    return lines
