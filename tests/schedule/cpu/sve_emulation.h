/* Intrinsics of SVE that kernels use, as loops over vectors of C of LENGTH bits: what the Arm C Language Extensions say of them.
   Sums of bf16 are exact where those of f32 are: roundings are not those of `bfdot`. */
#include <stdint.h>
#include <string.h>

#define __ARM_FEATURE_SVE_BITS LENGTH
#ifdef WITH_BYTES_OF_TWO_TYPES
#define __ARM_FEATURE_SVE_MATMUL_INT8 1
#endif
#define __ARM_FEATURE_SVE_BF16 1
#define SVE_TYPE(name, element) typedef element name __attribute__((vector_size(LENGTH / 8)));
SVE_TYPE(svint32_t, int32_t)
SVE_TYPE(svuint32_t, uint32_t)
SVE_TYPE(svint8_t, int8_t)
SVE_TYPE(svuint8_t, uint8_t)
SVE_TYPE(svfloat32_t, float)
SVE_TYPE(svbfloat16_t, uint16_t)
typedef int svbool_t;

int emulated_dots;

static svbool_t svptrue_b32(void) { return 1; }
static svint32_t svdup_n_s32(int32_t x) { return x - (svint32_t){0}; }
static svint8_t svreinterpret_s8_s32(svint32_t x) { return (svint8_t)x; }
static svint8_t svreinterpret_s8_u32(svuint32_t x) { return (svint8_t)x; }
static svuint8_t svreinterpret_u8_u32(svuint32_t x) { return (svuint8_t)x; }
static svbfloat16_t svreinterpret_bf16_u32(svuint32_t x) { return (svbfloat16_t)x; }
static svint32_t svsub_s32_x(svbool_t lanes, svint32_t a, svint32_t b) { return lanes ? a - b : a; }

#define SVE_DOT(name, first, second) \
    static svint32_t name(svint32_t sum, first a, second b) { \
        ++emulated_dots; \
        for (int n = 0; n < LENGTH / 8; ++n) sum[n / 4] += (int32_t)a[n] * (int32_t)b[n]; \
        return sum; \
    }
SVE_DOT(svdot_s32, svint8_t, svint8_t)
SVE_DOT(svusdot_s32, svuint8_t, svint8_t)

static svint32_t svdot_n_s32(svint32_t sum, svint8_t a, int8_t b) { return svdot_s32(sum, a, b - (svint8_t){0}); }

static float widened(uint16_t word) {
    const uint32_t bits = (uint32_t)word << 16;
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static svfloat32_t svbfdot_f32(svfloat32_t sum, svbfloat16_t a, svbfloat16_t b) {
    ++emulated_dots;
    for (int n = 0; n < LENGTH / 32; ++n)
        sum[n] += widened(a[2 * n]) * widened(b[2 * n]) + widened(a[2 * n + 1]) * widened(b[2 * n + 1]);
    return sum;
}
