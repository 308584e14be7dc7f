"""`warploom ptx prove`: a kernel of any PTX file against a plain Python spec, on symbolic data.

The spec takes the kernel's parameters in their order, arrays as NumPy arrays and numbers as numbers, and is run as it stands:

    def spec(out: "f32[1024]", a: "f32[1024]", n=1024):
        for i in range(n):
            out[i] = a[i] * 2

Shapes and values come from annotations and defaults or from `--arg [INDEX=]SPEC`, which goes before them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, cast

import click
import numpy as np

from warploom.core import BY_NAME, Diagnostic, DType, Span, Status, UnsupportedError, UserError
from warploom.ir import IndexConst
from warploom.ptx import TYPE_BITS, Program, Routine, Variable
from warploom.sketch import ArrayType
from warploom.synth import Completion
from warploom.synth.compiled import (
    Access,
    Argument,
    ArrayArgument,
    CompiledProof,
    Content,
    ScalarArgument,
    Symbol,
    check_parameters,
    prove_compiled,
    prove_launch,
    run_on_numbers,
    run_plain_spec,
)
from warploom.tools.command.guard import guarded
from warploom.tools.command.interrupts import Interrupts
from warploom.tools.command.limited import limited
from warploom.tools.command.lines import EXIT_BY_STATUS, GAVE_UP, INTERRUPTED, Line, combined_exit, plain_line
from warploom.tools.command.messages import one_line, rendered
from warploom.tools.command.options import DEBUG_OPTION, JSON_OPTION
from warploom.tools.command.outcome import Outcome, Progress
from warploom.tools.command.output import Output
from warploom.tools.command.usage import Stopwatch
from warploom.tools.ptx.arguments import SHARED_FIX, Triple, by_index, launch_options, launch_texts, shape_of, triple
from warploom.tools.ptx.check import read_good_ptx
from warploom.tools.ptx.replay import Replay, replay
from warploom.tools.ptx.specs import load_spec
from warploom.tools.synth.targets import Target

STATUS_OF: Mapping[str, Status] = {"proved": "solved", "refuted": "refused", "unchecked": "unknown"}
_ARRAY = re.compile(
    r"(?P<content>(?:zeros|empty|ones|arange|random):)?(?P<type>[a-z]+\d+|[a-z]+[24])"
    r"(?:\[(?P<shape>[^\]]*)\]|:(?P<count>\d+(?:x\d+)*)(?::\d+)?)\Z"
)
_SCALAR = re.compile(r"(?P<type>[a-z]+\d+)(?::(?P<value>.+))?\Z")
ARGUMENT_FORMS = "f32[1024], zeros:f32:1024 or a file x.npy for an array; i32:1024 for a number, f32 for a symbolic one"
SYMBOLIC_HELP = (
    f"Argument of a parameter, in their order or by index: {ARGUMENT_FORMS}. Only zeros are taken as they stand: what else fills"
    " an array, as in the arguments of `lint`, is proved for any numbers."
)
_SYMBOL_FORMS = "f32[17] or zeros:f32[17] for what the host set before the launch, initial for what the file gives it"


@click.command("prove")
@click.argument("file", metavar="FILE")
@click.option("--kernel", metavar="K", help="Name of the kernel; needed if the file has several.")
@click.option(
    "--spec", "spec_at", metavar="FILE.py:FUNC", required=True, help="Python function that says what the kernel must compute."
)
@launch_options
@click.option("--arg", "given", metavar="[INDEX=]SPEC", multiple=True, help=SYMBOLIC_HELP)
@click.option(
    "--symbol", "symbol_texts", metavar="NAME=...", multiple=True, help=f"Content of a module variable: {_SYMBOL_FORMS}."
)
@click.option("--shared", "shared_bytes", type=click.IntRange(min=0), default=0, help="Bytes of dynamic shared memory.")
@click.option(
    "--algebra", metavar="NAME", help="Laws used to compare terms; default: reals for floats, machine words for integers."
)
@JSON_OPTION
@DEBUG_OPTION
@limited
def prove(
    file: str,
    kernel: str | None,
    spec_at: str,
    launched: tuple[str, str] | None,
    grid: str | None,
    block: str | None,
    given: tuple[str, ...],
    symbol_texts: tuple[str, ...],
    shared_bytes: int,
    algebra: str | None,
    as_json: bool,
    debug: bool,
) -> None:
    """Prove that a PTX kernel stores what a plain Python spec says and has no race, on symbolic data."""
    output, stopwatch = Output(as_json), Stopwatch()

    def work(_: Progress) -> Outcome:
        return prove_file(
            file, kernel, spec_at, launch_texts(launched, grid, block), given, stopwatch,
            symbol_texts=symbol_texts, shared_bytes=shared_bytes, algebra=algebra,
        )  # fmt: skip

    with Interrupts() as stopped:
        code = output.outcome(guarded(_case(file, kernel), work, stopwatch, output, debug))
    sys.exit(INTERRUPTED if stopped.seen else code)


def _case(file: str, kernel: str | None) -> str:
    return f"{file}:{kernel}" if kernel else file


def prove_file(
    file: str,
    kernel: str | None,
    spec_at: str,
    launched: tuple[str, str],
    given: tuple[str, ...],
    stopwatch: Stopwatch,
    *,
    symbol_texts: tuple[str, ...] = (),
    shared_bytes: int = 0,
    algebra: str | None = None,
) -> Outcome:
    """The line of one proof. UserError for bad input; kernels that are not followed are unknown."""
    try:
        program = read_good_ptx(file)
        program.kernel(kernel)
        spec = load_spec(spec_at)
        launch = triple(launched[0], "grid"), triple(launched[1], "block")
    except UnsupportedError as error:
        return _not_followed(_case(file, kernel), error, stopwatch)
    return prove_program(
        file,
        program,
        kernel,
        spec,
        launch,
        given,
        stopwatch,
        symbol_texts=symbol_texts,
        shared_bytes=shared_bytes,
        algebra=algebra,
    )


def _not_followed(case: str, error: UnsupportedError, stopwatch: Stopwatch) -> Outcome:
    line = plain_line(case, "unknown", stopwatch.read(), reason=one_line(error.diagnostics[0]))
    return Outcome(line, GAVE_UP, messages=rendered(error.diagnostics))


def prove_program(
    file: str,
    program: Program,
    kernel: str | None,
    spec: Callable[..., Any],
    launch: tuple[Triple, Triple],
    given: tuple[str, ...],
    stopwatch: Stopwatch,
    *,
    symbol_texts: tuple[str, ...] = (),
    shared_bytes: int = 0,
    algebra: str | None = None,
) -> Outcome:
    """The line of one proof; `launch`: blocks and threads of a block. UserError for bad input."""
    try:
        return _proved(file, program, kernel, spec, launch, given, stopwatch, symbol_texts, shared_bytes, algebra)
    except UnsupportedError as error:
        return _not_followed(_case(file, kernel), error, stopwatch)


def _proved(
    file: str, program: Program, kernel: str | None, spec: Callable[..., Any], launch: tuple[Triple, Triple],
    given: tuple[str, ...], stopwatch: Stopwatch, symbol_texts: tuple[str, ...], shared_bytes: int, algebra: str | None,
) -> Outcome:  # fmt: skip
    routine = program.kernel(kernel)
    symbols = read_symbols(program, symbol_texts)
    arguments = bind_arguments(routine, spec, given, symbols)
    variables = tuple(s for s in symbols.values() if isinstance(s, ArrayArgument))
    wanted = run_plain_spec(spec, (*arguments, *variables), algebra)
    proof = prove_launch(program, routine.name, arguments, *launch, wanted, dynamic_shared_bytes=shared_bytes, symbols=symbols)
    status, shown, extra = STATUS_OF[proof.verdict], Line(), ()
    if proof.verdict == "refuted":
        gathers = next((w.gathers for w in wanted.values()), None)
        again = replay(
            program, routine.name, partial(run_on_numbers, spec, (*arguments, *variables)), arguments, symbols, launch,
            shared_bytes, proof, gathers.ranges if gathers is not None else {},
        )  # fmt: skip
        if again.is_shown and proof.difference is not None:
            shown, extra = _replayed(again)
        elif not again.is_shown:
            status, proof = not_shown(proof, again)
    line = plain_line(_case(file, routine.name), status, stopwatch.read(), verdict=proof.verdict, reason=proof.reason)
    fields = proof_fields(proof)
    if shown:
        fields["differing"] = {**cast("Line", fields["differing"]), **shown}
    line |= {"kernel": routine.name, "grid": list(launch[0]), "block": list(launch[1])} | fields
    messages = (*proof_messages(proof, program), *extra)
    return Outcome(line, EXIT_BY_STATUS[status] if status != "error" else GAVE_UP, messages=messages)


def _replayed(again: Replay) -> tuple[Line, tuple[str, ...]]:
    """Fields and message for a difference that was run: both values, and the numbers at which they differ."""
    return again.fields, (f"{again.told}the spec gives {again.expected}, the kernel {again.found}",)


def not_shown(proof: CompiledProof, again: Replay) -> tuple[Status, CompiledProof]:
    """Status and proof for a refutation that its replay does not show: open, or a bug of Warploom where exact numbers contradict
    it."""
    if again.is_bug:
        reason = f"a bug of Warploom: its judges disagree, the symbolic run finds {proof.reason}; {again.reason}"
        return "error", replace(proof, verdict="unchecked", reason=reason, fault=None, difference=None)
    reason = f"not shown by a run: {proof.reason}; {again.reason}"
    return "unknown", replace(proof, verdict="unchecked", reason=reason)


def proof_fields(proof: CompiledProof) -> Line:
    """Fields of a report line: `domain`, and what refutes: `differing`, `race` or `fault`."""
    found: Line = {}
    if proof.domain:
        found["domain"] = proof.domain
    if proof.instances:
        found["instances"] = [dict(sizes) for sizes in proof.instances]
    if (difference := proof.difference) is not None:
        found["differing"] = {
            "array": difference.array, "index": list(difference.index), "expected": difference.expected,
            "found": difference.found, "line": difference.line,
        }  # fmt: skip
    if (fault := proof.fault) is not None and fault.kind == "race":
        first, second = fault.accesses
        found["race"] = {"element": fault.element, "first": _access_fields(first), "second": _access_fields(second)}
    elif fault is not None:
        found["fault"] = {"kind": fault.kind, "message": fault.message, "line": fault.span.line}
        if fault.accesses:
            found["fault"] |= {"access": _access_fields(fault.accesses[0])}
    return found


def _access_fields(access: Access) -> dict[str, object]:
    return {"what": access.what, "line": access.line, "block": list(access.block), "thread": list(access.thread)}


def proof_messages(proof: CompiledProof, program: Program) -> tuple[str, ...]:
    if proof.fault is not None:
        notes = ()
        if proof.fault.kind == "race":
            span = proof.fault.span
            notes = tuple((str(a), Span(span.file, a.line, 1, a.line, 1)) for a in proof.fault.accesses[:1])
        code = proof.fault.kind.upper().replace(" ", "_").replace("-", "_")
        outside = program.variables.get(proof.fault.element) if proof.fault.kind == "out of bounds" else None
        fix = SHARED_FIX if outside is not None and outside.space == "shared" and not outside.size_bytes else ""
        return rendered((Diagnostic(code, proof.fault.message, proof.fault.span, fix, notes),))
    if proof.difference is not None and proof.difference.line is not None:
        line = proof.difference.line
        text = program.module.text.splitlines()[line - 1]
        start = len(text) - len(text.lstrip()) + 1
        code = "DIFFERENT" if proof.verdict == "refuted" else "NOT_SHOWN_EQUAL"
        return rendered((Diagnostic(code, proof.reason, Span(program.module.file, line, start, line, len(text) + 1, text)),))
    return (proof.reason,) if proof.reason else ()


def ptx_field(target: Target, completion: Completion, arch: str = "sm_90") -> Line:
    """The field `ptx` of `synth --prove-ptx`: `verdict`, `domain`, `seconds`, `instances`, and what refutes or stopped it."""
    try:
        proof = prove_compiled(target.sketch, completion, arch=arch)
    except UserError as error:
        return {"verdict": "unchecked", "reason": one_line(error.diagnostics[0])}
    found: Line = {"verdict": proof.verdict, "seconds": round(proof.seconds, 3), "arch": arch}
    return found | ({"reason": proof.reason} if proof.reason else {}) | proof_fields(proof)


def with_ptx(outcome: Outcome, field: Line) -> Outcome:
    """A solved completion with its field `ptx`. Where the two proofs disagree nothing is proved, and the fault is Warploom's."""
    line = outcome.line | {"ptx": field}
    if field["verdict"] == "refuted":
        reason = f"a bug of Warploom: its judges disagree, the sketch is solved and its PTX refuted: {field.get('reason', '')}"
        for name in ("domain", "proved_at", "optimal_in"):
            line.pop(name, None)
        line |= {"status": "error", "verdict": "unchecked", "reason": reason}
        hint = f"{reason}\n  fix: report it together with the sketch."
        return Outcome(line, GAVE_UP, messages=(*outcome.messages, hint), written=outcome.written)
    code = outcome.exit_code if field["verdict"] == "proved" else GAVE_UP
    return replace(outcome, line=line, exit_code=combined_exit((outcome.exit_code, code)))


