"""Tiles of CUTLASS's kernels as points of our space, and our own beside them, all judged by the model of `schedule.cost`.

    python -m benchmarks.cutlass_tiles [ARCH ...] --nodes 200     one JSON line for each kernel and architecture
    python -m benchmarks.cutlass_tiles sm_90 --size 1024          where sums in parts ("split-K") matter

A tile fixes the sizes of all levels, as `--set 'size(m1)=16' ...` does, and that all threads of a block share out its copies in
the order of the array (`spread(tmp_load_A)=YES`), as CUTLASS's iterators over tiles do; `--copies loops` has threads copy along
loops that they share out elsewhere. A search of `nodes` decides everything else. Each tile is tried with the sum in each of
`--parts` (`tiles_parts` has the fastest), which a second kernel adds up; null is a tile for which nothing was found. `ours_ms` is
what one search finds without fixed sizes, with the nodes of all tiles together (`ours_nodes`).

A tile is that of a block, with the results of a thread (or of an instruction) and the slice of the sum. `--warps cutlass` (f32
and 16 bits) has the warps of CUTLASS's kernels as well: of f32 the order of threads in a warp, 4 by 8 or 8 by 4, neighbours
above each other; of 16 bits as many warps along both axes of a result. `--warps line`: in order, along the columns.

Sources: CUTLASS, python/cutlass_library/generator.py: GenerateSM50_Simt, GenerateSM80_Simt_f32, GenerateSM80_TensorOp_16816 (16
bits), _1688 (tf32), _16832_TN (i8) and _884 (f64), GenerateSM89_TensorOp_16832_fp8: shapes of tiles and numbers of warps;
include/cutlass/gemm/threadblock/default_mma_core_simt.h (WarpNumThreadsM, LaneLayout): threads of a warp.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from warploom.core import UserError
from warploom.kernels.tensors import tensor_kernel
from warploom.machines import ARCHITECTURES, MATRIX_INSTRUCTIONS
from warploom.schedule.backbone import Backbone, Program, matrix_tiles, widened
from warploom.schedule.bound import Bound
from warploom.schedule.choices import Features
from warploom.schedule.frontend import PartedFunction
from warploom.schedule.search import Options, Recipe, explore_kernel, explore_programs, strategy_named
from warploom.schedule.search.modelled import ModelEvaluator
from warploom.schedule.targets import Target, target

SIZE = 4096
PARTS = (1, 2, 4, 8)
"""Numbers of parts that a tile is tried with."""
SIMT = ("256x128x8", "128x256x8", "128x128x8", "128x64x8", "64x128x8", "64x64x8", "128x32x8", "32x128x8")
TENSOR = (
    "256x128x32", "128x256x32", "256x64x32", "64x256x32", "128x128x32", "128x64x32", "64x128x32", "64x64x32", "256x128x64",
    "128x256x64", "128x128x64", "128x64x64", "64x128x64", "64x64x64",
)  # fmt: skip
TENSOR_32 = (
    "256x128x16", "128x256x16", "256x64x16", "64x256x16", "128x128x16", "128x64x16", "64x128x16", "64x64x16", "256x128x32",
    "128x256x32", "256x64x32", "64x256x32", "128x128x32", "128x64x32", "64x128x32", "64x64x32",
)  # fmt: skip
TENSOR_8 = (
    "256x128x64", "128x256x64", "256x64x64", "64x256x64", "256x32x64", "32x256x64", "128x128x64", "128x64x64", "64x128x64",
    "64x64x64", "128x32x64", "32x128x64", "256x128x128", "128x256x128", "256x64x128", "64x256x128", "256x32x128", "32x256x128",
    "128x128x128", "128x64x128", "64x128x128", "64x64x128", "128x32x128", "32x128x128",
)  # fmt: skip
TENSOR_64 = (
    "128x128x16", "256x64x16", "64x256x16", "256x32x16", "32x256x16", "128x64x16", "64x128x16", "64x64x16", "32x64x16",
    "64x32x16", "32x32x16", "16x32x16", "32x16x16",
)  # fmt: skip
KERNELS: dict[str, tuple[str, ...]] = {
    "matmul": SIMT,
    "matmul_f16": TENSOR,
    "matmul_bf16": TENSOR,
    "matmul_tf32": TENSOR_32,
    "matmul_i8": TENSOR_8,
    "matmul_e4m3": TENSOR_8,
    "matmul_f64": TENSOR_64,
}
_RESULTS = 8
WARPS: dict[str, tuple[int, int]] = {
    "256x128": (4, 2), "128x256": (2, 4), "256x64": (4, 1), "64x256": (1, 4), "128x128": (2, 2), "128x64": (2, 2),
    "64x128": (2, 2), "64x64": (2, 2),
}  # fmt: skip
"""Warps of CUTLASS's kernels of 16 bits along the rows and along the columns of a block's results."""
TALL_WARPS = ("128x64", "128x32")
"""Tiles of f32 whose warps have more rows than columns: 8 by 4 threads, of the others 4 by 8."""
WITH_WARPS = ("matmul", "matmul_f16", "matmul_bf16")


@dataclass(frozen=True, slots=True)
class Row:
    kernel: str
    arch: str
    size: int
    nodes: int
    is_spread: bool
    has_warps: bool
    tiles_ms: Mapping[str, float]
    tiles_parts: Mapping[str, int]
    ours_ms: float
    ours_parts: int
    ours_nodes: int

    @property
    def line(self) -> dict[str, object]:
        best = min(self.tiles_ms, key=self.tiles_ms.__getitem__)
        rounded = {name: round(ms, 4) if math.isfinite(ms) else None for name, ms in self.tiles_ms.items()}
        return {
            "kernel": self.kernel, "arch": self.arch, "size": self.size, "nodes": self.nodes, "spread": self.is_spread,
            "warps": self.has_warps, "tiles_ms": rounded, "best": best,
            "tiles_parts": dict(self.tiles_parts), "best_ms": round(self.tiles_ms[best], 4), "ours_ms": round(self.ours_ms, 4),
            "ours_parts": self.ours_parts, "ours_nodes": self.ours_nodes,
        }  # fmt: skip


def decisions(
    kernel: str, tile: str, *, is_spread: bool = True, has_warps: bool = False, stage: str | None = None
) -> dict[str, str]:
    """The sizes of all levels and who copies, by name, as `--set` takes them. has_warps: and where the warps lie. stage: name
    of the kernel that multiplies, where it is another one."""
    name = stage or kernel
    rows, columns, deep = (int(n) for n in tile.split("x"))
    sides = tile.rpartition("x")[0]
    others: dict[str, str] = {}
    if kernel == "matmul":  # 8 by 8 results of a thread, in vectors of 4; twice as many along a side of 256
        tall, wide = (2 if size > 128 else 1 for size in (rows, columns))
        sizes = {"m1": rows // _RESULTS // tall, "m2": _RESULTS * tall, "n1": 2 * wide, "n2": columns // _RESULTS // wide}
        sizes |= {"n3": 4, "k1": deep // 4, "k2": 4}
        if has_warps:
            others[f"warps({name})"] = "8x4" if sides in TALL_WARPS else "4x8"
    elif has_warps:
        down, across = WARPS[sides]
        sizes = {"m1": down, "m2": rows // 8 // down, "n1": across, "n2": columns // 8 // across, "k1": deep // 8}
        others[f"warps({name})"] = "GRID" if down > 1 and across > 1 else "PLAIN"
        if across == 1:
            others["dim_kind(mad.m1)"] = "THREAD"
    else:  # four warps, eight for the largest tiles, side by side along the columns, 16 of these each at least
        warps = min(8 if rows * columns > 128 * 128 else 4, columns // 16)
        along = min(_RESULTS, rows // 8)
        piece = MATRIX_INSTRUCTIONS[kernel.removeprefix("matmul_")].piece
        sizes = {"m1": rows // 8 // along, "m2": along, "n1": warps, "n2": columns // 8 // warps, "k1": deep // piece}
    copies = {f"spread(tmp_load_{array})": "YES" if is_spread else "NO" for array in "AB"}
    return {f"size({name})": str(size) for name, size in sizes.items()} | copies | others


def stage_of(kernel: str, on: Target, size: int = SIZE) -> Backbone:
    return program_of(kernel, on, size, 1).stages[0]


def program_of(kernel: str, on: Target, size: int, parts: int) -> Program:
    """The kernels that make the sum in so many parts, and add these up."""
    found = tensor_kernel(kernel)
    function = found if parts == 1 else PartedFunction(found.function, parts, "k")
    program = function.program({"m": size, "n": size, "k": size}, matrix_tiles(on.matrices))
    return replace(program, stages=tuple(widened(stage, on.matrices) for stage in program.stages))


def milliseconds(stage: Backbone, on: Target, fixed: Mapping[str, str], nodes: int, seed: int = 0) -> float:
    """The best that a search of so many nodes finds with these decisions taken; infinite where they contradict each other."""
    try:
        model = Recipe(stage, on, Bound, Features.full(), fixed=tuple(fixed.items()))()
        model.root()
    except UserError:  # a slice of the sum that is longer than a part
        return math.inf
    strategy = strategy_named("refine", seed)
    found = explore_kernel(model, stage.name, ModelEvaluator(on), Options(strategy=strategy, nodes=nodes))
    return math.inf if found.time_ms is None else found.time_ms


def row(
    kernel: str, arch: str, nodes: int, tiles: Sequence[str] = (), size: int = SIZE, every: Sequence[int] = PARTS,
    *, is_spread: bool = True, has_warps: bool = False,
) -> Row:  # fmt: skip
    """Each number of parts of a tile gets `nodes`; the search that is free to choose its own tiles gets all of these."""
    on, tiles = target(arch), tiles or KERNELS[kernel]
    programs = {parts: program_of(kernel, on, size, parts) for parts in every}
    merging = {parts: sum(milliseconds(s, on, {}, nodes) for s in p.stages[1:]) for parts, p in programs.items()}
    best: dict[str, tuple[float, int]] = {}
    for tile in tiles:
        times: list[tuple[float, int]] = []
        for parts, p in programs.items():
            stage = p.stages[0]
            fixed = decisions(kernel, tile, is_spread=is_spread, has_warps=has_warps, stage=stage.name)
            times.append((milliseconds(stage, on, fixed, nodes) + merging[parts], parts))
        best[tile] = min(times)
    ours_nodes = nodes * len(every) * len(tiles)
    asked = Options(strategy=strategy_named("refine", 0), nodes=ours_nodes)
    ours = explore_programs(programs, on, options=asked, evaluators=lambda _: ModelEvaluator(on))
    ours_ms = math.inf if ours.found.time_ms is None else ours.found.time_ms
    tiles_ms = {tile: ms for tile, (ms, _) in best.items()}
    parts_of = {t: p for t, (ms, p) in best.items() if ms < math.inf}
    return Row(kernel, arch, size, nodes, is_spread, has_warps, tiles_ms, parts_of, ours_ms, ours.parts, ours_nodes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("arch", nargs="*", default=[name for name, on in ARCHITECTURES.items() if on.matrices])
    parser.add_argument("--kernel", nargs="+", choices=sorted(KERNELS), default=sorted(KERNELS))
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--parts", type=int, nargs="+", default=PARTS)
    parser.add_argument("--copies", choices=("spread", "loops"), default="spread")
    parser.add_argument("--warps", nargs="+", choices=("line", "cutlass"), default=("line",))
    parser.add_argument("--tiles", nargs="+", default=(), help="default: all of the kernel")
    given = parser.parse_args()
    for arch in given.arch:
        for kernel in (k for k in given.kernel if k == "matmul" or k.removeprefix("matmul_") in ARCHITECTURES[arch].matrices):
            tiles = [tile for tile in KERNELS[kernel] if not given.tiles or tile in given.tiles]
            for warps in (w for w in given.warps if w == "line" or kernel in WITH_WARPS):
                spread, has_warps = given.copies == "spread", warps == "cutlass"
                found = row(kernel, arch, given.nodes, tiles, given.size, given.parts, is_spread=spread, has_warps=has_warps)
                print(json.dumps(found.line), flush=True)


if __name__ == "__main__":
    main()
