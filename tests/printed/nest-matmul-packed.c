/* matmul_9_21_6: units 3, scratch 448 bytes per thread */
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

static inline __attribute__((always_inline)) void store_f32x8(float *to, f32x8 value) {
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

static void kernel(const float *restrict A, const float *restrict B, float *restrict C, Index begin, Index end, char *scratch) {
    float *restrict B_panel = (float *)(scratch + 0);
    float *restrict A_panel = (float *)(scratch + 256);
    f32x8 acc_0_0, acc_1_0, acc_2_0, acc_3_0;
    float a_0, a_1, a_2, a_3;
    f32x8 b_0;
    f32x8 copied_0;
    float copied_a_0, copied_a_1, copied_a_2, copied_a_3;
    for (Index unit = begin; unit < end; ++unit) {
        const Index batch = (size_t)unit / 3;
        const Index n0 = (size_t)unit % 3;
        if (n0*8 + 7 < 21) {
            for (Index qk = 0; qk < 6; ++qk) {
                copied_0 = load_f32x8(B + batch*126 + qk*21 + n0*8);
                store_f32x8(B_panel + qk*8, copied_0);
            }
        } else {
            for (Index qk = 0; qk < 6; ++qk) {
                copied_0 = load_part_f32x8(B + batch*126 + qk*21 + n0*8, 0, -n0*8 + 21, 0.0f);
                store_f32x8(B_panel + qk*8, copied_0);
            }
        }
        {
            Index m0_from = 0, m0_to = 3;
            if (m0_to > 9 / 4) m0_to = 9 / 4;
            if (!(n0*8 + 7 < 21)) m0_to = 0;
            if (m0_to < m0_from) m0_to = m0_from;
            for (Index m0 = m0_from; m0 < m0_to; ++m0) {
                for (Index pk = 0; pk < 6; ++pk) {
                    copied_a_0 = A[batch*54 + m0*24 + pk];
                    A_panel[pk*4] = copied_a_0;
                    copied_a_1 = A[batch*54 + m0*24 + pk + 6];
                    A_panel[pk*4 + 1] = copied_a_1;
                    copied_a_2 = A[batch*54 + m0*24 + pk + 12];
                    A_panel[pk*4 + 2] = copied_a_2;
                    copied_a_3 = A[batch*54 + m0*24 + pk + 18];
                    A_panel[pk*4 + 3] = copied_a_3;
                }
                acc_0_0 = splat_f32x8(0.0f);
                acc_1_0 = splat_f32x8(0.0f);
                acc_2_0 = splat_f32x8(0.0f);
                acc_3_0 = splat_f32x8(0.0f);
                for (Index k = 0; k < 3; ++k) {
                    a_0 = A_panel[k*8];
                    b_0 = load_f32x8(B_panel + k*16);
                    acc_0_0 = a_0 * b_0 + acc_0_0;
                    a_1 = A_panel[k*8 + 1];
                    acc_1_0 = a_1 * b_0 + acc_1_0;
                    a_2 = A_panel[k*8 + 2];
                    acc_2_0 = a_2 * b_0 + acc_2_0;
                    a_3 = A_panel[k*8 + 3];
                    acc_3_0 = a_3 * b_0 + acc_3_0;
                    a_0 = A_panel[k*8 + 4];
                    b_0 = load_f32x8(B_panel + k*16 + 8);
                    acc_0_0 = a_0 * b_0 + acc_0_0;
                    a_1 = A_panel[k*8 + 5];
                    acc_1_0 = a_1 * b_0 + acc_1_0;
                    a_2 = A_panel[k*8 + 6];
                    acc_2_0 = a_2 * b_0 + acc_2_0;
                    a_3 = A_panel[k*8 + 7];
                    acc_3_0 = a_3 * b_0 + acc_3_0;
                }
                store_f32x8(C + batch*189 + m0*84 + n0*8, acc_0_0);
                store_f32x8(C + batch*189 + m0*84 + n0*8 + 21, acc_1_0);
                store_f32x8(C + batch*189 + m0*84 + n0*8 + 42, acc_2_0);
                store_f32x8(C + batch*189 + m0*84 + n0*8 + 63, acc_3_0);
            }
            for (Index m0 = m0_to; m0 < 3; ++m0) {
                for (Index pk = 0; pk < 6; ++pk) {
                    copied_a_0 = A[batch*54 + m0*24 + pk];
                    A_panel[pk*4] = copied_a_0;
                    copied_a_1 = m0*4 + 1 < 9 ? A[batch*54 + m0*24 + pk + 6] : 0.0f;
                    A_panel[pk*4 + 1] = copied_a_1;
                    copied_a_2 = m0*4 + 2 < 9 ? A[batch*54 + m0*24 + pk + 12] : 0.0f;
                    A_panel[pk*4 + 2] = copied_a_2;
                    copied_a_3 = m0*4 + 3 < 9 ? A[batch*54 + m0*24 + pk + 18] : 0.0f;
                    A_panel[pk*4 + 3] = copied_a_3;
                }
                acc_0_0 = splat_f32x8(0.0f);
                acc_1_0 = splat_f32x8(0.0f);
                acc_2_0 = splat_f32x8(0.0f);
                acc_3_0 = splat_f32x8(0.0f);
                for (Index k = 0; k < 3; ++k) {
                    a_0 = A_panel[k*8];
                    b_0 = load_f32x8(B_panel + k*16);
                    acc_0_0 = a_0 * b_0 + acc_0_0;
                    a_1 = A_panel[k*8 + 1];
                    acc_1_0 = a_1 * b_0 + acc_1_0;
                    a_2 = A_panel[k*8 + 2];
                    acc_2_0 = a_2 * b_0 + acc_2_0;
                    a_3 = A_panel[k*8 + 3];
                    acc_3_0 = a_3 * b_0 + acc_3_0;
                    a_0 = A_panel[k*8 + 4];
                    b_0 = load_f32x8(B_panel + k*16 + 8);
                    acc_0_0 = a_0 * b_0 + acc_0_0;
                    a_1 = A_panel[k*8 + 5];
                    acc_1_0 = a_1 * b_0 + acc_1_0;
                    a_2 = A_panel[k*8 + 6];
                    acc_2_0 = a_2 * b_0 + acc_2_0;
                    a_3 = A_panel[k*8 + 7];
                    acc_3_0 = a_3 * b_0 + acc_3_0;
                }
                store_part_f32x8(C + batch*189 + m0*84 + n0*8, 0, -n0*8 + 21, acc_0_0);
                if (m0*4 + 1 < 9) store_part_f32x8(C + batch*189 + m0*84 + n0*8 + 21, 0, -n0*8 + 21, acc_1_0);
                if (m0*4 + 2 < 9) store_part_f32x8(C + batch*189 + m0*84 + n0*8 + 42, 0, -n0*8 + 21, acc_2_0);
                if (m0*4 + 3 < 9) store_part_f32x8(C + batch*189 + m0*84 + n0*8 + 63, 0, -n0*8 + 21, acc_3_0);
            }
        }
    }
    (void)begin, (void)end, (void)scratch;
}

void warploom_kernel(void *const *arrays, const double *parameters, Index begin, Index end, char *scratch) {
    (void)arrays, (void)parameters;
    kernel(arrays[0], arrays[1], arrays[2], begin, end, scratch);
}
