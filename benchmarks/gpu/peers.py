"""On a GPU: what the papers compare themselves with, beside our kernels of the same problem.

`python benchmarks/gpu/peers.py [--json] [--dry-run] [CASE ...]`, cases as in `warploom bench kernels`. Kernels of others are
written here from their descriptions; libraries are called if they are installed, and named with the reason if they are not:

- arrays of structures, stored as arrays or summed: every thread its structure (direct), through vectors, through shared memory
  (our baseline), Catanzaro's decomposition with tables of lanes as trove does it, CUB's WarpExchange
- convolution: Iandola's kernel (a patch of inputs in registers of one thread), NPP, ArrayFire
- products over GF(2) and in fields: Ben-Sasson's kernel, which is the completion of the smallest space (eight accumulates)
- scans (CUB): `benchmarks/gpu/scans.py`; matrix products (cuBLAS): `benchmarks/gpu/schedule.py`;
  PyTorch and CuPy: `benchmarks/gpu/libraries.py`

Figures of the papers stand beside (`paper`): their text gives means only, and none for Halide. --dry-run needs no GPU: every
kernel is compiled and run in the PTX interpreter at small sizes, and compared with the reference.
"""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from math import gcd
from pathlib import Path
from typing import Any

import numpy as np
from forms import DRY_ARCH, Form, completed, least, shared
from times import Figures, figures

from warploom.core import UserError, find_tool
from warploom.gpu import (
    Compiled,
    compile_cuda,
    compile_to_ptx,
    device_arch,
    device_available,
    time_kernel,
    time_on_device,
)
from warploom.kernels import complete_example, find
from warploom.ptx import launch
from warploom.tools.bench.kernels import COUNT_SIZES, TIME_SIZES

LANES = 32
REPEATS = 20
WITHOUT_CUB = "the headers of CUB (nvidia-cuda-cccl) are not installed"
STRUCTS = (2, 3, 4, 5, 7, 8)
FILTERS = (3, 5, 7)
PAPERS: Mapping[str, Mapping[str, float]] = {"conv2d": {"npp": 3.2, "arrayfire": 2.3, "iandola": 1.5}}
"""How many times as fast as these the paper's kernels are, in the mean. Source: Swizzle Inventor, section 7.1."""

Arrays = dict[str, Any]
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Peer:
    """A kernel of somebody else, in our words."""

    name: str
    source: str
    symbol: str
    grid: Callable[[Mapping[str, int]], Triple]
    block: Triple
    arrays: tuple[str, ...]
    """Arrays of the example, in the order of the parameters; its sizes follow."""
    sizes: tuple[str, ...]


def rotated(values: Sequence[str], amount: str, prefix: str) -> tuple[list[str], list[str]]:
    """Lines that move register k to k + amount, modulo their number, and the new names: a choice for each bit of the amount."""
    lines: list[str] = []
    names, count = list(values), len(values)
    for bit in range((count - 1).bit_length()):
        new = [f"{prefix}{bit}_{k}" for k in range(count)]
        moved = [names[(k - (1 << bit)) % count] for k in range(count)]
        lines += [
            f"int {n} = (({amount}) >> {bit}) & 1 ? {far} : {near};" for n, far, near in zip(new, moved, names, strict=True)
        ]
        names = new
    return lines, names


