// Kernels as users write them, of kinds that seeds.cu does not have, without a mistake: for `bench lint`. The comment above each is
// its launch: grid, block, arguments.
#include <cuda_pipeline.h>
#define TILE 16
#define FULL 0xffffffffu
#define KERNEL extern "C" __global__ void

// 2,2 16,16 random:f32:25x20 random:f32:20x30 zeros:f32:25x30 i32:25 i32:30 i32:20
KERNEL sgemm_tiled(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float As[TILE][TILE]; __shared__ float Bs[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, col = blockIdx.x * TILE + threadIdx.x;
  float acc = 0.f;
  for (int t = 0; t < (K + TILE - 1) / TILE; ++t) {
    int ac = t * TILE + threadIdx.x, br = t * TILE + threadIdx.y;
    As[threadIdx.y][threadIdx.x] = (row < M && ac < K) ? A[row * K + ac] : 0.f;
    Bs[threadIdx.y][threadIdx.x] = (br < K && col < N) ? B[br * N + col] : 0.f;
    __syncthreads();
    for (int k = 0; k < TILE; ++k) acc += As[threadIdx.y][k] * Bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < M && col < N) C[row * N + col] = acc;
}

// 2,3 32,8 zeros:f32:70x50 random:f32:50x70 i32:70 i32:50
KERNEL transpose32x8(float* out, const float* in, int w, int h) {
  __shared__ float t[32][33];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < w && y + j < h) t[threadIdx.y + j][threadIdx.x] = in[(y + j) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8) if (x < h && y + j < w) out[(y + j) * h + x] = t[threadIdx.x][threadIdx.y + j];
}

// 2 256 zeros:u8:1000 zeros:u32:256 i32:1000
KERNEL histogram(const unsigned char* data, unsigned* bins, int n) {
  __shared__ unsigned s[256];
  s[threadIdx.x] = 0; __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) atomicAdd(&s[data[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], s[threadIdx.x]);
}

// 2 256 random:f32:1000 zeros:f32:2 i32:1000
KERNEL reduce_shfl(const float* in, float* out, int n) {
  __shared__ float part[8];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) v += in[i];
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(FULL, v, o);
  int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  if (lane == 0) part[warp] = v;
  __syncthreads();
  if (warp == 0) {
    v = lane < 8 ? part[lane] : 0;
    for (int o = 4; o; o >>= 1) v += __shfl_down_sync(FULL, v, o);
    if (lane == 0) out[blockIdx.x] = v;
  }
}

// 2 256 random:i32:500 zeros:i32:500 zeros:i32:1 i32:500
KERNEL compact(const int* in, int* out, int* counter, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) { int at = atomicAdd(counter, 1); out[at] = in[i]; }
}

// 2 256 random:i32:500 zeros:i32:500 zeros:i32:1 i32:500
KERNEL compact_warp(const int* in, int* out, int* counter, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
  bool keep = i < n && in[i] > 0;
  unsigned m = __ballot_sync(FULL, keep);
  int base = 0;
  if (lane == 0 && m) base = atomicAdd(counter, __popc(m));
  base = __shfl_sync(FULL, base, 0);
  if (keep) out[base + __popc(m & ((1u << lane) - 1))] = in[i];
}

// 2 256 zeros:f32:500 random:f32:500 i32:500
KERNEL stencil1d(float* out, const float* in, int n) {
  __shared__ float s[256 + 2 * 3];
  int g = blockIdx.x * 256 + threadIdx.x, l = threadIdx.x + 3;
  s[l] = g < n ? in[g] : 0.f;
  if (threadIdx.x < 3) { s[l - 3] = g >= 3 ? in[g - 3] : 0.f; s[l + 256] = g + 256 < n ? in[g + 256] : 0.f; }
  __syncthreads();
  float r = 0; for (int o = -3; o <= 3; ++o) r += s[l + o];
  if (g < n) out[g] = r;
}

