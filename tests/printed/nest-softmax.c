/* softmax: units 3, scratch 256 bytes per thread */
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
typedef int32_t i32x8 __attribute__((vector_size(32)));
typedef int32_t i32x8_any __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2_any __attribute__((vector_size(8), aligned(4), may_alias));
typedef int32_t i32x2 __attribute__((vector_size(8)));
typedef int32_t i32x2_any __attribute__((vector_size(8), aligned(4), may_alias));
typedef int32_t i32x4 __attribute__((vector_size(16)));
typedef int32_t i32x4_any __attribute__((vector_size(16), aligned(4), may_alias));

static inline __attribute__((always_inline)) f32x8 splat_f32x8(float x) {
    return (f32x8){x, x, x, x, x, x, x, x};
}

static inline __attribute__((always_inline)) f32x8 load_f32x8(const float *from) {
    return *(const f32x8_any *)from;
}

static inline __attribute__((always_inline)) f32x8 select_f32x8(i32x8 choice, f32x8 yes, f32x8 no) {
    return (f32x8)((choice & (i32x8)yes) | (~choice & (i32x8)no));
}

static inline __attribute__((always_inline)) f32x8 max_or_second_f32x8(f32x8 a, f32x8 b) {
#ifdef __AVX__
    return _mm256_max_ps(a, b);
#else
    return select_f32x8(a > b, a, b);
#endif
}

