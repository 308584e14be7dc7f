// aos_store_crc_4_i32 of structs.py, completed by Warploom.
// 32-bit indices and the grid suffice for every tiles from 0 to 16777215.

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
  // hole 'column': (i - lane) % 4
  const int loaded_turn = -lane & 3;
  int loaded_turned[4];
  // loaded rotated by loaded_turn: step 1 of 2, by 1 where bit 0 is set
  #pragma unroll
  for (int r = 0; r < 4; ++r) {
    loaded_turned[r] = (loaded_turn & 1) != 0 ? loaded[(r + 1) & 3] : loaded[r];
  }
  // loaded rotated by loaded_turn: step 2 of 2, by 2 where bit 1 is set
  #pragma unroll
  for (int r2 = 0; r2 < 4; ++r2) {
    columns[r2] = (loaded_turn & 2) != 0 ? loaded_turned[(r2 + 2) & 3] : loaded_turned[r2];
  }
  #pragma unroll
  for (int i = 0; i < 4; ++i) {
    // hole 'row': lane * 4 % 32 + (i - lane * 4 // 32) % 4
    rows[i] = __shfl_sync(0xffffffff, columns[i], ((lane * 4) & 31) + ((i - ((lane * 4) >> 5)) & 3));
  }
  // hole 'column_after': (i + lane * 4 // 32) % 4
  const int rows_turn = (lane * 4) >> 5;
  int rows_turned[4];
  // rows rotated by rows_turn: step 1 of 2, by 1 where bit 0 is set
  #pragma unroll
  for (int r3 = 0; r3 < 4; ++r3) {
    rows_turned[r3] = (rows_turn & 1) != 0 ? rows[(r3 + 1) & 3] : rows[r3];
  }
  // rows rotated by rows_turn: step 2 of 2, by 2 where bit 1 is set
  #pragma unroll
  for (int r4 = 0; r4 < 4; ++r4) {
    out[r4] = (rows_turn & 2) != 0 ? rows_turned[(r4 + 2) & 3] : rows_turned[r4];
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
