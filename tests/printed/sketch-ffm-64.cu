// ffm_64 of field.py, completed by Warploom.
// 32-bit indices and the grid suffice for every pairs from 0 to 33554430.

extern "C" __global__ void __launch_bounds__(32)
ffm_64(const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs) {
  const int lane_3 = threadIdx.x;
  const int pair = blockIdx.x;
  const int first = pair * 64;
  unsigned ra[2];
  unsigned rb[2];
  const int last = first + 64;
  // wl.global_to_register(a, ra, offset=first, size=last)
  #pragma unroll
  for (int round = 0; round < 2; ++round) {
    const int at = first + round * 32 + lane_3;
    ra[round] = at < last ? a[at] : 0u;
  }
  // wl.global_to_register(b, rb, offset=first, size=last)
  #pragma unroll
  for (int round_2 = 0; round_2 < 2; ++round_2) {
    const int at_2 = first + round_2 * 32 + lane_3;
    rb[round_2] = at_2 < last ? b[at_2] : 0u;
  }
  unsigned out[4] = {0u, 0u, 0u, 0u};
  for (int x = 0; x < 1; ++x) {
    for (int y = 0; y < 1; ++y) {
      const int lane = lane_3;
      #pragma unroll 4
      for (int i = 0; i < 32; ++i) {
        // hole 'a0_row': 0
        const unsigned sent_a0 = ra[0];
        // hole 'a1_row': 1
        const unsigned sent_a1 = ra[1];
        // hole 'b0_row': 0 if lane + i < 32 else 1
        const unsigned sent_b0 = lane + i < 32 ? rb[0] : rb[1];
        // hole 'b1_row': 0 if lane + i >= 32 else 1
        const unsigned sent_b1 = lane + i >= 32 ? rb[0] : rb[1];
        // hole 'a0_lane': i
        const unsigned a0 = __shfl_sync(0xffffffff, sent_a0, i);
        // hole 'a1_lane': i
        const unsigned a1 = __shfl_sync(0xffffffff, sent_a1, i);
        // hole 'b0_lane': (lane - i) % 32
        const unsigned b0 = __shfl_sync(0xffffffff, sent_b0, lane - i);
        // hole 'b1_lane': (lane - i) % 32
        const unsigned b1 = __shfl_sync(0xffffffff, sent_b1, lane - i);
        // hole 'c0_a0_b0': i <= lane
        if (i <= lane) {
          out[0] ^= a0 & b0;
          // hole 'c1_a1_b0': i <= lane
          out[1] ^= a1 & b0;
        } else {
          // hole 'c2_a0_b0': i > lane
          out[2] ^= a0 & b0;
          // hole 'c3_a1_b0': i > lane
          out[3] ^= a1 & b0;
        }
        // hole 'c1_a0_b1': True
        out[1] ^= a0 & b1;
        // hole 'c2_a1_b1': True
        out[2] ^= a1 & b1;
      }
    }
  }
  unsigned product[4];
  unsigned low[3];
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    product[r] = out[r];
  }
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    low[r] = product[r];
  }
  low[2] = 0u;
  #pragma unroll
  for (int r_2 = 0; r_2 < 3; ++r_2) {
    const unsigned same = r_2 < 2 ? product[r_2 + 2] : 0u;
    const unsigned sent = same;
    low[r_2] = low[r_2] ^ sent;
  }
  #pragma unroll
  for (int r_3 = 0; r_3 < 3; ++r_3) {
    const unsigned same_2 = r_3 < 2 ? product[r_3 + 2] : 0u;
    const unsigned below_2 = r_3 > 0 ? product[r_3 + 1] : 0u;
    const unsigned sent_2 = lane_3 < 31 ? same_2 : below_2;
    low[r_3] = low[r_3] ^ __shfl_sync(0xffffffff, sent_2, lane_3 - 1);
  }
  const int lane_4 = lane_3;
  #pragma unroll
  for (int r_4 = 0; r_4 < 3; ++r_4) {
    const unsigned same_3 = r_4 < 2 ? product[r_4 + 2] : 0u;
    const unsigned below_3 = r_4 > 0 ? product[r_4 + 1] : 0u;
    const unsigned sent_3 = lane_4 < 29 ? same_3 : below_3;
    low[r_4] = low[r_4] ^ __shfl_sync(0xffffffff, sent_3, lane_4 - 3);
  }
  const int lane_5 = lane_3;
  #pragma unroll
  for (int r_5 = 0; r_5 < 3; ++r_5) {
    const unsigned same_4 = r_5 < 2 ? product[r_5 + 2] : 0u;
    const unsigned below_4 = r_5 > 0 ? product[r_5 + 1] : 0u;
    const unsigned sent_4 = lane_5 < 28 ? same_4 : below_4;
    low[r_5] = low[r_5] ^ __shfl_sync(0xffffffff, sent_4, lane_5 - 4);
  }
  const unsigned top = low[2];
  low[0] = low[0] ^ top;
  low[0] = low[0] ^ __shfl_sync(0xffffffff, top, lane_3 - 1);
  low[0] = low[0] ^ __shfl_sync(0xffffffff, top, lane_3 - 3);
  low[0] = low[0] ^ __shfl_sync(0xffffffff, top, lane_3 - 4);
  #pragma unroll
  for (int r = 0; r < 2; ++r) {
    c[first + r * 32 + lane_3] = low[r];
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_ffm_64(
    const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size(pairs, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  ffm_64<<<grid_size, block_size, 0, stream>>>(a, b, c, pairs);
  return cudaGetLastError();
}
#endif