// 3,2 16,16 zeros:f32:25x40 random:f32:25x40 i32:40 i32:25
KERNEL stencil2d_halo(float* out, const float* in, int w, int h) {
  __shared__ float s[18][18];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 18 * 18; i += 256) {
    int sy = i / 18, sx = i % 18, gx = (int)(blockIdx.x * 16 + sx) - 1, gy = (int)(blockIdx.y * 16 + sy) - 1;
    s[sy][sx] = gx >= 0 && gy >= 0 && gx < w && gy < h ? in[gy * w + gx] : 0.f;
  }
  __syncthreads();
  if (x < w && y < h) out[y * w + x] = s[threadIdx.y][threadIdx.x + 1] + s[threadIdx.y + 2][threadIdx.x + 1] + s[threadIdx.y + 1][threadIdx.x] + s[threadIdx.y + 1][threadIdx.x + 2];
}

// 2 512 random:i32:1024
KERNEL bitonic_shared(int* data) {
  __shared__ int s[512];
  int t = threadIdx.x;
  s[t] = data[blockIdx.x * 512 + t];
  __syncthreads();
  for (int k = 2; k <= 512; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      int p = t ^ j;
      if (p > t) { int a = s[t], b = s[p]; if ((a > b) == ((t & k) == 0)) { s[t] = b; s[p] = a; } }
      __syncthreads();
    }
  data[blockIdx.x * 512 + t] = s[t];
}

// 2 256 random:i32:512 i32:2 i32:8
KERNEL bitonic_step(int* data, int j, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, p = i ^ j;
  if (p > i) { int a = data[i], b = data[p]; if (((i & k) == 0) == (a > b)) { data[i] = b; data[p] = a; } }
}

// 1 256 arange:i32:101 zeros:i32:100 random:f32:100 random:f32:1 zeros:f32:100 i32:100
KERNEL spmv_csr(const int* rp, const int* ci, const float* v, const float* x, float* y, int rows) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) { float s = 0; for (int k = rp[r]; k < rp[r + 1]; ++k) s += v[k] * x[ci[k]]; y[r] = s; }
}

// 2 256 arange:i32:17 zeros:i32:16 random:f32:16 random:f32:1 zeros:f32:16 i32:16
KERNEL spmv_csr_warp(const int* rp, const int* ci, const float* v, const float* x, float* y, int rows) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r < rows) { float s = 0; for (int k = rp[r] + lane; k < rp[r + 1]; k += 32) s += v[k] * x[ci[k]];
    for (int o = 16; o; o >>= 1) s += __shfl_down_sync(FULL, s, o);
    if (lane == 0) y[r] = s; }
}

// 2 256 zeros:i32:500 random:i32:500 i32:500
KERNEL scan_hillis(int* out, const int* in, int n) {
  __shared__ int s[2][256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, a = 0;
  s[0][t] = i < n ? in[i] : 0; __syncthreads();
  for (int d = 1; d < 256; d <<= 1) { s[1 - a][t] = t >= d ? s[a][t] + s[a][t - d] : s[a][t]; a = 1 - a; __syncthreads(); }
  if (i < n) out[i] = s[a][t];
}

// 2 256 zeros:i32:1024 random:i32:1024
KERNEL scan_blelloch(int* out, const int* in) {
  __shared__ int s[512];
  int t = threadIdx.x, b = blockIdx.x * 512;
  s[2 * t] = in[b + 2 * t]; s[2 * t + 1] = in[b + 2 * t + 1];
  int off = 1;
  for (int d = 256; d > 0; d >>= 1) { __syncthreads(); if (t < d) s[off * (2 * t + 2) - 1] += s[off * (2 * t + 1) - 1]; off *= 2; }
  if (t == 0) s[511] = 0;
  for (int d = 1; d < 512; d *= 2) { off >>= 1; __syncthreads();
    if (t < d) { int ai = off * (2 * t + 1) - 1, bi = off * (2 * t + 2) - 1, x = s[ai]; s[ai] = s[bi]; s[bi] += x; } }
  __syncthreads();
  out[b + 2 * t] = s[2 * t]; out[b + 2 * t + 1] = s[2 * t + 1];
}

// 2 256 zeros:f32:512 random:f32:1536 i32:3
KERNEL double_buffer(float* out, const float* in, int tiles) {
  __shared__ float buf[2][256];
  int t = threadIdx.x; float acc = 0;
  const float* p = in + (size_t)blockIdx.x * tiles * 256;
  __pipeline_memcpy_async(&buf[0][t], p + t, 4); __pipeline_commit();
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) __pipeline_memcpy_async(&buf[(k + 1) & 1][t], p + (k + 1) * 256 + t, 4);
    __pipeline_commit(); __pipeline_wait_prior(1); __syncthreads();
    acc += buf[k & 1][255 - t];
    __syncthreads();
  }
  out[blockIdx.x * 256 + t] = acc;
}

