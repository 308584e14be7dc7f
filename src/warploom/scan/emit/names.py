"""Names that mean something in emitted text, and free ones for a user's variables.

Reserved is whatever the texts of this package contain, found in the texts themselves, so that no list has to follow them; then
the keywords and built-in names of C, C++, CUDA and Python. Texts put `a_`, `b_`, `v_` and `s_` before fields' names and
`_pointer` and `_out` behind others: names that look like that get `u_` in front.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from functools import cache
from pathlib import Path

from warploom.ctext import RESERVED

_NEAR = "std cub thrust cuda tl complex imaginary near far small interface major minor uint uchar ushort ulong"
"""Words of headers and modules that stand before the text, or may."""
_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
"""Words of a text, but not attributes, which stand in nobody's way."""
_LOOKS_MADE = re.compile(r"[abvsu]_.*|.*_(pointer|out)|[a-z]\d+|_.*|.*__.*")
_HERE = Path(__file__).parent


@cache
def reserved() -> frozenset[str]:
    """Every word that may not be a user's."""
    found = {*RESERVED, *_NEAR.split(), *keyword.kwlist, *keyword.softkwlist, *dir(builtins)}
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
