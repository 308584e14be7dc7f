/* Intrinsics of AVX-512 for maxima and minima, as loops over vectors of C: what Intel's guide to intrinsics says of them. */
#include <immintrin.h>
#define __AVX512F__ 1
#define __AVX512VL__ 1

int emulated_masks, emulated_repairs;

/* Of the table of a `fixupimm` only the two entries of NaN are looked at, the lowest ones: 2 takes the second number, made quiet. */
#define EMULATED(prefix, suffix, lanes, element, integers, integer) \
    typedef element prefix##_##suffix __attribute__((vector_size(lanes * sizeof(element)))); \
    typedef integer prefix##_##integers __attribute__((vector_size(lanes * sizeof(element)))); \
    static unsigned prefix##_emulated_cmp_##suffix##_mask(prefix##_##suffix a, prefix##_##suffix b, int kind) { \
        unsigned mask = 0; \
        for (int n = 0; n < lanes; ++n) mask |= (unsigned)(kind == _CMP_ORD_Q && a[n] == a[n] && b[n] == b[n]) << n; \
        ++emulated_masks; \
        return mask; \
    } \
    EMULATED_EXTREME(prefix, max, suffix, lanes, >) \
    EMULATED_EXTREME(prefix, min, suffix, lanes, <) \
    static prefix##_##integers prefix##_emulated_set1_##integers(integer number) { return (prefix##_##integers){0} + number; } \
    static prefix##_##suffix prefix##_emulated_fixupimm_##suffix( \
        prefix##_##suffix a, prefix##_##suffix b, prefix##_##integers table, int kind) { \
        for (int n = 0; n < lanes; ++n) \
            if (b[n] != b[n] && (table[n] & 255) == 0x22 && kind == 0) a[n] = b[n] + b[n]; \
        ++emulated_repairs; \
        return a; \
    }
#define EMULATED_EXTREME(prefix, name, suffix, lanes, sign) \
    static prefix##_##suffix prefix##_emulated_mask_##name##_##suffix( \
        prefix##_##suffix other, unsigned mask, prefix##_##suffix a, prefix##_##suffix b) { \
        for (int n = 0; n < lanes; ++n) \
            if (mask >> n & 1) other[n] = a[n] sign b[n] ? a[n] : b[n]; \
        return other; \
    } \
    static prefix##_##suffix prefix##_emulated_##name##_##suffix(prefix##_##suffix a, prefix##_##suffix b) { \
        return prefix##_emulated_mask_##name##_##suffix(a, ~0u, a, b); \
    }
EMULATED(_mm512, ps, 16, float, epi32, int32_t)
EMULATED(_mm256, ps, 8, float, epi32, int32_t)
EMULATED(_mm, ps, 4, float, epi32, int32_t)
EMULATED(_mm512, pd, 8, double, epi64, int64_t)
EMULATED(_mm256, pd, 4, double, epi64x, int64_t)
EMULATED(_mm, pd, 2, double, epi64x, int64_t)
