// conv1d_3 of line.py, completed by Warploom.
// 32-bit indices and the grid suffice for every n from 0 to 2147483333.

extern "C" __global__ void __launch_bounds__(32)
conv1d_3(const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int n) {
  const int lane = threadIdx.x;
  const int block = blockIdx.x;
  const int first = (block * 32 + lane - lane) * 4;
  float inp[5];
  // wl.global_to_register(x, inp, offset=first, size=min(first + 32 * OUT + K - 1, n + K - 1))
  #pragma unroll
  for (int round = 0; round < 5; ++round) {
    const int at = first + round * 32 + lane;
    inp[round] = at < min(first + 130, n + 2) ? x[at] : 0.0f;
  }
  float out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  for (int k = 0; k < 3; ++k) {
    #pragma unroll
    for (int o = 0; o < 4; ++o) {
      // hole 'row': 0 if lane >= k else 1
      const float sent = lane >= k ? inp[o] : inp[o + 1];
      // hole 'lane': (lane + k) % 32
      const float got = __shfl_sync(0xffffffff, sent, lane + k);
      // hole 'weight': k
      out[o] += w[k] * got;
    }
  }
  #pragma unroll
  for (int o = 0; o < 4; ++o) {
    if (first + o * 32 + lane < n) {
      y[first + o * 32 + lane] = out[o];
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_conv1d_3(
    const float *__restrict__ x, const float *__restrict__ w, float *__restrict__ y, int n, cudaStream_t stream = nullptr) {
  const dim3 block_size(32, 1, 1);
  const dim3 grid_size((n + 127) / 128, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  conv1d_3<<<grid_size, block_size, 0, stream>>>(x, w, y, n);
  return cudaGetLastError();
}
#endif
