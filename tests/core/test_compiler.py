"""The compiler at hand and the folder of libraries."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from warploom.core import UserError, compiler
from warploom.core.compiler import ORDER_FLAGS, build_library
from warploom.schedule.cpu import KERNEL_FLAGS, Compiler, caches, calibration, core_count, find_compiler, order_flags
from warploom.schedule.cpu.calibration import Calibration, calibrate
from warploom.schedule.cpu.host import ports_of, slow_words, target_of
from warploom.solve import Json, ResultCache

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")


def a_compiler(folder: Path, script: str) -> str:
    """A program that calls itself one."""
    program = folder / "compiler"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    return str(program)


def test_the_named_compiler_is_found_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = a_compiler(tmp_path, "echo mine 1.0")
    monkeypatch.setenv("CC", f"{name} -m64")
    assert find_compiler.__wrapped__() == Compiler((name, "-m64"), "mine 1.0")
    monkeypatch.setenv("CC", str(tmp_path / "none"))
    found = find_compiler.__wrapped__()
    assert found is not None and found.version != "mine 1.0"


@pytest.mark.parametrize(("options", "named"), [("-m64 -march=x86-64-v3", True), ("-m64", False)])
def test_the_compilers_command_may_name_the_machine(options: str, named: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then kernels have its instructions, and keys of caches and stores are others."""
    monkeypatch.setattr(compiler, "find_compiler", lambda: Compiler(("cc", *options.split()), "cc 1.0"))
    monkeypatch.setattr(compiler, "_features", lambda: "flags : amx_int8")
    assert ("-march=native" in compiler.machine_flags()) is not named
    assert ("-march=x86-64-v3" in compiler.machine_flags()) is named
    assert ("amx_int8" in compiler.listed_instructions()) is not named
    assert compiler.machine_text.__wrapped__() == ("-march=x86-64-v3 " if named else "") + "flags : amx_int8"


def test_a_compiler_that_prepares_no_headers_reads_them_each_time(tmp_path: Path) -> None:
    """It refuses `-x c-header`, and its library is a copy of the text."""
    script = 'case "$*" in *c-header*) exit 1;; esac\nwhile [ "$1" != -o ]; do shift; done\ncp "$3" "$2"'
    gcc = Compiler((a_compiler(tmp_path, script),), "gcc 1.0")
    text = "#include <immintrin.h>\n"
    assert build_library(text, folder=tmp_path / "made", compiler=gcc).read_text().startswith(text)
    assert len(list((tmp_path / "made").iterdir())) == 1


def test_a_text_is_compiled_once(tmp_path: Path) -> None:
    first = build_library("int one(void) { return 1; }", folder=tmp_path)
    stamp = first.stat().st_mtime_ns
    assert build_library("int one(void) { return 1; }", folder=tmp_path) == first
    assert first.stat().st_mtime_ns == stamp
    assert build_library("int one(void) { return 1; }", folder=tmp_path, flags=("-O1",)) != first
    assert not [p for p in tmp_path.iterdir() if p.is_dir()]


def flipped(content: bytes) -> bytes:
    """One bit in the middle changed."""
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