static inline __attribute__((always_inline)) f32x8 max_total_f32x8(f32x8 a, f32x8 b) {
#ifdef __AVX512VL__
    return _mm256_mask_max_ps(a, _mm256_cmp_ps_mask(a, a, _CMP_ORD_Q), a, b);
#else
    return select_f32x8(a != a, a, max_or_second_f32x8(a, b));
#endif
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

static inline __attribute__((always_inline)) f32x8 max_f32x8(f32x8 a, f32x8 b) {
#ifdef __AVX512VL__
    return _mm256_fixupimm_ps(max_or_second_f32x8(a, b), a, _mm256_set1_epi32(0x22), 0);
#else
    return select_f32x8(a != a, a, max_or_second_f32x8(a, b));
#endif
}

static inline __attribute__((always_inline)) float max_or_second_f32(float a, float b) {
    return a > b ? a : b;
}

static inline __attribute__((always_inline)) float max_f32(float a, float b) {
    const float most = max_or_second_f32(a, b);
    return a != a ? a : most;
}

static inline __attribute__((always_inline)) float total_max_f32x2(f32x2 x) {
    return max_f32(x[0], x[1]);
}

static inline __attribute__((always_inline)) f32x2 select_f32x2(i32x2 choice, f32x2 yes, f32x2 no) {
    return (f32x2)((choice & (i32x2)yes) | (~choice & (i32x2)no));
}

static inline __attribute__((always_inline)) f32x2 max_or_second_f32x2(f32x2 a, f32x2 b) {
    return select_f32x2(a > b, a, b);
}

static inline __attribute__((always_inline)) f32x2 max_f32x2(f32x2 a, f32x2 b) {
    return select_f32x2(a != a, a, max_or_second_f32x2(a, b));
}

static inline __attribute__((always_inline)) float total_max_f32x4(f32x4 x) {
    f32x2 low, high;
    __builtin_memcpy(&low, &x, sizeof low);
    __builtin_memcpy(&high, (const char *)&x + sizeof low, sizeof high);
    return total_max_f32x2(max_f32x2(low, high));
}

static inline __attribute__((always_inline)) f32x4 select_f32x4(i32x4 choice, f32x4 yes, f32x4 no) {
    return (f32x4)((choice & (i32x4)yes) | (~choice & (i32x4)no));
}

static inline __attribute__((always_inline)) f32x4 max_or_second_f32x4(f32x4 a, f32x4 b) {
#ifdef __SSE2__
    return _mm_max_ps(a, b);
#else
    return select_f32x4(a > b, a, b);
#endif
}

static inline __attribute__((always_inline)) f32x4 max_f32x4(f32x4 a, f32x4 b) {
#ifdef __AVX512VL__
    return _mm_fixupimm_ps(max_or_second_f32x4(a, b), a, _mm_set1_epi32(0x22), 0);
#else
    return select_f32x4(a != a, a, max_or_second_f32x4(a, b));
#endif
}

static inline __attribute__((always_inline)) float total_max_f32x8(f32x8 x) {
    f32x4 low, high;
    __builtin_memcpy(&low, &x, sizeof low);
    __builtin_memcpy(&high, (const char *)&x + sizeof low, sizeof high);
    return total_max_f32x4(max_f32x4(low, high));
}

static inline __attribute__((always_inline)) f32x8 min_or_second_f32x8(f32x8 a, f32x8 b) {
#ifdef __AVX__
    return _mm256_min_ps(a, b);
#else
    return select_f32x8(a < b, a, b);
#endif
}

static inline __attribute__((always_inline)) f32x8 scale_f32x8(f32x8 x, f32x8 shifted) {
#ifdef __AVX512VL__
    return _mm256_scalef_ps(x, shifted - 12582912.0f);
#else
    const i32x8 n = (i32x8)shifted - 0x4b400000, half = n >> 1;
    return x * (f32x8)((half + 127) << 23) * (f32x8)((n - half + 127) << 23);
#endif
}

static inline __attribute__((always_inline)) f32x8 exp_f32x8(f32x8 x) {
    /* 2^n * exp(r), r within log(2) / 2; overflows to infinity, underflows gradually, NaN stays. */
    x = min_or_second_f32x8(splat_f32x8(89.0f), max_or_second_f32x8(splat_f32x8(-104.0f), x));
    const f32x8 shifted = x * 1.44269504f + 12582912.0f;
    const f32x8 whole = shifted - 12582912.0f;
    const f32x8 r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f;
    f32x8 sum = r * 0.0013814558f + 0.008368736f;
    sum = sum * r + 0.04166839f;
    sum = sum * r + 0.16666521f;
    sum = sum * r + 0.49999994f;
    sum = sum * r + 1.0f;
    sum = sum * r + 1.0f;
    return scale_f32x8(sum, shifted);
}

static inline __attribute__((always_inline)) void store_f32x8(float *to, f32x8 value) {
    *(f32x8_any *)to = value;
}

static inline __attribute__((always_inline)) float total_add_f32x2(f32x2 x) {
    return x[0] + x[1];
}

static inline __attribute__((always_inline)) float total_add_f32x4(f32x4 x) {
    f32x2 low, high;
    __builtin_memcpy(&low, &x, sizeof low);
    __builtin_memcpy(&high, (const char *)&x + sizeof low, sizeof high);
    return total_add_f32x2(low + high);
}

static inline __attribute__((always_inline)) float total_add_f32x8(f32x8 x) {
    f32x4 low, high;
    __builtin_memcpy(&low, &x, sizeof low);
    __builtin_memcpy(&high, (const char *)&x + sizeof low, sizeof high);
    return total_add_f32x4(low + high);
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

static void kernel(const float *restrict A, float *restrict B, Index begin, Index end, char *scratch) {
    float *restrict row = (float *)(scratch + 0);
    f32x8 item_0, item_1;
    f32x8 shifted_0, shifted_1;
    f32x8 power_0, power_1;
    f32x8 largest_0, largest_1;
    f32x8 total_0, total_1;
    float top;
    float whole;
    float factor;
    f32x8 kept_0, kept_1;
    f32x8 scaled_0, scaled_1;
    for (Index unit = begin; unit < end; ++unit) {
        const Index line = unit;
        largest_0 = splat_f32x8(-INFINITY);
        total_0 = splat_f32x8(0.0f);
        largest_1 = splat_f32x8(-INFINITY);
        total_1 = splat_f32x8(0.0f);
        {
            Index i_from = 0, i_to = 3;
            if (i_to > 45 / 16) i_to = 45 / 16;
            if (i_to < i_from) i_to = i_from;
            for (Index i = i_from; i < i_to; ++i) {
                item_0 = load_f32x8(A + line*45 + i*16);
                item_1 = load_f32x8(A + line*45 + i*16 + 8);
                largest_0 = max_total_f32x8(item_0, largest_0);
                largest_1 = max_total_f32x8(item_1, largest_1);
            }
            for (Index i = i_to; i < 3; ++i) {
                item_0 = load_f32x8(A + line*45 + i*16);
                item_1 = load_part_f32x8(A + line*45 + i*16 + 8, 0, -i*16 + 37, -INFINITY);
                largest_0 = max_total_f32x8(item_0, largest_0);
                largest_1 = max_total_f32x8(item_1, largest_1);
            }
        }
        top = total_max_f32x8(max_f32x8(largest_0, largest_1));
        {
            Index ib_from = 0, ib_to = 3;
            if (ib_to > 45 / 16) ib_to = 45 / 16;
            if (ib_to < ib_from) ib_to = ib_from;
            for (Index ib = ib_from; ib < ib_to; ++ib) {
                item_0 = load_f32x8(A + line*45 + ib*16);
                shifted_0 = item_0 - top;
                power_0 = exp_f32x8(shifted_0);
                total_0 = total_0 + power_0;
                store_f32x8(row + ib*16, power_0);
                item_1 = load_f32x8(A + line*45 + ib*16 + 8);
                shifted_1 = item_1 - top;
                power_1 = exp_f32x8(shifted_1);
                total_1 = total_1 + power_1;
                store_f32x8(row + ib*16 + 8, power_1);
            }
            for (Index ib = ib_to; ib < 3; ++ib) {
                item_0 = load_f32x8(A + line*45 + ib*16);
                shifted_0 = item_0 - top;
                power_0 = exp_f32x8(shifted_0);
                total_0 = total_0 + power_0;
                store_f32x8(row + ib*16, power_0);
                item_1 = load_part_f32x8(A + line*45 + ib*16 + 8, 0, -ib*16 + 37, -INFINITY);
                shifted_1 = item_1 - top;
                power_1 = exp_f32x8(shifted_1);
                total_1 = total_1 + power_1;
                store_f32x8(row + ib*16 + 8, power_1);
            }
        }
        whole = total_add_f32x8(total_0 + total_1);
        factor = 1.0f / whole;
        {
            Index ic_from = 0, ic_to = 3;
            if (ic_to > 45 / 16) ic_to = 45 / 16;
            if (ic_to < ic_from) ic_to = ic_from;
            for (Index ic = ic_from; ic < ic_to; ++ic) {
                kept_0 = load_f32x8(row + ic*16);
                scaled_0 = kept_0 * factor;
                store_f32x8(B + line*45 + ic*16, scaled_0);
                kept_1 = load_f32x8(row + ic*16 + 8);
                scaled_1 = kept_1 * factor;
                store_f32x8(B + line*45 + ic*16 + 8, scaled_1);
            }
            for (Index ic = ic_to; ic < 3; ++ic) {
                kept_0 = load_f32x8(row + ic*16);
                scaled_0 = kept_0 * factor;
                store_f32x8(B + line*45 + ic*16, scaled_0);
                kept_1 = load_f32x8(row + ic*16 + 8);
                scaled_1 = kept_1 * factor;
                store_part_f32x8(B + line*45 + ic*16 + 8, 0, -ic*16 + 37, scaled_1);
            }
        }
    }
    (void)begin, (void)end, (void)scratch;
}

void warploom_kernel(void *const *arrays, const double *parameters, Index begin, Index end, char *scratch) {
    (void)arrays, (void)parameters;
    kernel(arrays[0], arrays[1], begin, end, scratch);
}
