constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int THREADS = @THREADS@;  // per block of the device-wide kernels
constexpr int ITEMS = @ITEMS@;      // per thread of the device-wide kernels
constexpr int TILE = THREADS * ITEMS;

@OPERATOR@

// ---- data movement: nothing below depends on what the operator computes ----

__device__ __forceinline__ Value shuffle(Value v, int lane) {
    Value r;
@SHUFFLE@
    return r;
}

__device__ __forceinline__ Value shuffle_up(Value v, unsigned distance) {
    Value r;
@SHUFFLE_UP@
    return r;
}

__device__ __forceinline__ Value shuffle_down(Value v, unsigned distance) {
    Value r;
@SHUFFLE_DOWN@
    return r;
}

// Network: @NETWORK@. Lane i ends with the values of lanes 0..i combined, in order.
__device__ __forceinline__ Value warp_inclusive(Value v, int i) {
    Value left;
@STEPS@
    return v;
}
@REDUCTIONS{@
// Lane 0 ends with the values of all lanes combined, in order.
__device__ __forceinline__ Value warp_total(Value v, int i) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        Value right = shuffle_down(v, d);
        if (i + d < 32) v = combine(v, right);
    }
    return v;
}
@}REDUCTIONS@
// `totals`: 32 values in shared memory; afterwards totals[w] combines warps 0..w. blockDim.x is a multiple of 32.
__device__ __forceinline__ Value block_inclusive(Value v, Value* totals, Value* before) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    Value mine = warp_inclusive(v, lane);
    if (lane == 31) totals[warp] = mine;
    __syncthreads();
    if (warp == 0) {
        Value t = lane < warps ? totals[lane] : identity();
        t = warp_inclusive(t, lane);
        totals[lane] = t;
    }
    __syncthreads();
    Value up = shuffle_up(mine, 1);
    if (lane == 0) up = identity();
    if (warp > 0) {
        Value earlier = totals[warp - 1];
        mine = combine(earlier, mine);
        up = lane == 0 ? earlier : combine(earlier, up);
    }
    *before = up;
    return mine;
}

@REDUCTIONS{@__device__ __forceinline__ Value block_total(Value v, Value* totals) {
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    v = warp_total(v, lane);
    if (lane == 0) totals[warp] = v;
    __syncthreads();
    Value t = identity();
    if (warp == 0) {
        if (lane < warps) t = totals[lane];
        t = warp_total(t, lane);
    }
    return t;
}

@}REDUCTIONS@@FORM@template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_warps(Input input, Output output, long long n@CONSTANT_PARAMETER@) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;@MIRRORED_IN_WARP@
    Value v = identity();
    if (i < n) v = lift(read(input, i)@CONSTANT@);@OWN@
    v = warp_inclusive(v, lane);
    if (EXCLUSIVE) {
        v = shuffle_up(v, 1);
        if (lane == 0) v = identity();@OUTSIDE@
    }
    if (i < n) write(output, i, project(v@CONSTANT@));
}

template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_blocks(Input input, Output output, long long n@CONSTANT_PARAMETER@) {
    __shared__ Value totals[32];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;@MIRRORED_IN_BLOCK@
    Value v = identity();
    if (i < n) v = lift(read(input, i)@CONSTANT@);@OWN@
    Value before;
    v = block_inclusive(v, totals, &before);
    if (i < n) write(output, i, project(EXCLUSIVE ? @BEFORE@ : v@CONSTANT@));
}

@MEANING@
extern "C" __global__ void scan_warp(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    scan_warps<false>(@ARGUMENTS@, n@PACKED_CONSTANTS@);
}
extern "C" __global__ void scan_warp_exclusive(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    scan_warps<true>(@ARGUMENTS@, n@PACKED_CONSTANTS@);
}
extern "C" __global__ void scan_block(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    scan_blocks<false>(@ARGUMENTS@, n@PACKED_CONSTANTS@);
}
extern "C" __global__ void scan_block_exclusive(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    scan_blocks<true>(@ARGUMENTS@, n@PACKED_CONSTANTS@);
}
@REDUCTIONS{@extern "C" __global__ void reduce_warp(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    Input input = @INPUT@;
    Output output = @OUTPUT@;
@UNPACK_CONSTANTS@    Value v = identity();
    if (i < n) v = lift(read(input, i)@CONSTANT@);
    v = warp_total(v, threadIdx.x % 32);
    if (threadIdx.x % 32 == 0 && (i < n || i == 0)) write(output, i / 32, project(v@CONSTANT@));
}
extern "C" __global__ void reduce_block(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    __shared__ Value totals[32];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    Input input = @INPUT@;
    Output output = @OUTPUT@;
@UNPACK_CONSTANTS@    Value v = identity();
    if (i < n) v = lift(read(input, i)@CONSTANT@);
    v = block_total(v, totals);
    if (threadIdx.x == 0) write(output, blockIdx.x, project(v@CONSTANT@));
}
@}REDUCTIONS@