"""The texts that a completed sketch can be written as, by the suffix of the file: kernel, CUDA C++, PTX, page, picture."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Literal, TypeAlias

from warploom.core import Diagnostic, UserError
from warploom.gpu import Listings, cuda_listing, machine_listings
from warploom.ir import kernel_text
from warploom.synth import Report
from warploom.tools.pages.page import kernel_page, kernel_picture
from warploom.tools.synth.printed import Printed
from warploom.tools.synth.targets import Target

Suffix: TypeAlias = Literal[".ir", ".cu", ".ptx", ".html", ".svg"]
SUFFIXES: tuple[Suffix, ...] = (".ir", ".cu", ".ptx", ".html", ".svg")
KEPT_SUFFIXES: Mapping[str, Suffix] = {"ir": ".ir", "cuda": ".cu", "ptx": ".ptx"}
"""Suffix of what `--keep` writes."""


def form_text(suffix: Suffix, target: Target, report: Report, line: Mapping[str, object], printed: Printed) -> str:
    """Text of a completed sketch in the form of the suffix. UserError: NO_COMPILER for PTX without NVIDIA's tools, or the page's
    own."""
    match suffix:
        case ".ir":
            assert report.kernel is not None, "a report with a completion has its kernel"
            return kernel_text(report.kernel) + "\n"
        case ".cu":
            return printed.source.text
        case ".ptx":
            if printed.compiled is None:
                message = f"expected NVIDIA's compiler to write {target.case} as PTX, found none"
                raise UserError(Diagnostic("NO_COMPILER", message, fix="Install it: pip install 'warploom[cuda]'."))
            return printed.compiled.ptx
        case ".html":
            return kernel_page(target, report, line, _listings(printed))
        case ".svg":
            return kernel_picture(target, report)


def _listings(printed: Printed) -> Listings:
    """With PTX and machine code where the kernel was compiled, and nvdisasm is there."""
    if printed.compiled is not None:
        with suppress(UserError):
            return machine_listings(printed.source, printed.compiled.arch)
    return cuda_listing(printed.source)