DAMAGES = {"empty": lambda c: b"", "half": lambda c: c[: len(c) // 2], "cut": lambda c: c[:-1], "a bit": flipped}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_library_is_made_anew(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    text = "int one(void) { return 1; }"
    library = build_library(text, folder=tmp_path)
    content = library.read_bytes()
    library.write_bytes(damage(content))
    assert build_library(text, folder=tmp_path) == library and library.read_bytes() == content
    assert ctypes.CDLL(str(library)).one() == 1


def test_a_library_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    gone = Compiler((str(tmp_path / "gone"),), "gcc 1.0")
    with pytest.raises(UserError, match=r"expected .*gone to make .*\.so, got: No such file or directory"):
        build_library("int one(void) { return 1; }", folder=tmp_path / "made", compiler=gone)
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"got: (File exists|Not a directory)"):
        build_library("int one(void) { return 1; }", folder=tmp_path / "file")


def test_intrinsics_are_read_prepared_or_not(tmp_path: Path) -> None:
    for n in range(2):
        build_library(f"#include <immintrin.h>\nint number(void) {{ return {n}; }}", folder=tmp_path)
    assert len(list(tmp_path.glob("*.so"))) == 2


def test_damaged_headers_are_prepared_anew(tmp_path: Path) -> None:
    compiler = find_compiler()
    if compiler is None or not compiler.is_gcc:
        pytest.skip("headers are prepared for GCC alone")
    texts = [f"#include <immintrin.h>\nint number(void) {{ return {n}; }}" for n in range(2)]
    build_library(texts[0], folder=tmp_path)
    (prepared,) = tmp_path.glob("*.gch")
    whole = prepared.read_bytes()
    prepared.write_bytes(whole[: len(whole) // 2])
    build_library(texts[1], folder=tmp_path)
    assert not prepared.exists()


def test_the_compilers_complaint_is_shown(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"expected the compiler to accept the C text, got: .*error"):
        build_library("int one(void) { return two; }", folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_calibration_is_measured_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    fields = dict.fromkeys(Calibration.__dataclass_fields__, 2) | {"vector_bytes": 4}
    fields["ports"] = tuple((kind, size, 1.5) for kind, size in calibration.measured_ports(4))
    asked: list[int] = []

    def measure(threads: int) -> Calibration:
        asked.append(threads)
        return Calibration(**{**fields, "threads": threads})

    monkeypatch.setattr(calibration, "_measure", measure)
    assert calibrate(2) == calibrate(2) != calibrate(1)
    assert asked == [2, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"clock_ghz": "fast"}, id="a word"),
        pytest.param({"clock_ghz": -1.0}, id="a negative figure"),
        pytest.param({"ports": 3}, id="no list"),
        pytest.param({"ports": [["fma", 4]]}, id="a short row"),
        pytest.param({"ports": [["fma", 4, 1.0]]}, id="kinds missing"),
        pytest.param({"ports": [*([*p, 1.5] for p in calibration.measured_ports(4)), ["fma", 4]]}, id="a short row too many"),
        pytest.param({"more": 1.0}, id="another field"),
    ],
)
def test_a_stored_calibration_of_another_shape_is_measured_anew(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wrong: dict[str, Json]
) -> None:
    monkeypatch.setenv("WARPLOOM_CACHE", str(tmp_path))
    fields = dict.fromkeys(Calibration.__dataclass_fields__, 2) | {"vector_bytes": 4}
    fields["ports"] = tuple((kind, size, 1.5) for kind, size in calibration.measured_ports(4))
    right = Calibration(**fields)
    monkeypatch.setattr(calibration, "_measure", lambda _: right)
    keys: list[str] = []
    monkeypatch.setattr(ResultCache, "find", lambda _, key: keys.append(key) or (asdict(right) | wrong))
    stored: list[object] = []
    monkeypatch.setattr(ResultCache, "add", lambda _, key, value: stored.append(value))
    assert calibrate(2) == right and len(stored) == 1


def test_narrow_instructions_are_never_fewer_than_wide_ones() -> None:
    fields = dict.fromkeys(Calibration.__dataclass_fields__, 2) | {"vector_bytes": 64, "clock_ghz": 2.0, "threads": 1}
    rates = {4: 3.0, 16: 8.1, 32: 3.98, 64: 2.1}  # of one kind, per ns
    fields["ports"] = tuple((kind, size, rates.get(size, 2.0)) for kind, size in calibration.measured_ports(64))
    found = {p.size_bytes: p.per_clock for p in ports_of(Calibration(**fields)) if p.kind == "fma"}
    assert found == {64: 1.0, 32: 2.0, 16: 4.0, 4: 4.0}


@pytest.mark.parametrize(("l3", "near"), [(20.0, 2 * 1000), (90.0, 0)])
def test_a_cache_as_slow_as_memory_is_not_near(l3: float, near: int) -> None:
    fields = dict.fromkeys(Calibration.__dataclass_fields__, 2) | {"threads": 2, "vector_bytes": 64, "l2_bytes": 1000}
    fields["ports"] = tuple((kind, size, 2.0) for kind, size in calibration.measured_ports(64))
    found = replace(Calibration(**fields), l3_read_gbs=l3, dram_read_gbs=18.0)
    assert target_of(found).rates.near_bytes == near


@pytest.mark.parametrize(("dots", "is_slow"), [(0.0, False), (1.0, True), (1.7, True), (1.9, False)])
def test_words_are_slow_where_multiply_adds_make_more_products(dots: float, is_slow: bool) -> None:
    """Two instructions per ns of 16 multiply-adds of f32 make as many products as one of 16 words of two."""
    fields = dict.fromkeys(Calibration.__dataclass_fields__, 2) | {
        "vector_bytes": 64,
        "fma_gflops": 2.0 * 4 * 16,
        "bf16_dots": dots,
    }
    assert slow_words(Calibration(**fields)) == ({"bf16"} if is_slow else set())


def test_the_machine() -> None:
    found = caches()
    assert 1 << 12 <= found.l1_bytes <= found.l2_bytes and found.line_bytes in (32, 64, 128, 256)
    assert core_count() >= 1


def test_the_order_of_loops_is_left_to_the_nest() -> None:
    """GCC would interchange the loops of a kernel, whose bound counts them as they are; plain loops are its own business."""
    gcc, clang = Compiler(("cc",), "cc 12.2.0"), Compiler(("clang",), "clang version 16")
    assert order_flags(KERNEL_FLAGS, gcc) == ORDER_FLAGS
    assert order_flags(KERNEL_FLAGS, clang) == order_flags(("-O2",), gcc) == order_flags(KERNEL_FLAGS, None) == ()


@pytest.mark.skipif("not find_compiler().is_gcc")
def test_the_compiler_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, ...]] = []

    def run(command: tuple[str, ...], **options: object) -> subprocess.CompletedProcess[str]:
        told.append(command)
        return subprocess.CompletedProcess(command, 1, "", "stopped")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(UserError):
        patch.setattr(compiler.subprocess, "run", run)
        build_library("int one(void) { return 1; }", folder=tmp_path)
    assert set(ORDER_FLAGS) <= set(told[0])


