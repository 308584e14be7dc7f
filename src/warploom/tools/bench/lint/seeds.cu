// Kernels without a mistake, into which `bench lint` plants mistakes by rule. The comment above each is its launch: grid, block,
// arguments. Arrays have no element too many.
#define ALL 0xffffffffu
#define KERNEL extern "C" __global__ void

// 5 64 zeros:f32:300 random:f32:300 i32:300
KERNEL scale(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * in[i];
}

// 2 64 zeros:f32:500 random:f32:500 f32:3 i32:500
// 2 64 zeros:f32:100 random:f32:100 f32:3 i32:100
KERNEL axpy(float* y, const float* x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    y[i] += a * x[i];
  }
}

// 3 32 zeros:f32:90 random:f32:90 i32:90
KERNEL blur(float* out, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i == 0 || i + 1 == n) {
    out[i] = in[i];
  } else {
    out[i] = (in[i - 1] + in[i] + in[i + 1]) / 3;
  }
}

// 4 64 zeros:f32:192 random:f32:192 i32:192
KERNEL tiled_blur(float* out, const float* in, int n) {
  __shared__ float tile[66];
  int i = blockIdx.x * 64 + threadIdx.x;
  tile[threadIdx.x + 1] = i < n ? in[i] : 0;
  if (threadIdx.x == 0) tile[0] = i > 0 ? in[i - 1] : 0;
  if (threadIdx.x == 63) tile[65] = i + 1 < n ? in[i + 1] : 0;
  __syncthreads();
  if (i < n) out[i] = tile[threadIdx.x] + tile[threadIdx.x + 1] + tile[threadIdx.x + 2];
}

// 2,3 32,8 zeros:f32:70x50 random:f32:50x70 i32:70 i32:50
KERNEL transpose(float* out, const float* in, int w, int h) {
  __shared__ float tile[32][33];
  for (int x = blockIdx.y * 32 + threadIdx.x, k = threadIdx.y; k < 32; k += 8) {
    int y = blockIdx.x * 32 + k;
    if (x < w && y < h) tile[k][threadIdx.x] = in[y * w + x];
  }
  __syncthreads();
  for (int y = blockIdx.x * 32 + threadIdx.x, k = threadIdx.y; k < 32; k += 8) {
    int x = blockIdx.y * 32 + k;
    if (x < w && y < h) out[x * h + y] = tile[threadIdx.x][k];
  }
}

// 1 256 zeros:f32:1024 random:f32:1024
KERNEL swizzled_transpose(float* out, const float* in) {
  __shared__ float tile[1024];
  int lane = threadIdx.x % 32;
  for (int row = threadIdx.x / 32; row < 32; row += 8) {
    tile[row * 32 + (lane ^ row)] = in[row * 32 + lane];
  }
  __syncthreads();
  for (int row = threadIdx.x / 32; row < 32; row += 8) {
    out[row * 32 + lane] = tile[lane * 32 + (lane ^ row)];
  }
}

