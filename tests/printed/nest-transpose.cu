template <int Bits, int Base, int Shift>
__device__ __forceinline__ int swizzled(int index)
{
    return index ^ (index >> (Base + Shift) & (1 << Bits) - 1) << Base;
}

// grid 2 x 2 x 1, block 32 x 8 x 1, 4096 bytes of shared memory
extern "C" __global__ void __launch_bounds__(256)
transpose(const float* __restrict__ A, float* __restrict__ B)
{
    const int bx = blockIdx.x;  // n: 2
    const int by = blockIdx.y;  // m: 2
    const int tx = threadIdx.x;  // thread: 32
    const int ty = threadIdx.y;  // thread: 8
    __shared__ __align__(16) float tile[1024];
    const float* A_thread = A + by * 2048 + ty * 64 + bx * 32 + tx;
    const int tile_index = ty * 32 + tx;
    const int tile_index_2 = tx * 32 + ty;
    float* B_thread = B + bx * 2048 + ty * 64 + by * 32 + tx;

    #pragma unroll
    for (int u = 0; u < 4; ++u) {
        float a = __ldg(A_thread + u * 512);
        tile[swizzled<5, 0, 5>(tile_index) ^ swizzled<5, 0, 5>(u * 256)] = a;
    }
    __syncthreads();
    #pragma unroll
    for (int u = 0; u < 4; ++u) {
        float b = tile[swizzled<5, 0, 5>(tile_index_2) ^ swizzled<5, 0, 5>(u * 8)];
        __stcs(B_thread + u * 512, b);
    }
}
