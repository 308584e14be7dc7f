"""Block-wide operations of CUB, one kernel each: 128 threads, 4 integers a thread, x to y."""

_KERNEL = r"""
#include <cub/block/{header}.cuh>
extern "C" __global__ void __launch_bounds__(128) {name}(const int* x, int* y) {{
    using Operation = {type};
    __shared__ typename Operation::TempStorage temporary;
    int items[4];
    for (int n = 0; n < 4; n++) items[n] = x[{source}];
    {call}
    for (int n = 0; n < 4; n++) y[threadIdx.x * 4 + n] = items[n];
}}
"""
_BLOCKED, _STRIPED = "threadIdx.x * 4 + n", "n * 128 + threadIdx.x"


def _text(name: str, header: str, kind: str, call: str, source: str = _BLOCKED) -> str:
    return _KERNEL.format(name=name, header=header, type=kind, call=call, source=source)


SOURCES: dict[str, str] = {
    "scan": _text(
        "scan", "block_scan", "cub::BlockScan<int, 128>", "Operation(temporary).InclusiveSum(items, items);"
    ),
    "scan_raking": _text(
        "scan_raking", "block_scan", "cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING>",
        "Operation(temporary).ExclusiveSum(items, items);",
    ),
    "exchange": _text(
        "exchange", "block_exchange", "cub::BlockExchange<int, 128, 4>",
        "Operation(temporary).StripedToBlocked(items, items);", _STRIPED,
    ),
    "exchange_warp": _text(
        "exchange_warp", "block_exchange", "cub::BlockExchange<int, 128, 4, true>",
        "Operation(temporary).BlockedToWarpStriped(items, items);",
    ),
    "radix_sort": _text(
        "radix_sort", "block_radix_sort", "cub::BlockRadixSort<int, 128, 4>", "Operation(temporary).Sort(items);"
    ),
    "reduce": _text(
        "reduce", "block_reduce", "cub::BlockReduce<int, 128>",
        "int total = Operation(temporary).Sum(items); for (int n = 0; n < 4; n++) items[n] = threadIdx.x == 0 ? total : n;",
    ),
}  # fmt: skip
