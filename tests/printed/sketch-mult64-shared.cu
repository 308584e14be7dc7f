// mult64_shared of polynomial.py, completed by Warploom.
// 32-bit indices and the grid suffice for every pairs from 0 to 16777215.

extern "C" __global__ void __launch_bounds__(32)
mult64_shared(const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs) {
  const int lane = threadIdx.x;
  const int pair = blockIdx.x;
  __shared__ unsigned sa[64];
  __shared__ unsigned sb[64];
  unsigned rc[4];
  // wl.global_to_shared(a, sa, offset=64 * WARPS * wl.block_id())
  for (int round = 0; round < 2; ++round) {
    const int at_2 = pair * 64 + round * 32 + lane;
    sa[round * 32 + lane] = at_2 < pairs * 64 ? a[at_2] : 0u;
  }
  // wl.global_to_shared(b, sb, offset=64 * WARPS * wl.block_id())
  for (int round_2 = 0; round_2 < 2; ++round_2) {
    const int at_3 = pair * 64 + round_2 * 32 + lane;
    sb[round_2 * 32 + lane] = at_3 < pairs * 64 ? b[at_3] : 0u;
  }
  __syncthreads();
  unsigned out[4] = {0u, 0u, 0u, 0u};
  for (int i = 0; i < 32; ++i) {
    // hole 'a0_index': i
    const unsigned a0 = sa[i];
    // hole 'a1_index': i + 32
    const unsigned a1 = sa[i + 32];
    // hole 'b0_index': (lane - i) % 64
    const unsigned b0 = sb[(lane - i) & 63];
    // hole 'b1_index': lane - i + 32
    const unsigned b1 = sb[lane - i + 32];
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
  #pragma unroll
  for (int q = 0; q < 4; ++q) {
    rc[q] = out[q];
  }
  // wl.register_to_global(rc, c, offset=128 * pair)
  #pragma unroll
  for (int round_3 = 0; round_3 < 4; ++round_3) {
    const int at_4 = pair * 128 + round_3 * 32 + lane;
    if (at_4 < pairs * 128) {
      c[at_4] = rc[round_3];
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_mult64_shared(
    const unsigned *__restrict__ a, const unsigned *__restrict__ b, unsigned *__restrict__ c, int pairs, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size(pairs, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  mult64_shared<<<grid_size, block_size, 0, stream>>>(a, b, c, pairs);
  return cudaGetLastError();
}
#endif
