"""Kernels without a mistake in CUDA, PTX and Triton, their rules, and how many variants of one are compiled."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from warploom.core import UserError, find_tool
from warploom.gpu import compile_to_ptx
from warploom.ptx.simt import Argument
from warploom.tools.bench.lint.planting import ASYNCHRONOUS, CUDA, PTX, TRITON, Kernel, Launched, Rule, launched
from warploom.tools.lint.python_kernels import TritonKernel, constant
from warploom.tools.lint.sources import Compilation, Source
from warploom.tools.ptx.arguments import arguments, extents

_HERE = Path(__file__).parent
_COMPILATION = Compilation("sm_90")
_OF_TRITON = Compilation("sm_80")


@dataclass(frozen=True, slots=True)
class Built:
    """A variant of a kernel, ready to run."""

    source: Source
    name: str
    launches: tuple[tuple[Launched, Sequence[Argument], int], ...]
    """Each with the values of its arguments and the bytes of dynamic shared memory."""


Builder: TypeAlias = Callable[["Language", Kernel, Sequence[str]], Iterator[Built | None]]
"""The variants of a kernel with these texts; None for one that its compiler refuses."""


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    path: Path
    pattern: re.Pattern[str]
    """Pattern of a kernel in the file: its launches, its text and its name."""
    rules: tuple[Rule, ...]
    build: Builder
    is_followed: bool = True
    """Whether `--every-launch` is asked about its kernels."""

    def built(self) -> Iterator[tuple[Kernel, Built]]:
        """The kernels as they are."""
        if self.build is _cuda:
            source = _compiled(self, self.path.read_text(encoding="utf-8"))
            yield from ((kernel, _given(source, kernel.name, kernel)) for kernel in self.kernels())
            return
        for kernel in self.kernels():
            for one in self.build(self, kernel, [kernel.text]):
                assert one is not None, "a compiler refuses a kernel without a mistake"
                yield kernel, one

    def kernels(self) -> tuple[Kernel, ...]:
        text = self.path.read_text(encoding="utf-8")
        return tuple(
            Kernel(match[3], text.count("\n", 0, match.start(2)) + 1, match[2], _launches(match[1]))
            for match in self.pattern.finditer(text)
        )

    @property
    def head(self) -> str:
        """Text of the file before its first kernel, without lines of comments."""
        text = self.path.read_text(encoding="utf-8")
        first = self.pattern.search(text)
        assert first is not None
        return "".join(f"{line}\n" for line in text[: first.start()].splitlines() if not line.startswith(("//", "# ")))


def _launches(comment: str) -> tuple[Launched, ...]:
    return tuple(launched(line.lstrip("/# ")) for line in comment.splitlines())


def _given(source: Source, name: str, kernel: Kernel) -> Built:
    count = len(source.program.routines[name].parameters)
    return Built(source, name, tuple((one, arguments(one.arguments, count, kernel.name), 0) for one in kernel.launches))


def _compiled(language: Language, text: str) -> Source:
    """By NVRTC; headers are those of the package nvidia-cuda-cccl, beside the compiler."""
    folder = find_tool("ptxas").parent.parent / "include"
    options = ("-lineinfo", f"-I{folder}", f"-I{folder / 'cccl'}")
    ptx = compile_to_ptx(text, _COMPILATION.arch, name=language.path.name, options=options)
    return Source(language.path.name, _COMPILATION, ptx)


def _cuda(language: Language, kernel: Kernel, texts: Sequence[str]) -> Iterator[Built]:
    """All in one file; an UserError (CUDA_ERROR) is a fault of a rule."""
    named = [t.replace(f"KERNEL {kernel.name}(", f"KERNEL {kernel.name}__{n}(") for n, t in enumerate(texts)]
    parts = [f'#line {kernel.line} "{language.path.name}"\n{text}' for text in named]
    source = _compiled(language, language.head + "\n".join(parts))
    for n in range(len(texts)):
        yield _given(source, f"{kernel.name}__{n}", kernel)


def _ptx(language: Language, kernel: Kernel, texts: Sequence[str]) -> Iterator[Built]:
    for text in texts:
        head = language.head.rstrip()
        lines = "\n" * (kernel.line - 1 - head.count("\n"))
        source = Source(language.path.name, _COMPILATION, f"{head}{lines}{text}")
        yield _given(source, kernel.name, kernel)


def _triton(language: Language, kernel: Kernel, texts: Sequence[str]) -> Iterator[Built | None]:
    """UserError (TOOL_MISSING) without Triton."""
    (one,) = kernel.launches
    constants = dict(map(constant, one.constants))
    head = language.head.rstrip()
    known: Mapping[str, str] = dict(os.environ)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = str(Path(folder) / "cache")
        try:
            for n, text in enumerate(texts):
                file = Path(folder) / f"{language.path.stem}_{n}.py"
                file.write_text(head + "\n" * (kernel.line - 1 - head.count("\n")) + text, encoding="utf-8")
                triton = TritonKernel(f"{file}:{kernel.name}")
                values = arguments(one.arguments, len(triton.arguments), kernel.name)
                threads = extents(one.block, "block")[0]
                try:
                    made = triton.launchable(values, constants, _OF_TRITON, threads)
                except UserError:
                    yield None
                    continue
                yield Built(made.source, made.name, ((one, made.arguments(extents(one.grid, "grid")), made.shared_bytes),))
        finally:
            os.environ.pop("TRITON_CACHE_DIR")
            os.environ.update(known)


def _kernel(comment: str, begin: str, end: str) -> re.Pattern[str]:
    return re.compile(rf"^((?:{comment} \d.*\n)+)({begin}(?:.|\n)*?{end})", re.MULTILINE)


_CUDA_KERNEL = _kernel("//", r"KERNEL (\w+)", r"\n}\n")
_PTX_KERNEL = _kernel("//", r"\.visible \.entry (\w+)", r"\n}\n")
_TRITON_KERNEL = _kernel("#", r"@triton\.jit\ndef (\w+)", r"\n(?=\n\n|\Z)")
LANGUAGES = {
    one.name: one
    for one in (
        Language("async", _HERE / "seeds_async.ptx", _PTX_KERNEL, ASYNCHRONOUS, _ptx, is_followed=False),
        Language("cub", _HERE / "corpus_cub.cu", _CUDA_KERNEL, (), _cuda),
        Language("cuda", _HERE / "seeds.cu", _CUDA_KERNEL, CUDA, _cuda),
        Language("ptx", _HERE / "seeds.ptx", _PTX_KERNEL, PTX, _ptx),
        Language("users", _HERE / "corpus_users.cu", _CUDA_KERNEL, (), _cuda),
        Language("triton", _HERE / "seeds_triton.txt", _TRITON_KERNEL, TRITON, _triton),
    )
}  # fmt: skip
