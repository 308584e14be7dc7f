"""Inputs of front ends, and how Python files and JSON are changed.

User files are run by Warploom, so nothing is put into them but tokens of the same texts, numbers and brackets; what stands in
them imports `warploom` and `math` alone, and `changed_python` refuses any text with a word that could do more.
"""

from __future__ import annotations

import ast
import json
import random
import re
from dataclasses import dataclass
from pathlib import Path

from benchmarks.fuzz.changes import Vocabulary, changed

ROOT = Path(__file__).resolve().parents[2]
BUDGETS_S = (0.01, 0.02, 0.02, 0.05, 0.05, 0.25)
"""CPU seconds that a command is given: a budget may be spent anywhere, and most that go wrong do so before long."""
BUDGET = "BUDGET"
"""Stands in a command line for one of them."""
JSON = ["--json", "--budget", BUDGET, "--memory", "800M"]
_HARMFUL = re.compile(
    r"\b(?:import|exec|eval|open|os|sys|subprocess|shutil|input|compile|globals|breakpoint|exit|quit)\b|__\w+__"
)


@dataclass(frozen=True)
class Given:
    """One input: files by name, and the command line, in the folder of the files."""

    files: dict[str, str]
    argv: list[str]
    budget_s: float = max(BUDGETS_S)
    """The budget that `argv` gives."""

    def shown(self) -> str:
        texts = [f"--- {name}\n{text}" for name, text in self.files.items()]
        return "\n".join([" ".join(["warploom", *self.argv]), *texts])


@dataclass(frozen=True)
class PythonText:
    header: str
    """Never changed: what is imported."""
    body: str
    name: str


def changed_python(source: PythonText, rng: random.Random, words: Vocabulary) -> str:
    """The text of a file whose body is changed; nine in ten are Python."""
    is_any = rng.random() < 0.1
    for _ in range(20):
        body = changed(source.body, rng, words)
        if not _HARMFUL.search(body) and (is_any or _is_python(body)):
            return source.header + body
    return source.header + source.body


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def functions_of(path: Path, header: str) -> list[PythonText]:
    text = path.read_text(encoding="utf-8")
    found: list[PythonText] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and not node.decorator_list:
            body = ast.get_source_segment(text, node) or ""
            if not _HARMFUL.search(body):
                found.append(PythonText(header, body + "\n", node.name))
    return found


_VALUES = (None, True, 0, -1, 10**30, 1.5, "", "x", [], [[]], {}, {"": None}, "7" * 5000, [1] * 50)


def changed_value(value: object, rng: random.Random) -> object:
    """A value of JSON with one part exchanged."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        found = dict(value)
        key = rng.choice(sorted(found))
        match rng.randrange(4):
            case 0:
                del found[key]
            case 1:
                found[rng.choice(("", "x", "key", "value", key + " ", "\ud800"))] = found.pop(key)
            case _:
                found[key] = changed_value(found[key], rng)
        return found
    if isinstance(value, list) and value and rng.random() < 0.7:
        place = rng.randrange(len(value))
        return [changed_value(v, rng) if n == place else v for n, v in enumerate(value)]
    return rng.choice(_VALUES)


def changed_json(value: object, rng: random.Random, words: Vocabulary) -> str:
    text = json.dumps(changed_value(value, rng))
    if rng.random() < 0.3:
        text = changed(text, rng, words)
    if rng.random() < 0.05:
        text = rng.choice(("[" * 100_000, '{"a":' * 5000, "NaN", "1" * 6000, "\ufeff{}", "null", '{"a": 1e999}'))
    return text
