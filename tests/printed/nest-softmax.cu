__device__ __forceinline__ float max_or_nan(float a, float b)
{
    float chosen;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(chosen) : "f"(a), "f"(b));
    return chosen;
}

// grid 3 x 1 x 1, block 48 x 1 x 1, 32 bytes of shared memory
extern "C" __global__ void __launch_bounds__(48)
softmax(const float* __restrict__ x, float* __restrict__ y)
{
    const int bx = blockIdx.x;  // block: 3
    const int tx = threadIdx.x;  // thread: 48
    const unsigned warp_mask = tx < 32 ? 0xffffffffu : 0x0000ffffu;
    __shared__ float partials[3];
    __shared__ float partials_2[3];
    const float* x_thread = x + bx * 96 + tx;
    float* y_thread = y + bx * 96 + tx;

    float high = __int_as_float(0xff800000);
    float row[2];
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        row[u] = x_thread[u * 48];
    }
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        high = max_or_nan(high, row[u]);
    }
    float highest = high;
    highest = max_or_nan(highest, __shfl_xor_sync(warp_mask, highest, 8));
    highest = max_or_nan(highest, __shfl_xor_sync(warp_mask, highest, 4));
    highest = max_or_nan(highest, __shfl_xor_sync(warp_mask, highest, 2));
    highest = max_or_nan(highest, __shfl_xor_sync(warp_mask, highest, 1));
    if (tx % 16 == 0) {
        partials[tx / 16] = highest;
    }
    __syncthreads();
    const float* totals = partials;
    highest = max_or_nan(max_or_nan(totals[0], totals[1]), totals[2]);
    float part = 0.0f;
    float power[2];
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        power[u] = row[u] - highest;
        power[u] = expf(power[u]);
        part += power[u];
    }
    float total = part;
    total += __shfl_xor_sync(warp_mask, total, 8);
    total += __shfl_xor_sync(warp_mask, total, 4);
    total += __shfl_xor_sync(warp_mask, total, 2);
    total += __shfl_xor_sync(warp_mask, total, 1);
    if (tx % 16 == 0) {
        partials_2[tx / 16] = total;
    }
    __syncthreads();
    const float* totals_2 = partials_2;
    total = (totals_2[0] + totals_2[1]) + totals_2[2];
    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        float out = power[u] / total;
        y_thread[u * 48] = out;
    }
}
