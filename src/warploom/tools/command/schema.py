"""The JSON schema of report lines: what every command keeps, in a form that other programs can check.

Fields are added, none is changed; `v` of a line names the version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from warploom.core import Status, Verdict
from warploom.tools.command.lines import COUNTED, SCHEMA

_NUMBER, _TEXT, _TEXTS = {"type": "number", "minimum": 0}, {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_COUNT = {"type": "integer", "minimum": 0}
_FIELDS: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "v": ({"const": SCHEMA}, "Version of this schema."),
    "case": (_TEXT, "What was asked: a sketch, a file, a name."),
    "status": (
        {"enum": list(get_args(Status))},
        "solved; unsat: the whole space was exhausted; unknown: gave up; refused: the request is wrong, with a witness; error.",
    ),
    "verdict": ({"enum": list(get_args(Verdict))}, "What is claimed of the answer."),
    "seconds": (_NUMBER, "CPU seconds of the process and its children, from reading the problem to the verdict."),
    "wall_s": (_NUMBER, "Seconds on the clock."),
    "peak_mb": (_NUMBER, "Most memory of the process."),
    "reason": (_TEXT, "Why the status is not solved; there whenever it is not."),
    "domain": (_TEXT, "Over what it is proved; there whenever the verdict is proved."),
    "cases": ({"type": ["integer", "null"], "minimum": 0}, "Inputs that were run; positive where the verdict is tested."),
    "holes": (
        {"type": ["object", "integer"], "additionalProperties": {"type": ["string", "number", "boolean"]}},
        "By name of the hole: its expression in the sketch's own variables, or its value in a template. Of `list`: how many.",
    ),
    "objective": (_TEXTS, "What was minimised, in this order."),
    "optimal_in": ({"enum": [1, 2, 3, None]}, "Largest space in which the answer is proved optimal."),
    "space": ({"enum": [1, 2, 3, None]}, "Search space of the answer."),
    "accumulates": ({"type": ["integer", "null"], "minimum": 0}, "Accumulate statements in an iteration of their loop."),
    "executed": ({"type": ["integer", "null"], "minimum": 0}, "Accumulates that a thread executes."),
    "counted": ({"enum": [*COUNTED, None]}, "Where counts come from; there whenever a line has one. null: it has none."),
    "arch": (_TEXT, "Architecture, such as sm_90."),
    "registers": (_COUNT, "Registers of a thread."),
    "local_bytes": (_COUNT, "Local memory of a thread."),
    "spill_bytes": (_COUNT, "Spill stores and loads of a thread."),
}  # fmt: skip


def schema() -> dict[str, Any]:
    """JSON Schema, draft 2020-12."""
    rules = [
        _when({"status": {"not": {"const": "solved"}}}, ["reason"]),
        _when({"verdict": {"const": "proved"}}, ["domain"], status={"not": {"const": "error"}}, domain={"minLength": 1}),
        _when({"verdict": {"const": "tested"}}, ["cases"], cases={"type": "integer", "minimum": 1}),
        _when({"status": {"const": "refused"}}, [], verdict={"enum": ["refuted", "unchecked"]}),
        {
            "if": {"required": ["optimal_in"], "properties": {"optimal_in": {"type": "integer"}}},
            "then": {"required": ["objective"]},
        },
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"A report line of Warploom, version {SCHEMA}",
        "type": "object",
        "required": ["v", "case", "status", "verdict", "seconds", "wall_s", "peak_mb"],
        "properties": {name: {**kind, "description": text} for name, (kind, text) in _FIELDS.items()},
        "allOf": rules,
    }


def _when(condition: Mapping[str, Any], needed: list[str], **properties: Mapping[str, Any]) -> dict[str, Any]:
    """Part of the schema: fields that a line needs, and their types, where it fits the condition."""
    return {"if": {"properties": dict(condition)}, "then": {"required": needed, "properties": dict(properties)}}
