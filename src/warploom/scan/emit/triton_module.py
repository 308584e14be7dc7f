"""Triton: a `combine_fn` over tuples for `tl.associative_scan`, a kernel that scans one program's block, and whole arrays."""

from __future__ import annotations

from warploom.scan.emit.body import Statements, body
from warploom.scan.emit.dialect import TRITON, Types
from warploom.scan.emit.printer import unserved
from warploom.scan.emit.triton_grid import grid_source
from warploom.scan.operators.expression import variables
from warploom.scan.operators.operator import Operator

_HELPERS = {
    "floor_remainder": """
@triton.jit
def floor_remainder(a, n):
    r = a % n
    return tl.where(r < 0, r + n, r)
""",
    "floor_quotient": """
@triton.jit
def floor_quotient(a, n):
    return a // n - tl.where(a % n < 0, 1, 0)
""",
}


def triton_source(operator: Operator, types: Types | None = None) -> str:
    """A module with `combine`, the kernel `scan_block(elements..., results..., n, constants..., BLOCK)`, and the functions
    `scan_array(elements..., constants...)` and `reduce_array(...)` with their kernels."""
    ready = body(operator, TRITON, types or Types())
    if ready.uses_constants(variables(*operator.combine)):
        raise unserved("an operator that depends on the function's other parameters", "a Triton combine_fn")
    c = TRITON.types
    elements, constants = [s.name for s in ready.elements], [s.name for s in ready.constants]
    names = [s.name for s in ready.fields]
    combined, lifted, projected = ready.combine("a_{}", "b_{}"), ready.lift(), ready.project("v_{}")
    casts = [f"tl.cast({text}, {c[s.scalar]})" for s, text in zip(ready.fields, combined.results, strict=True)]
    neutral = ready.identity()
    fields = [
        f"    v_{s.name} = tl.where(mask, {text}, {none}).to({c[s.scalar]})"
        for s, text, none in zip(ready.fields, lifted.results, neutral, strict=True)
    ]
    sides = [f"{side}_{n}" for side in "ab" for n in names]
    together = ", ".join(f"v_{n}" for n in names)
    kernel = [
        "@triton.jit",
        f"def scan_block({', '.join([*(f'{e}_pointer' for e in elements), *(f'{s.name}_out' for s in ready.outputs), 'n'])}"
        f"{''.join(f', {k}' for k in constants)}, BLOCK: tl.constexpr):",
        "    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "    mask = offsets < n",
        *(f"    {e} = tl.load({e}_pointer + offsets, mask=mask, other=0)" for e in elements),
        *_temporaries(lifted),
        *fields,
        f"    {together} = tl.associative_scan(({together},), 0, combine)" if len(names) > 1 else "",
        f"    v_{names[0]} = tl.associative_scan(v_{names[0]}, 0, combine)" if len(names) == 1 else "",
        *_temporaries(projected),
        *(
            f"    tl.store({s.name}_out + offsets, tl.where(mask, {text}, {'False' if s.scalar == 'bool' else '0'}), mask=mask)"
            for s, text in zip(ready.outputs, projected.results, strict=True)
        ),
    ]
    whole = "\n".join(
        [
            "@triton.jit",
            f"def combine({', '.join(sides)}):",
            *_temporaries(combined),
            f"    return {', '.join(casts)}",
            "",
            "",
            *[line for line in kernel if line],
            "",
            "",
            *grid_source(ready),
        ]
    )
    limits = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
    least, most = limits[ready.types.whole]
    lines = [
        f'"""{operator.loop.name}: its loop as an associative operator, for Triton; made by warploom scan emit."""',
        "",
        "import triton",
        "import triton.language as tl",
        "",
        *([f"INT_BELOW, INT_ABOVE = tl.constexpr({least}), tl.constexpr({most})", ""] if "INT_" in whole else []),
        *(text.strip("\n") + "\n\n" for name, text in _HELPERS.items() if name in whole),
        "",
        whole,
    ]
    return "\n".join(lines) + "\n"


def _temporaries(statements: Statements) -> list[str]:
    return [f"    {name} = {text}" for _, name, text in statements.temporaries]
