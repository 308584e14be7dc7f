"""Decides whether running Python code assigns to a component of an element, as in `a[i].x = ...`."""

from __future__ import annotations

import ast
import linecache
from itertools import islice
from types import CodeType, FrameType

_known: dict[tuple[CodeType, int], bool] = {}


def assigns_to_element(frame: FrameType) -> bool:
    """Whether the attribute that `frame` assigns to right now is written as one of a subscript; False if nobody can read it.

    A vector in a variable is a value on the machine and an object in Python: storing to its component means two things.
    """
    place = frame.f_code, frame.f_lasti
    if place not in _known:
        _known[place] = _is_of_subscript(frame)
    return _known[place]


def _is_of_subscript(frame: FrameType) -> bool:
    """By the end of the target alone: where it begins in another line, Python names the place of the attribute only."""
    _, end_line, _, end_column = next(
        islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None)
    )  # fmt: skip
    if end_line is None or end_column is None:
        return False
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename)))
    except SyntaxError:
        return False
    stored = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return any(isinstance(n.value, ast.Subscript) and (n.end_lineno, n.end_col_offset) == (end_line, end_column) for n in stored)
