"""C for the CPU: one pass over arrays in the order of the list, and what joins the values of parts that threads passed over.

Whole numbers are 64-bit words, real numbers doubles; the caller sees to it that no intermediate value leaves them. `fold` and
`scan` return -1, or the place of the first element that the loop does not take.
"""

from __future__ import annotations

from dataclasses import replace

from warploom.ctext import CONDITIONAL, PRIMARY
from warploom.scan.emit.body import Body, Slot, Statements, body
from warploom.scan.emit.dialect import C, Dialect, Scalar, Spelling, Types
from warploom.scan.emit.printer import Printer
from warploom.scan.operators.operator import Operator

TYPES = Types("int64", "float64")
_TYPES: dict[Scalar, str] = {"int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64", "bool": "bool"}


def _call(name: str, operands: int) -> Spelling:
    return Spelling(f"{name}({', '.join(f'{{{n}}}' for n in range(operands))})", PRIMARY, CONDITIONAL)


CPU: Dialect = replace(
    C,
    name="C",
    types=_TYPES,
    spellings={
        **C.spellings,
        "max": _call("largest_{T}", 2),
        "min": _call("smallest_{T}", 2),
        "floordiv": _call("floor_quotient", 2),
        "mod": _call("floor_remainder", 2),
        "gcd": _call("greatest_common_divisor", 2),
        "exp": _call("exp", 1),
        "log": _call("log", 1),
        "sqrt": _call("sqrt", 1),
    },
    below={"int32": "INT_BELOW", "int64": "INT_BELOW", "float32": "(-(f64)INFINITY)", "float64": "(-(f64)INFINITY)"},
    above={"int32": "INT_ABOVE", "int64": "INT_ABOVE", "float32": "((f64)INFINITY)", "float64": "((f64)INFINITY)"},
)

_HEAD = """#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef int32_t i32;
typedef int64_t i64;
typedef float f32;
typedef double f64;
#define INT_BELOW INT64_MIN
#define INT_ABOVE INT64_MAX

static inline i64 largest_i64(i64 a, i64 b) { return b > a ? b : a; }
static inline i64 smallest_i64(i64 a, i64 b) { return b < a ? b : a; }
static inline f64 largest_f64(f64 a, f64 b) { return b > a ? b : a; }
static inline f64 smallest_f64(f64 a, f64 b) { return b < a ? b : a; }
static inline i64 floor_quotient(i64 a, i64 n) { return a / n - (a % n < 0); }
static inline i64 floor_remainder(i64 a, i64 n) { i64 r = a % n; return r < 0 ? r + n : r; }
static inline i64 greatest_common_divisor(i64 a, i64 b) {
    while (b != 0) { i64 r = a % b; a = b; b = r; }
    return a < 0 ? -a : a;
}
"""
_PASSES = """
i64 value_bytes(void) { return sizeof(Value); }

void join(const Value* left, const Value* behind, Value* into@PARAMETERS@) { *into = combine(*left, *behind@GIVEN@); }

void finish(const Value* value@OUTPUTS@@PARAMETERS@) { project(*value, 0@WRITTEN@@GIVEN@); }

i64 fold(i64 n@INPUTS@, Value* into@PARAMETERS@) {
    Value v;
    for (i64 i = 0; i < n; ++i) {
@READ@        if (!meant(@ELEMENT@)) return i;
        Value e = lift(@ELEMENT@);
        v = i ? combine(v, e@GIVEN@) : e;
    }
    *into = v;
    return -1;
}

i64 scan(i64 n@INPUTS@@OUTPUTS@, const Value* before@PARAMETERS@) {
    Value v;
    for (i64 i = 0; i < n; ++i) {
@READ@        if (!meant(@ELEMENT@)) return i;
        Value e = lift(@ELEMENT@);
        v = i ? combine(v, e@GIVEN@) : before ? combine(*before, e@GIVEN@) : e;
        project(v, i@WRITTEN@@GIVEN@);
    }
    return -1;
}
"""


def c_body(operator: Operator) -> Body:
    """The operator with names and types for this text. UnsupportedError for what C cannot express."""
    return body(operator, CPU, TYPES)


def c_source(operator: Operator) -> str:
    """The text of `fold`, `scan`, `join`, `finish` and `value_bytes`. UnsupportedError for what C cannot express."""
    ready = c_body(operator)
    kind = _TYPES
    given = [s.name for s in ready.constants]
    inputs = [f"const {_stored(s)}* {s.name}_pointer" for s in ready.elements]
    outputs = [f"{_stored(s)}* {s.name}_out" for s in ready.outputs]
    parameters = [f"{kind[s.scalar]} {s.name}" for s in ready.constants]
    elements = [f"{kind[s.scalar]} {s.name}" for s in ready.elements]
    parts = {
        "PARAMETERS": _more(parameters),
        "GIVEN": _more(given),
        "INPUTS": _more(inputs),
        "OUTPUTS": _more(outputs),
        "WRITTEN": _more([f"{s.name}_out" for s in ready.outputs]),
        "ELEMENT": ", ".join([*(s.name for s in ready.elements), *given]),
        "READ": "".join(f"        {kind[s.scalar]} {s.name} = {s.name}_pointer[i];\n" for s in ready.elements),
    }
    passes = _PASSES
    for name, text in parts.items():
        passes = passes.replace(f"@{name}@", text)
    project = ready.project("a.{}")
    functions = [
        "typedef struct {",
        *[f"    {kind[s.scalar]} {s.name};" for s in ready.fields],
        "} Value;",
        "",
        f"static inline bool meant({', '.join([*elements, *parameters])}) {{ return {_meant(ready)}; }}",
        "",
        f"static inline Value lift({', '.join([*elements, *parameters])}) {{",
        *_value(ready, ready.lift()),
        "}",
        "",
        f"static inline Value combine(Value a, Value b{_more(parameters)}) {{",
        *_value(ready, ready.combine()),
        "}",
        "",
        f"static inline void project(Value a, i64 i{_more(outputs)}{_more(parameters)}) {{",
        *_temporaries(project),
        *[f"    {s.name}_out[i] = {text};" for s, text in zip(ready.outputs, project.results, strict=True)],
        "}",
    ]
    return "\n".join([_HEAD, *functions]) + "\n" + passes


def _stored(slot: Slot) -> str:
    return _TYPES[slot.scalar]


def _more(parts: list[str]) -> str:
    return "".join(f", {p}" for p in parts)


def _temporaries(statements: Statements) -> list[str]:
    return [f"    {_TYPES[scalar]} {name} = {text};" for scalar, name, text in statements.temporaries]


def _value(ready: Body, statements: Statements) -> list[str]:
    lines = _temporaries(statements)
    parts = (f"r.{s.name} = {text};" for s, text in zip(ready.fields, statements.results, strict=True))
    return [*lines, "    Value r;", *(f"    {p}" for p in parts), "    return r;"]


def _meant(ready: Body) -> str:
    """Whether the loop takes an element."""
    names = {s.expr: s.name for s in (*ready.elements, *ready.constants) if s.expr is not None}
    printer = Printer(CPU, ready.types, names, {})
    tests = [f"({printer.text(a)})" for a in ready.operator.loop.assumed]
    for slot in ready.elements:
        values = slot.expr.sort.values if slot.expr is not None else None
        if values is not None and slot.scalar != "bool":
            tests.append(f"({' || '.join(f'{slot.name} == {printer.constant(v, slot.scalar)}' for v in values)})")
    return " && ".join(tests) or "true"


__all__ = ["TYPES", "c_body", "c_source"]
