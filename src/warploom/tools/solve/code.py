"""The kernel of a movement that was found: proved, printed, read back, written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from warploom.core import Diagnostic, UserError, to_numpy
from warploom.ir import run
from warploom.synth import Movement, complete, movement_sketch
from warploom.tools.command.files import write_text
from warploom.tools.command.lines import Line
from warploom.tools.synth.printed import print_checked


def write_kernel(movement: Movement, path: Path) -> Line:
    """Writes the CUDA C++; what is proved of it and what it costs, for a report line. UserError where it is not proved."""
    sketch = movement_sketch(movement)
    report = complete(sketch)
    if report.verdict != "proved":
        reason = report.reason or f"the kernel is {report.verdict}"
        raise UserError(Diagnostic("NOT_PRINTED", f"expected a kernel that is proved to do what was found, got: {reason}"))
    printed = print_checked(sketch.kernel, {})
    arrays = {n: np.zeros(e, to_numpy(sketch.kernel.params[0].dtype)) for n, e in movement.inputs.items()}
    counts = run(sketch.kernel, arrays, check_races=False).counts
    write_text(path, printed.source.text)
    return {
        "verdict": "proved", "domain": report.domain, "file": str(path), "shuffles": counts.shuffles,
        "global_sectors": counts.global_sectors, "counted": "interpreter", **printed.fields(),
    }  # fmt: skip
