"""NumPy: the whole list at once, in about 2 log n vectorised steps and 2 n combinations; whole numbers are exact.

They are int64 where the operator's growth shows that no intermediate value can leave it, which is asked of the elements given,
and Python's own (arrays of objects) otherwise. The least and the greatest int64 stand for infinities; among objects these are
floats.
"""

from __future__ import annotations

from collections.abc import Sequence

from warploom.scan.emit.body import Body, Slot, Statements, body
from warploom.scan.emit.dialect import NUMPY, Types
from warploom.scan.emit.names import words_printed_by
from warploom.scan.emit.printer import Printer, unserved
from warploom.scan.operators.expression import variables
from warploom.scan.operators.machine_numbers import GROWTHS, growth, is_selection
from warploom.scan.operators.operator import Operator

_SCAN = '''
def _combined(a, b):
    with np.errstate(all="ignore"):
        return tuple(np.asarray(v, left.dtype) for v, left in zip(combine(a, b), a))


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
    """The whole list combined, in order; of an empty one the identity."""
    if len(values[0]) == 0:
        return identity(*(v.dtype for v in values))
    while len(values[0]) > 1:
        n = len(values[0])
        pairs = _combined(tuple(v[0 : n - 1 : 2] for v in values), tuple(v[1::2] for v in values))
        values = tuple(np.concatenate([p, v[n - n % 2 :]]) for p, v in zip(pairs, values))
    return values
'''
_WHOLE = '''
def _whole(given):
    """Whole numbers as they are given; TypeError for others."""
    found = np.asarray(given)
    if found.dtype.kind not in "biuO" and len(found):
        found = np.array(given, object)
    if found.dtype == object and not all(isinstance(v, (int, np.integer)) for v in found):
        raise TypeError("expected whole numbers, got others")
    return found if len(found) else found.astype(np.int64)
'''
_KIND = '''
def _kind(n, *columns):
    """int64, or Python's own numbers where a value may leave it: within {0}."""
    most = max((abs(int(m)) for c in columns if len(c) for m in (c.min(), c.max())), default=0)
    return np.dtype(np.int64 if {1} < 2**63 - 1 else object)
'''
_ENDS = '''
def _ends(kind):
    """The numbers that stand for minus infinity and infinity."""
    return (-np.inf, np.inf) if kind == object else (-(2**63), 2**63 - 1)


def _shown(values):
    """Infinities where numbers stand for them."""
    least, most = _ends(values.dtype)
    if values.dtype == object or not np.any((values == least) | (values == most)):
        return values
    return np.where(values == least, -np.inf, np.where(values == most, np.inf, values.astype(object)))
'''
_EITHER = '''
def _either(test, then, otherwise, kind):
    """A choice between whole numbers; they are made of one kind first, so that none is rounded or wraps."""
    return np.where(test, np.asarray(then, kind), np.asarray(otherwise, kind))
'''
_TRUTH = '''
def _truth(given):
    """Truth values, or 0 and 1; TypeError for others."""
    found = np.asarray(given)
    if len(found) and found.dtype != np.bool_ and not np.isin(found, (0, 1)).all():
        raise TypeError("expected truth values, got others")
    return found.astype(np.bool_)
'''


def numpy_source(operator: Operator, types: Types | None = None) -> str:
    """A module whose function has the loop's name; element fields and constants are its parameters, in order."""
    ready = body(operator, NUMPY, types or Types())
    if ready.uses_constants(variables(*operator.combine)):
        raise unserved("an operator that depends on the function's other parameters", "a NumPy module")
    if not ready.fields:
        raise unserved("an operator that carries nothing", "a NumPy module")
    loop = operator.loop
    elements, constants = [s.name for s in ready.elements], [s.name for s in ready.constants]
    whole = [s for s in ready.elements if _is_whole(s)]
    bound = whole_bound(operator)
    given = ", ".join(constants)
    more = f", {given}" if given else ""
    functions = [
        f"def lift({', '.join([*elements, *constants])}, kind=KIND):",
        *_returned(ready.lift(), "kind"),
        "",
        "",
        "def combine(a, b):",
        *_unpacked(ready, "a"),
        *_unpacked(ready, "b"),
        *_returned(ready.combine("a_{}", "b_{}"), _kind_of(ready, "a")),
        "",
        "",
        f"def project(a{more}):",
        *_unpacked(ready, "a"),
        *_returned(ready.project("a_{}"), _kind_of(ready, "a")),
        "",
        "",
        "def identity(*dtypes):",
        *([f"    INT_BELOW, INT_ABOVE = _ends(dtypes[{k}])"] if (k := _first_whole(ready)) is not None and _ended(ready) else []),
        f"    return tuple(np.array([v], t) for v, t in zip(({', '.join(ready.identity())},), dtypes))",
    ]
    meant = breaches(ready)
    lines = [
        f'"""{loop.name}: its loop as an associative operator, vectorised; made by warploom scan emit."""',
        "",
        "import numpy as np",
        "",
        f"KIND = np.dtype({'np.int64' if bound is not None else 'object'})  # of whole numbers, if nothing else is said",
        "",
        *([_ENDS.strip("\n"), "", ""] if "_ends(" in "\n".join(functions) else []),
        *([_EITHER.strip("\n"), "", ""] if "_either(" in "\n".join([*functions, *(test for test, _ in meant)]) else []),
        *([_WHOLE.strip("\n"), "", ""] if whole else []),
        *([_TRUTH.strip("\n"), "", ""] if any(s.scalar == "bool" for s in ready.elements) else []),
        *([_KIND.format(*bound).strip("\n"), "", ""] if bound is not None else []),
        *functions,
        "",
        _SCAN,
        "",
        f"def lifted({', '.join([*elements, *constants])}):",
        '    """The values of the elements, checked; one array for every field."""',
        *[f"    {s.name} = {_checked(s)}" for s in ready.elements],
        f"    n = len({elements[0]})",
        *_chosen(ready, operator, whole),
        *[f"    {s.name} = {s.name}.astype(kind)" for s in whole],
        *raised(meant),
        '    with np.errstate(all="ignore"):',
        f"        values = lift({', '.join([*elements, *constants, 'kind'])})",
        f"    dtypes = ({', '.join('kind' if _is_whole(s) else _plain(s) for s in ready.fields)},)",
        "    return tuple(np.broadcast_to(np.asarray(v, t), (n,)) for v, t in zip(values, dtypes))",
        "",
        "",
        f"def {function_name(operator)}({', '.join([*elements, *constants])}):",
        f'    """{_promise(operator)}"""',
        f"    values = {'_prefixes' if loop.is_scan else '_total'}(lifted({', '.join([*elements, *constants])}))",
        "    n = len(values[0])",
        '    with np.errstate(all="ignore"):',
        f"        results = project(values{more})",
        "    results = tuple(np.broadcast_to(r, (n,)) for r in results)",
    ]
    if any(_is_whole(s) for s in ready.outputs) and "_ends(" in "\n".join(functions):
        shown = ", ".join(f"_shown(results[{k}])" if _is_whole(s) else f"results[{k}]" for k, s in enumerate(ready.outputs))
        lines.append(f"    results = ({shown},)")
    if not loop.is_scan:
        lines.append("    results = tuple(r[0] for r in results)")
    lines.append(f"    return {'results' if loop.is_tuple or len(ready.outputs) > 1 else 'results[0]'}")
    return "\n".join(lines).replace("\n\n\n\n", "\n\n\n") + "\n"


