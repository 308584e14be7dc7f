/* gesummv: units 2, scratch 0 bytes per thread */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

typedef ptrdiff_t Index;
typedef float f32x16 __attribute__((vector_size(64)));
typedef float f32x16_any __attribute__((vector_size(64), aligned(4), may_alias));
typedef float f32x8 __attribute__((vector_size(32)));
typedef float f32x8_any __attribute__((vector_size(32), aligned(4), may_alias));
typedef float f32x4 __attribute__((vector_size(16)));
typedef float f32x4_any __attribute__((vector_size(16), aligned(4), may_alias));
typedef float f32x2 __attribute__((vector_size(8)));
typedef float f32x2_any __attribute__((vector_size(8), aligned(4), may_alias));

static inline __attribute__((always_inline)) f32x16 splat_f32x16(float x) {
    return (f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

static inline __attribute__((always_inline)) f32x16 load_f32x16(const float *from) {
    return *(const f32x16_any *)from;
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

static inline __attribute__((always_inline)) float total_add_f32x16(f32x16 x) {
    f32x8 low, high;
    __builtin_memcpy(&low, &x, sizeof low);
    __builtin_memcpy(&high, (const char *)&x + sizeof low, sizeof high);
    return total_add_f32x8(low + high);
}

static void kernel(const float *restrict A, const float *restrict B, const float *restrict x, float *restrict y, const float alpha, const float beta, Index begin, Index end, char *scratch) {
    f32x16 sum_A_0_0, sum_A_0_1, sum_A_1_0, sum_A_1_1, sum_A_2_0, sum_A_2_1;
    f32x16 sum_B_0_0, sum_B_0_1, sum_B_1_0, sum_B_1_1, sum_B_2_0, sum_B_2_1;
    f32x16 item_A_0_0, item_A_0_1, item_A_1_0, item_A_1_1, item_A_2_0, item_A_2_1;
    f32x16 item_B_0_0, item_B_0_1, item_B_1_0, item_B_1_1, item_B_2_0, item_B_2_1;
    float total_A_0, total_A_1, total_A_2;
    float total_B_0, total_B_1, total_B_2;
    f32x16 xb_0, xb_1;
    float scaled_0, scaled_1, scaled_2;
    float result_0, result_1, result_2;
    for (Index unit = begin; unit < end; ++unit) {
        const Index m0 = unit;
        sum_A_0_0 = splat_f32x16(0.0f);
        sum_A_0_1 = splat_f32x16(0.0f);
        sum_A_1_0 = splat_f32x16(0.0f);
        sum_A_1_1 = splat_f32x16(0.0f);
        sum_A_2_0 = splat_f32x16(0.0f);
        sum_A_2_1 = splat_f32x16(0.0f);
        sum_B_0_0 = splat_f32x16(0.0f);
        sum_B_0_1 = splat_f32x16(0.0f);
        sum_B_1_0 = splat_f32x16(0.0f);
        sum_B_1_1 = splat_f32x16(0.0f);
        sum_B_2_0 = splat_f32x16(0.0f);
        sum_B_2_1 = splat_f32x16(0.0f);
        for (Index n0 = 0; n0 < 2; ++n0) {
            item_A_0_0 = load_f32x16(A + m0*192 + n0*32);
            xb_0 = load_f32x16(x + n0*32);
            sum_A_0_0 = item_A_0_0 * xb_0 + sum_A_0_0;
            item_A_0_1 = load_f32x16(A + m0*192 + n0*32 + 16);
            xb_1 = load_f32x16(x + n0*32 + 16);
            sum_A_0_1 = item_A_0_1 * xb_1 + sum_A_0_1;
            item_A_1_0 = load_f32x16(A + m0*192 + n0*32 + 64);
            sum_A_1_0 = item_A_1_0 * xb_0 + sum_A_1_0;
            item_A_1_1 = load_f32x16(A + m0*192 + n0*32 + 80);
            sum_A_1_1 = item_A_1_1 * xb_1 + sum_A_1_1;
            item_A_2_0 = load_f32x16(A + m0*192 + n0*32 + 128);
            sum_A_2_0 = item_A_2_0 * xb_0 + sum_A_2_0;
            item_A_2_1 = load_f32x16(A + m0*192 + n0*32 + 144);
            sum_A_2_1 = item_A_2_1 * xb_1 + sum_A_2_1;
            item_B_0_0 = load_f32x16(B + m0*192 + n0*32);
            sum_B_0_0 = item_B_0_0 * xb_0 + sum_B_0_0;
            item_B_0_1 = load_f32x16(B + m0*192 + n0*32 + 16);
            sum_B_0_1 = item_B_0_1 * xb_1 + sum_B_0_1;
            item_B_1_0 = load_f32x16(B + m0*192 + n0*32 + 64);
            sum_B_1_0 = item_B_1_0 * xb_0 + sum_B_1_0;
            item_B_1_1 = load_f32x16(B + m0*192 + n0*32 + 80);
            sum_B_1_1 = item_B_1_1 * xb_1 + sum_B_1_1;
            item_B_2_0 = load_f32x16(B + m0*192 + n0*32 + 128);
            sum_B_2_0 = item_B_2_0 * xb_0 + sum_B_2_0;
            item_B_2_1 = load_f32x16(B + m0*192 + n0*32 + 144);
            sum_B_2_1 = item_B_2_1 * xb_1 + sum_B_2_1;
        }
        total_A_0 = total_add_f32x16(sum_A_0_0 + sum_A_0_1);
        total_B_0 = total_add_f32x16(sum_B_0_0 + sum_B_0_1);
        scaled_0 = alpha * total_A_0;
        result_0 = fmaf(beta, total_B_0, scaled_0);
        y[m0*3] = result_0;
        total_A_1 = total_add_f32x16(sum_A_1_0 + sum_A_1_1);
        total_B_1 = total_add_f32x16(sum_B_1_0 + sum_B_1_1);
        scaled_1 = alpha * total_A_1;
        result_1 = fmaf(beta, total_B_1, scaled_1);
        y[m0*3 + 1] = result_1;
        total_A_2 = total_add_f32x16(sum_A_2_0 + sum_A_2_1);
        total_B_2 = total_add_f32x16(sum_B_2_0 + sum_B_2_1);
        scaled_2 = alpha * total_A_2;
        result_2 = fmaf(beta, total_B_2, scaled_2);
        y[m0*3 + 2] = result_2;
    }
    (void)begin, (void)end, (void)scratch;
}

void warploom_kernel(void *const *arrays, const double *parameters, Index begin, Index end, char *scratch) {
    (void)arrays, (void)parameters;
    kernel(arrays[0], arrays[1], arrays[2], arrays[3], (float)parameters[0], (float)parameters[1], begin, end, scratch);
}
