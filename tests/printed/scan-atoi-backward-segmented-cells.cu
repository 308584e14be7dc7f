// atoi: its loop as an associative operator (reduction, made a backward segmented (tails) scan); made by warploom scan emit.

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int THREADS = 256;  // per block of the device-wide kernels
constexpr int ITEMS = 8;      // per thread of the device-wide kernels
constexpr int TILE = THREADS * ITEMS;

struct Value { int value_; int aux1; int tail; };
struct Element { int d_; bool tail; };
struct Result { int value_; };
struct Input { const int* d_; const bool* tail; };
struct Output { int* value_; };

__device__ __forceinline__ Element read(Input input, long long i) {
    Element r;
    r.d_ = input.d_[i];
    r.tail = input.tail[i];
    return r;
}
__device__ __forceinline__ void write(Output output, long long i, Result r) {
    output.value_[i] = r.value_;
}

__device__ __forceinline__ Value identity() {
    Value r;
    r.value_ = 0;
    r.aux1 = 1;
    r.tail = 0;
    return r;
}
__device__ __forceinline__ Value lift(Element element) {
    Value r;
    r.value_ = element.d_;
    r.aux1 = 10;
    r.tail = element.tail ? 1 : 0;
    return r;
}
__device__ __forceinline__ Value combine(Value a, Value b) {
    Value r;
    r.value_ = b.tail ? b.value_ : a.value_ + a.aux1 * b.value_;
    r.aux1 = b.tail ? b.aux1 : a.aux1 * b.aux1;
    r.tail = a.tail || b.tail ? 1 : 0;
    return r;
}
__device__ __forceinline__ Result project(Value a) {
    Result r;
    r.value_ = a.value_;
    return r;
}

// ---- data movement: nothing below depends on what the operator computes ----

__device__ __forceinline__ Value shuffle(Value v, int lane) {
    Value r;
    r.value_ = __shfl_sync(ALL_LANES, v.value_, lane);
    r.aux1 = __shfl_sync(ALL_LANES, v.aux1, lane);
    r.tail = __shfl_sync(ALL_LANES, v.tail, lane);
    return r;
}

__device__ __forceinline__ Value shuffle_up(Value v, unsigned distance) {
    Value r;
    r.value_ = __shfl_up_sync(ALL_LANES, v.value_, distance);
    r.aux1 = __shfl_up_sync(ALL_LANES, v.aux1, distance);
    r.tail = __shfl_up_sync(ALL_LANES, v.tail, distance);
    return r;
}

