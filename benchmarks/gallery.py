"""Costs of the kernels of examples/gallery beside those of what one writes first: counts of machine code, times of loops.

    python benchmarks/gallery.py --out benchmarks/results/gallery-DATE.jsonl

Kernels are compiled for sm_90, and run by the interpreter on the same random data as their peers of `gallery_peers.cu`, which
must compute the same. Loops and functions of arrays are timed on a million elements; the least of several runs counts.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
import timeit
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

import warploom as wl
from warploom.core import find_tool, to_numpy
from warploom.gpu import compile_cuda, count_executed, cuda_source, grid_of, machine_counts
from warploom.ir import Kernel, SizeVar, tabulate
from warploom.tools.bench.layout_peers import cub, trove

ROOT = Path(__file__).resolve().parents[1]
GALLERY = ROOT / "examples" / "gallery"
PEERS = ROOT / "benchmarks" / "gallery_peers.cu"
RENAMED = {"stencil_27": "stencil27", "stencil_3d": "stencil7"}
"""Peers whose names are not those of the sketches, by script."""
SIZES = {"n": 64, "h": 64, "rows": 4, "nx": 64, "ny": 8, "nz": 8}
"""Run-time sizes of the counted launches: whole warps only."""
WORDS = {"rgb_planes": 3, "odd_transpose": 5}
"""Words of each lane in the scripts that exchange registers and print no kernel."""
LOOPS: dict[str, tuple[str, str]] = {
    "attention_state": ("attention", "ff"), "crc8": ("crc8", "b"), "csv_automaton": ("separators", "c"),
    "debounce": ("presses", "b"), "iir_filter": ("biquad", "f"), "max_drawdown": ("drawdown", "i"),
    "random_jump": ("generator", "i"),
    "smith_waterman_row": ("row", "i"), "top_two": ("top_two", "i"), "viterbi": ("best", "ii"), "welford": ("welford", "f"),
}  # fmt: skip
"""The loop of a script, and what its arguments hold: f floats, i numbers, b bits, c characters."""
COUNT, RUNS = 1_000_000, 9
TUNE_S = 20.0
"""Search for each function, before it is timed."""
Line = dict[str, Any]


def scripts() -> Iterator[tuple[str, types.ModuleType]]:
    sys.path.insert(0, str(GALLERY))
    for path in sorted(GALLERY.glob("*.py")):
        if path.stem != "shown":
            yield path.stem, importlib.import_module(path.stem)


def line_of(name: str, module: types.ModuleType, chosen: np.random.Generator) -> Line:
    sketches = [value for value in vars(module).values() if isinstance(value, wl.Sketch)]
    if sketches:
        return kernel_line(name, sketches[0], chosen)
    if name in WORDS:
        return exchange_line(name, module.PROGRAM)
    if name in LOOPS:
        return loop_line(name, getattr(module, LOOPS[name][0]), LOOPS[name][1], chosen)
    if name in FUNCTIONS:
        return function_line(name, module, chosen)
    return {"case": name, "note": "checked, not timed"}


def kernel_line(name: str, sketch: wl.Sketch, chosen: np.random.Generator) -> Line:
    done = wl.complete(sketch)
    kernel = done.kernel
    assert kernel is not None, f"{name} is completed"
    sizes = {size: SIZES[size] for size in kernel.sizes}
    arrays = {param.name: values(kernel, param.name, sizes, chosen) for param in kernel.params}
    ours = cuda_source(kernel)
    include = find_tool("ptxas").parent.parent / "include"
    theirs = replace(ours, text=PEERS.read_text(), name=RENAMED.get(name, kernel.name))
    options = (f"-I{include / 'cccl'}", f"-I{include}")
    line: Line = {"case": name, "status": done.status, "verdict": done.verdict, "sizes": sizes, "arch": "sm_90"}
    results: list[dict[str, Any]] = []
    for what, source, more in (("found", ours, ()), ("peer", theirs, options)):
        compiled = compile_cuda(source.text, arch="sm_90", options=more)
        ran = count_executed(kernel, source, compiled, {key: array.copy() for key, array in arrays.items()}, sizes)
        counts = ran.counts
        line[what] = {
            "sass_instructions": machine_counts(compiled.cubin)[source.name].instructions,
            "executed_ptx": counts.instructions,
            "load_requests": counts.global_load_requests,
            "sectors": counts.global_sectors,
            "shuffles": counts.shuffles,
            "wavefronts": counts.shared_wavefronts,
        }
        results.append({p.name: ran.arrays[p.name] for p in kernel.params if p.is_output})
    line["warps"] = math.prod(grid_of(kernel, sizes)) * math.ceil(kernel.threads / 32)
    line["same"] = all(np.allclose(results[0][key], results[1][key], rtol=1e-4, atol=1e-4) for key in results[0])
    return line


def values(kernel: Kernel, name: str, sizes: dict[str, int], chosen: np.random.Generator) -> np.ndarray[Any, Any]:
    """Random contents of a parameter."""
    param = next(p for p in kernel.params if p.name == name)
    shape = tuple(int(tabulate(extent, {SizeVar(size): value for size, value in sizes.items()})) for extent in param.shape)
    kind = to_numpy(param.dtype)
    if np.issubdtype(kind, np.floating):
        return chosen.random(shape).astype(kind)
    return chosen.integers(0, 100, shape).astype(kind)


def exchange_line(name: str, program: str) -> Line:
    done = wl.solve(program)
    words = WORDS[name]
    found = {key: done.line[key] for key in ("shuffles", "selects")}
    return {
        "case": name,
        "status": done.status,
        "verdict": done.verdict,
        "found": found,
        "trove": trove(words),
        "cub": cub(words),
    }


def loop_line(name: str, loop: Callable[..., Any], kinds: str, chosen: np.random.Generator) -> Line:
    made: dict[str, Callable[[], Any]] = {
        "f": lambda: chosen.normal(size=COUNT),
        "i": lambda: chosen.integers(0, 100, COUNT),
        "b": lambda: chosen.integers(0, 2, COUNT).astype(bool),
        "c": lambda: "".join(chosen.choice(list('ab,"\n'), COUNT)),
    }
    given = [made[kind]() for kind in kinds]
    listed = [array if isinstance(array, str) else array.tolist() for array in given]
    fast = wl.scanned(loop)
    line: Line = {"case": name, "elements": COUNT, "peer_ms": milliseconds(lambda: loop(*listed), 3)}
    wanted, got = loop(*listed), fast(*given)
    return line | {
        "found_ms": milliseconds(lambda: fast(*given)),
        "same": bool(np.allclose(np.asarray(got, float), np.asarray(wanted, float))),
    }


def function_line(name: str, module: types.ModuleType, chosen: np.random.Generator) -> Line:
    function, peer, given = FUNCTIONS[name](module, chosen)
    function.tune(*given, budget_s=TUNE_S)
    same = bool(np.allclose(function(*given), peer(*given), rtol=1e-4, atol=1e-5))
    return {
        "case": name,
        "found_ms": milliseconds(lambda: function(*given)),
        "peer_ms": milliseconds(lambda: peer(*given)),
        "same": same,
    }


def rms_norm(module: types.ModuleType, chosen: np.random.Generator) -> tuple[Any, Any, list[Any]]:
    rows, weights = chosen.random((1000, 1000), np.float32), chosen.random(1000, np.float32)
    return module.rms_norm, lambda x, w: x / np.sqrt((x**2).mean(1, keepdims=True) + 1e-5) * w, [rows, weights]


def bilateral(module: types.ModuleType, chosen: np.random.Generator) -> tuple[Any, Any, list[Any]]:
    line, distances = chosen.random(COUNT + 4, np.float32), np.array([0.8, 0.2, 0, 0.2, 0.8], np.float32)

    def by_numpy(x: Any, d: Any) -> Any:
        near = np.lib.stride_tricks.sliding_window_view(x, 5)
        weights = np.exp(-((near - near[:, 2:3]) ** 2) - d)
        return (weights * near).sum(1) / weights.sum(1)

    return module.bilateral, by_numpy, [line, distances]


FUNCTIONS = {"rms_norm": rms_norm, "bilateral_filter": bilateral}


def milliseconds(call: Callable[[], object], runs: int = RUNS) -> float:
    return round(min(timeit.repeat(call, number=1, repeat=runs)) * 1e3, 3)


def shown(number: float) -> str:
    """Two or more digits, without an exponent."""
    return f"{number:.0f}" if number >= 99.5 else f"{number:.2g}"


def tables(lines: Sequence[Line]) -> str:
    """Markdown of a record: kernels by what they take on sm_90, then what is timed."""
    rows = ["| kernel | machine instructions | loads | sectors | shuffles + wavefronts |", "| --- | --- | --- | --- | --- |"]
    timed = ["| loop or function | plain | Warploom | ratio |", "| --- | --- | --- | --- |"]
    for line in lines:
        name = str(line.get("case", "")).replace("_", " ")
        if "warps" in line:
            ours, theirs = line["found"], line["peer"]
            exchanged = [c["shuffles"] + c["wavefronts"] for c in (ours, theirs)]
            cells = [(ours["sass_instructions"], theirs["sass_instructions"])]
            cells += [
                (a / line["warps"], b / line["warps"])
                for a, b in (*((ours[key], theirs[key]) for key in ("load_requests", "sectors")), exchanged)
            ]
            rows.append(f"| {name} | " + " | ".join(f"{a:.3g} ({b:.3g})" for a, b in cells) + " |")
        elif "found_ms" in line:
            ratio = line["peer_ms"] / line["found_ms"]
            timed.append(f"| {name} | {shown(line['peer_ms'])} ms | {shown(line['found_ms'])} ms | {shown(ratio)} |")
    return "\n".join([*rows, "", *timed]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", help="only these scripts; may be given several times")
    parser.add_argument("--out", type=Path, help="append the lines to this file, too")
    parser.add_argument("--tables", type=Path, metavar="RECORD", help="print the tables of a record, and run nothing")
    asked = parser.parse_args()
    if asked.tables:
        print(tables([json.loads(line) for line in asked.tables.read_text().splitlines()]), end="")
        return
    versions = {"python": sys.version.split()[0], "numpy": np.__version__, "version": wl.__version__}
    lines: Iterator[Line] = (
        line_of(name, module, np.random.default_rng(0)) for name, module in scripts() if not asked.case or name in asked.case
    )
    for line in chain([{"record": "run", "seed": 0, **versions}], lines):
        print(json.dumps(line), flush=True)
        if asked.out:
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
