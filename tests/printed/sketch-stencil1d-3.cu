// stencil1d_3 of line.py, completed by Warploom.
// 32-bit indices and the grid suffice for every n from 0 to 2147480967.

static __device__ __forceinline__ float divided_by_3(float a) {
  const float q = __fmul_rn(a, 0.33333334f);
  const float excess = fmaxf(__fmaf_rn(q, 3.0f, -a), -3.4028235e+38f);
  return __fmaf_rn(-excess, 0.33333334f, q);
}

extern "C" __global__ void __launch_bounds__(128)
stencil1d_3(const float *__restrict__ x, float *__restrict__ y, int n) {
  const int thread = threadIdx.x;
  const int block = blockIdx.x;
  const int lane = thread & 31;
  const int whole = n >> 9;
  const int global_id = block * 128 + thread;
  if (block < whole) {
    const int first = (global_id - lane) * 4;
    float inp[8];
    const float4 inp_4 = reinterpret_cast<const float4 *>(x)[global_id];
    inp[0] = inp_4.x;
    inp[1] = inp_4.y;
    inp[2] = inp_4.z;
    inp[3] = inp_4.w;
    #pragma unroll
    for (int i = 0; i < 2; ++i) {
      inp[i + 4] = x[first + i + 128];
    }
    float out[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    #pragma unroll
    for (int j2 = 0; j2 < 4; ++j2) {
      // hole 'row': 0 if lane >= 1 else 1
      const float sent2 = inp[j2];
      // hole 'lane': (lane + 1) % 32
      const float got2 = sent2;
      #pragma unroll
      for (int k2 = 0; k2 < min(3, j2 + 1); ++k2) {
        out[j2 - k2] += got2;
      }
    }
    #pragma unroll
    for (int j = 4; j < 6; ++j) {
      const float sent = lane >= 1 ? inp[j - 4] : inp[j];
      const float got = __shfl_sync(0xffffffff, sent, lane + 1);
      #pragma unroll
      for (int k = j - 3; k < 3; ++k) {
        out[j - k] += got;
      }
    }
    reinterpret_cast<float4 *>(y)[global_id] = make_float4(divided_by_3(out[0]), divided_by_3(out[1]), divided_by_3(out[2]), divided_by_3(out[3]));
  } else {
    const int at = global_id + whole * 384;
    if (at < n) {
      float mean = 0.0f;
      #pragma unroll
      for (int k = 0; k < 3; ++k) {
        mean += x[at + k];
      }
      y[at] = divided_by_3(mean);
    }
  }
}

#ifndef __CUDACC_RTC__
#include <cuda_runtime.h>

inline cudaError_t launch_stencil1d_3(
    const float *__restrict__ x, float *__restrict__ y, int n, cudaStream_t stream = nullptr) {
  if (reinterpret_cast<size_t>(x) % 16 != 0 || reinterpret_cast<size_t>(y) % 16 != 0) {
    return cudaErrorMisalignedAddress;
  }
  const dim3 block_size(128, 1, 1);
  const dim3 grid_size(n / 512 + (n % 512 + 127) / 128, 1, 1);
  if (grid_size.x == 0) {
    return cudaSuccess;  // nothing to do
  }
  stencil1d_3<<<grid_size, block_size, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
#endif
