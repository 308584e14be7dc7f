"""`warploom scan lift` and `warploom scan check`: operators out of loops, and whether an operator is one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import click

from warploom import scan
from warploom.core import Diagnostic, UserError, read_text_file
from warploom.core.limits import OUT_OF_MEMORY, why
from warploom.tools.command.guard import TOO_DEEP, report
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, Line, plain_line
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome
from warploom.tools.command.usage import Stopwatch


@click.command("lift")
@click.argument("target", metavar="FILE.py:FUNCTION")
@click.option(
    "--keep", metavar="NAMES", default="", help="Loop variables to keep even if no result needs them, separated by commas."
)
@click.option(
    "--style", type=click.Choice(["affine", "greatest", "least"]), help="Hint that values combine by sums, maxima or minima."
)
@JSON_OPTION
@DEBUG_OPTION
@limited
def lift_command(target: str, keep: str, style: scan.Style | None, as_json: bool, debug: bool) -> None:
    """Find the associative operator that computes a serial loop, and prove it for all inputs and lengths."""
    names = [name.strip() for name in keep.split(",") if name.strip()]
    report(target, lambda stopwatch, _: lifted(target, stopwatch, names, style), _text, as_json=as_json, debug=debug)


@click.command("check")
@click.argument("target", metavar="FILE.py:OPERATOR")
@click.option("--commutative", is_flag=True, help="Prove that the operands may be swapped, too.")
@click.option("--floats", is_flag=True, help="Look for floats whose two groupings differ most.")
@click.option(
    "--fix", is_flag=True, help="Offer a lawful operator: for the serial fold of one that is refused, or with an identity."
)
@JSON_OPTION
@DEBUG_OPTION
@limited
def check_command(target: str, commutative: bool, floats: bool, fix: bool, as_json: bool, debug: bool) -> None:
    """Prove that a function of two values is associative, or refuse it with a counterexample."""

    def run(stopwatch: Stopwatch, _: object) -> Outcome:
        return checked(target, stopwatch, commutative=commutative, floats=floats, fix=fix)

    report(target, run, _text, as_json=as_json, debug=debug)


def split_target(target: str) -> tuple[Path, str]:
    """`FILE.py:NAME`, or a file with one function; raises UserError for anything else."""
    file, colon, name = target.rpartition(":")
    if not colon or not name.isidentifier():
        defined = _functions_of(Path(target))
        if len(defined) == 1:
            return Path(target), defined[0]
        example = f", such as {target}:{defined[0]}" if defined else ""
        fix = f"Name the function after a colon{example}."
        raise UserError(Diagnostic("BAD_TARGET", f"expected FILE.py:FUNCTION, got {target!r}", fix=fix))
    return Path(file), name


def _functions_of(path: Path) -> list[str]:
    """Names of the functions at the top level of a file; none where it is no such file."""
    try:
        body = ast.parse(read_text_file(path, "a Python file")).body if path.is_file() else []
    except (UserError, SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return []
    return [node.name for node in body if isinstance(node, ast.FunctionDef)]


def lifted(target: str, stopwatch: Stopwatch, keep: Sequence[str] = (), style: scan.Style | None = None) -> Outcome:
    """The line of one loop; `keep` and `style` are what the user adds to it."""
    path, name = split_target(target)
    return outcome_of(target, lifting_of(scan.read_module(path), name, keep, style), stopwatch)


def lifting_of(module: scan.Module, name: str, keep: Sequence[str] = (), style: scan.Style | None = None) -> scan.Lifting:
    """The operator of one loop; UserError for what is not such a loop."""
    loop = scan.read_loop(module, name, keep)
    return scan.lift(loop, scan.user_function(module, name), scan.STYLES if style is None else [style])


def outcome_of(case: str, result: scan.Lifting, stopwatch: Stopwatch) -> Outcome:
    """The line of one lifting."""
    fields: Line = {}
    if result.verdict == "proved":
        fields["domain"] = result.domain
    elif result.verdict == "tested":
        fields["cases"] = result.cases
    operator = result.operator
    if operator is not None:
        fields |= lift_fields(operator, result)
    line = plain_line(case, result.status, stopwatch.read(), verdict=result.verdict, reason=result.reason, **fields)
    return Outcome(line, EXIT_BY_STATUS[result.status])


def lift_fields(operator: scan.Operator, result: scan.Lifting) -> Line:
    """Fields of a line on an operator."""
    words = scan.operator_in_words(operator) if result.verdict == "proved" and result.domain.startswith("integers") else None
    fields: Line = {
        "kind": "scan" if operator.loop.is_scan else "reduction",
        "fields": [f"{f.value}: {sort_text(f.sort)}" for f in operator.fields],
        "auxiliaries": list(operator.auxiliaries),
        "lift": operator.lift_source(),
        "operator": operator.operator_source(),
        "identity": operator.identity_source(),
        "projection": operator.projection_source(),
        "adjoined": result.adjoined,
        "unannotated": [str(v.value) for v in operator.loop.unannotated],
        "invariants": [scan.python(k) for k in operator.known],
        "tested": result.cases,
    }
    if words is not None:
        fields["int32"] = {"associative": words.associative, "results": words.exact, "safe": words.safe}
        if words.triple is not None:
            fields["int32"] |= {"counterexample": [repr(part) for part in words.triple]}
        if words.differing is not None:
            fields["int32"] |= {"differing": differing_text(operator, words.differing)}
    floats = scan.in_floats(operator)
    if result.verdict == "proved" and floats:
        fields["floats"] = {"safe": floats}
    return fields


def differing_text(operator: scan.Operator, found: scan.Differing) -> str:
    """The difference as a person reads it."""
    names = [str(f.value) for f in operator.loop.constants]
    given = "".join(f", {n} = {scan.written(v)}" for n, v in zip(names, found.constants, strict=True))
    elements = [scan.written(e[0] if len(e) == 1 else e) for e in found.elements]
    return f"of [{', '.join(elements)}]{given} the result is {found.machine}, the loop's is {found.loop}"


def sort_text(sort: scan.Sort) -> str:
    """The sort as a person reads it."""
    if sort.base == "int" and sort.values == (0, 1):
        return "0 or 1"
    text = {"int": "int", "real": "float", "bool": "bool", "text": "str"}[sort.base]
    return text + (" or -inf" if sort.below else "") + (" or inf" if sort.above else "")


def checked(target: str, stopwatch: Stopwatch, *, commutative: bool = False, floats: bool = False, fix: bool = False) -> Outcome:
    """The line of one operator; `commutative`: it must commute, too; `floats`: how far groupings of floats come apart; `fix`: a
    lawful operator is offered."""
    path, name = split_target(target)
    module = scan.read_module(path)
    result = checking_of(module, name)
    function = scan.user_function(module, name)
    more: Line = {}
    if fix:
        result, more = fixed(result, function)
    if commutative and result.status == "solved":
        result, said = _commuting(result, scan.commutes(result.binary, function))
        more |= said
    if floats and result.status == "solved" and (worst := scan.apart(result.binary, function)) is not None:
        more["grouping"] = {"difference": worst.difference, "counterexample": _witness(worst.witness)}
    return checked_outcome(target, result, stopwatch, more)


def _commuting(result: scan.Checked, found: scan.Commutes) -> tuple[scan.Checked, Line]:
    """The result where commuting is asked for."""
    if found.verdict == "proved":
        return result, {"commutative": True}
    if found.pair is None or found.results is None:
        reason = "associative, but neither proved nor refuted that a op b = b op a"
        return replace(result, status="unknown", verdict="unchecked", reason=reason), {}
    (a, b), (first, second) = (tuple(map(scan.written, pair)) for pair in (found.pair, found.results))
    reason = f"associative, but not commutative: with a = {a}, b = {b}: a op b = {first}, b op a = {second}"
    return replace(result, status="refused", verdict="refuted", reason=reason), {"commutative": False}


def fixed(result: scan.Checked, function: Callable[..., object]) -> tuple[scan.Checked, Line]:
    """The result, and what is offered instead of the operator: `fixed`, else `fix_reason`. A limit that ends the search is a
    reason; what was found out of the operator stays."""
    try:
        found = scan.mended(result, function)
    except KeyboardInterrupt as error:
        return result, {"fixed": None, "fix_reason": why(error)}
    except (MemoryError, RecursionError) as error:
        return result, {"fixed": None, "fix_reason": OUT_OF_MEMORY if isinstance(error, MemoryError) else TOO_DEEP}
    if found.is_fault:
        result = replace(result, status="error", verdict="unchecked", reason=found.reason, witness=None)
    if found.lifting is None or found.lifting.operator is None:
        return result, {"fixed": None, "fix_reason": found.reason}
    operator, name = found.lifting.operator, result.binary.name
    elements = ", where the assertions hold of all elements" if operator.loop.assumed else ""
    line: Line = {
        "verdict": found.lifting.verdict,
        "domain": found.lifting.domain,
        "laws": [law.name for law in found.lifting.laws],
        "computes": f"the serial fold from the left, {name}({name}(x0, x1), x2) and so on{elements}",
    }
    parts = result.binary.parts
    if parts:
        line["parts"] = [f"x{part}" for part in parts]
    return result, {"fixed": line | lift_fields(operator, found.lifting)}


def checking_of(module: scan.Module, name: str) -> scan.Checked:
    """Whether an operator is associative; UserError for what cannot be read as one."""
    return scan.check(scan.read_binary(module, name), scan.user_function(module, name))


def checked_outcome(case: str, result: scan.Checked, stopwatch: Stopwatch, more: Line | None = None) -> Outcome:
    """The line of one check, with what else was asked."""
    fields: Line = dict(more or {})
    if result.verdict in ("proved", "refuted"):
        fields["domain"] = result.domain
    if result.witness is not None:
        fields["counterexample"] = _witness(result.witness)
    if result.status == "solved":
        fields["identity"] = scan.written(result.identity) if result.has_identity else None
    if result.machine is not None:
        name = "floats" if result.domain.startswith("reals") else "int32"
        machine: Line = {"associative": result.machine.associative, "safe": result.machine.safe}
        if result.machine.witness is not None:
            machine["counterexample"] = _witness(result.machine.witness)
        fields[name] = machine
    if result.notes:
        fields["notes"] = list(result.notes)
    line = plain_line(case, result.status, stopwatch.read(), verdict=result.verdict, reason=result.reason, **fields)
    return Outcome(line, EXIT_BY_STATUS[result.status])


def _witness(witness: scan.Witness) -> Line:
    a, b, c = (scan.written(v) for v in witness.values)
    return {"a": a, "b": b, "c": c, "left": scan.written(witness.left), "right": scan.written(witness.right)}


def _text(line: Line) -> list[str]:
    """Text for people below the head line."""
    found: list[str] = []
    if "operator" in line:
        found += _operator_text(line)
    elif line["status"] == "solved":
        found.append(
            "  associative"
            + (", commutative" if line.get("commutative") else "")
            + (f", identity {line['identity']}" if line.get("identity") is not None else ", no identity found")
        )
    for name in ("int32", "floats"):
        machine = cast("Line | None", line.get(name))
        if machine is not None:
            said = [f"associativity {machine['associative']}"] if "associative" in machine else []
            said += [f"safe: {machine['safe']}" if said else str(machine["safe"])] if machine.get("safe") else []
            found.append(f"  in {name}: {'; '.join(said)}")
            found += [f"    beyond: {machine['differing']}"] if "differing" in machine else []
    grouping = cast("Line | None", line.get("grouping"))
    if grouping is not None:
        worst = cast("Line", grouping["counterexample"])
        share = cast(float, grouping["difference"])
        shown = ", ".join(f"{name} = {worst[name]}" for name in "abc")
        found.append(f"  floats as they are: two groupings differ by {share:.2g} of the result with {shown}:")
        found.append(f"    (a op b) op c = {worst['left']}, a op (b op c) = {worst['right']}")
    found += [f"  note: {note}" for note in cast("list[str]", line.get("notes", []))]
    return found + _fixed_text(line)


def _operator_text(line: Line) -> list[str]:
    """The operator of a lifting, with what belongs to it, as Python."""
    fields = cast("list[str]", line["fields"])
    source = f"{line['lift']}\n\n{line['operator']}\n\nidentity = {line['identity']}\n\n{line['projection']}"
    body = "\n".join(f"    {row}" if row else "" for row in source.splitlines())
    return [f"  {line['kind']} over ({', '.join(fields)})", body]


def _fixed_text(line: Line) -> list[str]:
    """Lines on the replacement that is offered for an operator that was checked."""
    if "fixed" not in line:
        return []
    offered = cast("Line | None", line["fixed"])
    if offered is None:
        return [f"  nothing offered instead: {line['fix_reason']}"]
    laws = ", ".join(cast("list[str]", offered["laws"]))
    found = [
        f"  offered instead: {offered['verdict']} over {offered['domain']} ({laws})",
        f"  computes {offered['computes']}",
    ]
    if "parts" in offered:
        found.append(f"  an element x is written ({', '.join(cast('list[str]', offered['parts']))})")
    return found + _text(offered | {"status": line["status"]})
