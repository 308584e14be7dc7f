"""Random CUDA kernels through NVRTC: what a compiler makes of loops, casts and branches, rewritten against original.

Needs the optional toolchain (extra `cuda`).
"""

from __future__ import annotations

import os
import random
from functools import lru_cache

from benchmarks.fuzz.kernels import ELEMENTS, SLOTS, Case, random_shape

from warploom.core import Diagnostic, UserError
from warploom.gpu import compile_to_ptx

_TYPES = ("int", "int", "unsigned", "long long", "unsigned long long", "short", "unsigned short", "signed char", "unsigned char")
_REFUSED = "refused: "
_DATA = ("float", "float", "unsigned", "int", "short", "unsigned char", "double", "unsigned long long")


class CudaWriter:
    """Writes one kernel; every index is cut to the array by `at`."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.names = ["tx", "ty", "gx", "lin"]
        self.counters: list[str] = []
        self.pointers: list[str] = ["a", "b"]
        self.number = 0
        self.depth = 0
        self.data = rng.choice(_DATA)
        self.distances = [rng.choice((0, 1, -1, 1, 2, -2, 3, 8, 31)) for _ in range(3)]
        self.has_exit = False

    def new(self, prefix: str) -> str:
        self.number += 1
        return f"{prefix}{self.number}"

    def index(self) -> str:
        """An expression of a few thousand at most."""
        rng = self.rng
        base = rng.choice((*self.names, *self.names[-2:]))
        forms = (
            base, base, base, f"({base} + {rng.choice(('n', 'off', 'trip', 'ty * 32', 'blockDim.x'))})",
            f"({base} & {rng.choice((31, 15, -2, 255))})",
            f"({base} * {rng.choice((2, 3, -1))})", f"(({rng.choice(_TYPES)}){base})", f"({base} >> {rng.choice((1, 2))})",
            f"({base} % {rng.choice((7, 8, 32, 33))})", f"({base} / {rng.choice((2, 3, 32))})",
            f"({base} ^ {rng.choice((1, 16, 32))})",
            f"({base} < {rng.choice((5, 20, 'n'))} ? {base} : {rng.choice(self.names)})",
            f"min((int){base}, {rng.choice((10, 20, 'n'))})",
            f"(({rng.choice(_TYPES)})({base} + off))", f"({base} + 2u * ty)",
        )  # fmt: skip
        return rng.choice(forms)

    def load(self) -> str:
        rng = self.rng
        pointer = rng.choice(self.pointers)
        moved = f" + {rng.choice(self.counters)}" if self.counters and rng.random() < 0.6 else ""
        what = rng.choice((*self.names[-3:], *self.names[-3:], self.index()))
        return f"{pointer}[{what}{moved} + {rng.choice(self.distances)}]".replace("+ -", "- ")

    def statements(self, count: int, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            lines += [indent + line for line in self.statement()]
        return lines

    def statement(self) -> list[str]:
        rng, choice = self.rng, self.rng.random()
        if choice < 0.5:
            return [f"acc = acc * 31 + bits({self.load()});" for _ in range(rng.choice((1, 2, 3)))]
        if choice < 0.58:
            name, kind = self.new("x"), rng.choice(("int", "int", "unsigned", "long long"))
            line = f"{kind} {name} = {self.index()};"
            self.names.append(name)
            return [line]
        if choice < 0.62:
            name = self.new("q")
            line = f"const T* {name} = {rng.choice(('a', 'b'))} + {rng.choice(self.names)};"
            if self.depth == 0:
                self.pointers.append(name)
            return [line]
        if choice < 0.66:
            return [f"if ({self.condition()}) {{ out[slot] = acc; return; }}"]
        if choice < 0.7:
            return [rng.choice(("__threadfence();", "out[slot + 1] += acc;", "__syncwarp();" if not self.depth else ";",
                                "acc ^= out[slot + 2];",
                                "atomicAdd(&out[slot + 3], acc);"))]  # fmt: skip
        if self.depth > 2:
            return ["acc ^= 5;"]
        return self.block()

    def condition(self) -> str:
        rng = self.rng
        name = rng.choice((*self.names, *self.counters, "n", "trip", "acc"))
        return rng.choice(
            (
                f"{name} < {rng.choice((1, 3, 17, 40))}",
                f"({name} & {rng.choice((1, 3, 16))}) != 0",
                f"{name} == {rng.choice((0, 2))}",
            )
        )

    def block(self) -> list[str]:
        rng = self.rng
        kept = list(self.names), list(self.pointers), list(self.counters)
        self.depth += 1
        if rng.random() < 0.45:
            lines = [f"if ({self.condition()}) {{", *self.statements(rng.randint(1, 3), "  ")]
            self.names, self.pointers = list(kept[0]), list(kept[1])
            if rng.random() < 0.4:
                lines += ["} else {", *self.statements(rng.randint(1, 3), "  ")]
            lines.append("}")
        else:
            counter, kind = self.new("k"), rng.choice(("int", "int", "unsigned", "long long", "short"))
            bound = rng.choice(("trip", "trip", "3", "4", f"({rng.choice(self.names)} & 3)", "trip + 1"))
            step = rng.choice(("++", " += 2", "++"))
            pragma = rng.choice(("", "", "#pragma unroll 1", "#pragma unroll 2"))
            self.counters.append(counter)
            body = self.statements(rng.randint(1, 3), "  ")
            if rng.random() < 0.3:
                body.append(f"  if ({self.condition()}) {rng.choice(('break', 'continue'))};")
                body += self.statements(1, "  ")
            lines = [pragma, f"for ({kind} {counter} = 0; {counter} < {bound}; {counter}{step}) {{", *body, "}"]
        self.names, self.pointers, self.counters = kept
        self.depth -= 1
        return lines

    def text(self) -> str:
        restrict = self.rng.choice((" __restrict__", ""))
        lines = self.statements(self.rng.randint(3, 8), "  ")
        body = "\n".join(lines)
        return f"""
