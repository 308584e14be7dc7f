"""A template with holes, completed so that it equals a specification on all inputs (section 2 of the 2011 paper).

    def spec(x): return x * x - 2 * x - 3
    def template(x): return (x + ??) * (x + ??)

or, as the paper writes it, an assertion: def main(x): assert x * x - 2 * x - 3 == template(x)

`??` is a constant, `choose(e, ...)` one of its arguments. Candidates that are right on all inputs so far are tried on all inputs;
where one fails, that input joins the others (counterexample-guided inductive synthesis). A hole of a helper function has one
value, however often the helper is called.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.prover import Fails, Holds, Open, Translator, UntranslatableError, decide
from warploom.scan.reading.binary import template_inputs
from warploom.scan.reading.divisions import divides_by_zero
from warploom.scan.reading.interpret import Division, Interpreter
from warploom.scan.reading.source import HOLE, Function, Module
from warploom.scan.reading.values import Value as Shaped
from warploom.scan.reading.values import bare, flat

LARGEST = 1000
"""Constants are searched between its negative and it, first among small ones."""
BOUNDS = (16, LARGEST)
ROUNDS = 60


@dataclass(frozen=True, slots=True)
class Completed:
    """`unsat`: no constants within the bounds and no choices fit; `holes` by `line:column`."""

    status: Literal["solved", "unsat", "unknown"]
    verdict: Literal["proved", "unchecked"]
    holes: dict[str, Value]
    solutions: int = 0
    """Number of completions that were asked for and found."""
    is_only: bool = False
    """True if no other choice of constants up to `LARGEST` serves."""
    source: str = ""
    """The template, completed, after the helper functions that have holes; of an assertion only functions that have some."""
    domain: str = ""
    """The inputs for which it is proved, in words."""
    counterexamples: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Hole:
    variable: Expr
    node: ast.Name | ast.Call
    options: int | None
    """Number of options of a choice; None: a constant."""
    function: Function
    """The one in whose text it stands."""


@dataclass(frozen=True, slots=True)
class _Task:
    """`wanted` and `got` are to be equal for all values of `inputs`."""

    module: Module
    holes: list[_Hole]
    wanted: list[Expr]
    got: list[Expr]
    inputs: list[Shaped]
    printed: list[Function]
    """Functions to print even if they have no hole."""
    divisions: list[Division]
    """Divisions on both sides."""
    anything: list[Expr]
    """Results of those paths of the template that return nothing: they stand for any value, and the sides must be equal for each,
    so that no input takes such a path."""

    @property
    def are_numbers(self) -> list[bool]:
        """By result: whether one side has numbers, so that a bit of the other is one, too."""
        return [w.sort.is_numeric or g.sort.is_numeric for w, g in zip(self.wanted, self.got, strict=True)]


def complete_template(module: Module, spec: str, template: str, *, unique: bool = False) -> Completed:
    """Raises UserError if the functions cannot be read; with `unique`, also looks for a second completion."""
    inputs = template_inputs(module.function(spec))
    holes: list[_Hole] = []
    divisions: list[Division] = []
    anything: list[Expr] = []
    wanted = _run(module, spec, Interpreter(module.function(spec)), inputs, divisions)
    reader = _reader(module.function(template), holes, anything)
    got = _run(module, template, reader, inputs, divisions)
    if reader.assumed:
        node = module.function(template).node
        module.unsupported(node, "expected a template without assertions, got one", "Assert in the specification.")
    if len(wanted) != len(got):
        module.wrong(
            module.function(template).node, "SHAPE", f"expected {len(wanted)} results, got {len(got)}", "Match the specification."
        )
    return _completed(_Task(module, holes, wanted, got, inputs, [module.function(template)], divisions, anything), unique=unique)


def complete_assertion(module: Module, name: str, *, unique: bool = False) -> Completed:
    """The same for a function that only says `assert specification == template`, as in section 2."""
    function = module.function(name)
    body = [s for s in function.node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    match body:
        case [ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]))]:
            pass
        case _:
            at = body[0] if body else function.node
            fix = "Write the assertion, or name the specification: --spec NAME."
            module.wrong(at, "NO_SPECIFICATION", f"expected `assert specification == template` alone in {name}", fix)
    inputs = template_inputs(function)
    holes: list[_Hole] = []
    anything: list[Expr] = []
    reader = _reader(function, holes, anything)
    bindings = dict(zip(function.parameters, inputs, strict=True))
    wanted, got = (flat(reader.value(side, bindings)) for side in (left, right))
    if reader.assumed:
        module.unsupported(function.node, "expected helpers without assertions, got one", "Take it out of the helper.")
    if len(wanted) != len(got):
        module.wrong(right, "SHAPE", f"expected {len(wanted)} values, got {len(got)}", "Match the specification.")
    return _completed(_Task(module, holes, wanted, got, inputs, [], reader.divisions, anything), unique=unique)


def _completed(task: _Task, *, unique: bool) -> Completed:
    holes = task.holes
    wanted, got = (
        [ex.as_number(e) if n else e for e, n in zip(side, task.are_numbers, strict=True)] for side in (task.wanted, task.got)
    )
    fields = [*(v for value in task.inputs for v in flat(value)), *task.anything]
    examples: list[dict[Expr, Expr]] = []
    excluded: list[Expr] = []
    first: dict[Expr, Value] | None = None
    for bound in BOUNDS:
        for _ in range(ROUNDS):
            candidate = _candidate(holes, wanted, got, examples, excluded, bound)
            if candidate is None:
                break
            if isinstance(candidate, str):
                return Completed("unknown", "unchecked", {}, counterexamples=len(examples), reason=candidate)
            values = {h: ex.constant(v) for h, v in candidate.items()}
            verdict = _same(wanted, [ex.substituted(g, values) for g in got], fields)
            match verdict:
                case Holds():
                    if divides_by_zero(_substituted(d, values) for d in task.divisions):
                        reason = "a completion that fits may divide by zero"
                        return Completed("unknown", "unchecked", {}, counterexamples=len(examples), reason=reason)
                    if first is not None:
                        return _answer(task, first, len(examples), 2, False)
                    first = candidate
                    if not unique:
                        return _answer(task, first, len(examples), 1, False)
                    excluded.append(ex.negation(ex.both(*(ex.equal(h, v) for h, v in values.items()))))
                case Fails(found):
                    examples.append({f: ex.constant(found.get(str(f.value), 0)) for f in fields})
                case Open(reason):
                    return Completed("unknown", "unchecked", {}, counterexamples=len(examples), reason=reason)
        else:
            if first is not None:
                return _answer(task, first, len(examples), 1, False)
            reason = f"given up after {ROUNDS} candidates, each of them wrong on some input"
            return Completed("unknown", "unchecked", {}, counterexamples=len(examples), reason=reason)
        if all(h.options is not None for h in holes):
            break
    if first is None:
        reason = f"no choices, and no constants between {-LARGEST} and {LARGEST}, make them equal"
        if task.anything:
            reason += "; where none of its conditions holds, the template returns nothing"
        return Completed("unsat", "proved", {}, counterexamples=len(examples), reason=reason, domain=_domain(fields))
    return _answer(task, first, len(examples), 1, True)


def _run(module: Module, name: str, reader: Interpreter, inputs: Sequence[Shaped], divisions: list[Division]) -> list[Expr]:
    node = reader.function.node
    parameters = list(reader.function.parameters)
    if len(parameters) != len(inputs):
        module.wrong(
            node, "ARGUMENTS", f"expected {len(inputs)} parameters, got {len(parameters)}", "Take what the specification takes."
        )
    ended = reader.block(node.body, dict(zip(parameters, inputs, strict=True)))
    if ended.result is None:
        module.wrong(node, "NO_RESULT", f"expected {name} to return a value", "Add a return.")
    divisions += reader.divisions
    return flat(ended.result)


def _reader(function: Function, holes: list[_Hole], anything: list[Expr]) -> Interpreter:
    """Reads a template; appends the holes that it meets to `holes`, each once, and to `anything` what stands for the results of
    paths without a `return`.
    """

    def unknown(shape: Shaped) -> Shaped:
        if isinstance(shape, tuple):
            return tuple(unknown(part) for part in shape)
        anything.append(ex.variable(f"nothing {len(anything)}", ex.Sort(bare(shape).sort.base)))
        return anything[-1]

    def hole(node: ast.Name | ast.Call, options: int | None) -> Expr:
        known = next((h for h in holes if h.node is node), None)
        if known is None:
            sort = ex.INT if options is None else ex.Sort("int", values=tuple(range(options)))
            known = _Hole(ex.variable(f"hole {len(holes)}", sort), node, options, reader.function)
            holes.append(known)
        return known.variable

    def filled(call: ast.Name | ast.Call, arguments: Sequence[Shaped]) -> Shaped:
        if not arguments:
            return hole(call, None)
        variable = hole(call, len(arguments))
        result = arguments[0]
        for position, option in enumerate(arguments[1:], 1):
            result = _chosen(ex.at_least(variable, ex.constant(position)), option, result)
        return result

    reader = Interpreter(function, holes=filled, falls_off=unknown)
    return reader


def _chosen(condition: Expr, then: Shaped, otherwise: Shaped) -> Shaped:
    if isinstance(then, tuple) and isinstance(otherwise, tuple):
        return tuple(_chosen(condition, a, b) for a, b in zip(then, otherwise, strict=True))
    assert not isinstance(then, tuple) and not isinstance(otherwise, tuple)
    then, otherwise = bare(then), bare(otherwise)
    if (then.sort.base == "bool") != (otherwise.sort.base == "bool"):
        then, otherwise = ex.as_number(then), ex.as_number(otherwise)
    return ex.select(condition, then, otherwise)


def _candidate(
    holes: Sequence[_Hole],
    wanted: Sequence[Expr],
    got: Sequence[Expr],
    examples: Sequence[dict[Expr, Expr]],
    excluded: Sequence[Expr],
    bound: int,
) -> dict[Expr, Value] | str | None:
    """Values of the holes that are right on the examples; a text if the solver gave up."""
    t = Translator()
    variables = [h.variable for h in holes]
    try:
        for h in holes:
            t.number(h.variable)
            if h.options is None:
                t.known.append(
                    t.condition(
                        ex.both(ex.at_least(h.variable, ex.constant(-bound)), ex.at_least(ex.constant(bound), h.variable))
                    )
                )
        given = [t.condition(e) for e in excluded]
        for example in examples:
            for w, g in zip(wanted, got, strict=True):
                given.append(t.equal(t.number(ex.substituted(w, example)), t.number(ex.substituted(g, example))))
        never = t.builder.false
        answer = decide(t, given, [never], variables)
    except UntranslatableError as error:
        return str(error)
    match answer:
        case Holds():
            return None
        case Fails(values):
            return {h: values[str(h.value)] for h in variables}
        case Open(reason):
            return reason


def _same(wanted: Sequence[Expr], got: Sequence[Expr], fields: Sequence[Expr]) -> Holds | Fails | Open:
    if all(w is g for w, g in zip(wanted, got, strict=True)):
        return Holds()
    t = Translator()
    try:
        claims = [t.equal(t.number(w), t.number(g)) for w, g in zip(wanted, got, strict=True)]
        for f in fields:
            t.number(f)
        return decide(t, [], claims, fields)
    except UntranslatableError as error:
        return Open(str(error))


def _answer(task: _Task, values: dict[Expr, Value], examples: int, solutions: int, is_only: bool) -> Completed:
    places: dict[str, Value] = {}
    written: dict[tuple[int, int], ast.expr] = {}
    for hole in task.holes:
        span = task.module.span(hole.node)
        value = values[hole.variable]
        assert isinstance(value, int)
        places[f"{span.line}:{span.column}"] = value
        if hole.options is None:
            written[hole.node.lineno, hole.node.col_offset] = ast.Constant(value)
        else:
            assert isinstance(hole.node, ast.Call)
            written[hole.node.lineno, hole.node.col_offset] = hole.node.args[value]
    nodes = {f.node.lineno: f.node for f in (*(h.function for h in task.holes), *task.printed)}
    helpers = [nodes[line] for line in sorted(nodes) if nodes[line] not in [f.node for f in task.printed]]
    filler = _Filler(written)
    completed = [filler.visit(copy.deepcopy(node)) for node in (*helpers, *(f.node for f in task.printed))]
    source = "\n\n\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in completed)
    fields = [v for value in task.inputs for v in flat(value)]
    return Completed("solved", "proved", places, solutions, is_only, source, _domain(fields), examples)


def _substituted(division: Division, values: dict[Expr, Expr]) -> Division:
    given = tuple(ex.substituted(g, values) for g in division.given)
    return replace(division, divisor=ex.substituted(division.divisor, values), given=given)


def _domain(fields: Sequence[Expr]) -> str:
    return "reals" if any(f.sort.base == "real" for f in fields) else "integers"


class _Filler(ast.NodeTransformer):
    def __init__(self, values: dict[tuple[int, int], ast.expr]) -> None:
        self._values = values

    def visit_Call(self, node: ast.Call) -> ast.AST:
        filled = self._values.get((node.lineno, node.col_offset))
        if filled is not None and isinstance(node.func, ast.Name) and node.func.id == "choose":
            return self.visit(filled)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self._values.get((node.lineno, node.col_offset), node) if node.id == HOLE else node