__device__ __forceinline__ Value shuffle_down(Value v, unsigned distance) {
    Value r;
    r.value_ = __shfl_down_sync(ALL_LANES, v.value_, distance);
    r.aux1 = __shfl_down_sync(ALL_LANES, v.aux1, distance);
    r.tail = __shfl_down_sync(ALL_LANES, v.tail, distance);
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

// What an exclusive scan has for an element: `before`, or nothing where its own value is at the edge of a segment.
__device__ __forceinline__ Value outside(Value before, Value own) {
    return own.tail ? identity() : before;
}

// Lists of `part` elements each, the last one shorter: the place of i from its list's end. Places from n on stay.
__device__ __forceinline__ long long mirrored(long long i, int place, int part, long long n) {
    long long first = i - place, end = first + part < n ? first + part : n;
    return i < n ? end - 1 - place : i;
}

template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_warps(Input input, Output output, long long n) {
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % 32;
    i = mirrored(i, lane, 32, n);
    Value v = identity();
    if (i < n) v = lift(read(input, i));
    Value own = v;
    v = warp_inclusive(v, lane);
    if (EXCLUSIVE) {
        v = shuffle_up(v, 1);
        if (lane == 0) v = identity();
        v = outside(v, own);
    }
    if (i < n) write(output, i, project(v));
}

template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_blocks(Input input, Output output, long long n) {
    __shared__ Value totals[32];
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    i = mirrored(i, threadIdx.x, blockDim.x, n);
    Value v = identity();
    if (i < n) v = lift(read(input, i));
    Value own = v;
    Value before;
    v = block_inclusive(v, totals, &before);
    if (i < n) write(output, i, project(EXCLUSIVE ? outside(before, own) : v));
}

// A warp's (block's) elements are a list of their own; element i of the results is for the i-th of them.
// It combines the elements from the i-th on, in their order; exclusive: those after it.
// `tail`: whether an element is the last of its segment.
extern "C" __global__ void scan_warp(const int* d_, const bool* tail, int* value_, long long n) {
    scan_warps<false>(Input{d_, tail}, Output{value_}, n);
}
extern "C" __global__ void scan_warp_exclusive(const int* d_, const bool* tail, int* value_, long long n) {
    scan_warps<true>(Input{d_, tail}, Output{value_}, n);
}
extern "C" __global__ void scan_block(const int* d_, const bool* tail, int* value_, long long n) {
    scan_blocks<false>(Input{d_, tail}, Output{value_}, n);
}
extern "C" __global__ void scan_block_exclusive(const int* d_, const bool* tail, int* value_, long long n) {
    scan_blocks<true>(Input{d_, tail}, Output{value_}, n);
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
            packs[place(THREADS * PACKS - 1 - pack)] = mirrored(reinterpret_cast<const Pack*>(first)[pack]);
        }
    }
    __device__ __forceinline__ void store(T* first) {
#pragma unroll
        for (int k = 0; k < PACKS; ++k) {
            int pack = k * THREADS + threadIdx.x;
            reinterpret_cast<Pack*>(first)[pack] = mirrored(packs[place(THREADS * PACKS - 1 - pack)]);
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
    static __device__ __forceinline__ Pack mirrored(Pack pack) {
        Pack turned;
#pragma unroll
        for (int part = 0; part < WIDTH; ++part) turned.part[part] = pack.part[WIDTH - 1 - part];
        return turned;
    }
};

struct ElementColumns {
    Column<int> d_; Column<bool> tail;
    static __device__ __forceinline__ bool is_aligned(Input input, long long first) { return Column<int>::is_aligned(input.d_ + first) && Column<bool>::is_aligned(input.tail + first); }
    __device__ __forceinline__ Element get(int j) {
        Element r;
        r.d_ = d_.at(j);
        r.tail = tail.at(j);
        return r;
    }
    __device__ __forceinline__ void set(int j, Element one) {
        d_.at(j) = one.d_;
        tail.at(j) = one.tail;
    }
    __device__ __forceinline__ void load(Input input, long long first) { d_.load(input.d_ + first); tail.load(input.tail + first); }
    __device__ __forceinline__ void take(Element* items) {
        {
            int own[ITEMS];
            d_.take(own);
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) items[k].d_ = own[k];
        }
        {
            bool own[ITEMS];
            tail.take(own);
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) items[k].tail = own[k];
        }
    }
};
struct ResultColumns {
    Column<int> value_;
    static __device__ __forceinline__ bool is_aligned(Output output, long long first) { return Column<int>::is_aligned(output.value_ + first); }
    __device__ __forceinline__ Result get(int j) {
        Result r;
        r.value_ = value_.at(j);
        return r;
    }
    __device__ __forceinline__ void set(int j, Result one) {
        value_.at(j) = one.value_;
    }
    __device__ __forceinline__ void store(Output output, long long first) { value_.store(output.value_ + first); }
    __device__ __forceinline__ void put(const Result* results) {
        {
            int own[ITEMS];
#pragma unroll
            for (int k = 0; k < ITEMS; ++k) own[k] = results[k].value_;
            value_.put(own);
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
    bool whole = count == TILE && staging.elements.is_aligned(input, n - TILE - start) && staging.results.is_aligned(output, n - TILE - start);
    if (whole) {
        staging.elements.load(input, n - TILE - start);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = k * THREADS + thread;
            if (j < count) staging.elements.set(j, read(input, n - 1 - start - j));
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
            if (EXCLUSIVE) results[k] = project(outside(before, own));
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
                if (EXCLUSIVE) staging.results.set(j, project(outside(before, own)));
                before = combine(before, own);
                if (!EXCLUSIVE) staging.results.set(j, project(before));
            }
        }
    }
    __syncthreads();
    if (whole) {
        staging.results.store(output, n - TILE - start);
    } else {
#pragma unroll
        for (int k = 0; k < ITEMS; ++k) {
            int j = k * THREADS + thread;
            if (j < count) write(output, n - 1 - start - j, staging.results.get(j));
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS)
scan_device(const int* d_, const bool* tail, int* value_, unsigned* control, Value* tile_totals, Value* prefixes, long long n) {
    scan_tiles<false>(Input{d_, tail}, Output{value_}, n, control, tile_totals, prefixes);
}
extern "C" __global__ void __launch_bounds__(THREADS)
scan_device_exclusive(const int* d_, const bool* tail, int* value_, unsigned* control, Value* tile_totals, Value* prefixes, long long n) {
    scan_tiles<true>(Input{d_, tail}, Output{value_}, n, control, tile_totals, prefixes);
}

// ---- a block's scan by a network of all its elements in shared memory, cells at remapped addresses ----

constexpr int COLUMNS = 64;
constexpr int SLOTS = 65;

__device__ __forceinline__ int place(int e) { return e + e / 32; }

struct Cells {
    int value_[SLOTS];
    int aux1[SLOTS];
    int tail[SLOTS];
};

__device__ __forceinline__ Value get(Cells& cells, int e) {
    int p = place(e);
    Value r;
    r.value_ = cells.value_[p];
    r.aux1 = cells.aux1[p];
    r.tail = cells.tail[p];
    return r;
}

__device__ __forceinline__ void put(Cells& cells, int e, Value v) {
    int p = place(e);
    cells.value_[p] = v.value_;
    cells.aux1[p] = v.aux1;
    cells.tail[p] = v.tail;
}

// Network: brent-kung; blocks of COLUMNS threads. Lane k of a step does its k-th operation.
template <bool EXCLUSIVE>
__device__ __forceinline__ void scan_cells(Input input, Output output, long long n) {
    __shared__ Cells cells;
    int k = threadIdx.x;
    long long i = (long long)blockIdx.x * COLUMNS + k;
    i = mirrored(i, k, COLUMNS, n);
    Value v = identity();
    if (i < n) v = lift(read(input, i));
    Value own = v;
    put(cells, k, v);
    __syncthreads();
    if (k < 32) put(cells, 2 * k + 1, combine(get(cells, 2 * k), get(cells, 2 * k + 1)));
    __syncthreads();
    if (k < 16) put(cells, 4 * k + 3, combine(get(cells, 4 * k + 1), get(cells, 4 * k + 3)));
    __syncthreads();
    if (k < 8) put(cells, 8 * k + 7, combine(get(cells, 8 * k + 3), get(cells, 8 * k + 7)));
    __syncthreads();
    if (k < 4) put(cells, 16 * k + 15, combine(get(cells, 16 * k + 7), get(cells, 16 * k + 15)));
    __syncthreads();
    if (k < 2) put(cells, 32 * k + 31, combine(get(cells, 32 * k + 15), get(cells, 32 * k + 31)));
    __syncthreads();
    if (k < 1) put(cells, 63, combine(get(cells, 31), get(cells, 63)));
    __syncthreads();
    if (k < 1) put(cells, 47, combine(get(cells, 31), get(cells, 47)));
    __syncthreads();
    if (k < 3) put(cells, 16 * k + 23, combine(get(cells, 16 * k + 15), get(cells, 16 * k + 23)));
    __syncthreads();
    if (k < 7) put(cells, 8 * k + 11, combine(get(cells, 8 * k + 7), get(cells, 8 * k + 11)));
    __syncthreads();
    if (k < 15) put(cells, 4 * k + 5, combine(get(cells, 4 * k + 3), get(cells, 4 * k + 5)));
    __syncthreads();
    if (k < 31) put(cells, 2 * k + 2, combine(get(cells, 2 * k + 1), get(cells, 2 * k + 2)));
    __syncthreads();
    if (EXCLUSIVE) {
        v = identity();
        if (k > 0) v = get(cells, k - 1);
        v = outside(v, own);
    } else {
        v = get(cells, k);
    }
    if (i < n) write(output, i, project(v));
}

extern "C" __global__ void __launch_bounds__(COLUMNS) scan_block_shared(const int* d_, const bool* tail, int* value_, long long n) {
    scan_cells<false>(Input{d_, tail}, Output{value_}, n);
}
extern "C" __global__ void __launch_bounds__(COLUMNS) scan_block_shared_exclusive(const int* d_, const bool* tail, int* value_, long long n) {
    scan_cells<true>(Input{d_, tail}, Output{value_}, n);
}
