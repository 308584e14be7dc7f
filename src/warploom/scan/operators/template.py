"""A template with holes, completed so that it equals a specification on all inputs (section 2 of the 2011 paper).

    def spec(x): return x * x - 2 * x - 3
    def template(x): return (x + ??) * (x + ??)

`??` is a constant, `choose(e, ...)` one of its arguments. Candidates that are right on all inputs so far are tried on all inputs;
where one fails, that input joins the others (counterexample-guided inductive synthesis).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from warploom.scan.operators import expression as ex
from warploom.scan.operators.expression import Expr, Value
from warploom.scan.operators.prover import Fails, Holds, Open, Translator, UntranslatableError, decide
from warploom.scan.reading.binary import template_inputs
from warploom.scan.reading.interpret import Interpreter
from warploom.scan.reading.source import HOLE, Module
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
    """Whether there is no other one, with constants up to `LARGEST`."""
    source: str = ""
    """The template, completed."""
    counterexamples: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Hole:
    variable: Expr
    node: ast.Name | ast.Call
    options: int | None
    """Number of options of a choice; None: a constant."""


def complete_template(module: Module, spec: str, template: str, *, unique: bool = False) -> Completed:
    """Raises UserError if the functions cannot be read; with `unique`, also looks for a second completion."""
    inputs = template_inputs(module.function(spec))
    wanted = _run(module, spec, inputs, None)
    holes: list[_Hole] = []
    got = _run(module, template, inputs, holes)
    if len(wanted) != len(got):
        module.wrong(
            module.function(template).node, "SHAPE", f"expected {len(wanted)} results, got {len(got)}", "Match the specification."
        )
    fields = [v for value in inputs for v in flat(value)]
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
                    if first is not None:
                        return _answer(module, template, holes, first, len(examples), 2, False)
                    first = candidate
                    if not unique:
                        return _answer(module, template, holes, first, len(examples), 1, False)
                    excluded.append(ex.negation(ex.both(*(ex.equal(h, v) for h, v in values.items()))))
                case Fails(found):
                    examples.append({f: ex.constant(found.get(str(f.value), 0)) for f in fields})
                case Open(reason):
                    return Completed("unknown", "unchecked", {}, counterexamples=len(examples), reason=reason)
        else:
            if first is not None:
                return _answer(module, template, holes, first, len(examples), 1, False)
            reason = f"given up after {ROUNDS} candidates, each of them wrong on some input"
            return Completed("unknown", "unchecked", {}, counterexamples=len(examples), reason=reason)
        if all(h.options is not None for h in holes):
            break
    if first is None:
        reason = f"no choices, and no constants between {-LARGEST} and {LARGEST}, make them equal"
        return Completed("unsat", "proved", {}, counterexamples=len(examples), reason=reason)
    return _answer(module, template, holes, first, len(examples), 1, True)


def _run(module: Module, name: str, inputs: Sequence[Shaped], holes: list[_Hole] | None) -> list[Expr]:
    function = module.function(name)
    node = function.node

    def filled(call: ast.Name | ast.Call, arguments: Sequence[Shaped]) -> Shaped:
        assert holes is not None
        number = len(holes)
        if not arguments:
            holes.append(_Hole(ex.variable(f"hole {number}", ex.INT), call, None))
            return holes[-1].variable
        variable = ex.variable(f"hole {number}", ex.Sort("int", values=tuple(range(len(arguments)))))
        holes.append(_Hole(variable, call, len(arguments)))
        result = arguments[0]
        for position, option in enumerate(arguments[1:], 1):
            result = _chosen(ex.at_least(variable, ex.constant(position)), option, result)
        return result

    reader = Interpreter(function, holes=filled if holes is not None else None)
    parameters = list(function.parameters)
    if len(parameters) != len(inputs):
        module.wrong(
            node, "ARGUMENTS", f"expected {len(inputs)} parameters, got {len(parameters)}", "Take what the specification takes."
        )
    ended = reader.block(node.body, dict(zip(parameters, inputs, strict=True)))
    if ended.result is None:
        module.wrong(node, "NO_RESULT", f"expected {name} to return a value", "Add a return.")
    return flat(ended.result)


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


def _answer(
    module: Module, template: str, holes: Sequence[_Hole], values: dict[Expr, Value], examples: int, solutions: int, is_only: bool
) -> Completed:
    places: dict[str, Value] = {}
    written: dict[tuple[int, int], ast.expr] = {}
    for hole in holes:
        span = module.span(hole.node)
        value = values[hole.variable]
        places[f"{span.line}:{span.column}"] = value
        if hole.options is None:
            assert isinstance(value, int)
            written[hole.node.lineno, hole.node.col_offset] = ast.Constant(value)
        else:
            assert isinstance(value, int)
            assert isinstance(hole.node, ast.Call)
            written[hole.node.lineno, hole.node.col_offset] = hole.node.args[value]
    node = _Filler(written).visit(copy.deepcopy(module.function(template).node))
    source = ast.unparse(ast.fix_missing_locations(node))
    return Completed("solved", "proved", places, solutions, is_only, source, examples)


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
