// Writes the transpose of an n x n matrix; n is a multiple of 32. Two mistakes; `warploom lint` finds both.
#include <cstdio>
#include <vector>

__global__ void transpose(float* out, const float* in, int n) {
  __shared__ float tile[32][32];
  int x = 32 * blockIdx.x + threadIdx.x, y = 32 * blockIdx.y + threadIdx.y;
  tile[threadIdx.y][threadIdx.x] = in[y * n + x];
  int u = 32 * blockIdx.y + threadIdx.x, v = 32 * blockIdx.x + threadIdx.y;
  out[v * n + u] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  const int n = 64;
  float *out, *in;
  cudaMalloc(&out, n * n * sizeof(float));
  cudaMalloc(&in, n * n * sizeof(float));
  transpose<<<dim3(n / 32, n / 32), dim3(32, 32)>>>(out, in, n);
  std::printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
