"""Numba: device functions, a block scan in shared memory (Kogge-Stone), and whole arrays."""

from __future__ import annotations

from warploom.scan.emit.body import Body, Slot, Statements, body
from warploom.scan.emit.dialect import NUMBA, Types
from warploom.scan.emit.numba_grid import grid_source, kernel, lifted_block, projected
from warploom.scan.emit.printer import unserved
from warploom.scan.operators.expression import variables
from warploom.scan.operators.operator import Operator

_GCD = """
@cuda.jit(device=True)
def greatest_common_divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return abs(a)
"""


def numba_source(operator: Operator, types: Types | None = None) -> str:
    """A module with `lift`, `combine`, `project`, the kernel `scan_block(elements..., results..., n, constants...)`, and the
    functions `scan_array(elements..., constants...)` and `reduce_array(...)` with their kernels."""
    ready = body(operator, NUMBA, types or Types())
    if ready.uses_constants(variables(*operator.combine)):
        raise unserved("an operator that depends on the function's other parameters", "a Numba kernel")
    if not ready.fields:
        raise unserved("an operator that carries nothing", "a Numba kernel")
    elements, constants = [s.name for s in ready.elements], [s.name for s in ready.constants]
    outputs = [f"{s.name}_out" for s in ready.outputs]
    more = "".join(f", {c}" for c in constants)
    functions = "\n".join(
        [
            "@cuda.jit(device=True)",
            f"def lift({', '.join([*elements, *constants])}):",
            *_returned(ready, ready.lift(), ready.fields),
            "",
            "",
            "@cuda.jit(device=True)",
            "def combine(a, b):",
            *_unpacked(ready, "a"),
            *_unpacked(ready, "b"),
            *_returned(ready, ready.combine("a_{}", "b_{}"), ready.fields),
            "",
            "",
            "@cuda.jit(device=True)",
            f"def project(a{more}):",
            *_unpacked(ready, "a"),
            *_returned(ready, ready.project("a_{}"), ready.outputs),
        ]
    )
    limits = {"int32": ("-2147483648", "2147483647"), "int64": ("-9223372036854775808", "9223372036854775807")}
    least, most = limits[ready.types.whole]
    uses = "INT_" in functions or "INT_" in " ".join(ready.identity())
    used = sorted({NUMBA.types[s.scalar] for s in (*ready.fields, *ready.outputs)} | {"int64"} & set(functions.split("(")))
    lines = [
        f'"""{operator.loop.name}: its loop as an associative operator, for Numba; made by warploom scan emit."""',
        "",
        "import math  # noqa: F401",
        "",
        f"from numba import cuda, {', '.join(used)}",
        *(["", f"INT_BELOW, INT_ABOVE = {least}, {most}"] if uses else []),
        *([_GCD] if "greatest_common_divisor" in functions else [""]),
        "",
        functions,
        *kernel(
            "scan_block", [*elements, *outputs, "n", *constants],
            [
                '"""Every block of up to 1024 threads scans elements of its own."""', *lifted_block(ready),
                *projected(ready, "i < n", "i"),
            ],
        ),
        *grid_source(ready),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _unpacked(ready: Body, side: str) -> list[str]:
    return [f"    ({', '.join(f'{side}_{s.name}' for s in ready.fields)},) = {side}"]


def _returned(ready: Body, statements: Statements, slots: tuple[Slot, ...]) -> list[str]:
    lines = [f"    {name} = {text}" for _, name, text in statements.temporaries]
    results = [f"{NUMBA.types[s.scalar]}({text})" for s, text in zip(slots, statements.results, strict=True)]
    return [*lines, f"    return ({', '.join(results)},)"]
