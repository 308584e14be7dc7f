"""docs/ptx-instructions.md is what the tables say, docs/ptx.md shows what the commands print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from warploom.ptx.instructions import instruction_table
from warploom.ptx.simt import SUPPORTED
from warploom.ptx.symbolic import MODELLED
from warploom.ptx.syntax import parse
from warploom.tools.ptx.trace import trace_text

ROOT = Path(__file__).parents[2]
HEAD = """# PTX instructions

This table says how `warploom.ptx` treats the instructions of PTX ISA 9.1. `make golden` writes it from the code's tables. Every
instruction is parsed and printed, also those not listed. *interpreter* says whether, or for which forms, `warploom ptx run`
executes it. *symbolic* says whether the emulator models it exactly or as an uninterpreted function; if it is empty, the results
are unknown values.

"""


def test_the_table_of_instructions(golden: Callable[[Path, str], None]) -> None:
    golden(
        ROOT / "docs" / "ptx-instructions.md", f"{HEAD}{instruction_table({'interpreter': SUPPORTED, 'symbolic': MODELLED})}\n"
    )


def test_the_trace_in_the_document_is_the_example_s() -> None:
    path = ROOT / "examples" / "ptx" / "blur.ptx"
    trace = trace_text(parse(path.read_text(), "blur.ptx"))
    shown = "\n".join(trace.splitlines()[:4])
    assert shown in (ROOT / "docs" / "ptx.md").read_text()
