"""JAX: the operator as what `jax.lax.associative_scan` takes, on any device that JAX has."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from typing import Any, cast

from warploom.scan.emit.body import Slot, Statements, body
from warploom.scan.emit.dialect import NUMPY, Dialect, Types
from warploom.scan.emit.numpy_module import function_name
from warploom.scan.emit.peers import NotInstalledError, imported
from warploom.scan.emit.printer import unserved
from warploom.scan.emit.running import Comparison
from warploom.scan.emit.serial import column, elements, is_close, machine_value, serial
from warploom.scan.operators.expression import variables
from warploom.scan.operators.operator import Operator
from warploom.scan.operators.samples import constant_values

_SCALARS = {"int32": "np.int32", "int64": "np.int64", "float32": "np.float32", "float64": "np.float64", "bool": "np.bool_"}
_SPELLINGS = {k: v for k, v in NUMPY.spellings.items() if k != "select_whole"}
JAX: Dialect = replace(NUMPY, name="jax", types=_SCALARS, spellings=_SPELLINGS, true="np.bool_(True)", false="np.bool_(False)")
_SIZES = (1, 2, 7, 33)


def jax_source(operator: Operator, types: Types | None = None) -> str:
    """A module whose function has the loop's name. 64-bit types need `jax.config.update("jax_enable_x64", True)`."""
    kinds = types or Types()
    ready = body(operator, JAX, kinds)
    if ready.uses_constants(variables(*operator.combine)):
        raise unserved("an operator that depends on the function's other parameters", "JAX")
    loop = operator.loop
    elements_, constants = [s.name for s in ready.elements], [s.name for s in ready.constants]
    given = ", ".join([*elements_, *constants])
    more = "".join(f", {name}" for name in constants)
    least = f"np.iinfo({_SCALARS[kinds.whole]})"
    functions = [
        f"def lift({given}):",
        *_returned(ready.lift()),
        "",
        "",
        "def combine(a, b):",
        *_unpacked(ready.fields, "a"),
        *_unpacked(ready.fields, "b"),
        *_returned(ready.combine("a_{}", "b_{}")),
        "",
        "",
        f"def project(a{more}):",
        *_unpacked(ready.fields, "a"),
        *_returned(ready.project("a_{}")),
    ]
    ends = [f"INT_BELOW, INT_ABOVE = {least}.min, {least}.max  # what stands for infinities", ""]
    dtypes = ", ".join(_SCALARS[s.scalar] for s in ready.fields)
    lines = [
        f'"""{loop.name}: its loop as an associative operator for jax.lax.associative_scan; made by warploom scan emit."""',
        "",
        "import jax",
        "import jax.numpy as np",
        "",
        *(ends if "INT_" in "\n".join(functions) else []),
        "",
        *functions,
        "",
        "",
        f"def {function_name(operator)}({given}):",
        f'    """{_promise(loop.is_scan)}; parameters are arrays, one per value of an element, not empty."""',
        *[f"    {s.name} = np.asarray({s.name}, {_SCALARS[s.scalar]})" for s in ready.elements],
        f"    values = lift({given})",
        f"    values = tuple(np.broadcast_to(np.asarray(v, t), {elements_[0]}.shape) for v, t in zip(values, ({dtypes},)))",
        "    values = jax.lax.associative_scan(combine, values)",
        *([] if loop.is_scan else ["    values = tuple(v[-1] for v in values)"]),
        f"    results = project(values{more})",
        f"    return {'results' if loop.is_tuple or len(ready.outputs) > 1 else 'results[0]'}",
    ]
    return "\n".join(lines) + "\n"


def try_jax(operator: Operator, types: Types | None = None, seed: int = 0) -> Comparison:
    """The module under JAX, on lists of several lengths. NotInstalledError."""
    if importlib.util.find_spec("jax") is None:
        raise NotInstalledError("jax")
    kinds, loop, cases = types or Types(), operator.loop, 0
    ready, constants = body(operator, JAX, kinds), constant_values(loop, seed)
    with imported(jax_source(operator, types)) as module:
        for number, size in enumerate(_SIZES):
            given = elements(loop, size, seed + number)
            columns = [column([e[f] for e in given], s.scalar) for f, s in enumerate(ready.elements)]
            numbers = [machine_value(v, s.scalar) for v, s in zip(constants, ready.constants, strict=True)]
            answer: Any = getattr(module, function_name(operator))(*columns, *numbers)
            answers = cast("tuple[Any, ...]", answer) if isinstance(answer, tuple) else (answer,)
            wanted = serial(loop, given, constants, 32 if kinds.whole == "int32" else 64).results
            for place in range(1, size + 1) if loop.is_scan else (size,):
                expected = wanted[place]
                if expected is None:
                    continue
                for slot, values, value in zip(ready.outputs, answers, expected, strict=True):
                    cases += 1
                    found = values[place - 1] if loop.is_scan else values
                    if not is_close(found.item(), value, slot.scalar):
                        return Comparison(cases, f"{slot.name} of {place} elements is {found}, expected {value}")
    return Comparison(cases)


def _promise(is_scan: bool) -> str:
    return "Results for every prefix" if is_scan else "The loop's result"


def _unpacked(slots: tuple[Slot, ...], side: str) -> list[str]:
    return [f"    ({', '.join(f'{side}_{s.name}' for s in slots)},) = {side}"]


def _returned(statements: Statements) -> list[str]:
    return [
        *(f"    {name} = {text}" for _, name, text in statements.temporaries),
        f"    return ({', '.join(statements.results)},)",
    ]
