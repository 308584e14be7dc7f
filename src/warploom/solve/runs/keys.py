"""Names of problems that change whenever the problem or this package's source does: keys of journals and caches."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

from warploom.solve.runs.jsonlines import Json


def problem_key(parts: Json) -> str:
    """64 hexadecimal digits; equal for equal parts (tuples as lists, mappings in any order) under the same source."""
    text = json.dumps([parts, source_digest()], sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def source_digest() -> str:
    """Digest of every file of this package, names included."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[2]
    for path in sorted(path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()
