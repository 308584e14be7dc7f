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
    line, end_line, column, end_column = next(
        islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None, None, None, None)
    )
    if line is None or end_line is None or column is None or end_column is None:
        return False
    file = frame.f_code.co_filename
    lines = [linecache.getline(file, number).encode() for number in range(line, end_line + 1)]
    lines[-1] = lines[-1][:end_column]
    lines[0] = lines[0][column:]
    try:
        node = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except SyntaxError:
        return False
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Subscript)
