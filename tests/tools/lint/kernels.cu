// Pairs of kernels: NAME has a mistake on the lines with a comment `WL...`, NAME_clean has none.
// The comment above a pair is the launch: grid, block, arguments.
#include <cstdint>
#define LANES 0xffffffffu

// 1 64 zeros:f32:64 random:f32:64
__global__ void missing_barrier(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[63 - threadIdx.x];  // WL001
}
__global__ void missing_barrier_clean(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

// 1 64 zeros:f32:64 random:f32:64
__global__ void missing_second_barrier(float* out, const float* in) {
  __shared__ float tile[64];
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[threadIdx.x] = in[threadIdx.x] * round;  // WL001
    __syncthreads();
    sum += tile[63 - threadIdx.x];
  }
  out[threadIdx.x] = sum;
}
__global__ void missing_second_barrier_clean(float* out, const float* in) {
  __shared__ float tile[64];
  float sum = 0;
  for (int round = 0; round < 3; ++round) {
    tile[threadIdx.x] = in[threadIdx.x] * round;
    __syncthreads();
    sum += tile[63 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// 2 64 zeros:f32:1 random:f32:128
__global__ void plain_sum(float* out, const float* in) {
  out[0] += in[blockIdx.x * 64 + threadIdx.x];  // WL001
}
__global__ void plain_sum_clean(float* out, const float* in) {
  atomicAdd(out, in[blockIdx.x * 64 + threadIdx.x]);
}

// 1 64 zeros:f32:64 random:f32:64
__global__ void warp_phase(float* out, const float* in) {
  __shared__ float part[2];
  float sum = in[threadIdx.x];
  for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(LANES, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncwarp();
  out[threadIdx.x] = part[0] + part[1];  // WL001
}
__global__ void warp_phase_clean(float* out, const float* in) {
  __shared__ float part[2];
  float sum = in[threadIdx.x];
  for (int step = 16; step; step >>= 1) sum += __shfl_xor_sync(LANES, sum, step);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  out[threadIdx.x] = part[0] + part[1];
}

// 2 64 zeros:f32:100 random:f32:100 i32:100
__global__ void missing_guard(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2 * in[i];  // WL002
}
__global__ void missing_guard_clean(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}

// 1 128 zeros:f32:98 random:f32:98 i32:98
__global__ void off_by_one(float* out, const float* in, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = in[i + 1];  // WL002
}
__global__ void off_by_one_clean(float* out, const float* in, int n) {
  int i = threadIdx.x;
  if (i + 1 < n) out[i] = in[i + 1];
}

// 1 32 zeros:f32:32 random:f32:32
__global__ void negative_index(float* out, const float* in) {
  int i = threadIdx.x;
  out[i] = in[i] - in[i - 1];  // WL002
}
__global__ void negative_index_clean(float* out, const float* in) {
  int i = threadIdx.x;
  out[i] = i ? in[i] - in[i - 1] : in[i];
}

// 1 31 zeros:f32:128 random:f32:128
__global__ void misaligned(float* out, const float* in) {
  const float4 four = *reinterpret_cast<const float4*>(in + 4 * threadIdx.x + 1);
  *reinterpret_cast<float4*>(out + 4 * threadIdx.x) = four;  // WL003: where the compiler puts the load
}
__global__ void misaligned_clean(float* out, const float* in) {
  const float4 four = *reinterpret_cast<const float4*>(in + 4 * threadIdx.x);
  *reinterpret_cast<float4*>(out + 4 * threadIdx.x) = four;
}

// 1 64 zeros:f32:64 random:f32:64
__global__ void missing_edge(float* out, const float* in) {
  __shared__ float tile[66];
  tile[threadIdx.x + 1] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 2];  // WL005
}
__global__ void missing_edge_clean(float* out, const float* in) {
  __shared__ float tile[66];
  tile[threadIdx.x + 1] = in[threadIdx.x];
  if (threadIdx.x == 0) tile[0] = tile[65] = 0;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 2];
}

// 1 32 zeros:f32:32 random:f32:32 i32:20
__global__ void lanes_that_left(float* out, const float* in, int n) {
  if (threadIdx.x < n) {
    float mine = in[threadIdx.x];
    out[threadIdx.x] = mine + __shfl_down_sync(__activemask(), mine, 1);  // WL009
  }
}
__global__ void lanes_that_left_clean(float* out, const float* in, int n) {
  float mine = threadIdx.x < n ? in[threadIdx.x] : 0;
  float next = __shfl_down_sync(LANES, mine, 1);
  if (threadIdx.x < n) out[threadIdx.x] = mine + next;
}

// 1 64 zeros:f32:64 random:f32:64
__global__ void barrier_in_branch(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  float sum = 0;
  if (threadIdx.x % 2) {
    for (int i = 0; i < 3; ++i) {
      __syncthreads();
      sum += tile[i];
    }
  } else {
    __syncthreads();  // WL010
    sum = tile[3];
    __syncthreads();  // WL010
    __syncthreads();  // WL010
  }
  out[threadIdx.x] = sum;
}
__global__ void barrier_in_branch_clean(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = threadIdx.x % 2 ? tile[0] + tile[1] + tile[2] : tile[3];
}

// 1 64 zeros:f32:64
__global__ void barrier_count(float* out) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 96;");  // WL011
  out[threadIdx.x] = 1;
}
__global__ void barrier_count_clean(float* out) {
  if (threadIdx.x < 32)
    asm volatile("bar.sync 1, 32;");
  out[threadIdx.x] = 1;
}

// 1 32 zeros:f32:32 random:f32:32 i32:31
__global__ void trapped(float* out, const float* in, int most) {
  if (threadIdx.x > most - 1)
    __trap();  // WL012
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void trapped_clean(float* out, const float* in, int most) {
  if (threadIdx.x > most)
    __trap();
  out[threadIdx.x] = in[threadIdx.x];
}

// 1 32 zeros:f32:128 random:f32:128
__global__ void missing_wait(float* out, const float* in) {
  __shared__ alignas(16) float tile[128];
  uint32_t place = static_cast<uint32_t>(__cvta_generic_to_shared(tile + 4 * threadIdx.x));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(in + 4 * threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  out[threadIdx.x] = tile[4 * threadIdx.x];  // WL007 WL102
}
__global__ void missing_wait_clean(float* out, const float* in) {
  __shared__ alignas(16) float tile[128];
  uint32_t place = static_cast<uint32_t>(__cvta_generic_to_shared(tile + 4 * threadIdx.x));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place), "l"(in + 4 * threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  for (int i = 0; i < 4; ++i) out[32 * i + threadIdx.x] = tile[32 * i + threadIdx.x];
}

// 1 32,32 zeros:f32:1024 random:f32:1024
__global__ void strided(float* out, const float* in) {
  out[32 * threadIdx.x + threadIdx.y] =  // WL101
      in[32 * threadIdx.y + threadIdx.x];
}
__global__ void strided_clean(float* out, const float* in) {
  out[32 * threadIdx.y + threadIdx.x] =
      in[32 * threadIdx.y + threadIdx.x];
}

// 1 32,32 zeros:f32:1024 random:f32:1024
__global__ void unpadded(float* out, const float* in) {
  __shared__ float tile[32][32];
  tile[threadIdx.y][threadIdx.x] = in[32 * threadIdx.y + threadIdx.x];
  __syncthreads();
  out[32 * threadIdx.y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  // WL102
}
__global__ void unpadded_clean(float* out, const float* in) {
  __shared__ float tile[32][33];
  tile[threadIdx.y][threadIdx.x] = in[32 * threadIdx.y + threadIdx.x];
  __syncthreads();
  out[32 * threadIdx.y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

// 1 32,32 zeros:f32:1024 random:f32:1024
__global__ void wrong_swizzle(float* out, const float* in) {
  __shared__ float tile[1024];
  int r = threadIdx.y, c = threadIdx.x;
  tile[32 * r + (c ^ (r & 7))] = in[32 * r + c];
  __syncthreads();
  out[32 * r + c] = tile[32 * c + (r ^ (c & 7))];  // WL102
}
__global__ void wrong_swizzle_clean(float* out, const float* in) {
  __shared__ float tile[1024];
  int r = threadIdx.y, c = threadIdx.x;
  tile[32 * r + (c ^ r)] = in[32 * r + c];
  __syncthreads();
  out[32 * r + c] = tile[32 * c + (r ^ c)];
}

// 2 64 zeros:i32:1 zeros:i32:128
__global__ void block_scope(int* flag, int* out) {
  if (threadIdx.x == 0) {
    asm volatile("red.relaxed.cta.global.add.s32 [%0], 1;" ::"l"(flag) : "memory");  // WL001
  }
  out[blockIdx.x * 64 + threadIdx.x] = 1;
}
__global__ void block_scope_clean(int* flag, int* out) {
  if (threadIdx.x == 0) {
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], 1;" ::"l"(flag) : "memory");
  }
  out[blockIdx.x * 64 + threadIdx.x] = 1;
}

// 1 64 zeros:f32:64 random:f32:65
__device__ __forceinline__ float next(const float* in, int i) {
  return in[i + 1];
}
__device__ __forceinline__ float slope(const float* in, int i) {
  return next(in, i) - in[i];
}
__global__ void inlined(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = slope(in, threadIdx.x);
  out[threadIdx.x] = slope(tile, threadIdx.x & 31);  // WL001 calls
}
__global__ void inlined_clean(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = slope(in, threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = slope(tile, threadIdx.x & 31);
}

// 2,1 16,16 zeros:f32:20x12 random:f32:20x12 i32:20 i32:12
__global__ void swapped_sizes(float* out, const float* in, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
  if (x < width && y < height)
    out[y * width + x] = in[x * width + y];  // WL002
}
__global__ void swapped_sizes_clean(float* out, const float* in, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = threadIdx.y;
  if (x < width && y < height)
    out[y * width + x] = in[y * width + x];
}

int main() { return 0; }