# ---------------------------------------------------------------- the spec and its arguments


def read_symbols(program: Program, texts: tuple[str, ...]) -> dict[str, Symbol]:
    """Values that `--symbol` gives to the module's variables; UserError: SYMBOL."""
    found: dict[str, Symbol] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        name, rest = name.strip(), rest.strip()
        array = _array(rest)
        if not equals or name in found or (rest != "initial" and array is None):
            message = f"expected NAME=f32[17] or NAME=initial, each name once, got {text!r}"
            raise UserError(Diagnostic("SYMBOL", message, fix=f"Write {_SYMBOL_FORMS}."))
        if array is None:
            found[name] = "initial"
            continue
        variable = program.variables.get(name)
        content, dtype, shape = array
        if content == "undefined" and variable is not None:
            message = f"expected symbols or zeros in {name}, a variable of the module is never without content"
            raise UserError(Diagnostic("SYMBOL", message, variable.span, f"Write {_SYMBOL_FORMS}."))
        found[name] = ArrayArgument(name, dtype, shape, "zeros" if content != "symbols" else "symbols")
    return found


def bind_arguments(
    routine: Routine, spec: Callable[..., Any], given: tuple[str, ...], symbols: Mapping[str, Symbol] | None = None
) -> tuple[Argument, ...]:
    """An argument per kernel parameter from `--arg`, the spec's annotations and defaults.

    Further parameters of the spec are variables of the module, by the names in `symbols`.

    UserError: SPEC_PARAMETERS, LAUNCH_ARGUMENTS, ARG_FORM, ARG_MISSING (all of them at once).
    """
    variables = [name for name, told in (symbols or {}).items() if isinstance(told, ArrayArgument)]
    names = check_parameters(spec, len(routine.parameters), routine.name, variables)
    texts = by_index(given, len(names), routine.name)
    found: list[Argument] = []
    missing: list[Diagnostic] = []
    for k, (parameter, variable) in enumerate(zip(names, routine.parameters, strict=True)):
        argument = _argument(parameter, variable, texts.get(k), spec)
        if argument is None:
            form = f"--arg {k}=f32[1024]" if variable.size_bytes == 8 else f"--arg {k}=i32:1024"
            message = f"expected a shape or value for parameter {k} ({parameter.name}, .{variable.type} in the PTX), got none"
            missing.append(Diagnostic("ARG_MISSING", message, variable.span, f"Add for example {form}, or annotate the spec."))
        else:
            found.append(argument)
    if missing:
        raise UserError(*missing)
    return tuple(found)


