"""NumPy: the whole list at once, in about 2 log n vectorised steps and 2 n combinations."""

from __future__ import annotations

from warploom.scan.emit.body import Body, Slot, Statements, body
from warploom.scan.emit.dialect import NUMPY, Types
from warploom.scan.emit.printer import unserved
from warploom.scan.expression import variables
from warploom.scan.operator import Operator

_SCAN = '''
def _combined(a, b):
    with np.errstate(all="ignore"):
        return tuple(np.asarray(v, t) for v, t in zip(combine(a, b), DTYPES))


def _prefixes(values):
    """Every prefix combined: pairs first, then their prefixes, then the elements between them."""
    n = len(values[0])
    if n < 2:
        return values
    even, odd = tuple(v[0 : n - 1 : 2] for v in values), tuple(v[1::2] for v in values)
    pairs = _prefixes(_combined(even, odd))
    result = tuple(np.empty_like(v) for v in values)
    between = _combined(tuple(p[: (n - 1) // 2] for p in pairs), tuple(v[2::2] for v in values))
    for r, v, p, b in zip(result, values, pairs, between):
        r[0], r[1::2], r[2::2] = v[0], p, b
    return result


def _total(values):
    """The whole list combined, in order."""
    if len(values[0]) == 0:
        return tuple(np.array([v], t) for v, t in zip(IDENTITY, DTYPES))
    while len(values[0]) > 1:
        n = len(values[0])
        pairs = _combined(tuple(v[0 : n - 1 : 2] for v in values), tuple(v[1::2] for v in values))
        values = tuple(np.concatenate([p, v[n - n % 2 :]]) for p, v in zip(pairs, values))
    return values
'''


def numpy_source(operator: Operator, types: Types | None = None) -> str:
    """A module whose function has the loop's name; element fields and constants are its parameters, in order."""
    ready = body(operator, NUMPY, types or Types())
    if ready.uses_constants(variables(*operator.combine)):
        raise unserved("an operator that depends on the function's other parameters", "a NumPy module")
    loop = operator.loop
    elements, constants = [s.name for s in ready.elements], [s.name for s in ready.constants]
    given = ", ".join(constants)
    more = f", {given}" if given else ""
    kinds = [_dtype(ready, s) for s in ready.fields]
    lines = [
        f'"""{loop.name}: its loop as an associative operator, vectorised; made by warploom scan emit."""',
        "",
        "import numpy as np",
        "",
        f"DTYPES = ({', '.join(kinds)},)",
        f"IDENTITY = ({', '.join(ready.identity())},)",
        "",
        "",
        f"def lift({', '.join([*elements, *constants])}):",
        *_returned(ready.lift()),
        "",
        "",
        "def combine(a, b):",
        *_unpacked(ready, "a"),
        *_unpacked(ready, "b"),
        *_returned(ready.combine("a_{}", "b_{}")),
        "",
        "",
        f"def project(a{more}):",
        *_unpacked(ready, "a"),
        *_returned(ready.project("a_{}")),
        "",
        _SCAN,
        "",
        f"def {function_name(operator)}({', '.join([*elements, *constants])}):",
        f'    """{_promise(operator)}"""',
        *[f"    {n} = np.asarray({n}, {_plain(s)})" for n, s in zip(elements, ready.elements, strict=True)],
        f"    n = len({elements[0]})",
        '    with np.errstate(all="ignore"):',
        f"        lifted = lift({', '.join([*elements, *constants])})",
        "        values = tuple(np.broadcast_to(np.asarray(v, t), (n,)) for v, t in zip(lifted, DTYPES))",
        f"        results = project({'_prefixes' if loop.is_scan else '_total'}(values){more})",
    ]
    if loop.is_scan:
        lines.append("    results = tuple(np.broadcast_to(r, (n,)) for r in results)")
    else:
        lines.append("    results = tuple(np.broadcast_to(r, (1,))[0] for r in results)")
    lines.append(f"    return {'results' if loop.is_tuple or len(ready.outputs) > 1 else 'results[0]'}")
    return "\n".join(lines).replace("\n\n\n\n", "\n\n\n") + "\n"


def function_name(operator: Operator) -> str:
    """The loop's name, if the module does not need it."""
    name = operator.loop.name
    return f"{name}_" if name in ("lift", "combine", "project", "np") else name


def _promise(operator: Operator) -> str:
    what = "Results for every prefix" if operator.loop.is_scan else "The loop's result"
    return f"{what}; parameters are arrays, one per value of an element."


def _dtype(ready: Body, slot: Slot) -> str:
    if ready.may_be_infinite(slot):
        return "np.float64"
    return _plain(slot)


def _plain(slot: Slot) -> str:
    return NUMPY.types[slot.scalar]


def _unpacked(ready: Body, side: str) -> list[str]:
    return [f"    ({', '.join(f'{side}_{s.name}' for s in ready.fields)},) = {side}"]


def _returned(statements: Statements) -> list[str]:
    lines = [f"    {name} = {text}" for _, name, text in statements.temporaries]
    return [*lines, f"    return ({', '.join(statements.results)},)"]
