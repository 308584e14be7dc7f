"""Exchanges in the languages that kernels are written in: a device function, a whole kernel around it, Numba, NumPy.

For languages that move values by themselves (CuTe, Triton, TileLang) the layouts alone: `texts`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias, get_args

from warploom.core import Diagnostic, UserError
from warploom.layout import expressions
from warploom.layout.exchange.choose import Candidate, Exchange
from warploom.layout.exchange.program import (
    Flag,
    Index,
    Load,
    LoadMatrix,
    Meet,
    Merge,
    Operation,
    Permute,
    Program,
    Select,
    Shuffle,
    Store,
    StoreMatrix,
    Transpose,
    rounded,
)
from warploom.layout.exchange.texts import cute_text, tilelang_text, triton_text

Target: TypeAlias = Literal["cuda", "kernel", "numba", "python", "cute", "triton", "tilelang"]
TARGETS: tuple[Target, ...] = get_args(Target)


def emit(found: Exchange, target: Target) -> str:
    """The text of the program, or of the layouts; UserError (EMIT) where the language has none, or there is no
    such language."""
    program = found.chosen.program
    if target not in TARGETS:
        raise UserError(Diagnostic("EMIT", f"expected one of {', '.join(TARGETS)} to emit, got {target!r}"))
    if target in ("kernel", "numba", "python") and not program.inputs:
        raise UserError(Diagnostic("EMIT", f"expected cuda for values that come from memory, got {target}"))
    if target == "numba" and any(program.count(kind) for kind in (Transpose, StoreMatrix, LoadMatrix)):
        text = "expected a program without movmatrix, stmatrix and ldmatrix for Numba, which has none of them"
        raise UserError(Diagnostic("EMIT", text, fix="Use --via shuffle."))
    match target:
        case "cuda":
            return found.chosen.text
        case "kernel":
            return kernel(found.chosen)
        case "numba" | "python":
            return _python(program, target)
        case "cute":
            return cute_text(found)
        case "triton":
            return triton_text(found)
        case "tilelang":
            return tilelang_text(found)


def kernel(found: Candidate) -> str:
    """The device function and a kernel of one block that applies it: register i of thread t is at i * threads + t."""
    program = found.program
    threads, count = program.threads, len(program.outputs)
    room = f"    __shared__ __align__(16) unsigned shared[{program.shared_words}];\n" if program.shared_words else ""
    stores = "".join(f"    after[{i * threads} + threadIdx.x] = out[{i}];\n" for i, value in enumerate(program.outputs) if value)
    loads = "".join(f"    in[{i}] = before[{i * threads} + threadIdx.x];\n" for i in range(program.inputs))
    return (
        f"{found.text}\n"
        f'extern "C" __global__ void __launch_bounds__({threads}) exchanged(const unsigned* before, unsigned* after) {{\n'
        f"{room}    unsigned in[{program.inputs}], out[{count}];\n{loads}"
        f"    exchange(in, out{', shared' if room else ''});\n{stores}}}\n"
    )


_BYTE_PERM = """def byte_perm(low, high, selector):
    both = np.uint64(high) << np.uint64(32) | np.uint64(low)
    parts = [(both >> np.uint64(8) * (np.uint64(selector) >> np.uint64(4 * i) & np.uint64(7))) & np.uint64(255) for i in range(4)]
    return sum(part << np.uint64(8 * i) for i, part in enumerate(parts)).astype(np.uint32)


"""


_TRANSPOSED = """def transposed(words):
    halves = np.stack([words & 0xffff, words >> 16], axis=1).reshape(-1, 8, 8)
    rows = halves.transpose(0, 2, 1).reshape(-1, 2)
    return (rows[:, 0] | rows[:, 1] << 16).astype(np.uint32)


"""


_ROWS = """def rows_at(address, matrix):
    return address.reshape(-1, 32)[:, 8 * matrix : 8 * matrix + 8, None] + np.arange(4)


