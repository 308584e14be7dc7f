// max_segment_sum: its loop as an associative operator (reduction); made by warploom scan emit.
// The least (greatest) int32 stands for minus infinity (infinity): no element may have it.

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int THREADS = 256;  // per block of the device-wide kernels
constexpr int ITEMS = 8;      // per thread of the device-wide kernels
constexpr int TILE = THREADS * ITEMS;

struct Value { int sum_x; int aux1; int aux2; int best_prefix_x; };
struct Element { int x; };
struct Result { int answer; };
struct Input { const int* x; };
struct Output { int* answer; };

__device__ __forceinline__ Element read(Input input, long long i) {
    Element r;
    r.x = input.x[i];
    return r;
}
__device__ __forceinline__ void write(Output output, long long i, Result r) {
    output.answer[i] = r.answer;
}

constexpr int INT_BELOW = -2147483647 - 1;  // minus infinity
template <typename T> __device__ __forceinline__ T largest(T a, T b) { return b > a ? b : a; }

__device__ __forceinline__ Value identity() {
    Value r;
    r.sum_x = 0;
    r.aux1 = INT_BELOW;
    r.aux2 = 0;
    r.best_prefix_x = INT_BELOW;
    return r;
}
__device__ __forceinline__ Value lift(Element element) {
    Value r;
    r.sum_x = element.x;
    r.aux1 = 0;
    r.aux2 = 0;
    r.best_prefix_x = element.x;
    return r;
}
__device__ __forceinline__ Value combine(Value a, Value b) {
    Value r;
    r.sum_x = a.sum_x + b.sum_x;
    r.aux1 = largest<int>(b.aux1, a.aux1 == INT_BELOW ? INT_BELOW : a.aux1 + b.sum_x);
    r.aux2 = largest<int>(largest<int>(a.aux2, b.aux2), a.aux1 == INT_BELOW ? INT_BELOW : b.best_prefix_x == INT_BELOW ? INT_BELOW : a.aux1 + b.best_prefix_x);
    r.best_prefix_x = largest<int>(a.best_prefix_x, b.best_prefix_x == INT_BELOW ? INT_BELOW : b.best_prefix_x + a.sum_x);
    return r;
}
__device__ __forceinline__ Result project(Value a) {
    Result r;
    r.answer = largest<int>(largest<int>(0, a.aux2), a.best_prefix_x);
    return r;
}

// ---- data movement: nothing below depends on what the operator computes ----

__device__ __forceinline__ Value shuffle(Value v, int lane) {
    Value r;
    r.sum_x = __shfl_sync(ALL_LANES, v.sum_x, lane);
    r.aux1 = __shfl_sync(ALL_LANES, v.aux1, lane);
    r.aux2 = __shfl_sync(ALL_LANES, v.aux2, lane);
    r.best_prefix_x = __shfl_sync(ALL_LANES, v.best_prefix_x, lane);
    return r;
}

__device__ __forceinline__ Value shuffle_up(Value v, unsigned distance) {
    Value r;
    r.sum_x = __shfl_up_sync(ALL_LANES, v.sum_x, distance);
    r.aux1 = __shfl_up_sync(ALL_LANES, v.aux1, distance);
    r.aux2 = __shfl_up_sync(ALL_LANES, v.aux2, distance);
    r.best_prefix_x = __shfl_up_sync(ALL_LANES, v.best_prefix_x, distance);
    return r;
}

__device__ __forceinline__ Value shuffle_down(Value v, unsigned distance) {
    Value r;
    r.sum_x = __shfl_down_sync(ALL_LANES, v.sum_x, distance);
    r.aux1 = __shfl_down_sync(ALL_LANES, v.aux1, distance);
    r.aux2 = __shfl_down_sync(ALL_LANES, v.aux2, distance);
    r.best_prefix_x = __shfl_down_sync(ALL_LANES, v.best_prefix_x, distance);
    return r;
}

// Network: kogge-stone. Lane i ends with the values of lanes 0..i combined, in order.
__device__ __forceinline__ Value warp_inclusive(Value v, int i) {
    Value left;
    left = shuffle_up(v, 1);
    if (i >= 1) v = combine(left, v);
    left = shuffle_up(v, 2);
    if (i >= 2) v = combine(left, v);
    left = shuffle_up(v, 4);
    if (i >= 4) v = combine(left, v);
    left = shuffle_up(v, 8);
    if (i >= 8) v = combine(left, v);
    left = shuffle_up(v, 16);
    if (i >= 16) v = combine(left, v);
    return v;
}

// Lane 0 ends with the values of all lanes combined, in order.
__device__ __forceinline__ Value warp_total(Value v, int i) {
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        Value right = shuffle_down(v, d);
        if (i + d < 32) v = combine(v, right);
    }
    return v;
}

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

