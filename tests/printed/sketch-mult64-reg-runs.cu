// mult64_reg of broadcast.py, completed by Warploom.
// 32-bit indices and the grid suffice for every pairs from 0 to 16777211.

extern "C" __global__ void __launch_bounds__(128)
mult64_reg(const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs) {
  const int thread = threadIdx.x;
  const int block = blockIdx.x;
  const int pair = block * 4 + (thread >> 5);
  if (pair < pairs) {
    unsigned rb[2];
    #pragma unroll
    for (int r = 0; r < 2; ++r) {
      rb[r] = b[pair * 64 + r * 32 + (thread & 31)];
    }
    unsigned out[4] = {0u, 0u, 0u, 0u};
    const int lane = thread & 31;
    unsigned ra[2][32];
    #pragma unroll
    for (int g = 0; g < 8; ++g) {
      #pragma unroll
      for (int x = 0; x < 2; ++x) {
        const uint4 ra_4 = reinterpret_cast<const uint4 *>(a)[x * 8 + g + pair * 16];
        ra[x][g * 4] = ra_4.x;
        ra[x][g * 4 + 1] = ra_4.y;
        ra[x][(g * 2 + 1) * 2] = ra_4.z;
        ra[x][g * 4 + 3] = ra_4.w;
      }
      unsigned words[2];
      #pragma unroll
      for (int y2 = 0; y2 < 2; ++y2) {
        const unsigned word2 = rb[y2];
        // hole 'lane': (lane - i) % 32
        words[y2] = word2;
      }
      // hole 'low': lane >= 4 * g + j
      if (lane >= g * 4) {
        #pragma unroll
        for (int y2 = 0; y2 < 2; ++y2) {
          #pragma unroll
          for (int x2 = 0; x2 < 2; ++x2) {
            out[x2 + y2] ^= ra[x2][g * 4] & words[y2];
          }
        }
      } else {
        #pragma unroll
        for (int y2 = 0; y2 < 2; ++y2) {
          #pragma unroll
          for (int x2 = 0; x2 < 2; ++x2) {
            out[x2 + y2 + 1] ^= ra[x2][g * 4] & words[y2];
          }
        }
      }
      #pragma unroll
      for (int j = 1; j < 4; ++j) {
        unsigned words[2];
        #pragma unroll
        for (int y = 0; y < 2; ++y) {
          const unsigned word = rb[y];
          words[y] = __shfl_sync(0xffffffff, word, lane - j);
        }
        if (lane >= g * 4 + j) {
          #pragma unroll
          for (int y = 0; y < 2; ++y) {
            #pragma unroll
            for (int x = 0; x < 2; ++x) {
              out[x + y] ^= ra[x][g * 4 + j] & words[y];
            }
          }
        } else {
          #pragma unroll
          for (int y = 0; y < 2; ++y) {
            #pragma unroll
            for (int x = 0; x < 2; ++x) {
              out[x + y + 1] ^= ra[x][g * 4 + j] & words[y];
            }
          }
        }
      }
      #pragma unroll
      for (int y = 0; y < 2; ++y) {
        const unsigned word_2 = rb[y];
        rb[y] = __shfl_sync(0xffffffff, word_2, lane - 4);
      }
    }
    #pragma unroll
    for (int q = 0; q < 4; ++q) {
      c[pair * 128 + q * 32 + (thread & 31)] = out[q];
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_mult64_reg(
    const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs, cudaStream_t stream = nullptr) {
  if (reinterpret_cast<size_t>(a) % 16 != 0) {
    return cudaErrorMisalignedAddress;
  }
  const dim3 block_size(128, 1, 1);
  const dim3 grid_size((pairs + 3) / 4, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  mult64_reg<<<grid_size, block_size, 0, stream>>>(a, b, c, pairs);
  return cudaGetLastError();
}
#endif
