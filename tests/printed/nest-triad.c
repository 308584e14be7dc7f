/* triad: units 9, scratch 0 bytes per thread */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

typedef ptrdiff_t Index;
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8_any __attribute__((vector_size(32), aligned(4), may_alias));

static inline __attribute__((always_inline)) f32x8 load_f32x8(const float *from) {
    return *(const f32x8_any *)from;
}

static inline __attribute__((always_inline)) void stream_f32x8(float *to, f32x8 value) {
#ifdef __AVX__
    if (((uintptr_t)to & 31) == 0) { _mm256_stream_ps(to, value); return; }
#endif
    *(f32x8_any *)to = value;
}

static inline __attribute__((always_inline)) f32x8 splat_f32x8(float x) {
    return (f32x8){x, x, x, x, x, x, x, x};
}

static inline __attribute__((always_inline)) f32x8 load_part_f32x8(const float *from, Index first, Index last, float fill) {
#ifdef __AVX512VL__
    const unsigned lanes = ((1u << (last < 0 ? 0 : last > 8 ? 8 : last)) - 1) & ~((1u << (first < 0 ? 0 : first > 8 ? 8 : first)) - 1);
    return _mm256_mask_loadu_ps(splat_f32x8(fill), lanes, from);
#else
    f32x8 part = splat_f32x8(fill);
    for (Index n = 0; n < 8; ++n)
        if (first <= n && n < last) part[n] = from[n];
    return part;
#endif
}

static inline __attribute__((always_inline)) void store_part_f32x8(float *to, Index first, Index last, f32x8 value) {
#ifdef __AVX512VL__
    const unsigned lanes = ((1u << (last < 0 ? 0 : last > 8 ? 8 : last)) - 1) & ~((1u << (first < 0 ? 0 : first > 8 ? 8 : first)) - 1);
    _mm256_mask_storeu_ps(to, lanes, value); return;
#else
    for (Index n = 0; n < 8; ++n)
        if (first <= n && n < last) to[n] = value[n];
#endif
}

static void kernel(const float *restrict x, const float *restrict y, float *restrict z, const float alpha, Index begin, Index end, char *scratch) {
    f32x8 xb_0, xb_1;
    f32x8 yb_0, yb_1;
    f32x8 zb_0, zb_1;
    for (Index unit = begin; unit < end; ++unit) {
        const Index block = unit;
        {
            Index i_from = 0, i_to = 4;
            if (i_to > (-block*64 + 517) / 16) i_to = (-block*64 + 517) / 16;
            if (i_to < i_from) i_to = i_from;
            for (Index i = i_from; i < i_to; ++i) {
                xb_0 = load_f32x8(x + block*64 + i*16);
                yb_0 = load_f32x8(y + block*64 + i*16);
                zb_0 = alpha * xb_0 + yb_0;
                stream_f32x8(z + block*64 + i*16, zb_0);
                xb_1 = load_f32x8(x + block*64 + i*16 + 8);
                yb_1 = load_f32x8(y + block*64 + i*16 + 8);
                zb_1 = alpha * xb_1 + yb_1;
                stream_f32x8(z + block*64 + i*16 + 8, zb_1);
            }
            for (Index i = i_to; i < 4; ++i) {
                xb_0 = load_part_f32x8(x + block*64 + i*16, 0, -block*64 - i*16 + 517, 0.0f);
                yb_0 = load_part_f32x8(y + block*64 + i*16, 0, -block*64 - i*16 + 517, 0.0f);
                zb_0 = alpha * xb_0 + yb_0;
                store_part_f32x8(z + block*64 + i*16, 0, -block*64 - i*16 + 517, zb_0);
                xb_1 = load_part_f32x8(x + block*64 + i*16 + 8, 0, -block*64 - i*16 + 509, 0.0f);
                yb_1 = load_part_f32x8(y + block*64 + i*16 + 8, 0, -block*64 - i*16 + 509, 0.0f);
                zb_1 = alpha * xb_1 + yb_1;
                store_part_f32x8(z + block*64 + i*16 + 8, 0, -block*64 - i*16 + 509, zb_1);
            }
        }
    }
    (void)begin, (void)end, (void)scratch;
}

void warploom_kernel(void *const *arrays, const double *parameters, Index begin, Index end, char *scratch) {
    (void)arrays, (void)parameters;
    kernel(arrays[0], arrays[1], arrays[2], (float)parameters[0], begin, end, scratch);
}