// 2,2 16,16 zeros:f32:30x25 random:f32:30x20 random:f32:20x25 i32:30 i32:25 i32:20
KERNEL matmul(float* c, const float* a, const float* b, int m, int n, int k) {
  __shared__ float as[16][16], bs[16][16];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int t = 0; t < k; t += 16) {
    as[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0;
    bs[threadIdx.y][threadIdx.x] = column < n && t + threadIdx.y < k ? b[(t + threadIdx.y) * n + column] : 0;
    __syncthreads();
    for (int j = 0; j < 16; ++j) sum += as[threadIdx.y][j] * bs[j][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// 3 128 zeros:f32:3 random:f32:380 i32:380
KERNEL block_sum(float* out, const float* in, int n) {
  __shared__ float part[128];
  int i = blockIdx.x * 128 + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int k = 64; k > 0; k /= 2) {
    if (threadIdx.x < k) part[threadIdx.x] += part[threadIdx.x + k];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

// 2 128 zeros:f32:2 random:f32:256
KERNEL warp_sum(float* out, const float* in) {
  __shared__ float part[4];
  float sum = in[blockIdx.x * 128 + threadIdx.x];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(ALL, sum, k);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 4) {
    sum = part[threadIdx.x];
    for (int k = 2; k > 0; k /= 2) sum += __shfl_xor_sync(0xfu, sum, k);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}

// 1 64 zeros:f32:64 random:f32:64
KERNEL scan(float* out, const float* in) {
  __shared__ float a[64];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int k = 1; k < 64; k *= 2) {
    float before = threadIdx.x >= k ? a[threadIdx.x - k] : 0;
    __syncthreads();
    a[threadIdx.x] += before;
    __syncthreads();
  }
  out[threadIdx.x] = a[threadIdx.x];
}

// 1 64 zeros:f32:64 random:f32:64
KERNEL warp_scan(float* out, const float* in) {
  __shared__ float a[64];
  int lane = threadIdx.x % 32, first = threadIdx.x - lane;
  a[threadIdx.x] = in[threadIdx.x];
  __syncwarp();
  for (int k = 1; k < 32; k *= 2) {
    float before = lane >= k ? a[first + lane - k] : 0;
    __syncwarp();
    a[threadIdx.x] += before;
    __syncwarp();
  }
  out[threadIdx.x] = a[threadIdx.x];
}

// 4 64 zeros:i32:16 random:u8:1000 i32:1000
// 4 64 zeros:i32:16 random:u8:100 i32:100
KERNEL histogram(int* bins, const unsigned char* in, int n) {
  __shared__ int own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) {
    atomicAdd(&own[in[i] & 15], 1);
  }
  __syncthreads();
  if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

// 4 64 zeros:i32:1 zeros:i32:300 arange:f32:250 i32:250
KERNEL compact(int* count, int* places, const float* in, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) places[atomicAdd(count, 1)] = i;
}

// 2,2 16,16 zeros:f32:20x30 random:f32:20x30 i32:30 i32:20
KERNEL stencil(float* out, const float* in, int w, int h) {
  __shared__ float tile[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  for (int r = threadIdx.y; r < 18; r += 16) {
    for (int c = threadIdx.x; c < 18; c += 16) {
      int u = blockIdx.x * 16 + c - 1, v = blockIdx.y * 16 + r - 1;
      tile[r][c] = u >= 0 && u < w && v >= 0 && v < h ? in[v * w + u] : 0;
    }
  }
  __syncthreads();
  if (x < w && y < h) {
    out[y * w + x] = tile[threadIdx.y][threadIdx.x + 1] + tile[threadIdx.y + 2][threadIdx.x + 1] +
                     tile[threadIdx.y + 1][threadIdx.x] + tile[threadIdx.y + 1][threadIdx.x + 2];
  }
}

// 2 64 zeros:f32:256 random:f32:256
KERNEL staged(float* out, const float* in) {
  __shared__ float4 tile[64];
  const float4* from = (const float4*)in + blockIdx.x * 32;
  if (threadIdx.x < 32) {
    unsigned to = __cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(from + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  }
  __syncthreads();
  const float* words = (const float*)tile;
  out[blockIdx.x * 128 + threadIdx.x] = words[127 - threadIdx.x];
  out[blockIdx.x * 128 + threadIdx.x + 64] = words[63 - threadIdx.x];
}

// 1 32 zeros:f32:32 random:f32:256
KERNEL pipelined(float* out, const float* in) {
  __shared__ float stages[2][32];
  float sum = 0;
  unsigned first = __cvta_generic_to_shared(&stages[0][threadIdx.x]);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(first), "l"(in + threadIdx.x) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
  for (int k = 0; k < 8; ++k) {
    if (k + 1 < 8) {
      unsigned to = __cvta_generic_to_shared(&stages[(k + 1) % 2][threadIdx.x]);
      asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(in + (k + 1) * 32 + threadIdx.x) : "memory");
      asm volatile("cp.async.commit_group;" ::: "memory");
      asm volatile("cp.async.wait_group 1;" ::: "memory");
    } else {
      asm volatile("cp.async.wait_group 0;" ::: "memory");
    }
    __syncthreads();
    sum += stages[k % 2][31 - threadIdx.x];
    __syncthreads();
  }
  out[threadIdx.x] = sum;
}

// 1 96 zeros:f32:64 random:f32:64
KERNEL producer(float* out, const float* in) {
  __shared__ float tile[32];
  for (int k = 0; k < 2; ++k) {
    if (threadIdx.x < 32) {
      if (k > 0) asm volatile("bar.sync 2, 96;" ::: "memory");
      tile[threadIdx.x] = in[k * 32 + threadIdx.x];
      asm volatile("bar.arrive 1, 96;" ::: "memory");
    } else {
      asm volatile("bar.sync 1, 96;" ::: "memory");
      if (threadIdx.x < 64) out[k * 32 + threadIdx.x - 32] = tile[63 - threadIdx.x];
      if (k == 0) asm volatile("bar.arrive 2, 96;" ::: "memory");
    }
  }
}

// 1 128 zeros:f32:64 random:f32:128
KERNEL halves(float* out, const float* in) {
  __shared__ float part[128];
  int half = threadIdx.x / 64, t = threadIdx.x % 64;
  part[threadIdx.x] = in[threadIdx.x];
  if (half == 0) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    float other = part[63 - t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    part[t] += other;
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  __syncthreads();
  if (half == 0) out[t] = part[63 - t] + part[t + 64];
}

// 2 64 zeros:f32:512 random:f32:512
KERNEL vectors(float* out, const float* in) {
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 v = *(const float4*)(in + 4 * i);
  v.x += 1;
  *(float4*)(out + 4 * i) = v;
}

// 3 64 zeros:f32:150 random:f32:150x6 zeros:i32:1 i32:150
KERNEL columns(float* out, const float* in, int* seen, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows) {
    float sum = 0;
    for (int c = 0; c < 6; ++c) sum += in[i * 6 + c];
    out[i] = sum;
    if (sum > 3) atomicAdd(seen, 1);
  }
}

// 4 32 zeros:f32:1 zeros:f32:4 zeros:i32:1 random:f32:128
KERNEL last_block(float* out, float* parts, int* done, const float* in) {
  __shared__ int is_last;
  float sum = in[blockIdx.x * 32 + threadIdx.x];
  for (int k = 16; k > 0; k /= 2) sum += __shfl_down_sync(ALL, sum, k);
  if (threadIdx.x == 0) {
    atomicExch(&parts[blockIdx.x], sum);
    __threadfence();
    is_last = atomicAdd(done, 1) == 3;
  }
  __syncthreads();
  if (is_last && threadIdx.x == 0) {
    __threadfence();
    float all = 0;
    for (int b = 0; b < 4; ++b) all += atomicAdd(&parts[b], 0.0f);
    *out = all;
  }
}

// 1 64 zeros:f32:32 random:f32:32x16 random:f32:16
KERNEL rows_times_vector(float* out, const float* matrix, const float* vector) {
  __shared__ float own[16];
  __shared__ float part[2][32];
  if (threadIdx.x < 16) own[threadIdx.x] = vector[threadIdx.x];
  __syncthreads();
  int half = threadIdx.x / 32, row = threadIdx.x % 32;
  float sum = 0;
  for (int c = 0; c < 8; ++c) sum += matrix[row * 16 + half * 8 + c] * own[half * 8 + c];
  part[half][row] = sum;
  __syncthreads();
  if (half == 0) out[row] = part[0][row] + part[1][row];
}

// 1 32 zeros:i32:32 random:i32:32
KERNEL odd_even_sort(int* out, const int* in) {
  __shared__ int a[32];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int k = 0; k < 32; ++k) {
    int i = 2 * threadIdx.x + k % 2;
    if (i + 1 < 32) {
      int low = min(a[i], a[i + 1]), high = max(a[i], a[i + 1]);
      a[i] = low;
      a[i + 1] = high;
    }
    __syncthreads();
  }
  out[threadIdx.x] = a[threadIdx.x];
}

// 2 32 zeros:i32:64 arange:i32:64
KERNEL ranks(int* out, const int* in) {
  int i = blockIdx.x * 32 + threadIdx.x;
  unsigned mine = __ballot_sync(ALL, in[i] > 0);
  int before = __popc(mine & ((1u << threadIdx.x) - 1));
  int first = __shfl_sync(ALL, before, 0), last = __shfl_sync(ALL, before, 31);
  out[i] = before + first + last;
}

// 1 64 zeros:f32:64 random:f32:60 i32:100000000 i32:60
KERNEL far_rows(float* out, const float* in, int stride, int n) {
  int i = threadIdx.x;
  out[i] = in[(long long)i * stride % n];
}

// 2 64 zeros:f32:128 random:f32:1000 i32:200000000
KERNEL scaled_place(float* out, const float* in, int wide) {
  int i = blockIdx.x * 64 + threadIdx.x;
  int at = (long long)i * wide / (wide / 7);
  out[i] = in[at];
}

// 1 32 zeros:f32:32 random:f32:39 i32:8
KERNEL own_array(float* out, const float* in, int n) {
  float own[8];
  for (int k = 0; k < 8; ++k) own[k] = in[threadIdx.x + k];
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += own[(k * 3) & 7];
  out[threadIdx.x] = sum;
}
