"""Names that mean something in emitted text, and free ones for a user's variables.

Reserved is whatever the texts of this package contain, found in the texts themselves, so that no list has to follow them; then
the keywords and built-in names of C++, CUDA and Python. Texts put `a_`, `b_`, `v_` and `s_` before fields' names and `_pointer`
and `_out` behind others: names that look like that get `u_` in front.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from functools import cache
from pathlib import Path

_CPP = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const
consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else
enum explicit export extern false float for friend goto if import inline int long module mutable namespace new noexcept not not_eq
nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof static
static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned
using virtual void volatile wchar_t while xor xor_eq
"""
_CUDA = "threadIdx blockIdx blockDim gridDim warpSize dim3 half nv_bfloat16 uint uchar ushort ulong cub thrust cuda std tl"
_MACROS = "linux unix i386 stdin stdout stderr errno environ complex imaginary near far small interface assert major minor"
_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
"""Words of a text, but not attributes, which stand in nobody's way."""
_LOOKS_MADE = re.compile(r"[abvsu]_.*|.*_(pointer|out)|[a-z]\d+|_.*|.*__.*")
_HERE = Path(__file__).parent


@cache
def reserved() -> frozenset[str]:
    """Every word that may not be a user's."""
    found = {*_CPP.split(), *_CUDA.split(), *_MACROS.split(), *keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
    for path in sorted(_HERE.glob("*.cu")):
        found |= {*_WORD.findall(path.read_text(encoding="utf-8"))}
    for path in sorted(_HERE.glob("*.py")):
        # `body` names results, which are taken like any other name
        found |= words_printed_by(path.stem) if path.stem != "body" else set()
    return frozenset(found)


@cache
def words_printed_by(module: str) -> frozenset[str]:
    """Words of one module of this package, with Python's own."""
    tree = ast.parse((_HERE / f"{module}.py").read_text(encoding="utf-8"))
    return frozenset({*_words_printed(tree), *keyword.kwlist, *dir(builtins)})


def _words_printed(tree: ast.Module) -> set[str]:
    """Words of a module's texts but its documentation."""
    documents = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in documents and n.value is not None]
    return {word for text in texts if isinstance(text, str) for word in _WORD.findall(text)}


def free_name(name: str, taken: set[str]) -> str:
    """A name for a user's variable that no text and none of `taken` has; it is taken from now on."""
    found = name if name.isascii() else "field"
    if _LOOKS_MADE.fullmatch(found) or found.isupper():
        found = f"u_{re.sub('_+', '_', found.strip('_'))}"
    while found in taken or found in reserved():
        found += "_"
        if found.endswith("__"):
            found = f"u_{found.rstrip('_')}{len(taken)}"
    taken.add(found)
    return found
