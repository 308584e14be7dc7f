"""Triton kernels for whole arrays (`grid_launches`): totals of blocks are `s_`, all totals up to each, `STEP` at a time, `u_`.

Operators need not commute: a total is the last value of a block's scan, since `tl.reduce` may change the order. No user's names
begin with `_`.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.scan.emit.body import Body, Statements
from warploom.scan.emit.dialect import TRITON
from warploom.scan.emit.grid_launches import launches, names

_SIZES = {"BLOCK": 1024, "STEP": 1024}
_EMPTY = (
    'if hasattr(_like, "new_empty"):',
    "    import torch",
    "",
    "    return _like.new_empty(_count, dtype=getattr(torch, _kind))",
    "import numpy",
    "",
    "return numpy.empty(_count, _kind)",
)


def grid_source(ready: Body) -> list[str]:
    """Lines after `combine`: kernels `reduce_blocks`, `scan_totals`, `scan_apply`, `reduce_result`, and the functions
    `scan_array(elements..., constants..., BLOCK)` and `reduce_array(...)` on tensors of torch, or what Triton takes for such."""
    made = launches(ready, _SIZES, "_empty({}, ", _EMPTY, _launched)
    return [*_reduce_blocks(ready), *_scan_totals(ready), *_scan_apply(ready), *_reduce_result(ready), *made]


def _kernel(name: str, arguments: Sequence[str], body: Sequence[str]) -> list[str]:
    return ["@triton.jit", f"def {name}({', '.join(arguments)}):", *(f"    {line}" for line in body), "", ""]


def _temporaries(statements: Statements) -> list[str]:
    return [f"{name} = {text}" for _, name, text in statements.temporaries]


def _chosen(ready: Body, where: str, side: str, values: Sequence[str]) -> list[str]:
    """`side` of every field: a value where something holds, and the identity elsewhere."""
    return [
        f"{side}_{s.name} = tl.where({where}, {value}, {none}).to({TRITON.types[s.scalar]})"
        for s, value, none in zip(ready.fields, values, ready.identity(), strict=True)
    ]


def _together(ready: Body, result: str, call: str) -> str:
    """Fields of `result` from a function of several values, or of one."""
    return f"{', '.join(names(ready.fields, f'{result}_{{}}'))} = {call}"


def _scanned(ready: Body, side: str) -> str:
    fields = names(ready.fields, f"{side}_{{}}")
    values = f"({', '.join(fields)},)" if len(fields) > 1 else fields[0]
    return _together(ready, side, f"tl.associative_scan({values}, 0, combine)")


def _combined(ready: Body, result: str, left: str, right: str) -> str:
    values = [*names(ready.fields, f"{left}_{{}}"), *names(ready.fields, f"{right}_{{}}")]
    return _together(ready, result, f"combine({', '.join(values)})")


def _block(ready: Body) -> list[str]:
    """The block's elements lifted and scanned, as `v_`."""
    lifted = ready.lift()
    return [
        "_block = tl.program_id(0).to(tl.int64)",
        "_lane = tl.arange(0, BLOCK)",
        "_at = _block * BLOCK + _lane",
        "_inside = _at < n",
        *(f"{e} = tl.load({e}_pointer + _at, mask=_inside, other=0)" for e in names(ready.elements)),
        *_temporaries(lifted),
        *_chosen(ready, "_inside", "v", lifted.results),
        _scanned(ready, "v"),
    ]


def _projected(ready: Body, side: str, place: str, where: str) -> list[str]:
    projected = ready.project(f"{side}_{{}}")
    return [
        *_temporaries(projected),
        *(
            f"tl.store({s.name}_out + {place}, tl.where({where}, {text}, {'False' if s.scalar == 'bool' else '0'}), mask={where})"
            for s, text in zip(ready.outputs, projected.results, strict=True)
        ),
    ]


def _reduce_blocks(ready: Body) -> list[str]:
    arguments = [*names(ready.elements, "{}_pointer"), *names(ready.fields, "s_{}"), "n"]
    stores = [f"tl.store(s_{f} + _block + _lane * 0, v_{f}, mask=_lane == BLOCK - 1)" for f in names(ready.fields)]
    return _kernel("reduce_blocks", [*arguments, *names(ready.constants), "BLOCK: tl.constexpr"], [*_block(ready), *stores])


def _scan_totals(ready: Body) -> list[str]:
    last: list[str] = []
    for s in ready.fields:
        if s.scalar == "bool":
            last.append(f"tl.sum(tl.where(_lane == STEP - 1, w_{s.name}.to(tl.int32), 0), 0) != 0")
        else:
            last.append(f"tl.sum(tl.where(_lane == STEP - 1, w_{s.name}, 0), 0)")
    zeros = [f"tl.zeros((STEP,), {TRITON.types[s.scalar]})" for s in ready.fields]
    loop = [
        "_inside = _start + _lane < n",
        *(f"v_{f} = tl.load(s_{f} + _start + _lane, mask=_inside, other=0)" for f in names(ready.fields)),
        *_chosen(ready, "_inside", "v", names(ready.fields, "v_{}")),
        _scanned(ready, "v"),
        _combined(ready, "w", "b", "v"),
        *_chosen(ready, "_inside", "w", names(ready.fields, "w_{}")),
        *(f"tl.store(u_{f} + _start + _lane, w_{f}, mask=_inside)" for f in names(ready.fields)),
        *_chosen(ready, "_lane >= 0", "b", last),
    ]
    body = [
        "_lane = tl.arange(0, STEP)",
        *_chosen(ready, "_lane < 0", "b", zeros),
        "for _start in range(0, n, STEP):",
        *(f"    {line}" for line in loop),
    ]
    arguments = [*names(ready.fields, "s_{}"), *names(ready.fields, "u_{}"), "n", "STEP: tl.constexpr"]
    return _kernel("scan_totals", arguments, body)


def _scan_apply(ready: Body) -> list[str]:
    body = [
        *_block(ready),
        "_before = _block - 1 + _lane * 0",
        *(f"b_{f} = tl.load(u_{f} + _before, mask=_before >= 0, other=0)" for f in names(ready.fields)),
        *_chosen(ready, "_before >= 0", "b", names(ready.fields, "b_{}")),
        _combined(ready, "w", "b", "v"),
        *_projected(ready, "w", "_at", "_inside"),
    ]
    arguments = [*names(ready.elements, "{}_pointer"), *names(ready.fields, "u_{}"), *names(ready.outputs, "{}_out"), "n"]
    return _kernel("scan_apply", [*arguments, *names(ready.constants), "BLOCK: tl.constexpr"], body)


def _reduce_result(ready: Body) -> list[str]:
    """`n` is the number of blocks; none: the result of the identity."""
    body = [
        "_lane = tl.arange(0, 1)",
        "_last = n - 1 + _lane",
        *(f"v_{f} = tl.load(u_{f} + _last, mask=_last >= 0, other=0)" for f in names(ready.fields)),
        *_chosen(ready, "_last >= 0", "v", names(ready.fields, "v_{}")),
        *_projected(ready, "v", "_lane", "_lane >= 0"),
    ]
    arguments = [*names(ready.fields, "u_{}"), *names(ready.outputs, "{}_out"), "n", *names(ready.constants)]
    return _kernel("reduce_result", arguments, body)


def _launched(kernel: str, blocks: str, arguments: Sequence[str]) -> str:
    size = {"scan_totals": ["STEP=STEP"], "reduce_result": []}.get(kernel, ["BLOCK=BLOCK"])
    return f"{kernel}[({blocks},)]({', '.join([*arguments, *size])})"
