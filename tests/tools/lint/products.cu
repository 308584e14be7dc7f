// Pipelines of wgmma and bulk copies; each macro plants one mistake. 64x8 products of halves, steps of 64 along k.
#include <cuda_fp16.h>
#include <stdint.h>

__device__ uint32_t at(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ void arrive() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> __device__ void wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory"); }
__device__ void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void keep(float (&d)[4]) {
  for (int i = 0; i < 4; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
__device__ uint64_t matrix(const void* p) {  // 128-byte swizzle, along k
  return ((uint64_t)(at(p) & 0x3FFFF) >> 4) | ((uint64_t)1 << 16) | ((uint64_t)64 << 32) | ((uint64_t)1 << 62);
}
__device__ void multiply(float (&d)[4], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(a), "l"(b));
}
__device__ void multiply(float (&d)[4], uint32_t (&a)[4], uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// All threads fill two stages in turn; one group of products may be going on meanwhile.
extern "C" __global__ void filled(const half* a, const half* b, float* out, int steps) {
  __shared__ alignas(1024) half sa[2][64 * 64], sb[2][8 * 64];
  float d[4] = {0, 0, 0, 0};
  for (int k = 0; k < steps; ++k) {
#ifdef ONE_STAGE
    const int stage = 0;
#else
    const int stage = k & 1;
#endif
    for (int i = threadIdx.x; i < 64 * 64; i += 128) sa[stage][i] = a[k * 4096 + i];  // filled
    for (int i = threadIdx.x; i < 8 * 64; i += 128) sb[stage][i] = b[k * 512 + i];
#ifndef NO_PROXY_FENCE
    proxy_fence();
#endif
    __syncthreads();
#ifndef NO_FENCE
    arrive();
#endif
    for (int j = 0; j < 4; ++j) multiply(d, matrix(sa[stage] + 16 * j), matrix(sb[stage] + 16 * j));
    commit();
    wait<1>();
    __syncthreads();
  }
#ifndef NO_WAIT
  wait<0>();
#endif
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];  // written
}

// A in registers and sums that are scaled between products, as attention has them.
extern "C" __global__ void scaled(const half* a, const half* b, float* out, int steps) {
  __shared__ alignas(1024) half sb[8 * 64];
  float d[4] = {0, 0, 0, 0};
  for (int i = threadIdx.x; i < 8 * 64; i += 128) sb[i] = b[i];
  proxy_fence();
  __syncthreads();
  for (int k = 0; k < steps; ++k) {
    float s[4] = {0, 0, 0, 0};
    uint32_t q[4], p[4];
    for (int i = 0; i < 4; ++i) q[i] = ((const uint32_t*)a)[k * 512 + threadIdx.x * 4 + i];
    arrive();
    multiply(s, q, matrix(sb));
    commit();
#ifndef NO_WAIT
    wait<0>();
#endif
    float most = fmaxf(fmaxf(s[0], s[1]), fmaxf(s[2], s[3]));  // used
    for (int i = 0; i < 4; ++i) d[i] *= most;
    for (int i = 0; i < 4; ++i) {
      half2 both = __floats2half2_rn(exp2f(s[i] - most), exp2f(s[3 - i] - most));
      p[i] = *(uint32_t*)&both;
    }
#ifndef NO_FENCE
    arrive();
#endif
    for (int j = 0; j < 2; ++j) multiply(d, p, matrix(sb + 16 * j));
    commit();
    wait<0>();
  }
  for (int i = 0; i < 4; ++i) out[threadIdx.x * 4 + i] = d[i];
}

__device__ void init(uint64_t* b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at(b)), "r"(n) : "memory"); }
__device__ void release(uint64_t* b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at(b)) : "memory"); }
__device__ void until(uint64_t* b, int parity) {
  asm volatile("{\n.reg .pred P;\nL: mbarrier.try_wait.parity.shared::cta.b64 P, [%0], %1;\n@P bra D;\nbra L;\nD:\n}" ::"r"(at(b)),
               "r"(parity) : "memory");
}
__device__ void load(void* to, const void* from, int n, uint64_t* b) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at(b)), "r"(n) : "memory");
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at(to)), "l"(from),
               "r"(n), "r"(at(b)) : "memory");
}

// A warp loads, a warpgroup multiplies, one of whose threads says that a stage may be filled again; the result goes out by a bulk copy.
extern "C" __global__ void specialised(const half* a, const half* b, float* out, int steps) {
  __shared__ alignas(1024) half sa[2][64 * 64], sb[2][8 * 64];
  __shared__ alignas(16) float so[128 * 4];
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x == 0) {
    for (int i = 0; i < 2; ++i) init(full + i, 2), init(empty + i, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 128) {
    for (int k = 0; k < steps; ++k) {
      until(empty + (k & 1), (k >> 1 & 1) ^ 1);
      load(sa[k & 1], a + k * 4096, 8192, full + (k & 1));  // loaded
      load(sb[k & 1], b + k * 512, 1024, full + (k & 1));
    }
  }
  if (threadIdx.x >= 128) return;
  float d[4] = {0, 0, 0, 0};
  for (int k = 0; k < steps; ++k) {
    until(full + (k & 1), k >> 1 & 1);
    keep(d);
    arrive();
    for (int j = 0; j < 4; ++j) multiply(d, matrix(sa[k & 1] + 16 * j), matrix(sb[k & 1] + 16 * j));
    commit();
    keep(d);
    wait<1>();
#ifdef EARLY_RELEASE
    if (threadIdx.x == 0) release(empty + (k & 1));
#else
    if (threadIdx.x == 0 && k > 0) release(empty + ((k - 1) & 1));
#endif
  }
  wait<0>();
  keep(d);
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i) so[threadIdx.x * 4 + i] = d[i] + half;  // staged
#ifndef NO_PROXY_FENCE
    proxy_fence();
#endif
    asm volatile("bar.sync 1, 128;" ::: "memory");
    if (threadIdx.x == 0) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + 512 * half), "r"(at(so)), "r"(2048) : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#ifndef NO_WAIT
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
#endif
    }
    asm volatile("bar.sync 1, 128;" ::: "memory");
  }
}
