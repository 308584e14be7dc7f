"""The rows of GPU architectures: half-filled ones are refused, and figures that two tables once gave differently are pinned."""

import dataclasses
import importlib
import pickle
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from warploom.core import UserError
from warploom.gpu import toolchain_available
from warploom.machines import (
    ARCHITECTURES,
    COMPILED,
    SOURCES,
    Architecture,
    Board,
    Figure,
    LargestBoard,
    Limits,
    RowError,
    Timing,
    architecture,
    compiled_architecture,
    nearest_architecture,
)
from warploom.machines.cpu import PORTS, WIDE_CORE, Core, system_caches
from warploom.machines.gpu import OLDEST_COMPILED
from warploom.schedule.targets import TARGETS, least_cycles, target

HOPPER = ARCHITECTURES["sm_90"]
PARTS: dict[type[Any], Any] = {
    Core: WIDE_CORE,
    Architecture: HOPPER, Limits: HOPPER.limits, Timing: HOPPER.timing, Board: HOPPER.example, LargestBoard: HOPPER.bounds,
}  # fmt: skip
FIELDS = [(kind, f.name) for kind in PARTS for f in fields(kind)]


def given_of(kind: type[Any]) -> dict[str, Any]:
    return {f.name: getattr(PARTS[kind], f.name) for f in fields(kind)}


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=[f"{k.__name__}.{n}" for k, n in FIELDS])
def test_a_row_that_lacks_a_field_is_refused(kind: type[Any], name: str) -> None:
    given = given_of(kind)
    assert kind(**given) == PARTS[kind]
    del given[name]
    with pytest.raises(RowError, match=rf"^{kind.__name__}: {name} is missing: expected "):
        kind(**given)


@pytest.mark.parametrize(("kind", "name"), FIELDS, ids=[f"{k.__name__}.{n}" for k, n in FIELDS])
def test_a_value_that_cannot_be_right_is_refused(kind: type[Any], name: str) -> None:
    value = getattr(PARTS[kind], name)
    if isinstance(value, Figure):
        wrong: list[object] = [value.value, replace(value, value=-1.0), replace(value, value=1e6)]
    elif isinstance(value, bool):
        wrong = [1, None]
    elif isinstance(value, int | float):
        wrong = [None, str(value), -1, 10**9, True]
    else:
        wrong = ["", 3]
    for each in wrong:
        with pytest.raises(RowError, match=rf"^{kind.__name__}: {name}: expected "):
            kind(**(given_of(kind) | {name: each}))


def test_the_refusal_says_unit_and_range() -> None:
    given = given_of(Limits)
    del given["max_warps"]
    with pytest.raises(RowError, match="Limits: max_warps is missing: expected warps of a multiprocessor, 32 to 128"):
        Limits(**given)


