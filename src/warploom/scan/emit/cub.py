"""CUB: the operator as a functor for `cub::BlockScan` and `cub::DeviceScan`, with a host example."""

from __future__ import annotations

from warploom.scan.emit.body import body
from warploom.scan.emit.cuda import operator_parts
from warploom.scan.emit.dialect import C, Types
from warploom.scan.emit.printer import unserved
from warploom.scan.operators.expression import variables
from warploom.scan.operators.operator import Operator

_INFINITY = """#if defined(__CUDA_ARCH__) || defined(__CUDACC_RTC__)
#define INFINITY_F __int_as_float(0x7f800000)
#else
#define INFINITY_F HUGE_VALF
#endif"""
_FUNCTORS = """
// For any scan or reduction of CUB that takes a binary operator.
struct Combine {
    __host__ __device__ __forceinline__ Value operator()(const Value& a, const Value& b) const { return combine(a, b); }
};

template <int THREADS>
__device__ __forceinline__ void scan_block_with_cub(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    using Scan = cub::BlockScan<Value, THREADS>;
    __shared__ typename Scan::TempStorage storage;
    Input input = @INPUT@;
    Output output = @OUTPUT@;
@UNPACK_CONSTANTS@    long long i = (long long)blockIdx.x * THREADS + threadIdx.x;
    Value v = identity();
    if (i < n) v = lift(read(input, i)@CONSTANT@);
    Scan(storage).InclusiveScan(v, v, Combine{});
    if (i < n) write(output, i, project(v@CONSTANT@));
}

// Every block of 128 threads scans elements of its own.
extern "C" __global__ void __launch_bounds__(128) scan_block(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    scan_block_with_cub<128>(@FORWARDED@);
}

#ifndef __CUDACC_RTC__
// Host example: the whole array, one pass. Elements are lifted as they are read and projected as they are written.
struct Read {
    Input input;
@CONSTANT_MEMBER@    __host__ __device__ Value operator()(long long i) const { return lift(read(input, i)@CONSTANT@); }
};
struct Write {
    Output output;
@CONSTANT_MEMBER@    __host__ __device__ void operator()(long long i, const Value& v) const {
        write(output, i, project(v@CONSTANT@));
    }
};

cudaError_t scan_device(@PARAMETERS@, long long n@KERNEL_CONSTANTS@, cudaStream_t stream = 0) {
    auto values = thrust::make_transform_iterator(thrust::counting_iterator<long long>(0), Read{@READ_PARTS@});
    auto results = thrust::make_tabulate_output_iterator(Write{@WRITE_PARTS@});
    void* scratch = nullptr;
    size_t bytes = 0;
    cub::DeviceScan::InclusiveScan(scratch, bytes, values, results, Combine{}, n, stream);
    if (cudaError_t error = cudaMallocAsync(&scratch, bytes, stream)) return error;
    cudaError_t done = cub::DeviceScan::InclusiveScan(scratch, bytes, values, results, Combine{}, n, stream);
    cudaFreeAsync(scratch, stream);
    return done;
}
#endif
"""


def cub_source(operator: Operator, types: Types | None = None) -> str:
    """Source for nvcc (whole) and for NVRTC (without the host example)."""
    ready = body(operator, C, types or Types())
    if ready.uses_constants(variables(*operator.combine)):
        raise unserved("an operator that depends on the function's other parameters", "a CUB functor")
    text = _FUNCTORS
    parts = operator_parts(ready)
    constants = bool(ready.constants)
    packed = parts["UNPACK_CONSTANTS"].partition(" = ")[2].rstrip(";\n")
    names = [s.name for s in (*ready.elements, *ready.outputs)] + ["n"] + [s.name for s in ready.constants]
    parts |= {
        "FORWARDED": ", ".join(names),
        "CONSTANT_MEMBER": "    Constants constants;\n" if constants else "",
        "READ_PARTS": parts["INPUT"] + (f", {packed}" if constants else ""),
        "WRITE_PARTS": parts["OUTPUT"] + (f", {packed}" if constants else ""),
    }
    for name, value in parts.items():
        text = text.replace(f"@{name}@", value)
    operator_text = parts["OPERATOR"].replace("__device__ __forceinline__", "__host__ __device__ __forceinline__")
    operator_text = operator_text.replace("#define INFINITY_F __int_as_float(0x7f800000)", _INFINITY)
    includes = [
        "#include <cub/block/block_scan.cuh>",
        "#ifndef __CUDACC_RTC__",
        "#include <cmath>",
        "#include <cub/device/device_scan.cuh>",
    ]
    includes += [
        f"#include <thrust/iterator/{n}.h>" for n in ("counting_iterator", "tabulate_output_iterator", "transform_iterator")
    ]
    head = f"// {operator.loop.name}: its loop as an associative operator, for CUB; made by warploom scan emit."
    return "\n".join([head, "", *includes, "#endif", "", operator_text]) + "\n" + text
