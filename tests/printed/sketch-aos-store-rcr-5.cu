// aos_store_rcr_5_i32 of structs.py, completed by Warploom.

extern "C" __global__ void __launch_bounds__(32)
aos_store_rcr_5_i32(const int *__restrict__ src, int *__restrict__ dst, int tiles) {
  const int lane = threadIdx.x;
  const int block = blockIdx.x;
  const int first = block * 160;
  int loaded[5];
  int out[5];
  // wl.global_to_register(src, loaded, offset=first, shuffle=lambda lane, round: wl.xform(lane, 32, round, name='load'))
  #pragma unroll
  for (int round = 0; round < 5; ++round) {
    // hole 'load': lane
    const int at = first + round * 32 + lane;
    loaded[round] = at < tiles * 160 ? src[at] : 0;
  }
  #pragma unroll
  for (int i = 0; i < 5; ++i) {
    // hole 'column': 0
    out[i] = loaded[0];
  }
  // wl.register_to_global(out, dst, offset=first, shuffle=lambda lane, round: wl.xform(lane, 32, round, name='store'))
  #pragma unroll
  for (int round_2 = 0; round_2 < 5; ++round_2) {
    // hole 'store': lane
    const int at_2 = first + round_2 * 32 + lane;
    if (at_2 < tiles * 160) {
      dst[at_2] = out[round_2];
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_aos_store_rcr_5_i32(
    const int *__restrict__ src, int *__restrict__ dst, int tiles, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size(tiles, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  aos_store_rcr_5_i32<<<grid_size, block_size, 0, stream>>>(src, dst, tiles);
  return cudaGetLastError();
}
#endif
