// aos_store_crc_4_i32 of structs.py, completed by Warploom.

extern "C" __global__ void __launch_bounds__(32)
aos_store_crc_4_i32(const int *__restrict__ src, int *__restrict__ dst, int tiles) {
  const int lane = threadIdx.x;
  const int block = blockIdx.x;
  const int first = block * 128;
  int loaded[4];
  int columns[4];
  int rows[4];
  int out[4];
  // wl.global_to_register(src, loaded, offset=first)
  #pragma unroll
  for (int round = 0; round < 4; ++round) {
    const int at = first + round * 32 + lane;
    loaded[round] = at < tiles * 128 ? src[at] : 0;
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    // hole 'column': 0
    columns[i] = loaded[0];
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    // hole 'row': (lane + i) % 32
    rows[i] = __shfl_sync(0xffffffff, columns[i], lane + i);
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    // hole 'column_after': i
    out[i] = rows[i];
  }
  // wl.register_to_global(out, dst, offset=first)
  #pragma unroll
  for (int round_2 = 0; round_2 < 4; ++round_2) {
    const int at_2 = first + round_2 * 32 + lane;
    if (at_2 < tiles * 128) {
      dst[at_2] = out[round_2];
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_aos_store_crc_4_i32(
    const int *__restrict__ src, int *__restrict__ dst, int tiles, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size(tiles, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  aos_store_crc_4_i32<<<grid_size, block_size, 0, stream>>>(src, dst, tiles);
  return cudaGetLastError();
}
#endif
