// Kernels around the block and warp primitives of CUB, whose headers come with nvidia-cuda-cccl. None has a mistake. The comment
// above each is its launch.
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
struct Differs {
  __device__ bool operator()(int a, int b) const { return a != b; }
};
struct Difference {
  __device__ int operator()(int a, int b) const { return a - b; }
};
#define KERNEL extern "C" __global__ void

// 2 128 zeros:i32:2 random:i32:256
KERNEL reduce_warps(int* out, const int* in) {
  using Reduce = cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_WARP_REDUCTIONS>;
  __shared__ typename Reduce::TempStorage storage;
  int sum = Reduce(storage).Sum(in[blockIdx.x * 128 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// 2 128 zeros:i32:2 random:i32:256
KERNEL reduce_raking(int* out, const int* in) {
  using Reduce = cub::BlockReduce<int, 128, cub::BLOCK_REDUCE_RAKING>;
  __shared__ typename Reduce::TempStorage storage;
  int sum = Reduce(storage).Sum(in[blockIdx.x * 128 + threadIdx.x], 100);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

// 2 128 zeros:i32:256 random:i32:256
KERNEL scan_warps(int* out, const int* in) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage storage;
  int sum;
  Scan(storage).InclusiveSum(in[blockIdx.x * 128 + threadIdx.x], sum);
  out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// 2 128 zeros:i32:256 random:i32:256
KERNEL scan_raking(int* out, const int* in) {
  using Scan = cub::BlockScan<int, 128, cub::BLOCK_SCAN_RAKING>;
  __shared__ typename Scan::TempStorage storage;
  int sum;
  Scan(storage).ExclusiveSum(in[blockIdx.x * 128 + threadIdx.x], sum);
  out[blockIdx.x * 128 + threadIdx.x] = sum;
}

// 1 64 zeros:i32:256 random:i32:256
KERNEL radix_sort(int* out, const int* in) {
  using Sort = cub::BlockRadixSort<int, 64, 4>;
  __shared__ typename Sort::TempStorage storage;
  int keys[4];
  for (int k = 0; k < 4; ++k) keys[k] = in[threadIdx.x * 4 + k];
  Sort(storage).Sort(keys, 0, 8);
  for (int k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = keys[k];
}

// 1 64 zeros:i32:128 random:i32:128
KERNEL merge_sort(int* out, const int* in) {
  using Sort = cub::BlockMergeSort<int, 64, 2>;
  __shared__ typename Sort::TempStorage storage;
  int keys[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]};
  Sort(storage).Sort(keys, Less());
  out[threadIdx.x * 2] = keys[0];
  out[threadIdx.x * 2 + 1] = keys[1];
}

// 1 64 zeros:i32:256 random:i32:256
KERNEL load_exchange_store(int* out, const int* in) {
  using Load = cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Exchange = cub::BlockExchange<int, 64, 4>;
  using Store = cub::BlockStore<int, 64, 4, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Exchange::TempStorage exchange;
    typename Store::TempStorage store;
  } storage;
  int items[4];
  Load(storage.load).Load(in, items);
  __syncthreads();
  Exchange(storage.exchange).BlockedToStriped(items, items);
  __syncthreads();
  Store(storage.store).Store(out, items);
}

// 1 64 zeros:i32:16 random:u8:256
KERNEL histogram_atomic(int* out, const unsigned char* in) {
  using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 16, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ int bins[16];
  unsigned char items[4];
  for (int k = 0; k < 4; ++k) items[k] = in[threadIdx.x * 4 + k] % 16;
  Histogram(storage).Histogram(items, bins);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

// 1 64 zeros:i32:16 random:u8:256
KERNEL histogram_sort(int* out, const unsigned char* in) {
  using Histogram = cub::BlockHistogram<unsigned char, 64, 4, 16, cub::BLOCK_HISTO_SORT>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ int bins[16];
  unsigned char items[4];
  for (int k = 0; k < 4; ++k) items[k] = in[threadIdx.x * 4 + k] % 16;
  Histogram(storage).Histogram(items, bins);
  __syncthreads();
  if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}

// 1 64 zeros:i32:256 random:i32:256
KERNEL heads(int* out, const int* in) {
  using Discontinuity = cub::BlockDiscontinuity<int, 64>;
  __shared__ typename Discontinuity::TempStorage storage;
  int items[4], flags[4];
  for (int k = 0; k < 4; ++k) items[k] = in[threadIdx.x * 4 + k] % 3;
  Discontinuity(storage).FlagHeads(flags, items, Differs());
  for (int k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = flags[k];
}

// 1 64 zeros:i32:64 random:i32:64
KERNEL shuffled_up(int* out, const int* in) {
  using Shuffle = cub::BlockShuffle<int, 64>;
  __shared__ typename Shuffle::TempStorage storage;
  int before = 0;
  Shuffle(storage).Offset(in[threadIdx.x], before, -1);
  out[threadIdx.x] = before;
}

// 1 64 zeros:i32:64 random:i32:64
KERNEL warp_sums(int* out, const int* in) {
  using Reduce = cub::WarpReduce<int>;
  __shared__ typename Reduce::TempStorage storage[2];
  int sum = Reduce(storage[threadIdx.x / 32]).Sum(in[threadIdx.x]);
  out[threadIdx.x] = threadIdx.x % 32 ? 0 : sum;
}

// 1 64 zeros:i32:64 random:i32:64
KERNEL half_warp_sums(int* out, const int* in) {
  using Scan = cub::WarpScan<int, 16>;
  __shared__ typename Scan::TempStorage storage[4];
  int sum;
  Scan(storage[threadIdx.x / 16]).InclusiveSum(in[threadIdx.x], sum);
  out[threadIdx.x] = sum;
}

// 1 64 zeros:i32:24 random:i32:24
KERNEL sums_of_twelve(int* out, const int* in) {
  using Scan = cub::WarpScan<int, 12>;
  __shared__ typename Scan::TempStorage storage[2];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane < 12) {
    int i = warp * 12 + lane, sum;
    Scan(storage[warp]).InclusiveSum(in[i], sum);
    out[i] = sum;
  }
}

// 1 64 zeros:i32:256 random:i32:256
KERNEL warp_exchange(int* out, const int* in) {
  using Exchange = cub::WarpExchange<int, 4>;
  __shared__ typename Exchange::TempStorage storage[2];
  int items[4], first = threadIdx.x / 32 * 128 + threadIdx.x % 32;
  for (int k = 0; k < 4; ++k) items[k] = in[first + 32 * k];
  Exchange(storage[threadIdx.x / 32]).StripedToBlocked(items, items);
  for (int k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = items[k];
}

// 1 64 zeros:i32:256 random:i32:256
KERNEL differences(int* out, const int* in) {
  using Adjacent = cub::BlockAdjacentDifference<int, 64>;
  __shared__ typename Adjacent::TempStorage storage;
  int items[4];
  for (int k = 0; k < 4; ++k) items[k] = in[threadIdx.x * 4 + k];
  Adjacent(storage).SubtractLeft(items, items, Difference());
  for (int k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = items[k];
}
