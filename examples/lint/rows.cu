// Adds a to each element of an h x w matrix, tile by tile: no launch of it has a data race, if blocks are as wide as their tile.
__global__ void add_to_rows(float* y, const float* x, float a, int w, int h) {
  __shared__ float tile[8][33];
  int c = 32 * blockIdx.x + threadIdx.x, r = 8 * blockIdx.y + threadIdx.y;
  if (c < w && r < h) tile[threadIdx.y][threadIdx.x] = x[r * w + c];
  __syncthreads();
  if (c < w && r < h) y[r * w + c] = tile[threadIdx.y][threadIdx.x] + a;
}
