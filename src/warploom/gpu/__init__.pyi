from .calls import (
    DeviceTensor,
    Launch,
    NotTaken,
    Place,
    SketchCalls,
    Wanted,
    at_tensors,
    call_stream,
    copied_to,
    copy_on_device,
    device_of,
    device_tensor,
    finish,
    fitting,
    is_on_device,
    new_tensor,
    require_all_on_device,
    require_apart,
    run_launches,
    taken,
    to_host,
)
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
from .waiting import BlockTime, block_time

__all__ = [
    "BlockTime", "Compiled", "CudaSource", "DeviceTensor", "EmbeddedPtx", "Executed", "Launch", "ListedLine", "Listings",
    "Lowered", "MachineCounts", "NoDevice", "NotTaken", "Place", "ReadBack", "SizeLimits", "SketchCalls", "Timing", "Wanted",
    "assemble", "at_tensors", "block_time", "call_stream", "compile_cuda", "compile_file", "compile_to_ptx", "copied_to",
    "copy_on_device", "count_executed", "counted_work", "cuda_listing", "cuda_source", "device_arch", "device_available",
    "device_names", "device_of", "device_tensor", "embedded_ptx", "executed_cycles", "finish", "fitting", "grid_of", "index_c",
    "index_overflow", "is_architecture", "is_binary", "is_on_device", "launch", "lower", "machine_counts", "machine_listings",
    "merged_accesses", "new_tensor", "read_back", "registers_used", "require_all_on_device", "require_apart",
    "require_architecture", "run_kernel", "run_launches", "safe_sizes", "spilled", "taken", "time_kernel", "time_on_device",
    "to_host", "toolchain_available", "why_no_device",
]  # fmt: skip
