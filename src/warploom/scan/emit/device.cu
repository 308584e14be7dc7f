
// ---- device-wide: one pass over memory, with decoupled look-back ----

// Moves a tile between the order of memory and the order of threads; one word of padding for every 32 elements.
constexpr int STAGED = TILE + TILE / 32;
__device__ __forceinline__ int staged(int i) { return i + i / 32; }

// States of a tile: 0 nothing yet, 1 its own total is there, 2 the total of all tiles up to it is there.
__device__ __forceinline__ void publish(unsigned* state, unsigned word) {
    __threadfence();
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(state), "r"(word) : "memory");
}

__device__ __forceinline__ unsigned state_of(unsigned* state) {
    unsigned word;
    do {
        asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(word) : "l"(state) : "memory");
    } while (word == 0);
    return word;
}

// All tiles before `tile` combined, in every lane of the warp that calls it.
__device__ __forceinline__ Value look_back(unsigned tile, unsigned* states, Value* totals, Value* prefixes) {
    int lane = threadIdx.x % 32;
    Value all = identity();
    for (long long last = (long long)tile - 1;; last -= 32) {
        long long mine = last - lane;
        unsigned state = 2;
        Value v = identity();
        if (mine >= 0) {
            state = state_of(states + mine);
            v = state == 2 ? prefixes[mine] : totals[mine];
        }
        __syncwarp();
        int nearest = __ffs(__ballot_sync(ALL_LANES, state == 2)) - 1;  // lane of the nearest complete prefix
        if (nearest >= 0 && lane > nearest) v = identity();
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            Value earlier = shuffle_down(v, d);
            if (lane + d < 32) v = combine(earlier, v);
        }
        all = combine(v, all);
        if (nearest >= 0) return shuffle(all, 0);
    }
}

// `control`: 1 + number of tiles words, zero before the launch: [0] gives out the tiles, [1 + t] is the state of tile t.
template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_tiles(
    Input input, Output output, long long n, unsigned* control, Value* tile_totals, Value* prefixes@CONSTANT_PARAMETER@) {
    union Staging {
        Element elements[STAGED];
        Result results[STAGED];
        __device__ Staging() {}
    };
    __shared__ __align__(16) unsigned char memory[sizeof(Staging)];
    __shared__ Value totals[32];
    __shared__ Value carried;
    __shared__ unsigned ticket;
    Staging& staging = *reinterpret_cast<Staging*>(memory);
    int thread = threadIdx.x, lane = thread % 32;
    if (thread == 0) ticket = atomicAdd(control, 1u);
    __syncthreads();
    unsigned tile = ticket;
    long long start = (long long)tile * TILE;
    int count = n - start < TILE ? (int)(n - start) : TILE;
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = k * THREADS + thread;
        if (j < count) staging.elements[staged(j)] = read(input, @AT@);
    }
    __syncthreads();
    Value items[ITEMS];@STARTS@
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = thread * ITEMS + k;
        items[k] = identity();
        if (j < count) items[k] = lift(staging.elements[staged(j)]@CONSTANT@);@START@
        if (k > 0) items[k] = combine(items[k - 1], items[k]);
    }
    Value before;
    block_inclusive(items[ITEMS - 1], totals, &before);
    if (thread < 32) {
        Value total = totals[THREADS / 32 - 1];
        Value earlier = identity();
        if (tile == 0) {
            if (lane == 0) {
                prefixes[0] = total;
                publish(control + 1, 2);
            }
        } else {
            if (lane == 0) {
                tile_totals[tile] = total;
                publish(control + 1 + tile, 1);
            }
            earlier = look_back(tile, control + 1, tile_totals, prefixes);
            if (lane == 0) {
                prefixes[tile] = combine(earlier, total);
                publish(control + 1 + tile, 2);
            }
        }
        if (lane == 0) carried = earlier;
    }
    __syncthreads();
    if (tile > 0) before = combine(carried, before);
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = thread * ITEMS + k;
        Value v = before;
        if (!EXCLUSIVE || k > 0) v = combine(before, items[EXCLUSIVE && k > 0 ? k - 1 : k]);@RESTART@
        if (j < count) staging.results[staged(j)] = project(v@CONSTANT@);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < ITEMS; ++k) {
        int j = k * THREADS + thread;
        if (j < count) write(output, @AT@, staging.results[staged(j)]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
scan_device(@PARAMETERS@, unsigned* control, Value* tile_totals, Value* prefixes, long long n@KERNEL_CONSTANTS@) {
    scan_tiles<false>(@ARGUMENTS@, n, control, tile_totals, prefixes@PACKED_CONSTANTS@);
}
extern "C" __global__ void __launch_bounds__(THREADS)
scan_device_exclusive(@PARAMETERS@, unsigned* control, Value* tile_totals, Value* prefixes, long long n@KERNEL_CONSTANTS@) {
    scan_tiles<true>(@ARGUMENTS@, n, control, tile_totals, prefixes@PACKED_CONSTANTS@);
}
@REDUCTIONS{@
// Any number of blocks of THREADS threads, each on a contiguous part; the last to end combines the parts, in order.
// `control`: one word, zero before the launch; `parts`: one value per block.
extern "C" __global__ void __launch_bounds__(THREADS)
reduce_device(@PARAMETERS@, unsigned* control, Value* parts, long long n@KERNEL_CONSTANTS@) {
    __shared__ Element elements[STAGED];
    __shared__ Value totals[32];
    __shared__ bool is_last;
    Input input = @INPUT@;
    Output output = @OUTPUT@;
@UNPACK_CONSTANTS@    int thread = threadIdx.x;
    long long tiles = (n + TILE - 1) / TILE, share = (tiles + gridDim.x - 1) / gridDim.x;
    long long first = blockIdx.x * share, last = first + share < tiles ? first + share : tiles;
    Value all = identity();
    for (long long tile = first; tile < last; ++tile) {
        long long start = tile * TILE;
        int count = n - start < TILE ? (int)(n - start) : TILE;
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = k * THREADS + thread;
            if (j < count) elements[staged(j)] = read(input, start + j);
        }
        __syncthreads();
        Value v = identity();
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = thread * ITEMS + k;
            if (j < count) v = combine(v, lift(elements[staged(j)]@CONSTANT@));
        }
        v = block_total(v, totals);
        if (thread == 0) all = combine(all, v);
        __syncthreads();
    }
    if (thread == 0) {
        parts[blockIdx.x] = all;
        __threadfence();
        is_last = atomicAdd(control, 1u) == gridDim.x - 1;
        __threadfence();  // before the barrier: it orders what the other threads read after what the other blocks stored
    }
    __syncthreads();
    if (!is_last) return;
    long long per_thread = ((long long)gridDim.x + THREADS - 1) / THREADS;
    Value v = identity();
    for (long long i = thread * per_thread; i < (thread + 1) * per_thread && i < gridDim.x; ++i) v = combine(v, parts[i]);
    v = block_total(v, totals);
    if (thread == 0) write(output, 0, project(v@CONSTANT@));
}
@}REDUCTIONS@