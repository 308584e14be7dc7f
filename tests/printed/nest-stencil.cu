// grid 2 x 1 x 1, block 32 x 1 x 1
extern "C" __global__ void __launch_bounds__(32)
stencil(const float* __restrict__ x, float* __restrict__ y)
{
    const int bx = blockIdx.x;  // block: 2
    const int tx = threadIdx.x;  // thread: 32
    const float* x_thread = x + bx * 64 + tx;
    const int index = bx * 64 + tx;
    float* y_thread = y + bx * 64 + tx;

    #pragma unroll
    for (int u = 0; u < 2; ++u) {
        float x_v[3];
        #pragma unroll
        for (int w = 0; w < 3; ++w) {
            x_v[w] = unsigned(index + u * 32 + w - 1) < 100u && index + u * 32 < 100 ? x_thread[u * 32 + w - 1] : 0.0f;
        }
        float s = x_v[0] + x_v[1];
        s += x_v[2];
        s = s / 3.0f;
        if (index + u * 32 < 100) {
            y_thread[u * 32] = s;
        }
    }
}