@pytest.mark.parametrize(
    ("part", "changed", "text"),
    [
        (HOPPER.limits, {"shared_bytes_per_block": 228 * 1024}, "shared_bytes_per_block: expected at most 232448"),
        (HOPPER.limits, {"registers_per_block": 65537}, "registers_per_block: expected at most 65536"),
        (HOPPER, {"name": "sm90"}, "name: expected sm_"),
        (HOPPER, {"largest": None}, "sm_90: largest: expected LargestBoard from sm_75 on"),
        (ARCHITECTURES["sm_70"], {"largest": HOPPER.largest}, "sm_70: largest: expected .* None before"),
        (HOPPER, {"has_async_copy": False}, "sm_90: has_async_copy: expected True"),
        (HOPPER, {"largest": replace(HOPPER.bounds, l1_kib=128)}, "sm_90: l1_kib: expected at least the 233472 shared bytes"),
        (HOPPER, {"largest": replace(HOPPER.bounds, multiprocessors=131)}, "sm_90: multiprocessors: expected at least"),
        (HOPPER, {"largest": replace(HOPPER.bounds, clock_ghz=1.9)}, "sm_90: clock_ghz: expected at least"),
        (HOPPER, {"largest": replace(HOPPER.bounds, memory_gb_s=3000)}, "sm_90: memory_gb_s: expected at least"),
        (HOPPER.bounds, {"l2_bytes_per_clock": 8000}, "l2_bytes_per_clock: expected at least 8448"),
        (HOPPER.timing.l2_cycles, {"source": "hearsay"}, "figure 263: expected a source among"),
        (Figure(3.0, "assumed", "a guess"), {"source": ""}, "figure 3: expected the reason"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(part: Any, changed: dict[str, object], text: str) -> None:
    with pytest.raises(RowError, match=text):
        replace(part, **changed)


def test_lookup_by_name() -> None:
    assert architecture("sm_90a") is architecture("sm_90") and architecture("sm_103f").name == "sm_103"
    for name in ("sm_20", "sm_a", "90", "sm_90aa", ""):
        with pytest.raises(UserError, match="UNKNOWN_ARCH"):
            architecture(name)
    with pytest.raises(UserError, match=r"UNKNOWN_ARCH.*expected one of sm_75.*got sm_35"):
        compiled_architecture("sm_35")
    with pytest.raises(ValueError, match="from sm_75 on, got sm_35"):
        _ = ARCHITECTURES["sm_35"].bounds


def test_an_architecture_between_two_rows_is_taken_for_the_older() -> None:
    names = {"sm_87": "sm_86", "sm_90a": "sm_90", "sm_30": "sm_35", "sm_110": "sm_103", "sm_121": "sm_120", "none": "sm_35"}
    assert {name: nearest_architecture(name).name for name in names} == names


def test_rows_are_in_order_and_every_compiled_one_is_a_target() -> None:
    numbers = [row.number for row in ARCHITECTURES.values()]
    assert numbers == sorted(set(numbers)) and all(name == row.name for name, row in ARCHITECTURES.items())
    assert set(COMPILED) == {n for n in ARCHITECTURES if n not in ("sm_35", "sm_37", "sm_50", "sm_52", "sm_60", "sm_70")}
    assert set(TARGETS) == {"k4000", "cpu", *COMPILED}
    for name in COMPILED:
        assert target(name).shared_bytes == ARCHITECTURES[name].limits.shared_bytes_per_block


def test_table_1_of_the_paper() -> None:
    rows = {"sm_35": (24, 26, 35), "sm_52": (33, 23, 82), "sm_60": (33, 24, 82), "sm_70": (22, 19, 28)}
    for arch, (shuffle, shared, l1) in rows.items():
        timing = ARCHITECTURES[arch].timing
        assert (timing.shuffle_cycles.value, timing.shared_cycles.value, timing.l1_cycles.value) == (shuffle, shared, l1)
        assert {timing.shuffle_cycles.source, timing.shared_cycles.source, timing.l1_cycles.source} == {"paper"}


def test_double_precision_and_special_lanes() -> None:
    """Source: CUDA C++ Programming Guide, throughput of arithmetic instructions: big chips have many f64 units."""
    doubles = {
        "sm_35": 64, "sm_37": 64, "sm_50": 4, "sm_52": 4, "sm_60": 32, "sm_70": 32, "sm_75": 2, "sm_80": 32, "sm_86": 2,
        "sm_89": 2, "sm_90": 64, "sm_100": 64, "sm_103": 2, "sm_120": 2,
    }  # fmt: skip
    assert {name: row.timing.double_lanes.value for name, row in ARCHITECTURES.items()} == doubles
    twice = {"sm_35", "sm_37", "sm_50", "sm_52", "sm_103"}
    assert all(row.timing.special_lanes.value == (32 if n in twice else 16) for n, row in ARCHITECTURES.items())


def test_memory_share_of_a_multiprocessor() -> None:
    assert ARCHITECTURES["sm_70"].example.bytes_per_clock == pytest.approx(7.35, abs=0.01)


def test_what_the_lower_bound_takes_is_no_more_than_any_measurement() -> None:
    """Turing's shared memory answers after 19 cycles and its second level after 188; the bound once took 20 and 190."""
    measured = {"l1_cycles": 28, "l2_cycles": 188, "shared_cycles": 19, "arithmetic_cycles": 4, "special_cycles": 18}
    assert {name: least_cycles(name) for name in measured} == measured
    for name in COMPILED:
        row, rates = ARCHITECTURES[name], target(name).rates
        latencies = dict(rates.latency_cycles)
        for event, figure in (("l1", "l1_cycles"), ("l2", "l2_cycles"), ("shared", "shared_cycles")):
            assert latencies[event] <= getattr(row.timing, figure).value
        assert rates.rate("memory").core >= row.timing.load_lanes.value * rates.clock_ghz
        assert rates.rate("alu").core == row.timing.float_lanes.value * rates.clock_ghz


def test_load_units_of_small_chips() -> None:
    """16 lanes of addresses (white papers; RTX 4090: 63.7 bytes per cycle in words, by Luo et al.), 128 bytes of data: the cost
    model takes the first, bounds the second."""
    for name, lanes, most in (("sm_75", 16, 16), ("sm_86", 16, 32), ("sm_89", 16, 32), ("sm_120", 16, 32), ("sm_90", 32, 32)):
        timing = ARCHITECTURES[name].timing
        assert (timing.load_lanes.value, timing.most_load_lanes) == (lanes, most)


def test_blackwell_ultra_is_blackwell_but_for_its_units() -> None:
    ultra, plain = ARCHITECTURES["sm_103"], ARCHITECTURES["sm_100"]
    assert ultra.limits == plain.limits
    changed = {f.name for f in fields(Timing) if getattr(ultra.timing, f.name) != getattr(plain.timing, f.name)}
    assert changed == {"double_lanes", "special_lanes", "matrix_products"} and ultra.timing.special_lanes.source in SOURCES
    assert dataclasses.asdict(ultra.bounds)["multiprocessors"] == 160


@pytest.mark.skipif(not toolchain_available(), reason="needs the extra `cuda`")
def test_the_compiler_knows_what_the_table_says_it_knows() -> None:
    supported = importlib.import_module("cuda.bindings.nvrtc").nvrtcGetSupportedArchs()[1]
    assert min(supported) == OLDEST_COMPILED
    assert {ARCHITECTURES[name].number for name in COMPILED} <= set(supported)


def test_rows_can_be_sent_to_other_processes() -> None:
    for row in ARCHITECTURES.values():
        assert pickle.loads(pickle.dumps(row)) == row


def test_memory_of_a_multiprocessor_comes_in_steps() -> None:
    """All generations so far have a whole number of 32 KiB for cache and shared memory together."""
    assert [a.name for a in ARCHITECTURES.values() if a.largest is not None and a.largest.l1_kib % 32] == []


def test_caches_without_linux_grow_outwards(tmp_path: Path) -> None:
    sizes = [level.size_bytes for level in system_caches(tmp_path)]
    assert sizes == sorted(sizes) and len(set(sizes)) == 3


def test_a_core_has_half_as_many_of_the_widest_vectors() -> None:
    rates = {(port.kind, port.size_bytes): port.per_clock for port in PORTS}
    vectors = {kind for kind, size in rates if size == 64}
    assert {rates[kind, size] / rates[kind, 64] for kind in vectors for size in (4, 16, 32)} == {2.0}
