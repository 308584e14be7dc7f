"""One kernel that was found, as a file (`.kernel`): its C, how it is called, and what was reported of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from warploom.core import Diagnostic, Span, UserError
from warploom.schedule.backbone import Program
from warploom.schedule.calls import CompiledRunner, Signature, pack, pack_signature, unpack, unpack_signature
from warploom.schedule.frontend import TensorFunction
from warploom.solve import Json
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.result import Explored
from warploom.tools.kernels.store import file_text, read

SUFFIX = ".kernel"


def kernel_text(function: TensorFunction, explored: Explored, options: KernelOptions, line: Mapping[str, object]) -> str:
    """The text of the file; `line` is the kernel's report."""
    return file_text({
        "function": function.name,
        "threads": options.threads,
        "signature": pack_signature(explored.program, function.tree.parameters, function.tree.places),
        "stages": pack(explored.nests, explored.build),
        "line": dict(line),  # type: ignore[dict-item]
    })  # fmt: skip


def loaded(path: Path) -> tuple[Signature, CompiledRunner, Mapping[str, Json]]:
    """Signature of the kernel, its runner and the report. UserError (KERNEL_FILE) for a file that `kernel_text` did not make or
    that was changed since. The file may be of another machine, since its C is compiled here."""
    kept = read(path, is_shipped=True)
    if kept.record is None:
        raise _refused(path, kept.reason)
    known = unpack_signature(kept.record.get("signature"))
    threads, line = kept.record.get("threads"), kept.record.get("line")
    if known is None or type(threads) is not int or threads < 1 or not isinstance(line, dict):
        raise _refused(path, "it lacks what a call takes")
    program, signature = known
    kernels = unpack(program, kept.record.get("stages"))
    if kernels is None:
        raise _refused(path, "it lacks kernels")
    return (
        signature,
        CompiledRunner(Program(program.name, (), program.arguments, program.parameters), kernels, threads, "found"),
        line,
    )


def _refused(path: Path, why: str) -> UserError:
    message = f"expected a kernel that a result saved as {SUFFIX}, got {path}: {why}"
    fix = f"Write found.save('name{SUFFIX}') of an explored CPU kernel."
    return UserError(Diagnostic("KERNEL_FILE", message, Span(str(path), 1, 1, 1, 1), fix))
