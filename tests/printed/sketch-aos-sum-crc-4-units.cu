// aos_sum_crc_1_int4 of structs.py, completed by Warploom.
// 32-bit indices and the grid suffice for every tiles from 0 to 67108863.

static __device__ __forceinline__ int add_i32(int a, int b) {
  return (int)((unsigned)a + (unsigned)b);
}

extern "C" __global__ void __launch_bounds__(32)
aos_sum_crc_1_int4(const int4 *__restrict__ src, int *__restrict__ total, int tiles) {
  const int lane = threadIdx.x;
  const int tile = blockIdx.x;
  int4 loaded[1];
  int4 columns[1];
  // wl.global_to_register(src, loaded, offset=32 * S * tile)
  for (int round = 0; round < 1; ++round) {
    const int at = tile * 32 + lane;
    loaded[0] = at < tiles * 32 ? src[at] : make_int4(0, 0, 0, 0);
  }
  for (int i = 0; i < 1; ++i) {
    // hole 'column': 0
    columns[0] = loaded[0];
  }
  int out = 0;
  for (int i = 0; i < 1; ++i) {
    // hole 'row': lane
    const int4 got = columns[0];
    out = add_i32(out, got.x);
    out = add_i32(out, got.y);
    out = add_i32(out, got.z);
    out = add_i32(out, got.w);
  }
  if (tile < tiles) {
    total[tile * 32 + lane] = out;
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_aos_sum_crc_1_int4(
    const int4 *__restrict__ src, int *__restrict__ total, int tiles, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size(tiles, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  aos_sum_crc_1_int4<<<grid_size, block_size, 0, stream>>>(src, total, tiles);
  return cudaGetLastError();
}
#endif
