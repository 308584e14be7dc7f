
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
extern "C" __global__ void __launch_bounds__(COLUMNS) scan_block_shared(@PARAMETERS@, long long n@KERNEL_CONSTANTS@) {
    __shared__ Cells cells;
    int k = threadIdx.x;
    long long i = (long long)blockIdx.x * COLUMNS + k;
    Input input = @INPUT@;
    Output output = @OUTPUT@;
@UNPACK_CONSTANTS@    Value v = identity();
    if (i < n) v = lift(read(input, i)@CONSTANT@);
    put(cells, k, v);
    __syncthreads();
@BLOCK_STEPS@
    if (i < n) write(output, i, project(get(cells, k)@CONSTANT@));
}
