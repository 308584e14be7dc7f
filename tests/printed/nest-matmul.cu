// grid 2 x 2 x 1, block 8 x 8 x 1, 2048 bytes of shared memory
extern "C" __global__ void __launch_bounds__(64)
matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C)
{
    const int bx = blockIdx.x;  // n: 2
    const int by = blockIdx.y;  // m: 2
    const int tx = threadIdx.x;  // n1, load_k, load_n: 8
    const int ty = threadIdx.y;  // m1, load_m, load_row: 8
    __shared__ __align__(16) float A_tile[256];
    __shared__ __align__(16) float B_tile[256];
    const float* A_thread = A + by * 1024 + ty * 32 + tx;
    float* A_tile_thread = A_tile + tx * 32 + ty;
    const float* B_thread = B + (ty * 16 + bx * 8 + tx) * 4;
    float* B_tile_thread = B_tile + (ty * 8 + tx) * 4;
    float* A_tile_thread_2 = A_tile + ty * 4;
    float* B_tile_thread_2 = B_tile + tx * 4;
    float* C_thread = C + (by * 8 + ty) * 256 + (bx * 8 + tx) * 4;

    float c[4][4];
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
        #pragma unroll
        for (int u_2 = 0; u_2 < 4; ++u_2) {
            c[u][u_2] = 0.0f;
        }
    }
    #pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        const float* A_k = A_thread + k * 8;
        const float* B_k = B_thread + k * 512;
        #pragma unroll
        for (int part = 0; part < 4; ++part) {
            float a_copy = A_k[part * 256];
            A_tile_thread[part * 8] = a_copy;
        }
        float b_copy[4];
        {
            const float4 lanes = *reinterpret_cast<const float4*>(B_k);
            b_copy[0] = lanes.x;
            b_copy[1] = lanes.y;
            b_copy[2] = lanes.z;
            b_copy[3] = lanes.w;
        }
        *reinterpret_cast<float4*>(B_tile_thread) = make_float4(b_copy[0], b_copy[1], b_copy[2], b_copy[3]);
        __syncthreads();
        #pragma unroll
        for (int kk = 0; kk < 8; ++kk) {
            float a[4];
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                a[u] = A_tile_thread_2[kk * 32 + u];
            }
            float b[4];
            {
                const float4 lanes = *reinterpret_cast<const float4*>(B_tile_thread_2 + kk * 32);
                b[0] = lanes.x;
                b[1] = lanes.y;
                b[2] = lanes.z;
                b[3] = lanes.w;
            }
            #pragma unroll
            for (int u = 0; u < 4; ++u) {
                #pragma unroll
                for (int u_2 = 0; u_2 < 4; ++u_2) {
                    c[u][u_2] = fmaf(a[u], b[u_2], c[u][u_2]);
                }
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
        #pragma unroll
        for (int u_2 = 0; u_2 < 4; ++u_2) {
            C_thread[u * 64 + u_2] = c[u][u_2];
        }
    }
}