def _argument(parameter: inspect.Parameter, variable: Variable, text: str | None, spec: Callable[..., Any]) -> Argument | None:
    if text is not None:
        return read_argument(text, parameter.name, variable)
    annotation = _annotation(parameter, spec)
    default: Any = None if parameter.default is inspect.Parameter.empty else parameter.default
    match annotation:
        case str() if annotation:
            read = read_argument(annotation, parameter.name, variable)
            if isinstance(read, ScalarArgument) and read.value is None and default is not None:
                return ScalarArgument(read.name, read.dtype, default)
            return read
        case ArrayType(dtype=dtype, shape=shape):
            extents = [e.value for e in shape if isinstance(e, IndexConst)]
            if len(extents) < len(shape):
                return None
            return ArrayArgument(parameter.name, dtype, tuple(int(e) for e in extents))
        case DType():
            return ScalarArgument(parameter.name, annotation, default)
        case _:
            pass
    if isinstance(default, int | float):
        return ScalarArgument(parameter.name, _type_of(variable, default), default)
    return None


def _annotation(parameter: inspect.Parameter, spec: Callable[..., Any]) -> Any:
    annotation: Any = parameter.annotation
    if annotation is inspect.Parameter.empty:
        return None
    if isinstance(annotation, str):
        text = annotation.strip("'\" ")
        if _array(text) is not None or _SCALAR.match(text):
            return text
        try:
            return inspect.get_annotations(spec, eval_str=True)[parameter.name]
        except Exception:  # a text of the user's that is no expression of Python says nothing
            return None
    return annotation


