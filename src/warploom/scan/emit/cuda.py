"""CUDA C++: scans and reductions of a warp, a block and a whole array, for any operator.

The data movement is one text (`scan.cu`, `device.cu`) that never looks at a value: it moves values whole and hands them to
`lift`, `combine`, `identity` and `project`. That makes it provable apart from the operator (`movement`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

from warploom.core.intervals import Interval
from warploom.ctext import SHUFFLES, integer
from warploom.gpu import index_c
from warploom.ir import IndexBinary, IndexConst, IndexExpr, IndexVar, map_index
from warploom.machines import WARP_LANES as WARP
from warploom.operations import BY_NAME
from warploom.scan.emit.body import Body, Slot, Statements, body
from warploom.scan.emit.dialect import C, Scalar, Types
from warploom.scan.emit.printer import unserved
from warploom.scan.networks import NAMED, Generalised, Program, generalise, is_scan
from warploom.scan.operators.expression import variables
from warploom.scan.operators.operator import Operator
from warploom.scan.variants import FORWARD, ScanForm, variant_operator

Bodies = Literal["inlined", "opaque"]
"""The operator's functions are inlined, or they are calls of functions that stand elsewhere (truth values are whole numbers
then)."""
SIZES: dict[Scalar, int] = {"int32": 4, "int64": 8, "float32": 4, "float64": 8, "bool": 1}
_HERE = Path(__file__).parent
_TILE_BYTES = 128
"""Most bytes of the values that one thread of a device-wide kernel combines."""
_STAGING_BYTES = 40_000
"""Most bytes of shared memory for a tile; 48 KiB is the limit of static shared memory."""
_EMPTY, _WRONG = 5_000_000, 6_000_000
"""Codes of no interval, and of neighbours that were not; `first * 2048 + last` for intervals."""
SPAN = 2048
Kernel: TypeAlias = Literal[
    "scan_warp", "scan_warp_exclusive", "scan_block", "scan_block_exclusive", "reduce_warp", "reduce_block", "scan_device",
    "scan_device_exclusive", "reduce_device", "scan_block_shared", "scan_block_shared_exclusive",
]  # fmt: skip
KERNELS: tuple[Kernel, ...] = (
    "scan_warp", "scan_warp_exclusive", "reduce_warp", "scan_block", "scan_block_exclusive", "reduce_block", "scan_device",
    "scan_device_exclusive", "reduce_device",
)  # fmt: skip
SHARED_KERNELS: tuple[Kernel, ...] = ("scan_block_shared", "scan_block_shared_exclusive")
"""Kernels of `shared.cu`: a network of all elements of a block."""


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices that change only the speed, not the results."""

    network: str = "kogge-stone"
    """Network of a warp; a name of `scan.networks`."""
    threads: int = 256
    """Threads per block of the device-wide kernels; a multiple of 32, at most 1024."""
    items: int | None = None
    """Elements per thread of the device-wide kernels; None: as many as fit."""


@dataclass(frozen=True, slots=True)
class CudaScan:
    """Source text and what a launch must know."""

    source: str
    body: Body
    choices: Choices
    items: int
    value_bytes: int
    """`sizeof(Value)`."""
    plain: Operator
    """The loop's operator; that of `body` combines what the form needs."""
    form: ScanForm = FORWARD
    columns: int | None = None
    """Threads of a block of the kernels on shared memory; None: there are none."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels of the text, in order; reductions only where the form is plain."""
        found: list[Kernel] = [k for k in KERNELS if self.form.is_plain or not k.startswith("reduce")]
        return (*found, *(SHARED_KERNELS if self.columns is not None else ()))

    @property
    def tile(self) -> int:
        """Elements per block of the device-wide kernels."""
        return self.choices.threads * self.items


