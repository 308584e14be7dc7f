"""CUDA C++ that makes NVRTC emit one kind of PTX after another."""

# ruff: noqa: E501 (CUDA)

INTRINSICS = r"""
extern "C" __global__ void warp(const int* x, int* y, unsigned long long* z) {
    int v = x[threadIdx.x], lane = threadIdx.x % 32;
    v += __shfl_xor_sync(0xffffffffu, v, 16);
    v += __shfl_up_sync(0xffffffffu, v, 3);
    v += __shfl_down_sync(0xffffffffu, v, 5, 8);
    v += __shfl_sync(0xffffffffu, v, (lane * 7) % 32);
    unsigned votes = __ballot_sync(0xffffffffu, v > 3);
    if (__any_sync(votes, v < 9)) v ^= __popc(votes) + __ffs(votes) + __clz(v) + __brev(v);
    if (__all_sync(__activemask(), v > 0)) v += __byte_perm(v, votes, 0x3210);
    v += __match_any_sync(0xffffffffu, v);
    int same;
    v += __match_all_sync(0xffffffffu, v, &same) + same;
    __syncwarp();
    double d = __shfl_sync(0xffffffffu, (double)v, 1);
    z[threadIdx.x] = __double_as_longlong(d) + __popcll(__double_as_longlong(d));
    v += __funnelshift_l(v, lane, 7) + __vadd4(v, lane) + __dp4a(v, lane, 3) + __sad(v, lane, 1u) + __umulhi(v, 77) + __mul24(v, 3);
    y[threadIdx.x] = v;
}
"""

REDUCE = r"""
extern "C" __global__ void reduce(const unsigned* x, unsigned* y) {
    unsigned v = x[threadIdx.x];
    y[threadIdx.x] = __reduce_add_sync(~0u, v) + __reduce_max_sync(~0u, v) + __reduce_xor_sync(~0u, v);
}
"""

SHARED = r"""
struct Pair { float a; short b[3]; double c; };
__constant__ float table[16] = {1.0f, 2.0f, 3.0f};
__constant__ Pair pairs[2] = {{1.0f, {2, 3, 4}, 5.0}, {6.0f, {7, 8, 9}, 0.1}};
__device__ int counter = 3;
__device__ const char words[] = "text \"quoted\" \n\t\\";
__device__ float* pointer;
extern __shared__ float dynamic[];
extern "C" __global__ void __launch_bounds__(256, 2) shared(const float* x, float* y, int n) {
    __shared__ float tile[32][33];
    __shared__ Pair mixed[4];
    int column = threadIdx.x;
    for (int row = threadIdx.y; row < 32; row += 8) tile[row][column] = x[row * n + column] * table[column & 15];
    if (threadIdx.y == 0) {
        if (column < 4) mixed[column] = pairs[column & 1];
        dynamic[column] = words[column % 16];
    }
    __syncthreads();
    for (int row = threadIdx.y; row < 32; row += 8) {
        float v = tile[column][row] + mixed[column & 3].b[1] + dynamic[31 - column];
        if (__syncthreads_or(v > 118.0f)) v += __syncthreads_count(v < 60.0f);
        __threadfence(); __threadfence_block(); __threadfence_system();
        if (pointer) pointer[counter] = v;
        y[row * n + column] = v;
    }
}
"""

ATOMICS = r"""
extern "C" __global__ void atomics(int* x, float* y, unsigned long long* z, double* w, unsigned* u) {
    __shared__ int here;
    if (threadIdx.x == 0) here = 0;
    __syncthreads();
    int old = atomicAdd(&here, 1);
    atomicAdd(x, 1); atomicSub(x + 1, old); atomicMin(x + 2, old); atomicMax(x + 3, old); atomicAnd(x + 4, old);
    atomicOr(x + 5, old); atomicXor(x + 6, old); x[7] = atomicExch(x + 8, old); x[9] = atomicCAS(x + 10, old, 5);
    u[0] = atomicInc(u + 1, 7u); u[2] = atomicDec(u + 3, 7u); u[4] = atomicAdd_block(u + 5, 3u); atomicAdd_system(u + 6, 3u);
    atomicAdd(y, 1.0f); y[1] = atomicAdd(y + 2, 2.0f); atomicAdd(w, 1.0); atomicAdd(z, 1ull); z[1] = atomicCAS(z + 2, 3ull, 4ull);
    volatile int* v = x; v[11] = v[12] + 1;
}
"""

