"""One kernel that was found, as a file (`.kernel`): its code, how it is called, and what was reported of it.

Three kinds: C of a CPU's kernels, CUDA of a GPU's, and a completed sketch as the text of its IR, which is printed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from warploom.core import Diagnostic, Span, UserError
from warploom.gpu import SketchCalls
from warploom.ir import Kernel, parse_kernel, verify
from warploom.ir import kernel_text as ir_text
from warploom.schedule.backbone import Program
from warploom.schedule.calls import (
    Calls,
    CompiledRunner,
    GpuCalls,
    pack,
    pack_cuda,
    pack_signature,
    unpack,
    unpack_cuda,
    unpack_signature,
)
from warploom.schedule.cuda import Options, cuda_kernel
from warploom.schedule.frontend import TensorFunction
from warploom.solve import Json
from warploom.tools.explore.code import arch_of
from warploom.tools.explore.options import KernelOptions
from warploom.tools.explore.result import Explored
from warploom.tools.kernels.store import file_text, read
from warploom.tools.synth.printed import print_checked

SUFFIX = ".kernel"


def kernel_text(function: TensorFunction, explored: Explored, options: KernelOptions, line: Mapping[str, object]) -> str:
    """The text of the file; `line` is the kernel's report. UserError and UnsupportedError as printing."""
    if options.target.kind == "cpu":
        code: dict[str, Json] = {"threads": options.threads, "stages": pack(explored.nests, explored.build)}
    else:
        arch = arch_of(options.target)
        code = {"cuda": pack_cuda([cuda_kernel(nest, Options(arch=arch)) for nest in explored.nests])}
    return file_text({
        "function": function.name,
        "signature": pack_signature(explored.program, function.tree.parameters, function.tree.places),
        **code,
        "line": dict(line),  # type: ignore[dict-item]
    })  # fmt: skip


def sketch_text(kernel: Kernel, line: Mapping[str, object]) -> str:
    """The text of the file of a completed sketch."""
    return file_text({"function": kernel.name, "sketch": ir_text(kernel), "line": dict(line)})  # type: ignore[dict-item]


def loaded(path: Path) -> tuple[Calls | GpuCalls | SketchCalls, Mapping[str, Json]]:
    """The kernel as a function, and its report. UserError (KERNEL_FILE) for a file that `kernel_text` and `sketch_text` did not
    make, or that was changed since. The file may be of another machine, since its code is compiled here."""
    kept = read(path, is_shipped=True)
    if kept.record is None:
        raise _refused(path, kept.reason)
    line = kept.record.get("line")
    if not isinstance(line, dict):
        raise _refused(path, "it lacks a report")
    if isinstance(sketch := kept.record.get("sketch"), str):
        return _sketch(path, sketch), line
    known, threads = unpack_signature(kept.record.get("signature")), kept.record.get("threads", 1)
    if known is None or type(threads) is not int or threads < 1:
        raise _refused(path, "it lacks what a call takes")
    program, signature = known
    whole = Program(program.name, (), program.arguments, program.parameters)
    if "cuda" in kept.record:
        launches = unpack_cuda(program, kept.record["cuda"])
        if launches is None:
            raise _refused(path, "it lacks kernels")
        return GpuCalls(signature, lambda _sizes, _arch: (whole, launches)), line
    kernels = unpack(program, kept.record.get("stages"))
    if kernels is None:
        raise _refused(path, "it lacks kernels")
    runner = CompiledRunner(whole, kernels, threads, "found")
    return Calls(signature, lambda _: runner), line


def _sketch(path: Path, text: str) -> SketchCalls:
    try:
        kernel = parse_kernel(text)
        verify(kernel)
    except UserError as error:
        raise _refused(path, f"its kernel is none: {error.diagnostics[0].message}") from None
    return SketchCalls(kernel, lambda: print_checked(kernel, {}, compiles=False).source)


def _refused(path: Path, why: str) -> UserError:
    message = f"expected a kernel that a result saved as {SUFFIX}, got {path}: {why}"
    fix = f"Write found.save('name{SUFFIX}') of an explored kernel or a completed sketch."
    return UserError(Diagnostic("KERNEL_FILE", message, Span(str(path), 1, 1, 1, 1), fix))
