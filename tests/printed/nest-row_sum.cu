// grid 3 x 1 x 1, block 64 x 2 x 1, 16 bytes of shared memory
extern "C" __global__ void __launch_bounds__(128)
row_sum(const float* __restrict__ x, float* __restrict__ y)
{
    const int bx = blockIdx.x;  // block: 3
    const int tx = threadIdx.x;  // thread: 64
    const int ty = threadIdx.y;  // row: 2
    __shared__ float partials[4];
    const float* x_thread = x + (bx * 2 + ty) * 200 + tx * 2;
    const int index = tx * 2;
    float* y_thread = y + bx * 2 + ty;

    float part[2];
    #pragma unroll
    for (int v = 0; v < 2; ++v) {
        part[v] = 0.0f;
    }
    #pragma unroll 1
    for (int step = 0; step < 2; ++step) {
        const float* x_step = x_thread + step * 128;
        const int index_step = index + step * 128;
        float x_v[2];
        {
            const float2 lanes = index_step < 200 ? *reinterpret_cast<const float2*>(x_step) : make_float2(0.0f, 0.0f);
            x_v[0] = lanes.x;
            x_v[1] = lanes.y;
        }
        #pragma unroll
        for (int v = 0; v < 2; ++v) {
            part[v] += x_v[v];
        }
    }
    float total = part[0] + part[1];
    total += __shfl_xor_sync(0xffffffffu, total, 16);
    total += __shfl_xor_sync(0xffffffffu, total, 8);
    total += __shfl_xor_sync(0xffffffffu, total, 4);
    total += __shfl_xor_sync(0xffffffffu, total, 2);
    total += __shfl_xor_sync(0xffffffffu, total, 1);
    if (tx % 32 == 0) {
        partials[ty * 2 + tx / 32] = total;
    }
    __syncthreads();
    const float* totals = partials + ty * 2;
    total = totals[0] + totals[1];
    if (tx == 0) {
        y_thread[0] = total;
    }
}