VECTORS = r"""
extern "C" __global__ void vectors(const float4* __restrict__ a, const int2* b, const uchar4* c, const double2* d, const short2* e,
                                   float4* out, longlong2* wide, char4* bytes) {
    float4 v = a[threadIdx.x]; int2 w = b[threadIdx.x]; uchar4 x = c[threadIdx.x]; double2 y = d[threadIdx.x];
    short2 z = e[threadIdx.x];
    out[threadIdx.x] = make_float4(v.x + w.x, v.y + x.y, v.z + (float)y.x, v.w + z.y);
    wide[threadIdx.x] = make_longlong2(w.x, (long long)y.y);
    bytes[threadIdx.x] = make_char4(x.x, x.y, x.z, z.x);
    out[threadIdx.x + 32] = __ldcg(a + threadIdx.x); __stcs(out + 64 + threadIdx.x, __ldcs(a + 32 + threadIdx.x));
}
"""

ARITHMETIC = r"""
extern "C" __global__ void arithmetic(const float* f, const double* d, const int* i, const unsigned* u, const long long* l,
                                      const unsigned char* b, float* fo, double* dout, int* io, unsigned* uo, long long* lo) {
    int t = threadIdx.x;
    float x = f[t], y = f[t + 1]; double p = d[t], q = d[t + 1]; int m = i[t], n = i[t + 1]; unsigned v = u[t], w = u[t + 1];
    long long k = l[t], j = l[t + 1];
    fo += 10 * t; dout += 4 * t; io += 8 * t; uo += 7 * t; lo += 5 * t;
    fo[0] = x / y; fo[1] = sqrtf(x); fo[2] = rsqrtf(x); fo[3] = __fdividef(x, y); fo[4] = __sinf(x) + __cosf(y) + __expf(x);
    fo[5] = fminf(x, y) + fmaxf(x, y) + fabsf(x) + floorf(y) + ceilf(x) + truncf(y) + rintf(x); fo[6] = __fmaf_rz(x, y, 1.0f);
    fo[7] = copysignf(x, y) + (isnan(x) ? 1.0f : y) + exp2f(x) + log2f(y) + powf(x, y) + tanhf(x) + erff(x) + lgammaf(x);
    fo[8] = __fadd_ru(x, y) + __fmul_rd(x, y) + __frcp_rn(x) + __saturatef(y) + fmodf(x, y) + fminf(y, __int_as_float(0x7f800000)) + 1e-40f;
    dout[0] = p / q; dout[1] = sqrt(p) + sin(q) + exp(p) + cbrt(q); dout[2] = fma(p, q, 1.5) + floor(p) + __drcp_rn(q) + (float)p;
    io[0] = m / n; io[1] = m % n; io[2] = m >> (n & 31); io[3] = m / 7; io[4] = m % 12; io[5] = abs(m) + min(m, n) + max(m, n);
    io[6] = (int)x + __float2int_ru(y) + __double2int_rz(p) + __float_as_int(x) + (short)m + (signed char)n; io[7] = m > n ? t : ~m;
    uo[0] = v / w; uo[1] = v % w; uo[2] = v >> w; uo[3] = (unsigned)x + (unsigned)p + __float2uint_rn(y); uo[4] = v * w + b[t] + (v >> 3 & 31);
    uo[5] = __umulhi(v, w) + (v == w) + (v < 3 && w > 9 || m == n); uo[6] = (v & w) | (v ^ ~w);
    lo[0] = k / j; lo[1] = k % j; lo[2] = k * j + m; lo[3] = k >> 5 | j << 9; lo[4] = (long long)p + __mul64hi(k, j) + (long long)x;
    fo[9] = (float)m + (float)v + (float)k; dout[3] = (double)m + (double)v + (double)k + (double)x;
}
"""