def cuda_scan(
    operator: Operator, types: Types | None = None, choices: Choices | None = None, bodies: Bodies = "inlined",
    form: ScanForm | None = None, has_whole_arrays: bool | None = None,
) -> CudaScan:  # fmt: skip
    """UnsupportedError for what CUDA C++ cannot express.

    has_whole_arrays: whether kernels of whole arrays are in; None: where the functions are inlined.
    """
    form = form or FORWARD
    ready = body(variant_operator(operator, form), C, types or Types())
    if form.is_by_key:
        *others, key, before = ready.elements
        ready = replace(ready, elements=(*others, key, replace(before, before=key.name)))
    if ready.uses_constants(variables(*operator.combine)):
        raise unserved("an operator that depends on the function's other parameters", "CUDA")
    ready = _widened(ready) if bodies != "inlined" else replace(ready, fields=_whole(ready.fields))
    if not ready.fields:
        raise unserved("an operator that carries nothing", "CUDA")
    chosen = choices or Choices()
    size = struct_bytes([s.scalar for s in ready.fields])
    staged = max(struct_bytes([s.scalar for s in part]) for part in (ready.elements, ready.outputs))
    most = max(1, min(16, _TILE_BYTES // size, _STAGING_BYTES // (chosen.threads * max(1, staged))))
    items = chosen.items or 1 << (most.bit_length() - 1)
    text = (_HERE / "scan.cu").read_text()
    if has_whole_arrays or (has_whole_arrays is None and bodies == "inlined"):
        text += (_HERE / "device.cu").read_text()
    text = re.sub(r"@REDUCTIONS\{@(.*?)@\}REDUCTIONS@", r"\1" if form.is_plain else "", text, flags=re.S)
    for name, value in (_parts(ready, chosen, items, bodies) | form_parts(form, ready, bodies)).items():
        text = text.replace(f"@{name}@", value)
    return CudaScan(_head(operator, ready, form) + text, ready, chosen, items, size, operator, form)


def struct_bytes(scalars: Sequence[Scalar]) -> int:
    """Size of a C struct."""
    end, most = 0, 1
    for scalar in scalars:
        size = SIZES[scalar]
        end, most = -(-end // size) * size + size, max(most, size)
    return -(-end // most) * most


def warp_program(name: str) -> Program:
    """The SIMD loop of a named network; raises UnsupportedError where it is no scan for every operator."""
    found = generalise(NAMED[name](16)) if name in NAMED else None
    if not isinstance(found, Generalised) or not is_scan(found.program, WARP, "strict"):
        raise unserved(f"the network {name}, which is no scan of 32 columns for every associative operator", "a warp")
    return found.program


def warp_steps(program: Program) -> list[tuple[str, str]]:
    """Guard and source of every step of 32 lanes, as C over the lane `i`; empty steps are left out."""
    found: list[tuple[str, str]] = []
    for at in program.steps(WARP):
        if not at.destinations.size:
            continue
        numbers = {"d": at.offset, "e": at.offset * at.radix, "h": at.below, "t": at.turn}
        move = program.phases[at.phase].move
        found.append((_lane_text(move.guard, numbers), _lane_text(move.source, numbers)))
    return found


def _lane_text(expr: IndexExpr, numbers: dict[str, int]) -> str:
    """C text over the lane `i`."""
    known = map_index(expr, lambda e: IndexConst(numbers[e.name]) if isinstance(e, IndexVar) and e.name in numbers else None)
    return index_c(known, {IndexVar("i"): Interval(0, WARP - 1)})


def _distance(program: Program, step: int) -> int | None:
    """The d of a source `i - d`."""
    steps = [at for at in program.steps(WARP) if at.destinations.size]
    at = steps[step]
    match program.phases[at.phase].move.source:
        case IndexBinary(op="-", lhs=IndexVar(name="i"), rhs=IndexVar(name="d")):
            return at.offset
        case _:
            return None


def _steps_text(name: str) -> str:
    program = warp_program(name)
    lines: list[str] = []
    for number, (guard, source) in enumerate(warp_steps(program)):
        distance = _distance(program, number)
        lines.append(f"    left = shuffle(v, {source});" if distance is None else f"    left = shuffle_up(v, {distance});")
        lines.append(f"    if ({guard}) v = combine(left, v);")
    return "\n".join(lines)


def _widened(ready: Body) -> Body:
    """Truth values as whole numbers, so that every field can carry an interval."""
    return replace(ready, fields=_whole(ready.fields), elements=_whole(ready.elements), outputs=_whole(ready.outputs))


def _whole(slots: tuple[Slot, ...]) -> tuple[Slot, ...]:
    """Truth values as words, which shuffles move as they are."""
    return tuple(replace(s, scalar="int32") if s.scalar == "bool" else s for s in slots)


def form_parts(form: ScanForm, ready: Body, bodies: Bodies = "inlined") -> dict[str, str]:
    """Replacements for what differs from a forward scan over one segment: places of elements, what is left out."""
    backward, segmented = form.is_backward, form.is_segmented
    functions: list[str] = []
    if segmented:
        functions += _outside(ready, bodies)
    if backward:
        functions += _MIRRORED
    meaning = "// A warp's (block's) elements are a list of their own; element i of the results is for the i-th of them."
    if backward:
        meaning += "\n// It combines the elements from the i-th on, in their order; exclusive: those after it."
    if form.is_by_key:
        key = ready.arrays[-1].name
        meaning += f"\n// `{key}`: an element whose key is not that of the element before is the first of its segment."
    elif segmented:
        meaning += (
            f"\n// `{ready.elements[-1].name}`: whether an element is the {'last' if backward else 'first'} of its segment."
        )
    mirrored = "\n    i = mirrored(i, {}, {}, n);"
    return {
        "MEANING": meaning,
        "FORM": "".join(f"{line}\n" for line in functions),
        "MIRRORED_IN_WARP": mirrored.format("lane", "32") if backward else "",
        "MIRRORED_IN_BLOCK": mirrored.format("threadIdx.x", "blockDim.x") if backward else "",
        "MIRRORED_IN_CELLS": mirrored.format("k", "COLUMNS") if backward else "",
        "AT": "n - 1 - start - j" if backward else "start + j",
        "FIRST": "n - TILE - start" if backward else "start",
        "PACK": "THREADS * PACKS - 1 - pack" if backward else "pack",
        "MIRRORED_PACK": "mirrored" if backward else "",
        "MIRROR": _MIRROR if backward else "",
        "EDGE": "".join(
            f"\n    if (thread == 0) staging.elements.{s.name} = start < n ? input.{s.before}[start > 0 ? start - 1 : 0] : 0;"
            for s in ready.elements
            if s.before
        ),
        "OWN": "\n    Value own = v;" if segmented else "",
        "OUTSIDE": "\n        v = outside(v, own);" if segmented else "",
        "BEFORE": "outside(before, own)" if segmented else "before",
    }


def _outside(ready: Body, bodies: Bodies) -> list[str]:
    comment = (
        "// What an exclusive scan has for an element: `before`, or nothing where its own value is at the edge of a segment."
    )
    if bodies == "opaque":
        return [comment, 'extern "C" __device__ Value outside(Value before, Value own);', ""]
    flag = ready.fields[-1].name
    return [
        comment,
        "__device__ __forceinline__ Value outside(Value before, Value own) {",
        f"    return own.{flag} ? identity() : before;",
        "}",
        "",
    ]


_MIRRORED = [
    "// Lists of `part` elements each, the last one shorter: the place of i from its list's end. Places from n on stay.",
    "__device__ __forceinline__ long long mirrored(long long i, int place, int part, long long n) {",
    "    long long first = i - place, end = first + part < n ? first + part : n;",
    "    return i < n ? end - 1 - place : i;",
    "}",
    "",
]


_MIRROR = """
    static __device__ __forceinline__ Pack mirrored(Pack pack) {
        Pack turned;
#pragma unroll
        for (int part = 0; part < WIDTH; ++part) turned.part[part] = pack.part[WIDTH - 1 - part];
        return turned;
    }"""


def _columns(ready: Body) -> str:
    """A tile's elements and its results in shared memory, each array by itself."""
    c = ready.dialect.types
    lines: list[str] = []
    for kind, every, array in (("Element", ready.elements, "Input input"), ("Result", ready.outputs, "Output output")):
        name = array.split()[1]
        slots, edges = [s for s in every if not s.before], [s for s in every if s.before]
        aligned = " && ".join(f"Column<{c[s.scalar]}>::is_aligned({name}.{s.name} + first)" for s in slots)
        loaded = "".join(f" {s.name}.load({name}.{s.name} + first);" for s in slots)
        stored = "".join(f" {s.name}.store({name}.{s.name} + first);" for s in slots)
        lines += [
            f"struct {kind}Columns {{",
            f"    {' '.join(f'Column<{c[s.scalar]}> {s.name};' for s in slots)}",
            *(f"    {c[s.scalar]} {s.name};  // that of the first element" for s in edges),
            f"    static __device__ __forceinline__ bool is_aligned({array}, long long first) {{ return {aligned or 'true'}; }}",
            f"    __device__ __forceinline__ {kind} get(int j) {{",
            *(f"    {line}" for line in _filled(kind, [(s.name, _at(s)) for s in every])),
            f"    __device__ __forceinline__ void set(int j, {kind} one) {{",
            *(f"        {s.name}.at(j) = one.{s.name};" for s in slots),
            "    }",
        ]
        if kind == "Element":
            lines += [
                f"    __device__ __forceinline__ void load({array}, long long first) {{{loaded} }}",
                "    __device__ __forceinline__ void take(Element* items) {",
            ]
            for s in slots:
                lines += [
                    "        {",
                    f"            {c[s.scalar]} own[ITEMS];",
                    f"            {s.name}.take(own);",
                    "#pragma unroll",
                ]
                lines += [f"            for (int k = 0; k < ITEMS; ++k) items[k].{s.name} = own[k];", "        }"]
            for s in edges:
                earlier = f"threadIdx.x > 0 ? {s.before}.at(threadIdx.x * ITEMS - 1) : {s.name}"
                lines += [
                    f"        items[0].{s.name} = {earlier};",
                    "#pragma unroll",
                    f"        for (int k = 1; k < ITEMS; ++k) items[k].{s.name} = items[k - 1].{s.before};",
                ]
        else:
            lines += [
                f"    __device__ __forceinline__ void store({array}, long long first) {{{stored} }}",
                "    __device__ __forceinline__ void put(const Result* results) {",
            ]
            for s in slots:
                lines += ["        {", f"            {c[s.scalar]} own[ITEMS];", "#pragma unroll"]
                lines += [f"            for (int k = 0; k < ITEMS; ++k) own[k] = results[k].{s.name};"]
                lines += [f"            {s.name}.put(own);", "        }"]
        lines += ["    }", "};"]
    return "\n".join(lines)


def _at(slot: Slot) -> str:
    """A number of element j of a tile."""
    return f"j > 0 ? {slot.before}.at(j - 1) : {slot.name}" if slot.before else f"{slot.name}.at(j)"


def _head(operator: Operator, ready: Body, form: ScanForm) -> str:
    loop = operator.loop
    kind = "scan" if loop.is_scan else "reduction"
    kind = kind if form.is_plain else f"{kind}, made a {form} scan"
    lines = [f"// {loop.name}: its loop as an associative operator ({kind}); made by warploom scan emit."]
    if any(ready.may_be_infinite(s) and s.scalar in ("int32", "int64") for s in ready.fields):
        lines.append(f"// The least (greatest) {ready.types.whole} stands for minus infinity (infinity): no element may have it.")
    return "\n".join(lines) + "\n\n"


def _parts(ready: Body, chosen: Choices, items: int, bodies: Bodies) -> dict[str, str]:
    shuffles = {
        "SHUFFLE": f"{SHUFFLES['idx']}(ALL_LANES, {{}}, lane)",
        "SHUFFLE_UP": f"{SHUFFLES['up']}(ALL_LANES, {{}}, distance)",
        "SHUFFLE_DOWN": f"{SHUFFLES['down']}(ALL_LANES, {{}}, distance)",
    }
    moved = {
        name: "\n".join(f"    r.{s.name} = {call.format(f'v.{s.name}')};" for s in ready.fields)
        for name, call in shuffles.items()
    }
    return (
        moved
        | operator_parts(ready, bodies)
        | {
            "COLUMNS": _columns(ready),
            "THREADS": str(chosen.threads),
            "ITEMS": str(items),
            "NETWORK": chosen.network,
            "STEPS": _steps_text(chosen.network),
        }
    )


def operator_parts(ready: Body, bodies: Bodies = "inlined") -> dict[str, str]:
    """Replacements for `@NAME@` in texts about values, elements and results."""
    c = ready.dialect.types
    pointers = [f"const {c[s.scalar]}* {s.name}" for s in ready.arrays] + [f"{c[s.scalar]}* {s.name}" for s in ready.outputs]
    packed_input = f"Input{{{', '.join(s.name for s in ready.arrays)}}}"
    packed_output = f"Output{{{', '.join(s.name for s in ready.outputs)}}}"
    packed = f"Constants{{{', '.join(s.name for s in ready.constants)}}}"
    has = bool(ready.constants)
    return {
        "OPERATOR": _operator(ready, bodies),
        "PARAMETERS": ", ".join(pointers),
        "ARGUMENTS": f"{packed_input}, {packed_output}",
        "INPUT": packed_input,
        "OUTPUT": packed_output,
        "CONSTANT": ", constants" if has else "",
        "CONSTANT_PARAMETER": ", Constants constants" if has else "",
        "KERNEL_CONSTANTS": "".join(f", {c[s.scalar]} {s.name}" for s in ready.constants),
        "PACKED_CONSTANTS": f", {packed}" if has else "",
        "UNPACK_CONSTANTS": f"    Constants constants = {packed};\n" if has else "",
    }


def _struct(name: str, slots: Sequence[Slot], c: dict[Scalar, str], pointer: str = "") -> str:
    inner = " ".join(f"{pointer.format(c[s.scalar]) or c[s.scalar]} {s.name};" for s in slots)
    return f"struct {name} {{ {inner} }};"


def _operator(ready: Body, bodies: Bodies) -> str:
    c = dict(ready.dialect.types)
    lines = [
        *_structs(ready),
        _struct("Input", ready.arrays, c, "const {}*"),
        _struct("Output", ready.outputs, c, "{}*"),
        "",
        "__device__ __forceinline__ Element read(Input input, long long i) {",
        *_filled("Element", [(s.name, _read(s)) for s in ready.elements]),
        "__device__ __forceinline__ void write(Output output, long long i, Result r) {",
        *(f"    output.{s.name}[i] = r.{s.name};" for s in ready.outputs),
        "}",
        "",
    ]
    if bodies == "opaque":
        return "\n".join([*lines, *_declarations(ready)])
    return "\n".join([*lines, *helpers(ready), *_functions(ready)])


def _read(slot: Slot) -> str:
    return f"input.{slot.before}[i > 0 ? i - 1 : 0]" if slot.before else f"input.{slot.name}[i]"


def _declarations(ready: Body) -> list[str]:
    given = ", Constants constants" if ready.constants else ""
    parameters = {"Value identity": "", "Value lift": f"Element element{given}", "Value combine": "Value a, Value b"}
    parameters["Result project"] = f"Value a{given}"
    return [f'extern "C" __device__ {name}({listed});' for name, listed in parameters.items()]


def operator_source(made: CudaScan) -> str:
    """The operator's functions, which a text with opaque calls calls."""
    ready = made.body
    head = 'extern "C" __device__'
    lines = [*_structs(ready), *helpers(ready), *_functions(ready, head)]
    if made.form.is_segmented:
        lines += [
            f"{head} Value outside(Value before, Value own) {{",
            f"    return own.{ready.fields[-1].name} ? identity() : before;",
            "}",
        ]
    return "\n".join(lines)


def calling_source(made: CudaScan) -> str:
    """A kernel of one thread for each of the operator's functions: numbers from arrays `a`, `b`, constants, results to arrays."""
    ready = made.body
    c = dict(ready.dialect.types) | {"bool": ready.dialect.types["int32"]}

    def read(name: str, slots: Sequence[Slot]) -> list[str]:
        return [f"const {c[s.scalar]}* {name}_{n}" for n, s in enumerate(slots)]

    def filled(kind: str, variable: str, name: str, slots: Sequence[Slot]) -> list[str]:
        tested = {n: " != 0" if s.scalar == "bool" else "" for n, s in enumerate(slots)}
        return [f"    {kind} {variable};", *(f"    {variable}.{s.name} = {name}_{n}[0]{tested[n]};" for n, s in enumerate(slots))]

    constants = [f"{c[s.scalar]} c_{n}" for n, s in enumerate(ready.constants)]
    packed = [f"Constants{{{', '.join(f'c_{n}' for n, _ in enumerate(ready.constants))}}}"] if constants else []
    fields = ready.fields
    element, value = filled("Element", "element", "a", ready.elements), filled("Value", "a", "a", fields)
    calls: list[tuple[str, list[str], list[str], list[str], Sequence[Slot]]] = [
        ("identity", [], [], [], fields),
        ("lift", read("a", ready.elements) + constants, element, ["element", *packed], fields),
        ("combine", read("a", fields) + read("b", fields), value + filled("Value", "b", "b", fields), ["a", "b"], fields),
        ("project", read("a", fields) + constants, value, ["a", *packed], ready.outputs),
    ]
    lines = [*_structs(ready), *helpers(ready), *_functions(ready)]
    if made.form.is_segmented:
        lines += _outside(ready, "inlined")
        calls.append(("outside", *calls[2][1:]))
    for name, parameters, statements, arguments, slots in calls:
        results = [f"{c[s.scalar]}* r_{n}" for n, s in enumerate(slots)]
        lines += [f'extern "C" __global__ void call_{name}({", ".join(parameters + results)}) {{', *statements]
        lines += [f"    auto r = {name}({', '.join(arguments)});"]
        lines += [*(f"    r_{n}[0] = r.{s.name};" for n, s in enumerate(slots)), "}"]
    return "\n".join(lines) + "\n"


def intervals_source(made: CudaScan) -> str:
    """Intervals of elements, which a text with opaque calls may call instead."""
    return "\n".join([*_structs(made.body), _intervals(made.body, made.form)])


def _structs(ready: Body) -> list[str]:
    c = dict(ready.dialect.types)
    lines = [_struct(n, s, c) for n, s in (("Value", ready.fields), ("Element", ready.elements), ("Result", ready.outputs))]
    return [*lines, _struct("Constants", ready.constants, c)] if ready.constants else lines


def _functions(ready: Body, head: str = "__device__ __forceinline__") -> list[str]:
    given = ", Constants constants" if ready.constants else ""
    named = replace_constants(ready)
    return [
        f"{head} Value identity() {{",
        *_filled("Value", list(zip((s.name for s in ready.fields), ready.identity(), strict=True))),
        f"{head} Value lift(Element element{given}) {{",
        *_body("Value", ready, named.lift("element.{}"), ready.fields),
        f"{head} Value combine(Value a, Value b) {{",
        *_body("Value", ready, named.combine(), ready.fields),
        f"{head} Result project(Value a{given}) {{",
        *_body("Result", ready, named.project(), ready.outputs),
    ]


def replace_constants(ready: Body) -> Body:
    """Constants as members of a struct."""
    return replace(ready, constants=tuple(replace(s, name=f"constants.{s.name}") for s in ready.constants))


def _body(kind: str, ready: Body, statements: Statements, slots: Sequence[Slot]) -> list[str]:
    c = ready.dialect.types
    lines = [f"    {c[scalar]} {name} = {text};" for scalar, name, text in statements.temporaries]
    return lines + _filled(kind, list(zip((s.name for s in slots), statements.results, strict=True)))


def _filled(kind: str, members: Sequence[tuple[str, str]]) -> list[str]:
    return [f"    {kind} r;", *(f"    r.{name} = {text};" for name, text in members), "    return r;", "}"]


def helpers(ready: Body) -> list[str]:
    """Helpers that the operator calls."""
    functions = "\n".join(_functions(ready))
    c = ready.dialect.types
    found: list[str] = []
    if "INT_" in functions:
        bits = 64 if ready.types.whole == "int64" else 32
        least, most = (integer(n, bits).text for n in (-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
        whole = c[ready.types.whole]
        for name, value, meant in (("INT_BELOW", least, "minus infinity"), ("INT_ABOVE", most, "infinity")):
            found += [f"constexpr {whole} {name} = {value};  // {meant}"] if name in functions else []
    if "INFINITY_F" in functions:
        found.append("#define INFINITY_F __int_as_float(0x7f800000)")
    for name, text in _HELPERS.items():
        if f"{name}" in functions:
            found.append(text)
    return [*found, ""] if found else []


_HELPERS = {
    "largest<": "template <typename T> __device__ __forceinline__ T largest(T a, T b) { return b > a ? b : a; }",
    "smallest<": "template <typename T> __device__ __forceinline__ T smallest(T a, T b) { return b < a ? b : a; }",
    "floor_quotient<": (
        "template <typename T> __device__ __forceinline__ T floor_quotient(T a, T n) { return a / n - (a % n < 0); }  // n > 0"
    ),
    "floor_remainder<": (
        "template <typename T> __device__ __forceinline__ T floor_remainder(T a, T n) { T r = a % n; return r < 0 ? r + n : r; }"
    ),
    "greatest_common_divisor<": (
        "template <typename T> __device__ __forceinline__ T greatest_common_divisor(T a, T b) {\n"
        "    while (b != 0) { T r = a % b; a = b; b = r; }\n"
        "    return a < 0 ? -a : a;\n"
        "}"
    ),
    "exponential(": (
        f"__device__ __forceinline__ float exponential(float power) {{ return {BY_NAME['exp'].c}f(power); }}\n"
        f"__device__ __forceinline__ double exponential(double power) {{ return {BY_NAME['exp'].c}(power); }}"
    ),
}


def _intervals(ready: Body, form: ScanForm) -> str:
    """In the operator's place: every field holds an interval of elements, `first * 2048 + last`.

    An element is its index; combining neighbours joins them, anything else is wrong from then on; so are fields that differ.
    """
    given = ", Constants constants" if ready.constants else ""
    first, *rest = [s.name for s in ready.fields]
    agree = " && ".join([f"(int)v.{n} == (int)v.{first}" for n in rest]) or "true"
    fill = "".join(f" r.{s.name} = ({ready.dialect.types[s.scalar]})code;" for s in ready.fields)
    e_first, *e_rest = ready.elements
    wanted = [(s.name, "(i > 0 ? i - 1 : 0)" if s.before else "i") for s in e_rest]
    e_agree = " && ".join([f"(int)element.{n} == {at}" for n, at in wanted]) or "true"
    results = " ".join(f"r.{s.name} = ({ready.dialect.types[s.scalar]})code;" for s in ready.outputs)
    left, right = ("b", "a") if form.is_backward else ("a", "b")
    own, kept = "other / {0} == other % {0}", "one % {0} + 1 == other / {0}"
    if form.is_backward:
        kept = "one / {0} == other % {0} + 1"
    outside = f"""
extern "C" __device__ Value outside(Value before, Value own) {{
    int one = code_of(before), other = code_of(own);
    if (one == {_EMPTY} || other == {_EMPTY}) return before;
    if (one == {_WRONG} || other == {_WRONG}) return value_of({_WRONG});
    return value_of({own.format(SPAN)} && {kept.format(SPAN)} ? one : {_WRONG});
}}"""
    return f"""__device__ __forceinline__ int code_of(Value v) {{ return {agree} ? (int)v.{first} : {_WRONG}; }}
__device__ __forceinline__ Value value_of(int code) {{ Value r;{fill} return r; }}
extern "C" __device__ Value identity() {{ return value_of({_EMPTY}); }}
extern "C" __device__ Value lift(Element element{given}) {{
    int i = (int)element.{e_first.name};
    return value_of({e_agree} ? i * {SPAN} + i : {_WRONG});
}}
extern "C" __device__ Value combine(Value a, Value b) {{
    unsigned one = code_of({left}), other = code_of({right});  // no branches: lanes of a warp stay together
    bool are_neighbours = one % {SPAN}u + 1 == other / {SPAN}u;
    unsigned both = are_neighbours ? one / {SPAN}u * {SPAN}u + other % {SPAN}u : {_WRONG};
    both = other == {_EMPTY} ? one : both;
    both = one == {_EMPTY} ? other : both;
    return value_of((one == {_WRONG}) | (other == {_WRONG}) ? {_WRONG} : both);
}}
extern "C" __device__ Result project(Value a{given}) {{
    int code = code_of(a);
    Result r;
    {results}
    return r;
}}{outside if form.is_segmented else ""}"""


EMPTY, WRONG = _EMPTY, _WRONG
