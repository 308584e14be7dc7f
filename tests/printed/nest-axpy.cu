// grid 8 x 1 x 1, block 32 x 1 x 1
extern "C" __global__ void __launch_bounds__(32)
axpy(const float* __restrict__ x, float* __restrict__ y, float alpha)
{
    const int bx = blockIdx.x;  // block: 8
    const int tx = threadIdx.x;  // thread: 32
    const float* x_thread = x + (bx * 32 + tx) * 4;
    const int index = (bx * 32 + tx) * 4;
    float* y_thread = y + (bx * 32 + tx) * 4;

    float x_v[4];
    {
        const float4 lanes = index < 1000 ? *reinterpret_cast<const float4*>(x_thread) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        x_v[0] = lanes.x;
        x_v[1] = lanes.y;
        x_v[2] = lanes.z;
        x_v[3] = lanes.w;
    }
    float y_v[4];
    {
        const float4 lanes = index < 1000 ? *reinterpret_cast<const float4*>(y_thread) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        y_v[0] = lanes.x;
        y_v[1] = lanes.y;
        y_v[2] = lanes.z;
        y_v[3] = lanes.w;
    }
    float r[4];
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        r[v] = fmaf(alpha, x_v[v], y_v[v]);
    }
    if (index < 1000) {
        *reinterpret_cast<float4*>(y_thread) = make_float4(r[0], r[1], r[2], r[3]);
    }
}