def _type_of(variable: Variable, value: float) -> DType:
    bits = TYPE_BITS[variable.type]
    if variable.type[0] == "f":
        return BY_NAME[variable.type]
    return BY_NAME[f"{'i' if value < 0 else 'u'}{bits}"]


def read_argument(text: str, name: str, variable: Variable) -> Argument:
    """`f32[1024]`, `zeros:f32:1024`, `x.npy`, `i32:1024`, `f32`."""
    if variable.dimensions:
        message = (
            f"expected a number or an address as parameter {variable.name}, it is a structure of {variable.size_bytes} bytes"
        )
        raise UnsupportedError(Diagnostic("PTX_PROVE_UNSUPPORTED", message, variable.span))
    if text.endswith(".npy"):
        return _from_file(text, name, variable)
    scalar = _SCALAR.match(text)
    dtype = _type(scalar["type"]) if scalar is not None else None
    if scalar is not None and dtype is not None and dtype.lanes == 1 and dtype.bits == 8 * variable.size_bytes:
        return ScalarArgument(name, dtype, _number(scalar["value"], dtype, text, variable))
    array = _array(text)
    if array is None or variable.size_bytes != 8:
        message = f"expected an argument for .{variable.type} parameter {variable.name}, got {text!r}"
        raise UserError(Diagnostic("ARG_FORM", message, variable.span, f"Write {ARGUMENT_FORMS}."))
    content, dtype, shape = array
    return ArrayArgument(name, dtype, shape, content)