def decomposed(words: int) -> list[str]:
    """Catanzaro's transposition of `words` registers by 32 lanes: rotate registers, shuffle lanes, rotate registers."""
    rest = LANES // gcd(words, LANES)
    rows = [[j * words + (i + j // rest) % words for j in range(LANES)] for i in range(words)]
    place = {element: i for i, row in enumerate(rows) for element in row}
    # Register k of lane 0 holds an element of row `place`; other lanes are as much further as their number.
    order = [place[k * LANES] for k in range(words)]
    lines, turned = rotated([f"a{order.index(p)}" for p in range(words)], f"lane % {words}", "r")
    for i in range(words):
        source = f"(lane * {words} + ({i} + lane / {rest}) % {words}) % {LANES}"
        lines.append(f"int s{i} = __shfl_sync(0xffffffffu, {turned[i]}, {source});")
    more, last = rotated([f"s{i}" for i in range(words)], f"(lane / {rest}) % {words}", "t")
    return [*lines, *more, *(f"int b{k} = {last[k]};" for k in range(words))]


def structure_peers(words: int, *, is_sum: bool = False) -> Iterator[Peer]:
    """Word j of structure i of a tile from src[words * i + j] to dst[32 * j + i]; or total[i], the sum over j."""
    each = range(words)
    out, moved = ("total", LANES) if is_sum else ("dst", LANES * words)
    stores = [f"dst[{LANES} * {j} + lane] = b{j};" for j in each]
    if is_sum:
        stores = [f"total[lane] = {' + '.join(f'b{j}' for j in each)};"]
    striped = [f"int a{r} = src[{LANES} * {r} + lane];" for r in each]
    bodies = {
        "direct": [f"int b{j} = src[{words} * lane + {j}];" for j in each],
        "trove": [*striped, *decomposed(words)],
        "cub": [
            f"using Exchange = cub::WarpExchange<int, {words}>;",
            "__shared__ typename Exchange::TempStorage room[4];",
            f"int items[{words}];",
            *(f"items[{r}] = src[{LANES} * {r} + lane];" for r in each),
            "Exchange(room[threadIdx.x / 32]).StripedToBlocked(items, items);",
            *(f"int b{j} = items[{j}];" for j in each),
        ],
    }
    if words in (2, 4):
        fields = "xyzw"[:words]
        wide = f"int{words} whole = reinterpret_cast<const int{words}*>(src)[lane];"
        bodies["vector"] = [wide, *(f"int b{j} = whole.{field};" for j, field in enumerate(fields))]
    for name, body in bodies.items():
        symbol = f"aos_{'sum_' * is_sum}{name}_{words}"
        head = "#include <cub/warp/warp_exchange.cuh>\n" if name == "cub" else ""
        lines = [
            "int lane = threadIdx.x % 32;",
            "int tile = blockIdx.x * 4 + threadIdx.x / 32;",
            "if (tile >= tiles) return;",
            f"src += {LANES * words} * tile;",
            f"{out} += {moved} * tile;",
            *body,
            *stores,
        ]
        yield Peer(
            name,
            _kernel(head, symbol, f"const int* __restrict__ src, int* __restrict__ {out}, int tiles", lines),
            symbol,
            lambda sizes: (-(-sizes["tiles"] // 4), 1, 1),
            (128, 1, 1),
            ("src", out),
            ("tiles",),
        )


def filter_peers(size: int) -> Iterator[Peer]:
    """Iandola et al. 2013: a thread loads the inputs of a few outputs to registers, once, and keeps all in registers."""
    side = 2
    reach = side + size - 1
    lines = [
        f"int left = {side} * (blockIdx.x * blockDim.x + threadIdx.x), top = {side} * (blockIdx.y * blockDim.y + threadIdx.y);",
        "if (top >= h || left >= w) return;",
        f"float in[{reach}][{reach}], out[{side}][{side}] = {{}};",
        f"int wide = w + {size - 1}, high = h + {size - 1};",
        "#pragma unroll",
        f"for (int a = 0; a < {reach}; a++)",
        "    #pragma unroll",
        f"    for (int b = 0; b < {reach}; b++)",
        "        in[a][b] = top + a < high && left + b < wide ? x[(size_t)(top + a) * wide + left + b] : 0.0f;",
        "#pragma unroll",
        f"for (int a = 0; a < {size}; a++)",
        "    #pragma unroll",
        f"    for (int b = 0; b < {size}; b++) {{",
        f"        float weight = f[a * {size} + b];",
        "        #pragma unroll",
        f"        for (int p = 0; p < {side}; p++)",
        "            #pragma unroll",
        f"            for (int q = 0; q < {side}; q++) out[p][q] += weight * in[a + p][b + q];",
        "    }",
        "#pragma unroll",
        f"for (int p = 0; p < {side}; p++)",
        "    #pragma unroll",
        f"    for (int q = 0; q < {side}; q++)",
        "        if (top + p < h && left + q < w) y[(size_t)(top + p) * w + left + q] = out[p][q];",
    ]
    symbol = f"iandola_{size}"
    parameters = "const float* __restrict__ x, const float* __restrict__ f, float* __restrict__ y, int h, int w"
    yield Peer(
        "iandola",
        _kernel("", symbol, parameters, lines),
        symbol,
        lambda sizes: (-(-sizes["w"] // (32 * side)), -(-sizes["h"] // (4 * side)), 1),
        (32, 4, 1),
        ("x", "f", "y"),
        ("h", "w"),
    )


def _kernel(head: str, symbol: str, parameters: str, lines: Sequence[str]) -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f'{head}extern "C" __global__ void {symbol}({parameters})\n{{\n{body}\n}}\n'


def peers_of(case: str) -> list[Peer]:
    kind, _, number = case.rpartition("-")
    if kind in ("aos-store-crc", "aos-sum-crc"):
        return list(structure_peers(int(number), is_sum=kind == "aos-sum-crc"))
    if kind == "conv2d":
        return list(filter_peers(int(number)))
    return []


CASES = (
    *(f"aos-{what}-crc-{n}" for what in ("store", "sum") for n in STRUCTS),
    *(f"conv2d-{n}" for n in FILTERS),
    *("mult64-reg", "mult32-reg", "ffm-32", "ffm-64", "ffm-128"),
)
PRODUCTS = ("mult", "ffm")


def cub_options() -> tuple[str, ...]:
    """Options of the compiler for CUB's headers; none where they are not installed."""
    try:
        folder = find_tool("ptxas").parent.parent / "include"
    except UserError:
        return ()
    return (f"-I{folder / 'cccl'}", f"-I{folder}") if (folder / "cccl" / "cub").is_dir() else ()


def compile_peer(source: str, arch: str) -> Compiled | None:
    """None for a source that needs CUB's headers where they are not installed."""
    options = cub_options()
    try:
        return compile_cuda(source, arch, options=options)
    except UserError:
        if options or "#include <cub" not in source:
            raise
        return None


def dry_run(case: str) -> dict[str, object]:
    """Every kernel of the case on the interpreter; `right` by name."""
    example = find(case)
    sizes = {size: min(COUNT_SIZES[size], 40) for size in example.sketch.kernel.sizes}
    arrays = example.arrays(sizes)
    expected = example.reference(**arrays)
    right: dict[str, bool | str] = {}
    for peer in peers_of(case):
        if "#include <cub" in peer.source and not cub_options():
            right[peer.name] = WITHOUT_CUB
            continue
        given = [*(arrays[name].copy() for name in peer.arrays), *(np.int32(sizes[name]) for name in peer.sizes)]
        text = compile_to_ptx(peer.source, DRY_ARCH, options=cub_options())
        ran = launch(text, kernel=peer.symbol, grid=peer.grid(sizes), block=peer.block, args=given)
        found = {name: ran.arrays[n] for n, name in enumerate(peer.arrays) if n in ran.arrays}
        is_same = all(
            np.allclose(found[name].reshape(array.shape), array, rtol=1e-4, atol=1e-5) for name, array in expected.items()
        )
        right[peer.name] = ran.status == "finished" and not ran.findings and is_same
    if case.startswith(PRODUCTS):
        right["ben-sasson"] = complete_example(example, space=1).verdict == "proved"
    missing = {
        name: reason for name, call in LIBRARIES.items() if (reason := call(case, {}, dry=True)) and isinstance(reason, str)
    }
    return {"case": case, "right": right, "libraries": missing}


def forms_of(case: str, arch: str) -> dict[str, Form]:
    """Kernels of the library that are timed."""
    found = {"ours": completed(case, arch), "shared": shared(case, arch)}
    if case.startswith(PRODUCTS):
        if (smallest := least(case, arch)) is not None:
            found["ben-sasson"] = smallest
        found["ben-sasson-shared"] = found["shared"]
    return found


def measure(case: str) -> dict[str, object]:
    """Medians and quartiles of the milliseconds of ours and of each peer; sizes larger than the caches."""
    example = find(case)
    sizes = {size: TIME_SIZES[size] for size in example.sketch.kernel.sizes}
    arrays = example.arrays(sizes)
    line: dict[str, object] = {"case": case, "sizes": sizes, "arch": device_arch()}
    for name, form in forms_of(case, device_arch()).items():
        line[name] = figures(time_on_device(form.kernel, form.source, form.compiled, arrays, sizes, repeats=REPEATS))
    for peer in peers_of(case):
        compiled = compile_peer(peer.source, device_arch())
        if compiled is None:
            line[peer.name] = WITHOUT_CUB
            continue
        given = [arrays[name].copy() for name in peer.arrays]
        numbers = [sizes[name] for name in peer.sizes]
        timing = time_kernel(compiled, peer.symbol, peer.grid(sizes), peer.block, given, numbers, repeats=REPEATS)
        line[peer.name] = figures(timing)
    for name, call in LIBRARIES.items():
        found = call(case, arrays, dry=False)
        if found is not None:
            line[name] = found
    line["paper"] = dict(PAPERS.get(case.partition("-")[0], {}))
    return line


# libraries: milliseconds, the reason why there are none, or None where the library has no such function


def arrayfire(case: str, arrays: Arrays, *, dry: bool) -> Figures | str | None:
    if not case.startswith("conv2d"):
        return None
    if find_spec("arrayfire") is None:
        return "arrayfire is not installed"
    if dry:
        return "needs a GPU"
    af = import_module("arrayfire")
    x, f = af.np_to_af_array(arrays["x"]), af.np_to_af_array(np.ascontiguousarray(arrays["f"][::-1, ::-1]))
    times: list[float] = []
    for _ in range(REPEATS + 3):
        begin = af.time()
        af.eval(af.convolve2(x, f))
        af.sync()
        times.append(af.time() - begin)
    return figures([1e3 * time for time in times[3:]])


def npp(case: str, arrays: Arrays, *, dry: bool) -> Figures | str | None:
    """The form without a context is in NPP up to 12, the one with it in all."""
    if not case.startswith("conv2d"):
        return None
    library = next((found for name in _npp_files() if (found := _loaded(name))), None)
    if library is None or find_spec("cupy") is None:
        return "NPP (libnppif) or cupy, which holds its arrays, is not installed"
    if dry:
        return "needs a GPU"
    cupy, size = import_module("cupy"), arrays["f"].shape[0]
    x, y = cupy.asarray(arrays["x"]), cupy.asarray(arrays["y"])
    f = cupy.asarray(np.ascontiguousarray(arrays["f"][::-1, ::-1]))
    pair = ctypes.c_int * 2
    pointer = ctypes.c_void_p
    parameters = [pointer, ctypes.c_int, pointer, ctypes.c_int, pair, pointer, pair, pair]
    if has_context := not hasattr(library, "nppiFilter_32f_C1R"):
        parameters.append(NppContext)
    call = library.nppiFilter_32f_C1R_Ctx if has_context else library.nppiFilter_32f_C1R
    call.argtypes = parameters
    more = (npp_context(cupy.cuda.Device().attributes, cupy.cuda.Device().id),) if has_context else ()
    extent = pair(y.shape[1], y.shape[0])
    times: list[float] = []
    for _ in range(REPEATS + 3):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record(cupy.cuda.Stream.null)
        status = call(x.data.ptr, x.strides[0], y.data.ptr, y.strides[0], extent, f.data.ptr, pair(size, size), pair(0, 0), *more)
        end.record(cupy.cuda.Stream.null)
        end.synchronize()
        if status:
            return f"{call.__name__} returned {status}"
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return figures(times[3:])


class NppContext(ctypes.Structure):
    """`NppStreamContext`: the legacy stream, and what NPP asks of the device."""

    _fields_ = [
        ("stream", ctypes.c_void_p),
        ("device", ctypes.c_int),
        ("multiprocessors", ctypes.c_int),
        ("threads_per_multiprocessor", ctypes.c_int),
        ("threads_per_block", ctypes.c_int),
        ("shared_bytes_per_block", ctypes.c_size_t),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("reserved", ctypes.c_int),
    ]


def npp_context(attributes: Mapping[str, int], device: int) -> NppContext:
    """`attributes`: of the device, by the names of the driver without their prefix, as cupy gives them."""
    found = [
        attributes[name]
        for name in (
            "MultiProcessorCount", "MaxThreadsPerMultiProcessor", "MaxThreadsPerBlock", "MaxSharedMemoryPerBlock",
            "ComputeCapabilityMajor", "ComputeCapabilityMinor",
        )
    ]  # fmt: skip
    return NppContext(None, device, *found, 0, 0)


def _npp_files() -> list[str]:
    """Names of the library, then its places in the packages nvidia-npp and nvidia-npp-cu12."""
    names = ["libnppif.so", *(f"libnppif.so.{version}" for version in (13, 12, 11))]
    spec = find_spec("nvidia")
    roots = [Path(root) for root in (spec.submodule_search_locations or ())] if spec is not None else []
    return [*names, *(str(file) for root in roots for file in sorted(root.glob("*/lib/libnppif.so.*")))]


def _loaded(name: str) -> Any:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


LIBRARIES: Mapping[str, Callable[..., Figures | str | None]] = {"arrayfire": arrayfire, "npp": npp}


def main(arguments: list[str]) -> int:
    as_json, is_dry = "--json" in arguments, "--dry-run" in arguments
    patterns = [argument for argument in arguments if not argument.startswith("--")]
    if unknown := [argument for argument in arguments if argument.startswith("--") and argument not in ("--json", "--dry-run")]:
        print(f"expected --json or --dry-run, got {unknown[0]}", file=sys.stderr)
        return 2
    cases = [case for case in CASES if not patterns or any(fnmatchcase(case, pattern) for pattern in patterns)]
    if not cases:
        print(f"expected a pattern that some case matches, got {patterns[0]!r}; cases are {', '.join(CASES)}", file=sys.stderr)
        return 2
    if not is_dry and not device_available():
        print("no CUDA device here: nothing to time (--dry-run checks the kernels without one)", file=sys.stderr)
        return 3
    wrong = False
    for case in cases:
        try:
            line = dry_run(case) if is_dry else measure(case)
        except UserError as error:
            line = {"case": case, "reason": str(error).splitlines()[0]}
            wrong = True
        right = line.get("right")
        wrong = wrong or (isinstance(right, dict) and False in right.values())
        print(json.dumps(line) if as_json else f"{case:<18} { ({k: v for k, v in line.items() if k != 'case'}) }", flush=True)
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
