"""Helpers that the tests of the language share."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pytest

import warploom as wl
from warploom.core import Diagnostic, UserError
from warploom.ir import Kernel, kernel_text, parse_kernel, verify
from warploom.sketch import Sketch


def body(kernel: Kernel) -> str:
    """The text of the kernel's statements; checks that the kernel is well formed and that its text reads back."""
    verify(kernel)
    text = kernel_text(kernel)
    assert parse_kernel(text) == kernel
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith("def "))
    return dedent("\n".join(lines[start + 1 :])).strip()


def text(expected: str) -> str:
    return dedent(expected).strip()


def read(function: Callable[..., Any], **options: Any) -> Sketch:
    """`function` as a sketch of one warp, unless the options say otherwise."""
    return wl.sketch(**{"block": 32, **options})(function)


def problems(function: Callable[..., Any], **options: Any) -> tuple[Diagnostic, ...]:
    """Errors of `function` as a sketch."""
    with pytest.raises(UserError) as caught:
        read(function, **options)
    return caught.value.diagnostics


def problem(function: Callable[..., Any], **options: Any) -> Diagnostic:
    """The one thing that is wrong; it is located in a file that tests import and says how to fix it."""
    found = problems(function, **options)
    assert len(found) == 1, found
    assert found[0].span.line > 0, found
    assert found[0].fix.endswith("."), found
    return found[0]
