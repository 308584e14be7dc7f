"""`--update-golden` rewrites files that tests compare with, instead of comparing."""

import gc
import hashlib
import os
import signal
import sys
from collections.abc import Callable, Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from warploom.core.starting import COLLECT
from warploom.gpu import toolchain

# Where the environment says to keep no bytecode, each process that a test starts would compile all of Warploom anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

gc.set_threshold(*COLLECT)  # as in a command

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that starts the tests in the background has it ignored, also by every process that a test starts and interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


SIBLINGS = frozenset({
    *(f"tests/test_examples.py::test_output[{name}]" for name in (
      "six_words", "scan_series", "structures_by_tma", "cub_functor", "triton_module", "dask_pieces", "code_to_ship")),
    "tests/kernels/test_examples.py::test_sketch[stencil1d-3]",
    "tests/ptx/symbolic/test_differential.py::test_lanes_read_the_same_address[kernelgen/jacobi/grid-stride-6-4]",
    "tests/ptx/symbolic/test_differential.py::test_lanes_read_the_same_address[kernelgen/wave13pt/grid-stride-4-3]",
    "tests/ptx/symbolic/test_differential.py::test_mutated_programs[cub/radix_sort/90]",
    "tests/ptx/symbolic/test_differential.py::test_terms_have_the_values_of_a_run[numba/stencil/90/debug]",
    "tests/scan/emit/test_cuda.py::test_all_kernels[line_of_sight]",
    "tests/scan/emit/test_forms.py::test_all_kernels_of_a_form[backward segmented (tails)]",
    "tests/scan/emit/test_forms.py::test_movement_of_a_form_is_proved[backward segmented (tails)]",
    "tests/scan/emit/test_names.py::test_compilers_with_unlucky_names[try_cub]",
    "tests/scan/emit/test_peers.py::test_compilers[try_cub-max_segment_sum]",
    "tests/scan/emit/test_proof.py::test_movement_is_proved_with_an_unknown_operator[average-form2-types2]",
    "tests/scan/emit/test_proof.py::test_movement_is_proved_with_an_unknown_operator[is_sorted-form3-None]",
    "tests/scan/emit/test_whole_arrays.py::test_forms_are_proved[average-form1-types1-kernels1]",
    "tests/scan/tuning/test_candidates.py::test_every_way_computes_the_loop",
    "tests/schedule/choices/test_implied.py::test_no_implementation_is_lost[cpu]",
    "tests/schedule/cpu/test_padded.py::test_edges_are_masked[conv2d_same-sizes0-decided0]",
    "tests/schedule/search/test_together.py::test_backward_kernels_compute_the_same[conv2d_same]",
    "tests/tools/bench/test_case.py::test_bench_kernels",
    "tests/tools/test_explore_cluster.py::test_candidates_come_from_the_workers[sm_90]",
})  # fmt: skip
"""Tests of seconds that look at what cheaper ones look at, too: slow ones."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid in SIBLINGS:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """The collector of garbage leaves alone what was imported and collected."""
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """The tests of a file run in one process, which then makes what they share once."""
    return import_module("xdist.scheduler").LoadFileScheduling(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files; read the diff before committing it")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Compares a text with a checked-in file."""
    update = bool(request.config.getoption("--update-golden"))

    def compare(path: Path, text: str) -> None:
        if update:
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text, f"{path} differs; `make golden` rewrites it"

    return compare


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """A CUDA text is compiled once in a run of the tests, whichever process asks; a text with headers of its own each time."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "nvrtc"
    folder.mkdir(exist_ok=True)
    ours, compiled = {f"-I{f}" for f in toolchain.include_folders()}, toolchain._compiled

    def kept(nvrtc: Any, source: str, name: str, flags: list[str]) -> str:
        if any(flag.startswith("-I") and flag not in ours for flag in flags):
            return compiled(nvrtc, source, name, flags)
        path = folder / hashlib.sha256("\0".join((source, name, *flags)).encode()).hexdigest()
        if not path.exists():
            made = path.with_suffix(f".{os.getpid()}")
            made.write_text(compiled(nvrtc, source, name, flags), encoding="utf-8")
            made.rename(path)
        return path.read_text(encoding="utf-8")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toolchain, "_compiled", kept)
        yield


@pytest.fixture(autouse=True)
def recursion() -> Generator[None]:
    """Commands raise the limit of recursion in their process; the next test has Python's again."""
    before = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(before)
