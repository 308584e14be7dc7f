"""Printed code as a whole: CUDA C++, C and PTX of small kernels against files that people read (`make golden` rewrites them)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.kernels.solved import completions, side_by_side
from tests.ptx.fuzz.shuffle import random_launch
from tests.ptx.shuffle.same import rewritten
from tests.ptx.shuffle.test_shuffle import THREE
from tests.schedule.cpu.test_nests import CASES
from tests.schedule.cuda import nests

from warploom import scan
from warploom.gpu import cuda_source
from warploom.kernels import find
from warploom.ptx.shuffle import ShuffleOptions, apply_all
from warploom.scan import tasks
from warploom.scan.emit import PLAIN, Asked, Cells, Choices, Types, source_of
from warploom.scan.layouts import Padding
from warploom.scan.networks import NAMED
from warploom.scan.variants import ScanForm
from warploom.schedule.cpu import c_source
from warploom.schedule.cuda import cuda_kernel

FOLDER = Path(__file__).parent / "printed"
SKETCHES = (
    "conv1d-3", "stencil1d-3", "conv2d-3", "stencil2d-3", "mult32-reg", "mult32-shared", "mult64-reg", "mult64-shared",
    "conv2d-3-runs", "stencil2d-3-runs", "mult64-reg-runs", "ffm-64-runs",
    "aos-sum-crc-3", "aos-store-crc-4", "aos-store-rcr-5", "aos-sum-crc-4-units", "ffm-64",
)  # fmt: skip
NESTS = {
    "axpy": nests.axpy, "matmul": nests.matmul, "row_sum": nests.row_sum, "transpose": nests.transpose,
    "stencil": nests.stencil, "softmax": nests.softmax, "matvec": nests.matvec,
}  # fmt: skip
C = ("matmul edges", "matmul packed", "gesummv", "stencil", "triad", "softmax")
LOOPS = ("total", "max_segment_sum")


def sketch(name: str) -> str:
    kernel = (side_by_side(name) if name.endswith("-runs") else find(name).sketch).kernel
    units = next((h.n for h in kernel.holes if h.name == "column"), 1)
    return cuda_source(kernel, completions(name, units)).text


def scan_kernel(name: str, asked: Asked = PLAIN) -> str:
    module = scan.read_module(Path(tasks.__file__).parent / "loops.py")
    found = scan.lift(scan.read_loop(module, name), scan.user_function(module, name))
    assert found.operator is not None
    return source_of(found.operator, "cuda", Types(), Choices(), asked)


def scan_of_cells() -> str:
    cells = Cells("brent-kung", NAMED["brent-kung"](64), Padding((32,)))
    return scan_kernel("atoi", Asked(ScanForm(is_backward=True, is_segmented=True), cells))


TEXTS: dict[str, Callable[[], str]] = (
    {f"sketch-{name}.cu": lambda name=name: sketch(name) for name in SKETCHES}
    | {f"nest-{name}.cu": lambda make=make: cuda_kernel(make().nest).text for name, make in NESTS.items()}
    | {f"nest-{name.replace(' ', '-')}.c": lambda name=name: c_source(CASES[name]).text for name in C}
    | {f"scan-{name}.cu": lambda name=name: scan_kernel(name) for name in LOOPS}
    | {"scan-atoi-backward-segmented-cells.cu": scan_of_cells}
    | {"shuffle-three.ptx": lambda: rewritten(THREE).text}
    | {"shuffle-three-cache.ptx": lambda: rewritten(THREE, ShuffleOptions(policy=apply_all, mode="cache")).text}
    | {f"shuffle-{n}.ptx": lambda n=n: rewritten(random_launch(n).text).text for n in (3, 8)}
)


@pytest.mark.parametrize("name", TEXTS)
def test_printed(name: str, golden: Callable[[Path, str], None]) -> None:
    golden(FOLDER / name, TEXTS[name]())


def test_every_file_is_somebodys() -> None:
    assert {p.name for p in FOLDER.iterdir()} == set(TEXTS)
