"""Every ready program, sketch and baseline is, letter for letter, the one that was read and measured: what computes the same in
another way is another benchmark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from warploom.ir import kernel_text
from warploom.kernels import PROGRAM_NAMES, PUBLISHED, examples, find_program
from warploom.kernels.kernelgen import KERNELGEN, cuda_source

HERE = Path(__file__).parent


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def test_texts(golden: Callable[[Path, str], None]) -> None:
    lines = [f"program {name} {digest(find_program(name))}" for name in PROGRAM_NAMES]
    for name, example in examples().items():
        for what, sketch in (("sketch", example.sketch), ("baseline", example.baseline)):
            lines += [f"{what} {name} {digest(kernel_text(replace(sketch.kernel, file='')))}"]
    for name, stencil in KERNELGEN.items():
        lines += [f"stencil {name} {digest(cuda_source(stencil, 'guarded') + cuda_source(stencil, 'grid-stride'))}"]
    golden(HERE / "texts.txt", "\n".join(lines) + "\n")


def test_published_results(golden: Callable[[Path, str], None]) -> None:
    """As the authors' tables have them."""
    golden(HERE / "published.txt", "".join(f"{name} {published}\n" for name, published in PUBLISHED.items()))
