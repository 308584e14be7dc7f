// One kernel for each rule that docs/lint.md shows in CUDA, named as the rule. The comment above it is its launch: grid, block, arguments.

// 1 64 zeros:f32:64 random:f32:64
__global__ void data_race(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[63 - threadIdx.x];  // __syncthreads() is missing between
}

// 2 64 zeros:f32:100 random:f32:100
__global__ void out_of_bounds(float* out, const float* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2 * in[i];  // if (i < n)
}

// 1 32 zeros:f32:32 random:f32:132
__global__ void misaligned(float* out, const float* in) {
  int i = threadIdx.x;
  float4 v = *reinterpret_cast<const float4*>(in + 4 * i + 1);
  out[i] = v.x + v.w;
}

// 1 64 zeros:f32:64 random:f32:64
__global__ void uninitialised_shared(float* out, const float* in) {
  __shared__ float tile[66];
  tile[threadIdx.x + 1] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x] + tile[threadIdx.x + 2];  // tile[0] and tile[65] are not set
}

// 1 64 zeros:f32:64 random:f32:256
__global__ void early_copy_read(float* out, const float* in) {
  __shared__ float tile[256];
  unsigned place = static_cast<unsigned>(__cvta_generic_to_shared(tile + 4 * threadIdx.x));
  const float* from = in + 4 * threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(place), "l"(from));
  out[threadIdx.x] = tile[4 * threadIdx.x];  // cp.async.wait_group 0 is missing
}

// 1 32 zeros:f32:32 random:f32:32 i32:20
__global__ void inactive_lane(float* out, const float* in, int n) {
  int i = threadIdx.x;
  float sum = in[i];
  if (i < n) sum += __shfl_down_sync(__activemask(), sum, 1);  // the last lane of i < n asks one that has left
  out[i] = sum;
}

// 1 128 zeros:f32:128
__global__ void deadlock(float* out) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 96;");  // 32 threads come, 96 are waited for
  out[threadIdx.x] = 1;
}

// 1 32 zeros:f32:32 random:f32:8 i32:5
__global__ void uninitialised_local(float* out, const float* in, int n) {
  float own[8];
  for (int k = 0; k < n; ++k) own[k & 7] = in[k];
  out[threadIdx.x] = own[threadIdx.x & 7];  // n may be less than 8
}

// 1 32,32 zeros:f32:1024 f32:1.5
__global__ void uncoalesced(float* out, float x) {
  out[32 * threadIdx.x + threadIdx.y] = x;  // lane i writes to row i: 32 sectors for 128 bytes
}

// 1 32 zeros:f32:32 random:f32:100 i32:100
__global__ void local_memory(float* out, const float* in, int n) {
  float own[8] = {};
  for (int k = 0; k < n; ++k) own[k & 7] += in[k];  // n is known at run time alone
  out[threadIdx.x] = own[threadIdx.x & 7];
}

// 1 64 zeros:f32:64 random:f32:65 --repeated-loads
__global__ void repeated_load(float* out, const float* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] + in[i + 1];  // in[i + 1] is in[i] of the next lane
}

// 1 64 zeros:f32:64 random:f32:64
__global__ void idle_barrier(float* out, const float* in) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  __syncthreads();  // nothing lies between
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

// Every launch: with 50,000 rows of 50,000 the index wraps.
__global__ void long_rows(float* out, int width, float x) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column < width) {
    out[row * width + column] = x;  // 50,000 rows of 50,000
    out[(long long)row * width + column] = x;
  }
}
