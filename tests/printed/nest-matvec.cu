// grid 2 x 1 x 1, block 48 x 1 x 1, 48 bytes of shared memory
extern "C" __global__ void __launch_bounds__(48)
matvec(const float* __restrict__ A, const float* __restrict__ x, float* __restrict__ y)
{
    const int bx = blockIdx.x;  // block: 2
    const int tx = threadIdx.x;  // thread: 48
    const unsigned warp_mask = tx < 32 ? 0xffffffffu : 0x0000ffffu;
    __shared__ float partials[9];
    const float* x_thread = x + tx;
    const float* A_thread = A + bx * 288 + tx;
    float* y_block = y + bx * 3;

    float part[3];
    #pragma unroll
    for (int row = 0; row < 3; ++row) {
        part[row] = 0.0f;
    }
    #pragma unroll 1
    for (int step = 0; step < 2; ++step) {
        const float* x_step = x_thread + step * 48;
        const float* A_step = A_thread + step * 48;
        float x_v = x_step[0];
        #pragma unroll
        for (int row = 0; row < 3; ++row) {
            float a = A_step[row * 96];
            part[row] = fmaf(a, x_v, part[row]);
        }
    }
    #pragma unroll
    for (int row = 0; row < 3; ++row) {
        float total = part[row];
        total += __shfl_xor_sync(warp_mask, total, 8);
        total += __shfl_xor_sync(warp_mask, total, 4);
        total += __shfl_xor_sync(warp_mask, total, 2);
        total += __shfl_xor_sync(warp_mask, total, 1);
        if (tx % 16 == 0) {
            partials[row * 3 + tx / 16] = total;
        }
        __syncthreads();
        const float* totals = partials + row * 3;
        total = (totals[0] + totals[1]) + totals[2];
        if (tx == 0) {
            y_block[row] = total;
        }
    }
}
