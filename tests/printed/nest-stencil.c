/* stencil: units 7, scratch 0 bytes per thread */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

typedef ptrdiff_t Index;
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4_any __attribute__((vector_size(16), aligned(4), may_alias));

static inline __attribute__((always_inline)) f32x4 load_f32x4(const float *from) {
    return *(const f32x4_any *)from;
}

static inline __attribute__((always_inline)) void store_f32x4(float *to, f32x4 value) {
    *(f32x4_any *)to = value;
}

static inline __attribute__((always_inline)) f32x4 splat_f32x4(float x) {
    return (f32x4){x, x, x, x};
}

static inline __attribute__((always_inline)) f32x4 load_part_f32x4(const float *from, Index first, Index last, float fill) {
#ifdef __AVX512VL__
    const unsigned lanes = ((1u << (last < 0 ? 0 : last > 4 ? 4 : last)) - 1) & ~((1u << (first < 0 ? 0 : first > 4 ? 4 : first)) - 1);
    return _mm_mask_loadu_ps(splat_f32x4(fill), lanes, from);
#else
    f32x4 part = splat_f32x4(fill);
    for (Index n = 0; n < 4; ++n)
        if (first <= n && n < last) part[n] = from[n];
    return part;
#endif
}

static inline __attribute__((always_inline)) void store_part_f32x4(float *to, Index first, Index last, f32x4 value) {
#ifdef __AVX512VL__
    const unsigned lanes = ((1u << (last < 0 ? 0 : last > 4 ? 4 : last)) - 1) & ~((1u << (first < 0 ? 0 : first > 4 ? 4 : first)) - 1);
    _mm_mask_storeu_ps(to, lanes, value); return;
#else
    for (Index n = 0; n < 4; ++n)
        if (first <= n && n < last) to[n] = value[n];
#endif
}

