"""Compiles all kernels of this folder's programs for machines with a GPU that have no compilers and no network.

`make gpu-inputs` or `python benchmarks/gpu/inputs.py [--arch sm_90 ...] [--out build/gpu-inputs.zip] [--check]`. Needs no GPU.
`make gpu` takes the file where it lies in `build`. A file that is there already is added to: what is done is in the file, so
that a second run goes on where the first one stopped; after a change of the code all is looked at again. About ten CPU minutes
for the first architecture, mostly searches, and two megabytes for each. `--check` compiles nothing and says what the file lacks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import calls
import correct
import forms
import latencies
import libraries
import peers
import scans
import shuffles

import schedule
from warploom.core import UserError
from warploom.gpu import compile_cuda, cuda_source
from warploom.gpu.prebuilt import alone, names, recorded
from warploom.scan.emit.cub import cub_source
from warploom.scan.emit.running import compiled_program

ROOT = Path(__file__).parents[2]
FILE = ROOT / "build" / "gpu-inputs.zip"
ARCHITECTURES = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

Job = Callable[[str], object]
"""Compiles something for an architecture."""


def jobs() -> Iterator[tuple[str, Job]]:
    """All that the programs and the tests with a GPU compile, by the program's name and the case."""
    for case in correct.CASES:
        yield f"correct/{case}", partial(forms.completed, case)
    for case in libraries.CASES:
        yield f"libraries/{case}", partial(libraries.forms_of, case)
    for case in peers.CASES:
        yield f"peers/{case}", partial(_peers, case)
    for loop in scans.LOOPS:
        yield f"scans/{loop}", partial(_scan, loop)
    for case, stencil, shape in shuffles.cases([]):
        yield f"shuffles/{case}", lambda arch, given=(stencil, shape): list(shuffles.versions(*given, arch))
    for case, entry in schedule.hand_written().items():
        yield f"schedule/{case}", lambda arch, entry=entry: schedule.compiled_nests(entry(), arch)
    yield "schedule/copy", schedule.compiled_copy
    for name, source in latencies.sources().items():
        yield f"latencies/{name}", partial(compile_cuda, source)
    yield "calls", calls.compiled_calls
    yield "tests", _tests


def _peers(case: str, arch: str) -> None:
    peers.forms_of(case, arch)
    for peer in peers.peers_of(case):
        peers.compile_peer(peer.source, arch)


def _scan(loop: str, arch: str) -> None:
    made = scans.scan_of(loop)
    compile_cuda(made.source, arch)
    compiled_program(made)  # for the dry run
    peers.compile_peer(cub_source(made.plain), arch)


def _tests(arch: str) -> None:
    for kernel, completions in import_module("tests.gpu.kernels").on_devices():
        compile_cuda(cuda_source(kernel, completions).text, arch)
    compile_cuda(import_module("tests.gpu.calls.test_sketch_calls").CALLS.source.text, arch)


def state() -> str:
    """Names the code that the kernels depend on."""
    folders = ("src/warploom", "benchmarks/gpu", "tests/gpu", "tests/schedule/cuda")
    files = (path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))
    return sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]


def lacking(path: Path, todo: Sequence[tuple[str, str, Job]]) -> list[str]:
    """The jobs of which the file lacks something, with what; nothing is compiled."""
    with alone(path):
        return _failed(todo, lambda arch, _, job: job(arch))


def _failed(todo: Sequence[tuple[str, str, Job]], work: Callable[[str, str, Job], object]) -> list[str]:
    found: list[str] = []
    for number, (arch, name, job) in enumerate(todo):
        print(f"{number + 1}/{len(todo)} {arch} {name}", file=sys.stderr, flush=True)
        try:
            work(arch, name, job)
        except UserError as error:
            found.append(f"{arch} {name}: {str(error).splitlines()[0]}")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="inputs.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--arch", nargs="+", default=ARCHITECTURES, metavar="ARCH", help=f"default: {' '.join(ARCHITECTURES)}")
    parser.add_argument("--only", default="", metavar="TEXT", help="only what has this text in its name, such as scans/")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--check", action="store_true", help="compile nothing, say what the file lacks")
    given = parser.parse_args(arguments)
    todo = [(arch, name, job) for name, job in jobs() for arch in given.arch if given.only in name]
    if given.check:
        failed = lacking(given.out, todo)
    else:
        code, done = state(), names(given.out)
        todo = [(arch, name, job) for arch, name, job in todo if f"{code}/{arch}/{name}" not in done]

        def add(arch: str, name: str, job: Job) -> None:
            with recorded(given.out, f"{code}/{arch}/{name}"):
                job(arch)

        failed = _failed(todo, add)
    size = given.out.stat().st_size if given.out.is_file() else 0
    print(f"{given.out}: {size / 1e6:.1f} MB", *failed, sep="\n")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
