"""On a GPU: all that this folder measures, in pieces, into one file of lines; it goes on where it stopped.

`make gpu` or `python benchmarks/gpu/everything.py [--minutes 8.5] [--only PATTERN] [--again] [--list]`. First what is right: the
tests that need a device, every kernel beside the interpreter, and calls with tensors of each package. Then the latencies that the
model assumes, our kernels beside libraries and the papers' peers, rewritten PTX, scans, and schedules. Each piece is a process;
its lines go to `benchmarks/results/gpu-DEVICE-DATE.jsonl` with the piece's name. A piece begins only while minutes are left, a
second run takes the next one that the file of that day lacks. `--again` repeats those that failed. At the end there is a table:
ours, the best of the others, and their ratio (above 1: ours is faster) with its interval, from the quartiles of both; a picture
of it goes beside the file of lines. Nothing is loaded from a network; kernels that `make gpu-inputs` compiled elsewhere are taken
from `build/gpu-inputs.zip`, so that no compiler is needed. Packages that are missing are named before anything else.

Exit codes: 0 all done, 1 something is wrong, 3 pieces are left or there is no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from shutil import which
from typing import Any

from picture import Row, picture

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
INPUTS = ROOT / "build" / "gpu-inputs.zip"
NEEDED = ("numpy", "z3", "click", "rich", "pycparser", "lazy_loader", "cuda.bindings")
"""Modules without which nothing runs."""
OPTIONAL = {
    "pytest": "the tests",
    "torch": "PyTorch's and cuBLAS's times",
    "cupy": "CuPy's and NPP's times",
    "arrayfire": "ArrayFire's times",
}
PIECE_S = 240.0
"""The longest that one piece may take."""
OURS = ("kernel_ms", "ours", "block", "profitable")
NOT_PEERS = ("bound_ms", "copy_ms")


@dataclass(frozen=True)
class Piece:
    """One process: its name, and its command."""

    name: str
    command: tuple[str, ...]


def pieces() -> list[Piece]:
    """All, in the order of their worth."""
    python, kernels, sanitizer = sys.executable, program("correct").CASES, which("compute-sanitizer")

    def script(name: str, cases: Iterable[str], *more: str) -> list[Piece]:
        return [Piece(f"{name}/{case}", (python, f"benchmarks/gpu/{name}.py", "--json", *more, case)) for case in cases]

    tests = Piece("tests", (python, "-m", "pytest", "-q", "-n", "0", "-m", "gpu", "tests"))
    found = [*([tests] if not lacking(["pytest", "xdist"]) else []), *script("correct", kernels)]
    found += script("calls", program("calls").CASES)
    for tool in ("memcheck", "racecheck") if sanitizer else ():
        checked = (str(sanitizer), "--tool", tool, "--error-exitcode", "9", python, "benchmarks/gpu/correct.py", "--json")
        found += [Piece(f"{tool}/{case}", (*checked, case)) for case in kernels]
    return [
        *found,
        Piece("latencies", (python, "benchmarks/gpu/latencies.py", "--json")),
        *script("schedule", program("schedule").hand_written(), "--check"),
        *script("libraries", program("libraries").CASES),
        *script("scans", program("scans").LOOPS),
        *script("peers", program("peers").CASES),
        *script("shuffles", (case for case, _, _ in program("shuffles").cases([]))),
    ]


def program(name: str) -> Any:
    """Another program of this folder."""
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def lacking(names: Iterable[str]) -> list[str]:
    """Modules out of these that are not installed."""
    found: list[str] = []
    for name in names:
        try:
            is_there = find_spec(name) is not None
        except ModuleNotFoundError:  # of the package around it
            is_there = False
        found += [] if is_there else [name]
    return found


def run(piece: Piece, limit_s: float) -> list[dict[str, Any]]:
    """The lines that the piece printed; one with a `reason` where it failed."""
    begun = time.monotonic()
    settings = {"WARPLOOM_PREBUILT": str(INPUTS)} if INPUTS.is_file() else {}
    try:
        done = subprocess.run(
            piece.command, cwd=ROOT, capture_output=True, text=True, timeout=limit_s, check=False, env=settings | os.environ
        )
    except subprocess.TimeoutExpired:
        return [{"piece": piece.name, "status": "unknown", "reason": f"no end within {limit_s:.0f} s"}]
    lines = [json.loads(text) for text in done.stdout.splitlines() if text.startswith("{")]
    spent = {"piece": piece.name, "wall_s": round(time.monotonic() - begun, 1)}
    if done.returncode:
        told = [text for text in (done.stderr or done.stdout).splitlines() if text.strip()]
        return [
            *(spent | line for line in lines),
            spent | {"status": "error", "reason": told[-1] if told else f"code {done.returncode}"},
        ]
    return [spent | {"status": "solved"} | line for line in lines] or [
        spent | {"status": "solved", "said": done.stdout.strip()[-200:]}
    ]


def read(path: Path) -> list[dict[str, Any]]:
    """Lines of an earlier run; the last one may be cut off."""
    found: list[dict[str, Any]] = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(text))
        except ValueError:
            continue
    return found


def is_wrong(line: Mapping[str, Any]) -> bool:
    """Whether a line says that something failed; `unknown` pieces may be run again."""
    return line.get("same") is False or line.get("right") is False or line.get("status") == "error"


def _figures(line: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
    """Medians with their quartiles; plain numbers stand for all three."""
    found: dict[str, tuple[float, float, float]] = {}
    for name, value in line.items():
        if isinstance(value, dict) and "median_ms" in value:
            middle = float(value["median_ms"])
            found[name] = middle, float(value.get("low_ms", middle)), float(value.get("high_ms", middle))
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[name] = (float(value),) * 3
    return found


def compared(line: Mapping[str, Any]) -> Row | None:
    """Our time beside that of the fastest of the others; None for lines that compare nothing."""
    figures = _figures(line)
    ours = next((name for name in OURS if name in figures), None)
    if ours is None or "case" not in line:
        return None
    times = {
        name: value
        for name, value in figures.items()
        if isinstance(line[name], dict) and name != ours and name not in NOT_PEERS and (ours, name) != ("block", "device")
    }
    if not times:
        return None
    best = min(times, key=lambda name: times[name])
    return Row(str(line["case"]), figures[ours], best, times[best])


def table(rows: Sequence[Row]) -> str:
    """Cases beside the fastest of the others."""
    head = f"{'case':<26} {'ours ms':>10} {'best other':>18} {'ms':>10} {'ratio':>7}  interval\n"
    lines = [head]
    for row in rows:
        ratio, least, most = row.ratio
        lines.append(
            f"{row.case:<26} {row.ours[0]:>10.4f} {row.name:>18} {row.other[0]:>10.4f} {ratio:>7.2f}  {least:.2f} to {most:.2f}\n"
        )
    return "".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="everything.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=8.5, help="no piece begins after these minutes")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="pieces whose name matches, such as 'peers/*'")
    parser.add_argument("--again", action="store_true", help="repeat the pieces that failed")
    parser.add_argument("--list", action="store_true", help="print the names of all pieces and end")
    parser.add_argument("--out", type=Path, help="the file of lines; default: one for this device and day")
    given = parser.parse_args(arguments)
    if absent := lacking(NEEDED):
        told = f"nothing was run: {sys.executable} lacks the modules {', '.join(absent)}"
        print(f"{told}; `pip install '.[cuda]'` brings them where there is a network", file=sys.stderr)
        return 3
    from warploom.gpu import device_names, toolchain_available, why_no_device

    chosen = [piece for piece in pieces() if fnmatchcase(piece.name, given.only)]
    if not chosen:
        parser.error(f"expected a pattern that some piece matches, got {given.only!r}; --list names them")
    if given.list:
        print("\n".join(piece.name for piece in chosen))
        return 0
    if (reason := why_no_device()) is not None:
        print(f"no GPU here, nothing was run: {reason.text}", file=sys.stderr)
        return 3
    if not toolchain_available():
        if not INPUTS.is_file():
            told = "nothing was run: no compilers (NVRTC, ptxas) are installed"
            print(f"{told}, and no {INPUTS.relative_to(ROOT)}, which `make gpu-inputs` writes elsewhere", file=sys.stderr)
            return 3
        print(f"no compilers: kernels are taken from {INPUTS.relative_to(ROOT)}", file=sys.stderr)
    device = device_names()[0]
    path: Path = given.out or RESULTS / f"gpu-{re.sub(r'[^a-z0-9]+', '-', device.lower()).strip('-')}-{date.today()}.jsonl"
    missing = [f"{name} ({OPTIONAL[name]})" for name in lacking(OPTIONAL)]
    missing += [] if program("peers").cub_options() else ["nvidia-cuda-cccl (CUB's headers)"]
    print(f"{device}; lines go to {path}" + (f"; left out: {', '.join(missing)}" if missing else ""), file=sys.stderr)
    if which("compute-sanitizer") is None:
        print("compute-sanitizer is not installed: races and bounds are judged by the interpreter alone", file=sys.stderr)
    until = time.monotonic() + 60 * given.minutes
    lines = read(path)
    failed = {line.get("piece") for line in lines if is_wrong(line) or line.get("status") == "unknown"}
    known = {line.get("piece") for line in lines} - (failed if given.again else set())
    todo = [piece for piece in chosen if piece.name not in known]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for number, piece in enumerate(todo):
            left = until - time.monotonic()
            if left <= 0:
                print(f"{len(todo) - number} pieces are left: run it again", file=sys.stderr)
                break
            print(f"{number + 1}/{len(todo)} {piece.name}", file=sys.stderr, flush=True)
            for line in run(piece, min(PIECE_S, left + 30)):
                file.write(json.dumps({"device": device} | line) + "\n")
                file.flush()
        else:
            todo = []
    lines = [line for line in read(path) if line.get("piece") in {piece.name for piece in chosen}]
    rows = [row for line in lines if (row := compared(line)) is not None]
    print(table(rows))
    if rows:
        drawn = path.with_suffix(".svg")
        drawn.write_text(picture(rows, f"{device}: times as fast as the fastest of the others"), encoding="utf-8")
        print(f"{drawn}: the same as a picture", file=sys.stderr)
    latest = {line.get("piece"): line for line in lines}
    wrong = [line for line in latest.values() if is_wrong(line)]
    for line in wrong:
        print(f"wrong: {line['piece']}: {line.get('reason', line)}", file=sys.stderr)
    return 1 if wrong else 3 if todo else 0


if __name__ == "__main__":
    sys.exit(main())