def function_name(operator: Operator) -> str:
    """The loop's name, if the module does not need it."""
    name = operator.loop.name
    return f"{name}_" if name in words_printed_by("numpy_module") else name


def _promise(operator: Operator) -> str:
    what = "Results for every prefix" if operator.loop.is_scan else "The loop's result"
    return f"{what}; parameters are arrays, one per value of an element. Whole numbers are exact."


def _is_whole(slot: Slot) -> bool:
    return slot.scalar in ("int32", "int64")


def whole_bound(operator: Operator) -> tuple[str, str] | None:
    """Bound that whole numbers stay within, in words and as text over `n` and `most`; None: nothing is known."""
    if is_selection([*operator.lift, *operator.combine, *operator.projection, *operator.identity], 64):
        return "max(1, |element|)", "max(1, most)"
    found = growth(operator)
    if found is None:
        return None
    return found, "n * max(1, most)" if found == GROWTHS[0] else "(n + 1) * max(1, most)"


def _chosen(ready: Body, operator: Operator, whole: list[Slot]) -> list[str]:
    if whole_bound(operator) is None:
        return ["    kind = KIND"]
    numbers = [s.name for s in whole] + [f"np.asarray([{s.name}], object)" for s in ready.constants if _is_whole(s)]
    return [f"    kind = _kind({', '.join(['n', *numbers])})"]


def _checked(slot: Slot) -> str:
    if _is_whole(slot):
        return f"_whole({slot.name})"
    return f"_truth({slot.name})" if slot.scalar == "bool" else f"np.asarray({slot.name}, {_plain(slot)})"


def breaches(ready: Body) -> list[tuple[str, str]]:
    """Conditions that the loop sets on its elements: NumPy's text of each test, and what an element that fails it breaks."""
    loop = ready.operator.loop
    printer = Printer(NUMPY, ready.types, {s.expr: s.name for s in (*ready.elements, *ready.constants) if s.expr is not None}, {})
    tests = [(printer.text(a), "an assertion of the loop") for a in loop.assumed]
    tests += [
        (f"np.isin({s.name}, {s.expr.sort.values})", "the annotation")
        for s in ready.elements
        if s.expr is not None and s.expr.sort.values is not None and s.expr.sort.base != "bool"
    ]
    return tests


def raised(tests: Sequence[tuple[str, str]]) -> list[str]:
    return [
        line
        for test, what in tests
        for line in (
            f"    if not np.all({test}):",
            f'        raise ValueError("expected elements as the loop takes them, got one that breaks {what}")',
        )
    ]


def _first_whole(ready: Body) -> int | None:
    return next((k for k, s in enumerate(ready.fields) if _is_whole(s)), None)


def _ended(ready: Body) -> bool:
    return "INT_" in " ".join(ready.identity())


def _kind_of(ready: Body, side: str) -> str:
    k = _first_whole(ready)
    return "KIND" if k is None else f"{side}[{k}].dtype"


def _plain(slot: Slot) -> str:
    return NUMPY.types[slot.scalar]


def _unpacked(ready: Body, side: str) -> list[str]:
    return [f"    ({', '.join(f'{side}_{s.name}' for s in ready.fields)},) = {side}"]


def _returned(statements: Statements, kind: str) -> list[str]:
    lines = [f"    {name} = {text}" for _, name, text in statements.temporaries]
    lines.append(f"    return ({', '.join(statements.results)},)")
    text = "\n".join(lines)
    if "INT_" in text:
        lines.insert(0, f"    INT_BELOW, INT_ABOVE = _ends({kind})")
    if "_either(" in text and kind != "kind":
        lines.insert(0, f"    kind = {kind}")
    return lines
