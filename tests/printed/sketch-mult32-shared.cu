// mult32_shared of polynomial.py, completed by Warploom.
// 32-bit indices and the grid suffice for every pairs from 0 to 33554431.

extern "C" __global__ void __launch_bounds__(32)
mult32_shared(const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs) {
  const int lane = threadIdx.x;
  const int pair = blockIdx.x;
  __shared__ unsigned sa[32];
  __shared__ unsigned sb[32];
  unsigned rc[2];
  // wl.global_to_shared(a, sa, offset=32 * WARPS * wl.block_id())
  for (int round = 0; round < 1; ++round) {
    const int at_2 = pair * 32 + lane;
    sa[lane] = at_2 < pairs * 32 ? a[at_2] : 0u;
  }
  // wl.global_to_shared(b, sb, offset=32 * WARPS * wl.block_id())
  for (int round_2 = 0; round_2 < 1; ++round_2) {
    const int at_3 = pair * 32 + lane;
    sb[lane] = at_3 < pairs * 32 ? b[at_3] : 0u;
  }
  __syncthreads();
  unsigned out[2] = {0u, 0u};
  for (int i = 0; i < 32; ++i) {
    // hole 'a_index': i
    const unsigned x = sa[i];
    // hole 'b_index': (lane - i) % 32
    const unsigned y = sb[(lane - i) & 31];
    // hole 'low': i <= lane
    if (i <= lane) {
      out[0] ^= x & y;
    } else {
      // hole 'high': i > lane
      out[1] ^= x & y;
    }
  }
  #pragma unroll
  for (int q = 0; q < 2; ++q) {
    rc[q] = out[q];
  }
  // wl.register_to_global(rc, c, offset=64 * pair)
  #pragma unroll
  for (int round_3 = 0; round_3 < 2; ++round_3) {
    const int at_4 = pair * 64 + round_3 * 32 + lane;
    if (at_4 < pairs * 64) {
      c[at_4] = rc[round_3];
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_mult32_shared(
    const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size(pairs, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  mult32_shared<<<grid_size, block_size, 0, stream>>>(a, b, c, pairs);
  return cudaGetLastError();
}
#endif
