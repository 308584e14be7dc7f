"""The words for how a request ended and how sure its answer is; every report uses these and no others."""

from __future__ import annotations

from typing import Literal

Status = Literal["solved", "unsat", "unknown", "refused", "error"]
"""`unsat`: the whole space was exhausted or refuted. `unknown`: gave up. `refused`: the request itself is wrong."""
Verdict = Literal["proved", "tested", "unchecked", "refuted"]
