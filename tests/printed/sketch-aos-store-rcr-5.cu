// aos_store_rcr_5_i32 of structs.py, completed by Warploom.
// 32-bit indices and the grid suffice for every tiles from 0 to 13421772.

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
  const int loaded_turn = lane * 2 % 5;
  int loaded_turned[5];
  // loaded rotated by loaded_turn: step 1 of 3, by 1 where bit 0 is set
  #pragma unroll
  for (int r = 0; r < 5; ++r) {
    loaded_turned[r] = (loaded_turn & 1) != 0 ? loaded[(r + 1) % 5] : loaded[r];
  }
  int loaded_turned2[5];
  // loaded rotated by loaded_turn: step 2 of 3, by 2 where bit 1 is set
  #pragma unroll
  for (int r2 = 0; r2 < 5; ++r2) {
    loaded_turned2[r2] = (loaded_turn & 2) != 0 ? loaded_turned[(r2 + 2) % 5] : loaded_turned[r2];
  }
  int loaded_turned3[5];
  // loaded rotated by loaded_turn: step 3 of 3, by 4 where bit 2 is set
  #pragma unroll
  for (int r3 = 0; r3 < 5; ++r3) {
    loaded_turned3[r3] = (loaded_turn & 4) != 0 ? loaded_turned2[(r3 + 4) % 5] : loaded_turned2[r3];
  }
  #pragma unroll
  for (int i = 0; i < 5; ++i) {
    // hole 'column': (i * 3 + lane * 2) % 5
    out[i] = loaded_turned3[i * 3 % 5];
  }
  // wl.register_to_global(out, dst, offset=first, shuffle=lambda lane, round: wl.xform(lane, 32, round, name='store'))
  #pragma unroll
  for (int round_2 = 0; round_2 < 5; ++round_2) {
    // hole 'store': ((round * 3 + lane * 2) % 5 * 32 + lane) // 5
    const int at_2 = first + round_2 * 32 + ((round_2 * 3 + lane * 2) % 5 * 32 + lane) / 5;
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
