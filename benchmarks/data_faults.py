"""Faults planted in the C of kernels, and which of them data tells: `python -m benchmarks.data_faults [--case GLOB]`.

One JSON line per kernel and way of running it (`plain` loops; `decided`: an implementation of the search). Each fault is one
change of the printed text: an iteration left out (the first, the last, the middle one, or only at the corner of all loops), an
element counted twice, a neighbour in place of an element (everywhere or at one end), operands swapped, another operator, a
comparison that is off by one, another start of a reduction, an element that is not stored. It is compiled and run in a process of
its own.

`one`: told by one set of random numbers within a thousandth of the largest element (what checks did once); `all`: by the check as
it is (`tools.explore.check.check_cpu`). `left` lists the faults that the check does not tell although the changed kernel differs
from the right one: on inputs of this file's own, in which one element after the other is far from the rest. Those that differ on
none of them are counted as `equal`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from warploom.core import UserError, bf16, f32, i8, i32, u8, words_of
from warploom.core.compiler import KERNEL_FLAGS, WRAPPING, build_library
from warploom.kernels.suites.measured import NETWORKS, POLYBENCH
from warploom.kernels.tensors import TensorKernel
from warploom.schedule.backbone import Program, Role, places_of, random_inputs
from warploom.schedule.bound import Bound
from warploom.schedule.choices import kernel_space
from warploom.schedule.cpu import CompiledNest, compile_nest, host, plain_nest
from warploom.schedule.cpu.compiled import has_integers
from warploom.schedule.cpu.printer import c_source
from warploom.schedule.frontend import TensorFunction, argmax, exp, out, pad, tensor
from warploom.schedule.nest import Nest
from warploom.schedule.search import KernelModel, Step, difference, held, program_arrays
from warploom.solve.space import Candidate
from warploom.tools.explore import check
from warploom.tools.explore.data import data_for, kernel_of
from warploom.tools.explore.options import KernelOptions, program_of

# ruff: noqa: N803, UP037, F821  (indices and sizes are names of the language)
# pyright: basic, reportInvalidTypeForm=false, reportUndefinedVariable=false, reportIndexIssue=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportArgumentType=false, reportGeneralTypeIssues=false

PER_KERNEL = 60
"""Faults of a kernel at most, drawn at random from all of its places."""
TIMEOUT_S = 60
SPIKES = 400
"""Elements of an input that are far from the rest, one after the other, at most."""


@tensor
def row_max(X: f32["m", "n"], y: out[f32["m"]]):
    y[i] = max(X[i, j], over=j)


@tensor
def whole_max(X: f32["n"], y: out[f32[1]]):
    y[0] = max(X[i], over=i)


@tensor
def row_argmax(X: f32["m", "n"], y: out[i32["m"]]):
    y[i] = argmax(X[i, j], over=j)


@tensor
def whole_sum(X: f32["n"], y: out[f32[1]]):
    y[0] = sum(X[i], over=i)


@tensor
def clamped(X: f32["m", "n"], bias: f32["n"], Y: out[f32["m", "n"]]):
    Y[i, j] = min(max(X[i, j] + bias[j], 0), 6)


@tensor
def causal(X: f32["n", "n"], Y: out[f32["n", "n"]]):
    s[i, j] = X[i, j] if j <= i else -1e30
    top[i] = max(s[i, j], over=j)
    e[i, j] = exp(s[i, j] - top[i])
    total[i] = sum(e[i, j], over=j)
    Y[i, j] = e[i, j] / total[i]


@tensor
def looked_up(W: f32["v", "d"], ids: i32["n"], Y: out[f32["n", "d"]]):
    Y[i, j] = W[ids[i], j]


@tensor
def bytes_product(A: u8["m", "k"], B: i8["k", "n"], C: out[i32["m", "n"]]):
    C[i, j] += i32(A[i, k]) * i32(B[k, j])


@tensor
def bf16_product(A: bf16["m", "k"], B: bf16["k", "n"], C: out[bf16["m", "n"]]):
    C[i, j] = bf16(sum(f32(A[i, k]) * f32(B[k, j]), over=k))


@tensor
def normed_difference(X: f32["m", "n"], Z: f32["m", "n"], y: out[f32["m"]]):
    y[i] = sum((X[i, j] - Z[i, j]) * (X[i, j] - Z[i, j]), over=j)


@tensor
def padded_max(X: f32["m", "n"], Y: out[f32["m", "n"]]):
    row[i, j] = max(pad(X, -1e30)[i, j - 1], max(X[i, j], pad(X, -1e30)[i, j + 1]))
    Y[i, j] = row[i, j]


OWN: tuple[TensorFunction, ...] = (
    row_max, whole_max, row_argmax, whole_sum, clamped, causal, looked_up, bytes_product, bf16_product, normed_difference,
    padded_max,
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    name: str
    function: TensorKernel | TensorFunction
    sizes: dict[str, int]


def cases() -> Iterator[Case]:
    for name, suite in {**POLYBENCH, **NETWORKS}.items():
        yield Case(name, suite.kernel, {n: 20 + 3 * i for i, n in enumerate(suite.kernel.sizes)})
    for function in OWN:
        yield Case(function.name, function, {n: 20 + 3 * i for i, n in enumerate(function.sizes)})


# ------------------------------------------------------------ faults


@dataclass(frozen=True)
class Fault:
    kind: str
    line: int
    text: str
    """The changed line."""
    source: str


_FOR = re.compile(r"^(\s*)for \(Index (\w+) = ([^;]+); \w+ < ([^;]+); \+\+\w+\) \{$")
_SET = re.compile(r"^(\s*)(\w+) = (.*);$")
_TWO = re.compile(r"^([\w.\-]+) ([-+*/<]|<=) ([\w.\-]+)$")
_PLACE = re.compile(r"\[([^\[\]]+)\]|(?<=[(, ])(\w+ \+ [^,()]+)(?=[,)])")


def faults(source: str) -> list[Fault]:
    """Every fault of one text."""
    lines = source.split("\n")
    begin = next(n for n, line in enumerate(lines) if line.startswith("static void kernel"))
    end = next(n for n in range(begin, len(lines)) if lines[n] == "}")
    found: list[Fault] = []
    loops: list[tuple[int, str, str, str]] = []

    def change(kind: str, number: int, *new: str) -> None:
        changed = [*lines[:number], *new, *lines[number + 1 :]]
        if new != (lines[number],):
            found.append(Fault(kind, number, " / ".join(t.strip() for t in new), "\n".join(changed)))

    for n in range(begin + 1, end):
        line = lines[n]
        indent = len(line) - len(line.lstrip())
        loops = [loop for loop in loops if loop[0] < indent]
        if (made := _FOR.match(line)) is not None:
            space, name, low, high = made.groups()
            loops.append((indent, name, low, high))
            inner = [(name, low, high) for _, name, low, high in loops]
            change("first left out", n, line.replace(f"= {low};", f"= {low} + 1;", 1))
            change("last left out", n, line.replace(f"< {high};", f"< {high} - 1;", 1))
            change("middle left out", n, line, f"{space}    if ({name} == ({low} + ({high})) / 2) continue;")
            if len(inner) > 1:
                first = " && ".join(f"{v} == {a}" for v, a, _ in inner)
                last = " && ".join(f"{v} == ({b}) - 1" for v, _, b in inner)
                change("corner left out", n, line, f"{space}    if ({first}) continue;")
                change("last corner left out", n, line, f"{space}    if ({last}) continue;")
            continue
        for place in _PLACE.finditer(line):
            inside = place[1] or place[2]
            if not loops or not re.search(r"\d|[+*]", inside):
                continue
            at = place.start(1) if place[1] else place.start(2)
            _, name, low, high = loops[-1]
            for kind, more in (
                ("next one", " + 1"), ("one before", " - 1"), ("next one at the first", f" + ({name} == {low})"),
                ("one before at the last", f" - ({name} == ({high}) - 1)"),
            ):  # fmt: skip
                change(kind, n, line[: at + len(inside)] + more + line[at + len(inside) :])
        if "if (" in line and " < " in line:
            change("comparison", n, line.replace(" < ", " <= ", 1))
            change("comparison", n, re.sub(r" < ([^)&]+)", r" < \1 - 1", line, count=1))
        if (made := _SET.match(line)) is None:
            if loops and re.match(r"^\s*(\w+\[.*\] = |store\w*\()", line):
                _drop(change, n, line, loops)
            continue
        space, name, value = made.groups()
        if (two := _TWO.match(value)) is not None:
            a, sign, b = two.groups()
            change("swapped", n, f"{space}{name} = {b} {sign} {a};")
            change("operator", n, f"{space}{name} = {a} {({'+': '-', '-': '+', '*': '+', '/': '*'}).get(sign, sign)} {b};")
        change("comparison", n, line.replace(" < ", " <= ", 1))
        change("comparison", n, line.replace(" <= ", " < ", 1))
        change("operator", n, re.sub(r"\b(max|min)_(\w+)\(([^(),]+), ([^(),]+)\)", r"-\1_\2(-(\3), -(\4))", line, count=1))
        if " ? " in value:
            change("swapped", n, re.sub(r"\? (.+) : (.+);$", r"? \2 : \1;", line))
        if "INFINITY" in value:
            change("start", n, f"{space}{name} = 0.0f;")
        elif re.fullmatch(r"0(\.0f?)?", value):
            change("start", n, f"{space}{name} = 1;")
        elif re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?f?", value):
            change("constant", n, f"{space}{name} = {value.removesuffix('f')} + 1;")
        if loops and re.search(rf"\b{name}\b", value) and "max_" not in value and "min_" not in value:
            _, loop, low, high = loops[-1]
            change("first twice", n, line, f"{space}if ({loop} == {low}) {line.strip()}")
            change("last twice", n, line, f"{space}if ({loop} == ({high}) - 1) {line.strip()}")
        if value in ("alpha", "beta"):
            change("scalar", n, f"{space}{name} = {'beta' if value == 'alpha' else 'alpha'};")
    return found


def _drop(change: Callable[..., None], n: int, line: str, loops: Sequence[tuple[int, str, str, str]]) -> None:
    first = " && ".join(f"{v} == {low}" for _, v, low, _ in loops)
    last = " && ".join(f"{v} == ({high}) - 1" for _, v, _, high in loops)
    space = line[: len(line) - len(line.lstrip())]
    change("first not stored", n, f"{space}if (!({first})) {line.strip()}")
    change("last not stored", n, f"{space}if (!({last})) {line.strip()}")


# ------------------------------------------------------------ kernels


def decided(program: Program) -> list[Nest]:
    """An implementation of each stage that the model likes."""
    found: list[Nest] = []
    for stage in program.stages:
        model = KernelModel(space := kernel_space(stage, host(1)), Bound(space))
        chance = random.Random(1)
        for _ in range(20):
            step: Step[Candidate] | None = model.root()
            while step is not None and (choices := model.open_choices(step)):
                known = [c for a in model.alternatives(step, choices[0][0]) if (c := a.expand()) is not None]
                step = min(known, key=lambda c: (model.estimate(c), chance.random())) if known else None
            if step is not None and (answer := model.answer(step)) is not None:
                found.append(answer[1].nest)
                break
        else:
            raise UserError()
    return found


def run(
    program: Program, kernels: Sequence[CompiledNest], inputs: Mapping[str, Any], scalars: Mapping[str, float]
) -> dict[str, Any]:
    arrays = program_arrays(program, inputs)
    for kernel in kernels:
        kernel.run([arrays[b.name] for b in kernel.buffers], scalars)
    return held(program.arguments, arrays)


# ------------------------------------------------------------ this file's own inputs


def spikes(program: Program, number: int) -> dict[str, Any]:
    """Random numbers with one element of each input far from the rest."""
    chance = np.random.default_rng([77, number])
    places = places_of(program.stages)
    found: dict[str, Any] = {}
    for r in program.arguments:
        if r.role is not Role.INPUT:
            continue
        wide = number % 3 == 2
        if r.name in places:
            array = chance.integers(-1, places[r.name] + 1, r.shape)
        elif r.dtype.is_float:
            array = chance.normal(0, 4.0 if wide else 1.0, r.shape)
        else:
            array = chance.integers(*({"u8": (0, 256), "i8": (-128, 128)}.get(r.dtype.name, (-100, 100))), r.shape)
        if r.dtype.is_float and array.size and number % 5:
            at = number // 2 if number < 2 * array.size else int(chance.integers(array.size))
            array.reshape(-1)[at] += (1 if number % 2 else -1) * float(chance.choice(np.array([3.0, 30.0, 300.0])))
        dtype = words_of(r.dtype, np.zeros(1, np.float32)).dtype if r.dtype.is_held else None
        found[r.name] = array.astype(np.float32) if dtype is not None else array.astype(_numpy(r.dtype))
        if dtype is not None:
            found[r.name] = ((found[r.name].view(np.uint32) >> 16) << 16).view(np.float32)
    return found


def _numpy(dtype: Any) -> Any:
    return {"f32": np.float32, "f64": np.float64, "i32": np.int32, "i8": np.int8, "u8": np.uint8}[dtype.name]


def differ(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """By more than rounding does."""
    for name, a in one.items():
        a, b = a.astype(np.float64).reshape(-1), other[name].astype(np.float64).reshape(-1)
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= 2e-5 * np.abs(a) + 1e-6 * np.nanmax(np.where(np.isfinite(a), np.abs(a), 0), initial=0)
        if not (near | (a == b) | (np.isnan(a) & np.isnan(b))).all():
            return True
    return False


# ------------------------------------------------------------ the experiment


def judged(case: Case, program: Program, nests: Sequence[Nest], stage: int, fault: Fault) -> dict[str, Any]:
    """In a process of its own: whether either way tells the fault, and whether there is one to tell."""
    flags = (*KERNEL_FLAGS, *(WRAPPING if has_integers(nests[stage]) else ()))
    right = [compile_nest(nest) for nest in nests]
    wrong = list(right)
    wrong[stage] = replace(right[stage], library=build_library(fault.source, flags=flags))
    kernel = kernel_of(case.function)
    inputs = random_inputs(program.arguments, 0, places_of(program.stages))
    scalars = {p.name: 1.5 if kernel is None else dict(kernel.parameters).get(p.name, 1.5) for p in program.parameters}
    names = [r.name for r in program.arguments if r.role is Role.OUTPUT]

    def outputs(kernels: Sequence[CompiledNest], given: Mapping[str, Any]) -> dict[str, Any]:
        made = run(program, kernels, given, scalars)
        return {name: made[name] for name in names}

    in_bf16 = {r.name for r in program.arguments if r.dtype == bf16}
    one = bool(difference(outputs(wrong, inputs), outputs(right, inputs), 1e-3, in_bf16))
    check.compile_nest = lambda nest, **_: wrong[next(n for n, own in enumerate(nests) if own is nest)]
    data = data_for(program, kernel, 0)
    found = check.check_cpu(program, nests, data, 1, case.function, 0, sizes=case.sizes)
    is_real = one or found.verdict == "refuted"
    for number in range(0 if is_real else 3 * SPIKES):
        given = spikes(program, number)
        if is_real := differ(outputs(right, given), outputs(wrong, given)):
            break
    return {"one": one, "all": found.verdict == "refuted", "real": is_real, "sets": dict(found.data)}


def apart(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of work in a forked process; a crash or a hang is told by either way."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(TIMEOUT_S)
        try:
            text = json.dumps(work())
        except (UserError, OSError) as error:
            text = json.dumps({"error": str(error)[:200]})
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    os.waitpid(pid, 0)
    return json.loads(text) if text else {"one": True, "all": True, "real": True, "sets": {}}


def measured(case: Case, way: str, most: int) -> dict[str, Any]:
    options = KernelOptions(target=host(1), sizes=case.sizes)
    program = program_of(case.function, options)
    program = program.plain if way == "plain" else program
    nests = [plain_nest(stage) for stage in program.stages] if way == "plain" else decided(program)
    planted = [(n, fault) for n, nest in enumerate(nests) for fault in faults(c_source(nest).text)]
    chance = random.Random(0)
    by_kind: dict[str, list[tuple[int, Fault]]] = {}
    for one in planted:
        by_kind.setdefault(one[1].kind, []).append(one)
    chosen: list[tuple[int, Fault]] = []
    for group in by_kind.values():
        chance.shuffle(group)
    while len(chosen) < most and any(by_kind.values()):
        chosen += [group.pop() for group in by_kind.values() if group][: most - len(chosen)]
    right = data_for(program, kernel_of(case.function), 0)
    verdict = check.check_cpu(program, nests, right, 1, case.function, 0, sizes=case.sizes)
    line: dict[str, Any] = {
        "case": case.name,
        "way": way,
        "sizes": case.sizes,
        "right": verdict.verdict,
        "reason": verdict.reason,
    }
    line |= {"sets": dict(verdict.data), "faults": 0, "equal": 0, "one": 0, "all": 0, "left": []}
    for stage, fault in chosen:
        found = apart(lambda stage=stage, fault=fault: judged(case, program, nests, stage, fault))
        if "error" in found:
            continue
        line["faults"] += 1
        if not found["real"]:
            line["equal"] += 1
            continue
        line["one"] += found["one"]
        line["all"] += found["all"]
        if not found["all"]:
            line["left"].append({"kind": fault.kind, "line": fault.line, "text": fault.text, "one": found["one"]})
    return line


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--case", default="*")
    parser.add_argument("--way", default="*")
    parser.add_argument("--most", type=int, default=PER_KERNEL)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args(arguments)
    for case in cases():
        for way in ("plain", "decided"):
            if fnmatchcase(case.name, options.case) and fnmatchcase(way, options.way):
                try:
                    text = json.dumps(measured(case, way, options.most))
                except UserError as error:
                    text = json.dumps({"case": case.name, "way": way, "reason": str(error)[:300]})
                print(text, flush=True)
                if options.out is not None:
                    with options.out.open("a") as file:
                        file.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