"""


def _python(program: Program, target: Target) -> str:
    """On arrays of registers, for one thread (Numba) or [threads] at once (NumPy)."""
    body = [line for operation in program.operations for line in _line(operation, program, target)]
    count = len(program.outputs)
    if target == "numba":
        head = "import numpy as np\n" if program.count(Merge) else ""
        head += "from numba import cuda\n\n\n# Arrays of int32: Numba shuffles no others of 32 bits.\n@cuda.jit(device=True)\n"
        head += f"def exchange(before, after{', shared' if program.shared_words else ''}):\n"
        body.insert(0, f"lane = cuda.threadIdx.x % {rounded(program.threads)}")
        body += [f"after[{i}] = {_named(value)}" for i, value in enumerate(program.outputs) if value]
    else:
        head = "import numpy as np\n\n\n" + (_BYTE_PERM if program.count(Permute) else "")
        by_rows = program.count(StoreMatrix) + program.count(LoadMatrix)
        head += (
            (_TRANSPOSED if program.count(Transpose) or by_rows else "") + (_ROWS if by_rows else "") + "def exchange(before):\n"
        )
        body.insert(0, f"lane = np.arange({program.threads})")
        if program.shared_words:
            body.insert(1, f"shared = np.zeros({program.shared_words}, dtype=np.uint32)")
        body.append(f"after = np.zeros(({count}, {program.threads}), dtype=np.uint32)")
        body += [f"after[{i}] = {_named(value)}" for i, value in enumerate(program.outputs) if value]
        body.append("return after")
    return head + "".join(f"    {line}\n" for line in body)


def _named(value: str) -> str:
    return re.sub(r"^in\[", "before[", value)


def _expression(text: str) -> str:
    return expressions.as_text(expressions.parse(text, names=expressions.names_in(text)), "python")


def _place(address: str, further: int) -> str:
    return f"({_expression(address)}) + {further}" if further else _expression(address)


def _line(operation: Operation, program: Program, target: Target) -> Iterator[str]:
    is_numpy = target == "python"
    match operation:
        case Index(name, expression) if is_numpy and " if " in expression:
            yes, test, no = re.fullmatch(r"(.*) if (.*) else (.*)", expression, re.S).groups()  # type: ignore[union-attr]
            yield f"{name} = np.where({_compared(test)}, {_expression(yes)}, {_expression(no)})"
        case Index(name, expression):
            yield f"{name} = {_expression(expression)}"
        case Flag(name, expression):
            yield f"{name} = ({_expression(expression)}) != 0"
        case Select(name, flag, yes, no) if is_numpy:
            yield f"{name} = np.where({flag}, {_named(yes)}, {_named(no)})"
        case Select(name, flag, yes, no):
            yield f"{name} = {_named(yes)} if {flag} else {_named(no)}"
        case Shuffle(name, value, source):
            group = program.lanes if not program.lanes & (program.lanes - 1) else 32
            read = f"({_expression(source)}) % {group}"
            if is_numpy:
                yield f"{name} = {_named(value)}[(lane // {group} * {group} + {read}) % {program.threads}]"
            else:
                first = f"cuda.threadIdx.x % 32 // {group} * {group} + " if group < 32 else ""
                yield f"{name} = cuda.shfl_sync(0xffffffff, {_named(value)}, {first}{read})"
        case Permute(name, low, high, selector):
            function = "byte_perm" if is_numpy else "cuda.libdevice.byte_perm"
            yield f"{name} = {function}({_named(low)}, {_named(high)}, {_expression(selector)})"
        case Merge(name, kept, value, _, mask):
            moved = operation.moved.replace(value, _named(value))
            ones = f"np.asarray({_expression(mask)})" if is_numpy else _expression(mask)
            both = f"({_named(kept)} & ~{ones}) | ({moved} & {ones})"
            yield f"{name} = ({both} & 0xffffffff).astype(np.uint32)" if is_numpy else f"{name} = np.int32({both})"
        case Transpose(name, value):
            yield f"{name} = transposed({_named(value)})"
        case Store(address, values):
            for i, value in enumerate(values):
                yield f"shared[{_place(address, i)}] = {_named(value)}"
        case Load(names, address, array):
            for i, name in enumerate(names):
                yield f"{name} = {array}[{_place(address, i)}]"
        case StoreMatrix(address, values, is_turned):
            for i, value in enumerate(values):
                word = f"transposed({_named(value)})" if is_turned else _named(value)
                yield f"shared[rows_at({_expression(address)}, {i})] = {word}.reshape(-1, 8, 4)"
        case LoadMatrix(names, address, is_turned):
            for i, name in enumerate(names):
                word = f"shared[rows_at({_expression(address)}, {i})].ravel()"
                yield f"{name} = {f'transposed({word})' if is_turned else word}"
        case Meet() if is_numpy:
            return
        case Meet():
            yield "cuda.syncthreads()" if program.threads > 32 else "cuda.syncwarp()"


def _compared(test: str) -> str:
    left, sign, right = re.fullmatch(r"(.*) ([<>]) (\d+)", test, re.S).groups()  # type: ignore[union-attr]
    return f"({_expression(left)}) {sign} {right}"
