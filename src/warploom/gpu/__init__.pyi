from .cost import counted_work, executed_cycles
from .cuda import CudaSource, cuda_source, index_overflow, safe_sizes
from .device import NoDevice, Timing, device_arch, device_available, device_names, launch, time_kernel, why_no_device
from .embedded import EmbeddedPtx, embedded_ptx, is_binary
from .execute import Executed, count_executed, grid_of, run_kernel, time_on_device
from .index_code import index_c
from .listings import ListedLine, Listings, cuda_listing, machine_listings
from .lower import Lowered, lower
from .machine_code import MachineCounts, machine_counts
from .merged import merged_accesses
from .read_back import ReadBack, read_back
from .sizes import SizeLimits
from .toolchain import (
    Compiled,
    assemble,
    compile_cuda,
    compile_file,
    compile_to_ptx,
    is_architecture,
    registers_used,
    require_architecture,
    spilled,
    toolchain_available,
)

__all__ = [
    "Compiled", "CudaSource", "EmbeddedPtx", "Executed", "ListedLine", "Listings", "Lowered", "MachineCounts", "NoDevice",
    "ReadBack", "SizeLimits", "Timing", "assemble", "compile_cuda", "compile_file", "compile_to_ptx", "count_executed",
    "counted_work", "cuda_listing", "cuda_source", "device_arch", "device_available", "device_names", "embedded_ptx",
    "executed_cycles", "grid_of", "index_c", "index_overflow", "is_architecture", "is_binary", "launch", "lower",
    "machine_counts", "machine_listings", "merged_accesses", "read_back", "registers_used", "require_architecture",
    "run_kernel", "safe_sizes", "spilled", "time_kernel", "time_on_device", "toolchain_available", "why_no_device",
]  # fmt: skip