typedef {self.data} T;
__device__ unsigned bits(T value) {{
  unsigned words[(sizeof(T) + 3) / 4] = {{0}};
  memcpy(words, &value, sizeof(T));
  unsigned sum = 0;
  for (unsigned n = 0; n < sizeof words / 4; n++) sum = sum * 7 + words[n];
  return sum;
}}
extern "C" __global__ void k(const T*{restrict} a, unsigned*{restrict} out, const T*{restrict} b,
                              int n, int trip, int off, int one) {{
  int tx = threadIdx.x, ty = threadIdx.y + blockDim.y * threadIdx.z;
  int gx = blockIdx.x * blockDim.x + threadIdx.x;
  int lin = ty * blockDim.x + tx;
  a += {ELEMENTS * 2} / sizeof(T);
  b += {ELEMENTS * 2} / sizeof(T);
  unsigned slot = {SLOTS} * (((blockIdx.y * gridDim.x + blockIdx.x) * blockDim.z * blockDim.y + ty) * blockDim.x + tx);
  unsigned acc = 12345;
{body}
  out[slot] = acc;
}}
"""


class CompilerCrashError(Exception):
    """NVRTC died."""


def compiled(source: str, arch: str) -> str:
    """PTX of CUDA, made in a child process: some sources bring NVRTC down. UserError for what it refuses."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        with os.fdopen(write_end, "w") as pipe:
            try:
                pipe.write(compile_to_ptx(source, arch))
            except Exception as error:
                pipe.write(f"{_REFUSED}{error}")
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        text = pipe.read()
    if os.waitpid(child, 0)[1] != 0:
        raise CompilerCrashError
    if text.startswith(_REFUSED):
        raise UserError(Diagnostic("CUDA_COMPILE", text.removeprefix(_REFUSED)))
    return text


@lru_cache(maxsize=8)
def cuda_case(seed: int) -> Case:
    """The case of a seed, compiled."""
    rng = random.Random(f"cuda {seed}")
    source = CudaWriter(rng).text()
    text = compiled(source, rng.choice(("sm_75", "sm_80", "sm_90")))
    block = random_shape(rng)
    x, y, z = block
    grid = rng.choice(((1, 1, 1), (2, 1, 1), (2, 2, 1))) if x * y * z <= 300 else (1, 1, 1)
    threads = x * y * z * grid[0] * grid[1] * grid[2]
    aliasing = rng.choice(("apart", "apart", "apart", "side"))
    words = max(ELEMENTS, threads * SLOTS + 64)
    return Case(
        seed,
        text,
        grid,
        block,
        words,
        rng.choice((x, 20, 0, 100)),
        rng.choice((0, 1, 2, 3, 5)),
        rng.choice((0, 3, 32, -5 & 0xFFFFFFFF)),
        aliasing,
    )
