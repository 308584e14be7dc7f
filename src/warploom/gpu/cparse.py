"""Printed CUDA text to a C syntax tree (pycparser), the CUDA-isms noted or removed. Part of the read-back: knows no kernel IR."""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass
from typing import Any

from warploom.core import Diagnostic, UserError

c_ast: Any = importlib.import_module("pycparser.c_ast")
"""The node classes of the C syntax tree (pycparser has no type stubs)."""
_c_parser: Any = importlib.import_module("pycparser.c_parser")

VECTOR = re.compile(r"u?(?:char|short|int|longlong)[24]|(?:float|double)[24]")
_SHARED = "register"
"""Storage class that stands for `__shared__` in the tree; printed kernels do not use it otherwise."""
_TYPE_NAMES = ["__half", "__nv_bfloat16", "bool"]


@dataclass(frozen=True, slots=True)
class Parsed:
    """One printed kernel."""

    kernel: Any
    """The `FuncDef` of the `__global__` function."""
    functions: dict[str, Any]
    """Device functions by name."""
    bound: int
    """Bound of `__launch_bounds__`."""
    block: tuple[int, int, int]
    """Block shape with which the host helper launches it."""
    grid: tuple[Any, Any, Any]
    """Expressions over the sizes, as the host helper computes them."""
    launch_arguments: tuple[str, ...]
    launch_params: tuple[str, ...]


def is_shared(declaration: Any) -> bool:
    return _SHARED in declaration.storage


def parse_cuda(source: str) -> Parsed:
    """The syntax tree of a text that `cuda_source` printed; UserError (READ_BACK_SYNTAX) where the text is not of that form."""
    text = re.sub(r"//[^\n]*", "", source)
    guard = re.search(r"#ifndef __CUDACC_RTC__(.*?)#endif", text, re.S)
    host = guard[1] if guard is not None else ""
    text = text.replace(guard[0], "") if guard is not None else text
    bound = re.search(r"__launch_bounds__\((\d+)\)\s*(\w+)", text)
    if guard is None or bound is None:
        raise _unreadable("expected a launch helper and __launch_bounds__, got none")
    text = re.sub(r"^\s*#[^\n]*$", "", text, flags=re.M)
    text = re.sub(r"__launch_bounds__\(\d+\)", "", text).replace('extern "C"', "")
    text = re.sub(r"\b(?:__global__|__device__|__host__|__forceinline__|__restrict__|static)\b", "", text)
    text = re.sub(r"\b__shared__\b", _SHARED, text)
    text = re.sub(r"\b__align__\b", "_Alignas", text)
    text = re.sub(r"\breinterpret_cast<([^<>]+)>\((\w+)\)", r"((\1)\2)", text)
    text = re.sub(r"\breinterpret_cast<([^<>]+)>\(", r"(\1)(", text)
    tree = _parse(text)
    functions: dict[str, Any] = {f.decl.name: f for f in tree.ext if isinstance(f, c_ast.FuncDef)}
    kernel = functions.pop(bound[2], None)
    dims = re.findall(r"const dim3 (\w+)\((.*)\);", host)
    launch = re.search(r"(\w+)<<<(\w+), (\w+), 0, \w+>>>\(([^;]*)\);", host)
    header = re.search(r"cudaError_t \w+\((.*?)\) \{", host, re.S)
    if kernel is None or launch is None or header is None or launch[1] != bound[2]:
        raise _unreadable(f"expected a launch of {bound[2]} in the launch helper, got none")
    extents = {name: _expressions(args) for name, args in dims}
    if launch[2] not in extents or launch[3] not in extents:
        raise _unreadable("expected dim3 constants for grid and block, got none")
    block = tuple(int(e.value) for e in extents[launch[3]])
    params = tuple(re.sub(r"=.*", "", p).replace("*", " ").split()[-1] for p in header[1].split(","))
    arguments = tuple(a.strip() for a in launch[4].split(","))
    grid = extents[launch[2]]
    return Parsed(
        kernel, functions, int(bound[1]), (block[0], block[1], block[2]), (grid[0], grid[1], grid[2]), arguments, params
    )


def _expressions(args: str) -> list[Any]:
    tree = _parse(f"void f(void) {{ dims({args}); }}")
    found = tree.ext[-1].body.block_items[0].args.exprs
    if len(found) != 3:
        raise _unreadable(f"expected three extents, got ({args})")
    return found


def _parse(text: str) -> Any:
    names = [*_TYPE_NAMES, *sorted({m[0] for m in VECTOR.finditer(text)})]
    prelude = "".join(f"typedef int {n};\n" for n in names)
    try:
        return _c_parser.CParser().parse(prelude + text, filename="kernel.cu")
    except _c_parser.ParseError as error:
        raise _unreadable(f"expected printed CUDA, got: {error}") from error


def _unreadable(message: str) -> UserError:
    return UserError(Diagnostic("READ_BACK_SYNTAX", message))
