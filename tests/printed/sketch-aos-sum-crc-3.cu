// aos_sum_crc_3_i32 of structs.py, completed by Warploom.
// 32-bit indices and the grid suffice for every tiles from 0 to 22369621.

static __device__ __forceinline__ int add_i32(int a, int b) {
  return (int)((unsigned)a + (unsigned)b);
}

extern "C" __global__ void __launch_bounds__(32)
aos_sum_crc_3_i32(const int *__restrict__ src, int *__restrict__ total, int tiles) {
  const int lane = threadIdx.x;
  const int tile = blockIdx.x;
  int loaded[3];
  int columns[3];
  // wl.global_to_register(src, loaded, offset=32 * S * tile)
  #pragma unroll
  for (int round = 0; round < 3; ++round) {
    const int at = tile * 96 + round * 32 + lane;
    loaded[round] = at < tiles * 96 ? src[at] : 0;
  }
  const int loaded_turn = lane % 3;
  int loaded_turned[3];
  // loaded rotated by loaded_turn: step 1 of 2, by 1 where bit 0 is set
  #pragma unroll
  for (int r = 0; r < 3; ++r) {
    loaded_turned[r] = (loaded_turn & 1) != 0 ? loaded[(r + 1) % 3] : loaded[r];
  }
  int loaded_turned2[3];
  // loaded rotated by loaded_turn: step 2 of 2, by 2 where bit 1 is set
  #pragma unroll
  for (int r2 = 0; r2 < 3; ++r2) {
    loaded_turned2[r2] = (loaded_turn & 2) != 0 ? loaded_turned[(r2 + 2) % 3] : loaded_turned[r2];
  }
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    // hole 'column': (lane - i + 3) % 3
    columns[i] = loaded_turned2[(3 - i) % 3];
  }
  int out = 0;
  #pragma unroll
  for (int i = 0; i < 3; ++i) {
    // hole 'row': (lane * 3 + i) % 32
    const int got = __shfl_sync(0xffffffff, columns[i], lane * 3 + i);
    out = add_i32(out, got);
  }
  if (tile < tiles) {
    total[tile * 32 + lane] = out;
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_aos_sum_crc_3_i32(
    const int *__restrict__ src, int *__restrict__ total, int tiles, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size(tiles, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  aos_sum_crc_3_i32<<<grid_size, block_size, 0, stream>>>(src, total, tiles);
  return cudaGetLastError();
}
#endif
