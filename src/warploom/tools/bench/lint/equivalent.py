"""Planted mistakes that are none, by key, with the reason; judged by hand."""

_ONE_MORE = "one more round changes nothing: "
_ZEROS = "Triton fills what a mask leaves out with zeros by itself: the PTX computes the same"

EQUIVALENT = {
    "matmul:4 | for (int t = 0; t < k; t += 16) { | for (int t = 0; t <= k; t += 16) {": (
        f"{_ONE_MORE}k is no multiple of 16, and of a multiple the guards of the loads fill the last tiles with zeros"
    ),
    "warp_sum:4 | if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum; | if (true) part[threadIdx.x / 32] = sum;": (
        "the lanes of one instruction store one value"
    ),
    "warp_sum:9 | if (threadIdx.x == 0) out[blockIdx.x] = sum; | if (true) out[blockIdx.x] = sum;": (
        "the lanes of one instruction store one value"
    ),
    "scan:4 | for (int k = 1; k < 64; k *= 2) { | for (int k = 1; k <= 64; k *= 2) {": (
        f"{_ONE_MORE}no thread has a number of 64 or more"
    ),
    "warp_scan:5 | for (int k = 1; k < 32; k *= 2) { | for (int k = 1; k <= 32; k *= 2) {": (
        f"{_ONE_MORE}no lane has a number of 32 or more"
    ),
    "histogram:5 | atomicAdd(&own[in[i] & 15], 1); | atomicAdd_block(&own[in[i] & 15], 1);": "shared memory is the block's own",
    'producer:10 | if (k == 0) asm volatile("bar.arrive 2, 96;" ::: "memory"); | if (true) asm volatile("bar.arrive 2, 96;" ::: '
    '"memory");': "nobody waits at the barrier after the last arrivals",
    'halves:9 | asm volatile("bar.sync 1, 64;" ::: "memory"); | ;': (
        "after the second one each thread writes its own element, and __syncthreads() comes before the others read it"
    ),
    "last_block:5 | atomicExch(&parts[blockIdx.x], sum); | atomicExch_block(&parts[blockIdx.x], sum);": (
        "the fence and the counter order it before the block that reads"
    ),
    "last_block:5 | atomicExch(&parts[blockIdx.x], sum); | parts[blockIdx.x] = sum;": (
        "the fence and the counter order it before the block that reads"
    ),
    "last_block:13 | for (int b = 0; b < 4; ++b) all += atomicAdd(&parts[b], 0.0f); | for (int b = 0; b < 4; ++b) all += "
    "atomicAdd_block(&parts[b], 0.0f);": "all other accesses are ordered before it",
    "last_block:13 | for (int b = 0; b < 4; ++b) all += atomicAdd(&parts[b], 0.0f); | for (int b = 0; b < 4; ++b) all += "
    "parts[b] += 0.0f;": "all other accesses are ordered before it",
    "odd_even_sort:4 | for (int k = 0; k < 32; ++k) { | for (int k = 0; k <= 32; ++k) {": f"{_ONE_MORE}all is sorted",
    "block_sum_ptx:86 | bar.sync 0; | ": "thread 0 has written what it reads then",
    "warp_sum_ptx:49 | @%p6 bra $L__BB0_2; | ": "the lanes of one instruction store one value",
    "warp_sum_ptx:76 | @%p10 bra $L__BB0_5; | ": "the lanes of one instruction store one value",
    "warp_scan_ptx:75 | bar.warp.sync -1; | ": "each thread reads what it has written itself",
    "odd_even_sort_ptx:35 | setp.gt.s32 %p2, %r1, 29; | setp.ge.s32 %p2, %r1, 29;": "the register is even",
    "total:3 | x = tl.load(a + offsets, mask=offsets < n, other=0.0) | x = tl.load(a + offsets, mask=offsets < n)": _ZEROS,
    "product:7 | left = tl.load(a + rows[:, None] * k + along[None, :], mask=(rows[:, None] < m) & (along[None, :] < k), "
    "other=0.0) | left = tl.load(a + rows[:, None] * k + along[None, :], mask=(rows[:, None] < m) & "
    "(along[None, :] < k))": _ZEROS,
    "product:8 | right = tl.load(b + along[:, None] * SIDE + columns[None, :], mask=along[:, None] < k, other=0.0) | right = "
    "tl.load(b + along[:, None] * SIDE + columns[None, :], mask=along[:, None] < k)": _ZEROS,
}  # fmt: skip

JUDGED = {
    ("merge_sort", "uninitialised-shared"): (
        "real, and without effect: the merge reads one key past the end of each run, and takes the other one then"
    ),
}
"""Findings in kernels without a mistake, by kernel and rule, judged by hand."""