def test_caches_are_those_that_the_system_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = (
        ("1", "Data", "32K"),
        ("1", "Instruction", "64K"),
        ("2", "Unified", "3M"),
        ("3", "Unified", "1G"),
        ("4", "Unified", "?"),
    )
    for number, (level, kind, size) in enumerate(told):
        folder = tmp_path / "cpu0" / "cache" / f"index{number}"
        folder.mkdir(parents=True)
        for name, text in (("level", level), ("type", kind), ("size", size), ("coherency_line_size", "128")):
            (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(calibration, "_SYSFS", tmp_path)
    found = calibration.caches()
    assert (found.l1_bytes, found.l2_bytes, found.l3_bytes, found.line_bytes) == (32 << 10, 3 << 20, 1 << 30, 128)


def test_what_a_killed_compiler_left_is_deleted_once_it_is_old(tmp_path: Path) -> None:
    for name, age_s in (("build-old", 7200.0), ("build-new", 60.0), ("kept.so", 7200.0)):
        place = tmp_path / name
        place.mkdir()
        (place / "kernel.c").touch()
        then = time.time() - age_s
        os.utime(place, (then, then))
    (tmp_path / "build-link").symlink_to(tmp_path / "kept.so")
    os.utime(tmp_path / "build-link", (0, 0), follow_symlinks=False)
    build_library("int f(void) { return 1; }", folder=tmp_path)
    left = {p.name for p in tmp_path.iterdir() if p.suffix != ".so"}
    assert left == {"build-new", "build-link"} and (tmp_path / "kept.so" / "kernel.c").exists()
