
// ---- a block's scan by a network of all its elements in shared memory, cells at remapped addresses ----

constexpr int COLUMNS = @COLUMNS@;
constexpr int SLOTS = @SLOTS@;
@TABLE@
__device__ __forceinline__ int place(int e) { return @PLACE@; }

struct Cells {
@MEMBERS@
};

__device__ __forceinline__ Value get(Cells& cells, int e) {
    int p = place(e);
    Value r;
@GET@
    return r;
}

__device__ __forceinline__ void put(Cells& cells, int e, Value v) {
    int p = place(e);
@PUT@
}

// Network: @BLOCK_NETWORK@; blocks of COLUMNS threads. Lane k of a step does its k-th operation.
template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_cells(Input input, Output output, long long n@CONSTANT_PARAMETER@) {
    __shared__ Cells cells;
    int k = threadIdx.x;
    long long i = (long long)blockIdx.x * COLUMNS + k;@MIRRORED_IN_CELLS@
    Value v = identity();
    if (i < n) v = lift(read(input, i)@CONSTANT@);@OWN@
    put(cells, k, v);
    __syncthreads();
@BLOCK_STEPS@
    if (EXCLUSIVE) {
        v = identity();
        if (k > 0) v = get(cells, k - 1);@OUTSIDE@
    } else {
        v = get(cells, k);
    }
    if (i < n) write(output, i, project(v@CONSTANT@));
}

extern "C" __global__ void __launch_bounds__(COLUMNS) scan_block_shared(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    scan_cells<false>(@ARGUMENTS@, n@PACKED_CONSTANTS@);
}
extern "C" __global__ void __launch_bounds__(COLUMNS) scan_block_shared_exclusive(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    scan_cells<true>(@ARGUMENTS@, n@PACKED_CONSTANTS@);
}