def _array(text: str) -> tuple[Content, DType, tuple[int, ...]] | None:
    """Content, type and shape of `f32[64,32]`, `zeros:f32:64x32` and the like; None where the text is no array."""
    array = _ARRAY.match(text)
    if array is None:
        return None
    dtype, shape = _type(array["type"]), shape_of(array["shape"] or array["count"] or "")
    if dtype is None or shape is None:
        return None
    match array["content"]:
        case "zeros:":
            return "zeros", dtype, shape
        case "empty:":
            return "undefined", dtype, shape
        case _:
            return "symbols", dtype, shape


def _type(name: str) -> DType | None:
    """A type by its name, also by PTX's for integers: s32 is i32, b32 is u32."""
    return BY_NAME.get(name) or BY_NAME.get(re.sub(r"^b(?=\d)", "u", re.sub(r"^s(?=\d)", "i", name)))


def _number(text: str | None, dtype: DType, whole: str, variable: Variable) -> int | float | None:
    if text is None:
        return None
    try:
        return float(text) if dtype.is_float else int(text, 0)
    except ValueError:
        message = f"expected a number of type {dtype}, got {whole!r}"
        raise UserError(Diagnostic("ARG_FORM", message, variable.span, f"Write {ARGUMENT_FORMS}.")) from None


def _from_file(text: str, name: str, variable: Variable) -> ArrayArgument:
    """Shape and type of the array in a file; its numbers are not read."""
    try:
        array = np.lib.format.open_memmap(text, mode="r")
    except (OSError, ValueError, EOFError) as error:
        raise UserError(Diagnostic("ARG_FORM", f"expected a NumPy file at {text}, got: {error}", variable.span)) from error
    letter = {"i": "i", "u": "u", "f": "f"}.get(array.dtype.kind, "")
    dtype = BY_NAME.get(f"{letter}{8 * array.dtype.itemsize}")
    if dtype is None:
        raise UserError(Diagnostic("ARG_FORM", f"expected integers or floats in {text}, got {array.dtype}", variable.span))
    return ArrayArgument(name, dtype, tuple(array.shape))
