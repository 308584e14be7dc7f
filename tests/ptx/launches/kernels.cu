// Kernels and what is said of all their launches: the comment above each is the verdict, `meet` where two threads may meet, and
// what is assumed.
typedef unsigned char byte;
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

// proved
KERNEL axpy(float a, const float* x, float* y, int n) { int i = ID; if (i < n) y[i] += a * x[i]; }
// proved
KERNEL unsigned_index(float* y, unsigned n) { unsigned i = ID; if (i < n) y[i] = i; }
// proved
KERNEL backwards(float* y, int n) { int i = ID; if (i < n) y[n - 1 - i] = i; }
// proved
KERNEL grid_stride(float* y, int n) { for (int i = ID; i < n; i += gridDim.x * blockDim.x) y[i] = i; }
// meet
KERNEL block_stride(float* y, int n) { for (int i = ID; i < n; i += blockDim.x) y[i] = i; }
// meet
KERNEL neighbour(float* y, int n) { int i = ID; if (i < n) y[i] = y[i + 1]; }
// meet
KERNEL halves(float* y, int n) { int i = ID; if (i < n) y[i / 2] = i; }
// proved
KERNEL twice(float* y, int n) { int i = ID; if (2 * i < n) { y[2 * i] = i; y[2 * i + 1] = i; } }
// meet
KERNEL overlapping_pairs(float* y, int n) { int i = ID; if (i < n) { y[i] = i; y[i + 1] = i; } }
// meet
KERNEL low_byte(float* y) { y[(byte)ID] = 1; }
// proved blockDim.x <= 256 && gridDim.x == 1
KERNEL low_byte_of_one_block(float* y) { y[(byte)ID] = 1; }
// meet
KERNEL scattered(float* y, const int* where, int n) { int i = ID; if (i < n) y[where[i]] = i; }
// proved
KERNEL gathered(float* y, const float* x, const int* where, int n) { int i = ID; if (i < n) y[i] = x[where[i]]; }
// meet
KERNEL vectors(float* y, int n) { int i = ID; if (i < n) *(float2*)(y + i) = make_float2(1, 2); }
// proved
KERNEL rows(float* y, int w, int h) {
  int c = ID, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < w && r < h) y[r * w + c] = 1;
}
// meet
KERNEL rows_too_long(float* y, int w, int h) {
  int c = ID, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c <= w && r < h) y[r * w + c] = 1;
}
// meet
KERNEL rows_without_guard(float* y, int w) { y[(blockIdx.y * blockDim.y + threadIdx.y) * w + ID] = 1; }
// proved gridDim.x * 32 == arg1 && blockDim.x == 32
KERNEL rows_of_the_grid(float* y, int w) {
  int c = ID, r = blockIdx.y * blockDim.y + threadIdx.y;
  y[r * w + c] = 1;
}
// proved
KERNEL atomic_sums(int* y, const byte* x, int n) { int i = ID; if (i < n) atomicAdd(y + x[i], 1); }
// meet
KERNEL atomic_and_read(int* y, int* z) { atomicAdd(y, 1); z[ID] = y[0]; }
// meet
KERNEL atomic_of_a_block(int* y) { atomicAdd_block(y + blockIdx.x / 2, 1); }
// proved gridDim.x == 1
KERNEL atomic_of_one_block(int* y) { atomicAdd_block(y + blockIdx.x, 1); }
// proved
KERNEL reduced(const float* x, float* y) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  s[t] = x[ID];
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
// meet
KERNEL reduced_too_far(const float* x, float* y) {
  extern __shared__ float s[];
  int t = threadIdx.x;
  s[t] = x[ID];
  __syncthreads();
  for (int k = blockDim.x / 2; k > 0; k >>= 1) {
    if (t <= k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}
// meet
KERNEL one_barrier_too_few(float* y, int n) {
  extern __shared__ float s[];
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = k;
    __syncthreads();
    sum += s[blockDim.x - 1 - threadIdx.x];
  }
  y[ID] = sum;
}
// proved
KERNEL two_barriers(float* y, int n) {
  extern __shared__ float s[];
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = k;
    __syncthreads();
    sum += s[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
  }
  y[ID] = sum;
}
// meet
KERNEL register_of_each_thread(float* y, int n) {
  extern __shared__ float s[];
  unsigned k = 1;
#pragma unroll 1
  for (int j = 0; j < n; ++j) {
    s[(k & 63) + threadIdx.x] = j;
    __syncthreads();
    k = (k * k) ^ threadIdx.x;
  }
  __syncthreads();
  y[ID] = s[threadIdx.x];
}
// meet
KERNEL barrier_in_some_rounds(float* y, int n) {
  extern __shared__ float s[];
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    s[threadIdx.x] = k;
    if (k % 3 == 0) __syncthreads();
    sum += s[blockDim.x - 1 - threadIdx.x];
    __syncthreads();
  }
  y[ID] = sum;
}
// unknown parted
KERNEL barrier_for_some(float* y, int n) {
  extern __shared__ float s[];
  if (ID >= n) return;
  s[threadIdx.x] = 1;
  __syncthreads();
  y[ID] = s[blockDim.x - 1 - threadIdx.x];
}
// unknown parted
KERNEL rounds_of_each_thread(float* y, const int* rounds) {
  extern __shared__ float s[];
  for (int k = 0; k < rounds[threadIdx.x]; ++k) {
    s[threadIdx.x] = k;
    __syncthreads();
  }
  y[ID] = s[0];
}
// unknown parted
KERNEL flag_is_read_late(int* y) {
  __shared__ int go;
  if (threadIdx.x == 0) go = 3;
  __syncthreads();
  while (go > 0) {
    y[threadIdx.x] += 1;
    __syncthreads();
    if (threadIdx.x == 0) go -= 1;
  }
}
// proved gridDim.x == 1
KERNEL flag_between_barriers(int* y) {
  __shared__ int go;
  if (threadIdx.x == 0) go = 3;
  __syncthreads();
  while (go > 0) {
    __syncthreads();
    if (threadIdx.x == 0) go -= 1;
    y[threadIdx.x] += 1;
    __syncthreads();
  }
}
// proved blockDim.x == 32 && blockDim.y == 8
KERNEL transposed(const float* x, float* y, int w, int h) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (c < w && r + j < h) tile[threadIdx.y + j][threadIdx.x] = x[(r + j) * w + c];
  __syncthreads();
  c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (c < h && r + j < w) y[(r + j) * h + c] = tile[threadIdx.x][threadIdx.y + j];
}
// proved blockDim.x == 32 && blockDim.y == 32
KERNEL swizzled(float* y, const float* x) {
  __shared__ float tile[1024];
  int r = threadIdx.y, c = threadIdx.x;
  tile[32 * r + (c ^ r)] = x[32 * r + c];
  __syncthreads();
  y[32 * r + c] = tile[32 * c + (r ^ c)];
}
// meet blockDim.x == 32 && blockDim.y == 32
KERNEL swizzled_wrong(float* y, const float* x) {
  __shared__ float tile[1024];
  int r = threadIdx.y, c = threadIdx.x;
  tile[32 * r + (c & r)] = x[32 * r + c];
  __syncthreads();
  y[32 * r + c] = tile[32 * c + (r & c)];
}
// unknown array
KERNEL either_array(float* x, float* y, int n) { float* z = n % 2 ? x : y; z[ID] = 1; x[ID] = 2; }
// unknown array
KERNEL bytes_of_two(byte* y, long n) { y[n + ID] = 1; }
// proved
KERNEL copied(float* y, const float4* x) {
  extern __shared__ float4 s4[];
  unsigned to = (unsigned)__cvta_generic_to_shared(s4 + threadIdx.x);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + ID));
  asm volatile("cp.async.wait_all;");
  y[ID] = s4[threadIdx.x].x;
}
// unknown some threads
KERNEL counted_barrier(float* y) {
  __shared__ float s;
  if (threadIdx.x < 32) s = 1;
  asm volatile("bar.sync 1, 64;" ::: "memory");
  y[ID] = s;
}
// unknown as assumed; blockDim.x == 2048
KERNEL no_such_block(float* y) { y[ID] = 1; }
// proved
KERNEL branch_that_rejoins(float* y, const float* x, int n) {
  extern __shared__ float s[];
  float v = 0;
  if (ID < n) v = x[ID];
  for (int k = threadIdx.x; k < 7; ++k) v *= 2;
  s[threadIdx.x] = v;
  __syncthreads();
  y[ID] = s[blockDim.x - 1 - threadIdx.x];
}
