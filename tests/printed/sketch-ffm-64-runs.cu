// ffm_64 of broadcast.py, completed by Warploom.
// 32-bit indices and the grid suffice for every pairs from 0 to 33554425.

extern "C" __global__ void __launch_bounds__(128)
ffm_64(const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs) {
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
    const int first_2 = pair * 64;
    unsigned product[4];
    unsigned low[3];
    #pragma unroll
    for (int r_2 = 0; r_2 < 4; ++r_2) {
      product[r_2] = out[r_2];
    }
    #pragma unroll
    for (int r_2 = 0; r_2 < 2; ++r_2) {
      low[r_2] = product[r_2];
    }
    low[2] = 0u;
    #pragma unroll
    for (int r_3 = 0; r_3 < 3; ++r_3) {
      const unsigned same = r_3 < 2 ? product[r_3 + 2] : 0u;
      const unsigned sent = same;
      low[r_3] = low[r_3] ^ sent;
    }
    const int lane_3 = thread & 31;
    #pragma unroll
    for (int r_4 = 0; r_4 < 3; ++r_4) {
      const unsigned same_2 = r_4 < 2 ? product[r_4 + 2] : 0u;
      const unsigned below_2 = r_4 > 0 ? product[r_4 + 1] : 0u;
      const unsigned sent_2 = lane_3 < 31 ? same_2 : below_2;
      low[r_4] = low[r_4] ^ __shfl_sync(0xffffffff, sent_2, lane_3 - 1);
    }
    const int lane_4 = thread & 31;
    #pragma unroll
    for (int r_5 = 0; r_5 < 3; ++r_5) {
      const unsigned same_3 = r_5 < 2 ? product[r_5 + 2] : 0u;
      const unsigned below_3 = r_5 > 0 ? product[r_5 + 1] : 0u;
      const unsigned sent_3 = lane_4 < 29 ? same_3 : below_3;
      low[r_5] = low[r_5] ^ __shfl_sync(0xffffffff, sent_3, lane_4 - 3);
    }
    const int lane_5 = thread & 31;
    #pragma unroll
    for (int r_6 = 0; r_6 < 3; ++r_6) {
      const unsigned same_4 = r_6 < 2 ? product[r_6 + 2] : 0u;
      const unsigned below_4 = r_6 > 0 ? product[r_6 + 1] : 0u;
      const unsigned sent_4 = lane_5 < 28 ? same_4 : below_4;
      low[r_6] = low[r_6] ^ __shfl_sync(0xffffffff, sent_4, lane_5 - 4);
    }
    const unsigned top = low[2];
    low[0] = low[0] ^ top;
    low[0] = low[0] ^ __shfl_sync(0xffffffff, top, thread - 1);
    low[0] = low[0] ^ __shfl_sync(0xffffffff, top, thread - 3);
    low[0] = low[0] ^ __shfl_sync(0xffffffff, top, thread - 4);
    #pragma unroll
    for (int r_2 = 0; r_2 < 2; ++r_2) {
      c[first_2 + r_2 * 32 + (thread & 31)] = low[r_2];
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_ffm_64(
    const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs, cudaStream_t stream = nullptr) {
  if (reinterpret_cast<size_t>(a) % 16 != 0) {
    return cudaErrorMisalignedAddress;
  }
  const dim3 block_size(128, 1, 1);
  const dim3 grid_size((pairs + 3) / 4, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  ffm_64<<<grid_size, block_size, 0, stream>>>(a, b, c, pairs);
  return cudaGetLastError();
}
#endif
