
// ---- device-wide: one pass over memory, with decoupled look-back ----

// Tiles are moved between the order of memory and the order of threads through shared memory, in packs of at most 16 bytes,
// with one pack of padding for every 128 bytes.
template <typename T>
struct Column {
    static constexpr int POWER = ITEMS & -ITEMS, MOST = 16 / sizeof(T), WIDTH = POWER < MOST ? POWER : MOST;
    static constexpr int PACKS = ITEMS / WIDTH, LINE = 128 / (WIDTH * sizeof(T));
    struct __align__(sizeof(T) * WIDTH) Pack { T part[WIDTH]; };
    Pack packs[(THREADS * PACKS) + (THREADS * PACKS) / LINE];

    static __device__ __forceinline__ int place(int pack) { return pack + pack / LINE; }
    // Whether a whole tile from `first` on is read and written in packs.
    static __device__ __forceinline__ bool is_aligned(const T* first) { return (unsigned long long)first % sizeof(Pack) == 0; }
    __device__ __forceinline__ T& at(int j) { return packs[place(j / WIDTH)].part[j % WIDTH]; }
    __device__ __forceinline__ void load(const T* first) {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            int pack = k * THREADS + threadIdx.x;
            packs[place(@PACK@)] = @MIRRORED_PACK@(reinterpret_cast<const Pack*>(first)[pack]);
        }
    }
    __device__ __forceinline__ void store(T* first) {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            int pack = k * THREADS + threadIdx.x;
            reinterpret_cast<Pack*>(first)[pack] = @MIRRORED_PACK@(packs[place(@PACK@)]);
        }
    }
    // A thread's own numbers, in order.
    __device__ __forceinline__ void take(T* own) {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            Pack pack = packs[place(threadIdx.x * PACKS + k)];
#pragma unroll
            for (int part = 0; part < WIDTH; ++part) own[k * WIDTH + part] = pack.part[part];
        }
    }
    __device__ __forceinline__ void put(const T* own) {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            Pack pack;
#pragma unroll
            for (int part = 0; part < WIDTH; ++part) pack.part[part] = own[k * WIDTH + part];
            packs[place(threadIdx.x * PACKS + k)] = pack;
        }
    }@MIRROR@
};

@COLUMNS@

// States of a tile: 0 nothing yet, 1 its own total is there, 2 the total of all tiles up to it is there.
__device__ __forceinline__ void publish(unsigned* state, unsigned word) {
    __threadfence();
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(state), "r"(word) : "memory");
}

__device__ __forceinline__ unsigned state_of(unsigned* state) {
    unsigned word;
    do {  // sleeps before it asks again, so that others' loads and stores pass
        asm volatile(
            "{\n\t.reg .pred waits;\n\tld.acquire.gpu.global.u32 %0, [%1];\n\tsetp.eq.u32 waits, %0, 0;\n\t"
            "@waits nanosleep.u32 32;\n\t}"
            : "=r"(word) : "l"(state) : "memory");
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
        ElementColumns elements;
        ResultColumns results;
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
    int count = n - start < TILE ? (int)(n - start) : TILE;@EDGE@
    bool whole = count == TILE && staging.elements.is_aligned(input, @FIRST@) && staging.results.is_aligned(output, @FIRST@);
    if (whole) {
        staging.elements.load(input, @FIRST@);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = k * THREADS + thread;
            if (j < count) staging.elements.set(j, read(input, @AT@));
        }
    }
    __syncthreads();
    Element items[ITEMS] = {};
    Value mine = identity();
    if (whole) {
        staging.elements.take(items);
        mine = lift(items[0]@CONSTANT@);
#pragma unroll
        for (int k = 1; k < ITEMS; ++k) mine = combine(mine, lift(items[k]@CONSTANT@));
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = thread * ITEMS + k;
            if (j < count) {
                items[k] = staging.elements.get(j);
                mine = combine(mine, lift(items[k]@CONSTANT@));
            }
        }
    }
    Value before;
    block_inclusive(mine, totals, &before);
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
    if (whole) {
        Result results[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            Value own = lift(items[k]@CONSTANT@);
            if (EXCLUSIVE) results[k] = project(@BEFORE@@CONSTANT@);
            before = combine(before, own);
            if (!EXCLUSIVE) results[k] = project(before@CONSTANT@);
        }
        staging.results.put(results);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = thread * ITEMS + k;
            if (j < count) {
                Value own = lift(items[k]@CONSTANT@);
                if (EXCLUSIVE) staging.results.set(j, project(@BEFORE@@CONSTANT@));
                before = combine(before, own);
                if (!EXCLUSIVE) staging.results.set(j, project(before@CONSTANT@));
            }
        }
    }
    __syncthreads();
    if (whole) {
        staging.results.store(output, @FIRST@);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = k * THREADS + thread;
            if (j < count) write(output, @AT@, staging.results.get(j));
        }
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
    __shared__ ElementColumns elements;
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
        bool whole = count == TILE && elements.is_aligned(input, start);
        if (whole) {
            elements.load(input, start);
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) {
                int j = k * THREADS + thread;
                if (j < count) elements.set(j, read(input, start + j));
            }
        }
        __syncthreads();
        Value v = identity();
        if (whole) {
            Element items[ITEMS];
            elements.take(items);
            v = lift(items[0]@CONSTANT@);
#pragma unroll
            for (int k = 1; k < ITEMS; ++k) v = combine(v, lift(items[k]@CONSTANT@));
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) {
                int j = thread * ITEMS + k;
                if (j < count) v = combine(v, lift(elements.get(j)@CONSTANT@));
            }
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