__device__ __forceinline__ Value block_total(Value v, Value* totals) {
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

template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_warps(Input input, Output output, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    Value v = identity();
    if (i < n) v = lift(read(input, i));
    v = warp_inclusive(v, lane);
    if (EXCLUSIVE) {
        v = shuffle_up(v, 1);
        if (lane == 0) v = identity();
    }
    if (i < n) write(output, i, project(v));
}

template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_blocks(Input input, Output output, long long n) {
    __shared__ Value totals[32];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    Value v = identity();
    if (i < n) v = lift(read(input, i));
    Value before;
    v = block_inclusive(v, totals, &before);
    if (i < n) write(output, i, project(EXCLUSIVE ? before : v));
}

// A warp's (block's) elements are a list of their own; element i of the results is for the i-th of them.
extern "C" __global__ void scan_warp(const int* x, int* answer, long long n) {
    scan_warps<false>(Input{x}, Output{answer}, n);
}
extern "C" __global__ void scan_warp_exclusive(const int* x, int* answer, long long n) {
    scan_warps<true>(Input{x}, Output{answer}, n);
}
extern "C" __global__ void scan_block(const int* x, int* answer, long long n) {
    scan_blocks<false>(Input{x}, Output{answer}, n);
}
extern "C" __global__ void scan_block_exclusive(const int* x, int* answer, long long n) {
    scan_blocks<true>(Input{x}, Output{answer}, n);
}
extern "C" __global__ void reduce_warp(const int* x, int* answer, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    Input input = Input{x};
    Output output = Output{answer};
    Value v = identity();
    if (i < n) v = lift(read(input, i));
    v = warp_total(v, threadIdx.x % 32);
    if (threadIdx.x % 32 == 0 && (i < n || i == 0)) write(output, i / 32, project(v));
}
extern "C" __global__ void reduce_block(const int* x, int* answer, long long n) {
    __shared__ Value totals[32];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    Input input = Input{x};
    Output output = Output{answer};
    Value v = identity();
    if (i < n) v = lift(read(input, i));
    v = block_total(v, totals);
    if (threadIdx.x == 0) write(output, blockIdx.x, project(v));
}

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
            packs[place(pack)] = (reinterpret_cast<const Pack*>(first)[pack]);
        }
    }
    __device__ __forceinline__ void store(T* first) {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            int pack = k * THREADS + threadIdx.x;
            reinterpret_cast<Pack*>(first)[pack] = (packs[place(pack)]);
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
    }
};

struct ElementColumns {
    Column<int> x;
    static __device__ __forceinline__ bool is_aligned(Input input, long long first) { return Column<int>::is_aligned(input.x + first); }
    __device__ __forceinline__ Element get(int j) {
        Element r;
        r.x = x.at(j);
        return r;
    }
    __device__ __forceinline__ void set(int j, Element one) {
        x.at(j) = one.x;
    }
    __device__ __forceinline__ void load(Input input, long long first) { x.load(input.x + first); }
    __device__ __forceinline__ void take(Element* items) {
        {
            int own[ITEMS];
            x.take(own);
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) items[k].x = own[k];
        }
    }
};
struct ResultColumns {
    Column<int> answer;
    static __device__ __forceinline__ bool is_aligned(Output output, long long first) { return Column<int>::is_aligned(output.answer + first); }
    __device__ __forceinline__ Result get(int j) {
        Result r;
        r.answer = answer.at(j);
        return r;
    }
    __device__ __forceinline__ void set(int j, Result one) {
        answer.at(j) = one.answer;
    }
    __device__ __forceinline__ void store(Output output, long long first) { answer.store(output.answer + first); }
    __device__ __forceinline__ void put(const Result* results) {
        {
            int own[ITEMS];
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) own[k] = results[k].answer;
            answer.put(own);
        }
    }
};

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
    Input input, Output output, long long n, unsigned* control, Value* tile_totals, Value* prefixes) {
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
    int count = n - start < TILE ? (int)(n - start) : TILE;
    bool whole = count == TILE && staging.elements.is_aligned(input, start) && staging.results.is_aligned(output, start);
    if (whole) {
        staging.elements.load(input, start);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = k * THREADS + thread;
            if (j < count) staging.elements.set(j, read(input, start + j));
        }
    }
    __syncthreads();
    Element items[ITEMS] = {};
    Value mine = identity();
    if (whole) {
        staging.elements.take(items);
        mine = lift(items[0]);
#pragma unroll
        for (int k = 1; k < ITEMS; ++k) mine = combine(mine, lift(items[k]));
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = thread * ITEMS + k;
            if (j < count) {
                items[k] = staging.elements.get(j);
                mine = combine(mine, lift(items[k]));
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
            Value own = lift(items[k]);
            if (EXCLUSIVE) results[k] = project(before);
            before = combine(before, own);
            if (!EXCLUSIVE) results[k] = project(before);
        }
        staging.results.put(results);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = thread * ITEMS + k;
            if (j < count) {
                Value own = lift(items[k]);
                if (EXCLUSIVE) staging.results.set(j, project(before));
                before = combine(before, own);
                if (!EXCLUSIVE) staging.results.set(j, project(before));
            }
        }
    }
    __syncthreads();
    if (whole) {
        staging.results.store(output, start);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = k * THREADS + thread;
            if (j < count) write(output, start + j, staging.results.get(j));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
scan_device(const int* x, int* answer, unsigned* control, Value* tile_totals, Value* prefixes, long long n) {
    scan_tiles<false>(Input{x}, Output{answer}, n, control, tile_totals, prefixes);
}
extern "C" __global__ void __launch_bounds__(THREADS)
scan_device_exclusive(const int* x, int* answer, unsigned* control, Value* tile_totals, Value* prefixes, long long n) {
    scan_tiles<true>(Input{x}, Output{answer}, n, control, tile_totals, prefixes);
}

// Any number of blocks of THREADS threads, each on a contiguous part; the last to end combines the parts, in order.
// `control`: one word, zero before the launch; `parts`: one value per block.
extern "C" __global__ void __launch_bounds__(THREADS)
reduce_device(const int* x, int* answer, unsigned* control, Value* parts, long long n) {
    __shared__ ElementColumns elements;
    __shared__ Value totals[32];
    __shared__ bool is_last;
    Input input = Input{x};
    Output output = Output{answer};
    int thread = threadIdx.x;
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
            v = lift(items[0]);
#pragma unroll
            for (int k = 1; k < ITEMS; ++k) v = combine(v, lift(items[k]));
        } else {
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) {
                int j = thread * ITEMS + k;
                if (j < count) v = combine(v, lift(elements.get(j)));
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
    if (thread == 0) write(output, 0, project(v));
}
