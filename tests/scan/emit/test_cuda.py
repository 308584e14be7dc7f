"""CUDA kernels in the PTX interpreter against the serial loop, and the proof of their data movement."""

import pytest

from warploom import scan
from warploom.core import UnsupportedError
from warploom.gpu import compile_to_ptx, toolchain_available
from warploom.ptx import lower, parse
from warploom.scan.emit import KERNELS, Choices, Movement, Types, compare, cuda_scan, executed, movement
from warploom.scan.emit import cuda as cuda_module
from warploom.scan.emit.cuda import operator_source
from warploom.scan.emit.movement import SEPARATE, joined
from warploom.scan.emit.running import ARCH, differing, run_kernel
from warploom.scan.emit.serial import column, elements, serial
from warploom.scan.tasks import loops_module
from warploom.scan.tuning import flagged
from warploom.scan.tuning.candidates import WARP_NETWORKS
from warploom.scan.variants import ScanForm

pytestmark = pytest.mark.skipif(not toolchain_available(), reason="needs the CUDA tools (extra cuda)")

SMALL = Choices(threads=64, items=2)
OWN = scan.parse_module(
    """
def scaled(xs: list[float], by: float):
    level = 0.0
    for x in xs:
        level = level * by + x
    return level


def marked(pairs: list[tuple[bool, float]]):
    count, total = 0, 0.0
    for mark, x in pairs:
        if mark:
            count += 1
            total += x
    return total, count
""",
    "own.py",
)


def operator(name: str, module: scan.Module | None = None) -> scan.Operator:
    found = scan.lift(scan.read_loop(module or loops_module(), name)).operator
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["max_segment_sum", "line_of_sight", pytest.param("atoi", marks=pytest.mark.slow)])
def test_all_kernels(name: str) -> None:
    found = compare(cuda_scan(operator(name), choices=SMALL))
    assert not found.mismatch
    assert found.cases > 300


@pytest.mark.parametrize(("name", "types"), [("average", Types("int64", "float64")), ("poly", Types("int64"))])
def test_types_and_constants(name: str, types: Types) -> None:
    made = cuda_scan(operator(name), types, SMALL)
    assert "long long" in made.source
    found = compare(made, ("scan_block", "reduce_device"))
    assert not found.mismatch


def test_whole_tiles_are_moved_in_packs() -> None:
    counts, compared = executed(cuda_scan(operator("max_segment_sum"), choices=Choices(threads=64)), 4)
    assert not compared.mismatch and compared.cases == 4 * 64 * 8
    # of 32 elements two warps' loads, and as many stores
    assert counts.global_store_requests < 4 * 64 * 8 // 32
    assert counts.instructions < 160 * 4 * 64 * 8 // 32


def test_bytes_between_members_are_moved_unwritten() -> None:
    """A whole number, a float of 64 bits and the flag of a segment: the compiler puts the bytes between them together, too."""
    made = cuda_scan(operator("marked", OWN), Types("int32", "float64"), Choices(threads=32, items=4), form=ScanForm(False, True))
    found = compare(made, ("scan_device",), (1,))
    assert not found.mismatch and found.cases


@pytest.mark.parametrize(("threads", "items"), [(96, 5), pytest.param(32, 16, marks=pytest.mark.slow)])
def test_tiles_of_any_size(threads: int, items: int) -> None:
    made = cuda_scan(
        operator("average"), Types("int64", "float64"), Choices(threads=threads, items=items), form=ScanForm(False, True)
    )
    assert not compare(made, ("scan_device",), (1, 50)).mismatch


@pytest.mark.parametrize("network", WARP_NETWORKS)
def test_networks_of_a_warp(network: str) -> None:
    found = compare(cuda_scan(operator("atoi"), Types("int64"), Choices(network, 64, 2)), ("scan_warp", "scan_block_exclusive"))
    assert not found.mismatch and found.cases


def test_networks_that_overlap_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="knowles-1248"):
        cuda_scan(operator("maximum"), choices=Choices("knowles-1248"))


def test_an_operator_with_parameters_is_refused() -> None:
    by = operator("scaled", OWN)
    if by.loop.constants[0] in {v for e in by.combine for v in scan.variables(e)}:
        with pytest.raises(UnsupportedError, match="other parameters"):
            cuda_scan(by)
    else:
        assert not compare(cuda_scan(by, choices=SMALL), ("scan_warp",)).mismatch


def test_movement_is_proved() -> None:
    found = movement(operator("max_segment_sum"), threads=(32, 96))
    assert found.is_proved
    assert found.launches == 32 * 3 + 2 * 3 * 2
    assert "every associative operator" in found.domain


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("combine(left, v)", "combine(v, left)"), ("shuffle_up(v, 4)", "shuffle_up(v, 5)"), ("(i >= 8)", "(i > 8)")],
)
def test_wrong_movement_is_found(monkeypatch: pytest.MonkeyPatch, right: str, wrong: str) -> None:
    original = cuda_module._steps_text
    monkeypatch.setattr(cuda_module, "_steps_text", lambda name: original(name).replace(right, wrong))
    found = movement(operator("total"), threads=(32,))
    assert not found.is_proved
    assert "combines" in found.reason


def test_opaque_kernels_with_their_operator() -> None:
    made = cuda_scan(operator("is_sorted"), None, None, "opaque")
    texts = [compile_to_ptx(source, ARCH, options=SEPARATE) for source in (made.source, operator_source(made))]
    program = lower(parse(joined(*texts), "operator.ptx"))
    given = elements(made.body.operator.loop, 50)
    inputs = [column([e[0] for e in given], "int32")]
    outputs = run_kernel(made, program, "scan_block", inputs, (), 64, 1)
    assert differing(made.body, "scan_block", outputs, serial(made.body.operator.loop, given, ()), 0, 64)[1] == ""


def test_an_adjoined_identity_needs_no_guards() -> None:
    plain = operator("max_segment_sum")
    other = flagged(plain)
    assert other is not None
    assert "INT_BELOW" in cuda_scan(plain).source
    assert "INT_BELOW" not in cuda_scan(other).source.partition("combine(Value a")[2].partition("project")[0]
    assert not compare(cuda_scan(other, choices=SMALL), ("scan_block", "reduce_block")).mismatch
    assert flagged(operator("total")) is None


def test_kernels_are_there() -> None:
    source = cuda_scan(operator("total")).source
    assert all(f" {kernel}(" in source.replace("\n", " ") for kernel in KERNELS)
    assert isinstance(Movement(False).reason, str)
