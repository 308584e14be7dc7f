// What one writes first for the kernels of examples/gallery: every thread loads what it needs, or a library exchanges it.
// Each kernel has the parameters and the launch of the completed sketch of the same name.
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

extern "C" __global__ void shift_rows(const unsigned* __restrict__ a, unsigned* __restrict__ b, int n) {
  int t = threadIdx.x;
  b[16 * blockIdx.x + t] = a[16 * blockIdx.x + t % 4 + 4 * ((t / 4 + t % 4) % 4)];
}

extern "C" __global__ void all_reduce(const int* __restrict__ x, int* __restrict__ y, int n) {
  __shared__ typename cub::WarpReduce<int>::TempStorage storage;
  int i = blockIdx.x * 32 + threadIdx.x;
  int total = cub::WarpReduce<int>(storage).Sum(x[i]);
  y[i] = __shfl_sync(0xffffffff, total, 0);
}

extern "C" __global__ void bitonic(const int* __restrict__ x, int* __restrict__ y) {
  int v[4] = {x[0], x[1], x[2], x[3]};
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 3 - turn; ++i) {
      int low = min(v[i], v[i + 1]);
      v[i + 1] = max(v[i], v[i + 1]);
      v[i] = low;
    }
  }
  int t = threadIdx.x;
  y[t] = t == 0 ? v[0] : t == 1 ? v[1] : t == 2 ? v[2] : v[3];
}

extern "C" __global__ void reversal(const float* __restrict__ x, float* __restrict__ y, int n) {
  __shared__ float tile[8];
  int t = threadIdx.x;
  tile[t] = x[8 * blockIdx.x + t];
  __syncthreads();
  y[8 * blockIdx.x + t] = tile[4 * (t % 2) + 2 * (t / 2 % 2) + t / 4];
}

extern "C" __global__ void life(const int* __restrict__ x, int* __restrict__ y, int h) {
  int r = blockIdx.x, c = threadIdx.x;
  int total = x[32 * (r + 1) + c];
  for (int i = 0; i < 3; ++i) {
    total += 2 * x[32 * (r + i) + (c + 31) % 32] + 2 * x[32 * (r + i) + (c + 1) % 32];
  }
  y[32 * r + c] = total + 2 * x[32 * r + c] + 2 * x[32 * (r + 2) + c];
}

extern "C" __global__ void theta(const unsigned* __restrict__ a, unsigned* __restrict__ b) {
  __shared__ unsigned state[25];
  int t = threadIdx.x;
  if (t < 25) state[t] = a[t];
  __syncthreads();
  if (t < 25) {
    unsigned found = state[t];
    for (int k = 0; k < 5; ++k) found ^= state[(t + 4) % 5 + 5 * k] ^ state[(t + 1) % 5 + 5 * k];
    b[t] = found;
  }
}

extern "C" __global__ void product(const int* __restrict__ a, const int* __restrict__ b, int* __restrict__ c) {
  int t = threadIdx.x, total = 0;
  for (int i = 0; i < 8; ++i) {
    int term = a[i] * b[(t + 8 - i) % 8];
    total += i <= t ? term : -term;
  }
  c[t] = total;
}

extern "C" __global__ void speeds(const float* __restrict__ v, float* __restrict__ e, int n) {
  int p = 32 * blockIdx.x + threadIdx.x;
  float x = v[3 * p], y = v[3 * p + 1], z = v[3 * p + 2];
  e[p] = x * x + y * y + z * z;
}

extern "C" __global__ void rope(const float* __restrict__ x, const float* __restrict__ cos, const float* __restrict__ sin,
                                float* __restrict__ y, int n) {
  int t = threadIdx.x, head = 32 * blockIdx.x;
  float own = x[head + t], other = x[head + (t + 16) % 32];
  y[head + t] = own * cos[t % 16] + (t < 16 ? -other : other) * sin[t % 16];
}

extern "C" __global__ void row_pass(const float* __restrict__ x, const float* __restrict__ w, float* __restrict__ y, int rows,
                                    int n) {
  int i = 32 * blockIdx.x + threadIdx.x, r = blockIdx.y;
  if (i >= n) return;
  float total = 0;
  for (int k = 0; k < 5; ++k) total += w[k] * x[r * (n + 4) + i + k];
  y[r * n + i] = total;
}

extern "C" __global__ void stencil27(const float* __restrict__ u, const float* __restrict__ w, float* __restrict__ v, int nz,
                                     int ny, int nx) {
  int x = 32 * blockIdx.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x >= nx) return;
  float total = 0;
  for (int row = 0; row < 9; ++row) {
    for (int k = 0; k < 3; ++k) {
      total += w[3 * row + k] * u[((z + row / 3) * (ny + 2) + y + row % 3) * (nx + 2) + x + k];
    }
  }
  v[(z * ny + y) * nx + x] = total;
}

extern "C" __global__ void stencil7(const float* __restrict__ u, float* __restrict__ v, int nz, int ny, int nx) {
  int x = 32 * blockIdx.x + threadIdx.x, y = blockIdx.y, z = blockIdx.z;
  if (x >= nx) return;
  const float* row = u + ((z + 1) * (ny + 2) + y + 1) * (nx + 2) + x;
  int below = nx + 2, slice = (ny + 2) * (nx + 2);
  v[(z * ny + y) * nx + x] = row[0] + row[1] + row[2] + row[1 - slice] + row[1 + slice] + row[1 - below] + row[1 + below];
}

extern "C" __global__ void butterflies(const int* __restrict__ x, int* __restrict__ y) {
  __shared__ int tile[8];
  int t = threadIdx.x, v = x[t];
  for (int step = 1; step < 8; step *= 2) {
    tile[t] = v;
    __syncthreads();
    int other = tile[t ^ step];
    v = t & step ? other - v : other + v;
    __syncthreads();
  }
  y[t] = v;
}

extern "C" __global__ void prefix(const int* __restrict__ x, int* __restrict__ y, int n) {
  __shared__ typename cub::WarpScan<int>::TempStorage storage;
  int i = blockIdx.x * 32 + threadIdx.x, sum;
  cub::WarpScan<int>(storage).InclusiveSum(x[i], sum);
  y[i] = sum;
}
