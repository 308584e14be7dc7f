// conv2d_3 of image.py, completed by Warploom.
// 32-bit indices and the grid suffice for every h from 0 to 1048560 and w from 0 to 2147483009 with h*w + 2*h + 22*w + 651 < 2^31.

extern "C" __global__ void __launch_bounds__(128)
conv2d_3(const float *__restrict__ x, const float *__restrict__ f, float *__restrict__ y, int h, int w) {
  const int thread_x = threadIdx.x;
  const int block_x = blockIdx.x;
  const int block_y = blockIdx.y;
  const int lane = thread_x & 31;
  const int above = block_y * 16;
  const int left = block_x * 128;
  float weight[3][3];
  #pragma unroll
  for (int a = 0; a < 3; ++a) {
    #pragma unroll
    for (int b = 0; b < 3; ++b) {
      weight[a][b] = f[a * 3 + b];
    }
  }
  if ((w & 3) == 0 && left + 128 <= w && above + 16 <= h) {
    const int top = above + (thread_x >> 5) * 4;
    float out[4][4] = {{0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f, 0.0f}};
    #pragma unroll
    for (int r = 0; r < 6; ++r) {
      float inp[8];
      #pragma unroll
      for (int q = 0; q < 2; ++q) {
        const float2 inp_2 = *reinterpret_cast<const float2 *>(&x[(top + r) * (w + 2) + q * 2 + lane * 4 + block_x * 128]);
        inp[q * 2] = inp_2.x;
        inp[q * 2 + 1] = inp_2.y;
      }
      #pragma unroll
      for (int e = 0; e < 2; ++e) {
        inp[e + 4] = x[(top + r) * (w + 2) + left + e + 128];
      }
      #pragma unroll
      for (int j2 = 0; j2 < 4; ++j2) {
        // hole 'row': 0 if lane >= 1 else 1
        const float sent2 = inp[j2];
        // hole 'lane': (lane + 1) % 32
        const float got2 = sent2;
        #pragma unroll
        for (int a2 = max(0, r - 3); a2 < min(3, r + 1); ++a2) {
          #pragma unroll
          for (int b2 = 0; b2 < min(3, j2 + 1); ++b2) {
            out[r - a2][j2 - b2] += weight[a2][b2] * got2;
          }
        }
      }
      #pragma unroll
      for (int j = 4; j < 6; ++j) {
        const float sent = lane >= 1 ? inp[j - 4] : inp[j];
        const float got = __shfl_sync(0xffffffff, sent, lane + 1);
        #pragma unroll
        for (int a = max(0, r - 3); a < min(3, r + 1); ++a) {
          #pragma unroll
          for (int b = j - 3; b < 3; ++b) {
            out[r - a][j - b] += weight[a][b] * got;
          }
        }
      }
    }
    #pragma unroll
    for (int r = 0; r < 4; ++r) {
      *reinterpret_cast<float4 *>(&y[(top + r) * w + lane * 4 + block_x * 128]) = make_float4(out[r][0], out[r][1], out[r][2], out[r][3]);
    }
  } else {
    #pragma unroll 1
    for (int p = 0; p < 16; ++p) {
      const int row = above + (thread_x >> 5) + (p >> 2) * 4;
      const int col = left + lane + (p & 3) * 32;
      if (row < h && col < w) {
        float total = 0.0f;
        #pragma unroll
        for (int a = 0; a < 3; ++a) {
          #pragma unroll
          for (int b = 0; b < 3; ++b) {
            total += weight[a][b] * x[(row + a) * (w + 2) + col + b];
          }
        }
        y[row * w + col] = total;
      }
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_conv2d_3(
    const float *__restrict__ x, const float *__restrict__ f, float *__restrict__ y, int h, int w, cudaStream_t stream = nullptr) {
  if (reinterpret_cast<size_t>(x) % 8 != 0 || reinterpret_cast<size_t>(y) % 16 != 0) {
    return cudaErrorMisalignedAddress;
  }
  const dim3 block_size(128, 1, 1);
  const dim3 grid_size((w + 127) / 128, (h + 15) / 16, 1);
  if (grid_size.x == 0 || grid_size.y == 0) {
    return cudaSuccess;  // nothing to do
  }
  conv2d_3<<<grid_size, block_size, 0, stream>>>(x, f, y, h, w);
  return cudaGetLastError();
}
#endif