static void kernel(const float *restrict A, float *restrict B, Index begin, Index end, char *scratch) {
    f32x4 p0_0, p0_1;
    f32x4 p1_0, p1_1;
    f32x4 p2_0, p2_1;
    f32x4 p3_0, p3_1;
    f32x4 p4_0, p4_1;
    f32x4 p5_0, p5_1;
    f32x4 p6_0, p6_1;
    f32x4 s0_0, s0_1;
    f32x4 s1_0, s1_1;
    f32x4 s2_0, s2_1;
    f32x4 s3_0, s3_1;
    f32x4 s4_0, s4_1;
    f32x4 s5_0, s5_1;
    f32x4 s6_0, s6_1;
    for (Index unit = begin; unit < end; ++unit) {
        const Index z = unit;
        for (Index y = 0; y < 4; ++y) {
            {
                Index x_from = 0, x_to = 2;
                if (x_to > 7 / 4) x_to = 7 / 4;
                if (!(y*2 + 1 < 7)) x_to = 0;
                if (x_to < x_from) x_to = x_from;
                for (Index x = x_from; x < x_to; ++x) {
                    p0_0 = load_f32x4(A + z*81 + y*18 + x*4 + 10);
                    p1_0 = load_f32x4(A + z*81 + y*18 + x*4 + 82);
                    s0_0 = p0_0 + p1_0;
                    p2_0 = load_f32x4(A + z*81 + y*18 + x*4 + 90);
                    s1_0 = s0_0 + p2_0;
                    p4_0 = load_f32x4(A + z*81 + y*18 + x*4 + 92);
                    s2_0 = s1_0 + p4_0;
                    p5_0 = load_f32x4(A + z*81 + y*18 + x*4 + 100);
                    s3_0 = s2_0 + p5_0;
                    p6_0 = load_f32x4(A + z*81 + y*18 + x*4 + 172);
                    s4_0 = s3_0 + p6_0;
                    s5_0 = 0.125f * s4_0;
                    p3_0 = load_f32x4(A + z*81 + y*18 + x*4 + 91);
                    s6_0 = 0.5f * p3_0 + s5_0;
                    store_f32x4(B + z*49 + y*14 + x*4, s6_0);
                    p0_1 = load_f32x4(A + z*81 + y*18 + x*4 + 19);
                    p1_1 = load_f32x4(A + z*81 + y*18 + x*4 + 91);
                    s0_1 = p0_1 + p1_1;
                    p2_1 = load_f32x4(A + z*81 + y*18 + x*4 + 99);
                    s1_1 = s0_1 + p2_1;
                    p4_1 = load_f32x4(A + z*81 + y*18 + x*4 + 101);
                    s2_1 = s1_1 + p4_1;
                    p5_1 = load_f32x4(A + z*81 + y*18 + x*4 + 109);
                    s3_1 = s2_1 + p5_1;
                    p6_1 = load_f32x4(A + z*81 + y*18 + x*4 + 181);
                    s4_1 = s3_1 + p6_1;
                    s5_1 = 0.125f * s4_1;
                    p3_1 = load_f32x4(A + z*81 + y*18 + x*4 + 100);
                    s6_1 = 0.5f * p3_1 + s5_1;
                    store_f32x4(B + z*49 + y*14 + x*4 + 7, s6_1);
                }
                for (Index x = x_to; x < 2; ++x) {
                    p0_0 = load_part_f32x4(A + z*81 + y*18 + x*4 + 10, 0, -x*4 + 7, 0.0f);
                    p1_0 = load_part_f32x4(A + z*81 + y*18 + x*4 + 82, 0, -x*4 + 7, 0.0f);
                    s0_0 = p0_0 + p1_0;
                    p2_0 = load_part_f32x4(A + z*81 + y*18 + x*4 + 90, 0, -x*4 + 7, 0.0f);
                    s1_0 = s0_0 + p2_0;
                    p4_0 = load_part_f32x4(A + z*81 + y*18 + x*4 + 92, 0, -x*4 + 7, 0.0f);
                    s2_0 = s1_0 + p4_0;
                    p5_0 = load_part_f32x4(A + z*81 + y*18 + x*4 + 100, 0, -x*4 + 7, 0.0f);
                    s3_0 = s2_0 + p5_0;
                    p6_0 = load_part_f32x4(A + z*81 + y*18 + x*4 + 172, 0, -x*4 + 7, 0.0f);
                    s4_0 = s3_0 + p6_0;
                    s5_0 = 0.125f * s4_0;
                    p3_0 = load_part_f32x4(A + z*81 + y*18 + x*4 + 91, 0, -x*4 + 7, 0.0f);
                    s6_0 = 0.5f * p3_0 + s5_0;
                    store_part_f32x4(B + z*49 + y*14 + x*4, 0, -x*4 + 7, s6_0);
                    p0_1 = y*2 + 1 < 7 ? load_part_f32x4(A + z*81 + y*18 + x*4 + 19, 0, -x*4 + 7, 0.0f) : splat_f32x4(0.0f);
                    p1_1 = y*2 + 1 < 7 ? load_part_f32x4(A + z*81 + y*18 + x*4 + 91, 0, -x*4 + 7, 0.0f) : splat_f32x4(0.0f);
                    s0_1 = p0_1 + p1_1;
                    p2_1 = y*2 + 1 < 7 ? load_part_f32x4(A + z*81 + y*18 + x*4 + 99, 0, -x*4 + 7, 0.0f) : splat_f32x4(0.0f);
                    s1_1 = s0_1 + p2_1;
                    p4_1 = y*2 + 1 < 7 ? load_part_f32x4(A + z*81 + y*18 + x*4 + 101, 0, -x*4 + 7, 0.0f) : splat_f32x4(0.0f);
                    s2_1 = s1_1 + p4_1;
                    p5_1 = y*2 + 1 < 7 ? load_part_f32x4(A + z*81 + y*18 + x*4 + 109, 0, -x*4 + 7, 0.0f) : splat_f32x4(0.0f);
                    s3_1 = s2_1 + p5_1;
                    p6_1 = y*2 + 1 < 7 ? load_part_f32x4(A + z*81 + y*18 + x*4 + 181, 0, -x*4 + 7, 0.0f) : splat_f32x4(0.0f);
                    s4_1 = s3_1 + p6_1;
                    s5_1 = 0.125f * s4_1;
                    p3_1 = y*2 + 1 < 7 ? load_part_f32x4(A + z*81 + y*18 + x*4 + 100, 0, -x*4 + 7, 0.0f) : splat_f32x4(0.0f);
                    s6_1 = 0.5f * p3_1 + s5_1;
                    if (y*2 + 1 < 7) store_part_f32x4(B + z*49 + y*14 + x*4 + 7, 0, -x*4 + 7, s6_1);
                }
            }
        }
    }
    (void)begin, (void)end, (void)scratch;
}

void warploom_kernel(void *const *arrays, const double *parameters, Index begin, Index end, char *scratch) {
    (void)arrays, (void)parameters;
    kernel(arrays[0], arrays[1], begin, end, scratch);
}