// 2 128 zeros:f32:2x300 random:f32:2x300 i32:300
KERNEL softmax_row(float* out, const float* in, int cols) {
  __shared__ float red[128];
  const float* r = in + (size_t)blockIdx.x * cols; float* o = out + (size_t)blockIdx.x * cols;
  float m = -1e30f; for (int c = threadIdx.x; c < cols; c += 128) m = fmaxf(m, r[c]);
  red[threadIdx.x] = m; __syncthreads();
  for (int s = 64; s; s >>= 1) { if (threadIdx.x < s) red[threadIdx.x] = fmaxf(red[threadIdx.x], red[threadIdx.x + s]); __syncthreads(); }
  m = red[0]; __syncthreads();
  float sum = 0; for (int c = threadIdx.x; c < cols; c += 128) sum += __expf(r[c] - m);
  red[threadIdx.x] = sum; __syncthreads();
  for (int s = 64; s; s >>= 1) { if (threadIdx.x < s) red[threadIdx.x] += red[threadIdx.x + s]; __syncthreads(); }
  sum = red[0];
  for (int c = threadIdx.x; c < cols; c += 128) o[c] = __expf(r[c] - m) / sum;
}

// 2 256 zeros:f32:1200 random:f32:1200 f32:2 i32:300
KERNEL saxpy4(float4* y, const float4* x, float a, int n4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n4) { float4 v = x[i], w = y[i]; w.x += a * v.x; w.y += a * v.y; w.z += a * v.z; w.w += a * v.w; y[i] = w; }
}

// 3 256 random:f32:700 zeros:f32:3 zeros:u32:1 zeros:f32:1 i32:700
KERNEL last_block(const float* in, float* part, unsigned* ticket, float* out, int n) {
  __shared__ float s[256]; __shared__ bool last;
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0; __syncthreads();
  for (int d = 128; d; d >>= 1) { if (t < d) s[t] += s[t + d]; __syncthreads(); }
  if (t == 0) { part[blockIdx.x] = s[0]; __threadfence(); last = atomicAdd(ticket, 1u) == gridDim.x - 1; }
  __syncthreads();
  if (last && t == 0) { float r = 0; for (int b = 0; b < gridDim.x; ++b) r += ((volatile float*)part)[b]; *out = r; }
}

// 3 64 zeros:f32:5x70 random:f32:5x70 i32:5 i32:70
KERNEL layernorm_warp(float* out, const float* in, int rows, int cols) {
  int row = blockIdx.x * 2 + (threadIdx.x >> 5), lane = threadIdx.x & 31;
  if (row >= rows) return;
  float s = 0; for (int c = lane; c < cols; c += 32) s += in[row * cols + c];
  for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(FULL, s, o);
  float mean = s / cols;
  for (int c = lane; c < cols; c += 32) out[row * cols + c] = in[row * cols + c] - mean;
}

// 2,3 32,8 zeros:f32:20x40 random:f32:20x40 random:f32:9 i32:40 i32:20 i32:1
KERNEL conv2d(float* out, const float* in, const float* k, int w, int h, int r) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  if (x >= w || y >= h) return;
  float s = 0;
  for (int dy = -r; dy <= r; ++dy) for (int dx = -r; dx <= r; ++dx) {
    int xx = min(max(x + dx, 0), w - 1), yy = min(max(y + dy, 0), h - 1);
    s += in[yy * w + xx] * k[(dy + r) * (2 * r + 1) + dx + r]; }
  out[y * w + x] = s;
}

// 2 256 zeros:f32:500 random:f32:500 zeros:i32:500 i32:500
KERNEL gather_scatter(float* out, const float* in, const int* idx, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[idx[i]];
}

// 2 128 random:u32:200 zeros:u32:32 i32:200 i32:4
KERNEL radix_count(const unsigned* keys, unsigned* counts, int n, int shift) {
  __shared__ unsigned c[16];
  if (threadIdx.x < 16) c[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) atomicAdd(&c[(keys[i] >> shift) & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = c[threadIdx.x];
}