HALVES = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void halves(const __half* a, const __half2* b, const __nv_bfloat16* c, const __nv_bfloat162* d,
                                  __half* ao, __half2* bo, __nv_bfloat16* co, __nv_bfloat162* eo) {
    int t = threadIdx.x;
    ao[t] = __hfma(a[t], a[t + 1], __float2half(0.5f)) / a[t + 2];
    ao[t + 32] = hsqrt(a[t]) + hexp(a[t]) + __hmax(a[t], a[t + 1]) + __int2half_rn(t) + (__hlt(a[t], a[t + 1]) ? a[t] : __habs(a[t + 1]));
    bo[t] = __hfma2(b[t], b[t + 1], b[t + 2]) + __hmul2(b[t], b[t]) - __hneg2(b[t]);
    bo[t + 32] = __shfl_xor_sync(~0u, b[t], 1);
    co[t] = __hadd(c[t], c[t + 1]) * __float2bfloat16(1.5f);
    eo[t] = __hfma2(d[t], d[t + 1], d[t + 2]);
}
"""

CALLS = r"""
typedef float (*Function)(float, int);
__device__ __noinline__ float twice(float x, int n) { return 2.0f * x + n; }
__device__ __noinline__ float thrice(float x, int n) { return n > 3 ? 3.0f * x : x; }
struct Big { float values[5]; double last; };
__device__ __noinline__ Big big(Big given, int n) { given.values[n % 5] += 1.0f; given.last *= 2; return given; }
__device__ __noinline__ void nothing(int* p) { *p += 1; }
__device__ Function functions[2] = {twice, thrice};
extern "C" __device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
extern "C" __global__ void calls(float* x, int* y, int n) {
    float v = functions[n & 1](x[threadIdx.x], n);
    Big b; for (int i = 0; i < 5; i++) b.values[i] = v + i; b.last = v;
    b = big(b, n);
    int local[8]; for (int i = 0; i < 8; i++) local[i] = y[i * n];
    nothing(&local[n & 7]);
    x[threadIdx.x] = b.values[n % 5] + (float)b.last + twice(v, n) + local[(n + 3) & 7] + factorial(n);
}
"""

CONTROL = r"""
extern "C" __global__ void control(const int* x, int* y, int n) {
    int t = threadIdx.x, v = x[t];
    switch (v) {
        case 0: y[0] = x[t + 1] * 3; break;
        case 1: y[t] = x[t + 2] / 5; v = x[t]; break;
        case 2: v -= t; y[5] = v; break;
        case 3: y[1] = 4; __syncwarp(); break;
        case 4: v ^= x[9]; break;
        case 5: y[t * 3] = v; return;
        case 6: v = n; x = y; // falls through
        case 7: v *= n; y[2] = v; break;
        case 8: y[3] = atomicAdd(y, 1); break;
        case 9: asm("trap;"); break;
        case 10: v = x[x[t]]; break;
        case 11: y[4] = __popc(v) * t; break;
        default: v = -1;
    }
    while (v > 0) { if (v == 13) break; v -= x[v & 15]; if (v & 1) continue; v >>= 1; }
    for (int i = 0; i < n; i++) { for (int j = i; j < n; j += 3) { if (x[j] > t) goto out; v += x[i] * j; } }
out:
    y[t] = v;
}
"""

ASSEMBLY = r"""
extern "C" __global__ void assembly(unsigned* x, float* f) {
    unsigned lane, mask, v = x[threadIdx.x], special; unsigned long long clock, address; float g;
    asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm volatile("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
    asm volatile("{ .reg .pred p, q; .reg .u32 t<3>; setp.lt.u32 p|q, %1, 7; @p add.u32 %0, %1, 1; @!p mov.u32 %0, %2;\n\t"
                 "mov.b32 t0, 0x10; add.u32 %0, %0, t0; }" : "=r"(special) : "r"(v), "r"(lane));
    asm volatile("// a comment\n\t/* another ; one */ mov.u64 %0, %%globaltimer;" : "=l"(clock));
    asm("lop3.b32 %0, %0, %1, %2, 0xE8;" : "+r"(v) : "r"(lane), "r"(mask));
    asm("prmt.b32.f4e %0, %0, %1, %2;" : "+r"(v) : "r"(lane), "r"(mask));
    asm("bfe.u32 %0, %0, 3, 5;\n\tbfi.b32 %0, %0, %1, 4, 8;" : "+r"(v) : "r"(mask));
    asm("cvta.to.global.u64 %0, %1;" : "=l"(address) : "l"(x));
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(g) : "f"(f[0]));
    asm volatile("st.global.cs.v2.u32 [%0+8], {%1, %2};" :: "l"(address), "r"(v), "r"(special) : "memory");
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(address));
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" :: "l"(address), "r"(v) : "memory");
    asm volatile("{\n.reg .b32 lo, hi;\nmov.b64 {lo, hi}, %1;\nmov.b64 %0, {hi, lo};\n}" : "=l"(clock) : "l"(clock));
    asm volatile("bar.sync 1, 64;\n\tbarrier.cta.arrive 2, 128;");
    x[threadIdx.x] = v + special + (unsigned)clock; f[1] = g;
}
"""

PIPELINE = r"""
#include <cuda_pipeline.h>
#include <mma.h>
extern "C" __global__ void pipeline(const float4* x, float4* y) {
    __shared__ float4 tile[2][32];
    for (int s = 0; s < 2; s++) { __pipeline_memcpy_async(&tile[s][threadIdx.x], x + s * 32 + threadIdx.x, 16); __pipeline_commit(); }
    __pipeline_wait_prior(1); __syncthreads();
    y[threadIdx.x] = tile[0][31 - threadIdx.x];
    __pipeline_wait_prior(0); __syncthreads();
    y[threadIdx.x + 32] = tile[1][31 - threadIdx.x];
}
"""

MATRIX = r"""
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void matrix(const half* a, const half* b, float* c, const unsigned* s, unsigned* o) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    wmma::load_matrix_sync(fa, a, 16); wmma::load_matrix_sync(fb, b, 16);
    wmma::mma_sync(fc, fa, fb, fc);
    wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
    __shared__ __align__(16) unsigned tile[256];
    tile[threadIdx.x] = s[threadIdx.x]; __syncwarp();
    unsigned r0, r1, r2, r3, at = (unsigned)__cvta_generic_to_shared(tile + threadIdx.x % 8 * 4);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r2), "=r"(r3) : "r"(at));
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0; int e0, e1, e2, e3;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(r0), "r"(r1));
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(r0), "r"(r1));
    asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %10, %10, %10};"
        : "=r"(e0), "=r"(e1), "=r"(e2), "=r"(e3) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(r0), "r"(r1), "r"(0));
    o[threadIdx.x] = r0 + r1 + r2 + r3 + (unsigned)(d0 + d1 + d2 + d3) + e0 + e1 + e2 + e3;
}
"""

HOPPER = r"""
extern "C" __global__ void __cluster_dims__(2, 1, 1) hopper(const float* x, float* y) {
    __shared__ __align__(128) float tile[256];
    __shared__ __align__(8) unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(tile), b = (unsigned)__cvta_generic_to_shared(&bar), leader, there;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(leader));
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b));
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" :: "r"(b) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, [%2];"
            :: "r"(at), "l"(x), "r"(b) : "memory");
    }
    asm volatile("{\n.reg .pred P1;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], 0;\n@P1 bra DONE;\nbra WAIT;\nDONE:\n}" :: "r"(b));
    asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"(at));
    asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;");
    float v;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there));
    asm volatile("fence.proxy.async.shared::cta;\n\tsetmaxnreg.dec.sync.aligned.u32 40;\n\tgriddepcontrol.wait;");
    y[threadIdx.x] = v + leader + tile[threadIdx.x];
}
"""

TEXTURES = r"""
extern "C" __global__ void textures(cudaTextureObject_t t, cudaSurfaceObject_t s, float4* y, int n) {
    float4 v = tex2D<float4>(t, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
    float w = tex1Dfetch<float>(t, n) + tex3D<float>(t, 1.0f, 2.0f, 3.0f) + tex2DLod<float>(t, 0.5f, 0.5f, 2.0f);
    float4 g = tex2Dgather<float4>(t, 0.5f, 0.5f, 1);
    int r; surf2Dread(&r, s, threadIdx.x * 4, threadIdx.y); surf2Dwrite(r + 1, s, threadIdx.x * 4, threadIdx.y, cudaBoundaryModeClamp);
    y[threadIdx.x] = make_float4(v.x + w, v.y + g.x, v.z + r, v.w);
}
"""

TEMPLATES = r"""
namespace lib { template <int N> struct Poly { float c[N]; __device__ float operator()(float x) const {
    float s = 0; for (int i = N - 1; i >= 0; i--) s = s * x + c[i]; return s; } }; }
template <typename T, int N> __global__ void __launch_bounds__(128) poly(const T* x, T* y, const __grid_constant__ lib::Poly<N> p) {
    y[threadIdx.x] = p(x[threadIdx.x]);
}
template __global__ void poly<float, 5>(const float*, float*, const __grid_constant__ lib::Poly<5>);
struct alignas(16) Args { char a; short b; int c[3]; double d; const float* p; };
__global__ void arguments(Args a, bool flag, char letter, unsigned short small, float* out) {
    if (flag) out[a.c[threadIdx.x % 3]] = a.d + a.p[a.b] + letter + small;
}
__managed__ int managed = 5;
extern "C" __global__ void empty() {}
extern "C" __global__ void printing(int n) { if (n > 3) printf("%d of %s\n", n, "many"); assert(n < 9); }
"""

SOURCES: dict[str, tuple[str, int]] = {
    "warp": (INTRINSICS, 75), "reduce": (REDUCE, 80), "shared": (SHARED, 75), "atomics": (ATOMICS, 75), "vectors": (VECTORS, 75),
    "arithmetic": (ARITHMETIC, 75), "halves": (HALVES, 80), "calls": (CALLS, 75), "control": (CONTROL, 75),
    "assembly": (ASSEMBLY, 75), "pipeline": (PIPELINE, 80), "matrix": (MATRIX, 80), "hopper": (HOPPER, 90),
    "textures": (TEXTURES, 75), "templates": (TEMPLATES, 75),
}  # fmt: skip
"""Name: text, oldest capability."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "": (), "lineinfo": ("-lineinfo",), "debug": ("-G",), "fast": ("--use_fast_math",), "relocatable": ("--relocatable-device-code=true",),
}  # fmt: skip
