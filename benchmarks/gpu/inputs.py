"""Compiles all kernels of this folder's programs for machines with a GPU that have no compilers and no network.

`make gpu-inputs` or `python benchmarks/gpu/inputs.py [--arch sm_90 ...] [--out build/gpu-inputs.zip]`. Needs no GPU. `make gpu`
takes the file where it lies in `build`. A file that is there already is added to. A few minutes and a few megabytes for each
architecture.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import correct
import latencies
import peers
import scans
import shuffles

import schedule
from warploom.core import UserError
from warploom.gpu import assemble, compile_cuda, compile_to_ptx, cuda_source
from warploom.gpu.prebuilt import recorded
from warploom.kernels import complete_example, find
from warploom.kernels.kernelgen import cuda_source as stencil_source
from warploom.ptx.shuffle import ShuffleOptions, shuffle
from warploom.ptx.syntax import parse
from warploom.scan.emit.cub import cub_source
from warploom.schedule.cuda import Options, compile_kernel, cuda_kernel

FILE = Path(__file__).parents[2] / "build" / "gpu-inputs.zip"
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

Job = Callable[[str], object]
"""Compiles something for an architecture."""


def jobs() -> Iterator[tuple[str, Job]]:
    """All that the programs compile, by the program's name and the case."""
    for case in correct.CASES:
        yield f"correct/{case}", lambda arch, case=case: _completed(case, arch)
    for case in peers.CASES:
        yield f"peers/{case}", lambda arch, case=case: _peers(case, arch)
    for loop in scans.LOOPS:
        yield f"scans/{loop}", lambda arch, loop=loop: _scan(loop, arch)
    for case, stencil, shape in shuffles.cases([]):
        yield f"shuffles/{case}", lambda arch, given=(stencil, shape): _stencil(*given, arch)
    for case, entry in schedule.hand_written().items():
        yield (
            f"schedule/{case}",
            lambda arch, entry=entry: [compile_kernel(cuda_kernel(nest, Options(arch=arch))) for nest in entry().nests],
        )
    yield "schedule/copy", lambda arch: compile_cuda(schedule.COPY, arch)
    for name, parts in latencies.CHAINS.items():
        yield f"latencies/{name}", lambda arch, parts=parts: compile_cuda(latencies.chain_source(*parts), arch)
    for name, step in latencies.RATES.items():
        yield f"latencies/{name}", lambda arch, step=step: compile_cuda(latencies.rate_source(step), arch)


def _completed(case: str, arch: str) -> None:
    example = find(case)
    compile_cuda(cuda_source(example.sketch.kernel, complete_example(example).completions[0].holes).text, arch)


def _peers(case: str, arch: str) -> None:
    example = find(case)
    compile_cuda(cuda_source(example.baseline.kernel, {}).text, arch)
    if case.startswith(peers.PRODUCTS) and (found := complete_example(example, space=1).completions):
        compile_cuda(cuda_source(example.sketch.kernel, found[0].holes).text, arch)
    for peer in peers.peers_of(case):
        peers.compile_peer(peer.source, arch)


def _scan(loop: str, arch: str) -> None:
    made = scans.scan_of(loop)
    compile_cuda(made.source, arch)
    peers.compile_peer(cub_source(made.plain), arch)


def _stencil(stencil: shuffles.Stencil, shape: shuffles.Shape, arch: str) -> None:
    text = compile_to_ptx(stencil_source(stencil, shape), arch)
    for policy in shuffles.policies(arch).values():
        assemble(shuffle(parse(text), ShuffleOptions(policy=policy)).text, arch)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="inputs.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--arch", nargs="+", default=ARCHITECTURES, metavar="ARCH", help=f"default: {' '.join(ARCHITECTURES)}")
    parser.add_argument("--only", default="", metavar="TEXT", help="only what has this text in its name, such as scans/")
    parser.add_argument("--out", type=Path, default=FILE)
    given = parser.parse_args(arguments)
    todo = [(arch, name, job) for arch in given.arch for name, job in jobs() if given.only in name]
    failed: list[str] = []
    with recorded(given.out):
        for number, (arch, name, job) in enumerate(todo):
            print(f"{number + 1}/{len(todo)} {arch} {name}", file=sys.stderr, flush=True)
            try:
                job(arch)
            except UserError as error:
                failed.append(f"{arch} {name}: {str(error).splitlines()[0]}")
    print(f"{given.out}: {given.out.stat().st_size / 1e6:.1f} MB", *failed, sep="\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
