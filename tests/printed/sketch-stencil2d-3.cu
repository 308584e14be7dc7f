// stencil2d_3 of image.py, completed by Warploom.
// 32-bit indices and the grid suffice for every h from 0 to 1048560 and w from 0 to 2147483577 with h*w + 2*h + 35*w + 129 < 2^31.

static __device__ __forceinline__ float divided_by_9(float a) {
  const float q = __fmul_rn(a, 0.11111111f);
  const float excess = fmaxf(__fmaf_rn(q, 9.0f, -a), -3.4028235e+38f);
  return __fmaf_rn(-excess, 0.11111111f, q);
}

extern "C" __global__ void __launch_bounds__(32)
stencil2d_3(const float *__restrict__ x, float *__restrict__ y, int h, int w) {
  const int thread_x = threadIdx.x;
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int row = thread_x >> 3;
  const int col = thread_x & 7;
  const int top = block_y * 16;
  const int left = block_x * 32;
  float tile[8][5];
  const int needed_0 = min(top + 16, h) + 2;
  const int needed_1 = min(left + 32, w) + 2;
  // wl.global_to_register(x, tile, offset=(top, left), slice=(OY, 1), warp_shape=(ROWS, COLS), size=needed)
  #pragma unroll
  for (int round_y = 0; round_y < 2; ++round_y) {
    #pragma unroll
    for (int round_x = 0; round_x < 5; ++round_x) {
      #pragma unroll
      for (int item_y = 0; item_y < 4; ++item_y) {
        const int at_y = top + round_y * 16 + (thread_x >> 3) * 4 + item_y;
        const int at_x = left + round_x * 8 + (thread_x & 7);
        tile[round_y * 4 + item_y][round_x] = at_y < needed_0 && at_x < needed_1 ? x[at_y * (w + 2) + at_x] : 0.0f;
      }
    }
  }
  float out[4][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
  #pragma unroll
  for (int r = 0; r < 6; ++r) {
    for (int kx = 0; kx < 3; ++kx) {
      // hole 'lane_row': (row + r // OY) % 4
      // hole 'lane_col': (col + kx) % 8
      const int sender = ((row + (r >> 2)) & 3) * 8 + ((col + kx) & 7);
      #pragma unroll
      for (int o = 0; o < 4; ++o) {
        // hole 'tile_row': 0 if row >= r // OY else 1
        // hole 'tile_col': 0 if col >= kx else 1
        const float sent = row >= r >> 2 ? (col >= kx ? tile[r & 3][o] : tile[r & 3][o + 1]) : col >= kx ? tile[(r & 3) + 4][o] : tile[(r & 3) + 4][o + 1];
        const float got = __shfl_sync(0xffffffff, sent, sender);
        #pragma unroll
        for (int ky = max(0, r - 3); ky < min(3, r + 1); ++ky) {
          out[r - ky][o] += got;
        }
      }
    }
  }
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    #pragma unroll
    for (int o = 0; o < 4; ++o) {
      if (top + row * 4 + r < h && left + o * 8 + col < w) {
        y[(top + row * 4 + r) * w + left + o * 8 + col] = divided_by_9(out[r][o]);
      }
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_stencil2d_3(
    const float *__restrict__ x, float *__restrict__ y, int h, int w, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size((w + 31) / 32, (h + 15) / 16, 1);
  if (grid_size.x == 0 || grid_size.y == 0) {
    return cudaSuccess;  // nothing to do
  }
  stencil2d_3<<<grid_size, block_size, 0, stream>>>(x, y, h, w);
  return cudaGetLastError();
}
#endif
