"""Occupancy against values that people know, and against NVIDIA's own calculator."""

import ctypes
import importlib.util
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from warploom.machines import ARCHITECTURES, occupancy, resident_warps

CALCULATOR = """
#include <cuda_occupancy.h>
extern "C" int blocks(const int* device, int registers, int shared, int threads) {
    cudaOccDeviceProp properties;
    properties.computeMajor = device[0]; properties.computeMinor = device[1];
    properties.maxThreadsPerBlock = 1024; properties.maxThreadsPerMultiprocessor = device[2];
    properties.regsPerBlock = device[3]; properties.regsPerMultiprocessor = device[4]; properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * 1024; properties.sharedMemPerMultiprocessor = device[5]; properties.numSms = 1;
    properties.sharedMemPerBlockOptin = device[6]; properties.reservedSharedMemPerBlock = device[7];
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = 1024; function.numRegs = registers; function.sharedSizeBytes = shared;
    function.partitionedGCConfig = PARTITIONED_GC_OFF; function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = 0; function.numBlockBarriers = 0;
    cudaOccDeviceState state;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &function, &state, threads, 0);
    return error ? -1 : result.activeBlocksPerMultiprocessor;
}
"""


def _header_folder() -> Path | None:
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or []) if spec is not None else []:
        for header in Path(root).glob("*/include/cuda_occupancy.h"):
            return header.parent
    return None


@pytest.fixture(scope="module")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    compiler, folder = shutil.which("c++"), _header_folder()
    if compiler is None or folder is None:
        pytest.skip("needs a C++ compiler c++ and the package nvidia-cuda-runtime")
    here = tmp_path_factory.mktemp("occupancy")
    (here / "calculator.cc").write_text(CALCULATOR)
    command = [compiler, "-w", "-O1", "-shared", "-fPIC", f"-I{folder}", "calculator.cc", "-o", "calculator.so"]
    subprocess.run(command, cwd=here, check=True)
    return ctypes.CDLL(str(here / "calculator.so"))


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_like_nvidias_calculator(calculator: ctypes.CDLL, arch: str) -> None:
    given, random_numbers = ARCHITECTURES[arch], random.Random(arch)
    limits = given.limits
    number = int(arch.removeprefix("sm_"))
    device = (ctypes.c_int * 8)(
        number // 10, number % 10, given.max_threads, limits.registers_per_block, limits.registers, limits.shared_bytes,
        limits.shared_bytes_per_block, limits.reserved_shared_bytes,
    )  # fmt: skip
    for _ in range(2000):
        registers, threads = random_numbers.randrange(256), random_numbers.randrange(1, 1025)
        shared = random_numbers.choice((0, 0, random_numbers.randrange(limits.shared_bytes_per_block + 1)))
        blocks = calculator.blocks(device, registers, shared, threads)
        warps = resident_warps(given, registers, shared, threads)
        assert warps == blocks * -(-threads // 32), (registers, shared, threads)


@pytest.mark.parametrize(
    ("arch", "registers", "shared", "threads", "expected"),
    [
        ("sm_35", 32, 0, 256, 1.0),
        ("sm_35", 63, 0, 256, 0.5),
        ("sm_35", 32, 0, 64, 0.5),  # sixteen blocks
        ("sm_35", 16, 16 * 1024, 256, 0.375),
        ("sm_37", 63, 0, 256, 1.0),
        ("sm_52", 32, 0, 64, 1.0),
        ("sm_60", 40, 0, 256, 0.75),
        ("sm_70", 255, 0, 256, 0.125),
        ("sm_75", 64, 0, 256, 1.0),
        ("sm_80", 128, 0, 256, 0.25),
        ("sm_80", 32, 48 * 1024, 256, 0.375),
        ("sm_86", 40, 0, 128, 1.0),
        ("sm_86", 16, 0, 32, 1 / 3),
        ("sm_90", 168, 0, 384, 0.1875),
        ("sm_90", 255, 0, 512, 0.0),
    ],
)
def test_known_values(arch: str, registers: int, shared: int, threads: int, expected: float) -> None:
    assert occupancy(ARCHITECTURES[arch], registers, shared, threads) == pytest.approx(expected)


def test_nothing_too_large_fits() -> None:
    assert occupancy(ARCHITECTURES["sm_80"], 32, 164 * 1024, 32) == 0
    assert occupancy(ARCHITECTURES["sm_80"], 256, 0, 32) == 0
    assert occupancy(ARCHITECTURES["sm_80"], 32, 163 * 1024, 32) > 0


@pytest.mark.parametrize(("registers", "shared", "threads"), [(32, 0, 0), (32, 0, 1025), (-1, 0, 32), (1, -1, 32)])
def test_impossible_blocks(registers: int, shared: int, threads: int) -> None:
    with pytest.raises(ValueError, match="expected 1 to 1024 threads"):
        occupancy(ARCHITECTURES["sm_80"], registers, shared, threads)


def test_the_scarcest_resource_decides() -> None:
    hopper = ARCHITECTURES["sm_90"]
    assert resident_warps(hopper, 32, 0, 128) == 64
    assert resident_warps(hopper, 64, 0, 128) == 32
    assert resident_warps(hopper, 255, 0, 128) == 8
    assert resident_warps(hopper, 32, 100 * 1024, 128) == 8
    assert resident_warps(ARCHITECTURES["sm_75"], 16, 0, 32) == 16


def test_registers_belong_to_the_four_partitions() -> None:
    # 176 registers are 5632 per warp: two in each partition, although eleven would fit the whole file.
    assert resident_warps(ARCHITECTURES["sm_90"], 176, 0, 32) == 8
    assert resident_warps(ARCHITECTURES["sm_90"], 64, 300 * 1024, 32) == 0
