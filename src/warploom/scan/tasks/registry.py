"""Tasks by name, and running one."""

from __future__ import annotations

import ast
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal

from warploom.core import Diagnostic, UnsupportedError, UserError
from warploom.scan.operators.checking import check
from warploom.scan.operators.lifting import lift
from warploom.scan.reading.binary import read_binary
from warploom.scan.reading.loop import read_loop
from warploom.scan.reading.running import user_function
from warploom.scan.reading.source import Module, read_module
from warploom.scan.tasks.definitions import DEFINITIONS
from warploom.scan.tasks.segmented import segmented_sum_operator

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """End of a task; `is_expected` says whether it is the expected one."""

    name: str
    status: Literal["solved", "unsat", "unknown", "refused", "error"]
    verdict: Literal["proved", "tested", "unchecked", "refuted"]
    is_expected: bool
    seconds: float
    """CPU."""
    domain: str = ""
    reason: str = ""
    cases: int = 0
    fields: Mapping[str, object] = field(default_factory=dict[str, object])


@cache
def loops_module() -> Module:
    return read_module(_HERE / "loops.py")


@cache
def accepted_module() -> Module:
    return read_module(_HERE / "accepted.py")


@cache
def refused_module() -> Module:
    return read_module(_HERE / "refused.py")


@cache
def _families() -> Mapping[str, Module]:
    """The module of each loop for which an operator exists: what it computes, how it is written, what others tried."""
    modules = [read_module(_HERE / f"{name}.py") for name in ("families", "written", "tried")]
    return {name: module for module in modules for name in _defined(module)}


@cache
def unbounded_module() -> Module:
    return read_module(_HERE / "unbounded.py")


def _defined(module: Module) -> list[str]:
    """Functions of the file's text, generators, too."""
    return [n.name for n in module.tree.body if isinstance(n, ast.FunctionDef) and not n.name.startswith("_")]


def _names() -> tuple[str, ...]:
    return (
        "table1/segmented-sum-operator",
        "table1/mss-operator",
        *(f"lift/{n}" for n in DEFINITIONS),
        *(f"refuse/{n}" for n in refused_module().functions),
        *(f"accept/{n}" for n in accepted_module().functions),
        *(f"families/{n}" for n in _families()),
        *(f"unbounded/{n}" for n in _defined(unbounded_module())),
    )


TASK_NAMES = _names()


def run_task(name: str) -> TaskRecord:
    """Raises UserError for an unknown name."""
    if name not in TASK_NAMES:
        raise UserError(Diagnostic("UNKNOWN_TASK", f"expected a task's name, got {name!r}", fix="Use one of TASK_NAMES."))
    group, _, called = name.partition("/")
    start = time.process_time()
    match group, called:
        case "table1", "segmented-sum-operator":
            return _segmented(name, start)
        case "table1", _:
            return _lifted(name, loops_module(), "max_segment_sum", start)
        case "lift", _:
            return _lifted(name, loops_module(), called, start)
        case "families", _:
            try:
                return _lifted(name, _families()[called], called, start)
            except UnsupportedError as error:
                reason = error.diagnostics[0].message
                return TaskRecord(name, "unknown", "unchecked", False, time.process_time() - start, reason=reason)
        case "unbounded", _:
            record = _lifted(name, unbounded_module(), called, start)
            return replace(record, is_expected=record.status == "unknown")
        case _:
            return _checked(name, group, called, start)


def _segmented(name: str, start: float) -> TaskRecord:
    result = segmented_sum_operator()
    solved = result.is_proved
    found: dict[str, object] = {
        "candidates": result.candidates,
        "solutions": list(result.solutions),
        "unique": len(result.solutions) == 1,
    }
    seconds = time.process_time() - start
    if solved:
        return TaskRecord(name, "solved", "proved", True, seconds, "integers", fields=found)
    return TaskRecord(name, "unknown", "unchecked", False, seconds, reason=f"{len(result.solutions)} completions", fields=found)


def _lifted(name: str, module: Module, called: str, start: float) -> TaskRecord:
    result = lift(read_loop(module, called), user_function(module, called))
    operator = result.operator
    found: dict[str, object] = {}
    if operator is not None:
        found = {
            **({"definition": DEFINITIONS[called][0]} if module is loops_module() else {}),
            "fields": len(operator.fields), "auxiliaries": list(operator.auxiliaries),
            "lift": operator.lift_source(), "operator": operator.operator_source(), "identity": operator.identity_source(),
            "projection": operator.projection_source(),
        }  # fmt: skip
    seconds = time.process_time() - start
    expected = result.verdict == "proved"
    return TaskRecord(name, result.status, result.verdict, expected, seconds, result.domain, result.reason, result.cases, found)


def _checked(name: str, group: str, called: str, start: float) -> TaskRecord:
    module = accepted_module() if group == "accept" else refused_module()
    result = check(read_binary(module, called), user_function(module, called))
    expected = result.status == ("solved" if group == "accept" else "refused")
    return TaskRecord(name, result.status, result.verdict, expected, time.process_time() - start, result.domain, result.reason)
