"""The target of `warploom explore`: a kernel of the library, a sketch, or a function of a file."""

from __future__ import annotations

import difflib
from typing import TypeAlias

from warploom.core import Diagnostic, Span, UserError, require_file
from warploom.kernels import NAMES, find, is_example
from warploom.kernels.tensors import TENSOR_KERNELS, TensorKernel
from warploom.kernels.tunables import is_tunable, tunable_sketch
from warploom.schedule.frontend import TensorFunction, run_file
from warploom.schedule.recurrences import RunningHolder
from warploom.schedule.sketches import TunableSketch
from warploom.tools.synth.best import families_among

Explored: TypeAlias = TensorKernel | TensorFunction | TunableSketch | RunningHolder


def explored(text: str) -> Explored:
    """The kernel called `text`, or the only one or the named one of `FILE.py[:FUNC]`; UserError says what was expected."""
    if text in TENSOR_KERNELS:
        return TENSOR_KERNELS[text]
    if is_tunable(text):
        return tunable_sketch(text)
    if is_example(text):
        return TunableSketch.of(find(text).sketch)
    file, colon, name = text.rpartition(":")
    if text.endswith(".py") or not colon:
        file, name = text, ""
    if file.endswith(".py"):
        return _of_file(file, name or None)
    close = difflib.get_close_matches(text, [*TENSOR_KERNELS, *NAMES], 3)
    fix = f"Did you mean {' or '.join(close)}?" if close else f"Use one of {', '.join(TENSOR_KERNELS)}, or FILE.py:FUNC."
    raise UserError(Diagnostic("UNKNOWN_KERNEL", f"expected a kernel, a sketch or FILE.py:FUNC, got {text!r}", fix=fix))


def _of_file(path: str, name: str | None) -> Explored:
    """Sketches and families are looked for first; a file without any is one of tensor functions."""
    require_file(path)
    file = run_file(path)
    families = families_among(file.variables)
    if name is not None and name in families:
        return families[name]
    if name is None and len(families) == 1 and not file.has_tensors:
        return next(iter(families.values()))
    running = {v: f for v, f in file.variables.items() if isinstance(f, RunningHolder)}
    asked = next((f for v, f in running.items() if name in (v, f.name)), None)
    if asked is not None:
        return asked
    if running and not file.has_tensors:
        names = list(dict.fromkeys(f.name for f in running.values()))
        if name is None and len(names) == 1:
            return next(iter(running.values()))
        known, code = ", ".join(names), "SEVERAL_KERNELS" if name is None else "UNKNOWN_TENSOR"
        message = f"expected {'one' if name is None else 'a'} function of {path} to explore, got {name or known}"
        raise UserError(Diagnostic(code, message, Span(path, 1, 1, 1, 1), f"Name one of {known}, such as {path}:{names[0]}."))
    tensors = file.tensors(name)
    if name is None and len(tensors) + len(families) > 1:
        known = ", ".join([*families, *(t.name for t in tensors)])
        message = f"expected one function of {path} to explore, got {known}"
        raise UserError(Diagnostic("SEVERAL_KERNELS", message, Span(path, 1, 1, 1, 1), f"Name one: {path}:{tensors[0].name}"))
    return tensors[0]
