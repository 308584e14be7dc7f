"""The Python that launches kernels for whole arrays, of Triton and of Numba: totals of blocks, a scan of these, the results.

    reduce_blocks    totals: every block combines its elements
    scan_totals      one block: all totals up to each
    scan_apply       every block scans its elements again, after all that comes before it
    reduce_result    the result of the last total

No user's names begin with `_`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from warploom.scan.emit.body import Body, Slot

GRID = ("reduce_blocks", "scan_totals", "scan_apply", "reduce_result")
"""The kernels."""


def names(slots: Sequence[Slot], text: str = "{}") -> list[str]:
    """The slots' names within a text."""
    return [text.format(s.name) for s in slots]


def launches(
    ready: Body, sizes: Mapping[str, int], empty: str, body: Sequence[str], launched: Callable[[str, str, Sequence[str]], str]
) -> list[str]:
    """The functions `scan_array(elements..., constants..., *, sizes...)` and `reduce_array(...)`, and what both call.

    sizes: of blocks, by name, with their defaults. empty: the head of a function that makes an array, before its count and its
    type; `body`: its lines. launched: the launch of a kernel, by name, number of blocks and arguments.
    """
    elements, constants = names(ready.elements), names(ready.constants)
    first, given = elements[0], ", ".join([*elements, *constants])
    head, like = empty.format("_like"), empty.format(first)
    kinds, results = (", ".join(f'"{s.scalar}"' for s in slots) for slots in (ready.fields, ready.outputs))
    asked, defaults = ", ".join(sizes), ", ".join(f"{name}={size}" for name, size in sizes.items())
    needed = [f"    if not len({first}):", '        raise ValueError("expected at least one element, got none")']
    returned = "return _results[0]" if len(ready.outputs) == 1 else "return tuple(_results)"
    return [
        f"def {head}_count, _kind):",
        *(f"    {line}" if line else "" for line in body),
        "",
        "",
        f"def _through({given}, {asked}):",
        f"    n = len({first})",
        f"    _blocks = -(-n // {next(iter(sizes))})",
        f"    _totals = [{like}max(_blocks, 1), _kind) for _kind in ({kinds},)]",
        f"    _all = [{like}max(_blocks, 1), _kind) for _kind in ({kinds},)]",
        "    if n:",
        f"        {launched('reduce_blocks', '_blocks', [*elements, '*_totals', 'n', *constants])}",
        f"        {launched('scan_totals', '1', ['*_totals', '*_all', '_blocks'])}",
        "    return n, _blocks, _all",
        "",
        "",
        f"def scan_array({given}, *, {defaults}):",
        f"    n, _blocks, _all = _through({given}, {asked})",
        f"    _results = [{like}n, _kind) for _kind in ({results},)]",
        "    if n:",
        f"        {launched('scan_apply', '_blocks', [*elements, '*_all', '*_results', 'n', *constants])}",
        f"    {returned}",
        "",
        "",
        f"def reduce_array({given}, *, {defaults}):",
        *(needed if ready.operator.loop.needs_element else []),
        f"    n, _blocks, _all = _through({given}, {asked})",
        f"    _results = [{like}1, _kind) for _kind in ({results},)]",
        f"    {launched('reduce_result', '1', ['*_all', '*_results', '_blocks', *constants])}",
        f"    {returned}",
    ]
