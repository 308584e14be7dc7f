"""The runner shares syntax with the rest of `warploom.ptx`, and no semantics: it and the interpreter check each other."""

import ast
from pathlib import Path

import warploom.synth.compiled

SHARED = {
    "warploom.ptx": {
        "TYPE_BITS", "Program", "Routine", "Variable", "branch_targets", "flow_graph", "live_before", "liveness", "lower",
        "parse",
    },
    "warploom.ptx.instructions": {"destinations", "sources"},
}  # fmt: skip
"""A wrong liveness leaves registers undefined, which proves nothing; wrong ways to shared memory only cost time."""
SYNTAX = ("warploom.ptx.routine", "warploom.ptx.syntax")


def test_only_syntax_is_imported_from_ptx() -> None:
    for path in Path(warploom.synth.compiled.__path__[0]).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not any(a.name.startswith("warploom.ptx") for a in node.names), path
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("warploom.ptx") and node.module not in SYNTAX:
                assert {a.name for a in node.names} <= SHARED.get(node.module or "", set()), path
